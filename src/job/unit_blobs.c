/* SPDX-License-Identifier: Apache-2.0 */
#include "job/unit_blobs.h"

#include "arrow/view.h"
#include "base/math.h"
#include "format/pages.h"
#include "job/payload_column.h"

/* A page in the making. */
struct gathering {
    const struct lmn__unit_blobs *blobs;
    struct lmn__payloads payloads; /* that are copied */
    struct lmn__blob_entry *entry;
    uint64_t count, room;
    uint64_t row; /* of the first */
};

/* Entries that are staged get their positions. */
static enum lmn_status settle(struct gathering *gathering, struct lmn_error *err)
{
    enum lmn_status st = lmn__payloads_settle(&gathering->payloads, err);

    for (uint64_t i = 0; st == LMN_OK && i < gathering->count; i++) {
        struct lmn__blob_entry *entry = &gathering->entry[i];
        struct lmn__payload payload = { entry->position, entry->bytes };

        if (entry->staged)
            st = lmn__payloads_position(&gathering->payloads, payload, &entry->position, err);
        entry->staged = false;
    }
    lmn__payloads_reset(&gathering->payloads, true);
    return st;
}

static enum lmn_status finish_page(struct gathering *gathering, struct lmn_error *err)
{
    const struct lmn__unit_blobs *blobs = gathering->blobs;
    const struct lmn__blob_entries entries = { gathering->entry, gathering->count, NULL };
    struct lmn_pages *pages = NULL;
    enum lmn_status st;

    if (gathering->count == 0)
        return LMN_OK;
    st = settle(gathering, err);
    if (st == LMN_OK)
        st = lmn__pages_encode_blobs(blobs->plan, blobs->column, &entries, gathering->row, &pages,
                                     err);
    if (st == LMN_OK)
        st = blobs->put(blobs->context, pages, err);
    lmn_pages_free(pages);
    gathering->row += gathering->count;
    gathering->count = 0;
    return st;
}

/* A payload that a worker wrote. */
static enum lmn_status add_placed(struct gathering *gathering, const struct ArrowArray *column,
                                  uint64_t slot, struct lmn_error *err)
{
    struct lmn__payload payload = lmn__payload_at(column, slot);

    if (!lmn__range_fits(payload.number, payload.bytes, INT64_MAX))
        return lmn_fail(err, LMN_E_CORRUPT, "a blob of %llu bytes at position %llu is held",
                        (unsigned long long)payload.bytes, (unsigned long long)payload.number);
    gathering->entry[gathering->count++] = (struct lmn__blob_entry){ .position = payload.number,
                                                                     .bytes = payload.bytes };
    return LMN_OK;
}

/* A payload that the table has. */
static enum lmn_status add_kept(struct gathering *gathering, const struct ArrowArray *column,
                                uint64_t slot, struct lmn_error *err)
{
    static const struct lmn__layout layout = { .kind = LMN__LAYOUT_VARIABLE, .bits = 64 };
    struct lmn__span bytes = lmn__view_bytes(&layout, column, slot);
    struct lmn__payload payload;
    enum lmn_status st = lmn__payloads_put(&gathering->payloads, bytes.data, bytes.len, &payload,
                                           err);

    if (st == LMN_OK)
        gathering->entry[gathering->count++] = (struct lmn__blob_entry){ .position = payload.number,
                                                                         .bytes = payload.bytes,
                                                                         .staged = true };
    return st;
}

/* A lmn__rows_fn. */
static enum lmn_status add_rows(void *context, struct ArrowArray *array, bool borrowed,
                                struct lmn_error *err)
{
    struct gathering *gathering = context;
    const struct ArrowArray *column = array->children[0];
    enum lmn_status st = LMN_OK;

    (void)borrowed;
    for (uint64_t i = 0; st == LMN_OK && i < (uint64_t)array->length; i++) {
        uint64_t slot = (uint64_t)array->offset + i;

        if (gathering->count == gathering->room)
            st = finish_page(gathering, err);
        if (st != LMN_OK)
            break;
        if (lmn__view_is_null(column, slot))
            gathering->entry[gathering->count++] = (struct lmn__blob_entry){ .null = true };
        else if (lmn__payload_is_placed(column))
            st = add_placed(gathering, column, slot, err);
        else
            st = add_kept(gathering, column, slot, err);
    }
    lmn__unit_rows_trim(gathering->blobs->rows, LMN__HELD_BYTES_MAX);
    return st;
}

enum lmn_status lmn__unit_blobs_write(const struct lmn__unit_blobs *blobs, struct lmn_error *err)
{
    struct lmn_env *env = blobs->store->env;
    struct gathering gathering = { .blobs = blobs };
    enum lmn_status st;

    gathering.room = lmn__max_u64(lmn__min_u64(blobs->row_count, LMN__BLOB_PAGE_ROWS_MAX), 1);
    gathering.entry = lmn__calloc(env, gathering.room, sizeof *gathering.entry);
    if (gathering.entry == NULL)
        return lmn__no_memory(err, "a page of blobs", gathering.room * sizeof *gathering.entry);
    lmn__payloads_init(&gathering.payloads, blobs->store, blobs->ops, blobs->context);
    st = lmn__unit_rows_read(blobs->rows, blobs->column, 0, blobs->row_count, add_rows, &gathering,
                             err);
    if (st == LMN_OK)
        st = finish_page(&gathering, err);
    lmn__payloads_deinit(&gathering.payloads);
    lmn__free(env, gathering.entry);
    return st;
}
