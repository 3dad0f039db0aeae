/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values as messages show them, type by type; what is long or deep is cut.
 */
#include <stdio.h>
#include <string.h>

#include "arrow/show.h"
#include "check.h"

/* Slots of a column of one type, over the caller's memory. */
static struct ArrowArray column(const void **buffers, int64_t buffer_count, int64_t length)
{
    return (struct ArrowArray){ .length = length, .n_buffers = buffer_count, .buffers = buffers };
}

static void check_shown(const struct ArrowSchema *schema, const struct ArrowArray *array,
                        uint64_t i, const char *text)
{
    struct lmn__buf buf;

    lmn__buf_init(&buf, test_env(), 0);
    lmn__show_value(schema, array, i, &buf);
    lmn__buf_put_u8(&buf, 0);
    CHECK(!buf.failed);
    CHECK_STR((const char *)buf.data, text);
    lmn__buf_deinit(&buf);
}

/* The second value of a column of fixed width. */
static void check_fixed(const char *format, const void *values, const char *text)
{
    const struct ArrowSchema schema = { .format = format };
    const void *buffers[] = { NULL, values };
    struct ArrowArray array = column(buffers, 2, 2);

    check_shown(&schema, &array, 1, text);
    array.offset = 1;
    array.length = 1;
    check_shown(&schema, &array, 0, text);
}

static void test_show__numbers(void **state)
{
    (void)state;
    check_fixed("c", (int8_t[]){ 0, -7 }, "-7");
    check_fixed("C", (uint8_t[]){ 0, 200 }, "200");
    check_fixed("s", (int16_t[]){ 0, -300 }, "-300");
    check_fixed("S", (uint16_t[]){ 0, 60000 }, "60000");
    check_fixed("i", (int32_t[]){ 0, -70000 }, "-70000");
    check_fixed("I", (uint32_t[]){ 0, 4000000000 }, "4000000000");
    check_fixed("l", (int64_t[]){ 0, INT64_MIN }, "-9223372036854775808");
    check_fixed("L", (uint64_t[]){ 0, UINT64_MAX }, "18446744073709551615");
    check_fixed("e", (uint16_t[]){ 0, 0xc100 }, "-2.5");
    check_fixed("e", (uint16_t[]){ 0, 0x7c00 }, "inf");
    check_fixed("f", (float[]){ 0, 0.1f }, "0.1");
    check_fixed("g", (double[]){ 0, 0.1 }, "0.1");
    check_fixed("g", (double[]){ 0, 3 }, "3.0");
    check_fixed("b", (uint8_t[]){ 2 }, "True");
    check_fixed("tdD", (int32_t[]){ 0, 19000 }, "19000 days");
    check_fixed("tsu:UTC", (int64_t[]){ 0, 5 }, "5 us");
    check_fixed("tDn", (int64_t[]){ 0, 5 }, "5 ns");
    check_fixed("ttm", (int32_t[]){ 0, 5 }, "5 ms");
    check_fixed("w:2", "abcd", "b'cd'");
    check_fixed("d:10,2", (int64_t[]){ 0, 0, 0, 0 }, "<d:10,2>");
}

static void test_show__nulls(void **state)
{
    static const uint8_t valid = 1;
    const struct ArrowSchema number = { .format = "i" }, nothing = { .format = "n" };
    const void *buffers[] = { &valid, (int32_t[]){ 5, 6 } };
    struct ArrowArray array = column(buffers, 2, 2), none = column(NULL, 0, 2);

    (void)state;
    array.null_count = none.null_count = 1;
    check_shown(&number, &array, 0, "5");
    check_shown(&number, &array, 1, "None");
    check_shown(&nothing, &none, 1, "None");
}

static void check_string(const char *format, const char *bytes, size_t len, const char *text)
{
    const struct ArrowSchema schema = { .format = format };
    int32_t narrow[] = { 0, (int32_t)len };
    int64_t wide[] = { 0, (int64_t)len };
    const void *buffers[] = { NULL, narrow, bytes };
    struct ArrowArray array = column(buffers, 3, 1);

    if (format[0] == 'U' || format[0] == 'Z')
        buffers[1] = wide;
    check_shown(&schema, &array, 0, text);
}

static void test_show__texts_and_bytes(void **state)
{
    (void)state;
    check_string("u", "it's\n\\ \x01", 8, "'it\\'s\\n\\\\ \\x01'");
    check_string("U", "gr\xc3\xbc\xc3\x9f", 6, "'gr\xc3\xbc\xc3\x9f'");
    check_string("u", "cut \xe2\x82", 6, "'cut \\xe2\\x82'");
    check_string("u", "a\0b", 3, "'a\\x00b'");
    check_string("z", "\xff\xd8ok", 4, "b'\\xff\\xd8ok'");
}

static void test_show__long_ones_are_cut(void **state)
{
    char many[1001], text[200];

    (void)state;
    memset(many, 'x', sizeof many - 1);
    snprintf(text, sizeof text, "'%.64s'… (1000 characters)", many);
    check_string("u", many, 1000, text);
    snprintf(text, sizeof text, "b'%.64s'… (1000 bytes)", many);
    check_string("Z", many, 1000, text);
    for (size_t i = 0; i + 1 < sizeof many; i += 2)
        memcpy(many + i, "\xc3\xbc", 2);
    snprintf(text, sizeof text, "'%.128s'… (201 characters)", many);
    check_string("u", many, 402, text);
}

