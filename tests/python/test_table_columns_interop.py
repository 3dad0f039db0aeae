# SPDX-License-Identifier: Apache-2.0
"""Columns that come, go and change: pylance reads and goes on with what Leman leaves, and back."""

import random

import lance
import leman
import pyarrow as pa
import pytest

ROWS = 100
DELETED = "id % 10 = 3 or id in (30, 31, 32, 34, 35)"
VERSIONS = [("2.1", False), ("2.1", True), ("2.2", False), ("2.2", True)]


def data():
    index = range(ROWS)
    columns = {
        "id": pa.array(index, pa.int32()),
        "text": pa.array([None if i % 5 == 0 else f"s{i % 7}" for i in index]),
        "info": pa.array([None if i % 3 == 0 else {"w": i, "h": -i} for i in index]),
        "vector": pa.array(
            [None if i % 4 == 0 else [i, i + 0.5] for i in index], pa.list_(pa.float32(), 2)
        ),
        "list": pa.array([[i] * (i % 3) for i in index]),
        "small": pa.array(index, pa.uint8()),
        "time": pa.array([i if i % 2 else None for i in index], pa.timestamp("s")),
        "full": pa.array(index, pa.int8()),
    }
    table = pa.table(columns)
    field = pa.field("full", pa.int8(), nullable=False, metadata={"k": "v"})
    return table.cast(table.schema.set(table.schema.names.index("full"), field))


@pytest.fixture(params=VERSIONS, ids=lambda p: f"{p[0]}-{'stable' if p[1] else 'addresses'}")
def path(request, tmp_path):
    """A table of four fragments with deleted rows and two indices."""
    version, stable = request.param
    path = str(tmp_path / "t")
    theirs = lance.write_dataset(
        data(),
        path,
        max_rows_per_file=30,
        data_storage_version=version,
        enable_stable_row_ids=stable,
    )
    theirs.delete(DELETED)
    theirs.create_scalar_index("id", "BTREE")
    theirs.create_scalar_index("text", "BITMAP")
    return path


def both(path):
    """The rows, which both sides read alike."""
    ours, theirs = leman.open(path), lance.dataset(path)
    mine, other = ours.to_arrow(), theirs.to_table()
    assert mine.schema.equals(other.schema, check_metadata=True)
    assert mine.to_pylist() == other.to_pylist()
    positions = list(range(0, mine.num_rows, 7))
    assert ours.take(positions).to_pylist() == theirs.take(positions).to_pylist()
    theirs.validate()
    return mine


def indices(path):
    return sorted(index.name for index in lance.dataset(path).describe_indices())


def go_on(path):
    """pylance changes the table further, in every way."""
    lance.dataset(path).add_columns({"theirs": "id + 1"})
    both(path)
    lance.dataset(path).delete("id = 50")
    both(path)
    lance.dataset(path).alter_columns({"path": "small", "data_type": pa.int64()})
    both(path)
    lance.dataset(path).alter_columns({"path": "theirs", "name": "renamed"})
    both(path)
    lance.dataset(path).update({"text": "'changed'"}, where="id = 60")
    count = both(path).num_rows
    lance.dataset(path).insert(lance.dataset(path).to_table().slice(0, 5))
    both(path)
    lance.dataset(path).optimize.compact_files()
    assert both(path).num_rows == count + 5
    lance.dataset(path).drop_columns(["renamed"])
    both(path)


def test_computed(path):
    leman.open(path).add_columns(
        {
            "twice": "id * 2",
            "upper": "upper(text)",
            "inverse": "100 / (id - 3)",  # row 3 is deleted
            "width": "info.w + 1",
            "one": "1",
        }
    )
    for row in both(path).to_pylist():
        assert row["twice"] == row["id"] * 2
        assert row["upper"] == (row["text"] and row["text"].upper())
        assert row["width"] == (row["info"] and row["info"]["w"] + 1)
        assert row["one"] == 1
    assert indices(path) == ["id_idx", "text_idx"]
    assert "ScalarIndex" in lance.dataset(path).scanner(filter="id = 7").explain_plan()
    assert lance.dataset(path).to_table(filter="id = 7")["twice"].to_pylist() == [14]
    go_on(path)


