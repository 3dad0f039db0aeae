/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A second hand of a thread.
 *
 * labels: threads
 */
#include "check.h"
#include "os/hand.h"

enum { ROUNDS = 1000 };

/* What a hand is given: it waits for its turn, then counts. */
struct work {
    struct lmn__mutex mutex;
    struct lmn__cond cond;
    bool may; /* under the mutex */
    int count;
    enum lmn_status status;
};

static enum lmn_status do_work(void *context, struct lmn_error *err)
{
    struct work *work = context;

    lmn__mutex_lock(&work->mutex);
    while (!work->may)
        lmn__cond_wait(&work->cond, &work->mutex);
    lmn__mutex_unlock(&work->mutex);
    work->count++;
    return work->status == LMN_OK ? LMN_OK
                                  : lmn_fail(err, work->status, "piece %d of work", work->count);
}

static void allow(struct work *work)
{
    lmn__mutex_lock(&work->mutex);
    work->may = true;
    lmn__cond_wake_all(&work->cond);
    lmn__mutex_unlock(&work->mutex);
}

static void begin_work(struct work *work, bool may, enum lmn_status status)
{
    struct lmn_error err;

    *work = (struct work){ .may = may, .status = status };
    CHECK_OK(lmn__mutex_init(&work->mutex, &err));
    CHECK_OK(lmn__cond_init(&work->cond, &err));
}

static void end_work(struct work *work)
{
    lmn__cond_deinit(&work->cond);
    lmn__mutex_deinit(&work->mutex);
}

static void test_hand__works_beside_its_owner(void **state)
{
    struct lmn__hand hand;
    struct lmn_error err;
    struct work work;

    (void)state;
    begin_work(&work, false, LMN_OK);
    CHECK_OK(lmn__hand_init(&hand, test_env(), &err));
    CHECK(lmn__hand_is_idle(&hand));
    CHECK_OK(lmn__hand_wait(&hand, &err));
    lmn__hand_give(&hand, do_work, &work);
    CHECK(!lmn__hand_is_idle(&hand)); /* it cannot end before it may */
    allow(&work);
    CHECK_OK(lmn__hand_wait(&hand, &err));
    CHECK(lmn__hand_is_idle(&hand));
    CHECK_EQ(work.count, 1);
    for (int i = 0; i < ROUNDS; i++) {
        lmn__hand_give(&hand, do_work, &work);
        CHECK_OK(lmn__hand_wait(&hand, &err));
    }
    CHECK_EQ(work.count, ROUNDS + 1);
    lmn__hand_deinit(&hand);
    end_work(&work);
    CHECK_EQ(live_allocations(), 0);
}

static void test_hand__failure_is_told_once(void **state)
{
    struct lmn__hand hand;
    struct lmn_error err;
    struct work work;

    (void)state;
    begin_work(&work, true, LMN_E_IO);
    CHECK_OK(lmn__hand_init(&hand, test_env(), &err));
    lmn__hand_give(&hand, do_work, &work);
    CHECK_STATUS(lmn__hand_wait(&hand, &err), LMN_E_IO, &err);
    CHECK_STR(err.message, "piece 1 of work");
    CHECK_OK(lmn__hand_wait(&hand, &err));
    lmn__hand_deinit(&hand);
    end_work(&work);
}

static void test_hand__deinit_waits(void **state)
{
    struct lmn__hand hand, none = { 0 };
    struct lmn_error err;
    struct work work;

    (void)state;
    begin_work(&work, true, LMN_OK);
    CHECK_OK(lmn__hand_init(&hand, test_env(), &err));
    lmn__hand_give(&hand, do_work, &work);
    lmn__hand_deinit(&hand);
    CHECK_EQ(work.count, 1);
    lmn__hand_deinit(&none);
    end_work(&work);
}

/* Without memory for a thread, the owner does it. */
static void test_hand__without_a_thread(void **state)
{
    struct lmn__hand hand;
    struct lmn_error err;
    struct work work;

    (void)state;
    begin_work(&work, true, LMN_E_UDF);
    CHECK_OK(lmn__hand_init(&hand, test_env(), &err));
    fault_arm(FAULT_ALLOC, 1);
    lmn__hand_give(&hand, do_work, &work);
    CHECK(fault_fired());
    fault_disarm();
    CHECK_EQ(work.count, 1);
    CHECK(lmn__hand_is_idle(&hand));
    CHECK_STATUS(lmn__hand_wait(&hand, &err), LMN_E_UDF, &err);
    lmn__hand_deinit(&hand);
    end_work(&work);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hand__works_beside_its_owner),
        cmocka_unit_test(test_hand__failure_is_told_once),
        cmocka_unit_test(test_hand__deinit_waits),
        cmocka_unit_test(test_hand__without_a_thread),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
