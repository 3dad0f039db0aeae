/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON lines: each line is an object. Strings cannot hold a line end, so lines are found without a
 * look at what they say; empty ones are passed over.
 *
 * While a row is filled, a field of a struct that has as many slots as the struct was there
 * already, and one that has fewer is missing and becomes null at the end.
 */
#include "base/error.h"
#include "base/utf8.h"
#include "ingest/json.h"
#include "ingest/reader.h"
#include "ingest/shape.h"

struct jsonl {
    struct lmn__text_reader reader; /* first */
    struct lmn__json json;
    uint64_t sample_lines; /* read so far by the sample */
};

static enum lmn_status bad_json(const struct jsonl *jsonl, struct lmn_error *err)
{
    if (jsonl->json.string.failed)
        return lmn__buf_status(&jsonl->json.string, "a JSON string", err);
    return lmn_fail(err, LMN_E_INVALID, "column %zu: %s", jsonl->json.at + 1, jsonl->json.problem);
}

/*
 * Start on the next line that is not empty, from byte *at of the window on, which moves behind
 * it; with NULL, from the window's start, and the window moves.
 */
static enum lmn_status next_line(struct jsonl *jsonl, size_t *at, bool *more_out,
                                 struct lmn_error *err)
{
    struct lmn__window *window = &jsonl->reader.window;

    *more_out = false;
    for (;;) {
        struct lmn__span bytes = lmn__window_bytes(window);
        size_t from = at != NULL ? *at : 0, len;
        const uint8_t *end = memchr(bytes.data + from, '\n', bytes.len - from);
        enum lmn_status st;

        if (end == NULL && !window->ended) {
            st = lmn__window_more(window, err);
            if (st != LMN_OK)
                return st;
            continue;
        }
        if (from == bytes.len)
            return LMN_OK;
        jsonl->reader.line = window->line + jsonl->sample_lines;
        len = end != NULL ? (size_t)(end - bytes.data) - from : bytes.len - from;
        if (at != NULL) {
            *at = from + len + (end != NULL);
            jsonl->sample_lines++;
        } else {
            lmn__window_advance(window, len + (end != NULL), 1);
        }
        lmn__json_start(&jsonl->json, (struct lmn__span){ bytes.data + from, len });
        if (lmn__json_end(&jsonl->json))
            continue;
        if (!lmn__utf8_valid(jsonl->json.text))
            return lmn_fail(err, LMN_E_INVALID, "the text is not UTF-8");
        lmn__json_start(&jsonl->json, jsonl->json.text);
        *more_out = true;
        return LMN_OK;
    }
}

static enum lmn_status shape_value(struct jsonl *jsonl, struct lmn__shape *shape,
                                   struct lmn_error *err);

static enum lmn_status no_memory(struct jsonl *jsonl, struct lmn_error *err)
{
    return lmn__arena_fail(&jsonl->reader.arena, "a schema", err);
}

static enum lmn_status shape_items(struct jsonl *jsonl, enum lmn__json_kind kind,
                                   struct lmn__shape *shape, struct lmn_error *err)
{
    struct lmn__json *json = &jsonl->json;
    struct lmn__span name = { (const uint8_t *)"item", 4 };
    bool more, first = true;
    enum lmn_status st;

    if (!lmn__json_enter(json))
        return bad_json(jsonl, err);
    while (lmn__json_item(json, kind, first, &more)) {
        struct lmn__shape *child;

        if (!more)
            return LMN_OK;
        first = false;
        if (kind == LMN__JSON_OBJECT && !lmn__json_name(json, &name))
            break;
        child = kind == LMN__JSON_ARRAY ? shape->child : lmn__shape_find(shape, name);
        if (child == NULL)
            child = lmn__shape_add(shape, &jsonl->reader.arena, name);
        if (child == NULL)
            return no_memory(jsonl, err);
        st = shape_value(jsonl, child, err);
        if (st != LMN_OK)
            return st;
    }
    return bad_json(jsonl, err);
}

