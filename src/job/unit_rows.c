/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows are cut into segments, each from one place. Long ones are passed on as they lie in
 * memory; runs of short ones are gathered, because a consumer's work per part is more than that.
 */
#include "job/unit_rows.h"

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "base/error.h"
#include "base/math.h"
#include "job/hold.h"
#include "job/journal_parts.h"
#include "job/segments.h"
#include "table/row_list.h"

enum { LONG_ROWS = 1024, GATHER_ROWS_MAX = 1 << 16, READ_ROWS_MAX = 1 << 16 };
static const uint64_t read_bytes_max = 16ull << 20;

/* Rows that are gathered together: each is a slot of a batch that is held, kept, or null. */
struct gathering {
    uint32_t *part; /* 0: null, 1: kept, then batches */
    uint64_t *index;
    uint64_t count;
    struct lmn__row_list kept;
    struct {
        uint64_t receipt, batch;
    } *batch;
    uint32_t batch_count, batch_cap;
};

struct lmn__unit_rows {
    struct lmn_env *env; /* the table's */
    struct lmn_table *table;
    const struct lmn__fill_columns *columns;
    uint64_t index;
    const struct lmn__receipt *receipt;
    uint64_t receipt_count;
    char *dir;                    /* of the fill */
    struct lmn__store_file *file; /* the hold file; NULL: nothing is held in it */
    struct lmn__hold *hold;       /* of each receipt, read when it is needed */
    uint64_t held_bytes;
    uint64_t passed;  /* rows before this one are not asked for again */
    uint64_t dropped; /* receipts before this one have all of their rows there */
    struct lmn__scratch scratch;
    struct lmn__fragment_reader *reader; /* of all columns */
    struct lmn__fragment_reader **one;   /* of each column, opened when it is needed */
    struct lmn__projection *one_projection;
    struct lmn__segments segments;
    struct ArrowArray *nulls; /* one slot of each column */
    struct gathering gathering;
};

/* One call of lmn__unit_rows_read(). */
struct request {
    struct lmn__unit_rows *rows;
    uint32_t first_column, column_count;
    lmn__rows_fn fn;
    void *context;
    bool apart; /* blobs: what is held is of another type than what is kept, and kept ones are large
                 */
};

const struct lmn__fragment_reader *lmn__unit_rows_reader(const struct lmn__unit_rows *rows)
{
    return rows->reader;
}

void lmn__unit_rows_close(struct lmn__unit_rows *rows)
{
    struct lmn_env *env;

    if (rows == NULL)
        return;
    env = rows->env;
    for (uint64_t i = 0; rows->hold != NULL && i < rows->receipt_count; i++)
        lmn__hold_free(&rows->hold[i]);
    for (uint32_t i = 0; i < rows->columns->count; i++) {
        if (rows->nulls != NULL)
            lmn__array_release(&rows->nulls[i]);
        if (rows->one != NULL && rows->one[i] != NULL) {
            lmn__fragment_reader_close(rows->one[i]);
            lmn__projection_deinit(&rows->one_projection[i]);
        }
    }
    lmn__fragment_reader_close(rows->reader);
    if (rows->file != NULL)
        rows->file->store->ops->close(rows->file);
    lmn__row_list_deinit(&rows->gathering.kept);
    lmn__free(env, rows->gathering.part);
    lmn__free(env, rows->gathering.index);
    lmn__free(env, rows->gathering.batch);
    lmn__free(env, rows->hold);
    lmn__free(env, rows->dir);
    lmn__free(env, rows->one);
    lmn__free(env, rows->one_projection);
    lmn__free(env, rows->nulls);
    lmn__segments_deinit(&rows->segments);
    lmn__scratch_deinit(&rows->scratch);
    lmn__free(env, rows);
}

static enum lmn_status open_hold(struct lmn__unit_rows *rows, struct lmn_error *err)
{
    struct lmn_store *store = rows->table->store;
    char path[LMN__FILL_PATH_BYTES];
    bool held = false;

