/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file "ledger" has the bytes of all pieces, and of those that are about to be put, as 8 bytes;
 * who has its lock may change it. It says too much rather than too little: two processes that put
 * the same piece count it twice, one that is killed leaves its piece counted. So when it says that
 * there is no room the directory is looked through, and the sum of what is found is written down.
 *
 * Between taking room and making the file of the piece nothing slow is done; a look counts a piece
 * that is being written as a whole one. What a look can miss is so one piece of each thread that
 * stands between the two.
 *
 * Room is made by a sixteenth of the limit at once: a look takes time.
 */
#include "feed/room.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/error.h"
#include "base/math.h"
#include "os/clock.h"

enum {
    PATH_BYTES = 64,
    LEDGER_BYTES = 8,
    LOCK_ATTEMPTS = 200,
    KEY_DIGITS = 16,
    PART_MADE = 16, /* of the limit, when room is made */
};

static const char ledger_path[] = "ledger";
static const int64_t lock_wait_ns = 1000 * 1000;

/* A draft that is older belongs to a process that is gone. */
static const int64_t draft_age_max_ns = (int64_t)3600 * 1000 * 1000 * 1000;

/* What is kept of one file. */
struct kept {
    uint64_t key;
    int64_t used_ns; /* when it was last opened */
    uint64_t bytes;
};

/* A look at the directory. */
struct look {
    const struct lmn__room *room;
    struct kept *kept;
    size_t count, cap;
    uint64_t bytes;
    int64_t now_ns;
};

/* The directory of one file, looked at or emptied. */
struct dir {
    const struct look *look;
    char name[PATH_BYTES];
    uint64_t bytes;    /* of its pieces */
    uint64_t too_much; /* remove pieces of so many bytes */
    uint64_t removed;
    bool is_left; /* something stays in it */
};

static bool is_draft(const char *name)
{
    return strchr(name, '.') != NULL;
}

static bool is_mark(const char *name)
{
    return strncmp(name, "used", sizeof "used" - 1) == 0;
}

/* What an entry counts: a draft of a piece will be one. */
static uint64_t entry_bytes(const struct lmn__room *room, const char *name,
                            const struct lmn__store_stat *stat)
{
    if (is_mark(name))
        return 0;
    return is_draft(name) ? room->piece_bytes_max : stat->bytes;
}

/* Count one entry. Drafts of processes that are gone go; others will be pieces. */
static enum lmn_status count_piece(void *context, const char *name, bool is_directory,
                                   struct lmn_error *err)
{
    struct dir *dir = context;
    const struct lmn__room *room = dir->look->room;
    struct lmn_store *store = room->store;
    char path[2 * PATH_BYTES];
    struct lmn__store_stat stat;

    (void)err;
    if (is_directory || strlen(name) >= PATH_BYTES || strcmp(name, "used") == 0)
        return LMN_OK;
    snprintf(path, sizeof path, "%s/%s", dir->name, name);
    if (store->ops->stat(store, path, &stat, NULL) != LMN_OK)
        return LMN_OK; /* gone meanwhile */
    if (is_draft(name) && stat.modified_ns < dir->look->now_ns - draft_age_max_ns)
        (void)!store->ops->remove(store, path, NULL);
    else
        dir->bytes += entry_bytes(room, name, &stat);
    return LMN_OK;
}

static struct kept *add_kept(struct look *look)
{
    struct lmn_env *env = look->room->store->env;
    size_t cap = look->cap * 2 + 16;
    struct kept *kept;

    if (look->count == look->cap) {
        kept = lmn__realloc(env, look->kept, cap * sizeof *kept);
        if (kept == NULL)
            return NULL;
        look->kept = kept;
        look->cap = cap;
    }
    return &look->kept[look->count++];
}

/* One entry of the cache: count its pieces, and see when it was last used. */
static enum lmn_status count_file(void *context, const char *name, bool is_directory,
                                  struct lmn_error *err)
{
    struct look *look = context;
    struct lmn_store *store = look->room->store;
    struct lmn__store_stat stat = { 0 };
    struct dir dir = { .look = look };
    char path[2 * PATH_BYTES];
    struct kept *kept;
    enum lmn_status st;

