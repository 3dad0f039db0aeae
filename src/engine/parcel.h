/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parcel.h - what a thread of a worker has computed and not told yet: the results of consecutive
 * calls, which become one receipt.
 */
#ifndef LMN_ENGINE_PARCEL_H
#define LMN_ENGINE_PARCEL_H

#include "engine/serving.h"

/* Where in the rows of a task. */
struct lmn__task_cursor {
    size_t range;
    uint64_t into; /* rows of that range that are behind */
};

/*
 * The ranges of the next `rows` rows from the cursor on, which moves behind them. `range` has room
 * for as many as the task has. The answer is how many there are.
 */
uint64_t lmn__task_take(const struct lmn__task_message *task, struct lmn__task_cursor *cursor,
                        uint64_t rows, struct lmn__row_range *range);

struct lmn__parcel {
    struct lmn__serving *serving;
    struct lmn__serving_fill *fill;
    const struct lmn__task_message *task;
    struct lmn__arena arena; /* of records */
    struct ArrowArray *array;
    uint64_t array_count, array_room;
    struct lmn__receipt_error *error;
    uint64_t error_count, error_room;
    uint64_t *failed; /* rows of the last call */
    uint64_t failed_room;
    struct lmn__row_range *range; /* of its rows; room for as many as the task has */
    uint64_t range_count;
    uint64_t ordinal; /* of its first row, in the unit */
    uint64_t row_count, bytes, failed_count;
    uint64_t payload_bytes; /* of its bytes, those of blobs that the function wrote itself */
    uint64_t since_ns;      /* when its first call began */
    uint64_t rows_fit;      /* see lmn_call_rows_fit() */
};

/* An empty parcel of a task that runs in `serving`; everything given lives on. */
LMN_MUST_USE enum lmn_status lmn__parcel_init(struct lmn__parcel *parcel,
                                              struct lmn__serving *serving,
                                              const struct lmn__task_message *task,
                                              struct lmn_error *err);
/* One that is zeroed may be given too. */
void lmn__parcel_deinit(struct lmn__parcel *parcel);

/*
 * Add what a call gave for `count` rows from row `first` of `rows` on. The array moves here, also
 * on failure.
 *
 * LMN_E_UDF  it is not as long as it should be, or failed rows are named that were not called
 */
LMN_MUST_USE enum lmn_status lmn__parcel_add(struct lmn__parcel *parcel,
                                             const struct lmn__input_rows *rows, uint64_t first,
                                             uint64_t count, struct lmn_call_result *result,
                                             struct lmn_error *err);

/* Nothing is added any more: its rows are those from the cursor on, which moves behind them. */
void lmn__parcel_seal(struct lmn__parcel *parcel, uint64_t ordinal,
                      struct lmn__task_cursor *cursor);

/* Write one that is sealed and not empty, and tell the engine. A lmn__hand_fn. */
LMN_MUST_USE enum lmn_status lmn__parcel_write(void *parcel, struct lmn_error *err);

/* Empty it. */
void lmn__parcel_reset(struct lmn__parcel *parcel);

#endif
