/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Simulated worker processes. A step of a process is a step of one of its slots: begin a call, end
 * it, send what is computed, say that the task is done. What a slot sends waits in its queue until
 * the driver takes it, which may be long after the process has died.
 */
#include "sim.h"

void sim_process_start(struct sim *sim, uint32_t driver, uint32_t worker)
{
    struct sim_process *free_one = NULL;

    if (sim_process_of(sim, driver, worker) != NULL)
        sim_violate(sim, "worker %u is started while it lives", worker);
    for (uint32_t i = 0; i < SIM_PROCESSES && free_one == NULL; i++) {
        if (!sim->process[i].alive && !sim->process[i].owned)
            free_one = &sim->process[i];
    }
    for (uint32_t i = 0; i < SIM_PROCESSES && free_one == NULL; i++) {
        if (!sim->process[i].owned)
            free_one = &sim->process[i]; /* a zombie ends at last */
    }
    if (free_one == NULL) {
        sim_violate(sim, "the simulator has too few processes");
        return;
    }
    free_one->alive = free_one->owned = true;
    free_one->ready = false;
    free_one->driver = driver;
    free_one->worker = worker;
    for (uint32_t i = 0; i < SIM_SLOTS; i++) {
        free_one->slot[i].busy = false;
        free_one->slot[i].queue_count = 0;
    }
}

struct sim_process *sim_process_of(struct sim *sim, uint32_t driver, uint32_t worker)
{
    for (uint32_t i = 0; i < SIM_PROCESSES; i++) {
        struct sim_process *process = &sim->process[i];

        if (process->owned && process->driver == driver && process->worker == worker)
            return process;
    }
    return NULL;
}

/* Does a call by this process count? */
static bool may_call(const struct sim *sim, const struct sim_process *process,
                     const struct sim_unit *unit)
{
    return process->owned && !sim->driver[process->driver].fenced && !unit->dropped;
}

static void call_begin(struct sim *sim, struct sim_process *process, struct sim_slot *slot)
{
    struct sim_unit *unit = &sim->driver[process->driver].unit[slot->unit];
    const struct sim_fragment *fragment = &sim->fragment[unit->fragment];
    uint64_t most = sim->batch_rows;

    if (slot->batch_rows_max > 0 && slot->batch_rows_max < most)
        most = slot->batch_rows_max;
    if (slot->rest.count < most)
        most = slot->rest.count;
    slot->call = (struct lmn__ordinals){ slot->rest.first, 1 + sim_below(sim, (uint32_t)most) };
    slot->rest.first += slot->call.count;
    slot->rest.count -= slot->call.count;
    if (sim->sabotage == SIM_ROWS_TWICE && slot->call.first > 0 && sim_below(sim, 8) == 0) {
        slot->call.first--;
        slot->call.count++;
    }
    if (!may_call(sim, process, unit))
        return;
    for (uint64_t i = slot->call.first; i < slot->call.first + slot->call.count; i++) {
        struct sim_row *row = &sim->row[fragment->row[unit->place[i]]];

        unit->called[i] = true;
        if (unit->narrow[i] > 0 && slot->call.count > unit->narrow[i])
            sim_violate(sim,
                        "row %llu of unit %u is in a call of %llu rows after a death; %u at most",
                        (unsigned long long)i, slot->unit, (unsigned long long)slot->call.count,
                        unit->narrow[i]);
        sim_trace(sim, "driver %u: call of row %u = row %llu of unit %u", process->driver,
                  fragment->row[unit->place[i]], (unsigned long long)i, slot->unit);
        if (!sim_row_same(sim, fragment, unit->place[i]))
            continue;
        if (row->calls > row->excuses)
            sim_violate(sim, "row %u is called for the %u. time, with %u reasons for it",
                        fragment->row[unit->place[i]], row->calls + 1, row->excuses);
        row->calls++;
    }
}

/* The function returns, or takes the process with it. */
static void call_end(struct sim *sim, struct sim_process *process, struct sim_slot *slot)
{
    const struct sim_unit *unit = &sim->driver[process->driver].unit[slot->unit];
    const struct sim_fragment *fragment = &sim->fragment[unit->fragment];

    for (uint64_t i = slot->call.first; i < slot->call.first + slot->call.count; i++) {
        enum sim_row_kind kind = sim->row[fragment->row[unit->place[i]]].kind;

        if (kind == SIM_POISON) {
            sim_process_die(sim, process, false);
            return;
        }
        slot->failed[i] = kind == SIM_BAD;
    }
    if (slot->done.count == 0)
        slot->done = slot->call;
    else
        slot->done.count = slot->call.first + slot->call.count - slot->done.first;
    slot->call.count = 0;
}

static struct sim_message *send(struct sim_slot *slot, enum lmn__event_kind kind)
{
    struct sim_message *message = &slot->queue[slot->queue_count++];

