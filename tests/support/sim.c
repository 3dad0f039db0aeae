/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The schedule: what happens next, drawn from the seed. While faults are left, anything may go
 * wrong; after that only what the rows themselves do, so that the job has to come to its end.
 */
#include "sim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Far more than any schedule takes; one that needs more goes round in circles. */
#define STEPS_MAX 60000u

uint32_t sim_below(struct sim *sim, uint32_t n)
{
    return (uint32_t)(test_random(&sim->random) % n);
}

void sim_violate(struct sim *sim, const char *fmt, ...)
{
    va_list args;

    if (sim->violation[0] != '\0')
        return;
    va_start(args, fmt);
    (void)vsnprintf(sim->violation, sizeof(sim->violation), fmt, args);
    va_end(args);
}

void sim_trace(const struct sim *sim, const char *fmt, ...)
{
    va_list args;

    if (!sim->traced)
        return;
    va_start(args, fmt);
    printf("%6llu  ", (unsigned long long)sim->seen.steps);
    (void)vprintf(fmt, args);
    printf("\n");
    va_end(args);
}

void sim_init(struct sim *sim, uint64_t seed, enum sim_sabotage sabotage)
{
    static struct lmn__machine_limits limits;
    struct lmn__machine_options *options = &sim->options;

    memset(sim, 0, sizeof(*sim));
    sim->seed = sim->random = seed;
    sim->sabotage = sabotage;
    sim->faults_left = sim_below(sim, 40);
    sim->batch_rows = 1 + sim_below(sim, 8);
    limits = (struct lmn__machine_limits){ .unlimited = sim_below(sim, 3) > 0,
                                           .given = sim_below(sim, 2) == 0,
                                           .count_max = sim_below(sim, 6),
                                           .fraction_max = 0.1,
                                           .first_rows_max = sim_below(sim, 10) };
    options->limits = &limits;
    options->fill_count = 1;
    options->worker_count = 1 + sim_below(sim, SIM_WORKERS);
    options->slots_per_worker = 1 + sim_below(sim, SIM_SLOTS);
    options->task_rows_max = sim_below(sim, 2) == 0 ? 1 + sim_below(sim, 12) : 0;
    options->task_rows_min = 1 + sim_below(sim, 3);
    options->units_per_commit = sim_below(sim, 3);
    options->worker_restarts_max = 1 + sim_below(sim, 3);
    options->row_deaths_max = 1 + sim_below(sim, 3);
    sim_table_make(sim);
}

void sim_deinit(struct sim *sim)
{
    for (uint32_t i = 0; i < SIM_DRIVERS; i++)
        lmn__machine_free(sim->driver[i].machine);
}

/* A driver that lives, or NULL. */
static struct sim_driver *driver_pick(struct sim *sim)
{
    uint32_t start = sim_below(sim, SIM_DRIVERS);

    for (uint32_t i = 0; i < SIM_DRIVERS; i++) {
        struct sim_driver *driver = &sim->driver[(start + i) % SIM_DRIVERS];

        if (driver->alive)
            return driver;
    }
    return NULL;
}

static struct sim_process *process_pick(struct sim *sim, bool owned)
{
    uint32_t start = sim_below(sim, SIM_PROCESSES);

    for (uint32_t i = 0; i < SIM_PROCESSES; i++) {
        struct sim_process *process = &sim->process[(start + i) % SIM_PROCESSES];

        if (process->alive && (process->owned || !owned))
            return process;
    }
    return NULL;
}

/* Some message that waits, of the living or the dead. */
static void deliver(struct sim *sim)
{
    uint32_t start = sim_below(sim, SIM_PROCESSES * SIM_SLOTS);

    for (uint32_t i = 0; i < SIM_PROCESSES * SIM_SLOTS; i++) {
        uint32_t n = (start + i) % (SIM_PROCESSES * SIM_SLOTS);
        struct sim_process *process = &sim->process[n / SIM_SLOTS];

        if (process->slot[n % SIM_SLOTS].queue_count == 0 || !sim->driver[process->driver].alive)
            continue;
        sim_driver_deliver(sim, process, n % SIM_SLOTS);
        return;
    }
}

