/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "base/math.h"
#include "expr/bind.h"
#include "expr/calendar.h"
#include "expr/cast.h"
#include "expr/compare.h"
#include "expr/interval.h"
#include "expr/list_value.h"
#include "expr/struct_make.h"
#include "expr/wide.h"

static const uint8_t null_bits[1];

enum lmn_status lmn__bind_constant(struct lmn__binder *binder, uint32_t place,
                                   const struct lmn__type *type, const void *value,
                                   struct lmn__term **term_out)
{
    enum lmn__form form = lmn__type_form(type);
    uint32_t bytes = lmn__form_bytes(form) != 0 ? lmn__form_bytes(form) : 1;
    enum lmn_status st = lmn__bind_term(binder, LMN__OP_CONSTANT, place, NULL, 0, term_out);
    uint8_t *copy;

    if (st != LMN_OK)
        return st;
    copy = lmn__arena_alloc(binder->arena, bytes);
    if (copy == NULL)
        return lmn__bind_no_memory(binder);
    (*term_out)->type = *type;
    (*term_out)->constant = (struct lmn__vector){ .constant = true, .values = copy };
    if (value == NULL) {
        (*term_out)->constant.validity = null_bits;
        return LMN_OK;
    }
    memcpy(copy, value, bytes);
    if (form == LMN__FORM_SPAN) {
        struct lmn__span *span = (void *)copy;

        span->data = (const uint8_t *)lmn__arena_strndup(
            binder->arena, span->len != 0 ? (const void *)span->data : "", span->len);
        if (span->data == NULL)
            return lmn__bind_no_memory(binder);
    }
    return LMN_OK;
}

enum lmn_status lmn__bind_fold(struct lmn__binder *binder, struct lmn__term **term)
{
    struct lmn_error ignored;
    struct lmn__frame frame = { .expr = binder->expr,
                                .env = binder->expr->env,
                                .slate = &binder->slate,
                                .count = 1,
                                .err = &ignored };
    struct lmn__slate_mark mark = lmn__slate_mark(&binder->slate);
    struct lmn__term *made;
    struct lmn__vector vector;
    enum lmn_status st;

    if ((*term)->volatile_result || lmn__type_form(&(*term)->type) == LMN__FORM_SLOT)
        return LMN_OK;
    for (uint32_t i = 0; i < (*term)->child_count; i++) {
        if ((*term)->child[i]->op != LMN__OP_CONSTANT)
            return LMN_OK;
    }
    st = lmn__term_eval(&frame, *term, &vector);
    if (st != LMN_OK) {
        lmn__slate_wipe(&binder->slate, mark);
        return st != LMN_E_NO_MEMORY ? LMN_OK : lmn_fail(binder->err, st, "%s", ignored.message);
    }
    st = lmn__bind_constant(binder, (*term)->place, &(*term)->type,
                            lmn__vector_is_null(&vector, 0) ? NULL : vector.values, &made);
    lmn__slate_wipe(&binder->slate, mark);
    if (st == LMN_OK)
        *term = made;
    return st;
}

/* Digits as a whole number if there is a type for it, as a double otherwise. */
static enum lmn_status bind_number(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                   struct lmn__term **term_out)
{
    char *text = lmn__arena_alloc(binder->arena, syntax->text.len + 2);
    bool hex = syntax->text.len > 2 && (syntax->text.data[1] | 0x20) == 'x', rounded;
    struct lmn__type type = lmn__type_plain(LMN__KIND_I64);
    struct lmn__wide wide;
    uint64_t value;
    int64_t whole;
    double real;
    enum lmn_status st;