    for (uint64_t i = 0; i < rows->receipt_count; i++)
        held = held || (rows->receipt[i].holds.count != 0 && !rows->receipt[i].segments);
    lmn__fill_path(rows->dir, LMN__GRANT_HOLD, 0, 0, path);
    return held ? store->ops->open(store, path, &rows->file, err) : LMN_OK;
}

static enum lmn_status make_nulls(struct lmn__unit_rows *rows, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < rows->columns->count; i++)
        st = lmn__array_nulls(rows->env, rows->columns->projection.layout->child[i], 1,
                              &rows->nulls[i], err);
    return st;
}

static bool make_room(struct lmn__unit_rows *rows, const char *dir)
{
    uint32_t columns = rows->columns->count;
    struct gathering *gathering = &rows->gathering;

    rows->dir = lmn__strndup(rows->env, dir, strlen(dir));
    rows->hold = lmn__calloc(rows->env, rows->receipt_count, sizeof *rows->hold);
    rows->one = lmn__calloc(rows->env, columns, sizeof *rows->one);
    rows->one_projection = lmn__calloc(rows->env, columns, sizeof *rows->one_projection);
    rows->nulls = lmn__calloc(rows->env, columns, sizeof *rows->nulls);
    gathering->part = lmn__calloc(rows->env, GATHER_ROWS_MAX, sizeof *gathering->part);
    gathering->index = lmn__calloc(rows->env, GATHER_ROWS_MAX, sizeof *gathering->index);
    return rows->dir != NULL && rows->hold != NULL && rows->one != NULL &&
           rows->one_projection != NULL && rows->nulls != NULL && gathering->part != NULL &&
           gathering->index != NULL;
}

enum lmn_status lmn__unit_rows_open(struct lmn_table *table,
                                    const struct lmn__fill_columns *columns, uint64_t index,
                                    const char *dir, const struct lmn__receipt *receipt,
                                    uint64_t receipt_count, struct lmn__unit_rows **rows_out,
                                    struct lmn_error *err)
{
    struct lmn__unit_rows *rows = lmn__calloc(table->env, 1, sizeof *rows);
    enum lmn_status st;

    *rows_out = NULL;
    if (rows == NULL)
        return lmn__no_memory(err, "rows of a fragment", sizeof *rows);
    rows->env = table->env;
    rows->table = table;
    rows->columns = columns;
    rows->index = index;
    rows->receipt = receipt;
    rows->receipt_count = receipt_count;
    lmn__scratch_init(&rows->scratch, rows->env);
    lmn__row_list_init(&rows->gathering.kept, rows->env);
    lmn__segments_init(&rows->segments, rows->env);
    st = make_room(rows, dir) ? LMN_OK : lmn__no_memory(err, "rows of a fragment", GATHER_ROWS_MAX);
    if (st == LMN_OK)
        st = lmn__fragment_reader_open(table->files, columns->manifest, index, &columns->projection,
                                       &rows->reader, err);
    if (st == LMN_OK)
        st = lmn__segments_make(&rows->segments, rows->reader, columns, receipt, receipt_count,
                                err);
    if (st == LMN_OK)
        st = open_hold(rows, err);
    if (st == LMN_OK)
        st = make_nulls(rows, err);
    if (st != LMN_OK) {
        lmn__unit_rows_close(rows);
        return st;
    }
    *rows_out = rows;
    return LMN_OK;
}

static void drop_hold(struct lmn__unit_rows *rows, uint64_t receipt)
{
    rows->held_bytes -= rows->hold[receipt].bytes;
    lmn__hold_free(&rows->hold[receipt]);
}

/* Row behind the last of a receipt. */
static uint64_t receipt_end(const struct lmn__receipt *receipt)
{
    size_t last = receipt->first.count - 1;

    return receipt->first.item[last] + receipt->count.item[last];
}

