/* SPDX-License-Identifier: Apache-2.0 */
/* The examples of FIPS 180-4 and RFC 1321, and lengths around the end of a block. */
#include <stdio.h>
#include <string.h>

#include "base/md5.h"
#include "base/sha256.h"
#include "base/sha512.h"
#include "check.h"

typedef void (*hash_fn)(const void *data, size_t len, uint8_t *hash_out);

static const char *hash(hash_fn function, size_t bytes, const void *data, size_t len)
{
    static char hex[2 * LMN__SHA512_BYTES + 1];
    uint8_t value[LMN__SHA512_BYTES];

    function(data, len, value);
    for (size_t i = 0; i < bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", value[i]);
    return hex;
}

static void test_digests__examples(void **state)
{
    (void)state;
    CHECK_STR(hash(lmn__md5, LMN__MD5_BYTES, "", 0), "d41d8cd98f00b204e9800998ecf8427e");
    CHECK_STR(hash(lmn__md5, LMN__MD5_BYTES, "message digest", 14),
              "f96b697d7cb7938d525a2f31aaf161d0");
    CHECK_STR(hash(lmn__sha224, LMN__SHA224_BYTES, "abc", 3),
              "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7");
    CHECK_STR(hash(lmn__sha384, LMN__SHA384_BYTES, "abc", 3),
              "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed"
              "8086072ba1e7cc2358baeca134c825a7");
    CHECK_STR(hash(lmn__sha512, LMN__SHA512_BYTES, "abc", 3),
              "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
              "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f");
}

static void test_digests__block_ends(void **state)
{
    static const struct {
        size_t len;
        const char *md5, *sha512; /* the first 16 bytes of it */
    } zeros[] = {
        { 55, "c9ea3314b91c9fd4e38f9432064fd1f2", "2c2481278f62cd07726383b036775306" },
        { 56, "e3c4dd21a9171fd39d208efa09bf7883", "2146aa8ab60c48acff43ae8c33c5da4c" },
        { 63, "65cecfb980d72fde57d175d6ec1c3f64", "a405dec5087e201200212d9b99c62298" },
        { 64, "3b5d3c7d207e37dceeedd301e35e2e58", "7be9fda48f4179e611c698a73cff09fa" },
        { 65, "1ef5e829303a139ce967440e0cdca10c", "19dc6ae12de08b21b36c1ec7f353ce9e" },
        { 111, "03bc63b77bec853adcb65719a21459ce", "77ddd3a542e530fd047b8977c657ba6c" },
        { 112, "c20019258ca235d2408334dfbc5e67e3", "2be2e788c8a8adeaa9c89a7f78904cac" },
        { 127, "e457fbae1dd166a0c89d244ac03f4e93", "876fee26a8dc66d652341b4951d4a96f" },
        { 128, "f09f35a5637839458e462e6350ecbce4", "ab942f526272e456ed68a979f5020290" },
        { 129, "5f54d1240735d46980b776af554f44d3", "b1f542f68a48608ae53904fbe2105bd8" },
    };
    char zero[129] = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof zeros / sizeof zeros[0]; i++) {
        CHECK_STR(hash(lmn__md5, LMN__MD5_BYTES, zero, zeros[i].len), zeros[i].md5);
        CHECK_STR(hash(lmn__sha512, 16, zero, zeros[i].len), zeros[i].sha512);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_digests__examples),
        cmocka_unit_test(test_digests__block_ends),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