static enum lmn_status shape_value(struct jsonl *jsonl, struct lmn__shape *shape,
                                   struct lmn_error *err)
{
    static const enum lmn__shape_kind kinds[] = { LMN__SHAPE_NULL,  LMN__SHAPE_BOOL,
                                                  LMN__SHAPE_FLOAT, LMN__SHAPE_TEXT,
                                                  LMN__SHAPE_LIST,  LMN__SHAPE_STRUCT };
    enum lmn__json_kind kind;
    struct lmn__span text;
    enum lmn__shape_kind what;

    if (!lmn__json_kind(&jsonl->json, &kind))
        return bad_json(jsonl, err);
    what = kinds[kind];
    if (kind < LMN__JSON_ARRAY && !lmn__json_scalar(&jsonl->json, &text))
        return bad_json(jsonl, err);
    if (kind == LMN__JSON_NUMBER) {
        struct lmn__shape number = { 0 };

        lmn__shape_join_text(&number, text);
        what = number.kind == LMN__SHAPE_INT ? LMN__SHAPE_INT : LMN__SHAPE_FLOAT;
    }
    if (!lmn__shape_join(shape, what))
        return lmn_fail(err, LMN_E_INVALID,
                        "field \"%.100s\" holds lists or objects in some lines and other values in "
                        "others: give a schema",
                        shape->name != NULL ? shape->name : "");
    return kind < LMN__JSON_ARRAY ? LMN_OK : shape_items(jsonl, kind, shape, err);
}

static enum lmn_status check_object(struct jsonl *jsonl, struct lmn_error *err)
{
    enum lmn__json_kind kind;

    if (!lmn__json_kind(&jsonl->json, &kind))
        return bad_json(jsonl, err);
    if (kind != LMN__JSON_OBJECT)
        return lmn_fail(err, LMN_E_INVALID, "the line is not a JSON object");
    return LMN_OK;
}

static enum lmn_status jsonl_sample(struct lmn__text_reader *reader, struct lmn_error *err)
{
    struct jsonl *jsonl = (struct jsonl *)reader;
    struct lmn__shape shape = { .kind = LMN__SHAPE_STRUCT };
    size_t at = 0;
    bool more = true;

    if (reader->schema_given)
        return LMN_OK;
    for (uint64_t row = 1; row <= reader->sample_rows_max && at < LMN__SAMPLE_BYTES_MAX; row++) {
        enum lmn_status st = next_line(jsonl, &at, &more, err);

        if (st == LMN_OK && !more)
            break;
        if (st == LMN_OK)
            st = check_object(jsonl, err);
        if (st == LMN_OK)
            st = shape_value(jsonl, &shape, err);
        if (st != LMN_OK)
            return lmn__fail_within(err, st, "line %llu", (unsigned long long)reader->line);
    }
    jsonl->sample_lines = 0;
    return lmn__shape_schema(&shape, &reader->schema, err);
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

static const char *kind_name(enum lmn__json_kind kind)
{
    static const char *const names[] = { "null",     "a boolean", "a number",
                                         "a string", "a list",    "an object" };

    return names[kind];
}

static enum lmn_status wrong_kind(const struct lmn__column *column, enum lmn__json_kind kind,
                                  struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_INVALID,
                    "field \"%.100s\" of type %s has no place for %s: give a schema", column->name,
                    column->type, kind_name(kind));
}

static enum lmn_status fill_value(struct jsonl *jsonl, struct lmn__column *column,
                                  struct lmn_error *err);

static enum lmn_status fill_list(struct jsonl *jsonl, struct lmn__column *column,
                                 struct lmn_error *err)
{
    uint64_t items = 0;
    bool more;
    enum lmn_status st = lmn__column_open(column, err);

