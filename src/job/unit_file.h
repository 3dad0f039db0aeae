/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit_file.h - the data file of a fragment that a fill has rows for.
 *
 * Where nothing lies in its final place it is an ordinary file, encoded by several threads. Where
 * something does, the pages file is completed: what is held or kept is cut into pages behind those
 * that are there, the tail ends it, and it moves into data/. So is one into which whole pages of
 * the table's own file are copied, because their rows stay as they are.
 */
#ifndef LMN_JOB_UNIT_FILE_H
#define LMN_JOB_UNIT_FILE_H

#include "job/journal.h"
#include "job/unit_rows.h"

struct lmn__unit_file {
    struct lmn_table *table;
    struct lmn__journal *journal;
    const struct lmn__fill_columns *columns;
    struct lmn__unit_rows *rows;
    uint64_t index; /* of the fragment in columns->manifest */
    uint64_t fragment_id, layout;
    uint64_t row_count; /* physical */
    const struct lmn__receipt *receipt;
    uint64_t receipt_count;
    const char *name; /* inside of data/ */
    uint32_t threads; /* of the writer; 0: the environment's */
    bool unsynced;
    bool copies; /* pages whose rows stay as they are */
};

/*
 * Is it worth while to copy pages of the table's file? `index` is the fragment's number in
 * columns->manifest.
 */
LMN_MUST_USE enum lmn_status lmn__unit_file_may_copy(
    struct lmn_table *table, const struct lmn__fill_columns *columns, uint64_t index,
    const struct lmn__receipt *receipt, uint64_t count, bool *copies_out, struct lmn_error *err);

/* Does one of the receipts have pages, or payloads of blobs, in their place? */
bool lmn__receipts_are_direct(const struct lmn__receipt *receipt, uint64_t count);

/* Is the pages file completed? So it is for columns of blobs, whatever the receipts have. */
bool lmn__unit_file_is_direct(const struct lmn__fill_columns *columns,
                              const struct lmn__receipt *receipt, uint64_t count);

/*
 * Write the file; it is durable under its name afterwards, but for a direct one the directories are
 * to be synced. *bytes_out is its size.
 */
LMN_MUST_USE enum lmn_status lmn__unit_file_write(const struct lmn__unit_file *file,
                                                  uint64_t *bytes_out, struct lmn_error *err);

/*
 * Write the file inside of the fill's directory, for somebody who reads it back; `name` does not
 * count. path_out has LMN__FILL_PATH_BYTES.
 */
LMN_MUST_USE enum lmn_status lmn__unit_file_carry(const struct lmn__unit_file *file, char *path_out,
                                                  struct lmn_error *err);

#endif
