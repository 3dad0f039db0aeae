/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "json.h"
#include "output.h"
#include "version.h"

const char *local_path(const char *path)
{
    static const char scheme[] = "file://";
    size_t len = sizeof scheme - 1;

    return strncmp(path, scheme, len) == 0 ? path + len : path;
}

bool path_exists(const char *path)
{
    struct stat info;

    return stat(local_path(path), &info) == 0;
}

bool path_is_folder(const char *path)
{
    struct stat info;

    return stat(local_path(path), &info) == 0 && S_ISDIR(info.st_mode);
}

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

enum lmn_status open_version(const char *path, uint64_t number, struct lmn_table **table_out,
                             struct lmn_error *err)
{
    const struct lmn_table_options options = { .version = number, .readable = true };

    return open_options(path, &options, table_out, err);
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

static bool has_child(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (strcmp(schema->children[i]->name, name) == 0)
            return true;
    }
    return false;
}

/* The columns of `table`, and those of `more` (may be NULL) that it does not have, as `all`. */
static enum lmn_status put_types(const struct ArrowSchema *table, const struct ArrowSchema *more,
                                 struct ArrowSchema *all, struct lmn_error *err)
{
    int64_t room = table->n_children + (more != NULL ? more->n_children : 0);

    *all = (struct ArrowSchema){ .format = "+s", .name = "" };
    all->children = calloc((size_t)room + 1, sizeof(struct ArrowSchema *));
    if (all->children == NULL)
        return lmn_fail(err, LMN_E_NO_MEMORY, "out of memory");
    for (int64_t i = 0; i < table->n_children; i++)
        all->children[all->n_children++] = table->children[i];
    for (int64_t i = 0; more != NULL && i < more->n_children; i++) {
        if (!has_child(table, more->children[i]->name))
            all->children[all->n_children++] = more->children[i];
    }
    return LMN_OK;
}

enum lmn_status open_rows(const char *path, const struct rows_options *options,
                          struct lmn_table *table, struct ArrowArrayStream *stream_out,
                          struct lmn_error *err)
{
    struct lmn_ingest_options ingest = options->ingest;
    struct ArrowSchema types = { 0 }, all = { 0 };
    enum lmn_status st = LMN_OK;

    *stream_out = (struct ArrowArrayStream){ 0 };
    if (options->delimiter != NULL && !delimiter_read(options->delimiter, &ingest.delimiter))
        return lmn_fail(err, LMN_E_INVALID, "--delimiter wants one character, not \"%.40s\"",
                        options->delimiter);
    if (table != NULL) {
        st = lmn_table_schema(table, &types, err);
        if (st == LMN_OK)
            st = put_types(&types, options->ingest.like, &all, err);
        ingest.like = &all;
    }
    if (st == LMN_OK)
        st = lmn_ingest_open(NULL, path, &ingest, stream_out, err);
    if (types.release != NULL)
        types.release(&types);
    free(all.children);
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
