/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A driver is killed before the nth operation of its store, for many n, on a directory of this
 * machine. The next one finishes the fill, and computes nothing of which the receipt was synced.
 *
 * labels: slow
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fills.h"
#include "stores.h"

enum { ROWS = 60, FRAGMENT_ROWS = 30, STEP = 15, FRAGMENTS = 2, SMALL = 10, STRIDE = 5 };

struct counts {
    uint32_t computed[FRAGMENTS * FILL_STEPS_MAX];
    uint32_t synced[FRAGMENTS * FILL_STEPS_MAX];
};

static enum lmn__fault_action kill_at(void *context, enum lmn__store_op op, const char *path)
{
    uint64_t *left = context;

    (void)op;
    (void)path;
    if ((*left)-- == 0)
        raise(SIGKILL);
    return LMN__FAULT_NONE;
}

/* Drive the fill in this process, which ends before operation number `nth`. */
_Noreturn static void drive_and_die(const char *root, uint64_t nth, struct counts *counts)
{
    struct lmn_store *inner = test_store_local(root), *store;
    struct lmn_error err;
    struct fill fill;

    if (lmn__store_open_fault(inner, kill_at, &nth, &store, &err) != LMN_OK)
        _exit(2);
    fill_attach(&fill, store, "v", SMALL);
    _exit(fill_drive(&fill, STEP, counts->computed, counts->synced, &err) == LMN_OK ? 0 : 1);
}

/* True when the child came to its end. What it counted is in memory that both see. */
static bool run_child(const char *root, uint64_t nth, struct counts *counts)
{
    pid_t child = fork();
    int status;

    CHECK(child >= 0);
    if (child == 0)
        drive_and_die(root, nth, counts);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL : WEXITSTATUS(status) == 0);
    return WIFEXITED(status);
}

/* Data files; the draft that a killed writer leaves is a cleanup's. */
static enum lmn_status count_file(void *context, const char *name, bool is_directory,
                                  struct lmn_error *err)
{
    uint64_t *count = context;

    (void)is_directory;
    (void)err;
    *count += strstr(name, ".tmp") == NULL;
    return LMN_OK;
}

static void finish(struct lmn_store *store, const struct counts *before)
{
    struct counts counts = { 0 };
    struct lmn_error err;
    uint64_t files = 0;
    struct fill fill;

    fill_attach(&fill, store, "v", SMALL);
    CHECK_STATUS(fill_drive(&fill, STEP, counts.computed, counts.synced, &err), LMN_OK, &err);
    for (int i = 0; i < FRAGMENTS * FILL_STEPS_MAX; i++)
        CHECK(before->synced[i] == 0 || counts.computed[i] == 0);
    fill_end(&fill);
    CHECK_EQ(fill_check(store, "v", SMALL), ROWS - 1);
    CHECK_OK(store->ops->list(store, "data", count_file, &files, &err));
    CHECK_EQ(files, 2 * FRAGMENTS);
    CHECK_EQ(test_store_count(store, "_leman/fills"), 1);
}

static void test_fills__killed_driver_is_followed_by_another(void **state)
{
    bool ended = false;

    (void)state;
    for (uint64_t nth = 0; !ended; nth += STRIDE) {
        struct counts *counts = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        char *root = test_dir_make();
        struct lmn_store *store = test_store_local(root);
        struct fill fill;

        CHECK(counts != MAP_FAILED);
        fill_make(&fill, store, ROWS, FRAGMENT_ROWS, SMALL);
        fill_end(&fill);
        ended = run_child(root, nth, counts);
        finish(store, counts);
        munmap(counts, sizeof *counts);
        lmn_store_release(store);
        test_dir_remove(root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fills__killed_driver_is_followed_by_another),
    };

    return cmocka_run_group_tests_name("fills", tests, NULL, NULL);
}
