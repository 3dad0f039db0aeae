/* SPDX-License-Identifier: Apache-2.0 */
#include "table/table_fields.h"

#include "arrow/schema.h"
#include "base/error.h"
#include "base/math.h"
#include "base/utf8.h"
#include "format/projection.h"
#include "format/schema_write.h"

/* In files a blob of version 2 has five fields without ids; in manifests these four with ids. */
enum { FILE_BLOB_FIELDS = 5, BLOB_FIELDS = 4 };

static struct lmn__span span_of(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static bool is_file_blob(const struct lmn__pb_schema_field *field, size_t left)
{
    return lmn__span_equal(field->logical_type, "struct") && left > FILE_BLOB_FIELDS &&
           field[1].id == -1 && field[1].parent_id == -1;
}

/* The metadata of a blob's field: an extension type, and what is not about its encoding. */
static enum lmn_status blob_metadata(struct lmn__pb_schema_field *field, struct lmn__arena *arena,
                                     struct lmn_error *err)
{
    static const char prefix[] = "lance-encoding:";
    const struct lmn__pb_entry *old = field->metadata.item;
    struct lmn__pb_entry *entry = lmn__arena_array(arena, field->metadata.count + 2, sizeof *entry);
    size_t count = 0;

    if (entry == NULL)
        return lmn__arena_fail(arena, "a schema", err);
    for (size_t i = 0; i < field->metadata.count; i++) {
        if (old[i].key.len < sizeof prefix - 1 ||
            memcmp(old[i].key.data, prefix, sizeof prefix - 1) != 0)
            entry[count++] = old[i];
    }
    entry[count++] = (struct lmn__pb_entry){ span_of("ARROW:extension:name"),
                                             span_of("lance.blob.v2") };
    entry[count++] = (struct lmn__pb_entry){ span_of("ARROW:extension:metadata"), span_of("") };
    field->metadata = (struct lmn__pb_list){ entry, count };
    return LMN_OK;
}

static enum lmn_status put_blob(struct lmn__pb_schema_field *to,
                                const struct lmn__pb_schema_field *from, int32_t id,
                                struct lmn__arena *arena, struct lmn_error *err)
{
    static const char *const name[BLOB_FIELDS] = { "data", "uri", "position", "size" };
    static const char *const type[BLOB_FIELDS] = { "large_binary", "string", "uint64", "uint64" };

    to[0] = *from;
    to[0].id = id;
    for (int i = 0; i < BLOB_FIELDS; i++) {
        to[i + 1] = (struct lmn__pb_schema_field){ .name = span_of(name[i]),
                                                   .id = id + 1 + i,
                                                   .parent_id = id,
                                                   .logical_type = span_of(type[i]),
                                                   .nullable = true };
    }
    return blob_metadata(to, arena, err);
}

/* The id that the field numbered `old` has got; parents stand before their children. */
static int32_t renumbered(const int32_t *id_of, int32_t old)
{
    return old < 0 ? old : id_of[old];
}

enum lmn_status lmn__fields_from_arrow(const struct ArrowSchema *schema, uint32_t minor,
                                       int32_t first_id, struct lmn__arena *arena,
                                       struct lmn__pb_schema *pb_out, struct lmn_error *err)
{
    struct lmn__pb_schema file;
    const struct lmn__pb_schema_field *from;
    struct lmn__pb_schema_field *to;
    int32_t *id_of, id = first_id;
    size_t count = 0;
    enum lmn_status st = lmn__schema_from_arrow(schema, minor, arena, &file, err);

    *pb_out = (struct lmn__pb_schema){ 0 };
    if (st != LMN_OK)
        return st;
    from = file.fields.item;
    to = lmn__arena_array(arena, file.fields.count, sizeof *to);
    id_of = lmn__arena_array(arena, file.fields.count, sizeof *id_of);
    if (to == NULL || id_of == NULL)
        return lmn__arena_fail(arena, "a schema", err);
    for (size_t i = 0; st == LMN_OK && i < file.fields.count; i++) {
        bool blob = is_file_blob(&from[i], file.fields.count - i);

        if (from[i].id >= 0)
            id_of[from[i].id] = id;
        if (blob) {
            st = put_blob(&to[count], &from[i], id, arena, err);
            i += FILE_BLOB_FIELDS;
            count += 1 + BLOB_FIELDS;
            id += 1 + BLOB_FIELDS;
            continue;
        }
        to[count] = from[i];
        to[count].id = id++;
        to[count].parent_id = renumbered(id_of, from[i].parent_id);
        count++;
    }
    pb_out->fields = (struct lmn__pb_list){ to, count };
    pb_out->metadata = file.metadata;
    return st;
}

enum lmn_status lmn__fields_check_name(const char *name, struct lmn_error *err)
{
    static const char *const own[] = { "_rowid", "_rowaddr", "_rowoffset",
                                       "_row_created_at_version", "_row_last_updated_at_version" };
    const char *why = NULL;
    enum lmn_status st = lmn__utf8_check(span_of(name), "the name of a column", err);

    if (st != LMN_OK)
        return st;
    if (name[0] == '\0')
        why = "it is empty";
    else if (strchr(name, '.') != NULL)
        why = "it has a dot, which stands before the field of a struct";
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        if (strcmp(name, own[i]) == 0)
            why = "Lance has a column of this name by itself";
    }
    return why == NULL ? LMN_OK
                       : lmn_fail(err, LMN_E_INVALID,
                                  "\"%.100s\" cannot be the name of a column: %s", name, why);
}

