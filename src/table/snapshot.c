/* SPDX-License-Identifier: Apache-2.0 */
#include "table/snapshot.h"

#include "base/error.h"
#include "base/math.h"
#include "table/deletion.h"
#include "table/file_set.h"
#include "table/id_index.h"
#include "table/reader_set.h"

/* Writers that do not tell how many rows a deletion file has leave it to be counted. */
static enum lmn_status count_deleted(const struct lmn__snapshot *snapshot,
                                     const struct lmn__pb_fragment *fragment, uint64_t *deleted_out,
                                     struct lmn_error *err)
{
    const struct lmn__pb_deletion_file *file = fragment->deletion;
    struct lmn__deletion deletion;
    enum lmn_status st;

    *deleted_out = file != NULL ? file->row_count : 0;
    if (file == NULL || file->row_count != 0)
        return LMN_OK;
    st = lmn__file_set_deletion(snapshot->files, snapshot->manifest, fragment, &deletion, err);
    if (st != LMN_OK)
        return st;
    *deleted_out = deletion.deleted;
    lmn__deletion_deinit(&deletion, snapshot->env);
    return LMN_OK;
}

static enum lmn_status read_info(struct lmn__snapshot *snapshot, uint64_t index,
                                 struct lmn__fragment_info *info, struct lmn_error *err)
{
    struct lmn__pb_fragment fragment;
    const struct lmn__pb_data_file *file;
    struct lmn__arena arena;
    uint64_t deleted;
    enum lmn_status st;

    lmn__arena_init(&arena, snapshot->env, 0);
    st = lmn__manifest_fragment(snapshot->manifest, index, &arena, &fragment, err);
    if (st == LMN_OK)
        st = count_deleted(snapshot, &fragment, &deleted, err);
    if (st == LMN_OK) {
        *info = (struct lmn__fragment_info){ .id = fragment.id,
                                             .row_count = fragment.row_count,
                                             .live_before = snapshot->row_count,
                                             .live_count = fragment.row_count - deleted,
                                             .is_old = lmn__fragment_is_old(&fragment) };
        file = fragment.files.item;
        for (size_t i = 0; i < fragment.files.count; i++) {
            if (!lmn__add_u64(info->bytes, file[i].bytes, &info->bytes))
                info->bytes = 0;
        }
        if (!lmn__add_u64(snapshot->row_count, info->live_count, &snapshot->row_count))
            st = lmn_fail(err, LMN_E_CORRUPT, "version %llu has more rows than can be counted",
                          (unsigned long long)snapshot->manifest->pb.version);
    }
    lmn__arena_deinit(&arena);
    return st;
}

/* Takes over the manifest, also on failure. */
static enum lmn_status snapshot_new(struct lmn_table *table, struct lmn__manifest *manifest,
                                    struct lmn__snapshot **snapshot_out, struct lmn_error *err)
{
    struct lmn__snapshot *snapshot = lmn__calloc(table->env, 1, sizeof *snapshot);
    enum lmn_status st;

    if (snapshot == NULL) {
        lmn__manifest_release(manifest);
        return lmn__no_memory(err, "a snapshot", sizeof *snapshot);
    }
    st = lmn__mutex_init(&snapshot->mutex, err);
    if (st != LMN_OK) {
        lmn__manifest_release(manifest);
        lmn__free(table->env, snapshot);
        return st;
    }
    atomic_init(&snapshot->reference_count, 1);
    snapshot->env = lmn_env_acquire(table->env);
    snapshot->manifest = manifest;
    snapshot->files = table->files;
    snapshot->fragment_count = lmn__manifest_fragment_count(manifest);
    snapshot->fragment = lmn__calloc(table->env, snapshot->fragment_count,
                                     sizeof *snapshot->fragment);
    if (snapshot->fragment == NULL)
        st = lmn__no_memory(err, "fragments",
                            snapshot->fragment_count * sizeof *snapshot->fragment);
    for (uint64_t i = 0; st == LMN_OK && i < snapshot->fragment_count; i++)
        st = read_info(snapshot, i, &snapshot->fragment[i], err);
    if (st == LMN_OK)
        *snapshot_out = snapshot;
    else
        lmn__snapshot_release(snapshot);
    return st;
}

enum lmn_status lmn__snapshot_open(struct lmn_table *table, struct lmn__snapshot **snapshot_out,
                                   struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn__snapshot *before = NULL;
    enum lmn_status st;

    *snapshot_out = NULL;
    lmn__mutex_lock(&table->mutex);
    if (table->locked.snapshot != NULL && table->locked.snapshot->manifest == manifest)
        *snapshot_out = lmn__snapshot_acquire(table->locked.snapshot);
    lmn__mutex_unlock(&table->mutex);
    if (*snapshot_out != NULL) {
        lmn__manifest_release(manifest);
        return LMN_OK;
    }
    st = snapshot_new(table, manifest, snapshot_out, err);
    if (st != LMN_OK)
        return st;
    lmn__mutex_lock(&table->mutex);
    before = table->locked.snapshot;
    table->locked.snapshot = lmn__snapshot_acquire(*snapshot_out);
    lmn__mutex_unlock(&table->mutex);
    lmn__snapshot_release(before);
    return LMN_OK;
}

struct lmn__snapshot *lmn__snapshot_acquire(struct lmn__snapshot *snapshot)
{
    atomic_fetch_add(&snapshot->reference_count, 1);
    return snapshot;
}

void lmn__snapshot_release(struct lmn__snapshot *snapshot)
{
    struct lmn_env *env;

    if (snapshot == NULL || atomic_fetch_sub(&snapshot->reference_count, 1) != 1)
        return;
    env = snapshot->env;
    for (int i = 0; i < LMN__READER_SETS_MAX; i++)
        lmn__reader_set_release(snapshot->locked.readers[i]);
    lmn__id_index_free(snapshot->locked.ids, env);
    lmn__manifest_release(snapshot->manifest);
    lmn__mutex_deinit(&snapshot->mutex);
    lmn__free(env, snapshot->fragment);
    lmn__free(env, snapshot);
    lmn_env_release(env);
}

bool lmn__snapshot_find(const struct lmn__snapshot *snapshot, uint64_t id, uint64_t *index_out)
{
    uint64_t low = 0, high = snapshot->fragment_count;

    /* Fragments stand in the order of their ids, as a rule. */
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;

        if (snapshot->fragment[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    *index_out = low;
    if (low < snapshot->fragment_count && snapshot->fragment[low].id == id)
        return true;
    for (*index_out = 0; *index_out < snapshot->fragment_count; ++*index_out) {
        if (snapshot->fragment[*index_out].id == id)
            return true;
    }
    return false;
}

uint64_t lmn__snapshot_fragment_of(const struct lmn__snapshot *snapshot, uint64_t position)
{
    uint64_t low = 0, high = snapshot->fragment_count;

    /* The last fragment that begins at or before the position and is not empty. */
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;

        if (snapshot->fragment[middle].live_before <= position)
            low = middle;
        else
            high = middle;
    }
    return low;
}
