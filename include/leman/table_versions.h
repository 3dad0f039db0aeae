/* SPDX-License-Identifier: Apache-2.0 */
/*
 * table_versions.h - the versions of a table: list, name, restore, compare, clean up.
 */
#ifndef LEMAN_TABLE_VERSIONS_H
#define LEMAN_TABLE_VERSIONS_H

#include <leman/table_write.h>

/* One version, or one tag. Texts live as long as the list. */
struct lmn_version_entry {
    uint64_t version;
    int64_t timestamp_us;
    const char *operation; /* "append", "delete", ... */
    const char *message;   /* "" when there is none */
    uint64_t row_count;
    uint64_t fragment_count;
};

struct lmn_version_list {
    struct lmn_version_entry *entry;
    uint64_t count;
    void *memory;
};

/*
 * All versions that are left, rising. The caller frees the list. A version whose manifest is
 * damaged, or needs what this library does not know, is an "unreadable" operation whose message
 * says why.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_versions(struct lmn_table *table,
                                                        struct lmn_version_list *list_out,
                                                        struct lmn_error *err);
LMN_API void lmn_version_list_free(struct lmn_version_list *list);

struct lmn_tag_entry {
    const char *name;
    const char *branch; /* "" is the main one */
    uint64_t version;
};

struct lmn_tag_list {
    struct lmn_tag_entry *entry;
    uint64_t count;
    void *memory;
};

/* All tags, by name; all branches, with the newest version of each. The caller frees the list. */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_tags(struct lmn_table *table,
                                                    struct lmn_tag_list *list_out,
                                                    struct lmn_error *err);
LMN_API LMN_MUST_USE enum lmn_status lmn_table_branches(struct lmn_table *table,
                                                        struct lmn_tag_list *list_out,
                                                        struct lmn_error *err);
LMN_API void lmn_tag_list_free(struct lmn_tag_list *list);

/*
 * Give version `version` (0: that of the handle) a name. With `move` a name that is taken is moved.
 *
 * LMN_E_EXISTS       the name is taken
 * LMN_E_INVALID      it is none: letters, digits, '.', '_' and '-' are
 * LMN_E_NOT_FOUND    there is no such version
 * LMN_E_UNSUPPORTED  the handle is one of a branch, whose versions get no tags
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_tag(struct lmn_table *table, const char *name,
                                                   uint64_t version, bool move,
                                                   struct lmn_error *err);

/*
 * Take a name away.
 *
 * LMN_E_NOT_FOUND                   there is no such tag
 * LMN_E_INVALID, LMN_E_UNSUPPORTED  as lmn_table_tag()
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_untag(struct lmn_table *table, const char *name,
                                                     struct lmn_error *err);

/*
 * Make a new version with the content of an earlier one. It is made also where the manifest of the
 * newest is damaged; a handle of such a table is opened at a version that can be read.
 *
 * LMN_E_NOT_FOUND  there is no such version
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_restore(struct lmn_table *table, uint64_t version,
                                                       struct lmn_error *err);

/*
 * What happened to the rows between two versions, as a stream: the columns of the newer one behind
 * "_change" ("insert", "update", "delete") and "_rowid". Deleted rows have the values that they had
 * at `from`, updated and inserted ones those that they have at `to`.
 *
 * LMN_E_INVALID      `from` is above `to`
 * LMN_E_NOT_FOUND    one of the versions is not there
 * LMN_E_CORRUPT      a manifest does not decode; from the stream: a file or a page
 * LMN_E_UNSUPPORTED  the table has no stable row ids, or a column "_change"
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_diff(struct lmn_table *table, uint64_t from,
                                                    uint64_t to,
                                                    struct ArrowArrayStream *stream_out,
                                                    struct lmn_error *err);

/* A zeroed struct asks for the defaults. */
struct lmn_compact_options {
    uint64_t target_rows_per_fragment; /* default 1,048,576 */
    double deleted_share;              /* rewrite fragments that lost more; default 0.1 */
    struct lmn_write_options write;
};

struct lmn_compact_result {
    uint64_t fragments_removed, fragments_added;
    uint64_t rows_rewritten;
};

/*
 * Join small fragments and drop deleted rows; see table_write.h. Row ids stay, where they are
 * stable. `options` and `result_out` may be NULL. Nothing to do makes no version.
 *
 * LMN_E_INVALID  a share of deleted rows that is not between 0 and 1, or options as those of
 *                lmn_table_append()
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_compact(struct lmn_table *table,
                                                       const struct lmn_compact_options *options,
                                                       struct lmn_compact_result *result_out,
                                                       struct lmn_error *err);

struct lmn_cleanup_options {
    int64_t older_than_us;  /* versions made before this time go; 0: two weeks ago */
    bool ignore_tags;       /* tagged versions go, too, with their tags */
    bool remove_unverified; /* files that no version names, however young */
    bool dry_run;           /* count only */
};

struct lmn_cleanup_result {
    uint64_t versions_removed, files_removed, bytes_removed;
};

/*
 * Remove old versions and the files that only they name. The newest version always stays, and so do
 * those since the one that a running job began with, if the job is one of this library. Files
 * that no version names are left alone for seven days: a writer may be about to commit them.
 * `options` and `result_out` may be NULL.
 *
 * LMN_E_CORRUPT      a manifest, a tag or a branch does not decode, so what it needs is not known
 * LMN_E_UNSUPPORTED  a version has a feature that this library does not know, so neither is that
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_cleanup(struct lmn_table *table,
                                                       const struct lmn_cleanup_options *options,
                                                       struct lmn_cleanup_result *result_out,
                                                       struct lmn_error *err);

/*
 * Rewrite a table of file version 2.0 as 2.1, in one commit; one that is 2.1 or later is left as it
 * is. Rows keep their order, and their ids where these are stable; schema, metadata, configuration
 * and tags stay. Deleted rows and indices are not taken over: build indices again. See
 * table_write.h.
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_upgrade(struct lmn_table *table,
                                                       struct lmn_error *err);

/* Called for everything that lmn_table_verify() finds wrong. */
typedef void (*lmn_verify_fn)(void *context, const char *finding);

struct lmn_verify_result {
    uint64_t files, pages, bytes, findings;
};

/*
 * Read every page of every file of the version, and the tags, and say what is wrong where: LMN_OK,
 * however much is. `found`, `result_out` may be NULL.
 *
 * LMN_E_NO_MEMORY  the environment's limits do not allow it
 */
LMN_API LMN_MUST_USE enum lmn_status lmn_table_verify(struct lmn_table *table, lmn_verify_fn found,
                                                      void *context,
                                                      struct lmn_verify_result *result_out,
                                                      struct lmn_error *err);

#endif
