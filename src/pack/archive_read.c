/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is read may have been written by anybody: no number is used before it is checked, no more
 * than the stated bytes are given on, and the name of the archive is computed anew from what was.
 */
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "base/error.h"
#include "pack/archive.h"
#include "pack/tar_header.h"

enum { PIECE_BYTES = 256 << 10, PATH_CHARS = 4097 };

struct reader {
    struct lmn_env *env; /* borrowed */
    const struct lmn__object *object;
    const struct lmn__member_sink *sink;
    ZSTD_DCtx *zstd;
    uint8_t *in, *out; /* PIECE_BYTES each */
    ZSTD_inBuffer frame;
    uint64_t offset;        /* in the object, of the next byte to read */
    size_t out_at, out_len; /* plain bytes that are not taken yet */
    bool ended;             /* the frame has */
    uint64_t left;          /* bytes of content that may still come */
    struct lmn__sha256_state name;
    char path[PATH_CHARS]; /* of the last member */
};

static enum lmn_status refill(struct reader *reader, struct lmn_error *err)
{
    while (reader->out_at == reader->out_len) {
        ZSTD_outBuffer out = { reader->out, PIECE_BYTES, 0 };
        size_t left;

        if (reader->frame.pos == reader->frame.size && !reader->ended) {
            uint64_t rest = reader->object->bytes - reader->offset;
            size_t len = rest < PIECE_BYTES ? (size_t)rest : PIECE_BYTES;
            enum lmn_status st = lmn__object_read(reader->object, reader->offset, reader->in, len,
                                                  err);

            if (st != LMN_OK)
                return st;
            reader->offset += len;
            reader->frame = (ZSTD_inBuffer){ reader->in, len, 0 };
        }
        if (reader->ended || reader->frame.size == 0)
            return lmn_fail(err, LMN_E_CORRUPT, "it ends before its end mark");
        left = ZSTD_decompressStream(reader->zstd, &out, &reader->frame);
        if (ZSTD_isError(left))
            return lmn_fail(err, LMN_E_CORRUPT, "zstd: %s", ZSTD_getErrorName(left));
        reader->ended = left == 0;
        reader->out_at = 0;
        reader->out_len = out.pos;
    }
    return LMN_OK;
}

/* At most `len` bytes, at least one. */
static enum lmn_status take(struct reader *reader, uint64_t len, struct lmn__span *bytes_out,
                            struct lmn_error *err)
{
    enum lmn_status st = refill(reader, err);
    size_t there = reader->out_len - reader->out_at;

    if (st != LMN_OK)
        return st;
    *bytes_out = (struct lmn__span){ reader->out + reader->out_at,
                                     there < len ? there : (size_t)len };
    reader->out_at += bytes_out->len;
    return LMN_OK;
}

static enum lmn_status take_all(struct reader *reader, uint8_t *data, size_t len,
                                struct lmn_error *err)
{
    struct lmn__span piece;
    enum lmn_status st = LMN_OK;

    for (size_t at = 0; at < len && st == LMN_OK; at += piece.len) {
        piece.len = 0;
        st = take(reader, len - at, &piece, err);
        if (st == LMN_OK)
            memcpy(data + at, piece.data, piece.len);
    }
    return st;
}

/* Pass over the zeros behind a content. */
static enum lmn_status take_padding(struct reader *reader, uint64_t bytes, struct lmn_error *err)
{
    uint8_t block[LMN__TAR_BLOCK];
    size_t len = (size_t)(-bytes % LMN__TAR_BLOCK);
    enum lmn_status st = take_all(reader, block, len, err);

    for (size_t i = 0; i < len && st == LMN_OK; i++) {
        if (block[i] != 0)
            st = lmn_fail(err, LMN_E_CORRUPT, "bytes behind the end of %s", reader->path);
    }
    return st;
}

/* A path must be safe and follow the one before. */
static enum lmn_status set_path(struct reader *reader, struct lmn__span path, struct lmn_error *err)
{
    char before[PATH_CHARS];

    memcpy(before, reader->path, sizeof before);
    if (path.len >= PATH_CHARS || !lmn__tree_path_is_safe(path.data, path.len))
        return lmn_fail(err, LMN_E_CORRUPT, "an unsafe path: %.*s",
                        (int)(path.len < 200 ? path.len : 200), (const char *)path.data);
    memcpy(reader->path, path.data, path.len);
    reader->path[path.len] = '\0';
    if (strcmp(before, reader->path) >= 0)
        return lmn_fail(err, LMN_E_CORRUPT, "%.150s comes behind %.150s", reader->path, before);
    return LMN_OK;
}

