/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows a slot computes next, and how many workers there are.
 *
 * Rows are given out in this order: single rows that have ended a worker, rows that came back, then
 * the units one after the other, so that few units are open at a time. A task is a fraction of what
 * is left, so that all slots end at about the same time; but not less than a call, nor than what
 * takes a slot some milliseconds. Each task costs syncs: where rows are cheap the fraction is
 * large.
 *
 * Of a first part each slot is given a share, and rows behind it wait until it is settled what
 * becomes of it.
 *
 * A row that runs alone has a whole process: with several slots to a worker, one worker gets
 * nothing else until its slots are idle and the row has run.
 */
#include <assert.h>

#include "base/math.h"
#include "job/machine_parts.h"

#define TASKS_PER_SLOT       8u
#define TASKS_PER_SLOT_CHEAP 2u
#define TASK_ROWS_MAX        (UINT64_C(1) << 18)
#define TASK_NS_MIN          20e6
#define TASK_NS_CHEAP        200e6

/* Rows that take a slot about so long. */
static uint64_t rows_of_ns(const struct lmn__machine *machine, double ns)
{
    double rows = ns / machine->row_ns;

    return rows < (double)TASK_ROWS_MAX ? (uint64_t)rows + 1 : TASK_ROWS_MAX;
}

/* How many rows the next task has, at most. */
static uint64_t task_rows(const struct lmn__machine *machine)
{
    const struct lmn__machine_options *options = &machine->options;
    uint64_t per_slot = lmn__div_up(machine->counts.pending, machine->slot_count);
    uint64_t rows = lmn__div_up(per_slot, TASKS_PER_SLOT);

    if (machine->row_ns > 0) {
        rows = lmn__max_u64(rows, lmn__min_u64(lmn__div_up(per_slot, TASKS_PER_SLOT_CHEAP),
                                               rows_of_ns(machine, TASK_NS_CHEAP)));
        rows = lmn__max_u64(rows, rows_of_ns(machine, TASK_NS_MIN));
    }
    rows = lmn__min_u64(rows, TASK_ROWS_MAX);
    rows = lmn__div_up(lmn__max_u64(rows, 1), options->task_rows_min) * options->task_rows_min;
    if (options->task_rows_max > 0)
        rows = lmn__min_u64(rows, options->task_rows_max);
    return rows;
}

/* A part of a run, or all of it where little would be left; not more than `most` rows. */
static struct lmn__ordinals cut(const struct lmn__machine *machine, struct lmn__ordinals *run,
                                uint64_t most)
{
    uint64_t rows = task_rows(machine);
    struct lmn__ordinals part = *run;

    if (run->count > rows + (machine->options.task_rows_max > 0 ? 0 : rows / 2))
        part.count = rows;
    part.count = lmn__min_u64(part.count, most);
    run->first += part.count;
    run->count -= part.count;
    return part;
}

/* Rows that came back; those of units that have left the plan are passed over. */
static bool take_again(struct lmn__machine *machine, struct lmn__again_queue *queue,
                       struct lmn__again *todo_out)
{
    while (lmn__again_pop(queue, todo_out)) {
        struct lmn__again rest = *todo_out;

        if (machine->unit[todo_out->unit].state == LMN__UNIT_DROPPED)
            continue;
        if (!todo_out->suspect) {
            todo_out->rows = cut(machine, &rest.rows, UINT64_MAX);
            if (rest.rows.count > 0)
                lmn__again_push(queue, &rest);
        }
        return true;
    }
    return false;
}

/* Rows that were never given out. */
static bool take_run(struct lmn__machine *machine, struct lmn__again *todo_out)
{
    bool waits = false;

    for (uint64_t i = machine->cursor; i < machine->unit_count; i++) {
        struct lmn__unit *unit = &machine->unit[i];
        bool given_out = unit->state == LMN__UNIT_DROPPED || unit->run == unit->run_end;
        uint64_t most = given_out ? 0
                                  : lmn__first_rows_max(machine, i, machine->run[unit->run].first);

        waits = waits || !given_out;
        machine->cursor = waits ? machine->cursor : i + 1;
        if (most == 0)
            continue;
        *todo_out = (struct lmn__again){ .unit = i,
                                         .rows = cut(machine, &machine->run[unit->run], most) };
        if (machine->run[unit->run].count == 0)
            unit->run++;
        return true;
    }
    return false;
}

uint64_t lmn__machine_count_tasks(struct lmn__machine *machine)
{
    struct lmn__again todo;
    uint64_t count = 0;

    for (; take_run(machine, &todo); count++) {
        machine->unit[todo.unit].pending -= todo.rows.count;
        machine->counts.pending -= todo.rows.count;
    }
    return count;
}

