/* SPDX-License-Identifier: Apache-2.0 */
#include "ingest/reader.h"

#include <nanoarrow/nanoarrow.h>

#include "arrow/cut.h"
#include "base/error.h"
#include "base/utf8.h"

enum {
    BATCH_ROWS_DEFAULT = 8192,
    BATCH_BYTES_MAX = 32 << 20, /* of text, about */
    SAMPLE_ROWS_DEFAULT = 10000
};

enum lmn_status lmn__text_check(struct lmn__span text, struct lmn_error *err)
{
    if (text.len == 0 || lmn__utf8_valid(text))
        return LMN_OK;
    return lmn_fail(err, LMN_E_INVALID,
                    memchr(text.data, '\0', text.len) != NULL
                        ? "the text has a NUL byte; files of text are read in UTF-8"
                        : "the text is not UTF-8");
}

/* Where in the file the window begins. */
static uint64_t place_of(const struct lmn__text_reader *reader)
{
    return reader->window.source.position - lmn__window_bytes(&reader->window).len;
}

/* A row, begun at `place`, does not fit: tell of it, and take back what was read of it. */
static void leave_out(struct lmn__text_reader *reader, uint64_t rows, uint64_t place,
                      const struct lmn_error *err)
{
    struct lmn_problem problem = { .part = reader->window.source.name,
                                   .offset = place,
                                   .key = "",
                                   .field = "",
                                   .message = err->message };

    if (reader->report != NULL)
        reader->report(reader->report_self, &problem);
    lmn__builder_cut(reader->column->builder, rows);
    /* Where the end of a row cannot be found, there is no next one. */
    reader->ended = place_of(reader) == place;
}

static enum lmn_status read_rows(struct lmn__text_reader *reader, struct lmn_error *err)
{
    struct lmn__builder *builder = reader->column->builder;
    uint64_t limit = reader->window.source.position + BATCH_BYTES_MAX;
    bool more = true;

    while (more && !reader->ended && builder->length < reader->batch_rows_max &&
           reader->window.source.position < limit) {
        uint64_t rows = builder->length, place = place_of(reader);
        struct lmn_error local;
        enum lmn_status st = reader->format->row(reader, &more, &local);

        if (st == LMN_OK)
            continue;
        st = lmn__fail_within(&local, st, "line %llu", (unsigned long long)reader->line);
        if (st != LMN_E_INVALID || reader->bad == LMN_BAD_FAIL) {
            lmn__fail_within(&local, st, "%.200s", reader->window.source.name);
            if (err != NULL)
                *err = local;
            return st;
        }
        leave_out(reader, rows, place, &local);
        more = true;
    }
    return LMN_OK;
}

static enum lmn_status reader_next(struct lmn__producer *producer, struct ArrowArray *array_out,
                                   struct lmn_error *err)
{
    struct lmn__text_reader *reader = (struct lmn__text_reader *)producer;
    struct lmn__builder *builder = reader->column->builder;
    enum lmn_status st = read_rows(reader, err);

    if (st != LMN_OK || builder->length == 0)
        return st;
    st = lmn__builder_check(builder, builder->length, err);
    return st != LMN_OK ? st : lmn__builder_finish(builder, array_out, err);
}

static enum lmn_status reader_schema(struct lmn__producer *producer, struct ArrowSchema *schema_out,
                                     struct lmn_error *err)
{
    struct lmn__text_reader *reader = (struct lmn__text_reader *)producer;

