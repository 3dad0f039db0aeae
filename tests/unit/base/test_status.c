/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "base/utf8.h"
#include "check.h"

static void test_status__text_of_each_code(void **state)
{
    (void)state;
    CHECK_STR(lmn_status_text(LMN_OK), "ok");
#define TEXT(name, value, text, python)                                                            \
    CHECK_EQ(LMN_##name, value);                                                                   \
    CHECK_STR(lmn_status_text(LMN_##name), text);
    LMN_STATUS_TABLE(TEXT)
#undef TEXT
    CHECK_STR(lmn_status_text((enum lmn_status)999), "unknown status");
}

static void test_fail__fills_error(void **state)
{
    struct lmn_error err;

    (void)state;
    memset(&err, 0xff, sizeof err);
    CHECK_EQ(lmn_fail(&err, LMN_E_CORRUPT, "%s at byte %d", "page", 7), LMN_E_CORRUPT);
    CHECK_EQ(err.status, LMN_E_CORRUPT);
    CHECK_EQ(err.os_errno, 0);
    CHECK_STR(err.message, "page at byte 7");
    for (size_t i = strlen(err.message); i < sizeof err.message; i++)
        CHECK_EQ(err.message[i], 0);
}

static void test_fail__takes_null_error(void **state)
{
    (void)state;
    CHECK_EQ(lmn_fail(NULL, LMN_E_INVALID, "%s", "lost"), LMN_E_INVALID);
    CHECK_EQ(lmn_fail_os(NULL, LMN_E_IO, EIO, "%s", "lost"), LMN_E_IO);
}

static void test_fail__long_messages_keep_both_ends(void **state)
{
    struct lmn_error err;
    char longer[2 * sizeof err.message];

    (void)state;
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    CHECK_EQ(lmn_fail(&err, LMN_E_IO, "cannot read %s: why", longer), LMN_E_IO);
    CHECK_EQ(strlen(err.message), sizeof err.message - 1);
    CHECK_HAS(err.message, "cannot read xxx");
    CHECK_HAS(err.message, "xxx...xxx");
    CHECK_HAS(err.message, "xxx: why");
    CHECK_EQ(lmn_fail_os(&err, LMN_E_IO, EIO, "%s", longer), LMN_E_IO);
    CHECK_EQ(strlen(err.message), sizeof err.message - 1);
    CHECK_HAS(err.message, "xxx: Input/output error");
    CHECK_EQ(err.os_errno, EIO);
}

/* No character of UTF-8 is cut in two, wherever the cuts fall. */
static void test_fail__long_messages_stay_text(void **state)
{
    struct lmn_error err;
    char longer[2 * sizeof err.message];

    (void)state;
    for (size_t shift = 0; shift < 6; shift++) {
        size_t len = shift;

        memset(longer, 'x', shift);
        for (; len + 4 < sizeof longer; len += 3)
            memcpy(longer + len, "\xe2\x82\xac", 3); /* the euro sign */
        longer[len] = '\0';
        lmn_fail(&err, LMN_E_IO, "%s", longer);
        CHECK(strlen(err.message) > sizeof err.message - 8);
        CHECK(lmn__utf8_valid(
            (struct lmn__span){ (const uint8_t *)err.message, strlen(err.message) }));
    }
}

static void test_fail__builds_on_the_message_it_replaces(void **state)
{
    struct lmn_error err;

    (void)state;
    lmn_fail(&err, LMN_E_CORRUPT, "bad tag");
    lmn_fail(&err, LMN_E_CORRUPT, "manifest 7: %s", err.message);
    CHECK_STR(err.message, "manifest 7: bad tag");
}

static void test_fail__says_so_when_the_message_does_not_format(void **state)
{
    struct lmn_error err;

    (void)state;
    memset(&err, 0xff, sizeof err);
    lmn_fail(&err, LMN_E_IO, "%ls", L"\x10ffff"); /* no such character in the C locale */
    CHECK_HAS(err.message, lmn_status_text(LMN_E_IO));
}

static void test_fail_os__adds_reason(void **state)
{
    struct lmn_error err;

    (void)state;
    CHECK_EQ(lmn_fail_os(&err, LMN_E_NOT_FOUND, ENOENT, "cannot open %s", "x"), LMN_E_NOT_FOUND);
    CHECK_EQ(err.os_errno, ENOENT);
    CHECK_STR(err.message, "cannot open x: No such file or directory");
}

static void test_fail_within__puts_place_before(void **state)
{
    struct lmn_error err;
    char longer[2 * sizeof err.message];

    (void)state;
    lmn_fail_os(&err, LMN_E_IO, EIO, "cannot read");
    CHECK_EQ(lmn__fail_within(&err, LMN_E_IO, "page %d", 3), LMN_E_IO);
    CHECK_STR(err.message, "page 3: cannot read: Input/output error");
    CHECK_EQ(err.os_errno, EIO);
    CHECK_EQ(err.status, LMN_E_IO);
    CHECK_EQ(lmn__fail_within(NULL, LMN_E_IO, "page %d", 3), LMN_E_IO);
    lmn__fail_within(&err, LMN_E_IO, "page %d", 3);
    CHECK_STR(err.message, "page 3: cannot read: Input/output error");
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    lmn__fail_within(&err, LMN_E_IO, "%s", longer);
    CHECK_EQ(strlen(err.message), sizeof err.message - 1);
    CHECK_HAS(err.message, "x: page 3: cannot read: Input/output error");
    lmn__fail_within(&err, LMN_E_IO, "further out");
    CHECK_EQ(strlen(err.message), sizeof err.message - 1);
    CHECK_HAS(err.message, "x: page 3: cannot read: Input/output error");
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_status__text_of_each_code),
        cmocka_unit_test(test_fail__fills_error),
        cmocka_unit_test(test_fail__takes_null_error),
        cmocka_unit_test(test_fail__long_messages_keep_both_ends),
        cmocka_unit_test(test_fail__long_messages_stay_text),
        cmocka_unit_test(test_fail__builds_on_the_message_it_replaces),
        cmocka_unit_test(test_fail__says_so_when_the_message_does_not_format),
        cmocka_unit_test(test_fail_os__adds_reason),
        cmocka_unit_test(test_fail_within__puts_place_before),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
