/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "store/draft.h"
#include "stores.h"

/* The steps that reach the store, by their first letters, and the directory that is synced. */
struct steps {
    char letters[32];
    char synced_dir[32];
    bool removal_fails;
};

static enum lmn__fault_action record(void *context, enum lmn__store_op op, const char *path)
{
    static const char letter[] = {
        [LMN__OP_OPEN] = 'o',  [LMN__OP_CREATE] = 'c', [LMN__OP_READ] = 'r',
        [LMN__OP_WRITE] = 'w', [LMN__OP_SYNC] = 's',   [LMN__OP_RENAME] = 'n',
        [LMN__OP_LINK] = 'l',  [LMN__OP_REMOVE] = 'x', [LMN__OP_SYNC_DIR] = 'd',
        [LMN__OP_LIST] = 't'
    };
    struct steps *steps = context;
    size_t len = strlen(steps->letters);

    steps->letters[len] = letter[op];
    steps->letters[len + 1] = '\0';
    if (op == LMN__OP_SYNC_DIR)
        snprintf(steps->synced_dir, sizeof steps->synced_dir, "<%s>", path);
    return op == LMN__OP_REMOVE && steps->removal_fails ? LMN__FAULT_FAIL : LMN__FAULT_NONE;
}

struct fixture {
    struct steps steps;
    struct lmn_store *store;
};

