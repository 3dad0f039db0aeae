/* SPDX-License-Identifier: Apache-2.0 */
#include "expr/load.h"

#include "arrow/view.h"
#include "expr/wide.h"

enum { VIEW_BYTES = 16, VIEW_INLINE_MAX = 12 };

float lmn__half_to_float(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31;
    uint32_t fraction = half & 0x3ff, bits;
    float out;

    if (exponent == 31) {
        bits = sign | 0x7f800000 | fraction << 13;
    } else if (exponent != 0) {
        bits = sign | (exponent + 112) << 23 | fraction << 13;
    } else {
        /* Subnormal halves are normal floats. */
        out = (float)fraction * 0x1p-24f;
        memcpy(&bits, &out, sizeof bits);
        bits |= sign;
    }
    memcpy(&out, &bits, sizeof out);
    return out;
}

uint16_t lmn__float_to_half(float value)
{
    uint32_t bits, sign, magnitude;

    memcpy(&bits, &value, sizeof bits);
    sign = bits >> 16 & 0x8000;
    magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return (uint16_t)(sign | 0x7e00);
    if (magnitude >= 0x47800000)
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) {
        /* Adding 0.5 leaves the rounded subnormal in the low bits of the sum. */
        float sum;

        memcpy(&sum, &magnitude, sizeof sum);
        sum += 0.5f;
        memcpy(&magnitude, &sum, sizeof magnitude);
        return (uint16_t)(sign | (magnitude - 0x3f000000));
    }
    magnitude += 0xc8000fff + (magnitude >> 13 & 1); /* new bias, and round to even */
    return (uint16_t)(sign | magnitude >> 13);
}

enum lmn_status lmn__load_bits(struct lmn__frame *frame, const uint8_t *bits, uint64_t first,
                               uint32_t rows, const uint8_t **bits_out)
{
    uint8_t *copy;
    enum lmn_status st;

    *bits_out = bits + first / 8;
    if (first % 8 == 0)
        return LMN_OK;
    st = lmn__frame_bits(frame, rows, &copy);
    if (st != LMN_OK)
        return st;
    lmn__bits_copy(copy, 0, bits, first, rows);
    *bits_out = copy;
    return LMN_OK;
}

static struct lmn__span view_at(const struct ArrowArray *array, uint64_t slot)
{
    const uint8_t *view = (const uint8_t *)array->buffers[1] +
                          ((uint64_t)array->offset + slot) * VIEW_BYTES;
    uint32_t len = lmn__load_u32(view);
    const uint8_t *data;

    if (lmn__view_is_null(array, slot))
        return LMN__NO_TEXT;
    if (len <= VIEW_INLINE_MAX)
        return (struct lmn__span){ view + 4, len };
    data = array->buffers[2 + lmn__load_u32(view + 8)];
    return (struct lmn__span){ data + lmn__load_u32(view + 12), len };
}

/* Bytes of offsets: 4 or 8, or 0 for views and values of fixed size. */
static uint32_t offset_bytes(const struct ArrowSchema *schema)
{
    switch (schema->format[0]) {
    case 'u':
    case 'z':
        return 4;
    case 'U':
    case 'Z':
        return 8;
    default:
        return 0;
    }
}

static struct lmn__span span_at(const struct ArrowSchema *schema, const struct lmn__type *type,
                                const struct ArrowArray *array, uint64_t slot)
{
    uint32_t width = offset_bytes(schema);
    const uint8_t *data;
    uint64_t from, to;

    if (schema->format[0] == 'v')
        return view_at(array, slot);
    if (type->kind == LMN__KIND_FIXED_BINARY) {
        if (type->width == 0)
            return LMN__NO_TEXT;
        data = array->buffers[1];
        return (struct lmn__span){ data + ((uint64_t)array->offset + slot) * (uint64_t)type->width,
                                   (size_t)type->width };
    }
    from = lmn__view_offset(array, width, slot);
    to = lmn__view_offset(array, width, slot + 1);
    data = array->buffers[2];
    return to != from ? (struct lmn__span){ data + from, to - from } : LMN__NO_TEXT;
}

/* Strings with 32-bit offsets, the common case, in a tight loop. */
static void load_spans32(const struct ArrowArray *array, uint64_t first, uint32_t rows,
                         struct lmn__span *out)
{
    const uint8_t *offsets = (const uint8_t *)array->buffers[1] +
                             ((uint64_t)array->offset + first) * 4;
    const uint8_t *data = array->buffers[2];
    uint32_t from = lmn__load_u32(offsets);

    for (uint32_t i = 0; i < rows; i++) {
        uint32_t to = lmn__load_u32(offsets + (uint64_t)(i + 1) * 4);

        out[i] = to != from ? (struct lmn__span){ data + from, to - from } : LMN__NO_TEXT;
        from = to;
    }
}

