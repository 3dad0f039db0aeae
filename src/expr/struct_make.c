/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that are made of values: named_struct('a', x, 'b', y), and struct(x, y) without names. */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "base/error.h"
#include "expr/function.h"
#include "expr/list_maker.h"
#include "expr/list_value.h"
#include "expr/result.h"
#include "expr/struct_make.h"

static enum lmn_status make_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    struct lmn__frame inner = *frame;
    struct lmn__builder builder = { 0 };
    enum lmn_status st = lmn__builder_init(&builder, frame->env, term->data, frame->err);

    inner.count = rows;
    if (st == LMN_OK)
        st = lmn__builder_add_valid(&builder, rows, frame->err);
    for (uint32_t i = 0; st == LMN_OK && i < term->child_count; i++)
        st = lmn__result_append(&inner, &term->child[i]->type, &arg[i], &builder.child[i]);
    if (st == LMN_OK)
        st = lmn__list_finish(frame, &builder, rows, out);
    lmn__builder_deinit(&builder);
    return st;
}

/* Field number `index` of `schema` becomes one of `type`. */
static enum lmn_status set_field(struct lmn__binder *binder, struct ArrowSchema *schema,
                                 uint32_t index, const struct lmn__type *type, const char *name)
{
    struct ArrowSchema *child = schema->children[index];
    enum lmn_status st;

    if (child->release != NULL)
        child->release(child);
    st = lmn__type_to_schema(type, child, binder->err);
    if (st == LMN_OK && ArrowSchemaSetName(child, name) != NANOARROW_OK)
        return lmn__no_memory(binder->err, "a type", sizeof *child);
    return st;
}

static enum lmn_status bind_fields(struct lmn__binder *binder, uint32_t place,
                                   struct lmn__term **value, const char **name, uint32_t count,
                                   struct lmn__term **term_out)
{
    struct lmn__made_schema *made = lmn__arena_alloc(binder->arena, sizeof *made);
    const struct lmn__layout *layout;
    struct lmn__type type;
    enum lmn_status st = LMN_OK;

    if (made == NULL)
        return lmn__bind_no_memory(binder);
    ArrowSchemaInit(&made->schema);
    made->next = binder->expr->made;
    binder->expr->made = made;
    if (ArrowSchemaSetTypeStruct(&made->schema, count) != NANOARROW_OK)
        return lmn__no_memory(binder->err, "a type", sizeof made->schema);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        st = lmn__list_settle(binder, &value[i]);
        if (st == LMN_OK && !lmn__type_is_plain(&value[i]->type))
            return lmn__bind_fail(binder, value[i]->place, LMN_E_UNSUPPORTED,
                                  "making structs with dictionaries or views inside");
        if (st == LMN_OK)
            st = set_field(binder, &made->schema, i, &value[i]->type, name[i]);
    }
    if (st == LMN_OK)
        st = lmn__type_from_schema(&made->schema, &type, binder->err);
    if (st == LMN_OK)
        st = lmn__layout_from_schema(&made->schema, binder->arena, &layout, binder->err);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, make_kernel, &type, value, count, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->data = (void *)(uintptr_t)layout;
    (*term_out)->own_nulls = true;
    return LMN_OK;
}

bool lmn__struct_is_made(const struct lmn__term *term)
{
    return term->op == LMN__OP_CALL && term->kernel == make_kernel;
}

/* The value of field `name` of a struct that is made, as one of `type`; null where it has none. */
static enum lmn_status convert_field(struct lmn__binder *binder, const struct lmn__term *made,
                                     const char *name, const struct lmn__type *type,
                                     enum lmn__conversion how, struct lmn__term **value_out)
{
    bool done = false;
    uint32_t i = 0;
    enum lmn_status st = LMN_OK;

    while (i < made->child_count && strcmp(made->type.schema->children[i]->name, name) != 0)
        i++;
    if (i == made->child_count)
        return lmn__bind_constant(binder, made->place, type, NULL, value_out);
    *value_out = made->child[i];
    if ((*value_out)->op == LMN__OP_CONSTANT && lmn__type_is_number(&(*value_out)->type))
        st = lmn__bind_adapt(binder, value_out, type, &done);
    return st == LMN_OK && !done ? lmn__bind_convert(binder, value_out, type, how) : st;
}

