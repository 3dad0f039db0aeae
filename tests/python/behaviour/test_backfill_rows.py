# SPDX-License-Identifier: Apache-2.0
"""Columns filled by functions: which rows, by which workers, and what a rerun does."""

import json
import subprocess
import sys
import threading
import time
import typing
from pathlib import Path

import lance
import leman
import pyarrow as pa
import pyarrow.compute as pc
import pytest

ROOT = Path(__file__).resolve().parents[3]
ROWS = 250


@pytest.fixture
def table(tmp_path):
    rows = {
        "id": range(ROWS),
        "text": [None if i % 50 == 7 else "x" * (i % 9) for i in range(ROWS)],
        "info": [{"url": f"u{i}"} for i in range(ROWS)],
    }
    table = leman.create(tmp_path / "t.lance", pa.table(rows), max_rows_per_fragment=100)
    table.delete("id = 3")
    return table


@leman.udf
def length(text: str | None) -> int | None:
    return None if text is None else len(text)


@leman.udf(data_type=pa.int64())
def twice(id: pa.Array) -> pa.Array:
    return pc.multiply(id, 2)


def fill(table, columns, **options):
    return table.backfill(columns, progress=False, **options)


def column(table, name):
    """The values, which pylance sees as well."""
    values = table.to_arrow([name])[name].to_pylist()
    assert lance.dataset(table.path).to_table([name])[name].to_pylist() == values
    return values


def ids():
    return [i for i in range(ROWS) if i != 3]


def lengths():
    return [None if i % 50 == 7 else i % 9 for i in ids()]


@pytest.mark.parametrize("concurrency", [0, 1, 2])
def test_backfill__values_and_counters(table, concurrency):
    table.add_columns({"length": length, "twice": twice})
    assert column(table, "length") == [None] * (ROWS - 1)
    assert table.cells("length") == {"pending": ROWS - 1, "ok": 0, "failed": 0, "stale": 0}
    result = fill(table, "length", concurrency=concurrency)
    assert column(table, "length") == lengths()
    assert column(table, "twice") == [None] * (ROWS - 1)
    assert result.state == "done"
    assert result.rows_planned == result.rows_computed == result.rows_committed == ROWS - 1
    assert result.rows_checkpointed == ROWS - 1
    assert result.rows_failed == result.rows_resumed == 0
    assert result.version == table.version
    assert table.cells("length") == {"pending": 0, "ok": ROWS - 1, "failed": 0, "stale": 0}
    assert fill(table, "twice", concurrency=concurrency).rows_committed == ROWS - 1
    assert column(table, "twice") == [2 * i for i in ids()]


def test_backfill__a_rerun_does_nothing(table):
    table.add_columns({"length": length})
    fill(table, "length")
    version = table.version
    result = fill(table, "length")
    assert result.rows_planned == result.rows_computed == 0
    assert table.version == version


def test_backfill__hidden_ledger(table):
    table.add_columns({"length": length})
    fill(table, "length", concurrency=0)
    assert table.schema.names == ["id", "text", "info", "length"]
    assert "_leman_length" in lance.dataset(table.path).schema.names
    with pytest.raises(leman.NotFoundError, match="there are: id, text, info, length$"):
        table.to_arrow(columns=["width"])


def test_backfill__new_rows_only(table):
    table.add_columns({"length": length})
    fill(table, "length", concurrency=0)
    table.append({"id": [1000], "text": ["abc"]})
    assert table.cells("length")["pending"] == 1
    assert fill(table, "length", concurrency=0).rows_computed == 1
    assert column(table, "length") == [*lengths(), 3]


def test_backfill__changed_inputs(table):
    table.add_columns({"length": length})
    fill(table, "length", concurrency=0)
    table.update("id = 5", {"text": "'0123456789ab'"})
    assert table.cells("length")["stale"] == 1
    assert fill(table, "length", concurrency=0).rows_computed == 1
    assert table.to_arrow(where="id = 5")["length"].to_pylist() == [12]


