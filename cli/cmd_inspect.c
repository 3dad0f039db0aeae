/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "inspect.h"
#include "json.h"
#include "table.h"
#include "value.h"
#include "version.h"

/* Pages of a column that are listed unless all are asked for. */
enum { PAGES_SHOWN = 4 };

static double ratio(const struct lmn_column_report *column)
{
    return column->bytes != 0 ? (double)column->plain_bytes / (double)column->bytes : 0;
}

static void print_page(uint32_t index, const struct lmn_page_report *page)
{
    char size[32];

    printf("    page %-4u rows %llu..%llu  %s at %llu in %u buffers  %s: %s\n", index,
           (unsigned long long)page->row_start,
           (unsigned long long)(page->row_start + page->row_count),
           size_text(page->bytes, size, sizeof size), (unsigned long long)page->position,
           page->buffer_count, page->layout, page->encoding);
}

static void print_column(uint32_t index, const struct lmn_column_report *column, bool all_pages)
{
    struct text path = { 0 }, type = { 0 };
    char stored[32], plain[32];
    uint32_t shown = all_pages || column->page_count <= PAGES_SHOWN ? column->page_count
                                                                    : PAGES_SHOWN - 1;

    printf("\n  column %u  %s  %s%s\n", index, people_text(&path, column->path),
           people_text(&type, column->type), column->nullable ? "" : " not null");
    printf("    %u pages, %s for %s%s of values", column->page_count,
           size_text(column->bytes, stored, sizeof stored),
           column->plain_is_estimate ? "about " : "",
           size_text(column->plain_bytes, plain, sizeof plain));
    if (column->bytes != 0)
        printf(" (%.2f : 1)", ratio(column));
    if (column->zone_count != 0)
        printf(", statistics of %llu zones", (unsigned long long)column->zone_count);
    printf("\n");
    for (uint32_t i = 0; i < shown; i++)
        print_page(i, &column->page[i]);
    if (shown < column->page_count) {
        printf("    ... %u more (--pages shows all)\n", column->page_count - shown - 1);
        print_page(column->page_count - 1, &column->page[column->page_count - 1]);
    }
    text_free(&path);
    text_free(&type);
}

static void print_text(const char *path, const struct lmn_file_report *report, bool all_pages)
{
    struct text name = { 0 };
    char size[32];

    printf("%s: Lance file %s, %llu rows, %u columns, %s\n", people_text(&name, path),
           report->version, (unsigned long long)report->row_count, report->column_count,
           size_text(report->bytes, size, sizeof size));
    printf("  footer: column metadata at %llu, its table at %llu, %u global buffers in a table at "
           "%llu\n",
           (unsigned long long)report->column_metadata_position,
           (unsigned long long)report->column_table_position, report->global_buffer_count,
           (unsigned long long)report->global_table_position);
    if (report->statistics_bytes != 0)
        printf("  statistics: %s\n", size_text(report->statistics_bytes, size, sizeof size));
    for (uint32_t i = 0; i < report->column_count; i++)
        print_column(i, &report->column[i], all_pages);
    text_free(&name);
}

static void print_column_json(const struct lmn_column_report *column)
{
    json_open(NULL, '{');
    json_text("path", column->path);
    json_text("type", column->type);
    json_bool("nullable", column->nullable);
    json_number("rows", column->row_count);
    json_number("bytes", column->bytes);
    json_number("metadata_bytes", column->metadata_bytes);
    json_number("plain_bytes", column->plain_bytes);
    json_bool("plain_is_estimate", column->plain_is_estimate);
    json_real("compression_ratio", ratio(column));
    json_number("statistics_zones", column->zone_count);
    json_open("pages", '[');
    for (uint32_t i = 0; i < column->page_count; i++) {
        const struct lmn_page_report *page = &column->page[i];

        json_open(NULL, '{');
        json_number("row_start", page->row_start);
        json_number("rows", page->row_count);
        json_number("position", page->position);
        json_number("bytes", page->bytes);
        json_number("buffers", page->buffer_count);
        json_text("layout", page->layout);
        json_text("encoding", page->encoding);
        json_close('}');
    }
    json_close(']');
    json_close('}');
}

static void print_json(const char *path, const struct lmn_file_report *report)
{
    json_open(NULL, '{');
    json_text("file", path);
    json_text("version", report->version);
    json_number("bytes", report->bytes);
    json_number("rows", report->row_count);
    json_open("footer", '{');
    json_number("column_metadata_position", report->column_metadata_position);
    json_number("column_table_position", report->column_table_position);
    json_number("global_table_position", report->global_table_position);
    json_number("global_buffers", report->global_buffer_count);
    json_close('}');
    json_number("statistics_bytes", report->statistics_bytes);
    json_open("columns", '[');
    for (uint32_t i = 0; i < report->column_count; i++)
        print_column_json(&report->column[i]);
    json_close(']');
    json_close('}');
    json_end();
}

static int inspect_file(const char *path, bool pages, bool json)
{
    const struct lmn_file_report *report = NULL;
    struct lmn_file *file = NULL;
    struct lmn_error err;
    enum lmn_status st = open_file(path, &file, &err);

    if (st == LMN_OK)
        st = lmn_file_inspect(file, &report, &err);
    lmn_file_release(file);
    if (st != LMN_OK)
        return fail(&err);
    if (json)
        print_json(path, report);
    else
        print_text(path, report, pages);
    lmn_file_report_free(report);
    return EXIT_DONE;
}

static int run(int argc, char **argv)
{
    const char *version = NULL;
    bool json = false, pages = false, fragments = false;
    const struct argument options[] = {
        { "json", ARGUMENT_FLAG, &json },
        { "pages", ARGUMENT_FLAG, &pages },
        { "fragments", ARGUMENT_FLAG, &fragments },
        { "version", ARGUMENT_TEXT, &version },
        { NULL, ARGUMENT_FLAG, NULL },
    };
    bool of_table;
    int rest, code = arguments_read(&cmd_inspect, options, argc, argv, &rest);

    if (code != EXIT_DONE)
        return code;
    if (argc - rest != 1)
        return usage(&cmd_inspect, "one file or table is wanted, not %d", argc - rest);
    of_table = fragments || version != NULL;
    if (path_is_folder(argv[rest]) || (of_table && !path_exists(argv[rest])))
        return pages ? usage(&cmd_inspect, "--pages is for files, not for tables")
                     : inspect_table(argv[rest], version, fragments, json);
    return of_table ? usage(&cmd_inspect, "--fragments and --version are for tables, not for files")
                    : inspect_file(argv[rest], pages, json);
}

const struct command cmd_inspect = {
    "inspect", "show what a Lance file or a table is made of",
    "usage: leman inspect FILE [--pages] [--json]\n"
    "       leman inspect TABLE [--fragments] [--version V] [--json]\n"
    "\n"
    "Shows the footer of a Lance data file and, for every column, its type, its pages with\n"
    "their rows, places, sizes and encodings, and how much smaller it is than in memory. Of a\n"
    "table, the directory of which is given, it shows rows, fragments, and the sizes of its\n"
    "columns, the largest first.\n"
    "\n"
    "  --pages      list all pages of a column, not the first and last only\n"
    "  --fragments  list the fragments of the table with the bytes of their columns and the "
    "largest\n"
    "               value of each; this reads columns whose values differ in size\n"
    "  --version V  another version: " VERSION_HELP
    "  --json       print everything as one JSON object\n",
    run
};
