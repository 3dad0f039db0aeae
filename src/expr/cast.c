/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/cast.h"

#include <math.h>

#include "base/utf8.h"
#include "expr/load.h"
#include "expr/wide.h"

bool lmn__cast_exists(const struct lmn__type *from, const struct lmn__type *to)
{
    bool from_number = lmn__type_is_number(from) || from->kind == LMN__KIND_BOOL;
    bool to_number = lmn__type_is_number(to) || to->kind == LMN__KIND_BOOL;
    bool from_text = from->kind == LMN__KIND_STRING, to_text = to->kind == LMN__KIND_STRING;
    bool from_day = from->kind == LMN__KIND_DATE32 || from->kind == LMN__KIND_DATE64;
    bool to_day = to->kind == LMN__KIND_DATE32 || to->kind == LMN__KIND_DATE64;
    bool from_clock = from->kind == LMN__KIND_TIME32 || from->kind == LMN__KIND_TIME64;
    bool to_clock = to->kind == LMN__KIND_TIME32 || to->kind == LMN__KIND_TIME64;

    if (from->kind == LMN__KIND_NULL || lmn__type_same(from, to))
        return true;
    if (from_number && to_number)
        return true;
    if (lmn__type_is_bytes(from) && lmn__type_is_bytes(to))
        return true;
    if (from_text)
        return to_number || to->kind == LMN__KIND_INTERVAL ||
               (lmn__type_is_time(to) && to->kind != LMN__KIND_DURATION);
    if (to_text)
        return from_number || from->kind == LMN__KIND_INTERVAL || lmn__type_is_time(from);
    if (from->kind == LMN__KIND_INTERVAL || to->kind == LMN__KIND_INTERVAL)
        return from->kind == LMN__KIND_DURATION || to->kind == LMN__KIND_DURATION;
    if (from_day || from->kind == LMN__KIND_TIMESTAMP)
        return to_day || to->kind == LMN__KIND_TIMESTAMP || lmn__type_is_integer(to) ||
               (to_clock && from->kind == LMN__KIND_TIMESTAMP);
    if (to_day || to->kind == LMN__KIND_TIMESTAMP)
        return lmn__type_is_integer(from);
    if (from_clock)
        return to_clock || lmn__type_is_integer(to);
    if (from->kind == LMN__KIND_DURATION)
        return to->kind == LMN__KIND_DURATION || lmn__type_is_integer(to);
    return (to->kind == LMN__KIND_DURATION || to_clock) && lmn__type_is_integer(from);
}

static bool bits_at(const struct lmn__cast *cast, uint32_t i)
{
    return lmn__bit_get(cast->arg->values, i);
}

/* Whole numbers as 64-bit ones; a large unsigned one is bad. */
static void to_i64(struct lmn__cast *cast, int64_t *out)
{
    const void *values = cast->arg->values;

    switch (lmn__type_form(cast->from)) {
#define WIDEN(FORM, T)                                                                             \
    case LMN__FORM_##FORM:                                                                         \
        for (uint32_t i = 0; i < cast->rows; i++) {                                                \
            out[i] = (int64_t)((const T *)values)[i];                                              \
            cast->bad[i] = !LMN__IS_SIGNED(T) && sizeof(T) == 8 && out[i] < 0;                     \
        }                                                                                          \
        break;
        LMN__INTEGER_FORMS(WIDEN)
#define TRUNCATE(FORM, T)                                                                          \
    case LMN__FORM_##FORM:                                                                         \
        for (uint32_t i = 0; i < cast->rows; i++) {                                                \
            T value = ((const T *)values)[i];                                                      \
            bool fits = value >= (T) - 0x1p63 && value < (T)0x1p63;                                \
                                                                                                   \
            out[i] = fits ? (int64_t)value : 0;                                                    \
            cast->bad[i] = !fits || (cast->exact && (T)out[i] != value);                           \
        }                                                                                          \
        break;
        LMN__FLOAT_FORMS(TRUNCATE)
    case LMN__FORM_WIDE:
        for (uint32_t i = 0; i < cast->rows; i++) {
            const struct lmn__wide *value = (const struct lmn__wide *)values + i;
            struct lmn__wide whole;
            bool rounded = false, fits;

            if (cast->exact || cast->from->scale < 0)
                fits = lmn__wide_scale(value, -cast->from->scale, &whole, &rounded);
            else
                fits = lmn__wide_scale_down(value, (uint32_t)cast->from->scale, &whole);
            fits = fits && lmn__wide_to_i64(&whole, &out[i]);
            cast->bad[i] = !fits || (cast->exact && rounded);
        }
        break;
    default:
        for (uint32_t i = 0; i < cast->rows; i++) {
            out[i] = bits_at(cast, i);
            cast->bad[i] = 0;
        }
    }
}