static void power_loss(struct sim *sim)
{
    sim->seen.power_losses++;
    sim_trace(sim, "power loss");
    for (uint32_t i = 0; i < SIM_DRIVERS; i++) {
        if (sim->driver[i].alive)
            sim_driver_crash(sim, &sim->driver[i]);
    }
}

/* A second driver begins while the first believes in itself. */
static void take_over(struct sim *sim)
{
    for (uint32_t i = 0; i < SIM_DRIVERS; i++) {
        if (!sim->driver[i].alive) {
            sim_driver_start(sim, &sim->driver[i]);
            return;
        }
    }
}

static void fault(struct sim *sim)
{
    struct sim_driver *driver = driver_pick(sim);
    struct sim_process *process = process_pick(sim, true);
    uint32_t what = sim_below(sim, 16);

    sim->faults_left--;
    if (what < 3 && process != NULL) {
        sim_process_die(sim, process, false);
    } else if (what < 6 && process != NULL) {
        sim_process_die(sim, process, true);
    } else if (what == 6) {
        sim->seen.crashes++;
        sim_driver_crash(sim, driver);
    } else if (what == 7) {
        power_loss(sim);
    } else if (what == 8) {
        take_over(sim);
    } else if (what < 12) {
        sim_table_change(sim);
    } else if (what == 12) {
        sim_driver_sync(sim, driver, true);
    } else if (what == 13) {
        if (driver->commit != 0)
            sim_driver_commit_step(sim, driver, true);
    } else if (what == 14) {
        sim->seen.stops++;
        sim_driver_tell(sim, driver, &(struct lmn__event){ .kind = LMN__EVENT_STOP });
    } else {
        driver->refuse_next = true;
    }
}

/* The driver's own doings: sync, commit, look at the table, the clock. */
static void drive(struct sim *sim, uint32_t what)
{
    struct sim_driver *driver = driver_pick(sim);

    if (what < 10) {
        sim_driver_sync(sim, driver, false);
    } else if (what < 18) {
        if (driver->commit != 0)
            sim_driver_commit_step(sim, driver, false);
    } else if (what < 20) {
        if (!driver->fenced && !driver->journal_broken)
            sim_driver_refresh(sim, driver);
        sim_driver_tell(sim, driver, &(struct lmn__event){ .kind = LMN__EVENT_TICK });
    } else {
        sim->now_ns += (uint64_t)sim_below(sim, 10) * UINT64_C(1000000000);
        sim_driver_tell(sim, driver, &(struct lmn__event){ .kind = LMN__EVENT_TICK });
    }
}

static void step(struct sim *sim)
{
    struct sim_process *process = process_pick(sim, false);
    uint32_t what = sim_below(sim, 100);

    if (what < 45) {
        if (process != NULL)
            sim_process_step(sim, process);
    } else if (what < 72) {
        deliver(sim);
    } else if (what < 76 && sim->faults_left > 0) {
        fault(sim);
    } else {
        drive(sim, what - 76);
    }
}

bool sim_run(struct sim *sim)
{
    while (sim->violation[0] == '\0') {
        if (driver_pick(sim) == NULL) {
            if (sim_table_filled(sim))
                return true;
            sim_driver_start(sim, &sim->driver[0]);
            continue;
        }
        step(sim);
        for (uint32_t i = 0; i < SIM_DRIVERS && sim->violation[0] == '\0'; i++) {
            if (sim->driver[i].alive)
                sim_driver_check(sim, &sim->driver[i]);
        }
        if (++sim->seen.steps > STEPS_MAX)
            sim_violate(sim, "no end after %u steps", STEPS_MAX);
    }
    return false;
}

void sim_check_seed(struct sim *sim, uint64_t seed)
{
    bool well;

    sim_init(sim, seed, SIM_HONEST);
    sim->traced = getenv("LEMAN_TRACE") != NULL;
    well = sim_run(sim);
    sim_deinit(sim);
    if (!well)
        check_fail(__FILE__, __LINE__, "%s (step %llu; repeat it with LEMAN_SEED=%llu)",
                   sim->violation, (unsigned long long)sim->seen.steps, (unsigned long long)seed);
}
