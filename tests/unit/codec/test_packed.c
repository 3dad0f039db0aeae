/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows of packed structs, and values of fixed size as they stand in a row of their own.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codec/packed.h"
#include "columns.h"

static struct lmn__scratch scratch;
static struct lmn__arena arena;

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
    lmn__arena_deinit(&arena);
    lmn__scratch_deinit(&scratch);
    return live_allocations() == 0 ? 0 : -1;
}

static const struct lmn__encoding flat1 = { .kind = LMN__ENC_FLAT, .bits = 1 };
static const struct lmn__encoding flat8 = { .kind = LMN__ENC_FLAT, .bits = 8 };
static const struct lmn__encoding flat16 = { .kind = LMN__ENC_FLAT, .bits = 16 };
static const struct lmn__encoding strings = { .kind = LMN__ENC_VARIABLE, .bits = 32 };
static const struct lmn__encoding nulls = { .kind = LMN__ENC_CONSTANT };

/* A number of 16 bits, a string with a length of 8 bits. */
static const struct lmn__packed_field fields[] = {
    { .bits = 16, .encoding = &flat16 },
    { .bits = 8, .variable = true, .encoding = &strings },
};
static const struct lmn__encoding rows = { .kind = LMN__ENC_VARIABLE_PACKED,
                                           .field = fields,
                                           .field_count = 2 };

static enum lmn_status append(const struct lmn__packed *packed, const char *row, size_t len,
                              struct lmn__builder *builder, struct lmn_error *err)
{
    struct lmn__span copy = { malloc(len), len };
    enum lmn_status st;

    if (len != 0)
        memcpy((void *)copy.data, row, len);
    CHECK_OK(lmn__builder_add_valid(builder, 1, NULL));
    st = lmn__packed_append(packed, &scratch, copy, builder, err);
    free((void *)copy.data);
    return st;
}

static void test_packed__rows(void **state)
{
    const struct lmn__layout *type = PAIR(FIXED(16), VARIABLE(32));
    struct lmn__builder builder;
    struct lmn__packed packed;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn__packed_init(&packed, &rows, type, &arena, &err), LMN_OK, &err);
    CHECK_OK(lmn__builder_init(&builder, test_env(), type, NULL));
    CHECK_OK(append(&packed, "\1\2\3abc", 6, &builder, &err));
    CHECK_OK(append(&packed, "\3\4\0", 3, &builder, &err));
    CHECK_OK(append(&packed, "\5\6\2xy", 5, &builder, &err));
    CHECK_OK(lmn__builder_check(&builder, 3, &err));
    CHECK_BYTES(builder.child[0].values.data, "\1\2\3\4\5\6", 6);
    CHECK_BYTES(builder.child[1].values.data, "abcxy", 5);
    CHECK_EQ(lmn__load_u32(builder.child[1].offsets.data + 8), 3);
    lmn__builder_deinit(&builder);
}

static void test_packed__corrupt_rows(void **state)
{
    const struct lmn__layout *type = PAIR(FIXED(16), VARIABLE(32));
    struct lmn__builder builder;
    struct lmn__packed packed;
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__packed_init(&packed, &rows, type, &arena, &err));
    for (size_t len = 0; len <= 7; len++) {
        CHECK_OK(lmn__builder_init(&builder, test_env(), type, NULL));
        CHECK_STATUS(append(&packed, "\1\2\3abcd", len, &builder, &err),
                     len == 6 ? LMN_OK : LMN_E_CORRUPT, &err);
        lmn__builder_deinit(&builder);
    }
    CHECK_HAS(err.message, "leaves 1 bytes");
    CHECK_OK(lmn__builder_init(&builder, test_env(), type, NULL));
    CHECK_STATUS(append(&packed, "\1\2\377abc", 6, &builder, &err), LMN_E_CORRUPT, &err);
    lmn__builder_deinit(&builder);
}

