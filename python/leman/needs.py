# SPDX-License-Identifier: Apache-2.0
"""Which installed packages functions need: what their code imports, and what that requires."""

import ast
import functools
import importlib.metadata
import importlib.util
import re
import sys
from pathlib import Path

from leman.environment_path import is_installed_file
from leman.fingerprint import walk_of
from leman.manifest import _name

_REQUIRED = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_MODULES_MAX = 1000  # of the user's own that are read


@functools.cache
def _packages_of():
    """{module: names of the packages that bring it}"""
    found = importlib.metadata.packages_distributions()
    return {module: {_name(name) for name in names} for module, names in found.items()}


def _file_of(module):
    """The file of a module of the user's own; None of all others. Runs no code of it."""
    loaded = sys.modules.get(module)
    path = getattr(loaded, "__file__", None)
    if path is None and "." not in module:
        try:
            found = importlib.util.find_spec(module)
        except (ImportError, ValueError):
            return None
        path = None if found is None or not found.has_location else found.origin
    if path is None or not path.endswith(".py") or is_installed_file(path):
        return None
    return path


def _statements(node):
    """What runs when a module is imported: not what stands in its functions."""
    for child in ast.iter_child_nodes(node):
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            yield child
            yield from _statements(child)


def _imports_of(path):
    """Modules that are imported with a file, by their whole names."""
    try:
        tree = ast.parse(Path(path).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return
    for node in _statements(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def _imported(first):
    """Top modules that are reached from some, through files of the user's own."""
    waiting, seen, reached = sorted(first), set(first), set()
    while waiting and len(seen) < _MODULES_MAX:
        module = waiting.pop()
        reached.add(module.partition(".")[0])
        path = _file_of(module)
        for name in _imports_of(path) if path else ():
            if name not in seen:
                seen.add(name)
                waiting.append(name)
    return reached


def _with_required(names, here):
    """Packages, with those that they require; what is not installed here is left out."""
    waiting, found = [name for name in names if name in here], set()
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        for text in importlib.metadata.requires(name) or ():
            match = _REQUIRED.match(text)
            if match and "extra" not in text.partition(";")[2] and _name(match[1]) in here:
                waiting.append(_name(match[1]))
    return found


def needs_of(udfs, here):
    """The names of packages, of those in `here` (versions by name), that functions need."""
    modules = {"cloudpickle"}
    for udf in udfs:
        modules |= walk_of(udf._leman_function).packages
        if udf.__module__ not in (None, "__main__"):  # which is imported; of others parts travel
            modules.add(udf.__module__)
        if udf.signature.kind != "scalar":
            modules.add("pyarrow")
    reached = _imported(modules) - set(sys.stdlib_module_names)
    brought = set().union(*(_packages_of().get(module, ()) for module in reached))
    return _with_required(brought, here)
