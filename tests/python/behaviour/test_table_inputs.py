# SPDX-License-Identifier: Apache-2.0
"""Rows of other libraries: pandas, polars, and Arrow's views of strings and binaries."""

import datetime
from decimal import Decimal

import duckdb
import lance
import leman
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

LONG = "a text of more than the twelve bytes that a view holds itself"
COLUMNS = {
    "id": [1, 2, 3],
    "s": ["a", None, LONG],
    "f": [0.5, None, 2.0],
    "t": [datetime.datetime(2024, 1, 2, 3, 4), None, datetime.datetime(2024, 1, 3)],
    "l": [[1, 2], None, []],
    "b": [b"1", None, LONG.encode()],
}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]


def pandas_frame():
    return pd.DataFrame(COLUMNS, index=[7, 8, 9])


def polars_frame():
    return pl.DataFrame(COLUMNS)


def view_table():
    columns = {**COLUMNS, "s": pa.array(COLUMNS["s"], pa.string_view())}
    return pa.table({**columns, "b": pa.array(COLUMNS["b"], pa.binary_view())})


FRAMES = (pandas_frame, polars_frame, view_table)


def rows_of(table):
    return pa.table(table.scan()).to_pylist()


@pytest.mark.parametrize("frame", FRAMES)
def test_create__of_a_frame(tmp_path, frame):
    table = leman.create(tmp_path / "t", frame())
    assert table.schema.names == list(COLUMNS)
    assert rows_of(table) == ROWS
    leman.open(table.path).verify()


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("base", FRAMES)
def test_append__of_a_frame_to_a_table_of_another(tmp_path, base, frame):
    table = leman.create(tmp_path / "t", base())
    table.append(frame())
    table.append(iter([frame(), frame()]))
    assert rows_of(table) == ROWS * 4


@pytest.mark.parametrize("frame", FRAMES)
def test_upsert__of_a_frame(tmp_path, frame):
    table = leman.create(tmp_path / "t", [{**row, "s": "before"} for row in ROWS[:2]])
    result = table.upsert(frame(), on="id")
    assert (result.updated, result.inserted) == (2, 1)
    assert sorted(rows_of(table), key=lambda row: row["id"]) == ROWS


def test_upsert__keys_that_are_views(tmp_path):
    keys = pa.table({"k": pa.array(["x", LONG], pa.string_view()), "n": [1, 2]})
    table = leman.create(tmp_path / "t", keys)
    result = table.upsert(keys.set_column(1, "n", [[3, 4]]), on="k")
    assert (result.updated, result.inserted) == (2, 0)
    assert sorted(row["n"] for row in rows_of(table)) == [3, 4]


@pytest.mark.parametrize("kind", (pa.string_view(), pa.binary_view()))
def test_views__in_lists_and_structs_and_slices(tmp_path, kind):
    values = ["one", LONG, None, "", LONG + "!"]
    if kind == pa.binary_view():
        values = [None if value is None else value.encode() for value in values]
    flat = pa.array(values * 3, kind)
    data = pa.table(
        {
            "l": pa.ListArray.from_arrays(pa.array([0, 2, 2, 7, 15]), flat),
            "s": pa.StructArray.from_arrays([flat[:4]], ["v"]),
            "v": flat[5:9],
        }
    )
    table = leman.create(tmp_path / "t", data.slice(1, 3))
    assert rows_of(table) == data.slice(1, 3).to_pylist()


def test_categories__are_dictionaries(tmp_path):
    frame = pandas_frame().assign(c=pd.Categorical(["x", "y", "x"]))
    table = leman.create(tmp_path / "pandas", frame)
    assert pa.types.is_dictionary(table.schema.field("c").type)
    frame = polars_frame().with_columns(c=pl.Series(["x", "y", "x"], dtype=pl.Categorical))
    table = leman.create(tmp_path / "polars", frame)
    assert [row["c"] for row in rows_of(table)] == ["x", "y", "x"]


def test_scan__is_taken_by_frames(tmp_path):
    table = leman.create(tmp_path / "t", COLUMNS)
    assert pl.DataFrame(table.scan()).rows(named=True) == ROWS
    assert table.to_pandas()["id"].tolist() == [1, 2, 3]


