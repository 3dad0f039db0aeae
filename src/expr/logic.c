/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three-valued logic on bitmaps. A condition is two sets of rows, those where it is true and those
 * where it is false; it is null for the rest.
 */
#include "expr/logic.h"

static enum lmn_status truth_of(struct lmn__frame *frame, const struct lmn__vector *vector,
                                uint8_t *yes, uint8_t *no)
{
    uint64_t bytes = lmn__bits_bytes(frame->count);
    const uint8_t *values = vector->values, *validity = vector->validity;

    if (vector->constant) {
        bool valid = !lmn__vector_is_null(vector, 0);

        memset(yes, valid && (values[0] & 1) ? 0xff : 0, bytes);
        memset(no, valid && !(values[0] & 1) ? 0xff : 0, bytes);
    } else if (validity == NULL) {
        for (uint64_t i = 0; i < bytes; i++) {
            yes[i] = values[i];
            no[i] = (uint8_t)~values[i];
        }
    } else {
        for (uint64_t i = 0; i < bytes; i++) {
            yes[i] = values[i] & validity[i];
            no[i] = (uint8_t)~values[i] & validity[i];
        }
    }
    return LMN_OK;
}

/* Is any of the frame's rows in `bits`? */
static bool any_row(const uint8_t *bits, uint32_t rows)
{
    uint8_t any = 0;

    for (uint32_t i = 0; i < rows / 8; i++)
        any |= bits[i];
    if (rows % 8 != 0)
        any |= (uint8_t)(bits[rows / 8] & ((1u << rows % 8) - 1));
    return any != 0;
}

/* One operand of AND into the sets; OR swaps them. `open` is what it left undecided. */
static enum lmn_status fold(struct lmn__frame *frame, const struct lmn__term *child, bool is_or,
                            uint8_t *all, uint8_t *some, uint8_t *open)
{
    uint64_t bytes = lmn__bits_bytes(frame->count);
    const uint8_t *before = frame->active;
    struct lmn__vector vector;
    uint8_t *yes, *no, *swap;
    enum lmn_status st;

    for (uint64_t i = 0; i < bytes; i++)
        open[i] = (uint8_t)~some[i] & (before != NULL ? before[i] : 0xff);
    if (!any_row(open, frame->count))
        return LMN_OK;
    frame->active = open;
    st = lmn__term_eval(frame, child, &vector);
    frame->active = before;
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, frame->count, &yes);
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, frame->count, &no);
    if (st == LMN_OK)
        st = truth_of(frame, &vector, yes, no);
    if (st != LMN_OK)
        return st;
    if (is_or) {
        swap = yes;
        yes = no;
        no = swap;
    }
    for (uint64_t i = 0; i < bytes; i++) {
        all[i] &= yes[i];
        some[i] |= no[i] & open[i];
    }
    return LMN_OK;
}

enum lmn_status lmn__logic_chain(struct lmn__frame *frame, const struct lmn__term *term,
                                 struct lmn__vector *out)
{
    uint64_t bytes = lmn__bits_bytes(frame->count);
    bool is_or = term->op == LMN__OP_OR;
    uint8_t *all, *some, *open, *validity;
    enum lmn_status st = lmn__frame_bits(frame, frame->count, &all);

    *out = (struct lmn__vector){ 0 };
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, frame->count, &some);
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, frame->count, &open);
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, frame->count, &validity);
    if (st != LMN_OK)
        return st;
    memset(all, 0xff, bytes);
    memset(some, 0, bytes);
    for (uint32_t i = 0; st == LMN_OK && i < term->child_count; i++) {
        struct lmn__slate_mark mark = lmn__slate_mark(frame->slate);

        st = fold(frame, term->child[i], is_or, all, some, open);
        lmn__slate_wipe(frame->slate, mark);
    }
    /* AND: true where all are, false where some are not; OR: the other way round. */
    for (uint64_t i = 0; i < bytes; i++) {
        all[i] &= (uint8_t)~some[i];
        validity[i] = all[i] | some[i];
    }
    out->values = is_or ? some : all;
    out->validity = validity;
    return st;
}

enum lmn_status lmn__logic_not(struct lmn__frame *frame, const struct lmn__term *term,
                               const struct lmn__vector *arg, uint32_t rows,
                               struct lmn__vector *out)
{
    const uint8_t *values = arg[0].values;
    uint8_t *made;
    enum lmn_status st = lmn__frame_bits(frame, rows, &made);

    (void)term;
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < lmn__bits_bytes(rows); i++)
        made[i] = (uint8_t)~values[i];
    out->values = made;
    return LMN_OK;
}

enum lmn_status lmn__logic_is_null(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    const uint8_t *validity = arg[0].validity;
    uint8_t *made, flip = term->negated ? 0 : 0xff;
    enum lmn_status st = lmn__frame_bits(frame, rows, &made);

    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < lmn__bits_bytes(rows); i++)
        made[i] = (uint8_t)((validity != NULL ? validity[i] : 0xff) ^ flip);
    out->values = made;
    return LMN_OK;
}

/* IS [NOT] TRUE or FALSE: `choice` is the value asked for. */
enum lmn_status lmn__logic_is(struct lmn__frame *frame, const struct lmn__term *term,
                              const struct lmn__vector *arg, uint32_t rows, struct lmn__vector *out)
{
    const uint8_t *values = arg[0].values, *validity = arg[0].validity;
    uint8_t *made, flip = term->negated ? 0xff : 0, other = term->choice ? 0 : 0xff;
    enum lmn_status st = lmn__frame_bits(frame, rows, &made);

    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < lmn__bits_bytes(rows); i++)
        made[i] = (uint8_t)(((values[i] ^ other) & (validity != NULL ? validity[i] : 0xff)) ^ flip);
    out->values = made;
    return LMN_OK;
}
