/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON lines: each line is an object. Strings cannot hold a line end, so lines are found without a
 * look at what they say; empty ones are passed over.
 */
#include "base/error.h"
#include "ingest/json.h"
#include "ingest/json_value.h"
#include "ingest/reader.h"
#include "ingest/shape.h"

struct jsonl {
    struct lmn__text_reader reader; /* first */
    struct lmn__json json;
    uint64_t sample_lines; /* read so far by the sample */
};

/*
 * Start on the next line that is not empty, from byte *at of the window on, which moves behind
 * it; with NULL, from the window's start, and the window moves.
 */
static enum lmn_status next_line(struct jsonl *jsonl, size_t *at, bool *more_out,
                                 struct lmn_error *err)
{
    struct lmn__window *window = &jsonl->reader.window;

    *more_out = false;
    for (;;) {
        struct lmn__span bytes = lmn__window_bytes(window);
        size_t from = at != NULL ? *at : 0, len;
        const uint8_t *end = memchr(bytes.data + from, '\n', bytes.len - from);
        enum lmn_status st;

        jsonl->reader.line = window->line + jsonl->sample_lines;
        if (end == NULL && !window->ended) {
            st = lmn__window_more(window, err);
            if (st != LMN_OK)
                return st;
            continue;
        }
        if (from == bytes.len)
            return LMN_OK;
        len = end != NULL ? (size_t)(end - bytes.data) - from : bytes.len - from;
        if (at != NULL) {
            *at = from + len + (end != NULL);
            jsonl->sample_lines++;
        } else {
            lmn__window_advance(window, len + (end != NULL), 1);
        }
        lmn__json_start(&jsonl->json, (struct lmn__span){ bytes.data + from, len });
        if (lmn__json_end(&jsonl->json))
            continue;
        lmn__json_start(&jsonl->json, jsonl->json.text);
        st = lmn__text_check(jsonl->json.text, err);
        *more_out = st == LMN_OK;
        return st;
    }
}

/* Files of one array, and objects over several lines, are JSON of another kind. */
static enum lmn_status check_line(struct jsonl *jsonl, struct lmn_error *err)
{
    enum lmn__json_kind kind;

    if (lmn__json_kind(&jsonl->json, &kind) && kind != LMN__JSON_OBJECT)
        return lmn_fail(err, LMN_E_INVALID, "this is %s; one JSON object per line is wanted",
                        lmn__json_kind_name(kind));
    return LMN_OK;
}

/* What is wrong with a line that was read to its end, but for an object that goes on behind it. */
static enum lmn_status explain(const struct jsonl *jsonl, enum lmn_status st, struct lmn_error *err)
{
    const struct lmn__json *json = &jsonl->json;

    if (st != LMN_E_INVALID || json->problem == NULL || json->at < json->text.len)
        return st;
    return lmn_fail(err, st,
                    "the object does not end where the line does; one whole JSON object per line "
                    "is wanted");
}

static enum lmn_status jsonl_sample(struct lmn__text_reader *reader, struct lmn_error *err)
{
    struct jsonl *jsonl = (struct jsonl *)reader;
    struct lmn__shape shape = { .kind = LMN__SHAPE_STRUCT };
    size_t at = 0;
    bool more = true;

    if (reader->schema_given)
        return LMN_OK;
    for (uint64_t row = 1; row <= reader->sample_rows_max && at < LMN__SAMPLE_BYTES_MAX; row++) {
        enum lmn_status st = next_line(jsonl, &at, &more, err);

        if (st == LMN_OK && !more)
            break;
        if (st == LMN_OK)
            st = check_line(jsonl, err);
        if (st == LMN_OK)
            st = explain(jsonl, lmn__json_shape(&jsonl->json, &reader->arena, &shape, err), err);
        if (st == LMN_E_INVALID && reader->bad != LMN_BAD_FAIL)
            continue; /* it is told by the row itself, when it comes */
        if (st != LMN_OK)
            return lmn__fail_within(err, st, "line %llu", (unsigned long long)reader->line);
    }
    jsonl->sample_lines = 0;
    return lmn__shape_schema(&shape, &reader->schema, err);
}

static enum lmn_status jsonl_row(struct lmn__text_reader *reader, bool *more_out,
                                 struct lmn_error *err)
{
    struct jsonl *jsonl = (struct jsonl *)reader;
    enum lmn_status st = next_line(jsonl, NULL, more_out, err);

    if (st != LMN_OK || !*more_out)
        return st;
    st = check_line(jsonl, err);
    if (st == LMN_OK)
        st = lmn__json_fill(&jsonl->json, reader->column,
                            reader->schema_given ? LMN__JSON_EXTRA_PASSED : LMN__JSON_EXTRA_BAD,
                            err);
    if (st == LMN_OK && !lmn__json_end(&jsonl->json))
        st = lmn__json_bad(&jsonl->json, err);
    return explain(jsonl, st, err);
}

static void jsonl_deinit(struct lmn__text_reader *reader)
{
    lmn__json_deinit(&((struct jsonl *)reader)->json);
}

static enum lmn_status jsonl_prepare(struct lmn__text_reader *reader,
                                     const struct lmn_ingest_options *options,
                                     struct lmn_error *err)
{
    (void)options;
    (void)err;
    lmn__json_init(&((struct jsonl *)reader)->json, reader->env);
    return LMN_OK;
}

enum lmn_status lmn__jsonl_open(struct lmn_env *env, struct lmn__source *source,
                                const struct lmn_ingest_options *options,
                                struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    static const struct lmn__text_format format = { jsonl_sample, jsonl_row, jsonl_deinit };

    return lmn__text_reader_open(env, source, options, &format, sizeof(struct jsonl), jsonl_prepare,
                                 stream_out, err);
}
