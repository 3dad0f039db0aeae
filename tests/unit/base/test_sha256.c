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

/* However the bytes are cut, the hash is the same. */
static void test_sha256__pieces(void **state)
{
    uint8_t data[300], whole[LMN__SHA256_BYTES], parts[LMN__SHA256_BYTES];
    struct lmn__sha256_state sum;

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(7 * i);
    lmn__sha256(data, sizeof data, whole);
    for (size_t piece = 1; piece < sizeof data; piece++) {
        lmn__sha256_start(&sum);
        for (size_t at = 0; at < sizeof data; at += piece) {
            size_t left = sizeof data - at;

            lmn__sha256_add(&sum, data + at, left < piece ? left : piece);
        }
        lmn__sha256_end(&sum, parts);
        CHECK_BYTES(parts, whole, sizeof whole);
    }
}

static int plain_way(void **state)
{
    (void)state;
    lmn__sha256_without_x86(true);
    return 0;
}

static int best_way(void **state)
{
    (void)state;
    lmn__sha256_without_x86(false);
    return 0;
}

/* Both ways give the same, for any number of blocks. */
static void test_sha256__ways_agree(void **state)
{
    uint8_t data[1000], plain[LMN__SHA256_BYTES], best[LMN__SHA256_BYTES];
    uint64_t seed = 1;

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)test_random(&seed);
    for (size_t len = 0; len <= sizeof data; len += 7) {
        lmn__sha256_without_x86(true);
        lmn__sha256(data, len, plain);
        lmn__sha256_without_x86(false);
        lmn__sha256(data, len, best);
        CHECK_BYTES(best, plain, sizeof plain);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sha256__examples),
        cmocka_unit_test(test_sha256__block_ends),
        cmocka_unit_test(test_sha256__pieces),
        cmocka_unit_test_setup_teardown(test_sha256__examples, plain_way, best_way),
        cmocka_unit_test_setup_teardown(test_sha256__block_ends, plain_way, best_way),
        cmocka_unit_test_setup_teardown(test_sha256__pieces, plain_way, best_way),
        cmocka_unit_test(test_sha256__ways_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
