/* SPDX-License-Identifier: Apache-2.0 */
/* Input: the file of a time zone. What decodes is asked around its changes and far away. */
#include "expr/zone.h"
#include "input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void ask(const struct lmn__zone *zone, int64_t seconds)
{
    int64_t offset = lmn__zone_offset_at(zone, seconds);

    if (offset < -26 * 3600 || offset > 26 * 3600)
        abort();
    (void)lmn__zone_to_utc(zone, seconds);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const int64_t far[] = { INT64_MIN, -(1ll << 40), 0, 1ll << 33, 1ll << 50, INT64_MAX };
    struct lmn__span file = { data, len };
    struct lmn__arena arena;
    struct lmn__zone zone;
    struct lmn_error err;

    lmn__arena_init(&arena, fuzz_env(), 0);
    if (lmn__zone_decode(file, "input", &arena, &zone, &err) == LMN_OK) {
        for (size_t i = 0; i < sizeof far / sizeof far[0]; i++)
            ask(&zone, far[i]);
        for (uint32_t i = 0; i < zone.change_count && i < 100; i++)
            ask(&zone, zone.change[i]);
    }
    lmn__arena_deinit(&arena);
    return 0;
}
