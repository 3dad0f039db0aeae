/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open files are entries of a hash table and of a list by age. An entry is made by the first who
 * asks for a file; he opens it outside the lock, and others who want it wait. When opening fails
 * the entry goes, and each of those who waited tries for himself, so that nobody gets the error of
 * another's passing fault.
 *
 * The key of a file is where it is - the base path and the path below it - and not the id of its
 * base path, which another version may use for another place.
 *
 * Invariants
 *
 * 1. An entry without a file is being opened; only entries with a file are in the list by age.
 * 2. At most open_max entries have a file. The oldest go first; who uses them keeps them open.
 *    Where the process is short of files, one that nobody uses goes for each that is opened.
 * 3. Files are opened and released without the lock.
 */
#include "table/file_set.h"

#include "base/error.h"
#include "base/hash.h"
#include "base/math.h"
#include "format/page_cache.h"
#include "os/file.h"
#include "os/thread.h"
#include "table/versions.h"

enum { SLOT_COUNT = 256, CACHE_BYTES_MAX = 256 << 20 };

struct entry {
    struct entry *next; /* of the same slot */
    struct entry *newer, *older;
    struct lmn_file *file; /* NULL: being opened */
    size_t key_len;
    char key[]; /* "<base path>\n<path in its store>" */
};

struct lmn__file_set {
    struct lmn_store *store; /* counted */
    uint32_t open_max;
    struct lmn__page_cache *cache; /* counted; of all files */
    struct lmn__mutex mutex;
    struct lmn__cond opened; /* an entry got its file, or went */
    struct {
        struct entry *slot[SLOT_COUNT];
        struct entry *newest, *oldest;
        uint32_t open_count;
    } locked;
};

enum lmn_status lmn__file_set_new(struct lmn_store *store, uint32_t open_max,
                                  struct lmn__file_set **set_out, struct lmn_error *err)
{
    struct lmn__file_set *set = lmn__calloc(store->env, 1, sizeof *set);
    enum lmn_status st;

    *set_out = NULL;
    if (set == NULL)
        return lmn__no_memory(err, "a set of files", sizeof *set);
    st = lmn__mutex_init(&set->mutex, err);
    if (st != LMN_OK) {
        lmn__free(store->env, set);
        return st;
    }
    st = lmn__cond_init(&set->opened, err);
    if (st != LMN_OK) {
        lmn__mutex_deinit(&set->mutex);
        lmn__free(store->env, set);
        return st;
    }
    set->store = lmn_store_acquire(store);
    set->open_max = open_max;
    st = lmn__page_cache_new(store->env, CACHE_BYTES_MAX, &set->cache, err);
    if (st == LMN_OK)
        *set_out = set;
    else
        lmn__file_set_free(set);
    return st;
}

void lmn__file_set_free(struct lmn__file_set *set)
{
    struct lmn_store *store;

    if (set == NULL)
        return;
    store = set->store;
    for (struct entry *entry = set->locked.newest, *older; entry != NULL; entry = older) {
        older = entry->older;
        lmn_file_release(entry->file);
        lmn__free(store->env, entry);
    }
    lmn__page_cache_release(set->cache);
    lmn__cond_deinit(&set->opened);
    lmn__mutex_deinit(&set->mutex);
    lmn__free(store->env, set);
    lmn_store_release(store);
}

static struct entry **slot_of(struct lmn__file_set *set, const char *key, size_t key_len)
{
    return &set->locked.slot[lmn__hash64(key, key_len) % SLOT_COUNT];
}

static struct entry *find_locked(struct lmn__file_set *set, const char *key, size_t key_len)
{
    struct entry *entry = *slot_of(set, key, key_len);

    while (entry != NULL && (entry->key_len != key_len || memcmp(entry->key, key, key_len) != 0))
        entry = entry->next;
    return entry;
}

static void unlink_slot_locked(struct lmn__file_set *set, struct entry *entry)
{
    struct entry **link = slot_of(set, entry->key, entry->key_len);

    while (*link != entry)
        link = &(*link)->next;
    *link = entry->next;
}

static void unlink_age_locked(struct lmn__file_set *set, struct entry *entry)
{
    *(entry->newer != NULL ? &entry->newer->older : &set->locked.newest) = entry->older;
    *(entry->older != NULL ? &entry->older->newer : &set->locked.oldest) = entry->newer;
    entry->newer = entry->older = NULL;
}

