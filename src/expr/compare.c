/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two relations, "equal" and "less", make all six: the others swap the sides or flip the bits. A
 * kernel fills 64 bytes with 0 or 1 in a loop that compilers turn into vector instructions, and
 * packs them to 64 bits. A constant side is one value, not a column of it.
 */
#include "expr/compare.h"

#include "expr/interval.h"
#include "expr/simd.h"
#include "expr/wide.h"
#include "os/processor.h"

enum { WORD_ROWS = 64 };

/* Eight bytes of 0 or 1 to the bits of one. */
LMN__BODY uint8_t pack8(const uint8_t *bytes)
{
    return (uint8_t)((lmn__load_u64(bytes) * 0x0102040810204080ull) >> 56);
}

LMN__BODY void pack(const uint8_t *bytes, uint32_t count, uint8_t *bits)
{
    for (uint32_t i = 0; i < (count + 7) / 8; i++)
        bits[i] = pack8(bytes + (size_t)i * 8);
}

#define INTEGER_EQUAL(a, b) ((a) == (b))
#define INTEGER_LESS(a, b)  ((a) < (b))
#define FLOAT_EQUAL(a, b)   (((a) == (b)) | (((a) != (a)) & ((b) != (b))))
#define FLOAT_LESS(a, b)    (!((a) >= (b)) & ((a) == (a)))

/* One run of rows: whole words in loops of a known length, then the rest. */
#define WORDS(T, LEFT, RIGHT, RELATION)                                                            \
    for (; at + WORD_ROWS <= rows; at += WORD_ROWS) {                                              \
        for (size_t i = 0; i < WORD_ROWS; i++)                                                     \
            bytes[i] = RELATION(LEFT, RIGHT);                                                      \
        pack(bytes, WORD_ROWS, bits + at / 8);                                                     \
    }                                                                                              \
    for (size_t i = 0; i < rows - at; i++)                                                         \
        bytes[i] = RELATION(LEFT, RIGHT);                                                          \
    pack(bytes, (uint32_t)(rows - at), bits + at / 8);

#define KERNEL(name, T, RELATION)                                                                  \
    LMN__BODY void name##_body(const T *a, bool a_constant, const T *b, bool b_constant,           \
                               uint32_t rows, uint8_t *bits)                                       \
    {                                                                                              \
        uint8_t bytes[WORD_ROWS] = { 0 };                                                          \
        const T x = a[0], y = b[0];                                                                \
        size_t at = 0;                                                                             \
                                                                                                   \
        if (b_constant) {                                                                          \
            WORDS(T, a[at + i], y, RELATION)                                                       \
        } else if (a_constant) {                                                                   \
            WORDS(T, x, b[at + i], RELATION)                                                       \
        } else {                                                                                   \
            WORDS(T, a[at + i], b[at + i], RELATION)                                               \
        }                                                                                          \
    }                                                                                              \
    LMN__FOR_AVX2 static void name##_wide(const T *a, bool a_constant, const T *b,                 \
                                          bool b_constant, uint32_t rows, uint8_t *bits)           \
    {                                                                                              \
        name##_body(a, a_constant, b, b_constant, rows, bits);                                     \
    }                                                                                              \
    static void name(const T *a, bool a_constant, const T *b, bool b_constant, uint32_t rows,      \
                     uint8_t *bits)                                                                \
    {                                                                                              \
        if (lmn__processor_is_wide())                                                              \
            name##_wide(a, a_constant, b, b_constant, rows, bits);                                 \
        else                                                                                       \
            name##_body(a, a_constant, b, b_constant, rows, bits);                                 \
    }

