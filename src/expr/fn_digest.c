/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hashes of strings and binaries, and bytes as text. md5() gives hex digits, as everywhere; the
 * others give bytes, and digest() bytes of all of them.
 */
#include "base/md5.h"
#include "base/sha256.h"
#include "base/sha512.h"
#include "expr/function.h"
#include "expr/text_rows.h"

typedef void (*hash_fn)(const void *data, size_t len, uint8_t *hash_out);

static const struct {
    const char *name;
    hash_fn hash;
    uint32_t bytes;
} hashes[] = {
    { "md5", lmn__md5, LMN__MD5_BYTES },          { "sha224", lmn__sha224, LMN__SHA224_BYTES },
    { "sha256", lmn__sha256, LMN__SHA256_BYTES }, { "sha384", lmn__sha384, LMN__SHA384_BYTES },
    { "sha512", lmn__sha512, LMN__SHA512_BYTES },
};

enum { MD5, SHA224, SHA256, SHA384, SHA512, HASH_COUNT, AS_NAMED };

static const char digits[] = "0123456789abcdef";

static enum lmn_status hash_row(struct lmn__frame *frame, const struct lmn__term *term,
                                const struct lmn__vector *arg, uint32_t row,
                                struct lmn__span *span_out)
{
    struct lmn__span from = lmn__vector_span(arg, row);
    uint32_t bytes = hashes[term->choice].bytes;
    uint8_t *made;
    enum lmn_status st = lmn__text_take(frame, term, row, bytes, &made);

    if (st != LMN_OK)
        return st;
    hashes[term->choice].hash(from.data, from.len, made);
    *span_out = (struct lmn__span){ made, bytes };
    return LMN_OK;
}

static enum lmn_status hex_row(struct lmn__frame *frame, const struct lmn__term *term,
                               const struct lmn__vector *arg, uint32_t row,
                               struct lmn__span *span_out)
{
    struct lmn__span from = lmn__vector_span(arg, row);
    uint8_t *made;
    enum lmn_status st = lmn__text_take(frame, term, row, (uint64_t)from.len * 2, &made);

    for (size_t i = 0; st == LMN_OK && i < from.len; i++) {
        made[2 * i] = (uint8_t)digits[from.data[i] >> 4];
        made[2 * i + 1] = (uint8_t)digits[from.data[i] & 15];
    }
    *span_out = (struct lmn__span){ made, from.len * 2 };
    return st;
}

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* The bytes that hex digits or letters of base64 stand for; `choice` bits each. */
static enum lmn_status decode_row(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t row,
                                  struct lmn__span *span_out)
{
    struct lmn__span from = lmn__vector_span(arg, row);
    const char *name = term->choice == 4 ? "hex" : "base64";
    uint32_t width = (uint32_t)term->choice, held = 0, bits = 0;
    size_t used = 0;
    uint8_t *made;
    enum lmn_status st = lmn__text_take(frame, term, row, from.len, &made);

    for (int i = 0; i < 2 && width == 6 && from.len != 0 && from.data[from.len - 1] == '='; i++)
        from.len--;
    for (size_t i = 0; st == LMN_OK && i < from.len; i++) {
        uint8_t c = from.data[i];
        const char *set = width == 6 ? letters : digits;
        const char *at = c == 0 ? NULL
                                : strchr(set, width == 4 && c >= 'A' && c <= 'F' ? c | 32 : c);

        if (at == NULL)
            return lmn__frame_fail(frame, term, row, "byte %zu of the string is no %s", i, name);
        held = held << width | (uint32_t)(at - set);
        bits += width;
        if (bits >= 8) {
            bits -= 8;
            made[used++] = (uint8_t)(held >> bits);
        }
    }
    if (st == LMN_OK && bits >= width)
        return lmn__frame_fail(frame, term, row, "the string ends inside of a byte in %s", name);
    *span_out = (struct lmn__span){ made, used };
    return st;
}

/* With the signs that fill up the last group where `choice` is not 0. */
static enum lmn_status base64_row(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t row,
                                  struct lmn__span *span_out)
{
    struct lmn__span from = lmn__vector_span(arg, row);
    uint64_t used = 0;
    uint32_t held = 0, bits = 0;
    uint8_t *made;
    enum lmn_status st = lmn__text_take(frame, term, row, (uint64_t)from.len / 3 * 4 + 4, &made);

    for (size_t i = 0; st == LMN_OK && i < from.len; i++) {
        held = held << 8 | from.data[i];
        for (bits += 8; bits >= 6; bits -= 6)
            made[used++] = (uint8_t)letters[held >> (bits - 6) & 63];
    }
    if (st == LMN_OK && bits != 0)
        made[used++] = (uint8_t)letters[held << (6 - bits) & 63];
    while (st == LMN_OK && term->choice != 0 && used % 4 != 0)
        made[used++] = '=';
    *span_out = (struct lmn__span){ made, used };
    return st;
}

