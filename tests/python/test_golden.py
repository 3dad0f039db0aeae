# SPDX-License-Identifier: Apache-2.0
"""Files that releases of pylance have written (tests/golden/make.py) are read as they are meant."""

from pathlib import Path

import leman
import numpy as np
import pyarrow as pa
import pytest
from tables import check_same

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
FILES = sorted(path for path in GOLDEN.glob("*/*-2.?.lance") if path.parent.name != "refused")


def expected(path):
    name = path.name.rsplit("-", 1)[0]
    table = pa.ipc.open_file(GOLDEN / "expected" / f"{name}.arrow").read_all()
    return table.combine_chunks()


def test_golden__files_are_there():
    assert len(FILES) > 100
    assert {path.parent.name for path in FILES} >= {"0.39.0", "1.0.4", "4.0.2", "6.1.0", "10.0.0"}


@pytest.mark.parametrize("path", FILES, ids=[f"{path.parent.name}/{path.stem}" for path in FILES])
def test_golden__is_read(path):
    table = expected(path)
    file = leman.LanceFile(path)
    assert file.version == path.stem.rsplit("-", 1)[1]
    for batch_size in (37, 10_000) if table.num_rows < 10_000 else (20_000,):
        check_same(file.scan(batch_size=batch_size, blobs="bytes").to_arrow(), table)
    if table.num_rows:
        rows = np.random.default_rng(0).integers(0, table.num_rows, 30)
        taken = pa.Table.from_batches([file.take(rows, blobs="bytes").to_arrow()])
        check_same(taken, table.take(pa.array(rows)))


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("version-1", r"version 1 \(0\.2\)"),
        ("version-2.3", r"version 2\.3; 2\.0, 2\.1 and 2\.2 are read"),
    ],
)
def test_golden__other_versions_are_refused_by_name(name, words):
    path = GOLDEN / "refused" / f"{name}.lance"
    with pytest.raises(leman.UnsupportedError, match=words) as caught:
        leman.LanceFile(path)
    assert str(path) in str(caught.value)


def test_golden__an_early_2_1_is_refused_by_its_encoding():
    file = leman.LanceFile(GOLDEN / "refused" / "early-2.1.lance")
    with pytest.raises(leman.UnsupportedError, match=r'column 0: page 0: .*"/lance.encodings\.Pag'):
        file.to_arrow()
