# SPDX-License-Identifier: Apache-2.0
"""Columns that feed columns: which function reads what another one fills."""

import json

from leman import _core, registry
from leman.wording import fill, option

STALE_INPUTS = ("refill", "refuse")


def _quoted(text):
    return "'" + text.replace("'", "''") + "'"


def _reads_of(known, columns):
    """The columns that a recorded function reads, of a collection of names."""
    found = []
    for path in known.get("inputs", ()):
        parts = path.split(".")
        names = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        name = next((name for name in names if name in columns), None)
        if name is not None and name not in found:
            found.append(name)
    return found


class Graph:
    """The columns of a table that functions fill, and what each of them reads."""

    def __init__(self, table):
        self._table = table
        self._names = {field[1] for field in registry.columns_of(table)}
        self._reads = {}

    def add(self, outputs, inputs):
        """Columns that are to be filled from others."""
        self._names.update(outputs)
        for name in outputs:
            self._reads[name] = {"inputs": list(inputs)}

    def reads(self, column):
        """The columns, filled or not, that the function of a column reads."""
        known = self._reads.get(column)
        if known is None:
            try:
                known = registry.recorded(self._table, column) or {}
            except _core.NotFoundError:
                known = {}
            self._reads[column] = known
        return _reads_of(known, self._names)

    def filled_inputs(self, column):
        """Those of them that functions fill."""
        return [name for name in self.reads(column) if self._is_filled(name)]

    def above(self, column):
        """All filled columns that a column is computed from, the first ones first."""
        found = []
        for name in self.filled_inputs(column):
            found += [read for read in [*self.above(name), name] if read not in found]
        return found

    def _is_filled(self, column):
        self.reads(column)
        return bool(self._reads[column])

    def refuse_circles(self, columns):
        """Raise when what a column is computed from is, in the end, computed from itself."""
        for column in columns:
            circle = self._circle([column])
            if circle is not None:
                raise _core.InvalidError(
                    f"column {column!r} cannot be computed from itself: {' <- '.join(circle)}"
                )

    def _circle(self, path):
        for name in self.reads(path[-1]):
            if name == path[0]:
                return [*path, name]
            if name not in path:
                found = self._circle([*path, name])
                if found is not None:
                    return found
        return None


def in_order(table, wanted):
    """Functions to register, [(names, udf, inputs)], each behind those that it reads from."""
    graph = Graph(table)
    by_name = {}
    for item in wanted:
        names, udf, inputs = item
        names = names or [name for name, _ in udf.signature.outputs or ()]
        if not names:
            raise _core.InvalidError(
                f'{udf.name}() fills one column; name it: add_columns({{"name": {udf.name}}})'
            )
        graph.add(names, asked_for(udf, inputs))
        by_name.update((name, item) for name in names)
    graph.refuse_circles(by_name)
    ordered = []

    def visit(item, name):
        for read in graph.reads(name):
            if read in by_name and by_name[read] is not item:
                visit(by_name[read], read)
        if not any(item is other for other in ordered):
            ordered.append(item)

    for name, item in by_name.items():
        visit(item, name)
    return ordered


def asked_for(udf, inputs):
    """The inputs that a function names before it is bound to a table."""
    if inputs is not None:
        return inputs
    if udf.options.input_columns is not None:
        return udf.options.input_columns
    return [] if udf.signature.kind == "batch" else list(udf.signature.annotations)


def check_altered(table, columns, inputs):
    """Raise when a function with these inputs would close a circle."""
    graph = Graph(table)
    graph.add(columns, inputs)
    graph.refuse_circles(columns)


def check_option(stale_inputs):
    if stale_inputs not in STALE_INPUTS:
        raise ValueError(
            'stale_inputs is "refuse" or "refill" (inputs that are not up to date are computed '
            f"first), not {stale_inputs!r}"
        )


