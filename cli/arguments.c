/* SPDX-License-Identifier: Apache-2.0 */
#include "arguments.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 32, FIRST_VALUE = 1000 };

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

bool assignment_read(char *item, struct lmn_assignment *assignment_out)
{
    char *sign = strchr(item, '=');

    if (sign == NULL || sign == item)
        return false;
    *sign = '\0';
    *assignment_out = (struct lmn_assignment){ item, sign + 1 };
    return true;
}

static bool list_add(struct list *list, const char *item)
{
    if (list->count == LIST_MAX)
        return false;
    list->item[list->count++] = item;
    return true;
}

/* Take a comma-separated list apart, in place. */
static bool list_split(struct list *list, char *text)
{
    char *next;

    for (; text != NULL; text = next) {
        next = strchr(text, ',');
        if (next != NULL)
            *next++ = '\0';
        if (!list_add(list, text))
            return false;
    }
    return true;
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
        number->given = true;
        if (!number_read(value, &number->value))
            return usage(command, "--%s wants a number, not \"%s\"", argument->name, value);
        return EXIT_DONE;
    case ARGUMENT_LIST:
        return list_split(argument->into, value)
                   ? EXIT_DONE
                   : usage(command, "--%s: more than %d", argument->name, LIST_MAX);
    case ARGUMENT_ITEMS:
        return list_add(argument->into, value)
                   ? EXIT_DONE
                   : usage(command, "--%s: more than %d", argument->name, LIST_MAX);
    }
    return EXIT_DONE;
}

int arguments_read(const struct command *command, const struct argument *argument, int argc,
                   char **argv, int *rest_out)
{
    struct option options[OPTIONS_MAX + 1] = { 0 };
    int option, code = EXIT_DONE;

    for (int i = 0; i < OPTIONS_MAX && argument[i].name != NULL; i++)
        options[i] = (struct option){ argument[i].name,
                                      argument[i].kind == ARGUMENT_FLAG ? no_argument
                                                                        : required_argument,
                                      NULL, FIRST_VALUE + i };
    opterr = 0;
    while (code == EXIT_DONE && (option = getopt_long(argc, argv, ":", options, NULL)) != -1) {
        if (option == ':')
            code = usage(command, "%s wants a value", argv[optind - 1]);
        else if (option < FIRST_VALUE && optopt >= FIRST_VALUE)
            code = usage(command, "--%s takes no value", argument[optopt - FIRST_VALUE].name);
        else if (option < FIRST_VALUE && optopt != 0) /* of one letter; others may follow it */
            code = usage(command, "unknown option \"-%c\"", optopt);
        else if (option < FIRST_VALUE)
            code = usage(command, "unknown option \"%s\"", argv[optind - 1]);
        else
            code = take(command, &argument[option - FIRST_VALUE], optarg);
    }
    *rest_out = optind;
    return code;
}
