/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bits of whole numbers: & | << >>. They are those of 64-bit numbers, unsigned where a side is an
 * unsigned 64-bit number. As with other arithmetic nothing is lost silently: x << n is x times
 * 2^n or an error. x >> n is x divided by 2^n, rounded down.
 */
#include "expr/function.h"
#include "expr/text_rows.h"

enum { WIDTH = 64 };

static bool shift_left(int64_t x, int64_t by, bool is_unsigned, int64_t *out)
{
    uint64_t moved;

    *out = 0;
    if (by < 0 || (by >= WIDTH && x != 0))
        return false;
    moved = by < WIDTH ? (uint64_t)x << by : 0;
    *out = (int64_t)moved;
    return by >= WIDTH || (is_unsigned ? moved >> by == (uint64_t)x : *out >> by == x);
}

static bool shift_right(int64_t x, int64_t by, bool is_unsigned, int64_t *out)
{
    *out = 0;
    if (by < 0)
        return false;
    if (is_unsigned)
        *out = by < WIDTH ? (int64_t)((uint64_t)x >> by) : 0;
    else
        *out = x >> (by < WIDTH ? by : WIDTH - 1);
    return true;
}

static enum lmn_status bits_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    bool is_unsigned = lmn__type_is_unsigned(&term->type);
    int64_t *values;
    uint8_t *bad;
    uint32_t first;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &values);

    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, rows, &bad, frame->err);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        int64_t x = lmn__vector_i64(&arg[0], i), y = lmn__vector_i64(&arg[1], i);

        bad[i] = false;
        if (term->choice == '&')
            values[i] = x & y;
        else if (term->choice == '|')
            values[i] = x | y;
        else if (term->choice == '<')
            bad[i] = !shift_left(x, y, is_unsigned, &values[i]);
        else
            bad[i] = !shift_right(x, y, is_unsigned, &values[i]);
    }
    out->values = values;
    if (st != LMN_OK)
        return st;
    first = lmn__frame_first_bad(frame, out, bad, rows);
    return first == rows
               ? LMN_OK
               : lmn__frame_fail(frame, term, first, "%lld %s %lld does not fit into 64 bits",
                                 (long long)lmn__vector_i64(&arg[0], first), term->name,
                                 (long long)lmn__vector_i64(&arg[1], first));
}

static enum lmn_status bind_bits(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    struct lmn__type type = lmn__type_plain(LMN__KIND_I64);
    const struct lmn__type shift = type;
    bool shifts = choice == '<' || choice == '>';
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; i < count; i++) {
        if (!lmn__type_is_integer(&arg[i]->type) && arg[i]->type.kind != LMN__KIND_NULL)
            return lmn__bind_fail(binder, arg[i]->place, LMN_E_INVALID,
                                  "bits are those of whole numbers, not of a value of type %s",
                                  lmn__type_text(&arg[i]->type, text));
        if (arg[i]->type.kind == LMN__KIND_U64 && (i == 0 || !shifts))
            type = arg[i]->type;
    }
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = lmn__bind_convert(binder, &arg[i], i == 1 && shifts ? &shift : &type,
                               LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, bits_kernel, &type, arg, count, term_out);
    if (st == LMN_OK)
        (*term_out)->choice = choice;
    return st;
}

const struct lmn__function lmn__bits_functions[] = {
    LMN__BOUND_FUNCTION("&", 2, 2, bind_bits, '&'),
    LMN__BOUND_FUNCTION("|", 2, 2, bind_bits, '|'),
    LMN__BOUND_FUNCTION("<<", 2, 2, bind_bits, '<'),
    LMN__BOUND_FUNCTION(">>", 2, 2, bind_bits, '>'),
    { 0 },
};
