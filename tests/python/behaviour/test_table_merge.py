# SPDX-License-Identifier: Apache-2.0
"""Rows joined to a table by key: insert, upsert, and what the builder says."""

import os
import subprocess
import sys

import leman
import pyarrow as pa
import pytest


@pytest.fixture
def table(tmp_path):
    db = leman.connect(tmp_path / "db")
    rows = {"id": [1, 2, 3], "text": ["a", "b", None], "n": [10, 20, 30]}
    return db.create_table("t", rows, primary_key="id")


def rows(table):
    return sorted(
        ((row["id"], row["text"], row["n"]) for row in table.to_arrow().to_pylist()),
        key=lambda row: (row[0] is None, row),
    )


def test_primary_key__is_kept_with_the_table(table):
    assert leman.open(table.path).primary_key == ["id"]
    other = leman.create(table.path + "2", {"a": [1], "b": [2]}, primary_key=["b", "a"])
    assert other.primary_key == ["b", "a"]
    assert leman.create(table.path + "3", {"a": [1]}).primary_key == []


def test_primary_key__of_a_column_that_is_not_there(tmp_path):
    with pytest.raises(leman.NotFoundError, match="nope"):
        leman.create(tmp_path / "t", {"a": [1]}, primary_key="nope")


NO_KEYS = {
    "struct": [{"x": 1}],
    "list": [[1]],
    "fixed_size_list": pa.array([[1]], pa.list_(pa.int8(), 1)),
    "null": [None],
}


@pytest.mark.parametrize("kind", NO_KEYS)
def test_primary_key__of_a_type_that_does_not_tell_rows_apart(tmp_path, kind):
    with pytest.raises(leman.UnsupportedError, match=f'primary key: column "a" is of type {kind}'):
        leman.create(tmp_path / "t", pa.table({"a": NO_KEYS[kind]}), primary_key="a")
    assert not (tmp_path / "t").exists()


def test_insert__new_keys(table):
    result = table.insert([{"id": 4, "text": "d", "n": 40}])
    assert result == leman.MergeResult(inserted=1, updated=0, deleted=0, skipped=0)
    assert rows(table)[3] == (4, "d", 40)


def test_insert__key_that_is_there_changes_nothing(table):
    with pytest.raises(leman.ExistsError, match="2"):
        table.insert([{"id": 4, "text": "d", "n": 40}, {"id": 2, "text": "x", "n": 0}])
    assert (len(table), table.version) == (3, 1)


def test_insert__keys_are_shown_as_they_are_written(tmp_path):
    keys = {
        "a": ["new"],
        "b": [0.1],
        "c": pa.array([-18262], pa.int32()).cast(pa.date32()),
        "d": pa.array([1500], pa.timestamp("ms")),
        "e": pa.array([3661], pa.time32("s")),
        "f": pa.array([1.1], pa.float32()),
        "g": pa.array([5], pa.duration("us")),
        "h": [-3],
    }
    table = leman.create(tmp_path / "t", pa.table(keys), primary_key=list(keys))
    shown = r"""a = "new", b = 0\.1, c = 1920-01-02, d = 1970-01-01.00:00:01\.5\S*, """
    shown += r"""e = 01:01:01, f = 1\.1, g = 5 us, h = -3 is in"""
    with pytest.raises(leman.ExistsError, match=shown):
        table.insert(pa.table(keys))


def test_insert__key_twice_in_the_data_is_refused(table):
    with pytest.raises(leman.InvalidError):
        table.insert({"id": [7, 7]})
    assert len(table) == 3


def test_upsert__replaces_and_appends_in_one_version(table):
    result = table.upsert({"id": [3, 4], "text": ["c", "d"], "n": [31, 40]})
    assert (result.inserted, result.updated) == (1, 1)
    assert rows(table) == [(1, "a", 10), (2, "b", 20), (3, "c", 31), (4, "d", 40)]
    assert table.version == 2


def test_upsert__columns_that_the_data_lacks_stay(table):
    table.upsert({"id": [2, 5], "n": [21, 50]})
    assert rows(table) == [(1, "a", 10), (2, "b", 21), (3, None, 30), (5, None, 50)]


