# SPDX-License-Identifier: Apache-2.0
"""Expressions: the same values as DuckDB computes, the same rows as pylance filters."""

import datetime
import decimal
import math
import zoneinfo

import duckdb
import lance
import leman
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

WORDS = ["", "a", "b", "ab", "ba", "abc", "Äb", "%", "a_b", "aab", "B"]


def nullable(values):
    return st.one_of(st.none(), values)


def columns(rows):
    def column(values):
        return st.lists(nullable(values), min_size=rows, max_size=rows)

    return st.fixed_dictionaries(
        {
            "i": column(st.integers(-5, 5)),
            "j": column(st.integers(-5, 5)),
            "f": column(st.sampled_from([-1.5, -0.0, 0.0, 0.5, 2.0, math.nan, math.inf])),
            "s": column(st.sampled_from(WORDS)),
            "b": column(st.booleans()),
            "d": column(st.dates(datetime.date(1960, 1, 1), datetime.date(2030, 12, 31))),
        }
    )


TYPES = {
    "i": pa.int64(),
    "j": pa.int32(),
    "f": pa.float64(),
    "s": pa.string(),
    "b": pa.bool_(),
    "d": pa.date32(),
}

batches = (
    st.integers(1, 20)
    .flatmap(columns)
    .map(lambda data: pa.record_batch({k: pa.array(v, TYPES[k]) for k, v in data.items()}))
)

COMPARE = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])


def joined(pattern, *parts):
    return st.tuples(*parts).map(lambda values: pattern.format(*values))


def quoted(word):
    return "'" + word.replace("'", "''") + "'"


def integers(depth):
    leaf = st.one_of(st.sampled_from(["i", "j"]), st.integers(-9, 9).map(lambda n: f"({n})"))
    if depth == 0:
        return leaf
    inner = integers(depth - 1)
    return st.one_of(
        leaf,
        joined("({} {} {})", inner, st.sampled_from("+-*"), inner),
        joined("({} % {})", inner, st.sampled_from(["2", "3", "(-2)"])),
        joined("(- {})", inner),
        joined("abs({})", inner),
        joined("coalesce({}, {})", inner, inner),
        joined("nullif({}, {})", inner, inner),
        joined("greatest({}, {})", inner, inner),
        joined("least({}, {})", inner, inner),
        joined("case when {} then {} else {} end", conditions(depth - 1), inner, inner),
        joined("length({})", texts(depth - 1)),
        joined("extract(year from d)"),
    )


def floats(depth):
    leaf = st.one_of(st.just("f"), st.sampled_from(["0.0", "0.5", "(-1.5)", "2.0"]))
    if depth == 0:
        return leaf
    inner = floats(depth - 1)
    return st.one_of(
        leaf,
        joined("({} {} {})", inner, st.sampled_from("+-*"), inner),
        joined("cast({} as double)", integers(depth - 1)),
        joined("coalesce({}, {})", inner, inner),
    )


def texts(depth):
    leaf = st.one_of(st.just("s"), st.sampled_from(WORDS).map(quoted))
    if depth == 0:
        return leaf
    inner = texts(depth - 1)
    return st.one_of(
        leaf,
        joined("({} || {})", inner, inner),
        joined("concat({}, {})", inner, inner),
        joined("lower({})", inner),
        joined("upper({})", inner),
        joined("substr({}, {}, {})", inner, st.integers(1, 3), st.integers(0, 3)),
        joined("replace({}, 'a', {})", inner, inner),
        joined("left({}, {})", inner, st.integers(0, 3)),
        joined("right({}, {})", inner, st.integers(0, 3)),
        joined("trim({}, 'a')", inner),
        joined("reverse({})", inner),
        joined("{}({}, {}, 'xy')", st.sampled_from(["lpad", "rpad"]), inner, st.integers(0, 4)),
        joined("repeat({}, {})", inner, st.integers(-1, 3)),
        joined("concat_ws('-', {}, {})", inner, inner),
        joined("cast({} as varchar)", integers(depth - 1)),
    )


