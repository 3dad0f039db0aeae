# SPDX-License-Identifier: Apache-2.0
"""Small tables that make pylance use every layout and encoding of Lance files.

Each example is a function that returns a table; `versions` says which file versions it is for. They
need numpy and pyarrow only and no new features of either, so that any pylance can write them:
tests/golden/make.py does, with old releases. Values are the same in every run.
"""

from typing import NamedTuple

import numpy as np
import pyarrow as pa

ALL = ("2.0", "2.1", "2.2")
NEW = ("2.1", "2.2")


class Example(NamedTuple):
    name: str
    make: object
    versions: tuple
    batch_rows: int = 0  # rows per write; 0: all at once
    page_bytes: int = 0  # a page is cut above it; 0: pylance's default

    def table(self):
        return self.make()


EXAMPLES = []


def example(versions=ALL, **options):
    def register(make):
        EXAMPLES.append(Example(make.__name__, make, versions, **options))
        return make

    return register


def random(seed=0):
    return np.random.default_rng(seed)


def table(columns, metadata=None):
    """A table of {name: array}; with {name: {...}} of field metadata without its long prefix."""
    fields = []
    for name, array in columns.items():
        extra = (metadata or {}).get(name, {})
        extra = {f"lance-encoding:{key}": value for key, value in extra.items()}
        fields.append(pa.field(name, array.type, metadata=extra or None))
    return pa.Table.from_arrays(list(columns.values()), schema=pa.schema(fields))


def some_null(array, every=7):
    """The array with every nth value null."""
    numbers = np.arange(len(array))
    return array.take(pa.array(numbers, mask=numbers % every == 3))


def words(count, seed=1, distinct=0):
    """Text of a few words, as many of them different as asked for; all when that is 0."""
    rng = random(seed)
    parts = ["lake", "geneva", "boat", "rhône", "mountain", "vineyard", "ferry", "sail", "blue"]
    made = [
        " ".join(parts[i] for i in rng.integers(0, len(parts), 4)) + f" {k}"
        for k in range(distinct or count)
    ]
    return pa.array([made[i % len(made)] for i in range(count)])


def repetitive(count, times=2):
    """Text that a symbol table makes short, no two the same."""
    return pa.array([f"{'mountain vineyard ' * times}{k}" for k in range(count)])


def lists(lengths, make=pa.ListArray, mask=None, start=0):
    """Lists of rising integers of the lengths given."""
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    if make is pa.LargeListArray:
        offsets = offsets.astype(np.int64)
    offsets = pa.array(offsets, mask=None if mask is None else np.append(mask, False))
    return make.from_arrays(offsets, pa.array(np.arange(start, start + sum(lengths)) * 3))


@example()
def no_rows():
    return table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.list_(pa.string()))})


@example()
def one_row():
    return table({"a": pa.array([7]), "b": pa.array(["x"]), "c": pa.array([[1.5, None]])})


@example()
def every_fixed_type():
    numbers = np.arange(40) * 37 % 101
    seconds = pa.array(numbers, pa.int64())
    columns = {str(kind): pa.array(numbers, kind) for kind in (pa.int8(), pa.uint8(), pa.int16())}
    for kind in (pa.uint16(), pa.int32(), pa.uint32(), pa.int64(), pa.uint64()):
        columns[str(kind)] = pa.array(numbers, kind)
    columns["half"] = pa.array(numbers.astype(np.float16))
    columns["float"] = pa.array((numbers / 3).astype(np.float32))
    columns["double"] = pa.array(np.where(numbers % 5 == 0, np.nan, numbers / 7))
    columns["bool"] = pa.array(numbers % 3 == 0)
    columns["date32"] = pa.array(numbers, pa.int32()).cast(pa.date32())
    columns["date64"] = pa.array(numbers * 86_400_000, pa.int64()).cast(pa.date64())
    columns["time32"] = pa.array(numbers, pa.int32()).cast(pa.time32("ms"))
    columns["time64"] = seconds.cast(pa.time64("ns"))
    columns["timestamp"] = seconds.cast(pa.timestamp("us", "Europe/Zurich"))
    columns["duration"] = seconds.cast(pa.duration("ms"))
    columns["decimal128"] = pa.array([int(x) for x in numbers], pa.decimal128(20, 2))
    columns["decimal256"] = pa.array([int(x) for x in numbers], pa.decimal256(50, 2))
    columns["binary3"] = pa.array([bytes([x, x + 1, 9]) for x in numbers.tolist()], pa.binary(3))
    columns["null"] = pa.nulls(40)
    return table({name: some_null(array) for name, array in columns.items()})


