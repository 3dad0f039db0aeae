/* SPDX-License-Identifier: Apache-2.0 */
/* Values of a job that are in no version yet, found by its record. */
#include "job/peek.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "engine/job.h"
#include "engine/record.h"

enum { COLUMNS_MAX = 64, NAME_CHARS = 256 };

/* A function of the record, and the columns that it fills. */
struct fill {
    struct lmn__fill_key key;
    char name[COLUMNS_MAX][NAME_CHARS];
    const char *output[COLUMNS_MAX];
    uint32_t output_count;
};

static bool text_of(struct lmn__span object, const char *key, char *text, size_t text_bytes)
{
    struct lmn__span value;

    return lmn__json_member(object, key, &value, NULL) == LMN_OK && value.data != NULL &&
           lmn__json_to_text(value, text, text_bytes);
}

/* False where it is no fill, or has more columns than can be peeked at. */
static bool read_fill(struct lmn__span object, struct fill *fill)
{
    struct lmn__span value, item;
    char version[80];
    uint64_t field;

    if (!text_of(object, "version", version, sizeof version) ||
        lmn__json_member(object, "field_id", &value, NULL) != LMN_OK || value.data == NULL ||
        !lmn__json_to_u64(value, &field) || field > INT32_MAX ||
        lmn__json_member(object, "columns", &value, NULL) != LMN_OK || value.data == NULL)
        return false;
    version[16] = '\0';
    fill->key.field_id = (int32_t)field;
    fill->key.version = strtoull(version, NULL, 16);
    fill->output_count = 0;
    while (lmn__json_next_item(&value, &item)) {
        char *name = fill->name[fill->output_count];

        if (fill->output_count == COLUMNS_MAX || !lmn__json_to_text(item, name, NAME_CHARS))
            return false;
        fill->output[fill->output_count++] = name;
    }
    fill->key.column_count = 2 * fill->output_count;
    return fill->output_count > 0;
}

static bool fills(const struct fill *fill, const char *column)
{
    for (uint32_t i = 0; i < fill->output_count; i++) {
        if (column == NULL || strcmp(fill->output[i], column) == 0)
            return true;
    }
    return false;
}

static enum lmn_status find_fill(struct lmn_table *table, const char *id, const char *column,
                                 struct fill *fill, struct lmn_error *err)
{
    struct lmn__span list = { NULL, 0 }, item;
    struct lmn__buf record;
    bool found = false;
    enum lmn_status st;

    lmn__buf_init(&record, table->env, 0);
    st = lmn__record_read(table->store, id, &record, err);
    if (st == LMN_OK)
        st = lmn__json_member((struct lmn__span){ record.data, record.len }, "fills", &list, err);
    while (st == LMN_OK && !found && list.data != NULL && lmn__json_next_item(&list, &item))
        found = read_fill(item, fill) && fills(fill, column);
    if (st == LMN_OK && !found)
        st = lmn_fail(err, LMN_E_NOT_FOUND, "job %s fills no column \"%.100s\"", id,
                      column != NULL ? column : "");
    lmn__buf_deinit(&record);
    return st;
}

enum lmn_status lmn_job_peek(struct lmn_table *table, const char *id, const char *column,
                             uint64_t rows_max, struct ArrowSchema *schema_out,
                             struct ArrowArray *array_out, struct lmn_error *err)
{
    struct fill *fill = lmn__calloc(table->env, 1, sizeof *fill);
    struct lmn_table *newest = NULL;
    enum lmn_status st = lmn__job_check_id(id, err);

    *schema_out = (struct ArrowSchema){ 0 };
    *array_out = (struct ArrowArray){ 0 };
    if (fill == NULL)
        return lmn__no_memory(err, "a fill", sizeof *fill);
    if (st == LMN_OK)
        st = find_fill(table, id, column, fill, err);
    if (st == LMN_OK)
        st = lmn_table_open(table->store, NULL, &newest, err);
    if (st == LMN_OK)
        st = lmn__peek(newest, &fill->key, fill->output, fill->output_count, rows_max, schema_out,
                       array_out, err);
    lmn_table_release(newest);
    lmn__free(table->env, fill);
    return st;
}
