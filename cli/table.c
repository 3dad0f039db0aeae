/* SPDX-License-Identifier: Apache-2.0 */
#include "table.h"

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "output.h"
#include "version.h"

enum lmn_status open_table(const char *path, const char *version, struct lmn_table **table_out,
                           struct lmn_error *err)
{
    struct lmn_table_options options;
    struct lmn_store *store;
    enum lmn_status st = version_read(version, &options, err);

    *table_out = NULL;
    if (st == LMN_OK)
        st = lmn_store_open_local(NULL, path, &store, err);
    if (st != LMN_OK)
        return st;
    st = lmn_table_open(store, &options, table_out, err);
    lmn_store_release(store);
    return st;
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
    if (st == LMN_OK)
        st = open_table(path, version, &table, err);
    if (st == LMN_OK)
        *number_out = lmn_table_version(table);
    lmn_table_release(table);
    return st;
}

static struct ArrowSchema *find_child(const struct ArrowSchema *schema, const char *name)
{
    for (int64_t i = 0; i < schema->n_children; i++) {
        if (strcmp(schema->children[i]->name, name) == 0)
            return schema->children[i];
    }
    return NULL;
}

/*
 * The columns of `given` with the types that the table gives them, as borrowed children. False when
 * there are too many, or a column is not the table's: then the write says so.
 */
static bool match_columns(const struct ArrowSchema *given, const struct ArrowSchema *wanted,
                          struct ArrowSchema **child)
{
    if (given->n_children > LIST_MAX)
        return false;
    for (int64_t i = 0; i < given->n_children; i++) {
        child[i] = find_child(wanted, given->children[i]->name);
        if (child[i] == NULL)
            return false;
    }
    return true;
}

/* Open a text file again, with the types of the table. */
static enum lmn_status reopen(const char *path, struct lmn_ingest_options ingest,
                              struct lmn_table *table, struct ArrowArrayStream *stream,
                              struct lmn_error *err)
{
    struct ArrowSchema given, wanted, *child[LIST_MAX], typed = { .format = "+s" };
    struct ArrowArrayStream again;
    enum lmn_status st;
    int rc = stream->get_schema(stream, &given);

    if (rc != 0)
        return stream_failed(stream, rc, err);
    st = lmn_table_schema(table, &wanted, err);
    if (st == LMN_OK && match_columns(&given, &wanted, child)) {
        typed.n_children = given.n_children;
        typed.children = child;
        ingest.schema = &typed;
        st = lmn_ingest_open(NULL, path, &ingest, &again, err);
        if (st == LMN_OK) {
            stream->release(stream);
            *stream = again;
        }
    }
    if (wanted.release != NULL)
        wanted.release(&wanted);
    given.release(&given);
    return st;
}

/* Arrow IPC has types of its own, and standard input is read once. */
static bool has_types(const char *path, const struct rows_options *options)
{
    FILE *file;
    char first[6] = "";
    size_t len;

    if (strcmp(path, "-") == 0)
        return true;
    if (options->ingest.format != NULL)
        return strcmp(options->ingest.format, "arrow") == 0;
    file = fopen(path, "rb");
    len = file != NULL ? fread(first, 1, sizeof first, file) : 0;
    if (file != NULL)
        fclose(file);
    return len == sizeof first &&
           (memcmp(first, "ARROW1", 6) == 0 || memcmp(first, "\xff\xff\xff\xff", 4) == 0);
}

enum lmn_status open_rows(const char *path, const struct rows_options *options,
                          struct lmn_table *table, struct ArrowArrayStream *stream_out,
                          struct lmn_error *err)
{
    struct lmn_ingest_options ingest = options->ingest;
    enum lmn_status st;

    *stream_out = (struct ArrowArrayStream){ 0 };
    if (options->delimiter != NULL && strlen(options->delimiter) != 1)
        return lmn_fail(err, LMN_E_INVALID, "--delimiter wants one character, not \"%.40s\"",
                        options->delimiter);
    if (options->delimiter != NULL)
        ingest.delimiter = options->delimiter[0];
    st = lmn_ingest_open(NULL, path, &ingest, stream_out, err);
    if (st != LMN_OK || table == NULL || has_types(path, options))
        return st;
    st = reopen(path, ingest, table, stream_out, err);
    if (st != LMN_OK)
        stream_out->release(stream_out);
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