@pytest.mark.parametrize("series", (lambda: pandas_frame()["id"], lambda: polars_frame()["id"]))
def test_append__of_a_single_column_is_refused(tmp_path, series):
    table = leman.create(tmp_path / "t", COLUMNS)
    with pytest.raises(leman.InvalidError, match="struct of columns"):
        table.append(series())
    with pytest.raises(leman.InvalidError, match="struct of columns"):
        leman.create(tmp_path / "u", series())
    assert table.version == 1


def test_append__of_a_lazy_frame_says_what_can_be_given(tmp_path):
    with pytest.raises(TypeError, match="LazyFrame"):
        leman.create(tmp_path / "t", polars_frame().lazy())


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_blobs__are_given_as_bytes(tmp_path, version):
    blob = pa.field("data", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([("id", pa.int64()), blob])
    path = tmp_path / "t.lance"
    table = leman.create(path, schema=schema, primary_key="id", data_storage_version=version)
    for number, data in enumerate(
        (
            {"id": [0], "data": [b"0"]},
            [{"id": 1, "data": b"1"}],
            iter([{"id": 2, "data": b"2"}]),
            pa.table({"id": [3], "data": pa.array([b"3"], pa.binary())}),
            iter([pa.record_batch({"id": [4], "data": pa.array([b"4"], pa.large_binary())})]),
        )
    ):
        table.append(data)
        assert len(table) == number + 1
    table.append([{"id": 5, "data": None}])
    table.upsert([{"id": 1, "data": b"one"}])
    table.append_from([lambda: iter([{"id": 6, "data": b"6"}])])
    found = {row["id"]: row["data"] for row in table.scan(blobs="bytes").to_pylist()}
    assert found == {0: b"0", 1: b"one", 2: b"2", 3: b"3", 4: b"4", 5: None, 6: b"6"}


def test_categories__may_be_ordered(tmp_path):
    sizes = pd.Categorical(["m", None, "s"], categories=["s", "m", "l"], ordered=True)
    table = leman.create(tmp_path / "t", pd.DataFrame({"c": sizes}))
    table.append(pl.DataFrame({"c": pl.Series(["l"], dtype=pl.Enum(["s", "m", "l"]))}))
    assert [row["c"] for row in rows_of(table)] == ["m", None, "s", "l"]
    assert lance.dataset(table.path).to_table().to_pylist() == rows_of(table)


def test_decimals__of_duckdb(tmp_path):
    one = "select 1 as id, 1.5::decimal(10, 2) as d, [0.5] as l"
    table = leman.create(tmp_path / "t", duckdb.sql(one))
    table.append(duckdb.sql(one.replace("1 as id", "2 as id")))
    table.upsert(duckdb.sql(one.replace("1.5", "7.25")), on="id")
    assert table.count_rows("d = 7.25") == 1
    assert table.to_arrow().sort_by("id")["d"].to_pylist() == [Decimal("7.25"), Decimal("1.50")]


def test_json__is_text(tmp_path):
    kind = pa.struct([("j", pa.json_())])
    rows = [{"j": '{"a": 1}', "l": ["2"], "s": {"j": "[3]"}}]
    schema = pa.schema([("j", pa.json_()), ("l", pa.list_(pa.json_())), ("s", kind)])
    table = leman.create(tmp_path / "t", rows, schema)
    table.append(pa.table({"j": pa.array(["4"], pa.json_())}))
    assert table.schema.field("j").type == pa.string()
    assert rows_of(table)[0] == rows[0]
    assert lance.dataset(table.path).to_table().to_pylist() == rows_of(table)


def test_exist_ok__knows_the_schema_that_a_table_was_made_of(tmp_path):
    db = leman.connect(tmp_path)
    schema = pa.schema(
        [
            ("view", pa.string_view()),
            ("json", pa.list_(pa.json_())),
            ("bytes", pa.struct([("b", pa.binary_view())])),
            ("order", pa.dictionary(pa.int8(), pa.string(), ordered=True)),
        ]
    )
    for _ in range(2):
        table = db.create_table("t", schema=schema, exist_ok=True)
    assert table.versions()[-1]["version"] == 1
    with pytest.raises(leman.InvalidError, match='"view" is string, not large_string'):
        db.create_table("t", schema={"view": pa.large_string()}, exist_ok=True)


@pytest.mark.parametrize("data", [[{}, {}], iter([{}])])
def test_append__of_rows_without_columns_is_refused(tmp_path, data):
    table = leman.create(tmp_path / "t", COLUMNS)
    with pytest.raises(leman.InvalidError, match="the rows have no columns"):
        table.append(data)
