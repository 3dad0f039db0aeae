/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each part of a condition: may it be true, false or null for some row? What statistics do not
 * rule out may be. Only comparisons of a plain column with constants are looked at; all else may be
 * anything.
 */
#include "expr/compare.h"
#include "expr/in_set.h"
#include "expr/internal.h"
#include "expr/like.h"
#include "expr/load.h"
#include "expr/logic.h"
#include "expr/wide.h"

struct outcome {
    bool yes, no, unknown;
};

struct pruner {
    uint64_t row_count;
    lmn__column_stats_fn stats;
    void *context;
};

/* A bound in the form of its type. */
union bound {
    int64_t number;
    double real;
    struct lmn__wide wide;
    struct lmn__span span;
    uint8_t bytes[32];
};

/* What is known of a column: bounds are NULL where they are not known. */
struct range {
    const void *min, *max;
    union bound min_bound, max_bound;
    bool may_be_null, may_be_value;
};

static const struct outcome anything = { true, true, true };

/* Bytes of a bound into the form values are compared in; false when they are no value. */
static bool load_bound(const struct lmn__type *type, const void *data, uint32_t bytes,
                       union bound *out)
{
    enum lmn__form form = lmn__type_form(type);
    uint16_t half;
    float single;

    memset(out, 0, sizeof *out);
    switch (form) {
    case LMN__FORM_SPAN:
        out->span = (struct lmn__span){ data, bytes };
        return true;
    case LMN__FORM_WIDE:
        if (bytes != (uint32_t)type->width)
            return false;
        out->wide = lmn__wide_load(data, bytes);
        return true;
    case LMN__FORM_BITS:
        if (bytes != 1)
            return false;
        out->bytes[0] = *(const uint8_t *)data != 0;
        return true;
    default:
        if (type->kind == LMN__KIND_F16 && bytes == 2) {
            memcpy(&half, data, 2);
            single = lmn__half_to_float(half);
            memcpy(out, &single, sizeof single);
            return true;
        }
        if (lmn__form_bytes(form) != bytes || form == LMN__FORM_SLOT || form == LMN__FORM_NULL)
            return false;
        memcpy(out, data, bytes);
        return true;
    }
}

static bool range_of(const struct pruner *pruner, const struct lmn__term *column,
                     struct range *range)
{
    struct lmn__column_stats stats = { 0 };

    *range = (struct range){ .may_be_null = true, .may_be_value = true };
    if (column->op != LMN__OP_COLUMN || !pruner->stats(pruner->context, column->path, &stats))
        return false;
    if (stats.has_null_count) {
        range->may_be_null = stats.null_count != 0;
        range->may_be_value = stats.null_count < pruner->row_count;
    }
    if (stats.has_min && load_bound(&column->type, stats.min, stats.min_bytes, &range->min_bound))
        range->min = &range->min_bound;
    if (stats.has_max && load_bound(&column->type, stats.max, stats.max_bytes, &range->max_bound))
        range->max = &range->max_bound;
    return true;
}

static enum lmn__compare mirrored(enum lmn__compare compare)
{
    switch (compare) {
    case LMN__COMPARE_LT:
        return LMN__COMPARE_GT;
    case LMN__COMPARE_LE:
        return LMN__COMPARE_GE;
    case LMN__COMPARE_GT:
        return LMN__COMPARE_LT;
    case LMN__COMPARE_GE:
        return LMN__COMPARE_LE;
    default:
        return compare;
    }
}

/* May a value of the range be less than, equal to, greater than `value`? */
static void place(enum lmn__form form, const struct range *range, const void *value, bool *less,
                  bool *equal, bool *greater)
{
    int from_min = range->min != NULL ? lmn__compare_values(form, range->min, value) : -1;
    int from_max = range->max != NULL ? lmn__compare_values(form, range->max, value) : 1;

    *less = from_min < 0;
    *greater = from_max > 0;
    *equal = from_min <= 0 && from_max >= 0;
}

static struct outcome judge_compare(const struct pruner *pruner, const struct lmn__term *term)
{
    bool swapped = term->child[0]->op == LMN__OP_CONSTANT;
    const struct lmn__term *column = term->child[swapped ? 1 : 0];
    const struct lmn__term *value = term->child[swapped ? 0 : 1];
    enum lmn__compare compare = swapped ? mirrored(term->compare) : term->compare;
    struct outcome outcome = { false, false, true };
    bool less, equal, greater;
    struct range range;

    if (value->op != LMN__OP_CONSTANT)
        return anything;
    if (lmn__term_is_null(value))
        return outcome;
    if (!range_of(pruner, column, &range))
        return anything;
    outcome.unknown = range.may_be_null;
    if (!range.may_be_value)
        return outcome;
    place(lmn__type_form(&column->type), &range, value->constant.values, &less, &equal, &greater);
    switch (compare) {
    case LMN__COMPARE_EQ:
    case LMN__COMPARE_NE:
        outcome.yes = equal;
        outcome.no = less || greater;
        break;
    case LMN__COMPARE_LT:
    case LMN__COMPARE_GE:
        outcome.yes = less;
        outcome.no = equal || greater;
        break;
    default:
        outcome.yes = greater;
        outcome.no = equal || less;
    }
    if (compare == LMN__COMPARE_NE || compare == LMN__COMPARE_GE || compare == LMN__COMPARE_LE)
        return (struct outcome){ outcome.no, outcome.yes, outcome.unknown };
    return outcome;
}

static struct outcome judge_in(const struct pruner *pruner, const struct lmn__term *term)
{
    enum lmn__form form = lmn__type_form(&term->child[0]->type);
    struct outcome outcome = { false, true, true };
    struct range range;
    bool has_null = false, is_constant = true, one;