/* A whole number as hex digits: those of its 64 bits. */
static enum lmn_status number_row(struct lmn__frame *frame, const struct lmn__term *term,
                                  const struct lmn__vector *arg, uint32_t row,
                                  struct lmn__span *span_out)
{
    uint64_t value = (uint64_t)lmn__vector_i64(arg, row);
    size_t at = 16;
    uint8_t *made;
    enum lmn_status st = lmn__text_take(frame, term, row, at, &made);

    if (st != LMN_OK)
        return st;
    do {
        made[--at] = (uint8_t)digits[value & 15];
        value >>= 4;
    } while (value != 0);
    *span_out = (struct lmn__span){ made + at, 16 - at };
    return LMN_OK;
}

/* A call of `row` on the bytes of arg[0]. */
static enum lmn_status bind_bytes(struct lmn__binder *binder, uint32_t place, lmn__text_fn row,
                                  enum lmn__kind kind, struct lmn__term **arg,
                                  struct lmn__term **term_out)
{
    const struct lmn__type type = lmn__type_plain(kind);
    enum lmn_status st = lmn__bind_bytes(binder, &arg[0]);

    if (st == LMN_OK)
        st = lmn__bind_call(binder, place, lmn__text_kernel, &type, arg, 1, term_out);
    if (st == LMN_OK)
        (*term_out)->text_of_row = row;
    return st;
}

/* Is the constant string `term` the word `name`? */
static bool names(const struct lmn__term *term, const char *name)
{
    const struct lmn__span *text = term->constant.values;

    return text->len == strlen(name) && memcmp(text->data, name, text->len) == 0;
}

static bool is_word(const struct lmn__term *term)
{
    return term->op == LMN__OP_CONSTANT && term->type.kind == LMN__KIND_STRING &&
           !lmn__term_is_null(term);
}

/* `choice` is the hash; AS_NAMED: the second argument names it. */
static enum lmn_status bind_hash(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                 struct lmn__term **arg, uint32_t count,
                                 struct lmn__term **term_out)
{
    struct lmn__term *made;
    bool named = choice == AS_NAMED;
    enum lmn_status st;

    (void)count;
    for (int32_t i = 0; named && choice == AS_NAMED && is_word(arg[1]) && i < HASH_COUNT; i++)
        choice = names(arg[1], hashes[i].name) ? i : choice;
    if (choice == AS_NAMED)
        return lmn__bind_fail(binder, arg[1]->place, LMN_E_UNSUPPORTED,
                              "digest() knows 'md5', 'sha224', 'sha256', 'sha384' and 'sha512'");
    st = bind_bytes(binder, place, hash_row, LMN__KIND_BINARY, arg, &made);
    if (st != LMN_OK)
        return st;
    made->choice = choice;
    made->name = hashes[choice].name;
    *term_out = made;
    return choice == MD5 && !named
               ? bind_bytes(binder, place, hex_row, LMN__KIND_STRING, &made, term_out)
               : LMN_OK;
}

static enum lmn_status bind_encode(struct lmn__binder *binder, uint32_t place, int32_t choice,
                                   struct lmn__term **arg, uint32_t count,
                                   struct lmn__term **term_out)
{
    bool known = is_word(arg[1]), hex = known && names(arg[1], "hex");
    bool padded = known && names(arg[1], "base64pad");
    lmn__text_fn row = choice != 0 ? decode_row : hex ? hex_row : base64_row;
    enum lmn_status st;

    (void)count;
    if (!hex && !padded && !(known && names(arg[1], "base64")))
        return lmn__bind_fail(binder, arg[1]->place, LMN_E_UNSUPPORTED,
                              "%s() knows 'hex', 'base64' and 'base64pad'",
                              choice != 0 ? "decode" : "encode");
    st = bind_bytes(binder, place, row, choice != 0 ? LMN__KIND_BINARY : LMN__KIND_STRING, arg,
                    term_out);
    if (st == LMN_OK)
        (*term_out)->choice = choice == 0 ? padded : hex ? 4 : 6;
    return st;
}

const struct lmn__function lmn__digest_functions[] = {
    LMN__BOUND_FUNCTION("md5", 1, 1, bind_hash, MD5),
    LMN__BOUND_FUNCTION("sha224", 1, 1, bind_hash, SHA224),
    LMN__BOUND_FUNCTION("sha256", 1, 1, bind_hash, SHA256),
    LMN__BOUND_FUNCTION("sha384", 1, 1, bind_hash, SHA384),
    LMN__BOUND_FUNCTION("sha512", 1, 1, bind_hash, SHA512),
    LMN__BOUND_FUNCTION("digest", 2, 2, bind_hash, AS_NAMED),
    LMN__BOUND_FUNCTION("encode", 2, 2, bind_encode, 0),
    LMN__BOUND_FUNCTION("decode", 2, 2, bind_encode, 1),
    LMN__TEXT_FUNCTION("to_hex", 1, 1, "i>s", number_row, 0),
    { 0 },
};
