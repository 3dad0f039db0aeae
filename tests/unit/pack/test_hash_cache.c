/* SPDX-License-Identifier: Apache-2.0 */
/* Hashes from plan to plan: what is taken over, and that damage is noticed wherever it is. */
#include "pack/hash_cache.h"

#include <string.h>

#include "base/hash.h"
#include "check.h"

enum { FILES = 3 };

static const int64_t minute = 60000000000, now = 1000 * 60000000000;

static struct lmn__tree_file files[FILES];

/* A tree of three files, hashed. */
static struct lmn__tree make_tree(void)
{
    static const char *const paths[FILES] = { "a.py", "b/c.py", "d.py" };

    for (int i = 0; i < FILES; i++) {
        files[i] = (struct lmn__tree_file){
            .path = paths[i], .bytes = 10 + (uint64_t)i, .modified_ns = now - minute, .hashed = true
        };
        memset(files[i].hash, 'a' + i, sizeof files[i].hash);
    }
    return (struct lmn__tree){ .root = "/code", .file = files, .count = FILES };
}

static struct lmn__tree bare_tree(void)
{
    struct lmn__tree tree = make_tree();

    for (int i = 0; i < FILES; i++) {
        files[i].hashed = false;
        memset(files[i].hash, 0, sizeof files[i].hash);
    }
    return tree;
}

static void write_cache(const struct lmn__tree *tree, struct lmn__buf *buf)
{
    struct lmn_error err = { 0 };

    lmn__buf_init(buf, test_env(), 0);
    CHECK_STATUS(lmn__hash_cache_write(tree, now, buf, &err), LMN_OK, &err);
}

static enum lmn_status apply(struct lmn__tree *tree, const struct lmn__buf *buf)
{
    struct lmn_error err = { 0 };
    enum lmn_status st = lmn__hash_cache_apply(tree, (struct lmn__span){ buf->data, buf->len },
                                               &err);

    if (st != LMN_OK)
        CHECK_HAS(err.message, "/code");
    return st;
}

static void test_hash_cache__round_trip(void **state)
{
    struct lmn__tree tree = make_tree();
    struct lmn__buf buf;

    (void)state;
    write_cache(&tree, &buf);
    tree = bare_tree();
    CHECK_OK(apply(&tree, &buf));
    for (int i = 0; i < FILES; i++) {
        CHECK(files[i].hashed);
        CHECK_EQ(files[i].hash[31], 'a' + i);
    }
    lmn__buf_deinit(&buf);
    CHECK_EQ(live_allocations(), 0);
}

static void test_hash_cache__only_same_files(void **state)
{
    struct lmn__tree tree = make_tree();
    struct lmn__buf buf;

    (void)state;
    write_cache(&tree, &buf);
    tree = bare_tree();
    files[0].bytes++;
    files[1].modified_ns++;
    files[2].path = "e.py";
    CHECK_OK(apply(&tree, &buf));
    for (int i = 0; i < FILES; i++)
        CHECK(!files[i].hashed);
    tree = bare_tree();
    tree.count = 2; /* one is gone */
    tree.file++;
    CHECK_OK(apply(&tree, &buf));
    CHECK(files[1].hashed && files[2].hashed);
    lmn__buf_deinit(&buf);
}

static void test_hash_cache__fresh_files_are_left_out(void **state)
{
    struct lmn__tree tree = make_tree();
    struct lmn__buf buf;

    (void)state;
    files[1].modified_ns = now - 1;
    write_cache(&tree, &buf);
    tree = bare_tree();
    files[1].modified_ns = now - 1;
    CHECK_OK(apply(&tree, &buf));
    CHECK(files[0].hashed && !files[1].hashed && files[2].hashed);
    lmn__buf_deinit(&buf);
}

static void test_hash_cache__corrupt_any_byte(void **state)
{
    struct lmn__tree tree = make_tree();
    struct lmn__buf buf;

    (void)state;
    write_cache(&tree, &buf);
    for (size_t i = 0; i < buf.len; i++) {
        buf.data[i] ^= 0x10;
        tree = bare_tree();
        CHECK_EQ(apply(&tree, &buf), LMN_E_CORRUPT);
        CHECK(!files[0].hashed && !files[1].hashed && !files[2].hashed);
        buf.data[i] ^= 0x10;
    }
    for (size_t len = 0; len < buf.len; len++) {
        struct lmn__buf cut = buf;

        cut.len = len;
        CHECK_EQ(apply(&tree, &cut), LMN_E_CORRUPT);
    }
    tree = bare_tree();
    tree.root = "/other";
    CHECK_EQ(lmn__hash_cache_apply(&tree, (struct lmn__span){ buf.data, buf.len }, NULL),
             LMN_E_CORRUPT);
    lmn__buf_deinit(&buf);
}

/* With a right checksum, what the records say is checked all the same. */
static void test_hash_cache__corrupt_order(void **state)
{
    struct lmn__tree tree = make_tree();
    struct lmn__buf buf;

    (void)state;
    files[0].path = "z.py";
    write_cache(&tree, &buf);
    tree = bare_tree();
    CHECK_EQ(apply(&tree, &buf), LMN_E_CORRUPT);
    CHECK(!files[1].hashed);
    lmn__buf_deinit(&buf);
    tree = make_tree();
    write_cache(&tree, &buf);
    buf.data[8 + 2 + 5]++; /* one record more than there are */
    lmn__store_u64(buf.data + buf.len - 8, lmn__hash64(buf.data, buf.len - 8));
    CHECK_EQ(apply(&tree, &buf), LMN_E_CORRUPT);
    lmn__buf_deinit(&buf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hash_cache__round_trip),
        cmocka_unit_test(test_hash_cache__only_same_files),
        cmocka_unit_test(test_hash_cache__fresh_files_are_left_out),
        cmocka_unit_test(test_hash_cache__corrupt_any_byte),
        cmocka_unit_test(test_hash_cache__corrupt_order),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
