/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One scan of the ledgers' states tells pending, failed and finished rows apart; which of the
 * finished ones are stale is found out before it, and costs nothing where no commit since has
 * touched an input. A row of several columns is as unfinished as the worst of its cells.
 */
#include "job/plan.h"

#include <leman/table_scan.h>
#include <stdio.h>
#include <string.h>

#include "arrow/view.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/math.h"
#include "table/fragment_columns.h"
#include "table/ledger.h"
#include "table/row_list.h"
#include "table/snapshot.h"
#include "table/staleness.h"
#include "table/suspects.h"
#include "table/table_fields.h"

enum { ADDRESS_SHIFT = 32 };

/* A plan in the making. */
struct planning {
    struct lmn_table *table; /* a handle of its own, that stays where it is */
    struct lmn__manifest *manifest;
    struct lmn__snapshot *snapshot;
    const struct lmn__plan_options *options;
    struct lmn__plan *plan;
    struct lmn__arena *arena;         /* the plan's */
    const struct lmn__node **ledger;  /* of the outputs */
    const struct lmn__node **awaited; /* ledgers of inputs that functions fill, each once */
    uint32_t awaited_count;
    struct lmn__touched_set stale;
    struct lmn__plan_fragment *fragment;
    struct lmn__row_list rows; /* of the fragment that is being read */
    uint64_t fragment_id;
    uint64_t taken;
    uint64_t row_bytes; /* that an average row of inputs takes; 0: not known yet */
};

enum reason { PENDING, FAILED, STALE, FINISHED, WAITING };

static enum lmn_status find_ledgers(struct planning *planning, struct lmn_error *err)
{
    const struct lmn__plan_options *options = planning->options;
    const struct lmn__node *column;
    enum lmn_status st = LMN_OK;

    if (options->output_count == 0)
        return lmn_fail(err, LMN_E_INVALID, "there are no columns to fill");
    planning->ledger = lmn__arena_array(planning->arena, options->output_count,
                                        sizeof *planning->ledger);
    if (planning->ledger == NULL)
        return lmn__arena_fail(planning->arena, "a plan", err);
    for (uint32_t i = 0; st == LMN_OK && i < options->output_count; i++)
        st = lmn__ledger_find(planning->manifest, options->output[i], &column, &planning->ledger[i],
                              err);
    return st;
}

static bool is_awaited(const struct planning *planning, const struct lmn__node *ledger)
{
    for (uint32_t i = 0; i < planning->awaited_count; i++) {
        if (planning->awaited[i] == ledger)
            return true;
    }
    return false;
}

static enum lmn_status find_awaited(struct planning *planning, struct lmn_error *err)
{
    const struct lmn__plan_options *options = planning->options;
    enum lmn_status st = LMN_OK;

    planning->awaited = lmn__arena_array(planning->arena, options->input_count,
                                         sizeof *planning->awaited);
    if (planning->awaited == NULL)
        return lmn__arena_fail(planning->arena, "a plan", err);
    for (uint32_t i = 0; st == LMN_OK && i < options->input_count; i++) {
        const struct lmn__node *node, *ledger;

        st = lmn__fields_find(planning->manifest, options->input[i], &node, err);
        if (st != LMN_OK)
            break;
        while (node->parent != NULL)
            node = node->parent;
        ledger = lmn__ledger_of(&planning->manifest->schema, node);
        if (ledger != NULL && !is_awaited(planning, ledger))
            planning->awaited[planning->awaited_count++] = ledger;
    }
    return st;
}

/* The cells of the first column stand for the others: they were computed together. */
static enum lmn_status find_stale(struct planning *planning, struct lmn_error *err)
{
    const struct lmn__plan_options *options = planning->options;
    struct lmn__stale_query query = { .table = planning->table,
                                      .manifest = planning->manifest,
                                      .ledger = planning->ledger[0],
                                      .input = options->input,
                                      .input_count = options->input_count,
                                      .note = true };
    enum lmn_status st;

    if (options->leave_stale)
        return LMN_OK;
    st = lmn__fields_find(planning->manifest, options->output[0], &query.column, err);
    return st == LMN_OK ? lmn__stale_find(&query, &planning->stale, err) : st;
}

/* What reading a row of inputs costs, by the first fragment that is asked for. */
static enum lmn_status measure(struct planning *planning, const struct lmn__pb_fragment *fragment,
                               struct lmn_error *err)
{
    const struct lmn__plan_options *options = planning->options;
    struct lmn__fragment_columns *columns = NULL;
    struct lmn__projection projection;
    enum lmn_status st;

