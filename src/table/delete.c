/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/table_scan.h>
#include <leman/table_write.h>

#include "base/error.h"
#include "table/change.h"
#include "table/touched.h"

/* The addresses of all rows of the table's version that match. */
static enum lmn_status find_rows(struct lmn_table *table, const char *where,
                                 struct lmn__touched_set *set, struct lmn_error *err)
{
    static const char *const none[] = { NULL };
    struct lmn_scan_options options = { .column = none, .where = where, .with_row_address = true };
    struct ArrowArrayStream stream;
    struct ArrowArray batch;
    enum lmn_status st = lmn_table_scan(table, &options, &stream, err);

    if (st != LMN_OK)
        return st;
    while ((st = lmn_table_scan_next(&stream, &batch, err)) == LMN_OK && batch.release != NULL) {
        const struct ArrowArray *address = batch.children[0];

        st = lmn__touched_add(set, (const uint64_t *)address->buffers[1] + address->offset,
                              (uint64_t)address->length, err);
        batch.release(&batch);
        if (st != LMN_OK)
            break;
    }
    stream.release(&stream);
    return st;
}

struct delete
{
    struct lmn_table *table;
    const char *where;
    uint64_t count;
};

static enum lmn_status attempt_delete(void *context, bool *again_out, struct lmn_error *err)
{
    struct delete *delete = context;
    struct lmn_table *table = delete->table, *pinned = NULL;
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn__touched_set set;
    enum lmn_status st = lmn__manifest_check_writable(manifest, err);

    lmn__touched_init(&set, table->env, manifest);
    if (st == LMN_OK)
        st = lmn__table_new(table->store, manifest, &pinned, err);
    if (st == LMN_OK)
        st = find_rows(pinned, delete->where, &set, err);
    if (st == LMN_OK && set.row_count != 0) {
        struct lmn__change change = { .kind = LMN__CHANGE_DELETE,
                                      .read_version = manifest->pb.version,
                                      .touched = set.item,
                                      .touched_count = set.count,
                                      .predicate = delete->where };

        st = lmn__change_commit(table, &change, again_out, err);
    }
    delete->count = set.row_count;
    lmn__touched_deinit(&set);
    lmn_table_release(pinned);
    lmn__manifest_release(manifest);
    return st;
}

enum lmn_status lmn_table_delete(struct lmn_table *table, const char *where, uint64_t *count_out,
                                 struct lmn_error *err)
{
    struct delete delete = { .table = table, .where = where };
    enum lmn_status st = where != NULL
                             ? lmn__change_make(table, attempt_delete, &delete, err)
                             : lmn_fail(err, LMN_E_INVALID,
                                        "a delete without a condition; \"true\" deletes all rows");

    if (count_out != NULL)
        *count_out = st == LMN_OK ? delete.count : 0;
    return st;
}