#define INTEGER_KERNELS(FORM, T)                                                                   \
    KERNEL(equal_##FORM, T, INTEGER_EQUAL)                                                         \
    KERNEL(less_##FORM, T, INTEGER_LESS)
#define FLOAT_KERNELS(FORM, T)                                                                     \
    KERNEL(equal_##FORM, T, FLOAT_EQUAL)                                                           \
    KERNEL(less_##FORM, T, FLOAT_LESS)

LMN__INTEGER_FORMS(INTEGER_KERNELS)
LMN__FLOAT_FORMS(FLOAT_KERNELS)

static int compare_spans(const struct lmn__span *a, const struct lmn__span *b)
{
    size_t len = a->len < b->len ? a->len : b->len;
    int order = len != 0 ? memcmp(a->data, b->data, len) : 0;

    if (order != 0)
        return order < 0 ? -1 : 1;
    return (a->len > b->len) - (a->len < b->len);
}

int lmn__compare_values(enum lmn__form form, const void *a, const void *b)
{
    switch (form) {
#define ONE_INTEGER(FORM, T)                                                                       \
    case LMN__FORM_##FORM:                                                                         \
        return (*(const T *)a > *(const T *)b) - (*(const T *)a < *(const T *)b);
        LMN__INTEGER_FORMS(ONE_INTEGER)
#define ONE_FLOAT(FORM, T)                                                                         \
    case LMN__FORM_##FORM:                                                                         \
        return FLOAT_LESS(*(const T *)b, *(const T *)a) - FLOAT_LESS(*(const T *)a, *(const T *)b);
        LMN__FLOAT_FORMS(ONE_FLOAT)
    case LMN__FORM_BITS:
        return (*(const uint8_t *)a & 1) - (*(const uint8_t *)b & 1);
    case LMN__FORM_WIDE:
        return lmn__wide_compare(a, b);
    case LMN__FORM_SPAN:
        return compare_spans(a, b);
    case LMN__FORM_INTERVAL:
        return lmn__interval_compare(a, b);
    default:
        return 0;
    }
}

static bool spans_equal(const struct lmn__span *a, const struct lmn__span *b)
{
    return a->len == b->len && (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* Forms whose values are compared one by one. */
static void compare_each(enum lmn__form form, bool less, const struct lmn__vector *a,
                         const struct lmn__vector *b, uint32_t rows, uint8_t *bits)
{
    uint32_t width = lmn__form_bytes(form);
    const uint8_t *x = a->values, *y = b->values;
    size_t x_step = a->constant ? 0 : width, y_step = b->constant ? 0 : width;
    uint8_t bytes[WORD_ROWS] = { 0 };

    for (uint32_t at = 0; at < rows; at += WORD_ROWS) {
        uint32_t count = rows - at < WORD_ROWS ? rows - at : WORD_ROWS;

        for (uint32_t i = 0; i < count; i++, x += x_step, y += y_step) {
            if (form == LMN__FORM_SPAN && !less)
                bytes[i] = spans_equal((const void *)x, (const void *)y);
            else if (less)
                bytes[i] = lmn__compare_values(form, x, y) < 0;
            else
                bytes[i] = lmn__compare_values(form, x, y) == 0;
        }
        pack(bytes, count, bits + at / 8);
    }
}

/* Booleans: false is less than true. */
static void compare_bits(bool less, const struct lmn__vector *a, const struct lmn__vector *b,
                         uint32_t rows, uint8_t *bits)
{
    const uint8_t *x = a->values, *y = b->values;
    uint8_t x_constant = x[0] & 1 ? 0xff : 0, y_constant = y[0] & 1 ? 0xff : 0;

    for (uint64_t i = 0; i < lmn__bits_bytes(rows); i++) {
        uint8_t p = a->constant ? x_constant : x[i], q = b->constant ? y_constant : y[i];

        bits[i] = (uint8_t)(less ? ~p & q : ~(p ^ q));
    }
}

enum lmn_status lmn__compare_rows(struct lmn__frame *frame, enum lmn__form form,
                                  enum lmn__compare compare, const struct lmn__vector *a,
                                  const struct lmn__vector *b, uint32_t rows, uint8_t *bits_out)
{
    bool swap = compare == LMN__COMPARE_GT || compare == LMN__COMPARE_LE;
    bool flip = compare == LMN__COMPARE_NE || compare == LMN__COMPARE_LE ||
                compare == LMN__COMPARE_GE;
    bool less = compare != LMN__COMPARE_EQ && compare != LMN__COMPARE_NE;
    const struct lmn__vector *x = swap ? b : a, *y = swap ? a : b;

    (void)frame;
    if (a->constant && b->constant && rows > 1) {
        /* Kernels step through one side at least: one row stands for all. */
        uint8_t bit;
        enum lmn_status st = lmn__compare_rows(frame, form, compare, a, b, 1, &bit);

        memset(bits_out, bit & 1 ? 0xff : 0, lmn__bits_bytes(rows));
        return st;
    }
    switch (form) {
#define CASE(FORM, T)                                                                              \
    case LMN__FORM_##FORM:                                                                         \
        (less ? less_##FORM : equal_##FORM)(x->values, x->constant, y->values, y->constant, rows,  \
                                            bits_out);                                             \
        break;
        LMN__INTEGER_FORMS(CASE)
        LMN__FLOAT_FORMS(CASE)
    case LMN__FORM_BITS:
        compare_bits(less, x, y, rows, bits_out);
        break;
    case LMN__FORM_NULL:
        memset(bits_out, 0, lmn__bits_bytes(rows));
        break;
    default:
        compare_each(form, less, x, y, rows, bits_out);
    }
    for (uint64_t i = 0; flip && i < lmn__bits_bytes(rows); i++)
        bits_out[i] = (uint8_t)~bits_out[i];
    return LMN_OK;
}

enum lmn_status lmn__compare_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    if (st != LMN_OK)
        return st;
    out->values = bits;
    return lmn__compare_rows(frame, lmn__type_form(&term->child[0]->type), term->compare, &arg[0],
                             &arg[1], rows, bits);
}

/* Bits of a row's validity, spread when the vector is constant. */
static uint8_t valid_byte(const struct lmn__vector *vector, uint64_t i)
{
    if (vector->validity == NULL)
        return 0xff;
    return vector->constant ? (vector->validity[0] & 1 ? 0xff : 0) : vector->validity[i];
}

enum lmn_status lmn__compare_distinct(struct lmn__frame *frame, const struct lmn__term *term,
                                      const struct lmn__vector *arg, uint32_t rows,
                                      struct lmn__vector *out)
{
    uint8_t *bits, flip = term->negated ? 0xff : 0;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    if (st == LMN_OK)
        st = lmn__compare_rows(frame, lmn__type_form(&term->child[0]->type), LMN__COMPARE_NE,
                               &arg[0], &arg[1], rows, bits);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < lmn__bits_bytes(rows); i++) {
        uint8_t p = valid_byte(&arg[0], i), q = valid_byte(&arg[1], i);

        bits[i] = (uint8_t)(((bits[i] & p & q) | (p ^ q)) ^ flip);
    }
    out->values = bits;
    return LMN_OK;
}
