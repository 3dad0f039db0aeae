/* SPDX-License-Identifier: Apache-2.0 */
#include "format/schema.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/math.h"
#include "base/utf8.h"

/* Children of a blob descriptor; in files they stand behind their struct as if on top level. */
enum { BLOB_FIELD_COUNT = 5 };

struct lmn__span lmn__node_metadata(const struct lmn__node *node, const char *key)
{
    const struct lmn__pb_entry *entry = node->field->metadata.item;

    for (size_t i = 0; i < node->field->metadata.count; i++) {
        if (lmn__span_equal(entry[i].key, key))
            return (struct lmn__span){ entry[i].value.data != NULL ? entry[i].value.data
                                                                   : (const uint8_t *)"",
                                       entry[i].value.len };
    }
    return (struct lmn__span){ NULL, 0 };
}

bool lmn__node_flag(const struct lmn__node *node, const char *key)
{
    return lmn__span_equal(lmn__node_metadata(node, key), "true");
}

/* Either key says it, in any case of letters. */
static bool is_packed(const struct lmn__node *node)
{
    static const char *const key[] = { "lance-encoding:packed", "packed" };
    bool packed = false;

    for (int i = 0; i < 2; i++) {
        struct lmn__span value = lmn__node_metadata(node, key[i]);

        packed = packed || (value.len == 4 && (value.data[0] | 0x20) == 't' &&
                            (value.data[1] | 0x20) == 'r' && (value.data[2] | 0x20) == 'u' &&
                            (value.data[3] | 0x20) == 'e');
    }
    return packed;
}

static bool has_prefix(struct lmn__span text, const char *prefix)
{
    size_t len = strlen(prefix);

    return text.len >= len && memcmp(text.data, prefix, len) == 0;
}

static enum lmn_status set_kind(struct lmn__node *node, struct lmn_error *err)
{
    static const char fixed_struct[] = "fixed_size_list:struct:";
    struct lmn__span type = node->field->logical_type;
    bool blob = lmn__node_flag(node, "lance-encoding:blob");

    if (lmn__span_equal(type, "struct")) {
        /* Files hold descriptors; manifests hold what the user sees, an extension type. */
        bool extension = lmn__span_equal(lmn__node_metadata(node, "ARROW:extension:name"),
                                         "lance.blob.v2");

        node->packed = extension || is_packed(node);
        node->blob = extension || (blob && node->packed) ? LMN__BLOB_V2 : LMN__BLOB_NONE;
        node->kind = node->packed ? LMN__NODE_LEAF : LMN__NODE_STRUCT;
    } else if (lmn__span_equal(type, "list") || lmn__span_equal(type, "list.struct") ||
               lmn__span_equal(type, "large_list") || lmn__span_equal(type, "large_list.struct") ||
               lmn__span_equal(type, "map")) {
        node->kind = LMN__NODE_LIST;
    } else if (has_prefix(type, fixed_struct)) {
        char digits[16] = "";
        size_t len = type.len - (sizeof fixed_struct - 1);
        long dimension;

        if (len < sizeof digits)
            memcpy(digits, type.data + type.len - len, len);
        dimension = strtol(digits, NULL, 10);
        if (dimension < 1 || dimension > INT32_MAX)
            return lmn_fail(err, LMN_E_CORRUPT, "bad type \"%.*s\"",
                            (int)lmn__min_u64(type.len, 99), (const char *)type.data);
        node->kind = LMN__NODE_FIXED_LIST;
        node->dimension = (uint32_t)dimension;
    } else if ((lmn__span_equal(type, "large_binary") && blob) || lmn__span_equal(type, "blob")) {
        node->blob = LMN__BLOB_V1;
    }
    return LMN_OK;
}

static void add_child(struct lmn__schema *schema, struct lmn__node *parent, struct lmn__node *node)
{
    struct lmn__node **first = parent != NULL ? &parent->child : &schema->top;
    struct lmn__node **last = parent != NULL ? &parent->last_child : &schema->last_top;

    *(*first != NULL ? &(*last)->next : first) = node;
    *last = node;
    node->parent = parent;
    node->depth = parent != NULL ? parent->depth + 1 : 0;
    if (parent != NULL)
        parent->child_count++;
    else
        schema->top_count++;
}

/* The node on the way from `last` to the top that has this id. */
static struct lmn__node *find_parent(struct lmn__node *last, int32_t id)
{
    while (last != NULL && last->field->id != id)
        last = last->parent;
    return last;
}

