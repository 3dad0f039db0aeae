/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each operation asks the caller's function what shall happen, does as much of the inner
 * operation as the answer says, and reports LMN_E_IO for all but LMN__FAULT_NONE. An inner
 * operation that fails by itself keeps its own status.
 */
#include "store/fault.h"

#include <string.h>

struct fault_store {
    struct lmn_store base;
    struct lmn_store *inner; /* counted */
    lmn__fault_fn fault;
    void *context;
};

struct fault_file {
    struct lmn__store_file base;
    struct lmn__store_file *inner;
    char *path;
};

static enum lmn__fault_action ask(struct lmn_store *store, enum lmn__store_op op, const char *path)
{
    struct fault_store *self = (struct fault_store *)store;

    return self->fault(self->context, op, path);
}

static const struct lmn__store_ops *inner_ops(const struct lmn_store *store)
{
    return ((const struct fault_store *)store)->inner->ops;
}

/* The end of an operation whose own part ended with `st`. */
static enum lmn_status answer(enum lmn__fault_action action, enum lmn_status st, const char *verb,
                              const char *path, struct lmn_error *err)
{
    static const char *const how[] = { "", "was not done", "was torn", "was done, then reported" };

    if (st != LMN_OK || action == LMN__FAULT_NONE)
        return st;
    return lmn_fail(err, LMN_E_IO, "injected fault: %s of %s %s", verb, path, how[action]);
}

static void fault_close(struct lmn__store_file *base)
{
    struct fault_file *file = (struct fault_file *)base;

    if (file->inner != NULL)
        file->inner->store->ops->close(file->inner);
    lmn__free(base->store->env, file->path);
    lmn__store_file_free(base);
}

static enum lmn_status file_new(struct lmn_store *store, const char *path,
                                struct fault_file **file_out, struct lmn_error *err)
{
    struct lmn__store_file *base;
    struct fault_file *file;
    enum lmn_status st;

    *file_out = NULL;
    st = lmn__store_file_new(store, sizeof *file, &base, err);
    if (st != LMN_OK)
        return st;
    file = (struct fault_file *)base;
    file->path = lmn__strndup(store->env, path, strlen(path));
    if (file->path == NULL) {
        fault_close(base);
        return lmn__no_memory(err, "the name of a file", strlen(path) + 1);
    }
    *file_out = file;
    return LMN_OK;
}

static enum lmn_status open_or_create(struct lmn_store *store, const char *path,
                                      enum lmn__store_op op, struct lmn__store_file **file_out,
                                      struct lmn_error *err)
{
    struct lmn_store *inner = ((struct fault_store *)store)->inner;
    enum lmn__fault_action action;
    struct fault_file *file;
    enum lmn_status st;

    *file_out = NULL;
    st = file_new(store, path, &file, err);
    if (st != LMN_OK)
        return st;
    action = ask(store, op, path);
    if (action != LMN__FAULT_FAIL && op == LMN__OP_OPEN)
        st = inner->ops->open(inner, path, &file->inner, err);
    else if (action != LMN__FAULT_FAIL && op == LMN__OP_UPDATE)
        st = inner->ops->open_update(inner, path, &file->inner, err);
    else if (action != LMN__FAULT_FAIL)
        st = inner->ops->create(inner, path, &file->inner, err);
    st = answer(action, st, op == LMN__OP_CREATE ? "create" : "open", path, err);
    if (st != LMN_OK) {
        fault_close(&file->base);
        return st;
    }
    file->base.bytes = file->inner->bytes;
    *file_out = &file->base;
    return LMN_OK;
}

static enum lmn_status fault_open(struct lmn_store *store, const char *path,
                                  struct lmn__store_file **file_out, struct lmn_error *err)
{
    return open_or_create(store, path, LMN__OP_OPEN, file_out, err);
}

static enum lmn_status fault_create(struct lmn_store *store, const char *path,
                                    struct lmn__store_file **file_out, struct lmn_error *err)
{
    return open_or_create(store, path, LMN__OP_CREATE, file_out, err);
}

static enum lmn_status fault_open_update(struct lmn_store *store, const char *path,
                                         struct lmn__store_file **file_out, struct lmn_error *err)
{
    return open_or_create(store, path, LMN__OP_UPDATE, file_out, err);
}

static enum lmn_status fault_lock(struct lmn__store_file *base, struct lmn_error *err)
{
    struct fault_file *file = (struct fault_file *)base;
    enum lmn__fault_action action = ask(base->store, LMN__OP_LOCK, file->path);
    enum lmn_status st = LMN_OK;

    if (action != LMN__FAULT_FAIL)
        st = inner_ops(base->store)->lock(file->inner, err);
    return answer(action, st, "lock", file->path, err);
}

static enum lmn_status fault_read_at(struct lmn__store_file *base, uint64_t offset, void *data,
                                     size_t len, struct lmn_error *err)
{
    struct fault_file *file = (struct fault_file *)base;
    enum lmn__fault_action action = ask(base->store, LMN__OP_READ, file->path);
    enum lmn_status st = LMN_OK;

    if (action != LMN__FAULT_FAIL)
        st = inner_ops(base->store)->read_at(file->inner, offset, data, len, err);
    return answer(action, st, "read", file->path, err);
}

static enum lmn_status fault_write_at(struct lmn__store_file *base, uint64_t offset,
                                      const void *data, size_t len, struct lmn_error *err)
{
    struct fault_file *file = (struct fault_file *)base;
    enum lmn__fault_action action = ask(base->store, LMN__OP_WRITE, file->path);
    enum lmn_status st = LMN_OK;

    if (action == LMN__FAULT_TEAR)
        len /= 2;
    if (action != LMN__FAULT_FAIL)
        st = inner_ops(base->store)->write_at(file->inner, offset, data, len, err);
    return answer(action, st, "write", file->path, err);
}

