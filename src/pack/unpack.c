/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Below the folder:
 *
 *   archives/<hash>/...   the members of an archive, sealed
 *   trees/<hash>/...      links to the members of several archives; the hash is that of their names
 *
 * Either is made beside its place and renamed when it is whole, so that a name that is there can be
 * trusted; who comes second throws his own away. Nothing is synced: thousands of small files would
 * wait for the device one by one. So the folder must not be used again after a power loss.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "ingest/crew.h"
#include "os/entry.h"
#include "os/file.h"
#include "os/random.h"
#include "pack/archive.h"

enum { PATH_CHARS = 8192 };

/* A folder while it is made; the paths of files are put behind `path`. */
struct making {
    char path[PATH_CHARS];
    size_t len;
    struct lmn__file file; /* the member that is written */
    uint64_t offset;
    bool open;
    char parent[PATH_CHARS]; /* relative; the last one that was made */
};

/* Put a relative path behind the folder. */
static enum lmn_status set_member(struct making *making, const char *path, struct lmn_error *err)
{
    size_t len = strlen(path);

    if (making->len + 1 + len >= PATH_CHARS)
        return lmn_fail(err, LMN_E_INVALID, "the path is too long: %.*s/%.200s...", 200,
                        making->path, path);
    making->path[making->len] = '/';
    memcpy(making->path + making->len + 1, path, len + 1);
    return LMN_OK;
}

/* Make the folders between the folder and the member. */
static enum lmn_status make_parents(struct making *making, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;
    char *slash = making->path + making->len, *last = strrchr(slash, '/');
    size_t len = (size_t)(last - slash);

    /* Members ascend, so most have the parent of the one before. */
    if (strncmp(making->parent, slash, len) == 0 && making->parent[len] == '\0')
        return LMN_OK;
    memcpy(making->parent, slash, len);
    making->parent[len] = '\0';
    while (st == LMN_OK && (slash = strchr(slash + 1, '/')) != NULL) {
        *slash = '\0';
        st = lmn__entry_make_folder(making->path, err);
        *slash = '/';
    }
    return st;
}

static enum lmn_status begin_member(void *self, const char *path, bool executable,
                                    struct lmn_error *err)
{
    struct making *making = self;
    enum lmn_status st = set_member(making, path, err);

    if (st == LMN_OK)
        st = make_parents(making, err);
    if (st == LMN_OK)
        st = lmn__entry_make_sealed(making->path, executable, &making->file, err);
    making->open = st == LMN_OK;
    making->offset = 0;
    return st;
}

static enum lmn_status write_member(void *self, const void *data, size_t len, struct lmn_error *err)
{
    struct making *making = self;
    uint64_t offset = making->offset;

    making->offset += len;
    return lmn__file_write_at(&making->file, making->path, offset, data, len, err);
}

static enum lmn_status end_member(void *self, struct lmn_error *err)
{
    struct making *making = self;

    (void)err;
    lmn__file_close(&making->file);
    making->open = false;
    return LMN_OK;
}

/* All archives of a call, and the name that its unfinished folders share. */
struct unpacking {
    struct lmn_store *store;
    const char *folder;
    const struct lmn_pack_archive *archive;
    size_t count;
    char token[LMN__TOKEN_CHARS];
};

/* Where an archive, or a tree, will be, and where it is made. */
static void places_of(const struct unpacking *unpacking, const char *kind, const char *name,
                      char place_out[PATH_CHARS], char draft_out[PATH_CHARS])
{
    snprintf(place_out, PATH_CHARS, "%s/%s/%.64s", unpacking->folder, kind, name);
    snprintf(draft_out, PATH_CHARS, "%s/%s/%.64s.%s.tmp", unpacking->folder, kind, name,
             unpacking->token);
}

static enum lmn_status making_begin(struct making *making, const char *draft, struct lmn_error *err)
{
    making->len = strlen(draft);
    making->open = false;
    making->parent[0] = '\0';
    memcpy(making->path, draft, making->len + 1);
    return lmn__entry_make_folder(draft, err);
}

/* What cannot be removed lies in nobody's way. */
static void remove_draft(const char *draft)
{
    (void)!lmn__dir_remove_all(draft, NULL);
}

