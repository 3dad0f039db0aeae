/* SPDX-License-Identifier: Apache-2.0 */
#include "format/schema_write.h"

#include <nanoarrow/nanoarrow.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "format/logical_type.h"
#include "format/schema.h"

enum { BLOB_FIELD_COUNT = 5 };

struct maker {
    uint32_t minor;
    struct lmn__arena *arena;
    struct lmn__pb_schema_field *field;
    uint32_t count;
    int32_t next_id;
    bool too_deep; /* a column nests deeper than files can hold */
};

/* What surrounds a field. */
struct place {
    int32_t parent_id;
    uint32_t depth;
    bool in_list;
    bool in_fixed_list;
};

static struct lmn__span span_of(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static bool metadata_is_true(const struct ArrowSchema *schema, const char *key)
{
    struct ArrowStringView value = { NULL, 0 };

    ArrowMetadataGetValue(schema->metadata, ArrowCharView(key), &value);
    return value.size_bytes == 4 && memcmp(value.data, "true", 4) == 0;
}

bool lmn__arrow_is_reference(const struct ArrowSchema *column)
{
    static const char *const name[] = { "data", "uri", "position", "size" };
    static const char *const format[] = { "Z", "u", "L", "L" };
    struct ArrowStringView value = { NULL, 0 };

    if (column->format == NULL || strcmp(column->format, "+s") != 0 || column->n_children != 4)
        return false;
    ArrowMetadataGetValue(column->metadata, ArrowCharView("ARROW:extension:name"), &value);
    if (value.size_bytes != 13 || memcmp(value.data, "lance.blob.v2", 13) != 0)
        return false;
    for (int i = 0; i < 4; i++) {
        const struct ArrowSchema *child = column->children[i];

        if (child->name == NULL || strcmp(child->name, name[i]) != 0 ||
            strcmp(child->format, format[i]) != 0)
            return false;
    }
    return true;
}

bool lmn__arrow_is_blob(const struct ArrowSchema *column)
{
    if (lmn__arrow_is_reference(column))
        return true;
    return strcmp(column->format, "Z") == 0 && column->dictionary == NULL &&
           metadata_is_true(column, "lance-encoding:blob");
}

enum lmn_status lmn__arrow_mark_blob(struct ArrowSchema *column, struct lmn_error *err)
{
    struct ArrowBuffer metadata;
    bool failed;

    if (ArrowMetadataBuilderInit(&metadata, column->metadata) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema's metadata", 0);
    failed = ArrowMetadataBuilderSet(&metadata, ArrowCharView("lance-encoding:blob"),
                                     ArrowCharView("true")) != NANOARROW_OK ||
             ArrowSchemaSetMetadata(column, (const char *)metadata.data) != NANOARROW_OK;
    ArrowBufferReset(&metadata);
    return failed ? lmn__no_memory(err, "a schema's metadata", 0) : LMN_OK;
}

/* Fields of the message that a type makes, at most. */
static uint32_t count_fields(const struct ArrowSchema *schema)
{
    uint32_t count = 1 + (lmn__arrow_is_blob(schema) ? BLOB_FIELD_COUNT : 0);

    for (int64_t i = 0; i < schema->n_children; i++)
        count += count_fields(schema->children[i]);
    return count;
}

/* Keys are text, which other readers insist on; values are bytes. */
static enum lmn_status copy_metadata(struct maker *maker, const char *metadata,
                                     struct lmn__pb_list *list_out, struct lmn_error *err)
{
    struct ArrowMetadataReader reader;
    struct ArrowStringView key, value;
    struct lmn__pb_entry *entry;
    enum lmn_status st;

    if (metadata == NULL)
        return LMN_OK;
    if (ArrowMetadataReaderInit(&reader, metadata) != NANOARROW_OK || reader.remaining_keys < 0)
        return lmn_fail(err, LMN_E_INVALID, "its metadata does not decode");
    entry = lmn__arena_array(maker->arena, (size_t)reader.remaining_keys, sizeof *entry);
    if (entry == NULL)
        return lmn__arena_fail(maker->arena, "a schema", err);
    list_out->item = entry;
    while (reader.remaining_keys > 0) {
        if (ArrowMetadataReaderRead(&reader, &key, &value) != NANOARROW_OK)
            return lmn_fail(err, LMN_E_INVALID, "its metadata does not decode");
        entry->key = (struct lmn__span){ (uint8_t *)lmn__arena_strndup(maker->arena, key.data,
                                                                       (size_t)key.size_bytes),
                                         (size_t)key.size_bytes };
        entry->value = (struct lmn__span){ (uint8_t *)lmn__arena_strndup(maker->arena, value.data,
                                                                         (size_t)value.size_bytes),
                                           (size_t)value.size_bytes };
        if (entry->key.data == NULL || entry->value.data == NULL)
            return lmn__arena_fail(maker->arena, "a schema", err);
        st = lmn__utf8_check(entry->key, "a key of metadata", err);
        if (st != LMN_OK)
            return st;
        entry++;
        list_out->count++;
    }
    return LMN_OK;
}

/* Text that is marked as JSON. */
static bool is_json(const struct ArrowSchema *schema)
{
    struct ArrowStringView value = { NULL, 0 };

    ArrowMetadataGetValue(schema->metadata, ArrowCharView("ARROW:extension:name"), &value);
    return value.size_bytes == 10 && memcmp(value.data, "arrow.json", 10) == 0;
}

/* The metadata of a field without that of its extension type. */
static void drop_extension(struct lmn__pb_list *metadata)
{
    struct lmn__pb_entry *entry = metadata->item;
    size_t count = 0;

    for (size_t i = 0; i < metadata->count; i++) {
        if (!lmn__span_equal(entry[i].key, "ARROW:extension:name") &&
            !lmn__span_equal(entry[i].key, "ARROW:extension:metadata"))
            entry[count++] = entry[i];
    }
    metadata->count = count;
}

static enum lmn_status needs_later_version(const char *what, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_UNSUPPORTED,
                    "%s need file version 2.2, which is asked for when a table or file is made; "
                    "this one is of an earlier version",
                    what);
}

/* Combinations that have a name but no place in the files. */
static enum lmn_status check_place(struct maker *maker, const struct ArrowSchema *schema,
                                   const struct place *place, struct lmn_error *err)
{
    bool map = strcmp(schema->format, "+m") == 0;
    bool list = map || strcmp(schema->format, "+l") == 0 || strcmp(schema->format, "+L") == 0;
    bool fixed_structs = strncmp(schema->format, "+w:", 3) == 0 &&
                         strcmp(schema->children[0]->format, "+s") == 0;

    maker->too_deep = place->depth + 2 >= LMN__NODE_DEPTH_MAX;
    if (maker->too_deep)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "types nest deeper than %d",
                        LMN__NODE_DEPTH_MAX - 2);
    if (map && maker->minor < 2)
        return needs_later_version("maps", err);
    if (fixed_structs && maker->minor < 2)
        return needs_later_version("fixed-size lists of structs", err);
    if ((fixed_structs && place->in_list) || (list && place->in_fixed_list))
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "Lance has no place for lists around or inside fixed-size lists of "
                        "structs");
    if (strcmp(schema->format, "+s") == 0 && schema->n_children == 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "Lance has no place for structs without fields");
    if (lmn__arrow_is_reference(schema) && maker->minor < 2)
        return needs_later_version("references to bytes elsewhere", err);
    if (lmn__arrow_is_blob(schema) && (place->in_list || place->in_fixed_list || place->depth != 0))
        return lmn_fail(err, LMN_E_UNSUPPORTED, "blobs stand on top level only");
    return LMN_OK;
}

