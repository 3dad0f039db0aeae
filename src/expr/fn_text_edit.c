/* SPDX-License-Identifier: Apache-2.0 */
/* Strings with other characters, parts of strings, and how far two of them are apart. */
#include "expr/casing.h"
#include "expr/function.h"
#include "expr/like.h"
#include "expr/text_rows.h"

enum { CHARACTER_MAX = 0x10ffff, DISTANCE_STEPS_MAX = 1 << 30 };

static struct lmn__span behind(struct lmn__span text, size_t bytes)
{
    return (struct lmn__span){ text.data + bytes, text.len - bytes };
}

/* Bytes of the first `count` characters, or of all that there are. */
static size_t bytes_of(struct lmn__span text, int64_t count)
{
    size_t at = 0;
    uint32_t bytes;

    for (; at < text.len && count > 0; count--, at += bytes)
        (void)lmn__utf8_decode(behind(text, at), &bytes);
    return at;
}

static enum lmn_status put_together(struct lmn__frame *frame, const struct lmn__term *term,
                                    uint32_t row, const struct lmn__span piece[3],
                                    struct lmn__span *span_out)
{
    uint64_t used = 0;
    uint8_t *made;
    enum lmn_status st = lmn__text_take(
        frame, term, row, (uint64_t)piece[0].len + piece[1].len + piece[2].len, &made);

    for (int i = 0; st == LMN_OK && i < 3; used += piece[i++].len) {
        if (piece[i].len != 0)
            memcpy(made + used, piece[i].data, piece[i].len);
    }
    *span_out = (struct lmn__span){ made, used };
    return st;
}

/* overlay(s, with, first [, count]): `count` characters are replaced, as many as it has. */
static enum lmn_status overlay(struct lmn__frame *frame, const struct lmn__term *term,
                               const struct lmn__vector *arg, uint32_t row,
                               struct lmn__span *span_out)
{
    struct lmn__span text = lmn__vector_span(&arg[0], row), with = lmn__vector_span(&arg[1], row);
    int64_t first = lmn__vector_i64(&arg[2], row), count = 0;
    size_t from, to;

    if (first < 1)
        return lmn__frame_fail(frame, term, row, "characters of a string count from 1, not %lld",
                               (long long)first);
    if (term->child_count > 3)
        count = lmn__vector_i64(&arg[3], row);
    else
        for (size_t i = 0; i < with.len; i++)
            count += (with.data[i] & 0xc0) != 0x80;
    from = bytes_of(text, first - 1);
    if (__builtin_add_overflow(first - 1, count, &count))
        count = INT64_MAX;
    to = bytes_of(text, count);
    return put_together(frame, term, row,
                        (struct lmn__span[]){ { text.data, from }, with, behind(text, to) },
                        span_out);
}

/* Where character `c` stands among those of `set`; false: nowhere. */
static bool find_character(struct lmn__span set, uint32_t c, int64_t *number_out)
{
    uint32_t bytes;

    *number_out = 0;
    for (size_t at = 0; at < set.len; at += bytes, ++*number_out) {
        if (lmn__utf8_decode(behind(set, at), &bytes) == c)
            return true;
    }
    return false;
}

/* translate(s, from, to): characters of `from` become those of `to` at the same place, or go. */
static enum lmn_status translate(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t row,
                                 struct lmn__span *span_out)
{
    struct lmn__span text = lmn__vector_span(&arg[0], row), from = lmn__vector_span(&arg[1], row);
    struct lmn__span to = lmn__vector_span(&arg[2], row);
    uint64_t used = 0;
    uint32_t bytes, other;
    uint8_t *made;
    /* No character has more than four bytes. */
    enum lmn_status st = lmn__text_take(frame, term, row, (uint64_t)text.len * 4, &made);

    for (size_t at = 0; st == LMN_OK && at < text.len; at += bytes) {
        uint32_t c = lmn__utf8_decode(behind(text, at), &bytes);
        struct lmn__span put = { text.data + at, bytes };
        int64_t number;

        if (find_character(from, c, &number)) {
            put = behind(to, bytes_of(to, number));
            if (put.len != 0) {
                (void)lmn__utf8_decode(put, &other);
                put.len = other;
            }
        }
        if (put.len != 0)
            memcpy(made + used, put.data, put.len);
        used += put.len;
    }
    *span_out = (struct lmn__span){ made, used };
    return st;
}

/* substr_index(s, at, n): before the nth `at`; behind the nth from the end for negative ones. */
static enum lmn_status before_part(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t row,
                                   struct lmn__span *span_out)
{
    struct lmn__span text = lmn__vector_span(&arg[0], row), at = lmn__vector_span(&arg[1], row);
    struct lmn__span rest = text;
    int64_t n = lmn__vector_i64(&arg[2], row), count = 0;
    const uint8_t *found;

    (void)frame;
    (void)term;
    if (at.len == 0 || n == 0)
        return LMN_OK;
    for (; at.len <= rest.len && (found = lmn__find_bytes(rest, at)) != NULL; count++) {
        if (count + 1 == n) {
            *span_out = (struct lmn__span){ text.data, (size_t)(found - text.data) };
            return LMN_OK;
        }
        rest = behind(rest, (size_t)(found - rest.data) + at.len);
    }
    *span_out = text;
    if (n > 0 || n < -count)
        return LMN_OK;
    for (n += count + 1; n > 0; n--) {
        found = lmn__find_bytes(*span_out, at);
        *span_out = behind(*span_out, (size_t)(found - span_out->data) + at.len);
    }
    return LMN_OK;
}

