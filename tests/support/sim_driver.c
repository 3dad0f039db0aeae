/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated driver: it tells its machine what happens, does what the machine says, and keeps a
 * second account of every row, by which the machine is judged.
 */
#include "sim.h"

#include <string.h>

static uint32_t number_of(const struct sim *sim, const struct sim_driver *driver)
{
    return (uint32_t)(driver - sim->driver);
}

/* What the rows of a replaced fragment have moves to where they live, if their inputs are the same.
 */
static void receipts_move(struct sim *sim, const struct sim_fragment *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        uint32_t number = sim->row[from->row[i]].fragment, at = 0;
        const struct sim_fragment *to = &sim->fragment[number];

        if (from->receipt[i] == 0 || !sim_row_same(sim, from, i))
            continue;
        while (to->row[at] != from->row[i])
            at++;
        if (to->receipt[at] == 0)
            sim_journal_enter(sim, number, at, from->receipt_failed[i]);
    }
}

void sim_driver_start(struct sim *sim, struct sim_driver *driver)
{
    struct lmn_error err;

    for (uint32_t i = 0; i < SIM_DRIVERS; i++) {
        if (!sim->driver[i].alive || sim->driver[i].fenced)
            continue;
        sim_driver_excuse(sim, &sim->driver[i]);
        sim->driver[i].fenced = true;
        sim->seen.takeovers++;
    }
    memset(driver, 0, sizeof(*driver));
    driver->alive = true;
    driver->epoch = ++sim->epoch;
    for (uint32_t i = 0; i < sim->fragment_count; i++) {
        if (!sim->fragment[i].live)
            receipts_move(sim, &sim->fragment[i]);
    }
    sim->record_synced = sim->record_last;
    sim->seen.runs++;
    if (lmn__machine_new(test_env(), &sim->options, &driver->machine, &err) != LMN_OK)
        sim_violate(sim, "machine_new: %s", err.message);
    for (uint32_t i = 0; i < sim->fragment_count; i++) {
        if (sim->fragment[i].live)
            sim_plan_fragment(sim, driver, i);
    }
    sim_driver_tell(sim, driver, &(struct lmn__event){ .kind = LMN__EVENT_TICK });
}

/* The driver is no more; what its processes still do reaches nobody. */
static void driver_gone(struct sim *sim, struct sim_driver *driver)
{
    driver->alive = false;
    lmn__machine_free(driver->machine);
    driver->machine = NULL;
    for (uint32_t i = 0; i < SIM_PROCESSES; i++) {
        struct sim_process *process = &sim->process[i];

        if (process->driver != number_of(sim, driver))
            continue;
        process->alive = process->owned = false;
        for (uint32_t k = 0; k < SIM_SLOTS; k++)
            process->slot[k].queue_count = 0;
    }
}

void sim_driver_excuse(struct sim *sim, const struct sim_driver *driver)
{
    for (uint32_t i = 0; i < driver->unit_count && !driver->fenced; i++) {
        const struct sim_unit *unit = &driver->unit[i];
        const struct sim_fragment *fragment = &sim->fragment[unit->fragment];

        for (uint32_t k = 0; k < unit->count && !unit->dropped && !unit->committed; k++) {
            uint32_t at = unit->place[k];

            if (unit->called[k] && fragment->receipt[at] == 0 && sim_row_same(sim, fragment, at))
                sim->row[fragment->row[at]].excuses++;
        }
    }
}

void sim_driver_crash(struct sim *sim, struct sim_driver *driver)
{
    uint64_t unsynced = sim->record_last - sim->record_synced;

    sim_trace(sim, "driver %u crashes", number_of(sim, driver));
    if (!driver->fenced)
        sim_journal_crash(sim, sim->record_synced + sim_below(sim, (uint32_t)unsynced + 1));
    sim_driver_excuse(sim, driver);
    driver_gone(sim, driver);
}

/* A row that has ended a worker by itself gets a process by itself. */
static void check_lone(struct sim *sim, struct sim_driver *driver, const struct lmn__action *action)
{
    uint32_t first = action->worker * sim->options.slots_per_worker;
    bool lone = driver->unit[action->unit].lone[action->rows.first];

    for (uint32_t i = first; i < first + sim->options.slots_per_worker; i++) {
        if (driver->order[i].busy && (lone || driver->order[i].lone))
            sim_violate(sim, "task %llu shares a worker with a row that has to be alone",
                        (unsigned long long)action->task);
    }
}

