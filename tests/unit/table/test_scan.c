/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of tables in order: tables that pylance made, with deletions and changed columns, and tables
 * of our own with every type.
 *
 * labels: threads
 */
#include <string.h>

#include "arrays.h"
#include "golden_tables.h"
#include "stores.h"

static const char *const golden[] = { "history-2.0", "history-2.1", "history-2.2", "stable",
                                      "compacted" };
enum { GOLDEN_COUNT = sizeof golden / sizeof golden[0] };

/* What a scan gave: the ids in order, and row ids and addresses if they were asked for. */
struct scanned {
    uint64_t rows;
    uint64_t batches;
    int64_t id[200];
    uint64_t row_id[200];
    uint64_t row_address[200];
};

static const struct ArrowArray *child_named(const struct ArrowSchema *schema,
                                            const struct ArrowArray *array, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (strcmp(schema->children[i]->name, name) == 0)
            return array->children[i];
    }
    return NULL;
}

static uint64_t number_at(const struct ArrowArray *array, uint64_t i)
{
    return ((const uint64_t *)array->buffers[1])[(uint64_t)array->offset + i];
}

static void add_batch(const struct ArrowSchema *schema, const struct ArrowArray *batch,
                      struct scanned *scanned)
{
    const struct ArrowArray *row_id = child_named(schema, batch, "_rowid");
    const struct ArrowArray *address = child_named(schema, batch, "_rowaddr");

    scanned->batches++;
    for (uint64_t i = 0; i < (uint64_t)batch->length; i++) {
        uint64_t at = scanned->rows++;

        CHECK(at < 200);
        scanned->id[at] = golden_check_row(schema, batch, i);
        if (row_id != NULL)
            scanned->row_id[at] = number_at(row_id, i);
        if (address != NULL)
            scanned->row_address[at] = number_at(address, i);
    }
}

static void scan(struct lmn_table *table, const struct lmn_scan_options *options,
                 struct scanned *scanned)
{
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_error err = { 0 };

