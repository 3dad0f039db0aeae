# SPDX-License-Identifier: Apache-2.0
"""Filters, and rows that are deleted and updated."""

import datetime
import decimal

import leman
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

PLACE = pa.struct([("x", pa.int8()), ("name", pa.string()), ("tags", pa.list_(pa.string()))])


@pytest.fixture
def db(tmp_path):
    return leman.connect(tmp_path / "db")


@pytest.fixture
def table(db):
    rows = {
        "id": range(10),
        "label": ["cat", "dog", None, "cat", "it's", "dog", None, "cat", "x", "y"],
        "score": [i / 2 for i in range(10)],
    }
    return db.create_table("t", rows, max_rows_per_fragment=4)


def ids(rows):
    return rows.to_arrow()["id"].to_pylist()


@pytest.mark.parametrize(
    "where, expected",
    [
        ("id >= 8", [8, 9]),
        ("label = 'cat'", [0, 3, 7]),
        ("label = 'it''s'", [4]),
        ("label is null", [2, 6]),
        ("label is not null and score < 1", [0, 1]),
        ("id in (1, 5, 99)", [1, 5]),
        ("label like 'c%' or id = 9", [0, 3, 7, 9]),
        ("not (id < 9)", [9]),
        ("true", list(range(10))),
        ("id > 100", []),
    ],
)
def test_where__the_same_for_scan_count_and_delete(table, where, expected):
    assert ids(table.scan(where=where)) == expected
    assert ids(table.scan(["id"], where=where, with_row_id=True)) == expected
    assert table.count_rows(where) == len(expected)
    assert table.delete(where) == len(expected)
    assert ids(table) == [i for i in range(10) if i not in expected]


def test_where__columns_that_are_not_read(table):
    assert table.scan(["score"], where="id = 3").to_arrow().to_pylist() == [{"score": 1.5}]


def test_where__limit_and_offset_count_matching_rows(table):
    assert ids(table.scan(where="id % 2 = 1", limit=2, offset=1)) == [3, 5]


def test_where__wrong_expressions_name_the_place(table):
    for call in (table.scan, table.count_rows, table.delete):
        with pytest.raises(leman.InvalidError, match="character 6"):
            call(where="id > > ")
        with pytest.raises((leman.NotFoundError, leman.InvalidError), match="nope"):
            call(where="nope = 1")
    assert table.version == 1


def test_delete__rows_are_gone_from_every_read(table):
    assert table.delete("label = 'cat'") == 3
    assert ids(table) == [1, 2, 4, 5, 6, 8, 9]
    assert len(table) == 7
    assert table.take([0, 6]).to_pylist()[1]["id"] == 9
    assert table.info()["num_deleted_rows"] == 3
    with pytest.raises(leman.NotFoundError):
        table.take_ids([0])
    assert ids(table.scan(version=1)) == list(range(10))


def test_delete__nothing_makes_no_version(table):
    assert table.delete("id = 99") == 0
    assert table.version == 1


def test_delete__all_rows_leave_an_empty_table(table):
    assert table.delete("true") == 10
    assert len(table) == 0
    table.append({"id": [1]})
    assert ids(table) == [1]


def test_delete__wants_a_filter(table):
    with pytest.raises(TypeError):
        table.delete(None)


def test_update__expressions_over_the_row(table):
    assert (
        table.update(
            "id < 3",
            updates={
                "score": "score + id + 10",
                "label": "case when label is null then 'none' else label end",
            },
        )
        == 3
    )
    rows = sorted(table.to_arrow().to_pylist(), key=lambda row: row["id"])
    assert rows[:3] == [
        {"id": 0, "label": "cat", "score": 10.0},
        {"id": 1, "label": "dog", "score": 11.5},
        {"id": 2, "label": "none", "score": 13.0},
    ]


def test_update__all_rows_without_a_filter(table):
    assert table.update(values={"label": None}) == 10
    assert table.count_rows("label is null") == 10


def test_update__nothing_makes_no_version(table):
    assert table.update("id = 99", values={"score": 1.0}) == 0
    assert table.version == 1


def test_update__row_ids_stay(table):
    before = {r["id"]: r["_rowid"] for r in table.scan(with_row_id=True).to_pylist()}
    table.update("id in (1, 9)", values={"score": -1.0})
    after = {r["id"]: r["_rowid"] for r in table.scan(with_row_id=True).to_pylist()}
    assert after == before
    assert table.take_ids([before[9]]).to_pylist()[0]["score"] == -1.0


