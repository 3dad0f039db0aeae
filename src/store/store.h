/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - one table of operations behind which every kind of store stands.
 *
 * The operations are the primitives of a file system: what is written is not durable until it
 * is synced, a name is not durable until its directory is. The calls that other layers use
 * (object.h to read, draft.h to write) are made from them, so a wrapper that sits between - the
 * fault store, the power-loss store - sees every step.
 *
 * Directories are not objects of their own: they come with the first name below them, durable
 * before the call that made them returns, and stay.
 *
 * Every operation may be called from many threads at once, also on one open file, as long as
 * their writes do not overlap. Bytes that are read while they are written may be either.
 */
#ifndef LMN_STORE_STORE_H
#define LMN_STORE_STORE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <leman/store.h>

#include "base/env.h"
#include "os/file.h"

/* An open file; the first member of each kind's own struct. */
struct lmn__store_file {
    struct lmn_store *store; /* counted */
    uint64_t bytes;          /* at open, for reading */
};

/* What a store knows of a file without opening it. */
struct lmn__store_stat {
    uint64_t bytes;
    int64_t modified_ns; /* since 1970, by the store's clock */
    uint64_t number;     /* no other file of the store has it now */
};

/* Called once per entry of a directory, in no order. A status other than OK ends the listing. */
typedef enum lmn_status (*lmn__store_entry_fn)(void *context, const char *name, bool is_directory,
                                               struct lmn_error *err);

struct lmn__store_ops {
    const char *kind; /* "local", "memory", ... */

    /*
     * Open for reading. LMN_E_NOT_FOUND when there is no such file, LMN_E_INVALID when it is a
     * directory.
     */
    enum lmn_status (*open)(struct lmn_store *store, const char *path,
                            struct lmn__store_file **file_out, struct lmn_error *err);
    /*
     * Create for writing (and reading), with the directories above it. LMN_E_EXISTS when it is
     * there.
     */
    enum lmn_status (*create)(struct lmn_store *store, const char *path,
                              struct lmn__store_file **file_out, struct lmn_error *err);
    /*
     * Open for writing and reading what is there already; others may have it open as well.
     * LMN_E_NOT_FOUND and LMN_E_INVALID as `open`.
     */
    enum lmn_status (*open_update)(struct lmn_store *store, const char *path,
                                   struct lmn__store_file **file_out, struct lmn_error *err);
    /*
     * Take the exclusive lock of a file that is open for writing. It goes when the file is closed,
     * or its process dies. LMN_E_UNAVAILABLE when another open file has it: it is not waited for.
     */
    enum lmn_status (*lock)(struct lmn__store_file *file, struct lmn_error *err);
    /* Exactly `len` bytes; past the end is LMN_E_CORRUPT. */
    enum lmn_status (*read_at)(struct lmn__store_file *file, uint64_t offset, void *data,
                               size_t len, struct lmn_error *err);
    /*
     * Ranges inside the file that are about to be read; a store that can fetch them meanwhile
     * begins to. `only`: nothing beside them, even where reads come back to it. NULL: it cannot.
     */
    void (*will_read)(struct lmn__store_file *file, const struct lmn__file_range *range,
                      size_t count, bool only);
    /* Writing past the end fills the gap with zeros, which take no space where the store can. */
    enum lmn_status (*write_at)(struct lmn__store_file *file, uint64_t offset, const void *data,
                                size_t len, struct lmn_error *err);
    /*
     * The same for much that is not read soon: it leaves no copy in memory where offset and memory
     * are multiples of LMN__FILE_BLOCK_BYTES and the store can do it. NULL: it cannot; see
     * lmn__store_write_past().
     */
    enum lmn_status (*write_past)(struct lmn__store_file *file, uint64_t offset, const void *data,
                                  size_t len, struct lmn_error *err);
    /* Make what was written durable. A failure is final for the data. */
    enum lmn_status (*sync)(struct lmn__store_file *file, struct lmn_error *err);
    void (*close)(struct lmn__store_file *file);