def conditions(depth):
    leaf = st.one_of(
        st.just("b"),
        joined("i {} {}", COMPARE, st.integers(-5, 5)),
        joined("f {} {}", COMPARE, st.sampled_from(["0.0", "0.5", "cast('nan' as double)"])),
        joined("s {} {}", COMPARE, st.sampled_from(WORDS).map(quoted)),
        joined("d {} date '2000-01-0{}'", COMPARE, st.integers(1, 9)),
    )
    if depth == 0:
        return leaf
    inner = conditions(depth - 1)
    return st.one_of(
        leaf,
        joined("({} and {})", inner, inner),
        joined("({} or {})", inner, inner),
        joined("(not {})", inner),
        joined("({} is {} null)", inner, st.sampled_from(["", "not"])),
        joined("({} is {} true)", inner, st.sampled_from(["", "not"])),
        joined("({} {} {})", integers(depth - 1), COMPARE, integers(depth - 1)),
        joined("({} {} {})", floats(depth - 1), COMPARE, floats(depth - 1)),
        joined("({} {} {})", texts(depth - 1), COMPARE, texts(depth - 1)),
        joined(
            "({} {} in ({}, {}))",
            integers(depth - 1),
            st.sampled_from(["", "not"]),
            integers(depth - 1),
            st.one_of(st.just("null"), integers(depth - 1)),
        ),
        joined("(i {} between {} and {})", st.sampled_from(["", "not"]), inner_int, inner_int),
        joined(
            "({} {} {})",
            texts(depth - 1),
            st.sampled_from(["like", "not like", "ilike"]),
            st.sampled_from(["'a%'", "'%b'", "'%a%'", "'_b%'", "'a%b'", "'__'", "'%'", "'ä%'"]),
        ),
        joined("(i is {} distinct from j)", st.sampled_from(["", "not"])),
        joined("starts_with({}, 'a')", texts(depth - 1)),
    )


inner_int = integers(0)


def same(ours, theirs):
    if isinstance(ours, float) and isinstance(theirs, float):
        return ours == theirs or (math.isnan(ours) and math.isnan(theirs))
    return ours == theirs and (ours is None) == (theirs is None)


@pytest.fixture(scope="module")
def judge():
    with duckdb.connect() as connection:
        yield connection


@given(batch=batches, text=st.one_of(conditions(2), integers(2), floats(2), texts(2)))
def test_values_are_those_of_duckdb(judge, batch, text):
    ours = leman.evaluate(text, batch).to_pylist()
    judge.register("rows", pa.Table.from_batches([batch]))
    theirs = [row[0] for row in judge.execute(f"select {text} from rows").fetchall()]
    assert len(ours) == len(theirs)
    for row, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert same(a, b), f"row {row} of {text}: {a!r}, DuckDB has {b!r}: {batch.to_pylist()[row]}"


@given(
    rows=st.lists(
        st.tuples(
            st.decimals(-(10**9), 10**9, places=2),
            st.decimals(-(10**6), 10**6, places=3).filter(bool),
        ),
        min_size=1,
        max_size=9,
    )
)
def test_decimals_are_divided_exactly(judge, rows):
    """Towards zero, with four digits more than the dividend; DuckDB divides as doubles."""
    dividends, divisors = zip(*rows, strict=True)
    batch = pa.record_batch(
        {
            "x": pa.array(dividends, pa.decimal128(12, 2)),
            "y": pa.array(divisors, pa.decimal128(10, 3)),
        }
    )
    with decimal.localcontext() as context:
        context.prec, context.rounding = 60, decimal.ROUND_DOWN
        quotients = [(x / y).quantize(decimal.Decimal("1e-6")) for x, y in rows]
    assert leman.evaluate("x / y", batch).to_pylist() == quotients
    judge.register("rows", pa.Table.from_batches([batch]))
    theirs = [row[0] for row in judge.execute("select x % y from rows").fetchall()]
    assert leman.evaluate("x % y", batch).to_pylist() == theirs


def test_decimals_are_not_divided_by_zero():
    batch = pa.record_batch({"x": pa.array([decimal.Decimal("1.5")], pa.decimal128(4, 2))})
    for text in ("x / 0", "x % (x - x)"):
        with pytest.raises(leman.InvalidError, match="division by zero"):
            leman.evaluate(text, batch)


