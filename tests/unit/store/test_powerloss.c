/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "store/draft.h"
#include "store/powerloss.h"
#include "stores.h"

#define STORE_SUITE_SETUP store_suite_powerloss
#include "store_suite.h"

enum { SEEDS = 40 };

static const char OLD[] = "the old content";
static const char NEW[] = "new content that is longer than the old one was";

static struct lmn_store *wrap(struct lmn_store *inner)
{
    struct lmn_store *store;
    struct lmn_error err;
    enum lmn_status st = lmn__store_open_powerloss(inner, &store, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    lmn_store_release(inner);
    return store;
}

static void crash(struct lmn_store *store, uint64_t seed)
{
    struct lmn_error err;
    enum lmn_status st = lmn__powerloss_crash(store, seed, &err);

    CHECK_STATUS(st, LMN_OK, &err);
}

static int begin(void **state)
{
    struct lmn_store *inner = test_store_memory();

    test_store_write(inner, "d/before", OLD, strlen(OLD));
    *state = wrap(inner);
    return 0;
}

static int end(void **state)
{
    lmn_store_release(*state);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static bool is_missing(struct lmn_store *store, const char *path)
{
    return test_store_read(store, path, NULL, 0) == -1;
}

/* Create, write, sync the data; not the name. */
static void write_file(struct lmn_store *store, const char *path, const char *text)
{
    struct lmn__store_file *file;
    struct lmn_error err;

    CHECK_OK(store->ops->create(store, path, &file, &err));
    CHECK_OK(store->ops->write_at(file, 0, text, strlen(text), &err));
    CHECK_OK(store->ops->sync(file, &err));
    store->ops->close(file);
}

static void sync_dir(struct lmn_store *store, const char *path)
{
    struct lmn_error err;
    enum lmn_status st = store->ops->sync_dir(store, path, &err);

    CHECK_STATUS(st, LMN_OK, &err);
}

static void test_powerloss__data_not_synced_is_gone(void **state)
{
    struct lmn_store *store = *state;
    struct lmn__store_file *file;
    struct lmn_error err;

    CHECK_OK(store->ops->create(store, "d/f", &file, &err));
    CHECK_OK(store->ops->write_at(file, 0, "abcdef", 6, &err));
    CHECK_OK(store->ops->sync(file, &err));
    CHECK_OK(store->ops->write_at(file, 2, "XX", 2, &err));
    CHECK_OK(store->ops->write_at(file, 6, "ghi", 3, &err));
    store->ops->close(file);
    CHECK_OK(store->ops->create(store, "d/g", &file, &err));
    CHECK_OK(store->ops->write_at(file, 0, "abcdef", 6, &err));
    store->ops->close(file);
    sync_dir(store, "d");
    CHECK(test_store_holds(store, "d/f", "abXXefghi"));
    crash(store, 0);
    CHECK(test_store_holds(store, "d/f", "abcdef"));
    CHECK(test_store_holds(store, "d/g", ""));
    CHECK(test_store_holds(store, "d/before", OLD));
}

static void test_powerloss__name_not_synced_is_gone(void **state)
{
    struct lmn_store *store = *state;

    write_file(store, "d/f", "one");
    write_file(store, "e/f", "two");
    sync_dir(store, "e");
    sync_dir(store, ""); /* not the directory of d/f */
    crash(store, 0);
    CHECK(is_missing(store, "d/f"));
    CHECK(test_store_holds(store, "e/f", "two"));
}

static void test_powerloss__all_that_is_synced_survives_every_seed(void **state)
{
    struct lmn_store *store = *state;
    struct lmn_error err;

    write_file(store, "d/f", "one");
    write_file(store, "g", "two");
    CHECK_OK(store->ops->rename(store, "g", "d/g", &err));
    CHECK_OK(store->ops->link(store, "d/g", "e/h", &err));
    CHECK_OK(store->ops->remove(store, "d/before", &err));
    sync_dir(store, "d");
    sync_dir(store, "e");
    sync_dir(store, "");
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        crash(store, seed);
        CHECK(test_store_holds(store, "d/f", "one"));
        CHECK(test_store_holds(store, "d/g", "two"));
        CHECK(test_store_holds(store, "e/h", "two"));
        CHECK(is_missing(store, "g"));
        CHECK(is_missing(store, "d/before"));
    }
}

static void test_powerloss__removal_not_synced_comes_back(void **state)
{
    struct lmn_store *store = *state;
    struct lmn_error err;

    CHECK_OK(store->ops->remove(store, "d/before", &err));
    write_file(store, "d/before", "again");
    CHECK(test_store_holds(store, "d/before", "again"));
    crash(store, 0);
    CHECK(test_store_holds(store, "d/before", OLD));
}

static void test_powerloss__rename_happens_whole_or_not(void **state)
{
    bool seen[2] = { false, false };

    (void)state;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        struct lmn_store *store = wrap(test_store_memory());
        struct lmn_error err;
        bool moved;

        write_file(store, "d/a", OLD);
        write_file(store, "e/b", NEW);
        sync_dir(store, "d");
        sync_dir(store, "e");
        CHECK_OK(store->ops->rename(store, "d/a", "e/b", &err));
        if (seed & 1)
            sync_dir(store, seed & 2 ? "d" : "e"); /* one of the two is not enough */
        crash(store, seed);
        moved = is_missing(store, "d/a");
        CHECK(moved || test_store_holds(store, "d/a", OLD));
        CHECK(test_store_holds(store, "e/b", moved ? OLD : NEW));
        CHECK(seed != 0 || !moved);
        seen[moved] = true;
        lmn_store_release(store);
    }
    CHECK(seen[0] && seen[1]);
}

