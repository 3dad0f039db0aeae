/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fragment_writer.h - rows to data files of new fragments.
 *
 * Data files are durable when the writer is finished; nobody sees them before a commit names them.
 * A writer that is aborted removes its files.
 */
#ifndef LMN_TABLE_FRAGMENT_WRITER_H
#define LMN_TABLE_FRAGMENT_WRITER_H

#include <leman/table_write.h>

#include "format/schema.h"
#include "store/store.h"
#include "table/table_pb.h"

struct lmn__fragment_writer;

/*
 * Start writing rows of type `schema`, whose fields have the ids of `fields` (struct
 * lmn__pb_schema_field, in the order of the tree). `minor` is the file version 2.`minor`.
 * The fields are copied; the texts in them live as long as the writer.
 */
LMN_MUST_USE enum lmn_status lmn__fragment_writer_open(
    struct lmn_store *store, const struct ArrowSchema *schema, const struct lmn__pb_list *fields,
    uint32_t minor, const struct lmn_write_options *options,
    struct lmn__fragment_writer **writer_out, struct lmn_error *err);

/* How many threads encode, as in struct lmn_file_writer_options; before the first rows. */
void lmn__fragment_writer_set_threads(struct lmn__fragment_writer *writer, uint32_t threads);

/* Append rows; a new fragment begins when one is full. */
LMN_MUST_USE enum lmn_status lmn__fragment_writer_write(struct lmn__fragment_writer *writer,
                                                        const struct ArrowArray *batch,
                                                        struct lmn_error *err);

/*
 * Finish the last file. The fragments, without ids, live in the arena. Ends the writer, also on
 * failure; then its files are removed.
 */
LMN_MUST_USE enum lmn_status lmn__fragment_writer_finish(struct lmn__fragment_writer *writer,
                                                         struct lmn__arena *arena,
                                                         struct lmn__pb_fragment **fragment_out,
                                                         uint64_t *count_out,
                                                         struct lmn_error *err);

/* End the writer and remove its files. NULL is ignored. */
void lmn__fragment_writer_abort(struct lmn__fragment_writer *writer);

/* Remove the data files of fragments that were not committed. */
void lmn__fragments_remove(struct lmn_store *store, const struct lmn__pb_fragment *fragment,
                           uint64_t count);

#endif
