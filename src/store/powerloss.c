/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each operation is done by the inner store and recorded in a history (history.h). A name is made
 * known to the history, with the content it has in the inner store, before the first operation
 * that changes it, so a crash can put back what a removal or a rename took away.
 *
 * Reading and listing pass through. The mutex is held from the inner operation to its record, so
 * that the history has the order in which things happened.
 */
#include "store/powerloss.h"

#include <string.h>

#include "os/thread.h"
#include "store/history.h"

struct powerloss_store {
    struct lmn_store base;
    struct lmn_store *inner; /* counted */
    bool ready;              /* mutex and history are there */
    struct lmn__mutex mutex;
    struct {
        struct lmn__history history;
        uint64_t open_count;
    } locked;
};

struct powerloss_file {
    struct lmn__store_file base;
    struct lmn__store_file *inner;
    struct lmn__history_file *history; /* NULL: open for reading */
};

/* Bring a file of the inner store into the history. */
static enum lmn_status load_locked(struct powerloss_store *self, struct lmn__store_file *inner,
                                   struct lmn__history_file **file_out, struct lmn_error *err)
{
    struct lmn_env *env = self->base.env;
    void *data = lmn__alloc(env, inner->bytes);
    enum lmn_status st;

    *file_out = NULL;
    if (data == NULL)
        return lmn__no_memory(err, "the content of a file", inner->bytes);
    st = self->inner->ops->read_at(inner, 0, data, inner->bytes, err);
    if (st == LMN_OK)
        st = lmn__history_file_new(&self->locked.history, file_out, err);
    if (st == LMN_OK)
        st = lmn__history_write(*file_out, 0, data, inner->bytes, err);
    if (st == LMN_OK)
        st = lmn__history_sync(*file_out, err);
    lmn__free(env, data);
    return st;
}

/* Make `path` known; *file_out is the file it stands for, or NULL. */
static enum lmn_status know_locked(struct powerloss_store *self, const char *path,
                                   struct lmn__history_file **file_out, struct lmn_error *err)
{
    struct lmn__history *history = &self->locked.history;
    struct lmn__store_file *inner;
    enum lmn_status st;

    if (lmn__history_find(history, path, file_out))
        return LMN_OK;
    st = self->inner->ops->open(self->inner, path, &inner, err);
    if (st == LMN_E_NOT_FOUND || st == LMN_E_INVALID) /* a directory: the operation fails */
        return lmn__history_adopt(history, path, NULL, err);
    if (st != LMN_OK)
        return st;
    st = load_locked(self, inner, file_out, err);
    if (st == LMN_OK)
        st = lmn__history_adopt(history, path, *file_out, err);
    self->inner->ops->close(inner);
    return st;
}

static void powerloss_close(struct lmn__store_file *base)
{
    struct powerloss_store *self = (struct powerloss_store *)base->store;
    struct powerloss_file *file = (struct powerloss_file *)base;

    self->inner->ops->close(file->inner);
    lmn__mutex_lock(&self->mutex);
    self->locked.open_count--;
    lmn__mutex_unlock(&self->mutex);
    lmn__store_file_free(base);
}

static enum lmn_status powerloss_open(struct lmn_store *store, const char *path,
                                      struct lmn__store_file **file_out, struct lmn_error *err)
{
    struct powerloss_store *self = (struct powerloss_store *)store;
    struct lmn__store_file *inner;
    enum lmn_status st;

    *file_out = NULL;
    st = self->inner->ops->open(self->inner, path, &inner, err);
    if (st != LMN_OK)
        return st;
    st = lmn__store_file_new(store, sizeof(struct powerloss_file), file_out, err);
    if (st != LMN_OK) {
        self->inner->ops->close(inner);
        return st;
    }
    (*file_out)->bytes = inner->bytes;
    ((struct powerloss_file *)*file_out)->inner = inner;
    lmn__mutex_lock(&self->mutex);
    self->locked.open_count++;
    lmn__mutex_unlock(&self->mutex);
    return LMN_OK;
}

