/* SPDX-License-Identifier: Apache-2.0 */
/*
 * While a row is filled, a field of a struct that has as many slots as the struct was there
 * already, and one that has fewer is missing and becomes null at the end.
 */
#include "ingest/json_value.h"

/* A value that is being read. */
struct reading {
    struct lmn__json *json;
    struct lmn__arena *arena; /* of shapes */
    enum lmn__json_extra extra;
};

enum lmn_status lmn__json_bad(const struct lmn__json *json, struct lmn_error *err)
{
    if (json->string.failed)
        return lmn__buf_status(&json->string, "a JSON string", err);
    return lmn_fail(err, LMN_E_INVALID, "column %zu: %s", json->at + 1, json->problem);
}

static enum lmn_status shape_value(struct reading *r, struct lmn__shape *shape,
                                   struct lmn_error *err);

static enum lmn_status no_memory(struct reading *r, struct lmn_error *err)
{
    return lmn__arena_fail(r->arena, "a schema", err);
}

static enum lmn_status shape_items(struct reading *r, enum lmn__json_kind kind,
                                   struct lmn__shape *shape, struct lmn_error *err)
{
    struct lmn__json *json = r->json;
    struct lmn__span name = { (const uint8_t *)"item", 4 };
    bool more, first = true;
    enum lmn_status st;

    if (!lmn__json_enter(json))
        return lmn__json_bad(r->json, err);
    while (lmn__json_item(json, kind, first, &more)) {
        struct lmn__shape *child;

        if (!more)
            return LMN_OK;
        first = false;
        if (kind == LMN__JSON_OBJECT && !lmn__json_name(json, &name))
            break;
        child = kind == LMN__JSON_ARRAY ? shape->child : lmn__shape_find(shape, name);
        if (child == NULL)
            child = lmn__shape_add(shape, r->arena, name);
        if (child == NULL)
            return no_memory(r, err);
        st = shape_value(r, child, err);
        if (st != LMN_OK)
            return st;
    }
    return lmn__json_bad(r->json, err);
}

static enum lmn_status shape_value(struct reading *r, struct lmn__shape *shape,
                                   struct lmn_error *err)
{
    static const enum lmn__shape_kind kinds[] = { LMN__SHAPE_NULL,  LMN__SHAPE_BOOL,
                                                  LMN__SHAPE_FLOAT, LMN__SHAPE_TEXT,
                                                  LMN__SHAPE_LIST,  LMN__SHAPE_STRUCT };
    enum lmn__json_kind kind;
    struct lmn__span text;

    if (!lmn__json_kind(r->json, &kind))
        return lmn__json_bad(r->json, err);
    if (kind < LMN__JSON_ARRAY && !lmn__json_scalar(r->json, &text))
        return lmn__json_bad(r->json, err);
    if (!(kind == LMN__JSON_NUMBER ? lmn__shape_join_number(shape, text)
                                   : lmn__shape_join(shape, kinds[kind])))
        return lmn_fail(err, LMN_E_INVALID,
                        "field \"%.100s\" holds lists or objects in some rows and other values in "
                        "others: give a schema",
                        shape->name != NULL ? shape->name : "");
    return kind < LMN__JSON_ARRAY ? LMN_OK : shape_items(r, kind, shape, err);
}

enum lmn_status lmn__json_shape(struct lmn__json *json, struct lmn__arena *arena,
                                struct lmn__shape *shape, struct lmn_error *err)
{
    struct reading reading = { .json = json, .arena = arena };

    return shape_value(&reading, shape, err);
}

enum lmn_status lmn__json_check_object(struct lmn__json *json, struct lmn_error *err)
{
    enum lmn__json_kind kind;

    if (!lmn__json_kind(json, &kind))
        return lmn__json_bad(json, err);
    if (kind != LMN__JSON_OBJECT)
        return lmn_fail(err, LMN_E_INVALID, "the text is not a JSON object");
    return LMN_OK;
}

