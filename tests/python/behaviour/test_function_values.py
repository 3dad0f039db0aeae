# SPDX-License-Identifier: Apache-2.0
"""Arrow arrays as values of Python, and back."""

import datetime as dt
import decimal

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from leman import _core
from leman.apply import numpy_column

COLUMNS = {
    "int": pa.array([1, None, -(2**63)], pa.int64()),
    "int8": pa.array([127, None, -128], pa.int8()),
    "uint64": pa.array([0, None, 2**64 - 1], pa.uint64()),
    "float": pa.array([1.5, None, float("inf")], pa.float32()),
    "half": pa.array([1.5, None, 2], pa.float16()),
    "bool": [True, None, False],
    "text": ["x", None, "yü"],
    "large_text": pa.array(["", None, "b"], pa.large_string()),
    "bytes": [b"1", None, b""],
    "fixed_bytes": pa.array([b"ab", None, b"cd"], pa.binary(2)),
    "list": [[1.0, None], None, []],
    "lists": [[[1], [2, 3]], None, [None, [4]]],
    "large_list": pa.array([["a"], None, []], pa.large_list(pa.string())),
    "embedding": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.float32(), 2)),
    "struct": [{"x": 1, "y": ["a"]}, None, {"x": None, "y": None}],
    "date": [dt.date(2020, 1, 1), None, dt.date(1, 1, 1)],
    "time": [dt.time(1, 2, 3, 4), None, dt.time(0)],
    "timestamp": [dt.datetime(2020, 1, 1), None, dt.datetime(1960, 1, 1, 1, 2, 3, 4)],
    "zoned": pa.array([0, None, -5], pa.timestamp("us", "Europe/Paris")),
    "offset": pa.array([0, None, -5], pa.timestamp("ms", "-03:30")),
    "duration": [dt.timedelta(1), None, dt.timedelta(microseconds=-1)],
    "decimal": [decimal.Decimal("1.50"), None, decimal.Decimal("-2.25")],
    "nothing": pa.nulls(3),
}


class Capsules:
    def __init__(self, schema, array):
        self.pair = schema, array

    def __arrow_c_array__(self, requested_schema=None):
        return self.pair


def build(kind, values):
    """(array, what is wrong) of values as a column of that type."""
    schema = pa.schema([pa.field("c", kind)])
    array, wrong = _core.values_array(schema.__arrow_c_schema__(), values, True)
    batch = pa.record_batch(Capsules(schema.__arrow_c_schema__(), array))
    batch.validate(full=True)
    return batch["c"], wrong


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("start", [0, 1])
def test_values__there_and_back(name, start):
    batch = pa.record_batch({"c": COLUMNS[name]}).slice(start)
    schema, array = batch.__arrow_c_array__()
    (values,) = _core.values_columns(schema, array, 0, batch.num_rows)
    assert values == batch["c"].to_pylist()
    made, wrong = build(batch["c"].type, values)
    assert made.equals(batch["c"])
    assert wrong == []


def test_values__dictionaries_are_looked_up():
    batch = pa.record_batch({"c": pa.array(["q", None, "q", "r"]).dictionary_encode()})
    schema, array = batch.__arrow_c_array__()
    assert _core.values_columns(schema, array, 1, 3) == [[None, "q", "r"]]


@pytest.mark.parametrize(
    "kind, value, text",
    [
        (pa.int32(), 2.5, "2.5 (float) is not of the type int32"),
        (pa.int32(), True, "True (bool) is not of the type int32"),
        (pa.int32(), 2**40, "it does not fit 32 bits"),
        (pa.uint8(), -1, "(int) is not of the type uint8"),
        (pa.int64(), 2**70, "(int) is not of the type int64"),
        (pa.float64(), "1.5", "'1.5' (str) is not of the type double"),
        (pa.bool_(), 1, "1 (int) is not of the type bool"),
        (pa.string(), b"x", "b'x' (bytes) is not of the type string"),
        (pa.string(), "\ud800", "is not of the type string"),
        (pa.binary(), "x", "'x' (str) is not of the type binary"),
        (pa.binary(3), b"x", "it has 1 bytes"),
        (pa.list_(pa.int8()), "ab", "'ab' (str) is not of the type list<int8>"),
        (pa.list_(pa.int8()), [1, 300], "item 1: 300 (int) is not of the type int8"),
        (pa.list_(pa.float32(), 3), np.ones(2, "f4"), "it has 2 items, not 3"),
        (pa.struct([("x", pa.int8())]), {}, 'it has no "x"'),
        (pa.struct([("x", pa.int8())]), {"x": 1, "y": 2}, "it has 2 keys, not 1"),
        (pa.struct([("x", pa.int8())]), (1, 2), "it has 2 fields, not 1"),
        (pa.date32(), dt.datetime(2020, 1, 1), "a date is wanted"),
        (pa.timestamp("us"), dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "the column has none"),
        (pa.timestamp("us", "UTC"), dt.datetime(2020, 1, 1), "it has no time zone"),
        (pa.timestamp("s"), dt.datetime(2020, 1, 1, 0, 0, 0, 5), "fractions"),
        (pa.decimal128(5, 2), decimal.Decimal("1.234"), "2 of them after the point"),
        (pa.decimal128(5, 2), 1.5, "a Decimal is wanted"),
    ],
)
def test_values__wrong_ones_are_named(kind, value, text):
    made, wrong = build(kind, [None, value, None])
    assert len(made) == 3
    ((row, said),) = wrong
    assert row == 1
    assert text in said


def test_values__wrong_ones_leave_the_others():
    made, wrong = build(pa.int64(), [1, "x", 3, None, 5.5])
    assert made.to_pylist() == [1, None, 3, None, None]
    assert [row for row, _ in wrong] == [1, 4]


