/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/text_rows.h"

enum lmn_status lmn__text_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t rows,
                                 struct lmn__vector *out)
{
    struct lmn__span *spans;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_SPAN, rows, &spans);

    out->values = spans;
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        bool asked = frame->active == NULL || out->constant || lmn__bit_get(frame->active, i);

        spans[i] = LMN__NO_TEXT;
        if (asked && (out->validity == NULL || lmn__bit_get(out->validity, i)))
            st = term->text_of_row(frame, term, arg, i, &spans[i]);
    }
    return st;
}

enum lmn_status lmn__text_take(struct lmn__frame *frame, const struct lmn__term *term, uint32_t row,
                               uint64_t bytes, uint8_t **text_out)
{
    if (bytes > LMN__TEXT_BYTES_MAX)
        return lmn__frame_fail(frame, term, row, "%s() makes no strings of more than %d bytes",
                               term->name, LMN__TEXT_BYTES_MAX);
    return lmn__slate_take(frame->slate, bytes != 0 ? bytes : 1, text_out, frame->err);
}
