# SPDX-License-Identifier: Apache-2.0
"""The leman command: its help, its exit codes, and `leman inspect`."""

import json
import subprocess
from pathlib import Path

import lance_pages
import leman
import pyarrow as pa
import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
GOLDEN = ROOT / "tests/golden"
COMMAND = ROOT / "build/leman"
FILES = sorted(GOLDEN.glob("14.0.2/*.lance"))

ONE_ROW = """\
one_row-2.1.lance: Lance file 2.1, 1 rows, 3 columns, 1.0 KiB
  footer: column metadata at 598, its table at 951, 1 global buffers in a table at 999

  column 0  a  int64
    1 pages, 18 B for 8 B of values (0.44 : 1)
    page 0    rows 0..1  18 B at 0 in 2 buffers  mini-block: flat64

  column 1  b  string
    1 pages, 26 B for 9 B of values (0.35 : 1)
    page 0    rows 0..1  26 B at 128 in 2 buffers  mini-block: variable32

  column 2  c.item  double
    1 pages, 58 B for 25 B of values (0.43 : 1)
    page 0    rows 0..1  58 B at 256 in 3 buffers  mini-block: flat64
"""


def run(*arguments, cwd=None, **options):
    return subprocess.run(
        [COMMAND, *map(str, arguments)],
        cwd=cwd,
        capture_output=not options,
        text=True,
        timeout=60,
        **options,
    )


def check_done(done):
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def check_failed(done, code, *words):
    """A failure says why on stderr, and nothing on stdout that could be taken for a result."""
    assert (done.returncode, done.stdout) == (code, "")
    for word in words:
        assert word in done.stderr
    assert done.stderr.startswith(("leman", "usage"))


def test_inspect__text():
    done = run("inspect", "one_row-2.1.lance", cwd=GOLDEN / "0.39.0")
    assert check_done(done) == ONE_ROW


def write_pages(path):
    """A column of six pages."""
    rows = pa.table({"n": pa.array(range(768), pa.int64())})
    leman.write_file(path, rows, page_bytes=1024, threads=1)


def test_inspect__statistics(tmp_path):
    """Of numbers in zones of 8,192 rows; lists have none, and neither have files of pylance."""
    rows = pa.table({"n": pa.array(range(20_000)), "l": pa.array([[1]] * 20_000)})
    leman.write_file(tmp_path / "a.lance", rows)
    text = check_done(run("inspect", tmp_path / "a.lance"))
    assert "statistics of 3 zones" in text
    assert text.count("statistics of") == 1
    report = json.loads(check_done(run("inspect", "--json", tmp_path / "a.lance")))
    assert [column["statistics_zones"] for column in report["columns"]] == [3, 0]
    assert 0 < report["statistics_bytes"] < 1000
    theirs = check_done(run("inspect", "--json", GOLDEN / "0.39.0" / "one_row-2.1.lance"))
    assert json.loads(theirs)["statistics_bytes"] == 0


def test_inspect__text_leaves_out_pages_unless_asked(tmp_path):
    write_pages(tmp_path / "a.lance")
    few = check_done(run("inspect", tmp_path / "a.lance"))
    assert few.count("    page ") == 4 and "... 2 more (--pages shows all)" in few
    assert "rows 640..768" in few
    every = check_done(run("inspect", "--pages", tmp_path / "a.lance"))
    assert every.count("    page ") == 6 and "more" not in every


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_inspect__json_is_what_the_file_holds(path):
    report = json.loads(check_done(run("inspect", path, "--json")))
    data = path.read_bytes()
    footer = lance_pages.Footer.of(data)
    assert (report["file"], report["version"]) == (str(path), footer.version)
    assert (report["bytes"], report["rows"]) == (len(data), leman.LanceFile(path).num_rows)
    assert report["footer"] == {
        "column_metadata_position": footer.metadata,
        "column_table_position": footer.column_table,
        "global_table_position": footer.global_table,
        "global_buffers": footer.global_count,
    }
    extents = lance_pages.column_extents(data)
    assert [column["metadata_bytes"] for column in report["columns"]] == [s for _, s in extents]
    found = [(i, page) for i, col in enumerate(report["columns"]) for page in col["pages"]]
    pages = lance_pages.pages(path)
    assert len(found) == len(pages)
    for (column, page), expected in zip(found, pages, strict=True):
        assert (column, page["rows"]) == (expected.column, expected.rows)
        assert page["buffers"] == len(expected.buffers)
        assert page["bytes"] == sum(size for _, size in expected.buffers)
        assert page["position"] == (expected.buffers[0][0] if expected.buffers else 0)
        assert expected.features[0].startswith(page["layout"])
    for column in report["columns"]:
        assert column["bytes"] == sum(page["bytes"] for page in column["pages"])


