/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/pieces.h"

enum { LARGE_BYTES = 4096, WRITTEN_TOGETHER = 64 };

void lmn__pieces_init(struct lmn__pieces *pieces, struct lmn_env *env)
{
    lmn__buf_init(&pieces->kept, env, 0);
    lmn__buf_init(&pieces->piece, env, 0);
    pieces->bytes = 0;
}

void lmn__pieces_deinit(struct lmn__pieces *pieces)
{
    lmn__buf_deinit(&pieces->kept);
    lmn__buf_deinit(&pieces->piece);
}

static struct lmn__span *piece_at(const struct lmn__pieces *pieces, size_t i)
{
    return (struct lmn__span *)(void *)pieces->piece.data + i;
}

static size_t count_of(const struct lmn__pieces *pieces)
{
    return pieces->piece.len / sizeof(struct lmn__span);
}

/* Note a piece; those that are kept and follow each other are one. */
static void note(struct lmn__pieces *pieces, const void *data, size_t len)
{
    struct lmn__span piece = { data, len };
    size_t count = count_of(pieces);

    pieces->bytes += len;
    if (data == NULL && count != 0 && piece_at(pieces, count - 1)->data == NULL)
        piece_at(pieces, count - 1)->len += len;
    else
        lmn__buf_put(&pieces->piece, &piece, sizeof piece);
}

void lmn__pieces_put(struct lmn__pieces *pieces, const void *data, size_t len)
{
    if (len >= LARGE_BYTES) {
        note(pieces, data, len);
    } else if (len != 0) {
        lmn__buf_put(&pieces->kept, data, len);
        note(pieces, NULL, len);
    }
}

void lmn__pieces_put_zeros(struct lmn__pieces *pieces, size_t count)
{
    if (count == 0)
        return;
    lmn__buf_put_zeros(&pieces->kept, count);
    note(pieces, NULL, count);
}

enum lmn_status lmn__pieces_write(struct lmn__pieces *pieces, const struct lmn__file *file,
                                  const char *path, uint64_t offset, struct lmn_error *err)
{
    struct lmn__span span[WRITTEN_TOGETHER];
    size_t count = count_of(pieces), kept = 0;
    enum lmn_status st = LMN_OK;

    pieces->kept.failed |= pieces->piece.failed;
    if (pieces->kept.failed)
        return lmn__buf_status(&pieces->kept, "bytes of a file", err);
    for (size_t i = 0, n; st == LMN_OK && i < count; i += n) {
        uint64_t bytes = 0;

        for (n = 0; n < WRITTEN_TOGETHER && i + n < count; n++) {
            span[n] = *piece_at(pieces, i + n);
            if (span[n].data == NULL) {
                span[n].data = pieces->kept.data + kept;
                kept += span[n].len;
            }
            bytes += span[n].len;
        }
        st = lmn__file_write_spans_at(file, path, offset, span, n, err);
        offset += bytes;
    }
    lmn__buf_reset(&pieces->kept);
    lmn__buf_reset(&pieces->piece);
    pieces->bytes = 0;
    return st;
}