static enum lmn_status load_spans(struct lmn__frame *frame, const struct ArrowSchema *schema,
                                  const struct lmn__type *type, const struct ArrowArray *array,
                                  uint64_t first, uint32_t rows, struct lmn__vector *out)
{
    struct lmn__span *spans;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_SPAN, rows, &spans);

    if (st != LMN_OK)
        return st;
    out->values = spans;
    if (offset_bytes(schema) == 4) {
        load_spans32(array, first, rows, spans);
        return LMN_OK;
    }
    for (uint32_t i = 0; i < rows; i++)
        spans[i] = span_at(schema, type, array, first + i);
    return LMN_OK;
}

/* Numbers are used where they lie, unless they are halves, decimals or not aligned. */
static enum lmn_status load_numbers(struct lmn__frame *frame, const struct lmn__type *type,
                                    const struct ArrowArray *array, uint64_t first, uint32_t rows,
                                    struct lmn__vector *out)
{
    enum lmn__form form = lmn__type_form(type);
    uint64_t start = (uint64_t)array->offset + first;
    const uint8_t *values = array->buffers[1];
    uint32_t width = form == LMN__FORM_WIDE ? (uint32_t)type->width : lmn__form_bytes(form);
    void *copy;
    enum lmn_status st;

    if (type->kind != LMN__KIND_F16 && form != LMN__FORM_WIDE && (uintptr_t)values % width == 0) {
        out->values = values + start * width;
        return LMN_OK;
    }
    st = lmn__frame_take(frame, form, rows, &copy);
    if (st != LMN_OK)
        return st;
    out->values = copy;
    if (type->kind == LMN__KIND_F16) {
        for (uint32_t i = 0; i < rows; i++)
            ((float *)copy)[i] = lmn__half_to_float(lmn__load_u16(values + (start + i) * 2));
    } else if (form == LMN__FORM_WIDE) {
        for (uint32_t i = 0; i < rows; i++)
            ((struct lmn__wide *)copy)[i] = lmn__wide_load(values + (start + i) * width, width);
    } else {
        memcpy(copy, values + start * width, (size_t)rows * width);
    }
    return LMN_OK;
}

static enum lmn_status load_all_null(struct lmn__frame *frame, uint32_t rows,
                                     struct lmn__vector *out)
{
    uint8_t *bits;
    enum lmn_status st = lmn__frame_bits(frame, rows, &bits);

    if (st != LMN_OK)
        return st;
    memset(bits, 0, lmn__bits_bytes(rows));
    out->validity = bits;
    return LMN_OK;
}

static enum lmn_status load_slot_numbers(struct lmn__frame *frame, uint64_t first, uint32_t rows,
                                         const struct ArrowArray *array, struct lmn__vector *out)
{
    uint64_t *slots;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_SLOT, rows, &slots);

    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++)
        slots[i] = first + i;
    out->values = slots;
    out->array = array;
    return LMN_OK;
}

static uint64_t index_at(const struct ArrowSchema *schema, const struct ArrowArray *array,
                         uint64_t slot)
{
    const uint8_t *values = array->buffers[1];
    uint64_t at = (uint64_t)array->offset + slot;

    switch (schema->format[0]) {
    case 'c':
    case 'C':
        return values[at];
    case 's':
    case 'S':
        return lmn__load_u16(values + at * 2);
    case 'i':
    case 'I':
        return lmn__load_u32(values + at * 4);
    default:
        return lmn__load_u64(values + at * 8);
    }
}

/* Rows of a dictionary: slots of its values. `slot` is NULL for a range from `first`. */
static enum lmn_status load_dictionary(struct lmn__frame *frame, const struct ArrowSchema *schema,
                                       const struct ArrowArray *array, const uint64_t *slot,
                                       uint64_t first, const uint8_t *validity, uint32_t rows,
                                       struct lmn__vector *out)
{
    uint64_t *index;
    uint8_t *valid;
    enum lmn_status st = lmn__frame_take(frame, LMN__FORM_SLOT, rows, &index);

    if (st == LMN_OK)
        st = lmn__frame_bits(frame, rows, &valid);
    if (st != LMN_OK)
        return st;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t at = slot != NULL ? slot[i] : first + i;
        bool is_valid = (validity == NULL || lmn__bit_get(validity, i)) &&
                        !lmn__view_is_null(array, at);

        lmn__bit_put(valid, i, is_valid);
        index[i] = is_valid ? index_at(schema, array, at) : 0;
    }
    return lmn__load_slots(frame, schema->dictionary, array->dictionary, index, valid, rows, out);
}

enum lmn_status lmn__load_range(struct lmn__frame *frame, const struct ArrowSchema *schema,
                                const struct ArrowArray *array, uint64_t first, uint32_t rows,
                                struct lmn__vector *out)
{
    const uint8_t *validity = lmn__view_validity(array);
    struct lmn__type type;
    enum lmn_status st = lmn__type_from_schema(schema, &type, frame->err);