def test_upsert__twice_is_the_same_as_once(table):
    data = {"id": [3, 4], "text": ["c", "d"], "n": [31, 40]}
    table.upsert(data)
    before = rows(table)
    result = table.upsert(data)
    assert (result.inserted, result.updated) == (0, 2)
    assert rows(table) == before


def test_upsert__row_ids_of_updated_rows_stay(table):
    before = {row["id"]: row["_rowid"] for row in table.scan(with_row_id=True).to_pylist()}
    table.upsert({"id": [2], "n": [21]})
    after = {row["id"]: row["_rowid"] for row in table.scan(with_row_id=True).to_pylist()}
    assert after == before


def test_upsert__rows_of_any_batch_in_the_order_of_the_table(tmp_path):
    kind = pa.dictionary(pa.int8(), pa.string())
    ids = pa.int64()
    schema = pa.schema([("id", ids), ("old", ids), ("word", kind), ("l", pa.list_(pa.int8()))])
    rows = [{"id": i, "old": i * 2, "word": "w", "l": [1]} for i in range(1000)]
    table = leman.create(tmp_path / "t", rows, schema=schema, max_rows_per_fragment=300)
    ids = [i * 7 % 1000 for i in range(1000)]
    parts = [ids[i : i + 9] for i in range(0, 900, 9)]
    table.upsert(
        (
            pa.record_batch(
                {
                    "id": part,
                    "word": pa.array([f"w{i % 50}" for i in part]).cast(kind),
                    "l": [[i % 100] if i % 3 else None for i in part],
                }
            )
            for part in parts
        ),
        on="id",
    )
    found = table.scan(with_row_id=True).to_arrow().to_pylist()
    changed = found[100:]
    assert [row["_rowid"] for row in changed] == sorted(ids[:900])
    for row in changed:
        i = row["id"]
        assert (row["old"], row["word"]) == (i * 2, f"w{i % 50}")
        assert row["l"] == ([i % 100] if i % 3 else None)
    assert {row["word"] for row in found[:100]} == {"w"}


def test_upsert__blobs_in_other_files_stay_there(tmp_path):
    (tmp_path / "in").mkdir()
    for i in range(4):
        (tmp_path / f"in/{i}").write_bytes(bytes([i]) * 100_000)
    table = leman.create(tmp_path / "t", leman.files(tmp_path / "in", references=True))
    size = table.to_arrow(["path", "size"]).to_pylist()
    result = table.upsert([{"path": row["path"], "size": 7} for row in size[1:]], on="path")
    assert result.updated == 3
    kept = [path.stat().st_size for path in (tmp_path / "t").rglob("*") if path.is_file()]
    assert sum(kept) < 100_000
    rows = table.scan(blobs="bytes").to_arrow().to_pylist()
    found = {row["path"]: (row["size"], row["bytes"]) for row in rows}
    assert found == {f"{i}": (7 if i else 100_000, bytes([i]) * 100_000) for i in range(4)}


def test_upsert__by_other_columns_than_the_key(table):
    result = table.upsert({"text": ["b"], "n": [99]}, on="text")
    assert result.updated == 1
    assert rows(table)[1] == (2, "b", 99)


def test_upsert__null_keys_match_nothing(table):
    null = pa.array([None], pa.string())
    table.append({"id": [7]})
    result = table.upsert({"id": [8], "text": null, "n": [99]}, on=["text"])
    assert (result.inserted, result.updated) == (1, 0)
    assert rows(table)[-1] == (8, None, 99)
    with pytest.raises(leman.InvalidError, match='column "id", which has no nulls, is missing'):
        table.upsert({"text": null, "n": [100]}, on=["text"])
    assert rows(table)[-1] == (8, None, 99)


def test_upsert__types_are_cast(table):
    table.upsert(
        pa.table({"id": pa.array([2], pa.int8()), "text": pa.array(["x"], "large_string")})
    )
    assert rows(table)[1] == (2, "x", 20)


