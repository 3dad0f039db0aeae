/* SPDX-License-Identifier: Apache-2.0 */
#include "table/tags.h"

#include <leman/table_versions.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/math.h"
#include "base/proto.h"
#include "os/clock.h"
#include "store/draft.h"
#include "store/object.h"
#include "table/table.h"
#include "table/versions.h"

enum { TAG_BYTES_MAX = 1 << 20, PATH_BYTES = LMN__TAG_NAME_BYTES + 32 };

static enum lmn_status parse_tag(struct lmn__span text, struct lmn__tag *tag, struct lmn_error *err)
{
    struct lmn__span value;
    enum lmn_status st = lmn__json_member(text, "version", &value, err);

    if (st == LMN_OK && !lmn__json_to_u64(value, &tag->version))
        st = lmn_fail(err, LMN_E_CORRUPT, "it names no version");
    if (st == LMN_OK)
        st = lmn__json_member(text, "manifestSize", &value, err);
    if (st == LMN_OK && value.data != NULL && !lmn__json_to_u64(value, &tag->manifest_bytes))
        st = lmn_fail(err, LMN_E_CORRUPT, "its manifestSize is no number");
    if (st == LMN_OK)
        st = lmn__json_member(text, "branch", &value, err);
    if (st == LMN_OK && value.data != NULL && !lmn__span_equal(value, "null") &&
        !lmn__json_to_text(value, tag->branch, sizeof tag->branch))
        st = lmn_fail(err, LMN_E_CORRUPT, "its branch is no name");
    return st;
}

static enum lmn_status read_tag(struct lmn_store *store, const char *path, struct lmn__tag *tag,
                                struct lmn_error *err)
{
    struct lmn__object object;
    struct lmn__block *block = NULL;
    enum lmn_status st = lmn__object_open(store, path, &object, err);

    if (st != LMN_OK)
        return st;
    if (object.bytes > TAG_BYTES_MAX)
        st = lmn_fail(err, LMN_E_CORRUPT, "a tag of %llu bytes", (unsigned long long)object.bytes);
    else
        st = lmn__object_read_block(&object, 0, object.bytes, &block, err);
    if (st == LMN_OK)
        st = parse_tag((struct lmn__span){ block->data, object.bytes }, tag, err);
    lmn__block_release(block);
    lmn__object_close(&object);
    return st;
}

enum lmn_status lmn__tag_check_name(const char *name, struct lmn_error *err)
{
    size_t len = strlen(name);

    if (len == 0 || len >= LMN__TAG_NAME_BYTES || name[0] == '.' || strstr(name, "..") != NULL)
        return lmn_fail(err, LMN_E_INVALID, "\"%.100s\" is no name for a tag", name);
    for (size_t i = 0; i < len; i++) {
        char c = name[i];

        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              strchr("._-", c) != NULL))
            return lmn_fail(err, LMN_E_INVALID,
                            "\"%.100s\" is no name for a tag: letters, digits, '.', '_' and '-' "
                            "are",
                            name);
    }
    return LMN_OK;
}

enum lmn_status lmn__tag_read(struct lmn_store *store, const char *name, struct lmn__tag *tag_out,
                              struct lmn_error *err)
{
    char path[PATH_BYTES];
    enum lmn_status st = lmn__tag_check_name(name, err);

    *tag_out = (struct lmn__tag){ 0 };
    if (st != LMN_OK)
        return st;
    snprintf(tag_out->name, sizeof tag_out->name, "%s", name);
    snprintf(path, sizeof path, "_refs/tags/%s.json", name);
    st = read_tag(store, path, tag_out, err);
    if (st == LMN_E_NOT_FOUND)
        return lmn_fail(err, st, "%.300s has no tag \"%.100s\"", store->name, name);
    if (st != LMN_OK)
        lmn__fail_within(err, st, "%.200s: tag \"%.100s\"", store->name, name);
    return st;
}

