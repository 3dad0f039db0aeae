# SPDX-License-Identifier: Apache-2.0
"""The notebook of examples/, run from its first cell to its last."""

import os
from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[3] / "examples/notebook.ipynb"


def outputs(cell):
    return [output for output in cell.outputs if output.output_type != "stream"]


def text_of(output):
    return output.data["text/plain"]


def test_example__notebook(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert not any(cell.outputs or cell.execution_count for cell in code)
    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    filled = next(cell for cell in code if "rows_committed" in cell.source)
    (bar,) = filled.outputs
    assert bar.data["text/html"].startswith("<div><progress")
    assert "Rows committed 2,000" in text_of(bar)
    counted = next(cell for cell in code if cell.source.startswith("notes.count_rows"))
    assert text_of(counted.outputs[0]) == str(len(range(0, 2000, 3)))
    (info,) = outputs(next(cell for cell in code if "column_info" in cell.source))
    assert "word in WET for word in words(text)" in text_of(info)
    assert int(text_of(code[-1].outputs[0])) >= 1
    assert os.path.isdir(tmp_path / "diary")
