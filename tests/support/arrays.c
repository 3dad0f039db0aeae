/* SPDX-License-Identifier: Apache-2.0 */
#include "arrays.h"

#include <nanoarrow/nanoarrow.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) != NANOARROW_OK)                                                                \
            check_fail(__FILE__, __LINE__, "%s failed", #call);                                    \
    } while (0)

enum { VECTOR_ITEMS = 96, PAIR_ITEMS = 3 };

static const char *const names[] = { "number", "maybe", "flag", "word",  "text",   "image",
                                     "vector", "pair",  "list", "lists", "struct", "dictionary" };

enum { COLUMNS = sizeof names / sizeof names[0] };

int sample_column_count(void)
{
    return COLUMNS;
}

const char *sample_column_name(int index)
{
    return names[index];
}

static void set_list(struct ArrowSchema *schema, enum ArrowType item)
{
    MUST(ArrowSchemaSetType(schema, NANOARROW_TYPE_LIST));
    MUST(ArrowSchemaSetType(schema->children[0], item));
}

static void set_vector(struct ArrowSchema *schema, int32_t items)
{
    MUST(ArrowSchemaSetTypeFixedSize(schema, NANOARROW_TYPE_FIXED_SIZE_LIST, items));
    MUST(ArrowSchemaSetType(schema->children[0], NANOARROW_TYPE_FLOAT));
}

void sample_schema(struct ArrowSchema *schema_out)
{
    struct ArrowSchema *column;

    ArrowSchemaInit(schema_out);
    MUST(ArrowSchemaSetTypeStruct(schema_out, COLUMNS));
    for (int i = 0; i < COLUMNS; i++)
        MUST(ArrowSchemaSetName(schema_out->children[i], names[i]));
    MUST(ArrowSchemaSetType(schema_out->children[0], NANOARROW_TYPE_INT64));
    schema_out->children[0]->flags = 0;
    MUST(ArrowSchemaSetType(schema_out->children[1], NANOARROW_TYPE_INT32));
    MUST(ArrowSchemaSetType(schema_out->children[2], NANOARROW_TYPE_BOOL));
    MUST(ArrowSchemaSetType(schema_out->children[3], NANOARROW_TYPE_STRING));
    MUST(ArrowSchemaSetType(schema_out->children[4], NANOARROW_TYPE_LARGE_STRING));
    MUST(ArrowSchemaSetType(schema_out->children[5], NANOARROW_TYPE_BINARY));
    set_vector(schema_out->children[6], VECTOR_ITEMS);
    set_vector(schema_out->children[7], PAIR_ITEMS);
    set_list(schema_out->children[8], NANOARROW_TYPE_INT32);
    MUST(ArrowSchemaSetType(schema_out->children[9], NANOARROW_TYPE_LARGE_LIST));
    set_list(schema_out->children[9]->children[0], NANOARROW_TYPE_STRING);
    column = schema_out->children[10];
    MUST(ArrowSchemaSetTypeStruct(column, 2));
    MUST(ArrowSchemaSetName(column->children[0], "x"));
    MUST(ArrowSchemaSetType(column->children[0], NANOARROW_TYPE_DOUBLE));
    MUST(ArrowSchemaSetName(column->children[1], "tags"));
    set_list(column->children[1], NANOARROW_TYPE_INT16);
    column = schema_out->children[11];
    MUST(ArrowSchemaSetType(column, NANOARROW_TYPE_INT16));
    MUST(ArrowSchemaAllocateDictionary(column));
    ArrowSchemaInit(column->dictionary);
    MUST(ArrowSchemaSetType(column->dictionary, NANOARROW_TYPE_STRING));
}

static void add_text(struct ArrowArray *array, const char *format, uint64_t value)
{
    char text[64];

    snprintf(text, sizeof text, format, (unsigned long long)value);
    MUST(ArrowArrayAppendString(array, ArrowCharView(text)));
}

static void add_vector(struct ArrowArray *array, int32_t items, uint64_t *seed)
{
    for (int32_t i = 0; i < items; i++)
        MUST(ArrowArrayAppendDouble(array->children[0], (double)(test_random(seed) % 1000) / 8));
    MUST(ArrowArrayFinishElement(array));
}

