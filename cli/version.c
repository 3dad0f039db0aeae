/* SPDX-License-Identifier: Apache-2.0 */
#include "version.h"

#include <string.h>
#include <time.h>

#include "arguments.h"

/* `count` digits at *text, which moves behind them. */
static bool take_digits(const char **text, int count, int *value_out)
{
    *value_out = 0;
    for (int i = 0; i < count; i++, ++*text) {
        if (**text < '0' || **text > '9')
            return false;
        *value_out = *value_out * 10 + (**text - '0');
    }
    return true;
}

static bool take(const char **text, char c)
{
    if (**text != c)
        return false;
    ++*text;
    return true;
}

/* Seconds since 1970 of a moment that the calendar has: there is no 31 February. */
static bool to_seconds(const struct tm *given, int64_t *seconds_out)
{
    struct tm parts = *given;

    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    *seconds_out = (int64_t)timegm(&parts);
    return parts.tm_year == given->tm_year - 1900 && parts.tm_mon == given->tm_mon - 1 &&
           parts.tm_mday == given->tm_mday && parts.tm_hour == given->tm_hour &&
           parts.tm_min == given->tm_min && parts.tm_sec == given->tm_sec;
}

/*
 * "2024-01-31T12:00[:00[.123456]][Z]". Without a fraction the second is meant as a whole: `leman
 * versions` prints those of versions that were made in the middle of one.
 */
static bool time_read(const char *text, int64_t *timestamp_us)
{
    struct tm parts = { 0 };
    int64_t micros = 999999, seconds;

    if (!take_digits(&text, 4, &parts.tm_year) || !take(&text, '-') ||
        !take_digits(&text, 2, &parts.tm_mon) || !take(&text, '-') ||
        !take_digits(&text, 2, &parts.tm_mday) || !take(&text, 'T') ||
        !take_digits(&text, 2, &parts.tm_hour) || !take(&text, ':') ||
        !take_digits(&text, 2, &parts.tm_min))
        return false;
    if (take(&text, ':') && !take_digits(&text, 2, &parts.tm_sec))
        return false;
    if (take(&text, '.')) {
        int64_t unit = 100000;

        micros = 0;
        for (; *text >= '0' && *text <= '9'; text++, unit /= 10)
            micros += (*text - '0') * unit;
    }
    (void)take(&text, 'Z');
    if (*text != '\0' || !to_seconds(&parts, &seconds))
        return false;
    *timestamp_us = seconds * 1000000 + micros;
    return true;
}

/* What follows `prefix` in `text`; NULL when it does not start so. */
static const char *behind(const char *text, const char *prefix)
{
    size_t len = strlen(prefix);

    return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

enum lmn_status version_read(const char *text, struct lmn_table_options *options_out,
                             struct lmn_error *err)
{
    uint64_t number;

    *options_out = (struct lmn_table_options){ 0 };
    if (text == NULL)
        return LMN_OK;
    if (number_read(text, &number)) {
        options_out->version = number;
        return number != 0
                   ? LMN_OK
                   : lmn_fail(err, LMN_E_INVALID, "versions count from 1; there is no version 0");
    }
    if (time_read(text, &options_out->timestamp_us))
        return LMN_OK;
    options_out->branch = behind(text, "branch:");
    if (options_out->branch != NULL)
        return LMN_OK;
    options_out->tag = behind(text, "tag:");
    if (options_out->tag == NULL && strchr(text, ':') != NULL) /* no tag has a colon */
        return lmn_fail(err, LMN_E_INVALID,
                        "\"%.60s\" is no version: a number, a tag, a time such as "
                        "2024-01-31T12:00Z, or branch:NAME",
                        text);
    if (options_out->tag == NULL)
        options_out->tag = text;
    return LMN_OK;
}
