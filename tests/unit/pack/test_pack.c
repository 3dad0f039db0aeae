/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans, archives and unpacking: what is shipped is what was there, by content, and only once.
 *
 * labels: threads
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "folders.h"
#include "os/file.h"
#include "pack/pack.h"
#include "stores.h"

/* A folder to plan, one for hashes, one to unpack to. */
struct place {
    char *top;
    char root[300], cache[300], target[300];
};

static struct place place_make(void)
{
    struct place place = { .top = test_dir_make() };

    snprintf(place.root, sizeof place.root, "%s/code", place.top);
    snprintf(place.cache, sizeof place.cache, "%s/cache", place.top);
    snprintf(place.target, sizeof place.target, "%s/target", place.top);
    CHECK_OK(lmn__dir_make(place.root, NULL));
    return place;
}

static char *ship(struct lmn_pack *pack, struct lmn_store *store)
{
    struct lmn_error err = { 0 };
    char *text;

    CHECK_STATUS(lmn_pack_ship(pack, store, &text, &err), LMN_OK, &err);
    return text;
}

static size_t shipped_count(struct lmn_pack *pack, struct lmn_store *store)
{
    char *text = ship(pack, store);
    size_t count = pack->archives.count - (size_t)folder_number(text, "there");

    lmn_text_free(text);
    return count;
}

static char *unpack(const struct lmn_pack *pack, struct lmn_store *store, const char *folder)
{
    struct lmn_pack_archive archive[100];
    struct lmn_error err = { 0 };
    char *path;

    CHECK(pack->archives.count <= 100);
    for (size_t i = 0; i < pack->archives.count; i++)
        archive[i] = (struct lmn_pack_archive){ pack->archives.archive[i].hash,
                                                pack->archives.archive[i].bytes };
    CHECK_STATUS(lmn_pack_unpack(store, folder, archive, pack->archives.count, &path, &err), LMN_OK,
                 &err);
    return path;
}

static void test_pack__round_trip(void **state)
{
    struct place place = place_make();
    struct lmn_store *store = test_store_memory();
    struct lmn_pack *pack;
    char long_path[300], program[400];
    struct stat info;
    char *path;

    (void)state;
    memset(long_path, 'd', sizeof long_path);
    for (size_t i = 50; i < sizeof long_path; i += 50)
        long_path[i] = '/';
    long_path[290] = '\0';
    folder_write(place.root, "a.py", "import b\n");
    folder_write(place.root, "pkg/__init__.py", "");
    folder_write(place.root, "pkg/deep/er/x.py", "x = 1\n");
    folder_write(place.root, "run.sh", "echo\n");
    folder_write(place.root, long_path, "far\n");
    snprintf(program, sizeof program, "%s/run.sh", place.root);
    CHECK_EQ(chmod(program, 0755), 0);
    pack = folder_pack(place.root, LMN_PACK_WORKSPACE, place.cache);
    CHECK_EQ(pack->file_count, 5);
    CHECK_EQ(shipped_count(pack, store), 1);
    CHECK_EQ(shipped_count(pack, store), 0);
    path = unpack(pack, store, place.target);
    CHECK(folder_holds(path, "a.py", "import b\n"));
    CHECK(folder_holds(path, "pkg/__init__.py", ""));
    CHECK(folder_holds(path, "pkg/deep/er/x.py", "x = 1\n"));
    CHECK(folder_holds(path, long_path, "far\n"));
    snprintf(program, sizeof program, "%s/run.sh", path);
    CHECK_EQ(stat(program, &info), 0);
    CHECK_EQ(info.st_mode & 0333, 0111);
    snprintf(program, sizeof program, "%s/a.py", path);
    CHECK_EQ(stat(program, &info), 0);
    CHECK_EQ(info.st_mode & 0333, 0);
    lmn_text_free(path);
    path = unpack(pack, store, place.target); /* it is there */
    lmn_text_free(path);
    lmn_pack_free(pack);
    lmn_store_release(store);
    test_dir_remove(place.top);
    CHECK_EQ(live_allocations(), 0);
}