def test_nulls(path):
    schema = pa.schema(
        [("a", pa.string()), ("b", pa.struct([("x", pa.int32()), ("y", pa.list_(pa.int8()))]))]
    )
    leman.open(path).add_columns(schema)
    assert set(both(path)["a"].to_pylist()) == {None}
    lance.dataset(path).update({"a": "'now'"}, where="id = 7")
    assert both(path)["a"].to_pylist().count("now") == 1
    go_on(path)


def test_joined_by_key(path):
    keys = list(range(0, ROWS, 2))
    random.Random(1).shuffle(keys)
    joined = pa.table(
        {
            "word": [f"k{i}" for i in keys],
            "id": pa.array(keys, pa.int32()),
            "choice": pa.array([f"d{i % 3}" for i in keys]).dictionary_encode(),
            "items": [[i, i] for i in keys],
            "view": pa.array([f"longer than a view holds: {i}" for i in keys], pa.string_view()),
            "pair": [{"p": i, "q": str(i)} for i in keys],
        }
    )
    expected = {row["id"]: row for row in joined.to_pylist()}
    leman.open(path).add_columns(joined.to_reader(7), on="id")
    for row in both(path).to_pylist():
        match = expected.get(row["id"], dict.fromkeys(joined.schema.names))
        for name in ("word", "choice", "items", "view", "pair"):
            assert row[name] == match[name]
    go_on(path)


def test_joined_by_position(path):
    count = lance.dataset(path).count_rows()
    text = pa.array([f"p{i}" for i in range(count)], pa.string_view())
    leman.open(path).add_columns(pa.table({"at": range(count), "view": text}).to_reader(11))
    assert both(path)["at"].to_pylist() == list(range(count))
    for wrong in (count - 1, count + 1):
        with pytest.raises(leman.InvalidError, match="fewer than"):
            leman.open(path).add_columns(pa.table({"other": range(wrong)}))
    go_on(path)


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("id", pa.int64()),
        ("id", pa.float64()),
        ("vector", pa.list_(pa.float64(), 2)),
        ("small", pa.int16()),
        ("text", pa.large_string()),
        ("time", pa.timestamp("us")),
        ("full", pa.float32()),
    ],
)
def test_widened(path, column, kind):
    before = leman.open(path).to_arrow()
    leman.open(path).alter_columns({"path": column, "data_type": kind})
    after = both(path)
    assert after[column].to_pylist() == before[column].to_pylist()
    was, field = before.schema.field(column), after.schema.field(column)
    assert field.type == kind
    assert (field.nullable, field.metadata) == (was.nullable, was.metadata)
    assert after.schema.names == before.schema.names
    assert f"{column}_idx" not in indices(path)
    if column != "small":
        go_on(path)


@pytest.mark.parametrize(
    ("column", "kind", "error"),
    [
        ("id", pa.int16(), leman.InvalidError),
        ("id", pa.float32(), leman.InvalidError),
        ("id", pa.int32(), leman.InvalidError),
        ("vector", pa.list_(pa.float64(), 3), leman.InvalidError),
        ("list", pa.int64(), leman.InvalidError),
        ("text", pa.int64(), leman.InvalidError),
        ("nothing", pa.int64(), leman.NotFoundError),
        ("info.w", pa.float64(), leman.InvalidError),
        ("list.item", pa.int8(), leman.InvalidError),
        ("list", pa.large_list(pa.int64()), leman.InvalidError),
        ("info", pa.struct([("other", pa.int64())]), leman.InvalidError),
    ],
)
def test_not_widened(path, column, kind, error):
    version = leman.open(path).version
    with pytest.raises(error):
        leman.open(path).alter_columns({"path": column, "data_type": kind})
    assert lance.dataset(path).version == version


def nested():
    index = range(ROWS)
    deep = pa.struct(
        [
            pa.field("text", pa.string()),
            pa.field("full", pa.int8(), nullable=False, metadata={"k": "v"}),
            pa.field("vector", pa.list_(pa.float32(), 2)),
        ]
    )
    kind = pa.struct([("w", pa.int16()), ("deep", deep), ("list", pa.list_(pa.int32()))])
    values = [
        None
        if i % 7 == 0
        else {
            "w": None if i % 3 == 0 else -i,
            "deep": None if i % 5 == 0 else {"text": f"s{i % 4}", "full": i, "vector": [i, -i]},
            "list": [i] * (i % 3),
        }
        for i in index
    ]
    box = pa.struct([("x", pa.int16()), ("tags", pa.list_(pa.string()))])
    boxes = [
        None
        if i % 6 == 0
        else [None if k == 1 else {"x": i + k, "tags": [f"t{k}"] * k} for k in range(i % 4)]
        for i in index
    ]
    return pa.table(
        {
            "id": index,
            "info": pa.array(values, kind),
            "boxes": pa.array(boxes, pa.list_(box)),
            "deep": pa.array(
                [[[i, None], None] for i in index], pa.large_list(pa.list_(pa.int8()))
            ),
        }
    )


