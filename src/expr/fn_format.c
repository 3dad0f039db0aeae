/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as text by a format, to_char(t, '%d.%m.%Y'), and back; casts to types by their names in
 * Arrow.
 */
#include <stdio.h>

#include "expr/function.h"
#include "expr/text_rows.h"
#include "expr/time_format.h"
#include "expr/zone.h"

/* The clock of the times that are printed. */
struct clock {
    bool has_zone;
    const struct lmn__zone *zone; /* NULL: UTC */
};

static enum lmn_status char_row(struct lmn__frame *frame, const struct lmn__term *term,
                                const struct lmn__vector *arg, uint32_t row,
                                struct lmn__span *span_out)
{
    const struct clock *clock = term->data;
    struct lmn__span format = lmn__vector_span(&arg[1], row);
    int64_t rate = lmn__unit_rate(term->child[0]->type.unit);
    int64_t count = lmn__vector_i64(&arg[0], row), ahead = 0;
    struct lmn__time_shown shown;
    char letter;
    uint8_t *made;
    enum lmn_status st = lmn__text_take(
        frame, term, row, ((uint64_t)format.len / 2 + 1) * LMN__TIME_PIECE_BYTES, &made);

    if (st != LMN_OK)
        return st;
    if (clock->zone != NULL)
        ahead = lmn__zone_offset_at(clock->zone, lmn__floor_div(count, rate));
    shown = lmn__time_shown_at(count, rate, ahead, clock->has_zone);
    *span_out = (struct lmn__span){ made, lmn__time_print(&shown, format, made, &letter) };
    if (letter == 0)
        return LMN_OK;
    if (letter == 'z' || letter == 'Z')
        return lmn__frame_fail(frame, term, row, "%s() has no %%%c for times without a zone",
                               term->name, letter);
    return lmn__frame_fail(frame, term, row, "%s() knows no %%%c", term->name,
                           letter >= ' ' && letter <= '~' ? letter : '?');
}

/* to_char(t, format) */
static enum lmn_status bind_char(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    struct lmn__type stamp = { .kind = LMN__KIND_TIMESTAMP, .unit = LMN__UNIT_S };
    struct clock *clock = lmn__arena_alloc(binder->arena, sizeof *clock);
    enum lmn__kind kind = arg[0]->type.kind;
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st = LMN_OK;

    (void)choice;
    if (clock == NULL)
        return lmn__bind_no_memory(binder);
    if (kind == LMN__KIND_TIMESTAMP)
        stamp = arg[0]->type;
    else if (kind != LMN__KIND_DATE32 && kind != LMN__KIND_DATE64 && kind != LMN__KIND_NULL)
        return lmn__bind_fail(binder, arg[0]->place, LMN_E_INVALID,
                              "expected a date or timestamp, not a value of type %s",
                              lmn__type_text(&arg[0]->type, text));
    if (arg[1]->type.kind != LMN__KIND_STRING && arg[1]->type.kind != LMN__KIND_NULL)
        return lmn__bind_fail(binder, arg[1]->place, LMN_E_INVALID,
                              "a format is a string such as '%%d.%%m.%%Y'");
    clock->has_zone = stamp.zone != NULL;
    if (clock->has_zone)
        st = lmn__bind_zone(binder, arg[0]->place, stamp.zone, &clock->zone);
    if (st == LMN_OK && kind != LMN__KIND_TIMESTAMP)
        st = lmn__bind_convert(binder, &arg[0], &stamp, LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__bind_string(binder, &arg[1]);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, lmn__text_kernel, &string, arg, count, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->text_of_row = char_row;
    (*term_out)->data = clock;
    return LMN_OK;
}

/* Timestamps in texts that follow one of the formats in arg[1], arg[2], ... */
static enum lmn_status read_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    int64_t *values;
    uint8_t *bad;
    uint32_t row;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_I64, rows, &values);

    if (st == LMN_OK)
        st = lmn__frame_take(frame, LMN__FORM_U8, rows, &bad);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++) {
        struct lmn__moment moment;
        bool cut;

        bad[i] = true;
        values[i] = 0;
        if (out->validity != NULL && !lmn__bit_get(out->validity, i))
            continue;
        for (uint32_t k = 1; bad[i] && k < term->child_count; k++)
            bad[i] = !lmn__time_read(lmn__vector_span(&arg[0], i), lmn__vector_span(&arg[k], i),
                                     &moment) ||
                     !lmn__moment_to_units(&moment, term->type.unit, &values[i], &cut);
    }
    out->values = values;
    row = lmn__frame_first_bad(frame, out, bad, rows);
    if (row == rows)
        return LMN_OK;
    return lmn__frame_fail(
        frame, term, row, "'%.*s' does not follow the format",
        (int)(lmn__vector_span(&arg[0], row).len < 60 ? lmn__vector_span(&arg[0], row).len : 60),
        (const char *)lmn__vector_span(&arg[0], row).data);
}

enum lmn_status lmn__bind_time_read(struct lmn__binder *binder, uint32_t place, enum lmn__unit unit,
                                    struct lmn__term **arg, uint32_t count,
                                    struct lmn__term **term_out)
{
    const struct lmn__type stamp = { .kind = LMN__KIND_TIMESTAMP, .unit = unit };
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && i < count; i++)
        st = lmn__bind_string(binder, &arg[i]);
    return st == LMN_OK ? lmn__bind_call(binder, place, read_kernel, &stamp, arg, count, term_out)
                        : st;
}

