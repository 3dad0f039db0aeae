/* SPDX-License-Identifier: Apache-2.0 */
#include "arguments.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool number_read(const char *text, uint64_t *value_out)
{
    char *end;

    errno = 0;
    *value_out = strtoull(text, &end, 10);
    return errno == 0 && text[0] >= '0' && text[0] <= '9' && *end == '\0';
}

bool delimiter_read(const char *text, char *delimiter_out)
{
    bool tab = strcmp(text, "\\t") == 0;

    *delimiter_out = tab ? '\t' : text[0];
    return tab || strlen(text) == 1;
}

/* Move the text in quotes that starts at *from, to *to. False: the quotes do not close. */
static bool unquote(char **from, char **to)
{
    for (++*from; **from != '\0'; ++*from) {
        if (**from == '"' && *++*from != '"')
            return true;
        *(*to)++ = **from;
    }
    return false;
}

bool name_read(char *text, char stop, char **rest_out)
{
    char *to = text;
    bool starts = true; /* a name, or the part of one behind a dot */

    while (*text != '\0' && *text != stop) {
        if (*text == '"' && starts) {
            if (!unquote(&text, &to))
                return false;
            starts = false;
        } else {
            starts = *text == '.';
            *to++ = *text++;
        }
    }
    *rest_out = *text != '\0' ? text + 1 : NULL;
    *to = '\0';
    return true;
}

bool assignment_read(char *item, struct lmn_assignment *assignment_out)
{
    char *expression, *given = strdup(item);
    bool is_one = given != NULL && name_read(item, '=', &expression) && expression != NULL &&
                  item[0] != '\0';

    if (is_one)
        *assignment_out = (struct lmn_assignment){ item, expression };
    else if (given != NULL)
        memcpy(item, given, strlen(given) + 1);
    free(given);
    return is_one;
}

static bool list_add(struct list *list, const char *item)
{
    if (list->count == LIST_MAX)
        return false;
    list->item[list->count++] = item;
    return true;
}

/* Take a comma-separated list of names apart, in place. */
static int list_split(const struct command *command, const struct argument *argument, char *text)
{
    char *next;

    for (; text != NULL; text = next) {
        if (!name_read(text, ',', &next))
            return usage(command, "--%s: a quote is not closed", argument->name);
        if (!list_add(argument->into, text))
            return usage(command, "--%s: more than %d", argument->name, LIST_MAX);
    }
    return EXIT_DONE;
}

static int take(const struct command *command, const struct argument *argument, char *value)
{
    struct number *number = argument->into;

    switch (argument->kind) {
    case ARGUMENT_FLAG:
        *(bool *)argument->into = true;
        return EXIT_DONE;
    case ARGUMENT_TEXT:
        *(const char **)argument->into = value;
        return EXIT_DONE;
    case ARGUMENT_NUMBER:
    case ARGUMENT_COUNT:
        number->given = true;
        if (!number_read(value, &number->value))
            return usage(command, "--%s wants a number, not \"%s\"", argument->name, value);
        if (argument->kind == ARGUMENT_COUNT && number->value > UINT32_MAX)
            return usage(command, "--%s is at most %u, not %s", argument->name, UINT32_MAX, value);
        return EXIT_DONE;
    case ARGUMENT_LIST:
        return list_split(command, argument, value);
    case ARGUMENT_ITEMS:
        return list_add(argument->into, value)
                   ? EXIT_DONE
                   : usage(command, "--%s: more than %d", argument->name, LIST_MAX);
    }
    return EXIT_DONE;
}

static const struct argument *find(const struct argument *argument, const char *name, size_t len)
{
    while (argument->name != NULL &&
           (strlen(argument->name) != len || strncmp(argument->name, name, len) != 0))
        argument++;
    return argument->name != NULL ? argument : NULL;
}

/* Options are written out: one that removes things is not to be met by a slip. */
static int unknown(const struct command *command, const struct argument *argument, const char *word,
                   size_t len)
{
    while (argument->name != NULL && (len < 3 || strncmp(argument->name, word + 2, len - 2) != 0))
        argument++;
    return argument->name != NULL ? usage(command, "unknown option \"%.*s\"; there is --%s",
                                          (int)len, word, argument->name)
                                  : usage(command, "unknown option \"%.*s\"", (int)len, word);
}

/* Read the option at argv[*at], which moves to its last word. */
static int read_option(const struct command *command, const struct argument *argument, int argc,
                       char **argv, int *at)
{
    char *word = argv[*at];
    size_t len = word[1] == '-' ? strcspn(word, "=") : 2;
    char *value = word[len] == '=' ? word + len + 1 : NULL;
    const struct argument *found = word[1] == '-' ? find(argument, word + 2, len - 2) : NULL;

    if (found == NULL)
        return unknown(command, argument, word, len);
    if (found->kind == ARGUMENT_FLAG && value != NULL)
        return usage(command, "--%s takes no value", found->name);
    if (found->kind != ARGUMENT_FLAG && value == NULL) {
        if (*at + 1 == argc)
            return usage(command, "--%s wants a value", found->name);
        value = argv[++*at];
    }
    return take(command, found, value);
}

/* The words that are no options stand behind the others then, in their order. */
int arguments_read(const struct command *command, const struct argument *argument, int argc,
                   char **argv, int *rest_out)
{
    char **word = calloc((size_t)argc + 1, sizeof *word);
    int words = 0, options = 1, at = 1, code = EXIT_DONE;

    if (word == NULL) {
        fputs("leman: out of memory\n", stderr);
        return EXIT_FAILED;
    }
    for (; code == EXIT_DONE && at < argc && strcmp(argv[at], "--") != 0; at++) {
        int from = at;

        if (argv[at][0] != '-' || argv[at][1] == '\0') {
            word[words++] = argv[at];
            continue;
        }
        code = read_option(command, argument, argc, argv, &at);
        while (from <= at)
            argv[options++] = argv[from++];
    }
    if (at < argc)
        argv[options++] = argv[at++];
    while (at < argc)
        word[words++] = argv[at++];
    for (int i = 0; i < words; i++)
        argv[options + i] = word[i];
    free(word);
    *rest_out = options;
    return code;
}
