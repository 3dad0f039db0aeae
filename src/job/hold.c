/* SPDX-License-Identifier: Apache-2.0 */
#include "job/hold.h"

#include "arrow/compose.h"
#include "arrow/ipc_read.h"
#include "arrow/producer.h"
#include "arrow/schema.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/math.h"

void lmn__hold_free(struct lmn__hold *hold)
{
    if (hold->env == NULL)
        return;
    for (uint64_t i = 0; i < hold->batch_count; i++)
        lmn__array_release(&hold->batch[i]);
    lmn__free(hold->env, hold->batch);
    lmn__free(hold->env, hold->start);
    *hold = (struct lmn__hold){ 0 };
}

/* Is the stream of the columns that the receipt says? */
static enum lmn_status check_type(struct ArrowArrayStream *stream,
                                  const struct lmn__receipt_hold *pb,
                                  const struct ArrowSchema *schema, struct lmn_error *err)
{
    struct ArrowSchema given;
    enum lmn_status st = lmn__stream_schema(stream, &given, err);

    if (st != LMN_OK)
        return st;
    if ((uint64_t)given.n_children != pb->column.count)
        st = lmn_fail(err, LMN_E_CORRUPT, "%lld columns are held where %zu should be",
                      (long long)given.n_children, pb->column.count);
    for (size_t i = 0; st == LMN_OK && i < pb->column.count; i++) {
        if (pb->column.item[i] >= (uint64_t)schema->n_children ||
            lmn__arrow_type_check(given.children[i], schema->children[pb->column.item[i]], err) !=
                LMN_OK)
            st = LMN_E_CORRUPT;
    }
    given.release(&given);
    return st;
}

/* Keep a batch; it moves here. */
static enum lmn_status keep(struct lmn__hold *hold, uint64_t *cap, struct ArrowArray *batch,
                            struct lmn_error *err)
{
    if (hold->batch_count == *cap) {
        uint64_t room = lmn__max_u64(*cap * 2, 4);
        struct ArrowArray *grown = lmn__realloc(hold->env, hold->batch, room * sizeof *grown);
        uint64_t *start;

        if (grown != NULL)
            hold->batch = grown;
        start = lmn__realloc(hold->env, hold->start, (room + 1) * sizeof *start);
        if (start != NULL)
            hold->start = start;
        if (grown == NULL || start == NULL)
            return lmn__no_memory(err, "rows that are held", room * sizeof *grown);
        *cap = room;
    }
    if (hold->batch_count == 0)
        hold->start[0] = 0;
    hold->start[hold->batch_count + 1] = hold->start[hold->batch_count] + (uint64_t)batch->length;
    lmn__array_move(batch, &hold->batch[hold->batch_count++]);
    return LMN_OK;
}

static enum lmn_status read_batches(struct lmn__hold *hold, struct ArrowArrayStream *stream,
                                    uint64_t row_count, struct lmn_error *err)
{
    uint64_t cap = 0, rows = 0;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK) {
        struct ArrowArray batch;

        st = lmn__stream_next(stream, &batch, err);
        if (st != LMN_OK || batch.release == NULL)
            break;
        rows += (uint64_t)batch.length;
        if (batch.length != 0)
            st = keep(hold, &cap, &batch, err);
        lmn__array_release(&batch);
    }
    if (st == LMN_OK && rows != row_count)
        st = lmn_fail(err, LMN_E_CORRUPT, "%llu rows are held where %llu should be",
                      (unsigned long long)rows, (unsigned long long)row_count);
    return st;
}

static enum lmn_status read_stream(struct lmn__hold *hold, struct lmn__span bytes,
                                   const struct lmn__receipt *receipt,
                                   const struct ArrowSchema *schema, struct lmn_error *err)
{
    const struct lmn__receipt_hold *pb = receipt->holds.item;
    struct ArrowArrayStream stream;
    enum lmn_status st;

    if (lmn__hash64(bytes.data, bytes.len) != pb->checksum)
        return lmn_fail(err, LMN_E_CORRUPT, "the checksum is another one");
    st = lmn__ipc_read_buffer(hold->env, "hold", bytes, &stream, err);
    if (st != LMN_OK)
        return st;
    st = check_type(&stream, pb, schema, err);
    if (st == LMN_OK)
        st = read_batches(hold, &stream, receipt->row_count, err);
    stream.release(&stream);
    return st;
}

enum lmn_status lmn__hold_read(struct lmn__store_file *file, uint64_t base,
                               const struct lmn__receipt *receipt, const struct ArrowSchema *schema,
                               struct lmn__hold *hold_out, struct lmn_error *err)
{
    const struct lmn__receipt_hold *pb = receipt->holds.item;
    struct lmn_env *env = file->store->env;
    struct lmn__hold hold = { .env = env, .bytes = pb->bytes };
    struct lmn__block *block;
    enum lmn_status st = lmn__block_new(env->pool, pb->bytes, &block, err);

    *hold_out = (struct lmn__hold){ 0 };
    if (st != LMN_OK)
        return st;
    st = file->store->ops->read_at(file, pb->position - base, block->data, pb->bytes, err);
    if (st == LMN_OK)
        st = read_stream(&hold, (struct lmn__span){ block->data, pb->bytes }, receipt, schema, err);
    lmn__block_release(block);
    if (st != LMN_OK) {
        lmn__hold_free(&hold);
        return lmn__fail_within(err, st, "the hold file, %llu bytes at %llu",
                                (unsigned long long)pb->bytes, (unsigned long long)pb->position);
    }
    *hold_out = hold;
    return LMN_OK;
}

uint64_t lmn__hold_find(const struct lmn__hold *hold, uint64_t row)
{
    uint64_t low = 0, high = hold->batch_count;

    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (hold->start[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}
