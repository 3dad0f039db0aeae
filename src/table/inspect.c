/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages belong to columns of files, those to fields of the table by the list of field ids that the
 * manifest has for each file, and fields to the column on top level that they are below. Columns of
 * a file whose field is gone are counted for nothing.
 */
#include <leman/inspect.h>
#include <leman/table_inspect.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/math.h"
#include "format/projection.h"
#include "table/file_set.h"
#include "table/table.h"
#include "table/value_size.h"

/* The column on top level that a field belongs to. */
struct owner {
    int32_t field;
    struct lmn_table_column_report *column;
};

struct inspection {
    const struct lmn_inspect_options *options;
    struct lmn_table *table; /* stands at the manifest */
    struct lmn__manifest *manifest;
    struct lmn__projection all; /* of the manifest's columns */
    struct lmn__arena *arena;
    struct owner *owner; /* by field */
    size_t owner_count;
    struct lmn_table_column_report *column;
    struct lmn_fragment_report *fragment;
};

static int compare_owners(const void *a, const void *b)
{
    const struct owner *x = a, *y = b;

    return (x->field > y->field) - (x->field < y->field);
}

static int compare_columns(const void *a, const void *b)
{
    const struct lmn_table_column_report *x = a, *y = b;

    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static int compare_fragment_columns(const void *a, const void *b)
{
    const struct lmn_fragment_column_report *x = a, *y = b;

    return (x->bytes < y->bytes) - (x->bytes > y->bytes);
}

static enum lmn_status list_columns(struct inspection *inspection, struct lmn_error *err)
{
    const struct lmn__schema *schema = &inspection->manifest->schema;
    struct lmn__arena *arena = inspection->arena;
    struct lmn_table_column_report *column = lmn__arena_array(arena, schema->top_count,
                                                              sizeof *column);

    inspection->column = column;
    inspection->owner_count = schema->node_count;
    inspection->owner = lmn__arena_array(arena, schema->node_count, sizeof *inspection->owner);
    if (column == NULL || inspection->owner == NULL)
        return lmn__arena_fail(arena, "a report", err);
    /* Nodes are in pre-order: a column's own come behind it. */
    column--;
    for (uint32_t i = 0; i < schema->node_count; i++) {
        const struct lmn__node *node = &schema->node[i];

        if (node->parent == NULL) {
            (++column)->name = lmn__arena_strndup(arena, node->name, strlen(node->name));
            if (column->name == NULL)
                return lmn__arena_fail(arena, "a report", err);
        }
        inspection->owner[i] = (struct owner){ node->field->id, column };
    }
    if (schema->node_count != 0)
        qsort(inspection->owner, schema->node_count, sizeof *inspection->owner, compare_owners);
    return LMN_OK;
}

static void add_column(const struct lmn_column_report *from, struct lmn_table_column_report *to)
{
    to->bytes += from->bytes;
    to->plain_bytes += from->plain_bytes;
    to->page_count += from->page_count;
    for (uint32_t i = 0; i < from->page_count; i++)
        to->page_rows_max = lmn__max_u64(to->page_rows_max, from->page[i].row_count);
}

static enum lmn_status add_file(struct inspection *inspection,
                                const struct lmn__pb_data_file *data_file,
                                struct lmn_fragment_report *fragment,
                                struct lmn_fragment_column_report *column, struct lmn_error *err)
{
    const struct lmn_file_report *report = NULL;
    struct lmn_file *file;
    enum lmn_status st = lmn__file_set_open(inspection->table->files, inspection->manifest,
                                            data_file, &file, err);

    if (st != LMN_OK)
        return st;
    fragment->bytes += lmn_file_bytes(file);
    st = lmn_file_inspect(file, &report, err);
    lmn_file_release(file);
    if (st != LMN_OK)
        return st;
    for (size_t i = 0; i < data_file->fields.count && i < data_file->columns.count; i++) {
        struct owner key = { .field = (int32_t)data_file->fields.item[i] };
        const struct owner *owner = bsearch(&key, inspection->owner, inspection->owner_count,
                                            sizeof key, compare_owners);
        int32_t at = (int32_t)data_file->columns.item[i];

        if (owner == NULL || at < 0 || (uint32_t)at >= report->column_count)
            continue;
        add_column(&report->column[at], owner->column);
        column[owner->column - inspection->column].bytes += report->column[at].bytes;
    }
    lmn_file_report_free(report);
    return LMN_OK;
}

/* The largest values of a fragment, and what its blobs have beside the pages. */
static enum lmn_status add_values(struct inspection *inspection, struct lmn_fragment_report *report,
                                  struct lmn_fragment_column_report *column, struct lmn_error *err)
{
    const struct lmn__projection *all = &inspection->all;
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < all->root->child_count; i++) {
        const struct lmn__node *node = all->root->child[i]->node;
        const struct lmn__layout *layout = all->layout->child[i];
        struct lmn_table_column_report *whole = &inspection->column[i];
        struct lmn__value_sizes sizes = { 0 };

        if (!lmn__value_size_fixed(node, layout, &sizes.largest))
            st = lmn__value_size_scan(inspection->table, node, layout, report->id, &sizes, err);
        column[i].value_bytes_max = sizes.largest;
        column[i].bytes += sizes.blobs;
        whole->value_bytes_max = lmn__max_u64(whole->value_bytes_max, sizes.largest);
        whole->bytes += sizes.blobs;
        whole->plain_bytes += sizes.blobs;
        report->bytes += sizes.side_files;
    }
    return st;
}