def field_at(schema, path):
    """Fields of a list's items go by their names alone."""
    names = path.split(".")
    field = schema.field(names[0])
    for name in names[1:]:
        is_list = pa.types.is_list(field.type) or pa.types.is_large_list(field.type)
        if is_list and name != "item":
            field = field.type.value_field
        field = field.type.value_field if is_list and name == "item" else field.type.field(name)
    return field


WIDE_BOX = pa.struct([("x", pa.float32()), ("tags", pa.list_(pa.large_string()))])


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        ("info.w", pa.int64()),
        ("info.deep.full", pa.float32()),
        ("info.deep.text", pa.large_string()),
        ("info.deep.vector", pa.list_(pa.float64(), 2)),
        ("info.list", pa.list_(pa.int64())),
        ("info.list.item", pa.float64()),
        ("boxes", pa.list_(WIDE_BOX)),
        ("boxes.x", pa.int64()),
        ("boxes.tags.item", pa.large_string()),
        ("deep", pa.large_list(pa.list_(pa.int32()))),
    ],
)
def test_field_of_a_nested_column_is_widened(tmp_path, column, kind):
    path = str(tmp_path / "t")
    rows = nested()
    table = leman.create(path, rows, max_rows_per_fragment=30)
    table.delete(DELETED)
    before = table.to_arrow()
    table.alter_columns({"path": column, "data_type": kind})
    after = both(path)
    assert after.to_pylist() == before.to_pylist()
    was, field = field_at(before.schema, column), field_at(after.schema, column)
    assert field.type == kind
    assert (field.nullable, field.metadata) == (was.nullable, was.metadata)
    table.append(rows)
    table.update("id = 1", {"id": "1000"})
    table.compact()
    both(path)
    lance.dataset(path).delete("id = 2")
    assert leman.open(path).count_rows() == lance.dataset(path).count_rows()
    assert not leman.open(path).verify().findings


def test_map_is_widened(tmp_path):
    path = str(tmp_path / "t")
    values = [None, [], [("a", 1), ("b", None)], [("c", 3)]]
    rows = pa.table({"m": pa.array(values, pa.map_(pa.string(), pa.int16()))})
    table = leman.create(path, rows, data_storage_version="2.2")
    table.alter_columns({"path": "m", "data_type": pa.map_(pa.large_string(), pa.int64())})
    assert table.to_arrow()["m"].to_pylist() == values
    assert both(path).schema.field("m").type == pa.map_(pa.large_string(), pa.int64())


def test_renamed_and_dropped(path):
    table = leman.open(path)
    table.rename_column("info.w", "width")
    table.rename_column("text", "TEXT")
    rows = both(path)
    assert rows.schema.field("info").type.field(0).name == "width"
    assert indices(path) == ["id_idx", "text_idx"]
    table.drop_columns(["info.width", "TEXT", "list"])
    rows = both(path)
    assert rows.schema.names == ["id", "info", "vector", "small", "time", "full"]
    assert indices(path) == ["id_idx"]
    table.add_columns({"text": "'again'"})
    assert set(both(path)["text"].to_pylist()) == {"again"}
    go_on(path)


def test_what_pylance_makes(path):
    theirs = lance.dataset(path)
    theirs.add_columns({"a": "id * 3", "b": "text"})
    theirs = lance.dataset(path)
    theirs.alter_columns({"path": "a", "data_type": pa.int64()}, {"path": "b", "name": "c"})
    both(path)
    table = leman.open(path)
    table.add_columns({"d": "a + 1"})
    table.alter_columns({"path": "id", "data_type": pa.int64()})
    assert [row["d"] for row in both(path).to_pylist()] == [
        row["id"] * 3 + 1 for row in both(path).to_pylist()
    ]
    lance.dataset(path).drop_columns(["a", "info"])
    both(path)
    leman.open(path).drop_columns("d")
    both(path)
