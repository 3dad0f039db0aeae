/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times as text by a format, to_char(t, '%d.%m.%Y'), and casts to types by their names in Arrow.
 */
#include <stdio.h>

#include "expr/calendar.h"
#include "expr/function.h"
#include "expr/text_rows.h"

enum { DAY_SECONDS = 86400, PIECE_BYTES = 32 };

/* What a clock shows. */
struct shown {
    struct lmn__civil date;
    int64_t days, year_day, hour, minute, second, nanos;
};

static struct shown shown_at(int64_t value, int64_t rate)
{
    int64_t day = rate * DAY_SECONDS, rest = lmn__floor_rest(value, day);
    struct shown shown = { .days = lmn__floor_div(value, day), .nanos = rest % rate };

    shown.date = lmn__civil_from_days(shown.days);
    shown.year_day = shown.days - lmn__days_from_civil(shown.date.year, 1, 1) + 1;
    shown.nanos *= 1000000000 / rate;
    rest /= rate;
    shown.hour = rest / 3600;
    shown.minute = rest / 60 % 60;
    shown.second = rest % 60;
    return shown;
}

/* Letters whose value is a number of `width` digits. */
static bool number_of(const struct shown *shown, char letter, long long *value, int *width)
{
    int64_t hour_12 = shown->hour % 12 == 0 ? 12 : shown->hour % 12;
    const struct {
        char letter;
        int width;
        int64_t value;
    } numbers[] = {
        { 'Y', 4, shown->date.year },
        { 'y', 2, lmn__floor_rest(shown->date.year, 100) },
        { 'm', 2, shown->date.month },
        { 'd', 2, shown->date.day },
        { 'j', 3, shown->year_day },
        { 'H', 2, shown->hour },
        { 'I', 2, hour_12 },
        { 'M', 2, shown->minute },
        { 'S', 2, shown->second },
        { 'f', 9, shown->nanos },
        { 'u', 1, lmn__floor_rest(shown->days + 3, 7) + 1 },
        { 'w', 1, lmn__floor_rest(shown->days + 4, 7) },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].letter == letter) {
            *value = numbers[i].value;
            *width = numbers[i].width;
            return true;
        }
    }
    return false;
}

/* What stands for the letter behind a '%'; 0 bytes: it is not known. */
static int print_piece(const struct shown *shown, char letter, char *out)
{
    static const char *const months[] = { "January",   "February", "March",    "April",
                                          "May",       "June",     "July",     "August",
                                          "September", "October",  "November", "December" };
    static const char *const days[] = { "Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday" };
    const char *month = months[shown->date.month - 1];
    const char *day = days[lmn__floor_rest(shown->days + 3, 7)];
    long long number;
    int width;

    if (number_of(shown, letter, &number, &width))
        return snprintf(out, PIECE_BYTES, "%0*lld", width, number);
    switch (letter) {
    case '%':
        return snprintf(out, PIECE_BYTES, "%%");
    case 'e':
        return snprintf(out, PIECE_BYTES, "%2u", shown->date.day);
    case 'p':
        return snprintf(out, PIECE_BYTES, "%s", shown->hour < 12 ? "AM" : "PM");
    case 'b':
        return snprintf(out, PIECE_BYTES, "%.3s", month);
    case 'B':
        return snprintf(out, PIECE_BYTES, "%s", month);
    case 'a':
        return snprintf(out, PIECE_BYTES, "%.3s", day);
    case 'A':
        return snprintf(out, PIECE_BYTES, "%s", day);
    default:
        return 0;
    }
}

/* Letters that stand for several. */
static const char *longer_form(char letter)
{
    return letter == 'F'   ? "%Y-%m-%d"
           : letter == 'T' ? "%H:%M:%S"
           : letter == 'R' ? "%H:%M"
           : letter == 'D' ? "%m/%d/%y"
                           : NULL;
}

