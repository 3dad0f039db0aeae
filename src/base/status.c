/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <leman/status.h>

#include "base/error.h"

const char *lmn_status_text(enum lmn_status status)
{
    switch (status) {
    case LMN_OK:
        return "ok";
#define STATUS_TEXT(name, value, text, python)                                                     \
    case LMN_##name:                                                                               \
        return text;
        LMN_STATUS_TABLE(STATUS_TEXT)
#undef STATUS_TEXT
    }
    return "unknown status";
}

/*
 * The message may be built from the message it replaces (a layer above adds its place to what a
 * layer below said), so it is put together apart. Every byte of the field is set: an error goes
 * over pipes and into files as it is.
 */
static void set_message(struct lmn_error *err, enum lmn_status status, int os_errno,
                        const char *fmt, va_list args)
{
    char text[sizeof err->message] = { 0 };

    if (vsnprintf(text, sizeof text, fmt, args) < 0)
        snprintf(text, sizeof text, "%s (the message could not be formatted)",
                 lmn_status_text(status));
    err->status = status;
    err->os_errno = os_errno;
    memcpy(err->message, text, sizeof text);
}

enum lmn_status lmn_fail(struct lmn_error *err, enum lmn_status status, const char *fmt, ...)
{
    va_list args;

    if (err == NULL)
        return status;
    va_start(args, fmt);
    set_message(err, status, 0, fmt, args);
    va_end(args);
    return status;
}

enum lmn_status lmn_fail_os(struct lmn_error *err, enum lmn_status status, int os_errno,
                            const char *fmt, ...)
{
    va_list args;
    size_t used;

    if (err == NULL)
        return status;
    va_start(args, fmt);
    set_message(err, status, os_errno, fmt, args);
    va_end(args);
    used = strlen(err->message);
    snprintf(err->message + used, sizeof err->message - used, ": %s", strerror(os_errno));
    return status;
}

enum lmn_status lmn__fail_within(struct lmn_error *err, enum lmn_status status, const char *fmt,
                                 ...)
{
    static const char between[] = ": ";
    char place[sizeof err->message] = { 0 };
    va_list args;
    size_t len, room, used;

    if (err == NULL)
        return status;
    va_start(args, fmt);
    vsnprintf(place, sizeof place, fmt, args);
    va_end(args);
    /* Where there is no room for both, the place is cut: the reason says more. */
    len = strlen(err->message) + sizeof between;
    room = len < sizeof place ? sizeof place - len : 0;
    used = strlen(place) < room ? strlen(place) : room;
    if (used == 0)
        return status;
    memmove(err->message + used + sizeof between - 1, err->message, strlen(err->message) + 1);
    memcpy(err->message, place, used);
    memcpy(err->message + used, between, sizeof between - 1);
    return status;
}
