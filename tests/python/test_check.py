# SPDX-License-Identifier: Apache-2.0
"""tools/check finds each thing it is there to find, and nothing in a clean tree."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
SPDX_C = "/* SPDX-License-Identifier: Apache-2.0 */\n"
SPDX = "# SPDX-License-Identifier: Apache-2.0\n"

CLEAN = {
    ".clang-format": (ROOT / ".clang-format").read_text(),
    "pyproject.toml": (ROOT / "pyproject.toml").read_text(),
    "README.md": "A small project.\n",
    "CMakeLists.txt": SPDX,
    "include/leman/box.h": SPDX_C
    + """\
#ifndef LEMAN_BOX_H
#define LEMAN_BOX_H

#include <stdint.h>

#include <leman/status.h>

struct lmn_box {
    void (*free)(void *self);
};

typedef int (*lmn_box_fn)(int);

/* Open a box. */
enum lmn_status lmn_box_open(struct lmn_box *box);

/* Bytes in the box now,
 * and the most there have been. */
uint64_t lmn_box_bytes(const struct lmn_box *box);
uint64_t lmn_box_bytes_peak(const struct lmn_box *box);

#endif
""",
    "src/base/README.md": "Memory.\n",
    "src/base/box.h": SPDX_C + "#include <leman/box.h>\n",
    "src/base/heap.c": SPDX_C
    + "#include <stdlib.h>\n\nvoid *p(void)\n{\n    return malloc(1);\n}\n",
    "src/os/README.md": "Files.\n",
    "src/os/file.c": SPDX_C + '#include <fcntl.h>\n\n#include "base/box.h"\n',
    "src/store/README.md": "Objects.\n",
    "src/store/local.c": SPDX_C
    + """\
#include "base/box.h"