    if (planning->row_bytes != 0)
        return LMN_OK;
    st = lmn__projection_init(&projection, planning->table->env, &planning->manifest->schema,
                              options->input, options->input_count, true, err);
    if (st == LMN_E_INVALID) { /* a column with a part of itself */
        planning->row_bytes = 1;
        return LMN_OK;
    }
    if (st != LMN_OK)
        return st;
    st = lmn__fragment_columns_open(planning->table->files, planning->manifest, fragment,
                                    &projection, &columns, err);
    if (st == LMN_OK)
        planning->row_bytes = lmn__fragment_columns_row_bytes(columns);
    lmn__fragment_columns_close(columns);
    lmn__projection_deinit(&projection);
    return st;
}

static uint32_t put_ids(const struct lmn__node *node, int32_t *id)
{
    uint32_t count = 1;

    id[0] = node->field->id;
    for (node = node->child; node != NULL; node = node->next)
        count += put_ids(node, id + count);
    return count;
}

/* A hash of what receipts for the fragment depend on. */
static enum lmn_status hash_layout(struct planning *planning,
                                   const struct lmn__pb_fragment *fragment, uint64_t *layout_out,
                                   struct lmn_error *err)
{
    const struct lmn__plan_options *options = planning->options;
    uint64_t part[2] = { fragment->row_count, 0 };
    int32_t *id = lmn__calloc(planning->table->env, planning->manifest->schema.node_count,
                              sizeof *id);
    enum lmn_status st = LMN_OK;

    if (id == NULL)
        return lmn__no_memory(err, "a plan", planning->manifest->schema.node_count * sizeof *id);
    for (uint32_t i = 0; st == LMN_OK && i < options->input_count; i++) {
        const struct lmn__node *node;
        uint64_t place[2] = { part[1], 0 };

        st = lmn__fields_find(planning->manifest, options->input[i], &node, err);
        if (st == LMN_OK) {
            place[1] = lmn__fields_place(fragment, id, put_ids(node, id));
            part[1] = lmn__hash64(place, sizeof place);
        }
    }
    *layout_out = lmn__hash64_seeded(fragment->row_ids.data != NULL ? fragment->row_ids.data
                                                                    : (const uint8_t *)"",
                                     fragment->row_ids.len, lmn__hash64(part, sizeof part));
    lmn__free(planning->table->env, id);
    return st;
}

/* The fragment that was read has no more rows: keep what is to do in it. */
static enum lmn_status end_fragment(struct planning *planning, struct lmn_error *err)
{
    struct lmn__plan *plan = planning->plan;
    struct lmn__plan_fragment *fragment = &planning->fragment[plan->fragment_count];
    struct lmn__row_range *todo;
    struct lmn__pb_fragment pb;
    struct lmn__arena arena;
    uint64_t index;
    enum lmn_status st;

    if (planning->rows.row_count == 0)
        return LMN_OK;
    todo = lmn__arena_array(planning->arena, planning->rows.count, sizeof *todo);
    if (todo == NULL)
        return lmn__arena_fail(planning->arena, "a plan", err);
    memcpy(todo, planning->rows.range, planning->rows.count * sizeof *todo);
    if (!lmn__snapshot_find(planning->snapshot, planning->fragment_id, &index))
        return lmn_fail(err, LMN_E_CORRUPT, "rows of fragment %llu, which is not in the table",
                        (unsigned long long)planning->fragment_id);
    *fragment = (struct lmn__plan_fragment){
        .id = planning->fragment_id,
        .row_count = planning->snapshot->fragment[index].row_count,
        .todo = todo,
        .todo_count = planning->rows.count,
        .todo_rows = planning->rows.row_count,
        .whole = planning->rows.row_count == planning->snapshot->fragment[index].live_count,
    };
    lmn__arena_init(&arena, planning->table->env, 0);
    st = lmn__manifest_fragment(planning->manifest, index, &arena, &pb, err);
    if (st == LMN_OK)
        st = hash_layout(planning, &pb, &fragment->layout, err);
    if (st == LMN_OK)
        st = measure(planning, &pb, err);
    fragment->input_bytes = planning->row_bytes * fragment->todo_rows;
    lmn__arena_deinit(&arena);
    plan->fragment_count += st == LMN_OK;
    lmn__row_list_deinit(&planning->rows);
    return st;
}

