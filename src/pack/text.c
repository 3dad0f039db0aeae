/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The largest paths are those that a user can do something about: of a folder that has nearly all
 * of its bytes in one place, it is that place.
 */
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "base/text.h"
#include "pack/pack.h"

enum { LARGEST = 10, NS_PER_MS = 1000000 };

/* A file or folder: files [first, last) of a tree share this much of their paths. */
struct place {
    const struct lmn__tree *tree;
    size_t first, last, len;
    uint64_t bytes;
};

/* The child of `parent` that starts with file `first`; its path goes to the slash, or the end. */
static struct place child_of(const struct place *parent, size_t first)
{
    const struct lmn__tree *tree = parent->tree;
    const char *path = tree->file[first].path, *slash = strchr(path + parent->len, '/');
    size_t len = slash != NULL ? (size_t)(slash - path) + 1 : strlen(path);
    struct place child = { .tree = tree, .first = first, .last = first, .len = len };

    do
        child.bytes += tree->file[child.last++].bytes;
    while (slash != NULL && child.last < parent->last &&
           strncmp(tree->file[child.last].path, path, len) == 0);
    return child;
}

static void keep_largest(struct place largest[LARGEST], struct place place)
{
    for (int i = 0; i < LARGEST; i++) {
        struct place lower = largest[i];

        if (lower.tree != NULL && lower.bytes >= place.bytes)
            continue;
        largest[i] = place;
        if (lower.tree == NULL)
            return;
        place = lower;
    }
}

/* Go down while one child has nine tenths of the bytes. */
static struct place heart_of(struct place place)
{
    for (;;) {
        struct place heavy = { .tree = NULL };

        if (place.tree->file[place.first].path[place.len - 1] != '/')
            return place;
        for (size_t at = place.first; at < place.last;) {
            struct place child = child_of(&place, at);

            if (child.bytes > place.bytes / 10 * 9)
                heavy = child;
            at = child.last;
        }
        if (heavy.tree == NULL)
            return place;
        place = heavy;
    }
}

static void write_largest(const struct lmn_pack *pack, struct lmn__json_writer *json)
{
    struct place largest[LARGEST] = { { .tree = NULL } };

    for (size_t i = 0; i < pack->tree_count; i++) {
        const struct lmn__tree *tree = &pack->tree[i];
        struct place top = { .tree = tree, .last = tree->count };

        for (size_t at = 0; at < tree->count;) {
            struct place child = child_of(&top, at);

            keep_largest(largest, heart_of(child));
            at = child.last;
        }
    }
    lmn__json_open(json, "largest", '[');
    for (int i = 0; i < LARGEST && largest[i].tree != NULL; i++) {
        const struct lmn__tree *tree = largest[i].tree;
        char path[LMN__TREE_PATH_CHARS];

        if (tree->is_file)
            snprintf(path, sizeof path, "%s", tree->root);
        else
            snprintf(path, sizeof path, "%s/%.*s", tree->root, (int)largest[i].len,
                     tree->file[largest[i].first].path);
        lmn__json_open(json, NULL, '{');
        lmn__json_text(json, "path", path);
        lmn__json_number(json, "bytes", largest[i].bytes);
        lmn__json_close(json, '}');
    }
    lmn__json_close(json, ']');
}

static void write_left_out(const struct lmn__tree *tree, struct lmn__json_writer *json)
{
    lmn__json_number(json, "left_out_count", tree->absent_count);
    lmn__json_open(json, "left_out", '[');
    for (size_t i = 0; i < tree->absent_kept; i++) {
        lmn__json_open(json, NULL, '{');
        lmn__json_text(json, "path", tree->absent[i].path);
        lmn__json_text(json, "reason", tree->absent[i].reason);
        lmn__json_number(json, "bytes", tree->absent[i].bytes);
        lmn__json_close(json, '}');
    }
    lmn__json_close(json, ']');
}

static void write_tree(const struct lmn_pack *pack, const struct lmn__tree *tree,
                       struct lmn__json_writer *json)
{
    static const char *const kinds[] = { [LMN_PACK_WORKSPACE] = "workspace",
                                         [LMN_PACK_SITE] = "site-packages",
                                         [LMN_PACK_OTHER] = "other" };

    lmn__json_open(json, NULL, '{');
    lmn__json_text(json, "path", tree->root);
    lmn__json_text(json, "kind", kinds[tree->kind]);
    lmn__json_bool(json, "flat", tree->flat);
    lmn__json_bool(json, "is_file", tree->is_file);
    lmn__json_number(json, "files", tree->count);
    lmn__json_number(json, "bytes", tree->bytes);
    lmn__json_open(json, "archives", '[');
    for (size_t i = 0; i < pack->archives.count; i++) {
        const struct lmn__archive *archive = &pack->archives.archive[i];

        if (archive->tree != tree)
            continue;
        lmn__json_open(json, NULL, '{');
        lmn__json_text(json, "hash", archive->hash);
        lmn__json_number(json, "files", archive->count);
        lmn__json_number(json, "bytes", archive->bytes);
        lmn__json_close(json, '}');
    }
    lmn__json_close(json, ']');
    write_left_out(tree, json);
    lmn__json_close(json, '}');
}

enum lmn_status lmn_pack_text(const struct lmn_pack *pack, char **text_out, struct lmn_error *err)
{
    struct lmn__buf buf;
    struct lmn__json_writer json = { .buf = &buf };
    enum lmn_status st;

    *text_out = NULL;
    lmn__buf_init(&buf, pack->env, 0);
    lmn__json_open(&json, NULL, '{');
    lmn__json_number(&json, "bytes", pack->bytes);
    lmn__json_number(&json, "bytes_max", pack->bytes_max);
    lmn__json_bool(&json, "over", lmn_pack_is_over(pack));
    lmn__json_number(&json, "files", pack->file_count);
    lmn__json_number(&json, "files_hashed", pack->hashed_count);
    lmn__json_number(&json, "bytes_hashed", pack->hashed_bytes);
    lmn__json_number(&json, "scan_ms", pack->scan_ns / NS_PER_MS);
    lmn__json_number(&json, "hash_ms", pack->hash_ns / NS_PER_MS);
    write_largest(pack, &json);
    lmn__json_open(&json, "paths", '[');
    for (size_t i = 0; i < pack->tree_count; i++)
        write_tree(pack, &pack->tree[i], &json);
    lmn__json_close(&json, ']');
    lmn__json_close(&json, '}');
    st = lmn__buf_status(&buf, "the text of a plan", err);
    if (st == LMN_OK) {
        *text_out = lmn__text_new(pack->env, buf.data, buf.len);
        if (*text_out == NULL)
            st = lmn__no_memory(err, "the text of a plan", buf.len);
    }
    lmn__buf_deinit(&buf);
    return st;
}
