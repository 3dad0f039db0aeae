# SPDX-License-Identifier: Apache-2.0
"""Filled columns in pylance, and pylance at work on a table while it is filled."""

import typing

import lance
import leman
import pyarrow as pa
import pytest

ROWS = 240
FRAGMENT_ROWS = 80
SIZES = {
    "held": lambda i: 10 + i % 7,
    "direct": lambda i: 60_000 + i % 7,
    "mixed": lambda i: 60_000 if i % FRAGMENT_ROWS < 50 else 10,
}


def value(i, size):
    """Bytes that hardly compress, the same for the same row; some are None."""
    if i % 11 == 4:
        return None
    seed = (i * 2654435761 + 12345) & 0xFFFFFFFF
    block = b"".join(
        ((seed * (k + 1) * 40503 + k * k) & 0xFFFFFFFF).to_bytes(4, "little") for k in range(256)
    )
    return (block * (size // len(block) + 1))[:size]


class Meanwhile:
    """What happens to the table while a function runs: an action at its 150th call."""

    calls: typing.ClassVar = []
    action = path = None

    @classmethod
    def begin(cls, action=None, path=None):
        cls.calls, cls.action, cls.path = [], action, path

    @classmethod
    def call(cls, i):
        cls.calls.append(i)
        if len(cls.calls) == 150 and cls.action is not None:
            cls.action(cls.path)


def function(kind):
    """One function for each kind of results, all of this process."""

    @leman.udf(data_type=pa.binary(), version=kind)
    def v(id: int):
        Meanwhile.call(id)
        return value(id, SIZES[kind](id))

    return v


def rows(first, count):
    return pa.table({"id": range(first, first + count), "name": [f"n{i}" for i in range(count)]})


def create(path, stable):
    if stable:
        return leman.create(path, rows(0, ROWS), max_rows_per_fragment=FRAGMENT_ROWS)
    lance.write_dataset(
        rows(0, ROWS),
        str(path),
        max_rows_per_file=FRAGMENT_ROWS,
        max_rows_per_group=FRAGMENT_ROWS,
        data_storage_version="2.1",
    )
    return leman.open(path)


def check(table, size, pending=()):
    """What pylance reads: the values of all rows but the pending ones, in scans and takes."""
    dataset = lance.dataset(table.path)
    dataset.validate()
    read = dataset.to_table(["id", "v"])
    ids = read["id"].to_pylist()
    wanted = [None if i in pending else value(i, size(i)) for i in ids]
    assert read["v"].to_pylist() == wanted
    at = [5, 1, len(ids) - 1, 77]
    assert dataset.take(at, ["v"])["v"].to_pylist() == [wanted[k] for k in at]
    some = dataset.to_table(["id", "v"], filter="id >= 70 and id < 90 and v is not null")
    assert some["id"].to_pylist() == [
        i for i, v in zip(ids, wanted, strict=True) if 70 <= i < 90 and v is not None
    ]
    assert leman.open(table.path).to_arrow(["v"])["v"].to_pylist() == wanted
    return len(ids)


@pytest.mark.parametrize(("kind", "stable"), [*((kind, True) for kind in SIZES), ("held", False)])
def test_fill__pylance_reads(tmp_path, kind, stable):
    size = SIZES[kind]
    Meanwhile.begin()
    table = create(tmp_path / "t.lance", stable)
    table.delete("id = 3 or id between 100 and 140 or id = 239")
    table.add_columns({"v": function(kind)})
    table.backfill("v", where="id % 3 = 0", concurrency=0, checkpoint_size=30, progress=False)
    check(table, size, pending=[i for i in range(ROWS) if i % 3])
    table.backfill("v", concurrency=0, checkpoint_size=50, progress=False)
    assert check(table, size) == ROWS - 43
    lance.dataset(table.path).optimize.compact_files(target_rows_per_fragment=1000)
    assert check(table, size) == ROWS - 43


def append(path):
    lance.write_dataset(rows(ROWS, 20), path, mode="append")


def delete(path):
    lance.dataset(path).delete("id between 10 and 19 or id >= 230")


def compact(path):
    lance.dataset(path).optimize.compact_files(target_rows_per_fragment=1000)


def delete_and_compact(path):
    delete(path)
    compact(path)


def add_column(path):
    lance.dataset(path).add_columns({"more": "id * 2"})


def update(path):
    lance.dataset(path).update({"name": "'other'"}, where="id between 20 and 24")


MEANWHILE = [
    *((action, "held", True) for action in (append, delete, compact, add_column, update)),
    (delete_and_compact, "direct", True),
    (delete_and_compact, "held", False),
    (compact, "direct", False),
]


@pytest.mark.parametrize(("action", "kind", "stable"), MEANWHILE)
def test_fill__pylance_commits_meanwhile(tmp_path, action, kind, stable):
    size = SIZES[kind]
    table = create(tmp_path / "t.lance", stable)
    Meanwhile.begin(action, table.path)
    table.add_columns({"v": function(kind)})
    table.backfill("v", concurrency=0, checkpoint_size=30, progress=False)
    moved = range(20, 25) if action is update else []
    pending = [*range(ROWS, ROWS + 20)] if action is append else []
    dataset = lance.dataset(table.path)
    if dataset.to_table(["v"], filter="id = 21")["v"].to_pylist() == [None]:
        pending += moved
    check(table, size, pending=pending)
    assert len(Meanwhile.calls) <= ROWS + len(moved) + 30
    table = leman.open(table.path)
    table.backfill("v", concurrency=0, progress=False)
    check(table, size)
