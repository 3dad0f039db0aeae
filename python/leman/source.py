# SPDX-License-Identifier: Apache-2.0
"""The text of functions and classes, and their syntax trees.

A module is imported anew by workers, so its file counts as it is now. What travels by value counts
as it was run: cells of notebooks, the main script, the text of ``python -c``. A definition is found
by its qualified name, and among several of one name by its place.
"""

import ast
import functools
import inspect
import linecache
import os
import stat
import sys
import textwrap
import types
from dataclasses import dataclass

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)

_learnt = {}  # definitions that have come with their code, by the code and the qualified name


@dataclass(frozen=True)
class Definition:
    """Where a function or class is defined."""

    node: ast.AST
    text: str  # of the definition, decorators included
    path: str


class _Names(ast.NodeVisitor):
    """The definitions of a program by qualified name."""

    def __init__(self):
        self.found = {}
        self._prefix = ""

    def _add(self, node, name, inner, outer):
        """outer: what is evaluated outside of the definition; inner: what stands in it."""
        for part in outer:
            self.visit(part)
        qualified = self._prefix + name
        self.found.setdefault(qualified, []).append(node)
        before, self._prefix = (
            self._prefix,
            qualified + ("." if isinstance(node, ast.ClassDef) else ".<locals>."),
        )
        for part in inner:
            self.visit(part)
        self._prefix = before

    def visit_FunctionDef(self, node):
        self._add(node, node.name, node.body, [*node.decorator_list, node.args])

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_ClassDef(self, node):
        self._add(node, node.name, node.body, [*node.decorator_list, *node.bases, *node.keywords])

    def visit_Lambda(self, node):
        self._add(node, "<lambda>", [node.body], [node.args])


@functools.lru_cache(maxsize=64)
def _definitions(text):
    """The definitions of a program; none where it is not one."""
    try:
        tree = compile(
            text, "<text>", "exec", ast.PyCF_ONLY_AST | ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, True
        )
    except (SyntaxError, ValueError):
        return {}
    names = _Names()
    names.visit(tree)
    return names.found


def _main_text():
    """The program of ``python -c``, or of a file that is standard input."""
    if sys.argv[:1] == ["-c"]:
        return sys.orig_argv[-len(sys.argv)]
    try:
        if stat.S_ISREG(os.fstat(0).st_mode):
            with open("/proc/self/fd/0") as program:
                return program.read()
    except (OSError, ValueError):
        pass
    return ""


def _text_of(path, module, values):
    if module != "__main__" and not path.startswith("<"):
        linecache.checkcache(path)
    lines = linecache.getlines(path, values)
    if not lines and module == "__main__" and path in ("<string>", "<stdin>"):
        return _main_text()
    return "".join(lines)


def keep(function):
    """Read the text of a function that was defined just now, before its file is edited."""
    code = getattr(function, "__code__", None)
    if code is not None:
        linecache.getlines(code.co_filename, function.__globals__)


def _first_line(node):
    return min([part.lineno for part in getattr(node, "decorator_list", ())] + [node.lineno])


def _holds(node, code):
    """Does the code stand in the node of a lambda?"""
    start = node.body.lineno, node.body.col_offset
    end = node.body.end_lineno, node.body.end_col_offset
    for line, end_line, column, end_column in code.co_positions():
        if None in (line, end_line, column, end_column):
            continue
        if start <= (line, column) and (end_line, end_column) <= end:
            return True
    return False


def _choose(nodes, code):
    """Of definitions with one name, the one at the place of the code; else the last."""
    if code.co_name == "<lambda>":
        here = [node for node in nodes if node.lineno == code.co_firstlineno]
        if len(here) > 1:
            here = [node for node in here if _holds(node, code)]
            return here[0] if len(here) == 1 else None
    else:
        here = [node for node in nodes if _first_line(node) == code.co_firstlineno]
    return (here or nodes)[-1]


