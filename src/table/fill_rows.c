/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A data file has every physical row of its fragment. What deleted rows hold is seen by nobody, but
 * it has to be computed from something: they are left out of what the function sees, so that it
 * cannot fail on them, and get nulls.
 */
#include "table/fill_rows.h"

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "base/error.h"
#include "base/math.h"
#include "format/batches.h"
#include "table/fragment_reader.h"
#include "table/fragment_writer.h"
#include "table/row_list.h"

/* A fragment while it is filled. */
struct filling {
    const struct lmn__fill *fill;
    struct lmn_env *env;
    const struct lmn__layout *layout;
    struct lmn__scratch scratch;
    struct lmn__fragment_reader *reader;
    struct lmn__fragment_writer *writer;
    struct ArrowArray null_row; /* one row, all columns null; made when it is needed */
};

static enum lmn_status make_null_row(struct filling *filling, struct lmn_error *err)
{
    const struct lmn__layout *layout = filling->layout;
    enum lmn_status st;

    if (filling->null_row.release != NULL)
        return LMN_OK;
    st = lmn__array_compose(filling->env, 1, layout->child_count, &filling->null_row, err);
    for (uint32_t i = 0; st == LMN_OK && i < layout->child_count; i++)
        st = lmn__array_nulls(filling->env, layout->child[i], 1, filling->null_row.children[i],
                              err);
    return st;
}

/* Physical rows [first, first + count): live ones out of `columns`, nulls for the others. */
static enum lmn_status spread(struct filling *filling, uint64_t first, uint64_t count,
                              const struct ArrowArray *columns, struct ArrowArray *array_out,
                              struct lmn_error *err)
{
    const struct lmn__deletion *deletion = lmn__fragment_reader_deletion(filling->reader);
    const struct ArrowArray *from[2] = { &filling->null_row, columns };
    uint32_t *part = lmn__calloc(filling->env, count, sizeof *part);
    uint64_t *index = lmn__calloc(filling->env, count, sizeof *index), live = 0;
    enum lmn_status st = make_null_row(filling, err);

    if (part == NULL || index == NULL)
        st = lmn__no_memory(err, "a list of rows", count * sizeof *index);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        if (lmn__deletion_has(deletion, first + i))
            continue;
        part[i] = 1;
        index[i] = live++;
    }
    if (st == LMN_OK)
        st = lmn__arrays_gather(filling->env, filling->layout, from,
                                columns->release != NULL ? 2 : 1, part, index, count, array_out,
                                err);
    lmn__free(filling->env, part);
    lmn__free(filling->env, index);
    return st;
}

/* The columns for the rows of a list. */
static enum lmn_status compute(struct filling *filling, const struct lmn__row_list *rows,
                               struct ArrowArray *columns_out, struct lmn_error *err)
{
    const struct lmn__fill *fill = filling->fill;
    struct ArrowArray read = { 0 };
    enum lmn_status st;

    if (rows->row_count == 0)
        return LMN_OK;
    st = lmn__fragment_reader_read(filling->reader, &filling->scratch, rows->range, rows->count,
                                   &read, err);
    if (st == LMN_OK)
        st = fill->fn(fill->context, &read, columns_out, err);
    lmn__array_release(&read);
    return st;
}

static enum lmn_status write_batch(struct filling *filling, uint64_t first, uint64_t count,
                                   struct lmn_error *err)
{
    struct ArrowArray columns = { 0 }, whole = { 0 };
    struct lmn__row_list rows;
    enum lmn_status st;

    lmn__row_list_init(&rows, filling->env);
    if (filling->fill->with_deleted)
        st = lmn__row_list_add(&rows, first, count, err);
    else
        st = lmn__row_list_add_live(&rows, lmn__fragment_reader_deletion(filling->reader), first,
                                    count, err);
    if (st == LMN_OK)
        st = compute(filling, &rows, &columns, err);
    if (st == LMN_OK && rows.row_count == count)
        lmn__array_move(&columns, &whole);
    else if (st == LMN_OK)
        st = spread(filling, first, count, &columns, &whole, err);
    if (st == LMN_OK)
        st = lmn__fragment_writer_write(filling->writer, &whole, err);
    lmn__array_release(&columns);
    lmn__array_release(&whole);
    lmn__row_list_deinit(&rows);
    return st;
}

static enum lmn_status write_rows(struct filling *filling, struct lmn_error *err)
{
    const struct lmn__fill *fill = filling->fill;
    uint64_t rows = lmn__fragment_reader_fragment(filling->reader)->row_count;
    uint64_t fitting = LMN__BATCH_BYTES / lmn__fragment_reader_row_bytes(filling->reader);
    uint64_t step = lmn__max_u64(lmn__min_u64(fitting, LMN__BATCH_ROWS), 1), count;
    enum lmn_status st = LMN_OK;

    for (uint64_t first = 0; st == LMN_OK && first < rows; first += count) {
        count = lmn__min_u64(step, rows - first);
        if (fill->fitting != NULL)
            count = fill->fitting(fill->context, first, count);
        if (atomic_load(&fill->over))
            st = lmn_fail(err, LMN_E_CANCELLED, "another fragment has failed");
        else
            st = write_batch(filling, first, count, err);
    }
    return st;
}

static enum lmn_status open_writer(struct filling *filling, uint32_t threads, struct lmn_error *err)
{
    static const struct lmn_write_options one_file = { .fragment_rows_max = UINT64_MAX,
                                                       .fragment_bytes_max = UINT64_MAX };
    const struct lmn__fill *fill = filling->fill;
    enum lmn_status st = lmn__fragment_writer_open(fill->table->store, fill->schema, fill->fields,
                                                   fill->manifest->minor, &one_file,
                                                   &filling->writer, err);

    if (st == LMN_OK)
        lmn__fragment_writer_set_threads(filling->writer, threads);
    return st;
}

enum lmn_status lmn__fill_fragment(const struct lmn__fill *fill, uint64_t index,
                                   const struct lmn__layout *layout, uint32_t threads,
                                   struct lmn__arena *arena, struct lmn__pb_data_file *file_out,
                                   struct lmn_error *err)
{
    struct filling filling = { .fill = fill, .env = fill->table->env, .layout = layout };
    struct lmn__pb_fragment *written;
    uint64_t count = 0;
    enum lmn_status st = lmn__fragment_reader_open(fill->table->files, fill->manifest, index,
                                                   fill->projection, &filling.reader, err);

    lmn__scratch_init(&filling.scratch, filling.env);
    if (st == LMN_OK)
        st = open_writer(&filling, threads, err);
    if (st == LMN_OK)
        st = write_rows(&filling, err);
    if (st == LMN_OK) {
        st = lmn__fragment_writer_finish(filling.writer, arena, &written, &count, err);
        filling.writer = NULL;
    }
    if (st == LMN_OK && count == 1)
        *file_out = *(struct lmn__pb_data_file *)written[0].files.item;
    lmn__fragment_writer_abort(filling.writer);
    lmn__fragment_reader_close(filling.reader);
    lmn__array_release(&filling.null_row);
    lmn__scratch_deinit(&filling.scratch);
    return st;
}
