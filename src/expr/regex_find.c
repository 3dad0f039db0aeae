/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All threads of a program are run at once, as in regex.c, but in the order in which they would be
 * tried: each keeps the places it has passed, and when one matches, those behind it are dropped.
 */
#include "expr/regex_find.h"

#include "expr/casing.h"

/* Threads in their order. */
struct threads {
    uint32_t count;
    uint32_t *at;    /* in the program */
    uint32_t *index; /* of an instruction in `at`, when it is there */
    size_t *place;   /* program->place_count each */
};

/* An instruction to go to, or a place to be set back to what it was. */
struct step {
    bool sets_back;
    uint32_t number;
    size_t place;
};

struct lmn__regex_finder {
    const struct lmn__regex_program *program;
    struct threads now, next;
    struct step *stack;
};

static enum lmn_status threads_init(struct lmn__frame *frame, struct threads *threads,
                                    uint64_t count, uint32_t places)
{
    enum lmn_status st = lmn__slate_take(frame->slate, count * sizeof *threads->at, &threads->at,
                                         frame->err);

    threads->count = 0;
    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, count * sizeof *threads->index, &threads->index,
                             frame->err);
    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, count * places * sizeof *threads->place, &threads->place,
                             frame->err);
    if (st == LMN_OK)
        memset(threads->index, 0, count * sizeof *threads->index);
    return st;
}

enum lmn_status lmn__regex_finder_new(struct lmn__frame *frame,
                                      const struct lmn__regex_program *program,
                                      struct lmn__regex_finder **finder_out)
{
    uint64_t count = program->count;
    struct lmn__regex_finder *finder;
    enum lmn_status st = lmn__slate_take(frame->slate, sizeof *finder, &finder, frame->err);

    if (st != LMN_OK)
        return st;
    finder->program = program;
    st = threads_init(frame, &finder->now, count, program->place_count);
    if (st == LMN_OK)
        st = threads_init(frame, &finder->next, count, program->place_count);
    if (st == LMN_OK)
        st = lmn__slate_take(frame->slate, (3 * count + 3) * sizeof *finder->stack, &finder->stack,
                             frame->err);
    *finder_out = finder;
    return st;
}

static bool has(const struct threads *threads, uint32_t number)
{
    uint32_t index = threads->index[number];

    return index < threads->count && threads->at[index] == number;
}

/* Follow jumps from instruction `number`, with the places passed so far, which come back as is. */
static void add(struct lmn__regex_finder *finder, struct threads *threads, uint32_t number,
                struct lmn__span text, size_t at, size_t *place)
{
    struct step *stack = finder->stack;
    uint32_t used = 0, places = finder->program->place_count;

    stack[used++] = (struct step){ .number = number };
    while (used != 0) {
        struct step step = stack[--used];
        const struct lmn__regex_instruction *instruction;

        if (step.sets_back) {
            place[step.number] = step.place;
            continue;
        }
        if (has(threads, step.number))
            continue;
        instruction = &finder->program->instruction[step.number];
        threads->index[step.number] = threads->count;
        memcpy(threads->place + (size_t)threads->count * places, place, places * sizeof *place);
        threads->at[threads->count++] = step.number;
        if (instruction->op == LMN__REGEX_OP_SPLIT)
            stack[used++] = (struct step){ .number = instruction->y };
        if (instruction->op == LMN__REGEX_OP_SPLIT || instruction->op == LMN__REGEX_OP_JUMP)
            stack[used++] = (struct step){ .number = instruction->x };
        if (instruction->op == LMN__REGEX_OP_KEEP) {
            stack[used++] = (struct step){ true, instruction->x, place[instruction->x] };
            place[instruction->x] = at;
        }
        if (instruction->op == LMN__REGEX_OP_KEEP ||
            (instruction->op == LMN__REGEX_OP_ASSERT &&
             lmn__regex_asserted(text, instruction->assertion, at)))
            stack[used++] = (struct step){ .number = step.number + 1 };
    }
}

/* Take the character at `at` in all threads; true when one of them matches before it. */
static bool advance(struct lmn__regex_finder *finder, struct lmn__span text, size_t at,
                    uint32_t *bytes, size_t *place_out)
{
    uint32_t c = 0, places = finder->program->place_count;

    *bytes = 0;
    if (at < text.len)
        c = lmn__utf8_decode((struct lmn__span){ text.data + at, text.len - at }, bytes);
    finder->next.count = 0;
    for (uint32_t i = 0; i < finder->now.count; i++) {
        uint32_t number = finder->now.at[i];
        const struct lmn__regex_instruction *instruction = &finder->program->instruction[number];
        size_t *place = finder->now.place + (size_t)i * places;

        if (instruction->op == LMN__REGEX_OP_MATCH) {
            memcpy(place_out, place, places * sizeof *place);
            place_out[1] = at;
            return true;
        }
        if (instruction->op == LMN__REGEX_OP_SET && at < text.len &&
            lmn__regex_set_has(instruction->set, c))
            add(finder, &finder->next, number + 1, text, at + *bytes, place);
    }
    return false;
}

bool lmn__regex_find(struct lmn__regex_finder *finder, struct lmn__span text, size_t from,
                     size_t place_out[LMN__REGEX_PLACES])
{
    bool found = false;
    uint32_t bytes;

    finder->now.count = 0;
    for (int i = 0; i < LMN__REGEX_PLACES; i++)
        place_out[i] = SIZE_MAX;
    for (size_t at = from;; at += bytes) {
        struct threads swap;

        if (!found) {
            size_t start[LMN__REGEX_PLACES];

            for (int i = 0; i < LMN__REGEX_PLACES; i++)
                start[i] = SIZE_MAX;
            start[0] = at;
            add(finder, &finder->now, 0, text, at, start);
        }
        if (finder->now.count == 0)
            return found;
        found = advance(finder, text, at, &bytes, place_out) || found;
        if (at == text.len)
            return found;
        swap = finder->now;
        finder->now = finder->next;
        finder->next = swap;
    }
}

bool lmn__regex_find_next(struct lmn__regex_finder *finder, struct lmn__span text, size_t *at,
                          size_t *behind, size_t place_out[LMN__REGEX_PLACES])
{
    while (*at <= text.len && lmn__regex_find(finder, text, *at, place_out)) {
        bool empty = place_out[0] == place_out[1];
        uint32_t bytes = 1;

        *at = place_out[1];
        if (empty && *at < text.len)
            (void)lmn__utf8_decode((struct lmn__span){ text.data + *at, text.len - *at }, &bytes);
        if (empty)
            *at += bytes;
        if (empty && place_out[0] == *behind)
            continue;
        *behind = place_out[1];
        return true;
    }
    return false;
}
