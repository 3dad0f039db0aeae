/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The failed cells of a column, each with the newest record of its row that is kept under
 * `_leman/errors/<field id>/`. The ledger says which cells have failed; records only tell more. One
 * that is lost, or does not parse, leaves nulls.
 */
#include <leman/table_fill.h>
#include <leman/table_scan.h>
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <stdlib.h>

#include "arrow/compose.h"
#include "arrow/view.h"
#include "base/error.h"
#include "format/batches.h"
#include "store/object.h"
#include "table/error_record.h"
#include "table/ledger.h"
#include "table/table.h"

enum { BATCH_ROWS = 4096, DIR_BYTES = 64, PATH_BYTES = 512, ATTEMPTS_AT = 5 };

/* A cell that has failed. */
struct failed {
    uint64_t row_id;
    bool has_record;
    struct lmn__error_record record;
};

/* Everything about the errors of one column; the source of a stream. */
struct errors {
    struct lmn_env *env;     /* counted */
    struct lmn_table *table; /* a handle of its own */
    struct failed *failed;   /* by rising row id */
    uint64_t count, room;
    struct lmn__arena *arena; /* of the files' texts */
    char dir[DIR_BYTES];
};

static enum lmn_status add_failed(struct errors *errors, uint64_t row_id, struct lmn_error *err)
{
    if (errors->count == errors->room) {
        uint64_t room = errors->room != 0 ? errors->room * 2 : 64;
        struct failed *grown = lmn__realloc(errors->table->env, errors->failed,
                                            room * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "failed cells", room * sizeof *grown);
        errors->failed = grown;
        errors->room = room;
    }
    errors->failed[errors->count++] = (struct failed){ .row_id = row_id };
    return LMN_OK;
}

/* The failed cells of a batch: the ledger's state, and row ids. */
static enum lmn_status see_batch(struct errors *errors, const struct ArrowArray *batch,
                                 struct lmn_error *err)
{
    const struct ArrowArray *ledger = batch->children[0], *state = ledger->children[0];
    const struct ArrowArray *id = batch->children[1];
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < (uint64_t)batch->length; i++) {
        uint64_t at = (uint64_t)batch->offset + i, slot = (uint64_t)ledger->offset + at;

        if (!lmn__view_is_null(ledger, at) && !lmn__view_is_null(state, slot) &&
            ((const uint8_t *)state->buffers[1])[(uint64_t)state->offset + slot] ==
                LMN__CELL_FAILED)
            st = add_failed(errors, ((const uint64_t *)id->buffers[1])[(uint64_t)id->offset + at],
                            err);
    }
    return st;
}

static int compare_failed(const void *a, const void *b)
{
    uint64_t x = ((const struct failed *)a)->row_id, y = ((const struct failed *)b)->row_id;

    return x < y ? -1 : x > y;
}

static enum lmn_status find_failed(struct errors *errors, const char *path, struct lmn_error *err)
{
    const struct lmn_scan_options options = {
        .column = &path, .column_count = 1, .with_row_id = true, .batch_rows_max = 1 << 16
    };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = lmn_table_scan(errors->table, &options, &stream, err);