static bool unit_read(const char *name, enum lmn__unit *unit_out)
{
    static const char *const units[] = { "Second", "Millisecond", "Microsecond", "Nanosecond" };

    for (int i = 0; i < 4; i++) {
        *unit_out = (enum lmn__unit)i;
        if (strcmp(name, units[i]) == 0)
            return true;
    }
    return false;
}

/* "Timestamp(Microsecond, None)", with Some("+02:00") for a zone. */
static bool timestamp_read(struct lmn__binder *binder, const char *name, struct lmn__type *type)
{
    char unit[16] = "", zone[48] = "";
    int end = 0;

    *type = lmn__type_plain(LMN__KIND_TIMESTAMP);
    if (sscanf(name, "Timestamp(%15[A-Za-z], None)%n", unit, &end) != 1 || end == 0) {
        if (sscanf(name, "Timestamp(%15[A-Za-z], Some(\"%47[^\"]\"))%n", unit, zone, &end) != 2)
            return false;
        type->zone = lmn__arena_strndup(binder->arena, zone, strlen(zone));
        if (type->zone == NULL)
            return false;
    }
    return end != 0 && name[end] == 0 && unit_read(unit, &type->unit);
}

/* "Time64(Nanosecond)", "Duration(Second)" */
static bool span_read(const char *name, struct lmn__type *type)
{
    char word[12] = "", unit[16] = "";
    int end = 0;

    if (sscanf(name, "%11[A-Za-z0-9](%15[A-Za-z])%n", word, unit, &end) != 2 || end == 0 ||
        name[end] != 0 || !unit_read(unit, &type->unit))
        return false;
    type->kind = strcmp(word, "Duration") == 0 ? LMN__KIND_DURATION
                 : strcmp(word, "Time32") == 0 ? LMN__KIND_TIME32
                                               : LMN__KIND_TIME64;
    if (type->kind == LMN__KIND_TIME64 && strcmp(word, "Time64") != 0)
        return false;
    return type->kind == LMN__KIND_DURATION ||
           (type->kind == LMN__KIND_TIME32) == (type->unit <= LMN__UNIT_MS);
}

static bool type_read(struct lmn__binder *binder, const char *name, struct lmn__type *type)
{
    static const struct {
        const char *name;
        enum lmn__kind kind;
    } plain[] = {
        { "Boolean", LMN__KIND_BOOL },       { "Int8", LMN__KIND_I8 },
        { "Int16", LMN__KIND_I16 },          { "Int32", LMN__KIND_I32 },
        { "Int64", LMN__KIND_I64 },          { "UInt8", LMN__KIND_U8 },
        { "UInt16", LMN__KIND_U16 },         { "UInt32", LMN__KIND_U32 },
        { "UInt64", LMN__KIND_U64 },         { "Float16", LMN__KIND_F16 },
        { "Float32", LMN__KIND_F32 },        { "Float64", LMN__KIND_F64 },
        { "Utf8", LMN__KIND_STRING },        { "LargeUtf8", LMN__KIND_STRING },
        { "Utf8View", LMN__KIND_STRING },    { "Binary", LMN__KIND_BINARY },
        { "LargeBinary", LMN__KIND_BINARY }, { "Date32", LMN__KIND_DATE32 },
        { "Date64", LMN__KIND_DATE64 },
    };
    int precision, scale, end = 0;

    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        if (strcmp(name, plain[i].name) == 0) {
            *type = lmn__type_plain(plain[i].kind);
            type->large = strncmp(name, "Large", 5) == 0;
            return true;
        }
    }
    if (sscanf(name, "Decimal128(%2d, %2d)%n", &precision, &scale, &end) == 2 && end != 0 &&
        name[end] == 0 && precision >= 1 && precision <= 38 && scale >= 0 && scale <= precision) {
        *type = (struct lmn__type){
            .kind = LMN__KIND_DECIMAL, .width = 16, .precision = precision, .scale = scale
        };
        return true;
    }
    *type = (struct lmn__type){ 0 };
    return span_read(name, type) || timestamp_read(binder, name, type);
}

static enum lmn_status bind_cast(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    const struct lmn__span *name = arg[1]->constant.values;
    struct lmn__type type;
    char text[96] = "";

    (void)place;
    (void)count;
    if (arg[1]->op == LMN__OP_CONSTANT && arg[1]->type.kind == LMN__KIND_STRING &&
        !lmn__term_is_null(arg[1]) && name->len < sizeof text)
        memcpy(text, name->data, name->len);
    if (!type_read(binder, text, &type))
        return lmn__bind_fail(binder, arg[1]->place, LMN_E_INVALID,
                              "arrow_cast() takes the name of a type, such as 'Int32', 'Utf8', "
                              "'Decimal128(10, 2)' or 'Timestamp(Microsecond, None)'");
    *term_out = arg[0];
    return lmn__bind_convert(binder, term_out, &type,
                             choice != 0 ? LMN__CONVERT_TRY : LMN__CONVERT_CAST);
}

const struct lmn__function lmn__format_functions[] = {
    LMN__BOUND_FUNCTION("to_char", 2, 2, bind_char, 0),
    LMN__BOUND_FUNCTION("date_format", 2, 2, bind_char, 0),
    LMN__BOUND_FUNCTION("arrow_cast", 2, 2, bind_cast, 0),
    LMN__BOUND_FUNCTION("arrow_try_cast", 2, 2, bind_cast, 1),
    { 0 },
};
