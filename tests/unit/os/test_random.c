/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "check.h"
#include "os/random.h"

static void test_random__tokens_are_hexadecimal_and_differ(void **state)
{
    char token[100][LMN__TOKEN_CHARS];
    struct lmn_error err;

    (void)state;
    for (int i = 0; i < 100; i++) {
        CHECK_OK(lmn__random_token(token[i], &err));
        CHECK_EQ(strlen(token[i]), LMN__TOKEN_CHARS - 1);
        CHECK_EQ(strspn(token[i], "0123456789abcdef"), LMN__TOKEN_CHARS - 1);
        for (int k = 0; k < i; k++)
            CHECK(strcmp(token[i], token[k]) != 0);
    }
}

static void test_random__fills_large_requests(void **state)
{
    uint8_t data[4096] = { 0 };
    struct lmn_error err;
    size_t zeros = 0;

    (void)state;
    CHECK_OK(lmn__random_bytes(data, sizeof data, &err));
    for (size_t i = 0; i < sizeof data; i++)
        zeros += data[i] == 0;
    CHECK(zeros < 100); /* 16 are expected */
    CHECK_OK(lmn__random_bytes(NULL, 0, &err));
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_random__tokens_are_hexadecimal_and_differ),
        cmocka_unit_test(test_random__fills_large_requests),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
