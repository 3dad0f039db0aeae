/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/list.h"

#include "arrow/view.h"
#include "expr/cast.h"
#include "expr/compare.h"
#include "expr/list_make.h"
#include "expr/list_value.h"
#include "expr/load.h"
#include "expr/text_rows.h"

/* The list of row i: false when there is none to look into. */
static bool list_of_row(const struct lmn__term *term, const struct lmn__vector *arg,
                        const struct lmn__vector *out, uint32_t i, uint64_t *from, uint64_t *to)
{
    *from = *to = 0;
    if (out->validity != NULL && !lmn__bit_get(out->validity, i))
        return false;
    lmn__load_list(term->child[0]->type.schema, arg->array,
                   ((const uint64_t *)arg->values)[lmn__vector_at(arg, i)], from, to);
    return true;
}

static enum lmn_status item_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    const struct ArrowSchema *schema = term->child[0]->type.schema->children[0];
    const int64_t *index = arg[1].values;
    uint8_t *validity;
    uint64_t *slot, from, to;
    bool constant = out->constant;
    enum lmn_status st = lmn__frame_own_validity(frame, rows, out, &validity);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_SLOT, rows, &slot);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++) {
        int64_t at = index[lmn__vector_at(&arg[1], i)];
        bool there = list_of_row(term, arg, out, i, &from, &to);
        uint64_t count = to - from;

        slot[i] = 0;
        if (there && at > 0 && (uint64_t)at <= count)
            slot[i] = from + (uint64_t)at - 1;
        else if (there && at < 0 && (uint64_t)-(at + 1) < count)
            slot[i] = to - 1 - (uint64_t)-(at + 1);
        else
            lmn__bit_clear(validity, i);
    }
    st = lmn__load_slots(frame, schema, arg->array->children[0], slot, validity, rows, out);
    out->constant = constant;
    return st;
}

static enum lmn_status not_a_list(struct lmn__binder *binder, uint32_t place,
                                  const struct lmn__term *term)
{
    char text[LMN__TYPE_TEXT_BYTES];

    return lmn__bind_fail(binder, place, LMN_E_INVALID, "expected a list, not a value of type %s",
                          lmn__type_text(&term->type, text));
}

enum lmn_status lmn__bind_list_item(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                    struct lmn__term **arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    struct lmn__type type;
    enum lmn_status st = lmn__list_settle(binder, &arg[0]);

    (void)choice;
    if (st != LMN_OK)
        return st;
    if (arg[0]->type.kind != LMN__KIND_LIST)
        return not_a_list(binder, place, arg[0]);
    if (!lmn__type_is_integer(&arg[1]->type))
        return lmn__bind_fail(binder, arg[1]->place, LMN_E_INVALID,
                              "the number of an item is a whole number");
    st = lmn__bind_convert(binder, &arg[1], &whole, LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__type_from_schema(arg[0]->type.schema->children[0], &type, binder->err);
    return st == LMN_OK ? lmn__bind_call(binder, place, item_kernel, &type, arg, count, term_out)
                        : st;
}

enum lmn_status lmn__bind_list(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                               struct lmn__term **term_out)
{
    struct lmn__term *pair[2];
    enum lmn_status st;

    if (syntax->kind == LMN__SYNTAX_LIST)
        return lmn__list_literal(binder, syntax, term_out);
    st = lmn__bind_syntax(binder, syntax->child[0], &pair[0]);
    if (st == LMN_OK)
        st = lmn__bind_syntax(binder, syntax->child[1], &pair[1]);
    return st == LMN_OK ? lmn__bind_list_item(binder, syntax->place, 0, pair, 2, term_out) : st;
}

/* The field number `choice` of structs. */
static enum lmn_status field_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    const struct ArrowSchema *schema = term->child[0]->type.schema->children[term->choice];
    const uint64_t *from = arg->values;
    uint64_t *slot;
    bool constant = out->constant;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_SLOT, rows, &slot);

    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++)
        slot[i] = (uint64_t)arg->array->offset + from[i];
    st = lmn__load_slots(frame, schema, arg->array->children[term->choice], slot, out->validity,
                         rows, out);
    out->constant = constant;
    return st;
}

enum lmn_status lmn__bind_struct_field(struct lmn__binder *binder, uint32_t place,
                                       struct lmn__term *value, const char *name,
                                       struct lmn__term **term_out)
{
    char text[LMN__TYPE_TEXT_BYTES];
    struct lmn__type type;
    uint32_t index;
    enum lmn_status st;

