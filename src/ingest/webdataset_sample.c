/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The columns of a dataset, taken from its first samples. Contents are passed over but for those of
 * JSON members, whose values make the type. Fields that at least half of the samples have are
 * columns; a sample that lacks one, or has another, is told like any bad input.
 */
#include <nanoarrow/nanoarrow.h>
#include <stdio.h>

#include "arrow/schema.h"
#include "base/error.h"
#include "base/math.h"
#include "base/utf8.h"
#include "ingest/json_value.h"
#include "ingest/webdataset.h"

enum { JSON_BYTES_MAX = 64 << 20, FIELDS_MAX = 1024 };

/* What the samples say of one extension. */
struct seen {
    const char *extension;
    uint64_t count;          /* samples that have it */
    uint64_t last;           /* the number of the last one, from 1 on */
    struct lmn__shape shape; /* of JSON values */
};

struct sampling {
    struct lmn_webdataset *dataset;
    struct seen *seen; /* FIELDS_MAX of them */
    uint32_t seen_count;
    uint64_t sample_count;
    bool inside; /* a sample is at hand, and has the key `key` */
    bool enough;
    struct lmn__buf key, text;
    struct lmn__json json;
    struct lmn__tar tar;
};

static enum lmn_status find_seen(struct sampling *s, struct lmn__span extension,
                                 struct seen **seen_out, struct lmn_error *err)
{
    struct lmn__arena *arena = &s->dataset->arena;
    char *text;

    for (uint32_t i = 0; i < s->seen_count; i++) {
        if (lmn__sample_is(extension, s->seen[i].extension)) {
            *seen_out = &s->seen[i];
            return LMN_OK;
        }
    }
    if (s->seen_count == FIELDS_MAX)
        return lmn_fail(err, LMN_E_INVALID, "samples of more than %d fields: name the columns",
                        FIELDS_MAX);
    text = lmn__arena_strndup(arena, extension.data, extension.len);
    if (text == NULL)
        return lmn__arena_fail(arena, "a list of fields", err);
    for (char *at = text; *at != '\0'; at++)
        *at = (char)(*at >= 'A' && *at <= 'Z' ? *at - 'A' + 'a' : *at);
    *seen_out = &s->seen[s->seen_count++];
    (*seen_out)->extension = text;
    return LMN_OK;
}

static bool is_json(const char *extension)
{
    size_t len = strlen(extension);

    return len >= 4 && strcmp(extension + len - 4, "json") == 0 &&
           (len == 4 || extension[len - 5] == '.');
}

/* Is the type of these values asked for, or given? */
static bool wants_shape(const struct lmn_webdataset *dataset, const char *extension)
{
    if (!is_json(extension))
        return false;
    for (uint32_t i = 0; i < dataset->column_count; i++) {
        const struct lmn__sample_column *column = &dataset->column[i];

        if (column->extension != NULL && !column->typed &&
            strcmp(column->extension, extension) == 0)
            return true;
    }
    return !dataset->given;
}

static enum lmn_status shape_member(struct sampling *s, const struct lmn__tar_member *member,
                                    struct lmn__shape *shape, struct lmn_error *err)
{
    enum lmn_status st;

    if (member->bytes > JSON_BYTES_MAX)
        return LMN_OK;
    lmn__buf_reset(&s->text);
    if (!lmn__buf_reserve(&s->text, member->bytes + 1))
        return lmn__no_memory(err, "a JSON text", member->bytes);
    st = lmn__tar_read(&s->tar, s->text.data, member->bytes, err);
    if (st != LMN_OK)
        return st;
    lmn__json_start(&s->json, (struct lmn__span){ s->text.data, member->bytes });
    /* What is wrong is told by the sample itself, when it comes. */
    if (!lmn__utf8_valid(s->json.text))
        return LMN_OK;
    st = lmn__json_shape(&s->json, &s->dataset->arena, shape, err);
    return st == LMN_E_INVALID ? LMN_OK : st;
}

static enum lmn_status sample_member(struct sampling *s, const struct lmn__tar_member *member,
                                     struct lmn_error *err)
{
    struct lmn__sample_name name;
    struct seen *seen = NULL;
    enum lmn_status st;

