/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebDataset shards in C: columns, bad samples, and faults. What other programs make of the same
 * shards is compared in tests/python.
 */
#include <leman/webdataset.h>
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "arrow/producer.h"
#include "check.h"
#include "stores.h"
#include "tars.h"

struct told {
    uint32_t count;
    char last[1024];
};

static void tell(void *self, const struct lmn_problem *problem)
{
    struct told *told = self;

    told->count++;
    snprintf(told->last, sizeof told->last, "%s|%llu|%s|%s|%s", problem->part,
             (unsigned long long)problem->offset, problem->key, problem->field, problem->message);
}

static const char *sample_shard(const char *dir)
{
    struct lmn__buf tar;
    const char *path;

    tar_init(&tar);
    tar_file(&tar, "dir/0.jpg", "JPG0");
    tar_file(&tar, "dir/0.json", "{\"a\":1,\"b\":\"x\"}");
    tar_file(&tar, "dir/0.cls", "7\n");
    tar_file(&tar, "__meta__", "no sample");
    tar_file(&tar, "dir/1.JPG", "JPG1...");
    tar_file(&tar, "dir/1.json", "{\"a\":2,\"b\":null}");
    tar_file(&tar, "dir/1.cls", "8");
    tar_file(&tar, "dir/1.seg.png", "PNG");
    tar_end(&tar);
    path = tar_write(&tar, dir, "a.tar");
    lmn__buf_deinit(&tar);
    return path;
}

static enum lmn_status read_rows(const char *path, const struct lmn_webdataset_options *options,
                                 uint64_t *rows_out, struct ArrowArray *first_out,
                                 struct lmn_error *err)
{
    struct lmn_webdataset *dataset;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = lmn_webdataset_open(test_env(), &path, 1, options, &dataset, err);

