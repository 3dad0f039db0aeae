# SPDX-License-Identifier: Apache-2.0
"""A function that has changed: what users are told, what they may say, what becomes of values."""

import importlib
import json
import subprocess
import sys
import typing
from pathlib import Path

import lance
import leman
import pyarrow as pa
import pytest

ROWS = 120
LEMAN = Path(sys.executable).parent / "leman"


@pytest.fixture
def table(tmp_path):
    rows = {"id": range(ROWS), "text": [f"pet {i}" for i in range(ROWS)]}
    table = leman.create(tmp_path / "t.lance", pa.table(rows), max_rows_per_fragment=50)
    table.delete("id = 3")
    return table


@leman.udf
def titled(text: str) -> str | None:
    return text.title()


def _shout(text):
    return text.upper()


@leman.udf
def loud(text: str) -> str | None:
    if text.endswith("7"):
        return None
    return _shout(text) if text.endswith("5") else text.title()


def fill(table, columns, **options):
    options.setdefault("concurrency", 0)
    return table.backfill(columns, progress=False, **options)


def values(table, name="title"):
    """The values, which pylance sees as well."""
    found = table.to_arrow([name])[name].to_pylist()
    assert lance.dataset(table.path).to_table([name])[name].to_pylist() == found
    return found


def ids():
    return [i for i in range(ROWS) if i != 3]


def titles():
    return [f"Pet {i}" for i in ids()]


def louds():
    return [loud(f"pet {i}") for i in ids()]


@pytest.fixture
def changed(table):
    """A filled column whose function is another one now."""
    table.add_columns({"title": titled})
    fill(table, "title")
    table.alter_columns({"path": "title", "udf": loud})
    return table


def said(raised):
    return str(raised.value)


def test_change__is_told_and_asked(changed):
    with pytest.raises(leman.ConflictError) as raised:
        fill(changed, "title")
    assert said(raised).splitlines() == [
        "the function of column 'title' has changed, and 119 values are of its earlier version:",
        "  the function:",
        "    -def titled(text: str) -> str | None:",
        "    -    return text.title()",
        "    +def loud(text: str) -> str | None:",
        "    +    if text.endswith('7'):",
        "    +        return None",
        "    +    return _shout(text) if text.endswith('5') else text.title()",
        "  _shout(): new",
        "Say what is to become of them:",
        '  on_change="recompute"  119 rows computed beside the column, which changes in one commit '
        "at the end, or when you say so (swap=False)",
        '  on_change="keep"       0 rows computed; the values count as of this version',
        '  on_change="new_rows"   0 rows computed, those that never were; you are asked again next '
        "time",
    ]
    assert values(changed) == titles()


def test_change__names_helpers_and_values(table):
    def function_with(factor, constant):
        def helper(text):
            return len(text) * factor

        @leman.udf
        def score(text: str) -> int:
            return helper(text) + constant

        return score

    class Counter:
        def __init__(self, letter):
            self.letter = letter

        def __call__(self, text: str) -> int:
            return text.count(self.letter)

    counter = leman.udf(Counter)
    table.add_columns({"score": function_with(2, 5), "count": counter("p")})
    fill(table, ["score", "count"])
    table.alter_columns({"path": "score", "udf": function_with(3, 5)})
    with pytest.raises(leman.ConflictError) as raised:
        fill(table, "score")
    assert "  value of factor: 2 -> 3\n" in said(raised)
    assert "constant" not in said(raised)
    with pytest.raises(leman.ExistsError, match="value of letter: 'p' -> 't'"):
        table.add_columns({"count": counter("t")})


def test_change__recompute_swaps_at_the_end(changed):
    version = changed.version
    result = fill(changed, "title", on_change="recompute", concurrency=2)
    assert result.rows_computed == ROWS - 1 and result.state == "done"
    assert result.version == changed.version
    assert values(changed) == louds()
    assert changed.to_arrow().schema.names == ["id", "text", "title"]
    assert lance.dataset(changed.path).schema.names == ["id", "text", "title", "_leman_title"]
    assert lance.dataset(changed.path, version=version).to_table(["title"])["title"][5].as_py() == (
        "Pet 6"
    )
    assert fill(changed, "title").rows_planned == 0
    assert fill(changed, "title", on_change="recompute").rows_planned == 0


