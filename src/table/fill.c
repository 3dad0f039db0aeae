/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An attempt goes in three steps:
 *
 *   1. match: which fragments are filled already by an earlier attempt, from the same columns of
 *      the same files; the files of all others are removed. Deleted rows have nulls in these files,
 *      so none is of use when rows may be back
 *   2. fill the rest, several fragments at once
 *   3. commit a merge of all fragments, with the file added to each
 *
 * A file lists the ids of its fields. When others have added columns between two attempts the ids
 * are other ones, and are counted anew from the first.
 */
#include "table/fill.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/math.h"
#include "os/interrupt.h"
#include "table/fill_rows.h"
#include "table/fragment_draft.h"
#include "table/fragment_writer.h"

enum { THREADS_MAX = 16 };

void lmn__fill_init(struct lmn__fill *fill, struct lmn_table *table)
{
    *fill = (struct lmn__fill){ .table = table };
    lmn__arena_init(&fill->arena, table->env, 0);
}

static void remove_file(struct lmn__fill *fill, struct lmn__filled *filled)
{
    const struct lmn__pb_fragment fragment = { .files = { &filled->file, 1 } };

    lmn__fragments_remove(fill->table->store, &fragment, 1);
}

void lmn__fill_deinit(struct lmn__fill *fill)
{
    for (uint64_t i = 0; i < fill->done_count; i++)
        remove_file(fill, &fill->done[i]);
    lmn__free(fill->table->env, fill->done);
    lmn__arena_deinit(&fill->arena);
}

static int compare_filled(const void *a, const void *b)
{
    const struct lmn__filled *x = a, *y = b;

    return x->fragment_id < y->fragment_id ? -1 : x->fragment_id > y->fragment_id;
}

static struct lmn__filled *find_filled(const struct lmn__fill *fill, uint64_t id)
{
    struct lmn__filled key = { .fragment_id = id };

    return fill->done_count != 0
               ? bsearch(&key, fill->done, fill->done_count, sizeof *fill->done, compare_filled)
               : NULL;
}

static uint32_t count_leaves(const struct lmn__selected *selected)
{
    uint32_t count = 0;

    if (selected->node != NULL && selected->node->kind == LMN__NODE_LEAF)
        return 1;
    for (uint32_t i = 0; i < selected->child_count; i++)
        count += count_leaves(selected->child[i]);
    return count;
}

/* Where a field is; where two files have it, the later one. */
static struct lmn__fill_source find_field(const struct lmn__pb_fragment *fragment, int32_t id)
{
    const struct lmn__pb_data_file *file = fragment->files.item;
    struct lmn__fill_source source = { { NULL, 0 }, 0 };

    for (size_t i = 0; i < fragment->files.count; i++) {
        for (size_t k = 0; k < file[i].fields.count; k++) {
            if ((int32_t)file[i].fields.item[k] == id && k < file[i].columns.count)
                source = (struct lmn__fill_source){ file[i].path, file[i].columns.item[k] };
        }
    }
    return source;
}

static void list_sources(const struct lmn__selected *selected,
                         const struct lmn__pb_fragment *fragment, struct lmn__fill_source **at)
{
    if (selected->node != NULL && selected->node->kind == LMN__NODE_LEAF) {
        *(*at)++ = find_field(fragment, selected->node->field->id);
        return;
    }
    for (uint32_t i = 0; i < selected->child_count; i++)
        list_sources(selected->child[i], fragment, at);
}

static bool same_sources(const struct lmn__filled *filled, const struct lmn__fill_source *source,
                         uint32_t count)
{
    if (filled->source_count != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        const struct lmn__fill_source *old = &filled->source[i];

        if (old->column != source[i].column || old->path.len != source[i].path.len ||
            (old->path.len != 0 && memcmp(old->path.data, source[i].path.data, old->path.len) != 0))
            return false;
    }
    return true;
}

