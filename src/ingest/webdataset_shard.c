/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of one shard. Members are read straight into the columns; a row that turns out bad is
 * taken back by cutting the columns.
 *
 *   between samples   every column has `rows` slots
 *   inside of one     columns whose field was there have one more
 *
 * `next` is the member that was met last: the first of the sample to come.
 */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "arrow/cut.h"
#include "arrow/producer.h"
#include "base/error.h"
#include "base/math.h"
#include "base/utf8.h"
#include "format/external.h"
#include "ingest/json_value.h"
#include "ingest/webdataset.h"

enum { TEXT_BYTES_MAX = 256 << 20, KEY_SHOWN = 120 };

struct shard {
    struct lmn__producer producer;  /* first */
    struct lmn_webdataset *dataset; /* counted */
    const char *path;
    struct lmn__tar tar;
    struct lmn__arena arena;
    struct lmn__column *root;
    struct lmn__column *json_field; /* per column: room for the fields of one JSON member */
    struct lmn__json json;
    struct lmn__buf text, key, uri;
    struct lmn__tar_member next;
    struct lmn__sample_name next_name;
    bool has_next, ended;
    bool unread; /* the archive cannot be opened; `failure` says why, and is not told yet */
    struct lmn_error failure;
    uint64_t rows;   /* whole ones in the columns */
    uint64_t bytes;  /* of the members in them */
    uint64_t offset; /* of the sample at hand */
    bool bad;        /* the sample at hand is left out */
};

static void report(struct shard *shard, const char *field, const struct lmn_error *err)
{
    struct lmn_problem problem = { .part = shard->path,
                                   .offset = shard->offset,
                                   .key = shard->key.len != 0 ? (const char *)shard->key.data : "",
                                   .field = field,
                                   .message = err->message };

    lmn__webdataset_report(shard->dataset, &problem);
}

/* Say in which sample it was. */
static enum lmn_status within(struct shard *shard, enum lmn_status st, struct lmn_error *err)
{
    return lmn__fail_within(err, st, "%.200s: sample \"%.*s\" at offset %llu", shard->path,
                            KEY_SHOWN, shard->key.len != 0 ? (const char *)shard->key.data : "",
                            (unsigned long long)shard->offset);
}

static enum lmn_status read_text(struct shard *shard, struct lmn__span *text_out,
                                 struct lmn_error *err)
{
    uint64_t bytes = shard->next.bytes;
    enum lmn_status st;

    if (bytes > TEXT_BYTES_MAX)
        return lmn_fail(err, LMN_E_INVALID, "a text of %llu bytes", (unsigned long long)bytes);
    lmn__buf_reset(&shard->text);
    if (!lmn__buf_reserve(&shard->text, bytes + 1))
        return lmn__no_memory(err, "a text", bytes);
    st = lmn__tar_read(&shard->tar, shard->text.data, bytes, err);
    *text_out = (struct lmn__span){ shard->text.data, bytes };
    if (st == LMN_OK && !lmn__utf8_valid(*text_out))
        st = lmn_fail(err, LMN_E_INVALID, "the text is not UTF-8");
    return st;
}

static enum lmn_status fill_text(struct shard *shard, struct lmn__column *column,
                                 struct lmn_error *err)
{
    struct lmn__span text;
    enum lmn_status st = read_text(shard, &text, err);

    /* Numbers end with a line in many shards; texts are kept to the byte. */
    while (column->kind != LMN__COLUMN_TEXT && text.len != 0 &&
           strchr(" \r\n\t", text.data[text.len - 1]) != NULL && text.data[text.len - 1] != '\0')
        text.len--;
    return st != LMN_OK ? st : lmn__column_put_text(column, text, err);
}

static enum lmn_status fill_bytes(struct shard *shard, struct lmn__column *column,
                                  struct lmn_error *err)
{
    uint8_t *data;
    enum lmn_status st = lmn__column_add_bytes(column, shard->next.bytes, &data, err);

    if (st == LMN_E_INVALID)
        return lmn_fail(err, st,
                        "%llu bytes, and binary has place for 2 GiB: large_binary holds them, and "
                        "so does a reference",
                        (unsigned long long)shard->next.bytes);
    return st != LMN_OK ? st : lmn__tar_read(&shard->tar, data, shard->next.bytes, err);
}

