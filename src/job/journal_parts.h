/* SPDX-License-Identifier: Apache-2.0 */
/*
 * journal_parts.h - the inside of a journal: the space that is given away, and the rows that have
 * receipts.
 */
#ifndef LMN_JOB_JOURNAL_PARTS_H
#define LMN_JOB_JOURNAL_PARTS_H

#include "job/journal.h"
#include "job/journal_record.h"

/* Bytes that an attempt may write, and has no receipt for yet. */
struct lmn__grant {
    uint64_t position, bytes;
};

/* A file that space is granted in. */
struct lmn__space {
    enum lmn__grant_file file;
    uint64_t fragment_id, layout; /* of a pages file */
    uint64_t next;                /* the first byte that this epoch has not granted */
    uint64_t mark;                /* durable: grants of all epochs end below it */
    uint64_t since;               /* what was granted below is in a file that went away */
    bool made;                    /* the file is known to be there */
    struct lmn__grant *grant;     /* by rising position */
    uint64_t grant_count, grant_cap;
};

/* The receipts of a fragment with a layout. */
struct lmn__journal_unit {
    uint64_t fragment_id, layout;
    struct lmn__receipt *receipt;
    uint64_t receipt_count, receipt_cap;
    bool sorted;                 /* by their first rows */
    struct lmn__row_range *row;  /* rows that have one: rising, with gaps between */
    uint64_t row_count, row_cap; /* ranges */
    struct lmn__published published;
    bool has_published;
    bool sealed; /* LMN__LAYOUT_CARRIED: they count */
};

struct lmn__journal {
    struct lmn_env *env;     /* the store's */
    struct lmn_store *store; /* counted */
    struct lmn__fill_key key;
    char *dir, *job;
    struct lmn__store_file *lock;
    struct lmn__store_file *file;
    struct lmn__arena arena; /* of receipts and notes */
    uint64_t position;       /* where the next record goes */
    uint64_t chain;
    uint64_t epoch;
    struct lmn__buf pending; /* records that are not written yet */
    bool broken;             /* a sync failed */
    struct lmn__space *space;
    uint64_t space_count, space_cap;
    struct lmn__journal_unit *unit;
    uint64_t unit_count, unit_cap;
};

/* The path of a file of the fill. */
enum { LMN__FILL_PATH_BYTES = 128 };
void lmn__fill_path(const char *dir, enum lmn__grant_file file, uint64_t fragment_id,
                    uint64_t layout, char path_out[LMN__FILL_PATH_BYTES]);

/* The path of the object that holds what was granted at `position`, where it has one of its own. */
void lmn__segment_path(const char *dir, enum lmn__grant_file file, uint64_t fragment_id,
                       uint64_t layout, uint64_t position, char path_out[LMN__FILL_PATH_BYTES]);

/* Put a record behind the others; it is written with the next sync. */
LMN_MUST_USE enum lmn_status lmn__journal_put(struct lmn__journal *journal,
                                              const struct lmn__record *record,
                                              struct lmn_error *err);

/* The space of a file; made where there is none. */
LMN_MUST_USE enum lmn_status lmn__journal_space(struct lmn__journal *journal,
                                                enum lmn__grant_file file, uint64_t fragment_id,
                                                uint64_t layout, struct lmn__space **space_out,
                                                struct lmn_error *err);

/* LMN_E_INVALID unless exactly this was granted in this epoch; then it is granted no more. */
LMN_MUST_USE enum lmn_status lmn__journal_redeem(struct lmn__journal *journal,
                                                 const struct lmn__receipt *receipt,
                                                 struct lmn_error *err);

/* The unit of a fragment; made where there is none, if `make` is set, and NULL otherwise. */
LMN_MUST_USE enum lmn_status lmn__journal_unit(struct lmn__journal *journal, uint64_t fragment_id,
                                               uint64_t layout, bool make,
                                               struct lmn__journal_unit **unit_out,
                                               struct lmn_error *err);

/* LMN_E_INVALID when one of the receipt's rows has one. */
LMN_MUST_USE enum lmn_status lmn__unit_check(const struct lmn__journal_unit *unit,
                                             const struct lmn__receipt *receipt,
                                             struct lmn_error *err);

/* Keep a receipt, whose memory is the journal's. */
LMN_MUST_USE enum lmn_status lmn__unit_add(struct lmn__journal *journal,
                                           struct lmn__journal_unit *unit,
                                           const struct lmn__receipt *receipt,
                                           struct lmn_error *err);

/* Forget what the unit has. */
void lmn__unit_clear(struct lmn__journal *journal, struct lmn__journal_unit *unit);

#endif
