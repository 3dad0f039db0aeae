/* SPDX-License-Identifier: Apache-2.0 */
#include "fills.h"

#include <stdio.h>
#include <string.h>

#include "column_tables.h"
#include "format/schema_write.h"
#include "job/kept_blobs.h"
#include "table/snapshot.h"

static bool value_is_null(uint64_t number)
{
    return number % 7 == 3;
}

static bool cell_failed(uint64_t number)
{
    return number % 11 == 5;
}

static uint64_t value_len(uint64_t number, uint32_t value_bytes)
{
    return value_bytes + number % 7;
}

static void value_of(uint64_t number, uint32_t value_bytes, uint8_t *out)
{
    uint64_t state = number * 77 + 1, len = value_len(number, value_bytes);

    for (uint64_t i = 0; i < len; i += 8) {
        uint64_t random = test_random(&state);

        memcpy(out + i, &random, len - i < 8 ? len - i : 8);
    }
}

/* Fragments of the version that the table stands at. */
static void make_plan(struct fill *fill)
{
    struct lmn__snapshot *snapshot;
    struct lmn_error err;

    CHECK_STATUS(lmn__snapshot_open(fill->table, &snapshot, &err), LMN_OK, &err);
    CHECK(snapshot->fragment_count <= FILL_FRAGMENTS_MAX);
    fill->plan = (struct lmn__plan){ .version = snapshot->manifest->pb.version,
                                     .fragment = fill->fragment,
                                     .fragment_count = snapshot->fragment_count };
    for (uint64_t i = 0, rows = 0; i < snapshot->fragment_count; i++) {
        fill->fragment[i] =
            (struct lmn__plan_fragment){ .id = snapshot->fragment[i].id,
                                         .row_count = snapshot->fragment[i].row_count,
                                         .layout = 1000 + i };
        fill->first[i] = rows;
        rows += snapshot->fragment[i].row_count;
    }
    lmn__snapshot_release(snapshot);
}

static void find_key(struct fill *fill)
{
    struct lmn__manifest *manifest = lmn__table_manifest(fill->table);

    for (const struct lmn__node *node = manifest->schema.top; node != NULL; node = node->next) {
        if (strcmp(node->name, fill->column) != 0)
            continue;
        fill->key = (struct lmn__fill_key){ node->field->id, FILL_FUNCTION, 2 };
        fill->blob = node->blob != LMN__BLOB_NONE;
    }
    CHECK_EQ(fill->key.column_count, 2);
    lmn__manifest_release(manifest);
}

void fill_attach(struct fill *fill, struct lmn_store *store, const char *column,
                 uint32_t value_bytes)
{
    struct lmn_error err;

    *fill = (struct fill){ .store = lmn_store_acquire(store),
                           .column = column,
                           .value_bytes = value_bytes };
    snprintf(fill->ledger, sizeof fill->ledger, "_leman_%s", column);
    CHECK_STATUS(lmn_table_open(store, NULL, &fill->table, &err), LMN_OK, &err);
    find_key(fill);
    make_plan(fill);
}

void fill_add_column(struct lmn_table *table, const char *column)
{
    struct ArrowSchema schema;
    struct lmn_error err;

    CHECK_OK(column_schema(&schema, column, NANOARROW_TYPE_BINARY, &err));
    CHECK_STATUS(lmn_table_add_function_columns(table, &schema, "{\"inputs\":[\"number\"]}", &err),
                 LMN_OK, &err);
    schema.release(&schema);
}

void fill_make_blobs(struct fill *fill, struct lmn_store *store, uint64_t rows,
                     uint64_t fragment_rows, uint32_t value_bytes)
{
    struct lmn_table *table = column_table(store, rows, fragment_rows);
    struct ArrowSchema schema;
    struct lmn_error err;

    CHECK_OK(column_schema(&schema, "v", NANOARROW_TYPE_LARGE_BINARY, &err));
    CHECK_OK(lmn__arrow_mark_blob(schema.children[0], &err));
    CHECK_STATUS(lmn_table_add_function_columns(table, &schema, "{\"inputs\":[\"number\"]}", &err),
                 LMN_OK, &err);
    schema.release(&schema);
    lmn_table_release(table);
    fill_attach(fill, store, "v", value_bytes);
    CHECK(fill->blob);
}

