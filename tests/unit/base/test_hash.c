/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/hash.h"
#include "check.h"

/* The values stand in files, so they may never change. */
static void test_hash__is_xxh3(void **state)
{
    uint8_t bytes[1000];

    (void)state;
    CHECK(lmn__hash64(NULL, 0) == 0x2d06800538d394c2u);
    CHECK(lmn__hash64("a", 1) == 0xe6c632b61e964e1fu);
    CHECK(lmn__hash64("abc", 3) == 0x78af5f94892f3950u);
    memset(bytes, 7, sizeof bytes);
    CHECK(lmn__hash64(bytes, 1000) != lmn__hash64(bytes, 999));
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_hash__is_xxh3),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