static void test_show__lists_and_structs(void **state)
{
    struct ArrowSchema item = { .format = "i", .name = "item" }, *one[] = { &item };
    struct ArrowSchema list = { .format = "+l", .n_children = 1, .children = one };
    struct ArrowSchema vector = { .format = "+w:3", .n_children = 1, .children = one };
    struct ArrowSchema a = { .format = "+w:3", .name = "v", .n_children = 1, .children = one };
    struct ArrowSchema b = { .format = "i", .name = "n" }, *two[] = { &a, &b };
    struct ArrowSchema row = { .format = "+s", .n_children = 2, .children = two };
    const void *numbers[] = { NULL,
                              (int32_t[]){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14 } };
    const void *offsets[] = { NULL, (int32_t[]){ 0, 2, 2, 12 } }, *none[] = { NULL };
    struct ArrowArray items = column(numbers, 2, 15), *child[] = { &items };
    struct ArrowArray lists = column(offsets, 2, 3), vectors = column(none, 1, 5);
    struct ArrowArray *children[] = { &vectors, &items }, rows = column(none, 1, 5);
    struct lmn__buf buf;

    (void)state;
    lists.children = vectors.children = child;
    lists.n_children = vectors.n_children = 1;
    rows.children = children;
    rows.n_children = 2;
    check_shown(&list, &lists, 0, "[0, 1]");
    check_shown(&list, &lists, 1, "[]");
    check_shown(&list, &lists, 2, "[2, 3, 4, 5, 6, 7, 8, 9, … (10 items)]");
    check_shown(&vector, &vectors, 1, "[3, 4, 5]");
    rows.offset = 1;
    check_shown(&row, &rows, 1, "{'v': [6, 7, 8], 'n': 2}");
    lmn__buf_init(&buf, test_env(), 0);
    lmn__show_fields(&row, &rows, 0, &buf);
    lmn__buf_put_u8(&buf, 0);
    CHECK_STR((const char *)buf.data, "v=[3, 4, 5], n=1");
    lmn__buf_deinit(&buf);
}

static void test_show__dictionaries_are_looked_up(void **state)
{
    struct ArrowSchema words = { .format = "u" };
    const struct ArrowSchema schema = { .format = "C", .dictionary = &words };
    const void *texts[] = { NULL, (int32_t[]){ 0, 3, 6 }, "onetwo" };
    const void *indices[] = { NULL, (uint8_t[]){ 1, 0 } };
    struct ArrowArray dictionary = column(texts, 3, 2), array = column(indices, 2, 2);

    (void)state;
    array.dictionary = &dictionary;
    check_shown(&schema, &array, 0, "'two'");
    check_shown(&schema, &array, 1, "'one'");
}

static void test_show__deep_ones_are_cut(void **state)
{
    struct ArrowSchema item = { .format = "i" }, *c0[] = { &item };
    struct ArrowSchema l1 = { .format = "+w:1", .n_children = 1, .children = c0 }, *c1[] = { &l1 };
    struct ArrowSchema l2 = { .format = "+w:1", .n_children = 1, .children = c1 }, *c2[] = { &l2 };
    struct ArrowSchema l3 = { .format = "+w:1", .n_children = 1, .children = c2 };
    const void *numbers[] = { NULL, (int32_t[]){ 7 } }, *none[] = { NULL };
    struct ArrowArray a0 = column(numbers, 2, 1), *k0[] = { &a0 }, a1 = column(none, 1, 1);
    struct ArrowArray *k1[] = { &a1 }, a2 = column(none, 1, 1), *k2[] = { &a2 };
    struct ArrowArray a3 = column(none, 1, 1);

    (void)state;
    a1.n_children = a2.n_children = a3.n_children = 1;
    a1.children = k0;
    a2.children = k1;
    a3.children = k2;
    check_shown(&l2, &a2, 0, "[[7]]");
    check_shown(&l3, &a3, 0, "[[[…]]]");
}

static void test_show__memory_that_fails_is_remembered(void **state)
{
    const struct ArrowSchema schema = { .format = "u" };
    const void *buffers[] = { NULL, (int32_t[]){ 0, 5 }, "hello" };
    struct ArrowArray array = column(buffers, 3, 1);
    struct lmn__buf buf;

    (void)state;
    lmn__buf_init(&buf, test_env(), 4);
    lmn__show_value(&schema, &array, 0, &buf);
    CHECK(buf.failed);
    lmn__buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_show__numbers),
        cmocka_unit_test(test_show__nulls),
        cmocka_unit_test(test_show__texts_and_bytes),
        cmocka_unit_test(test_show__long_ones_are_cut),
        cmocka_unit_test(test_show__lists_and_structs),
        cmocka_unit_test(test_show__dictionaries_are_looked_up),
        cmocka_unit_test(test_show__deep_ones_are_cut),
        cmocka_unit_test(test_show__memory_that_fails_is_remembered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
