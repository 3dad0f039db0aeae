/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A column beside its refill. Values are compared by their fingerprints, so how they lie in memory
 * makes no difference; two rows of different values that count as equal are not to be expected in
 * any table (2^-64 a pair).
 */
#include <leman/table_scan.h>
#include <stdio.h>
#include <string.h>

#include "arrow/view.h"
#include "base/error.h"
#include "base/json_write.h"
#include "base/text.h"
#include "table/fingerprint.h"
#include "table/ledger.h"
#include "table/refill.h"
#include "table/table.h"
#include "table/table_fields.h"

enum { BATCH_ROWS = 8192, COLUMN = 0, REFILL, LEDGER, ROW_ID, COLUMNS };

/* Ids of rows that differ in one way. */
struct samples {
    uint64_t *id;
    uint32_t count, room;
};

struct comparing {
    struct lmn_table *table; /* pinned */
    const struct lmn__node *column, *refill, *ledger;
    struct lmn__fingerprint *of_column, *of_refill;
    uint64_t number[2][BATCH_ROWS];
    struct samples changed, newly_null;
    struct lmn_refill_comparison *counts;
};

static void add_sample(struct samples *samples, uint64_t id)
{
    if (samples->count < samples->room)
        samples->id[samples->count++] = id;
}

/* The state of the refill's cell. */
static uint8_t state_of(const struct ArrowArray *ledger, uint64_t slot)
{
    const struct ArrowArray *state = ledger->children[0];
    uint64_t at = (uint64_t)ledger->offset + slot;

    if (lmn__view_is_null(ledger, slot) || lmn__view_is_null(state, at))
        return LMN__CELL_PENDING;
    return ((const uint8_t *)state->buffers[1])[(uint64_t)state->offset + at];
}

static void compare_row(struct comparing *comparing, const struct ArrowArray *batch, uint64_t i)
{
    const struct ArrowArray *id = batch->children[ROW_ID];
    uint64_t slot = (uint64_t)batch->offset + i;
    uint64_t row_id = ((const uint64_t *)id->buffers[1])[(uint64_t)id->offset + slot];
    uint8_t state = state_of(batch->children[LEDGER], slot);
    struct lmn_refill_comparison *counts = comparing->counts;

    if (state != LMN__CELL_OK && state != LMN__CELL_FAILED) {
        counts->pending++;
        return;
    }
    counts->failed += state == LMN__CELL_FAILED;
    if (comparing->number[COLUMN][i] == comparing->number[REFILL][i]) {
        counts->equal++;
    } else if (lmn__view_is_null(batch->children[REFILL], slot)) {
        counts->newly_null++;
        add_sample(&comparing->newly_null, row_id);
    } else {
        counts->changed++;
        add_sample(&comparing->changed, row_id);
    }
}

static enum lmn_status compare_batch(struct comparing *comparing, const struct ArrowArray *batch,
                                     struct lmn_error *err)
{
    enum lmn_status st;

    if (batch->length > BATCH_ROWS)
        return lmn_fail(err, LMN_E_CORRUPT, "a batch of %lld rows", (long long)batch->length);
    st = lmn__fingerprint_rows(comparing->of_column, batch, comparing->number[COLUMN], err);
    if (st == LMN_OK)
        st = lmn__fingerprint_rows(comparing->of_refill, batch, comparing->number[REFILL], err);
    for (uint64_t i = 0; st == LMN_OK && i < (uint64_t)batch->length; i++)
        compare_row(comparing, batch, i);
    return st;
}

static enum lmn_status open_fingerprints(struct comparing *comparing,
                                         struct ArrowArrayStream *stream, struct lmn_error *err)
{
    struct ArrowSchema schema;
    struct lmn_env *env = comparing->table->env;
    enum lmn_status st;

    if (stream->get_schema(stream, &schema) != 0)
        return lmn_fail(err, LMN_E_NO_MEMORY, "%.400s", stream->get_last_error(stream));
    st = lmn__fingerprint_new(env, &schema, &comparing->column->name, 1, &comparing->of_column,
                              err);
    if (st == LMN_OK)
        st = lmn__fingerprint_new(env, &schema, &comparing->refill->name, 1, &comparing->of_refill,
                                  err);
    schema.release(&schema);
    return st;
}

static enum lmn_status compare_rows(struct comparing *comparing, const char *state_path,
                                    struct lmn_error *err)
{
    const char *const column[] = { comparing->column->name, comparing->refill->name, state_path };
    const struct lmn_scan_options options = { .column = column,
                                              .column_count = 3,
                                              .with_row_id = true,
                                              .blobs = LMN_BLOB_BYTES,
                                              .batch_rows_max = BATCH_ROWS };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = lmn_table_scan(comparing->table, &options, &stream, err);

    if (st != LMN_OK)
        return st;
    st = open_fingerprints(comparing, &stream, err);
    while (st == LMN_OK && (st = lmn_table_scan_next(&stream, &batch, err)) == LMN_OK &&
           batch.release != NULL) {
        st = compare_batch(comparing, &batch, err);
        batch.release(&batch);
    }
    stream.release(&stream);
    lmn__fingerprint_free(comparing->of_column);
    lmn__fingerprint_free(comparing->of_refill);
    return st;
}

static enum lmn_status compare(struct comparing *comparing, struct lmn_error *err)
{
    size_t bytes = strlen(comparing->ledger->name) + sizeof ".state";
    char *path = lmn__alloc(comparing->table->env, bytes);
    enum lmn_status st;

    if (path == NULL)
        return lmn__no_memory(err, "a name", bytes);
    snprintf(path, bytes, "%s.state", comparing->ledger->name);
    st = compare_rows(comparing, path, err);
    lmn__free(comparing->table->env, path);
    return st;
}

