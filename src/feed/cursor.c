/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text ends in a member "check", the XXH3 of everything before it; so a state that was cut off
 * or edited is found out before a number of it is used.
 */
#include "feed/cursor.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"

enum { FORMAT = 1, HEX_CHARS = 17, TEXT_BYTES_MAX = 1 << 24, SEGMENT_NUMBERS = 6 };

static const char check_mark[] = ",\"check\":\"";

static const char *const shuffle_name[] = { "full", "none", "block" };
enum { SHUFFLE_COUNT = sizeof shuffle_name / sizeof shuffle_name[0], REMAINDER_COUNT = 3 };

/* A JSON string; control characters, which JSON has no place for as they are, become spaces. */
static void put_text(struct lmn__buf *buf, const char *name, const char *text)
{
    lmn__buf_printf(buf, ",\"%s\":\"", name);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            lmn__buf_put_u8(buf, '\\');
        lmn__buf_put_u8(buf, (uint8_t)*text < ' ' ? ' ' : (uint8_t)*text);
    }
    lmn__buf_put_u8(buf, '"');
}

enum lmn_status lmn__cursor_write(const struct lmn__cursor *cursor, struct lmn__buf *buf,
                                  struct lmn_error *err)
{
    size_t start = buf->len;
    enum lmn_status st;

    lmn__buf_printf(buf, "{\"leman_feed\":%d,\"version\":%" PRIu64, FORMAT, cursor->version);
    lmn__buf_printf(buf, ",\"data\":\"%016" PRIx64 "\",\"rows\":%" PRIu64, cursor->data,
                    cursor->row_count);
    put_text(buf, "columns", cursor->columns);
    put_text(buf, "where", cursor->where);
    put_text(buf, "transform", cursor->transform);
    lmn__buf_printf(buf, ",\"texts\":\"%016" PRIx64 "\",\"shuffle\":\"%s\",\"seed\":%" PRIu64,
                    cursor->texts, shuffle_name[cursor->shuffle], cursor->seed);
    lmn__buf_printf(buf, ",\"block_rows\":%" PRIu64 ",\"window_rows\":%" PRIu64, cursor->block_rows,
                    cursor->window_rows);
    lmn__buf_printf(buf, ",\"epoch\":%" PRIu64 ",\"position\":%" PRIu64 ",\"step\":%" PRIu64,
                    cursor->epoch, cursor->position, cursor->step);
    lmn__buf_printf(buf, ",\"shared\":\"");
    for (uint64_t i = 0; i < cursor->segment_count; i++) {
        const struct lmn__segment *segment = &cursor->segment[i];

        lmn__buf_printf(buf, "%s%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %d",
                        i != 0 ? "," : "", segment->step, segment->epoch, segment->position,
                        segment->batch_rows, segment->rank_count, (int)segment->remainder);
    }
    lmn__buf_put_u8(buf, '"');
    st = lmn__buf_status(buf, "a feed's state", err);
    if (st != LMN_OK)
        return st;
    lmn__buf_printf(buf, "%s%016" PRIx64 "\"}", check_mark,
                    lmn__hash64(buf->data + start, buf->len - start));
    return lmn__buf_status(buf, "a feed's state", err);
}

/* A text that is being read. */
struct reading {
    struct lmn__span text;
    struct lmn__arena *arena;
    struct lmn_error *err;
};

static enum lmn_status bad(struct reading *reading, const char *what)
{
    return lmn_fail(reading->err, LMN_E_CORRUPT, "a feed's state of %zu bytes: %s is wrong",
                    reading->text.len, what);
}

static enum lmn_status read_number(struct reading *reading, const char *name, uint64_t *number_out)
{
    struct lmn__span value;
    enum lmn_status st = lmn__json_member(reading->text, name, &value, reading->err);

    if (st == LMN_OK && !lmn__json_to_u64(value, number_out))
        st = bad(reading, name);
    return st;
}

static enum lmn_status read_text(struct reading *reading, const char *name, const char **text_out)
{
    struct lmn__span value;
    char *text;
    enum lmn_status st = lmn__json_member(reading->text, name, &value, reading->err);

    *text_out = "";
    if (st != LMN_OK)
        return st;
    text = lmn__arena_alloc(reading->arena, value.len + 1);
    if (text == NULL)
        return lmn__arena_fail(reading->arena, "a feed's state", reading->err);
    if (!lmn__json_to_text(value, text, value.len + 1))
        return bad(reading, name);
    *text_out = text;
    return LMN_OK;
}

