/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Folders are walked one after the other, from a list of those still to be seen, so that depth
 * costs no stack. A folder with a pyvenv.cfg is a virtual environment, whatever its name. Links to
 * files are shipped as the files they are, links to folders are not followed: they may lead
 * anywhere, also back.
 */
#include "pack/tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/entry.h"
#include "os/file.h"

enum { IGNORE_BYTES_MAX = 1 << 20, PATH_BYTES_MAX = 4096 };

#define IGNORE_FILE ".lemanignore"

/* A folder still to be walked. */
struct folder {
    const char *path; /* relative; "" is the root */
    struct folder *next;
};

struct walk {
    struct lmn__tree *tree;
    const char *folder;
    struct folder *waiting;
    bool is_venv;
};

bool lmn__tree_path_is_safe(const uint8_t *path, size_t len)
{
    size_t start = 0;

    if (len == 0 || len > PATH_BYTES_MAX || memchr(path, '\0', len) != NULL)
        return false;
    for (size_t i = 0; i <= len; i++) {
        size_t part = i - start;

        if (i < len && path[i] != '/')
            continue;
        if (part == 0 || (part == 1 && path[start] == '.') ||
            (part == 2 && path[start] == '.' && path[start + 1] == '.'))
            return false;
        start = i + 1;
    }
    return true;
}

enum lmn_status lmn__tree_place(const struct lmn__tree *tree, const char *path, char *path_out,
                                struct lmn_error *err)
{
    int len = tree->is_file ? snprintf(path_out, LMN__TREE_PATH_CHARS, "%s", tree->root)
                            : snprintf(path_out, LMN__TREE_PATH_CHARS, "%s/%s", tree->root, path);

    if (len >= LMN__TREE_PATH_CHARS)
        return lmn_fail(err, LMN_E_INVALID, "%.200s: the path below it is too long: %.200s...",
                        tree->root, path);
    return LMN_OK;
}

static enum lmn_status add_file(struct lmn__tree *tree, const char *path,
                                const struct lmn__entry *entry, struct lmn_error *err)
{
    if (tree->count == tree->cap) {
        size_t cap = tree->cap != 0 ? 2 * tree->cap : 256;
        struct lmn__tree_file *file = lmn__arena_array(tree->arena, cap, sizeof *file);

        if (file == NULL)
            return lmn__arena_fail(tree->arena, "the list of files", err);
        if (tree->count != 0)
            memcpy(file, tree->file, tree->count * sizeof *file);
        tree->file = file;
        tree->cap = cap;
    }
    tree->file[tree->count++] = (struct lmn__tree_file){ .path = path,
                                                         .bytes = entry->bytes,
                                                         .modified_ns = entry->modified_ns,
                                                         .executable = entry->executable };
    tree->bytes += entry->bytes;
    return LMN_OK;
}

static enum lmn_status leave_out(struct lmn__tree *tree, const char *path, const char *reason,
                                 const struct lmn__entry *entry, struct lmn_error *err)
{
    tree->absent_count++;
    if (tree->absent_kept == LMN__TREE_ABSENT_MAX)
        return LMN_OK;
    if (tree->absent == NULL) {
        tree->absent = lmn__arena_array(tree->arena, LMN__TREE_ABSENT_MAX, sizeof *tree->absent);
        if (tree->absent == NULL)
            return lmn__arena_fail(tree->arena, "what is left out", err);
    }
    tree->absent[tree->absent_kept++] = (struct lmn__tree_absent){
        path, reason, entry->kind == LMN__ENTRY_FILE ? entry->bytes : 0
    };
    return LMN_OK;
}

static enum lmn_status add_folder(struct walk *walk, const char *path, struct lmn_error *err)
{
    struct folder *folder = lmn__arena_alloc(walk->tree->arena, sizeof *folder);

    if (folder == NULL)
        return lmn__arena_fail(walk->tree->arena, "a folder", err);
    *folder = (struct folder){ path, walk->waiting };
    walk->waiting = folder;
    return LMN_OK;
}

static bool is_module(const char *name)
{
    size_t len = strlen(name);

    return len > 3 && strcmp(name + len - 3, ".py") == 0;
}

/* Why an entry is left out; NULL when it is not. */
static const char *reason_of(const struct lmn__tree *tree, const char *path,
                             const struct lmn__entry *entry)
{
    bool is_folder = entry->kind == LMN__ENTRY_FOLDER;

    if (entry->kind == LMN__ENTRY_FOLDER_LINK)
        return "link to a folder";
    if (entry->kind == LMN__ENTRY_OTHER)
        return "no file";
    if (tree->flat && (is_folder || !is_module(entry->name)))
        return "no module directly in the folder";
    return lmn__rules_reason(&tree->rules, path, is_folder);
}

static enum lmn_status see_entry(void *context, const struct lmn__entry *entry,
                                 struct lmn_error *err)
{
    struct walk *walk = context;
    struct lmn__tree *tree = walk->tree;
    size_t above = strlen(walk->folder), len = strlen(entry->name);
    size_t bytes = above + (above != 0) + len;
    char *path = lmn__arena_alloc(tree->arena, bytes + 1);
    const char *reason;

    if (path == NULL)
        return lmn__arena_fail(tree->arena, "a path", err);
    snprintf(path, bytes + 1, "%s%s%s", walk->folder, above != 0 ? "/" : "", entry->name);
    if (bytes > PATH_BYTES_MAX)
        return lmn_fail(err, LMN_E_INVALID, "%.100s: a path of %zu bytes: %.200s...", tree->root,
                        bytes, path);
    if (strcmp(entry->name, "pyvenv.cfg") == 0)
        walk->is_venv = true;
    reason = reason_of(tree, path, entry);
    if (reason != NULL)
        return leave_out(tree, path, reason, entry, err);
    if (entry->kind == LMN__ENTRY_FOLDER)
        return add_folder(walk, path, err);
    return add_file(tree, path, entry, err);
}

