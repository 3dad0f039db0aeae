/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reverse of ipc_schema.c: parts first, then the tables that refer to them. The fields of the
 * tables have the numbers named there.
 */
#include <nanoarrow/nanoarrow.h>

#include "arrow/ipc_schema.h"

/* The type enum of Schema.fbs. */
enum {
    TYPE_NULL = 1,
    TYPE_INT = 2,
    TYPE_FLOAT = 3,
    TYPE_BINARY = 4,
    TYPE_UTF8 = 5,
    TYPE_BOOL = 6,
    TYPE_DECIMAL = 7,
    TYPE_DATE = 8,
    TYPE_TIME = 9,
    TYPE_TIMESTAMP = 10,
    TYPE_LIST = 12,
    TYPE_STRUCT = 13,
    TYPE_FIXED_BINARY = 15,
    TYPE_FIXED_LIST = 16,
    TYPE_MAP = 17,
    TYPE_DURATION = 18,
    TYPE_LARGE_BINARY = 19,
    TYPE_LARGE_UTF8 = 20,
    TYPE_LARGE_LIST = 21,
    TYPE_BINARY_VIEW = 23,
    TYPE_UTF8_VIEW = 24
};

struct schema_writer {
    struct lmn__flat_writer *flat;
    int64_t next_id; /* of dictionaries */
    struct lmn_error *err;
};

static enum lmn_status put_field(struct schema_writer *writer, const struct ArrowSchema *schema,
                                 lmn__flat_ref *ref_out);

static lmn__flat_ref put_int(struct lmn__flat_writer *flat, uint32_t bits, bool is_signed)
{
    lmn__flat_set(flat, 0, 4, bits);
    lmn__flat_set(flat, 1, 1, is_signed);
    return lmn__flat_put_table(flat);
}

/* Integers, by the letter of their format. */
static lmn__flat_ref put_int_type(struct lmn__flat_writer *flat, char letter)
{
    static const char letters[] = "cCsSiIlL";
    uint32_t index = (uint32_t)(strchr(letters, letter) - letters);

    return put_int(flat, 8u << (index / 2), index % 2 == 0);
}

/* Types with units, precisions and sizes; 0 for others. */
static int put_parameter_type(struct lmn__flat_writer *flat, const struct ArrowSchemaView *view,
                              lmn__flat_ref *ref_out)
{
    lmn__flat_ref zone = 0;
    int kind = 0;

    switch (view->type) {
    case NANOARROW_TYPE_DECIMAL128:
    case NANOARROW_TYPE_DECIMAL256:
        kind = TYPE_DECIMAL;
        lmn__flat_set(flat, 0, 4, view->decimal_precision);
        lmn__flat_set(flat, 1, 4, view->decimal_scale);
        lmn__flat_set(flat, 2, 4, view->decimal_bitwidth);
        break;
    case NANOARROW_TYPE_DATE32:
    case NANOARROW_TYPE_DATE64:
        kind = TYPE_DATE;
        lmn__flat_set(flat, 0, 2, view->type == NANOARROW_TYPE_DATE64);
        break;
    case NANOARROW_TYPE_TIME32:
    case NANOARROW_TYPE_TIME64:
        kind = TYPE_TIME;
        lmn__flat_set(flat, 0, 2, (int64_t)view->time_unit);
        lmn__flat_set(flat, 1, 4, view->type == NANOARROW_TYPE_TIME32 ? 32 : 64);
        break;
    case NANOARROW_TYPE_TIMESTAMP:
        kind = TYPE_TIMESTAMP;
        if (view->timezone != NULL && view->timezone[0] != '\0')
            zone = lmn__flat_put_text(flat, view->timezone, strlen(view->timezone));
        lmn__flat_set(flat, 0, 2, (int64_t)view->time_unit);
        lmn__flat_set_ref(flat, 1, zone);
        break;
    case NANOARROW_TYPE_DURATION:
        kind = TYPE_DURATION;
        lmn__flat_set(flat, 0, 2, (int64_t)view->time_unit);
        break;
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        kind = view->type == NANOARROW_TYPE_FIXED_SIZE_LIST ? TYPE_FIXED_LIST : TYPE_FIXED_BINARY;
        lmn__flat_set(flat, 0, 4, view->fixed_size);
        break;
    default:
        return 0;
    }
    *ref_out = lmn__flat_put_table(flat);
    return kind;
}