/* To the largest unsigned numbers, of which half do not go through to_i64(). */
static void to_u64(struct lmn__cast *cast, uint64_t *out)
{
    const void *values = cast->arg->values;

    switch (lmn__type_form(cast->from)) {
#define UNSIGNED(FORM, T)                                                                          \
    case LMN__FORM_##FORM:                                                                         \
        for (uint32_t i = 0; i < cast->rows; i++) {                                                \
            T value = ((const T *)values)[i];                                                      \
            bool fits = value > (T) - 1 && value < (T)0x1p64;                                      \
                                                                                                   \
            out[i] = fits ? (uint64_t)value : 0;                                                   \
            cast->bad[i] = !fits || (cast->exact && (T)out[i] != value);                           \
        }                                                                                          \
        return;
        LMN__FLOAT_FORMS(UNSIGNED)
    case LMN__FORM_WIDE:
        for (uint32_t i = 0; i < cast->rows; i++) {
            struct lmn__wide whole;
            bool rounded, fits = lmn__wide_scale((const struct lmn__wide *)values + i,
                                                 -cast->from->scale, &whole, &rounded);

            cast->bad[i] = !fits || !lmn__wide_to_u64(&whole, &out[i]) || (cast->exact && rounded);
        }
        return;
    default:
        to_i64(cast, (int64_t *)out);
        for (uint32_t i = 0; i < cast->rows; i++)
            cast->bad[i] = (uint8_t)(cast->bad[i] | ((int64_t)out[i] < 0));
    }
}

/* Finite values that are too large for the type; their nearest value is infinity. */
static void mark_overflows(struct lmn__cast *cast)
{
    enum lmn__form form = lmn__type_form(cast->from);
    const float *single = cast->arg->values, *out = cast->values;
    const double *real = cast->arg->values;

    for (uint32_t i = 0; i < cast->rows; i++)
        cast->bad[i] = isinf(out[i]) && !(form == LMN__FORM_F32 && isinf(single[i])) &&
                       !(form == LMN__FORM_F64 && isinf(real[i]));
}

static void to_float(struct lmn__cast *cast)
{
    const void *values = cast->arg->values;
    bool is_double = cast->to->kind == LMN__KIND_F64;
    double *out64 = cast->values;
    float *out32 = cast->values;

    memset(cast->bad, 0, cast->rows);
    switch (lmn__type_form(cast->from)) {
#define FLOAT(FORM, T)                                                                             \
    case LMN__FORM_##FORM:                                                                         \
        if (is_double) {                                                                           \
            for (uint32_t i = 0; i < cast->rows; i++)                                              \
                out64[i] = (double)((const T *)values)[i];                                         \
        } else {                                                                                   \
            for (uint32_t i = 0; i < cast->rows; i++)                                              \
                out32[i] = (float)((const T *)values)[i];                                          \
        }                                                                                          \
        break;
        LMN__INTEGER_FORMS(FLOAT)
        LMN__FLOAT_FORMS(FLOAT)
    default:
        for (uint32_t i = 0; i < cast->rows; i++) {
            double value = lmn__type_form(cast->from) == LMN__FORM_WIDE
                               ? lmn__wide_to_double((const struct lmn__wide *)values + i,
                                                     cast->from->scale)
                               : bits_at(cast, i);

            if (is_double)
                out64[i] = value;
            else
                out32[i] = (float)value;
        }
    }
    if (cast->to->kind == LMN__KIND_F16) {
        for (uint32_t i = 0; i < cast->rows; i++)
            out32[i] = lmn__half_to_float(lmn__float_to_half(out32[i]));
    }
    if (cast->exact && !is_double)
        mark_overflows(cast);
}