/* 16 hexadecimal digits. */
static bool hex_number(const char *text, uint64_t *number_out)
{
    *number_out = 0;
    for (int i = 0; i < HEX_CHARS - 1; i++) {
        const char *digit = text[i] != '\0' ? strchr("0123456789abcdef", text[i]) : NULL;

        if (digit == NULL)
            return false;
        *number_out = *number_out << 4 | (uint64_t)(digit - "0123456789abcdef");
    }
    return text[HEX_CHARS - 1] == '\0';
}

static enum lmn_status read_hash(struct reading *reading, const char *name, uint64_t *hash_out)
{
    const char *text;
    enum lmn_status st = read_text(reading, name, &text);

    return st == LMN_OK && !hex_number(text, hash_out) ? bad(reading, name) : st;
}

/* The text of one segment, up to the end of a row of numbers. */
static bool read_segment(const char **at, struct lmn__segment *segment_out)
{
    uint64_t number[SEGMENT_NUMBERS];

    for (int i = 0; i < SEGMENT_NUMBERS; i++) {
        const char *start = *at;

        while (**at >= '0' && **at <= '9')
            ++*at;
        if (!lmn__json_to_u64((struct lmn__span){ (const uint8_t *)start, (size_t)(*at - start) },
                              &number[i]))
            return false;
        if (i + 1 < SEGMENT_NUMBERS && *(*at)++ != ' ')
            return false;
    }
    *segment_out = (struct lmn__segment){
        number[0], number[1], number[2], number[3], number[4], (enum lmn_feed_remainder)number[5]
    };
    return number[3] != 0 && number[3] <= UINT32_MAX && number[4] != 0 && number[4] <= UINT32_MAX &&
           number[5] < REMAINDER_COUNT;
}

static enum lmn_status read_segments(struct reading *reading, struct lmn__cursor *cursor)
{
    const char *text, *at;
    uint64_t count = 1;
    enum lmn_status st = read_text(reading, "shared", &text);

    if (st != LMN_OK)
        return st;
    for (at = text; *at != '\0'; at++)
        count += *at == ',';
    cursor->segment = lmn__arena_array(reading->arena, count, sizeof *cursor->segment);
    if (cursor->segment == NULL)
        return lmn__arena_fail(reading->arena, "a feed's state", reading->err);
    at = text;
    for (uint64_t i = 0; i < count; i++) {
        struct lmn__segment *segment = &cursor->segment[i];

        if (!read_segment(&at, segment) || *at != (i + 1 < count ? ',' : '\0') ||
            segment->position > cursor->row_count || segment->step > cursor->step ||
            (i != 0 && segment->step < segment[-1].step) || (i == 0 && segment->step != 0))
            return bad(reading, "shared");
        at += i + 1 < count;
    }
    cursor->segment_count = count;
    return LMN_OK;
}

/* Is the end of the text the check of what stands before it? */
static enum lmn_status verify(struct reading *reading)
{
    struct lmn__span text = reading->text;
    size_t tail = sizeof check_mark - 1 + HEX_CHARS - 1 + 2;
    char digits[HEX_CHARS];
    uint64_t number, check;
    enum lmn_status st;

    if (text.len > TEXT_BYTES_MAX)
        return bad(reading, "its length");
    st = read_number(reading, "leman_feed", &number);
    if (st != LMN_OK)
        return st;
    if (number != FORMAT)
        return lmn_fail(reading->err, LMN_E_UNSUPPORTED,
                        "a feed's state of format %" PRIu64 "; this library reads %d", number,
                        FORMAT);
    if (text.len < tail ||
        memcmp(text.data + text.len - tail, check_mark, sizeof check_mark - 1) != 0)
        return bad(reading, "check");
    memcpy(digits, text.data + text.len - 2 - (HEX_CHARS - 1), HEX_CHARS - 1);
    digits[HEX_CHARS - 1] = '\0';
    if (!hex_number(digits, &check) || check != lmn__hash64(text.data, text.len - tail))
        return bad(reading, "check");
    return LMN_OK;
}

static enum lmn_status read_shuffle(struct reading *reading, struct lmn__cursor *cursor)
{
    const char *text;
    enum lmn_status st = read_text(reading, "shuffle", &text);

    if (st != LMN_OK)
        return st;
    for (int i = 0; i < SHUFFLE_COUNT; i++) {
        if (strcmp(text, shuffle_name[i]) == 0) {
            cursor->shuffle = (enum lmn_feed_shuffle)i;
            return LMN_OK;
        }
    }
    return bad(reading, "shuffle");
}