@example()
def incompressible_numbers():
    wide = random().integers(-(2**62), 2**62, 1100)
    return table({"nulls": some_null(pa.array(wide))})


@example()
def small_numbers():
    rng = random()
    return table(
        {
            "i32": pa.array(rng.integers(0, 1000, 1300).astype(np.int32)),
            "i64": some_null(pa.array(rng.integers(0, 1 << 20, 1300))),
            "u8": pa.array(rng.integers(0, 3, 1300).astype(np.uint8)),
        }
    )


@example()
def runs():
    steps = np.arange(1200) // 160
    return table(
        {
            "i64": pa.array(steps * 10**12),
            "f32": pa.array(steps.astype(np.float32) / 3),
            "u8": some_null(pa.array(steps.astype(np.uint8)), 200),
        }
    )


@example()
def booleans():
    rng = random()
    bits = pa.array(rng.random(4200) < 0.3)
    return table({"plain": bits, "nulls": some_null(bits)})


@example()
def constants():
    count = 110
    value = b"0123456789" * 4
    columns = {
        "i32": pa.array(np.full(count, 7, np.int32)),
        "double": pa.array(np.full(count, 2.5)),
        "bool": pa.array([True] * count),
        "decimal": pa.array([5] * count, pa.decimal256(40, 0)),
        "string": pa.array(["geneva"] * count),
        "binary": pa.array([value] * count),
        "fixed": pa.array([value] * count, pa.binary(40)),
    }
    nulls = {f"{name}_nulls": some_null(array) for name, array in columns.items()}
    return table({**columns, **nulls})


@example()
def constants_in_lists():
    offsets = pa.array([0, 2, 2, None, 5, 6], pa.int32())
    columns = {
        "i32": pa.ListArray.from_arrays(offsets, pa.array([7] * 6)),
        "string": pa.ListArray.from_arrays(offsets, pa.array(["ab"] * 6)),
    }
    return table({name: pa.concat_arrays([array] * 20) for name, array in columns.items()})


@example()
def all_null():
    count = 200
    items = pa.ListArray.from_arrays(
        pa.array([0, 1, None, 3, 3, 4], pa.int32()), pa.nulls(4, pa.int32())
    )
    empty = pa.ListArray.from_arrays(pa.array([0, 0, None, 0, 0, 0], pa.int32()), pa.array([1])[:0])
    return table(
        {
            "i32": pa.nulls(count, pa.int32()),
            "string": pa.nulls(count, pa.string()),
            "fixed": pa.nulls(count, pa.list_(pa.float32(), 4)),
            "dictionary": pa.nulls(count, pa.dictionary(pa.int8(), pa.string())),
            "null_items": pa.concat_arrays([items] * 40),
            "empty_lists": pa.concat_arrays([empty] * 40),
        }
    )


@example(NEW)
def many_empty_lists():
    """Over 1024 levels in a page without a single value."""
    lengths = np.zeros(3000, np.int64)
    mask = np.arange(3000) % 5 == 0
    return table({"a": lists(lengths, mask=mask)})


