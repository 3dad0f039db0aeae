/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from the death of a worker.
 *
 * Every task of its slots is given up; the rows without a result are pending again. The rows of a
 * call that was in progress are suspects. Each death in a call makes that call smaller or counts
 * against its only row, so the number of deaths is bounded by the rows that are really to blame:
 * about log2(call) + row_deaths_max for each.
 *
 * Where suspects keep going well in smaller calls, no row is to blame but the size of the calls:
 * then all later calls are small.
 *
 * With several slots to a worker, several calls are in progress and all of them are suspect. That
 * is why a row is not condemned unless it was alone.
 */
#include "base/math.h"
#include "job/machine_parts.h"

/* Rows ended by deaths, without one good row in between, after which the job fails. */
#define KILLED_IN_A_ROW_MAX 20u

/* The part of the call that lies in the rest of the task. */
static struct lmn__ordinals clip(struct lmn__ordinals call, struct lmn__ordinals rest)
{
    uint64_t end = rest.first + rest.count;
    struct lmn__ordinals clipped = { .first = rest.first };

    if (call.first < rest.first || call.first >= end)
        return clipped;
    clipped.first = call.first;
    clipped.count = lmn__min_u64(call.count, end - call.first);
    return clipped;
}

static void fail_row(struct lmn__machine *machine, uint32_t worker, const struct lmn__again *row)
{
    struct lmn__action *action = lmn__machine_act(machine, LMN__ACTION_FAIL_ROW);

    action->receipt = lmn__machine_receipt_add(machine, row, 1);
    action->worker = worker;
    action->unit = row->unit;
    action->rows = row->rows;
    machine->killed_in_a_row++;
    if (machine->killed_in_a_row >= KILLED_IN_A_ROW_MAX)
        lmn__machine_end(machine, LMN__CAUSE_DEATHS, action,
                         "%llu rows, one after the other, ended their worker",
                         (unsigned long long)machine->killed_in_a_row);
    lmn__machine_judge(machine, machine->unit[row->unit].fill, 1, 1);
}

/* The rows of the call in progress: halve it, try a row alone, or condemn the row. */
static void suspect(struct lmn__machine *machine, uint32_t worker, const struct lmn__again *todo,
                    struct lmn__ordinals call, bool alone)
{
    struct lmn__again item = { .unit = todo->unit, .rows = call, .suspect = true };

    item.batch_rows_max = lmn__div_up(call.count, 2);
    if (call.count == 1)
        item.deaths = todo->deaths + 1;
    if (item.deaths >= machine->options.row_deaths_max && alone)
        fail_row(machine, worker, &item);
    else
        lmn__machine_put_back(machine, &item);
}

/* The rest of a slot's task is pending again. True: it was in a call. */
static bool abandon(struct lmn__machine *machine, uint32_t number, bool alone)
{
    const struct lmn__slot *slot = &machine->slot[number];
    struct lmn__again todo = slot->todo, part = slot->todo;
    struct lmn__ordinals call = clip(slot->in_call, todo.rows);
    uint64_t end = todo.rows.first + todo.rows.count;

    if (slot->given_up)
        return call.count > 0;
    machine->unit[todo.unit].running -= todo.rows.count;
    machine->counts.running -= todo.rows.count;
    machine->counts.calls_lost += call.first + call.count - todo.rows.first;
    if (call.count == 0) {
        lmn__machine_put_back(machine, &todo);
        return false;
    }
    part.suspect = false;
    part.deaths = 0;
    part.rows = (struct lmn__ordinals){ todo.rows.first, call.first - todo.rows.first };
    lmn__machine_put_back(machine, &part);
    suspect(machine, number / machine->options.slots_per_worker, &todo, call, alone);
    part.rows.first = call.first + call.count;
    part.rows.count = end - part.rows.first;
    lmn__machine_put_back(machine, &part);
    return true;
}

static uint32_t calls_in_progress(const struct lmn__machine *machine, uint32_t first)
{
    uint32_t count = 0;

    for (uint32_t i = first; i < first + machine->options.slots_per_worker; i++)
        count += machine->slot[i].busy && machine->slot[i].in_call.count > 0;
    return count;
}

/* A death that no call explains. */
static void count_death(struct lmn__machine *machine, uint32_t number)
{
    struct lmn__worker *worker = &machine->worker[number];
    struct lmn__action culprit = { .worker = number };
    uint32_t most = machine->options.worker_restarts_max;

    worker->deaths++;
    if (worker->deaths > most) {
        worker->state = LMN__WORKER_GIVEN_UP;
        machine->given_up_count++;
    }
    if (machine->given_up_count == machine->options.worker_count)
        lmn__machine_end(machine, LMN__CAUSE_DEATHS, &culprit,
                         "worker %u died %u times in a row outside of any call", number,
                         worker->deaths);
    else if (!machine->was_ready && machine->counts.deaths > most)
        lmn__machine_end(machine, LMN__CAUSE_DEATHS, &culprit,
                         "%u workers died before any of them was ready", machine->counts.deaths);
}

bool lmn__machine_worker_gone(struct lmn__machine *machine, uint32_t number)
{
    struct lmn__worker *worker = &machine->worker[number];
    uint32_t first = number * machine->options.slots_per_worker;
    bool alone = calls_in_progress(machine, first) == 1;
    bool in_call = false;

    for (uint32_t i = first; i < first + machine->options.slots_per_worker; i++) {
        if (!machine->slot[i].busy)
            continue;
        in_call |= abandon(machine, i, alone);
        lmn__machine_slot_free(machine, i);
    }
    if (worker->state == LMN__WORKER_READY) {
        machine->idle_count -= machine->options.slots_per_worker;
        machine->counts.workers_ready--;
    } else {
        machine->counts.workers_starting--;
    }
    if (machine->lone_worker == number)
        machine->lone_worker = UINT32_MAX;
    worker->state = LMN__WORKER_NONE;
    return in_call;
}

void lmn__machine_bury(struct lmn__machine *machine, uint32_t number)
{
    struct lmn__worker *worker = &machine->worker[number];

    if (worker->state != LMN__WORKER_STARTING && worker->state != LMN__WORKER_READY)
        return;
    machine->counts.deaths++;
    if (!lmn__machine_worker_gone(machine, number))
        count_death(machine, number);
}

void lmn__machine_narrowed(struct lmn__machine *machine, const struct lmn__again *finished)
{
    machine->narrowed_count++;
    if (machine->narrowed_count < 2 * machine->options.slots_per_worker + 1)
        return;
    machine->narrowed_count = 0;
    if (machine->batch_rows_max == 0 || finished->batch_rows_max < machine->batch_rows_max)
        machine->batch_rows_max = finished->batch_rows_max;
}
