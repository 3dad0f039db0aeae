/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Units: how they enter the plan and leave it.
 *
 * The rows of a new unit that have no receipt become runs of the machine, in order. A unit that
 * leaves takes its rows out of every count; what is left of it in queues, slots and receipts is
 * passed over when it turns up.
 */
#include <string.h>

#include "base/error.h"
#include "base/math.h"
#include "job/machine_parts.h"

static enum lmn_status done_check(const struct lmn__machine *machine,
                                  const struct lmn__machine_unit *unit, uint64_t *done_rows_out,
                                  struct lmn_error *err)
{
    uint64_t end = 0;

    *done_rows_out = 0;
    if (unit->fill >= machine->options.fill_count)
        return lmn_fail(err, LMN_E_INVALID, "unit %llu is of fill %u; the job has %u",
                        (unsigned long long)machine->unit_count, unit->fill,
                        machine->options.fill_count);
    for (uint64_t i = 0; i < unit->done_count; i++) {
        const struct lmn__ordinals *done = &unit->done[i];

        if (done->first < end || !lmn__range_fits(done->first, done->count, unit->row_count))
            return lmn_fail(err, LMN_E_INVALID,
                            "unit %llu: rows %llu + %llu are done, after %llu and of %llu",
                            (unsigned long long)machine->unit_count,
                            (unsigned long long)done->first, (unsigned long long)done->count,
                            (unsigned long long)end, (unsigned long long)unit->row_count);
        end = done->first + done->count;
        *done_rows_out += done->count;
    }
    if (unit->done_failed > *done_rows_out)
        return lmn_fail(err, LMN_E_INVALID, "unit %llu: %llu of %llu finished rows failed",
                        (unsigned long long)machine->unit_count,
                        (unsigned long long)unit->done_failed, (unsigned long long)*done_rows_out);
    return LMN_OK;
}

/* *memory with room for `count` objects and more; *room_io follows. */
static enum lmn_status grow(struct lmn_env *env, void **memory, size_t bytes, uint64_t room,
                            struct lmn_error *err)
{
    uint64_t total;
    void *grown;

    if (!lmn__mul_u64(room, bytes, &total))
        return lmn__no_memory(err, "the units of a job", UINT64_MAX);
    grown = lmn__realloc(env, *memory, total);
    if (grown == NULL)
        return lmn__no_memory(err, "the units of a job", total);
    *memory = grown;
    return LMN_OK;
}

static enum lmn_status units_reserve(struct lmn__machine *machine, struct lmn_error *err)
{
    uint64_t room = lmn__max_u64(16, machine->unit_room * 2);
    enum lmn_status st;

    if (machine->unit_count < machine->unit_room)
        return LMN_OK;
    st = grow(machine->env, (void **)&machine->unit, sizeof(*machine->unit), room, err);
    if (st == LMN_OK)
        st = grow(machine->env, (void **)&machine->whole, sizeof(*machine->whole), room, err);
    if (st == LMN_OK)
        st = grow(machine->env, (void **)&machine->commit_unit, sizeof(*machine->commit_unit), room,
                  err);
    if (st == LMN_OK)
        machine->unit_room = room;
    return st;
}

static enum lmn_status runs_reserve(struct lmn__machine *machine, uint64_t more,
                                    struct lmn_error *err)
{
    uint64_t room = lmn__max_u64(16, machine->run_room);
    enum lmn_status st;

    while (room - machine->run_count < more)
        room *= 2;
    if (room == machine->run_room)
        return LMN_OK;
    st = grow(machine->env, (void **)&machine->run, sizeof(*machine->run), room, err);
    if (st == LMN_OK)
        machine->run_room = room;
    return st;
}

static void run_add(struct lmn__machine *machine, uint64_t first, uint64_t end)
{
    if (first < end)
        machine->run[machine->run_count++] = (struct lmn__ordinals){ first, end - first };
}

enum lmn_status lmn__machine_add_unit(struct lmn__machine *machine,
                                      const struct lmn__machine_unit *given, uint64_t *unit_out,
                                      struct lmn_error *err)
{
    struct lmn__unit *unit;
    uint64_t done_rows, first = 0;
    enum lmn_status st;

    *unit_out = machine->unit_count;
    st = done_check(machine, given, &done_rows, err);
    if (st == LMN_OK)
        st = lmn__first_check(machine, given, err);
    if (st == LMN_OK)
        st = units_reserve(machine, err);
    if (st == LMN_OK)
        st = runs_reserve(machine, given->done_count + 1, err);
    if (st != LMN_OK)
        return st;
    unit = &machine->unit[machine->unit_count];
    *unit = (struct lmn__unit){ .row_count = given->row_count,
                                .pending = given->row_count - done_rows,
                                .durable = done_rows,
                                .failed = given->done_failed,
                                .run = machine->run_count,
                                .fill = given->fill };
    for (uint64_t i = 0; i < given->done_count; i++) {
        run_add(machine, first, given->done[i].first);
        first = given->done[i].first + given->done[i].count;
    }
    run_add(machine, first, given->row_count);
    unit->run_end = machine->run_count;
    machine->counts.planned += unit->row_count;
    machine->counts.pending += unit->pending;
    machine->counts.checkpointed += unit->durable;
    machine->counts.failed += unit->failed;
    lmn__first_add(machine, given);
    lmn__machine_unit_check(machine, machine->unit_count++);
    return LMN_OK;
}

static uint64_t list_remove(uint64_t *list, uint64_t count, uint64_t value)
{
    for (uint64_t i = 0; i < count; i++) {
        if (list[i] != value)
            continue;
        memmove(list + i, list + i + 1, (count - i - 1) * sizeof(*list));
        return count - 1;
    }
    return count;
}

enum lmn_status lmn__machine_drop_unit(struct lmn__machine *machine, uint64_t number,
                                       struct lmn_error *err)
{
    struct lmn__machine_counts *counts = &machine->counts;
    struct lmn__unit *unit;

    if (number >= machine->unit_count || machine->unit[number].state == LMN__UNIT_COMMITTED)
        return lmn_fail(err, LMN_E_INVALID, "unit %llu cannot leave the plan: %s",
                        (unsigned long long)number,
                        number < machine->unit_count ? "it is committed" : "it is not in it");
    unit = &machine->unit[number];
    if (unit->state == LMN__UNIT_DROPPED)
        return LMN_OK;
    if (unit->state == LMN__UNIT_WHOLE || unit->state == LMN__UNIT_FIRST) {
        machine->whole_count = list_remove(machine->whole, machine->whole_count, number);
        machine->commit_count = list_remove(machine->commit_unit, machine->commit_count, number);
    }
    counts->planned -= unit->row_count - unit->settled;
    counts->pending -= unit->pending;
    counts->running -= unit->running;
    counts->accepted -= unit->accepted;
    counts->checkpointed -= unit->durable - unit->settled;
    counts->failed -= unit->failed - unit->settled_failed;
    lmn__first_end(machine, number);
    *unit = (struct lmn__unit){ .state = LMN__UNIT_DROPPED };
    for (uint32_t i = 0; i < machine->slot_count; i++) {
        if (machine->slot[i].busy && machine->slot[i].todo.unit == number)
            machine->slot[i].given_up = machine->given_up_tasks = true;
    }
    return LMN_OK;
}
