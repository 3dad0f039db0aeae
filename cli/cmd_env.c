/* SPDX-License-Identifier: Apache-2.0 */
#include "python.h"

static int run(int argc, char **argv)
{
    return python_run("leman.environment_command", NULL, argc - 1, argv + 1);
}

const struct command cmd_env = {
    "env", "the Python code that is shipped to clusters",
    "usage: leman env plan [--workspace DIR] [--skip-site-packages] [--bytes-max N] [--ship DIR]\n"
    "                      [--json]\n"
    "       leman env list DIR [--json]\n"
    "       leman env gc DIR [--days N] [--dry-run] [--json]\n"
    "\n"
    "`plan` says what of the Python path would be shipped from the current folder, and why, and\n"
    "what is left out. `list` shows the environments that database DIR holds, `gc` removes those\n"
    "that nobody has shipped for some time, and archives that no environment needs. Needs Python.\n"
    "\n"
    "  --workspace DIR       your own code; the nearest folder with a pyproject.toml or .git\n"
    "                        unless given\n"
    "  --skip-site-packages  installed packages stay behind: the cluster's image has them\n"
    "  --bytes-max N         more is not shipped; \"500MB\" unless given\n"
    "  --ship DIR            ship it to database DIR, too\n"
    "  --days N              30 unless given\n"
    "  --dry-run             only say what would go\n"
    "  --json                print JSON\n"
    "\n"
    "exit codes: 2 also when there is more to ship than --bytes-max\n",
    run
};
