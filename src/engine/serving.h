/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serving.h - a thread of a worker: what it was told, and the task that it runs.
 */
#ifndef LMN_ENGINE_SERVING_H
#define LMN_ENGINE_SERVING_H

#include <leman/worker.h>

#include "engine/blobs.h"
#include "engine/channel.h"
#include "engine/inputs.h"
#include "engine/outputs.h"
#include "engine/page.h"
#include "engine/shelf.h"
#include "job/kept_blobs.h"
#include "job/sink.h"
#include "os/hand.h"
#include "os/shared.h"

/* A function of the job, open from its first task on. */
struct lmn__serving_fill {
    const struct lmn__setup_fill *setup;
    const char **output, **input; /* names, in the arena */
    bool open;
    struct lmn__inputs inputs;
    struct lmn__outputs outputs;
    struct lmn__page_sink *sink;
    struct lmn_blobs blobs; /* of the sink, for the task that runs */
    struct lmn__kept *kept; /* NULL: results are not kept ahead of their receipts */
    struct ArrowSchema kept_schema;
    uint64_t looks;      /* of the task at which it was looked at last */
    uint64_t batch_rows; /* of the next call, where the function does not say */
    uint64_t rows_fit;   /* into a call, as the function says; 0: it does not */
    double row_bytes;    /* of inputs in memory, as seen; 0: not yet */
    double row_ns;       /* of the last call; 0: not yet */
};

struct lmn__serving {
    struct lmn_env *env; /* counted */
    const struct lmn_worker_ops *ops;
    struct lmn__channel channel;
    struct lmn__shared shared;
    struct lmn__page *page; /* in it; NULL before SETUP */
    struct lmn__board *board[LMN__BOARDS];
    bool keeps;              /* rows go there: the engine outlives this process */
    struct lmn__arena arena; /* what SETUP said */
    struct lmn__setup_message setup;
    struct lmn_store *store;
    struct lmn_table *table;     /* at the version of the last task */
    struct lmn__manifest *named; /* the version of SETUP, whose names columns have */
    struct lmn__serving_fill *fill;
    uint32_t fill_count;
    uint32_t loaded;                   /* whose function is set up; UINT32_MAX: none */
    struct lmn__hand writing, reading; /* busy in a task only */
};

/* A call in progress: what lmn_call.job points to. */
struct lmn__serving_call {
    struct lmn__serving *serving;
    struct lmn__serving_fill *fill;
    const struct lmn__input_rows *rows;
    uint64_t first; /* of the call, in `rows` */
    uint64_t task;
    uint64_t refused_ns; /* since when limits let it wait; 0: they do not */
    uint64_t waited_ns;  /* for them in all */
};

/* call.c: wait until one call of a function that does not ask itself may be made. False: the job
 * stops. */
LMN_MUST_USE enum lmn_status lmn__serving_permit(const struct lmn_call *call, bool *granted_out,
                                                 struct lmn_error *err);

/* call.c: keep what a call gave, without the rows that failed; blobs that are bytes become numbers.
 */
LMN_MUST_USE enum lmn_status lmn__serving_keep(const struct lmn_call *call,
                                               struct lmn_call_result *result,
                                               struct lmn_error *err);

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
