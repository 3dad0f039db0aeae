/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Columns get the width of their widest text, at most CELL_WIDTH_MAX. When the terminal is too
 * narrow, the widest are cut step by step, down to CELL_WIDTH_MIN; then columns from the right are
 * left out and named below the table.
 */
#include "print.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    ROWS_DEFAULT = 10,
    CELL_WIDTH_MAX = 60,
    CELL_WIDTH_MIN = 6,
    GAP = 2,
    TYPE_WIDTH_MAX = 30,
    WIDTH_DEFAULT = 80
};

struct row {
    struct text *cell; /* one per column */
    bool *is_null;
};

struct print_table {
    const struct ArrowSchema *schema;
    struct print_options options;
    uint64_t rows;     /* given or skipped */
    struct row *shown; /* head rows, then the ring of tail rows */
    uint64_t head_count, tail_count;
};

static void *must(void *memory)
{
    if (memory == NULL) {
        fputs("leman: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

void print_options_terminal(struct print_options *options, FILE *out)
{
    const char *columns = getenv("COLUMNS"), *no_color = getenv("NO_COLOR");
    bool is_terminal = isatty(fileno(out)) != 0;
    struct winsize size;

    options->color = is_terminal && (no_color == NULL || no_color[0] == '\0');
    options->width = 0;
    if (columns != NULL && atoi(columns) > 0)
        options->width = (uint32_t)atoi(columns);
    else if (is_terminal)
        options->width = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0
                             ? size.ws_col
                             : WIDTH_DEFAULT;
}

static struct row row_new(int64_t columns)
{
    size_t count = columns > 0 ? (size_t)columns : 1;

    return (struct row){ must(calloc(count, sizeof(struct text))),
                         must(calloc(count, sizeof(bool))) };
}

struct print_table *print_table_new(const struct ArrowSchema *schema,
                                    const struct print_options *options)
{
    struct print_table *table = must(calloc(1, sizeof *table));

    table->schema = schema;
    if (options != NULL)
        table->options = *options;
    if (table->options.head == 0 && table->options.tail == 0)
        table->options.head = table->options.tail = ROWS_DEFAULT;
    table->shown = must(
        calloc((size_t)(table->options.head + table->options.tail), sizeof *table->shown));
    return table;
}

void print_table_free(struct print_table *table)
{
    for (uint64_t i = 0; i < table->options.head + table->options.tail; i++) {
        struct row *row = &table->shown[i];

        for (int64_t k = 0; row->cell != NULL && k < table->schema->n_children; k++)
            text_free(&row->cell[k]);
        free(row->cell);
        free(row->is_null);
    }
    free(table->shown);
    free(table);
}

/* A string on top level is shown without its quotes; what would move the cursor stays escaped. */
static void unquote(struct text *cell)
{
    size_t to = 0;

    if (cell->len < 2 || cell->data[0] != '"')
        return;
    for (size_t from = 1; from + 1 < cell->len; from++) {
        if (cell->data[from] == '\\' &&
            (cell->data[from + 1] == '"' || cell->data[from + 1] == '\\'))
            from++;
        cell->data[to++] = cell->data[from];
    }
    cell->len = to;
    cell->data[to] = '\0';
}

static void row_fill(const struct print_table *table, const struct ArrowArray *batch, int64_t at,
                     struct row *row)
{
    if (row->cell == NULL)
        *row = row_new(table->schema->n_children);
    for (int64_t i = 0; i < table->schema->n_children; i++) {
        struct text *cell = &row->cell[i];

        cell->len = 0;
        row->is_null[i] = value_is_null(batch->children[i], batch->offset + at);
        value_put(cell, table->schema->children[i], batch->children[i], batch->offset + at,
                  VALUE_PEOPLE);
        unquote(cell);
    }
}

void print_table_add(struct print_table *table, const struct ArrowArray *batch)
{
    const struct print_options *options = &table->options;
    int64_t at = 0;

    for (; at < batch->length && table->head_count < options->head; at++)
        row_fill(table, batch, at, &table->shown[table->head_count++]);
    table->rows += (uint64_t)at;
    if (options->tail != 0 && (uint64_t)(batch->length - at) > options->tail) {
        table->rows += (uint64_t)(batch->length - at) - options->tail;
        at = batch->length - (int64_t)options->tail;
    }
    for (; options->tail != 0 && at < batch->length; at++, table->rows++)
        row_fill(table, batch, at,
                 &table->shown[options->head + table->tail_count++ % options->tail]);
    table->rows += (uint64_t)(batch->length - at);
}

void print_table_skip(struct print_table *table, uint64_t rows)
{
    table->rows += rows;
}

/* Print `text` in `width` columns, cut with "..." when it is longer. */
static void put_cell(const struct text *text, uint32_t width, bool right, bool pad,
                     const char *style, FILE *out)
{
    uint32_t whole = text_width(text->data, text->len), shown = 0, limit = width, code;
    size_t end = 0;
    int one;

    if (whole > width)
        limit = width > 3 ? width - 3 : 0;
    while (end < text->len) {
        size_t taken = utf8_next((const uint8_t *)text->data + end, text->len - end, &code, &one);
        uint32_t columns = one >= 0 ? (uint32_t)one : 1;

        if (shown + columns > limit)
            break;
        shown += columns;
        end += taken;
    }
    if (right && whole <= width)
        fprintf(out, "%*s", (int)(width - whole), "");
    fprintf(out, "%s%.*s%s%s", style, (int)end, text->data, whole > width ? "..." : "",
            style[0] != '\0' ? "\033[0m" : "");
    if (whole > width)
        shown += 3;
    if (pad && (!right || whole > width))
        fprintf(out, "%*s", (int)(width > shown ? width - shown : 0), "");
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* How many rows of shown[] there are, and the i-th of them in order. */
static uint64_t tail_shown(const struct print_table *table)
{
    return table->tail_count < table->options.tail ? table->tail_count : table->options.tail;
}

static const struct row *row_at(const struct print_table *table, uint64_t i)
{
    uint64_t tail = table->options.tail;

    if (i < table->head_count)
        return &table->shown[i];
    i -= table->head_count;
    if (table->tail_count > tail)
        i = (table->tail_count + i) % tail;
    return &table->shown[table->options.head + i];
}

static uint32_t column_width(const struct print_table *table, int64_t column,
                             const struct text *name, const struct text *type)
{
    uint32_t width = text_width(name->data, name->len);
    uint32_t type_width = min_u32(text_width(type->data, type->len), TYPE_WIDTH_MAX);

    width = width > type_width ? width : type_width;
    for (uint64_t i = 0; i < table->head_count + tail_shown(table); i++) {
        const struct text *cell = &row_at(table, i)->cell[column];
        uint32_t cell_width = text_width(cell->data, cell->len);

        width = width > cell_width ? width : cell_width;
    }
    return min_u32(width, CELL_WIDTH_MAX);
}

/* Cut widths until the columns fit; the number of columns that do. */
static int64_t fit(uint32_t *width, int64_t count, uint32_t limit)
{
    uint32_t sum;

    if (limit == 0)
        return count;
    for (;;) {
        int64_t widest = 0;

        sum = 0;
        for (int64_t i = 0; i < count; i++) {
            sum += width[i] + (i != 0 ? GAP : 0);
            widest = width[i] > width[widest] ? i : widest;
        }
        if (sum <= limit || count == 0)
            return count;
        if (width[widest] > CELL_WIDTH_MIN)
            width[widest]--;
        else if (count > 1)
            count--;
        else
            return count;
    }
}

static void put_line(const struct print_table *table, const struct text *cells, const bool *is_null,
                     const uint32_t *width, int64_t count, const char *style, FILE *out)
{
    for (int64_t i = 0; i < count; i++) {
        const char *cell_style = table->options.color && is_null != NULL && is_null[i] ? "\033[2m"
                                                                                       : style;

        fprintf(out, "%*s", i != 0 ? GAP : 0, "");
        put_cell(&cells[i], width[i], type_is_number(table->schema->children[i]), i + 1 < count,
                 cell_style, out);
    }
    fputc('\n', out);
}

static void put_rows(const struct print_table *table, const uint32_t *width, int64_t count,
                     FILE *out)
{
    uint64_t shown = table->head_count + tail_shown(table);

    for (uint64_t i = 0; i < shown; i++) {
        const struct row *row = row_at(table, i);

        if (i == table->head_count && table->rows > shown)
            fprintf(out, "... %llu rows\n", (unsigned long long)(table->rows - shown));
        put_line(table, row->cell, row->is_null, width, count, "", out);
    }
    if (tail_shown(table) == 0 && table->rows > shown)
        fprintf(out, "... %llu rows\n", (unsigned long long)(table->rows - shown));
}

void print_table_end(struct print_table *table, FILE *out)
{
    int64_t columns = table->schema->n_children, count;
    struct row names = row_new(columns), types = row_new(columns);
    uint32_t *width = must(calloc((size_t)columns + 1, sizeof *width));
    struct text type = { 0 };

    for (int64_t i = 0; i < columns; i++) {
        const char *name = table->schema->children[i]->name;

        json_put_string(&names.cell[i], (const uint8_t *)(name != NULL ? name : ""),
                        name != NULL ? strlen(name) : 0);
        unquote(&names.cell[i]);
        type.len = 0;
        type_put(&type, table->schema->children[i]);
        people_put_string(&types.cell[i], type.data);
        width[i] = column_width(table, i, &names.cell[i], &types.cell[i]);
    }
    count = fit(width, columns, table->options.width);
    put_line(table, names.cell, NULL, width, count, table->options.color ? "\033[1m" : "", out);
    put_line(table, types.cell, NULL, width, count, table->options.color ? "\033[2m" : "", out);
    put_rows(table, width, count, out);
    if (count < columns)
        fprintf(out, "%lld more column%s:", (long long)(columns - count),
                columns - count == 1 ? "" : "s");
    for (int64_t i = count; i < columns; i++)
        fprintf(out, " %s%s", names.cell[i].data, i + 1 < columns ? "," : "\n");
    fprintf(out, "%llu row%s\n", (unsigned long long)table->rows, table->rows == 1 ? "" : "s");
    text_free(&type);
    for (int64_t i = 0; i < columns; i++) {
        text_free(&names.cell[i]);
        text_free(&types.cell[i]);
    }
    free(names.cell);
    free(names.is_null);
    free(types.cell);
    free(types.is_null);
    free(width);
}

void print_json(const struct ArrowSchema *schema, const struct ArrowArray *batch, FILE *out)
{
    struct text line = { 0 };

    for (int64_t row = 0; row < batch->length; row++) {
        line.len = 0;
        value_put(&line, schema, batch, row, VALUE_JSON);
        text_put(&line, "\n", 1);
        fwrite(line.data, 1, line.len, out);
    }
    text_free(&line);
}
