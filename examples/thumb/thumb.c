/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thumb.c - functions in C that fill columns of a table of images.
 *
 *   thumb   8 x 8 pixels of an image, 3 bytes each
 *   width   its width in pixels
 *
 * Images are binary PPM files ("P6"). Built as a shared object, see CMakeLists.txt or `run`:
 *
 *     cc -O2 -shared -fPIC $(pkg-config --cflags leman) -o libthumb.so thumb.c
 *     leman backfill images.lance thumb --c ./libthumb.so:thumb --inputs image
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <leman/udf.h>

enum { SIDE = 8, THUMB_BYTES = SIDE * SIDE * 3 };

/* This header needs no library, so an error is filled by hand. */
static enum lmn_status complain(struct lmn_error *err, enum lmn_status status, const char *what)
{
    if (err != NULL) {
        err->status = status;
        err->os_errno = 0;
        snprintf(err->message, sizeof err->message, "%s", what);
    }
    return status;
}

struct image {
    const uint8_t *pixel;
    int width, height;
};

static int read_header(const uint8_t *bytes, size_t len, struct image *image)
{
    char head[64] = "";
    int used = 0, most;

    memcpy(head, bytes, len < sizeof head - 1 ? len : sizeof head - 1);
    if (sscanf(head, "P6 %d %d %d%n", &image->width, &image->height, &most, &used) != 3)
        return 0;
    if (most != 255 || image->width < 1 || image->height < 1 || image->width > 1 << 15 ||
        image->height > 1 << 15)
        return 0;
    image->pixel = bytes + used + 1;
    return (size_t)used + 1 + (size_t)image->width * (size_t)image->height * 3 <= len;
}

/* The mean of the pixels of each part of the image. */
static void shrink(const struct image *image, uint8_t *thumb)
{
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            int left = x * image->width / SIDE, right = (x + 1) * image->width / SIDE;
            int top = y * image->height / SIDE, bottom = (y + 1) * image->height / SIDE;
            uint64_t sum[3] = { 0 }, count = 0;

            for (int row = top; row < bottom || row == top; row++) {
                for (int column = left; column < right || column == left; column++) {
                    const uint8_t *pixel = image->pixel + 3 * (row * image->width + column);

                    for (int c = 0; c < 3; c++)
                        sum[c] += pixel[c];
                    count++;
                }
            }
            for (int c = 0; c < 3; c++)
                *thumb++ = (uint8_t)(sum[c] / count);
        }
    }
}

/* An array of one buffer beside its validity; all of it is one piece of memory. */
struct column {
    const void *buffers[2];
    uint8_t data[];
};

static void column_release(struct ArrowArray *array)
{
    free(array->private_data);
    array->release = NULL;
}

static struct column *column_new(int64_t length, size_t width, struct ArrowArray *array)
{
    size_t validity_bytes = ((size_t)length + 63) / 64 * 8;
    struct column *column = calloc(1, sizeof *column + validity_bytes + (size_t)length * width);

    if (column == NULL)
        return NULL;
    memset(column->data, 0xff, validity_bytes);
    column->buffers[0] = column->data;
    column->buffers[1] = column->data + validity_bytes;
    *array = (struct ArrowArray){ .length = length,
                                  .n_buffers = 2,
                                  .buffers = column->buffers,
                                  .release = column_release,
                                  .private_data = column };
    return column;
}

static void set_null(struct ArrowArray *array, int64_t row)
{
    uint8_t *validity = (uint8_t *)array->buffers[0];

    validity[row / 8] = (uint8_t)(validity[row / 8] & ~(1 << row % 8));
    array->null_count++;
}

/* The bytes of a row of a binary column; NULL for a null. */
static const uint8_t *get(const struct ArrowArray *column, int64_t row, size_t *len)
{
    const uint8_t *validity = column->buffers[0], *bytes = column->buffers[2];
    const int32_t *offsets = column->buffers[1];

    row += column->offset;
    if (column->null_count != 0 && validity != NULL && (validity[row / 8] >> row % 8 & 1) == 0)
        return NULL;
    *len = (size_t)(offsets[row + 1] - offsets[row]);
    return bytes + offsets[row];
}

/* What is done with each image, and what comes out. */
struct kind {
    const char *format;
    size_t width;
    void (*put)(const struct image *image, uint8_t *out);
};

static void put_width(const struct image *image, uint8_t *out)
{
    int32_t width = image->width;

    memcpy(out, &width, sizeof width);
}

static const struct kind thumb_kind = { "w:192", THUMB_BYTES, shrink };
static const struct kind width_kind = { "i", sizeof(int32_t), put_width };

static void schema_release(struct ArrowSchema *schema)
{
    schema->release = NULL;
}

static enum lmn_status bind(const struct ArrowSchema *inputs, const struct kind *kind,
                            struct ArrowSchema *output_out, struct lmn_error *err)
{
    if (inputs->n_children != 1 || strcmp(inputs->children[0]->format, "z") != 0)
        return complain(err, LMN_E_INVALID, "one input of type binary is wanted: images");
    *output_out = (struct ArrowSchema){
        .format = kind->format, .name = "", .flags = ARROW_FLAG_NULLABLE, .release = schema_release
    };
    return LMN_OK;
}

static enum lmn_status apply(const struct ArrowArray *inputs, const struct kind *kind,
                             struct ArrowArray *output_out, struct lmn_error *err)
{
    struct column *column = column_new(inputs->length, kind->width, output_out);
    uint8_t *out;

    if (column == NULL)
        return complain(err, LMN_E_NO_MEMORY, "no memory for the output");
    out = (uint8_t *)column->buffers[1];
    for (int64_t row = 0; row < inputs->length; row++, out += kind->width) {
        struct image image;
        size_t len;
        const uint8_t *bytes = get(inputs->children[0], row, &len);

        if (bytes == NULL) {
            set_null(output_out, row);
        } else if (read_header(bytes, len, &image)) {
            kind->put(&image, out);
        } else {
            output_out->release(output_out);
            return complain(err, LMN_E_UDF, "not a whole PPM image");
        }
    }
    return LMN_OK;
}

static enum lmn_status bind_thumb(const struct ArrowSchema *inputs, struct ArrowSchema *output_out,
                                  struct lmn_error *err)
{
    return bind(inputs, &thumb_kind, output_out, err);
}

static enum lmn_status apply_thumb(void *state, const struct ArrowArray *inputs,
                                   struct ArrowArray *output_out, struct lmn_error *err)
{
    (void)state;
    return apply(inputs, &thumb_kind, output_out, err);
}

static enum lmn_status bind_width(const struct ArrowSchema *inputs, struct ArrowSchema *output_out,
                                  struct lmn_error *err)
{
    return bind(inputs, &width_kind, output_out, err);
}

static enum lmn_status apply_width(void *state, const struct ArrowArray *inputs,
                                   struct ArrowArray *output_out, struct lmn_error *err)
{
    (void)state;
    return apply(inputs, &width_kind, output_out, err);
}

static const struct lmn_function functions[] = {
    { .name = "thumb", .version = "1", .bind = bind_thumb, .apply = apply_thumb },
    { .name = "width", .version = "1", .bind = bind_width, .apply = apply_width },
};

LMN_API extern const struct lmn_function_table leman_functions;
const struct lmn_function_table leman_functions = { LMN_FUNCTION_ABI, 2, functions };