/* malloc() and printf() in a comment are no calls. */
void close_box(struct lmn_box *box)
{
    box->free("time()");
}
""",
    "cli/main.c": SPDX_C + "#include <unistd.h>\n\n#include <leman/box.h>\n",
    "tools/hello": "#!/usr/bin/env python3\n" + SPDX + 'print("hello")\n',
}


def check(tree, *arguments):
    command = [sys.executable, ROOT / "tools/check", "--root", tree, *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.fixture
def tree(tmp_path):
    for name, text in CLEAN.items():
        write(tmp_path, name, text)
    return tmp_path


def write(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def function(lines):
    return "void f(void)\n{\n" + "    ;\n" * (lines - 2) + "}\n"


MARK = "TO" + "DO"
HOST = "py" + "pi.org"
FOLDER = "/" + "work/"

# rule, file, text, the line of output it must give
VIOLATIONS = [
    ("layers", "src/base/a.c", '#include "os/file.h"\n', "src/base/a.c:2: includes os/file.h"),
    ("layers", "src/base/a.c", '#include "../os/file.h"\n', "src/base/a.c:2: includes ../os"),
    ("layers", "src/store/a.c", '#include "local.h"\n', "written as layer/noun.h"),
    ("layers", "src/store/a.c", "#include <unistd.h>\n", "POSIX headers belong in src/os"),
    ("layers", "src/store/a.c", "#  include <sys/stat.h>\n", "POSIX headers belong in src/os"),
    ("layers", "src/store/a.c", "#include <nanoarrow/nanoarrow.h>\n", "nothing of nanoarrow"),
    ("layers", "src/drawer/a.c", "", "src/drawer/a.c:1: is in no layer"),
    ("layers", "src/a.c", "", "src/a.c:1: is in no layer"),
    ("layers", "cli/a.c", '#include "base/box.h"\n', "cli/a.c:2: includes base/box.h"),
    ("layers", "cli/a.c", "#include <zstd.h>\n", "cli/a.c:2: includes zstd.h"),
    ("layers", "python/ext/a.c", '#include "base/box.h"\n', "python/ext/a.c:2: includes base"),
    (
        "layers",
        "include/leman/a.h",
        "#include <unistd.h>\n",
        "include/leman/a.h:2: includes unistd",
    ),
    ("layers", "include/leman/a.h", '#include "leman/box.h"\n', "include/leman/a.h:2: includes"),
    ("readmes", "src/arrow/a.c", "", "src/arrow/README.md:1: missing"),
    ("calls", "src/store/a.c", "\nvoid *p = malloc(1);\n", "src/store/a.c:3: malloc()"),
    ("calls", "python/ext/a.c", "void f(void)\n{\n    free(p);\n}\n", "python/ext/a.c:4: free()"),
    ("calls", "src/base/a.c", "int t = time(0);\n", "src/base/a.c:2: time()"),
    ("calls", "src/store/a.c", "int t = open (p, 0);\n", "src/store/a.c:2: open()"),
    ("calls", "src/store/a.c", "int t = fork();\n", "src/store/a.c:2: fork()"),
    ("calls", "src/store/a.c", 'int t = printf("x");\n', "src/store/a.c:2: printf()"),
    ("calls", "tests/unit/a.c", "int t = sprintf(p, q);\n", "tests/unit/a.c:2: sprintf()"),
    ("calls", "cli/a.c", "int t = strcpy(p, q);\n", "cli/a.c:2: strcpy()"),
    ("sizes", "src/base/a.c", "\n" * 1000, "src/base/a.c:1: 1001 lines"),
    ("sizes", "src/base/a.c", function(71), "src/base/a.c:3: f() has 71 lines"),
    ("sizes", "include/leman/a.h", "\n" * 300, "include/leman/a.h:1: 301 lines"),
    ("contracts", "include/leman/a.h", "\nint lmn_a(void);\n", "include/leman/a.h:3: lmn_a()"),
    (
        "contracts",
        "include/leman/a.h",
        "/* a */\n\nint lmn_a(int b,\n          int c);\n",
        "a.h:4: lmn",
    ),
    (
        "contracts",
        "include/leman/a.h",
        "/* a */\nint lmn_a(void);\n\nint lmn_b(void);\n",
        "include/leman/a.h:5: lmn_b()",
    ),
    (
        "contracts",
        "include/leman/a.h",
        'extern "C" {\nstruct lmn_s {\n    int (*lmn_f)(int);\n};\nLMN_API int lmn_b(void);\n}\n',
        "include/leman/a.h:6: lmn_b()",
    ),
    ("words", "docs/a.md", f"one\n{MARK}: two\n", f"docs/a.md:2: '{MARK}'"),
    ("words", "docs/a.md", f"get it from {HOST}\n", f"docs/a.md:1: '{HOST}'"),
    ("words", "tools/a", f"cd {FOLDER}main\n", f"tools/a:1: '{FOLDER}'"),
    ("words", "tools/a", "cd ../" + "shared\n", "tools/a:1: '../"),
    ("spelling", "docs/a.md", "We rec" + "ieve it.\n", "docs/a.md:1: spelling: rec"),
    ("format", "src/base/a.c", "int  a;\n", "src/base/a.c:2: not in the house format"),
    ("python", "tools/a.py", SPDX + "def f(:\n", "tools/a.py:2: does not compile"),
    ("python", "tools/a.py", SPDX + "import os\n", "tools/a.py:2: F401"),
    ("python", "tools/a.py", SPDX + "a = 'b'\n", "tools/a.py:2: not in ruff's format"),
]


@pytest.mark.parametrize("rule, name, text, expected", VIOLATIONS)
def test_check__finds(tree, rule, name, text, expected):
    if name.endswith((".c", ".h")):
        text = SPDX_C + text
    write(tree, name, text)
    status, output = check(tree, rule)
    assert expected in output
    assert status == 1
    assert output.endswith(" 1 findings, 0 notes\n")


@pytest.mark.parametrize(
    "name, text",
    [
        ("src/base/a.c", "int a;\n"),
        ("tools/a.py", "a = 1\n"),
        ("tools/a", "#!/bin/sh\ntrue\n"),
        ("tools/b", "#!/usr/bin/env python3\na = 1\n"),
        ("cmake/a.cmake", "include(b)\n"),
    ],
)
def test_check__finds_missing_license(tree, name, text):
    write(tree, name, text)
    status, output = check(tree, "license")
    assert f"{name}:1: the first lines do not hold" in output
    assert status == 1


def build_library(tree, code):
    (tree / "build").mkdir()
    (tree / "build/a.c").write_text(code)
    command = ["gcc", "-shared", "-fPIC", "-o", tree / "build/libleman.so", tree / "build/a.c"]
    subprocess.run(command, check=True)


@pytest.mark.parametrize("symbol", ["lmn__inner", "LmnArrowFree", "ZSTD_compress"])
def test_check__finds_wrong_export(tree, symbol):
    build_library(tree, f"int lmn_right; int {symbol};")
    status, output = check(tree, "exports")
    assert f"build/libleman.so:1: exports {symbol};" in output
    assert "lmn_right" not in output
    assert status == 1


def test_check__passes_clean_tree(tree):
    build_library(tree, "int lmn_right;")
    status, output = check(tree)
    assert output == f"check: {len(CLEAN)} files, 0 findings, 0 notes\n"
    assert status == 0


def test_check__notes_do_not_fail(tree):
    write(tree, "src/base/a.c", SPDX_C + "\n" * 500)
    status, output = check(tree, "sizes")
    assert "src/base/a.c:1: note: 501 lines" in output
    assert status == 0


def test_check__longest_function_passes(tree):
    write(tree, "src/base/a.c", SPDX_C + function(70).replace("f(", "g("))
    assert check(tree, "sizes")[0] == 0
