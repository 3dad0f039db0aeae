# SPDX-License-Identifier: Apache-2.0
"""Functions that have changed: what is different, what it costs, and what is to become of values.

Beside its code a table keeps what a function consists of, as texts for people: the source of the
function and of its helpers, the values that it refers to. When the next version comes, the two are
compared.
"""

import ast
import copy
import difflib
import hashlib
import itertools
import json
import types

from leman import _core, fingerprint, provenance, registry, secret
from leman.wording import option

ON_CHANGE = {
    "recompute": "all rows are computed again",
    "keep": "values of the earlier version count as this one's",
    "new_rows": "only rows that were never computed",
}

_ITSELF = "the function"  # whatever it is called
_VALUE_CHARS = 200
_SOURCE_CHARS = 100_000
_PARTS_MAX = 500
_LINES_MAX = 60


def _shown(value):
    """A value as a text that tells it from others, cut where it is long."""
    try:
        text = repr(value)
    except Exception:
        text = f"<{type(value).__qualname__}>"
    if " at 0x" in text:  # the address of an object says nothing
        return f"<{type(value).__qualname__}>"
    if len(text) <= _VALUE_CHARS:
        return text
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"{text[:_VALUE_CHARS]}… ({len(text)} characters, {digest[:12]})"


def _source(node):
    """Source without what does not count: comments, layout, docstrings, decorators."""
    tree = copy.deepcopy(node)
    for part in ast.walk(tree):
        if isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            part.decorator_list = []
            part.body = fingerprint._without_docstring(part.body) or [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(tree))[:_SOURCE_CHARS]


def _short(name):
    return name.rpartition("<locals>.")[2]


def _python_parts(function):
    walk = fingerprint.walk_of(function)
    own = function if hasattr(function, "__qualname__") else type(function)
    for name, found in walk.sources.items():
        kind = "class {}" if isinstance(found.node, ast.ClassDef) else "{}()"
        yield (
            _ITSELF if name == own.__qualname__ else kind.format(_short(name)),
            _source(found.node),
        )
    for name, value in walk.values.items():
        if not callable(value) and not isinstance(value, types.ModuleType):
            yield f"value of {name}", _shown(value)


def parts_of(udf):
    """What a function consists of: texts for people, by name."""
    texts = {}
    if udf.language == "c":
        texts["value of version"] = udf.version[:12]
    elif udf.options.version is not None:
        texts["value of version"] = repr(udf.options.version)
    if udf.language == "python":
        parts = itertools.islice(_python_parts(udf._leman_function), _PARTS_MAX)
        texts.update((name, secret.redact(text)) for name, text in parts)
    return texts


def _is_code(name):
    return not name.startswith("value of ")


def _difference(name, before, after):
    """Lines that tell one part's texts apart."""
    if before is None:
        yield f"{name}: new" if _is_code(name) else f"{name}: {after}"
    elif after is None:
        yield f"{name}: not used any more"
    elif not _is_code(name):
        yield f"{name}: {before} -> {after}"
    else:
        yield f"{name}:"
        lines = difflib.unified_diff(before.splitlines(), after.splitlines(), n=1, lineterm="")
        yield from (f"  {line}" for line in lines if not line.startswith(("---", "+++", "@@")))


def differences(before, after):
    """What is different between two functions, as lines for people."""
    lines = []
    for name in [*after, *(name for name in before if name not in after)]:
        if before.get(name) != after.get(name):
            lines += _difference(name, before.get(name), after.get(name))
    if len(lines) > _LINES_MAX:
        lines[_LINES_MAX:] = [f"... and {len(lines) - _LINES_MAX} more lines"]
    return lines


def describe(table, before, udf):
    """The change from a recorded function to another one, as lines set in by two spaces."""
    known = provenance.stored(table, before).get("parts")
    lines = differences(known, parts_of(udf)) if known is not None else []
    if not lines:
        name = before.get("name", "?")
        lines = [f"{name}() {before.get('version', '')[:12]} -> {udf.name}() {udf.version[:12]}"]
    return "".join(f"  {line}\n" for line in lines)