void lmn__unit_rows_trim(struct lmn__unit_rows *rows, uint64_t bytes_max)
{
    while (rows->dropped < rows->receipt_count &&
           receipt_end(&rows->receipt[rows->dropped]) <= rows->passed)
        drop_hold(rows, rows->dropped++);
    for (uint64_t i = 0; rows->held_bytes > bytes_max && i < rows->receipt_count; i++)
        drop_hold(rows, i);
}

static enum lmn_status read_segment_hold(struct lmn__unit_rows *rows,
                                         const struct lmn__receipt *receipt, struct lmn__hold *hold,
                                         struct lmn_error *err)
{
    const struct lmn__receipt_hold *pb = receipt->holds.item;
    struct lmn_store *store = rows->table->store;
    struct lmn__store_file *file;
    char path[LMN__FILL_PATH_BYTES];
    enum lmn_status st;

    lmn__segment_path(rows->dir, LMN__GRANT_HOLD, receipt->fragment_id, receipt->layout,
                      pb->position, path);
    st = store->ops->open(store, path, &file, err);
    if (st != LMN_OK)
        return st;
    st = lmn__hold_read(file, pb->position, receipt, &rows->columns->held, hold, err);
    store->ops->close(file);
    return st;
}

/* What a receipt holds, unless it is in memory. Whoever takes rows may trim: after each call of
 * request->fn it may have to be read again. */
static enum lmn_status load(struct lmn__unit_rows *rows, uint64_t index, struct lmn_error *err)
{
    const struct lmn__receipt *receipt = &rows->receipt[index];
    struct lmn__hold *hold = &rows->hold[index];
    enum lmn_status st;

    if (hold->env != NULL)
        return LMN_OK;
    if (receipt->holds.count == 0)
        return lmn_fail(err, LMN_E_CORRUPT, "a receipt without what it should hold");
    if (receipt->segments)
        st = read_segment_hold(rows, receipt, hold, err);
    else
        st = lmn__hold_read(rows->file, 0, receipt, &rows->columns->held, hold, err);
    rows->held_bytes += hold->bytes;
    return st;
}

/* A column in a batch that is held; NULL when the receipt has it elsewhere. */
static const struct ArrowArray *held_column(const struct lmn__unit_rows *rows, uint64_t receipt,
                                            uint64_t batch, uint32_t column)
{
    const struct lmn__receipt_hold *pb = rows->receipt[receipt].holds.item;

    for (size_t i = 0; i < pb->column.count; i++) {
        if (pb->column.item[i] == column)
            return rows->hold[receipt].batch[batch].children[i];
    }
    return NULL;
}

/* Read rows of the table; the offset is that of the columns. */
static enum lmn_status read_table(const struct lmn__fragment_reader *reader,
                                  struct lmn__unit_rows *rows, const struct lmn__row_range *range,
                                  uint64_t count, struct ArrowArray *array_out,
                                  struct lmn_error *err)
{
    enum lmn_status st = lmn__fragment_reader_read(reader, &rows->scratch, range, count, array_out,
                                                   err);

    for (int64_t i = 0; st == LMN_OK && i < array_out->n_children; i++) {
        array_out->children[i]->offset += array_out->offset;
        array_out->children[i]->length = array_out->length;
    }
    if (st == LMN_OK)
        array_out->offset = 0;
    return st;
}

/* The reader of what is asked for. */
static enum lmn_status find_reader(const struct request *request,
                                   struct lmn__fragment_reader **reader_out, struct lmn_error *err)
{
    struct lmn__unit_rows *rows = request->rows;
    const struct lmn__fill_columns *columns = rows->columns;
    uint32_t i = request->first_column;
    enum lmn_status st = LMN_OK;

    *reader_out = rows->reader;
    if (request->column_count == columns->count)
        return LMN_OK;
    if (rows->one[i] == NULL) {
        st = lmn__projection_init_nodes(&rows->one_projection[i], rows->env,
                                        &columns->manifest->schema, &columns->node[i], 1, true,
                                        err);
        if (st != LMN_OK)
            return st;
        st = lmn__fragment_reader_open(rows->table->files, columns->manifest, rows->index,
                                       &rows->one_projection[i], &rows->one[i], err);
        if (st != LMN_OK)
            lmn__projection_deinit(&rows->one_projection[i]);
    }
    *reader_out = rows->one[i];
    return st;
}

