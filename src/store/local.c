/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store that is a directory of this machine.
 *
 * A name is durable only if every directory above it is. A directory found in place may have
 * been made a moment ago by a thread or a process that has not synced it yet, or died before it
 * could. So the first time this store puts a name into a directory it makes the directory and
 * syncs each one above it up to the root, whoever made them, and remembers that. What lies above
 * the root is synced only where it is made here.
 *
 * `locked.dir` holds the directories that are made sure of; it only grows, by one string per
 * directory written to. One that somebody removed shows as LMN_E_NOT_FOUND and is made again, some
 * times: who could not make a table removes its directories while another makes them.
 */
#include <string.h>

#include "base/math.h"
#include "os/ahead.h"
#include "os/file.h"
#include "os/thread.h"
#include "store/store.h"

enum { DIR_TRIES_MAX = 20 };

struct local_store {
    struct lmn_store base; /* its name is the root */
    bool ready;            /* the mutex is there */
    atomic_bool no_links;  /* found out at the first attempt */
    struct lmn__ahead ahead;
    struct lmn__mutex mutex;
    struct {
        char **dir;
        size_t dir_count;
        size_t dir_cap;
    } locked;
};

struct local_file {
    struct lmn__store_file base;
    struct lmn__file os;
    struct lmn__ahead_file ahead;
    char *path; /* the whole one, for messages */
};

struct listing {
    lmn__store_entry_fn entry;
    void *context;
    bool stopped; /* by the status of an entry */
};

/* The root and `len` bytes of `path`; the caller frees it. */
static char *join(const struct lmn_store *store, const char *path, size_t len)
{
    size_t root_len = strlen(store->name);
    char *whole = lmn__alloc(store->env, root_len + 1 + len + 1);

    if (whole == NULL)
        return NULL;
    memcpy(whole, store->name, root_len);
    whole[root_len] = len != 0 ? '/' : '\0';
    memcpy(whole + root_len + 1, path, len);
    whole[root_len + 1 + len] = '\0';
    return whole;
}

static enum lmn_status file_path(const struct lmn_store *store, const char *path, char **whole_out,
                                 struct lmn_error *err)
{
    size_t root_len = strlen(store->name), len = strlen(path);
    enum lmn_status st = lmn__store_check_path(store, path, err);
    char *whole;

    *whole_out = NULL;
    if (st != LMN_OK)
        return st;
    whole = join(store, path, len);
    if (whole == NULL)
        return lmn__no_memory(err, "a path", len);
    if (root_len != 0 && store->name[root_len - 1] == '/')
        memmove(whole + root_len, whole + root_len + 1, len + 1); /* one slash, for messages */
    *whole_out = whole;
    return LMN_OK;
}

static enum lmn_status dir_path(const struct lmn_store *store, const char *path, char **whole_out,
                                struct lmn_error *err)
{
    if (path[0] != '\0')
        return file_path(store, path, whole_out, err);
    *whole_out = join(store, "", 0);
    return *whole_out != NULL ? LMN_OK : lmn__no_memory(err, "a path", 0);
}

/* The place of the directory in the list, or the list's length. */
static size_t find_dir_locked(const struct local_store *local, const char *dir, size_t len)
{
    size_t i = 0;

    while (i < local->locked.dir_count &&
           !(strncmp(local->locked.dir[i], dir, len) == 0 && local->locked.dir[i][len] == '\0'))
        i++;
    return i;
}

static bool dir_is_known(struct local_store *local, const char *dir, size_t len)
{
    bool known;

    lmn__mutex_lock(&local->mutex);
    known = find_dir_locked(local, dir, len) < local->locked.dir_count;
    lmn__mutex_unlock(&local->mutex);
    return known;
}

static bool reserve_dir_locked(struct local_store *local)
{
    size_t cap = local->locked.dir_cap * 2 + 8;
    char **dir;

    if (local->locked.dir_count < local->locked.dir_cap)
        return true;
    dir = lmn__realloc(local->base.env, local->locked.dir, cap * sizeof *dir);
    if (dir == NULL)
        return false;
    local->locked.dir = dir;
    local->locked.dir_cap = cap;
    return true;
}

/* Without memory the directory is only made sure of once more the next time. */
static void remember_dir(struct local_store *local, const char *dir, size_t len)
{
    char *copy = lmn__strndup(local->base.env, dir, len);

    if (copy == NULL)
        return;
    lmn__mutex_lock(&local->mutex);
    if (find_dir_locked(local, dir, len) == local->locked.dir_count && reserve_dir_locked(local)) {
        local->locked.dir[local->locked.dir_count++] = copy;
        copy = NULL;
    }
    lmn__mutex_unlock(&local->mutex);
    lmn__free(local->base.env, copy);
}

