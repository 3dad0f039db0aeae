/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders are listed by one thread, files are hashed by all: listing asks the system for little
 * and must know the sum before anything is read.
 */
#include <string.h>

#include "ingest/crew.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/host.h"
#include "pack/hash_cache.h"
#include "pack/pack.h"

enum { PIECE_BYTES = 128 << 10, THREADS_MAX = 64, BYTES_MAX = 500000000 };

/* The files that no cache knows; each thread has a buffer of its own. */
struct hashing {
    struct lmn_env *env;
    struct lmn__tree *tree;
    struct lmn__tree_file **file;
    uint8_t *piece[THREADS_MAX];
};

static enum lmn_status changed(const char *place, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_CONFLICT, "%s changed while it was read; plan again", place);
}

static enum lmn_status read_hash(struct lmn__tree_file *file, const char *place, uint8_t *piece,
                                 struct lmn_error *err)
{
    struct lmn__sha256_state state;
    struct lmn__file open;
    uint64_t bytes;
    enum lmn_status st = lmn__file_open(place, LMN__FILE_READ, &open, err);

    if (st == LMN_E_NOT_FOUND)
        return changed(place, err);
    if (st != LMN_OK)
        return st;
    lmn__sha256_start(&state);
    st = lmn__file_size(&open, place, &bytes, err);
    if (st == LMN_OK && bytes != file->bytes)
        st = changed(place, err);
    for (uint64_t at = 0; at < file->bytes && st == LMN_OK;) {
        size_t len = file->bytes - at < PIECE_BYTES ? (size_t)(file->bytes - at) : PIECE_BYTES;

        st = lmn__file_read_at(&open, place, at, piece, len, err);
        if (st == LMN_E_CORRUPT)
            st = changed(place, err);
        lmn__sha256_add(&state, piece, st == LMN_OK ? len : 0);
        at += len;
    }
    lmn__file_close(&open);
    lmn__sha256_end(&state, file->hash);
    file->hashed = st == LMN_OK;
    return st;
}

static enum lmn_status hash_one(void *context, uint32_t worker, uint64_t item,
                                struct lmn_error *err)
{
    struct hashing *hashing = context;
    char place[LMN__TREE_PATH_CHARS];
    enum lmn_status st = lmn__tree_place(hashing->tree, hashing->file[item]->path, place, err);

    if (st == LMN_OK && hashing->piece[worker] == NULL) {
        hashing->piece[worker] = lmn__alloc(hashing->env, PIECE_BYTES);
        if (hashing->piece[worker] == NULL)
            st = lmn__no_memory(err, "a piece of a file", PIECE_BYTES);
    }
    if (st == LMN_OK)
        st = read_hash(hashing->file[item], place, hashing->piece[worker], err);
    return st;
}

/* Hash the files of a tree that have no hash yet. */
static enum lmn_status hash_tree(struct lmn_pack *pack, struct lmn__tree *tree,
                                 struct lmn_error *err)
{
    struct hashing hashing = { .env = pack->env, .tree = tree };
    uint64_t count = 0;
    enum lmn_status st;

    hashing.file = lmn__arena_array(&pack->arena, tree->count, sizeof *hashing.file);
    if (hashing.file == NULL)
        return lmn__arena_fail(&pack->arena, "the files to hash", err);
    for (size_t i = 0; i < tree->count; i++) {
        if (tree->file[i].hashed)
            continue;
        hashing.file[count++] = &tree->file[i];
        pack->hashed_bytes += tree->file[i].bytes;
    }
    pack->hashed_count += count;
    st = lmn__crew_run(pack->env, pack->threads, count, hash_one, &hashing, err);
    for (int i = 0; i < THREADS_MAX; i++)
        lmn__free(pack->env, hashing.piece[i]);
    return st;
}

static enum lmn_status walk_trees(struct lmn_pack *pack, const struct lmn_pack_path *path,
                                  size_t count, struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    pack->tree = lmn__arena_array(&pack->arena, count, sizeof *pack->tree);
    if (pack->tree == NULL)
        return lmn__arena_fail(&pack->arena, "the paths", err);
    for (size_t i = 0; i < count && st == LMN_OK; i++) {
        struct lmn__tree *tree = &pack->tree[pack->tree_count++];

        st = lmn__tree_walk(tree, &pack->arena, &path[i], err);
        pack->bytes += tree->bytes;
        pack->file_count += tree->count;
    }
    return st;
}