void fill_make(struct fill *fill, struct lmn_store *store, uint64_t rows, uint64_t fragment_rows,
               uint32_t value_bytes)
{
    struct lmn_table *table = column_table(store, rows, fragment_rows);

    fill_add_column(table, "v");
    lmn_table_release(table);
    fill_attach(fill, store, "v", value_bytes);
}

static enum lmn_status grant(void *context, enum lmn__grant_file file, uint64_t bytes,
                             uint64_t *position_out, struct lmn_error *err)
{
    struct fill *fill = context;

    return lmn__journal_grant(fill->journal, file, fill->fragment_id, fill->layout, bytes,
                              position_out, err);
}

static struct lmn__assemble_options assemble_options(const struct fill *fill)
{
    return (struct lmn__assemble_options){
        .table = fill->table, .journal = fill->journal, .output = &fill->column, .output_count = 1
    };
}

/* The type of the column and its ledger, as the sink gets it. */
static enum lmn_status fill_schema(const struct fill *fill, struct ArrowSchema *schema,
                                   struct lmn_error *err)
{
    static const char *const names[] = { "state", "function", "inputs" };
    static const enum ArrowType types[] = { NANOARROW_TYPE_UINT8, NANOARROW_TYPE_UINT64,
                                            NANOARROW_TYPE_UINT64 };
    bool failed;

    ArrowSchemaInit(schema);
    failed = ArrowSchemaSetTypeStruct(schema, 2) != NANOARROW_OK ||
             ArrowSchemaSetType(schema->children[0],
                                fill->blob ? NANOARROW_TYPE_LARGE_BINARY : NANOARROW_TYPE_BINARY) !=
                 NANOARROW_OK ||
             ArrowSchemaSetName(schema->children[0], fill->column) != NANOARROW_OK ||
             ArrowSchemaSetTypeStruct(schema->children[1], 3) != NANOARROW_OK ||
             ArrowSchemaSetName(schema->children[1], fill->ledger) != NANOARROW_OK;
    for (int i = 0; !failed && i < 3; i++)
        failed = ArrowSchemaSetType(schema->children[1]->children[i], types[i]) != NANOARROW_OK ||
                 ArrowSchemaSetName(schema->children[1]->children[i], names[i]) != NANOARROW_OK;
    if (!failed && fill->blob)
        return lmn__arrow_mark_blob(schema->children[0], err);
    return failed ? lmn_fail(err, LMN_E_NO_MEMORY, "a schema") : LMN_OK;
}

enum lmn_status fill_open(struct fill *fill, struct lmn_error *err)
{
    struct lmn__assemble_options assemble;
    struct lmn__page_sink_options options = {
        .store = fill->store, .file_version = "2.1", .grant = grant, .context = fill
    };
    struct ArrowSchema schema = { 0 };
    enum lmn_status st;

    options.segments = fill->segments;
    st = lmn__journal_open(fill->store, &fill->key, "job-1", &fill->journal, err);

    if (st != LMN_OK)
        return st;
    assemble = assemble_options(fill);
    st = lmn__assemble_recover(&assemble, err);
    if (st == LMN_OK)
        st = fill_schema(fill, &schema, err);
    if (st == LMN_OK) {
        options.schema = &schema;
        options.dir = lmn__journal_dir(fill->journal);
        st = lmn__page_sink_open(&options, &fill->sink, err);
    }
    if (schema.release != NULL)
        schema.release(&schema);
    if (st != LMN_OK)
        fill_close(fill);
    return st;
}

void fill_close(struct fill *fill)
{
    lmn__page_sink_close(fill->sink);
    lmn__journal_close(fill->journal);
    fill->sink = NULL;
    fill->journal = NULL;
}

void fill_end(struct fill *fill)
{
    fill_close(fill);
    lmn_table_release(fill->table);
    lmn_store_release(fill->store);
}

