/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "command.h"
#include "value.h"

static const struct command *const commands[] = {
    &cmd_create,     &cmd_append,  &cmd_ingest,  &cmd_export,  &cmd_scan,     &cmd_take,
    &cmd_count,      &cmd_update,  &cmd_upsert,  &cmd_delete,  &cmd_columns,  &cmd_versions,
    &cmd_tables,     &cmd_tag,     &cmd_restore, &cmd_diff,    &cmd_compact,  &cmd_cleanup,
    &cmd_upgrade,    &cmd_inspect, &cmd_verify,  &cmd_show,    &cmd_backfill, &cmd_jobs,
    &cmd_job,        &cmd_logs,    &cmd_cancel,  &cmd_discard, &cmd_compare,  &cmd_errors,
    &cmd_feed_bench, &cmd_cache,   &cmd_cluster, &cmd_env,     &cmd_worker
};

enum { COMMAND_COUNT = sizeof commands / sizeof commands[0], MESSAGE_BYTES = 4096 };

int fail(const struct lmn_error *err)
{
    struct text text = { 0 };

    people_put_lines(&text, err->message);
    fprintf(stderr, "leman: %s\n", text.data);
    text_free(&text);
    switch (err->status) {
    case LMN_E_INVALID:
    case LMN_E_NOT_FOUND:
    case LMN_E_EXISTS:
    case LMN_E_UNSUPPORTED:
        return EXIT_USAGE;
    case LMN_E_CONFLICT:
    case LMN_E_UNAVAILABLE:
        return EXIT_CONFLICT;
    case LMN_E_CANCELLED:
        return EXIT_KILLED;
    default:
        return EXIT_FAILED;
    }
}

int usage(const struct command *command, const char *fmt, ...)
{
    struct text text = { 0 };
    char message[MESSAGE_BYTES];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    fprintf(stderr, "leman %s: %s\nSee: leman %s --help\n", command->name,
            people_text(&text, message), command->name);
    text_free(&text);
    return EXIT_USAGE;
}

enum lmn_status open_file(const char *path, struct lmn_file **file_out, struct lmn_error *err)
{
    const char *slash = strrchr(path, '/');
    struct lmn_store *store;
    char folder[4096] = ".";
    size_t len = slash != NULL ? (size_t)(slash - path) + 1 : 0;
    enum lmn_status st;

    *file_out = NULL;
    if (len >= sizeof folder)
        return lmn_fail(err, LMN_E_INVALID, "the path is too long: %.100s...", path);
    if (slash != NULL) {
        memcpy(folder, path, len);
        folder[len > 1 ? len - 1 : len] = '\0';
    }
    st = lmn_store_open_local(NULL, folder, &store, err);
    if (st != LMN_OK)
        return st;
    st = lmn_file_open(store, slash != NULL ? slash + 1 : path, NULL, file_out, err);
    lmn_store_release(store);
    return st;
}

static const struct command *find_command(const char *name)
{
    for (int i = 0; i < COMMAND_COUNT; i++) {
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    }
    return NULL;
}

static void print_help(FILE *out)
{
    fputs("usage: leman COMMAND [OPTION ...]\n\ncommands:\n", out);
    for (int i = 0; i < COMMAND_COUNT; i++)
        fprintf(out, "  %-10s %s\n", commands[i]->name, commands[i]->summary);
    fputs("\n'leman COMMAND --help' tells more of a command, 'leman --version' the version.\n"
          "exit codes: 0 done, 1 failed, 2 wrong usage or input, 3 done with failed rows or bad\n"
          "input left out, 4 stopped and resumable, 5 conflict with another writer or held by\n"
          "another, 130 stopped at once\n",
          out);
}

/* Output that did not reach its reader is a failure, too. */
static int finish_output(int code)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return code;
    fprintf(stderr, "leman: cannot write the output: %s\n", strerror(errno));
    return code != EXIT_DONE ? code : EXIT_FAILED;
}

static bool asks_for_help(int argc, char **argv)
{
    for (int i = 2; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    }
    return false;
}

static int run(int argc, char **argv)
{
    const struct command *command;
    bool help;

    if (argc < 2) {
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("leman %s\n", lmn_version());
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        (strcmp(argv[1], "help") == 0 && argc == 2)) {
        print_help(stdout);
        return EXIT_DONE;
    }
    help = strcmp(argv[1], "help") == 0;
    command = find_command(argv[1 + help]);
    if (command == NULL) {
        fprintf(stderr, "leman: no command \"%s\"\n\n", argv[1 + help]);
        print_help(stderr);
        return EXIT_USAGE;
    }
    if (help || asks_for_help(argc, argv)) {
        fputs(command->help, stdout);
        return EXIT_DONE;
    }
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    /* Texts are in UTF-8 whatever the environment says; this is for the widths of characters. */
    setlocale(LC_CTYPE, "C.UTF-8");
    return finish_output(run(argc, argv));
}
