/* SPDX-License-Identifier: Apache-2.0 */
#include "base/math.h"
#include "table/apply.h"

enum { MAJOR = 2 };

/* Bytes that a manifest grows by in most commits. */
enum { GROWTH_BYTES = 4096 };

/* A section begins with its length, which is known when it ends. */
static uint64_t begin_section(struct lmn__buf *buf)
{
    lmn__buf_put_u32(buf, 0);
    return buf->len - sizeof(uint32_t);
}

static void end_section(struct lmn__buf *buf, uint64_t position)
{
    uint64_t bytes = buf->len - position - sizeof(uint32_t);

    if (buf->failed)
        return;
    buf->failed = bytes > UINT32_MAX;
    lmn__store_u32(buf->data + position, (uint32_t)bytes);
}

/* A message as a section, whose position is returned. */
static uint64_t put_message(struct lmn__buf *buf, const struct lmn__pb_message *message,
                            const void *in)
{
    uint64_t position = begin_section(buf);

    lmn__pb_encode(message, in, buf);
    end_section(buf, position);
    return position;
}

enum lmn_status lmn__next_encode(struct lmn__next *next, struct lmn__buf *buf,
                                 struct lmn_error *err)
{
    struct lmn__pb_manifest *pb = &next->pb;
    uint64_t position;

    /* One piece of memory for all of it; a buffer that doubles would be copied again and again. */
    if (next->base != NULL && !lmn__buf_reserve(buf, next->base->bytes + GROWTH_BYTES))
        return lmn__buf_status(buf, "a manifest", err);
    pb->has_index_section = next->index_section.data != NULL;
    if (pb->has_index_section) {
        pb->index_section = begin_section(buf);
        lmn__buf_put(buf, next->index_section.data, next->index_section.len);
        end_section(buf, pb->index_section);
    }
    /* A transaction that has a file of its own is not repeated here. */
    pb->has_transaction_section = pb->transaction_file.len == 0;
    if (pb->has_transaction_section)
        pb->transaction_section = put_message(buf, &lmn__pb_transaction_message,
                                              &next->transaction);
    position = put_message(buf, &lmn__pb_manifest_message, pb);
    lmn__buf_put_u64(buf, position);
    lmn__buf_put_u16(buf, 0);
    lmn__buf_put_u16(buf, MAJOR);
    lmn__buf_put(buf, "LANC", 4);
    return lmn__buf_status(buf, "a manifest", err);
}
