/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program's own pread, pwrite, fsync and fdatasync stand before those of the C library, so
 * the tests decide what the operating system answers.
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

#include "base/math.h"
#include "check.h"
#include "os/file.h"
#include "stores.h"

static struct {
    size_t transfer_max; /* 0: as asked */
    int interrupts;      /* so many calls are interrupted */
    int sync_errno;      /* 0: succeed */
    bool write_nothing;
    int calls, past_calls;
} fake;

static bool interrupted(void)
{
    fake.calls++;
    if (fake.interrupts == 0)
        return false;
    fake.interrupts--;
    errno = EINTR;
    return true;
}

static size_t at_most(size_t len)
{
    return fake.transfer_max != 0 && len > fake.transfer_max ? fake.transfer_max : len;
}

ssize_t pread(int fd, void *data, size_t len, off_t offset)
{
    return interrupted() ? -1 : syscall(SYS_pread64, fd, data, at_most(len), offset);
}

ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    if (fake.write_nothing)
        return 0;
    fake.past_calls += (fcntl(fd, F_GETFL) & O_DIRECT) != 0;
    return interrupted() ? -1 : syscall(SYS_pwrite64, fd, data, at_most(len), offset);
}

static int fake_sync(long number, int fd)
{
    if (interrupted())
        return -1;
    if (fake.sync_errno != 0) {
        errno = fake.sync_errno;
        return -1;
    }
    return (int)syscall(number, fd);
}

