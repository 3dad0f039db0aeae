# SPDX-License-Identifier: Apache-2.0
"""What pylance does to a table with a filled column: its cells stay with their rows."""

import lance
import leman
import pyarrow as pa
import pytest

ROWS = 60


@leman.udf
def double(n: int) -> int:
    if n == 7:
        raise ValueError("seven")
    return n * 2


CALLS = []


@leman.udf
def noted(n: int) -> int:
    CALLS.append(n)
    return n * 3


@pytest.fixture(params=[True, False], ids=["stable", "addresses"])
def path(request, tmp_path):
    """A table of three fragments whose column "twice" is filled, but for row 7, which failed."""
    path = str(tmp_path / "t")
    data = pa.table({"id": range(ROWS), "n": range(ROWS), "word": ["w"] * ROWS})
    lance.write_dataset(
        data,
        path,
        max_rows_per_file=20,
        data_storage_version="2.1",
        enable_stable_row_ids=request.param,
    )
    table = leman.open(path)
    table.add_columns({"twice": (double, ["n"])})
    table.backfill("twice", concurrency=0, progress=False)
    assert cells(path) == (0, ROWS - 1, 1, 0)
    return path


def cells(path, column="twice"):
    counts = leman.open(path).cells(column)
    return tuple(counts[state] for state in ("pending", "ok", "failed", "stale"))


def right(path):
    """The values of the column, where it has any, are those of their rows."""
    rows = lance.dataset(path).to_table(["n", "twice"]).to_pylist()
    assert all(row["twice"] is None or row["twice"] == row["n"] * 2 for row in rows)


def test_pylance_sees_both_columns(path):
    schema = lance.dataset(path).schema
    ledger = schema.field("_leman_twice")
    assert ledger.type == pa.struct(
        [("state", pa.uint8()), ("function", pa.uint64()), ("inputs", pa.uint64())]
    )
    assert set(ledger.metadata) == {b"leman:of"}
    assert b"leman:function" in schema.field("twice").metadata
    assert leman.open(path).schema.names == ["id", "n", "word", "twice"]
    assert leman.open(path).to_arrow().schema.names == ["id", "n", "word", "twice"]
    assert leman.open(path).to_arrow(["_leman_twice"]).schema.names == ["_leman_twice"]


def test_append(path):
    lance.write_dataset(pa.table({"id": [100], "n": [100], "word": ["x"]}), path, mode="append")
    assert cells(path) == (1, ROWS - 1, 1, 0)
    lance.dataset(path).optimize.compact_files()
    assert cells(path) == (1, ROWS - 1, 1, 0)
    right(path)


