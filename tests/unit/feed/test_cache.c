/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cache: bytes are right whatever happens to it, its size is kept, and what is in it is not
 * read again.
 *
 * labels: threads
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "feed/cache.h"
#include "os/thread.h"
#include "store/draft.h"
#include "stores.h"

enum { PIECE = 1 << 20, FILE_BYTES = 5 * PIECE / 2, PIECES = 3 };

static uint8_t content[FILE_BYTES];

/* The file behind the cache: how often and how much it was read. */
struct origin {
    uint64_t reads, bytes;
    bool fails;
};

static enum lmn_status read_origin(void *context, uint64_t offset, void *data, size_t len,
                                   struct lmn_error *err)
{
    struct origin *origin = context;

    if (origin->fails || offset + len > FILE_BYTES)
        return lmn_fail(err, LMN_E_IO, "no read of %zu bytes at %llu", len,
                        (unsigned long long)offset);
    memcpy(data, content + offset, len);
    origin->reads++;
    origin->bytes += len;
    return LMN_OK;
}

static int fill_content(void **state)
{
    uint64_t seed = 1;

    (void)state;
    for (size_t i = 0; i < FILE_BYTES; i += 8) {
        uint64_t number = test_random(&seed);

        memcpy(content + i, &number, 8);
    }
    return 0;
}

static struct lmn__cache *cache_open(struct lmn_store *store, uint64_t bytes_max)
{
    struct lmn__cache *cache;
    struct lmn_error err = { 0 };

    CHECK_STATUS(lmn__cache_open(store, bytes_max, &cache, &err), LMN_OK, &err);
    return cache;
}

static struct lmn__cached_file *file_open(struct lmn__cache *cache, const char *path)
{
    struct lmn__cached_file *file;
    struct lmn_error err = { 0 };

    CHECK_STATUS(lmn__cached_file_open(cache, "/root", path, FILE_BYTES, &file, &err), LMN_OK,
                 &err);
    return file;
}

static void check_read(struct lmn__cached_file *file, struct origin *origin, uint64_t offset,
                       size_t len)
{
    static uint8_t data[FILE_BYTES];
    uint64_t store_ns = 0, hit_bytes = 0;
    struct lmn_error err = { 0 };

    memset(data, 0xee, len);
    CHECK_STATUS(lmn__cached_file_read(file, offset, data, len, read_origin, origin, &store_ns,
                                       &hit_bytes, &err),
                 LMN_OK, &err);
    CHECK_BYTES(data, content + offset, len);
}

static void read_around(struct lmn__cached_file *file, struct origin *origin)
{
    check_read(file, origin, 0, 10);
    check_read(file, origin, PIECE - 5, 10);
    check_read(file, origin, 100, 2 * PIECE);
    check_read(file, origin, FILE_BYTES - 7, 7);
    check_read(file, origin, FILE_BYTES, 0);
}

static void test_cache__reads_once(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__cache *cache = cache_open(store, 100 * PIECE);
    struct lmn__cached_file *file = file_open(cache, "data/a");
    struct origin origin = { 0 }, again = { .fails = true };

    (void)state;
    read_around(file, &origin);
    CHECK_EQ(origin.reads, PIECES);
    CHECK_EQ(origin.bytes, FILE_BYTES);
    read_around(file, &again);
    lmn__cached_file_close(file);
    lmn__cache_close(cache);
    /* Another process. */
    cache = cache_open(store, 100 * PIECE);
    CHECK(lmn__cache_bytes(cache) >= FILE_BYTES);
    file = file_open(cache, "data/a");
    read_around(file, &again);
    lmn__cached_file_close(file);
    lmn__cache_close(cache);
    lmn_store_release(store);
}

/* Find the pieces of the only file: write over them, or take them away. */
struct damage {
    struct lmn_store *store;
    char dir[32];
    int kind;
};

static enum lmn_status damage_piece(void *context, const char *name, bool is_directory,
                                    struct lmn_error *err)
{
    struct damage *damage = context;
    struct lmn_store *store = damage->store;
    struct lmn__store_file *file;
    char path[300];

    (void)is_directory;
    if (strcmp(name, "used") == 0)
        return LMN_OK;
    snprintf(path, sizeof path, "%s/%s", damage->dir, name);
    CHECK_OK(store->ops->remove(store, path, err));
    if (damage->kind == 0)
        return LMN_OK;
    CHECK_OK(store->ops->create(store, path, &file, err));
    CHECK_OK(store->ops->write_at(file, damage->kind == 1 ? PIECE + 7 : 0, "x", 1, err));
    store->ops->close(file);
    return LMN_OK;
}

