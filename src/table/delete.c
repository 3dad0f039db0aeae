/* SPDX-License-Identifier: Apache-2.0 */
#include <leman/table_write.h>

#include "base/error.h"
#include "table/change.h"
#include "table/touched.h"

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
        st = lmn__touched_find(&set, pinned, delete->where, err);
    if (st == LMN_OK && set.row_count != 0) {
        struct lmn__change change = { .kind = LMN__CHANGE_DELETE,
                                      .read_version = manifest->pb.version,
                                      .known = manifest,
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