    if (text == NULL)
        return lmn__bind_no_memory(binder);
    text[0] = '-';
    memcpy(text + 1, syntax->text.data, syntax->text.len);
    text += !syntax->flag;
    if (hex) {
        errno = 0;
        value = strtoull((const char *)text + syntax->flag, NULL, 16);
        whole = (int64_t)(syntax->flag ? -value : value);
        if (errno == ERANGE || (syntax->flag && whole > 0))
            return lmn__bind_fail(binder, syntax->place, LMN_E_INVALID,
                                  "the number has more than 64 bits");
        if (!syntax->flag && whole < 0) {
            type = lmn__type_plain(LMN__KIND_U64);
            return lmn__bind_constant(binder, syntax->place, &type, &value, term_out);
        }
        return lmn__bind_constant(binder, syntax->place, &type, &whole, term_out);
    }
    if (strpbrk(text, ".eE") == NULL && lmn__wide_parse(text, strlen(text), 0, &wide, &rounded)) {
        if (lmn__wide_to_i64(&wide, &whole))
            return lmn__bind_constant(binder, syntax->place, &type, &whole, term_out);
        type = lmn__type_plain(LMN__KIND_U64);
        if (lmn__wide_to_u64(&wide, &value))
            return lmn__bind_constant(binder, syntax->place, &type, &value, term_out);
        type = (struct lmn__type){ .kind = LMN__KIND_DECIMAL, .precision = 76, .width = 32 };
        if (lmn__wide_fits(&wide, type.precision))
            return lmn__bind_constant(binder, syntax->place, &type, &wide, term_out);
    }
    type = lmn__type_plain(LMN__KIND_F64);
    real = strtod(text, NULL);
    st = lmn__bind_constant(binder, syntax->place, &type, &real, term_out);
    if (st == LMN_OK)
        (*term_out)->text = (struct lmn__span){ (const uint8_t *)text, strlen(text) };
    return st;
}

/* A constant that is no value of the type which it has to have. */
static enum lmn_status no_value(const struct lmn__binder *binder, const struct lmn__term *constant,
                                const struct lmn__type *type)
{
    char value[LMN__VALUE_TEXT_BYTES], text[LMN__TYPE_TEXT_BYTES];

    lmn__value_print(&constant->type, constant->constant.values, 0, value);
    return lmn__bind_mismatch(binder, constant->place, NULL, "%.100s is no value of type %s", value,
                              lmn__type_text(type, text));
}

/*
 * A timestamp in nanoseconds, or in microseconds where those do not reach that far. *term_out stays
 * NULL when the text spells none.
 */
static enum lmn_status moment_constant(struct lmn__binder *binder, uint32_t place,
                                       struct lmn__span text, struct lmn__term **term_out)
{
    struct lmn__type type = { .kind = LMN__KIND_TIMESTAMP, .unit = LMN__UNIT_NS };
    struct lmn__moment moment;
    int64_t units;
    bool cut;

    *term_out = NULL;
    if (!lmn__moment_parse(text, &moment))
        return LMN_OK;
    type.zone = moment.has_zone ? "UTC" : NULL;
    if (!lmn__moment_to_units(&moment, type.unit, &units, &cut)) {
        type.unit = LMN__UNIT_US;
        if (!lmn__moment_to_units(&moment, type.unit, &units, &cut))
            return LMN_OK;
    }
    return lmn__bind_constant(binder, place, &type, &units, term_out);
}

static enum lmn_status bind_timestamp(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                      struct lmn__term **term_out)
{
    enum lmn_status st = moment_constant(binder, syntax->place, syntax->text, term_out);

    if (st != LMN_OK || *term_out != NULL)
        return st;
    return lmn__bind_fail(binder, syntax->place, LMN_E_INVALID, "'%.*s' is no timestamp",
                          (int)(syntax->text.len < 60 ? syntax->text.len : 60),
                          (const char *)syntax->text.data);
}

static enum lmn_status bind_interval(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                     struct lmn__term **term_out)
{
    const struct lmn__type type = lmn__type_plain(LMN__KIND_INTERVAL);
    struct lmn__interval interval;

    if (lmn__interval_parse(syntax->text, &interval))
        return lmn__bind_constant(binder, syntax->place, &type, &interval, term_out);
    return lmn__bind_fail(binder, syntax->place, LMN_E_INVALID,
                          "'%.*s' is no interval; one is written as '1 month 3 days 04:05:06'",
                          (int)(syntax->text.len < 60 ? syntax->text.len : 60),
                          (const char *)syntax->text.data);
}

