/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A selected schema or batch is a struct of its own whose children are those of the inner one; it
 * owns the inner one and releases it whole.
 */
#include "select.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct selection {
    struct ArrowArrayStream inner;
    uint32_t *index; /* of the columns; NULL takes all */
    uint32_t count;
    uint64_t rows_left;
};

struct selected_schema {
    struct ArrowSchema inner;
    struct ArrowSchema *child[];
};

struct selected_array {
    struct ArrowArray inner;
    struct ArrowArray *child[];
};

static void schema_release(struct ArrowSchema *schema)
{
    struct selected_schema *selected = schema->private_data;

    selected->inner.release(&selected->inner);
    free(selected);
    schema->release = NULL;
}

static void array_release(struct ArrowArray *array)
{
    struct selected_array *selected = array->private_data;

    selected->inner.release(&selected->inner);
    free(selected);
    array->release = NULL;
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema_out)
{
    struct selection *selection = stream->private_data;
    struct selected_schema *selected;
    struct ArrowSchema inner;
    int rc = selection->inner.get_schema(&selection->inner, &inner);

    if (rc != 0 || selection->index == NULL) {
        *schema_out = inner;
        return rc;
    }
    selected = malloc(sizeof *selected + selection->count * sizeof selected->child[0]);
    if (selected == NULL) {
        inner.release(&inner);
        return ENOMEM;
    }
    selected->inner = inner;
    for (uint32_t i = 0; i < selection->count; i++)
        selected->child[i] = inner.children[selection->index[i]];
    *schema_out = inner;
    schema_out->children = selected->child;
    schema_out->n_children = selection->count;
    schema_out->release = schema_release;
    schema_out->private_data = selected;
    return 0;
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out)
{
    struct selection *selection = stream->private_data;
    struct selected_array *selected;
    struct ArrowArray inner;
    int rc;

    *array_out = (struct ArrowArray){ 0 };
    if (selection->rows_left == 0)
        return 0;
    rc = selection->inner.get_next(&selection->inner, &inner);
    if (rc != 0 || inner.release == NULL)
        return rc;
    selected = malloc(sizeof *selected + selection->count * sizeof selected->child[0]);
    if (selected == NULL) {
        inner.release(&inner);
        return ENOMEM;
    }
    selected->inner = inner;
    *array_out = inner;
    for (uint32_t i = 0; selection->index != NULL && i < selection->count; i++)
        selected->child[i] = inner.children[selection->index[i]];
    if (selection->index != NULL) {
        array_out->children = selected->child;
        array_out->n_children = selection->count;
    }
    if ((uint64_t)inner.length > selection->rows_left)
        array_out->length = (int64_t)selection->rows_left;
    selection->rows_left -= (uint64_t)array_out->length;
    array_out->release = array_release;
    array_out->private_data = selected;
    return 0;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    struct selection *selection = stream->private_data;

    return selection->inner.get_last_error(&selection->inner);
}

static void stream_release(struct ArrowArrayStream *stream)
{
    struct selection *selection = stream->private_data;

    selection->inner.release(&selection->inner);
    free(selection->index);
    free(selection);
    stream->release = NULL;
}

static enum lmn_status find_columns(struct selection *selection, const struct ArrowSchema *schema,
                                    const struct select_options *options, struct lmn_error *err)
{
    selection->index = calloc((size_t)options->column_count + 1, sizeof *selection->index);
    if (selection->index == NULL)
        return lmn_fail(err, LMN_E_NO_MEMORY, "out of memory");
    for (uint32_t i = 0; i < options->column_count; i++) {
        int64_t at = 0;

        while (at < schema->n_children &&
               strcmp(schema->children[at]->name, options->column[i]) != 0)
            at++;
        if (at == schema->n_children)
            return lmn_fail(err, LMN_E_NOT_FOUND, "there is no column \"%.100s\"",
                            options->column[i]);
        selection->index[selection->count++] = (uint32_t)at;
        for (uint32_t k = 0; k < i; k++) {
            if (selection->index[k] == (uint32_t)at)
                return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" is asked for twice",
                                options->column[i]);
        }
    }
    return LMN_OK;
}

enum lmn_status select_stream(struct ArrowArrayStream *stream, const struct select_options *options,
                              struct lmn_error *err)
{
    struct selection *selection = calloc(1, sizeof *selection);
    struct ArrowSchema schema;
    enum lmn_status st = LMN_OK;

    if (selection == NULL)
        return lmn_fail(err, LMN_E_NO_MEMORY, "out of memory");
    selection->rows_left = options->limited ? options->row_limit : UINT64_MAX;
    if (options->column_count != 0 && stream->get_schema(stream, &schema) != 0) {
        st = lmn_fail(err, LMN_E_IO, "%s", stream->get_last_error(stream));
    } else if (options->column_count != 0) {
        st = find_columns(selection, &schema, options, err);
        schema.release(&schema);
    }
    if (st != LMN_OK) {
        free(selection->index);
        free(selection);
        return st;
    }
    selection->inner = *stream;
    *stream = (struct ArrowArrayStream){ get_schema, get_next, get_last_error, stream_release,
                                         selection };
    return LMN_OK;
}