    *out = (struct lmn__vector){ 0 };
    if (st != LMN_OK)
        return st;
    if (schema->dictionary != NULL)
        return load_dictionary(frame, schema, array, NULL, first, NULL, rows, out);
    if (type.kind == LMN__KIND_NULL)
        return load_all_null(frame, rows, out);
    if (validity != NULL)
        st = lmn__load_bits(frame, validity, (uint64_t)array->offset + first, rows, &out->validity);
    if (st != LMN_OK)
        return st;
    switch (lmn__type_form(&type)) {
    case LMN__FORM_BITS: {
        const uint8_t *bits;

        st = lmn__load_bits(frame, array->buffers[1], (uint64_t)array->offset + first, rows, &bits);
        out->values = bits;
        return st;
    }
    case LMN__FORM_SPAN:
        return load_spans(frame, schema, &type, array, first, rows, out);
    case LMN__FORM_SLOT:
        return load_slot_numbers(frame, first, rows, array, out);
    default:
        return load_numbers(frame, &type, array, first, rows, out);
    }
}

/* One value of `array` to place `i` of `values`. */
static void load_one(const struct ArrowSchema *schema, const struct lmn__type *type,
                     const struct ArrowArray *array, uint64_t slot, void *values, uint32_t i)
{
    const uint8_t *data = array->n_buffers > 1 ? array->buffers[1] : NULL;
    uint64_t at = (uint64_t)array->offset + slot;
    enum lmn__form form = lmn__type_form(type);
    uint32_t width = lmn__form_bytes(form);

    switch (form) {
    case LMN__FORM_BITS:
        lmn__bit_put(values, i, lmn__bit_get(data, at));
        break;
    case LMN__FORM_WIDE:
        ((struct lmn__wide *)values)[i] = lmn__wide_load(data + at * (uint32_t)type->width,
                                                         (uint32_t)type->width);
        break;
    case LMN__FORM_SPAN:
        ((struct lmn__span *)values)[i] = span_at(schema, type, array, slot);
        break;
    case LMN__FORM_SLOT:
        ((uint64_t *)values)[i] = slot;
        break;
    default:
        if (type->kind == LMN__KIND_F16)
            ((float *)values)[i] = lmn__half_to_float(lmn__load_u16(data + at * 2));
        else
            memcpy((uint8_t *)values + (uint64_t)i * width, data + at * width, width);
    }
}

enum lmn_status lmn__load_slots(struct lmn__frame *frame, const struct ArrowSchema *schema,
                                const struct ArrowArray *array, const uint64_t *slot,
                                const uint8_t *validity, uint32_t rows, struct lmn__vector *out)
{
    struct lmn__type type;
    enum lmn__form form;
    uint8_t *valid;
    void *values;
    enum lmn_status st = lmn__type_from_schema(schema, &type, frame->err);

    *out = (struct lmn__vector){ 0 };
    if (st != LMN_OK)
        return st;
    if (schema->dictionary != NULL)
        return load_dictionary(frame, schema, array, slot, 0, validity, rows, out);
    if (type.kind == LMN__KIND_NULL)
        return load_all_null(frame, rows, out);
    form = lmn__type_form(&type);
    st = lmn__frame_take(frame, form, rows, &values);
    if (st == LMN_OK)
        st = lmn__frame_bits(frame, rows, &valid);
    if (st != LMN_OK)
        return st;
    memset(values, 0,
           form == LMN__FORM_BITS ? lmn__bits_bytes(rows) : (size_t)rows * lmn__form_bytes(form));
    for (uint32_t i = 0; i < rows; i++) {
        bool is_valid = (validity == NULL || lmn__bit_get(validity, i)) &&
                        !lmn__view_is_null(array, slot[i]);

        lmn__bit_put(valid, i, is_valid);
        if (is_valid)
            load_one(schema, &type, array, slot[i], values, i);
    }
    out->validity = valid;
    out->values = values;
    out->array = form == LMN__FORM_SLOT ? array : NULL;
    return LMN_OK;
}

void lmn__load_list(const struct ArrowSchema *schema, const struct ArrowArray *array, uint64_t slot,
                    uint64_t *from_out, uint64_t *to_out)
{
    uint32_t width = schema->format[1] == 'L' ? 8 : 4;

    if (schema->format[1] == 'w') {
        uint64_t size = 0;

        for (const char *digit = schema->format + 3; *digit >= '0' && *digit <= '9'; digit++)
            size = size * 10 + (uint64_t)(*digit - '0');
        *from_out = ((uint64_t)array->offset + slot) * size;
        *to_out = *from_out + size;
        return;
    }
    *from_out = lmn__view_offset(array, width, slot);
    *to_out = lmn__view_offset(array, width, slot + 1);
}