/* May a value of this kind be put into the column as the text it is? */
static bool kind_fits(const struct lmn__column *column, enum lmn__json_kind kind)
{
    switch (column->kind) {
    case LMN__COLUMN_TEXT:
        return true;
    case LMN__COLUMN_BOOL:
        return kind == LMN__JSON_BOOL;
    case LMN__COLUMN_INT:
    case LMN__COLUMN_UINT:
    case LMN__COLUMN_FLOAT:
        return kind == LMN__JSON_NUMBER;
    case LMN__COLUMN_DECIMAL:
        return kind == LMN__JSON_NUMBER || kind == LMN__JSON_STRING;
    case LMN__COLUMN_DATE:
    case LMN__COLUMN_TIME:
    case LMN__COLUMN_TIMESTAMP:
    case LMN__COLUMN_BINARY:
        return kind == LMN__JSON_STRING;
    default:
        return false;
    }
}

const char *lmn__json_kind_name(enum lmn__json_kind kind)
{
    static const char *const names[] = { "null",     "a boolean", "a number",
                                         "a string", "a list",    "an object" };

    return names[kind];
}

static enum lmn_status wrong_kind(const struct lmn__column *column, enum lmn__json_kind kind,
                                  struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_INVALID, "field \"%.100s\" of type %s has no place for %s%s",
                    column->name, column->type, lmn__json_kind_name(kind),
                    lmn__column_advice(column));
}

static enum lmn_status fill_value(struct reading *r, struct lmn__column *column,
                                  struct lmn_error *err);

static enum lmn_status fill_list(struct reading *r, struct lmn__column *column,
                                 struct lmn_error *err)
{
    uint64_t items = 0;
    bool more;
    enum lmn_status st = lmn__column_open(column, err);

    if (st != LMN_OK)
        return st;
    if (!lmn__json_enter(r->json))
        return lmn__json_bad(r->json, err);
    while (lmn__json_item(r->json, LMN__JSON_ARRAY, items == 0, &more)) {
        if (!more)
            return lmn__column_close(column, items, err);
        items++;
        st = fill_value(r, &column->child[0], err);
        if (st != LMN_OK)
            return st;
    }
    return lmn__json_bad(r->json, err);
}

/* An object's names are the keys of a map. */
static enum lmn_status fill_entry(struct reading *r, struct lmn__column *entry,
                                  struct lmn_error *err)
{
    struct lmn__span name;
    enum lmn_status st = lmn__column_open(entry, err);

    if (st != LMN_OK)
        return st;
    if (!lmn__json_name(r->json, &name))
        return lmn__json_bad(r->json, err);
    st = lmn__column_put_text(&entry->child[0], name, err);
    return st == LMN_OK ? fill_value(r, &entry->child[1], err) : st;
}

static enum lmn_status fill_map(struct reading *r, struct lmn__column *column,
                                struct lmn_error *err)
{
    struct lmn__column *entry = &column->child[0];
    uint64_t from = entry->builder->length;
    bool more, first = true;
    enum lmn_status st = lmn__column_open(column, err);

    if (st != LMN_OK)
        return st;
    if (!lmn__json_enter(r->json))
        return lmn__json_bad(r->json, err);
    while (lmn__json_item(r->json, LMN__JSON_OBJECT, first, &more)) {
        if (!more)
            return lmn__column_check_keys(column, from, err);
        first = false;
        st = fill_entry(r, entry, err);
        if (st != LMN_OK)
            return st;
    }
    return lmn__json_bad(r->json, err);
}

/* The field of that name; most objects have their fields in the order of the first. */
static struct lmn__column *find_field(struct lmn__column *column, struct lmn__span name,
                                      uint32_t *expected)
{
    for (uint32_t i = 0; i < column->child_count; i++) {
        uint32_t at = (*expected + i) % column->child_count;
        const char *field = column->child[at].name;

        if (strlen(field) == name.len && memcmp(field, name.data, name.len) == 0) {
            *expected = at + 1;
            return &column->child[at];
        }
    }
    return NULL;
}

/* A field of an object that its struct, or the row, does not have. */
static enum lmn_status unknown_field(const struct lmn__column *column, struct lmn__span name,
                                     struct lmn_error *err)
{
    int len = (int)(name.len < 100 ? name.len : 100);

