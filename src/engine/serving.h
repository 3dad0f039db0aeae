/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving.h - a thread of a worker: what it was told, and the task that it runs.
 */
#ifndef LMN_ENGINE_SERVING_H
#define LMN_ENGINE_SERVING_H

#include <leman/worker.h>

#include "engine/channel.h"
#include "engine/inputs.h"
#include "engine/outputs.h"
#include "engine/page.h"
#include "job/sink.h"
#include "os/shared.h"

/* A function of the job, open from its first task on. */
struct lmn__serving_fill {
    const struct lmn__setup_fill *setup;
    const char **output, **input; /* names, in the arena */
    bool open;
    struct lmn__inputs inputs;
    struct lmn__outputs outputs;
    struct lmn__page_sink *sink;
    uint64_t batch_rows; /* of the next call, where the function does not say */
    double row_bytes;    /* of inputs in memory, as seen; 0: not yet */
    double row_ns;       /* of the last call; 0: not yet */
};

struct lmn__serving {
    struct lmn_env *env; /* counted */
    const struct lmn_worker_ops *ops;
    struct lmn__channel channel;
    struct lmn__shared shared;
    struct lmn__page *page;  /* in it; NULL before SETUP */
    struct lmn__arena arena; /* what SETUP said */
    struct lmn__setup_message setup;
    struct lmn_store *store;
    struct lmn_table *table; /* at the version of the last task */
    struct lmn__serving_fill *fill;
    uint32_t fill_count;
    uint32_t loaded; /* whose function is set up; UINT32_MAX: none */
};

/* Set the function of a fill up, unless it is. */
LMN_MUST_USE enum lmn_status lmn__serving_load(struct lmn__serving *serving, uint32_t fill,
                                               struct lmn_error *err);

/* Be ready for a task of this fill at this version of the table. */
LMN_MUST_USE enum lmn_status lmn__serving_enter(struct lmn__serving *serving, uint32_t fill,
                                                uint64_t version, struct lmn_error *err);

/* Run a task: results are sent as they come; the end is the caller's to tell. */
LMN_MUST_USE enum lmn_status lmn__serving_run(struct lmn__serving *serving,
                                              const struct lmn__task_message *task,
                                              struct lmn_error *err);

#endif
