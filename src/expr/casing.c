/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/casing.h"

/* Upper-case letters from `first` to `last`, `step` apart, are `shift` below their lower case. */
static const struct {
    uint32_t first, last, step;
    int32_t shift;
} ranges[] = {
    { 'A', 'Z', 1, 32 },      { 0xc0, 0xd6, 1, 32 },     { 0xd8, 0xde, 1, 32 },
    { 0x100, 0x12e, 2, 1 },   { 0x132, 0x136, 2, 1 },    { 0x139, 0x147, 2, 1 },
    { 0x14a, 0x176, 2, 1 },   { 0x178, 0x178, 1, -121 }, { 0x179, 0x17d, 2, 1 },
    { 0x1cd, 0x1db, 2, 1 },   { 0x1de, 0x1ee, 2, 1 },    { 0x1f8, 0x21e, 2, 1 },
    { 0x222, 0x232, 2, 1 },   { 0x386, 0x386, 1, 38 },   { 0x388, 0x38a, 1, 37 },
    { 0x38c, 0x38c, 1, 64 },  { 0x38e, 0x38f, 1, 63 },   { 0x391, 0x3a1, 1, 32 },
    { 0x3a3, 0x3ab, 1, 32 },  { 0x400, 0x40f, 1, 80 },   { 0x410, 0x42f, 1, 32 },
    { 0x460, 0x480, 2, 1 },   { 0x48a, 0x4be, 2, 1 },    { 0x4c1, 0x4cd, 2, 1 },
    { 0x4d0, 0x52e, 2, 1 },   { 0x531, 0x556, 1, 48 },   { 0x1e00, 0x1e94, 2, 1 },
    { 0x1ea0, 0x1efe, 2, 1 }, { 0xff21, 0xff3a, 1, 32 },
};

enum { RANGE_COUNT = sizeof ranges / sizeof ranges[0] };

uint32_t lmn__letter_lower(uint32_t c)
{
    if (c < 0x80)
        return c >= 'A' && c <= 'Z' ? c + 32 : c;
    for (int i = 1; i < RANGE_COUNT; i++) {
        if (c >= ranges[i].first && c <= ranges[i].last &&
            (c - ranges[i].first) % ranges[i].step == 0)
            return (uint32_t)((int32_t)c + ranges[i].shift);
    }
    return c;
}

uint32_t lmn__letter_upper(uint32_t c)
{
    if (c < 0x80)
        return c >= 'a' && c <= 'z' ? c - 32 : c;
    for (int i = 1; i < RANGE_COUNT; i++) {
        uint32_t back = (uint32_t)((int32_t)c - ranges[i].shift);

        if (back >= ranges[i].first && back <= ranges[i].last &&
            (back - ranges[i].first) % ranges[i].step == 0)
            return back;
    }
    return c == 0x3c2 ? 0x3a3 : c; /* the sigma at the end of a word */
}

uint32_t lmn__utf8_decode(struct lmn__span text, uint32_t *bytes_out)
{
    uint8_t first = text.data[0];
    uint32_t bytes = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    uint32_t c = bytes == 1 ? first : first & (0xffu >> (bytes + 1));

    /* Strings of a batch are taken to be UTF-8, but never read behind their end. */
    if (bytes > text.len) {
        *bytes_out = 1;
        return first;
    }
    for (uint32_t i = 1; i < bytes; i++)
        c = c << 6 | (text.data[i] & 0x3f);
    *bytes_out = bytes;
    return c;
}

uint32_t lmn__utf8_encode(uint32_t c, uint8_t *out)
{
    if (c < 0x80) {
        out[0] = (uint8_t)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (uint8_t)(0xc0 | c >> 6);
        out[1] = (uint8_t)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (uint8_t)(0xe0 | c >> 12);
        out[1] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        out[2] = (uint8_t)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (uint8_t)(0xf0 | c >> 18);
    out[1] = (uint8_t)(0x80 | (c >> 12 & 0x3f));
    out[2] = (uint8_t)(0x80 | (c >> 6 & 0x3f));
    out[3] = (uint8_t)(0x80 | (c & 0x3f));
    return 4;
}

/* As far as the text is ASCII; returns where that ends. */
static size_t map_ascii(struct lmn__span text, bool up, uint8_t *out)
{
    uint8_t first = up ? 'a' : 'A';
    size_t i = 0;

    for (; i < text.len && text.data[i] < 0x80; i++) {
        uint8_t c = text.data[i];

        out[i] = (uint8_t)(c ^ ((uint8_t)(c - first) < 26 ? 0x20 : 0));
    }
    return i;
}

/* A letter and its counterpart take the same number of bytes, or the counterpart fewer. */
static size_t map_text(struct lmn__span text, uint32_t (*map)(uint32_t), uint8_t *out)
{
    size_t used = map_ascii(text, map == lmn__letter_upper, out);

    for (size_t i = used; i < text.len;) {
        uint32_t bytes, c;

        if (text.data[i] < 0x80) {
            out[used++] = (uint8_t)map(text.data[i++]);
            continue;
        }
        c = lmn__utf8_decode((struct lmn__span){ text.data + i, text.len - i }, &bytes);
        if (bytes == 1 || map(c) == c) {
            memcpy(out + used, text.data + i, bytes);
            used += bytes;
        } else {
            used += lmn__utf8_encode(map(c), out + used);
        }
        i += bytes;
    }
    return used;
}

static enum lmn_status map_all(struct lmn__frame *frame, uint32_t (*map)(uint32_t),
                               const struct lmn__vector *arg, uint32_t rows,
                               struct lmn__vector *out)
{
    const struct lmn__span *from = arg->values;
    struct lmn__span *spans;
    uint64_t bytes = 0;
    uint8_t *text;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_SPAN, rows, &spans);

    for (uint32_t i = 0; i < rows; i++)
        bytes += lmn__vector_is_null(arg, i) ? 0 : from[i].len;
    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, bytes, &text, frame->err);
    for (uint32_t i = 0; st == LMN_OK && i < rows; i++) {
        size_t len = lmn__vector_is_null(arg, i) ? 0 : map_text(from[i], map, text);

        spans[i] = (struct lmn__span){ text, len };
        text += len;
    }
    out->values = spans;
    return st;
}

enum lmn_status lmn__lower_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t rows,
                                  struct lmn__vector *out)
{
    (void)term;
    return map_all(frame, lmn__letter_lower, arg, rows, out);
}

enum lmn_status lmn__upper_kernel(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t rows,
                                  struct lmn__vector *out)
{
    (void)term;
    return map_all(frame, lmn__letter_upper, arg, rows, out);
}

enum lmn_status lmn__bind_lower(struct lmn__binder *binder, struct lmn__term **term)
{
    const struct lmn__type string = lmn__type_plain(LMN__KIND_STRING);
    struct lmn__term *child = *term;
    enum lmn_status st = lmn__bind_call(binder, child->place, lmn__lower_kernel, &string, &child, 1,
                                        term);

    return st == LMN_OK ? lmn__bind_fold(binder, term) : st;
}
