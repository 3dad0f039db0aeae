/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a diff, as a stream. What changed is known by id before the first batch
 * (diff_plan.h); the rows are then read from the fragments that hold them, inserted and updated
 * ones from the newer version, deleted ones from the older. Both are read through a projection of
 * the newer schema: fields are found by their ids, and those that a fragment does not have are
 * null. So are those of the older version that only have the id of another.
 *
 * Batches are cut beforehand: each is a slice of `run`, which lies in one fragment. They are read
 * by the consumer's thread, in order, so that one reader at a time is open.
 */
#include <leman/table_versions.h>

#include <nanoarrow/nanoarrow.h>

#include "arrow/compose.h"
#include "base/bytes.h"
#include "base/error.h"
#include "base/math.h"
#include "format/batches.h"
#include "table/diff_plan.h"
#include "table/row_columns.h"
#include "table/row_list.h"
#include "table/scan.h"
#include "table/versions.h"

enum change { INSERT, UPDATE, DELETE };
static const char *const change_name[] = { "insert", "update", "delete" };

enum { OWN_COLUMNS = 2, ROWS_UNKNOWN_BYTES = 1024 };
#define CHANGE_NAME "_change"

/* Rows [row, row + count) of a fragment, all changed in one way. */
struct run {
    uint64_t row;
    uint64_t count;
    enum change change;
};

/* A slice of the runs; they lie in one fragment. */
struct batch {
    uint64_t fragment; /* its number */
    bool old;          /* of the older version */
    uint64_t first, count;
};

struct diff {
    struct lmn_env *env;                  /* counted */
    struct lmn_table *table;              /* counted */
    struct lmn__manifest *from, *to;      /* counted */
    struct lmn__projection projection[2]; /* of the newer version's rows; of the older one's */
    uint32_t projected;                   /* how many of them are made */
    struct run *run;
    uint64_t run_count, run_room;
    struct batch *batch;
    uint64_t batch_count, batch_room;
    struct lmn__fragment_reader *reader; /* of the last batch */
    uint64_t reader_fragment;
    bool reader_old;
};

/* A fragment while its rows are chosen. */
struct choosing {
    struct diff *diff;
    const struct lmn__diff_plan *plan;
    uint64_t fragment;
    bool old;
    uint64_t rows_max; /* of a batch */
    uint64_t rows;     /* in the last batch */
    bool begun;        /* the fragment has a batch */
};

static enum lmn_status grow(struct lmn_env *env, void **items, uint64_t count, uint64_t *room,
                            size_t bytes, struct lmn_error *err)
{
    uint64_t wanted = *room != 0 ? *room * 2 : 64;
    void *grown;

    if (count < *room)
        return LMN_OK;
    grown = lmn__realloc(env, *items, wanted * bytes);
    if (grown == NULL)
        return lmn__no_memory(err, "a list of rows", wanted * bytes);
    *items = grown;
    *room = wanted;
    return LMN_OK;
}

static enum lmn_status begin_batch(struct choosing *choosing, struct lmn_error *err)
{
    struct diff *diff = choosing->diff;
    void *items = diff->batch;
    enum lmn_status st = grow(diff->env, &items, diff->batch_count, &diff->batch_room,
                              sizeof *diff->batch, err);

    diff->batch = items;
    if (st != LMN_OK)
        return st;
    diff->batch[diff->batch_count++] = (struct batch){ .fragment = choosing->fragment,
                                                       .old = choosing->old,
                                                       .first = diff->run_count };
    choosing->begun = true;
    choosing->rows = 0;
    return LMN_OK;
}

