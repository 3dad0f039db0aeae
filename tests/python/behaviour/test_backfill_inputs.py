# SPDX-License-Identifier: Apache-2.0
"""Columns that feed columns: the order in which they are filled, and inputs that are not ready."""

import json
import os
import subprocess
import sys
from pathlib import Path

import leman
import pyarrow as pa
import pytest

ROWS = 60
LEMAN = Path(sys.executable).parent / "leman"


@leman.udf
def size(text: str) -> int:
    return len(text)


@leman.udf
def double(size: int) -> int:
    return size * 2


@leman.udf
def total(size: int, double: int) -> int:
    return size + double


@pytest.fixture
def table(tmp_path):
    rows = {"id": range(ROWS), "text": ["x" * i for i in range(ROWS)]}
    return leman.create(tmp_path / "t.lance", pa.table(rows), max_rows_per_fragment=25)


@pytest.fixture
def chain(table):
    """Registered in one call, in the order that fits least."""
    table.add_columns({"total": total, "double": double, "size": size})
    return table


def fill(table, columns, **options):
    options.setdefault("concurrency", 0)
    return table.backfill(columns, progress=False, **options)


def column(table, name):
    return table.to_arrow([name])[name].to_pylist()


@pytest.mark.parametrize("concurrency", [0, 2])
def test_inputs__are_filled_first_in_one_job(chain, concurrency):
    result = fill(chain, ["total", "double", "size"], concurrency=concurrency)
    assert result.rows_computed == 3 * ROWS and result.state == "done"
    assert column(chain, "total") == [3 * i for i in range(ROWS)]
    assert [job.id for job in chain.jobs()] == [result.job_id]
    assert fill(chain, ["total", "double", "size"]).rows_planned == 0


def test_inputs__that_are_missing_are_named(chain):
    with pytest.raises(leman.InvalidError) as raised:
        fill(chain, "total")
    assert str(raised.value) == (
        "column 'total' is computed from 'size', which is not up to date in 60 rows: say "
        'stale_inputs="refill" to fill it first in the same job, or '
        "backfill(['size', 'double', 'total'])"
    )
    with pytest.raises(leman.InvalidError, match="'total' is computed from 'size'"):
        fill(chain, ["total", "double"])
    assert chain.cells("total")["pending"] == ROWS


def test_inputs__are_refilled_where_asked_for(chain):
    assert fill(chain, "total", stale_inputs="refill").rows_computed == 3 * ROWS
    chain.update("id = 5", {"text": "'other'"})
    chain.append({"id": [ROWS], "text": ["y"]})
    with pytest.raises(leman.InvalidError, match="'size', which is not up to date in 2 rows"):
        fill(chain, "total")
    with pytest.raises(leman.InvalidError, match="in 1 row:"):
        fill(chain, "total", where="id = 5")
    assert fill(chain, "total", stale_inputs="refill", where="id = 5").rows_computed == 3
    assert fill(chain, "total", stale_inputs="refill").rows_computed == 3
    assert chain.cells("total") == {"pending": 0, "ok": ROWS + 1, "failed": 0, "stale": 0}
    rows = dict(zip(column(chain, "id"), column(chain, "total"), strict=True))
    assert rows[5] == 15 and rows[ROWS] == 3


def planned(table, column, **options):
    plan = table.plan_backfill(column, stale_inputs="refill", **options)
    assert "at most where their inputs change" in str(plan)
    return {
        counts["columns"][0]: (counts["todo"], counts["following"]) for counts in plan["functions"]
    }


def test_inputs__a_plan_counts_the_whole_chain(chain):
    assert planned(chain, "total") == {
        "size": (ROWS, 0),
        "double": (ROWS, ROWS),
        "total": (ROWS, ROWS),
    }
    assert planned(chain, "total", where="id < 7")["total"] == (7, 7)
    assert planned(chain, "total", max_rows=5)["total"] == (5, 5)
    chain.backfill("total", stale_inputs="refill")
    chain.update("id = 5", {"text": "'another one'"})
    chain.append(pa.table({"id": [ROWS], "text": ["x"]}))
    plan = planned(chain, "total")
    assert plan == {"size": (2, 0), "double": (2, 2), "total": (2, 2)}
    result = chain.backfill("total", stale_inputs="refill")
    assert result.rows_computed == sum(todo for todo, _ in plan.values())
    plan = chain.plan_backfill("total", stale_inputs="refill")
    assert plan["functions"][0]["todo"] == plan["functions"][0]["following"] == 0


def test_inputs__a_refusal_names_the_whole_chain(chain):
    chain.backfill("total", stale_inputs="refill")
    chain.update("id = 5", {"text": "'another one'"})
    with pytest.raises(leman.InvalidError, match=r"backfill\(\['size', 'double', 'total'\]\)"):
        chain.backfill("total")
    assert chain.backfill(["size", "double", "total"]).rows_computed == 3