    if (!is_directory || strlen(name) != KEY_DIGITS ||
        strspn(name, "0123456789abcdef") != KEY_DIGITS)
        return LMN_OK;
    snprintf(dir.name, sizeof dir.name, "%s", name);
    st = store->ops->list(store, name, count_piece, &dir, err);
    if (st != LMN_OK)
        return st;
    kept = add_kept(look);
    if (kept == NULL)
        return lmn__no_memory(err, "a look at a cache", look->cap);
    snprintf(path, sizeof path, "%s/used", name);
    if (store->ops->stat(store, path, &stat, NULL) != LMN_OK)
        stat.modified_ns = 0;
    *kept = (struct kept){ strtoull(name, NULL, 16), stat.modified_ns, dir.bytes };
    look->bytes += dir.bytes;
    return LMN_OK;
}

/* The caller frees look_out->kept, also after a failure. */
static enum lmn_status look_around(const struct lmn__room *room, struct look *look_out,
                                   struct lmn_error *err)
{
    *look_out = (struct look){ .room = room, .now_ns = lmn__clock_now_ns() };
    return room->store->ops->list(room->store, "", count_file, look_out, err);
}

static void look_end(struct look *look)
{
    lmn__free(look->room->store->env, look->kept);
}

/* Remove one entry while there is too much. What cannot be removed is left to the next look. */
static enum lmn_status remove_piece(void *context, const char *name, bool is_directory,
                                    struct lmn_error *err)
{
    struct dir *dir = context;
    struct lmn_store *store = dir->look->room->store;
    struct lmn__store_stat stat = { 0 };
    char path[2 * PATH_BYTES];

    (void)err;
    if (is_directory || strlen(name) >= PATH_BYTES || strcmp(name, "used") == 0)
        return LMN_OK;
    snprintf(path, sizeof path, "%s/%s", dir->name, name);
    if (dir->removed >= dir->too_much || store->ops->stat(store, path, &stat, NULL) != LMN_OK ||
        store->ops->remove(store, path, NULL) != LMN_OK)
        dir->is_left = true;
    else
        dir->removed += entry_bytes(dir->look->room, name, &stat);
    return LMN_OK;
}

/* Remove `too_much` bytes of a file's pieces, or all of them; how many went. */
static uint64_t shrink(const struct look *look, uint64_t key, uint64_t too_much)
{
    struct lmn_store *store = look->room->store;
    struct dir dir = { .look = look, .too_much = too_much };
    char path[2 * PATH_BYTES];

    snprintf(dir.name, sizeof dir.name, "%016" PRIx64, key);
    if (store->ops->list(store, dir.name, remove_piece, &dir, NULL) != LMN_OK || dir.is_left)
        return dir.removed;
    snprintf(path, sizeof path, "%s/used", dir.name);
    if (store->ops->remove(store, path, NULL) == LMN_OK)
        (void)!store->ops->remove_dir(store, dir.name, NULL);
    return dir.removed;
}

static int compare_used(const void *left, const void *right)
{
    const struct kept *a = left, *b = right;

    return (a->used_ns > b->used_ns) - (a->used_ns < b->used_ns);
}

/* What is there, after making room for `bytes` more if they have none. */
static enum lmn_status count_and_shrink(const struct lmn__room *room, uint64_t bytes,
                                        uint64_t *counted_out, struct lmn_error *err)
{
    uint64_t goal = room->bytes_max - room->bytes_max / PART_MADE;
    struct look look;
    enum lmn_status st = look_around(room, &look, err);

    if (st == LMN_OK && look.bytes + bytes > room->bytes_max) {
        qsort(look.kept, look.count, sizeof *look.kept, compare_used);
        for (size_t i = 0; i < look.count && look.bytes + bytes > goal; i++)
            if (!room->stays(room->context, look.kept[i].key))
                look.bytes -= lmn__min_u64(
                    shrink(&look, look.kept[i].key, look.bytes + bytes - goal), look.bytes);
    }
    *counted_out = look.bytes;
    look_end(&look);
    return st;
}

