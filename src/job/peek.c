/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each receipt gives a piece: its rows, as far as they are wanted, of all columns. The pieces are
 * then put together.
 */
#include "job/peek.h"

#include <nanoarrow/nanoarrow.h>
#include <string.h>

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "base/error.h"
#include "base/math.h"
#include "job/hold.h"
#include "job/journal_parts.h"
#include "table/refill.h"
#include "table/row_columns.h"
#include "table/snapshot.h"

enum { PIECES_MAX = 1 << 16 };

struct peek {
    struct lmn_table *table;
    struct lmn_env *env;
    struct lmn__snapshot *snapshot;
    struct lmn__journal *journal;
    struct lmn__fill_columns columns;
    struct lmn__projection shown; /* the columns without ledgers */
    uint32_t output_count;
    struct ArrowArray *piece; /* the columns, then the row ids */
    uint32_t piece_count;
    uint64_t row_count, rows_max;
};

/* Rows of one receipt that are wanted. */
struct rows {
    const struct lmn__receipt *receipt;
    const struct lmn__fragment_reader *reader;
    uint64_t *number;            /* in the receipt */
    struct lmn__row_range *each; /* physical, one row each */
    uint64_t count;
};

/* Choose the live rows of a receipt, up to `most`. Both lists have room for them. */
static void choose_rows(struct rows *rows, uint64_t most)
{
    const struct lmn__receipt *receipt = rows->receipt;
    const struct lmn__deletion *deletion = lmn__fragment_reader_deletion(rows->reader);
    uint64_t physical = lmn__fragment_reader_fragment(rows->reader)->row_count, number = 0;

    for (size_t i = 0; i < receipt->first.count; i++) {
        for (uint64_t k = 0; k < receipt->count.item[i] && rows->count < most; k++, number++) {
            uint64_t row = receipt->first.item[i] + k;

            if (row >= physical || lmn__deletion_has(deletion, row))
                continue;
            rows->number[rows->count] = number;
            rows->each[rows->count++] = (struct lmn__row_range){ row, 1 };
        }
    }
}

/* Open a file of the fill for what a receipt names at `position`; *base_out is that of its start.
 */
static enum lmn_status open_file(const struct peek *peek, const struct lmn__receipt *receipt,
                                 enum lmn__grant_file kind, uint64_t position,
                                 struct lmn__store_file **file_out, uint64_t *base_out,
                                 struct lmn_error *err)
{
    struct lmn_store *store = peek->table->store;
    const char *dir = lmn__journal_dir(peek->journal);
    char path[LMN__FILL_PATH_BYTES];

    *base_out = receipt->segments ? position : 0;
    if (receipt->segments)
        lmn__segment_path(dir, kind, receipt->fragment_id, receipt->layout, position, path);
    else
        lmn__fill_path(dir, kind, receipt->fragment_id, receipt->layout, path);
    return store->ops->open(store, path, file_out, err);
}

/* The columns of a receipt that are held, each at its place. */
static enum lmn_status gather_held(const struct peek *peek, const struct rows *rows,
                                   struct lmn__hold *hold, struct ArrowArray *piece,
                                   struct lmn_error *err)
{
    const struct lmn__receipt_hold *pb = rows->receipt->holds.item;
    const struct ArrowArray **from = lmn__calloc(peek->env, hold->batch_count, sizeof *from);
    uint32_t *part = lmn__calloc(peek->env, rows->count, sizeof *part);
    uint64_t *index = lmn__calloc(peek->env, rows->count, sizeof *index);
    enum lmn_status st = LMN_OK;

    if (from == NULL || part == NULL || index == NULL)
        st = lmn__no_memory(err, "a list of rows", rows->count * sizeof *index);
    for (uint64_t i = 0; st == LMN_OK && i < rows->count; i++) {
        part[i] = (uint32_t)lmn__hold_find(hold, rows->number[i]);
        index[i] = rows->number[i] - hold->start[part[i]];
    }
    for (size_t c = 0; st == LMN_OK && c < pb->column.count; c++) {
        uint64_t column = pb->column.item[c];

        if (column >= peek->output_count)
            continue; /* a ledger */
        for (uint64_t i = 0; i < hold->batch_count; i++)
            from[i] = hold->batch[i].children[c];
        st = lmn__arrays_gather(peek->env, peek->shown.layout->child[column], from,
                                (uint32_t)hold->batch_count, part, index, rows->count,
                                piece->children[column], err);
    }
    lmn__free(peek->env, from);
    lmn__free(peek->env, part);
    lmn__free(peek->env, index);
    return st;
}

