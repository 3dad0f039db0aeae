/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store in memory: a sorted array of names, each of a counted inode (or of none: a directory).
 *
 *   "data"          -> directory
 *   "data/1.lance"  -> inode   <- open files count it too
 *
 * An inode lives while a name or an open file refers to it, so a removed file stays readable.
 * The mutex guards the names.
 */
#include <string.h>

#include "base/buf.h"
#include "os/thread.h"
#include "store/inode.h"
#include "store/store.h"

struct name {
    char *path;
    struct lmn__inode *inode; /* counted; NULL: a directory */
};

struct memory_store {
    struct lmn_store base;
    bool ready; /* the mutex is there */
    struct lmn__mutex mutex;
    struct {
        struct name *name; /* by ascending path */
        size_t name_count;
        size_t name_cap;
    } locked;
};

struct memory_file {
    struct lmn__store_file base;
    struct lmn__inode *inode; /* counted */
    char *path;               /* for messages */
    bool writable;
};

/* Is the path there? *index_out is its place, or the place where it belongs. */
static bool find_locked(const struct memory_store *memory, const char *path, size_t len,
                        size_t *index_out)
{
    size_t low = 0, high = memory->locked.name_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const char *other = memory->locked.name[middle].path;
        int order = strncmp(other, path, len);

        if (order == 0 && other[len] == '\0') {
            *index_out = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *index_out = low;
    return false;
}

static struct name *find_name_locked(const struct memory_store *memory, const char *path)
{
    size_t i;

    return find_locked(memory, path, strlen(path), &i) ? &memory->locked.name[i] : NULL;
}

/* Insert a name that is not there; `inode` is counted once more. */
static enum lmn_status insert_locked(struct memory_store *memory, size_t index, const char *path,
                                     size_t len, struct lmn__inode *inode, struct lmn_error *err)
{
    struct lmn_env *env = memory->base.env;
    struct name *name = memory->locked.name;
    char *copy;

    if (memory->locked.name_count == memory->locked.name_cap) {
        size_t cap = memory->locked.name_cap * 2 + 16;

        name = lmn__realloc(env, name, cap * sizeof *name);
        if (name == NULL)
            return lmn__no_memory(err, "the names of a store", cap * sizeof *name);
        memory->locked.name = name;
        memory->locked.name_cap = cap;
    }
    copy = lmn__strndup(env, path, len);
    if (copy == NULL)
        return lmn__no_memory(err, "the name of a file", len + 1);
    memmove(name + index + 1, name + index, (memory->locked.name_count - index) * sizeof *name);
    name[index] = (struct name){ copy, inode != NULL ? lmn__inode_acquire(inode) : NULL };
    memory->locked.name_count++;
    return LMN_OK;
}

static void erase_locked(struct memory_store *memory, const char *path)
{
    struct name *name = memory->locked.name;
    size_t index;

    if (!find_locked(memory, path, strlen(path), &index))
        return;
    lmn__inode_release(name[index].inode);
    lmn__free(memory->base.env, name[index].path);
    memory->locked.name_count--;
    memmove(name + index, name + index + 1, (memory->locked.name_count - index) * sizeof *name);
}

/* Give `inode` the name `path`, which is not there, and make the directories above it. */
static enum lmn_status put_name_locked(struct memory_store *memory, const char *path,
                                       struct lmn__inode *inode, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;
    size_t index;

    for (const char *slash = strchr(path, '/'); slash != NULL && st == LMN_OK;
         slash = strchr(slash + 1, '/')) {
        size_t len = (size_t)(slash - path);

        if (!find_locked(memory, path, len, &index))
            st = insert_locked(memory, index, path, len, NULL, err);
        else if (memory->locked.name[index].inode != NULL)
            return lmn_fail(err, LMN_E_IO, "%s/%.*s is not a directory", memory->base.name,
                            (int)len, path);
    }
    if (st != LMN_OK)
        return st;
    (void)find_locked(memory, path, strlen(path), &index);
    return insert_locked(memory, index, path, strlen(path), inode, err);
}

/* The file `path`, for `verb`ing it. */
static enum lmn_status file_locked(const struct memory_store *memory, const char *path,
                                   const char *verb, enum lmn_status directory_status,
                                   struct name **name_out, struct lmn_error *err)
{
    const char *store = memory->base.name;

    *name_out = find_name_locked(memory, path);
    if (*name_out == NULL)
        return lmn_fail(err, LMN_E_NOT_FOUND, "cannot %s %s/%s: there is no such file", verb, store,
                        path);
    if ((*name_out)->inode == NULL)
        return lmn_fail(err, directory_status, "cannot %s %s/%s: it is a directory", verb, store,
                        path);
    return LMN_OK;
}

static void memory_close(struct lmn__store_file *base)
{
    struct memory_file *file = (struct memory_file *)base;

    if (file->inode != NULL)
        lmn__inode_unlock(file->inode, file);
    lmn__inode_release(file->inode);
    lmn__free(base->store->env, file->path);
    lmn__store_file_free(base);
}

/* A file without an inode. */
static enum lmn_status file_new(struct lmn_store *store, const char *path,
                                struct memory_file **file_out, struct lmn_error *err)
{
    struct lmn__store_file *base;
    enum lmn_status st = lmn__store_check_path(store, path, err);

    *file_out = NULL;
    if (st != LMN_OK)
        return st;
    st = lmn__store_file_new(store, sizeof **file_out, &base, err);
    if (st != LMN_OK)
        return st;
    *file_out = (struct memory_file *)base;
    (*file_out)->path = lmn__strndup(store->env, path, strlen(path));
    if ((*file_out)->path == NULL) {
        memory_close(base);
        *file_out = NULL;
        return lmn__no_memory(err, "the name of a file", strlen(path) + 1);
    }
    return LMN_OK;
}

static enum lmn_status open_there(struct lmn_store *store, const char *path, bool writable,
                                  struct lmn__store_file **file_out, struct lmn_error *err)
{
    struct memory_store *memory = (struct memory_store *)store;
    struct memory_file *file;
    struct name *name;
    enum lmn_status st;

    *file_out = NULL;
    st = file_new(store, path, &file, err);
    if (st != LMN_OK)
        return st;
    file->writable = writable;
    lmn__mutex_lock(&memory->mutex);
    st = file_locked(memory, path, "open", LMN_E_INVALID, &name, err);
    if (st == LMN_OK) {
        file->inode = lmn__inode_acquire(name->inode);
        file->base.bytes = lmn__inode_bytes(file->inode);
    }
    lmn__mutex_unlock(&memory->mutex);
    if (st == LMN_OK)
        *file_out = &file->base;
    else
        memory_close(&file->base);
    return st;
}

static enum lmn_status memory_open(struct lmn_store *store, const char *path,
                                   struct lmn__store_file **file_out, struct lmn_error *err)
{
    return open_there(store, path, false, file_out, err);
}

static enum lmn_status memory_open_update(struct lmn_store *store, const char *path,
                                          struct lmn__store_file **file_out, struct lmn_error *err)
{
    return open_there(store, path, true, file_out, err);
}

static enum lmn_status memory_lock(struct lmn__store_file *base, struct lmn_error *err)
{
    struct memory_file *file = (struct memory_file *)base;

    if (lmn__inode_lock(file->inode, file))
        return LMN_OK;
    return lmn_fail(err, LMN_E_UNAVAILABLE, "%s/%s is locked by another", base->store->name,
                    file->path);
}

static enum lmn_status memory_create(struct lmn_store *store, const char *path,
                                     struct lmn__store_file **file_out, struct lmn_error *err)
{
    struct memory_store *memory = (struct memory_store *)store;
    struct memory_file *file;
    enum lmn_status st;

    *file_out = NULL;
    st = file_new(store, path, &file, err);
    if (st != LMN_OK)
        return st;
    file->writable = true;
    st = lmn__inode_new(store->env, &file->inode, err);
    if (st != LMN_OK) {
        memory_close(&file->base);
        return st;
    }
    lmn__mutex_lock(&memory->mutex);
    if (find_name_locked(memory, path) != NULL)
        st = lmn_fail(err, LMN_E_EXISTS, "cannot create %s/%s: it is there already", store->name,
                      path);
    else
        st = put_name_locked(memory, path, file->inode, err);
    lmn__mutex_unlock(&memory->mutex);
    if (st == LMN_OK)
        *file_out = &file->base;
    else
        memory_close(&file->base);
    return st;
}

static enum lmn_status memory_read_at(struct lmn__store_file *base, uint64_t offset, void *data,
                                      size_t len, struct lmn_error *err)
{
    struct memory_file *file = (struct memory_file *)base;

    return lmn__inode_read(file->inode, file->path, offset, data, len, err);
}

static enum lmn_status memory_write_at(struct lmn__store_file *base, uint64_t offset,
                                       const void *data, size_t len, struct lmn_error *err)
{
    struct memory_file *file = (struct memory_file *)base;

    if (!file->writable)
        return lmn_fail(err, LMN_E_IO, "cannot write %s/%s: it is open for reading",
                        base->store->name, file->path);
    return lmn__inode_write(file->inode, offset, data, len, err);
}

static enum lmn_status memory_sync(struct lmn__store_file *file, struct lmn_error *err)
{
    (void)file;
    (void)err;
    return LMN_OK;
}

static enum lmn_status rename_locked(struct memory_store *memory, const char *from, const char *to,
                                     struct lmn_error *err)
{
    struct name *name, *other;
    enum lmn_status st = file_locked(memory, from, "rename", LMN_E_IO, &name, err);

    if (st != LMN_OK)
        return st;
    other = find_name_locked(memory, to);
    if (other == NULL) {
        st = put_name_locked(memory, to, name->inode, err);
    } else if (other->inode == NULL) {
        return lmn_fail(err, LMN_E_IO, "cannot rename %s/%s to %s: that is a directory",
                        memory->base.name, from, to);
    } else if (other->inode == name->inode) {
        return LMN_OK;
    } else {
        lmn__inode_release(other->inode);
        other->inode = lmn__inode_acquire(name->inode);
    }
    if (st == LMN_OK)
        erase_locked(memory, from);
    return st;
}

static enum lmn_status link_locked(struct memory_store *memory, const char *from, const char *to,
                                   struct lmn_error *err)
{
    struct name *name;
    enum lmn_status st = file_locked(memory, from, "link", LMN_E_IO, &name, err);

    if (st != LMN_OK)
        return st;
    if (find_name_locked(memory, to) != NULL)
        return lmn_fail(err, LMN_E_EXISTS, "cannot link %s/%s to %s: that is there already",
                        memory->base.name, from, to);
    return put_name_locked(memory, to, name->inode, err);
}

static enum lmn_status name_again(struct lmn_store *store, const char *from, const char *to,
                                  enum lmn_status (*step)(struct memory_store *memory,
                                                          const char *from, const char *to,
                                                          struct lmn_error *err),
                                  struct lmn_error *err)
{
    struct memory_store *memory = (struct memory_store *)store;
    enum lmn_status st = lmn__store_check_path(store, from, err);

    if (st == LMN_OK)
        st = lmn__store_check_path(store, to, err);
    if (st != LMN_OK)
        return st;
    lmn__mutex_lock(&memory->mutex);
    st = step(memory, from, to, err);
    lmn__mutex_unlock(&memory->mutex);
    return st;
}

static enum lmn_status memory_rename(struct lmn_store *store, const char *from, const char *to,
                                     struct lmn_error *err)
{
    return name_again(store, from, to, rename_locked, err);
}

static enum lmn_status memory_link(struct lmn_store *store, const char *from, const char *to,
                                   struct lmn_error *err)
{
    return name_again(store, from, to, link_locked, err);
}

static enum lmn_status memory_remove(struct lmn_store *store, const char *path,
                                     struct lmn_error *err)
{
    struct memory_store *memory = (struct memory_store *)store;
    struct name *name;
    enum lmn_status st = lmn__store_check_path(store, path, err);

    if (st != LMN_OK)
        return st;
    lmn__mutex_lock(&memory->mutex);
    st = file_locked(memory, path, "remove", LMN_E_IO, &name, err);
    if (st == LMN_OK)
        erase_locked(memory, path);
    lmn__mutex_unlock(&memory->mutex);
    return st;
}

static bool is_empty_locked(const struct memory_store *memory, const char *path)
{
    size_t len = strlen(path), i;

    (void)find_locked(memory, path, len, &i);
    for (i++; i < memory->locked.name_count; i++) {
        const char *other = memory->locked.name[i].path;

        if (strncmp(other, path, len) != 0)
            return true;
        if (other[len] == '/')
            return false;
    }
    return true;
}

static enum lmn_status memory_remove_dir(struct lmn_store *store, const char *path,
                                         struct lmn_error *err)
{
    struct memory_store *memory = (struct memory_store *)store;
    bool is_root = path[0] == '\0'; /* it has no name, and stays */
    const struct name *name;
    enum lmn_status st = is_root ? LMN_OK : lmn__store_check_path(store, path, err);

    if (st != LMN_OK)
        return st;
    lmn__mutex_lock(&memory->mutex);
    name = find_name_locked(memory, path);
    if (!is_root && (name == NULL || name->inode != NULL))
        st = lmn_fail(err, LMN_E_NOT_FOUND, "cannot remove %s/%s: there is no such directory",
                      store->name, path);
    else if (is_root ? memory->locked.name_count != 0 : !is_empty_locked(memory, path))
        st = lmn_fail(err, LMN_E_IO, "cannot remove %s/%s: it is not empty", store->name, path);
    else if (!is_root)
        erase_locked(memory, path);
    lmn__mutex_unlock(&memory->mutex);
    return st;
}

static enum lmn_status memory_sync_dir(struct lmn_store *store, const char *path,
                                       struct lmn_error *err)
{
    struct memory_store *memory = (struct memory_store *)store;
    struct name *name;
    bool there;
    enum lmn_status st;

    if (path[0] == '\0')
        return LMN_OK;
    st = lmn__store_check_path(store, path, err);
    if (st != LMN_OK)
        return st;
    lmn__mutex_lock(&memory->mutex);
    name = find_name_locked(memory, path);
    there = name != NULL && name->inode == NULL;
    lmn__mutex_unlock(&memory->mutex);
    if (!there)
        return lmn_fail(err, LMN_E_NOT_FOUND, "cannot sync %s/%s: there is no such directory",
                        store->name, path);
    return LMN_OK;
}

/* Append each entry of a directory to `names`: 'd' or 'f', the name, a NUL. */
static void list_locked(const struct memory_store *memory, const char *path, struct lmn__buf *names)
{
    size_t len = strlen(path), i;

    (void)find_locked(memory, path, len, &i);
    for (; i < memory->locked.name_count; i++) {
        const struct name *name = &memory->locked.name[i];
        const char *rest = name->path + len;

        if (strncmp(name->path, path, len) != 0)
            break;
        if (len != 0 && *rest++ != '/')
            continue;
        if (strchr(rest, '/') != NULL)
            continue;
        lmn__buf_put_u8(names, name->inode == NULL ? 'd' : 'f');
        lmn__buf_put(names, rest, strlen(rest) + 1);
    }
}

/* The entries are copied first, so that `entry` may use the store. */
static enum lmn_status memory_list(struct lmn_store *store, const char *path,
                                   lmn__store_entry_fn entry, void *context, struct lmn_error *err)
{
    struct memory_store *memory = (struct memory_store *)store;
    struct lmn__buf names;
    enum lmn_status st = path[0] != '\0' ? lmn__store_check_path(store, path, err) : LMN_OK;

    if (st != LMN_OK)
        return st;
    lmn__buf_init(&names, store->env, 0);
    lmn__mutex_lock(&memory->mutex);
    list_locked(memory, path, &names);
    lmn__mutex_unlock(&memory->mutex);
    st = lmn__buf_status(&names, "a directory listing", err);
    for (size_t at = 0; st == LMN_OK && at < names.len;) {
        const char *name = (const char *)names.data + at + 1;

        st = entry(context, name, names.data[at] == 'd', err);
        at += 1 + strlen(name) + 1;
    }
    lmn__buf_deinit(&names);
    return st;
}

static enum lmn_status memory_stat(struct lmn_store *store, const char *path,
                                   struct lmn__store_stat *stat_out, struct lmn_error *err)
{
    struct memory_store *memory = (struct memory_store *)store;
    struct name *name;
    enum lmn_status st = lmn__store_check_path(store, path, err);

    *stat_out = (struct lmn__store_stat){ 0 };
    if (st != LMN_OK)
        return st;
    lmn__mutex_lock(&memory->mutex);
    st = file_locked(memory, path, "look at", LMN_E_INVALID, &name, err);
    if (st == LMN_OK) {
        stat_out->bytes = lmn__inode_bytes(name->inode);
        stat_out->modified_ns = lmn__inode_modified_ns(name->inode);
        stat_out->number = (uintptr_t)name->inode;
    }
    lmn__mutex_unlock(&memory->mutex);
    return st;
}

static void memory_destroy(struct lmn_store *store)
{
    struct memory_store *memory = (struct memory_store *)store;

    for (size_t i = 0; i < memory->locked.name_count; i++) {
        lmn__inode_release(memory->locked.name[i].inode);
        lmn__free(store->env, memory->locked.name[i].path);
    }
    lmn__free(store->env, memory->locked.name);
    if (memory->ready)
        lmn__mutex_deinit(&memory->mutex);
}

static const struct lmn__store_ops memory_ops = {
    .kind = "memory",
    .open = memory_open,
    .create = memory_create,
    .open_update = memory_open_update,
    .lock = memory_lock,
    .read_at = memory_read_at,
    .write_at = memory_write_at,
    .sync = memory_sync,
    .close = memory_close,
    .rename = memory_rename,
    .link = memory_link,
    .remove = memory_remove,
    .remove_dir = memory_remove_dir,
    .sync_dir = memory_sync_dir,
    .list = memory_list,
    .stat = memory_stat,
    .destroy = memory_destroy,
};

enum lmn_status lmn_store_open_memory(struct lmn_env *env, struct lmn_store **store_out,
                                      struct lmn_error *err)
{
    struct memory_store *memory;
    enum lmn_status st;

    *store_out = NULL;
    st = lmn__store_new(env, &memory_ops, "memory", sizeof *memory, store_out, err);
    if (st != LMN_OK)
        return st;
    memory = (struct memory_store *)*store_out;
    st = lmn__mutex_init(&memory->mutex, err);
    memory->ready = st == LMN_OK;
    if (st != LMN_OK) {
        lmn_store_release(*store_out);
        *store_out = NULL;
    }
    return st;
}
