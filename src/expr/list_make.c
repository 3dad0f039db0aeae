/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For each row the items that stay are chosen from up to two lists, first those of the first list,
 * and copied into the list of the result. Which items are equal comes from sorting them all, so
 * that long lists take no longer than their sorting.
 */
#include "expr/list_make.h"

#include "expr/list.h"
#include "expr/list_maker.h"
#include "expr/list_order.h"
#include "expr/list_value.h"
#include "expr/load.h"
#include "expr/result.h"
#include "expr/text_rows.h"

/* What a call was bound to. */
struct plan {
    struct lmn__list_maker *maker;
    uint32_t list_count;
    bool descending, nulls_last;
};

/* The items of one row. */
struct pick {
    struct lmn__list_order order;
    uint64_t from[2]; /* where its lists begin */
    uint64_t *slot[2];
    uint32_t kept[2];
};

static void keep(struct pick *pick, uint32_t list, uint32_t item)
{
    pick->slot[list][pick->kept[list]++] = pick->from[list] + item;
}

static void keep_range(struct pick *pick, uint32_t list, uint32_t from, uint32_t to)
{
    for (; from < to; from++)
        keep(pick, list, from);
}

/* The place that a number of array_slice() means; from the end for negative ones. */
static int64_t place_of(int64_t number, uint32_t count)
{
    return number >= 0 ? number : number < -(int64_t)count ? 0 : count + number + 1;
}

/* Every arg[3]rd item from arg[1] to arg[2]; below zero backwards, from an item that there is. */
static enum lmn_status keep_slice(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t row, struct pick *pick)
{
    int64_t count = pick->order.list[0].count;
    int64_t from = place_of(lmn__vector_i64(&arg[1], row), (uint32_t)count);
    int64_t to = place_of(lmn__vector_i64(&arg[2], row), (uint32_t)count);
    int64_t step = term->child_count > 3 ? lmn__vector_i64(&arg[3], row) : 1;

    if (step == 0)
        return lmn__frame_fail(frame, term, row, "array_slice() takes no step of 0");
    if (step > 0) {
        from = from < 1 ? 1 : from;
        to = to > count ? count : to;
    } else {
        to = from > count ? from + 1 : to < 1 ? 1 : to;
    }
    /* A step beyond the list ends it: no sum of the two overflows. */
    step = step > count ? count + 1 : step < -count ? -count - 1 : step;
    for (; step > 0 ? from <= to : from >= to; from += step)
        keep(pick, 0, (uint32_t)from - 1);
    return LMN_OK;
}

/* Items by what they are equal to. */
static void keep_classes(struct pick *pick, int32_t choice)
{
    const struct lmn__list_order *order = &pick->order;
    uint32_t count = order->list[0].count;
    bool removed = false;

    for (uint32_t i = 0; i < count; i++) {
        bool lead = order->first[i] == i, shared = order->shared[order->first[i]];
        bool stays = choice == LMN__LIST_INTERSECT    ? lead && shared
                     : choice == LMN__LIST_EXCEPT     ? lead && !shared
                     : choice == LMN__LIST_REMOVE_ALL ? !shared
                     : choice == LMN__LIST_REMOVE     ? !shared || removed
                                                      : lead;

        removed = removed || shared;
        if (stays)
            keep(pick, 0, i);
    }
    for (uint32_t i = 0; choice == LMN__LIST_UNION && i < order->list[1].count; i++) {
        if (order->first[count + i] == count + i)
            keep(pick, 1, i);
    }
}

static enum lmn_status choose(struct lmn__frame *frame, const struct lmn__term *term,
                              const struct lmn__vector *arg, uint32_t row, struct pick *pick)
{
    uint32_t count = pick->order.list[0].count;
    enum lmn_status st;

    switch (term->choice) {
    case LMN__LIST_CONCAT:
        keep_range(pick, 0, 0, count);
        keep_range(pick, 1, 0, pick->order.list[1].count);
        return LMN_OK;
    case LMN__LIST_REVERSE:
        for (uint32_t i = count; i-- > 0;)
            keep(pick, 0, i);
        return LMN_OK;
    case LMN__LIST_SLICE:
        return keep_slice(frame, term, arg, row, pick);
    case LMN__LIST_POP_FRONT:
        keep_range(pick, 0, 1, count);
        return LMN_OK;
    case LMN__LIST_POP_BACK:
        keep_range(pick, 0, 0, count != 0 ? count - 1 : 0);
        return LMN_OK;
    default:
        break;
    }
    st = lmn__list_order_sort(frame, &pick->order);
    for (uint32_t i = 0; st == LMN_OK && term->choice == LMN__LIST_SORT && i < count; i++)
        keep(pick, 0, pick->order.number[i]);
    if (st != LMN_OK || term->choice == LMN__LIST_SORT)
        return st;
    st = lmn__list_order_classify(frame, &pick->order);
    if (st == LMN_OK && term->choice < LMN__LIST_HAS_ANY)
        keep_classes(pick, term->choice);
    return st;
}

