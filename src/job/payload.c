/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers are given in the order in which extents begin, so that the list of extents rises by them.
 * What is gathered gets the numbers of a full stage when its first payload begins, and its place
 * when it is written.
 *
 * A payload whose size shows at its end has four times the space of the largest before it, and then
 * four times what it has filled. So the holes that are left are small beside what is written, and
 * of the payloads of a column only the first few can be in need of more. A hole takes no space.
 */
#include "job/payload.h"

#include <string.h>

#include <leman/page.h>

#include "base/math.h"

enum {
    PLACED_BYTES_MIN = 1 << 20,
    STAGE_BYTES_MAX = 8 << 20,
    COPY_BYTES = 1 << 20,
    ROOM_FACTOR = 4
};

static const uint64_t payload_bytes_max = 1ull << 50;

void lmn__payloads_init(struct lmn__payloads *payloads, struct lmn_store *store,
                        const struct lmn__payload_ops *ops, void *context)
{
    *payloads =
        (struct lmn__payloads){ .env = store->env, .store = store, .ops = ops, .context = context };
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
    payloads->extent_count = payloads->next = payloads->bytes = payloads->synced_bytes = 0;
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
    payloads->extent[payloads->extent_count++] = (struct lmn__payload_extent){
        .number = payloads->next, .position = position, .bytes = bytes
    };
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

/* Space that is left over is for another payload. */
static void keep_spare(struct lmn__payloads *payloads, uint64_t position, uint64_t bytes)
{
    if (bytes > payloads->spare.bytes)
        payloads->spare = (struct lmn__payload_extent){ .position = position, .bytes = bytes };
}

/* A place of its own: what is left over, if that is `bytes` or more, or so much as is wanted. */
static enum lmn_status open_place(struct lmn__payloads *payloads, uint64_t bytes, uint64_t wanted,
                                  struct lmn_error *err)
{
    struct lmn__payload_extent space = payloads->spare;
    enum lmn_status st = LMN_OK;

    if (space.bytes >= bytes) {
        payloads->spare.bytes = 0;
    } else {
        space.bytes = wanted;
        st = payloads->ops->grant(payloads->context, wanted, &space.position, err);
    }
    if (st == LMN_OK)
        st = add_extent(payloads, space.position, space.bytes, space.bytes, err);
    if (st == LMN_OK) {
        st = payloads->ops->open(payloads->context, space.position, &payloads->file,
                                 &payloads->base, err);
        payloads->extent_count -= st != LMN_OK;
    }
    payloads->first = payloads->extent_count - 1;
    payloads->room = space.bytes;
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
    st = placed ? open_place(payloads, bytes, bytes, err)
                : open_stage(payloads, known ? bytes : 0, err);
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

/* Write to the place of the payload, at `at` of it. */
static enum lmn_status write_placed(struct lmn__payloads *payloads, uint64_t at, const void *data,
                                    size_t len, struct lmn_error *err)
{
    uint64_t position = payloads->extent[payloads->first].position - payloads->base;

    return payloads->store->ops->write_at(payloads->file, position + at, data, len, err);
}

/* The payload, which fills the stage, goes to a place where there is room for more of it. */
static enum lmn_status leave_stage(struct lmn__payloads *payloads, struct lmn_error *err)
{
    uint64_t largest = lmn__max_u64(payloads->largest, STAGE_BYTES_MAX);
    enum lmn_status st = open_place(payloads, largest + largest / 4,
                                    lmn__align_up(ROOM_FACTOR * largest, LMN__FILE_BLOCK_BYTES),
                                    err);

    if (st != LMN_OK)
        return st;
    payloads->way = LMN__PAYLOAD_PLACED;
    payloads->gathering = false;
    st = write_placed(payloads, 0, payloads->stage.data, payloads->stage.len, err);
    payloads->stage.len = 0;
    return st;
}

/* Copy what is written of the payload to another place in the file. */
static enum lmn_status copy_to(struct lmn__payloads *payloads, uint64_t position,
                               struct lmn_error *err)
{
    const struct lmn__store_ops *ops = payloads->store->ops;
    uint64_t from = payloads->extent[payloads->first].position;
    enum lmn_status st = lmn__vec_reserve(&payloads->stage, payloads->env->pool, COPY_BYTES, err);

    for (uint64_t at = 0; st == LMN_OK && at < payloads->written; at += COPY_BYTES) {
        size_t len = lmn__min_u64(COPY_BYTES, payloads->written - at);

        st = ops->read_at(payloads->file, from + at, payloads->stage.data, len, err);
        if (st == LMN_OK)
            st = ops->write_at(payloads->file, position + at, payloads->stage.data, len, err);
    }
    return st;
}

/* Let the payload, as far as it is written, be in other space. */
static enum lmn_status move_to(struct lmn__payloads *payloads, uint64_t position, uint64_t bytes,
                               struct lmn_error *err)
{
    struct lmn__payload_extent *first = &payloads->extent[payloads->first];
    const struct lmn__payload_extent *last = &payloads->extent[payloads->extent_count - 1];
    enum lmn_status st;

    if (payloads->ops->move != NULL) {
        st = payloads->ops->move(payloads->context, first->position, position, err);
        payloads->base = position;
    } else {
        st = copy_to(payloads, position, err);
    }
    keep_spare(payloads, last->position, last->bytes);
    first->position = position;
    first->bytes = payloads->room = bytes;
    payloads->extent_count = payloads->first + 1;
    payloads->next = first->number + bytes;
    return st;
}

/* The space of the payload is full, and its size not known: let it have more. */
static enum lmn_status widen(struct lmn__payloads *payloads, struct lmn_error *err)
{
    const struct lmn__payload_extent *last = &payloads->extent[payloads->extent_count - 1];
    uint64_t bytes = lmn__align_up(ROOM_FACTOR * payloads->room, LMN__FILE_BLOCK_BYTES), position;
    enum lmn_status st = payloads->ops->grant(payloads->context, bytes, &position, err);

    if (st != LMN_OK)
        return st;
    if (payloads->ops->move != NULL || position != last->position + last->bytes)
        return move_to(payloads, position, bytes, err);
    payloads->room += bytes;
    return add_extent(payloads, position, bytes, bytes, err);
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
    return payloads->stage.len + len > STAGE_BYTES_MAX ? leave_stage(payloads, err) : LMN_OK;
}

static enum lmn_status append(struct lmn__payloads *payloads, const void *data, size_t len,
                              struct lmn_error *err)
{
    uint64_t at = payloads->written;
    enum lmn_status st = LMN_OK;

    if (payloads->way == LMN__PAYLOAD_NONE)
        return lmn_fail(err, LMN_E_INVALID, "no blob has begun");
    if (len > payloads->size - at || len > payload_bytes_max - at)
        return lmn_fail(err, LMN_E_INVALID, "a blob of %llu bytes has more",
                        (unsigned long long)lmn__min_u64(payloads->size, payload_bytes_max));
    if (payloads->way == LMN__PAYLOAD_GATHERED && payloads->stage.len + len > STAGE_BYTES_MAX)
        st = make_room(payloads, len, err);
    while (st == LMN_OK && payloads->way == LMN__PAYLOAD_PLACED && len > payloads->room - at)
        st = widen(payloads, err);
    if (st != LMN_OK)
        return st;
    if (payloads->way == LMN__PAYLOAD_GATHERED)
        st = lmn__vec_put(&payloads->stage, payloads->env->pool, data, len, err);
    else
        st = write_placed(payloads, at, data, len, err);
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

void lmn__payloads_drop(struct lmn__payloads *payloads)
{
    if (payloads->way == LMN__PAYLOAD_GATHERED)
        payloads->stage.len = payloads->start;
    if (payloads->way == LMN__PAYLOAD_PLACED) {
        const struct lmn__payload_extent *last = &payloads->extent[payloads->extent_count - 1];

        (void)close_place(payloads, LMN_OK, NULL);
        /* A file of its own is there, and stays until the fill is done. */
        if (payloads->ops->move == NULL)
            keep_spare(payloads, last->position, last->bytes);
        payloads->extent_count = payloads->first;
    }
    payloads->way = LMN__PAYLOAD_NONE;
}

/* Let the extents of the payload be what it has filled. */
static void trim(struct lmn__payloads *payloads)
{
    struct lmn__payload_extent *last = &payloads->extent[payloads->extent_count - 1];
    uint64_t used = payloads->written - (payloads->room - last->bytes);
    uint64_t taken = lmn__min_u64(lmn__align_up(used, LMN_PAGE_ALIGN), last->bytes);

    keep_spare(payloads, last->position + taken, last->bytes - taken);
    last->bytes = used;
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
    payloads->way = LMN__PAYLOAD_NONE;
    if (payloads->size == LMN__PAYLOAD_SIZE_UNKNOWN)
        payloads->largest = lmn__max_u64(payloads->largest, payloads->written);
    trim(payloads);
    st = close_place(payloads, LMN_OK, err);
    if (st != LMN_OK)
        payloads->extent_count = payloads->first;
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
        payload_out->number = payloads->extent[payloads->first].number;
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

enum lmn_status lmn__payloads_adopt(struct lmn__payloads *payloads, uint64_t base,
                                    uint64_t position, uint64_t bytes,
                                    struct lmn__payload *payload_out, struct lmn_error *err)
{
    struct lmn__payload_extent *extent;
    enum lmn_status st = add_extent(payloads, position, bytes, bytes, err);

    *payload_out = (struct lmn__payload){ 0 };
    if (st != LMN_OK)
        return st;
    extent = &payloads->extent[payloads->extent_count - 1];
    extent->adopted = true;
    extent->base = base;
    *payload_out = (struct lmn__payload){ extent->number, bytes };
    return LMN_OK;
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

/* How many extents begin at `number` or before. */
static uint64_t extents_upto(const struct lmn__payloads *payloads, uint64_t number)
{
    uint64_t low = 0, high = payloads->extent_count;

    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (payloads->extent[middle].number <= number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

enum lmn_status lmn__payloads_position(const struct lmn__payloads *payloads,
                                       struct lmn__payload payload, uint64_t *position_out,
                                       struct lmn_error *err)
{
    const struct lmn__payload_extent *extent = payloads->extent;
    uint64_t low = extents_upto(payloads, payload.number), high, offset = 0, bytes = 0;

    *position_out = 0;
    if (payload.bytes == 0)
        return LMN_OK;
    if (low != 0) {
        offset = payload.number - extent[low - 1].number;
        bytes = extent[low - 1].bytes;
    }
    /* A payload may go on in the extents behind. */
    for (high = low; low != 0 && high < payloads->extent_count; high++) {
        if (extent[high].number - extent[high - 1].number != extent[high - 1].bytes ||
            extent[high].position - extent[high - 1].position != extent[high - 1].bytes)
            break;
        bytes += extent[high].bytes;
    }
    if (!lmn__range_fits(offset, payload.bytes, bytes))
        return lmn_fail(err, LMN_E_INVALID, "there is no blob of %llu bytes at %llu",
                        (unsigned long long)payload.bytes, (unsigned long long)payload.number);
    *position_out = extent[low - 1].position + offset;
    return LMN_OK;
}

uint64_t lmn__payloads_base(const struct lmn__payloads *payloads, struct lmn__payload payload)
{
    uint64_t upto = extents_upto(payloads, payload.number);
    const struct lmn__payload_extent *extent = upto != 0 ? &payloads->extent[upto - 1] : NULL;

    if (extent == NULL)
        return 0;
    return extent->adopted ? extent->base : extent->position;
}