static enum lmn_status bind_typed(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                  struct lmn__term **term_out)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    struct lmn__type type;
    bool done;
    enum lmn_status st;

    if (strcmp(syntax->type.word, "timestamp") == 0 && syntax->type.number_count == 0)
        return bind_timestamp(binder, syntax, term_out);
    if (strcmp(syntax->type.word, "interval") == 0)
        return bind_interval(binder, syntax, term_out);
    if (!lmn__type_from_name(&syntax->type, &type))
        return lmn__bind_fail(binder, syntax->place, LMN_E_INVALID, "there is no type %.60s",
                              syntax->type.word);
    st = lmn__bind_constant(binder, syntax->place, &string, &syntax->text, term_out);
    if (st == LMN_OK)
        st = lmn__bind_adapt(binder, term_out, &type, &done);
    if (st == LMN_OK && !done)
        return no_value(binder, *term_out, &type);
    return st;
}

enum lmn_status lmn__bind_literal(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                                  struct lmn__term **term_out)
{
    struct lmn__type type;
    uint8_t flag = syntax->flag;

    switch (syntax->kind) {
    case LMN__SYNTAX_NUMBER:
        return bind_number(binder, syntax, term_out);
    case LMN__SYNTAX_TYPED:
        return bind_typed(binder, syntax, term_out);
    case LMN__SYNTAX_BOOL:
        type = lmn__type_plain(LMN__KIND_BOOL);
        return lmn__bind_constant(binder, syntax->place, &type, &flag, term_out);
    case LMN__SYNTAX_STRING:
    case LMN__SYNTAX_BYTES:
        type = lmn__type_plain(syntax->kind == LMN__SYNTAX_STRING ? LMN__KIND_STRING
                                                                  : LMN__KIND_BINARY);
        return lmn__bind_constant(binder, syntax->place, &type, &syntax->text, term_out);
    default:
        type = lmn__type_plain(LMN__KIND_NULL);
        return lmn__bind_constant(binder, syntax->place, &type, NULL, term_out);
    }
}

/* Those that a binding asked for, so that a file is read once. */
struct lmn__known_zone {
    struct lmn__known_zone *next;
    const char *name;
    const struct lmn__zone *zone;
};

enum lmn_status lmn__bind_zone(struct lmn__binder *binder, uint32_t place, const char *name,
                               const struct lmn__zone **zone_out)
{
    struct lmn__known_zone *known = binder->zones;
    struct lmn_error reason;
    enum lmn_status st;

    *zone_out = NULL;
    while (known != NULL && strcmp(known->name, name) != 0)
        known = known->next;
    if (known == NULL) {
        known = lmn__arena_alloc(binder->arena, sizeof *known);
        if (known == NULL)
            return lmn__bind_no_memory(binder);
        st = lmn__zone_find(name, binder->arena, &known->zone, &reason);
        if (st != LMN_OK)
            return lmn__bind_fail(binder, place, st, "%.250s", reason.message);
        known->name = name;
        known->next = binder->zones;
        binder->zones = known;
    }
    *zone_out = lmn__zone_is_utc(known->zone) ? NULL : known->zone;
    return LMN_OK;
}

/* A cast, and the clock of the zone that it puts on or takes off. */
static enum lmn_status bind_cast(struct lmn__binder *binder, struct lmn__term *from,
                                 const struct lmn__type *to, struct lmn__term **term_out)
{
    bool counts = lmn__type_is_integer(&from->type) || lmn__type_is_integer(to);
    const char *from_zone = from->type.kind == LMN__KIND_TIMESTAMP ? from->type.zone : NULL;
    const char *to_zone = to->kind == LMN__KIND_TIMESTAMP ? to->zone : NULL;
    const struct lmn__zone *zone = NULL;
    enum lmn_status st = LMN_OK;

    if (!counts && (from_zone == NULL) != (to_zone == NULL))
        st = lmn__bind_zone(binder, from->place, from_zone != NULL ? from_zone : to_zone, &zone);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, from->place, lmn__cast_kernel, to, &from, 1, term_out);
    if (st == LMN_OK)
        (*term_out)->data = (void *)(uintptr_t)zone;
    return st;
}

