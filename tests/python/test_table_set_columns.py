# SPDX-License-Identifier: Apache-2.0
"""Updates that write the columns that they set, in rows that stay where they are.

Rows are wide, so that moving them costs more; pylance reads each version and goes on with it.
"""

import datetime
import decimal
import random
from pathlib import Path

import lance
import leman
import pyarrow as pa
import pytest

ROWS, FRAGMENT_ROWS = 60, 20
PLACE = pa.struct([("x", pa.int8()), ("tags", pa.list_(pa.string()))])
BIRD = pa.dictionary(pa.int8(), pa.string())


def wide_rows():
    r = random.Random(7)
    return pa.table(
        {
            "id": pa.array(range(ROWS), pa.int64()),
            "pad": pa.array([r.randbytes(100_000) for _ in range(ROWS)]),
            "n": pa.array([i if i % 7 else None for i in range(ROWS)], pa.int32()),
            "label": pa.array([None if i % 3 else f"l{i}" for i in range(ROWS)]),
            "flag": pa.array([i % 2 == 0 for i in range(ROWS)]),
            "place": pa.array(
                [{"x": i, "tags": ["a", str(i)]} if i % 5 else None for i in range(ROWS)], PLACE
            ),
            "list": pa.array([[i] * (i % 4) if i % 6 else None for i in range(ROWS)]),
            "vec": pa.array([[i, 1] for i in range(ROWS)], pa.list_(pa.float32(), 2)),
            "bird": pa.array([("owl", "kea")[i % 2] for i in range(ROWS)]).cast(BIRD),
            "price": pa.array([decimal.Decimal(i) / 4 for i in range(ROWS)], pa.decimal128(9, 2)),
            "day": pa.array([datetime.date(2020, 1, 1 + i % 28) for i in range(ROWS)]),
        }
    )


@pytest.fixture(params=[True, False], ids=["stable", "addresses"])
def path(request, tmp_path):
    """Three fragments; row 25 is deleted."""
    path = str(tmp_path / "t.lance")
    lance.write_dataset(
        wide_rows(),
        path,
        max_rows_per_file=FRAGMENT_ROWS,
        data_storage_version="2.1",
        enable_stable_row_ids=request.param,
    )
    leman.open(path).delete("id = 25")
    return path


def bytes_of(path):
    return sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())


def update_mode(path):
    dataset = lance.dataset(path)
    return dataset.read_transaction(dataset.version).operation.update_mode


def set_in_place(path, where, *, expressions=None, values=None):
    """Update, and check that it wrote little and moved nothing."""
    before, addresses = bytes_of(path), rows_of(path, ["id"], with_row_address=True)
    ids = rows_of(path, ["id"], with_row_id=True)
    count = leman.open(path).update(where, expressions, values=values)
    assert bytes_of(path) - before < 100_000
    assert update_mode(path) == "rewrite_columns"
    assert rows_of(path, ["id"], with_row_address=True) == addresses
    assert rows_of(path, ["id"], with_row_id=True) == ids
    return count


def rows_of(path, columns=None, **options):
    return lance.dataset(path).scanner(columns, **options).to_table().to_pylist()


def check(path, rows):
    """Both read these rows, by scan and by position."""
    dataset, table = lance.dataset(path), leman.open(path)
    dataset.validate()
    assert table.verify().findings == []
    assert rows_of(path) == rows
    assert table.to_arrow().to_pylist() == rows
    some = [len(rows) - 1, 0, 23, 25]
    assert dataset.take(some).to_pylist() == [rows[i] for i in some]
    assert table.take(some).to_pylist() == [rows[i] for i in some]


VALUES = {
    "n": -5,
    "label": "set",
    "flag": None,
    "place": {"x": 3, "tags": ["new", None]},
    "list": [7, 8, 9],
    "vec": [0.5, 0.25],
    "bird": "emu",
    "price": decimal.Decimal("12.25"),
    "day": datetime.date(1999, 12, 31),
}


@pytest.mark.parametrize("where", ["id % 2 = 0", "id < 30", None])
def test_every_type_is_set(path, where):
    rows = rows_of(path)
    chosen = [row for row in rows if where is None or eval(where.replace(" = ", " == "), {}, row)]
    for name, value in VALUES.items():
        assert set_in_place(path, where, values={name: value}) == len(chosen)
        for row in chosen:
            row[name] = value
        check(path, rows)
    for row in chosen:
        row |= dict.fromkeys(VALUES)
    assert set_in_place(path, where, values=dict.fromkeys(VALUES)) == len(chosen)
    check(path, rows)


