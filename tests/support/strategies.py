# SPDX-License-Identifier: Apache-2.0
"""Hypothesis strategies for tables of every type that Lance holds.

A table is drawn as a tree of plans: types, where nulls are, how long lists and strings are, how
often values repeat. The values themselves come from a random generator whose seed is drawn too, so
that a table of 50,000 rows costs no more draws than one of three, and shrinks as fast.

`tables(version)` draws a `TablePlan`; `plan.table()` builds it.
"""

from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

DAY_MS = 86_400_000
ITEM_BYTES_MAX = 2 << 20  # of the items of all lists of one column

INTEGERS = [
    pa.int8(),
    pa.uint8(),
    pa.int16(),
    pa.uint16(),
    pa.int32(),
    pa.uint32(),
    pa.int64(),
    pa.uint64(),
]
FLOATS = [pa.float16(), pa.float32(), pa.float64()]
TIMES = [
    pa.date32(),
    pa.date64(),
    pa.time32("s"),
    pa.time32("ms"),
    pa.time64("us"),
    pa.time64("ns"),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    pa.timestamp("us", "Europe/Zurich"),
    pa.timestamp("ns", "+05:30"),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
]
DECIMALS = [
    pa.decimal128(3, 0),
    pa.decimal128(38, 10),
    pa.decimal128(20, -2),
    pa.decimal256(50, 5),
    pa.decimal256(76, 0),
]
STRINGS = [pa.string(), pa.binary(), pa.large_string(), pa.large_binary()]
FIXED_BINARIES = [pa.binary(width) for width in (1, 2, 3, 8, 16, 31, 300)]
EXTENSIONS = [pa.uuid(), pa.opaque(pa.int32(), "thing", "maker"), pa.bool8()]
FIXED = [pa.bool_(), *INTEGERS, *FLOATS, *TIMES, *DECIMALS, *FIXED_BINARIES]
DICTIONARY_VALUES = [*STRINGS, *INTEGERS, *FLOATS, pa.bool_()]

NULLS = {"none": 0.0, "few": 0.05, "half": 0.5, "most": 0.95, "all": 1.0}
VALUES = ["constant", "runs", "small", "few", "wide"]
LENGTHS = ["none", "short", "medium", "long", "mixed", "huge"]
LISTS = ["empty", "rare", "short", "long", "one"]


def byte_width(kind):
    return kind.bit_width // 8


def pick_numbers(style, count, width, rng):
    """`count` unsigned integers of `width` bytes, in the style asked for."""
    top = (1 << (8 * width)) - 1
    wide = rng.integers(0, top, count, dtype=np.uint64, endpoint=True)
    if style == "constant":
        wide[:] = rng.integers(0, top, dtype=np.uint64, endpoint=True)
    elif style == "runs":
        starts = rng.random(count) < 0.02
        wide = wide[np.maximum.accumulate(np.where(starts, np.arange(count), 0))]
    elif style == "small":
        wide &= np.uint64((1 << int(rng.integers(1, 8 * width))) - 1)
    elif style == "few":
        wide = wide[: max(1, min(count, 30))][rng.integers(0, max(1, min(count, 30)), count)]
    return wide


def string_lengths(style, count, rng):
    if style == "none":
        return np.zeros(count, np.int64)
    if style == "medium":
        return rng.integers(5, 40, count)
    if style == "long":
        return rng.integers(200, 400, count)
    if style == "mixed":
        return np.where(rng.random(count) < 0.05, rng.integers(250, 3000, count), 3)
    if style == "huge":
        lengths = rng.integers(0, 300, count)
        lengths[:2] = 40_000
        return lengths
    return rng.integers(0, 8, count)