def test_change__look_before_the_swap(changed, capsys):
    fill(changed, "title", on_change="recompute", swap=False)
    assert values(changed) == titles()
    assert changed.to_arrow().schema.names == ["id", "text", "title"]
    found = changed.compare("title", samples=4)
    texts = louds()
    null = texts.count(None)
    upper = sum(text is not None and text.isupper() for text in texts)
    assert (found.equal, found.changed, found.newly_null) == (
        len(texts) - null - upper,
        upper,
        null,
    )
    assert (found.failed, found.pending) == (0, 0)
    assert [(sample["before"], sample["after"]) for sample in found.samples] == [
        ("Pet 5", "PET 5"),
        ("Pet 15", "PET 15"),
        ("Pet 7", None),
        ("Pet 17", None),
    ]
    assert capsys.readouterr().out == f"{found}\n"
    assert str(found).splitlines()[:2] == [
        "title: 95 equal, 12 changed, 12 newly null, 0 not computed again",
        "  row 5: 'Pet 5' -> 'PET 5'",
    ]
    changed.swap("title")
    assert values(changed) == texts
    with pytest.raises(leman.NotFoundError, match='"title" has not been computed again'):
        changed.compare("title")
    with pytest.raises(leman.NotFoundError, match="has not been computed again"):
        changed.swap("title")


def test_change__discard_leaves_everything_as_it_was(changed):
    before = lance.dataset(changed.path).to_table()
    fill(changed, "title", on_change="recompute", swap=False)
    changed.discard("title")
    assert lance.dataset(changed.path).to_table() == before
    with pytest.raises(leman.NotFoundError, match="has not been computed again"):
        changed.discard("title")
    with pytest.raises(leman.ConflictError, match="119 values"):
        fill(changed, "title")


def test_change__a_part_first_then_the_rest(changed):
    assert fill(changed, "title", on_change="recompute", max_rows=30).rows_computed == 30
    assert values(changed) == titles()
    assert changed.compare("title").pending == ROWS - 31
    with pytest.raises(leman.InvalidError, match="89 rows that have a value are not computed"):
        changed.swap("title")
    with pytest.raises(leman.ConflictError, match="30 rows are done already"):
        fill(changed, "title")
    assert fill(changed, "title", on_change="recompute", where="id < 50").rows_computed == 19
    assert values(changed) == titles()
    assert fill(changed, "title", on_change="recompute").rows_computed == ROWS - 50
    assert values(changed) == louds()


def test_change__failed_rows_keep_the_column(table):
    table.add_columns({"title": titled})
    fill(table, "title")

    @leman.udf(on_error=leman.skip_on_error())
    def picky(text: str) -> str | None:
        if text == "pet 9":
            raise ValueError("no nine")
        return text.upper()

    table.alter_columns({"path": "title", "udf": picky})
    result = fill(table, "title", on_change="recompute")
    assert result.state == "done_failed"
    assert values(table) == titles()
    found = table.compare("title")
    assert (found.failed, found.newly_null, found.changed) == (1, 1, ROWS - 2)
    table.swap("title")
    assert values(table) == [None if i == 9 else f"PET {i}" for i in ids()]
    assert table.cells("title")["failed"] == 1


def test_change__keep_is_for_good(changed):
    changed.append({"id": [ROWS], "text": ["pet 5"]})
    assert fill(changed, "title", on_change="keep").rows_computed == 1
    assert values(changed) == [*titles(), "PET 5"]
    assert fill(changed, "title").rows_planned == 0
    assert fill(changed, "title", on_change="recompute").rows_computed == ROWS
    assert values(changed) == [*louds(), "PET 5"]


def test_change__new_rows_touch_nothing_else(changed):
    changed.append({"id": [ROWS], "text": ["pet 5"]})
    changed.update("id = 1", {"text": "'new'"})
    assert changed.cells("title")["stale"] == 1
    assert fill(changed, "title", on_change="new_rows").rows_computed == 1
    assert changed.cells("title") == {"pending": 0, "ok": ROWS - 1, "failed": 0, "stale": 1}
    with pytest.raises(leman.ConflictError, match=r"119 values(?s:.)*keep.* 1 row computed"):
        fill(changed, "title")


def test_change__another_change_begins_anew(changed):
    fill(changed, "title", on_change="recompute", max_rows=30)

    @leman.udf
    def short(text: str) -> str | None:
        return text[:1]

    changed.alter_columns({"path": "title", "udf": short})
    assert fill(changed, "title", on_change="recompute").rows_computed == ROWS - 1
    assert values(changed) == ["p"] * (ROWS - 1)


def test_change__back_again(changed):
    changed.alter_columns({"path": "title", "udf": titled})
    assert fill(changed, "title").rows_planned == 0


def test_change__several_columns_of_one_function(table):
    class Parts(typing.NamedTuple):
        first: str
        size: int

    @leman.udf
    def parts(text: str) -> leman.Columns[Parts]:
        return Parts(text[0], len(text))

    table.add_columns(parts)
    fill(table, "first")

    @leman.udf(data_type=pa.schema([("first", pa.string()), ("size", pa.int64())]))
    def other(text: pa.Array) -> pa.RecordBatch:
        texts = text.to_pylist()
        return pa.record_batch({"first": [t[-1] for t in texts], "size": [1] * len(texts)})

    table.alter_columns({"path": "first", "udf": other})
    fill(table, "size", on_change="recompute", swap=False, concurrency=1)
    assert set(values(table, "first")) == {"p"}
    assert table.compare("size").changed == ROWS - 1
    table.swap("size")
    assert set(values(table, "size")) == {1}
    assert values(table, "first") == [str(i)[-1] for i in ids()]


