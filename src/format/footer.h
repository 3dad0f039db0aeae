/* SPDX-License-Identifier: Apache-2.0 */
/*
 * footer.h - the end of a Lance data file.
 */
#ifndef LMN_FORMAT_FOOTER_H
#define LMN_FORMAT_FOOTER_H

#include "base/bytes.h"
#include "base/env.h"

enum { LMN__FOOTER_BYTES = 40, LMN__BUFFER_ALIGN = 64 };

struct lmn__footer {
    uint64_t column_metadata; /* position of the first column's */
    uint64_t column_table;    /* position of {position, size} of each column's metadata */
    uint64_t global_table;    /* the same of the global buffers */
    uint32_t global_count;
    uint32_t column_count;
    uint32_t minor; /* of version 2 */
};

/*
 * Read the last LMN__FOOTER_BYTES bytes of a file of `file_bytes` bytes.
 *
 * LMN_E_CORRUPT      no Lance file, or positions outside the file
 * LMN_E_UNSUPPORTED  another version, which the message names
 */
LMN_MUST_USE enum lmn_status lmn__footer_decode(const uint8_t *bytes, uint64_t file_bytes,
                                                struct lmn__footer *footer_out,
                                                struct lmn_error *err);

/* Write LMN__FOOTER_BYTES bytes. */
void lmn__footer_encode(const struct lmn__footer *footer, uint8_t *bytes_out);

#endif