static enum lmn_status put_u64(struct lmn__column *column, uint64_t value, struct lmn_error *err)
{
    uint8_t *at;
    enum lmn_status st = lmn__builder_add_valid(column->builder, 1, err);

    if (st == LMN_OK)
        st = lmn__builder_extend(column->builder, 1, &at, err);
    if (st == LMN_OK)
        lmn__store_u64(at, value);
    return st;
}

static enum lmn_status fill_reference(struct shard *shard, struct lmn__column *column,
                                      struct lmn_error *err)
{
    struct lmn__span uri = { shard->uri.data, shard->uri.len };
    enum lmn_status st = lmn__column_open(column, err);

    if (st == LMN_OK)
        st = lmn__column_put_null(&column->child[0], err);
    if (st == LMN_OK)
        st = lmn__column_put_text(&column->child[1], uri, err);
    if (st == LMN_OK)
        st = put_u64(&column->child[2], shard->next.offset, err);
    return st != LMN_OK ? st : put_u64(&column->child[3], shard->next.bytes, err);
}

/* One member fills several columns with its fields. */
static enum lmn_status fill_json_fields(struct shard *shard, const char *extension,
                                        enum lmn__json_extra extra, struct lmn_error *err)
{
    const struct lmn_webdataset *dataset = shard->dataset;
    struct lmn__builder slots = { .length = shard->rows + 1 };
    struct lmn__column fields = { .builder = &slots, .child = shard->json_field };
    enum lmn_status st = lmn__json_check_object(&shard->json, err);

    for (uint32_t i = 0; i < dataset->column_count; i++) {
        const struct lmn__sample_column *column = &dataset->column[i];

        if (column->kind == LMN__SAMPLE_JSON_FIELD && strcmp(column->extension, extension) == 0) {
            fields.child[fields.child_count] = shard->root->child[i];
            fields.child[fields.child_count++].name = column->member;
        }
    }
    return st != LMN_OK ? st : lmn__json_fill_fields(&shard->json, &fields, extra, err);
}

static enum lmn_status fill_json_text(struct shard *shard, uint32_t i, struct lmn__span text,
                                      enum lmn__json_extra extra, struct lmn_error *err)
{
    const struct lmn__sample_column *column = &shard->dataset->column[i];
    enum lmn_status st;

    lmn__json_start(&shard->json, text);
    st = column->kind == LMN__SAMPLE_JSON_FIELD
             ? fill_json_fields(shard, column->extension, extra, err)
             : lmn__json_fill(&shard->json, &shard->root->child[i], extra, err);
    if (st == LMN_OK && !lmn__json_end(&shard->json))
        st = lmn__json_bad(&shard->json, err);
    return st;
}

/* Take back what the member at hand has put into its columns. */
static void cut_member(struct shard *shard, const char *extension)
{
    const struct lmn_webdataset *dataset = shard->dataset;

    for (uint32_t i = 0; i < dataset->column_count; i++) {
        if (dataset->column[i].extension != NULL &&
            strcmp(dataset->column[i].extension, extension) == 0)
            lmn__builder_cut(shard->root->child[i].builder, shard->rows);
    }
}

/* Where bad values become null, fields that the first samples do not have are told and left out. */
static enum lmn_status fill_json(struct shard *shard, uint32_t i, struct lmn_error *err)
{
    const struct lmn_webdataset *dataset = shard->dataset;
    const char *extension = dataset->column[i].extension;
    struct lmn__span text;
    enum lmn_status st = read_text(shard, &text, err);

    if (st != LMN_OK)
        return st;
    st = fill_json_text(shard, i, text, LMN__JSON_EXTRA_GUESSED, err);
    if (st != LMN_E_INVALID || dataset->options.bad != LMN_BAD_NULL)
        return st;
    cut_member(shard, extension);
    if (fill_json_text(shard, i, text, LMN__JSON_EXTRA_PASSED, NULL) != LMN_OK)
        return st;
    report(shard, extension, err);
    return LMN_OK;
}

static enum lmn_status fill_column(struct shard *shard, uint32_t i, struct lmn_error *err)
{
    const struct lmn__sample_column *column = &shard->dataset->column[i];
    struct lmn__column *into = &shard->root->child[i];

