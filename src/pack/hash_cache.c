/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One file per root, little-endian:
 *
 *   "LMNPACK1"
 *   u16 length, root
 *   u32 count
 *   count x { u16 length, path; u64 bytes; i64 modified_ns; 32 bytes of SHA-256 }, paths ascending
 *   u64 XXH3 of all before
 *
 * Both sides are sorted, so they are compared in one pass.
 */
#include "pack/hash_cache.h"

#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "store/draft.h"
#include "store/object.h"

enum {
    MAGIC_BYTES = 8,
    CHECK_BYTES = 8,
    STAMP_BYTES = 16,
    CACHE_BYTES_MAX = 1 << 30,
    NAME_CHARS = 48,
    NAME_DIGITS = 32
};

static const char magic[MAGIC_BYTES + 1] = "LMNPACK1";

/* The clocks of file systems tick at least this often. */
static const int64_t moment_ns = 2000000000;

struct record {
    struct lmn__span path;
    uint64_t bytes;
    int64_t modified_ns;
    const uint8_t *hash;
};

static bool take(struct lmn__span *rest, size_t len, const uint8_t **data_out)
{
    if (len > rest->len)
        return false;
    *data_out = rest->data;
    *rest = (struct lmn__span){ rest->data + len, rest->len - len };
    return true;
}

static bool take_text(struct lmn__span *rest, struct lmn__span *text_out)
{
    const uint8_t *at;
    size_t len;

    if (!take(rest, 2, &at))
        return false;
    len = lmn__load_u16(at);
    if (!take(rest, len, &at))
        return false;
    *text_out = (struct lmn__span){ at, len };
    return true;
}

static bool take_record(struct lmn__span *rest, struct record *record)
{
    const uint8_t *at;

    if (!take_text(rest, &record->path) || !take(rest, STAMP_BYTES, &at))
        return false;
    record->bytes = lmn__load_u64(at);
    record->modified_ns = (int64_t)lmn__load_u64(at + 8);
    return take(rest, LMN__SHA256_BYTES, &record->hash);
}

