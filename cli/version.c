/* SPDX-License-Identifier: Apache-2.0 */
#include "version.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "arguments.h"

static const char branch_prefix[] = "branch:";

/*
 * "2024-01-31T12:00[:00[.123456]][Z]". Without a fraction the second is meant as a whole: `leman
 * versions` prints those of versions that were made in the middle of one.
 */
static bool time_read(const char *text, int64_t *timestamp_us)
{
    struct tm parts = { 0 };
    int64_t micros = 999999;
    int used = 0;

    if (sscanf(text, "%4d-%2d-%2dT%2d:%2d%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
               &parts.tm_hour, &parts.tm_min, &used) != 5)
        return false;
    text += used;
    used = 0;
    if (sscanf(text, ":%2d%n", &parts.tm_sec, &used) == 1)
        text += used;
    if (*text == '.') {
        int64_t unit = 100000;

        micros = 0;
        for (text++; *text >= '0' && *text <= '9'; text++, unit /= 10)
            micros += (*text - '0') * unit;
    }
    text += *text == 'Z';
    if (*text != '\0' || parts.tm_mon < 1 || parts.tm_mon > 12 || parts.tm_mday < 1 ||
        parts.tm_mday > 31 || parts.tm_hour > 23 || parts.tm_min > 59 || parts.tm_sec > 59)
        return false;
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    *timestamp_us = (int64_t)timegm(&parts) * 1000000 + micros;
    return true;
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
    if (strncmp(text, branch_prefix, sizeof branch_prefix - 1) == 0)
        options_out->branch = text + sizeof branch_prefix - 1;
    else
        options_out->tag = text;
    return LMN_OK;
}
