/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that make strings longer than their arguments, or out of other characters. What a row
 * may become is limited, so that no number in a text exhausts the memory.
 */
#include "expr/casing.h"
#include "expr/function.h"
#include "expr/text_rows.h"

enum { PAD_LEFT, PAD_RIGHT };

/* The bytes of the first `count` characters; *count becomes how many there are. */
static size_t prefix_bytes(struct lmn__span text, int64_t *count)
{
    size_t at = 0;
    int64_t there = 0;
    uint32_t bytes;

    for (; at < text.len && there < *count; at += bytes, there++)
        (void)lmn__utf8_decode((struct lmn__span){ text.data + at, text.len - at }, &bytes);
    *count = there;
    return at;
}

/* `count` characters of a text that is repeated, into `text_out` (NULL: only counted). */
static uint64_t repeat_characters(struct lmn__span text, int64_t count, uint8_t *text_out)
{
    uint64_t used = 0;

    while (count > 0 && text.len != 0 && used <= LMN__TEXT_BYTES_MAX) {
        int64_t some = count;
        size_t bytes = prefix_bytes(text, &some);

        if (text_out != NULL)
            memcpy(text_out + used, text.data, bytes);
        used += bytes;
        count -= some;
    }
    return used;
}

/* lpad(text, characters [, with]): longer texts are cut. */
static enum lmn_status pad(struct lmn__frame *frame, const struct lmn__term *term,
                           const struct lmn__vector *arg, uint32_t row, struct lmn__span *span_out)
{
    const struct lmn__span blank = { (const uint8_t *)" ", 1 };
    struct lmn__span text = lmn__vector_span(&arg[0], row);
    struct lmn__span with = term->child_count > 2 ? lmn__vector_span(&arg[2], row) : blank;
    int64_t wanted = lmn__vector_i64(&arg[1], row), there = wanted;
    size_t bytes = wanted > 0 ? prefix_bytes(text, &there) : 0;
    uint64_t more = wanted - there > LMN__TEXT_BYTES_MAX ? LMN__TEXT_BYTES_MAX + 1ull
                    : wanted > there ? repeat_characters(with, wanted - there, NULL)
                                     : 0;
    uint8_t *made;
    enum lmn_status st = lmn__text_take(frame, term, row, bytes + more, &made);

    if (st != LMN_OK)
        return st;
    if (bytes != 0)
        memcpy(made + (term->choice == PAD_LEFT ? more : 0), text.data, bytes);
    if (more != 0)
        (void)repeat_characters(with, wanted - there,
                                made + (term->choice == PAD_LEFT ? 0 : bytes));
    *span_out = (struct lmn__span){ made, bytes + more };
    return LMN_OK;
}

static enum lmn_status repeat(struct lmn__frame *frame, const struct lmn__term *term,
                              const struct lmn__vector *arg, uint32_t row,
                              struct lmn__span *span_out)
{
    struct lmn__span text = lmn__vector_span(&arg[0], row);
    int64_t times = lmn__vector_i64(&arg[1], row);
    uint64_t bytes = 0;
    uint8_t *made;
    enum lmn_status st;

    if (times > 0 && text.len != 0 && __builtin_mul_overflow((uint64_t)times, text.len, &bytes))
        bytes = UINT64_MAX;
    st = lmn__text_take(frame, term, row, bytes, &made);
    if (st != LMN_OK)
        return st;
    for (uint64_t at = 0; at < bytes; at += text.len)
        memcpy(made + at, text.data, text.len);
    *span_out = (struct lmn__span){ made, bytes };
    return LMN_OK;
}

/* concat_ws(between, a, ...): nulls behind the first are left out. */
static enum lmn_status join(struct lmn__frame *frame, const struct lmn__term *term,
                            const struct lmn__vector *arg, uint32_t row, struct lmn__span *span_out)
{
    struct lmn__span between = lmn__vector_span(&arg[0], row);
    uint64_t bytes = 0, used = 0;
    bool first = true;
    uint8_t *made;
    enum lmn_status st;

    for (uint32_t k = 1; k < term->child_count; k++)
        bytes += between.len +
                 (lmn__vector_is_null(&arg[k], row) ? 0 : lmn__vector_span(&arg[k], row).len);
    st = lmn__text_take(frame, term, row, bytes, &made);
    for (uint32_t k = 1; st == LMN_OK && k < term->child_count; k++) {
        struct lmn__span text = lmn__vector_span(&arg[k], row);

        if (lmn__vector_is_null(&arg[k], row))
            continue;
        if (!first && between.len != 0) {
            memcpy(made + used, between.data, between.len);
            used += between.len;
        }
        if (text.len != 0)
            memcpy(made + used, text.data, text.len);
        used += text.len;
        first = false;
    }
    *span_out = (struct lmn__span){ made, used };
    return st;
}

static enum lmn_status join_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    uint8_t *validity;
    enum lmn_status st;

    out->validity = NULL;
    st = lmn__frame_own_validity(frame, rows, out, &validity);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++)
        lmn__bit_put(validity, i, !lmn__vector_is_null(&arg[0], i));
    return st == LMN_OK ? lmn__text_kernel(frame, term, arg, rows, out) : st;
}

static bool is_word(uint32_t c)
{
    return (c >= '0' && c <= '9') || (c | 0x20) - 'a' < 26 || c >= 0x80;
}

/* Each word with a large letter first and small ones behind it. */
static enum lmn_status capitalize(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t row,
                                  struct lmn__span *span_out)
{
    struct lmn__span text = lmn__vector_span(&arg[0], row);
    bool inside = false;
    size_t used = 0;
    uint8_t *made;
    uint32_t bytes;
    /* A letter has at most twice as many bytes in its other case. */
    enum lmn_status st = lmn__text_take(frame, term, row, (uint64_t)text.len * 2 + 4, &made);

    for (size_t at = 0; st == LMN_OK && at < text.len; at += bytes) {
        uint32_t c = lmn__utf8_decode((struct lmn__span){ text.data + at, text.len - at }, &bytes);

        used += lmn__utf8_encode(inside ? lmn__letter_lower(c) : lmn__letter_upper(c), made + used);
        inside = is_word(c);
    }
    *span_out = (struct lmn__span){ made, used };
    return st;
}

/* The number of the first character; 0 for no text. */
static enum lmn_status ascii_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    int64_t *values;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &values);

    (void)term;
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        struct lmn__span text = lmn__vector_span(arg, i);
        uint32_t bytes;

        values[i] = text.len != 0 ? (int64_t)lmn__utf8_decode(text, &bytes) : 0;
    }
    out->values = values;
    return st;
}

const struct lmn__function lmn__text_make_functions[] = {
    LMN__TEXT_FUNCTION("lpad", 2, 3, "sis>s", pad, PAD_LEFT),
    LMN__TEXT_FUNCTION("rpad", 2, 3, "sis>s", pad, PAD_RIGHT),
    LMN__TEXT_FUNCTION("repeat", 2, 2, "si>s", repeat, 0),
    LMN__TEXT_FUNCTION("initcap", 1, 1, "s>s", capitalize, 0),
    LMN__KERNEL_FUNCTION("ascii", 1, 1, "s>i", ascii_kernel, 0),
    { .name = "concat_ws",
      .count_min = 2,
      .count_max = LMN__ARGUMENTS_MAX,
      .signature = "ss>s",
      .kernel = join_kernel,
      .text_of_row = join,
      .own_nulls = true },
    { 0 },
};
