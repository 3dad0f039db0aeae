# SPDX-License-Identifier: Apache-2.0
"""Secrets: workers have their values, and nothing that is kept or shown has."""

import json
import os
import subprocess
import sys

import leman
import numpy as np
import pyarrow as pa
import pytest

NAME = "LEMAN_TEST_KEY"
VALUE = "sk-hush/7 'quoted'\\odd"
ROWS = 30


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv(NAME, VALUE)
    return leman.create(tmp_path / "t.lance", pa.table({"id": range(ROWS)}))


def forms():
    return [VALUE, repr(VALUE)[1:-1], json.dumps(VALUE)[1:-1], "sk-hush"]


def check_nowhere(folder):
    """No file of the table, of its jobs or of the user's state holds the value."""
    count = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(parent, name), "rb") as file:
                content = file.read()
            count += 1
            for form in forms():
                assert form.encode() not in content, os.path.join(parent, name)
    assert count > 0


def fill(table, function, **options):
    table.add_columns({"out": function})
    return table.backfill("out", progress=False, concurrency=1, **options)


def test_secrets__workers_have_them(table, tmp_path):
    @leman.udf(secrets=[NAME])
    def out(id: int) -> int:
        return len(os.environ[NAME])

    assert fill(table, out).rows_committed == ROWS
    assert set(table.to_arrow(["out"])["out"].to_pylist()) == {len(VALUE)}
    assert table.column_info("out")["secrets"] == [NAME]
    check_nowhere(tmp_path)


def test_secrets__a_changed_value_reaches_warm_workers(table, monkeypatch):
    @leman.udf(secrets=[NAME])
    def out(id: int) -> int:
        return len(os.environ[NAME])

    fill(table, out)
    monkeypatch.setenv(NAME, "another one")
    table.backfill("out", progress=False, concurrency=1, recompute=True)
    assert set(table.to_arrow(["out"])["out"].to_pylist()) == {len("another one")}


@pytest.mark.parametrize("concurrency", [0, 1])
def test_secrets__errors_of_rows_do_not_show_them(table, tmp_path, concurrency):
    @leman.udf(secrets=[NAME], on_error=leman.skip_on_error())
    def out(id: int) -> int:
        key = os.environ[NAME]
        if id == 3:
            raise ValueError(f"401 for {key!r}, {key} and " + "x" * 1970 + key)
        if id == 4:
            return key
        return id

    table.add_columns({"out": out})
    table.backfill("out", progress=False, concurrency=concurrency)
    table.refresh()
    first, second = table.errors("out").to_pylist()
    assert first["message"].startswith(f'401 for "[{NAME}]", [{NAME}] and xxx')
    assert NAME in second["message"]
    check_nowhere(tmp_path)


def test_secrets__a_job_that_fails_does_not_show_them(table, tmp_path):
    @leman.udf(secrets=[NAME], on_error=leman.fail_fast())
    def out(id: int) -> int:
        raise ValueError(f"no access with {os.environ[NAME]}")

    with pytest.raises(leman.FunctionError, match=rf"no access with \[{NAME}\]") as raised:
        fill(table, out)
    assert not any(form in str(raised.value) for form in forms())
    check_nowhere(tmp_path)


def test_secrets__a_setup_that_fails_does_not_show_them(table, tmp_path):
    @leman.udf(secrets=[NAME])
    class Out:
        def setup(self):
            raise RuntimeError(f"no model for {os.environ[NAME]}")

        def __call__(self, id: int) -> int:
            return id

    with pytest.raises(leman.FunctionError, match=rf"no model for \[{NAME}\]"):
        fill(table, Out())
    check_nowhere(tmp_path)


def test_secrets__names_of_classes_do_not_show_them(table, tmp_path):
    @leman.udf(secrets=[NAME], on_error=leman.skip_on_error())
    def out(id: int) -> int:
        raise type(f"Error_{os.environ[NAME]}", (ValueError,), {})("no")

    fill(table, out)
    assert table.errors("out").to_pylist()[0]["type"] == f"Error_[{NAME}]"
    check_nowhere(tmp_path)


