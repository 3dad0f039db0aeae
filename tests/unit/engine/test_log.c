/* SPDX-License-Identifier: Apache-2.0 */
/* What workers print: cut into lines, kept in files of a job, limited, read back. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "engine/log.h"
#include "stores.h"

#define S 1000000000ull

enum { SAID_CHARS = 1 << 14 };

/* Lines as one text: "[row+rows level]text|". */
static void collect(void *context, const struct lmn__log_line *line)
{
    char *said = context;
    size_t len = strlen(said), room = SAID_CHARS - len;

    if (line->marked && line->has_row)
        snprintf(said + len, room, "[%llu+%llu %s]", (unsigned long long)line->row,
                 (unsigned long long)line->rows, line->level);
    else if (line->marked)
        snprintf(said + len, room, "[%s]", line->level);
    len = strlen(said);
    snprintf(said + len, SAID_CHARS - len, "%.*s%s", (int)line->text.len,
             (const char *)line->text.data, line->cut ? "~" : "|");
}

/* The lines of `text`, given in pieces of every size. */
static void check_lines(const char *text, const char *wanted)
{
    size_t len = strlen(text);

    for (size_t step = 1; step <= len; step++) {
        struct lmn__log_lines lines = { 0 };
        char said[SAID_CHARS] = "";

        for (size_t at = 0; at < len; at += step)
            lmn__log_lines_feed(&lines, text + at, len - at < step ? len - at : step, collect,
                                said);
        lmn__log_lines_end(&lines, collect, said);
        CHECK_STR(said, wanted);
        CHECK_EQ(lines.len, 0);
    }
}

static void test_log_lines__marks(void **state)
{
    (void)state;
    check_lines("one\ntwo\n", "one|two|");
    check_lines("\n\nend", "||end|");
    check_lines("\x1e"
                "7 1 out\x1fhello\n",
                "[7+1 out]hello|");
    check_lines("\x1e- 0 INFO\x1fhello\n", "[INFO]hello|");
    check_lines("half\x1e"
                "18446744073709551609 32 err\x1fwhole\nrest",
                "half|[18446744073709551609+32 err]whole|rest|");
}

static void test_log_lines__carriage_returns(void **state)
{
    (void)state;
    check_lines("10%\r20%\r100%\n", "100%|");
    check_lines("dos\r\nunix\n", "dos|unix|");
    check_lines("\x1e"
                "7 1 out\x1f"
                "10%\r100%\n",
                "[7+1 out]100%|");
}

static void test_log_lines__wrong_marks(void **state)
{
    (void)state;
    check_lines("\x1e\n", "\x1e|");
    check_lines("\x1e"
                "7 out\x1fx\n",
                "\x1e"
                "7 out\x1fx|");
    check_lines("\x1e"
                "7 1 \x1fx\n",
                "\x1e"
                "7 1 \x1fx|");
    check_lines("\x1e"
                "99999999999999999999 1 out\x1fx\n",
                "\x1e"
                "99999999999999999999 1 out\x1fx|");
    check_lines("\x1e"
                "7 1 a-level-that-is-too-long\x1fx\n",
                "\x1e"
                "7 1 a-level-that-is-too-long\x1fx|");
}

static void test_log_lines__long_lines_are_cut(void **state)
{
    struct lmn__log_lines lines = { 0 };
    char text[LMN__LOG_LINE_BYTES + 10], said[SAID_CHARS] = "";

    (void)state;
    memset(text, 'a', sizeof text);
    text[sizeof text - 1] = '\n';
    lmn__log_lines_feed(&lines, text, sizeof text, collect, said);
    lmn__log_lines_feed(&lines, "b\n", 2, collect, said);
    CHECK_EQ(strlen(said), LMN__LOG_LINE_BYTES + 3);
    CHECK(strcmp(said + LMN__LOG_LINE_BYTES, "~b|") == 0);
}

/* A file of a folder as a text. */
static char *read_file(const char *folder, const char *name)
{
    char path[8192], *text = calloc(1, 1 << 24);
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "r");
    if (file != NULL) {
        CHECK(fread(text, 1, (1 << 24) - 1, file) < (1 << 24) - 1);
        fclose(file);
    }
    return text;
}

static uint64_t count(const char *text, const char *part)
{
    uint64_t found = 0;

    for (; (text = strstr(text, part)) != NULL; text += strlen(part))
        found++;
    return found;
}

