/* SPDX-License-Identifier: Apache-2.0 */
#include "format/blob.h"

#include "base/bits.h"
#include "base/error.h"
#include "base/math.h"
#include "format/external.h"
#include "format/reader.h"

/* One descriptor, of either version. */
struct descriptor {
    uint64_t kind, position, bytes, id;
    struct lmn__span uri;
};

static uint64_t field_at(const struct lmn__builder *child, uint64_t i)
{
    uint32_t width = child->layout->bits / 8;

    return lmn__load_uint(child->values.data + i * width, width);
}

static struct descriptor descriptor_at(const struct lmn__builder *descriptors, uint64_t i)
{
    const struct lmn__builder *child = descriptors->child;
    struct descriptor d = { 0 };

    if (descriptors->layout->child_count == 2) {
        d.position = field_at(&child[0], i);
        d.bytes = field_at(&child[1], i);
        return d;
    }
    d.kind = field_at(&child[0], i);
    d.position = field_at(&child[1], i);
    d.bytes = field_at(&child[2], i);
    d.id = field_at(&child[3], i);
    d.uri.data = child[4].values.data + lmn__load_u32(child[4].offsets.data + i * 4);
    d.uri.len = lmn__load_u32(child[4].offsets.data + i * 4 + 4) -
                lmn__load_u32(child[4].offsets.data + i * 4);
    return d;
}

static bool is_null(const struct lmn__builder *builder, uint64_t i)
{
    return builder->has_validity && !lmn__bit_get(builder->validity.data, i);
}

enum lmn_status lmn__blob_append_descriptors(const struct lmn__page_layout *layout,
                                             const struct lmn__builder *raw, struct lmn__leaf *leaf,
                                             struct lmn_error *err)
{
    struct lmn__builder *child = leaf->builder->child;
    enum lmn_status st = LMN_OK;

    if (layout->list_count != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "lists of blobs");
    for (uint64_t i = 0; st == LMN_OK && i < raw->length; i++) {
        struct descriptor d = descriptor_at(raw, i);
        uint16_t def = d.bytes == 0 ? (uint16_t)lmn__min_u64(d.position >> 16, UINT16_MAX) : 0;
        struct lmn__levels levels = { NULL, &def, 1 };
        uint64_t visible;

        if (d.bytes == 0)
            d.position = 0;
        st = lmn__levels_append(layout, &leaf->path, &levels, &visible, err);
        for (int k = 0; st == LMN_OK && k < 2; k++) {
            st = lmn__vec_put(&child[k].values, child[k].env->pool, k == 0 ? &d.position : &d.bytes,
                              sizeof(uint64_t), err);
            if (st == LMN_OK)
                st = lmn__builder_add_valid(&child[k], 1, err);
        }
    }
    return st;
}

enum lmn_status lmn__blob_side_path(const char *file_path, uint32_t blob_id, struct lmn__buf *path,
                                    struct lmn_error *err)
{
    size_t len = strlen(file_path);
    char digits[33];

    if (len > 6 && strcmp(file_path + len - 6, ".lance") == 0)
        len -= 6;
    for (int i = 0; i < 32; i++)
        digits[i] = (char)('0' + (blob_id >> i & 1));
    digits[32] = '\0';
    lmn__buf_printf(path, "%.*s/%s.blob", (int)len, file_path, digits);
    return lmn__buf_status(path, "a blob's path", err);
}

/* The files that were opened last: blobs of a batch often share one. */
struct side_file {
    struct lmn__object object;
    uint64_t id;
    bool open;
    struct lmn__external external;
};

static enum lmn_status side_open(struct lmn_file *file, struct side_file *side, uint64_t id,
                                 struct lmn_error *err)
{
    struct lmn__buf path;
    enum lmn_status st;

    if (side->open && side->id == id)
        return LMN_OK;
    if (side->open)
        lmn__object_close(&side->object);
    side->open = false;
    lmn__buf_init(&path, file->env, 0);
    st = lmn__blob_side_path(file->path, (uint32_t)id, &path, err);
    lmn__buf_put_u8(&path, 0);
    if (st == LMN_OK)
        st = lmn__buf_status(&path, "a blob's path", err);
    if (st == LMN_OK)
        st = lmn__object_open(file->object.store, (const char *)path.data, &side->object, err);
    lmn__buf_deinit(&path);
    side->open = st == LMN_OK;
    side->id = id;
    return st;
}

