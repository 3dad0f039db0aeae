/* SPDX-License-Identifier: Apache-2.0 */
#include "format/file.h"

#include "base/error.h"
#include "base/math.h"
#include "format/column.h"
#include "format/page_cache.h"

/* Enough for the whole tail of most files; one read then serves for opening. */
enum { TAIL_BYTES = 64 << 10, CACHE_BYTES_DEFAULT = 64 << 20, STATS_KEPT_MAX = 4096 };

/* The end of the file, as far as it was read. */
struct tail {
    struct lmn__block *block;
    uint64_t start;
    uint64_t bytes;
};

/* Bytes of the file: from the tail if they lie in it, otherwise read into the arena. */
static enum lmn_status file_bytes(struct lmn_file *file, const struct tail *tail,
                                  struct lmn__extent extent, struct lmn__span *bytes_out,
                                  struct lmn_error *err)
{
    uint8_t *data;
    enum lmn_status st;

    *bytes_out = (struct lmn__span){ NULL, 0 };
    if (!lmn__range_fits(extent.position, extent.bytes, file->object.bytes))
        return lmn_fail(err, LMN_E_CORRUPT, "%llu bytes at %llu are outside a file of %llu bytes",
                        (unsigned long long)extent.bytes, (unsigned long long)extent.position,
                        (unsigned long long)file->object.bytes);
    data = lmn__arena_alloc(&file->arena, extent.bytes);
    if (data == NULL)
        return lmn__arena_fail(&file->arena, "a file's tail", err);
    if (extent.position >= tail->start) {
        if (extent.bytes != 0)
            memcpy(data, tail->block->data + (extent.position - tail->start), extent.bytes);
    } else {
        st = lmn__object_read(&file->object, extent.position, data, extent.bytes, err);
        if (st != LMN_OK)
            return st;
    }
    *bytes_out = (struct lmn__span){ data, extent.bytes };
    return LMN_OK;
}

static enum lmn_status read_footer(struct lmn_file *file, struct tail *tail, struct lmn_error *err)
{
    enum lmn_status st;

    if (file->object.bytes < LMN__FOOTER_BYTES)
        return lmn_fail(err, LMN_E_CORRUPT, "%llu bytes, shorter than the %d of a footer",
                        (unsigned long long)file->object.bytes, LMN__FOOTER_BYTES);
    tail->bytes = lmn__min_u64(file->object.bytes, TAIL_BYTES);
    tail->start = file->object.bytes - tail->bytes;
    st = lmn__object_read_block(&file->object, tail->start, tail->bytes, &tail->block, err);
    if (st != LMN_OK)
        return st;
    return lmn__footer_decode(tail->block->data + tail->bytes - LMN__FOOTER_BYTES,
                              file->object.bytes, &file->footer, err);
}

/* A table of {position, size}. */
static enum lmn_status read_table(struct lmn_file *file, const struct tail *tail, uint64_t position,
                                  uint32_t count, struct lmn__extent **extent_out,
                                  struct lmn_error *err)
{
    struct lmn__extent *extent = lmn__arena_array(&file->arena, count, sizeof *extent);
    struct lmn__span bytes;
    enum lmn_status st;

    *extent_out = extent;
    if (extent == NULL)
        return lmn__arena_fail(&file->arena, "a file's tables", err);
    st = file_bytes(file, tail, (struct lmn__extent){ position, (uint64_t)count * 16 }, &bytes,
                    err);
    for (uint32_t i = 0; st == LMN_OK && i < count; i++) {
        extent[i].position = lmn__load_u64(bytes.data + i * 16);
        extent[i].bytes = lmn__load_u64(bytes.data + i * 16 + 8);
    }
    return st;
}

static enum lmn_status read_schema(struct lmn_file *file, const struct tail *tail,
                                   struct lmn_error *err)
{
    static const struct lmn__pb_schema no_schema;
    struct lmn__pb_descriptor descriptor = { 0 };
    struct lmn__span bytes;
    enum lmn_status st = file_bytes(file, tail, file->global_extent[0], &bytes, err);

