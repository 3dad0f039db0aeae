/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are started: what they get, how they end, what they hold; leases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "os/host.h"
#include "os/lease.h"
#include "os/process.h"
#include "os/shared.h"
#include "os/socket.h"
#include "stores.h"

/* Run `script` in a shell that has one end of a socket as descriptor 3. */
static struct lmn__process start_shell(const char *script, int *fd_out)
{
    const char *const argument[] = { "sh", "-c", script, NULL };
    const char *const environment[] = { "LEMAN_TEST=here", NULL };
    struct lmn__process_options options = { .argument = argument,
                                            .environment = environment,
                                            .fd_count = 1 };
    struct lmn__process process;
    struct lmn_error err = { 0 };
    int pair[2];

    CHECK_STATUS(lmn__socket_pair(pair, &err), LMN_OK, &err);
    options.fd = &pair[1];
    CHECK_STATUS(lmn__process_start(&options, &process, &err), LMN_OK, &err);
    lmn__socket_close(&pair[1]);
    *fd_out = pair[0];
    return process;
}

/* Everything that comes until the other end is closed. */
static void read_all(int fd, char *text, size_t text_bytes)
{
    size_t len = 0, got;
    bool closed = false;

    while (!closed) {
        CHECK_OK(lmn__socket_receive(fd, true, text + len, text_bytes - len - 1, &got, NULL,
                                     &closed, NULL));
        len += got;
    }
    text[len] = '\0';
}

static void test_process__descriptor_and_environment(void **state)
{
    char text[256], end[64];
    int fd;
    struct lmn__process process = start_shell("echo $LEMAN_TEST >&3; read x || echo empty >&3; "
                                              "exit 7",
                                              &fd);

    (void)state;
    read_all(fd, text, sizeof text);
    CHECK_STR(text, "here\nempty\n");
    CHECK(lmn__process_reap(&process, true, end, sizeof end));
    CHECK_STR(end, "exit code 7");
    CHECK_EQ(process.pid, 0);
    lmn__socket_close(&fd);
}

static void test_process__kill_reaches_its_children(void **state)
{
    char text[256], end[64];
    struct lmn__poll poll = { .wants_in = true };
    int fd;
    struct lmn__process process = start_shell("sleep 1000 & echo go >&3; wait", &fd);
    size_t got;
    bool closed;

    (void)state;
    CHECK_OK(lmn__socket_receive(fd, true, text, sizeof text, &got, NULL, &closed, NULL));
    CHECK(lmn__process_exists(process.pid));
    CHECK(lmn__process_resident_bytes(process.pid) > 0);
    CHECK(!lmn__process_reap(&process, false, end, sizeof end));
    lmn__process_kill(&process);
    if (process.fd >= 0) {
        poll.fd = process.fd;
        lmn__poll_wait(&poll, 1, UINT64_MAX);
        CHECK(poll.in);
    }
    CHECK(lmn__process_reap(&process, true, end, sizeof end));
    CHECK_HAS(end, "signal 9");
    read_all(fd, text, sizeof text); /* ends only when no process has the other end any more */
    lmn__socket_close(&fd);
}

static void test_process__not_found(void **state)
{
    const char *const argument[] = { "/nowhere/at/all", NULL };
    const struct lmn__process_options options = { .argument = argument };
    struct lmn__process process;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn__process_start(&options, &process, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "/nowhere/at/all");
    CHECK_EQ(process.pid, 0);
}

static void test_socket__the_other_end_is_closed(void **state)
{
    struct lmn_error err = { 0 };
    int pair[2];

    (void)state;
    CHECK_STATUS(lmn__socket_pair(pair, &err), LMN_OK, &err);
    CHECK(!lmn__socket_is_closed(&err));
    lmn__socket_close(&pair[1]);
    CHECK_EQ(lmn__socket_send(pair[0], "x", 1, -1, &err), LMN_E_IO);
    CHECK(lmn__socket_is_closed(&err));
    lmn__socket_close(&pair[0]);
}

static void test_wake__is_kept_until_reset(void **state)
{
    struct lmn__wake wake;
    struct lmn__poll poll = { .wants_in = true };

    (void)state;
    CHECK_OK(lmn__wake_init(&wake, NULL));
    poll.fd = wake.fd[0];
    lmn__poll_wait(&poll, 1, 0);
    CHECK(!poll.in);
    for (int i = 0; i < 1000; i++)
        lmn__wake_now(&wake);
    lmn__poll_wait(&poll, 1, UINT64_MAX);
    CHECK(poll.in);
    lmn__wake_reset(&wake);
    lmn__poll_wait(&poll, 1, 0);
    CHECK(!poll.in);
    lmn__wake_deinit(&wake);
}

