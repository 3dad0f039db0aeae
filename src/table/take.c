/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are looked up first: which fragment, which row of it. Then each fragment's rows are read in
 * rising order, each once, and put into the order of the request. Fragments are read by several
 * threads when there is enough to read.
 */
#include <stdlib.h>
#include <string.h>

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "base/error.h"
#include "base/math.h"
#include "table/id_index.h"
#include "table/reader_set.h"
#include "table/row_columns.h"
#include "table/row_list.h"

/* Below this, threads cost more than they bring. */
enum { THREAD_BYTES_MIN = 4 << 20, THREADS_MAX = 64 };

/* A row that is asked for. */
struct wanted {
    uint64_t fragment; /* its number */
    uint64_t row;      /* in it; by position: among its live rows */
    uint64_t place;    /* in the request */
};

/* The rows of one fragment: wanted[first .. first + count). */
struct group {
    uint64_t first, count;
    struct ArrowArray array; /* its distinct rows, in rising order */
};

struct take {
    struct lmn_env *env;
    struct lmn__snapshot *snapshot;
    struct lmn__reader_set *readers;
    struct lmn__row_columns row_columns;
    bool by_position;
    const uint64_t *asked; /* positions or ids */
    uint64_t count;
    struct wanted *wanted;
    uint32_t *part;  /* for each row of the request: its group ... */
    uint64_t *index; /* ... and where it is in that group's array */
    uint32_t group_count;
    struct group *group;
    struct lmn__mutex mutex;
    struct {
        uint32_t next; /* group that nobody reads yet */
        enum lmn_status status;
        struct lmn_error error;
    } locked;
};

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    if (x->fragment != y->fragment)
        return x->fragment < y->fragment ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

static enum lmn_status no_row(uint64_t id, const struct take *take, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_NOT_FOUND, "version %llu has no row with id %llu",
                    (unsigned long long)take->snapshot->manifest->pb.version,
                    (unsigned long long)id);
}

static enum lmn_status find_positions(struct take *take, struct lmn_error *err)
{
    for (uint64_t i = 0; i < take->count; i++) {
        uint64_t position = take->asked[i], fragment;

        if (position >= take->snapshot->row_count)
            return lmn_fail(err, LMN_E_INVALID, "row %llu of a table of %llu rows",
                            (unsigned long long)position,
                            (unsigned long long)take->snapshot->row_count);
        fragment = lmn__snapshot_fragment_of(take->snapshot, position);
        take->wanted[i] = (struct wanted){
            fragment, position - take->snapshot->fragment[fragment].live_before, i
        };
    }
    return LMN_OK;
}

static enum lmn_status find_ids(struct take *take, struct lmn_error *err)
{
    const struct lmn__id_index *ids = NULL;
    enum lmn_status st = LMN_OK;

    if (lmn__manifest_stable_ids(take->snapshot->manifest))
        st = lmn__id_index_of(take->snapshot, &ids, err);
    for (uint64_t i = 0; st == LMN_OK && i < take->count; i++) {
        struct wanted *wanted = &take->wanted[i];
        uint64_t id = take->asked[i];
        bool found;

        wanted->place = i;
        wanted->row = (uint32_t)id;
        found = ids != NULL ? lmn__id_index_find(ids, id, &wanted->fragment, &wanted->row)
                            : lmn__snapshot_find(take->snapshot, id >> 32, &wanted->fragment);
        if (!found || wanted->row >= take->snapshot->fragment[wanted->fragment].row_count)
            st = no_row(id, take, err);
    }
    return st;
}

/* Sort what is wanted, unless it is, and cut it into groups. */
static enum lmn_status make_groups(struct take *take, struct lmn_error *err)
{
    bool sorted = true;
    uint32_t groups = 0;

    for (uint64_t i = 1; i < take->count && sorted; i++)
        sorted = compare_wanted(&take->wanted[i - 1], &take->wanted[i]) <= 0;
    if (!sorted)
        qsort(take->wanted, take->count, sizeof *take->wanted, compare_wanted);
    for (uint64_t i = 0; i < take->count; i++)
        groups += i == 0 || take->wanted[i].fragment != take->wanted[i - 1].fragment;
    take->group = lmn__calloc(take->env, groups, sizeof *take->group);
    if (take->group == NULL)
        return lmn__no_memory(err, "rows to take", groups * sizeof *take->group);
    for (uint64_t i = 0; i < take->count; i++) {
        if (i == 0 || take->wanted[i].fragment != take->wanted[i - 1].fragment)
            take->group[take->group_count++].first = i;
        take->group[take->group_count - 1].count++;
    }
    return LMN_OK;
}

