/* SPDX-License-Identifier: Apache-2.0 */
/* Values that differ from row to row and from time to time. No condition may depend on them. */
#include <stdio.h>

#include "base/bytes.h"
#include "expr/function.h"
#include "expr/text_rows.h"
#include "os/random.h"

enum { UUID_BYTES = 16, UUID_CHARS = 36 };

/* 53 random bits each, from 0 up to 1. */
static enum lmn_status random_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                     const struct lmn__vector *arg, uint32_t rows,
                                     struct lmn__vector *out)
{
    double *values;
    uint64_t *bits;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_F64, rows, &values);

    (void)term;
    (void)arg;
    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_U64, rows, &bits);
    if (st == LMN_OK)
        st = lmn__random_bytes(bits, rows * sizeof *bits, frame->err);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++)
        values[i] = (double)(bits[i] >> 11) * 0x1p-53;
    out->values = values;
    return st;
}

/* RFC 9562, version 4: random but for six bits. */
static enum lmn_status uuid_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    static const char digits[] = "0123456789abcdef";
    struct lmn__span *spans;
    uint8_t *bytes, *text;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_SPAN, rows, &spans);

    (void)term;
    (void)arg;
    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, (uint64_t)rows * UUID_BYTES, &bytes, frame->err);
    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, (uint64_t)rows * UUID_CHARS, &text, frame->err);
    if (st == LMN_OK)
        st = lmn__random_bytes(bytes, (size_t)rows * UUID_BYTES, frame->err);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++, bytes += UUID_BYTES) {
        spans[i] = (struct lmn__span){ text, UUID_CHARS };
        bytes[6] = (bytes[6] & 0x0f) | 0x40;
        bytes[8] = (bytes[8] & 0x3f) | 0x80;
        for (int k = 0; k < UUID_BYTES; k++) {
            if (k == 4 || k == 6 || k == 8 || k == 10)
                *text++ = '-';
            *text++ = (uint8_t)digits[bytes[k] >> 4];
            *text++ = (uint8_t)digits[bytes[k] & 15];
        }
    }
    out->values = spans;
    return st;
}

enum { RANDOM, UUID };

static enum lmn_status bind_random(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    const struct lmn__type type = lmn__type_plain(choice == UUID ? LMN__KIND_STRING
                                                                 : LMN__KIND_F64);
    enum lmn_status st;

    if (binder->is_condition)
        return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED,
                              "%s() in a condition would choose other rows each time; it may stand "
                              "in values",
                              choice == UUID ? "uuid" : "random");
    st = lmn__bind_call(binder, place, choice == UUID ? uuid_kernel : random_kernel, &type, arg,
                        count, term_out);
    if (st == LMN_OK)
        (*term_out)->volatile_result = true;
    return st;
}

const struct lmn__function lmn__random_functions[] = {
    LMN__BOUND_FUNCTION("random", 0, 0, bind_random, RANDOM),
    LMN__BOUND_FUNCTION("rand", 0, 0, bind_random, RANDOM),
    LMN__BOUND_FUNCTION("uuid", 0, 0, bind_random, UUID),
    { 0 },
};
