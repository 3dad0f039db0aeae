/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/inspect.h>

#include "base/math.h"
#include "format/array_encoding.h"
#include "format/reader.h"

enum { SAMPLE_ROWS = 4096 };

struct report {
    struct lmn_file_report public; /* the first member: it is what callers hold */
    struct lmn_env *env;           /* counted */
    struct lmn__arena arena;
};

/* The text gathered in `buf`, kept in the arena. */
static enum lmn_status keep_text(struct report *report, struct lmn__buf *buf, const char **text_out,
                                 struct lmn_error *err)
{
    enum lmn_status st = lmn__buf_status(buf, "a report", err);

    if (st == LMN_OK) {
        *text_out = lmn__arena_strndup(&report->arena, buf->data, buf->len);
        if (*text_out == NULL)
            st = lmn__arena_fail(&report->arena, "a report", err);
    }
    lmn__buf_deinit(buf);
    return st;
}

static enum lmn_status describe_path(struct report *report, const struct lmn__node *node,
                                     const char **text_out, struct lmn_error *err)
{
    const struct lmn__node *chain[LMN__NODE_DEPTH_MAX + 1];
    struct lmn__buf buf;
    uint32_t depth = 0;

    for (; node != NULL; node = node->parent)
        chain[depth++] = node;
    lmn__buf_init(&buf, report->env, 0);
    for (; depth > 0; depth--)
        lmn__buf_printf(&buf, "%s%s", chain[depth - 1]->name, depth > 1 ? "." : "");
    return keep_text(report, &buf, text_out, err);
}

static enum lmn_status describe_type(struct report *report, const struct lmn__node *node,
                                     const char **text_out, struct lmn_error *err)
{
    struct lmn__buf buf;

    lmn__buf_init(&buf, report->env, 0);
    lmn__buf_put(&buf, node->field->logical_type.data, node->field->logical_type.len);
    return keep_text(report, &buf, text_out, err);
}

/* How the values of a page are stored, in words. */
static void print_encoding(const struct lmn__page_layout *layout, struct lmn__buf *buf)
{
    if (layout->kind == LMN__PAGE_BLOB)
        layout = layout->inner;
    if (layout->kind == LMN__PAGE_CONSTANT) {
        lmn__buf_printf(buf, layout->inline_value.data != NULL ? "one value" : "no values");
        return;
    }
    if (layout->dictionary != NULL) {
        lmn__buf_printf(buf, "dictionary[%llu](", (unsigned long long)layout->dictionary_count);
        lmn__encoding_print(layout->dictionary, buf);
        lmn__buf_printf(buf, "), ");
    }
    lmn__encoding_print(layout->values, buf);
}

static enum lmn_status describe_page(struct report *report, const struct lmn__page_info *info,
                                     struct lmn_page_report *page, struct lmn_error *err)
{
    static const char *const layouts[] = { "array", "mini-block", "constant", "full-zip", "blob" };
    struct lmn__buf buf;

    page->row_start = info->first_row;
    page->row_count = info->row_count;
    page->buffer_count = info->buffer_count;
    page->position = info->buffer_count != 0 ? info->buffer[0].position : 0;
    for (uint32_t i = 0; i < info->buffer_count; i++)
        page->bytes += info->buffer[i].bytes;
    page->layout = layouts[info->layout != NULL ? info->layout->kind : 0];
    lmn__buf_init(&buf, report->env, 0);
    if (info->layout != NULL)
        print_encoding(info->layout, &buf);
    else
        lmn__array_encoding_print(info->array, &buf);
    return keep_text(report, &buf, &page->encoding, err);
}

/* Bytes of an array's own buffers. */
static uint64_t own_bytes(const struct lmn__layout *layout, const struct ArrowArray *array)
{
    uint64_t length = (uint64_t)array->length, bytes = 0, width = layout->bits / 8;

    if (array->null_count > 0 && layout->kind != LMN__LAYOUT_NULL)
        bytes += lmn__div_up(length, 8);
    switch (layout->kind) {
    case LMN__LAYOUT_FIXED:
    case LMN__LAYOUT_DICTIONARY:
        return bytes + lmn__div_up(length * layout->bits, 8);
    case LMN__LAYOUT_VARIABLE:
        return bytes + (length + 1) * width +
               lmn__load_uint((const uint8_t *)array->buffers[1] + length * width, (uint32_t)width);
    case LMN__LAYOUT_LIST:
        return bytes + (length + 1) * width;
    default:
        return bytes;
    }
}

/* The same, with those of children. */
static uint64_t array_bytes(const struct lmn__layout *layout, const struct ArrowArray *array)
{
    uint64_t bytes = own_bytes(layout, array);

    if (layout->kind == LMN__LAYOUT_DICTIONARY)
        return bytes + array_bytes(layout->child[0], array->dictionary);
    for (uint32_t i = 0; i < layout->child_count; i++)
        bytes += array_bytes(layout->child[i], array->children[i]);
    return bytes;
}

/* What a sample of rows says of the columns below a node of the top level. */
struct sample {
    struct lmn_column_report *column; /* of the next node that has one */
    double scale;                     /* rows per row of the sample */
    bool whole;
};

/* `around` is the size of what stands around the node, which counts for each leaf in it. */
static void measure_node(struct sample *sample, const struct lmn__node *node,
                         const struct lmn__layout *layout, const struct ArrowArray *array,
                         uint64_t around)
{
    struct lmn_column_report *column = sample->column;
    uint32_t i = 0;

    sample->column += node->column != LMN__NO_COLUMN;
    if (node->kind == LMN__NODE_LEAF) {
        column->plain_is_estimate = !sample->whole;
        column->plain_bytes = (uint64_t)((double)(around + array_bytes(layout, array)) *
                                         sample->scale);
        return;
    }
    around += own_bytes(layout, array);
    for (const struct lmn__node *child = node->child; child != NULL; child = child->next, i++)
        measure_node(sample, child, layout->child[i], array->children[i], around);
}

