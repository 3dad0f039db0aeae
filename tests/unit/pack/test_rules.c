/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns: what fits, which of several decides, and what is always left out. */
#include "pack/rules.h"

#include <stdio.h>
#include <string.h>

#include "check.h"

static void add(struct lmn__rules *rules, const char *text)
{
    struct lmn_error err = { 0 };

    CHECK_STATUS(lmn__rules_add(rules, (struct lmn__span){ (const uint8_t *)text, strlen(text) },
                                NULL, &err),
                 LMN_OK, &err);
}

/* Is `path` left out by this file of rules alone? */
static bool left_out(const char *text, const char *path, bool is_folder)
{
    struct lmn__arena arena;
    struct lmn__rules rules = { .arena = &arena };
    bool found;

    lmn__arena_init(&arena, test_env(), 0);
    add(&rules, text);
    found = lmn__rules_reason(&rules, path, is_folder) != NULL;
    lmn__arena_deinit(&arena);
    return found;
}

static void test_rules__patterns(void **state)
{
    static const struct {
        const char *pattern, *path;
        bool is_folder, fits;
    } cases[] = {
        { "*.bin", "a.bin", false, true },
        { "*.bin", "x/y/a.bin", false, true },
        { "*.bin", "a.bin.py", false, false },
        { "/*.bin", "x/a.bin", false, false },
        { "/*.bin", "a.bin", false, true },
        { "data/", "data", true, true },
        { "data/", "data", false, false },
        { "data/", "x/data", true, true },
        { "/data/", "x/data", true, false },
        { "x/data", "x/data", true, true },
        { "x/data", "y/x/data", true, false },
        { "**/data", "y/x/data", true, true },
        { "**/data", "data", true, true },
        { "x/**", "x/y/z", false, true },
        { "x/**", "x", true, false },
        { "x/**/z", "x/z", false, true },
        { "x/**/z", "x/a/b/z", false, true },
        { "x/**/z", "x/a/b/zz", false, false },
        { "x/**/y/**/z", "x/y/y/q/z", false, true },
        { "a?c", "abc", false, true },
        { "a?c", "a/c", false, false },
        { "[a-c]x", "bx", false, true },
        { "[!a-c]x", "bx", false, false },
        { "[]]x", "]x", false, true },
        { "[ab", "[ab", false, true },
        { "a\\*", "a*", false, true },
        { "a\\*", "ab", false, false },
        { "*a*b*c*", "xxaxxbxxcxx", false, true },
        { "*a*b*c*", "xxaxxcxxbxx", false, false },
        { "# a", "# a", false, false },
        { "\n\n  \n", "a", false, false },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (left_out(cases[i].pattern, cases[i].path, cases[i].is_folder) != cases[i].fits)
            check_fail(__FILE__, __LINE__, "\"%s\" and \"%s\"", cases[i].pattern, cases[i].path);
    }
}

static void test_rules__last_decides(void **state)
{
    (void)state;
    CHECK(!left_out("*.bin\n!keep.bin\n", "keep.bin", false));
    CHECK(left_out("*.bin\n!keep.bin\n", "drop.bin", false));
    CHECK(left_out("!keep.bin\n*.bin\n", "keep.bin", false));
    CHECK(!left_out("*.bin \r\n!x/keep.bin\n", "x/keep.bin", false));
}

static void test_rules__hostile_pattern_ends(void **state)
{
    char pattern[1000], path[4000];

    (void)state;
    for (size_t i = 0; i < sizeof pattern - 1; i++)
        pattern[i] = i % 2 == 0 ? '*' : 'a';
    pattern[sizeof pattern - 1] = '\0';
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = 'b';
    path[sizeof path - 2] = '\0';
    CHECK(left_out(pattern, path, false)); /* it ends in a star */
    pattern[sizeof pattern - 2] = 'c';
    CHECK(!left_out(pattern, path, false));
}

static const char *builtin_reason(enum lmn_pack_kind kind, const char *own, const char *path,
                                  bool is_folder)
{
    static char reason[100];
    struct lmn__arena arena;
    struct lmn__rules rules;
    struct lmn_error err = { 0 };
    const char *found;

    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(lmn__rules_init(&rules, &arena, kind, &err), LMN_OK, &err);
    add(&rules, own);
    found = lmn__rules_reason(&rules, path, is_folder);
    snprintf(reason, sizeof reason, "%s", found != NULL ? found : "shipped");
    lmn__arena_deinit(&arena);
    return reason;
}

static void test_rules__builtin(void **state)
{
    (void)state;
    CHECK_STR(builtin_reason(LMN_PACK_WORKSPACE, "", "a/work.ipynb", false), "notebook");
    CHECK_STR(builtin_reason(LMN_PACK_WORKSPACE, "", "a/__pycache__", true), "cache");
    CHECK_STR(builtin_reason(LMN_PACK_WORKSPACE, "", "rows.parquet", false), "data");
    CHECK_STR(builtin_reason(LMN_PACK_WORKSPACE, "", "zoo/pets.lance", true), "table");
    CHECK_STR(builtin_reason(LMN_PACK_OTHER, "", ".git", true), "version control");
    CHECK_STR(builtin_reason(LMN_PACK_WORKSPACE, "", "a/b.py", false), "shipped");
    CHECK_STR(builtin_reason(LMN_PACK_WORKSPACE, "", "config.yaml", false), "shipped");
    CHECK_STR(builtin_reason(LMN_PACK_SITE, "", "numpy/x.npy", false), "shipped");
    CHECK_STR(builtin_reason(LMN_PACK_SITE, "", "numpy/__pycache__", true), "cache");
    CHECK_STR(builtin_reason(LMN_PACK_WORKSPACE, "!tiny.npy", "tiny.npy", false), "shipped");
    CHECK_STR(builtin_reason(LMN_PACK_WORKSPACE, "*.yaml", "config.yaml", false),
              ".lemanignore: *.yaml");
}

static void test_rules__too_long(void **state)
{
    struct lmn__arena arena;
    struct lmn__rules rules = { .arena = &arena };
    struct lmn_error err = { 0 };
    char pattern[2000];

    (void)state;
    memset(pattern, 'a', sizeof pattern);
    lmn__arena_init(&arena, test_env(), 0);
    CHECK_STATUS(lmn__rules_add(&rules, (struct lmn__span){ (uint8_t *)pattern, sizeof pattern },
                                NULL, &err),
                 LMN_E_INVALID, &err);
    CHECK_HAS(err.message, "2000 bytes");
    lmn__arena_deinit(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rules__patterns),
        cmocka_unit_test(test_rules__last_decides),
        cmocka_unit_test(test_rules__hostile_pattern_ends),
        cmocka_unit_test(test_rules__builtin),
        cmocka_unit_test(test_rules__too_long),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
