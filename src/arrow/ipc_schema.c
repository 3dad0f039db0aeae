/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A field of the flatbuffer becomes an Arrow schema node; one with a dictionary becomes an index
 * node whose `dictionary` has the field's own type and children. The ids of dictionaries have no
 * place in an Arrow schema: they are kept in a list until the type tree takes them.
 *
 * Tables may be shared inside a flatbuffer, so the number of fields is bounded by the bytes of
 * the message, or a small message could describe an exponential tree.
 */
#include "arrow/ipc_schema.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

enum { DEPTH_MAX = 64, FIELD_BYTES_MIN = 8 };

enum {
    SCHEMA_ENDIANNESS = 0,
    SCHEMA_FIELDS = 1,
    SCHEMA_METADATA = 2,
    FIELD_NAME = 0,
    FIELD_NULLABLE = 1,
    FIELD_TYPE_KIND = 2,
    FIELD_TYPE = 3,
    FIELD_DICTIONARY = 4,
    FIELD_CHILDREN = 5,
    FIELD_METADATA = 6,
    ENCODING_ID = 0,
    ENCODING_INDEX = 1,
    ENCODING_ORDERED = 2
};

struct id_entry {
    const struct ArrowSchema *schema;
    int64_t id;
    struct id_entry *next;
};

struct schema_reader {
    struct lmn__arena *arena;
    struct lmn_error *err;
    struct id_entry *ids;
    uint64_t fields_left;
};

static enum lmn_status fail_heap(struct schema_reader *reader)
{
    return lmn__no_memory(reader->err, "an Arrow schema", 0);
}

static enum lmn_status set_metadata(struct schema_reader *reader,
                                    const struct lmn__flat_vector *pairs,
                                    struct ArrowSchema *schema)
{
    struct ArrowBuffer buffer;
    int rc = ArrowMetadataBuilderInit(&buffer, NULL);

    for (uint32_t i = 0; rc == NANOARROW_OK && i < pairs->count; i++) {
        struct lmn__flat_table pair = lmn__flat_item(pairs, i);
        struct lmn__span key = lmn__flat_text(&pair, 0), value = lmn__flat_text(&pair, 1);

        rc = ArrowMetadataBuilderAppend(
            &buffer, (struct ArrowStringView){ (const char *)key.data, (int64_t)key.len },
            (struct ArrowStringView){ (const char *)value.data, (int64_t)value.len });
    }
    if (rc == NANOARROW_OK && pairs->count != 0)
        rc = ArrowSchemaSetMetadata(schema, (const char *)buffer.data);
    ArrowBufferReset(&buffer);
    return rc == NANOARROW_OK ? LMN_OK : fail_heap(reader);
}

static const char *int_format(const struct lmn__flat_table *type)
{
    bool is_signed = lmn__flat_int(type, 1, 1, 0) != 0;

    switch (lmn__flat_int(type, 0, 4, 0)) {
    case 8:
        return is_signed ? "c" : "C";
    case 16:
        return is_signed ? "s" : "S";
    case 32:
        return is_signed ? "i" : "I";
    case 64:
        return is_signed ? "l" : "L";
    default:
        return NULL;
    }
}

/* One of the letters of `letters`, by number. */
static char letter_of(const char *letters, int64_t number)
{
    return number >= 0 && number < (int64_t)strlen(letters) ? letters[number] : '\0';
}

