/* SPDX-License-Identifier: Apache-2.0 */
#include "output.h"

#include <errno.h>
#include <string.h>

const char *output_wrong(const struct output *output)
{
    return output->json && output->arrow ? "one of --json and --arrow, not both" : NULL;
}

enum lmn_status stream_failed(struct ArrowArrayStream *stream, int rc, struct lmn_error *err)
{
    const char *text = stream->get_last_error(stream);
    enum lmn_status st = rc == EINVAL      ? LMN_E_INVALID
                         : rc == EBADMSG   ? LMN_E_CORRUPT
                         : rc == ENOSYS    ? LMN_E_UNSUPPORTED
                         : rc == ENOMEM    ? LMN_E_NO_MEMORY
                         : rc == ECANCELED ? LMN_E_CANCELLED
                                           : LMN_E_IO;

    return lmn_fail(err, st, "%s", text != NULL ? text : strerror(rc));
}

enum lmn_status output_rows(struct ArrowArrayStream *stream, const struct ArrowSchema *schema,
                            struct print_table *table, struct lmn_error *err)
{
    struct ArrowArray batch;
    int rc;

    while ((rc = stream->get_next(stream, &batch)) == 0 && batch.release != NULL) {
        if (table != NULL)
            print_table_add(table, &batch);
        else
            print_json(schema, &batch, stdout);
        batch.release(&batch);
    }
    return rc == 0 ? LMN_OK : stream_failed(stream, rc, err);
}

static struct print_table *table_new(const struct output *output, const struct ArrowSchema *schema)
{
    struct print_options options = { 0 };

    print_options_terminal(&options, stdout);
    if (output->shown.given) {
        options.head = output->shown.value;
        options.tail = options.head == 0; /* both 0 would ask for the default */
    }
    return print_table_new(schema, &options);
}

enum lmn_status output_stream(const struct output *output, struct ArrowArrayStream *stream,
                              struct lmn_error *err)
{
    struct print_table *table = NULL;
    struct ArrowSchema schema;
    enum lmn_status st;
    int rc;

    if (output->arrow)
        return lmn_ipc_write(NULL, "-", stream, err);
    rc = stream->get_schema(stream, &schema);
    if (rc != 0)
        return stream_failed(stream, rc, err);
    if (!output->json)
        table = table_new(output, &schema);
    st = output_rows(stream, &schema, table, err);
    if (table != NULL) {
        if (st == LMN_OK)
            print_table_end(table, stdout);
        print_table_free(table);
    }
    schema.release(&schema);
    return st;
}

/* One array as a stream. What its consumer is given is the array itself, once. */
struct once {
    struct ArrowSchema *schema;
    struct ArrowArray *array;
};

static int once_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema_out)
{
    struct once *once = stream->private_data;

    *schema_out = *once->schema;
    once->schema->release = NULL;
    return 0;
}

static int once_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out)
{
    struct once *once = stream->private_data;

    *array_out = *once->array;
    once->array->release = NULL;
    return 0;
}

static const char *once_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

enum lmn_status output_array(const struct output *output, struct ArrowSchema *schema,
                             struct ArrowArray *array, struct lmn_error *err)
{
    struct once once = { schema, array };
    struct ArrowArrayStream stream = { .get_schema = once_schema,
                                       .get_next = once_next,
                                       .get_last_error = once_error,
                                       .private_data = &once };
    enum lmn_status st = output_stream(output, &stream, err);

    if (schema->release != NULL)
        schema->release(schema);
    if (array->release != NULL)
        array->release(array);
    return st;
}