/* Mark what is filled already. */
static enum lmn_status match(struct lmn__fill *fill, struct lmn_error *err)
{
    uint32_t count = count_leaves(fill->projection->root);
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(fill->manifest); i++) {
        struct lmn__arena arena;
        struct lmn__pb_fragment fragment;
        struct lmn__fill_source *source, *at;
        struct lmn__filled *filled;

        lmn__arena_init(&arena, fill->table->env, 0);
        st = lmn__manifest_fragment(fill->manifest, i, &arena, &fragment, err);
        filled = st == LMN_OK ? find_filled(fill, fragment.id) : NULL;
        at = source = lmn__arena_array(&arena, count, sizeof *source);
        if (st == LMN_OK && source == NULL)
            st = lmn__arena_fail(&arena, "a list of columns", err);
        if (st == LMN_OK && filled != NULL) {
            list_sources(fill->projection->root, &fragment, &at);
            filled->used = filled->row_count == fragment.row_count &&
                           same_sources(filled, source, count);
        }
        lmn__arena_deinit(&arena);
    }
    return st;
}

/* Remove the files that are of no use, and count fields anew. */
static void keep_used(struct lmn__fill *fill)
{
    int32_t first_id = ((const struct lmn__pb_schema_field *)fill->fields->item)->id;
    uint64_t kept = 0;

    for (uint64_t i = 0; i < fill->done_count; i++) {
        struct lmn__filled *filled = &fill->done[i];

        if (!filled->used) {
            remove_file(fill, filled);
            continue;
        }
        for (size_t k = 0; k < filled->file.fields.count; k++)
            filled->file.fields.item[k] = (uint64_t)((int64_t)filled->file.fields.item[k] -
                                                     filled->first_id + first_id);
        filled->first_id = first_id;
        fill->done[kept++] = *filled;
    }
    fill->done_count = kept;
}

/* What the threads of an attempt share. */
struct work {
    struct lmn__fill *fill;
    const struct lmn__layout *layout; /* of the columns */
    uint64_t *missing;                /* numbers of fragments that are to be filled */
    uint64_t missing_count;
    uint32_t writer_threads;
    struct lmn__mutex mutex;
    struct lmn__cond changed;
    struct {
        uint64_t next;
        uint64_t active;        /* threads */
        enum lmn_status status; /* the first failure */
        struct lmn_error error;
    } locked;
};

/* Copy of the path in the fill's memory. */
static struct lmn__span copy_span(struct lmn__fill *fill, struct lmn__span from)
{
    char *text = lmn__arena_strndup(&fill->arena, from.data, from.len);

    return (struct lmn__span){ (const uint8_t *)text, text != NULL ? from.len : 0 };
}

static bool copy_u64s(struct lmn__fill *fill, struct lmn__pb_u64s *list)
{
    uint64_t *item = lmn__arena_array(&fill->arena, list->count, sizeof *item);

    if (item != NULL)
        memcpy(item, list->item, list->count * sizeof *item);
    list->item = item;
    return item != NULL;
}

static bool copy_filled(struct lmn__fill *fill, struct lmn__filled *filled)
{
    struct lmn__fill_source *source = lmn__arena_array(&fill->arena, filled->source_count,
                                                       sizeof *source);
    bool good = source != NULL;

    for (uint32_t i = 0; good && i < filled->source_count; i++) {
        source[i] = filled->source[i];
        if (source[i].path.len != 0) {
            source[i].path = copy_span(fill, source[i].path);
            good = source[i].path.len != 0;
        }
    }
    filled->source = source;
    filled->file.path = copy_span(fill, filled->file.path);
    return copy_u64s(fill, &filled->file.fields) && copy_u64s(fill, &filled->file.columns) &&
           good && filled->file.path.len != 0;
}

/* Keep what a thread has made; its memory is copied. */
static enum lmn_status keep_locked(struct lmn__fill *fill, const struct lmn__filled *filled,
                                   struct lmn_error *err)
{
    struct lmn__filled copy = *filled;

    if (fill->done_count == fill->done_room) {
        uint64_t room = lmn__max_u64(fill->done_room * 2, 16);
        struct lmn__filled *done = lmn__realloc(fill->table->env, fill->done, room * sizeof *done);

        if (done == NULL)
            return lmn__no_memory(err, "a list of files", room * sizeof *done);
        fill->done = done;
        fill->done_room = room;
    }
    if (!copy_filled(fill, &copy))
        return lmn__arena_fail(&fill->arena, "a list of files", err);
    fill->done[fill->done_count++] = copy;
    return LMN_OK;
}

static enum lmn_status fill_one(struct work *work, uint64_t index, struct lmn_error *err)
{
    struct lmn__fill *fill = work->fill;
    struct lmn__filled filled = { .used = true };
    struct lmn__pb_fragment fragment = { 0 };
    struct lmn__fill_source *at;
    struct lmn__arena arena;
    enum lmn_status st;