static enum lmn_status damage_file(void *context, const char *name, bool is_directory,
                                   struct lmn_error *err)
{
    struct damage *damage = context;

    CHECK_EQ(is_directory, strcmp(name, "ledger") != 0);
    if (!is_directory)
        return LMN_OK;
    snprintf(damage->dir, sizeof damage->dir, "%.20s", name);
    return damage->store->ops->list(damage->store, name, damage_piece, damage, err);
}

/* Pieces that are gone, of the right size and wrong bytes, or cut: while open, and before. */
static void test_cache__damaged(void **state)
{
    struct lmn_error err = { 0 };

    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        struct lmn_store *store = test_store_memory();
        struct lmn__cache *cache = cache_open(store, 100 * PIECE);
        struct lmn__cached_file *file = file_open(cache, "data/a");
        struct damage damage = { .store = store, .kind = kind };
        struct origin origin = { 0 };

        read_around(file, &origin);
        lmn__cached_file_close(file);
        file = file_open(cache, "data/a");
        CHECK_OK(store->ops->list(store, "", damage_file, &damage, &err));
        read_around(file, &origin);
        CHECK_EQ(origin.bytes, 2 * FILE_BYTES);
        damage.kind = 0;
        CHECK_OK(store->ops->list(store, "", damage_file, &damage, &err));
        read_around(file, &origin);
        CHECK_EQ(origin.bytes, 3 * FILE_BYTES);
        lmn__cached_file_close(file);
        lmn__cache_close(cache);
        lmn_store_release(store);
    }
}

/* Files of others go, the longest unused first; those that are open stay, and reads go through. */
static void test_cache__full(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__cache *cache = cache_open(store, 7 * PIECE + 100);
    struct lmn__cached_file *file[3];
    struct origin origin = { 0 }, again = { .fails = true };
    const char *const name[] = { "data/a", "data/b", "data/c" };

    (void)state;
    for (int i = 0; i < 2; i++) {
        file[i] = file_open(cache, name[i]);
        read_around(file[i], &origin);
        lmn__cached_file_close(file[i]);
    }
    CHECK_EQ(origin.bytes, 2 * FILE_BYTES);
    file[1] = file_open(cache, name[1]);
    file[2] = file_open(cache, name[2]);
    read_around(file[2], &origin);
    CHECK_EQ(origin.bytes, 3 * FILE_BYTES);
    CHECK(lmn__cache_bytes(cache) <= 7 * PIECE + 100);
    CHECK(!lmn__cache_is_full(cache));
    read_around(file[1], &again);
    read_around(file[2], &again);
    file[0] = file_open(cache, name[0]);
    read_around(file[0], &origin);
    CHECK(lmn__cache_is_full(cache));
    CHECK(lmn__cache_bytes(cache) <= 7 * PIECE + 100);
    read_around(file[1], &again);
    for (int i = 0; i < 3; i++)
        lmn__cached_file_close(file[i]);
    lmn__cache_close(cache);
    lmn_store_release(store);
}

static void check_kept(struct lmn_store *store, uint64_t bytes_max)
{
    struct lmn__cache *cache = cache_open(store, (uint64_t)1 << 40);
    uint64_t bytes = lmn__cache_bytes(cache);

    if (bytes > bytes_max)
        fail_msg("%llu bytes are kept, of at most %llu", (unsigned long long)bytes,
                 (unsigned long long)bytes_max);
    lmn__cache_close(cache);
}

/* Caches over one directory, as processes have them, with the same files open: one limit. */
static void test_cache__one_limit(void **state)
{
    enum { CACHES = 4, FILES = 3 };
    static const char *const name[FILES] = { "data/a", "data/b", "data/c" };
    struct lmn_store *store = test_store_memory();
    struct lmn__cached_file *file[CACHES][FILES];
    struct lmn__cache *cache[CACHES];
    struct origin origin = { 0 };

    (void)state;
    for (int i = 0; i < CACHES; i++) {
        cache[i] = cache_open(store, 5 * PIECE);
        for (int j = 0; j < FILES; j++)
            file[i][j] = file_open(cache[i], name[j]);
    }
    for (int turn = 0; turn < 2; turn++)
        for (int i = 0; i < CACHES; i++)
            for (int j = 0; j < FILES; j++)
                read_around(file[i][(i + j) % FILES], &origin);
    check_kept(store, 5 * PIECE);
    for (int i = 0; i < CACHES; i++) {
        for (int j = 0; j < FILES; j++)
            lmn__cached_file_close(file[i][j]);
        lmn__cache_close(cache[i]);
    }
    lmn_store_release(store);
}

