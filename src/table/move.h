/* SPDX-License-Identifier: Apache-2.0 */
/*
 * move.h - rows that get other values: they are deleted where they are and written again, under
 * their old ids, into new fragments. Rows that are new may be written with them.
 */
#ifndef LMN_TABLE_MOVE_H
#define LMN_TABLE_MOVE_H

#include "table/conform.h"
#include "table/fragment_writer.h"
#include "table/touched.h"

struct lmn__move {
    struct lmn_table *table;        /* borrowed */
    struct lmn__manifest *manifest; /* the version that is read; borrowed */
    const struct lmn_write_options *options;
    struct lmn__arena arena;
    struct lmn__touched_set touched;
    struct lmn__fragment_writer *moved;    /* NULL: none yet */
    struct lmn__fragment_writer *inserted; /* NULL: none yet */
    uint64_t *address, *id;                /* of the moved rows, in the order they are written */
    uint64_t count, room;
    uint64_t inserted_count;
    struct lmn__change change;
};

/* `table`, `manifest` and `options` live on. The caller frees the move. */
void lmn__move_init(struct lmn__move *move, struct lmn_table *table, struct lmn__manifest *manifest,
                    const struct lmn_write_options *options);

/* Frees memory, and the files that were written unless they are committed. */
void lmn__move_deinit(struct lmn__move *move);

/*
 * Write rows that the table has, at `address` and of `id`, with other values. `rows` is a struct
 * array of conform's schema with every column of the table.
 */
LMN_MUST_USE enum lmn_status lmn__move_rows(struct lmn__move *move,
                                            const struct lmn__conform *conform,
                                            const struct ArrowArray *rows, const uint64_t *address,
                                            const uint64_t *id, struct lmn_error *err);

/* Write rows that the table does not have. */
LMN_MUST_USE enum lmn_status lmn__move_insert(struct lmn__move *move,
                                              const struct lmn__conform *conform,
                                              const struct ArrowArray *rows, struct lmn_error *err);

/* Finish the files that were written: move->change.added, moved rows first. */
LMN_MUST_USE enum lmn_status lmn__move_finish(struct lmn__move *move, struct lmn_error *err);

/*
 * Finish and commit what was moved, inserted and touched; nothing is committed when that is
 * nothing. `modified` are the ids of fields that have other values.
 */
LMN_MUST_USE enum lmn_status lmn__move_commit(struct lmn__move *move, struct lmn__pb_u64s modified,
                                              bool keyed, bool *again_out, struct lmn_error *err);

#endif