static void start_task(struct sim *sim, struct sim_driver *driver, const struct lmn__action *action)
{
    struct sim_process *process = sim_process_of(sim, number_of(sim, driver), action->worker);
    struct sim_order *order = &driver->order[action->slot];
    struct sim_unit *unit = &driver->unit[action->unit];
    struct sim_slot *slot;

    if (process == NULL || !process->ready || order->busy || unit->dropped ||
        action->rows.count == 0 || action->rows.first + action->rows.count > unit->count) {
        sim_violate(sim, "task %llu cannot be started on slot %u", (unsigned long long)action->task,
                    action->slot);
        return;
    }
    slot = &process->slot[action->slot % sim->options.slots_per_worker];
    if (driver->stop_told || driver->fail_told)
        sim_violate(sim, "task %llu is started after the end", (unsigned long long)action->task);
    check_lone(sim, driver, action);
    for (uint64_t i = action->rows.first; i < action->rows.first + action->rows.count; i++) {
        if (unit->state[i] != SIM_ROW_PENDING)
            sim_violate(sim, "row %llu of unit %llu is in a task, but not pending",
                        (unsigned long long)i, (unsigned long long)action->unit);
        unit->state[i] = SIM_ROW_RUNNING;
    }
    *order = (struct sim_order){ .busy = true,
                                 .lone = unit->lone[action->rows.first],
                                 .task = action->task,
                                 .unit = (uint32_t)action->unit,
                                 .rows = action->rows };
    slot->busy = true;
    slot->stop = false;
    slot->task = action->task;
    slot->unit = (uint32_t)action->unit;
    slot->rest = action->rows;
    slot->call.count = slot->done.count = 0;
    slot->batch_rows_max = action->batch_rows_max;
}

static void stop_slot(struct sim *sim, struct sim_driver *driver, const struct lmn__action *action)
{
    struct sim_process *process = sim_process_of(sim, number_of(sim, driver), action->worker);
    uint32_t slot = action->slot % sim->options.slots_per_worker;

    if (process == NULL || !driver->order[action->slot].busy ||
        driver->order[action->slot].task != action->task)
        sim_violate(sim, "slot %u is stopped, but has no such task", action->slot);
    driver->order[action->slot].stopped = true;
    if (process != NULL && process->slot[slot].busy && process->slot[slot].task == action->task)
        process->slot[slot].stop = true;
}

static void retire(struct sim *sim, struct sim_driver *driver, const struct lmn__action *action)
{
    struct sim_process *process = sim_process_of(sim, number_of(sim, driver), action->worker);
    uint32_t first = action->worker * sim->options.slots_per_worker;

    if (process == NULL) {
        sim_violate(sim, "worker %u is retired, but does not live", action->worker);
        return;
    }
    process->owned = false;
    process->alive = sim_below(sim, 2) == 0;
    for (uint32_t i = first; i < first + sim->options.slots_per_worker; i++) {
        struct sim_order *order = &driver->order[i];

        if (order->busy && sim_order_give_up(sim, driver, order) > 0 && !driver->fail_told)
            sim_violate(sim, "worker %u is retired from a task", action->worker);
    }
}

/* A receipt for rows in state `from`; refused where the journal does not take it. */
static void accept(struct sim *sim, struct sim_driver *driver, uint64_t number,
                   uint32_t unit_number, struct lmn__ordinals rows, const bool *failed,
                   enum sim_row_state from)
{
    struct sim_unit *unit = &driver->unit[unit_number];
    struct sim_receipt *receipt = &driver->receipt[driver->receipt_count++];
    bool fenced = driver->fenced && sim->sabotage != SIM_UNFENCED;

    *receipt = (struct sim_receipt){ .open = true,
                                     .refused = fenced || driver->journal_broken ||
                                                driver->refuse_next,
                                     .number = number,
                                     .unit = unit_number,
                                     .rows = rows };
    driver->refuse_next = false;
    for (uint64_t i = 0; i < rows.count; i++) {
        uint64_t row = rows.first + i;

        if (unit->state[row] != from)
            sim_violate(sim, "row %llu of unit %u is accepted out of state %u",
                        (unsigned long long)row, unit_number, unit->state[row]);
        unit->state[row] = SIM_ROW_ACCEPTED;
        if (!receipt->refused)
            sim_journal_enter(sim, unit->fragment, unit->place[row], failed[i]);
    }
    if (driver->receipt_count == SIM_RECEIPTS)
        sim_violate(sim, "the simulator has too few receipts");
}

