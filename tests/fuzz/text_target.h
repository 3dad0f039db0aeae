/* SPDX-License-Identifier: Apache-2.0 */
/* text_target.h - one target for each text format: an input is read to its end, or to its error. */
#ifndef LMN_FUZZ_TEXT_TARGET_H
#define LMN_FUZZ_TEXT_TARGET_H

#include "ingest/reader.h"
#include "input.h"

/* Input: u8 rows per batch, u8 rows of the sample, then the file. */
static inline void text_target(struct lmn__span input,
                               enum lmn_status (*open)(struct lmn_env *env,
                                                       struct lmn__source *source,
                                                       const struct lmn_ingest_options *options,
                                                       struct ArrowArrayStream *stream_out,
                                                       struct lmn_error *err),
                               struct lmn_ingest_options options)
{
    struct ArrowArrayStream stream;
    struct lmn__source source;
    struct ArrowArray batch;
    struct lmn_error err;

    options.batch_rows_max = (uint32_t)take_number(&input, 1);
    options.sample_rows_max = (uint32_t)take_number(&input, 1);
    if (lmn__source_open_memory(&source, fuzz_env(), "input", input, &err) != LMN_OK ||
        open(fuzz_env(), &source, &options, &stream, &err) != LMN_OK)
        return;
    while (lmn__stream_next(&stream, &batch, &err) == LMN_OK && batch.release != NULL)
        batch.release(&batch);
    stream.release(&stream);
}

#endif
