/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tags: names that are given, moved and taken away, and files that are not as they should be.
 */
#include "table/tags.h"

#include <stdio.h>
#include <string.h>

#include "keyed_rows.h"
#include "stores.h"

static const struct keyed_row rows[] = { { 1, 10, "a" }, { 2, 20, "b" } };

/* A table of two versions. */
static struct lmn_table *make_table(struct lmn_store *store)
{
    struct lmn_table *table = keyed_table(store, rows, 2, NULL);

    CHECK_OK(lmn_table_delete(table, "id = 1", NULL, NULL));
    return table;
}

static uint64_t version_of(struct lmn_store *store, const char *name)
{
    struct lmn__tag tag;
    struct lmn_error err = { 0 };

    CHECK_STATUS(lmn__tag_read(store, name, &tag, &err), LMN_OK, &err);
    CHECK_STR(tag.name, name);
    CHECK_STR(tag.branch, "");
    CHECK(tag.manifest_bytes > 0);
    return tag.version;
}

static void test_tags__given_moved_removed(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make_table(store), *tagged;
    const struct lmn_table_options options = { .tag = "v1.0-final_2" };
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_table_tag(table, options.tag, 1, false, &err), LMN_OK, &err);
    CHECK_EQ(version_of(store, options.tag), 1);
    CHECK_STATUS(lmn_table_open(store, &options, &tagged, &err), LMN_OK, &err);
    CHECK_EQ(lmn_table_version(tagged), 1);
    lmn_table_release(tagged);
    CHECK_STATUS(lmn_table_tag(table, options.tag, 2, false, &err), LMN_E_EXISTS, &err);
    CHECK_HAS(err.message, options.tag);
    CHECK_EQ(version_of(store, options.tag), 1);
    CHECK_STATUS(lmn_table_tag(table, options.tag, 0, true, &err), LMN_OK, &err);
    CHECK_EQ(version_of(store, options.tag), 2);
    CHECK_STATUS(lmn_table_tag(table, "other", 9, false, &err), LMN_E_NOT_FOUND, &err);
    CHECK_STATUS(lmn_table_untag(table, options.tag, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_untag(table, options.tag, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, options.tag);
    CHECK_STATUS(lmn_table_open(store, &options, &tagged, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, options.tag);
    CHECK_EQ(test_store_count(store, "_refs/tags"), 0);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* Also the version that the table stands at may be gone. */
static void test_tags__of_a_version_that_was_cleaned_up(void **state)
{
    const struct lmn_cleanup_options all = { .older_than_us = INT64_MAX };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = keyed_table(store, rows, 2, NULL), *other;
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_STATUS(lmn_table_open(store, NULL, &other, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_delete(other, "id = 1", NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_cleanup(other, &all, NULL, &err), LMN_OK, &err);
    CHECK_STATUS(lmn_table_tag(table, "gone", 0, false, &err), LMN_E_NOT_FOUND, &err);
    CHECK_HAS(err.message, "no version 1");
    CHECK_EQ(test_store_count(store, "_refs/tags"), 0);
    lmn_table_release(other);
    lmn_table_release(table);
    lmn_store_release(store);
}

static void test_tags__list(void **state)
{
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make_table(store);
    struct lmn_tag_list list;
    struct lmn_error err = { 0 };
    char name[16];

    (void)state;
    CHECK_STATUS(lmn_table_tags(table, &list, &err), LMN_OK, &err);
    CHECK_EQ(list.count, 0);
    lmn_tag_list_free(&list);
    for (int i = 39; i >= 0; i--) {
        snprintf(name, sizeof name, "tag-%02d", i * 7 % 40);
        CHECK_OK(lmn_table_tag(table, name, (uint64_t)i % 2 + 1, false, &err));
    }
    /* Files of other kinds are no tags. */
    test_store_write(store, "_refs/tags/readme.txt", "x", 1);
    test_store_write(store, "_refs/tags/.json", "x", 1);
    test_store_write(store, "_refs/tags/folder.json/file", "x", 1);
    CHECK_STATUS(lmn_table_tags(table, &list, &err), LMN_OK, &err);
    CHECK_EQ(list.count, 40);
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof name, "tag-%02d", i);
        CHECK_STR(list.entry[i].name, name);
        CHECK_STR(list.entry[i].branch, "");
        CHECK_EQ(list.entry[i].version, version_of(store, name));
    }
    lmn_tag_list_free(&list);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static void test_tags__names(void **state)
{
    static const char *const good[] = { "a", "A.b", "1", "_x", "-", "a.b.c" };
    static const char *const bad[] = { "",    ".",   ".a", "a..b", "a/b", "../a",
                                       "a b", "a\n", "ä",  "a%",   "a\\b" };
    struct lmn_store *store = test_store_memory();
    struct lmn_table *table = make_table(store);
    struct lmn__tag tag;
    struct lmn_error err = { 0 };
    char name[LMN__TAG_NAME_BYTES + 1];

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
        CHECK_STATUS(lmn__tag_check_name(good[i], &err), LMN_OK, &err);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_STATUS(lmn__tag_check_name(bad[i], &err), LMN_E_INVALID, &err);
        CHECK_HAS(err.message, bad[i]);
        CHECK_STATUS(lmn_table_tag(table, bad[i], 1, true, &err), LMN_E_INVALID, &err);
        CHECK_STATUS(lmn_table_untag(table, bad[i], &err), LMN_E_INVALID, &err);
        CHECK_STATUS(lmn__tag_read(store, bad[i], &tag, &err), LMN_E_INVALID, &err);
    }
    memset(name, 'n', sizeof name);
    name[LMN__TAG_NAME_BYTES] = '\0';
    CHECK_STATUS(lmn_table_tag(table, name, 1, false, &err), LMN_E_INVALID, &err);
    name[LMN__TAG_NAME_BYTES - 1] = '\0';
    CHECK_STATUS(lmn_table_tag(table, name, 1, false, &err), LMN_OK, &err);
    CHECK_EQ(version_of(store, name), 1);
    lmn_table_release(table);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

static const struct {
    const char *text;
    enum lmn_status status;
    const char *part; /* of the message; of a good one the branch */
} files[] = {
    { "{\"branch\":null,\"version\":3,\"manifestSize\":99}", LMN_OK, "" },
    { "{\"version\":3}", LMN_OK, "" },
    { "{\"version\":3,\"branch\":\"dev/\\\"x\\\"\",\"other\":[{}]}", LMN_OK, "dev/\"x\"" },
    { "", LMN_E_CORRUPT, "no JSON object" },
    { "{\"version\":3", LMN_E_CORRUPT, "no JSON object" },
    { "{\"version\":3}{", LMN_E_CORRUPT, "no JSON object" },
    { "{}", LMN_E_CORRUPT, "names no version" },
    { "{\"version\":-3}", LMN_E_CORRUPT, "names no version" },
    { "{\"version\":\"3\"}", LMN_E_CORRUPT, "names no version" },
    { "{\"version\":99999999999999999999}", LMN_E_CORRUPT, "names no version" },
    { "{\"version\":3,\"manifestSize\":null}", LMN_E_CORRUPT, "manifestSize" },
    { "{\"version\":3,\"branch\":\"\\u0041\"}", LMN_E_CORRUPT, "branch" },
    { "{\"version\":3,\"branch\":7}", LMN_E_CORRUPT, "branch" },
};

static void test_tags__corrupt_files(void **state)
{
    struct lmn_store *store = test_store_memory();

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct lmn__tag tag;
        struct lmn_error err = { 0 };

        test_store_write(store, "_refs/tags/one.json", files[i].text, strlen(files[i].text));
        CHECK_STATUS(lmn__tag_read(store, "one", &tag, &err), files[i].status, &err);
        if (files[i].status == LMN_OK) {
            CHECK_EQ(tag.version, 3);
            CHECK_STR(tag.branch, files[i].part);
        } else {
            CHECK_HAS(err.message, "tag \"one\"");
            CHECK_HAS(err.message, files[i].part);
        }
        CHECK_OK(store->ops->remove(store, "_refs/tags/one.json", &err));
    }
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

/* The calls of the fault loop. */
static enum lmn_status call(struct lmn_table *table, int which, struct lmn_error *err)
{
    struct lmn_tag_list list;
    enum lmn_status st;

    switch (which) {
    case 0:
        return lmn_table_tag(table, "one", 1, true, err);
    case 1:
        st = lmn_table_tags(table, &list, err);
        CHECK(st != LMN_OK || list.count == 1);
        lmn_tag_list_free(&list);
        return st;
    default:
        return lmn_table_untag(table, "one", err);
    }
}

/* A tag that is moved is never gone, whatever fails. */
static void test_tags__faults(void **state)
{
    struct lmn_store *store = test_store_memory(), *faulty;
    struct lmn_table *table = make_table(store);
    struct lmn_error err = { 0 };

    (void)state;
    CHECK_OK(lmn_table_tag(table, "one", 2, false, &err));
    lmn_table_release(table);
    faulty = test_store_faulty(store);
    CHECK_OK(lmn_table_open(faulty, NULL, &table, &err));
    for (int which = 0; which < 3; which++) {
        bool fired = true;

        for (uint64_t nth = 1; fired; nth++) {
            enum lmn_status st;

            err.message[0] = '\0';
            fault_arm(FAULT_ALLOC | FAULT_STORE, nth);
            st = call(table, which, &err);
            fired = fault_fired();
            fault_disarm();
            CHECK(st == LMN_OK || (fired && (st == LMN_E_NO_MEMORY || st == LMN_E_IO)));
            CHECK(st == LMN_OK || err.message[0] != '\0');
            if (which < 2)
                CHECK(version_of(store, "one") == (which == 0 && st != LMN_OK ? 2 : 1) || fired);
            else if (fired) /* put back what was removed before its folder was synced */
                CHECK_OK(lmn_table_tag(table, "one", 1, true, &err));
        }
    }
    CHECK_EQ(test_store_count(store, "_refs/tags"), 0);
    lmn_table_release(table);
    lmn_store_release(faulty);
    lmn_store_release(store);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest cases[] = {
        cmocka_unit_test(test_tags__given_moved_removed),
        cmocka_unit_test(test_tags__of_a_version_that_was_cleaned_up),
        cmocka_unit_test(test_tags__list),
        cmocka_unit_test(test_tags__names),
        cmocka_unit_test(test_tags__corrupt_files),
        cmocka_unit_test(test_tags__faults),
    };

    return cmocka_run_group_tests(cases, NULL, NULL);
}