static enum lmn_status create_locked(struct powerloss_store *self, const char *path,
                                     struct powerloss_file *file, struct lmn_error *err)
{
    struct lmn__history *history = &self->locked.history;
    struct lmn__history_file *before;
    enum lmn_status st = know_locked(self, path, &before, err);

    if (st == LMN_OK)
        st = lmn__history_file_new(history, &file->history, err);
    if (st == LMN_OK)
        st = lmn__history_change(history, NULL, path, file->history, err);
    if (st != LMN_OK)
        return st;
    st = self->inner->ops->create(self->inner, path, &file->inner, err);
    if (st != LMN_OK)
        lmn__history_undo(history);
    else
        self->locked.open_count++;
    return st;
}

static enum lmn_status powerloss_create(struct lmn_store *store, const char *path,
                                        struct lmn__store_file **file_out, struct lmn_error *err)
{
    struct powerloss_store *self = (struct powerloss_store *)store;
    struct lmn__store_file *file;
    enum lmn_status st;

    *file_out = NULL;
    st = lmn__store_file_new(store, sizeof(struct powerloss_file), &file, err);
    if (st != LMN_OK)
        return st;
    lmn__mutex_lock(&self->mutex);
    st = create_locked(self, path, (struct powerloss_file *)file, err);
    lmn__mutex_unlock(&self->mutex);
    if (st == LMN_OK)
        *file_out = file;
    else
        lmn__store_file_free(file);
    return st;
}

/* Open what is there; its content becomes known, and is durable unless it was written here. */
static enum lmn_status update_locked(struct powerloss_store *self, const char *path,
                                     struct powerloss_file *file, struct lmn_error *err)
{
    enum lmn_status st = know_locked(self, path, &file->history, err);

    if (st != LMN_OK)
        return st;
    st = self->inner->ops->open_update(self->inner, path, &file->inner, err);
    if (st == LMN_OK) {
        file->base.bytes = file->inner->bytes;
        self->locked.open_count++;
    }
    return st;
}

static enum lmn_status powerloss_open_update(struct lmn_store *store, const char *path,
                                             struct lmn__store_file **file_out,
                                             struct lmn_error *err)
{
    struct powerloss_store *self = (struct powerloss_store *)store;
    struct lmn__store_file *file;
    enum lmn_status st;

    *file_out = NULL;
    st = lmn__store_file_new(store, sizeof(struct powerloss_file), &file, err);
    if (st != LMN_OK)
        return st;
    lmn__mutex_lock(&self->mutex);
    st = update_locked(self, path, (struct powerloss_file *)file, err);
    lmn__mutex_unlock(&self->mutex);
    if (st == LMN_OK)
        *file_out = file;
    else
        lmn__store_file_free(file);
    return st;
}

static enum lmn_status powerloss_lock(struct lmn__store_file *base, struct lmn_error *err)
{
    struct powerloss_file *file = (struct powerloss_file *)base;

    return file->inner->store->ops->lock(file->inner, err);
}

static enum lmn_status powerloss_read_at(struct lmn__store_file *base, uint64_t offset, void *data,
                                         size_t len, struct lmn_error *err)
{
    struct powerloss_file *file = (struct powerloss_file *)base;

    return file->inner->store->ops->read_at(file->inner, offset, data, len, err);
}

/* A write that fails may have been done in part: it stays on record, for the coins to decide. */
static enum lmn_status powerloss_write_at(struct lmn__store_file *base, uint64_t offset,
                                          const void *data, size_t len, struct lmn_error *err)
{
    struct powerloss_store *self = (struct powerloss_store *)base->store;
    struct powerloss_file *file = (struct powerloss_file *)base;
    enum lmn_status st = LMN_OK;

    lmn__mutex_lock(&self->mutex);
    if (file->history != NULL)
        st = lmn__history_write(file->history, offset, data, len, err);
    if (st == LMN_OK)
        st = self->inner->ops->write_at(file->inner, offset, data, len, err);
    lmn__mutex_unlock(&self->mutex);
    return st;
}

static enum lmn_status powerloss_sync(struct lmn__store_file *base, struct lmn_error *err)
{
    struct powerloss_store *self = (struct powerloss_store *)base->store;
    struct powerloss_file *file = (struct powerloss_file *)base;
    enum lmn_status st;

