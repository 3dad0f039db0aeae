/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels mark rows without a result in a byte each and go on; whether such a row counts (it may be
 * null, or left out by a CASE) is asked once, at the end.
 */
#include "expr/arithmetic.h"

#include <math.h>

#include "expr/simd.h"
#include "expr/wide.h"
#include "os/processor.h"

/* DO with x and y of each row; a constant side stays in a register. */
#define EACH(T, DO)                                                                                \
    if (b_constant) {                                                                              \
        const T y = b[0];                                                                          \
        for (uint32_t i = 0; i < rows; i++) {                                                      \
            const T x = a[i];                                                                      \
            DO                                                                                     \
        }                                                                                          \
    } else if (a_constant) {                                                                       \
        const T x = a[0];                                                                          \
        for (uint32_t i = 0; i < rows; i++) {                                                      \
            const T y = b[i];                                                                      \
            DO                                                                                     \
        }                                                                                          \
    } else {                                                                                       \
        for (uint32_t i = 0; i < rows; i++) {                                                      \
            const T x = a[i], y = b[i];                                                            \
            DO                                                                                     \
        }                                                                                          \
    }

/*
 * Sums and differences wrap and remember whether any row did, which vector instructions can; only
 * then is it asked which. The sign of a wrapped sum differs from that of both operands.
 */
#define SUM_WRAPS(T, x, y, r)                                                                      \
    (LMN__IS_SIGNED(T) ? (T)((T)((x) ^ (r)) & (T)((y) ^ (r))) < (T)(LMN__IS_SIGNED(T) ? 0 : 1)     \
                       : (r) < (x))
#define DIFFERENCE_WRAPS(T, x, y, r)                                                               \
    (LMN__IS_SIGNED(T) ? (T)((T)((x) ^ (y)) & (T)((x) ^ (r))) < (T)(LMN__IS_SIGNED(T) ? 0 : 1)     \
                       : (x) < (y))

#define INTEGER_KERNEL(FORM, T)                                                                    \
    LMN__BODY bool sums_##FORM(bool minus, const T *a, bool a_constant, const T *b,                \
                               bool b_constant, uint32_t rows, T *out)                             \
    {                                                                                              \
        T any = 0;                                                                                 \
                                                                                                   \
        if (minus) {                                                                               \
            EACH(T, const T r = (T)((uint64_t)x - (uint64_t)y); out[i] = r;                        \
                 any = (T)(any | (DIFFERENCE_WRAPS(T, x, y, r) ? 1 : 0));)                         \
        } else {                                                                                   \
            EACH(T, const T r = (T)((uint64_t)x + (uint64_t)y); out[i] = r;                        \
                 any = (T)(any | (SUM_WRAPS(T, x, y, r) ? 1 : 0));)                                \
        }                                                                                          \
        return any != 0;                                                                           \
    }                                                                                              \
    LMN__FOR_AVX2 static bool sums_wide_##FORM(bool minus, const T *a, bool a_constant,            \
                                               const T *b, bool b_constant, uint32_t rows, T *out) \
    {                                                                                              \
        return sums_##FORM(minus, a, a_constant, b, b_constant, rows, out);                        \
    }                                                                                              \
    static void integers_##FORM(int32_t op, const T *a, bool a_constant, const T *b,               \
                                bool b_constant, uint32_t rows, T *out, uint8_t *bad)              \
    {                                                                                              \
        bool wide = lmn__processor_is_wide();                                                      \
                                                                                                   \
        switch (op) {                                                                              \
        case '+':                                                                                  \
        case '-':                                                                                  \
            if (!(wide ? sums_wide_##FORM : sums_##FORM)(op == '-', a, a_constant, b, b_constant,  \
                                                         rows, out))                               \
                break;                                                                             \
            EACH(T, T r; bool wraps = op == '-' ? __builtin_sub_overflow(x, y, &r)                 \
                                                : __builtin_add_overflow(x, y, &r);                \
                 bad[i] = wraps;)                                                                  \
            break;                                                                                 \
        case '*':                                                                                  \
            EACH(T, bad[i] = __builtin_mul_overflow(x, y, &out[i]);)                               \
            break;                                                                                 \
        case '/':                                                                                  \
            /* The least number has no opposite. */                                                \
            EACH(T, T quotient = 0; bad[i] = y == 0;                                               \
                 if (LMN__IS_SIGNED(T) && y == (T) - 1)                                            \
                     bad[i] = __builtin_sub_overflow((T)0, x, &quotient) ? 2 : 0;                  \
                 else if (y != 0) quotient = (T)(x / y); out[i] = quotient;)                       \
            break;                                                                                 \
        default:                                                                                   \
            EACH(T, bad[i] = y == 0;                                                               \
                 out[i] = (T)(y == 0 || (LMN__IS_SIGNED(T) && y == (T) - 1) ? 0 : x % y);)         \
        }                                                                                          \
    }

LMN__INTEGER_FORMS(INTEGER_KERNEL)

