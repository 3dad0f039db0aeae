# SPDX-License-Identifier: Apache-2.0
"""The version of a function: a hash of what it computes.

It covers the syntax tree of the function, without comments, docstrings and layout, and what the
tree refers to: helper functions and classes of the workspace, constants, closures, defaults and,
for an object, its attributes. It is equal in every process and for every minor version of Python.
Installed packages count by name only.
"""

import ast
import dis
import enum
import functools
import hashlib
import pathlib
import sys
import sysconfig
import types

from leman import source

# Fields of syntax trees that say nothing of what is computed, or that only some versions have.
_IGNORED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores", "type_params"}

_HEAP_TYPE = 1 << 9  # of type.__flags__: made by a class statement
_GLOBALS = {"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"}  # what reads a global
_STORES = {"STORE_GLOBAL", "STORE_ATTR", "STORE_DEREF"}  # what a call may leave in names


@functools.cache
def _installed_folders():
    paths = sysconfig.get_paths()
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    return tuple(paths[name] for name in names if name in paths)


def is_workspace(module_name):
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
    if path.startswith(_installed_folders()):
        return False
    return "site-packages" not in path and "dist-packages" not in path


def _package(module_name):
    """A package by name; in which of its files something lies differs between versions."""
    return str(module_name).partition(".")[0].lstrip("_")


def _text(node, root=False):
    """A syntax tree as text that does not depend on layout or on the version of Python.

    root: what the user has registered, whose decorators are ours.
    """
    if isinstance(node, ast.JoinedStr):
        return f"JoinedStr({_joined(node)})"
    if isinstance(node, ast.Constant):
        return f"Constant({type(node.value).__name__}:{_number(node.value)})"
    if isinstance(node, ast.Delete):
        return f"Delete(targets=[{','.join(_deleted(node.targets))}])"
    if isinstance(node, ast.AST):
        fields = []
        for name, value in ast.iter_fields(node):
            if name in _IGNORED_FIELDS or value is None or value == []:
                continue
            if root and name == "decorator_list":
                continue
            if name == "body" and isinstance(value, list):
                value = _without_docstring(value)
            fields.append(f"{name}={_text(value)}")
        return f"{type(node).__name__}({','.join(fields)})"
    if isinstance(node, list):
        return "[" + ",".join(_text(item) for item in node) + "]"
    return repr(node)


def _number(value):
    """Python writes no decimal digits of integers that are very long."""
    return hex(value) if isinstance(value, int) and abs(value) >= 2**64 else repr(value)


def _deleted(targets):
    """``del (a, b)`` is ``del a, b``, and formatters write the one for the other."""
    for target in targets:
        if isinstance(target, (ast.Tuple, ast.List)):
            yield from _deleted(target.elts)
        else:
            yield _text(target)


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