enum lmn_status lmn__fields_check_names(const struct ArrowSchema *schema, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (int64_t i = 0; st == LMN_OK && i < schema->n_children; i++) {
        const char *name = schema->children[i]->name;

        st = lmn__fields_check_name(name != NULL ? name : "", err);
    }
    return st;
}

static bool is_no_key(struct lmn__span type)
{
    static const char *const no[] = { "struct", "list", "large_list", "fixed_size_list",
                                      "map",    "null", "blob" };

    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++) {
        size_t len = strlen(no[i]);

        if (type.len >= len && memcmp(type.data, no[i], len) == 0)
            return true;
    }
    return false;
}

enum lmn_status lmn__fields_set_key(struct lmn__pb_schema *pb, const char *const *name,
                                    uint32_t count, struct lmn_error *err)
{
    struct lmn__pb_schema_field *field = pb->fields.item;

    for (uint32_t i = 0; i < count; i++) {
        bool found = false;

        for (uint32_t k = 0; k < i; k++) {
            if (strcmp(name[k], name[i]) == 0)
                return lmn_fail(err, LMN_E_INVALID, "primary key: column \"%.100s\" is there twice",
                                name[i]);
        }
        for (size_t k = 0; k < pb->fields.count; k++) {
            if (field[k].parent_id != -1 || !lmn__span_equal(field[k].name, name[i]))
                continue;
            if (is_no_key(field[k].logical_type))
                return lmn_fail(err, LMN_E_UNSUPPORTED,
                                "primary key: column \"%.100s\" is of type %.*s, by which rows are "
                                "not told apart",
                                name[i], (int)lmn__min_u64(field[k].logical_type.len, 40),
                                (const char *)field[k].logical_type.data);
            field[k].primary_key = true;
            field[k].nullable = false; /* as Lance wants it of keys, in every schema it writes */
            field[k].primary_key_position = i + 1;
            found = true;
        }
        if (!found)
            return lmn_fail(err, LMN_E_NOT_FOUND, "primary key: no column \"%.100s\"", name[i]);
    }
    return LMN_OK;
}

/* Copy the fields of a node and of those below it. */
static void put_fields(const struct lmn__node *node, struct lmn__pb_schema_field *field,
                       size_t *count)
{
    field[(*count)++] = *node->field;
    for (node = node->child; node != NULL; node = node->next)
        put_fields(node, field, count);
}

static size_t count_nodes(const struct lmn__node *node)
{
    size_t count = 1;

    for (node = node->child; node != NULL; node = node->next)
        count += count_nodes(node);
    return count;
}

bool lmn__fields_have(const struct lmn__pb_list *fields, int32_t id)
{
    const struct lmn__pb_schema_field *field = fields->item;

    for (size_t i = 0; i < fields->count; i++) {
        if (field[i].id == id)
            return true;
    }
    return false;
}

enum lmn_status lmn__fields_of_columns(const struct lmn__node *const *column, uint32_t count,
                                       struct lmn__arena *arena, struct lmn__pb_list *fields_out,
                                       struct lmn_error *err)
{
    struct lmn__pb_schema_field *field;
    size_t total = 0, used = 0;

    for (uint32_t i = 0; i < count; i++)
        total += count_nodes(column[i]);
    field = lmn__arena_array(arena, total, sizeof *field);
    *fields_out = (struct lmn__pb_list){ field, total };
    if (field == NULL)
        return lmn__arena_fail(arena, "a schema", err);
    for (uint32_t i = 0; i < count; i++)
        put_fields(column[i], field, &used);
    return LMN_OK;
}

enum lmn_status lmn__fields_next_id(const struct lmn__manifest *manifest, int32_t *id_out,
                                    struct lmn_error *err)
{
    const struct lmn__pb_schema_field *field = manifest->pb.fields.item;
    int32_t max = manifest->pb.has_field_id_max ? manifest->pb.field_id_max : -1;
    enum lmn_status st = LMN_OK;

