/* SPDX-License-Identifier: Apache-2.0 */
#include "base/math.h"
#include "table/apply.h"

enum { MAJOR = 2 };

/* A length and the bytes, whose position is returned. */
static uint64_t put_section(struct lmn__buf *buf, struct lmn__span bytes)
{
    uint64_t position = buf->len;

    lmn__buf_put_u32(buf, (uint32_t)bytes.len);
    lmn__buf_put(buf, bytes.data, bytes.len);
    return position;
}

enum lmn_status lmn__next_encode(struct lmn__next *next, struct lmn__buf *buf,
                                 struct lmn_error *err)
{
    struct lmn__pb_manifest *pb = &next->pb;
    struct lmn__buf part;
    uint64_t position;
    enum lmn_status st;

    lmn__buf_init(&part, next->env, UINT32_MAX);
    pb->has_index_section = next->index_section.data != NULL;
    if (pb->has_index_section)
        pb->index_section = put_section(buf, next->index_section);
    /* A transaction that has a file of its own is not repeated here. */
    pb->has_transaction_section = pb->transaction_file.len == 0;
    if (pb->has_transaction_section) {
        lmn__pb_encode(&lmn__pb_transaction_message, &next->transaction, &part);
        pb->transaction_section = put_section(buf, (struct lmn__span){ part.data, part.len });
        lmn__buf_reset(&part);
    }
    lmn__pb_encode(&lmn__pb_manifest_message, pb, &part);
    position = put_section(buf, (struct lmn__span){ part.data, part.len });
    lmn__buf_put_u64(buf, position);
    lmn__buf_put_u16(buf, 0);
    lmn__buf_put_u16(buf, MAJOR);
    lmn__buf_put(buf, "LANC", 4);
    st = lmn__buf_status(&part, "a manifest", err);
    if (st == LMN_OK)
        st = lmn__buf_status(buf, "a manifest", err);
    lmn__buf_deinit(&part);
    return st;
}
