/* SPDX-License-Identifier: Apache-2.0 */
#include "page_target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    page_target(LMN__PAGE_FULL_ZIP, data, len);
    return 0;
}
