/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Make a table of numbers, append to it, delete and update rows, and read two of its versions.
 *
 * The Arrow structs are filled by hand here, to show that they are all there is to it; a library
 * such as nanoarrow makes larger ones comfortably.
 */
#include <inttypes.h>
#include <stdio.h>

#include <leman/leman.h>

enum { ROWS = 1000 };

/* Numbers [first, first + ROWS) as a stream of one batch. */
struct numbers {
    int64_t value[ROWS];
    bool done;
};

static struct ArrowSchema column = { .format = "l", .name = "n" };
static struct ArrowSchema *columns[] = { &column };

/* Our structs point to static memory, so there is nothing to release. */
static void keep_schema(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static void keep_array(struct ArrowArray *array)
{
    array->release = NULL;
}

static void keep_stream(struct ArrowArrayStream *stream)
{
    stream->release = NULL;
}

static int numbers_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema_out)
{
    (void)stream;
    column.flags = ARROW_FLAG_NULLABLE;
    column.release = keep_schema;
    *schema_out = (struct ArrowSchema){
        .format = "+s", .name = "", .n_children = 1, .children = columns, .release = keep_schema
    };
    return 0;
}

static int numbers_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out)
{
    static const void *no_buffers[] = { NULL }, *buffers[2];
    static struct ArrowArray values, *children[] = { &values };
    struct numbers *numbers = stream->private_data;

    *array_out = (struct ArrowArray){ 0 };
    if (numbers->done)
        return 0;
    numbers->done = true;
    buffers[1] = numbers->value;
    values = (struct ArrowArray){
        .length = ROWS, .n_buffers = 2, .buffers = buffers, .release = keep_array
    };
    *array_out = (struct ArrowArray){ .length = ROWS,
                                      .n_buffers = 1,
                                      .buffers = no_buffers,
                                      .n_children = 1,
                                      .children = children,
                                      .release = keep_array };
    return 0;
}

static const char *numbers_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static struct ArrowArrayStream numbers_from(struct numbers *numbers, int64_t first)
{
    numbers->done = false;
    for (int64_t i = 0; i < ROWS; i++)
        numbers->value[i] = first + i;
    return (struct ArrowArrayStream){ .get_schema = numbers_schema,
                                      .get_next = numbers_next,
                                      .get_last_error = numbers_error,
                                      .release = keep_stream,
                                      .private_data = numbers };
}

static enum lmn_status make_and_change(struct lmn_store *store, struct lmn_table **table_out,
                                       struct lmn_error *err)
{
    static struct numbers numbers;
    const struct lmn_assignment negate = { "n", "0 - n" };
    struct ArrowArrayStream stream = numbers_from(&numbers, 0);
    uint64_t count;
    enum lmn_status st = lmn_table_create(store, &stream, NULL, table_out, err);

    if (st != LMN_OK)
        return st;
    stream = numbers_from(&numbers, ROWS);
    st = lmn_table_append(*table_out, &stream, NULL, err);
    if (st == LMN_OK)
        st = lmn_table_delete(*table_out, "n % 2 = 1", &count, err);
    if (st == LMN_OK)
        st = lmn_table_update(*table_out, "n >= 1000", &negate, 1, &count, err);
    return st;
}

static enum lmn_status add_up(struct lmn_table *table, int64_t *sum_out, struct lmn_error *err)
{
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = lmn_table_scan(table, NULL, &stream, err);

    *sum_out = 0;
    if (st != LMN_OK)
        return st;
    while ((st = lmn_table_scan_next(&stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        const int64_t *value = batch.children[0]->buffers[1];

        for (int64_t i = 0; i < batch.length; i++)
            *sum_out += value[batch.children[0]->offset + i];
        batch.release(&batch);
    }
    stream.release(&stream);
    return st;
}

int main(void)
{
    const struct lmn_table_options second = { .version = 2 };
    struct lmn_store *store = NULL;
    struct lmn_table *table = NULL;
    int64_t sum = 0, before = 0;
    struct lmn_error err;
    enum lmn_status st = lmn_store_open_local(NULL, "numbers.lance", &store, &err);

    if (st == LMN_OK)
        st = make_and_change(store, &table, &err);
    if (st == LMN_OK)
        st = add_up(table, &sum, &err);
    if (st == LMN_OK) {
        printf("version %" PRIu64 ": the numbers add up to %" PRId64 "\n", lmn_table_version(table),
               sum);
        st = lmn_table_checkout(table, &second, &err);
    }
    if (st == LMN_OK)
        st = add_up(table, &before, &err);
    if (st == LMN_OK)
        printf("version 2: they added up to %" PRId64 "\n", before);
    else
        fprintf(stderr, "%s\n", err.message);
    lmn_table_release(table);
    lmn_store_release(store);
    /* Even numbers below 1000, less those from 1000 to 1998; and all numbers below 2000. */
    return st == LMN_OK && sum == 249500 - 749500 && before == 1999000 ? 0 : 1;
}
