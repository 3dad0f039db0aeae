/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A unit is some consecutive batches of one rank, whose rows are looked up and read together, in
 * the order in which they lie, and then put into the order of each batch.
 *
 * When rows of it cannot be read and are to be replaced, halving finds them; each is replaced by
 * what lmn__order_substitute() names, which depends on nothing but its epoch and position.
 */
#include "feed/feed.h"

#include "arrow/compose.h"
#include "base/bytes.h"
#include "base/math.h"
#include "os/clock.h"

enum { SUBSTITUTES_MAX = 64 };

/* A row that a unit reads. */
struct wanted {
    uint64_t epoch, position;
    uint64_t row; /* of the epoch's rows */
};

struct unit {
    struct lmn_feed *feed;
    struct lmn__scratch *scratch;
    uint32_t batch_count;
    uint64_t *end; /* number of rows up to the end of each batch */
    uint64_t row_count;
    struct wanted *wanted;
};

/* Bytes of an array's values and offsets; it begins at its first slot. */
static uint64_t array_bytes(const struct lmn__layout *layout, const struct ArrowArray *array)
{
    uint64_t length = (uint64_t)array->length, bytes = length * layout->bits / 8;

    if (layout->kind == LMN__LAYOUT_VARIABLE && array->buffers[1] != NULL)
        bytes += lmn__load_uint((const uint8_t *)array->buffers[1] + bytes, layout->bits / 8);
    for (int64_t i = 0; i < array->n_children && i < layout->child_count; i++)
        bytes += array_bytes(layout->child[i], array->children[i]);
    return bytes;
}

void lmn__feed_locate(const struct lmn_feed *feed, uint64_t row, struct lmn__pick_row *pick_row)
{
    const struct lmn__snapshot *snapshot = feed->snapshot;

    if (feed->is_filtered) {
        lmn__selection_find(&feed->selection, row, &pick_row->fragment, &pick_row->row);
        return;
    }
    pick_row->fragment = lmn__snapshot_fragment_of(snapshot, row);
    pick_row->row = row - snapshot->fragment[pick_row->fragment].live_before;
}

/* The positions of the unit's batches; the batches end with the last epoch. */
static void plan(struct unit *unit, uint64_t number)
{
    struct lmn_feed *feed = unit->feed;

    unit->batch_count = 0;
    unit->row_count = 0;
    for (uint64_t i = 0; i < feed->unit_batches; i++) {
        struct lmn__place place = lmn__feed_place(feed, number + i);
        struct lmn__share share;
        struct lmn__order order;

        if (feed->epochs != 0 && place.epoch >= feed->epochs)
            return;
        share = lmn__steps_share(&feed->steps, place.position, place.step, feed->rank);
        lmn__order_init(&order, &feed->order, place.epoch);
        for (uint64_t k = 0; k < share.count; k++) {
            uint64_t position = (share.first + k) % feed->order.row_count;

            unit->wanted[unit->row_count++] = (struct wanted){ place.epoch, position,
                                                               lmn__order_row(&order, position) };
        }
        unit->end[unit->batch_count++] = unit->row_count;
    }
}

/* Read rows [first, first + count) of the unit. The caller calls lmn__pick_deinit(). */
static enum lmn_status read_rows(const struct unit *unit, uint64_t first, uint64_t count,
                                 struct lmn__pick *pick, struct lmn_error *err)
{
    struct lmn_feed *feed = unit->feed;
    enum lmn_status st;

    *pick = (struct lmn__pick){ .snapshot = feed->snapshot,
                                .readers = feed->readers,
                                .row_columns = feed->row_columns,
                                .live = !feed->is_filtered,
                                .close = feed->order.shuffle != LMN_SHUFFLE_FULL,
                                .whole = unit->batch_count == 1,
                                .place = feed->place };
    st = lmn__pick_init(pick, count, err);
    if (st != LMN_OK)
        return st;
    for (uint64_t i = 0; i < count; i++) {
        pick->row[i].place = i;
        lmn__feed_locate(feed, unit->wanted[first + i].row, &pick->row[i]);
    }
    return lmn__pick_read(pick, 1, unit->scratch, err);
}

/* Is it the data that failed, rather than this machine? */
static bool is_about_data(enum lmn_status st)
{
    return st == LMN_E_CORRUPT || st == LMN_E_IO || st == LMN_E_NOT_FOUND ||
           st == LMN_E_UNSUPPORTED;
}

