/* SPDX-License-Identifier: Apache-2.0 */
/*
 * file.h - files and directories of the operating system.
 *
 * Calls are retried when a signal interrupts them and go on after a short read or write. A
 * missing file or directory (also: a file where a directory of the path should be) is
 * LMN_E_NOT_FOUND, a file that is in the way LMN_E_EXISTS, all else LMN_E_IO; the
 * message names the path and holds the system's own reason. Positions are explicit, so one open
 * file may be used from many threads.
 */
#ifndef LMN_OS_FILE_H
#define LMN_OS_FILE_H

#include <stdbool.h>

#include "base/bytes.h"
#include "base/env.h"

enum lmn__file_mode {
    LMN__FILE_READ,
    LMN__FILE_UPDATE, /* for reading and writing; it is there */
    LMN__FILE_CREATE  /* for writing; fails with LMN_E_EXISTS when it is there */
};

struct lmn__file {
    int fd;
};

LMN_MUST_USE enum lmn_status lmn__file_open(const char *path, enum lmn__file_mode mode,
                                            struct lmn__file *file_out, struct lmn_error *err);
/* Close; says nothing of earlier writes: lmn__file_sync() does. */
void lmn__file_close(struct lmn__file *file);

/*
 * Are half of the files that the process may have open open here? Then those who keep files for
 * later should close some: the rest of the program needs its own.
 */
bool lmn__file_crowd(void);

/* Count a file that this layer has opened; lmn__file_close() counts it off. */
void lmn__file_count(void);

LMN_MUST_USE enum lmn_status lmn__file_size(const struct lmn__file *file, const char *path,
                                            uint64_t *bytes_out, struct lmn_error *err);

/* What the system says of a file. */
struct lmn__file_info {
    uint64_t bytes;
    int64_t modified_ns; /* since 1970 */
    uint64_t number;     /* no other file of its file system has it now */
};

/* Look at a regular file by its name. */
LMN_MUST_USE enum lmn_status lmn__file_stat(const char *path, struct lmn__file_info *info_out,
                                            struct lmn_error *err);

/* Read exactly `len` bytes; a file that ends sooner is LMN_E_CORRUPT. */
LMN_MUST_USE enum lmn_status lmn__file_read_at(const struct lmn__file *file, const char *path,
                                               uint64_t offset, void *data, size_t len,
                                               struct lmn_error *err);

/* Bytes of a file. */
struct lmn__file_range {
    uint64_t offset, len;
};

LMN_MUST_USE enum lmn_status lmn__file_write_at(const struct lmn__file *file, const char *path,
                                                uint64_t offset, const void *data, size_t len,
                                                struct lmn_error *err);

/* The same of several runs of bytes, one behind the other; `span` is used up. */
LMN_MUST_USE enum lmn_status lmn__file_write_spans_at(const struct lmn__file *file,
                                                      const char *path, uint64_t offset,
                                                      struct lmn__span *span, size_t count,
                                                      struct lmn_error *err);

/*
 * Have the system find room for bytes that are about to be written, all at once; the file's size
 * stays what it is. Nothing happens where it cannot.
 */
void lmn__file_reserve(const struct lmn__file *file, uint64_t offset, uint64_t len);

/* Give room behind the file's end back. */
void lmn__file_trim(const struct lmn__file *file);

enum { LMN__FILE_BLOCK_BYTES = 4096 };

/*
 * The same, without leaving a copy in the system's memory: for much that is not read soon. That
 * goes for whole blocks, at an offset and in memory that are multiples of a block; what is left,
 * and everything where the system cannot, is written as always. Blocks are not shared with what
 * others write at the same time.
 */
LMN_MUST_USE enum lmn_status lmn__file_write_past(const struct lmn__file *file, const char *path,
                                                  uint64_t offset, const void *data, size_t len,
                                                  struct lmn_error *err);