/* The rows of a group, each once; and for each place in the request, which of them it is. */
static enum lmn_status list_rows(struct take *take, uint32_t number,
                                 const struct lmn__fragment_reader *reader,
                                 struct lmn__row_list *rows, struct lmn_error *err)
{
    const struct group *group = &take->group[number];
    const struct lmn__deletion *deletion = lmn__fragment_reader_deletion(reader);
    uint64_t before = UINT64_MAX;
    enum lmn_status st = LMN_OK;

    if (take->by_position && group->count != 0 &&
        take->wanted[group->first + group->count - 1].row >=
            lmn__fragment_reader_live_count(reader))
        return lmn_fail(err, LMN_E_CORRUPT,
                        "fragment %llu has fewer live rows than the manifest says",
                        (unsigned long long)lmn__fragment_reader_fragment(reader)->id);
    for (uint64_t i = group->first; st == LMN_OK && i < group->first + group->count; i++) {
        const struct wanted *wanted = &take->wanted[i];
        uint64_t row = take->by_position ? lmn__fragment_reader_live_row(reader, wanted->row)
                                         : wanted->row;

        if (lmn__deletion_has(deletion, row))
            return no_row(take->asked[wanted->place], take, err);
        if (row != before)
            st = lmn__row_list_add(rows, row, 1, err);
        before = row;
        take->part[wanted->place] = number;
        take->index[wanted->place] = rows->row_count - 1;
    }
    return st;
}

static enum lmn_status read_group(struct take *take, struct lmn__scratch *scratch, uint32_t number,
                                  struct lmn_error *err)
{
    struct group *group = &take->group[number];
    uint64_t fragment = take->wanted[group->first].fragment;
    struct lmn__fragment_reader *reader;
    struct lmn__row_list rows;
    enum lmn_status st = lmn__reader_set_get(take->readers, fragment, &reader, err);

    if (st != LMN_OK)
        return st;
    lmn__row_list_init(&rows, take->env);
    st = list_rows(take, number, reader, &rows, err);
    if (st == LMN_OK)
        st = lmn__fragment_reader_read(reader, scratch, rows.range, rows.count, &group->array, err);
    if (st == LMN_OK)
        st = lmn__row_columns_add(reader, take->row_columns, rows.range, rows.count, &group->array,
                                  err);
    lmn__row_list_deinit(&rows);
    lmn__reader_set_put(take->readers, fragment);
    return st;
}

/* Read groups until there are none left; the first failure ends it for all. */
static void read_groups(void *context)
{
    struct take *take = context;
    struct lmn__scratch scratch;

    lmn__scratch_init(&scratch, take->env);
    lmn__mutex_lock(&take->mutex);
    while (take->locked.status == LMN_OK && take->locked.next < take->group_count) {
        uint32_t number = take->locked.next++;
        struct lmn_error error = { 0 };
        enum lmn_status st;

        lmn__mutex_unlock(&take->mutex);
        st = read_group(take, &scratch, number, &error);
        lmn__mutex_lock(&take->mutex);
        if (st != LMN_OK && take->locked.status == LMN_OK) {
            take->locked.status = st;
            take->locked.error = error;
        }
    }
    lmn__mutex_unlock(&take->mutex);
    lmn__scratch_deinit(&scratch);
}

/* How many threads beside this one. */
static uint32_t helper_count(struct take *take)
{
    const struct lmn__fragment_info *info = take->snapshot->fragment;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < take->group_count; i++) {
        const struct group *group = &take->group[i];
        const struct lmn__fragment_info *fragment = &info[take->wanted[group->first].fragment];

        bytes += group->count * (fragment->bytes / lmn__max_u64(fragment->row_count, 1));
    }
    if (bytes < THREAD_BYTES_MIN)
        return 0;
    return (uint32_t)lmn__min_u64(lmn__min_u64(take->env->threads, THREADS_MAX),
                                  take->group_count) -
           1;
}

static enum lmn_status read_all(struct take *take, struct lmn_error *err)
{
    struct lmn__thread thread[THREADS_MAX];
    uint32_t helpers = take->group_count > 1 ? helper_count(take) : 0, started = 0;

    while (started < helpers &&
           lmn__thread_start(take->env, read_groups, take, &thread[started], NULL) == LMN_OK)
        started++;
    read_groups(take);
    for (uint32_t i = 0; i < started; i++)
        lmn__thread_join(&thread[i]);
    if (take->locked.status != LMN_OK && err != NULL)
        *err = take->locked.error;
    return take->locked.status;
}

/* Is the result what the only group has read, as it is? */
static bool is_in_order(const struct take *take)
{
    if (take->group_count != 1 || (uint64_t)take->group[0].array.length != take->count)
        return false;
    for (uint64_t i = 0; i < take->count; i++) {
        if (take->index[i] != i)
            return false;
    }
    return true;
}