/* Formats that hold numbers or text of the type. False when the numbers make no sense. */
static bool parameter_format(int64_t kind, const struct lmn__flat_table *type, char *text,
                             size_t len)
{
    char letter = '\0';
    struct lmn__span zone;

    switch (kind) {
    case 3: /* FloatingPoint */
        letter = letter_of("efg", lmn__flat_int(type, 0, 2, 0));
        snprintf(text, len, "%c", letter);
        return letter != '\0';
    case 7: /* Decimal */
        snprintf(text, len,
                 lmn__flat_int(type, 2, 4, 128) == 128 ? "d:%lld,%lld" : "d:%lld,%lld,%lld",
                 (long long)lmn__flat_int(type, 0, 4, 0), (long long)lmn__flat_int(type, 1, 4, 0),
                 (long long)lmn__flat_int(type, 2, 4, 128));
        return true;
    case 8: /* Date */
        letter = letter_of("Dm", lmn__flat_int(type, 0, 2, 1));
        snprintf(text, len, "td%c", letter);
        return letter != '\0';
    case 9: /* Time: the unit decides the width */
        letter = letter_of("smun", lmn__flat_int(type, 0, 2, 1));
        snprintf(text, len, "tt%c", letter);
        return letter != '\0' &&
               lmn__flat_int(type, 1, 4, 32) == (letter == 's' || letter == 'm' ? 32 : 64);
    case 10: /* Timestamp */
        letter = letter_of("smun", lmn__flat_int(type, 0, 2, 0));
        zone = lmn__flat_text(type, 1);
        return letter != '\0' && zone.len < len - 8 &&
               snprintf(text, len, "ts%c:%.*s", letter, (int)zone.len,
                        zone.data != NULL ? (const char *)zone.data : "") > 0;
    case 11: /* Interval */
        letter = letter_of("MDn", lmn__flat_int(type, 0, 2, 0));
        snprintf(text, len, "ti%c", letter);
        return letter != '\0';
    case 15: /* FixedSizeBinary */
        snprintf(text, len, "w:%lld", (long long)lmn__flat_int(type, 0, 4, 0));
        return lmn__flat_int(type, 0, 4, 0) >= 0;
    case 16: /* FixedSizeList */
        snprintf(text, len, "+w:%lld", (long long)lmn__flat_int(type, 0, 4, 0));
        return lmn__flat_int(type, 0, 4, 0) >= 0;
    case 18: /* Duration */
        letter = letter_of("smun", lmn__flat_int(type, 0, 2, 1));
        snprintf(text, len, "tD%c", letter);
        return letter != '\0';
    default:
        return false;
    }
}

static const char *plain_format(int64_t kind)
{
    static const char *const formats[] = {
        [1] = "n",   [4] = "z",  [5] = "u",  [6] = "b",   [12] = "+l", [13] = "+s",
        [17] = "+m", [19] = "Z", [20] = "U", [21] = "+L", [23] = "vz", [24] = "vu"
    };

    return kind >= 0 && kind < (int64_t)(sizeof formats / sizeof formats[0]) ? formats[kind] : NULL;
}

static enum lmn_status set_type(struct schema_reader *reader, const struct lmn__flat_table *field,
                                struct ArrowSchema *schema)
{
    static const char *const refused[] = {
        [14] = "union", [22] = "run-end encoded", [25] = "list view", [26] = "large list view"
    };
    int64_t kind = lmn__flat_int(field, FIELD_TYPE_KIND, 1, 0);
    struct lmn__flat_table type = lmn__flat_table(field, FIELD_TYPE);
    struct lmn__span name = lmn__flat_text(field, FIELD_NAME);
    const char *format = kind == 2 ? int_format(&type) : plain_format(kind);
    char text[256];

    if (kind >= 0 && kind < (int64_t)(sizeof refused / sizeof refused[0]) && refused[kind] != NULL)
        return lmn_fail(reader->err, LMN_E_UNSUPPORTED,
                        "field \"%.*s\": Lance has no place for the Arrow type %s",
                        (int)lmn__flat_text(field, FIELD_NAME).len,
                        name.data != NULL ? (const char *)name.data : "", refused[kind]);
    if (format == NULL && parameter_format(kind, &type, text, sizeof text))
        format = text;
    if (format == NULL)
        return lmn_fail(reader->err, LMN_E_CORRUPT,
                        "field \"%.*s\" has a type %lld of Arrow IPC "
                        "that does not decode",
                        (int)name.len, name.data != NULL ? (const char *)name.data : "",
                        (long long)kind);
    if (ArrowSchemaSetFormat(schema, format) != NANOARROW_OK)
        return fail_heap(reader);
    if (kind == 17 && lmn__flat_int(&type, 0, 1, 0) != 0)
        schema->flags |= ARROW_FLAG_MAP_KEYS_SORTED;
    return LMN_OK;
}

static enum lmn_status set_children(struct schema_reader *reader,
                                    const struct lmn__flat_vector *fields, uint32_t depth,
                                    struct ArrowSchema *schema);