/* Names of the files of a folder that end in ".json", without that. */
struct listing {
    struct lmn__arena *arena;
    struct lmn_tag_entry *entry;
    uint64_t count, room;
};

/* The name as its user writes it: "a%2Fb" is the file of "a/b". */
static void put_slashes(char *name)
{
    static const char slash[] = "%2F";
    char *to = name;

    for (const char *at = name; *at != '\0'; to++) {
        bool found = strncmp(at, slash, sizeof slash - 1) == 0;

        *to = found ? '/' : *at;
        at += found ? sizeof slash - 1 : 1;
    }
    *to = '\0';
}

static enum lmn_status see_entry(void *context, const char *name, bool is_directory,
                                 struct lmn_error *err)
{
    static const char suffix[] = ".json";
    struct listing *listing = context;
    size_t len = strlen(name), tail = sizeof suffix - 1;
    char *own;

    if (is_directory || len <= tail || strcmp(name + len - tail, suffix) != 0)
        return LMN_OK;
    if (listing->count == listing->room) {
        uint64_t room = listing->room != 0 ? listing->room * 2 : 16;
        struct lmn_tag_entry *grown = lmn__arena_array(listing->arena, room, sizeof *grown);

        if (grown == NULL)
            return lmn__arena_fail(listing->arena, "a list of tags", err);
        if (listing->count != 0)
            memcpy(grown, listing->entry, listing->count * sizeof *grown);
        listing->entry = grown;
        listing->room = room;
    }
    own = lmn__arena_strndup(listing->arena, name, len - tail);
    if (own == NULL)
        return lmn__arena_fail(listing->arena, "a list of tags", err);
    put_slashes(own);
    listing->entry[listing->count].name = own;
    listing->entry[listing->count++].branch = "";
    return LMN_OK;
}

static int compare_tags(const void *a, const void *b)
{
    return strcmp(((const struct lmn_tag_entry *)a)->name, ((const struct lmn_tag_entry *)b)->name);
}

/* What a name stands for. */
typedef enum lmn_status (*fill_fn)(struct lmn_table *table, struct lmn__arena *arena,
                                   struct lmn_tag_entry *entry, struct lmn_error *err);

static enum lmn_status fill_tag(struct lmn_table *table, struct lmn__arena *arena,
                                struct lmn_tag_entry *entry, struct lmn_error *err)
{
    struct lmn__tag tag;
    enum lmn_status st = lmn__tag_read(table->store, entry->name, &tag, err);

    if (st != LMN_OK)
        return st;
    entry->version = tag.version;
    entry->branch = lmn__arena_strndup(arena, tag.branch, strlen(tag.branch));
    return entry->branch != NULL ? LMN_OK : lmn__arena_fail(arena, "a list of tags", err);
}

static enum lmn_status fill_branch(struct lmn_table *table, struct lmn__arena *arena,
                                   struct lmn_tag_entry *entry, struct lmn_error *err)
{
    struct lmn_table_options options = { .branch = entry->name };
    struct lmn_table *branch;
    enum lmn_status st = lmn_table_open(table->store, &options, &branch, err);

    (void)arena;
    if (st != LMN_OK)
        return st;
    entry->branch = entry->name;
    entry->version = lmn_table_version(branch);
    lmn_table_release(branch);
    return LMN_OK;
}

static enum lmn_status list_names(struct lmn_table *table, const char *folder, fill_fn fill,
                                  struct lmn_tag_list *list_out, struct lmn_error *err)
{
    struct listing listing = { .arena = lmn__arena_new(table->env) };
    enum lmn_status st;

