/* SPDX-License-Identifier: Apache-2.0 */
/*
 * labels: threads
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "arrays.h"
#include "os/thread.h"
#include "stores.h"
#include "table/file_set.h"

enum { FILES = 6, THREADS = 4, ROUNDS = 200 };

/* Files "<i>.lance" of i + 1 rows, in data/ of a store that counts how often they are opened. */
struct fixture {
    char *dir;
    struct lmn_store *inner;
    struct lmn_store *store;
    struct lmn__file_set *set;
    struct lmn__manifest manifest;
    uint64_t bytes[FILES];
    atomic_int open_count[FILES];
    atomic_int fail_next; /* so many openings fail */
};

static struct lmn__span span(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static enum lmn__fault_action watch(void *context, enum lmn__store_op op, const char *path)
{
    struct fixture *fixture = context;
    int index;

    if (op != LMN__OP_OPEN || sscanf(path, "data/%d.lance", &index) != 1)
        return LMN__FAULT_NONE;
    atomic_fetch_add(&fixture->open_count[index], 1);
    if (atomic_load(&fixture->fail_next) > 0 && atomic_fetch_sub(&fixture->fail_next, 1) > 0)
        return LMN__FAULT_FAIL;
    return LMN__FAULT_NONE;
}

static void write_files(struct lmn_store *store, const char *folder, uint64_t *bytes)
{
    for (uint64_t i = 0; i < FILES; i++) {
        struct sample sample;
        struct lmn_file *file;
        struct lmn_error err;
        char path[64];

        snprintf(path, sizeof path, "%s%d.lance", folder, (int)i);
        sample_init(&sample, i + 1, i);
        CHECK_OK(sample_write(&sample, store, path, NULL, 100, &err));
        sample_deinit(&sample);
        CHECK_OK(lmn_file_open(store, path, NULL, &file, &err));
        if (bytes != NULL)
            bytes[i] = lmn_file_bytes(file);
        lmn_file_release(file);
    }
}

static int begin_with(void **state, uint32_t open_max)
{
    static struct fixture fixture;
    struct lmn_error err;

    memset(&fixture, 0, sizeof fixture);
    fixture.dir = test_dir_make();
    fixture.inner = test_store_memory();
    write_files(fixture.inner, "data/", fixture.bytes);
    CHECK_OK(lmn__store_open_fault(fixture.inner, watch, &fixture, &fixture.store, &err));
    CHECK_OK(lmn__file_set_new(fixture.store, open_max, &fixture.set, &err));
    *state = &fixture;
    return 0;
}

static int begin(void **state)
{
    return begin_with(state, FILES);
}

static int begin_two(void **state)
{
    return begin_with(state, 2);
}

static int begin_none(void **state)
{
    return begin_with(state, 0);
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    lmn__file_set_free(fixture->set);
    lmn_store_release(fixture->store);
    lmn_store_release(fixture->inner);
    test_dir_remove(fixture->dir);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static enum lmn_status open_number(struct fixture *fixture, int index, struct lmn_file **file_out,
                                   struct lmn_error *err)
{
    struct lmn__pb_data_file data_file = { .bytes = fixture->bytes[index] };
    char name[32];

    snprintf(name, sizeof name, "%d.lance", index);
    data_file.path = span(name);
    return lmn__file_set_open(fixture->set, &fixture->manifest, &data_file, file_out, err);
}

static struct lmn_file *must_open(struct fixture *fixture, int index)
{
    struct lmn_file *file;
    struct lmn_error err;

    CHECK_STATUS(open_number(fixture, index, &file, &err), LMN_OK, &err);
    CHECK_EQ(lmn_file_row_count(file), index + 1);
    return file;
}

static void test_file_set__opens_a_file_once(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_file *first = must_open(fixture, 3), *second = must_open(fixture, 3);

    CHECK(first == second);
    lmn_file_release(first);
    lmn_file_release(second);
    lmn_file_release(must_open(fixture, 3));
    CHECK_EQ(fixture->open_count[3], 1);
}

/* The file that was used longest ago goes; who has it goes on using it. */
static void test_file_set__keeps_the_newest(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_file *kept = must_open(fixture, 0);

    lmn_file_release(must_open(fixture, 1));
    lmn_file_release(must_open(fixture, 0));
    lmn_file_release(must_open(fixture, 2)); /* 1 goes */
    lmn_file_release(must_open(fixture, 0));
    CHECK_EQ(fixture->open_count[0], 1);
    lmn_file_release(must_open(fixture, 1)); /* 2 goes */
    CHECK_EQ(fixture->open_count[1], 2);
    lmn_file_release(must_open(fixture, 2)); /* 0 goes */
    CHECK_EQ(fixture->open_count[2], 2);
    CHECK_EQ(lmn_file_row_count(kept), 1);
    lmn_file_release(must_open(fixture, 0));
    CHECK_EQ(fixture->open_count[0], 2);
    lmn_file_release(kept);
}

static void test_file_set__may_keep_none(void **state)
{
    struct fixture *fixture = *state;

    lmn_file_release(must_open(fixture, 0));
    lmn_file_release(must_open(fixture, 0));
    CHECK_EQ(fixture->open_count[0], 2);
}

static void test_file_set__files_outlive_it(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_file *file = must_open(fixture, 5);

    lmn__file_set_free(fixture->set);
    fixture->set = NULL;
    lmn__file_set_free(NULL);
    CHECK_EQ(lmn_file_row_count(file), 6);
    lmn_file_release(file);
}

static void check_refused(struct fixture *fixture, const struct lmn__pb_data_file *data_file,
                          enum lmn_status expected, const char *part)
{
    struct lmn_file *file;
    struct lmn_error err;

    CHECK_STATUS(lmn__file_set_open(fixture->set, &fixture->manifest, data_file, &file, &err),
                 expected, &err);
    CHECK_HAS(err.message, part);
    CHECK(file == NULL);
}

static void test_file_set__refuses_by_name(void **state)
{
    struct fixture *fixture = *state;
    struct lmn__pb_data_file data_file = { .path = span("0.lance"), .bytes = 17 };

    check_refused(fixture, &data_file, LMN_E_CORRUPT, "the manifest says 17");
    check_refused(fixture, &data_file, LMN_E_CORRUPT, "data/0.lance");
    data_file.bytes = 0; /* not known */
    {
        struct lmn_file *file;
        struct lmn_error err;

        CHECK_OK(lmn__file_set_open(fixture->set, &fixture->manifest, &data_file, &file, &err));
        lmn_file_release(file);
    }
    data_file.path = span("gone.lance");
    check_refused(fixture, &data_file, LMN_E_NOT_FOUND, "data/gone.lance");
    data_file.path = span("../secret");
    check_refused(fixture, &data_file, LMN_E_CORRUPT, "data/../secret");
    data_file.path = span("");
    check_refused(fixture, &data_file, LMN_E_CORRUPT, "0 bytes");
    data_file.path = (struct lmn__span){ (const uint8_t *)"0.lance\0x", 9 };
    check_refused(fixture, &data_file, LMN_E_CORRUPT, "9 bytes");
    test_store_write(fixture->inner, "data/text", "no Lance file, but a text", 25);
    data_file.path = span("text");
    check_refused(fixture, &data_file, LMN_E_CORRUPT, "data/text");
}

/* A file of the directory `base`; the store of the base path itself is checked too. */
static void check_base(struct fixture *fixture, const char *base, bool is_table_root)
{
    struct lmn__pb_base_path entry[2] = {
        { .id = 4, .path = span("/nowhere") },
        { .id = 9, .path = span(base), .is_table_root = is_table_root }
    };
    struct lmn__pb_data_file data_file = { .path = span("2.lance"), .has_base = true, .base = 9 };
    struct lmn_file *file, *own;
    struct lmn_store *store;
    struct lmn_error err;
    bool is_root;

    fixture->manifest.pb.base_paths = (struct lmn__pb_list){ entry, 2 };
    CHECK_STATUS(lmn__file_set_open(fixture->set, &fixture->manifest, &data_file, &file, &err),
                 LMN_OK, &err);
    CHECK_EQ(lmn_file_row_count(file), 3);
    own = must_open(fixture, 2);
    CHECK(own != file); /* same name, another place */
    lmn_file_release(own);
    lmn_file_release(file);
    CHECK_STATUS(
        lmn__file_set_store(fixture->set, &fixture->manifest, true, 9, &store, &is_root, &err),
        LMN_OK, &err);
    CHECK_EQ(is_root, is_table_root);
    CHECK(test_store_read(store, is_table_root ? "data/2.lance" : "2.lance", NULL, 0) > 0);
    lmn_store_release(store);
}

static void test_file_set__base_paths(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *local;
    char base[512];

    snprintf(base, sizeof base, "%s/a table", fixture->dir);
    local = test_store_local(base);
    write_files(local, "data/", NULL);
    write_files(local, "", NULL);
    lmn_store_release(local);
    check_base(fixture, base, true);
    check_base(fixture, base, false);
    snprintf(base, sizeof base, "file://%s/a%%20table", fixture->dir);
    check_base(fixture, base, true);
    snprintf(base, sizeof base, "%s/a table/data/", fixture->dir);
    check_base(fixture, base, false);
}

static void test_file_set__own_store(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store;
    struct lmn_error err;
    bool is_root = false;

    CHECK_OK(
        lmn__file_set_store(fixture->set, &fixture->manifest, false, 0, &store, &is_root, &err));
    CHECK(store == fixture->store && is_root);
    lmn_store_release(store);
}

static void test_file_set__refuses_base_paths(void **state)
{
    static const struct {
        const char *path;
        enum lmn_status status;
        const char *part;
    } cases[] = { { "s3://bucket/table", LMN_E_UNSUPPORTED, "no store for s3 is known" },
                  { "file://host/table", LMN_E_UNSUPPORTED, "another machine" },
                  { "file:///a%2", LMN_E_CORRUPT, "bad escape" },
                  { "file:///a%00b", LMN_E_CORRUPT, "bad escape" },
                  { "", LMN_E_CORRUPT, "a base path of 0 bytes" },
                  { "/no/such/place", LMN_E_NOT_FOUND, "/no/such/place" } };
    struct fixture *fixture = *state;
    struct lmn__pb_base_path entry = { .id = 1 };
    struct lmn__pb_data_file data_file = { .path = span("2.lance"), .has_base = true, .base = 1 };

    fixture->manifest.pb.base_paths = (struct lmn__pb_list){ &entry, 1 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        entry.path = span(cases[i].path);
        check_refused(fixture, &data_file, cases[i].status, cases[i].part);
    }
    data_file.base = 2;
    check_refused(fixture, &data_file, LMN_E_CORRUPT, "base path 2 is not in the manifest");
}

struct worker {
    struct fixture *fixture;
    uint64_t random;
    int failures;
};

static void open_many(void *context)
{
    struct worker *worker = context;
    struct lmn_error err;

    for (int i = 0; i < ROUNDS; i++) {
        int index = (int)(test_random(&worker->random) % FILES);
        struct lmn_file *file;

        if (open_number(worker->fixture, index, &file, &err) != LMN_OK) {
            worker->failures++;
            continue;
        }
        if (lmn_file_row_count(file) != (uint64_t)index + 1)
            worker->failures += 1000;
        lmn_file_release(file);
    }
}

static int run_workers(struct fixture *fixture)
{
    struct lmn__thread thread[THREADS];
    struct worker worker[THREADS];
    struct lmn_error err;
    int failures = 0;

    for (int i = 0; i < THREADS; i++) {
        worker[i] = (struct worker){ .fixture = fixture, .random = (uint64_t)i };
        CHECK_OK(lmn__thread_start(test_env(), open_many, &worker[i], &thread[i], &err));
    }
    for (int i = 0; i < THREADS; i++) {
        lmn__thread_join(&thread[i]);
        failures += worker[i].failures;
    }
    return failures;
}

static void test_file_set__threads_share_openings(void **state)
{
    struct fixture *fixture = *state;

    CHECK_EQ(run_workers(fixture), 0);
    for (int i = 0; i < FILES; i++)
        CHECK_EQ(fixture->open_count[i], 1);
}

/* With room for fewer files than there are; some openings fail, each for the one who opened. */
static void test_file_set__threads_with_evictions_and_faults(void **state)
{
    struct fixture *fixture = *state;

    atomic_store(&fixture->fail_next, 5);
    CHECK_EQ(run_workers(fixture), 5);
}

static void test_file_set__faults(void **state)
{
    struct lmn_store *memory = test_store_memory();
    struct lmn_store *faulty = test_store_faulty(memory);
    struct lmn__manifest manifest = { 0 };
    struct lmn__pb_data_file data_file = { .path = span("1.lance") };
    int64_t before;

    (void)state;
    write_files(memory, "data/", NULL);
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        struct lmn__file_set *set;
        struct lmn_error err = { 0 };
        struct lmn_file *file = NULL;
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn__file_set_new(faulty, 4, &set, &err);
        if (st == LMN_OK)
            st = lmn__file_set_open(set, &manifest, &data_file, &file, &err);
        fault_disarm();
        lmn_file_release(file);
        lmn__file_set_free(set);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(err.message[0] != '\0');
    }
    lmn_store_release(faulty);
    lmn_store_release(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_file_set__opens_a_file_once, begin, end),
        cmocka_unit_test_setup_teardown(test_file_set__keeps_the_newest, begin_two, end),
        cmocka_unit_test_setup_teardown(test_file_set__may_keep_none, begin_none, end),
        cmocka_unit_test_setup_teardown(test_file_set__files_outlive_it, begin, end),
        cmocka_unit_test_setup_teardown(test_file_set__refuses_by_name, begin, end),
        cmocka_unit_test_setup_teardown(test_file_set__base_paths, begin, end),
        cmocka_unit_test_setup_teardown(test_file_set__own_store, begin, end),
        cmocka_unit_test_setup_teardown(test_file_set__refuses_base_paths, begin, end),
        cmocka_unit_test_setup_teardown(test_file_set__threads_share_openings, begin, end),
        cmocka_unit_test_setup_teardown(test_file_set__threads_with_evictions_and_faults, begin_two,
                                        end),
        cmocka_unit_test(test_file_set__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
