/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strings out of chunks, blocks and by themselves: both widths of offsets, FSST, damaged offsets.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codec/compress.h"
#include "codec/variable.h"
#include "columns.h"

enum { STRINGS = 6, HEAD = 2 };

static const char *const text[STRINGS] = { "lance", "", "in", "the end", "x", "" };

static struct lmn__scratch scratch;
static struct lmn__arena arena;
static struct lmn__vec bytes;

static int set_up(void **state)
{
    (void)state;
    lmn__scratch_init(&scratch, test_env());
    lmn__arena_init(&arena, test_env(), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lmn__vec_deinit(&bytes);
    lmn__arena_deinit(&arena);
    lmn__scratch_deinit(&scratch);
    return live_allocations() == 0 ? 0 : -1;
}

static void put(const void *data, size_t len)
{
    CHECK_OK(lmn__vec_put(&bytes, test_env()->pool, data, len, NULL));
}

/* Offsets and bytes of the strings; offsets count from `start`. */
static void put_strings(uint32_t width, uint64_t start)
{
    for (int i = 0; i <= STRINGS; i++) {
        put(&start, width);
        start += i < STRINGS ? strlen(text[i]) : 0;
    }
    for (int i = 0; i < STRINGS; i++)
        put(text[i], strlen(text[i]));
}

static void make_chunk(uint32_t width)
{
    bytes.len = 0;
    put_strings(width, (STRINGS + 1) * width);
}

/* The form of a block; `early` is that of early writers. */
static void make_block(uint32_t width, bool early)
{
    const uint64_t bits = width * 8, count = STRINGS;
    const uint64_t start = (early ? 1 : 0) + (HEAD + STRINGS + 1) * width;

    bytes.len = 0;
    put(&bits, early ? 1 : width);
    if (early)
        put(&count, width);
    put(&start, width);
    put_strings(width, 0);
}

static struct lmn__variable open(uint32_t bits)
{
    struct lmn__encoding *encoding = lmn__arena_alloc(&arena, sizeof *encoding);
    struct lmn__variable variable;

    encoding->kind = LMN__ENC_VARIABLE;
    encoding->bits = bits;
    CHECK_OK(lmn__variable_init(&variable, encoding, &arena, NULL));
    return variable;
}

/* Strings [first, first + take) are what the builder holds behind `before` others. */
static void check_strings(const struct lmn__builder *builder, uint64_t before, int first, int take)
{
    uint32_t width = builder->layout->bits / 8;

    for (int i = 0; i < take; i++) {
        const uint8_t *at = builder->offsets.data + (before + (uint64_t)i) * width;
        uint64_t from = lmn__load_uint(at, width), to = lmn__load_uint(at + width, width);

        CHECK_EQ(to - from, strlen(text[first + i]));
        CHECK_BYTES(builder->values.data + from, text[first + i], to - from);
    }
    CHECK_EQ(builder->offsets.len, (before + (uint64_t)take + 1) * width);
}

static void test_variable__chunks_of_both_widths(void **state)
{
    (void)state;
    for (uint32_t from = 4; from <= 8; from += 4) {
        for (uint32_t to = 32; to <= 64; to += 32) {
            const struct lmn__variable variable = open(from * 8);
            const struct lmn__layout *layout = VARIABLE(to);
            struct lmn__builder builder;
            struct lmn__span chunk;

            make_chunk(from);
            chunk = (struct lmn__span){ bytes.data, bytes.len };
            CHECK_OK(lmn__builder_init(&builder, test_env(), layout, NULL));
            CHECK_OK(lmn__variable_decode_chunk(&scratch, &variable, chunk, STRINGS, 0, STRINGS,
                                                &builder, NULL));
            check_strings(&builder, 0, 0, STRINGS);
            CHECK_OK(lmn__variable_decode_chunk(&scratch, &variable, chunk, STRINGS, 2, 3, &builder,
                                                NULL));
            check_strings(&builder, STRINGS, 2, 3);
            lmn__builder_deinit(&builder);
        }
    }
}

static void test_variable__blocks_of_all_forms(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        uint32_t width = form & 1 ? 8 : 4;
        const struct lmn__variable variable = open(width * 8);
        const struct lmn__layout *layout = VARIABLE(32);
        struct lmn__builder builder;

        make_block(width, form & 2);
        CHECK_OK(lmn__builder_init(&builder, test_env(), layout, NULL));
        CHECK_OK(lmn__variable_decode_block(&scratch, &variable,
                                            (struct lmn__span){ bytes.data, bytes.len }, STRINGS,
                                            &builder, NULL));
        check_strings(&builder, 0, 0, STRINGS);
        lmn__builder_deinit(&builder);
    }
}

