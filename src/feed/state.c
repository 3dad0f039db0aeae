/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A feed's state: written, restored, and asked which rows a step had.
 *
 * A state carries how its steps were shared out from the first one on. A restart that shares them
 * out in another way adds to that, so that any earlier step can still be answered for.
 */
#include <string.h>

#include "arrow/compose.h"
#include "base/error.h"
#include "base/math.h"
#include "feed/feed.h"

enum lmn_status lmn_feed_state(struct lmn_feed *feed, const char **text_out, struct lmn_error *err)
{
    enum lmn_status st;

    *text_out = NULL;
    lmn__buf_reset(&feed->text);
    st = lmn__cursor_write(&feed->cursor, &feed->text, err);
    if (st == LMN_OK) {
        lmn__buf_put_u8(&feed->text, 0);
        st = lmn__buf_status(&feed->text, "a feed's state", err);
    }
    if (st == LMN_OK)
        *text_out = (const char *)feed->text.data;
    return st;
}

static struct lmn__steps steps_of(const struct lmn_feed *feed, const struct lmn__segment *segment)
{
    return (struct lmn__steps){ feed->order.row_count, segment->batch_rows, segment->rank_count,
                                segment->remainder };
}

static bool shares_alike(const struct lmn__segment *segment, const struct lmn__steps *steps)
{
    return segment->batch_rows == steps->batch_rows && segment->rank_count == steps->rank_count &&
           segment->remainder == steps->remainder;
}

/* Do the last segment and the number of the step lead to where the state says it is? */
static enum lmn_status check_place(const struct lmn_feed *feed, const struct lmn__cursor *state,
                                   struct lmn__place *place_out, struct lmn_error *err)
{
    const struct lmn__segment *last = &state->segment[state->segment_count - 1];
    const struct lmn__steps steps = steps_of(feed, last);
    uint64_t position;

    *place_out = lmn__steps_find(&steps, last->epoch, last->position, state->step - last->step);
    position = place_out->position + place_out->step * steps.batch_rows * steps.rank_count;
    if (place_out->epoch == state->epoch && position == state->position)
        return LMN_OK;
    return lmn_fail(err, LMN_E_CORRUPT,
                    "a feed's state: its step %llu begins at position %llu of epoch %llu, "
                    "not at %llu of %llu",
                    (unsigned long long)state->step, (unsigned long long)position,
                    (unsigned long long)place_out->epoch, (unsigned long long)state->position,
                    (unsigned long long)state->epoch);
}

/* Batches that this rank has had since the segment began, when the next step is at `place`. */
static uint64_t batches_before(const struct lmn_feed *feed, const struct lmn__segment *segment,
                               struct lmn__place place)
{
    uint64_t first = lmn__steps_of_rank(&feed->steps, segment->position, feed->rank);

    if (place.epoch == segment->epoch)
        return place.step;
    return first + place.step +
           (place.epoch - segment->epoch - 1) * lmn__steps_of_rank(&feed->steps, 0, feed->rank);
}

/* The segments of the state, with one more if steps are shared out in another way from here. */
static enum lmn_status take_segments(struct lmn_feed *feed, const struct lmn__cursor *state,
                                     struct lmn__arena *arena, struct lmn__segment **segment_out,
                                     uint64_t *count_out, struct lmn_error *err)
{
    const struct lmn__segment here = { state->step,
                                       state->epoch,
                                       state->position,
                                       feed->steps.batch_rows,
                                       feed->steps.rank_count,
                                       feed->steps.remainder };
    uint64_t count = state->segment_count;

    *segment_out = lmn__arena_array(arena, count + 1, sizeof **segment_out);
    if (*segment_out == NULL)
        return lmn__arena_fail(arena, "a feed's state", err);
    memcpy(*segment_out, state->segment, count * sizeof **segment_out);
    if (!shares_alike(&state->segment[count - 1], &feed->steps)) {
        count -= state->segment[count - 1].step == state->step;
        (*segment_out)[count++] = here;
    }
    *count_out = count;
    return LMN_OK;
}