int fsync(int fd)
{
    return fake_sync(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return fake_sync(SYS_fdatasync, fd);
}

static char *root;

static int begin(void **state)
{
    (void)state;
    memset(&fake, 0, sizeof fake);
    root = test_dir_make();
    return 0;
}

static int end(void **state)
{
    (void)state;
    test_dir_remove(root);
    return 0;
}

/* A path below the root; good until the eighth call after. */
static const char *at(const char *name)
{
    static char path[8][600];
    static int next;

    next = (next + 1) % 8;
    snprintf(path[next], sizeof path[next], "%s/%s", root, name);
    return path[next];
}

static struct lmn__file create(const char *path, const char *text)
{
    struct lmn__file file;
    struct lmn_error err;
    enum lmn_status st = lmn__file_open(path, LMN__FILE_CREATE, &file, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    st = lmn__file_write_at(&file, path, 0, text, strlen(text), &err);
    CHECK_STATUS(st, LMN_OK, &err);
    return file;
}

static void create_closed(const char *path, const char *text)
{
    struct lmn__file file = create(path, text);

    lmn__file_close(&file);
}

static bool exists(const char *path)
{
    return access(path, F_OK) == 0;
}

static void test_file__writes_spans(void **state)
{
    const char *path = at("spans");
    struct lmn__file file = create(path, "");
    struct lmn__span span[150];
    struct lmn_error err;
    uint8_t data[1000], got[1003];
    size_t len = 0;

    (void)state;
    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)(i * 7);
    for (size_t i = 0; i < 150; i++) { /* some of them empty */
        span[i] = (struct lmn__span){ data + len, i % 13 };
        len += i % 13;
    }
    CHECK_OK(lmn__file_write_spans_at(&file, path, 3, span, 150, &err));
    CHECK_OK(lmn__file_write_spans_at(&file, path, 0, NULL, 0, &err));
    CHECK_OK(lmn__file_read_at(&file, path, 0, got, 3 + len, &err));
    CHECK_BYTES(got + 3, data, len);
    lmn__file_close(&file);
    CHECK_OK(lmn__file_open(path, LMN__FILE_READ, &file, &err));
    span[0] = (struct lmn__span){ data, 1 };
    CHECK_STATUS(lmn__file_write_spans_at(&file, path, 0, span, 1, &err), LMN_E_IO, &err);
    CHECK_HAS(err.message, "spans");
    lmn__file_close(&file);
}

static uint64_t kept_bytes(const struct lmn__file *file)
{
    struct stat found;

    CHECK(fstat(file->fd, &found) == 0);
    return (uint64_t)found.st_blocks * 512;
}

static void test_file__reserves_room(void **state)
{
    const char *path = at("room");
    struct lmn__file file = create(path, "hello");
    struct lmn_error err;
    uint64_t bytes, before = kept_bytes(&file);
    char got[5];

    (void)state;
    lmn__file_reserve(&file, 5, 1 << 20);
    CHECK_OK(lmn__file_size(&file, path, &bytes, &err));
    CHECK_EQ(bytes, 5);
    lmn__file_trim(&file);
    CHECK(kept_bytes(&file) <= lmn__max_u64(before, 4096));
    CHECK_OK(lmn__file_read_at(&file, path, 0, got, sizeof got, &err));
    CHECK_BYTES(got, "hello", 5);
    lmn__file_close(&file);
}

static void test_file__writes_and_reads_at_offsets(void **state)
{
    const char *path = at("a");
    struct lmn__file file = create(path, "hello");
    struct lmn_error err;
    uint64_t bytes;
    char data[8];

    (void)state;
    CHECK_OK(lmn__file_write_at(&file, path, 7, "x", 1, &err));
    CHECK_OK(lmn__file_sync(&file, path, &err));
    lmn__file_close(&file);
    CHECK_EQ(file.fd, -1);
    lmn__file_close(&file);
    CHECK_OK(lmn__file_open(path, LMN__FILE_READ, &file, &err));
    CHECK_OK(lmn__file_size(&file, path, &bytes, &err));
    CHECK_EQ(bytes, 8);
    CHECK_OK(lmn__file_read_at(&file, path, 0, data, 8, &err));
    CHECK_BYTES(data, "hello\0\0x", 8);
    lmn__file_close(&file);
}

static void test_file__short_transfers_and_signals_go_on(void **state)
{
    const char *path = at("a");
    struct lmn__file file;
    struct lmn_error err;
    char data[10];

    (void)state;
    fake.transfer_max = 3;
    fake.interrupts = 2;
    file = create(path, "0123456789");
    CHECK_EQ(fake.calls, 6);
    fake.interrupts = 2;
    fake.calls = 0;
    CHECK_OK(lmn__file_read_at(&file, path, 0, data, 10, &err));
    CHECK_EQ(fake.calls, 6);
    CHECK_BYTES(data, "0123456789", 10);
    fake.interrupts = 2;
    CHECK_OK(lmn__file_sync(&file, path, &err));
    fake.interrupts = 2;
    CHECK_OK(lmn__dir_sync(root, &err));
    CHECK_EQ(fake.interrupts, 0);
    lmn__file_close(&file);
}

/* Write `len` bytes past the cache, and see that they are there. */
static void write_past(uint64_t offset, const uint8_t *data, size_t len)
{
    const char *path = at("past");
    struct lmn__file file = create(path, "");
    uint8_t *read = malloc(len);
    struct lmn_error err;
    uint64_t bytes;

    fake.calls = fake.past_calls = 0;
    CHECK_STATUS(lmn__file_write_past(&file, path, offset, data, len, &err), LMN_OK, &err);
    CHECK_OK(lmn__file_size(&file, path, &bytes, &err));
    CHECK_EQ(bytes, offset + len);
    fake.transfer_max = 0;
    fake.interrupts = 0;
    CHECK_OK(lmn__file_read_at(&file, path, offset, read, len, &err));
    CHECK_BYTES(read, data, len);
    free(read);
    lmn__file_close(&file);
    CHECK_OK(lmn__file_remove(path, &err));
}

static void test_file__written_past_the_cache(void **state)
{
    enum { BLOCK = LMN__FILE_BLOCK_BYTES, BYTES = 5 * BLOCK };
    uint8_t *data = aligned_alloc(BLOCK, BYTES);

    (void)state;
    for (size_t i = 0; i < BYTES; i++)
        data[i] = (uint8_t)(i * 7 + i / 251);
    write_past(2 * BLOCK, data, 3 * BLOCK + 100);
    if (fake.past_calls == 0)
        skip(); /* the file system cannot */
    CHECK_EQ(fake.past_calls, 1);
    CHECK_EQ(fake.calls, 3); /* the rest, and the read */
    /* Short transfers of whole blocks go on there, others do not. */
    fake.transfer_max = BLOCK;
    fake.interrupts = 2;
    write_past(0, data, 4 * BLOCK);
    CHECK_EQ(fake.past_calls, 6);
    fake.transfer_max = BLOCK + 1;
    write_past(0, data, 4 * BLOCK);
    CHECK_EQ(fake.past_calls, 1);
    /* Blocks that do not begin at a block, in the file or in memory. */
    write_past(64, data, 4 * BLOCK);
    CHECK_EQ(fake.past_calls, 0);
    write_past(BLOCK, data + 1, 4 * BLOCK);
    CHECK_EQ(fake.past_calls, 0);
    write_past(BLOCK, data, BLOCK - 1);
    CHECK_EQ(fake.past_calls, 0);
    free(data);
}

static void test_file__write_of_nothing_is_an_error(void **state)
{
    const char *path = at("a");
    struct lmn__file file = create(path, "");
    struct lmn_error err;

    (void)state;
    fake.write_nothing = true;
    CHECK_STATUS(lmn__file_write_at(&file, path, 0, "x", 1, &err), LMN_E_IO, &err);
    CHECK_OK(lmn__file_write_at(&file, path, 0, "x", 0, &err));
    lmn__file_close(&file);
}

static void test_file__read_past_end_is_corrupt(void **state)
{
    const char *path = at("a");
    struct lmn__file file = create(path, "hello");
    struct lmn_error err;
    char data[16];

    (void)state;
    CHECK_STATUS(lmn__file_read_at(&file, path, 3, data, 3, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, path);
    CHECK_HAS(err.message, "5");
    CHECK_STATUS(lmn__file_read_at(&file, path, 5, data, 1, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(lmn__file_read_at(&file, path, INT64_MAX, data, 1, &err), LMN_E_CORRUPT, &err);
    CHECK_STATUS(lmn__file_read_at(&file, path, UINT64_MAX, data, 9, &err), LMN_E_CORRUPT, &err);
    lmn__file_close(&file);
}

static void test_file__create_is_exclusive(void **state)
{
    struct lmn__file file;
    struct lmn_error err;

    (void)state;
    create_closed(at("a"), "one");
    CHECK_STATUS(lmn__file_open(at("a"), LMN__FILE_CREATE, &file, &err), LMN_E_EXISTS, &err);
    CHECK_EQ(err.os_errno, EEXIST);
    CHECK(file.fd < 0);
}

static void test_file__missing_is_not_found(void **state)
{
    struct lmn__file file;
    struct lmn_error err;

    (void)state;
    create_closed(at("a"), "one");
    CHECK_STATUS(lmn__file_open(at("b"), LMN__FILE_READ, &file, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, at("b"));
    CHECK_STATUS(lmn__file_open(at("a/b"), LMN__FILE_READ, &file, &err), LMN_E_NOT_FOUND, &err);
    CHECK_EQ(err.os_errno, ENOTDIR);
    CHECK_STATUS(lmn__file_open(at("d/b"), LMN__FILE_CREATE, &file, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn__file_remove(at("b"), &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn__file_rename(at("b"), at("c"), &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, at("b"));
    CHECK_HAS(err.message, at("c"));
    CHECK_STATUS(lmn__file_link(at("b"), at("c"), &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn__dir_sync(at("b"), &err), LMN_E_NOT_FOUND, &err);
}

static void test_file__size_of_directory_is_invalid(void **state)
{
    struct lmn__file file;
    struct lmn_error err;
    uint64_t bytes = 1;

    (void)state;
    CHECK_OK(lmn__file_open(root, LMN__FILE_READ, &file, &err));
    CHECK_STATUS(lmn__file_size(&file, root, &bytes, &err), LMN_E_INVALID, &err);
    CHECK_EQ(bytes, 0);
    lmn__file_close(&file);
}

static void test_file__names(void **state)
{
    struct lmn_error err;

    (void)state;
    create_closed(at("a"), "one");
    create_closed(at("b"), "two");
    CHECK_STATUS(lmn__file_link(at("a"), at("b"), &err), LMN_E_EXISTS, &err);
    CHECK_OK(lmn__file_link(at("a"), at("c"), &err));
    CHECK_OK(lmn__file_rename(at("a"), at("b"), &err));
    CHECK(!exists(at("a")) && exists(at("b")) && exists(at("c")));
    CHECK_OK(lmn__file_remove(at("b"), &err));
    CHECK(!exists(at("b")) && exists(at("c")));
    CHECK_STATUS(lmn__file_remove(root, &err), LMN_E_IO, &err);
}

static void test_file__rename_new_leaves_what_is_there(void **state)
{
    struct lmn_error err;

    (void)state;
    create_closed(at("a"), "one");
    create_closed(at("b"), "two");
    CHECK_STATUS(lmn__file_rename_new(at("a"), at("b"), &err), LMN_E_EXISTS, &err);
    CHECK(exists(at("a")));
    CHECK_OK(lmn__file_rename_new(at("a"), at("c"), &err));
    CHECK(!exists(at("a")) && exists(at("c")));
    CHECK_STATUS(lmn__file_rename_new(at("a"), at("d"), &err), LMN_E_NOT_FOUND, &err);
}

static void test_dir__removed_with_all_in_it(void **state)
{
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__dir_make(at("d/e/f"), &err));
    create_closed(at("d/a"), "one");
    create_closed(at("d/e/b"), "two");
    create_closed(at("kept"), "three");
    CHECK_OK(lmn__dir_remove_all(at("d"), &err));
    CHECK(!exists(at("d")) && exists(at("kept")));
    CHECK_STATUS(lmn__dir_remove_all(at("d"), &err), LMN_E_NOT_FOUND, &err);
}

static void test_file__failed_sync_is_told(void **state)
{
    const char *path = at("a");
    struct lmn__file file = create(path, "hello");
    struct lmn_error err;

    (void)state;
    fake.sync_errno = EIO;
    CHECK_STATUS(lmn__file_sync(&file, path, &err), LMN_E_IO, &err);
    CHECK_EQ(err.os_errno, EIO);
    CHECK_STATUS(lmn__dir_sync(root, &err), LMN_E_IO, &err);
    fake.sync_errno = EINVAL; /* a file system that cannot sync directories */
    CHECK_OK(lmn__dir_sync(root, &err));
    CHECK_STATUS(lmn__file_sync(&file, path, &err), LMN_E_IO, &err);
    lmn__file_close(&file);
}

static void test_dir__makes_parents(void **state)
{
    struct lmn_error err;

    (void)state;
    CHECK_OK(lmn__dir_make(at("d/e/f"), &err));
    CHECK(exists(at("d/e/f")));
    CHECK_EQ(fake.calls, 3); /* the parent of each is synced */
    CHECK_OK(lmn__dir_make(at("d/e/f"), &err));
    CHECK_EQ(fake.calls, 3);
    CHECK_OK(lmn__dir_make(at("d//g///"), &err));
    CHECK(exists(at("d/g")));
    CHECK_OK(lmn__dir_make("/", &err));
}

static void test_dir__makes_relative_paths(void **state)
{
    char before[600];
    struct lmn_error err;

    (void)state;
    CHECK(getcwd(before, sizeof before) != NULL);
    CHECK_EQ(chdir(root), 0);
    CHECK_OK(lmn__dir_make("d", &err));
    CHECK_OK(lmn__dir_make("e/f", &err));
    CHECK_STATUS(lmn__dir_make("", &err), LMN_E_NOT_FOUND, &err);
    CHECK_EQ(chdir(before), 0);
    CHECK(exists(at("d")) && exists(at("e/f")));
}

static void test_dir__refuses_a_file_in_the_way(void **state)
{
    char longer[5000];
    struct lmn_error err;

    (void)state;
    create_closed(at("a"), "one");
    CHECK_STATUS(lmn__dir_make(at("a"), &err), LMN_E_IO, &err);
    CHECK_EQ(err.os_errno, EEXIST);
    CHECK_STATUS(lmn__dir_make(at("a/b"), &err), LMN_E_IO, &err);
    CHECK_EQ(symlink("nowhere", at("l")), 0);
    CHECK_STATUS(lmn__dir_make(at("l"), &err), LMN_E_IO, &err);
    CHECK_EQ(err.os_errno, EEXIST);
    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    CHECK_STATUS(lmn__dir_make(longer, &err), LMN_E_IO, &err);
    CHECK_EQ(err.os_errno, ENAMETOOLONG);
}

static void test_dir__not_durable_is_not_made(void **state)
{
    struct lmn_error err;

    (void)state;
    fake.sync_errno = EIO;
    CHECK_STATUS(lmn__dir_make(at("d/e"), &err), LMN_E_IO, &err);
    CHECK(!exists(at("d")));
}

struct seen {
    int files, directories;
    int calls_max;
};

static enum lmn_status see(void *context, const char *name, bool is_directory,
                           struct lmn_error *err)
{
    struct seen *seen = context;

    CHECK(strcmp(name, ".") != 0 && strcmp(name, "..") != 0);
    seen->files += !is_directory;
    seen->directories += is_directory;
    if (seen->files + seen->directories == seen->calls_max)
        return lmn_fail(err, LMN_E_CANCELLED, "enough");
    return LMN_OK;
}

static void test_dir__lists_entries(void **state)
{
    struct seen seen = { 0 };
    struct lmn_error err;

    (void)state;
    create_closed(at("a"), "one");
    create_closed(at("b"), "two");
    CHECK_OK(lmn__dir_make(at("d/e"), &err));
    CHECK_OK(lmn__dir_list(root, see, &seen, &err));
    CHECK_EQ(seen.files, 2);
    CHECK_EQ(seen.directories, 1);
    seen = (struct seen){ .calls_max = 2 };
    CHECK_STATUS(lmn__dir_list(root, see, &seen, &err), LMN_E_CANCELLED, &err);
    CHECK_EQ(seen.files + seen.directories, 2);
    CHECK_STATUS(lmn__dir_list(at("x"), see, &seen, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn__dir_list(at("a"), see, &seen, &err), LMN_E_NOT_FOUND, &err);
}

static void test_dir__tells_that_entries_changed(void **state)
{
    struct lmn_error err;
    int64_t before = lmn__dir_changed_ns(root);

    (void)state;
    CHECK(before != 0);
    CHECK_EQ(lmn__dir_changed_ns(root), before);
    while (lmn__dir_changed_ns(root) == before) { /* until the clock has moved on */
        create_closed(at("a"), "one");
        CHECK_OK(lmn__file_remove(at("a"), &err));
    }
    create_closed(at("a"), "one");
    CHECK_EQ(lmn__dir_changed_ns(at("a")), 0);
    CHECK_EQ(lmn__dir_changed_ns(at("x")), 0);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest cases[] = {
        CASE(test_file__writes_spans),
        CASE(test_file__reserves_room),
        CASE(test_file__writes_and_reads_at_offsets),
        CASE(test_file__short_transfers_and_signals_go_on),
        CASE(test_file__written_past_the_cache),
        CASE(test_file__write_of_nothing_is_an_error),
        CASE(test_file__read_past_end_is_corrupt),
        CASE(test_file__create_is_exclusive),
        CASE(test_file__missing_is_not_found),
        CASE(test_file__size_of_directory_is_invalid),
        CASE(test_file__names),
        CASE(test_file__rename_new_leaves_what_is_there),
        CASE(test_dir__removed_with_all_in_it),
        CASE(test_file__failed_sync_is_told),
        CASE(test_dir__makes_parents),
        CASE(test_dir__makes_relative_paths),
        CASE(test_dir__refuses_a_file_in_the_way),
        CASE(test_dir__not_durable_is_not_made),
        CASE(test_dir__lists_entries),
        CASE(test_dir__tells_that_entries_changed),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
