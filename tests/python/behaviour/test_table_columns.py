# SPDX-License-Identifier: Apache-2.0
"""Columns that are added, dropped, renamed and widened."""

from typing import NamedTuple

import lance
import leman
import pyarrow as pa
import pytest


@pytest.fixture
def table(tmp_path):
    rows = {
        "id": pa.array(range(6), pa.int32()),
        "text": ["a", "b", None, "d", "e", "f"],
        "info": [{"w": i, "h": 2} for i in range(6)],
    }
    table = leman.create(tmp_path / "t.lance", rows, max_rows_per_fragment=4)
    table.delete("id = 1")
    return table


def column(table, name):
    """The values, which pylance sees as well."""
    values = table.to_arrow()[name].to_pylist()
    assert lance.dataset(table.path).to_table()[name].to_pylist() == values
    return values


def test_add__expressions(table):
    table.add_columns({"twice": "id * 2", "area": "info.w * info.h"})
    assert column(table, "twice") == [0, 4, 6, 8, 10]
    assert column(table, "area") == [0, 4, 6, 8, 10]
    assert table.version == 3


def test_add__a_column_twice(table):
    twice = pa.table([pa.array([1]), pa.array([2]), pa.array([3])], names=["id", "z", "z"])
    with pytest.raises(leman.InvalidError, match='column "z" is there twice'):
        table.add_columns(twice, on="id")
    assert table.version == 2


@pytest.mark.parametrize(
    "columns",
    [
        pa.schema([("x", pa.float32()), ("y", pa.list_(pa.int8()))]),
        [pa.field("x", pa.float32()), pa.field("y", pa.list_(pa.int8()))],
    ],
)
def test_add__nulls(table, columns):
    files = table.info()["num_files"]
    table.add_columns(columns)
    assert table.schema.field("y").type == pa.list_(pa.int8())
    assert column(table, "x") == [None] * 5
    assert table.info()["num_files"] == files
    table.append({"id": [9], "x": [0.5], "y": [[1]]})
    assert column(table, "x") == [None] * 5 + [0.5]


def test_add__one_field_of_nulls(table):
    table.add_columns(pa.field("x", pa.string()))
    assert column(table, "x") == [None] * 5


def test_add__data_by_position(table):
    table.add_columns({"x": [10, 20, 30, 40, 50]})
    assert column(table, "x") == [10, 20, 30, 40, 50]
    with pytest.raises(leman.InvalidError):
        table.add_columns({"y": [1, 2]})


def test_add__data_by_key(table):
    table.add_columns(pa.table({"id": pa.array([5, 0, 77], pa.int32()), "x": [50, 0, 7]}), on="id")
    assert column(table, "x") == [0, None, None, None, 50]


def test_add__what_is_wrong_changes_nothing(table):
    with pytest.raises(leman.ExistsError, match="text"):
        table.add_columns({"text": "id"})
    with pytest.raises(leman.ExistsError, match="text"):
        table.add_columns(pa.schema([("text", pa.int8())]))
    with pytest.raises(leman.LemanError, match="nope"):
        table.add_columns({"x": "nope + 1"})
    with pytest.raises(leman.InvalidError):
        table.add_columns(pa.field("x", pa.int8(), nullable=False))
    assert table.version == 2


def test_drop(table):
    table.drop_columns(["text", "info.h"])
    assert table.schema.names == ["id", "info"]
    assert column(table, "info") == [{"w": i} for i in (0, 2, 3, 4, 5)]
    table.drop_columns("info")
    assert table.schema.names == ["id"]
    with pytest.raises(leman.LemanError):
        table.drop_columns(["id"])
    with pytest.raises(leman.NotFoundError, match="text"):
        table.drop_columns(["text"])


def test_drop_and_add_again(table):
    table.drop_columns(["text"])
    table.add_columns({"text": "id + 1"})
    assert column(table, "text") == [1, 3, 4, 5, 6]
    assert table.scan(["text"], version=2).to_arrow()["text"].to_pylist()[0] == "a"


def test_rename(table):
    table.rename_column("text", "caption")
    table.rename_column("info.w", "width")
    assert column(table, "caption") == ["a", None, "d", "e", "f"]
    assert column(table, "info")[0] == {"width": 0, "h": 2}
    with pytest.raises(leman.ExistsError):
        table.rename_column("caption", "id")


