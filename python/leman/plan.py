# SPDX-License-Identifier: Apache-2.0
"""What a backfill would do: ``table.plan_backfill()``."""

from leman.progress import duration, size

CELL_BYTES = 10  # of a cell in its ledger: a fingerprint, and little more


def bytes_of(value):
    """About how much a value takes."""
    if isinstance(value, (str, bytes)):
        return len(value)
    if isinstance(value, dict):
        return sum(map(bytes_of, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(bytes_of, value))
    return 8


class Plan(dict):
    """What a backfill would do, by name; its text is for people."""

    def __repr__(self):
        return "\n".join(_lines(self))

    def add_sample(self, found):
        """What some rows of each function took; the rest of the plan follows from it."""
        self["sample"] = found
        seconds = needed = 0
        for counts, sample in zip(self["functions"], found, strict=True):
            rows = counts["todo"] - counts["resumed"]
            seconds += rows * sample["seconds_per_row"]
            cells = CELL_BYTES * len(counts["columns"])
            needed += rows * (sample["bytes_per_row"] + cells) + counts["rewritten_bytes"]
        self["seconds"] = seconds / max(self["workers"] * self["threads_per_worker"], 1)
        if self["disk"]["needed_bytes"] is None:
            self["disk"]["needed_bytes"] = round(needed)


def _rows(counts):
    fragments, following = counts["fragments"], counts["following"]
    where = f" in {fragments:,} fragment{'s' * (fragments != 1)}" * (not following)
    yield (
        f"{counts['function']}() fills {', '.join(counts['columns'])}: {counts['todo']:,} "
        f"row{'s' * (counts['todo'] != 1)}{where}"
    )
    names = ["pending", "failed", "stale", "finished"]
    reasons = [f"{counts[name]:,} {name}" for name in names if counts[name]]
    if following:
        reasons.append(f"{following:,} at most where their inputs change")
    yield f"  {', '.join(reasons) or 'nothing to do'}; of {counts['rows']:,} rows"
    if counts["resumed"]:
        yield f"  {counts['resumed']:,} of them were computed before, and are kept"
    if counts["waiting"]:
        yield f"  {counts['waiting']:,} more wait for their inputs"
    if counts["rewritten_bytes"]:
        yield f"  {size(counts['rewritten_bytes'])} of the column are written again"


def _sum(plan):
    for line in plan["resources"]:
        yield (
            f"  {line['what']:8} {line['count']:3}  {line['cpus']:6g} CPU  {line['gpus']:6g} GPU  "
            f"{size(line['memory_bytes']):>10}  {line['why']}"
        )
    total = plan["total"]
    yield (
        f"  {'total':13} {total['cpus']:6g} CPU  {total['gpus']:6g} GPU  "
        f"{size(total['memory_bytes']):>10}"
    )
    yield from _places(plan)
    yield f"{plan['workers']} workers fit"
    if plan.get("blocker"):
        never = "it can never start"
        told = plan["fits"] or plan["blocker"].startswith(never)
        yield plan["blocker"] if told else f"{never}: {plan['blocker']}"


def _places(plan):
    """What there is: this machine, or the nodes of a cluster."""
    if "machine" in plan:
        has = plan["machine"]
        yield f"machine: {has['cpus']:g} CPU, {has['gpus']:g} GPU, {size(has['memory_bytes'])}"
    for node in plan.get("cluster", ()):
        yield f"node {node['node']}: {node['has']}"


def _lines(plan):
    for counts in plan["functions"]:
        yield from _rows(counts)
    tasks, workers = plan["tasks"], plan["workers"]
    yield f"about {tasks:,} task{'s' * (tasks != 1)} for {workers:,} worker{'s' * (workers != 1)}"
    yield from _sum(plan)
    needed, free = plan["disk"]["needed_bytes"], plan["disk"]["free_bytes"]
    told = "an unknown amount" if needed is None else f"about {size(needed)}"
    yield f"disk: {told} needed, {'an unknown amount' if free is None else size(free)} free"
    for sample in plan.get("sample", ()):
        yield (
            f"sample of {sample['rows']} rows: {sample['function']}() takes "
            f"{sample['seconds_per_row'] * 1000:.3g} ms and gives {size(sample['bytes_per_row'])} "
            f"for each, {sample['failed']} failed"
        )
    if "seconds" in plan:
        yield f"time: about {duration(plan['seconds'])}"
