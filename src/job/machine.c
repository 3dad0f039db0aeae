/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a job, one function for each, and after every event the same three questions: is it
 * time to stop, what can be started, what can be concluded.
 *
 * How rows move is told in machine_parts.h. Numbers of tasks and receipts are never used twice, so
 * a message that comes too late finds nobody and is dropped.
 */
#include "job/machine.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/math.h"
#include "job/machine_parts.h"

#define COMMIT_INTERVAL_NS   UINT64_C(60000000000)
#define WORKER_RESTARTS_MAX  3u
#define ROW_DEATHS_MAX       2u
#define WORKERS_MAX          65536u
#define SLOTS_PER_WORKER_MAX 4096u
#define SLOTS_MAX            1048576u

/* Actions that one event can cause: of each slot, of each worker, and of the job. */
#define ACTIONS_PER_SLOT   3u
#define ACTIONS_PER_WORKER 2u
#define ACTIONS_PER_JOB    4u

struct lmn__action *lmn__machine_act(struct lmn__machine *machine, enum lmn__action_kind kind)
{
    struct lmn__action *action = &machine->action[machine->action_count++];

    assert(machine->action_count <= machine->action_room);
    *action = (struct lmn__action){ .kind = kind };
    return action;
}

void lmn__machine_end(struct lmn__machine *machine, enum lmn__cause cause,
                      const struct lmn__action *culprit, const char *fmt, ...)
{
    bool failure = cause != LMN__CAUSE_STOP && cause != LMN__CAUSE_DEADLINE;
    va_list args;

    if (machine->failed || (machine->ending && !failure))
        return;
    machine->ending = true;
    machine->failed = failure;
    machine->cause = cause;
    machine->culprit = culprit != NULL ? *culprit : (struct lmn__action){ 0 };
    va_start(args, fmt);
    (void)vsnprintf(machine->reason, sizeof(machine->reason), fmt, args);
    va_end(args);
}

static void options_fill_in(struct lmn__machine_options *options)
{
    if (options->worker_count == 0)
        options->worker_count = 1;
    if (options->slots_per_worker == 0)
        options->slots_per_worker = 1;
    if (options->task_rows_min == 0)
        options->task_rows_min = 1;
    if (options->commit_interval_ns == 0)
        options->commit_interval_ns = COMMIT_INTERVAL_NS;
    if (options->worker_restarts_max == 0)
        options->worker_restarts_max = WORKER_RESTARTS_MAX;
    if (options->row_deaths_max == 0)
        options->row_deaths_max = ROW_DEATHS_MAX;
    if (options->fill_count == 0) {
        options->fill_count = 1;
        options->limits = NULL;
    }
}

static enum lmn_status options_check(const struct lmn__machine_options *options,
                                     struct lmn_error *err)
{
    if (options->worker_count > WORKERS_MAX || options->slots_per_worker > SLOTS_PER_WORKER_MAX ||
        (uint64_t)options->worker_count * options->slots_per_worker > SLOTS_MAX)
        return lmn_fail(err, LMN_E_INVALID, "a job of %u workers with %u threads each is too large",
                        options->worker_count, options->slots_per_worker);
    return LMN_OK;
}

static enum lmn_status parts_make(struct lmn__machine *machine, struct lmn_error *err)
{
    const struct lmn__machine_options *options = &machine->options;

    machine->slot_count = options->worker_count * options->slots_per_worker;
    machine->action_room = ACTIONS_PER_SLOT * machine->slot_count +
                           ACTIONS_PER_WORKER * options->worker_count + ACTIONS_PER_JOB;
    machine->worker = lmn__calloc(machine->env, options->worker_count, sizeof(*machine->worker));
    machine->slot = lmn__calloc(machine->env, machine->slot_count, sizeof(*machine->slot));
    machine->action = lmn__calloc(machine->env, machine->action_room, sizeof(*machine->action));
    machine->fill = lmn__calloc(machine->env, options->fill_count, sizeof(*machine->fill));
    if (machine->worker == NULL || machine->slot == NULL || machine->action == NULL ||
        machine->fill == NULL)
        return lmn__no_memory(err, "the slots of a job", machine->slot_count);
    for (uint32_t i = 0; i < options->fill_count && options->limits != NULL; i++)
        machine->fill[i].limits = options->limits[i];
    machine->options.limits = NULL;
    machine->lone_worker = UINT32_MAX;
    machine->receipt_head = machine->receipt_end = 1;
    return LMN_OK;
}

enum lmn_status lmn__machine_new(struct lmn_env *env, const struct lmn__machine_options *options,
                                 struct lmn__machine **machine_out, struct lmn_error *err)
{
    struct lmn__machine_options filled = { 0 };
    struct lmn__machine *machine;
    enum lmn_status st;

