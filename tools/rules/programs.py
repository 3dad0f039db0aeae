# SPDX-License-Identifier: Apache-2.0
"""What other programs judge: formatting, Python, spelling, and the symbols of the library."""

import re
import shutil
import subprocess
from pathlib import Path

from rules.tree import Finding

VENV = Path(__file__).resolve().parent.parent.parent / ".venv/bin"
PLACE = re.compile(r"^(?:\./)?([^:\n]+):(\d+):(?:\d+:)? *(.*)$", re.M)
SPELLED_APART = ("LICENSE", "tests/golden/", "tests/fuzz/corpus/")


def output(tree, command, names):
    """What a program says of the files, as text."""
    if not names:
        return ""
    done = subprocess.run([*command, "--", *names], cwd=tree.root, capture_output=True, text=True)
    return done.stdout + done.stderr


def places(text):
    for match in PLACE.finditer(text):
        yield match[1], int(match[2]), match[3]


def check_format(tree):
    """clang-format would change nothing."""
    program = shutil.which("clang-format-19")
    if program is None:
        yield Finding(".clang-format", 1, "clang-format-19 is not installed; run `make setup`")
        return
    seen = set()
    for path, line, _ in places(output(tree, [program, "--dry-run", "--Werror"], tree.c_files())):
        if path not in seen:
            seen.add(path)
            yield Finding(path, line, "not in the house format from here on; run `make format`")


def check_python(tree):
    """Python compiles, and ruff has nothing to say."""
    names = tree.python_files()
    for name in list(names):
        try:
            compile(tree.text(name), name, "exec", dont_inherit=True)
        except SyntaxError as error:
            names.remove(name)
            yield Finding(name, error.lineno or 1, f"does not compile: {error.msg}")
    ruff = VENV / "ruff"
    if not ruff.exists():
        yield Finding("pyproject.toml", 1, "ruff is not installed; run `make setup`", note=True)
        return
    concise = ["--no-cache", "--quiet", "--output-format=concise"]
    for path, line, text in places(output(tree, [ruff, "check", *concise], names)):
        yield Finding(path, line, text)
    for path, line, _ in places(output(tree, [ruff, "format", "--check", *concise], names)):
        yield Finding(path, line, "not in ruff's format from here on; run `make format`")


def check_spelling(tree):
    """codespell knows no better."""
    codespell = VENV / "codespell"
    if not codespell.exists():
        yield Finding(
            "pyproject.toml", 1, "codespell is not installed; run `make setup`", note=True
        )
        return
    names = [n for n in tree.files if tree.text(n) and not n.startswith(SPELLED_APART)]
    for path, line, text in places(output(tree, [codespell], names)):
        yield Finding(path, line, f"spelling: {text}")


def check_exports(tree):
    """The shared library exports lmn_ names and nothing else."""
    library = tree.root / "build/libleman.so"
    if not library.exists():
        yield Finding("build/libleman.so", 1, "not built; its symbols are not checked", note=True)
        return
    command = ["nm", "--dynamic", "--defined-only", "--format=posix", library]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    symbols = [line.split()[0] for line in shown.splitlines()]
    for symbol in symbols:
        if not re.match(r"lmn_(?!_)", symbol):
            yield Finding("build/libleman.so", 1, f"exports {symbol}; only lmn_... may be")
    if not symbols:
        yield Finding("build/libleman.so", 1, "exports nothing")
