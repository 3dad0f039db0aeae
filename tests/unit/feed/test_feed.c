/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Feeds of tables with deleted rows and filters: what comes out is what the definition says, for
 * any number of ranks and threads, and a run that is stopped goes on exactly.
 *
 * labels: threads
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "feed/order.h"
#include "feed/steps.h"
#include "keyed_rows.h"
#include "stores.h"

enum { ROWS_MAX = 400, TAKEN_MAX = 4000 };

/* A table in memory, and the ids of its live rows in the order of a scan. */
struct subject {
    struct lmn_store *store;
    struct lmn_table *table;
    int64_t id[ROWS_MAX];
    int64_t value[ROWS_MAX];
    uint64_t count;
};

static void subject_make(struct subject *subject, uint64_t rows, uint64_t *seed)
{
    const struct lmn_write_options options = { .fragment_rows_max = 1 + test_random(seed) % 97 };
    struct keyed_row row[ROWS_MAX];
    struct lmn_error err = { 0 };
    uint64_t deleted;
    char where[64];

    for (uint64_t i = 0; i < rows; i++)
        row[i] = (struct keyed_row){ (int64_t)i, (int64_t)(test_random(seed) % 10), "some text" };
    subject->store = test_store_memory();
    subject->table = keyed_table(subject->store, row, rows, &options);
    if (rows > 20 && test_random(seed) % 2 == 0) {
        snprintf(where, sizeof where, "id %% %d = 0", (int)(2 + test_random(seed) % 9));
        CHECK_STATUS(lmn_table_delete(subject->table, where, &deleted, &err), LMN_OK, &err);
    }
}

static void subject_scan(struct subject *subject, const char *where)
{
    const struct lmn_scan_options options = { .where = where };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_error err = { 0 };

    subject->count = 0;
    CHECK_STATUS(lmn_table_scan(subject->table, &options, &stream, &err), LMN_OK, &err);
    while (lmn_table_scan_next(&stream, &batch, &err) == LMN_OK && batch.release != NULL) {
        const int64_t *id = batch.children[0]->buffers[1];

        for (int64_t i = 0; i < batch.length; i++)
            subject->id[subject->count++] = id[batch.children[0]->offset + i];
        batch.release(&batch);
    }
    stream.release(&stream);
}

static void subject_free(struct subject *subject)
{
    lmn_table_release(subject->table);
    lmn_store_release(subject->store);
}

/* The ids of one batch; how many. */
static uint64_t next_ids(struct lmn_feed *feed, int64_t *id_out)
{
    struct lmn_error err = { 0 };
    struct ArrowArray batch;
    uint64_t count;

    CHECK_STATUS(lmn_feed_next(feed, &batch, &err), LMN_OK, &err);
    if (batch.release == NULL)
        return 0;
    count = (uint64_t)batch.length;
    CHECK(count != 0);
    memcpy(id_out, (const int64_t *)batch.children[0]->buffers[1] + batch.children[0]->offset,
           count * sizeof *id_out);
    batch.release(&batch);
    return count;
}

static struct lmn_feed *feed_open(const struct subject *subject,
                                  const struct lmn_feed_options *options)
{
    struct lmn_error err = { 0 };
    struct lmn_feed *feed;

    CHECK_STATUS(lmn_feed_open(subject->table, options, &feed, &err), LMN_OK, &err);
    return feed;
}

/* What the rank gets from a place on, by the definition. */
static uint64_t expect(const struct subject *subject, const struct lmn_feed_options *options,
                       uint64_t first_epoch, uint64_t start, int64_t *id_out)
{
    const struct lmn__steps steps = { subject->count, options->batch_rows, options->world_size,
                                      options->remainder };
    const struct lmn__order_options orders = { options->shuffle, subject->count, options->seed,
                                               options->block_rows, options->window_rows };
    uint64_t count = 0;

    for (uint64_t epoch = first_epoch; epoch < options->epochs; epoch++) {
        uint64_t from = epoch == first_epoch ? start : 0;
        struct lmn__order order;

        lmn__order_init(&order, &orders, epoch);
        for (uint64_t step = 0; step < lmn__steps_of_rank(&steps, from, options->rank); step++) {
            struct lmn__share share = lmn__steps_share(&steps, from, step, options->rank);

            for (uint64_t i = 0; i < share.count; i++) {
                uint64_t position = (share.first + i) % subject->count;

                CHECK(count < TAKEN_MAX);
                id_out[count++] = subject->id[lmn__order_row(&order, position)];
            }
        }
    }
    return count;
}

