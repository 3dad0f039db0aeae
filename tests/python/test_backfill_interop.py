# SPDX-License-Identifier: Apache-2.0
"""Backfills beside pylance: it changes the table while a job runs, and afterwards.

The function notes every call in a file. At one row it waits, so that a change happens in the middle
of the job and nowhere else.
"""

import os
from collections import Counter

import lance
import leman
import pyarrow as pa
import pytest

ROWS, FRAGMENT_ROWS, GATE = 200, 50, 120


class Place:
    """A table with a column `out` = value + 1 to be filled."""

    def __init__(self, folder, stable=True):
        self.path = folder / "t.lance"
        self.calls_path = folder / "calls"
        self.begun, self.go = str(folder / "begun"), str(folder / "go")
        self.calls_path.touch()
        data = pa.table({"id": range(ROWS), "value": [i * 10 for i in range(ROWS)]})
        lance.write_dataset(
            data, self.path, max_rows_per_file=FRAGMENT_ROWS, enable_stable_row_ids=stable
        )
        self.table = leman.open(self.path)
        self.table.add_columns({"out": self.function()})

    def function(self):
        calls, begun, go = str(self.calls_path), self.begun, self.go

        @leman.udf(input_columns=["value"])
        def out(value: int) -> int:
            with open(calls, "a") as file:
                file.write(f"{value}\n")
            if value == GATE * 10 and os.path.exists(go):
                open(begun, "w").close()
                open(go).read()
            return value + 1

        return out

    def calls(self):
        """The calls since the last time, by value."""
        lines = self.calls_path.read_text().split()
        self.calls_path.write_text("")
        return Counter(int(line) for line in lines)

    def backfill(self, **options):
        self.table.refresh()
        return self.table.backfill("out", concurrency=2, progress=False, **options)

    def backfill_during(self, change, **options):
        """Call `change(dataset)` when the job has come to the gate."""
        os.mkfifo(self.begun)
        os.mkfifo(self.go)
        self.table.refresh()
        job = self.table.backfill_async("out", concurrency=2, batch_size=5, **options)
        with open(self.begun):
            change(lance.dataset(self.path))
        with open(self.go, "w"):
            pass
        os.remove(self.go)
        os.remove(self.begun)
        return job.wait()

    def check(self, pending=()):
        """Every cell that is not pending is right; those of these ids are the pending ones."""
        rows = lance.dataset(self.path).to_table(["id", "value", "out", "_leman_out"]).to_pylist()
        found = [row["id"] for row in rows if row["_leman_out"] is None]
        assert sorted(found) == sorted(pending)
        for row in rows:
            if row["_leman_out"] is not None:
                assert row["_leman_out"]["state"] == 1
                assert row["out"] == row["value"] + 1


@pytest.fixture(params=[True, False], ids=["stable row ids", "row addresses"])
def place(tmp_path, request):
    return Place(tmp_path, request.param)


def test_backfill__compaction_costs_no_calls(place):
    place.backfill()
    assert place.calls() == Counter(i * 10 for i in range(ROWS))
    dataset = lance.dataset(place.path)
    dataset.delete("id < 10")
    dataset.optimize.compact_files(target_rows_per_fragment=1000)
    assert len(lance.dataset(place.path).get_fragments()) == 1
    assert place.backfill().rows_planned == 0
    assert place.calls() == Counter()
    place.check()


def test_backfill__an_update_of_one_row_costs_one_call(place):
    place.backfill()
    place.calls()
    lance.dataset(place.path).update({"value": "7"}, where="id = 33")
    assert place.backfill().rows_planned == 1
    assert place.calls() == Counter([7])
    place.check()


def test_backfill__rows_that_are_appended_meanwhile_stay_pending(place):
    def append(dataset):
        rows = pa.table({"id": [1000, 1001], "value": [1, 2]})
        lance.write_dataset(rows, dataset.uri, mode="append")

    result = place.backfill_during(append)
    assert result.rows_committed == ROWS
    place.check(pending=[1000, 1001])
    assert place.calls() == Counter(i * 10 for i in range(ROWS))
    place.backfill()
    assert place.calls() == Counter([1, 2])
    place.check()


def test_backfill__rows_that_are_deleted_meanwhile_stay_away(place):
    place.backfill_during(lambda dataset: dataset.delete("id % 10 = 3"))
    place.check()
    assert lance.dataset(place.path).count_rows() == ROWS * 9 // 10
    assert place.backfill().rows_planned == 0


def test_backfill__rows_that_are_updated_meanwhile_are_done_again(place):
    def update(dataset):
        dataset.update({"value": "value + 5"}, where="id in (3, 77, 199)")

    place.backfill_during(update)
    place.backfill()
    place.check()
    calls = place.calls()
    assert calls.keys() >= {35, 775, 1995}
    assert calls.total() <= ROWS + 3


def test_backfill__a_compaction_meanwhile_costs_no_calls(place):
    def compact(dataset):
        dataset.optimize.compact_files(target_rows_per_fragment=1000)

    place.backfill_during(compact)
    place.backfill()
    place.check()
    calls = place.calls()
    assert set(calls) == {i * 10 for i in range(ROWS)}
    assert calls.total() - ROWS <= 4 * 2 * 5  # calls in progress, and receipts on their way


def test_backfill__results_do_not_follow_rows_with_other_inputs(place):
    def change(dataset):
        dataset.optimize.compact_files(target_rows_per_fragment=1000)
        lance.dataset(place.path).update({"value": "value + 5"}, where="id in (3, 77)")

    place.backfill_during(change)
    place.backfill()
    place.check()
    assert place.calls().keys() >= {35, 775}


def test_backfill__everything_at_once(place):
    def change(dataset):
        dataset.delete("id in (4, 190)")
        lance.write_dataset(pa.table({"id": [2000], "value": [20000]}), dataset.uri, mode="append")
        dataset = lance.dataset(place.path)
        dataset.update({"value": "value + 1"}, where="id = 60")
        dataset.optimize.compact_files(target_rows_per_fragment=1000)

    place.backfill_during(change)
    place.backfill()
    place.check()
    assert lance.dataset(place.path).count_rows() == ROWS - 2 + 1
    assert place.backfill().rows_planned == 0
