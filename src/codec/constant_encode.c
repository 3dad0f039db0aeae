/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/encode.h"

enum lmn_status lmn__constant_encode(struct lmn__encoder *encoder, const struct lmn__span *value,
                                     struct lmn_error *err)
{
    struct lmn__shred *shred = encoder->shred;
    struct lmn__page_layout *layout = &encoder->layout;
    struct lmn__vec *buffer = encoder->page->buffer;
    bool simple = layout->layer_count == 1 && value == NULL;
    uint8_t *copy;

    layout->kind = LMN__PAGE_CONSTANT;
    if (value != NULL) {
        copy = lmn__arena_alloc(&encoder->arena, value->len);
        if (copy == NULL)
            return lmn__arena_fail(&encoder->arena, "a constant", err);
        if (value->len != 0)
            memcpy(copy, value->data, value->len);
        layout->inline_value = (struct lmn__span){ copy, value->len };
    }
    /* Rows that are all null, and nothing around them, need no levels. */
    if (simple || (shred->def.len == 0 && !shred->has_rep)) {
        if (simple)
            layout->layer[0] = LMN__LAYER_NULLABLE_ITEM;
        return LMN_OK;
    }
    encoder->page->buffer_count = 2;
    buffer[0] = shred->rep;
    buffer[1] = shred->def;
    shred->rep = shred->def = (struct lmn__vec){ 0 };
    return LMN_OK;
}