static void test_shared__too_short(void **state)
{
    struct lmn__shared shared, other;
    struct lmn_error err;

    (void)state;
    CHECK_STATUS(lmn__shared_new(100, &shared, &err), LMN_OK, &err);
    CHECK_STATUS(lmn__shared_open(lmn__shared_fd(&shared), 101, &other, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(lmn__shared_open(lmn__shared_fd(&shared), 100, &other, &err), LMN_OK, &err);
    lmn__shared_close(&other);
    lmn__shared_close(&shared);
}

/* A lease is held by one, seen by others, and gone with its holder. */
static void test_lease__ends_with_its_holder(void **state)
{
    char *dir = test_dir_make(), path[512], text[64], script[1024], said[64], end[64];
    struct lmn__lease lease, second;
    struct lmn__process process;
    struct lmn_error err;
    size_t got;
    bool closed;
    int fd;

    (void)state;
    snprintf(path, sizeof path, "%s/lease", dir);
    CHECK(!lmn__lease_read(path, text, sizeof text));
    CHECK_STATUS(lmn__lease_take(path, "2 CPU", &lease, &err), LMN_OK, &err);
    CHECK(lmn__lease_read(path, text, sizeof text));
    CHECK_STR(text, "2 CPU");
    CHECK_STATUS(lmn__lease_take(path, "3 CPU", &second, &err), LMN_E_UNAVAILABLE, &err);
    lmn__lease_give(&lease, path);
    CHECK_EQ(access(path, F_OK), -1);

    snprintf(script, sizeof script, "exec flock %s sh -c 'echo held >&3; exec sleep 1000'", path);
    process = start_shell(script, &fd);
    CHECK_OK(lmn__socket_receive(fd, true, said, sizeof said, &got, NULL, &closed, NULL));
    CHECK(lmn__lease_read(path, text, sizeof text));
    lmn__process_kill(&process);
    CHECK(lmn__process_reap(&process, true, end, sizeof end));
    read_all(fd, said, sizeof said);
    CHECK(!lmn__lease_read(path, text, sizeof text));
    CHECK_EQ(access(path, F_OK), -1); /* nobody's: removed */
    lmn__socket_close(&fd);
    test_dir_remove(dir);
}

static void test_host__has_something(void **state)
{
    uint32_t id[LMN__HOST_GPUS_MAX];
    char name[256], path[LMN__HOST_PATH_CHARS];
    uint64_t bytes;

    (void)state;
    CHECK(lmn__host_cpus() > 0);
    CHECK(lmn__host_memory_bytes() > 1 << 20);
    CHECK(lmn__host_free_memory_bytes() > 1 << 20);
    CHECK(lmn__host_free_memory_bytes() < lmn__host_memory_bytes());
    CHECK(lmn__host_disk_free("/tmp", &bytes) && bytes > 0);
    CHECK(!lmn__host_disk_free("/nowhere", &bytes));
    lmn__host_name(name, sizeof name);
    CHECK(name[0] != '\0');
    setenv("CUDA_VISIBLE_DEVICES", "2,5", 1);
    CHECK_EQ(lmn__host_gpus(id), 2);
    CHECK(id[0] == 2 && id[1] == 5);
    setenv("CUDA_VISIBLE_DEVICES", "-1", 1);
    CHECK_EQ(lmn__host_gpus(id), 0);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    CHECK_EQ(lmn__host_gpus(id), 0);
    setenv("XDG_STATE_HOME", "/state", 1);
    lmn__host_state_dir(path);
    CHECK_STR(path, "/state/leman");
    setenv("XDG_STATE_HOME", "relative", 1);
    setenv("HOME", "/home/u", 1);
    lmn__host_state_dir(path);
    CHECK_STR(path, "/home/u/.local/state/leman");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process__descriptor_and_environment),
        cmocka_unit_test(test_process__kill_reaches_its_children),
        cmocka_unit_test(test_process__not_found),
        cmocka_unit_test(test_socket__the_other_end_is_closed),
        cmocka_unit_test(test_wake__is_kept_until_reset),
        cmocka_unit_test(test_shared__too_short),
        cmocka_unit_test(test_lease__ends_with_its_holder),
        cmocka_unit_test(test_host__has_something),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
