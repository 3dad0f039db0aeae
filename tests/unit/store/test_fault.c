/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "stores.h"

#define STORE_SUITE_SETUP store_suite_fault
#include "store_suite.h"

/* What the next matching operation shall do, and what was asked. */
struct plan {
    enum lmn__store_op op;
    enum lmn__fault_action action;
    int asked;
    char path[64];
};

struct fixture {
    struct plan plan;
    struct lmn_store *inner, *store;
};

static enum lmn__fault_action ask(void *context, enum lmn__store_op op, const char *path)
{
    struct plan *plan = context;

    if (op != plan->op)
        return LMN__FAULT_NONE;
    plan->asked++;
    snprintf(plan->path, sizeof plan->path, "%s", path);
    return plan->action;
}

static int begin(void **state)
{
    static struct fixture fixture;
    struct lmn_error err;

    fixture.plan = (struct plan){ .action = LMN__FAULT_NONE };
    fixture.inner = test_store_memory();
    CHECK_OK(lmn__store_open_fault(fixture.inner, ask, &fixture.plan, &fixture.store, &err));
    test_store_write(fixture.inner, "d/a", "0123456789", 10);
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    lmn_store_release(fixture->inner);
    lmn_store_release(fixture->store);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static void set_plan(struct fixture *fixture, enum lmn__store_op op, enum lmn__fault_action action)
{
    fixture->plan = (struct plan){ .op = op, .action = action };
}

/* The planned operation was asked about once, for `path`, and failed. */
static void check_failed(const struct fixture *fixture, enum lmn_status st, const char *path,
                         const struct lmn_error *err)
{
    CHECK_STATUS(st, LMN_E_IO, err);
    CHECK_EQ(fixture->plan.asked, 1);
    CHECK_STR(fixture->plan.path, path);
    CHECK_HAS(err->message, "injected fault");
    CHECK_HAS(err->message, path);
}

static void test_fault__open_and_create(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store = fixture->store;
    struct lmn__store_file *file;
    struct lmn_error err;

    set_plan(fixture, LMN__OP_OPEN, LMN__FAULT_FAIL);
    check_failed(fixture, store->ops->open(store, "d/a", &file, &err), "d/a", &err);
    CHECK(file == NULL);
    set_plan(fixture, LMN__OP_CREATE, LMN__FAULT_FAIL);
    check_failed(fixture, store->ops->create(store, "b", &file, &err), "b", &err);
    CHECK_EQ(test_store_read(fixture->inner, "b", NULL, 0), -1);
    set_plan(fixture, LMN__OP_CREATE, LMN__FAULT_AFTER);
    check_failed(fixture, store->ops->create(store, "b", &file, &err), "b", &err);
    CHECK(file == NULL);
    CHECK_EQ(test_store_read(fixture->inner, "b", NULL, 0), 0);
}

static void test_fault__write(void **state)
{
    static const char *const expected[] = { "0123456789", "", "01234", "0123456789" };
    struct fixture *fixture = *state;
    struct lmn_store *store = fixture->store;
    struct lmn__store_file *file;
    struct lmn_error err;

    for (int action = LMN__FAULT_NONE; action <= LMN__FAULT_AFTER; action++) {
        enum lmn_status st;

        CHECK_OK(store->ops->create(store, "b", &file, &err));
        set_plan(fixture, LMN__OP_WRITE, (enum lmn__fault_action)action);
        st = store->ops->write_at(file, 0, "0123456789", 10, &err);
        if (action == LMN__FAULT_NONE)
            CHECK_OK(st);
        else
            check_failed(fixture, st, "b", &err);
        store->ops->close(file);
        CHECK(test_store_holds(fixture->inner, "b", expected[action]));
        CHECK_OK(store->ops->remove(store, "b", &err));
    }
}

static void test_fault__read_and_sync(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store = fixture->store;
    struct lmn__store_file *file;
    struct lmn_error err;
    char data[4] = "abc";

    CHECK_OK(store->ops->open(store, "d/a", &file, &err));
    CHECK_EQ(file->bytes, 10);
    set_plan(fixture, LMN__OP_READ, LMN__FAULT_FAIL);
    check_failed(fixture, store->ops->read_at(file, 0, data, 3, &err), "d/a", &err);
    CHECK_STR(data, "abc");
    set_plan(fixture, LMN__OP_READ, LMN__FAULT_AFTER);
    check_failed(fixture, store->ops->read_at(file, 0, data, 3, &err), "d/a", &err);
    CHECK_STR(data, "012");
    set_plan(fixture, LMN__OP_SYNC, LMN__FAULT_TEAR);
    check_failed(fixture, store->ops->sync(file, &err), "d/a", &err);
    store->ops->close(file);
}

static void test_fault__rename_link_remove(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store = fixture->store, *inner = fixture->inner;
    struct lmn_error err;

    set_plan(fixture, LMN__OP_LINK, LMN__FAULT_FAIL);
    check_failed(fixture, store->ops->link(store, "d/a", "b", &err), "b", &err);
    CHECK_EQ(test_store_read(inner, "b", NULL, 0), -1);
    set_plan(fixture, LMN__OP_LINK, LMN__FAULT_AFTER);
    check_failed(fixture, store->ops->link(store, "d/a", "b", &err), "b", &err);
    CHECK_EQ(test_store_read(inner, "b", NULL, 0), 10);
    set_plan(fixture, LMN__OP_RENAME, LMN__FAULT_FAIL);
    check_failed(fixture, store->ops->rename(store, "b", "c", &err), "c", &err);
    CHECK_EQ(test_store_read(inner, "b", NULL, 0), 10);
    set_plan(fixture, LMN__OP_RENAME, LMN__FAULT_TEAR);
    check_failed(fixture, store->ops->rename(store, "b", "c", &err), "c", &err);
    CHECK_EQ(test_store_read(inner, "b", NULL, 0), -1);
    CHECK_EQ(test_store_read(inner, "c", NULL, 0), 10);
    set_plan(fixture, LMN__OP_REMOVE, LMN__FAULT_FAIL);
    check_failed(fixture, store->ops->remove(store, "c", &err), "c", &err);
    CHECK_EQ(test_store_read(inner, "c", NULL, 0), 10);
    set_plan(fixture, LMN__OP_REMOVE, LMN__FAULT_AFTER);
    check_failed(fixture, store->ops->remove(store, "c", &err), "c", &err);
    CHECK_EQ(test_store_read(inner, "c", NULL, 0), -1);
}

static enum lmn_status count_entry(void *context, const char *name, bool is_directory,
                                   struct lmn_error *err)
{
    (void)name;
    (void)is_directory;
    (void)err;
    ++*(int *)context;
    return LMN_OK;
}

static void test_fault__directories(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store = fixture->store;
    struct lmn_error err;
    int entries = 0;

    set_plan(fixture, LMN__OP_SYNC_DIR, LMN__FAULT_FAIL);
    check_failed(fixture, store->ops->sync_dir(store, "d", &err), "d", &err);
    set_plan(fixture, LMN__OP_LIST, LMN__FAULT_FAIL);
    check_failed(fixture, store->ops->list(store, "d", count_entry, &entries, &err), "d", &err);
    CHECK_EQ(entries, 0);
    set_plan(fixture, LMN__OP_LIST, LMN__FAULT_AFTER);
    check_failed(fixture, store->ops->list(store, "d", count_entry, &entries, &err), "d", &err);
    CHECK_EQ(entries, 1);
}

static void test_fault__inner_failure_keeps_its_status(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store = fixture->store;
    struct lmn__store_file *file;
    struct lmn_error err;

    set_plan(fixture, LMN__OP_OPEN, LMN__FAULT_AFTER);
    CHECK_STATUS(store->ops->open(store, "b", &file, &err), LMN_E_NOT_FOUND, &err);
    set_plan(fixture, LMN__OP_CREATE, LMN__FAULT_AFTER);
    CHECK_STATUS(store->ops->create(store, "d/a", &file, &err), LMN_E_EXISTS, &err);
}

static void test_fault__open_faults_leave_nothing(void **state)
{
    struct fixture *fixture = *state;
    int64_t before = live_allocations();

    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *store = NULL;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn__store_open_fault(fixture->inner, ask, &fixture->plan, &store, &err);
        CHECK_STATUS(st, fault_fired() ? LMN_E_NO_MEMORY : LMN_OK, &err);
        lmn_store_release(store);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired())
            break;
    }
    fault_disarm();
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest cases[] = { CASE(test_fault__open_and_create),
                                        CASE(test_fault__write),
                                        CASE(test_fault__read_and_sync),
                                        CASE(test_fault__rename_link_remove),
                                        CASE(test_fault__directories),
                                        CASE(test_fault__inner_failure_keeps_its_status),
                                        CASE(test_fault__open_faults_leave_nothing),
                                        STORE_SUITE() };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