/* A decimal from the digits that were written, not from the double they stand for. */
static bool adapt_written(const struct lmn__term *term, const struct lmn__type *type,
                          struct lmn__wide *out)
{
    bool rounded;

    return type->kind == LMN__KIND_DECIMAL && term->text.len != 0 &&
           lmn__wide_parse((const char *)term->text.data, term->text.len, type->scale, out,
                           &rounded) &&
           !rounded && lmn__wide_fits(out, type->precision);
}

enum lmn_status lmn__bind_convert(struct lmn__binder *binder, struct lmn__term **term,
                                  const struct lmn__type *type, enum lmn__conversion how)
{
    char from[LMN__TYPE_TEXT_BYTES], to[LMN__TYPE_TEXT_BYTES];
    uint32_t place = (*term)->place;
    struct lmn__wide written;
    struct lmn__term *made;
    enum lmn_status st;

    if (lmn__type_same(&(*term)->type, type))
        return LMN_OK;
    if (adapt_written(*term, type, &written))
        return lmn__bind_constant(binder, place, type, &written, term);
    if (type->kind == LMN__KIND_DECIMAL && (*term)->text.len != 0 && how == LMN__CONVERT_IMPLICIT)
        return lmn__bind_fail(binder, place, LMN_E_INVALID, "%.*s is no value of type %s",
                              (int)lmn__min_u64((*term)->text.len, 100),
                              (const char *)(*term)->text.data, lmn__type_text(type, to));
    if ((*term)->type.kind == LMN__KIND_NULL && (*term)->op == LMN__OP_CONSTANT)
        return lmn__bind_constant(binder, place, type, NULL, term);
    if (lmn__list_converts(&(*term)->type, type))
        return lmn__list_convert(binder, term, type, how);
    if (type->kind == LMN__KIND_STRUCT && lmn__struct_is_made(*term))
        return lmn__struct_convert(binder, term, type, how);
    if (!lmn__cast_exists(&(*term)->type, type))
        return lmn__bind_mismatch(binder, place, *term, "there is no conversion from %s to %s",
                                  lmn__type_text(&(*term)->type, from), lmn__type_text(type, to));
    st = bind_cast(binder, *term, type, &made);
    if (st != LMN_OK)
        return st;
    made->exact = how == LMN__CONVERT_IMPLICIT || how == LMN__CONVERT_EXACT;
    made->lenient = how == LMN__CONVERT_TRY || how == LMN__CONVERT_EXACT;
    *term = made;
    return lmn__bind_fold(binder, term);
}

/* The constant as another type without loss, or null. */
static enum lmn_status convert_exactly(struct lmn__binder *binder, const struct lmn__term *from,
                                       const struct lmn__type *type, struct lmn__term **term_out)
{
    enum lmn_status st = bind_cast(binder, (struct lmn__term *)from, type, term_out);

    if (st != LMN_OK)
        return st;
    (*term_out)->exact = (*term_out)->lenient = true;
    return lmn__bind_fold(binder, term_out);
}

