/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results of a fragment that is gone are read back, entered again for the fragments that have the
 * rows now, under a layout of their own, and committed at once: nothing is computed, and the next
 * plan finds those cells finished.
 *
 * New receipts are entered before those that they come from are retired, all at once; see
 * LMN__LAYOUT_CARRIED for what a crash in between leaves.
 */
#include <stdlib.h>

#include <leman/file.h>

#include "arrow/compose.h"
#include "base/error.h"
#include "base/math.h"
#include "format/reader.h"
#include "job/assemble.h"
#include "job/journal_parts.h"
#include "job/moved.h"
#include "job/recover.h"
#include "job/relocate.h"
#include "job/sink.h"
#include "job/unit_file.h"

static const uint64_t carry_bytes = 64ull << 20;
enum { CARRY_ROWS_MAX = 1 << 18, RETRIES_MAX = 20 };

struct rebase {
    const struct lmn__assemble_options *options;
    struct lmn__snapshot *snapshot; /* the newest version */
    struct lmn__page_sink *sink;    /* opened when it is needed */
    uint64_t fragment_id;           /* that the sink writes for */
    struct lmn__buf receipt;
};

/* A fragment that is gone, while its results are carried. */
struct source {
    struct lmn__manifest *manifest; /* the last version that has it */
    uint64_t index;
    struct lmn__fill_columns columns; /* of that version */
    const struct lmn__receipt *receipt;
    uint64_t receipt_count;
    struct lmn_file *file;
    struct lmn__reader reader;
    bool reading;
    struct lmn__moves moves;
};

static enum lmn_status grant(void *context, enum lmn__grant_file file, uint64_t bytes,
                             uint64_t *position_out, struct lmn_error *err)
{
    struct rebase *rebase = context;

    return lmn__journal_grant(rebase->options->journal, file, rebase->fragment_id,
                              LMN__LAYOUT_CARRIED, bytes, position_out, err);
}

static enum lmn_status open_sink(struct rebase *rebase, const struct lmn__fill_columns *columns,
                                 struct lmn_error *err)
{
    const struct lmn__page_sink_options options = { .store = rebase->options->table->store,
                                                    .dir = lmn__journal_dir(
                                                        rebase->options->journal),
                                                    .schema = &columns->projection.arrow,
                                                    .file_version = columns->version,
                                                    .grant = grant,
                                                    .context = rebase,
                                                    .unsynced = rebase->options->unsynced };

    return rebase->sink != NULL ? LMN_OK : lmn__page_sink_open(&options, &rebase->sink, err);
}

/* Write the results of the fragment as a file, and open it. */
static enum lmn_status open_results(struct rebase *rebase, struct source *source, uint64_t layout,
                                    struct lmn_error *err)
{
    const struct lmn__assemble_options *options = rebase->options;
    struct lmn__unit_file file = { .table = options->table,
                                   .journal = options->journal,
                                   .columns = &source->columns,
                                   .layout = layout,
                                   .receipt = source->receipt,
                                   .receipt_count = source->receipt_count,
                                   .unsynced = true };
    char path[LMN__FILL_PATH_BYTES];
    enum lmn_status st = lmn__unit_rows_open(options->table, &source->columns, source->index,
                                             lmn__journal_dir(options->journal), source->receipt,
                                             source->receipt_count, &file.rows, err);

    if (st != LMN_OK)
        return st;
    file.fragment_id = lmn__fragment_reader_fragment(lmn__unit_rows_reader(file.rows))->id;
    file.row_count = lmn__fragment_reader_fragment(lmn__unit_rows_reader(file.rows))->row_count;
    st = lmn__unit_file_carry(&file, path, err);
    lmn__unit_rows_close(file.rows);
    if (st == LMN_OK)
        st = lmn_file_open(options->table->store, path, NULL, &source->file, err);
    if (st == LMN_OK)
        st = lmn__reader_init(&source->reader, source->file, NULL, 0, LMN_BLOB_BYTES, err);
    source->reading = st == LMN_OK;
    return st;
}

static void source_deinit(struct source *source)
{
    if (source->reading)
        lmn__reader_deinit(&source->reader);
    lmn_file_release(source->file);
    lmn__moves_deinit(&source->moves);
    lmn__fill_columns_deinit(&source->columns);
    lmn__manifest_release(source->manifest);
}

