/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A manifest file:
 *
 *     [u32 length, IndexSection]  [u32 length, Transaction]  u32 length, Manifest
 *     u64 position of the last length   u16 0   u16 2   "LANC"
 *
 * The two sections in brackets are found by their positions in the Manifest.
 */
#include "table/manifest.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/math.h"
#include "store/object.h"

enum { TAIL_BYTES = 16, LENGTH_BYTES = 4 };

/* What a feature flag asks of those who read or write a table that has it. */
static const struct {
    uint64_t bit;
    const char *name;
    bool reads, writes; /* does this library know it? */
} known_flags[] = {
    { LMN__FLAG_DELETIONS, "deletion files", true, true },
    { LMN__FLAG_STABLE_ROW_IDS, "stable row ids", true, true },
    { 4, "the obsolete file version flag", true, true },
    { LMN__FLAG_CONFIG, "a table configuration", true, true },
    { LMN__FLAG_BASE_PATHS, "base paths", true, true },
    { LMN__FLAG_NO_TRANSACTION_FILES, "no transaction files", true, true },
    { LMN__FLAG_OVERLAYS, "overlay files", false, false },
    { LMN__FLAG_COVERING_INDEX, "covering indices", true, true },
    { LMN__FLAG_MIXED_VERSIONS, "mixed file versions", true, true },
    { 512, "a fragment reuse index", true, true },
    { 1024, "a fragment reuse index of another form", true, true },
    { LMN__FLAG_SPILLED_LINEAGE, "row lineage in columns", true, false },
    { 4096, "a fragment tree", false, false },
    { 8192, "a reserved feature", false, false },
    { LMN__FLAG_MANAGED_BLOBS, "managed blobs", true, false },
    { LMN__FLAG_FIELD_IDS, "field ids that are never used again", true, true },
    { 65536, "a reserved feature", false, false },
    { 131072, "clustering", false, false },
};

/* The lowest flag of `flags` that this library does not know for reading or writing. */
static enum lmn_status check_flags(uint64_t flags, bool writing, struct lmn_error *err)
{
    for (size_t i = 0; i < sizeof known_flags / sizeof known_flags[0]; i++) {
        bool fine = writing ? known_flags[i].writes : known_flags[i].reads;

        if ((flags & known_flags[i].bit) != 0 && !fine)
            return lmn_fail(err, LMN_E_UNSUPPORTED,
                            "the table has feature flag %llu (%s), which this library cannot %s",
                            (unsigned long long)known_flags[i].bit, known_flags[i].name,
                            writing ? "write" : "read");
        flags &= ~known_flags[i].bit;
    }
    if (flags != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "the table has feature flag %llu, which this library does not know",
                        (unsigned long long)(flags & (~flags + 1)));
    return LMN_OK;
}

/* Bytes of a section whose length stands at `position`, before `end`. */
static enum lmn_status read_section(struct lmn__span file, uint64_t position, uint64_t end,
                                    const char *what, struct lmn__span *bytes_out,
                                    struct lmn_error *err)
{
    uint64_t len;

    if (!lmn__range_fits(position, LENGTH_BYTES, end))
        return lmn_fail(err, LMN_E_CORRUPT, "the %s at %llu is outside the file", what,
                        (unsigned long long)position);
    len = lmn__load_u32(file.data + position);
    if (!lmn__range_fits(position + LENGTH_BYTES, len, end))
        return lmn_fail(err, LMN_E_CORRUPT, "the %s of %llu bytes at %llu leaves the file", what,
                        (unsigned long long)len, (unsigned long long)position);
    *bytes_out = (struct lmn__span){ file.data + position + LENGTH_BYTES, len };
    return LMN_OK;
}

static enum lmn_status read_body(struct lmn__manifest *manifest, struct lmn__span file,
                                 struct lmn_error *err)
{
    struct lmn__span body;
    uint64_t position, end;
    enum lmn_status st;

