/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stores.h"
#include "table/deletion.h"

static struct lmn_store *store;

static int begin(void **state)
{
    (void)state;
    store = test_store_memory();
    return 0;
}

static int end(void **state)
{
    (void)state;
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static struct lmn__deletion read_deletion(struct lmn__pb_deletion_file *file, uint64_t rows)
{
    struct lmn__pb_fragment fragment = { .id = 7, .row_count = rows, .deletion = file };
    struct lmn__deletion deletion;
    struct lmn_error err;

    CHECK_STATUS(lmn__deletion_read(store, &fragment, &deletion, &err), LMN_OK, &err);
    return deletion;
}

static void check_refused(struct lmn__pb_deletion_file *file, uint64_t rows,
                          enum lmn_status expected, const char *part)
{
    struct lmn__pb_fragment fragment = { .id = 7, .row_count = rows, .deletion = file };
    struct lmn__deletion deletion;
    struct lmn_error err;

    CHECK_STATUS(lmn__deletion_read(store, &fragment, &deletion, &err), expected, &err);
    CHECK_HAS(err.message, part);
    CHECK(deletion.bits == NULL);
}

/* Delete rows of a fragment at random and write them; *file_out names what was written. */
static struct lmn__deletion write_some(uint64_t rows, uint64_t count, uint64_t seed,
                                       struct lmn__pb_deletion_file *file_out)
{
    struct lmn__deletion deletion = { 0 };
    struct lmn_error err;

    CHECK_OK(lmn__deletion_reserve(&deletion, test_env(), rows, &err));
    for (uint64_t i = 0; i < count; i++) {
        uint64_t row = test_random(&seed) % rows, before = deletion.deleted;
        bool was_alive = !lmn__deletion_has(&deletion, row);

        CHECK_EQ(lmn__deletion_add(&deletion, row), was_alive);
        CHECK_EQ(deletion.deleted, before + was_alive);
        CHECK(lmn__deletion_has(&deletion, row));
    }
    CHECK_STATUS(lmn__deletion_write(store, 7, 3, &deletion, file_out, &err), LMN_OK, &err);
    return deletion;
}

static void test_deletion__without_file_nothing_is_deleted(void **state)
{
    struct lmn__deletion deletion = read_deletion(NULL, 10);

    (void)state;
    CHECK(deletion.bits == NULL && deletion.deleted == 0);
    CHECK(!lmn__deletion_has(&deletion, 9));
    lmn__deletion_deinit(&deletion, test_env());
}

static void test_deletion__path(void **state)
{
    struct lmn__pb_deletion_file file = { .type = 1, .read_version = 2, .id = UINT64_MAX };
    char path[100];

    (void)state;
    lmn__deletion_path(12, &file, path, sizeof path);
    CHECK_STR(path, "_deletions/12-2-18446744073709551615.bin");
    file.type = 0;
    lmn__deletion_path(12, &file, path, sizeof path);
    CHECK_STR(path, "_deletions/12-2-18446744073709551615.arrow");
}

static void test_deletion__round_trip(void **state)
{
    static const uint64_t sizes[][2] = { { 1, 1 },         { 8, 3 },           { 1000, 0 },
                                         { 65537, 70000 }, { 200001, 100000 }, { 300000, 7 } };

    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct lmn__pb_deletion_file file;
        struct lmn__deletion written = write_some(sizes[i][0], sizes[i][1], i, &file);
        struct lmn__deletion found = read_deletion(&file, sizes[i][0]);

        CHECK_EQ(file.type, 1);
        CHECK_EQ(file.read_version, 3);
        CHECK_EQ(file.row_count, written.deleted);
        CHECK_EQ(found.row_count, sizes[i][0]);
        CHECK_EQ(found.deleted, written.deleted);
        CHECK_BYTES(found.bits, written.bits, lmn__bits_bytes(sizes[i][0]));
        lmn__deletion_deinit(&written, test_env());
        lmn__deletion_deinit(&found, test_env());
    }
    CHECK_EQ(test_store_count(store, "_deletions"), 6);
}

/* Room that is there stays, with what is in it. */
static void test_deletion__reserve_keeps_bits(void **state)
{
    struct lmn__deletion deletion = { 0 };
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__deletion_reserve(&deletion, test_env(), 100, &err));
    CHECK(lmn__deletion_add(&deletion, 99));
    CHECK_OK(lmn__deletion_reserve(&deletion, test_env(), 100, &err));
    CHECK(lmn__deletion_has(&deletion, 99));
    lmn__deletion_deinit(&deletion, test_env());
    CHECK_STATUS(lmn__deletion_reserve(&deletion, test_env(), UINT64_MAX, &err), LMN_E_CORRUPT,
                 &err);
}

