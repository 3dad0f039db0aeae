/* SPDX-License-Identifier: Apache-2.0 */
/* The clocks of time zones: their files, their rules, and moments at which they are set. */
#include "expr/zone.h"

#include "check.h"
#include "expr/calendar.h"

enum { HOUR = 3600, DAY = 86400 };

/* A file of version 2 with two changes, to +01:00 and to +02:00, and a rule. */
struct file {
    uint8_t bytes[400];
    size_t len;
};

static void put(struct file *file, const void *bytes, size_t len)
{
    memcpy(file->bytes + file->len, bytes, len);
    file->len += len;
}

static void put_big(struct file *file, uint64_t value, size_t bytes)
{
    while (bytes-- != 0) {
        uint8_t byte = (uint8_t)(value >> (8 * bytes));

        put(file, &byte, 1);
    }
}

static void put_header(struct file *file, uint32_t leaps, uint32_t changes)
{
    static const uint8_t unused[15];

    put(file, "TZif2", 5);
    put(file, unused, sizeof unused);
    put_big(file, 0, 4);
    put_big(file, 0, 4);
    put_big(file, leaps, 4);
    put_big(file, changes, 4);
    put_big(file, 2, 4); /* types */
    put_big(file, 4, 4); /* bytes of names */
}

/* The header's block; times of `bytes`. */
static void put_block(struct file *file, const int64_t *change, uint32_t count, size_t bytes)
{
    for (uint32_t i = 0; i < count; i++)
        put_big(file, (uint64_t)change[i], bytes);
    for (uint32_t i = 0; i < count; i++)
        put_big(file, i % 2, 1);
    put_big(file, HOUR, 4);
    put_big(file, 0, 2);
    put_big(file, 2 * HOUR, 4);
    put_big(file, 0x0100, 2);
    put(file, "AB\0", 4);
}

static struct file make_file(const char *rule)
{
    static const int64_t change[] = { 1000000, 2000000 };
    struct file file = { .len = 0 };

    put_header(&file, 0, 0);
    put_block(&file, NULL, 0, 4);
    put_header(&file, 0, 2);
    put_block(&file, change, 2, 8);
    put(&file, "\n", 1);
    put(&file, rule, strlen(rule));
    put(&file, "\n", 1);
    return file;
}

static enum lmn_status decode(const struct file *file, struct lmn__arena *arena,
                              struct lmn__zone *zone, struct lmn_error *err)
{
    return lmn__zone_decode((struct lmn__span){ file->bytes, file->len }, "Test/Zone", arena, zone,
                            err);
}

static void test_zone__file(void **state)
{
    struct file file = make_file("");
    struct lmn__arena arena;
    struct lmn__zone zone;
    struct lmn_error err = { 0 };

    (void)state;
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(decode(&file, &arena, &zone, &err), LMN_OK, &err);
    CHECK_EQ(zone.change_count, 2);
    CHECK_EQ(lmn__zone_offset_at(&zone, 999999), HOUR);
    CHECK_EQ(lmn__zone_offset_at(&zone, 1000000), HOUR);
    CHECK_EQ(lmn__zone_offset_at(&zone, 1999999), HOUR);
    CHECK_EQ(lmn__zone_offset_at(&zone, 2000000), 2 * HOUR);
    CHECK_EQ(lmn__zone_offset_at(&zone, INT64_MAX), 2 * HOUR);
    CHECK(!lmn__zone_is_utc(&zone));
    lmn__arena_deinit(&arena);
}

