/* SPDX-License-Identifier: Apache-2.0 */
/*
 * detach.h - a command that goes on without its terminal.
 *
 * The command splits: one half waits for a word of the other and ends with it; the other half has
 * a session of its own, and nothing but the word ties it to the first.
 */
#ifndef LEMAN_CLI_DETACH_H
#define LEMAN_CLI_DETACH_H

#include "command.h"

/*
 * Split. In the half that goes on, returns true, and *fd_out is where its word goes. In the other,
 * returns false after the word was said and printed; *code_out is the exit code.
 */
bool detach_split(int *fd_out, int *code_out);

/* The word of the half that goes on: that it does (EXIT_DONE), or why not. From then on what it
 * prints goes nowhere. */
void detach_say(int *fd, int code, const char *text);

#endif