static void append_row(struct ArrowArray *array, uint64_t number, uint32_t value_bytes,
                       uint8_t *value)
{
    struct ArrowArray *ledger = array->children[1];
    struct ArrowBufferView view = { { value }, (int64_t)value_len(number, value_bytes) };

    value_of(number, value_bytes, value);
    if (value_is_null(number) || cell_failed(number))
        CHECK_EQ(ArrowArrayAppendNull(array->children[0], 1), 0);
    else
        CHECK_EQ(ArrowArrayAppendBytes(array->children[0], view), 0);
    CHECK_EQ(ArrowArrayAppendUInt(ledger->children[0], cell_failed(number) ? 2 : 1), 0);
    CHECK_EQ(ArrowArrayAppendUInt(ledger->children[1], FILL_FUNCTION), 0);
    CHECK_EQ(ArrowArrayAppendUInt(ledger->children[2], number * 5), 0);
    CHECK_EQ(ArrowArrayFinishElement(ledger), 0);
    CHECK_EQ(ArrowArrayFinishElement(array), 0);
}

enum { BATCHES_MAX = 4096, ERRORS_MAX = 65536 };

/* Rows on their way into a sink. */
struct computing {
    uint64_t index;
    struct lmn__row_range range; /* that was prepared */
    struct ArrowSchema schema;
    struct ArrowArray batch[BATCHES_MAX];
    uint64_t batch_count;
    struct lmn__receipt_error error[ERRORS_MAX];
    uint64_t error_count;
    uint8_t value[2 << 20];
};

static void finish_batch(struct computing *computing)
{
    if (computing->batch_count != 0)
        CHECK_EQ(
            ArrowArrayFinishBuildingDefault(&computing->batch[computing->batch_count - 1], NULL),
            0);
}

static void compute_rows(struct computing *computing, const struct fill *fill, uint64_t index,
                         const struct lmn__row_range *range, uint64_t range_count,
                         uint64_t batch_rows)
{
    static const char record[] = "{\"type\":\"ValueError\",\"message\":\"bad\"}";
    uint64_t done = 0;

    for (uint64_t i = 0; i < range_count; i++) {
        for (uint64_t row = range[i].first; row < range[i].first + range[i].count; row++, done++) {
            uint64_t number = 3 * (fill->first[index] + row);

            if (done % batch_rows == 0) {
                finish_batch(computing);
                CHECK(computing->batch_count < BATCHES_MAX);
                CHECK_EQ(ArrowArrayInitFromSchema(&computing->batch[computing->batch_count],
                                                  &computing->schema, NULL),
                         0);
                CHECK_EQ(ArrowArrayStartAppending(&computing->batch[computing->batch_count++]), 0);
            }
            append_row(&computing->batch[computing->batch_count - 1], number, fill->value_bytes,
                       computing->value);
            if (cell_failed(number))
                computing->error[computing->error_count++] = (struct lmn__receipt_error){
                    row, { (const uint8_t *)record, sizeof record - 1 }
                };
        }
    }
    finish_batch(computing);
}

static struct computing scratch, prepared[FILL_PREPARED_MAX];
static uint32_t prepared_count;

static void compute(struct computing *computing, const struct fill *fill, uint64_t index,
                    const struct lmn__row_range *range, uint64_t range_count, uint64_t batch_rows)
{
    struct lmn_error err;

    computing->batch_count = computing->error_count = 0;
    CHECK_STATUS(fill_schema(fill, &computing->schema, &err), LMN_OK, &err);
    compute_rows(computing, fill, index, range, range_count, batch_rows);
}

static void release(struct computing *computing)
{
    for (uint64_t i = 0; i < computing->batch_count; i++)
        computing->batch[i].release(&computing->batch[i]);
    computing->schema.release(&computing->schema);
}

void fill_prepare(struct fill *fill, uint64_t index, uint64_t first, uint64_t count)
{
    struct computing *computing = &prepared[prepared_count++];

    CHECK(prepared_count <= FILL_PREPARED_MAX);
    computing->index = index;
    computing->range = (struct lmn__row_range){ first, count };
    compute(computing, fill, index, &computing->range, 1, 4096);
}

void fill_forget(void)
{
    while (prepared_count != 0)
        release(&prepared[--prepared_count]);
}