def test_expressions_see_the_row_as_it_was(path):
    rows = rows_of(path)
    where = "n is not null and place is not null"
    for row in rows:
        if row["n"] is not None and row["place"] is not None:
            row["label"], row["n"] = row["bird"] + str(row["n"]), row["place"]["x"] + row["id"]
    set_in_place(
        path, where, expressions={"n": "place.x + id", "label": "concat(bird, cast(n as string))"}
    )
    check(path, rows)


def test_versions_of_rows(path):
    before = rows_of(path, ["id", "_row_created_at_version"])
    version = lance.dataset(path).version
    set_in_place(path, "id >= 10 and id < 30", values={"n": 1})
    if not lance.dataset(path).has_stable_row_ids:
        return
    assert rows_of(path, ["id", "_row_created_at_version"]) == before
    for row in rows_of(path, ["id", "_row_last_updated_at_version"]):
        chosen = 10 <= row["id"] < 30
        assert row["_row_last_updated_at_version"] == (version + 1 if chosen else 1)
    changes = leman.open(path).diff(version, version + 1).to_arrow().to_pylist()
    assert sorted(row["id"] for row in changes) == [i for i in range(10, 30) if i != 25]


INDICES = [("n", "BTREE"), ("n", "BITMAP"), ("n", "ZONEMAP"), ("label", "INVERTED")]
INDICES += [("label", "NGRAM"), ("label", "BTREE"), ("list", "LABEL_LIST"), ("id", "BTREE")]
FILTERS = ["n = 3", "n = -5", "n < 12", "label = 'set'", "contains(label, 'l1')", "id = 14"]
FILTERS += ["array_has(list, 7)", "array_has(list, 2)", "label is null", "not (n = 3)"]


@pytest.mark.parametrize("column, kind", INDICES)
def test_indices_answer_right(path, column, kind):
    lance.dataset(path).create_scalar_index(column, kind)

    def agree():
        dataset = lance.dataset(path)
        for where in FILTERS:
            found = dataset.scanner(["id"], filter=where).to_table()["id"].to_pylist()
            scan = dataset.scanner(["id"], filter=where, use_scalar_index=False).to_table()
            assert sorted(found) == sorted(scan["id"].to_pylist()), where
        if kind == "INVERTED":
            found = dataset.to_table(["id", "_score"], full_text_query="set")["id"].to_pylist()
            assert sorted(found) == [r["id"] for r in rows_of(path) if r["label"] == "set"]

    set_in_place(path, "id % 2 = 0 and id < 40", values={"n": -5, "label": "set", "list": [7]})
    (index,) = lance.dataset(path).describe_indices()
    assert index.num_rows_indexed == (59 if column == "id" else 20)
    agree()
    set_in_place(path, "id % 3 = 0 and id < 40", values={"n": 3, "label": "l1", "list": [2]})
    agree()
    lance.dataset(path).optimize.optimize_indices()
    agree()
    lance.dataset(path).optimize.compact_files()
    agree()
    lance.dataset(path).optimize.optimize_indices()
    agree()


def test_pylance_goes_on(path):
    rows = {row["id"]: row for row in rows_of(path)}

    def agree():
        found = rows_of(path)
        assert sorted(found, key=lambda row: row["id"]) == [rows[i] for i in sorted(rows)]
        assert leman.open(path).to_arrow().to_pylist() == found
        lance.dataset(path).validate()

    def set_all(values):
        for row in rows.values():
            row |= values
        set_in_place(path, None, values=values)
        agree()

    set_all({"n": 1})
    lance.dataset(path).update({"n": "n + 1"}, where="id < 5")
    for i in range(5):
        rows[i]["n"] += 1
    agree()
    set_all({"label": "again"})
    lance.dataset(path).delete("id = 30")
    del rows[30]
    source = pa.table({"id": pa.array([1, 31, 50]), "n": pa.array([7, 8, 9], pa.int32())})
    lance.dataset(path).merge_insert("id").when_matched_update_all().execute(source)
    for i, n in ((1, 7), (31, 8), (50, 9)):
        rows[i]["n"] = n
    agree()
    set_all({"place": None})
    lance.dataset(path).optimize.compact_files()
    agree()
    set_all({"n": 5, "label": "end"})
    leman.open(path).compact()
    agree()


@pytest.mark.parametrize("ours_first", [True, False])
def test_writers_of_the_same_rows(path, ours_first):
    """A handle of pylance that stands before our update: both are there, or one is refused."""
    dataset, table = lance.dataset(path), leman.open(path)
    if ours_first:
        table.update(None, {"n": "coalesce(n, 0) + 100"})
        assert update_mode(path) == "rewrite_columns"
        dataset.update({"n": "coalesce(n, 0) + 1"}, where="id < 3")
    else:
        dataset.update({"n": "coalesce(n, 0) + 1"}, where="id < 3")
        table.update(None, {"n": "coalesce(n, 0) + 100"})
    found = {row["id"]: row["n"] for row in rows_of(path, ["id", "n"])}
    for i, n in found.items():
        assert n == (i if i % 7 else 0) + 100 + (i < 3)


