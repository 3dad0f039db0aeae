/* SPDX-License-Identifier: Apache-2.0 */
#include "table/named_files.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "table/deletion.h"

enum { PATH_BYTES = 1024, ROOM_MIN = 1024, UUID_BYTES = 16 };

void lmn__named_files_init(struct lmn__named_files *files, struct lmn_env *env)
{
    *files = (struct lmn__named_files){ .env = env };
    lmn__arena_init(&files->arena, env, 0);
}

void lmn__named_files_deinit(struct lmn__named_files *files)
{
    lmn__free(files->env, files->slot);
    lmn__arena_deinit(&files->arena);
}

/* Where the path is, or would be; there is a free place. */
static struct lmn__named_file *place_of(struct lmn__named_file *slot, uint64_t room,
                                        const char *path)
{
    uint64_t at = lmn__hash64(path, strlen(path)) & (room - 1);

    while (slot[at].path != NULL && strcmp(slot[at].path, path) != 0)
        at = (at + 1) & (room - 1);
    return &slot[at];
}

static enum lmn_status grow(struct lmn__named_files *files, struct lmn_error *err)
{
    uint64_t room = files->room != 0 ? files->room * 2 : ROOM_MIN;
    struct lmn__named_file *slot;

    if (files->count < files->room / 2)
        return LMN_OK;
    slot = lmn__calloc(files->env, room, sizeof *slot);
    if (slot == NULL)
        return lmn__no_memory(err, "a list of files", room * sizeof *slot);
    for (uint64_t i = 0; i < files->room; i++) {
        if (files->slot[i].path != NULL)
            *place_of(slot, room, files->slot[i].path) = files->slot[i];
    }
    lmn__free(files->env, files->slot);
    files->slot = slot;
    files->room = room;
    return LMN_OK;
}

static enum lmn_status add_path(struct lmn__named_files *files, const char *path, bool kept,
                                struct lmn_error *err)
{
    struct lmn__named_file *place;
    enum lmn_status st = grow(files, err);

    if (st != LMN_OK)
        return st;
    place = place_of(files->slot, files->room, path);
    if (place->path == NULL) {
        place->path = lmn__arena_strndup(&files->arena, path, strlen(path));
        if (place->path == NULL)
            return lmn__arena_fail(&files->arena, "a list of files", err);
        files->count++;
    }
    place->kept = place->kept || kept;
    return LMN_OK;
}

/* `folder`/`name`, which comes from a manifest. */
static enum lmn_status add_name(struct lmn__named_files *files, const char *folder,
                                struct lmn__span name, bool kept, struct lmn_error *err)
{
    char path[PATH_BYTES];

    if (strlen(folder) + name.len + 2 > sizeof path)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "a file of %s with a name of %zu bytes", folder,
                        name.len);
    snprintf(path, sizeof path, "%s/%.*s", folder, (int)name.len, (const char *)name.data);
    return add_path(files, path, kept, err);
}

static enum lmn_status add_fragment(struct lmn__named_files *files,
                                    const struct lmn__pb_fragment *fragment, bool kept,
                                    struct lmn_error *err)
{
    const struct lmn__pb_data_file *file = fragment->files.item;
    char path[PATH_BYTES];
    enum lmn_status st = LMN_OK;

    if (fragment->overlays.count != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED, "fragment %llu has overlay files",
                        (unsigned long long)fragment->id);
    for (size_t i = 0; st == LMN_OK && i < fragment->files.count; i++)
        st = add_name(files, "data", file[i].path, kept, err);
    if (st != LMN_OK || fragment->deletion == NULL)
        return st;
    lmn__deletion_path(fragment->id, fragment->deletion, path, sizeof path);
    return add_path(files, path, kept, err);
}

static enum lmn_status add_index(struct lmn__named_files *files, const struct lmn__pb_index *index,
                                 bool kept, struct lmn_error *err)
{
    struct lmn__pb_uuid uuid = { 0 };
    char text[64];
    size_t at = 0;
    enum lmn_status st = lmn__pb_decode(&lmn__pb_uuid_message, index->uuid, &files->arena, &uuid,
                                        err);

    if (st != LMN_OK)
        return st;
    if (uuid.bytes.len != UUID_BYTES)
        return lmn_fail(err, LMN_E_CORRUPT, "an index whose uuid has %zu bytes", uuid.bytes.len);
    for (size_t i = 0; i < UUID_BYTES; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%02x",
                               i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "",
                               uuid.bytes.data[i]);
    return add_name(files, "_indices", (struct lmn__span){ (const uint8_t *)text, at }, kept, err);
}

static enum lmn_status add_indices(struct lmn__named_files *files,
                                   const struct lmn__manifest *manifest, bool kept,
                                   struct lmn_error *err)
{
    struct lmn__pb_index_section section = { 0 };
    struct lmn__arena arena;
    enum lmn_status st;

    if (manifest->index_section.data == NULL)
        return LMN_OK;
    lmn__arena_init(&arena, files->env, 0);
    st = lmn__pb_decode(&lmn__pb_index_section_message, manifest->index_section, &arena, &section,
                        err);
    for (size_t i = 0; st == LMN_OK && i < section.indices.count; i++)
        st = add_index(files, (const struct lmn__pb_index *)section.indices.item + i, kept, err);
    lmn__arena_deinit(&arena);
    return st;
}

enum lmn_status lmn__named_files_add(struct lmn__named_files *files,
                                     const struct lmn__manifest *manifest, bool kept,
                                     struct lmn_error *err)
{
    enum lmn_status st = add_indices(files, manifest, kept, err);

    if (st == LMN_OK && manifest->pb.transaction_file.len != 0)
        st = add_name(files, "_transactions", manifest->pb.transaction_file, kept, err);
    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(manifest); i++) {
        struct lmn__pb_fragment fragment;
        struct lmn__arena arena;

        lmn__arena_init(&arena, files->env, 0);
        st = lmn__manifest_fragment(manifest, i, &arena, &fragment, err);
        if (st == LMN_OK)
            st = add_fragment(files, &fragment, kept, err);
        lmn__arena_deinit(&arena);
    }
    return st;
}

const struct lmn__named_file *lmn__named_files_find(const struct lmn__named_files *files,
                                                    const char *path)
{
    const struct lmn__named_file *place;

    if (files->count == 0)
        return NULL;
    place = place_of(files->slot, files->room, path);
    return place->path != NULL ? place : NULL;
}
