/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdbool.h>
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

enum { LONG_BYTES = 8192, GAP_BYTES = 3 };

static bool is_inside_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/*
 * Make a text fit into `room` bytes and its NUL: the middle goes. What a message is about stands at
 * its start, and the reason at its end.
 */
static void shorten(char *text, size_t room)
{
    size_t len = strlen(text), kept = room > GAP_BYTES ? room - GAP_BYTES : 0;
    size_t head = kept / 2, tail = len - (kept - head);

    if (len <= room)
        return;
    while (head > 0 && is_inside_character(text[head]))
        head--;
    while (is_inside_character(text[tail]))
        tail++;
    memset(text + head, '.', room - kept);
    memmove(text + head + (room - kept), text + tail, len - tail + 1);
}

/*
 * The message may be built from the message it replaces (a layer above adds its place to what a
 * layer below said), so it is put together apart. Every byte of the field is set: an error goes
 * over pipes and into files as it is.
 */
static void set_message(struct lmn_error *err, enum lmn_status status, int os_errno,
                        const char *fmt, va_list args)
{
    char text[LONG_BYTES];
    size_t used;

    if (vsnprintf(text, sizeof text, fmt, args) < 0)
        snprintf(text, sizeof text, "%s (the message could not be formatted)",
                 lmn_status_text(status));
    used = strlen(text);
    if (os_errno != 0)
        snprintf(text + used, sizeof text - used, ": %s", strerror(os_errno));
    shorten(text, sizeof err->message - 1);
    err->status = status;
    err->os_errno = os_errno;
    memset(err->message, 0, sizeof err->message);
    memcpy(err->message, text, strlen(text));
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

    if (err == NULL)
        return status;
    va_start(args, fmt);
    set_message(err, status, os_errno, fmt, args);
    va_end(args);
    return status;
}

static bool starts_with_place(const char *message, const char *place)
{
    size_t len = strlen(place);

    return strncmp(message, place, len) == 0 && strncmp(message + len, ": ", 2) == 0;
}

enum lmn_status lmn__fail_within(struct lmn_error *err, enum lmn_status status, const char *fmt,
                                 ...)
{
    static const char between[] = ": ";
    char place[LONG_BYTES] = "";
    va_list args;
    size_t len, room, used;

    if (err == NULL)
        return status;
    va_start(args, fmt);
    vsnprintf(place, sizeof place, fmt, args);
    va_end(args);
    /* Where there is no room for both, the place is cut: the reason says more. */
    len = strlen(err->message) + sizeof between;
    room = len < sizeof err->message ? sizeof err->message - len : 0;
    shorten(place, room);
    used = strlen(place);
    if (used == 0 || starts_with_place(err->message, place))
        return status;
    memmove(err->message + used + sizeof between - 1, err->message, strlen(err->message) + 1);
    memcpy(err->message, place, used);
    memcpy(err->message + used, between, sizeof between - 1);
    return status;
}