@leman.udf
def double(n: int) -> int:
    return n * 2


def test_cells_of_rows_that_are_set_are_stale(path):
    table = leman.open(path)
    table.update("n is null", values={"n": 0})
    table.add_columns({"twice": (double, ["n"])})
    table.backfill("twice", concurrency=0, progress=False)
    set_in_place(path, "id < 30", values={"label": "other"})
    assert leman.open(path).cells("twice")["stale"] == 0
    set_in_place(path, "id % 2 = 1 and id < 30", expressions={"n": "n + 100"})
    stale = leman.open(path).to_arrow(["id"], "leman_state('twice') = 'stale'")["id"]
    assert sorted(stale.to_pylist()) == [i for i in range(30) if i % 2 == 1 and i != 25]
    leman.open(path).backfill("twice", concurrency=0, progress=False)
    assert all(row["twice"] == row["n"] * 2 for row in rows_of(path, ["n", "twice"]))


def test_few_rows_and_blobs_move(path):
    leman.open(path).update("id = 3", values={"n": 100})
    assert update_mode(path) == "rewrite_rows"
    leman.open(path).update("id < 30", values={"pad": b""})
    assert update_mode(path) == "rewrite_rows"


def test_columns_without_nulls(tmp_path):
    schema = pa.schema([pa.field("n", pa.int32(), nullable=False), ("pad", pa.binary())])
    pads = [random.Random(i).randbytes(200_000) for i in range(20)]
    leman.create(str(tmp_path / "t"), pa.table([range(20), pads], schema=schema))
    with pytest.raises(leman.InvalidError, match="null"):
        leman.open(tmp_path / "t").update("n > 2", values={"n": None})
    leman.open(tmp_path / "t").delete("n = 1")
    leman.open(tmp_path / "t").update("n > 2", values={"n": 5})
    assert update_mode(str(tmp_path / "t")) == "rewrite_columns"
    assert [row["n"] for row in rows_of(str(tmp_path / "t"))] == [0, 2] + [5] * 17


def test_an_index_that_is_built_meanwhile(path):
    """Its handle stands before our update: what it has read of the rows is not trusted."""
    dataset = lance.dataset(path)
    leman.open(path).update("id < 40", values={"n": 500})
    assert update_mode(path) == "rewrite_columns"
    dataset.create_scalar_index("n", "BTREE")
    found = lance.dataset(path).scanner(["id"], filter="n = 500").to_table()["id"].to_pylist()
    assert found == [i for i in range(40) if i != 25]
    assert lance.dataset(path).count_rows("n = 3") == 0


def test_a_vector_index(path):
    lance.dataset(path).create_index("vec", "IVF_FLAT", num_partitions=1)
    set_in_place(path, "id < 40", values={"n": 1})
    assert lance.dataset(path).describe_indices()[0].num_rows_indexed == 59
    set_in_place(path, "id < 40 and id % 2 = 0", values={"vec": [100.0, 1.0]})
    for turn in range(2):
        for first in (2, 3, 100):
            query = {"column": "vec", "q": [first, 1], "k": 20}
            found = lance.dataset(path).to_table(["id"], nearest=query)
            flat = lance.dataset(path).to_table(["id"], nearest=query | {"use_index": False})
            assert found["_distance"].to_pylist() == flat["_distance"].to_pylist(), turn
        lance.dataset(path).optimize.optimize_indices()


MEANWHILE = []  # paths of tables


@leman.udf
def thrice(n: int) -> int:
    if MEANWHILE:
        where = "id % 2 = 1 and id < 40"
        set_in_place(MEANWHILE.pop(), where, expressions={"n": "n + 100"})
    return n * 3


def test_inputs_that_are_set_while_a_job_has_read_them(path):
    table = leman.open(path)
    table.update("n is null", values={"n": 0})
    MEANWHILE.append(path)
    table.add_columns({"thrice": (thrice, ["n"])})
    table.backfill("thrice", concurrency=0, progress=False)
    assert MEANWHILE == []
    stale = leman.open(path).to_arrow(["id"], "leman_state('thrice') = 'stale'")["id"].to_pylist()
    assert 0 < len(stale) <= 20
    for row in rows_of(path, ["id", "n", "thrice"]):
        assert (row["thrice"] == row["n"] * 3) != (row["id"] in stale)
    leman.open(path).backfill("thrice", concurrency=0, progress=False, on_change="keep")
    assert all(row["thrice"] == row["n"] * 3 for row in rows_of(path, ["n", "thrice"]))


