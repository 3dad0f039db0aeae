/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function in C that has changed. What the table records of it has a member "before" until nobody
 * has to be asked about values of the earlier version any more.
 */
#include <stdio.h>
#include <string.h>

#include "fill.h"
#include "record.h"

enum { TEXT_BYTES = 1024, VERSION_BYTES = 80 };

static const char *const choices = "recompute, keep or new_rows";

static bool is(const char *text, const char *what)
{
    return text != NULL && strcmp(text, what) == 0;
}

/* Values that are not of this version. */
static enum lmn_status count_others(struct fill *fill, struct lmn_table *table, bool recorded,
                                    uint64_t *count_out, struct lmn_error *err)
{
    struct lmn_cell_counts cells;
    struct piece functions, plan;
    char *text;
    enum lmn_status st;

    *count_out = 0;
    if (!recorded) {
        st = lmn_table_cells(table, fill->output[0], &cells, err);
        *count_out = cells.ok + cells.stale;
        return st;
    }
    st = lmn_job_plan(table, &fill->function, 1, NULL, &text, err);
    if (st != LMN_OK)
        return st;
    functions = piece_member(piece_of(text), "functions");
    if (piece_next(&functions, &plan))
        *count_out = piece_number(piece_member(plan, "other"));
    lmn_text_free(text);
    return LMN_OK;
}

/* Record the function; `before` "" settles what there is of earlier ones. */
static enum lmn_status record(struct fill *fill, struct lmn_table *table, const char *before,
                              struct lmn_error *err)
{
    char text[TEXT_BYTES];

    if (!fill_describe(fill, before, text, sizeof text))
        return lmn_fail(err, LMN_E_INVALID, "the names of %u inputs are too long",
                        fill->function.input_count);
    return lmn_table_set_function(table, fill->output[0], text, err);
}

static enum lmn_status ask(const struct fill *fill, const char *version, uint64_t others,
                           struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_CONFLICT,
                    "column \"%.100s\": %llu values are of version %.12s of its function, and "
                    "%.100s is version %.12s; say --on-change recompute (all rows are computed "
                    "beside the column, which changes at the end), keep (they count as of this "
                    "version) or new_rows (only rows that were never computed)",
                    fill->output[0], (unsigned long long)others, version, fill->function.name,
                    fill->function.version);
}

enum lmn_status fill_change(struct fill *fill, struct lmn_table *table, struct lmn_error *err)
{
    struct piece known = piece_of(fill->known), before = piece_member(known, "before");
    char version[VERSION_BYTES], earlier[VERSION_BYTES];
    bool recorded;
    uint64_t others;
    enum lmn_status st;

    if (fill->on_change != NULL && !is(fill->on_change, "recompute") &&
        !is(fill->on_change, "keep") && !is(fill->on_change, "new_rows"))
        return lmn_fail(err, LMN_E_INVALID, "--on-change is %s, not \"%.40s\"", choices,
                        fill->on_change);
    piece_text(piece_member(known, "version"), version, sizeof version);
    recorded = strcmp(version, fill->function.version) == 0;
    piece_text(piece_member(before, "version"), earlier, sizeof earlier);
    if (recorded && earlier[0] == '\0')
        return LMN_OK;
    st = count_others(fill, table, recorded, &others, err);
    if (st != LMN_OK)
        return st;
    if (fill->on_change == NULL && others != 0)
        return ask(fill, earlier[0] != '\0' ? earlier : version, others, err);
    if (!recorded || is(fill->on_change, "keep"))
        st = record(fill, table, is(fill->on_change, "keep") || others == 0 ? "" : version, err);
    fill->function.refill = is(fill->on_change, "recompute") && others != 0;
    fill->function.new_rows = is(fill->on_change, "new_rows");
    return st;
}
