/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>

#include "expr/function.h"
#include "expr/wide.h"

enum {
    ROOT,
    CUBE_ROOT,
    NATURAL_LOG,
    LOG_10,
    LOG_2,
    EXPONENTIAL,
    SINE,
    COSINE,
    TANGENT,
    COTANGENT,
    ARC_SINE,
    ARC_COSINE,
    ARC_TANGENT,
    HYPERBOLIC_SINE,
    HYPERBOLIC_COSINE,
    HYPERBOLIC_TANGENT,
    AREA_SINE,
    AREA_COSINE,
    AREA_TANGENT,
    DEGREES,
    RADIANS
};

static const double pi = 3.14159265358979323846;

static double degrees(double x)
{
    return x * (180 / pi);
}

static double radians(double x)
{
    return x * (pi / 180);
}

static double cotangent(double x)
{
    return 1 / tan(x);
}

/* Functions of one double. */
static enum lmn_status real_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    static double (*const functions[])(
        double) = { sqrt, cbrt, log,  log10, log2, exp,   sin,   cos,   tan,     cotangent, asin,
                    acos, atan, sinh, cosh,  tanh, asinh, acosh, atanh, degrees, radians };
    const double *from = arg->values;
    double *values;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_F64, rows, &values);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++)
        values[i] = functions[term->choice](from[i]);
    out->values = values;
    return st;
}

enum { POWER, ARC_TANGENT_2, UNLESS_NAN };

/* Functions of two. */
static enum lmn_status reals_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    double *values;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_F64, rows, &values);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        double x = ((const double *)arg[0].values)[lmn__vector_at(&arg[0], i)];
        double y = ((const double *)arg[1].values)[lmn__vector_at(&arg[1], i)];

        values[i] = term->choice == POWER           ? pow(x, y)
                    : term->choice == ARC_TANGENT_2 ? atan2(x, y)
                    : isnan(x)                      ? y
                                                    : x;
    }
    out->values = values;
    return st;
}

static enum lmn_status bind_pi(struct lmn__binder *binder, uint32_t place, int32_t choice,
                               struct lmn__term **arg, uint32_t count, struct lmn__term **term_out)
{
    const struct lmn__type real = lmn__type_plain(LMN__KIND_F64);

    (void)choice;
    (void)arg;
    (void)count;
    return lmn__bind_constant(binder, place, &real, &pi, term_out);
}

/* log(x) is the decimal one; log(base, x). */
static enum lmn_status log_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t rows,
                                  struct lmn__vector *out)
{
    double *values;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_F64, rows, &values);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        double first = ((const double *)arg[0].values)[lmn__vector_at(&arg[0], i)];

        if (term->child_count == 1)
            values[i] = log10(first);
        else
            values[i] = log(((const double *)arg[1].values)[lmn__vector_at(&arg[1], i)]) /
                        log(first);
    }
    out->values = values;
    return st;
}

/* round(x [, digits]): halves away from zero; trunc(x, digits): towards zero (`choice` 1). */
static enum lmn_status round_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    int64_t digits = 0, last = 0;
    double *values, scale = 1;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_F64, rows, &values);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        double value = ((const double *)arg[0].values)[lmn__vector_at(&arg[0], i)];

        if (term->child_count == 1) {
            values[i] = round(value);
            continue;
        }
        digits = ((const int64_t *)arg[1].values)[lmn__vector_at(&arg[1], i)];
        if (digits != last)
            scale = pow(10, (double)digits);
        last = digits;
        if (isfinite(value * scale) && scale != 0)
            value = (term->choice != 0 ? trunc(value * scale) : round(value * scale)) / scale;
        values[i] = value;
    }
    out->values = values;
    return st;
}

enum { FLOOR, CEILING, TRUNCATE, ABSOLUTE };

/* Functions that keep the type of their argument; whole numbers are their own floor. */
static enum lmn_status keep_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    static double (*const functions[])(double) = { floor, ceil, trunc, fabs };
    enum lmn__form form = lmn__type_form(&term->type);
    void *values;
    uint8_t *bad;
    uint32_t row;
    enum lmn_status st = lmn__frame_take(frame, form, rows, &values);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_U8, rows, &bad);
    if (st != LMN_OK)
        return st;
    out->values = values;
    memset(bad, 0, rows);
    for (uint32_t i = 0; i < rows; i++) {
        struct lmn__wide *wide;
        int64_t whole;

        switch (form) {
        case LMN__FORM_F32:
            ((float *)values)[i] = (float)functions[term->choice](
                (double)((const float *)arg->values)[i]);
            break;
        case LMN__FORM_F64:
            ((double *)values)[i] = functions[term->choice](((const double *)arg->values)[i]);
            break;
        case LMN__FORM_WIDE: /* ABSOLUTE */
            wide = (struct lmn__wide *)values + i;
            *wide = ((const struct lmn__wide *)arg->values)[i];
            bad[i] = lmn__wide_is_negative(wide) && !lmn__wide_negate(wide, wide);
            break;
        default:
            whole = ((const int64_t *)arg->values)[i];
            bad[i] = whole == INT64_MIN;
            ((int64_t *)values)[i] = whole < 0 && !bad[i] ? -whole : whole;
        }
    }
    row = lmn__frame_first_bad(frame, out, bad, rows);
    return row == rows ? LMN_OK
                       : lmn__frame_fail(frame, term, row, "the result of abs() does not fit");
}

static enum lmn_status sign_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    const double *from = arg->values;
    double *values;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_F64, rows, &values);

    (void)term;
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++)
        values[i] = from[i] > 0 ? 1 : from[i] < 0 ? -1 : from[i];
    out->values = values;
    return st;
}

