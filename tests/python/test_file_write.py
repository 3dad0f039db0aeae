# SPDX-License-Identifier: Apache-2.0
"""leman writes, pylance reads: every type, every encoding, as a file and in a table."""

import tempfile
from dataclasses import dataclass
from pathlib import Path

import lance
import lance_files
import lance_pages
import lance_tables
import leman
import numpy as np
import projections
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import strategies
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from lance.file import LanceFileReader
from pyarrow import types
from tables import check_same

import examples

VERSIONS = ("2.1", "2.2")
NOT_WRITTEN = ("variable_packed_structs", "coded_packed_structs")
CASES = [
    (ex, version)
    for ex in examples.EXAMPLES
    for version in ex.versions
    if version in VERSIONS and ex.name not in NOT_WRITTEN
]
CASE_NAMES = [f"{ex.name}-{version}" for ex, version in CASES]


FEWER = settings(max_examples=settings.default.max_examples // 4)


@dataclass(frozen=True)
class Writing:
    """How a table is written."""

    version: str = "2.1"
    compression: str | None = None
    page_bytes: int | None = None
    batch_rows: int = 0
    sliced: bool = False  # batches are slices of the table, not arrays of their own
    threads: int = 1

    def write(self, path, table):
        options = {
            "version": self.version,
            "compression": self.compression,
            "page_bytes": self.page_bytes,
            "threads": self.threads,
            "sync": False,
        }
        with leman.FileWriter(path, table.schema, **options) as writer:
            if self.sliced:
                for batch in table.to_batches(max_chunksize=self.batch_rows or None):
                    writer.write(batch)
            else:
                writer.write(lance_files.cut(table, self.batch_rows))
        return path


def writings(version):
    return st.builds(
        Writing,
        version=st.just(version),
        compression=st.sampled_from([None, None, "zstd", "zstd:1"]),
        page_bytes=st.sampled_from([None, 1024, 5000]),
        batch_rows=st.sampled_from([0, 1, 100, 999]),
        sliced=st.booleans(),
        threads=st.sampled_from([1, 2]),
    )


def drawn(version, **limits):
    """A table and how to write it."""
    return st.tuples(strategies.tables(version, **limits), writings(version))


def has_fixed_structs(kind):
    return types.is_fixed_size_list(kind) and types.is_struct(kind.value_type)


def column_sets(schema):
    """pylance's file reader takes fixed-size lists of structs for longer than other columns."""
    if any(has_fixed_structs(field.type) for field in schema):
        return [[field.name] for field in schema]
    return [None]


def row_numbers(count, seed):
    """Some rows, as pylance wants them: ascending."""
    rng = np.random.default_rng(seed)
    return sorted({*rng.integers(0, count, min(count, 30)).tolist(), 0, count - 1} if count else [])


def part(table, columns):
    return table if columns is None else table.select(columns)


def check_lance_reads(path, table, seed=0):
    rows = row_numbers(table.num_rows, seed)
    for columns in column_sets(table.schema):
        reader = LanceFileReader(str(path), columns=columns)
        expected = part(table, columns)
        assert reader.metadata().num_rows == table.num_rows or columns is not None
        check_same(reader.read_all(batch_size=700).to_table(), expected)
        if not rows:
            continue
        check_same(reader.take_rows(rows).to_table(), expected.take(pa.array(rows)))
        start = rows[len(rows) // 2]
        found = reader.read_range(start, table.num_rows - start).to_table()
        check_same(found, expected.slice(start).combine_chunks())


def check_leman_reads(path, table, seed=0):
    file = leman.LanceFile(path)
    rows = row_numbers(table.num_rows, seed)
    check_same(file.scan(blobs="bytes", threads=1).to_arrow(), table)
    got = pa.Table.from_batches([file.take(rows, blobs="bytes").to_arrow()])
    check_same(got, table.take(pa.array(rows, pa.int64())))


def check_written(plan, writing):
    table = plan.table()
    with tempfile.TemporaryDirectory() as folder:
        path = writing.write(Path(folder, "drawn.lance"), table)
        check_leman_reads(path, table, plan.seed)
        check_lance_reads(path, table, plan.seed)


@given(drawn("2.1"))
def test_drawn_table__is_read_from_2_1(drawn):
    check_written(*drawn)


@given(drawn("2.2"))
def test_drawn_table__is_read_from_2_2(drawn):
    check_written(*drawn)


@pytest.mark.soak
@given(
    st.sampled_from(VERSIONS).flatmap(
        lambda version: drawn(version, rows_max=40_000, columns_max=3)
    )
)
def test_drawn_table__is_read(drawn):
    check_written(*drawn)


@pytest.mark.parametrize(("ex", "version"), CASES, ids=CASE_NAMES)
def test_example__is_read(tmp_path, ex, version):
    table = ex.table()
    path = Writing(version, page_bytes=100_000).write(tmp_path / "a.lance", table)
    check_leman_reads(path, table)
    check_lance_reads(path, table)


def struct(**fields):
    return pa.struct([pa.field(name, kind) for name, kind in fields.items()])


STRICT = pa.struct([pa.field("a", pa.int8(), nullable=False)])
BYTES = pa.list_(pa.int8())
# Nulls of structs around lists, and in pages that have no values.
NULL_STRUCTS = {
    "list": ([{"a": [1, None]}, None, {"a": [3]}], struct(a=BYTES)),
    "struct of list": (
        [{"b": {"a": [1, None]}}, None, {"b": {"a": [3]}}],
        struct(b=struct(a=BYTES)),
    ),
    "list of list": ([{"a": [[1, None], [4]]}, None, {"a": [[3]]}], struct(a=pa.list_(BYTES))),
    "in a list": ([[{"a": [1, None]}, None], [{"a": [3]}]], pa.list_(struct(a=BYTES))),
    "list of structs": ([{"a": [{"x": 1}, None]}, None], struct(a=pa.list_(struct(x=pa.int8())))),
    "no values": ([None, None], struct(b=STRICT)),
    "no dictionary": ([None, None], struct(b=pa.dictionary(pa.int8(), pa.string()))),
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", NULL_STRUCTS)
def test_null_structs__are_read(tmp_path, name, version):
    table = pa.table({"a": pa.array(*NULL_STRUCTS[name])})
    path = Writing(version).write(tmp_path / "a.lance", table)
    check_leman_reads(path, table)
    check_lance_reads(path, table)


def check_plan(tmp_path, plan, writing, rows=500):
    table = strategies.TablePlan((strategies.Column(plan),), rows, 5).table()
    path = writing.write(tmp_path / "a.lance", table)
    check_leman_reads(path, table)
    check_lance_reads(path, table)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("size", (2, 130))
@pytest.mark.parametrize("nulls", ("none", "few"))
def test_fixed_lists__of_the_null_type_are_read(tmp_path, nulls, size, version):
    items = strategies.Leaf(pa.null())
    check_plan(tmp_path, strategies.Fixed(items, size, nulls), Writing(version))


@pytest.mark.parametrize("version", VERSIONS)
def test_fixed_lists__with_null_items_are_read_with_zstd(tmp_path, version):
    items = strategies.Leaf(pa.int32(), "half", "few")
    check_plan(tmp_path, strategies.Fixed(items, 3, "few"), Writing(version, "zstd"))


def test_fixed_lists__of_structs_are_read_from_pages_with_and_without_nulls(tmp_path):
    items = strategies.Struct((strategies.Leaf(pa.int32()),))
    plan = strategies.Fixed(items, 10, "few")
    check_plan(tmp_path, plan, Writing("2.2", page_bytes=1024))


def struct_paths(fields, prefix=""):
    """Paths that pylance's file reader knows: it looks through no lists."""
    for field in fields:
        yield prefix + field.name
        if types.is_struct(field.type) and not projections.is_packed(field):
            yield from struct_paths(field.type, f"{prefix}{field.name}.")


def check_projection(plan, writing, data):
    table = plan.table()
    chosen = data.draw(st.sampled_from(list(struct_paths(table.schema))))
    expected = projections.part(table, [chosen])
    with tempfile.TemporaryDirectory() as folder:
        path = writing.write(Path(folder, "drawn.lance"), table)
        reader = LanceFileReader(str(path), columns=[chosen])
        check_same(reader.read_all().to_table(), expected)


@FEWER
@given(st.sampled_from(VERSIONS).flatmap(lambda version: drawn(version, rows_max=300)), st.data())
def test_projection__is_read(drawn, data):
    check_projection(*drawn, data)


def check_table(plan, writing):
    """The file is a part of a table of pylance."""
    table = plan.table()
    assume(len(column_sets(table.schema)) == 1)
    count = table.num_rows
    with tempfile.TemporaryDirectory() as folder:
        path = writing.write(Path(folder, "drawn.lance"), table)
        made = lance_tables.table_of(Path(folder, "t"), path, table.schema, writing.version, count)
        assert made.count_rows() == count
        expected = table.replace_schema_metadata(made.schema.metadata)
        check_same(made.to_table(), expected)
        rows = row_numbers(count, plan.seed)
        check_same(made.take(rows), expected.take(pa.array(rows, pa.int64())))


@FEWER
@given(st.sampled_from(VERSIONS).flatmap(drawn))
def test_table__of_a_drawn_file_is_read(drawn):
    check_table(*drawn)


@pytest.mark.parametrize("version", VERSIONS)
def test_table__is_filtered(tmp_path, version):
    table = pa.table(
        {
            "n": pa.array(np.arange(5000) % 97),
            "s": examples.words(5000),
            "l": pa.array([[i] * (i % 3) for i in range(5000)]),
        }
    )
    writing = Writing(version, "zstd", page_bytes=4096, batch_rows=700)
    path = writing.write(tmp_path / "a.lance", table)
    made = lance_tables.table_of(tmp_path / "t", path, table.schema, version, 5000)
    found = made.to_table(filter="n = 5 AND s > 'm'", columns=["s", "l"])
    mask = pc.and_(pc.equal(table["n"], 5), pc.greater(table["s"], "m"))
    expected = table.filter(mask).select(["s", "l"]).combine_chunks()
    assert 0 < expected.num_rows < 100
    check_same(found, expected)


BLOB = {"lance-encoding:blob": "true"}
INLINE, PACKED, DEDICATED = 60_000, 70_000, (4 << 20) + 1


def blob_table(sizes):
    rng = np.random.default_rng(0)
    values = [None if size is None else rng.bytes(size) for size in sizes]
    field = pa.field("b", pa.large_binary(), metadata=BLOB)
    schema = pa.schema([pa.field("n", pa.int64()), field])
    columns = [pa.array(np.arange(len(values))), pa.array(values, pa.large_binary())]
    return values, pa.Table.from_arrays(columns, schema=schema)


def check_blobs(made, values):
    rows = [row for row, value in enumerate(values) if value is not None]
    found = [blob.readall() for blob in made.take_blobs("b", indices=rows)]
    assert found == [values[row] for row in rows]


def test_blobs__of_2_1_are_read_from_a_table(tmp_path):
    values, table = blob_table([3, 0, None, INLINE, PACKED, DEDICATED, 1, None])
    path = Writing("2.1", batch_rows=3).write(tmp_path / "a.lance", table)
    check_leman_reads(path, table)
    made = lance_tables.table_of(tmp_path / "t", path, table.schema, "2.1", table.num_rows)
    check_blobs(made, values)


def test_blobs__of_2_2_are_read_from_a_table(tmp_path):
    values, table = blob_table(
        [3, 0, None, INLINE, PACKED, DEDICATED, 65_536, 65_537, None, PACKED]
    )
    path = Writing("2.2", batch_rows=3).write(tmp_path / "a.lance", table)
    assert leman.LanceFile(path).scan(blobs="bytes").to_arrow()["b"].to_pylist() == values
    assert len(list((tmp_path / "a").iterdir())) == 2  # one file of several, one of its own
    schema = pa.schema([table.schema.field("n"), lance.blob_field("b")])
    made = lance_tables.table_of(tmp_path / "t", path, schema, "2.2", table.num_rows, [0, 1])
    check_blobs(made, values)
    assert made.to_table(columns=["n"])["n"].to_pylist() == list(range(len(values)))


def numbers(count, top):
    return np.random.default_rng(0).integers(0, top, count)


RANDOM = np.random.default_rng(1).bytes(80_000)
TEXT = pa.array([f"row {i} of some text" for i in range(5000)])
ENCODINGS = {
    "flat": (pa.array(np.frombuffer(RANDOM, np.int64)), {}, "mini-block values flat"),
    "bits": (pa.array(numbers(5000, 2) == 1), {}, "mini-block values flat1"),
    "bitpacking": (pa.array(numbers(5000, 100)), {}, "mini-block values inline_bitpacking"),
    "rle": (pa.array(np.repeat(numbers(50, 1 << 40), 100)), {}, "mini-block values rle(flat)"),
    "variable": (TEXT, {}, "mini-block values variable"),
    "dictionary": (TEXT.take(pa.array(numbers(5000, 9))), {}, "mini-block dictionary variable"),
    "nulls": (pa.nulls(100, pa.int32()), {}, "constant nulls"),
    "constant": (pa.array([7] * 5000), {"version": "2.2"}, "constant inline value"),
    "full-zip": (
        pa.array([RANDOM[i : i + 300] for i in range(500)]),
        {},
        "full-zip variable variable",
    ),
    "vectors": (
        pa.FixedSizeListArray.from_arrays(pa.array(np.arange(12_800, dtype=np.float32)), 128),
        {},
        "full-zip fixed fixed_size_list(flat)",
    ),
    "zstd": (TEXT, {"compression": "zstd"}, "mini-block values zstd(variable)"),
    "zstd large": (
        pa.array(["abc" * 200] * 100),
        {"compression": "zstd:9"},
        "full-zip variable zstd(variable)",
    ),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_encoding__is_chosen_by_the_data(tmp_path, name):
    array, options, wanted = ENCODINGS[name]
    table = pa.table({"a": array})
    path = Writing(**options).write(tmp_path / "a.lance", table)
    version = options.get("version", "2.1")
    assert f"{version} {wanted}" in lance_pages.features(path)
    check_lance_reads(path, table)


def fixed_list_of_structs():
    return pa.list_(pa.struct({"x": pa.int8()}), 2)


REFUSED = {
    "map": ("2.1", pa.map_(pa.string(), pa.int32()), "maps need file version 2.2"),
    "structs": ("2.1", fixed_list_of_structs(), "fixed-size lists of structs need file version"),
    "lists of them": ("2.2", pa.list_(fixed_list_of_structs()), "no place for lists around"),
    "lists in them": (
        "2.2",
        pa.list_(pa.struct({"x": pa.list_(pa.int8())}), 2),
        "no place for lists around or inside",
    ),
    "two around structs": (
        "2.2",
        pa.list_(fixed_list_of_structs(), 3),
        "no place for structs inside of two fixed-size lists",
    ),
    "empty struct": ("2.2", pa.struct([]), "structs without fields"),
    "fixed strings": ("2.2", pa.list_(pa.string(), 2), ""),
    "union": ("2.2", pa.dense_union([pa.field("x", pa.int8())]), ""),
    "list view": ("2.2", pa.list_view(pa.int8()), ""),
    "interval": ("2.2", pa.month_day_nano_interval(), ""),
    "run ends": ("2.2", pa.run_end_encoded(pa.int32(), pa.int8()), ""),
    "decimal": ("2.2", pa.decimal32(5, 1), ""),
    "dictionary": ("2.2", pa.dictionary(pa.int8(), pa.date32()), ""),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.parametrize("deep", (False, True))
def test_type__without_a_place_is_refused_by_name(tmp_path, name, deep):
    version, kind, reason = REFUSED[name]
    field = pa.field("culprit", kind)
    if deep:
        field = pa.field("around", pa.struct([pa.field("fine", pa.int8()), field]))
    with pytest.raises(leman.UnsupportedError) as caught:
        leman.FileWriter(tmp_path / "a.lance", pa.schema([field]), version=version)
    assert "culprit" in str(caught.value) and reason in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NOT_WRITTEN)
def test_packed_struct__of_strings_is_refused_by_name(tmp_path, name):
    table = next(ex for ex in examples.EXAMPLES if ex.name == name).table()
    with pytest.raises(leman.UnsupportedError, match='column "a".*packed struct'):
        leman.write_file(tmp_path / "a.lance", table, version="2.2")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", (pa.string_view(), pa.binary_view()))
def test_views__become_plain_strings(tmp_path, version, kind):
    values = [b"short", None, b"", b"a string of more than twelve bytes"] * 300
    values = [value and value.decode() if kind == pa.string_view() else value for value in values]
    plain = pa.string() if kind == pa.string_view() else pa.binary()
    path = Writing(version).write(tmp_path / "a.lance", pa.table({"a": pa.array(values, kind)}))
    check_lance_reads(path, pa.table({"a": pa.array(values, plain)}))
