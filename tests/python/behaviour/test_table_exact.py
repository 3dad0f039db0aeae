# SPDX-License-Identifier: Apache-2.0
"""Lists and dicts of Python: what a column has no place for is refused, and changes nothing."""

import datetime
from decimal import Decimal

import leman
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

DAY = datetime.datetime(2020, 1, 1)
SCHEMA = pa.schema(
    {
        "k": pa.int64(),
        "i": pa.int64(),
        "u": pa.uint8(),
        "f": pa.float32(),
        "h": pa.float16(),
        "day": pa.date32(),
        "ms": pa.date64(),
        "at": pa.timestamp("s"),
        "us": pa.timestamp("us"),
        "time": pa.time32("s"),
        "took": pa.duration("s"),
        "price": pa.decimal128(5, 2),
        "flag": pa.bool_(),
        "text": pa.string(),
        "pair": pa.struct({"x": pa.int64(), "y": pa.string()}),
        "list": pa.list_(pa.int64()),
        "vector": pa.list_(pa.float32(), 2),
        "deep": pa.list_(pa.struct({"l": pa.list_(pa.int32())})),
        "map": pa.map_(pa.string(), pa.int64()),
    }
)
BAD = [
    ("i", 1.5, "1.5"),
    ("i", Decimal("1.5"), "1.5"),
    ("i", np.float32(1.5), "1.5"),
    ("i", float("nan"), "nan"),
    ("i", "3", "'3'"),
    ("u", -1, "negative"),
    ("u", 1.5, "1.5"),
    ("f", 1e300, "1e+300"),
    ("h", 1e6, "1000000.0"),
    ("day", datetime.datetime(2020, 1, 1, 5), "2020, 1, 1, 5"),
    ("ms", datetime.datetime(2020, 1, 1, 5), "2020, 1, 1, 5"),
    ("at", datetime.datetime(2020, 1, 1, 0, 0, 0, 5), "0, 5)"),
    ("at", 1.5, "1.5"),
    ("us", pd.Timestamp(5), "005"),
    ("time", datetime.time(1, 2, 3, 4), "1, 2, 3, 4"),
    ("took", datetime.timedelta(microseconds=5), "microseconds=5"),
    ("price", Decimal("1.234"), "Decimal"),
    ("flag", 2, "2"),
    ("text", b"\xff", "xff"),
    ("pair", {"x": 1.5}, "1.5"),
    ("pair", {"z": 1}, "'z'"),
    ("list", [1, 1.5], "1.5"),
    ("list", np.array([1.5]), "1.5"),
    ("vector", [1.0, 1e300], "1e+300"),
    ("deep", [{"l": [1]}, {"l": [0.5]}], "0.5"),
    ("deep", [{"m": []}], "'m'"),
    ("map", {"a": 1.5}, "1.5"),
    ("map", [("a", 1.5)], "1.5"),
]
GOOD = [
    ("i", 1.0, 1),
    ("i", Decimal(3), 3),
    ("i", np.int8(3), 3),
    ("u", 255, 255),
    ("f", 3, 3.0),
    ("f", float("inf"), float("inf")),
    ("h", 0.5, 0.5),
    ("day", DAY, DAY.date()),
    ("day", DAY.date(), DAY.date()),
    ("at", DAY, DAY),
    ("at", pd.Timestamp(DAY), DAY),
    ("time", datetime.time(1, 2, 3), datetime.time(1, 2, 3)),
    ("took", datetime.timedelta(seconds=5), datetime.timedelta(seconds=5)),
    ("price", 1, Decimal("1.00")),
    ("text", "é", "é"),
    ("pair", {"x": 1.0}, {"x": 1, "y": None}),
    ("pair", {}, {"x": None, "y": None}),
    ("list", [], []),
    ("list", [1.0, None], [1, None]),
    ("list", np.array([1.0, 2.0]), [1, 2]),
    ("list", np.array([1, 2], np.int8), [1, 2]),
    ("vector", np.array([1.0, 2.0]), [1.0, 2.0]),
    ("deep", [{"l": [1]}, None, {"l": None}], [{"l": [1]}, None, {"l": None}]),
    ("map", {"a": 1}, [("a", 1)]),
]


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return leman.create(
        tmp_path_factory.mktemp("exact") / "t", schema=SCHEMA, data_storage_version="2.2"
    )


@pytest.mark.parametrize("name, value, part", BAD, ids=str)
def test_what_does_not_fit_is_refused(table, name, value, part):
    before = table.version
    for write in (
        lambda: table.append({"k": [1, 2], name: [None, value]}),
        lambda: table.append([{"k": 1}, {"k": 2, name: value}]),
        lambda: table.append(iter([{"k": 1, name: value}])),
        lambda: table.upsert([{"k": 1, name: value}], on="k"),
        lambda: table.insert({"k": [1], name: [value]}, on="k"),
        lambda: leman.create(
            table.path + "2", {name: [value]}, schema=SCHEMA, data_storage_version="2.2"
        ),
    ):
        with pytest.raises(leman.LemanError) as caught:
            write()
        assert f'column "{name}"' in str(caught.value)
        assert part in str(caught.value)
    assert leman.open(table.path).version == before


@pytest.mark.parametrize("name, value, stored", GOOD, ids=str)
def test_what_loses_nothing_is_taken(table, name, value, stored):
    table.append({name: [value, None]})
    assert table.to_arrow()[name].to_pylist()[-2:] == [stored, None]


def test_rows_behind_the_first_batch_are_not_cut(tmp_path):
    rows = ({"n": 1 if i < 2000 else 1.5} for i in range(2001))
    with pytest.raises(leman.InvalidError, match=r'column "n".*1\.5'):
        leman.create(tmp_path / "t", rows)


def test_a_column_of_nulls_has_no_place_for_values(tmp_path):
    table = leman.create(tmp_path / "t", {"n": [None, None]})
    table.append({"n": [pa.scalar(None)]})
    with pytest.raises(leman.InvalidError, match='column "n".*type null'):
        table.append({"n": [None, "x"]})
    assert len(table) == 3


def test_days_and_moments_are_not_mixed(tmp_path):
    with pytest.raises(leman.InvalidError, match=r'column "d".*5, 0'):
        leman.create(tmp_path / "t", {"d": [DAY.date(), datetime.datetime(2020, 1, 1, 5)]})


def test_arrow_numbers_beyond_a_float_are_refused(table):
    for data in (pa.table({"f": [1e300]}), {"f": np.array([1e300])}):
        with pytest.raises(leman.InvalidError, match=r'column "f".*1e\+300'):
            table.append(data)
