/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each fragment has one data file, under a random name. The files that are finished are remembered
 * by their messages, so that they can be removed when the whole comes to nothing.
 */
#include "table/fragment_writer.h"

#include <leman/file_writer.h>
#include <stdio.h>

#include "arrow/schema.h"
#include "arrow/share.h"
#include "arrow/view.h"
#include "base/math.h"
#include "os/random.h"
#include "table/change.h"

enum { ROWS_DEFAULT = 1 << 20, NAME_BYTES = 48, PARTS = 8 };
static const uint64_t bytes_default = 90ull << 30;

struct finished {
    char name[NAME_BYTES];
    uint64_t row_count;
    uint64_t bytes;
};

struct lmn__fragment_writer {
    struct lmn_env *env;     /* the store's */
    struct lmn_store *store; /* counted */
    struct lmn__arena arena;
    struct ArrowSchema schema;
    struct lmn_file_writer_options options;
    char version[8];
    uint32_t minor;
    uint64_t rows_max, bytes_max;
    struct lmn__schema tree;      /* with the table's field ids */
    struct lmn_file_writer *file; /* NULL: none is open */
    char name[NAME_BYTES];        /* of the open one */
    uint64_t file_rows, file_bytes;
    struct finished *done;
    uint64_t done_count, done_room;
};

static void path_of(const char *name, char *path, size_t bytes)
{
    snprintf(path, bytes, "data/%s", name);
}

static enum lmn_status open_file(struct lmn__fragment_writer *writer, struct lmn_error *err)
{
    char one[LMN__TOKEN_CHARS], two[LMN__TOKEN_CHARS], path[NAME_BYTES + 8];
    enum lmn_status st = lmn__random_token(one, err);

    if (st == LMN_OK)
        st = lmn__random_token(two, err);
    if (st != LMN_OK)
        return st;
    snprintf(writer->name, sizeof writer->name, "%s%s.lance", one, two);
    path_of(writer->name, path, sizeof path);
    writer->file_rows = writer->file_bytes = 0;
    return lmn_file_writer_open(writer->store, path, &writer->schema, &writer->options,
                                &writer->file, err);
}

static enum lmn_status remember(struct lmn__fragment_writer *writer, uint64_t bytes,
                                struct lmn_error *err)
{
    struct finished *done;

    if (writer->done_count == writer->done_room) {
        uint64_t room = writer->done_room != 0 ? writer->done_room * 2 : 8;

        done = lmn__realloc(writer->env, writer->done, room * sizeof *done);
        if (done == NULL)
            return lmn__no_memory(err, "a list of files", room * sizeof *done);
        writer->done = done;
        writer->done_room = room;
    }
    done = &writer->done[writer->done_count++];
    snprintf(done->name, sizeof done->name, "%s", writer->name);
    done->row_count = writer->file_rows;
    done->bytes = bytes;
    return LMN_OK;
}

/* What remove_side() needs to know. */
struct side {
    struct lmn_store *store;
    const char *dir;
};

static enum lmn_status remove_side(void *context, const char *name, bool is_directory,
                                   struct lmn_error *err)
{
    const struct side *side = context;
    char path[2 * NAME_BYTES + 16];

    (void)err;
    if (!is_directory && strlen(name) < NAME_BYTES) {
        snprintf(path, sizeof path, "%s/%s", side->dir, name);
        (void)side->store->ops->remove(side->store, path, NULL);
    }
    return LMN_OK;
}

/* A data file, and the files beside it that hold its blobs, under the same name without ".lance".
 */
static void remove_file(struct lmn_store *store, const char *name)
{
    char path[NAME_BYTES + 8];
    struct side side = { store, path };

    path_of(name, path, sizeof path);
    (void)store->ops->remove(store, path, NULL);
    if (strrchr(path, '.') != NULL) {
        *strrchr(path, '.') = '\0';
        (void)store->ops->list(store, path, remove_side, &side, NULL);
    }
}

static enum lmn_status close_file(struct lmn__fragment_writer *writer, struct lmn_error *err)
{
    uint64_t bytes;
    enum lmn_status st = lmn_file_writer_finish(writer->file, &bytes, err);

    writer->file = NULL;
    if (st != LMN_OK)
        return st;
    st = remember(writer, bytes, err);
    if (st != LMN_OK)
        remove_file(writer->store, writer->name);
    return st;
}

static void writer_free(struct lmn__fragment_writer *writer)
{
    struct lmn_env *env = writer->env;

    if (writer->schema.release != NULL)
        writer->schema.release(&writer->schema);
    lmn__arena_deinit(&writer->arena);
    lmn__free(env, writer->done);
    lmn_store_release(writer->store);
    lmn__free(env, writer);
}

