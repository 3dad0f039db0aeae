/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wide.h - 256-bit signed integers, in which decimals are computed.
 */
#ifndef LMN_EXPR_WIDE_H
#define LMN_EXPR_WIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Two's complement, the lowest word first, as Arrow stores it. */
struct lmn__wide {
    uint64_t word[4];
};

static inline struct lmn__wide lmn__wide_from_i64(int64_t value)
{
    uint64_t sign = value < 0 ? UINT64_MAX : 0;

    return (struct lmn__wide){ { (uint64_t)value, sign, sign, sign } };
}

static inline struct lmn__wide lmn__wide_from_u64(uint64_t value)
{
    return (struct lmn__wide){ { value, 0, 0, 0 } };
}

/* From 16 or 32 bytes of an Arrow buffer. */
static inline struct lmn__wide lmn__wide_load(const uint8_t *bytes, uint32_t width)
{
    struct lmn__wide wide;

    memcpy(wide.word, bytes, width);
    if (width == 16)
        wide.word[2] = wide.word[3] = (int64_t)wide.word[1] < 0 ? UINT64_MAX : 0;
    return wide;
}

static inline bool lmn__wide_is_negative(const struct lmn__wide *a)
{
    return (int64_t)a->word[3] < 0;
}

static inline int lmn__wide_compare(const struct lmn__wide *a, const struct lmn__wide *b)
{
    if (a->word[3] != b->word[3])
        return (int64_t)a->word[3] < (int64_t)b->word[3] ? -1 : 1;
    for (int i = 2; i >= 0; i--) {
        if (a->word[i] != b->word[i])
            return a->word[i] < b->word[i] ? -1 : 1;
    }
    return 0;
}

/* These return false when the result does not fit. */
bool lmn__wide_add(const struct lmn__wide *a, const struct lmn__wide *b, struct lmn__wide *out);
bool lmn__wide_subtract(const struct lmn__wide *a, const struct lmn__wide *b,
                        struct lmn__wide *out);
bool lmn__wide_multiply(const struct lmn__wide *a, const struct lmn__wide *b,
                        struct lmn__wide *out);
/* a / b, towards zero, and what is left of a, with its sign. b is not zero. */
bool lmn__wide_divide(const struct lmn__wide *a, const struct lmn__wide *b, struct lmn__wide *out,
                      struct lmn__wide *rest_out);
bool lmn__wide_negate(const struct lmn__wide *a, struct lmn__wide *out);

/*
 * Multiply by 10^power, or divide for a negative one: to the nearest, halves away from zero.
 * *rounded_out (may be NULL) says whether that lost anything.
 */
bool lmn__wide_scale(const struct lmn__wide *a, int32_t power, struct lmn__wide *out,
                     bool *rounded_out);

/* The same, cutting what is behind the point. */
bool lmn__wide_scale_down(const struct lmn__wide *a, uint32_t power, struct lmn__wide *out);

/* Are there at most `precision` digits? */
bool lmn__wide_fits(const struct lmn__wide *a, int32_t precision);

/* The integer; false when it does not fit. */
bool lmn__wide_to_i64(const struct lmn__wide *a, int64_t *out);
bool lmn__wide_to_u64(const struct lmn__wide *a, uint64_t *out);

/* a / 10^scale, nearly. */
double lmn__wide_to_double(const struct lmn__wide *a, int32_t scale);

/* The nearest integer; false when it does not fit or is none. */
bool lmn__wide_from_double(double value, struct lmn__wide *out);

/*
 * A number as written ("-1.50e3") times 10^scale, rounded; false when it is none or does not fit.
 */
bool lmn__wide_parse(const char *text, size_t len, int32_t scale, struct lmn__wide *out,
                     bool *rounded_out);

enum { LMN__WIDE_TEXT_BYTES = 400 };

/* As decimal digits with `scale` of them behind the point. Returns the length. */
size_t lmn__wide_print(const struct lmn__wide *a, int32_t scale,
                       char text_out[LMN__WIDE_TEXT_BYTES]);

#endif