static void test_powerloss__rename_is_durable_with_both_directories(void **state)
{
    (void)state;
    for (int synced = 0; synced < 4; synced++) {
        struct lmn_store *store = wrap(test_store_memory());
        struct lmn_error err;

        write_file(store, "d/a", OLD);
        sync_dir(store, "d");
        CHECK_OK(store->ops->rename(store, "d/a", "e/b", &err));
        if (synced & 1)
            sync_dir(store, "d");
        if (synced & 2)
            sync_dir(store, "e");
        crash(store, 0);
        CHECK(test_store_holds(store, synced == 3 ? "e/b" : "d/a", OLD));
        CHECK(is_missing(store, synced == 3 ? "d/a" : "e/b"));
        lmn_store_release(store);
    }
}

static void test_powerloss__change_of_a_name_brings_those_before_it(void **state)
{
    struct lmn_store *store = *state;
    struct lmn_error err;

    CHECK_OK(store->ops->rename(store, "d/before", "e/f", &err));
    write_file(store, "d/before", NEW);
    sync_dir(store, "d"); /* says nothing about e/f, but it is where the first file went */
    crash(store, 0);
    CHECK(test_store_holds(store, "d/before", NEW));
    CHECK(test_store_holds(store, "e/f", OLD));
}

static void test_powerloss__names_of_one_file_stay_one_file(void **state)
{
    struct lmn_store *store = *state;
    struct lmn_error err;

    CHECK_OK(store->ops->link(store, "d/before", "d/a", &err));
    CHECK_OK(store->ops->link(store, "d/a", "d/b", &err));
    sync_dir(store, "d");
    crash(store, 0);
    CHECK(test_store_holds(store, "d/a", OLD));
    CHECK(test_store_holds(store, "d/b", OLD));
    CHECK_OK(store->ops->rename(store, "d/a", "d/b", &err)); /* does nothing to one file */
    CHECK(test_store_holds(store, "d/a", OLD));
    CHECK(test_store_holds(store, "d/before", OLD));
}

static void test_powerloss__writes_are_kept_dropped_or_cut(void **state)
{
    bool kept = false, dropped = false, cut = false;

    (void)state;
    for (uint64_t seed = 1; seed < SEEDS; seed++) {
        struct lmn_store *store = wrap(test_store_memory());
        struct lmn__store_file *file;
        struct lmn_error err;
        char data[12], rest;
        size_t changed = 4;

        CHECK_OK(store->ops->create(store, "f", &file, &err));
        CHECK_OK(store->ops->write_at(file, 0, "aaaaaaaaaaaa", 12, &err));
        CHECK_OK(store->ops->sync(file, &err));
        CHECK_OK(store->ops->write_at(file, 4, "bbbb", 4, &err));
        store->ops->close(file);
        sync_dir(store, "");
        crash(store, seed);
        CHECK_EQ(test_store_read(store, "f", data, sizeof data), 12);
        for (size_t i = 0; i < 12; i++) {
            rest = i >= 4 && i < changed + 1 && data[i] == 'b' ? 'b' : 'a';
            CHECK_EQ(data[i], rest);
            changed += rest == 'b';
        }
        kept |= changed == 8;
        dropped |= changed == 4;
        cut |= changed > 4 && changed < 8;
        lmn_store_release(store);
    }
    CHECK(kept && dropped && cut);
}

