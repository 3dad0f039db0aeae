#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the golden files: files of old and new releases of pylance, and what is in them.

    .venv/bin/python tests/golden/make.py [--venvs DIR]

    <release>/<example>-<version>.lance   written by that release of pylance, in that file version
    expected/<example>.arrow              the table that was written
    refused/*.lance                       files of versions that are not read

The examples are those of tests/support/examples.py. Each release writes all of them; of its files
enough are kept to have every layout and encoding that it writes, the smallest first, and those are
left out that a newer release writes byte for byte the same. Releases are installed into virtual
environments below DIR, where they stay.

    0.36   string dictionaries have their early block form; 2.1 was not yet declared stable
    0.39   the first release whose 2.1 files later ones read as they are
    1.0    2.2 files with the small chunk headers of 2.1; chunks with more than 65535 levels
    4.0    2.0 is the default
    6.1    2.1 is the default
    10.0   levels are run-length coded in 2.2; lists whose items are all null take no bytes
    14.0   2.2 is the default
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "support"))

RELEASES = ["14.0.2", "10.0.0", "6.1.0", "4.0.2", "1.0.4", "0.39.0", "0.36.0"]  # newest first

# 2.2 was not stable in these; what they call so is read all the same, and one file shows it.
UNSTABLE_2_2 = ["1.0.4", "0.39.0", "0.36.0"]
ALWAYS = {"1.0.4": ["crowded_chunk-2.1", "structs-2.2"], "10.0.0": ["embeddings-2.1"]}
NEVER = {"0.36.0": ["packed_structs-2.1"]}  # of a form that later releases do not read either
EARLY = "0.29.0"  # its 2.1 is another format
FILE_BYTES_MAX = 30_000


def write_file(path, table, version, batch_rows=0, page_bytes=0):
    """As tests/support/lance_files.py does it, with what old releases have."""
    import pyarrow as pa
    from lance.file import LanceFileWriter

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=batch_rows or None)
    options = {"data_cache_bytes": page_bytes} if page_bytes else {}
    with LanceFileWriter(str(path), table.schema, version=version, **options) as writer:
        for batch in pa.ipc.open_stream(sink.getvalue()):
            writer.write_batch(batch)


def write_examples(folder):
    """Everything that the installed pylance can write; what it cannot is left out."""
    import examples

    for ex in examples.EXAMPLES:
        for version in ex.versions:
            path = folder / f"{ex.name}-{version}.lance"
            try:
                write_file(path, ex.table(), version, ex.batch_rows, ex.page_bytes)
            except BaseException:  # panics of Rust are no Exception
                path.unlink(missing_ok=True)


def write_refused(folder):
    """Files of version 1 and of 2.3."""
    import lance
    import pyarrow as pa

    table = pa.table({"a": [1, 2, 3]})
    write_file(folder / "version-2.3.lance", table, "2.3")
    with tempfile.TemporaryDirectory() as root:
        lance.write_dataset(table, root, data_storage_version="legacy")
        (path,) = Path(root, "data").glob("*.lance")
        shutil.copy(path, folder / "version-1.lance")


def choose(folder, version, seen):
    """The names of the files to keep, of those of one release in one version."""
    from lance_pages import features

    found = {}
    for path in sorted(folder.glob(f"*-{version}.lance")):
        fits = path.stat().st_size <= FILE_BYTES_MAX
        if fits and path.stem not in NEVER.get(folder.name, []):
            found[path] = features(path), path.stat().st_size
    missing = set().union(*(names for names, _ in found.values()))
    chosen = []
    while missing:
        best = max(found, key=lambda path: len(found[path][0] & missing) / found[path][1])
        chosen.append(best)
        missing -= found[best][0]
    return [path for path in chosen if path.read_bytes() not in seen]


def keep(release, folder, seen):
    chosen = [folder / f"{name}.lance" for name in ALWAYS.get(release, [])]
    for version in ("2.0", "2.1", "2.2"):
        if version != "2.2" or release not in UNSTABLE_2_2:
            chosen += choose(folder, version, seen)
    target = HERE / release
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for path in chosen:
        seen.add(path.read_bytes())
        shutil.copy(path, target / path.name)


def write_expected():
    """The tables of the examples that are kept."""
    import pyarrow as pa

    import examples

    target = HERE / "expected"
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    kept = {path.name.rsplit("-", 1)[0] for path in HERE.glob("*/*-2.?.lance")}
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    for ex in examples.EXAMPLES:
        table = ex.table()
        if ex.name in kept:
            path = str(target / f"{ex.name}.arrow")
            with pa.ipc.new_file(path, table.schema, options=options) as writer:
                writer.write_table(table)


def python_of(release, venvs):
    folder = venvs / release
    python = folder / "bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        install = [python, "-m", "pip", "install", "-q", f"pylance=={release}", "pyarrow", "numpy"]
        subprocess.run(install, check=True)
    return python


def make(venvs):
    with tempfile.TemporaryDirectory() as scratch:
        seen = set()
        for release in [*RELEASES, EARLY]:
            folder = Path(scratch, release)
            folder.mkdir()
            command = [python_of(release, venvs), __file__, "--write", folder]
            subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
            if release != EARLY:
                keep(release, folder, seen)
        refused = HERE / "refused"
        shutil.rmtree(refused, ignore_errors=True)
        refused.mkdir()
        write_refused(refused)
        shutil.copy(Path(scratch, EARLY, "small_numbers-2.1.lance"), refused / "early-2.1.lance")
    write_expected()
    total = sum(path.stat().st_size for path in HERE.rglob("*") if path.is_file())
    print(f"{total} bytes of golden files")


def main():
    parser = argparse.ArgumentParser(description="Write the golden files.")
    default = Path(os.environ.get("TMPDIR", "/tmp"), "leman-golden-venvs")
    parser.add_argument("--venvs", type=Path, default=default, help="where releases are installed")
    parser.add_argument("--write", type=Path, help="only write the installed release's files here")
    options = parser.parse_args()
    if options.write:
        write_examples(options.write)
    else:
        make(options.venvs)


if __name__ == "__main__":
    main()