    if (into->builder->length > shard->rows)
        return lmn_fail(err, LMN_E_INVALID, "the field is there twice");
    if (shard->next.refused != NULL)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "%s", shard->next.refused);
    switch (column->kind) {
    case LMN__SAMPLE_BYTES:
        return fill_bytes(shard, into, err);
    case LMN__SAMPLE_REFERENCE:
        return fill_reference(shard, into, err);
    case LMN__SAMPLE_TEXT:
        return fill_text(shard, into, err);
    case LMN__SAMPLE_JSON:
    case LMN__SAMPLE_JSON_FIELD:
        return fill_json(shard, i, err);
    default:
        return LMN_OK;
    }
}

/* Which column the member at hand fills first; -1: none. */
static int find_column(const struct shard *shard)
{
    const struct lmn_webdataset *dataset = shard->dataset;

    for (uint32_t i = 0; i < dataset->column_count; i++) {
        if (dataset->column[i].extension != NULL &&
            lmn__sample_is(shard->next_name.extension, dataset->column[i].extension))
            return (int)i;
    }
    return -1;
}

/* A value that did not come out: the sample goes, or the value becomes null. */
static enum lmn_status bad_value(struct shard *shard, int column, enum lmn_status st,
                                 struct lmn_error *err)
{
    const struct lmn_webdataset *dataset = shard->dataset;
    const char *extension = column >= 0 ? dataset->column[column].extension : NULL;

    if (st == LMN_E_NO_MEMORY || dataset->options.bad == LMN_BAD_FAIL)
        return within(
            shard,
            extension != NULL ? lmn__fail_within(err, st, "field \"%.100s\"", extension) : st, err);
    report(shard, extension != NULL ? extension : "", err);
    if (dataset->options.bad == LMN_BAD_SKIP) {
        shard->bad = true;
        return LMN_OK;
    }
    if (extension != NULL)
        cut_member(shard, extension);
    for (uint32_t i = 0; extension != NULL && i < dataset->column_count; i++) {
        if (dataset->column[i].extension != NULL &&
            strcmp(dataset->column[i].extension, extension) == 0 &&
            lmn__column_put_null(&shard->root->child[i], NULL) != LMN_OK)
            shard->bad = true;
    }
    return LMN_OK;
}

static enum lmn_status fill_member(struct shard *shard, struct lmn_error *err)
{
    struct lmn_error local;
    int column = find_column(shard);
    enum lmn_status st;

    if (column < 0) {
        if (shard->dataset->given)
            return LMN_OK;
        st = lmn_fail(
            &local, LMN_E_INVALID,
            "a field \"%.*s\" that most of the first samples do not have: name the columns",
            (int)lmn__min_u64(shard->next_name.extension.len, 100),
            (const char *)shard->next_name.extension.data);
    } else {
        uint64_t cut = shard->tar.position;

        st = fill_column(shard, (uint32_t)column, &local);
        shard->bytes += shard->tar.position - cut;
    }
    if (st == LMN_OK)
        return LMN_OK;
    if (st == LMN_E_CORRUPT || st == LMN_E_IO) { /* of the archive: there is no way on */
        if (err != NULL)
            *err = local;
        return st;
    }
    st = bad_value(shard, column, st, &local);
    if (st != LMN_OK && err != NULL)
        *err = local;
    return st;
}

/* Move on to the next member that belongs to a sample. */
static enum lmn_status advance(struct shard *shard, struct lmn_error *err)
{
    enum lmn_status st;

    do {
        st = lmn__tar_next(&shard->tar, &shard->next, &shard->has_next, err);
    } while (st == LMN_OK && shard->has_next &&
             !lmn__sample_name(shard->next.name, &shard->next_name));
    return st;
}

static bool same_key(const struct shard *shard)
{
    return shard->next_name.key.len == shard->key.len - 1 &&
           memcmp(shard->next_name.key.data, shard->key.data, shard->key.len - 1) == 0;
}

static enum lmn_status start_sample(struct shard *shard, struct lmn_error *err)
{
    shard->offset = shard->next.header;
    shard->bad = false;
    lmn__buf_reset(&shard->key);
    lmn__buf_put(&shard->key, shard->next_name.key.data, shard->next_name.key.len);
    lmn__buf_put_u8(&shard->key, 0);
    return lmn__buf_status(&shard->key, "a key", err);
}

