/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/list_order.h"

#include "expr/compare.h"

/* The list of item `number`; *number becomes its row there. */
static const struct lmn__vector *list_of(const struct lmn__list_order *order, uint32_t *number)
{
    uint32_t before = order->list[0].count;

    if (*number < before)
        return &order->list[0].value;
    *number -= before;
    return &order->list[1].value;
}

static int compare(const struct lmn__list_order *order, uint32_t x, uint32_t y)
{
    const struct lmn__vector *a = list_of(order, &x), *b = list_of(order, &y);
    bool a_null = order->form == LMN__FORM_NULL || lmn__vector_is_null(a, x);
    bool b_null = order->form == LMN__FORM_NULL || lmn__vector_is_null(b, y);
    uint32_t width = lmn__form_bytes(order->form);
    uint8_t a_bit, b_bit;
    int result;

    if (a_null || b_null)
        return a_null == b_null ? 0 : a_null == order->nulls_last ? 1 : -1;
    if (order->form == LMN__FORM_BITS) {
        a_bit = lmn__bit_get(a->values, x);
        b_bit = lmn__bit_get(b->values, y);
        result = lmn__compare_values(order->form, &a_bit, &b_bit);
    } else {
        result = lmn__compare_values(order->form, (const uint8_t *)a->values + (size_t)x * width,
                                     (const uint8_t *)b->values + (size_t)y * width);
    }
    return order->descending ? -result : result;
}

/* Merge the sorted runs [from, middle) and [middle, to). */
static void merge(const struct lmn__list_order *order, const uint32_t *runs, uint32_t from,
                  uint32_t middle, uint32_t to, uint32_t *out)
{
    uint32_t left = from, right = middle;

    for (uint32_t at = from; at < to; at++) {
        bool take_left = right == to ||
                         (left < middle && compare(order, runs[left], runs[right]) <= 0);

        out[at] = take_left ? runs[left++] : runs[right++];
    }
}

enum lmn_status lmn__list_order_sort(struct lmn__frame *frame, struct lmn__list_order *order)
{
    uint32_t count = order->list[0].count + order->list[1].count, *other, *swap;
    enum lmn_status st = lmn__slate_take(frame->slate, count * sizeof(uint32_t), &order->number,
                                         frame->err);

    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, count * sizeof(uint32_t), &other, frame->err);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < count; i++)
        order->number[i] = i;
    for (uint32_t run = 1; run < count; run *= 2) {
        for (uint32_t from = 0; from < count; from += 2 * run) {
            uint32_t middle = count - from > run ? from + run : count;
            uint32_t to = count - from > 2 * run ? from + 2 * run : count;

            merge(order, order->number, from, middle, to, other);
        }
        swap = order->number;
        order->number = other;
        other = swap;
    }
    return LMN_OK;
}

enum lmn_status lmn__list_order_classify(struct lmn__frame *frame, struct lmn__list_order *order)
{
    uint32_t count = order->list[0].count + order->list[1].count, from = 0;
    enum lmn_status st = lmn__slate_take(frame->slate, count * sizeof(uint32_t), &order->first,
                                         frame->err);

    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, count, &order->shared, frame->err);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        if (compare(order, order->number[from], order->number[i]) != 0)
            from = i;
        order->first[order->number[i]] = order->number[from];
        /* The order is stable: the last of equal ones is the one to ask. */
        order->shared[order->number[from]] = order->number[i] >= order->list[0].count;
    }
    return st;
}
