/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of strings. Positions and lengths count characters, from 1. A part of a string points
 * into it; only what is put together is copied.
 */
#include "base/math.h"
#include "expr/casing.h"
#include "expr/function.h"
#include "expr/like.h"
#include "expr/text_rows.h"

/* Names are chosen by `choice` where kernels are shared. */
enum { TRIM_LEFT = 1, TRIM_RIGHT = 2, TRIM_BOTH = 3 };
enum { TEST_START, TEST_END, TEST_INSIDE };
enum { SIDE_LEFT, SIDE_RIGHT };
enum { LENGTH_CHARACTERS, LENGTH_BYTES, LENGTH_BITS };

static bool continues(uint8_t byte)
{
    return (byte & 0xc0) == 0x80;
}

static int64_t characters(struct lmn__span text)
{
    int64_t count = 0;

    for (size_t i = 0; i < text.len; i++)
        count += !continues(text.data[i]);
    return count;
}

/* The byte where character number `n` (from 0) starts, or the end. */
static size_t character_at(struct lmn__span text, int64_t n)
{
    size_t at = 0;

    for (; at < text.len; at++) {
        if (!continues(text.data[at]) && n-- == 0)
            break;
    }
    return at;
}

static struct lmn__span part(struct lmn__span text, size_t from, size_t to)
{
    return to > from ? (struct lmn__span){ text.data + from, to - from } : LMN__NO_TEXT;
}

static enum lmn_status length_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                     const struct lmn__vector *arg, uint32_t rows,
                                     struct lmn__vector *out)
{
    int64_t *lengths;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &lengths);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        struct lmn__span text = lmn__vector_span(arg, i);

        lengths[i] = term->choice == LENGTH_CHARACTERS ? characters(text)
                     : term->choice == LENGTH_BYTES    ? (int64_t)text.len
                                                       : (int64_t)text.len * 8;
    }
    out->values = lengths;
    return st;
}

/* Binaries have bytes only. */
static enum lmn_status bind_length(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    enum lmn_status st = lmn__bind_bytes(binder, &arg[0]);

    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, length_kernel, &whole, arg, count, term_out);
    if (st == LMN_OK)
        (*term_out)->choice = arg[0]->type.kind == LMN__KIND_STRING ? choice
                              : choice == LENGTH_BITS               ? LENGTH_BITS
                                                                    : LENGTH_BYTES;
    return st;
}

/* Is the character at the start of `text` one of `set`? */
static bool in_set(struct lmn__span text, struct lmn__span set, uint32_t *bytes_out)
{
    (void)lmn__utf8_decode(text, bytes_out);
    for (size_t i = 0; i < set.len;) {
        uint32_t bytes;

        (void)lmn__utf8_decode((struct lmn__span){ set.data + i, set.len - i }, &bytes);
        if (bytes == *bytes_out && memcmp(set.data + i, text.data, bytes) == 0)
            return true;
        i += bytes;
    }
    return false;
}

static struct lmn__span trim(struct lmn__span text, struct lmn__span set, int32_t sides)
{
    uint32_t bytes;

    while ((sides & TRIM_LEFT) && text.len != 0 && in_set(text, set, &bytes))
        text = part(text, bytes, text.len);
    while ((sides & TRIM_RIGHT) && text.len != 0) {
        size_t last = text.len - 1;

        while (last > 0 && continues(text.data[last]))
            last--;
        if (!in_set(part(text, last, text.len), set, &bytes))
            break;
        text.len = last;
    }
    return text;
}

static enum lmn_status trim_row(struct lmn__frame *frame, const struct lmn__term *term,
                                const struct lmn__vector *arg, uint32_t row,
                                struct lmn__span *span_out)
{
    const struct lmn__span blank = { (const uint8_t *)" ", 1 };

    (void)frame;
    *span_out = trim(lmn__vector_span(&arg[0], row),
                     term->child_count > 1 ? lmn__vector_span(&arg[1], row) : blank, term->choice);
    return LMN_OK;
}

/* substr(text, start [, count]); what lies before the first character is cut from the count. */
static enum lmn_status substr(struct lmn__frame *frame, const struct lmn__term *term,
                              const struct lmn__vector *arg, uint32_t row,
                              struct lmn__span *span_out)
{
    struct lmn__span text = lmn__vector_span(&arg[0], row);
    int64_t first = lmn__vector_i64(&arg[1], row), end;
    int64_t count = term->child_count > 2 ? lmn__vector_i64(&arg[2], row) : INT64_MAX;
    size_t from;

    if (count < 0)
        return lmn__frame_fail(frame, term, row, "a string has no length of %lld",
                               (long long)count);
    if (__builtin_add_overflow(first, count, &end))
        end = INT64_MAX;
    first = first < 1 ? 1 : first;
    if (end <= first)
        return LMN_OK;
    from = character_at(text, first - 1);
    text = part(text, from, text.len);
    *span_out = part(text, 0, character_at(text, end - first));
    return LMN_OK;
}

