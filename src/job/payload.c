/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers are given in the order in which extents begin, so that the list of extents rises by them.
 * What is gathered gets the numbers of a full stage when its first payload begins, and its place
 * when it is written.
 */
#include "job/payload.h"

#include <stdio.h>
#include <string.h>

#include <leman/page.h>

#include "base/math.h"
#include "os/random.h"

enum { PLACED_BYTES_MIN = 1 << 20, STAGE_BYTES_MAX = 8 << 20, COPY_BYTES = 1 << 20 };

static const uint64_t payload_bytes_max = 1ull << 50;

void lmn__payloads_init(struct lmn__payloads *payloads, struct lmn_store *store, const char *dir,
                        const struct lmn__payload_ops *ops, void *context, bool once)
{
    *payloads = (struct lmn__payloads){
        .env = store->env, .store = store, .dir = dir, .ops = ops, .context = context, .once = once
    };
}

void lmn__payloads_deinit(struct lmn__payloads *payloads)
{
    if (payloads->env == NULL)
        return;
    lmn__payloads_drop(payloads);
    lmn__vec_deinit(&payloads->stage);
    lmn__free(payloads->env, payloads->extent);
    *payloads = (struct lmn__payloads){ 0 };
}

void lmn__payloads_reset(struct lmn__payloads *payloads, bool same_file)
{
    lmn__payloads_drop(payloads);
    payloads->extent_count = payloads->next = payloads->bytes = 0;
    payloads->failure.status = LMN_OK;
    payloads->stage.len = 0;
    payloads->gathering = false;
    if (!same_file)
        payloads->spare = (struct lmn__payload_extent){ 0 };
}

static enum lmn_status add_extent(struct lmn__payloads *payloads, uint64_t position, uint64_t bytes,
                                  uint64_t numbers, struct lmn_error *err)
{
    if (payloads->extent_count == payloads->extent_cap) {
        uint64_t cap = lmn__max_u64(payloads->extent_cap * 2, 16);
        struct lmn__payload_extent *grown = lmn__realloc(payloads->env, payloads->extent,
                                                         cap * sizeof *grown);

        if (grown == NULL)
            return lmn__no_memory(err, "a list of blobs", cap * sizeof *grown);
        payloads->extent = grown;
        payloads->extent_cap = cap;
    }
    payloads->extent[payloads->extent_count++] = (struct lmn__payload_extent){ payloads->next,
                                                                               position, bytes };
    payloads->next += numbers;
    return LMN_OK;
}

/* Close the place that is open; the first failure counts. */
static enum lmn_status close_place(struct lmn__payloads *payloads, enum lmn_status st,
                                   struct lmn_error *err)
{
    enum lmn_status closed = payloads->ops->close(payloads->context, payloads->file,
                                                  st == LMN_OK ? err : NULL);

    payloads->file = NULL;
    return st != LMN_OK ? st : closed;
}

/* Write the first `len` bytes of the stage to a place of their own, and leave the rest in it. */
static enum lmn_status flush(struct lmn__payloads *payloads, size_t len, struct lmn_error *err)
{
    struct lmn__payload_extent *extent = &payloads->extent[payloads->stage_extent];
    enum lmn_status st;

    payloads->gathering = false;
    if (len == 0)
        return LMN_OK;
    st = payloads->ops->grant(payloads->context, len, &extent->position, err);
    if (st == LMN_OK)
        st = payloads->ops->open(payloads->context, extent->position, &payloads->file,
                                 &payloads->base, err);
    if (st != LMN_OK)
        return st;
    extent->bytes = len;
    st = payloads->store->ops->write_at(payloads->file, extent->position - payloads->base,
                                        payloads->stage.data, len, err);
    st = close_place(payloads, st, err);
    payloads->stage.len -= len;
    memmove(payloads->stage.data, payloads->stage.data + len, payloads->stage.len);
    return st;
}

/* Let the stage have room for `bytes` more, and an extent. */
static enum lmn_status open_stage(struct lmn__payloads *payloads, uint64_t bytes,
                                  struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (payloads->gathering && payloads->stage.len + bytes > STAGE_BYTES_MAX)
        st = flush(payloads, payloads->stage.len, err);
    if (st != LMN_OK || payloads->gathering)
        return st;
    payloads->stage_extent = payloads->extent_count;
    st = add_extent(payloads, 0, 0, STAGE_BYTES_MAX, err);
    payloads->gathering = st == LMN_OK;
    return st;
}