enum lmn_status lmn__bind_adapt(struct lmn__binder *binder, struct lmn__term **term,
                                const struct lmn__type *type, bool *done_out)
{
    const struct lmn__type *from = &(*term)->type;
    bool number = lmn__type_is_number(from) && lmn__type_is_number(type);
    bool time = (lmn__type_is_time(from) && lmn__type_is_time(type)) ||
                (from->kind == LMN__KIND_INTERVAL && type->kind == LMN__KIND_DURATION);
    bool text = from->kind == LMN__KIND_STRING && lmn__type_form(type) != LMN__FORM_SLOT;
    struct lmn__term *made, *back;
    struct lmn__wide wide;
    enum lmn_status st;

    *done_out = lmn__type_same(from, type);
    if (*done_out || (!number && !time && !text && !lmn__term_is_null(*term) &&
                      !(lmn__type_is_bytes(from) && lmn__type_is_bytes(type))))
        return LMN_OK;
    *done_out = true;
    if (lmn__term_is_null(*term))
        return lmn__bind_constant(binder, (*term)->place, type, NULL, term);
    if (adapt_written(*term, type, &wide))
        return lmn__bind_constant(binder, (*term)->place, type, &wide, term);
    *done_out = false;
    if (!lmn__cast_exists(from, type))
        return LMN_OK;
    if (text && type->kind == LMN__KIND_TIMESTAMP && type->zone != NULL) {
        /* A text that names its zone is a moment, whatever the clock of the column's zone. */
        st = moment_constant(binder, (*term)->place,
                             *(const struct lmn__span *)(*term)->constant.values, &back);
        if (st != LMN_OK)
            return st;
        if (back != NULL && back->type.zone != NULL) {
            *term = back;
            return lmn__bind_adapt(binder, term, type, done_out);
        }
    }
    st = convert_exactly(binder, *term, type, &made);
    if (st != LMN_OK)
        return st;
    if (lmn__term_is_null(made) && text &&
        (type->kind == LMN__KIND_TIMESTAMP || type->kind == LMN__KIND_DATE32 ||
         type->kind == LMN__KIND_DATE64)) {
        /* Finer than the column: it is compared as what it is. */
        st = moment_constant(binder, (*term)->place,
                             *(const struct lmn__span *)(*term)->constant.values, &back);
        if (st != LMN_OK || back != NULL) {
            *term = back;
            return st;
        }
    }
    if (lmn__term_is_null(made) && text && !lmn__type_is_bytes(type))
        return no_value(binder, *term, type);
    if (lmn__term_is_null(made))
        return LMN_OK;
    /* A float column holds the nearest float, and so does the constant it is compared with. */
    if (number && !(lmn__type_is_float(from) && lmn__type_is_float(type))) {
        st = convert_exactly(binder, made, from, &back);
        if (st != LMN_OK || lmn__term_is_null(back) ||
            lmn__compare_values(lmn__type_form(from), back->constant.values,
                                (*term)->constant.values) != 0)
            return st;
    }
    *done_out = true;
    *term = made;
    return LMN_OK;
}

enum lmn_status lmn__bind_number(struct lmn__binder *binder, struct lmn__term **term,
                                 const char *what)
{
    const struct lmn__type whole = lmn__type_plain(LMN__KIND_I64);
    char text[LMN__TYPE_TEXT_BYTES];

    if (!lmn__type_is_integer(&(*term)->type) && (*term)->type.kind != LMN__KIND_NULL)
        return lmn__bind_fail(binder, (*term)->place, LMN_E_INVALID,
                              "%s is a whole number, not a value of type %s", what,
                              lmn__type_text(&(*term)->type, text));
    return lmn__bind_convert(binder, term, &whole, LMN__CONVERT_CAST);
}

enum lmn_status lmn__bind_string(struct lmn__binder *binder, struct lmn__term **term)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    char text[LMN__TYPE_TEXT_BYTES];

    if ((*term)->type.kind != LMN__KIND_STRING && (*term)->type.kind != LMN__KIND_NULL)
        return lmn__bind_fail(binder, (*term)->place, LMN_E_INVALID,
                              "expected a string, not a value of type %s",
                              lmn__type_text(&(*term)->type, text));
    return lmn__bind_convert(binder, term, &string, LMN__CONVERT_CAST);
}

enum lmn_status lmn__bind_bytes(struct lmn__binder *binder, struct lmn__term **term)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    char text[LMN__TYPE_TEXT_BYTES];

    if ((*term)->type.kind == LMN__KIND_NULL)
        return lmn__bind_convert(binder, term, &string, LMN__CONVERT_CAST);
    if (lmn__type_is_bytes(&(*term)->type))
        return LMN_OK;
    return lmn__bind_fail(binder, (*term)->place, LMN_E_INVALID,
                          "expected a string or binary, not a value of type %s",
                          lmn__type_text(&(*term)->type, text));
}
