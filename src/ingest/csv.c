/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CSV as RFC 4180 has it: records end with LF, CRLF or CR, fields with a delimiter; a field that
 * starts with a quote goes on to the next single quote, two quotes inside stand for one. A quote
 * inside of a field that did not start with one is a character like others. Lines without any
 * character are passed over.
 *
 * A record is taken apart into `text`, its fields without quotes one behind the other, and
 * `fields`, which says where each is. It is scanned again from its start when the window held only
 * a part of it; the window doubles each time, so that costs at most as much again.
 */
#include <stdio.h>

#include "base/error.h"
#include "ingest/reader.h"
#include "ingest/shape.h"

enum { FIELDS_MAX = 1 << 16, NUMBERED_BYTES = 64 };

struct field {
    size_t start, len; /* in text */
    bool quoted;
};

struct csv {
    struct lmn__text_reader reader; /* first */
    char delimiter;
    bool has_header;
    const char *null_text;
    const char *const *name; /* given names */
    uint32_t name_count;
    struct lmn__buf text;
    struct lmn__buf fields; /* struct field */
    uint32_t field_count;
    uint32_t *place;       /* of each field of a file with a header: the column; NULL: the same */
    uint32_t column_count; /* fields of a record */
    bool *is_there;        /* with `place`, of each column: is it in the file? */
};

enum scan { SCAN_DONE, SCAN_MORE, SCAN_BAD };

/* The place in a record that is scanned. */
struct cursor {
    struct lmn__span bytes;
    bool ended; /* nothing follows the bytes */
    size_t at;
    uint64_t lines;
};

/* Is there a line end at the cursor? Its length, 0 for none. */
static enum scan line_end(const struct cursor *cursor, size_t *len_out)
{
    const uint8_t *at = cursor->bytes.data + cursor->at;
    size_t left = cursor->bytes.len - cursor->at;

    *len_out = 0;
    if (left == 0)
        return cursor->ended ? SCAN_DONE : SCAN_MORE;
    if (at[0] == '\r' && left == 1 && !cursor->ended)
        return SCAN_MORE;
    if (at[0] == '\r')
        *len_out = left >= 2 && at[1] == '\n' ? 2 : 1;
    else
        *len_out = at[0] == '\n';
    return SCAN_DONE;
}

static enum scan scan_plain(struct csv *csv, struct cursor *cursor)
{
    size_t from = cursor->at;

    for (; cursor->at < cursor->bytes.len; cursor->at++) {
        uint8_t c = cursor->bytes.data[cursor->at];
        size_t len;

        if (c == (uint8_t)csv->delimiter)
            break;
        if (c == '\n' || c == '\r') {
            if (line_end(cursor, &len) == SCAN_MORE)
                return SCAN_MORE;
            break;
        }
    }
    if (cursor->at == cursor->bytes.len && !cursor->ended)
        return SCAN_MORE;
    lmn__buf_put(&csv->text, cursor->bytes.data + from, cursor->at - from);
    return SCAN_DONE;
}

static enum scan scan_quoted(struct csv *csv, struct cursor *cursor, struct lmn_error *err)
{
    const uint8_t *data = cursor->bytes.data;
    size_t from = ++cursor->at, len;

    for (;; cursor->at++) {
        if (cursor->at == cursor->bytes.len) {
            if (!cursor->ended)
                return SCAN_MORE;
            lmn_fail(err, LMN_E_INVALID, "a quote that is opened is not closed");
            return SCAN_BAD;
        }
        if (data[cursor->at] == '\n')
            cursor->lines++;
        if (data[cursor->at] != '"')
            continue;
        if (cursor->at + 1 == cursor->bytes.len && !cursor->ended)
            return SCAN_MORE;
        lmn__buf_put(&csv->text, data + from, cursor->at - from);
        if (cursor->at + 1 < cursor->bytes.len && data[cursor->at + 1] == '"') {
            from = ++cursor->at; /* the second quote stays */
            continue;
        }
        cursor->at++;
        break;
    }
    if (line_end(cursor, &len) == SCAN_MORE)
        return SCAN_MORE;
    if (cursor->at < cursor->bytes.len && len == 0 && data[cursor->at] != (uint8_t)csv->delimiter) {
        lmn_fail(err, LMN_E_INVALID, "text behind a closing quote");
        return SCAN_BAD;
    }
    return SCAN_DONE;
}

