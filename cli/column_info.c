/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metadata of a column holds a JSON object about its function, and in it the hash of another
 * one that is stored beside the code: source, commit, Python, packages. The table may be of others,
 * so whatever would move the cursor of a terminal is printed as a number.
 *
 * Names and values are those of column_info() in Python.
 */
#include "column_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json.h"
#include "record.h"

enum { NAME_CHARS = 256, HASH_CHARS = 72 };

/* A column's function: texts of the library, freed by column_info_print(), and pieces of them. */
struct info {
    const char *column;
    char *known, *kept, *jobs;
    struct piece function, told, job;
    char hash[HASH_CHARS + 8]; /* as --trust takes it */
};

static void put_character(uint32_t c)
{
    if (c == '\n' || c == '\t' || (c >= ' ' && c < 0x7f))
        putchar((int)c);
    else if (c < 0xa0 || (c >= 0xd800 && c < 0xe000))
        printf("\\x%02x", c);
    else if (c < 0x800)
        printf("%c%c", (int)(0xc0 | c >> 6), (int)(0x80 | (c & 0x3f)));
    else
        printf("%c%c%c", (int)(0xe0 | c >> 12), (int)(0x80 | (c >> 6 & 0x3f)),
               (int)(0x80 | (c & 0x3f)));
}

/* The character of an escape, whose letter is at *at; *at is moved to its last byte. */
static uint32_t escaped(const char **at, const char *end)
{
    static const char letters[] = "n\nt\tr\rb\bf\f";
    char digits[5] = "";
    const char *letter = strchr(letters, **at);

    if (**at == 'u' && end - *at > 4) {
        memcpy(digits, *at + 1, 4);
        *at += 4;
        return (uint32_t)strtoul(digits, NULL, 16);
    }
    return letter != NULL && **at != '\0' ? (uint32_t)letter[1] : (uint32_t)(unsigned char)**at;
}

/* A string of JSON as people read it; other bytes than ASCII are UTF-8 already. */
static void print_text(struct piece value)
{
    const char *end = value.text + value.len - 1;

    if (value.len < 2 || value.text[0] != '"') {
        printf("%.*s", (int)value.len, value.len > 0 ? value.text : "");
        return;
    }
    for (const char *at = value.text + 1; at < end; at++) {
        unsigned char c = (unsigned char)*at;

        if (c == '\\' && at + 1 < end) {
            at++;
            put_character(escaped(&at, end));
        } else if (c == 0xc2 && at + 1 < end && (unsigned char)at[1] < 0xa0) {
            put_character((unsigned char)*++at); /* a control character of two bytes */
        } else if (c >= 0x80) {
            putchar(c);
        } else {
            put_character(c);
        }
    }
}

static bool is_none(struct piece value)
{
    return value.text == NULL || (value.len == 4 && memcmp(value.text, "null", 4) == 0);
}

/* A line about something that is there. */
static void print_line(const char *label, struct piece value)
{
    if (is_none(value))
        return;
    printf("%-13s", label);
    print_text(value);
    putchar('\n');
}

static struct piece job_time(const struct info *info)
{
    struct piece ended = piece_member(info->job, "ended");

    return ended.text != NULL ? ended : piece_member(info->job, "updated");
}

static void print_people(const struct info *info)
{
    struct piece git = piece_member(info->told, "git");
    struct piece source = piece_member(info->told, "source");

    print_line("function", piece_member(info->function, "name"));
    print_line("language", piece_member(info->function, "language"));
    print_line("inputs", piece_member(info->function, "inputs"));
    print_line("version", piece_member(info->function, "version"));
    print_line("hash", piece_of(info->hash));
    print_line("git_commit", piece_member(git, "commit"));
    print_line("git_dirty", piece_member(git, "dirty"));
    print_line("python", piece_member(info->told, "python"));
    print_line("packages", piece_member(info->told, "packages"));
    print_line("secrets", piece_member(info->told, "secrets"));
    print_line("values", piece_member(info->told, "values"));
    print_line("registered", piece_member(info->told, "registered"));
    print_line("job", piece_member(info->job, "id"));
    print_line("time", job_time(info));
    if (source.len > 2 && source.text[0] == '"') {
        putchar('\n');
        print_text(source);
    }
}

