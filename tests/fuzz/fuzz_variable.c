/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: u8 width, u16 count, piece CompressiveEncoding, piece bytes. Decoded as a chunk, as a
 * block and as one value.
 */
#include "codec/variable.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void decode(const struct lmn__variable *variable, struct lmn__span bytes, uint32_t bits,
                   uint64_t count)
{
    const struct lmn__layout layout = { .kind = LMN__LAYOUT_VARIABLE, .bits = bits };
    struct lmn__scratch scratch;

    lmn__scratch_init(&scratch, fuzz_env());
    for (int way = 0; way < 4; way++) {
        struct lmn__builder builder;

        if (lmn__builder_init(&builder, fuzz_env(), &layout, NULL) != LMN_OK)
            break;
        if (way == 0)
            (void)!lmn__variable_decode_chunk(&scratch, variable, bytes, count, 0, count, &builder,
                                              NULL);
        else if (way == 1 && count != 0)
            (void)!lmn__variable_decode_chunk(&scratch, variable, bytes, count, count / 2, 1,
                                              &builder, NULL);
        else if (way == 2)
            (void)!lmn__variable_decode_block(&scratch, variable, bytes, count, &builder, NULL);
        else
            (void)!lmn__variable_decode_value(&scratch, variable, bytes, &builder, NULL);
        lmn__builder_deinit(&builder);
    }
    lmn__scratch_deinit(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__span input = { data, len }, description, bytes;
    uint32_t bits = take_number(&input, 1) & 1 ? 64 : 32;
    uint64_t count = take_number(&input, 2);
    const struct lmn__encoding *encoding;
    struct lmn__variable variable;
    struct lmn__arena arena;
    void *pb;

    description = take_piece(&input);
    bytes = take_piece(&input);
    lmn__arena_init(&arena, fuzz_env(), 0);
    pb = lmn__arena_alloc(&arena, lmn__pb_encoding_message.size);
    if (lmn__pb_decode(&lmn__pb_encoding_message, description, &arena, pb, NULL) == LMN_OK &&
        lmn__encoding_from_pb(pb, &arena, &encoding, NULL) == LMN_OK &&
        lmn__variable_init(&variable, encoding, &arena, NULL) == LMN_OK)
        decode(&variable, bytes, bits, count);
    lmn__arena_deinit(&arena);
    return 0;
}
