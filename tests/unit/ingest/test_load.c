/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads of many parts: what is remembered, what a failure leaves, and faults at every step.
 *
 * labels: threads
 */
#include <leman/leman.h>
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "arrow/builder.h"
#include "arrow/producer.h"
#include "base/bytes.h"
#include "check.h"
#include "stores.h"

enum { PARTS_MAX = 64, PART_ROWS = 10 };

/* Parts of PART_ROWS rows each, whose column "x" counts through all of them. */
struct numbers {
    uint64_t part_count;
    uint64_t broken; /* this part fails after its rows; PARTS_MAX: none */
    char name[PARTS_MAX][16];
    atomic_int opened[PARTS_MAX];
    struct lmn_table *overtaken; /* opening a part loads all of them into this table, once */
};

static void overtake(struct numbers *numbers);

struct part {
    struct lmn__producer producer; /* first */
    struct numbers *numbers;
    uint64_t number;
    bool done;
};

static enum lmn_status part_schema(struct lmn__producer *producer, struct ArrowSchema *schema_out,
                                   struct lmn_error *err)
{
    (void)producer;
    ArrowSchemaInit(schema_out);
    if (ArrowSchemaSetTypeStruct(schema_out, 1) != 0 ||
        ArrowSchemaSetType(schema_out->children[0], NANOARROW_TYPE_INT64) != 0 ||
        ArrowSchemaSetName(schema_out->children[0], "x") != 0) {
        schema_out->release(schema_out);
        return lmn__no_memory(err, "a schema", 0);
    }
    return LMN_OK;
}

static enum lmn_status part_rows(struct part *part, struct ArrowArray *array, struct lmn_error *err)
{
    static const struct lmn__layout word = { .kind = LMN__LAYOUT_FIXED, .bits = 64 };
    static const struct lmn__layout *const words[] = { &word };
    static const struct lmn__layout row = { .kind = LMN__LAYOUT_STRUCT,
                                            .child_count = 1,
                                            .child = words };
    struct lmn__builder builder;
    uint8_t *at = NULL;
    enum lmn_status st = lmn__builder_init(&builder, test_env(), &row, err);

    if (st != LMN_OK)
        return st;
    st = lmn__builder_add_valid(&builder, PART_ROWS, err);
    if (st == LMN_OK)
        st = lmn__builder_add_valid(&builder.child[0], PART_ROWS, err);
    if (st == LMN_OK)
        st = lmn__builder_extend(&builder.child[0], PART_ROWS, &at, err);
    for (uint64_t i = 0; st == LMN_OK && i < PART_ROWS; i++)
        lmn__store_u64(at + i * 8, part->number * PART_ROWS + i);
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, array, err);
    lmn__builder_deinit(&builder);
    return st;
}

static enum lmn_status part_next(struct lmn__producer *producer, struct ArrowArray *array_out,
                                 struct lmn_error *err)
{
    struct part *part = (struct part *)producer;

    if (part->done && part->number == part->numbers->broken)
        return lmn_fail(err, LMN_E_CORRUPT, "part %d is broken", (int)part->number);
    if (part->done)
        return LMN_OK;
    part->done = true;
    return part_rows(part, array_out, err);
}

static void part_free(struct lmn__producer *producer)
{
    lmn__free(test_env(), producer);
}

static enum lmn_status open_part(void *self, uint64_t number, struct ArrowArrayStream *stream_out,
                                 struct lmn_error *err)
{
    static const struct lmn__producer_ops ops = { part_schema, part_next, part_free };
    struct numbers *numbers = self;
    struct part *part = lmn__calloc(test_env(), 1, sizeof *part);

    if (part == NULL)
        return lmn__no_memory(err, "a part", sizeof *part);
    atomic_fetch_add(&numbers->opened[number], 1);
    if (numbers->overtaken != NULL)
        overtake(numbers);
    part->numbers = numbers;
    part->number = number;
    lmn__producer_export(&part->producer, &ops, stream_out);
    return LMN_OK;
}

static enum lmn_status describe_part(void *self, uint64_t number, struct lmn_load_part *part_out,
                                     struct lmn_error *err)
{
    struct numbers *numbers = self;

