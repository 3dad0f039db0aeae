/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tar_header.h - the headers of the tar archives that are written here, and no others: regular
 * files, with a pax record for a path of more than 100 bytes.
 */
#ifndef LMN_PACK_TAR_HEADER_H
#define LMN_PACK_TAR_HEADER_H

#include <stdbool.h>

#include "base/buf.h"

enum { LMN__TAR_BLOCK = 512 };

/* Append the header of a member; its content and zeros up to a whole block follow. */
void lmn__tar_header_put(struct lmn__buf *buf, const char *path, bool executable, uint64_t bytes);

enum lmn__tar_kind { LMN__TAR_FILE, LMN__TAR_PAX, LMN__TAR_END };

struct lmn__tar_header {
    enum lmn__tar_kind kind;
    char name[101];
    bool executable;
    uint64_t bytes;
};

/* LMN_E_CORRUPT, with a message that lacks its place, for a block that is no such header. */
LMN_MUST_USE enum lmn_status lmn__tar_header_read(const uint8_t block[LMN__TAR_BLOCK],
                                                  struct lmn__tar_header *header_out,
                                                  struct lmn_error *err);

/* The path in the content of a pax header; false when there is anything else in it. */
bool lmn__tar_pax_path(struct lmn__span content, struct lmn__span *path_out);

#endif
