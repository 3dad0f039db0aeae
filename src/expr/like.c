/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A pattern is cut into pieces at its '%'. A piece without '_' is plain bytes: a pattern of one
 * such piece is a comparison of a start, an end, or a search. Other patterns are matched piece by
 * piece, each at the first place where it fits, which is enough because '%' takes any text; only
 * the last piece is tied to the end.
 */
#include "expr/like.h"

#include "expr/casing.h"

enum { ANY_CHARACTER = 0xff }; /* '_' in a piece: no byte of UTF-8 */
enum { SHORT_BYTES = 32 };

struct pattern {
    bool open_start, open_end; /* '%' at its ends */
    uint32_t count;
    struct lmn__span *piece; /* not empty; ANY_CHARACTER stands for '_' */
    bool *plain;             /* no ANY_CHARACTER in it */
};

const uint8_t *lmn__find_bytes(struct lmn__span text, struct lmn__span needle)
{
    const uint8_t *at = text.data, *last;

    if (needle.len == 0)
        return text.data != NULL ? text.data : needle.data;
    if (needle.len > text.len)
        return NULL;
    last = text.data + (text.len - needle.len);
    /* In a short text, looking at each byte is faster than asking for the next one. */
    if (text.len <= SHORT_BYTES) {
        for (; at <= last; at++) {
            if (*at == needle.data[0] && memcmp(at, needle.data, needle.len) == 0)
                return at;
        }
        return NULL;
    }
    while (at <= last) {
        at = memchr(at, needle.data[0], (size_t)(last - at) + 1);
        if (at == NULL)
            return NULL;
        if (memcmp(at, needle.data, needle.len) == 0)
            return at;
        at++;
    }
    return NULL;
}

/* Cut `text`; `bytes` has room for all of it, `piece` and `plain` for one more than its '%'. */
static void pattern_cut(struct lmn__span text, uint8_t escape, uint8_t *bytes,
                        struct pattern *pattern)
{
    size_t used = 0, start = 0;
    bool plain = true, percent = false;

    pattern->count = 0;
    pattern->open_start = text.len != 0 && text.data[0] == '%' && escape != '%';
    for (size_t i = 0; i <= text.len; i++) {
        bool end = i == text.len, escaped = false;

        if (!end && text.data[i] == escape && escape != 0 && i + 1 < text.len) {
            escaped = true;
            i++;
        }
        percent = !end && !escaped && text.data[i] == '%';
        if (!percent && !end) {
            bool any = !escaped && text.data[i] == '_';

            plain = plain && !any;
            bytes[used++] = any ? ANY_CHARACTER : text.data[i];
            pattern->open_end = false;
            continue;
        }
        if (used != start) {
            pattern->piece[pattern->count] = (struct lmn__span){ bytes + start, used - start };
            pattern->plain[pattern->count++] = plain;
        }
        pattern->open_end = percent || (end && pattern->open_end);
        start = used;
        plain = true;
    }
}

/* Does a piece fit at the start of `text`? Its length in the text, or SIZE_MAX. */
static size_t piece_fits(struct lmn__span piece, struct lmn__span text)
{
    size_t at = 0;

    for (size_t i = 0; i < piece.len; i++) {
        if (at == text.len)
            return SIZE_MAX;
        if (piece.data[i] != ANY_CHARACTER) {
            if (text.data[at++] != piece.data[i])
                return SIZE_MAX;
            continue;
        }
        at++;
        while (at < text.len && (text.data[at] & 0xc0) == 0x80)
            at++;
    }
    return at;
}

/* Does a piece fit the end of `text`? */
static bool piece_ends(struct lmn__span piece, bool plain, struct lmn__span text)
{
    if (plain)
        return piece.len <= text.len &&
               memcmp(text.data + (text.len - piece.len), piece.data, piece.len) == 0;
    for (size_t i = 0; i < text.len; i++) {
        struct lmn__span rest = { text.data + i, text.len - i };

        if ((text.data[i] & 0xc0) != 0x80 && piece_fits(piece, rest) == rest.len)
            return true;
    }
    return false;
}

/* The rest of the text behind the first place where the piece fits. */
static bool piece_find(struct lmn__span piece, bool plain, struct lmn__span *text)
{
    if (plain) {
        const uint8_t *at = lmn__find_bytes(*text, piece);

        if (at == NULL)
            return false;
        at += piece.len;
        *text = (struct lmn__span){ at, (size_t)(text->data + text->len - at) };
        return true;
    }
    for (size_t i = 0; i < text->len; i++) {
        struct lmn__span rest = { text->data + i, text->len - i };
        size_t len = piece_fits(piece, rest);

        if ((text->data[i] & 0xc0) != 0x80 && len != SIZE_MAX) {
            *text = (struct lmn__span){ rest.data + len, rest.len - len };
            return true;
        }
    }
    return false;
}

static bool pattern_fits(const struct pattern *pattern, struct lmn__span text)
{
    uint32_t i = 0, count = pattern->count;

    if (count == 0)
        return pattern->open_start || text.len == 0;
    if (!pattern->open_start) {
        size_t len = piece_fits(pattern->piece[0], text);

        if (len == SIZE_MAX || (count == 1 && !pattern->open_end && len != text.len))
            return false;
        text = (struct lmn__span){ text.data + len, text.len - len };
        if (++i == count)
            return true;
    }
    for (; i + 1 < count; i++) {
        if (!piece_find(pattern->piece[i], pattern->plain[i], &text))
            return false;
    }
    if (pattern->open_end)
        return piece_find(pattern->piece[i], pattern->plain[i], &text);
    return piece_ends(pattern->piece[i], pattern->plain[i], text);
}

