/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is about to be read.
 *
 * The program's own posix_fadvise and syscall stand before those of the C library, so the tests
 * decide what the kernel knows, and threads wait in it for each other.
 *
 * labels: threads
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "os/ahead.h"
#include "os/fork.h"
#include "os/thread.h"
#include "stores.h"

enum { RANGES = 300, RANGE_BYTES = 5000, CALL_CACHESTAT = 451, ROUNDS = 200, THREADS = 6 };

static struct {
    bool near;      /* everything is in memory */
    bool is_blind;  /* the kernel does not know what is in memory */
    uint64_t owner; /* the thread of the test */
    struct lmn__mutex mutex;
    struct lmn__cond cond;
    struct {
        unsigned advised[RANGES];
        unsigned whole; /* times that the whole file was */
        int helper_fd;  /* -1: none came */
        bool awaits_it; /* the test's own thread goes on when one has come */
        bool holds_it;  /* a helper waits */
    } locked;
} kernel = { .mutex = LMN__MUTEX_INIT, .cond = LMN__COND_INIT };

static void kernel_reset(void)
{
    kernel.near = false;
    kernel.is_blind = false;
    kernel.owner = (uint64_t)syscall(SYS_gettid);
    memset(&kernel.locked, 0, sizeof kernel.locked);
    kernel.locked.helper_fd = -1;
}

/* Threads meet here; a test that waits in vain runs into its time limit. */
int posix_fadvise(int fd, off_t offset, off_t len, int advice)
{
    bool helps = (uint64_t)syscall(SYS_gettid) != kernel.owner;

    CHECK_EQ(advice, POSIX_FADV_WILLNEED);
    lmn__mutex_lock(&kernel.mutex);
    if (len == RANGES * RANGE_BYTES) {
        CHECK_EQ(offset, 0);
        kernel.locked.whole++;
    } else {
        CHECK_EQ(len, RANGE_BYTES);
        kernel.locked.advised[offset / RANGE_BYTES]++;
    }
    if (helps) {
        kernel.locked.helper_fd = fd;
        lmn__cond_wake_all(&kernel.cond);
    }
    while (kernel.locked.awaits_it && !helps && offset != 0 && kernel.locked.helper_fd < 0)
        lmn__cond_wait(&kernel.cond, &kernel.mutex);
    while (kernel.locked.holds_it && helps)
        lmn__cond_wait(&kernel.cond, &kernel.mutex);
    lmn__mutex_unlock(&kernel.mutex);
    return 0;
}

static long count_pages(const uint64_t *asked, uint64_t *state)
{
    uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
    bool known;

    if (kernel.is_blind) {
        errno = ENOSYS;
        return -1;
    }
    lmn__mutex_lock(&kernel.mutex);
    known = kernel.near || kernel.locked.advised[asked[0] / RANGE_BYTES] != 0;
    lmn__mutex_unlock(&kernel.mutex);
    memset(state, 0, 5 * sizeof *state);
    if (known)
        state[0] = (asked[0] + asked[1] - 1) / page_bytes - asked[0] / page_bytes + 1;
    return 0;
}