    if (st != LMN_OK)
        return st;
    while ((st = lmn_table_scan_next(&stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        st = see_batch(errors, &batch, err);
        batch.release(&batch);
        if (st != LMN_OK)
            break;
    }
    stream.release(&stream);
    if (st == LMN_OK && errors->count != 0)
        qsort(errors->failed, errors->count, sizeof *errors->failed, compare_failed);
    return st;
}

/* Keep what a line says, if its cell has failed and nothing newer is known of it. */
static void see_line(struct errors *errors, struct lmn__span line)
{
    struct failed key, *found;

    if (lmn__error_record_parse(line, &key.record, NULL) != LMN_OK)
        return;
    key.row_id = key.record.row_id;
    found = bsearch(&key, errors->failed, errors->count, sizeof key, compare_failed);
    if (found == NULL ||
        (found->has_record && !lmn__error_record_is_newer(&key.record, &found->record)))
        return;
    found->has_record = true;
    found->record = key.record;
}

static void see_lines(struct errors *errors, struct lmn__span text)
{
    const uint8_t *end = text.data + text.len;

    while (text.data < end) {
        const uint8_t *stop = memchr(text.data, '\n', (size_t)(end - text.data));

        stop = stop != NULL ? stop : end;
        see_line(errors, (struct lmn__span){ text.data, (size_t)(stop - text.data) });
        text.data = stop + 1;
    }
}

/* A lmn__store_entry_fn: one file of records. */
static enum lmn_status see_file(void *context, const char *name, bool is_directory,
                                struct lmn_error *err)
{
    struct errors *errors = context;
    struct lmn__object object;
    char path[PATH_BYTES];
    uint8_t *text;
    int len = snprintf(path, sizeof path, "%s/%s", errors->dir, name);
    size_t name_len = strlen(name);
    enum lmn_status st;

    if (is_directory || len < 0 || (size_t)len >= sizeof path || name_len < sizeof ".jsonl" ||
        strcmp(name + name_len - (sizeof ".jsonl" - 1), ".jsonl") != 0)
        return LMN_OK;
    st = lmn__object_open(errors->table->store, path, &object, err);
    if (st == LMN_E_NOT_FOUND) /* removed since it was listed */
        return LMN_OK;
    if (st != LMN_OK)
        return st;
    text = lmn__arena_alloc(errors->arena, object.bytes);
    st = text != NULL ? lmn__object_read(&object, 0, text, object.bytes, err)
                      : lmn__arena_fail(errors->arena, "error records", err);
    if (st == LMN_OK)
        see_lines(errors, (struct lmn__span){ text, object.bytes });
    lmn__object_close(&object);
    return st;
}

static bool set_column(struct ArrowSchema *schema, const char *name, enum ArrowType type)
{
    return ArrowSchemaSetType(schema, type) == NANOARROW_OK &&
           ArrowSchemaSetName(schema, name) == NANOARROW_OK;
}

/* A lmn__batch_schema_fn: row id, four texts, attempts, and the other texts. */
static enum lmn_status make_schema(void *context, struct ArrowSchema *schema_out,
                                   struct lmn_error *err)
{
    int64_t at = 0;
    bool good;

    (void)context;
    ArrowSchemaInit(schema_out);
    good = ArrowSchemaSetTypeStruct(schema_out, LMN__ERROR_TEXTS + 2) == NANOARROW_OK &&
           set_column(schema_out->children[at++], "row_id", NANOARROW_TYPE_UINT64);
    for (int i = 0; good && i < LMN__ERROR_TEXTS; i++) {
        if (at == ATTEMPTS_AT)
            good = set_column(schema_out->children[at++], "attempts", NANOARROW_TYPE_UINT32);
        good = good && set_column(schema_out->children[at++], lmn__error_text_name[i],
                                  NANOARROW_TYPE_LARGE_STRING);
    }
    if (good)
        return LMN_OK;
    if (schema_out->release != NULL)
        schema_out->release(schema_out);
    return lmn__no_memory(err, "a schema", 0);
}

static bool put_text(struct ArrowArray *column, const struct failed *failed,
                     enum lmn__error_text which, struct lmn__buf *buf)
{
    struct ArrowStringView view;

    lmn__buf_reset(buf);
    if (!failed->has_record || failed->record.text[which].data == NULL)
        return ArrowArrayAppendNull(column, 1) == NANOARROW_OK;
    lmn__error_record_put(&failed->record, which, buf);
    view = (struct ArrowStringView){ (const char *)buf->data, (int64_t)buf->len };
    return !buf->failed && ArrowArrayAppendString(column, view) == NANOARROW_OK;
}

static bool put_row(struct ArrowArray *array, const struct failed *failed, struct lmn__buf *buf)
{
    struct ArrowArray **column = array->children;
    bool good = ArrowArrayAppendUInt(column[0], failed->row_id) == NANOARROW_OK;

    for (int i = 0; good && i < LMN__ERROR_TEXTS; i++)
        good = put_text(column[1 + i + (i + 1 >= ATTEMPTS_AT)], failed, (enum lmn__error_text)i,
                        buf);
    if (!good)
        return false;
    good = failed->record.attempts != 0 && failed->record.attempts <= UINT32_MAX
               ? ArrowArrayAppendUInt(column[ATTEMPTS_AT], failed->record.attempts) == NANOARROW_OK
               : ArrowArrayAppendNull(column[ATTEMPTS_AT], 1) == NANOARROW_OK;
    return good && ArrowArrayFinishElement(array) == NANOARROW_OK;
}

/* A lmn__batch_read_fn. */
static enum lmn_status make_batch(void *context, struct lmn__scratch *scratch, uint64_t index,
                                  struct ArrowArray *array_out, struct lmn_error *err)
{
    const struct errors *errors = context;
    struct ArrowSchema schema;
    struct lmn__buf buf;
    uint64_t first = index * BATCH_ROWS;
    bool good;
    enum lmn_status st = make_schema(context, &schema, err);

    (void)scratch;
    *array_out = (struct ArrowArray){ 0 };
    if (st != LMN_OK)
        return st;
    lmn__buf_init(&buf, errors->env, 0);
    good = ArrowArrayInitFromSchema(array_out, &schema, NULL) == NANOARROW_OK &&
           ArrowArrayStartAppending(array_out) == NANOARROW_OK;
    for (uint64_t i = first; good && i < errors->count && i < first + BATCH_ROWS; i++)
        good = put_row(array_out, &errors->failed[i], &buf);
    good = good && ArrowArrayFinishBuildingDefault(array_out, NULL) == NANOARROW_OK;
    lmn__buf_deinit(&buf);
    schema.release(&schema);
    if (good)
        return LMN_OK;
    lmn__array_release(array_out);
    return lmn__no_memory(err, "error records", 0);
}

static void errors_free(void *context)
{
    struct errors *errors = context;
    struct lmn_env *env = errors->env;

    lmn__free(env, errors->failed);
    lmn_table_release(errors->table);
    lmn__arena_free(errors->arena);
    lmn__free(env, errors);
    lmn_env_release(env);
}

static enum lmn_status read_errors(struct errors *errors, const struct lmn__manifest *manifest,
                                   const char *name, struct lmn_error *err)
{
    struct lmn_store *store = errors->table->store;
    const struct lmn__node *column, *ledger;
    char *path;
    size_t bytes;
    enum lmn_status st = lmn__ledger_find(manifest, name, &column, &ledger, err);

    if (st != LMN_OK)
        return st;
    snprintf(errors->dir, sizeof errors->dir, "_leman/errors/%d", column->field->id);
    bytes = strlen(ledger->name) + sizeof ".state";
    path = lmn__arena_alloc(errors->arena, bytes);
    if (path == NULL)
        return lmn__arena_fail(errors->arena, "a name", err);
    snprintf(path, bytes, "%s.state", ledger->name);
    st = find_failed(errors, path, err);
    if (st == LMN_OK && errors->count != 0)
        st = store->ops->list(store, errors->dir, see_file, errors, err);
    return st;
}

/* Nothing is read yet; *errors_out can be freed. */
static enum lmn_status errors_new(struct lmn_table *table, struct lmn__manifest *manifest,
                                  struct errors **errors_out, struct lmn_error *err)
{
    struct errors *errors = lmn__calloc(table->env, 1, sizeof *errors);
    enum lmn_status st;

    *errors_out = NULL;
    if (errors == NULL)
        return lmn__no_memory(err, "error records", sizeof *errors);
    errors->env = lmn_env_acquire(table->env);
    errors->arena = lmn__arena_new(table->env);
    st = errors->arena != NULL ? lmn__table_new(table->store, manifest, &errors->table, err)
                               : lmn__no_memory(err, "error records", 0);
    if (st == LMN_OK)
        *errors_out = errors;
    else
        errors_free(errors);
    return st;
}

enum lmn_status lmn_table_errors(struct lmn_table *table, const char *column,
                                 struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    struct lmn__batches_options options = { .threads = 1 };
    struct lmn__batch_source source = { NULL, make_batch, make_schema, errors_free };
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct errors *errors;
    enum lmn_status st = errors_new(table, manifest, &errors, err);

    *stream_out = (struct ArrowArrayStream){ 0 };
    if (st == LMN_OK) {
        source.context = errors;
        st = read_errors(errors, manifest, column, err);
        options.batch_count = (errors->count + BATCH_ROWS - 1) / BATCH_ROWS;
        if (st == LMN_OK)
            st = lmn__batches_open(errors->env, &source, &options, stream_out, err);
        if (st != LMN_OK)
            errors_free(errors);
    }
    lmn__manifest_release(manifest);
    return st;
}