def test_inputs__that_failed_leave_rows_pending(table):
    @leman.udf(on_error=leman.skip_on_error())
    def picky(text: str) -> int:
        if len(text) == 7:
            raise ValueError("seven")
        return len(text)

    table.add_columns({"size": picky, "double": double})
    assert fill(table, ["double", "size"]).rows_failed == 1
    assert table.cells("double") == {"pending": 1, "ok": ROWS - 1, "failed": 0, "stale": 0}
    plan = table.plan_backfill("double")["functions"][0]
    assert (plan["waiting"], plan["todo"]) == (1, 0)
    assert fill(table, "double").rows_planned == 0


def test_inputs__stopped_in_the_first_column_and_again(chain):
    with pytest.raises(leman.CancelledError):
        job = chain.backfill_async(["total", "double", "size"], concurrency=1)
        job.cancel()
        job.wait()
    fill(chain, ["total", "double", "size"])
    assert column(chain, "total") == [3 * i for i in range(ROWS)]


def test_inputs__a_part_of_the_rows(chain):
    fill(chain, ["double", "size"], max_rows=10)
    assert chain.cells("double")["ok"] == chain.cells("size")["ok"] == 10
    fill(chain, ["double", "size"], where="id >= 30")
    assert chain.cells("double")["ok"] == 40


def test_inputs__computed_again_feed_the_next(chain):
    fill(chain, ["total", "double", "size"])

    @leman.udf
    def longer(text: str) -> int:
        return len(text) + 100

    chain.alter_columns({"path": "size", "udf": longer})
    result = fill(chain, ["total", "double", "size"], on_change="recompute", concurrency=2)
    assert result.rows_computed == 3 * ROWS
    assert column(chain, "total") == [3 * (i + 100) for i in range(ROWS)]
    assert chain.cells("total")["ok"] == ROWS


def test_inputs__whose_function_has_changed(chain):
    fill(chain, ["total", "double", "size"])

    @leman.udf
    def longer(text: str) -> int:
        return len(text) + 100

    chain.alter_columns({"path": "size", "udf": longer})
    told = "'double' is computed from 'size', whose function has changed, and 60 values"
    for options in ({}, {"stale_inputs": "refuse"}):
        with pytest.raises(leman.ConflictError, match=told):
            fill(chain, "double", **options)
    with pytest.raises(leman.ConflictError, match="the function of column 'size' has changed"):
        fill(chain, "double", stale_inputs="refill")
    result = fill(chain, "double", stale_inputs="refill", on_change="recompute")
    assert result.rows_computed == 2 * ROWS
    assert column(chain, "double") == [2 * (i + 100) for i in range(ROWS)]
    chain.alter_columns({"path": "size", "udf": size})
    assert fill(chain, "double", on_change="keep").rows_computed == 0
    assert fill(chain, "double").rows_computed == 0


def test_functions__of_one_column_are_given_a_name(table):
    with pytest.raises(leman.InvalidError, match=r'name it: add_columns\(\{"name": size\}\)'):
        table.add_columns(size)
    assert table.schema.names == ["id", "text"]


def test_circles__are_refused_when_they_are_registered(chain):
    @leman.udf
    def back(total: int) -> int:
        return total

    version = chain.version
    with pytest.raises(leman.InvalidError, match="'size' .*: size <- total <- size"):
        chain.alter_columns({"path": "size", "udf": back})

    @leman.udf
    def ping(pong: int) -> int:
        return pong

    @leman.udf
    def pong(ping: int) -> int:
        return ping

    with pytest.raises(leman.InvalidError, match="'ping' .* itself: ping <- pong <- ping"):
        chain.add_columns({"ping": ping, "pong": pong})
    with pytest.raises(leman.InvalidError, match="'pong' cannot be .* itself: pong <- pong"):
        chain.add_columns({"pong": (pong, ["pong"])})
    assert chain.version == version


def test_inputs__wrong_option(chain):
    with pytest.raises(ValueError, match="stale_inputs is .* not 'maybe'"):
        fill(chain, "total", stale_inputs="maybe")


def test_inputs__on_the_command_line(chain):
    def run(*options):
        command = [LEMAN, "backfill", chain.path, "total", "--concurrency", "0", "--json", *options]
        environment = dict(os.environ, PYTHONPATH=os.path.dirname(__file__))
        return subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)

    done = run()
    assert done.returncode == 2 and "not up to date in 60 rows" in done.stderr
    done = run("--stale-inputs", "refill")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["rows_computed"] == 3 * ROWS