    memset(scanned, 0, sizeof *scanned);
    CHECK_STATUS(lmn_table_scan(table, options, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    for (;;) {
        CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        add_batch(&schema, &batch, scanned);
        batch.release(&batch);
    }
    schema.release(&schema);
    stream.release(&stream);
}

/* Every row with every column, in files of all versions, read in batches of all sizes. */
static void test_scan__golden(void **state)
{
    static const uint32_t batch_rows[] = { 0, 1, 3, 20, 1000 };
    struct scanned scanned;

    (void)state;
    for (int t = 0; t < GOLDEN_COUNT; t++) {
        struct lmn_table *table = golden_open(golden[t]);

        for (int b = 0; b < 5; b++) {
            for (uint32_t threads = 1; threads <= 3; threads++) {
                const struct lmn_scan_options options = { .threads = threads,
                                                          .batch_rows_max = batch_rows[b] };
                uint64_t sum = 0;

                scan(table, &options, &scanned);
                CHECK_EQ(scanned.rows, GOLDEN_ROWS);
                for (int i = 0; i < GOLDEN_ROWS; i++) {
                    if (t < 3)
                        CHECK_EQ(scanned.id[i], golden_id[i]);
                    sum += (uint64_t)(scanned.id[i] - golden_id[i]);
                }
                CHECK_EQ(sum, 0);
            }
        }
        lmn_table_release(table);
    }
    CHECK_EQ(live_allocations(), 0);
}

/* Columns by name and path, in the order asked for. */
static void test_scan__columns(void **state)
{
    const char *const column[] = { "empty", "info.w", "id" };
    const char *const wrong[] = { "info.h" };
    struct lmn_scan_options options = { .column = column, .column_count = 3 };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct scanned scanned;
    struct lmn_error err;

    (void)state;
    for (int t = 0; t < GOLDEN_COUNT; t++) {
        struct lmn_table *table = golden_open(golden[t]);

        scan(table, &options, &scanned);
        CHECK_EQ(scanned.rows, GOLDEN_ROWS);
        CHECK_OK(lmn_table_scan(table, &options, &stream, &err));
        CHECK_EQ(stream.get_schema(&stream, &schema), 0);
        CHECK_EQ(schema.n_children, 3);
        CHECK_STR(schema.children[0]->name, "empty");
        CHECK_STR(schema.children[1]->name, "info");
        schema.release(&schema);
        stream.release(&stream);
        CHECK_EQ(lmn_table_scan(table,
                                &(struct lmn_scan_options){ .column = wrong, .column_count = 1 },
                                &stream, &err),
                 LMN_E_NOT_FOUND);
        lmn_table_release(table);
    }
    CHECK_EQ(live_allocations(), 0);
}

/* Limit and offset leave out just those rows, whatever is deleted and however it is read. */
static void test_scan__limit_and_offset(void **state)
{
    struct lmn_table *table = golden_open("history-2.1");
    struct scanned scanned;

    (void)state;
    for (uint64_t offset = 0; offset <= GOLDEN_ROWS + 1; offset += 3) {
        for (uint64_t limit = 0; limit <= GOLDEN_ROWS + 1; limit += 2) {
            const struct lmn_scan_options options = { .limited = true,
                                                      .limit = limit,
                                                      .offset = offset,
                                                      .batch_rows_max = 7,
                                                      .threads = 1 + (uint32_t)(limit % 3) };
            uint64_t left = offset < GOLDEN_ROWS ? GOLDEN_ROWS - offset : 0;

            scan(table, &options, &scanned);
            CHECK_EQ(scanned.rows, left < limit ? left : limit);
            for (uint64_t i = 0; i < scanned.rows; i++)
                CHECK_EQ(scanned.id[i], golden_id[offset + i]);
        }
    }
    lmn_table_release(table);
    CHECK_EQ(live_allocations(), 0);
}

/* Row ids are addresses, or stay with the row: ids of the golden tables are those of the rows. */
static void test_scan__row_ids(void **state)
{
    const struct lmn_scan_options options = { .with_row_id = true,
                                              .with_row_address = true,
                                              .batch_rows_max = 6 };
    struct scanned scanned;

    (void)state;
    for (int t = 0; t < GOLDEN_COUNT; t++) {
        struct lmn_table *table = golden_open(golden[t]);

        scan(table, &options, &scanned);
        for (uint64_t i = 0; i < scanned.rows; i++) {
            uint64_t id = (uint64_t)scanned.id[i];

            if (t < 3) {
                CHECK_EQ(scanned.row_id[i], id / 20 << 32 | id % 20);
                CHECK_EQ(scanned.row_address[i], scanned.row_id[i]);
            } else {
                CHECK_EQ(scanned.row_id[i], id);
            }
        }
        CHECK_EQ(scanned.row_address[scanned.rows - 1] >> 32, t < 3 ? 3 : t == 3 ? 4 : 5);
        lmn_table_release(table);
    }
    CHECK_EQ(live_allocations(), 0);
}

/* Only some fragments, by id. */
static void test_scan__fragments(void **state)
{
    const uint64_t fragment[] = { 3, 1 }, wrong[] = { 1, 4 };
    const struct lmn_scan_options options = { .fragment = fragment, .fragment_count = 2 };
    struct lmn_table *table = golden_open("history-2.1");
    struct ArrowArrayStream stream;
    struct scanned scanned;
    struct lmn_error err;

    (void)state;
    scan(table, &options, &scanned);
    CHECK_EQ(scanned.rows, 13);
    CHECK_EQ(scanned.id[0], 60);
    CHECK_EQ(scanned.id[10], 25);
    CHECK_EQ(lmn_table_scan(table,
                            &(struct lmn_scan_options){ .fragment = wrong, .fragment_count = 2 },
                            &stream, &err),
             LMN_E_NOT_FOUND);
    CHECK_HAS(err.message, "fragment 4");
    lmn_table_release(table);
    CHECK_EQ(live_allocations(), 0);
}

/* A stream outlives its table's handle, and one that nobody reads leaves nothing behind. */
static void test_scan__released_early(void **state)
{
    struct lmn_table *table = golden_open("stable");
    struct ArrowArrayStream stream, unread;
    struct ArrowArray batch;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn_table_scan(table, NULL, &unread, &err));
    CHECK_OK(
        lmn_table_scan(table, &(struct lmn_scan_options){ .batch_rows_max = 2 }, &stream, &err));
    lmn_table_release(table);
    CHECK_OK(lmn_table_scan_next(&stream, &batch, &err));
    CHECK_EQ(batch.length, 2);
    batch.release(&batch);
    stream.release(&stream);
    unread.release(&unread);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_scan__golden),           cmocka_unit_test(test_scan__columns),
        cmocka_unit_test(test_scan__limit_and_offset), cmocka_unit_test(test_scan__row_ids),
        cmocka_unit_test(test_scan__fragments),        cmocka_unit_test(test_scan__released_early),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
