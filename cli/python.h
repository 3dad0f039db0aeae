/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python.h - what only the Python package can read or write.
 */
#ifndef LEMAN_CLI_PYTHON_H
#define LEMAN_CLI_PYTHON_H

#include "command.h"

/* Is this a kind of source that the package reads? */
bool python_knows(const char *kind);

/*
 * Become `python -m MODULE [WHAT] ARGUMENTS`; `what` may be NULL. The interpreter is the one that
 * $LEMAN_PYTHON names, the one beside this command, or the first python3. Returns only when it
 * cannot be started: the exit code.
 */
int python_run(const char *module, const char *what, int argc, char **argv);

#endif