ITEMS = nullable(st.integers(-1, 2))
LISTS = nullable(st.lists(ITEMS, max_size=3))
NESTED = {
    "l": (LISTS, pa.list_(pa.int64())),
    "m": (LISTS, pa.large_list(pa.int64())),
    "o": (nullable(st.lists(LISTS, max_size=2)), pa.list_(pa.list_(pa.int64()))),
    "p": (nullable(st.lists(LISTS, max_size=2)), pa.list_(pa.list_(pa.int64()))),
    "q": (
        nullable(st.fixed_dictionaries({"x": ITEMS, "y": LISTS})),
        pa.struct([("x", pa.int64()), ("y", pa.list_(pa.int64()))]),
    ),
    "r": (
        nullable(st.fixed_dictionaries({"x": ITEMS, "y": LISTS})),
        pa.struct([("x", pa.int64()), ("y", pa.list_(pa.int64()))]),
    ),
}
nested_batches = st.lists(
    st.fixed_dictionaries({name: values for name, (values, _) in NESTED.items()}),
    min_size=1,
    max_size=9,
).map(
    lambda rows: pa.record_batch(
        {name: pa.array([row[name] for row in rows], kind) for name, (_, kind) in NESTED.items()}
    )
)


@given(
    batch=nested_batches,
    sides=st.sampled_from(["l m", "m l", "o p", "q r", "l [1,2]", "l [0,NULL]", "[0] m", "l []"]),
    operator=st.one_of(COMPARE, st.sampled_from(["is distinct from", "is not distinct from"])),
)
def test_nested_values_compare_as_in_duckdb(judge, batch, sides, operator):
    left, right = sides.split()
    text = f"{left} {operator} {right}"
    judge.register("rows", pa.Table.from_batches([batch]))
    theirs = [row[0] for row in judge.execute(f"select {text} from rows").fetchall()]
    assert leman.evaluate(text, batch).to_pylist() == theirs, text


@given(
    batch=nested_batches,
    negated=st.sampled_from(["", "not"]),
    items=st.sampled_from(
        ["l {} in (m, [1,2], [])", "q {} in (r)", "l {} in ([0], null)", "[1] {} in (l, m)"]
    ),
)
def test_nested_values_are_in_sets_as_in_duckdb(judge, batch, negated, items):
    text = items.format(negated)
    judge.register("rows", pa.Table.from_batches([batch]))
    theirs = [row[0] for row in judge.execute(f"select {text} from rows").fetchall()]
    assert leman.evaluate(text, batch).to_pylist() == theirs, text


def test_values_are_in_lists():
    batch = pa.record_batch({"x": [1, 2, None], "l": [[1, 3], [1], [2]]})
    assert leman.evaluate("x in l", batch).to_pylist() == [True, False, None]
    assert leman.evaluate("x not in l and true", batch).to_pylist() == [False, True, None]
    assert leman.evaluate("x in [2, 5]", batch).to_pylist() == [False, True, None]
    with pytest.raises(leman.InvalidError, match="list"):
        leman.evaluate("x in x", batch)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    number = range(400)
    table = pa.table(
        {
            "id": pa.array(number, pa.int64()),
            "i": pa.array([None if n % 7 == 0 else n % 11 - 5 for n in number], pa.int64()),
            "f": pa.array(
                [None if n % 5 == 0 else [-1.5, 0.0, -0.0, 0.5, math.nan][n % 5] for n in number],
                pa.float64(),
            ),
            "s": pa.array([None if n % 9 == 0 else WORDS[n % len(WORDS)] for n in number]),
            "b": pa.array([[True, False, None][n % 3] for n in number]),
            "d": pa.array([None if n % 4 == 0 else 10957 + n for n in number], pa.date32()),
            "t": pa.array([n * 1000 for n in number], pa.timestamp("us")),
            "l": pa.array([None if n % 6 == 0 else [n % 3, n % 4] for n in number]),
            "n": pa.array([None if n % 8 == 0 else {"x": n % 5} for n in number]),
        }
    )
    return table, lance.write_dataset(table, tmp_path_factory.mktemp("expr") / "rows.lance")


