/* SPDX-License-Identifier: Apache-2.0 */
/* How many rows fit into a call: what workers say, what tasks are told, what is left behind. */
#include <stdio.h>
#include <string.h>

#include "column_tables.h"
#include "engine/job.h"
#include "stores.h"

static const struct lmn__fill_key key = { .field_id = 3, .version = 42, .column_count = 2 };

/* A job as far as it knows of fits, and its only fill. */
struct place {
    struct lmn_store *store;
    struct lmn_job job;
    struct lmn__job_fill fill;
};

static void place_open(struct place *place, struct lmn_store *store)
{
    memset(place, 0, sizeof *place);
    place->store = store;
    place->job.given = column_table(store, 6, 3);
    place->fill.function.name = "model";
    CHECK_OK(lmn__journal_open(store, &key, "job-1", &place->fill.journal, NULL));
}

static void place_close(struct place *place)
{
    lmn__journal_close(place->fill.journal);
    lmn_table_release(place->job.given);
    lmn_store_release(place->store);
    CHECK_EQ(live_allocations(), 0);
}

static const char *path_of(const struct place *place)
{
    static char path[256];

    snprintf(path, sizeof path, "%s/fit.json", lmn__journal_dir(place->fill.journal));
    return path;
}

static void test_fit__the_smallest_counts(void **state)
{
    static struct place place;

    (void)state;
    place_open(&place, test_store_memory());
    lmn__job_load_fit(&place.job, &place.fill);
    CHECK_EQ(lmn__job_fit(&place.fill, 0), 0);
    CHECK_EQ(lmn__job_fit(&place.fill, 7), 7);
    lmn__job_take_fit(&place.job, &place.fill, 0);
    CHECK_EQ(place.job.event_count, 0);
    lmn__job_take_fit(&place.job, &place.fill, 16);
    lmn__job_take_fit(&place.job, &place.fill, 32);
    lmn__job_take_fit(&place.job, &place.fill, 8);
    CHECK_EQ(place.job.event_count, 2);
    CHECK_STR(place.job.event[1],
              "model() has 8 rows in a call at most: there was no memory for more");
    CHECK_EQ(lmn__job_fit(&place.fill, 0), 8);
    CHECK_EQ(lmn__job_fit(&place.fill, 7), 7);
    CHECK_EQ(lmn__job_fit(&place.fill, 9), 8);
    place.fill.rows_fit = 0;
    lmn__job_load_fit(&place.job, &place.fill); /* the job that goes on */
    CHECK_EQ(place.fill.rows_fit, 8);
    place_close(&place);
}

/* A hint that is none is as good as one that is lost. */
static void test_fit__corrupt_hints(void **state)
{
    static const char *const text[] = { "",
                                        "{}",
                                        "8",
                                        "{\"batch_rows_max\": -8}",
                                        "{\"batch_rows_max\": \"8\"}",
                                        "{\"batch_rows_max\": 8",
                                        "{\"batch_rows_max\": 99999999999999999999999}" };
    static char long_text[200] = "{\"batch_rows_max\": 8}";
    static struct place place;

    (void)state;
    memset(long_text + strlen(long_text), ' ', sizeof long_text - 1 - strlen(long_text));
    for (size_t i = 0; i <= sizeof text / sizeof text[0]; i++) {
        const char *written = i < sizeof text / sizeof text[0] ? text[i] : long_text;

        place_open(&place, test_store_memory());
        test_store_write(place.store, path_of(&place), written, strlen(written));
        lmn__job_load_fit(&place.job, &place.fill);
        CHECK_EQ(place.fill.rows_fit, 0);
        place_close(&place);
    }
}

/* Whatever fails, the job keeps to what it was told. */
static void test_fit__faults(void **state)
{
    static struct place place;

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *store = test_store_memory();
        bool fired;

        place_open(&place, test_store_faulty(store));
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        lmn__job_take_fit(&place.job, &place.fill, 8);
        CHECK_EQ(place.fill.rows_fit, 8);
        place.fill.rows_fit = 0;
        lmn__job_load_fit(&place.job, &place.fill);
        fired = fault_fired();
        fault_disarm();
        CHECK(place.fill.rows_fit == 8 || (fired && place.fill.rows_fit == 0));
        lmn_store_release(store);
        place_close(&place);
        if (!fired)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fit__the_smallest_counts),
        cmocka_unit_test(test_fit__corrupt_hints),
        cmocka_unit_test(test_fit__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
