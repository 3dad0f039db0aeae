/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/table_scan.h>

#include "table/snapshot.h"

static enum lmn_status count_all(struct lmn_table *table, uint64_t *count_out,
                                 struct lmn_error *err)
{
    struct lmn__snapshot *snapshot;
    enum lmn_status st = lmn__snapshot_open(table, &snapshot, err);

    if (st != LMN_OK)
        return st;
    *count_out = snapshot->row_count;
    lmn__snapshot_release(snapshot);
    return LMN_OK;
}

enum lmn_status lmn_table_count(struct lmn_table *table, const char *where, uint64_t *count_out,
                                struct lmn_error *err)
{
    static const char *const no_column[1] = { NULL };
    const struct lmn_scan_options options = { .column = no_column, .where = where };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st;

    *count_out = 0;
    if (where == NULL)
        return count_all(table, count_out, err);
    st = lmn_table_scan(table, &options, &stream, err);
    if (st != LMN_OK)
        return st;
    while ((st = lmn_table_scan_next(&stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        *count_out += (uint64_t)batch.length;
        batch.release(&batch);
    }
    stream.release(&stream);
    if (st != LMN_OK)
        *count_out = 0;
    return st;
}