static struct computing *find_prepared(uint64_t index, const struct lmn__row_range *range,
                                       uint64_t range_count)
{
    for (uint32_t i = 0; i < prepared_count; i++) {
        if (prepared[i].index == index && range_count == 1 &&
            prepared[i].range.first == range->first && prepared[i].range.count == range->count)
            return &prepared[i];
    }
    return NULL;
}

/* Write what was computed, and enter the receipt. */
static enum lmn_status write_rows(struct fill *fill, const struct lmn__page_sink_rows *rows,
                                  struct lmn_error *err)
{
    struct lmn__buf receipt;
    enum lmn_status st;

    fill->fragment_id = rows->fragment_id;
    fill->layout = rows->layout;
    lmn__buf_init(&receipt, test_env(), 0);
    st = lmn__page_sink_write(fill->sink, rows, &receipt, err);
    if (st == LMN_OK)
        st = lmn__journal_add(fill->journal, (struct lmn__span){ receipt.data, receipt.len }, err);
    lmn__buf_deinit(&receipt);
    return st;
}

enum lmn_status fill_compute(struct fill *fill, uint64_t index, const struct lmn__row_range *range,
                             uint64_t range_count, uint64_t batch_rows, struct lmn_error *err)
{
    struct computing *computing = find_prepared(index, range, range_count);
    struct lmn__page_sink_rows rows = { .fragment_id = fill->fragment[index].id,
                                        .layout = fill->fragment[index].layout,
                                        .range = range,
                                        .range_count = range_count,
                                        .gaps_are_dead = true };
    enum lmn_status st;

    for (uint64_t i = 1; i < range_count; i++)
        rows.gaps_are_dead = rows.gaps_are_dead && range[i - 1].first + range[i - 1].count == 3 &&
                             range[i].first == 4 && fill->first[index] == 0;
    if (computing == NULL) {
        computing = &scratch;
        compute(computing, fill, index, range, range_count, batch_rows);
    }
    rows.array = computing->batch;
    rows.array_count = computing->batch_count;
    rows.error = computing->error;
    rows.error_count = rows.failed_count = computing->error_count;
    st = write_rows(fill, &rows, err);
    if (computing == &scratch)
        release(computing);
    return st;
}

enum lmn_status fill_range(struct fill *fill, uint64_t index, uint64_t first, uint64_t count,
                           struct lmn_error *err)
{
    const struct lmn__row_range range = { first, count };

    return fill_compute(fill, index, &range, 1, 4096, err);
}

/* What is kept of the fill, and the schema of it; the caller closes and releases both. */
static enum lmn_status open_kept(struct fill *fill, struct ArrowSchema *schema,
                                 struct lmn__kept **kept_out, struct lmn_error *err)
{
    struct lmn__kept_options options = { .store = fill->store,
                                         .dir = lmn__journal_dir(fill->journal),
                                         .schema = schema };
    struct ArrowSchema all = { 0 };
    enum lmn_status st = fill_schema(fill, &all, err);

    *kept_out = NULL;
    if (st == LMN_OK) {
        all.n_children = 1; /* without the ledger */
        st = lmn__kept_schema(&all, schema, err);
        all.n_children = 2;
    }
    if (all.release != NULL)
        all.release(&all);
    return st == LMN_OK ? lmn__kept_open(&options, kept_out, err) : st;
}

static void close_kept(struct ArrowSchema *schema, struct lmn__kept *kept)
{
    lmn__kept_close(kept);
    if (schema->release != NULL)
        schema->release(schema);
}

static void release_nothing(struct ArrowArray *array)
{
    array->release = NULL;
}

/* Slots [first, first + count) of what was computed, as an array whose columns may be replaced. */
struct slots {
    struct ArrowArray array, child[2], *children[2];
};

static void slots_init(struct slots *slots, const struct computing *computing, uint64_t first,
                       uint64_t count)
{
    slots->array = computing->batch[0];
    slots->array.length = (int64_t)count;
    slots->array.release = NULL;
    slots->array.children = slots->children;
    for (int i = 0; i < 2; i++) {
        slots->child[i] = *computing->batch[0].children[i];
        slots->child[i].offset = (int64_t)first;
        slots->child[i].length = (int64_t)count;
        slots->child[i].null_count = -1;
        slots->child[i].release = release_nothing;
        slots->children[i] = &slots->child[i];
    }
}

