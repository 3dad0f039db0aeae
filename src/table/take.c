/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are looked up first: which fragment, which row of it. The pick reads them.
 */
#include "arrow/compose.h"
#include "base/error.h"
#include "table/id_index.h"
#include "table/pick.h"

static enum lmn_status find_positions(struct lmn__pick *pick, struct lmn_error *err)
{
    const struct lmn__snapshot *snapshot = pick->snapshot;

    for (uint64_t i = 0; i < pick->count; i++) {
        uint64_t position = pick->asked[i], fragment;

        if (position >= snapshot->row_count)
            return lmn_fail(err, LMN_E_INVALID, "row %llu of a table of %llu rows",
                            (unsigned long long)position, (unsigned long long)snapshot->row_count);
        fragment = lmn__snapshot_fragment_of(snapshot, position);
        pick->row[i] = (struct lmn__pick_row){ fragment,
                                               position - snapshot->fragment[fragment].live_before,
                                               i };
    }
    return LMN_OK;
}

static enum lmn_status find_ids(struct lmn__pick *pick, struct lmn_error *err)
{
    struct lmn__snapshot *snapshot = pick->snapshot;
    const struct lmn__id_index *ids = NULL;
    enum lmn_status st = LMN_OK;

    if (lmn__manifest_stable_ids(snapshot->manifest))
        st = lmn__id_index_of(snapshot, &ids, err);
    for (uint64_t i = 0; st == LMN_OK && i < pick->count; i++) {
        struct lmn__pick_row *row = &pick->row[i];
        uint64_t id = pick->asked[i];
        bool found;

        row->place = i;
        row->row = (uint32_t)id;
        found = ids != NULL ? lmn__id_index_find(ids, id, &row->fragment, &row->row)
                            : lmn__snapshot_find(snapshot, id >> 32, &row->fragment);
        if (!found || row->row >= snapshot->fragment[row->fragment].row_count)
            st = lmn_fail(err, LMN_E_NOT_FOUND, "version %llu has no row with id %llu",
                          (unsigned long long)snapshot->manifest->pb.version,
                          (unsigned long long)id);
    }
    return st;
}

/* Look up and read what pick->asked names; the pick's readers are open. */
static enum lmn_status read_rows(struct lmn__pick *pick, uint64_t count,
                                 struct ArrowArray *array_out, struct lmn_error *err)
{
    struct lmn_env *env = pick->snapshot->env;
    struct lmn__scratch scratch;
    enum lmn_status st = lmn__pick_init(pick, count, err);

    lmn__scratch_init(&scratch, env);
    if (st == LMN_OK)
        st = pick->live ? find_positions(pick, err) : find_ids(pick, err);
    if (st == LMN_OK)
        st = lmn__pick_read(pick, env->threads, &scratch, err);
    if (st == LMN_OK)
        st = lmn__pick_gather(pick, 0, count, array_out, err);
    lmn__scratch_deinit(&scratch);
    lmn__pick_deinit(pick);
    return st;
}

static enum lmn_status take(struct lmn__pick pick, struct lmn_table *table, uint64_t count,
                            const struct lmn_scan_options *options, struct ArrowSchema *schema_out,
                            struct ArrowArray *array_out, struct lmn_error *err)
{
    static const struct lmn_scan_options defaults = { 0 };
    enum lmn_status st = lmn__snapshot_open(table, &pick.snapshot, err);

    *schema_out = (struct ArrowSchema){ 0 };
    *array_out = (struct ArrowArray){ 0 };
    if (st != LMN_OK)
        return st;
    if (options == NULL)
        options = &defaults;
    pick.row_columns = (struct lmn__row_columns){ options->with_row_id, options->with_row_address };
    st = lmn__reader_set_open(pick.snapshot, options, &pick.readers, err);
    if (st == LMN_OK)
        st = read_rows(&pick, count, array_out, err);
    if (st == LMN_OK)
        st = lmn__row_columns_schema(lmn__reader_set_projection(pick.readers), pick.row_columns,
                                     schema_out, err);
    if (st != LMN_OK) {
        lmn__array_release(array_out);
        *array_out = (struct ArrowArray){ 0 };
    }
    lmn__reader_set_release(pick.readers);
    lmn__snapshot_release(pick.snapshot);
    return st;
}

enum lmn_status lmn_table_take(struct lmn_table *table, const uint64_t *position, uint64_t count,
                               const struct lmn_scan_options *options,
                               struct ArrowSchema *schema_out, struct ArrowArray *array_out,
                               struct lmn_error *err)
{
    const struct lmn__pick pick = { .live = true, .whole = true, .asked = position };

    return take(pick, table, count, options, schema_out, array_out, err);
}

enum lmn_status lmn_table_take_ids(struct lmn_table *table, const uint64_t *id, uint64_t count,
                                   const struct lmn_scan_options *options,
                                   struct ArrowSchema *schema_out, struct ArrowArray *array_out,
                                   struct lmn_error *err)
{
    const struct lmn__pick pick = { .whole = true, .asked = id };

    return take(pick, table, count, options, schema_out, array_out, err);
}
