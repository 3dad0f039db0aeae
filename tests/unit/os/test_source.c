/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sources that somebody watches. The program's own read stands before that of the C library, so the
 * tests decide when a signal interrupts it.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "os/source.h"

static int interrupts; /* so many reads are interrupted */

ssize_t read(int fd, void *data, size_t len)
{
    if (interrupts > 0) {
        interrupts--;
        errno = EINTR;
        return -1;
    }
    return syscall(SYS_read, fd, data, len);
}

/* Lets a source go on so often, and keeps what it was told last. */
struct watch {
    int calls_left;
    uint64_t bytes;
};

static bool watch(void *self, uint64_t bytes)
{
    struct watch *w = self;

    w->bytes = bytes;
    return w->calls_left-- > 0;
}

static void make_file(char path[], const char *text)
{
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    CHECK_EQ(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static void test_source__tells_what_it_has_read(void **state)
{
    char path[] = "/tmp/leman_source_XXXXXX", data[16];
    struct watch w = { .calls_left = 100 };
    struct lmn__source source;
    size_t got;

    (void)state;
    make_file(path, "0123456789");
    CHECK_OK(lmn__source_open_watched(&source, test_env(), path, watch, &w, NULL));
    CHECK_OK(lmn__source_read(&source, data, 4, &got, NULL));
    CHECK_EQ(w.bytes, 0);
    interrupts = 2;
    CHECK_OK(lmn__source_read(&source, data, 16, &got, NULL));
    CHECK_EQ(got, 6);
    CHECK_EQ(w.bytes, 10); /* asked once more before the end is seen */
    lmn__source_close(&source);
    unlink(path);
}

static void test_source__stops_when_a_read_is_interrupted(void **state)
{
    char path[] = "/tmp/leman_source_XXXXXX", data[16];
    struct watch w = { .calls_left = 2 };
    struct lmn__source source;
    struct lmn_error err;
    size_t got;

    (void)state;
    make_file(path, "0123456789");
    CHECK_OK(lmn__source_open_watched(&source, test_env(), path, watch, &w, &err));
    interrupts = 1;
    CHECK_EQ(lmn__source_read(&source, data, 16, &got, &err), LMN_E_CANCELLED);
    CHECK_HAS(err.message, path);
    lmn__source_close(&source);
    unlink(path);
}

/* A pipe without a writer is not waited for by one who is to stop. */
static void test_source__stops_before_it_is_open(void **state)
{
    char path[] = "/tmp/leman_source_XXXXXX";
    struct watch w = { .calls_left = 0 };
    struct lmn__source source;
    struct lmn_error err;

    (void)state;
    make_file(path, "");
    unlink(path);
    CHECK_EQ(mkfifo(path, 0600), 0);
    CHECK_EQ(lmn__source_open_watched(&source, test_env(), path, watch, &w, &err), LMN_E_CANCELLED);
    CHECK_EQ(live_allocations(), 0);
    unlink(path);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_source__tells_what_it_has_read),
        cmocka_unit_test(test_source__stops_when_a_read_is_interrupted),
        cmocka_unit_test(test_source__stops_before_it_is_open),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