/* Take one record apart, with its line end. */
static enum scan scan_record(struct csv *csv, struct cursor *cursor, struct lmn_error *err)
{
    enum scan scan = SCAN_DONE;
    size_t len;

    lmn__buf_reset(&csv->text);
    lmn__buf_reset(&csv->fields);
    csv->field_count = 0;
    for (;;) {
        struct field field = { .start = csv->text.len };

        if (csv->field_count == FIELDS_MAX) {
            lmn_fail(err, LMN_E_INVALID, "more than %d fields in a record", FIELDS_MAX);
            return SCAN_BAD;
        }
        if (cursor->at == cursor->bytes.len && !cursor->ended)
            return SCAN_MORE;
        field.quoted = cursor->at < cursor->bytes.len && cursor->bytes.data[cursor->at] == '"';
        scan = field.quoted ? scan_quoted(csv, cursor, err) : scan_plain(csv, cursor);
        if (scan != SCAN_DONE)
            return scan;
        field.len = csv->text.len - field.start;
        lmn__buf_put(&csv->fields, &field, sizeof field);
        csv->field_count++;
        (void)line_end(cursor, &len);
        if (len != 0 || cursor->at == cursor->bytes.len)
            break;
        cursor->at++; /* the delimiter */
    }
    cursor->at += len;
    cursor->lines += len != 0;
    return SCAN_DONE;
}

static const struct field *field_at(const struct csv *csv, uint32_t i)
{
    return (const struct field *)(const void *)csv->fields.data + i;
}

static struct lmn__span field_text(const struct csv *csv, const struct field *field)
{
    return (struct lmn__span){ field->len != 0 ? csv->text.data + field->start
                                               : (const uint8_t *)"",
                               field->len };
}

/*
 * Scan the next record that is no empty line, from byte `*at` of the window on, which moves behind
 * it; with NULL, from the window's start, and the window moves. *more_out is false at the end.
 */
static enum lmn_status next_record(struct csv *csv, size_t *at, bool *more_out,
                                   struct lmn_error *err)
{
    struct lmn__window *window = &csv->reader.window;

    *more_out = false;
    for (;;) {
        struct cursor cursor = { lmn__window_bytes(window), window->ended, at != NULL ? *at : 0,
                                 0 };
        size_t from = cursor.at;
        enum scan scan;
        enum lmn_status st;

        csv->reader.line = window->line;
        if (from == cursor.bytes.len && window->ended)
            return LMN_OK;
        scan = scan_record(csv, &cursor, err);
        if (scan == SCAN_BAD)
            return LMN_E_INVALID;
        if (scan == SCAN_MORE) {
            st = lmn__window_more(window, err);
            if (st != LMN_OK)
                return st;
            continue;
        }
        st = lmn__buf_status(&csv->text, "a record", err);
        if (st == LMN_OK)
            st = lmn__buf_status(&csv->fields, "a record", err);
        if (st != LMN_OK)
            return st;
        if (at != NULL)
            *at = cursor.at;
        else
            lmn__window_advance(window, cursor.at, cursor.lines);
        if (csv->field_count == 1 && csv->text.len == 0 && !field_at(csv, 0)->quoted)
            continue;
        st = lmn__text_check((struct lmn__span){ csv->text.data, csv->text.len }, err);
        *more_out = st == LMN_OK;
        return st;
    }
}

static bool is_null(const struct csv *csv, const struct field *field)
{
    return !field->quoted && field->len == strlen(csv->null_text) &&
           memcmp(field_text(csv, field).data, csv->null_text, field->len) == 0;
}

static enum lmn_status check_count(const struct csv *csv, uint64_t want, struct lmn_error *err)
{
    if (csv->field_count == want)
        return LMN_OK;
    return lmn_fail(err, LMN_E_INVALID, "%u fields where there are %llu columns", csv->field_count,
                    (unsigned long long)want);
}

/* The name of column i that is given, or in the header; empty where there is none. */
static struct lmn__span name_at(const struct csv *csv, uint32_t i)
{
    if (csv->name_count != 0)
        return (struct lmn__span){ (const uint8_t *)csv->name[i], strlen(csv->name[i]) };
    return csv->has_header ? field_text(csv, field_at(csv, i)) : (struct lmn__span){ NULL, 0 };
}