@example(NEW)
def crowded_chunk():
    """Two values in a chunk with more levels than 16 bits count; early writers did that."""
    lengths = np.zeros(66_000, np.int64)
    lengths[-1] = 2
    return table({"a": lists(lengths, mask=np.arange(66_000) // 100 == 1)})


@example()
def short_strings():
    text = words(40)
    return table(
        {
            "string": text,
            "nulls": some_null(text),
            "binary": text.cast(pa.binary()),
            "large": text.cast(pa.large_string()),
            "large_binary": some_null(text.cast(pa.large_binary())),
            "empty": pa.array(["", None] * 20),
        }
    )


@example(NEW)
def symbol_tables():
    """Enough text for FSST, which wants 32 KiB."""
    return table({"a": some_null(repetitive(1100))})


@example()
def repeated_strings():
    text = words(240, distinct=20)
    return table({"nulls": some_null(text), "large_binary": text.cast(pa.large_binary())})


@example()
def repeated_numbers():
    rng = random()
    wide = rng.integers(2**40, 2**60, 30)
    which = rng.integers(0, 30, 300)
    return table(
        {
            "i64": pa.array(wide[which]),
            "decimal": pa.array([int(wide[i]) for i in which], pa.decimal128(30, 0)),
            "fixed": pa.array([int(wide[i]).to_bytes(16, "little") for i in which], pa.binary(16)),
        }
    )


@example(NEW)
def rising_dictionary():
    """Distinct values whose dictionary itself is bit-packed."""
    return table({"a": pa.array(np.arange(2400) % 1100 * 1000)})


@example()
def long_strings():
    text = pa.array(["".join(["geneva ", str(i), " "] * 30) for i in range(12)])
    return table(
        {
            "nulls": some_null(text),
            "binary": text.cast(pa.binary()),
            "large_binary": some_null(text.cast(pa.large_binary())),
        }
    )


@example(NEW)
def long_text():
    """Long values, enough of them for a symbol table."""
    text = repetitive(130, 17)
    return table({"a": some_null(text)})


@example(NEW)
def very_long_values():
    """One value above 32 KiB, which makes pylance compress every value by itself."""
    binary = pa.array([b"abc" * 12_000, b"", None, b"x" * 300, b"tail"], pa.binary())
    return table({"binary": binary, "string": binary.cast(pa.large_string())})


@example(NEW)
def long_strings_in_lists():
    text = ["geneva " * (40 + i % 3) for i in range(30)]
    offsets = pa.array([0, 3, 3, None, 7, 30], pa.int32())
    return table({"a": pa.ListArray.from_arrays(offsets, pa.array(text[:29] + [None]))})


@example()
def dictionary_columns():
    indices = [0, 1, None, 2, 1, 0, 2, None] * 20
    columns = {}
    for i, kind in enumerate(
        (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.int64())
    ):
        values = [
            pa.array(["x", "yy", "zzz"]),
            pa.array([b"x", b"", b"zz"]),
            pa.array([1, 2, 3], pa.int16()),
            pa.array([1.5, -2.5, 0.0]),
            pa.array(["a", "b", "c"], pa.large_string()),
            pa.array([3, 2, 1], pa.uint64()),
            pa.array([True, False, True]),
        ][i]
        columns[str(kind)] = pa.DictionaryArray.from_arrays(pa.array(indices, kind), values)
    return table(columns)


@example()
def dictionary_with_null():
    indices = pa.array([0, 1, None, 2, 1] * 10, pa.int8())
    values = pa.array(["x", None, "z"])
    return table({"a": pa.DictionaryArray.from_arrays(indices, values)})


@example(NEW)
def numbered_columns():
    """Arrow dictionaries of numbers, which are packed themselves."""
    which = np.arange(300)
    few = pa.array((np.arange(300) % 128).astype(np.int32))
    many = pa.array((np.arange(1100) % 500).astype(np.int64))
    runs = pa.array(np.repeat(np.arange(3), 400).astype(np.int64) << 50)
    return table(
        {
            "few": pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int16)), few),
            "many": pa.DictionaryArray.from_arrays(pa.array(which * 3), many),
            "runs": pa.DictionaryArray.from_arrays(pa.array(which * 4), runs),
        }
    )