long syscall(long number, ...)
{
    long (*next)(long, ...);
    void *found = dlsym(RTLD_NEXT, "syscall");
    long argument[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    if (number == CALL_CACHESTAT)
        return count_pages((const uint64_t *)argument[1], (uint64_t *)argument[2]);
    if (number == SYS_preadv2)
        return kernel.near ? 1 : -1;
    memcpy(&next, &found, sizeof next);
    return next(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                argument[5]);
}

/* A file and what is to be read of it; nothing of it is there. */
struct subject {
    struct lmn__file file;
    struct lmn__ahead ahead;
    struct lmn__ahead_file served;
    struct lmn__file_range range[RANGES];
};

static void subject_init(struct subject *subject)
{
    struct lmn_error err;

    kernel_reset();
    for (uint64_t i = 0; i < RANGES; i++)
        subject->range[i] = (struct lmn__file_range){ i * RANGE_BYTES, RANGE_BYTES };
    CHECK_OK(lmn__file_open("/dev/null", LMN__FILE_READ, &subject->file, &err));
    lmn__ahead_init(&subject->ahead, test_env());
    lmn__ahead_file_init(&subject->served, &subject->ahead, RANGES * RANGE_BYTES);
}

static void subject_deinit(struct subject *subject)
{
    lmn__ahead_file_deinit(&subject->served);
    lmn__ahead_deinit(&subject->ahead);
    lmn__file_close(&subject->file);
    CHECK_EQ(live_allocations(), 0);
}

static void fetch(struct subject *subject, size_t count)
{
    lmn__ahead_fetch(&subject->served, &subject->file, subject->range, count, false);
}

static unsigned count_advised(void)
{
    unsigned count = 0;

    lmn__mutex_lock(&kernel.mutex);
    for (size_t i = 0; i < RANGES; i++)
        count += kernel.locked.advised[i] != 0;
    lmn__mutex_unlock(&kernel.mutex);
    return count;
}

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void test_ahead__fetches_everything(void **state)
{
    static const size_t count[] = { 1, 2, 15, 16, 17, 256, 257, RANGES };
    struct subject subject;

    (void)state;
    for (size_t i = 0; i < sizeof count / sizeof *count; i++) {
        subject_init(&subject);
        fetch(&subject, count[i]);
        subject_deinit(&subject);
        CHECK_EQ(count_advised(), count[i]);
    }
    subject_init(&subject);
    fetch(&subject, 0);
    subject_deinit(&subject);
    CHECK_EQ(count_advised(), 0);
}

static void test_ahead__leaves_what_is_near(void **state)
{
    struct subject subject;

    (void)state;
    subject_init(&subject);
    kernel.near = true;
    fetch(&subject, RANGES);
    CHECK_EQ(count_advised(), 0);
    subject_deinit(&subject);
}

/* Where the kernel cannot tell, reading does. */
static void test_ahead__kernel_that_cannot_tell(void **state)
{
    struct subject subject;

    (void)state;
    subject_init(&subject);
    kernel.is_blind = true;
    fetch(&subject, RANGES);
    subject_deinit(&subject);
    CHECK_EQ(count_advised(), RANGES);
    subject_init(&subject);
    kernel.is_blind = true;
    kernel.near = true;
    fetch(&subject, RANGES);
    CHECK(count_advised() < 8); /* those that it looked at */
    subject_deinit(&subject);
}

static void test_ahead__is_helped(void **state)
{
    struct subject subject;

    (void)state;
    for (int i = 0; i < 3; i++) {
        subject_init(&subject);
        kernel.locked.awaits_it = true;
        fetch(&subject, RANGES);
        subject_deinit(&subject);
        CHECK_EQ(count_advised(), RANGES);
        CHECK(kernel.locked.helper_fd >= 0);
    }
}

/* The caller does what a helper does not come to, and may close the file. */
static void test_ahead__does_not_wait_for_its_helper(void **state)
{
    struct subject subject;
    int fd;

    (void)state;
    subject_init(&subject);
    kernel.locked.awaits_it = true;
    kernel.locked.holds_it = true;
    fetch(&subject, 64);
    CHECK_EQ(count_advised(), 64);
    lmn__ahead_file_deinit(&subject.served);
    lmn__file_close(&subject.file);
    lmn__mutex_lock(&kernel.mutex);
    fd = kernel.locked.helper_fd;
    CHECK(is_open(fd));
    kernel.locked.holds_it = false;
    lmn__cond_wake_all(&kernel.cond);
    lmn__mutex_unlock(&kernel.mutex);
    lmn__ahead_deinit(&subject.ahead);
    CHECK(!is_open(fd));
    CHECK_EQ(live_allocations(), 0);
}

/* How often all of the file is fetched by calls that read half of it. */
static unsigned fetch_again(struct subject *subject, int calls)
{
    for (int i = 0; i < calls; i++)
        fetch(subject, RANGES / 2);
    return kernel.locked.whole;
}

static void test_ahead__reads_that_come_back(void **state)
{
    struct subject subject;

    (void)state;
    subject_init(&subject);
    kernel.is_blind = true; /* what is read is never there */
    CHECK_EQ(fetch_again(&subject, 7), 0);
    CHECK_EQ(fetch_again(&subject, 1), 1);
    CHECK_EQ(fetch_again(&subject, 16), 3);
    subject_deinit(&subject);
    CHECK_EQ(count_advised(), RANGES / 2);
}

/* What was fetched does not count. */
static void test_ahead__reads_that_come_back_to_what_is_near(void **state)
{
    struct subject subject;

    (void)state;
    subject_init(&subject);
    CHECK_EQ(fetch_again(&subject, 100), 0);
    subject_deinit(&subject);
}

/* The files that are open do not fit into memory together; when one is closed they do. */
static void test_ahead__no_room_for_what_is_open(void **state)
{
    struct lmn__ahead_file large;
    struct subject subject;

    (void)state;
    subject_init(&subject);
    kernel.is_blind = true;
    lmn__ahead_file_init(&large, &subject.ahead, UINT64_C(1) << 50);
    CHECK_EQ(fetch_again(&subject, 100), 0);
    lmn__ahead_file_deinit(&large);
    CHECK(fetch_again(&subject, 8) > 0);
    subject_deinit(&subject);
}

static void test_ahead__nothing_beside_the_ranges(void **state)
{
    struct subject subject;

    (void)state;
    subject_init(&subject);
    kernel.is_blind = true;
    for (int i = 0; i < 100; i++)
        lmn__ahead_fetch(&subject.served, &subject.file, subject.range, RANGES / 2, true);
    CHECK_EQ(kernel.locked.whole, 0);
    CHECK_EQ(fetch_again(&subject, 7), 0); /* those did not count */
    subject_deinit(&subject);
    CHECK_EQ(count_advised(), RANGES / 2);
}

static void fetch_often(void *context)
{
    for (int i = 0; i < ROUNDS; i++)
        fetch(context, 32);
}

static void test_ahead__many_threads(void **state)
{
    struct lmn__thread thread[THREADS];
    struct subject subject;
    struct lmn_error err;

    (void)state;
    subject_init(&subject);
    kernel.is_blind = true; /* all of them fetch */
    for (size_t i = 0; i < THREADS; i++)
        CHECK_OK(lmn__thread_start(test_env(), fetch_often, &subject, &thread[i], &err));
    for (size_t i = 0; i < THREADS; i++)
        lmn__thread_join(&thread[i]);
    subject_deinit(&subject);
    for (size_t i = 0; i < 32; i++)
        CHECK(kernel.locked.advised[i] >= THREADS * ROUNDS);
}

static void test_ahead__no_memory(void **state)
{
    struct subject subject;
    bool fired = true;

    (void)state;
    for (uint64_t nth = 1; fired; nth++) {
        subject_init(&subject);
        fault_arm(FAULT_ALLOC, nth);
        fetch(&subject, RANGES);
        fired = fault_fired();
        fault_disarm();
        subject_deinit(&subject);
        CHECK_EQ(count_advised(), RANGES);
    }
}

/* A child has the memory of its parent's helpers, and not their threads. */
static void test_ahead__fork(void **state)
{
    struct subject subject;
    pid_t child;
    int status;

    (void)state;
    subject_init(&subject);
    kernel.is_blind = true;
    fetch(&subject, 64);
    lmn__mutex_lock(&kernel.mutex); /* a helper that is not done does not have it */
    child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        kernel.mutex = (struct lmn__mutex)LMN__MUTEX_INIT;
        kernel_reset();
        kernel.is_blind = true;
        fault_arm(FAULT_ALLOC, 1); /* no thread: some sanitizers do not allow one here */
        fetch(&subject, RANGES);
        fault_disarm();
        lmn__ahead_deinit(&subject.ahead);
        _exit(count_advised() == RANGES ? 0 : 1);
    }
    lmn__mutex_unlock(&kernel.mutex);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
    fetch(&subject, RANGES);
    subject_deinit(&subject);
    CHECK_EQ(count_advised(), RANGES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ahead__fetches_everything),
        cmocka_unit_test(test_ahead__leaves_what_is_near),
        cmocka_unit_test(test_ahead__kernel_that_cannot_tell),
        cmocka_unit_test(test_ahead__is_helped),
        cmocka_unit_test(test_ahead__does_not_wait_for_its_helper),
        cmocka_unit_test(test_ahead__reads_that_come_back),
        cmocka_unit_test(test_ahead__reads_that_come_back_to_what_is_near),
        cmocka_unit_test(test_ahead__no_room_for_what_is_open),
        cmocka_unit_test(test_ahead__nothing_beside_the_ranges),
        cmocka_unit_test(test_ahead__many_threads),
        cmocka_unit_test(test_ahead__no_memory),
        cmocka_unit_test(test_ahead__fork),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