/* Give a whole folder its name; if that is taken, another process was as quick. */
static enum lmn_status publish(const char *draft, const char *place, struct lmn_error *err)
{
    enum lmn_status st = lmn__file_rename_new(draft, place, err);

    if (st == LMN_OK)
        return LMN_OK;
    remove_draft(draft);
    return st == LMN_E_EXISTS ? LMN_OK : st;
}

static enum lmn_status unpack_one(void *context, uint32_t worker, uint64_t item,
                                  struct lmn_error *err)
{
    const struct unpacking *unpacking = context;
    const struct lmn_pack_archive *archive = &unpacking->archive[item];
    struct making making = { .open = false };
    const struct lmn__member_sink sink = { &making, begin_member, write_member, end_member };
    char place[PATH_CHARS], draft[PATH_CHARS], path[LMN__ARCHIVE_PATH_CHARS];
    struct lmn__object object;
    enum lmn_status st;

    (void)worker;
    places_of(unpacking, "archives", archive->hash, place, draft);
    if (lmn__file_is_directory(place))
        return LMN_OK;
    lmn__archive_path(archive->hash, path);
    st = lmn__object_open(unpacking->store, path, &object, err);
    if (st != LMN_OK)
        return st;
    st = making_begin(&making, draft, err);
    if (st == LMN_OK)
        st = lmn__archive_read(unpacking->store->env, &object, archive->hash, archive->bytes, &sink,
                               err);
    if (making.open)
        lmn__file_close(&making.file);
    lmn__object_close(&object);
    return st;
}

/* Unpack what is not there yet. */
static enum lmn_status unpack_archives(struct unpacking *unpacking, struct lmn_error *err)
{
    struct lmn_env *env = unpacking->store->env;
    char place[PATH_CHARS], draft[PATH_CHARS];
    enum lmn_status st = lmn__crew_run(env, env->threads, unpacking->count, unpack_one, unpacking,
                                       err);

    for (size_t i = 0; i < unpacking->count; i++) {
        places_of(unpacking, "archives", unpacking->archive[i].hash, place, draft);
        if (!lmn__file_is_directory(draft))
            continue;
        if (st == LMN_OK)
            st = publish(draft, place, err);
        else
            remove_draft(draft);
    }
    return st;
}

/* Folders whose entries are still to be linked. */
struct linking {
    struct making *making;
    const char *archive; /* the folder of an archive */
    const char *below;   /* in it, relative; "" is all of it */
    struct lmn__arena *arena;
    struct linked_folder *waiting;
};

struct linked_folder {
    const char *below;
    struct linked_folder *next;
};

static enum lmn_status wait_for(struct linking *linking, const char *below, struct lmn_error *err)
{
    struct linked_folder *folder = lmn__arena_alloc(linking->arena, sizeof *folder);

    if (folder == NULL)
        return lmn__arena_fail(linking->arena, "a folder", err);
    *folder = (struct linked_folder){ below, linking->waiting };
    linking->waiting = folder;
    return LMN_OK;
}

static enum lmn_status link_entry(void *context, const struct lmn__entry *entry,
                                  struct lmn_error *err)
{
    struct linking *linking = context;
    size_t above = strlen(linking->below), bytes = above + strlen(entry->name) + 2;
    char *below = lmn__arena_alloc(linking->arena, bytes), from[PATH_CHARS];
    enum lmn_status st;

    if (below == NULL)
        return lmn__arena_fail(linking->arena, "a path", err);
    snprintf(below, bytes, "%s%s%s", linking->below, above != 0 ? "/" : "", entry->name);
    st = set_member(linking->making, below, err);
    if (st != LMN_OK)
        return st;
    if (entry->kind == LMN__ENTRY_FOLDER) {
        st = lmn__entry_make_folder(linking->making->path, err);
        return st == LMN_OK ? wait_for(linking, below, err) : st;
    }
    if (snprintf(from, sizeof from, "%s/%s", linking->archive, below) >= PATH_CHARS)
        return lmn_fail(err, LMN_E_INVALID, "the path is too long: %.200s...", below);
    return lmn__file_link(from, linking->making->path, err);
}