static enum lmn_status fetch_one(struct lmn_file *file, struct side_file *side,
                                 const struct descriptor *d, uint8_t *data, struct lmn_error *err)
{
    enum lmn_status st;

    if (d->bytes == 0)
        return LMN_OK;
    switch (d->kind) {
    case LMN__BLOB_INLINE:
        return lmn__object_read(&file->object, d->position, data, d->bytes, err);
    case LMN__BLOB_PACKED:
    case LMN__BLOB_DEDICATED:
        st = side_open(file, side, d->id, err);
        return st != LMN_OK ? st
                            : lmn__object_read(&side->object, d->position, data, d->bytes, err);
    case LMN__BLOB_EXTERNAL:
        return lmn__external_read(&side->external, d->uri, d->position, data, d->bytes, err);
    default:
        return lmn_fail(err, LMN_E_UNSUPPORTED, "a blob of kind %llu", (unsigned long long)d->kind);
    }
}

/* The sketch of a blob; *len_out is its size. */
static enum lmn_status fetch_sketch(struct lmn_file *file, struct side_file *side,
                                    const struct descriptor *d, uint8_t *data, uint64_t *len_out,
                                    struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *len_out = d->bytes;
    if (d->bytes <= LMN__SKETCH_WHOLE_MAX) {
        st = fetch_one(file, side, d, data, err);
        if (st == LMN_OK || d->kind != LMN__BLOB_EXTERNAL)
            return st;
    }
    lmn__store_u64(data, d->bytes);
    *len_out = LMN__SKETCH_BYTES;
    for (int k = 0; st == LMN_OK && k < LMN__SKETCH_PARTS; k++) {
        struct descriptor part = *d;

        if (!lmn__add_u64(part.position, lmn__sketch_at(d->bytes, k), &part.position))
            return lmn_fail(err, LMN_E_CORRUPT, "a blob of %llu bytes at %llu",
                            (unsigned long long)d->bytes, (unsigned long long)d->position);
        part.bytes = LMN__SKETCH_PART;
        st = fetch_one(file, side, &part, data + 8 + k * LMN__SKETCH_PART, err);
    }
    if (st != LMN_OK && d->kind == LMN__BLOB_EXTERNAL) {
        memset(data + 8, 0, LMN__SKETCH_BYTES - 8);
        st = LMN_OK;
    }
    return st;
}

/* A blob in the data file cannot be larger than that; checked before room is made for it. */
static enum lmn_status check_sizes(const struct lmn_file *file,
                                   const struct lmn__builder *descriptors, uint64_t *total_out,
                                   struct lmn_error *err)
{
    *total_out = 0;
    for (uint64_t i = 0; i < descriptors->length; i++) {
        struct descriptor d = descriptor_at(descriptors, i);

        if (is_null(descriptors, i))
            continue;
        if ((d.kind == LMN__BLOB_INLINE && d.bytes != 0 &&
             !lmn__range_fits(d.position, d.bytes, file->object.bytes)) ||
            !lmn__add_u64(*total_out, d.bytes, total_out))
            return lmn_fail(err, LMN_E_CORRUPT,
                            "blob %llu: %llu bytes at %llu are outside a file of %llu bytes",
                            (unsigned long long)i, (unsigned long long)d.bytes,
                            (unsigned long long)d.position, (unsigned long long)file->object.bytes);
    }
    return LMN_OK;
}

/* Bytes that sketches take at most. */
static uint64_t sketches_bytes(const struct lmn__builder *descriptors)
{
    uint64_t total = 0;

    for (uint64_t i = 0; i < descriptors->length; i++) {
        struct descriptor d = descriptor_at(descriptors, i);

        if (!is_null(descriptors, i))
            total += d.kind == LMN__BLOB_EXTERNAL ? LMN__SKETCH_BYTES
                                                  : lmn__min_u64(d.bytes, LMN__SKETCH_BYTES);
    }
    return total;
}

enum lmn_status lmn__blob_fetch(struct lmn_file *file, const struct lmn__builder *descriptors,
                                bool sketch, struct lmn__builder *bytes, struct lmn_error *err)
{
    struct side_file side = { 0 };
    uint64_t total, base;
    uint8_t *offsets, *data;
    enum lmn_status st = check_sizes(file, descriptors, &total, err);

    if (sketch)
        total = sketches_bytes(descriptors);
    lmn__external_init(&side.external, file->env);
    if (st == LMN_OK)
        st = lmn__builder_extend_variable(bytes, descriptors->length, total, &offsets, &data, &base,
                                          err);
    for (uint64_t i = 0; st == LMN_OK && i < descriptors->length; i++) {
        struct descriptor d = descriptor_at(descriptors, i);
        bool null = is_null(descriptors, i);

        if (!null) {
            uint64_t len = d.bytes;

            st = sketch ? fetch_sketch(file, &side, &d, data, &len, err)
                        : fetch_one(file, &side, &d, data, err);
            data += len;
            base += len;
        }
        lmn__store_u64(offsets + i * 8, base);
        if (st == LMN_OK)
            st = null ? lmn__builder_add_null(bytes, 1, err)
                      : lmn__builder_add_valid(bytes, 1, err);
    }
    if (st == LMN_OK)
        bytes->values.len = base; /* sketches may take less than was reserved */
    if (side.open)
        lmn__object_close(&side.object);
    lmn__external_deinit(&side.external);
    return st;
}