    *machine_out = NULL;
    if (options != NULL)
        filled = *options;
    options_fill_in(&filled);
    st = options_check(&filled, err);
    if (st != LMN_OK)
        return st;
    machine = lmn__calloc(env, 1, sizeof(*machine));
    if (machine == NULL)
        return lmn__no_memory(err, "the state of a job", sizeof(*machine));
    machine->env = env;
    machine->options = filled;
    st = parts_make(machine, err);
    if (st != LMN_OK) {
        lmn__machine_free(machine);
        return st;
    }
    *machine_out = machine;
    return LMN_OK;
}

void lmn__machine_free(struct lmn__machine *machine)
{
    if (machine == NULL)
        return;
    lmn__free(machine->env, machine->unit);
    lmn__free(machine->env, machine->run);
    lmn__free(machine->env, machine->again.item);
    lmn__free(machine->env, machine->alone.item);
    lmn__free(machine->env, machine->worker);
    lmn__free(machine->env, machine->slot);
    lmn__free(machine->env, machine->receipt);
    lmn__free(machine->env, machine->fill);
    lmn__free(machine->env, machine->whole);
    lmn__free(machine->env, machine->commit_unit);
    lmn__free(machine->env, machine->action);
    lmn__free(machine->env, machine);
}

void lmn__machine_died(struct lmn__machine *machine, uint32_t slot, struct lmn__ordinals in_call)
{
    if (slot < machine->slot_count && machine->slot[slot].busy)
        machine->slot[slot].in_call = in_call;
}

/* The slot whose task the event is about; NULL: the slot has another task, or none. */
static struct lmn__slot *slot_of(struct lmn__machine *machine, const struct lmn__event *event)
{
    struct lmn__slot *slot = &machine->slot[event->slot];

    return slot->busy && slot->task == event->task ? slot : NULL;
}

/* The slot, if a result of it counts. */
static struct lmn__slot *heard_slot_of(struct lmn__machine *machine, const struct lmn__event *event)
{
    struct lmn__slot *slot = slot_of(machine, event);

    return slot == NULL || slot->given_up || machine->ended_by_engine ? NULL : slot;
}

/* Does the event fit what is known? Nothing has changed yet. */
static enum lmn_status event_check(struct lmn__machine *machine, const struct lmn__event *event,
                                   struct lmn_error *err)
{
    const struct lmn__slot *slot;

    if (machine->action_next < machine->action_count)
        return lmn_fail(err, LMN_E_INVALID, "an event while %u actions of the last wait",
                        machine->action_count - machine->action_next);
    if (event->worker >= machine->options.worker_count || event->slot >= machine->slot_count)
        return lmn_fail(err, LMN_E_INVALID, "there is no worker %u or no slot %u", event->worker,
                        event->slot);
    slot = heard_slot_of(machine, event);
    if (event->kind == LMN__EVENT_RESULT && slot != NULL &&
        (event->rows.first != slot->todo.rows.first || event->rows.count == 0 ||
         event->rows.count > slot->todo.rows.count || event->failed_count > event->rows.count))
        return lmn_fail(
            err, LMN_E_INVALID,
            "slot %u: a result for rows %llu + %llu, %llu of them failed, while %llu + "
            "%llu are to be computed",
            event->slot, (unsigned long long)event->rows.first,
            (unsigned long long)event->rows.count, (unsigned long long)event->failed_count,
            (unsigned long long)slot->todo.rows.first, (unsigned long long)slot->todo.rows.count);
    if (event->kind == LMN__EVENT_TASK_DONE && slot != NULL && slot->todo.rows.count > 0 &&
        !slot->stop_told && !slot->resulted)
        return lmn_fail(err, LMN_E_INVALID, "slot %u: a task ended without a result", event->slot);
    return LMN_OK;
}

static void worker_ready(struct lmn__machine *machine, uint32_t number)
{
    struct lmn__worker *worker = &machine->worker[number];

    if (worker->state != LMN__WORKER_STARTING)
        return;
    worker->state = LMN__WORKER_READY;
    machine->was_ready = true;
    machine->idle_count += machine->options.slots_per_worker;
    machine->counts.workers_starting--;
    machine->counts.workers_ready++;
}

static void worker_failed(struct lmn__machine *machine, uint32_t number)
{
    struct lmn__action culprit = { .worker = number };
    enum lmn__worker_state state = machine->worker[number].state;

    if (state == LMN__WORKER_STARTING || state == LMN__WORKER_READY)
        lmn__machine_end(machine, LMN__CAUSE_SETUP, &culprit, "worker %u cannot load the function",
                         number);
}

