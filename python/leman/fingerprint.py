# SPDX-License-Identifier: Apache-2.0
"""The version of a function: a hash of what it computes.

It covers the syntax tree of the function, without comments, docstrings, decorators and layout, and
what the tree refers to: helper functions and classes of the workspace, constants, closures,
defaults and, for an object, its attributes. It is equal in every process and for every minor
version of Python. Installed packages count by name only.
"""

import ast
import functools
import hashlib
import inspect
import sys
import sysconfig
import textwrap
import types

# Fields of syntax trees that say nothing of what is computed, or that only some versions have.
_IGNORED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores", "type_params", "decorator_list"}


@functools.cache
def _installed_folders():
    paths = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(paths[name] for name in names if name in paths)


def _is_workspace(module_name):
    """Is the module code of the user, not of an installed package or of Python?"""
    if module_name in (None, "__main__"):
        return True
    module = sys.modules.get(module_name)
    if module is None:
        return True
    if module_name.partition(".")[0] == "leman":
        return False
    path = getattr(module, "__file__", None)
    if path is None:
        return not hasattr(module, "__spec__") or module.__spec__ is None
    return not path.startswith(_installed_folders()) and "site-packages" not in path


def _text(node):
    """A syntax tree as text that does not depend on layout or on the version of Python."""
    if isinstance(node, ast.JoinedStr):
        return f"JoinedStr({_joined(node)})"
    if isinstance(node, ast.Constant):
        return f"Constant({type(node.value).__name__}:{node.value!r})"
    if isinstance(node, ast.AST):
        fields = []
        for name, value in ast.iter_fields(node):
            if name in _IGNORED_FIELDS or value is None or value == []:
                continue
            if name == "body" and isinstance(value, list):
                value = _without_docstring(value)
            fields.append(f"{name}={_text(value)}")
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return "[" + ",".join(_text(item) for item in node) + "]"
    return repr(node)


def _joined(node):
    """The parts of an f-string; how literal parts are cut depends on the version of Python."""
    parts, literal = [], ""
    for value in node.values:
        if isinstance(value, ast.Constant):
            literal += str(value.value)
            continue
        if literal:
            parts.append(repr(literal))
            literal = ""
        parts.append(_text(value))
    if literal:
        parts.append(repr(literal))
    return ",".join(parts)


def _without_docstring(body):
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        if isinstance(first.value.value, str):
            return body[1:]
    return body


def _tree_of(thing):
    """The syntax tree of a function or class; None where there is no source."""
    try:
        source = textwrap.dedent(inspect.getsource(thing))
    except (OSError, TypeError):
        return None
    try:
        tree = ast.parse(source)
    except SyntaxError:
        tree = _parse_part(source)
    if tree is None:
        return None
    if getattr(thing, "__name__", None) == "<lambda>":
        return _find_lambda(tree, thing)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return next((node for node in ast.walk(tree) if isinstance(node, kinds)), None)


def _parse_part(source):
    """A lambda may stand in the middle of a call whose lines are no program of their own."""
    start = source.find("lambda")
    for end in range(len(source), start, -1) if start >= 0 else ():
        try:
            return ast.parse(source[start:end].strip(), mode="eval")
        except (SyntaxError, ValueError):
            continue
    return None


def _find_lambda(tree, function):
    """Of several lambdas in the same lines, the one whose code is the function's."""
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Lambda)]
    if len(found) <= 1:
        return found[0] if found else None
    for node in found:
        code = compile(ast.Expression(node), "<lambda>", "eval").co_consts[0]
        if code.co_code == function.__code__.co_code and code.co_consts == (
            function.__code__.co_consts
        ):
            return node
    return None