    *list_out = (struct lmn_tag_list){ 0 };
    if (listing.arena == NULL)
        return lmn__no_memory(err, "a list of tags", 0);
    st = table->store->ops->list(table->store, folder, see_entry, &listing, err);
    for (uint64_t i = 0; st == LMN_OK && i < listing.count; i++)
        st = fill(table, listing.arena, &listing.entry[i], err);
    if (st != LMN_OK) {
        lmn__arena_free(listing.arena);
        return st;
    }
    if (listing.count != 0)
        qsort(listing.entry, listing.count, sizeof *listing.entry, compare_tags);
    *list_out = (struct lmn_tag_list){ listing.entry, listing.count, listing.arena };
    return LMN_OK;
}

enum lmn_status lmn_table_tags(struct lmn_table *table, struct lmn_tag_list *list_out,
                               struct lmn_error *err)
{
    return list_names(table, "_refs/tags", fill_tag, list_out, err);
}

enum lmn_status lmn_table_branches(struct lmn_table *table, struct lmn_tag_list *list_out,
                                   struct lmn_error *err)
{
    return list_names(table, "_refs/branches", fill_branch, list_out, err);
}

/* A version that needs what this library does not know is there all the same. */
static enum lmn_status check_tag(struct lmn_table *table, const char *name,
                                 lmn__tag_finding_fn found, void *context, struct lmn_error *err)
{
    const struct lmn_table_options options = { .tag = name };
    struct lmn_table *tagged;
    enum lmn_status st = lmn_table_open(table->store, &options, &tagged, err);

    lmn_table_release(tagged);
    if (st == LMN_OK || st == LMN_E_UNSUPPORTED)
        return LMN_OK;
    if (st == LMN_E_NO_MEMORY)
        return st;
    found(context, name, err->message);
    return LMN_OK;
}

enum lmn_status lmn__tags_check(struct lmn_table *table, lmn__tag_finding_fn found, void *context,
                                struct lmn_error *err)
{
    struct listing listing = { .arena = lmn__arena_new(table->env) };
    struct lmn_error own;
    enum lmn_status st;

    err = err != NULL ? err : &own;
    if (listing.arena == NULL)
        return lmn__no_memory(err, "a list of tags", 0);
    st = table->store->ops->list(table->store, "_refs/tags", see_entry, &listing, err);
    if (listing.count != 0)
        qsort(listing.entry, listing.count, sizeof *listing.entry, compare_tags);
    for (uint64_t i = 0; st == LMN_OK && i < listing.count; i++)
        st = check_tag(table, listing.entry[i].name, found, context, err);
    lmn__arena_free(listing.arena);
    return st;
}

void lmn_tag_list_free(struct lmn_tag_list *list)
{
    lmn__arena_free(list->memory);
    *list = (struct lmn_tag_list){ 0 };
}

/* The name of a tag that may be made or taken away, which a branch has none of. */
static enum lmn_status check_change(struct lmn_table *table, const char *name,
                                    struct lmn_error *err)
{
    struct lmn__manifest *manifest = lmn__table_manifest(table);
    struct lmn__span branch = manifest->pb.branch;
    enum lmn_status st = lmn__tag_check_name(name, err);

    if (st == LMN_OK && branch.len != 0)
        st = lmn_fail(err, LMN_E_UNSUPPORTED,
                      "branch \"%.*s\" is open for reading; its versions get no tags",
                      (int)lmn__min_u64(branch.len, 100), (const char *)branch.data);
    lmn__manifest_release(manifest);
    return st;
}

/* What a tag keeps that is moved: when it was made, and what others have noted of it. */
struct kept {
    struct lmn__block *block; /* the file; NULL: there is nothing */
    struct lmn__span created, metadata;
};

/* What cannot be read as a tag is replaced. */
static enum lmn_status read_kept(struct lmn_store *store, const char *path, struct kept *kept,
                                 struct lmn_error *err)
{
    struct lmn__object object;
    struct lmn__span text;
    enum lmn_status st = lmn__object_open(store, path, &object, err);

