# SPDX-License-Identifier: Apache-2.0
"""Functions that fill columns: kinds, types, and what is refused when they are made or bound."""

import datetime as dt
import subprocess
import sys
import threading
import typing
from dataclasses import dataclass

import leman
import numpy as np
import pyarrow as pa
import pytest
from leman import datatypes, function
from leman.binding import Binding
from leman.decorator import parse_bytes
from leman.registry import columns_of


@pytest.fixture
def table(tmp_path):
    rows = {
        "id": [1, 2, 3],
        "text": ["a", "bb", None],
        "info": [{"url": "u1", "w": 1}, {"url": "u2", "w": 2}, None],
        "vector": pa.array([[3, 4], [6, 8], None], pa.list_(pa.float32(), 2)),
        "when": [dt.datetime(2020, 1, 1)] * 3,
    }
    return leman.create(tmp_path / "t.lance", rows)


def test_udf__is_still_callable():
    @leman.udf
    def twice(x: int) -> int:
        """Twice as much."""
        return 2 * x

    assert twice(4) == 8
    assert twice.__name__ == "twice"
    assert twice.__doc__ == "Twice as much."


def test_udf__scalar_gets_none_for_nulls(table):
    @leman.udf
    def length(text: str | None) -> int | None:
        return None if text is None else len(text)

    result = length.test(table)
    assert result.outputs == [1, 2, None]
    assert result.errors == []
    assert result.inputs == [{"text": "a"}, {"text": "bb"}, {"text": None}]
    assert result.seconds > 0


def test_udf__arrays_and_batches(table):
    @leman.udf(data_type=pa.int64())
    def array(id: pa.Array) -> pa.Array:
        return pa.compute.multiply(id, 2)

    @leman.udf(data_type=pa.string(), input_columns=["text", "id"])
    def batch(rows: pa.RecordBatch) -> pa.Array:
        return pa.array([f"{row['text']}{row['id']}" for row in rows.to_pylist()])

    import pyarrow.compute  # noqa: F401

    assert array.test(table).outputs == [2, 4, 6]
    assert batch.test(table).outputs == ["a1", "bb2", "None3"]


def test_udf__batch_gets_all_columns(table):
    @leman.udf(data_type=pa.string())
    def names(rows: pa.RecordBatch) -> pa.Array:
        return pa.array([",".join(rows.schema.names)] * len(rows))

    assert names.test(table, rows=1).outputs == ["id,text,info,vector,when"]


def test_udf__numpy_views(table):
    @leman.udf
    def norm(vector: np.ndarray | None) -> float | None:
        assert vector is None or (vector.dtype == np.float32 and not vector.flags.writeable)
        return None if vector is None else np.linalg.norm(vector)

    assert norm.test(table).outputs == [5, 10, None]


def test_udf__nested_inputs(table):
    @leman.udf(input_columns=["info.url", "info.w"])
    def joined(url: str | None, w: int | None) -> str:
        return f"{url}/{w}"

    assert joined.test(table).outputs == ["u1/1", "u2/2", "None/None"]


def test_udf__classes_are_set_up_once(table):
    @leman.udf
    class Prefix:
        setups = []

        def __init__(self, prefix="p"):
            self.prefix = prefix

        def setup(self):
            self.setups.append(self.prefix)

        def __call__(self, id: int) -> str:
            return f"{self.prefix}{id}"

    one = Prefix("x")
    assert one.test(table).outputs == ["x1", "x2", "x3"]
    assert one(7) == "x7"
    assert Prefix.setups == ["x"]
    assert not hasattr(one._leman_function, "setups_done")


class Pair(typing.NamedTuple):
    half: float
    name: str


@dataclass
class Spot:
    x: int
    y: int


def test_udf__several_columns(table):
    @leman.udf
    def pair(id: int) -> leman.Columns[Pair]:
        return Pair(id / 2, f"n{id}")

    assert pair.test(table, rows=2).outputs == [
        {"half": 0.5, "name": "n1"},
        {"half": 1.0, "name": "n2"},
    ]

    schema = pa.schema([("a", pa.int64()), ("b", pa.string())])

    @leman.udf(data_type=schema)
    def arrays(id: pa.Array):
        return {"b": id.cast(pa.string()), "a": id}

    assert arrays.test(table, rows=1).outputs == [{"a": 1, "b": "1"}]

    @leman.udf(data_type=schema)
    def lacking(id: pa.Array):
        return {"a": id}

    assert "returned the columns a, not a, b" in lacking.test(table).errors[0]["message"]


def test_udf__a_struct_is_one_column(table):
    @leman.udf
    def spot(id: int) -> Spot:
        return Spot(id, -id)

    assert spot.test(table, rows=1).outputs == [{"x": 1, "y": -1}]