/* The failed cells among the rows of some moves, with their rows as they are now. */
static enum lmn_status list_errors(const struct source *source, const struct lmn__move *move,
                                   uint64_t count, struct lmn__arena *arena,
                                   struct lmn__page_sink_rows *rows, struct lmn_error *err)
{
    struct lmn__receipt_error *error;
    uint64_t total = 0;

    for (uint64_t i = 0; i < source->receipt_count; i++)
        total += source->receipt[i].errors.count;
    error = lmn__arena_array(arena, total, sizeof *error);
    if (error == NULL)
        return lmn__arena_fail(arena, "error records", err);
    rows->error = error;
    for (uint64_t m = 0; total != 0 && m < count; m++) {
        for (uint64_t i = 0; i < source->receipt_count; i++) {
            const struct lmn__receipt_error *from = source->receipt[i].errors.item;

            for (size_t k = 0; k < source->receipt[i].errors.count; k++) {
                uint64_t offset = from[k].row - move[m].source;

                if (from[k].row >= move[m].source && offset < move[m].count)
                    error[rows->error_count++] = (struct lmn__receipt_error){ move[m].row + offset,
                                                                              from[k].record };
            }
        }
    }
    rows->failed_count = rows->error_count;
    return LMN_OK;
}

/* Read the rows of the moves, in as few arrays as their order allows. */
static enum lmn_status read_moves(const struct source *source, const struct lmn__move *move,
                                  uint64_t count, struct lmn__row_range *range,
                                  struct ArrowArray *array, uint64_t *array_count_out,
                                  struct lmn_error *err)
{
    struct lmn__scratch scratch;
    uint64_t start = 0;
    enum lmn_status st = LMN_OK;

    *array_count_out = 0;
    lmn__scratch_init(&scratch, source->reader.file->env);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        bool last = i + 1 == count || move[i + 1].source < move[i].source + move[i].count;

        range[i] = (struct lmn__row_range){ move[i].source, move[i].count };
        if (!last)
            continue;
        st = lmn__reader_read(&source->reader, &scratch, range + start, i + 1 - start,
                              &array[*array_count_out], err);
        *array_count_out += st == LMN_OK;
        start = i + 1;
    }
    lmn__scratch_deinit(&scratch);
    return st;
}

/* Enter the rows of moves into one fragment as one receipt. */
static enum lmn_status carry_some(struct rebase *rebase, const struct source *source,
                                  const struct lmn__move *move, uint64_t count,
                                  struct lmn_error *err)
{
    struct lmn__page_sink_rows rows = { .fragment_id = move[0].fragment_id,
                                        .layout = LMN__LAYOUT_CARRIED };
    struct lmn__row_range *range, *from;
    struct lmn__arena arena;
    enum lmn_status st = LMN_OK;

    lmn__arena_init(&arena, rebase->options->table->env, 0);
    range = lmn__arena_array(&arena, count, sizeof *range);
    from = lmn__arena_array(&arena, count, sizeof *from);
    rows.array = lmn__arena_array(&arena, count, sizeof *rows.array);
    if (range == NULL || from == NULL || rows.array == NULL)
        st = lmn__arena_fail(&arena, "a list of rows", err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        struct lmn__row_range *last = rows.range_count != 0 ? &range[rows.range_count - 1] : NULL;

        if (last != NULL && last->first + last->count == move[i].row)
            last->count += move[i].count;
        else
            range[rows.range_count++] = (struct lmn__row_range){ move[i].row, move[i].count };
    }
    rows.range = range;
    if (st == LMN_OK)
        st = list_errors(source, move, count, &arena, &rows, err);
    if (st == LMN_OK)
        st = read_moves(source, move, count, from, rows.array, &rows.array_count, err);
    rebase->fragment_id = rows.fragment_id;
    lmn__buf_reset(&rebase->receipt);
    if (st == LMN_OK)
        st = lmn__page_sink_write(rebase->sink, &rows, &rebase->receipt, err);
    if (st == LMN_OK)
        st = lmn__journal_add(rebase->options->journal,
                              (struct lmn__span){ rebase->receipt.data, rebase->receipt.len }, err);
    for (uint64_t i = 0; rows.array != NULL && i < rows.array_count; i++)
        lmn__array_release(&rows.array[i]);
    lmn__arena_deinit(&arena);
    return st;
}