/* The columns that no member fills. */
static enum lmn_status fill_own(struct shard *shard, uint32_t i, struct lmn_error *err)
{
    struct lmn__span text = { shard->key.data, shard->key.len - 1 };

    if (shard->dataset->column[i].kind == LMN__SAMPLE_SHARD)
        text = (struct lmn__span){ (const uint8_t *)shard->path, strlen(shard->path) };
    if (!lmn__utf8_valid(text))
        return lmn_fail(err, LMN_E_INVALID, "the name is not UTF-8");
    return lmn__column_put_text(&shard->root->child[i], text, err);
}

static enum lmn_status fill_missing(struct shard *shard, uint32_t i, struct lmn_error *err)
{
    const struct lmn__sample_column *column = &shard->dataset->column[i];
    struct lmn_error local;
    enum lmn_status st;

    if (column->extension == NULL)
        st = fill_own(shard, i, &local);
    else if (column->optional)
        st = lmn__column_put_null(&shard->root->child[i], &local);
    else
        st = lmn_fail(&local, LMN_E_INVALID,
                      "the sample has no such field; named \"%.100s?\" in the columns, it may be "
                      "missing",
                      column->extension);
    if (st == LMN_OK)
        return LMN_OK;
    st = bad_value(shard, (int)i, st, &local);
    if (st == LMN_OK && column->extension == NULL)
        shard->bad = true;
    if (st != LMN_OK && err != NULL)
        *err = local;
    return st;
}

/* All members of the sample are there; its row is made, or taken back. */
static enum lmn_status end_sample(struct shard *shard, struct lmn_error *err)
{
    const struct lmn_webdataset *dataset = shard->dataset;
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; st == LMN_OK && !shard->bad && i < dataset->column_count; i++) {
        if (shard->root->child[i].builder->length == shard->rows)
            st = fill_missing(shard, i, err);
    }
    if (st != LMN_OK)
        return st;
    if (!shard->bad) {
        shard->rows++;
        return lmn__column_open(shard->root, err);
    }
    for (uint32_t i = 0; i < dataset->column_count; i++)
        lmn__builder_cut(shard->root->child[i].builder, shard->rows);
    return LMN_OK;
}

/* The archive is damaged: the sample at hand goes, and what was read before stays. */
static enum lmn_status end_damaged(struct shard *shard, bool inside, enum lmn_status st,
                                   struct lmn_error *err)
{
    if (!lmn__webdataset_goes_on(shard->dataset, st))
        return inside ? within(shard, st, err) : st;
    if (!inside)
        shard->offset = shard->tar.position;
    report(shard, "", err);
    shard->ended = true;
    shard->has_next = false;
    if (!inside)
        return LMN_OK;
    shard->bad = true;
    return end_sample(shard, err);
}

static enum lmn_status read_sample(struct shard *shard, struct lmn_error *err)
{
    enum lmn_status st = start_sample(shard, err);

    while (st == LMN_OK && shard->has_next && same_key(shard)) {
        if (!shard->bad)
            st = fill_member(shard, err);
        if (st == LMN_OK)
            st = advance(shard, err);
        else if (st != LMN_E_CORRUPT && st != LMN_E_IO)
            return st;
    }
    if (st != LMN_OK)
        return end_damaged(shard, true, st, err);
    return end_sample(shard, err);
}

static enum lmn_status shard_next(struct lmn__producer *producer, struct ArrowArray *array_out,
                                  struct lmn_error *err)
{
    struct shard *shard = (struct shard *)producer;
    const struct lmn_webdataset_options *options = &shard->dataset->options;
    enum lmn_status st = LMN_OK;

    shard->rows = shard->bytes = 0;
    if (shard->unread)
        report(shard, "", &shard->failure);
    shard->unread = false;
    while (st == LMN_OK && !shard->ended && shard->rows < options->batch_rows_max &&
           shard->bytes < options->batch_bytes_max) {
        if (shard->has_next) {
            st = read_sample(shard, err);
            shard->ended = shard->ended || !shard->has_next;
        } else {
            st = advance(shard, err);
            if (st != LMN_OK)
                st = end_damaged(shard, false, st, err);
            shard->ended = !shard->has_next;
        }
    }
    if (st != LMN_OK || shard->rows == 0)
        return st;
    st = lmn__builder_check(shard->root->builder, shard->rows, err);
    return st != LMN_OK ? st : lmn__builder_finish(shard->root->builder, array_out, err);
}