/* Add rows that were chosen, behind all others. */
static enum lmn_status add_rows(struct choosing *choosing, uint64_t row, uint64_t count,
                                enum change change, struct lmn_error *err)
{
    struct diff *diff = choosing->diff;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && count != 0) {
        struct run *last = NULL;
        void *items = diff->run;
        uint64_t take;

        if (!choosing->begun || choosing->rows == choosing->rows_max)
            st = begin_batch(choosing, err);
        if (st == LMN_OK)
            st = grow(diff->env, &items, diff->run_count, &diff->run_room, sizeof *diff->run, err);
        diff->run = items;
        if (st != LMN_OK)
            break;
        take = lmn__min_u64(count, choosing->rows_max - choosing->rows);
        if (diff->batch[diff->batch_count - 1].count != 0)
            last = &diff->run[diff->run_count - 1];
        if (last != NULL && last->change == change && last->row + last->count == row) {
            last->count += take;
        } else {
            diff->run[diff->run_count++] = (struct run){ row, take, change };
            diff->batch[diff->batch_count - 1].count++;
        }
        choosing->rows += take;
        row += take;
        count -= take;
    }
    return st;
}

/* Choose those of rows with neighbouring ids that are in the plan. */
static enum lmn_status choose_ids(struct choosing *choosing, uint64_t row, uint64_t id,
                                  uint64_t count, struct lmn_error *err)
{
    const struct lmn__diff_plan *plan = choosing->plan;
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && count != 0) {
        const struct lmn__id_set *set = choosing->old ? &plan->deleted : &plan->inserted;
        enum change change = choosing->old ? DELETE : INSERT;
        bool inside;
        uint64_t run = lmn__id_set_run(set, id, count, &inside);

        if (!inside && !choosing->old) {
            change = UPDATE;
            run = lmn__id_set_run(&plan->updated, id, run, &inside);
        }
        if (inside)
            st = add_rows(choosing, row, run, change, err);
        row += run;
        id += run;
        count -= run;
    }
    return st;
}

static enum lmn_status choose_rows(struct choosing *choosing,
                                   const struct lmn__fragment_reader *reader, struct lmn_error *err)
{
    const struct lmn__row_ids *ids = lmn__fragment_reader_ids(reader);
    const struct lmn__deletion *deletion = lmn__fragment_reader_deletion(reader);
    enum lmn_status st = LMN_OK;

    for (uint64_t i = 0; st == LMN_OK && i < ids->run_count; i++) {
        const struct lmn__id_run *run = &ids->run[i];
        struct lmn__row_list live;

        lmn__row_list_init(&live, choosing->diff->env);
        st = lmn__row_list_add_live(&live, deletion, run->row, run->count, err);
        for (uint64_t k = 0; st == LMN_OK && k < live.count; k++)
            st = choose_ids(choosing, live.range[k].first,
                            run->id + (live.range[k].first - run->row), live.range[k].count, err);
        lmn__row_list_deinit(&live);
    }
    return st;
}

/* How many rows of a fragment make a batch. */
static uint64_t batch_rows(const struct lmn__pb_fragment *fragment)
{
    const struct lmn__pb_data_file *file = fragment->files.item;
    uint64_t bytes = 0, rows;

    for (size_t i = 0; i < fragment->files.count; i++) {
        if (file[i].bytes == 0 || !lmn__add_u64(bytes, file[i].bytes, &bytes))
            return ROWS_UNKNOWN_BYTES;
    }
    rows = LMN__BATCH_BYTES / (bytes / lmn__max_u64(fragment->row_count, 1) + 1);
    return lmn__max_u64(lmn__min_u64(rows, LMN__BATCH_ROWS), 1);
}

/* Choose the rows of one side. */
static enum lmn_status choose(struct diff *diff, const struct lmn__diff_plan *plan, bool old,
                              struct lmn_error *err)
{
    struct lmn__manifest *manifest = old ? diff->from : diff->to;
    struct lmn__fragment_table known;
    struct lmn__projection nothing;
    enum lmn_status st = lmn__projection_init_nodes(&nothing, diff->env, &manifest->schema, NULL, 0,
                                                    false, err);