static void test_powerloss__open_files_forbid_it(void **state)
{
    struct lmn_store *store = *state;
    struct lmn__store_file *file;
    struct lmn_error err;

    CHECK_OK(store->ops->open(store, "d/before", &file, &err));
    CHECK_STATUS(lmn__powerloss_crash(store, 0, &err), LMN_E_INVALID, &err);
    store->ops->close(file);
    CHECK_OK(store->ops->create(store, "d/f", &file, &err));
    CHECK_STATUS(lmn__powerloss_crash(store, 0, &err), LMN_E_INVALID, &err);
    store->ops->close(file);
    crash(store, 0);
}

static void test_powerloss__failed_operations_leave_no_trace(void **state)
{
    struct lmn_store *store = *state;
    struct lmn__store_file *file;
    struct lmn_error err;

    CHECK_EQ(store->ops->create(store, "d/before", &file, &err), LMN_E_EXISTS);
    CHECK_EQ(store->ops->create(store, "d", &file, &err), LMN_E_EXISTS);
    CHECK_EQ(store->ops->link(store, "d/none", "d/f", &err), LMN_E_NOT_FOUND);
    CHECK_EQ(store->ops->link(store, "d/before", "d", &err), LMN_E_EXISTS);
    CHECK_EQ(store->ops->rename(store, "d/none", "d/before", &err), LMN_E_NOT_FOUND);
    CHECK_EQ(store->ops->rename(store, "d/before", "d", &err), LMN_E_IO);
    CHECK_EQ(store->ops->remove(store, "d", &err), LMN_E_IO);
    CHECK_EQ(store->ops->remove(store, "d/none", &err), LMN_E_NOT_FOUND);
    CHECK_OK(store->ops->rename(store, "d/before", "d/after", &err));
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        crash(store, seed);
        CHECK(test_store_holds(store, "d/before", OLD));
        CHECK_EQ(test_store_count(store, "d"), 1);
    }
}

/*
 * Random operations on a few names of one directory, each file with a content of its own. After
 * a power loss a name stands for something it stood for since the last sync.
 */
enum { NAMES = 4, STATES_MAX = 64, TEXT_BYTES = 24 };

struct past {
    char content[STATES_MAX][TEXT_BYTES]; /* "" when the name was absent */
    size_t count;
};

static void remember(struct past *past, const char *content)
{
    CHECK(past->count < STATES_MAX);
    memmove(past->content[past->count++], content, strlen(content) + 1);
}

static void random_step(struct lmn_store *store, struct past *past, int step, uint64_t *seed)
{
    static const char *const path[NAMES] = { "d/0", "d/1", "d/2", "d/3" };
    size_t a = test_random(seed) % NAMES, b = test_random(seed) % NAMES;
    const char *now_a = past[a].content[past[a].count - 1];
    const char *now_b = past[b].content[past[b].count - 1];
    struct lmn_error err;
    char content[TEXT_BYTES];

    switch (test_random(seed) % 5) {
    case 0:
        if (now_a[0] != '\0')
            return;
        snprintf(content, sizeof content, "content %d", step);
        write_file(store, path[a], content);
        remember(&past[a], content);
        break;
    case 1:
        if (now_a[0] == '\0')
            return;
        CHECK_OK(store->ops->remove(store, path[a], &err));
        remember(&past[a], "");
        break;
    case 2:
        if (now_a[0] == '\0' || strcmp(now_a, now_b) == 0)
            return;
        CHECK_OK(store->ops->rename(store, path[a], path[b], &err));
        remember(&past[b], now_a);
        remember(&past[a], "");
        break;
    case 3:
        if (now_a[0] == '\0' || now_b[0] != '\0')
            return;
        CHECK_OK(store->ops->link(store, path[a], path[b], &err));
        remember(&past[b], now_a);
        break;
    default:
        if (test_random(seed) % 4 != 0)
            return;
        sync_dir(store, "d");
        for (size_t i = 0; i < NAMES; i++) {
            memmove(past[i].content[0], past[i].content[past[i].count - 1], TEXT_BYTES);
            past[i].count = 1;
        }
    }
}

static void check_past(struct lmn_store *store, const struct past *past, bool durable_only)
{
    for (size_t i = 0; i < NAMES; i++) {
        char path[24], content[TEXT_BYTES] = "";
        bool found = false;

        snprintf(path, sizeof path, "d/%zu", i);
        test_store_read(store, path, content, sizeof content - 1);
        for (size_t k = 0; k < (durable_only ? 1 : past[i].count) && !found; k++)
            found = strcmp(content, past[i].content[k]) == 0;
        if (!found)
            check_fail(__FILE__, __LINE__, "%s holds \"%s\"", path, content);
    }
}