def _codes(code):
    """The code, and the code inside of it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _names_used(code):
    """(global names, names of globals and attributes, those set) that the code refers to."""
    named, attributes, stored = set(), set(), set()
    for part in _codes(code):
        attributes.update(filter(str.isidentifier, part.co_names))  # pytest adds others
        for instruction in dis.get_instructions(part):
            if instruction.opname in _GLOBALS:
                named.add(instruction.argval)
            elif instruction.opname in _STORES:
                stored.add(instruction.argval)
    return named & attributes, attributes, stored


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


def text_of(thing):
    """What a function or class does by itself, as text; "" where neither source nor code tells."""
    found = source.find(thing)
    if found is not None:
        return _text(found.node)
    return _code_text(thing.__code__) if isinstance(thing, types.FunctionType) else ""


class Walk:
    """Writes all that a function consists of into one hash.

    On the way it collects what people want to know of the function:

    sources: {name: ``Definition``} of the functions and classes of the workspace.
    values: {name: value} of constants, closures, defaults and attributes.
    packages: names of the installed modules that are used.
    held: where one of the given texts was met, None when it was not.

    And what tells whether it is still the same function:

    bound: (namespace or cell, name, value) of the names that code refers to.
    stored: names that the code itself sets.
    paths: files of modules whose text was read.
    imported: "module:name" of what code that travels by value takes from modules of the workspace.
    texts: arguments of ``source.learn()`` for the definitions that travel by value.
    """

    def __init__(self, texts=()):
        self.hash = hashlib.sha256()
        self.sources = {}
        self.values = {}
        self.packages = set()
        self.held = None
        self.bound = []
        self.stored = set()
        self.paths = set()
        self.imported = set()
        self.texts = []
        self._wanted = [text for text in texts if text]
        self._is_imported = False
        self._place = ""
        self._open = []
        self._done = {}
        self._deep = False

    def put(self, *texts):
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            self.hash.update(len(data).to_bytes(8, "little") + data)

    def _once(self, thing, write):
        """Write a thing as the hash of it, which is made once; in a circle, as a way back."""
        if id(thing) in self._open:
            self.put("again", str(len(self._open) - self._open.index(id(thing))))
            return
        if id(thing) not in self._done:
            outer, self.hash = self.hash, hashlib.sha256()
            self._open.append(id(thing))
            before, self._place = self._place, "" if callable(thing) else self._place
            write(thing)
            self._place = before
            self._open.pop()
            self._done[id(thing)] = self.hash.hexdigest(), thing  # kept, so that its id is
            self.hash = outer
        self.put(self._done[id(thing)][0])

    def _look(self, text):
        """Is one of the texts that are looked for in this one?"""
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        if self.held is None and any(wanted in text for wanted in self._wanted):
            self.held = self._place or "its code"

    def named(self, place, name, value):
        """A value under the name that people know it by."""
        self.put(name)
        before = self._place
        if not before:
            self._place = f"{place} {name!r}"
            self.values.setdefault(name, value)
        self.value(value)
        self._place = before

    def value(self, value):
        """Any object that a function refers to."""
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            if not isinstance(value, enum.Enum):
                if isinstance(value, (str, bytes)):
                    self._look(value)
                self.put(type(value).__name__, _number(value))
                return
        if isinstance(value, types.MethodType):
            self.value(value.__self__)
            self.value(value.__func__)
        elif isinstance(value, types.ModuleType):
            self._note(value.__name__)
            self.put("module", _package(value.__name__))
        elif isinstance(value, (types.BuiltinFunctionType, types.MethodDescriptorType)):
            self._builtin(value)
        elif isinstance(value, (types.FunctionType, type)):
            self.code(value)
        elif hasattr(value, "_leman_function"):
            self._import(value, functools.partial(self.root, value._leman_function))
        elif isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
            self.put(type(value).__qualname__)  # of functools, which keeps results
            self._import(value, functools.partial(self.value, value.__wrapped__))
        else:
            self._once(value, self._container)

    def _import(self, thing, write):
        """Write what may travel by name: its text is in a module then, and not sent."""
        before = self._is_imported
        if not before and source.travels_by_name(thing) and is_workspace(thing.__module__):
            self.imported.add(f"{thing.__module__}:{thing.__qualname__}")
            self._is_imported = True
        write()
        self._is_imported = before

    def _note(self, module_name):
        if not is_workspace(module_name):
            self.packages.add(str(module_name).partition(".")[0])

    def _builtin(self, value):
        self.put("builtin", _package(value.__module__), value.__qualname__)
        owner = getattr(value, "__self__", None)
        if owner is not None and not isinstance(owner, types.ModuleType):
            self.value(owner)

    def _container(self, value):
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
            self.put(type(value).__name__, *sorted(map(self._digest, value)))
        elif isinstance(value, functools.partial):
            self.put("partial")
            self.value([value.func, value.args, value.keywords])
        elif hasattr(value, "dtype") and hasattr(value, "tobytes"):
            digest = hashlib.sha256(value.tobytes()).hexdigest()
            self.put("array", str(value.dtype), str(getattr(value, "shape", "")), digest)
        else:
            self._instance(value)

    def _digest(self, value):
        """The hash of one item of a set, whose items have no order."""
        outer, self.hash = self.hash, hashlib.sha256()
        self.value(value)
        digest, self.hash = self.hash.hexdigest(), outer
        return digest

    def _instance(self, value):
        """An object by its class and attributes, or by what it compares."""
        kind = type(value)
        own = _is_own(kind)
        self._note(kind.__module__)
        self.put("instance", "" if own else _package(kind.__module__), kind.__qualname__)
        if own:
            self.code(kind)
        if isinstance(value, enum.Enum):
            self.put(value.name)
        elif isinstance(value, pathlib.PurePath):
            self.put(str(value))
        elif hasattr(value, "pattern") and kind.__module__ == "re":
            self._look(value.pattern)
            self.put(repr(value.pattern), str(value.flags))
        elif own or hasattr(value, "__dataclass_fields__"):
            for name, item in sorted(_attributes(value).items()):
                self.named("attribute", name, item)
        elif self._deep or kind.__eq__ is not object.__eq__:
            self._rebuilt(value)

    def _rebuilt(self, value):
        """An object that is compared by value, by what pickle makes it from."""
        before, self._deep = self._deep, True
        try:
            parts = value.__reduce_ex__(4)
            if isinstance(parts, str):
                self.put(parts)
                return
            self.value(list(parts[1:3]))
            for items in parts[3:5]:
                self.value(None if items is None else list(items))
        except Exception as error:  # it cannot be sent to workers either, or is no value
            self.put(type(error).__name__)
        finally:
            self._deep = before

    def root(self, thing):
        """What the user has registered: a function, or an object with ``__call__``."""
        if isinstance(thing, (types.FunctionType, type)):
            self.code(thing, True)
        else:
            self.value(thing)

    def code(self, thing, root=False):
        """A function or a class, with the helpers that it uses."""
        module = getattr(thing, "__module__", None)
        if not _is_own(thing):
            self._note(module)
            self.put("installed", _package(module), thing.__qualname__)
            return
        if source.dispatched(thing):
            self._import(thing, functools.partial(self._once, thing, self._dispatch))
            return
        write = self._class if isinstance(thing, type) else self._function
        write = functools.partial(write, root=root)
        self._import(thing, functools.partial(self._once, thing, write))

    def _dispatch(self, thing):
        """A generic function by what it calls for each type."""
        kinds = {kind.__qualname__: kind for kind in thing.registry}
        for name in sorted(kinds):
            self.put("for", name)
            self.value(kinds[name])
            self.value(thing.registry[kinds[name]])

    def _definition(self, thing, root):
        """The text of a definition's tree; None where there is no source."""
        found = source.find(thing)
        if found is None:
            return None
        self.sources.setdefault(thing.__qualname__, found)
        if getattr(thing, "__module__", None) != "__main__":
            self.paths.add(found.path)
        if not self._is_imported:
            code = source.first_code(thing)
            if code is not None:
                self.texts.append((code, thing.__qualname__, found.text, found.path))
        self._place, before = f"the source of {thing.__qualname__}", self._place
        self._look(found.text)
        self._place = before
        for node in ast.walk(found.node):
            if isinstance(node, ast.Import):
                self.packages.update(name.name.partition(".")[0] for name in node.names)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self.packages.add(node.module.partition(".")[0])
        return _text(found.node, root or isinstance(thing, type))

    def _function(self, function, root=False):
        text = self._definition(function, root)
        if text is None:
            text = _code_text(function.__code__)
            self._look(text)
        self.put("function", text)
        self._function_parts(function)

    def _class(self, kind, root=False):
        text = self._definition(kind, root)
        self.put("class", kind.__qualname__ if text is None else text)
        for base in kind.__bases__:
            if base is not object:
                self.code(base)
        path = self.sources[kind.__qualname__].path if text is not None else None
        for name, member in sorted(vars(kind).items()):
            function = source.plain_function(member)
            if function is None:
                if text is None and not name.startswith("__"):
                    self.named("attribute", name, member)
            elif text is None and function.__code__.co_qualname.startswith(kind.__qualname__):
                self.put(name)
                self.code(function)
            elif function.__code__.co_filename == path:
                self.put(name)
                self._function_parts(function)

    def _function_parts(self, function):
        """Defaults, closure, and the globals that the code names."""
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        defaults = function.__defaults__ or ()
        for name, value in zip(names[len(names) - len(defaults) :], defaults, strict=True):
            self.named("default", name, value)
        for name, value in sorted((function.__kwdefaults__ or {}).items()):
            self.named("default", name, value)
        cells = function.__closure__ or ()
        for name, cell in zip(function.__code__.co_freevars, cells, strict=False):
            try:
                content = cell.cell_contents
            except ValueError:  # a name that is bound later
                continue
            if name != "__class__":
                self.bound.append((cell, name, content))
                self.named("closure variable", name, content)
        named, attributes, stored = _names_used(function.__code__)
        self.stored |= stored
        for name in sorted(named & function.__globals__.keys()):
            self.bound.append((function.__globals__, name, function.__globals__[name]))
            self._global(name, function.__globals__[name], attributes)

    def _global(self, name, value, attributes):
        """A global; of a module of the workspace, what the code may use of it."""
        if isinstance(value, types.ModuleType) and is_workspace(value.__name__):
            self.put(name, "module", value.__name__)
            before = self._is_imported
            for part in sorted(attributes & vars(value).keys()):
                self.bound.append((vars(value), part, vars(value)[part]))
                if not before and getattr(value, "__file__", None) is not None:
                    self.imported.add(f"{value.__name__}:{part}")
                    self._is_imported = True
                self.named("global", f"{name}.{part}", vars(value)[part])
            self._is_imported = before
        elif name != "__builtins__":
            self.named("global", name, value)


def _is_own(thing):
    """Is it of the user? Code that was run without a module seems to be of Python itself."""
    module = getattr(thing, "__module__", None)
    if module != "builtins":
        return is_workspace(module)
    return isinstance(thing, types.FunctionType) or thing.__flags__ & _HEAP_TYPE != 0


def _attributes(value):
    found = dict(getattr(value, "__dict__", {}))
    for kind in type(value).__mro__:
        slots = vars(kind).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def walk_of(function, texts=()):
    """The ``Walk`` over all of a function."""
    walk = Walk(texts)
    walk.root(function)
    return walk


def version_of(function, version=None):
    """64 hexadecimal digits; a `version` that the user gives takes the place of the code."""
    if version is None:
        return walk_of(function).hash.hexdigest()
    walk = Walk()
    name = getattr(function, "__qualname__", type(function).__qualname__)
    walk.put("version", name, str(version))
    return walk.hash.hexdigest()


def contents_of(value):
    """64 hexadecimal digits of any value, with the state of every object that it refers to."""
    walk = Walk()
    walk._deep = True
    walk.value(value)
    return walk.hash.hexdigest()