static struct lmn_feed_options random_options(uint64_t *seed)
{
    return (struct lmn_feed_options){
        .shuffle = (enum lmn_feed_shuffle)(test_random(seed) % 3),
        .seed = test_random(seed),
        .block_rows = 1 + test_random(seed) % 9,
        .window_rows = 1 + test_random(seed) % 60,
        .batch_rows = (uint32_t)(1 + test_random(seed) % 20),
        .world_size = (uint32_t)(1 + test_random(seed) % 4),
        .epochs = 1 + test_random(seed) % 3,
        .remainder = (enum lmn_feed_remainder)(test_random(seed) % 3),
        .threads = (uint32_t)(1 + test_random(seed) % 3),
        .prefetch = (uint32_t)(1 + test_random(seed) % 7),
        .where = test_random(seed) % 3 == 0 ? "value < 4" : NULL,
    };
}

static bool has_rows(const struct subject *subject, const struct lmn_feed_options *options)
{
    const struct lmn__steps steps = { subject->count, options->batch_rows, options->world_size,
                                      options->remainder };

    return subject->count == 0 || lmn__steps_of_rank(&steps, 0, options->rank) != 0;
}

static void test_feed__is_the_definition(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (int run = 0; run < 60; run++) {
        struct lmn_feed_options options = random_options(&seed);
        struct subject subject;

        subject_make(&subject, test_random(&seed) % ROWS_MAX, &seed);
        subject_scan(&subject, options.where);
        for (options.rank = 0; options.rank < options.world_size; options.rank++) {
            int64_t expected[TAKEN_MAX], got[64];
            struct lmn_feed *feed = NULL;
            uint64_t count, here, at = 0;

            if (!has_rows(&subject, &options)) {
                CHECK_EQ(lmn_feed_open(subject.table, &options, &feed, NULL), LMN_E_INVALID);
                continue;
            }
            feed = feed_open(&subject, &options);
            count = subject.count != 0 ? expect(&subject, &options, 0, 0, expected) : 0;
            while ((here = next_ids(feed, got)) != 0) {
                CHECK(at + here <= count);
                CHECK_BYTES(got, expected + at, here * sizeof *got);
                at += here;
            }
            CHECK_EQ(at, count);
            CHECK_EQ(next_ids(feed, got), 0);
            lmn_feed_close(feed);
        }
        subject_free(&subject);
    }
}

/* Stop all ranks after a step and go on with other ranks: the rest is as if from there. */
static void resume_once(const struct subject *subject, struct lmn_feed_options options,
                        uint64_t *seed)
{
    struct lmn_feed_options again = random_options(seed);
    uint64_t steps = test_random(seed) % 40;
    int64_t expected[TAKEN_MAX], got[64];
    struct lmn_feed_info info;
    struct lmn_error err = { 0 };
    const char *text;
    char *kept;
    struct lmn_feed *feed = feed_open(subject, &options);

    while (steps-- != 0 && next_ids(feed, got) != 0)
        ;
    CHECK_OK(lmn_feed_state(feed, &text, &err));
    kept = strdup(text);
    lmn_feed_info(feed, &info);
    lmn_feed_close(feed);
    again.shuffle = options.shuffle;
    again.seed = options.seed;
    again.where = options.where;
    again.block_rows = options.block_rows;
    again.window_rows = options.window_rows;
    again.epochs = options.epochs;
    for (again.rank = 0; again.rank < again.world_size; again.rank++) {
        uint64_t count, here, at = 0;

        if (!has_rows(subject, &again))
            continue;
        feed = feed_open(subject, &again);
        CHECK_STATUS(lmn_feed_restore(feed, kept, &err), LMN_OK, &err);
        count = expect(subject, &again, info.epoch, info.position, expected);
        while ((here = next_ids(feed, got)) != 0) {
            CHECK(at + here <= count);
            CHECK_BYTES(got, expected + at, here * sizeof *got);
            at += here;
        }
        CHECK_EQ(at, count);
        lmn_feed_close(feed);
    }
    free(kept);
}

static void test_feed__resumes_with_other_ranks(void **state)
{
    uint64_t seed = 2;

    (void)state;
    for (int run = 0; run < 60; run++) {
        struct lmn_feed_options options = random_options(&seed);
        struct subject subject;

        subject_make(&subject, 1 + test_random(&seed) % (ROWS_MAX - 1), &seed);
        subject_scan(&subject, options.where);
        if (subject.count != 0 && has_rows(&subject, &options))
            resume_once(&subject, options, &seed);
        subject_free(&subject);
    }
}

