# SPDX-License-Identifier: Apache-2.0
"""Statistics never change what a condition selects.

The same rows are in a table that Leman wrote, with statistics, and in one of pylance, without.
Conditions are judged a third time by Python, row by row.
"""

import datetime
import math
import operator
import random
from decimal import Decimal

import lance
import leman
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leman.literal import literal

EXAMPLES = settings.default.max_examples // 4  # each makes tables on the disk
NAN, INF = math.nan, math.inf
LONG = "a common start of thirty-two by"  # one byte less than statistics keep

POOLS = {
    "i8": (pa.int8(), [-128, -1, 0, 1, 126, 127]),
    "i64": (pa.int64(), [-(2**63), -(2**63) + 1, -1, 0, 1, 7, 2**53 + 1, 2**63 - 1]),
    "u64": (pa.uint64(), [0, 1, 2**63 - 1, 2**63, 2**64 - 1]),
    "f64": (pa.float64(), [NAN, -INF, -1.5, -0.0, 0.0, 5e-324, 0.1, 1e300, INF]),
    "f32": (pa.float32(), [NAN, -INF, -2.0, -0.0, 0.0, 0.5, 3.0, INF]),
    "f16": (pa.float16(), [NAN, -INF, -2.0, -0.0, 0.0, 0.5, 3.0, INF]),
    "flag": (pa.bool_(), [False, True]),
    "day": (
        pa.date32(),
        [datetime.date(1, 1, 1), datetime.date(1969, 12, 31)]
        + [datetime.date(2024, 2, day) for day in (28, 29)],
    ),
    "time": (
        pa.timestamp("us"),
        [datetime.datetime(1900, 1, 1), datetime.datetime(1970, 1, 1)]
        + [datetime.datetime(2024, 2, 29, 12, 0, 0, us) for us in (0, 1)],
    ),
    "price": (
        pa.decimal128(38, 2),
        [
            Decimal(text)
            for text in (
                "-999999999999999999999999999999999999.99",
                "-0.01",
                "0.00",
                "0.01",
                "1.50",
                "999999999999999999999999999999999999.99",
            )
        ],
    ),
    "text": (
        pa.string(),
        [
            "",
            "a",
            "ab",
            "b",
            "\u00e9",
            "\U0001f40d",
            LONG,
            LONG + "x",
            LONG + "xy",
            LONG + "y",
            LONG + "\U0010ffff",
            "\U0010ffff" * 12,
        ],
    ),
    "data": (
        pa.large_binary(),
        [
            b"",
            b"\0",
            b"\x7f",
            b"\xff",
            b"\xff" * 31,
            b"\xff" * 32,
            b"\xff" * 33,
            b"\xff" * 40,
            b"ab\0",
        ],
    ),
    "code": (pa.binary(2), [b"\0\0", b"ab", b"\xff\xff"]),
}
SCHEMA = pa.schema(
    [pa.field(name, kind) for name, (kind, _) in POOLS.items()]
    + [pa.field("info", pa.struct([("w", pa.int32()), ("name", pa.string())]))]
)
COLUMNS = {
    **{name: pool for name, (_, pool) in POOLS.items()},
    "info.w": [-5, 0, 9],
    "info.name": ["", "n", "nn"],
}
COMPARISONS = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def key(value):
    """NaN is equal to itself and greater than all numbers; text sorts by its bytes."""
    if isinstance(value, float):
        return (math.isnan(value), 0.0 if math.isnan(value) else value)
    return value.encode() if isinstance(value, str) else value


def field(row, column):
    value = row
    for name in column.split("."):
        value = None if value is None else value[name]
    return value


class Compare:
    def __init__(self, column, sign, value):
        self.column, self.sign, self.value = column, sign, value

    def __str__(self):
        return f"{self.column} {self.sign} {text_of(self.value)}"

    def judge(self, row):
        value = field(row, self.column)
        if value is None or self.value is None:
            return None
        return COMPARISONS[self.sign](key(value), key(self.value))


class In:
    def __init__(self, column, values, negated):
        self.column, self.values, self.negated = column, values, negated

    def __str__(self):
        values = ", ".join(text_of(value) for value in self.values)
        return f"{self.column} {'NOT ' if self.negated else ''}IN ({values})"

    def judge(self, row):
        value = field(row, self.column)
        if value is None:
            return None
        found = any(key(value) == key(other) for other in self.values if other is not None)
        if not found and None in self.values:
            return None
        return found != self.negated


class Null:
    def __init__(self, column, negated):
        self.column, self.negated = column, negated

    def __str__(self):
        return f"{self.column} IS {'NOT ' if self.negated else ''}NULL"

    def judge(self, row):
        return (field(row, self.column) is None) != self.negated