def filters(depth):
    number = st.integers(-6, 6)
    leaf = st.one_of(
        joined("i {} {}", COMPARE, number),
        joined("i + 1 {} id % {}", COMPARE, st.integers(1, 9)),
        joined("f {} {}", COMPARE, st.sampled_from(["0.0", "0.5", "-1.5"])),
        joined("s {} {}", COMPARE, st.sampled_from(WORDS).map(quoted)),
        joined("s like {}", st.sampled_from(["'a%'", "'%b'", "'_b%'", "'%\\%'"])),
        joined("d {} date '2000-0{}-01'", COMPARE, st.integers(1, 9)),
        joined("t {} timestamp '1970-01-01 00:00:00.{}'", COMPARE, st.integers(100, 399)),
        joined("i {} in ({}, {})", st.sampled_from(["", "not"]), number, number),
        joined("n.x {} {}", COMPARE, number),
        joined("array_has(l, {})", number),
        joined("array_has_any(l, [{}, 3])", number),
        joined("l[1] {} {}", COMPARE, number),
        joined("array_position(l, {}) {} 1", number, COMPARE),
        joined("array_element(l, {}) = 1", st.sampled_from([1, 2, -1])),
        joined("initcap(s) = {}", st.sampled_from(WORDS).map(quoted)),
        joined("date_bin(interval '7 milliseconds', t) {} t", COMPARE),
        joined("regexp_match(s, 'a.?b') is {} null", st.sampled_from(["", "not"])),
        joined("d {} make_date(2000, {}, 1)", COMPARE, st.integers(1, 12)),
        joined("current_date {} d", COMPARE),
        joined("regexp_like(s, {})", st.sampled_from(["'^a'", "'a.?b'", "'[^a-z]'", "'^$'"])),
        joined("lower(s) = {}", st.sampled_from(WORDS).map(quoted)),
        joined("date_part('year', d) {} {}", COMPARE, st.integers(2000, 2001)),
        joined("{} is {} null", st.sampled_from("ifsbdl"), st.sampled_from(["", "not"])),
        st.just("b"),
        st.just("isnan(f)"),
    )
    if depth == 0:
        return leaf
    inner = filters(depth - 1)
    return st.one_of(
        leaf,
        joined("({}) and ({})", inner, inner),
        joined("({}) or ({})", inner, inner),
        joined("not ({})", inner),
    )


@given(text=filters(2))
def test_rows_are_those_of_pylance(dataset, text):
    table, theirs = dataset
    batch = table.combine_chunks().to_batches()[0]
    mask = leman.evaluate(text, batch).to_pylist()
    ours = [row for row, match in enumerate(mask) if match]
    assert ours == theirs.to_table(filter=text, columns=["id"])["id"].to_pylist(), text


VALUES = [
    "i << 2",
    "i >> 1",
    "md5(s)",
    "sha224(s)",
    "sha256(s)",
    "sha384(s)",
    "sha512(s)",
    "digest(s, 'md5')",
    "encode(sha256(s), 'hex')",
    "encode(s, 'base64')",
    "to_hex(i)",
    "to_char(d, '%Y-%m-%d %b %B %a %A %j %e %u %w %y %D')",
    "to_char(t, '%F %T %R %I %p %M %S %f %%')",
    "arrow_cast(i, 'Utf8')",
    "arrow_cast(d, 'Timestamp(Second, None)')",
    "arrow_cast(i, 'Decimal128(10, 2)')",
    "abs(arrow_cast(i - 1, 'Decimal128(38, 18)') / 3)",
    "cast(i as timestamp)",
    "cast(concat('0001-01-0', cast(coalesce(abs(i), 0) + 1 as string)) as timestamp)",
    "regexp_instr(s, 'b')",
    "regexp_count(coalesce(s, ''), 'a|b')",
    "array_concat(l, [7, i], l)",
    "array_append(l, i)",
    "array_prepend(i, l)",
    "array_reverse(l)",
    "array_slice(l, 2, -1)",
    "array_slice([1, 2, 3, 4, i], i, 3)",
    "array_pop_front(l)",
    "array_pop_back(l)",
    "array_sort(l)",
    "array_sort([3, i, 0, null], 'DESC', 'NULLS LAST')",
    "array_distinct([2, i, null, 2, null])",
    "array_union(l, [i, 9, 9])",
    "array_intersect([3, 1, 2, 2, i], l)",
    "array_except([3, 1, 2, 2, i], l)",
    "array_remove(l, 0)",
    "array_remove_all(l, 0)",
    "array_max(l)",
    "array_min([3, i, null])",
    "array_has_any(l, [i, null])",
    "array_has_all([0, 1, 2], l)",
]


@pytest.mark.parametrize("text", VALUES)
def test_values_are_those_of_pylance(dataset, text):
    table, theirs = dataset
    batch = table.combine_chunks().to_batches()[0]
    expected = theirs.to_table(columns={"value": text})["value"].to_pylist()
    assert leman.evaluate(text, batch).to_pylist() == expected