/* A run with stops at every step equals one without, whatever the remainder and the filter. */
static void test_feed__resumes_after_every_step(void **state)
{
    uint64_t seed = 3;

    (void)state;
    for (int run = 0; run < 12; run++) {
        struct lmn_feed_options options = random_options(&seed);
        int64_t whole[64], part[64];
        struct lmn_error err = { 0 };
        struct lmn_feed *feed, *stopped;
        struct subject subject;
        uint64_t count;

        subject_make(&subject, 40 + test_random(&seed) % 100, &seed);
        subject_scan(&subject, options.where);
        if (subject.count == 0 || !has_rows(&subject, &options)) {
            subject_free(&subject);
            continue;
        }
        feed = feed_open(&subject, &options);
        do {
            const char *text;

            CHECK_OK(lmn_feed_state(feed, &text, &err));
            stopped = feed_open(&subject, &options);
            CHECK_STATUS(lmn_feed_restore(stopped, text, &err), LMN_OK, &err);
            count = next_ids(feed, whole);
            CHECK_EQ(next_ids(stopped, part), count);
            CHECK_BYTES(part, whole, count * sizeof *whole);
            lmn_feed_close(stopped);
        } while (count != 0);
        lmn_feed_close(feed);
        subject_free(&subject);
    }
}

/* Every step of a run that changed its ranks on the way is answered for as it was. */
static void test_feed__row_ids(void **state)
{
    struct lmn_feed_options options = { .seed = 8, .batch_rows = 7, .world_size = 1, .epochs = 3 };
    int64_t trained[60][64];
    uint64_t count[60] = { 0 }, step = 0, seed = 5;
    struct lmn_feed *feed, *next;
    struct lmn_id_list list;
    struct lmn_error err = { 0 };
    struct subject subject;
    uint32_t rank = 0;

    (void)state;
    subject_make(&subject, 150, &seed);
    feed = feed_open(&subject, &options);
    for (; step < 10; step++)
        count[step] = next_ids(feed, trained[step]);
    for (int restart = 0; restart < 3; restart++) {
        const char *text;

        CHECK_OK(lmn_feed_state(feed, &text, &err));
        options.batch_rows = (uint32_t)(5 + 4 * restart);
        next = feed_open(&subject, &options);
        CHECK_STATUS(lmn_feed_restore(next, text, &err), LMN_OK, &err);
        lmn_feed_close(feed);
        feed = next;
        for (int i = 0; i < 6; i++, step++)
            count[step] = next_ids(feed, trained[step]);
    }
    /* Rows were written in the order of their ids: a stable row id is the id. */
    for (uint64_t i = 0; i < step; i++) {
        CHECK_STATUS(lmn_feed_row_ids(feed, i, i % 2 == 0 ? &rank : NULL, &list, &err), LMN_OK,
                     &err);
        CHECK_EQ(list.count, count[i]);
        CHECK_BYTES(list.id, trained[i], count[i] * sizeof *list.id);
        lmn_id_list_free(&list);
    }
    rank = 1;
    CHECK_EQ(lmn_feed_row_ids(feed, 0, &rank, &list, &err), LMN_E_INVALID);
    CHECK_EQ(lmn_feed_row_ids(feed, 100000, NULL, &list, &err), LMN_E_INVALID);
    lmn_feed_close(feed);
    subject_free(&subject);
}

static void check_refused(const struct subject *subject, const struct lmn_feed_options *options,
                          const char *text, const char *part)
{
    struct lmn_feed *feed = feed_open(subject, options);
    struct lmn_error err = { 0 };

    CHECK_EQ(lmn_feed_restore(feed, text, &err), LMN_E_CONFLICT);
    CHECK_HAS(err.message, part);
    lmn_feed_close(feed);
}

static void test_feed__refuses_other_data(void **state)
{
    const char *const id_column[] = { "id" };
    struct lmn_feed_options options = { .seed = 1, .where = "value < 8", .transform = "t1" }, other;
    struct subject subject, second;
    uint64_t seed = 9, deleted, version;
    struct lmn_error err = { 0 };
    const char *text;
    char *kept, *edited;
    struct lmn_feed *feed;

    (void)state;
    subject_make(&subject, 100, &seed);
    version = lmn_table_version(subject.table);
    feed = feed_open(&subject, &options);
    CHECK_OK(lmn_feed_state(feed, &text, &err));
    kept = strdup(text);
    lmn_feed_close(feed);
    other = options;
    other.seed = 2;
    check_refused(&subject, &other, kept, "seed is 1, the feed's 2");
    other = options;
    other.where = "value < 9";
    check_refused(&subject, &other, kept, "filter is \"value < 8\", the feed's \"value < 9\"");
    other = options;
    other.transform = NULL;
    check_refused(&subject, &other, kept, "transform is \"t1\"");
    other = options;
    other.shuffle = LMN_SHUFFLE_BLOCK;
    check_refused(&subject, &other, kept, "shuffle is \"full\", the feed's \"block\"");
    other = options;
    other.column = id_column;
    other.column_count = 1;
    check_refused(&subject, &other, kept, "list of columns");
    edited = strdup(kept);
    *strstr(edited, "\"epoch\":0") = ' ';
    feed = feed_open(&subject, &options);
    CHECK_EQ(lmn_feed_restore(feed, edited, &err), LMN_E_CORRUPT);
    CHECK_EQ(lmn_feed_restore(feed, "no state", &err), LMN_E_CORRUPT);
    CHECK_OK(lmn_feed_restore(feed, kept, &err));
    lmn_feed_close(feed);
    CHECK_OK(lmn_table_delete(subject.table, "id = 1", &deleted, &err));
    check_refused(&subject, &options, kept, "table version is");
    /* Another table that has come to the same version. */
    subject_make(&second, 100, &seed);
    while (lmn_table_version(second.table) < version)
        CHECK_OK(lmn_table_delete(second.table, "id = 1 or id = 2 or id = 3", &deleted, &err));
    CHECK_EQ(lmn_table_version(second.table), version);
    check_refused(&second, &options, kept, "the state is of another table");
    free(edited);
    free(kept);
    subject_free(&second);
    subject_free(&subject);
}

