/* SPDX-License-Identifier: Apache-2.0 */
/*
 * projection.h - the part of a schema that a reader asks for, as an Arrow type.
 */
#ifndef LMN_FORMAT_PROJECTION_H
#define LMN_FORMAT_PROJECTION_H

#include <leman/file.h>

#include "arrow/layout.h"
#include "format/schema.h"

/* A node that is read, with those of its children that are. */
struct lmn__selected {
    const struct lmn__node *node; /* NULL for the root, whose children are the columns */
    bool whole;                   /* with everything below it */
    bool absent;                  /* all null, whatever the files of a fragment have */
    uint32_t child_count;
    struct lmn__selected **child;
};

/*
 * A blob mode of the library's own: large binaries that tell, with few bytes, whether a blob is
 * another one; see blob.h.
 */
enum { LMN__BLOB_SKETCH = LMN_BLOB_EITHER + 1 };

struct lmn__projection {
    struct lmn__arena arena;
    const struct lmn__schema *schema;
    enum lmn_blob_mode blobs;
    struct lmn__selected *root;
    struct ArrowSchema arrow;         /* a struct with the columns */
    const struct lmn__layout *layout; /* of `arrow` */
};

/*
 * Select columns by name, in that order; nested fields by path ("info.width"), which stand
 * inside their parents. `count` 0 with `column` NULL selects all. `schema` must live on.
 *
 * The caller frees the projection.
 *
 * LMN_E_NOT_FOUND  a name is not in the schema; the message lists what is
 * LMN_E_INVALID    a column is named twice
 */
LMN_MUST_USE enum lmn_status lmn__projection_init(struct lmn__projection *projection,
                                                  struct lmn_env *env,
                                                  const struct lmn__schema *schema,
                                                  const char *const *column, uint32_t count,
                                                  enum lmn_blob_mode blobs, struct lmn_error *err);

/*
 * Select nodes of the tree, in that order, each with everything below it and inside its parents.
 *
 * LMN_E_INVALID  a node stands there twice, or below another
 */
LMN_MUST_USE enum lmn_status lmn__projection_init_nodes(struct lmn__projection *projection,
                                                        struct lmn_env *env,
                                                        const struct lmn__schema *schema,
                                                        const struct lmn__node *const *node,
                                                        uint32_t count, enum lmn_blob_mode blobs,
                                                        struct lmn_error *err);

void lmn__projection_deinit(struct lmn__projection *projection);

/* Let the Arrow type of a projection that reads bytes of blobs say which columns are blobs. */
LMN_MUST_USE enum lmn_status lmn__projection_mark_blobs(struct lmn__projection *projection,
                                                        struct lmn_error *err);

/* Are bytes of blobs read, of which columns tell neither the number nor the size? */
bool lmn__projection_reads_blobs(const struct lmn__projection *projection);

/* A copy of the projection's Arrow type; the caller releases it. */
LMN_MUST_USE enum lmn_status lmn__projection_schema(const struct lmn__projection *projection,
                                                    struct ArrowSchema *schema_out,
                                                    struct lmn_error *err);

/* Give every node of the schema its layout, from a projection of all columns. */
void lmn__projection_set_layouts(const struct lmn__projection *projection,
                                 struct lmn__schema *schema);

#endif
