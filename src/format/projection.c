/* SPDX-License-Identifier: Apache-2.0 */
#include "format/projection.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "base/error.h"
#include "format/logical_type.h"
#include "format/schema_write.h"

static struct lmn__selected *select_new(struct lmn__projection *projection,
                                        const struct lmn__node *node, uint32_t room)
{
    struct lmn__selected *selected = lmn__arena_alloc(&projection->arena, sizeof *selected);

    if (selected == NULL)
        return NULL;
    selected->node = node;
    selected->child = lmn__arena_array(&projection->arena, room, sizeof(struct lmn__selected *));
    return selected->child != NULL ? selected : NULL;
}

static uint32_t room_of(const struct lmn__projection *projection, const struct lmn__node *node)
{
    return node != NULL ? node->child_count : projection->schema->top_count;
}

static struct lmn__node *first_child(const struct lmn__projection *projection,
                                     const struct lmn__node *node)
{
    return node != NULL ? node->child : projection->schema->top;
}

/* `selected` and everything below it. */
static bool select_all(struct lmn__projection *projection, struct lmn__selected *selected)
{
    selected->child_count = 0;
    selected->whole = true;
    for (const struct lmn__node *node = first_child(projection, selected->node); node != NULL;
         node = node->next) {
        struct lmn__selected *child = select_new(projection, node, room_of(projection, node));

        if (child == NULL || !select_all(projection, child))
            return false;
        selected->child[selected->child_count++] = child;
    }
    return true;
}

/* Columns that Leman keeps beside those of the user are not named. */
static enum lmn_status not_found(const struct lmn__projection *projection,
                                 const struct lmn__node *parent, const char *path,
                                 struct lmn_error *err)
{
    static const char hidden[] = "_leman_";
    char names[256];
    size_t used = 0;

    names[0] = '\0';
    for (const struct lmn__node *node = first_child(projection, parent); node != NULL;
         node = node->next) {
        int len;

        if (strncmp(node->name, hidden, sizeof hidden - 1) == 0)
            continue;
        len = snprintf(names + used, sizeof names - used, "%s%s", used != 0 ? ", " : "",
                       node->name);

        if (len < 0 || (size_t)len >= sizeof names - used) {
            snprintf(names + sizeof names - 5, 5, " ...");
            break;
        }
        used += (size_t)len;
    }
    if (used != 0)
        return lmn_fail(err, LMN_E_NOT_FOUND, "no column \"%.100s\"; there are: %s", path, names);
    return lmn_fail(err, LMN_E_NOT_FOUND, "no column \"%.100s\": %s%.100s%s", path,
                    parent != NULL ? "\"" : "", parent != NULL ? parent->name : "there are none",
                    parent != NULL ? "\" has no fields" : "");
}

/* The child whose name is a prefix of `path`, which ends there or goes on behind a dot. */
static const struct lmn__node *match(const struct lmn__node *node, const char *path,
                                     const char **rest_out)
{
    const struct lmn__node *found = NULL;
    size_t best = 0;

    for (; node != NULL; node = node->next) {
        size_t len = strlen(node->name);

        if (strncmp(node->name, path, len) != 0 || (path[len] != '\0' && path[len] != '.'))
            continue;
        if (found == NULL || len > best) {
            found = node;
            best = len;
        }
    }
    if (found != NULL)
        *rest_out = path[best] == '.' ? path + best + 1 : NULL;
    return found;
}

static struct lmn__selected *find_selected(const struct lmn__selected *parent,
                                           const struct lmn__node *node)
{
    for (uint32_t i = 0; i < parent->child_count; i++) {
        if (parent->child[i]->node == node)
            return parent->child[i];
    }
    return NULL;
}

/* Is there no way to read a part of this node? */
static bool is_whole(const struct lmn__node *node)
{
    return node->packed || lmn__span_equal(node->field->logical_type, "map");
}

static enum lmn_status select_path(struct lmn__projection *projection, const char *path,
                                   struct lmn_error *err)
{
    struct lmn__selected *at = projection->root;
    const char *rest = path;

    if (path == NULL)
        return lmn_fail(err, LMN_E_INVALID, "a column is asked for by no name");
    while (rest != NULL) {
        const struct lmn__node *node = match(first_child(projection, at->node), rest, &rest);
        struct lmn__selected *child;

        /* Lists are looked through: "tags.name" is the field of the list's items. */
        if (node == NULL && at->node != NULL && at->node->child_count == 1 &&
            at->node->kind != LMN__NODE_STRUCT)
            node = at->node->child;
        if (node == NULL || (rest != NULL && is_whole(node)))
            return not_found(projection, at->node, path, err);
        child = find_selected(at, node);
        if (child != NULL && (rest == NULL || child->whole))
            return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" is asked for twice", path);
        if (child == NULL) {
            child = select_new(projection, node, room_of(projection, node));
            if (child == NULL)
                return lmn__arena_fail(&projection->arena, "a projection", err);
            at->child[at->child_count++] = child;
        }
        at = child;
    }
    return select_all(projection, at) ? LMN_OK
                                      : lmn__arena_fail(&projection->arena, "a projection", err);
}