/* A file that is cut anywhere is refused, and so is one with a byte that tells lies. */
static void test_zone__corrupt(void **state)
{
    struct file file = make_file("CET-1CEST,M3.5.0,M10.5.0/3");
    size_t whole = file.len;
    struct lmn__arena arena;
    struct lmn__zone zone;
    struct lmn_error err = { 0 };

    (void)state;
    lmn__arena_init(&arena, test_env(), 0);
    for (file.len = 0; file.len < whole; file.len++) {
        CHECK_STATUS(decode(&file, &arena, &zone, &err), LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "Test/Zone");
    }
    file.bytes[44 + 16 + 44 + 7] = 0xff; /* the first change comes after the second */
    CHECK_STATUS(decode(&file, &arena, &zone, &err), LMN_OK, &err);
    file.bytes[44 + 16 + 44] = 0x7f;
    CHECK_STATUS(decode(&file, &arena, &zone, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "out of order");
    file = make_file("CET-1CEST,M3.5.0,M10.5.0/3");
    file.bytes[44 + 16 + 44 + 16] = 2; /* a change to a type that is not there */
    CHECK_STATUS(decode(&file, &arena, &zone, &err), LMN_E_CORRUPT, &err);
    file = make_file("CET-1CEST,M13.5.0,M10.5.0/3");
    CHECK_STATUS(decode(&file, &arena, &zone, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "rule");
    lmn__arena_deinit(&arena);
}

static struct lmn__zone_rule rule_of(const char *text)
{
    struct lmn__span span = { (const uint8_t *)text, strlen(text) };
    struct lmn__zone_rule rule;

    CHECK(lmn__zone_rule_parse(span, &rule));
    return rule;
}

static int64_t moment(int64_t year, uint32_t month, uint32_t day, int64_t seconds)
{
    return lmn__days_from_civil(year, month, day) * DAY + seconds;
}

static void test_zone__rules(void **state)
{
    struct lmn__zone_rule paris = rule_of("CET-1CEST,M3.5.0,M10.5.0/3");
    struct lmn__zone_rule sydney = rule_of("AEST-10AEDT,M10.1.0,M4.1.0/3");
    struct lmn__zone_rule dublin = rule_of("IST-1GMT0,M10.5.0,M3.5.0/1");
    struct lmn__zone_rule fixed = rule_of("<+0530>-5:30");
    struct lmn__zone_rule days = rule_of("AAA0BBB-2:30,J60/0,300/12:30");

    (void)state;
    CHECK_EQ(lmn__zone_rule_offset(&paris, moment(2050, 3, 27, HOUR - 1)), HOUR);
    CHECK_EQ(lmn__zone_rule_offset(&paris, moment(2050, 3, 27, HOUR)), 2 * HOUR);
    CHECK_EQ(lmn__zone_rule_offset(&paris, moment(2050, 10, 30, HOUR - 1)), 2 * HOUR);
    CHECK_EQ(lmn__zone_rule_offset(&paris, moment(2050, 10, 30, HOUR)), HOUR);
    CHECK_EQ(lmn__zone_rule_offset(&sydney, moment(2050, 1, 1, 0)), 11 * HOUR);
    CHECK_EQ(lmn__zone_rule_offset(&sydney, moment(2050, 7, 1, 0)), 10 * HOUR);
    CHECK_EQ(lmn__zone_rule_offset(&dublin, moment(2050, 1, 1, 0)), 0);
    CHECK_EQ(lmn__zone_rule_offset(&dublin, moment(2050, 7, 1, 0)), HOUR);
    CHECK_EQ(lmn__zone_rule_offset(&fixed, 0), 5 * HOUR + HOUR / 2);
    /* 1 March in each year, and the 301st day of it, at 12:30 of the clock that is ahead. */
    for (int64_t year = 2023; year <= 2024; year++) {
        int64_t end = moment(year, 1, 1, 300 * DAY + 10 * HOUR);

        CHECK_EQ(lmn__zone_rule_offset(&days, moment(year, 3, 1, -1)), 0);
        CHECK_EQ(lmn__zone_rule_offset(&days, moment(year, 3, 1, 0)), 2 * HOUR + HOUR / 2);
        CHECK_EQ(lmn__zone_rule_offset(&days, end - 1), 2 * HOUR + HOUR / 2);
        CHECK_EQ(lmn__zone_rule_offset(&days, end), 0);
    }
    CHECK_EQ(lmn__zone_rule_offset(&paris, INT64_MAX), HOUR);
}

static void test_zone__no_rules(void **state)
{
    static const char *const texts[] = { "",
                                         "C-1",
                                         "CET",
                                         "CET-1CEST",
                                         "CET-",
                                         "CET-99",
                                         "<CET-1",
                                         "CET-1CEST,M3.5.0",
                                         "CET-1CEST,M3.5.0,M10.5.0/3x" };

    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct lmn__span span = { (const uint8_t *)texts[i], strlen(texts[i]) };
        struct lmn__zone_rule rule;

        if (lmn__zone_rule_parse(span, &rule))
            check_fail(__FILE__, __LINE__, "\"%s\" is a rule", texts[i]);
    }
}

/* What the clock shows twice is its second time; what it skips goes on from before. */
static void test_zone__clock_that_is_set(void **state)
{
    struct lmn__zone zone = { .has_rule = true, .rule = rule_of("CET-1CEST,M3.5.0,M10.5.0/3") };

    (void)state;
    CHECK_EQ(lmn__zone_to_utc(&zone, moment(2024, 7, 1, 12 * HOUR)), moment(2024, 7, 1, 10 * HOUR));
    CHECK_EQ(lmn__zone_to_utc(&zone, moment(2024, 3, 31, 2 * HOUR - 1)),
             moment(2024, 3, 31, HOUR - 1));
    CHECK_EQ(lmn__zone_to_utc(&zone, moment(2024, 3, 31, 2 * HOUR + 1800)),
             moment(2024, 3, 31, HOUR + 1800));
    CHECK_EQ(lmn__zone_to_utc(&zone, moment(2024, 3, 31, 3 * HOUR)), moment(2024, 3, 31, HOUR));
    CHECK_EQ(lmn__zone_to_utc(&zone, moment(2024, 10, 27, 2 * HOUR - 1)), moment(2024, 10, 27, -1));
    CHECK_EQ(lmn__zone_to_utc(&zone, moment(2024, 10, 27, 2 * HOUR)), moment(2024, 10, 27, HOUR));
    CHECK_EQ(lmn__zone_to_utc(&zone, moment(2024, 10, 27, 3 * HOUR)),
             moment(2024, 10, 27, 2 * HOUR));
    CHECK_EQ(lmn__zone_to_utc(&zone, INT64_MIN), INT64_MIN);
}

static void test_zone__names(void **state)
{
    static const char *const names[] = { "../../../etc/passwd", "/etc/passwd", "", "Mars/Base",
                                         "Europe" };
    const struct lmn__zone *zone;
    struct lmn__arena arena;
    struct lmn_error err = { 0 };

    (void)state;
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(lmn__zone_find("UTC", &arena, &zone, &err), LMN_OK, &err);
    CHECK(lmn__zone_is_utc(zone));
    CHECK_STATUS(lmn__zone_find("-03:30", &arena, &zone, &err), LMN_OK, &err);
    CHECK_EQ(lmn__zone_offset_at(zone, 0), -3 * HOUR - HOUR / 2);
    CHECK_EQ(lmn__zone_to_utc(zone, 0), 3 * HOUR + HOUR / 2);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        CHECK_STATUS(lmn__zone_find(names[i], &arena, &zone, &err), LMN_E_UNSUPPORTED, &err);
        CHECK_HAS(err.message, names[i]);
    }
    lmn__arena_deinit(&arena);
}

static void test_zone__faults(void **state)
{
    struct file file = make_file("CET-1CEST,M3.5.0,M10.5.0/3");
    struct lmn_error err = { 0 };
    bool fired = true;

    (void)state;
    for (uint64_t nth = 1; fired; nth++) {
        struct lmn__arena arena;
        struct lmn__zone zone;
        enum lmn_status st;

        lmn__arena_init(&arena, test_env(), 0);
        fault_arm(FAULT_ALLOC, nth);
        st = decode(&file, &arena, &zone, &err);
        fired = fault_fired();
        fault_disarm();
        CHECK(st == (fired ? LMN_E_NO_MEMORY : LMN_OK));
        lmn__arena_deinit(&arena);
        CHECK_EQ(live_allocations(), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_zone__file),
        cmocka_unit_test(test_zone__corrupt),
        cmocka_unit_test(test_zone__rules),
        cmocka_unit_test(test_zone__no_rules),
        cmocka_unit_test(test_zone__clock_that_is_set),
        cmocka_unit_test(test_zone__names),
        cmocka_unit_test(test_zone__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