/* Link everything of one archive into the folder that is made. */
static enum lmn_status link_archive(struct lmn_env *env, struct making *making, const char *archive,
                                    struct lmn_error *err)
{
    struct lmn__arena arena;
    struct linking linking = { .making = making, .archive = archive, .arena = &arena };
    char path[PATH_CHARS];
    enum lmn_status st;

    lmn__arena_init(&arena, env, 0);
    st = wait_for(&linking, "", err);
    while (st == LMN_OK && linking.waiting != NULL) {
        linking.below = linking.waiting->below;
        linking.waiting = linking.waiting->next;
        if (snprintf(path, sizeof path, "%s/%s", archive, linking.below) < PATH_CHARS)
            st = lmn__entry_list(path, link_entry, &linking, err);
        else
            st = lmn_fail(err, LMN_E_INVALID, "the path is too long: %.200s...", archive);
    }
    lmn__arena_deinit(&arena);
    return st;
}

static enum lmn_status link_tree(const struct unpacking *unpacking, const char *name,
                                 struct lmn_error *err)
{
    struct making making;
    char place[PATH_CHARS], draft[PATH_CHARS], from[PATH_CHARS];
    enum lmn_status st;

    places_of(unpacking, "trees", name, place, draft);
    if (lmn__file_is_directory(place))
        return LMN_OK;
    st = making_begin(&making, draft, err);
    for (size_t i = 0; i < unpacking->count && st == LMN_OK; i++) {
        snprintf(from, sizeof from, "%s/archives/%s", unpacking->folder,
                 unpacking->archive[i].hash);
        st = link_archive(unpacking->store->env, &making, from, err);
    }
    if (st == LMN_OK)
        return publish(draft, place, err);
    remove_draft(draft);
    return st;
}

static enum lmn_status make_folders(const char *folder, struct lmn_error *err)
{
    char path[PATH_CHARS];
    enum lmn_status st;

    if (snprintf(path, sizeof path, "%s/archives", folder) >= PATH_CHARS / 2)
        return lmn_fail(err, LMN_E_INVALID, "the path is too long: %.200s...", folder);
    st = lmn__dir_make(path, err);
    if (st != LMN_OK)
        return st;
    snprintf(path, sizeof path, "%s/trees", folder);
    return lmn__dir_make(path, err);
}

/* The name of the tree: a hash of those of its archives, which are checked. */
static enum lmn_status name_tree(const struct unpacking *unpacking, char name_out[LMN__SHA256_HEX],
                                 struct lmn_error *err)
{
    struct lmn__sha256_state state;
    uint8_t hash[LMN__SHA256_BYTES];

    lmn__sha256_start(&state);
    for (size_t i = 0; i < unpacking->count; i++) {
        const char *name = unpacking->archive[i].hash;

        if (!lmn__archive_is_hash(name))
            return lmn_fail(err, LMN_E_INVALID, "\"%.80s\" is no hash of an archive", name);
        lmn__sha256_add(&state, name, LMN__SHA256_HEX - 1);
    }
    lmn__sha256_end(&state, hash);
    lmn__sha256_digits(hash, name_out);
    return LMN_OK;
}

enum lmn_status lmn_pack_unpack(struct lmn_store *store, const char *folder,
                                const struct lmn_pack_archive *archive, size_t count,
                                char **path_out, struct lmn_error *err)
{
    struct unpacking unpacking = { store, folder, archive, count, "" };
    char name[LMN__SHA256_HEX], place[PATH_CHARS], draft[PATH_CHARS];
    enum lmn_status st;

    *path_out = NULL;
    st = name_tree(&unpacking, name, err);
    if (st == LMN_OK)
        st = make_folders(folder, err);
    if (st == LMN_OK)
        st = lmn__random_token(unpacking.token, err);
    if (st != LMN_OK)
        return st;
    places_of(&unpacking, "trees", name, place, draft);
    if (!lmn__file_is_directory(place)) {
        st = unpack_archives(&unpacking, err);
        if (st == LMN_OK)
            st = link_tree(&unpacking, name, err);
    }
    if (st == LMN_OK) {
        *path_out = lmn__text_new(store->env, place, strlen(place));
        if (*path_out == NULL)
            st = lmn__no_memory(err, "a path", strlen(place));
    }
    return st;
}