/* Walk one folder; a virtual environment is forgotten again, unless it is the root itself. */
static enum lmn_status walk_folder(struct walk *walk, const char *path, struct lmn_error *err)
{
    struct lmn__tree *tree = walk->tree;
    const struct lmn__tree before = *tree;
    struct folder *waiting = walk->waiting;
    struct lmn__entry self = { .kind = LMN__ENTRY_FOLDER };
    char place[LMN__TREE_PATH_CHARS];
    enum lmn_status st = LMN_OK;

    walk->folder = path;
    walk->is_venv = false;
    if (path[0] == '\0')
        snprintf(place, sizeof place, "%s", tree->root);
    else
        st = lmn__tree_place(tree, path, place, err);
    if (st == LMN_OK)
        st = lmn__entry_list(place, see_entry, walk, err);
    if (st != LMN_OK || !walk->is_venv || path[0] == '\0' || tree->kind == LMN_PACK_SITE)
        return st;
    tree->count = before.count;
    tree->bytes = before.bytes;
    tree->absent_kept = before.absent_kept;
    tree->absent_count = before.absent_count;
    walk->waiting = waiting;
    return leave_out(tree, path, "virtual environment", &self, err);
}

/* The user's own rules, from the file at the top of the path. */
static enum lmn_status read_ignore(struct lmn__tree *tree, struct lmn_error *err)
{
    char place[LMN__TREE_PATH_CHARS];
    struct lmn__file file;
    uint64_t bytes;
    char *text;
    enum lmn_status st = lmn__tree_place(tree, IGNORE_FILE, place, err);

    if (st != LMN_OK)
        return st;
    st = lmn__file_open(place, LMN__FILE_READ, &file, NULL);
    if (st != LMN_OK)
        return st == LMN_E_NOT_FOUND ? LMN_OK : lmn_fail(err, st, "cannot read %s", place);
    st = lmn__file_size(&file, place, &bytes, err);
    if (st == LMN_OK && bytes > IGNORE_BYTES_MAX)
        st = lmn_fail(err, LMN_E_INVALID, "%s: %llu bytes of patterns", place,
                      (unsigned long long)bytes);
    if (st == LMN_OK) {
        text = lmn__arena_alloc(tree->arena, bytes + 1);
        st = text == NULL ? lmn__arena_fail(tree->arena, "patterns", err)
                          : lmn__file_read_at(&file, place, 0, text, bytes, err);
        if (st == LMN_OK)
            st = lmn__rules_add(&tree->rules, (struct lmn__span){ (uint8_t *)text, bytes }, NULL,
                                err);
    }
    lmn__file_close(&file);
    return st;
}

static int compare_files(const void *a, const void *b)
{
    return strcmp(((const struct lmn__tree_file *)a)->path,
                  ((const struct lmn__tree_file *)b)->path);
}

static int compare_absent(const void *a, const void *b)
{
    return strcmp(((const struct lmn__tree_absent *)a)->path,
                  ((const struct lmn__tree_absent *)b)->path);
}

static enum lmn_status walk_all(struct lmn__tree *tree, struct lmn_error *err)
{
    struct walk walk = { .tree = tree };
    enum lmn_status st = read_ignore(tree, err);

    if (st == LMN_OK)
        st = add_folder(&walk, "", err);
    while (st == LMN_OK && walk.waiting != NULL) {
        const char *path = walk.waiting->path;

        walk.waiting = walk.waiting->next;
        st = walk_folder(&walk, path, err);
    }
    if (st == LMN_OK && tree->count != 0)
        qsort(tree->file, tree->count, sizeof *tree->file, compare_files);
    if (st == LMN_OK && tree->absent_kept != 0)
        qsort(tree->absent, tree->absent_kept, sizeof *tree->absent, compare_absent);
    return st;
}

enum lmn_status lmn__tree_walk(struct lmn__tree *tree, struct lmn__arena *arena,
                               const struct lmn_pack_path *path, struct lmn_error *err)
{
    struct lmn__entry root;
    const char *name;
    size_t len = strlen(path->path);
    enum lmn_status st;

    *tree = (struct lmn__tree){ .arena = arena, .kind = path->kind, .flat = path->flat };
    while (len > 1 && path->path[len - 1] == '/')
        len--;
    if (path->path[0] != '/' || len >= PATH_BYTES_MAX)
        return lmn_fail(err, LMN_E_INVALID, "%.300s is no absolute path", path->path);
    tree->root = lmn__arena_strndup(arena, path->path, len);
    if (tree->root == NULL)
        return lmn__arena_fail(arena, "a path", err);
    st = lmn__entry_stat(tree->root, &root, err);
    if (st == LMN_OK)
        st = lmn__rules_init(&tree->rules, arena, path->kind, err);
    if (st != LMN_OK)
        return st;
    if (root.kind == LMN__ENTRY_FOLDER || root.kind == LMN__ENTRY_FOLDER_LINK)
        return walk_all(tree, err);
    if (root.kind != LMN__ENTRY_FILE)
        return lmn_fail(err, LMN_E_INVALID, "%s is neither a folder nor a file", tree->root);
    tree->is_file = true;
    name = strrchr(tree->root, '/') + 1;
    return add_file(tree, name, &root, err);
}