static int compare(struct lmn__span a, struct lmn__span b)
{
    size_t len = a.len < b.len ? a.len : b.len;
    int order = len != 0 ? memcmp(a.data, b.data, len) : 0;

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

/* Check the frame; *rest_out are the records. */
static bool open_frame(const struct lmn__tree *tree, struct lmn__span bytes,
                       struct lmn__span *rest_out, uint32_t *count_out)
{
    struct lmn__span rest = bytes, root;
    const uint8_t *at;

    if (bytes.len < CHECK_BYTES)
        return false;
    rest.len -= CHECK_BYTES;
    if (lmn__load_u64(rest.data + rest.len) != lmn__hash64(rest.data, rest.len))
        return false;
    if (!take(&rest, MAGIC_BYTES, &at) || memcmp(at, magic, MAGIC_BYTES) != 0)
        return false;
    if (!take_text(&rest, &root) || root.len != strlen(tree->root) ||
        memcmp(root.data, tree->root, root.len) != 0 || !take(&rest, 4, &at))
        return false;
    *count_out = lmn__load_u32(at);
    *rest_out = rest;
    return true;
}

/* Give record's hash to the file of its path, if there is one; *next moves on. */
static void apply_record(struct lmn__tree *tree, const struct record *record, size_t *next)
{
    while (*next < tree->count) {
        struct lmn__tree_file *file = &tree->file[*next];
        struct lmn__span path = { (const uint8_t *)file->path, strlen(file->path) };
        int order = compare(path, record->path);

        if (order > 0)
            return;
        (*next)++;
        if (order == 0) {
            if (file->bytes == record->bytes && file->modified_ns == record->modified_ns) {
                memcpy(file->hash, record->hash, sizeof file->hash);
                file->hashed = true;
            }
            return;
        }
    }
}

enum lmn_status lmn__hash_cache_apply(struct lmn__tree *tree, struct lmn__span bytes,
                                      struct lmn_error *err)
{
    struct lmn__span rest, before = { NULL, 0 };
    struct record record;
    uint32_t count;
    size_t next = 0;

    if (!open_frame(tree, bytes, &rest, &count))
        goto corrupt;
    for (uint32_t i = 0; i < count; i++) {
        if (!take_record(&rest, &record) || (i != 0 && compare(before, record.path) >= 0))
            goto corrupt;
        apply_record(tree, &record, &next);
        before = record.path;
    }
    if (rest.len == 0)
        return LMN_OK;
corrupt:
    for (size_t i = 0; i < tree->count; i++)
        tree->file[i].hashed = false;
    return lmn_fail(err, LMN_E_CORRUPT, "%s: the cache of its hashes is damaged, or of another",
                    tree->root);
}

static bool is_settled(const struct lmn__tree_file *file, int64_t started_ns)
{
    return file->hashed && file->modified_ns < started_ns - moment_ns &&
           strlen(file->path) <= UINT16_MAX;
}

enum lmn_status lmn__hash_cache_write(const struct lmn__tree *tree, int64_t started_ns,
                                      struct lmn__buf *buf, struct lmn_error *err)
{
    size_t start = buf->len;
    uint32_t count = 0;

    for (size_t i = 0; i < tree->count; i++)
        count += is_settled(&tree->file[i], started_ns);
    lmn__buf_put(buf, magic, MAGIC_BYTES);
    lmn__buf_put_u16(buf, (uint16_t)strlen(tree->root));
    lmn__buf_put(buf, tree->root, strlen(tree->root));
    lmn__buf_put_u32(buf, count);
    for (size_t i = 0; i < tree->count; i++) {
        const struct lmn__tree_file *file = &tree->file[i];

        if (!is_settled(file, started_ns))
            continue;
        lmn__buf_put_u16(buf, (uint16_t)strlen(file->path));
        lmn__buf_put(buf, file->path, strlen(file->path));
        lmn__buf_put_u64(buf, file->bytes);
        lmn__buf_put_u64(buf, (uint64_t)file->modified_ns);
        lmn__buf_put(buf, file->hash, sizeof file->hash);
    }
    if (!buf->failed)
        lmn__buf_put_u64(buf, lmn__hash64(buf->data + start, buf->len - start));
    return lmn__buf_status(buf, "the cache of hashes", err);
}

/* The name of the file for a root. */
static void name_of(const struct lmn__tree *tree, char name_out[NAME_CHARS])
{
    char hex[LMN__SHA256_HEX];

    lmn__sha256_hex(tree->root, strlen(tree->root), hex);
    snprintf(name_out, NAME_CHARS, "%.*s.hashes", NAME_DIGITS, hex);
}

void lmn__hash_cache_load(struct lmn_env *env, const char *folder, struct lmn__tree *tree)
{
    struct lmn_store *store = NULL;
    struct lmn__object object = { 0 };
    char name[NAME_CHARS];
    uint8_t *data = NULL;
    enum lmn_status st;

    name_of(tree, name);
    st = lmn_store_open_local(env, folder, &store, NULL);
    if (st == LMN_OK)
        st = lmn__object_open(store, name, &object, NULL);
    if (st == LMN_OK && object.bytes <= CACHE_BYTES_MAX) {
        data = lmn__alloc(env, object.bytes);
        if (data != NULL && lmn__object_read(&object, 0, data, object.bytes, NULL) == LMN_OK)
            st = lmn__hash_cache_apply(tree, (struct lmn__span){ data, object.bytes }, NULL);
    }
    (void)st;
    lmn__free(env, data);
    lmn__object_close(&object);
    lmn_store_release(store);
}

void lmn__hash_cache_save(struct lmn_env *env, const char *folder, const struct lmn__tree *tree,
                          int64_t started_ns)
{
    struct lmn_store *store = NULL;
    struct lmn__buf buf;
    char name[NAME_CHARS];
    enum lmn_status st;

    name_of(tree, name);
    lmn__buf_init(&buf, env, CACHE_BYTES_MAX);
    st = lmn_store_open_local(env, folder, &store, NULL);
    if (st == LMN_OK)
        st = lmn__hash_cache_write(tree, started_ns, &buf, NULL);
    if (st == LMN_OK)
        st = lmn__store_put(store, name, LMN__PUBLISH_REPLACE, buf.data, buf.len, NULL);
    (void)st;
    lmn__buf_deinit(&buf);
    lmn_store_release(store);
}