    if (!lmn__sample_name(member->name, &name))
        return LMN_OK;
    if (!s->inside || s->key.len != name.key.len ||
        memcmp(s->key.data, name.key.data, s->key.len) != 0) {
        s->enough = s->sample_count == s->dataset->options.sample_rows_max;
        if (s->enough)
            return LMN_OK;
        lmn__buf_reset(&s->key);
        lmn__buf_put(&s->key, name.key.data, name.key.len);
        s->sample_count++;
        s->inside = true;
    }
    st = find_seen(s, name.extension, &seen, err);
    if (st != LMN_OK)
        return st;
    seen->count += seen->last != s->sample_count;
    seen->last = s->sample_count;
    return member->refused == NULL && wants_shape(s->dataset, seen->extension)
               ? shape_member(s, member, &seen->shape, err)
               : LMN_OK;
}

static enum lmn_status sample_shard(struct sampling *s, const char *path, struct lmn_error *err)
{
    struct lmn__tar_member member;
    struct lmn__source source;
    bool more = true;
    enum lmn_status st = lmn__source_open(&source, s->dataset->env, path, err);

    if (st != LMN_OK)
        return st;
    lmn__tar_init(&s->tar, s->dataset->env, &source, true);
    s->inside = false;
    while (st == LMN_OK && more && !s->enough) {
        st = lmn__tar_next(&s->tar, &member, &more, err);
        if (st == LMN_OK && more)
            st = sample_member(s, &member, err);
    }
    lmn__tar_deinit(&s->tar);
    return st == LMN_OK ? lmn__buf_status(&s->key, "a key", err) : st;
}

/* Values that were null, and the items of lists that were empty, may be anything: text takes it. */
static enum lmn_status settle_shape(struct lmn__shape *shape, struct lmn__arena *arena,
                                    struct lmn_error *err)
{
    static const struct lmn__span item = { (const uint8_t *)"item", 4 };

    if (shape->kind == LMN__SHAPE_NULL)
        shape->kind = LMN__SHAPE_TEXT;
    if (shape->kind == LMN__SHAPE_LIST && shape->child == NULL &&
        lmn__shape_add(shape, arena, item) == NULL)
        return lmn__arena_fail(arena, "a schema", err);
    for (struct lmn__shape *child = shape->child; child != NULL; child = child->sibling) {
        enum lmn_status st = settle_shape(child, arena, err);

        if (st != LMN_OK)
            return st;
    }
    return LMN_OK;
}

static bool is_one_of(const char *text, const char *const *list)
{
    while (*list != NULL && strcmp(*list, text) != 0)
        list++;
    return *list != NULL;
}

static int set_type(struct ArrowSchema *schema, enum ArrowType type)
{
    ArrowSchemaInit(schema);
    return ArrowSchemaSetType(schema, type);
}

/* The type of a field that is named by its extension alone. */
static enum lmn_status type_of_extension(struct lmn__sample_column *column, struct lmn_error *err)
{
    static const char *const texts[] = { "txt", "text", NULL };
    static const char *const integers[] = { "cls", "count", "index", "id", NULL };
    enum ArrowType type = NANOARROW_TYPE_BINARY;

    if (column->extension == NULL || is_one_of(column->extension, texts))
        type = NANOARROW_TYPE_STRING;
    else if (is_one_of(column->extension, integers))
        type = NANOARROW_TYPE_INT64;
    if (column->extension != NULL && type != NANOARROW_TYPE_BINARY)
        column->kind = LMN__SAMPLE_TEXT;
    return set_type(&column->type, type) == NANOARROW_OK ? LMN_OK
                                                         : lmn__no_memory(err, "a type", 0);
}

/* A reference, as Lance describes it: bytes that lie in the table, or where others are. */
static enum lmn_status reference_type(struct ArrowSchema *schema, struct lmn_error *err)
{
    static const char *const name[] = { "data", "uri", "position", "size" };
    static const enum ArrowType type[] = { NANOARROW_TYPE_LARGE_BINARY, NANOARROW_TYPE_STRING,
                                           NANOARROW_TYPE_UINT64, NANOARROW_TYPE_UINT64 };
    struct ArrowBuffer metadata;
    bool failed;