@example()
def small_fixed_lists():
    rng = random()
    return table(
        {
            "float": fixed_list(pa.array(rng.random(300).astype(np.float32)), 3),
            "nulls": fixed_list(pa.array(rng.random(300).astype(np.float32)), 3, every=7),
            "items": fixed_list(some_null(pa.array(np.arange(300))), 3, every=9),
            "bool": fixed_list(pa.array(rng.random(900) < 0.5), 9),
            "no_items": fixed_list(pa.nulls(300, pa.int8()), 3),
            "null": fixed_list(pa.nulls(300), 3, every=7),
            "nested": fixed_list(fixed_list(some_null(pa.array(np.arange(400))), 2), 2),
        }
    )


@example()
def embeddings():
    rng = random()
    plain = pa.array(rng.integers(0, 99, 64 * 9).astype(np.float32))
    return table(
        {
            "plain": fixed_list(plain, 64),
            "nulls": fixed_list(plain, 64, every=7),
            "items": fixed_list(some_null(plain), 64, every=7),
            "no_items": fixed_list(pa.nulls(64 * 9, pa.float32()), 64),
            "bool": fixed_list(pa.array(rng.random(2200 * 9) < 0.5), 2200),
        }
    )


def fixed_list(items, size, every=0):
    array = pa.FixedSizeListArray.from_arrays(items, size)
    return some_null(array, every) if every else array


@example(NEW)
def embeddings_in_lists():
    offsets = pa.array([0, 2, 2, None, 3, 6], pa.int32())
    plain = fixed_list(pa.array(np.arange(6 * 80, dtype=np.float32)), 80)
    items = fixed_list(some_null(pa.array(np.arange(6 * 80, dtype=np.float32))), 80, every=5)
    return table(
        {
            "plain": pa.ListArray.from_arrays(offsets, plain),
            "items": pa.ListArray.from_arrays(offsets, items),
        }
    )


@example(NEW, batch_rows=20, page_bytes=1)
def lists_of_everything():
    lengths = np.arange(60) % 6
    mask = np.arange(60) % 11 == 4
    numbers = lists(lengths, mask=mask)
    count = int(lengths.sum())
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    structs = pa.StructArray.from_arrays(
        [some_null(pa.array(np.arange(count))), words(count)], ["x", "y"]
    )
    outer = pa.array(np.arange(0, 61, 5), pa.int32())
    lists_of_lists = pa.ListArray.from_arrays(outer, numbers)
    return table(
        {
            "numbers": numbers,
            "large": lists(lengths, pa.LargeListArray),
            "structs": pa.ListArray.from_arrays(offsets, structs),
            "strings": pa.ListArray.from_arrays(offsets, some_null(words(count))),
            "lists": pa.concat_arrays([lists_of_lists] * 5),
        }
    )


@example(("2.0",), batch_rows=20, page_bytes=1)
def lists_without_null_structs():
    lengths = np.arange(60) % 6
    mask = np.arange(60) % 11 == 4
    numbers = lists(lengths, mask=mask)
    count = int(lengths.sum())
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    structs = pa.StructArray.from_arrays(
        [some_null(pa.array(np.arange(count))), words(count, distinct=20)], ["x", "y"]
    )
    return table(
        {
            "numbers": numbers,
            "large": lists(lengths, pa.LargeListArray),
            "structs": pa.ListArray.from_arrays(offsets, structs),
            "strings": pa.ListArray.from_arrays(offsets, some_null(words(count))),
        }
    )


@example(NEW)
def long_lists():
    """Rows that go on over several chunks."""
    lengths = [3, 5000, 0, 1, 4000, 2]
    mask = np.array([False, False, False, False, False, True])
    array = lists(lengths, mask=mask)
    return table({"a": array.cast(pa.list_(pa.int16()), safe=False)})