static void test_pack__left_out(void **state)
{
    struct place place = place_make();
    struct lmn_pack *pack;
    char from[400], to[400];
    char *text;

    (void)state;
    folder_write(place.root, "a.py", "1");
    folder_write(place.root, "work.ipynb", "{}");
    folder_write(place.root, "__pycache__/a.pyc", "x");
    folder_write(place.root, "env/pyvenv.cfg", "home = /usr\n");
    folder_write(place.root, "env/lib/x.py", "x");
    folder_write(place.root, "rows.parquet", "x");
    folder_write(place.root, "secret.txt", "x");
    folder_write(place.root, ".lemanignore", "secret.txt\n!kept.parquet\n");
    folder_write(place.root, "kept.parquet", "x");
    snprintf(from, sizeof from, "%s/a.py", place.root);
    snprintf(to, sizeof to, "%s/link.py", place.root);
    CHECK_EQ(symlink(from, to), 0);
    snprintf(to, sizeof to, "%s/up", place.root);
    CHECK_EQ(symlink(place.top, to), 0);
    pack = folder_pack(place.root, LMN_PACK_WORKSPACE, place.cache);
    CHECK_EQ(pack->file_count, 4); /* a.py, link.py, .lemanignore, kept.parquet */
    CHECK_OK(lmn_pack_text(pack, &text, NULL));
    CHECK_EQ(folder_number(text, "left_out_count"), 6);
    CHECK_HAS(text, "{\"path\": \"work.ipynb\", \"reason\": \"notebook\", \"bytes\": 2}");
    CHECK_HAS(text, "{\"path\": \"env\", \"reason\": \"virtual environment\", \"bytes\": 0}");
    CHECK_HAS(text, "{\"path\": \"up\", \"reason\": \"link to a folder\", \"bytes\": 0}");
    CHECK_HAS(text,
              "{\"path\": \"secret.txt\", \"reason\": \".lemanignore: secret.txt\", \"bytes\": 1}");
    lmn_text_free(text);
    lmn_pack_free(pack);
    test_dir_remove(place.top);
}

/* Files of 10 KB in 8 folders: several archives. */
static void write_many(const char *root)
{
    char path[100];

    for (int i = 0; i < 800; i++) {
        snprintf(path, sizeof path, "pkg%d/mod%d.py", i % 8, i);
        folder_write_random(root, path, 10000, (uint64_t)i + 1);
    }
}

static void test_pack__one_change_ships_one_archive(void **state)
{
    struct place place = place_make();
    struct lmn_store *store = test_store_memory();
    struct lmn_pack *pack;
    size_t before;
    char *text, *path;

    (void)state;
    write_many(place.root);
    pack = folder_pack(place.root, LMN_PACK_WORKSPACE, place.cache);
    before = pack->archives.count;
    CHECK(before > 3);
    CHECK_EQ(pack->hashed_count, 800);
    CHECK_EQ(shipped_count(pack, store), before);
    lmn_pack_free(pack);

    folder_write(place.root, "pkg3/mod3.py", "print()\n");
    pack = folder_pack(place.root, LMN_PACK_WORKSPACE, place.cache);
    CHECK_EQ(pack->hashed_count, 1);
    CHECK_EQ(pack->archives.count, before);
    text = ship(pack, store);
    CHECK_EQ(folder_number(text, "there"), before - 1);
    CHECK(folder_number(text, "shipped_bytes") < 3 << 20);
    lmn_text_free(text);
    path = unpack(pack, store, place.target);
    CHECK(folder_holds(path, "pkg3/mod3.py", "print()\n"));
    lmn_text_free(path);
    lmn_pack_free(pack);
    lmn_store_release(store);
    test_dir_remove(place.top);
}

