/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/child_names.h"

#include <string.h>

#include "base/hash.h"

static const uint32_t no_child = 0xffffffff;

static const char *name_of(const struct ArrowSchema *schema)
{
    return schema->name != NULL ? schema->name : "";
}

/* The bucket that has the name, or the empty one where it belongs. */
static uint32_t *find(const struct lmn__child_names *names, const char *name)
{
    uint64_t at = lmn__hash64(name, strlen(name));

    for (;; at++) {
        uint32_t *bucket = &names->bucket[at & (names->bucket_count - 1)];

        if (*bucket == no_child || strcmp(name_of(names->schema->children[*bucket]), name) == 0)
            return bucket;
    }
}

enum lmn_status lmn__child_names_init(struct lmn__child_names *names,
                                      const struct ArrowSchema *schema, struct lmn__arena *arena,
                                      struct lmn_error *err)
{
    uint64_t count = 4;

    while (count < 2 * (uint64_t)schema->n_children)
        count *= 2;
    *names = (struct lmn__child_names){ .schema = schema, .bucket_count = count };
    names->bucket = lmn__arena_array(arena, count, sizeof *names->bucket);
    if (names->bucket == NULL)
        return lmn__arena_fail(arena, "names of columns", err);
    memset(names->bucket, 0xff, count * sizeof *names->bucket);
    for (int64_t i = 0; i < schema->n_children; i++) {
        uint32_t *bucket = find(names, name_of(schema->children[i]));

        if (*bucket == no_child)
            *bucket = (uint32_t)i;
    }
    return LMN_OK;
}

int64_t lmn__child_names_find(const struct lmn__child_names *names, const char *name)
{
    uint32_t found = *find(names, name);

    return found != no_child ? (int64_t)found : -1;
}