class _Outdated:
    """How many rows of a backfill a column is not up to date in, once its inputs are."""

    def __init__(self, table, graph, where):
        self._table, self._graph = table, graph
        self._narrowed = f"({where}) and " if where else ""
        self._counts = {}

    def __call__(self, column):
        if column not in self._counts:
            state = f"leman_state({_quoted(column)})"
            count = self._table.count_rows(f"{self._narrowed}{state} in ('pending', 'stale')")
            inputs = map(self, self._graph.filled_inputs(column))
            self._counts[column] = max([count, self.undecided(column), *inputs])
        return self._counts[column]

    def undecided(self, column):
        """How many values are of an earlier function, and nobody has said what becomes of them."""
        known = registry.recorded(self._table, column)
        if not known.get("before"):
            return 0
        described = {key: known[key] for key in ("name", "version")}
        described["output"] = registry.current_names(self._table, known, column)
        described["input"] = known["inputs"]
        described["code"] = b"planned"
        counts = json.loads(_core.job_plan(self._table._core, [described], {}))
        return counts["functions"][0]["other"]


def complete(table, columns, where, stale_inputs, on_change):
    """The columns of a backfill, with inputs that are to be filled first."""
    check_option(stale_inputs)
    graph = Graph(table)
    outdated = _Outdated(table, graph, where)
    found = list(columns)
    for column in found:  # it grows meanwhile
        for name in graph.filled_inputs(column):
            count = 0 if name in found else outdated(name)
            changed = count and outdated.undecided(name)
            if changed and stale_inputs == "refuse" and on_change is None:
                raise _core.ConflictError(
                    f"column {column!r} is computed from {name!r}, whose function has changed, and "
                    f"{changed:,} values are of its earlier version: say what becomes of them, "
                    f'{option("on_change", "recompute")}, "keep" or "new_rows"'
                )
            if count and not changed and stale_inputs == "refuse":
                rows = "1 row" if count == 1 else f"{count:,} rows"
                first = [read for read in graph.above(column) if outdated(read)]
                raise _core.InvalidError(
                    f"column {column!r} is computed from {name!r}, which is not up to date in "
                    f"{rows}: say {option('stale_inputs', 'refill')} to fill it first in the same "
                    f"job, or {fill(table, [*first, column])}"
                )
            if count:
                found.append(name)
    return found


def _in_states(columns, states):
    """A condition: one of the columns is in one of the states."""
    listed = ", ".join(map(_quoted, states))
    parts = [f"leman_state({_quoted(column)}) in ({listed})" for column in columns]
    return f"({' or '.join(parts)})"


class Following:
    """Rows that a job computes because it fills their inputs, which its plan does not see yet.

    They are the most that there can be: an input that comes out as it was changes nothing.
    """

    def __init__(self, table, options):
        self._table, self._options = table, options
        self._graph = Graph(table)
        self._states = ["pending", "stale", *(["failed"] * (not options["leave_failed"]))]

    def _count(self, *conditions):
        where = self._options["where"]
        wanted = [f"({where})"] if where else []
        return self._table.count_rows(" and ".join([*wanted, *conditions]))

    def _total(self, counts, above):
        """The rows that are computed in the end."""
        read = [column for other in above for column in other["columns"]]
        if self._options["recompute"] or any(other["todo"] >= other["matching"] for other in above):
            return counts["matching"]
        conditions = [_in_states([*counts["columns"][:1], *read], self._states)]
        if self._options["leave_failed"]:
            conditions.append(f"not {_in_states(read, ['failed'])}")
        return self._count(*conditions)

    def _add_to(self, counts, above):
        total = self._total(counts, above)
        if self._options["limited"]:
            total = min(total, self._options["rows_max"])
        counts["following"] = max(total - counts["todo"], 0)
        counts["todo"] += counts["following"]
        counts["kept"] -= min(counts["following"], counts["kept"])
        counts["waiting"] -= min(counts["following"], counts["waiting"])

    def add_to(self, plan):
        """Count them in what a plan says of each function."""
        by_column = {name: counts for counts in plan["functions"] for name in counts["columns"]}
        ordered = []
        for column, counts in by_column.items():
            ordered += [by_column[name] for name in self._graph.above(column) if name in by_column]
            ordered.append(counts)
        done = []
        for counts in ordered:
            if any(counts is other for other in done):
                continue
            above = self._graph.above(counts["columns"][0])
            above = [other for other in done if set(other["columns"]) & set(above)]
            counts["following"] = 0
            if above:
                self._add_to(counts, above)
            done.append(counts)
