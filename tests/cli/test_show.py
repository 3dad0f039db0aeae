# SPDX-License-Identifier: Apache-2.0
"""`leman show`: Arrow IPC against pyarrow, CSV and JSON lines, and what people and programs see."""

import bz2
import csv
import gzip
import io
import json
import lzma
import math
import struct
import time
from decimal import Decimal

import leman as package
import pyarrow as pa
import pytest
import strategies
from hypothesis import given
from hypothesis import strategies as st
from tables import check_same

import examples


def ipc_bytes(table, form="stream", compression=None, rows=None):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    make = pa.ipc.new_stream if form == "stream" else pa.ipc.new_file
    with make(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=rows)
    return sink.getvalue().to_pybytes()


def read_ipc(data):
    return pa.ipc.open_stream(data).read_all()


def arrow_rows(leman, *arguments, stdin=None):
    done = leman("show", "--arrow", *arguments, stdin=stdin)
    assert done.returncode == 0, done.stderr.decode()
    return read_ipc(done.stdout)


def fails(done, code, *parts):
    text = done.stderr.decode()
    assert done.returncode == code, text
    for part in parts:
        assert part in text
    return text


@pytest.mark.parametrize("number", range(len(examples.EXAMPLES)))
def test_ipc_of_pyarrow(leman, number):
    table = examples.EXAMPLES[number].table().combine_chunks()
    compression = [None, "zstd", "lz4"][number % 3]
    data = ipc_bytes(table, compression=compression)
    check_same(arrow_rows(leman, "-", stdin=data), table)


@pytest.mark.parametrize("form", ["stream", "file"])
@pytest.mark.parametrize("compression", [None, "zstd", "lz4"])
def test_ipc_in_small_batches(leman, tmp_path, form, compression):
    table = examples.lists_of_everything().combine_chunks()
    path = tmp_path / "rows"
    path.write_bytes(ipc_bytes(table, form, compression, rows=97))
    check_same(arrow_rows(leman, path), table)


@given(table=strategies.tables("2.2", rows_max=500), compression=st.sampled_from([None, "zstd"]))
def test_ipc_of_any_type(leman, table, compression):
    table = table.table().combine_chunks()
    check_same(arrow_rows(leman, "-", stdin=ipc_bytes(table, compression=compression)), table)


def test_ipc_views(leman):
    values = ["a", None, "exactly 12ch", "thirteen char", "x" * 500]
    table = pa.table(
        {"t": pa.array(values, pa.string_view()), "b": pa.array([b"z" * 20] * 5, pa.binary_view())}
    )
    data = ipc_bytes(table, compression="zstd")
    assert arrow_rows(leman, "-", stdin=data).to_pydict() == table.to_pydict()


def test_ipc_dictionaries_that_change(leman):
    batches = [
        pa.record_batch({"d": pa.array(words).dictionary_encode()})
        for words in (["a", "b"], ["a", "b"], ["c", None])
    ]
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    done = arrow_rows(leman, "-", stdin=sink.getvalue().to_pybytes())
    assert done["d"].to_pylist() == ["a", "b", "a", "b", "c", None]


def test_ipc_delta_is_refused_by_name(leman):
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    first = pa.DictionaryArray.from_arrays(pa.array([0]), pa.array(["a"]))
    second = pa.DictionaryArray.from_arrays(pa.array([1]), pa.array(["a", "b"]))
    with pa.ipc.new_stream(sink, pa.schema({"d": first.type}), options=options) as writer:
        for array in (first, second):
            writer.write_batch(pa.record_batch({"d": array}))
    done = leman("show", "--json", "-", stdin=sink.getvalue().to_pybytes())
    fails(done, 2, "delta")


@pytest.mark.parametrize("kind", [pa.list_view(pa.int8()), pa.month_day_nano_interval()])
def test_ipc_types_without_a_place(leman, kind):
    data = ipc_bytes(pa.table({"odd": pa.array([None], kind)}))
    fails(leman("show", "-", stdin=data), 2, '"odd"')


def test_ipc_cut(leman):
    data = ipc_bytes(pa.table({"n": list(range(1000))}), "file")
    fails(leman("show", "-", stdin=data[:-8]), 1, "standard input", "cut")
    fails(leman("show", "-", stdin=data[:3000]), 1, "message")