static enum lmn_status take_held(const struct peek *peek, const struct rows *rows,
                                 struct ArrowArray *piece, struct lmn_error *err)
{
    const struct lmn__receipt_hold *pb = rows->receipt->holds.item;
    struct lmn__hold hold = { 0 };
    struct lmn__store_file *file;
    uint64_t base;
    enum lmn_status st;

    if (rows->receipt->holds.count == 0)
        return LMN_OK;
    st = open_file(peek, rows->receipt, LMN__GRANT_HOLD, pb->position, &file, &base, err);
    if (st != LMN_OK)
        return st;
    st = lmn__hold_read(file, base, rows->receipt, &peek->columns.projection.arrow, &hold, err);
    file->store->ops->close(file);
    if (st == LMN_OK)
        st = gather_held(peek, rows, &hold, piece, err);
    lmn__hold_free(&hold);
    return st;
}

/* Rows of pages that start with the first row of the receipt. */
static enum lmn_status gather_pages(const struct peek *peek, const struct rows *rows,
                                    uint32_t column, const struct ArrowArray *pages,
                                    struct ArrowArray *piece, struct lmn_error *err)
{
    uint64_t *index = lmn__calloc(peek->env, rows->count, sizeof *index);
    enum lmn_status st;

    if (index == NULL)
        return lmn__no_memory(err, "a list of rows", rows->count * sizeof *index);
    for (uint64_t i = 0; i < rows->count; i++)
        index[i] = rows->each[i].first - rows->receipt->first.item[0] + (uint64_t)pages->offset;
    st = lmn__array_gather(peek->env, peek->shown.layout->child[column], pages->children[0], index,
                           rows->count, piece->children[column], err);
    lmn__free(peek->env, index);
    return st;
}

static enum lmn_status take_pages(const struct peek *peek, const struct rows *rows,
                                  struct ArrowArray *piece, struct lmn_error *err)
{
    const struct lmn__receipt_pages *pages = rows->receipt->pages.item;
    uint64_t count = rows->each[rows->count - 1].first - rows->receipt->first.item[0] + 1;
    enum lmn_status st = LMN_OK;

    for (size_t i = 0; st == LMN_OK && i < rows->receipt->pages.count; i++) {
        struct lmn__store_file *file;
        struct ArrowArray array = { 0 };
        uint64_t base;

        if (pages[i].column >= peek->output_count)
            continue;
        st = open_file(peek, rows->receipt, LMN__GRANT_PAGES, pages[i].position, &file, &base, err);
        if (st != LMN_OK)
            return st;
        st = lmn__peek_pages(file, base, &pages[i], peek->shown.arrow.children[pages[i].column],
                             peek->columns.version, count, &array, err);
        file->store->ops->close(file);
        if (st == LMN_OK)
            st = gather_pages(peek, rows, pages[i].column, &array, piece, err);
        lmn__array_release(&array);
    }
    return st;
}

/* The rows of a receipt as a piece; there is at least one. */
static enum lmn_status make_piece(const struct peek *peek, const struct rows *rows,
                                  struct ArrowArray *piece, struct lmn_error *err)
{
    const struct lmn__row_columns ids = { .id = true };
    enum lmn_status st = lmn__array_compose(peek->env, rows->count, peek->output_count + 1, piece,
                                            err);

    if (st == LMN_OK)
        st = take_held(peek, rows, piece, err);
    if (st == LMN_OK)
        st = take_pages(peek, rows, piece, err);
    for (uint32_t i = 0; st == LMN_OK && i < peek->output_count; i++) {
        if (piece->children[i]->release == NULL)
            st = lmn_fail(err, LMN_E_UNSUPPORTED,
                          "column \"%.100s\": its values cannot be read before they are committed",
                          peek->shown.arrow.children[i]->name);
    }
    if (st == LMN_OK)
        st = lmn__row_columns_make(rows->reader, NULL, ids, rows->each, rows->count,
                                   &piece->children[peek->output_count], err);
    if (st != LMN_OK)
        lmn__array_release(piece);
    return st;
}