static void test_log__rows_and_limits(void **state)
{
    struct lmn__log_worker worker = { 0 };
    struct lmn__page page = { 0 };
    char *dir = test_dir_make(), *text;
    struct lmn__log log;

    (void)state;
    lmn__log_init(&log, test_env(), dir, "mine");
    lmn__log_flush(&log); /* nothing was said: no file */
    atomic_store(&page.call_row_id, 40);
    atomic_store(&page.call_count, 8);
    lmn__log_take(&log, &worker, 3, &page, "before\n", 7, S);
    atomic_store(&page.call_began_ns, 1);
    lmn__log_take(&log, &worker, 3, &page, "during \"it\"\n", 12, S);
    for (int i = 0; i < 5000; i++)
        lmn__log_take(&log, &worker, 3, NULL, "more\n", 5, S);
    lmn__log_take(&log, &worker, 3, NULL, "later\nend", 9, 2 * S);
    lmn__log_end(&log, &worker, 3, NULL);
    lmn__log_flush(&log);
    CHECK_EQ(log.error.status, LMN_OK);
    CHECK_STR(worker.last, "end");
    text = read_file(log.folder, "log.jsonl");
    CHECK_EQ(count(text, "\"text\": \"more\""), 1998);
    CHECK_EQ(count(text, "\"dropped\": 3002"), 1);
    CHECK_EQ(count(text, "\"text\": \"later\""), 1);
    CHECK_EQ(count(text, "\"worker\": 3, \"row\": 40, \"rows\": 8, \"level\": \"raw\", "
                         "\"text\": \"during \\\"it\\\"\"}"),
             1);
    CHECK_EQ(log.line_count, 2002);
    CHECK_EQ(log.dropped_count, 3002);
    free(text);
    lmn__log_deinit(&log);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

static void test_log__files_are_bounded(void **state)
{
    struct lmn__log_worker worker = { 0 };
    char *dir = test_dir_make(), *first, *second, line[4001];
    struct lmn__log log;

    (void)state;
    memset(line, 'x', 4000);
    line[4000] = '\n';
    lmn__log_init(&log, test_env(), dir, "mine");
    for (uint64_t i = 0; i < 6000; i++) { /* 24 MB, as fast as is kept */
        lmn__log_take(&log, &worker, 0, NULL, line, sizeof line, (i + 1) * S);
        lmn__log_flush(&log);
    }
    CHECK_EQ(log.error.status, LMN_OK);
    first = read_file(log.folder, "log.1.jsonl");
    second = read_file(log.folder, "log.jsonl");
    CHECK(strlen(first) > 7 << 20 && strlen(first) <= 8 << 20);
    CHECK(strlen(second) > 0 && strlen(second) <= 8 << 20);
    free(first);
    free(second);
    lmn__log_deinit(&log);
    test_dir_remove(dir);
    CHECK_EQ(live_allocations(), 0);
}

static void test_log__faults(void **state)
{
    (void)state;
    for (uint64_t nth = 1;; nth++) {
        struct lmn__log_worker worker = { 0 };
        char *dir = test_dir_make();
        struct lmn__log log;
        bool fired;

        lmn__log_init(&log, test_env(), dir, "mine");
        fault_arm(FAULT_ALLOC, nth);
        lmn__log_take(&log, &worker, 0, NULL, "hello\n", 6, S);
        lmn__log_flush(&log);
        fired = fault_fired();
        fault_disarm();
        CHECK_EQ(log.error.status, fired ? LMN_E_NO_MEMORY : LMN_OK);
        lmn__log_deinit(&log);
        test_dir_remove(dir);
        CHECK_EQ(live_allocations(), 0);
        if (!fired)
            break;
    }
}

static void test_log__no_folder(void **state)
{
    struct lmn__log_worker worker = { 0 };
    struct lmn__log log;

    (void)state;
    lmn__log_init(&log, test_env(), "/proc/none", "mine");
    lmn__log_take(&log, &worker, 0, NULL, "hello\n", 6, S);
    lmn__log_flush(&log);
    CHECK(log.error.status != LMN_OK && strstr(log.error.message, "/proc/none") != NULL);
    lmn__log_take(&log, &worker, 0, NULL, "again\n", 6, S);
    lmn__log_flush(&log); /* says nothing more */
    lmn__log_deinit(&log);
    CHECK_EQ(live_allocations(), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_log_lines__marks),
        cmocka_unit_test(test_log_lines__carriage_returns),
        cmocka_unit_test(test_log_lines__wrong_marks),
        cmocka_unit_test(test_log_lines__long_lines_are_cut),
        cmocka_unit_test(test_log__rows_and_limits),
        cmocka_unit_test(test_log__files_are_bounded),
        cmocka_unit_test(test_log__faults),
        cmocka_unit_test(test_log__no_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