    if (st != LMN_OK)
        return st;
    st = lmn__fragment_table_init(&known, old ? diff->to : diff->from, err);
    for (uint64_t i = 0; st == LMN_OK && i < lmn__manifest_fragment_count(manifest); i++) {
        struct choosing choosing = { .diff = diff, .plan = plan, .fragment = i, .old = old };
        struct lmn__fragment_reader *reader;

        if (lmn__fragment_table_has(&known, manifest->pb.fragments.item[i]))
            continue;
        st = lmn__fragment_reader_open(diff->table->files, manifest, i, &nothing, &reader, err);
        if (st == LMN_OK) {
            choosing.rows_max = batch_rows(lmn__fragment_reader_fragment(reader));
            st = choose_rows(&choosing, reader, err);
        }
        lmn__fragment_reader_close(reader);
    }
    lmn__fragment_table_deinit(&known);
    lmn__projection_deinit(&nothing);
    return st;
}

static void diff_free(void *context)
{
    struct diff *diff = context;
    struct lmn_env *env = diff->env;

    lmn__fragment_reader_close(diff->reader);
    for (uint32_t i = 0; i < diff->projected; i++)
        lmn__projection_deinit(&diff->projection[i]);
    lmn__free(env, diff->run);
    lmn__free(env, diff->batch);
    lmn__manifest_release(diff->from);
    lmn__manifest_release(diff->to);
    lmn_table_release(diff->table);
    lmn__free(env, diff);
    lmn_env_release(env);
}

static enum lmn_status own_field(struct ArrowSchema *schema, const char *name, enum ArrowType type,
                                 struct lmn_error *err)
{
    ArrowSchemaInit(schema);
    if (ArrowSchemaSetType(schema, type) != NANOARROW_OK ||
        ArrowSchemaSetName(schema, name) != NANOARROW_OK)
        return lmn__no_memory(err, "a schema", 0);
    schema->flags = 0;
    return LMN_OK;
}

/* Deleted rows have no values in columns that came later, so every column may be null. */
static enum lmn_status diff_schema(void *context, struct ArrowSchema *schema_out,
                                   struct lmn_error *err)
{
    const struct diff *diff = context;
    const struct ArrowSchema *from = &diff->projection[0].arrow;
    enum lmn_status st = LMN_OK;

    ArrowSchemaInit(schema_out);
    if (ArrowSchemaSetFormat(schema_out, "+s") != NANOARROW_OK ||
        ArrowSchemaAllocateChildren(schema_out, from->n_children + OWN_COLUMNS) != NANOARROW_OK)
        st = lmn__no_memory(err, "a schema", 0);
    if (st == LMN_OK)
        st = own_field(schema_out->children[0], CHANGE_NAME, NANOARROW_TYPE_STRING, err);
    if (st == LMN_OK)
        st = own_field(schema_out->children[1], LMN__ROW_ID_NAME, NANOARROW_TYPE_UINT64, err);
    for (int64_t i = 0; st == LMN_OK && i < from->n_children; i++) {
        struct ArrowSchema *column = schema_out->children[i + OWN_COLUMNS];

        if (ArrowSchemaDeepCopy(from->children[i], column) != NANOARROW_OK)
            st = lmn__no_memory(err, "a schema", 0);
        else
            column->flags |= ARROW_FLAG_NULLABLE;
    }
    if (st != LMN_OK) {
        schema_out->release(schema_out);
        *schema_out = (struct ArrowSchema){ 0 };
    }
    return st;
}

/* The column "_change" of a batch. */
static enum lmn_status make_changes(const struct diff *diff, const struct batch *batch,
                                    struct ArrowArray *array_out, struct lmn_error *err)
{
    static const struct lmn__layout layout = { .kind = LMN__LAYOUT_VARIABLE, .bits = 32 };
    struct lmn__builder builder;
    enum lmn_status st = lmn__builder_init(&builder, diff->env, &layout, err);

