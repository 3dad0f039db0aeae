/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading the rows that match a condition: its columns first, then the others for the rows that it
 * chose.
 */
#include <string.h>

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "base/math.h"
#include "table/scan.h"

/* One batch while it is filtered. */
struct choosing {
    struct lmn_env *env;
    const struct lmn__scan_filter *filter;
    const struct lmn__row_list *rows; /* that were looked at */
    struct lmn__row_list chosen;
    uint64_t *index;          /* of the chosen ones among `rows`; NULL: all are */
    struct ArrowArray tested; /* the filter's columns */
    struct ArrowArray rest;   /* the others, of the chosen rows */
};

/* Keep the first `count` set bits. */
static void keep_first(uint8_t *bits, uint64_t bit_count, uint64_t count)
{
    for (uint64_t i = 0; i < bit_count; i++) {
        if (lmn__bit_get(bits, i) && count-- == 0) {
            lmn__bits_fill(bits, i, bit_count - i, false);
            return;
        }
    }
}

static enum lmn_status list_index(struct choosing *choosing, const uint8_t *bits,
                                  struct lmn_error *err)
{
    uint64_t at = 0, end = choosing->rows->row_count, count;

    choosing->index = lmn__calloc(choosing->env, choosing->chosen.row_count,
                                  sizeof *choosing->index);
    if (choosing->index == NULL)
        return lmn__no_memory(err, "rows that match",
                              choosing->chosen.row_count * sizeof *choosing->index);
    for (uint64_t i = 0; i < end; i += count) {
        for (uint64_t word = lmn__bits_next(bits, i, end, &count); word != 0; word &= word - 1)
            choosing->index[at++] = i + (uint64_t)__builtin_ctzll(word);
    }
    return LMN_OK;
}

/* Evaluate the condition: which rows, as ranges and as numbers. At most `rows_max` of them. */
static enum lmn_status choose(struct choosing *choosing, uint64_t rows_max, struct lmn_error *err)
{
    uint64_t rows = choosing->rows->row_count, count;
    uint8_t *bits = lmn__calloc(choosing->env, lmn__bits_bytes(rows), 1);
    enum lmn_status st;

    if (bits == NULL)
        return lmn__no_memory(err, "rows that match", lmn__bits_bytes(rows));
    st = lmn__expr_select(choosing->filter->expr, &choosing->tested, bits, &count, err);
    if (st == LMN_OK && count > rows_max)
        keep_first(bits, rows, rows_max);
    if (st == LMN_OK)
        st = lmn__row_list_add_chosen(&choosing->chosen, choosing->rows, bits, err);
    if (st == LMN_OK && choosing->chosen.row_count != rows)
        st = list_index(choosing, bits, err);
    lmn__free(choosing->env, bits);
    return st;
}

/* The condition holds for all rows: take them, at most `rows_max`. */
static enum lmn_status choose_all(struct choosing *choosing, uint64_t rows_max,
                                  struct lmn_error *err)
{
    uint64_t left = lmn__min_u64(choosing->rows->row_count, rows_max);
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && left != 0; i++) {
        struct lmn__row_range range = choosing->rows->range[i];

        range.count = lmn__min_u64(range.count, left);
        left -= range.count;
        st = lmn__row_list_add(&choosing->chosen, range.first, range.count, err);
    }
    return st;
}

static bool needs_tested(const struct choosing *choosing, const struct lmn__scan *scan)
{
    for (uint32_t i = 0; i < scan->output.root->child_count; i++) {
        if (choosing->filter->source[i].from_filter)
            return true;
    }
    return false;
}

/* The condition's columns of `rows`. */
static enum lmn_status read_tested(struct choosing *choosing,
                                   const struct lmn__fragment_reader *reader,
                                   struct lmn__scratch *scratch, const struct lmn__row_list *rows,
                                   struct lmn_error *err)
{
    return lmn__fragment_reader_read(reader, scratch, rows->range, rows->count, &choosing->tested,
                                     err);
}

