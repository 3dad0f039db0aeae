/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process is killed at every step of a change that test_table_writes.c does not have: overwrite,
 * merges, changes of columns, fragments that go, restore, tags, cleanup, upgrade, and what a
 * database does with its tables. The version that is left is the one before the change or the one
 * after it, with exactly its rows and tags; every version that is listed is whole; the change works
 * when it is made again; and a cleanup finds all that lies around.
 *
 * labels: slow
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arrays.h"
#include "column_tables.h"
#include "golden_tables.h"
#include "keyed_rows.h"
#include "killed.h"
#include "stores.h"

enum { BATCHES_MAX = 16, TAGS_BYTES = 256 };

static const struct keyed_row base_row[] = {
    { 1, 10, "one" },  { 2, 20, "two" },   { 3, 30, NULL },     { 4, KEYED_NULL, "four" },
    { 5, 50, "five" }, { 6, 60, "six" },   { 7, 70, "seven" },  { 8, 80, "eight" },
    { 9, 90, "nine" }, { 10, 100, "ten" }, { 11, 110, "more" }, { 12, 120, "most" },
};
enum { BASE_ROWS = sizeof base_row / sizeof base_row[0], FRAGMENT_ROWS = 4 };

static const struct keyed_row other_row[] = {
    { 3, 31, "drei" }, { 6, 61, NULL }, { 20, 200, "zwanzig" }, { 21, 210, "mehr" }
};
enum { OTHER_ROWS = sizeof other_row / sizeof other_row[0] };

/* The tests do not wait for a device: that a process dies says nothing about what is on it. */
static int setup(void **state)
{
    (void)state;
    return access("/dev/shm", W_OK) == 0 ? setenv("TMPDIR", "/dev/shm", 1) : 0;
}

static struct lmn_table *open_newest(struct lmn_store *store)
{
    struct lmn_table *table;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    return table;
}