@pytest.mark.parametrize("where, mode", [("n < 1000", "columns"), ("n % 2 = 0", "rows")])
def test_rows_that_take_turns_move(tmp_path, where, mode):
    """The version of every row is in the manifest, as runs; not so many for rows of 4 KB."""
    pads = [random.Random(i).randbytes(4000) for i in range(2000)]
    leman.create(tmp_path / "t", {"n": range(2000), "pad": pads})
    assert leman.open(tmp_path / "t").update(where, {"n": "n + 2"}) == 1000
    assert update_mode(str(tmp_path / "t")) == f"rewrite_{mode}"


def test_deleted_rows_take_no_turns(tmp_path):
    """Every second row is deleted; the others are set, and the manifest stays small."""
    pads = [random.Random(i).randbytes(4000) for i in range(2000)]
    table = leman.create(tmp_path / "t", {"n": range(2000), "pad": pads})
    table.delete("n % 2 = 1")
    assert table.update(None, {"n": "n + 2"}) == 1000
    assert update_mode(str(tmp_path / "t")) == "rewrite_columns"
    manifests = (tmp_path / "t" / "_versions").glob("*.manifest")
    assert max(manifest.stat().st_size for manifest in manifests) < 4096
    stamps = rows_of(str(tmp_path / "t"), ["_row_last_updated_at_version"])
    assert stamps == [{"_row_last_updated_at_version": 3}] * 1000


def test_a_first_fragment_unlike_the_others(tmp_path):
    """A table that was begun with one row, which has no image."""
    path = str(tmp_path / "t")
    schema = pa.schema([("n", pa.int64()), ("text", pa.string()), ("pad", pa.binary())])
    table = leman.create(path, [{"n": 0, "text": "a text of some words", "pad": None}], schema)
    table.append(
        {"n": range(1, 50), "pad": [random.Random(i).randbytes(50_000) for i in range(49)]}
    )
    assert table.upsert({"n": range(50), "text": ["set"] * 50}, on="n").updated == 50
    assert update_mode(path) == "rewrite_columns"
    table.update(None, values={"text": "again"})
    assert update_mode(path) == "rewrite_columns"
    assert rows_of(path, ["n", "text"]) == [{"n": i, "text": "again"} for i in range(50)]


@pytest.mark.parametrize("call", ["upsert", "update"])
def test_values_that_do_not_fit_beside_others_move(tmp_path, call):
    """An int8 tells 128 values apart: 100 that rows have, and 100 that others get."""
    path = str(tmp_path / "t")
    rows = {
        "id": range(200),
        "pad": [random.Random(i).randbytes(20_000) for i in range(200)],
        "bird": pa.array([f"bird {i % 100}" for i in range(200)]).cast(BIRD),
    }
    table = leman.create(path, pa.table(rows))
    if call == "upsert":
        birds = pa.array([f"other {i}" for i in range(100)]).cast(BIRD)
        assert table.upsert(pa.table({"id": range(100), "bird": birds}), on="id").updated == 100
    else:
        assert table.update("id < 100", {"bird": "concat('other ', cast(id as string))"}) == 100
    assert update_mode(path) == "rewrite_rows"
    chosen = lance.dataset(path).to_table(["id", "bird"], filter="id < 100").to_pylist()
    chosen.sort(key=lambda row: row["id"])
    assert chosen == [{"id": i, "bird": f"other {i}"} for i in range(100)]
    assert len(list((tmp_path / "t" / "data").iterdir())) == 2  # nothing of the first attempt


def test_files_of_version_2_0(tmp_path):
    """What a column takes there is known, too."""
    path = str(tmp_path / "t")
    rows = {
        "id": range(500),
        "pad": [random.Random(i).randbytes(4000) for i in range(500)],
        "label": ["a"] * 500,
        "place": [{"x": i, "tags": [str(i)] * (i % 3)} for i in range(500)],
    }
    lance.write_dataset(pa.table(rows), path, data_storage_version="2.0")
    before = bytes_of(path)
    leman.open(path).upsert({"id": range(499, -1, -1), "label": ["b"] * 500}, on="id")
    leman.open(path).update(None, {"place": "named_struct('x', id + 1, 'tags', place.tags)"})
    assert update_mode(path) == "rewrite_columns"
    assert bytes_of(path) < before + 100_000
    rows["label"] = ["b"] * 500
    rows["place"] = [{"x": i + 1, "tags": [str(i)] * (i % 3)} for i in range(500)]
    assert rows_of(path, list(rows)) == pa.table(rows).to_pylist()
