/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scratch.h - working memory of one decoding or encoding thread, kept between pages.
 */
#ifndef LMN_CODEC_SCRATCH_H
#define LMN_CODEC_SCRATCH_H

#include "arrow/vec.h"

struct lmn__scratch {
    struct lmn_env *env;      /* borrowed */
    struct lmn_env *place;    /* borrowed; where what is handed out lies. NULL: the file's */
    struct lmn__vec fetched;  /* bytes of a page */
    struct lmn__vec rep, def; /* levels, 16 bits each */
    struct lmn__vec plain;    /* what came out of lz4 or zstd */
    struct lmn__vec index;    /* dictionary indices */
    struct lmn__vec values;   /* values on their way to several places */
    void *zstd_reader;        /* ZSTD_DCtx, made at first use */
    void *zstd_writer;        /* ZSTD_CCtx */
};

void lmn__scratch_init(struct lmn__scratch *scratch, struct lmn_env *env);
void lmn__scratch_deinit(struct lmn__scratch *scratch);

/* Make `vec` hold at least `bytes` bytes (and slack) of no particular content, len = bytes. */
LMN_MUST_USE enum lmn_status lmn__scratch_need(struct lmn__scratch *scratch, struct lmn__vec *vec,
                                               uint64_t bytes, struct lmn_error *err);

#endif