static struct computing *computed(struct fill *fill, uint64_t index,
                                  const struct lmn__row_range *range)
{
    struct computing *computing = find_prepared(index, range, 1);

    if (computing == NULL) {
        computing = &scratch;
        compute(computing, fill, index, range, 1, 4096);
    }
    fill->fragment_id = fill->fragment[index].id;
    fill->layout = fill->fragment[index].layout;
    (void)lmn__page_sink_payloads(fill->sink, fill->fragment_id, fill->layout);
    return computing;
}

enum lmn_status fill_keep(struct fill *fill, uint64_t index, uint64_t first, uint64_t count,
                          struct lmn_error *err)
{
    const struct lmn__row_range range = { first, count };
    struct computing *computing = computed(fill, index, &range);
    struct ArrowSchema schema = { 0 };
    struct lmn__kept *kept = NULL;
    struct slots slots;
    enum lmn_status st = open_kept(fill, &schema, &kept, err);

    slots_init(&slots, computing, 0, count);
    if (st == LMN_OK)
        st = lmn__kept_blobs_place(fill->sink, &slots.array, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        struct ArrowArray row = slots.array;
        uint64_t number = 3 * (fill->first[index] + first + i);

        row.n_children = 1;
        row.offset = (int64_t)i;
        row.length = 1;
        st = lmn__kept_blobs_add(kept, fill->sink, number, number * 5, &row, err);
    }
    if (st == LMN_OK)
        st = lmn__kept_sync(kept, err);
    slots.child[0].release(&slots.child[0]);
    close_kept(&schema, kept);
    if (computing == &scratch)
        release(computing);
    return st;
}

/* The value of a row is the one that was kept, if it was. */
static enum lmn_status recall_row(struct fill *fill, struct lmn__kept *kept, uint64_t number,
                                  struct slots *row, uint64_t *found, struct lmn_error *err)
{
    uint64_t since = lmn__journal_since(fill->journal, fill->fragment_id, fill->layout);
    struct ArrowArray array = { 0 };
    enum lmn_status st = lmn__kept_blobs_read(kept, fill->sink, number, number * 5, since, &array,
                                              err);

    if (st != LMN_OK || array.release == NULL)
        return st;
    CHECK_EQ(array.length, 1);
    CHECK_EQ(array.offset, 0);
    row->child[0] = *array.children[0];
    array.children[0]->release = NULL;
    array.release(&array);
    ++*found;
    return LMN_OK;
}

enum { RECALLED_MAX = 64 };

enum lmn_status fill_recall(struct fill *fill, uint64_t index, uint64_t first, uint64_t count,
                            uint64_t *found_out, struct lmn_error *err)
{
    const struct lmn__row_range range = { first, count };
    struct computing *computing = computed(fill, index, &range);
    struct ArrowArray array[RECALLED_MAX];
    struct slots row[RECALLED_MAX];
    struct lmn__page_sink_rows rows = { .fragment_id = fill->fragment_id,
                                        .layout = fill->layout,
                                        .range = &range,
                                        .range_count = 1,
                                        .array = array,
                                        .array_count = count,
                                        .error = computing->error,
                                        .error_count = computing->error_count,
                                        .failed_count = computing->error_count };
    struct ArrowSchema schema = { 0 };
    struct lmn__kept *kept;
    enum lmn_status st = open_kept(fill, &schema, &kept, err);

    CHECK(count <= RECALLED_MAX);
    *found_out = 0;
    for (uint64_t i = 0; i < count; i++) {
        slots_init(&row[i], computing, i, 1);
        if (st == LMN_OK)
            st = recall_row(fill, kept, 3 * (fill->first[index] + first + i), &row[i], found_out,
                            err);
        array[i] = row[i].array;
    }
    if (st == LMN_OK)
        st = write_rows(fill, &rows, err);
    for (uint64_t i = 0; i < count; i++)
        row[i].child[0].release(&row[i].child[0]);
    close_kept(&schema, kept);
    if (computing == &scratch)
        release(computing);
    return st;
}