    if (file.len < TAIL_BYTES || memcmp(file.data + file.len - 4, "LANC", 4) != 0)
        return lmn_fail(err, LMN_E_CORRUPT, "%zu bytes that do not end as a manifest does",
                        file.len);
    end = file.len - TAIL_BYTES;
    position = lmn__load_u64(file.data + end);
    st = read_section(file, position, end, "manifest", &body, err);
    if (st == LMN_OK && position + LENGTH_BYTES + body.len != end)
        st = lmn_fail(err, LMN_E_CORRUPT,
                      "the manifest of %zu bytes at %llu does not fill the file", body.len,
                      (unsigned long long)position);
    if (st == LMN_OK)
        st = lmn__pb_decode(&lmn__pb_manifest_message, body, &manifest->arena, &manifest->pb, err);
    if (st == LMN_OK && manifest->pb.has_index_section)
        st = read_section(file, manifest->pb.index_section, end, "index section",
                          &manifest->index_section, err);
    if (st == LMN_OK && manifest->pb.has_transaction_section)
        st = read_section(file, manifest->pb.transaction_section, end, "transaction",
                          &manifest->transaction, err);
    return st;
}

static enum lmn_status read_format(struct lmn__manifest *manifest, struct lmn_error *err)
{
    static const char *const version[] = { "2.0", "2.1", "2.2" };
    const struct lmn__pb_data_format *format = manifest->pb.data_format;

    for (uint32_t i = 0; format != NULL && i < sizeof version / sizeof version[0]; i++) {
        if (lmn__span_equal(format->version, version[i])) {
            /* 2.0 is read, not written: its tables get files of 2.1 beside theirs. */
            manifest->format_minor = i;
            manifest->minor = i != 0 ? i : 1;
            return LMN_OK;
        }
    }
    if (format == NULL || lmn__span_equal(format->version, "0.1") ||
        lmn__span_equal(format->version, "legacy"))
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "the table has files of version 1; rewrite it with pylance as 2.1");
    return lmn_fail(err, LMN_E_UNSUPPORTED, "the table has files of version \"%.*s\"",
                    (int)lmn__min_u64(format->version.len, 20), format->version.data);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Columns are found by their names, so no two have the same. */
static enum lmn_status check_names(const struct lmn__schema *schema, struct lmn__arena *arena,
                                   struct lmn_error *err)
{
    const char **name = lmn__arena_array(arena, schema->top_count, sizeof *name);
    uint32_t count = 0;

    if (name == NULL)
        return lmn__arena_fail(arena, "the names of columns", err);
    for (const struct lmn__node *node = schema->top; node != NULL; node = node->next)
        name[count++] = node->name;
    qsort(name, count, sizeof *name, compare_names);
    for (uint32_t i = 1; i < count; i++) {
        if (strcmp(name[i - 1], name[i]) == 0)
            return lmn_fail(err, LMN_E_CORRUPT, "two columns have the name \"%.100s\"", name[i]);
    }
    return LMN_OK;
}

/* Decode the bytes in the block. */
static enum lmn_status decode_manifest(struct lmn__manifest *manifest, uint64_t bytes,
                                       struct lmn_error *err)
{
    struct lmn__pb_schema schema;
    enum lmn_status st;

    manifest->bytes = bytes;
    st = read_body(manifest, (struct lmn__span){ manifest->block->data, bytes }, err);
    if (st == LMN_OK)
        st = check_flags(manifest->pb.reader_flags, false, err);
    if (st == LMN_OK)
        st = read_format(manifest, err);
    schema = (struct lmn__pb_schema){ manifest->pb.fields, manifest->pb.schema_metadata };
    if (st == LMN_OK)
        st = lmn__schema_read(&schema, manifest->format_minor, &manifest->arena, &manifest->schema,
                              err);
    if (st == LMN_OK)
        st = check_names(&manifest->schema, &manifest->arena, err);
    manifest->schema.metadata = &manifest->pb.schema_metadata;
    return st;
}

static enum lmn_status read_manifest(struct lmn__manifest *manifest, struct lmn__object *object,
                                     struct lmn_error *err)
{
    enum lmn_status st;