def list_lengths(style, count, rng):
    if style == "empty":
        return np.zeros(count, np.int64)
    if style == "rare":
        return np.where(rng.random(count) < 0.02, rng.integers(1, 5, count), 0)
    if style == "long":
        return rng.integers(0, 200, count)
    if style == "one":
        lengths = rng.integers(0, 2, count)
        lengths[count // 2 : count // 2 + 1] = 9000
        return lengths
    return rng.integers(0, 5, count)


def within(lengths, item_bytes):
    """The lengths cut to what a test has memory and time for."""
    room = ITEM_BYTES_MAX // max(1, item_bytes)
    before = np.cumsum(lengths) - lengths
    return np.clip(room - before, 0, lengths)


def offsets_of(lengths, kind=np.int32):
    return np.concatenate([[0], np.cumsum(lengths)]).astype(kind)


def bitmap(mask):
    """The validity buffer of a mask of nulls; None when there is none."""
    if mask is None or not mask.any():
        return None
    return pa.py_buffer(np.packbits(~mask, bitorder="little").tobytes())


def draw_mask(nulls, count, rng):
    return rng.random(count) < NULLS[nulls] if NULLS[nulls] else None


def value_bytes(kind):
    """About how many bytes a value takes."""
    if isinstance(kind, pa.BaseExtensionType):
        return value_bytes(kind.storage_type)
    if pa.types.is_fixed_size_list(kind):
        return kind.list_size * value_bytes(kind.value_type)
    if pa.types.is_struct(kind):
        return sum(value_bytes(kind.field(i).type) for i in range(kind.num_fields))
    if pa.types.is_nested(kind) or pa.types.is_dictionary(kind) or kind in STRINGS:
        return 50
    return 1 if pa.types.is_null(kind) else -(-kind.bit_width // 8)


def nullable(plan, strict):
    """Is the field of `plan` declared nullable?"""
    return not strict or plan.nulls != "none" or pa.types.is_null(plan.type)


@dataclass(frozen=True)
class Leaf:
    """Plain values, strings and dictionaries."""

    kind: pa.DataType
    nulls: str = "none"
    values: str = "wide"
    lengths: str = "short"

    @property
    def type(self):
        return self.kind

    def build(self, count, rng):
        mask = draw_mask(self.nulls, count, rng)
        return self.build_plain(self.kind, count, mask, rng)

    def build_plain(self, kind, count, mask, rng):
        if isinstance(kind, pa.BaseExtensionType):
            storage = self.build_plain(kind.storage_type, count, mask, rng)
            return pa.ExtensionArray.from_storage(kind, storage)
        if pa.types.is_null(kind):
            return pa.nulls(count)
        if pa.types.is_dictionary(kind):
            return self.build_dictionary(kind, count, mask, rng)
        if kind in STRINGS:
            return self.build_strings(kind, count, mask, rng)
        return self.build_fixed(kind, count, mask, rng)

    def build_fixed(self, kind, count, mask, rng):
        if pa.types.is_boolean(kind):
            bits = pick_numbers(self.values, count, 1, rng).astype(np.uint8) & 1
            data = np.packbits(bits, bitorder="little").tobytes()
        elif pa.types.is_fixed_size_binary(kind) and not pa.types.is_decimal(kind):
            numbers = pick_numbers(self.values, count, 8, rng)
            data = np.resize(numbers.view(np.uint8).reshape(count, 8), (8 * count,)).reshape(-1, 8)
            data = np.tile(data, -(-byte_width(kind) // 8))[:, : byte_width(kind)].tobytes()
        elif pa.types.is_decimal(kind):
            limit = 10 ** min(kind.precision, 18)
            low = pick_numbers(self.values, count, 8, rng).astype(np.int64) % limit
            low = np.where(rng.random(count) < 0.5, low, -low)
            words = np.repeat((low >> 63).reshape(-1, 1), byte_width(kind) // 8, axis=1)
            words[:, 0] = low
            data = words.tobytes()
        else:
            data = self.numbers(kind, count, rng).tobytes()
        return pa.Array.from_buffers(kind, count, [bitmap(mask), pa.py_buffer(data)])

    def numbers(self, kind, count, rng):
        width = byte_width(kind)
        numbers = pick_numbers(self.values, count, width, rng)
        if pa.types.is_time(kind):
            numbers %= {"s": 86_400, "ms": DAY_MS, "us": DAY_MS * 1000}.get(
                kind.unit, DAY_MS * 10**6
            )
        elif pa.types.is_date64(kind):
            numbers = numbers % np.uint64(100_000) * np.uint64(DAY_MS)
        return numbers.astype(f"u{width}")

    def build_strings(self, kind, count, mask, rng):
        lengths = string_lengths(self.lengths, count, rng)
        if self.values in ("constant", "few", "runs"):
            which = pick_numbers(self.values, count, 1, rng).astype(int) % max(1, count)
            which %= 50
        else:
            which = np.arange(count)
        pool = int(which.max(initial=0)) + 1
        lengths = np.resize(lengths, pool) if count else np.zeros(pool, np.int64)
        text = rng.integers(97, 103 if self.values == "small" else 123, lengths.sum())
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            text = rng.integers(0, 256, lengths.sum())
        ends = offsets_of(lengths, np.int64)
        data = text.astype(np.uint8).tobytes()
        words = [data[ends[i] : ends[i + 1]] for i in range(pool)]
        if self.values == "small" and pa.types.is_string(kind) and pool:
            words[0] = "Zürich, 東京, 🚀".encode()
        items = [words[i] for i in which]
        wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
        ends = offsets_of([len(item) for item in items], np.int64 if wide else np.int32)
        buffers = [bitmap(mask), pa.py_buffer(ends.tobytes()), pa.py_buffer(b"".join(items))]
        return pa.Array.from_buffers(kind, count, buffers)

    def build_dictionary(self, kind, count, mask, rng):
        index = kind.index_type
        size = int(rng.integers(1, 100))
        nulls = "few" if self.values == "runs" and mask is not None else "none"
        plan = replace(self, kind=kind.value_type, nulls=nulls, values="wide")
        if pa.types.is_boolean(kind.value_type):
            size = 2
        values = plan.build(size, rng)
        numbers = rng.integers(0, size, count).astype(f"i{byte_width(index)}")
        indices = pa.Array.from_buffers(
            index, count, [bitmap(mask), pa.py_buffer(numbers.tobytes())]
        )
        return pa.DictionaryArray.from_arrays(indices, values)


@dataclass(frozen=True)
class Fixed:
    """Fixed-size lists."""

    item: object
    size: int
    nulls: str = "none"

    @property
    def type(self):
        return pa.list_(pa.field("item", self.item.type), self.size)

    def build(self, count, rng):
        mask = draw_mask(self.nulls, count, rng)
        items = self.item.build(count * self.size, rng)
        mask = None if mask is None else pa.array(mask)
        return pa.FixedSizeListArray.from_arrays(items, type=self.type, mask=mask)


@dataclass(frozen=True)
class List:
    item: object
    nulls: str = "none"
    lengths: str = "short"
    large: bool = False
    name: str = "item"
    strict: bool = False  # items that are never null are declared so

    @property
    def type(self):
        make = pa.large_list if self.large else pa.list_
        return make(pa.field(self.name, self.item.type, nullable(self.item, self.strict)))

    def build(self, count, rng):
        mask = draw_mask(self.nulls, count, rng)
        lengths = within(list_lengths(self.lengths, count, rng), value_bytes(self.item.type))
        if mask is not None and rng.random() < 0.5:
            lengths = np.where(mask, 0, lengths)
        ends = offsets_of(lengths, np.int64 if self.large else np.int32)
        items = self.item.build(int(ends[-1]), rng)
        make = pa.LargeListArray if self.large else pa.ListArray
        mask = None if mask is None else pa.array(mask)
        return make.from_arrays(pa.array(ends), items, type=self.type, mask=mask)


@dataclass(frozen=True)
class Map:
    value: object
    nulls: str = "none"
    lengths: str = "short"

    @property
    def type(self):
        return pa.map_(pa.string(), self.value.type)

    def build(self, count, rng):
        mask = draw_mask(self.nulls, count, rng)
        lengths = within(list_lengths(self.lengths, count, rng), value_bytes(self.value.type))
        ends = offsets_of(lengths)
        keys = Leaf(pa.string()).build(int(ends[-1]), rng)
        values = self.value.build(int(ends[-1]), rng)
        mask = None if mask is None else pa.array(mask)
        return pa.MapArray.from_arrays(pa.array(ends), keys, values, type=self.type, mask=mask)


@dataclass(frozen=True)
class Struct:
    children: tuple
    nulls: str = "none"
    packed: bool = False
    strict: bool = False  # fields that are never null are declared so

    @property
    def type(self):
        fields = [
            pa.field(f"f{i}", child.type, nullable(child, self.strict))
            for i, child in enumerate(self.children)
        ]
        return pa.struct(fields)

    def build(self, count, rng):
        mask = draw_mask(self.nulls, count, rng)
        children = [child.build(count, rng) for child in self.children]
        mask = None if mask is None else pa.array(mask)
        return pa.StructArray.from_arrays(children, fields=list(self.type), mask=mask)


@dataclass(frozen=True)
class Column:
    plan: object
    metadata: dict = field(default_factory=dict)
    nullable: bool = True


@dataclass(frozen=True)
class TablePlan:
    """A table, and how pylance is to write it."""

    columns: tuple
    rows: int
    seed: int
    batch_rows: int = 0  # per write; 0: all at once
    page_bytes: int = 0  # pylance flushes a page above it; 0: its default
    metadata: dict = field(default_factory=dict)

    def table(self):
        rng = np.random.default_rng(self.seed)
        arrays = [column.plan.build(self.rows, rng) for column in self.columns]
        fields = [
            pa.field(f"c{i}", array.type, column.nullable, column.metadata or None)
            for i, (array, column) in enumerate(zip(arrays, self.columns, strict=True))
        ]
        return pa.Table.from_arrays(arrays, schema=pa.schema(fields, self.metadata or None))


nulls = st.sampled_from(list(NULLS))
values = st.sampled_from(VALUES)
lengths = st.sampled_from(LENGTHS)
lists = st.sampled_from(LISTS)


def dictionaries():
    return st.builds(pa.dictionary, st.sampled_from(INTEGERS), st.sampled_from(DICTIONARY_VALUES))


def leaves():
    kinds = st.one_of(
        st.sampled_from([pa.null(), pa.bool_(), *INTEGERS, *FLOATS]),
        st.sampled_from([*TIMES, *DECIMALS]),
        st.sampled_from(STRINGS),
        st.sampled_from(FIXED_BINARIES),
        dictionaries(),
    )
    return st.builds(Leaf, kinds, nulls, values, lengths)


def extensions():
    """Only as whole columns: pyarrow can do little with lists of them."""
    return st.builds(Leaf, st.sampled_from(EXTENSIONS), nulls, values)


def fixed_lists():
    """Fixed-size lists of plain values, also of each other."""
    items = st.builds(Leaf, st.sampled_from([*FIXED, pa.null()]), nulls, values)
    sizes = st.sampled_from([1, 2, 3, 7, 8, 9, 64, 130])
    flat = st.builds(Fixed, items, sizes, nulls)
    return st.one_of(flat, st.builds(Fixed, flat, st.sampled_from([1, 2, 5]), nulls))


def structs(children, struct_nulls):
    children = st.lists(children, min_size=1, max_size=3).map(tuple)
    return st.builds(Struct, children, struct_nulls, strict=st.booleans())


def fixed_structs(struct_nulls):
    """Fixed-size lists of structs; pylance can neither have lists in nor around them."""
    inner = structs(leaves(), struct_nulls)
    inner = st.one_of(inner, structs(st.one_of(leaves(), inner), struct_nulls))
    return st.builds(Fixed, inner, st.sampled_from([1, 2, 3, 10]), nulls)


def packed_structs():
    """Structs stored as one column, whose fields are plain and never null."""
    kinds = st.sampled_from([*INTEGERS, *FLOATS, *TIMES, pa.binary(3)])
    children = st.builds(Leaf, kinds, st.just("none"), values)
    return st.builds(
        Struct, st.lists(children, min_size=1, max_size=4).map(tuple), packed=st.just(True)
    )


@st.composite
def nested(draw, version, depth):
    """Lists, structs and maps, at most `depth` of them inside each other."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.one_of(leaves(), fixed_lists()))
    kind = draw(
        st.sampled_from(["list", "struct", "map"] if version == "2.2" else ["list", "struct"])
    )
    inner = nested(version, depth - 1)
    if kind == "list":
        names = st.sampled_from(["item", "element"])
        return draw(st.builds(List, inner, nulls, lists, st.booleans(), names, st.booleans()))
    if kind == "map":
        return draw(st.builds(Map, inner, nulls, lists))
    return draw(structs(inner, st.just("none") if version == "2.0" else nulls))


def plans(version):
    options = [leaves(), fixed_lists(), nested(version, 3), nested(version, 3), packed_structs()]
    options.append(extensions())
    if version == "2.2":
        options.append(fixed_structs(nulls))
    return st.one_of(options)


def knobs(version):
    """Field metadata that makes pylance choose other encodings."""
    if version == "2.0":
        choices = {"compression": ["zstd", "lz4", "fsst", "none"]}
    else:
        choices = {
            "compression": ["zstd", "lz4", "none", "fsst"],
            "compression-level": ["1", "9"],
            "structural-encoding": ["miniblock", "fullzip"],
            "rle-threshold": ["0.01", "1.0"],
            "bss": ["on", "off"],
            "minichunk-size": ["128", "1024", "16384"],
            "dict-divisor": ["1", "2", "100000"],
            "dict-size-ratio": ["0.1", "1.0"],
            "dict-values-compression": ["lz4", "zstd", "none"],
        }
    return st.fixed_dictionaries(
        {},
        optional={
            f"lance-encoding:{name}": st.sampled_from(options) for name, options in choices.items()
        },
    )


def has_fixed(plan):
    """Are there fixed-size lists in it?"""
    if isinstance(plan, Struct):
        return any(has_fixed(child) for child in plan.children)
    inner = getattr(plan, "item", None) or getattr(plan, "value", None)
    return isinstance(plan, Fixed) or (inner is not None and has_fixed(inner))


@st.composite
def columns(draw, version):
    plan = draw(plans(version))
    metadata = draw(st.one_of(st.just({}), knobs(version)))
    if has_fixed(plan):
        # pylance has not thought of everything that can be asked for here.
        metadata.pop("lance-encoding:structural-encoding", None)
    if isinstance(plan, Struct) and plan.packed:
        metadata = {"lance-encoding:packed": "true"}
    if draw(st.booleans()):
        metadata = {**metadata, "note": "value"}
    return Column(plan, metadata, nullable(plan, draw(st.booleans())))


@st.composite
def tables(draw, version, rows_max=3000, columns_max=2):
    rows = draw(
        st.one_of(
            st.integers(0, 3),
            st.integers(0, 200),
            st.sampled_from([1023, 1024, 1025, 2049]).filter(lambda rows: rows <= rows_max),
            st.integers(0, rows_max),
        )
    )
    return TablePlan(
        columns=tuple(draw(st.lists(columns(version), min_size=1, max_size=columns_max))),
        rows=rows,
        seed=draw(st.integers(0, 2**32)),
        batch_rows=draw(st.sampled_from([0, 0, 1 + rows // 3, 1 + rows // 10])),
        page_bytes=draw(st.sampled_from([0, 0, 1, 4096])),
        metadata=draw(st.sampled_from([{}, {"made": "by hand"}])),
    )