enum lmn_status fill_commit(struct fill *fill, uint64_t first, uint64_t count,
                            struct lmn_error *err)
{
    struct lmn__assemble_options options = assemble_options(fill);
    uint64_t id[FILL_FRAGMENTS_MAX];
    bool moved;
    enum lmn_status st;

    for (uint64_t i = 0; i < count; i++)
        id[i] = fill->fragment[first + i].id;
    st = lmn__assemble_commit(&options, &fill->plan, id, count, &moved, err);
    if (st == LMN_OK && moved)
        return lmn_fail(err, LMN_E_CONFLICT, "fragments have moved");
    return st;
}

enum lmn_status fill_rebase(struct fill *fill, struct lmn_error *err)
{
    struct lmn__assemble_options options = assemble_options(fill);
    enum lmn_status st = lmn__assemble_rebase(&options, err);

    if (st == LMN_OK)
        make_plan(fill);
    return st;
}

enum lmn_status fill_is_done(struct fill *fill, uint64_t index, bool *done_out,
                             struct lmn_error *err)
{
    struct lmn__manifest *manifest;
    struct lmn__pb_fragment fragment = { 0 };
    const struct lmn__pb_data_file *file;
    struct lmn__arena arena;
    enum lmn_status st = lmn__table_newest(fill->table, &manifest, err);

    *done_out = false;
    if (st != LMN_OK)
        return st;
    lmn__arena_init(&arena, test_env(), 0);
    st = lmn__manifest_fragment(manifest, index, &arena, &fragment, err);
    file = fragment.files.item;
    for (size_t i = 0; st == LMN_OK && i < fragment.files.count; i++) {
        for (size_t k = 0; k < file[i].fields.count; k++)
            *done_out = *done_out || (int32_t)file[i].fields.item[k] == fill->key.field_id;
    }
    lmn__arena_deinit(&arena);
    lmn__manifest_release(manifest);
    return st;
}

uint64_t fill_direct_count(struct fill *fill, uint64_t index)
{
    const struct lmn__receipt *receipt;
    struct lmn_error err;
    uint64_t count, direct = 0;

    CHECK_OK(lmn__journal_receipts(fill->journal, fill->fragment[index].id,
                                   fill->fragment[index].layout, &receipt, &count, &err));
    for (uint64_t i = 0; i < count; i++)
        direct += receipt[i].pages.count != 0;
    return direct;
}

static uint64_t payload_bytes(struct fill *fill, uint64_t index, bool kept)
{
    const struct lmn__receipt *receipt;
    struct lmn_error err;
    uint64_t count, bytes = 0;

    CHECK_OK(lmn__journal_receipts(fill->journal, fill->fragment[index].id,
                                   fill->fragment[index].layout, &receipt, &count, &err));
    for (uint64_t i = 0; i < count; i++) {
        const struct lmn__pb_list *list = kept ? &receipt[i].kept : &receipt[i].payloads;
        const struct lmn__receipt_payloads *payloads = list->item;

        for (size_t k = 0; k < list->count; k++)
            bytes += payloads[k].bytes;
    }
    return bytes;
}

uint64_t fill_payload_bytes(struct fill *fill, uint64_t index)
{
    return payload_bytes(fill, index, false);
}

uint64_t fill_kept_bytes(struct fill *fill, uint64_t index)
{
    return payload_bytes(fill, index, true);
}

bool fill_has_receipt(struct fill *fill, uint64_t index, uint64_t row)
{
    const struct lmn__receipt *receipt;
    struct lmn_error err;
    uint64_t count;

    CHECK_OK(lmn__journal_receipts(fill->journal, fill->fragment[index].id,
                                   fill->fragment[index].layout, &receipt, &count, &err));
    for (uint64_t i = 0; i < count; i++) {
        for (size_t k = 0; k < receipt[i].first.count; k++) {
            if (row >= receipt[i].first.item[k] &&
                row - receipt[i].first.item[k] < receipt[i].count.item[k])
                return true;
        }
    }
    return false;
}

