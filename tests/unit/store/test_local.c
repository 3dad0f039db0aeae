/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own fsync stands before that of the C library and takes down the directories
 * that are synced, so the tests see what is durable.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "store/object.h"
#include "stores.h"

#define STORE_SUITE_SETUP store_suite_local
#include "store_suite.h"

enum { SYNCS_MAX = 64, CALL_CACHESTAT = 451, STRETCH_BYTES = 4 << 20, ROW_BYTES = 20000 };

static struct {
    bool on;
    bool fails;
    int count;
    char path[SYNCS_MAX][600];
} syncs;

int fsync(int fd)
{
    char link[64];

    if (!syncs.on)
        return (int)syscall(SYS_fsync, fd);
    CHECK(syncs.count < SYNCS_MAX);
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    memset(syncs.path[syncs.count], 0, sizeof syncs.path[0]);
    CHECK(readlink(link, syncs.path[syncs.count++], sizeof syncs.path[0] - 1) > 0);
    errno = EIO;
    return syncs.fails ? -1 : (int)syscall(SYS_fsync, fd);
}

struct fixture {
    char *dir;
    char root[600];
    struct lmn_store *store;
};

static int begin(void **state)
{
    static struct fixture fixture;

    fixture.dir = test_dir_make();
    snprintf(fixture.root, sizeof fixture.root, "%s/up/root", fixture.dir);
    fixture.store = test_store_local(fixture.root);
    memset(&syncs, 0, sizeof syncs);
    syncs.on = true;
    *state = &fixture;
    return 0;
}

