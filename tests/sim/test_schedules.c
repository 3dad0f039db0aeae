/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thousands of random schedules of whole jobs, each from a seed of its own: see support/sim.h. The
 * invariants of job/machine.h hold after every step of every one of them, and each ends with every
 * cell filled.
 *
 * LEMAN_SEED=n repeats one schedule, with LEMAN_TRACE=1 step by step.
 *
 * labels: slow
 */
#include <stdlib.h>

#include "sim.h"

#define SCHEDULES 30000u
/* Enough for any mistake of the engine to show. */
#define SABOTAGED 600u

static struct sim sim;

/* Everything that can happen does: a world in which it cannot proves nothing. */
static void check_seen(const struct sim_seen *seen)
{
    CHECK(seen->runs > SCHEDULES);
    CHECK(seen->commits > SCHEDULES);
    CHECK(seen->deaths > seen->zombies && seen->zombies > 0);
    CHECK(seen->late > 0);
    CHECK(seen->crashes > 0);
    CHECK(seen->power_losses > 0);
    CHECK(seen->takeovers > 0);
    CHECK(seen->conflicts > 0);
    CHECK(seen->rebases > seen->conflicts);
    CHECK(seen->condemned > 0);
    CHECK(seen->lost > 0);
    CHECK(seen->stops > 0);
    CHECK(seen->parts > 0);
}

static void add(struct sim_seen *sum, const struct sim_seen *one)
{
    sum->runs += one->runs;
    sum->commits += one->commits;
    sum->deaths += one->deaths;
    sum->zombies += one->zombies;
    sum->late += one->late;
    sum->crashes += one->crashes;
    sum->power_losses += one->power_losses;
    sum->takeovers += one->takeovers;
    sum->conflicts += one->conflicts;
    sum->rebases += one->rebases;
    sum->condemned += one->condemned;
    sum->lost += one->lost;
    sum->stops += one->stops;
    sum->parts += one->parts;
}

static void test_schedules__invariants_hold(void **state)
{
    const char *seed = getenv("LEMAN_SEED");
    struct sim_seen seen = { 0 };

    (void)state;
    if (seed != NULL) {
        sim_check_seed(&sim, strtoull(seed, NULL, 10));
        return;
    }
    for (uint64_t i = 1; i <= SCHEDULES; i++) {
        sim_check_seed(&sim, i);
        add(&seen, &sim.seen);
    }
    CHECK_EQ(live_allocations(), 0);
    check_seen(&seen);
}

/* An engine that makes this mistake violates something within a few hundred schedules. */
static void check_noticed(enum sim_sabotage sabotage, const char *violation)
{
    bool well = true;

    for (uint64_t seed = 1; seed <= SABOTAGED && well; seed++) {
        sim_init(&sim, seed, sabotage);
        well = sim_run(&sim);
        sim_deinit(&sim);
    }
    CHECK(!well);
    CHECK_HAS(sim.violation, violation);
}

static void test_schedules__mistakes_are_noticed(void **state)
{
    (void)state;
    check_noticed(SIM_KEEP_DROPPED, "gets a second receipt");
    check_noticed(SIM_COMMIT_HOLES, "is committed without a durable receipt");
    check_noticed(SIM_TRUST_UNSYNCED, "is durable by word only");
    check_noticed(SIM_UNFENCED, "gets a second receipt");
    check_noticed(SIM_FORGET_DEATHS, "no end after");
    check_noticed(SIM_ROWS_TWICE, "is called for the 2. time");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules__invariants_hold),
        cmocka_unit_test(test_schedules__mistakes_are_noticed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