/* Cut the moves into receipts: one fragment each, of rows that fit into memory. */
static enum lmn_status carry_moves(struct rebase *rebase, struct source *source,
                                   struct lmn_error *err)
{
    uint64_t row_bytes = lmn__reader_row_bytes(&source->reader);
    uint64_t rows_max = lmn__max_u64(lmn__min_u64(carry_bytes / row_bytes, CARRY_ROWS_MAX), 1);
    uint64_t i = 0;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && i < source->moves.count) {
        struct lmn__move *move = &source->moves.item[i], whole = *move;
        uint64_t count = 1, rows = move->count;

        if (rows > rows_max) {
            move->count = rows_max;
            st = carry_some(rebase, source, move, 1, err);
            *move = (struct lmn__move){ whole.source + rows_max, whole.fragment_id,
                                        whole.row + rows_max, whole.count - rows_max };
            continue;
        }
        while (i + count < source->moves.count && move[count].fragment_id == move->fragment_id &&
               rows + move[count].count <= rows_max)
            rows += move[count++].count;
        st = carry_some(rebase, source, move, count, err);
        i += count;
    }
    return st;
}

/* Carry the results of one fragment that is gone. */
static enum lmn_status carry(struct rebase *rebase, uint64_t fragment_id, uint64_t layout,
                             struct lmn_error *err)
{
    const struct lmn__assemble_options *options = rebase->options;
    struct source source = { 0 };
    enum lmn_status st = lmn__relocate_find(options->table, rebase->snapshot, fragment_id,
                                            &source.manifest, &source.index, err);

    lmn__moves_init(&source.moves, options->table->env);
    if (st == LMN_OK)
        st = lmn__journal_receipts(options->journal, fragment_id, layout, &source.receipt,
                                   &source.receipt_count, err);
    if (st == LMN_OK && source.manifest != NULL)
        st = lmn__relocate_rows(options->table, rebase->snapshot, source.manifest, source.index,
                                source.receipt, source.receipt_count, &source.moves, err);
    if (st == LMN_OK && source.moves.count != 0) {
        st = lmn__fill_columns_follow(&source.columns, source.manifest, options->named,
                                      options->output, options->output_count,
                                      lmn__journal_key(options->journal)->field_id, err);
        if (st == LMN_OK)
            st = open_results(rebase, &source, layout, err);
        if (st == LMN_OK)
            st = open_sink(rebase, &source.columns, err);
        if (st == LMN_OK)
            st = carry_moves(rebase, &source, err);
    }
    source_deinit(&source);
    return st;
}

/* Units of the journal. */
struct units {
    uint64_t *fragment_id, *layout;
    uint64_t count;
};

/* Units whose fragments are (`gone`) or are not in the newest version; in the arena. */
static enum lmn_status list_units(const struct rebase *rebase, bool gone, struct lmn__arena *arena,
                                  struct units *units_out, struct lmn_error *err)
{
    const struct lmn__journal *journal = rebase->options->journal;
    uint64_t count = 0, index, fragment_id, layout;

    while (lmn__journal_fragment(journal, count, &fragment_id, &layout))
        count++;
    units_out->count = 0;
    units_out->fragment_id = lmn__arena_array(arena, count, sizeof fragment_id);
    units_out->layout = lmn__arena_array(arena, count, sizeof layout);
    if (units_out->fragment_id == NULL || units_out->layout == NULL)
        return lmn__arena_fail(arena, "a list of fragments", err);
    for (uint64_t i = 0; lmn__journal_fragment(journal, i, &fragment_id, &layout); i++) {
        if (lmn__snapshot_find(rebase->snapshot, fragment_id, &index) == gone)
            continue;
        units_out->fragment_id[units_out->count] = fragment_id;
        units_out->layout[units_out->count++] = layout;
    }
    return LMN_OK;
}

/* Retire units, and remove their pages files unless results that are kept may name them. */
static enum lmn_status retire_units(const struct rebase *rebase, const struct units *units,
                                    struct lmn_error *err)
{
    struct lmn__journal *journal = rebase->options->journal;
    struct lmn_store *store = rebase->options->table->store;
    bool kept = true; /* results are, which may name what is there */
    enum lmn_status st = lmn__journal_retire_all(journal, units->fragment_id, units->layout,
                                                 units->count, err);