def patterns(depth):
    leaf = st.sampled_from(["a", "b", ".", "[^a]", "", "^", "$", "\\b", "\\w"])
    if depth == 0:
        return leaf
    inner = patterns(depth - 1)
    count = st.sampled_from(["*", "+", "?", "*?", "??", "{1,2}", "{2}"])
    return st.one_of(
        leaf,
        joined("{}{}", inner, inner),
        joined("({}|{})", inner, inner),
        joined("({}){}", inner, count),
    )


@given(
    pattern=patterns(3),
    replacement=st.sampled_from(["-", "[$0]", "${1}.", "\\2\\1", "$1$$"]),
    flags=st.sampled_from(["i", "g", "gi"]),
)
def test_replacements_are_those_of_pylance(dataset, pattern, replacement, flags):
    table, theirs = dataset
    text = f"regexp_replace(s, '{pattern}', '{replacement}', '{flags}')"
    rows = {"columns": {"value": text}, "limit": len(WORDS) + 2}
    expected = theirs.to_table(**rows)["value"].to_pylist()
    batch = table.slice(0, len(expected)).combine_chunks().to_batches()[0]
    assert leman.evaluate(text, batch).to_pylist() == expected, text


@given(pattern=patterns(3), flags=st.sampled_from(["i", "s", "m"]))
def test_matches_are_those_of_pylance(dataset, pattern, flags):
    """Also where the table of states does not know a character, or there is none."""
    table, theirs = dataset
    text = f"regexp_like(s, '{pattern}', '{flags}')"
    expected = theirs.to_table(filter=text, columns=["id"])["id"].to_pylist()
    batch = table.combine_chunks().to_batches()[0]
    found = leman.evaluate(text, batch).to_pylist()
    assert [row for row, match in enumerate(found) if match] == expected, text


@given(pattern=patterns(3), words=st.lists(st.text("ab\nÄä\u3042\U0001f40d_ ", max_size=6)))
def test_matches_are_where_they_are_found(pattern, words):
    batch = pa.record_batch({"s": pa.array(words, pa.string())})
    found = leman.evaluate(f"regexp_instr(s, '{pattern}') > 0", batch).to_pylist()
    assert leman.evaluate(f"regexp_like(s, '{pattern}')", batch).to_pylist() == found, pattern


@given(
    batch=batches,
    first=st.sampled_from(["i", "j", "(-3)", "6"]),
    rest=st.lists(
        st.tuples(st.sampled_from(["&", "|", "+", ">>"]), st.integers(0, 5)), min_size=1, max_size=4
    ),
)
def test_bits_are_those_of_duckdb(judge, batch, first, rest):
    text = first + "".join(f" {operator} {number}" for operator, number in rest)
    judge.register("rows", pa.Table.from_batches([batch]))
    theirs = [row[0] for row in judge.execute(f"select {text} from rows").fetchall()]
    assert leman.evaluate(text, batch).to_pylist() == theirs, text


def test_result_takes_any_arrow_data():
    batch = pa.record_batch({"x": pa.array([1, None, 3], pa.int8())})
    doubled = leman.evaluate("x * 2", batch)
    assert doubled.to_arrow().equals(pa.array([2, None, 6], pa.int64()))
    with pytest.raises(ValueError, match="handed over once"):
        doubled.to_arrow()
    assert leman.evaluate("x", batch.to_struct_array()).to_pylist() == [1, None, 3]
    with pytest.raises(TypeError, match="to_batches"):
        leman.evaluate("x", pa.table(batch))


@pytest.mark.parametrize(
    "type_",
    [
        pa.dictionary(pa.int8(), pa.string()),
        pa.string_view(),
        pa.large_string(),
        pa.binary(),
        pa.binary_view(),
        pa.binary(2),
    ],
)
def test_text_of_every_layout(type_):
    values = pa.array(["ab", None, "cd", "ab"], pa.string())
    if isinstance(type_, pa.DictionaryType):
        column = values.dictionary_encode().cast(type_)
    else:
        column = pa.array([v if v is None else v.encode() for v in values.to_pylist()], pa.binary())
        column = column.cast(type_)
    batch = pa.record_batch({"x": column})
    assert leman.evaluate("x = 'ab'", batch.slice(1)).to_pylist() == [None, False, True]
    assert leman.evaluate("x", batch).to_pylist() == column.to_pylist()


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "+05:30"])
def test_timestamps_of_every_unit(unit, zone):
    moment = datetime.datetime(2024, 2, 29, 23, 59, 59, tzinfo=datetime.UTC)
    column = pa.array([moment, None], pa.timestamp(unit, zone or "UTC"))
    if zone is None:
        column = column.cast(pa.timestamp(unit))
    batch = pa.record_batch({"t": column})
    for text in ["t = '2024-02-29T23:59:59Z'", "t > '2024-02-29T23:59:58.5Z'"]:
        assert leman.evaluate(text, batch).to_pylist() == [True, None]
    day = leman.evaluate("date_part('day', t)", batch).to_pylist()
    assert day == [1 if zone == "+05:30" else 29, None]


