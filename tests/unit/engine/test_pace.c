/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a job goes, what bounds it, and what stands out. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "engine/highlights.h"
#include "engine/pace.h"

#define S 1000000000ull

static struct lmn__span span(const char *text)
{
    return (struct lmn__span){ (const uint8_t *)text, strlen(text) };
}

static void test_pace__windows(void **state)
{
    struct lmn__pace pace = { 0 };
    struct lmn__pace_sample sample = { .now_ns = 100 * S };
    struct lmn__eta eta;

    (void)state;
    CHECK_EQ(lmn__pace_since(&pace, 300 * S).rows, 0);
    CHECK_EQ(lmn__pace_eta(&pace, 10).ms, 0);
    lmn__pace_add(&pace, &sample);
    CHECK_EQ(lmn__pace_eta(&pace, 10).ms, 0); /* one sample has no pace */
    /* Ten minutes at 10 rows a second, then five at 40, the last of them at 20. */
    for (int i = 1; i <= 900; i++) {
        sample.now_ns += S;
        sample.rows += i <= 600 ? 10 : i <= 840 ? 40 : 20;
        lmn__pace_add(&pace, &sample);
    }
    CHECK_EQ(lmn__pace_since(&pace, 60 * S).rows, 20 * 60);
    CHECK_EQ(lmn__pace_since(&pace, 60 * S).now_ns, 60 * S);
    CHECK_EQ(lmn__pace_since(&pace, 300 * S).rows, 40 * 240 + 20 * 60);
    CHECK_EQ(lmn__pace_since(&pace, UINT64_MAX).rows, 6000 + 40 * 240 + 20 * 60);
    CHECK_EQ(lmn__pace_since(&pace, UINT64_MAX).now_ns, 900 * S);
    eta = lmn__pace_eta(&pace, 36000);
    CHECK_EQ(eta.ms, 1000001);     /* 36 rows a second over five minutes */
    CHECK_EQ(eta.low_ms, 1000001); /* the fastest of the three */
    CHECK_EQ(eta.high_ms, 36000ull * 900 * 1000 / 16800 + 1);
    CHECK_EQ(lmn__pace_eta(&pace, 0).ms, 0);
}

static void test_pace__a_job_that_stands_still(void **state)
{
    struct lmn__pace pace = { 0 };
    struct lmn__pace_sample sample = { .now_ns = S, .rows = 5 };

    (void)state;
    for (int i = 0; i < 400; i++, sample.now_ns += S)
        lmn__pace_add(&pace, &sample);
    CHECK_EQ(lmn__pace_since(&pace, 300 * S).rows, 0);
    CHECK_EQ(lmn__pace_eta(&pace, 10).ms, 0);
}

static void test_pace__threads_that_take_turns(void **state)
{
    (void)state;
    CHECK(lmn__pace_takes_turns(3, 1));
    CHECK(lmn__pace_takes_turns(1.9, 0.8));
    CHECK(!lmn__pace_takes_turns(1, 1));   /* one of them is in calls */
    CHECK(!lmn__pace_takes_turns(3, 2.5)); /* they run beside each other */
    CHECK(!lmn__pace_takes_turns(3, 0.1)); /* they wait for something else */
}

static void check_verdict(struct lmn__pace_sample spent, double cpus, int gpu, const char *wanted)
{
    const struct lmn__verdict_facts facts = { .spent = spent, .cpus = cpus, .gpu_percent = gpu };
    char text[LMN__VERDICT_CHARS];

    lmn__verdict(&facts, text);
    CHECK_STR(text, wanted);
}

static void test_verdict__texts(void **state)
{
    const struct lmn__verdict_facts loading = { .loading = true };
    struct lmn__pace_sample spent = { .now_ns = 10 * S, .thread_ns = 20 * S };
    char text[LMN__VERDICT_CHARS];

    (void)state;
    check_verdict((struct lmn__pace_sample){ 0 }, 8, -1, "");
    lmn__verdict(&loading, text);
    CHECK_STR(text, "the function is loading");
    check_verdict(spent, 8, -1, "workers wait: for rows that others have, or for a commit");
    spent.call_ns = 18 * S;
    spent.cpu_ns = 18 * S;
    spent.idle_ns = 60 * S;
    check_verdict(spent, 8, -1, "bound by function: raise concurrency, 6 CPUs idle");
    check_verdict(spent, 3, -1, "bound by function: raise concurrency, 1 CPU idle");
    check_verdict(spent, 2, -1, "bound by function: all 2 CPUs are busy");
    check_verdict(spent, 8, 97, "bound by function: the GPU is 97% busy");
    spent.cpu_ns = S;
    check_verdict(spent, 8, -1,
                  "bound by function, which waits: raise concurrency, or make it async");
    spent.call_ns = S;
    spent.read_ns = 15 * S;
    spent.read_bytes = 120000000;
    check_verdict(spent, 8, -1, "bound by reading: 12.0 MB/s");
    spent.write_ns = 16 * S;
    spent.written_bytes = 5000000;
    check_verdict(spent, 8, -1, "bound by writing: 0.5 MB/s");
    spent.granted = 10;
    spent.deferred = 5;
    check_verdict(spent, 8, -1, "bound by writing: 0.5 MB/s");
    spent.deferred = 6;
    check_verdict(
        spent, 8, -1,
        "bound by rate_limit, or by what Retry-After asks for: calls wait for their turn");
}