/* Decode a copy of exact size into a builder of its own. */
static enum lmn_status decode(const struct lmn__variable *variable, bool block, size_t len,
                              struct lmn_error *err)
{
    const struct lmn__layout *layout = VARIABLE(32);
    struct lmn__span copy = { malloc(len), len };
    struct lmn__builder builder;
    enum lmn_status st;

    if (len != 0)
        memcpy((void *)copy.data, bytes.data, len);
    CHECK_OK(lmn__builder_init(&builder, test_env(), layout, err));
    st = block ? lmn__variable_decode_block(&scratch, variable, copy, STRINGS, &builder, err)
               : lmn__variable_decode_chunk(&scratch, variable, copy, STRINGS, 0, STRINGS, &builder,
                                            err);
    lmn__builder_deinit(&builder);
    free((void *)copy.data);
    return st;
}

static void test_variable__corrupt_cut_short(void **state)
{
    (void)state;
    for (int form = 0; form < 6; form++) {
        uint32_t width = form & 1 ? 8 : 4;
        const struct lmn__variable variable = open(width * 8);
        struct lmn_error err;

        if (form < 2)
            make_chunk(width);
        else
            make_block(width, form >= 4);
        CHECK_OK(decode(&variable, form >= 2, bytes.len, &err));
        for (size_t len = 0; len < bytes.len; len++)
            CHECK_STATUS(decode(&variable, form >= 2, len, &err), LMN_E_CORRUPT, &err);
    }
}

static void test_variable__corrupt_offsets(void **state)
{
    static const uint64_t lies[] = { 0, 1, 40, 1000, INT32_MAX, UINT32_MAX, UINT64_MAX };

    (void)state;
    for (uint32_t width = 4; width <= 8; width += 4) {
        const struct lmn__variable variable = open(width * 8);
        struct lmn_error err;

        for (int i = 0; i <= STRINGS; i++) {
            for (int k = 0; k < 7; k++) {
                enum lmn_status st;

                make_chunk(width);
                lmn__store_uint(bytes.data + (size_t)i * width, width, lies[k]);
                st = decode(&variable, false, bytes.len, &err);
                CHECK(st == LMN_E_CORRUPT || (st == LMN_OK && lies[k] <= bytes.len));
                make_block(width, false);
                lmn__store_uint(bytes.data + (size_t)(HEAD + i) * width, width, lies[k]);
                st = decode(&variable, true, bytes.len, &err);
                CHECK(st == LMN_E_CORRUPT || (st == LMN_OK && lies[k] <= bytes.len));
            }
        }
        make_chunk(width);
        /* The first string reaches over the second one's end. */
        lmn__store_uint(bytes.data + width, width, (STRINGS + 1) * width + 6);
        CHECK_STATUS(decode(&variable, false, bytes.len, &err), LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "offset 2 of the strings is");
    }
}

static void test_variable__corrupt_block_heads(void **state)
{
    const struct lmn__variable variable = open(32);
    struct lmn_error err;

    (void)state;
    for (int head = 0; head < 256; head++) {
        make_block(4, false);
        bytes.data[0] = (uint8_t)head;
        CHECK_STATUS(decode(&variable, true, bytes.len, &err), head == 32 ? LMN_OK : LMN_E_CORRUPT,
                     &err);
    }
    make_block(4, false);
    lmn__store_u32(bytes.data + 4, UINT32_MAX);
    CHECK_STATUS(decode(&variable, true, bytes.len, &err), LMN_E_CORRUPT, &err);
}

