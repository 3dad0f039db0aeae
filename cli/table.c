/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "output.h"
#include "version.h"

static enum lmn_status open_options(const char *path, const struct lmn_table_options *options,
                                    struct lmn_table **table_out, struct lmn_error *err)
{
    struct lmn_store *store;
    enum lmn_status st = lmn_store_open_local(NULL, path, &store, err);

    *table_out = NULL;
    if (st != LMN_OK)
        return st;
    st = lmn_table_open(store, options, table_out, err);
    lmn_store_release(store);
    return st;
}

enum lmn_status open_table(const char *path, const char *version, struct lmn_table **table_out,
                           struct lmn_error *err)
{
    struct lmn_table_options options;
    enum lmn_status st = version_read(version, &options, err);

    *table_out = NULL;
    return st == LMN_OK ? open_options(path, &options, table_out, err) : st;
}

enum lmn_status find_version(const char *path, const char *version, uint64_t *number_out,
                             struct lmn_error *err)
{
    struct lmn_table_options options;
    struct lmn_table *table = NULL;
    enum lmn_status st = version_read(version, &options, err);

    *number_out = 0;
    if (st == LMN_OK && options.branch != NULL)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "branch %.64s: branches are read, not written",
                        options.branch);
    options.branch = "main"; /* a tag may be one of another branch */
    if (st == LMN_OK)
        st = open_options(path, &options, &table, err);
    if (st == LMN_OK)
        *number_out = lmn_table_version(table);
    lmn_table_release(table);
    return st;
}

enum lmn_status open_rows(const char *path, const struct rows_options *options,
                          struct lmn_table *table, struct ArrowArrayStream *stream_out,
                          struct lmn_error *err)
{
    struct lmn_ingest_options ingest = options->ingest;
    struct ArrowSchema types = { 0 };
    enum lmn_status st = LMN_OK;

    *stream_out = (struct ArrowArrayStream){ 0 };
    if (options->delimiter != NULL && !delimiter_read(options->delimiter, &ingest.delimiter))
        return lmn_fail(err, LMN_E_INVALID, "--delimiter wants one character, not \"%.40s\"",
                        options->delimiter);
    if (table != NULL) {
        st = lmn_table_schema(table, &types, err);
        ingest.like = &types;
    }
    if (st == LMN_OK)
        st = lmn_ingest_open(NULL, path, &ingest, stream_out, err);
    if (types.release != NULL)
        types.release(&types);
    return st;
}

enum lmn_status print_written(struct lmn_table *table, bool json, const char *what, uint64_t rows,
                              struct lmn_error *err)
{
    struct lmn_table_info info;
    enum lmn_status st = lmn_table_info(table, &info, err);

    if (st != LMN_OK)
        return st;
    if (json) {
        json_open(NULL, '{');
        json_number("version", info.version);
        json_number(what, rows);
        json_number("rows", info.row_count);
        json_close('}');
        json_end();
    } else {
        printf("version %llu: %llu %s %s, %llu in all\n", (unsigned long long)info.version,
               (unsigned long long)rows, rows == 1 ? "row" : "rows", what,
               (unsigned long long)info.row_count);
    }
    return LMN_OK;
}
