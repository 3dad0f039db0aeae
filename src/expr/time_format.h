/* SPDX-License-Identifier: Apache-2.0 */
/*
 * time_format.h - times as text, and text as times, by a format such as '%d.%m.%Y %H:%M'.
 */
#ifndef LMN_EXPR_TIME_FORMAT_H
#define LMN_EXPR_TIME_FORMAT_H

#include "expr/calendar.h"

/*
 * What stands behind a '%':
 *
 *     [- _ 0] letter          a number without padding, with blanks, with zeros
 *     [.] [3 6 9] f           the fraction of a second
 *     [: :: :::] z            the distance from UTC
 */
struct lmn__time_piece {
    char pad; /* 0: as the letter has it */
    char letter;
    uint8_t digits; /* of a fraction; 0: as many as there are */
    bool point;
    uint8_t colons;
};

/* Read the piece behind the '%' at byte *at, and move there; false: it is none. */
bool lmn__time_piece_read(struct lmn__span format, size_t *at, struct lmn__time_piece *piece_out);

/* The format that a letter is short for, such as 'F' for "%Y-%m-%d"; NULL for any other. */
const char *lmn__time_piece_long(char letter);

/* January is 0, Monday is 0. */
extern const char *const lmn__month_names[12];
extern const char *const lmn__day_names[7];

/* What a clock shows. */
struct lmn__time_shown {
    struct lmn__civil date;
    int64_t days, year_day, hour, minute, second, nanos;
    int64_t moment; /* seconds since 1970, in UTC */
    int64_t ahead;  /* of UTC, in seconds */
    bool has_zone;
};

/* `ahead` seconds before UTC, at `count` counts of `rate` per second. */
struct lmn__time_shown lmn__time_shown_at(int64_t count, int64_t rate, int64_t ahead,
                                          bool has_zone);

/* No byte of a format becomes more bytes than this. */
enum { LMN__TIME_PIECE_BYTES = 48 };

/* Print to `out`, which has room; returns the bytes. *bad_out: the letter that is not known. */
size_t lmn__time_print(const struct lmn__time_shown *shown, struct lmn__span format, uint8_t *out,
                       char *bad_out);

/* Read all of `text`; false when it does not follow the format, or is no day. */
bool lmn__time_read(struct lmn__span text, struct lmn__span format, struct lmn__moment *moment_out);

#endif