def test_inspect__json_has_columns_and_sizes():
    path = GOLDEN / "0.39.0/one_row-2.1.lance"
    columns = json.loads(check_done(run("inspect", path, "--json")))["columns"]
    keys = ("path", "type", "nullable", "plain_bytes", "plain_is_estimate", "compression_ratio")
    assert [tuple(column[key] for key in keys) for column in columns] == [
        ("a", "int64", True, 8, False, 0.444444),
        ("b", "string", True, 9, False, 0.346154),
        ("c.item", "double", True, 25, False, 0.431034),
    ]
    assert columns[1]["pages"] == [
        {
            "row_start": 0,
            "rows": 1,
            "position": 128,
            "bytes": 26,
            "buffers": 2,
            "layout": "mini-block",
            "encoding": "variable32",
        }
    ]


def test_inspect__json_escapes_names(tmp_path):
    name = 'quote " backslash \\ tab \t Zürich'
    leman.write_file(tmp_path / "a.lance", pa.table({name: [1]}))
    report = json.loads(check_done(run("inspect", "--json", tmp_path / "a.lance")))
    assert report["columns"][0]["path"] == name


def test_inspect__sizes_in_memory_are_those_of_arrow(tmp_path):
    rows = 100
    table = pa.table(
        {
            "dotted.name": pa.array(range(rows)),
            "strings": pa.array(["abc"] * rows),
            "maps": pa.array([[("k", 1), ("l", 2)]] * rows, pa.map_(pa.string(), pa.int16())),
            "structs": pa.array([{"x": 1, "y": [1.0]}] * rows),
        }
    )
    leman.write_file(tmp_path / "a.lance", table, version="2.2")
    columns = json.loads(check_done(run("inspect", "--json", tmp_path / "a.lance")))["columns"]
    offsets = 4 * (rows + 1)
    assert {column["path"]: column["plain_bytes"] for column in columns} == {
        "dotted.name": 8 * rows,
        "strings": offsets + 3 * rows,
        "maps.entries.key": offsets + 4 * (2 * rows + 1) + 2 * rows,
        "maps.entries.value": offsets + 2 * 2 * rows,
        "structs.x": 8 * rows,
        "structs.y.item": offsets + 8 * rows,
    }


def test_inspect__missing_file_is_named(tmp_path):
    check_failed(run("inspect", tmp_path / "no.lance"), 2, str(tmp_path / "no.lance"))
    check_failed(run("inspect", "no.lance", "--json", cwd=tmp_path), 2, "no.lance")
    check_failed(run("inspect", tmp_path), 2, str(tmp_path))


@pytest.mark.parametrize("flag", ((), ("--json",)))
@pytest.mark.parametrize("damage", ("cut", "no file", "empty", "metadata"))
def test_inspect__damaged_file_is_named(tmp_path, damage, flag):
    path = tmp_path / "bad.lance"
    data = bytearray((GOLDEN / "0.39.0/one_row-2.1.lance").read_bytes())
    if damage == "metadata":
        position, size = lance_pages.column_extents(bytes(data))[2]
        data[position : position + size] = b"\xff" * size
    path.write_bytes({"cut": data[:-1], "no file": b"x" * 500, "empty": b""}.get(damage, data))
    check_failed(run("inspect", path, *flag), 1, str(path))


def test_inspect__output_that_cannot_be_written_fails(tmp_path):
    write_pages(tmp_path / "a.lance")
    with open("/dev/full", "w") as full:
        done = run("inspect", tmp_path / "a.lance", stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 1
    assert "cannot write the output" in done.stderr


WRONG = {
    "nothing": ((), "usage: leman"),
    "no such command": (("frobnicate",), 'no command "frobnicate"'),
    "help of no such command": (("help", "frobnicate"), 'no command "frobnicate"'),
    "no file": (("inspect",), "one file or table is wanted, not 0"),
    "two files": (("inspect", "a", "b"), "one file or table is wanted, not 2"),
    "unknown option": (("inspect", "--frob", "a"), 'unknown option "--frob"'),
    "a value that is not taken": (("inspect", "--json=1", "a"), "--json takes no value"),
}


@pytest.mark.parametrize("name", WRONG)
def test_command__wrong_usage(name):
    arguments, reason = WRONG[name]
    check_failed(run(*arguments), 2, reason)


@pytest.mark.parametrize("arguments", (("--help",), ("-h",), ("help",)))
def test_command__help_lists_commands(arguments):
    text = check_done(run(*arguments))
    assert text.startswith("usage: leman COMMAND")
    assert "inspect" in text and "exit codes: 0 done, 1 failed, 2 wrong usage or input" in text


HELP = (("inspect", "--help"), ("help", "inspect"), ("inspect", "a.lance", "--help"))


@pytest.mark.parametrize("arguments", HELP)
def test_command__help_of_inspect(arguments):
    text = check_done(run(*arguments))
    assert text.startswith("usage: leman inspect FILE")
    assert "--pages" in text and "--json" in text


def test_command__version():
    version = (ROOT / "VERSION").read_text().strip()
    assert check_done(run("--version")) == f"leman {version}\n"
    assert leman.__version__ == version
