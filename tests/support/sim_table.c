/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The durable part of the simulated world: rows in fragments, cells, and the journal.
 *
 * Receipts lie with their fragment, by place, as the number of the record that holds them. Records
 * after the last synced one may be lost. A replaced fragment keeps its receipts until a driver has
 * moved them to where the rows live.
 */
#include "sim.h"

static uint32_t fragment_add(struct sim *sim)
{
    uint32_t number = sim->fragment_count++;

    sim->fragment[number] = (struct sim_fragment){ .live = true };
    return number;
}

static void place(struct sim *sim, uint32_t fragment, uint32_t row)
{
    struct sim_fragment *to = &sim->fragment[fragment];

    to->input[to->count] = sim->row[row].input;
    to->row[to->count++] = row;
    sim->row[row].fragment = fragment;
}

static void rows_append(struct sim *sim, uint32_t count, uint32_t bad, uint32_t poison)
{
    uint32_t fragment = fragment_add(sim);

    for (uint32_t i = 0; i < count && sim->row_count < SIM_ROWS; i++) {
        uint32_t row = sim->row_count++;

        sim->row[row] = (struct sim_row){ .kind = SIM_GOOD };
        if (sim_below(sim, 100) < bad)
            sim->row[row].kind = SIM_BAD;
        if (sim_below(sim, 100) < poison)
            sim->row[row].kind = SIM_POISON;
        place(sim, fragment, row);
    }
}

void sim_table_make(struct sim *sim)
{
    uint32_t fragments = 1 + sim_below(sim, 5);
    uint32_t bad = sim_below(sim, 3) == 0 ? sim_below(sim, 100) : sim_below(sim, 5);
    uint32_t poison = sim_below(sim, 2) == 0 ? sim_below(sim, 12) : 0;

    for (uint32_t i = 0; i < fragments; i++)
        rows_append(sim, 1 + sim_below(sim, 14), bad, poison);
}

/* A live fragment from a random place on; SIM_FRAGMENTS: there is none but `other`. */
static uint32_t fragment_pick(struct sim *sim, uint32_t other)
{
    uint32_t start = sim_below(sim, sim->fragment_count);

    for (uint32_t i = 0; i < sim->fragment_count; i++) {
        uint32_t found = (start + i) % sim->fragment_count;

        if (sim->fragment[found].live && found != other)
            return found;
    }
    return SIM_FRAGMENTS;
}

static void compact(struct sim *sim)
{
    uint32_t from[2], to;

    from[0] = fragment_pick(sim, SIM_FRAGMENTS);
    from[1] = fragment_pick(sim, from[0]);
    to = fragment_add(sim);
    for (uint32_t k = 0; k < 2 && from[k] < SIM_FRAGMENTS; k++) {
        struct sim_fragment *old = &sim->fragment[from[k]];

        old->live = false;
        for (uint32_t i = 0; i < old->count; i++) {
            if (!old->dead[i])
                place(sim, to, old->row[i]);
        }
    }
}

/* The row gets another input and moves to a fragment of its own. */
static void update(struct sim *sim)
{
    uint32_t from = fragment_pick(sim, SIM_FRAGMENTS), at;
    struct sim_fragment *old = &sim->fragment[from];
    struct sim_row *row;

    if (old->count == 0)
        return;
    at = sim_below(sim, old->count);
    if (old->dead[at])
        return;
    old->dead[at] = true;
    row = &sim->row[old->row[at]];
    *row = (struct sim_row){ .kind = row->kind, .input = row->input + 1 };
    place(sim, fragment_add(sim), old->row[at]);
}

void sim_table_change(struct sim *sim)
{
    uint32_t what = sim_below(sim, 6);

    if (sim->fragment_count == SIM_FRAGMENTS)
        return;
    if (what < 3)
        compact(sim);
    else if (what < 5)
        update(sim);
    else
        rows_append(sim, 1 + sim_below(sim, 4), 5, 5);
}

bool sim_row_same(const struct sim *sim, const struct sim_fragment *fragment, uint32_t at)
{
    return fragment->input[at] == sim->row[fragment->row[at]].input;
}

bool sim_table_filled(const struct sim *sim)
{
    for (uint32_t i = 0; i < sim->row_count; i++) {
        if (sim->row[i].cell == SIM_PENDING)
            return false;
    }
    return true;
}