/* Pass on an array that is the consumer's. */
static enum lmn_status give(const struct request *request, struct ArrowArray *array,
                            struct lmn_error *err)
{
    enum lmn_status st = request->fn(request->context, array, false, err);

    lmn__array_release(array);
    return st;
}

/* The arrays that the slots of a column come from; part 0 is null, part 1 kept. */
static enum lmn_status gather_column(const struct request *request, uint32_t i,
                                     const struct ArrowArray *kept, struct ArrowArray *array_out,
                                     struct lmn_error *err)
{
    struct lmn__unit_rows *rows = request->rows;
    const struct gathering *gathering = &rows->gathering;
    uint32_t column = request->first_column + i, count = gathering->batch_count + 2;
    const struct ArrowArray **from = lmn__calloc(rows->env, count, sizeof *from);
    enum lmn_status st = LMN_OK;

    if (from == NULL)
        return lmn__no_memory(err, "a list of arrays", count * sizeof *from);
    from[0] = &rows->nulls[column];
    from[1] = kept->release != NULL ? kept->children[i] : from[0];
    for (uint32_t k = 0; st == LMN_OK && k < gathering->batch_count; k++) {
        from[k + 2] = held_column(rows, gathering->batch[k].receipt, gathering->batch[k].batch,
                                  column);
        if (from[k + 2] == NULL)
            st = lmn_fail(err, LMN_E_CORRUPT, "column %u is not held", column);
    }
    if (st == LMN_OK)
        st = lmn__arrays_gather(rows->env, rows->columns->projection.layout->child[column], from,
                                count, gathering->part, gathering->index, gathering->count,
                                array_out, err);
    lmn__free(rows->env, from);
    return st;
}

/* Pass on what is gathered. */
static enum lmn_status flush(const struct request *request, struct lmn_error *err)
{
    struct lmn__unit_rows *rows = request->rows;
    struct gathering *gathering = &rows->gathering;
    struct lmn__fragment_reader *reader;
    struct ArrowArray kept = { 0 }, array = { 0 };
    enum lmn_status st = LMN_OK;

    if (gathering->count == 0)
        return LMN_OK;
    for (uint32_t i = 0; st == LMN_OK && i < gathering->batch_count; i++)
        st = load(rows, gathering->batch[i].receipt, err);
    if (st == LMN_OK && gathering->kept.count != 0) {
        st = find_reader(request, &reader, err);
        if (st == LMN_OK)
            st = read_table(reader, rows, gathering->kept.range, gathering->kept.count, &kept, err);
    }
    if (st == LMN_OK)
        st = lmn__array_compose(rows->env, gathering->count, request->column_count, &array, err);
    for (uint32_t i = 0; st == LMN_OK && i < request->column_count; i++)
        st = gather_column(request, i, &kept, array.children[i], err);
    if (st == LMN_OK)
        st = request->fn(request->context, &array, false, err);
    lmn__array_release(&array);
    lmn__array_release(&kept);
    gathering->count = gathering->batch_count = 0;
    gathering->kept.count = gathering->kept.row_count = 0;
    return st;
}

