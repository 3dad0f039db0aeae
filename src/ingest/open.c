/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/array_record.h>
#include <leman/ingest.h>
#include <nanoarrow/nanoarrow.h>

#include "arrow/ipc_read.h"
#include "ingest/none.h"
#include "ingest/reader.h"

enum { PEEK_BYTES = 64 };

static bool ends_with(const char *path, const char *ending)
{
    size_t len = strlen(path), tail = strlen(ending);

    return len > tail && strcmp(path + len - tail, ending) == 0;
}

static bool starts_with(struct lmn__span bytes, const char *start, size_t len)
{
    return bytes.len >= len && memcmp(bytes.data, start, len) == 0;
}

/* "BZh", the size of blocks, and the first one; text may start with the letters, too. */
static bool is_bzip2(struct lmn__span start)
{
    return starts_with(start, "BZh", 3) && start.len >= 10 &&
           memcmp(start.data + 4, "\x31\x41\x59\x26\x53\x59", 6) == 0;
}

/* Formats that are known well enough to be refused by name. */
static enum lmn_status refuse_known(struct lmn__span start, const char *path, struct lmn_error *err)
{
    static const struct {
        const char *start;
        size_t len;
        const char *what;
    } known[] = { { "PAR1", 4, "Parquet" },
                  { "FEA1", 4, "Feather of version 1" },
                  { "\x1f\x8b", 2, "compressed with gzip" },
                  { "\x28\xb5\x2f\xfd", 4, "compressed with zstd" },
                  { "\xfd"
                    "7zXZ\0",
                    6, "compressed with xz" },
                  { "\x04\x22\x4d\x18", 4, "compressed with lz4" },
                  { "PK\x03\x04", 4, "a zip archive" } };

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (starts_with(start, known[i].start, known[i].len))
            return lmn_fail(err, LMN_E_UNSUPPORTED, "%.200s is %s, which is not read here", path,
                            known[i].what);
    }
    if (is_bzip2(start))
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "%.200s is compressed with bzip2, which is not read here", path);
    return LMN_OK;
}

/* A file of chunks begins with an empty one, whose kind stands behind block and chunk header. */
static bool is_array_record(struct lmn__span start)
{
    return start.len >= 64 && start.data[8 + 40] == 's' && start.data[16] == 0x40 &&
           start.data[32] == 0;
}

static enum lmn_status open_array_record(struct lmn_env *env, const char *path,
                                         const struct lmn_ingest_options *options,
                                         struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    const struct lmn_array_record_read_options reading = { .bad = options->bad,
                                                           .report = options->report,
                                                           .report_self = options->report_self,
                                                           .report_free = options->report_free };
    struct lmn_array_record *record;
    enum lmn_status st = lmn_array_record_open(env, path, &record, err);

    if (st != LMN_OK)
        return st;
    st = lmn_array_record_stream(record, &reading, stream_out, err);
    lmn_array_record_close(record); /* the stream keeps it */
    return st;
}

static const char *detect(struct lmn__span start, const char *path)
{
    size_t at = 0;

    if (is_array_record(start) || ends_with(path, ".array_record"))
        return "array_record";
    if (lmn__ipc_is_start(start) || ends_with(path, ".arrow") || ends_with(path, ".arrows"))
        return "arrow";
    if (ends_with(path, ".csv") || ends_with(path, ".tsv"))
        return "csv";
    if (ends_with(path, ".jsonl") || ends_with(path, ".ndjson") || ends_with(path, ".json"))
        return "jsonl";
    if (starts_with(start, "\xef\xbb\xbf", 3))
        at = 3;
    while (at < start.len && strchr(" \t\r\n", start.data[at]) != NULL && start.data[at] != '\0')
        at++;
    return at < start.len && start.data[at] == '{' ? "jsonl" : "csv";
}