def test_backfill__where_narrows_and_recompute_redoes(table):
    table.add_columns({"length": length})
    assert fill(table, "length", where="id < 10", concurrency=0).rows_computed == 9
    assert fill(table, "length", where="id < 20", concurrency=0).rows_computed == 10
    assert fill(table, "length", where="id < 20", concurrency=0).rows_computed == 0
    again = fill(table, "length", where="id < 20", recompute=True, concurrency=0)
    assert again.rows_computed == 19
    assert column(table, "length")[:21] == [*lengths()[:19], None, None]


def test_backfill__max_rows(table):
    table.add_columns({"length": length})
    assert fill(table, "length", max_rows=30, concurrency=0).rows_computed == 30
    assert table.cells("length")["pending"] == ROWS - 31
    assert fill(table, "length", concurrency=0).rows_computed == ROWS - 31
    assert column(table, "length") == lengths()


class Pair(typing.NamedTuple):
    half: float
    name: str


@leman.udf
def pair(id: int) -> leman.Columns[Pair]:
    return Pair(id / 2, f"n{id}")


def test_backfill__several_columns_of_one_function(table):
    table.add_columns(pair)
    result = fill(table, ["half", "name"])
    assert result.rows_planned == ROWS - 1
    assert column(table, "half") == [i / 2 for i in ids()]
    assert column(table, "name") == [f"n{i}" for i in ids()]
    assert fill(table, "name").rows_planned == 0


def test_backfill__several_functions_in_one_pass(table):
    table.add_columns({"length": length, "twice": twice})
    result = fill(table, ["length", "twice"])
    assert result.rows_committed == 2 * (ROWS - 1)
    assert column(table, "length") == lengths()
    assert column(table, "twice") == [2 * i for i in ids()]


def test_backfill__other_inputs_and_nested_ones(table):
    @leman.udf
    def size(value: str) -> int:
        return len(value)

    table.add_columns({"size": (size, ["info.url"])})
    fill(table, "size")
    assert column(table, "size") == [len(f"u{i}") for i in ids()]


def test_backfill__classes_closures_and_lambdas_travel(table):
    step = 5

    @leman.udf
    class Add:
        def __init__(self, more):
            self.more = more

        def setup(self):
            self.ready = threading.Lock()  # made in the worker, so it need not travel

        def __call__(self, id: int) -> int:
            with self.ready:
                return id + self.more + step

    table.add_columns({"sum": Add(10), "neg": leman.udf(data_type="int64")(lambda id: -id)})
    fill(table, ["sum", "neg"])
    assert column(table, "sum") == [i + 15 for i in ids()]
    assert column(table, "neg") == [-i for i in ids()]


def test_backfill__threads(table):
    table.add_columns({"length": length})
    fill(table, "length", concurrency=1, intra_applier_concurrency=3, batch_size=10, num_cpus=0.5)
    assert column(table, "length") == lengths()


def test_backfill__batch_sizes(table):
    @leman.udf(data_type=pa.int64())
    def count(id: pa.Array) -> pa.Array:
        return pa.array([len(id)] * len(id))

    table.add_columns({"count": count})
    fill(table, "count", batch_size=7, concurrency=0)
    assert max(column(table, "count")) == 7


def test_backfill__column_types(table):
    @leman.udf(data_type=pa.list_(pa.float32(), 3), field_metadata={"unit": "cm"})
    def vector(id: int):
        return [id, id + 0.5, 0]

    @leman.udf
    def words(text: str | None) -> list[str]:
        return [] if text is None else list(text)

    table.add_columns({"vector": vector, "words": words})
    fill(table, ["vector", "words"])
    assert column(table, "vector")[-1] == [249, 249.5, 0]
    assert column(table, "words")[5] == ["x"] * 6
    assert table.schema.field("vector").metadata[b"unit"] == b"cm"


def test_backfill__many_rows(tmp_path):
    rows = 200_000
    table = leman.create(
        tmp_path / "t.lance", pa.table({"text": ["x" * (i % 90) for i in range(rows)]})
    )
    table.add_columns({"length": length})
    assert fill(table, "length").rows_committed == rows
    assert table.to_arrow(["length"])["length"].to_pylist() == [i % 90 for i in range(rows)]


# Other programs


