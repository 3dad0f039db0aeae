/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - what functions print, kept with worker and row in files of the job.
 *
 *   _leman/jobs/<id>/log.jsonl     one JSON object per line
 *   _leman/jobs/<id>/log.1.jsonl   what was there before, when that had become too long
 *
 * Each worker may print so many lines at once and so many per second; those beyond are counted, not
 * kept. Belongs to the driver.
 */
#ifndef LMN_ENGINE_LOG_H
#define LMN_ENGINE_LOG_H

#include "base/buf.h"
#include "engine/log_lines.h"
#include "engine/page.h"
#include "os/file.h"
#include "os/host.h"

enum { LMN__LOG_LAST_CHARS = 100 };

struct lmn__log;

/* What a worker prints. A zeroed one has printed nothing. */
struct lmn__log_worker {
    struct lmn__log_lines lines;
    double room; /* lines that it may print now */
    uint64_t filled_ns;
    uint64_t dropped;               /* since the last line that was kept */
    char last[LMN__LOG_LAST_CHARS]; /* the last line, for messages */
};

struct lmn__log {
    struct lmn_env *env; /* borrowed; NULL: not open */
    char folder[LMN__HOST_PATH_CHARS + 128];
    struct lmn__file file; /* fd -1: none yet */
    uint64_t bytes;
    struct lmn__buf pending;
    const char *const *secret; /* borrowed; see cover.h. Their values are not kept */
    uint64_t line_count, dropped_count;
    struct lmn_error error; /* the first failure to write; nothing is kept from then on */
};

/* The log of a job in the table's folder `root`. The file is made with the first line. */
void lmn__log_init(struct lmn__log *log, struct lmn_env *env, const char *root, const char *id);
void lmn__log_deinit(struct lmn__log *log);

/* Bytes that worker number `number` has printed, while its page (NULL: unknown) shows what it does.
 */
void lmn__log_take(struct lmn__log *log, struct lmn__log_worker *worker, uint32_t number,
                   const struct lmn__page *page, const void *data, size_t len, uint64_t now_ns);

/* The worker prints no more. */
void lmn__log_end(struct lmn__log *log, struct lmn__log_worker *worker, uint32_t number,
                  const struct lmn__page *page);

/* Write what was taken. A failure shows in log->error. */
void lmn__log_flush(struct lmn__log *log);

#endif