#define FLOAT_KERNEL(FORM, T)                                                                      \
    LMN__BODY void floats_body_##FORM(int32_t op, const T *a, bool a_constant, const T *b,         \
                                      bool b_constant, uint32_t rows, T *out)                      \
    {                                                                                              \
        switch (op) {                                                                              \
        case '+':                                                                                  \
            EACH(T, out[i] = x + y;)                                                               \
            break;                                                                                 \
        case '-':                                                                                  \
            EACH(T, out[i] = x - y;)                                                               \
            break;                                                                                 \
        case '*':                                                                                  \
            EACH(T, out[i] = x * y;)                                                               \
            break;                                                                                 \
        case '/':                                                                                  \
            EACH(T, out[i] = x / y;)                                                               \
            break;                                                                                 \
        default:                                                                                   \
            EACH(T, out[i] = (T)fmod((double)x, (double)y);)                                       \
        }                                                                                          \
    }                                                                                              \
    LMN__FOR_AVX2 static void floats_wide_##FORM(int32_t op, const T *a, bool a_constant,          \
                                                 const T *b, bool b_constant, uint32_t rows,       \
                                                 T *out)                                           \
    {                                                                                              \
        floats_body_##FORM(op, a, a_constant, b, b_constant, rows, out);                           \
    }                                                                                              \
    static void floats_##FORM(int32_t op, const T *a, bool a_constant, const T *b,                 \
                              bool b_constant, uint32_t rows, T *out)                              \
    {                                                                                              \
        if (lmn__processor_is_wide())                                                              \
            floats_wide_##FORM(op, a, a_constant, b, b_constant, rows, out);                       \
        else                                                                                       \
            floats_body_##FORM(op, a, a_constant, b, b_constant, rows, out);                       \
    }

LMN__FLOAT_FORMS(FLOAT_KERNEL)

static void wides(const struct lmn__term *term, const struct lmn__vector *a,
                  const struct lmn__vector *b, uint32_t rows, struct lmn__wide *out, uint8_t *bad)
{
    for (uint32_t i = 0; i < rows; i++) {
        const struct lmn__wide *x = (const struct lmn__wide *)a->values + lmn__vector_at(a, i);
        const struct lmn__wide *y = (const struct lmn__wide *)b->values + lmn__vector_at(b, i);
        bool fits = term->choice == '+'   ? lmn__wide_add(x, y, &out[i])
                    : term->choice == '-' ? lmn__wide_subtract(x, y, &out[i])
                                          : lmn__wide_multiply(x, y, &out[i]);

        bad[i] = fits && lmn__wide_fits(&out[i], term->type.precision) ? 0 : 2;
    }
}

static void divide_wides(const struct lmn__term *term, const struct lmn__vector *a,
                         const struct lmn__vector *b, uint32_t rows, struct lmn__wide *out,
                         uint8_t *bad)
{
    static const struct lmn__wide zero;

    for (uint32_t i = 0; i < rows; i++) {
        const struct lmn__wide *x = (const struct lmn__wide *)a->values + lmn__vector_at(a, i);
        const struct lmn__wide *y = (const struct lmn__wide *)b->values + lmn__vector_at(b, i);
        struct lmn__wide quotient, rest;
        bool fits;

        out[i] = zero;
        bad[i] = lmn__wide_compare(y, &zero) == 0;
        if (bad[i] != 0)
            continue;
        fits = lmn__wide_divide(x, y, &quotient, &rest) || term->choice == '%';
        out[i] = term->choice == '%' ? rest : quotient;
        bad[i] = fits && lmn__wide_fits(&out[i], term->type.precision) ? 0 : 2;
    }
}

static enum lmn_status no_result(const struct lmn__frame *frame, const struct lmn__term *term,
                                 uint32_t row, uint8_t bad)
{
    char text[LMN__TYPE_TEXT_BYTES];

    if (bad == 1 && (term->choice == '/' || term->choice == '%'))
        return lmn__frame_fail(frame, term, row, "division by zero");
    return lmn__frame_fail(frame, term, row, "the result of '%c' does not fit %s", term->choice,
                           lmn__type_text(&term->type, text));
}

/* A minus is a subtraction from zero; of floats from minus zero, which keeps the sign of zeros. */
static const struct lmn__wide zeros;
static const float minus_zero32 = -0.0f;
static const double minus_zero64 = -0.0;

static struct lmn__vector zero_of(enum lmn__form form)
{
    const void *zero = form == LMN__FORM_F32   ? (const void *)&minus_zero32
                       : form == LMN__FORM_F64 ? (const void *)&minus_zero64
                                               : (const void *)&zeros;

    return (struct lmn__vector){ .constant = true, .values = zero };
}

enum lmn_status lmn__arithmetic_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                       const struct lmn__vector *arg, uint32_t rows,
                                       struct lmn__vector *out)
{
    enum lmn__form form = lmn__type_form(&term->type);
    struct lmn__vector zero = zero_of(form);
    const struct lmn__vector *a = term->child_count == 1 ? &zero : &arg[0];
    const struct lmn__vector *b = term->child_count == 1 ? &arg[0] : &arg[1];
    uint8_t *bad;
    uint32_t row;
    void *values;
    enum lmn_status st = lmn__frame_take(frame, form, rows, &values);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_U8, rows, &bad);
    if (st != LMN_OK)
        return st;
    out->values = values;
    memset(bad, 0, rows);
    switch (form) {
#define INTEGER_CASE(FORM, T)                                                                      \
    case LMN__FORM_##FORM:                                                                         \
        integers_##FORM(term->choice, a->values, a->constant, b->values, b->constant, rows,        \
                        values, bad);                                                              \
        break;
        LMN__INTEGER_FORMS(INTEGER_CASE)
#define FLOAT_CASE(FORM, T)                                                                        \
    case LMN__FORM_##FORM:                                                                         \
        floats_##FORM(term->choice, a->values, a->constant, b->values, b->constant, rows, values); \
        return LMN_OK;
        LMN__FLOAT_FORMS(FLOAT_CASE)
    default:
        (term->choice == '/' || term->choice == '%' ? divide_wides : wides)(term, a, b, rows,
                                                                            values, bad);
    }
    row = lmn__frame_first_bad(frame, out, bad, rows);
    return row == rows ? LMN_OK : no_result(frame, term, row, bad[row]);
}