static void add_list(struct ArrowArray *array, uint64_t items, uint64_t *seed)
{
    for (uint64_t i = 0; i < items; i++) {
        if (test_random(seed) % 7 == 0)
            MUST(ArrowArrayAppendNull(array->children[0], 1));
        else
            MUST(ArrowArrayAppendInt(array->children[0], (int64_t)(test_random(seed) % 1000)));
    }
    MUST(ArrowArrayFinishElement(array));
}

static void add_lists(struct ArrowArray *array, uint64_t items, uint64_t *seed)
{
    struct ArrowArray *inner = array->children[0];

    for (uint64_t i = 0; i < items; i++) {
        uint64_t pick = test_random(seed) % 5;

        if (pick == 0) {
            MUST(ArrowArrayAppendNull(inner, 1));
            continue;
        }
        for (uint64_t k = 1; k < pick; k++)
            add_text(inner->children[0], "s%llu", test_random(seed) % 100);
        MUST(ArrowArrayFinishElement(inner));
    }
    MUST(ArrowArrayFinishElement(array));
}

static void add_struct(struct ArrowArray *array, uint64_t *seed)
{
    if (test_random(seed) % 6 == 0) {
        MUST(ArrowArrayAppendNull(array, 1));
        return;
    }
    if (test_random(seed) % 4 == 0)
        MUST(ArrowArrayAppendNull(array->children[0], 1));
    else
        MUST(ArrowArrayAppendDouble(array->children[0], (double)(test_random(seed) % 99)));
    add_list(array->children[1], test_random(seed) % 4, seed);
    MUST(ArrowArrayFinishElement(array));
}

static void add_bytes(struct ArrowArray *array, uint64_t len, uint64_t *seed)
{
    uint8_t bytes[2048];
    struct ArrowBufferView view;

    for (uint64_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)test_random(seed);
    view.data.as_uint8 = bytes;
    view.size_bytes = (int64_t)len;
    MUST(ArrowArrayAppendBytes(array, view));
}

/* True for about one row in `n`; then the column got a null. */
static bool add_null(struct ArrowArray *array, uint64_t n, uint64_t *seed)
{
    if (test_random(seed) % n != 0)
        return false;
    MUST(ArrowArrayAppendNull(array, 1));
    return true;
}

static void add_row(struct ArrowArray **column, uint64_t row, uint64_t *seed)
{
    MUST(ArrowArrayAppendInt(column[0], (int64_t)(row * 3)));
    if (!add_null(column[1], 5, seed))
        MUST(ArrowArrayAppendInt(column[1], (int64_t)(test_random(seed) % 100000)));
    if (!add_null(column[2], 9, seed))
        MUST(ArrowArrayAppendInt(column[2], (int64_t)(test_random(seed) & 1)));
    if (!add_null(column[3], 8, seed))
        add_text(column[3], "word %llu", test_random(seed) % 20);
    add_text(column[4], "a text that is not repeated: %llx", test_random(seed));
    if (!add_null(column[5], 6, seed))
        add_bytes(column[5], test_random(seed) % 900, seed);
    add_vector(column[6], VECTOR_ITEMS, seed);
    if (!add_null(column[7], 5, seed))
        add_vector(column[7], PAIR_ITEMS, seed);
    if (!add_null(column[8], 10, seed))
        add_list(column[8], test_random(seed) % 6, seed);
    if (!add_null(column[9], 10, seed))
        add_lists(column[9], test_random(seed) % 4, seed);
    add_struct(column[10], seed);
    if (!add_null(column[11], 7, seed))
        MUST(ArrowArrayAppendInt(column[11], (int64_t)(test_random(seed) % 4)));
}

