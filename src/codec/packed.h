/* SPDX-License-Identifier: Apache-2.0 */
/*
 * packed.h - structs whose fields, some of them variable, stand one after the other in a row.
 *
 * A struct lmn__packed is made once per page and does not change afterwards.
 */
#ifndef LMN_CODEC_PACKED_H
#define LMN_CODEC_PACKED_H

#include "codec/variable.h"
#include "codec/zipped.h"

struct lmn__packed_part;

struct lmn__packed {
    struct lmn__packed_part *part; /* one per field, in the arena */
    uint32_t part_count;
};

/*
 * Match a VARIABLE_PACKED encoding with a struct of this layout.
 *
 * LMN_E_CORRUPT      the fields are not those of the struct
 * LMN_E_UNSUPPORTED  a field is encoded in a way that has no place here
 */
LMN_MUST_USE enum lmn_status lmn__packed_init(struct lmn__packed *packed,
                                              const struct lmn__encoding *encoding,
                                              const struct lmn__layout *layout,
                                              struct lmn__arena *arena, struct lmn_error *err);

/*
 * Append one row to the struct's children; the struct's own slot is counted by the caller.
 *
 * LMN_E_CORRUPT  the fields do not fill the row
 */
LMN_MUST_USE enum lmn_status lmn__packed_append(const struct lmn__packed *packed,
                                                struct lmn__scratch *scratch, struct lmn__span row,
                                                struct lmn__builder *builder,
                                                struct lmn_error *err);

#endif