static void result(struct lmn__machine *machine, const struct lmn__event *event)
{
    struct lmn__slot *slot = heard_slot_of(machine, event);
    struct lmn__again part;

    if (slot == NULL) {
        lmn__machine_act(machine, LMN__ACTION_DROP);
        return;
    }
    part = slot->todo;
    part.rows = event->rows;
    part.suspect = false;
    part.deaths = 0;
    slot->todo.rows.first += event->rows.count;
    slot->todo.rows.count -= event->rows.count;
    slot->resulted = true;
    machine->unit[part.unit].running -= event->rows.count;
    machine->counts.running -= event->rows.count;
    lmn__machine_act(machine, LMN__ACTION_ACCEPT)->receipt = lmn__machine_receipt_add(
        machine, &part, event->failed_count);
    lmn__machine_worker_of(machine, event->slot)->deaths = 0;
    if (event->failed_count < event->rows.count)
        machine->killed_in_a_row = 0;
    lmn__first_result(machine, part.unit, event->rows.count, event->bytes);
    lmn__machine_judge(machine, machine->unit[part.unit].fill, event->rows.count,
                       event->failed_count);
}

static void receipt_durable(struct lmn__machine *machine, uint64_t number)
{
    const struct lmn__pending_receipt *receipt = lmn__machine_receipt_take(machine, number);
    struct lmn__unit *unit;
    uint64_t count;

    if (receipt == NULL || machine->unit[receipt->of.unit].state == LMN__UNIT_DROPPED)
        return;
    unit = &machine->unit[receipt->of.unit];
    count = receipt->of.rows.count;
    unit->accepted -= count;
    unit->durable += count;
    unit->failed += receipt->failed_count;
    machine->counts.accepted -= count;
    machine->counts.checkpointed += count;
    machine->counts.failed += receipt->failed_count;
    lmn__machine_unit_check(machine, receipt->of.unit);
}

static void receipt_lost(struct lmn__machine *machine, uint64_t number)
{
    const struct lmn__pending_receipt *receipt = lmn__machine_receipt_take(machine, number);

    if (receipt == NULL || machine->unit[receipt->of.unit].state == LMN__UNIT_DROPPED)
        return;
    machine->unit[receipt->of.unit].accepted -= receipt->of.rows.count;
    machine->counts.accepted -= receipt->of.rows.count;
    machine->counts.calls_lost += receipt->of.rows.count;
    lmn__machine_put_back(machine, &receipt->of);
}

/* The mean over the last few tasks of the time that a slot takes for a row. */
static void measure(struct lmn__machine *machine, const struct lmn__slot *slot)
{
    uint64_t rows = slot->row_count - slot->todo.rows.count;
    double row_ns;

    if (rows == 0 || machine->now_ns <= slot->start_ns)
        return;
    row_ns = (double)(machine->now_ns - slot->start_ns) / (double)rows;
    machine->row_ns = machine->row_ns > 0 ? (3 * machine->row_ns + row_ns) / 4 : row_ns;
}

static void task_done(struct lmn__machine *machine, const struct lmn__event *event)
{
    struct lmn__slot *slot = slot_of(machine, event);
    struct lmn__action culprit = { .slot = event->slot, .task = event->task };

    if (slot == NULL)
        return;
    if (!slot->given_up) {
        measure(machine, slot);
        if (slot->todo.suspect && slot->todo.rows.count == 0 && slot->todo.batch_rows_max > 0 &&
            slot->row_count > 1)
            lmn__machine_narrowed(machine, &slot->todo);
        machine->unit[slot->todo.unit].running -= slot->todo.rows.count;
        machine->counts.running -= slot->todo.rows.count;
        lmn__machine_put_back(machine, &slot->todo);
        culprit.unit = slot->todo.unit;
        if (event->kind == LMN__EVENT_TASK_FAILED)
            lmn__machine_end(machine, LMN__CAUSE_TASK, &culprit, "the function failed");
    }
    lmn__machine_slot_free(machine, event->slot);
}

static void committed(struct lmn__machine *machine, const struct lmn__event *event)
{
    if (!machine->committing || event->commit != machine->commit)
        return;
    for (uint64_t i = 0; i < machine->commit_count; i++) {
        struct lmn__unit *unit = &machine->unit[machine->commit_unit[i]];

        machine->counts.committed +=
            (unit->state == LMN__UNIT_FIRST ? unit->durable : unit->row_count) - unit->settled;
        if (unit->state == LMN__UNIT_FIRST)
            lmn__first_end(machine, machine->commit_unit[i]);
        else
            unit->state = LMN__UNIT_COMMITTED;
    }
    machine->committing = false;
    machine->commit_count = 0;
}