/* A symbol table of "ab" alone. */
static const struct lmn__encoding *make_fsst(void)
{
    struct lmn__encoding *fsst = lmn__arena_alloc(&arena, sizeof *fsst), *plain;
    uint8_t *table = lmn__arena_alloc(&arena, LMN__FSST_TABLE_BYTES);

    plain = lmn__arena_alloc(&arena, sizeof *plain);
    *plain = (struct lmn__encoding){ .kind = LMN__ENC_VARIABLE, .bits = 32 };
    lmn__store_u64(table, (uint64_t)0x46535354 << 32 | 1 << 24 | 1);
    memcpy(table + 8, "ab", 2);
    table[16] = 2;
    *fsst = (struct lmn__encoding){ .kind = LMN__ENC_FSST,
                                    .table = { table, LMN__FSST_TABLE_BYTES },
                                    .child = plain };
    return fsst;
}

static void test_variable__fsst(void **state)
{
    static const char codes[] = "\0\0\377z\377";
    const struct lmn__layout *layout = VARIABLE(32);
    const uint32_t offsets[3] = { 12, 14, 16 }, broken[3] = { 12, 14, 17 };
    struct lmn__variable variable;
    struct lmn__builder builder;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__variable_init(&variable, make_fsst(), &arena, &err));
    CHECK_OK(lmn__builder_init(&builder, test_env(), layout, &err));
    bytes.len = 0;
    put(offsets, sizeof offsets);
    put(codes, 5);
    CHECK_OK(lmn__variable_decode_chunk(
        &scratch, &variable, (struct lmn__span){ bytes.data, bytes.len }, 2, 0, 2, &builder, &err));
    CHECK_OK(lmn__variable_decode_value(
        &scratch, &variable, (struct lmn__span){ (const uint8_t *)codes, 4 }, &builder, &err));
    CHECK_EQ(builder.values.len, 10);
    CHECK_BYTES(builder.values.data, "ababzababz", 10);
    memcpy(bytes.data, broken, sizeof broken);
    CHECK_STATUS(lmn__variable_decode_chunk(&scratch, &variable,
                                            (struct lmn__span){ bytes.data, bytes.len }, 2, 0, 2,
                                            &builder, &err),
                 LMN_E_CORRUPT, &err);
    CHECK_STATUS(lmn__variable_decode_value(&scratch, &variable,
                                            (struct lmn__span){ (const uint8_t *)codes, 5 },
                                            &builder, &err),
                 LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&builder);
}

static void test_variable__refuses_other_encodings(void **state)
{
    const struct lmn__encoding flat = { .kind = LMN__ENC_FLAT, .bits = 32 };
    const struct lmn__encoding zstd = { .kind = LMN__ENC_GENERAL,
                                        .scheme = LMN__SCHEME_ZSTD,
                                        .child = &flat };
    const struct lmn__encoding fsst = { .kind = LMN__ENC_FSST, .child = &flat };
    struct lmn__variable variable;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn__variable_init(&variable, &flat, &arena, &err), LMN_E_UNSUPPORTED, &err);
    CHECK_STATUS(lmn__variable_init(&variable, &zstd, &arena, &err), LMN_E_UNSUPPORTED, &err);
    CHECK_STATUS(lmn__variable_init(&variable, &fsst, &arena, &err), LMN_E_CORRUPT, &err);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_variable__chunks_of_both_widths),
        cmocka_unit_test(test_variable__blocks_of_all_forms),
        cmocka_unit_test(test_variable__corrupt_cut_short),
        cmocka_unit_test(test_variable__corrupt_offsets),
        cmocka_unit_test(test_variable__corrupt_block_heads),
        cmocka_unit_test(test_variable__fsst),
        cmocka_unit_test(test_variable__refuses_other_encodings),
    };

    return cmocka_run_group_tests(cases, set_up, tear_down);
}
