/* SPDX-License-Identifier: Apache-2.0 */
/* Input: u8 message, then its bytes. What decodes is encoded and must decode again. */
#include "codec/encoding.h"
#include "format/file_pb.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const struct lmn__pb_message *const messages[] = {
        &lmn__pb_descriptor_message, &lmn__pb_column_message, &lmn__pb_encoding_message,
        &lmn__pb_any_message,        &lmn__pb_page_message,   &lmn__pb_schema_field_message,
    };
    struct lmn__span input = { data, len };
    const struct lmn__pb_message *message =
        messages[take_number(&input, 1) % (sizeof messages / sizeof messages[0])];
    struct lmn__arena arena;
    struct lmn__buf buf;
    void *pb, *again;

    lmn__arena_init(&arena, fuzz_env(), 0);
    lmn__buf_init(&buf, fuzz_env(), 0);
    pb = lmn__arena_alloc(&arena, message->size);
    again = lmn__arena_alloc(&arena, message->size);
    if (lmn__pb_decode(message, input, &arena, pb, NULL) == LMN_OK) {
        lmn__pb_encode(message, pb, &buf);
        if (lmn__buf_status(&buf, "", NULL) == LMN_OK &&
            lmn__pb_decode(message, (struct lmn__span){ buf.data, buf.len }, &arena, again, NULL) ==
                LMN_E_CORRUPT)
            abort();
    }
    lmn__buf_deinit(&buf);
    lmn__arena_deinit(&arena);
    return 0;
}
