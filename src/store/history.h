/* SPDX-License-Identifier: Apache-2.0 */
/*
 * history.h - what was done to the files and names of a store, and what of it is durable.
 *
 * The memory of the power-loss store; it does no I/O. A file is its content at its last sync and
 * the writes since. A name is what it durably stood for when the history began and the changes
 * since; a change is durable when every directory it touches was synced after it.
 *
 * A history belongs to one thread at a time.
 */
#ifndef LMN_STORE_HISTORY_H
#define LMN_STORE_HISTORY_H

#include "base/buf.h"

struct lmn__history_file;
struct lmn__history_name;
struct lmn__history_change;

struct lmn__history {
    struct lmn_env *env; /* borrowed */
    struct lmn__history_file *file;
    struct lmn__history_name *name;
    struct lmn__history_change *change;
    size_t change_count;
    size_t change_cap;
};

void lmn__history_init(struct lmn__history *history, struct lmn_env *env);
void lmn__history_deinit(struct lmn__history *history);

/* An empty file without a name; it lives as long as the history. */
LMN_MUST_USE enum lmn_status lmn__history_file_new(struct lmn__history *history,
                                                   struct lmn__history_file **file_out,
                                                   struct lmn_error *err);

/* A write that is not durable yet. */
LMN_MUST_USE enum lmn_status lmn__history_write(struct lmn__history_file *file, uint64_t offset,
                                                const void *data, size_t len,
                                                struct lmn_error *err);

/* Make all writes to the file durable. */
LMN_MUST_USE enum lmn_status lmn__history_sync(struct lmn__history_file *file,
                                               struct lmn_error *err);

/* Is `path` known? Then *file_out is the file it stands for, or NULL when there is none. */
bool lmn__history_find(const struct lmn__history *history, const char *path,
                       struct lmn__history_file **file_out);

/* Make a path known, with the file that it durably stands for; NULL: none. */
LMN_MUST_USE enum lmn_status lmn__history_adopt(struct lmn__history *history, const char *path,
                                                struct lmn__history_file *file,
                                                struct lmn_error *err);

/*
 * Record a change of known names. `to` stands for `file` from then on, `from` for none; either
 * may be NULL. With both it is a rename, and one change.
 */
LMN_MUST_USE enum lmn_status lmn__history_change(struct lmn__history *history, const char *from,
                                                 const char *to, struct lmn__history_file *file,
                                                 struct lmn_error *err);

/* Take the last change back: it did not happen. */
void lmn__history_undo(struct lmn__history *history);

/* The names in the directory `path` were synced. */
void lmn__history_sync_dir(struct lmn__history *history, const char *path);

/*
 * One path after a power loss: with `content`, or absent when that is NULL. `same` is NULL or
 * another name of the same file, unchanged or reported before; then `content` says nothing.
 */
typedef enum lmn_status (*lmn__history_path_fn)(void *context, const char *path,
                                                const struct lmn__buf *content, const char *same,
                                                struct lmn_error *err);

/*
 * Lose power and report every path that was changed: in what it stands for, or in what that holds.
 * The history itself stays as it is.
 *
 * Seed 0 drops all that is not durable. Another seed throws a coin for each: a change of names is
 * kept or dropped as a whole, a write is kept, dropped or cut short. Changes of one name keep
 * their order: a later one is never kept without those before it.
 */
LMN_MUST_USE enum lmn_status lmn__history_crash(struct lmn__history *history, uint64_t seed,
                                                lmn__history_path_fn report, void *context,
                                                struct lmn_error *err);

#endif
