/* SPDX-License-Identifier: Apache-2.0 */
/* Results that are kept one by one: written, found by others, torn, of another type. */
#include <stdio.h>

#include "arrays.h"
#include "job/kept.h"
#include "stores.h"

static const char dir[] = "_leman/fills/7-0123456789abcdef";

enum { ROWS = 20 };

/* Row `row` of a sample as an array of its own; it owns nothing. */
static struct ArrowArray row_of(const struct ArrowArray *rows, int64_t row,
                                struct ArrowArray *child, struct ArrowArray **children)
{
    struct ArrowArray one = *rows;

    for (int64_t i = 0; i < rows->n_children; i++) {
        child[i] = *rows->children[i];
        child[i].offset += row;
        child[i].length = 1;
        child[i].null_count = -1;
        children[i] = &child[i];
    }
    one.length = 1;
    one.children = children;
    return one;
}

static struct lmn__kept *open_kept(struct lmn_store *store, const struct ArrowSchema *schema)
{
    struct lmn__kept_options options = { .store = store, .dir = dir, .schema = schema };
    struct lmn__kept *kept;
    struct lmn_error err;

    CHECK_STATUS(lmn__kept_open(&options, &kept, &err), LMN_OK, &err);
    return kept;
}

static enum lmn_status add(struct lmn__kept *kept, const struct sample *sample, int64_t row,
                           struct lmn_error *err)
{
    struct ArrowArray child[64], *children[64];
    struct ArrowArray one = row_of(&sample->rows, row, child, children);

    CHECK(sample->rows.n_children <= 64);
    return lmn__kept_add(kept, 1000 + (uint64_t)row, (uint64_t)row * 3, &one, err);
}

static void check_row(struct lmn__kept *kept, const struct sample *sample, int64_t row, bool there)
{
    uint64_t id = 1000 + (uint64_t)row, fingerprint = (uint64_t)row * 3;
    struct ArrowArray array;
    struct lmn_error err;

    CHECK_STATUS(lmn__kept_read(kept, id, fingerprint, &array, &err), LMN_OK, &err);
    CHECK_EQ(array.release != NULL, there);
    if (!there)
        return;
    CHECK(lmn__kept_has(kept, id, fingerprint));
    CHECK_EQ(array.length, 1);
    CHECK(same_slots(&sample->schema, &sample->rows, (uint64_t)row, &array, 0, 1));
    array.release(&array);
}