/* What others have put there with a higher limit goes, and not more than has to. */
static void test_cache__too_much_is_there(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__cache *cache = cache_open(store, 100 * PIECE);
    struct lmn__cached_file *first = file_open(cache, "data/a"), *second;
    struct origin origin = { 0 };

    (void)state;
    read_around(first, &origin);
    second = file_open(cache, "data/b");
    read_around(second, &origin);
    CHECK_EQ(lmn__cache_bytes(cache), 2 * (FILE_BYTES + 8 * PIECES));
    lmn__cached_file_close(first);
    lmn__cached_file_close(second);
    lmn__cache_close(cache);
    cache = cache_open(store, 4 * PIECE);
    CHECK(lmn__cache_bytes(cache) <= 4 * PIECE);
    CHECK(lmn__cache_bytes(cache) >= 2 * PIECE);
    lmn__cache_close(cache);
    lmn_store_release(store);
}

/* Leave a draft of the mark of each file, as a process that is killed while it opens one does. */
static enum lmn_status leave_mark(void *context, const char *name, bool is_directory,
                                  struct lmn_error *err)
{
    struct lmn_store *store = context;
    struct lmn__store_file *file;
    char path[64];

    if (!is_directory)
        return LMN_OK;
    snprintf(path, sizeof path, "%.20s/used.0123.tmp", name);
    CHECK_OK(store->ops->create(store, path, &file, err));
    store->ops->close(file);
    return LMN_OK;
}

/* Drafts of marks are no bytes that were kept: they make no room. */
static void test_cache__drafts_of_marks(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__cache *cache = cache_open(store, 100 * PIECE);
    struct lmn__cached_file *file = file_open(cache, "data/a");
    struct origin origin = { 0 };
    struct lmn_error err = { 0 };

    (void)state;
    check_read(file, &origin, 0, 10);
    CHECK_OK(store->ops->list(store, "", leave_mark, store, &err));
    lmn__cached_file_close(file);
    file = file_open(cache, "data/b");
    read_around(file, &origin);
    lmn__cached_file_close(file);
    lmn__cache_close(cache);
    cache = cache_open(store, 2 * PIECE);
    CHECK(lmn__cache_bytes(cache) <= 2 * PIECE);
    lmn__cache_close(cache);
    lmn_store_release(store);
}

/* The count of what is there is gone, cut, or what processes that were killed have left of it. */
static void test_cache__wrong_ledger(void **state)
{
    static const struct {
        const char *data;
        size_t len;
    } ledger[] = {
        { NULL, 0 }, { "", 0 }, { "abc", 3 }, { "\xff\xff\xff\xff\xff\xff\xff\xff", 8 }
    };
    struct lmn_error err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof ledger / sizeof ledger[0]; i++) {
        struct lmn_store *store = test_store_memory();
        struct lmn__cache *cache = cache_open(store, 5 * PIECE);
        struct lmn__cached_file *file = file_open(cache, "data/a");
        struct origin origin = { 0 }, again = { .fails = true };

        CHECK_OK(store->ops->remove(store, "ledger", &err));
        if (ledger[i].data != NULL)
            CHECK_OK(lmn__store_put(store, "ledger", LMN__PUBLISH_REPLACE, ledger[i].data,
                                    ledger[i].len, &err));
        read_around(file, &origin);
        read_around(file, &again);
        CHECK(!lmn__cache_is_full(cache));
        lmn__cached_file_close(file);
        lmn__cache_close(cache);
        lmn_store_release(store);
    }
}

static void test_cache__unusable(void **state)
{
    char *dir = test_dir_make(), path[300];
    struct lmn_store *store = test_store_local(dir);
    struct lmn__cache *cache;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_EQ(lmn__cache_open(store, PIECE, &cache, &err), LMN_E_INVALID);
    CHECK_HAS(err.message, "a cache of 1048576 bytes has no room for a piece, which has 1048584");
    CHECK(cache == NULL);
    CHECK_OK(lmn__store_put(store, "file", LMN__PUBLISH_REPLACE, "x", 1, &err));
    lmn_store_release(store);
    snprintf(path, sizeof path, "%s/file", dir);
    store = test_store_local(path);
    CHECK(lmn__cache_open(store, 2 * PIECE, &cache, &err) != LMN_OK);
    CHECK_HAS(err.message, "file cannot be the directory of a cache");
    CHECK(cache == NULL);
    lmn_store_release(store);
    test_dir_remove(dir);
}