def _rows(count):
    return "1 row" if count == 1 else f"{count:,} rows"


def question(table, column, before, udf, counts):
    """What a user is told who has to decide.

    counts: rows by reason, as a plan has them: other, pending, failed, stale.
    """
    rest = counts["pending"] + counts["failed"] + counts["stale"]
    total = counts["other"] + rest
    indices = json.loads(table._core.refill_indices(column))
    lost = f"; goes with them: index {', '.join(indices)}" if indices else ""
    begun = table._core.refill_name(column)
    so_far = f"; {_rows(_done(table, begun))} are done already" if begun else ""
    return (
        f"the function of column {column!r} has changed, and {counts['other']:,} values are of its "
        f"earlier version:\n{describe(table, before, udf)}"
        "Say what is to become of them:\n"
        f"  {option('on_change', 'recompute')}  {_rows(total)} computed beside the column, which "
        f"changes in one commit at the end, or when you say so ({option('swap', False)})"
        f"{so_far}{lost}\n"
        f"  {option('on_change', 'keep')}       {_rows(rest)} computed; the values count as of "
        "this version\n"
        f"  {option('on_change', 'new_rows')}   {_rows(counts['pending'])} computed, those that "
        "never were; "
        "you are asked again next time"
    )


def counts_of(table, column):
    """The counts of a question about a function that is not recorded yet."""
    cells = table._core.cells(column)
    return {"other": cells["ok"] + cells["stale"], "stale": 0} | {
        name: cells[name] for name in ("pending", "failed")
    }


def _done(table, refill):
    cells = table._core.cells(refill)
    return cells["ok"] + cells["failed"] + cells["stale"]


def check_option(on_change):
    if on_change is not None and on_change not in ON_CHANGE:
        told = ", ".join(f'"{name}" ({what})' for name, what in ON_CHANGE.items())
        raise ValueError(f"on_change is one of {told}; not {on_change!r}")


def decide(request, on_change, swap):
    """Apply what the user says to the functions of a backfill; asks where nothing is said."""
    check_option(on_change)
    if on_change != "recompute" and swap is not None:
        raise ValueError(f"{option('swap')} belongs to {option('on_change', 'recompute')}")
    if request.options["recompute"]:
        if on_change is not None:
            raise ValueError(
                f"{option('recompute', True)} and {option('on_change')} exclude each other"
            )
        return
    if on_change == "recompute" and request.core is not request.table._core:
        raise ValueError('on_change="recompute" reads the newest version; leave out read_version=')
    request.options["keep_refills"] = swap is False
    for described in request.functions:
        _decide_one(request, described, on_change)


def _decide_one(request, described, on_change):
    table, column = request.table, described["output"][0]
    known = registry.recorded(table, column)
    begun = table._core.refill_name(column)
    if on_change is None and not known.get("before") and not begun:
        return
    counts = json.loads(_core.job_plan(request.core, [described], request.options))["functions"][0]
    if not counts["other"] and not begun:
        return
    if on_change is None:
        if not counts["other"]:
            return
        udf = request.udfs[described["code"]][0]
        before = known.get("before") or known
        raise _core.ConflictError(question(table, column, before, udf, counts))
    if on_change == "keep":
        registry.settle(table, described["output"], known)
    described["refill"] = on_change == "recompute"
    described["new_rows"] = on_change == "new_rows"


def register(table, column, udf, inputs, on_change):
    """Record another function for a column that is there, as the user says; False: not so."""
    try:
        known = registry.recorded(table, column)
    except _core.NotFoundError:
        return False
    udf.refresh()
    if known is None or known["version"] == udf.version:
        return False
    if on_change is None:
        raise _core.ConflictError(question(table, column, known, udf, counts_of(table, column)))
    registry.alter_function(table, column, (udf, known["inputs"] if inputs is None else inputs))
    return True
