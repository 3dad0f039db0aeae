/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sink_parts.h - what the files of the page sink share.
 */
#ifndef LMN_JOB_SINK_PARTS_H
#define LMN_JOB_SINK_PARTS_H

#include "format/pages.h"
#include "job/payload.h"
#include "job/receipt.h"
#include "job/sink.h"

struct lmn__sink_writing;

/* Where bytes go; one table for each kind of sink. */
struct lmn__sink_place {
    /* The open file for what was granted at `position`, and the position of its first byte. */
    enum lmn_status (*open)(struct lmn__sink_writing *writing, enum lmn__grant_file kind,
                            uint64_t position, struct lmn__store_file **file_out,
                            uint64_t *base_out, struct lmn_error *err);
    /* All that goes into it is written. */
    enum lmn_status (*close)(struct lmn__sink_writing *writing, struct lmn__store_file *file,
                             struct lmn_error *err);
    /* Make what was written of a kind durable. */
    enum lmn_status (*sync)(struct lmn__sink_writing *writing, enum lmn__grant_file kind,
                            struct lmn_error *err);
};

/* sink_place.c: ranges of files that all workers share, and objects of a grant's own. */
extern const struct lmn__sink_place lmn__sink_shared, lmn__sink_segments;

struct lmn__page_sink {
    struct lmn_env *env;     /* the store's */
    struct lmn_store *store; /* counted */
    char *dir;
    struct ArrowSchema schema;
    struct ArrowSchema held; /* the same with blobs as they are held */
    struct lmn__write_plan plan;
    uint32_t column_count;
    uint32_t value_count; /* columns before the ledgers */
    bool unsynced;
    const struct lmn__sink_place *place;
    lmn__grant_fn grant;
    void *context;
    struct lmn__store_file *hold;
    struct lmn__store_file *pages; /* of: */
    uint64_t pages_fragment, pages_layout;
    uint64_t parts;                /* committed before */
    struct lmn__payloads payloads; /* not open: no column is a blob; of: */
    uint64_t fragment_id, layout;
};

/* One call of lmn__page_sink_write(). */
struct lmn__sink_writing {
    struct lmn__page_sink *sink;
    const struct lmn__page_sink_rows *rows;
    struct lmn__arena arena;
    struct ArrowArray *nulls; /* to be released: slots of rows that are dead */
    uint64_t null_count;
    struct lmn_pages **pages; /* by column; NULL: it is held */
    struct lmn__receipt receipt;
    struct lmn__receipt_hold hold;
    struct lmn__buf held;              /* Arrow bytes */
    struct lmn__page_sink_rows placed; /* the rows, with blobs as they are held */
    struct ArrowArray *made;           /* to be released: blob columns */
    uint64_t made_count;
};

/* Is a column one of blobs? */
bool lmn__sink_is_blob(const struct lmn__page_sink *sink, uint32_t column);

/* sink_blobs.c: how payloads find their place. */
extern const struct lmn__payload_ops lmn__sink_shared_payloads, lmn__sink_segment_payloads;
/* Write the payloads of blobs, and let the rows say where they are. */
LMN_MUST_USE enum lmn_status lmn__sink_place_blobs(struct lmn__sink_writing *writing,
                                                   struct lmn_error *err);
/* The write is over. */
void lmn__sink_release_blobs(struct lmn__sink_writing *writing);

/* sink_encode.c: pages of the columns that are large enough for them ... */
LMN_MUST_USE enum lmn_status lmn__sink_encode_columns(struct lmn__sink_writing *writing,
                                                      struct lmn_error *err);
/* ... and the others as an Arrow stream. */
LMN_MUST_USE enum lmn_status lmn__sink_encode_held(struct lmn__sink_writing *writing,
                                                   struct lmn_error *err);

#endif
