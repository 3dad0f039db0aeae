/* SPDX-License-Identifier: Apache-2.0 */
/* none.h - a file that cannot be read, as a stream without rows that tells of it. */
#ifndef LMN_INGEST_NONE_H
#define LMN_INGEST_NONE_H

#include <leman/ingest.h>

/*
 * A stream of the columns `schema`, which moves here, also on failure. When it is read, it reports
 * that file `path` has the problem that `*err` says. On success the report is the stream's to free.
 */
LMN_MUST_USE enum lmn_status lmn__none_open(struct lmn_env *env, struct ArrowSchema *schema,
                                            const char *path,
                                            const struct lmn_ingest_options *options,
                                            struct ArrowArrayStream *stream_out,
                                            struct lmn_error *err);

#endif