def test_ipc_bad_string_beside_lists_of_no_items(leman):
    """The lists have none of the strings that the file gives them."""
    values = pa.array([b"a"] * 76 + [b"\xff"])
    texts = pa.StringArray.from_buffers(77, *values.buffers()[1:])
    data = ipc_bytes(pa.table({"c": pa.FixedSizeListArray.from_arrays(texts, 77)}))
    data = data.replace(struct.pack("<i", 77), struct.pack("<i", 0), 1)
    fails(leman("show", "-", stdin=data), 1, '"c": "item": a string that is not UTF-8: "\\xff"')


def test_lance_file(leman, tmp_path):
    table = pa.table({"n": range(1000), "s": [{"x": i, "y": str(i)} for i in range(1000)]})
    path = tmp_path / "rows.lance"
    package.write_file(str(path), table)
    assert arrow_rows(leman, path).to_pydict() == table.to_pydict()
    selected = arrow_rows(leman, path, "--columns", "s.y", "--limit", 3)
    assert selected.to_pydict() == {"s": [{"y": "0"}, {"y": "1"}, {"y": "2"}]}
    lines = leman("show", path).stdout.decode().splitlines()
    assert lines[2].split()[0] == "0" and lines[-2].split()[0] == "999"
    assert "... 980 rows" in lines and lines[-1] == "1000 rows"


CELLS = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
    st.booleans().map(lambda value: str(value).lower()),
    st.dates().map(str),
    st.text(st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), max_size=12),
)


