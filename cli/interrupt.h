/* SPDX-License-Identifier: Apache-2.0 */
/*
 * interrupt.h - Ctrl-C and the other signals that ask a command to end.
 */
#ifndef LEMAN_CLI_INTERRUPT_H
#define LEMAN_CLI_INTERRUPT_H

#include <stdbool.h>

/*
 * From now on SIGINT, SIGTERM and SIGHUP are noted, and interrupt calls that wait. With
 * `second_ends` the first asks and a second one ends the process at once.
 */
void interrupt_catch(bool second_ends);

/* The same, and the first one also ends calls of the library by this thread that take long. */
void interrupt_calls(void);

/* Was there one? */
bool interrupt_asked(void);

/* How many of them were SIGINT? */
int interrupt_count(void);

#endif