enum lmn_status lmn_feed_restore(struct lmn_feed *feed, const char *text, struct lmn_error *err)
{
    struct lmn__span span = { (const uint8_t *)text, strlen(text) };
    struct lmn__arena *arena;
    struct lmn__segment *segment = NULL;
    struct lmn__cursor state;
    struct lmn__place place = { 0 };
    uint64_t count = 0;
    enum lmn_status st = lmn__feed_check_process(feed, err);

    if (st != LMN_OK)
        return st;
    arena = lmn__arena_new(feed->env);
    if (arena == NULL)
        return lmn__no_memory(err, "a feed's state", span.len);
    st = lmn__cursor_read(span, arena, &state, err);
    if (st == LMN_OK)
        st = lmn__cursor_match(&feed->cursor, &state, err);
    if (st == LMN_OK && state.row_count != 0)
        st = check_place(feed, &state, &place, err);
    if (st == LMN_OK)
        st = take_segments(feed, &state, arena, &segment, &count, err);
    if (st != LMN_OK) {
        lmn__arena_free(arena);
        return st;
    }
    lmn__feed_stop(feed);
    feed->cursor.segment = segment;
    feed->cursor.segment_count = count;
    feed->cursor.epoch = state.epoch;
    feed->cursor.position = state.position;
    feed->cursor.step = state.step;
    feed->given = 0;
    feed->first = feed->worker;
    if (segment[count - 1].step != state.step)
        feed->first += batches_before(feed, &segment[count - 1], place);
    lmn__arena_free(feed->segments);
    feed->segments = arena;
    return LMN_OK;
}

enum lmn_status lmn_feed_seek(struct lmn_feed *feed, uint64_t epoch, struct lmn_error *err)
{
    const struct lmn__place place = { .epoch = epoch };
    struct lmn__segment *segment = feed->cursor.segment;
    enum lmn_status st = lmn__feed_check_process(feed, err);

    if (st != LMN_OK)
        return st;
    lmn__feed_stop(feed);
    *segment = (struct lmn__segment){ .batch_rows = feed->steps.batch_rows,
                                      .rank_count = feed->steps.rank_count,
                                      .remainder = feed->steps.remainder };
    feed->cursor.segment_count = 1;
    feed->cursor.epoch = epoch;
    feed->cursor.position = 0;
    feed->cursor.step = feed->order.row_count != 0 ? lmn__steps_number(&feed->steps, 0, 0, place)
                                                   : 0;
    feed->given = 0;
    feed->first = feed->worker;
    if (feed->order.row_count != 0)
        feed->first += batches_before(feed, segment, place);
    return LMN_OK;
}

void lmn_id_list_free(struct lmn_id_list *list)
{
    lmn__arena_free(list->memory);
    *list = (struct lmn_id_list){ 0 };
}

/* Point the pick at the rows of ranks [first, first + count) in the step at `place`. */
static void locate_step(const struct lmn_feed *feed, const struct lmn__steps *steps,
                        struct lmn__place place, uint64_t first, uint64_t count,
                        struct lmn__pick *pick)
{
    struct lmn__order order;
    uint64_t n = 0;

    lmn__order_init(&order, &feed->order, place.epoch);
    for (uint64_t rank = first; rank < first + count; rank++) {
        struct lmn__share share = lmn__steps_share(steps, place.position, place.step, rank);

        for (uint64_t i = 0; i < share.count; i++, n++) {
            uint64_t position = (share.first + i) % feed->order.row_count;

            pick->row[n].place = n;
            lmn__feed_locate(feed, lmn__order_row(&order, position), &pick->row[n]);
        }
    }
}

