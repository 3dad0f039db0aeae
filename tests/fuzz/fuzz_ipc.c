/* SPDX-License-Identifier: Apache-2.0 */
/* Input: an Arrow IPC stream or file. What is read is written, and must be read again. */
#include "arrow/ipc_read.h"
#include "arrow/ipc_write.h"
#include "arrow/producer.h"
#include "input.h"

enum { ROWS_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static enum lmn_status read_bytes(const char *name, struct lmn__span bytes,
                                  struct ArrowArrayStream *stream)
{
    struct lmn__source source;
    enum lmn_status st = lmn__source_open_memory(&source, fuzz_env(), name, bytes, NULL);

    return st == LMN_OK ? lmn__ipc_read(fuzz_env(), &source, stream, NULL) : st;
}

static void read_again(struct lmn__span bytes)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = read_bytes("again", bytes, &stream);

    if (st == LMN_OK) {
        while ((st = lmn__stream_next(&stream, &batch, NULL)) == LMN_OK && batch.release != NULL)
            batch.release(&batch);
        stream.release(&stream);
    }
    if (st == LMN_E_CORRUPT)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct lmn__ipc_writer writer = { 0 };
    struct ArrowArrayStream stream;
    struct ArrowSchema schema;
    struct ArrowArray batch;
    struct lmn__sink sink = { 0 };
    struct lmn__buf buf;

    if (read_bytes("input", (struct lmn__span){ data, len }, &stream) != LMN_OK)
        return 0;
    lmn__buf_init(&buf, fuzz_env(), 64 << 20);
    if (lmn__stream_schema(&stream, &schema, NULL) == LMN_OK) {
        if (lmn__sink_open_buf(&sink, fuzz_env(), &buf, NULL) == LMN_OK &&
            lmn__ipc_writer_open(&writer, fuzz_env(), &sink, LMN__IPC_STREAM, &schema, NULL) ==
                LMN_OK) {
            enum lmn_status st = LMN_OK;

            while (st == LMN_OK && lmn__stream_next(&stream, &batch, NULL) == LMN_OK &&
                   batch.release != NULL) {
                if (batch.length < ROWS_MAX)
                    st = lmn__ipc_writer_write(&writer, &batch, NULL);
                batch.release(&batch);
            }
            if (st == LMN_OK && lmn__ipc_writer_finish(&writer, NULL) == LMN_OK)
                read_again((struct lmn__span){ buf.data, buf.len });
        }
        lmn__ipc_writer_abort(&writer);
        (void)!lmn__sink_close(&sink, NULL);
        schema.release(&schema);
    }
    lmn__buf_deinit(&buf);
    stream.release(&stream);
    return 0;
}