    lmn__mutex_lock(&self->mutex);
    st = self->inner->ops->sync(file->inner, err);
    if (st == LMN_OK && file->history != NULL)
        st = lmn__history_sync(file->history, err);
    lmn__mutex_unlock(&self->mutex);
    return st;
}

/* Two names of one file: a rename does nothing, and changes no name. */
static enum lmn_status rename_locked(struct powerloss_store *self, const char *from, const char *to,
                                     struct lmn_error *err)
{
    struct lmn__history_file *file, *before;
    enum lmn_status st = know_locked(self, from, &file, err);

    if (st == LMN_OK)
        st = know_locked(self, to, &before, err);
    if (st != LMN_OK)
        return st;
    if (file == NULL || file == before)
        return self->inner->ops->rename(self->inner, from, to, err);
    st = lmn__history_change(&self->locked.history, from, to, file, err);
    if (st != LMN_OK)
        return st;
    st = self->inner->ops->rename(self->inner, from, to, err);
    if (st != LMN_OK)
        lmn__history_undo(&self->locked.history);
    return st;
}

static enum lmn_status powerloss_rename(struct lmn_store *store, const char *from, const char *to,
                                        struct lmn_error *err)
{
    struct powerloss_store *self = (struct powerloss_store *)store;
    enum lmn_status st;

    lmn__mutex_lock(&self->mutex);
    st = rename_locked(self, from, to, err);
    lmn__mutex_unlock(&self->mutex);
    return st;
}

static enum lmn_status link_locked(struct powerloss_store *self, const char *from, const char *to,
                                   struct lmn_error *err)
{
    struct lmn__history_file *file, *before;
    enum lmn_status st = know_locked(self, from, &file, err);

    if (st == LMN_OK)
        st = know_locked(self, to, &before, err);
    if (st == LMN_OK)
        st = lmn__history_change(&self->locked.history, NULL, to, file, err);
    if (st != LMN_OK)
        return st;
    st = self->inner->ops->link(self->inner, from, to, err);
    if (st != LMN_OK)
        lmn__history_undo(&self->locked.history);
    return st;
}

static enum lmn_status powerloss_link(struct lmn_store *store, const char *from, const char *to,
                                      struct lmn_error *err)
{
    struct powerloss_store *self = (struct powerloss_store *)store;
    enum lmn_status st;

    lmn__mutex_lock(&self->mutex);
    st = link_locked(self, from, to, err);
    lmn__mutex_unlock(&self->mutex);
    return st;
}

static enum lmn_status remove_locked(struct powerloss_store *self, const char *path,
                                     struct lmn_error *err)
{
    struct lmn__history_file *file;
    enum lmn_status st = know_locked(self, path, &file, err);

    if (st == LMN_OK)
        st = lmn__history_change(&self->locked.history, path, NULL, NULL, err);
    if (st != LMN_OK)
        return st;
    st = self->inner->ops->remove(self->inner, path, err);
    if (st != LMN_OK)
        lmn__history_undo(&self->locked.history);
    return st;
}

static enum lmn_status powerloss_remove(struct lmn_store *store, const char *path,
                                        struct lmn_error *err)
{
    struct powerloss_store *self = (struct powerloss_store *)store;
    enum lmn_status st;

    lmn__mutex_lock(&self->mutex);
    st = remove_locked(self, path, err);
    lmn__mutex_unlock(&self->mutex);
    return st;
}

/* Directories have no history of their own: power loss brings them back with their files. */
static enum lmn_status powerloss_remove_dir(struct lmn_store *store, const char *path,
                                            struct lmn_error *err)
{
    struct powerloss_store *self = (struct powerloss_store *)store;
    enum lmn_status st;

    lmn__mutex_lock(&self->mutex);
    st = self->inner->ops->remove_dir(self->inner, path, err);
    lmn__mutex_unlock(&self->mutex);
    return st;
}

static enum lmn_status powerloss_sync_dir(struct lmn_store *store, const char *path,
                                          struct lmn_error *err)
{
    struct powerloss_store *self = (struct powerloss_store *)store;
    enum lmn_status st;