def test_secrets__what_is_printed_and_typed_does_not_show_them(table, tmp_path):
    (tmp_path / "script.py").write_text(
        f"import leman, os, sys, logging\n"
        f"@leman.udf(secrets=[{NAME!r}])\n"
        f"def out(id: int) -> int:\n"
        f"    print('out', os.environ[{NAME!r}])\n"
        f"    logging.warning('logged %s', os.environ[{NAME!r}])\n"
        f"    os.system('printenv {NAME}')\n"
        f"    return id\n"
        f"table = leman.open('t.lance')\n"
        f"table.add_columns({{'out': out}})\n"
        f"table.backfill('out', concurrency=1, where='id < 2')\n"
    )
    done = subprocess.run(
        [sys.executable, "script.py", "--key", VALUE],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert not any(form in done.stdout + done.stderr for form in forms())
    (job,) = table.jobs()
    said = [line["text"] for line in job.logs()]
    assert f"out [{NAME}]" in said
    assert f"WARNING:root:logged [{NAME}]" in said
    assert f"[{NAME}]" in said
    assert job.status()["command"] == f"script.py --key '[{NAME}]'"
    (tmp_path / "script.py").unlink()
    check_nowhere(tmp_path)


def test_secrets__a_missing_one_is_refused_before_anything_starts(table, monkeypatch):
    @leman.udf(secrets=[NAME])
    def out(id: int) -> int:
        return id

    monkeypatch.delenv(NAME)
    with pytest.raises(leman.InvalidError, match=rf"out\(\) needs the secret {NAME}"):
        fill(table, out)
    assert table.jobs() == []


def test_secrets__a_condition_with_one_is_refused(table):
    @leman.udf(secrets=[NAME])
    def out(id: int) -> str:
        return str(id)

    with pytest.raises(ValueError, match=rf"where= holds the value of a secret: id = '\[{NAME}\]'"):
        fill(table, out, where=f"id = '{VALUE}'")


KEY = VALUE


def helper():
    return KEY


def closure():
    key = VALUE

    @leman.udf(secrets=[NAME])
    def out(id: int) -> str:
        return key

    return out


def default():
    @leman.udf(secrets=[NAME])
    def out(id: int, key=f"Bearer {VALUE}") -> str:
        return key

    return out


def constant():
    @leman.udf(secrets=[NAME])
    def out(id: int) -> str:
        return "sk-hush/7 'quoted'\\odd"

    return out


def of_a_helper():
    @leman.udf(secrets=[NAME])
    def out(id: int) -> str:
        return helper()

    return out


def attribute():
    @leman.udf(secrets=[NAME])
    class Out:
        def __init__(self, headers):
            self.headers = headers

        def __call__(self, id: int) -> int:
            return id

    return Out({"Authorization": [f"Bearer {VALUE}"]})


def array():
    keys = np.array([VALUE])

    @leman.udf(secrets=[NAME])
    def out(id: int) -> int:
        return len(keys)

    return out


@pytest.mark.parametrize(
    "make, place",
    [
        (array, "its code"),
        (closure, "closure variable 'key'"),
        (default, "default 'key'"),
        (constant, "its code"),
        (of_a_helper, "global 'KEY'"),
        (attribute, "attribute 'headers'"),
    ],
)
def test_secrets__a_function_that_holds_one_is_refused(table, tmp_path, make, place):
    with pytest.raises(
        leman.InvalidError, match=f"holds the value of the secret {NAME} in {place}"
    ):
        table.add_columns({"out": make()})
    assert table.schema.names == ["id"]
    check_nowhere(tmp_path)


@pytest.mark.parametrize("given", [VALUE, [VALUE], ["A B"], [3]])
def test_secrets__names_are_wanted(given):
    with pytest.raises(TypeError, match="list of names of environment variables") as raised:
        leman.udf(secrets=given)(lambda id: id)
    assert not any(form in str(raised.value) for form in forms())
