/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fills.h - a table with a column that is being filled, driven by hand: what a driver and a worker
 * do, without processes and without a function.
 *
 * The table is that of column_tables.h: row number i has 3 * i as its "number", and row 3 is
 * deleted. The column holds, for each row, bytes that its number determines; some are null,
 * some cells failed. Functions that return nothing fail the test when something goes wrong.
 */
#ifndef LMN_TESTS_FILLS_H
#define LMN_TESTS_FILLS_H

#include <leman/leman.h>
#include <nanoarrow/nanoarrow.h>

#include "check.h"
#include "job/assemble.h"
#include "job/sink.h"

enum { FILL_FUNCTION = 0x1234, FILL_FRAGMENTS_MAX = 16 };

struct fill {
    struct lmn_store *store; /* counted */
    struct lmn_table *table;
    const char *column;
    char ledger[16];
    uint32_t value_bytes;
    struct lmn__fill_key key;
    struct lmn__plan plan;
    struct lmn__plan_fragment fragment[FILL_FRAGMENTS_MAX];
    uint64_t first[FILL_FRAGMENTS_MAX]; /* number of each fragment's first row in the table */
    struct lmn__journal *journal;
    struct lmn__page_sink *sink;
    bool segments;                /* the sink's kind; set before fill_open() */
    bool blob;                    /* the column is one of blobs */
    uint64_t fragment_id, layout; /* that the sink writes to */
};

/* Make the table with its column "v", of values of about so many bytes. */
void fill_make(struct fill *fill, struct lmn_store *store, uint64_t rows, uint64_t fragment_rows,
               uint32_t value_bytes);

/* The same with a column of blobs. */
void fill_make_blobs(struct fill *fill, struct lmn_store *store, uint64_t rows,
                     uint64_t fragment_rows, uint32_t value_bytes);

/* Add a column to be filled. */
void fill_add_column(struct lmn_table *table, const char *column);

/* Fill a column of a table that is there: open it and plan its fragments. */
void fill_attach(struct fill *fill, struct lmn_store *store, const char *column,
                 uint32_t value_bytes);

/* Open journal and sink; answers as lmn__journal_open() and lmn__assemble_recover() do. */
enum lmn_status fill_open(struct fill *fill, struct lmn_error *err);

/* Close both, without syncing. */
void fill_close(struct fill *fill);

/* Close everything. */
void fill_end(struct fill *fill);

/*
 * Compute ranges of physical rows of fragment number `index`, write them with batches of
 * `batch_rows`, and enter the receipt.
 */
enum lmn_status fill_compute(struct fill *fill, uint64_t index, const struct lmn__row_range *range,
                             uint64_t range_count, uint64_t batch_rows, struct lmn_error *err);

/* The same for one range of rows. */
enum lmn_status fill_range(struct fill *fill, uint64_t index, uint64_t first, uint64_t count,
                           struct lmn_error *err);

/*
 * Compute rows of a column of blobs and keep them (kept_blobs.h), as a worker does that dies before
 * their receipt.
 */
enum lmn_status fill_keep(struct fill *fill, uint64_t index, uint64_t first, uint64_t count,
                          struct lmn_error *err);

/*
 * Write rows that were kept, as they are found, and enter their receipt; those that are not found
 * are computed. *found_out counts the others.
 */
enum lmn_status fill_recall(struct fill *fill, uint64_t index, uint64_t first, uint64_t count,
                            uint64_t *found_out, struct lmn_error *err);

/*
 * Compute a range of rows ahead, for fill_range(), so that faults hit the code under test alone;
 * and forget all of them.
 */
enum { FILL_PREPARED_MAX = 2 };
void fill_prepare(struct fill *fill, uint64_t index, uint64_t first, uint64_t count);
void fill_forget(void);

/* Commit the fragments [first, first + count); fails with LMN_E_CONFLICT when some have moved. */
enum lmn_status fill_commit(struct fill *fill, uint64_t first, uint64_t count,
                            struct lmn_error *err);

/* Is fragment number `index` of the newest version filled? */
enum lmn_status fill_is_done(struct fill *fill, uint64_t index, bool *done_out,
                             struct lmn_error *err);

/* How many receipts of fragment number `index` have pages in their place? */
uint64_t fill_direct_count(struct fill *fill, uint64_t index);

/* The bytes of payloads in the receipts of fragment number `index`; and of those that were kept. */
uint64_t fill_payload_bytes(struct fill *fill, uint64_t index);
uint64_t fill_kept_bytes(struct fill *fill, uint64_t index);

/* Does a receipt have this row of fragment number `index`? */
bool fill_has_receipt(struct fill *fill, uint64_t index, uint64_t row);

/*
 * Fill and commit every fragment that is not, `step` rows to a receipt, each synced; then remove
 * the journal. Rows that have receipts are passed over. `computed` counts how often rows of each
 * step were computed, FILL_STEPS_MAX to a fragment, and `synced` those of which that was synced.
 */
enum { FILL_STEPS_MAX = 16 };
enum lmn_status fill_drive(struct fill *fill, uint64_t step, uint32_t *computed, uint32_t *synced,
                           struct lmn_error *err);

/* Carry what was computed for fragments that are gone; the plan is that of the newest version. */
enum lmn_status fill_rebase(struct fill *fill, struct lmn_error *err);

/* Rows of the newest version whose cell has a state; each of them holds what it should. */
uint64_t fill_check(struct lmn_store *store, const char *column, uint32_t value_bytes);

#endif