/* left(text, n) and right(text, n); a negative n leaves that many out on the other side. */
static enum lmn_status side(struct lmn__frame *frame, const struct lmn__term *term,
                            const struct lmn__vector *arg, uint32_t row, struct lmn__span *span_out)
{
    struct lmn__span text = lmn__vector_span(&arg[0], row);
    int64_t n = lmn__vector_i64(&arg[1], row), all = characters(text);
    size_t cut;

    (void)frame;
    n = n >= 0 ? n : n < -all ? 0 : all + n;
    n = n > all ? all : n;
    cut = character_at(text, term->choice == SIDE_LEFT ? n : all - n);
    *span_out = term->choice == SIDE_LEFT ? part(text, 0, cut) : part(text, cut, text.len);
    return LMN_OK;
}

static enum lmn_status test_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        struct lmn__span text = lmn__vector_span(&arg[0], i), with = lmn__vector_span(&arg[1], i);
        bool fits = with.len <= text.len;

        if (fits && with.len != 0 && term->choice == TEST_INSIDE)
            fits = lmn__find_bytes(text, with) != NULL;
        else if (fits && with.len != 0)
            fits = memcmp(text.data + (term->choice == TEST_END ? text.len - with.len : 0),
                          with.data, with.len) == 0;
        lmn__bit_put(bits, i, fits);
    }
    out->values = bits;
    return st;
}

static enum lmn_status strpos_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                     const struct lmn__vector *arg, uint32_t rows,
                                     struct lmn__vector *out)
{
    int64_t *places;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &places);

    (void)term;
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        struct lmn__span text = lmn__vector_span(&arg[0], i), what = lmn__vector_span(&arg[1], i);
        const uint8_t *at = what.len != 0 ? lmn__find_bytes(text, what) : text.data;

        if (what.len == 0)
            places[i] = 1;
        else
            places[i] = at == NULL ? 0 : characters(part(text, 0, (size_t)(at - text.data))) + 1;
    }
    out->values = places;
    return st;
}

/* Put the arguments of each row together. concat() leaves nulls out, || is null then. */
static enum lmn_status concat_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                     const struct lmn__vector *arg, uint32_t rows,
                                     struct lmn__vector *out)
{
    struct lmn__span *spans;
    uint64_t bytes = 0;
    uint8_t *text;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_SPAN, rows, &spans);

    for (uint32_t k = 0; k < term->child_count; k++) {
        for (uint32_t i = 0; i < rows; i++)
            bytes += lmn__vector_is_null(&arg[k], i) ? 0 : lmn__vector_span(&arg[k], i).len;
    }
    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, bytes, &text, frame->err);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        spans[i] = (struct lmn__span){ text, 0 };
        for (uint32_t k = 0; k < term->child_count; k++) {
            struct lmn__span more = lmn__vector_span(&arg[k], i);

            if (lmn__vector_is_null(&arg[k], i) || more.len == 0)
                continue;
            memcpy(text, more.data, more.len);
            text += more.len;
            spans[i].len += more.len;
        }
    }
    out->values = spans;
    return st;
}

static enum lmn_status bind_concat(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = lmn__bind_convert(binder, &arg[i], &string, LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, concat_kernel, &string, arg, count, term_out);
    if (st == LMN_OK)
        (*term_out)->own_nulls = choice != 0;
    return st;
}

/* One text with all `from` replaced; `out` NULL only counts bytes. */
static uint64_t replace(struct lmn__span text, struct lmn__span from, struct lmn__span to,
                        uint8_t *out)
{
    uint64_t used = 0;

    while (from.len != 0) {
        const uint8_t *at = text.len != 0 ? lmn__find_bytes(text, from) : NULL;
        size_t before;

        if (at == NULL)
            break;
        before = (size_t)(at - text.data);
        if (out != NULL) {
            memcpy(out + used, text.data, before);
            if (to.len != 0)
                memcpy(out + used + before, to.data, to.len);
        }
        used += before + to.len;
        text = part(text, before + from.len, text.len);
    }
    if (out != NULL && text.len != 0)
        memcpy(out + used, text.data, text.len);
    return used + text.len;
}

static enum lmn_status replace_row(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t row,
                                   struct lmn__span *span_out)
{
    struct lmn__span text = lmn__vector_span(&arg[0], row), from = lmn__vector_span(&arg[1], row);
    struct lmn__span to = lmn__vector_span(&arg[2], row);
    uint64_t bytes = replace(text, from, to, NULL);
    uint8_t *made;
    enum lmn_status st = lmn__slate_take(frame->slate, bytes != 0 ? bytes : 1, &made, frame->err);

    (void)term;
    if (st != LMN_OK)
        return st;
    replace(text, from, to, made);
    *span_out = (struct lmn__span){ made, bytes };
    return LMN_OK;
}

static enum lmn_status reverse(struct lmn__frame *frame, const struct lmn__term *term,
                               const struct lmn__vector *arg, uint32_t row,
                               struct lmn__span *span_out)
{
    struct lmn__span text = lmn__vector_span(arg, row);
    size_t left = text.len;
    uint8_t *made;
    enum lmn_status st = lmn__slate_take(frame->slate, text.len + 1, &made, frame->err);