/* `extension` false leaves out what makes a column an extension type. */
static enum lmn_status set_metadata(const struct lmn__pb_list *entries, bool extension,
                                    struct ArrowSchema *schema, struct lmn_error *err)
{
    static const char prefix[] = "ARROW:extension:";
    const struct lmn__pb_entry *entry = entries->item;
    struct ArrowBuffer metadata;
    enum lmn_status st = LMN_OK;

    if (entries->count == 0)
        return LMN_OK;
    if (ArrowMetadataBuilderInit(&metadata, NULL) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema's metadata", 0);
    for (size_t i = 0; st == LMN_OK && i < entries->count; i++) {
        struct ArrowStringView key = { (const char *)entry[i].key.data, (int64_t)entry[i].key.len };
        struct ArrowStringView value = { (const char *)entry[i].value.data,
                                         (int64_t)entry[i].value.len };

        if (!extension && entry[i].key.len >= sizeof prefix - 1 &&
            memcmp(entry[i].key.data, prefix, sizeof prefix - 1) == 0)
            continue;
        if (ArrowMetadataBuilderAppend(&metadata, key, value) != NANOARROW_OK)
            st = lmn__no_memory(err, "a schema's metadata", 0);
    }
    if (st == LMN_OK && ArrowSchemaSetMetadata(schema, (const char *)metadata.data) != NANOARROW_OK)
        st = lmn__no_memory(err, "a schema's metadata", 0);
    ArrowBufferReset(&metadata);
    return st;
}

static enum lmn_status set_plain_struct(struct ArrowSchema *schema, const char *const *name,
                                        const char *const *format, int64_t count,
                                        struct lmn_error *err)
{
    if (ArrowSchemaSetFormat(schema, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(schema, count) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    for (int64_t i = 0; i < count; i++) {
        ArrowSchemaInit(schema->children[i]);
        if (ArrowSchemaSetName(schema->children[i], name[i]) != NANOARROW_OK ||
            ArrowSchemaSetFormat(schema->children[i], format[i]) != NANOARROW_OK)
            return lmn__no_memory(err, "a schema", 0);
    }
    return LMN_OK;
}

/* A blob's type: its bytes, or what stands in the pages. */
static enum lmn_status set_blob_type(const struct lmn__projection *projection,
                                     const struct lmn__node *node, struct ArrowSchema *schema,
                                     struct lmn_error *err)
{
    static const char *const name1[] = { "position", "size" };
    static const char *const format1[] = { "L", "L" };
    static const char *const name2[] = { "kind", "position", "size", "blob_id", "blob_uri" };
    static const char *const format2[] = { "C", "L", "L", "I", "u" };

    static const char *const name3[] = { "data", "uri", "position", "size" };
    static const char *const format3[] = { "Z", "u", "L", "L" };

    if (projection->blobs == LMN_BLOB_EITHER && node->blob == LMN__BLOB_V2)
        return set_plain_struct(schema, name3, format3, 4, err);
    if (projection->blobs != LMN_BLOB_DESCRIPTORS)
        return ArrowSchemaSetFormat(schema, "Z") == NANOARROW_OK
                   ? LMN_OK
                   : lmn__no_memory(err, "a schema", 0);
    if (node->blob == LMN__BLOB_V1)
        return set_plain_struct(schema, name1, format1, 2, err);
    return set_plain_struct(schema, name2, format2, 5, err);
}

static enum lmn_status to_arrow(const struct lmn__projection *projection,
                                const struct lmn__selected *selected, struct ArrowSchema *schema,
                                struct lmn_error *err);

static enum lmn_status children_to_arrow(const struct lmn__projection *projection,
                                         const struct lmn__selected *selected,
                                         struct ArrowSchema *schema, struct lmn_error *err)
{
    if (selected->child_count == 0)
        return LMN_OK;
    if (ArrowSchemaAllocateChildren(schema, selected->child_count) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    for (uint32_t i = 0; i < selected->child_count; i++)
        ArrowSchemaInit(schema->children[i]);
    for (uint32_t i = 0; i < selected->child_count; i++) {
        enum lmn_status st = to_arrow(projection, selected->child[i], schema->children[i], err);

        if (st != LMN_OK)
            return st;
    }
    return LMN_OK;
}

/* Lance's own type of blobs that may lie elsewhere. */
static enum lmn_status mark_reference(struct ArrowSchema *schema, struct lmn_error *err)
{
    struct ArrowBuffer metadata;
    bool failed;

    if (ArrowMetadataBuilderInit(&metadata, schema->metadata) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    failed = ArrowMetadataBuilderSet(&metadata, ArrowCharView("ARROW:extension:name"),
                                     ArrowCharView("lance.blob.v2")) != NANOARROW_OK ||
             ArrowMetadataBuilderSet(&metadata, ArrowCharView("ARROW:extension:metadata"),
                                     ArrowCharView("")) != NANOARROW_OK ||
             ArrowSchemaSetMetadata(schema, (const char *)metadata.data) != NANOARROW_OK;
    ArrowBufferReset(&metadata);
    return failed ? lmn__no_memory(err, "a schema", 0) : LMN_OK;
}

/* Sketches are no blobs. */
static enum lmn_status unmark_blob(struct ArrowSchema *schema, struct lmn_error *err)
{
    struct ArrowBuffer metadata;
    bool failed;

    if (ArrowMetadataBuilderInit(&metadata, schema->metadata) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    failed = ArrowMetadataBuilderRemove(&metadata, ArrowCharView("lance-encoding:blob")) !=
                 NANOARROW_OK ||
             ArrowSchemaSetMetadata(schema, (const char *)metadata.data) != NANOARROW_OK;
    ArrowBufferReset(&metadata);
    return failed ? lmn__no_memory(err, "a schema", 0) : LMN_OK;
}

static enum lmn_status to_arrow(const struct lmn__projection *projection,
                                const struct lmn__selected *selected, struct ArrowSchema *schema,
                                struct lmn_error *err)
{
    const struct lmn__node *node = selected->node;
    enum lmn_status st;

    if (ArrowSchemaSetName(schema, node->name) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    if (node->blob != LMN__BLOB_NONE)
        st = set_blob_type(projection, node, schema, err);
    else
        st = lmn__logical_type_to_arrow(node->field->logical_type, schema, err);
    if (st != LMN_OK)
        return lmn__fail_within(err, st, "column \"%.100s\"", node->name);
    schema->flags = node->field->nullable ? ARROW_FLAG_NULLABLE : 0;
    st = set_metadata(&node->field->metadata, node->blob != LMN__BLOB_V2, schema, err);
    if (st == LMN_OK && projection->blobs == LMN_BLOB_EITHER && node->blob == LMN__BLOB_V2)
        st = mark_reference(schema, err);
    if (st == LMN_OK && (int)projection->blobs == LMN__BLOB_SKETCH && node->blob != LMN__BLOB_NONE)
        st = unmark_blob(schema, err);
    if (st == LMN_OK && node->blob == LMN__BLOB_NONE)
        st = children_to_arrow(projection, selected, schema, err);
    return st;
}

static enum lmn_status select_columns(struct lmn__projection *projection, const char *const *column,
                                      uint32_t count, struct lmn_error *err)
{
    uint32_t room = projection->schema->top_count;

    projection->root = select_new(projection, NULL, room);
    if (projection->root == NULL)
        return lmn__arena_fail(&projection->arena, "a projection", err);
    if (column == NULL)
        return select_all(projection, projection->root)
                   ? LMN_OK
                   : lmn__arena_fail(&projection->arena, "a projection", err);
    for (uint32_t i = 0; i < count; i++) {
        enum lmn_status st = select_path(projection, column[i], err);

        if (st != LMN_OK)
            return st;
    }
    return LMN_OK;
}

/* A node with everything below it, inside its parents. */
static enum lmn_status select_node(struct lmn__projection *projection, const struct lmn__node *node,
                                   struct lmn_error *err)
{
    const struct lmn__node *way[LMN__NODE_DEPTH_MAX];
    struct lmn__selected *at = projection->root;
    uint32_t depth = 0;

    for (const struct lmn__node *up = node; up != NULL; up = up->parent)
        way[depth++] = up;
    while (depth-- != 0) {
        struct lmn__selected *child = find_selected(at, way[depth]);

        if (child != NULL && (depth == 0 || child->whole))
            return lmn_fail(err, LMN_E_INVALID, "column \"%.100s\" is asked for twice", node->name);
        if (child == NULL) {
            child = select_new(projection, way[depth], room_of(projection, way[depth]));
            if (child == NULL)
                return lmn__arena_fail(&projection->arena, "a projection", err);
            at->child[at->child_count++] = child;
        }
        at = child;
    }
    return select_all(projection, at) ? LMN_OK
                                      : lmn__arena_fail(&projection->arena, "a projection", err);
}

static enum lmn_status select_nodes(struct lmn__projection *projection,
                                    const struct lmn__node *const *node, uint32_t count,
                                    struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    projection->root = select_new(projection, NULL, projection->schema->top_count);
    if (projection->root == NULL)
        return lmn__arena_fail(&projection->arena, "a projection", err);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = select_node(projection, node[i], err);
    return st;
}

/* The Arrow type of what is selected. */
static enum lmn_status finish(struct lmn__projection *projection, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (ArrowSchemaSetFormat(&projection->arrow, "+s") != NANOARROW_OK)
        st = lmn__no_memory(err, "a schema", 0);
    if (st == LMN_OK)
        st = children_to_arrow(projection, projection->root, &projection->arrow, err);
    if (st == LMN_OK)
        st = set_metadata(projection->schema->metadata, true, &projection->arrow, err);
    if (st == LMN_OK)
        st = lmn__layout_from_schema(&projection->arrow, &projection->arena, &projection->layout,
                                     err);
    return st;
}

static void start(struct lmn__projection *projection, struct lmn_env *env,
                  const struct lmn__schema *schema, enum lmn_blob_mode blobs)
{
    *projection = (struct lmn__projection){ .schema = schema, .blobs = blobs };
    lmn__arena_init(&projection->arena, env, 0);
    ArrowSchemaInit(&projection->arrow);
}

enum lmn_status lmn__projection_init(struct lmn__projection *projection, struct lmn_env *env,
                                     const struct lmn__schema *schema, const char *const *column,
                                     uint32_t count, enum lmn_blob_mode blobs,
                                     struct lmn_error *err)
{
    enum lmn_status st;

    start(projection, env, schema, blobs);
    st = select_columns(projection, column, count, err);
    if (st == LMN_OK)
        st = finish(projection, err);
    if (st != LMN_OK)
        lmn__projection_deinit(projection);
    return st;
}

enum lmn_status lmn__projection_init_nodes(struct lmn__projection *projection, struct lmn_env *env,
                                           const struct lmn__schema *schema,
                                           const struct lmn__node *const *node, uint32_t count,
                                           enum lmn_blob_mode blobs, struct lmn_error *err)
{
    enum lmn_status st;

    start(projection, env, schema, blobs);
    st = select_nodes(projection, node, count, err);
    if (st == LMN_OK)
        st = finish(projection, err);
    if (st != LMN_OK)
        lmn__projection_deinit(projection);
    return st;
}

void lmn__projection_deinit(struct lmn__projection *projection)
{
    if (projection->arrow.release != NULL)
        projection->arrow.release(&projection->arrow);
    lmn__arena_deinit(&projection->arena);
    projection->layout = NULL;
}

static enum lmn_status mark_blobs(const struct lmn__selected *selected, struct ArrowSchema *schema,
                                  struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (selected->node != NULL && selected->node->blob != LMN__BLOB_NONE)
        return lmn__arrow_mark_blob(schema, err);
    for (uint32_t i = 0; st == LMN_OK && i < selected->child_count && i < schema->n_children; i++)
        st = mark_blobs(selected->child[i], schema->children[i], err);
    return st;
}

enum lmn_status lmn__projection_mark_blobs(struct lmn__projection *projection,
                                           struct lmn_error *err)
{
    return mark_blobs(projection->root, &projection->arrow, err);
}

static bool has_blobs(const struct lmn__selected *selected)
{
    bool found = selected->node != NULL && selected->node->blob != LMN__BLOB_NONE;

    for (uint32_t i = 0; !found && i < selected->child_count; i++)
        found = has_blobs(selected->child[i]);
    return found;
}

bool lmn__projection_reads_blobs(const struct lmn__projection *projection)
{
    return projection->blobs != LMN_BLOB_DESCRIPTORS && has_blobs(projection->root);
}

static void set_layout(const struct lmn__selected *selected, const struct lmn__layout *layout,
                       struct lmn__schema *schema)
{
    if (selected->node != NULL)
        schema->node[selected->node - schema->node].layout = layout;
    if (selected->node != NULL && selected->node->kind == LMN__NODE_LEAF)
        return;
    for (uint32_t i = 0; i < selected->child_count; i++)
        set_layout(selected->child[i], layout->child[i], schema);
}

void lmn__projection_set_layouts(const struct lmn__projection *projection,
                                 struct lmn__schema *schema)
{
    set_layout(projection->root, projection->layout, schema);
}

enum lmn_status lmn__projection_schema(const struct lmn__projection *projection,
                                       struct ArrowSchema *schema_out, struct lmn_error *err)
{
    *schema_out = (struct ArrowSchema){ 0 };
    if (ArrowSchemaDeepCopy(&projection->arrow, schema_out) != NANOARROW_OK) {
        *schema_out = (struct ArrowSchema){ 0 };
        return lmn__no_memory(err, "a schema", 0);
    }
    return LMN_OK;
}