static void make_newest_locked(struct lmn__file_set *set, struct entry *entry)
{
    entry->newer = NULL;
    entry->older = set->locked.newest;
    *(entry->older != NULL ? &entry->older->newer : &set->locked.oldest) = entry;
    set->locked.newest = entry;
}

/* Take an entry out and put it before `gone`, a list by `next` of what is to be released. */
static struct entry *evict_locked(struct lmn__file_set *set, struct entry *entry,
                                  struct entry *gone)
{
    unlink_slot_locked(set, entry);
    unlink_age_locked(set, entry);
    entry->next = gone;
    set->locked.open_count--;
    return entry;
}

/* The oldest file that only the set has; NULL: there is none. Others get theirs with the lock. */
static struct entry *find_unused_locked(struct lmn__file_set *set)
{
    struct entry *entry = set->locked.oldest;

    while (entry != NULL && atomic_load(&entry->file->reference_count) != 1)
        entry = entry->newer;
    return entry;
}

/* Make room behind an entry that came; a list as above. */
static struct entry *make_room_locked(struct lmn__file_set *set)
{
    struct entry *gone = NULL, *unused;

    while (set->locked.open_count > set->open_max)
        gone = evict_locked(set, set->locked.oldest, gone);
    unused = lmn__file_crowd() ? find_unused_locked(set) : NULL;
    return unused != NULL ? evict_locked(set, unused, gone) : gone;
}

static void release_list(struct lmn__file_set *set, struct entry *gone)
{
    for (struct entry *next; gone != NULL; gone = next) {
        next = gone->next;
        lmn_file_release(gone->file);
        lmn__free(set->store->env, gone);
    }
}

/* The file if it is open, when nobody is just opening it. NULL: *entry_out is for us to open. */
static struct lmn_file *claim(struct lmn__file_set *set, struct entry *fresh,
                              struct entry **entry_out)
{
    struct lmn_file *file = NULL;
    struct entry *entry, **slot;

    *entry_out = NULL;
    lmn__mutex_lock(&set->mutex);
    while ((entry = find_locked(set, fresh->key, fresh->key_len)) != NULL && entry->file == NULL)
        lmn__cond_wait(&set->opened, &set->mutex);
    if (entry != NULL) {
        file = lmn_file_acquire(entry->file);
        unlink_age_locked(set, entry);
        make_newest_locked(set, entry);
    } else {
        slot = slot_of(set, fresh->key, fresh->key_len);
        fresh->next = *slot;
        *slot = fresh;
        *entry_out = fresh;
    }
    lmn__mutex_unlock(&set->mutex);
    return file;
}