    if (st != LMN_OK)
        return st == LMN_E_NOT_FOUND ? LMN_OK : st;
    if (object.bytes <= TAG_BYTES_MAX)
        st = lmn__object_read_block(&object, 0, object.bytes, &kept->block, err);
    if (st == LMN_OK && kept->block != NULL) {
        text = (struct lmn__span){ kept->block->data, object.bytes };
        if (lmn__json_member(text, "createdAt", &kept->created, NULL) != LMN_OK ||
            lmn__json_member(text, "metadata", &kept->metadata, NULL) != LMN_OK)
            kept->created = kept->metadata = (struct lmn__span){ 0 };
    }
    lmn__object_close(&object);
    return st;
}

static enum lmn_status write_tag(struct lmn_table *table, const char *path,
                                 const struct lmn__manifest *manifest, bool move,
                                 const struct kept *kept, struct lmn_error *err)
{
    size_t bytes = kept->created.len + kept->metadata.len + 512;
    char *text = lmn__calloc(table->env, 1, bytes), now[64], made[80];
    struct lmn__span created = kept->created, metadata = kept->metadata;
    enum lmn_status st;
    int len;

    if (text == NULL)
        return lmn__no_memory(err, "a tag", bytes);
    lmn__clock_text(lmn__clock_now_ns(), now, sizeof now);
    snprintf(made, sizeof made, "\"%s\"", now);
    if (created.data == NULL)
        created = (struct lmn__span){ (const uint8_t *)made, strlen(made) };
    if (metadata.data == NULL)
        metadata = (struct lmn__span){ (const uint8_t *)"{}", 2 };
    len = snprintf(text, bytes,
                   "{\"branch\":null,\"version\":%llu,\"createdAt\":%.*s,\"updatedAt\":\"%s\","
                   "\"manifestSize\":%llu,\"metadata\":%.*s}",
                   (unsigned long long)manifest->pb.version, (int)created.len,
                   (const char *)created.data, now, (unsigned long long)manifest->bytes,
                   (int)metadata.len, (const char *)metadata.data);
    st = lmn__store_put(table->store, path, move ? LMN__PUBLISH_REPLACE : LMN__PUBLISH_IF_ABSENT,
                        text, (size_t)len, err);
    lmn__free(table->env, text);
    return st;
}

enum lmn_status lmn_table_tag(struct lmn_table *table, const char *name, uint64_t version,
                              bool move, struct lmn_error *err)
{
    char path[PATH_BYTES];
    struct lmn__manifest *manifest = NULL, *known;
    struct kept kept = { 0 };
    enum lmn_status st = check_change(table, name, err);

    if (st != LMN_OK)
        return st;
    known = lmn__table_manifest(table);
    /* The version that the table stands at may have been cleaned up, too. */
    st = lmn__table_read_version(table, version != 0 ? version : known->pb.version,
                                 known->plain_name, &manifest, err);
    lmn__manifest_release(known);
    if (st != LMN_OK)
        return st;
    snprintf(path, sizeof path, "_refs/tags/%s.json", name);
    if (move)
        st = read_kept(table->store, path, &kept, err);
    if (st == LMN_OK)
        st = write_tag(table, path, manifest, move, &kept, err);
    lmn__block_release(kept.block);
    lmn__manifest_release(manifest);
    if (st == LMN_E_EXISTS)
        return lmn_fail(err, st, "%.300s has a tag \"%.100s\" already", table->store->name, name);
    return st;
}

enum lmn_status lmn_table_untag(struct lmn_table *table, const char *name, struct lmn_error *err)
{
    char path[PATH_BYTES];
    enum lmn_status st = check_change(table, name, err);

    if (st != LMN_OK)
        return st;
    snprintf(path, sizeof path, "_refs/tags/%s.json", name);
    st = table->store->ops->remove(table->store, path, err);
    if (st == LMN_E_NOT_FOUND)
        return lmn_fail(err, st, "%.300s has no tag \"%.100s\"", table->store->name, name);
    return st == LMN_OK ? table->store->ops->sync_dir(table->store, "_refs/tags", err) : st;
}
