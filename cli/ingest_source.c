/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ingest.h"
#include "schema.h"
#include "value.h"

enum { SHOWN_MAX = 10 };

/* The endings, parted by spaces, of the files that a folder is read for. */
static const struct {
    const char *kind, *ending;
} kinds[] = {
    { "webdataset", ".tar .tar.gz .tgz" },
    { "csv", ".csv" },
    { "jsonl", ".jsonl" },
    { "arrow", ".arrow" },
    { "array_record", ".array_record" },
};

static const char *ending_of(const char *kind)
{
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].kind, kind) == 0)
            return kinds[i].ending;
    }
    return NULL;
}

bool ingest_is_native(const char *kind)
{
    return ending_of(kind) != NULL;
}

static void put_text(struct text *line, const char *name, const char *value)
{
    text_printf(line, "\"%s\":", name);
    json_put_string(line, (const uint8_t *)value, strlen(value));
}

static void show_problem(const struct lmn_problem *problem)
{
    struct text line = { 0 }, shown = { 0 };

    text_printf(&line, "%s: offset %llu%s%s%s%s: %s", problem->part,
                (unsigned long long)problem->offset, problem->key[0] != '\0' ? ": sample " : "",
                problem->key, problem->field[0] != '\0' ? ": field " : "", problem->field,
                problem->message);
    fprintf(stderr, "leman: %s\n", people_text(&shown, line.data));
    text_free(&line);
    text_free(&shown);
}

/* Called from many threads; a line is written by one call. */
static void note_problem(void *self, const struct lmn_problem *problem)
{
    struct ingest_source *source = self;
    unsigned long long count = atomic_fetch_add(&source->problem_count, 1);
    struct text line = { 0 };

    if (count < SHOWN_MAX)
        show_problem(problem);
    if (source->report == NULL)
        return;
    text_put(&line, "{", 1);
    put_text(&line, "part", problem->part);
    text_printf(&line, ",\"offset\":%llu,", (unsigned long long)problem->offset);
    put_text(&line, "key", problem->key);
    text_put(&line, ",", 1);
    put_text(&line, "field", problem->field);
    text_put(&line, ",", 1);
    put_text(&line, "message", problem->message);
    text_put(&line, "}\n", 2);
    fwrite(line.data, 1, line.len, source->report);
    text_free(&line);
}

/* "name=field", "field", either with "?" behind. */
static void read_column(char *text, struct lmn_webdataset_column *column)
{
    char *sign = strchr(text, '=');
    size_t len;

    *column = (struct lmn_webdataset_column){ .field = text };
    if (sign != NULL) {
        *sign = '\0';
        column->name = text;
        column->field = sign + 1;
    }
    len = strlen(column->field);
    if (len > 1 && column->field[len - 1] == '?') {
        column->optional = true;
        ((char *)column->field)[len - 1] = '\0';
    }
}

static enum lmn_bad_input bad_input(const struct ingest_arguments *arguments)
{
    const char *text = arguments->on_error != NULL ? arguments->on_error : "fail";

    return strcmp(text, "skip") == 0   ? LMN_BAD_SKIP
           : strcmp(text, "null") == 0 ? LMN_BAD_NULL
                                       : LMN_BAD_FAIL;
}

static enum lmn_status open_webdataset(const struct ingest_arguments *arguments,
                                       struct ingest_source *source, struct lmn_error *err)
{
    static struct lmn_webdataset_column column[LIST_MAX];
    struct lmn_webdataset_options options = { .column = column,
                                              .column_count = arguments->columns.count,
                                              .references = arguments->references,
                                              .group_size = (uint32_t)arguments->group_size.value,
                                              .report = note_problem,
                                              .report_self = source,
                                              .sample_rows_max =
                                                  (uint32_t)arguments->sample.value };
    enum lmn_status st;

    for (uint32_t i = 0; i < arguments->columns.count; i++)
        read_column((char *)arguments->columns.item[i], &column[i]);
    options.bad = bad_input(arguments);
    st = lmn_webdataset_open(NULL, (const char *const *)source->files.name, source->files.count,
                             &options, &source->dataset, err);
    if (st == LMN_OK)
        source->load = lmn_webdataset_source(source->dataset);
    return st;
}

/* A file that cannot be read is told of when it is opened. */
static enum lmn_status describe_file(void *self, uint64_t part, struct lmn_load_part *part_out,
                                     struct lmn_error *err)
{
    const struct ingest_source *source = self;
    const char *path = source->files.name[part];
    FILE *file = fopen(path, "rb");

    (void)err;
    *part_out = (struct lmn_load_part){ .name = path };
    if (file == NULL)
        return LMN_OK;
    if (fseek(file, 0, SEEK_END) == 0)
        part_out->bytes = (uint64_t)ftell(file);
    fclose(file);
    return LMN_OK;
}

static enum lmn_status open_file_part(void *self, uint64_t part,
                                      struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    const struct ingest_source *source = self;

    return lmn_ingest_open(NULL, source->files.name[part], &source->options, stream_out, err);
}