class Prefix:
    def __init__(self, column, prefix, negated):
        self.column, self.prefix, self.negated = column, prefix, negated

    def __str__(self):
        return f"{self.column} {'NOT ' if self.negated else ''}LIKE {literal(self.prefix + '%')}"

    def judge(self, row):
        value = field(row, self.column)
        return None if value is None else value.startswith(self.prefix) != self.negated


class Not:
    def __init__(self, part):
        self.part = part

    def __str__(self):
        return f"NOT ({self.part})"

    def judge(self, row):
        found = self.part.judge(row)
        return None if found is None else not found


class Chain:
    def __init__(self, word, parts):
        self.word, self.parts = word, parts

    def __str__(self):
        return f" {self.word} ".join(f"({part})" for part in self.parts)

    def judge(self, row):
        found = [part.judge(row) for part in self.parts]
        decides = self.word == "OR"
        return decides if decides in found else None if None in found else not decides


def text_of(value):
    """A literal; floats that have none are cast from their names."""
    if isinstance(value, float) and not math.isfinite(value):
        return f"CAST('{value}' AS double)"
    return literal(value)


@st.composite
def leaves(draw):
    column = draw(st.sampled_from(sorted(COLUMNS)))
    value = st.sampled_from(COLUMNS[column])
    kind = draw(st.sampled_from(["compare", "compare", "in", "null", "prefix"]))
    if kind == "in":
        values = draw(st.lists(value, min_size=1, max_size=3))
        return In(column, values + draw(st.sampled_from([[], [], [None]])), draw(st.booleans()))
    if kind == "null":
        return Null(column, draw(st.booleans()))
    if kind == "prefix" and column in ("text", "info.name"):
        return Prefix(column, draw(value)[: draw(st.integers(0, 34))], draw(st.booleans()))
    return Compare(column, draw(st.sampled_from(sorted(COMPARISONS))), draw(value))


CONDITIONS = st.recursive(
    leaves(),
    lambda parts: st.one_of(
        parts.map(Not),
        st.builds(Chain, st.sampled_from(["AND", "OR"]), st.lists(parts, min_size=2, max_size=3)),
    ),
    max_leaves=5,
)


@st.composite
def fragments(draw):
    """Rows whose columns have few values each, so that conditions hold for all of them or none."""
    pools = {}
    for column, values in COLUMNS.items():
        pool = draw(st.lists(st.sampled_from([*values, None]), min_size=1, max_size=3))
        pools[column] = pool
    rng = random.Random(draw(st.integers(0, 2**32)))
    rows = []
    for _ in range(draw(st.integers(1, 12))):
        row = {column: rng.choice(pool) for column, pool in pools.items()}
        info = {name: row.pop(f"info.{name}") for name in ("w", "name")}
        row["info"] = None if rng.random() < 0.1 else info
        rows.append(row)
    return rows


def numbered(rows):
    schema = SCHEMA.append(pa.field("id", pa.int64()))
    return pa.Table.from_pylist([{**row, "id": i} for i, row in enumerate(rows)], schema)


def matching(table, condition):
    return [row["id"] for row in table.to_pylist() if condition.judge(row) is True]


def check(table, all_rows, condition):
    """What Leman selects is what Python selects, whichever columns are read beside."""
    where, wanted = str(condition), matching(all_rows, condition)
    assert table.count_rows(where) == len(wanted), where
    assert table.to_arrow(["id"], where)["id"].to_pylist() == wanted, where
    found = table.to_arrow(where=where)
    assert found["id"].to_pylist() == wanted, where
    assert str(found.to_pylist()) == str(all_rows.take(positions(all_rows, wanted)).to_pylist())
    some = table.scan(["id"], where=where, limit=2, offset=1).to_arrow()
    assert some["id"].to_pylist() == wanted[1:3], where


def positions(all_rows, ids):
    place = {number: i for i, number in enumerate(all_rows["id"].to_pylist())}
    return pa.array([place[number] for number in ids], pa.int64())


@settings(max_examples=EXAMPLES)
@given(
    pieces=st.lists(fragments(), min_size=1, max_size=3),
    conditions=st.lists(CONDITIONS, min_size=1, max_size=6),
)
def test_prune__any_table(tmp_path_factory, pieces, conditions):
    root = tmp_path_factory.mktemp("prune")
    rows = numbered([row for piece in pieces for row in piece])
    ours, first = None, 0
    for piece in pieces:
        part = rows.slice(first, len(piece))
        first += len(piece)
        if ours is None:
            ours = leman.create(root / "ours", part)
        else:
            ours.append(part)
    lance.write_dataset(rows, root / "theirs", data_storage_version="2.1")
    theirs = leman.open(root / "theirs")
    for condition in conditions:
        check(ours, rows, condition)
        assert theirs.count_rows(str(condition)) == ours.count_rows(str(condition))


