# SPDX-License-Identifier: Apache-2.0
"""Functions of notebooks, in a real kernel."""

import leman
import pyarrow as pa
import pytest

ROWS = 40

START = """
import leman
table = leman.open({path!r})
"""

CELL = """
OFFSET = {offset}

def twice(x):
    return 2 * x

@leman.udf
class Fill:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, id: int) -> int:
        return {sign}twice(id) * self.factor + OFFSET

fill = Fill(3)
print(fill.version)
"""


def cell(offset=1, sign=""):
    return CELL.format(offset=offset, sign=sign)


@pytest.fixture
def table(kernel, tmp_path):
    made = leman.create(tmp_path / "t.lance", pa.table({"id": range(ROWS)}))
    kernel.run(START.format(path=str(made.path)))
    return made


def column(table, name):
    table.refresh()
    return table.to_arrow([name])[name].to_pylist()


def test_kernel__cells_travel_by_value(kernel, table):
    kernel.run(cell())
    said = kernel.run("table.add_columns({'out': fill})\nprint(table.backfill('out').state)")
    assert said == "done\n"
    assert column(table, "out") == [6 * i + 1 for i in range(ROWS)]


def test_kernel__progress_is_one_output_that_is_updated(kernel, table):
    kernel.run(cell())
    kernel.run("table.add_columns({'out': fill})")
    sent = kernel.messages("result = table.backfill('out')")
    shown = [content for kind, content in sent if kind == "display_data"]
    updates = [content for kind, content in sent if kind == "update_display_data"]
    assert len(shown) == 1
    assert updates
    (place,) = {content["transient"]["display_id"] for content in shown + updates}
    last = updates[-1]["data"]
    assert last["text/plain"].startswith(f"out: 100%  Rows checkpointed {ROWS}/{ROWS}")
    assert f'value="{ROWS}" max="{ROWS}"' in last["text/html"]
    assert [kind for kind, _ in sent if kind in ("stream", "error")] == []
    assert kernel.messages("table.backfill('out', progress=False)\nNone")[-1][0] == "status"


def test_kernel__a_changed_cell_is_another_version(kernel, table):
    first = kernel.run(cell())
    assert kernel.run(cell()) == first
    assert kernel.run(cell(offset=2)) != first
    assert kernel.run(cell(sign="-")) != first
    assert kernel.run("# a comment\n" + cell().replace("2 * x", "(2  *  x)  # twice")) == first


def test_kernel__the_version_survives_a_restart(kernel, table):
    kernel.run(cell())
    kernel.run("table.add_columns({'out': fill})")
    kernel.run("table.backfill('out', max_rows=10, progress=False)")
    version = kernel.run("print(fill.version)")
    kernel.restart()
    kernel.run(START.format(path=str(table.path)))
    assert kernel.run(cell()) == version
    kernel.run("table.add_columns({'out': fill})")
    assert kernel.run("print(table.backfill('out', progress=False).rows_computed)") == "30\n"
    assert "return twice(id) * self.factor" in kernel.run("print(table.column_info('out'))")


def test_kernel__modules_beside_a_notebook_are_imported_by_workers(kernel, table, folder):
    (folder / "beside.py").write_text("def more(x):\n    return x + 1\n")
    kernel.run(
        "import beside\n"
        "@leman.udf\n"
        "def out(id: int) -> int:\n"
        "    return beside.more(id)\n"
        "table.add_columns({'out': out})\n"
        "table.backfill('out', progress=False)"
    )
    assert column(table, "out") == [i + 1 for i in range(ROWS)]


def test_kernel__an_error_names_the_line_of_the_cell(kernel, table):
    kernel.run(
        "@leman.udf(on_error=leman.skip_on_error())\n"
        "def out(id: int) -> int:\n"
        "    return 1 // (id - 7)\n"
        "table.add_columns({'out': out})\n"
        "table.backfill('out', progress=False)"
    )
    (record,) = table.refresh() or leman.open(table.path).errors("out").to_pylist()
    assert record["type"] == "ZeroDivisionError"
    assert "line 3, in out" in record["traceback"]


def test_kernel__transform_of_a_feed_in_processes(kernel, table):
    kernel.run("factor = 3\ndef transform(batch): return int(batch['id'].sum()) * factor")
    options = "format='numpy', epochs=1, num_workers=1, transform=transform"
    said = kernel.run(f"print(sum(table.feed({options}, transform_in='processes')))")
    assert said == f"{3 * ROWS * (ROWS - 1) // 2}\n"