static bool decimal_of_double(double value, int32_t scale, struct lmn__wide *out, bool *rounded)
{
    double scaled = value * pow(10, scale);

    *rounded = scaled != round(scaled);
    return isfinite(scaled) && lmn__wide_from_double(scaled, out);
}

static void to_decimal(struct lmn__cast *cast)
{
    const void *values = cast->arg->values;
    struct lmn__wide *out = cast->values;
    enum lmn__form form = lmn__type_form(cast->from);

    for (uint32_t i = 0; i < cast->rows; i++) {
        struct lmn__wide value = { { 0 } };
        bool rounded = false, fits = true;
        int32_t from_scale = 0;

        switch (form) {
#define WIDE(FORM, T)                                                                              \
    case LMN__FORM_##FORM:                                                                         \
        value = !LMN__IS_SIGNED(T) ? lmn__wide_from_u64((uint64_t)((const T *)values)[i])          \
                                   : lmn__wide_from_i64((int64_t)((const T *)values)[i]);          \
        break;
            LMN__INTEGER_FORMS(WIDE)
        case LMN__FORM_F32:
        case LMN__FORM_F64:
            fits = decimal_of_double(form == LMN__FORM_F32 ? (double)((const float *)values)[i]
                                                           : ((const double *)values)[i],
                                     cast->to->scale, &value, &rounded);
            from_scale = cast->to->scale;
            break;
        case LMN__FORM_WIDE:
            value = ((const struct lmn__wide *)values)[i];
            from_scale = cast->from->scale;
            break;
        default:
            value = lmn__wide_from_i64(bits_at(cast, i));
        }
        if (fits && from_scale != cast->to->scale)
            fits = lmn__wide_scale(&value, cast->to->scale - from_scale, &value, &rounded);
        fits = fits && lmn__wide_fits(&value, cast->to->precision);
        cast->bad[i] = !fits || (cast->exact && rounded);
        out[i] = value;
    }
}

static void to_bits(struct lmn__cast *cast)
{
    uint32_t width = lmn__form_bytes(lmn__type_form(cast->from));
    const uint8_t *values = cast->arg->values;
    static const struct lmn__wide zero;

    memset(cast->bad, 0, cast->rows);
    for (uint32_t i = 0; i < cast->rows; i++) {
        const uint8_t *value = values + (size_t)i * width;
        bool is_set = memcmp(value, &zero, width) != 0;

        if (cast->from->kind == LMN__KIND_F64)
            is_set = *(const double *)(const void *)value != 0;
        else if (lmn__type_is_float(cast->from))
            is_set = *(const float *)(const void *)value != 0;
        lmn__bit_put(cast->values, i, is_set);
    }
}

/* 64-bit numbers to narrower ones, in place where they are 64-bit. */
static void narrow(struct lmn__cast *cast, const int64_t *wide)
{
    switch (lmn__type_form(cast->to)) {
#define NARROW(FORM, T)                                                                            \
    case LMN__FORM_##FORM:                                                                         \
        for (uint32_t i = 0; i < cast->rows; i++) {                                                \
            T value = (T)wide[i];                                                                  \
                                                                                                   \
            cast->bad[i] = (uint8_t)(cast->bad[i] | ((int64_t)value != wide[i]) |                  \
                                     (!LMN__IS_SIGNED(T) && wide[i] < 0));                         \
            ((T *)cast->values)[i] = value;                                                        \
        }                                                                                          \
        break;
        LMN__INTEGER_FORMS(NARROW)
    default:
        break;
    }
}

