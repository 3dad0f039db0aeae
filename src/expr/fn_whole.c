/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of whole numbers. */
#include "expr/function.h"
#include "expr/text_rows.h"

enum { DIVISOR, MULTIPLE, FACTORIAL };

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

static uint64_t divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/* False: the result is no int64. */
static bool compute(int32_t choice, int64_t x, int64_t y, int64_t *out)
{
    uint64_t a = magnitude(x), b = magnitude(y), value = 1;

    if (choice == FACTORIAL) {
        if (x < 0 || x > 20)
            return false;
        for (uint64_t i = 2; i <= a; i++)
            value *= i;
    } else {
        value = divisor(a, b);
        if (choice == MULTIPLE && value != 0 && __builtin_mul_overflow(a / value, b, &value))
            return false;
    }
    *out = (int64_t)value;
    return value <= INT64_MAX;
}

static enum lmn_status whole_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    int64_t *values;
    uint8_t *bad;
    uint32_t row;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &values);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_U8, rows, &bad);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++) {
        values[i] = 0;
        bad[i] = !compute(term->choice, lmn__vector_i64(&arg[0], i),
                          term->child_count > 1 ? lmn__vector_i64(&arg[1], i) : 0, &values[i]);
    }
    out->values = values;
    row = lmn__frame_first_bad(frame, out, bad, rows);
    return row == rows ? LMN_OK
                       : lmn__frame_fail(frame, term, row, "the result of %s() does not fit int64",
                                         term->name);
}

const struct lmn__function lmn__whole_functions[] = {
    LMN__KERNEL_FUNCTION("gcd", 2, 2, "ii>i", whole_kernel, DIVISOR),
    LMN__KERNEL_FUNCTION("lcm", 2, 2, "ii>i", whole_kernel, MULTIPLE),
    LMN__KERNEL_FUNCTION("factorial", 1, 1, "i>i", whole_kernel, FACTORIAL),
    { 0 },
};