static enum lmn_status try_rows(const struct unit *unit, uint64_t first, uint64_t count,
                                struct lmn_error *err)
{
    struct lmn__pick pick;
    enum lmn_status st = read_rows(unit, first, count, &pick, err);

    lmn__pick_deinit(&pick);
    return st;
}

/* Give a row that cannot be read the first substitute that can. */
static enum lmn_status substitute(struct unit *unit, uint64_t index, struct lmn_error *err)
{
    struct wanted *wanted = &unit->wanted[index];
    struct lmn__order order;
    enum lmn_status st = LMN_E_CORRUPT;

    lmn__order_init(&order, &unit->feed->order, wanted->epoch);
    for (uint64_t i = 0; i < SUBSTITUTES_MAX && is_about_data(st); i++) {
        wanted->row = lmn__order_substitute(&order, wanted->position, i);
        st = try_rows(unit, index, 1, err);
    }
    if (st == LMN_OK)
        atomic_fetch_add(&unit->feed->replaced, 1);
    return st;
}

/* Replace those of rows [first, first + count) that cannot be read. */
static enum lmn_status replace_unreadable(struct unit *unit, uint64_t first, uint64_t count,
                                          struct lmn_error *err)
{
    enum lmn_status st = try_rows(unit, first, count, err);

    if (!is_about_data(st))
        return st;
    if (count == 1)
        return substitute(unit, first, err);
    st = replace_unreadable(unit, first, count / 2, err);
    if (st == LMN_OK)
        st = replace_unreadable(unit, first + count / 2, count - count / 2, err);
    return st;
}

static enum lmn_status read_unit(struct unit *unit, struct ArrowArray *batch_out,
                                 struct lmn_error *err)
{
    const struct lmn__layout *layout = lmn__reader_set_projection(unit->feed->readers)->layout;
    struct lmn__pick pick;
    uint64_t first = 0;
    enum lmn_status st = read_rows(unit, 0, unit->row_count, &pick, err);

    if (unit->feed->replaces && is_about_data(st)) {
        lmn__pick_deinit(&pick);
        st = replace_unreadable(unit, 0, unit->row_count, err);
        if (st != LMN_OK)
            return st;
        st = read_rows(unit, 0, unit->row_count, &pick, err);
    }
    for (uint32_t i = 0; st == LMN_OK && i < unit->batch_count; i++) {
        st = lmn__pick_gather(&pick, first, unit->end[i] - first, &batch_out[i], err);
        if (st == LMN_OK)
            atomic_fetch_add(&unit->feed->bytes, array_bytes(layout, &batch_out[i]));
        first = unit->end[i];
    }
    lmn__pick_deinit(&pick);
    return st;
}

enum lmn_status lmn__feed_read_unit(void *context, struct lmn__scratch *scratch, uint64_t number,
                                    struct ArrowArray *batch_out, uint32_t *count_out,
                                    struct lmn_error *err)
{
    struct lmn_feed *feed = context;
    struct unit unit = { .feed = feed, .scratch = scratch };
    uint64_t rows_max = feed->steps.batch_rows * feed->unit_batches;
    int64_t start = lmn__clock_now_ns();
    enum lmn_status st = LMN_OK;

    *count_out = 0;
    unit.end = lmn__calloc(feed->env, feed->unit_batches, sizeof *unit.end);
    unit.wanted = lmn__calloc(feed->env, rows_max, sizeof *unit.wanted);
    if (unit.end == NULL || unit.wanted == NULL)
        st = lmn__no_memory(err, "rows of a batch", rows_max * sizeof *unit.wanted);
    if (st == LMN_OK)
        plan(&unit, feed->prefetch_first + number * feed->unit_batches);
    if (st == LMN_OK && unit.batch_count != 0)
        st = read_unit(&unit, batch_out, err);
    if (st == LMN_OK) {
        *count_out = unit.batch_count;
    } else {
        for (uint32_t i = 0; i < unit.batch_count; i++) {
            lmn__array_release(&batch_out[i]);
            batch_out[i] = (struct ArrowArray){ 0 };
        }
    }
    lmn__free(feed->env, unit.end);
    lmn__free(feed->env, unit.wanted);
    atomic_fetch_add(&feed->busy_ns, (uint64_t)(lmn__clock_now_ns() - start));
    return st;
}
