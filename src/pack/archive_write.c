/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "os/clock.h"
#include "os/file.h"
#include "pack/archive.h"
#include "pack/tar_header.h"
#include "store/draft.h"

enum { LEVEL = 3, PIECE_BYTES = 256 << 10, FILE_DIGITS = 33 };

struct writer {
    struct lmn_env *env; /* borrowed */
    struct lmn__draft draft;
    ZSTD_CCtx *zstd;
    uint8_t *in, *out; /* PIECE_BYTES each */
    uint64_t offset;
    uint64_t upload_ns;
};

void lmn__archive_path(const char *hash, char path_out[LMN__ARCHIVE_PATH_CHARS])
{
    snprintf(path_out, LMN__ARCHIVE_PATH_CHARS, LMN__ARCHIVE_FOLDER "/%.64s", hash);
}

bool lmn__archive_is_hash(const char *text)
{
    return strlen(text) == LMN__SHA256_HEX - 1 &&
           strspn(text, "0123456789abcdef") == LMN__SHA256_HEX - 1;
}

static enum lmn_status compress(struct writer *writer, const void *data, size_t len, bool ends,
                                struct lmn_error *err)
{
    ZSTD_inBuffer in = { data, len, 0 };
    size_t left = 1;

    while (in.pos < in.size || (ends && left != 0)) {
        ZSTD_outBuffer out = { writer->out, PIECE_BYTES, 0 };
        uint64_t start;
        enum lmn_status st;

        left = ZSTD_compressStream2(writer->zstd, &out, &in, ends ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return lmn_fail(err, LMN_E_NO_MEMORY, "zstd: %s", ZSTD_getErrorName(left));
        if (out.pos == 0)
            continue;
        start = lmn__clock_monotonic_ns();
        st = lmn__draft_write_at(&writer->draft, writer->offset, writer->out, out.pos, err);
        writer->upload_ns += lmn__clock_monotonic_ns() - start;
        if (st != LMN_OK)
            return st;
        writer->offset += out.pos;
    }
    return LMN_OK;
}

static enum lmn_status changed(const char *place, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_CONFLICT, "%s changed since the plan was made; plan and ship again",
                    place);
}

/* Copy the content of a file, and check that it is what was hashed. */
static enum lmn_status write_content(struct writer *writer, const struct lmn__tree_file *file,
                                     const char *place, struct lmn_error *err)
{
    static const uint8_t zeros[LMN__TAR_BLOCK];
    struct lmn__sha256_state state;
    uint8_t hash[LMN__SHA256_BYTES];
    struct lmn__file open;
    uint64_t at = 0, bytes;
    enum lmn_status st = lmn__file_open(place, LMN__FILE_READ, &open, err);

    if (st == LMN_E_NOT_FOUND)
        return changed(place, err);
    if (st != LMN_OK)
        return st;
    lmn__sha256_start(&state);
    st = lmn__file_size(&open, place, &bytes, err);
    while (st == LMN_OK && bytes == file->bytes && at < bytes) {
        size_t len = bytes - at < PIECE_BYTES ? (size_t)(bytes - at) : PIECE_BYTES;

        st = lmn__file_read_at(&open, place, at, writer->in, len, err);
        if (st == LMN_OK) {
            lmn__sha256_add(&state, writer->in, len);
            st = compress(writer, writer->in, len, false, err);
        }
        at += len;
    }
    lmn__file_close(&open);
    lmn__sha256_end(&state, hash);
    if (st == LMN_E_CORRUPT || /* it ended before its size */
        (st == LMN_OK && (bytes != file->bytes || memcmp(hash, file->hash, sizeof hash) != 0)))
        return changed(place, err);
    if (st == LMN_OK)
        st = compress(writer, zeros, (size_t)(-bytes % LMN__TAR_BLOCK), false, err);
    return st;
}

static enum lmn_status write_members(struct writer *writer, const struct lmn__archive *archive,
                                     struct lmn_error *err)
{
    static const uint8_t end[2 * LMN__TAR_BLOCK];
    char place[LMN__TREE_PATH_CHARS];
    struct lmn__buf header;
    enum lmn_status st = LMN_OK;

    lmn__buf_init(&header, writer->env, 0);
    for (size_t i = 0; i < archive->count && st == LMN_OK; i++) {
        const struct lmn__tree_file *file = archive->file[i];

        lmn__buf_reset(&header);
        lmn__tar_header_put(&header, file->path, file->executable, file->bytes);
        st = lmn__buf_status(&header, "the header of a file", err);
        if (st == LMN_OK && file->bytes >= UINT64_C(1) << FILE_DIGITS)
            st = lmn_fail(err, LMN_E_UNSUPPORTED, "%s: a file of %llu bytes; 8 GiB is too much",
                          file->path, (unsigned long long)file->bytes);
        if (st == LMN_OK)
            st = compress(writer, header.data, header.len, false, err);
        if (st == LMN_OK)
            st = lmn__tree_place(archive->tree, file->path, place, err);
        if (st == LMN_OK)
            st = write_content(writer, file, place, err);
    }
    if (st == LMN_OK)
        st = compress(writer, end, sizeof end, true, err);
    lmn__buf_deinit(&header);
    return st;
}

static enum lmn_status writer_open(struct writer *writer, struct lmn_store *store, const char *path,
                                   struct lmn_error *err)
{
    *writer = (struct writer){ .env = store->env };
    writer->in = lmn__alloc(store->env, PIECE_BYTES);
    writer->out = lmn__alloc(store->env, PIECE_BYTES);
    writer->zstd = ZSTD_createCCtx();
    if (writer->in == NULL || writer->out == NULL || writer->zstd == NULL)
        return lmn__no_memory(err, "an archive", 2 * PIECE_BYTES);
    ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, LEVEL);
    return lmn__draft_open(store, path, &writer->draft, err);
}

static void writer_close(struct writer *writer)
{
    lmn__draft_abort(&writer->draft);
    lmn__free(writer->env, writer->in);
    lmn__free(writer->env, writer->out);
    ZSTD_freeCCtx(writer->zstd);
}

enum lmn_status lmn__archive_write(const struct lmn__archive *archive, struct lmn_store *store,
                                   struct lmn__archive_result *result_out, struct lmn_error *err)
{
    uint64_t start = lmn__clock_monotonic_ns(), publish;
    char path[LMN__ARCHIVE_PATH_CHARS];
    struct lmn__store_stat info;
    struct writer writer;
    enum lmn_status st;

    *result_out = (struct lmn__archive_result){ 0 };
    lmn__archive_path(archive->hash, path);
    st = store->ops->stat(store, path, &info, err);
    if (st != LMN_E_NOT_FOUND)
        return st;
    st = writer_open(&writer, store, path, err);
    if (st == LMN_OK)
        st = write_members(&writer, archive, err);
    publish = lmn__clock_monotonic_ns();
    if (st == LMN_OK)
        st = lmn__draft_publish(&writer.draft, LMN__PUBLISH_IF_ABSENT, true, err);
    result_out->written = st == LMN_OK;
    if (st == LMN_E_EXISTS) /* somebody else was as quick */
        st = LMN_OK;
    result_out->stored_bytes = writer.offset;
    result_out->upload_ns = writer.upload_ns + lmn__clock_monotonic_ns() - publish;
    result_out->archive_ns = publish - start - writer.upload_ns;
    writer_close(&writer);
    return st;
}