void sample_rows(uint64_t rows, uint64_t seed, struct ArrowArray *array_out)
{
    struct ArrowSchema schema;
    struct ArrowError error;

    sample_schema(&schema);
    MUST(ArrowArrayInitFromSchema(array_out, &schema, &error));
    MUST(ArrowArrayStartAppending(array_out));
    for (int i = 0; i < 4; i++)
        add_text(array_out->children[11]->dictionary, "choice %llu", (uint64_t)i);
    for (uint64_t i = 0; i < rows; i++) {
        add_row(array_out->children, i, &seed);
        MUST(ArrowArrayFinishElement(array_out));
    }
    MUST(ArrowArrayFinishBuildingDefault(array_out, &error));
    schema.release(&schema);
}

void sample_init(struct sample *sample, uint64_t rows, uint64_t seed)
{
    sample_schema(&sample->schema);
    sample_rows(rows, seed, &sample->rows);
}

void sample_deinit(struct sample *sample)
{
    sample->rows.release(&sample->rows);
    sample->schema.release(&sample->schema);
}

enum lmn_status sample_write(const struct sample *sample, struct lmn_store *store, const char *path,
                             const struct lmn_file_writer_options *options, uint64_t batch_rows,
                             struct lmn_error *err)
{
    int64_t end = sample->rows.length, step = (int64_t)batch_rows;
    struct lmn_file_writer *writer;
    enum lmn_status st = lmn_file_writer_open(store, path, &sample->schema, options, &writer, err);

    for (int64_t at = 0; st == LMN_OK && at < end; at += step) {
        struct ArrowArray part = sample->rows;

        part.offset = at;
        part.length = end - at < step ? end - at : step;
        st = lmn_file_writer_write(writer, &part, err);
        if (st != LMN_OK) {
            lmn_file_writer_abort(writer);
            return st;
        }
    }
    return st == LMN_OK ? lmn_file_writer_finish(writer, NULL, err) : st;
}

static bool differ(const struct ArrowSchema *schema, uint64_t slot, const char *what)
{
    print_error("column \"%s\" (%s): slot %llu differs in %s\n",
                schema->name != NULL ? schema->name : "", schema->format, (unsigned long long)slot,
                what);
    return false;
}

static bool same_bytes(const struct ArrowSchema *schema, const struct ArrowArrayView *a, int64_t i,
                       const struct ArrowArrayView *b, int64_t k)
{
    struct ArrowBufferView x, y;

    switch (a->storage_type) {
    case NANOARROW_TYPE_STRING:
    case NANOARROW_TYPE_LARGE_STRING:
    case NANOARROW_TYPE_BINARY:
    case NANOARROW_TYPE_LARGE_BINARY:
    case NANOARROW_TYPE_FIXED_SIZE_BINARY:
        x = ArrowArrayViewGetBytesUnsafe(a, i);
        y = ArrowArrayViewGetBytesUnsafe(b, k);
        return x.size_bytes == y.size_bytes &&
               (x.size_bytes == 0 || memcmp(x.data.data, y.data.data, (size_t)x.size_bytes) == 0);
    case NANOARROW_TYPE_FLOAT:
    case NANOARROW_TYPE_DOUBLE:
        return ArrowArrayViewGetDoubleUnsafe(a, i) == ArrowArrayViewGetDoubleUnsafe(b, k);
    default:
        (void)schema;
        return ArrowArrayViewGetIntUnsafe(a, i) == ArrowArrayViewGetIntUnsafe(b, k);
    }
}

static bool same_view_slots(const struct ArrowSchema *schema, const struct ArrowArrayView *a,
                            int64_t first_a, const struct ArrowArrayView *b, int64_t first_b,
                            int64_t count);

