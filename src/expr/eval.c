/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/dictionaries.h"
#include "arrow/view.h"
#include "expr/choice.h"
#include "expr/internal.h"
#include "expr/load.h"
#include "expr/logic.h"
#include "expr/result.h"

static enum lmn_status eval_column(struct lmn__frame *frame, const struct lmn__term *term,
                                   struct lmn__vector *out)
{
    const struct ArrowSchema *schema = &frame->expr->schema;
    const struct ArrowArray *array = frame->batch;
    const uint8_t *validity = NULL, *bits;
    uint64_t slot = frame->first;
    enum lmn_status st;

    for (uint32_t i = 0; i < term->index_count; i++) {
        if (lmn__view_validity(array) != NULL) {
            st = lmn__load_bits(frame, array->buffers[0], (uint64_t)array->offset + slot,
                                frame->count, &bits);
            if (st == LMN_OK)
                st = lmn__frame_and(frame, &validity, bits, frame->count);
            if (st != LMN_OK)
                return st;
        }
        slot += (uint64_t)array->offset;
        schema = schema->children[term->index[i]];
        array = array->children[term->index[i]];
    }
    st = lmn__load_range(frame, schema, array, slot, frame->count, out);
    return st == LMN_OK ? lmn__frame_and(frame, &out->validity, validity, frame->count) : st;
}

/* Rows where no argument is null. */
static enum lmn_status join_nulls(struct lmn__frame *frame, const struct lmn__vector *arg,
                                  uint32_t count, uint32_t rows, struct lmn__vector *out)
{
    static const uint8_t none[LMN__RUN_ROWS / 8];
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        if (!arg[i].constant)
            st = lmn__frame_and(frame, &out->validity, arg[i].validity, rows);
        else if (lmn__vector_is_null(&arg[i], 0))
            out->validity = none;
        if (out->validity == none)
            break;
    }
    return st;
}

static enum lmn_status eval_call(struct lmn__frame *frame, const struct lmn__term *term,
                                 struct lmn__vector *out)
{
    struct lmn__vector *arg;
    bool constant = !term->volatile_result;
    uint32_t rows;
    enum lmn_status st = lmn__slate_take(frame->slate, term->child_count * sizeof *arg, &arg,
                                         frame->err);

    for (uint32_t i = 0; st == LMN_OK && i < term->child_count; i++) {
        st = lmn__term_eval(frame, term->child[i], &arg[i]);
        constant = constant && arg[i].constant;
    }
    if (st != LMN_OK)
        return st;
    rows = constant ? 1 : frame->count;
    out->constant = constant;
    if (!term->own_nulls)
        st = join_nulls(frame, arg, term->child_count, rows, out);
    return st == LMN_OK ? term->kernel(frame, term, arg, rows, out) : st;
}

enum lmn_status lmn__term_eval(struct lmn__frame *frame, const struct lmn__term *term,
                               struct lmn__vector *out)
{
    *out = (struct lmn__vector){ 0 };
    switch (term->op) {
    case LMN__OP_CONSTANT:
        *out = term->constant;
        return LMN_OK;
    case LMN__OP_COLUMN:
        return eval_column(frame, term, out);
    case LMN__OP_AND:
    case LMN__OP_OR:
        return lmn__logic_chain(frame, term, out);
    case LMN__OP_CASE:
    case LMN__OP_COALESCE:
        return lmn__choice_eval(frame, term, out);
    default:
        return eval_call(frame, term, out);
    }
}

typedef enum lmn_status (*run_fn)(struct lmn__frame *frame, const struct lmn__vector *vector,
                                  void *context);