static enum lmn_status put_null(struct lmn__builder *builder, struct lmn_error *err)
{
    enum lmn_status st = lmn__builder_add_null(builder, 1, err);

    return st != LMN_OK ? st : lmn__builder_put_empty(builder, 1, err);
}

/* Room for one value of `bytes` bytes. */
static enum lmn_status put_value(struct lmn__builder *builder, uint64_t bytes, uint8_t **data_out,
                                 struct lmn_error *err)
{
    uint64_t base;
    uint8_t *offset;
    enum lmn_status st = lmn__builder_extend_variable(builder, 1, bytes, &offset, data_out, &base,
                                                      err);

    if (st != LMN_OK)
        return st;
    lmn__store_uint(offset, builder->layout->bits / 8, base + bytes);
    return lmn__builder_add_valid(builder, 1, err);
}

static enum lmn_status put_number(struct lmn__builder *builder, uint64_t number,
                                  struct lmn_error *err)
{
    uint8_t *at;
    enum lmn_status st = lmn__builder_extend(builder, 1, &at, err);

    if (st != LMN_OK)
        return st;
    lmn__store_u64(at, number);
    return lmn__builder_add_valid(builder, 1, err);
}

static enum lmn_status put_either(struct lmn_file *file, struct side_file *side,
                                  const struct descriptor *d, struct lmn__builder *child,
                                  struct lmn_error *err)
{
    uint8_t *data;
    enum lmn_status st;

    if (d->kind == LMN__BLOB_EXTERNAL) {
        st = put_null(&child[0], err);
        if (st == LMN_OK)
            st = put_value(&child[1], d->uri.len, &data, err);
        if (st == LMN_OK && d->uri.len != 0)
            memcpy(data, d->uri.data, d->uri.len);
        if (st == LMN_OK)
            st = put_number(&child[2], d->position, err);
        return st != LMN_OK ? st : put_number(&child[3], d->bytes, err);
    }
    st = put_value(&child[0], d->bytes, &data, err);
    if (st == LMN_OK)
        st = fetch_one(file, side, d, data, err);
    for (int i = 1; st == LMN_OK && i < 4; i++)
        st = put_null(&child[i], err);
    return st;
}

enum lmn_status lmn__blob_fetch_either(struct lmn_file *file,
                                       const struct lmn__builder *descriptors,
                                       struct lmn__builder *blobs, struct lmn_error *err)
{
    struct side_file side = { 0 };
    uint64_t total, here = 0;
    enum lmn_status st = check_sizes(file, descriptors, &total, err);

    lmn__external_init(&side.external, file->env);
    for (uint64_t i = 0; st == LMN_OK && i < descriptors->length; i++) {
        struct descriptor d = descriptor_at(descriptors, i);

        here += !is_null(descriptors, i) && d.kind != LMN__BLOB_EXTERNAL ? d.bytes : 0;
    }
    if (st == LMN_OK)
        st = lmn__vec_reserve(&blobs->child[0].values, file->env->pool, here, err);
    for (uint64_t i = 0; st == LMN_OK && i < descriptors->length; i++) {
        struct descriptor d = descriptor_at(descriptors, i);

        if (is_null(descriptors, i)) {
            st = put_null(blobs, err);
            continue;
        }
        st = lmn__builder_add_valid(blobs, 1, err);
        if (st == LMN_OK)
            st = put_either(file, &side, &d, blobs->child, err);
    }
    if (side.open)
        lmn__object_close(&side.object);
    lmn__external_deinit(&side.external);
    return st;
}

/* The blob column of this name; its type is checked, not its kind of file. */
static enum lmn_status find_column(struct lmn_file *file, const char *column,
                                   const struct lmn__node **node_out, struct lmn_error *err)
{
    const struct lmn__node *node = file->schema.top;

    while (node != NULL && strcmp(node->name, column) != 0)
        node = node->next;
    *node_out = node;
    if (node == NULL)
        return lmn_fail(err, LMN_E_NOT_FOUND, "%.200s: no column \"%.100s\"", file->object.name,
                        column);
    if (node->blob == LMN__BLOB_NONE)
        return lmn_fail(err, LMN_E_INVALID, "%.200s: column \"%.100s\" holds no blobs",
                        file->object.name, column);
    return LMN_OK;
}