static int end(void **state)
{
    struct fixture *fixture = *state;

    syncs.on = false;
    lmn_store_release(fixture->store);
    test_dir_remove(fixture->dir);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static bool was_synced(const struct fixture *fixture, const char *name)
{
    char path[700];

    snprintf(path, sizeof path, "%s%s", fixture->dir, name);
    for (int i = 0; i < syncs.count; i++) {
        if (strcmp(syncs.path[i], path) == 0)
            return true;
    }
    return false;
}

static void make_dir(const struct fixture *fixture, const char *name)
{
    char path[700];

    snprintf(path, sizeof path, "%s%s", fixture->dir, name);
    CHECK_EQ(mkdir(path, 0777), 0);
}

static void create(struct fixture *fixture, const char *path)
{
    struct lmn__store_file *file;
    struct lmn_error err;
    enum lmn_status st = fixture->store->ops->create(fixture->store, path, &file, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    fixture->store->ops->close(file);
}

static void test_local__made_directories_are_durable(void **state)
{
    struct fixture *fixture = *state;

    create(fixture, "d/e/a");
    CHECK(was_synced(fixture, ""));
    CHECK(was_synced(fixture, "/up"));
    CHECK(was_synced(fixture, "/up/root"));
    CHECK(was_synced(fixture, "/up/root/d"));
    CHECK(!was_synced(fixture, "/up/root/d/e")); /* the file's own name is the caller's to sync */
}

static void test_local__found_directories_are_made_durable_once(void **state)
{
    struct fixture *fixture = *state;

    make_dir(fixture, "/up");
    make_dir(fixture, "/up/root");
    make_dir(fixture, "/up/root/d");
    make_dir(fixture, "/up/root/d/e");
    create(fixture, "d/e/a");
    CHECK(was_synced(fixture, "/up/root"));
    CHECK(was_synced(fixture, "/up/root/d"));
    CHECK(!was_synced(fixture, "/up"));
    syncs.count = 0;
    create(fixture, "d/e/b");
    CHECK_EQ(syncs.count, 0);
}

/* What stands above a directory is not made sure once more for its neighbours. */
static void test_local__directories_beside_known_ones(void **state)
{
    struct fixture *fixture = *state;

    create(fixture, "d/e/a");
    make_dir(fixture, "/up/root/d/f");
    make_dir(fixture, "/up/root/d/f/g");
    syncs.count = 0;
    create(fixture, "d/b"); /* "d" is known with what lies in it */
    CHECK_EQ(syncs.count, 0);
    create(fixture, "d/f/g/a");
    CHECK_EQ(syncs.count, 2);
    CHECK(was_synced(fixture, "/up/root/d"));
    CHECK(was_synced(fixture, "/up/root/d/f"));
    syncs.count = 0;
    create(fixture, "x");
    CHECK_EQ(syncs.count, 0); /* nothing is above the root */
}

static void test_local__rename_and_link_make_directories_durable(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store = fixture->store;
    struct lmn_error err;

    create(fixture, "a");
    syncs.count = 0;
    CHECK_OK(store->ops->link(store, "a", "d/e/a", &err));
    CHECK(was_synced(fixture, "/up/root"));
    CHECK(was_synced(fixture, "/up/root/d"));
    syncs.count = 0;
    CHECK_OK(store->ops->rename(store, "a", "f/g/a", &err));
    CHECK(was_synced(fixture, "/up/root"));
    CHECK(was_synced(fixture, "/up/root/f"));
}

static void test_local__sync_dir_syncs_that_directory(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store = fixture->store;
    struct lmn_error err;

    create(fixture, "d/a");
    syncs.count = 0;
    CHECK_OK(store->ops->sync_dir(store, "d", &err));
    CHECK_EQ(syncs.count, 1);
    CHECK(was_synced(fixture, "/up/root/d"));
    CHECK_OK(store->ops->sync_dir(store, "", &err));
    CHECK_EQ(syncs.count, 2);
    CHECK(was_synced(fixture, "/up/root"));
}

static void test_local__directory_that_cannot_be_durable_is_tried_again(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store = fixture->store;
    struct lmn__store_file *file;
    struct lmn_error err;

    create(fixture, "a");
    make_dir(fixture, "/up/root/d");
    syncs.fails = true;
    CHECK_STATUS(store->ops->create(store, "d/a", &file, &err), LMN_E_IO, &err);
    CHECK_STATUS(store->ops->create(store, "e/a", &file, &err), LMN_E_IO, &err);
    CHECK_STATUS(store->ops->sync_dir(store, "", &err), LMN_E_IO, &err);
    syncs.fails = false;
    syncs.count = 0;
    create(fixture, "d/a");
    CHECK(was_synced(fixture, "/up/root"));
    create(fixture, "e/a");
}

static void test_local__removed_directory_is_made_again(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store = fixture->store;
    struct lmn_error err;
    char path[700];

    create(fixture, "d/a");
    CHECK_OK(store->ops->remove(store, "d/a", &err));
    snprintf(path, sizeof path, "%s/d", fixture->root);
    CHECK_EQ(rmdir(path), 0);
    create(fixture, "d/b");
    CHECK_EQ(test_store_count(store, "d"), 1);
    CHECK_OK(store->ops->remove(store, "d/b", &err));
    CHECK_EQ(rmdir(path), 0);
    create(fixture, "c");
    CHECK_OK(store->ops->rename(store, "c", "d/c", &err));
    CHECK_EQ(test_store_count(store, "d"), 1);
}

static void test_local__root_is_not_made_by_reading(void **state)
{
    struct fixture *fixture = *state;
    struct lmn__store_file *file;
    struct lmn_error err;

    CHECK_EQ(fixture->store->ops->open(fixture->store, "a", &file, &err), LMN_E_NOT_FOUND);
    CHECK_EQ(test_store_count(fixture->store, ""), 0);
    CHECK_EQ(access(fixture->root, F_OK), -1);
}

static void test_local__root_that_is_a_file_fails(void **state)
{
    struct fixture *fixture = *state;
    struct lmn__store_file *file;
    struct lmn_store *store;
    struct lmn_error err;
    char path[700];

    create(fixture, "a");
    snprintf(path, sizeof path, "%s/a", fixture->root);
    store = test_store_local(path);
    CHECK_STATUS(store->ops->create(store, "b", &file, &err), LMN_E_IO, &err);
    CHECK_STATUS(store->ops->open(store, "b", &file, &err), LMN_E_NOT_FOUND, &err);
    lmn_store_release(store);
}

static void test_local__stores_of_one_directory_share_files(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *other;
    char path[700];

    snprintf(path, sizeof path, "%s///", fixture->root);
    other = test_store_local(path);
    CHECK_STR(other->name, fixture->root);
    test_store_write(fixture->store, "d/a", "one", 3);
    CHECK(test_store_holds(other, "d/a", "one"));
    lmn_store_release(other);
}

static void test_local__empty_root_is_invalid(void **state)
{
    struct lmn_store *store = *state;
    struct lmn_error err;

    CHECK_STATUS(lmn_store_open_local(test_env(), "", &store, &err), LMN_E_INVALID, &err);
    CHECK(store == NULL);
}

static void test_local__places_of_other_kinds_are_refused(void **state)
{
    static const char *const other[] = { "s3://bucket/zoo", "az+v2://zoo", "https://host/zoo" };
    struct lmn_store *store;
    struct lmn_error err;

    (void)state;
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
        CHECK_STATUS(lmn_store_open_local(NULL, other[i], &store, &err), LMN_E_UNSUPPORTED, &err);
        CHECK_HAS(err.message, other[i]);
        CHECK(store == NULL);
    }
    CHECK_STATUS(lmn_store_open_local(NULL, "file://", &store, &err), LMN_E_INVALID, &err);
    CHECK_OK(lmn_store_open_local(NULL, "file:///tmp/zoo/", &store, &err));
    CHECK_STR(store->name, "/tmp/zoo");
    lmn_store_release(store);
    CHECK_OK(lmn_store_open_local(NULL, "odd:/name", &store, &err));
    CHECK_STR(store->name, "odd:/name");
    lmn_store_release(store);
}

static void test_local__slash_is_a_root(void **state)
{
    struct fixture *fixture = *state;
    struct lmn_store *store = test_store_local("/");
    struct lmn__object object;
    struct lmn_error err;
    char path[700];

    CHECK_STR(store->name, "/");
    create(fixture, "a");
    snprintf(path, sizeof path, "%s/b", fixture->root + 1);
    test_store_write(store, path, "one", 3);
    CHECK(test_store_holds(fixture->store, "b", "one"));
    CHECK_STATUS(lmn__object_open(store, path, &object, &err), LMN_OK, &err);
    snprintf(path, sizeof path, "%s/b", fixture->root);
    CHECK_STR(object.name, path); /* with one slash before it */
    lmn__object_close(&object);
    CHECK_STATUS(lmn__object_open(store, "no/such/file", &object, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, " /no/such/file");
    lmn_store_release(store);
}

static void test_local__messages_name_the_path(void **state)
{
    struct fixture *fixture = *state;
    struct lmn__store_file *file;
    struct lmn_error err;
    char path[700];

    snprintf(path, sizeof path, "%s/d/a", fixture->root);
    CHECK_EQ(fixture->store->ops->open(fixture->store, "d/a", &file, &err), LMN_E_NOT_FOUND);
    CHECK_HAS(err.message, path);
    CHECK_EQ(err.os_errno, ENOENT);
}

static void test_local__open_faults_leave_nothing(void **state)
{
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *store = *state;
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fault_arm(FAULT_ALLOC, nth);
        st = lmn_store_open_local(test_env(), "/tmp", &store, &err);
        CHECK_STATUS(st, fault_fired() ? LMN_E_NO_MEMORY : LMN_OK, &err);
        CHECK_EQ(store == NULL, fault_fired());
        lmn_store_release(store);
        if (!fault_fired())
            break;
    }
    fault_disarm();
}

/* Bytes of a file that are in memory or on their way there; 0 where this system does not tell. */
static uint64_t bytes_near(const char *path, uint64_t offset, uint64_t len)
{
    const uint64_t asked[2] = { offset, len };
    uint64_t state[5] = { 0 };
    int fd = open(path, O_RDONLY);
    long result = syscall(CALL_CACHESTAT, fd, asked, state, 0u);

    close(fd);
    return result == 0 ? state[0] * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* Write a file and have the system forget it; false where it does not, or does not tell. */
static bool make_cold(struct fixture *fixture, size_t bytes, char path_out[700])
{
    char *data = calloc(1, bytes);
    bool tells;
    int fd;

    CHECK(data != NULL);
    test_store_write(fixture->store, "data", data, bytes);
    free(data);
    snprintf(path_out, 700, "%s/data", fixture->root);
    tells = bytes_near(path_out, 0, bytes) != 0;
    fd = open(path_out, O_RDONLY);
    CHECK_EQ(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
    close(fd);
    return tells && bytes_near(path_out, 0, bytes) == 0;
}

/* Rows of two stretches are read, a pair at a time; those of the third are not. */
static void test_local__stretch_that_is_come_back_to_is_fetched(void **state)
{
    struct fixture *fixture = *state;
    struct lmn__object object;
    struct lmn_error err;
    char path[700];

    if (!make_cold(fixture, 3 * STRETCH_BYTES, path))
        skip();
    CHECK_OK(lmn__object_open(fixture->store, "data", &object, &err));
    for (uint64_t i = 0; i < 20; i++) {
        struct lmn__file_range range[] = { { i * 7 * ROW_BYTES, ROW_BYTES },
                                           { STRETCH_BYTES + i * 7 * ROW_BYTES, ROW_BYTES } };

        lmn__object_will_read(&object, range, 2);
    }
    CHECK(bytes_near(path, 0, 2 * STRETCH_BYTES) < STRETCH_BYTES);
    for (uint64_t i = 0; i < 20; i++) {
        struct lmn__file_range range[] = { { (i * 7 + 3) * ROW_BYTES, ROW_BYTES },
                                           { STRETCH_BYTES + (i * 7 + 3) * ROW_BYTES, ROW_BYTES } };

        lmn__object_will_read(&object, range, 2);
    }
    CHECK_EQ(bytes_near(path, 0, 2 * STRETCH_BYTES), 2 * STRETCH_BYTES);
    CHECK_EQ(bytes_near(path, 2 * STRETCH_BYTES, STRETCH_BYTES), 0);
    lmn__object_close(&object);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(test_local__made_directories_are_durable),
        CASE(test_local__found_directories_are_made_durable_once),
        CASE(test_local__directories_beside_known_ones),
        CASE(test_local__rename_and_link_make_directories_durable),
        CASE(test_local__sync_dir_syncs_that_directory),
        CASE(test_local__directory_that_cannot_be_durable_is_tried_again),
        CASE(test_local__removed_directory_is_made_again),
        CASE(test_local__root_is_not_made_by_reading),
        CASE(test_local__root_that_is_a_file_fails),
        CASE(test_local__stores_of_one_directory_share_files),
        CASE(test_local__empty_root_is_invalid),
        CASE(test_local__places_of_other_kinds_are_refused),
        CASE(test_local__slash_is_a_root),
        CASE(test_local__messages_name_the_path),
        CASE(test_local__open_faults_leave_nothing),
        CASE(test_local__stretch_that_is_come_back_to_is_fetched),
        STORE_SUITE()
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