@pytest.mark.parametrize(
    "annotation, name",
    [
        (int, "int64"),
        (float, "double"),
        (str, "string"),
        (bytes, "binary"),
        (bool, "bool"),
        (str | None, "string"),
        (typing.Optional[int], "int64"),  # noqa: UP045
        (list[float], "list<double>"),
        (list[list[int]], "list<list<int64>>"),
        (np.float32, "float"),
        (np.typing.NDArray[np.float32], "list<float>"),
        (dt.datetime, "timestamp[us]"),
        (dt.date, "date32"),
        (dt.time, "time64[us]"),
        (dt.timedelta, "duration[us]"),
        (Pair, "struct<half: double, name: string>"),
        (Spot, "struct<x: int64, y: int64>"),
    ],
)
def test_udf__types_from_annotations(annotation, name):
    def fill(x):
        return None

    fill.__annotations__["return"] = annotation
    assert datatypes.type_name(leman.udf(fill).signature.output) == name


def test_udf__data_type_wins():
    @leman.udf(data_type=pa.int8())
    def fill(x: int) -> int:
        return x

    assert datatypes.type_name(fill.signature.output) == "int8"
    assert datatypes.type_name(leman.udf(data_type="float32")(lambda x: x).signature.output) == (
        "float"
    )


@pytest.mark.parametrize(
    "value, count", [("4GiB", 2**32), ("1.5 MB", 1_500_000), (7, 7), (None, 0)]
)
def test_udf__memory(value, count):
    assert parse_bytes(value) == count


@pytest.mark.parametrize(
    "options, text",
    [
        ({"num_frags": 3}, "num_frags=: rows are chosen by where="),
        ({"task_size": 3}, "task_size="),
        ({"cuda": True}, "num_gpus=1"),
        ({"error_handling": 1}, "on_error="),
        ({"batchsize": 3}, "unexpected keyword argument 'batchsize'"),
        ({"memory": "4 apples"}, "memory"),
        ({"batch_size": 0}, "batch_size"),
        ({"timeout": -1}, "timeout"),
        ({"num_cpus": "two"}, "num_cpus"),
        ({"input_columns": "x"}, "list of names"),
        ({"field_metadata": {"a": 1}}, "texts by text"),
        ({"data_type": "int65"}, "there is no type 'int65'"),
        ({"data_type": 3}, "data_type"),
    ],
)
def test_udf__wrong_options_are_refused(options, text):
    with pytest.raises((TypeError, ValueError), match=text):

        @leman.udf(**options)
        def fill(x: int) -> int:
            return x


def test_udf__functions_that_do_not_say_enough():
    with pytest.raises(TypeError, match="does not say what it returns"):
        leman.udf(lambda x: x)
    with pytest.raises(TypeError, match="has no arguments"):
        leman.udf(data_type=pa.int64())(lambda: 1)
    with pytest.raises(TypeError, match="names no type of Arrow"):

        @leman.udf
        def strange(x: int) -> threading.Thread: ...

    with pytest.raises(TypeError, match="'y' is no pa.Array"):

        @leman.udf(data_type=pa.int64())
        def mixed(x: pa.Array, y: int): ...

    with pytest.raises(TypeError, match="a RecordBatch and nothing else"):

        @leman.udf(data_type=pa.int64())
        def more(x: pa.RecordBatch, y): ...


def bind(table, fill, inputs=None):
    return Binding(leman.udf(fill), columns_of(table), ["out"], inputs)


def test_binding__missing_columns_and_wrong_types(table):
    def missing(txt: str) -> int: ...

    with pytest.raises(leman.NotFoundError, match="'txt'.*did you mean 'text'"):
        bind(table, missing)

    def wrong(text: int) -> int: ...

    with pytest.raises(leman.InvalidError, match="annotated as int, and column 'text' is string"):
        bind(table, wrong)

    def nested(url: str) -> int: ...

    with pytest.raises(leman.NotFoundError, match="'link'"):
        bind(table, nested, ["info.link"])
    with pytest.raises(leman.InvalidError, match="1 arguments .url. and is given 2 columns"):
        bind(table, nested, ["info.url", "id"])

    def array(text: np.ndarray) -> int: ...

    with pytest.raises(leman.InvalidError, match="ndarray"):
        bind(table, array)


def test_binding__annotations_that_fit(table):
    def fits(
        id: float, text: str | None, info: dict, vector: list[float], when: dt.datetime, extra=3
    ) -> int: ...

    assert bind(table, fits).inputs == ["id", "text", "info", "vector", "when"]


def test_pack__closures_that_cannot_travel_are_named():
    lock = threading.Lock()

    @leman.udf
    def locked(x: int) -> int:
        with lock:
            return x

    with pytest.raises(leman.InvalidError, match="closure variable 'lock' of locked"):
        function.pack(locked, ["x"], ["y"])


def test_pack__keeps_the_version_and_options():
    step = 3

    @leman.udf(batch_size=7, memory="1GiB", on_error=leman.fail_fast())
    def fill(x: int) -> int:
        return x + step

    udf, inputs, outputs = function.unpack(function.pack(fill, ["x"], ["y"]))
    assert (inputs, outputs) == (["x"], ["y"])
    assert udf(4) == 7
    assert udf.version == fill.version
    assert udf.options.batch_size == 7
    assert udf.options.memory == 2**30


def test_import__needs_no_pyarrow():
    code = (
        "import sys, leman\n"
        "@leman.udf\n"
        "def f(x: int) -> int:\n    return x\n"
        "from leman import function, worker, apply\n"
        "function.unpack(function.pack(f, ['x'], ['y']))\n"
        "assert 'pyarrow' not in sys.modules and 'numpy' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
