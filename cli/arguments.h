/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arguments.h - the options of a command, read by a table of them.
 */
#ifndef LEMAN_CLI_ARGUMENTS_H
#define LEMAN_CLI_ARGUMENTS_H

#include "command.h"

enum { LIST_MAX = 1024 };

/* What an option is, and so what it is read into. */
enum argument_kind {
    ARGUMENT_FLAG,   /* bool: it is there */
    ARGUMENT_TEXT,   /* const char *: the last one given */
    ARGUMENT_NUMBER, /* struct number */
    ARGUMENT_COUNT,  /* struct number, of 32 bits */
    ARGUMENT_LIST,   /* struct list: names as name_read() takes them, with commas between */
    ARGUMENT_ITEMS   /* struct list: one item each time it is given */
};

struct number {
    bool given;
    uint64_t value;
};

struct list {
    const char *item[LIST_MAX];
    uint32_t count;
};

struct argument {
    const char *name; /* without the dashes; NULL ends the table */
    enum argument_kind kind;
    void *into;
};

/*
 * Read the options of `command`. Returns EXIT_DONE, and in *rest_out the index of the first
 * argument that is no option, or what usage() answers.
 */
int arguments_read(const struct command *command, const struct argument *argument, int argc,
                   char **argv, int *rest_out);

/* Read a whole number. */
bool number_read(const char *text, uint64_t *value_out);

/* Read what stands between fields: one character, or \t as it is typed. */
bool delimiter_read(const char *text, char *delimiter_out);

/* What --help says of names in lists and in front of "=". */
#define NAMES_HELP                                                                                 \
    "Names that have a comma or \"=\" are written in double quotes: '\"a,b\",c'; a quote in such " \
    "a\n"                                                                                          \
    "name is written twice.\n"

/*
 * Read the name that `text` starts with, up to `stop` or its end, in place. What stands in double
 * quotes, at its start or behind a dot, is taken as it is; two quotes there are one. *rest_out is
 * what follows `stop`; NULL: there is none. False: a quote is not closed.
 */
bool name_read(char *text, char stop, char **rest_out);

/*
 * Part "name=expression" at the first '=' behind the name. `item` is changed; the name of an
 * assignment points into it. False, and `item` as it was, when there is no name or no '='.
 */
bool assignment_read(char *item, struct lmn_assignment *assignment_out);

#endif
