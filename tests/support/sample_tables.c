/* SPDX-License-Identifier: Apache-2.0 */
#include "sample_tables.h"

#include <string.h>

struct lmn_table *sample_table_make(struct lmn_store *store, const struct sample *sample,
                                    uint64_t count, const struct lmn_write_options *options)
{
    struct ArrowArrayStream stream;
    struct lmn_table *table;
    struct lmn_error err;

    sample_stream(sample, 0, count, count, &stream);
    CHECK_STATUS(lmn_table_create(store, &stream, options, &table, &err), LMN_OK, &err);
    return table;
}

void sample_table_append(struct lmn_table *table, const struct sample *sample, uint64_t first,
                         uint64_t count)
{
    struct ArrowArrayStream stream;
    struct lmn_error err;

    sample_stream(sample, first, count, count, &stream);
    CHECK_STATUS(lmn_table_append(table, &stream, NULL, &err), LMN_OK, &err);
}

struct lmn_table *sample_table_open(struct lmn_store *store)
{
    struct lmn_table *table;
    struct lmn_error err;

    CHECK_STATUS(lmn_table_open(store, NULL, &table, &err), LMN_OK, &err);
    return table;
}

static uint64_t id_at(const struct ArrowArray *ids, uint64_t i)
{
    return ((const uint64_t *)ids->buffers[1])[(uint64_t)ids->offset + i];
}

/* Compare the rows of a batch, whose last column are their ids, run by run of neighbours. */
static void check_batch(const struct ArrowArray *batch, const struct sample *sample, uint8_t *seen,
                        uint64_t id_count)
{
    const struct ArrowArray *ids = batch->children[batch->n_children - 1];
    struct ArrowArray columns = *batch;
    uint64_t count;

    columns.n_children--;
    for (uint64_t i = 0; i < (uint64_t)batch->length; i += count) {
        uint64_t id = id_at(ids, i);

        for (count = 0; i + count < (uint64_t)batch->length; count++) {
            if (id_at(ids, i + count) != id + count)
                break;
            if (seen != NULL && id + count < id_count)
                seen[id + count]++;
        }
        CHECK(id + count <= (uint64_t)sample->rows.length);
        CHECK(same_slots(&sample->schema, &columns, i, &sample->rows, id, count));
    }
}

uint64_t sample_table_check(struct lmn_table *table, const struct sample *sample, uint8_t *seen,
                            uint64_t id_count)
{
    struct lmn_scan_options options = { .with_row_id = true, .threads = 1 };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    struct lmn_error err;
    uint64_t rows = 0;

    if (seen != NULL)
        memset(seen, 0, id_count);
    CHECK_STATUS(lmn_table_scan(table, &options, &stream, &err), LMN_OK, &err);
    for (;;) {
        CHECK_STATUS(lmn_table_scan_next(&stream, &batch, &err), LMN_OK, &err);
        if (batch.release == NULL)
            break;
        check_batch(&batch, sample, seen, id_count);
        rows += (uint64_t)batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    return rows;
}