static void test_powerloss__a_name_keeps_some_past_of_its_own(void **state)
{
    (void)state;
    for (uint64_t run = 0; run < 300; run++) {
        struct lmn_store *inner = test_store_memory(), *store;
        struct past past[NAMES];
        uint64_t seed = run;

        test_store_write(inner, "d/before", OLD, strlen(OLD));
        store = wrap(inner);
        memset(past, 0, sizeof past);
        for (size_t i = 0; i < NAMES; i++)
            past[i].count = 1;
        for (int step = 0; step < 40; step++)
            random_step(store, past, step, &seed);
        crash(store, run % 3 == 0 ? 0 : run);
        check_past(store, past, run % 3 == 0);
        CHECK(test_store_holds(store, "d/before", OLD));
        lmn_store_release(store);
        CHECK_EQ(live_allocations(), 0);
    }
}

/* The power is off after so many steps: no later operation does anything. */
struct supply {
    uint64_t steps_left;
    bool off;
};

static enum lmn__fault_action draw(void *context, enum lmn__store_op op, const char *path)
{
    struct supply *supply = context;

    (void)op;
    (void)path;
    supply->off |= supply->steps_left == 0;
    if (supply->off)
        return LMN__FAULT_FAIL;
    supply->steps_left--;
    return LMN__FAULT_NONE;
}

static enum lmn_status publish(struct lmn_store *store, enum lmn__publish_mode mode, bool sync)
{
    struct lmn__draft draft;
    size_t half = strlen(NEW) / 2;
    struct lmn_error err;
    enum lmn_status st = lmn__draft_open(store, "d/f", &draft, &err);

    if (st == LMN_OK)
        st = lmn__draft_write_at(&draft, half, NEW + half, strlen(NEW) - half, &err);
    if (st == LMN_OK)
        st = lmn__draft_write_at(&draft, 0, NEW, half, &err);
    if (st == LMN_OK)
        return lmn__draft_publish(&draft, mode, sync, &err);
    lmn__draft_abort(&draft);
    return st;
}

/* Publish over `old` (NULL: nothing) on a store that loses power after `steps`; the wrapped store.
 */
static struct lmn_store *publish_and_crash(struct lmn_store *inner, const char *old, bool sync,
                                           uint64_t steps, uint64_t seed, enum lmn_status *st_out)
{
    enum lmn__publish_mode mode = old != NULL ? LMN__PUBLISH_REPLACE : LMN__PUBLISH_IF_ABSENT;
    struct supply supply = { .steps_left = steps };
    struct lmn_store *store, *supplied;
    struct lmn_error err;

    if (old != NULL)
        test_store_write(inner, "d/f", old, strlen(old));
    store = wrap(inner);
    CHECK_OK(lmn__store_open_fault(store, draw, &supply, &supplied, &err));
    *st_out = publish(supplied, mode, sync);
    lmn_store_release(supplied);
    crash(store, seed);
    return store;
}

static void publish_synced(struct lmn_store *(*open)(const char *root), const char *old,
                           uint64_t seeds)
{
    enum lmn_status st = LMN_E_IO;
    bool seen[2] = { false, false };

    for (uint64_t steps = 0; st != LMN_OK; steps++) {
        for (uint64_t seed = 0; seed < seeds; seed++) {
            char *root = test_dir_make();
            struct lmn_store *store = publish_and_crash(open(root), old, true, steps, seed, &st);
            bool is_new = test_store_holds(store, "d/f", NEW);

            CHECK(is_new ||
                  (old != NULL ? test_store_holds(store, "d/f", old) : is_missing(store, "d/f")));
            CHECK(st != LMN_OK || is_new);
            seen[is_new] |= st != LMN_OK;
            lmn_store_release(store);
            test_dir_remove(root);
            CHECK_EQ(live_allocations(), 0);
        }
    }
    CHECK(seen[0] && seen[1]); /* before the last sync it may be either */
}

static struct lmn_store *open_memory(const char *root)
{
    (void)root;
    return test_store_memory();
}

static void test_draft__synced_is_old_or_new_after_power_loss_at_any_step(void **state)
{
    (void)state;
    publish_synced(open_memory, OLD, SEEDS);
    publish_synced(open_memory, NULL, SEEDS);
}

