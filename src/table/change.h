/* SPDX-License-Identifier: Apache-2.0 */
/*
 * change.h - what an operation does to a table, and how it becomes a version.
 *
 * A change is made against one version of the table, the one that was read. Committing it builds
 * the next version from the newest manifest. When others have committed in between, the change is
 * either fitted to theirs, or has to be made again from the newest version, or conflicts:
 *
 *   change         fits after           is made again after                   conflicts with
 *   append         everything else      -                                     overwrite, restore,
 *                                                                             columns that it has
 *                                                                             are others
 *   delete, move   append, other rows   the same rows, or moved fragments     overwrite, restore
 *   set            append, other rows   the same rows, or files; project      overwrite, restore
 *   merge          index                all else                              overwrite, restore
 *   project        what keeps a schema  merge, project, config                overwrite, restore
 *   rewrite        other fragments      the same fragments                    overwrite, restore
 *   overwrite      everything           -                                     -
 *
 * Everything that a change points at lives until it is committed.
 */
#ifndef LMN_TABLE_CHANGE_H
#define LMN_TABLE_CHANGE_H

#include "table/deletion.h"
#include "table/table.h"

enum lmn__change_kind {
    LMN__CHANGE_APPEND,    /* `added` */
    LMN__CHANGE_OVERWRITE, /* `added`, `fields` */
    LMN__CHANGE_DELETE,    /* `touched` */
    LMN__CHANGE_MOVE,      /* update of rows: `touched` loses them, `added` has them again */
    LMN__CHANGE_SET,       /* update of columns: `replaced` fragments, `touched` rows of each;
                              `added` are new */
    LMN__CHANGE_MERGE,     /* `replaced` (all fragments), `fields` */
    LMN__CHANGE_PROJECT,   /* `fields` */
    LMN__CHANGE_REWRITE,   /* `group` */
    LMN__CHANGE_REPLACE,   /* data replacement: `replaced` fragments, `fields_modified` */
    LMN__CHANGE_RESTORE    /* `restored_version` */
};

/* Rows that a change deletes from a fragment, or sets in it. */
struct lmn__touched {
    uint64_t fragment_id;
    struct lmn__deletion rows; /* those of this change alone; bits in env's memory */
};

/* Fragments that are replaced by others with the same rows. */
struct lmn__rewrite_group {
    struct lmn__pb_fragment *before;
    uint64_t before_count;
    struct lmn__pb_fragment *after; /* ids are assigned by the commit */
    uint64_t after_count;
};

/* Which parts of a load a commit holds; see load_note.h. */
struct lmn__load_note {
    const char *begun; /* a table that is made: by which load; "": that load is finished */
    const uint64_t *token;
    uint64_t token_count;
    bool again; /* they may be there already */
};

struct lmn__change {
    enum lmn__change_kind kind;
    uint64_t read_version;             /* 0: there was no table */
    const struct lmn__manifest *known; /* a version of the same table; NULL: any is meant */
    struct lmn__pb_fragment *added;    /* without ids; row ids only where rows keep theirs */
    uint64_t added_count;
    struct lmn__touched *touched;
    uint64_t touched_count;
    struct lmn__pb_fragment *replaced; /* MERGE: all; REPLACE, SET: those with another file */
    uint64_t replaced_count;
    const struct lmn__rewrite_group *group;
    uint64_t group_count;
    const struct lmn__pb_list *fields;          /* struct lmn__pb_schema_field */
    const struct lmn__pb_list *schema_metadata; /* OVERWRITE; struct lmn__pb_entry */
    struct lmn__pb_u64s fields_modified; /* MOVE, SET, REPLACE: ids of fields with other values */
    uint64_t inputs_version;  /* REPLACE: the version that filled cells were computed from, which
                                 the transaction says; 0: they are not such cells */
    const char *predicate;    /* DELETE */
    const char *message;      /* may be NULL */
    const char *file_version; /* OVERWRITE: "2.1" */
    bool stable_row_ids;      /* a table that is made: rows keep their ids */
    bool keeps_nullability;   /* MERGE, PROJECT */
    bool keyed;               /* MOVE, SET: rows were inserted because their keys were not there */
    bool alone; /* it is made again when anything at all was committed since read_version */
    bool unsynced;
    uint64_t restored_version;
    const struct lmn__load_note *note; /* APPEND, OVERWRITE: parts of a load; may be NULL */
    bool may_stand; /* out: the commit failed so late that it may be there; its files stay */
};

/*
 * Can `message`, which may be NULL, be kept with a version?
 *
 * LMN_E_INVALID  it is not UTF-8
 */
LMN_MUST_USE enum lmn_status lmn__change_check_message(const char *message, struct lmn_error *err);

/*
 * Commit `change` and move `table` to the version that it makes.
 *
 * *again_out is set when the operation has to be made again from the newest version, to which the
 * table is moved then; the status is LMN_E_CONFLICT.
 *
 * LMN_E_CONFLICT     others have changed the same things; the message names what
 * LMN_E_UNSUPPORTED  the table has a feature that writers must know and this library does not
 */
LMN_MUST_USE enum lmn_status lmn__change_commit(struct lmn_table *table, struct lmn__change *change,
                                                bool *again_out, struct lmn_error *err);

/* One attempt of an operation at the version that its table stands at; answers as a commit does. */
typedef enum lmn_status (*lmn__attempt_fn)(void *context, bool *again_out, struct lmn_error *err);

/*
 * Make an operation on the newest version, and again while commits of others ask for it.
 *
 * LMN_E_CONFLICT  it did not come through
 */
LMN_MUST_USE enum lmn_status lmn__change_make(struct lmn_table *table, lmn__attempt_fn attempt,
                                              void *context, struct lmn_error *err);

/*
 * May rows or columns be back that were gone at version `from`? A restore since then, up to
 * `manifest`, brings them back, an overwrite others in their place; and of versions that are
 * cleaned up nobody knows. What an operation has written for an earlier attempt lacks them.
 */
bool lmn__change_went_back(struct lmn_table *table, uint64_t from,
                           const struct lmn__manifest *manifest);

/*
 * Make the first version of a table in `store`. LMN_E_EXISTS when there is one already.
 */
LMN_MUST_USE enum lmn_status lmn__change_create(struct lmn_store *store, struct lmn__change *change,
                                                struct lmn_table **table_out,
                                                struct lmn_error *err);

#endif