    if (!range_of(pruner, term->child[0], &range) || range.min == NULL || range.max == NULL)
        return anything;
    one = lmn__compare_values(form, range.min, range.max) == 0;
    outcome.yes = range.may_be_value &&
                  lmn__in_set_within(term, range.min, range.max, &has_null, &is_constant);
    if (!is_constant)
        return anything;
    outcome.no = range.may_be_value && !(one && outcome.yes);
    outcome.unknown = range.may_be_null || has_null;
    if (term->negated)
        return (struct outcome){ outcome.no, outcome.yes, outcome.unknown };
    return outcome;
}

/* Strings that start with `prefix` lie between it and all longer ones with that start. */
static struct outcome judge_prefix(const struct pruner *pruner, const struct lmn__term *term,
                                   struct lmn__span prefix)
{
    struct outcome outcome = anything;
    struct range range;

    if (!range_of(pruner, term->child[0], &range))
        return anything;
    if (range.max != NULL && lmn__compare_values(LMN__FORM_SPAN, range.max, &prefix) < 0)
        outcome.yes = false;
    if (range.min != NULL) {
        struct lmn__span start = range.min_bound.span;

        start.len = start.len < prefix.len ? start.len : prefix.len;
        if (lmn__compare_values(LMN__FORM_SPAN, &start, &prefix) > 0)
            outcome.yes = false;
    }
    outcome.yes = outcome.yes && range.may_be_value;
    outcome.no = range.may_be_value;
    outcome.unknown = range.may_be_null;
    if (term->negated)
        return (struct outcome){ outcome.no, outcome.yes, outcome.unknown };
    return outcome;
}

static struct outcome judge(const struct pruner *pruner, const struct lmn__term *term);

static struct outcome judge_chain(const struct pruner *pruner, const struct lmn__term *term)
{
    bool is_or = term->op == LMN__OP_OR;
    struct outcome outcome = { !is_or, is_or, false };

    for (uint32_t i = 0; i < term->child_count; i++) {
        struct outcome child = judge(pruner, term->child[i]);

        outcome.yes = is_or ? outcome.yes || child.yes : outcome.yes && child.yes;
        outcome.no = is_or ? outcome.no && child.no : outcome.no || child.no;
        outcome.unknown = outcome.unknown || child.unknown;
    }
    return outcome;
}

/* IS [NOT] NULL, TRUE, FALSE: never null themselves. */
static struct outcome judge_is(const struct pruner *pruner, const struct lmn__term *term)
{
    const struct lmn__term *child = term->child[0];
    struct outcome inner = anything, outcome;
    struct range range;

    if (child->type.kind == LMN__KIND_BOOL) {
        inner = judge(pruner, child);
    } else if (range_of(pruner, child, &range)) {
        inner.unknown = range.may_be_null;
        inner.yes = inner.no = range.may_be_value;
    }
    if (term->kernel == lmn__logic_is_null)
        outcome = (struct outcome){ inner.unknown, inner.yes || inner.no, false };
    else if (term->choice)
        outcome = (struct outcome){ inner.yes, inner.no || inner.unknown, false };
    else
        outcome = (struct outcome){ inner.no, inner.yes || inner.unknown, false };
    if (term->negated)
        return (struct outcome){ outcome.no, outcome.yes, false };
    return outcome;
}

/* A column of booleans, or a constant. */
static struct outcome judge_value(const struct pruner *pruner, const struct lmn__term *term)
{
    struct range range;
    bool value;

    if (term->op == LMN__OP_CONSTANT) {
        if (lmn__term_is_null(term))
            return (struct outcome){ false, false, true };
        value = *(const uint8_t *)term->constant.values & 1;
        return (struct outcome){ value, !value, false };
    }
    if (!range_of(pruner, term, &range))
        return anything;
    return (struct outcome){
        .yes = range.may_be_value && (range.max == NULL || range.max_bound.bytes[0] != 0),
        .no = range.may_be_value && (range.min == NULL || range.min_bound.bytes[0] == 0),
        .unknown = range.may_be_null,
    };
}

static struct outcome judge(const struct pruner *pruner, const struct lmn__term *term)
{
    struct lmn__span prefix;
    struct outcome child;

    switch (term->op) {
    case LMN__OP_AND:
    case LMN__OP_OR:
        return judge_chain(pruner, term);
    case LMN__OP_CONSTANT:
    case LMN__OP_COLUMN:
        return judge_value(pruner, term);
    case LMN__OP_CALL:
        break;
    default:
        return anything;
    }
    if (term->kernel == lmn__compare_kernel)
        return judge_compare(pruner, term);
    if (term->kernel == lmn__in_kernel)
        return judge_in(pruner, term);
    if (term->kernel == lmn__logic_is_null || term->kernel == lmn__logic_is)
        return judge_is(pruner, term);
    if (lmn__like_prefix(term, &prefix))
        return judge_prefix(pruner, term, prefix);
    if (term->kernel != lmn__logic_not)
        return anything;
    child = judge(pruner, term->child[0]);
    return (struct outcome){ child.no, child.yes, child.unknown };
}

enum lmn__prune lmn__expr_prune(const struct lmn__expr *expr, uint64_t row_count,
                                lmn__column_stats_fn stats, void *context)
{
    const struct pruner pruner = { .row_count = row_count, .stats = stats, .context = context };
    struct outcome outcome;

    if (row_count == 0)
        return LMN__PRUNE_NONE;
    if (expr->root == NULL || expr->root->type.kind != LMN__KIND_BOOL)
        return LMN__PRUNE_SOME;
    outcome = judge(&pruner, expr->root);
    if (!outcome.yes)
        return LMN__PRUNE_NONE;
    return outcome.no || outcome.unknown ? LMN__PRUNE_SOME : LMN__PRUNE_ALL;
}
