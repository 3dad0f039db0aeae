/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of types as Arrow for Rust writes them: List(Int64), Timestamp(µs, "UTC"),
 * Struct("x": Int64). A field that cannot be null is "non-null Int64".
 */
#include <stdarg.h>
#include <stdio.h>

#include "expr/function.h"
#include "expr/list.h"
#include "expr/list_value.h"

enum { NAME_BYTES = 4096 };

/* A name while it is written; what does not fit is cut. */
struct name {
    char text[NAME_BYTES];
    size_t used;
};

LMN_PRINTF(2, 3)
static void put(struct name *name, const char *fmt, ...)
{
    va_list args;
    int len;

    va_start(args, fmt);
    len = vsnprintf(name->text + name->used, sizeof name->text - name->used, fmt, args);
    va_end(args);
    name->used += len > 0 ? (size_t)len : 0;
    if (name->used >= sizeof name->text)
        name->used = sizeof name->text - 1;
}

static bool put_type(struct name *name, const struct lmn__type *type, struct lmn_error *err);

/* A field of a nested type. */
static bool put_field(struct name *name, const struct ArrowSchema *schema, struct lmn_error *err)
{
    struct lmn__type type;

    if ((schema->flags & ARROW_FLAG_NULLABLE) == 0)
        put(name, "non-null ");
    return lmn__type_from_schema(schema, &type, err) == LMN_OK && put_type(name, &type, err);
}

static bool put_list(struct name *name, const struct ArrowSchema *schema, struct lmn_error *err)
{
    bool fine;

    if (strncmp(schema->format, "+w:", 3) == 0)
        put(name, "FixedSizeList(%s x ", schema->format + 3);
    else
        put(name, "%s(", strcmp(schema->format, "+L") == 0 ? "LargeList" : "List");
    fine = put_field(name, schema->children[0], err);
    put(name, ")");
    return fine;
}

static bool put_struct(struct name *name, const struct ArrowSchema *schema, struct lmn_error *err)
{
    bool fine = true;

    put(name, "Struct(");
    for (int64_t i = 0; fine && i < schema->n_children; i++) {
        put(name, "%s\"%s\": ", i != 0 ? ", " : "", schema->children[i]->name);
        fine = put_field(name, schema->children[i], err);
    }
    put(name, ")");
    return fine;
}

/* Types that are no more than a word. */
static const char *word_of(const struct lmn__type *type)
{
    static const char *const words[] = {
        [LMN__KIND_NULL] = "Null",     [LMN__KIND_BOOL] = "Boolean",
        [LMN__KIND_I8] = "Int8",       [LMN__KIND_I16] = "Int16",
        [LMN__KIND_I32] = "Int32",     [LMN__KIND_I64] = "Int64",
        [LMN__KIND_U8] = "UInt8",      [LMN__KIND_U16] = "UInt16",
        [LMN__KIND_U32] = "UInt32",    [LMN__KIND_U64] = "UInt64",
        [LMN__KIND_F16] = "Float16",   [LMN__KIND_F32] = "Float32",
        [LMN__KIND_F64] = "Float64",   [LMN__KIND_STRING] = "Utf8",
        [LMN__KIND_BINARY] = "Binary", [LMN__KIND_DATE32] = "Date32",
        [LMN__KIND_DATE64] = "Date64", [LMN__KIND_INTERVAL] = "Interval(MonthDayNano)",
    };

    if (type->large)
        return type->kind == LMN__KIND_STRING ? "LargeUtf8" : "LargeBinary";
    return type->kind < sizeof words / sizeof words[0] ? words[type->kind] : NULL;
}

static bool put_type(struct name *name, const struct lmn__type *type, struct lmn_error *err)
{
    static const char *const units[] = { "s", "ms", "\xc2\xb5s", "ns" };
    const char *word = word_of(type);
    const char *unit = lmn__type_is_time(type) ? units[type->unit] : NULL;

    if (word != NULL) {
        put(name, "%s", word);
        return true;
    }
    switch (type->kind) {
    case LMN__KIND_DECIMAL:
        put(name, "Decimal%d(%d, %d)", type->width * 8, type->precision, type->scale);
        return true;
    case LMN__KIND_FIXED_BINARY:
        put(name, "FixedSizeBinary(%d)", type->width);
        return true;
    case LMN__KIND_TIME32:
    case LMN__KIND_TIME64:
        put(name, "Time%d(%s)", type->kind == LMN__KIND_TIME32 ? 32 : 64, unit);
        return true;
    case LMN__KIND_TIMESTAMP:
        put(name, "Timestamp(%s", unit);
        if (type->zone != NULL)
            put(name, ", \"%s\"", type->zone);
        put(name, ")");
        return true;
    case LMN__KIND_DURATION:
        put(name, "Duration(%s)", unit);
        return true;
    case LMN__KIND_LIST:
        return strcmp(type->schema->format, "+m") != 0 && put_list(name, type->schema, err);
    default:
        return put_struct(name, type->schema, err);
    }
}

/* arrow_typeof(x), a constant. */
static enum lmn_status bind_typeof(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    struct name *name = lmn__arena_alloc(binder->arena, sizeof *name);
    struct lmn__span text;
    enum lmn_status st = lmn__list_settle(binder, &arg[0]);

    (void)choice;
    (void)count;
    if (st != LMN_OK || name == NULL)
        return st != LMN_OK ? st : lmn__bind_no_memory(binder);
    if (!put_type(name, &arg[0]->type, binder->err))
        return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED, "the name of a type with maps");
    text = (struct lmn__span){ (const uint8_t *)name->text, name->used };
    return lmn__bind_constant(binder, place, &string, &text, term_out);
}

/* cast_to_type(x, y): x as a value of y's type; `choice` 1: null where it is none. */
static enum lmn_status bind_cast(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    enum lmn_status st = lmn__list_settle(binder, &arg[1]);

    (void)count;
    *term_out = arg[0];
    (*term_out)->place = place;
    return st == LMN_OK ? lmn__bind_convert(binder, term_out, &arg[1]->type,
                                            choice != 0 ? LMN__CONVERT_TRY : LMN__CONVERT_CAST)
                        : st;
}

/* get_field(x, 'a', 'b') is x.a.b. */
static enum lmn_status bind_field(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                  struct lmn__term **arg, uint32_t count,
                                  struct lmn__term **term_out)
{
    enum lmn_status st = LMN_OK;

    (void)choice;
    *term_out = arg[0];
    for (uint32_t i = 1; st == LMN_OK && i < count; i++) {
        const struct lmn__span *text = arg[i]->constant.values;
        const char *name;

        if (arg[i]->op != LMN__OP_CONSTANT || arg[i]->type.kind != LMN__KIND_STRING ||
            lmn__term_is_null(arg[i]))
            return lmn__bind_fail(binder, arg[i]->place, LMN_E_INVALID,
                                  "a field is named by a constant string");
        name = lmn__arena_strndup(binder->arena, (const char *)text->data, text->len);
        if (name == NULL)
            return lmn__bind_no_memory(binder);
        st = lmn__bind_struct_field(binder, place, *term_out, name, term_out);
    }
    return st;
}

const struct lmn__function lmn__type_functions[] = {
    LMN__BOUND_FUNCTION("arrow_typeof", 1, 1, bind_typeof, 0),
    LMN__BOUND_FUNCTION("cast_to_type", 2, 2, bind_cast, 0),
    LMN__BOUND_FUNCTION("try_cast_to_type", 2, 2, bind_cast, 1),
    LMN__BOUND_FUNCTION("get_field", 2, LMN__ARGUMENTS_MAX, bind_field, 0),
    { 0 },
};
