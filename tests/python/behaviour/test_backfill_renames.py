# SPDX-License-Identifier: Apache-2.0
"""Inputs that are renamed: functions go on reading them, and nothing is computed again."""

import os
import subprocess
import sys
import time
import typing

import lance
import leman
import pyarrow as pa
import pyarrow.compute as pc
import pytest

ROWS = 30


@leman.udf
def length(name: str) -> int:
    return len(name)


@pytest.fixture
def table(tmp_path):
    rows = {
        "name": [f"pet {i}" for i in range(ROWS)],
        "info": [{"url": f"https://zoo/{i}"} for i in range(ROWS)],
    }
    table = leman.create(tmp_path / "t.lance", pa.table(rows))
    table.add_columns({"length": length, "link": (length, ["info.url"])})
    fill(table, ["length", "link"])
    return table


def fill(table, columns, **options):
    return table.backfill(columns, progress=False, concurrency=0, **options)


def rename_here(table, old, new):
    table.rename_column(old, new)


def rename_by_pylance(table, old, new):
    lance.dataset(table.path).alter_columns({"path": old, "name": new})
    table.refresh()


def all_ok(table, column):
    return table.cells(column) == {"pending": 0, "ok": len(table), "failed": 0, "stale": 0}


@pytest.mark.parametrize("rename", [rename_here, rename_by_pylance])
def test_renames__are_followed(table, rename):
    rename(table, "name", "title")
    rename(table, "info", "about")
    assert all_ok(table, "length") and all_ok(table, "link")
    assert fill(table, ["length", "link"]).rows_planned == 0
    assert table.column_info("length")["inputs"] == ["title"]
    assert table.column_info("link")["inputs"] == ["about.url"]
    table.append({"title": ["new"], "about": [{"url": "short"}]})
    table.update("title = 'pet 3'", {"title": "'changed'"})
    assert fill(table, "length").rows_computed == 2
    assert fill(table, "link").rows_computed == 1
    found = table.to_arrow(["title", "length", "link"]).to_pylist()
    assert all(row["length"] == len(row["title"]) for row in found)
    assert [row["link"] for row in found if row["title"] == "new"] == [5]


class Pair(typing.NamedTuple):
    first: str
    last: str


@leman.udf
def ends(name: str) -> leman.Columns[Pair]:
    return Pair(name[:1], name[-1:])


@pytest.mark.parametrize("rename", [rename_here, rename_by_pylance])
def test_renames__one_of_several_outputs(tmp_path, rename):
    table = leman.create(tmp_path / "t.lance", {"name": ["ab", "cd"]})
    table.add_columns(ends)
    fill(table, "first")
    rename(table, "last", "end")
    for column in ("first", "end"):
        table.append({"name": ["xy"]})
        assert fill(table, column).rows_computed == 1
    assert table.to_arrow()["first"].to_pylist() == ["a", "c", "x", "x"]
    assert table.to_arrow()["end"].to_pylist() == ["b", "d", "y", "y"]


def test_renames__two_columns_change_places(tmp_path):
    table = leman.create(tmp_path / "t.lance", {"name": ["a", "b"], "other": ["long", "longer"]})
    table.add_columns({"length": length})
    fill(table, "length")
    for old, new in (("name", "spare"), ("other", "name"), ("spare", "other")):
        table.rename_column(old, new)
    assert all_ok(table, "length")
    assert fill(table, "length", recompute=True).rows_computed == 2
    assert table.to_arrow(["length"])["length"].to_pylist() == [1, 1]


def test_renames__a_wider_type_afterwards(tmp_path):
    @leman.udf
    def doubled(n: int) -> int:
        return 2 * n

    table = leman.create(tmp_path / "t.lance", pa.table({"n": pa.array([1, 2], pa.int32())}))
    table.add_columns({"doubled": doubled})
    fill(table, "doubled")
    table.rename_column("n", "number")
    table.alter_columns({"path": "number", "data_type": pa.int64()})
    assert all_ok(table, "doubled")
    assert table.column_info("doubled")["inputs"] == ["number"]


def test_renames__an_input_that_was_computed_again(table):
    @leman.udf
    def next_one(length: int) -> int:
        return length + 1

    table.add_columns({"next": next_one})
    fill(table, "next")
    table.rename_column("length", "letters")

    @leman.udf
    def letters(name: str) -> int:
        return len(name) + 100

    table.alter_columns({"path": "letters", "udf": letters})
    fill(table, "letters", on_change="recompute")
    assert table.column_info("next")["inputs"] == ["letters"]
    assert table.cells("next")["stale"] == ROWS
    assert fill(table, "next").rows_computed == ROWS
    assert table.to_arrow(["next"])["next"].to_pylist()[0] == 106


