/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fragment is opened by the first thread that asks for it, without the lock; others that want the
 * same one wait on `opened`. When too many are open, or the process is short of files, a hand goes
 * round over those that are and closes the first that nobody uses and nobody has asked for since it
 * last came by.
 */
#include "table/reader_set.h"

#include <string.h>

#include "base/error.h"
#include "os/file.h"
#include "table/scan.h"

enum { OPEN_MAX = 1024 };

struct slot {
    struct lmn__fragment_reader *reader;
    uint32_t users;
    bool opening;
    bool asked; /* since the hand came by */
};

struct lmn__reader_set {
    atomic_uint_fast64_t reference_count;
    struct lmn_env *env;            /* counted */
    struct lmn__manifest *manifest; /* counted: the projection is of its schema */
    struct lmn__file_set *files;
    struct lmn__projection projection;
    bool all_columns; /* what it was made for */
    uint32_t column_count;
    char **column;
    uint64_t fragment_count;
    struct lmn__mutex mutex;
    struct lmn__cond opened;
    struct {
        struct slot *slot; /* by number of the fragment */
        uint32_t open_count, hand;
        uint64_t open[OPEN_MAX]; /* numbers of those that are open */
    } locked;
};

static bool is_for(const struct lmn__reader_set *set, const struct lmn_scan_options *options)
{
    if (set->projection.blobs != options->blobs || set->all_columns != (options->column == NULL))
        return false;
    if (options->column == NULL)
        return true;
    if (set->column_count != options->column_count)
        return false;
    for (uint32_t i = 0; i < set->column_count; i++) {
        if (strcmp(set->column[i], options->column[i]) != 0)
            return false;
    }
    return true;
}

static void set_free(struct lmn__reader_set *set)
{
    struct lmn_env *env = set->env;

    for (uint32_t i = 0; i < set->locked.open_count; i++)
        lmn__fragment_reader_close(set->locked.slot[set->locked.open[i]].reader);
    for (uint32_t i = 0; set->column != NULL && i < set->column_count; i++)
        lmn__free(env, set->column[i]);
    lmn__free(env, set->column);
    lmn__free(env, set->locked.slot);
    lmn__projection_deinit(&set->projection);
    lmn__manifest_release(set->manifest);
    lmn__cond_deinit(&set->opened);
    lmn__mutex_deinit(&set->mutex);
    lmn__free(env, set);
    lmn_env_release(env);
}

void lmn__reader_set_release(struct lmn__reader_set *set)
{
    if (set != NULL && atomic_fetch_sub(&set->reference_count, 1) == 1)
        set_free(set);
}

/* What the set is for, and room for its readers. */
static enum lmn_status set_fill(struct lmn__reader_set *set, const struct lmn_scan_options *options,
                                struct lmn_error *err)
{
    struct lmn_env *env = set->env;

    set->all_columns = options->column == NULL;
    set->locked.slot = lmn__calloc(env, set->fragment_count, sizeof *set->locked.slot);
    if (set->locked.slot == NULL)
        return lmn__no_memory(err, "readers", set->fragment_count * sizeof *set->locked.slot);
    if (options->column == NULL)
        return LMN_OK;
    set->column = lmn__calloc(env, options->column_count, sizeof *set->column);
    if (set->column == NULL)
        return lmn__no_memory(err, "columns", options->column_count * sizeof *set->column);
    set->column_count = options->column_count;
    for (uint32_t i = 0; i < options->column_count; i++) {
        set->column[i] = lmn__strndup(env, options->column[i], strlen(options->column[i]));
        if (set->column[i] == NULL)
            return lmn__no_memory(err, "columns", strlen(options->column[i]));
    }
    return LMN_OK;
}

static enum lmn_status set_new(struct lmn__snapshot *snapshot,
                               const struct lmn_scan_options *options,
                               struct lmn__reader_set **set_out, struct lmn_error *err)
{
    struct lmn_env *env = snapshot->env;
    struct lmn__reader_set *set = lmn__calloc(env, 1, sizeof *set);
    enum lmn_status st;

    if (set == NULL)
        return lmn__no_memory(err, "readers", sizeof *set);
    st = lmn__scan_project(env, &snapshot->manifest->schema, options, &set->projection, err);
    if (st != LMN_OK) {
        lmn__free(env, set);
        return st;
    }
    st = lmn__mutex_init(&set->mutex, err);
    if (st == LMN_OK) {
        st = lmn__cond_init(&set->opened, err);
        if (st != LMN_OK)
            lmn__mutex_deinit(&set->mutex);
    }
    if (st != LMN_OK) {
        lmn__projection_deinit(&set->projection);
        lmn__free(env, set);
        return st;
    }
    atomic_init(&set->reference_count, 1);
    set->env = lmn_env_acquire(env);
    set->manifest = lmn__manifest_acquire(snapshot->manifest);
    set->files = snapshot->files;
    set->fragment_count = snapshot->fragment_count;
    st = set_fill(set, options, err);
    if (st == LMN_OK)
        *set_out = set;
    else
        set_free(set);
    return st;
}