static void test_pack__fresh_files_are_read_again(void **state)
{
    struct place place = place_make();
    struct lmn_pack *pack;
    char path[400];

    (void)state;
    folder_write(place.root, "a.py", "1");
    snprintf(path, sizeof path, "%s/a.py", place.root);
    CHECK_EQ(utimensat(AT_FDCWD, path, NULL, 0), 0); /* it may change within this tick */
    for (int i = 0; i < 2; i++) {
        pack = folder_pack(place.root, LMN_PACK_WORKSPACE, place.cache);
        CHECK_EQ(pack->hashed_count, 1);
        lmn_pack_free(pack);
    }
    test_dir_remove(place.top);
}

static void test_pack__too_much(void **state)
{
    struct place place = place_make();
    const struct lmn_pack_path path = { place.root, LMN_PACK_WORKSPACE, false };
    const struct lmn_pack_options options = { .cache_folder = place.cache, .bytes_max = 1000 };
    struct lmn_store *store = test_store_memory();
    struct lmn_pack *pack;
    struct lmn_error err = { 0 };
    char expected[800];
    char *text;

    (void)state;
    folder_write_random(place.root, "a/b/c/huge.dat", 5000, 1);
    folder_write_random(place.root, "small.py", 10, 2);
    CHECK_STATUS(lmn_pack_scan(test_env(), &path, 1, &options, &pack, &err), LMN_OK, &err);
    CHECK(lmn_pack_is_over(pack));
    CHECK_EQ(pack->hashed_count, 0);
    CHECK_OK(lmn_pack_text(pack, &text, NULL));
    snprintf(expected, sizeof expected,
             "\"largest\": [{\"path\": \"%s/a/b/c/huge.dat\", \"bytes\": 5000}, "
             "{\"path\": \"%s/small.py\", \"bytes\": 10}]",
             place.root, place.root);
    CHECK_HAS(text, expected);
    lmn_text_free(text);
    CHECK_STATUS(lmn_pack_ship(pack, store, &text, &err), LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "5010 bytes");
    lmn_pack_free(pack);
    lmn_store_release(store);
    test_dir_remove(place.top);
}

static void test_pack__changed_since_planned(void **state)
{
    struct place place = place_make();
    struct lmn_store *store = test_store_memory();
    struct lmn_pack *pack;
    struct lmn_error err = { 0 };
    char path[400];
    char *text;

    (void)state;
    folder_write(place.root, "a.py", "1");
    pack = folder_pack(place.root, LMN_PACK_WORKSPACE, place.cache);
    folder_write(place.root, "a.py", "2");
    CHECK_STATUS(lmn_pack_ship(pack, store, &text, &err), LMN_E_CONFLICT, &err);
    CHECK_HAS(err.message, "a.py changed");
    folder_write(place.root, "a.py", "longer");
    CHECK_STATUS(lmn_pack_ship(pack, store, &text, &err), LMN_E_CONFLICT, &err);
    snprintf(path, sizeof path, "%s/a.py", place.root);
    CHECK_EQ(unlink(path), 0);
    CHECK_STATUS(lmn_pack_ship(pack, store, &text, &err), LMN_E_CONFLICT, &err);
    CHECK_EQ(test_store_count(store, "_leman/env"), 0);
    lmn_pack_free(pack);
    lmn_store_release(store);
    test_dir_remove(place.top);
}

static void test_pack__bad_paths(void **state)
{
    struct lmn_pack_path path = { "/nowhere/at/all", LMN_PACK_OTHER, false };
    struct lmn_pack *pack;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_pack_scan(test_env(), &path, 1, NULL, &pack, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "/nowhere/at/all");
    path.path = "here";
    CHECK_STATUS(lmn_pack_scan(test_env(), &path, 1, NULL, &pack, &err), LMN_E_INVALID, &err);
    path.path = "/dev/null";
    CHECK_STATUS(lmn_pack_scan(test_env(), &path, 1, NULL, &pack, &err), LMN_E_INVALID, &err);
}

