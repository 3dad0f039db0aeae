/* SPDX-License-Identifier: Apache-2.0 */
/*
 * command.h - the subcommands, and what they share.
 *
 * A command parses its options, makes a few library calls and prints. It returns the exit code:
 * 0 done, 1 failed, 2 wrong usage or input, 3 done with failed rows or bad input left out, 4
 * stopped and resumable, 5 conflict with another writer or held by another, 130 stopped at once.
 */
#ifndef LEMAN_CLI_COMMAND_H
#define LEMAN_CLI_COMMAND_H

#include <leman/leman.h>

enum exit_code {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    EXIT_FAILED_ROWS = 3,
    EXIT_STOPPED = 4,
    EXIT_CONFLICT = 5,
    EXIT_KILLED = 130
};

struct command {
    const char *name;
    const char *summary; /* one line */
    const char *help;    /* what --help prints */
    int (*run)(int argc, char **argv);
};

extern const struct command cmd_append;
extern const struct command cmd_backfill;
extern const struct command cmd_cancel;
extern const struct command cmd_cache;
extern const struct command cmd_cleanup;
extern const struct command cmd_cluster;
extern const struct command cmd_columns;
extern const struct command cmd_compact;
extern const struct command cmd_compare;
extern const struct command cmd_count;
extern const struct command cmd_create;
extern const struct command cmd_delete;
extern const struct command cmd_diff;
extern const struct command cmd_discard;
extern const struct command cmd_env;
extern const struct command cmd_errors;
extern const struct command cmd_feed_bench;
extern const struct command cmd_export;
extern const struct command cmd_ingest;
extern const struct command cmd_inspect;
extern const struct command cmd_job;
extern const struct command cmd_jobs;
extern const struct command cmd_logs;
extern const struct command cmd_restore;
extern const struct command cmd_scan;
extern const struct command cmd_show;
extern const struct command cmd_tables;
extern const struct command cmd_tag;
extern const struct command cmd_take;
extern const struct command cmd_update;
extern const struct command cmd_upgrade;
extern const struct command cmd_upsert;
extern const struct command cmd_verify;
extern const struct command cmd_versions;
extern const struct command cmd_worker;

/* Print an error and return the exit code for it. */
int fail(const struct lmn_error *err);

/* Say what is wrong with the call, and where help is. Returns EXIT_USAGE. */
int usage(const struct command *command, const char *fmt, ...) LMN_PRINTF(2, 3);

/* Open a file by its path in the file system. The caller releases it. */
enum lmn_status open_file(const char *path, struct lmn_file **file_out, struct lmn_error *err);

#endif