MOMENTS = st.datetimes(datetime.datetime(1905, 1, 1), datetime.datetime(2095, 12, 31))
PARTS = ["year", "month", "day", "hour", "minute", "second", "dow", "doy", "week", "quarter"]


def intervals():
    def counted(unit):
        return st.integers(-40, 40).map(lambda n: f"{n} {unit}")

    units = ["year", "months", "weeks", "days", "hours", "minutes", "milliseconds"]
    parts = st.lists(st.sampled_from(units).flatmap(counted), min_size=1, max_size=3)
    return parts.map(lambda texts: f"interval '{' '.join(texts)}'")


@given(
    moments=st.lists(nullable(MOMENTS), min_size=1, max_size=9),
    text=st.one_of(
        joined(
            "extract({} from ({} {} {}))",
            st.sampled_from(PARTS),
            st.sampled_from(["t", "cast(t as date)"]),
            st.sampled_from("+-"),
            intervals(),
        ),
        joined("(t + {}) {} (t - {} + {})", intervals(), COMPARE, intervals(), intervals()),
        joined("t {} timestamp '2000-02-29 12:00:00' - {}", COMPARE, intervals()),
        joined("cast(t as date) {} date '2000-02-29' + {}", COMPARE, intervals()),
        joined("{} {} {} + {}", intervals(), COMPARE, intervals(), intervals()),
        joined("t - timestamp '2000-02-29 12:00:00' {} {}", COMPARE, intervals()),
        joined("t - {} * 3 {} t", intervals(), COMPARE),
    ),
)
def test_intervals_are_those_of_duckdb(judge, moments, text):
    batch = pa.record_batch({"t": pa.array(moments, pa.timestamp("us"))})
    judge.register("rows", pa.Table.from_batches([batch]))
    theirs = [row[0] for row in judge.execute(f"select {text} from rows").fetchall()]
    assert leman.evaluate(text, batch).to_pylist() == theirs, text


ZONES = [
    "Europe/Paris",
    "America/New_York",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Europe/Dublin",
    "Pacific/Apia",
    "America/Sao_Paulo",
    "Asia/Kathmandu",
    "UTC",
]


def at_clock(wall, zone):
    """The moment that a clock shows: its second time, or counted on from before when skipped."""
    moment = wall.replace(tzinfo=zone, fold=1).astimezone(datetime.UTC)
    if moment.astimezone(zone).replace(tzinfo=None) == wall:
        return moment
    return wall.replace(tzinfo=zone, fold=0).astimezone(datetime.UTC)


@given(
    name=st.sampled_from(ZONES),
    moments=st.lists(MOMENTS.map(lambda m: m.replace(microsecond=0)), min_size=1, max_size=9),
    days=st.integers(-400, 400),
)
def test_zones_are_those_of_python(name, moments, days):
    zone = zoneinfo.ZoneInfo(name)
    moments = [m.replace(tzinfo=datetime.UTC) for m in moments]
    local = [m.astimezone(zone) for m in moments]
    walls = [m.replace(tzinfo=None) for m in local]
    batch = pa.record_batch({"t": pa.array(moments, pa.timestamp("s", name))})

    def values(text):
        return leman.evaluate(text, batch).to_pylist()

    def instants(text):
        return [m.astimezone(datetime.UTC) for m in values(text)]

    assert values("hour(t)") == [m.hour for m in local]
    assert values("extract(doy from t)") == [m.timetuple().tm_yday for m in local]
    assert values("cast(t as date)") == [m.date() for m in local]
    assert values("cast(t as timestamp(0))") == walls
    texts = [m.isoformat().removesuffix("+00:00") + "Z" * (not m.utcoffset()) for m in local]
    assert values("cast(t as string)") == texts
    start = [wall.replace(hour=0, minute=0, second=0) for wall in walls]
    assert instants("date_trunc('day', t)") == [at_clock(wall, zone) for wall in start]
    moved = [at_clock(wall + datetime.timedelta(days=days), zone) for wall in walls]
    assert instants(f"t + interval '{days} days'") == moved
    assert instants("t + interval '24 hours'") == [m + datetime.timedelta(days=1) for m in moments]
    first = at_clock(walls[0], zone)
    assert values(f"t >= '{walls[0].isoformat()}'") == [m >= first for m in moments]
    assert values(f"t >= '{moments[0].isoformat()}'") == [m >= moments[0] for m in moments]