    (void)term;
    for (size_t at = 0; st == LMN_OK && at < text.len;) {
        size_t end = at + 1;

        while (end < text.len && continues(text.data[end]))
            end++;
        left -= end - at;
        memcpy(made + left, text.data + at, end - at);
        at = end;
    }
    *span_out = (struct lmn__span){ made, text.len };
    return st;
}

/* Part number n of a text cut at `at`; from the end for negative ones, empty without. */
static struct lmn__span split_part(struct lmn__span text, struct lmn__span at, int64_t n)
{
    int64_t count = 1;
    struct lmn__span rest = text;

    if (at.len == 0)
        return n == 1 || n == -1 ? text : part(text, 0, 0);
    for (const uint8_t *found; rest.len != 0 && (found = lmn__find_bytes(rest, at)) != NULL;
         count++)
        rest = part(rest, (size_t)(found - rest.data) + at.len, rest.len);
    n = n < 0 ? count + n : n - 1;
    if (n < 0 || n >= count)
        return part(text, 0, 0);
    for (rest = text;; n--) {
        const uint8_t *found = rest.len != 0 ? lmn__find_bytes(rest, at) : NULL;
        size_t end = found != NULL ? (size_t)(found - rest.data) : rest.len;

        if (n == 0)
            return part(rest, 0, end);
        rest = part(rest, end + at.len, rest.len);
    }
}

static enum lmn_status split_row(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t row,
                                 struct lmn__span *span_out)
{
    int64_t n = lmn__vector_i64(&arg[2], row);

    if (n == 0)
        return lmn__frame_fail(frame, term, row, "parts of a string count from 1");
    *span_out = split_part(lmn__vector_span(&arg[0], row), lmn__vector_span(&arg[1], row), n);
    return LMN_OK;
}

const struct lmn__function lmn__text_functions[] = {
    LMN__KERNEL_FUNCTION("lower", 1, 1, "s>s", lmn__lower_kernel, 0),
    LMN__KERNEL_FUNCTION("upper", 1, 1, "s>s", lmn__upper_kernel, 0),
    LMN__BOUND_FUNCTION("length", 1, 1, bind_length, LENGTH_CHARACTERS),
    LMN__BOUND_FUNCTION("char_length", 1, 1, bind_length, LENGTH_CHARACTERS),
    LMN__BOUND_FUNCTION("character_length", 1, 1, bind_length, LENGTH_CHARACTERS),
    LMN__BOUND_FUNCTION("octet_length", 1, 1, bind_length, LENGTH_BYTES),
    LMN__BOUND_FUNCTION("bit_length", 1, 1, bind_length, LENGTH_BITS),
    LMN__TEXT_FUNCTION("trim", 1, 2, "ss>s", trim_row, TRIM_BOTH),
    LMN__TEXT_FUNCTION("btrim", 1, 2, "ss>s", trim_row, TRIM_BOTH),
    LMN__TEXT_FUNCTION("ltrim", 1, 2, "ss>s", trim_row, TRIM_LEFT),
    LMN__TEXT_FUNCTION("rtrim", 1, 2, "ss>s", trim_row, TRIM_RIGHT),
    LMN__TEXT_FUNCTION("substr", 2, 3, "sii>s", substr, 0),
    LMN__TEXT_FUNCTION("substring", 2, 3, "sii>s", substr, 0),
    LMN__TEXT_FUNCTION("left", 2, 2, "si>s", side, SIDE_LEFT),
    LMN__TEXT_FUNCTION("right", 2, 2, "si>s", side, SIDE_RIGHT),
    LMN__KERNEL_FUNCTION("starts_with", 2, 2, "ss>b", test_kernel, TEST_START),
    LMN__KERNEL_FUNCTION("ends_with", 2, 2, "ss>b", test_kernel, TEST_END),
    LMN__KERNEL_FUNCTION("contains", 2, 2, "ss>b", test_kernel, TEST_INSIDE),
    LMN__KERNEL_FUNCTION("strpos", 2, 2, "ss>i", strpos_kernel, 0),
    LMN__KERNEL_FUNCTION("instr", 2, 2, "ss>i", strpos_kernel, 0),
    LMN__KERNEL_FUNCTION("position", 2, 2, "ss>i", strpos_kernel, 0),
    LMN__TEXT_FUNCTION("replace", 3, 3, "sss>s", replace_row, 0),
    LMN__TEXT_FUNCTION("reverse", 1, 1, "s>s", reverse, 0),
    LMN__TEXT_FUNCTION("split_part", 3, 3, "ssi>s", split_row, 0),
    LMN__BOUND_FUNCTION("||", 2, LMN__ARGUMENTS_MAX, bind_concat, 0),
    LMN__BOUND_FUNCTION("concat", 1, LMN__ARGUMENTS_MAX, bind_concat, 1),
    { 0 },
};
