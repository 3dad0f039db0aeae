/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table.h - a Lance table: a directory of data files and the versions made of them.
 *
 * A table handle stands at one version; what others commit is seen after lmn_table_refresh(). Its
 * own writes are made on the newest version and move the handle there. A handle is counted and may
 * be used from many threads.
 */
#ifndef LEMAN_TABLE_H
#define LEMAN_TABLE_H

#include <stdbool.h>

#include <leman/arrow_abi.h>
#include <leman/store.h>

struct lmn_table;

/*
 * Which version to open. A zeroed struct asks for the newest. At most one of version, tag and time
 * is set.
 */
struct lmn_table_options {
    uint64_t version;     /* by number */
    const char *tag;      /* by name */
    int64_t timestamp_us; /* the newest one not after this time, in microseconds since 1970 */
    const char *branch;   /* "main" or another, which is only read; NULL: the tag's, or "main" */
    bool readable; /* the newest that can be read, where the manifest of a newer one is damaged */
};

/*
 * Open the table whose directory is the root of `store`. `options` may be NULL.
 *
 * The caller releases *table_out; it is NULL on failure.
 *
 * LMN_E_INVALID      more than one of version, tag and time is set, a name is none for a tag or a
 *                    branch, or the tag is one of another branch
 * LMN_E_NOT_FOUND    there is no table, or no such version, tag or branch
 * LMN_E_CORRUPT      its manifest does not decode; of the newest one, the message says which can be
 *                    read
 * LMN_E_UNSUPPORTED  a feature that readers must know and this library does not, files of version
 *                    1, or a branch in a store that has no folders
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_open(struct lmn_store *store,
                                                    const struct lmn_table_options *options,
                                                    struct lmn_table **table_out,
                                                    struct lmn_error *err);

/* One more reference. */
LMN_API struct lmn_table *lmn_table_acquire(struct lmn_table *table);

/* Give a reference back. NULL is ignored. */
LMN_API void lmn_table_release(struct lmn_table *table);

/* The version that the handle stands at. */
LMN_API uint64_t lmn_table_version(struct lmn_table *table);

/*
 * Move the handle to the newest version.
 *
 * LMN_E_NOT_FOUND                   the table is gone
 * LMN_E_CORRUPT, LMN_E_UNSUPPORTED  as lmn_table_open()
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_refresh(struct lmn_table *table,
                                                       struct lmn_error *err);

/*
 * Move the handle to another version of its branch. `options` NULL is the newest.
 *
 * LMN_E_INVALID  options->branch is set: a branch is opened as a table of its own
 * and what lmn_table_open() answers
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_checkout(struct lmn_table *table,
                                                        const struct lmn_table_options *options,
                                                        struct lmn_error *err);

/* The Arrow type of the rows: a struct of the columns. The caller releases *schema_out. */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_schema(struct lmn_table *table,
                                                      struct ArrowSchema *schema_out,
                                                      struct lmn_error *err);

/* What a version is made of. */
struct lmn_table_info {
    uint64_t version;
    uint64_t row_count;     /* deleted ones not counted */
    uint64_t deleted_count; /* still in the files */
    uint64_t fragment_count;
    uint64_t file_count;
    uint64_t data_bytes;  /* of data files, as far as the manifest knows them */
    char file_version[8]; /* of new data files: "2.1" */
    bool stable_row_ids;
};

/* Describe the version that the handle stands at. LMN_E_CORRUPT when a fragment does not decode. */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_info(struct lmn_table *table,
                                                    struct lmn_table_info *info_out,
                                                    struct lmn_error *err);

/* Names, which live as long as the list. */
struct lmn_name_list {
    char **name;
    uint64_t count;
    void *memory;
};

/* Free the names. An empty list is allowed. */
LMN_API void lmn_name_list_free(struct lmn_name_list *list);

/*
 * The columns of the primary key, in its order; none when the table has no key. The caller frees
 * *list_out.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_primary_key(struct lmn_table *table,
                                                           struct lmn_name_list *list_out,
                                                           struct lmn_error *err);

#endif