/* The names that there are, as fields of `taken`. */
static enum lmn_status take_names(struct csv *csv, uint32_t count, struct lmn__shape *taken,
                                  struct lmn_error *err)
{
    struct lmn__arena *arena = &csv->reader.arena;

    for (uint32_t i = 0; i < count; i++) {
        struct lmn__span name = name_at(csv, i);

        if (name.len == 0)
            continue;
        if (lmn__shape_find(taken, name) != NULL)
            return lmn_fail(err, LMN_E_INVALID, "two columns are named \"%.*s\"",
                            (int)(name.len < 100 ? name.len : 100), (const char *)name.data);
        if (lmn__shape_add(taken, arena, name) == NULL)
            return lmn__arena_fail(arena, "columns", err);
    }
    return LMN_OK;
}

/* The name of a column without one: "c3", or "c3_" where another has that. */
static struct lmn__span number_name(const struct lmn__shape *taken, uint32_t i,
                                    uint8_t into[NUMBERED_BYTES])
{
    struct lmn__span name = { into, 0 };

    name.len = (size_t)snprintf((char *)into, NUMBERED_BYTES, "c%u", i);
    while (lmn__shape_find(taken, name) != NULL && name.len < NUMBERED_BYTES)
        into[name.len++] = '_';
    return name;
}

/*
 * The names of the columns, as fields of `shape`: given, from the header, or numbered, as those
 * are that the header leaves empty.
 */
static enum lmn_status add_names(struct csv *csv, struct lmn__shape *shape, struct lmn_error *err)
{
    struct lmn__arena *arena = &csv->reader.arena;
    struct lmn__shape taken = { .kind = LMN__SHAPE_STRUCT };
    uint32_t count = csv->name_count != 0 ? csv->name_count : csv->field_count;
    enum lmn_status st = take_names(csv, count, &taken, err);

    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        struct lmn__span name = name_at(csv, i);
        uint8_t number[NUMBERED_BYTES];

        if (name.len == 0)
            name = number_name(&taken, i, number);
        if (lmn__shape_add(shape, arena, name) == NULL)
            st = lmn__arena_fail(arena, "columns", err);
    }
    return st;
}

static enum lmn_status sample_rows(struct csv *csv, struct lmn__shape *shape, struct lmn_error *err)
{
    size_t at = 0;
    bool more = true;

    for (uint64_t row = 0; row < csv->reader.sample_rows_max && at < LMN__SAMPLE_BYTES_MAX; row++) {
        struct lmn__shape *column = shape->child;
        enum lmn_status st = next_record(csv, &at, &more, err);

        /* What is wrong is told by the row itself, when it comes, with its line. */
        if (st == LMN_E_INVALID || (st == LMN_OK && !more))
            return LMN_OK;
        if (st != LMN_OK)
            return st;
        for (uint32_t i = 0; column != NULL && i < csv->field_count; i++) {
            if (!is_null(csv, field_at(csv, i)))
                lmn__shape_join_text(column, field_text(csv, field_at(csv, i)));
            column = column->sibling;
        }
    }
    return LMN_OK;
}

/* Find the columns of the schema that was given by the names of the header, in any order. */
static enum lmn_status place_columns(struct csv *csv, const struct lmn__shape *shape,
                                     struct lmn_error *err)
{
    const struct ArrowSchema *schema = &csv->reader.schema;
    struct lmn__arena *arena = &csv->reader.arena;
    size_t count = (size_t)schema->n_children;

    csv->place = lmn__arena_alloc(arena, (shape->child_count + 1) * sizeof *csv->place);
    csv->is_there = lmn__arena_alloc(arena, count + 1);
    if (csv->place == NULL || csv->is_there == NULL)
        return lmn__arena_fail(arena, "columns", err);
    memset(csv->is_there, 0, count + 1);
    memset(csv->place, 0xff, shape->child_count * sizeof *csv->place);
    for (size_t i = 0; i < count; i++) {
        const char *name = schema->children[i]->name;
        const struct lmn__shape *column = lmn__shape_find(
            shape, (struct lmn__span){ (const uint8_t *)name, strlen(name) });

        csv->is_there[i] = column != NULL;
        if (column != NULL)
            csv->place[column->index] = (uint32_t)i;
    }
    for (const struct lmn__shape *column = shape->child; column != NULL; column = column->sibling) {
        if (csv->place[column->index] == UINT32_MAX)
            return lmn_fail(err, LMN_E_INVALID,
                            "column %u is \"%.100s\" in the header, and none of the schema",
                            column->index + 1, column->name);
    }
    csv->column_count = shape->child_count;
    return LMN_OK;
}