static void test_draft__synced_is_old_or_new_in_a_directory(void **state)
{
    (void)state;
    publish_synced(test_store_local, OLD, 5);
    publish_synced(test_store_local, NULL, 5);
}

/*
 * What is left of a file that was published without sync: nothing, the file before, or its own
 * name with writes missing or cut, zeros where later writes were kept.
 */
static bool is_remnant(struct lmn_store *store, bool *torn)
{
    char data[sizeof NEW];
    int64_t len = test_store_read(store, "d/f", data, sizeof data);

    if (len < 0 || len > (int64_t)strlen(NEW))
        return false;
    *torn |= len < (int64_t)strlen(NEW);
    for (int64_t i = 0; i < len; i++) {
        if (data[i] != NEW[i] && data[i] != '\0')
            return false;
        *torn |= data[i] == '\0';
    }
    return true;
}

static void test_draft__not_synced_may_be_lost_or_torn_by_power_loss(void **state)
{
    bool kept_old = false, torn = false, whole = false;

    (void)state;
    for (uint64_t seed = 0; seed < 4 * SEEDS; seed++) {
        enum lmn_status st;
        struct lmn_store *store = publish_and_crash(test_store_memory(), OLD, false, 100, seed,
                                                    &st);
        bool is_old = test_store_holds(store, "d/f", OLD);

        CHECK_OK(st);
        CHECK(is_old || is_remnant(store, &torn));
        CHECK(seed != 0 || is_old);
        kept_old |= is_old;
        whole |= test_store_holds(store, "d/f", NEW);
        lmn_store_release(store);
    }
    CHECK(kept_old && torn && whole);
    CHECK_EQ(live_allocations(), 0);
}

static void test_powerloss__faults_of_a_crash_can_be_made_good(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *inner = test_store_memory(), *store;
        struct lmn_error err = { 0 };
        enum lmn_status st;
        bool fired;

        test_store_write(inner, "d/before", OLD, strlen(OLD));
        store = wrap(inner);
        write_file(store, "d/f", "one");
        CHECK_OK(store->ops->rename(store, "d/f", "d/before", &err));
        fault_arm(FAULT_ALLOC, nth);
        st = lmn__powerloss_crash(store, 0, &err);
        fired = fault_fired();
        fault_disarm();
        if (fired) {
            CHECK_STATUS(st, LMN_E_NO_MEMORY, &err);
            st = lmn__powerloss_crash(store, 0, &err);
        }
        CHECK_STATUS(st, LMN_OK, &err);
        CHECK(test_store_holds(store, "d/before", OLD));
        CHECK_EQ(test_store_count(store, "d"), 1);
        lmn_store_release(store);
        CHECK_EQ(live_allocations(), 0);
        if (!fired)
            break;
    }
}

static void test_powerloss__open_faults_leave_nothing(void **state)
{
    struct lmn_store *inner = test_store_memory();
    int64_t before = live_allocations();

    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *store = NULL;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn__store_open_powerloss(inner, &store, &err);
        CHECK_STATUS(st, fault_fired() ? LMN_E_NO_MEMORY : LMN_OK, &err);
        lmn_store_release(store);
        CHECK_EQ(live_allocations(), before);
        if (!fault_fired())
            break;
    }
    fault_disarm();
    lmn_store_release(inner);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(test_powerloss__data_not_synced_is_gone),
        CASE(test_powerloss__name_not_synced_is_gone),
        CASE(test_powerloss__all_that_is_synced_survives_every_seed),
        CASE(test_powerloss__removal_not_synced_comes_back),
        CASE(test_powerloss__rename_happens_whole_or_not),
        CASE(test_powerloss__rename_is_durable_with_both_directories),
        CASE(test_powerloss__change_of_a_name_brings_those_before_it),
        CASE(test_powerloss__names_of_one_file_stay_one_file),
        CASE(test_powerloss__writes_are_kept_dropped_or_cut),
        CASE(test_powerloss__open_files_forbid_it),
        CASE(test_powerloss__failed_operations_leave_no_trace),
        cmocka_unit_test(test_powerloss__a_name_keeps_some_past_of_its_own),
        cmocka_unit_test(test_draft__synced_is_old_or_new_after_power_loss_at_any_step),
        cmocka_unit_test(test_draft__synced_is_old_or_new_in_a_directory),
        cmocka_unit_test(test_draft__not_synced_may_be_lost_or_torn_by_power_loss),
        cmocka_unit_test(test_powerloss__faults_of_a_crash_can_be_made_good),
        cmocka_unit_test(test_powerloss__open_faults_leave_nothing),
        STORE_SUITE()
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