static void test_pack__flat_and_file(void **state)
{
    struct place place = place_make();
    struct lmn_pack_path path[2] = { { place.root, LMN_PACK_WORKSPACE, true } };
    const struct lmn_pack_options options = { .cache_folder = place.cache };
    struct lmn_pack *pack;
    char egg[400];

    (void)state;
    folder_write(place.root, "a.py", "1");
    folder_write(place.root, "notes.txt", "1");
    folder_write(place.root, "photos/b.py", "1");
    snprintf(egg, sizeof egg, "%s/notes.txt", place.root);
    path[1] = (struct lmn_pack_path){ egg, LMN_PACK_OTHER, false };
    CHECK_OK(lmn_pack_scan(test_env(), path, 2, &options, &pack, NULL));
    CHECK_EQ(pack->tree[0].count, 1);
    CHECK_STR(pack->tree[1].file[0].path, "notes.txt");
    lmn_pack_free(pack);
    test_dir_remove(place.top);
}

static void test_pack__same_content_same_bytes(void **state)
{
    struct place one = place_make(), two = place_make();
    struct lmn_store *a = test_store_memory(), *b = test_store_memory();
    struct lmn_pack *first, *second;
    static char left[100000], right[100000];
    char path[200];
    int64_t len;

    (void)state;
    folder_write(one.root, "x/a.py", "1");
    folder_write(one.root, "b.py", "2");
    folder_write(two.root, "b.py", "2");
    folder_write(two.root, "x/a.py", "1");
    first = folder_pack(one.root, LMN_PACK_WORKSPACE, one.cache);
    second = folder_pack(two.root, LMN_PACK_OTHER, two.cache);
    CHECK_STR(first->archives.archive[0].hash, second->archives.archive[0].hash);
    lmn_text_free(ship(first, a));
    lmn_text_free(ship(second, b));
    snprintf(path, sizeof path, "_leman/env/%s", first->archives.archive[0].hash);
    len = test_store_read(a, path, left, sizeof left);
    CHECK_EQ(test_store_read(b, path, right, sizeof right), len);
    CHECK_BYTES(left, right, (size_t)len);
    lmn_pack_free(first);
    lmn_pack_free(second);
    lmn_store_release(a);
    lmn_store_release(b);
    test_dir_remove(one.top);
    test_dir_remove(two.top);
}

static void test_pack__texts(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_error err = { 0 };
    char hash[65], name[80];
    char *text;

    (void)state;
    CHECK_OK(lmn_pack_put(store, "{\"a\":1}", hash, &err));
    CHECK_OK(lmn_pack_put(store, "{\"a\":1}", hash, &err));
    CHECK_OK(lmn_pack_get(store, hash, &text, &err));
    CHECK_STR(text, "{\"a\":1}");
    lmn_text_free(text);
    CHECK_OK(lmn_pack_list(store, &text, &err));
    CHECK_HAS(text, hash);
    CHECK_EQ(folder_number(text, "bytes"), 7);
    lmn_text_free(text);
    snprintf(name, sizeof name, "%s.json", hash);
    CHECK_OK(lmn_pack_remove(store, name, &err));
    CHECK_STATUS(lmn_pack_get(store, hash, &text, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_pack_get(store, "../../x", &text, &err), LMN_E_INVALID, &err);
    CHECK_STATUS(lmn_pack_remove(store, "../x", &err), LMN_E_INVALID, &err);
    lmn_store_release(store);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pack__round_trip),
        cmocka_unit_test(test_pack__left_out),
        cmocka_unit_test(test_pack__one_change_ships_one_archive),
        cmocka_unit_test(test_pack__fresh_files_are_read_again),
        cmocka_unit_test(test_pack__too_much),
        cmocka_unit_test(test_pack__changed_since_planned),
        cmocka_unit_test(test_pack__bad_paths),
        cmocka_unit_test(test_pack__flat_and_file),
        cmocka_unit_test(test_pack__same_content_same_bytes),
        cmocka_unit_test(test_pack__texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
