/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each fragment's rows are read in rising order, each once, and put into the order of the request,
 * but for large rows of one fragment, which are read in that order. Fragments are read by several
 * threads when there is enough to read.
 */
#include "table/pick.h"

#include <stdlib.h>

#include "arrow/compose.h"
#include "arrow/gather.h"
#include "base/math.h"
#include "table/row_list.h"

/* Below this, threads cost more than they bring. */
enum {
    THREAD_BYTES_MIN = 4 << 20,
    THREADS_MAX = 64,
    UNSORTED_BYTES_MIN = 8 << 10,
    UNSORTED_GAP_MIN = 8
};

/* The rows of one fragment: row[first .. first + count). */
struct lmn__pick_group {
    uint64_t first, count;
    struct ArrowArray array; /* its distinct rows, in rising order */
};

/* What the threads that read share. */
struct reading {
    struct lmn__pick *pick;
    struct lmn__mutex mutex;
    struct {
        uint32_t next; /* group that nobody reads yet */
        enum lmn_status status;
        struct lmn_error error;
    } locked;
};

static int compare_rows(const void *a, const void *b)
{
    const struct lmn__pick_row *x = a, *y = b;

    if (x->fragment != y->fragment)
        return x->fragment < y->fragment ? -1 : 1;
    return x->row < y->row ? -1 : x->row > y->row;
}

enum lmn_status lmn__pick_init(struct lmn__pick *pick, uint64_t count, struct lmn_error *err)
{
    struct lmn_env *env = pick->snapshot->env;
    uint64_t room = lmn__max_u64(count, 1);

    pick->count = count;
    pick->group_count = 0;
    pick->group = NULL;
    pick->is_in_order = false;
    pick->row = lmn__calloc(env, room, sizeof *pick->row);
    pick->part = lmn__calloc(env, room, sizeof *pick->part);
    pick->index = lmn__calloc(env, room, sizeof *pick->index);
    if (pick->row == NULL || pick->part == NULL || pick->index == NULL)
        return lmn__no_memory(err, "rows to take", room * sizeof *pick->row);
    return LMN_OK;
}

void lmn__pick_deinit(struct lmn__pick *pick)
{
    struct lmn_env *env = pick->snapshot->env;

    for (uint32_t i = 0; i < pick->group_count; i++)
        lmn__array_release(&pick->group[i].array);
    lmn__free(env, pick->group);
    lmn__free(env, pick->row);
    lmn__free(env, pick->part);
    lmn__free(env, pick->index);
}

/*
 * Rows of one fragment that are so large that each is a read of its own are read in the order of
 * the request, to where they stay; neighbours bring nothing then, and a copy costs.
 */
static bool is_best_unsorted(const struct lmn__pick *pick)
{
    const struct lmn__fragment_info *info = &pick->snapshot->fragment[pick->row[0].fragment];

    if (pick->close || info->is_old || info->row_count / pick->count < UNSORTED_GAP_MIN ||
        info->bytes / lmn__max_u64(info->row_count, 1) < UNSORTED_BYTES_MIN)
        return false;
    for (uint64_t i = 0; i < pick->count; i++) {
        if (pick->row[i].fragment != pick->row[0].fragment || pick->row[i].place != i)
            return false;
    }
    return true;
}

/* Does one group read the result as it is: all rows, each once, in the order of the request? */
static bool reads_in_order(const struct lmn__pick *pick)
{
    if (!pick->whole || pick->group_count != 1)
        return false;
    for (uint64_t i = 0; i < pick->count; i++) {
        if (pick->row[i].place != i || (i != 0 && pick->row[i].row == pick->row[i - 1].row))
            return false;
    }
    return true;
}

/* Sort what is wanted, unless it is, and cut it into groups. */
static enum lmn_status make_groups(struct lmn__pick *pick, struct lmn_error *err)
{
    const struct lmn__pick_row *row = pick->row;
    bool sorted = true;
    uint32_t groups = 0;