/* The tree points into its fields, and the caller's may go before the writer does. */
static struct lmn__pb_schema *copy_fields(struct lmn__fragment_writer *writer,
                                          const struct lmn__pb_list *fields)
{
    struct lmn__pb_schema *pb = lmn__arena_alloc(&writer->arena, sizeof *pb);
    struct lmn__pb_schema_field *field = lmn__arena_array(&writer->arena, fields->count,
                                                          sizeof *field);

    if (pb == NULL || field == NULL)
        return NULL;
    if (fields->count != 0)
        memcpy(field, fields->item, fields->count * sizeof *field);
    *pb = (struct lmn__pb_schema){ .fields = { field, fields->count } };
    return pb;
}

enum lmn_status lmn__fragment_writer_open(struct lmn_store *store, const struct ArrowSchema *schema,
                                          const struct lmn__pb_list *fields, uint32_t minor,
                                          const struct lmn_write_options *options,
                                          struct lmn__fragment_writer **writer_out,
                                          struct lmn_error *err)
{
    static const struct lmn_write_options defaults = { 0 };
    struct lmn__fragment_writer *writer = lmn__calloc(store->env, 1, sizeof *writer);
    struct lmn__pb_schema *pb;
    enum lmn_status st;

    *writer_out = NULL;
    if (writer == NULL)
        return lmn__no_memory(err, "a writer", sizeof *writer);
    if (options == NULL)
        options = &defaults;
    writer->env = store->env;
    writer->store = lmn_store_acquire(store);
    lmn__arena_init(&writer->arena, store->env, 0);
    writer->minor = minor;
    snprintf(writer->version, sizeof writer->version, "2.%u", minor);
    writer->options.encode = options->encode;
    writer->options.encode.version = writer->version;
    writer->options.unsynced = options->unsynced;
    writer->options.unnamed = true;
    writer->rows_max = options->fragment_rows_max != 0 ? options->fragment_rows_max : ROWS_DEFAULT;
    writer->bytes_max = options->fragment_bytes_max != 0 ? options->fragment_bytes_max
                                                         : bytes_default;
    pb = copy_fields(writer, fields);
    st = pb != NULL ? LMN_OK : lmn__arena_fail(&writer->arena, "a schema", err);
    /* It would fail the commit, which comes when all rows are written. */
    if (st == LMN_OK)
        st = lmn__change_check_message(options->message, err);
    if (st == LMN_OK)
        st = lmn__schema_read(pb, minor, &writer->arena, &writer->tree, err);
    if (st == LMN_OK)
        st = lmn__arrow_schema_copy(schema, &writer->schema, err);
    if (st != LMN_OK) {
        writer_free(writer);
        return st;
    }
    *writer_out = writer;
    return LMN_OK;
}

void lmn__fragment_writer_set_threads(struct lmn__fragment_writer *writer, uint32_t threads)
{
    writer->options.threads = threads;
}

/* Rows [first, first + count) of a batch, as an array that borrows from it. */
static struct ArrowArray slice_of(const struct ArrowArray *batch, uint64_t first, uint64_t count)
{
    struct ArrowArray slice = *batch;

    slice.offset += (int64_t)first;
    slice.length = (int64_t)count;
    slice.null_count = -1;
    slice.release = NULL;
    return slice;
}

/* How many rows are written until it is looked how large the file is: a part of what it may be. */
static uint64_t rows_at_once(const struct lmn__fragment_writer *writer,
                             const struct ArrowArray *batch)
{
    uint64_t rows = (uint64_t)batch->length;
    uint64_t part = lmn__max_u64(writer->bytes_max / PARTS, 1);

    return lmn__div_up(rows, 1 + lmn__array_bytes(batch, &writer->schema) / part);
}

/* What has no place yet may take less than it looks. */
static enum lmn_status check_full(struct lmn__fragment_writer *writer, bool *full_out,
                                  struct lmn_error *err)
{
    enum lmn_status st = LMN_OK;

    *full_out = writer->file_rows == writer->rows_max;
    if (*full_out || lmn_file_writer_bytes(writer->file) < writer->bytes_max)
        return LMN_OK;
    st = lmn_file_writer_flush(writer->file, err);
    *full_out = lmn_file_writer_bytes(writer->file) >= writer->bytes_max;
    return st;
}

static uint64_t count_nulls(const struct ArrowArray *column, uint64_t first, uint64_t count)
{
    uint64_t nulls = 0;

    if (column->null_count == 0 || lmn__view_validity(column) == NULL)
        return 0;
    for (uint64_t i = first; i < first + count; i++)
        nulls += lmn__view_is_null(column, i);
    return nulls;
}

/* Columns of the primary key have no nulls; that they are its columns is why. */
static enum lmn_status check_key(const struct lmn__fragment_writer *writer,
                                 const struct ArrowArray *rows, struct lmn_error *err)
{
    const struct lmn__node *node = writer->tree.top;

    for (int64_t i = 0; node != NULL && i < rows->n_children; i++, node = node->next) {
        uint64_t nulls = node->field->primary_key
                             ? count_nulls(rows->children[i], (uint64_t)rows->offset,
                                           (uint64_t)rows->length)
                             : 0;

        if (nulls != 0)
            return lmn_fail(err, LMN_E_INVALID,
                            "primary key: column \"%.100s\" is declared to have no nulls, and has "
                            "%llu",
                            node->name, (unsigned long long)nulls);
    }
    return LMN_OK;
}

