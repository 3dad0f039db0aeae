# SPDX-License-Identifier: Apache-2.0
"""What goes into a table comes out of it: data of every form, in order, by position and by id."""

import copy
import signal
import subprocess
import sys
import threading
from pathlib import Path

import leman
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

SCHEMA = pa.schema(
    [
        ("id", pa.int32()),
        ("text", pa.large_string()),
        ("vector", pa.list_(pa.float32(), 2)),
    ]
)
ROWS = [
    {"id": 1, "text": "a cat", "vector": [1.0, 2.0]},
    {"id": 2, "text": None, "vector": None},
    {"id": 3, "text": "two dogs", "vector": [0.5, -1.0]},
]


class Exporter:
    """Rows that speak nothing but the Arrow PyCapsule interface."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__()


class ArrayExporter:
    def __init__(self, batch):
        self._batch = batch

    def __arrow_c_array__(self, requested_schema=None):
        return self._batch.__arrow_c_array__()


def columns(rows):
    return {name: [row[name] for row in rows] for name in rows[0]}


FORMS = {
    "table": lambda: pa.Table.from_pylist(ROWS, SCHEMA),
    "reader": lambda: pa.Table.from_pylist(ROWS, SCHEMA).to_reader(),
    "stream": lambda: Exporter(pa.Table.from_pylist(ROWS, SCHEMA)),
    "array": lambda: ArrayExporter(pa.RecordBatch.from_pylist(ROWS, SCHEMA)),
    "columns": lambda: columns(ROWS),
    "rows": lambda: ROWS,
    "batches": lambda: iter(pa.Table.from_pylist(ROWS, SCHEMA).to_batches(max_chunksize=1)),
    "row iterator": lambda: (row for row in ROWS),
    "inferred types": lambda: pa.Table.from_pylist(ROWS),
}


@pytest.fixture
def db(tmp_path):
    return leman.connect(tmp_path / "db")


@pytest.mark.parametrize("form", FORMS)
def test_create_and_append_take_every_form_of_data(db, form):
    table = db.create_table("t", FORMS[form](), schema=SCHEMA)
    assert table.schema.equals(SCHEMA)
    assert table.to_arrow().to_pylist() == ROWS
    table.append(FORMS[form]())
    assert table.to_arrow().to_pylist() == ROWS * 2
    assert table.version == 2


def test_create__types_are_inferred_without_a_schema(db):
    table = db.create_table("t", ROWS)
    assert table.schema.field("id").type == pa.int64()
    assert table.to_arrow().to_pylist() == ROWS


def test_create__keys_of_all_rows_count(db):
    table = db.create_table("t", [{"a": 1}, {"b": "x"}])
    assert table.to_arrow().to_pylist() == [{"a": 1, "b": None}, {"a": None, "b": "x"}]


def test_create__numpy_matrix_is_a_column_of_vectors(db):
    table = db.create_table("t", {"v": np.arange(6, dtype="float32").reshape(3, 2)})
    assert table.schema.field("v").type == pa.list_(pa.float32(), 2)
    assert table.to_arrow()["v"].to_pylist() == [[0, 1], [2, 3], [4, 5]]


def test_create__schema_alone_makes_an_empty_table(db):
    table = db.create_table("t", schema=SCHEMA)
    assert len(table) == 0
    assert table.to_arrow().schema.equals(SCHEMA)
    table.append(ROWS)
    assert len(table) == 3


def test_create__schema_adds_columns_that_the_data_lacks(db):
    table = db.create_table("t", [{"id": 7}], schema=SCHEMA)
    assert table.to_arrow().to_pylist() == [{"id": 7, "text": None, "vector": None}]


@pytest.mark.parametrize("data", [None, [], iter([])])
def test_create__nothing_at_all_is_refused(db, data):
    with pytest.raises(ValueError):
        db.create_table("t", data)
    assert db.table_names() == []


@pytest.mark.parametrize("data", ["text", 3, [1, 2], iter(["x"])])
def test_create__what_is_no_rows_is_refused_by_type(db, data):
    with pytest.raises(TypeError):
        db.create_table("t", data)
    assert db.table_names() == []


def test_create__that_fails_leaves_no_folder(db, tmp_path):
    """LanceDB would list it as a table."""

    def rows():
        yield pa.RecordBatch.from_pylist(ROWS)
        raise RuntimeError("the source ends here")

    kept = db.create_table("kept", ROWS)
    calls = {
        "source": lambda: db.create_table("t", rows()),
        "nulls": lambda: db.create_table("t", {"id": [1, None]}, primary_key="id"),
        "key": lambda: db.create_table("t", ROWS, primary_key="nope"),
        "there": lambda: db.create_table("kept", rows()),
    }
    for call in calls.values():
        with pytest.raises(Exception, match="source|nulls|nope|already"):
            call()
        assert [path.name for path in (tmp_path / "db").iterdir()] == ["kept.lance"]
    (tmp_path / "db" / "t.lance" / "mine").mkdir(parents=True)
    with pytest.raises(leman.InvalidError, match="nulls"):
        calls["nulls"]()
    assert [path.name for path in (tmp_path / "db" / "t.lance").iterdir()] == ["mine"]
    assert kept.to_arrow().to_pylist() == ROWS


def test_append__columns_may_come_in_any_order_or_not_at_all(db):
    table = db.create_table("t", ROWS, schema=SCHEMA)
    table.append(pa.table({"text": ["x"], "id": pa.array([9], pa.int32())}))
    assert table.take([3]).to_pylist() == [{"id": 9, "text": "x", "vector": None}]


@pytest.mark.parametrize(
    "data, words",
    [
        ({"id": [2**40]}, ["id"]),
        (pa.table({"id": [2**40]}), ["id", "int32", "int64"]),
        (pa.table({"id": ["x"]}), ["id", "int32", "string"]),
        (pa.table({"text": [1]}), ["text", "large_string", "int64"]),
        ({"vector": [[1.0, 2.0, 3.0]]}, ["vector"]),
        ({"other": [1]}, ["other"]),
        ({"id": [1], "text": ["a", "b"]}, ["id", "text"]),
    ],
)
def test_append__what_does_not_fit_is_refused_by_name(db, data, words):
    table = db.create_table("t", ROWS, schema=SCHEMA)
    with pytest.raises(leman.InvalidError) as caught:
        table.append(data)
    assert all(word in str(caught.value) for word in words), caught.value
    assert (len(table), table.version) == (3, 1)


def test_append__error_of_an_iterator_is_raised_and_nothing_committed(db):
    table = db.create_table("t", ROWS, schema=SCHEMA)

    def batches():
        yield pa.record_batch({"id": [4]})
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        table.append(batches())
    assert (len(table), table.version) == (3, 1)
    assert len(db.open_table("t")) == 3


def test_append__iterator_is_consumed_piece_by_piece(db):
    table = db.create_table("t", schema=pa.schema([("x", pa.int64())]))
    start, peak = pa.total_allocated_bytes(), 0

    def batches():
        nonlocal peak
        for i in range(100):
            yield pa.record_batch({"x": pa.repeat(i, 100_000)})
            peak = max(peak, pa.total_allocated_bytes() - start)

    table.append(batches())
    assert len(table) == 10_000_000
    assert peak < 20 * 800_000


def test_append__batches_that_differ_from_the_first_are_cast_or_refused(db):
    table = db.create_table("t", schema=pa.schema([("x", pa.int64()), ("y", pa.string())]))
    table.append(
        iter([pa.record_batch({"x": [1]}), pa.record_batch({"x": pa.array([2], pa.int8())})])
    )
    assert table.to_arrow()["x"].to_pylist() == [1, 2]
    with pytest.raises(leman.InvalidError, match='column "y" is not in the first batch'):
        table.append(iter([pa.record_batch({"x": [1]}), pa.record_batch({"y": ["a"]})]))


def test_append__batches_have_the_types_of_the_table_not_of_the_first(db):
    table = db.create_table("t", schema=pa.schema([("x", pa.float64()), ("y", pa.string())]))
    for data in (
        [pa.record_batch({"x": [1]}), pa.record_batch({"x": [1.5]})],
        [[{"x": 1}], [{"x": 1.5}]],
        [pa.record_batch({"x": [1], "y": [None]}), pa.record_batch({"x": [1.5], "y": ["a"]})],
    ):
        table.append(iter(data))
    assert table.to_arrow()["x"].to_pylist() == [1, 1.5] * 3
    assert table.to_arrow()["y"].to_pylist() == [None] * 5 + ["a"]
    made = db.create_table("u", iter([[{"x": 1}], [{"x": 1.5}]]), schema=table.schema)
    assert made.to_arrow()["x"].to_pylist() == [1, 1.5]


@pytest.mark.parametrize("name", ["", "a.b", "_rowid", "_rowaddr", "_row_created_at_version"])
def test_names_that_lance_has_no_columns_of_are_refused(db, name):
    table = db.create_table("t", {"x": [1], "s": [{"a": 1}]})
    for change in (
        lambda: db.create_table("u", {"x": [1], name: [2]}),
        lambda: table.overwrite({name: [2]}),
        lambda: table.add_columns({name: "x"}),
        lambda: table.add_columns(pa.field(name, pa.int64())),
        lambda: table.add_columns({"x": [1], name: [2]}, on="x"),
        lambda: table.rename_column("x", name),
    ):
        with pytest.raises(leman.InvalidError, match="name"):
            change()
    assert table.version == 1 and db.list_tables() == ["t"]


@pytest.mark.parametrize("place", ["schema", "column", "field"])
def test_metadata__keys_that_are_no_text_are_refused(db, place):
    def kept(here):
        return {b"k\xff": b"v"} if here == place else {b"k": b"\xff"}

    inner = pa.field("x", pa.int64(), metadata=kept("field"))
    column = pa.field("a", pa.struct([inner]), metadata=kept("column"))
    schema = pa.schema([column], metadata=kept("schema"))
    with pytest.raises(leman.InvalidError, match=r'not UTF-8: "k\\xff"'):
        db.create_table("t", schema=schema)
    assert db.table_names() == []


def test_add_columns__metadata_that_is_no_text_is_refused(db):
    table = db.create_table("t", [{"a": 1}])
    bad = pa.schema([pa.field("b", pa.int64(), metadata={b"\xc3": b"v"})])
    with pytest.raises(leman.InvalidError, match=r"\\xc3"):
        table.add_columns(bad)
    assert table.version == 1


def test_append__another_table_and_a_scan_are_data(db):
    first = db.create_table("a", ROWS, schema=SCHEMA)
    second = db.create_table("b", first)
    second.append(first.scan(["id"], limit=1))
    assert second.to_arrow()["id"].to_pylist() == [1, 2, 3, 1]


def test_overwrite__replaces_rows_and_schema_and_keeps_the_old_version(db):
    table = db.create_table("t", ROWS, schema=SCHEMA)
    table.overwrite({"other": ["x"]})
    assert table.to_arrow().to_pylist() == [{"other": "x"}]
    assert table.scan(version=1).to_arrow().to_pylist() == ROWS


def test_numbers_that_do_not_fit_are_refused(db):
    table = db.create_table("t", {"x": range(3)})
    for options in (
        {"limit": 1 << 64},
        {"offset": 1 << 64},
        {"offset": -1},
        {"batch_size": -1},
        {"threads": -1},
    ):
        with pytest.raises(ValueError, match="fits in 63 bits|is not negative"):
            table.scan(**options)
    for options in ({"max_rows_per_fragment": -1}, {"max_bytes_per_fragment": 1 << 63}):
        with pytest.raises(ValueError, match="fits in 63 bits|is not negative"):
            table.append({"x": [1]}, **options)
    with pytest.raises(ValueError, match="there is no version 18446744073709551617"):
        table.scan(version=(1 << 64) + 1)
    assert len(table) == 3 and len(table.scan(version=np.int64(1)).to_arrow()) == 3


@pytest.mark.parametrize("option", [{"primary_key": "x"}, {"data_storage_version": "2.2"}])
def test_append__options_of_new_tables_are_refused(db, option):
    table = db.create_table("t", {"x": [1]})
    with pytest.raises(TypeError, match="is given when a table is made"):
        table.append({"x": [2]}, **option)
    assert len(table) == 1


def test_scan__columns_limit_and_offset(db):
    table = db.create_table("t", {"x": range(100), "s": [{"a": i, "b": "b"} for i in range(100)]})
    assert table.scan(["s.a"], limit=2, offset=5).to_arrow().to_pylist() == [
        {"s": {"a": 5}},
        {"s": {"a": 6}},
    ]
    assert table.scan(limit=0).to_arrow().num_rows == 0
    assert table.scan(offset=98).to_arrow()["x"].to_pylist() == [98, 99]
    assert [batch.num_rows for batch in table.scan(batch_size=40)] == [40, 40, 20]
    assert table.head(3)["x"].to_pylist() == [0, 1, 2]


def test_scan__wrong_arguments_fail_at_once(db):
    table = db.create_table("t", {"x": [1]})
    with pytest.raises(leman.NotFoundError, match="nope"):
        table.scan(["nope"])
    with pytest.raises(TypeError):
        table.scan("x")
    with pytest.raises(ValueError):
        table.scan(limit=-1)
    with pytest.raises(ValueError):
        table.scan(blobs="all")


def test_scan__is_pinned_to_its_version_and_can_be_used_twice(db):
    table = db.create_table("t", {"x": [1]})
    scan = table.scan()
    table.append({"x": [2]})
    assert scan.to_arrow()["x"].to_pylist() == [1]
    assert pa.table(scan)["x"].to_pylist() == [1]
    assert table.to_arrow()["x"].to_pylist() == [1, 2]


def test_scan__row_ids_find_their_rows(db):
    table = db.create_table("t", {"x": [10, 20, 30]})
    table.append({"x": [40]})
    rows = table.scan(with_row_id=True).to_arrow().to_pylist()
    for row in rows:
        assert table.take_ids([row["_rowid"]]).to_pylist() == [{"x": row["x"]}]


def test_take__by_position_in_the_order_given(db):
    table = db.create_table("t", {"x": [10, 20, 30]}, max_rows_per_fragment=2)
    assert table.info()["num_fragments"] == 2
    assert table.take([2, 0, 2], ["x"]).to_pylist() == [{"x": 30}, {"x": 10}, {"x": 30}]
    assert table.take(np.array([1])).to_pylist() == [{"x": 20}]
    with pytest.raises(leman.InvalidError, match="3"):
        table.take([3])
    with pytest.raises(ValueError):
        table.take([-1])
    with pytest.raises(leman.NotFoundError, match="99"):
        table.take_ids([99])


def test_fragments_are_cut_by_rows(db):
    table = db.create_table("t", {"x": range(10)}, max_rows_per_fragment=3)
    assert table.info()["num_fragments"] == 4
    assert table.to_arrow()["x"].to_pylist() == list(range(10))


def test_fragments_are_cut_by_bytes(db):
    batch = pa.record_batch({"x": [np.random.bytes(50_000) for _ in range(20)]})  # a megabyte
    table = db.create_table("t", (batch for _ in range(12)), max_bytes_per_fragment=2_500_000)
    assert table.info()["num_fragments"] == 5
    assert len(table) == 240


def test_large_batches_are_cut_by_bytes(db):
    rows = pa.table({"id": range(240), "x": [np.random.bytes(50_000) for _ in range(240)]})
    table = db.create_table("t", rows, max_bytes_per_fragment=2_500_000)
    assert table.info()["num_fragments"] == 5
    assert table.to_arrow() == rows


def test_fragments_are_cut_by_the_bytes_of_their_files(db):
    """Zeros take next to nothing there."""
    batch = pa.record_batch({f"x{i}": np.zeros(1000, "i8") for i in range(20)})
    table = db.create_table("t", (batch for _ in range(50)), max_bytes_per_fragment=2_000_000)
    assert table.info()["num_fragments"] == 1
    assert table.to_arrow()["x7"].to_pylist() == [0] * 50_000


def test_names_of_tables_are_strings(db):
    for name in (None, 5):
        with pytest.raises(TypeError, match=f"not {name}"):
            db.create_table(name, {"x": [1]})
        with pytest.raises(TypeError, match=f"not {name}"):
            db.open_table(name)
    assert db.list_tables() == []


def test_info_says_what_the_version_is_made_of(db):
    info = db.create_table("t", {"x": [1, 2]}, data_storage_version="2.2").info()
    assert info["num_rows"] == 2
    assert info["data_version"] == "2.2"
    assert info["stable_row_ids"]
    assert info["data_bytes"] > 0


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("search", r"LanceDB.*scan\(\)"),
        ("create_index", "LanceDB"),
        ("index_stats", "LanceDB"),
        ("optimize", r"compact\(\)"),
        ("to_lance", "lance.dataset"),
        ("take_offsets", r"take\(\)"),
        ("merge", r"add_columns.*upsert"),
        ("create_branch", "branch=name"),
    ],
)
def test_names_of_lancedb_say_what_to_use_instead(db, name, instead):
    table = db.create_table("t", {"x": [1]})
    assert not hasattr(table, name)
    with pytest.raises(AttributeError, match=rf"a table has no {name}\(\): .*{instead}"):
        getattr(table, name)


# Of the inside, or of servers.
# Names that only their own code uses.
INSIDE = {"apply_defaults", "create", "from_batches", "from_dataset", "from_fragment", "from_inner"}


def unknown_names(ours, theirs):
    """Public names of their class that an object of ours neither has nor says anything about."""
    unknown = []
    for name in sorted(name for name in dir(theirs) if not name.startswith("_")):
        try:
            getattr(ours, name)
        except AttributeError as error:
            if name not in INSIDE and "object has no attribute" in str(error):
                unknown.append(name)
    return unknown


def test_names_of_lancedb_are_all_known(db):
    lancedb = pytest.importorskip("lancedb")
    query, merge = pytest.importorskip("lancedb.query"), pytest.importorskip("lancedb.merge")
    table = db.create_table("t", {"x": [1]})
    theirs = lancedb.connect(db.uri)
    for ours, other in (
        (table, type(theirs.open_table("t"))),
        (db, type(theirs)),
        (table.scan(), query.LanceVectorQueryBuilder),
        (table.merge_insert("x"), merge.LanceMergeInsertBuilder),
    ):
        assert unknown_names(ours, other) == []


def test_names_of_pylance_are_all_known(db):
    lance = pytest.importorskip("lance")
    theirs = pytest.importorskip("lance.dataset")
    table = db.create_table("t", {"x": [1]})
    for ours, other in (
        (table, lance.LanceDataset),
        (table.scan(), theirs.ScannerBuilder),
        (table.scan(), theirs.LanceScanner),
        (table.merge_insert("x"), theirs.MergeInsertBuilder),
        (table.tags, theirs.Tags),
        (table.branches, theirs.Branches),
    ):
        assert unknown_names(ours, other) == []


def test_options_of_lancedb_say_what_to_use_instead(db):
    table = db.create_table("t", {"x": [1]})
    for call, message in (
        (lambda: table.scan(filter="x = 1"), "'filter': it is called where"),
        (lambda: table.count_rows(filter="x = 1"), "'filter': it is called where"),
        (lambda: table.add({"x": [2]}, on_bad_vectors="drop"), "'on_bad_vectors': rows are"),
        (
            lambda: db.create_table("u", {"x": [1]}, storage_options={}),
            "directories of this machine",
        ),
        (lambda: db.open_table("t", index_cache_size=1), "LanceDB"),
        (lambda: leman.connect(db.uri, api_key="k"), "directories of this machine"),
        (lambda: table.append({"x": [2]}, nothing=1), "there is no option 'nothing'$"),
        (lambda: table.append({"x": [2]}, mode="overwrite"), r"overwrite\(\) replaces them"),
        (lambda: table.insert({"x": [2]}, mode="append"), r"append\(\) adds rows"),
        (lambda: table.to_pandas(filter="x = 1"), "'filter': it is called where"),
        (lambda: table.to_arrow(limit=1), r"'limit': scan\(\) takes it"),
        (lambda: table.scan(nearest={}), "'nearest': for vector"),
        (lambda: table.take_blobs("x", ids=[0]), "'ids': it is called row_ids"),
        (lambda: table.update(values={"x": 1}, conflict_retries=1), "retried"),
        (lambda: table.update({"x": "x + 1"}), "where is a filter as text"),
        (lambda: table.delete("x = 1", retry_timeout=1), "retried"),
        (lambda: table.merge_insert("x").execute({"x": [1]}, timeout=1), "retried"),
        (lambda: table.merge_insert("x").when_matched_update_all(condition="true"), "where"),
        (lambda: table.tags.create("one", reference=1), "it is called version"),
        (lambda: table.compact(num_threads=1), "processors"),
        (lambda: table.cleanup(retain_versions=1), "older_than="),
        (lambda: table.add_columns({"y": "x"}, read_columns=["x"]), "names the columns"),
        (lambda: db.drop_table("t", namespace_path=["a"]), "one directory"),
        (lambda: db.list_tables(namespace_path=["a"]), "one directory"),
        (lambda: db.rename_table("t", "u", new_namespace_path=["a"]), "one directory"),
    ):
        with pytest.raises(TypeError, match=message):
            call()
    assert table.version == 1 and db.list_tables() == ["t"]


def test_names_of_queries_and_modules_say_what_to_use_instead(db):
    scan = db.create_table("t", {"x": [1]}).scan()
    with pytest.raises(AttributeError, match=r"a scan has no to_list\(\): it is called to_pylist"):
        scan.to_list()
    with pytest.raises(AttributeError, match="'Scan' object has no attribute 'nothing'"):
        scan.nothing  # noqa: B018
    with pytest.raises(AttributeError, match=r"no attribute 'dataset': leman\.open\(path\)"):
        leman.dataset("t")
    with pytest.raises(
        AttributeError, match="no attribute 'col': filters and expressions are text"
    ):
        leman.col("x")


def test_names_of_branches_say_what_to_use_instead(db):
    table = db.create_table("t", {"x": [1]})
    assert table.branches() == {}
    with pytest.raises(AttributeError, match=r"branches have no create\(\): .*create_branch\(\)"):
        table.branches.create("trial")


def test_names_of_space_say_what_to_use_instead(db):
    table = db.create_table("t", {"x": [1]})
    for name in ("local", "read_all", "append_parquet", "add_tag", "add_branch", "index_files"):
        with pytest.raises(AttributeError, match=rf"a table has no {name}\(\): "):
            getattr(table, name)
    with pytest.raises(
        AttributeError, match=r"a database has no datasets\(\): it is called list_t"
    ):
        db.datasets()


def test_table_names__in_pages(db):
    for name in ("a", "b", "c", "d"):
        db.create_table(name, {"x": [1]})
    assert db.table_names(limit=3) == ["a", "b", "c"]
    assert db.table_names("b", 10) == db.list_tables(page_token="b") == ["c", "d"]


def test_names_of_lancedb_databases_say_what_to_use_instead(db):
    with pytest.raises(AttributeError, match=r"a database has no drop_all_tables\(\): drop_table"):
        db.drop_all_tables()
    with pytest.raises(AttributeError, match="'Database' object has no attribute 'nothing'"):
        db.nothing  # noqa: B018
    assert copy.copy(db).list_tables() == []


def test_take__rows_are_used_more_than_once_after_to_arrow(db):
    rows = db.create_table("t", {"x": [1, 2, 3]}).take([2, 0])
    assert len(rows) == rows.num_rows == 2
    assert rows.to_arrow()["x"].to_pylist() == [3, 1]
    assert rows.to_pylist() == rows.to_pylist() == [{"x": 3}, {"x": 1}]
    assert pa.table(rows)["x"].to_pylist() == rows.to_pandas()["x"].tolist() == [3, 1]
    assert "x: int64" in repr(rows) and len(rows) == 2


def test_take__rows_that_were_handed_over_are_gone(db):
    rows = db.create_table("t", {"x": [1, 2, 3]}).take([0])
    pa.table(rows)
    for use in (pa.table, len, lambda rows: rows.to_arrow()):
        with pytest.raises(ValueError, match="to_arrow"):
            use(rows)


def test_columns__are_names(db):
    table = db.create_table("t", {"x": [1, 2, 3]})
    for read in (table.scan, lambda columns: table.take([0], columns)):
        with pytest.raises(TypeError, match="columns are names"):
            read({"x": "x + 1"})
        with pytest.raises(ValueError, match="with_row_id=True"):
            read(["x", "_rowid"])
    assert table.scan(name for name in ("x",)).to_arrow().num_columns == 1


def test_where__is_text(db):
    table = db.create_table("t", {"x": [1, 2, 3]})
    wrong = pc.field("x") > 1
    for call in (
        lambda: table.scan(where=wrong),
        lambda: table.to_arrow(where=wrong),
        lambda: table.count_rows(wrong),
        lambda: table.update(wrong, {"x": "1"}),
        lambda: table.delete(wrong),
    ):
        with pytest.raises(TypeError, match="where is a filter as text"):
            call()


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"x": "abc"}, 'column "x" is a list of values'),
        ({"x": b"abc"}, 'column "x" is a list of values'),
        ({1: [1]}, "the name of a column is text, and 1 is not"),
        ([{1: 1}], "the name of a column is text, and 1 is not"),
    ],
)
def test_create__what_is_no_column_is_refused(db, data, words):
    with pytest.raises(leman.InvalidError, match=words):
        db.create_table("t", data)


def test_scan__in_a_process_that_is_forked(db):
    """In a process of its own, as children of one with pylance's threads are not safe."""
    table = db.create_table("t", {"x": range(50_000)}, max_rows_per_fragment=5_000)
    code = f"""
import os, signal, sys
import leman
table = leman.open({table.path!r})
unused, begun = table.scan(), iter(table.scan(batch_size=100, threads=2))
next(begun)
child = os.fork()
if child == 0:
    signal.alarm(60)
    assert sum(batch.num_rows for batch in unused) == 50_000
    assert table.count_rows("x < 10") == 10
    try:
        next(begun)
    except leman.UnsupportedError as error:
        assert "fork" in str(error)
        del begun, unused
        os._exit(0)
    os._exit(1)
assert os.waitpid(child, 0)[1] == 0
assert sum(batch.num_rows for batch in begun) == 49_900
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_table_that_is_made_anew_under_an_open_one(db):
    """Both are at version 1; what the handle knows is not what is there."""
    table = db.create_table("t", {"id": [1, 2, 3]})
    db.drop_table("t")
    db.create_table("t", {"id": [10, 20]})
    table.append({"id": [5]})
    assert db.open_table("t").to_arrow()["id"].to_pylist() == [10, 20, 5]
    db.rename_table("t", "old")
    db.create_table("next", {"id": [7]})
    db.open_table("next").append({"id": [8]})
    db.rename_table("next", "t")
    table.delete("id = 8")
    assert table.to_arrow()["id"].to_pylist() == [7]
    assert db.open_table("old").count_rows() == 3


def test_a_table_that_is_made_anew_during_a_write(db):
    table = db.create_table("t", {"id": [1, 2, 3]})

    def rows():
        yield pa.record_batch({"id": [4]})
        db.drop_table("t")
        db.create_table("t", {"id": [10, 20]})

    for write in (table.append, table.overwrite):
        with pytest.raises((leman.ConflictError, leman.NotFoundError), match="t.lance"):
            write(rows())
        assert db.open_table("t").to_arrow()["id"].to_pylist() == [10, 20]
        assert not db.open_table("t").verify().findings


SLOW = "regexp_replace(regexp_replace(upper(text), '(A|E|I|O|U)+', 'x', 'g'), '(X|T)+[0-9]*', 'y')"
INTERRUPTED = {
    "update": lambda table: table.update(None, {"text": SLOW}),
    "add_columns": lambda table: table.add_columns({"slow": SLOW}),
}


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("call", INTERRUPTED)
def test_signals_end_calls_that_take_long(db, call):
    """As Ctrl-C does, and what a handler raises comes out of the call."""
    texts = [f"a rather long text with the number {i} in it" for i in range(200_000)]
    table = db.create_table("t", {"text": texts}, max_rows_per_fragment=60_000)

    def handler(number, frame):
        raise Interrupted

    def kill_when_it_writes():
        while not any(Path(table.path, "data").glob("*.tmp")):
            pass
        signal.pthread_kill(threading.main_thread().ident, signal.SIGUSR1)

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with pytest.raises(Interrupted):
            threading.Thread(target=kill_when_it_writes).start()
            INTERRUPTED[call](table)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert db.open_table("t").version == 1
    assert db.open_table("t").schema.names == ["text"]
