# SPDX-License-Identifier: Apache-2.0
"""Jobs that compute a column again, or one from another, killed at steps of theirs.

Whatever a kill leaves, pylance reads the column as it was or as it becomes, never some of both, and
the same command goes on.
"""

import sys
from collections import Counter

import leman
import pytest
from test_jobs import Place, built, memory  # noqa: F401

ROWS, FRAGMENT_ROWS = 48, 12


@pytest.fixture(scope="module")
def filled(memory, built):  # noqa: F811
    """A table whose column a function has filled, before another one takes its place."""
    folder = memory / "filled"
    folder.mkdir()
    place = Place(folder, built, ROWS, FRAGMENT_ROWS)
    place.finish(place.command())
    place.calls_path.unlink()
    return place


def recompute(place, *options):
    return place.command("--on-change", "recompute", *options, function="minus")


def read(place):
    """1: as it was, -1: as it becomes; anything else fails."""
    rows = place.rows()
    ids, out = rows["id"].to_pylist(), rows["out"].to_pylist()
    signs = {-1 if value < 0 else 1 for value in out if value}
    assert len(signs) == 1
    assert out == [i * i * min(signs) for i in ids]
    return signs.pop()


def test_recompute__killed_at_every_step(memory, filled):  # noqa: F811
    place = filled.copy(memory / "place")
    assert place.finish(recompute(place))["rows_committed"] == ROWS - 1
    assert read(place) == -1
    rows, steps = place.rows(), place.steps()
    seen = Counter()
    for step in range(1, steps + 1, 2):
        place = filled.copy(memory / "place")
        whom = ("self", "all", "torn")[step // 2 % 3]
        code, _, err = place.run(recompute(place), step, whom)
        assert code in (0, -9), (step, err)
        seen[code, read(place)] += 1
        before = place.calls().total()
        code, out, err = place.run(recompute(place))
        assert code == 0, (step, out, err)
        assert read(place) == -1
        assert place.rows().equals(rows), step
        assert place.calls().total() - before <= ROWS
        assert not leman.open(place.path).verify().findings
    assert seen[-9, 1] > 10 and seen[-9, -1] > 0, seen


def test_recompute__cancelled_leaves_the_column(memory, filled):  # noqa: F811
    place = filled.copy(memory / "place")
    code, _, _ = place.run(recompute(place, "--max-rows", "20"))
    assert code == 0 and read(place) == 1
    command = [place.command()[0], "compare", place.path, "out", "--discard"]
    assert place.run(command)[0] == 0
    assert place.rows().equals(filled.rows())


SCRIPT = """
import json, os, sys
import leman

@leman.udf
def first(id: int) -> int:
    with open(os.environ["LEMAN_CALLS"], "ab", buffering=0) as file:
        file.write(id.to_bytes(8, "little"))
    return id + 1

@leman.udf
def second(first: int) -> int:
    return first * 10

table = leman.open(sys.argv[1])
table.add_columns({"first": first, "second": second})
table.backfill(["first", "second"], concurrency=1, commit_granularity=2, progress=False)
"""


def test_chain__killed_between_its_columns(memory, filled):  # noqa: F811
    script = memory / "chain.py"
    script.write_text(SCRIPT)
    place = filled.copy(memory / "place")
    command = [sys.executable, script, place.path]
    assert place.run(command)[0] == 0
    rows, steps = place.rows(), place.steps()
    assert rows["second"].to_pylist() == [(i + 1) * 10 for i in rows["id"].to_pylist()]
    for step in range(steps // 4, steps, steps // 5):
        place = filled.copy(memory / "place")
        code, _, err = place.run(command, step, "all")
        assert code in (0, -9), (step, err)
        code, out, err = place.run(command)
        assert code == 0, (step, out, err)
        assert place.rows().equals(rows), step