enum lmn_status lmn__fragment_writer_write(struct lmn__fragment_writer *writer,
                                           const struct ArrowArray *batch, struct lmn_error *err)
{
    uint64_t rows = (uint64_t)batch->length, first = 0, at_once = rows_at_once(writer, batch);
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && first < rows) {
        uint64_t count;
        struct ArrowArray slice;
        bool full = false;

        if (writer->file == NULL)
            st = open_file(writer, err);
        if (st != LMN_OK)
            break;
        count = lmn__min_u64(lmn__min_u64(rows - first, at_once),
                             writer->rows_max - writer->file_rows);
        slice = slice_of(batch, first, count);
        st = check_key(writer, &slice, err);
        if (st == LMN_OK)
            st = lmn_file_writer_write(writer->file, &slice, err);
        first += count;
        writer->file_rows += count;
        if (st == LMN_OK)
            st = check_full(writer, &full, err);
        if (st == LMN_OK && full)
            st = close_file(writer, err);
    }
    return st;
}

/* Which fields of the table the file has, and in which columns. */
static enum lmn_status describe_columns(const struct lmn__fragment_writer *writer,
                                        struct lmn__arena *arena, struct lmn__pb_data_file *file,
                                        struct lmn_error *err)
{
    const struct lmn__schema *tree = &writer->tree;

    file->fields.item = lmn__arena_array(arena, tree->node_count, sizeof(uint64_t));
    file->columns.item = lmn__arena_array(arena, tree->node_count, sizeof(uint64_t));
    if (file->fields.item == NULL || file->columns.item == NULL)
        return lmn__arena_fail(arena, "a data file", err);
    for (uint32_t i = 0; i < tree->node_count; i++) {
        const struct lmn__node *node = &tree->node[i];

        if (node->column == LMN__NO_COLUMN)
            continue;
        file->fields.item[file->fields.count++] = (uint64_t)node->field->id;
        file->columns.item[file->columns.count++] = node->column;
    }
    return LMN_OK;
}

static enum lmn_status describe_fragment(const struct lmn__fragment_writer *writer,
                                         const struct finished *done, struct lmn__arena *arena,
                                         struct lmn__pb_fragment *fragment, struct lmn_error *err)
{
    struct lmn__pb_data_file *file = lmn__arena_alloc(arena, sizeof *file);
    size_t len = strlen(done->name);

    if (file == NULL ||
        (file->path.data = (const uint8_t *)lmn__arena_strndup(arena, done->name, len)) == NULL)
        return lmn__arena_fail(arena, "a fragment", err);
    file->path.len = len;
    file->major = 2;
    file->minor = writer->minor;
    file->bytes = done->bytes;
    fragment->files = (struct lmn__pb_list){ file, 1 };
    fragment->row_count = done->row_count;
    return describe_columns(writer, arena, file, err);
}

enum lmn_status lmn__fragment_writer_finish(struct lmn__fragment_writer *writer,
                                            struct lmn__arena *arena,
                                            struct lmn__pb_fragment **fragment_out,
                                            uint64_t *count_out, struct lmn_error *err)
{
    struct lmn__pb_fragment *fragment = NULL;
    enum lmn_status st = writer->file != NULL ? close_file(writer, err) : LMN_OK;

    *fragment_out = NULL;
    *count_out = 0;
    if (st == LMN_OK) {
        fragment = lmn__arena_array(arena, writer->done_count, sizeof *fragment);
        if (fragment == NULL)
            st = lmn__arena_fail(arena, "fragments", err);
    }
    for (uint64_t i = 0; st == LMN_OK && i < writer->done_count; i++)
        st = describe_fragment(writer, &writer->done[i], arena, &fragment[i], err);
    if (st != LMN_OK) {
        lmn__fragment_writer_abort(writer);
        return st;
    }
    *fragment_out = fragment;
    *count_out = writer->done_count;
    writer_free(writer);
    return LMN_OK;
}

void lmn__fragment_writer_abort(struct lmn__fragment_writer *writer)
{
    if (writer == NULL)
        return;
    lmn_file_writer_abort(writer->file);
    for (uint64_t i = 0; i < writer->done_count; i++)
        remove_file(writer->store, writer->done[i].name);
    writer_free(writer);
}

void lmn__fragments_remove(struct lmn_store *store, const struct lmn__pb_fragment *fragment,
                           uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        const struct lmn__pb_data_file *file = fragment[i].files.item;

        for (size_t k = 0; k < fragment[i].files.count; k++) {
            char name[NAME_BYTES];

            snprintf(name, sizeof name, "%.*s", (int)file[k].path.len, file[k].path.data);
            remove_file(store, name);
        }
    }
}