/* The part of a batch in what is gathered. */
static enum lmn_status batch_part(struct lmn__unit_rows *rows, uint64_t receipt, uint64_t batch,
                                  uint32_t *part_out, struct lmn_error *err)
{
    struct gathering *gathering = &rows->gathering;
    uint32_t count = gathering->batch_count;

    for (uint32_t i = count; i-- > 0 && i + 8 > count;) {
        *part_out = i + 2;
        if (gathering->batch[i].receipt == receipt && gathering->batch[i].batch == batch)
            return LMN_OK;
    }
    if (count == gathering->batch_cap) {
        uint32_t cap = count * 2 + 16;
        void *grown = lmn__realloc(rows->env, gathering->batch, cap * sizeof *gathering->batch);

        if (grown == NULL)
            return lmn__no_memory(err, "a list of arrays", cap * sizeof *gathering->batch);
        gathering->batch = grown;
        gathering->batch_cap = cap;
    }
    gathering->batch[count].receipt = receipt;
    gathering->batch[count].batch = batch;
    gathering->batch_count++;
    *part_out = count + 2;
    return LMN_OK;
}

static enum lmn_status gather(const struct request *request, const struct lmn__segment *segment,
                              uint64_t batch, uint64_t slot, uint64_t count, struct lmn_error *err)
{
    struct lmn__unit_rows *rows = request->rows;
    struct gathering *gathering = &rows->gathering;
    uint64_t bytes = lmn__fragment_reader_row_bytes(rows->reader);
    uint32_t part = 0;
    enum lmn_status st = LMN_OK;

    if (gathering->count + count > GATHER_ROWS_MAX ||
        (segment->place == LMN__ROWS_KEPT &&
         (gathering->kept.row_count + count) * bytes > read_bytes_max))
        st = flush(request, err);
    if (st == LMN_OK && segment->place == LMN__ROWS_HELD)
        st = batch_part(rows, segment->receipt, batch, &part, err);
    if (st == LMN_OK && segment->place == LMN__ROWS_KEPT) {
        part = 1;
        slot = gathering->kept.row_count;
        st = lmn__row_list_add(&gathering->kept, segment->first, count, err);
    }
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        gathering->part[gathering->count] = part;
        gathering->index[gathering->count++] = segment->place == LMN__ROWS_DEAD ? 0 : slot + i;
    }
    return st;
}

/* Pass on slots of a batch as they lie there. */
static enum lmn_status lend(const struct request *request, uint64_t receipt, uint64_t batch,
                            uint64_t slot, uint64_t count, struct lmn_error *err)
{
    const void *no_buffer[1] = { NULL };
    struct lmn_env *env = request->rows->env;
    struct ArrowArray *child = lmn__calloc(env, request->column_count, sizeof *child);
    struct ArrowArray **list = lmn__calloc(env, request->column_count, sizeof(struct ArrowArray *));
    struct ArrowArray array = { .length = (int64_t)count,
                                .n_buffers = 1,
                                .n_children = request->column_count,
                                .buffers = no_buffer,
                                .children = list };
    enum lmn_status st = child != NULL && list != NULL
                             ? LMN_OK
                             : lmn__no_memory(err, "an array", sizeof *child);

    for (uint32_t i = 0; st == LMN_OK && i < request->column_count; i++) {
        const struct ArrowArray *from = held_column(request->rows, receipt, batch,
                                                    request->first_column + i);

        if (from == NULL)
            st = lmn_fail(err, LMN_E_CORRUPT, "column %u is not held", request->first_column + i);
        else
            child[i] = *from;
        child[i].offset += (int64_t)slot;
        child[i].length = (int64_t)count;
        child[i].null_count = count == (uint64_t)request->rows->hold[receipt].batch[batch].length
                                  ? child[i].null_count
                                  : -1;
        child[i].release = NULL;
        list[i] = &child[i];
    }
    if (st == LMN_OK)
        st = request->fn(request->context, &array, true, err);
    lmn__free(env, child);
    lmn__free(env, list);
    return st;
}