/* A place of its own for a payload of known size. */
static enum lmn_status open_place(struct lmn__payloads *payloads, uint64_t bytes,
                                  struct lmn_error *err)
{
    uint64_t position = payloads->spare.position;
    enum lmn_status st = LMN_OK;

    if (bytes <= payloads->spare.bytes)
        payloads->spare.bytes = 0;
    else
        st = payloads->ops->grant(payloads->context, bytes, &position, err);
    if (st == LMN_OK)
        st = add_extent(payloads, position, bytes, bytes, err);
    if (st == LMN_OK) {
        st = payloads->ops->open(payloads->context, position, &payloads->file, &payloads->base,
                                 err);
        payloads->extent_count -= st != LMN_OK;
    }
    return st;
}

static enum lmn_status begin(struct lmn__payloads *payloads, uint64_t bytes, struct lmn_error *err)
{
    bool known = bytes != LMN__PAYLOAD_SIZE_UNKNOWN;
    bool placed = known && bytes >= PLACED_BYTES_MIN;
    enum lmn_status st;

    if (payloads->way != LMN__PAYLOAD_NONE)
        return lmn_fail(err, LMN_E_INVALID, "a blob begins before the one before it has ended");
    if (known && bytes > payload_bytes_max)
        return lmn_fail(err, LMN_E_INVALID, "a blob of %llu bytes", (unsigned long long)bytes);
    st = placed ? open_place(payloads, bytes, err) : open_stage(payloads, known ? bytes : 0, err);
    if (st != LMN_OK)
        return st;
    payloads->way = placed ? LMN__PAYLOAD_PLACED : LMN__PAYLOAD_GATHERED;
    payloads->size = bytes;
    payloads->written = 0;
    payloads->start = payloads->stage.len;
    return LMN_OK;
}

/* A failure of the store is remembered. */
static enum lmn_status remember(struct lmn__payloads *payloads, enum lmn_status st,
                                const struct lmn_error *failure, struct lmn_error *err)
{
    if (st == LMN_OK)
        return LMN_OK;
    if (st != LMN_E_INVALID && payloads->failure.status == LMN_OK)
        payloads->failure = *failure;
    if (err != NULL)
        *err = *failure;
    return st;
}

enum lmn_status lmn__payloads_begin(struct lmn__payloads *payloads, uint64_t bytes,
                                    struct lmn_error *err)
{
    struct lmn_error failure;

    return remember(payloads, begin(payloads, bytes, &failure), &failure, err);
}

/* Move the payload, which fills the stage, to a temporary file. */
static enum lmn_status spill(struct lmn__payloads *payloads, struct lmn_error *err)
{
    char token[LMN__TOKEN_CHARS];
    enum lmn_status st = lmn__random_token(token, err);

    if (st != LMN_OK)
        return st;
    snprintf(payloads->spill, sizeof payloads->spill, "%s/spill-%s", payloads->dir, token);
    st = payloads->store->ops->create(payloads->store, payloads->spill, &payloads->file, err);
    if (st != LMN_OK)
        return st;
    payloads->way = LMN__PAYLOAD_SPILLED;
    st = payloads->store->ops->write_at(payloads->file, 0, payloads->stage.data,
                                        payloads->stage.len, err);
    payloads->stage.len = 0;
    return st;
}

/* The stage is full: what is before the payload goes to its place, then the payload elsewhere. */
static enum lmn_status make_room(struct lmn__payloads *payloads, size_t len, struct lmn_error *err)
{
    enum lmn_status st;

    if (payloads->start != 0) {
        st = flush(payloads, payloads->start, err);
        payloads->start = 0;
        if (st == LMN_OK)
            st = open_stage(payloads, 0, err);
        if (st != LMN_OK)
            return st;
    }
    return payloads->stage.len + len > STAGE_BYTES_MAX ? spill(payloads, err) : LMN_OK;
}