/* The lists of a row; a null one is empty. */
static enum lmn_status load_lists(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t row, struct pick *pick)
{
    const struct plan *plan = term->data;
    enum lmn_status st = LMN_OK;

    *pick = (struct pick){ .order = { .form = lmn__type_form(&plan->maker->item),
                                      .descending = plan->descending,
                                      .nulls_last = plan->nulls_last } };
    for (uint32_t i = 0; st == LMN_OK && i < plan->list_count; i++) {
        struct lmn__list_items *list = &pick->order.list[i];
        const struct ArrowSchema *schema = term->child[i]->type.schema;
        uint64_t to;

        if (lmn__vector_is_null(&arg[i], row))
            continue;
        lmn__load_list(schema, arg[i].array,
                       ((const uint64_t *)arg[i].values)[lmn__vector_at(&arg[i], row)],
                       &pick->from[i], &to);
        if (to - pick->from[i] > INT32_MAX / 2)
            return lmn__frame_fail(frame, term, row, "%s() takes no list of %llu items", term->name,
                                   (unsigned long long)(to - pick->from[i]));
        list->count = (uint32_t)(to - pick->from[i]);
        st = lmn__load_range(frame, schema->children[0], arg[i].array->children[0], pick->from[i],
                             list->count, &list->value);
        if (st == LMN_OK)
            st = lmn__slate_take(frame->slate, list->count * sizeof(uint64_t), &pick->slot[i],
                                 frame->err);
    }
    return st;
}

static enum lmn_status append_kept(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t row,
                                   const struct pick *pick, struct lmn__builder *builder)
{
    const struct plan *plan = term->data;
    enum lmn_status st = lmn__list_open(frame, term, builder, row, builder->child[0].length,
                                        (uint64_t)pick->kept[0] + pick->kept[1]);

    for (uint32_t i = 0; st == LMN_OK && i < plan->list_count; i++) {
        struct lmn__frame inner = *frame;
        struct lmn__vector items;

        if (pick->kept[i] == 0)
            continue;
        inner.count = pick->kept[i];
        inner.active = NULL;
        st = lmn__load_slots(&inner, term->child[i]->type.schema->children[0],
                             arg[i].array->children[0], pick->slot[i], NULL, inner.count, &items);
        if (st == LMN_OK)
            st = lmn__result_append(&inner, &plan->maker->item, &items, &builder->child[0]);
    }
    return st;
}

/* Rows that are null or that nobody asks for are null; of two lists one may be. */
static enum lmn_status mark_rows(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t rows,
                                 struct lmn__vector *out, uint8_t **validity_out)
{
    enum lmn_status st;

    if (term->own_nulls)
        out->validity = NULL;
    st = lmn__frame_own_validity(frame, rows, out, validity_out);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        bool asked = frame->active == NULL || out->constant || lmn__bit_get(frame->active, i);
        bool none = term->own_nulls && lmn__vector_is_null(&arg[0], i) &&
                    lmn__vector_is_null(&arg[1], i);

        if (!asked || none)
            lmn__bit_clear(*validity_out, i);
    }
    return st;
}

static enum lmn_status make_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    const struct plan *plan = term->data;
    struct lmn__builder builder = { 0 };
    struct pick pick;
    uint8_t *validity;
    enum lmn_status st = lmn__builder_init(&builder, frame->env, plan->maker->layout, frame->err);

    if (st == LMN_OK)
        st = mark_rows(frame, term, arg, rows, out, &validity);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        struct lmn__slate_mark mark = lmn__slate_mark(frame->slate);

        if (!lmn__bit_get(validity, i)) {
            st = lmn__list_add_null(frame, &builder);
            continue;
        }
        st = load_lists(frame, term, arg, i, &pick);
        if (st == LMN_OK)
            st = choose(frame, term, arg, i, &pick);
        if (st == LMN_OK)
            st = append_kept(frame, term, arg, i, &pick, &builder);
        lmn__slate_wipe(frame->slate, mark);
    }
    if (st == LMN_OK)
        st = lmn__list_finish(frame, &builder, rows, out);
    lmn__builder_deinit(&builder);
    return st;
}

static enum lmn_status has_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t rows,
                                  struct lmn__vector *out)
{
    bool all = term->choice == LMN__LIST_HAS_ALL;
    struct pick pick;
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    out->values = bits;
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        struct lmn__slate_mark mark = lmn__slate_mark(frame->slate);
        bool holds = all;