static enum lmn__cell state_of(const struct ArrowArray *ledger, uint64_t i)
{
    const struct ArrowArray *state = ledger->children[0];
    uint64_t slot = (uint64_t)ledger->offset + i;
    uint8_t cell;

    if (lmn__view_is_null(ledger, i) || lmn__view_is_null(state, slot))
        return LMN__CELL_PENDING;
    cell = ((const uint8_t *)state->buffers[1])[(uint64_t)state->offset + slot];
    return cell == LMN__CELL_OK || cell == LMN__CELL_FAILED ? cell : LMN__CELL_PENDING;
}

/* The state of a cell; *other_out: it is finished, by another version of the function. */
static enum lmn__cell cell_of(const struct planning *planning, const struct ArrowArray *ledger,
                              uint64_t i, bool *other_out)
{
    const struct ArrowArray *function = ledger->children[1];
    enum lmn__cell cell = state_of(ledger, i);
    uint64_t slot = (uint64_t)ledger->offset + i;

    if (cell == LMN__CELL_OK &&
        ((const uint64_t *)function->buffers[1])[(uint64_t)function->offset + slot] !=
            planning->options->function)
        *other_out = true;
    return cell;
}

static enum reason reason_of(struct planning *planning, const struct ArrowArray *batch, uint64_t i,
                             uint64_t address)
{
    uint64_t slot = (uint64_t)batch->offset + i;
    uint32_t outputs = planning->options->output_count;
    bool failed = false, other = false;

    for (uint32_t k = 0; k < planning->awaited_count; k++) {
        if (state_of(batch->children[outputs + k], slot) != LMN__CELL_OK)
            return WAITING;
    }
    for (uint32_t k = 0; k < outputs; k++) {
        enum lmn__cell cell = cell_of(planning, batch->children[k], slot, &other);

        if (cell == LMN__CELL_PENDING)
            return PENDING;
        failed |= cell == LMN__CELL_FAILED;
    }
    if (failed)
        return FAILED;
    planning->plan->counts.other += other;
    if (planning->stale.row_count != 0 && lmn__touched_has(&planning->stale, address))
        return STALE;
    return FINISHED;
}

/* How many of `count` rows are taken for this reason; all of them are counted. */
static uint64_t take(struct planning *planning, enum reason reason, uint64_t count)
{
    const struct lmn__plan_options *options = planning->options;
    struct lmn__plan_counts *counts = &planning->plan->counts;
    uint64_t *const by_reason[] = { &counts->pending, &counts->failed, &counts->stale,
                                    &counts->finished };
    bool wanted = options->recompute || reason == PENDING || reason == STALE ||
                  (reason == FAILED && !options->leave_failed);
    uint64_t taken = wanted && reason != WAITING ? count : 0;

    if (options->limited)
        taken = lmn__min_u64(taken, options->rows_max - planning->taken);
    counts->matching += count;
    counts->kept += count - taken;
    if (reason == WAITING)
        counts->waiting += count;
    else
        *by_reason[reason] += taken;
    planning->taken += taken;
    return taken;
}

/* Rows that follow each other in a fragment, all for one reason. */
static enum lmn_status see_run(struct planning *planning, enum reason reason, uint64_t address,
                               uint64_t count, struct lmn_error *err)
{
    uint64_t fragment = address >> ADDRESS_SHIFT;
    enum lmn_status st = LMN_OK;

    if (fragment != planning->fragment_id) {
        st = end_fragment(planning, err);
        planning->fragment_id = fragment;
    }
    return st == LMN_OK ? lmn__row_list_add(&planning->rows, (uint32_t)address,
                                            take(planning, reason, count), err)
                        : st;
}

/* Are all cells of a batch pending, as those of a new column are? */
static bool all_pending(const struct planning *planning, const struct ArrowArray *batch)
{
    const struct ArrowArray *ledger = batch->children[0];

    return planning->awaited_count == 0 && ledger->length == batch->length &&
           ledger->null_count == ledger->length;
}

static enum lmn_status see_batch(struct planning *planning, const struct ArrowArray *batch,
                                 struct lmn_error *err)
{
    const struct ArrowArray *column = batch->children[batch->n_children - 1];
    const uint64_t *address = (const uint64_t *)column->buffers[1] + column->offset + batch->offset;
    uint64_t rows = (uint64_t)batch->length, first = 0;
    bool pending = all_pending(planning, batch);
    enum reason reason = PENDING;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < rows; i++) {
        enum reason next = pending ? PENDING : reason_of(planning, batch, i, address[i]);

        if (i != first && (next != reason || address[i] != address[i - 1] + 1)) {
            st = see_run(planning, reason, address[first], i - first, err);
            first = i;
        }
        reason = next;
    }
    return st == LMN_OK && first < rows
               ? see_run(planning, reason, address[first], rows - first, err)
               : st;
}