void lmn__cast_numbers(struct lmn__cast *cast)
{
    int64_t wide[LMN__RUN_ROWS];

    if (cast->to->kind == LMN__KIND_BOOL)
        to_bits(cast);
    else if (cast->to->kind == LMN__KIND_DECIMAL)
        to_decimal(cast);
    else if (lmn__type_is_float(cast->to))
        to_float(cast);
    else if (cast->to->kind == LMN__KIND_U64)
        to_u64(cast, cast->values);
    else {
        to_i64(cast, wide);
        narrow(cast, wide);
    }
}

/* What has no counterpart is null, or the error of its row. */
static enum lmn_status settle(struct lmn__cast *cast, const struct lmn__term *term,
                              struct lmn__vector *out)
{
    char to[LMN__TYPE_TEXT_BYTES], value[LMN__VALUE_TEXT_BYTES];
    uint32_t row;
    uint8_t *validity;
    enum lmn_status st;

    if (!term->lenient) {
        row = lmn__frame_first_bad(cast->frame, out, cast->bad, cast->rows);
        if (row == cast->rows)
            return LMN_OK;
        lmn__value_print(cast->from, cast->arg->values, row, value);
        return lmn__frame_fail(cast->frame, term, row, "%.100s is no value of type %s", value,
                               lmn__type_text(cast->to, to));
    }
    if (memchr(cast->bad, 1, cast->rows) == NULL)
        return LMN_OK;
    st = lmn__frame_own_validity(cast->frame, cast->rows, out, &validity);
    for (uint32_t i = 0; st == LMN_OK && i < cast->rows; i++) {
        if (cast->bad[i])
            lmn__bit_clear(validity, i);
    }
    return st;
}

/* Bytes to bytes: the size has to be right, and text has to be text. */
static enum lmn_status cast_bytes(struct lmn__cast *cast)
{
    const struct lmn__span *spans = cast->arg->values;

    memcpy(cast->values, spans, cast->rows * sizeof *spans);
    for (uint32_t i = 0; i < cast->rows; i++) {
        cast->bad[i] = cast->to->kind == LMN__KIND_FIXED_BINARY &&
                       spans[i].len != (size_t)cast->to->width;
        if (cast->to->kind == LMN__KIND_STRING && cast->from->kind != LMN__KIND_STRING)
            cast->bad[i] = !lmn__utf8_valid(spans[i]);
    }
    return LMN_OK;
}

enum lmn_status lmn__cast_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t rows,
                                 struct lmn__vector *out)
{
    struct lmn__cast cast = { .frame = frame,
                              .from = &term->child[0]->type,
                              .to = &term->type,
                              .arg = arg,
                              .rows = rows,
                              .exact = term->exact,
                              .zone = term->data };
    bool from_text = cast.from->kind == LMN__KIND_STRING,
         to_text = cast.to->kind == LMN__KIND_STRING;
    enum lmn_status st = lmn__frame_take(frame, lmn__type_form(cast.to), rows, &cast.values);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_U8, rows, &cast.bad);
    if (st != LMN_OK)
        return st;
    out->values = cast.values;
    if (cast.from->kind == LMN__KIND_NULL) {
        memset(cast.values, 0,
               lmn__type_form(cast.to) == LMN__FORM_BITS
                   ? lmn__bits_bytes(rows)
                   : (size_t)rows * lmn__form_bytes(lmn__type_form(cast.to)));
        return LMN_OK;
    }
    if (lmn__type_same(cast.from, cast.to)) {
        out->values = arg->values;
        return LMN_OK;
    }
    if (lmn__type_is_bytes(cast.from) && lmn__type_is_bytes(cast.to))
        st = cast_bytes(&cast);
    else if (from_text)
        lmn__cast_from_text(&cast);
    else if (to_text)
        st = lmn__cast_to_text(&cast);
    else if (cast.from->kind == LMN__KIND_INTERVAL || cast.to->kind == LMN__KIND_INTERVAL)
        lmn__cast_intervals(&cast);
    else if (lmn__type_is_time(cast.from) || lmn__type_is_time(cast.to))
        lmn__cast_times(&cast);
    else
        lmn__cast_numbers(&cast);
    return st == LMN_OK ? settle(&cast, term, out) : st;
}