static enum lmn_status fill_blob(struct lmn_file *file, const struct ArrowArray *array,
                                 struct lmn_blob *blob, struct lmn_error *err)
{
    bool v1 = array->n_children == 2;
    const struct ArrowArray *const *field = (const struct ArrowArray *const *)array->children;
    struct lmn__buf path;
    const uint32_t *offset;
    enum lmn_status st = LMN_OK;

    blob->is_null = array->null_count != 0;
    if (blob->is_null)
        return LMN_OK;
    blob->kind = v1 ? 0 : *(const uint8_t *)field[0]->buffers[1];
    blob->position = *(const uint64_t *)field[v1 ? 0 : 1]->buffers[1];
    blob->bytes = *(const uint64_t *)field[v1 ? 1 : 2]->buffers[1];
    lmn__buf_init(&path, file->env, sizeof blob->path - 1);
    if (blob->kind == LMN__BLOB_PACKED || blob->kind == LMN__BLOB_DEDICATED) {
        st = lmn__blob_side_path(file->path, *(const uint32_t *)field[3]->buffers[1], &path, err);
    } else if (!v1) {
        offset = field[4]->buffers[1];
        lmn__buf_put(&path, (const uint8_t *)field[4]->buffers[2] + offset[0],
                     offset[1] - offset[0]);
        st = lmn__buf_status(&path, "a blob's uri", err);
    }
    if (st == LMN_OK && path.len != 0)
        memcpy(blob->path, path.data, path.len);
    lmn__buf_deinit(&path);
    return st;
}

enum lmn_status lmn_file_blob(struct lmn_file *file, const char *column, uint64_t row,
                              struct lmn_blob *blob_out, struct lmn_error *err)
{
    const struct lmn_read_options options = { .column = &column, .column_count = 1 };
    const struct lmn__node *node;
    struct ArrowArray array;
    enum lmn_status st = find_column(file, column, &node, err);

    *blob_out = (struct lmn_blob){ 0 };
    if (st == LMN_OK)
        st = lmn_file_take(file, &row, 1, &options, &array, err);
    if (st != LMN_OK)
        return st;
    st = fill_blob(file, array.children[0], blob_out, err);
    array.release(&array);
    return st;
}

enum lmn_status lmn__file_blob(struct lmn_file *file, const struct lmn__node *node, uint64_t row,
                               struct lmn_blob *blob_out, struct lmn_error *err)
{
    const struct lmn__row_range range = { row, 1 };
    struct lmn__scratch scratch;
    struct lmn__reader reader;
    struct ArrowArray array;
    enum lmn_status st = lmn__reader_init_nodes(&reader, file, &node, 1, LMN_BLOB_DESCRIPTORS, err);

    *blob_out = (struct lmn_blob){ 0 };
    if (st != LMN_OK)
        return st;
    lmn__scratch_init(&scratch, file->env);
    st = lmn__reader_read(&reader, &scratch, &range, 1, &array, err);
    if (st == LMN_OK) {
        st = fill_blob(file, array.children[0], blob_out, err);
        array.release(&array);
    }
    lmn__scratch_deinit(&scratch);
    lmn__reader_deinit(&reader);
    return st;
}

enum lmn_status lmn_file_read_blob(struct lmn_file *file, const struct lmn_blob *blob,
                                   uint64_t offset, void *data, size_t len, struct lmn_error *err)
{
    struct lmn__external external;
    struct lmn__object side;
    uint64_t position;
    enum lmn_status st;

    if (blob->is_null || !lmn__range_fits(offset, len, blob->bytes) ||
        !lmn__add_u64(blob->position, offset, &position))
        return lmn_fail(err, LMN_E_INVALID, "%.200s: bytes %llu to %llu of a blob of %llu%s",
                        file->object.name, (unsigned long long)offset,
                        (unsigned long long)(offset + len), (unsigned long long)blob->bytes,
                        blob->is_null ? " (null)" : "");
    switch (blob->kind) {
    case LMN__BLOB_INLINE:
        return lmn__object_read(&file->object, position, data, len, err);
    case LMN__BLOB_PACKED:
    case LMN__BLOB_DEDICATED:
        st = lmn__object_open(file->object.store, blob->path, &side, err);
        if (st != LMN_OK)
            return st;
        st = lmn__object_read(&side, position, data, len, err);
        lmn__object_close(&side);
        return st;
    case LMN__BLOB_EXTERNAL:
        lmn__external_init(&external, file->env);
        st = lmn__external_read(
            &external, (struct lmn__span){ (const uint8_t *)blob->path, strlen(blob->path) },
            position, data, len, err);
        lmn__external_deinit(&external);
        return st;
    default:
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "%.200s: a blob of kind %u (\"%.200s\") is not read here",
                        file->object.name, blob->kind, blob->path);
    }
}
