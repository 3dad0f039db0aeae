/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/time_format.h"

#include <stdio.h>
#include <string.h>

enum { DAY_SECONDS = 86400 };

const char *const lmn__month_names[12] = { "January",   "February", "March",    "April",
                                           "May",       "June",     "July",     "August",
                                           "September", "October",  "November", "December" };
const char *const lmn__day_names[7] = { "Monday", "Tuesday",  "Wednesday", "Thursday",
                                        "Friday", "Saturday", "Sunday" };

bool lmn__time_piece_read(struct lmn__span format, size_t *at, struct lmn__time_piece *piece_out)
{
    struct lmn__time_piece piece = { 0 };
    size_t i = *at + 1;

    if (i < format.len && memchr("-_0", format.data[i], 3) != NULL)
        piece.pad = (char)format.data[i++];
    for (; i < format.len && format.data[i] == ':'; i++)
        piece.colons++;
    if (i < format.len && format.data[i] == '.') {
        piece.point = true;
        i++;
    }
    if (i < format.len && memchr("369", format.data[i], 3) != NULL)
        piece.digits = (uint8_t)(format.data[i++] - '0');
    if (i < format.len)
        piece.letter = (char)format.data[i];
    *at = i;
    *piece_out = piece;
    return piece.letter != 0 && ((!piece.point && piece.digits == 0) || piece.letter == 'f') &&
           (piece.colons == 0 || (piece.letter == 'z' && piece.colons <= 3));
}

const char *lmn__time_piece_long(char letter)
{
    static const struct {
        char letter;
        const char *format;
    } longer[] = {
        { 'F', "%Y-%m-%d" },
        { 'T', "%H:%M:%S" },
        { 'R', "%H:%M" },
        { 'D', "%m/%d/%y" },
        { 'x', "%m/%d/%y" },
        { 'X', "%H:%M:%S" },
        { 'r', "%I:%M:%S %p" },
        { 'v', "%e-%b-%Y" },
        { 'c', "%a %b %e %H:%M:%S %Y" },
        { '+', "%Y-%m-%dT%H:%M:%S%.f%:z" },
    };

    for (size_t i = 0; i < sizeof longer / sizeof longer[0]; i++) {
        if (longer[i].letter == letter)
            return longer[i].format;
    }
    return NULL;
}

struct lmn__time_shown lmn__time_shown_at(int64_t count, int64_t rate, int64_t ahead, bool has_zone)
{
    struct lmn__time_shown shown = { .moment = lmn__floor_div(count, rate),
                                     .nanos = lmn__floor_rest(count, rate) * (1000000000 / rate),
                                     .ahead = ahead,
                                     .has_zone = has_zone };
    int64_t second;

    if (__builtin_add_overflow(shown.moment, ahead, &second))
        second = shown.moment;
    shown.days = lmn__floor_div(second, DAY_SECONDS);
    second = lmn__floor_rest(second, DAY_SECONDS);
    shown.date = lmn__civil_from_days(shown.days);
    shown.year_day = shown.days - lmn__days_from_civil(shown.date.year, 1, 1) + 1;
    shown.hour = second / 3600;
    shown.minute = second / 60 % 60;
    shown.second = second % 60;
    return shown;
}

/* Letters whose value is a number of `width` digits, filled up with `pad`. */
static bool number_of(const struct lmn__time_shown *shown, char letter, long long *value,
                      int *width, char *pad)
{
    int64_t week_day = lmn__floor_rest(shown->days + 3, 7);
    int64_t thursday = shown->days - week_day + 3;
    int64_t iso_year = lmn__civil_from_days(thursday).year;
    int64_t hour_12 = shown->hour % 12 == 0 ? 12 : shown->hour % 12;
    const struct {
        char letter, width, pad;
        int64_t value;
    } numbers[] = {
        { 'Y', 4, '0', shown->date.year },
        { 'y', 2, '0', lmn__floor_rest(shown->date.year, 100) },
        { 'C', 2, '0', lmn__floor_div(shown->date.year, 100) },
        { 'q', 1, '0', (shown->date.month - 1) / 3 + 1 },
        { 'm', 2, '0', shown->date.month },
        { 'd', 2, '0', shown->date.day },
        { 'e', 2, ' ', shown->date.day },
        { 'j', 3, '0', shown->year_day },
        { 'G', 4, '0', iso_year },
        { 'g', 2, '0', lmn__floor_rest(iso_year, 100) },
        { 'V', 2, '0', (thursday - lmn__days_from_civil(iso_year, 1, 1)) / 7 + 1 },
        { 'U', 2, '0', (shown->year_day + 6 - (week_day + 1) % 7) / 7 },
        { 'W', 2, '0', (shown->year_day + 6 - week_day) / 7 },
        { 'u', 1, '0', week_day + 1 },
        { 'w', 1, '0', (week_day + 1) % 7 },
        { 'H', 2, '0', shown->hour },
        { 'k', 2, ' ', shown->hour },
        { 'I', 2, '0', hour_12 },
        { 'l', 2, ' ', hour_12 },
        { 'M', 2, '0', shown->minute },
        { 'S', 2, '0', shown->second },
        { 's', 1, '0', shown->moment },
    };

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].letter == letter) {
            *value = numbers[i].value;
            *width = numbers[i].width;
            *pad = numbers[i].pad;
            return true;
        }
    }
    return false;
}