static void test_highlights__tasks(void **state)
{
    struct lmn__highlights highlights = { 0 };
    const uint64_t ms[] = { 5, 9, 1, 7, 3, 8, 2 };

    (void)state;
    for (size_t i = 0; i < sizeof ms / sizeof ms[0]; i++) {
        struct lmn__task_note task = { .fragment_id = i, .ns = ms[i], .bytes = 100 - ms[i] };

        lmn__highlights_task(&highlights, &task);
    }
    CHECK_EQ(highlights.slowest.count, 5);
    CHECK_EQ(highlights.slowest.item[0].ns, 9);
    CHECK_EQ(highlights.slowest.item[1].ns, 8);
    CHECK_EQ(highlights.slowest.item[4].ns, 3);
    CHECK_EQ(highlights.largest.item[0].bytes, 99);
    CHECK_EQ(highlights.largest.item[4].bytes, 93);
}

static void test_highlights__errors(void **state)
{
    struct lmn__highlights highlights = { 0 };
    struct lmn__json_writer writer;
    struct lmn__buf buf;
    char record[128], said[256];

    (void)state;
    lmn__highlights_say(&highlights, said, sizeof said);
    CHECK_STR(said, "");
    lmn__highlights_error(&highlights, test_env(), span("{\"message\": \"other\"}"));
    lmn__highlights_say(&highlights, said, sizeof said);
    CHECK_STR(said, "other");
    highlights.error_count = 0;
    highlights.error[0].count = 0;
    for (int i = 0; i < 30; i++) {
        snprintf(record, sizeof record,
                 "{\"type\": \"E\", \"message\": \"row %d\\nis bad\", \"repeat\": \"f.test(t, "
                 "row_ids=[%d])\"}",
                 i, i);
        lmn__highlights_error(&highlights, test_env(), span(record));
    }
    lmn__highlights_error(&highlights, test_env(),
                          span("{\"type\": \"T\", \"message\": \"slow\"}"));
    lmn__highlights_error(&highlights, test_env(), span("{\"message\": \"\"}"));
    lmn__highlights_error(&highlights, test_env(), span("no json"));
    for (char kind = 'a'; kind < 'a' + LMN__HIGHLIGHT_ERRORS; kind++) {
        snprintf(record, sizeof record, "{\"type\": \"%c\"}", kind);
        lmn__highlights_error(&highlights, test_env(), span(record));
    }
    CHECK_EQ(highlights.error_count, LMN__HIGHLIGHT_ERRORS);
    CHECK_STR(highlights.error[0].text, "E: row 0 is bad");
    CHECK_EQ(highlights.error[0].count, 30);
    lmn__highlights_say(&highlights, said, sizeof said);
    CHECK_STR(said, "E: row 0 is bad; repeat it by f.test(t, row_ids=[0])");
    CHECK_EQ(highlights.other_errors, 2);
    lmn__buf_init(&buf, test_env(), 0);
    writer = (struct lmn__json_writer){ &buf, false };
    lmn__json_open(&writer, NULL, '{');
    lmn__highlights_write(&highlights, &writer);
    lmn__buf_put_u8(&buf, 0);
    CHECK(strstr((char *)buf.data, "\"top_errors\": [{\"error\": \"E: row 0 is bad\"") != NULL);
    lmn__buf_deinit(&buf);
    CHECK_EQ(live_allocations(), 0);
}

static void test_highlights__faults(void **state)
{
    struct lmn__highlights highlights = { 0 };

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        fault_arm(FAULT_ALLOC, nth);
        lmn__highlights_error(&highlights, test_env(),
                              span("{\"type\": \"E\", \"message\": \"none\"}"));
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired())
            break;
        CHECK_EQ(highlights.error_count, 0);
    }
    fault_disarm();
    CHECK_EQ(highlights.error[0].count, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pace__windows),
        cmocka_unit_test(test_pace__a_job_that_stands_still),
        cmocka_unit_test(test_pace__threads_that_take_turns),
        cmocka_unit_test(test_verdict__texts),
        cmocka_unit_test(test_highlights__tasks),
        cmocka_unit_test(test_highlights__errors),
        cmocka_unit_test(test_highlights__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