        lmn__bit_put(bits, i, false);
        if (out->validity != NULL && !lmn__bit_get(out->validity, i))
            continue;
        st = load_lists(frame, term, arg, i, &pick);
        if (st == LMN_OK)
            st = choose(frame, term, arg, i, &pick);
        for (uint32_t k = 0; st == LMN_OK && k < pick.order.list[1].count && holds == all; k++)
            holds = pick.order.first[pick.order.list[0].count + k] < pick.order.list[0].count;
        lmn__bit_put(bits, i, holds);
        lmn__slate_wipe(frame->slate, mark);
    }
    return st;
}

/* Make a type of numbers one that holds those of the other, too. */
static void widen(struct lmn__type *item, const struct lmn__type *other)
{
    struct lmn__type both;

    if (lmn__type_is_number(item) && lmn__type_is_number(other) &&
        lmn__bind_common(item, other, &both))
        *item = both;
}

/* The same for the items of a list; constants that are written out take the type they find. */
static enum lmn_status widen_by(struct lmn__binder *binder, const struct lmn__term *list,
                                struct lmn__type *item)
{
    struct lmn__type own;
    enum lmn_status st;

    if (lmn__list_is_literal(list)) {
        for (uint32_t i = 0; i < list->child_count; i++) {
            if (list->child[i]->op != LMN__OP_CONSTANT)
                widen(item, &list->child[i]->type);
        }
        return LMN_OK;
    }
    if (list->type.kind != LMN__KIND_LIST)
        return LMN_OK;
    st = lmn__type_from_schema(list->type.schema->children[0], &own, binder->err);
    if (st == LMN_OK)
        widen(item, &own);
    return st;
}

/* Give all lists items of one type: that of the first that is not written out, or a wider one. */
static enum lmn_status unify_lists(struct lmn__binder *binder, struct lmn__term **list,
                                   uint32_t count, struct lmn__type *type, struct lmn__type *item)
{
    char text[LMN__TYPE_TEXT_BYTES];
    const struct lmn__term *leader = NULL;
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; i < count; i++) {
        const struct ArrowSchema *schema = list[i]->type.schema;

        if (list[i]->type.kind == LMN__KIND_NULL && i != 0)
            continue;
        if (list[i]->type.kind != LMN__KIND_LIST ||
            (schema != NULL && strcmp(schema->format, "+m") == 0))
            return lmn__bind_fail(binder, list[i]->place, LMN_E_INVALID,
                                  "expected a list, not a value of type %s",
                                  lmn__type_text(&list[i]->type, text));
        if (leader == NULL && !lmn__list_is_literal(list[i]))
            leader = list[i];
    }
    if (leader == NULL) {
        st = lmn__list_settle(binder, &list[0]);
        leader = list[0];
    }
    if (st == LMN_OK)
        st = lmn__type_from_schema(leader->type.schema->children[0], item, binder->err);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = widen_by(binder, list[i], item);
    if (st == LMN_OK)
        st = lmn__list_type_of(binder, item, type);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        struct lmn__type own;

        if (!lmn__list_is_literal(list[i]) && list[i]->type.kind == LMN__KIND_LIST) {
            st = lmn__type_from_schema(list[i]->type.schema->children[0], &own, binder->err);
            if (st != LMN_OK || lmn__type_same(&own, item))
                continue;
        }
        st = lmn__bind_convert(binder, &list[i], type, LMN__CONVERT_IMPLICIT);
    }
    return st;
}

/* Is the constant string `term` one of the two words? *second_out: the second. */
static bool is_one_of(const struct lmn__term *term, const char *first, const char *second,
                      bool *second_out)
{
    const struct lmn__span *text = term->constant.values;
    char word[16];

    if (term->op != LMN__OP_CONSTANT || term->type.kind != LMN__KIND_STRING ||
        lmn__term_is_null(term) || text->len >= sizeof word)
        return false;
    memcpy(word, text->data, text->len);
    word[text->len] = 0;
    *second_out = lmn__names_agree(word, second);
    return *second_out || lmn__names_agree(word, first);
}

