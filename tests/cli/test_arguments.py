# SPDX-License-Identifier: Apache-2.0
"""How the command reads its arguments: options, and names in them."""

import json

import leman as package
import pytest
from shell import fails, lines, ok

ROW = {"a,b": 1, "c=d": 2, 'e"f': 3, "g": {"h,i": 4}, "plain": 5}


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(ROW) + "\n")
    package.create(tmp_path / "t", [ROW], primary_key="a,b")
    return tmp_path / "t"


def test_options_stand_anywhere(leman, path):
    for arguments in (["--json", path], [path, "--json"], ["--json", "--", path]):
        assert lines(leman("count", *arguments)) == [{"rows": 1}]
    fails(leman("count", "--", path, "--json"), 2, "one table is wanted")
    assert ok(leman("count", path, "--where", "-1 = -1")) == "1\n"
    fails(leman("count", path, "--where"), 2, "--where wants a value")


@pytest.mark.parametrize("word", ["--js", "--j", "--jsonx", "--delete", "-j"])
def test_options_are_written_out(leman, path, word):
    fails(leman("count", path, word), 2, "unknown option")
    fails(leman("cleanup", path, word), 2, "unknown option")
    assert package.open(path).version == 1


def test_an_option_that_is_cut_short_is_named_whole(leman, path):
    fails(leman("cleanup", path, "--delete"), 2, "there is --delete-unverified")


@pytest.mark.parametrize("command", ["scan", "create", "backfill", "cluster"])
def test_help_by_one_letter(leman, command):
    assert ok(leman(command, "-h")) == ok(leman(command, "--help"))


def test_numbers_of_32_bits(leman, path):
    fails(leman("feed-bench", path, "--threads", 2**32 + 1), 2, "--threads is at most 4294967295")


@pytest.mark.parametrize("word", ["=3", '"plain', '"plain=3', "plain"])
def test_an_assignment_that_is_none_is_told_as_it_was_given(leman, path, word):
    fails(leman("update", path, "--set", word), 2, f'--set wants COLUMN=EXPRESSION, not "{word}"')
    fails(leman("columns", path, "--add", word), 2, f'--add wants NAME=EXPRESSION, not "{word}"')


def test_names_in_quotes(leman, path, tmp_path):
    scan = leman("scan", path, "--columns", '"a,b",g."h,i","e""f",plain,c=d', "--json")
    assert lines(scan) == [{"a,b": 1, "g": {"h,i": 4}, 'e"f': 3, "plain": 5, "c=d": 2}]
    ok(leman("create", tmp_path / "u", tmp_path / "rows.jsonl", "--primary-key", '"a,b",plain'))
    assert package.open(tmp_path / "u").primary_key == ["a,b", "plain"]
    on = leman("upsert", path, tmp_path / "rows.jsonl", "--on", '"a,b"', "--json")
    assert lines(on)[0]["updated"] == 1
    ok(leman("update", path, "--set", '"c=d"="c=d" + 1', "--set", 'e"f=7'))
    ok(leman("columns", path, "--rename", '"c=d"="x=y"', "--rename", 'plain="p,q"'))
    assert lines(leman("scan", path, "--json"))[0] == {
        **{"a,b": 1, "x=y": 3, 'e"f': 7, "g": {"h,i": 4}, "p,q": 5}
    }
    ok(leman("columns", path, "--drop", '"p,q","x=y"'))
    assert package.open(path).schema.names == ["a,b", 'e"f', "g"]
    fails(leman("scan", path, "--columns", '"a,b'), 2, "--columns: a quote is not closed")
    assert "double quotes" in ok(leman("scan", "--help"))
