/* SPDX-License-Identifier: Apache-2.0 */
#include "arrow/producer.h"

#include <errno.h>

#include "os/interrupt.h"

static int status_errno(enum lmn_status status)
{
    switch (status) {
    case LMN_OK:
        return 0;
    case LMN_E_NO_MEMORY:
        return ENOMEM;
    case LMN_E_INVALID:
        return EINVAL;
    case LMN_E_CORRUPT:
        return EBADMSG;
    case LMN_E_UNSUPPORTED:
        return ENOSYS;
    case LMN_E_CANCELLED:
        return ECANCELED;
    default:
        return EIO;
    }
}

static enum lmn_status errno_status(int os_errno)
{
    switch (os_errno) {
    case ENOMEM:
        return LMN_E_NO_MEMORY;
    case EINVAL:
        return LMN_E_INVALID;
    case EBADMSG:
        return LMN_E_CORRUPT;
    case ENOSYS:
        return LMN_E_UNSUPPORTED;
    case ECANCELED:
        return LMN_E_CANCELLED;
    default:
        return LMN_E_IO;
    }
}

static int stream_get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema_out)
{
    struct lmn__producer *producer = stream->private_data;
    struct lmn_error error = { 0 };
    enum lmn_status st;

    *schema_out = (struct ArrowSchema){ 0 };
    st = producer->ops->schema(producer, schema_out, &error);
    error.status = st;
    /* A stream that has failed says so again, whatever it is asked in between. */
    if (!producer->failed)
        producer->error = error;
    return status_errno(st);
}

static int stream_get_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out)
{
    struct lmn__producer *producer = stream->private_data;
    enum lmn_status st;

    *array_out = (struct ArrowArray){ 0 };
    if (producer->failed)
        return status_errno(producer->error.status);
    if (producer->ended)
        return 0;
    st = producer->ops->next(producer, array_out, &producer->error);
    producer->error.status = st;
    producer->failed = st != LMN_OK;
    producer->ended = st == LMN_OK && array_out->release == NULL;
    return status_errno(st);
}

static const char *stream_get_last_error(struct ArrowArrayStream *stream)
{
    struct lmn__producer *producer = stream->private_data;

    return producer->error.status != LMN_OK ? producer->error.message : NULL;
}

static void stream_release(struct ArrowArrayStream *stream)
{
    struct lmn__producer *producer = stream->private_data;

    stream->release = NULL;
    stream->private_data = NULL;
    producer->ops->free(producer);
}

void lmn__producer_export(struct lmn__producer *producer, const struct lmn__producer_ops *ops,
                          struct ArrowArrayStream *stream_out)
{
    producer->ops = ops;
    *stream_out = (struct ArrowArrayStream){ stream_get_schema, stream_get_next,
                                             stream_get_last_error, stream_release, producer };
}

/* Why a call of the stream answered `rc`. */
static enum lmn_status stream_fail(struct ArrowArrayStream *stream, int rc, struct lmn_error *err)
{
    const char *text;

    if (stream->release == stream_release) {
        const struct lmn__producer *producer = stream->private_data;

        if (err != NULL)
            *err = producer->error;
        return producer->error.status;
    }
    text = stream->get_last_error(stream);
    if (text != NULL && text[0] != '\0')
        return lmn_fail(err, errno_status(rc), "%s", text);
    return lmn_fail_os(err, errno_status(rc), rc, "an Arrow stream failed");
}

enum lmn_status lmn__stream_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out,
                                 struct lmn_error *err)
{
    enum lmn_status st;
    int rc;

    *array_out = (struct ArrowArray){ 0 };
    st = lmn__interrupt_check(err);
    if (st != LMN_OK)
        return st;
    rc = stream->get_next(stream, array_out);
    return rc == 0 ? LMN_OK : stream_fail(stream, rc, err);
}

enum lmn_status lmn__stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema_out,
                                   struct lmn_error *err)
{
    int rc;

    *schema_out = (struct ArrowSchema){ 0 };
    rc = stream->get_schema(stream, schema_out);
    return rc == 0 ? LMN_OK : stream_fail(stream, rc, err);
}