@example(NEW)
def structs():
    inner = pa.StructArray.from_arrays(
        [some_null(pa.array(np.arange(60))), some_null(words(60), 4)], ["x", "y"]
    )
    nullable = pa.array(
        [None if i % 10 == 0 else row for i, row in enumerate(inner.to_pylist())], inner.type
    )
    outer = pa.StructArray.from_arrays([nullable, pa.array(np.arange(60))], ["inner", "z"])
    return table({"a": nullable, "b": outer})


@example(("2.0",))
def structs_without_nulls():
    inner = pa.StructArray.from_arrays(
        [some_null(pa.array(np.arange(60))), some_null(words(60), 4)], ["x", "y"]
    )
    outer = pa.StructArray.from_arrays([inner, pa.array(np.arange(60))], ["inner", "z"])
    return table({"a": inner, "b": outer})


@example()
def packed_structs():
    parts = pa.StructArray.from_arrays(
        [
            pa.array(np.arange(300, dtype=np.int32)),
            pa.array(np.arange(300) / 3),
            pa.array((np.arange(300) % 7).astype(np.uint8)),
        ],
        ["x", "y", "z"],
    )
    return table({"a": parts}, {"a": {"packed": "true"}})


@example(("2.2",))
def variable_packed_structs():
    parts = pa.StructArray.from_arrays(
        [pa.array(np.arange(200, dtype=np.int32)), words(200)], ["x", "y"]
    )
    return table({"a": parts}, {"a": {"packed": "true"}})


@example(("2.2",))
def coded_packed_structs():
    """Fields of packed structs that are coded themselves, or are lists."""
    text = repetitive(60)
    long = pa.array([b"abc" * 12_000] + [b""] * 58 + [b"tail"], pa.large_binary())
    fixed = fixed_list(pa.array(np.arange(120, dtype=np.int16)), 2)
    items = fixed_list(some_null(pa.array(np.arange(120, dtype=np.int16))), 2)
    fields = [
        pa.field("w", text.type, metadata={"lance-encoding:compression": "fsst"}),
        pa.field("x", long.type),
        pa.field("y", fixed.type),
        pa.field("z", items.type),
    ]
    parts = pa.StructArray.from_arrays([text, long, fixed, items], fields=fields)
    return table({"a": parts}, {"a": {"packed": "true"}})


@example(("2.2",))
def maps():
    rows = [[("a", 1), ("b", None)], None, [], [("c", 3)]] * 20
    return table({"a": pa.array(rows, pa.map_(pa.string(), pa.int32()))})


@example(("2.2",))
def fixed_lists_of_structs():
    kind = pa.list_(pa.struct([("x", pa.int32()), ("y", pa.string())]), 2)
    rows = [[{"x": 1, "y": "a"}, None], None, [{"x": None, "y": "c"}, {"x": 4, "y": None}]] * 30
    return table({"a": pa.array(rows, kind)})


@example()
def compressed():
    """Compression that a user has asked for."""
    text = words(200)
    columns = {"text": text, "binary": some_null(text.cast(pa.large_binary()))}
    made = {f"{name}_{how}": array for name, array in columns.items() for how in ("zstd", "lz4")}
    metadata = {name: {"compression": name.split("_")[1]} for name in made}
    made["plain"], metadata["plain"] = text, {"compression": "none"}
    return table(made, metadata)


