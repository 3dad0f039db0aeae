/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are deleted by a file beside the fragment's, which holds those that were deleted before as
 * well. It is written here and removed by lmn__next_undo() when the version comes to nothing.
 */
#include "table/fragment_draft.h"
#include "table/row_ids.h"

/*
 * The rows that are deleted already and those of the change, together. A row that is in both may
 * stand elsewhere now, with other values: others have updated it.
 */
static enum lmn_status unite_rows(struct lmn__next *next, const struct lmn__touched *touched,
                                  const struct lmn__pb_fragment *fragment,
                                  struct lmn__deletion *deletion_out, struct lmn_error *err)
{
    enum lmn_status st = lmn__file_set_deletion(next->files, next->base, fragment, deletion_out,
                                                err);

    if (st == LMN_OK)
        st = lmn__deletion_reserve(deletion_out, next->env, fragment->row_count, err);
    if (st == LMN_OK && lmn__deletion_unite(deletion_out, &touched->rows))
        st = lmn__fragment_overtaken(next, fragment->id, "changed in the same rows", err);
    return st;
}

/*
 * The version that changed each row of a fragment last; 1 where it does not say. `gone` are these
 * rows and the deleted ones: versions are runs, and a deleted row ends none.
 */
static enum lmn_status stamp_rows(struct lmn__next *next, const struct lmn__deletion *rows,
                                  const struct lmn__deletion *gone,
                                  struct lmn__pb_fragment *fragment, struct lmn_error *err)
{
    struct lmn__row_versions before = { 0 };
    uint64_t count = fragment->row_count;
    uint64_t *version = lmn__calloc(next->env, count + 1, sizeof *version);
    struct lmn__buf buf;
    enum lmn_status st = LMN_OK;

    if (version == NULL)
        return lmn__no_memory(err, "versions of rows", count * sizeof *version);
    if (fragment->updated_at.data != NULL)
        st = lmn__row_versions_read(fragment->updated_at, count, next->arena, &before, err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        if (lmn__deletion_has(rows, i))
            version[i] = next->pb.version;
        else if (i != 0 && lmn__deletion_has(gone, i))
            version[i] = version[i - 1];
        else
            version[i] = before.run_count != 0 ? lmn__row_versions_get(&before, i) : 1;
    }
    if (st == LMN_OK) {
        lmn__buf_init(&buf, next->env, 0);
        lmn__row_versions_write(version, count, &buf);
        st = lmn__arena_keep(next->arena, &buf, "versions of rows", &fragment->updated_at, err);
    }
    lmn__free(next->env, version);
    return st;
}

enum lmn_status lmn__fragment_draft_stamp(struct lmn__next *next,
                                          const struct lmn__touched *touched,
                                          struct lmn__pb_fragment *fragment, struct lmn_error *err)
{
    struct lmn__deletion deletion = { 0 };
    enum lmn_status st = unite_rows(next, touched, fragment, &deletion, err);

    if (st == LMN_OK && (next->pb.reader_flags & LMN__FLAG_STABLE_ROW_IDS) != 0)
        st = stamp_rows(next, &touched->rows, &deletion, fragment, err);
    lmn__deletion_deinit(&deletion, next->env);
    return st;
}

static enum lmn_status write_deletion(struct lmn__next *next, struct lmn__pb_fragment *fragment,
                                      const struct lmn__deletion *deletion, struct lmn_error *err)
{
    struct lmn__pb_deletion_file *file = lmn__arena_alloc(next->arena, sizeof *file);
    enum lmn_status st;

    if (file == NULL)
        return lmn__arena_fail(next->arena, "a deletion file", err);
    st = lmn__deletion_write(next->store, fragment->id, next->change->read_version, deletion, file,
                             err);
    if (st != LMN_OK)
        return st;
    lmn__deletion_path(fragment->id, file, next->written[next->written_count],
                       sizeof next->written[0]);
    next->written_count++;
    fragment->deletion = file;
    next->pb.reader_flags |= LMN__FLAG_DELETIONS;
    next->pb.writer_flags |= LMN__FLAG_DELETIONS;
    return LMN_OK;
}

/* Delete rows of one fragment; a fragment without live rows goes. */
static enum lmn_status touch_fragment(struct lmn__next *next, struct lmn__fragment_draft *draft,
                                      const struct lmn__touched *touched, struct lmn_error *err)
{
    struct lmn__pb_fragment *fragment = &draft->updated[draft->updated_count];
    struct lmn__deletion deletion = { 0 };
    enum lmn_status st = lmn__fragment_draft_current(next, draft, touched->fragment_id, fragment,
                                                     err);

    if (st == LMN_OK)
        st = unite_rows(next, touched, fragment, &deletion, err);
    if (st == LMN_OK && deletion.deleted == fragment->row_count) {
        draft->removed[draft->removed_count++] = fragment->id;
    } else if (st == LMN_OK) {
        st = write_deletion(next, fragment, &deletion, err);
        draft->updated_count++;
        if (st == LMN_OK)
            st = lmn__fragment_draft_put(next, draft, fragment, err);
    }
    lmn__deletion_deinit(&deletion, next->env);
    return st;
}

enum lmn_status lmn__fragment_draft_touch(struct lmn__next *next, struct lmn__fragment_draft *draft,
                                          struct lmn_error *err)
{
    const struct lmn__change *change = next->change;
    uint64_t *id = lmn__arena_array(next->arena, change->touched_count, sizeof *id);
    enum lmn_status st = LMN_OK;

    draft->removed = lmn__arena_array(next->arena, change->touched_count, sizeof *draft->removed);
    draft->updated = lmn__arena_array(next->arena, change->touched_count, sizeof *draft->updated);
    next->written = lmn__arena_array(next->arena, change->touched_count, sizeof *next->written);
    if (id == NULL || draft->removed == NULL || draft->updated == NULL || next->written == NULL)
        return lmn__arena_fail(next->arena, "a list of fragments", err);
    for (uint64_t i = 0; st == LMN_OK && i < change->touched_count; i++) {
        id[i] = change->touched[i].fragment_id;
        st = touch_fragment(next, draft, &change->touched[i], err);
    }
    if (st == LMN_OK)
        lmn__fragment_draft_keep_others(draft, id, change->touched_count);
    return st;
}