def test_delete(path):
    lance.dataset(path).delete("id % 2 = 1")
    assert cells(path) == (0, ROWS // 2, 0, 0)
    lance.dataset(path).optimize.compact_files()
    assert cells(path) == (0, ROWS // 2, 0, 0)
    right(path)


def test_update(path):
    lance.dataset(path).update({"word": "'other'"}, where="id < 10")
    assert cells(path) == (0, ROWS - 1, 1, 0)
    lance.dataset(path).update({"n": "1000"}, where="id = 30")
    assert cells(path) == (0, ROWS - 2, 1, 1)
    lance.dataset(path).optimize.compact_files()
    assert cells(path) == (0, ROWS - 2, 1, 1)
    stale = leman.open(path).to_arrow(["id"], "leman_state('twice') = 'stale'")
    assert stale.to_pylist() == [{"id": 30}]
    lance.dataset(path).update({"n": "30"}, where="id = 30")
    assert cells(path) == (0, ROWS - 1, 1, 0)


def test_merge_insert(path):
    rows = pa.table({"id": [1, 2, 200], "n": [1, 22, 200], "word": ["m"] * 3})
    merge = lance.dataset(path).merge_insert("id")
    merge.when_matched_update_all().when_not_matched_insert_all().execute(rows)
    pending, ok, failed, stale = cells(path)
    assert (pending + ok + failed + stale, failed) == (ROWS + 1, 1)
    assert leman.open(path).count_rows("leman_state('twice') = 'ok' and id = 2") == 0


def test_columns(path):
    lance.dataset(path).add_columns({"more": "n + 1"})
    lance.dataset(path).alter_columns({"path": "twice", "name": "caption"})
    assert cells(path, "caption") == (0, ROWS - 1, 1, 0)
    assert "_leman_twice" in lance.dataset(path).schema.names
    leman.open(path).drop_columns("caption")
    assert lance.dataset(path).schema.names == ["id", "n", "word", "more"]


def test_restore(path):
    version = lance.dataset(path).version
    lance.dataset(path).update({"n": "1000"}, where="id = 30")
    lance.dataset(path, version=version).restore()
    assert cells(path) == (0, ROWS - 1, 1, 0)


def test_calls_after_changes(path):
    """A compaction costs no call, an update of another column none, a one-row update one."""
    table = leman.open(path)
    table.add_columns({"thrice": (noted, ["n"])})

    def calls():
        CALLS.clear()
        leman.open(path).backfill("thrice", concurrency=0, progress=False)
        return sorted(CALLS)

    assert calls() == list(range(ROWS))
    lance.dataset(path).optimize.compact_files()
    assert calls() == []
    lance.dataset(path).add_columns({"more": "n + 1"})
    lance.dataset(path).update({"word": "'other'"}, where="id < 10")
    assert calls() == []
    lance.dataset(path).update({"n": "500"}, where="id = 30")
    assert calls() == [500]
    lance.dataset(path).optimize.compact_files()
    assert calls() == []
    assert cells(path, "thrice") == (0, ROWS, 0, 0)


def test_errors(path):
    errors = leman.open(path).errors("twice").to_arrow().to_pylist()
    assert [(e["type"], e["message"]) for e in errors] == [("ValueError", "seven")]
    assert leman.open(path).take_ids([errors[0]["row_id"]], ["n"]).to_pylist() == [{"n": 7}]
    lance.dataset(path).update({"n": "8"}, where="id = 7")
    leman.open(path).backfill("twice", concurrency=0, progress=False)
    assert leman.open(path).errors("twice").to_arrow().num_rows == 0
    assert cells(path) == (0, ROWS, 0, 0)


def test_changes_by_leman(path):
    table = leman.open(path)
    table.upsert(pa.table({"id": [1, 2, 300], "n": [1, 22, 300]}), on="id")
    assert cells(path) == (1, ROWS - 2, 1, 1)
    table.compact()
    assert cells(path) == (1, ROWS - 2, 1, 1)
    table.delete("leman_state('twice') = 'stale'")
    assert cells(path) == (1, ROWS - 2, 1, 0)
    version = table.version
    table.append(pa.table({"id": [301], "n": [301], "word": ["a"]}))
    assert cells(path) == (2, ROWS - 2, 1, 0)
    table.restore(version)
    assert cells(path) == (1, ROWS - 2, 1, 0)
    right(path)


def test_both_take_turns(path):
    """A fill between changes of both sides, at last as if there had been one fill of all rows."""
    table = leman.open(path)
    for turn in range(3):
        lance.dataset(path).update({"n": f"n + {100 + turn}"}, where=f"id % 5 = {turn}")
        lance.write_dataset(
            pa.table({"id": [400 + turn], "n": [400 + turn], "word": ["x"]}), path, mode="append"
        )
        lance.dataset(path).delete(f"id = {50 + turn}")
        if turn == 1:
            lance.dataset(path).optimize.compact_files()
        table.refresh()
        pending, ok, failed, stale = cells(path)
        assert (pending, stale) == (1, 11 - (turn == 2))  # the failed row is in the last turn
        result = table.backfill("twice", concurrency=0, progress=False)
        assert result.rows_planned == pending + failed + stale
        right(path)
        table.compact()
    assert cells(path) == (0, ROWS, 0, 0)