static enum lmn_status read_rest(struct choosing *choosing, struct lmn__scan *scan,
                                 struct lmn__scan_piece *piece, struct lmn__scratch *scratch,
                                 struct lmn_error *err)
{
    struct lmn__scan_opened opened;
    enum lmn_status st;

    if (choosing->filter->rest.root->child_count == 0)
        return LMN_OK;
    st = lmn__scan_open_piece(scan, piece, true, &opened, err);
    if (st != LMN_OK)
        return st;
    return lmn__fragment_columns_read(opened.rest, scratch, choosing->chosen.range,
                                      choosing->chosen.count, &choosing->rest, err);
}

/* A column of the result; of those that the condition has read, the chosen rows are copied. */
static enum lmn_status make_column(struct choosing *choosing, struct lmn__scan_column source,
                                   struct ArrowArray *array_out, struct lmn_error *err)
{
    const struct lmn__layout *layout = choosing->filter->columns.layout;
    struct ArrowArray *from = source.from_filter ? &choosing->tested : &choosing->rest;

    from = from->children[source.index];
    if (!source.from_filter || choosing->index == NULL) {
        lmn__array_move(from, array_out);
        return LMN_OK;
    }
    return lmn__array_gather(choosing->env, layout->child[source.index], from, choosing->index,
                             choosing->chosen.row_count, array_out, err);
}

static enum lmn_status make_result(struct choosing *choosing, const struct lmn__scan *scan,
                                   const struct lmn__fragment_reader *reader,
                                   struct ArrowArray *array_out, struct lmn_error *err)
{
    uint32_t columns = scan->output.root->child_count;
    uint32_t more = lmn__row_columns_count(scan->row_columns);
    enum lmn_status st = lmn__array_compose(choosing->env, choosing->chosen.row_count,
                                            columns + more, array_out, err);

    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; st == LMN_OK && i < columns; i++)
        st = make_column(choosing, choosing->filter->source[i], array_out->children[i], err);
    if (st == LMN_OK)
        st = lmn__row_columns_make(reader, NULL, scan->row_columns, choosing->chosen.range,
                                   choosing->chosen.count, array_out->children + columns, err);
    if (st != LMN_OK)
        lmn__array_release(array_out);
    return st;
}

enum lmn_status lmn__scan_read_chosen(struct lmn__scan *scan, struct lmn__scan_piece *piece,
                                      const struct lmn__fragment_reader *reader,
                                      struct lmn__scratch *scratch,
                                      const struct lmn__row_list *rows, bool all,
                                      struct ArrowArray *array_out, struct lmn_error *err)
{
    struct choosing choosing = { .env = scan->snapshot->env, .filter = scan->filter, .rows = rows };
    enum lmn_status st;

    lmn__row_list_init(&choosing.chosen, choosing.env);
    if (all) {
        st = choose_all(&choosing, scan->rows_needed, err);
        if (st == LMN_OK && needs_tested(&choosing, scan))
            st = read_tested(&choosing, reader, scratch, &choosing.chosen, err);
    } else {
        st = read_tested(&choosing, reader, scratch, rows, err);
        if (st == LMN_OK)
            st = lmn__row_columns_add(reader, NULL, scan->filter->row_columns, rows->range,
                                      rows->count, &choosing.tested, err);
        if (st == LMN_OK)
            st = lmn__cell_states_add(&scan->filter->states,
                                      lmn__fragment_reader_fragment(reader)->id, rows->range,
                                      rows->count, &choosing.tested, err);
        if (st == LMN_OK)
            st = choose(&choosing, scan->rows_needed, err);
    }
    if (st == LMN_OK && choosing.chosen.row_count != 0)
        st = read_rest(&choosing, scan, piece, scratch, err);
    if (st == LMN_OK && choosing.chosen.row_count != 0)
        st = make_result(&choosing, scan, reader, array_out, err);
    lmn__array_release(&choosing.tested);
    lmn__array_release(&choosing.rest);
    lmn__free(choosing.env, choosing.index);
    lmn__row_list_deinit(&choosing.chosen);
    return st;
}