@pytest.mark.parametrize(
    "kind, value",
    [
        (pa.int64(), -3),
        (pa.uint64(), 2**64 - 1),
        (pa.float64(), 1e300),
        (pa.float64(), float("inf")),
        (pa.float32(), np.float32(0.25)),
        (pa.bool_(), True),
        (pa.string(), "it's; drop --"),
        (pa.large_string(), ""),
        (pa.binary(), b"\0\xff"),
        (pa.date32(), datetime.date(2024, 2, 29)),
        (pa.timestamp("us"), datetime.datetime(2024, 2, 29, 12, 30, 1, 250)),
        (pa.decimal128(10, 2), decimal.Decimal("12.50")),
        (pa.decimal128(38, 3), decimal.Decimal("-12345678901234567890.123")),
        (pa.decimal128(38, 20), decimal.Decimal("0.12345678901234567891")),
        (pa.decimal256(76, 38), decimal.Decimal("1" * 38 + "." + "9" * 38)),
        (pa.int64(), None),
        (pa.binary(3), b"\0\xff\1"),
        (pa.list_(pa.int64()), [9, 9]),
        (pa.list_(pa.float32()), [1, None, 0.5]),
        (pa.list_(pa.string()), []),
        (pa.large_list(pa.string()), ["it's", None]),
        (pa.list_(pa.float32(), 3), [0.25, -1.0, 2.0]),
        (pa.list_(pa.list_(pa.int8())), [[1], None, []]),
        (pa.list_(pa.binary()), [b"\0\xff"]),
        (pa.list_(pa.float32(), 2), None),
        (pa.time64("us"), datetime.time(3, 4, 5, 6)),
        (pa.time32("s"), datetime.time(3, 4)),
        (pa.duration("us"), datetime.timedelta(days=-2, microseconds=1)),
        (pa.duration("s"), datetime.timedelta(seconds=7)),
        (PLACE, {"x": -1, "name": "it's", "tags": ["a", None]}),
        (PLACE, {"x": None, "name": None, "tags": None}),
        (pa.list_(PLACE), [{"x": 3, "name": "n", "tags": []}, None]),
        (pa.struct([("inner", PLACE)]), {"inner": {"x": 1, "name": "n", "tags": [None]}}),
    ],
)
def test_update__values_of_every_type(db, kind, value):
    table = db.create_table("t", {"id": [1, 2]}, schema={"id": pa.int64(), "v": kind})
    assert table.update("id = 2", values={"v": value}) == 1
    rows = {row["id"]: row["v"] for row in table.to_arrow().to_pylist()}
    assert rows == {1: None, 2: value}


@pytest.mark.parametrize(
    ("kind", "value", "stored"),
    [
        (pa.timestamp("us"), np.datetime64("2024-02-29T01:00", "ns"), "2024-02-29 01:00:00.000000"),
        (pa.timestamp("ns"), np.datetime64(7, "ns"), "1970-01-01 00:00:00.000000007"),
        (pa.timestamp("ns"), pd.Timestamp(7), "1970-01-01 00:00:00.000000007"),
        (pa.timestamp("s"), pd.NaT, None),
        (pa.timestamp("s"), np.datetime64("NaT"), None),
        (pa.date32(), np.datetime64("2024-02-29"), "2024-02-29"),
        (pa.duration("ns"), np.timedelta64(7, "ns"), "7"),
        (pa.list_(pa.date32()), np.array(["2024-02-29", "NaT"], "M8[D]"), None),
        (pa.binary(), memoryview(b"a"), "61"),
        (pa.int8(), pa.scalar(3), "3"),
        (PLACE, {"x": 3}, None),
    ],
)
def test_update__values_of_other_libraries(db, kind, value, stored):
    table = db.create_table("t", {"id": [1]}, schema={"id": pa.int64(), "v": kind})
    table.update(values={"v": value})
    found = table.to_arrow()["v"].chunk(0)
    if pa.types.is_list(kind):
        assert found.to_pylist() == [[datetime.date(2024, 2, 29), None]]
    elif kind == PLACE:
        assert found.to_pylist() == [{"x": 3, "name": None, "tags": None}]
    elif stored is None:
        assert found.null_count == 1
    else:
        whole = found.cast(pa.int64()) if pa.types.is_duration(kind) else found
        text = whole[0].as_py().hex() if kind == pa.binary() else whole.cast(pa.string())[0].as_py()
        assert text == stored


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (pa.timestamp("us"), np.datetime64(7, "ns"), "no value of type timestamp"),
        (pa.timestamp("us"), np.datetime64("99999-01-01"), "has no form in an expression"),
        (pa.float64(), 10**400, "a number of 401 digits"),
        (pa.decimal128(5, 2), decimal.Decimal("NaN"), "NaN is no value"),
        (pa.decimal128(38, 2), decimal.Decimal("1234567890123456.789"), "is no value of type dec"),
        (pa.decimal256(76, 2), decimal.Decimal("1" * 76 + ".5"), "has 77 digits"),
        (pa.int64(), decimal.Decimal("1234567890123456.789"), "is no value of type int64"),
        (PLACE, {"x": 1000}, "1000 is no value of type int8"),
        (PLACE, {"y": 1}, 'the struct has no field "y"'),
        (PLACE, {"x": "text"}, "no value of type int8|no conversion"),
    ],
)
def test_update__values_that_do_not_fit_are_refused(db, kind, value, message):
    table = db.create_table("t", {"id": [1]}, schema={"id": pa.int64(), "v": kind})
    with pytest.raises((leman.InvalidError, ValueError), match=message):
        table.update(values={"v": value})
    assert table.version == 1