static enum lmn_status add_receipt(struct peek *peek, const struct lmn__fragment_reader *reader,
                                   const struct lmn__receipt *receipt, struct lmn_error *err)
{
    uint64_t most = lmn__min_u64(peek->rows_max - peek->row_count, receipt->row_count);
    struct rows rows = { .receipt = receipt, .reader = reader };
    struct ArrowArray *grown = lmn__realloc(peek->env, peek->piece,
                                            (peek->piece_count + 1ull) * sizeof *grown);
    enum lmn_status st = LMN_OK;

    if (grown != NULL)
        peek->piece = grown;
    rows.number = lmn__calloc(peek->env, most, sizeof *rows.number);
    rows.each = lmn__calloc(peek->env, most, sizeof *rows.each);
    if (grown == NULL || rows.number == NULL || rows.each == NULL)
        st = lmn__no_memory(err, "a list of rows", most * sizeof *rows.each);
    if (st == LMN_OK)
        choose_rows(&rows, most);
    if (st == LMN_OK && rows.count > 0)
        st = make_piece(peek, &rows, &peek->piece[peek->piece_count], err);
    if (st == LMN_OK && rows.count > 0) {
        peek->piece_count++;
        peek->row_count += rows.count;
    }
    lmn__free(peek->env, rows.number);
    lmn__free(peek->env, rows.each);
    return st;
}

/* The receipts of a fragment, unless others have replaced it. */
static enum lmn_status add_fragment(struct peek *peek, uint64_t fragment_id, uint64_t layout,
                                    struct lmn_error *err)
{
    const struct lmn__receipt *receipt;
    struct lmn__fragment_reader *reader;
    uint64_t index, count;
    enum lmn_status st = lmn__journal_receipts(peek->journal, fragment_id, layout, &receipt, &count,
                                               err);

    if (st != LMN_OK || layout == LMN__LAYOUT_CARRIED || /* about to be committed */
        !lmn__snapshot_find(peek->snapshot, fragment_id, &index))
        return st;
    st = lmn__fragment_reader_open(peek->table->files, peek->snapshot->manifest, index,
                                   &peek->shown, &reader, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; st == LMN_OK && i < count && peek->row_count < peek->rows_max &&
                         peek->piece_count < PIECES_MAX;
         i++)
        st = add_receipt(peek, reader, &receipt[i], err);
    lmn__fragment_reader_close(reader);
    return st;
}

/* One column of all pieces. */
static enum lmn_status join_column(const struct peek *peek, uint32_t column, const uint32_t *part,
                                   const uint64_t *index, struct ArrowArray *array_out,
                                   struct lmn_error *err)
{
    const struct ArrowArray **from = lmn__calloc(peek->env, peek->piece_count, sizeof *from);
    const struct lmn__layout *layout = column < peek->output_count
                                           ? peek->shown.layout->child[column]
                                           : &lmn__row_column_layout;
    enum lmn_status st;

    if (from == NULL)
        return lmn__no_memory(err, "a list of arrays", peek->piece_count * sizeof *from);
    for (uint32_t i = 0; i < peek->piece_count; i++)
        from[i] = peek->piece[i].children[column];
    st = lmn__arrays_gather(peek->env, layout, from, peek->piece_count, part, index,
                            peek->row_count, array_out, err);
    lmn__free(peek->env, from);
    return st;
}

static enum lmn_status join(const struct peek *peek, struct ArrowArray *array_out,
                            struct lmn_error *err)
{
    uint32_t *part = lmn__calloc(peek->env, peek->row_count, sizeof *part);
    uint64_t *index = lmn__calloc(peek->env, peek->row_count, sizeof *index), at = 0;
    enum lmn_status st = part != NULL && index != NULL
                             ? LMN_OK
                             : lmn__no_memory(err, "rows", peek->row_count * sizeof *index);

    for (uint32_t i = 0; st == LMN_OK && i < peek->piece_count; i++) {
        for (uint64_t k = 0; k < (uint64_t)peek->piece[i].length; k++, at++) {
            part[at] = i;
            index[at] = k;
        }
    }
    if (st == LMN_OK)
        st = lmn__array_compose(peek->env, peek->row_count, peek->output_count + 1, array_out, err);
    for (uint32_t i = 0; st == LMN_OK && i <= peek->output_count; i++)
        st = join_column(peek, i, part, index, array_out->children[i], err);
    if (st != LMN_OK)
        lmn__array_release(array_out);
    lmn__free(peek->env, part);
    lmn__free(peek->env, index);
    return st;
}

