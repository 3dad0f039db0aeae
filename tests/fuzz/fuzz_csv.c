/* SPDX-License-Identifier: Apache-2.0 */
/* Input: as for all text targets, after u8 flags: 1 no header, 2 semicolons. */
#include "text_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__span input = { data, len };
    uint64_t flags = take_number(&input, 1);

    text_target(input, lmn__csv_open,
                (struct lmn_ingest_options){ .no_header = (flags & 1) != 0,
                                             .delimiter = (flags & 2) != 0 ? ';' : '\0' });
    return 0;
}
