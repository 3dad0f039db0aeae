/* SPDX-License-Identifier: Apache-2.0 */
/* Input: as for all text targets. */
#include "text_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    text_target((struct lmn__span){ data, len }, lmn__jsonl_open, (struct lmn_ingest_options){ 0 });
    return 0;
}
