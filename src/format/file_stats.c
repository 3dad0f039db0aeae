/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statistics are the second global buffer of a file that this library has written. They are read
 * when they are first asked for; a small buffer that came with the file's tail is kept from then.
 */
#include "base/error.h"
#include "base/math.h"
#include "format/file.h"
#include "format/stats_layout.h"

/* A buffer that is larger may be anybody's: it is looked at before it is read as a whole. */
enum { LOOK_BYTES = 1 << 20 };

/* The types of all columns of the file; NONE where a column is not a leaf. */
static struct lmn__stats_type *column_types(struct lmn_file *file)
{
    struct lmn__stats_type *type = lmn__calloc(file->env, file->footer.column_count, sizeof *type);

    for (uint32_t i = 0; type != NULL && i < file->schema.node_count; i++) {
        const struct lmn__node *node = &file->schema.node[i];

        if (node->column != LMN__NO_COLUMN)
            type[node->column] = lmn__stats_type_of(node);
    }
    return type;
}

/* Is a large buffer one with statistics, if only by its form? */
static enum lmn_status look(struct lmn_file *file, const struct lmn__extent *extent, bool *is_ours,
                            struct lmn_error *err)
{
    uint32_t columns = file->footer.column_count;
    uint64_t most = LMN__STATS_HEAD_BYTES + LMN__STATS_HASH_BYTES +
                    (uint64_t)columns * LMN__STATS_ENTRY_BYTES;
    struct lmn__block *front;
    struct lmn__span bytes = { NULL, lmn__min_u64(most, extent->bytes) };
    enum lmn_status st;

    *is_ours = true;
    if (extent->bytes <= LOOK_BYTES)
        return LMN_OK;
    st = lmn__object_read_block(&file->object, extent->position, bytes.len, &front, err);
    if (st != LMN_OK)
        return st;
    bytes.data = front->data;
    *is_ours = memcmp(bytes.data, LMN__STATS_MAGIC, sizeof LMN__STATS_MAGIC - 1) == 0 ||
               lmn__stats_mark_is_damaged(bytes, extent->bytes, columns);
    lmn__block_release(front);
    return st;
}

/* The buffer's bytes; the file keeps them. Empty when they are no statistics. */
static enum lmn_status read_locked(struct lmn_file *file, struct lmn__span *bytes_out,
                                   struct lmn_error *err)
{
    const struct lmn__extent *extent = &file->global_extent[1];
    bool is_ours;
    enum lmn_status st;

    *bytes_out = file->stats_bytes;
    if (file->stats_bytes.len != 0)
        return LMN_OK;
    if (!lmn__range_fits(extent->position, extent->bytes, file->object.bytes))
        return lmn_fail(err, LMN_E_CORRUPT,
                        "global buffer 1 (%llu bytes at %llu) is outside a file of %llu bytes",
                        (unsigned long long)extent->bytes, (unsigned long long)extent->position,
                        (unsigned long long)file->object.bytes);
    st = look(file, extent, &is_ours, err);
    if (st != LMN_OK || !is_ours)
        return st;
    lmn__free(file->env, file->locked.stats_data);
    file->locked.stats_data = lmn__alloc(file->env, extent->bytes);
    if (file->locked.stats_data == NULL)
        return lmn__no_memory(err, "statistics", extent->bytes);
    st = lmn__object_read(&file->object, extent->position, file->locked.stats_data, extent->bytes,
                          err);
    *bytes_out = (struct lmn__span){ file->locked.stats_data, extent->bytes };
    return st;
}

static enum lmn_status load_locked(struct lmn_file *file, struct lmn_error *err)
{
    struct lmn__stats_type *type;
    struct lmn__span bytes = { NULL, 0 };
    enum lmn_status st;

    if (file->locked.has_looked)
        return LMN_OK;
    /* Version 2.0 gives every node a column; nobody has written statistics there. */
    if (file->footer.global_count > 1 && file->footer.minor != 0) {
        st = read_locked(file, &bytes, err);
        if (st != LMN_OK)
            return st;
    }
    type = column_types(file);
    if (type == NULL)
        return lmn__no_memory(err, "statistics", file->footer.column_count * sizeof *type);
    st = lmn__stats_parse(file->env, bytes, type, file->footer.column_count, file->row_count,
                          &file->locked.stats, err);
    lmn__free(file->env, type);
    file->locked.has_looked = st == LMN_OK;
    return st;
}

enum lmn_status lmn__file_stats(struct lmn_file *file, uint32_t index,
                                const struct lmn__stats_column **column_out, struct lmn_error *err)
{
    enum lmn_status st;

    *column_out = NULL;
    lmn__mutex_lock(&file->mutex);
    st = load_locked(file, err);
    if (st == LMN_OK && file->locked.stats != NULL)
        st = lmn__stats_column(file->locked.stats, index, column_out, err);
    lmn__mutex_unlock(&file->mutex);
    return st == LMN_OK ? st : lmn__fail_within(err, st, "%.200s", file->object.name);
}

enum lmn_status lmn__file_stats_size(struct lmn_file *file, uint32_t index,
                                     uint64_t *zone_count_out, uint64_t *bytes_out,
                                     struct lmn_error *err)
{
    enum lmn_status st;

    *zone_count_out = *bytes_out = 0;
    lmn__mutex_lock(&file->mutex);
    st = load_locked(file, err);
    if (st == LMN_OK && file->locked.stats != NULL) {
        *zone_count_out = lmn__stats_zone_count(file->locked.stats, index);
        *bytes_out = file->global_extent[1].bytes;
    }
    lmn__mutex_unlock(&file->mutex);
    return st == LMN_OK ? st : lmn__fail_within(err, st, "%.200s", file->object.name);
}
