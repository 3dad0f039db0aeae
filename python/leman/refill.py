# SPDX-License-Identifier: Apache-2.0
"""A column computed again, beside the values that it has: compared, swapped or discarded."""

from dataclasses import dataclass

from leman.wording import look


@dataclass(frozen=True)
class Comparison:
    """How the values of a column differ from those that were computed again; str() tells all.

    equal, changed, newly_null: rows. failed: of the newly computed ones. pending: rows that are
    not computed again yet, and in none of the others. samples: rows that differ, as dicts with
    row_id, before and after.
    """

    column: str
    equal: int
    changed: int
    newly_null: int
    failed: int
    pending: int
    samples: list

    def __repr__(self):
        return f"<leman.Comparison {self._counts()}>"

    def _counts(self):
        text = f"{self.equal:,} equal, {self.changed:,} changed, {self.newly_null:,} newly null"
        if self.failed:
            text += f" ({self.failed:,} failed)"
        return f"{self.column}: {text}, {self.pending:,} not computed again"

    def __str__(self):
        from leman.apply import show

        lines = [self._counts()]
        for sample in self.samples:
            before, after = show(sample["before"]), show(sample["after"])
            lines.append(f"  row {sample['row_id']}: {before} -> {after}")
        return "\n".join(lines)


class Refills:
    """What a table does with values that wait beside their column; ``_core`` is the table's."""

    def compare(self, column, samples=6):
        """Print how values that were computed again differ; returns a ``Comparison``.

        samples: rows that differ to show.
        """
        counts = self._core.refill_compare(column, samples)
        row_ids = counts.pop("row_ids")
        refill = self._core.refill_name(column)
        rows = self.take_ids(row_ids, [column, refill]).to_pylist() if row_ids else []
        shown = [
            {"row_id": row_id, "before": row[column], "after": row[refill]}
            for row_id, row in zip(row_ids, rows, strict=True)
        ]
        found = Comparison(column=column, samples=shown, **counts)
        print(found)
        return found

    def swap(self, column):
        """Put values that were computed again in the place of the column's, in one commit.

        Columns that the same function fills change with it; indices on them go.
        """
        self._core.refill_swap(_columns_beside(self, column))

    def discard(self, column):
        """Drop values that were computed again; the column stays as it is."""
        self._core.refill_discard(_columns_beside(self, column))


def _columns_beside(table, column):
    """The columns that change together with one: those of its function."""
    from leman import registry

    return registry.current_names(table, registry.recorded(table, column) or {}, column)


def note(table, columns):
    """What is to be said after a backfill that leaves values beside their columns, if anything."""
    left = [column for column in columns if table._core.refill_name(column) is not None]
    if not left:
        return None
    calls = [look(table, verb, left[0]) for verb in ("compare", "swap", "discard")]
    return (
        f"{', '.join(left)}: computed again beside the column, which is as it was: {calls[0]} "
        f"shows the difference, {calls[1]} takes the new values, {calls[2]} drops them"
    )