static enum lmn_status read_content(struct reader *reader, const struct lmn__tar_header *header,
                                    struct lmn_error *err)
{
    const struct lmn__member_sink *sink = reader->sink;
    struct lmn__sha256_state state;
    uint8_t hash[LMN__SHA256_BYTES];
    struct lmn__span piece;
    enum lmn_status st;

    if (header->bytes > reader->left)
        return lmn_fail(err, LMN_E_CORRUPT, "%s has %llu bytes, and only %llu are left",
                        reader->path, (unsigned long long)header->bytes,
                        (unsigned long long)reader->left);
    reader->left -= header->bytes;
    lmn__sha256_start(&state);
    st = sink->begin(sink->self, reader->path, header->executable, err);
    for (uint64_t at = 0; at < header->bytes && st == LMN_OK; at += piece.len) {
        piece.len = 0;
        st = take(reader, header->bytes - at, &piece, err);
        if (st == LMN_OK) {
            lmn__sha256_add(&state, piece.data, piece.len);
            st = sink->data(sink->self, piece.data, piece.len, err);
        }
    }
    if (st == LMN_OK)
        st = sink->end(sink->self, err);
    if (st != LMN_OK)
        return st;
    lmn__sha256_end(&state, hash);
    lmn__archive_name_member(&reader->name, reader->path, header->executable, header->bytes, hash);
    return take_padding(reader, header->bytes, err);
}

/* One member; *more_out is false at the end mark. */
static enum lmn_status read_member(struct reader *reader, bool *more_out, struct lmn_error *err)
{
    uint8_t block[LMN__TAR_BLOCK], pax[8192];
    struct lmn__span path = { NULL, 0 };
    struct lmn__tar_header header;
    enum lmn_status st = take_all(reader, block, sizeof block, err);

    if (st == LMN_OK)
        st = lmn__tar_header_read(block, &header, err);
    if (st == LMN_OK && header.kind == LMN__TAR_PAX) {
        size_t len = (size_t)header.bytes; /* at most the 8192 that the header may state */

        st = take_all(reader, pax, len, err);
        if (st == LMN_OK)
            st = take_padding(reader, len, err);
        if (st == LMN_OK && !lmn__tar_pax_path((struct lmn__span){ pax, len }, &path))
            st = lmn_fail(err, LMN_E_CORRUPT, "a pax header that is no path");
        if (st == LMN_OK)
            st = take_all(reader, block, sizeof block, err);
        if (st == LMN_OK)
            st = lmn__tar_header_read(block, &header, err);
        if (st == LMN_OK && header.kind != LMN__TAR_FILE)
            st = lmn_fail(err, LMN_E_CORRUPT, "a pax header without its file");
    }
    if (st != LMN_OK)
        return st;
    *more_out = header.kind == LMN__TAR_FILE;
    if (!*more_out)
        return take_all(reader, block, sizeof block, err);
    if (path.data == NULL)
        path = (struct lmn__span){ (const uint8_t *)header.name, strlen(header.name) };
    st = set_path(reader, path, err);
    return st == LMN_OK ? read_content(reader, &header, err) : st;
}

static enum lmn_status reader_open(struct reader *reader, struct lmn_error *err)
{
    reader->in = lmn__alloc(reader->env, PIECE_BYTES);
    reader->out = lmn__alloc(reader->env, PIECE_BYTES);
    reader->zstd = ZSTD_createDCtx();
    lmn__sha256_start(&reader->name);
    if (reader->in == NULL || reader->out == NULL || reader->zstd == NULL)
        return lmn__no_memory(err, "an archive", 2 * PIECE_BYTES);
    return LMN_OK;
}

enum lmn_status lmn__archive_read(struct lmn_env *env, const struct lmn__object *object,
                                  const char *hash, uint64_t bytes,
                                  const struct lmn__member_sink *sink, struct lmn_error *err)
{
    struct reader reader = { .env = env, .object = object, .sink = sink, .left = bytes };
    uint8_t found[LMN__SHA256_BYTES];
    char digits[LMN__SHA256_HEX];
    bool more = true;
    enum lmn_status st = reader_open(&reader, err);

    while (st == LMN_OK && more)
        st = read_member(&reader, &more, err);
    if (st == LMN_OK) {
        lmn__sha256_end(&reader.name, found);
        lmn__sha256_digits(found, digits);
        if (strcmp(digits, hash) != 0)
            st = lmn_fail(err, LMN_E_CORRUPT, "it holds %.16s..., which is not what its name says",
                          digits);
    }
    lmn__free(env, reader.in);
    lmn__free(env, reader.out);
    ZSTD_freeDCtx(reader.zstd);
    return st == LMN_OK ? LMN_OK : lmn__fail_within(err, st, "archive %s", object->name);
}