    if (st == LMN_OK)
        st = lmn__journal_sync(journal, err);
    if (st == LMN_OK)
        st = lmn__moved_matters(store, lmn__journal_dir(journal), &kept, err);
    for (uint64_t i = 0; st == LMN_OK && i < units->count; i++) {
        char path[LMN__FILL_PATH_BYTES];

        lmn__fill_path(lmn__journal_dir(journal), LMN__GRANT_PAGES, units->fragment_id[i],
                       units->layout[i], path);
        if (!kept)
            (void)store->ops->remove(store, path, NULL);
        lmn__segment_files_remove(store, journal, units->fragment_id[i], units->layout[i]);
    }
    return st;
}

/* Leave those that were carried. */
static void keep_carried(struct units *units)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < units->count; i++) {
        units->fragment_id[kept] = units->fragment_id[i];
        units->layout[kept] = units->layout[i];
        kept += units->layout[i] == LMN__LAYOUT_CARRIED;
    }
    units->count = kept;
}

static int compare_fragments(const void *a, const void *b)
{
    const struct lmn__plan_fragment *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

/* Commit what was carried. *again_out: fragments have moved once more. */
static enum lmn_status commit_carried(struct rebase *rebase, struct lmn__arena *arena,
                                      bool *again_out, struct lmn_error *err)
{
    struct lmn__plan plan = { .version = rebase->snapshot->manifest->pb.version };
    struct lmn__plan_fragment *fragment;
    struct units units;
    enum lmn_status st = list_units(rebase, false, arena, &units, err);

    if (st != LMN_OK)
        return st;
    keep_carried(&units);
    fragment = lmn__arena_array(arena, units.count, sizeof *fragment);
    if (fragment == NULL)
        return lmn__arena_fail(arena, "a list of fragments", err);
    for (uint64_t i = 0; i < units.count; i++) {
        uint64_t index;

        (void)lmn__snapshot_find(rebase->snapshot, units.fragment_id[i], &index);
        fragment[i] =
            (struct lmn__plan_fragment){ .id = units.fragment_id[i],
                                         .row_count = rebase->snapshot->fragment[index].row_count,
                                         .layout = LMN__LAYOUT_CARRIED };
    }
    if (units.count == 0)
        return LMN_OK;
    qsort(fragment, units.count, sizeof *fragment, compare_fragments);
    plan.fragment = fragment;
    plan.fragment_count = units.count;
    return lmn__assemble_commit(rebase->options, &plan, units.fragment_id, units.count, again_out,
                                err);
}

static enum lmn_status attempt(struct rebase *rebase, bool *again_out, struct lmn_error *err)
{
    struct lmn__arena arena;
    struct units gone;
    enum lmn_status st = lmn_table_refresh(rebase->options->table, err);

    *again_out = false;
    if (st == LMN_OK)
        st = lmn__snapshot_open(rebase->options->table, &rebase->snapshot, err);
    if (st != LMN_OK)
        return st;
    lmn__arena_init(&arena, rebase->options->table->env, 0);
    st = list_units(rebase, true, &arena, &gone, err);
    for (uint64_t i = 0; st == LMN_OK && i < gone.count; i++)
        st = carry(rebase, gone.fragment_id[i], gone.layout[i], err);
    if (st == LMN_OK)
        st = retire_units(rebase, &gone, err);
    if (st == LMN_OK)
        st = commit_carried(rebase, &arena, again_out, err);
    lmn__snapshot_release(rebase->snapshot);
    rebase->snapshot = NULL;
    lmn__arena_deinit(&arena);
    return st;
}

enum lmn_status lmn__assemble_rebase(const struct lmn__assemble_options *options,
                                     struct lmn_error *err)
{
    struct rebase rebase = { .options = options };
    bool again = true;
    enum lmn_status st = LMN_OK;

    lmn__buf_init(&rebase.receipt, options->table->env, 0);
    for (int i = 0; st == LMN_OK && again && i < RETRIES_MAX; i++)
        st = attempt(&rebase, &again, err);
    if (st == LMN_OK && again)
        st = lmn_fail(err, LMN_E_CONFLICT, "%.200s: fragments moved %d times meanwhile",
                      options->table->store->name, RETRIES_MAX);
    lmn__page_sink_close(rebase.sink);
    lmn__buf_deinit(&rebase.receipt);
    return st;
}