    for (uint64_t i = 0; st == LMN_OK && i < batch->count; i++) {
        const struct run *run = &diff->run[batch->first + i];
        const char *name = change_name[run->change];
        size_t len = strlen(name);
        uint8_t *offsets, *data;
        uint64_t base;

        st = lmn__builder_add_valid(&builder, run->count, err);
        if (st == LMN_OK)
            st = lmn__builder_extend_variable(&builder, run->count, run->count * len, &offsets,
                                              &data, &base, err);
        for (uint64_t k = 0; st == LMN_OK && k < run->count; k++) {
            memcpy(data + k * len, name, len);
            lmn__store_u32(offsets + k * 4, (uint32_t)(base + (k + 1) * len));
        }
    }
    if (st == LMN_OK)
        st = lmn__builder_finish(&builder, array_out, err);
    lmn__builder_deinit(&builder);
    return st;
}

static enum lmn_status open_reader(struct diff *diff, const struct batch *batch,
                                   struct lmn_error *err)
{
    if (diff->reader != NULL && diff->reader_fragment == batch->fragment &&
        diff->reader_old == batch->old)
        return LMN_OK;
    lmn__fragment_reader_close(diff->reader);
    diff->reader = NULL;
    diff->reader_fragment = batch->fragment;
    diff->reader_old = batch->old;
    return lmn__fragment_reader_open(diff->table->files, batch->old ? diff->from : diff->to,
                                     batch->fragment, &diff->projection[batch->old], &diff->reader,
                                     err);
}

/* Put "_change" and "_rowid" before the columns of *array. */
static enum lmn_status add_own(const struct diff *diff, const struct batch *batch,
                               const struct lmn__row_list *rows, struct ArrowArray *array,
                               struct lmn_error *err)
{
    static const struct lmn__row_columns id_only = { .id = true };
    uint32_t count = (uint32_t)array->n_children;
    struct ArrowArray wider;
    enum lmn_status st = lmn__array_compose(diff->env, rows->row_count, count + OWN_COLUMNS, &wider,
                                            err);

    if (st != LMN_OK)
        return st;
    st = make_changes(diff, batch, wider.children[0], err);
    if (st == LMN_OK)
        st = lmn__row_columns_make(diff->reader, NULL, id_only, rows->range, rows->count,
                                   wider.children + 1, err);
    if (st != LMN_OK) {
        wider.release(&wider);
        return st;
    }
    for (uint32_t i = 0; i < count; i++)
        lmn__array_move(array->children[i], wider.children[i + OWN_COLUMNS]);
    array->release(array);
    *array = wider;
    return LMN_OK;
}

/* A lmn__batch_read_fn. */
static enum lmn_status read_batch(void *context, struct lmn__scratch *scratch, uint64_t index,
                                  struct ArrowArray *array_out, struct lmn_error *err)
{
    struct diff *diff = context;
    const struct batch *batch = &diff->batch[index];
    struct lmn__row_list rows;
    enum lmn_status st = open_reader(diff, batch, err);

    *array_out = (struct ArrowArray){ 0 };
    lmn__row_list_init(&rows, diff->env);
    for (uint64_t i = 0; st == LMN_OK && i < batch->count; i++)
        st = lmn__row_list_add(&rows, diff->run[batch->first + i].row,
                               diff->run[batch->first + i].count, err);
    if (st == LMN_OK)
        st = lmn__fragment_reader_read(diff->reader, scratch, rows.range, rows.count, array_out,
                                       err);
    if (st == LMN_OK)
        st = add_own(diff, batch, &rows, array_out, err);
    if (st != LMN_OK)
        lmn__array_release(array_out);
    lmn__row_list_deinit(&rows);
    return st;
}

/* The two versions, and what both must be. */
/* A column of the table cannot have the name of one that the diff has by itself. */
static enum lmn_status check_names(const struct diff *diff, struct lmn_error *err)
{
    for (const struct lmn__node *node = diff->to->schema.top; node != NULL; node = node->next) {
        if (strcmp(node->name, CHANGE_NAME) == 0)
            return lmn_fail(err, LMN_E_UNSUPPORTED,
                            "version %llu has a column \"" CHANGE_NAME
                            "\", which is the one that says what happened to a row: rename it",
                            (unsigned long long)diff->to->pb.version);
    }
    return LMN_OK;
}

