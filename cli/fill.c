/* SPDX-License-Identifier: Apache-2.0 */
#include "fill.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "progress.h"
#include "record.h"

bool fill_is_c(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--c") == 0 || strncmp(argv[i], "--c=", 4) == 0)
            return true;
    }
    return false;
}

/* The type of the column at a path ("info.url"). */
static struct ArrowSchema *find_type(const struct ArrowSchema *schema, const char *path)
{
    size_t len = strcspn(path, ".");

    for (int64_t i = 0; i < schema->n_children; i++) {
        struct ArrowSchema *child = schema->children[i];

        if (strcmp(child->name, path) == 0)
            return child;
        if (strlen(child->name) == len && strncmp(child->name, path, len) == 0 && path[len] == '.')
            return find_type(child, path + len + 1);
    }
    return NULL;
}

/* The inputs that the column was added with. */
static void take_known_inputs(struct fill *fill)
{
    struct piece inputs = piece_member(piece_of(fill->known), "inputs"), input;
    size_t used = 0;

    while (piece_next(&inputs, &input) && fill->function.input_count < FILL_INPUTS_MAX) {
        char *name = fill->names + used;

        if (sizeof fill->names - used < input.len + 1)
            return;
        piece_text(input, name, sizeof fill->names - used);
        fill->input[fill->function.input_count++] = name;
        used += strlen(name) + 1;
    }
}

/* What type the function gives for its inputs. */
static enum lmn_status bind(struct fill *fill, struct lmn_table *table,
                            struct ArrowSchema *output_out, struct lmn_error *err)
{
    struct ArrowSchema *child[FILL_INPUTS_MAX], schema, inputs = { .format = "+s", .name = "" };
    enum lmn_status st = lmn_table_schema(table, &schema, err);

    *output_out = (struct ArrowSchema){ 0 };
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; st == LMN_OK && i < fill->function.input_count; i++) {
        child[i] = find_type(&schema, fill->input[i]);
        if (child[i] == NULL)
            st = lmn_fail(err, LMN_E_NOT_FOUND, "there is no column \"%.100s\" to give to %.100s",
                          fill->input[i], fill->function.name);
    }
    inputs.children = child;
    inputs.n_children = fill->function.input_count;
    if (st == LMN_OK)
        st = lmn_c_function_bind(fill->code, &inputs, output_out, err);
    schema.release(&schema);
    return st;
}

bool fill_describe(const struct fill *fill, const char *before, char *text, size_t text_bytes)
{
    int len = snprintf(text, text_bytes,
                       "{\"name\":\"%s\",\"version\":\"%s\",\"hash\":\"%s\",\"language\":\"c\","
                       "\"inputs\":[",
                       fill->function.name, fill->function.version, fill->function.version);

    for (uint32_t i = 0; i < fill->function.input_count && len < (int)text_bytes; i++)
        len += snprintf(text + len, text_bytes - (size_t)len, "%s\"%s\"", i > 0 ? "," : "",
                        fill->input[i]);
    if (len < (int)text_bytes)
        len += snprintf(text + len, text_bytes - (size_t)len, "],\"outputs\":[\"%s\"]",
                        fill->output[0]);
    if (len < (int)text_bytes && before[0] != '\0')
        len += snprintf(text + len, text_bytes - (size_t)len, ",\"before\":{\"version\":\"%s\"}",
                        before);
    if (len < (int)text_bytes)
        len += snprintf(text + len, text_bytes - (size_t)len, "}");
    return len < (int)text_bytes;
}

static enum lmn_status add_column(struct fill *fill, struct lmn_table *table, struct lmn_error *err)
{
    struct ArrowSchema output, column, *child = &column;
    struct ArrowSchema schema = { .format = "+s", .name = "", .n_children = 1, .children = &child };
    char text[1024];
    enum lmn_status st = bind(fill, table, &output, err);

    if (st != LMN_OK)
        return st;
    column = output;
    column.name = fill->output[0];
    column.flags |= ARROW_FLAG_NULLABLE;
    if (!fill_describe(fill, "", text, sizeof text))
        st = lmn_fail(err, LMN_E_INVALID, "the names of %u inputs are too long",
                      fill->function.input_count);
    else
        st = lmn_table_add_function_columns(table, &schema, text, err);
    output.release(&output);
    return st;
}

static enum lmn_status load(struct fill *fill, const char *function, struct lmn_error *err)
{
    const char *colon = strrchr(function, ':');
    char path[4096];
    enum lmn_status st;

    if (colon == NULL || colon == function || (size_t)(colon - function) >= sizeof path)
        return lmn_fail(err, LMN_E_INVALID, "--c is LIB.so:NAME, not \"%.200s\"", function);
    snprintf(path, sizeof path, "%.*s", (int)(colon - function), function);
    st = lmn_c_function_open(path, colon + 1, &fill->code, err);
    if (st != LMN_OK)
        return st;
    fill->function.name = colon + 1;
    fill->function.version = lmn_c_function_version(fill->code);
    fill->function.code = lmn_c_function_code(fill->code);
    fill->function.code_len = strlen(lmn_c_function_code(fill->code));
    return LMN_OK;
}

enum lmn_status fill_open(struct fill *fill, struct lmn_table *table, const char *column,
                          const char *function, const char *const *input, uint32_t input_count,
                          struct lmn_error *err)
{
    enum lmn_status st = load(fill, function, err);
    bool added = false;

    if (st != LMN_OK)
        return st;
    fill->output[0] = column;
    fill->function.output = fill->output;
    fill->function.output_count = 1;
    fill->function.input = fill->input;
    for (uint32_t i = 0; i < input_count && i < FILL_INPUTS_MAX; i++)
        fill->input[fill->function.input_count++] = input[i];
    st = lmn_table_function(table, column, &fill->known, err);
    if (st == LMN_E_NOT_FOUND) {
        added = true;
        st = input_count > 0
                 ? LMN_OK
                 : lmn_fail(err, LMN_E_INVALID,
                            "there is no column \"%.100s\": to add it, name the columns "
                            "that %.100s is given with --inputs",
                            column, fill->function.name);
    } else if (st == LMN_OK && fill->known == NULL) {
        st = lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" is there, and no function fills it",
                      column);
    } else if (st == LMN_OK) {
        if (input_count == 0)
            take_known_inputs(fill);
        st = fill_change(fill, table, err);
    }
    return st == LMN_OK && added ? add_column(fill, table, err) : st;
}

void fill_close(struct fill *fill)
{
    lmn_text_free(fill->known);
    lmn_c_function_close(fill->code);
}