/* Plain sizes are measured on the first rows of a column and carried on to all. */
static enum lmn_status measure_column(struct lmn_file *file, const struct lmn__node *top,
                                      struct lmn_column_report *column, struct lmn_error *err)
{
    const char *const path[] = { top->name };
    struct lmn__row_range range = { 0, lmn__min_u64(file->row_count, SAMPLE_ROWS) };
    struct sample sample = { .column = column, .whole = range.count == file->row_count };
    struct lmn__scratch scratch;
    struct lmn__reader reader;
    struct ArrowArray array;
    uint64_t width = lmn__layout_value_bytes(top->layout);
    enum lmn_status st;

    if (top->kind == LMN__NODE_LEAF && width != 0) {
        column->plain_bytes = column->row_count * width;
        return LMN_OK;
    }
    if (range.count == 0)
        return LMN_OK;
    st = lmn__reader_init(&reader, file, path, 1, LMN_BLOB_DESCRIPTORS, err);
    if (st != LMN_OK)
        return st;
    lmn__scratch_init(&scratch, file->env);
    st = lmn__reader_read(&reader, &scratch, &range, 1, &array, err);
    if (st == LMN_OK) {
        sample.scale = (double)file->row_count / (double)range.count;
        measure_node(&sample, top, reader.projection.layout->child[0], array.children[0], 0);
        array.release(&array);
    }
    lmn__scratch_deinit(&scratch);
    lmn__reader_deinit(&reader);
    return st;
}

static enum lmn_status describe_column(struct report *report, struct lmn_file *file,
                                       const struct lmn__node *node,
                                       struct lmn_column_report *column, struct lmn_error *err)
{
    const struct lmn__column *metadata;
    struct lmn_page_report *page;
    enum lmn_status st = lmn__file_column(file, node->column, &metadata, err);

    if (st != LMN_OK)
        return st;
    page = lmn__arena_array(&report->arena, metadata->page_count, sizeof *page);
    if (page == NULL)
        return lmn__arena_fail(&report->arena, "a report", err);
    column->nullable = node->field->nullable;
    column->row_count = metadata->row_count;
    column->bytes = metadata->bytes;
    column->metadata_bytes = file->column_extent[node->column].bytes;
    column->page_count = metadata->page_count;
    column->page = page;
    st = lmn__file_stats_size(file, node->column, &column->zone_count,
                              &report->public.statistics_bytes, err);
    if (st == LMN_OK)
        st = describe_path(report, node, &column->path, err);
    if (st == LMN_OK)
        st = describe_type(report, node, &column->type, err);
    for (uint32_t i = 0; st == LMN_OK && i < metadata->page_count; i++)
        st = describe_page(report, &metadata->page[i], &page[i], err);
    return st;
}

static enum lmn_status describe_file(struct report *report, struct lmn_file *file,
                                     struct lmn_error *err)
{
    struct lmn_file_report *public = &report->public;
    struct lmn_column_report *column = lmn__arena_array(&report->arena, file->schema.column_count,
                                                        sizeof *column);
    struct lmn_column_report *next = column;
    enum lmn_status st = LMN_OK;

    if (column == NULL)
        return lmn__arena_fail(&report->arena, "a report", err);
    public->version = lmn_file_version(file);
    public->bytes = file->object.bytes;
    public->row_count = file->row_count;
    public->column_metadata_position = file->footer.column_metadata;
    public->column_table_position = file->footer.column_table;
    public->global_table_position = file->footer.global_table;
    public->global_buffer_count = file->footer.global_count;
    public->column_count = file->schema.column_count;
    public->column = column;
    for (uint32_t i = 0; st == LMN_OK && i < file->schema.node_count; i++) {
        const struct lmn__node *node = &file->schema.node[i];

        if (node->column != LMN__NO_COLUMN)
            st = describe_column(report, file, node, next++, err);
    }
    /* Nodes and columns are in one order, so those of a top node follow each other. */
    next = column;
    for (uint32_t i = 0; st == LMN_OK && i < file->schema.node_count; i++) {
        const struct lmn__node *node = &file->schema.node[i];

        if (node->parent == NULL)
            st = measure_column(file, node, next, err);
        next += node->column != LMN__NO_COLUMN;
    }
    return st;
}

enum lmn_status lmn_file_inspect(struct lmn_file *file, const struct lmn_file_report **report_out,
                                 struct lmn_error *err)
{
    struct report *report = lmn__calloc(file->env, 1, sizeof *report);
    enum lmn_status st;

    *report_out = NULL;
    if (report == NULL)
        return lmn__no_memory(err, "a report", sizeof *report);
    report->env = lmn_env_acquire(file->env);
    lmn__arena_init(&report->arena, file->env, 0);
    st = describe_file(report, file, err);
    if (st != LMN_OK) {
        lmn_file_report_free(&report->public);
        return st;
    }
    *report_out = &report->public;
    return LMN_OK;
}

void lmn_file_report_free(const struct lmn_file_report *report)
{
    struct report *whole = (struct report *)report;
    struct lmn_env *env;

    if (report == NULL)
        return;
    env = whole->env;
    lmn__arena_deinit(&whole->arena);
    lmn__free(env, whole);
    lmn_env_release(env);
}