static enum lmn_status read_versions(struct diff *diff, uint64_t from, uint64_t to,
                                     struct lmn_error *err)
{
    uint64_t newest;
    bool plain;
    enum lmn_status st = lmn__versions_newest(diff->table->store, &newest, &plain, err);

    if (st == LMN_OK)
        st = lmn__table_read_version(diff->table, from, plain, &diff->from, err);
    if (st == LMN_OK)
        st = lmn__table_read_version(diff->table, to, plain, &diff->to, err);
    if (st == LMN_OK &&
        !(lmn__manifest_stable_ids(diff->from) && lmn__manifest_stable_ids(diff->to)))
        st = lmn_fail(
            err, LMN_E_UNSUPPORTED,
            "rows have no stable ids, so those of two versions cannot be compared; tables "
            "that Leman makes have them");
    return st == LMN_OK ? check_names(diff, err) : st;
}

/* Let the fields that the older version does not have be null. */
static void hide(const struct diff *diff, const bool *shared, struct lmn__selected *selected)
{
    if (selected->node != NULL)
        selected->absent = !shared[selected->node - diff->to->schema.node];
    for (uint32_t i = 0; i < selected->child_count; i++)
        hide(diff, shared, selected->child[i]);
}

static enum lmn_status project(struct diff *diff, struct lmn_error *err)
{
    struct lmn_scan_options options = { 0 };
    enum lmn_status st = LMN_OK;

    while (st == LMN_OK && diff->projected < 2) {
        st = lmn__scan_project(diff->env, &diff->to->schema, &options,
                               &diff->projection[diff->projected], err);
        diff->projected += st == LMN_OK;
    }
    return st;
}

static enum lmn_status plan_batches(struct diff *diff, struct lmn_error *err)
{
    struct lmn__diff_plan plan;
    enum lmn_status st = project(diff, err);

    if (st != LMN_OK)
        return st;
    st = lmn__diff_plan_make(diff->table, diff->from, diff->to, &plan, err);
    if (st == LMN_OK) {
        hide(diff, plan.shared, diff->projection[1].root);
        st = choose(diff, &plan, false, err);
    }
    if (st == LMN_OK)
        st = choose(diff, &plan, true, err);
    lmn__diff_plan_deinit(&plan);
    return st;
}

enum lmn_status lmn_table_diff(struct lmn_table *table, uint64_t from, uint64_t to,
                               struct ArrowArrayStream *stream_out, struct lmn_error *err)
{
    struct lmn__batch_source source = { NULL, read_batch, diff_schema, diff_free };
    struct lmn__batches_options options = { .threads = 1 };
    struct diff *diff;
    enum lmn_status st;

    *stream_out = (struct ArrowArrayStream){ 0 };
    if (from > to)
        return lmn_fail(err, LMN_E_INVALID, "version %llu is not before version %llu",
                        (unsigned long long)from, (unsigned long long)to);
    diff = lmn__calloc(table->env, 1, sizeof *diff);
    if (diff == NULL)
        return lmn__no_memory(err, "a diff", sizeof *diff);
    diff->env = lmn_env_acquire(table->env);
    diff->table = lmn_table_acquire(table);
    st = read_versions(diff, from, to, err);
    if (st == LMN_OK)
        st = plan_batches(diff, err);
    if (st == LMN_OK) {
        source.context = diff;
        options.batch_count = diff->batch_count;
        st = lmn__batches_open(diff->env, &source, &options, stream_out, err);
    }
    if (st != LMN_OK) {
        diff_free(diff);
        return lmn__fail_within(err, st, "%.200s", table->store->name);
    }
    return LMN_OK;
}
