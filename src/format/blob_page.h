/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blob_page.h - the page of a blob column: where the payload of each row is.
 */
#ifndef LMN_FORMAT_BLOB_PAGE_H
#define LMN_FORMAT_BLOB_PAGE_H

#include "codec/encode.h"

/* Where one payload is. */
struct lmn__blob_entry {
    uint64_t position;
    uint64_t bytes;
    uint32_t id;             /* of the side file */
    uint32_t uri, uri_bytes; /* in the list's `uris` */
    uint8_t kind;            /* enum lmn__blob_place */
    bool null;
    bool staged; /* for who gathers them: the position is not final */
};

/* Payloads of consecutive rows. */
struct lmn__blob_entries {
    const struct lmn__blob_entry *entry;
    uint64_t count;
    const uint8_t *uris; /* NULL: none has one */
};

/* Rows of a page at most. */
enum { LMN__BLOB_PAGE_ROWS_MAX = 1 << 18 };

/* Make the page, of version 2 or 1. The caller frees *page_out, also after a failure. */
LMN_MUST_USE enum lmn_status lmn__blob_page_encode(struct lmn_env *env, bool v2,
                                                   const struct lmn__blob_entries *entries,
                                                   const struct lmn__encode_options *options,
                                                   struct lmn__scratch *scratch,
                                                   struct lmn__encoded_page *page_out,
                                                   struct lmn_error *err);

#endif