def test_values__numpy_scalars_and_arrays():
    assert build(pa.int64(), [np.int8(3), np.uint64(4)])[0].to_pylist() == [3, 4]
    assert build(pa.float32(), [np.float64(1.5), 2])[0].to_pylist() == [1.5, 2.0]
    assert build(pa.bool_(), [np.True_, False])[0].to_pylist() == [True, False]
    embedding = pa.list_(pa.float32(), 2)
    rows = [np.array([1, 2], "f4"), None, np.array([3, 4], "f8"), [5, 6]]
    assert build(embedding, rows)[0].to_pylist() == [[1, 2], None, [3, 4], [5, 6]]
    assert build(embedding, rows[:2])[0].to_pylist() == [[1, 2], None]
    assert build(pa.list_(pa.int64()), [np.arange(3), np.arange(0)])[0].to_pylist() == [
        [0, 1, 2],
        [],
    ]


def test_values__several_columns_of_tuples_dicts_and_objects():
    class Thing:
        a, b = 5, "five"

    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])
    rows = [(1, "one"), {"a": 2, "b": "two"}, Thing(), None]
    array, wrong = _core.values_array(schema.__arrow_c_schema__(), rows, False)
    batch = pa.record_batch(Capsules(schema.__arrow_c_schema__(), array))
    assert batch.to_pydict() == {"a": [1, 2, 5, None], "b": ["one", "two", "five", None]}
    assert wrong == []


def test_values__numpy_views_share_memory():
    batch = pa.record_batch(
        {
            "fixed": pa.array([[1, 2], None, [3, 4]], pa.list_(pa.float32(), 2)),
            "list": pa.array([[1, 2, 3], [], None], pa.list_(pa.int16())),
        }
    ).slice(1)
    schema, array = batch.__arrow_c_array__()
    fixed = numpy_column(schema, array, 0, 0, 2)
    lists = numpy_column(schema, array, 1, 0, 2)
    del schema, array
    assert fixed[0] is None
    assert fixed[1].tolist() == [3, 4]
    assert fixed[1].dtype == np.float32
    assert not fixed[1].flags.writeable
    assert lists[0].tolist() == []
    assert lists[1] is None


def test_values__batches_that_are_not_well_formed_are_refused():
    schema, array = pa.record_batch({"c": [1]}).__arrow_c_array__()
    with pytest.raises(IndexError):
        _core.values_columns(schema, array, 0, 2)
    with pytest.raises(TypeError, match="no lists of numbers"):
        _core.values_lists(schema, array, 0, 0, 1)
    with pytest.raises(IndexError):
        _core.values_lists(schema, array, 1, 0, 1)
    view = pa.record_batch({"c": pa.array(["x"], pa.string_view())})
    with pytest.raises(TypeError, match='"vu" are not supported'):
        _core.values_columns(*view.__arrow_c_array__(), 0, 1)


def test_schema__there_and_back():
    schema = pa.schema(
        [
            pa.field("a", pa.int64(), metadata={"k": "v", "": "empty"}),
            pa.field("b", pa.list_(pa.field("item", pa.float32(), nullable=False), 4)),
            pa.field("c", pa.struct([("x", pa.timestamp("us", "UTC"))]), nullable=False),
            pa.field("d", pa.dictionary(pa.int8(), pa.string())),
        ]
    )
    spec = _core.schema_describe(schema.__arrow_c_schema__())
    made = _core.schema_make(spec)
    assert _core.schema_describe(made) == spec

    class Holder:
        def __arrow_c_schema__(self):
            return made

    assert pa.schema(Holder()).equals(schema, check_metadata=True)


@pytest.mark.parametrize("spec", [(), ("l",), "l", ("l", "n", True, {}, [], None), None])
def test_schema__wrong_tuples_are_refused(spec):
    with pytest.raises(TypeError):
        _core.schema_make(spec)


_LEAVES = st.one_of(
    st.just(pa.int64()), st.just(pa.string()), st.just(pa.float64()), st.just(pa.bool_())
)
_KINDS = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        inner.map(pa.list_),
        inner.map(lambda kind: pa.list_(kind, 2)),
        st.lists(inner, min_size=1, max_size=3).map(
            lambda kinds: pa.struct([(f"f{i}", kind) for i, kind in enumerate(kinds)])
        ),
    ),
    max_leaves=4,
)


def _values(kind):
    if pa.types.is_int64(kind):
        plain = st.integers(-(2**63), 2**63 - 1)
    elif pa.types.is_string(kind):
        plain = st.text(st.characters(codec="utf-8"), max_size=5)
    elif pa.types.is_float64(kind):
        plain = st.floats(allow_nan=False)
    elif pa.types.is_boolean(kind):
        plain = st.booleans()
    elif pa.types.is_fixed_size_list(kind):
        plain = st.lists(_values(kind.value_type), min_size=2, max_size=2)
    elif pa.types.is_list(kind):
        plain = st.lists(_values(kind.value_type), max_size=3)
    else:
        plain = st.fixed_dictionaries({field.name: _values(field.type) for field in kind})
    return st.none() | plain


@given(st.data())
def test_values__any_type_there_and_back(data):
    kind = data.draw(_KINDS)
    values = data.draw(st.lists(_values(kind), max_size=12))
    made, wrong = build(kind, values)
    assert wrong == []
    assert made.to_pylist() == values
    schema, array = pa.record_batch({"c": made}).__arrow_c_array__()
    start = data.draw(st.integers(0, len(values)))
    assert _core.values_columns(schema, array, start, len(values) - start) == [values[start:]]
