# SPDX-License-Identifier: Apache-2.0
"""Values that are checkpointed and in no version yet."""

import leman
import pyarrow as pa
import pytest

ROWS = 100
STOP = 90  # the job fails at this row of the first fragment; what came before is kept


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    rows = pa.table({"n": range(ROWS)})
    return leman.create(tmp_path / "t.lance", rows, max_rows_per_fragment=95)


def fill(table, function, **options):
    table.add_columns({"m": function})
    with pytest.raises(leman.FunctionError):
        table.backfill("m", concurrency=1, progress=False, **options)
    return table.jobs()[0]


def failing(data_type, value):
    """A function that ends its job at row STOP."""

    @leman.udf(data_type=data_type, batch_size=1, on_error=leman.fail_fast())
    def made(n: int):
        if n == STOP:
            raise ValueError("stop")
        return value(n)

    return made


def text(n):
    return None if n % 7 == 0 else f"value {n}"


def large(n):
    return bytes([n]) * 100_000


def vector(n):
    return [float(n)] * 16384


def nested(n):
    return {"a": n, "b": [str(n)] * (n % 3), "c": b"x" * 60_000}


@pytest.mark.parametrize(
    ("data_type", "value"),
    [
        (pa.string(), text),
        (pa.large_binary(), large),
        (pa.list_(pa.float64(), 16384), vector),
        (
            pa.struct({"a": pa.int64(), "b": pa.list_(pa.string()), "c": pa.large_binary()}),
            nested,
        ),
    ],
    ids=["held", "direct", "direct lists", "direct structs"],
)
def test_peek__values_and_row_ids(table, tmp_path, data_type, value):
    job = fill(table, failing(data_type, value), checkpoint_size=30)
    in_place = list((tmp_path / "t.lance/_leman/fills").glob("*/*.pages"))
    assert bool(in_place) == (value is not text)
    rows = job.peek(1000)
    assert repr(rows).startswith("<leman.arrow.Batch of m: ")
    assert repr(rows).endswith(", _rowid: uint64>")
    seen = pa.record_batch(rows)
    assert repr(rows) == "<leman.arrow.Batch that was handed over>"
    assert seen.schema.names == ["m", "_rowid"] and seen.schema.types == [data_type, pa.uint64()]
    assert dict(zip(seen["_rowid"].to_pylist(), seen["m"].to_pylist(), strict=True)) == {
        n: value(n) for n in range(STOP)
    }
    assert table.cells("m")["ok"] == 0
    assert len(job.peek().to_pylist()) == 20
    assert job.peek(0).to_pylist() == []


def test_peek__what_is_gone_is_left_out(table):
    job = fill(table, failing(pa.string(), text), checkpoint_size=30)
    table.delete("n < 10")
    assert [row["_rowid"] for row in job.peek(5).to_pylist()] == [10, 11, 12, 13, 14]
    table.compact()
    assert job.peek(1000).to_pylist() == []  # until the job carries them to the new fragment


def test_peek__a_job_that_is_committed_has_nothing_left(table):
    @leman.udf
    def plain(n: int) -> int:
        return n

    table.add_columns({"m": plain})
    job = table.backfill_async("m", concurrency=1)
    assert job.wait(60).rows_committed == ROWS
    assert job.peek().to_pylist() == []


def test_peek__values_that_are_computed_again(table, tmp_path):
    @leman.udf(data_type=pa.string())
    def plain(n: int):
        return "before"

    table.add_columns({"m": plain})
    table.backfill("m", concurrency=1, progress=False)
    table.alter_columns({"path": "m", "udf": failing(pa.string(), text)})
    with pytest.raises(leman.FunctionError):
        table.backfill("m", on_change="recompute", concurrency=1, checkpoint_size=30)
    rows = table.jobs()[0].peek(1000).to_arrow()
    assert rows.schema.names == ["m", "_rowid"]
    assert rows["m"].to_pylist() == [text(n) for n in range(STOP)]


def test_peek__wrong_calls(table):
    job = fill(table, failing(pa.string(), text))
    with pytest.raises(ValueError, match="number of rows"):
        job.peek(-1)
    with pytest.raises(leman.NotFoundError, match='fills no column "n"'):
        job.peek(column="n")
    assert len(job.peek(3, column="m").to_pylist()) == 3
    job.discard()
    with pytest.raises(leman.NotFoundError, match="has no job"):
        job.peek()