static enum lmn_status place_node(struct lmn__schema *schema, struct lmn__node *node,
                                  struct lmn__node *last, struct lmn_error *err)
{
    int32_t parent_id = node->field->parent_id;
    struct lmn__node *blob = last != NULL && last->parent != NULL ? last->parent : last;

    if (node->field->id == -1 && parent_id == -1 && blob != NULL && blob->blob == LMN__BLOB_V2 &&
        blob->child_count < BLOB_FIELD_COUNT) {
        add_child(schema, blob, node);
        return LMN_OK;
    }
    if (parent_id == -1) {
        add_child(schema, NULL, node);
        return LMN_OK;
    }
    last = find_parent(last, parent_id);
    if (last == NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "its parent %d does not stand before it", parent_id);
    if (last->depth + 1 >= LMN__NODE_DEPTH_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "fields nest deeper than %d", LMN__NODE_DEPTH_MAX);
    add_child(schema, last, node);
    return LMN_OK;
}

/* A list or fixed list has one child; a leaf that is no packed struct has none. */
static enum lmn_status check_children(const struct lmn__node *node, struct lmn_error *err)
{
    bool one = node->kind == LMN__NODE_LIST || node->kind == LMN__NODE_FIXED_LIST;
    bool none = node->kind == LMN__NODE_LEAF && !node->packed;

    if ((one && node->child_count != 1) || (none && node->child_count != 0))
        return lmn_fail(err, LMN_E_CORRUPT, "a \"%.*s\" with %u children",
                        (int)lmn__min_u64(node->field->logical_type.len, 99),
                        (const char *)node->field->logical_type.data, node->child_count);
    return LMN_OK;
}

static bool inside_packed(const struct lmn__node *node)
{
    for (node = node->parent; node != NULL; node = node->parent) {
        if (node->packed)
            return true;
    }
    return false;
}

/* A struct without children has a column too, though there is nothing to put into it. */
static void assign_columns(struct lmn__schema *schema, uint32_t minor)
{
    for (uint32_t i = 0; i < schema->node_count; i++) {
        struct lmn__node *node = &schema->node[i];

        if (node->kind == LMN__NODE_STRUCT && node->child_count == 0)
            node->kind = LMN__NODE_LEAF;
        node->column = LMN__NO_COLUMN;
        if (!inside_packed(node) && (minor == 0 || node->kind == LMN__NODE_LEAF))
            node->column = schema->column_count++;
    }
}

enum lmn_status lmn__schema_read(const struct lmn__pb_schema *pb, uint32_t minor,
                                 struct lmn__arena *arena, struct lmn__schema *schema_out,
                                 struct lmn_error *err)
{
    const struct lmn__pb_schema_field *field = pb->fields.item;
    struct lmn__schema *schema = schema_out;
    enum lmn_status st = LMN_OK;

    *schema = (struct lmn__schema){ .metadata = &pb->metadata };
    schema->node_count = (uint32_t)pb->fields.count;
    schema->node = lmn__arena_array(arena, pb->fields.count, sizeof *schema->node);
    if (schema->node == NULL)
        return lmn__arena_fail(arena, "a schema", err);
    for (uint32_t i = 0; st == LMN_OK && i < schema->node_count; i++) {
        struct lmn__node *node = &schema->node[i];

        node->field = &field[i];
        node->name = lmn__arena_strndup(arena, field[i].name.data, field[i].name.len);
        if (node->name == NULL)
            return lmn__arena_fail(arena, "a schema", err);
        if (!lmn__utf8_valid(field[i].name) || !lmn__utf8_valid(field[i].logical_type))
            return lmn_fail(err, LMN_E_CORRUPT, "the name or type of field %u is no text", i);
        st = set_kind(node, err);
        if (st == LMN_OK)
            st = place_node(schema, node, i != 0 ? &schema->node[i - 1] : NULL, err);
        if (st != LMN_OK)
            return lmn__fail_within(err, st, "field %u (\"%.100s\")", i, node->name);
    }
    for (uint32_t i = 0; i < schema->node_count; i++) {
        st = check_children(&schema->node[i], err);
        if (st != LMN_OK)
            return lmn__fail_within(err, st, "field %u (\"%.100s\")", i, schema->node[i].name);
    }
    assign_columns(schema, minor);
    return LMN_OK;
}
