/* SPDX-License-Identifier: Apache-2.0 */
/* How fast calls are granted, by a clock that the tests turn. */
#include "check.h"
#include "engine/meter.h"

#define MS UINT64_C(1000000)

enum { GRANTS_MAX = 4096 };

/* Ask for one call whenever it is worth asking, until `until_ns`; when calls were granted. */
static size_t run(struct lmn__meter *meter, uint64_t from_ns, uint64_t until_ns, uint64_t tokens,
                  uint64_t *granted_ns)
{
    struct lmn__meter_ask ask = { .calls = 1, .tokens = tokens };
    size_t count = 0;

    for (uint64_t now_ns = from_ns; now_ns < until_ns && count < GRANTS_MAX;) {
        struct lmn__meter_grant grant = lmn__meter_ask(meter, &ask, now_ns);

        if (grant.calls == 1)
            granted_ns[count++] = now_ns;
        else
            CHECK(grant.wait_ns > 0);
        now_ns += grant.wait_ns;
    }
    return count;
}

/* No window has more than the limit, and over a long time nearly all of it is used. */
static void check_rate(uint64_t max, uint64_t window_ms)
{
    static uint64_t granted_ns[GRANTS_MAX];
    struct lmn__meter meter;
    uint64_t window_ns = window_ms * MS;
    size_t count;

    lmn__meter_init(&meter, (struct lmn__rate){ max, window_ms }, (struct lmn__rate){ 0 }, 7);
    count = run(&meter, 7, 7 + 3 * window_ns, 0, granted_ns);
    for (size_t i = 0; i < count; i++) {
        size_t inside = 0;

        while (i + inside < count && granted_ns[i + inside] < granted_ns[i] + window_ns)
            inside++;
        CHECK(inside <= max);
    }
    CHECK(count >= 3 * max - 3 * (max / 60));
}

static void test_meter__requests_in_any_window(void **state)
{
    (void)state;
    check_rate(1, 1000);
    check_rate(2, 1000);
    check_rate(59, 60000);
    check_rate(500, 60000);
    check_rate(1000, 1000);
}

static void test_meter__many_at_once(void **state)
{
    struct lmn__meter_ask ask = { .calls = 32 };
    struct lmn__meter_grant grant;
    struct lmn__meter meter;

    (void)state;
    lmn__meter_init(&meter, (struct lmn__rate){ 600, 60000 }, (struct lmn__rate){ 0 }, 0);
    CHECK_EQ(lmn__meter_ask(&meter, &ask, 0).calls, 10);
    grant = lmn__meter_ask(&meter, &ask, 0);
    CHECK_EQ(grant.calls, 0);
    CHECK(grant.wait_ns > 90 * MS && grant.wait_ns < 110 * MS);
    CHECK_EQ(lmn__meter_ask(&meter, &ask, grant.wait_ns).calls, 1);
    /* What was not used does not add up beyond the burst. */
    CHECK_EQ(lmn__meter_ask(&meter, &ask, 100000 * MS).calls, 10);
}

static void test_meter__no_limit(void **state)
{
    struct lmn__meter_ask ask = { .calls = 1000000, .tokens = 5 };
    struct lmn__meter_grant grant;
    struct lmn__meter meter;

    (void)state;
    lmn__meter_init(&meter, (struct lmn__rate){ 0 }, (struct lmn__rate){ 0 }, 0);
    grant = lmn__meter_ask(&meter, &ask, 1);
    CHECK_EQ(grant.calls, 1000000);
    CHECK_EQ(grant.wait_ns, 0);
}

/* A pause holds for everybody, and does not let calls gather. */
static void test_meter__pause(void **state)
{
    struct lmn__meter_ask tells = { .pause_ms = 5000 }, ask = { .calls = 100 };
    struct lmn__meter meter;

    (void)state;
    lmn__meter_init(&meter, (struct lmn__rate){ 60, 1000 }, (struct lmn__rate){ 0 }, 0);
    CHECK_EQ(lmn__meter_ask(&meter, &tells, 0).calls, 0);
    CHECK_EQ(lmn__meter_ask(&meter, &ask, 4999 * MS).calls, 0);
    tells.pause_ms = 1; /* a shorter one does not end it */
    CHECK_EQ(lmn__meter_ask(&meter, &tells, 1000 * MS).calls, 0);
    CHECK_EQ(lmn__meter_ask(&meter, &ask, 4999 * MS).calls, 0);
    CHECK_EQ(lmn__meter_ask(&meter, &ask, 5000 * MS).calls, 1);
}

static void test_meter__tokens_as_told(void **state)
{
    static uint64_t granted_ns[GRANTS_MAX];
    struct lmn__meter meter;
    size_t count;

    (void)state;
    lmn__meter_init(&meter, (struct lmn__rate){ 0 }, (struct lmn__rate){ 60000, 60000 }, 0);
    count = run(&meter, 0, 60000 * MS, 500, granted_ns);
    CHECK(count >= 118 && count <= 120);
    /* A call that takes more than a burst waits until the bucket is full, and owes the rest. */
    lmn__meter_init(&meter, (struct lmn__rate){ 0 }, (struct lmn__rate){ 60000, 60000 }, 0);
    count = run(&meter, 0, 60000 * MS, 30000, granted_ns);
    CHECK_EQ(count, 2);
    CHECK(granted_ns[1] > 29000 * MS);
}

/* What calls really took is learnt, and corrects what was counted for them. */
static void test_meter__tokens_learnt(void **state)
{
    struct lmn__meter_ask ask = { .calls = 1 };
    struct lmn__meter_grant grant;
    struct lmn__meter meter;

    (void)state;
    lmn__meter_init(&meter, (struct lmn__rate){ 0 }, (struct lmn__rate){ 60000, 60000 }, 0);
    grant = lmn__meter_ask(&meter, &ask, 0);
    CHECK(grant.calls == 1 && grant.tokens_each == 1000);
    ask = (struct lmn__meter_ask){ .calls = 1, .done = 1, .charged = 1000, .used = 100 };
    grant = lmn__meter_ask(&meter, &ask, 0);
    CHECK(grant.calls == 1 && grant.tokens_each == 100); /* 900 came back */
    ask = (struct lmn__meter_ask){ .calls = 1, .done = 1, .charged = 100, .used = 20000 };
    grant = lmn__meter_ask(&meter, &ask, 0);
    CHECK_EQ(grant.calls, 0); /* it took much more: nothing until that is made up for */
    ask = (struct lmn__meter_ask){ .calls = 1, .tokens = 1 };
    CHECK_EQ(lmn__meter_ask(&meter, &ask, 15000 * MS).calls, 0);
    CHECK_EQ(lmn__meter_ask(&meter, &ask, 21000 * MS).calls, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_meter__requests_in_any_window),
        cmocka_unit_test(test_meter__many_at_once),
        cmocka_unit_test(test_meter__no_limit),
        cmocka_unit_test(test_meter__pause),
        cmocka_unit_test(test_meter__tokens_as_told),
        cmocka_unit_test(test_meter__tokens_learnt),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
