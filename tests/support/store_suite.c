/* SPDX-License-Identifier: Apache-2.0 */
#include "store_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/thread.h"
#include "store/powerloss.h"
#include "stores.h"

enum { THREADS = 4 };

struct suite {
    struct lmn_store *(*open)(const char *root);
    struct lmn_store *store;
    char *root;
};

static struct lmn_store *open_local(const char *root)
{
    char path[512];

    snprintf(path, sizeof path, "%s/not/yet/there//", root);
    return test_store_local(path);
}

static struct lmn_store *open_memory(const char *root)
{
    (void)root;
    return test_store_memory();
}

static struct lmn_store *open_powerloss(const char *root)
{
    struct lmn_store *inner = open_memory(root), *store;
    struct lmn_error err;
    enum lmn_status st = lmn__store_open_powerloss(inner, &store, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    lmn_store_release(inner);
    return store;
}

static struct lmn_store *open_fault(const char *root)
{
    struct lmn_store *inner = open_memory(root), *store = test_store_faulty(inner);

    lmn_store_release(inner);
    return store;
}

static int setup(void **state, struct lmn_store *(*open)(const char *root))
{
    struct suite *suite = malloc(sizeof *suite);

    *suite = (struct suite){ .open = open, .root = test_dir_make() };
    suite->store = open(suite->root);
    *state = suite;
    return 0;
}

int store_suite_local(void **state)
{
    return setup(state, open_local);
}

int store_suite_memory(void **state)
{
    return setup(state, open_memory);
}

int store_suite_powerloss(void **state)
{
    return setup(state, open_powerloss);
}

int store_suite_fault(void **state)
{
    return setup(state, open_fault);
}

int store_suite_end(void **state)
{
    struct suite *suite = *state;

    lmn_store_release(suite->store);
    test_dir_remove(suite->root);
    free(suite);
    CHECK_EQ(live_allocations(), 0);
    return 0;
}

static struct lmn_store *store_of(void **state)
{
    return ((struct suite *)*state)->store;
}

static struct lmn__store_file *open_file(struct lmn_store *store, const char *path)
{
    struct lmn__store_file *file;
    struct lmn_error err;
    enum lmn_status st = store->ops->open(store, path, &file, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    return file;
}

static struct lmn__store_file *create_file(struct lmn_store *store, const char *path)
{
    struct lmn__store_file *file;
    struct lmn_error err;
    enum lmn_status st = store->ops->create(store, path, &file, &err);

    CHECK_STATUS(st, LMN_OK, &err);
    return file;
}

static void write_text(struct lmn__store_file *file, uint64_t offset, const char *text)
{
    struct lmn_error err;
    enum lmn_status st = file->store->ops->write_at(file, offset, text, strlen(text), &err);

    CHECK_STATUS(st, LMN_OK, &err);
}

static void check_create(struct lmn_store *store, const char *path, enum lmn_status expected)
{
    struct lmn__store_file *file = (void *)store;
    struct lmn_error err;
    enum lmn_status st = store->ops->create(store, path, &file, &err);

    CHECK_STATUS(st, expected, &err);
    CHECK(file == NULL);
}

static void check_open(struct lmn_store *store, const char *path, enum lmn_status expected)
{
    struct lmn__store_file *file = (void *)store;
    struct lmn_error err;
    enum lmn_status st = store->ops->open(store, path, &file, &err);

    CHECK_STATUS(st, expected, &err);
    CHECK(file == NULL);
}

static void check_rename(struct lmn_store *store, const char *from, const char *to,
                         enum lmn_status expected)
{
    struct lmn_error err;
    enum lmn_status st = store->ops->rename(store, from, to, &err);

    CHECK_STATUS(st, expected, &err);
}

static void check_link(struct lmn_store *store, const char *from, const char *to,
                       enum lmn_status expected)
{
    struct lmn_error err;
    enum lmn_status st = store->ops->link(store, from, to, &err);

    CHECK_STATUS(st, expected, &err);
}

static void check_remove(struct lmn_store *store, const char *path, enum lmn_status expected)
{
    struct lmn_error err;
    enum lmn_status st = store->ops->remove(store, path, &err);

    CHECK_STATUS(st, expected, &err);
}

static void check_read(struct lmn__store_file *file, uint64_t offset, size_t len,
                       enum lmn_status expected)
{
    char data[64];
    struct lmn_error err;
    enum lmn_status st = file->store->ops->read_at(file, offset, data, len, &err);