/* 789000000 nanoseconds: .f ".789", f "789000000", 6f "789000". */
static int print_fraction(const struct lmn__time_shown *shown, const struct lmn__time_piece *piece,
                          char *out)
{
    int digits = piece->digits != 0            ? piece->digits
                 : !piece->point               ? 9
                 : shown->nanos % 1000000 == 0 ? 3
                 : shown->nanos % 1000 == 0    ? 6
                                               : 9;
    char text[16];

    if (piece->point && piece->digits == 0 && shown->nanos == 0)
        return -1;
    snprintf(text, sizeof text, "%09lld", (long long)shown->nanos);
    return snprintf(out, LMN__TIME_PIECE_BYTES, "%s%.*s", piece->point ? "." : "", digits, text);
}

static int print_zone(const struct lmn__time_shown *shown, const struct lmn__time_piece *piece,
                      char *out)
{
    long long ahead = shown->ahead < 0 ? -shown->ahead : shown->ahead;
    bool colon = piece->colons != 0 || piece->letter == 'Z';
    int used;

    if (!shown->has_zone)
        return 0;
    used = snprintf(out, LMN__TIME_PIECE_BYTES, "%c%02lld", shown->ahead < 0 ? '-' : '+',
                    ahead / 3600);
    if (piece->colons < 3)
        used += snprintf(out + used, LMN__TIME_PIECE_BYTES - (size_t)used, "%s%02lld",
                         colon ? ":" : "", ahead / 60 % 60);
    if (piece->colons == 2)
        used += snprintf(out + used, LMN__TIME_PIECE_BYTES - (size_t)used, ":%02lld", ahead % 60);
    return used;
}

/* Bytes of the piece; 0: it is not known, -1: it is none. */
static int print_piece(const struct lmn__time_shown *shown, const struct lmn__time_piece *piece,
                       char *out)
{
    const char *month = lmn__month_names[shown->date.month - 1];
    const char *day = lmn__day_names[lmn__floor_rest(shown->days + 3, 7)];
    long long number;
    int width;
    char pad;

    if (number_of(shown, piece->letter, &number, &width, &pad)) {
        pad = piece->pad == '_' ? ' ' : piece->pad != 0 ? piece->pad : pad;
        return pad == '-'   ? snprintf(out, LMN__TIME_PIECE_BYTES, "%lld", number)
               : pad == ' ' ? snprintf(out, LMN__TIME_PIECE_BYTES, "%*lld", width, number)
                            : snprintf(out, LMN__TIME_PIECE_BYTES, "%0*lld", width, number);
    }
    switch (piece->letter) {
    case '%':
    case 'n':
    case 't':
        *out = piece->letter == 'n' ? '\n' : piece->letter == 't' ? '\t' : '%';
        return 1;
    case 'f':
        return print_fraction(shown, piece, out);
    case 'z':
    case 'Z':
        return print_zone(shown, piece, out);
    case 'p':
        return snprintf(out, LMN__TIME_PIECE_BYTES, "%s", shown->hour < 12 ? "AM" : "PM");
    case 'P':
        return snprintf(out, LMN__TIME_PIECE_BYTES, "%s", shown->hour < 12 ? "am" : "pm");
    case 'b':
    case 'h':
        return snprintf(out, LMN__TIME_PIECE_BYTES, "%.3s", month);
    case 'B':
        return snprintf(out, LMN__TIME_PIECE_BYTES, "%s", month);
    case 'a':
        return snprintf(out, LMN__TIME_PIECE_BYTES, "%.3s", day);
    case 'A':
        return snprintf(out, LMN__TIME_PIECE_BYTES, "%s", day);
    default:
        return 0;
    }
}

size_t lmn__time_print(const struct lmn__time_shown *shown, struct lmn__span format, uint8_t *out,
                       char *bad_out)
{
    size_t used = 0;

    *bad_out = 0;
    for (size_t i = 0; i < format.len && *bad_out == 0; i++) {
        char text[LMN__TIME_PIECE_BYTES] = { (char)format.data[i] };
        struct lmn__time_piece piece;
        const char *whole;
        int bytes = 1;

        if (format.data[i] == '%') {
            bool known = lmn__time_piece_read(format, &i, &piece);

            whole = lmn__time_piece_long(piece.letter);
            if (known && whole != NULL && piece.pad == 0) {
                used += lmn__time_print(shown,
                                        (struct lmn__span){ (const uint8_t *)whole, strlen(whole) },
                                        out + used, bad_out);
                continue;
            }
            bytes = known ? print_piece(shown, &piece, text) : 0;
            if (bytes == 0)
                *bad_out = piece.letter != 0 ? piece.letter : '?';
        }
        if (bytes > 0)
            memcpy(out + used, text, (size_t)bytes);
        used += bytes > 0 ? (size_t)bytes : 0;
    }
    return used;
}
