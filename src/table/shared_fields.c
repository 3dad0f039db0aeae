/* SPDX-License-Identifier: Apache-2.0 */
#include "table/shared_fields.h"

#include "base/error.h"

/* The field with this id, most likely number `index`; NULL when there is none. */
static const struct lmn__pb_schema_field *find_field(const struct lmn__manifest *manifest,
                                                     size_t index, int32_t id)
{
    const struct lmn__pb_schema_field *field = manifest->pb.fields.item;
    size_t count = manifest->pb.fields.count;

    for (size_t i = 0; i < count; i++) {
        size_t at = (index + i) % count;

        if (field[at].id == id)
            return &field[at];
    }
    return NULL;
}

static bool same_text(struct lmn__span a, struct lmn__span b)
{
    return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

/* Has the version a field like this, in the same place? */
static bool has_field(const struct lmn__manifest *manifest, size_t index,
                      const struct lmn__pb_schema_field *field)
{
    const struct lmn__pb_schema_field *found = find_field(manifest, index, field->id);

    return found != NULL && found->parent_id == field->parent_id &&
           same_text(found->logical_type, field->logical_type);
}

static bool same_name(const struct lmn__manifest *a, const struct lmn__manifest *b, size_t index,
                      int32_t id)
{
    const struct lmn__pb_schema_field *x = find_field(a, index, id), *y = find_field(b, index, id);

    return x != NULL && y != NULL && same_text(x->name, y->name);
}

void lmn__shared_fields_keep(bool *shared, const struct lmn__schema *schema,
                             const struct lmn__manifest *between,
                             const struct lmn__manifest *overwritten)
{
    for (uint32_t i = 0; i < schema->node_count; i++) {
        const struct lmn__node *node = &schema->node[i];

        /* Parents stand before their children. */
        if (node->parent != NULL)
            shared[i] = shared[i] && shared[node->parent - schema->node];
        shared[i] = shared[i] && has_field(between, i, node->field) &&
                    (overwritten == NULL || same_name(between, overwritten, i, node->field->id));
    }
}

enum lmn_status lmn__shared_fields_find(struct lmn_env *env, const struct lmn__manifest *from,
                                        const struct lmn__manifest *to, bool **shared_out,
                                        struct lmn_error *err)
{
    uint32_t count = to->schema.node_count;
    bool *shared = lmn__calloc(env, count, sizeof *shared);

    *shared_out = shared;
    if (shared == NULL)
        return lmn__no_memory(err, "a list of columns", count * sizeof *shared);
    for (uint32_t i = 0; i < count; i++)
        shared[i] = true;
    lmn__shared_fields_keep(shared, &to->schema, from, NULL);
    return LMN_OK;
}
