/* SPDX-License-Identifier: Apache-2.0 */
#include "input.h"

#include <stdio.h>

#include "interrupt.h"
#include "output.h"
#include "progress.h"

/* Called before each read of the file. */
static bool note_bytes(void *self, uint64_t bytes)
{
    struct input *input = self;
    int64_t ms = progress_now_ms() - input->start_ms;
    char line[128];

    input->bytes = bytes;
    if (bytes != 0 && progress_is_due()) {
        snprintf(line, sizeof line, "%llu rows, %.1f MB, %.1f MB/s",
                 (unsigned long long)input->rows, (double)bytes / 1e6,
                 (double)bytes / 1e3 / (double)(ms > 0 ? ms : 1));
        progress_show(line);
    }
    return !interrupt_asked();
}

/* Until the file is read, note_bytes() ends the reading, which says where it was. */
static bool is_over(void *context)
{
    const struct input *input = context;

    return input->ended && interrupt_asked();
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema_out)
{
    struct input *input = stream->private_data;

    return input->inner.get_schema(&input->inner, schema_out);
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out)
{
    struct input *input = stream->private_data;
    int rc = 0;

    *array_out = input->first;
    input->first.release = NULL;
    if (array_out->release == NULL)
        rc = input->inner.get_next(&input->inner, array_out);
    if (rc == 0 && array_out->release != NULL)
        input->rows += (uint64_t)array_out->length;
    input->ended = rc == 0 && array_out->release == NULL;
    return rc;
}

static const char *get_last_error(struct ArrowArrayStream *stream)
{
    struct input *input = stream->private_data;

    return input->inner.get_last_error(&input->inner);
}

static void release(struct ArrowArrayStream *stream)
{
    struct input *input = stream->private_data;

    if (input->first.release != NULL)
        input->first.release(&input->first);
    input->inner.release(&input->inner);
    input->ended = true;
    stream->release = NULL;
    progress_clear();
}

void input_take(struct input *input, const struct ArrowArrayStream *stream)
{
    input->inner = *stream;
    input->stream = (struct ArrowArrayStream){ get_schema, get_next, get_last_error, release,
                                               input };
}

/* A file without columns may have rows all the same: objects without fields. */
static enum lmn_status look_for_rows(struct input *input, struct lmn_error *err)
{
    struct ArrowSchema schema;
    int rc = input->inner.get_schema(&input->inner, &schema);
    bool none;

    if (rc != 0)
        return stream_failed(&input->inner, rc, err);
    none = schema.n_children == 0;
    schema.release(&schema);
    if (!none)
        return LMN_OK;
    rc = input->inner.get_next(&input->inner, &input->first);
    input->empty = rc == 0 && input->first.release == NULL;
    return rc == 0 ? LMN_OK : stream_failed(&input->inner, rc, err);
}

enum lmn_status input_open(struct input *input, const char *path,
                           const struct rows_options *options, struct lmn_table *table,
                           struct lmn_error *err)
{
    struct rows_options watched = *options;
    struct ArrowArrayStream stream;
    enum lmn_status st;

    *input = (struct input){ .start_ms = progress_now_ms() };
    interrupt_catch(true);
    lmn_interrupt_set((struct lmn_interrupt){ is_over, input });
    watched.ingest.progress = note_bytes;
    watched.ingest.progress_self = input;
    st = open_rows(path, &watched, table, &stream, err);
    if (st != LMN_OK) {
        progress_clear();
        return st;
    }
    input_take(input, &stream);
    st = look_for_rows(input, err);
    if (st != LMN_OK || input->empty)
        input->stream.release(&input->stream);
    return st;
}

enum lmn_status input_refuse_empty(const char *path, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_INVALID,
                    "%.300s: there are no rows to take columns from: give a schema", path);
}