static void test_deletion__unites(void **state)
{
    const uint64_t one[] = { 0, 9, 70 }, two[] = { 9, 10, 76 }, three[] = { 1, 75 };
    struct lmn__deletion deletion = { 0 }, other = { 0 }, apart = { 0 }, none = { 0 };
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__deletion_reserve(&deletion, test_env(), 77, &err));
    CHECK_OK(lmn__deletion_reserve(&other, test_env(), 77, &err));
    CHECK_OK(lmn__deletion_reserve(&apart, test_env(), 77, &err));
    for (int i = 0; i < 3; i++) {
        lmn__deletion_add(&deletion, one[i]);
        lmn__deletion_add(&other, two[i]);
        lmn__deletion_add(&apart, three[i % 2]);
    }
    CHECK(!lmn__deletion_unite(&deletion, &none));
    CHECK(!lmn__deletion_unite(&deletion, &apart));
    CHECK_EQ(deletion.deleted, 5);
    CHECK(lmn__deletion_unite(&deletion, &other));
    CHECK_EQ(deletion.deleted, 7);
    for (int i = 0; i < 3; i++)
        CHECK(lmn__deletion_has(&deletion, one[i]) && lmn__deletion_has(&deletion, two[i]));
    CHECK(!lmn__deletion_has(&deletion, 8));
    lmn__deletion_deinit(&deletion, test_env());
    lmn__deletion_deinit(&other, test_env());
    lmn__deletion_deinit(&apart, test_env());
}

static void test_deletion__refuses_by_name(void **state)
{
    struct lmn__pb_deletion_file file, other;
    struct lmn__deletion deletion = write_some(1000, 100, 1, &file);
    uint64_t last = 999;

    (void)state;
    while (!lmn__deletion_has(&deletion, last))
        last--;
    check_refused(&file, last, LMN_E_CORRUPT, "expected below");
    check_refused(&file, last, LMN_E_CORRUPT, "_deletions/7-3-");
    check_refused(&file, UINT64_MAX, LMN_E_CORRUPT, "18446744073709551615 rows");
    other = file;
    other.row_count++;
    check_refused(&other, 1000, LMN_E_CORRUPT, "the manifest says");
    other = file;
    other.id++;
    check_refused(&other, 1000, LMN_E_NOT_FOUND, "_deletions/7-3-");
    other = file;
    other.type = 2;
    check_refused(&other, 1000, LMN_E_UNSUPPORTED, "unknown type 2");
    lmn__deletion_deinit(&deletion, test_env());
}

/* Early writers do not say how many rows are deleted. */
static void test_deletion__count_may_be_unknown(void **state)
{
    struct lmn__pb_deletion_file file;
    struct lmn__deletion deletion = write_some(1000, 100, 1, &file), found;

    (void)state;
    file.row_count = 0;
    found = read_deletion(&file, 1000);
    CHECK_EQ(found.deleted, deletion.deleted);
    lmn__deletion_deinit(&found, test_env());
    lmn__deletion_deinit(&deletion, test_env());
}

static void test_deletion__corrupt_cut(void **state)
{
    struct lmn__pb_deletion_file file;
    struct lmn__deletion deletion = write_some(100000, 60, 1, &file);
    uint8_t bytes[400];
    char path[100];
    int64_t len;

    (void)state;
    lmn__deletion_path(7, &file, path, sizeof path);
    len = test_store_read(store, path, bytes, sizeof bytes);
    CHECK(len > 0 && len < (int64_t)sizeof bytes);
    for (int64_t cut = 0; cut < len; cut++) {
        file.id++;
        lmn__deletion_path(7, &file, path, sizeof path);
        test_store_write(store, path, bytes, (size_t)cut);
        check_refused(&file, 100000, LMN_E_CORRUPT, path);
    }
    lmn__deletion_deinit(&deletion, test_env());
}

/* Put a golden file where a deletion file of fragment 7 is looked for. */
static void put_golden(const char *name, const struct lmn__pb_deletion_file *file)
{
    static uint8_t bytes[20000];
    char path[256];
    FILE *golden;
    size_t len;

    snprintf(path, sizeof path, LMN_TESTS "/golden/table/%s", name);
    golden = fopen(path, "rb");
    CHECK(golden != NULL);
    len = fread(bytes, 1, sizeof bytes, golden);
    fclose(golden);
    lmn__deletion_path(7, file, path, sizeof path);
    test_store_write(store, path, bytes, len);
}

/* What pylance wrote; see tests/golden/table/make.py. */
static void test_deletion__golden_bitmap(void **state)
{
    struct lmn__pb_deletion_file file = { .type = 1, .read_version = 1, .row_count = 5385 };
    struct lmn__deletion deletion;

    (void)state;
    put_golden("deletion-many.bin", &file);
    deletion = read_deletion(&file, 70000);
    for (uint64_t row = 0; row < 70000; row++)
        CHECK_EQ(lmn__deletion_has(&deletion, row), row % 13 == 4);
    lmn__deletion_deinit(&deletion, test_env());
}

