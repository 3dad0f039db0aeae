/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "expr/cast.h"
#include "expr/internal.h"
#include "expr/token.h"

enum { NAMED_MAX = 4 };

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

/* What the columns hold that a term reads: " where a is 1 and b is null". */
struct named {
    char text[120];
    size_t len;
    const char *path[NAMED_MAX];
    uint32_t count;
};

static bool is_named(const struct named *named, const char *path)
{
    for (uint32_t i = 0; i < named->count; i++) {
        if (strcmp(named->path[i], path) == 0)
            return true;
    }
    return false;
}

static void name_column(struct named *named, const struct lmn__frame *frame,
                        const struct lmn__term *term, uint32_t row)
{
    struct lmn__frame one = *frame; /* only the row */
    struct lmn__vector vector;
    char value[LMN__VALUE_TEXT_BYTES] = "null";
    int len;

    one.first += row;
    one.count = 1;
    one.active = NULL;
    one.owner = NULL;
    if (named->count == NAMED_MAX || is_named(named, term->path) ||
        lmn__type_form(&term->type) == LMN__FORM_SLOT ||
        lmn__term_eval(&one, term, &vector) != LMN_OK)
        return;
    if (!lmn__vector_is_null(&vector, 0))
        lmn__value_print(&term->type, vector.values, 0, value);
    len = snprintf(named->text + named->len, sizeof named->text - named->len, "%s %s is %s",
                   named->count == 0 ? " where" : " and", term->path, value);
    if (len < 0 || (size_t)len >= sizeof named->text - named->len) {
        named->text[named->len] = '\0'; /* no room for it */
        return;
    }
    named->len += (size_t)len;
    named->path[named->count++] = term->path;
}

static void name_columns(struct named *named, const struct lmn__frame *frame,
                         const struct lmn__term *term, uint32_t row)
{
    if (term->op == LMN__OP_COLUMN && term->path != NULL && frame->batch != NULL)
        name_column(named, frame, term, row);
    for (uint32_t i = 0; i < term->child_count; i++)
        name_columns(named, frame, term->child[i], row);
}

enum lmn_status lmn__frame_fail(const struct lmn__frame *frame, const struct lmn__term *term,
                                uint32_t row, const char *fmt, ...)
{
    struct named named = { 0 };
    char message[200];
    va_list args;

    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    name_columns(&named, frame, term, frame->owner != NULL ? frame->owner[row] : row);
    return lmn__text_fail(frame->expr->text, term->place, frame->err, LMN_E_INVALID, "%s%s",
                          message, named.text);
}
