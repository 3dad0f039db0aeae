/* SPDX-License-Identifier: Apache-2.0 */
/* Input: u24 number of bits, then the set. What decodes is encoded and decodes to the same. */
#include "base/bits.h"
#include "base/roaring.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* The list of a set, and its bits, are encoded to the same bytes; those decode to the same bits. */
static void check_again(const uint8_t *bits, uint64_t bit_count, uint64_t count,
                        const struct lmn__buf *buf, const struct lmn__buf *list_buf)
{
    uint64_t bytes = lmn__bits_bytes(bit_count), count_again;
    uint8_t *again = lmn__calloc(fuzz_env(), bytes + 1, 1);

    if (buf->len != list_buf->len || memcmp(buf->data, list_buf->data, buf->len) != 0)
        abort();
    if (lmn__roaring_to_bits((struct lmn__span){ buf->data, buf->len }, again, bit_count,
                             &count_again, NULL) != LMN_OK)
        abort();
    if (count_again != count || memcmp(bits, again, bytes) != 0)
        abort();
    lmn__free(fuzz_env(), again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__span input = { data, len };
    uint64_t bit_count = take_number(&input, 3), count, list_count;
    uint8_t *bits = lmn__calloc(fuzz_env(), lmn__bits_bytes(bit_count) + 1, 1);
    struct lmn__arena arena;
    struct lmn__buf buf, list_buf;
    uint32_t *member;

    lmn__arena_init(&arena, fuzz_env(), 0);
    lmn__buf_init(&buf, fuzz_env(), 0);
    lmn__buf_init(&list_buf, fuzz_env(), 0);
    if (lmn__roaring_to_bits(input, bits, bit_count, &count, NULL) == LMN_OK &&
        lmn__roaring_to_list(input, &arena, &member, &list_count, NULL) == LMN_OK) {
        if (count != list_count)
            abort();
        lmn__roaring_from_bits(bits, bit_count, &buf);
        lmn__roaring_from_list(member, list_count, &list_buf);
        check_again(bits, bit_count, count, &buf, &list_buf);
    }
    lmn__buf_deinit(&list_buf);
    lmn__buf_deinit(&buf);
    lmn__arena_deinit(&arena);
    lmn__free(fuzz_env(), bits);
    return 0;
}