static void unit_add(struct sim *sim, struct sim_driver *driver, struct sim_unit *unit)
{
    struct sim_fragment *fragment = &sim->fragment[unit->fragment];
    struct lmn__ordinals done[SIM_ROWS];
    struct lmn__machine_unit given = { .row_count = unit->count, .done = done };
    bool has_part = driver->unit_count == 0 && unit->count > 1 && sim_below(sim, 2) == 0;
    struct lmn_error err;
    uint64_t number;

    for (uint32_t i = 0; i < unit->count; i++) {
        if (fragment->receipt[unit->place[i]] == 0)
            continue;
        unit->state[i] = SIM_ROW_DURABLE;
        given.done_failed += fragment->receipt_failed[unit->place[i]];
        if (given.done_count > 0 &&
            done[given.done_count - 1].first + done[given.done_count - 1].count == i)
            done[given.done_count - 1].count++;
        else
            done[given.done_count++] = (struct lmn__ordinals){ i, 1 };
    }
    if (has_part && given.done_count == 0) {
        given.first_rows = 1 + sim_below(sim, unit->count - 1);
        given.first_bytes_min = sim_below(sim, 3);
    }
    if (lmn__machine_add_unit(driver->machine, &given, &number, &err) != LMN_OK)
        sim_violate(sim, "add_unit: %s", err.message);
    else if (number != driver->unit_count)
        sim_violate(sim, "unit %u is number %llu", driver->unit_count, (unsigned long long)number);
    driver->unit_count++;
}

void sim_plan_fragment(struct sim *sim, struct sim_driver *driver, uint32_t number)
{
    const struct sim_fragment *fragment = &sim->fragment[number];
    struct sim_unit *unit = &driver->unit[driver->unit_count];

    for (uint32_t i = 0; i < driver->unit_count; i++) {
        if (driver->unit[i].fragment == number && !driver->unit[i].dropped)
            return;
    }
    if (driver->unit_count == SIM_UNITS) {
        sim_violate(sim, "the simulator has too few units");
        return;
    }
    *unit = (struct sim_unit){ .fragment = number, .filled = fragment->filled };
    for (uint32_t i = 0; i < fragment->count; i++) {
        if (!fragment->dead[i] && sim->row[fragment->row[i]].cell == SIM_PENDING)
            unit->place[unit->count++] = (uint8_t)i;
    }
    if (unit->count > 0)
        unit_add(sim, driver, unit);
}

void sim_journal_enter(struct sim *sim, uint32_t number, uint32_t at, bool failed)
{
    struct sim_fragment *fragment = &sim->fragment[number];

    if (fragment->receipt[at] != 0)
        sim_violate(sim, "row %u of fragment %u gets a second receipt", at, number);
    fragment->receipt[at] = ++sim->record_last;
    fragment->receipt_failed[at] = failed;
}

void sim_journal_crash(struct sim *sim, uint64_t kept)
{
    for (uint32_t i = 0; i < sim->fragment_count; i++) {
        for (uint32_t k = 0; k < sim->fragment[i].count; k++) {
            if (sim->fragment[i].receipt[k] > kept)
                sim->fragment[i].receipt[k] = 0;
        }
    }
    sim->record_last = kept;
}

static void cell_fill(struct sim *sim, uint32_t number, bool failed)
{
    struct sim_row *row = &sim->row[number];

    if (row->cell != SIM_PENDING)
        sim_violate(sim, "row %u is committed a second time", number);
    row->cell = failed ? SIM_FAILED : SIM_OK;
    if (!failed && row->kind != SIM_GOOD)
        sim_violate(sim, "row %u cannot be computed, but is committed as if it were", number);
    if (failed && row->kind == SIM_GOOD && row->single_deaths < sim->options.row_deaths_max)
        sim_violate(sim, "row %u is good, but committed as failed", number);
}

/* The rows of a first part: those that have receipts, and no other has been given out. */
static uint32_t part_of(struct sim *sim, const struct sim_unit *unit)
{
    uint32_t count = 0;

    while (count < unit->count && unit->state[count] == SIM_ROW_DURABLE)
        count++;
    for (uint32_t i = count; i < unit->count; i++) {
        if (unit->state[i] != SIM_ROW_PENDING || unit->called[i])
            sim_violate(sim, "row %u of fragment %u is on its way while a part is committed",
                        unit->place[i], unit->fragment);
    }
    sim->seen.parts++;
    return count;
}

void sim_table_commit(struct sim *sim, struct sim_unit *unit, bool part)
{
    struct sim_fragment *fragment = &sim->fragment[unit->fragment];
    uint32_t end = part ? part_of(sim, unit) : unit->count;

    if (!fragment->live || fragment->filled != unit->filled)
        sim_violate(sim, "a commit to fragment %u, which is not what it was", unit->fragment);
    for (uint32_t i = unit->settled; i < end; i++) {
        uint32_t at = unit->place[i];

        if (fragment->receipt[at] == 0 || fragment->receipt[at] > sim->record_synced)
            sim_violate(sim, "row %u of fragment %u is committed without a durable receipt", at,
                        unit->fragment);
        if (!fragment->dead[at])
            cell_fill(sim, fragment->row[at], fragment->receipt_failed[at]);
    }
    unit->filled = ++fragment->filled;
    unit->settled = end;
    unit->committed = !part;
}