static struct lmn__pb_schema_field *add_field(struct maker *maker, const char *name, int32_t id,
                                              int32_t parent_id)
{
    struct lmn__pb_schema_field *field = &maker->field[maker->count++];

    field->name = span_of(name);
    field->id = id;
    field->parent_id = parent_id;
    return field;
}

/* A blob of version 2.2: a packed struct of descriptors, whose fields have no numbers. */
static enum lmn_status add_blob(struct maker *maker, struct lmn__pb_schema_field *field,
                                struct lmn_error *err)
{
    static const char *const name[] = { "kind", "position", "size", "blob_id", "blob_uri" };
    static const char *const type[] = { "uint8", "uint64", "uint64", "uint32", "string" };
    const struct lmn__pb_entry *old = field->metadata.item;
    struct lmn__pb_entry *entry = lmn__arena_array(maker->arena, field->metadata.count + 2,
                                                   sizeof *entry);
    size_t count = 0;

    if (entry == NULL)
        return lmn__arena_fail(maker->arena, "a schema", err);
    for (size_t i = 0; i < field->metadata.count; i++) {
        /* Manifests have an extension type where files have these two. */
        if (!lmn__span_equal(old[i].key, "ARROW:extension:name") &&
            !lmn__span_equal(old[i].key, "ARROW:extension:metadata") &&
            !lmn__span_equal(old[i].key, "lance-encoding:blob"))
            entry[count++] = old[i];
    }
    entry[count++] = (struct lmn__pb_entry){ span_of("lance-encoding:blob"), span_of("true") };
    entry[count++] = (struct lmn__pb_entry){ span_of("lance-encoding:packed"), span_of("true") };
    field->metadata.item = entry;
    field->metadata.count = count;
    field->logical_type = span_of("struct");
    for (int i = 0; i < BLOB_FIELD_COUNT; i++)
        add_field(maker, name[i], -1, -1)->logical_type = span_of(type[i]);
    return LMN_OK;
}

