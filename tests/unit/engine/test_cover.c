/* SPDX-License-Identifier: Apache-2.0 */
/* Values that nobody shall see: in texts, and in what a job keeps of its workers' prints. */
#include <string.h>

#include "check.h"
#include "engine/cover.h"
#include "engine/log.h"
#include "stores.h"

static const char *const secrets[] = { "KEY=hush", "LONG=hush-hush", "EMPTY=", "ODD", NULL };

static void check_cover(const char *const *secret, const char *text, const char *wanted)
{
    struct lmn__buf buf;

    lmn__buf_init(&buf, test_env(), 0);
    lmn__cover_put(secret, (struct lmn__span){ (const uint8_t *)text, strlen(text) }, &buf);
    lmn__buf_put_u8(&buf, 0);
    CHECK(!buf.failed);
    CHECK_STR((const char *)buf.data, wanted);
    lmn__buf_deinit(&buf);
}

static void test_cover__values_become_names(void **state)
{
    (void)state;
    check_cover(secrets, "", "");
    check_cover(secrets, "nothing", "nothing");
    check_cover(secrets, "hush", "[KEY]");
    check_cover(secrets, "a hush, hushhush", "a [KEY], [KEY][KEY]");
    check_cover(secrets, "hush-hush!", "[LONG]!");
    check_cover(secrets, "hus", "hus");
    check_cover(secrets, "ODD EMPTY= =", "ODD EMPTY= =");
    check_cover(NULL, "hush", "hush");
}

/* A line that cannot be covered for want of memory is not kept as it is. */
static void test_cover__faults(void **state)
{
    char *dir = test_dir_make();

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn__log_worker worker = { 0 };
        struct lmn__log log;
        bool fired;

        lmn__log_init(&log, test_env(), dir, "job");
        log.secret = secrets;
        fault_arm(FAULT_ALLOC, nth);
        lmn__log_take(&log, &worker, 0, NULL, "\n\nsay hush\n", 11, 1);
        fired = fault_fired();
        fault_disarm();
        if (!log.pending.failed && log.pending.len > 0) {
            lmn__buf_put_u8(&log.pending, 0);
            CHECK(strstr((const char *)log.pending.data, "hush") == NULL);
        }
        CHECK(strstr(worker.last, "hush") == NULL);
        if (!fired)
            CHECK_STR(worker.last, "say [KEY]");
        lmn__log_deinit(&log);
        CHECK_EQ(live_allocations(), 0);
        if (!fired)
            break;
    }
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cover__values_become_names),
        cmocka_unit_test(test_cover__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