static enum lmn_status csv_sample(struct lmn__text_reader *reader, struct lmn_error *err)
{
    struct csv *csv = (struct csv *)reader;
    struct lmn__shape shape = { .kind = LMN__SHAPE_STRUCT };
    size_t at = 0;
    bool more = true;
    enum lmn_status st = LMN_OK;

    if (reader->schema_given && !csv->has_header)
        return LMN_OK;
    if (csv->has_header || csv->name_count == 0)
        st = next_record(csv, csv->has_header ? NULL : &at, &more, err);
    if (st == LMN_OK && !more && csv->has_header)
        st = lmn_fail(err, LMN_E_INVALID, "an empty file, without a header");
    if (st != LMN_OK)
        return lmn__fail_within(err, st, "line %llu", (unsigned long long)reader->line);
    if (!more)
        csv->field_count = 0;
    st = add_names(csv, &shape, err);
    if (st == LMN_OK && reader->schema_given)
        return place_columns(csv, &shape, err);
    if (st == LMN_OK)
        st = sample_rows(csv, &shape, err);
    return st != LMN_OK ? st : lmn__shape_schema(&shape, &reader->schema, err);
}

/* Columns that the file lacks are null. */
static enum lmn_status put_absent(const struct csv *csv, struct lmn__column *column,
                                  struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < column->child_count; i++) {
        if (!csv->is_there[i])
            st = lmn__column_put_null(&column->child[i], err);
    }
    return st;
}

static enum lmn_status csv_row(struct lmn__text_reader *reader, bool *more_out,
                               struct lmn_error *err)
{
    struct csv *csv = (struct csv *)reader;
    struct lmn__column *column = reader->column;
    enum lmn_status st = next_record(csv, NULL, more_out, err);

    if (st != LMN_OK || !*more_out)
        return st;
    st = check_count(csv, csv->place != NULL ? csv->column_count : column->child_count, err);
    for (uint32_t i = 0; st == LMN_OK && i < csv->field_count; i++) {
        const struct field *field = field_at(csv, i);
        struct lmn__column *child = &column->child[csv->place != NULL ? csv->place[i] : i];

        st = is_null(csv, field) ? lmn__column_put_null(child, err)
                                 : lmn__column_put_text(child, field_text(csv, field), err);
    }
    if (st == LMN_OK && csv->place != NULL)
        st = put_absent(csv, column, err);
    return st != LMN_OK ? st : lmn__column_open(column, err);
}

static void csv_deinit(struct lmn__text_reader *reader)
{
    struct csv *csv = (struct csv *)reader;

    lmn__buf_deinit(&csv->text);
    lmn__buf_deinit(&csv->fields);
}

static enum lmn_status csv_prepare(struct lmn__text_reader *reader,
                                   const struct lmn_ingest_options *options, struct lmn_error *err)
{
    struct csv *csv = (struct csv *)reader;
    const char *text = options->null_text != NULL ? options->null_text : "";

    lmn__buf_init(&csv->text, reader->env, 0);
    lmn__buf_init(&csv->fields, reader->env, 0);
    csv->delimiter = options->delimiter != '\0' ? options->delimiter : ',';
    if (csv->delimiter == '"' || csv->delimiter == '\n' || csv->delimiter == '\r')
        return lmn_fail(err, LMN_E_INVALID, "the delimiter cannot be a quote or a line end");
    csv->has_header = !options->no_header;
    csv->name = options->name;
    csv->name_count = options->name_count;
    csv->null_text = lmn__arena_strndup(&reader->arena, text, strlen(text));
    return csv->null_text != NULL ? LMN_OK : lmn__arena_fail(&reader->arena, "a null text", err);
}

enum lmn_status lmn__csv_open(struct lmn_env *env, struct lmn__source *source,
                              const struct lmn_ingest_options *options,
                              struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn__text_format format = { csv_sample, csv_row, csv_deinit };

    return lmn__text_reader_open(env, source, options, &format, sizeof(struct csv), csv_prepare,
                                 stream_out, err);
}
