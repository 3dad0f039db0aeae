# SPDX-License-Identifier: Apache-2.0
"""The files of the project, their text, and their C code without comments."""

import re
import subprocess
from functools import cache
from pathlib import Path
from typing import NamedTuple

SKIPPED_FOLDERS = {".git", ".deps", ".venv", "build", "dist", "__pycache__", ".hypothesis"}

COMMENT = re.compile(
    r'(?P<string>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|//[^\n]*|/\*.*?\*/', re.S
)


class Finding(NamedTuple):
    path: str
    line: int
    text: str
    note: bool = False  # shown, but no failure

    def __str__(self):
        return f"{self.path}:{self.line}: {'note: ' if self.note else ''}{self.text}"


def blank(text):
    """Spaces of the same shape, so that positions and line numbers stay."""
    return re.sub(r"[^\n]", " ", text)


class Tree:
    def __init__(self, root):
        self.root = Path(root).resolve()
        self.files = sorted(self._list())

    def _list(self):
        """What git would commit; all files where there is no git."""
        if (self.root / ".git").exists():
            command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
            listed = subprocess.run(command, cwd=self.root, capture_output=True, check=True)
            names = set(listed.stdout.decode().split("\0")) - {""}
            return [name for name in names if (self.root / name).is_file()]
        paths = (path.relative_to(self.root) for path in self.root.rglob("*") if path.is_file())
        return [str(path) for path in paths if not SKIPPED_FOLDERS.intersection(path.parts)]

    def under(self, *folders):
        return [name for name in self.files if name.startswith(tuple(f"{f}/" for f in folders))]

    def c_files(self):
        return [name for name in self.files if name.endswith((".c", ".h"))]

    def python_files(self):
        """By name, or by the first line of a program without one."""
        return [
            name
            for name in self.files
            if name.endswith((".py", ".pyi")) or self._interpreter(name) == "python3"
        ]

    def shell_files(self):
        return [
            name
            for name in self.files
            if name.endswith(".sh") or self._interpreter(name) in ("sh", "bash")
        ]

    @cache  # noqa: B019
    def text(self, name):
        """The text of a file; empty when it is not text."""
        try:
            return (self.root / name).read_bytes().decode()
        except UnicodeDecodeError:
            return ""

    @cache  # noqa: B019
    def uncommented(self, name):
        """C code with its comments blanked."""
        return COMMENT.sub(lambda m: m["string"] or blank(m[0]), self.text(name))

    @cache  # noqa: B019
    def code(self, name):
        """C code with its comments and literals blanked."""
        return COMMENT.sub(lambda m: blank(m[0]), self.text(name))

    def _interpreter(self, name):
        if "." in Path(name).name:
            return ""
        first = self.text(name).partition("\n")[0]
        return re.split(r"[/ ]", first)[-1] if first.startswith("#!") else ""


def line_of(text, position):
    return text.count("\n", 0, position) + 1
