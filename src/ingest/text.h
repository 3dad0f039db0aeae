/* SPDX-License-Identifier: Apache-2.0 */
/*
 * text.h - numbers, dates and times in text files.
 *
 * The functions take the whole of the text or answer false. They do not look at the locale.
 */
#ifndef LMN_INGEST_TEXT_H
#define LMN_INGEST_TEXT_H

#include <stdbool.h>

#include "base/bytes.h"

/* The text without spaces and tabs at either end. */
struct lmn__span lmn__text_trim(struct lmn__span text);

/* [-]digits, without zeros in front: "007" is a name, not a number. */
bool lmn__text_int(struct lmn__span text, int64_t *value_out);
bool lmn__text_uint(struct lmn__span text, uint64_t *value_out);

/* A number written with a fraction of zeros or an exponent, that is whole all the same: "1.0". */
bool lmn__text_whole(struct lmn__span text, int64_t *value_out);

/*
 * A decimal number with optional fraction and exponent, also .5 and 5.; nan and inf, in any case.
 */
bool lmn__text_float(struct lmn__span text, double *value_out);

/* true or false, in any case. */
bool lmn__text_bool(struct lmn__span text, bool *value_out);

/* YYYY-MM-DD, as days since 1970-01-01. */
bool lmn__text_date(struct lmn__span text, int32_t *days_out);

struct lmn__moment {
    int64_t seconds; /* since 1970-01-01 00:00, UTC when zoned */
    uint32_t nanos;
    uint32_t digits; /* of the fraction of a second */
    bool zoned;      /* "Z" or an offset was there */
};

/* YYYY-MM-DD, "T" or a space, HH:MM[:SS[.fraction]], and "Z" or an offset like +02:00, if any. */
bool lmn__text_moment(struct lmn__span text, struct lmn__moment *moment_out);

/* HH:MM[:SS[.fraction]], as nanoseconds since midnight. */
bool lmn__text_time(struct lmn__span text, int64_t *nanos_out);

/*
 * A decimal number, also with an exponent, as an integer of `scale` digits behind the point. False
 * when it has more digits there, zeros not counted, or more than `precision` digits, at most 38.
 */
bool lmn__text_decimal(struct lmn__span text, int32_t precision, int32_t scale,
                       __int128 *value_out);

#endif
