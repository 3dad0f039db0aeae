/* SPDX-License-Identifier: Apache-2.0 */
/* Input: u8 minor version, then a FileDescriptor. The tree, its columns and its Arrow type. */
#include "format/projection.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__span input = { data, len };
    uint32_t minor = (uint32_t)take_number(&input, 1) % 3;
    struct lmn__pb_descriptor descriptor = { 0 };
    struct lmn__projection projection;
    struct lmn__schema schema;
    struct lmn__arena arena;

    lmn__arena_init(&arena, fuzz_env(), 0);
    if (lmn__pb_decode(&lmn__pb_descriptor_message, input, &arena, &descriptor, NULL) == LMN_OK &&
        descriptor.schema != NULL &&
        lmn__schema_read(descriptor.schema, minor, &arena, &schema, NULL) == LMN_OK) {
        for (uint32_t mode = LMN_BLOB_DESCRIPTORS; mode <= LMN_BLOB_EITHER; mode++) {
            if (lmn__projection_init(&projection, fuzz_env(), &schema, NULL, 0,
                                     (enum lmn_blob_mode)mode, NULL) != LMN_OK)
                continue;
            lmn__projection_set_layouts(&projection, &schema);
            lmn__projection_deinit(&projection);
        }
    }
    lmn__arena_deinit(&arena);
    return 0;
}