    lmn__arena_init(&arena, fill->table->env, 0);
    st = lmn__manifest_fragment(fill->manifest, index, &arena, &fragment, err);
    filled.fragment_id = fragment.id;
    filled.row_count = fragment.row_count;
    filled.first_id = ((const struct lmn__pb_schema_field *)fill->fields->item)->id;
    filled.source_count = count_leaves(fill->projection->root);
    at = filled.source = lmn__arena_array(&arena, filled.source_count, sizeof *at);
    if (st == LMN_OK && at == NULL)
        st = lmn__arena_fail(&arena, "a list of columns", err);
    if (st == LMN_OK) {
        list_sources(fill->projection->root, &fragment, &at);
        st = lmn__fill_fragment(fill, index, work->layout, work->writer_threads, &arena,
                                &filled.file, err);
    }
    if (st == LMN_OK && filled.file.path.len != 0) {
        lmn__mutex_lock(&work->mutex);
        st = keep_locked(fill, &filled, err);
        lmn__mutex_unlock(&work->mutex);
        if (st != LMN_OK)
            remove_file(fill, &filled);
    }
    lmn__arena_deinit(&arena);
    return st != LMN_OK
               ? lmn__fail_within(err, st, "fragment %llu", (unsigned long long)fragment.id)
               : st;
}

static void fail_locked(struct work *work, enum lmn_status status, const struct lmn_error *error)
{
    if (work->locked.status != LMN_OK)
        return;
    work->locked.status = status;
    work->locked.error = *error;
    atomic_store(&work->fill->over, true);
}

static void work_main(void *context)
{
    struct work *work = context;
    struct lmn_error err = { 0 };
    enum lmn_status st;

    lmn__mutex_lock(&work->mutex);
    while (work->locked.status == LMN_OK && work->locked.next < work->missing_count) {
        uint64_t index = work->missing[work->locked.next++];

        lmn__mutex_unlock(&work->mutex);
        st = fill_one(work, index, &err);
        lmn__mutex_lock(&work->mutex);
        if (st != LMN_OK)
            fail_locked(work, st, &err);
    }
    work->locked.active--;
    lmn__cond_wake_all(&work->changed);
    lmn__mutex_unlock(&work->mutex);
}

/* Wait for the threads; meanwhile the caller may be interrupted. */
static void join_all(struct work *work, struct lmn__thread *thread, uint64_t count)
{
    struct lmn_error err;

    lmn__mutex_lock(&work->mutex);
    while (work->locked.active != 0) {
        if (lmn__interrupt_check(&err) != LMN_OK)
            fail_locked(work, LMN_E_CANCELLED, &err);
        lmn__interrupt_wait(&work->changed, &work->mutex);
    }
    lmn__mutex_unlock(&work->mutex);
    while (count != 0)
        lmn__thread_join(&thread[--count]);
}

/* This thread works, and others with it where they can be had. */
static enum lmn_status run(struct work *work, struct lmn_error *err)
{
    struct lmn_env *env = work->fill->table->env;
    struct lmn__thread thread[THREADS_MAX];
    uint64_t count = work->fill->in_order ? 1 : lmn__min_u64(env->threads, work->missing_count);
    uint64_t started = 0;
    enum lmn_status st = lmn__mutex_init(&work->mutex, err);

    if (st != LMN_OK)
        return st;
    st = lmn__cond_init(&work->changed, err);
    if (st != LMN_OK) {
        lmn__mutex_deinit(&work->mutex);
        return st;
    }
    count = lmn__min_u64(count, THREADS_MAX);
    work->writer_threads = count > 1 ? 1 : 0;
    work->locked.active = lmn__max_u64(count, 1);
    atomic_store(&work->fill->over, false);
    while (started + 1 < count &&
           lmn__thread_start(env, work_main, work, &thread[started], NULL) == LMN_OK)
        started++;
    lmn__mutex_lock(&work->mutex);
    work->locked.active -= lmn__max_u64(count, 1) - 1 - started;
    lmn__mutex_unlock(&work->mutex);
    work_main(work);
    join_all(work, thread, started);
    lmn__cond_deinit(&work->changed);
    lmn__mutex_deinit(&work->mutex);
    if (work->locked.status != LMN_OK && err != NULL)
        *err = work->locked.error;
    return work->locked.status;
}

