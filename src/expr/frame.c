/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "expr/internal.h"
#include "expr/named.h"
#include "expr/token.h"

enum lmn_status lmn__frame_take(struct lmn__frame *frame, enum lmn__form form, uint32_t rows,
                                void *memory_out)
{
    uint64_t bytes = form == LMN__FORM_BITS ? lmn__bits_bytes(rows)
                                            : (uint64_t)rows * lmn__form_bytes(form);

    return lmn__slate_take(frame->slate, bytes, memory_out, frame->err);
}

enum lmn_status lmn__frame_bits(struct lmn__frame *frame, uint32_t rows, uint8_t **bits_out)
{
    return lmn__slate_take(frame->slate, lmn__bits_bytes(rows), bits_out, frame->err);
}

enum lmn_status lmn__frame_and(struct lmn__frame *frame, const uint8_t **into, const uint8_t *more,
                               uint32_t rows)
{
    uint64_t bytes = lmn__bits_bytes(rows);
    const uint8_t *old = *into;
    uint8_t *made;
    enum lmn_status st;

    if (more == NULL || old == NULL) {
        *into = more != NULL ? more : old;
        return LMN_OK;
    }
    st = lmn__frame_bits(frame, rows, &made);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < bytes; i++)
        made[i] = old[i] & more[i];
    *into = made;
    return LMN_OK;
}

enum lmn_status lmn__frame_own_validity(struct lmn__frame *frame, uint32_t rows,
                                        struct lmn__vector *out, uint8_t **validity_out)
{
    enum lmn_status st = lmn__frame_bits(frame, rows, validity_out);

    if (st != LMN_OK)
        return st;
    if (out->validity != NULL)
        memcpy(*validity_out, out->validity, lmn__bits_bytes(rows));
    else
        memset(*validity_out, 0xff, lmn__bits_bytes(rows));
    out->validity = *validity_out;
    return LMN_OK;
}

uint32_t lmn__frame_first_bad(const struct lmn__frame *frame, const struct lmn__vector *out,
                              const uint8_t *bad, uint32_t rows)
{
    uint8_t any = 0;

    for (uint32_t i = 0; i < rows; i++)
        any |= bad[i];
    if (any == 0)
        return rows;
    for (uint32_t i = 0; i < rows; i++) {
        /* A constant's only row counts as long as any row does. */
        bool counts = frame->active == NULL || out->constant || lmn__bit_get(frame->active, i);

        if (bad[i] && counts && (out->validity == NULL || lmn__bit_get(out->validity, i)))
            return i;
    }
    return rows;
}

enum lmn_status lmn__frame_fail(const struct lmn__frame *frame, const struct lmn__term *term,
                                uint32_t row, const char *fmt, ...)
{
    struct lmn__named named = { 0 };
    char message[200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    lmn__named_values(&named, frame, frame->list != NULL ? frame->list : term,
                      frame->owner != NULL ? frame->owner[row] : row);
    return lmn__text_fail(frame->expr->text, term->place, frame->err, LMN_E_INVALID, "%s%s",
                          message, named.text);
}