static void test_packed__corrupt_fields(void **state)
{
    const struct lmn__layout *const types[] = { PAIR(FIXED(32), VARIABLE(32)),
                                                PAIR(FIXED(16), FIXED(16)),
                                                PAIR(VARIABLE(32), VARIABLE(32)),
                                                STRUCT(FIXED(16)) };
    struct lmn__packed_field wrong[2] = { fields[0], fields[1] };
    const struct lmn__encoding bad = { .kind = LMN__ENC_VARIABLE_PACKED,
                                       .field = wrong,
                                       .field_count = 2 };
    const struct lmn__layout *type = PAIR(FIXED(16), VARIABLE(32));
    struct lmn__packed packed;
    struct lmn_error err;

    (void)state;
    for (int i = 0; i < 4; i++)
        CHECK_STATUS(lmn__packed_init(&packed, &rows, types[i], &arena, &err), LMN_E_CORRUPT, &err);
    wrong[0].bits = 24;
    CHECK_STATUS(lmn__packed_init(&packed, &bad, type, &arena, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "field 0 of a packed struct");
    wrong[0] = fields[0];
    wrong[1].encoding = &flat8;
    CHECK_STATUS(lmn__packed_init(&packed, &bad, type, &arena, &err), LMN_E_UNSUPPORTED, &err);
}

static const struct lmn__encoding bits = {
    .kind = LMN__ENC_FIXED_LIST, .dimension = 9, .has_validity = true, .child = &flat1
};
static const struct lmn__encoding pairs = {
    .kind = LMN__ENC_FIXED_LIST, .dimension = 2, .has_validity = true, .child = &flat16
};
static const struct lmn__encoding nested = {
    .kind = LMN__ENC_FIXED_LIST, .dimension = 3, .has_validity = true, .child = &pairs
};
static const struct lmn__encoding nothing = {
    .kind = LMN__ENC_FIXED_LIST, .dimension = 3, .has_validity = true, .child = &nulls
};

static void test_zipped__sizes(void **state)
{
    const struct {
        const struct lmn__encoding *encoding;
        const struct lmn__layout *layout;
        uint64_t bytes;
        bool plain;
    } cases[] = {
        { &flat16, FIXED(16), 2, true },
        { &flat8, FIXED(1), 1, false },
        { &bits, FIXED_LIST(9, FIXED(1)), 4, false },
        { &pairs, FIXED_LIST(2, FIXED(16)), 5, false },
        { &nested, FIXED_LIST(3, FIXED_LIST(2, FIXED(16))), 14, false },
        { &nothing, FIXED_LIST(3, NOTHING), 1, false },
    };

    (void)state;
    for (int i = 0; i < 6; i++) {
        struct lmn__zipped zipped;

        CHECK_OK(lmn__zipped_init(&zipped, cases[i].encoding, cases[i].layout, NULL));
        CHECK_EQ(zipped.bytes, cases[i].bytes);
        CHECK_EQ(zipped.plain, cases[i].plain);
    }
}

static void test_zipped__nested_validity(void **state)
{
    static const uint8_t value[] = { 0x5, 0x2b, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6, 0 };
    const struct lmn__layout *type = FIXED_LIST(3, FIXED_LIST(2, FIXED(16)));
    struct lmn__zipped zipped;
    struct lmn__builder builder;

    (void)state;
    CHECK_OK(lmn__zipped_init(&zipped, &nested, type, NULL));
    CHECK_OK(lmn__builder_init(&builder, test_env(), type, NULL));
    CHECK_OK(lmn__builder_add_valid(&builder, 1, NULL));
    CHECK_OK(lmn__zipped_append(&zipped, value, &builder, NULL));
    CHECK_OK(lmn__builder_check(&builder, 1, NULL));
    CHECK_EQ(builder.child[0].validity.data[0] & 7, 5);
    CHECK_EQ(builder.child[0].child[0].validity.data[0] & 63, 0x2b);
    CHECK_BYTES(builder.child[0].child[0].values.data, value + 2, 12);
    lmn__builder_deinit(&builder);
}

static void test_zipped__corrupt_types(void **state)
{
    const struct lmn__layout *const layouts[] = { FIXED(16), FIXED_LIST(3, FIXED(16)),
                                                  FIXED_LIST(2, FIXED(8)), VARIABLE(32),
                                                  FIXED_LIST(2, FIXED_LIST(1, FIXED(16))) };
    struct lmn__zipped zipped;
    struct lmn_error err;

    (void)state;
    for (int i = 0; i < 5; i++)
        CHECK_STATUS(lmn__zipped_init(&zipped, &pairs, layouts[i], &err), LMN_E_CORRUPT, &err);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_packed__rows),
        cmocka_unit_test(test_packed__corrupt_rows),
        cmocka_unit_test(test_packed__corrupt_fields),
        cmocka_unit_test(test_zipped__sizes),
        cmocka_unit_test(test_zipped__nested_validity),
        cmocka_unit_test(test_zipped__corrupt_types),
    };

    return cmocka_run_group_tests(cases, set_up, tear_down);
}
