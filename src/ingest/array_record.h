/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_record.h - an ArrayRecord file as its reader and writer share it.
 *
 * Behind the data stands a footer chunk of records: one about the whole, and one for each group,
 * with its place. The last block of the file begins with a postscript that says where the footer
 * is.
 */
#ifndef LMN_INGEST_ARRAY_RECORD_H
#define LMN_INGEST_ARRAY_RECORD_H

#include <stdatomic.h>

#include <leman/array_record.h>

#include "arrow/vec.h"
#include "base/arena.h"
#include "base/proto.h"
#include "ingest/record_codec.h"
#include "ingest/riegeli.h"
#include "os/file.h"

#define LMN__POSTSCRIPT_MAGIC UINT64_C(0x71930e704fdae05e)

/* RiegeliPostscript */
struct lmn__pb_postscript {
    uint64_t footer_offset, magic;
};
extern const struct lmn__pb_message lmn__pb_postscript_message;

/* ArrayRecordMetadata, in RiegeliFooterMetadata */
struct lmn__pb_record_metadata {
    uint64_t version, group_count, record_count;
    struct lmn__span options;
};
struct lmn__pb_footer_metadata {
    struct lmn__pb_record_metadata *metadata;
};
extern const struct lmn__pb_message lmn__pb_footer_metadata_message;

/* ArrayRecordFooter */
struct lmn__pb_group {
    uint64_t offset, decoded_bytes, record_count;
};
extern const struct lmn__pb_message lmn__pb_group_message;

/* A group of records in the file. */
struct lmn__group {
    uint64_t begin, end; /* in the file; padding may stand before the end */
    uint64_t decoded_bytes;
    uint64_t first, count; /* records */
};

struct lmn_array_record {
    atomic_uint_fast64_t reference_count;
    struct lmn_env *env; /* counted */
    struct lmn__arena arena;
    struct lmn__file file;
    const char *path;
    struct lmn__group *group;
    uint64_t group_count, record_count;
    char options[256];
};

void lmn__array_record_release(struct lmn_array_record *record);

/* What one thread needs to decode groups. */
struct lmn__group_scratch {
    struct lmn__record_scratch codec;
    struct lmn__buf data, sizes;
};

void lmn__group_scratch_init(struct lmn__group_scratch *scratch, struct lmn_env *env);
void lmn__group_scratch_deinit(struct lmn__group_scratch *scratch);

/*
 * Decode the chunk of `count` records at `begin` of a window: their bytes, which are exactly
 * `bytes`, to `values`, and the end of each, counted from `base`, to `ends`.
 */
LMN_MUST_USE enum lmn_status lmn__group_decode(struct lmn__group_scratch *scratch,
                                               const struct lmn__riegeli_window *window,
                                               uint64_t begin, uint64_t count, uint64_t bytes,
                                               uint8_t *values, uint64_t base, uint64_t *ends,
                                               struct lmn_error *err);

#endif