def test_zones_that_the_system_does_not_have(monkeypatch, tmp_path):
    def batch(zone):
        return pa.record_batch({"t": pa.array([0], pa.int64()).cast(pa.timestamp("s", zone))})

    with pytest.raises(leman.UnsupportedError, match="time zone Mars/Base is not among"):
        leman.evaluate("year(t)", batch("Mars/Base"))
    monkeypatch.setenv("TZDIR", str(tmp_path / "none"))
    with pytest.raises(leman.UnsupportedError, match=r"Europe/Paris.*tzdata.*TZDIR.*character 6"):
        leman.evaluate("year(t)", batch("Europe/Paris"))
    assert leman.evaluate("t = '1970-01-01T00:00:00Z'", batch("Europe/Paris")).to_pylist() == [True]
    monkeypatch.setenv("TZDIR", str(tmp_path))
    (tmp_path / "Bad").write_bytes(b"TZif2" + bytes(60))
    with pytest.raises(leman.CorruptError, match="time zone Bad"):
        leman.evaluate("year(t)", batch("Bad"))


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_finer_moments_are_compared_as_they_are(unit):
    """Also with timestamps so far away that nanoseconds do not reach them."""
    values = [-(10**9), 0, 1, 10**10]
    batch = pa.record_batch({"t": pa.array(values, pa.int64()).cast(pa.timestamp(unit))})
    finer = "timestamp '1970-01-01 00:00:00.000000001'"
    for operator, expected in {
        "<": [True, True, False, False],
        "<=": [True, True, False, False],
        ">": [False, False, True, True],
        ">=": [False, False, True, True],
    }.items():
        assert leman.evaluate(f"t {operator} {finer}", batch).to_pylist() == expected
        swapped = operator.translate(str.maketrans("<>", "><"))
        assert leman.evaluate(f"{finer} {swapped} t", batch).to_pylist() == expected
    assert leman.evaluate("t < now()", batch).to_pylist()[:3] == [True, True, True]


@pytest.mark.parametrize("rows", [1, 2047, 2048, 2049, 10000])
def test_long_batches(rows):
    values = [None if n % 3 == 0 else n for n in range(rows)]
    batch = pa.record_batch({"x": pa.array(values, pa.int64())})
    expected = [None if v is None else v % 2 == 0 and v > 10 for v in values]
    assert leman.evaluate("x % 2 = 0 and x > 10", batch).to_pylist() == expected
    assert leman.evaluate("cast(x as string)", batch.slice(1)).to_pylist() == [
        None if v is None else str(v) for v in values[1:]
    ]


@pytest.mark.parametrize("kind", [pa.list_(pa.int16()), pa.large_list(pa.string())])
@pytest.mark.parametrize("first", [0, 3])
def test_items_are_found_in_lists_of_any_length(kind, first):
    lengths = [0, 1, 3000, 2, 2047, 2048, 2049, 5, 0, 9000] + [n % 7 for n in range(5000)]
    rows, number = [], 0
    for n, length in enumerate(lengths):
        items = [None if k % 5 == 0 else k * k % 97 for k in range(number, number + length)]
        rows.append(None if n % 11 == 4 else items)
        number += length
    if kind.value_type == pa.string():
        rows = [row and [None if item is None else str(item) for item in row] for row in rows]
    batch = pa.record_batch({"l": pa.array(rows, kind)}).slice(first)
    for wanted in ([47], [98], [1, 36, 98]):
        values = [str(w) if kind.value_type == pa.string() else w for w in wanted]
        expected = [None if row is None else bool(set(values) & set(row)) for row in rows[first:]]
        texts = ", ".join(repr(value) for value in values)
        found = leman.evaluate(f"array_has_any(l, [{texts}])", batch).to_pylist()
        assert found == expected, wanted
        if len(wanted) == 1:
            assert leman.evaluate(f"array_has(l, {texts})", batch).to_pylist() == expected


