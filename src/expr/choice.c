/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/choice.h"

/* The rows that have no value yet, and the values of the others. */
struct choice {
    struct lmn__frame *frame;
    enum lmn__form form;
    uint8_t *values;
    uint8_t *validity;
    uint8_t *open;  /* rows without a value */
    uint8_t *picks; /* rows that the next value is for */
};

static enum lmn_status choice_init(struct choice *choice, struct lmn__frame *frame,
                                   const struct lmn__term *term)
{
    uint64_t bytes = lmn__bits_bytes(frame->count);
    enum lmn_status st;

    *choice = (struct choice){ .frame = frame, .form = lmn__type_form(&term->type) };
    st = lmn__frame_take(frame, choice->form, frame->count, &choice->values);
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, frame->count, &choice->validity);
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, frame->count, &choice->open);
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, frame->count, &choice->picks);
    if (st != LMN_OK)
        return st;
    memset(choice->values, 0,
           choice->form == LMN__FORM_BITS ? bytes
                                          : (size_t)frame->count * lmn__form_bytes(choice->form));
    memset(choice->validity, 0, bytes);
    for (uint64_t i = 0; i < bytes; i++)
        choice->open[i] = frame->active != NULL ? frame->active[i] : 0xff;
    if (frame->count % 8 != 0)
        choice->open[bytes - 1] &= (uint8_t)((1u << frame->count % 8) - 1);
    return LMN_OK;
}

static bool any_bit(const uint8_t *bits, uint32_t rows)
{
    uint8_t any = 0;

    for (uint64_t i = 0; i < lmn__bits_bytes(rows); i++)
        any |= bits[i];
    return any != 0;
}

/* Take the picked rows from `vector`; they are not open any more. */
static void take_picks(struct choice *choice, const struct lmn__vector *vector)
{
    uint32_t width = lmn__form_bytes(choice->form);
    const uint8_t *values = vector->values;

    for (uint32_t i = 0; i < choice->frame->count; i++) {
        uint32_t at = lmn__vector_at(vector, i);

        if (!lmn__bit_get(choice->picks, i))
            continue;
        lmn__bit_clear(choice->open, i);
        if (lmn__vector_is_null(vector, i) || choice->form == LMN__FORM_NULL)
            continue;
        lmn__bit_set(choice->validity, i);
        if (choice->form == LMN__FORM_BITS)
            lmn__bit_put(choice->values, i, lmn__bit_get(values, at));
        else
            memcpy(choice->values + (size_t)i * width, values + (size_t)at * width, width);
    }
}

/* Evaluate `term` for the rows of `rows` only. */
static enum lmn_status eval_for(struct choice *choice, const struct lmn__term *term,
                                const uint8_t *rows, struct lmn__vector *vector)
{
    const uint8_t *before = choice->frame->active;
    enum lmn_status st;

    choice->frame->active = rows;
    st = lmn__term_eval(choice->frame, term, vector);
    choice->frame->active = before;
    return st;
}

/* Open rows for which a condition is true. */
static void pick_true(struct choice *choice, const struct lmn__vector *vector)
{
    const uint8_t *values = vector->values;

    for (uint64_t i = 0; i < lmn__bits_bytes(choice->frame->count); i++) {
        uint8_t yes;

        if (vector->constant)
            yes = !lmn__vector_is_null(vector, 0) && (values[0] & 1) ? 0xff : 0;
        else
            yes = values[i] & (vector->validity != NULL ? vector->validity[i] : 0xff);
        choice->picks[i] = choice->open[i] & yes;
    }
}

/* Open rows that are not null. */
static void pick_valid(struct choice *choice, const struct lmn__vector *vector)
{
    for (uint64_t i = 0; i < lmn__bits_bytes(choice->frame->count); i++) {
        uint8_t valid = 0xff;

        if (vector->constant)
            valid = lmn__vector_is_null(vector, 0) ? 0 : 0xff;
        else if (vector->validity != NULL)
            valid = vector->validity[i];
        choice->picks[i] = choice->open[i] & valid;
    }
}

static enum lmn_status eval_case(struct choice *choice, const struct lmn__term *term)
{
    uint32_t rows = choice->frame->count;
    struct lmn__vector vector;
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; i + 1 < term->child_count && any_bit(choice->open, rows); i += 2) {
        st = eval_for(choice, term->child[i], choice->open, &vector);
        if (st != LMN_OK)
            return st;
        pick_true(choice, &vector);
        if (!any_bit(choice->picks, rows))
            continue;
        st = eval_for(choice, term->child[i + 1], choice->picks, &vector);
        if (st != LMN_OK)
            return st;
        take_picks(choice, &vector);
    }
    if (!any_bit(choice->open, rows))
        return LMN_OK;
    st = eval_for(choice, term->child[term->child_count - 1], choice->open, &vector);
    memcpy(choice->picks, choice->open, lmn__bits_bytes(rows));
    if (st == LMN_OK)
        take_picks(choice, &vector);
    return st;
}

enum lmn_status lmn__choice_eval(struct lmn__frame *frame, const struct lmn__term *term,
                                 struct lmn__vector *out)
{
    struct choice choice;
    struct lmn__vector vector;
    enum lmn_status st = choice_init(&choice, frame, term);

    *out = (struct lmn__vector){ 0 };
    if (st == LMN_OK && term->op == LMN__OP_CASE)
        st = eval_case(&choice, term);
    for (uint32_t i = 0; st == LMN_OK && term->op == LMN__OP_COALESCE && i < term->child_count;
         i++) {
        if (!any_bit(choice.open, frame->count))
            break;
        st = eval_for(&choice, term->child[i], choice.open, &vector);
        if (st != LMN_OK)
            return st;
        pick_valid(&choice, &vector);
        take_picks(&choice, &vector);
    }
    out->values = choice.values;
    out->validity = choice.validity;
    return st;
}
