/* SPDX-License-Identifier: Apache-2.0 */
#include "table/row_list.h"

#include "base/math.h"

enum { CAP_FIRST = 16 };

void lmn__row_list_deinit(struct lmn__row_list *list)
{
    lmn__free(list->env, list->range);
    *list = (struct lmn__row_list){ .env = list->env };
}

enum lmn_status lmn__row_list_add(struct lmn__row_list *list, uint64_t first, uint64_t count,
                                  struct lmn_error *err)
{
    struct lmn__row_range *last = list->count != 0 ? &list->range[list->count - 1] : NULL;

    if (count == 0)
        return LMN_OK;
    list->row_count += count;
    if (last != NULL && last->first + last->count == first) {
        last->count += count;
        return LMN_OK;
    }
    if (list->count == list->cap) {
        uint64_t cap = list->cap != 0 ? list->cap * 2 : CAP_FIRST;
        struct lmn__row_range *range = lmn__realloc(list->env, list->range, cap * sizeof *range);

        if (range == NULL)
            return lmn__no_memory(err, "ranges of rows", cap * sizeof *range);
        list->range = range;
        list->cap = cap;
    }
    list->range[list->count++] = (struct lmn__row_range){ first, count };
    return LMN_OK;
}

enum lmn_status lmn__row_list_add_live(struct lmn__row_list *list,
                                       const struct lmn__deletion *deletion, uint64_t first,
                                       uint64_t count, struct lmn_error *err)
{
    uint64_t at = first, end = first + count;
    enum lmn_status st = LMN_OK;

    if (deletion->bits == NULL)
        return lmn__row_list_add(list, first, count, err);
    while (st == LMN_OK && at < end) {
        uint64_t run = lmn__bits_run(deletion->bits, at, end, false);

        st = lmn__row_list_add(list, at, run, err);
        at += run;
        at += lmn__bits_run(deletion->bits, at, end, true);
    }
    return st;
}

/* Rows from `first` on whose bits are set. */
static enum lmn_status add_word(struct lmn__row_list *list, uint64_t first, uint64_t word,
                                struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && word != 0) {
        uint32_t at = (uint32_t)__builtin_ctzll(word);
        uint64_t rest = ~(word >> at);
        uint32_t run = rest != 0 ? (uint32_t)__builtin_ctzll(rest) : 64;

        st = lmn__row_list_add(list, first + at, run, err);
        word = at + run < 64 ? word >> (at + run) << (at + run) : 0;
    }
    return st;
}

enum lmn_status lmn__row_list_add_chosen(struct lmn__row_list *list,
                                         const struct lmn__row_list *from, const uint8_t *bits,
                                         struct lmn_error *err)
{
    uint64_t bit = 0, count;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; i < from->count; i++) {
        uint64_t start = bit, end = bit + from->range[i].count;

        for (; st == LMN_OK && bit < end; bit += count) {
            uint64_t word = lmn__bits_next(bits, bit, end, &count);

            st = add_word(list, from->range[i].first + (bit - start), word, err);
        }
    }
    return st;
}