static bool same_slot(const struct ArrowSchema *schema, const struct ArrowArrayView *a, int64_t i,
                      const struct ArrowArrayView *b, int64_t k)
{
    int64_t start_a, start_b, len_a, len_b;

    if (a->dictionary != NULL)
        return same_slot(schema->dictionary, a->dictionary, ArrowArrayViewGetIntUnsafe(a, i),
                         b->dictionary, ArrowArrayViewGetIntUnsafe(b, k));
    switch (a->storage_type) {
    case NANOARROW_TYPE_STRUCT:
        for (int64_t c = 0; c < a->n_children; c++) {
            if (!same_view_slots(schema->children[c], a->children[c], i + a->offset, b->children[c],
                                 k + b->offset, 1))
                return false;
        }
        return true;
    case NANOARROW_TYPE_FIXED_SIZE_LIST:
        len_a = a->layout.child_size_elements;
        return same_view_slots(schema->children[0], a->children[0], (i + a->offset) * len_a,
                               b->children[0], (k + b->offset) * len_a, len_a);
    case NANOARROW_TYPE_LIST:
    case NANOARROW_TYPE_LARGE_LIST:
        start_a = ArrowArrayViewListChildOffset(a, i + a->offset);
        start_b = ArrowArrayViewListChildOffset(b, k + b->offset);
        len_a = ArrowArrayViewListChildOffset(a, i + a->offset + 1) - start_a;
        len_b = ArrowArrayViewListChildOffset(b, k + b->offset + 1) - start_b;
        return len_a == len_b && same_view_slots(schema->children[0], a->children[0], start_a,
                                                 b->children[0], start_b, len_a);
    default:
        return same_bytes(schema, a, i, b, k);
    }
}

static bool same_view_slots(const struct ArrowSchema *schema, const struct ArrowArrayView *a,
                            int64_t first_a, const struct ArrowArrayView *b, int64_t first_b,
                            int64_t count)
{
    for (int64_t i = 0; i < count; i++) {
        bool null = ArrowArrayViewIsNull(a, first_a + i);

        if (null != (bool)ArrowArrayViewIsNull(b, first_b + i))
            return differ(schema, (uint64_t)(first_a + i), "validity");
        if (!null && !same_slot(schema, a, first_a + i, b, first_b + i))
            return differ(schema, (uint64_t)(first_a + i), "value");
    }
    return true;
}

bool same_slots(const struct ArrowSchema *schema, const struct ArrowArray *a, uint64_t first_a,
                const struct ArrowArray *b, uint64_t first_b, uint64_t count)
{
    struct ArrowArrayView view_a, view_b;
    struct ArrowError error;
    bool same;

    MUST(ArrowArrayViewInitFromSchema(&view_a, schema, &error));
    MUST(ArrowArrayViewInitFromSchema(&view_b, schema, &error));
    MUST(ArrowArrayViewSetArray(&view_a, a, &error));
    MUST(ArrowArrayViewSetArray(&view_b, b, &error));
    MUST(ArrowArrayViewValidate(&view_b, NANOARROW_VALIDATION_LEVEL_FULL, &error));
    same = same_view_slots(schema, &view_a, (int64_t)first_a, &view_b, (int64_t)first_b,
                           (int64_t)count);
    ArrowArrayViewReset(&view_a);
    ArrowArrayViewReset(&view_b);
    return same;
}

struct part_stream {
    const struct sample *sample;
    int64_t at, end, step;
};

static int part_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema_out)
{
    const struct part_stream *part = stream->private_data;

    return ArrowSchemaDeepCopy(&part->sample->schema, schema_out);
}

static void part_release(struct ArrowArray *array)
{
    array->release = NULL;
}

static int part_next(struct ArrowArrayStream *stream, struct ArrowArray *array_out)
{
    struct part_stream *part = stream->private_data;

    *array_out = (struct ArrowArray){ 0 };
    if (part->at == part->end)
        return 0;
    *array_out = part->sample->rows;
    array_out->offset = part->at;
    array_out->length = part->end - part->at < part->step ? part->end - part->at : part->step;
    array_out->release = part_release;
    part->at += array_out->length;
    return 0;
}

static const char *part_error(struct ArrowArrayStream *stream)
{
    (void)stream;
    return NULL;
}

static void part_free(struct ArrowArrayStream *stream)
{
    free(stream->private_data);
    stream->release = NULL;
}

void sample_stream(const struct sample *sample, uint64_t first, uint64_t count, uint64_t batch_rows,
                   struct ArrowArrayStream *stream_out)
{
    struct part_stream *part = malloc(sizeof *part);

    CHECK(part != NULL);
    *part = (struct part_stream){ sample, (int64_t)first, (int64_t)(first + count),
                                  (int64_t)batch_rows };
    *stream_out = (struct ArrowArrayStream){ part_schema, part_next, part_error, part_free, part };
}