    if (value->type.kind != LMN__KIND_STRUCT)
        return lmn__bind_fail(binder, place, LMN_E_INVALID,
                              "a value of type %s has no field \"%.64s\"",
                              lmn__type_text(&value->type, text), name);
    st = lmn__bind_field(binder, place, value->type.schema, name, &index);
    if (st == LMN_OK)
        st = lmn__type_from_schema(value->type.schema->children[index], &type, binder->err);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, field_kernel, &type, &value, 1, term_out);
    if (st == LMN_OK)
        (*term_out)->choice = (int32_t)index;
    return st;
}

enum lmn_status lmn__bind_list_field(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                     struct lmn__term **term_out)
{
    struct lmn__term *child;
    enum lmn_status st = lmn__bind_syntax(binder, syntax->child[0], &child);

    return st == LMN_OK
               ? lmn__bind_struct_field(binder, syntax->place, child, syntax->name, term_out)
               : st;
}

enum { HAS_ONE, HAS_ANY, HAS_ALL, POSITION };

/* The number of the first item that is `needle`, from 1; 0 when there is none. */
static enum lmn_status find_item(struct lmn__frame *frame, const struct lmn__type *type,
                                 const struct ArrowArray *items, uint64_t from, uint64_t to,
                                 const void *needle, int64_t *number_out)
{
    enum lmn__form form = lmn__type_form(type);
    uint32_t width = lmn__form_bytes(form);
    uint64_t start = from;
    struct lmn__vector vector;

    *number_out = 0;
    while (from < to && *number_out == 0) {
        uint32_t rows = to - from < LMN__RUN_ROWS ? (uint32_t)(to - from) : LMN__RUN_ROWS;
        struct lmn__slate_mark mark = lmn__slate_mark(frame->slate);
        enum lmn_status st = lmn__load_range(frame, type->schema, items, from, rows, &vector);

        if (st != LMN_OK)
            return st;
        for (uint32_t i = 0; i < rows && *number_out == 0; i++) {
            const uint8_t *value = (const uint8_t *)vector.values + (size_t)i * width;
            uint8_t bit = form == LMN__FORM_BITS && lmn__bit_get(vector.values, i);

            if (!lmn__vector_is_null(&vector, i) &&
                lmn__compare_values(form, form == LMN__FORM_BITS ? &bit : value, needle) == 0)
                *number_out = (int64_t)(from - start) + i + 1;
        }
        lmn__slate_wipe(frame->slate, mark);
        from += rows;
    }
    return LMN_OK;
}

/* The same for value number `k` of a row; a null is never found. */
static enum lmn_status find_value(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t k, uint32_t row,
                                  uint64_t from, uint64_t to, int64_t *number_out)
{
    const struct lmn__type *type = term->data;
    enum lmn__form form = lmn__type_form(type);
    uint32_t at = lmn__vector_at(&arg[k], row);
    const uint8_t *value = (const uint8_t *)arg[k].values + (size_t)at * lmn__form_bytes(form);
    uint8_t bit = form == LMN__FORM_BITS && lmn__bit_get(arg[k].values, at);

    *number_out = 0;
    if (lmn__vector_is_null(&arg[k], row))
        return LMN_OK;
    return find_item(frame, type, arg->array->children[0], from, to,
                     form == LMN__FORM_BITS ? &bit : value, number_out);
}

/* Null where the list is; a single value is null in its last form, before it was converted. */
static enum lmn_status has_nulls(struct lmn__frame *frame, const struct lmn__term *term,
                                 const struct lmn__vector *arg, uint32_t rows,
                                 struct lmn__vector *out)
{
    const struct lmn__vector *value = &arg[term->child_count - 1];
    uint8_t *none;
    enum lmn_status st;

    out->validity = arg[0].constant ? NULL : arg[0].validity;
    if (term->choice != HAS_ONE)
        return LMN_OK;
    if (!value->constant)
        return lmn__frame_and(frame, &out->validity, value->validity, rows);
    if (!lmn__vector_is_null(value, 0))
        return LMN_OK;
    st = lmn__frame_bits(frame, rows, &none);
    if (st == LMN_OK) {
        memset(none, 0, lmn__bits_bytes(rows));
        out->validity = none;
    }
    return st;
}

/* Items [first, end), and which of them are one of the values. */
struct window {
    uint64_t first, end;
    uint8_t *found;
    struct lmn__slate_mark mark;
};

/* Look for the constants arg[1] to arg[end - 1] in as many items as a run has, from `first` on. */
static enum lmn_status window_fill(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t end, uint64_t first,
                                   struct window *window)
{
    const struct lmn__type *type = term->data;
    const struct ArrowArray *items = arg->array->children[0];
    uint64_t left = (uint64_t)items->length - first;
    uint32_t rows = left < LMN__RUN_ROWS ? (uint32_t)left : LMN__RUN_ROWS;
    struct lmn__vector vector;
    uint8_t *equal;
    enum lmn_status st;