/* Move the set at `index` to the front and give out a reference. */
static struct lmn__reader_set *to_front_locked(struct lmn__snapshot *snapshot, int index)
{
    struct lmn__reader_set *set = snapshot->locked.readers[index];

    for (; index > 0; index--)
        snapshot->locked.readers[index] = snapshot->locked.readers[index - 1];
    snapshot->locked.readers[0] = set;
    atomic_fetch_add(&set->reference_count, 1);
    return set;
}

enum lmn_status lmn__reader_set_open(struct lmn__snapshot *snapshot,
                                     const struct lmn_scan_options *options,
                                     struct lmn__reader_set **set_out, struct lmn_error *err)
{
    struct lmn__reader_set *last;
    enum lmn_status st;

    *set_out = NULL;
    lmn__mutex_lock(&snapshot->mutex);
    for (int i = 0; i < LMN__READER_SETS_MAX && *set_out == NULL; i++) {
        if (snapshot->locked.readers[i] != NULL && is_for(snapshot->locked.readers[i], options))
            *set_out = to_front_locked(snapshot, i);
    }
    lmn__mutex_unlock(&snapshot->mutex);
    if (*set_out != NULL)
        return LMN_OK;
    st = set_new(snapshot, options, set_out, err);
    if (st != LMN_OK)
        return st;
    lmn__mutex_lock(&snapshot->mutex);
    last = snapshot->locked.readers[LMN__READER_SETS_MAX - 1];
    snapshot->locked.readers[LMN__READER_SETS_MAX - 1] = *set_out;
    to_front_locked(snapshot, LMN__READER_SETS_MAX - 1);
    lmn__mutex_unlock(&snapshot->mutex);
    lmn__reader_set_release(last);
    return LMN_OK;
}

const struct lmn__projection *lmn__reader_set_projection(const struct lmn__reader_set *set)
{
    return &set->projection;
}

/* Take a reader out that can be closed, if too many are open; NULL: none has to or can. */
static struct lmn__fragment_reader *evict_locked(struct lmn__reader_set *set)
{
    struct lmn__fragment_reader *reader;
    uint32_t count = set->locked.open_count;

    if (count < OPEN_MAX && !lmn__file_crowd())
        return NULL;
    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t hand = set->locked.hand++ % count;
        struct slot *slot = &set->locked.slot[set->locked.open[hand]];

        if (slot->users != 0 || slot->asked) {
            slot->asked = false;
            continue;
        }
        reader = slot->reader;
        slot->reader = NULL;
        set->locked.open[hand] = set->locked.open[--set->locked.open_count];
        return reader;
    }
    return NULL;
}

/* Open a reader for a slot that is marked so; the lock is given up meanwhile. */
static enum lmn_status open_locked(struct lmn__reader_set *set, uint64_t index,
                                   struct lmn_error *err)
{
    struct lmn__fragment_reader *reader, *evicted = evict_locked(set);
    struct slot *slot = &set->locked.slot[index];
    enum lmn_status st = LMN_OK;

    if (set->locked.open_count == OPEN_MAX && evicted == NULL)
        return lmn_fail(err, LMN_E_NO_MEMORY, "%d fragments are being read at once", OPEN_MAX);
    /* The place is taken at once, so that there is one when the reader is open. */
    set->locked.open[set->locked.open_count++] = index;
    slot->opening = true;
    lmn__mutex_unlock(&set->mutex);
    lmn__fragment_reader_close(evicted);
    st = lmn__fragment_reader_open(set->files, set->manifest, index, &set->projection, &reader,
                                   err);
    lmn__mutex_lock(&set->mutex);
    slot->opening = false;
    slot->reader = reader;
    if (st != LMN_OK) {
        uint32_t at = 0;

        while (set->locked.open[at] != index)
            at++;
        set->locked.open[at] = set->locked.open[--set->locked.open_count];
    }
    lmn__cond_wake_all(&set->opened);
    return st;
}

enum lmn_status lmn__reader_set_get(struct lmn__reader_set *set, uint64_t index,
                                    struct lmn__fragment_reader **reader_out, struct lmn_error *err)
{
    struct slot *slot = &set->locked.slot[index];
    enum lmn_status st = LMN_OK;

    *reader_out = NULL;
    lmn__mutex_lock(&set->mutex);
    slot->users++;
    while (slot->opening)
        lmn__cond_wait(&set->opened, &set->mutex);
    if (slot->reader == NULL)
        st = open_locked(set, index, err);
    slot->asked = true;
    if (st != LMN_OK)
        slot->users--;
    *reader_out = slot->reader;
    lmn__mutex_unlock(&set->mutex);
    return st;
}

void lmn__reader_set_put(struct lmn__reader_set *set, uint64_t index)
{
    lmn__mutex_lock(&set->mutex);
    set->locked.slot[index].users--;
    lmn__mutex_unlock(&set->mutex);
}
