/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The bytes of archives: what a damaged or hostile one may do, and what happens when memory, the
 * store or the network fails at any step.
 */
#include "pack/archive.h"

#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "folders.h"
#include "os/file.h"
#include "pack/pack.h"
#include "pack/tar_header.h"
#include "stores.h"

/* What a sink was given. */
struct taken {
    char text[1000];
    size_t len;
    uint64_t bytes;
};

static enum lmn_status take_begin(void *self, const char *path, bool executable,
                                  struct lmn_error *err)
{
    struct taken *taken = self;
    size_t room = sizeof taken->text - taken->len;

    (void)err;
    taken->len += (size_t)snprintf(taken->text + taken->len, room, "%.90s%s ", path,
                                   executable ? "*" : "");
    return LMN_OK;
}

static enum lmn_status take_data(void *self, const void *data, size_t len, struct lmn_error *err)
{
    struct taken *taken = self;

    (void)data;
    (void)err;
    taken->bytes += len;
    return LMN_OK;
}

static enum lmn_status take_end(void *self, struct lmn_error *err)
{
    (void)self;
    (void)err;
    return LMN_OK;
}

/* One member of an archive made by hand. */
struct member {
    const char *path, *content;
    bool executable;
};

/* Append a member as archives have it. */
static void put_member(struct lmn__buf *tar, const struct member *member)
{
    size_t len = strlen(member->content);

    lmn__tar_header_put(tar, member->path, member->executable, len);
    lmn__buf_put(tar, member->content, len);
    lmn__buf_put_zeros(tar, (LMN__TAR_BLOCK - len % LMN__TAR_BLOCK) % LMN__TAR_BLOCK);
}

static void name_members(const struct member *member, size_t count, char hash_out[LMN__SHA256_HEX])
{
    struct lmn__sha256_state state;
    uint8_t hash[LMN__SHA256_BYTES];

    lmn__sha256_start(&state);
    for (size_t i = 0; i < count; i++) {
        lmn__sha256(member[i].content, strlen(member[i].content), hash);
        lmn__archive_name_member(&state, member[i].path, member[i].executable,
                                 strlen(member[i].content), hash);
    }
    lmn__sha256_end(&state, hash);
    lmn__sha256_digits(hash, hash_out);
}

/* Compress a tar archive and read it. */
static enum lmn_status read_tar(const struct lmn__buf *tar, const char *hash, uint64_t bytes,
                                struct taken *taken, struct lmn_error *err)
{
    const struct lmn__member_sink sink = { taken, take_begin, take_data, take_end };
    static uint8_t frame[100000];
    struct lmn_store *store = test_store_memory();
    struct lmn__object object;
    size_t len = ZSTD_compress(frame, sizeof frame, tar->data, tar->len, 1);
    enum lmn_status st;

    CHECK(!ZSTD_isError(len));
    *taken = (struct taken){ .len = 0 };
    test_store_write(store, "x", frame, len);
    CHECK_OK(lmn__object_open(store, "x", &object, err));
    st = lmn__archive_read(test_env(), &object, hash, bytes, &sink, err);
    lmn__object_close(&object);
    lmn_store_release(store);
    return st;
}

static enum lmn_status read_members(const struct member *member, size_t count, uint64_t bytes,
                                    struct lmn_error *err)
{
    char hash[LMN__SHA256_HEX];
    struct taken taken;
    struct lmn__buf tar;
    enum lmn_status st;

    lmn__buf_init(&tar, test_env(), 0);
    for (size_t i = 0; i < count; i++)
        put_member(&tar, &member[i]);
    lmn__buf_put_zeros(&tar, 2 * LMN__TAR_BLOCK);
    name_members(member, count, hash);
    st = read_tar(&tar, hash, bytes, &taken, err);
    lmn__buf_deinit(&tar);
    return st;
}

static void test_archive__reads_members(void **state)
{
    const struct member members[] = { { "a.py", "12345", false }, { "b/run", "", true } };
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(read_members(members, 2, 5, &err), LMN_OK, &err);
    CHECK_STATUS(read_members(members, 0, 0, &err), LMN_OK, &err);
    CHECK_STATUS(read_members(members, 2, 4, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "a.py has 5 bytes, and only 4 are left");
}

static void test_archive__unsafe_paths(void **state)
{
    static const char *const paths[] = { "/etc/passwd", "../x",  "a/../../x", "a//b", "./a", "a/",
                                         "..",          "a/./b", "a/..",      "/",    "" };
    struct lmn_error err = { 0 };

    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        const struct member member = { paths[i], "x", false };

        CHECK_STATUS(read_members(&member, 1, 1, &err), LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "an unsafe path");
    }
}