    /*
     * Give the file `from` the name `to` instead, with the directories above it; a file of that
     * name is replaced. Nothing happens when both are names of one file. LMN_E_NOT_FOUND when
     * there is no `from`.
     */
    enum lmn_status (*rename)(struct lmn_store *store, const char *from, const char *to,
                              struct lmn_error *err);
    /*
     * Give the file `from` the second name `to`, with the directories above it; where files have
     * one name only, it is the first that goes. LMN_E_EXISTS when `to` is there, LMN_E_NOT_FOUND
     * when there is no `from`, LMN_E_UNSUPPORTED when the store cannot do it in one step.
     */
    enum lmn_status (*link)(struct lmn_store *store, const char *from, const char *to,
                            struct lmn_error *err);
    /* Take a name away; who has the file open goes on. LMN_E_NOT_FOUND when it is not there. */
    enum lmn_status (*remove)(struct lmn_store *store, const char *path, struct lmn_error *err);
    /* Take an empty directory away; "" is the root. LMN_E_NOT_FOUND when it is not there. */
    enum lmn_status (*remove_dir)(struct lmn_store *store, const char *path, struct lmn_error *err);
    /* Make the entries of a directory durable; "" is the root. LMN_E_NOT_FOUND as above. */
    enum lmn_status (*sync_dir)(struct lmn_store *store, const char *path, struct lmn_error *err);
    /*
     * List a directory; what is not there, or not a directory, is empty. `entry` may use the
     * store.
     */
    enum lmn_status (*list)(struct lmn_store *store, const char *path, lmn__store_entry_fn entry,
                            void *context, struct lmn_error *err);
    /* LMN_E_NOT_FOUND when there is no such file, LMN_E_INVALID when it is a directory. */
    enum lmn_status (*stat)(struct lmn_store *store, const char *path,
                            struct lmn__store_stat *stat_out, struct lmn_error *err);
    /*
     * A number that is another one after an entry of the directory has come or gone; 0: not known.
     * Changes within one tick of the store's clock may go unnoticed. NULL: never known.
     */
    int64_t (*dir_stamp)(struct lmn_store *store, const char *path);
    /* Free what is the kind's own, zeroed or filled; the store itself is freed by the caller. */
    void (*destroy)(struct lmn_store *store);
};

/* The first member of each kind's own struct. */
struct lmn_store {
    const struct lmn__store_ops *ops;
    struct lmn_env *env; /* counted */
    char *name;          /* how messages call it: the root, or "memory" */
    atomic_uint_fast64_t reference_count;
};

/*
 * Make a store of `bytes` bytes, its first member filled in; the rest is zeroed. For the kinds'
 * own open functions.
 */
LMN_MUST_USE enum lmn_status lmn__store_new(struct lmn_env *env, const struct lmn__store_ops *ops,
                                            const char *name, size_t bytes,
                                            struct lmn_store **store_out, struct lmn_error *err);

/*
 * Make an open file of `bytes` bytes with a reference to `store`; the rest is zeroed. For the
 * kinds' own open and create.
 */
LMN_MUST_USE enum lmn_status lmn__store_file_new(struct lmn_store *store, size_t bytes,
                                                 struct lmn__store_file **file_out,
                                                 struct lmn_error *err);

/* Free the struct and its reference, not what the kind keeps in it. NULL is ignored. */
void lmn__store_file_free(struct lmn__store_file *file);

/* LMN_E_INVALID for a path that is empty, absolute or has empty, "." or ".." parts. */
LMN_MUST_USE enum lmn_status lmn__store_check_path(const struct lmn_store *store, const char *path,
                                                   struct lmn_error *err);

/* `write_past` of the file's store, or `write_at` where it has none. */
LMN_MUST_USE enum lmn_status lmn__store_write_past(struct lmn__store_file *file, uint64_t offset,
                                                   const void *data, size_t len,
                                                   struct lmn_error *err);

/* Length of the directory part of `path`, without its slash; 0 when it lies in the root. */
size_t lmn__store_dir_len(const char *path);

#endif