static enum lmn_status list_missing(struct work *work, struct lmn__arena *arena,
                                    struct lmn_error *err)
{
    struct lmn__fill *fill = work->fill;
    uint64_t count = lmn__manifest_fragment_count(fill->manifest);
    enum lmn_status st = LMN_OK;

    work->missing = lmn__arena_array(arena, count, sizeof *work->missing);
    if (work->missing == NULL)
        return lmn__arena_fail(arena, "a list of fragments", err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        struct lmn__pb_fragment fragment;

        st = lmn__manifest_fragment(fill->manifest, i, arena, &fragment, err);
        if (st == LMN_OK && find_filled(fill, fragment.id) == NULL)
            work->missing[work->missing_count++] = i;
    }
    return st;
}

enum lmn_status lmn__fill_write(struct lmn__fill *fill, struct lmn_error *err)
{
    struct lmn__arena arena;
    struct work work = { .fill = fill };
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; i < fill->done_count; i++)
        fill->done[i].used = false;
    if (fill->done_count != 0 &&
        !lmn__change_went_back(fill->table, fill->kept_version, fill->manifest))
        st = match(fill, err);
    if (st != LMN_OK)
        return st;
    keep_used(fill);
    if (fill->done_count == 0)
        fill->kept_version = fill->manifest->pb.version;
    lmn__arena_init(&arena, fill->table->env, 0);
    st = lmn__layout_from_schema(fill->schema, &arena, &work.layout, err);
    if (st == LMN_OK)
        st = list_missing(&work, &arena, err);
    if (st == LMN_OK && work.missing_count != 0)
        st = run(&work, err);
    if (fill->done_count != 0)
        qsort(fill->done, fill->done_count, sizeof *fill->done, compare_filled);
    lmn__arena_deinit(&arena);
    return st;
}

/* Every fragment, with the file that was written for it. */
static enum lmn_status list_fragments(struct lmn__fill *fill, struct lmn__arena *arena,
                                      struct lmn__pb_fragment **fragment_out, struct lmn_error *err)
{
    uint64_t count = lmn__manifest_fragment_count(fill->manifest);
    struct lmn__pb_fragment *fragment = lmn__arena_array(arena, count, sizeof *fragment);
    enum lmn_status st = LMN_OK;

    *fragment_out = fragment;
    if (fragment == NULL)
        return lmn__arena_fail(arena, "fragments", err);
    for (uint64_t i = 0; st == LMN_OK && i < count; i++) {
        struct lmn__pb_list *files = &fragment[i].files;
        const struct lmn__filled *filled;
        struct lmn__pb_data_file *file;

        st = lmn__manifest_fragment(fill->manifest, i, arena, &fragment[i], err);
        if (st != LMN_OK || (filled = find_filled(fill, fragment[i].id)) == NULL)
            continue;
        file = lmn__arena_array(arena, files->count + 1, sizeof *file);
        if (file == NULL)
            return lmn__arena_fail(arena, "fragments", err);
        if (files->count != 0)
            memcpy(file, files->item, files->count * sizeof *file);
        file[files->count] = filled->file;
        *files = (struct lmn__pb_list){ file, files->count + 1 };
        (void)lmn__fragment_drop_dead_files(fill->all_fields, &fragment[i]);
    }
    return st;
}

enum lmn_status lmn__fill_commit(struct lmn__fill *fill, bool *again_out, struct lmn_error *err)
{
    struct lmn__change change = { .kind = LMN__CHANGE_MERGE,
                                  .read_version = fill->manifest->pb.version,
                                  .known = fill->manifest,
                                  .replaced_count = lmn__manifest_fragment_count(fill->manifest),
                                  .fields = fill->all_fields,
                                  .keeps_nullability = true };
    struct lmn__arena arena;
    enum lmn_status st;

    *again_out = false;
    lmn__arena_init(&arena, fill->table->env, 0);
    st = list_fragments(fill, &arena, &change.replaced, err);
    if (st == LMN_OK) {
        st = lmn__change_commit(fill->table, &change, again_out, err);
        if (st == LMN_OK || change.may_stand)
            fill->done_count = 0;
    }
    lmn__arena_deinit(&arena);
    return st;
}