/* How much of a directory's path is the deepest one above it that is known; 0: the root. */
static size_t known_above(struct local_store *local, const char *dir, size_t len)
{
    while (len > 0) {
        while (len > 0 && dir[--len] != '/')
            continue;
        if (len > 0 && dir_is_known(local, dir, len))
            break;
    }
    return len;
}

/*
 * What a file needs before it gets a name: its directory, and those above. They are made at once
 * and synced behind the file's creation: while it is in them nobody takes them away.
 */
struct dirs {
    char *whole;  /* the directory; NULL: it is remembered as sure */
    size_t known; /* how much of it is sure */
};

static enum lmn_status dirs_make(struct lmn_store *store, const char *path, bool again,
                                 struct dirs *dirs, struct lmn_error *err)
{
    struct local_store *local = (struct local_store *)store;
    size_t len = lmn__store_dir_len(path), root_len = strlen(store->name), there, above;
    enum lmn_status st;

    if (dirs->whole == NULL && !again && dir_is_known(local, path, len))
        return LMN_OK;
    if (dirs->whole == NULL) {
        dirs->whole = join(store, path, len);
        if (dirs->whole == NULL)
            return lmn__no_memory(err, "a path", len);
        above = again ? 0 : known_above(local, path, len);
        dirs->known = root_len + (above != 0) + above;
    }
    st = lmn__dir_make_unsynced(dirs->whole, &there, err);
    dirs->known = lmn__min_u64(dirs->known, there);
    return st;
}

/* Sync what was made, and remember it. */
static enum lmn_status dirs_sync(struct lmn_store *store, const char *path, struct dirs *dirs,
                                 struct lmn_error *err)
{
    struct local_store *local = (struct local_store *)store;
    size_t len = lmn__store_dir_len(path), root_len = strlen(store->name);
    size_t whole_len = root_len + (len != 0) + len;
    enum lmn_status st = LMN_OK;

    if (dirs->whole == NULL)
        return LMN_OK;
    for (size_t end = dirs->known; st == LMN_OK && end < whole_len;) {
        char *slash = dirs->whole + end, kept = *slash;

        *slash = '\0';
        st = lmn__dir_sync(end != 0 ? dirs->whole : (kept == '/' ? "/" : "."), err);
        *slash = kept;
        end += 1 + strcspn(slash + 1, "/");
        if (st == LMN_OK && end > root_len)
            remember_dir(local, path, end - root_len - 1);
    }
    if (st == LMN_OK && len == 0)
        remember_dir(local, path, len);
    return st;
}

static void local_close(struct lmn__store_file *base)
{
    struct local_file *file = (struct local_file *)base;

    lmn__file_close(&file->os);
    lmn__ahead_file_deinit(&file->ahead);
    lmn__free(base->store->env, file->path);
    lmn__store_file_free(base);
}

/* A file that is not open yet. */
static enum lmn_status file_new(struct lmn_store *store, const char *path,
                                struct local_file **file_out, struct lmn_error *err)
{
    struct lmn__store_file *base;
    struct local_file *file;
    enum lmn_status st;

    *file_out = NULL;
    st = lmn__store_file_new(store, sizeof *file, &base, err);
    if (st != LMN_OK)
        return st;
    file = (struct local_file *)base;
    file->os.fd = -1;
    st = file_path(store, path, &file->path, err);
    if (st != LMN_OK) {
        local_close(base);
        return st;
    }
    *file_out = file;
    return LMN_OK;
}

static enum lmn_status open_there(struct lmn_store *store, const char *path,
                                  enum lmn__file_mode mode, struct lmn__store_file **file_out,
                                  struct lmn_error *err)
{
    struct local_file *file;
    enum lmn_status st;

    *file_out = NULL;
    st = file_new(store, path, &file, err);
    if (st != LMN_OK)
        return st;
    st = lmn__file_open(file->path, mode, &file->os, err);
    if (st == LMN_OK)
        st = lmn__file_size(&file->os, file->path, &file->base.bytes, err);
    if (st != LMN_OK) {
        local_close(&file->base);
        return st;
    }
    lmn__ahead_file_init(&file->ahead, &((struct local_store *)store)->ahead, file->base.bytes);
    *file_out = &file->base;
    return LMN_OK;
}

static enum lmn_status local_open(struct lmn_store *store, const char *path,
                                  struct lmn__store_file **file_out, struct lmn_error *err)
{
    return open_there(store, path, LMN__FILE_READ, file_out, err);
}

static enum lmn_status local_open_update(struct lmn_store *store, const char *path,
                                         struct lmn__store_file **file_out, struct lmn_error *err)
{
    return open_there(store, path, LMN__FILE_UPDATE, file_out, err);
}

static enum lmn_status local_lock(struct lmn__store_file *base, struct lmn_error *err)
{
    struct local_file *file = (struct local_file *)base;

    return lmn__file_lock(&file->os, file->path, err);
}