    (void)err;
    snprintf(numbers->name[number], sizeof numbers->name[number], "part %d", (int)number);
    *part_out = (struct lmn_load_part){ numbers->name[number], 1000 };
    return LMN_OK;
}

static struct lmn_load_source source_of(struct numbers *numbers, uint64_t part_count)
{
    *numbers = (struct numbers){ .part_count = part_count, .broken = PARTS_MAX };
    return (struct lmn_load_source){ .self = numbers,
                                     .name = "numbers",
                                     .part_count = part_count,
                                     .describe = describe_part,
                                     .open = open_part };
}

/* Every number below `count` is in the table once. */
static void check_numbers(struct lmn_store *store, uint64_t count)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_table *table;
    struct lmn_error err;
    uint8_t seen[PARTS_MAX * PART_ROWS] = { 0 };
    uint64_t rows = 0;

    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_scan(table, NULL, &stream, &err), LMN_OK, &err);
    while (lmn__stream_next(&stream, &batch, &err) == LMN_OK && batch.release != NULL) {
        const int64_t *x = batch.children[0]->buffers[1];

        for (int64_t i = 0; i < batch.length; i++)
            seen[x[i + batch.offset]]++;
        rows += (uint64_t)batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    lmn_table_release(table);
    CHECK_EQ(rows, count);
    for (uint64_t i = 0; i < count; i++)
        CHECK_EQ(seen[i], 1);
}

