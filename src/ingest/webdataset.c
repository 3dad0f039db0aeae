/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/webdataset.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "arrow/schema.h"
#include "base/error.h"
#include "os/file.h"

enum { SAMPLE_ROWS_DEFAULT = 1000, BATCH_ROWS_DEFAULT = 8192, BATCH_BYTES_DEFAULT = 16 << 20 };

bool lmn__sample_name(struct lmn__span name, struct lmn__sample_name *name_out)
{
    size_t base = name.len, dot;

    while (base > 0 && name.data[base - 1] != '/')
        base--;
    dot = base;
    while (dot < name.len && name.data[dot] != '.')
        dot++;
    name_out->key = (struct lmn__span){ name.data, dot };
    name_out->extension = (struct lmn__span){ name.data + dot + 1, name.len - dot - 1 };
    /* "._x" is what macOS packs beside x; "__x__" is about the archive. */
    return dot > base && dot + 1 < name.len &&
           !(name.len - base >= 4 && memcmp(name.data + base, "__", 2) == 0 &&
             memcmp(name.data + name.len - 2, "__", 2) == 0);
}

bool lmn__sample_is(struct lmn__span extension, const char *text)
{
    size_t i = 0;

    for (; i < extension.len && text[i] != '\0'; i++) {
        uint8_t c = extension.data[i];

        if ((c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c) != (uint8_t)text[i])
            return false;
    }
    return i == extension.len && text[i] == '\0';
}

bool lmn__webdataset_goes_on(const struct lmn_webdataset *dataset, enum lmn_status status)
{
    return dataset->options.bad != LMN_BAD_FAIL && status != LMN_OK && status != LMN_E_NO_MEMORY &&
           status != LMN_E_CANCELLED;
}

void lmn__webdataset_report(const struct lmn_webdataset *dataset, const struct lmn_problem *problem)
{
    if (dataset->options.report != NULL)
        dataset->options.report(dataset->options.report_self, problem);
}

static bool text_ends(const char *text, const char *end)
{
    size_t len = strlen(text), tail = strlen(end);

    return len >= tail && strcmp(text + len - tail, end) == 0;
}

static bool is_json(const char *extension)
{
    return strcmp(extension, "json") == 0 || text_ends(extension, ".json");
}

/* Part "json.x" and "meta.json.x" into extension, which is in lower case, and member. */
static enum lmn_status part_field(struct lmn_webdataset *dataset, const char *field,
                                  struct lmn__sample_column *column, struct lmn_error *err)
{
    const char *at = strncmp(field, "json.", 5) == 0 ? field : strstr(field, ".json.");
    size_t skip = at == field ? 4 : 5, len = strlen(field);
    char *extension;

    if (at != NULL && at[skip + 1] != '\0') {
        len = (size_t)(at - field) + skip;
        column->member = at + skip + 1;
        column->kind = LMN__SAMPLE_JSON_FIELD;
    }
    extension = lmn__arena_strndup(&dataset->arena, field, len);
    if (extension == NULL)
        return lmn__arena_fail(&dataset->arena, "a column", err);
    for (char *c = extension; *c != '\0'; c++)
        *c = (char)(*c >= 'A' && *c <= 'Z' ? *c - 'A' + 'a' : *c);
    column->extension = extension;
    return LMN_OK;
}

static enum lmn_status wrong_type(const struct lmn__sample_column *column, const char *format,
                                  struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_UNSUPPORTED,
                    "column \"%.100s\": a field \"%.100s\" of type \"%.20s\"", column->name,
                    column->extension != NULL ? column->extension : column->name, format);
}

/* How a column that has a type is filled. */
static enum lmn_status kind_of_type(struct lmn_webdataset *dataset,
                                    struct lmn__sample_column *column, struct lmn_error *err)
{
    const char *format = column->type.format;
    bool bytes = strcmp(format, "z") == 0 || strcmp(format, "Z") == 0;
    bool text = strcmp(format, "u") == 0 || strcmp(format, "U") == 0;

    if (column->kind == LMN__SAMPLE_JSON_FIELD)
        return LMN_OK;
    if (column->extension == NULL)
        return text ? LMN_OK : wrong_type(column, format, err);
    if (bytes)
        column->kind = dataset->options.references ? LMN__SAMPLE_REFERENCE : LMN__SAMPLE_BYTES;
    else if (is_json(column->extension) && !text)
        column->kind = LMN__SAMPLE_JSON;
    else if (format[0] == '+')
        return wrong_type(column, format, err);
    else
        column->kind = LMN__SAMPLE_TEXT;
    return LMN_OK;
}

