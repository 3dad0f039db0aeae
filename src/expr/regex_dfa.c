/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A state is a set of places of the program: where its threads are before the next character. The
 * states that can be reached are all made while the pattern is bound, up to a limit. A search
 * starts anew at each character, so each state has the threads of the program's beginning, too.
 *
 * "^" holds in the first state only. "$" stays a place of the state; whether it leads to a match is
 * asked where the text ends.
 */
#include "expr/regex_dfa.h"

#include "expr/casing.h"

enum { STATES_MAX = 200, CLASSES_MAX = 255, PLACES_MAX = 512, WORDS = PLACES_MAX / 64 };
enum { RANGES_MAX = 8 }; /* a set of more is that of many characters, not of some that are named */
enum { STATE_MATCH, STATE_DEAD, STATE_START };

struct lmn__regex_places {
    uint64_t bits[WORDS];
};

struct maker {
    const struct lmn__regex_program *program;
    struct lmn__regex_dfa *dfa;
    struct lmn__regex_places state[STATES_MAX];
    uint32_t state_count;
    struct lmn__regex_places *accepts; /* of the classes, as the table has them */
    uint32_t stack[2 * PLACES_MAX + 2];
};

static bool places_have(const struct lmn__regex_places *places, uint32_t place)
{
    return places->bits[place / 64] >> place % 64 & 1;
}

/* Add what is reached from `place` without a character; true when the program ends there. */
static bool reach(struct maker *maker, struct lmn__regex_places *seen, uint32_t place, bool start,
                  bool end)
{
    uint32_t used = 0;

    maker->stack[used++] = place;
    while (used != 0) {
        uint32_t top = maker->stack[--used];
        const struct lmn__regex_instruction *instruction = &maker->program->instruction[top];

        if (places_have(seen, top))
            continue;
        seen->bits[top / 64] |= 1ull << top % 64;
        switch (instruction->op) {
        case LMN__REGEX_OP_MATCH:
            return true;
        case LMN__REGEX_OP_SPLIT:
            maker->stack[used++] = instruction->y;
            maker->stack[used++] = instruction->x;
            break;
        case LMN__REGEX_OP_JUMP:
            maker->stack[used++] = instruction->x;
            break;
        case LMN__REGEX_OP_KEEP:
            maker->stack[used++] = top + 1;
            break;
        case LMN__REGEX_OP_ASSERT:
            if (instruction->assertion == LMN__REGEX_START ? start : end)
                maker->stack[used++] = top + 1;
            break;
        default:
            break;
        }
    }
    return false;
}

/* Places that wait for a character, or for the end of the text. */
static void keep_waiting(const struct maker *maker, struct lmn__regex_places *places)
{
    for (uint32_t i = 0; i < maker->program->count; i++) {
        const struct lmn__regex_instruction *instruction = &maker->program->instruction[i];

        if (instruction->op != LMN__REGEX_OP_SET &&
            (instruction->op != LMN__REGEX_OP_ASSERT || instruction->assertion != LMN__REGEX_END))
            places->bits[i / 64] &= ~(1ull << i % 64);
    }
}

/* The number of a state; STATES_MAX where there is no room for it. */
static uint32_t state_of(struct maker *maker, const struct lmn__regex_places *places)
{
    static const struct lmn__regex_places none;
    uint32_t at = STATE_START + 1;

    if (memcmp(places, &none, sizeof none) == 0)
        return STATE_DEAD;
    while (at < maker->state_count && memcmp(&maker->state[at], places, sizeof *places) != 0)
        at++;
    if (at == maker->state_count && at < STATES_MAX) {
        maker->state[at] = *places;
        maker->state_count++;
    }
    return at;
}

/* Where a state goes with a character of class `k`. */
static uint32_t step(struct maker *maker, uint32_t state, uint32_t k)
{
    struct lmn__regex_places next = { { 0 } };
    bool match = reach(maker, &next, 0, false, false);

    for (uint32_t i = 0; !match && i < maker->program->count; i++) {
        if (places_have(&maker->state[state], i) && places_have(&maker->accepts[k], i))
            match = reach(maker, &next, i + 1, false, false);
    }
    if (match)
        return STATE_MATCH;
    keep_waiting(maker, &next);
    return state_of(maker, &next);
}

static bool ends_there(struct maker *maker, uint32_t state)
{
    struct lmn__regex_places seen = { { 0 } };
    bool match = false;

    for (uint32_t i = 0; !match && i < maker->program->count; i++) {
        if (places_have(&maker->state[state], i) &&
            maker->program->instruction[i].op == LMN__REGEX_OP_ASSERT)
            match = reach(maker, &seen, i, state == STATE_START, true);
    }
    return match;
}

/*
 * Does a set have all characters beyond ASCII, or none of them? No letter beyond it is the other
 * case of one in it.
 */
static bool is_uniform(const struct lmn__regex_set *set)
{
    bool some = false, all = false;

    for (uint32_t i = 0; i < set->count; i++) {
        some = some || set->range[i].last >= 0x80;
        all = all || (set->range[i].first <= 0x80 && set->range[i].last >= 0x10ffff);
    }
    return all || !some;
}

/* Where in the program a character can be taken. */
static struct lmn__regex_places takers(const struct lmn__regex_program *program, uint32_t c)
{
    struct lmn__regex_places places = { { 0 } };

    for (uint32_t i = 0; i < program->count; i++) {
        const struct lmn__regex_instruction *instruction = &program->instruction[i];

        if (instruction->op == LMN__REGEX_OP_SET && lmn__regex_set_has(instruction->set, c))
            places.bits[i / 64] |= 1ull << i % 64;
    }
    return places;
}

