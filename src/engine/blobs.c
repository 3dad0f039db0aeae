/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/blobs.h"

enum lmn_status lmn_blobs_begin(struct lmn_blobs *blobs, uint64_t bytes, struct lmn_error *err)
{
    return lmn__payloads_begin(blobs->payloads, bytes, err);
}

enum lmn_status lmn_blobs_write(struct lmn_blobs *blobs, const void *data, size_t len,
                                struct lmn_error *err)
{
    return lmn__payloads_write(blobs->payloads, data, len, err);
}

enum lmn_status lmn_blobs_end(struct lmn_blobs *blobs, uint64_t *position_out, uint64_t *bytes_out,
                              struct lmn_error *err)
{
    struct lmn__payload payload;
    enum lmn_status st = lmn__payloads_end(blobs->payloads, &payload, err);

    *position_out = payload.number;
    *bytes_out = payload.bytes;
    return st;
}

void lmn_blobs_drop(struct lmn_blobs *blobs)
{
    lmn__payloads_drop(blobs->payloads);
}