    ArrowSchemaInit(schema);
    failed = ArrowSchemaSetTypeStruct(schema, 4) != NANOARROW_OK;
    for (int i = 0; i < 4 && !failed; i++)
        failed = ArrowSchemaSetType(schema->children[i], type[i]) != NANOARROW_OK ||
                 ArrowSchemaSetName(schema->children[i], name[i]) != NANOARROW_OK;
    if (failed || ArrowMetadataBuilderInit(&metadata, NULL) != NANOARROW_OK)
        return lmn__no_memory(err, "a type", 0);
    failed = ArrowMetadataBuilderAppend(&metadata, ArrowCharView("ARROW:extension:name"),
                                        ArrowCharView("lance.blob.v2")) != NANOARROW_OK ||
             ArrowMetadataBuilderAppend(&metadata, ArrowCharView("ARROW:extension:metadata"),
                                        ArrowCharView("")) != NANOARROW_OK ||
             ArrowSchemaSetMetadata(schema, (const char *)metadata.data) != NANOARROW_OK;
    ArrowBufferReset(&metadata);
    return failed ? lmn__no_memory(err, "a type", 0) : LMN_OK;
}

static enum lmn_status type_of_json(struct lmn__sample_column *column, struct seen *seen,
                                    struct lmn__arena *arena, struct lmn_error *err)
{
    struct lmn__shape *shape = &seen->shape;
    enum lmn_status st;

    if (column->member != NULL) {
        struct lmn__span name = { (const uint8_t *)column->member, strlen(column->member) };

        shape = shape->kind == LMN__SHAPE_STRUCT ? lmn__shape_find(shape, name) : NULL;
        if (shape == NULL)
            return lmn_fail(err, LMN_E_INVALID,
                            "column \"%.100s\": \"%.100s\" has no field \"%.100s\" in the first "
                            "samples: give a type",
                            column->name, column->extension, column->member);
    } else {
        column->kind = LMN__SAMPLE_JSON;
    }
    st = settle_shape(shape, arena, err);
    return st != LMN_OK ? st : lmn__shape_schema(shape, &column->type, err);
}

/* Note on a column how many rows are read together. */
static enum lmn_status set_group_size(struct ArrowSchema *field, uint32_t size,
                                      struct lmn_error *err)
{
    struct ArrowBuffer metadata;
    char text[16];
    bool failed;

    snprintf(text, sizeof text, "%u", size);
    if (ArrowMetadataBuilderInit(&metadata, field->metadata) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    failed = ArrowMetadataBuilderSet(&metadata, ArrowCharView("leman:group_size"),
                                     ArrowCharView(text)) != NANOARROW_OK ||
             ArrowSchemaSetMetadata(field, (const char *)metadata.data) != NANOARROW_OK;
    ArrowBufferReset(&metadata);
    return failed ? lmn__no_memory(err, "a schema", 0) : LMN_OK;
}

/* Make the type of a column, and its place in a schema. */
static enum lmn_status settle_column(struct sampling *s, struct lmn__sample_column *column,
                                     struct ArrowSchema *field, struct lmn_error *err)
{
    struct seen *seen = NULL;
    enum lmn_status st = LMN_OK;

    for (uint32_t i = 0; column->extension != NULL && i < s->seen_count; i++) {
        if (strcmp(s->seen[i].extension, column->extension) == 0)
            seen = &s->seen[i];
    }
    if (seen == NULL && column->extension != NULL && !column->typed && is_json(column->extension))
        return lmn_fail(err, LMN_E_INVALID,
                        "column \"%.100s\": no field \"%.100s\" in the first samples: give a type",
                        column->name, column->extension);
    if (!column->typed && seen != NULL && is_json(column->extension))
        st = type_of_json(column, seen, &s->dataset->arena, err);
    else if (!column->typed)
        st = type_of_extension(column, err);
    if (st == LMN_OK && s->dataset->options.references && column->kind == LMN__SAMPLE_BYTES)
        column->kind = LMN__SAMPLE_REFERENCE;
    if (st == LMN_OK && column->kind == LMN__SAMPLE_REFERENCE) {
        column->type.release(&column->type);
        st = reference_type(&column->type, err);
    }
    if (st == LMN_OK) {
        field->release(field);
        st = lmn__arrow_schema_copy(&column->type, field, err);
    }
    if (st == LMN_OK && ArrowSchemaSetName(field, column->name) != NANOARROW_OK)
        st = lmn__no_memory(err, "a schema", 0);
    if (st == LMN_OK && s->dataset->options.group_size != 0 &&
        (column->kind == LMN__SAMPLE_BYTES || column->kind == LMN__SAMPLE_REFERENCE))
        st = set_group_size(field, s->dataset->options.group_size, err);
    return st;
}

/* Without names from the caller: the key, and the fields that at least half of the samples have. */
static enum lmn_status add_columns(struct sampling *s, struct lmn_error *err)
{
    struct lmn_webdataset *dataset = s->dataset;
    uint32_t count = 1;
    enum lmn_status st = LMN_OK;