/* The class whose characters can be taken there; class_count where there is none. */
static uint32_t class_with(const struct lmn__regex_dfa *dfa, const struct lmn__regex_places *places)
{
    uint32_t k = 0;

    while (k < dfa->class_count && memcmp(&dfa->accepts[k], places, sizeof *places) != 0)
        k++;
    return k;
}

/* The class of a character, which may be the first of it. */
static uint8_t note_class(struct maker *maker, uint32_t c)
{
    struct lmn__regex_places places = takers(maker->program, c);
    uint32_t k = class_with(maker->dfa, &places);

    if (k == maker->dfa->class_count && k < CLASSES_MAX)
        maker->accepts[maker->dfa->class_count++] = places;
    return (uint8_t)k;
}

/* Classes of the characters that a set names. */
static void note_set(struct maker *maker, const struct lmn__regex_set *set)
{
    for (uint32_t i = 0; set->count <= RANGES_MAX && i < set->count; i++) {
        uint32_t c = set->range[i].first;

        (void)note_class(maker, c);
        (void)note_class(maker, set->range[i].last);
        if (set->fold)
            (void)note_class(maker, lmn__letter_lower(c) != c ? lmn__letter_lower(c)
                                                              : lmn__letter_upper(c));
    }
}

/* Sort the symbols into classes; false: the program is none for a table. */
static bool make_classes(struct maker *maker)
{
    const struct lmn__regex_program *program = maker->program;
    struct lmn__regex_dfa *dfa = maker->dfa;

    if (program->count > PLACES_MAX)
        return false;
    for (uint32_t i = 0; i < program->count; i++) {
        const struct lmn__regex_instruction *instruction = &program->instruction[i];

        if (instruction->op == LMN__REGEX_OP_ASSERT && instruction->assertion != LMN__REGEX_START &&
            instruction->assertion != LMN__REGEX_END)
            return false;
        if (instruction->op == LMN__REGEX_OP_SET && !is_uniform(instruction->set))
            dfa->program = program;
    }
    for (uint32_t c = 0; c < LMN__REGEX_SYMBOLS; c++)
        dfa->class_of[c] = note_class(maker, c);
    for (uint32_t i = 0; i < program->count; i++) {
        if (program->instruction[i].op == LMN__REGEX_OP_SET)
            note_set(maker, program->instruction[i].set);
    }
    return true;
}

/* All states that can be reached; false: they are too many. */
static bool make_states(struct maker *maker)
{
    struct lmn__regex_dfa *dfa = maker->dfa;
    bool fits = true;

    maker->state_count = STATE_START + 1;
    if (reach(maker, &maker->state[STATE_START], 0, true, false)) {
        /* It matches the empty text: everything does. */
        dfa->ends[STATE_START] = 1;
        for (uint32_t k = 0; k < dfa->class_count; k++)
            dfa->next[STATE_START * dfa->class_count + k] = STATE_MATCH;
        return true;
    }
    keep_waiting(maker, &maker->state[STATE_START]);
    for (uint32_t state = STATE_START; fits && state < maker->state_count; state++) {
        dfa->ends[state] = ends_there(maker, state);
        for (uint32_t k = 0; fits && k < dfa->class_count; k++) {
            uint32_t next = step(maker, state, k);

            fits = next < STATES_MAX;
            dfa->next[state * dfa->class_count + k] = (uint16_t)next;
        }
    }
    return fits;
}

enum lmn_status lmn__regex_dfa_new(struct lmn__binder *binder,
                                   const struct lmn__regex_program *program,
                                   const struct lmn__regex_dfa **dfa_out)
{
    struct lmn_env *env = binder->expr->env;
    struct maker *maker = lmn__calloc(env, 1, sizeof *maker);
    struct lmn__regex_dfa *dfa = lmn__arena_alloc(binder->arena, sizeof *dfa);
    enum lmn_status st = LMN_OK;

    *dfa_out = NULL;
    if (maker == NULL || dfa == NULL) {
        st = lmn__bind_no_memory(binder);
        goto done;
    }
    maker->program = program;
    maker->dfa = dfa;
    maker->accepts = lmn__arena_array(binder->arena, CLASSES_MAX, sizeof *maker->accepts);
    dfa->accepts = maker->accepts;
    if (maker->accepts == NULL) {
        st = lmn__bind_no_memory(binder);
        goto done;
    }
    if (!make_classes(maker))
        goto done;
    dfa->next = lmn__arena_array(binder->arena, (uint64_t)STATES_MAX * dfa->class_count,
                                 sizeof *dfa->next);
    dfa->ends = lmn__arena_array(binder->arena, STATES_MAX, sizeof *dfa->ends);
    if (dfa->next == NULL || dfa->ends == NULL)
        st = lmn__bind_no_memory(binder);
    else if (make_states(maker))
        *dfa_out = dfa;
done:
    lmn__free(env, maker);
    return st;
}

bool lmn__regex_dfa_search(const struct lmn__regex_dfa *dfa, struct lmn__span text, bool *match_out)
{
    uint32_t state = STATE_START, classes = dfa->class_count;
    size_t at = 0;

    while (at < text.len && state > STATE_DEAD) {
        uint32_t k = dfa->class_of[0x80], bytes = 1, c = text.data[at];

        if (c < 0x80) {
            k = dfa->class_of[c];
        } else {
            c = lmn__utf8_decode((struct lmn__span){ text.data + at, text.len - at }, &bytes);
            if (dfa->program != NULL) {
                struct lmn__regex_places places = takers(dfa->program, c);

                k = class_with(dfa, &places);
            }
            if (k == classes)
                return false;
        }
        state = dfa->next[state * classes + k];
        at += bytes;
    }
    *match_out = state == STATE_MATCH || (state > STATE_DEAD && dfa->ends[state]);
    return true;
}