/* The version that a feed reads has a tag; a cleanup leaves it. */
static void test_feed__pins_its_version(void **state)
{
    struct lmn_feed_options options = { .batch_rows = 5, .epochs = 1 };
    struct lmn_tag_list tags;
    struct lmn_feed_info info;
    struct lmn_error err = { 0 };
    struct subject subject;
    struct lmn_feed *feed, *second;
    uint64_t seed = 4;

    (void)state;
    subject_make(&subject, 50, &seed);
    feed = feed_open(&subject, &options);
    second = feed_open(&subject, &options);
    lmn_feed_info(second, &info);
    CHECK(info.pinned);
    CHECK_OK(lmn_table_tags(subject.table, &tags, &err));
    CHECK_EQ(tags.count, 1);
    CHECK_EQ(tags.entry[0].version, info.version);
    lmn_tag_list_free(&tags);
    lmn_feed_close(second);
    lmn_feed_close(feed);
    subject_free(&subject);
}

/* With a cache neither rows nor the answer to a condition are read twice, and none is another. */
static void test_feed__cache(void **state)
{
    char *dir = test_dir_make();
    struct lmn_feed_options options = {
        .where = "value < 4", .batch_rows = 8, .epochs = 1, .cache_dir = dir
    };
    struct lmn_feed_stats stats;
    struct subject subject;
    uint64_t seed = 12, count;
    int64_t expected[TAKEN_MAX], got[64];

    (void)state;
    subject_make(&subject, 300, &seed);
    subject_scan(&subject, options.where);
    options.world_size = 1;
    count = expect(&subject, &options, 0, 0, expected);
    CHECK(count != 0);
    for (int run = 0; run < 2; run++) {
        struct lmn_feed *feed = feed_open(&subject, &options);
        uint64_t here, at = 0;

        while ((here = next_ids(feed, got)) != 0) {
            CHECK_BYTES(got, expected + at, here * sizeof *got);
            at += here;
        }
        CHECK_EQ(at, count);
        lmn_feed_stats(feed, &stats);
        CHECK_EQ(stats.store_bytes != 0, run == 0);
        CHECK(stats.cache_hit_bytes != 0);
        lmn_feed_close(feed);
    }
    subject_free(&subject);
    test_dir_remove(dir);
}

/* A child says at once that the feed is not its own, and can leave it alone. */
static void test_feed__fork(void **state)
{
    struct lmn_feed_options options = { .batch_rows = 5 };
    struct subject subject;
    struct lmn_feed *feed;
    uint64_t seed = 6;
    int64_t got[64];
    int status;
    pid_t child;

    (void)state;
    subject_make(&subject, 50, &seed);
    feed = feed_open(&subject, &options);
    CHECK_EQ(next_ids(feed, got), 5);
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        struct lmn_error err = { 0 };
        struct ArrowArray batch;
        bool good = lmn_feed_next(feed, &batch, &err) == LMN_E_UNSUPPORTED;

        lmn_feed_close(feed);
        _exit(good ? 0 : 1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    CHECK_EQ(next_ids(feed, got), 5);
    lmn_feed_close(feed);
    subject_free(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_feed__is_the_definition),
        cmocka_unit_test(test_feed__resumes_with_other_ranks),
        cmocka_unit_test(test_feed__resumes_after_every_step),
        cmocka_unit_test(test_feed__row_ids),
        cmocka_unit_test(test_feed__refuses_other_data),
        cmocka_unit_test(test_feed__pins_its_version),
        cmocka_unit_test(test_feed__cache),
        cmocka_unit_test(test_feed__fork),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