@pytest.mark.parametrize("plain", [False, True])
def test_upsert__keys_of_dictionaries(tmp_path, plain):
    kind = pa.dictionary(pa.int8(), pa.string())
    rows = {"kind": pa.array(["cat", "dog", None]).cast(kind), "n": [1, 2, 3]}
    table = leman.create(tmp_path / "t", pa.table(rows))
    kinds = pa.array(["dog", "wolf"])
    result = table.upsert({"kind": kinds if plain else kinds.cast(kind), "n": [20, 40]}, on="kind")
    assert (result.inserted, result.updated) == (1, 1)
    found = {row["kind"]: row["n"] for row in table.to_arrow().to_pylist()}
    assert found == {"cat": 1, "dog": 20, None: 3, "wolf": 40}
    table.add_columns({"kind": ["wolf", "cat"], "legs": [4, 3]}, on="kind")
    legs = {row["kind"]: row["legs"] for row in table.to_arrow().to_pylist()}
    assert legs == {"cat": 3, "dog": None, None: None, "wolf": 4}


def test_upsert__keys_of_many_columns(tmp_path):
    table = leman.create(tmp_path / "t", {f"k{i}": [1, 2] for i in range(40)} | {"n": [1, 2]})
    keys = [f"k{i}" for i in range(40)]
    result = table.upsert({key: [2, 3] for key in keys} | {"n": [20, 30]}, on=keys)
    assert (result.inserted, result.updated) == (1, 1)
    assert table.to_arrow()["n"].to_pylist() == [1, 20, 30]


def test_upsert__without_a_key_is_refused(tmp_path):
    table = leman.create(tmp_path / "t", {"a": [1]})
    with pytest.raises(ValueError, match="on="):
        table.upsert({"a": [1]})
    with pytest.raises(LookupError, match="nope"):
        table.upsert({"a": [1]}, on="nope")


def test_upsert__batches_of_an_iterator(table):
    table.upsert(pa.record_batch({"id": [i], "n": [i]}) for i in range(2, 6))
    assert rows(table) == [(1, "a", 10), (2, "b", 2), (3, None, 3), (4, None, 4), (5, None, 5)]


def test_merge_insert__nothing_told_does_nothing(table):
    result = table.merge_insert("id").execute({"id": [1, 9]})
    assert (result.inserted, result.updated, result.deleted) == (0, 0, 0)
    assert rows(table) == [(1, "a", 10), (2, "b", 20), (3, None, 30)]


def test_merge_insert__only_new_rows(table):
    table.merge_insert("id").when_not_matched_insert_all().execute({"id": [1, 9], "n": [0, 90]})
    assert rows(table) == [(1, "a", 10), (2, "b", 20), (3, None, 30), (9, None, 90)]


def test_merge_insert__update_where(table):
    merge = table.merge_insert("id").when_matched_update_all(where="source.n > target.n")
    merge.execute({"id": [1, 2], "n": [5, 25]})
    assert rows(table) == [(1, "a", 10), (2, "b", 25), (3, None, 30)]


def test_merge_insert__a_wrong_condition_fails_also_without_a_match(table):
    for where, message in [
        ("source.nope > 1", '"nope"'),
        ("target.nope > 1", '"nope"'),
        ("n > 1", 'no column "n"'),
        ("target.n +", "end of the expression"),
    ]:
        merge = table.merge_insert("id").when_matched_update_all(where=where)
        with pytest.raises((leman.NotFoundError, leman.InvalidError), match=message):
            merge.when_not_matched_insert_all().execute({"id": [99], "n": [1]})
    assert (len(table), table.version) == (3, 1)


def test_merge_insert__replaces_a_range(table):
    merge = (
        table.merge_insert("id")
        .when_matched_update_all()
        .when_not_matched_insert_all()
        .when_not_matched_by_source_delete("n >= 20")
    )
    result = merge.execute({"id": [2, 4], "n": [22, 40]})
    assert (result.inserted, result.updated, result.deleted) == (1, 1, 1)
    assert rows(table) == [(1, "a", 10), (2, "b", 22), (4, None, 40)]