/* A file in the cache that has to make room. */
static void fill(struct lmn_store *store)
{
    struct lmn__cache *cache = cache_open(store, 100 * PIECE);
    struct lmn__cached_file *file = file_open(cache, "data/b");
    struct origin origin = { 0 };

    read_around(file, &origin);
    lmn__cached_file_close(file);
    lmn__cache_close(cache);
}

/* Whatever fails in the cache's own store, the bytes are right; whatever fails, nothing leaks. */
static void test_cache__faults(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *memory = test_store_memory();
        struct lmn_store *store = test_store_faulty(memory);
        struct lmn__cached_file *file = NULL;
        struct lmn__cache *cache = NULL;
        struct origin origin = { 0 };
        struct lmn_error err = { 0 };
        enum lmn_status st;

        fill(memory);
        fault_arm(FAULT_STORE | FAULT_ALLOC, nth);
        st = lmn__cache_open(store, 2 * PIECE + 100, &cache, &err);
        if (st == LMN_OK)
            st = lmn__cached_file_open(cache, "/root", "data/a", FILE_BYTES, &file, &err);
        if (st == LMN_OK) {
            read_around(file, &origin);
            read_around(file, &origin);
        } else {
            CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
            CHECK(err.message[0] != '\0');
        }
        lmn__cached_file_close(file);
        lmn__cache_close(cache);
        lmn_store_release(store);
        lmn_store_release(memory);
        CHECK_EQ(live_allocations(), 0);
        if (!fault_fired())
            break;
    }
    fault_disarm();
}

/* What a read of the file itself fails with is what the caller gets. */
static void test_cache__origin_fails(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn__cache *cache = cache_open(store, 100 * PIECE);
    struct lmn__cached_file *file = file_open(cache, "data/a");
    struct origin origin = { .fails = true };
    uint64_t ns = 0, hits = 0;
    struct lmn_error err = { 0 };
    uint8_t byte;

    (void)state;
    CHECK_EQ(lmn__cached_file_read(file, 5, &byte, 1, read_origin, &origin, &ns, &hits, &err),
             LMN_E_IO);
    CHECK_HAS(err.message, "no read of");
    lmn__cached_file_close(file);
    lmn__cache_close(cache);
    lmn_store_release(store);
}

struct reader {
    struct lmn__cached_file *file;
    uint64_t seed;
};

static void read_at_random(void *context)
{
    struct reader *reader = context;
    struct origin origin = { 0 };
    uint8_t data[5000];
    uint64_t ns = 0, hits = 0;

    for (int i = 0; i < 300; i++) {
        uint64_t offset = test_random(&reader->seed) % (FILE_BYTES - sizeof data);
        enum lmn_status st = lmn__cached_file_read(reader->file, offset, data, sizeof data,
                                                   read_origin, &origin, &ns, &hits, NULL);

        if (st != LMN_OK || memcmp(data, content + offset, sizeof data) != 0)
            abort();
    }
}

/* Two caches over one directory, as two processes have them, and two threads each. */
static void test_cache__shared(void **state)
{
    char *dir = test_dir_make();
    struct lmn_store *store = test_store_local(dir);
    struct lmn__cache *cache[2];
    struct lmn__thread thread[4];
    struct reader reader[4];

    (void)state;
    for (int i = 0; i < 2; i++)
        cache[i] = cache_open(store, 2 * PIECE);
    for (uint64_t i = 0; i < 4; i++) {
        reader[i] = (struct reader){ file_open(cache[i % 2], i < 2 ? "data/a" : "data/b"), i + 1 };
        CHECK_OK(lmn__thread_start(test_env(), read_at_random, &reader[i], &thread[i], NULL));
    }
    for (int i = 0; i < 4; i++) {
        lmn__thread_join(&thread[i]);
        lmn__cached_file_close(reader[i].file);
    }
    for (int i = 0; i < 2; i++)
        lmn__cache_close(cache[i]);
    check_kept(store, 2 * PIECE + 4 * (PIECE + 8));
    lmn_store_release(store);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cache__reads_once),
        cmocka_unit_test(test_cache__damaged),
        cmocka_unit_test(test_cache__full),
        cmocka_unit_test(test_cache__one_limit),
        cmocka_unit_test(test_cache__too_much_is_there),
        cmocka_unit_test(test_cache__drafts_of_marks),
        cmocka_unit_test(test_cache__wrong_ledger),
        cmocka_unit_test(test_cache__unusable),
        cmocka_unit_test(test_cache__faults),
        cmocka_unit_test(test_cache__origin_fails),
        cmocka_unit_test(test_cache__shared),
    };

    return cmocka_run_group_tests(tests, fill_content, NULL);
}