static void accept_result(struct sim *sim, struct sim_driver *driver,
                          const struct lmn__action *action, const struct sim_process *process,
                          const struct sim_message *message)
{
    for (uint32_t i = 0; message != NULL && process->owned && i < SIM_WORKERS * SIM_SLOTS; i++) {
        struct sim_order *order = &driver->order[i];

        if (!order->busy || order->task != message->task || driver->fail_told)
            continue;
        order->rows.first += message->rows.count;
        order->rows.count -= message->rows.count;
        accept(sim, driver, action->receipt, message->unit, message->rows, message->failed,
               SIM_ROW_RUNNING);
        memset(driver->unit[message->unit].lone + message->rows.first, 0, message->rows.count);
        return;
    }
    sim_violate(sim, "a result is accepted that came too late");
}

static void condemn(struct sim *sim, struct sim_driver *driver, const struct lmn__action *action)
{
    const struct sim_unit *unit = &driver->unit[action->unit];
    const struct sim_fragment *fragment = &sim->fragment[unit->fragment];
    uint32_t at = unit->place[action->rows.first], row = fragment->row[at];

    sim->seen.condemned++;
    if (driver->calls_at_death != 1)
        sim_violate(sim, "row %u is condemned, but was not alone", row);
    if (sim->row[row].single_deaths < sim->options.row_deaths_max &&
        sim_row_same(sim, fragment, at))
        sim_violate(sim, "row %u is condemned after %u deaths", row, sim->row[row].single_deaths);
    accept(sim, driver, action->receipt, (uint32_t)action->unit, action->rows, &(bool){ true },
           SIM_ROW_PENDING);
}

/* A result that does not count, though it is of a task that does. */
static void dropped(struct sim *sim, struct sim_driver *driver, const struct sim_process *process,
                    const struct sim_message *message)
{
    const struct sim_unit *unit = &driver->unit[message->unit];

    if (process->owned && !unit->dropped && !driver->fail_told)
        sim_violate(sim, "a result of task %llu is dropped", (unsigned long long)message->task);
    if (sim->sabotage != SIM_KEEP_DROPPED)
        return;
    for (uint64_t i = 0; i < message->rows.count; i++)
        sim_journal_enter(sim, unit->fragment, unit->place[message->rows.first + i],
                          message->failed[i]);
}

static void perform(struct sim *sim, struct sim_driver *driver, const struct lmn__action *action,
                    const struct sim_process *process, const struct sim_message *message)
{
    sim_trace(sim,
              "    action %d, worker %u, slot %u, task %llu, unit %llu, rows %llu + %llu, "
              "receipt %llu",
              (int)action->kind, action->worker, action->slot, (unsigned long long)action->task,
              (unsigned long long)action->unit, (unsigned long long)action->rows.first,
              (unsigned long long)action->rows.count, (unsigned long long)action->receipt);
    switch (action->kind) {
    case LMN__ACTION_START_WORKER:
        sim_process_start(sim, number_of(sim, driver), action->worker);
        break;
    case LMN__ACTION_START_TASK:
        start_task(sim, driver, action);
        break;
    case LMN__ACTION_STOP_SLOT:
        stop_slot(sim, driver, action);
        break;
    case LMN__ACTION_RETIRE:
        retire(sim, driver, action);
        break;
    case LMN__ACTION_ACCEPT:
        accept_result(sim, driver, action, process, message);
        break;
    case LMN__ACTION_DROP:
        dropped(sim, driver, process, message);
        break;
    case LMN__ACTION_FAIL_ROW:
        condemn(sim, driver, action);
        break;
    case LMN__ACTION_COMMIT:
        if (driver->commit != 0 || driver->commit_failed || driver->fail_told)
            sim_violate(sim, "a commit that must not be");
        driver->commit = action->commit;
        driver->published = false;
        break;
    case LMN__ACTION_FINISH:
        driver->finished = true;
        driver->last = *action;
        break;
    }
}