static void start_task(struct lmn__machine *machine, uint32_t number, const struct lmn__again *todo)
{
    struct lmn__slot *slot = &machine->slot[number];
    struct lmn__unit *unit = &machine->unit[todo->unit];
    struct lmn__action *action = lmn__machine_act(machine, LMN__ACTION_START_TASK);
    uint64_t narrowest = machine->batch_rows_max;

    *slot = (struct lmn__slot){ .busy = true,
                                .task = ++machine->task_last,
                                .todo = *todo,
                                .row_count = todo->rows.count,
                                .start_ns = machine->now_ns };
    if (todo->batch_rows_max > 0 && (narrowest == 0 || todo->batch_rows_max < narrowest))
        narrowest = todo->batch_rows_max;
    action->worker = number / machine->options.slots_per_worker;
    action->slot = number;
    action->task = slot->task;
    action->unit = todo->unit;
    action->rows = todo->rows;
    action->batch_rows_max = narrowest;
    unit->pending -= todo->rows.count;
    unit->running += todo->rows.count;
    machine->counts.pending -= todo->rows.count;
    machine->counts.running += todo->rows.count;
    lmn__machine_worker_of(machine, number)->busy++;
    machine->idle_count--;
}

void lmn__machine_slot_free(struct lmn__machine *machine, uint32_t number)
{
    struct lmn__worker *worker = lmn__machine_worker_of(machine, number);

    assert(machine->slot[number].busy && worker->busy > 0);
    machine->slot[number] = (struct lmn__slot){ 0 };
    worker->busy--;
    machine->idle_count++;
    if (worker->busy == 0 && machine->lone_worker == (uint32_t)(worker - machine->worker))
        machine->lone_worker = UINT32_MAX;
}

/* The ready worker with the fewest tasks; UINT32_MAX: none is ready. */
static uint32_t least_busy(const struct lmn__machine *machine)
{
    uint32_t found = UINT32_MAX;

    for (uint32_t i = 0; i < machine->options.worker_count; i++) {
        if (machine->worker[i].state == LMN__WORKER_READY &&
            (found == UINT32_MAX || machine->worker[i].busy < machine->worker[found].busy))
            found = i;
    }
    return found;
}

/* One row for a process of its own, if there is such a row and such a process. */
static void start_alone(struct lmn__machine *machine)
{
    struct lmn__again todo;

    if (machine->alone.count == 0)
        return;
    if (machine->lone_worker == UINT32_MAX)
        machine->lone_worker = least_busy(machine);
    if (machine->lone_worker == UINT32_MAX || machine->worker[machine->lone_worker].busy > 0)
        return;
    if (take_again(machine, &machine->alone, &todo))
        start_task(machine, machine->lone_worker * machine->options.slots_per_worker, &todo);
    else
        machine->lone_worker = UINT32_MAX;
}

static void start_tasks(struct lmn__machine *machine)
{
    struct lmn__again todo;

    start_alone(machine);
    for (uint32_t i = 0; i < machine->slot_count && machine->idle_count > 0; i++) {
        uint32_t worker = i / machine->options.slots_per_worker;

        if (machine->slot[i].busy || machine->worker[worker].state != LMN__WORKER_READY ||
            worker == machine->lone_worker)
            continue;
        if (!take_again(machine, &machine->again, &todo) && !take_run(machine, &todo))
            return;
        start_task(machine, i, &todo);
    }
}

/* As many workers as there are rows for. */
static void start_workers(struct lmn__machine *machine)
{
    const struct lmn__machine_options *options = &machine->options;
    uint64_t rows = machine->counts.pending + machine->counts.running;
    uint64_t wanted = lmn__div_up(lmn__div_up(rows, options->task_rows_min),
                                  options->slots_per_worker);
    uint64_t there = machine->counts.workers_ready + machine->counts.workers_starting;

    for (uint32_t i = 0; i < options->worker_count && there < wanted; i++) {
        if (machine->worker[i].state != LMN__WORKER_NONE)
            continue;
        machine->worker[i].state = LMN__WORKER_STARTING;
        machine->counts.workers_starting++;
        lmn__machine_act(machine, LMN__ACTION_START_WORKER)->worker = i;
        there++;
    }
}

void lmn__machine_assign(struct lmn__machine *machine)
{
    if (machine->ending || machine->counts.pending == 0)
        return;
    start_workers(machine);
    if (machine->idle_count > 0)
        start_tasks(machine);
}