static enum lmn_status set_type(struct maker *maker, const struct ArrowSchema *schema,
                                struct lmn__pb_schema_field *field, struct lmn_error *err)
{
    struct lmn__buf name;
    enum lmn_status st;

    lmn__buf_init(&name, maker->arena->env, 0);
    st = lmn__logical_type_from_arrow(schema, &name, err);
    if (st == LMN_OK)
        st = lmn__utf8_check((struct lmn__span){ name.data, name.len }, "its type", err);
    if (st == LMN_OK)
        return lmn__arena_keep(maker->arena, &name, "a type's name", &field->logical_type, err);
    lmn__buf_deinit(&name);
    return st;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Columns, and fields of one struct, are found by their names: those are text, and none is twice.
 */
static enum lmn_status check_names(const struct maker *maker, const struct ArrowSchema *schema,
                                   bool top, struct lmn_error *err)
{
    size_t count = (size_t)schema->n_children;
    const char **name = lmn__arena_array(maker->arena, count, sizeof *name);
    enum lmn_status st = LMN_OK;

    if (name == NULL)
        return lmn__arena_fail(maker->arena, "a schema", err);
    for (size_t i = 0; st == LMN_OK && i < count; i++) {
        name[i] = schema->children[i]->name != NULL ? schema->children[i]->name : "";
        st = lmn__utf8_check(span_of(name[i]), top ? "the name of a column" : "the name of a field",
                             err);
    }
    if (st != LMN_OK || count == 0)
        return st;
    qsort(name, count, sizeof *name, compare_names);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(name[i - 1], name[i]) == 0)
            return lmn_fail(err, LMN_E_INVALID, "%s \"%.100s\" is there twice",
                            top ? "column" : "field", name[i]);
    }
    return LMN_OK;
}

static enum lmn_status make_field(struct maker *maker, const struct ArrowSchema *schema,
                                  struct place place, struct lmn_error *err);