static int begin(void **state)
{
    static struct fixture fixture;
    struct lmn_store *inner = test_store_memory();
    struct lmn_error err;

    fixture.steps = (struct steps){ .letters = "" };
    CHECK_OK(lmn__store_open_fault(inner, record, &fixture.steps, &fixture.store, &err));
    lmn_store_release(inner);
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    lmn_store_release(fixture->store);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static struct lmn__draft open_draft(struct lmn_store *store, const char *path)
{
    struct lmn__draft draft;
    struct lmn_error err;
    enum lmn_status st = lmn__draft_open(store, path, &draft, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    return draft;
}

static enum lmn_status write_and_publish(struct lmn_store *store, const char *path,
                                         enum lmn__publish_mode mode, bool sync)
{
    struct lmn__draft draft = open_draft(store, path);
    struct lmn_error err;
    enum lmn_status st;

    CHECK_OK(lmn__draft_write_at(&draft, 0, "new", 3, &err));
    st = lmn__draft_publish(&draft, mode, sync, &err);
    CHECK(draft.store == NULL && draft.file == NULL);
    return st;
}

static void test_draft__is_not_seen_before_publishing(void **state)
{
    struct fixture *fixture = *state;
    struct lmn__draft draft = open_draft(fixture->store, "d/f");
    struct lmn_error err;

    CHECK_OK(lmn__draft_write_at(&draft, 3, "def", 3, &err));
    CHECK_OK(lmn__draft_write_at(&draft, 0, "abc", 3, &err));
    CHECK_EQ(test_store_read(fixture->store, "d/f", NULL, 0), -1);
    CHECK_EQ(strncmp(draft.temporary_path, "d/f.", 4), 0);
    CHECK_STR(draft.temporary_path + strlen("d/f.0123456789abcdef"), ".tmp");
    CHECK_OK(lmn__draft_publish(&draft, LMN__PUBLISH_REPLACE, false, &err));
    CHECK(test_store_holds(fixture->store, "d/f", "abcdef"));
    CHECK_EQ(test_store_count(fixture->store, "d"), 1);
}

static void test_draft__abort_leaves_nothing(void **state)
{
    struct fixture *fixture = *state;
    struct lmn__draft draft = open_draft(fixture->store, "f"), zeroed = { 0 };
    struct lmn_error err;

    CHECK_OK(lmn__draft_write_at(&draft, 0, "abc", 3, &err));
    lmn__draft_abort(&draft);
    lmn__draft_abort(&draft);
    lmn__draft_abort(&zeroed);
    CHECK_EQ(test_store_count(fixture->store, ""), 0);
}

static void test_draft__replaces(void **state)
{
    struct fixture *fixture = *state;

    test_store_write(fixture->store, "f", "old", 3);
    CHECK_OK(write_and_publish(fixture->store, "f", LMN__PUBLISH_REPLACE, true));
    CHECK(test_store_holds(fixture->store, "f", "new"));
    CHECK_EQ(test_store_count(fixture->store, ""), 1);
}

static void test_draft__if_absent_keeps_the_first(void **state)
{
    struct fixture *fixture = *state;

    test_store_write(fixture->store, "f", "old", 3);
    CHECK_EQ(write_and_publish(fixture->store, "f", LMN__PUBLISH_IF_ABSENT, true), LMN_E_EXISTS);
    CHECK(test_store_holds(fixture->store, "f", "old"));
    CHECK_OK(write_and_publish(fixture->store, "g", LMN__PUBLISH_IF_ABSENT, true));
    CHECK(test_store_holds(fixture->store, "g", "new"));
    CHECK_EQ(test_store_count(fixture->store, ""), 2);
}

static void test_draft__two_of_one_name_do_not_meet(void **state)
{
    struct fixture *fixture = *state;
    struct lmn__draft one = open_draft(fixture->store, "f"), two = open_draft(fixture->store, "f");
    struct lmn_error err;

    CHECK(strcmp(one.temporary_path, two.temporary_path) != 0);
    CHECK_OK(lmn__draft_write_at(&one, 0, "one", 3, &err));
    CHECK_OK(lmn__draft_write_at(&two, 0, "two", 3, &err));
    CHECK_OK(lmn__draft_publish(&two, LMN__PUBLISH_IF_ABSENT, true, &err));
    CHECK_EQ(lmn__draft_publish(&one, LMN__PUBLISH_IF_ABSENT, true, &err), LMN_E_EXISTS);
    CHECK(test_store_holds(fixture->store, "f", "two"));
    CHECK_EQ(test_store_count(fixture->store, ""), 1);
}

static void test_draft__steps_are_in_order(void **state)
{
    struct fixture *fixture = *state;
    struct steps *steps = &fixture->steps;

    CHECK_OK(write_and_publish(fixture->store, "d/e/f", LMN__PUBLISH_REPLACE, true));
    CHECK_STR(steps->letters, "cwsnd");
    CHECK_STR(steps->synced_dir, "<d/e>");
    *steps = (struct steps){ .letters = "" };
    CHECK_OK(write_and_publish(fixture->store, "f", LMN__PUBLISH_IF_ABSENT, true));
    CHECK_STR(steps->letters, "cwslxd");
    CHECK_STR(steps->synced_dir, "<>");
    *steps = (struct steps){ .letters = "" };
    CHECK_OK(write_and_publish(fixture->store, "f", LMN__PUBLISH_REPLACE, false));
    CHECK_STR(steps->letters, "cwn");
    *steps = (struct steps){ .letters = "" };
    CHECK_OK(write_and_publish(fixture->store, "g", LMN__PUBLISH_IF_ABSENT, false));
    CHECK_STR(steps->letters, "cwlx");
}

static void test_draft__publishing_counts_although_the_temporary_name_stays(void **state)
{
    struct fixture *fixture = *state;

    fixture->steps.removal_fails = true;
    CHECK_OK(write_and_publish(fixture->store, "f", LMN__PUBLISH_IF_ABSENT, true));
    CHECK_STR(fixture->steps.letters, "cwslxxd");
    CHECK(test_store_holds(fixture->store, "f", "new"));
}

static void test_draft__bad_path_is_invalid(void **state)
{
    static const char *const bad[] = { "", "/f", "d/", "d/..", "." };
    struct fixture *fixture = *state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lmn__draft draft;
        struct lmn_error err;

        CHECK_STATUS(lmn__draft_open(fixture->store, bad[i], &draft, &err), LMN_E_INVALID, &err);
        CHECK(draft.store == NULL);
        lmn__draft_abort(&draft);
    }
    CHECK_STR(fixture->steps.letters, "");
}

static void test_put__writes_a_whole_file_durably(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store = fixture->store;
    struct lmn_error err;

    CHECK_OK(lmn__store_put(store, "d/f", LMN__PUBLISH_IF_ABSENT, "one", 3, &err));
    CHECK_STR(fixture->steps.letters, "cwslxd");
    CHECK(test_store_holds(store, "d/f", "one"));
    CHECK_STATUS(lmn__store_put(store, "d/f", LMN__PUBLISH_IF_ABSENT, "two", 3, &err), LMN_E_EXISTS,
                 &err);
    CHECK_OK(lmn__store_put(store, "d/f", LMN__PUBLISH_REPLACE, "", 0, &err));
    CHECK(test_store_holds(store, "d/f", ""));
    CHECK_EQ(test_store_count(store, "d"), 1);
}

/* One put that meets the nth fault; false when there are fewer steps than that. */
static bool put_with_fault(struct lmn_store *inner, enum lmn__publish_mode mode,
                           enum lmn__fault_action action, bool has_old, uint64_t nth)
{
    struct lmn_store *store = test_store_faulty_with(inner, action);
    struct lmn_error err = { 0 };
    enum lmn_status st;
    bool fired, is_old, is_new;

    fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
    st = lmn__store_put(store, "d/f", mode, "the new content", 15, &err);
    fired = fault_fired();
    fault_disarm();
    lmn_store_release(store);
    is_old = has_old ? test_store_holds(inner, "d/f", "old")
                     : test_store_read(inner, "d/f", NULL, 0) == -1;
    is_new = test_store_holds(inner, "d/f", "the new content");
    CHECK(is_old || is_new);
    CHECK_EQ(test_store_count(inner, "d"), has_old || is_new ? 1 : 0); /* no temporary name */
    CHECK(st != LMN_OK || is_new);
    CHECK(st == LMN_OK || err.message[0] != '\0');
    if (mode == LMN__PUBLISH_IF_ABSENT && has_old)
        CHECK(is_old && (st == LMN_E_EXISTS || fired));
    else
        CHECK(st == LMN_OK || fired);
    CHECK(st == LMN_OK || st == LMN_E_EXISTS || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
    return fired;
}

static void put_with_faults(struct lmn_store *(*open)(const char *root))
{
    for (int i = 0; i < 2 * 3 * 2; i++) {
        enum lmn__publish_mode mode = i & 1 ? LMN__PUBLISH_REPLACE : LMN__PUBLISH_IF_ABSENT;
        enum lmn__fault_action action = (enum lmn__fault_action)(LMN__FAULT_FAIL + i / 4);
        bool has_old = i & 2, fired = true;

        for (uint64_t nth = 1; fired; nth++) {
            char *root = test_dir_make();
            struct lmn_store *inner = open(root);

            if (has_old)
                test_store_write(inner, "d/f", "old", 3);
            fired = put_with_fault(inner, mode, action, has_old, nth);
            CHECK(fired || nth > 10);
            lmn_store_release(inner);
            test_dir_remove(root);
            CHECK_EQ(live_allocations(), 0);
        }
    }
}

static struct lmn_store *open_memory(const char *root)
{
    (void)root;
    return test_store_memory();
}

static void test_put__faults_leave_old_or_new_in_memory(void **state)
{
    (void)state;
    put_with_faults(open_memory);
}

static void test_put__faults_leave_old_or_new_in_a_directory(void **state)
{
    (void)state;
    put_with_faults(test_store_local);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(test_draft__is_not_seen_before_publishing),
        CASE(test_draft__abort_leaves_nothing),
        CASE(test_draft__replaces),
        CASE(test_draft__if_absent_keeps_the_first),
        CASE(test_draft__two_of_one_name_do_not_meet),
        CASE(test_draft__steps_are_in_order),
        CASE(test_draft__publishing_counts_although_the_temporary_name_stays),
        CASE(test_draft__bad_path_is_invalid),
        CASE(test_put__writes_a_whole_file_durably),
        cmocka_unit_test(test_put__faults_leave_old_or_new_in_memory),
        cmocka_unit_test(test_put__faults_leave_old_or_new_in_a_directory),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