/* Newly null rows behind changed ones; each takes room that the other leaves. */
static uint32_t join_samples(const struct comparing *comparing, uint64_t *row_id, uint32_t max)
{
    const struct samples *changed = &comparing->changed, *newly_null = &comparing->newly_null;
    uint32_t second = newly_null->count < max / 2 ? newly_null->count : max / 2;
    uint32_t first = changed->count < max - second ? changed->count : max - second;

    if (max == 0)
        return 0; /* there may be no memory for them */
    if (second < newly_null->count)
        second = newly_null->count < max - first ? newly_null->count : max - first;
    memcpy(row_id, changed->id, first * sizeof *row_id);
    memcpy(row_id + first, newly_null->id, second * sizeof *row_id);
    return first + second;
}

/* Find the columns in the version that is compared. */
static enum lmn_status open_comparing(struct comparing *comparing, struct lmn__manifest *manifest,
                                      const char *column, uint32_t max, struct lmn_error *err)
{
    struct lmn_env *env = comparing->table->env;
    enum lmn_status st = lmn__refill_find(manifest, column, &comparing->column, &comparing->refill,
                                          err);

    if (st != LMN_OK)
        return st;
    comparing->ledger = lmn__ledger_of(&manifest->schema, comparing->refill);
    if (comparing->ledger == NULL)
        return lmn_fail(err, LMN_E_NOT_FOUND, "no function fills the column \"%.100s\"",
                        comparing->refill->name);
    comparing->changed.id = lmn__calloc(env, (size_t)max + 1, sizeof *comparing->changed.id);
    comparing->newly_null.id = lmn__calloc(env, (size_t)max + 1, sizeof *comparing->newly_null.id);
    comparing->changed.room = comparing->newly_null.room = max;
    return comparing->changed.id != NULL && comparing->newly_null.id != NULL
               ? LMN_OK
               : lmn__no_memory(err, "a list of rows", max * sizeof *comparing->changed.id);
}

enum lmn_status lmn_table_refill_compare(struct lmn_table *table, const char *column,
                                         uint64_t *row_id, uint32_t row_id_max,
                                         uint32_t *row_id_count_out,
                                         struct lmn_refill_comparison *comparison_out,
                                         struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct comparing *comparing = lmn__calloc(table->env, 1, sizeof *comparing);
    enum lmn_status st;

    *row_id_count_out = 0;
    *comparison_out = (struct lmn_refill_comparison){ 0 };
    st = comparing != NULL ? lmn__table_new(table->store, manifest, &comparing->table, err)
                           : lmn__no_memory(err, "a comparison", sizeof *comparing);
    if (st == LMN_OK) {
        comparing->counts = comparison_out;
        st = open_comparing(comparing, manifest, column, row_id_max, err);
        if (st == LMN_OK)
            st = compare(comparing, err);
        if (st == LMN_OK)
            *row_id_count_out = join_samples(comparing, row_id, row_id_max);
        lmn__free(table->env, comparing->changed.id);
        lmn__free(table->env, comparing->newly_null.id);
        lmn_table_release(comparing->table);
    }
    lmn__free(table->env, comparing);
    lmn__manifest_release(manifest);
    return st;
}

static bool index_has(const struct lmn__pb_index *index, const struct lmn__node *node)
{
    for (size_t i = 0; i < index->fields.count; i++) {
        if ((int32_t)index->fields.item[i] == node->field->id)
            return true;
    }
    for (node = node->child; node != NULL; node = node->next) {
        if (index_has(index, node))
            return true;
    }
    return false;
}

static enum lmn_status put_indices(const struct lmn__manifest *manifest,
                                   const struct lmn__node *column, struct lmn__buf *buf,
                                   struct lmn_error *err)
{
    struct lmn__json_writer writer = { buf, false };
    struct lmn__pb_index_section section = { 0 };
    const struct lmn__pb_index *index;
    struct lmn__arena arena;
    enum lmn_status st = LMN_OK;

    lmn__arena_init(&arena, manifest->env, 0);
    if (manifest->index_section.data != NULL)
        st = lmn__pb_decode(&lmn__pb_index_section_message, manifest->index_section, &arena,
                            &section, err);
    index = section.indices.item;
    lmn__json_open(&writer, NULL, '[');
    for (size_t i = 0; st == LMN_OK && i < section.indices.count; i++) {
        const char *name = lmn__arena_strndup(&arena, (const char *)index[i].name.data,
                                              index[i].name.len);

        if (name == NULL)
            st = lmn__arena_fail(&arena, "the name of an index", err);
        else if (index_has(&index[i], column))
            lmn__json_text(&writer, NULL, name);
    }
    lmn__json_close(&writer, ']');
    lmn__arena_deinit(&arena);
    return st == LMN_OK ? lmn__buf_status(buf, "the names of indices", err) : st;
}

enum lmn_status lmn_table_refill_indices(struct lmn_table *table, const char *column,
                                         char **json_out, struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    const struct lmn__node *node;
    struct lmn__buf buf;
    enum lmn_status st = lmn__fields_find(manifest, column, &node, err);

    *json_out = NULL;
    lmn__buf_init(&buf, table->env, 0);
    if (st == LMN_OK)
        st = put_indices(manifest, node, &buf, err);
    if (st == LMN_OK) {
        *json_out = lmn__text_new(table->env, buf.data, buf.len);
        if (*json_out == NULL)
            st = lmn__no_memory(err, "the names of indices", buf.len);
    }
    lmn__buf_deinit(&buf);
    lmn__manifest_release(manifest);
    return st;
}
