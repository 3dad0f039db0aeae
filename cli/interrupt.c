/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal that comes just before a call begins to wait does not interrupt it. So an alarm follows,
 * and another every second: a call that waits looks again.
 */
#include "interrupt.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "command.h"

static volatile sig_atomic_t asked, interrupts, ends;

static void on_signal(int number)
{
    if (number != SIGALRM && asked && ends)
        _exit(EXIT_KILLED);
    asked = 1;
    interrupts += number == SIGINT;
    if (ends)
        alarm(1);
}

void interrupt_catch(bool second_ends)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGALRM };
    struct sigaction action;

    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigemptyset(&action.sa_mask);
    ends = second_ends;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i] != SIGALRM || second_ends)
            sigaction(numbers[i], &action, NULL);
    }
}

static bool ask(void *context)
{
    (void)context;
    return interrupt_asked();
}

void interrupt_calls(void)
{
    interrupt_catch(true);
    lmn_interrupt_set((struct lmn_interrupt){ ask, NULL });
}

bool interrupt_asked(void)
{
    return asked != 0;
}

int interrupt_count(void)
{
    return interrupts;
}