/* Wait until what was written is on the device. A failure is final for the data. */
LMN_MUST_USE enum lmn_status lmn__file_sync(const struct lmn__file *file, const char *path,
                                            struct lmn_error *err);

/*
 * Take the exclusive lock of a file that is open for writing, without waiting. It belongs to the
 * open file, not to the process: it goes when the last copy of the descriptor is closed, so also
 * when the process dies.
 *
 * LMN_E_UNAVAILABLE  another open file has it
 */
LMN_MUST_USE enum lmn_status lmn__file_lock(const struct lmn__file *file, const char *path,
                                            struct lmn_error *err);

/* Replace `to` by `from`. */
LMN_MUST_USE enum lmn_status lmn__file_rename(const char *from, const char *to,
                                              struct lmn_error *err);

/*
 * Give `from` the second name `to`; LMN_E_EXISTS when `to` is there, LMN_E_UNSUPPORTED on a file
 * system without hard links.
 */
LMN_MUST_USE enum lmn_status lmn__file_link(const char *from, const char *to,
                                            struct lmn_error *err);

/*
 * Rename `from` to `to` unless that is there: LMN_E_EXISTS.
 *
 * LMN_E_UNSUPPORTED  the file system cannot do it
 */
LMN_MUST_USE enum lmn_status lmn__file_rename_new(const char *from, const char *to,
                                                  struct lmn_error *err);

LMN_MUST_USE enum lmn_status lmn__file_remove(const char *path, struct lmn_error *err);

/*
 * Make a directory and its parents, durably: the parent of each one that is made is synced. One
 * that is there is fine, but nothing is said about its durability.
 */
LMN_MUST_USE enum lmn_status lmn__dir_make(const char *path, struct lmn_error *err);

/*
 * The same without a wait for the device. *there_out is how much of the path was there before: the
 * directory whose entry is to be synced first, "" for "/" or the current one.
 */
LMN_MUST_USE enum lmn_status lmn__dir_make_unsynced(const char *path, size_t *there_out,
                                                    struct lmn_error *err);

/*
 * Wait until the entries of a directory are on the device. A file system that has no such
 * operation for directories counts as done.
 */
LMN_MUST_USE enum lmn_status lmn__dir_sync(const char *path, struct lmn_error *err);

/*
 * When an entry of a directory last came or went, by the clock of the file system; 0 when that
 * cannot be had. Two changes within one tick of that clock may have the same time.
 */
int64_t lmn__dir_changed_ns(const char *path);

/* Take an empty directory away. LMN_E_NOT_FOUND when it is not there. */
LMN_MUST_USE enum lmn_status lmn__dir_remove(const char *path, struct lmn_error *err);

/* Remove a directory with everything in it. */
LMN_MUST_USE enum lmn_status lmn__dir_remove_all(const char *path, struct lmn_error *err);

/* Called once per entry, without "." and "..", in no order. A status other than OK ends it. */
typedef enum lmn_status (*lmn__dir_entry_fn)(void *context, const char *name, bool is_directory,
                                             struct lmn_error *err);

LMN_MUST_USE enum lmn_status lmn__dir_list(const char *path, lmn__dir_entry_fn entry, void *context,
                                           struct lmn_error *err);

/* Called once per name. A status other than OK ends it. */
typedef enum lmn_status (*lmn__file_name_fn)(void *context, const char *name,
                                             struct lmn_error *err);

/* The files and directories that a pattern of the shell matches, sorted. */
LMN_MUST_USE enum lmn_status lmn__file_glob(const char *pattern, lmn__file_name_fn name,
                                            void *context, struct lmn_error *err);

bool lmn__file_is_directory(const char *path);

/*
 * A path that does not depend on the current directory, nor on slashes and dots that mean nothing.
 * The caller frees it.
 */
LMN_MUST_USE enum lmn_status lmn__file_absolute(struct lmn_env *env, const char *path,
                                                char **absolute_out, struct lmn_error *err);

#endif