static int plain_kind(enum ArrowType type)
{
    switch (type) {
    case NANOARROW_TYPE_NA:
        return TYPE_NULL;
    case NANOARROW_TYPE_BOOL:
        return TYPE_BOOL;
    case NANOARROW_TYPE_BINARY:
        return TYPE_BINARY;
    case NANOARROW_TYPE_STRING:
        return TYPE_UTF8;
    case NANOARROW_TYPE_LARGE_BINARY:
        return TYPE_LARGE_BINARY;
    case NANOARROW_TYPE_LARGE_STRING:
        return TYPE_LARGE_UTF8;
    case NANOARROW_TYPE_BINARY_VIEW:
        return TYPE_BINARY_VIEW;
    case NANOARROW_TYPE_STRING_VIEW:
        return TYPE_UTF8_VIEW;
    case NANOARROW_TYPE_LIST:
        return TYPE_LIST;
    case NANOARROW_TYPE_LARGE_LIST:
        return TYPE_LARGE_LIST;
    case NANOARROW_TYPE_STRUCT:
        return TYPE_STRUCT;
    default:
        return 0;
    }
}

/* Put the type of `schema`; *kind_out is its number. */
static enum lmn_status put_type(struct schema_writer *writer, const struct ArrowSchema *schema,
                                int *kind_out, lmn__flat_ref *ref_out)
{
    struct lmn__flat_writer *flat = writer->flat;
    struct ArrowSchemaView view;
    struct ArrowError reason;

    *kind_out = TYPE_FIXED_BINARY;
    if (strcmp(schema->format, "w:0") == 0) { /* nanoarrow has no such type */
        lmn__flat_set(flat, 0, 4, 0);
        *ref_out = lmn__flat_put_table(flat);
        return LMN_OK;
    }
    if (ArrowSchemaViewInit(&view, schema, &reason) != NANOARROW_OK)
        return lmn_fail(writer->err, LMN_E_INVALID, "field \"%s\" has a bad Arrow type: %s",
                        schema->name != NULL ? schema->name : "", reason.message);
    if (strlen(schema->format) == 1 && strchr("cCsSiIlL", schema->format[0]) != NULL) {
        *kind_out = TYPE_INT;
        *ref_out = put_int_type(flat, schema->format[0]);
    } else if (strlen(schema->format) == 1 && strchr("efg", schema->format[0]) != NULL) {
        *kind_out = TYPE_FLOAT;
        lmn__flat_set(flat, 0, 2, strchr("efg", schema->format[0]) - (const char *)"efg");
        *ref_out = lmn__flat_put_table(flat);
    } else if (view.type == NANOARROW_TYPE_MAP) {
        *kind_out = TYPE_MAP;
        lmn__flat_set(flat, 0, 1, (schema->flags & ARROW_FLAG_MAP_KEYS_SORTED) != 0);
        *ref_out = lmn__flat_put_table(flat);
    } else if ((*kind_out = plain_kind(view.type)) != 0) {
        *ref_out = lmn__flat_put_table(flat);
    } else {
        *kind_out = put_parameter_type(flat, &view, ref_out);
    }
    if (*kind_out == 0)
        return lmn_fail(writer->err, LMN_E_UNSUPPORTED,
                        "field \"%s\": the Arrow type %s is not written",
                        schema->name != NULL ? schema->name : "", ArrowTypeString(view.type));
    return LMN_OK;
}

static lmn__flat_ref put_pair(struct lmn__flat_writer *flat, struct ArrowStringView key,
                              struct ArrowStringView value)
{
    lmn__flat_ref key_ref = lmn__flat_put_text(flat, key.data, (size_t)key.size_bytes);
    lmn__flat_ref value_ref = lmn__flat_put_text(flat, value.data, (size_t)value.size_bytes);

    lmn__flat_set_ref(flat, 0, key_ref);
    lmn__flat_set_ref(flat, 1, value_ref);
    return lmn__flat_put_table(flat);
}