static void test_load__parts_once(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_load_options options = { .parallelism = 4, .commit_bytes = 3000 };
    struct lmn_load_progress result;
    struct numbers numbers;
    struct lmn_load_source source = source_of(&numbers, 40);
    struct lmn_table *table;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_load_new(store, &source, &options, &table, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.rows, 400);
    CHECK_EQ(result.rows_committed, 400);
    CHECK(result.commits >= 10);
    check_numbers(store, 400);
    source = source_of(&numbers, 50); /* ten more than before */
    CHECK_STATUS(lmn_table_load(table, &source, &options, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.parts_before, 40);
    CHECK_EQ(result.parts_done, 10);
    CHECK_EQ(numbers.opened[0], 0);
    check_numbers(store, 500);
    CHECK_STATUS(lmn_table_load(table, &source, &options, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.parts_before, 50);
    CHECK_EQ(result.commits, 0);
    options.again = true;
    CHECK_STATUS(lmn_table_load(table, &source, &options, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.rows, 500);
    lmn_table_release(table);
    CHECK_STATUS(lmn_table_load_new(store, &source, &options, &table, &result, &err), LMN_E_EXISTS,
                 &err);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_load__goes_on_after_a_failure(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_load_options options = { .parallelism = 2, .commit_bytes = 2000 };
    struct lmn_load_progress result;
    struct numbers numbers;
    struct lmn_load_source source = source_of(&numbers, 20);
    struct lmn_table *table;
    struct lmn_error err;
    uint64_t before;

    (void)state;
    numbers.broken = 11;
    CHECK_STATUS(lmn_table_load_new(store, &source, &options, &table, &result, &err), LMN_E_CORRUPT,
                 &err);
    CHECK_HAS(err.message, "part 11 is broken");
    before = result.rows_committed;
    CHECK(before >= 60);
    source = source_of(&numbers, 20);
    CHECK_STATUS(lmn_table_load_new(store, &source, &options, &table, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.rows + before, 200);
    CHECK_EQ(result.parts_before * PART_ROWS, before);
    lmn_table_release(table);
    check_numbers(store, 200);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* Another process that loads the same parts and is faster. */
static void overtake(struct numbers *numbers)
{
    struct lmn_table *table = numbers->overtaken;
    struct numbers others;
    struct lmn_load_source source = source_of(&others, numbers->part_count);
    struct lmn_load_progress result;
    struct lmn_error err;

    numbers->overtaken = NULL;
    CHECK_STATUS(lmn_table_load(table, &source, NULL, &result, &err), LMN_OK, &err);
}

static void test_load__the_same_parts_by_two_at_once(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_load_options options = { .parallelism = 1 };
    struct lmn_load_progress result;
    struct numbers numbers;
    struct lmn_load_source source = source_of(&numbers, 3);
    struct lmn_table *table, *other;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_load_new(store, &source, &options, &table, &result, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_open(store, NULL, &other, &err), LMN_OK, &err);
    source = source_of(&numbers, 6);
    numbers.overtaken = other;
    CHECK_STATUS(lmn_table_load(table, &source, &options, &result, &err), LMN_E_CONFLICT, &err);
    CHECK_HAS(err.message, "another process has loaded the same parts");
    CHECK_STATUS(lmn_table_load(table, &source, &options, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.parts_before, 6);
    check_numbers(store, 60);
    lmn_table_release(other);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static bool stop_at_once(void *self, const struct lmn_load_progress *progress)
{
    (void)progress;
    *(int *)self += 1;
    return false;
}

/* Two stages that are committed stay so; together with another one they are refused. */
static void check_committed_once(struct lmn_table *table, const struct lmn_load_source *source,
                                 const char *const *staged)
{
    const char *three[3] = { staged[0], staged[1] };
    uint64_t version = lmn_table_version(table);
    struct lmn_error err;
    char *other;

    CHECK_STATUS(lmn_table_load_commit(table, staged, 2, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_load_commit(table, staged + 1, 1, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_load_stage(table, source, NULL, &other, NULL, &err), LMN_OK, &err);
    three[2] = other;
    CHECK_STATUS(lmn_table_load_commit(table, three, 3, NULL, &err), LMN_E_CONFLICT, &err);
    CHECK_HAS(err.message, "loaded the same parts");
    CHECK_EQ(lmn_table_version(table), version);
    CHECK_STATUS(lmn_table_load_commit(table, &three[2], 1, NULL, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(table), version + 1);
    lmn_text_free(other);
}

/* What several loads have staged becomes rows in one commit, also when others append meanwhile. */
static void test_load__staged(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_load_options options = { .parallelism = 2 };
    struct lmn_load_progress result;
    struct numbers numbers;
    struct lmn_load_source source = source_of(&numbers, 6);
    struct lmn_table *table;
    struct lmn_error err;
    uint64_t version, rows;
    char *staged[2];

    (void)state;
    CHECK_STATUS(lmn_table_load_new(store, &source, &options, &table, &result, &err), LMN_OK, &err);
    version = lmn_table_version(table);
    for (int i = 0; i < 2; i++) {
        CHECK_STATUS(lmn_table_load_stage(table, &source, &options, &staged[i], &result, &err),
                     LMN_OK, &err);
        CHECK_EQ(result.rows, 60);
        CHECK_EQ(result.rows_committed, 0);
    }
    options.again = true;
    CHECK_STATUS(lmn_table_load(table, &source, &options, &result, &err), LMN_OK, &err);
    CHECK(lmn_table_version(table) > version);
    version = lmn_table_version(table);
    CHECK_STATUS(lmn_table_load_commit(table, (const char *const *)staged, 2, NULL, &err), LMN_OK,
                 &err);
    CHECK_EQ(lmn_table_version(table), version + 1);
    CHECK_STATUS(lmn_table_count(table, NULL, &rows, &err), LMN_OK, &err);
    CHECK_EQ(rows, 4 * 60);
    check_committed_once(table, &source, (const char *const *)staged);
    lmn_text_free(staged[0]);
    lmn_text_free(staged[1]);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_load__bad_stages(void **state)
{
    static const char *const bad[] = { "", "0", "xy", "0801", "08011200", "ffffffffff" };
    struct lmn_store *store = test_store_memory();
    struct numbers numbers;
    struct lmn_load_source source = source_of(&numbers, 1);
    struct lmn_table *table, *other;
    struct lmn_error err;
    char *staged;

    (void)state;
    CHECK_STATUS(lmn_table_load_new(store, &source, NULL, &table, NULL, &err), LMN_OK, &err);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_STATUS(lmn_table_load_commit(table, &bad[i], 1, NULL, &err), LMN_E_INVALID, &err);
        CHECK_HAS(err.message, "is no stage of a load");
    }
    CHECK_STATUS(lmn_table_load_stage(table, &source, NULL, &staged, NULL, &err), LMN_OK, &err);
    lmn_table_release(table);
    lmn_store_release(store);
    store = test_store_memory();
    CHECK_STATUS(lmn_table_load_new(store, &source, NULL, &other, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_load_commit(other, (const char *const *)&staged, 1, NULL, &err),
                 LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "which a load has staged");
    lmn_text_free(staged);
    lmn_table_release(other);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_load__one_commit_is_all_or_nothing(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_load_options options = { .parallelism = 3, .one_commit = true };
    struct lmn_load_progress result;
    struct numbers numbers;
    struct lmn_load_source source = source_of(&numbers, 12);
    struct lmn_table *table;
    struct lmn_error err;
    uint64_t version, rows, files;
    int calls = 0;

    (void)state;
    CHECK_STATUS(lmn_table_load_new(store, &source, &options, &table, &result, &err), LMN_OK, &err);
    check_numbers(store, 120);
    version = lmn_table_version(table);
    files = test_store_count(store, "data");
    numbers.broken = 7;
    CHECK_STATUS(lmn_table_load(table, &source, &options, &result, &err), LMN_E_CORRUPT, &err);
    numbers.broken = PARTS_MAX;
    options.progress = stop_at_once;
    options.progress_self = &calls;
    options.parallelism = 1;
    CHECK_STATUS(lmn_table_load(table, &source, &options, &result, &err), LMN_E_CANCELLED, &err);
    CHECK(calls >= 1);
    CHECK_EQ(lmn_table_version(table), version);
    CHECK_STATUS(lmn_table_count(table, NULL, &rows, &err), LMN_OK, &err);
    CHECK_EQ(rows, 120);
    CHECK_EQ(test_store_count(store, "data"), files); /* nothing is left behind */
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_load__a_restored_version_remembers_its_own(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_load_options options = { .parallelism = 1, .commit_bytes = 1000 };
    struct lmn_load_progress result;
    struct numbers numbers;
    struct lmn_load_source source = source_of(&numbers, 5);
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_table_load_new(store, &source, &options, &table, &result, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_restore(table, 3, &err), LMN_OK, &err); /* parts 0 and 1 */
    CHECK_STATUS(lmn_table_load(table, &source, &options, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.parts_before, 2);
    check_numbers(store, 50);
    CHECK_STATUS(open_part(&numbers, 0, &stream, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_overwrite(table, &stream, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_load(table, &source, &options, &result, &err), LMN_OK, &err);
    CHECK_EQ(result.parts_before, 0);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* Whatever fails, the load made again finishes, with every row once. */
static void test_load__every_fault_is_told_and_mended(void **state)
{
    struct lmn_load_options options = { .parallelism = 1, .commit_bytes = 2000 };
    struct numbers numbers;
    struct lmn_load_source source = source_of(&numbers, 3);
    struct lmn_load_progress result;
    struct lmn_table *table;
    struct lmn_error err;
    bool fired = true;

    (void)state;
    for (uint64_t nth = 1; fired; nth += 1 + nth / 100) {
        struct lmn_store *inner = test_store_memory(), *store = test_store_faulty(inner);
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn_table_load_new(store, &source, &options, &table, &result, &err);
        fired = fault_fired();
        fault_disarm();
        if (st != LMN_OK) {
            CHECK(fired);
            CHECK(err.message[0] != '\0');
            CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
            st = lmn_table_load_new(store, &source, &options, &table, &result, &err);
        }
        /* The last commit may stand although its end was not seen. */
        CHECK(st == LMN_OK || st == LMN_E_EXISTS);
        lmn_table_release(table);
        check_numbers(inner, 30);
        lmn_store_release(store);
        lmn_store_release(inner);
        CHECK_EQ(live_allocations(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load__parts_once),
        cmocka_unit_test(test_load__goes_on_after_a_failure),
        cmocka_unit_test(test_load__the_same_parts_by_two_at_once),
        cmocka_unit_test(test_load__staged),
        cmocka_unit_test(test_load__bad_stages),
        cmocka_unit_test(test_load__one_commit_is_all_or_nothing),
        cmocka_unit_test(test_load__a_restored_version_remembers_its_own),
        cmocka_unit_test(test_load__every_fault_is_told_and_mended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
