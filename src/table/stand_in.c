/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A damaged manifest does not say which ids it has given to fragments, rows and fields. A restore
 * on top of it must not give one of them again: who has kept it, such as a job or a user of row
 * ids, would take something else for what it means. The next ids are therefore far beyond those of
 * the newest version that can be read: no commit gives as many as lie between, and there is room
 * for thousands of such repairs. Ids of fields are raised in manifests that keep the highest one;
 * in others those of dropped fields are given again in any case.
 */
#include "table/stand_in.h"

#include "table/versions.h"

enum { FRAGMENTS_GAP = 1 << 20, FIELDS_GAP = 1 << 16 };
static const uint64_t rows_gap = 1ull << 40;

enum lmn_status lmn__readable_below(struct lmn_store *store, uint64_t version,
                                    struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    struct lmn__arena arena;
    uint64_t *number, count;
    bool plain;
    enum lmn_status st;

    *manifest_out = NULL;
    lmn__arena_init(&arena, store->env, 0);
    st = lmn__versions_list(store, &arena, &number, &count, &plain, err);
    for (uint64_t i = count; st == LMN_OK && i > 0 && *manifest_out == NULL; i--) {
        if (number[i - 1] >= version)
            continue;
        st = lmn__version_read(store, number[i - 1], plain, manifest_out, err);
        if (st == LMN_E_CORRUPT || st == LMN_E_UNSUPPORTED || st == LMN_E_NOT_FOUND)
            st = LMN_OK;
    }
    lmn__arena_deinit(&arena);
    if (st == LMN_OK && *manifest_out == NULL)
        st = lmn_fail(err, LMN_E_NOT_FOUND, "%.300s has no version that can be read", store->name);
    return st;
}

enum lmn_status lmn__newest_damaged(struct lmn_store *store, uint64_t version,
                                    struct lmn_error *err)
{
    struct lmn__manifest *readable;

    if (err == NULL)
        return LMN_E_CORRUPT;
    if (lmn__readable_below(store, version, &readable, NULL) != LMN_OK)
        return lmn_fail(err, LMN_E_CORRUPT, "%s; no other version can be read", err->message);
    lmn_fail(
        err, LMN_E_CORRUPT,
        "%s; version %llu can be read, and to restore it brings the table back (leman restore)",
        err->message, (unsigned long long)readable->pb.version);
    lmn__manifest_release(readable);
    return LMN_E_CORRUPT;
}

/* `gap` for each of so many versions, but at most half of what is left of `room`. */
static uint64_t leap(uint64_t gap, uint64_t versions, uint64_t room)
{
    return versions < room / 2 / gap ? gap * versions : room / 2;
}

/* Raise the ids by those that so many versions may have given. */
static void raise_ids(struct lmn__pb_manifest *pb, uint64_t versions)
{
    uint32_t fragment = pb->has_fragment_id_max ? pb->fragment_id_max : 0;

    pb->has_fragment_id_max = true;
    pb->fragment_id_max = fragment + (uint32_t)leap(FRAGMENTS_GAP, versions, UINT32_MAX - fragment);
    pb->next_row_id += leap(rows_gap, versions, UINT64_MAX - pb->next_row_id);
    if (pb->has_field_id_max)
        pb->field_id_max += (int32_t)leap(FIELDS_GAP, versions,
                                          (uint64_t)(INT32_MAX - pb->field_id_max));
}

enum lmn_status lmn__table_stand_in(struct lmn_table *table, struct lmn__manifest **manifest_out,
                                    struct lmn_error *err)
{
    uint64_t newest;
    bool plain;
    enum lmn_status st = lmn__table_newest(table, manifest_out, err);

    if (st != LMN_E_CORRUPT)
        return st;
    st = lmn__versions_newest(table->store, &newest, &plain, err);
    if (st == LMN_OK)
        st = lmn__readable_below(table->store, newest, manifest_out, err);
    if (st != LMN_OK)
        return st;
    raise_ids(&(*manifest_out)->pb, newest - (*manifest_out)->pb.version);
    (*manifest_out)->pb.version = newest;
    st = lmn__version_mark(table->store, newest, plain, &(*manifest_out)->mark, err);
    if (st != LMN_OK) {
        lmn__manifest_release(*manifest_out);
        *manifest_out = NULL;
    }
    return st;
}
