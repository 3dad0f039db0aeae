# SPDX-License-Identifier: Apache-2.0
"""Rows to merge or to join that are more than stay in memory: 1 GiB of them, of all types."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import leman
import pyarrow as pa
import pytest

MIB = 2**20
ROW_BYTES, COUNT = 4_000_000, 400
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64(), nullable=False),
        ("image", pa.large_binary()),
        ("tag", pa.dictionary(pa.int8(), pa.string())),
        ("price", pa.decimal128(12, 2)),
        ("words", pa.list_(pa.string())),
        ("size", pa.map_(pa.string(), pa.int16())),
        ("box", pa.struct([("x", pa.float32()), ("seen", pa.timestamp("us", "UTC"))])),
        ("point", pa.list_(pa.float64(), 3)),
        ("corners", pa.list_(pa.struct([("x", pa.int8())]), 2)),
        ("flag", pa.bool_()),
        ("day", pa.date32()),
        ("none", pa.null()),
    ]
)


def row(i):
    seen = EPOCH + timedelta(microseconds=i)
    return {
        "id": i,
        "image": None if i % 11 == 0 else i.to_bytes(4, "little") * (ROW_BYTES // 4),
        "tag": None if i % 7 == 0 else f"t{i % 5}",
        "price": Decimal(i) / 4,
        "words": None if i % 3 == 0 else [str(i)] * (i % 4),
        "size": [("w", i), ("h", None)][: i % 3],
        "box": None if i % 5 == 0 else {"x": i / 2, "seen": seen},
        "point": [i, None, -i],
        "corners": [{"x": i % 100}, None],
        "flag": i % 2 == 0,
        "day": None if i % 2 == 0 else seen.date(),
        "none": None,
    }


def batches(ids):
    for i in range(0, len(ids), 8):
        yield pa.RecordBatch.from_pylist([row(k) for k in ids[i : i + 8]], schema=SCHEMA)


def peak_grown(call):
    """How many bytes the process takes during a call, at the most, beyond those that it has."""

    def status(name):
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))

    pa.default_memory_pool().release_unused()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = status("VmRSS")
    call()
    return status("VmHWM") - before


@pytest.fixture
def table(tmp_path):
    ids = range(0, 40, 2)
    table = leman.create(
        tmp_path / "t", batches(ids), schema=SCHEMA, primary_key="id", data_storage_version="2.2"
    )
    table.add_columns({"own": "id * 10"})
    return table


def check(table, expected):
    for batch in table.scan(batch_size=16):
        for found in batch.to_pylist():
            assert found == expected.pop(found["id"])
    assert not expected
    files = [path for path in Path(table.path, "data").iterdir() if path.suffix != ".lance"]
    assert not files


def test_upsert(table):
    ids = list(range(0, COUNT * 3, 3))[::-1]
    given = pa.RecordBatchReader.from_batches(SCHEMA, batches(ids))
    grown = peak_grown(lambda: table.upsert(given))
    assert grown < 1300 * MIB < COUNT * ROW_BYTES
    had = {i: i * 10 for i in range(0, 40, 2)}
    check(table, {i: {**row(i), "own": had.get(i)} for i in {*had, *ids}})


def test_join(table):
    ids = range(0, COUNT)
    table.drop_columns([name for name in SCHEMA.names if name != "id"])
    given = pa.RecordBatchReader.from_batches(SCHEMA, batches(ids))
    grown = peak_grown(lambda: table.add_columns(given, on="id"))
    assert grown < 1300 * MIB < COUNT * ROW_BYTES
    check(table, {i: {**row(i), "own": i * 10} for i in range(0, 40, 2)})