def test_change__indices_go_and_are_named_before(changed):
    dataset = lance.dataset(changed.path)
    dataset.create_scalar_index("title", "BTREE")
    name = dataset.describe_indices()[0].name
    changed.refresh()
    with pytest.raises(leman.ConflictError, match=f"goes with them: index {name}"):
        fill(changed, "title")
    fill(changed, "title", on_change="recompute", swap=False)
    assert [index.name for index in lance.dataset(changed.path).describe_indices()] == [name]
    changed.swap("title")
    assert lance.dataset(changed.path).describe_indices() == []
    assert values(changed) == louds()


def test_change__appended_and_moved_rows_meanwhile(changed):
    fill(changed, "title", on_change="recompute", max_rows=60)
    lance.write_dataset(pa.table({"id": [ROWS], "text": ["pet 5"]}), changed.path, mode="append")
    lance.dataset(changed.path).optimize.compact_files()
    changed.refresh()
    changed.update("id = 20", {"text": "'pet 25'"})
    fill(changed, "title", on_change="recompute")
    shown = dict(zip(values(changed, "id"), values(changed), strict=True))
    assert shown == dict(zip(ids(), louds(), strict=True)) | {ROWS: "PET 5", 20: "PET 25"}


@pytest.mark.parametrize(
    "options, text",
    [
        ({"on_change": "maybe"}, "on_change is one of .*recompute.*not 'maybe'"),
        ({"swap": False}, "swap= belongs to on_change"),
        ({"on_change": "keep", "swap": True}, "swap= belongs to on_change"),
        ({"on_change": "keep", "recompute": True}, "exclude each other"),
        ({"on_change": "recompute", "read_version": 1}, "reads the newest version"),
    ],
)
def test_change__wrong_options(changed, options, text):
    with pytest.raises(ValueError, match=text):
        fill(changed, "title", **options)
    assert values(changed) == titles()


def test_change__an_outdated_type_is_refused(changed):
    fill(changed, "title", on_change="recompute", swap=False)
    changed.alter_columns({"path": "title", "data_type": "large_string"})
    with pytest.raises(leman.InvalidError, match="another type since it was computed again"):
        changed.swap("title")
    changed.discard("title")
    assert values(changed) == titles()


MODULE = """
import leman

SUFFIX = {suffix!r}

@leman.udf
def tagged(text: str) -> str:
    return text + SUFFIX
"""


def test_change__of_a_module_that_is_imported(table, tmp_path, monkeypatch):
    path = tmp_path / "tagging.py"
    path.write_text(MODULE.format(suffix="!"))
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module("tagging")
    table.add_columns({"tagged": module.tagged})
    fill(table, "tagged")
    leman.registry._bindings.clear()  # as in another process
    path.write_text(MODULE.format(suffix="??"))
    importlib.invalidate_caches()
    del sys.modules["tagging"]
    with pytest.raises(leman.ConflictError, match=r"value of SUFFIX: '!' -> '\?\?'"):
        fill(table, "tagged")
    assert fill(table, "tagged", on_change="recompute").rows_computed == ROWS - 1
    assert values(table, "tagged") == [f"pet {i}??" for i in ids()]


def run(*arguments):
    done = subprocess.run(
        [LEMAN, *map(str, arguments)], capture_output=True, text=True, timeout=120
    )
    return done.returncode, done.stdout, done.stderr


def test_change__on_the_command_line(table, tmp_path):
    path = tmp_path / "tagging.py"
    fn = ["--fn", f"{path}:tagged", "--concurrency", "0"]
    path.write_text(MODULE.format(suffix="!"))
    assert run("backfill", table.path, "tagged", *fn)[0] == 0
    path.write_text(MODULE.format(suffix="?"))
    code, _, err = run("backfill", table.path, "tagged", *fn)
    assert code == 5
    assert "119 values" in err and "'!' -> '?'" in err and "--on-change recompute" in err
    change = ["--on-change", "recompute", "--no-swap"]
    assert run("backfill", table.path, "tagged", *fn, *change)[0] == 0
    code, out, _ = run("compare", table.path, "tagged", "--limit", "1")
    assert code == 0
    assert out.startswith("tagged: 0 equal, 119 changed, 0 newly null, 0 failed, 0 not computed")
    assert "pet 0!" in out and "pet 0?" in out and "pet 1!" not in out
    code, out, _ = run("compare", table.path, "tagged", "--json", "--swap")
    assert json.loads(out)["changed"] == 119
    table.refresh()
    assert values(table, "tagged") == [f"pet {i}?" for i in ids()]
    code, _, err = run("compare", table.path, "tagged")
    assert code == 2 and "has not been computed again" in err
    code, _, err = run("compare", table.path, "tagged", "--swap", "--discard")
    assert code == 2 and "exclude each other" in err