@example(NEW)
def compressed_numbers():
    numbers = np.arange(1100)
    columns = {
        "split": pa.array(numbers // 3 * 1_000_003),
        "flat": some_null(pa.array((numbers % 7 / 10).astype(np.float32))),
        "small": pa.array((numbers % 50).astype(np.int16)),
        "runs": pa.array((numbers // 30 % 7).astype(np.uint16)),
    }
    made = {f"{name}_{how}": array for name, array in columns.items() for how in ("zstd", "lz4")}
    metadata = {name: {"compression": name.split("_")[1]} for name in made}
    metadata["flat_zstd"].update({"bss": "off", "compression-level": "9"})
    metadata["flat_lz4"]["bss"] = "off"
    return table(made, metadata)


@example(NEW)
def hardly_compressed():
    """Too few values for the compression that was asked for: only their bytes are split."""
    return table({"a": pa.array(np.arange(200) * 1_000_003)}, {"a": {"compression": "lz4"}})


@example(NEW)
def compressed_lists():
    floats = pa.array((np.arange(900) // 100).astype(np.float32))
    return table(
        {
            "plain": fixed_list(floats, 3),
            "items": fixed_list(some_null(floats), 3),
            "bool": pa.array(np.arange(300) % 30 == 0),
        },
        {
            "plain": {"compression": "lz4"},
            "items": {"compression": "zstd"},
            "bool": {"compression": "lz4"},
        },
    )


@example()
def asked_for_symbols():
    text = words(80)
    return table(
        {"a": text, "b": some_null(text)}, {name: {"compression": "fsst"} for name in "ab"}
    )


@example(NEW)
def compressed_dictionaries():
    text = words(200, distinct=20)
    return table(
        {"lz4": text, "zstd": text, "none": text},
        {scheme: {"dict-values-compression": scheme} for scheme in ("lz4", "zstd", "none")},
    )


@example(NEW)
def split_bytes():
    waves = np.sin(np.arange(1100) / 50)
    return table(
        {"f32": pa.array(waves.astype(np.float32)), "f64": some_null(pa.array(waves))},
        {name: {"compression": "zstd", "bss": "on"} for name in ("f32", "f64")},
    )


@example(NEW)
def structure_asked_for():
    text = words(40)
    numbers = pa.array(np.arange(40))
    columns = {
        "text_zip": text,
        "text_nulls_zip": some_null(text),
        "numbers_zip": numbers,
        "bool_zip": some_null(pa.array(np.arange(40) % 3 == 0)),
        "lists_zip": lists([1, 2, 0, 4] * 10),
        "lz4_zip": text,
    }
    metadata = {name: {"structural-encoding": "fullzip"} for name in columns}
    metadata["lz4_zip"]["compression"] = "lz4"
    columns["long_mini"] = pa.array(["geneva" * 50] * 20 + ["x" * 300] * 20)
    metadata["long_mini"] = {"structural-encoding": "miniblock"}
    return table(columns, metadata)


@example(("2.0", "2.1"))
def blobs():
    values = [b"one", b"", None, b"x" * 1500, b"tail"] * 3
    array = pa.array(values, pa.large_binary())
    return table({"a": array, "b": pa.array(np.arange(15))}, {"a": {"blob": "true"}})


@example(NEW, batch_rows=50, page_bytes=1)
def several_pages():
    """Pages that differ: with and without nulls, constant, empty lists only."""
    numbers = np.arange(250)
    mask = (numbers >= 50) & (numbers < 100) | (numbers > 230)
    values = np.where(numbers < 150, numbers, 5)
    lengths = np.where((numbers >= 100) & (numbers < 150), 0, numbers % 3)
    text = words(250, distinct=30)
    codes = pa.array((numbers // 50 * 5 + numbers % 5).astype(np.int16))
    return table(
        {
            "numbers": pa.array(values, mask=mask),
            "lists": lists(lengths),
            "text": text,
            "codes": pa.DictionaryArray.from_arrays(codes, words(30)),
        }
    )


@example(("2.0",), batch_rows=50, page_bytes=1)
def several_old_pages():
    numbers = np.arange(250)
    mask = (numbers >= 50) & (numbers < 100) | (numbers > 230)
    codes = pa.array((numbers // 50 * 5 + numbers % 5).astype(np.int16))
    return table(
        {
            "numbers": pa.array(numbers, mask=mask),
            "lists": lists(np.where(numbers < 100, 0, numbers % 3)),
            "text": words(250, distinct=30),
            "codes": pa.DictionaryArray.from_arrays(codes, words(30)),
        }
    )