static void test_deletion__golden_arrow(void **state)
{
    struct lmn__pb_deletion_file few = { .read_version = 1, .row_count = 3 };
    struct lmn__pb_deletion_file half = { .read_version = 1, .id = 1, .row_count = 1000 };
    struct lmn__deletion deletion;

    (void)state;
    put_golden("deletion-few.arrow", &few);
    deletion = read_deletion(&few, 1000);
    for (uint64_t row = 0; row < 1000; row++)
        CHECK_EQ(lmn__deletion_has(&deletion, row), row == 3 || row == 44 || row == 900);
    lmn__deletion_deinit(&deletion, test_env());
    check_refused(&few, 900, LMN_E_CORRUPT, "row 900 is deleted of 900");
    put_golden("deletion-half.arrow", &half);
    deletion = read_deletion(&half, 2000);
    for (uint64_t row = 0; row < 2000; row++)
        CHECK_EQ(lmn__deletion_has(&deletion, row), row % 2 == 1);
    lmn__deletion_deinit(&deletion, test_env());
    half.row_count--;
    check_refused(&half, 2000, LMN_E_CORRUPT, "1000 deleted rows, the manifest says 999");
}

static void test_deletion__corrupt_arrow(void **state)
{
    struct lmn__pb_deletion_file file = { .read_version = 1, .row_count = 3 };
    uint8_t bytes[1000];
    char path[100];
    int64_t len;

    (void)state;
    put_golden("deletion-few.arrow", &file);
    lmn__deletion_path(7, &file, path, sizeof path);
    len = test_store_read(store, path, bytes, sizeof bytes);
    CHECK(len > 0 && len < (int64_t)sizeof bytes);
    for (int64_t cut = 0; cut < len; cut++) {
        file.id++;
        lmn__deletion_path(7, &file, path, sizeof path);
        test_store_write(store, path, bytes, (size_t)cut);
        check_refused(&file, 1000, LMN_E_CORRUPT, path);
    }
    /* A stream of another type. */
    file.id++;
    put_golden("../ipc/types.arrows", &file);
    check_refused(&file, 1000, LMN_E_CORRUPT, "not one column of 32-bit numbers");
}

static enum lmn_status write_and_read(struct lmn_store *faulty, struct lmn_error *err)
{
    struct lmn__deletion deletion = { 0 }, found = { 0 };
    struct lmn__pb_deletion_file file;
    struct lmn__pb_fragment fragment = { .id = 7, .row_count = 1000, .deletion = &file };
    enum lmn_status st = lmn__deletion_reserve(&deletion, test_env(), 1000, err);

    if (st == LMN_OK) {
        for (uint64_t i = 0; i < 1000; i += 9)
            lmn__deletion_add(&deletion, i);
        st = lmn__deletion_write(faulty, 7, 3, &deletion, &file, err);
    }
    if (st == LMN_OK)
        st = lmn__deletion_read(faulty, &fragment, &found, err);
    lmn__deletion_deinit(&deletion, test_env());
    lmn__deletion_deinit(&found, test_env());
    return st;
}

static void test_deletion__faults(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *memory = test_store_memory();
        struct lmn_store *faulty = test_store_faulty(memory);
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = write_and_read(faulty, &err);
        fault_disarm();
        lmn_store_release(faulty);
        lmn_store_release(memory);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        if (st == LMN_OK) /* the fault was in clean-up */
            continue;
        CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(err.message[0] != '\0');
    }
}

static void test_deletion__arrow_faults(void **state)
{
    struct lmn__pb_deletion_file file = { .read_version = 1, .row_count = 1000 };
    struct lmn__pb_fragment fragment = { .id = 7, .row_count = 2000, .deletion = &file };
    struct lmn_store *faulty = test_store_faulty(store);
    int64_t before;

    (void)state;
    put_golden("deletion-half.arrow", &file);
    before = live_allocations();
    for (uint64_t nth = 1;; nth++) {
        struct lmn__deletion deletion;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = lmn__deletion_read(faulty, &fragment, &deletion, &err);
        fault_disarm();
        lmn__deletion_deinit(&deletion, test_env());
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            break;
        }
        CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(err.message[0] != '\0');
    }
    lmn_store_release(faulty);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_deletion__without_file_nothing_is_deleted, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__path, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__round_trip, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__reserve_keeps_bits, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__unites, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__refuses_by_name, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__count_may_be_unknown, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__corrupt_cut, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__golden_bitmap, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__golden_arrow, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__corrupt_arrow, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__faults, begin, end),
        cmocka_unit_test_setup_teardown(test_deletion__arrow_faults, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