    if (object->bytes > manifest->env->metadata_bytes_max)
        return lmn_fail(err, LMN_E_NO_MEMORY, "a manifest of %llu bytes",
                        (unsigned long long)object->bytes);
    st = lmn__object_read_block(object, 0, object->bytes, &manifest->block, err);
    return st == LMN_OK ? decode_manifest(manifest, object->bytes, err) : st;
}

static struct lmn__manifest *manifest_new(struct lmn_env *env)
{
    struct lmn__manifest *manifest = lmn__calloc(env, 1, sizeof *manifest);

    if (manifest == NULL)
        return NULL;
    atomic_init(&manifest->reference_count, 1);
    manifest->env = lmn_env_acquire(env);
    lmn__arena_init(&manifest->arena, env, 0);
    return manifest;
}

enum lmn_status lmn__manifest_from_bytes(struct lmn_env *env, struct lmn__span bytes,
                                         struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    struct lmn__manifest *manifest = manifest_new(env);
    enum lmn_status st;

    *manifest_out = NULL;
    if (manifest == NULL)
        return lmn__no_memory(err, "a manifest", sizeof *manifest);
    st = lmn__block_new(env->pool, bytes.len, &manifest->block, err);
    if (st == LMN_OK) {
        memcpy(manifest->block->data, bytes.data, bytes.len);
        st = decode_manifest(manifest, bytes.len, err);
    }
    if (st == LMN_OK)
        *manifest_out = manifest;
    else
        lmn__manifest_release(manifest);
    return st;
}

enum lmn_status lmn__manifest_read(struct lmn_store *store, const char *path,
                                   struct lmn__manifest **manifest_out, struct lmn_error *err)
{
    struct lmn__object object = { 0 };
    struct lmn__manifest *manifest;
    enum lmn_status st = lmn__object_open(store, path, &object, err);

    *manifest_out = NULL;
    if (st != LMN_OK)
        return st;
    manifest = manifest_new(store->env);
    if (manifest == NULL) {
        lmn__object_close(&object);
        return lmn__no_memory(err, "a manifest", sizeof *manifest);
    }
    st = read_manifest(manifest, &object, err);
    if (st != LMN_OK) {
        lmn__fail_within(err, st, "%.200s", object.name);
        lmn__manifest_release(manifest);
        manifest = NULL;
    }
    lmn__object_close(&object);
    *manifest_out = manifest;
    return st;
}

struct lmn__manifest *lmn__manifest_acquire(struct lmn__manifest *manifest)
{
    atomic_fetch_add(&manifest->reference_count, 1);
    return manifest;
}

void lmn__manifest_release(struct lmn__manifest *manifest)
{
    struct lmn_env *env;

    if (manifest == NULL || atomic_fetch_sub(&manifest->reference_count, 1) != 1)
        return;
    env = manifest->env;
    lmn__arena_deinit(&manifest->arena);
    lmn__block_release(manifest->block);
    lmn__free(env, manifest);
    lmn_env_release(env);
}

enum lmn_status lmn__manifest_check_writable(const struct lmn__manifest *manifest,
                                             struct lmn_error *err)
{
    if (manifest->pb.branch.len != 0)
        return lmn_fail(err, LMN_E_UNSUPPORTED,
                        "branch \"%.*s\" is open for reading; branches cannot be written",
                        (int)lmn__min_u64(manifest->pb.branch.len, 100), manifest->pb.branch.data);
    return check_flags(manifest->pb.writer_flags, true, err);
}

/* Writers put the id first; then the other fields, which are many, need not be looked at. */
static bool leading_id(struct lmn__span fragment, uint64_t *id_out)
{
    enum { TAG = 1 << 3, CONTINUED = 0x80, BYTES_MAX = 5 };
    uint64_t id = 0;

    if (fragment.len == 0 || fragment.data[0] != TAG)
        return false;
    for (size_t i = 1; i < fragment.len && i <= BYTES_MAX; i++) {
        id |= (uint64_t)(fragment.data[i] & (CONTINUED - 1)) << (7 * (i - 1));
        if ((fragment.data[i] & CONTINUED) == 0) {
            *id_out = id;
            return true;
        }
    }
    return false;
}

