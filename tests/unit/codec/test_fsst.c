/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FSST with tables made by hand, and random codes against a decoder of one code at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codec/fsst.h"

enum { MAGIC = 0x46535354, ENCODED = 1 << 24, ESCAPE = 255 };

struct table {
    uint8_t bytes[LMN__FSST_TABLE_BYTES];
};

static void put_header(struct table *table, uint32_t magic, uint32_t rest)
{
    lmn__store_u64(table->bytes, (uint64_t)magic << 32 | rest);
}

/* A table of these symbols: all of them first, then their lengths. */
static void make_table(struct table *table, const char *const *symbol, uint32_t count)
{
    memset(table, 0xcc, sizeof *table);
    put_header(table, MAGIC, ENCODED | count);
    for (uint32_t i = 0; i < count; i++) {
        size_t len = strlen(symbol[i]);

        memcpy(table->bytes + 8 + i * 8, symbol[i], len);
        table->bytes[8 + count * 8 + i] = (uint8_t)len;
    }
}

static struct lmn__span span(const struct table *table)
{
    return (struct lmn__span){ table->bytes, sizeof table->bytes };
}

static const char *const symbols[] = { "a", "be", "lemans", "12345678", "xyz" };

static void open_symbols(struct lmn__fsst *fsst)
{
    struct table table;

    make_table(&table, symbols, 5);
    CHECK_OK(lmn__fsst_init(fsst, span(&table), NULL));
}

static void check_text(const struct lmn__fsst *fsst, const char *codes, size_t len,
                       const char *expected)
{
    uint8_t *exact = malloc(len), *out = malloc(len * LMN__FSST_EXPANSION_MAX + 8), *end;

    memcpy(exact, codes, len);
    end = lmn__fsst_decode(fsst, exact, len, out);
    CHECK(end != NULL);
    CHECK_EQ(end - out, strlen(expected));
    CHECK_BYTES(out, expected, strlen(expected));
    free(exact);
    free(out);
}

static void test_fsst__symbols(void **state)
{
    struct lmn__fsst fsst;

    (void)state;
    open_symbols(&fsst);
    CHECK(!fsst.plain);
    check_text(&fsst, "\0", 1, "a");
    check_text(&fsst, "\2\1\3", 3, "lemansbe12345678");
    check_text(&fsst, "\4\4\4\4\4\4\4\4\4", 9, "xyzxyzxyzxyzxyzxyzxyzxyzxyz");
    check_text(&fsst, "\3\3\3\3\3\3\3\3", 8,
               "1234567812345678123456781234567812345678123456781234567812345678");
    check_text(&fsst, "", 0, "");
}

static void test_fsst__escapes(void **state)
{
    struct lmn__fsst fsst;

    (void)state;
    open_symbols(&fsst);
    check_text(&fsst, "\377Q", 2, "Q");
    check_text(&fsst, "\0\377Q\0", 4, "aQa");
    check_text(&fsst, "\377\377", 2, "\377");
    check_text(&fsst, "\0\0\0\0\0\0\0\377z\0\0\0\0\0\0\0\0", 17, "aaaaaaazaaaaaaaa");
    check_text(&fsst, "\377\377\377\377\377\377\377\377\0", 9, "\377\377\377\377a");
}

static void test_fsst__plain_strings(void **state)
{
    struct lmn__fsst fsst;
    struct table table;

    (void)state;
    make_table(&table, symbols, 0);
    put_header(&table, MAGIC, 0);
    CHECK_OK(lmn__fsst_init(&fsst, span(&table), NULL));
    CHECK(fsst.plain);
    check_text(&fsst, "\377as it is", 9, "\377as it is");
}

/* One code at a time. */
static uint8_t *decode_slowly(const struct lmn__fsst *fsst, const uint8_t *code, size_t len,
                              uint8_t *out)
{
    for (size_t i = 0; i < len; i++) {
        if (code[i] == ESCAPE) {
            if (++i == len)
                return NULL;
            *out++ = code[i];
            continue;
        }
        memcpy(out, &fsst->symbol[code[i]], fsst->len[code[i]]);
        out += fsst->len[code[i]];
    }
    return out;
}

static void test_fsst__random_codes(void **state)
{
    uint8_t code[64], fast[64 * 8 + 8], slow[64 * 8 + 8];
    uint64_t seed = 1;
    struct lmn__fsst fsst;

    (void)state;
    open_symbols(&fsst);
    for (int round = 0; round < 20000; round++) {
        size_t len = test_random(&seed) % sizeof code;
        uint8_t *end, *expected;

        /* Codes without a symbol stand for nothing. */
        for (size_t i = 0; i < len; i++)
            code[i] = (uint8_t)(test_random(&seed) % 9 == 0 ? ESCAPE : test_random(&seed) % 8);
        expected = decode_slowly(&fsst, code, len, slow);
        end = lmn__fsst_decode(&fsst, code, len, fast);
        CHECK_EQ(end == NULL, expected == NULL);
        if (end == NULL)
            continue;
        CHECK_EQ(end - fast, expected - slow);
        CHECK_BYTES(fast, slow, (size_t)(expected - slow));
    }
}

static void test_fsst__corrupt_escape_at_the_end(void **state)
{
    uint8_t codes[32] = { 0 }, out[32 * 8 + 8];
    struct lmn__fsst fsst;

    (void)state;
    open_symbols(&fsst);
    for (size_t len = 1; len < sizeof codes; len++) {
        codes[len - 1] = ESCAPE;
        CHECK(lmn__fsst_decode(&fsst, codes, len, out) == NULL);
        codes[len - 1] = 0;
    }
}

static void test_fsst__corrupt_tables(void **state)
{
    struct lmn__fsst fsst;
    struct lmn_error err;
    struct table table;

    (void)state;
    make_table(&table, symbols, 5);
    CHECK_STATUS(lmn__fsst_init(&fsst, (struct lmn__span){ table.bytes, 2311 }, &err),
                 LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "2311");
    CHECK_STATUS(lmn__fsst_init(&fsst, (struct lmn__span){ NULL, 0 }, &err), LMN_E_CORRUPT, &err);
    put_header(&table, MAGIC + 1, ENCODED | 5);
    CHECK_STATUS(lmn__fsst_init(&fsst, span(&table), &err), LMN_E_CORRUPT, &err);
    for (uint8_t len = 0; len < 20; len++) {
        make_table(&table, symbols, 5);
        table.bytes[8 + 5 * 8 + 2] = len;
        CHECK_STATUS(lmn__fsst_init(&fsst, span(&table), &err),
                     len >= 1 && len <= 8 ? LMN_OK : LMN_E_CORRUPT, &err);
    }
}

/* 255 symbols fill the table to its last byte but nine. */
static void test_fsst__full_table(void **state)
{
    const char *many[255];
    struct lmn__fsst fsst;
    struct table table;

    (void)state;
    for (int i = 0; i < 255; i++)
        many[i] = symbols[i % 5];
    make_table(&table, many, 255);
    CHECK_OK(lmn__fsst_init(&fsst, span(&table), NULL));
    check_text(&fsst, "\376\375\374", 3, "xyz12345678lemans");
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_fsst__symbols),
        cmocka_unit_test(test_fsst__escapes),
        cmocka_unit_test(test_fsst__plain_strings),
        cmocka_unit_test(test_fsst__random_codes),
        cmocka_unit_test(test_fsst__corrupt_escape_at_the_end),
        cmocka_unit_test(test_fsst__corrupt_tables),
        cmocka_unit_test(test_fsst__full_table),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