    if (st != LMN_OK)
        return st;
    if (!lmn__json_enter(&jsonl->json))
        return bad_json(jsonl, err);
    while (lmn__json_item(&jsonl->json, LMN__JSON_ARRAY, items == 0, &more)) {
        if (!more)
            return lmn__column_close(column, items, err);
        items++;
        st = fill_value(jsonl, &column->child[0], err);
        if (st != LMN_OK)
            return st;
    }
    return bad_json(jsonl, err);
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

static enum lmn_status fill_field(struct jsonl *jsonl, struct lmn__column *column,
                                  uint32_t *expected, struct lmn_error *err)
{
    struct lmn__span name;
    struct lmn__column *field;

    if (!lmn__json_name(&jsonl->json, &name))
        return bad_json(jsonl, err);
    field = find_field(column, name, expected);
    if (field == NULL && !jsonl->reader.schema_given)
        return lmn_fail(err, LMN_E_INVALID,
                        "field \"%.*s\" is in none of the first lines: give a schema",
                        (int)(name.len < 100 ? name.len : 100), (const char *)name.data);
    if (field == NULL)
        return lmn__json_skip(&jsonl->json) ? LMN_OK : bad_json(jsonl, err);
    if (field->builder->length == column->builder->length)
        return lmn_fail(err, LMN_E_INVALID, "field \"%.100s\" is there twice", field->name);
    return fill_value(jsonl, field, err);
}

static enum lmn_status fill_struct(struct jsonl *jsonl, struct lmn__column *column,
                                   struct lmn_error *err)
{
    uint32_t expected = 0;
    bool more, first = true;
    enum lmn_status st = lmn__column_open(column, err);

    if (st != LMN_OK)
        return st;
    if (!lmn__json_enter(&jsonl->json))
        return bad_json(jsonl, err);
    do {
        if (!lmn__json_item(&jsonl->json, LMN__JSON_OBJECT, first, &more))
            return bad_json(jsonl, err);
        first = false;
        if (more)
            st = fill_field(jsonl, column, &expected, err);
    } while (more && st == LMN_OK);
    for (uint32_t i = 0; st == LMN_OK && i < column->child_count; i++) {
        if (column->child[i].builder->length < column->builder->length)
            st = lmn__column_put_null(&column->child[i], err);
    }
    return st;
}

static enum lmn_status fill_value(struct jsonl *jsonl, struct lmn__column *column,
                                  struct lmn_error *err)
{
    enum lmn__json_kind kind;
    struct lmn__span text;

    if (!lmn__json_kind(&jsonl->json, &kind))
        return bad_json(jsonl, err);
    if (kind == LMN__JSON_ARRAY &&
        (column->kind == LMN__COLUMN_LIST || column->kind == LMN__COLUMN_FIXED_LIST))
        return fill_list(jsonl, column, err);
    if (kind == LMN__JSON_OBJECT && column->kind == LMN__COLUMN_STRUCT)
        return fill_struct(jsonl, column, err);
    if (kind >= LMN__JSON_ARRAY)
        return wrong_kind(column, kind, err);
    if (!lmn__json_scalar(&jsonl->json, &text))
        return bad_json(jsonl, err);
    if (kind == LMN__JSON_NULL)
        return lmn__column_put_null(column, err);
    if (!kind_fits(column, kind))
        return wrong_kind(column, kind, err);
    return lmn__column_put_text(column, text, err);
}

static enum lmn_status jsonl_row(struct lmn__text_reader *reader, bool *more_out,
                                 struct lmn_error *err)
{
    struct jsonl *jsonl = (struct jsonl *)reader;
    enum lmn_status st = next_line(jsonl, NULL, more_out, err);

    if (st != LMN_OK || !*more_out)
        return st;
    st = check_object(jsonl, err);
    if (st == LMN_OK)
        st = fill_struct(jsonl, reader->column, err);
    if (st == LMN_OK && !lmn__json_end(&jsonl->json))
        st = bad_json(jsonl, err);
    return st;
}

static void jsonl_deinit(struct lmn__text_reader *reader)
{
    lmn__json_deinit(&((struct jsonl *)reader)->json);
}

static enum lmn_status jsonl_prepare(struct lmn__text_reader *reader,
                                     const struct lmn_ingest_options *options,
                                     struct lmn_error *err)
{
    (void)options;
    (void)err;
    lmn__json_init(&((struct jsonl *)reader)->json, reader->env);
    return LMN_OK;
}

enum lmn_status lmn__jsonl_open(struct lmn_env *env, struct lmn__source *source,
                                const struct lmn_ingest_options *options,
                                struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn__text_format format = { jsonl_sample, jsonl_row, jsonl_deinit };

    return lmn__text_reader_open(env, source, options, &format, sizeof(struct jsonl), jsonl_prepare,
                                 stream_out, err);
}