enum lmn_status lmn__manifest_fragment_id(const struct lmn__manifest *manifest, uint64_t index,
                                          struct lmn__arena *arena, uint64_t *id_out,
                                          struct lmn_error *err)
{
    static const struct lmn__pb_field fields[] = { { 1, LMN__PB_U64, 0, 0, 0, NULL } };
    static const struct lmn__pb_message message = { "DataFragment",   fields, 1,
                                                    sizeof(uint64_t), 0,      false };
    struct lmn__span bytes = manifest->pb.fragments.item[index];

    *id_out = 0;
    return leading_id(bytes, id_out) ? LMN_OK : lmn__pb_decode(&message, bytes, arena, id_out, err);
}

enum lmn_status lmn__manifest_find(const struct lmn__manifest *manifest, uint64_t id,
                                   struct lmn__arena *arena, uint64_t *index_out,
                                   struct lmn_error *err)
{
    uint64_t count = lmn__manifest_fragment_count(manifest), low = 0, high = count, found;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && low < high) {
        *index_out = low + (high - low) / 2;
        st = lmn__manifest_fragment_id(manifest, *index_out, arena, &found, err);
        if (st == LMN_OK && found == id)
            return LMN_OK;
        if (found < id)
            low = *index_out + 1;
        else
            high = *index_out;
    }
    /* They may stand in another order. */
    for (*index_out = 0; st == LMN_OK && *index_out < count; ++*index_out) {
        st = lmn__manifest_fragment_id(manifest, *index_out, arena, &found, err);
        if (st == LMN_OK && found == id)
            return LMN_OK;
    }
    return st != LMN_OK
               ? st
               : lmn_fail(err, LMN_E_NOT_FOUND, "version %llu has no fragment %llu",
                          (unsigned long long)manifest->pb.version, (unsigned long long)id);
}

enum lmn_status lmn__manifest_fragment(const struct lmn__manifest *manifest, uint64_t index,
                                       struct lmn__arena *arena,
                                       struct lmn__pb_fragment *fragment_out, struct lmn_error *err)
{
    enum lmn_status st;

    *fragment_out = (struct lmn__pb_fragment){ 0 };
    st = lmn__pb_decode(&lmn__pb_fragment_message, manifest->pb.fragments.item[index], arena,
                        fragment_out, err);
    if (st == LMN_OK && fragment_out->row_count > UINT32_MAX)
        st = lmn_fail(err, LMN_E_CORRUPT, "a fragment of %llu rows",
                      (unsigned long long)fragment_out->row_count);
    if (st == LMN_OK && fragment_out->deletion != NULL &&
        fragment_out->deletion->row_count > fragment_out->row_count)
        st = lmn_fail(err, LMN_E_CORRUPT, "%llu of %llu rows deleted",
                      (unsigned long long)fragment_out->deletion->row_count,
                      (unsigned long long)fragment_out->row_count);
    for (size_t i = 0; st == LMN_OK && i < fragment_out->files.count; i++) {
        const struct lmn__pb_data_file *file = fragment_out->files.item;

        if (file[i].fields.count != file[i].columns.count)
            st = lmn_fail(err, LMN_E_CORRUPT, "a data file with %zu fields and %zu columns",
                          file[i].fields.count, file[i].columns.count);
    }
    if (st != LMN_OK)
        lmn__fail_within(err, st, "version %llu, fragment number %llu",
                         (unsigned long long)manifest->pb.version, (unsigned long long)index);
    return st;
}

const struct lmn__pb_base_path *lmn__manifest_base(const struct lmn__manifest *manifest,
                                                   uint32_t id)
{
    const struct lmn__pb_base_path *base = manifest->pb.base_paths.item;

    for (size_t i = 0; i < manifest->pb.base_paths.count; i++) {
        if (base[i].id == id)
            return &base[i];
    }
    return NULL;
}
