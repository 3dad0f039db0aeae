/* SPDX-License-Identifier: Apache-2.0 */
/* record_options.h - how records are written, as a text: "group_size:64,zstd:3". */
#ifndef LMN_INGEST_RECORD_OPTIONS_H
#define LMN_INGEST_RECORD_OPTIONS_H

#include "ingest/record_codec.h"

struct lmn__record_options {
    enum lmn__record_codec codec;
    int level;
    uint64_t group_size;
    uint32_t parallelism; /* 0: not told */
    bool pads;            /* every group ends a block */
};

/*
 * Read the text; NULL and "" are the defaults.
 *
 * LMN_E_INVALID      no such option, or a value that is out of range
 * LMN_E_UNSUPPORTED  transpose:true
 */
LMN_MUST_USE enum lmn_status lmn__record_options_read(const char *text,
                                                      struct lmn__record_options *options_out,
                                                      struct lmn_error *err);

/* The text that is kept in the file. */
void lmn__record_options_text(const struct lmn__record_options *options, char *text, size_t bytes);

#endif