    *rows_out = 0;
    if (first_out != NULL)
        *first_out = (struct ArrowArray){ 0 };
    if (st != LMN_OK)
        return st;
    st = lmn_webdataset_shard(dataset, 0, &stream, err);
    lmn_webdataset_close(dataset); /* the stream keeps it */
    if (st != LMN_OK)
        return st;
    while ((st = lmn__stream_next(&stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        *rows_out += (uint64_t)batch.length;
        if (first_out != NULL && first_out->release == NULL)
            *first_out = batch;
        else
            batch.release(&batch);
    }
    stream.release(&stream);
    return st;
}

static void test_webdataset__every_field_a_column(void **state)
{
    struct lmn_webdataset_options options = { .bad = LMN_BAD_NULL };
    char *dir = test_dir_make();
    struct ArrowArray batch;
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    CHECK_STATUS(read_rows(sample_shard(dir), NULL, &rows, NULL, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "sample \"dir/0\" at offset 0: field \"seg.png\"");
    CHECK_STATUS(read_rows(sample_shard(dir), &options, &rows, &batch, &err), LMN_OK, &err);
    CHECK_EQ(rows, 2);
    CHECK_EQ(batch.n_children, 5); /* __key__, jpg, json, cls, seg.png */
    CHECK_BYTES(batch.children[0]->buffers[2], "dir/0dir/1", 10);
    CHECK_BYTES(batch.children[1]->buffers[2], "JPG0JPG1...", 11);
    CHECK_EQ(((const int64_t *)batch.children[2]->children[0]->buffers[1])[1], 2);
    CHECK_EQ(batch.children[2]->children[1]->null_count, 1);
    CHECK_EQ(((const int64_t *)batch.children[3]->buffers[1])[0], 7);
    CHECK_EQ(batch.children[4]->null_count, 1);
    batch.release(&batch);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

static void test_webdataset__fields_with_dots(void **state)
{
    struct lmn_webdataset_options options = { .bad = LMN_BAD_NULL };
    struct lmn_webdataset_column both[] = { { .field = "seg.png" }, { .field = "seg_png" } };
    struct lmn_webdataset *dataset;
    char *dir = test_dir_make();
    const char *shard = sample_shard(dir);
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_webdataset_open(test_env(), &shard, 1, &options, &dataset, &err), LMN_OK,
                 &err);
    CHECK_STATUS(lmn_webdataset_shard(dataset, 0, &stream, &err), LMN_OK, &err);
    lmn_webdataset_close(dataset);
    CHECK_STATUS(lmn__stream_schema(&stream, &schema, &err), LMN_OK, &err);
    CHECK_STR(schema.children[4]->name, "seg_png");
    schema.release(&schema);
    stream.release(&stream);
    options.column = both;
    options.column_count = 2;
    CHECK_STATUS(lmn_webdataset_open(test_env(), &shard, 1, &options, &dataset, &err),
                 LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "two columns are named \"seg_png\"");
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

static void test_webdataset__columns_that_are_asked_for(void **state)
{
    static const struct lmn_webdataset_column column[] = {
        { .name = "number", .field = "json.a" },
        { .field = "json.b" },
        { .name = "mask", .field = "Seg.PNG", .optional = true },
        { .field = "__shard__" },
    };
    struct lmn_webdataset_options options = { .column = column, .column_count = 4 };
    char *dir = test_dir_make();
    struct ArrowArray batch;
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    CHECK_STATUS(read_rows(sample_shard(dir), &options, &rows, &batch, &err), LMN_OK, &err);
    CHECK_EQ(rows, 2);
    CHECK_EQ(((const int64_t *)batch.children[0]->buffers[1])[0], 1);
    CHECK_EQ(batch.children[1]->null_count, 1);
    CHECK_BYTES(batch.children[2]->buffers[2], "PNG", 3);
    CHECK_BYTES(batch.children[3]->buffers[2], dir, strlen(dir));
    batch.release(&batch);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

static void test_webdataset__wrong_columns(void **state)
{
    static const struct lmn_webdataset_column wrong[][2] = {
        { { .field = "jpg" }, { .name = "jpg", .field = "cls" } },
        { { .field = "jpg" }, { .name = "x", .field = "jpg" } },
        { { .field = "json" }, { .field = "json.a" } },
        { { .field = "jpg" }, { .field = "json.c" } },
        { { .field = "jpg" }, { .field = "" } },
    };
    char *dir = test_dir_make();
    const char *path = sample_shard(dir);
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct lmn_webdataset_options options = { .column = wrong[i], .column_count = 2 };

        CHECK_STATUS(read_rows(path, &options, &rows, NULL, &err), LMN_E_INVALID, &err);
    }
    CHECK_STATUS(read_rows("/nowhere/x.tar", NULL, &rows, NULL, &err), LMN_E_NOT_FOUND, &err);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

/* A shard of good samples, one of which is bad in a way. */
static const char *bad_shard(const char *dir, int way)
{
    static const char *const json[] = { "{\"a\":1,\"b\":2}", "{\"a\":", "{\"a\":[1]}", "\xff" };
    struct lmn__buf tar;
    const char *path;

    tar_init(&tar);
    for (int i = 0; i < 4; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d.json", i);
        if (i == 2 && way == 9)
            snprintf(name, sizeof name, "2\xff.json");
        tar_file(&tar, name, i == 2 && way < 4 ? json[way] : "{\"a\":5}");
        snprintf(name, sizeof name, i == 2 && way == 9 ? "%d\xff.bin" : "%d.bin", i);
        if (i != 2 || way != 4)
            tar_put(&tar, name, i == 2 && way == 8 ? 'S' : '0', "bytes", 5);
        if (i == 2 && way == 5)
            tar_file(&tar, name, "again");
        snprintf(name, sizeof name, "%d.new", i);
        if (i == 2 && way == 6)
            tar_file(&tar, name, "new");
    }
    if (way == 7)
        tar.len -= 1500; /* in the last sample */
    else
        tar_end(&tar);
    path = tar_write(&tar, dir, "bad.tar");
    lmn__buf_deinit(&tar);
    return path;
}

static void test_webdataset__bad_input_as_asked(void **state)
{
    static const char *const says[] = {
        "none of the first", "column",        "no place for", "UTF-8",  "no such field",
        "there twice",       "first samples", "ends at",      "sparse", "name is not UTF-8"
    };
    char *dir = test_dir_make();
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    for (int way = 0; way < 10; way++) {
        const char *path = bad_shard(dir, way);

        for (int bad = LMN_BAD_FAIL; bad <= LMN_BAD_NULL; bad++) {
            struct told told = { 0 };
            struct lmn_webdataset_options options = { .bad = (enum lmn_bad_input)bad,
                                                      .report = tell,
                                                      .report_self = &told,
                                                      .sample_rows_max = 2 };
            enum lmn_status st = read_rows(path, &options, &rows, NULL, &err);

            if (bad == LMN_BAD_FAIL) {
                CHECK_STATUS(st,
                             way == 7   ? LMN_E_CORRUPT
                             : way == 8 ? LMN_E_UNSUPPORTED
                                        : LMN_E_INVALID,
                             &err);
                CHECK_HAS(err.message, "bad.tar: sample \"");
                CHECK_HAS(err.message, says[way]);
                CHECK_EQ(told.count, 0);
                continue;
            }
            CHECK_STATUS(st, LMN_OK, &err);
            CHECK_EQ(rows, bad == LMN_BAD_SKIP || way == 7 || way == 9 ? 3 : 4);
            CHECK_EQ(told.count, 1);
            CHECK_HAS(told.last, way == 7 ? "|6144|3||" : way == 9 ? "|4096|2\xff||" : "|4096|2|");
            CHECK_HAS(told.last, says[way]);
        }
    }
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

/* What the first samples do not have is told, and where bad values become null the rest stays. */
static void test_webdataset__fields_of_json(void **state)
{
    static const struct lmn_webdataset_column column[][1] = { { { .field = "json" } },
                                                              { { .field = "json.a" } } };
    static const char *const first[] = { "{\"a\":1}", "{\"a\":{\"x\":1}}" };
    static const char *const second[] = { "{\"a\":2,\"b\":3}",
                                          "{\"a\":{\"x\":2,\"y\":3},\"c\":4}" };
    char *dir = test_dir_make();
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct told told = { 0 };
        struct lmn_webdataset_options options = { .column = column[i],
                                                  .column_count = 1,
                                                  .report = tell,
                                                  .report_self = &told,
                                                  .sample_rows_max = 1 };
        struct ArrowArray batch, *value;
        struct lmn__buf tar;
        const char *path;

        tar_init(&tar);
        tar_file(&tar, "0.json", first[i]);
        tar_file(&tar, "1.json", second[i]);
        tar_end(&tar);
        path = tar_write(&tar, dir, "a.tar");
        lmn__buf_deinit(&tar);
        CHECK_STATUS(read_rows(path, &options, &rows, NULL, &err), LMN_E_INVALID, &err);
        CHECK_HAS(err.message, i == 0 ? "field \"b\" is in none" : "field \"y\" is in none");
        options.bad = LMN_BAD_SKIP;
        CHECK_STATUS(read_rows(path, &options, &rows, NULL, &err), LMN_OK, &err);
        CHECK_EQ(rows, 1);
        CHECK_EQ(told.count, 1);
        options.bad = LMN_BAD_NULL;
        CHECK_STATUS(read_rows(path, &options, &rows, &batch, &err), LMN_OK, &err);
        CHECK_EQ(rows, 2);
        CHECK_EQ(told.count, 2);
        CHECK_HAS(told.last, "|1024|1|json|");
        value = batch.children[0]->children[0];
        CHECK_EQ(((const int64_t *)value->buffers[1])[1], 2);
        batch.release(&batch);
    }
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

/* Samples are taken from shard after shard, and one that has a field twice counts once. */
static void test_webdataset__columns_of_several_shards(void **state)
{
    static const char *const json[] = { "{\"a\":1}", "{\"a\":1.5}" };
    char *dir = test_dir_make(), paths[2][4200];
    const char *shard[] = { paths[0], paths[1] };
    struct lmn_webdataset_options options = { .bad = LMN_BAD_SKIP };
    struct lmn_webdataset *dataset;
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct lmn_error err;

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct lmn__buf tar;

        tar_init(&tar);
        tar_file(&tar, "same.json", json[i]);
        tar_file(&tar, "same.bin", "bytes");
        tar_file(&tar, "same.bin", "again");
        tar_end(&tar);
        snprintf(paths[i], sizeof paths[i], "%s", tar_write(&tar, dir, i == 0 ? "0" : "1"));
        lmn__buf_deinit(&tar);
    }
    CHECK_STATUS(lmn_webdataset_open(test_env(), shard, 2, &options, &dataset, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_webdataset_shard(dataset, 0, &stream, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__stream_schema(&stream, &schema, &err), LMN_OK, &err);
    CHECK_EQ(schema.n_children, 3); /* __key__, json, bin */
    CHECK_STR(schema.children[1]->children[0]->format, "g");
    schema.release(&schema);
    stream.release(&stream);
    lmn_webdataset_close(dataset);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

static void test_webdataset__shards_that_cannot_be_read(void **state)
{
    struct told told = { 0 };
    struct lmn_webdataset_options options = { .bad = LMN_BAD_SKIP,
                                              .report = tell,
                                              .report_self = &told };
    char *dir = test_dir_make();
    const char *shard[2] = { "/nowhere/x.tar", sample_shard(dir) };
    struct lmn_webdataset *dataset;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn_webdataset_open(test_env(), shard, 2, NULL, &dataset, &err), LMN_E_NOT_FOUND,
                 &err);
    CHECK_STATUS(lmn_webdataset_open(test_env(), shard, 2, &options, &dataset, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_webdataset_shard(dataset, 0, &stream, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__stream_next(&stream, &batch, &err), LMN_OK, &err);
    CHECK(batch.release == NULL);
    CHECK_EQ(told.count, 1);
    CHECK_HAS(told.last, "/nowhere/x.tar|0|||");
    stream.release(&stream);
    lmn_webdataset_close(dataset);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

static void test_webdataset__references(void **state)
{
    static const struct lmn_webdataset_column column[] = { { .field = "jpg" }, { .field = "cls" } };
    struct lmn_webdataset_options options = { .column = column,
                                              .column_count = 2,
                                              .references = true };
    char *dir = test_dir_make();
    struct ArrowArray batch;
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    CHECK_STATUS(read_rows(sample_shard(dir), &options, &rows, &batch, &err), LMN_OK, &err);
    CHECK_EQ(rows, 2);
    CHECK_EQ(batch.children[0]->n_children, 4);
    CHECK_EQ(batch.children[0]->children[0]->null_count, 2);
    CHECK_EQ(((const uint64_t *)batch.children[0]->children[2]->buffers[1])[0], 512);
    CHECK_EQ(((const uint64_t *)batch.children[0]->children[3]->buffers[1])[1], 7);
    CHECK_EQ(((const int64_t *)batch.children[1]->buffers[1])[1], 8);
    batch.release(&batch);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

static void test_webdataset__every_fault_is_told(void **state)
{
    struct lmn_webdataset_options options = { .batch_rows_max = 1, .bad = LMN_BAD_NULL };
    char *dir = test_dir_make();
    const char *path = sample_shard(dir);
    struct lmn_error err;
    uint64_t rows;

    (void)state;
    (void)live_allocations();
    for (uint64_t nth = 1;; nth++) {
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = read_rows(path, &options, &rows, NULL, &err);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        if (st == LMN_OK) { /* a smaller piece of memory did as well */
            CHECK_EQ(rows, 2);
            continue;
        }
        CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
        CHECK(err.message[0] != '\0');
    }
    fault_disarm();
    test_dir_remove(dir);
}

static void test_expand__braces_globs_folders(void **state)
{
    char *dir = test_dir_make(), pattern[4200];
    struct lmn_name_list list;
    struct lmn_error err;

    (void)state;
    sample_shard(dir);
    snprintf(pattern, sizeof pattern, "%s/{x,y}-{08..11}.tar", dir);
    CHECK_STATUS(lmn_ingest_expand(test_env(), pattern, NULL, &list, &err), LMN_OK, &err);
    CHECK_EQ(list.count, 8);
    CHECK_HAS(list.name[0], "/x-08.tar");
    CHECK_HAS(list.name[7], "/y-11.tar");
    lmn_name_list_free(&list);
    snprintf(pattern, sizeof pattern, "%s/*.tar", dir);
    CHECK_STATUS(lmn_ingest_expand(test_env(), pattern, NULL, &list, &err), LMN_OK, &err);
    CHECK_EQ(list.count, 1);
    lmn_name_list_free(&list);
    CHECK_STATUS(lmn_ingest_expand(test_env(), dir, ".tar", &list, &err), LMN_OK, &err);
    CHECK_HAS(list.name[0], "/a.tar");
    lmn_name_list_free(&list);
    snprintf(pattern, sizeof pattern, "{%s//,%s/./*.tar,%s/a.tar}", dir, dir, dir);
    CHECK_STATUS(lmn_ingest_expand(test_env(), pattern, ".tar", &list, &err), LMN_OK, &err);
    CHECK_EQ(list.count, 1); /* three names of one file */
    snprintf(pattern, sizeof pattern, "%s/a.tar", dir);
    CHECK_STR(list.name[0], pattern);
    lmn_name_list_free(&list);
    snprintf(pattern, sizeof pattern, "%s/b[1]{2}.tar", dir);
    CHECK_EQ(rename(sample_shard(dir), pattern), 0);
    CHECK_STATUS(lmn_ingest_expand(test_env(), pattern, NULL, &list, &err), LMN_OK, &err);
    CHECK_STR(list.name[0], pattern);
    lmn_name_list_free(&list);
    CHECK_STATUS(lmn_ingest_expand(test_env(), dir, ".csv .tar", &list, &err), LMN_OK, &err);
    CHECK_EQ(list.count, 1);
    lmn_name_list_free(&list);
    CHECK_STATUS(lmn_ingest_expand(test_env(), dir, ".csv", &list, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_ingest_expand(test_env(), dir, ".csv .tgz", &list, &err), LMN_E_NOT_FOUND,
                 &err);
    CHECK_STATUS(lmn_ingest_expand(test_env(), "", NULL, &list, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_ingest_expand(test_env(), "a{1..2", NULL, &list, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_ingest_expand(test_env(), "a{9..2}", NULL, &list, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_ingest_expand(test_env(), "a{0..9999999}", NULL, &list, &err), LMN_E_INVALID,
                 &err);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_webdataset__every_field_a_column),
        cmocka_unit_test(test_webdataset__fields_with_dots),
        cmocka_unit_test(test_webdataset__columns_that_are_asked_for),
        cmocka_unit_test(test_webdataset__wrong_columns),
        cmocka_unit_test(test_webdataset__bad_input_as_asked),
        cmocka_unit_test(test_webdataset__fields_of_json),
        cmocka_unit_test(test_webdataset__columns_of_several_shards),
        cmocka_unit_test(test_webdataset__shards_that_cannot_be_read),
        cmocka_unit_test(test_webdataset__references),
        cmocka_unit_test(test_webdataset__every_fault_is_told),
        cmocka_unit_test(test_expand__braces_globs_folders),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