    dataset->column = lmn__arena_array(&dataset->arena, s->seen_count + 1, sizeof *dataset->column);
    if (dataset->column == NULL)
        return lmn__arena_fail(&dataset->arena, "columns", err);
    dataset->column[0] = (struct lmn__sample_column){ .name = "__key__", .kind = LMN__SAMPLE_KEY };
    for (uint32_t i = 0; st == LMN_OK && i < s->seen_count; i++) {
        struct lmn__sample_column *column = &dataset->column[count];

        if (s->seen[i].count * 2 < s->sample_count)
            continue;
        *column = (struct lmn__sample_column){
            .name = lmn__sample_column_name(dataset, s->seen[i].extension),
            .extension = s->seen[i].extension,
            .kind = LMN__SAMPLE_BYTES,
        };
        if (column->name == NULL)
            return lmn__arena_fail(&dataset->arena, "columns", err);
        for (uint32_t k = 0; st == LMN_OK && k < count; k++)
            st = lmn__sample_check_pair(&dataset->column[k], column, err);
        count++;
    }
    dataset->column_count = count;
    return st;
}

static enum lmn_status make_schema(struct sampling *s, struct lmn_error *err)
{
    struct lmn_webdataset *dataset = s->dataset;
    enum lmn_status st = dataset->given ? LMN_OK : add_columns(s, err);

    if (st != LMN_OK)
        return st;
    ArrowSchemaInit(&dataset->schema);
    if (ArrowSchemaSetTypeStruct(&dataset->schema, dataset->column_count) != NANOARROW_OK ||
        ArrowSchemaSetName(&dataset->schema, "") != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    for (uint32_t i = 0; st == LMN_OK && i < dataset->column_count; i++)
        st = settle_column(s, &dataset->column[i], dataset->schema.children[i], err);
    return st;
}

/* Sample shard after shard. Those that cannot be read tell of it when their turn comes. */
static enum lmn_status sample_shards(struct sampling *s, struct lmn_error *err)
{
    struct lmn_webdataset *dataset = s->dataset;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; i < dataset->shard_count && !s->enough; i++) {
        st = sample_shard(s, dataset->shard[i], err);
        if (st == LMN_E_NO_MEMORY ||
            (st != LMN_OK && i == 0 && !lmn__webdataset_goes_on(dataset, st)))
            return st;
    }
    if (s->sample_count != 0)
        return LMN_OK;
    if (st != LMN_OK)
        return st;
    return lmn_fail(err, LMN_E_NOT_FOUND, "%.200s%s: there are no samples", dataset->shard[0],
                    dataset->shard_count > 1 ? " and the other shards" : "");
}

enum lmn_status lmn__webdataset_sample(struct lmn_webdataset *dataset, struct lmn_error *err)
{
    struct lmn_env *env = dataset->env;
    struct sampling s = { .dataset = dataset };
    enum lmn_status st;

    s.seen = lmn__calloc(env, FIELDS_MAX, sizeof *s.seen);
    if (s.seen == NULL)
        return lmn__no_memory(err, "a list of fields", FIELDS_MAX * sizeof *s.seen);
    lmn__buf_init(&s.key, env, LMN__TAR_NAME_BYTES_MAX);
    lmn__buf_init(&s.text, env, 0);
    lmn__json_init(&s.json, env);
    st = sample_shards(&s, err);
    if (st == LMN_OK)
        st = make_schema(&s, err);
    lmn__json_deinit(&s.json);
    lmn__buf_deinit(&s.key);
    lmn__buf_deinit(&s.text);
    lmn__free(env, s.seen);
    return st;
}