static enum lmn_status read_held(const struct request *request, const struct lmn__segment *segment,
                                 struct lmn_error *err)
{
    struct lmn__unit_rows *rows = request->rows;
    const struct lmn__hold *hold = &rows->hold[segment->receipt];
    uint64_t from = segment->from, end = segment->from + segment->count;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && from < end) {
        uint64_t batch, count, slot;

        st = load(rows, segment->receipt, err);
        if (st != LMN_OK)
            break;
        batch = lmn__hold_find(hold, from);
        count = lmn__min_u64(end, hold->start[batch + 1]) - from;
        slot = from - hold->start[batch];
        if (count < LONG_ROWS && !request->apart) {
            st = gather(request, segment, batch, slot, count, err);
        } else {
            st = flush(request, err);
            if (st == LMN_OK)
                st = load(rows, segment->receipt, err);
            if (st == LMN_OK)
                st = lend(request, segment->receipt, batch, slot, count, err);
        }
        from += count;
    }
    return st;
}

static enum lmn_status read_kept(const struct request *request, const struct lmn__segment *segment,
                                 struct lmn_error *err)
{
    struct lmn__unit_rows *rows = request->rows;
    uint64_t fitting = read_bytes_max / lmn__fragment_reader_row_bytes(rows->reader);
    uint64_t step = request->apart ? 1 : lmn__max_u64(lmn__min_u64(fitting, READ_ROWS_MAX), 1);
    struct lmn__fragment_reader *reader;
    enum lmn_status st = flush(request, err);

    if (st == LMN_OK)
        st = find_reader(request, &reader, err);
    for (uint64_t at = 0; st == LMN_OK && at < segment->count; at += step) {
        struct lmn__row_range range = { segment->first + at,
                                        lmn__min_u64(step, segment->count - at) };
        struct ArrowArray array;

        st = read_table(reader, rows, &range, 1, &array, err);
        if (st == LMN_OK)
            st = give(request, &array, err);
    }
    return st;
}

static enum lmn_status read_dead(const struct request *request, const struct lmn__segment *segment,
                                 struct lmn_error *err)
{
    struct lmn__unit_rows *rows = request->rows;
    struct ArrowArray array = { 0 };
    enum lmn_status st = flush(request, err);

    if (st == LMN_OK)
        st = lmn__array_compose(rows->env, segment->count, request->column_count, &array, err);
    for (uint32_t i = 0; st == LMN_OK && i < request->column_count; i++)
        st = lmn__array_nulls(rows->env,
                              rows->columns->projection.layout->child[request->first_column + i],
                              segment->count, array.children[i], err);
    if (st == LMN_OK)
        return give(request, &array, err);
    lmn__array_release(&array);
    return st;
}

static enum lmn_status read_segment(const struct request *request,
                                    const struct lmn__segment *segment, struct lmn_error *err)
{
    if (segment->place == LMN__ROWS_HELD)
        return read_held(request, segment, err);
    if (segment->count < LONG_ROWS && !request->apart)
        return gather(request, segment, 0, 0, segment->count, err);
    return segment->place == LMN__ROWS_KEPT ? read_kept(request, segment, err)
                                            : read_dead(request, segment, err);
}

enum lmn_status lmn__unit_rows_read(struct lmn__unit_rows *rows, uint32_t column, uint64_t first,
                                    uint64_t count, lmn__rows_fn fn, void *context,
                                    struct lmn_error *err)
{
    bool all = column == LMN__ALL_COLUMNS;
    const struct request request = {
        rows, all ? 0 : column, all ? rows->columns->count : 1,
        fn,   context,          !all && lmn__fill_columns_is_blob(rows->columns, column)
    };
    uint64_t end = first + count;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = lmn__segments_find(&rows->segments, first);
         st == LMN_OK && i < rows->segments.count && rows->segments.item[i].first < end; i++) {
        struct lmn__segment segment = rows->segments.item[i];
        uint64_t skip = segment.first < first ? first - segment.first : 0;

        segment.first += skip;
        segment.from += skip;
        segment.count = lmn__min_u64(segment.count - skip, end - segment.first);
        st = read_segment(&request, &segment, err);
        if (all)
            rows->passed = segment.first + segment.count;
    }
    if (st == LMN_OK)
        st = flush(&request, err);
    rows->gathering.count = rows->gathering.batch_count = 0;
    rows->gathering.kept.count = rows->gathering.kept.row_count = 0;
    return st;
}