static enum lmn_status open_format(struct lmn_env *env, const char *path,
                                   struct lmn_ingest_options *options, struct lmn__source *source,
                                   struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    struct lmn__span start;
    enum lmn_status st = lmn__source_peek(source, PEEK_BYTES, &start, err);

    if (st == LMN_OK && options->format == NULL)
        st = refuse_known(start, path, err);
    if (st != LMN_OK)
        return st;
    if (options->format == NULL)
        options->format = detect(start, path);
    if (options->delimiter == '\0' && ends_with(path, ".tsv"))
        options->delimiter = '\t';
    if (strcmp(options->format, "csv") == 0)
        return lmn__csv_open(env, source, options, stream_out, err);
    if (strcmp(options->format, "jsonl") == 0)
        return lmn__jsonl_open(env, source, options, stream_out, err);
    if (strcmp(options->format, "arrow") != 0 && strcmp(options->format, "array_record") != 0)
        return lmn_fail(err, LMN_E_INVALID,
                        "no format \"%.50s\"; there are \"arrow\", \"csv\", \"jsonl\" and "
                        "\"array_record\"",
                        options->format);
    if (options->schema != NULL)
        return lmn_fail(err, LMN_E_INVALID, "%.200s: %s has a schema of its own", path,
                        options->format[3] == 'o' ? "Arrow IPC" : "ArrayRecord");
    if (strcmp(options->format, "array_record") == 0)
        return open_array_record(env, path, options, stream_out, err);
    return lmn__ipc_read(env, source, stream_out, err);
}

/* Does the way a problem is handled allow to take a file that cannot be opened for empty? */
static bool passes_over(const struct lmn_ingest_options *options, enum lmn_status st)
{
    return options->bad != LMN_BAD_FAIL && st != LMN_OK && st != LMN_E_NO_MEMORY &&
           st != LMN_E_CANCELLED &&
           (options->schema != NULL ||
            (options->format != NULL && strcmp(options->format, "array_record") == 0));
}

/* Take a file that cannot be opened, for the reason that `err` has, for one without rows. */
static enum lmn_status open_none(struct lmn_env *env, const struct lmn_ingest_options *options,
                                 const char *path, struct ArrowArrayStream *stream_out,
                                 struct lmn_error *err)
{
    struct ArrowSchema schema;
    int code;

    if (options->schema != NULL) {
        code = ArrowSchemaDeepCopy(options->schema, &schema);
    } else { /* of records */
        ArrowSchemaInit(&schema);
        code = ArrowSchemaSetTypeStruct(&schema, 1);
        if (code == NANOARROW_OK)
            code = ArrowSchemaSetType(schema.children[0], NANOARROW_TYPE_LARGE_BINARY);
        if (code == NANOARROW_OK)
            code = ArrowSchemaSetName(schema.children[0], "record");
        if (code != NANOARROW_OK)
            ArrowSchemaRelease(&schema);
    }
    if (code != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    return lmn__none_open(env, &schema, path, options, stream_out, err);
}

enum lmn_status lmn_ingest_open(struct lmn_env *env, const char *path,
                                const struct lmn_ingest_options *options,
                                struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    struct lmn_ingest_options chosen = { 0 };
    struct lmn__source source;
    struct lmn_error local;
    enum lmn_status st;

    *stream_out = (struct ArrowArrayStream){ 0 };
    err = err != NULL ? err : &local;
    if (options != NULL)
        chosen = *options;
    st = lmn__env_resolve(env, &env, err);
    if (st != LMN_OK)
        return st;
    st = lmn__source_open_watched(&source, env, path, chosen.progress, chosen.progress_self, err);
    if (st == LMN_OK) {
        st = open_format(env, path, &chosen, &source, stream_out, err);
        lmn__source_close(&source); /* does nothing when it moved */
    }
    if (passes_over(&chosen, st))
        st = open_none(env, &chosen, path, stream_out, err);
    lmn_env_release(env);
    return st;
}