def _names_used(code):
    """Global names and attributes that the code, and code inside it, refers to."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_used(constant)
    return names


def _code_text(code):
    """Code without source; it differs between minor versions of Python."""
    parts = [code.co_code.hex(), repr(code.co_names), repr(code.co_varnames)]
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            parts.append(_code_text(constant))
        elif isinstance(constant, frozenset):
            parts.append(repr(sorted(map(repr, constant))))
        else:
            parts.append(repr(constant))
    return ";".join(parts)


class _Walk:
    """Writes all that a function consists of into one hash, each helper once."""

    def __init__(self):
        self.hash = hashlib.sha256()
        self.seen = {}

    def put(self, *texts):
        for text in texts:
            data = text.encode()
            self.hash.update(len(data).to_bytes(8, "little") + data)

    def value(self, value):
        """Any object that a function refers to."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self.put(type(value).__name__, repr(value))
        elif isinstance(value, (types.FunctionType, type, types.MethodType)):
            self.code(value)
        elif isinstance(value, types.ModuleType):
            self.put("module", value.__name__)
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType)):
            self.put("builtin", str(value.__module__), value.__qualname__)
        elif id(value) in self.seen:
            self.put("again", str(self.seen[id(value)][0]))
        else:
            self.seen[id(value)] = len(self.seen), value
            self.container(value)

    def container(self, value):
        if isinstance(value, (list, tuple)):
            self.put(type(value).__name__, str(len(value)))
            for item in value:
                self.value(item)
        elif isinstance(value, dict):
            self.put("dict", str(len(value)))
            for key, item in value.items():
                self.value(key)
                self.value(item)
        elif isinstance(value, (set, frozenset)):
            self.put(type(value).__name__, *sorted(map(repr, value)))
        elif isinstance(value, functools.partial):
            self.put("partial")
            self.value([value.func, value.args, value.keywords])
        elif hasattr(value, "_leman_function"):
            self.value(value._leman_function)
        elif hasattr(value, "dtype") and hasattr(value, "tobytes"):
            digest = hashlib.sha256(value.tobytes()).hexdigest()
            self.put("array", str(value.dtype), str(getattr(value, "shape", "")), digest)
        else:
            self.instance(value)

    def instance(self, value):
        """An object by its class and attributes; where it has none to see, by its class alone."""
        kind = type(value)
        if hasattr(value, "pattern") and kind.__module__ == "re":
            self.put("pattern", repr(value.pattern), str(value.flags))
            return
        own = _is_workspace(kind.__module__)
        self.put("instance", "" if own else kind.__module__, kind.__qualname__)
        if own:
            self.code(kind)
        if own or hasattr(value, "__dataclass_fields__"):
            for name, item in sorted(getattr(value, "__dict__", {}).items()):
                self.put(name)
                self.value(item)

    def code(self, thing):
        """A function or a class, with the helpers that it uses."""
        if isinstance(thing, types.MethodType):
            self.value(thing.__self__)
            thing = thing.__func__
        if not _is_workspace(getattr(thing, "__module__", None)):
            self.put("installed", thing.__module__, thing.__qualname__)
            return
        if id(thing) in self.seen:
            self.put("again", str(self.seen[id(thing)][0]))
            return
        self.seen[id(thing)] = len(self.seen), thing
        tree = _tree_of(thing)
        if isinstance(thing, type):
            self.put("class", _text(tree) if tree is not None else thing.__qualname__)
            self.class_parts(thing)
        else:
            self.put("function", _text(tree) if tree is not None else _code_text(thing.__code__))
            self.function_parts(thing)

    def class_parts(self, kind):
        for base in kind.__bases__:
            if base is not object:
                self.code(base)
        for name, member in sorted(vars(kind).items()):
            member = getattr(member, "__func__", member)
            if isinstance(member, types.FunctionType):
                self.put(name)
                self.function_parts(member)

    def function_parts(self, function):
        """Defaults, closure, and the globals that the code names."""
        self.value(function.__defaults__)
        self.value(function.__kwdefaults__)
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=False
        ):
            try:
                content = cell.cell_contents
            except ValueError:  # a name that is bound later
                continue
            if name != "__class__":
                self.put(name)
                self.value(content)
        names = _names_used(function.__code__)
        for name in sorted(names & function.__globals__.keys()):
            self.put(name)
            self.reference(function.__globals__[name], names)

    def reference(self, value, names):
        """A global; of a module of the workspace, what the code may use of it."""
        if isinstance(value, types.ModuleType) and _is_workspace(value.__name__):
            self.put("module", value.__name__)
            for name in sorted(names & vars(value).keys()):
                self.put(name)
                self.value(vars(value)[name])
        else:
            self.value(value)


def version_of(function, version=None):
    """64 hexadecimal digits; a `version` that the user gives takes the place of the code."""
    walk = _Walk()
    if version is not None:
        name = getattr(function, "__qualname__", type(function).__qualname__)
        walk.put("version", name, str(version))
    else:
        walk.value(function)
    return walk.hash.hexdigest()
