# SPDX-License-Identifier: Apache-2.0
"""How long files and functions may be."""

import re

from rules.tree import Finding

FILE_LINES_MAX = 1000
FILE_LINES_GOOD = 500
FUNCTION_LINES_MAX = 70
HEADER_LINES_MAX = 300

NAME = re.compile(r"(\w+)\s*\(")


def check_sizes(tree):
    """Files and functions within their walls."""
    for name in tree.c_files():
        lines = tree.code(name).split("\n")[:-1]
        if name.startswith("include/leman/") and len(lines) > HEADER_LINES_MAX:
            yield Finding(
                name, 1, f"{len(lines)} lines; a public header has at most {HEADER_LINES_MAX}"
            )
        if name.endswith(".c") and len(lines) > FILE_LINES_MAX:
            yield Finding(name, 1, f"{len(lines)} lines; a file has at most {FILE_LINES_MAX}")
        elif name.endswith(".c") and len(lines) > FILE_LINES_GOOD:
            yield Finding(
                name, 1, f"{len(lines)} lines; {FILE_LINES_GOOD} are easier to hold", True
            )
        for first, last, function in functions(lines):
            if last - first + 1 > FUNCTION_LINES_MAX:
                yield Finding(
                    name,
                    first + 1,
                    f"{function}() has {last - first + 1} lines; "
                    f"a function has at most {FUNCTION_LINES_MAX}",
                )


def functions(lines):
    """(line of {, line of }, name) of each body, which the house format puts in column 0."""
    first = None
    for number, line in enumerate(lines):
        if line.rstrip() == "{":
            first = number
        elif line.startswith("}") and first is not None:
            yield first, number, name_before(lines, first)
            first = None


def name_before(lines, number):
    head = ""
    while number > 0 and lines[number - 1].strip() and lines[number - 1][0] not in "}#":
        number -= 1
        head = lines[number] + "\n" + head
    names = NAME.findall(head)
    ours = [name for name in names if name.startswith("lmn_")]
    return (ours or names or ["?"])[0]
