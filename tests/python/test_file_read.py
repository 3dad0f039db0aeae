# SPDX-License-Identifier: Apache-2.0
"""pylance writes, leman.LanceFile reads: every type, every encoding, every way to read."""

import itertools
import tempfile
from pathlib import Path

import lance
import lance_files
import lance_pages
import leman
import numpy as np
import projections
import pyarrow as pa
import pytest
import strategies
from hypothesis import assume, given
from hypothesis import strategies as st
from tables import check_same

import examples

VERSIONS = ("2.0", "2.1", "2.2")
CASES = [(ex, version) for ex in examples.EXAMPLES for version in ex.versions]
CASE_NAMES = [f"{ex.name}-{version}" for ex, version in CASES]

# Every layout and encoding of lance-format.md, sections 5 to 7.
OLD_FEATURES = """
    array all_null
    array binary(flat, flat)
    array binary(flat, lz4(flat))
    array binary(flat, none(flat))
    array binary(flat, zstd(flat))
    array dictionary(flat, binary(flat, flat))
    array dictionary(flat, nullable(flat))
    array dictionary(flat, nullable(flat1))
    array fixed_size_list(all_null)
    array fixed_size_list(fixed_size_list(nullable(flat)))
    array fixed_size_list(flat)
    array fixed_size_list(flat1)
    array flat
    array flat1
    array fsst(binary(flat, flat))
    array list(flat)
    array nullable(fixed_size_list(flat))
    array nullable(fixed_size_list(nullable(flat)))
    array nullable(flat)
    array nullable(flat1)
    array packed_struct
    array struct
"""
NEW_FEATURES = """
    constant nulls
    constant nulls with levels
    full-zip def
    full-zip fixed fixed_size_list(flat)
    full-zip fixed fixed_size_list?(constant)
    full-zip fixed fixed_size_list?(flat)
    full-zip fixed flat
    full-zip rep
    full-zip variable fsst(variable)
    full-zip variable variable
    full-zip variable zstd(variable)
    mini-block def flat
    mini-block def inline_bitpacking
    mini-block def out_of_line_bitpacking
    mini-block dictionary inline_bitpacking
    mini-block dictionary out_of_line_bitpacking
    mini-block dictionary variable
    mini-block rep inline_bitpacking
    mini-block values byte_stream_split(flat)
    mini-block values fixed_size_list(fixed_size_list?(flat))
    mini-block values fixed_size_list(flat)
    mini-block values fixed_size_list(flat1)
    mini-block values fixed_size_list?(flat)
    mini-block values flat
    mini-block values flat1
    mini-block values fsst(variable)
    mini-block values inline_bitpacking
    mini-block values lz4(byte_stream_split(flat))
    mini-block values lz4(flat)
    mini-block values lz4(variable)
    mini-block values packed_struct
    mini-block values rle(flat)
    mini-block values variable
    mini-block values zstd(byte_stream_split(flat))
    mini-block values zstd(flat)
    mini-block values zstd(variable)
"""
FEATURES_OF_2_1 = """
    blob
    blob mini-block values packed_struct
    mini-block dictionary flat
    mini-block dictionary flat1
    mini-block rep flat
    mini-block rep out_of_line_bitpacking
"""
FEATURES_OF_2_2 = """
    constant def inline_bitpacking
    constant def out_of_line_bitpacking
    constant def rle(flat)
    constant inline value
    constant inline value with levels
    constant rep inline_bitpacking
    constant rep rle(flat)
    constant value buffer
    constant value buffer with levels
    full-zip variable variable_packed_struct(flat, variable)
    full-zip variable variable_packed_struct(fsst(variable), zstd(variable), \
fixed_size_list(flat), fixed_size_list?(flat))
    mini-block def rle(flat)
    mini-block dictionary lz4(flat)
    mini-block dictionary lz4(flat1)
    mini-block dictionary lz4(variable)
    mini-block dictionary rle(flat)
    mini-block dictionary zstd(variable)
    mini-block rep rle(flat)
"""
FEATURES = {
    "2.0": OLD_FEATURES,
    "2.1": NEW_FEATURES + FEATURES_OF_2_1,
    "2.2": NEW_FEATURES + FEATURES_OF_2_2,
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Path of the file of an example, which is written when it is first asked for."""
    folder = tmp_path_factory.mktemp("examples")

    def file(ex, version):
        path = folder / f"{ex.name}-{version}.lance"
        if not path.exists():
            lance_files.write(path, ex.table(), version, ex.batch_rows, ex.page_bytes)
        return path

    return file


def example(name):
    return next(ex for ex in examples.EXAMPLES if ex.name == name)


def taken(file, rows, **options):
    return pa.Table.from_batches([file.take(rows, **options).to_arrow()])


def check_scans(file, expected, batch_sizes, columns=None):
    for batch_size, threads in itertools.product(batch_sizes, (1, 2, 3)):
        scan = file.scan(columns, batch_size=batch_size, threads=threads, blobs="bytes")
        check_same(scan.to_arrow(), expected)


def check_ranges(file, expected, rng):
    count = expected.num_rows
    cuts = sorted(rng.integers(0, count + 1, 2).tolist())
    for start, stop in ((0, count), (0, min(1, count)), (max(0, count - 1), count), cuts):
        scan = file.scan(rows=range(start, stop), blobs="bytes", batch_size=700)
        check_same(scan.to_arrow(), expected.slice(start, stop - start).combine_chunks())


def check_takes(file, expected, rng):
    count = expected.num_rows
    requests = [np.array([], np.uint64)]
    if count:
        some = rng.integers(0, count, min(count, 40))
        requests += [
            np.unique(some),
            some,
            np.repeat(some[:5], 3),
            np.arange(count - 1, -1, -1)[:300],
            np.array([0, count - 1]),
        ]
    for rows in requests:
        check_same(taken(file, rows, blobs="bytes"), expected.take(pa.array(rows, pa.int64())))


def check_reads(file, expected, seed=0):
    """Everything a file can be asked for gives rows of the table that was written."""
    rng = np.random.default_rng(seed)
    count = expected.num_rows
    assert (file.num_rows, len(file)) == (count, count)
    check_scans(file, expected, (max(1, count // 5), 1000, 1 << 30))
    check_ranges(file, expected, rng)
    check_takes(file, expected, rng)


@pytest.mark.parametrize(("ex", "version"), CASES, ids=CASE_NAMES)
def test_example__is_read(files, ex, version):
    file = leman.LanceFile(files(ex, version))
    table = ex.table()
    assert file.version == version
    check_reads(file, table)
    for name in table.column_names:
        check_scans(file, table.select([name]), (1000,), [name])


@pytest.mark.parametrize("version", VERSIONS)
def test_examples__have_every_encoding(files, version):
    found = set()
    for ex, written in CASES:
        if written == version:
            found |= lance_pages.features(files(ex, version))
    lines = map(str.strip, FEATURES[version].splitlines())
    wanted = {f"{version} {line}" for line in lines if line}
    assert wanted - found == set()


def write_drawn(folder, plan, version):
    """Write a drawn table; what pylance itself cannot write is no example."""
    path = Path(folder, "drawn.lance")
    try:
        return path, lance_files.write_plan(path, plan, version)
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        assume(False)


def check_drawn(plan, version):
    with tempfile.TemporaryDirectory() as folder:
        path, table = write_drawn(folder, plan, version)
        check_reads(leman.LanceFile(path), table, plan.seed)


@given(strategies.tables("2.0"))
def test_drawn_table__is_read_from_2_0(plan):
    check_drawn(plan, "2.0")


@given(strategies.tables("2.1"))
def test_drawn_table__is_read_from_2_1(plan):
    check_drawn(plan, "2.1")


@given(strategies.tables("2.2"))
def test_drawn_table__is_read_from_2_2(plan):
    check_drawn(plan, "2.2")


@pytest.mark.soak
@given(st.sampled_from(VERSIONS).flatmap(
    lambda version: st.tuples(strategies.tables(version, 40_000, 3), st.just(version))
))  # fmt: skip
def test_drawn_table__is_read(drawn):
    check_drawn(*drawn)


def check_projection(plan, version, data):
    with tempfile.TemporaryDirectory() as folder:
        path, table = write_drawn(folder, plan, version)
        possible = list(projections.paths(table.schema))
        chosen = []
        for name in data.draw(st.lists(st.sampled_from(possible), min_size=1, unique=True)):
            apart = (f"{name}.".startswith(f"{other}.") for other in chosen)
            within = (f"{other}.".startswith(f"{name}.") for other in chosen)
            if not any(apart) and not any(within):
                chosen.append(name)
        expected = projections.part(table, chosen)
        file = leman.LanceFile(path)
        check_scans(file, expected, (100,), chosen)
        rows = np.random.default_rng(plan.seed).integers(0, max(1, plan.rows), min(plan.rows, 20))
        check_same(taken(file, rows, columns=chosen), expected.take(pa.array(rows, pa.int64())))


def nested_tables(version):
    """Two columns that have parts."""
    column = st.builds(strategies.Column, strategies.nested(version, 3))
    return st.builds(
        strategies.TablePlan,
        columns=st.lists(column, min_size=1, max_size=2).map(tuple),
        rows=st.integers(0, 300),
        seed=st.integers(0, 2**32),
        page_bytes=st.sampled_from([0, 1]),
        batch_rows=st.sampled_from([0, 100]),
    )


@given(st.sampled_from(VERSIONS).flatmap(
    lambda version: st.tuples(nested_tables(version), st.just(version))
), st.data())  # fmt: skip
def test_projection__reads_parts_of_columns(drawn, data):
    check_projection(*drawn, data)


# Tables of many rows, whose columns run over many chunks and several pages.
BIG = {
    "numbers": [
        strategies.Leaf(pa.int64(), "few", "wide"),
        strategies.Leaf(pa.int32(), "none", "small"),
        strategies.Leaf(pa.float32(), "half", "runs"),
    ],
    "strings": [
        strategies.Leaf(pa.string(), "few", "wide", "medium"),
        strategies.Leaf(pa.large_binary(), "none", "few", "mixed"),
        strategies.Leaf(pa.dictionary(pa.int16(), pa.string()), "few", "wide", "medium"),
    ],
    "lists": [
        strategies.List(strategies.Leaf(pa.int16(), "few", "small"), "few", "short"),
        strategies.List(strategies.Leaf(pa.string(), "few", "wide"), "most", "rare"),
        strategies.List(
            strategies.Struct((strategies.Leaf(pa.uint8()), strategies.Leaf(pa.string(), "half"))),
            "half",
            "short",
        ),
    ],
    "vectors": [
        strategies.Fixed(strategies.Leaf(pa.float32(), "none"), 8, "few"),
        strategies.Fixed(strategies.Leaf(pa.float16(), "few"), 4, "none"),
        strategies.Fixed(strategies.Leaf(pa.bool_(), "half"), 3, "half"),
    ],
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", BIG)
def test_big_table__is_read(tmp_path, kind, version):
    columns = tuple(strategies.Column(plan) for plan in BIG[kind])
    plan = strategies.TablePlan(columns, 50_000, 7, batch_rows=9000, page_bytes=300_000)
    table = lance_files.write_plan(tmp_path / "big.lance", plan, version)
    file = leman.LanceFile(tmp_path / "big.lance")
    check_scans(file, table, (8192, 49_999))
    check_ranges(file, table, np.random.default_rng(1))
    check_takes(file, table, np.random.default_rng(2))


@pytest.mark.parametrize("version", ("2.1", "2.2"))
def test_lists__mostly_empty_fill_pages_with_levels(tmp_path, version):
    lengths = np.zeros(150_000, np.int64)
    lengths[[5, 140_000]] = [2, 70_000]
    ends = pa.array(strategies.offsets_of(lengths))
    array = pa.ListArray.from_arrays(ends, pa.array(np.arange(70_002) % 1000))
    table = pa.table({"a": array})
    lance_files.write(tmp_path / "a.lance", table, version)
    file = leman.LanceFile(tmp_path / "a.lance")
    check_scans(file, table, (8192, 1 << 20))
    rows = [140_000, 0, 149_999, 5, 139_999, 140_001]
    check_same(taken(file, rows), table.take(pa.array(rows)))


def blob_table(values):
    field = pa.field("blob", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    return pa.Table.from_arrays(
        [pa.array(np.arange(len(values))), pa.array(values, pa.large_binary())],
        schema=pa.schema([pa.field("number", pa.int64()), field]),
    )


def data_file(root):
    (path,) = Path(root, "data").glob("*.lance")
    return path


@pytest.mark.parametrize("version", VERSIONS[1:])
@pytest.mark.parametrize("kind", ["binary", "list of binaries", "embedding"])
def test_large_values__stay_where_they_are_read_to(tmp_path, kind, version):
    """Ranges of one row, of several, and far apart; among them nulls and values of no bytes."""
    rng = np.random.default_rng(5)
    sizes = rng.choice([0, 1, 4000, 9000, 30000], 400)
    values = [None if i % 7 == 3 else rng.bytes(size) for i, size in enumerate(sizes)]
    if kind == "binary":
        column = pa.array(values)
    elif kind == "list of binaries":
        column = pa.array([None if i % 11 == 5 else values[i : i + i % 4] for i in range(400)])
    else:
        floats = pa.array(rng.random(400 * 1024, "f4"))
        column = pa.FixedSizeListArray.from_arrays(floats, 1024)
    table = pa.table({"c": column})
    path = tmp_path / "large.lance"
    lance_files.write(path, table, version, 64, None)
    check_reads(leman.LanceFile(path), table)


# Sizes that 2.2 tables keep in the data file, pack into a side file, and give a file of their own.
INLINE, PACKED, DEDICATED = 60_000, 70_000, (4 << 20) + 1


@pytest.mark.parametrize("version", VERSIONS)
def test_blobs__are_read_as_bytes(tmp_path, version):
    rng = np.random.default_rng(0)
    sizes = [3, 0, None, INLINE, PACKED, DEDICATED, 65_536, 65_537, None, 1, PACKED]
    values = [None if size is None else rng.bytes(size) for size in sizes]
    table = blob_table(values)
    lance.write_dataset(table, tmp_path / "t", data_storage_version=version)
    file = leman.LanceFile(data_file(tmp_path / "t"))
    for scan in (
        file.scan(blobs="bytes"),
        file.scan(blobs="bytes", batch_size=2, threads=2),
    ):
        assert scan.to_arrow()["blob"].to_pylist() == values
    rows = [10, 5, 2, 2, 0, 4]
    got = taken(file, rows, columns=["blob"], blobs="bytes")
    assert got["blob"].to_pylist() == [values[row] for row in rows]
    assert got.schema.field("blob").type == pa.large_binary()


@pytest.mark.parametrize("version", VERSIONS)
def test_blobs__are_described(tmp_path, version):
    values = [b"abc", None, b"", b"x" * PACKED, b"y" * DEDICATED]
    lance.write_dataset(blob_table(values), tmp_path / "t", data_storage_version=version)
    file = leman.LanceFile(data_file(tmp_path / "t"))
    found = file.to_arrow()["blob"].to_pylist()
    assert [blob and blob["size"] for blob in found] == [3, None, 0, PACKED, DEDICATED]
    if version == "2.2":
        assert [blob["kind"] for blob in found if blob] == [0, 0, 1, 2]
    data = data_file(tmp_path / "t").read_bytes()
    assert data[found[0]["position"] :][:3] == b"abc"


def test_blobs__in_structs_are_read(tmp_path):
    values = [{"data": b"one"}, None, {"data": None}, {"data": b""}, {"data": b"x" * 5000}]
    inner = pa.field("data", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    table = pa.table({"a": pa.array(values, pa.struct([inner]))})
    lance_files.write(tmp_path / "a.lance", table, "2.1")
    file = leman.LanceFile(tmp_path / "a.lance")
    assert file.scan(blobs="bytes").to_arrow().to_pylist() == table.to_pylist()


@pytest.mark.parametrize("version", VERSIONS)
def test_table_files__are_read(tmp_path, version):
    """The files of a table: several fragments, columns added later."""
    table = pa.table({"a": pa.array(np.arange(300)), "b": examples.words(300)})
    root = tmp_path / "t"
    made = lance.write_dataset(table, root, max_rows_per_file=100, data_storage_version=version)
    made.add_columns({"c": "a * 2"})
    found = {}
    for fragment in made.get_fragments():
        for data in fragment.data_files():
            file = leman.LanceFile(root / "data" / data.path)
            for name in file.schema.names:
                found.setdefault(name, []).extend(file.to_arrow()[name].to_pylist())
    assert found == made.to_table().to_pydict()


def test_fixed_list__items_are_stored_without_a_field(tmp_path):
    item = pa.field("x", pa.int32(), nullable=False, metadata={"k": "v"})
    table = pa.table({"a": pa.array([[1, 2], [3, 4]], pa.list_(item, 2))})
    lance_files.write(tmp_path / "a.lance", table, "2.1")
    found = leman.LanceFile(tmp_path / "a.lance").to_arrow()
    assert found.schema.field("a").type == pa.list_(pa.field("item", pa.int32()), 2)
    assert found.to_pylist() == table.to_pylist()


@pytest.mark.parametrize("version", VERSIONS)
def test_bfloat16__keeps_its_type(tmp_path, version):
    metadata = {"ARROW:extension:name": "lance.bfloat16", "ARROW:extension:metadata": ""}
    item = pa.field("item", pa.binary(2), metadata=metadata)
    table = pa.table({"a": pa.array([[b"ab", b"cd"], None], pa.list_(item, 2))})
    lance_files.write(tmp_path / "a.lance", table, version)
    found = leman.LanceFile(tmp_path / "a.lance").to_arrow()
    kind = found.schema.field("a").type.value_field
    assert kind.metadata[b"ARROW:extension:name"] == b"lance.bfloat16"
    assert found.to_pylist() == table.to_pylist()


@pytest.mark.parametrize("version", VERSIONS)
def test_json__is_a_large_binary_that_says_so(tmp_path, version):
    table = pa.table({"a": pa.array(["{}", None, "[1]"], pa.json_(pa.utf8()))})
    lance_files.write(tmp_path / "a.lance", table, version)
    found = leman.LanceFile(tmp_path / "a.lance").to_arrow()
    assert found.schema.field("a").type == pa.large_binary()
    assert found.schema.field("a").metadata[b"ARROW:extension:name"] == b"lance.json"
    assert [value.as_py() is None for value in found["a"]] == [False, True, False]


def test_views__come_back_as_plain_strings(tmp_path):
    table = pa.table({"a": pa.array(["x", None, "a longer string"], pa.string_view())})
    lance_files.write(tmp_path / "a.lance", table, "2.1")
    check_same(
        leman.LanceFile(tmp_path / "a.lance").to_arrow(),
        pa.table({"a": pa.array(["x", None, "a longer string"])}),
    )


def test_empty_fixed_binary__is_read(tmp_path):
    """pylance writes these in 2.2 only such that it can read them itself."""
    table = pa.table({"a": pa.array([b"", None, b""], pa.binary(0))})
    lance_files.write(tmp_path / "a.lance", table, "2.2")
    check_same(leman.LanceFile(tmp_path / "a.lance").to_arrow(), table)


def test_projection__order_is_that_of_the_request(files):
    ex = example("short_strings")
    names = ["nulls", "empty", "string"]
    scan = leman.LanceFile(files(ex, "2.1")).scan(names)
    assert scan.schema.names == names
    check_same(scan.to_arrow(), ex.table().select(names))


def test_projection__of_nothing_has_rows(files):
    ex = example("short_strings")
    file = leman.LanceFile(files(ex, "2.1"))
    batches = list(file.scan([], batch_size=10))
    assert [(batch.num_rows, batch.num_columns) for batch in batches] == [(10, 0)] * 4


@pytest.mark.parametrize(
    ("name", "error"),
    [
        ("z", leman.NotFoundError),
        ("a.z", leman.NotFoundError),
        ("a.x.y", leman.NotFoundError),
        ("", leman.NotFoundError),
    ],
)
def test_projection__unknown_name_is_refused(files, name, error):
    ex = example("structs")
    file = leman.LanceFile(files(ex, "2.1"))
    with pytest.raises(error, match="no column"):
        file.scan([name])
    with pytest.raises(error, match="no column"):
        file.take([0], [name])


def test_projection__parts_of_a_packed_struct_cannot_be_read_alone(files):
    ex = example("packed_structs")
    with pytest.raises(leman.NotFoundError, match="no column"):
        leman.LanceFile(files(ex, "2.1")).scan(["a.x"])


def test_projection__parts_of_a_map_cannot_be_read_alone(files):
    ex = example("maps")
    with pytest.raises(leman.NotFoundError, match="no column"):
        leman.LanceFile(files(ex, "2.2")).scan(["a.value"])


def test_projection__twice_the_same_is_refused(files):
    ex = example("structs")
    file = leman.LanceFile(files(ex, "2.1"))
    for names in (["a", "a"], ["a", "a.x"], ["a.x", "a"], ["a.x", "a.x"]):
        with pytest.raises(leman.InvalidError, match="twice"):
            file.scan(names)


def test_rows__outside_the_file_are_refused(files):
    ex = example("one_row")
    file = leman.LanceFile(files(ex, "2.1"))
    with pytest.raises(ValueError, match="rows 0 to 2"):
        file.scan(rows=range(0, 2))
    with pytest.raises(leman.InvalidError, match="row 1 of a file of 1"):
        file.take([0, 1])
    with pytest.raises(ValueError):
        file.take([-1])
    with pytest.raises(TypeError):
        file.take(np.array([0.5]))
    with pytest.raises(TypeError, match="step 1"):
        file.scan(rows=slice(None, None, -1))


def test_scan__may_be_left_early_and_read_twice(files):
    ex = example("small_numbers")
    scan = leman.LanceFile(files(ex, "2.1")).scan(batch_size=10, threads=3)
    assert next(iter(scan)).num_rows == 10
    assert sum(batch.num_rows for batch in scan) == ex.table().num_rows
    check_same(pa.table(scan), ex.table())
