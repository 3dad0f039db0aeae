/* SPDX-License-Identifier: Apache-2.0 */
#include "table/key_part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/math.h"
#include "expr/calendar.h"

enum lmn_status lmn__key_part_init(struct lmn__key_part *part, const struct ArrowSchema *type,
                                   struct lmn__arena *arena, struct lmn_error *err)
{
    const struct ArrowSchema *value = type->dictionary != NULL ? type->dictionary : type;
    enum lmn_status st;

    *part = (struct lmn__key_part){ 0 };
    st = lmn__layout_from_schema(type, arena, &part->layout, err);
    snprintf(part->name, sizeof part->name, "%.60s", type->name != NULL ? type->name : "");
    snprintf(part->format, sizeof part->format, "%s", value->format);
    if (st != LMN_OK)
        return st;
    if (part->layout->kind == LMN__LAYOUT_DICTIONARY) {
        part->index_bytes = part->layout->bits / 8;
        part->layout = part->layout->child[0];
    }
    if (part->layout->kind != LMN__LAYOUT_FIXED && part->layout->kind != LMN__LAYOUT_VARIABLE)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "column \"%.60s\" cannot be a key: it is a list or a struct", part->name);
    return LMN_OK;
}

/* The shortest spelling that gives the same number. */
static void put_real(struct lmn__span value, char *text, size_t bytes)
{
    double number = 0;
    float single = 0;

    if (value.len == sizeof single)
        memcpy(&single, value.data, sizeof single);
    else
        memcpy(&number, value.data, sizeof number);
    number = value.len == sizeof single ? (double)single : number;
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, bytes, "%.*g", digits, number);
        if (value.len == sizeof single ? strtof(text, NULL) == single
                                       : strtod(text, NULL) == number)
            return;
    }
}

/* Dates, times of day and timestamps as they are written; durations in their unit. */
static void put_time(const char *format, int64_t number, char *text, size_t bytes)
{
    static const char units[] = "smun";
    static const char *const names[] = { "s", "ms", "us", "ns" };
    const char *letter = strchr(units, format[2]);
    size_t unit = letter != NULL && *letter != '\0' ? (size_t)(letter - units) : 0, len = 0;
    char written[LMN__MOMENT_TEXT_BYTES];

    if (format[1] == 'd')
        len = lmn__date_print(format[2] == 'D' ? number : lmn__floor_div(number, 86400000),
                              written);
    else if (format[1] == 's')
        len = lmn__timestamp_print(number, (enum lmn__unit)unit, written);
    else if (format[1] == 't')
        len = lmn__clock_print(number, (enum lmn__unit)unit, written);
    if (len != 0)
        snprintf(text, bytes, "%.*s", (int)len, written);
    else
        snprintf(text, bytes, "%lld %s", (long long)number, names[unit]);
}

void lmn__key_part_text(const struct lmn__key_part *part, const struct ArrowArray *array,
                        uint64_t row, char *text, size_t bytes)
{
    uint8_t bit;
    struct lmn__span value;
    uint64_t number = 0;

    if (lmn__key_part_is_null(part, array, row)) {
        snprintf(text, bytes, "null");
        return;
    }
    value = lmn__key_part_value(part, array, row, &bit);
    if (part->layout->kind == LMN__LAYOUT_VARIABLE) {
        snprintf(text, bytes, "\"%.*s\"", (int)lmn__min_u64(value.len, 60), value.data);
    } else if (part->format[0] == 'g' || part->format[0] == 'f') {
        put_real(value, text, bytes);
    } else if (value.len <= 8 && strchr("cCsSiIlLbt", part->format[0]) != NULL) {
        memcpy(&number, value.data, value.len);
        if (strchr("csilt", part->format[0]) != NULL && value.len < 8 &&
            (value.data[value.len - 1] & 0x80) != 0)
            number |= ~(uint64_t)0 << value.len * 8;
        if (part->format[0] == 't')
            put_time(part->format, (int64_t)number, text, bytes);
        else
            snprintf(text, bytes, strchr("CSIL", part->format[0]) != NULL ? "%llu" : "%lld",
                     (long long)number);
    } else {
        snprintf(text, bytes, "of %zu bytes", value.len);
    }
}
