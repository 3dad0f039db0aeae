/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "inspect.h"
#include "json.h"
#include "table.h"
#include "value.h"

enum { NAME_WIDTH = 32 };

const char *size_text(uint64_t bytes, char *text, size_t len)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double size = (double)bytes;
    int unit = 0;

    for (; size >= 1024 && unit < 4; unit++)
        size /= 1024;
    snprintf(text, len, unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]);
    return text;
}

static double share(uint64_t part, uint64_t whole)
{
    return whole != 0 ? (double)part / (double)whole : 0;
}

static void print_columns(const struct lmn_table_report *report, uint64_t bytes, bool largest)
{
    char stored[32], plain[32], value[32];
    struct text name = { 0 };

    printf("\n  %-32s %12s %8s %12s %8s %10s%s\n", "column", "bytes", "share", "in memory", "ratio",
           "pages", largest ? "      largest" : "");
    for (uint64_t i = 0; i < report->column_count; i++) {
        const struct lmn_table_column_report *column = &report->column[i];

        printf("  %s %12s %7.1f%% %12s %8.2f %10llu",
               people_column(&name, column->name, NAME_WIDTH),
               size_text(column->bytes, stored, sizeof stored), 100 * share(column->bytes, bytes),
               size_text(column->plain_bytes, plain, sizeof plain),
               share(column->plain_bytes, column->bytes), (unsigned long long)column->page_count);
        if (largest)
            printf(" %12s", size_text(column->value_bytes_max, value, sizeof value));
        printf("\n");
    }
    text_free(&name);
}

static void print_fragments(const struct lmn_table_report *report)
{
    char stored[32], value[32];
    struct text name = { 0 };

    printf("\n  %10s %12s %12s %8s %12s %12s  %s\n", "fragment", "rows", "deleted", "files",
           "bytes", "largest", "column");
    for (uint64_t i = 0; i < report->info.fragment_count; i++) {
        const struct lmn_fragment_report *fragment = &report->fragment[i];

        printf("  %10llu %12llu %12llu %8llu %12s\n", (unsigned long long)fragment->id,
               (unsigned long long)fragment->row_count, (unsigned long long)fragment->deleted_count,
               (unsigned long long)fragment->file_count,
               size_text(fragment->bytes, stored, sizeof stored));
        for (uint64_t k = 0; k < report->column_count; k++) {
            const struct lmn_fragment_column_report *column = &fragment->column[k];

            printf("  %10s %12s %12s %8s %12s %12s  %s\n", "", "", "", "",
                   size_text(column->bytes, stored, sizeof stored),
                   size_text(column->value_bytes_max, value, sizeof value),
                   people_text(&name, column->name));
        }
    }
    text_free(&name);
}

static void print_text(const char *path, const struct lmn_table_report *report, bool fragments)
{
    const struct lmn_table_info *info = &report->info;
    uint64_t bytes = 0;
    struct text name = { 0 };
    char stored[32];

    for (uint64_t i = 0; i < info->fragment_count; i++)
        bytes += report->fragment[i].bytes;
    printf("%s: version %llu, %llu rows in %llu fragments, %s in %llu files of version %s\n",
           people_text(&name, path), (unsigned long long)info->version,
           (unsigned long long)info->row_count, (unsigned long long)info->fragment_count,
           size_text(bytes, stored, sizeof stored), (unsigned long long)info->file_count,
           info->file_version);
    printf("  %llu deleted rows are still in the files; row ids are %s\n",
           (unsigned long long)info->deleted_count, info->stable_row_ids ? "stable" : "addresses");
    print_columns(report, bytes, fragments);
    if (fragments)
        print_fragments(report);
    text_free(&name);
}

static void print_columns_json(const struct lmn_table_report *report, bool largest)
{
    json_open("columns", '[');
    for (uint64_t i = 0; i < report->column_count; i++) {
        json_open(NULL, '{');
        json_text("name", report->column[i].name);
        json_number("bytes", report->column[i].bytes);
        json_number("plain_bytes", report->column[i].plain_bytes);
        json_number("pages", report->column[i].page_count);
        json_number("page_rows_max", report->column[i].page_rows_max);
        if (largest)
            json_number("value_bytes_max", report->column[i].value_bytes_max);
        json_close('}');
    }
    json_close(']');
}

static void print_fragment_json(const struct lmn_fragment_report *fragment, uint64_t column_count)
{
    json_open(NULL, '{');
    json_number("id", fragment->id);
    json_number("rows", fragment->row_count);
    json_number("deleted_rows", fragment->deleted_count);
    json_number("files", fragment->file_count);
    json_number("bytes", fragment->bytes);
    if (fragment->column != NULL) {
        json_open("columns", '[');
        for (uint64_t i = 0; i < column_count; i++) {
            json_open(NULL, '{');
            json_text("name", fragment->column[i].name);
            json_number("bytes", fragment->column[i].bytes);
            json_number("value_bytes_max", fragment->column[i].value_bytes_max);
            json_close('}');
        }
        json_close(']');
    }
    json_close('}');
}

static void print_json(const char *path, const struct lmn_table_report *report, bool fragments)
{
    const struct lmn_table_info *info = &report->info;

    json_open(NULL, '{');
    json_text("table", path);
    json_number("version", info->version);
    json_number("rows", info->row_count);
    json_number("deleted_rows", info->deleted_count);
    json_number("files", info->file_count);
    json_text("data_version", info->file_version);
    json_bool("stable_row_ids", info->stable_row_ids);
    print_columns_json(report, fragments);
    json_open("fragments", '[');
    for (uint64_t i = 0; i < info->fragment_count; i++)
        print_fragment_json(&report->fragment[i], report->column_count);
    json_close(']');
    json_close('}');
    json_end();
}

int inspect_table(const char *path, const char *version, bool fragments, bool json)
{
    const struct lmn_inspect_options options = { .fragment_columns = fragments,
                                                 .largest_values = fragments };
    struct lmn_table_report report;
    struct lmn_table *table;
    struct lmn_error err;
    enum lmn_status st = open_table(path, version, &table, &err);

    if (st == LMN_OK)
        st = lmn_table_inspect(table, &options, &report, &err);
    lmn_table_release(table);
    if (st != LMN_OK)
        return fail(&err);
    if (json)
        print_json(path, &report, fragments);
    else
        print_text(path, &report, fragments);
    lmn_table_report_free(&report);
    return EXIT_DONE;
}