/* Three fragments, a deleted row, an int32 column, a tag: six versions. */
static void make_base(struct lmn_store *store)
{
    static const struct lmn_assignment small = { "small", "cast(id as int)" };
    struct lmn_write_options options = { .unsynced = true, .fragment_rows_max = FRAGMENT_ROWS };
    struct lmn_table *table = keyed_table(store, base_row, BASE_ROWS - FRAGMENT_ROWS, &options);
    struct ArrowArrayStream stream;
    struct lmn_error err;

    keyed_stream(KEYED_ALL, &base_row[BASE_ROWS - FRAGMENT_ROWS], FRAGMENT_ROWS, 64, &stream);
    CHECK_STATUS(lmn_table_append(table, &stream, &options, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_delete(table, "id = 5", NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_add_columns(table, &small, 1, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_tag(table, "early", 2, false, &err), LMN_OK, &err);
    lmn_table_release(table);
}

/* Two fragments of rows that are not worth moving, and a deleted one. */
static void make_wide(struct lmn_store *store)
{
    const struct lmn_write_options options = { .unsynced = true, .fragment_rows_max = 3 };
    struct keyed_row row[6];
    struct lmn_table *table;
    struct lmn_error err;

    for (unsigned i = 0; i < 6; i++)
        row[i] = (struct keyed_row){ i + 1, i, keyed_wide_name(i) };
    table = keyed_table(store, row, 6, &options);
    CHECK_STATUS(lmn_table_delete(table, "id = 5", NULL, &err), LMN_OK, &err);
    lmn_table_release(table);
}

static void make_golden(struct lmn_store *store)
{
    struct lmn_error err;

    golden_copy("history-2.0", store);
    CHECK_OK(store->ops->remove(store, "_versions/latest_version_hint.json", &err));
}

/* What a table is at its newest version. */
struct content {
    uint64_t version;
    char tags[TAGS_BYTES];
    struct ArrowSchema schema;
    struct ArrowArray batch[BATCHES_MAX];
    int batch_count;
};

static void read_tags(struct lmn_table *table, char *text)
{
    struct lmn_tag_list list;
    struct lmn_error err;
    int len = 0;

    CHECK_STATUS(lmn_table_tags(table, &list, &err), LMN_OK, &err);
    text[0] = '\0';
    for (uint64_t i = 0; i < list.count; i++) {
        len += snprintf(text + len, (size_t)(TAGS_BYTES - len), "%s=%llu ", list.entry[i].name,
                        (unsigned long long)list.entry[i].version);
        CHECK(len < TAGS_BYTES);
    }
    lmn_tag_list_free(&list);
}

static void content_read(struct content *content, struct lmn_store *store)
{
    const struct lmn_scan_options options = { .with_row_id = true, .threads = 1 };
    struct lmn_table *table = open_newest(store);
    struct ArrowArrayStream stream;
    struct lmn_error err;

    *content = (struct content){ .version = lmn_table_version(table) };
    read_tags(table, content->tags);
    CHECK_STATUS(lmn_table_scan(table, &options, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &content->schema), 0);
    for (;;) {
        struct ArrowArray *batch = &content->batch[content->batch_count];

        CHECK_STATUS(lmn_table_scan_next(&stream, batch, &err), LMN_OK, &err);
        if (batch->release == NULL)
            break;
        CHECK(++content->batch_count < BATCHES_MAX);
    }
    stream.release(&stream);
    lmn_table_release(table);
}

static void content_free(struct content *content)
{
    for (int i = 0; i < content->batch_count; i++)
        content->batch[i].release(&content->batch[i]);
    content->schema.release(&content->schema);
}

static void check_same_schema(const struct ArrowSchema *a, const struct ArrowSchema *b)
{
    CHECK_STR(a->format, b->format);
    CHECK_EQ(a->n_children, b->n_children);
    for (int64_t i = 0; i < a->n_children; i++) {
        CHECK_STR(a->children[i]->name, b->children[i]->name);
        check_same_schema(a->children[i], b->children[i]);
    }
}

static void check_same(const struct content *a, const struct content *b)
{
    CHECK_EQ(a->version, b->version);
    CHECK_STR(a->tags, b->tags);
    check_same_schema(&a->schema, &b->schema);
    CHECK_EQ(a->batch_count, b->batch_count);
    for (int i = 0; i < a->batch_count; i++) {
        CHECK_EQ(a->batch[i].length, b->batch[i].length);
        CHECK(
            same_slots(&a->schema, &a->batch[i], 0, &b->batch[i], 0, (uint64_t)a->batch[i].length));
    }
}

/* Every version that is listed can be read. */
static void check_versions(struct lmn_store *store)
{
    struct lmn_table *table = open_newest(store);
    struct lmn_version_list list;
    struct lmn_verify_result result;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_versions(table, &list, &err), LMN_OK, &err);
    for (uint64_t i = 0; i < list.count; i++) {
        const struct lmn_table_options options = { .version = list.entry[i].version };
        struct lmn_table *one;

        CHECK_STATUS(lmn_table_open(store, &options, &one, &err), LMN_OK, &err);
        CHECK_STATUS(lmn_table_verify(one, NULL, NULL, &result, &err), LMN_OK, &err);
        CHECK_EQ(result.findings, 0);
        lmn_table_release(one);
    }
    lmn_version_list_free(&list);
    lmn_table_release(table);
}

/* Nothing that no version needs is left after a cleanup. */
static void check_cleanup(struct lmn_store *store)
{
    struct lmn_cleanup_options options = { .older_than_us = INT64_MAX,
                                           .remove_unverified = true,
                                           .ignore_tags = true };
    struct lmn_table *table = open_newest(store);
    struct lmn_table_info info;
    struct lmn_tag_list tags;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_cleanup(table, &options, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_info(table, &info, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_tags(table, &tags, &err), LMN_OK, &err);
    CHECK_EQ(test_store_count(store, "_refs/tags"), tags.count);
    lmn_tag_list_free(&tags);
    CHECK_EQ(test_store_count(store, "data"), info.file_count);
    CHECK_EQ(test_store_count(store, "_versions"), 1);
    CHECK(test_store_count(store, "_deletions") <= info.fragment_count);
    lmn_table_release(table);
}

/* A change, and the table that it is made to. */
struct change {
    void (*make)(struct lmn_store *store);
    killed_store_fn run;
};

/* What the change does when nobody disturbs it. */
static void run_whole(const struct change *change, struct content *before, struct content *after)
{
    char *dir = test_dir_make();
    struct lmn_store *store = test_store_local(dir);
    struct lmn_error err;

    change->make(store);
    content_read(before, store);
    CHECK_STATUS(change->run(store, &err), LMN_OK, &err);
    content_read(after, store);
    lmn_store_release(store);
    test_dir_remove(dir);
}

static bool try_nth(const struct change *change, uint64_t nth, const struct content *before,
                    const struct content *after)
{
    char *dir = test_dir_make();
    struct lmn_store *store = test_store_local(dir);
    struct content left;
    struct lmn_error err;
    bool killed, done;

    change->make(store);
    killed = killed_at_operation(change->run, dir, nth);
    content_read(&left, store);
    done = left.version == after->version && strcmp(left.tags, after->tags) == 0;
    CHECK(done || killed);
    check_same(&left, done ? after : before);
    check_versions(store);
    content_free(&left);
    /* A cleanup is the same before and after; it has to work once more, too. */
    if (!done || before->version == after->version) {
        enum lmn_status st = change->run(store, &err);

        if (st != LMN_OK && !done)
            CHECK_STATUS(st, LMN_OK, &err);
        content_read(&left, store);
        check_same(&left, after);
        content_free(&left);
    }
    check_cleanup(store);
    lmn_store_release(store);
    test_dir_remove(dir);
    return killed;
}

static void try_all(void (*make)(struct lmn_store *store), killed_store_fn run)
{
    const struct change change = { make, run };
    struct content before, after;
    uint64_t nth = 1;

    run_whole(&change, &before, &after);
    while (try_nth(&change, nth, &before, &after))
        nth++;
    CHECK(nth > 1); /* it has been killed at all */
    content_free(&before);
    content_free(&after);
}

static enum lmn_status run_overwrite(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table = open_newest(store);
    struct ArrowArrayStream stream;
    enum lmn_status st;

    keyed_stream(KEYED_ALL, other_row, OTHER_ROWS, 64, &stream);
    st = lmn_table_overwrite(table, &stream, NULL, err);
    lmn_table_release(table);
    return st;
}

static enum lmn_status merge(struct lmn_store *store, const struct keyed_row *row, uint64_t count,
                             unsigned columns, const struct lmn_merge_options *options,
                             struct lmn_error *err)
{
    static const char *const on[] = { "id" };
    struct lmn_merge_options whole = *options;
    struct lmn_table *table = open_newest(store);
    struct ArrowArrayStream stream;
    struct lmn_merge_result result;
    enum lmn_status st;

    whole.on = on;
    whole.on_count = 1;
    keyed_stream(columns, row, count, 64, &stream);
    st = lmn_table_merge(table, &stream, &whole, &result, err);
    lmn_table_release(table);
    return st;
}

static enum lmn_status run_insert(struct lmn_store *store, struct lmn_error *err)
{
    const struct lmn_merge_options options = { .matched = LMN_MERGE_FAIL,
                                               .not_matched = LMN_MERGE_INSERT };

    return merge(store, other_row + 2, OTHER_ROWS - 2, KEYED_ALL, &options, err);
}

static enum lmn_status run_upsert(struct lmn_store *store, struct lmn_error *err)
{
    const struct lmn_merge_options options = { .matched = LMN_MERGE_UPDATE,
                                               .not_matched = LMN_MERGE_INSERT };

    return merge(store, other_row, OTHER_ROWS, KEYED_ALL, &options, err);
}

/* Its rows do not stay in memory. */
static enum lmn_status run_upsert_of_many(struct lmn_store *store, struct lmn_error *err)
{
    enum lmn_status st;

    test_source_bytes_max(1);
    st = run_upsert(store, err);
    test_source_bytes_max(0);
    return st;
}

/* Some columns of matched rows, and the rows without a match go. */
static enum lmn_status run_merge(struct lmn_store *store, struct lmn_error *err)
{
    const struct lmn_merge_options options = { .matched = LMN_MERGE_UPDATE,
                                               .not_in_source = LMN_MERGE_DELETE };

    return merge(store, other_row, OTHER_ROWS, KEYED_ID | KEYED_VALUE, &options, err);
}

static enum lmn_status run_add_nulls(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = column_add_nulls(table, "empty", err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_add_columns(struct lmn_store *store, struct lmn_error *err)
{
    static const struct lmn_assignment column[] = { { "twice", "id * 2" },
                                                    { "loud", "upper(name)" } };
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_add_columns(table, column, 2, err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_join(struct lmn_store *store, struct lmn_error *err)
{
    static const char *const on[] = { "id" };
    struct pairs pairs = { .key = 1, .step = 3, .left = 5, .batch_rows = 2, .name = "id" };
    struct ArrowArrayStream stream = pairs_stream(&pairs);
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_join_columns(table, &stream, on, 1, err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_join_rows(struct lmn_store *store, struct lmn_error *err)
{
    struct pairs pairs = { .key = 1, .step = 3, .left = BASE_ROWS - 1, .batch_rows = 4 };
    struct ArrowArrayStream stream = pairs_stream(&pairs);
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_join_columns(table, &stream, NULL, 0, err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_drop(struct lmn_store *store, struct lmn_error *err)
{
    static const char *const column[] = { "value", "small" };
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_drop_columns(table, column, 2, err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_rename(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_rename_column(table, "name", "called", err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_widen(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = column_widen(table, "small", NANOARROW_TYPE_INT64, err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_read_group(struct lmn_store *store, struct lmn_error *err)
{
    static const char *const column[] = { "name" };
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_set_read_group(table, column, 1, 4, err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_set_columns(struct lmn_store *store, struct lmn_error *err)
{
    static const struct lmn_assignment more = { "value", "value + 100" };
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_update(table, "id <> 2", &more, 1, NULL, err);

    lmn_table_release(table);
    return st;
}

/* A column of rows that stay where they are, and a row that is new. */
static enum lmn_status run_upsert_column(struct lmn_store *store, struct lmn_error *err)
{
    static const struct keyed_row row[] = {
        { 6, 61, NULL }, { 1, 11, NULL }, { 20, 200, NULL }, { 3, 31, NULL }, { 4, 41, NULL }
    };
    const struct lmn_merge_options options = { .matched = LMN_MERGE_UPDATE,
                                               .not_matched = LMN_MERGE_INSERT };

    return merge(store, row, sizeof row / sizeof row[0], KEYED_ID | KEYED_VALUE, &options, err);
}

/* One fragment goes as a whole, another loses a row. */
static enum lmn_status run_delete_fragment(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_delete(table, "id < 5 or id = 12", NULL, err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_restore(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_restore(table, 2, err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_tag(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_tag(table, "late", 0, false, err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_move_tag(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_tag(table, "early", 1, true, err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_untag(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_untag(table, "early", err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_cleanup(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_cleanup_options options = { .older_than_us = INT64_MAX, .remove_unverified = true };
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_cleanup(table, &options, NULL, err);

    lmn_table_release(table);
    return st;
}

/* A version goes with its tag. */
static enum lmn_status run_cleanup_tagged(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_cleanup_options options = { .older_than_us = INT64_MAX,
                                           .remove_unverified = true,
                                           .ignore_tags = true };
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_cleanup(table, &options, NULL, err);

    lmn_table_release(table);
    return st;
}

static enum lmn_status run_upgrade(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn_table *table = open_newest(store);
    enum lmn_status st = lmn_table_upgrade(table, err);

    lmn_table_release(table);
    return st;
}

#define CRASH_TEST(name, make)                                                                     \
    static void test_crash__##name(void **state)                                                   \
    {                                                                                              \
        (void)state;                                                                               \
        try_all(make, run_##name);                                                                 \
    }

CRASH_TEST(overwrite, make_base)
CRASH_TEST(insert, make_base)
CRASH_TEST(upsert, make_base)
CRASH_TEST(upsert_of_many, make_base)
CRASH_TEST(merge, make_base)
CRASH_TEST(add_nulls, make_base)
CRASH_TEST(add_columns, make_base)
CRASH_TEST(join, make_base)
CRASH_TEST(join_rows, make_base)
CRASH_TEST(drop, make_base)
CRASH_TEST(rename, make_base)
CRASH_TEST(widen, make_base)
CRASH_TEST(read_group, make_base)
CRASH_TEST(delete_fragment, make_base)
CRASH_TEST(set_columns, make_wide)
CRASH_TEST(upsert_column, make_wide)
CRASH_TEST(restore, make_base)
CRASH_TEST(tag, make_base)
CRASH_TEST(move_tag, make_base)
CRASH_TEST(untag, make_base)
CRASH_TEST(cleanup, make_base)
CRASH_TEST(cleanup_tagged, make_base)
CRASH_TEST(upgrade, make_golden)

/* A database with one table, "old". */
static char *make_database(void)
{
    char *root = test_dir_make();
    struct lmn_store *store;
    struct lmn_error err;

    CHECK_STATUS(lmn_database_store(test_env(), root, "old", &store, &err), LMN_OK, &err);
    make_base(store);
    lmn_store_release(store);
    return root;
}

/* The only table of the database, whole; NULL: there is none. */
static void check_only_table(const char *root, const char *name)
{
    struct lmn_name_list list;
    struct lmn_error err;

    CHECK_STATUS(lmn_database_list(test_env(), root, &list, &err), LMN_OK, &err);
    CHECK_EQ(list.count, name != NULL);
    if (name != NULL) {
        struct lmn_store *store;
        struct lmn_table *table;

        CHECK_STR(list.name[0], name);
        CHECK_STATUS(lmn_database_store(test_env(), root, name, &store, &err), LMN_OK, &err);
        check_versions(store);
        table = open_newest(store);
        CHECK_EQ(lmn_table_version(table), 4);
        lmn_table_release(table);
        lmn_store_release(store);
    }
    lmn_name_list_free(&list);
}

static bool has_table(const char *root, const char *name)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s.lance", root, name);
    return access(path, F_OK) == 0;
}

static enum lmn_status run_rename_table(const char *root, struct lmn_error *err)
{
    return lmn_database_rename(NULL, root, "old", "new", err);
}

static void test_crash__rename_table(void **state)
{
    bool killed = true;

    (void)state;
    for (uint64_t nth = 1; killed; nth++) {
        char *root = make_database();
        struct lmn_error err;

        killed = killed_at_call(run_rename_table, root, nth);
        if (has_table(root, "old")) {
            CHECK(killed);
            check_only_table(root, "old");
            CHECK_STATUS(run_rename_table(root, &err), LMN_OK, &err);
        }
        check_only_table(root, "new");
        test_dir_remove(root);
    }
}

static enum lmn_status run_drop_table(const char *root, struct lmn_error *err)
{
    return lmn_database_drop(NULL, root, "old", err);
}

/* What a drop leaves behind goes with the next one. */
static void test_crash__drop_table(void **state)
{
    bool killed = true;

    (void)state;
    for (uint64_t nth = 1; killed; nth++) {
        char *root = make_database();
        struct lmn_store *store = test_store_local(root), *other;
        struct lmn_error err;

        killed = killed_at_call(run_drop_table, root, nth);
        if (has_table(root, "old")) {
            CHECK(killed);
            check_only_table(root, "old");
        } else {
            check_only_table(root, NULL);
            CHECK_STATUS(lmn_database_store(test_env(), root, "old", &other, &err), LMN_OK, &err);
            make_base(other);
            lmn_store_release(other);
        }
        CHECK_STATUS(run_drop_table(root, &err), LMN_OK, &err);
        CHECK_EQ(test_store_count(store, ""), 0);
        lmn_store_release(store);
        test_dir_remove(root);
    }
}

#define CASE(name) cmocka_unit_test(test_crash__##name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(overwrite),   CASE(insert),
        CASE(upsert),      CASE(upsert_of_many),
        CASE(merge),       CASE(add_nulls),
        CASE(add_columns), CASE(join),
        CASE(join_rows),   CASE(drop),
        CASE(rename),      CASE(widen),
        CASE(read_group),  CASE(delete_fragment),
        CASE(set_columns), CASE(upsert_column),
        CASE(restore),     CASE(tag),
        CASE(move_tag),    CASE(untag),
        CASE(cleanup),     CASE(cleanup_tagged),
        CASE(upgrade),     CASE(rename_table),
        CASE(drop_table),
    };

    return cmocka_run_group_tests(tests, setup, NULL);
}
