# SPDX-License-Identifier: Apache-2.0
"""Every function of a public header has its contract above it."""

import re

from rules.tree import Finding, blank, line_of

DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
NAME = re.compile(r"\b(lmn_\w+)\s*\(")


def statements(code):
    """(start, end, text) of the declarations at the top level, function bodies included."""
    start, depth = None, 0
    for position, char in enumerate(code):
        if start is None:
            if char.isspace() or char == "}":
                continue
            start = position
        if char == "{":
            depth += 1
            if depth == 1 and code[start:position].strip() == "extern":
                start, depth = None, 0
                continue
        elif char == "}":
            depth -= 1
        is_body = char == "}" and depth == 0 and is_function(code[start:position])
        if depth == 0 and (char == ";" or is_body):
            yield start, position, code[start : position + 1]
            start = None


def is_function(text):
    head = text.partition("{")[0]
    return "(" in head and "=" not in head and not head.startswith("typedef")


def check_contracts(tree):
    """A comment directly above every public function, or above the group it stands in."""
    for name in tree.under("include/leman"):
        if not name.endswith(".h"):
            continue
        code = DIRECTIVE.sub(lambda match: blank(match[0]), tree.code(name))
        yield from uncommented(tree, name, code)


def uncommented(tree, name, code):
    lines = tree.text(name).split("\n")
    code_lines = code.split("\n")
    covered = {}  # last line of a function -> does a comment cover it?
    for start, end, text in statements(code):
        match = NAME.search(text)
        if (
            text.startswith(("typedef", "struct", "union", "enum"))
            and "{" in text.partition("(")[0]
        ):
            continue
        if match is None or not is_function(text):
            continue
        above = line_of(code, start) - 1  # the line above, counted from 1
        comment = bool(lines[above - 1].strip()) and not code_lines[above - 1].strip()
        comment = comment and not lines[above - 1].lstrip().startswith("#")
        covered[line_of(code, end)] = comment or covered.get(above, False)
        if not covered[line_of(code, end)]:
            yield Finding(name, above + 1, f"{match[1]}() has no comment directly above it")