/* The refill of a column, which is on top level as all that functions fill; NULL without one. */
static const struct lmn__node *find_refill(const struct lmn__schema *schema, const char *column)
{
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next) {
        if (strcmp(node->name, column) == 0)
            return lmn__refill_of(schema, node);
    }
    return NULL;
}

/* The fill's columns, which are those named `output` or their refills. */
static enum lmn_status find_columns(struct peek *peek, const struct lmn__fill_key *key,
                                    const char *const *output, struct lmn_error *err)
{
    struct lmn__manifest *manifest = peek->snapshot->manifest;
    const struct lmn__node *first = find_refill(&manifest->schema, output[0]);
    bool beside = first != NULL && first->field->id == key->field_id;
    const char **name = lmn__calloc(peek->env, peek->output_count, sizeof *name);
    enum lmn_status st;

    if (name == NULL)
        return lmn__no_memory(err, "names of columns", peek->output_count * sizeof *name);
    for (uint32_t i = 0; i < peek->output_count; i++) {
        const struct lmn__node *refill = beside ? find_refill(&manifest->schema, output[i]) : NULL;

        name[i] = refill != NULL ? refill->name : output[i];
    }
    st = lmn__fill_columns_init(&peek->columns, manifest, name, peek->output_count, key->field_id,
                                err);
    lmn__free(peek->env, name);
    return st;
}

/* The columns by the names that they are known by, also those of refills. */
static enum lmn_status name_columns(const struct peek *peek, const char *const *output,
                                    struct ArrowSchema *schema, struct lmn_error *err)
{
    for (uint32_t i = 0; i < peek->output_count; i++) {
        if (ArrowSchemaSetName(schema->children[i], output[i]) != NANOARROW_OK)
            return lmn__no_memory(err, "the name of a column", strlen(output[i]));
    }
    return LMN_OK;
}

static enum lmn_status peek_open(struct peek *peek, const struct lmn__fill_key *key,
                                 const char *const *output, struct lmn_error *err)
{
    enum lmn_status st = lmn__snapshot_open(peek->table, &peek->snapshot, err);

    if (st == LMN_OK)
        st = find_columns(peek, key, output, err);
    if (st == LMN_OK)
        st = lmn__projection_init_nodes(&peek->shown, peek->env, &peek->snapshot->manifest->schema,
                                        peek->columns.node, peek->output_count, true, err);
    return st == LMN_OK ? lmn__journal_view(peek->table->store, key, &peek->journal, err) : st;
}

static void peek_close(struct peek *peek)
{
    for (uint32_t i = 0; i < peek->piece_count; i++)
        lmn__array_release(&peek->piece[i]);
    lmn__free(peek->env, peek->piece);
    lmn__journal_close(peek->journal);
    lmn__projection_deinit(&peek->shown);
    lmn__fill_columns_deinit(&peek->columns);
    lmn__snapshot_release(peek->snapshot);
}

enum lmn_status lmn__peek(struct lmn_table *table, const struct lmn__fill_key *key,
                          const char *const *output, uint32_t output_count, uint64_t rows_max,
                          struct ArrowSchema *schema_out, struct ArrowArray *array_out,
                          struct lmn_error *err)
{
    struct peek peek = {
        .table = table, .env = table->env, .output_count = output_count, .rows_max = rows_max
    };
    const struct lmn__row_columns ids = { .id = true };
    uint64_t fragment_id, layout;
    enum lmn_status st = peek_open(&peek, key, output, err);

    *schema_out = (struct ArrowSchema){ 0 };
    *array_out = (struct ArrowArray){ 0 };
    for (uint64_t i = 0; st == LMN_OK && peek.row_count < rows_max && peek.journal != NULL &&
                         lmn__journal_fragment(peek.journal, i, &fragment_id, &layout);
         i++)
        st = add_fragment(&peek, fragment_id, layout, err);
    if (st == LMN_OK)
        st = lmn__row_columns_schema(&peek.shown, ids, schema_out, err);
    if (st == LMN_OK)
        st = name_columns(&peek, output, schema_out, err);
    if (st == LMN_OK)
        st = join(&peek, array_out, err);
    if (st != LMN_OK && schema_out->release != NULL)
        schema_out->release(schema_out);
    peek_close(&peek);
    return st;
}
