# SPDX-License-Identifier: Apache-2.0
"""Words that must be there, and words that must not."""

import re

from rules.tree import Finding, line_of

SPDX = "SPDX-License-Identifier: Apache-2.0"
CMAKE = re.compile(r"(^|/)(CMakeLists\.txt|[^/]*\.cmake(\.in)?|Makefile)$")

# Put together from parts, so that this file does not hold what it forbids.
MARKS = ["TO" + "DO", "FIX" + "ME", "X" * 3]
HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("crates", "io"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("proxy", "golang", "org"),
        ("maven", "org"),
        ("maven", "apache", "org"),
        ("deb", "debian", "org"),
        ("rubygems", "org"),
        ("conda", "anaconda", "org"),
    )
]
FOLDERS = ["/" + "work/", "/" + "root/", "../" + "shared"]

FORBIDDEN = [
    (re.compile(rf"\b({'|'.join(MARKS)})\b"), "unfinished work; finish it or write an issue"),
    (re.compile("|".join(re.escape(host) for host in HOSTS)), "the name of a registry's host"),
    (
        re.compile("|".join(rf"(?<![\w.~])(?:{re.escape(folder)})" for folder in FOLDERS)),
        "a path of one machine",
    ),
]
APART = ("LICENSE", "tests/golden/", "tests/fuzz/corpus/")


def check_license(tree):
    """The licence line in every source file."""
    sources = set(tree.c_files()) | set(tree.python_files()) | set(tree.shell_files())
    sources |= {name for name in tree.files if CMAKE.search(name)}
    for name in sorted(sources):
        if tree.text(name).strip() and SPDX not in "\n".join(tree.text(name).split("\n")[:3]):
            yield Finding(name, 1, f"the first lines do not hold '{SPDX}'")


def check_words(tree):
    """Words that belong neither in code nor in documents."""
    for name in tree.files:
        if name.startswith(APART):
            continue
        text = tree.text(name)
        for forbidden, why in FORBIDDEN:
            for match in forbidden.finditer(text):
                yield Finding(name, line_of(text, match.start()), f"'{match[0]}': {why}")