def test_others__a_compaction_costs_no_calls_and_an_update_one(table):
    table.add_columns({"length": length})
    fill(table, "length", concurrency=0)
    dataset = lance.dataset(table.path)
    dataset.optimize.compact_files()
    table.refresh()
    assert len(dataset.get_fragments()) == 1
    assert fill(table, "length", concurrency=0).rows_planned == 0
    dataset.update({"text": "'abcdefghijkl'"}, where="id = 9")
    table.refresh()
    assert fill(table, "length", concurrency=0).rows_computed == 1
    assert table.to_arrow(where="id = 9")["length"].to_pylist() == [12]
    assert sorted(v for v in column(table, "length") if v is not None) == sorted(
        [v for i, v in zip(ids(), lengths(), strict=True) if i != 9 and v is not None] + [12]
    )


def test_others__write_while_a_job_runs(table, tmp_path):
    gate = tmp_path / "gate"

    @leman.udf(batch_size=5)
    def slow(id: int) -> int:
        while id >= 150 and not gate.exists():
            time.sleep(0.005)
        return id * 3

    table.add_columns({"out": slow})
    job = table.backfill_async("out", concurrency=1)
    while job.status()["rows_computed"] < 100:
        time.sleep(0.01)
    dataset = lance.dataset(table.path)
    dataset.insert(pa.table({"id": [1000, 1001]}))
    dataset.delete("id = 20")
    dataset.update({"id": "2000"}, where="id = 30")
    lance.dataset(table.path).optimize.compact_files()
    gate.touch()
    job.wait(60)
    fill(table, "out")
    rows = table.to_arrow(["id", "out"]).to_pydict()
    assert rows["out"] == [3 * i for i in rows["id"]]
    assert sorted(rows["id"]) == sorted({*ids(), 1000, 1001, 2000} - {20, 30})
    assert table.cells("out") == {"pending": 0, "ok": ROWS, "failed": 0, "stale": 0}


# Registering


def test_register__again_is_left_as_it_is(table):
    table.add_columns({"length": length})
    version = table.version
    table.add_columns({"length": length})
    assert table.version == version


def test_register__another_function_names_alter_columns(table):
    table.add_columns({"length": length})

    @leman.udf
    def other(text: str | None) -> int | None:
        return 7

    with pytest.raises(leman.ExistsError, match='alter_columns.{"path": "length", "udf": other}'):
        table.add_columns({"length": other})
    with pytest.raises(leman.ExistsError, match="no function fills it"):
        table.add_columns({"id": other})


def test_register__a_changed_function_recomputes_nothing_by_itself(table):
    table.add_columns({"length": length})
    fill(table, "length", where="id < 10", concurrency=0)

    @leman.udf
    def other(text: str | None) -> int | None:
        return -1

    version = table.version
    table.alter_columns({"path": "length", "udf": other})
    assert table.version == version + 1
    assert column(table, "length")[:9] == lengths()[:9]
    with pytest.raises(leman.ConflictError, match='9 values(?s:.)*"recompute".*\n.*"keep"'):
        fill(table, "length", concurrency=0)
    assert fill(table, "length", concurrency=0, on_change="keep").rows_computed == ROWS - 10
    assert column(table, "length") == [*lengths()[:9], *[-1] * (ROWS - 10)]
    assert fill(table, "length", concurrency=0, on_change="recompute").rows_computed == ROWS - 1
    assert column(table, "length") == [-1] * (ROWS - 1)
    assert fill(table, "length", concurrency=0).rows_computed == 0


def test_register__alter_checks_types(table):
    table.add_columns({"length": length})

    @leman.udf
    def text(text: str) -> str:
        return text

    with pytest.raises(leman.InvalidError, match="'length' is int64, and text.. returns string"):
        table.alter_columns({"path": "length", "udf": text})
    with pytest.raises(leman.InvalidError, match="no function fills column 'id'"):
        table.alter_columns({"path": "id", "udf": length})


def test_register__expressions_beside_functions(table):
    table.add_columns({"length": length, "more": "id + 1"})
    assert column(table, "more") == [i + 1 for i in ids()]


def test_register__wrong_ones_leave_the_table_alone(table):
    version = table.version

    @leman.udf
    def missing(nothing: str) -> int: ...

    with pytest.raises(leman.NotFoundError, match="'nothing'"):
        table.add_columns({"length": length, "missing": missing})
    assert table.version == version