def test_alter(table):
    table.alter_columns(
        {"path": "id", "data_type": pa.int64()}, {"path": "text", "rename": "caption"}
    )
    assert table.schema.field("id").type == pa.int64()
    assert column(table, "id") == [0, 2, 3, 4, 5]
    table.append({"id": [2**40]})
    assert column(table, "caption")[-1] is None
    with pytest.raises(leman.InvalidError):
        table.alter_columns({"path": "id", "data_type": pa.int8()})


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        (pa.string(), "a"),
        (pa.list_(pa.float32(), 2), [0.5, 1.0]),
        (pa.dictionary(pa.int8(), pa.string()), "b"),
        (pa.struct([("a", pa.list_(pa.int8())), pa.field("b", pa.int8(), nullable=False)]), None),
    ],
)
def test_alter__nulls_become_any_type(tmp_path, kind, value):
    value = value or {"a": [1], "b": 2}
    pair = pa.struct([("x", pa.int8()), ("y", pa.null()), ("z", pa.int8())])
    rows = {
        "top": pa.nulls(3),
        "items": pa.array([[None], None, []], pa.list_(pa.null())),
        "pair": pa.array([{"x": 1, "y": None, "z": 2}, None, {"x": 3}], pair),
        "last": [1, 2, 3],
    }
    table = leman.create(tmp_path / "t", rows, max_rows_per_fragment=2)
    before = table.to_arrow().to_pylist()
    table.delete("last = 1")
    for path in ("top", "items.item", "pair.y"):
        table.alter_columns({"path": path, "data_type": kind})
    more = {"top": value, "items": [None, value], "pair": {"x": 4, "y": value, "z": 5}, "last": 4}
    table.append([more])
    assert table.schema.field("top").type == kind
    for _ in range(2):
        for name in rows:
            assert column(table, name) == [before[1][name], before[2][name], more[name]]
        lance.dataset(table.path).optimize.compact_files()
        table.refresh()
    with pytest.raises(leman.InvalidError, match="null does not hold every value"):
        table.alter_columns({"path": "last", "data_type": pa.null()})


def test_alter__nulls_of_an_old_version(tmp_path):
    rows = pa.table({"id": [1, 2], "n": pa.nulls(2)})
    lance.write_dataset(rows, str(tmp_path / "t"), data_storage_version="2.0")
    table = leman.open(tmp_path / "t")
    with pytest.raises(leman.UnsupportedError, match='column "n" would have a null struct'):
        table.alter_columns({"path": "n", "data_type": pa.struct([("x", pa.int8())])})
    table.alter_columns({"path": "n", "data_type": pa.int8()})
    assert column(table, "n") == [None, None]


@pytest.mark.parametrize(
    "alteration",
    [{}, {"path": "id"}, {"rename": "x"}, {"path": "id", "nullable": 1, "rename": "x"}],
)
def test_alter__wrong_calls(table, alteration):
    with pytest.raises(ValueError, match="path"):
        table.alter_columns(alteration)
    assert table.version == 2


def test_row_ids_stay(table):
    before = table.scan(["id"], with_row_id=True).to_pylist()
    table.add_columns({"x": "id + 1"})
    table.alter_columns({"path": "text", "rename": "caption"})
    table.drop_columns(["info"])
    assert table.scan(["id"], with_row_id=True).to_pylist() == before


@leman.udf
def twice(id: int) -> int:
    return 2 * id


class Ends(NamedTuple):
    low: int
    high: int


@leman.udf
def ends(id: int) -> leman.Columns[Ends]:
    return Ends(id, id + 1)


def test_drop__what_functions_need_is_refused(tmp_path):
    table = leman.create(tmp_path / "t", {"id": [1, 2], "x": [1, 2]})
    table.add_columns({"n": (twice, ["x"]), "m": (twice, ["n"])})
    table.add_columns(ends)
    version = table.version
    for name, need in (("x", "n"), ("n", "m"), ("low", "high")):
        with pytest.raises(leman.InvalidError, match=f'"{name}" .* function of "{need}"'):
            table.drop_columns([name])
    assert table.version == version
    table.drop_columns(["m"])
    table.drop_columns(["low", "high"])
    table.drop_columns(["x", "n"])
    assert table.schema.names == ["id"]


@pytest.mark.parametrize(
    "rows",
    [
        {"id": [3, 1], "x": ["c", "a"]},
        pa.table({"id": pa.array([3, 1], pa.int64()), "x": ["c", "a"]}),
        iter([[{"id": 3, "x": "c"}], [{"id": 1, "x": "a"}]]),
    ],
    ids=["dict", "arrow", "iterator"],
)
def test_add_columns__keys_take_the_type_of_the_table(tmp_path, rows):
    table = leman.create(tmp_path / "t.lance", {"id": pa.array([1, 2, 3], pa.int32())})
    table.add_columns(rows, on="id")
    assert table.to_arrow()["x"].to_pylist() == ["a", None, "c"]
    with pytest.raises(leman.InvalidError, match='column "id": Value 1099511627776 too large'):
        table.add_columns({"id": [1 << 40], "y": [1]}, on="id")