    CHECK_STATUS(st, expected, &err);
}

void test_store__create_then_open_reads_it(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *file = create_file(store, "a");
    char data[5];
    struct lmn_error err;

    CHECK_EQ(file->bytes, 0);
    write_text(file, 0, "hello");
    CHECK_OK(store->ops->sync(file, &err));
    check_read(file, 0, 5, LMN_OK);
    store->ops->close(file);
    file = open_file(store, "a");
    CHECK_EQ(file->bytes, 5);
    CHECK_OK(store->ops->read_at(file, 1, data, 4, &err));
    CHECK_BYTES(data, "ello", 4);
    store->ops->close(file);
    CHECK_OK(store->ops->sync_dir(store, "", &err));
}

void test_store__create_existing_is_exists(void **state)
{
    test_store_write(store_of(state), "a", "one", 3);
    check_create(store_of(state), "a", LMN_E_EXISTS);
    CHECK(test_store_holds(store_of(state), "a", "one"));
}

void test_store__create_makes_directories(void **state)
{
    struct lmn_store *store = store_of(state);

    test_store_write(store, "x/y/z/a", "deep", 4);
    test_store_write(store, "x/y-z", "side", 4);
    test_store_write(store, "x/y/b", "less deep", 9);
    CHECK(test_store_holds(store, "x/y/z/a", "deep"));
    CHECK(test_store_holds(store, "x/y/b", "less deep"));
    CHECK_EQ(test_store_count(store, "x"), 2);
}

void test_store__create_below_a_file_fails(void **state)
{
    test_store_write(store_of(state), "a", "one", 3);
    check_create(store_of(state), "a/b", LMN_E_IO);
    check_create(store_of(state), "a/b/c", LMN_E_IO);
    CHECK_EQ(test_store_count(store_of(state), ""), 1);
}

void test_store__create_where_a_directory_is_exists(void **state)
{
    test_store_write(store_of(state), "d/a", "one", 3);
    check_create(store_of(state), "d", LMN_E_EXISTS);
}

void test_store__open_missing_is_not_found(void **state)
{
    struct lmn_store *store = store_of(state);

    check_open(store, "a", LMN_E_NOT_FOUND);
    check_open(store, "d/a", LMN_E_NOT_FOUND);
    test_store_write(store, "d/a", "one", 3);
    check_open(store, "d/b", LMN_E_NOT_FOUND);
    check_open(store, "d/a/b", LMN_E_NOT_FOUND);
    check_open(store, "d/a.", LMN_E_NOT_FOUND);
}

void test_store__open_directory_is_invalid(void **state)
{
    test_store_write(store_of(state), "d/a", "one", 3);
    check_open(store_of(state), "d", LMN_E_INVALID);
}

void test_store__open_size_stays_while_file_grows(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *writer = create_file(store, "a"), *reader;

    write_text(writer, 0, "one");
    reader = open_file(store, "a");
    write_text(writer, 3, "two");
    CHECK_EQ(reader->bytes, 3);
    check_read(reader, 3, 3, LMN_OK);
    store->ops->close(reader);
    store->ops->close(writer);
    CHECK(test_store_holds(store, "a", "onetwo"));
}

void test_store__write_past_end_fills_gap_with_zeros(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *file = create_file(store, "a");
    uint8_t data[3000], expected[3000] = { 0 };

    write_text(file, 2, "x");
    write_text(file, 2999, "y");
    store->ops->close(file);
    expected[2] = 'x';
    expected[2999] = 'y';
    CHECK_EQ(test_store_read(store, "a", data, sizeof data), 3000);
    CHECK_BYTES(data, expected, sizeof data);
}

void test_store__write_over_bytes_replaces_them(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *file = create_file(store, "a");
    struct lmn_error err;

    write_text(file, 0, "abcdef");
    write_text(file, 2, "XY");
    CHECK_OK(store->ops->write_at(file, 100, "", 0, &err));
    store->ops->close(file);
    CHECK(test_store_holds(store, "a", "abXYef"));
}

void test_store__write_to_reader_fails(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *file;
    struct lmn_error err;
    enum lmn_status st;

    test_store_write(store, "a", "one", 3);
    file = open_file(store, "a");
    st = store->ops->write_at(file, 0, "two", 3, &err);
    CHECK_STATUS(st, LMN_E_IO, &err);
    store->ops->close(file);
    CHECK(test_store_holds(store, "a", "one"));
}

void test_store__read_past_end_is_corrupt(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *file;

    test_store_write(store, "a", "hello", 5);
    file = open_file(store, "a");
    check_read(file, 0, 6, LMN_E_CORRUPT);
    check_read(file, 5, 1, LMN_E_CORRUPT);
    check_read(file, INT64_MAX, 1, LMN_E_CORRUPT);
    check_read(file, UINT64_MAX, 2, LMN_E_CORRUPT);
    check_read(file, 4, 1, LMN_OK);
    check_read(file, 5, 0, LMN_OK);
    store->ops->close(file);
}

void test_store__rename_replaces(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *reader;
    char data[3];
    struct lmn_error err;

    test_store_write(store, "a", "one", 3);
    test_store_write(store, "b", "two", 3);
    reader = open_file(store, "b");
    check_rename(store, "a", "b", LMN_OK);
    CHECK(test_store_holds(store, "b", "one"));
    check_open(store, "a", LMN_E_NOT_FOUND);
    CHECK_OK(store->ops->read_at(reader, 0, data, 3, &err));
    CHECK_BYTES(data, "two", 3);
    store->ops->close(reader);
    check_rename(store, "b", "b", LMN_OK);
    CHECK(test_store_holds(store, "b", "one"));
}

void test_store__rename_makes_directories(void **state)
{
    struct lmn_store *store = store_of(state);

    test_store_write(store, "a", "one", 3);
    check_rename(store, "a", "d/e/a", LMN_OK);
    CHECK(test_store_holds(store, "d/e/a", "one"));
    check_link(store, "d/e/a", "f/g/a", LMN_OK);
    CHECK(test_store_holds(store, "f/g/a", "one"));
}

void test_store__rename_missing_is_not_found(void **state)
{
    test_store_write(store_of(state), "b", "two", 3);
    check_rename(store_of(state), "a", "b", LMN_E_NOT_FOUND);
    CHECK(test_store_holds(store_of(state), "b", "two"));
}

void test_store__rename_onto_directory_fails(void **state)
{
    test_store_write(store_of(state), "a", "one", 3);
    test_store_write(store_of(state), "d/b", "two", 3);
    check_rename(store_of(state), "a", "d", LMN_E_IO);
    CHECK(test_store_holds(store_of(state), "a", "one"));
    CHECK(test_store_holds(store_of(state), "d/b", "two"));
}

void test_store__rename_between_names_of_one_file_keeps_both(void **state)
{
    test_store_write(store_of(state), "a", "one", 3);
    check_link(store_of(state), "a", "b", LMN_OK);
    check_rename(store_of(state), "a", "b", LMN_OK);
    CHECK(test_store_holds(store_of(state), "a", "one"));
    CHECK(test_store_holds(store_of(state), "b", "one"));
}

void test_store__link_shares_the_file(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *writer = create_file(store, "a");

    write_text(writer, 0, "one");
    check_link(store, "a", "d/b", LMN_OK);
    write_text(writer, 3, "two");
    store->ops->close(writer);
    CHECK(test_store_holds(store, "a", "onetwo"));
    CHECK(test_store_holds(store, "d/b", "onetwo"));
    check_remove(store, "a", LMN_OK);
    CHECK(test_store_holds(store, "d/b", "onetwo"));
}

void test_store__link_existing_is_exists(void **state)
{
    struct lmn_store *store = store_of(state);

    test_store_write(store, "a", "one", 3);
    test_store_write(store, "d/b", "two", 3);
    check_link(store, "a", "d/b", LMN_E_EXISTS);
    check_link(store, "a", "d", LMN_E_EXISTS);
    check_link(store, "a", "a", LMN_E_EXISTS);
    CHECK(test_store_holds(store, "d/b", "two"));
}

void test_store__link_missing_is_not_found(void **state)
{
    check_link(store_of(state), "a", "b", LMN_E_NOT_FOUND);
    check_open(store_of(state), "b", LMN_E_NOT_FOUND);
}

void test_store__remove_missing_is_not_found(void **state)
{
    test_store_write(store_of(state), "d/a", "one", 3);
    check_remove(store_of(state), "a", LMN_E_NOT_FOUND);
    check_remove(store_of(state), "d/b", LMN_E_NOT_FOUND);
    check_remove(store_of(state), "d/a", LMN_OK);
    check_remove(store_of(state), "d/a", LMN_E_NOT_FOUND);
}

void test_store__stat_tells_size_and_age(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_stat first, second;
    struct lmn_error err;

    test_store_write(store, "d/a", "one", 3);
    CHECK_STATUS(store->ops->stat(store, "missing", &first, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(store->ops->stat(store, "d", &first, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(store->ops->stat(store, "../d", &first, &err), LMN_E_INVALID, &err);
    test_store_write(store, "earlier", "12345", 5);
    test_store_write(store, "later", "123", 3);
    CHECK_STATUS(store->ops->stat(store, "earlier", &first, &err), LMN_OK, &err);
    CHECK_STATUS(store->ops->stat(store, "later", &second, &err), LMN_OK, &err);
    CHECK_EQ(first.bytes, 5);
    CHECK_EQ(second.bytes, 3);
    CHECK(first.modified_ns > 0);
    CHECK(second.modified_ns >= first.modified_ns);
}

static void check_remove_dir(struct lmn_store *store, const char *path, enum lmn_status expected)
{
    struct lmn_error err;

    CHECK_STATUS(store->ops->remove_dir(store, path, &err), expected, &err);
}

void test_store__remove_dir_takes_empty_ones(void **state)
{
    struct lmn_store *store = store_of(state);

    check_remove_dir(store, "d", LMN_E_NOT_FOUND);
    test_store_write(store, "d/a", "one", 3);
    test_store_write(store, "d-e", "two", 3);
    check_remove_dir(store, "d", LMN_E_IO);
    check_remove_dir(store, "d/a", LMN_E_NOT_FOUND);
    check_remove(store, "d/a", LMN_OK);
    check_remove_dir(store, "d", LMN_OK);
    check_remove_dir(store, "d", LMN_E_NOT_FOUND);
    test_store_write(store, "d/a", "three", 5);
    CHECK(test_store_holds(store, "d/a", "three"));
    CHECK(test_store_holds(store, "d-e", "two"));
    check_remove_dir(store, "", LMN_E_IO);
    check_remove(store, "d-e", LMN_OK);
    check_remove(store, "d/a", LMN_OK);
    check_remove_dir(store, "", LMN_E_IO);
    check_remove_dir(store, "d", LMN_OK);
    check_remove_dir(store, "", LMN_OK);
    test_store_write(store, "d/a", "four", 4);
    CHECK(test_store_holds(store, "d/a", "four"));
}

void test_store__remove_directory_fails(void **state)
{
    test_store_write(store_of(state), "d/a", "one", 3);
    check_remove(store_of(state), "d", LMN_E_IO);
    CHECK(test_store_holds(store_of(state), "d/a", "one"));
}

void test_store__remove_keeps_open_file_readable(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *reader;
    char data[3];
    struct lmn_error err;

    test_store_write(store, "a", "one", 3);
    reader = open_file(store, "a");
    check_remove(store, "a", LMN_OK);
    check_open(store, "a", LMN_E_NOT_FOUND);
    test_store_write(store, "a", "two", 3);
    CHECK_OK(store->ops->read_at(reader, 0, data, 3, &err));
    CHECK_BYTES(data, "one", 3);
    store->ops->close(reader);
}

void test_store__sync_dir_missing_is_not_found(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn_error err;
    enum lmn_status st;

    test_store_write(store, "d/a", "one", 3);
    st = store->ops->sync_dir(store, "e", &err);
    CHECK_STATUS(st, LMN_E_NOT_FOUND, &err);
    st = store->ops->sync_dir(store, "d/a", &err);
    CHECK_STATUS(st, LMN_E_NOT_FOUND, &err);
    st = store->ops->sync_dir(store, "d", &err);
    CHECK_STATUS(st, LMN_OK, &err);
}

/* The tests' entries are single letters, and only "d" is a directory; bit i is letter i. */
static enum lmn_status mark_entry(void *context, const char *name, bool is_directory,
                                  struct lmn_error *err)
{
    unsigned *seen = context;

    (void)err;
    CHECK(strlen(name) == 1);
    CHECK_EQ(is_directory, name[0] == 'd');
    CHECK(name[0] >= 'a' && name[0] <= 'e');
    CHECK_EQ(*seen >> (name[0] - 'a') & 1, 0);
    *seen |= 1u << (name[0] - 'a');
    return LMN_OK;
}

void test_store__list_names_and_kinds(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn_error err;
    unsigned seen = 0;

    test_store_write(store, "b", "one", 3);
    test_store_write(store, "a", "two", 3);
    test_store_write(store, "d/d/x", "three", 5);
    test_store_write(store, "d/e", "four", 4);
    test_store_write(store, "d/c", "five", 4);
    CHECK_OK(store->ops->list(store, "", mark_entry, &seen, &err));
    CHECK_EQ(seen, 1 << 0 | 1 << 1 | 1 << 3);
    seen = 0;
    CHECK_OK(store->ops->list(store, "d", mark_entry, &seen, &err));
    CHECK_EQ(seen, 1 << 2 | 1 << 3 | 1 << 4);
}

void test_store__list_missing_is_empty(void **state)
{
    CHECK_EQ(test_store_count(store_of(state), "d"), 0);
    CHECK_EQ(test_store_count(store_of(state), ""), 0);
    test_store_write(store_of(state), "d/a", "one", 3);
    CHECK_EQ(test_store_count(store_of(state), "e"), 0);
    CHECK_EQ(test_store_count(store_of(state), "d/a"), 0);
}

static enum lmn_status refuse_entry(void *context, const char *name, bool is_directory,
                                    struct lmn_error *err)
{
    (void)is_directory;
    ++*(int *)context;
    return lmn_fail(err, LMN_E_NOT_FOUND, "%s is refused", name);
}

void test_store__list_ends_with_status_of_entry(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn_error err;
    enum lmn_status st;
    int calls = 0;

    test_store_write(store, "a", "one", 3);
    test_store_write(store, "b", "two", 3);
    st = store->ops->list(store, "", refuse_entry, &calls, &err);
    CHECK_STATUS(st, LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "is refused");
    CHECK_EQ(calls, 1);
}

static enum lmn_status remove_entry(void *context, const char *name, bool is_directory,
                                    struct lmn_error *err)
{
    struct lmn_store *store = context;

    (void)is_directory;
    return store->ops->remove(store, name, err);
}

void test_store__list_entry_may_remove(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn_error err;
    enum lmn_status st;

    test_store_write(store, "a", "one", 3);
    test_store_write(store, "b", "two", 3);
    test_store_write(store, "c", "three", 5);
    st = store->ops->list(store, "", remove_entry, store, &err);
    CHECK_STATUS(st, LMN_OK, &err);
    CHECK_EQ(test_store_count(store, ""), 0);
}

void test_store__bad_paths_are_invalid(void **state)
{
    static const char *const bad[] = { "",    "/",    "/a",   "a/",     ".",     "..",
                                       "./a", "../a", "a/..", "a/../b", "a/./b", "a//b" };
    struct lmn_store *store = store_of(state);
    struct lmn_error err;

    test_store_write(store, "good", "one", 3);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        unsigned seen = 0;

        check_open(store, bad[i], LMN_E_INVALID);
        check_create(store, bad[i], LMN_E_INVALID);
        check_rename(store, "good", bad[i], LMN_E_INVALID);
        check_rename(store, bad[i], "other", LMN_E_INVALID);
        check_link(store, "good", bad[i], LMN_E_INVALID);
        check_link(store, bad[i], "other", LMN_E_INVALID);
        check_remove(store, bad[i], LMN_E_INVALID);
        if (bad[i][0] == '\0')
            continue;
        CHECK_EQ(store->ops->sync_dir(store, bad[i], &err), LMN_E_INVALID);
        CHECK_EQ(store->ops->list(store, bad[i], mark_entry, &seen, &err), LMN_E_INVALID);
    }
    test_store_write(store, "..a/.b/c..", "fine", 4);
    CHECK_EQ(test_store_count(store, ""), 2);
}

void test_store__open_file_keeps_store(void **state)
{
    struct suite *suite = *state;
    struct lmn__store_file *file = create_file(suite->store, "a");

    lmn_store_release(lmn_store_acquire(suite->store));
    lmn_store_release(suite->store);
    suite->store = NULL;
    write_text(file, 0, "one");
    check_read(file, 0, 3, LMN_OK);
    file->store->ops->close(file);
}

/* One use of every operation. */
static enum lmn_status use_all(struct lmn_store *store, struct lmn_error *err)
{
    struct lmn__store_file *file;
    char data[3];
    unsigned seen = 0;
    enum lmn_status st = store->ops->create(store, "d/a", &file, err);

    if (st != LMN_OK)
        return st;
    st = store->ops->write_at(file, 0, "abc", 3, err);
    if (st == LMN_OK)
        st = store->ops->sync(file, err);
    store->ops->close(file);
    if (st == LMN_OK)
        st = store->ops->link(store, "d/a", "d/b", err);
    if (st == LMN_OK)
        st = store->ops->rename(store, "d/a", "d/c", err);
    if (st == LMN_OK)
        st = store->ops->sync_dir(store, "d", err);
    if (st == LMN_OK)
        st = store->ops->list(store, "d", mark_entry, &seen, err);
    if (st == LMN_OK)
        st = store->ops->open(store, "d/b", &file, err);
    if (st != LMN_OK)
        return st;
    st = store->ops->read_at(file, 0, data, 3, err);
    store->ops->close(file);
    if (st == LMN_OK)
        st = store->ops->remove(store, "d/b", err);
    return st;
}

void test_store__alloc_faults_leave_nothing(void **state)
{
    struct suite *suite = *state;

    lmn_store_release(suite->store);
    suite->store = NULL;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *store;
        struct lmn_error err = { 0 };
        enum lmn_status st;
        bool fired;

        test_dir_remove(suite->root);
        suite->root = test_dir_make();
        store = suite->open(suite->root);
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = use_all(store, &err);
        fired = fault_fired();
        fault_disarm();
        if (st == LMN_OK)
            CHECK(test_store_holds(store, "d/c", "abc"));
        lmn_store_release(store);
        CHECK_EQ(live_allocations(), 0);
        CHECK(fired || st == LMN_OK);
        if (!fired)
            break;
        CHECK(st == LMN_OK || st == LMN_E_NO_MEMORY || st == LMN_E_IO);
        CHECK(st == LMN_OK || err.message[0] != '\0');
    }
}

struct worker {
    struct lmn_store *store;
    struct lmn__thread thread;
    uint32_t index;
};

/* Every thread meets the others in directories that are not there yet. */
static void make_files(void *context)
{
    struct worker *worker = context;

    for (uint32_t i = 0; i < 10; i++) {
        char path[64], from[64];

        snprintf(path, sizeof path, "d%u/e/%u", i, worker->index);
        snprintf(from, sizeof from, "d%u/e/%u.tmp", i, worker->index);
        test_store_write(worker->store, from, path, strlen(path));
        check_rename(worker->store, from, path, LMN_OK);
        CHECK(test_store_holds(worker->store, path, path));
    }
}

void test_store__many_threads_share_directories(void **state)
{
    struct worker worker[THREADS];
    struct lmn_error err;

    for (uint32_t i = 0; i < THREADS; i++) {
        worker[i].store = store_of(state);
        worker[i].index = i;
        CHECK_OK(lmn__thread_start(test_env(), make_files, &worker[i], &worker[i].thread, &err));
    }
    for (uint32_t i = 0; i < THREADS; i++)
        lmn__thread_join(&worker[i].thread);
    CHECK_EQ(test_store_count(store_of(state), ""), 10);
    CHECK_EQ(test_store_count(store_of(state), "d9/e"), THREADS);
}

enum { FOLLOWED_BYTES = 20000 };

static void append_bytes(void *context)
{
    struct lmn__store_file *file = context;
    struct lmn_error err;

    for (uint64_t i = 0; i < FOLLOWED_BYTES; i += 10)
        CHECK_OK(file->store->ops->write_at(file, i, "0123456789", 10, &err));
}

void test_store__reader_follows_writer(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *writer = create_file(store, "a");
    struct lmn__thread thread;
    struct lmn_error err;
    uint64_t bytes = 0;

    CHECK_OK(lmn__thread_start(test_env(), append_bytes, writer, &thread, &err));
    while (bytes < FOLLOWED_BYTES) {
        struct lmn__store_file *reader = open_file(store, "a");
        char data[10];

        CHECK(reader->bytes >= bytes);
        bytes = reader->bytes;
        if (bytes >= 10) {
            CHECK_OK(store->ops->read_at(reader, bytes / 10 * 10 - 10, data, 10, &err));
            CHECK_BYTES(data, "0123456789", 10);
        }
        store->ops->close(reader);
    }
    lmn__thread_join(&thread);
    store->ops->close(writer);
}

static struct lmn__store_file *update_file(struct lmn_store *store, const char *path)
{
    struct lmn__store_file *file;
    struct lmn_error err;

    CHECK_STATUS(store->ops->open_update(store, path, &file, &err), LMN_OK, &err);
    return file;
}

void test_store__update_writes_what_is_there(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *file;
    struct lmn_error err;
    char data[4];

    test_store_write(store, "d/a", "abcdef", 6);
    file = update_file(store, "d/a");
    CHECK_EQ(file->bytes, 6);
    CHECK_OK(store->ops->write_at(file, 2, "XY", 2, &err));
    CHECK_OK(store->ops->write_at(file, 8, "Z", 1, &err));
    CHECK_OK(store->ops->read_at(file, 1, data, 4, &err));
    CHECK_BYTES(data, "bXYe", 4);
    CHECK_OK(store->ops->sync(file, &err));
    store->ops->close(file);
    file = open_file(store, "d/a");
    CHECK_EQ(file->bytes, 9);
    store->ops->close(file);
}

void test_store__update_missing_is_not_found(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *file;
    struct lmn_error err;

    CHECK_STATUS(store->ops->open_update(store, "d/a", &file, &err), LMN_E_NOT_FOUND, &err);
    CHECK(file == NULL);
    CHECK_EQ(test_store_count(store, ""), 0);
}

void test_store__update_directory_is_invalid(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *file;
    struct lmn_error err;

    test_store_write(store, "d/a", "a", 1);
    CHECK(store->ops->open_update(store, "d", &file, &err) != LMN_OK);
    CHECK(file == NULL);
}

/* Each thread has the file open by itself and writes every fourth run of bytes. */
static void write_runs(void *context)
{
    struct worker *worker = context;
    struct lmn__store_file *file = update_file(worker->store, "a");
    struct lmn_error err;
    char run[16];

    memset(run, 'a' + (int)worker->index, sizeof run);
    for (uint64_t i = worker->index; i < 64 * THREADS; i += THREADS)
        CHECK_OK(worker->store->ops->write_at(file, i * sizeof run, run, sizeof run, &err));
    CHECK_OK(worker->store->ops->sync(file, &err));
    worker->store->ops->close(file);
}

void test_store__updates_from_many_threads_all_stay(void **state)
{
    struct lmn_store *store = store_of(state);
    struct worker worker[THREADS];
    struct lmn__store_file *file;
    struct lmn_error err;

    test_store_write(store, "a", "", 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        worker[i].store = store;
        worker[i].index = i;
        CHECK_OK(lmn__thread_start(test_env(), write_runs, &worker[i], &worker[i].thread, &err));
    }
    for (uint32_t i = 0; i < THREADS; i++)
        lmn__thread_join(&worker[i].thread);
    file = open_file(store, "a");
    CHECK_EQ(file->bytes, 64 * THREADS * 16);
    for (uint64_t i = 0; i < 64 * THREADS; i++) {
        char run[16], wanted[16];

        memset(wanted, 'a' + (int)(i % THREADS), sizeof wanted);
        CHECK_OK(store->ops->read_at(file, i * sizeof run, run, sizeof run, &err));
        CHECK_BYTES(run, wanted, sizeof run);
    }
    store->ops->close(file);
}

void test_store__lock_is_of_one_open_file(void **state)
{
    struct lmn_store *store = store_of(state);
    struct lmn__store_file *one, *two;
    struct lmn_error err;

    test_store_write(store, "a", "a", 1);
    one = update_file(store, "a");
    two = update_file(store, "a");
    CHECK_STATUS(store->ops->lock(one, &err), LMN_OK, &err);
    CHECK_STATUS(store->ops->lock(one, &err), LMN_OK, &err);
    CHECK_STATUS(store->ops->lock(two, &err), LMN_E_UNAVAILABLE, &err);
    CHECK_HAS(err.message, "locked");
    store->ops->close(one);
    CHECK_STATUS(store->ops->lock(two, &err), LMN_OK, &err);
    store->ops->close(two);
}