static enum lmn_status put_metadata(struct schema_writer *writer, const char *metadata,
                                    lmn__flat_ref *ref_out)
{
    struct ArrowStringView key, value;
    struct ArrowMetadataReader reader;
    lmn__flat_ref *refs;
    uint32_t count = 0;

    *ref_out = 0;
    if (metadata == NULL || ArrowMetadataReaderInit(&reader, metadata) != NANOARROW_OK ||
        reader.remaining_keys <= 0)
        return LMN_OK;
    refs = lmn__calloc(writer->flat->env, (size_t)reader.remaining_keys, sizeof *refs);
    if (refs == NULL)
        return lmn__no_memory(writer->err, "metadata", (uint64_t)reader.remaining_keys);
    while (reader.remaining_keys > 0 &&
           ArrowMetadataReaderRead(&reader, &key, &value) == NANOARROW_OK)
        refs[count++] = put_pair(writer->flat, key, value);
    *ref_out = lmn__flat_put_refs(writer->flat, refs, count);
    lmn__free(writer->flat->env, refs);
    return LMN_OK;
}

static enum lmn_status put_children(struct schema_writer *writer, const struct ArrowSchema *schema,
                                    lmn__flat_ref *ref_out)
{
    lmn__flat_ref *refs = lmn__calloc(writer->flat->env, (size_t)schema->n_children, sizeof *refs);
    enum lmn_status st = LMN_OK;

    *ref_out = 0;
    if (refs == NULL)
        return lmn__no_memory(writer->err, "a schema", (uint64_t)schema->n_children);
    for (int64_t i = 0; st == LMN_OK && i < schema->n_children; i++)
        st = put_field(writer, schema->children[i], &refs[i]);
    if (st == LMN_OK)
        *ref_out = lmn__flat_put_refs(writer->flat, refs, (size_t)schema->n_children);
    lmn__free(writer->flat->env, refs);
    return st;
}

static lmn__flat_ref put_encoding(struct lmn__flat_writer *flat, const struct ArrowSchema *schema,
                                  int64_t id)
{
    lmn__flat_ref index = put_int_type(flat, schema->format[0]);

    lmn__flat_set(flat, 0, 8, id);
    lmn__flat_set_ref(flat, 1, index);
    lmn__flat_set(flat, 2, 1, (schema->flags & ARROW_FLAG_DICTIONARY_ORDERED) != 0);
    return lmn__flat_put_table(flat);
}

static enum lmn_status put_field(struct schema_writer *writer, const struct ArrowSchema *schema,
                                 lmn__flat_ref *ref_out)
{
    const struct ArrowSchema *typed = schema->dictionary != NULL ? schema->dictionary : schema;
    const char *name = schema->name != NULL ? schema->name : "";
    struct lmn__flat_writer *flat = writer->flat;
    lmn__flat_ref children, metadata, type = 0, encoding = 0, text;
    int kind;
    enum lmn_status st;

    *ref_out = 0;
    if (schema->dictionary != NULL)
        encoding = put_encoding(flat, schema, writer->next_id++);
    st = put_children(writer, typed, &children);
    if (st == LMN_OK)
        st = put_metadata(writer, schema->metadata, &metadata);
    if (st == LMN_OK)
        st = put_type(writer, typed, &kind, &type);
    if (st != LMN_OK)
        return st;
    text = lmn__flat_put_text(flat, name, strlen(name));
    lmn__flat_set_ref(flat, 0, text);
    lmn__flat_set(flat, 1, 1, (schema->flags & ARROW_FLAG_NULLABLE) != 0);
    lmn__flat_set(flat, 2, 1, kind);
    lmn__flat_set_ref(flat, 3, type);
    lmn__flat_set_ref(flat, 4, encoding);
    lmn__flat_set_ref(flat, 5, children);
    lmn__flat_set_ref(flat, 6, metadata);
    *ref_out = lmn__flat_put_table(flat);
    return LMN_OK;
}

enum lmn_status lmn__ipc_schema_write(const struct ArrowSchema *schema,
                                      struct lmn__flat_writer *writer, lmn__flat_ref *ref_out,
                                      struct lmn_error *err)
{
    struct schema_writer state = { writer, 0, err };
    lmn__flat_ref fields, metadata;
    enum lmn_status st = put_children(&state, schema, &fields);

    *ref_out = 0;
    if (st == LMN_OK)
        st = put_metadata(&state, schema->metadata, &metadata);
    if (st != LMN_OK)
        return st;
    lmn__flat_set_ref(writer, 1, fields);
    lmn__flat_set_ref(writer, 2, metadata);
    *ref_out = lmn__flat_put_table(writer);
    return LMN_OK;
}