/* End the opening of a claimed entry: with a file, which it keeps a reference to, or without. */
static void settle(struct lmn__file_set *set, struct entry *entry, struct lmn_file *file)
{
    struct entry *gone;

    lmn__mutex_lock(&set->mutex);
    if (file != NULL) {
        entry->file = lmn_file_acquire(file);
        make_newest_locked(set, entry);
        set->locked.open_count++;
        gone = make_room_locked(set);
    } else {
        unlink_slot_locked(set, entry);
        entry->next = NULL;
        gone = entry;
    }
    lmn__cond_wake_all(&set->opened);
    lmn__mutex_unlock(&set->mutex);
    release_list(set, gone);
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* The path of a file URI without its "file://": "%20" and the like become what they stand for. */
static enum lmn_status decode_uri(char *path, struct lmn_error *err)
{
    char *to = path;

    if (path[0] != '/')
        return lmn_fail(err, LMN_E_UNSUPPORTED, "base path file://%s is on another machine", path);
    for (const char *from = path; *from != '\0'; from++) {
        if (*from == '%') {
            int high = hex_digit(from[1]), low = high < 0 ? -1 : hex_digit(from[2]);

            if (low < 0 || (high == 0 && low == 0))
                return lmn_fail(err, LMN_E_CORRUPT, "base path file://%s has a bad escape", path);
            *to++ = (char)(high << 4 | low);
            from += 2;
        } else {
            *to++ = *from;
        }
    }
    *to = '\0';
    return LMN_OK;
}

/* Open the directory of a base path: a path of this machine, or a file URI. */
static enum lmn_status open_base(struct lmn_env *env, struct lmn__span text,
                                 struct lmn_store **store_out, struct lmn_error *err)
{
    static const char file_scheme[] = "file://";
    const char *scheme_end;
    char *path;
    enum lmn_status st = LMN_OK;

    if (text.len == 0 || memchr(text.data, '\0', text.len) != NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "a base path of %zu bytes is no path", text.len);
    path = lmn__strndup(env, (const char *)text.data, text.len);
    if (path == NULL)
        return lmn__no_memory(err, "a base path", text.len + 1);
    scheme_end = strstr(path, "://");
    if (strncmp(path, file_scheme, sizeof file_scheme - 1) == 0) {
        memmove(path, path + sizeof file_scheme - 1, text.len - (sizeof file_scheme - 1) + 1);
        st = decode_uri(path, err);
    } else if (scheme_end != NULL && memchr(path, '/', (size_t)(scheme_end - path)) == NULL) {
        st = lmn_fail(err, LMN_E_UNSUPPORTED, "base path %s: no store for %.*s is known", path,
                      (int)(scheme_end - path), path);
    }
    if (st == LMN_OK)
        st = lmn_store_open_local(env, path, store_out, err);
    lmn__free(env, path);
    return st;
}

static enum lmn_status find_base(const struct lmn__manifest *manifest, uint32_t id,
                                 const struct lmn__pb_base_path **base_out, struct lmn_error *err)
{
    *base_out = lmn__manifest_base(manifest, id);
    if (*base_out == NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "base path %u is not in the manifest", id);
    return LMN_OK;
}

enum lmn_status lmn__file_set_store(struct lmn__file_set *set, const struct lmn__manifest *manifest,
                                    bool has_base, uint32_t base, struct lmn_store **store_out,
                                    bool *is_table_root_out, struct lmn_error *err)
{
    const struct lmn__pb_base_path *found;
    enum lmn_status st;

    *store_out = NULL;
    *is_table_root_out = true;
    if (!has_base) {
        *store_out = lmn_store_acquire(set->store);
        return LMN_OK;
    }
    st = find_base(manifest, base, &found, err);
    if (st != LMN_OK)
        return st;
    *is_table_root_out = found->is_table_root;
    return open_base(set->store->env, found->path, store_out, err);
}

static char *put_text(char *to, const void *text, size_t len)
{
    if (len != 0)
        memcpy(to, text, len);
    return to + len;
}

/* An entry whose key names the file. *path_out is the part of the key that is the path. */
static enum lmn_status make_entry(struct lmn__file_set *set, const struct lmn__manifest *manifest,
                                  const struct lmn__pb_data_file *data_file,
                                  struct entry **entry_out, const char **path_out,
                                  struct lmn_error *err)
{
    const struct lmn__pb_base_path *base = NULL;
    struct lmn__span root = { 0 };
    size_t bytes;
    char *at;
    enum lmn_status st = LMN_OK;

    *entry_out = NULL;
    if (data_file->has_base)
        st = find_base(manifest, data_file->base, &base, err);
    if (st != LMN_OK)
        return st;
    if (base != NULL)
        root = base->path;
    bytes = sizeof **entry_out + root.len + sizeof "\ndata/" + data_file->path.len;
    *entry_out = lmn__calloc(set->store->env, 1, bytes); /* zeroed: the key ends in a NUL */
    if (*entry_out == NULL)
        return lmn__no_memory(err, "the name of a data file", bytes);
    at = put_text((*entry_out)->key, root.data, root.len);
    at = put_text(at, "\n", 1);
    *path_out = at;
    if (base == NULL || base->is_table_root)
        at = put_text(at, "data/", 5);
    at = put_text(at, data_file->path.data, data_file->path.len);
    (*entry_out)->key_len = (size_t)(at - (*entry_out)->key);
    return LMN_OK;
}

/* What comes from a manifest is a path, without bytes that would end it early. */
static enum lmn_status check_path(const struct lmn__file_set *set, struct lmn__span path,
                                  const char *text, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    if (path.len == 0 || memchr(path.data, '\0', path.len) != NULL)
        return lmn_fail(err, LMN_E_CORRUPT, "the name of a data file, of %zu bytes, is no path",
                        path.len);
    st = lmn__store_check_path(set->store, text, err);
    if (st != LMN_OK)
        return lmn_fail(err, LMN_E_CORRUPT, "data file %s is not inside the table", text);
    return LMN_OK;
}

/*
 * What it means that a file cannot be found: nothing is wrong with the table where a cleanup has
 * removed the version that names it, or somebody the table, which may be another one now.
 */
static enum lmn_status missing(const struct lmn__file_set *set,
                               const struct lmn__manifest *manifest, struct lmn_error *err)
{
    unsigned long long version = manifest->pb.version;
    uint64_t newest;
    bool plain;

    if (lmn__versions_newest(set->store, &newest, &plain, NULL) == LMN_E_NOT_FOUND)
        return lmn__fail_within(err, LMN_E_NOT_FOUND, "the table was dropped or renamed");
    if (lmn__version_is_gone(set->store, manifest->pb.version, manifest->plain_name))
        return lmn__fail_within(err, LMN_E_NOT_FOUND,
                                "version %llu was removed by a cleanup, read a newer one", version);
    if (lmn__version_is_other(set->store, manifest->pb.version, manifest->plain_name,
                              &manifest->mark))
        return lmn__fail_within(err, LMN_E_NOT_FOUND,
                                "the table was dropped, and another one made in its place, since "
                                "version %llu was read, refresh it",
                                version);
    return lmn_fail(err, LMN_E_CORRUPT, "%s, which version %llu needs",
                    err != NULL ? err->message : "", version);
}

static enum lmn_status open_entry(struct lmn__file_set *set, const struct lmn__manifest *manifest,
                                  const struct lmn__pb_data_file *data_file, const char *path,
                                  struct lmn_file **file_out, struct lmn_error *err)
{
    struct lmn_store *store;
    bool is_table_root;
    enum lmn_status st = lmn__file_set_store(set, manifest, data_file->has_base, data_file->base,
                                             &store, &is_table_root, err);

    if (st != LMN_OK)
        return st;
    st = lmn__file_open_cached(store, path, set->cache, file_out, err);
    lmn_store_release(store);
    return st == LMN_E_NOT_FOUND ? missing(set, manifest, err) : st;
}

static enum lmn_status check_size(const struct lmn_file *file, uint64_t bytes,
                                  struct lmn_error *err)
{
    if (bytes != 0 && lmn_file_bytes(file) != bytes)
        return lmn_fail(err, LMN_E_CORRUPT, "%s: %llu bytes, the manifest says %llu",
                        file->object.name, (unsigned long long)lmn_file_bytes(file),
                        (unsigned long long)bytes);
    return LMN_OK;
}

enum lmn_status lmn__file_set_open(struct lmn__file_set *set, const struct lmn__manifest *manifest,
                                   const struct lmn__pb_data_file *data_file,
                                   struct lmn_file **file_out, struct lmn_error *err)
{
    struct entry *fresh, *claimed = NULL;
    struct lmn_file *file = NULL;
    const char *path = NULL;
    enum lmn_status st = make_entry(set, manifest, data_file, &fresh, &path, err);

    *file_out = NULL;
    if (st != LMN_OK)
        return st;
    st = check_path(set, data_file->path, path, err);
    if (st == LMN_OK)
        file = claim(set, fresh, &claimed);
    if (claimed == NULL)
        lmn__free(set->store->env, fresh);
    if (claimed != NULL) {
        st = open_entry(set, manifest, data_file, path, &file, err);
        settle(set, claimed, file); /* the path in its key may be gone after this */
    }
    if (st == LMN_OK)
        st = check_size(file, data_file->bytes, err);
    if (st != LMN_OK) {
        lmn_file_release(file);
        return st;
    }
    *file_out = file;
    return LMN_OK;
}

enum lmn_status lmn__file_set_deletion(struct lmn__file_set *set,
                                       const struct lmn__manifest *manifest,
                                       const struct lmn__pb_fragment *fragment,
                                       struct lmn__deletion *deletion_out, struct lmn_error *err)
{
    const struct lmn__pb_deletion_file *file = fragment->deletion;
    struct lmn_store *store;
    bool is_table_root;
    enum lmn_status st;

    *deletion_out = (struct lmn__deletion){ 0 };
    if (file == NULL)
        return LMN_OK;
    st = lmn__file_set_store(set, manifest, file->has_base, file->base, &store, &is_table_root,
                             err);
    if (st != LMN_OK)
        return st;
    st = lmn__deletion_read(store, fragment, deletion_out, err);
    lmn_store_release(store);
    return st == LMN_E_NOT_FOUND ? missing(set, manifest, err) : st;
}
