/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows on their way back, and receipts on their way into the journal.
 *
 * Both live in rings whose room is a power of two. Room for all that one event can add is made
 * before the event; adding never fails.
 */
#include <assert.h>
#include <string.h>

#include "base/math.h"
#include "job/machine_parts.h"

/* What one slot can add when its worker dies: rows before, in and after the call. */
#define AGAIN_PER_SLOT 3u
#define ROOM_MIN       16u

static enum lmn_status queue_reserve(struct lmn_env *env, struct lmn__again_queue *queue,
                                     uint64_t more, struct lmn_error *err)
{
    struct lmn__again *item;
    uint64_t room = queue->room == 0 ? ROOM_MIN : queue->room;

    while (room < queue->count + more)
        room *= 2;
    if (room == queue->room)
        return LMN_OK;
    item = lmn__calloc(env, room, sizeof(*item));
    if (item == NULL)
        return lmn__no_memory(err, "rows to compute again", room * sizeof(*item));
    for (uint64_t i = 0; i < queue->count; i++)
        item[i] = queue->item[(queue->head + i) & (queue->room - 1)];
    lmn__free(env, queue->item);
    queue->item = item;
    queue->head = 0;
    queue->room = room;
    return LMN_OK;
}

static enum lmn_status receipts_reserve(struct lmn__machine *machine, uint64_t more,
                                        struct lmn_error *err)
{
    struct lmn__pending_receipt *receipt;
    uint64_t room = machine->receipt_room == 0 ? ROOM_MIN : machine->receipt_room;

    while (room < machine->receipt_end - machine->receipt_head + more)
        room *= 2;
    if (room == machine->receipt_room)
        return LMN_OK;
    receipt = lmn__calloc(machine->env, room, sizeof(*receipt));
    if (receipt == NULL)
        return lmn__no_memory(err, "receipts of a job", room * sizeof(*receipt));
    for (uint64_t n = machine->receipt_head; n < machine->receipt_end; n++)
        receipt[n & (room - 1)] = machine->receipt[n & (machine->receipt_room - 1)];
    lmn__free(machine->env, machine->receipt);
    machine->receipt = receipt;
    machine->receipt_room = room;
    return LMN_OK;
}

enum lmn_status lmn__machine_reserve(struct lmn__machine *machine, struct lmn_error *err)
{
    uint64_t more = (uint64_t)machine->slot_count * AGAIN_PER_SLOT + 1;
    enum lmn_status st;

    st = queue_reserve(machine->env, &machine->again, more, err);
    if (st != LMN_OK)
        return st;
    st = queue_reserve(machine->env, &machine->alone, more, err);
    if (st != LMN_OK)
        return st;
    return receipts_reserve(machine, (uint64_t)machine->slot_count + 1, err);
}

void lmn__again_push(struct lmn__again_queue *queue, const struct lmn__again *item)
{
    assert(queue->count < queue->room);
    queue->item[(queue->head + queue->count) & (queue->room - 1)] = *item;
    queue->count++;
}

bool lmn__again_pop(struct lmn__again_queue *queue, struct lmn__again *item_out)
{
    if (queue->count == 0)
        return false;
    *item_out = queue->item[queue->head & (queue->room - 1)];
    queue->head = (queue->head + 1) & (queue->room - 1);
    queue->count--;
    return true;
}

void lmn__machine_put_back(struct lmn__machine *machine, const struct lmn__again *item)
{
    struct lmn__unit *unit = &machine->unit[item->unit];

    if (item->rows.count == 0)
        return;
    unit->pending += item->rows.count;
    machine->counts.pending += item->rows.count;
    lmn__again_push(item->deaths > 0 ? &machine->alone : &machine->again, item);
}

uint64_t lmn__machine_receipt_add(struct lmn__machine *machine, const struct lmn__again *of,
                                  uint64_t failed_count)
{
    struct lmn__unit *unit = &machine->unit[of->unit];
    uint64_t number = machine->receipt_end++;
    struct lmn__pending_receipt *receipt = &machine->receipt[number & (machine->receipt_room - 1)];

    assert(number - machine->receipt_head < machine->receipt_room);
    *receipt =
        (struct lmn__pending_receipt){ .open = true, .failed_count = failed_count, .of = *of };
    unit->accepted += of->rows.count;
    machine->counts.accepted += of->rows.count;
    return number;
}

struct lmn__pending_receipt *lmn__machine_receipt_take(struct lmn__machine *machine,
                                                       uint64_t receipt)
{
    struct lmn__pending_receipt *found;
    uint64_t mask = machine->receipt_room - 1;

    if (receipt < machine->receipt_head || receipt >= machine->receipt_end)
        return NULL;
    found = &machine->receipt[receipt & mask];
    if (!found->open)
        return NULL;
    found->open = false;
    while (machine->receipt_head < machine->receipt_end &&
           !machine->receipt[machine->receipt_head & mask].open)
        machine->receipt_head++;
    return found;
}