/* Every field of a struct that is made has a place in `schema`. */
static enum lmn_status check_fields(struct lmn__binder *binder, const struct lmn__term *made,
                                    const struct ArrowSchema *schema)
{
    for (uint32_t i = 0; i < made->child_count; i++) {
        const char *name = made->type.schema->children[i]->name;
        int64_t k = 0;

        while (k < schema->n_children && strcmp(schema->children[k]->name, name) != 0)
            k++;
        if (k == schema->n_children)
            return lmn__bind_fail(binder, made->place, LMN_E_INVALID,
                                  "the struct has no field \"%.64s\"", name);
    }
    return LMN_OK;
}

enum lmn_status lmn__struct_convert(struct lmn__binder *binder, struct lmn__term **term,
                                    const struct lmn__type *type, enum lmn__conversion how)
{
    const struct ArrowSchema *schema = type->schema;
    uint32_t count = (uint32_t)schema->n_children;
    struct lmn__term **value = lmn__arena_array(binder->arena, count, sizeof *value);
    const struct lmn__layout *layout;
    enum lmn_status st = check_fields(binder, *term, schema);

    if (st != LMN_OK || value == NULL)
        return st != LMN_OK ? st : lmn__bind_no_memory(binder);
    if (!lmn__type_is_plain(type))
        return lmn__bind_fail(binder, (*term)->place, LMN_E_UNSUPPORTED,
                              "making structs with dictionaries or views inside");
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        struct lmn__type field;

        st = lmn__type_from_schema(schema->children[i], &field, binder->err);
        if (st == LMN_OK)
            st = convert_field(binder, *term, schema->children[i]->name, &field, how, &value[i]);
    }
    if (st == LMN_OK)
        st = lmn__layout_from_schema(schema, binder->arena, &layout, binder->err);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, (*term)->place, make_kernel, type, value, count, term);
    if (st != LMN_OK)
        return st;
    (*term)->data = (void *)(uintptr_t)layout;
    (*term)->own_nulls = true;
    return LMN_OK;
}

/* The name that a constant string is; "c0", "c1", ... without one. */
static enum lmn_status name_of(struct lmn__binder *binder, const struct lmn__term *term,
                               uint32_t index, const char **name_out)
{
    const struct lmn__span *text = term != NULL ? term->constant.values : NULL;
    char counted[16];

    if (term != NULL && (term->op != LMN__OP_CONSTANT || term->type.kind != LMN__KIND_STRING ||
                         lmn__term_is_null(term)))
        return lmn__bind_fail(binder, term->place, LMN_E_INVALID,
                              "named_struct() takes names, each a constant string, and values in "
                              "turn");
    snprintf(counted, sizeof counted, "c%u", index);
    *name_out = term != NULL
                    ? lmn__arena_strndup(binder->arena, (const char *)text->data, text->len)
                    : lmn__arena_strndup(binder->arena, counted, strlen(counted));
    return *name_out != NULL ? LMN_OK : lmn__bind_no_memory(binder);
}

/* `choice` 1: names stand before the values. */
static enum lmn_status bind_struct(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    uint32_t step = choice != 0 ? 2 : 1, fields = count / step;
    struct lmn__term **value = lmn__arena_array(binder->arena, fields, sizeof *value);
    const char **name = lmn__arena_array(binder->arena, fields, sizeof *name);
    enum lmn_status st = LMN_OK;

    if (value == NULL || name == NULL)
        return lmn__bind_no_memory(binder);
    if (count % step != 0)
        return lmn__bind_fail(binder, place, LMN_E_INVALID,
                              "named_struct() takes names and values in turn, not %u arguments",
                              count);
    for (uint32_t i = 0; st == LMN_OK && i < fields; i++) {
        value[i] = arg[i * step + step - 1];
        st = name_of(binder, choice != 0 ? arg[i * step] : NULL, i, &name[i]);
        for (uint32_t k = 0; st == LMN_OK && k < i; k++) {
            if (strcmp(name[k], name[i]) == 0)
                return lmn__bind_fail(binder, arg[i * step]->place, LMN_E_INVALID,
                                      "a struct has no two fields \"%.64s\"", name[i]);
        }
    }
    return st == LMN_OK ? bind_fields(binder, place, value, name, fields, term_out) : st;
}

const struct lmn__function lmn__struct_functions[] = {
    LMN__BOUND_FUNCTION("named_struct", 2, LMN__ARGUMENTS_MAX, bind_struct, 1),
    LMN__BOUND_FUNCTION("struct", 1, LMN__ARGUMENTS_MAX, bind_struct, 0),
    LMN__BOUND_FUNCTION("row", 1, LMN__ARGUMENTS_MAX, bind_struct, 0),
    { 0 },
};