/* Nothing is in the air when a job ends, but by the engine's own failure. */
static void finish(struct sim *sim, struct sim_driver *driver)
{
    const struct lmn__action *last = &driver->last;
    bool done = last->outcome == LMN__OUTCOME_DONE || last->outcome == LMN__OUTCOME_DONE_FAILED;

    for (uint32_t i = 0; i < driver->unit_count; i++) {
        const struct sim_unit *unit = &driver->unit[i];

        for (uint32_t k = 0; k < unit->count && !unit->dropped; k++) {
            if (done && !unit->committed)
                sim_violate(sim, "the job is done, but unit %u is not committed", i);
            if (!driver->fail_told &&
                (unit->state[k] == SIM_ROW_RUNNING || unit->state[k] == SIM_ROW_ACCEPTED))
                sim_violate(sim, "the job ends while row %u of unit %u is on its way", k, i);
        }
    }
    if (driver->commit != 0)
        sim_violate(sim, "the job ends during a commit");
    if (!done && (last->cause == LMN__CAUSE_NONE || last->reason[0] == '\0'))
        sim_violate(sim, "the job ends without a cause");
    sim_driver_excuse(sim, driver);
    driver_gone(sim, driver);
}

/* Slots whose task is in vain, and at the end all of them, are told to stop. */
static void check_stops(struct sim *sim, const struct sim_driver *driver)
{
    for (uint32_t i = 0; i < SIM_WORKERS * SIM_SLOTS; i++) {
        const struct sim_order *order = &driver->order[i];

        if (order->busy && !order->stopped &&
            (driver->stop_told || driver->unit[order->unit].dropped))
            sim_violate(sim, "slot %u is not told to stop", i);
    }
}

static void tell(struct sim *sim, struct sim_driver *driver, struct lmn__event event,
                 const struct sim_process *process, const struct sim_message *message)
{
    struct lmn__action action;
    struct lmn_error err;

    event.now_ns = sim->now_ns;
    driver->stop_told |= event.kind == LMN__EVENT_STOP;
    driver->commit_failed |= event.kind == LMN__EVENT_COMMIT_FAILED;
    if (event.kind != LMN__EVENT_TICK)
        sim_trace(sim,
                  "driver %u: event %d, worker %u, slot %u, task %llu, rows %llu + %llu, "
                  "receipt %llu, commit %llu",
                  number_of(sim, driver), (int)event.kind, event.worker, event.slot,
                  (unsigned long long)event.task, (unsigned long long)event.rows.first,
                  (unsigned long long)event.rows.count, (unsigned long long)event.receipt,
                  (unsigned long long)event.commit);
    if (lmn__machine_tell(driver->machine, &event, &err) != LMN_OK) {
        sim_violate(sim, "event %d: %s", (int)event.kind, err.message);
        return;
    }
    while (sim->violation[0] == '\0' && lmn__machine_next(driver->machine, &action)) {
        if (driver->finished)
            sim_violate(sim, "an action after the last");
        perform(sim, driver, &action, process, message);
    }
    check_stops(sim, driver);
    sim_driver_check(sim, driver);
    if (driver->finished && sim->violation[0] == '\0')
        finish(sim, driver);
}

void sim_driver_tell(struct sim *sim, struct sim_driver *driver, const struct lmn__event *event)
{
    tell(sim, driver, *event, NULL, NULL);
}

/* By the driver's account, a slot is free and the rest of its task pending. */
static void order_end(struct sim *sim, struct sim_driver *driver, struct sim_order *order)
{
    struct sim_unit *unit = &driver->unit[order->unit];

    order->busy = false;
    for (uint64_t i = order->rows.first; i < order->rows.first + order->rows.count; i++) {
        if (unit->dropped || unit->state[i] != SIM_ROW_RUNNING)
            continue;
        unit->state[i] = SIM_ROW_PENDING;
        if (unit->called[i])
            sim_violate(sim, "the simulator lost row %llu", (unsigned long long)i);
    }
}

void sim_driver_deliver(struct sim *sim, struct sim_process *process, uint32_t slot)
{
    struct sim_driver *driver = &sim->driver[process->driver];
    struct sim_slot *from = &process->slot[slot];
    struct sim_message message = from->queue[0];
    uint32_t number = process->worker * sim->options.slots_per_worker + slot;
    struct lmn__event event = { .kind = message.kind,
                                .worker = process->worker,
                                .slot = number,
                                .task = message.task,
                                .rows = message.rows,
                                .bytes = sim_below(sim, 2) };

    memmove(from->queue, from->queue + 1, --from->queue_count * sizeof(*from->queue));
    if (!process->owned)
        sim->seen.late++;
    if (!process->owned && message.kind == LMN__EVENT_WORKER_READY)
        return; /* it says so on a socket that is closed */
    for (uint64_t i = 0; i < message.rows.count; i++)
        event.failed_count += message.failed[i];
    if (message.kind == LMN__EVENT_TASK_DONE && process->owned)
        order_end(sim, driver, &driver->order[number]);
    tell(sim, driver, event, process, &message);
}