/* Open the ledger, made where there is none, and wait for its lock. */
static enum lmn_status ledger_open(struct lmn_store *store, struct lmn__store_file **file_out,
                                   struct lmn_error *err)
{
    enum lmn_status st = store->ops->open_update(store, ledger_path, file_out, err);

    if (st == LMN_E_NOT_FOUND)
        st = store->ops->create(store, ledger_path, file_out, err);
    if (st == LMN_E_EXISTS)
        st = store->ops->open_update(store, ledger_path, file_out, err);
    if (st != LMN_OK)
        return st;
    st = store->ops->lock(*file_out, err);
    for (int i = 0; i < LOCK_ATTEMPTS && st == LMN_E_UNAVAILABLE; i++) {
        lmn__clock_wait_ns(lock_wait_ns);
        st = store->ops->lock(*file_out, err);
    }
    if (st != LMN_OK) {
        store->ops->close(*file_out);
        *file_out = NULL;
    }
    return st;
}

static bool ledger_read(struct lmn__store_file *file, uint64_t *counted_out)
{
    uint8_t data[LEDGER_BYTES];

    if (file->bytes != LEDGER_BYTES ||
        file->store->ops->read_at(file, 0, data, sizeof data, NULL) != LMN_OK)
        return false;
    *counted_out = lmn__load_u64(data);
    return true;
}

static enum lmn_status ledger_write(struct lmn__store_file *file, uint64_t counted,
                                    struct lmn_error *err)
{
    uint8_t data[LEDGER_BYTES];

    lmn__store_u64(data, counted);
    return file->store->ops->write_at(file, 0, data, sizeof data, err);
}

enum lmn_status lmn__room_open(const struct lmn__room *room, struct lmn_error *err)
{
    struct lmn_store *store = room->store;
    struct lmn__store_file *file;
    struct lmn__store_stat stat;
    struct lmn_error why = { 0 };
    uint64_t counted;
    enum lmn_status st = ledger_open(store, &file, &why);

    if (st == LMN_E_UNAVAILABLE)
        return LMN_OK; /* others count, and keep to the limit */
    if (st != LMN_OK && store->ops->stat(store, ledger_path, &stat, NULL) == LMN_OK)
        return LMN_OK;
    if (st != LMN_OK)
        return lmn_fail(err, st == LMN_E_NO_MEMORY ? st : LMN_E_IO,
                        "%.200s cannot be the directory of a cache: %.250s", store->name,
                        why.message);
    st = count_and_shrink(room, 0, &counted, err);
    if (st == LMN_OK)
        st = ledger_write(file, counted, err);
    store->ops->close(file);
    return st;
}

enum lmn__room_answer lmn__room_take(const struct lmn__room *room, uint64_t bytes)
{
    enum lmn__room_answer answer = LMN__ROOM_UNKNOWN;
    struct lmn__store_file *file;
    uint64_t counted;
    bool room_is_there;

    if (ledger_open(room->store, &file, NULL) != LMN_OK)
        return answer;
    room_is_there = ledger_read(file, &counted) && counted <= room->bytes_max &&
                    bytes <= room->bytes_max - counted;
    if (room_is_there || count_and_shrink(room, bytes, &counted, NULL) == LMN_OK) {
        room_is_there = counted <= room->bytes_max && bytes <= room->bytes_max - counted;
        if (room_is_there)
            counted += bytes;
        if (ledger_write(file, counted, NULL) == LMN_OK)
            answer = room_is_there ? LMN__ROOM_TAKEN : LMN__ROOM_NONE;
    }
    room->store->ops->close(file);
    return answer;
}

uint64_t lmn__room_bytes(const struct lmn__room *room)
{
    struct look look;
    uint64_t bytes = look_around(room, &look, NULL) == LMN_OK ? look.bytes : 0;

    look_end(&look);
    return bytes;
}
