/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions that note which rows they are called for: each value, as 8 bytes, at the end of the
 * file LEMAN_CALLS.
 *
 *   square   int64 -> int64, null for null
 *   minus    the same with the other sign
 *   lag      the same, and takes its time: two milliseconds for a row
 *   blow     int64 -> 60,000 bytes that no compression makes smaller
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <leman/udf.h>

enum { BLOWN_BYTES = 60000 };

/* Buffers of one array. */
struct made {
    const void *buffer[3];
    void *memory[3];
};

static void release(struct ArrowArray *array)
{
    struct made *made = array->private_data;

    for (int i = 0; i < 3; i++)
        free(made->memory[i]);
    free(made);
    array->release = NULL;
}

static enum lmn_status make(struct ArrowArray *array, int64_t rows, int64_t buffers,
                            const size_t *bytes)
{
    struct made *made = calloc(1, sizeof *made);

    if (made == NULL)
        return LMN_E_NO_MEMORY;
    for (int64_t i = 0; i < buffers; i++)
        made->buffer[i] = made->memory[i] = calloc(1, bytes[i] + 1);
    *array = (struct ArrowArray){ .length = rows,
                                  .n_buffers = buffers,
                                  .buffers = made->buffer,
                                  .release = release,
                                  .private_data = made };
    return LMN_OK;
}

static void note(const int64_t *value, int64_t count)
{
    const char *path = getenv("LEMAN_CALLS");
    int fd = path != NULL ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;

    if (fd >= 0 && write(fd, value, (size_t)count * 8) != count * 8)
        abort();
    close(fd);
}

static int64_t place(const struct ArrowArray *inputs)
{
    return inputs->offset + inputs->children[0]->offset;
}

static int is_null(const struct ArrowArray *column, int64_t row)
{
    const uint8_t *valid = column->buffers[0];

    return valid != NULL && (valid[row / 8] >> (row % 8) & 1) == 0;
}

static enum lmn_status square(void *state, const struct ArrowArray *inputs,
                              struct ArrowArray *output_out, struct lmn_error *err)
{
    const struct ArrowArray *column = inputs->children[0];
    const int64_t *value = (const int64_t *)column->buffers[1] + place(inputs);
    size_t bytes[] = { (size_t)inputs->length / 8 + 1, (size_t)inputs->length * 8 };
    enum lmn_status st = make(output_out, inputs->length, 2, bytes);

    (void)state;
    (void)err;
    note(value, inputs->length);
    for (int64_t i = 0; st == LMN_OK && i < inputs->length; i++) {
        int null = is_null(column, place(inputs) + i);

        ((int64_t *)output_out->buffers[1])[i] = null ? 0 : value[i] * value[i];
        ((uint8_t *)output_out->buffers[0])[i / 8] |= (uint8_t)(!null << (i % 8));
        output_out->null_count += null;
    }
    return st;
}

static enum lmn_status minus(void *state, const struct ArrowArray *inputs,
                             struct ArrowArray *output_out, struct lmn_error *err)
{
    enum lmn_status st = square(state, inputs, output_out, err);

    for (int64_t i = 0; st == LMN_OK && i < inputs->length; i++)
        ((int64_t *)output_out->buffers[1])[i] *= -1;
    return st;
}

static enum lmn_status lag(void *state, const struct ArrowArray *inputs,
                           struct ArrowArray *output_out, struct lmn_error *err)
{
    usleep((useconds_t)inputs->length * 2000);
    return square(state, inputs, output_out, err);
}

static enum lmn_status blow(void *state, const struct ArrowArray *inputs,
                            struct ArrowArray *output_out, struct lmn_error *err)
{
    const int64_t *value = (const int64_t *)inputs->children[0]->buffers[1] + place(inputs);
    size_t rows = (size_t)inputs->length;
    size_t bytes[] = { 0, (rows + 1) * 4, rows * BLOWN_BYTES };
    enum lmn_status st = make(output_out, inputs->length, 3, bytes);

    (void)state;
    (void)err;
    if (st != LMN_OK)
        return st;
    note(value, inputs->length);
    free((void *)output_out->buffers[0]);
    ((struct made *)output_out->private_data)->memory[0] = NULL;
    output_out->buffers[0] = NULL;
    for (size_t i = 0; i < rows; i++) {
        uint8_t *byte = (uint8_t *)output_out->buffers[2] + i * BLOWN_BYTES;
        uint64_t noise = (uint64_t)value[i] + 1;

        for (size_t k = 0; k < BLOWN_BYTES; k++) {
            noise = noise * 6364136223846793005u + 1442695040888963407u;
            byte[k] = (uint8_t)(noise >> 56);
        }
        ((int32_t *)output_out->buffers[1])[i + 1] = (int32_t)((i + 1) * BLOWN_BYTES);
    }
    return LMN_OK;
}

static void schema_release(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static enum lmn_status bind_square(const struct ArrowSchema *inputs, struct ArrowSchema *output_out,
                                   struct lmn_error *err)
{
    (void)inputs;
    (void)err;
    *output_out = (struct ArrowSchema){
        .format = "l", .name = "", .flags = ARROW_FLAG_NULLABLE, .release = schema_release
    };
    return LMN_OK;
}

static enum lmn_status bind_blow(const struct ArrowSchema *inputs, struct ArrowSchema *output_out,
                                 struct lmn_error *err)
{
    enum lmn_status st = bind_square(inputs, output_out, err);

    output_out->format = "z";
    return st;
}

static const struct lmn_function functions[] = {
    { .name = "square", .version = "1", .bind = bind_square, .apply = square },
    { .name = "lag", .version = "1", .bind = bind_square, .apply = lag },
    { .name = "blow", .version = "1", .bind = bind_blow, .apply = blow },
    { .name = "minus", .version = "1", .bind = bind_square, .apply = minus },
};

LMN_API extern const struct lmn_function_table leman_functions;
const struct lmn_function_table leman_functions = { LMN_FUNCTION_ABI, 4, functions };