/* Print by `format` to `out`, which has room; false: *letter_out is not known. */
static bool print_shown(const struct shown *shown, struct lmn__span format, uint8_t *out,
                        uint64_t *used, char *letter_out)
{
    for (size_t i = 0; i < format.len; i++) {
        char piece[PIECE_BYTES], letter = i + 1 < format.len ? (char)format.data[i + 1] : 0;
        const char *form = longer_form(letter);
        int bytes = 1;

        piece[0] = (char)format.data[i];
        if (format.data[i] == '%') {
            i++;
            *letter_out = letter;
            if (form != NULL) {
                struct lmn__span whole = { (const uint8_t *)form, strlen(form) };

                (void)print_shown(shown, whole, out, used, letter_out);
                continue;
            }
            bytes = letter != 0 ? print_piece(shown, letter, piece) : 0;
            if (bytes == 0)
                return false;
        }
        memcpy(out + *used, piece, (size_t)bytes);
        *used += (uint64_t)bytes;
    }
    return true;
}

static enum lmn_status char_row(struct lmn__frame *frame, const struct lmn__term *term,
                                const struct lmn__vector *arg, uint32_t row,
                                struct lmn__span *span_out)
{
    struct lmn__span format = lmn__vector_span(&arg[1], row);
    struct shown shown = shown_at(lmn__vector_i64(&arg[0], row),
                                  lmn__unit_rate(term->child[0]->type.unit));
    uint64_t used = 0;
    char letter = 0;
    uint8_t *made;
    /* No two bytes of a format become more than a piece. */
    enum lmn_status st = lmn__text_take(frame, term, row,
                                        ((uint64_t)format.len / 2 + 1) * PIECE_BYTES, &made);

    if (st != LMN_OK)
        return st;
    if (!print_shown(&shown, format, made, &used, &letter))
        return lmn__frame_fail(frame, term, row, "%s() knows no %%%c", term->name,
                               letter >= ' ' && letter <= '~' ? letter : '?');
    *span_out = (struct lmn__span){ made, used };
    return LMN_OK;
}

/* The time becomes what the clock of its zone shows. */
static enum lmn_status bind_char(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    struct lmn__type stamp = { .kind = LMN__KIND_TIMESTAMP, .unit = LMN__UNIT_S };
    enum lmn__kind kind = arg[0]->type.kind;
    char text[LMN__TYPE_TEXT_BYTES];
    enum lmn_status st;

    (void)choice;
    if (kind == LMN__KIND_TIMESTAMP)
        stamp.unit = arg[0]->type.unit;
    else if (kind != LMN__KIND_DATE32 && kind != LMN__KIND_DATE64 && kind != LMN__KIND_NULL)
        return lmn__bind_fail(binder, arg[0]->place, LMN_E_INVALID,
                              "expected a date or timestamp, not a value of type %s",
                              lmn__type_text(&arg[0]->type, text));
    if (arg[1]->type.kind != LMN__KIND_STRING && arg[1]->type.kind != LMN__KIND_NULL)
        return lmn__bind_fail(binder, arg[1]->place, LMN_E_INVALID,
                              "a format is a string such as '%%d.%%m.%%Y'");
    st = lmn__bind_convert(binder, &arg[0], &stamp, LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__bind_convert(binder, &arg[1], &string, LMN__CONVERT_CAST);
    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, lmn__text_kernel, &string, arg, count, term_out);
    if (st == LMN_OK)
        (*term_out)->text_of_row = char_row;
    return st;
}

/* "Timestamp(Microsecond, None)", with Some("+02:00") for a zone. */
static bool timestamp_read(struct lmn__binder *binder, const char *name, struct lmn__type *type)
{
    static const char *const units[] = { "Second", "Millisecond", "Microsecond", "Nanosecond" };
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
    for (int i = 0; i < 4 && end != 0 && name[end] == 0; i++) {
        type->unit = (enum lmn__unit)i;
        if (strcmp(unit, units[i]) == 0)
            return true;
    }
    return false;
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
    return timestamp_read(binder, name, type);
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