/* A pattern that is not known before its row. */
static enum lmn_status pattern_of_row(struct lmn__frame *frame, const struct lmn__term *term,
                                      struct lmn__span text, struct pattern *pattern)
{
    size_t pieces = text.len + 1;
    uint8_t *bytes;
    enum lmn_status st = lmn__slate_take(frame->slate, text.len, &bytes, frame->err);

    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, pieces * sizeof *pattern->piece, &pattern->piece,
                             frame->err);
    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, pieces, &pattern->plain, frame->err);
    if (st == LMN_OK)
        pattern_cut(text, (uint8_t)term->choice, bytes, pattern);
    return st;
}

/* A pattern of one plain piece with '%' on one side or both. */
static bool piece_kernel(const struct lmn__term *term, const struct lmn__vector *arg, uint32_t rows,
                         uint8_t *bits)
{
    const struct pattern *pattern = term->data;
    const struct lmn__span *text = arg->values;
    struct lmn__span piece;

    if (pattern == NULL || pattern->count != 1 || !pattern->plain[0] ||
        !(pattern->open_start || pattern->open_end))
        return false;
    piece = pattern->piece[0];
    for (uint32_t i = 0; i < rows; i++) {
        bool fits = piece.len <= text[i].len;

        if (fits && pattern->open_start && pattern->open_end)
            fits = lmn__find_bytes(text[i], piece) != NULL;
        else if (fits && pattern->open_start)
            fits = memcmp(text[i].data + (text[i].len - piece.len), piece.data, piece.len) == 0;
        else if (fits)
            fits = text[i].data[0] == piece.data[0] &&
                   memcmp(text[i].data, piece.data, piece.len) == 0;
        lmn__bit_put(bits, i, fits != term->negated);
    }
    return true;
}

/* term->data is the prepared pattern, NULL when it differs by row. */
static enum lmn_status like_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                   const struct lmn__vector *arg, uint32_t rows,
                                   struct lmn__vector *out)
{
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    out->values = bits;
    if (st == LMN_OK && piece_kernel(term, arg, rows, bits))
        return LMN_OK;
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        const struct pattern *pattern = term->data;
        struct lmn__slate_mark mark = lmn__slate_mark(frame->slate);
        struct lmn__span text = lmn__vector_span(&arg[0], i);
        struct pattern own = { 0 };

        if (out->validity != NULL && !lmn__bit_get(out->validity, i)) {
            lmn__bit_clear(bits, i);
            continue;
        }
        if (pattern == NULL) {
            st = pattern_of_row(frame, term, lmn__vector_span(&arg[1], i), &own);
            pattern = &own;
        }
        if (st == LMN_OK)
            lmn__bit_put(bits, i, pattern_fits(pattern, text) != term->negated);
        lmn__slate_wipe(frame->slate, mark);
    }
    return st;
}

bool lmn__like_prefix(const struct lmn__term *term, struct lmn__span *prefix_out)
{
    const struct pattern *pattern = term->data;

    if (term->kernel != like_kernel || pattern == NULL || pattern->open_start ||
        pattern->count == 0 || !pattern->plain[0] || term->child[0]->op != LMN__OP_COLUMN)
        return false;
    *prefix_out = pattern->piece[0];
    return true;
}

static enum lmn_status prepare(struct lmn__binder *binder, struct lmn__term *term)
{
    const struct lmn__span *text = term->child[1]->constant.values;
    struct pattern *pattern = lmn__arena_alloc(binder->arena, sizeof *pattern);
    uint8_t *bytes = lmn__arena_alloc(binder->arena, text->len + 1);

    if (pattern == NULL || bytes == NULL)
        return lmn__bind_no_memory(binder);
    pattern->piece = lmn__arena_array(binder->arena, text->len + 1, sizeof *pattern->piece);
    pattern->plain = lmn__arena_array(binder->arena, text->len + 1, sizeof *pattern->plain);
    if (pattern->piece == NULL || pattern->plain == NULL)
        return lmn__bind_no_memory(binder);
    pattern_cut(*text, (uint8_t)term->choice, bytes, pattern);
    term->data = pattern;
    return LMN_OK;
}

enum lmn_status lmn__bind_like(struct lmn__binder *binder, const struct lmn__syntax *syntax,
                               struct lmn__term **term_out)
{
    const struct lmn__type condition = lmn__type_plain(LMN__KIND_BOOL);
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    char text[LMN__TYPE_TEXT_BYTES];
    struct lmn__term *pair[2];
    enum lmn_status st = LMN_OK;

    for (int i = 0; st == LMN_OK && i < 2; i++) {
        st = lmn__bind_syntax(binder, syntax->child[i], &pair[i]);
        if (st == LMN_OK && pair[i]->type.kind != LMN__KIND_STRING &&
            pair[i]->type.kind != LMN__KIND_NULL)
            return lmn__bind_fail(binder, syntax->child[i]->place, LMN_E_INVALID,
                                  "LIKE takes strings, not %s",
                                  lmn__type_text(&pair[i]->type, text));
        if (st == LMN_OK)
            st = lmn__bind_convert(binder, &pair[i], &string, LMN__CONVERT_CAST);
        if (st == LMN_OK && syntax->fold)
            st = lmn__bind_lower(binder, &pair[i]);
    }
    if (st == LMN_OK)
        st = lmn__bind_call(binder, syntax->place, like_kernel, &condition, pair, 2, term_out);
    if (st != LMN_OK)
        return st;
    (*term_out)->negated = syntax->flag;
    (*term_out)->choice = syntax->escape != 0 ? syntax->escape : '\\';
    if (pair[1]->op == LMN__OP_CONSTANT && !lmn__term_is_null(pair[1]))
        st = prepare(binder, *term_out);
    return st == LMN_OK ? lmn__bind_fold(binder, term_out) : st;
}
