/* SPDX-License-Identifier: Apache-2.0 */
/* Input: u16 bytes that may be unpacked; u8 1 when a frame of zstd follows, 0 for a tar archive. */
#include <string.h>
#include <zstd.h>

#include "input.h"
#include "pack/archive.h"
#include "store/draft.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static enum lmn_status take_begin(void *self, const char *path, bool executable,
                                  struct lmn_error *err)
{
    (void)self;
    (void)executable;
    (void)err;
    if (!lmn__tree_path_is_safe((const uint8_t *)path, strlen(path)))
        abort();
    return LMN_OK;
}

static enum lmn_status take_data(void *self, const void *data, size_t len, struct lmn_error *err)
{
    uint64_t *left = self;

    (void)data;
    (void)err;
    if (len > *left)
        abort();
    *left -= len;
    return LMN_OK;
}

static enum lmn_status take_end(void *self, struct lmn_error *err)
{
    (void)self;
    (void)err;
    return LMN_OK;
}

static void read_bytes(const void *bytes, size_t len, uint64_t bytes_max)
{
    uint64_t left = bytes_max;
    const struct lmn__member_sink sink = { &left, take_begin, take_data, take_end };
    struct lmn__object object = { 0 };
    struct lmn_store *store = NULL;

    if (lmn_store_open_memory(fuzz_env(), &store, NULL) == LMN_OK &&
        lmn__store_put(store, "x", LMN__PUBLISH_REPLACE, bytes, len, NULL) == LMN_OK &&
        lmn__object_open(store, "x", &object, NULL) == LMN_OK &&
        lmn__archive_read(fuzz_env(), &object, "", bytes_max, &sink, NULL) == LMN_OK)
        abort(); /* nothing has this name */
    lmn__object_close(&object);
    lmn_store_release(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static uint8_t frame[1 << 20];
    struct lmn__span input = { data, len };
    uint64_t bytes_max = take_number(&input, 2);
    size_t size;

    if ((take_number(&input, 1) & 1) != 0) {
        read_bytes(input.data, input.len, bytes_max);
        return 0;
    }
    size = ZSTD_compress(frame, sizeof frame, input.data, input.len, 1);
    if (!ZSTD_isError(size))
        read_bytes(frame, size, bytes_max);
    return 0;
}
