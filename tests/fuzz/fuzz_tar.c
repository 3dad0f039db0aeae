/* SPDX-License-Identifier: Apache-2.0 */
/* Input: u8 flags: 1 contents are passed over; then the archive. */
#include "ingest/tar.h"
#include "ingest/webdataset.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__span input = { data, len };
    uint64_t flags = take_number(&input, 1);
    struct lmn__sample_name name;
    struct lmn__tar_member member;
    struct lmn__source source;
    struct lmn__tar tar;
    struct lmn_error err;
    bool more = true;
    uint8_t content[256];

    if (lmn__source_open_memory(&source, fuzz_env(), "input", input, &err) != LMN_OK)
        return 0;
    lmn__tar_init(&tar, fuzz_env(), &source, (flags & 1) != 0);
    while (lmn__tar_next(&tar, &member, &more, &err) == LMN_OK && more) {
        (void)lmn__sample_name(member.name, &name);
        if ((flags & 1) == 0 && member.bytes < sizeof content &&
            lmn__tar_read(&tar, content, member.bytes, &err) != LMN_OK)
            break;
    }
    lmn__tar_deinit(&tar);
    return 0;
}