static enum lmn_status make_children(struct maker *maker, const struct ArrowSchema *schema,
                                     int32_t id, struct place place, struct lmn_error *err)
{
    bool fixed = schema->format[0] == '+' && schema->format[1] == 'w';
    enum lmn_status st;

    if (schema->dictionary != NULL || lmn__arrow_is_reference(schema) ||
        (fixed && strcmp(schema->children[0]->format, "+s") != 0))
        return LMN_OK; /* fixed lists of plain values have no field of their own */
    place.parent_id = id;
    place.depth++;
    place.in_fixed_list |= fixed;
    place.in_list |= !fixed && strcmp(schema->format, "+s") != 0;
    st = check_names(maker, schema, false, err);
    for (int64_t i = 0; st == LMN_OK && i < schema->n_children; i++)
        st = make_field(maker, schema->children[i], place, err);
    return st;
}

/* Say where in a column it failed; of one that is too deep its own name says enough. */
static enum lmn_status failed(const struct maker *maker, const char *name,
                              const struct place *place, enum lmn_status st, struct lmn_error *err)
{
    if (!maker->too_deep)
        return lmn__fail_within(err, st, "field \"%.100s\"", name);
    return place->depth == 0 ? lmn__fail_within(err, st, "column \"%.100s\"", name) : st;
}

static enum lmn_status make_field(struct maker *maker, const struct ArrowSchema *schema,
                                  struct place place, struct lmn_error *err)
{
    const char *name = schema->name != NULL ? schema->name : "";
    struct lmn__pb_schema_field *field;
    char *copy;
    enum lmn_status st = check_place(maker, schema, &place, err);

    if (st != LMN_OK)
        return failed(maker, name, &place, st, err);
    copy = lmn__arena_strndup(maker->arena, name, strlen(name));
    if (copy == NULL)
        return lmn__arena_fail(maker->arena, "a schema", err);
    field = add_field(maker, copy, maker->next_id++, place.parent_id);
    field->nullable = (schema->flags & ARROW_FLAG_NULLABLE) != 0;
    st = copy_metadata(maker, schema->metadata, &field->metadata, err);
    /* JSON is binary of its own kind in Lance, and pylance reads no text that is marked so. */
    if (is_json(schema))
        drop_extension(&field->metadata);
    if (st == LMN_OK)
        st = set_type(maker, schema, field, err);
    if (st == LMN_OK && maker->minor >= 2 && lmn__arrow_is_blob(schema))
        st = add_blob(maker, field, err);
    if (st == LMN_OK)
        st = make_children(maker, schema, field->id, place, err);
    return st == LMN_OK ? st : failed(maker, name, &place, st, err);
}

enum lmn_status lmn__schema_from_arrow(const struct ArrowSchema *schema, uint32_t minor,
                                       struct lmn__arena *arena, struct lmn__pb_schema *pb_out,
                                       struct lmn_error *err)
{
    struct maker maker = { .minor = minor, .arena = arena };
    const struct place top = { .parent_id = -1 };
    enum lmn_status st;

    *pb_out = (struct lmn__pb_schema){ 0 };
    if (schema->format == NULL || strcmp(schema->format, "+s") != 0)
        return lmn_fail(err, LMN_E_INVALID, "rows are a struct of columns, not of type \"%s\"",
                        schema->format != NULL ? schema->format : "");
    maker.field = lmn__arena_array(arena, count_fields(schema), sizeof *maker.field);
    if (maker.field == NULL)
        return lmn__arena_fail(arena, "a schema", err);
    st = check_names(&maker, schema, true, err);
    for (int64_t i = 0; st == LMN_OK && i < schema->n_children; i++)
        st = make_field(&maker, schema->children[i], top, err);
    pb_out->fields.item = maker.field;
    pb_out->fields.count = maker.count;
    return st == LMN_OK ? copy_metadata(&maker, schema->metadata, &pb_out->metadata, err) : st;
}