static enum lmn_status local_create(struct lmn_store *store, const char *path,
                                    struct lmn__store_file **file_out, struct lmn_error *err)
{
    struct local_file *file;
    struct dirs dirs = { 0 };
    enum lmn_status st;

    *file_out = NULL;
    st = file_new(store, path, &file, err);
    if (st != LMN_OK)
        return st;
    for (int tries = 1;; tries++) {
        st = dirs_make(store, path, tries > 1, &dirs, err);
        if (st == LMN_OK)
            st = lmn__file_open(file->path, LMN__FILE_CREATE, &file->os, err);
        if (st != LMN_E_NOT_FOUND || tries == DIR_TRIES_MAX)
            break;
    }
    if (st == LMN_OK) {
        st = dirs_sync(store, path, &dirs, err);
        if (st != LMN_OK)
            (void)!lmn__file_remove(file->path, NULL);
    }
    lmn__free(store->env, dirs.whole);
    if (st != LMN_OK) {
        local_close(&file->base);
        return st;
    }
    lmn__ahead_file_init(&file->ahead, &((struct local_store *)store)->ahead, 0);
    *file_out = &file->base;
    return LMN_OK;
}

static enum lmn_status local_read_at(struct lmn__store_file *base, uint64_t offset, void *data,
                                     size_t len, struct lmn_error *err)
{
    struct local_file *file = (struct local_file *)base;

    return lmn__file_read_at(&file->os, file->path, offset, data, len, err);
}

static void local_will_read(struct lmn__store_file *base, const struct lmn__file_range *range,
                            size_t count, bool only)
{
    struct local_file *file = (struct local_file *)base;

    lmn__ahead_fetch(&file->ahead, &file->os, range, count, only);
}

static enum lmn_status local_write_at(struct lmn__store_file *base, uint64_t offset,
                                      const void *data, size_t len, struct lmn_error *err)
{
    struct local_file *file = (struct local_file *)base;

    return lmn__file_write_at(&file->os, file->path, offset, data, len, err);
}

static enum lmn_status local_write_past(struct lmn__store_file *base, uint64_t offset,
                                        const void *data, size_t len, struct lmn_error *err)
{
    struct local_file *file = (struct local_file *)base;

    return lmn__file_write_past(&file->os, file->path, offset, data, len, err);
}

static enum lmn_status local_sync(struct lmn__store_file *base, struct lmn_error *err)
{
    struct local_file *file = (struct local_file *)base;

    return lmn__file_sync(&file->os, file->path, err);
}

/* Rename and link differ in the last step only. */
static enum lmn_status name_again(struct lmn_store *store, const char *from, const char *to,
                                  enum lmn_status (*step)(const char *from, const char *to,
                                                          struct lmn_error *err),
                                  struct lmn_error *err)
{
    char *whole_from = NULL, *whole_to = NULL;
    struct dirs dirs = { 0 };
    enum lmn_status st = file_path(store, from, &whole_from, err);

    if (st == LMN_OK)
        st = file_path(store, to, &whole_to, err);
    for (int tries = 1; st == LMN_OK; tries++) {
        st = dirs_make(store, to, tries > 1, &dirs, err);
        if (st == LMN_OK)
            st = dirs_sync(store, to, &dirs, err);
        if (st == LMN_OK)
            st = step(whole_from, whole_to, err);
        if (st != LMN_E_NOT_FOUND || tries == DIR_TRIES_MAX)
            break;
        st = LMN_OK;
    }
    lmn__free(store->env, dirs.whole);
    lmn__free(store->env, whole_from);
    lmn__free(store->env, whole_to);
    return st;
}

static enum lmn_status local_rename(struct lmn_store *store, const char *from, const char *to,
                                    struct lmn_error *err)
{
    return name_again(store, from, to, lmn__file_rename, err);
}

static enum lmn_status local_link(struct lmn_store *store, const char *from, const char *to,
                                  struct lmn_error *err)
{
    struct local_store *local = (struct local_store *)store;
    enum lmn_status st = LMN_E_UNSUPPORTED;

    /* Asked once: a file system has hard links or not. */
    if (!atomic_load(&local->no_links))
        st = name_again(store, from, to, lmn__file_link, err);
    if (st != LMN_E_UNSUPPORTED)
        return st;
    atomic_store(&local->no_links, true);
    return name_again(store, from, to, lmn__file_rename_new, err);
}

static enum lmn_status local_remove(struct lmn_store *store, const char *path,
                                    struct lmn_error *err)
{
    char *whole;
    enum lmn_status st = file_path(store, path, &whole, err);

    if (st == LMN_OK)
        st = lmn__file_remove(whole, err);
    lmn__free(store->env, whole);
    return st;
}

static enum lmn_status local_remove_dir(struct lmn_store *store, const char *path,
                                        struct lmn_error *err)
{
    char *whole;
    enum lmn_status st = dir_path(store, path, &whole, err);

