/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "base/buf.h"
#include "check.h"

static void test_buf__grows_and_keeps_content(void **state)
{
    struct lmn__buf buf;
    struct lmn_error err;

    (void)state;
    lmn__buf_init(&buf, test_env(), 0);
    for (uint32_t i = 0; i < 5000; i++)
        lmn__buf_put_u32(&buf, i);
    CHECK_OK(lmn__buf_status(&buf, "test", &err));
    CHECK_EQ(buf.len, 20000);
    for (uint32_t i = 0; i < 5000; i++)
        CHECK_EQ(lmn__load_u32(buf.data + 4 * i), i);
    lmn__buf_deinit(&buf);
    CHECK_EQ(buf.len, 0);
    CHECK_EQ(live_allocations(), 0);
}

static void test_buf__integers_are_little_endian(void **state)
{
    static const uint8_t expected[] = { 1, 3, 2, 7, 6, 5, 4, 15, 14, 13, 12, 11, 10, 9, 8, 0, 0 };
    struct lmn__buf buf;

    (void)state;
    lmn__buf_init(&buf, test_env(), 0);
    lmn__buf_put_u8(&buf, 1);
    lmn__buf_put_u16(&buf, 0x0203);
    lmn__buf_put_u32(&buf, 0x04050607);
    lmn__buf_put_u64(&buf, 0x08090a0b0c0d0e0f);
    lmn__buf_put_zeros(&buf, 2);
    lmn__buf_put(&buf, NULL, 0);
    CHECK_EQ(buf.len, sizeof expected);
    CHECK_BYTES(buf.data, expected, sizeof expected);
    lmn__buf_deinit(&buf);
}

static void test_buf__refuses_to_pass_its_limit(void **state)
{
    struct lmn__buf buf;
    struct lmn_error err;

    (void)state;
    lmn__buf_init(&buf, test_env(), 10);
    lmn__buf_put(&buf, "0123456789", 10);
    CHECK(!buf.failed);
    lmn__buf_put_u8(&buf, 'x');
    CHECK(buf.failed);
    CHECK_EQ(buf.len, 10);
    CHECK_STATUS(lmn__buf_status(&buf, "a test", &err), LMN_E_NO_MEMORY, &err);
    CHECK_HAS(err.message, "a test");
    CHECK_HAS(err.message, "10");
    CHECK(!lmn__buf_reserve(&buf, SIZE_MAX));
    lmn__buf_deinit(&buf);
}

static void test_buf__failure_sticks_until_reset(void **state)
{
    struct lmn__buf buf;

    (void)state;
    lmn__buf_init(&buf, test_env(), 8);
    lmn__buf_put(&buf, "0123", 4);
    lmn__buf_put(&buf, "0123456789", 10);
    lmn__buf_put(&buf, "4", 1);
    lmn__buf_put_zeros(&buf, 1);
    lmn__buf_printf(&buf, "%d", 5);
    CHECK_EQ(buf.len, 4);
    lmn__buf_reset(&buf);
    CHECK_EQ(buf.len, 0);
    lmn__buf_put(&buf, "abcdefgh", 8);
    CHECK(!buf.failed);
    CHECK_BYTES(buf.data, "abcdefgh", 8);
    lmn__buf_deinit(&buf);
}

static void test_buf__printf_appends_text(void **state)
{
    struct lmn__buf buf;

    (void)state;
    lmn__buf_init(&buf, test_env(), 9);
    lmn__buf_printf(&buf, "%s-%d", "ab", 12);
    lmn__buf_printf(&buf, "%s", "xyz");
    CHECK(!buf.failed);
    CHECK_EQ(buf.len, 8);
    CHECK_STR((const char *)buf.data, "ab-12xyz");
    lmn__buf_printf(&buf, "%c", 'q'); /* its NUL does not fit */
    CHECK(buf.failed);
    CHECK_EQ(buf.len, 8);
    lmn__buf_deinit(&buf);
}

static void test_buf__printf_reports_bad_text(void **state)
{
    struct lmn__buf buf;

    (void)state;
    lmn__buf_init(&buf, test_env(), 0);
    lmn__buf_printf(&buf, "%ls", L"\x10ffff");
    CHECK(buf.failed);
    lmn__buf_deinit(&buf);
}

static void test_buf__faults_leave_nothing(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn__buf buf;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        lmn__buf_init(&buf, test_env(), 0);
        for (uint64_t i = 0; i < 1000; i++)
            lmn__buf_put_u64(&buf, i);
        st = lmn__buf_status(&buf, "test", &err);
        lmn__buf_deinit(&buf);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired()) {
            CHECK_OK(st);
            break;
        }
        CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
    }
    fault_disarm();
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_buf__grows_and_keeps_content),
        cmocka_unit_test(test_buf__integers_are_little_endian),
        cmocka_unit_test(test_buf__refuses_to_pass_its_limit),
        cmocka_unit_test(test_buf__failure_sticks_until_reset),
        cmocka_unit_test(test_buf__printf_appends_text),
        cmocka_unit_test(test_buf__printf_reports_bad_text),
        cmocka_unit_test(test_buf__faults_leave_nothing),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
