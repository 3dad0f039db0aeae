/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that give one of their arguments. */
#include "expr/compare.h"
#include "expr/function.h"
#include "expr/list_value.h"
#include "expr/logic.h"

static enum lmn_status bind_coalesce(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                     struct lmn__term **arg, uint32_t count,
                                     struct lmn__term **term_out)
{
    enum lmn_status st = lmn__bind_unify(binder, place, "choose between", arg, count);

    (void)choice;
    if (st != LMN_OK)
        return st;
    if (lmn__type_form(&arg[0]->type) == LMN__FORM_SLOT)
        return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED,
                              "a choice between lists or structs");
    st = lmn__bind_term(binder, LMN__OP_COALESCE, place, arg, count, term_out);
    if (st == LMN_OK)
        (*term_out)->type = arg[0]->type;
    return st;
}

/* The greatest (`choice` 1) or least argument that is not null. */
static enum lmn_status extreme_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                      const struct lmn__vector *arg, uint32_t rows,
                                      struct lmn__vector *out)
{
    enum lmn__form form = lmn__type_form(&term->type);
    uint32_t width = lmn__form_bytes(form);
    uint8_t *values, *validity;
    enum lmn_status st = lmn__frame_take(frame, form, rows, &values);

    if (st == LMN_OK)
        st = lmn__frame_bits(frame, rows, &validity);
    if (st != LMN_OK)
        return st;
    memset(values, 0, (size_t)rows * width);
    for (uint32_t i = 0; i < rows; i++) {
        uint8_t *best = values + (size_t)i * width;
        bool found = false;

        for (uint32_t k = 0; k < term->child_count; k++) {
            const uint8_t *value = (const uint8_t *)arg[k].values +
                                   (size_t)lmn__vector_at(&arg[k], i) * width;

            if (lmn__vector_is_null(&arg[k], i) ||
                (found && (lmn__compare_values(form, value, best) > 0) != (term->choice == 1)))
                continue;
            memcpy(best, value, width);
            found = true;
        }
        lmn__bit_put(validity, i, found);
    }
    out->values = values;
    out->validity = validity;
    return LMN_OK;
}

static enum lmn_status bind_extreme(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                    struct lmn__term **arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st = lmn__bind_unify(binder, place, "compare", arg, count);

    if (st != LMN_OK)
        return st;
    if (lmn__form_bytes(lmn__type_form(&arg[0]->type)) == 0 ||
        lmn__type_form(&arg[0]->type) == LMN__FORM_SLOT)
        return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED, "the extremes of values of type %s",
                              lmn__type_text(&arg[0]->type, text));
    st = lmn__bind_call(binder, place, extreme_kernel, &arg[0]->type, arg, count, term_out);
    if (st == LMN_OK) {
        (*term_out)->choice = choice;
        (*term_out)->own_nulls = true;
    }
    return st;
}

/* nullif(a, b) is a CASE: null where they are equal, a otherwise. */
static enum lmn_status bind_nullif(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    const struct lmn__type condition = lmn__type_plain(LMN__KIND_BOOL);
    struct lmn__term *pair[2] = { arg[0], arg[1] }, *part[3];
    enum lmn_status st = lmn__bind_unify(binder, place, "compare", pair, 2);

    (void)choice;
    (void)count;
    if (st == LMN_OK && lmn__type_form(&pair[0]->type) == LMN__FORM_SLOT)
        return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED, "comparing lists or structs");
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, lmn__compare_kernel, &condition, pair, 2, &part[0]);
    if (st == LMN_OK)
        st = lmn__bind_constant(binder, place, &arg[0]->type, NULL, &part[1]);
    part[2] = arg[0];
    if (st == LMN_OK)
        st = lmn__bind_term(binder, LMN__OP_CASE, place, part, 3, term_out);
    if (st == LMN_OK)
        (*term_out)->type = arg[0]->type;
    return st;
}

/* nvl2(x, a, b) is a CASE: a where x is not null, b otherwise. */
static enum lmn_status bind_nvl2(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    const struct lmn__type condition = lmn__type_plain(LMN__KIND_BOOL);
    struct lmn__term *part[3] = { NULL, arg[1], arg[2] };
    enum lmn_status st = lmn__bind_unify(binder, place, "choose between", &part[1], 2);

    (void)choice;
    (void)count;
    if (st == LMN_OK && lmn__type_form(&part[1]->type) == LMN__FORM_SLOT)
        return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED,
                              "a choice between lists or structs");
    if (st == LMN_OK)
        st = lmn__list_settle(binder, &arg[0]);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, lmn__logic_is_null, &condition, arg, 1, &part[0]);
    if (st != LMN_OK)
        return st;
    part[0]->own_nulls = true;
    part[0]->negated = true;
    st = lmn__bind_fold(binder, &part[0]);
    if (st == LMN_OK)
        st = lmn__bind_term(binder, LMN__OP_CASE, place, part, 3, term_out);
    if (st == LMN_OK)
        (*term_out)->type = part[1]->type;
    return st;
}

const struct lmn__function lmn__choice_functions[] = {
    LMN__BOUND_FUNCTION("coalesce", 1, LMN__ARGUMENTS_MAX, bind_coalesce, 0),
    LMN__BOUND_FUNCTION("ifnull", 2, 2, bind_coalesce, 0),
    LMN__BOUND_FUNCTION("nvl", 2, 2, bind_coalesce, 0),
    LMN__BOUND_FUNCTION("nullif", 2, 2, bind_nullif, 0),
    LMN__BOUND_FUNCTION("greatest", 1, LMN__ARGUMENTS_MAX, bind_extreme, 1),
    LMN__BOUND_FUNCTION("least", 1, LMN__ARGUMENTS_MAX, bind_extreme, 0),
    LMN__BOUND_FUNCTION("nvl2", 3, 3, bind_nvl2, 0),
    { 0 },
};
