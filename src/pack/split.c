/* SPDX-License-Identifier: Apache-2.0 */
#include "pack/split.h"

#include <string.h>

#include "base/hash.h"
#include "base/math.h"

enum {
    PART_BYTES = 2 << 20,
    MEMBER_BYTES = 512, /* what a file weighs besides its content */
    BUCKETS_MAX = 1 << 16,
    DEPTH_MAX = 256 /* a folder below is one archive */
};

/* A file or folder of the folder that is parted: files [first, last) of the tree. */
struct child {
    size_t first, last;
    uint64_t weight;
    uint32_t bucket;
    bool alone;
};

struct part {
    struct lmn__archives *archives;
    const struct lmn__tree *tree;
    struct child *child;
    size_t count;
};

static uint64_t weight_of(const struct lmn__tree *tree, size_t first, size_t last)
{
    uint64_t weight = 0;

    for (size_t i = first; i < last; i++)
        weight += tree->file[i].bytes + MEMBER_BYTES;
    return weight;
}

static enum lmn_status add_archive(struct lmn__archives *archives, const struct lmn__tree *tree,
                                   size_t files, struct lmn__archive **archive_out,
                                   struct lmn_error *err)
{
    struct lmn__archive *archive;

    if (archives->count == archives->cap) {
        size_t cap = archives->cap != 0 ? 2 * archives->cap : 64;

        archive = lmn__arena_array(archives->arena, cap, sizeof *archive);
        if (archive == NULL)
            return lmn__arena_fail(archives->arena, "archives", err);
        if (archives->count != 0)
            memcpy(archive, archives->archive, archives->count * sizeof *archive);
        archives->archive = archive;
        archives->cap = cap;
    }
    archive = &archives->archive[archives->count];
    *archive = (struct lmn__archive){ .tree = tree };
    archive->file = lmn__arena_array(archives->arena, files, sizeof *archive->file);
    if (archive->file == NULL)
        return lmn__arena_fail(archives->arena, "an archive", err);
    archives->count++;
    *archive_out = archive;
    return LMN_OK;
}

static void put_files(struct lmn__archive *archive, size_t first, size_t last)
{
    for (size_t i = first; i < last; i++) {
        archive->file[archive->count++] = &archive->tree->file[i];
        archive->bytes += archive->tree->file[i].bytes;
    }
}

static enum lmn_status add_whole(struct lmn__archives *archives, const struct lmn__tree *tree,
                                 size_t first, size_t last, struct lmn_error *err)
{
    struct lmn__archive *archive;
    enum lmn_status st = add_archive(archives, tree, last - first, &archive, err);

    if (st == LMN_OK)
        put_files(archive, first, last);
    return st;
}

/* Where the files of the child that starts at `first` end; its name has *len_out characters. */
static size_t child_end(const struct lmn__tree *tree, size_t first, size_t last, size_t prefix,
                        size_t *len_out)
{
    const char *name = tree->file[first].path + prefix;
    const char *slash = strchr(name, '/');
    size_t len = slash != NULL ? (size_t)(slash - name) : strlen(name), end = first + 1;

    *len_out = len;
    if (slash == NULL)
        return end;
    while (end < last && strncmp(tree->file[end].path + prefix, name, len + 1) == 0)
        end++;
    return end;
}

/* The children of a folder, and how many buckets the small ones share. */
static uint32_t list_children(struct part *part, size_t first, size_t last, size_t prefix)
{
    uint64_t shared = 0;
    uint32_t buckets = 1;

    for (size_t at = first, len; at < last; at = part->child[part->count - 1].last) {
        struct child *child = &part->child[part->count++];

        *child = (struct child){ .first = at,
                                 .last = child_end(part->tree, at, last, prefix, &len) };
        child->bucket = (uint32_t)lmn__hash64(part->tree->file[at].path + prefix, len);
        child->weight = weight_of(part->tree, child->first, child->last);
        child->alone = child->weight > PART_BYTES;
        shared += child->alone ? 0 : child->weight;
    }
    while (buckets < BUCKETS_MAX && shared / buckets > PART_BYTES)
        buckets *= 2;
    return buckets;
}

/* One archive of the small children of a bucket. */
static enum lmn_status add_bucket(struct part *part, uint32_t bucket, uint32_t buckets,
                                  struct lmn_error *err)
{
    struct lmn__archive *archive = NULL;
    size_t files = 0;
    enum lmn_status st;

    for (size_t i = 0; i < part->count; i++) {
        const struct child *child = &part->child[i];

        if (!child->alone && child->bucket % buckets == bucket)
            files += child->last - child->first;
    }
    if (files == 0)
        return LMN_OK;
    st = add_archive(part->archives, part->tree, files, &archive, err);
    for (size_t i = 0; i < part->count && st == LMN_OK; i++) {
        const struct child *child = &part->child[i];

        if (!child->alone && child->bucket % buckets == bucket)
            put_files(archive, child->first, child->last);
    }
    return st;
}

static enum lmn_status split_folder(struct lmn__archives *archives, const struct lmn__tree *tree,
                                    size_t first, size_t last, size_t prefix, uint32_t depth,
                                    struct lmn_error *err)
{
    struct part part = { .archives = archives, .tree = tree };
    enum lmn_status st = LMN_OK;
    uint32_t buckets;

    if (last - first == 1 || depth == DEPTH_MAX || weight_of(tree, first, last) <= PART_BYTES)
        return add_whole(archives, tree, first, last, err);
    part.child = lmn__arena_array(archives->arena, last - first, sizeof *part.child);
    if (part.child == NULL)
        return lmn__arena_fail(archives->arena, "the parts of a folder", err);
    buckets = list_children(&part, first, last, prefix);
    for (uint32_t bucket = 0; bucket < buckets && st == LMN_OK; bucket++)
        st = add_bucket(&part, bucket, buckets, err);
    for (size_t i = 0; i < part.count && st == LMN_OK; i++) {
        const struct child *child = &part.child[i];
        const char *slash = strchr(tree->file[child->first].path + prefix, '/');

        if (!child->alone)
            continue;
        st = slash == NULL ? add_whole(archives, tree, child->first, child->last, err)
                           : split_folder(archives, tree, child->first, child->last,
                                          (size_t)(slash - tree->file[child->first].path) + 1,
                                          depth + 1, err);
    }
    return st;
}

enum lmn_status lmn__split(struct lmn__archives *archives, const struct lmn__tree *tree,
                           struct lmn_error *err)
{
    if (tree->count == 0)
        return LMN_OK;
    return split_folder(archives, tree, 0, tree->count, 0, 0, err);
}

void lmn__archive_name_member(struct lmn__sha256_state *state, const char *path, bool executable,
                              uint64_t bytes, const uint8_t hash[LMN__SHA256_BYTES])
{
    uint8_t tail[9];

    tail[0] = executable ? 'x' : '-';
    lmn__store_u64(tail + 1, bytes);
    lmn__sha256_add(state, path, strlen(path) + 1);
    lmn__sha256_add(state, tail, sizeof tail);
    lmn__sha256_add(state, hash, LMN__SHA256_BYTES);
}

void lmn__archive_name(struct lmn__archive *archive)
{
    struct lmn__sha256_state state;
    uint8_t hash[LMN__SHA256_BYTES];

    lmn__sha256_start(&state);
    for (size_t i = 0; i < archive->count; i++) {
        const struct lmn__tree_file *file = archive->file[i];

        lmn__archive_name_member(&state, file->path, file->executable, file->bytes, file->hash);
    }
    lmn__sha256_end(&state, hash);
    lmn__sha256_digits(hash, archive->hash);
}