static void commit_failed(struct lmn__machine *machine, const struct lmn__event *event)
{
    if (!machine->committing || event->commit != machine->commit)
        return;
    machine->committing = false;
    machine->commit_count = 0;
    machine->commit_broken = true;
    lmn__machine_end(machine, LMN__CAUSE_COMMIT, NULL, "the commit of %s failed",
                     "finished fragments");
}

static void happen(struct lmn__machine *machine, const struct lmn__event *event)
{
    switch (event->kind) {
    case LMN__EVENT_TICK:
        break;
    case LMN__EVENT_WORKER_READY:
        worker_ready(machine, event->worker);
        break;
    case LMN__EVENT_WORKER_DIED:
        lmn__machine_bury(machine, event->worker);
        break;
    case LMN__EVENT_WORKER_FAILED:
        worker_failed(machine, event->worker);
        break;
    case LMN__EVENT_RESULT:
        result(machine, event);
        break;
    case LMN__EVENT_RECEIPT_DURABLE:
        receipt_durable(machine, event->receipt);
        break;
    case LMN__EVENT_RECEIPT_LOST:
        receipt_lost(machine, event->receipt);
        break;
    case LMN__EVENT_TASK_DONE:
    case LMN__EVENT_TASK_FAILED:
        task_done(machine, event);
        break;
    case LMN__EVENT_COMMITTED:
        committed(machine, event);
        break;
    case LMN__EVENT_COMMIT_FAILED:
        commit_failed(machine, event);
        break;
    case LMN__EVENT_STOP:
        lmn__machine_end(machine, LMN__CAUSE_STOP, NULL, "asked to stop");
        break;
    case LMN__EVENT_FAIL:
        machine->ended_by_engine = machine->commit_broken = true;
        lmn__machine_end(machine, LMN__CAUSE_ENGINE, NULL, "the engine cannot go on");
        break;
    }
}

static void stop_slots(struct lmn__machine *machine)
{
    if (!machine->ending && !machine->given_up_tasks)
        return;
    machine->given_up_tasks = false;
    for (uint32_t i = 0; i < machine->slot_count; i++) {
        struct lmn__slot *slot = &machine->slot[i];
        struct lmn__action *action;

        if (!slot->busy || slot->stop_told || (!machine->ending && !slot->given_up))
            continue;
        slot->stop_told = true;
        action = lmn__machine_act(machine, LMN__ACTION_STOP_SLOT);
        action->worker = i / machine->options.slots_per_worker;
        action->slot = i;
        action->task = slot->task;
        action->unit = slot->todo.unit;
    }
}

enum lmn_status lmn__machine_tell(struct lmn__machine *machine, const struct lmn__event *event,
                                  struct lmn_error *err)
{
    enum lmn_status st = event_check(machine, event, err);

    if (st != LMN_OK)
        return st;
    st = lmn__machine_reserve(machine, err);
    if (st != LMN_OK)
        return st;
    machine->action_next = machine->action_count = 0;
    if (machine->finished) {
        if (event->kind == LMN__EVENT_RESULT)
            lmn__machine_act(machine, LMN__ACTION_DROP);
        return LMN_OK;
    }
    machine->now_ns = lmn__max_u64(machine->now_ns, event->now_ns);
    if (!machine->begun)
        machine->commit_ns = machine->now_ns;
    machine->begun = true;
    happen(machine, event);
    if (machine->options.deadline_ns > 0 && machine->now_ns >= machine->options.deadline_ns)
        lmn__machine_end(machine, LMN__CAUSE_DEADLINE, NULL, "the deadline has passed");
    stop_slots(machine);
    lmn__machine_assign(machine);
    lmn__machine_conclude(machine);
    return LMN_OK;
}

bool lmn__machine_next(struct lmn__machine *machine, struct lmn__action *action_out)
{
    if (machine->action_next == machine->action_count)
        return false;
    *action_out = machine->action[machine->action_next++];
    return true;
}

uint64_t lmn__machine_wake_ns(const struct lmn__machine *machine)
{
    uint64_t wake_ns = UINT64_MAX;

    if (machine->finished)
        return wake_ns;
    if (machine->options.deadline_ns > 0 && !machine->ending)
        wake_ns = machine->options.deadline_ns;
    if (machine->whole_count > 0 && !machine->committing && !machine->ending &&
        machine->options.units_per_commit == 0)
        wake_ns = lmn__min_u64(wake_ns, machine->commit_ns + machine->options.commit_interval_ns);
    return wake_ns;
}

const uint64_t *lmn__machine_commit_units(const struct lmn__machine *machine, uint64_t commit,
                                          uint64_t *count_out)
{
    bool current = machine->committing && commit == machine->commit;

    *count_out = current ? machine->commit_count : 0;
    return machine->commit_unit;
}

struct lmn__machine_counts lmn__machine_counts(const struct lmn__machine *machine)
{
    return machine->counts;
}
