/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/record_codec.h"

#include <zstd.h>

#include "base/proto.h"
#include "ingest/snappy.h"
#include "os/library.h"

enum { BROTLI_WINDOW = 22, BROTLI_MODE = 0, BROTLI_DONE = 1 };

/* The functions of brotli that are used, as its headers declare them. */
typedef size_t (*brotli_bound_fn)(size_t bytes);
typedef int (*brotli_encode_fn)(int quality, int window, int mode, size_t bytes, const uint8_t *in,
                                size_t *out_bytes, uint8_t *out);
typedef int (*brotli_decode_fn)(size_t bytes, const uint8_t *in, size_t *out_bytes, uint8_t *out);

void lmn__record_scratch_init(struct lmn__record_scratch *scratch, struct lmn_env *env)
{
    *scratch = (struct lmn__record_scratch){ .env = env };
}

void lmn__record_scratch_deinit(struct lmn__record_scratch *scratch)
{
    ZSTD_freeCCtx(scratch->zstd_encoder);
    ZSTD_freeDCtx(scratch->zstd_decoder);
}

static enum lmn_status no_brotli(struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_UNSUPPORTED, "brotli: its library is not on this machine");
}

static enum lmn_status compress_zstd(struct lmn__record_scratch *scratch, int level,
                                     struct lmn__span bytes, struct lmn__buf *out,
                                     struct lmn_error *err)
{
    size_t bound = ZSTD_compressBound(bytes.len), n;

    if (scratch->zstd_encoder == NULL)
        scratch->zstd_encoder = ZSTD_createCCtx();
    if (scratch->zstd_encoder == NULL || !lmn__buf_reserve(out, bound))
        return lmn__no_memory(err, "a compressed record", bound);
    n = ZSTD_compressCCtx(scratch->zstd_encoder, out->data + out->len, bound, bytes.data, bytes.len,
                          level);
    if (ZSTD_isError(n))
        return lmn_fail(err, LMN_E_INVALID, "zstd: %s", ZSTD_getErrorName(n));
    out->len += n;
    return LMN_OK;
}

static enum lmn_status compress_brotli(int level, struct lmn__span bytes, struct lmn__buf *out,
                                       struct lmn_error *err)
{
    static const char library[] = "libbrotlienc.so.1";
    brotli_bound_fn bound_of = (brotli_bound_fn)lmn__library_symbol(
        library, "BrotliEncoderMaxCompressedSize");
    brotli_encode_fn encode = (brotli_encode_fn)lmn__library_symbol(library,
                                                                    "BrotliEncoderCompress");
    size_t n;

    if (bound_of == NULL || encode == NULL)
        return no_brotli(err);
    n = bound_of(bytes.len) + 16;
    if (!lmn__buf_reserve(out, n))
        return lmn__no_memory(err, "a compressed record", n);
    if (encode(level, BROTLI_WINDOW, BROTLI_MODE, bytes.len, bytes.data, &n,
               out->data + out->len) == 0)
        return lmn_fail(err, LMN_E_NO_MEMORY, "brotli did not compress %zu bytes", bytes.len);
    out->len += n;
    return LMN_OK;
}

enum lmn_status lmn__record_compress(struct lmn__record_scratch *scratch,
                                     enum lmn__record_codec codec, int level,
                                     struct lmn__span bytes, struct lmn__buf *out,
                                     struct lmn_error *err)
{
    size_t bound;

    if (codec == LMN__RECORD_PLAIN) {
        lmn__buf_put(out, bytes.data, bytes.len);
        return lmn__buf_status(out, "records", err);
    }
    lmn__pb_put_varint(out, bytes.len);
    if (out->failed)
        return lmn__buf_status(out, "records", err);
    if (codec == LMN__RECORD_ZSTD)
        return compress_zstd(scratch, level, bytes, out, err);
    if (codec == LMN__RECORD_BROTLI)
        return compress_brotli(level, bytes, out, err);
    bound = lmn__snappy_bound(bytes.len);
    if (!lmn__buf_reserve(out, bound))
        return lmn__no_memory(err, "a compressed record", bound);
    out->len += lmn__snappy_compress(bytes, out->data + out->len);
    return LMN_OK;
}

bool lmn__record_varint(struct lmn__span *bytes, uint64_t *value_out)
{
    uint64_t value = 0;
    size_t at = 0;

    for (int shift = 0; at < bytes->len && shift < 64; shift += 7) {
        uint8_t byte = bytes->data[at++];

        if (shift == 63 && byte > 1)
            return false;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            *bytes = (struct lmn__span){ bytes->data + at, bytes->len - at };
            *value_out = value;
            return true;
        }
    }
    return false;
}

enum lmn_status lmn__record_blob(enum lmn__record_codec codec, struct lmn__span blob,
                                 uint64_t *bytes_out, struct lmn__span *stream_out,
                                 struct lmn_error *err)
{
    *stream_out = blob;
    *bytes_out = blob.len;
    if (codec == LMN__RECORD_PLAIN)
        return LMN_OK;
    if (codec != LMN__RECORD_BROTLI && codec != LMN__RECORD_ZSTD && codec != LMN__RECORD_SNAPPY)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "records of compression %d", codec);
    if (!lmn__record_varint(stream_out, bytes_out))
        return lmn_fail(err, LMN_E_CORRUPT, "compressed records without a size");
    return LMN_OK;
}

static bool decompress_zstd(struct lmn__record_scratch *scratch, struct lmn__span stream,
                            uint8_t *out, size_t len)
{
    size_t n;

    if (scratch->zstd_decoder == NULL)
        scratch->zstd_decoder = ZSTD_createDCtx();
    if (scratch->zstd_decoder == NULL)
        return false;
    n = ZSTD_decompressDCtx(scratch->zstd_decoder, out, len, stream.data, stream.len);
    return !ZSTD_isError(n) && n == len;
}

enum lmn_status lmn__record_decompress(struct lmn__record_scratch *scratch,
                                       enum lmn__record_codec codec, struct lmn__span stream,
                                       uint8_t *out, size_t len, struct lmn_error *err)
{
    brotli_decode_fn decode;
    size_t n = len;
    bool good = false;

    switch (codec) {
    case LMN__RECORD_PLAIN:
        good = stream.len == len;
        if (good && len != 0)
            memcpy(out, stream.data, len);
        break;
    case LMN__RECORD_ZSTD:
        good = decompress_zstd(scratch, stream, out, len);
        break;
    case LMN__RECORD_SNAPPY:
        good = lmn__snappy_decompress(stream, out, len);
        break;
    case LMN__RECORD_BROTLI:
        decode = (brotli_decode_fn)lmn__library_symbol("libbrotlidec.so.1",
                                                       "BrotliDecoderDecompress");
        if (decode == NULL)
            return no_brotli(err);
        good = decode(stream.len, stream.data, &n, out) == BROTLI_DONE && n == len;
        break;
    }
    return good ? LMN_OK
                : lmn_fail(err, LMN_E_CORRUPT, "records do not decompress to %zu bytes", len);
}