static void test_archive__repeated_path(void **state)
{
    const struct member members[] = { { "a", "1", false }, { "a", "2", false } };
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(read_members(members, 2, 2, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "a comes behind a");
}

static void test_archive__other_content(void **state)
{
    const struct member member = { "a", "1", false };
    const struct member other[] = { { "a", "2", false }, { "b", "1", false }, { "a", "1", true } };
    struct lmn_error err = { 0 };
    char hash[LMN__SHA256_HEX];
    struct taken taken;
    struct lmn__buf tar;

    (void)state;
    name_members(&member, 1, hash);
    for (size_t i = 0; i < 3; i++) {
        lmn__buf_init(&tar, test_env(), 0);
        put_member(&tar, &other[i]);
        lmn__buf_put_zeros(&tar, 2 * LMN__TAR_BLOCK);
        CHECK_STATUS(read_tar(&tar, hash, 1, &taken, &err), LMN_E_CORRUPT, &err);
        CHECK_HAS(err.message, "not what its name says");
        lmn__buf_deinit(&tar);
    }
}

/* Links, devices and folders, cut archives, bytes where there should be none. */
static void test_archive__corrupt_headers(void **state)
{
    const struct member member = { "a", "1", false };
    struct lmn_error err = { 0 };
    char hash[LMN__SHA256_HEX];
    struct taken taken;
    struct lmn__buf tar;

    (void)state;
    name_members(&member, 1, hash);
    lmn__buf_init(&tar, test_env(), 0);
    put_member(&tar, &member);
    lmn__buf_put_zeros(&tar, 2 * LMN__TAR_BLOCK);
    for (size_t i = 0; i < LMN__TAR_BLOCK + 2; i++) {
        tar.data[i] ^= 1;
        CHECK_STATUS(read_tar(&tar, hash, 1, &taken, &err), LMN_E_CORRUPT, &err);
        tar.data[i] ^= 1;
    }
    for (size_t len = 0; len < 3 * LMN__TAR_BLOCK; len += 100) {
        struct lmn__buf cut = tar;

        cut.len = len;
        CHECK_STATUS(read_tar(&cut, hash, 1, &taken, &err), LMN_E_CORRUPT, &err);
    }
    for (const char *type = "1234567gLKx"; *type != '\0'; type++) {
        uint32_t sum = 0;

        tar.data[156] = (uint8_t)*type;
        memset(tar.data + 148, ' ', 8);
        for (int i = 0; i < LMN__TAR_BLOCK; i++)
            sum += tar.data[i];
        snprintf((char *)tar.data + 148, 8, "%06o", sum);
        tar.data[155] = ' ';
        CHECK_STATUS(read_tar(&tar, hash, 1, &taken, &err), LMN_E_CORRUPT, &err);
    }
    lmn__buf_deinit(&tar);
}

static void test_archive__no_frame(void **state)
{
    const struct lmn__member_sink sink = { NULL, take_begin, take_data, take_end };
    struct lmn_store *store = test_store_memory();
    struct lmn__object object;
    struct lmn_error err = { 0 };

    (void)state;
    test_store_write(store, "x", "no frame of zstd at all", 23);
    CHECK_OK(lmn__object_open(store, "x", &object, &err));
    CHECK_STATUS(lmn__archive_read(test_env(), &object, "", 0, &sink, &err), LMN_E_CORRUPT, &err);
    CHECK_HAS(err.message, "zstd");
    lmn__object_close(&object);
    lmn_store_release(store);
}

static struct lmn_pack_archive first_of(const struct lmn_pack *pack)
{
    return (struct lmn_pack_archive){ pack->archives.archive[0].hash,
                                      pack->archives.archive[0].bytes };
}

/* Plan, ship and unpack while the nth request for memory or of the store fails. */
static enum lmn_status whole_way(const char *root, const char *top, struct lmn_store *store,
                                 struct lmn_error *err)
{
    const struct lmn_pack_path path = { root, LMN_PACK_WORKSPACE, false };
    char cache[300], target[300];
    const struct lmn_pack_options options = { .cache_folder = cache, .threads = 1 };
    struct lmn_pack *pack = NULL;
    char *text = NULL, *place = NULL;
    struct lmn_pack_archive archive;
    enum lmn_status st;

    snprintf(cache, sizeof cache, "%s/cache", top);
    snprintf(target, sizeof target, "%s/target", top);
    st = lmn_pack_scan(test_env(), &path, 1, &options, &pack, err);
    if (st == LMN_OK)
        st = lmn_pack_ship(pack, store, &text, err);
    lmn_text_free(text);
    text = NULL;
    if (st == LMN_OK)
        st = lmn_pack_text(pack, &text, err);
    lmn_text_free(text);
    if (st == LMN_OK) {
        archive = first_of(pack);
        st = lmn_pack_unpack(store, target, &archive, 1, &place, err);
    }
    lmn_text_free(place);
    lmn_pack_free(pack);
    return st;
}

static void test_archive__faults(void **state)
{
    char *top = test_dir_make();
    char root[300], run[300];

    (void)state;
    snprintf(root, sizeof root, "%s/code", top);
    folder_write(root, "a.py", "x = 1\n");
    folder_write(root, "pkg/b.py", "x = 2\n");
    for (uint64_t nth = 1;; nth++) {
        struct lmn_store *inner = test_store_memory(), *store = test_store_faulty(inner);
        struct lmn_error err = { 0 };
        enum lmn_status st;
        bool fired;

        snprintf(run, sizeof run, "%s/run%llu", top, (unsigned long long)nth);
        fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
        st = whole_way(root, run, store, &err);
        fired = fault_fired();
        fault_disarm();
        if (st != LMN_OK) {
            CHECK(st == LMN_E_NO_MEMORY || st == LMN_E_IO);
            CHECK(err.message[0] != '\0');
        }
        if (st != LMN_OK) /* what failed goes on */
            CHECK_STATUS(whole_way(root, run, store, &err), LMN_OK, &err);
        CHECK(test_store_count(inner, "_leman/env") == 1);
        lmn_store_release(store);
        lmn_store_release(inner);
        if (!fired) {
            CHECK_OK(st);
            break;
        }
    }
    CHECK_EQ(live_allocations(), 0);
    test_dir_remove(top);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_archive__reads_members),
        cmocka_unit_test(test_archive__unsafe_paths),
        cmocka_unit_test(test_archive__repeated_path),
        cmocka_unit_test(test_archive__other_content),
        cmocka_unit_test(test_archive__corrupt_headers),
        cmocka_unit_test(test_archive__no_frame),
        cmocka_unit_test(test_archive__faults),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