/* A value, or what stands for none of its kind. */
static void put_member(const char *key, struct piece value, const char *empty)
{
    if (value.text == NULL)
        value = piece_of(empty);
    json_raw(key, value.text, value.len);
}

static void print_json(const struct info *info)
{
    struct piece git = piece_member(info->told, "git");

    json_open(NULL, '{');
    json_text("column", info->column);
    put_member("function", piece_member(info->function, "name"), "null");
    put_member("language", piece_member(info->function, "language"), "null");
    put_member("inputs", piece_member(info->function, "inputs"), "null");
    put_member("version", piece_member(info->function, "version"), "null");
    json_text("hash", info->hash);
    put_member("source", piece_member(info->told, "source"), "null");
    put_member("helpers", piece_member(info->told, "helpers"), "{}");
    put_member("values", piece_member(info->told, "values"), "{}");
    put_member("secrets", piece_member(info->told, "secrets"), "[]");
    put_member("git_commit", piece_member(git, "commit"), "null");
    put_member("git_dirty", piece_member(git, "dirty"), "null");
    put_member("python", piece_member(info->told, "python"), "null");
    put_member("packages", piece_member(info->told, "packages"), "{}");
    put_member("registered", piece_member(info->told, "registered"), "null");
    put_member("job", piece_member(info->job, "id"), "null");
    put_member("time", job_time(info), "null");
    json_close('}');
    json_end();
}

/* Has the job committed values of the column by this version of its function? */
static bool is_of(struct piece job, const char *column, const char *version)
{
    struct piece fills = piece_member(job, "fills"), fill, name;
    char text[NAME_CHARS];

    if (piece_number(piece_member(job, "rows_committed")) == 0)
        return false;
    while (piece_next(&fills, &fill)) {
        struct piece columns = piece_member(fill, "columns");

        if (strcmp(piece_text(piece_member(fill, "version"), text, sizeof text), version) != 0)
            continue;
        while (piece_next(&columns, &name)) {
            if (strcmp(piece_text(name, text, sizeof text), column) == 0)
                return true;
        }
    }
    return false;
}

static void find_job(struct info *info, struct lmn_table *table, const char *column)
{
    struct piece jobs, job;
    struct lmn_error ignored;
    char version[HASH_CHARS];

    if (lmn_job_records(table, NULL, &info->jobs, &ignored) != LMN_OK)
        return;
    jobs = piece_of(info->jobs);
    piece_text(piece_member(info->function, "version"), version, sizeof version);
    while (info->job.text == NULL && piece_next(&jobs, &job)) {
        if (is_of(job, column, version))
            info->job = job;
    }
}

/* What is kept beside the code; without it the rest is shown. */
static void find_told(struct info *info, struct lmn_table *table)
{
    struct lmn_error ignored;
    char hash[HASH_CHARS];
    uint64_t len;

    piece_text(piece_member(info->function, "info"), hash, sizeof hash);
    if (hash[0] != '\0' &&
        lmn_table_get_function(table, hash, &info->kept, &len, &ignored) == LMN_OK)
        info->told = (struct piece){ info->kept, (size_t)len };
}

enum lmn_status column_info_print(struct lmn_table *table, const char *column, bool json,
                                  struct lmn_error *err)
{
    struct info info = { .column = column };
    char hash[HASH_CHARS];
    enum lmn_status st = lmn_table_function(table, column, &info.known, err);

    if (st == LMN_OK && info.known == NULL)
        st = lmn_fail(err, LMN_E_INVALID, "no function fills column \"%.100s\"", column);
    if (st == LMN_OK) {
        info.function = piece_of(info.known);
        piece_text(piece_member(info.function, "hash"), hash, sizeof hash);
        snprintf(info.hash, sizeof info.hash, "sha256:%s", hash);
        find_told(&info, table);
        find_job(&info, table, column);
        if (json)
            print_json(&info);
        else
            print_people(&info);
    }
    lmn_text_free(info.known);
    lmn_text_free(info.kept);
    lmn_text_free(info.jobs);
    return st;
}