const char *lmn__sample_column_name(struct lmn_webdataset *dataset, const char *field)
{
    char *name = lmn__arena_strndup(&dataset->arena, field, strlen(field));

    for (char *at = name; at != NULL && *at != '\0'; at++) {
        if (*at == '.')
            *at = '_';
    }
    return name;
}

static enum lmn_status take_column(struct lmn_webdataset *dataset,
                                   const struct lmn_webdataset_column *given,
                                   struct lmn__sample_column *column, struct lmn_error *err)
{
    const char *field;
    enum lmn_status st = LMN_OK;

    if (given->field == NULL || given->field[0] == '\0')
        return lmn_fail(err, LMN_E_INVALID, "a column without a field");
    field = lmn__arena_strndup(&dataset->arena, given->field, strlen(given->field));
    if (field == NULL)
        return lmn__arena_fail(&dataset->arena, "a column", err);
    column->optional = given->optional;
    column->kind = LMN__SAMPLE_BYTES;
    if (strcmp(field, "__key__") == 0)
        column->kind = LMN__SAMPLE_KEY;
    else if (strcmp(field, "__shard__") == 0)
        column->kind = LMN__SAMPLE_SHARD;
    else
        st = part_field(dataset, field, column, err);
    if (given->name != NULL)
        column->name = lmn__arena_strndup(&dataset->arena, given->name, strlen(given->name));
    else
        column->name = lmn__sample_column_name(dataset,
                                               column->member != NULL ? column->member : field);
    if (st == LMN_OK && column->name == NULL)
        st = lmn__arena_fail(&dataset->arena, "a column", err);
    if (st == LMN_OK && given->type != NULL) {
        column->typed = true;
        st = lmn__arrow_schema_copy(given->type, &column->type, err);
        if (st == LMN_OK)
            st = kind_of_type(dataset, column, err);
    }
    return st;
}

enum lmn_status lmn__sample_check_pair(const struct lmn__sample_column *a,
                                       const struct lmn__sample_column *b, struct lmn_error *err)
{
    if (strcmp(a->name, b->name) == 0)
        return lmn_fail(err, LMN_E_INVALID, "two columns are named \"%.100s\"", a->name);
    if (a->extension == NULL || b->extension == NULL || strcmp(a->extension, b->extension) != 0)
        return LMN_OK;
    if (a->kind != LMN__SAMPLE_JSON_FIELD || b->kind != LMN__SAMPLE_JSON_FIELD)
        return lmn_fail(err, LMN_E_INVALID,
                        "columns \"%.100s\" and \"%.100s\" are both made of field \"%.100s\"",
                        a->name, b->name, a->extension);
    if (strcmp(a->member, b->member) == 0)
        return lmn_fail(err, LMN_E_INVALID,
                        "columns \"%.100s\" and \"%.100s\" are both made of \"%.100s.%.100s\"",
                        a->name, b->name, a->extension, a->member);
    return LMN_OK;
}

static enum lmn_status take_columns(struct lmn_webdataset *dataset,
                                    const struct lmn_webdataset_options *options,
                                    struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    dataset->given = options->column_count != 0;
    dataset->column = lmn__arena_array(&dataset->arena, options->column_count,
                                       sizeof *dataset->column);
    if (dataset->column == NULL)
        return lmn__arena_fail(&dataset->arena, "columns", err);
    for (uint32_t i = 0; st == LMN_OK && i < options->column_count; i++) {
        dataset->column_count = i + 1;
        st = take_column(dataset, &options->column[i], &dataset->column[i], err);
        for (uint32_t k = 0; st == LMN_OK && k < i; k++)
            st = lmn__sample_check_pair(&dataset->column[k], &dataset->column[i], err);
    }
    return st;
}

