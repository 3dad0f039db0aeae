/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When units are committed, and when the job is over.
 *
 * A unit is whole when all its rows have durable receipts. One commit is under way at a time. While
 * the job runs, whole units wait for the interval to pass or for their number to be reached; at the
 * end of the job they wait for nothing, nor do they with a first part, which never waits.
 *
 * The job is over when nothing runs, nothing is on the way into the journal, and nothing can be
 * committed. After LMN__EVENT_FAIL only the commit under way is waited for.
 */
#include <stdio.h>
#include <string.h>

#include "base/math.h"
#include "job/machine_parts.h"

#define FAILED_COUNT_MAX    100u
#define FAILED_FRACTION_MAX 0.01
#define FIRST_ROWS_MAX      20u

void lmn__machine_judge(struct lmn__machine *machine, uint32_t number, uint64_t row_count,
                        uint64_t failed_count)
{
    struct lmn__fill_results *fill = &machine->fill[number];
    const struct lmn__machine_limits *limits = &fill->limits;
    uint64_t first = limits->first_rows_max > 0 ? limits->first_rows_max : FIRST_ROWS_MAX;
    uint64_t count = limits->given ? limits->count_max : FAILED_COUNT_MAX;
    double fraction = limits->given ? limits->fraction_max : FAILED_FRACTION_MAX;

    fill->rows += row_count;
    fill->failed += failed_count;
    if (limits->unlimited || failed_count == 0)
        return;
    if (fill->failed == fill->rows && fill->rows >= first)
        lmn__machine_end(machine, LMN__CAUSE_FIRST_ROWS, NULL, "the first %llu rows all failed",
                         (unsigned long long)fill->rows);
    else if (fill->failed > count && (double)fill->failed > fraction * (double)fill->rows)
        lmn__machine_end(machine, LMN__CAUSE_FAILED_ROWS, NULL,
                         "%llu of %llu rows failed, more than %llu and more than %g%%",
                         (unsigned long long)fill->failed, (unsigned long long)fill->rows,
                         (unsigned long long)count, fraction * 100);
}

void lmn__machine_unit_check(struct lmn__machine *machine, uint64_t number)
{
    struct lmn__unit *unit = &machine->unit[number];

    if (unit->state != LMN__UNIT_OPEN)
        return;
    if (unit->durable == unit->row_count)
        unit->state = LMN__UNIT_WHOLE;
    else if (lmn__first_is_whole(machine, number))
        unit->state = LMN__UNIT_FIRST;
    else
        return;
    machine->whole[machine->whole_count++] = number;
}

/* Nothing more will happen to the rows of this job. */
static bool rows_at_rest(const struct lmn__machine *machine)
{
    if (machine->ended_by_engine)
        return true;
    return machine->counts.running == 0 && machine->counts.accepted == 0 &&
           (machine->ending || machine->counts.pending == 0);
}

static bool commit_is_due(const struct lmn__machine *machine)
{
    if (machine->whole_count == 0 || machine->committing || machine->commit_broken)
        return false;
    if (rows_at_rest(machine))
        return true;
    if (machine->ending)
        return false;
    if (machine->first.state == LMN__FIRST_HELD &&
        machine->unit[machine->first.unit].state == LMN__UNIT_FIRST)
        return true;
    if (machine->options.units_per_commit > 0)
        return machine->whole_count >= machine->options.units_per_commit;
    return machine->now_ns - machine->commit_ns >= machine->options.commit_interval_ns;
}

static void commit(struct lmn__machine *machine)
{
    uint64_t most = machine->options.units_per_commit;
    uint64_t count = machine->whole_count;

    if (most > 0 && !machine->ending)
        count = lmn__min_u64(count, most);
    memcpy(machine->commit_unit, machine->whole, count * sizeof(*machine->whole));
    memmove(machine->whole, machine->whole + count,
            (machine->whole_count - count) * sizeof(*machine->whole));
    machine->whole_count -= count;
    machine->commit_count = count;
    machine->committing = true;
    machine->commit_ns = machine->now_ns;
    lmn__machine_act(machine, LMN__ACTION_COMMIT)->commit = ++machine->commit;
}

/* Every process may end. A slot that still runs a task does so in vain. */
static void retire(struct lmn__machine *machine)
{
    for (uint32_t i = 0; i < machine->options.worker_count; i++) {
        struct lmn__worker *worker = &machine->worker[i];

        if (worker->state != LMN__WORKER_READY && worker->state != LMN__WORKER_STARTING)
            continue;
        lmn__machine_worker_gone(machine, i);
        lmn__machine_act(machine, LMN__ACTION_RETIRE)->worker = i;
    }
}

static enum lmn__outcome outcome(const struct lmn__machine *machine)
{
    const struct lmn__machine_counts *counts = &machine->counts;

    if (machine->failed)
        return LMN__OUTCOME_FAILED;
    if (counts->committed < counts->planned)
        return LMN__OUTCOME_STOPPED;
    return counts->failed > 0 ? LMN__OUTCOME_DONE_FAILED : LMN__OUTCOME_DONE;
}

static void finish(struct lmn__machine *machine)
{
    struct lmn__action *action = lmn__machine_act(machine, LMN__ACTION_FINISH);
    enum lmn__outcome how = outcome(machine);

    if (how == LMN__OUTCOME_FAILED || how == LMN__OUTCOME_STOPPED) {
        *action = machine->culprit;
        action->kind = LMN__ACTION_FINISH;
        action->cause = machine->cause;
    } else {
        machine->reason[0] = '\0';
    }
    action->outcome = how;
    action->reason = machine->reason;
    machine->finished = true;
}

void lmn__machine_conclude(struct lmn__machine *machine)
{
    if (commit_is_due(machine))
        commit(machine);
    if (!rows_at_rest(machine))
        return;
    retire(machine);
    if (!machine->committing && (machine->whole_count == 0 || machine->commit_broken))
        finish(machine);
}