/* What stands behind the lists: places of a slice, the order of a sort. */
static enum lmn_status bind_rest(struct lmn__binder *binder, int32_t choice, struct lmn__term **arg,
                                 uint32_t count, struct plan *plan)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    enum lmn_status st = LMN_OK;

    if (choice == LMN__LIST_SORT) {
        if ((count > 1 && !is_one_of(arg[1], "asc", "desc", &plan->descending)) ||
            (count > 2 && !is_one_of(arg[2], "nulls first", "nulls last", &plan->nulls_last)))
            return lmn__bind_fail(binder, arg[count - 1]->place, LMN_E_INVALID,
                                  "array_sort() takes 'ASC' or 'DESC', then 'NULLS FIRST' or "
                                  "'NULLS LAST'");
        return LMN_OK;
    }
    for (uint32_t i = 1; st == LMN_OK && choice == LMN__LIST_SLICE && i < count; i++) {
        if (!lmn__type_is_integer(&arg[i]->type) && arg[i]->type.kind != LMN__KIND_NULL)
            return lmn__bind_fail(binder, arg[i]->place, LMN_E_INVALID,
                                  "the number of an item is a whole number");
        st = lmn__bind_convert(binder, &arg[i], &whole, LMN__CONVERT_CAST);
    }
    return st;
}

static enum lmn_status bind_two(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                struct lmn__term **arg, uint32_t count, struct lmn__term **term_out)
{
    const struct lmn__type condition = lmn__type_plain(LMN__KIND_BOOL);
    struct plan *plan = lmn__arena_alloc(binder->arena, sizeof *plan);
    bool tests = choice >= LMN__LIST_HAS_ANY;
    bool single = choice != LMN__LIST_CONCAT && choice < LMN__LIST_UNION;
    struct lmn__type type, item;
    enum lmn_status st;

    if (plan == NULL)
        return lmn__bind_no_memory(binder);
    plan->list_count = single ? 1 : 2;
    st = unify_lists(binder, arg, plan->list_count, &type, &item);
    if (st == LMN_OK)
        st = lmn__list_maker_new(binder, place, &type, &plan->maker);
    if (st == LMN_OK)
        st = bind_rest(binder, choice, arg, count, plan);
    if (st == LMN_OK && choice >= LMN__LIST_SORT && lmn__type_form(&item) == LMN__FORM_SLOT)
        return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED, "comparing items of nested values");
    if (st == LMN_OK && choice == LMN__LIST_SORT)
        count = 1;
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, tests ? has_kernel : make_kernel,
                            tests ? &condition : &type, arg, count, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->choice = choice;
    (*term_out)->own_nulls = choice == LMN__LIST_CONCAT;
    (*term_out)->data = plan;
    return LMN_OK;
}

enum lmn_status lmn__bind_list_make(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                    struct lmn__term **arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    struct lmn__term *pair[2] = { arg[0], NULL };
    enum lmn_status st = LMN_OK;

    if (choice != LMN__LIST_CONCAT || count <= 2)
        return bind_two(binder, place, choice, arg, count, term_out);
    for (uint32_t i = 1; st == LMN_OK && i < count; i++) {
        pair[1] = arg[i];
        st = bind_two(binder, place, choice, pair, 2, term_out);
        if (st == LMN_OK)
            (*term_out)->name = "array_concat";
        pair[0] = *term_out;
    }
    return st;
}

enum lmn_status lmn__bind_list_make_item(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                         struct lmn__term **arg, uint32_t count,
                                         struct lmn__term **term_out)
{
    struct lmn__term *part[3] = { arg[0], NULL, arg[1] };
    enum lmn_status st = lmn__list_written(binder, arg[1]->place, &arg[1], 1, &part[1]);

    /* Without a value to look for there is no result: it is an argument once more. */
    count += choice != LMN__LIST_CONCAT;
    return st == LMN_OK ? bind_two(binder, place, choice, part, count, term_out) : st;
}

enum lmn_status lmn__bind_list_prepend(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                       struct lmn__term **arg, uint32_t count,
                                       struct lmn__term **term_out)
{
    struct lmn__term *pair[2] = { NULL, arg[1] };
    enum lmn_status st = lmn__list_written(binder, arg[0]->place, &arg[0], 1, &pair[0]);

    return st == LMN_OK ? bind_two(binder, place, choice, pair, count, term_out) : st;
}

enum lmn_status lmn__bind_list_extreme(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                       struct lmn__term **arg, uint32_t count,
                                       struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    const int64_t one = 1;
    struct lmn__term *pair[2];
    enum lmn_status st = bind_two(binder, place, LMN__LIST_SORT, arg, count, &pair[0]);

    if (st == LMN_OK)
        st = lmn__bind_constant(binder, place, &whole, &one, &pair[1]);
    if (st != LMN_OK)
        return st;
    pair[0]->name = choice != 0 ? "array_max" : "array_min";
    ((struct plan *)pair[0]->data)->descending = choice != 0;
    ((struct plan *)pair[0]->data)->nulls_last = true;
    return lmn__bind_list_item(binder, place, 0, pair, 2, term_out);
}