static enum lmn_status take_shards(struct lmn_webdataset *dataset, const char *const *shard,
                                   uint64_t count, struct lmn_error *err)
{
    if (count == 0)
        return lmn_fail(err, LMN_E_INVALID, "there are no shards");
    dataset->shard = lmn__arena_array(&dataset->arena, count, sizeof *dataset->shard);
    if (dataset->shard == NULL)
        return lmn__arena_fail(&dataset->arena, "a list of shards", err);
    for (uint64_t i = 0; i < count; i++) {
        char *path;
        enum lmn_status st = lmn__file_absolute(dataset->env, shard[i], &path, err);

        if (st != LMN_OK)
            return st;
        dataset->shard[i] = lmn__arena_strndup(&dataset->arena, path, strlen(path));
        lmn__free(dataset->env, path);
        if (dataset->shard[i] == NULL)
            return lmn__arena_fail(&dataset->arena, "a list of shards", err);
    }
    dataset->shard_count = count;
    dataset->name = lmn__arena_array(&dataset->arena, strlen(dataset->shard[0]) + 16, 1);
    if (dataset->name == NULL)
        return lmn__arena_fail(&dataset->arena, "a dataset's name", err);
    snprintf(dataset->name, strlen(dataset->shard[0]) + 16, "webdataset %s", dataset->shard[0]);
    return LMN_OK;
}

static void set_options(struct lmn_webdataset *dataset, const struct lmn_webdataset_options *given)
{
    struct lmn_webdataset_options *options = &dataset->options;

    *options = *given;
    options->column = NULL;
    if (options->sample_rows_max == 0)
        options->sample_rows_max = SAMPLE_ROWS_DEFAULT;
    if (options->batch_rows_max == 0)
        options->batch_rows_max = BATCH_ROWS_DEFAULT;
    if (options->batch_bytes_max == 0)
        options->batch_bytes_max = BATCH_BYTES_DEFAULT;
}

void lmn__webdataset_release(struct lmn_webdataset *dataset)
{
    struct lmn_env *env;

    if (dataset == NULL || atomic_fetch_sub(&dataset->reference_count, 1) != 1)
        return;
    env = dataset->env;
    for (uint32_t i = 0; i < dataset->column_count; i++) {
        if (dataset->column[i].type.release != NULL)
            dataset->column[i].type.release(&dataset->column[i].type);
    }
    if (dataset->schema.release != NULL)
        dataset->schema.release(&dataset->schema);
    if (dataset->options.report_free != NULL)
        dataset->options.report_free(dataset->options.report_self);
    lmn__arena_deinit(&dataset->arena);
    lmn__free(env, dataset);
    lmn_env_release(env);
}

void lmn_webdataset_close(struct lmn_webdataset *dataset)
{
    lmn__webdataset_release(dataset);
}

enum lmn_status lmn_webdataset_open(struct lmn_env *env, const char *const *shard,
                                    uint64_t shard_count,
                                    const struct lmn_webdataset_options *options,
                                    struct lmn_webdataset **dataset_out, struct lmn_error *err)
{
    static const struct lmn_webdataset_options defaults;
    struct lmn_webdataset *dataset;
    enum lmn_status st;

    *dataset_out = NULL;
    if (options == NULL)
        options = &defaults;
    st = lmn__env_resolve(env, &env, err);
    if (st != LMN_OK)
        return st;
    dataset = lmn__calloc(env, 1, sizeof *dataset);
    if (dataset == NULL) {
        lmn_env_release(env);
        return lmn__no_memory(err, "a dataset", sizeof *dataset);
    }
    dataset->env = env;
    atomic_init(&dataset->reference_count, 1);
    lmn__arena_init(&dataset->arena, env, 0);
    set_options(dataset, options);
    st = take_shards(dataset, shard, shard_count, err);
    if (st == LMN_OK)
        st = take_columns(dataset, options, err);
    if (st == LMN_OK)
        st = lmn__webdataset_sample(dataset, err);
    if (st != LMN_OK) {
        lmn__webdataset_release(dataset);
        return st;
    }
    *dataset_out = dataset;
    return LMN_OK;
}

static enum lmn_status describe_shard(void *self, uint64_t part, struct lmn_load_part *part_out,
                                      struct lmn_error *err)
{
    const struct lmn_webdataset *dataset = self;
    struct lmn__file_info info;
    enum lmn_status st = lmn__file_stat(dataset->shard[part], &info, err);

    *part_out = (struct lmn_load_part){ .name = dataset->shard[part], .bytes = info.bytes };
    return lmn__webdataset_goes_on(dataset, st) ? LMN_OK : st;
}

static enum lmn_status open_shard(void *self, uint64_t part, struct ArrowArrayStream *stream_out,
                                  struct lmn_error *err)
{
    return lmn_webdataset_shard(self, part, stream_out, err);
}

struct lmn_load_source lmn_webdataset_source(struct lmn_webdataset *dataset)
{
    return (struct lmn_load_source){ .self = dataset,
                                     .name = dataset->name,
                                     .part_count = dataset->shard_count,
                                     .describe = describe_shard,
                                     .open = open_shard };
}