    if (st == LMN_OK)
        st = lmn__pb_decode(&lmn__pb_descriptor_message, bytes, &file->arena, &descriptor, err);
    if (st != LMN_OK)
        return st;
    file->row_count = descriptor.length;
    if (file->row_count > INT64_MAX)
        return lmn_fail(err, LMN_E_CORRUPT, "the descriptor claims %llu rows",
                        (unsigned long long)file->row_count);
    st = lmn__schema_read(descriptor.schema != NULL ? descriptor.schema : &no_schema,
                          file->footer.minor, &file->arena, &file->schema, err);
    if (st != LMN_OK)
        return st;
    if (file->schema.column_count > file->footer.column_count)
        return lmn_fail(err, LMN_E_CORRUPT, "the schema asks for %u columns, the file has %u",
                        file->schema.column_count, file->footer.column_count);
    st = lmn__projection_init(&file->all, file->env, &file->schema, NULL, 0, false, err);
    if (st == LMN_E_INVALID) {
        /* A type that Arrow does not have: the file is to blame, not the caller. */
        st = LMN_E_CORRUPT;
        if (err != NULL)
            err->status = st;
    }
    if (st == LMN_OK)
        lmn__projection_set_layouts(&file->all, &file->schema);
    return st;
}

/* Statistics that are in the tail and small are kept, whether they will be needed or not. */
static enum lmn_status keep_stats(struct lmn_file *file, const struct tail *tail,
                                  struct lmn_error *err)
{
    struct lmn__extent extent;

    if (file->footer.global_count < 2)
        return LMN_OK;
    extent = file->global_extent[1];
    if (extent.position < tail->start || extent.bytes > STATS_KEPT_MAX ||
        !lmn__range_fits(extent.position, extent.bytes, file->object.bytes))
        return LMN_OK;
    return file_bytes(file, tail, extent, &file->stats_bytes, err);
}

static enum lmn_status read_tail(struct lmn_file *file, struct lmn_error *err)
{
    struct tail tail = { 0 };
    enum lmn_status st = read_footer(file, &tail, err);

    if (st == LMN_OK)
        st = read_table(file, &tail, file->footer.column_table, file->footer.column_count,
                        &file->column_extent, err);
    if (st == LMN_OK)
        st = read_table(file, &tail, file->footer.global_table, file->footer.global_count,
                        &file->global_extent, err);
    if (st == LMN_OK)
        st = read_schema(file, &tail, err);
    if (st == LMN_OK)
        st = keep_stats(file, &tail, err);
    if (st == LMN_OK) {
        file->locked.column = lmn__arena_array(&file->arena, file->footer.column_count,
                                               sizeof *file->locked.column);
        if (file->locked.column == NULL)
            st = lmn__arena_fail(&file->arena, "a file's columns", err);
    }
    lmn__block_release(tail.block);
    return st;
}

static void file_free(struct lmn_file *file)
{
    struct lmn_env *env = file->env;

    /* Open pages point to the descriptions that their columns own. */
    lmn__page_cache_leave(file->cache, file->cache_number);
    for (uint32_t i = 0; file->locked.column != NULL && i < file->footer.column_count; i++)
        lmn__column_free(env, file->locked.column[i]);
    lmn__stats_free(file->locked.stats);
    lmn__free(env, file->locked.stats_data);
    if (file->all.layout != NULL)
        lmn__projection_deinit(&file->all);
    lmn__mutex_deinit(&file->mutex);
    lmn__arena_deinit(&file->arena);
    lmn__object_close(&file->object);
    lmn__free(env, file->path);
    lmn__free(env, file);
    lmn_env_release(env);
}

static enum lmn_status file_new(struct lmn_store *store, const char *path,
                                struct lmn__page_cache *cache, struct lmn_file **file_out,
                                struct lmn_error *err)
{
    struct lmn_env *env = store->env;
    struct lmn_file *file = lmn__calloc(env, 1, sizeof *file);
    enum lmn_status st;

