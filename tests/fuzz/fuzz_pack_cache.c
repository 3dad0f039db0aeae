/* SPDX-License-Identifier: Apache-2.0 */
/* Input: a cache of hashes without its checksum, which is added. */
#include "base/hash.h"
#include "input.h"
#include "pack/hash_cache.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__tree_file files[3] = { { .path = "a.py", .bytes = 1 },
                                       { .path = "b/c.py", .bytes = 2 },
                                       { .path = "d.py", .bytes = 3 } };
    struct lmn__tree tree = { .root = "/code", .file = files, .count = 3 };
    struct lmn__buf buf;

    lmn__buf_init(&buf, fuzz_env(), 0);
    lmn__buf_put(&buf, data, len);
    lmn__buf_put_u64(&buf, lmn__hash64(data, len));
    if (!buf.failed) {
        enum lmn_status st = lmn__hash_cache_apply(&tree, (struct lmn__span){ buf.data, buf.len },
                                                   NULL);

        for (int i = 0; i < 3; i++) {
            if (st != LMN_OK && files[i].hashed)
                abort();
        }
    }
    lmn__buf_deinit(&buf);
    return 0;
}
