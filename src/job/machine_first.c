/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The first part of a job: some rows of its first unit, which are in a version while the others of
 * the unit are computed.
 *
 *   OPEN -> HELD -> NONE     its first result is large: it is committed by itself
 *   OPEN -> NONE             it is not, or all rows of it are failed cells of dead workers
 *
 * Until it is known how it goes, each slot gets a share of it and rows behind it are not given out.
 * So the unit has no row on its way when the part is whole, and what the journal has of the unit is
 * the part and nothing else.
 */
#include "base/error.h"
#include "base/math.h"
#include "job/machine_parts.h"

enum lmn_status lmn__first_check(const struct lmn__machine *machine,
                                 const struct lmn__machine_unit *given, struct lmn_error *err)
{
    if (given->first_rows == 0 || (machine->unit_count == 0 && given->done_count == 0 &&
                                   given->first_rows < given->row_count))
        return LMN_OK;
    return lmn_fail(err, LMN_E_INVALID,
                    "unit %llu of %llu rows, %llu runs of them done, cannot have a first part of "
                    "%llu rows",
                    (unsigned long long)machine->unit_count, (unsigned long long)given->row_count,
                    (unsigned long long)given->done_count, (unsigned long long)given->first_rows);
}

void lmn__first_add(struct lmn__machine *machine, const struct lmn__machine_unit *given)
{
    if (given->first_rows > 0)
        machine->first = (struct lmn__first){ LMN__FIRST_OPEN, machine->unit_count,
                                              given->first_rows, given->first_bytes_min };
}

static bool is_of(const struct lmn__machine *machine, uint64_t unit)
{
    return machine->first.state != LMN__FIRST_NONE && machine->first.unit == unit;
}

void lmn__first_result(struct lmn__machine *machine, uint64_t unit, uint64_t row_count,
                       uint64_t bytes)
{
    double all = (double)bytes / (double)row_count * (double)machine->unit[unit].row_count;

    if (is_of(machine, unit) && machine->first.state == LMN__FIRST_OPEN)
        machine->first.state = all >= (double)machine->first.bytes_min ? LMN__FIRST_HELD
                                                                       : LMN__FIRST_NONE;
}

uint64_t lmn__first_rows_max(const struct lmn__machine *machine, uint64_t unit, uint64_t row)
{
    uint64_t share = lmn__max_u64(machine->first.rows / machine->slot_count, 1);

    if (!is_of(machine, unit))
        return UINT64_MAX;
    return row < machine->first.rows ? lmn__min_u64(share, machine->first.rows - row) : 0;
}

bool lmn__first_is_whole(struct lmn__machine *machine, uint64_t unit)
{
    if (!is_of(machine, unit) || machine->unit[unit].durable < machine->first.rows)
        return false;
    if (machine->first.state == LMN__FIRST_OPEN)
        machine->first.state = LMN__FIRST_NONE;
    return machine->first.state == LMN__FIRST_HELD;
}

void lmn__first_end(struct lmn__machine *machine, uint64_t number)
{
    struct lmn__unit *unit = &machine->unit[number];

    if (!is_of(machine, number))
        return;
    machine->first.state = LMN__FIRST_NONE;
    unit->state = LMN__UNIT_OPEN;
    unit->settled = unit->durable;
    unit->settled_failed = unit->failed;
}

bool lmn__machine_is_part(const struct lmn__machine *machine, uint64_t unit)
{
    return unit < machine->unit_count && machine->unit[unit].state == LMN__UNIT_FIRST;
}