    lmn__slate_wipe(frame->slate, window->mark);
    st = lmn__load_range(frame, type->schema, items, first, rows, &vector);
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, rows, &window->found);
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, rows, &equal);
    if (st != LMN_OK)
        return st;
    memset(window->found, 0, lmn__bits_bytes(rows));
    for (uint32_t k = 1; st == LMN_OK && k < end; k++) {
        if (lmn__vector_is_null(&arg[k], 0))
            continue;
        st = lmn__compare_rows(frame, lmn__type_form(type), LMN__COMPARE_EQ, &vector, &arg[k], rows,
                               equal);
        for (uint64_t i = 0; i < lmn__bits_bytes(rows); i++)
            window->found[i] |= (uint8_t)(equal[i] & (vector.validity ? vector.validity[i] : 0xff));
    }
    window->first = first;
    window->end = first + rows;
    return st;
}

/* Is an item of [from, to) one of the constants? Rows share a window: their items lie in a row. */
static enum lmn_status find_constants(struct lmn__frame *frame, const struct lmn__term *term,
                                      const struct lmn__vector *arg, uint32_t end, uint64_t from,
                                      uint64_t to, struct window *window, bool *found_out)
{
    enum lmn_status st = LMN_OK;

    *found_out = false;
    for (; st == LMN_OK && from < to && !*found_out; from++) {
        if (from < window->first || from >= window->end)
            st = window_fill(frame, term, arg, end, from, window);
        *found_out = st == LMN_OK && lmn__bit_get(window->found, from - window->first);
    }
    return st;
}

/* arg[0] is the list, the others are values: one, any or all of them are among its items. */
static enum lmn_status has_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t rows,
                                  struct lmn__vector *out)
{
    bool all = term->choice == HAS_ALL, constants = !all;
    uint32_t end = term->choice == HAS_ONE ? 2 : term->child_count;
    struct window window = { 0 };
    uint64_t from, to;
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    if (st == LMN_OK)
        st = has_nulls(frame, term, arg, rows, out);
    for (uint32_t k = 1; k < end; k++)
        constants = constants && arg[k].constant;
    window.mark = lmn__slate_mark(frame->slate);
    out->values = bits;
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        bool found = all, there = list_of_row(term, arg, out, i, &from, &to);
        int64_t number;

        if (constants)
            st = find_constants(frame, term, arg, end, from, to, &window, &found);
        for (uint32_t k = 1; st == LMN_OK && !constants && there && k < end && found == all; k++) {
            st = find_value(frame, term, arg, k, i, from, to, &number);
            found = number != 0;
        }
        lmn__bit_put(bits, i, found);
    }
    return st;
}

/* Where in the list the value is, from item arg[2] on; null when it is not there. */
static enum lmn_status position_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                       const struct lmn__vector *arg, uint32_t rows,
                                       struct lmn__vector *out)
{
    uint64_t from, to;
    int64_t *numbers;
    uint8_t *validity;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &numbers);

    if (st == LMN_OK)
        st = lmn__frame_own_validity(frame, rows, out, &validity);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        int64_t first = term->child_count > 2 ? lmn__vector_i64(&arg[2], i) : 1;

        numbers[i] = 0;
        if (list_of_row(term, arg, out, i, &from, &to) && first >= 1 &&
            (uint64_t)first <= to - from)
            st = find_value(frame, term, arg, 1, i, from + (uint64_t)first - 1, to, &numbers[i]);
        if (numbers[i] == 0)
            lmn__bit_clear(validity, i);
        else
            numbers[i] += first - 1;
    }
    out->values = numbers;
    return st;
}

/* Give a value that is looked for the type of a list's items, or say why not. */
static enum lmn_status as_item(struct lmn__binder *binder, struct lmn__term **term,
                               const struct lmn__type *type)
{
    const struct lmn__type *from;
    char a[LMN__TYPE_TEXT_BYTES], b[LMN__TYPE_TEXT_BYTES];
    bool done = lmn__type_same(&(*term)->type, type);
    enum lmn_status st = LMN_OK;

    if (!done && (*term)->op == LMN__OP_CONSTANT)
        st = lmn__bind_adapt(binder, term, type, &done);
    if (st != LMN_OK || done)
        return st;
    from = &(*term)->type;
    /* A value that no item can have becomes null, which is never found. */
    if ((lmn__type_is_number(from) && lmn__type_is_number(type)) ||
        (lmn__type_is_bytes(from) && lmn__type_is_bytes(type)) ||
        (lmn__type_is_time(from) && lmn__type_is_time(type) && lmn__cast_exists(from, type)))
        return lmn__bind_convert(binder, term, type, LMN__CONVERT_EXACT);
    return lmn__bind_mismatch(binder, (*term)->place, *term,
                              "a list of %s cannot hold a value of type %s",
                              lmn__type_text(type, a), lmn__type_text(from, b));
}

