/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Millions of random schedules of whole jobs; see test_schedules.c, which repeats one by its seed.
 * SOAK=0.1 makes it a tenth of them.
 *
 * labels: soak
 * timeout: 3600
 */
#include <stdlib.h>

#include "sim.h"

#define FIRST     UINT64_C(1000000)
#define SCHEDULES UINT64_C(4000000)

static struct sim sim;

static void test_schedules__invariants_hold(void **state)
{
    const char *share = getenv("SOAK");
    double count = (double)SCHEDULES * (share != NULL && share[0] != '\0' ? atof(share) : 1);

    (void)state;
    for (uint64_t i = FIRST; i < FIRST + (uint64_t)count; i++)
        sim_check_seed(&sim, i);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedules__invariants_hold),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
