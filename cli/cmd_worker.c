/* SPDX-License-Identifier: Apache-2.0 */
#include "command.h"

static int run(int argc, char **argv)
{
    struct lmn_error err;

    (void)argv;
    if (argc != 1)
        return usage(&cmd_worker, "no arguments are wanted");
    return lmn_c_worker_run(&err) == LMN_OK ? EXIT_DONE : fail(&err);
}

const struct command cmd_worker = {
    "worker", "run C functions for a job (started by jobs, not by people)",
    "usage: leman worker\n"
    "\n"
    "Serves a job that started it: the descriptors in LEMAN_WORKER_FDS, one thread each.\n",
    run
};