@given(
    rows=st.lists(st.lists(st.none() | CELLS, min_size=3, max_size=3), min_size=1, max_size=20),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    delimiter=st.sampled_from(",;\t"),
)
def test_csv_keeps_every_text(leman, rows, end, delimiter):
    """Whatever the types are, each value stands for the text it was; nulls are not quoted."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=csv.QUOTE_NOTNULL)
    writer.writerow(["a", "b", "c"])
    writer.writerows(rows)
    got = arrow_rows(
        leman, "-", "--format", "csv", "--delimiter", delimiter, stdin=out.getvalue().encode()
    )
    for number, row in enumerate(rows):
        for name, text in zip("abc", row, strict=True):
            check_cell(got[name][number].as_py(), text)


def check_cell(value, text):
    if text is None:
        assert value is None
    elif isinstance(value, str):
        assert value == text
    elif isinstance(value, bool):
        assert str(value).lower() == text.strip().lower()
    elif isinstance(value, float):
        assert value == float(text) or math.isnan(float(text))
    elif isinstance(value, int):
        assert value == int(text)
    else:
        assert str(value).startswith(text.strip()[:10])


if not hasattr(csv, "QUOTE_NOTNULL"):  # since Python 3.12

    class NotNullWriter:
        """Writes None as nothing and everything else in quotes."""

        def __init__(self, out, delimiter, lineterminator, quoting):
            self.out, self.delimiter, self.end = out, delimiter, lineterminator

        def writerow(self, row):
            cells = ("" if cell is None else '"' + cell.replace('"', '""') + '"' for cell in row)
            self.out.write(self.delimiter.join(cells) + self.end)

        def writerows(self, rows):
            for row in rows:
                self.writerow(row)

    csv.writer, csv.QUOTE_NOTNULL = NotNullWriter, None


@pytest.mark.parametrize(
    "cells, kind",
    [
        (["1", "-5", "0"], pa.int64()),
        (["1", "2.5", "-1e3"], pa.float64()),
        (["1", "nan", "inf"], pa.float64()),
        ([".5", "-5.", "1"], pa.float64()),
        ([" 1", "2 ", "\t3"], pa.int64()),
        ([" 1.5", " true"], pa.string()),
        (["  ", "1"], pa.string()),
        (["true", "False", ""], pa.bool_()),
        (["2024-02-29", "1969-12-31"], pa.date32()),
        (["2024-02-29", "2024-02-29 10:11"], pa.timestamp("us")),
        (["2024-02-29T10:11:12.123456789"], pa.timestamp("ns")),
        (["2024-02-29T10:11:12Z", "2024-02-29T10:11:12.5+02:00"], pa.timestamp("us", "UTC")),
        (["2024-02-29T10:11:12Z", "2024-02-29T10:11:12"], pa.string()),
        (["2023-02-29"], pa.string()),
        (["007"], pa.string()),
        (["9223372036854775808", "0"], pa.uint64()),
        (["18446744073709551615"], pa.uint64()),
        (["18446744073709551616"], pa.string()),
        (["9223372036854775808", "-1"], pa.string()),
        (["-1", "9223372036854775808", "1"], pa.string()),
        (["9223372036854775808", "0.5"], pa.string()),
        (["0.5", "9223372036854775808"], pa.string()),
        (["1", "x"], pa.string()),
        (["1", "true"], pa.string()),
        (["", ""], pa.null()),
    ],
)
def test_csv_types(leman, cells, kind):
    data = "a,b\n" + "".join(f"{cell},1\n" for cell in cells)
    got = arrow_rows(leman, "-", stdin=data.encode())
    assert got.schema.field("a").type == kind
    assert len(got) == len(cells)


def test_csv_delimiter(leman):
    for delimiter in ("\t", r"\t"):
        got = arrow_rows(leman, "-", "--delimiter", delimiter, stdin=b"a\tb\n1\t2\n")
        assert got.to_pydict() == {"a": [1], "b": [2]}
    for delimiter in ("", "ab", "\ta"):
        shown = delimiter.replace("\t", r"\t")
        fails(leman("show", "--delimiter", delimiter, "x"), 2, f'not "{shown}"')


def test_csv_forms(leman):
    data = b'\xef\xbb\xbfa,b\r\n"x\r\ny","1"\r\n\r\n"",NA\r\nq"r,\r\n'
    got = arrow_rows(leman, "-", "--null", "NA", stdin=data)
    assert got.to_pydict() == {"a": ["x\r\ny", "", 'q"r'], "b": ["1", None, ""]}
    got = arrow_rows(leman, "-", stdin=b'a,b\n"say ""hi""",""""\n')
    assert got.to_pydict() == {"a": ['say "hi"'], "b": ['"']}
    got = arrow_rows(leman, "-", "--no-header", stdin=b"1,x\n2,y")
    assert got.to_pydict() == {"c0": [1, 2], "c1": ["x", "y"]}
    assert arrow_rows(leman, "-", stdin=b"a,b\n").to_pydict() == {"a": [], "b": []}
    got = arrow_rows(leman, "-", stdin=b'a, b\r1, x\r\r"2\r", .5\r')
    assert got.to_pydict() == {"a": ["1", "2\r"], " b": [" x", " .5"]}
    got = arrow_rows(leman, "-", stdin=b",b,\n0,1,2\n")
    assert got.to_pydict() == {"c0": [0], "b": [1], "c2": [2]}
    got = arrow_rows(leman, "-", stdin=b",c0,c0_,,c2\n0,1,2,3,4\n")
    assert got.to_pydict() == {"c0__": [0], "c0": [1], "c0_": [2], "c3": [3], "c2": [4]}


@pytest.mark.parametrize(
    "data, parts",
    [
        (b"a,b\n1,2\n3\n", ["line 3", "1 fields", "2 columns"]),
        (b'a\n"x\n', ["line 2", "not closed"]),
        (b'a\n\n"x"y\n', ["line 3", "closing quote"]),
        (b"a,a\n1,2\n", ["two columns", '"a"']),
        (b"a\n\xff\n", ["line 2", "the text is not UTF-8"]),
        (b"a\nx\0y\n", ["line 2", "a NUL byte"]),
        ("a\n1\n".encode("utf-16-le"), ["line 1", "a NUL byte"]),
        (b"", ["empty"]),
    ],
)
def test_csv_refuses(leman, data, parts):
    done = leman("show", "--format", "csv", "-", stdin=data)
    fails(done, 2, "standard input", *parts)


def test_csv_value_that_does_not_fit(leman):
    data = "n,t\n" + "1,x\n" * 10000 + "2,x\nword,x\n"
    done = leman("show", "-", stdin=data.encode())
    fails(done, 2, "line 10003", 'field "n"', "int64", '"word"', "give a schema")
    data = "n,t\n" + "1,\n" * 10000 + "2,x\n"
    done = leman("show", "-", stdin=data.encode())
    fails(done, 2, "line 10002", 'field "t" of type null', '"x"')


def test_csv_of_many_columns(leman):
    """Names are not looked for among all others; it took 20 seconds."""
    names = [f"column {i}" for i in range(60000)]
    data = ",".join(names) + "\n" + ",".join("1" * 60000) + "\n"
    start = time.monotonic()
    assert arrow_rows(leman, "-", stdin=data.encode()).schema.names == names
    rows = json.dumps(dict.fromkeys(names, 1)).encode()
    assert arrow_rows(leman, "-", stdin=rows).schema.names == names
    assert time.monotonic() - start < 10


def test_compressed_text_is_refused_by_name(leman):
    data = b"a,b\n1,2\n"
    for name, compressed in {
        "gzip": gzip.compress(data),
        "bzip2": bz2.compress(data),
        "xz": lzma.compress(data),
    }.items():
        fails(leman("show", "-", stdin=compressed), 2, f"compressed with {name}")
    assert arrow_rows(leman, "-", stdin=b"BZh91AY&\n1\n").schema.names == ["BZh91AY&"]


@given(
    values=st.lists(st.integers(-(2**63), 2**63 - 1) | st.none(), min_size=1, max_size=10),
    words=st.lists(st.text(st.characters(blacklist_categories=["Cs"])), min_size=1, max_size=10),
    ascii_only=st.booleans(),
)
def test_jsonl_comes_back(leman, values, words, ascii_only):
    rows = [
        {"n": n, "w": w, "l": [n, 1.5], "s": {"x": w, "y": None}, "e": []}
        for n, w in zip(values, words, strict=False)
    ]
    data = "\n".join(json.dumps(row, ensure_ascii=ascii_only) for row in rows)
    got = arrow_rows(leman, "-", "--format", "jsonl", stdin=data.encode())
    for row in rows:
        row["l"] = [None if x is None else float(x) for x in row["l"]]
    assert got.to_pylist() == rows
    printed = leman("show", "--json", "--format", "jsonl", "-", stdin=data.encode()).stdout
    assert [json.loads(line) for line in printed.decode().split("\n")[:-1]] == rows


@pytest.mark.parametrize(
    "lines, kind",
    [
        (["1", "null", "-3"], pa.int64()),
        (["1", "2.0"], pa.float64()),
        (["9223372036854775808", "1"], pa.uint64()),
        (["18446744073709551615"], pa.uint64()),
        (["18446744073709551616"], pa.float64()),
        (["-1", "9223372036854775808"], pa.float64()),
        (["9223372036854775808", "0.5"], pa.float64()),
        (["[9223372036854775809]", "[1]"], pa.list_(pa.uint64())),
        (["true"], pa.bool_()),
        (['"2024-01-01"'], pa.string()),
        (["1", '"x"', "true"], pa.string()),
        (["[]", "[1]", "[1.5]"], pa.list_(pa.float64())),
        (["[[]]"], pa.list_(pa.list_(pa.null()))),
        (['{"x":1}', "null", '{"y":"z"}'], pa.struct({"x": pa.int64(), "y": pa.string()})),
    ],
)
def test_jsonl_types(leman, lines, kind):
    data = "".join(f'{{"a": {line} }}\n' for line in lines)
    got = arrow_rows(leman, "-", stdin=data.encode())
    assert got.schema.field("a").type.equals(kind) or str(got.schema.field("a").type) == str(kind)
    assert len(got) == len(lines)


@pytest.mark.parametrize(
    "data, parts",
    [
        ('{"a":1}\n{"a":1,}\n', ["line 2", "comma"]),
        ('{"a":1}\n\n[1]\n', ["line 3", "a list", "one JSON object per line is wanted"]),
        ('[\n{"a":1}\n]\n', ["line 1", "a list", "one JSON object per line is wanted"]),
        ('{\n  "a":1\n}\n', ["line 1", "does not end", "one whole JSON object per line"]),
        ('{"a":1}\n{"a":\r\n1}\n', ["line 2", "does not end", "one whole JSON object per line"]),
        ("7\n", ["line 1", "a number", "one JSON object per line is wanted"]),
        ('{"a\\u0000b":1}\n', ["line 1", "a name with a NUL character"]),
        ('{"a":"x\0y"}\n', ["line 1", "a NUL byte"]),
        ('{"a":01}\n', ["line 1"]),
        ('{"a":NaN}\n', ["line 1"]),
        ('{"a":"\\ud800"}\n', ["surrogate"]),
        ('{"a":"x\ty"}\n', ["control"]),
        ('{"a":1}x\n', ["behind"]),
        ('{"a":1', ["line 1"]),
        ('{"a":[1}\n', ["line 1"]),
        ('{"a":1,"a":2}\n', ["twice"]),
        ('{"a":1}\n{"a":[]}\n', ["line 2", '"a"', "schema"]),
        ('{"a":' + "[" * 100 + "]" * 100 + "}\n", ["line 1", "nest deeper than 58"]),
    ],
)
def test_jsonl_refuses(leman, data, parts):
    done = leman("show", "--format", "jsonl", "-", stdin=data.encode())
    fails(done, 2, "standard input", *parts)


def test_jsonl_line_that_does_not_fit(leman):
    data = '{"a":1}\n' * 10000
    for line, part in [('{"a":1.5}', '"1.5"'), ('{"b":1}', '"b"'), ('{"a":"x"}', "a string")]:
        done = leman("show", "-", stdin=(data + line + "\n").encode())
        fails(done, 2, "line 10001", part, "give a schema")


def test_json_of_every_type(leman):
    table = pa.table(
        {
            "f": pa.array([1.5, float("nan"), None]),
            "h": pa.array([1.5, 65504.0, -(2.0**-24)], pa.float16()),
            "u": pa.array([2**64 - 1, 0, None], pa.uint64()),
            "b": pa.array([b"\x00\xff", b"", b"abcd"]),
            "d": pa.array([Decimal("-0.05"), Decimal("12.34"), None], pa.decimal128(5, 2)),
            "w": pa.array([Decimal(10) ** 50, Decimal(-1), None], pa.decimal256(60, 0)),
            "day": pa.array([-1, 0, 19782], pa.date32()),
            "ms": pa.array([-86400000, 0, 86400000], pa.date64()),
            "t": pa.array([1, 0, 86399999999], pa.time64("us")),
            "ts": pa.array([-1, 0, 1709201472], pa.timestamp("s")),
            "tz": pa.array([-1, 0, 1], pa.timestamp("ns", "Europe/Paris")),
            "k": pa.array(["x", None, "x"]).dictionary_encode(),
            "m": pa.array([[("a", 1)], [], None], pa.map_("string", "int8")),
            "q": pa.array(['"\\\n\u0001é', "", None]),
        }
    )
    done = leman("show", "--json", "-", stdin=ipc_bytes(table))
    rows = [json.loads(line) for line in done.stdout.decode().splitlines()]
    assert rows[0] == {
        "f": 1.5,
        "h": 1.5,
        "u": 2**64 - 1,
        "b": "AP8=",
        "d": "-0.05",
        "w": "1" + "0" * 50,
        "day": "1969-12-31",
        "ms": "1969-12-31",
        "t": "00:00:00.000001",
        "ts": "1969-12-31T23:59:59",
        "tz": "1969-12-31T23:59:59.999999999Z",
        "k": "x",
        "m": [{"key": "a", "value": 1}],
        "q": '"\\\n\u0001é',
    }
    assert rows[1]["f"] is None and rows[1]["d"] == "12.34" and rows[1]["w"] == "-1"
    assert rows[1]["h"] == 65504.0 and abs(rows[2]["h"] + 2.0**-24) < 1e-14
    assert rows[2]["day"] == "2024-02-29" and rows[2]["ts"] == "2024-02-29T10:11:12"
    assert rows[2]["t"] == "23:59:59.999999"


@given(value=st.floats(allow_nan=False, allow_infinity=False, width=32))
def test_json_floats_come_back(leman, value):
    table = pa.table({"f": pa.array([value], pa.float32()), "d": pa.array([value], pa.float64())})
    row = json.loads(leman("show", "--json", "-", stdin=ipc_bytes(table)).stdout)
    assert row["d"] == value
    assert pa.scalar(row["f"], pa.float32()).as_py() == value


def lines_of(leman, data, *arguments, columns=None):
    env = {"COLUMNS": str(columns)} if columns else {}
    return leman("show", "-", *arguments, stdin=data, env=env).stdout.decode().splitlines()


def test_table_for_people(leman):
    data = 'id,name,note\n1,é漢字,x\n20,,"two\nlines"\n300,a' + "b" * 100 + ",z\n"
    assert lines_of(leman, data.encode()) == [
        "   id  name" + " " * 58 + "note",
        "int64  string" + " " * 56 + "string",
        "    1  é漢字" + " " * 57 + "x",
        "   20  null" + " " * 58 + "two\\nlines",
        "  300  a" + "b" * 56 + "...  z",
        "3 rows",
    ]


def test_table_of_wide_and_joined_characters(leman):
    data = "s,n\n🚀✅,1\nไทย้,2\nनमस्ते,3\nabcd,4\n"
    lines = lines_of(leman, data.encode())
    assert [line.count(" ") for line in lines[2:-1]] == [12 - width for width in (4, 3, 4, 4)]


def test_table_keeps_controls_from_the_terminal(leman):
    table = pa.table({"a": ["\x1b[31m", "\x9b31m\x7f", "é\xa0"], "b\x9b": [1, 2, 3]})
    text = leman("show", "-", stdin=ipc_bytes(table)).stdout.decode()
    assert "\\u001b[31m" in text and "\\u009b31m\\u007f" in text and "é\xa0" in text
    assert not any(ord(c) < 32 and c != "\n" or 127 <= ord(c) < 160 for c in text)
    rows = leman("show", "-", "--json", stdin=ipc_bytes(table)).stdout.decode().splitlines()
    assert [json.loads(row)["a"] for row in rows] == table["a"].to_pylist()


def test_table_fits_the_terminal(leman):
    data = ("a,b,c,d\n" + "word " * 8 + ",2,3,4\n").encode()
    for columns in (20, 30, 40, 60):
        lines = lines_of(leman, data, columns=columns)
        assert all(len(line) <= columns for line in lines[:3])
    assert "more column" in lines_of(leman, data, columns=20)[-2]


def test_table_shows_both_ends(leman):
    data = ("n\n" + "".join(f"{i}\n" for i in range(50000))).encode()
    lines = lines_of(leman, data)
    numbers = [line.strip() for line in lines[2:-1]]
    assert numbers == [*map(str, range(10)), "... 49980 rows", *map(str, range(49990, 50000))]
    assert lines[-1] == "50000 rows"
    assert [line.strip() for line in lines_of(leman, data, "--limit", 2)[2:]] == [
        "0",
        "1",
        "2 rows",
    ]
    assert lines_of(leman, data, "--limit", 0)[2:] == ["0 rows"]


def test_columns(leman):
    data = b"a,b,c\n1,2,3\n"
    assert arrow_rows(leman, "-", "--columns", "c,a", stdin=data).to_pydict() == {
        "c": [3],
        "a": [1],
    }
    fails(leman("show", "-", "--columns", "x", stdin=data), 2, '"x"')
    fails(leman("show", "-", "--columns", "a,a", stdin=data), 2, "twice")


def test_usage(leman, tmp_path):
    fails(leman("show"), 2, "one file")
    fails(leman("show", "--nope", "x"), 2, "--nope")
    fails(leman("show", "x", "-nope"), 2, 'unknown option "-n"')
    fails(leman("show", "x", "--json=yes"), 2, "--json takes no value")
    fails(leman("show", "--json", "--arrow", "x"), 2, "not both")
    fails(leman("show", "--limit", "-1", "x"), 2, "--limit")
    fails(leman("show", "--format", "xml", "-", stdin=b""), 2, '"xml"', "jsonl")
    fails(leman("show", tmp_path / "none.csv"), 2, "none.csv")
    fails(leman("show", tmp_path), 2, "directory")
    fails(leman("show", "-", stdin=b"PAR1xxxx"), 2, "Parquet")
    assert b"usage: leman show" in leman("show", "--help").stdout
