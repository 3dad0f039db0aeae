/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: u8 width, u16 count, piece CompressiveEncoding, then two buffers as pieces. Decoded as a
 * chunk, in parts, and as a block.
 */
#include "codec/fixed.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void decode(const struct lmn__encoding *encoding, const struct lmn__span *buffer,
                   uint32_t bits, uint64_t count)
{
    uint32_t buffers = lmn__fixed_buffer_count(encoding);
    uint8_t *out = malloc((count + 1) * (bits / 8) + LMN__VEC_SLACK);
    struct lmn__scratch scratch;

    lmn__scratch_init(&scratch, fuzz_env());
    (void)!lmn__fixed_decode(&scratch, encoding, buffer, buffers, bits, count, 0, count, out, NULL);
    for (uint64_t first = 0; first < count; first += count / 3 + 1) {
        uint64_t take = count - first < 3 ? count - first : 3;

        (void)!lmn__fixed_decode(&scratch, encoding, buffer, buffers, bits, count, first, take, out,
                                 NULL);
    }
    (void)!lmn__fixed_decode_block(&scratch, encoding, buffer[0], bits, count, 0, count, out, NULL);
    lmn__scratch_deinit(&scratch);
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const uint32_t widths[] = { 8, 16, 32, 64, 128 };
    struct lmn__span input = { data, len }, buffer[2], description;
    uint32_t bits = widths[take_number(&input, 1) % 5];
    uint64_t count = take_number(&input, 2);
    const struct lmn__encoding *encoding;
    struct lmn__arena arena;
    void *pb;

    description = take_piece(&input);
    buffer[0] = take_piece(&input);
    buffer[1] = take_piece(&input);
    lmn__arena_init(&arena, fuzz_env(), 0);
    pb = lmn__arena_alloc(&arena, lmn__pb_encoding_message.size);
    if (lmn__pb_decode(&lmn__pb_encoding_message, description, &arena, pb, NULL) == LMN_OK &&
        lmn__encoding_from_pb(pb, &arena, &encoding, NULL) == LMN_OK)
        decode(encoding, buffer, bits, count);
    lmn__arena_deinit(&arena);
    return 0;
}