/* The journal says what became of a receipt. */
static void receipt_tell(struct sim *sim, struct sim_driver *driver, struct sim_receipt receipt,
                         bool durable)
{
    struct sim_unit *unit = &driver->unit[receipt.unit];
    const struct sim_fragment *fragment = &sim->fragment[unit->fragment];
    struct lmn__event event = { .kind = durable ? LMN__EVENT_RECEIPT_DURABLE
                                                : LMN__EVENT_RECEIPT_LOST,
                                .receipt = receipt.number };

    for (uint64_t i = receipt.rows.first; i < receipt.rows.first + receipt.rows.count; i++) {
        if (unit->dropped)
            break;
        unit->state[i] = durable ? SIM_ROW_DURABLE : SIM_ROW_PENDING;
        if (!durable && unit->called[i] && !driver->fenced &&
            sim_row_same(sim, fragment, unit->place[i]))
            sim->row[fragment->row[unit->place[i]]].excuses++;
        unit->called[i] = durable;
    }
    sim->seen.lost += !durable;
    tell(sim, driver, event, NULL, NULL);
}

void sim_driver_sync(struct sim *sim, struct sim_driver *driver, bool fails)
{
    struct sim_receipt receipt[SIM_RECEIPTS];
    uint32_t count = driver->receipt_count;
    bool trust = sim->sabotage == SIM_TRUST_UNSYNCED && sim_below(sim, 2) == 0;

    if (driver->fenced && sim->sabotage != SIM_UNFENCED)
        fails = true;
    if (fails && !driver->fenced)
        sim_journal_crash(sim, sim->record_synced);
    else if (!trust)
        sim->record_synced = sim->record_last;
    memcpy(receipt, driver->receipt, count * sizeof(*receipt));
    driver->receipt_count = 0;
    if (fails && !driver->fail_told) {
        driver->journal_broken = driver->fail_told = true;
        sim_driver_tell(sim, driver, &(struct lmn__event){ .kind = LMN__EVENT_FAIL });
    }
    for (uint32_t i = 0; i < count && driver->alive && sim->violation[0] == '\0'; i++)
        receipt_tell(sim, driver, receipt[i], !fails && !receipt[i].refused);
}

static bool unit_is_stale(const struct sim *sim, const struct sim_unit *unit)
{
    const struct sim_fragment *fragment = &sim->fragment[unit->fragment];

    return !unit->dropped && !unit->committed &&
           (!fragment->live || fragment->filled != unit->filled);
}

static void unit_drop(struct sim *sim, struct sim_driver *driver, uint32_t number)
{
    struct sim_unit *unit = &driver->unit[number];
    const struct sim_fragment *fragment = &sim->fragment[unit->fragment];
    struct lmn_error err;

    sim_trace(sim, "driver %u: unit %u is dropped", number_of(sim, driver), number);
    for (uint32_t i = 0; i < unit->count; i++) {
        uint32_t at = unit->place[i];

        if (unit->called[i] && fragment->receipt[at] == 0 && sim_row_same(sim, fragment, at))
            sim->row[fragment->row[at]].excuses++;
    }
    unit->dropped = true;
    if (lmn__machine_drop_unit(driver->machine, number, &err) != LMN_OK)
        sim_violate(sim, "drop_unit: %s", err.message);
}

void sim_driver_refresh(struct sim *sim, struct sim_driver *driver)
{
    uint32_t count = driver->unit_count;

    for (uint32_t i = 0; i < count; i++) {
        const struct sim_fragment *fragment = &sim->fragment[driver->unit[i].fragment];

        if (!unit_is_stale(sim, &driver->unit[i]))
            continue;
        sim->seen.rebases++;
        unit_drop(sim, driver, i);
        if (!fragment->live)
            receipts_move(sim, fragment);
        sim->record_synced = sim->record_last;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sim_fragment *fragment = &sim->fragment[driver->unit[i].fragment];

        for (uint32_t k = 0; k < fragment->count && driver->unit[i].dropped; k++) {
            if (sim_row_same(sim, fragment, k))
                sim_plan_fragment(sim, driver, sim->row[fragment->row[k]].fragment);
        }
    }
}