def test_numbers_are_not_set_to_infinity(tmp_path):
    rows = {"x": pa.array([1e300, 0.1]), "f": pa.array([1, 2], pa.float32())}
    table = leman.create(tmp_path / "rows.lance", pa.table(rows))
    with pytest.raises(leman.InvalidError, match=r"1e\+300 is no value of type float"):
        table.update(None, {"f": "x"})
    table.update("x < 1", {"f": "x"})
    assert sorted(table.to_arrow()["f"].to_pylist()) == pytest.approx([0.1, 1])


def small(kind):
    return pa.list_(small(kind.value_type)) if pa.types.is_list(kind) else pa.int8()


BAD_ITEMS = {
    "300 is no value of type int8 where l is [3, 300, null, 7, 7, 7, 7, 7, ...], ": [
        [1, 2],
        None,
        [3, 300, None] + [7] * 9,
        [500],
    ],
    "-129 is no value of type int8 where l is [null, -129], ": [[], [None, -129]],
    "'one' is no value of type int8 where l is ['1', 'one', 'two'], ": [["1"], ["1", "one", "two"]],
    f"'{'y' * 90}...' is no value of type int8 where l is ['1', '2', ...], ": [
        ["1", "2", "y" * 1000]
    ],
    f"'{'é' * 45}...' is no value of type int8 where l is ['{'é' * 45}...'], ": [["é" * 50]],
    f"'y{'é' * 44}...' is no value of type int8 where l is ['y{'é' * 44}...'], ": [
        ["y" + "é" * 50]
    ],
    "400 is no value of type int8 where l is [...], ": [[[1], None], [[2], [3, 400]]],
}


@pytest.mark.parametrize("message", BAD_ITEMS)
@pytest.mark.parametrize("before", [0, 5000])
def test_errors_of_items_say_what_the_list_is(message, before, tmp_path):
    lists = pa.array([None] * before + BAD_ITEMS[message])
    small_lists = pa.nulls(len(lists), small(lists.type))
    table = leman.create(tmp_path / "rows.lance", pa.table({"l": lists, "small": small_lists}))
    with pytest.raises(leman.InvalidError) as error:
        table.update(None, {"small": "l"})
    assert f'column "small": {message}' in str(error.value)
    assert str(error.value).endswith("at character 1 near 'l'")


def test_errors_of_types_name_the_columns():
    rows = pa.record_batch({"n": [1], "s": ["a"], "info": [{"w": 1}], "l": [[1]]})
    for text, message in (
        ("n = 'abc'", "'abc' is no value of type int64 (n is int64), at character 5 near ''abc''"),
        ("info.w < 'q'", "'q' is no value of type int64 (info.w is int64), at character 10"),
        ("array_has(l, 'x')", "'x' is no value of type int64 (l is list), at character 14"),
        ("n + s > 1", "there is no int64 + string (n is int64, s is string), at character 3"),
        ("n = '" + "é" * 300 + "'", f"'{'é' * 45}...' is no value of type int64 (n is int64), "),
        ("s in (1, 2)", "cannot compare string and int64 without a cast (s is string), at "),
    ):
        with pytest.raises(leman.InvalidError) as error:
            leman.evaluate(text, rows)
        assert message in str(error.value)


def test_errors_of_terms_that_stand_in_many_places():
    """nullif(x, 3) has x twice, and so on."""
    text = "n"
    for _ in range(100):
        text = f"nullif({text}, 3)"
    with pytest.raises(leman.InvalidError, match=r"'x' is no value of type int64 \(n is int64\)"):
        leman.evaluate(f"{text} = 'x'", pa.record_batch({"n": [1]}))


def test_errors_do_not_show_hidden_columns(tmp_path):
    table = leman.create(tmp_path / "rows.lance", {"n": [1]})
    table.add_columns({"twice": leman.udf(lambda n: 2 * n, data_type=pa.int64())})
    with pytest.raises(leman.InvalidError, match="without a cast") as error:
        table.count_rows("leman_state('twice') = n")
    assert "_leman" not in str(error.value) and "n is int64" in str(error.value)