static enum lmn_status gather(struct take *take, struct ArrowArray *array_out,
                              struct lmn_error *err)
{
    const struct lmn__layout *layout = lmn__reader_set_projection(take->readers)->layout;
    uint32_t columns = layout->child_count, more = lmn__row_columns_count(take->row_columns);
    const struct ArrowArray **from;
    enum lmn_status st;

    if (is_in_order(take)) {
        lmn__array_move(&take->group[0].array, array_out);
        return LMN_OK;
    }
    from = lmn__calloc(take->env, take->group_count, sizeof *from);
    if (from == NULL)
        return lmn__no_memory(err, "rows to take", take->group_count * sizeof *from);
    st = lmn__array_compose(take->env, take->count, columns + more, array_out, err);
    for (uint32_t i = 0; st == LMN_OK && i < columns + more; i++) {
        for (uint32_t k = 0; k < take->group_count; k++)
            from[k] = take->group[k].array.children[i];
        st = lmn__arrays_gather(take->env, i < columns ? layout->child[i] : &lmn__row_column_layout,
                                from, take->group_count, take->part, take->index, take->count,
                                array_out->children[i], err);
    }
    if (st != LMN_OK)
        lmn__array_release(array_out);
    lmn__free(take->env, from);
    return st;
}

static enum lmn_status find_rows(struct take *take, struct lmn_error *err)
{
    uint64_t room = lmn__max_u64(take->count, 1);
    enum lmn_status st;

    take->wanted = lmn__calloc(take->env, room, sizeof *take->wanted);
    take->part = lmn__calloc(take->env, room, sizeof *take->part);
    take->index = lmn__calloc(take->env, room, sizeof *take->index);
    if (take->wanted == NULL || take->part == NULL || take->index == NULL)
        return lmn__no_memory(err, "rows to take", room * sizeof *take->wanted);
    st = take->by_position ? find_positions(take, err) : find_ids(take, err);
    return st != LMN_OK ? st : make_groups(take, err);
}

static void take_deinit(struct take *take)
{
    for (uint32_t i = 0; i < take->group_count; i++)
        lmn__array_release(&take->group[i].array);
    lmn__free(take->env, take->group);
    lmn__free(take->env, take->wanted);
    lmn__free(take->env, take->part);
    lmn__free(take->env, take->index);
    lmn__reader_set_release(take->readers);
    lmn__snapshot_release(take->snapshot);
}

static enum lmn_status run(struct take *take, struct lmn_table *table,
                           const struct lmn_scan_options *options, struct ArrowSchema *schema_out,
                           struct ArrowArray *array_out, struct lmn_error *err)
{
    static const struct lmn_scan_options defaults = { 0 };
    enum lmn_status st = lmn__snapshot_open(table, &take->snapshot, err);

    *schema_out = (struct ArrowSchema){ 0 };
    *array_out = (struct ArrowArray){ 0 };
    if (options == NULL)
        options = &defaults;
    take->env = table->env;
    take->row_columns = (struct lmn__row_columns){ options->with_row_id,
                                                   options->with_row_address };
    if (st == LMN_OK)
        st = lmn__reader_set_open(take->snapshot, options, &take->readers, err);
    if (st == LMN_OK)
        st = find_rows(take, err);
    if (st == LMN_OK)
        st = lmn__mutex_init(&take->mutex, err);
    if (st == LMN_OK) {
        st = read_all(take, err);
        lmn__mutex_deinit(&take->mutex);
    }
    if (st == LMN_OK)
        st = gather(take, array_out, err);
    if (st == LMN_OK)
        st = lmn__row_columns_schema(lmn__reader_set_projection(take->readers), take->row_columns,
                                     schema_out, err);
    if (st != LMN_OK) {
        lmn__array_release(array_out);
        *array_out = (struct ArrowArray){ 0 };
    }
    take_deinit(take);
    return st;
}

enum lmn_status lmn_table_take(struct lmn_table *table, const uint64_t *position, uint64_t count,
                               const struct lmn_scan_options *options,
                               struct ArrowSchema *schema_out, struct ArrowArray *array_out,
                               struct lmn_error *err)
{
    struct take take = { .by_position = true, .asked = position, .count = count };

    return run(&take, table, options, schema_out, array_out, err);
}

enum lmn_status lmn_table_take_ids(struct lmn_table *table, const uint64_t *id, uint64_t count,
                                   const struct lmn_scan_options *options,
                                   struct ArrowSchema *schema_out, struct ArrowArray *array_out,
                                   struct lmn_error *err)
{
    struct take take = { .asked = id, .count = count };

    return run(&take, table, options, schema_out, array_out, err);
}