static enum lmn_status drive_fragment(struct fill *fill, uint64_t index, uint64_t step,
                                      uint32_t *computed, uint32_t *synced, struct lmn_error *err)
{
    uint64_t rows = fill->fragment[index].row_count;
    enum lmn_status st = LMN_OK;

    for (uint64_t row = 0; st == LMN_OK && row < rows; row += step) {
        uint64_t at = index * FILL_STEPS_MAX + row / step;

        if (fill_has_receipt(fill, index, row))
            continue;
        computed[at]++;
        st = fill_range(fill, index, row, rows - row < step ? rows - row : step, err);
        if (st == LMN_OK)
            st = lmn__journal_sync(fill->journal, err);
        synced[at] += st == LMN_OK;
    }
    return st == LMN_OK ? fill_commit(fill, index, 1, err) : st;
}

enum lmn_status fill_drive(struct fill *fill, uint64_t step, uint32_t *computed, uint32_t *synced,
                           struct lmn_error *err)
{
    enum lmn_status st = fill_open(fill, err);

    for (uint64_t i = 0; st == LMN_OK && i < fill->plan.fragment_count; i++) {
        bool done;

        st = fill_is_done(fill, i, &done, err);
        if (st == LMN_OK && !done)
            st = drive_fragment(fill, i, step, computed, synced, err);
    }
    if (st == LMN_OK) {
        lmn__page_sink_close(fill->sink);
        fill->sink = NULL;
        st = lmn__journal_remove(fill->journal, false, err);
        fill->journal = NULL;
    }
    fill_close(fill);
    return st;
}

/* Does row `i` of a batch of number, v and ledger hold what it should? True if it is filled. */
static bool check_row(const struct ArrowArrayView *view, int64_t i, uint32_t value_bytes)
{
    static uint8_t wanted[2 << 20];
    const struct ArrowArrayView *ledger = view->children[2];
    uint64_t number = ArrowArrayViewGetUIntUnsafe(view->children[0], i);
    struct ArrowBufferView value;

    if (ArrowArrayViewIsNull(ledger, i)) {
        CHECK(ArrowArrayViewIsNull(view->children[1], i));
        return false;
    }
    CHECK_EQ(ArrowArrayViewGetUIntUnsafe(ledger->children[0], i), cell_failed(number) ? 2 : 1);
    CHECK_EQ(ArrowArrayViewGetUIntUnsafe(ledger->children[1], i), FILL_FUNCTION);
    CHECK_EQ(ArrowArrayViewGetUIntUnsafe(ledger->children[2], i), number * 5);
    CHECK_EQ(ArrowArrayViewIsNull(view->children[1], i),
             value_is_null(number) || cell_failed(number));
    if (ArrowArrayViewIsNull(view->children[1], i))
        return true;
    value = ArrowArrayViewGetBytesUnsafe(view->children[1], i);
    CHECK_EQ(value.size_bytes, value_len(number, value_bytes));
    value_of(number, value_bytes, wanted);
    CHECK_BYTES(value.data.as_uint8, wanted, (size_t)value.size_bytes);
    return true;
}

uint64_t fill_check(struct lmn_store *store, const char *column, uint32_t value_bytes)
{
    char ledger[16];
    const char *const list[] = { "number", column, ledger };
    const struct lmn_scan_options options = {
        .column = list, .column_count = 3, .threads = 1, .blobs = LMN_BLOB_BYTES
    };
    struct ArrowArrayStream stream;
    struct ArrowArrayView view;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn_table *table;
    struct lmn_error err;
    uint64_t filled = 0;

    snprintf(ledger, sizeof ledger, "_leman_%s", column);
    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_scan(table, &options, &stream, &err), LMN_OK, &err);
    CHECK_EQ(stream.get_schema(&stream, &schema), 0);
    CHECK_EQ(ArrowArrayViewInitFromSchema(&view, &schema, NULL), 0);
    for (;;) {
        CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        CHECK_EQ(ArrowArrayViewSetArray(&view, &batch, NULL), 0);
        for (int64_t i = 0; i < batch.length; i++)
            filled += check_row(&view, i, value_bytes);
        batch.release(&batch);
    }
    ArrowArrayViewReset(&view);
    schema.release(&schema);
    stream.release(&stream);
    lmn_table_release(table);
    return filled;
}