/* The ids of `count` rows that the pick is pointed at, into a list. */
static enum lmn_status read_ids(struct lmn_feed *feed, struct lmn__pick *pick,
                                struct lmn_id_list *list_out, struct lmn_error *err)
{
    struct lmn__scratch scratch;
    struct lmn__arena *arena = NULL;
    struct ArrowArray array = { 0 };
    enum lmn_status st;

    lmn__scratch_init(&scratch, feed->env);
    st = lmn__pick_read(pick, 1, &scratch, err);
    if (st == LMN_OK)
        st = lmn__pick_gather(pick, 0, pick->count, &array, err);
    lmn__scratch_deinit(&scratch);
    if (st != LMN_OK)
        return st;
    arena = lmn__arena_new(feed->env);
    if (arena != NULL)
        list_out->id = lmn__arena_array(arena, pick->count, sizeof *list_out->id);
    if (arena == NULL || list_out->id == NULL) {
        lmn__arena_free(arena);
        st = lmn__no_memory(err, "row ids", pick->count * sizeof *list_out->id);
    } else {
        memcpy(list_out->id,
               (const uint64_t *)array.children[0]->buffers[1] + array.children[0]->offset,
               pick->count * sizeof *list_out->id);
        list_out->count = pick->count;
        list_out->memory = arena;
    }
    lmn__array_release(&array);
    return st;
}

/* Where a step is, and how it is shared out. */
static enum lmn_status find_step(const struct lmn_feed *feed, uint64_t step,
                                 struct lmn__steps *steps_out, struct lmn__place *place_out,
                                 struct lmn_error *err)
{
    const struct lmn__segment *segment = lmn__feed_segment(feed);

    while (segment->step > step)
        segment--;
    *steps_out = steps_of(feed, segment);
    *place_out = lmn__steps_find(steps_out, segment->epoch, segment->position,
                                 step - segment->step);
    if (feed->order.row_count != 0 && (feed->epochs == 0 || place_out->epoch < feed->epochs))
        return LMN_OK;
    return lmn_fail(err, LMN_E_INVALID, "step %llu is behind the last of %llu epochs",
                    (unsigned long long)step, (unsigned long long)feed->epochs);
}

enum lmn_status lmn_feed_row_ids(struct lmn_feed *feed, uint64_t step, const uint32_t *rank,
                                 struct lmn_id_list *list_out, struct lmn_error *err)
{
    static const char *const no_column[1];
    const struct lmn_scan_options nothing = { .column = no_column };
    struct lmn__pick pick = { .snapshot = feed->snapshot,
                              .row_columns = { true, false },
                              .live = !feed->is_filtered,
                              .whole = true };
    uint64_t first = rank != NULL ? *rank : 0, ranks = 1, count = 0;
    struct lmn__place place;
    struct lmn__steps steps;
    enum lmn_status st = lmn__feed_check_process(feed, err);

    *list_out = (struct lmn_id_list){ 0 };
    if (st == LMN_OK)
        st = find_step(feed, step, &steps, &place, err);
    if (st != LMN_OK)
        return st;
    if (first >= steps.rank_count)
        return lmn_fail(err, LMN_E_INVALID, "step %llu has %llu ranks, no rank %llu",
                        (unsigned long long)step, (unsigned long long)steps.rank_count,
                        (unsigned long long)first);
    ranks = rank != NULL ? 1 : steps.rank_count;
    for (uint64_t i = first; i < first + ranks; i++)
        count += lmn__steps_share(&steps, place.position, place.step, i).count;
    st = lmn__reader_set_open(feed->snapshot, &nothing, &pick.readers, err);
    if (st != LMN_OK)
        return st;
    st = lmn__pick_init(&pick, count, err);
    if (st == LMN_OK) {
        locate_step(feed, &steps, place, first, ranks, &pick);
        st = read_ids(feed, &pick, list_out, err);
    }
    lmn__pick_deinit(&pick);
    lmn__reader_set_release(pick.readers);
    return st;
}
