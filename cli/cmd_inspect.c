/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <stdio.h>

#include "command.h"
#include "json.h"

/* Pages of a column that are listed unless all are asked for. */
enum { PAGES_SHOWN = 4 };

static double ratio(const struct lmn_column_report *column)
{
    return column->bytes != 0 ? (double)column->plain_bytes / (double)column->bytes : 0;
}

static const char *size_text(uint64_t bytes, char *text, size_t len)
{
    static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
    double size = (double)bytes;
    int unit = 0;

    for (; size >= 1024 && unit < 4; unit++)
        size /= 1024;
    snprintf(text, len, unit == 0 ? "%.0f %s" : "%.1f %s", size, units[unit]);
    return text;
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
    char stored[32], plain[32];
    uint32_t shown = all_pages || column->page_count <= PAGES_SHOWN ? column->page_count
                                                                    : PAGES_SHOWN - 1;

    printf("\n  column %u  %s  %s%s\n", index, column->path, column->type,
           column->nullable ? "" : " not null");
    printf("    %u pages, %s for %s%s of values", column->page_count,
           size_text(column->bytes, stored, sizeof stored),
           column->plain_is_estimate ? "about " : "",
           size_text(column->plain_bytes, plain, sizeof plain));
    if (column->bytes != 0)
        printf(" (%.2f : 1)", ratio(column));
    printf("\n");
    for (uint32_t i = 0; i < shown; i++)
        print_page(i, &column->page[i]);
    if (shown < column->page_count) {
        printf("    ... %u more (--pages shows all)\n", column->page_count - shown - 1);
        print_page(column->page_count - 1, &column->page[column->page_count - 1]);
    }
}

static void print_text(const char *path, const struct lmn_file_report *report, bool all_pages)
{
    char size[32];

    printf("%s: Lance file %s, %llu rows, %u columns, %s\n", path, report->version,
           (unsigned long long)report->row_count, report->column_count,
           size_text(report->bytes, size, sizeof size));
    printf("  footer: column metadata at %llu, its table at %llu, %u global buffers in a table at "
           "%llu\n",
           (unsigned long long)report->column_metadata_position,
           (unsigned long long)report->column_table_position, report->global_buffer_count,
           (unsigned long long)report->global_table_position);
    for (uint32_t i = 0; i < report->column_count; i++)
        print_column(i, &report->column[i], all_pages);
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
    json_open("columns", '[');
    for (uint32_t i = 0; i < report->column_count; i++)
        print_column_json(&report->column[i]);
    json_close(']');
    json_close('}');
    printf("\n");
}

static int run(int argc, char **argv)
{
    static const struct option options[] = { { "json", no_argument, NULL, 'j' },
                                             { "pages", no_argument, NULL, 'p' },
                                             { NULL, 0, NULL, 0 } };
    const struct lmn_file_report *report = NULL;
    struct lmn_file *file = NULL;
    bool json = false, pages = false;
    struct lmn_error err;
    enum lmn_status st;
    int option;

    opterr = 0;
    while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
        if (option == 'j')
            json = true;
        else if (option == 'p')
            pages = true;
        else
            return usage(&cmd_inspect, "unknown option \"%s\"", argv[optind - 1]);
    }
    if (argc - optind != 1)
        return usage(&cmd_inspect, "one file is wanted, not %d", argc - optind);
    st = open_file(argv[optind], &file, &err);
    if (st == LMN_OK)
        st = lmn_file_inspect(file, &report, &err);
    lmn_file_release(file);
    if (st != LMN_OK)
        return fail(&err);
    if (json)
        print_json(argv[optind], report);
    else
        print_text(argv[optind], report, pages);
    lmn_file_report_free(report);
    return EXIT_DONE;
}

const struct command cmd_inspect = {
    "inspect", "show what a Lance file is made of",
    "usage: leman inspect FILE [--pages] [--json]\n"
    "\n"
    "Shows the footer of a Lance data file and, for every column, its type, its pages with\n"
    "their rows, places, sizes and encodings, and how much smaller it is than in memory.\n"
    "\n"
    "  --pages   list all pages of a column, not the first and last only\n"
    "  --json    print everything as one JSON object\n",
    run
};
