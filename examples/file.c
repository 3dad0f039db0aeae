/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Write a Lance file of one column of numbers, read it back and add them up.
 *
 * The Arrow structs are filled by hand here, to show that they are all there is to it; a library
 * such as nanoarrow makes larger ones comfortably.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <leman/leman.h>

enum { ROWS = 100000 };

static int64_t numbers[ROWS];

/* Our structs point to static memory, so there is nothing to release. */
static void keep_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void keep_array(struct ArrowArray *array)
{
    array->release = NULL;
}

static enum lmn_status write_numbers(struct lmn_store *store, const char *path,
                                     struct lmn_error *err)
{
    struct ArrowSchema column = { .format = "l", .name = "n", .release = keep_schema };
    struct ArrowSchema *columns[] = { &column };
    struct ArrowSchema schema = {
        .format = "+s", .name = "", .n_children = 1, .children = columns, .release = keep_schema
    };
    const void *buffers[] = { NULL, numbers };
    const void *no_buffers[] = { NULL };
    struct ArrowArray values = {
        .length = ROWS, .n_buffers = 2, .buffers = buffers, .release = keep_array
    };
    struct ArrowArray *children[] = { &values };
    struct ArrowArray rows = { .length = ROWS,
                               .n_buffers = 1,
                               .buffers = no_buffers,
                               .n_children = 1,
                               .children = children,
                               .release = keep_array };
    const struct lmn_file_writer_options options = { .replace = true };
    struct lmn_file_writer *writer;
    enum lmn_status st = lmn_file_writer_open(store, path, &schema, &options, &writer, err);

    if (st != LMN_OK)
        return st;
    st = lmn_file_writer_write(writer, &rows, err);
    if (st != LMN_OK) {
        lmn_file_writer_abort(writer);
        return st;
    }
    return lmn_file_writer_finish(writer, NULL, err);
}

static enum lmn_status add_up(struct lmn_store *store, const char *path, int64_t *sum_out,
                              struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_file *file;
    enum lmn_status st = lmn_file_open(store, path, NULL, &file, err);

    if (st != LMN_OK)
        return st;
    st = lmn_file_scan(file, NULL, &stream, err);
    lmn_file_release(file);
    if (st != LMN_OK)
        return st;
    *sum_out = 0;
    while (stream.get_next(&stream, &batch) == 0 && batch.release != NULL) {
        const int64_t *value = batch.children[0]->buffers[1];

        for (int64_t i = 0; i < batch.length; i++)
            *sum_out += value[batch.children[0]->offset + i];
        batch.release(&batch);
    }
    stream.release(&stream);
    return LMN_OK;
}

int main(void)
{
    struct lmn_store *store = NULL;
    struct lmn_error err;
    int64_t sum = 0;
    enum lmn_status st;

    for (int64_t i = 0; i < ROWS; i++)
        numbers[i] = i;
    st = lmn_store_open_local(NULL, ".", &store, &err);
    if (st == LMN_OK)
        st = write_numbers(store, "numbers.lance", &err);
    if (st == LMN_OK)
        st = add_up(store, "numbers.lance", &sum, &err);
    lmn_store_release(store);
    if (st != LMN_OK) {
        fprintf(stderr, "file: %s\n", err.message);
        return 1;
    }
    printf("%d numbers add up to %" PRId64 "\n", ROWS, sum);
    return sum == (int64_t)ROWS * (ROWS - 1) / 2 ? 0 : 1;
}
