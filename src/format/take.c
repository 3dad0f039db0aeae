/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are read in rising order, each once, as ranges of neighbours; if they were asked for in
 * another order, or some of them twice, the result is put into that order afterwards.
 */
#include <stdlib.h>

#include "arrow/gather.h"
#include "base/error.h"
#include "format/reader.h"

struct wanted {
    uint64_t row;
    uint64_t place; /* in the request */
};

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    return x->row < y->row ? -1 : x->row > y->row;
}

/* Does the request rise, without repeats? */
static bool is_rising(const uint64_t *row, uint64_t count)
{
    for (uint64_t i = 1; i < count; i++) {
        if (row[i] <= row[i - 1])
            return false;
    }
    return true;
}

/* Ranges of neighbouring rows; `row` rises. Returns their number. */
static uint64_t make_ranges(const uint64_t *row, uint64_t count, struct lmn__row_range *range)
{
    uint64_t ranges = 0;

    for (uint64_t i = 0; i < count; i++) {
        if (ranges != 0 && range[ranges - 1].first + range[ranges - 1].count == row[i])
            range[ranges - 1].count++;
        else
            range[ranges++] = (struct lmn__row_range){ row[i], 1 };
    }
    return ranges;
}

static enum lmn_status read_rising(const struct lmn__reader *reader, struct lmn__scratch *scratch,
                                   const uint64_t *row, uint64_t count,
                                   struct ArrowArray *array_out, struct lmn_error *err)
{
    struct lmn_env *env = reader->file->env;
    struct lmn__row_range *range = lmn__calloc(env, count, sizeof *range);
    enum lmn_status st;

    if (range == NULL)
        return lmn__no_memory(err, "ranges of rows", count * sizeof *range);
    st = lmn__reader_read(reader, scratch, range, make_ranges(row, count, range), array_out, err);
    lmn__free(env, range);
    return st;
}

/* Any order: sort, read each row once, gather. */
static enum lmn_status read_any(const struct lmn__reader *reader, struct lmn__scratch *scratch,
                                const uint64_t *row, uint64_t count, struct ArrowArray *array_out,
                                struct lmn_error *err)
{
    struct lmn_env *env = reader->file->env;
    struct wanted *wanted = lmn__calloc(env, count, sizeof *wanted);
    uint64_t *rising = lmn__calloc(env, count, sizeof *rising);
    uint64_t *index = lmn__calloc(env, count, sizeof *index);
    struct ArrowArray sorted = { 0 };
    uint64_t distinct = 0;
    enum lmn_status st = LMN_E_NO_MEMORY;

    if (wanted == NULL || rising == NULL || index == NULL) {
        lmn__no_memory(err, "rows to take", count * sizeof *wanted);
        goto done;
    }
    for (uint64_t i = 0; i < count; i++)
        wanted[i] = (struct wanted){ row[i], i };
    qsort(wanted, count, sizeof *wanted, compare_wanted);
    for (uint64_t i = 0; i < count; i++) {
        if (distinct == 0 || rising[distinct - 1] != wanted[i].row)
            rising[distinct++] = wanted[i].row;
        index[wanted[i].place] = distinct - 1;
    }
    st = read_rising(reader, scratch, rising, distinct, &sorted, err);
    if (st == LMN_OK)
        st = lmn__array_gather(env, reader->projection.layout, &sorted, index, count, array_out,
                               err);
    if (sorted.release != NULL)
        sorted.release(&sorted);
done:
    lmn__free(env, wanted);
    lmn__free(env, rising);
    lmn__free(env, index);
    return st;
}

static enum lmn_status check_rows(const struct lmn_file *file, const uint64_t *row, uint64_t count,
                                  struct lmn_error *err)
{
    for (uint64_t i = 0; i < count; i++) {
        if (row[i] >= file->row_count)
            return lmn_fail(err, LMN_E_INVALID, "%.200s: row %llu of a file of %llu rows",
                            file->object.name, (unsigned long long)row[i],
                            (unsigned long long)file->row_count);
    }
    return LMN_OK;
}

enum lmn_status lmn_file_take(struct lmn_file *file, const uint64_t *row, uint64_t count,
                              const struct lmn_read_options *options, struct ArrowArray *array_out,
                              struct lmn_error *err)
{
    static const struct lmn_read_options defaults = { 0 };
    struct lmn__reader reader;
    struct lmn__scratch scratch;
    enum lmn_status st = check_rows(file, row, count, err);

    *array_out = (struct ArrowArray){ 0 };
    if (st != LMN_OK)
        return st;
    if (options == NULL)
        options = &defaults;
    st = lmn__reader_init(&reader, file, options->column, options->column_count, options->blobs,
                          err);
    if (st != LMN_OK)
        return st;
    lmn__scratch_init(&scratch, file->env);
    st = is_rising(row, count) ? read_rising(&reader, &scratch, row, count, array_out, err)
                               : read_any(&reader, &scratch, row, count, array_out, err);
    lmn__scratch_deinit(&scratch);
    lmn__reader_deinit(&reader);
    return st;
}
