/* SPDX-License-Identifier: Apache-2.0 */
#include "table/removal.h"

#include <string.h>

#include "base/error.h"
#include "base/math.h"
#include "os/thread.h"

/* Threads wait and do not compute, so there may be more of them than processors. */
enum { WAITING_MAX = 4096, THREADS_MAX = 16, THREAD_FILES_MIN = 16 };

/* What the threads of a run share. */
struct work {
    struct lmn__removal *removal;
    struct lmn__mutex mutex;
    struct {
        uint64_t next; /* file */
        enum lmn_status status;
        struct lmn_error error;
    } locked;
};

void lmn__removal_init(struct lmn__removal *removal, struct lmn_store *store, int64_t since_ns,
                       bool dry_run)
{
    *removal = (struct lmn__removal){ .store = store, .since_ns = since_ns, .dry_run = dry_run };
    lmn__arena_init(&removal->arena, store->env, 0);
}

void lmn__removal_deinit(struct lmn__removal *removal)
{
    lmn__arena_deinit(&removal->arena);
}

/* Forget what is waiting. */
static void clear(struct lmn__removal *removal)
{
    lmn__arena_deinit(&removal->arena);
    lmn__arena_init(&removal->arena, removal->store->env, 0);
    removal->file = NULL;
    removal->dir = NULL;
    removal->file_count = removal->dir_count = 0;
}

/* Make room for one more, and keep its name. */
static enum lmn_status prepare(struct lmn__removal *removal, const char *path,
                               const char **name_out, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (removal->file_count == WAITING_MAX || removal->dir_count == WAITING_MAX)
        st = lmn__removal_run(removal, err);
    if (st != LMN_OK)
        return st;
    if (removal->file == NULL)
        removal->file = lmn__arena_array(&removal->arena, WAITING_MAX, sizeof *removal->file);
    if (removal->dir == NULL)
        removal->dir = lmn__arena_array(&removal->arena, WAITING_MAX, sizeof *removal->dir);
    *name_out = lmn__arena_strndup(&removal->arena, path, strlen(path));
    if (removal->file == NULL || removal->dir == NULL || *name_out == NULL)
        return lmn__arena_fail(&removal->arena, "a list of files", err);
    return LMN_OK;
}

enum lmn_status lmn__removal_add(struct lmn__removal *removal, const char *path, bool certain,
                                 struct lmn_error *err)
{
    const char *name;
    enum lmn_status st = prepare(removal, path, &name, err);

    if (st == LMN_OK)
        removal->file[removal->file_count++] = (struct lmn__removal_file){ name, certain };
    return st;
}

enum lmn_status lmn__removal_add_dir(struct lmn__removal *removal, const char *path,
                                     struct lmn_error *err)
{
    const char *name;
    enum lmn_status st = prepare(removal, path, &name, err);

    if (st == LMN_OK)
        removal->dir[removal->dir_count++] = name;
    return st;
}

/* Take one file away; *removed_out says whether there was one that had to go. */
static enum lmn_status remove_file(const struct lmn__removal *removal,
                                   const struct lmn__removal_file *file, uint64_t *bytes_out,
                                   bool *removed_out, struct lmn_error *err)
{
    struct lmn_store *store = removal->store;
    struct lmn__store_stat stat;
    enum lmn_status st = store->ops->stat(store, file->path, &stat, err);

    *removed_out = false;
    if (st == LMN_OK && !file->certain && stat.modified_ns > removal->since_ns)
        return LMN_OK;
    if (st == LMN_OK && !removal->dry_run)
        st = store->ops->remove(store, file->path, err);
    if (st == LMN_E_NOT_FOUND) /* another was faster */
        return LMN_OK;
    *removed_out = st == LMN_OK;
    *bytes_out = stat.bytes;
    return st;
}

/* A lmn__thread_fn: one file after another. */
static void remove_files(void *context)
{
    struct work *work = context;
    struct lmn__removal *removal = work->removal;

    lmn__mutex_lock(&work->mutex);
    while (work->locked.status == LMN_OK && work->locked.next < removal->file_count) {
        const struct lmn__removal_file *file = &removal->file[work->locked.next++];
        struct lmn_error err;
        enum lmn_status st;
        uint64_t bytes = 0;
        bool removed;

        lmn__mutex_unlock(&work->mutex);
        st = remove_file(removal, file, &bytes, &removed, &err);
        lmn__mutex_lock(&work->mutex);
        removal->files += removed;
        removal->bytes += removed ? bytes : 0;
        if (st != LMN_OK && work->locked.status == LMN_OK) {
            work->locked.status = st;
            work->locked.error = err;
        }
    }
    lmn__mutex_unlock(&work->mutex);
}

enum lmn_status lmn__removal_run(struct lmn__removal *removal, struct lmn_error *err)
{
    struct lmn_store *store = removal->store;
    struct lmn__thread thread[THREADS_MAX];
    struct work work = { .removal = removal };
    uint64_t wanted = lmn__min_u64(removal->file_count / THREAD_FILES_MIN, THREADS_MAX),
             started = 0;
    enum lmn_status st = lmn__mutex_init(&work.mutex, err);

    if (st != LMN_OK)
        return st;
    /* This thread works, and others with it where they can be had. */
    while (started + 1 < wanted &&
           lmn__thread_start(store->env, remove_files, &work, &thread[started], NULL) == LMN_OK)
        started++;
    remove_files(&work);
    while (started != 0)
        lmn__thread_join(&thread[--started]);
    lmn__mutex_deinit(&work.mutex);
    st = work.locked.status;
    if (st != LMN_OK && err != NULL)
        *err = work.locked.error;
    for (uint64_t i = 0; st == LMN_OK && !removal->dry_run && i < removal->dir_count; i++)
        (void)store->ops->remove_dir(store, removal->dir[i], NULL); /* it may have others */
    clear(removal);
    return st;
}