/* Make `schema` the index of a dictionary; *values_out is where the field's own type goes. */
static enum lmn_status set_index(struct schema_reader *reader,
                                 const struct lmn__flat_table *encoding, struct ArrowSchema *schema,
                                 struct ArrowSchema **values_out)
{
    struct lmn__flat_table index = lmn__flat_table(encoding, ENCODING_INDEX);
    struct id_entry *entry = lmn__arena_alloc(reader->arena, sizeof *entry);
    const char *format = index.flat != NULL ? int_format(&index) : "i";

    if (entry == NULL)
        return lmn__arena_fail(reader->arena, "an Arrow schema", reader->err);
    if (format == NULL)
        return lmn_fail(reader->err, LMN_E_CORRUPT, "a dictionary index of %lld bits",
                        (long long)lmn__flat_int(&index, 0, 4, 0));
    *entry = (struct id_entry){ schema, lmn__flat_int(encoding, ENCODING_ID, 8, 0), reader->ids };
    reader->ids = entry;
    if (lmn__flat_int(encoding, ENCODING_ORDERED, 1, 0) != 0)
        schema->flags |= ARROW_FLAG_DICTIONARY_ORDERED;
    if (ArrowSchemaSetFormat(schema, format) != NANOARROW_OK ||
        ArrowSchemaAllocateDictionary(schema) != NANOARROW_OK)
        return fail_heap(reader);
    *values_out = schema->dictionary;
    ArrowSchemaInit(*values_out);
    (*values_out)->flags = ARROW_FLAG_NULLABLE;
    return ArrowSchemaSetName(*values_out, "") == NANOARROW_OK ? LMN_OK : fail_heap(reader);
}

static enum lmn_status field_read(struct schema_reader *reader, const struct lmn__flat_table *field,
                                  uint32_t depth, struct ArrowSchema *schema)
{
    struct lmn__span name = lmn__flat_text(field, FIELD_NAME);
    struct lmn__flat_table encoding = lmn__flat_table(field, FIELD_DICTIONARY);
    struct lmn__flat_vector children = lmn__flat_vector(field, FIELD_CHILDREN, 4);
    struct lmn__flat_vector metadata = lmn__flat_vector(field, FIELD_METADATA, 4);
    struct ArrowSchema *typed = schema;
    const char *text;
    enum lmn_status st = LMN_OK;

    if (depth > DEPTH_MAX)
        return lmn_fail(reader->err, LMN_E_UNSUPPORTED, "types nest deeper than %d", DEPTH_MAX);
    if (reader->fields_left-- == 0)
        return lmn_fail(reader->err, LMN_E_CORRUPT, "more fields than the schema has room for");
    text = lmn__arena_strndup(reader->arena, name.data != NULL ? name.data : (const uint8_t *)"",
                              name.len);
    if (text == NULL)
        return lmn__arena_fail(reader->arena, "an Arrow schema", reader->err);
    if (ArrowSchemaSetName(schema, text) != NANOARROW_OK)
        return fail_heap(reader);
    schema->flags = lmn__flat_int(field, FIELD_NULLABLE, 1, 0) != 0 ? ARROW_FLAG_NULLABLE : 0;
    if (encoding.flat != NULL)
        st = set_index(reader, &encoding, schema, &typed);
    if (st == LMN_OK)
        st = set_type(reader, field, typed);
    if (st == LMN_OK)
        st = set_children(reader, &children, depth, typed);
    return st != LMN_OK ? st : set_metadata(reader, &metadata, schema);
}

static enum lmn_status set_children(struct schema_reader *reader,
                                    const struct lmn__flat_vector *fields, uint32_t depth,
                                    struct ArrowSchema *schema)
{
    enum lmn_status st = LMN_OK;

    if (fields->count > reader->fields_left)
        return lmn_fail(reader->err, LMN_E_CORRUPT, "%u fields, more than the schema has room for",
                        fields->count);
    if (ArrowSchemaAllocateChildren(schema, fields->count) != NANOARROW_OK)
        return fail_heap(reader);
    for (uint32_t i = 0; i < fields->count; i++)
        ArrowSchemaInit(schema->children[i]);
    for (uint32_t i = 0; st == LMN_OK && i < fields->count; i++) {
        struct lmn__flat_table field = lmn__flat_item(fields, i);

        st = field_read(reader, &field, depth + 1, schema->children[i]);
    }
    return st;
}

