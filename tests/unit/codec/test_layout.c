/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page layouts and encodings as protobuf: what is written is read back, and damage is refused.
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "codec/layout.h"

static struct lmn__arena arena;
static uint8_t symbols[2312];

static int set_up(void **state)
{
    (void)state;
    lmn__arena_init(&arena, test_env(), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    lmn__arena_deinit(&arena);
    return live_allocations() == 0 ? 0 : -1;
}

static const struct lmn__encoding flat8 = { .kind = LMN__ENC_FLAT, .bits = 8 };
static const struct lmn__encoding flat32 = { .kind = LMN__ENC_FLAT, .bits = 32 };
static const struct lmn__encoding flat1 = { .kind = LMN__ENC_FLAT, .bits = 1 };
static const struct lmn__encoding strings = { .kind = LMN__ENC_VARIABLE, .bits = 64 };
static const struct lmn__encoding nothing = { .kind = LMN__ENC_CONSTANT };
static const struct lmn__encoding packing = { .kind = LMN__ENC_OUT_OF_LINE,
                                              .bits = 16,
                                              .packed_bits = 3 };
static const struct lmn__encoding in_line = { .kind = LMN__ENC_INLINE, .bits = 64 };
static const struct lmn__encoding fsst = { .kind = LMN__ENC_FSST,
                                           .table = { symbols, sizeof symbols },
                                           .child = &strings };
static const struct lmn__encoding rle = { .kind = LMN__ENC_RLE, .bits = 16 };
static const struct lmn__encoding zstd = { .kind = LMN__ENC_GENERAL,
                                           .scheme = LMN__SCHEME_ZSTD,
                                           .child = &fsst };
static const struct lmn__encoding lz4 = { .kind = LMN__ENC_GENERAL,
                                          .scheme = LMN__SCHEME_LZ4,
                                          .child = &flat32 };
static const struct lmn__encoding list = {
    .kind = LMN__ENC_FIXED_LIST, .dimension = 9, .has_validity = true, .child = &flat1
};
static const struct lmn__encoding lists = { .kind = LMN__ENC_FIXED_LIST,
                                            .dimension = 3,
                                            .child = &list };
static const struct lmn__packed_field fields[] = { { .bits = 8 }, { .bits = 32 } };
static const struct lmn__encoding packed = {
    .kind = LMN__ENC_PACKED, .bits = 40, .field = fields, .field_count = 2
};
static const struct lmn__packed_field mixed[] = {
    { .bits = 32, .encoding = &flat32 },
    { .bits = 64, .variable = true, .encoding = &strings },
};
static const struct lmn__encoding variable_packed = { .kind = LMN__ENC_VARIABLE_PACKED,
                                                      .field = mixed,
                                                      .field_count = 2 };

static const struct lmn__encoding *const encodings[] = {
    &flat8, &flat32, &flat1, &strings, &nothing, &packing, &in_line,         &fsst,
    &rle,   &zstd,   &lz4,   &list,    &lists,   &packed,  &variable_packed,
};

enum { ENCODINGS = sizeof encodings / sizeof encodings[0] };

static void check_encoding(const struct lmn__encoding *actual, const struct lmn__encoding *expected)
{
    CHECK_EQ(actual != NULL, expected != NULL);
    if (expected == NULL)
        return;
    CHECK_EQ(actual->kind, expected->kind);
    CHECK_EQ(actual->bits, expected->bits);
    CHECK_EQ(actual->packed_bits, expected->packed_bits);
    CHECK_EQ(actual->scheme, expected->scheme);
    CHECK_EQ(actual->dimension, expected->dimension);
    CHECK_EQ(actual->has_validity, expected->has_validity);
    CHECK_EQ(actual->table.len, expected->table.len);
    CHECK_EQ(actual->field_count, expected->field_count);
    for (uint32_t i = 0; i < expected->field_count; i++) {
        CHECK_EQ(actual->field[i].bits, expected->field[i].bits);
        CHECK_EQ(actual->field[i].variable, expected->field[i].variable);
        check_encoding(actual->field[i].encoding, expected->field[i].encoding);
    }
    check_encoding(actual->child, expected->child);
}

static void check_layout(const struct lmn__page_layout *a, const struct lmn__page_layout *b)
{
    CHECK_EQ(a->kind, b->kind);
    CHECK_EQ(a->layer_count, b->layer_count);
    CHECK_BYTES(a->layer, b->layer, b->layer_count);
    check_encoding(a->rep, b->rep);
    check_encoding(a->def, b->def);
    check_encoding(a->values, b->values);
    check_encoding(a->dictionary, b->dictionary);
    CHECK_EQ(a->item_count, b->item_count);
    CHECK_EQ(a->dictionary_count, b->dictionary_count);
    CHECK_EQ(a->buffer_count, b->buffer_count);
    CHECK_EQ(a->large_chunks, b->large_chunks);
    CHECK_EQ(a->has_row_index, b->has_row_index);
    CHECK_EQ(a->rep_bits, b->rep_bits);
    CHECK_EQ(a->def_bits, b->def_bits);
    CHECK_EQ(a->value_bits, b->value_bits);
    CHECK_EQ(a->length_bits, b->length_bits);
    CHECK_EQ(a->visible_count, b->visible_count);
    CHECK_EQ(a->inline_value.data != NULL, b->inline_value.data != NULL);
    CHECK_EQ(a->inline_value.len, b->inline_value.len);
    CHECK_EQ(a->rep_count, b->rep_count);
    CHECK_EQ(a->def_count, b->def_count);
    if (b->inner != NULL)
        check_layout(a->inner, b->inner);
}

static const struct lmn__page_layout mini = {
    .kind = LMN__PAGE_MINI_BLOCK,
    .layer = { LMN__LAYER_NULLABLE_ITEM, LMN__LAYER_NULL_AND_EMPTY_LIST, LMN__LAYER_ITEM },
    .layer_count = 3,
    .rep = &packing,
    .def = &rle,
    .values = &in_line,
    .dictionary = &zstd,
    .dictionary_count = 300,
    .item_count = (uint64_t)1 << 40,
    .buffer_count = 2,
    .large_chunks = true,
    .has_row_index = true
};
static const struct lmn__page_layout zip = { .kind = LMN__PAGE_FULL_ZIP,
                                             .layer = { LMN__LAYER_EMPTYABLE_LIST },
                                             .layer_count = 1,
                                             .values = &lists,
                                             .rep_bits = 1,
                                             .def_bits = 2,
                                             .value_bits = 48,
                                             .item_count = 77,
                                             .visible_count = 66 };
static const struct lmn__page_layout constant = { .kind = LMN__PAGE_CONSTANT,
                                                  .layer = { LMN__LAYER_ITEM },
                                                  .layer_count = 1,
                                                  .inline_value = { symbols, 4 },
                                                  .rep = &packing,
                                                  .def = &packing,
                                                  .rep_count = 8,
                                                  .def_count = 9 };
static const struct lmn__page_layout blob = {
    .kind = LMN__PAGE_BLOB, .layer = { LMN__LAYER_NULLABLE_ITEM }, .layer_count = 1, .inner = &mini
};

static void write(const struct lmn__page_layout *layout, struct lmn__buf *buf)
{
    lmn__buf_init(buf, test_env(), 0);
    CHECK_OK(lmn__page_layout_write(layout, &arena, buf, NULL));
}

static void check_round_trip(const struct lmn__page_layout *layout)
{
    const struct lmn__page_layout *back;
    struct lmn__buf buf;
    struct lmn_error err;

    write(layout, &buf);
    CHECK_STATUS(
        lmn__page_layout_read((struct lmn__span){ buf.data, buf.len }, &arena, &back, &err), LMN_OK,
        &err);
    check_layout(back, layout);
    lmn__buf_deinit(&buf);
}

static void test_page_layout__round_trip(void **state)
{
    struct lmn__page_layout empty_value = constant;

    (void)state;
    check_round_trip(&mini);
    check_round_trip(&zip);
    check_round_trip(&constant);
    check_round_trip(&blob);
    /* A value of no bytes is not the same as no value. */
    empty_value.inline_value.len = 0;
    check_round_trip(&empty_value);
    empty_value.inline_value.data = NULL;
    check_round_trip(&empty_value);
}

static void test_encoding__round_trip(void **state)
{
    (void)state;
    for (int i = 0; i < ENCODINGS; i++) {
        struct lmn__page_layout layout = mini;

        layout.values = encodings[i];
        layout.dictionary = encodings[(i + 5) % ENCODINGS];
        check_round_trip(&layout);
    }
}

static enum lmn_status read_layout(const struct lmn__page_layout *layout, struct lmn_error *err)
{
    const struct lmn__page_layout *back;
    struct lmn__buf buf;
    enum lmn_status st;

    write(layout, &buf);
    st = lmn__page_layout_read((struct lmn__span){ buf.data, buf.len }, &arena, &back, err);
    lmn__buf_deinit(&buf);
    return st;
}

static void check_encoding_refused(struct lmn__encoding encoding, enum lmn_status expected)
{
    struct lmn__page_layout layout = mini;
    struct lmn_error err;

    layout.values = &encoding;
    CHECK_STATUS(read_layout(&layout, &err), expected, &err);
}

static void test_encoding__corrupt_members(void **state)
{
    struct lmn__encoding bad;

    (void)state;
    bad = flat32, bad.bits = 12;
    check_encoding_refused(bad, LMN_E_CORRUPT);
    bad = strings, bad.bits = 16;
    check_encoding_refused(bad, LMN_E_CORRUPT);
    bad = packing, bad.packed_bits = 17;
    check_encoding_refused(bad, LMN_E_CORRUPT);
    bad = packing, bad.bits = 24;
    check_encoding_refused(bad, LMN_E_CORRUPT);
    bad = in_line, bad.bits = 128;
    check_encoding_refused(bad, LMN_E_CORRUPT);
    bad = rle, bad.bits = 40;
    check_encoding_refused(bad, LMN_E_CORRUPT);
    bad = list, bad.dimension = 0;
    check_encoding_refused(bad, LMN_E_CORRUPT);
    bad = list, bad.dimension = (uint64_t)1 << 31;
    check_encoding_refused(bad, LMN_E_CORRUPT);
    bad = packed, bad.bits = 48;
    check_encoding_refused(bad, LMN_E_CORRUPT);
    bad = lz4, bad.scheme = (enum lmn__scheme)9;
    check_encoding_refused(bad, LMN_E_UNSUPPORTED);
}

/* The writer never splits bytes; others do. */
static void test_encoding__byte_stream_split_is_read(void **state)
{
    uint8_t message[] = { 9 << 3 | 2, 6, 1 << 3 | 2, 4, 1 << 3 | 2, 2, 1 << 3, 0 };
    const struct lmn__encoding *encoding;
    struct lmn_error err;

    (void)state;
    for (uint8_t bits = 8; bits < 128; bits = (uint8_t)(bits + 8)) {
        void *pb = lmn__arena_alloc(&arena, lmn__pb_encoding_message.size);

        message[7] = bits;
        CHECK_OK(lmn__pb_decode(&lmn__pb_encoding_message,
                                (struct lmn__span){ message, sizeof message }, &arena, pb, &err));
        CHECK_STATUS(lmn__encoding_from_pb(pb, &arena, &encoding, &err),
                     bits == 32 || bits == 64 ? LMN_OK : LMN_E_CORRUPT, &err);
        CHECK_EQ(encoding->kind, LMN__ENC_BYTE_SPLIT);
        CHECK_EQ(encoding->bits, bits);
    }
}

static void test_page_layout__corrupt_members(void **state)
{
    struct lmn__page_layout bad;
    struct lmn_error err;

    (void)state;
    bad = mini, bad.layer_count = 0;
    CHECK_STATUS(read_layout(&bad, &err), LMN_E_CORRUPT, &err);
    bad = mini, bad.layer[1] = 7;
    CHECK_STATUS(read_layout(&bad, &err), LMN_E_CORRUPT, &err);
    bad = mini, bad.values = NULL;
    CHECK_STATUS(read_layout(&bad, &err), LMN_E_CORRUPT, &err);
    bad = mini, bad.buffer_count = 65;
    CHECK_STATUS(read_layout(&bad, &err), LMN_E_CORRUPT, &err);
    bad = mini, bad.rep = NULL;
    CHECK_STATUS(read_layout(&bad, &err), LMN_E_CORRUPT, &err);
    bad = zip, bad.rep_bits = 17;
    CHECK_STATUS(read_layout(&bad, &err), LMN_E_CORRUPT, &err);
    bad = zip, bad.value_bits = 47;
    CHECK_STATUS(read_layout(&bad, &err), LMN_E_CORRUPT, &err);
    bad = zip, bad.length_bits = 32;
    CHECK_STATUS(read_layout(&bad, &err), LMN_E_CORRUPT, &err);
    bad = zip, bad.value_bits = 0, bad.length_bits = 16;
    CHECK_STATUS(read_layout(&bad, &err), LMN_E_CORRUPT, &err);
    bad = blob, bad.inner = &blob;
    bad.inner = &(const struct lmn__page_layout){
        .kind = LMN__PAGE_BLOB, .layer = { LMN__LAYER_ITEM }, .layer_count = 1, .inner = &mini
    };
    CHECK_STATUS(read_layout(&bad, &err), LMN_E_UNSUPPORTED, &err);
}

/* Every cut and every flipped bit; what is taken for a layout can be written again. */
static void test_page_layout__corrupt_bytes(void **state)
{
    static const struct lmn__page_layout *const layouts[] = { &mini, &zip, &constant, &blob };

    (void)state;
    for (int i = 0; i < 4; i++) {
        struct lmn__buf buf;

        write(layouts[i], &buf);
        for (size_t bit = 0; bit < buf.len * 8; bit += bit > 2000 ? 97 : 1) {
            size_t len = bit % 8 == 0 ? bit / 8 : buf.len;
            uint8_t *copy = malloc(len);
            const struct lmn__page_layout *back;
            struct lmn__arena own;
            struct lmn_error err;
            enum lmn_status st;

            if (len != 0)
                memcpy(copy, buf.data, len);
            if (len == buf.len)
                copy[bit / 8] = (uint8_t)(copy[bit / 8] ^ 1u << bit % 8);
            lmn__arena_init(&own, test_env(), 0);
            st = lmn__page_layout_read((struct lmn__span){ copy, len }, &own, &back, &err);
            CHECK(st == LMN_OK || st == LMN_E_CORRUPT || st == LMN_E_UNSUPPORTED);
            if (st == LMN_OK)
                check_round_trip(back);
            lmn__arena_deinit(&own);
            free(copy);
        }
        lmn__buf_deinit(&buf);
    }
}

static void check_text(const struct lmn__encoding *encoding, const char *expected)
{
    struct lmn__buf buf;

    lmn__buf_init(&buf, test_env(), 0);
    lmn__encoding_print(encoding, &buf);
    lmn__buf_put_u8(&buf, 0);
    CHECK_STR((const char *)buf.data, expected);
    lmn__buf_deinit(&buf);
}

static void test_encoding__is_printed_for_people(void **state)
{
    (void)state;
    check_text(&zstd, "zstd(fsst(variable64))");
    check_text(&flat32, "flat32");
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_page_layout__round_trip),
        cmocka_unit_test(test_encoding__round_trip),
        cmocka_unit_test(test_encoding__corrupt_members),
        cmocka_unit_test(test_encoding__byte_stream_split_is_read),
        cmocka_unit_test(test_page_layout__corrupt_members),
        cmocka_unit_test(test_page_layout__corrupt_bytes),
        cmocka_unit_test(test_encoding__is_printed_for_people),
    };

    return cmocka_run_group_tests(cases, set_up, tear_down);
}