/* Evaluate a batch run by run. */
static enum lmn_status each_run(const struct lmn__expr *expr, const struct ArrowArray *batch,
                                run_fn run, void *context, struct lmn_error *err)
{
    struct lmn__slate slate;
    struct lmn__frame frame = {
        .expr = expr, .env = expr->env, .slate = &slate, .batch = batch, .err = err
    };
    struct lmn__vector vector;
    enum lmn_status st = LMN_OK;

    if (expr->root == NULL)
        return lmn_fail(err, LMN_E_INVALID, "the expression is not bound to a type");
    if (batch->n_children != expr->schema.n_children)
        return lmn_fail(err, LMN_E_INVALID, "a batch of %lld columns; the expression expects %lld",
                        (long long)batch->n_children, (long long)expr->schema.n_children);
    lmn__slate_init(&slate, expr->env->pool);
    while (st == LMN_OK && frame.first < (uint64_t)batch->length) {
        struct lmn__slate_mark mark = lmn__slate_mark(&slate);
        uint64_t left = (uint64_t)batch->length - frame.first;

        frame.count = left < LMN__RUN_ROWS ? (uint32_t)left : LMN__RUN_ROWS;
        st = lmn__term_eval(&frame, expr->root, &vector);
        if (st == LMN_OK)
            st = run(&frame, &vector, context);
        frame.first += frame.count;
        lmn__slate_wipe(&slate, mark);
    }
    lmn__slate_deinit(&slate);
    return st;
}

static enum lmn_status append_run(struct lmn__frame *frame, const struct lmn__vector *vector,
                                  void *context)
{
    return lmn__result_append(frame, &frame->expr->root->type, vector, context);
}

/* Plain values become those of a dictionary. */
static enum lmn_status encode(const struct lmn__expr *expr, struct ArrowArray *array,
                              struct lmn_error *err)
{
    struct ArrowArray plain = *array;
    enum lmn_status st = lmn__dictionary_make(expr->env, expr->encoded, &plain, array, err);

    plain.release(&plain);
    return st;
}

enum lmn_status lmn__expr_eval(const struct lmn__expr *expr, const struct ArrowArray *batch,
                               struct ArrowArray *array_out, struct lmn_error *err)
{
    struct lmn__builder builder;
    enum lmn_status st;

    *array_out = (struct ArrowArray){ 0 };
    if (expr->root == NULL)
        return lmn_fail(err, LMN_E_INVALID, "the expression is not bound to a type");
    st = lmn__builder_init(&builder, expr->env, expr->layout, err);
    if (st != LMN_OK)
        return st;
    st = lmn__result_reserve(&builder, (uint64_t)batch->length, err);
    if (st == LMN_OK)
        st = each_run(expr, batch, append_run, &builder, err);
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, array_out, err);
    lmn__builder_deinit(&builder);
    if (st == LMN_OK && expr->encoded != NULL)
        st = encode(expr, array_out, err);
    return st;
}

struct selection {
    uint8_t *bitmap;
    uint64_t count;
};

static enum lmn_status select_run(struct lmn__frame *frame, const struct lmn__vector *vector,
                                  void *context)
{
    struct selection *selection = context;
    uint64_t bytes = lmn__bits_bytes(frame->count);
    uint8_t *bits = selection->bitmap + frame->first / 8;
    const uint8_t *values = vector->values, *validity = vector->validity;

    if (vector->constant)
        memset(bits, !lmn__vector_is_null(vector, 0) && (values[0] & 1) ? 0xff : 0, bytes);
    else if (validity == NULL)
        memcpy(bits, values, bytes);
    else
        for (uint64_t i = 0; i < bytes; i++)
            bits[i] = values[i] & validity[i];
    if (frame->count % 8 != 0)
        bits[bytes - 1] &= (uint8_t)((1u << frame->count % 8) - 1);
    selection->count += lmn__bits_count(bits, 0, frame->count);
    return LMN_OK;
}

enum lmn_status lmn__expr_select(const struct lmn__expr *expr, const struct ArrowArray *batch,
                                 uint8_t *bitmap_out, uint64_t *count_out, struct lmn_error *err)
{
    struct selection selection = { .bitmap = bitmap_out };
    enum lmn_status st;

    *count_out = 0;
    if (expr->root != NULL && expr->root->type.kind != LMN__KIND_BOOL)
        return lmn_fail(err, LMN_E_INVALID, "the expression is not a condition");
    st = each_run(expr, batch, select_run, &selection, err);
    *count_out = selection.count;
    return st;
}