    *file_out = NULL;
    if (file == NULL)
        return lmn__no_memory(err, "a file", sizeof *file);
    st = lmn__mutex_init(&file->mutex, err);
    if (st != LMN_OK) {
        lmn__free(env, file);
        return st;
    }
    file->env = lmn_env_acquire(env);
    atomic_init(&file->reference_count, 1);
    lmn__arena_init(&file->arena, env, 0);
    file->path = lmn__strndup(env, path, strlen(path));
    file->cache = cache;
    file->cache_number = lmn__page_cache_join(cache);
    if (file->path == NULL) {
        file_free(file);
        return lmn__no_memory(err, "a file's path", strlen(path));
    }
    *file_out = file;
    return LMN_OK;
}

enum lmn_status lmn__file_open_cached(struct lmn_store *store, const char *path,
                                      struct lmn__page_cache *cache, struct lmn_file **file_out,
                                      struct lmn_error *err)
{
    struct lmn_file *file;
    enum lmn_status st = file_new(store, path, cache, &file, err);

    *file_out = NULL;
    if (st != LMN_OK)
        return st;
    st = lmn__object_open(store, path, &file->object, err);
    if (st == LMN_OK) {
        st = read_tail(file, err);
        if (st != LMN_OK)
            lmn__fail_within(err, st, "%.200s", file->object.name);
    }
    if (st != LMN_OK) {
        file_free(file);
        return st;
    }
    *file_out = file;
    return LMN_OK;
}

enum lmn_status lmn_file_open(struct lmn_store *store, const char *path,
                              const struct lmn_file_options *options, struct lmn_file **file_out,
                              struct lmn_error *err)
{
    uint64_t bytes_max = options != NULL && options->cache_bytes_max != 0 ? options->cache_bytes_max
                                                                          : CACHE_BYTES_DEFAULT;
    struct lmn__page_cache *cache;
    enum lmn_status st = lmn__page_cache_new(store->env, bytes_max, &cache, err);

    *file_out = NULL;
    if (st != LMN_OK)
        return st;
    st = lmn__file_open_cached(store, path, cache, file_out, err);
    lmn__page_cache_release(cache);
    return st;
}

struct lmn_file *lmn_file_acquire(struct lmn_file *file)
{
    atomic_fetch_add(&file->reference_count, 1);
    return file;
}

void lmn_file_release(struct lmn_file *file)
{
    if (file != NULL && atomic_fetch_sub(&file->reference_count, 1) == 1)
        file_free(file);
}

uint64_t lmn_file_row_count(const struct lmn_file *file)
{
    return file->row_count;
}

uint64_t lmn_file_bytes(const struct lmn_file *file)
{
    return file->object.bytes;
}

const char *lmn_file_version(const struct lmn_file *file)
{
    static const char *const name[] = { "2.0", "2.1", "2.2" };

    return name[file->footer.minor];
}

enum lmn_status lmn__file_column(struct lmn_file *file, uint32_t index,
                                 const struct lmn__column **column_out, struct lmn_error *err)
{
    struct lmn__column *column;
    enum lmn_status st = LMN_OK;

    lmn__mutex_lock(&file->mutex);
    column = file->locked.column[index];
    if (column == NULL) {
        st = lmn__column_read(file, index, &column, err);
        file->locked.column[index] = column;
    }
    lmn__mutex_unlock(&file->mutex);
    *column_out = column;
    if (st != LMN_OK)
        lmn__fail_within(err, st, "%.200s: column %u", file->object.name, index);
    return st;
}

enum lmn_status lmn_file_schema(struct lmn_file *file, const struct lmn_read_options *options,
                                struct ArrowSchema *schema_out, struct lmn_error *err)
{
    struct lmn__projection projection;
    enum lmn_status st;

    *schema_out = (struct ArrowSchema){ 0 };
    st = lmn__projection_init(&projection, file->env, &file->schema,
                              options != NULL ? options->column : NULL,
                              options != NULL ? options->column_count : 0,
                              options != NULL ? options->blobs : LMN_BLOB_DESCRIPTORS, err);
    if (st != LMN_OK)
        return lmn__fail_within(err, st, "%.200s", file->object.name);
    st = lmn__projection_schema(&projection, schema_out, err);
    lmn__projection_deinit(&projection);
    return st;
}