/* The character of a number. */
static enum lmn_status character(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t row,
                                 struct lmn__span *span_out)
{
    int64_t number = lmn__vector_i64(arg, row);
    uint8_t *made;
    enum lmn_status st = lmn__text_take(frame, term, row, 4, &made);

    if (st != LMN_OK)
        return st;
    if (number < 0 || number > CHARACTER_MAX || (number >= 0xd800 && number < 0xe000))
        return lmn__frame_fail(frame, term, row, "there is no character %lld", (long long)number);
    *span_out = (struct lmn__span){ made, lmn__utf8_encode((uint32_t)number, made) };
    return LMN_OK;
}

/* find_in_set(s, 'a,b,c'): the number of the part that is `s`, 0 without. */
static int64_t find_in_set(struct lmn__span text, struct lmn__span set)
{
    int64_t number = 1;

    for (size_t from = 0, at = 0;; at++) {
        if (at < set.len && set.data[at] != ',')
            continue;
        if (at - from == text.len &&
            (text.len == 0 || memcmp(set.data + from, text.data, text.len) == 0))
            return number;
        if (at == set.len)
            return 0;
        from = at + 1;
        number++;
    }
}

/* The characters of a text, as numbers in the slate. */
static enum lmn_status decode(struct lmn__frame *frame, struct lmn__span text,
                              uint32_t **character_out, uint32_t *count_out)
{
    enum lmn_status st = lmn__slate_take(frame->slate, ((uint64_t)text.len + 1) * sizeof(uint32_t),
                                         character_out, frame->err);
    uint32_t bytes;

    *count_out = 0;
    for (size_t at = 0; st == LMN_OK && at < text.len; at += bytes)
        (*character_out)[(*count_out)++] = lmn__utf8_decode(behind(text, at), &bytes);
    return st;
}

/* How many characters have to be put in, taken out or replaced to make one text of the other. */
static enum lmn_status distance(struct lmn__frame *frame, struct lmn__span a, struct lmn__span b,
                                int64_t *out)
{
    uint32_t *x, *y, *line, m, n;
    enum lmn_status st = decode(frame, a, &x, &m);

    if (st == LMN_OK)
        st = decode(frame, b, &y, &n);
    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, ((uint64_t)n + 1) * sizeof *line, &line, frame->err);
    if (st != LMN_OK)
        return st;
    for (uint32_t k = 0; k <= n; k++)
        line[k] = k;
    for (uint32_t i = 0; i < m; i++) {
        uint32_t diagonal = line[0];

        line[0] = i + 1;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t replaced = diagonal + (x[i] != y[k]);
            uint32_t least = line[k] < line[k + 1] ? line[k] : line[k + 1];

            diagonal = line[k + 1];
            line[k + 1] = least + 1 < replaced ? least + 1 : replaced;
        }
    }
    *out = line[n];
    return LMN_OK;
}

enum { IN_SET, DISTANCE };

static enum lmn_status number_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                     const struct lmn__vector *arg, uint32_t rows,
                                     struct lmn__vector *out)
{
    int64_t *numbers;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &numbers);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        struct lmn__slate_mark mark = lmn__slate_mark(frame->slate);
        struct lmn__span a = lmn__vector_span(&arg[0], i), b = lmn__vector_span(&arg[1], i);
        bool asked = frame->active == NULL || out->constant || lmn__bit_get(frame->active, i);

        numbers[i] = 0;
        if (!asked || (out->validity != NULL && !lmn__bit_get(out->validity, i)))
            continue;
        if (term->choice == IN_SET)
            numbers[i] = find_in_set(a, b);
        else if ((uint64_t)a.len * b.len > DISTANCE_STEPS_MAX)
            return lmn__frame_fail(frame, term, i, "%s() takes no strings of %zu and %zu bytes",
                                   term->name, a.len, b.len);
        else
            st = distance(frame, a, b, &numbers[i]);
        lmn__slate_wipe(frame->slate, mark);
    }
    out->values = numbers;
    return st;
}

const struct lmn__function lmn__text_edit_functions[] = {
    LMN__TEXT_FUNCTION("overlay", 3, 4, "ssii>s", overlay, 0),
    LMN__TEXT_FUNCTION("translate", 3, 3, "sss>s", translate, 0),
    LMN__TEXT_FUNCTION("substr_index", 3, 3, "ssi>s", before_part, 0),
    LMN__TEXT_FUNCTION("substring_index", 3, 3, "ssi>s", before_part, 0),
    LMN__TEXT_FUNCTION("chr", 1, 1, "i>s", character, 0),
    LMN__KERNEL_FUNCTION("find_in_set", 2, 2, "ss>i", number_kernel, IN_SET),
    LMN__KERNEL_FUNCTION("levenshtein", 2, 2, "ss>i", number_kernel, DISTANCE),
    { 0 },
};