static enum lmn_status append(struct lmn__payloads *payloads, const void *data, size_t len,
                              struct lmn_error *err)
{
    const struct lmn__store_ops *ops = payloads->store->ops;
    uint64_t at = payloads->written;
    enum lmn_status st = LMN_OK;

    if (payloads->way == LMN__PAYLOAD_NONE)
        return lmn_fail(err, LMN_E_INVALID, "no blob has begun");
    if (len > payloads->size - at || len > payload_bytes_max - at)
        return lmn_fail(err, LMN_E_INVALID, "a blob of %llu bytes has more",
                        (unsigned long long)lmn__min_u64(payloads->size, payload_bytes_max));
    if (payloads->way == LMN__PAYLOAD_GATHERED && payloads->stage.len + len > STAGE_BYTES_MAX)
        st = make_room(payloads, len, err);
    if (st != LMN_OK)
        return st;
    if (payloads->way == LMN__PAYLOAD_GATHERED)
        st = lmn__vec_put(&payloads->stage, payloads->env->pool, data, len, err);
    else if (payloads->way == LMN__PAYLOAD_SPILLED)
        st = ops->write_at(payloads->file, at, data, len, err);
    else
        st = ops->write_at(payloads->file,
                           payloads->extent[payloads->extent_count - 1].position - payloads->base +
                               at,
                           data, len, err);
    if (st == LMN_OK)
        payloads->written += len;
    return st;
}

enum lmn_status lmn__payloads_write(struct lmn__payloads *payloads, const void *data, size_t len,
                                    struct lmn_error *err)
{
    struct lmn_error failure;

    return remember(payloads, append(payloads, data, len, &failure), &failure, err);
}

static void drop_spill(struct lmn__payloads *payloads, struct lmn__store_file *file)
{
    payloads->store->ops->close(file);
    (void)payloads->store->ops->remove(payloads->store, payloads->spill, NULL);
}

void lmn__payloads_drop(struct lmn__payloads *payloads)
{
    if (payloads->way == LMN__PAYLOAD_GATHERED)
        payloads->stage.len = payloads->start;
    if (payloads->way == LMN__PAYLOAD_PLACED) {
        const struct lmn__payload_extent *extent = &payloads->extent[--payloads->extent_count];

        (void)close_place(payloads, LMN_OK, NULL);
        if (!payloads->once && extent->bytes > payloads->spare.bytes)
            payloads->spare = *extent;
    }
    if (payloads->way == LMN__PAYLOAD_SPILLED) {
        drop_spill(payloads, payloads->file);
        payloads->file = NULL;
    }
    payloads->way = LMN__PAYLOAD_NONE;
}

/* Copy the temporary file to the place that is open. */
static enum lmn_status copy_spill(struct lmn__payloads *payloads, struct lmn__store_file *spilled,
                                  uint64_t bytes, struct lmn_error *err)
{
    const struct lmn__store_ops *ops = payloads->store->ops;
    uint64_t position = payloads->extent[payloads->extent_count - 1].position - payloads->base;
    enum lmn_status st = LMN_OK;

    payloads->stage.len = 0;
    st = lmn__vec_reserve(&payloads->stage, payloads->env->pool, COPY_BYTES, err);
    for (uint64_t at = 0; st == LMN_OK && at < bytes; at += COPY_BYTES) {
        size_t len = lmn__min_u64(COPY_BYTES, bytes - at);

        st = ops->read_at(spilled, at, payloads->stage.data, len, err);
        if (st == LMN_OK)
            st = ops->write_at(payloads->file, position + at, payloads->stage.data, len, err);
    }
    return st;
}

/* Its size is known: give it its place. */
static enum lmn_status place_spilled(struct lmn__payloads *payloads, struct lmn_error *err)
{
    struct lmn__store_file *spilled = payloads->file;
    uint64_t bytes = payloads->written;
    enum lmn_status st;

    payloads->file = NULL;
    payloads->gathering = false;
    payloads->way = LMN__PAYLOAD_NONE;
    st = open_place(payloads, bytes, err);
    if (st == LMN_OK) {
        st = copy_spill(payloads, spilled, bytes, err);
        st = close_place(payloads, st, err);
        payloads->extent_count -= st != LMN_OK;
    }
    drop_spill(payloads, spilled);
    return st;
}

