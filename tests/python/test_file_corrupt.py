# SPDX-License-Identifier: Apache-2.0
"""Damaged files are refused with a message that says where, and never do harm.

tests/unit/format/test_corrupt.c does the same for many more damages, under sanitizers.
"""

import struct
import subprocess
import sys
from pathlib import Path

import lance_pages
import leman
import pytest

TESTS = Path(__file__).resolve().parent.parent


def golden(name):
    return next(TESTS.glob(f"golden/*/{name}.lance"))


@pytest.mark.parametrize("version", ("2.0", "2.1", "2.2"))
def test_corrupt__damages_do_no_harm(version):
    files = sorted(TESTS.glob(f"golden/14.*/*-{version}.lance"))
    small = [str(path) for path in files if path.stat().st_size < 9000]
    command = [sys.executable, str(TESTS / "support/damage.py"), *small]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250)
    assert done.returncode == 0, done.stderr[-3000:]
    refused, given = map(int, done.stdout.split())
    assert refused > 1000
    assert given > 100


@pytest.fixture
def damaged(tmp_path):
    """Write a copy of a golden file, changed by a function of its bytes."""

    def make(name, change):
        data = bytearray(golden(name).read_bytes())
        path = tmp_path / "damaged.lance"
        path.write_bytes(change(data) or data)
        return path

    return make


def check_refused(path, words, error=leman.CorruptError):
    with pytest.raises(error, match=words) as caught:
        leman.LanceFile(path).to_arrow()
    assert str(path) in str(caught.value)


def test_corrupt__nothing_is_no_file(tmp_path):
    (tmp_path / "empty.lance").write_bytes(b"")
    check_refused(tmp_path / "empty.lance", "0 bytes, shorter than the 40 of a footer")


def test_corrupt__another_file_is_told_apart(tmp_path):
    (tmp_path / "text.lance").write_bytes(b"no Lance at all " * 10)
    check_refused(tmp_path / "text.lance", 'does not end in "LANC"')


def test_corrupt__a_missing_file_is_not_found(tmp_path):
    with pytest.raises(leman.NotFoundError, match="gone.lance"):
        leman.LanceFile(tmp_path / "gone.lance")


def test_corrupt__footer_with_absurd_counts(damaged):
    def change(data):
        struct.pack_into("<II", data, len(data) - 16, 0xFFFFFFFF, 0xFFFFFFFF)

    check_refused(damaged("maps-2.2", change), "4294967295 columns at .* do not lie in a file")


def test_corrupt__column_metadata_outside_the_file(damaged):
    def change(data):
        table = lance_pages.Footer.of(data).column_table
        struct.pack_into("<QQ", data, table, len(data), 1 << 40)

    words = "column 0: its metadata, 1099511627776 bytes at .* is outside a file"
    check_refused(damaged("maps-2.2", change), words)


def test_corrupt__column_metadata_does_not_decode(damaged):
    def change(data):
        position, size = lance_pages.column_extents(data)[1]
        data[position : position + size] = b"\xff" * size

    check_refused(damaged("maps-2.2", change), "column 1")


def test_corrupt__chunk_header_names_column_page_and_chunk(damaged):
    def change(data):
        pages = [
            page for page in lance_pages.pages(golden("several_pages-2.1")) if page.column == 0
        ]
        position, _ = pages[2].buffers[1]
        struct.pack_into("<HH", data, position, 0xFFFF, 0xFFFF)

    words = r'column 0 \("numbers"\): page 2 at byte \d+: chunk 0: '
    check_refused(damaged("several_pages-2.1", change), words)


def test_corrupt__2_0_offsets_name_column_and_page(damaged):
    def change(data):
        pages = lance_pages.pages(golden("all_null-2.0"))
        page = next(page for page in pages if page.features[0].startswith("array list"))
        position, size = page.buffers[0]
        data[position : position + size] = b"\x77" * size

    words = r'column "null_items": column \d+, page 0: '
    check_refused(damaged("all_null-2.0", change), words)


def test_corrupt__compressed_size_is_not_believed(damaged):
    """A zstd frame knows how much it holds; what stands before it cannot ask for more."""

    def change(data):
        at = data.index(b"\x28\xb5\x2f\xfd") - 8
        struct.pack_into("<Q", data, at, 1 << 62)

    check_refused(damaged("very_long_values-2.1", change), "zstd")