/* The columns of a fragment, in the order of the schema, in `arena`. */
static enum lmn_status list_fragment_columns(struct inspection *inspection,
                                             struct lmn__arena *arena,
                                             struct lmn_fragment_column_report **column_out,
                                             struct lmn_error *err)
{
    uint32_t count = inspection->manifest->schema.top_count;
    struct lmn_fragment_column_report *column = lmn__arena_array(arena, count, sizeof *column);

    *column_out = column;
    if (column == NULL)
        return lmn__arena_fail(arena, "a report", err);
    for (uint32_t i = 0; i < count; i++)
        column[i].name = inspection->column[i].name;
    return LMN_OK;
}

static enum lmn_status add_fragment(struct inspection *inspection, uint64_t index,
                                    struct lmn_error *err)
{
    const struct lmn_inspect_options *options = inspection->options;
    struct lmn_fragment_report *report = &inspection->fragment[index];
    struct lmn_fragment_column_report *column;
    const struct lmn__pb_data_file *file;
    struct lmn__pb_fragment fragment;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, inspection->table->env, 0);
    st = list_fragment_columns(inspection, options->fragment_columns ? inspection->arena : &arena,
                               &column, err);
    if (st == LMN_OK)
        st = lmn__manifest_fragment(inspection->manifest, index, &arena, &fragment, err);
    if (st == LMN_OK) {
        report->id = fragment.id;
        report->deleted_count = fragment.deletion != NULL ? fragment.deletion->row_count : 0;
        report->row_count = fragment.row_count - report->deleted_count;
        report->file_count = fragment.files.count;
        file = fragment.files.item;
        for (size_t i = 0; st == LMN_OK && i < fragment.files.count; i++)
            st = add_file(inspection, &file[i], report, column, err);
    }
    if (st == LMN_OK && options->largest_values)
        st = add_values(inspection, report, column, err);
    if (st == LMN_OK && options->fragment_columns) {
        report->column = column;
        qsort(column, inspection->manifest->schema.top_count, sizeof *column,
              compare_fragment_columns);
    }
    lmn__arena_deinit(&arena);
    return st;
}

static enum lmn_status inspect(struct inspection *inspection, struct lmn_error *err)
{
    uint64_t count = lmn__manifest_fragment_count(inspection->manifest);
    enum lmn_status st = lmn__projection_init(&inspection->all, inspection->table->env,
                                              &inspection->manifest->schema, NULL, 0, false, err);

    if (st != LMN_OK)
        return st;
    st = list_columns(inspection, err);
    inspection->fragment = lmn__arena_array(inspection->arena, count, sizeof *inspection->fragment);
    if (st == LMN_OK && inspection->fragment == NULL)
        st = lmn__arena_fail(inspection->arena, "a report", err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++)
        st = add_fragment(inspection, i, err);
    lmn__projection_deinit(&inspection->all);
    return st;
}

enum lmn_status lmn_table_inspect(struct lmn_table *table,
                                  const struct lmn_inspect_options *options,
                                  struct lmn_table_report *report_out, struct lmn_error *err)
{
    static const struct lmn_inspect_options defaults;
    struct inspection inspection = { .options = options != NULL ? options : &defaults,
                                     .arena = lmn__arena_new(table->env) };
    enum lmn_status st;

    *report_out = (struct lmn_table_report){ .memory = inspection.arena };
    if (inspection.arena == NULL)
        return lmn__no_memory(err, "a report", sizeof *inspection.arena);
    inspection.manifest = lmn__table_manifest(table);
    st = lmn__table_new(table->store, inspection.manifest, &inspection.table, err);
    if (st == LMN_OK)
        st = inspect(&inspection, err);
    if (st == LMN_OK)
        st = lmn_table_info(inspection.table, &report_out->info, err);
    report_out->column_count = inspection.manifest->schema.top_count;
    report_out->column = inspection.column;
    report_out->fragment = inspection.fragment;
    lmn_table_release(inspection.table);
    lmn__manifest_release(inspection.manifest);
    if (st != LMN_OK)
        lmn_table_report_free(report_out);
    else if (report_out->column_count != 0)
        qsort(inspection.column, report_out->column_count, sizeof *inspection.column,
              compare_columns);
    return st;
}

void lmn_table_report_free(struct lmn_table_report *report)
{
    lmn__arena_free(report->memory);
    *report = (struct lmn_table_report){ 0 };
}