def test_update__decimals_have_the_digits_that_are_written(db):
    schema = {"id": pa.int64(), "v": pa.decimal128(38, 3)}
    table = db.create_table("t", {"id": [1]}, schema=schema)
    number = "-12345678901234567890.123"
    for expression in (number, f"cast({number} as decimal(30, 3))"):
        table.update(values={"v": None})
        table.update(None, {"v": expression})
        assert table.to_arrow()["v"].to_pylist() == [decimal.Decimal(number)]
    with pytest.raises(leman.InvalidError, match=r"\.1239 is no value of type decimal\(38, 3\)"):
        table.update(None, {"v": "12345678901234567890.1239"})


@pytest.mark.parametrize("index", [pa.int8(), pa.uint16(), pa.int32()])
def test_update__dictionaries(db, index):
    kind = pa.dictionary(index, pa.string())
    rows = {"id": [1, 2, 3], "v": pa.array(["a", None, "b"]).cast(kind)}
    table = db.create_table("t", pa.table(rows))
    table.update("id = 2", values={"v": "c"})
    table.update("id = 1", {"v": "v || 'x'"})
    assert table.schema.field("v").type == kind
    found = {row["id"]: row["v"] for row in table.to_arrow().to_pylist()}
    assert found == {1: "ax", 2: "c", 3: "b"}
    table.update(values={"v": None})
    assert table.to_arrow()["v"].null_count == 3


def test_update__embeddings(db):
    kind = pa.list_(pa.float32(), 768)
    table = db.create_table("t", {"id": [1, 2]}, schema={"id": pa.int64(), "v": kind})
    value = np.random.default_rng(1).standard_normal(768).astype(np.float32)
    assert table.update("id = 2", values={"v": value}) == 1
    assert table.update("id = 1", values={"v": tuple(value.tolist())}) == 1
    for row in table.to_arrow()["v"]:
        assert row.as_py() == value.tolist()
    with pytest.raises(leman.InvalidError, match="list of 2 items.*lists of 768 items"):
        table.update("id = 2", values={"v": [1.0, 2.0]})
    assert table.version == 3


def test_update__lists_from_columns(db):
    schema = {
        "id": pa.int64(),
        "whole": pa.list_(pa.int64()),
        "real": pa.list_(pa.float32()),
        "pair": pa.list_(pa.float64(), 2),
    }
    rows = {"id": [1, 2], "whole": [[1, 2], [3, None]]}
    table = db.create_table("t", rows, schema=schema)
    table.update(updates={"real": "whole", "pair": "[id, 0.5]"})
    table.update("id = 2", updates={"pair": "whole"})
    assert table.to_arrow().drop_columns(["id", "whole"]).to_pylist() == [
        {"real": [1.0, 2.0], "pair": [1.0, 0.5]},
        {"real": [3.0, None], "pair": [3.0, None]},
    ]
    table.update("id = 1", updates={"whole": "make_array(1, 2, 3)"})
    with pytest.raises(leman.InvalidError, match="list of 3 items.*lists of 2 items"):
        table.update(updates={"pair": "whole"})


def test_update__fields_of_structs_are_set_with_their_column(db):
    table = db.create_table("t", {"info": [{"w": 1, "s": "a"}]})
    with pytest.raises(leman.UnsupportedError, match='"info.w" is inside of a column.*named_struc'):
        table.update(updates={"info.w": "2"})
    with pytest.raises(leman.NotFoundError, match='no column "nope"; there are: info'):
        table.update(updates={"nope": "2"})
    table.update(updates={"info": "named_struct('w', info.w + 1, 's', info.s)"})
    assert table.to_arrow()["info"].to_pylist() == [{"w": 2, "s": "a"}]


def test_update__wrong_calls(table):
    with pytest.raises(ValueError, match="nothing"):
        table.update("id = 1")
    with pytest.raises(TypeError, match="values="):
        table.update(updates={"score": 3})
    with pytest.raises(ValueError, match="score"):
        table.update(values={"score": 3}, updates={"score": "1"})
    with pytest.raises(TypeError, match="set"):
        table.update(values={"score": {1}})
    with pytest.raises((leman.InvalidError, leman.NotFoundError), match="nope"):
        table.update(updates={"nope": "1"})
    with pytest.raises(leman.InvalidError, match="label"):
        table.update(updates={"score": "label"})
    assert table.version == 1