def test_renames__batches_have_the_names_of_their_function(tmp_path):
    @leman.udf(data_type=pa.int64(), input_columns=["n"])
    def doubled(batch: pa.RecordBatch) -> pa.Array:
        return pc.multiply(batch["n"], 2)

    table = leman.create(tmp_path / "t.lance", {"n": [1, 2, 3]})
    table.add_columns({"doubled": doubled})
    table.rename_column("n", "number")
    assert fill(table, "doubled").rows_committed == 3
    assert table.to_arrow(["doubled"])["doubled"].to_pylist() == [2, 4, 6]


def test_renames__blobs_as_files(tmp_path):
    @leman.udf
    def size(data: leman.BlobFile) -> int:
        return len(data.read())

    rows = pa.table({"id": range(2)})
    table = leman.create(tmp_path / "t.lance", rows)

    @leman.udf(data_type=leman.blob())
    def make(id: int):
        return bytes(100_000 + id)

    table.add_columns({"data": make})
    fill(table, "data")
    table.add_columns({"size": size})
    table.rename_column("data", "payload")
    fill(table, "size")
    assert table.to_arrow(["size"])["size"].to_pylist() == [100_000, 100_001]


def until(condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("rename", [rename_here, rename_by_pylance])
def test_renames__while_a_job_runs(tmp_path, rename):
    """Inputs and outputs get other names, and rows other places: the job goes on."""
    gate = str(tmp_path / "gate")
    names = pa.schema([("size", pa.int64()), ("first", pa.string())])

    @leman.udf(data_type=names, input_columns=["name"], batch_size=1, checkpoint_size=1)
    def measure(batch: pa.RecordBatch) -> pa.RecordBatch:
        (name,) = batch["name"].to_pylist()
        while name >= "pet 15" and not os.path.exists(gate):
            time.sleep(0.005)
        return pa.record_batch([[len(name)], [name[-2:]]], schema=names)

    rows = [{"name": f"pet {i:02}"} for i in range(ROWS)]
    table = leman.create(tmp_path / "t.lance", rows[:10])
    table.append(rows[10:20])
    table.append(rows[20:])
    table.add_columns({"size, first": measure})
    job = table.backfill_async(["size", "first"], concurrency=1, commit_granularity=1)
    until(lambda: job.status()["rows_checkpointed"] == 15)
    other = leman.open(table.path)
    rename(other, "name", "title")
    rename(other, "first", "mark")
    other.delete("title = 'pet 03'")
    lance.dataset(table.path).optimize.compact_files()  # so that the rest is planned again
    with open(gate, "w"):
        pass
    assert job.wait(60).state == "done"
    table.refresh()
    assert all_ok(table, "size") and all_ok(table, "mark")
    for row in table.to_arrow().to_pylist():
        assert (row["size"], row["mark"]) == (6, row["title"][-2:])
    assert table.column_info("mark")["inputs"] == ["title"]


PROGRAM = """
import leman

@leman.udf
def length(name: str) -> int:
    return len(name)

table = leman.open("p.lance")
table.add_columns({"length": length})
result = table.backfill("length", progress=False, concurrency=1)
print(result.rows_computed)
"""


def test_renames__the_same_program_again(tmp_path):
    """It names the column as it was, and goes on with the one that it meant."""
    table = leman.create(tmp_path / "p.lance", {"name": ["a", "bc"]})
    (tmp_path / "program.py").write_text(PROGRAM)

    def run():
        done = subprocess.run(
            [sys.executable, "program.py"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=os.environ | {"XDG_STATE_HOME": str(tmp_path / "state")},
        )
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    assert run() == 2
    table.refresh()
    table.rename_column("name", "title")
    assert run() == 0
    table.refresh()
    table.append({"title": ["def"]})
    assert run() == 1
    table.refresh()
    assert table.to_arrow(["length"])["length"].to_pylist() == [1, 2, 3]


def test_renames__an_input_that_is_gone_is_named(table):
    table.rename_column("name", "title")
    lance.dataset(table.path).drop_columns(["title"])  # which knows nothing of functions
    table.refresh()
    assert all_ok(table, "length")  # they are what they are
    with pytest.raises(leman.LemanError, match="name"):
        fill(table, "length", recompute=True)