static enum lmn_status shard_schema(struct lmn__producer *producer, struct ArrowSchema *schema_out,
                                    struct lmn_error *err)
{
    struct shard *shard = (struct shard *)producer;

    if (ArrowSchemaDeepCopy(&shard->dataset->schema, schema_out) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    return LMN_OK;
}

static void shard_free(struct lmn__producer *producer)
{
    struct shard *shard = (struct shard *)producer;
    struct lmn_webdataset *dataset = shard->dataset;

    if (shard->root != NULL)
        lmn__builder_deinit(shard->root->builder);
    lmn__tar_deinit(&shard->tar);
    lmn__json_deinit(&shard->json);
    lmn__buf_deinit(&shard->text);
    lmn__buf_deinit(&shard->key);
    lmn__buf_deinit(&shard->uri);
    lmn__arena_deinit(&shard->arena);
    lmn__free(dataset->env, shard);
    lmn__webdataset_release(dataset);
}

static enum lmn_status shard_init(struct shard *shard, struct lmn_error *err)
{
    struct lmn_webdataset *dataset = shard->dataset;
    struct lmn__source source = { .fd = -1 };
    struct lmn__span start = { NULL, 0 };
    enum lmn_status st = lmn__source_open(&source, dataset->env, shard->path, err);

    if (st == LMN_OK)
        st = lmn__source_peek(&source, 2, &start, err);
    if (st == LMN_OK && dataset->options.references && lmn__gzip_starts(start))
        st = lmn_fail(
            err, LMN_E_UNSUPPORTED,
            "%.200s is compressed with gzip, so nothing can refer to its members: load it "
            "without references",
            shard->path);
    lmn__tar_init(&shard->tar, dataset->env, &source, dataset->options.references);
    if (lmn__webdataset_goes_on(dataset, st)) {
        shard->failure = *err;
        shard->ended = shard->unread = true;
        st = LMN_OK;
    }
    if (st == LMN_OK)
        st = lmn__column_make(&dataset->schema, dataset->env, &shard->arena, &shard->root, err);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < dataset->column_count; i++) {
        const struct lmn__sample_column *column = &dataset->column[i];

        if (!column->typed &&
            (column->kind == LMN__SAMPLE_JSON || column->kind == LMN__SAMPLE_JSON_FIELD))
            lmn__column_set_guessed(&shard->root->child[i]);
    }
    shard->json_field = lmn__arena_array(&shard->arena, dataset->column_count,
                                         sizeof *shard->json_field);
    return shard->json_field != NULL ? LMN_OK : lmn__arena_fail(&shard->arena, "columns", err);
}

enum lmn_status lmn_webdataset_shard(struct lmn_webdataset *dataset, uint64_t number,
                                     struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn__producer_ops ops = { shard_schema, shard_next, shard_free };
    struct lmn_env *env = dataset->env;
    struct shard *shard;
    struct lmn_error local;
    enum lmn_status st;

    *stream_out = (struct ArrowArrayStream){ 0 };
    err = err != NULL ? err : &local;
    if (number >= dataset->shard_count)
        return lmn_fail(err, LMN_E_INVALID, "shard %llu of %llu", (unsigned long long)number,
                        (unsigned long long)dataset->shard_count);
    shard = lmn__calloc(env, 1, sizeof *shard);
    if (shard == NULL)
        return lmn__no_memory(err, "a shard", sizeof *shard);
    atomic_fetch_add(&dataset->reference_count, 1);
    shard->dataset = dataset;
    shard->path = dataset->shard[number];
    lmn__arena_init(&shard->arena, env, 0);
    lmn__buf_init(&shard->text, env, 0);
    lmn__buf_init(&shard->key, env, LMN__TAR_NAME_BYTES_MAX + 1);
    lmn__buf_init(&shard->uri, env, 0);
    lmn__json_init(&shard->json, env);
    lmn__external_uri(shard->path, &shard->uri);
    st = lmn__buf_status(&shard->uri, "a uri", err);
    if (st == LMN_OK)
        st = shard_init(shard, err);
    if (st != LMN_OK) {
        shard_free(&shard->producer);
        return st;
    }
    lmn__producer_export(&shard->producer, &ops, stream_out);
    return LMN_OK;
}