enum { IS_NAN, IS_INFINITE, IS_ZERO };

static enum lmn_status isnan_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    const double *from = arg->values;
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++)
        lmn__bit_put(bits, i,
                     term->choice == IS_ZERO       ? from[i] == 0
                     : term->choice == IS_INFINITE ? isinf(from[i]) != 0
                                                   : isnan(from[i]) != 0);
    out->values = bits;
    return st;
}

/* trunc(x, digits) */
static enum lmn_status bind_digits(struct lmn__binder *binder, uint32_t place,
                                   struct lmn__term **arg, struct lmn__term **term_out)
{
    const struct lmn__type real = lmn__type_plain(LMN__KIND_F64);
    enum lmn_status st = lmn__bind_convert(binder, &arg[0], &real, LMN__CONVERT_CAST);

    if (st == LMN_OK)
        st = lmn__bind_number(binder, &arg[1], "the number of digits");
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, round_kernel, &real, arg, 2, term_out);
    if (st == LMN_OK)
        (*term_out)->choice = 1;
    return st;
}

static enum lmn_status bind_keep(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    struct lmn__type type = arg[0]->type;
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st;

    if (!lmn__type_is_number(&type) && type.kind != LMN__KIND_NULL)
        return lmn__bind_fail(binder, arg[0]->place, LMN_E_INVALID,
                              "expected a number, not a value of type %s",
                              lmn__type_text(&type, text));
    if (count > 1)
        return bind_digits(binder, place, arg, term_out);
    if (choice != ABSOLUTE && lmn__type_is_integer(&type)) {
        *term_out = arg[0];
        return LMN_OK;
    }
    if (lmn__type_is_integer(&type))
        type = lmn__type_plain(type.kind == LMN__KIND_U64 ? LMN__KIND_U64 : LMN__KIND_I64);
    else if (type.kind == LMN__KIND_F16)
        type = lmn__type_plain(LMN__KIND_F32);
    else if ((type.kind == LMN__KIND_DECIMAL && choice != ABSOLUTE) || type.kind == LMN__KIND_NULL)
        type = lmn__type_plain(LMN__KIND_F64);
    if (type.kind == LMN__KIND_U64) {
        *term_out = arg[0];
        return LMN_OK;
    }
    st = lmn__bind_convert(binder, &arg[0], &type, LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, keep_kernel, &type, arg, 1, term_out);
    if (st == LMN_OK)
        (*term_out)->choice = choice;
    return st;
}

#define REAL(NAME, CHOICE) LMN__KERNEL_FUNCTION(NAME, 1, 1, "d>d", real_kernel, CHOICE)

const struct lmn__function lmn__number_functions[] = {
    REAL("sqrt", ROOT),
    REAL("cbrt", CUBE_ROOT),
    REAL("ln", NATURAL_LOG),
    REAL("log10", LOG_10),
    REAL("log2", LOG_2),
    REAL("exp", EXPONENTIAL),
    REAL("sin", SINE),
    REAL("cos", COSINE),
    REAL("tan", TANGENT),
    REAL("cot", COTANGENT),
    REAL("asin", ARC_SINE),
    REAL("acos", ARC_COSINE),
    REAL("atan", ARC_TANGENT),
    REAL("sinh", HYPERBOLIC_SINE),
    REAL("cosh", HYPERBOLIC_COSINE),
    REAL("tanh", HYPERBOLIC_TANGENT),
    REAL("asinh", AREA_SINE),
    REAL("acosh", AREA_COSINE),
    REAL("atanh", AREA_TANGENT),
    REAL("degrees", DEGREES),
    REAL("radians", RADIANS),
    LMN__BOUND_FUNCTION("pi", 0, 0, bind_pi, 0),
    LMN__KERNEL_FUNCTION("power", 2, 2, "dd>d", reals_kernel, POWER),
    LMN__KERNEL_FUNCTION("pow", 2, 2, "dd>d", reals_kernel, POWER),
    LMN__KERNEL_FUNCTION("atan2", 2, 2, "dd>d", reals_kernel, ARC_TANGENT_2),
    LMN__KERNEL_FUNCTION("nanvl", 2, 2, "dd>d", reals_kernel, UNLESS_NAN),
    LMN__KERNEL_FUNCTION("log", 1, 2, "dd>d", log_kernel, 0),
    LMN__KERNEL_FUNCTION("round", 1, 2, "di>d", round_kernel, 0),
    LMN__KERNEL_FUNCTION("sign", 1, 1, "d>d", sign_kernel, 0),
    LMN__KERNEL_FUNCTION("signum", 1, 1, "d>d", sign_kernel, 0),
    LMN__KERNEL_FUNCTION("isnan", 1, 1, "d>b", isnan_kernel, IS_NAN),
    LMN__KERNEL_FUNCTION("isinf", 1, 1, "d>b", isnan_kernel, IS_INFINITE),
    LMN__KERNEL_FUNCTION("iszero", 1, 1, "d>b", isnan_kernel, IS_ZERO),
    LMN__BOUND_FUNCTION("floor", 1, 1, bind_keep, FLOOR),
    LMN__BOUND_FUNCTION("ceil", 1, 1, bind_keep, CEILING),
    LMN__BOUND_FUNCTION("ceiling", 1, 1, bind_keep, CEILING),
    LMN__BOUND_FUNCTION("trunc", 1, 2, bind_keep, TRUNCATE),
    LMN__BOUND_FUNCTION("abs", 1, 1, bind_keep, ABSOLUTE),
    { 0 },
};