    for (size_t i = 0; i < manifest->pb.fields.count; i++)
        max = field[i].id > max ? field[i].id : max;
    /* Files may still list fields that were dropped from the schema. */
    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(manifest); i++) {
        struct lmn__arena arena;
        struct lmn__pb_fragment fragment;

        lmn__arena_init(&arena, manifest->env, 0);
        st = lmn__manifest_fragment(manifest, i, &arena, &fragment, err);
        for (size_t k = 0; st == LMN_OK && k < fragment.files.count; k++) {
            const struct lmn__pb_data_file *file = &(
                (struct lmn__pb_data_file *)fragment.files.item)[k];

            for (size_t n = 0; n < file->fields.count; n++)
                max = (int32_t)file->fields.item[n] > max ? (int32_t)file->fields.item[n] : max;
        }
        lmn__arena_deinit(&arena);
    }
    if (st == LMN_OK && max == INT32_MAX)
        st = lmn_fail(err, LMN_E_UNSUPPORTED, "the table has used up its field ids");
    *id_out = st == LMN_OK ? max + 1 : 0;
    return st;
}

enum lmn_status lmn__fields_find(const struct lmn__manifest *manifest, const char *path,
                                 const struct lmn__node **node_out, struct lmn_error *err)
{
    struct lmn__projection projection;
    const struct lmn__selected *selected;
    enum lmn_status st = lmn__projection_init(&projection, manifest->env, &manifest->schema, &path,
                                              1, false, err);

    *node_out = NULL;
    if (st != LMN_OK)
        return st;
    selected = projection.root;
    while (selected->node == NULL || !selected->whole)
        selected = selected->child[0];
    *node_out = selected->node;
    lmn__projection_deinit(&projection);
    return LMN_OK;
}

enum lmn_status lmn__fields_append(const struct lmn__manifest *manifest,
                                   const struct lmn__pb_list *added, struct lmn__arena *arena,
                                   struct lmn__pb_list *fields_out, struct lmn_error *err)
{
    const struct lmn__pb_list *had = &manifest->pb.fields;
    struct lmn__pb_schema_field *field = lmn__arena_array(arena, had->count + added->count,
                                                          sizeof *field);

    *fields_out = (struct lmn__pb_list){ field, had->count + added->count };
    if (field == NULL)
        return lmn__arena_fail(arena, "a schema", err);
    if (had->count != 0)
        memcpy(field, had->item, had->count * sizeof *field);
    if (added->count != 0)
        memcpy(field + had->count, added->item, added->count * sizeof *field);
    return LMN_OK;
}

static enum lmn_status check_added(const struct lmn__manifest *manifest,
                                   const struct ArrowSchema *schema, struct lmn_error *err)
{
    enum lmn_status st;

    if (schema->format == NULL || strcmp(schema->format, "+s") != 0)
        return lmn_fail(err, LMN_E_INVALID, "columns to add are a struct, not of type \"%.40s\"",
                        schema->format != NULL ? schema->format : "");
    if (schema->n_children == 0)
        return lmn_fail(err, LMN_E_INVALID, "there are no columns to add");
    for (int64_t i = 0; i < schema->n_children; i++) {
        const char *name = schema->children[i]->name;
        int64_t first;

        if (name == NULL || name[0] == '\0')
            return lmn_fail(err, LMN_E_INVALID, "column %lld to add has no name", (long long)i);
        st = lmn__fields_check_name(name, err);
        if (st != LMN_OK)
            return st;
        lmn__arrow_child(schema, name, &first);
        if (first != i)
            return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" is to be added twice", name);
        for (const struct lmn__node *node = manifest->schema.top; node != NULL; node = node->next) {
            if (strcmp(node->name, name) == 0)
                return lmn_fail(err, LMN_E_EXISTS, "column \"%.100s\" is there already", name);
        }
    }
    return LMN_OK;
}

enum lmn_status lmn__fields_of_added(const struct lmn__manifest *manifest,
                                     const struct ArrowSchema *schema, struct lmn__arena *arena,
                                     struct lmn__pb_schema *pb_out, struct lmn_error *err)
{
    int32_t first_id;
    enum lmn_status st = check_added(manifest, schema, err);

    *pb_out = (struct lmn__pb_schema){ 0 };
    if (st == LMN_OK)
        st = lmn__fields_next_id(manifest, &first_id, err);
    if (st == LMN_OK)
        st = lmn__fields_from_arrow(schema, manifest->minor, first_id, arena, pb_out, err);
    return st;
}