static enum lmn_status fault_sync(struct lmn__store_file *base, struct lmn_error *err)
{
    struct fault_file *file = (struct fault_file *)base;
    enum lmn__fault_action action = ask(base->store, LMN__OP_SYNC, file->path);
    enum lmn_status st = LMN_OK;

    if (action != LMN__FAULT_FAIL)
        st = inner_ops(base->store)->sync(file->inner, err);
    return answer(action, st, "sync", file->path, err);
}

static enum lmn_status fault_rename(struct lmn_store *store, const char *from, const char *to,
                                    struct lmn_error *err)
{
    struct lmn_store *inner = ((struct fault_store *)store)->inner;
    enum lmn__fault_action action = ask(store, LMN__OP_RENAME, to);
    enum lmn_status st = LMN_OK;

    if (action != LMN__FAULT_FAIL)
        st = inner->ops->rename(inner, from, to, err);
    return answer(action, st, "rename", to, err);
}

static enum lmn_status fault_link(struct lmn_store *store, const char *from, const char *to,
                                  struct lmn_error *err)
{
    struct lmn_store *inner = ((struct fault_store *)store)->inner;
    enum lmn__fault_action action = ask(store, LMN__OP_LINK, to);
    enum lmn_status st = LMN_OK;

    if (action != LMN__FAULT_FAIL)
        st = inner->ops->link(inner, from, to, err);
    return answer(action, st, "link", to, err);
}

static enum lmn_status fault_remove(struct lmn_store *store, const char *path,
                                    struct lmn_error *err)
{
    struct lmn_store *inner = ((struct fault_store *)store)->inner;
    enum lmn__fault_action action = ask(store, LMN__OP_REMOVE, path);
    enum lmn_status st = LMN_OK;

    if (action != LMN__FAULT_FAIL)
        st = inner->ops->remove(inner, path, err);
    return answer(action, st, "removal", path, err);
}

static enum lmn_status fault_remove_dir(struct lmn_store *store, const char *path,
                                        struct lmn_error *err)
{
    struct lmn_store *inner = ((struct fault_store *)store)->inner;
    enum lmn__fault_action action = ask(store, LMN__OP_REMOVE, path);
    enum lmn_status st = LMN_OK;

    if (action != LMN__FAULT_FAIL)
        st = inner->ops->remove_dir(inner, path, err);
    return answer(action, st, "removal of directory", path, err);
}

static enum lmn_status fault_sync_dir(struct lmn_store *store, const char *path,
                                      struct lmn_error *err)
{
    struct lmn_store *inner = ((struct fault_store *)store)->inner;
    enum lmn__fault_action action = ask(store, LMN__OP_SYNC_DIR, path);
    enum lmn_status st = LMN_OK;

    if (action != LMN__FAULT_FAIL)
        st = inner->ops->sync_dir(inner, path, err);
    return answer(action, st, "sync of directory", path, err);
}

static enum lmn_status fault_list(struct lmn_store *store, const char *path,
                                  lmn__store_entry_fn entry, void *context, struct lmn_error *err)
{
    struct lmn_store *inner = ((struct fault_store *)store)->inner;
    enum lmn__fault_action action = ask(store, LMN__OP_LIST, path);
    enum lmn_status st = LMN_OK;

    if (action != LMN__FAULT_FAIL)
        st = inner->ops->list(inner, path, entry, context, err);
    return answer(action, st, "listing", path, err);
}

static enum lmn_status fault_stat(struct lmn_store *store, const char *path,
                                  struct lmn__store_stat *stat_out, struct lmn_error *err)
{
    struct lmn_store *inner = ((struct fault_store *)store)->inner;
    enum lmn__fault_action action = ask(store, LMN__OP_STAT, path);
    enum lmn_status st = LMN_OK;

    *stat_out = (struct lmn__store_stat){ 0 };
    if (action != LMN__FAULT_FAIL)
        st = inner->ops->stat(inner, path, stat_out, err);
    return answer(action, st, "look", path, err);
}

/* It answers nothing that could be lost. */
static int64_t fault_dir_stamp(struct lmn_store *store, const char *path)
{
    struct lmn_store *inner = ((struct fault_store *)store)->inner;

    return inner->ops->dir_stamp != NULL ? inner->ops->dir_stamp(inner, path) : 0;
}

static void fault_destroy(struct lmn_store *store)
{
    lmn_store_release(((struct fault_store *)store)->inner);
}

static const struct lmn__store_ops fault_ops = {
    .kind = "fault",
    .open = fault_open,
    .create = fault_create,
    .open_update = fault_open_update,
    .lock = fault_lock,
    .read_at = fault_read_at,
    .write_at = fault_write_at,
    .sync = fault_sync,
    .close = fault_close,
    .rename = fault_rename,
    .link = fault_link,
    .remove = fault_remove,
    .remove_dir = fault_remove_dir,
    .sync_dir = fault_sync_dir,
    .list = fault_list,
    .stat = fault_stat,
    .dir_stamp = fault_dir_stamp,
    .destroy = fault_destroy,
};

enum lmn_status lmn__store_open_fault(struct lmn_store *inner, lmn__fault_fn fault, void *context,
                                      struct lmn_store **store_out, struct lmn_error *err)
{
    struct fault_store *self;
    enum lmn_status st;

    st = lmn__store_new(inner->env, &fault_ops, inner->name, sizeof *self, store_out, err);
    if (st != LMN_OK)
        return st;
    self = (struct fault_store *)*store_out;
    self->inner = lmn_store_acquire(inner);
    self->fault = fault;
    self->context = context;
    return LMN_OK;
}
