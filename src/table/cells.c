/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/table_fill.h>
#include <leman/table_scan.h>
#include <stdio.h>
#include <string.h>

#include "arrow/view.h"
#include "table/cell_states.h"
#include "table/ledger.h"

/* Count the states of a batch, whose only column is the ledger with its state. */
static void count_batch(const struct ArrowArray *batch, struct lmn_cell_counts *counts)
{
    const struct ArrowArray *ledger = batch->children[0], *state = ledger->children[0];
    uint64_t *const count[] = { &counts->pending, &counts->ok, &counts->failed };

    for (uint64_t i = 0; i < (uint64_t)batch->length; i++) {
        uint64_t at = (uint64_t)batch->offset + i, slot = (uint64_t)ledger->offset + at;
        uint8_t cell = LMN__CELL_PENDING;

        if (!lmn__view_is_null(ledger, at) && !lmn__view_is_null(state, slot))
            cell = ((const uint8_t *)state->buffers[1])[(uint64_t)state->offset + slot];
        ++*count[cell <= LMN__CELL_FAILED ? cell : LMN__CELL_PENDING];
    }
}

static enum lmn_status count_states(struct lmn_table *table, const char *path,
                                    struct lmn_cell_counts *counts, struct lmn_error *err)
{
    const struct lmn_scan_options options = { .column = &path,
                                              .column_count = 1,
                                              .batch_rows_max = 1 << 16 };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = lmn_table_scan(table, &options, &stream, err);

    if (st != LMN_OK)
        return st;
    while ((st = lmn_table_scan_next(&stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        count_batch(&batch, counts);
        batch.release(&batch);
    }
    stream.release(&stream);
    return st;
}

static enum lmn_status count_cells(struct lmn_table *table, struct lmn__manifest *manifest,
                                   const char *name, struct lmn_cell_counts *counts,
                                   struct lmn_error *err)
{
    const struct lmn__node *column, *ledger;
    struct lmn__touched_set stale;
    char *path;
    size_t bytes;
    enum lmn_status st = lmn__ledger_find(manifest, name, &column, &ledger, err);

    if (st != LMN_OK)
        return st;
    bytes = strlen(ledger->name) + sizeof ".state";
    path = lmn__alloc(table->env, bytes);
    if (path == NULL)
        return lmn__no_memory(err, "a name", bytes);
    snprintf(path, bytes, "%s.state", ledger->name);
    lmn__touched_init(&stale, table->env, manifest);
    st = lmn__cells_find_stale(table, manifest, column, ledger, &stale, err);
    if (st == LMN_OK)
        st = count_states(table, path, counts, err);
    counts->stale = stale.row_count;
    counts->ok -= stale.row_count;
    lmn__touched_deinit(&stale);
    lmn__free(table->env, path);
    return st;
}

enum lmn_status lmn_table_cells(struct lmn_table *table, const char *column,
                                struct lmn_cell_counts *counts_out, struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn_table *pinned;
    enum lmn_status st = lmn__table_new(table->store, manifest, &pinned, err);

    *counts_out = (struct lmn_cell_counts){ 0 };
    if (st == LMN_OK) {
        st = count_cells(pinned, manifest, column, counts_out, err);
        lmn_table_release(pinned);
    }
    lmn__manifest_release(manifest);
    if (st != LMN_OK)
        *counts_out = (struct lmn_cell_counts){ 0 };
    return st;
}