/* The columns of file `i`, which has none when it is empty. */
static enum lmn_status take_columns(const struct ingest_arguments *arguments,
                                    struct ingest_source *source, uint64_t i,
                                    struct lmn_table *table, struct lmn_error *err)
{
    struct rows_options rows = arguments->source;
    struct ArrowArrayStream stream;
    enum lmn_status st;

    rows.ingest.bad = source->options.bad;
    st = open_rows(source->files.name[i], &rows, table, &stream, err);
    if (st != LMN_OK)
        return st;
    if (stream.get_schema(&stream, &source->schema) != 0)
        st = lmn_fail(err, LMN_E_INVALID, "%.300s: its columns are not known",
                      source->files.name[i]);
    stream.release(&stream);
    return st;
}

/*
 * Text files take the types that are given, or of the table, or of the first file that has rows.
 */
static enum lmn_status take_types(const struct ingest_arguments *arguments,
                                  struct ingest_source *source, struct lmn_error *err)
{
    struct lmn_table *table = NULL;
    uint64_t i = 0;
    bool found;
    enum lmn_status st;

    if (strcmp(arguments->kind, "csv") != 0 && strcmp(arguments->kind, "jsonl") != 0)
        return LMN_OK;
    if (arguments->schema != NULL) {
        source->options.schema = &source->schema;
        return schema_read(arguments->schema, &source->schema, err);
    }
    if (open_table(arguments->path, NULL, &table, NULL) != LMN_OK)
        table = NULL;
    do {
        if (source->schema.release != NULL)
            source->schema.release(&source->schema);
        st = take_columns(arguments, source, i, table, err);
        found = st == LMN_OK && source->schema.n_children != 0;
    } while (!found && (st == LMN_OK || source->options.bad != LMN_BAD_FAIL) &&
             ++i < source->files.count);
    lmn_table_release(table);
    if (found)
        source->options.schema = &source->schema;
    else if (st == LMN_OK)
        st = lmn_fail(err, LMN_E_INVALID, "%.300s%s: there are no rows to take columns from",
                      source->files.name[0], source->files.count > 1 ? " and the other files" : "");
    return st;
}

/* Parts are told apart by their names, and may be read again: a pipe is not one. */
static enum lmn_status refuse_pipes(const struct lmn_name_list *files, struct lmn_error *err)
{
    struct stat info;

    for (uint64_t i = 0; i < files->count; i++) {
        if (stat(files->name[i], &info) == 0 && S_ISFIFO(info.st_mode))
            return lmn_fail(err, LMN_E_INVALID,
                            "%.300s is a pipe, which cannot be read again: leman append reads it",
                            files->name[i]);
    }
    return LMN_OK;
}

static enum lmn_status open_files(const struct ingest_arguments *arguments,
                                  struct ingest_source *source, struct lmn_error *err)
{
    size_t len = strlen(arguments->kind) + strlen(source->files.name[0]) + 2;

    source->options = arguments->source.ingest;
    source->options.format = arguments->kind;
    source->options.bad = bad_input(arguments);
    source->options.report = note_problem;
    source->options.report_self = source;
    if (arguments->source.delimiter != NULL &&
        !delimiter_read(arguments->source.delimiter, &source->options.delimiter))
        return lmn_fail(err, LMN_E_INVALID, "--delimiter wants one character, not \"%.40s\"",
                        arguments->source.delimiter);
    source->title = malloc(len);
    if (source->title == NULL)
        return lmn_fail(err, LMN_E_NO_MEMORY, "no memory");
    snprintf(source->title, len, "%s %s", arguments->kind, source->files.name[0]);
    source->load = (struct lmn_load_source){ .self = source,
                                             .name = source->title,
                                             .part_count = source->files.count,
                                             .describe = describe_file,
                                             .open = open_file_part };
    return take_types(arguments, source, err);
}

enum lmn_status ingest_open(const struct ingest_arguments *arguments, struct ingest_source *source,
                            struct lmn_error *err)
{
    const char *ending = ending_of(arguments->kind);
    struct lmn_name_list more;
    enum lmn_status st;

    /* Several patterns are one in braces; commas cannot be in names then. */
    if (arguments->pattern_count != 1)
        return lmn_fail(err, LMN_E_INVALID,
                        "one pattern of files is wanted: quote it, or write {a,b}");
    st = lmn_ingest_expand(NULL, arguments->pattern[0], ending, &more, err);
    if (st != LMN_OK)
        return st;
    source->files = more;
    st = refuse_pipes(&source->files, err);
    if (st != LMN_OK)
        return st;
    if (arguments->report != NULL) {
        source->report = fopen(arguments->report, "w");
        if (source->report == NULL)
            return lmn_fail(err, LMN_E_IO, "%.300s cannot be written", arguments->report);
    }
    return strcmp(arguments->kind, "webdataset") == 0 ? open_webdataset(arguments, source, err)
                                                      : open_files(arguments, source, err);
}

void ingest_close(struct ingest_source *source)
{
    lmn_webdataset_close(source->dataset);
    lmn_name_list_free(&source->files);
    if (source->schema.release != NULL)
        source->schema.release(&source->schema);
    if (source->report != NULL)
        fclose(source->report);
    free(source->title);
}
