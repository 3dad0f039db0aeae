/* SPDX-License-Identifier: Apache-2.0 */
#include "os/clock.h"

#include <errno.h>
#include <stdio.h>
#include <time.h>

enum { NS_PER_S = 1000000000 };

int64_t lmn__clock_now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

uint64_t lmn__clock_monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

void lmn__clock_text(int64_t ns, char *text_out, size_t text_bytes)
{
    time_t seconds = (time_t)(ns / NS_PER_S);
    struct tm parts;

    gmtime_r(&seconds, &parts);
    snprintf(text_out, text_bytes, "%04d-%02d-%02dT%02d:%02d:%02d.%09dZ", parts.tm_year + 1900,
             parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
             (int)(ns % NS_PER_S));
}

void lmn__clock_wait_ns(int64_t ns)
{
    struct timespec left = { ns / NS_PER_S, ns % NS_PER_S };

    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}
