# SPDX-License-Identifier: Apache-2.0
"""A function bound to the columns of a table: checked before anything runs."""

import difflib
import typing

from leman import _core, blobs, datatypes


class Binding:
    """The inputs and outputs of a function in a table.

    inputs: names and paths, in the order of the function's arguments.
    outputs: (column, type) of each column it fills.
    """

    def __init__(self, udf, fields, columns=None, inputs=None):
        """fields: the types of the table's columns. columns: the names to fill, or None."""
        self.udf = udf
        if udf.language == "c":
            self._bind_c(fields, columns, inputs)
            return
        self.outputs = _outputs(udf, columns)
        names = [column for column, _ in self.outputs]
        self.inputs = _inputs(udf, fields, names, inputs)
        self._check_types(fields)

    def _bind_c(self, fields, columns, inputs):
        """A function in C says itself which types it takes, and what it gives for them."""
        name = self.udf.name
        self.inputs = list(inputs or self.udf.options.input_columns or ())
        if not self.inputs or columns is None:
            raise _core.InvalidError(
                f"say what {name} is given: add_columns({{column: ({name}, [inputs])}})"
            )
        kinds = [(path, find_field(fields, path, name)) for path in self.inputs]
        self.outputs = [(columns[0], self.udf.bind(datatypes.struct_of(kinds)))]

    def _check_types(self, fields):
        name = self.udf.name
        annotations = list(self.udf.signature.annotations.items())
        bound = []
        for position, path in enumerate(self.inputs):
            kind = find_field(fields, path, f"{name}()")
            if self.udf.signature.kind != "scalar" or position >= len(annotations):
                continue
            argument, annotation = annotations[position]
            bound.append((argument, annotation, path, kind))
            if annotation is not None and not accepts(annotation, kind):
                raise _core.InvalidError(
                    f"{name}(): {argument!r} is annotated as {_shown(annotation)}, and column "
                    f"{path!r} is {datatypes.type_name(kind)}"
                )

        blobs.check_files(name, bound)

    def numpy_inputs(self):
        """The positions of arguments that are wanted as numpy arrays."""
        annotations = self.udf.signature.annotations.values()
        stripped = [datatypes.strip_optional(annotation)[0] for annotation in annotations]
        return [i for i, annotation in enumerate(stripped) if datatypes.is_numpy_array(annotation)]

    def fields(self):
        """The columns to add, as types with names and metadata."""
        metadata = self.udf.options.field_metadata
        return [datatypes.named(kind, column, metadata) for column, kind in self.outputs]


def _outputs(udf, columns):
    signature = udf.signature
    if signature.outputs is None:
        if columns is None:
            raise _core.InvalidError(
                f'{udf.name}() fills one column; name it: add_columns({{"name": {udf.name}}})'
            )
        if len(columns) != 1:
            raise _core.InvalidError(f"{udf.name}() fills one column, not {', '.join(columns)}")
        return [(columns[0], signature.output)]
    names = [name for name, _ in signature.outputs]
    if columns is not None and len(columns) != len(names):
        raise _core.InvalidError(
            f"{udf.name}() fills {len(names)} columns ({', '.join(names)}) and is added as "
            f"add_columns({udf.name})"
        )
    return [
        (column, kind)
        for column, (_, kind) in zip(columns or names, signature.outputs, strict=True)
    ]


def _inputs(udf, fields, outputs, inputs):
    signature = udf.signature
    given = inputs if inputs is not None else udf.options.input_columns
    if signature.kind == "batch":
        if given is not None:
            return list(given)
        return [field[1] for field in fields if field[1] not in outputs]
    arguments = [name for name in signature.annotations if name not in signature.variadic]
    if given is None:
        if signature.variadic:
            raise _core.InvalidError(f"{udf.name}() takes any arguments; give input_columns=")
        known = {field[1] for field in fields}
        return [name for name in arguments if name in known or name not in signature.optional]
    least = sum(name not in signature.optional for name in arguments)
    if len(given) < least or (len(given) > len(arguments) and not signature.variadic):
        raise _core.InvalidError(
            f"{udf.name}() has {len(arguments)} arguments ({', '.join(arguments)}) and is given "
            f"{len(given)} columns: {', '.join(given)}"
        )
    return list(given)


def find_field(fields, path, who):
    """The type of a column, or of a field inside of one ("info.url")."""
    parts = path.split(".")
    for start in range(len(parts), 0, -1):
        name = ".".join(parts[:start])
        found = next((field for field in fields if field[1] == name), None)
        if found is None:
            continue
        if start == len(parts):
            return found
        return (
            find_field(found[4], ".".join(parts[start:]), who)
            if found[0] == "+s"
            else (_missing(fields, path, who))
        )
    return _missing(fields, path, who)


def _missing(fields, path, who):
    names = [field[1] for field in fields]
    close = difflib.get_close_matches(path, names, 1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    raise _core.NotFoundError(
        f"{who} is given column {path!r}, and the table has none of that name{hint} "
        f"It has: {', '.join(names)}"
    )


def _shown(annotation):
    return getattr(annotation, "__name__", None) or str(annotation)


def _accepts_list(annotation, kind):
    arguments = typing.get_args(annotation)
    return not arguments or accepts(arguments[0], kind[4][0])


def accepts(annotation, kind):
    """May a value of the type be given where the annotation stands?"""
    annotation, _ = datatypes.strip_optional(annotation)
    family = datatypes.family(kind)
    if annotation in (None, typing.Any, object) or family == "null":
        return True
    if datatypes.is_numpy_array(annotation):
        return family == "list" and datatypes.family(kind[4][0]) in ("int", "float")
    if typing.get_origin(annotation) in (list, typing.Sequence):
        return family == "list" and kind[0] != "+m" and _accepts_list(annotation, kind)
    name = getattr(typing.get_origin(annotation) or annotation, "__name__", None)
    if name == "float":
        return family in ("int", "float")
    if name in ("int", "str", "bytes", "bool", "list", "dict", "datetime", "date", "time"):
        return family == name
    if name in ("timedelta", "Decimal"):
        return family == name
    return True