    lmn__mutex_lock(&self->mutex);
    st = self->inner->ops->sync_dir(self->inner, path, err);
    if (st == LMN_OK)
        lmn__history_sync_dir(&self->locked.history, path);
    lmn__mutex_unlock(&self->mutex);
    return st;
}

static enum lmn_status powerloss_list(struct lmn_store *store, const char *path,
                                      lmn__store_entry_fn entry, void *context,
                                      struct lmn_error *err)
{
    struct lmn_store *inner = ((struct powerloss_store *)store)->inner;

    return inner->ops->list(inner, path, entry, context, err);
}

static enum lmn_status powerloss_stat(struct lmn_store *store, const char *path,
                                      struct lmn__store_stat *stat_out, struct lmn_error *err)
{
    struct lmn_store *inner = ((struct powerloss_store *)store)->inner;

    return inner->ops->stat(inner, path, stat_out, err);
}

static void powerloss_destroy(struct lmn_store *store)
{
    struct powerloss_store *self = (struct powerloss_store *)store;

    if (self->ready) {
        lmn__history_deinit(&self->locked.history);
        lmn__mutex_deinit(&self->mutex);
    }
    lmn_store_release(self->inner);
}

static const struct lmn__store_ops powerloss_ops = {
    .kind = "powerloss",
    .open = powerloss_open,
    .create = powerloss_create,
    .open_update = powerloss_open_update,
    .lock = powerloss_lock,
    .read_at = powerloss_read_at,
    .write_at = powerloss_write_at,
    .sync = powerloss_sync,
    .close = powerloss_close,
    .rename = powerloss_rename,
    .link = powerloss_link,
    .remove = powerloss_remove,
    .remove_dir = powerloss_remove_dir,
    .sync_dir = powerloss_sync_dir,
    .list = powerloss_list,
    .stat = powerloss_stat,
    .destroy = powerloss_destroy,
};

enum lmn_status lmn__store_open_powerloss(struct lmn_store *inner, struct lmn_store **store_out,
                                          struct lmn_error *err)
{
    struct powerloss_store *self;
    enum lmn_status st;

    st = lmn__store_new(inner->env, &powerloss_ops, inner->name, sizeof *self, store_out, err);
    if (st != LMN_OK)
        return st;
    self = (struct powerloss_store *)*store_out;
    self->inner = lmn_store_acquire(inner);
    st = lmn__mutex_init(&self->mutex, err);
    self->ready = st == LMN_OK;
    if (st != LMN_OK) {
        lmn_store_release(*store_out);
        *store_out = NULL;
        return st;
    }
    lmn__history_init(&self->locked.history, inner->env);
    return LMN_OK;
}

/* Make one path of the inner store what the power loss left of it. */
static enum lmn_status put_back(void *context, const char *path, const struct lmn__buf *content,
                                const char *same, struct lmn_error *err)
{
    struct lmn_store *inner = context;
    struct lmn__store_file *file;
    enum lmn_status st = inner->ops->remove(inner, path, err);

    if (st != LMN_OK && st != LMN_E_NOT_FOUND)
        return st;
    if (content == NULL)
        return LMN_OK;
    if (same != NULL)
        return inner->ops->link(inner, same, path, err);
    st = inner->ops->create(inner, path, &file, err);
    if (st != LMN_OK)
        return st;
    st = inner->ops->write_at(file, 0, content->data, content->len, err);
    inner->ops->close(file);
    return st;
}

enum lmn_status lmn__powerloss_crash(struct lmn_store *store, uint64_t seed, struct lmn_error *err)
{
    struct powerloss_store *self = (struct powerloss_store *)store;
    enum lmn_status st;

    lmn__mutex_lock(&self->mutex);
    if (self->locked.open_count != 0)
        st = lmn_fail(err, LMN_E_INVALID, "%s: %llu files are still open", store->name,
                      (unsigned long long)self->locked.open_count);
    else
        st = lmn__history_crash(&self->locked.history, seed, put_back, self->inner, err);
    if (st == LMN_OK)
        lmn__history_deinit(&self->locked.history);
    lmn__mutex_unlock(&self->mutex);
    return st;
}