/* One unit that is not finished joins the commit. */
static void commit_hole(struct sim *sim, struct sim_driver *driver)
{
    for (uint32_t i = 0; i < driver->unit_count; i++) {
        if (!driver->unit[i].dropped && !driver->unit[i].committed &&
            driver->unit[i].state[0] != SIM_ROW_DURABLE) {
            sim_table_commit(sim, &driver->unit[i], false);
            return;
        }
    }
}

void sim_driver_commit_step(struct sim *sim, struct sim_driver *driver, bool fails)
{
    struct lmn__event event = { .kind = LMN__EVENT_COMMIT_FAILED, .commit = driver->commit };
    const uint64_t *units;
    uint64_t count;

    if (!driver->published) {
        driver->published = !driver->fenced && !driver->journal_broken;
        if (driver->published)
            return;
        fails = true;
    }
    units = lmn__machine_commit_units(driver->machine, driver->commit, &count);
    for (uint64_t i = 0; i < count && !fails; i++) {
        if (!unit_is_stale(sim, &driver->unit[units[i]]))
            continue;
        sim->seen.conflicts++;
        fails = driver->fenced || driver->journal_broken;
        if (!fails)
            sim_driver_refresh(sim, driver);
        units = lmn__machine_commit_units(driver->machine, driver->commit, &count);
        i = UINT64_MAX;
    }
    if (!fails) {
        for (uint64_t i = 0; i < count; i++)
            sim_table_commit(sim, &driver->unit[units[i]],
                             lmn__machine_is_part(driver->machine, units[i]));
        if (sim->sabotage == SIM_COMMIT_HOLES)
            commit_hole(sim, driver);
        event.kind = LMN__EVENT_COMMITTED;
        sim->seen.commits++;
    }
    driver->commit = 0;
    tell(sim, driver, event, NULL, NULL);
}

void sim_driver_check(struct sim *sim, const struct sim_driver *driver)
{
    struct lmn__machine_counts counts = lmn__machine_counts(driver->machine);
    uint64_t by_state[4] = { 0 }, committed = 0, planned = 0, failed = 0;

    for (uint32_t i = 0; i < driver->unit_count; i++) {
        const struct sim_unit *unit = &driver->unit[i];
        const struct sim_fragment *fragment = &sim->fragment[unit->fragment];
        uint32_t count = unit->dropped ? unit->settled : unit->count;

        planned += count;
        committed += unit->settled;
        for (uint32_t k = 0; k < count; k++) {
            bool durable = unit->state[k] == SIM_ROW_DURABLE;
            uint64_t receipt = fragment->receipt[unit->place[k]];

            by_state[unit->state[k]]++;
            failed += durable && fragment->receipt_failed[unit->place[k]];
            if (durable && (receipt == 0 || receipt > sim->record_synced))
                sim_violate(sim, "row %u of unit %u is durable by word only", k, i);
        }
    }
    if (counts.planned != planned || counts.pending != by_state[SIM_ROW_PENDING] ||
        counts.running != by_state[SIM_ROW_RUNNING] ||
        counts.accepted != by_state[SIM_ROW_ACCEPTED] ||
        counts.checkpointed != by_state[SIM_ROW_DURABLE] || counts.committed != committed ||
        counts.failed != failed)
        sim_violate(sim,
                    "counts: planned %llu, pending %llu, running %llu, accepted %llu, "
                    "checkpointed %llu, committed %llu, failed %llu; should be %llu, %llu, %llu, "
                    "%llu, %llu, %llu, %llu",
                    (unsigned long long)counts.planned, (unsigned long long)counts.pending,
                    (unsigned long long)counts.running, (unsigned long long)counts.accepted,
                    (unsigned long long)counts.checkpointed, (unsigned long long)counts.committed,
                    (unsigned long long)counts.failed, (unsigned long long)planned,
                    (unsigned long long)by_state[0], (unsigned long long)by_state[1],
                    (unsigned long long)by_state[2], (unsigned long long)by_state[3],
                    (unsigned long long)committed, (unsigned long long)failed);
}