static void test_kept__found_by_others(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct sample sample;
    struct lmn__kept *first, *second, *third;
    struct ArrowArray array;
    struct lmn_error err;

    (void)state;
    sample_init(&sample, ROWS, 1);
    first = open_kept(store, &sample.schema);
    second = open_kept(store, &sample.schema);
    for (int64_t i = 0; i < ROWS; i += 2) {
        CHECK_STATUS(add(first, &sample, i, &err), LMN_OK, &err);
        CHECK_STATUS(lmn__kept_sync(first, &err), LMN_OK, &err);
    }
    check_row(second, &sample, 0, false); /* it has not looked */
    CHECK_STATUS(lmn__kept_look(second, &err), LMN_OK, &err);
    CHECK_STATUS(add(first, &sample, 1, &err), LMN_OK, &err);
    CHECK_STATUS(add(second, &sample, 3, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__kept_look(second, &err), LMN_OK, &err);
    third = open_kept(store, &sample.schema);
    for (int64_t i = 0; i < ROWS; i++) {
        check_row(second, &sample, i, i % 2 == 0 || i == 1 || i == 3);
        check_row(third, &sample, i, i % 2 == 0 || i == 1 || i == 3);
    }
    /* Other inputs are another matter. */
    CHECK_OK(lmn__kept_read(third, 1000, 99, &array, NULL));
    CHECK(array.release == NULL && !lmn__kept_has(third, 1000, 99));
    CHECK_EQ(test_store_count(store, dir), 2);
    lmn__kept_close(first);
    lmn__kept_close(second);
    lmn__kept_close(third);
    sample_deinit(&sample);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* Where finished rows are computed again, only what was kept since then counts. */
static void test_kept__again(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__kept_options options = { .store = store, .dir = dir, .again = true };
    struct sample sample;
    struct lmn__kept *first, *again, *other;
    struct lmn_error err;

    (void)state;
    sample_init(&sample, ROWS, 1);
    options.schema = &sample.schema;
    first = open_kept(store, &sample.schema);
    CHECK_STATUS(add(first, &sample, 0, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__kept_open(&options, &again, &err), LMN_OK, &err);
    check_row(again, &sample, 0, false);
    CHECK_STATUS(add(again, &sample, 1, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__kept_open(&options, &other, &err), LMN_OK, &err);
    check_row(other, &sample, 0, false);
    check_row(other, &sample, 1, true);
    lmn__kept_close(first);
    lmn__kept_close(again);
    lmn__kept_close(other);
    sample_deinit(&sample);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* A file with rows 0 and 1. */
static void make_file(struct lmn_store *store, const struct sample *sample)
{
    struct lmn__kept *kept = open_kept(store, &sample->schema);
    struct lmn_error err;

    CHECK_STATUS(add(kept, sample, 0, &err), LMN_OK, &err);
    CHECK_STATUS(add(kept, sample, 1, &err), LMN_OK, &err);
    lmn__kept_close(kept);
}

/* A lmn__store_entry_fn. */
static enum lmn_status find_name(void *context, const char *name, bool is_directory,
                                 struct lmn_error *err)
{
    (void)is_directory;
    (void)err;
    snprintf(context, 128, "%s/%s", dir, name);
    return LMN_OK;
}

/* A file that ends anywhere gives the records before its end, and one that is damaged the others.
 */
static void test_kept__corrupt(void **state)
{
    static uint8_t data[64 << 10];
    struct lmn_store *store = test_store_memory();
    char name[128] = "";
    struct sample sample;
    int64_t len, first;

    (void)state;
    sample_init(&sample, ROWS, 1);
    make_file(store, &sample);
    CHECK_OK(store->ops->list(store, dir, find_name, name, NULL));
    len = test_store_read(store, name, data, sizeof data);
    CHECK(len > 64 && len < (int64_t)sizeof data);
    first = 32 + (int64_t)(data[0] | data[1] << 8 | data[2] << 16);
    for (int64_t cut = 0; cut <= len; cut += cut + 9 < len ? 9 : 1) {
        struct lmn__kept *kept;

        CHECK_OK(store->ops->remove(store, name, NULL));
        test_store_write(store, name, data, (size_t)cut);
        kept = open_kept(store, &sample.schema);
        check_row(kept, &sample, 0, cut >= first);
        check_row(kept, &sample, 1, cut >= len);
        lmn__kept_close(kept);
    }
    for (int64_t at = 8; at < first; at += 7) {
        struct lmn__kept *kept;

        CHECK_OK(store->ops->remove(store, name, NULL));
        data[at] ^= 0x40;
        test_store_write(store, name, data, (size_t)len);
        data[at] ^= 0x40;
        kept = open_kept(store, &sample.schema);
        check_row(kept, &sample, 0, false);
        check_row(kept, &sample, 1, true);
        lmn__kept_close(kept);
    }
    sample_deinit(&sample);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* A column that has another type by now is computed again. */
static void test_kept__other_type(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct ArrowSchema other;
    struct lmn__kept *kept;
    struct sample sample;

    (void)state;
    sample_init(&sample, ROWS, 1);
    kept = open_kept(store, &sample.schema);
    CHECK_OK(add(kept, &sample, 0, NULL));
    lmn__kept_close(kept);
    other = sample.schema;
    other.n_children--;
    kept = open_kept(store, &other);
    CHECK(lmn__kept_has(kept, 1000, 0));
    check_row(kept, &sample, 0, false);
    lmn__kept_close(kept);
    sample_deinit(&sample);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static enum lmn_status keep_and_read(struct lmn_store *store, const struct sample *sample,
                                     struct lmn_error *err)
{
    struct lmn__kept_options options = { .store = store, .dir = dir, .schema = &sample->schema };
    struct lmn__kept *kept, *other = NULL;
    struct ArrowArray array = { 0 };
    enum lmn_status st = lmn__kept_open(&options, &kept, err);

    if (st != LMN_OK)
        return st;
    st = add(kept, sample, 0, err);
    if (st == LMN_OK)
        st = lmn__kept_sync(kept, err);
    if (st == LMN_OK)
        st = lmn__kept_open(&options, &other, err);
    if (st == LMN_OK)
        st = lmn__kept_read(other, 1000, 0, &array, err);
    if (array.release != NULL)
        array.release(&array);
    lmn__kept_close(kept);
    lmn__kept_close(other);
    return st;
}

static void test_kept__faults(void **state)
{
    struct sample sample;

    (void)state;
    sample_init(&sample, ROWS, 1);
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *memory = test_store_memory(), *store = test_store_faulty(memory);
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = keep_and_read(store, &sample, &err);
        if (!fault_fired()) {
            CHECK_STATUS(st, LMN_OK, &err);
            fault_disarm();
            lmn_store_release(store);
            lmn_store_release(memory);
            break;
        }
        fault_disarm();
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(st == LMN_OK || err.message[0] != '\0');
        lmn_store_release(store);
        lmn_store_release(memory);
    }
    sample_deinit(&sample);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept__found_by_others), cmocka_unit_test(test_kept__again),
        cmocka_unit_test(test_kept__corrupt),         cmocka_unit_test(test_kept__other_type),
        cmocka_unit_test(test_kept__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