    *message = (struct sim_message){ .kind = kind, .task = slot->task, .unit = slot->unit };
    return message;
}

static void send_result(struct sim_slot *slot)
{
    struct sim_message *message = send(slot, LMN__EVENT_RESULT);

    message->rows = slot->done;
    for (uint64_t i = 0; i < slot->done.count; i++)
        message->failed[i] = slot->failed[slot->done.first + i];
    slot->done.count = 0;
}

static void slot_step(struct sim *sim, struct sim_process *process, struct sim_slot *slot)
{
    if (slot->queue_count + 2 > SIM_MESSAGES)
        return;
    if (slot->call.count > 0) {
        call_end(sim, process, slot);
    } else if (slot->rest.count == 0 || slot->stop) {
        if (slot->done.count > 0)
            send_result(slot);
        send(slot, LMN__EVENT_TASK_DONE);
        slot->busy = false;
    } else if (slot->done.count > 0 && (slot->batch_rows_max > 0 || sim_below(sim, 3) == 0)) {
        send_result(slot);
    } else {
        call_begin(sim, process, slot);
    }
}

void sim_process_step(struct sim *sim, struct sim_process *process)
{
    struct sim_slot *slot = &process->slot[sim_below(sim, sim->options.slots_per_worker)];

    if (!process->ready) {
        process->ready = true;
        send(&process->slot[0], LMN__EVENT_WORKER_READY);
    } else if (slot->busy) {
        slot_step(sim, process, slot);
    }
}

/* What the driver reads in the shared page of a dead worker's slot. */
static struct lmn__ordinals last_call(const struct sim_slot *slot, const struct sim_order *order)
{
    if (!slot->busy || slot->task != order->task)
        return (struct lmn__ordinals){ order->rows.first + order->rows.count, 0 };
    if (slot->call.count > 0)
        return slot->call;
    return (struct lmn__ordinals){ slot->rest.first, 0 };
}

uint32_t sim_order_give_up(struct sim *sim, struct sim_driver *driver, struct sim_order *order)
{
    uint32_t count = 0;
    struct sim_unit *unit = &driver->unit[order->unit];
    const struct sim_fragment *fragment = &sim->fragment[unit->fragment];

    order->busy = false;
    for (uint64_t i = order->rows.first; i < order->rows.first + order->rows.count; i++) {
        if (unit->dropped || unit->state[i] != SIM_ROW_RUNNING)
            continue;
        unit->state[i] = SIM_ROW_PENDING;
        if (unit->called[i] && sim_row_same(sim, fragment, unit->place[i]))
            sim->row[fragment->row[unit->place[i]]].excuses++;
        unit->called[i] = false;
        count++;
    }
    return count;
}

/* What the death says of the rows of a slot's call. */
static void suspect(struct sim *sim, struct sim_driver *driver, const struct sim_slot *slot)
{
    struct sim_unit *unit = &driver->unit[slot->unit];

    driver->calls_at_death++;
    for (uint64_t i = 0; i < slot->call.count; i++)
        unit->narrow[slot->call.first + i] = (uint8_t)((slot->call.count + 1) / 2);
    if (slot->call.count == 1 && !unit->dropped) {
        unit->lone[slot->call.first] = true;
        sim->row[sim->fragment[unit->fragment].row[unit->place[slot->call.first]]].single_deaths++;
    }
}

void sim_process_die(struct sim *sim, struct sim_process *process, bool zombie)
{
    struct sim_driver *driver = &sim->driver[process->driver];
    struct lmn__event event = { .kind = LMN__EVENT_WORKER_DIED, .worker = process->worker };
    uint32_t first = process->worker * sim->options.slots_per_worker;

    process->alive = zombie;
    if (!process->owned)
        return;
    sim->seen.deaths++;
    sim->seen.zombies += zombie;
    if (sim->sabotage == SIM_FORGET_DEATHS)
        return;
    for (uint32_t i = 0; i < sim->options.slots_per_worker && sim_below(sim, 2) == 0; i++) {
        while (driver->alive && process->slot[i].queue_count > 0)
            sim_driver_deliver(sim, process, i);
    }
    if (!driver->alive || !process->owned)
        return; /* what it said before its death was the end of the job */
    process->owned = false;
    driver->calls_at_death = 0;
    for (uint32_t i = 0; i < sim->options.slots_per_worker; i++) {
        struct sim_order *order = &driver->order[first + i];

        if (!order->busy)
            continue;
        if (process->slot[i].busy && process->slot[i].call.count > 0)
            suspect(sim, driver, &process->slot[i]);
        lmn__machine_died(driver->machine, first + i, last_call(&process->slot[i], order));
        (void)sim_order_give_up(sim, driver, order);
    }
    sim_driver_tell(sim, driver, &event);
}