    for (uint64_t i = 1; i < pick->count && sorted; i++)
        sorted = compare_rows(&row[i - 1], &row[i]) <= 0;
    if (!sorted && !is_best_unsorted(pick))
        qsort(pick->row, pick->count, sizeof *pick->row, compare_rows);
    for (uint64_t i = 0; i < pick->count; i++)
        groups += i == 0 || row[i].fragment != row[i - 1].fragment;
    pick->group = lmn__calloc(pick->snapshot->env, groups, sizeof *pick->group);
    if (pick->group == NULL)
        return lmn__no_memory(err, "rows to take", groups * sizeof *pick->group);
    for (uint64_t i = 0; i < pick->count; i++) {
        if (i == 0 || row[i].fragment != row[i - 1].fragment)
            pick->group[pick->group_count++].first = i;
        pick->group[pick->group_count - 1].count++;
    }
    pick->is_in_order = reads_in_order(pick);
    return LMN_OK;
}

static enum lmn_status no_row(const struct lmn__pick *pick, uint64_t place, struct lmn_error *err)
{
    return lmn_fail(err, LMN_E_NOT_FOUND, "version %llu has no row with id %llu",
                    (unsigned long long)pick->snapshot->manifest->pb.version,
                    (unsigned long long)(pick->asked != NULL ? pick->asked[place] : place));
}

/* The rows of a group, each once; and for each place in the request, which of them it is. */
static enum lmn_status list_rows(struct lmn__pick *pick, uint32_t number,
                                 const struct lmn__fragment_reader *reader,
                                 struct lmn__row_list *rows, struct lmn_error *err)
{
    const struct lmn__pick_group *group = &pick->group[number];
    const struct lmn__deletion *deletion = lmn__fragment_reader_deletion(reader);
    uint64_t before = UINT64_MAX;
    enum lmn_status st = LMN_OK;

    for (uint64_t i = group->first; st == LMN_OK && i < group->first + group->count; i++) {
        const struct lmn__pick_row *wanted = &pick->row[i];
        uint64_t row = wanted->row;

        if (pick->live && row >= lmn__fragment_reader_live_count(reader))
            return lmn_fail(err, LMN_E_CORRUPT,
                            "fragment %llu has fewer live rows than the manifest says",
                            (unsigned long long)lmn__fragment_reader_fragment(reader)->id);
        if (pick->live)
            row = lmn__fragment_reader_live_row(reader, row);
        if (lmn__deletion_has(deletion, row))
            return no_row(pick, wanted->place, err);
        if (row != before)
            st = lmn__row_list_add(rows, row, 1, err);
        before = row;
        pick->part[wanted->place] = number;
        pick->index[wanted->place] = rows->row_count - 1;
    }
    return st;
}

static enum lmn_status read_group(struct lmn__pick *pick, struct lmn__scratch *scratch,
                                  uint32_t number, struct lmn_error *err)
{
    struct lmn__pick_group *group = &pick->group[number];
    uint64_t fragment = pick->row[group->first].fragment;
    struct lmn__fragment_reader *reader;
    struct lmn__row_list rows;
    enum lmn_status st = lmn__reader_set_get(pick->readers, fragment, &reader, err);

    if (st != LMN_OK)
        return st;
    lmn__row_list_init(&rows, pick->snapshot->env);
    if (pick->is_in_order)
        scratch->place = pick->place;
    st = list_rows(pick, number, reader, &rows, err);
    if (st == LMN_OK)
        st = lmn__fragment_reader_read(reader, scratch, rows.range, rows.count, &group->array, err);
    if (st == LMN_OK)
        st = lmn__row_columns_add(reader, scratch->place, pick->row_columns, rows.range, rows.count,
                                  &group->array, err);
    scratch->place = NULL;
    lmn__row_list_deinit(&rows);
    lmn__reader_set_put(pick->readers, fragment);
    return st;
}

/* Read groups until there are none left; the first failure ends it for all. */
static void read_groups(struct reading *reading, struct lmn__scratch *scratch)
{
    lmn__mutex_lock(&reading->mutex);
    while (reading->locked.status == LMN_OK && reading->locked.next < reading->pick->group_count) {
        uint32_t number = reading->locked.next++;
        struct lmn_error error = { 0 };
        enum lmn_status st;

        lmn__mutex_unlock(&reading->mutex);
        st = read_group(reading->pick, scratch, number, &error);
        lmn__mutex_lock(&reading->mutex);
        if (st != LMN_OK && reading->locked.status == LMN_OK) {
            reading->locked.status = st;
            reading->locked.error = error;
        }
    }
    lmn__mutex_unlock(&reading->mutex);
}