    if (st == LMN_OK)
        st = lmn__dir_remove(whole, err);
    lmn__free(store->env, whole);
    return st;
}

static enum lmn_status local_sync_dir(struct lmn_store *store, const char *path,
                                      struct lmn_error *err)
{
    char *whole;
    enum lmn_status st = dir_path(store, path, &whole, err);

    if (st == LMN_OK)
        st = lmn__dir_sync(whole, err);
    lmn__free(store->env, whole);
    return st;
}

static enum lmn_status pass_entry(void *context, const char *name, bool is_directory,
                                  struct lmn_error *err)
{
    struct listing *listing = context;
    enum lmn_status st = listing->entry(listing->context, name, is_directory, err);

    listing->stopped = st != LMN_OK;
    return st;
}

static enum lmn_status local_list(struct lmn_store *store, const char *path,
                                  lmn__store_entry_fn entry, void *context, struct lmn_error *err)
{
    struct listing listing = { entry, context, false };
    char *whole;
    enum lmn_status st = dir_path(store, path, &whole, err);

    if (st == LMN_OK)
        st = lmn__dir_list(whole, pass_entry, &listing, err);
    lmn__free(store->env, whole);
    return st == LMN_E_NOT_FOUND && !listing.stopped ? LMN_OK : st;
}

static enum lmn_status local_stat(struct lmn_store *store, const char *path,
                                  struct lmn__store_stat *stat_out, struct lmn_error *err)
{
    struct lmn__file_info info;
    char *whole;
    enum lmn_status st = file_path(store, path, &whole, err);

    *stat_out = (struct lmn__store_stat){ 0 };
    if (st == LMN_OK)
        st = lmn__file_stat(whole, &info, err);
    lmn__free(store->env, whole);
    if (st == LMN_OK)
        *stat_out = (struct lmn__store_stat){ info.bytes, info.modified_ns, info.number };
    return st;
}

static int64_t local_dir_stamp(struct lmn_store *store, const char *path)
{
    char *whole;
    int64_t stamp = 0;

    if (dir_path(store, path, &whole, NULL) == LMN_OK)
        stamp = lmn__dir_changed_ns(whole);
    lmn__free(store->env, whole);
    return stamp;
}

static void local_destroy(struct lmn_store *store)
{
    struct local_store *local = (struct local_store *)store;

    for (size_t i = 0; i < local->locked.dir_count; i++)
        lmn__free(store->env, local->locked.dir[i]);
    lmn__free(store->env, local->locked.dir);
    lmn__ahead_deinit(&local->ahead);
    if (local->ready)
        lmn__mutex_deinit(&local->mutex);
}

static const struct lmn__store_ops local_ops = {
    .kind = "local",
    .open = local_open,
    .create = local_create,
    .open_update = local_open_update,
    .lock = local_lock,
    .read_at = local_read_at,
    .will_read = local_will_read,
    .write_at = local_write_at,
    .write_past = local_write_past,
    .sync = local_sync,
    .close = local_close,
    .rename = local_rename,
    .link = local_link,
    .remove = local_remove,
    .remove_dir = local_remove_dir,
    .sync_dir = local_sync_dir,
    .list = local_list,
    .stat = local_stat,
    .dir_stamp = local_dir_stamp,
    .destroy = local_destroy,
};

/* Bytes of "scheme://" at the start of a name; 0: it has none. */
static size_t scheme_bytes(const char *root)
{
    size_t len = strspn(root, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.");

    return len > 1 && strncmp(root + len, "://", 3) == 0 ? len + 3 : 0;
}

enum lmn_status lmn_store_open_local(struct lmn_env *env, const char *root,
                                     struct lmn_store **store_out, struct lmn_error *err)
{
    size_t scheme = scheme_bytes(root);
    struct local_store *local;
    enum lmn_status st;

    *store_out = NULL;
    if (scheme != 0 && strncmp(root, "file://", scheme) != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "%.200s: directories of this machine are read and written; %.*s is not",
                        root, (int)scheme, root);
    root += scheme;
    if (root[0] == '\0')
        return lmn_fail(err, LMN_E_INVALID, "the directory of a store has an empty name");
    st = lmn__store_new(env, &local_ops, root, sizeof *local, store_out, err);
    if (st != LMN_OK)
        return st;
    local = (struct local_store *)*store_out;
    lmn__ahead_init(&local->ahead, local->base.env);
    for (size_t len = strlen(root); len > 1 && root[len - 1] == '/'; len--)
        local->base.name[len - 1] = '\0';
    st = lmn__mutex_init(&local->mutex, err);
    local->ready = st == LMN_OK;
    if (st != LMN_OK) {
        lmn_store_release(*store_out);
        *store_out = NULL;
    }
    return st;
}
