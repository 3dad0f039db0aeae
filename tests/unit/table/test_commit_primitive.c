/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commits on file systems without hard links, and on those that have no rename either that leaves
 * what is there. The program's own link and syscall stand before those of the C library, so the
 * tests decide what the file system can do.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "keyed_rows.h"
#include "stores.h"
#include "table/table.h"

static struct {
    int link_errno, rename_errno; /* 0: the system decides */
    int links, renames;           /* so many were asked for */
} fake;

int link(const char *from, const char *to)
{
    fake.links++;
    if (fake.link_errno != 0) {
        errno = fake.link_errno;
        return -1;
    }
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

long syscall(long number, ...)
{
    long (*real)(long, ...) = (long (*)(long, ...))(uintptr_t)dlsym(RTLD_NEXT, "syscall");
    long argument[6];
    va_list list;

    va_start(list, number);
    for (int i = 0; i < 6; i++)
        argument[i] = va_arg(list, long);
    va_end(list);
    if (number == SYS_renameat2) {
        fake.renames++;
        if (fake.rename_errno != 0) {
            errno = fake.rename_errno;
            return -1;
        }
    }
    return real(number, argument[0], argument[1], argument[2], argument[3], argument[4],
                argument[5]);
}

static const struct keyed_row row[] = { { 1, 10, "one" }, { 2, 20, "two" }, { 3, 30, "three" } };

struct fixture {
    char *dir;
    struct lmn_store *store;
};

static void begin(struct fixture *fixture, int link_errno)
{
    fake.link_errno = link_errno;
    fake.rename_errno = 0;
    fake.links = fake.renames = 0;
    fixture->dir = test_dir_make();
    fixture->store = test_store_local(fixture->dir);
}

static void end(struct fixture *fixture)
{
    lmn_store_release(fixture->store);
    test_dir_remove(fixture->dir);
    CHECK_EQ(live_allocations(), 0);
}

static enum lmn_status append(struct lmn_table *table, uint64_t i, struct lmn_error *err)
{
    struct ArrowArrayStream stream;

    keyed_stream(KEYED_ALL, &row[i], 1, 64, &stream);
    return lmn_table_append(table, &stream, NULL, err);
}

/* Both handles stand at version 1; each commits, the second on top of the first. */
static void check_two_writers(struct fixture *fixture)
{
    struct lmn_table *one = keyed_table(fixture->store, row, 1, NULL), *two;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_open(fixture->store, NULL, &two, &err), LMN_OK, &err);
    CHECK_STATUS(append(one, 1, &err), LMN_OK, &err);
    CHECK_STATUS(append(two, 2, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(two), 3);
    keyed_check(two, row, 3);
    CHECK_EQ(test_store_count(fixture->store, "_versions"), 3);
    lmn_table_release(one);
    lmn_table_release(two);
}

static void test_commit__by_link(void **state)
{
    struct fixture fixture;

    (void)state;
    begin(&fixture, 0);
    check_two_writers(&fixture);
    CHECK_EQ(fake.links, 6); /* a data file and a manifest each */
    CHECK_EQ(fake.renames, 0);
    end(&fixture);
}

static void test_commit__by_rename_where_there_are_no_links(void **state)
{
    static const int reasons[] = { EPERM, EOPNOTSUPP, ENOSYS };

    (void)state;
    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        struct fixture fixture;

        begin(&fixture, reasons[i]);
        check_two_writers(&fixture);
        CHECK_EQ(fake.links, 1); /* a store asks once */
        CHECK_EQ(fake.renames, 6);
        end(&fixture);
    }
}

/* The rename, too, leaves a version that another writer was first to make. */
static void test_commit__rename_does_not_replace(void **state)
{
    struct fixture fixture;
    struct lmn_table *one, *two;
    struct lmn_store *other;
    struct lmn_error err;

    (void)state;
    begin(&fixture, EPERM);
    one = keyed_table(fixture.store, row, 1, NULL);
    other = test_store_local(fixture.dir);
    CHECK_STATUS(lmn_table_open(other, NULL, &two, &err), LMN_OK, &err);
    CHECK_STATUS(append(one, 1, &err), LMN_OK, &err);
    CHECK_STATUS(append(two, 2, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_refresh(one, &err), LMN_OK, &err);
    keyed_check(one, row, 3);
    lmn_table_release(one);
    lmn_table_release(two);
    lmn_store_release(other);
    end(&fixture);
}

static void test_commit__refused_where_there_is_neither(void **state)
{
    struct fixture fixture;
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    struct lmn_error err;

    (void)state;
    begin(&fixture, 0);
    table = keyed_table(fixture.store, row, 1, NULL);
    fake.link_errno = EPERM;
    fake.rename_errno = EINVAL;
    CHECK_STATUS(append(table, 1, &err), LMN_E_UNSUPPORTED, &err);
    CHECK_HAS(err.message, "neither hard links nor renames");
    CHECK_EQ(lmn_table_version(table), 1);
    keyed_check(table, row, 1);
    CHECK_EQ(test_store_count(fixture.store, "data"), 1);
    CHECK_EQ(test_store_count(fixture.store, "_versions"), 1);
    lmn_table_release(table);
    lmn_store_release(fixture.store);
    test_dir_remove(fixture.dir);

    fixture.dir = test_dir_make();
    fixture.store = test_store_local(fixture.dir);
    keyed_stream(KEYED_ALL, row, 1, 64, &stream);
    CHECK_STATUS(lmn_table_create(fixture.store, &stream, NULL, &table, &err), LMN_E_UNSUPPORTED,
                 &err);
    CHECK_HAS(err.message, "neither hard links nor renames");
    fake.link_errno = 0;
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_commit__by_link),
        cmocka_unit_test(test_commit__by_rename_where_there_are_no_links),
        cmocka_unit_test(test_commit__rename_does_not_replace),
        cmocka_unit_test(test_commit__refused_where_there_is_neither),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