static int64_t id_of(const struct id_entry *ids, const struct ArrowSchema *schema)
{
    while (ids != NULL && ids->schema != schema)
        ids = ids->next;
    return ids != NULL ? ids->id : -1;
}

/* Fill `type` from a schema and its layout; `ids` NULL numbers dictionaries by `next_id`. */
static enum lmn_status type_fill(const struct ArrowSchema *schema, const struct lmn__layout *layout,
                                 const struct id_entry *ids, int64_t *next_id,
                                 struct lmn__arena *arena, struct lmn__ipc_type *type,
                                 struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    type->layout = layout;
    type->name = schema->name != NULL ? schema->name : "";
    type->is_text = layout->kind == LMN__LAYOUT_VARIABLE &&
                    strchr("zZ", schema->format[0]) == NULL && strcmp(schema->format, "vz") != 0;
    type->child_count = layout->child_count;
    type->child = lmn__arena_array(arena, layout->child_count, sizeof *type->child);
    if (type->child == NULL)
        return lmn__arena_fail(arena, "an Arrow schema", err);
    if (schema->dictionary != NULL) {
        type->dictionary_id = next_id != NULL ? (*next_id)++ : id_of(ids, schema);
        st = type_fill(schema->dictionary, layout->child[0], ids, next_id, arena, &type->child[0],
                       err);
        type->child[0].name = type->name;
        return st;
    }
    for (uint32_t i = 0; st == LMN_OK && i < layout->child_count; i++)
        st = type_fill(schema->children[i], layout->child[i], ids, next_id, arena, &type->child[i],
                       err);
    return st;
}

static enum lmn_status type_make(const struct ArrowSchema *schema, const struct id_entry *ids,
                                 int64_t *next_id, struct lmn__arena *arena,
                                 const struct lmn__ipc_type **type_out, struct lmn_error *err)
{
    struct lmn__ipc_type *type = lmn__arena_alloc(arena, sizeof *type);
    const struct lmn__layout *layout;
    enum lmn_status st;

    *type_out = type;
    if (type == NULL)
        return lmn__arena_fail(arena, "an Arrow schema", err);
    st = lmn__layout_from_schema(schema, arena, &layout, err);
    return st != LMN_OK ? st : type_fill(schema, layout, ids, next_id, arena, type, err);
}

enum lmn_status lmn__ipc_type_make(const struct ArrowSchema *schema, struct lmn__arena *arena,
                                   const struct lmn__ipc_type **type_out, struct lmn_error *err)
{
    int64_t next_id = 0;

    return type_make(schema, NULL, &next_id, arena, type_out, err);
}

enum lmn_status lmn__ipc_schema_read(const struct lmn__flat_table *table, struct lmn__arena *arena,
                                     struct ArrowSchema *schema_out,
                                     const struct lmn__ipc_type **type_out, struct lmn_error *err)
{
    struct schema_reader reader = { .arena = arena, .err = err };
    struct lmn__flat_vector fields = lmn__flat_vector(table, SCHEMA_FIELDS, 4);
    struct lmn__flat_vector metadata = lmn__flat_vector(table, SCHEMA_METADATA, 4);
    enum lmn_status st;

    *type_out = NULL;
    *schema_out = (struct ArrowSchema){ 0 };
    if (table->flat == NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "the schema does not decode");
    if (lmn__flat_int(table, SCHEMA_ENDIANNESS, 2, 0) != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "the data is big-endian");
    reader.fields_left = table->flat->bytes.len / FIELD_BYTES_MIN;
    ArrowSchemaInit(schema_out);
    st = ArrowSchemaSetFormat(schema_out, "+s") == NANOARROW_OK &&
                 ArrowSchemaSetName(schema_out, "") == NANOARROW_OK
             ? set_children(&reader, &fields, 0, schema_out)
             : fail_heap(&reader);
    if (st == LMN_OK)
        st = set_metadata(&reader, &metadata, schema_out);
    if (table->flat->bad && st != LMN_E_NO_MEMORY)
        st = lmn_fail(err, LMN_E_CORRUPT, "the schema points outside its %zu bytes",
                      table->flat->bytes.len);
    if (st == LMN_OK)
        st = type_make(schema_out, reader.ids, NULL, arena, type_out, err);
    if (st != LMN_OK)
        ArrowSchemaRelease(schema_out);
    return st;
}