def _definition(node, text, path):
    lines = text.splitlines(keepends=True)[_first_line(node) - 1 : node.end_lineno]
    if isinstance(node, ast.Lambda):
        return Definition(node, ast.get_source_segment(text, node) or "", path)
    return Definition(node, textwrap.dedent("".join(lines)), path)


def learn(code, name, text, path):
    """The text of a definition whose code has come from elsewhere: its file may be another here."""
    try:
        node = ast.parse(text.strip()).body[0]
    except (SyntaxError, ValueError, IndexError):
        return
    node = node.value if isinstance(node, ast.Expr) else node
    _learnt[code, name] = Definition(node, text, path)


def travels_by_name(thing):
    """Does a module that workers import hold this very object under its name?"""
    module = sys.modules.get(getattr(thing, "__module__", None))
    if module is None or module.__name__ == "__main__" or not hasattr(thing, "__qualname__"):
        return False
    if getattr(module, "__file__", None) is None or _travels_by_value(module.__name__):
        return False
    found = module
    for part in thing.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is thing


def _travels_by_value(module_name):
    """Has someone told cloudpickle that workers cannot import the module?"""
    cloudpickle = sys.modules.get("cloudpickle")
    return cloudpickle is not None and module_name in cloudpickle.list_registry_pickle_by_value()


def dispatched(thing):
    """Is it a generic function, of ``functools.singledispatch``?"""
    parts = ("registry", "dispatch", "__wrapped__")
    return isinstance(thing, types.FunctionType) and all(hasattr(thing, name) for name in parts)


def first_code(thing):
    """The code that a definition is known by: of a class, that of its first method."""
    if isinstance(thing, types.FunctionType):
        return thing.__code__
    return next((member.__code__ for member in _methods(thing)), None)


def _methods(kind):
    for member in map(plain_function, vars(kind).values()):
        if member and member.__code__.co_qualname.startswith(kind.__qualname__ + "."):
            yield member


def _find_function(function):
    code = function.__code__
    if (code, function.__qualname__) in _learnt:
        return _learnt[code, function.__qualname__]
    text = _text_of(code.co_filename, function.__module__, function.__globals__)
    found = _definitions(text)
    nodes = [
        node
        for node in found.get(code.co_qualname, ())
        if isinstance(node, ast.Lambda if code.co_name == "<lambda>" else _FUNCTIONS)
    ]
    node = _choose(nodes, code) if nodes else None
    return None if node is None else _definition(node, text, code.co_filename)


def plain_function(member):
    """The function behind what a class holds under a name; None when there is none."""
    if isinstance(member, property):
        member = member.fget
    if isinstance(member, functools.cached_property):
        member = member.func
    member = getattr(member, "__func__", member)
    member = inspect.unwrap(member) if callable(member) else member
    return member if isinstance(member, types.FunctionType) else None


def _find_class(kind):
    """By one of its methods, whose code names the file; a notebook's classes name none."""
    code = first_code(kind)
    if (code, kind.__qualname__) in _learnt:
        return _learnt[code, kind.__qualname__]
    places = [
        (member.__code__.co_filename, member.__globals__, member.__code__)
        for member in _methods(kind)
    ]
    module = sys.modules.get(kind.__module__)
    if getattr(module, "__file__", None):
        places.append((module.__file__, vars(module), None))
    elif kind.__module__ == "__main__":
        places.append(("<string>", {}, None))
    for path, values, code in places:
        text = _text_of(path, kind.__module__, values)
        nodes = _definitions(text).get(kind.__qualname__, ())
        nodes = [node for node in nodes if isinstance(node, ast.ClassDef)]
        if code is not None:
            holding = [n for n in nodes if n.lineno <= code.co_firstlineno <= n.end_lineno]
            nodes = holding or nodes
        if nodes:
            return _definition(nodes[-1], text, path)
    return None


def find(thing):
    """The ``Definition`` of a function or class; None where its text is not to be had."""
    try:
        return _find_class(thing) if isinstance(thing, type) else _find_function(thing)
    except (AttributeError, OSError):
        return None