    if (ArrowSchemaDeepCopy(&reader->schema, schema_out) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    return LMN_OK;
}

static void reader_free(struct lmn__producer *producer)
{
    struct lmn__text_reader *reader = (struct lmn__text_reader *)producer;
    struct lmn_env *env = reader->env;

    reader->format->deinit(reader);
    if (reader->column != NULL)
        lmn__builder_deinit(reader->column->builder);
    if (reader->schema.release != NULL)
        ArrowSchemaRelease(&reader->schema);
    lmn__arena_deinit(&reader->arena);
    lmn__window_deinit(&reader->window);
    if (reader->report_free != NULL)
        reader->report_free(reader->report_self);
    lmn__free(env, reader);
    lmn_env_release(env);
}

static enum lmn_status take_schema(struct lmn__text_reader *reader,
                                   const struct ArrowSchema *schema, struct lmn_error *err)
{
    if (strcmp(schema->format, "+s") != 0)
        return lmn_fail(err, LMN_E_INVALID, "the schema is not a struct of columns but \"%.20s\"",
                        schema->format);
    reader->schema_given = true;
    if (ArrowSchemaDeepCopy(schema, &reader->schema) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    return LMN_OK;
}

/* The child of that name; mostly they are asked for in their order. `schema` may be NULL. */
static const struct ArrowSchema *find_child(const struct ArrowSchema *schema, const char *name,
                                            int64_t *expected)
{
    for (int64_t i = 0; schema != NULL && i < schema->n_children; i++) {
        int64_t at = (*expected + i) % schema->n_children;

        if (strcmp(schema->children[at]->name, name) == 0) {
            *expected = at + 1;
            return schema->children[at];
        }
    }
    return NULL;
}

/* Give the columns of the sample the types that `like` (may be NULL) has for them. */
static enum lmn_status take_types(struct lmn__text_reader *reader, const struct ArrowSchema *like,
                                  struct lmn_error *err)
{
    int64_t expected = 0;

    for (int64_t i = 0; i < reader->schema.n_children; i++) {
        struct ArrowSchema *child = reader->schema.children[i], typed;
        const struct ArrowSchema *found = find_child(like, child->name, &expected);

        if (found == NULL)
            continue;
        if (ArrowSchemaDeepCopy(found, &typed) != NANOARROW_OK)
            return lmn__no_memory(err, "a schema", 0);
        ArrowSchemaRelease(child);
        *child = typed;
    }
    return LMN_OK;
}

static enum lmn_status make_columns(struct lmn__text_reader *reader, const struct ArrowSchema *like,
                                    struct lmn_error *err)
{
    int64_t expected = 0;
    enum lmn_status st = LMN_OK;

    if (!reader->schema_given)
        st = take_types(reader, like, err);
    if (st == LMN_OK)
        st = lmn__column_make(&reader->schema, reader->env, &reader->arena, &reader->column, err);
    if (st != LMN_OK || reader->schema_given)
        return st;
    reader->column->guessed = like == NULL;
    for (uint32_t i = 0; i < reader->column->child_count; i++) {
        if (find_child(like, reader->column->child[i].name, &expected) == NULL)
            lmn__column_set_guessed(&reader->column->child[i]);
    }
    return LMN_OK;
}

enum lmn_status lmn__text_reader_open(
    struct lmn_env *env, struct lmn__source *source, const struct lmn_ingest_options *options,
    const struct lmn__text_format *format, size_t bytes,
    enum lmn_status (*prepare)(struct lmn__text_reader *reader,
                               const struct lmn_ingest_options *options, struct lmn_error *err),
    struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn__producer_ops ops = { reader_schema, reader_next, reader_free };
    struct lmn__text_reader *reader = lmn__calloc(env, 1, bytes);
    enum lmn_status st = LMN_OK;

    *stream_out = (struct ArrowArrayStream){ 0 };
    if (reader == NULL) {
        lmn__source_close(source);
        return lmn__no_memory(err, "a reader", bytes);
    }
    reader->env = lmn_env_acquire(env);
    reader->format = format;
    lmn__window_init(&reader->window, env, source);
    lmn__arena_init(&reader->arena, env, 0);
    reader->batch_rows_max = options->batch_rows_max != 0 ? options->batch_rows_max
                                                          : BATCH_ROWS_DEFAULT;
    reader->sample_rows_max = options->sample_rows_max != 0 ? options->sample_rows_max
                                                            : SAMPLE_ROWS_DEFAULT;
    reader->bad = options->bad;
    if (options->schema != NULL)
        st = take_schema(reader, options->schema, err);
    if (st == LMN_OK && prepare != NULL)
        st = prepare(reader, options, err);
    if (st == LMN_OK)
        st = lmn__window_skip_mark(&reader->window, err);
    if (st == LMN_OK)
        st = format->sample(reader, err);
    if (st == LMN_OK)
        st = make_columns(reader, options->like, err);
    if (st != LMN_OK) {
        st = lmn__fail_within(err, st, "%.200s", reader->window.source.name);
        reader_free(&reader->producer);
        return st;
    }
    reader->report = options->report;
    reader->report_self = options->report_self;
    reader->report_free = options->report_free;
    lmn__producer_export(&reader->producer, &ops, stream_out);
    return LMN_OK;
}