/* A list as written, of constants that are not null. */
static bool is_plain_literal(const struct lmn__term *term)
{
    bool plain = lmn__list_is_literal(term);

    for (uint32_t i = 0; plain && i < term->child_count; i++)
        plain = term->child[i]->op == LMN__OP_CONSTANT && !lmn__term_is_null(term->child[i]);
    return plain;
}

/* The list, and the values that are looked for in it; room for one more. */
static enum lmn_status list_values(struct lmn__binder *binder, int32_t choice,
                                   struct lmn__term **arg, struct lmn__term ***child_out,
                                   uint32_t *count)
{
    bool written = choice == HAS_ANY || choice == HAS_ALL;
    struct lmn__term **child;

    *count = written ? arg[1]->child_count + 1 : *count;
    child = lmn__arena_array(binder->arena, *count + 1, sizeof *child);
    if (child == NULL)
        return lmn__bind_no_memory(binder);
    child[0] = arg[0];
    for (uint32_t i = 1; i < *count; i++)
        child[i] = written ? arg[1]->child[i - 1] : arg[i];
    *child_out = child;
    return LMN_OK;
}

enum lmn_status lmn__bind_list_has(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    bool position = choice == POSITION;
    const struct lmn__type result = lmn__type_plain(position ? LMN__KIND_I64 : LMN__KIND_BOOL);
    struct lmn__type *type = lmn__arena_alloc(binder->arena, sizeof *type);
    struct lmn__term **child = NULL;
    enum lmn_status st;

    if (type == NULL)
        return lmn__bind_no_memory(binder);
    st = lmn__list_settle(binder, &arg[0]);
    if (st != LMN_OK)
        return st;
    if (arg[0]->type.kind != LMN__KIND_LIST)
        return not_a_list(binder, arg[0]->place, arg[0]);
    if ((choice == HAS_ANY || choice == HAS_ALL) && !is_plain_literal(arg[1]))
        return lmn__bind_list_make(binder, place,
                                   choice == HAS_ANY ? LMN__LIST_HAS_ANY : LMN__LIST_HAS_ALL, arg,
                                   count, term_out);
    st = list_values(binder, choice, arg, &child, &count);
    if (st == LMN_OK)
        st = lmn__type_from_schema(arg[0]->type.schema->children[0], type, binder->err);
    if (st != LMN_OK)
        return st;
    if (lmn__type_form(type) == LMN__FORM_SLOT)
        return lmn__bind_fail(binder, place, LMN_E_UNSUPPORTED, "searching lists of nested values");
    type->schema = arg[0]->type.schema->children[0];
    for (uint32_t i = 1; st == LMN_OK && i < count; i++)
        st = position && i == 2 ? lmn__bind_number(binder, &child[i], "where a search begins")
                                : as_item(binder, &child[i], type);
    if (choice == HAS_ONE && child[1] != arg[1])
        child[count++] = arg[1];
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, position ? position_kernel : has_kernel, &result, child,
                            count, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->choice = choice;
    (*term_out)->own_nulls = !position;
    (*term_out)->data = type;
    return LMN_OK;
}

static enum lmn_status length_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                     const struct lmn__vector *arg, uint32_t rows,
                                     struct lmn__vector *out)
{
    uint64_t from, to;
    int64_t *lengths;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &lengths);

    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++) {
        (void)list_of_row(term, arg, out, i, &from, &to);
        lengths[i] = (int64_t)(to - from);
    }
    out->values = lengths;
    return LMN_OK;
}

static enum lmn_status empty_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                    const struct lmn__vector *arg, uint32_t rows,
                                    struct lmn__vector *out)
{
    uint64_t from, to;
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        (void)list_of_row(term, arg, out, i, &from, &to);
        lmn__bit_put(bits, i, from == to);
    }
    out->values = bits;
    return st;
}

enum lmn_status lmn__bind_list_length(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                      struct lmn__term **arg, uint32_t count,
                                      struct lmn__term **term_out)
{
    const struct lmn__type type = lmn__type_plain(choice != 0 ? LMN__KIND_BOOL : LMN__KIND_I64);
    enum lmn_status st;

    (void)count;
    st = lmn__list_settle(binder, &arg[0]);
    if (st != LMN_OK)
        return st;
    if (arg[0]->type.kind != LMN__KIND_LIST)
        return not_a_list(binder, arg[0]->place, arg[0]);
    return lmn__bind_call(binder, place, choice != 0 ? empty_kernel : length_kernel, &type, arg, 1,
                          term_out);
}
