# SPDX-License-Identifier: Apache-2.0
"""Types and names as text: what is printed is read back, and moves no cursor."""

import json

import leman as package
import pyarrow as pa
import pytest
from shell import fails, lines, ok

REQUIRED = pa.field("item", pa.int64(), nullable=False)
TYPES = {
    "list<int64 not null>": pa.list_(REQUIRED),
    "large_list<list<double>[3] not null>": pa.large_list(
        pa.field("item", pa.list_(pa.float64(), 3), nullable=False)
    ),
    "struct<a: int64 not null, b: list<string>>": pa.struct(
        [pa.field("a", pa.int64(), nullable=False), ("b", pa.list_(pa.string()))]
    ),
    'struct<"h, i": int64, "j k": struct<"say ""x""": bool>, Ü_1: date32>': pa.struct(
        [("h, i", pa.int64()), ("j k", pa.struct([('say "x"', pa.bool_())])), ("Ü_1", pa.date32())]
    ),
    'struct<"a>b": timestamp[us, Europe/Paris], "not": timestamp[ns, -05:30]>': None,
    "map<string, int64 not null>": None,
    "dictionary<int16, string>": None,
    "decimal(5, 2)": pa.decimal128(5, 2),
    "decimal(50, 2)": pa.decimal256(50, 2),
    "decimal256(5, 2)": pa.decimal256(5, 2),
    "binary[16]": pa.binary(16),
}


@pytest.mark.parametrize("text", TYPES)
def test_types_are_read_as_they_are_printed(leman, tmp_path, text):
    made = ("--schema", f"x {text} not null", "--data-version", "2.2")
    ok(leman("create", tmp_path / "a", *made))
    printed = lines(leman("columns", tmp_path / "a", "--json"))[0]
    ok(leman("create", tmp_path / "b", "--schema", f"x {printed['type']}", *made[2:]))
    assert lines(leman("columns", tmp_path / "b", "--json"))[0]["type"] == printed["type"]
    assert printed["type"] == text.replace('"not"', "not")
    assert printed["type"] in ok(leman("columns", tmp_path / "a"))
    if TYPES[text] is not None:
        assert package.open(tmp_path / "b").schema.field("x").type == TYPES[text]


@pytest.mark.parametrize(
    "type, part",
    [
        ("binary[4294967312]", "a type is wanted"),
        ("binary[2147483648]", "a type is wanted"),
        ("list<int64>[4294967299]", "a number of items is wanted"),
        ("timestamp[us, Nowhere/Land]", "a type is wanted"),
        ("timestamp[us, UTC, x]", "a type is wanted"),
        ("timestamp[us, ,]", "a type is wanted"),
        ("timestamp[us, +25:00]", "a type is wanted"),
        ("timestamp[us, ../../etc/passwd]", "a type is wanted"),
        ("list<" * 70 + "int64" + ">" * 70, "types nest deeper than 64"),
        ('struct<"a""', "the name of a column is wanted"),
    ],
)
def test_types_that_are_none(leman, tmp_path, type, part):
    fails(leman("create", tmp_path / "t", "--schema", f"x {type}"), 2, part)
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize("zone", ["UTC", "Europe/Paris", "+02:00", "Etc/GMT+5"])
def test_time_zones(leman, tmp_path, zone):
    ok(leman("create", tmp_path / "t", "--schema", f"x timestamp[us, {zone}]"))
    assert package.open(tmp_path / "t").schema.field("x").type.tz == zone


def test_names_move_no_cursor(leman, tmp_path):
    name = "red\x1b[31m\x9b\r"
    row = {name: {name: 1}, "t": "x"}
    path = tmp_path / "t"
    package.create(path, [row])
    package.open(path).tags.create("one")
    file = next((path / "data").iterdir())
    for arguments in (
        ("scan", path),
        ("columns", path),
        ("inspect", path),
        ("inspect", path, "--fragments"),
        ("inspect", file),
        ("show", file),
        ("diff", path, 1),
    ):
        shown = ok(leman(*arguments))
        assert "\x1b" not in shown and "\x9b" not in shown and "\r" not in shown, arguments
    assert "red\\u001b[31m\\u009b\\r" in ok(leman("columns", path))
    assert json.loads(ok(leman("columns", path, "--json")).splitlines()[0])["name"] == name
    for arguments in (("scan", path, "--columns", name + "x"), ("scan", path, "--" + name)):
        assert "\x1b" not in fails(leman(*arguments), 2, "\\u001b[31m")


def test_names_line_up(leman, tmp_path):
    package.create(tmp_path / "t", [{"日本": 1, "b": 2}])
    first, second = ok(leman("columns", tmp_path / "t")).splitlines()
    assert first.index("int64") + 2 == second.index("int64")