/* The bytes of the stage behind the payload are padded: each begins at a multiple of 64. */
static enum lmn_status pad_stage(struct lmn__payloads *payloads, struct lmn_error *err)
{
    static const uint8_t padding[LMN_PAGE_ALIGN];

    return lmn__vec_put(&payloads->stage, payloads->env->pool, padding,
                        -payloads->stage.len & (LMN_PAGE_ALIGN - 1), err);
}

/* Let the payload be whole where it is. */
static enum lmn_status finish(struct lmn__payloads *payloads, struct lmn_error *err)
{
    enum lmn_status st;

    if (payloads->size != LMN__PAYLOAD_SIZE_UNKNOWN && payloads->written != payloads->size)
        return lmn_fail(err, LMN_E_INVALID, "a blob of %llu bytes ends after %llu",
                        (unsigned long long)payloads->size, (unsigned long long)payloads->written);
    if (payloads->way == LMN__PAYLOAD_GATHERED)
        return pad_stage(payloads, err);
    if (payloads->way == LMN__PAYLOAD_SPILLED)
        return place_spilled(payloads, err);
    payloads->way = LMN__PAYLOAD_NONE;
    st = close_place(payloads, LMN_OK, err);
    payloads->extent_count -= st != LMN_OK;
    return st;
}

enum lmn_status lmn__payloads_end(struct lmn__payloads *payloads, struct lmn__payload *payload_out,
                                  struct lmn_error *err)
{
    bool gathered = payloads->way == LMN__PAYLOAD_GATHERED;
    struct lmn_error failure;
    enum lmn_status st;

    *payload_out = (struct lmn__payload){ .bytes = payloads->written };
    if (payloads->way == LMN__PAYLOAD_NONE)
        return lmn_fail(err, LMN_E_INVALID, "no blob has begun");
    st = remember(payloads, finish(payloads, &failure), &failure, err);
    if (st != LMN_OK) {
        lmn__payloads_drop(payloads);
        return st;
    }
    payloads->way = LMN__PAYLOAD_NONE;
    payloads->bytes += payloads->written;
    if (gathered)
        payload_out->number = payloads->extent[payloads->stage_extent].number + payloads->start;
    else
        payload_out->number = payloads->extent[payloads->extent_count - 1].number;
    return LMN_OK;
}

enum lmn_status lmn__payloads_put(struct lmn__payloads *payloads, const void *data, size_t len,
                                  struct lmn__payload *payload_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__payloads_begin(payloads, len, err);

    *payload_out = (struct lmn__payload){ 0 };
    if (st != LMN_OK)
        return st;
    st = lmn__payloads_write(payloads, data, len, err);
    if (st == LMN_OK)
        return lmn__payloads_end(payloads, payload_out, err);
    lmn__payloads_drop(payloads);
    return st;
}

enum lmn_status lmn__payloads_settle(struct lmn__payloads *payloads, struct lmn_error *err)
{
    if (payloads->way != LMN__PAYLOAD_NONE)
        return lmn_fail(err, LMN_E_INVALID, "a blob has not ended");
    if (payloads->failure.status != LMN_OK) {
        if (err != NULL)
            *err = payloads->failure;
        return payloads->failure.status;
    }
    return payloads->gathering ? flush(payloads, payloads->stage.len, err) : LMN_OK;
}

enum lmn_status lmn__payloads_position(const struct lmn__payloads *payloads,
                                       struct lmn__payload payload, uint64_t *position_out,
                                       struct lmn_error *err)
{
    uint64_t low = 0, high = payloads->extent_count, offset;

    *position_out = 0;
    if (payload.bytes == 0)
        return LMN_OK;
    /* The first extent whose number is larger. */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (payloads->extent[middle].number <= payload.number)
            low = middle + 1;
        else
            high = middle;
    }
    offset = low != 0 ? payload.number - payloads->extent[low - 1].number : 0;
    if (low == 0 || !lmn__range_fits(offset, payload.bytes, payloads->extent[low - 1].bytes))
        return lmn_fail(err, LMN_E_INVALID, "there is no blob of %llu bytes at %llu",
                        (unsigned long long)payload.bytes, (unsigned long long)payload.number);
    *position_out = payloads->extent[low - 1].position + offset;
    return LMN_OK;
}
