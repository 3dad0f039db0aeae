/* SPDX-License-Identifier: Apache-2.0 */
/*
 * array_record_encode.h - records into the data of a chunk.
 *
 * A group that is not compressed borrows the values of its records: what it is made of has to stay
 * until it is written.
 */
#ifndef LMN_INGEST_ARRAY_RECORD_ENCODE_H
#define LMN_INGEST_ARRAY_RECORD_ENCODE_H

#include "arrow/layout.h"
#include "ingest/record_codec.h"

/* What one thread needs to encode groups. */
struct lmn__group_bench {
    struct lmn__record_scratch codec;
    struct lmn__buf sizes, values;
};

void lmn__group_bench_init(struct lmn__group_bench *bench, struct lmn_env *env);
void lmn__group_bench_deinit(struct lmn__group_bench *bench);

/* A group that is encoded: its data are `head` and behind it `values`. */
struct lmn__encoded_group {
    struct lmn__buf head;
    struct lmn__span values;  /* "" when they are compressed, and part of the head */
    struct lmn__buf gathered; /* where values are that lie apart in the array */
    uint64_t hash, record_count, decoded_bytes;
};

void lmn__encoded_group_init(struct lmn__encoded_group *group, struct lmn_env *env);
void lmn__encoded_group_deinit(struct lmn__encoded_group *group);

/*
 * Encode `count` records of `sizes` bytes, which are varints, and of `values`, one behind the
 * other. What `group` held is gone.
 */
LMN_MUST_USE enum lmn_status lmn__group_encode(struct lmn__group_bench *bench,
                                               enum lmn__record_codec codec, int level,
                                               struct lmn__span sizes, struct lmn__span values,
                                               uint64_t count, struct lmn__encoded_group *group,
                                               struct lmn_error *err);

/* The same with slots [first, first + count) of an array of bytes. */
LMN_MUST_USE enum lmn_status lmn__group_encode_rows(
    struct lmn__group_bench *bench, enum lmn__record_codec codec, int level,
    const struct lmn__layout *layout, const struct ArrowArray *array, uint64_t first,
    uint64_t count, struct lmn__encoded_group *group, struct lmn_error *err);

#endif