def test_merge_insert__matched_rows_are_deleted(table):
    assert table.merge_insert("id").when_matched_delete().execute({"id": [1, 3, 9]}).deleted == 2
    assert rows(table) == [(2, "b", 20)]


def test_merge_insert__matched_rows_are_deleted_where(table):
    merge = table.merge_insert("id").when_matched_delete(where="source.n > target.n")
    result = merge.execute({"id": [1, 2, 9], "n": [5, 25, 1]})
    assert (result.deleted, result.skipped) == (1, 2)
    assert rows(table) == [(1, "a", 10), (3, None, 30)]


MEMORY = """
import sys
import leman

def most():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

merge = leman.open(sys.argv[1]).merge_insert("id").when_matched_update_all(*sys.argv[2:])
merge.execute({"id": [0], "label": [b"z"]})
before = most()
merge.execute({"id": range(200), "label": [b"z"] * 200})
print(most() - before)
"""


def large_rows(path, label=None):
    """A table of 200 rows, each with a label and 1 MiB."""
    label = label or pa.field("label", pa.binary())
    schema = pa.schema([("id", pa.int64()), label, ("data", pa.binary())])
    rows = ({"id": i, "label": b"a", "data": bytes([i]) * (1 << 20)} for i in range(200))
    return leman.create(path, rows, schema)


def kilobytes_to_set_labels(table, *condition):
    """The peak of memory, over what setting one label takes."""
    command = [sys.executable, "-c", MEMORY, table.path, *condition]
    kilobytes = int(subprocess.run(command, check=True, capture_output=True).stdout)
    table.refresh()
    assert table.scan(["label"], blobs="bytes").to_pylist() == [{"label": b"z"}] * 200
    return kilobytes


def megabytes(folder):
    return sum(file.stat().st_size for file in folder.iterdir()) / 2**20


def test_upsert__what_stays_of_large_rows_is_not_gathered(tmp_path):
    """Blobs are set by moving rows."""
    blob = pa.field("label", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    table = large_rows(tmp_path / "t", blob)
    assert kilobytes_to_set_labels(table) < 280_000  # 440,000 with all of them in memory
    assert megabytes(tmp_path / "t" / "data") > 400


def test_upsert__large_rows_that_stay_are_not_gathered(tmp_path):
    table = large_rows(tmp_path / "t")
    assert kilobytes_to_set_labels(table) < 60_000
    assert megabytes(tmp_path / "t" / "data") < 220


def test_merge_insert__what_a_condition_reads_is_not_gathered(tmp_path):
    table = large_rows(tmp_path / "t")
    kilobytes = kilobytes_to_set_labels(table, "length(target.data) > 0")
    assert kilobytes < 120_000  # 205,000 if only the data's rows count


LARGE = """
import array
import sys
import leman
import pyarrow as pa

ROWS, BYTES = 4000, 100_000

def most():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))

ends = pa.py_buffer(array.array("i", range(0, ROWS * BYTES + 1, BYTES)))
values = pa.Array.from_buffers(pa.binary(), ROWS, [None, ends, pa.py_buffer(b"a" * ROWS * BYTES)])
rows = pa.table({"id": range(ROWS), "data": values}).slice(1)
before = most()
leman.open(sys.argv[1]).upsert(rows, on="id")
print(most() - before)
"""


def test_upsert__large_values_are_set_some_at_a_time(tmp_path):
    """They are set where small ones were, and all rows but one fit into a batch of these."""
    rows = ({"id": i, "pad": os.urandom(1000), "data": None} for i in range(4000))
    schema = pa.schema([("id", pa.int64()), ("pad", pa.binary()), ("data", pa.binary())])
    table = leman.create(tmp_path / "t", rows, schema)
    command = [sys.executable, "-c", LARGE, table.path]
    kilobytes = int(subprocess.run(command, check=True, capture_output=True).stdout)
    assert kilobytes < 500_000  # 790,000 with all of them at once
    table.refresh()
    assert not (tmp_path / "t" / "_deletions").exists()
    assert table.count_rows("length(data) = 100000") == 3999