    if (column->name[0] != '\0' && !column->guessed)
        return lmn_fail(err, LMN_E_INVALID, "field \"%.100s\" of type %s has no field \"%.*s\"",
                        column->name, column->type, len, (const char *)name.data);
    return lmn_fail(err, LMN_E_INVALID, "field \"%.*s\" is in none of the first rows%s", len,
                    (const char *)name.data, lmn__column_advice(column));
}

static enum lmn_status fill_field(struct reading *r, struct lmn__column *column, uint32_t *expected,
                                  struct lmn_error *err)
{
    struct lmn__span name;
    struct lmn__column *field;

    if (!lmn__json_name(r->json, &name))
        return lmn__json_bad(r->json, err);
    field = find_field(column, name, expected);
    if (field == NULL && r->extra != LMN__JSON_EXTRA_PASSED &&
        (r->extra == LMN__JSON_EXTRA_BAD || column->guessed))
        return unknown_field(column, name, err);
    if (field == NULL)
        return lmn__json_skip(r->json) ? LMN_OK : lmn__json_bad(r->json, err);
    if (field->builder->length == column->builder->length)
        return lmn_fail(err, LMN_E_INVALID, "field \"%.100s\" is there twice", field->name);
    return fill_value(r, field, err);
}

/* Fill the fields of a struct that has its slot for the row already. */
static enum lmn_status fill_object(struct reading *r, struct lmn__column *column,
                                   struct lmn_error *err)
{
    uint32_t expected = 0;
    bool more, first = true;
    enum lmn_status st = LMN_OK;

    if (!lmn__json_enter(r->json))
        return lmn__json_bad(r->json, err);
    do {
        if (!lmn__json_item(r->json, LMN__JSON_OBJECT, first, &more))
            return lmn__json_bad(r->json, err);
        first = false;
        if (more)
            st = fill_field(r, column, &expected, err);
    } while (more && st == LMN_OK);
    for (uint32_t i = 0; st == LMN_OK && i < column->child_count; i++) {
        if (column->child[i].builder->length < column->builder->length)
            st = lmn__column_put_null(&column->child[i], err);
    }
    return st;
}

static enum lmn_status fill_struct(struct reading *r, struct lmn__column *column,
                                   struct lmn_error *err)
{
    enum lmn_status st = lmn__column_open(column, err);

    return st != LMN_OK ? st : fill_object(r, column, err);
}

static enum lmn_status fill_value(struct reading *r, struct lmn__column *column,
                                  struct lmn_error *err)
{
    enum lmn__json_kind kind;
    struct lmn__span text;

    if (!lmn__json_kind(r->json, &kind))
        return lmn__json_bad(r->json, err);
    if (kind == LMN__JSON_ARRAY &&
        (column->kind == LMN__COLUMN_LIST || column->kind == LMN__COLUMN_FIXED_LIST))
        return fill_list(r, column, err);
    if (kind == LMN__JSON_OBJECT && column->kind == LMN__COLUMN_STRUCT)
        return fill_struct(r, column, err);
    if (kind == LMN__JSON_OBJECT && column->is_map)
        return fill_map(r, column, err);
    if (kind >= LMN__JSON_ARRAY)
        return wrong_kind(column, kind, err);
    if (!lmn__json_scalar(r->json, &text))
        return lmn__json_bad(r->json, err);
    if (kind == LMN__JSON_NULL)
        return lmn__column_put_null(column, err);
    if (!kind_fits(column, kind))
        return wrong_kind(column, kind, err);
    return lmn__column_put_text(column, text, err);
}

enum lmn_status lmn__json_fill(struct lmn__json *json, struct lmn__column *column,
                               enum lmn__json_extra extra, struct lmn_error *err)
{
    struct reading reading = { .json = json, .extra = extra };

    return fill_value(&reading, column, err);
}

enum lmn_status lmn__json_fill_fields(struct lmn__json *json, struct lmn__column *columns,
                                      enum lmn__json_extra extra, struct lmn_error *err)
{
    struct reading reading = { .json = json, .extra = extra };

    return fill_object(&reading, columns, err);
}
