/* SPDX-License-Identifier: Apache-2.0 */
/* The examples of FIPS 180-4, and lengths around the end of a block. */
#include "base/sha256.h"

#include <string.h>

#include "check.h"

static const char *hash(const void *data, size_t len)
{
    static char hex[LMN__SHA256_HEX];

    lmn__sha256_hex(data, len, hex);
    return hex;
}

static void test_sha256__examples(void **state)
{
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";

    (void)state;
    CHECK_STR(hash("", 0), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    CHECK_STR(hash("abc", 3), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    CHECK_STR(hash(two_blocks, strlen(two_blocks)),
              "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

static void test_sha256__block_ends(void **state)
{
    static const struct {
        size_t len;
        const char *hash;
    } zeros[] = {
        { 55, "02779466cdec163811d078815c633f21901413081449002f24aa3e80f0b88ef7" },
        { 56, "d4817aa5497628e7c77e6b606107042bbba3130888c5f47a375e6179be789fbb" },
        { 63, "c7723fa1e0127975e49e62e753db53924c1bd84b8ac1ac08df78d09270f3d971" },
        { 64, "f5a5fd42d16a20302798ef6ed309979b43003d2320d9f0e8ea9831a92759fb4b" },
        { 65, "98ce42deef51d40269d542f5314bef2c7468d401ad5d85168bfab4c0108f75f7" },
    };
    char zero[65] = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++)
        CHECK_STR(hash(zero, zeros[i].len), zeros[i].hash);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256__examples),
        cmocka_unit_test(test_sha256__block_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
