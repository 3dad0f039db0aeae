/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input: u8 flags: 1 hashes are made to fit; then a file of chunks. Its first chunk behind the
 * signature is decoded; and the whole as a snappy stream.
 */
#include "ingest/array_record.h"
#include "ingest/highway.h"
#include "ingest/snappy.h"
#include "input.h"

enum { BYTES_MAX = 1 << 16 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* Give the chunk at 64 the hashes of what it holds, so that what is behind them is reached. */
static void mend(uint8_t *file, size_t len)
{
    uint64_t bytes = lmn__load_u64(file + 72);

    if (bytes <= len - 104)
        lmn__store_u64(file + 80, lmn__highway_hash(file + 104, bytes));
    lmn__store_u64(file + 64, lmn__highway_hash(file + 72, 32));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t file[BYTES_MAX], values[BYTES_MAX];
    static uint64_t ends[BYTES_MAX];
    struct lmn__span input = { data, len };
    uint64_t flags = take_number(&input, 1);
    struct lmn__riegeli_window window = { .bytes = { file, input.len } };
    struct lmn__group_scratch scratch;
    struct lmn__chunk chunk;
    struct lmn_error err;

    if (input.len < 104 || input.len > sizeof file)
        return 0;
    memcpy(file, input.data, input.len);
    if ((flags & 1) != 0)
        mend(file, input.len);
    lmn__group_scratch_init(&scratch, fuzz_env());
    if (lmn__chunk_read(&window, 64, &chunk, &err) == LMN_OK && chunk.record_count < BYTES_MAX &&
        chunk.decoded_bytes < BYTES_MAX)
        (void)!lmn__group_decode(&scratch, &window, 64, chunk.record_count, chunk.decoded_bytes,
                                 values, 0, ends, &err);
    lmn__group_scratch_deinit(&scratch);
    (void)lmn__snappy_decompress(input, values, input.data[0] & 0x7f);
    return 0;
}
