/* SPDX-License-Identifier: Apache-2.0 */
/* record.h - the records of jobs, and where they are. */
#ifndef LMN_ENGINE_RECORD_H
#define LMN_ENGINE_RECORD_H

#include <leman/job.h>

#include "base/buf.h"
#include "store/store.h"

enum { LMN__RECORD_PATH_CHARS = 128 };

/* The name of a state, as records have it. */
const char *lmn__record_state(enum lmn_job_state state);

/* The path of a file of a job inside its table's store. */
void lmn__record_path(const char *id, const char *name, char path_out[LMN__RECORD_PATH_CHARS]);

/* Append the record of a job to `buf`. LMN_E_NOT_FOUND when there is none. */
LMN_MUST_USE enum lmn_status lmn__record_read(struct lmn_store *store, const char *id,
                                              struct lmn__buf *buf, struct lmn_error *err);

/* Does its job run, as far as can be told from here? */
bool lmn__record_runs(struct lmn__span record);

/* Does it say that its job runs? One that says so and does not was interrupted. */
bool lmn__record_unfinished(struct lmn__span record);

/* A new run is not stopped by what was asked of the last one. */
void lmn__record_forget_cancel(struct lmn_store *store, const char *id);

/* What was printed goes with the record. */
void lmn__record_forget_logs(struct lmn_store *store, const char *id);

/* Note in the user's state directory which table a job belongs to; nothing happens where it cannot.
 */
void lmn__record_index(const char *id, const char *root);

#endif