/* The columns to read: state and function of each ledger, and states that are waited for. */
static enum lmn_status name_columns(struct planning *planning, const char ***column_out,
                                    struct lmn_error *err)
{
    static const char *const part[] = { "state", "function" };
    uint32_t own = planning->options->output_count * 2, count = own + planning->awaited_count;
    const char **column = lmn__arena_array(planning->arena, count, sizeof *column);

    *column_out = column;
    for (uint32_t i = 0; column != NULL && i < count; i++) {
        const char *name = i < own ? planning->ledger[i / 2]->name
                                   : planning->awaited[i - own]->name;
        size_t bytes = strlen(name) + sizeof ".function";
        char *path = lmn__arena_alloc(planning->arena, bytes);

        if (path == NULL)
            return lmn__arena_fail(planning->arena, "a plan", err);
        snprintf(path, bytes, "%s.%s", name, part[i < own ? i % 2 : 0]);
        column[i] = path;
    }
    return column != NULL ? LMN_OK : lmn__arena_fail(planning->arena, "a plan", err);
}

static enum lmn_status scan_cells(struct planning *planning, struct lmn_error *err)
{
    struct lmn_scan_options options = { .column_count = planning->options->output_count * 2 +
                                                        planning->awaited_count,
                                        .where = planning->options->where,
                                        .with_row_address = true,
                                        .batch_rows_max = 1 << 16 };
    const char **column;
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = name_columns(planning, &column, err);

    if (st != LMN_OK)
        return st;
    options.column = column;
    st = lmn_table_scan(planning->table, &options, &stream, err);
    if (st != LMN_OK)
        return st;
    planning->fragment_id = UINT64_MAX;
    while ((st = lmn_table_scan_next(&stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        st = see_batch(planning, &batch, err);
        batch.release(&batch);
        if (st != LMN_OK)
            break;
    }
    stream.release(&stream);
    return st == LMN_OK ? end_fragment(planning, err) : st;
}

static enum lmn_status make(struct planning *planning, struct lmn_error *err)
{
    struct lmn__plan *plan = planning->plan;
    enum lmn_status st = lmn__snapshot_open(planning->table, &planning->snapshot, err);

    if (st != LMN_OK)
        return st;
    planning->fragment = lmn__arena_array(planning->arena, planning->snapshot->fragment_count,
                                          sizeof *planning->fragment);
    if (planning->fragment == NULL)
        return lmn__arena_fail(planning->arena, "a plan", err);
    plan->fragment = planning->fragment;
    plan->version = planning->manifest->pb.version;
    plan->counts.rows = planning->snapshot->row_count;
    st = find_ledgers(planning, err);
    if (st == LMN_OK)
        st = find_awaited(planning, err);
    if (st == LMN_OK)
        st = find_stale(planning, err);
    return st == LMN_OK ? scan_cells(planning, err) : st;
}

enum lmn_status lmn__plan_make(struct lmn_table *table, const struct lmn__plan_options *options,
                               struct lmn__plan *plan_out, struct lmn_error *err)
{
    struct planning planning = { .options = options,
                                 .plan = plan_out,
                                 .manifest = lmn__table_manifest(table) };
    enum lmn_status st = lmn__table_new(table->store, planning.manifest, &planning.table, err);

    *plan_out = (struct lmn__plan){ 0 };
    lmn__touched_init(&planning.stale, table->env, planning.manifest);
    lmn__row_list_init(&planning.rows, table->env);
    if (st == LMN_OK) {
        planning.arena = lmn__arena_new(table->env);
        plan_out->memory = planning.arena;
        st = planning.arena != NULL ? make(&planning, err) : lmn__no_memory(err, "a plan", 0);
    }
    lmn__row_list_deinit(&planning.rows);
    lmn__touched_deinit(&planning.stale);
    lmn__snapshot_release(planning.snapshot);
    lmn_table_release(planning.table);
    lmn__manifest_release(planning.manifest);
    if (st != LMN_OK)
        lmn__plan_free(plan_out);
    return st;
}

void lmn__plan_free(struct lmn__plan *plan)
{
    lmn__arena_free(plan->memory);
    *plan = (struct lmn__plan){ 0 };
}