static void helper_main(void *context)
{
    struct reading *reading = context;
    struct lmn__scratch scratch;

    lmn__scratch_init(&scratch, reading->pick->snapshot->env);
    read_groups(reading, &scratch);
    lmn__scratch_deinit(&scratch);
}

/* How many threads beside this one. */
static uint32_t helper_count(const struct lmn__pick *pick, uint32_t threads)
{
    const struct lmn__fragment_info *info = pick->snapshot->fragment;
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < pick->group_count; i++) {
        const struct lmn__pick_group *group = &pick->group[i];
        const struct lmn__fragment_info *fragment = &info[pick->row[group->first].fragment];

        bytes += group->count * (fragment->bytes / lmn__max_u64(fragment->row_count, 1));
    }
    if (bytes < THREAD_BYTES_MIN)
        return 0;
    return (uint32_t)lmn__min_u64(lmn__min_u64(threads, THREADS_MAX), pick->group_count) - 1;
}

static enum lmn_status read_together(struct lmn__pick *pick, uint32_t helpers,
                                     struct lmn__scratch *scratch, struct lmn_error *err)
{
    struct lmn_env *env = pick->snapshot->env;
    struct reading reading = { .pick = pick };
    struct lmn__thread thread[THREADS_MAX];
    uint32_t started = 0;
    enum lmn_status st = lmn__mutex_init(&reading.mutex, err);

    if (st != LMN_OK)
        return st;
    while (started < helpers &&
           lmn__thread_start(env, helper_main, &reading, &thread[started], NULL) == LMN_OK)
        started++;
    read_groups(&reading, scratch);
    for (uint32_t i = 0; i < started; i++)
        lmn__thread_join(&thread[i]);
    lmn__mutex_deinit(&reading.mutex);
    if (reading.locked.status != LMN_OK && err != NULL)
        *err = reading.locked.error;
    return reading.locked.status;
}

enum lmn_status lmn__pick_read(struct lmn__pick *pick, uint32_t threads,
                               struct lmn__scratch *scratch, struct lmn_error *err)
{
    enum lmn_status st = make_groups(pick, err);

    if (st != LMN_OK)
        return st;
    if (pick->group_count > 1 && threads > 1)
        return read_together(pick, helper_count(pick, threads), scratch, err);
    for (uint32_t i = 0; st == LMN_OK && i < pick->group_count; i++)
        st = read_group(pick, scratch, i, err);
    return st;
}

enum lmn_status lmn__pick_gather(struct lmn__pick *pick, uint64_t first, uint64_t count,
                                 struct ArrowArray *array_out, struct lmn_error *err)
{
    const struct lmn__layout *layout = lmn__reader_set_projection(pick->readers)->layout;
    uint32_t columns = layout->child_count, more = lmn__row_columns_count(pick->row_columns);
    struct lmn_env *env = pick->snapshot->env, *place = pick->place != NULL ? pick->place : env;
    const struct ArrowArray **from;
    enum lmn_status st;

    *array_out = (struct ArrowArray){ 0 };
    if (pick->is_in_order) {
        lmn__array_move(&pick->group[0].array, array_out);
        return LMN_OK;
    }
    from = lmn__calloc(env, pick->group_count, sizeof *from);
    if (from == NULL)
        return lmn__no_memory(err, "rows to take", pick->group_count * sizeof *from);
    st = lmn__array_compose(env, count, columns + more, array_out, err);
    for (uint32_t i = 0; st == LMN_OK && i < columns + more; i++) {
        for (uint32_t k = 0; k < pick->group_count; k++)
            from[k] = pick->group[k].array.children[i];
        st = lmn__arrays_gather(place, i < columns ? layout->child[i] : &lmn__row_column_layout,
                                from, pick->group_count, pick->part + first, pick->index + first,
                                count, array_out->children[i], err);
    }
    if (st != LMN_OK)
        lmn__array_release(array_out);
    lmn__free(env, from);
    return st;
}