def test_backfill__columns_without_a_function(table):
    with pytest.raises(leman.NotFoundError, match="no function fills column 'id'"):
        fill(table, "id")
    with pytest.raises(leman.NotFoundError, match="nothing"):
        fill(table, "nothing")


@pytest.mark.parametrize(
    "options, text",
    [
        ({"num_frags": 1}, "where= and max_rows="),
        ({"condition": 1}, "unexpected keyword argument 'condition'"),
        ({"concurrency": -1}, "concurrency"),
        ({"batch_size": 0}, "batch_size"),
        ({"timeout": 0}, "timeout"),
        ({"on_change": "maybe"}, "on_change"),
        ({"where": "no such"}, "."),
    ],
)
def test_backfill__wrong_options_are_refused(table, options, text):
    table.add_columns({"length": length})
    with pytest.raises((TypeError, ValueError, leman.LemanError), match=text):
        fill(table, "length", **options)
    assert table.cells("length")["pending"] == ROWS - 1


# Functions in C


def compiled(path, source):
    command = ["cc", "-shared", "-fPIC", f"-I{ROOT / 'include'}", "-o", path, ROOT / source]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return compiled(tmp_path_factory.mktemp("library") / "libthumb.so", "examples/thumb/thumb.c")


@pytest.fixture(scope="module")
def crashing(tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "libfunctions.so"
    return compiled(path, "tests/cli/functions/functions.c")


@pytest.mark.parametrize("concurrency", [0, 2])
def test_c__fills_a_column(tmp_path, library, concurrency):
    images = [b"P6\n%d 8\n255\n" % width + bytes(width * 24) for width in range(8, 30)]
    rows = pa.array([*images, None, b"no image"], pa.binary())
    table = leman.create(tmp_path / "t.lance", pa.table({"image": rows, "id": range(len(rows))}))
    width = leman.c_udf(library, "width", on_error=leman.skip_on_error())
    table.add_columns({"width": (width, ["image"])})
    table.add_columns({"width": (width, ["image"])})
    result = fill(table, "width", concurrency=concurrency)
    assert (result.rows_committed, result.rows_failed) == (len(rows), 1)
    assert column(table, "width") == [*range(8, 30), None, None]
    (record,) = table.errors("width").to_pylist()
    assert record["message"] == "not a whole PPM image"
    assert fill(table, "width", concurrency=0, retry_failed=False).rows_planned == 0


@pytest.mark.parametrize("concurrency", [0, 2])
def test_c__beside_python_in_one_job(tmp_path, library, concurrency):
    """Functions of both kinds, of which one in Python reads what one in C has filled."""
    images = [b"P6\n%d 8\n255\n" % width + bytes(width * 24) for width in range(8, 30)]

    @leman.udf
    def doubled(width: int) -> int:
        return width * 2

    @leman.udf
    def size(image: bytes) -> int:
        return len(image)

    table = leman.create(tmp_path / "t.lance", pa.table({"image": pa.array(images, pa.binary())}))
    width = leman.c_udf(library, "width")
    table.add_columns({"width": (width, ["image"]), "size": size, "doubled": doubled})
    result = fill(table, ["doubled", "size", "width"], concurrency=concurrency)
    assert result.rows_committed == 3 * len(images)
    assert column(table, "width") == list(range(8, 30))
    assert column(table, "doubled") == [2 * width for width in range(8, 30)]
    assert column(table, "size") == [len(image) for image in images]


def test_c__a_crash_beside_python_is_narrowed(tmp_path, crashing):
    @leman.udf
    def doubled(n: int) -> int:
        return n * 2

    table = leman.create(tmp_path / "t.lance", pa.table({"n": range(40)}))
    crash = leman.c_udf(crashing, "crash", on_error=leman.skip_on_error())
    table.add_columns({"crash": (crash, ["n"]), "doubled": doubled})
    result = fill(table, ["crash", "doubled"], concurrency=1)
    assert (result.rows_committed, result.rows_failed) == (80, 1)
    (record,) = table.errors("crash").to_pylist()
    assert "SIGSEGV" in record["message"] or "signal 11" in record["message"]
    assert record["repeat"] == f"crash.test(table, row_ids=[{record['row_id']}])"


def test_c__test(tmp_path, library):
    images = [b"P6\n%d 8\n255\n" % width + bytes(width * 24) for width in (8, 9)]
    rows = pa.array([*images, None, b"no image"], pa.binary())
    table = leman.create(tmp_path / "t.lance", pa.table({"image": rows}))
    width = leman.c_udf(library, "width")
    result = width.test(table, input_columns=["image"])
    assert result.outputs == [8, 9, None, None]
    assert result.inputs[0] == {"image": images[0]}
    (record,) = result.errors
    assert (record["row"], record["message"]) == (3, "not a whole PPM image")
    assert "not a whole PPM image" in repr(result) and "-> 8" in repr(result)
    with pytest.raises(leman.InvalidError, match="say what width is given"):
        width.test(table)
    table.add_columns({"width": (width, ["image"])})
    assert width.test(table, row_ids=[1]).outputs == [9]
    (sample,) = table.plan_backfill("width", sample=3)["sample"]
    assert (sample["function"], sample["rows"], sample["failed"]) == ("width", 3, 0)


def test_c__wrong_ones_are_refused(table, library):
    with pytest.raises(leman.NotFoundError, match="libnothing"):
        leman.c_udf("libnothing.so", "thumb")
    with pytest.raises(leman.NotFoundError, match="nothing"):
        leman.c_udf(library, "nothing")
    with pytest.raises(TypeError, match="the function says it itself"):
        leman.c_udf(library, "thumb", data_type=pa.int64())
    thumb = leman.c_udf(library, "thumb")
    with pytest.raises(leman.InvalidError, match="say what thumb is given"):
        table.add_columns({"thumb": thumb})
    with pytest.raises(leman.InvalidError, match="one input of type binary"):
        table.add_columns({"thumb": (thumb, ["id"])})


def test_large_results_are_written_while_others_are_computed(tmp_path):
    """Results of several checkpoints in one task: every row has its own, in its place."""
    rows, size = 40, 1 << 20
    table = leman.create(tmp_path / "large.lance", {"id": range(rows)})

    @leman.udf(data_type=pa.binary(), batch_size=4)
    def expand(id: pa.Array) -> pa.Array:
        return pa.array([bytes([i]) * size for i in id.to_pylist()], pa.binary())

    table.add_columns({"data": expand})
    status = fill(table, "data", concurrency=1)
    assert status.rows_committed == rows
    data = lance.dataset(table.path).to_table(["data"])["data"].to_pylist()
    assert data == [bytes([i]) * size for i in range(rows)]


def pages(path):
    """First row and size of each page of the first column in the newest data file."""
    file = max((path / "data").iterdir(), key=lambda file: file.stat().st_mtime_ns)
    command = [Path(sys.executable).parent / "leman", "inspect", file, "--json"]
    found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    return [(page["row_start"], page["bytes"]) for page in found["columns"][0]["pages"]]


def test_refill_copies_pages_without_changed_rows(tmp_path):
    """Pages whose rows stay as they are keep their bounds; the plan tells what that costs."""
    rows, size = 40, 200_000
    path = tmp_path / "large.lance"
    table = leman.create(path, pa.table({"id": range(rows), "more": [0] * rows}))

    @leman.udf(data_type=pa.binary(), batch_size=8, checkpoint_size=8)
    def expand(id: pa.Array, more: pa.Array) -> pa.Array:
        sums = pc.add(id, more).to_pylist()
        return pa.array([bytes([value]) * size for value in sums], pa.binary())

    table.add_columns({"data": expand})
    assert table.plan_backfill("data")["functions"][0]["rewritten_bytes"] == 0
    fill(table, "data", concurrency=1)
    before = pages(path)
    assert [row for row, _ in before] == [0, 8, 16, 24, 32]
    plan = table.plan_backfill("data", where="id = 9", recompute=True)
    assert rows * size < plan["functions"][0]["rewritten_bytes"] < rows * size + 10_000
    assert plan["disk"]["needed_bytes"] is None  # how large the values are is not known
    table.delete("id = 30")
    assert fill(table, "data", where="id = 9", recompute=True).rows_committed == 1
    assert pages(path) == before
    data = lance.dataset(path).to_table(["data"])["data"].to_pylist()
    assert data == [bytes([i]) * size for i in range(rows) if i != 30]
    assert not table.verify().findings