@settings(max_examples=EXAMPLES)
@given(pieces=st.lists(fragments(), min_size=1, max_size=2), data=st.data())
def test_prune__changed_table(tmp_path_factory, pieces, data):
    """Renamed, added and rewritten columns, deleted and updated rows."""
    path = tmp_path_factory.mktemp("prune") / "table"
    rows = numbered([row for piece in pieces for row in piece])
    table = leman.create(path, rows, max_rows_per_fragment=len(pieces[0]))
    for _ in range(data.draw(st.integers(1, 3))):
        change = data.draw(st.sampled_from(["delete", "update", "swap", "add", "drop"]))
        if change == "delete":
            table.delete(f"id % 5 = {data.draw(st.integers(0, 4))}")
        elif change == "update":
            column = data.draw(st.sampled_from(["i64", "f64", "text"]))
            value = data.draw(st.sampled_from(COLUMNS[column]))
            table.update(str(data.draw(CONDITIONS)), {column: text_of(value)})
        elif change == "swap":
            swap_names(path, "i64", "id2" if "id2" in table.schema.names else "i8")
        elif change == "add" and "id2" not in table.schema.names:
            lance.dataset(path).add_columns({"id2": "id * 2"})
        elif change == "drop" and "id2" in table.schema.names:
            lance.dataset(path).drop_columns(["id2"])
        table.refresh()
        all_rows = table.to_arrow()
        if len(all_rows) != 0:
            check(table, all_rows, data.draw(CONDITIONS))


def swap_names(path, one, other):
    """Two columns of numbers take each other's names; the files keep what they had."""
    dataset = lance.dataset(path)
    dataset.alter_columns({"path": one, "name": "between"})
    dataset.alter_columns({"path": other, "name": one})
    dataset.alter_columns({"path": "between", "name": other})


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """Many zones: of 8,192 numbers, and of strings as far as 64 KiB go."""
    root = tmp_path_factory.mktemp("large")
    rng = random.Random(5)
    count = 30_000
    rows = pa.table(
        {
            "id": pa.array(range(count)),
            "up": pa.array([None if i % 9000 < 200 else i // 100 for i in range(count)]),
            "noise": pa.array([rng.choice([1.5, NAN, -0.0, None]) for _ in range(count)]),
            "far": pa.array([NAN if 9000 < i < 20000 else i / 8 for i in range(count)]),
            "text": pa.array([LONG + f"{i // 37:09d}" + "z" * (i % 90) for i in range(count)]),
            "gaps": pa.array([None if i // 8192 == 1 else f"{i:07d}" for i in range(count)]),
        }
    )
    leman.create(root / "ours", rows)
    lance.write_dataset(rows, root / "theirs", data_storage_version="2.1")
    return rows, leman.open(root / "ours"), leman.open(root / "theirs")


@given(seed=st.integers(0, 2**32))
def test_prune__many_zones(large, seed):
    rows, ours, theirs = large
    rng = random.Random(seed)
    parts = []
    for _ in range(rng.randint(1, 3)):
        column = rng.choice(rows.schema.names)
        value = rows[column][rng.randrange(len(rows))].as_py()
        sign = rng.choice(sorted(COMPARISONS))
        parts.append(
            rng.choice(
                [
                    Null(column, rng.random() < 0.5),
                    Compare(column, sign, value),
                    In(column, [value], rng.random() < 0.5),
                ]
            )
        )
    where = str(Chain(rng.choice(["AND", "OR"]), parts))
    options = {"where": where, "batch_size": rng.choice([1000, 8192, 20_000])}
    found = ours.scan(["id"], **options).to_arrow()
    assert found.equals(theirs.scan(["id"], **options).to_arrow()), where
    assert ours.count_rows(where) == len(found), where


@pytest.mark.parametrize("unit", ["s", "ms"])
@pytest.mark.parametrize("zone", [None, "Europe/Paris"])
def test_moments_that_are_finer_than_the_column(tmp_path, unit, zone):
    start = datetime.datetime(2024, 2, 28, 12)
    moments = [start + datetime.timedelta(seconds=second) for second in range(-3, 4)]
    rows = pa.table({"time": pa.array(moments, pa.timestamp(unit)).cast(pa.timestamp(unit, zone))})
    table = leman.create(tmp_path / "t", rows, max_rows_per_fragment=2)
    behind = "Z" if zone else ""
    for sign, compare in COMPARISONS.items():
        for fraction in ("0", "000000001", "5", "999999999"):
            edge = f"timestamp '2024-02-29 12:00:00.{fraction}{behind}' - interval '1 day'"
            expected = [compare((m, "0"), (start, fraction)) for m in moments]
            assert table.count_rows(f"time {sign} {edge}") == sum(expected), (sign, fraction)