enum lmn_status lmn__cursor_read(struct lmn__span text, struct lmn__arena *arena,
                                 struct lmn__cursor *cursor_out, struct lmn_error *err)
{
    struct reading reading = { text, arena, err };
    struct lmn__cursor *cursor = cursor_out;
    enum lmn_status st = verify(&reading);

    *cursor = (struct lmn__cursor){ .columns = "", .where = "", .transform = "" };
    if (st != LMN_OK || (st = read_number(&reading, "version", &cursor->version)) != LMN_OK ||
        (st = read_hash(&reading, "data", &cursor->data)) != LMN_OK ||
        (st = read_number(&reading, "rows", &cursor->row_count)) != LMN_OK ||
        (st = read_text(&reading, "columns", &cursor->columns)) != LMN_OK ||
        (st = read_text(&reading, "where", &cursor->where)) != LMN_OK ||
        (st = read_text(&reading, "transform", &cursor->transform)) != LMN_OK ||
        (st = read_hash(&reading, "texts", &cursor->texts)) != LMN_OK ||
        (st = read_shuffle(&reading, cursor)) != LMN_OK ||
        (st = read_number(&reading, "seed", &cursor->seed)) != LMN_OK ||
        (st = read_number(&reading, "block_rows", &cursor->block_rows)) != LMN_OK ||
        (st = read_number(&reading, "window_rows", &cursor->window_rows)) != LMN_OK ||
        (st = read_number(&reading, "epoch", &cursor->epoch)) != LMN_OK ||
        (st = read_number(&reading, "position", &cursor->position)) != LMN_OK ||
        (st = read_number(&reading, "step", &cursor->step)) != LMN_OK)
        return st;
    if (cursor->position > cursor->row_count)
        return bad(&reading, "position");
    return read_segments(&reading, cursor);
}

static enum lmn_status differ(struct lmn_error *err, const char *what, const char *state,
                              const char *feed)
{
    return lmn_fail(err, LMN_E_CONFLICT,
                    "the state is of another run: its %s is \"%.150s\", the feed's \"%.150s\"",
                    what, state, feed);
}

static enum lmn_status differ_number(struct lmn_error *err, const char *what, uint64_t state,
                                     uint64_t feed)
{
    return lmn_fail(err, LMN_E_CONFLICT,
                    "the state is of another run: its %s is %" PRIu64 ", the feed's %" PRIu64, what,
                    state, feed);
}

/* Control characters are spaces in the text of a state. */
static bool same_text(const char *text, const char *written)
{
    while (*text != '\0' && ((uint8_t)*text < ' ' ? ' ' : *text) == *written) {
        text++;
        written++;
    }
    return *text == *written;
}

enum lmn_status lmn__cursor_match(const struct lmn__cursor *feed, const struct lmn__cursor *state,
                                  struct lmn_error *err)
{
    if (state->version != feed->version)
        return differ_number(err, "table version", state->version, feed->version);
    if (!same_text(feed->columns, state->columns))
        return differ(err, "list of columns", state->columns, feed->columns);
    if (!same_text(feed->where, state->where))
        return differ(err, "filter", state->where, feed->where);
    if (!same_text(feed->transform, state->transform))
        return differ(err, "transform", state->transform, feed->transform);
    if (state->texts != feed->texts)
        return lmn_fail(err, LMN_E_CONFLICT,
                        "the state is of another run: columns, filter or transform differ in "
                        "control characters");
    if (state->shuffle != feed->shuffle)
        return differ(err, "shuffle", shuffle_name[state->shuffle], shuffle_name[feed->shuffle]);
    if (state->seed != feed->seed)
        return differ_number(err, "seed", state->seed, feed->seed);
    if (state->block_rows != feed->block_rows)
        return differ_number(err, "block size", state->block_rows, feed->block_rows);
    if (state->window_rows != feed->window_rows)
        return differ_number(err, "window", state->window_rows, feed->window_rows);
    if (state->data != feed->data || state->row_count != feed->row_count)
        return lmn_fail(err, LMN_E_CONFLICT,
                        "the state is of another table: its version %" PRIu64 " has %" PRIu64
                        " rows and is %016" PRIx64 ", the feed's has %" PRIu64
                        " and is %016" PRIx64,
                        state->version, state->row_count, state->data, feed->row_count, feed->data);
    return LMN_OK;
}