static enum lmn_status hash_trees(struct lmn_pack *pack, const char *folder, int64_t started_ns,
                                  struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    for (size_t i = 0; i < pack->tree_count && st == LMN_OK; i++) {
        struct lmn__tree *tree = &pack->tree[i];
        uint64_t hashed = pack->hashed_count;

        if (folder[0] != '\0')
            lmn__hash_cache_load(pack->env, folder, tree);
        st = hash_tree(pack, tree, err);
        if (st == LMN_OK && folder[0] != '\0' && pack->hashed_count != hashed)
            lmn__hash_cache_save(pack->env, folder, tree, started_ns);
        if (st == LMN_OK)
            st = lmn__split(&pack->archives, tree, err);
    }
    for (size_t i = 0; i < pack->archives.count && st == LMN_OK; i++)
        lmn__archive_name(&pack->archives.archive[i]);
    return st;
}

static enum lmn_status cache_folder(const struct lmn_pack_options *options,
                                    char path_out[LMN__HOST_PATH_CHARS], struct lmn_error *err)
{
    char state[LMN__HOST_PATH_CHARS];
    size_t len;

    path_out[0] = '\0';
    if (options->cache_folder != NULL) {
        len = strlen(options->cache_folder);
        if (len >= LMN__HOST_PATH_CHARS)
            return lmn_fail(err, LMN_E_INVALID, "the path of the cache is too long: %.100s...",
                            options->cache_folder);
        memcpy(path_out, options->cache_folder, len + 1);
        return LMN_OK;
    }
    lmn__host_state_dir(state);
    len = strlen(state);
    if (len != 0 && len + sizeof "/hashes" <= LMN__HOST_PATH_CHARS) {
        memcpy(path_out, state, len);
        memcpy(path_out + len, "/hashes", sizeof "/hashes");
    }
    return LMN_OK;
}

static enum lmn_status scan(struct lmn_pack *pack, const struct lmn_pack_path *path, size_t count,
                            const struct lmn_pack_options *options, struct lmn_error *err)
{
    int64_t started_ns = lmn__clock_now_ns();
    uint64_t start = lmn__clock_monotonic_ns();
    char folder[LMN__HOST_PATH_CHARS];
    enum lmn_status st = cache_folder(options, folder, err);

    if (st == LMN_OK)
        st = walk_trees(pack, path, count, err);
    pack->scan_ns = lmn__clock_monotonic_ns() - start;
    if (st == LMN_OK && !lmn_pack_is_over(pack))
        st = hash_trees(pack, folder, started_ns, err);
    pack->hash_ns = lmn__clock_monotonic_ns() - start - pack->scan_ns;
    return st;
}

enum lmn_status lmn_pack_scan(struct lmn_env *env, const struct lmn_pack_path *path, size_t count,
                              const struct lmn_pack_options *options, struct lmn_pack **pack_out,
                              struct lmn_error *err)
{
    static const struct lmn_pack_options defaults;
    struct lmn_pack *pack;
    enum lmn_status st;

    *pack_out = NULL;
    options = options != NULL ? options : &defaults;
    st = lmn__env_resolve(env, &env, err);
    if (st != LMN_OK)
        return st;
    pack = lmn__calloc(env, 1, sizeof *pack);
    if (pack == NULL) {
        lmn_env_release(env);
        return lmn__no_memory(err, "a plan", sizeof *pack);
    }
    pack->env = env;
    pack->threads = options->threads != 0 ? options->threads : env->threads;
    pack->bytes_max = options->bytes_max != 0 ? options->bytes_max : BYTES_MAX;
    lmn__arena_init(&pack->arena, env, 0);
    pack->archives.arena = &pack->arena;
    st = scan(pack, path, count, options, err);
    if (st == LMN_OK)
        *pack_out = pack;
    else
        lmn_pack_free(pack);
    return st;
}

bool lmn_pack_is_over(const struct lmn_pack *pack)
{
    return pack->bytes > pack->bytes_max;
}

void lmn_pack_free(struct lmn_pack *pack)
{
    struct lmn_env *env;

    if (pack == NULL)
        return;
    env = pack->env;
    lmn__arena_deinit(&pack->arena);
    lmn__free(env, pack);
    lmn_env_release(env);
}
