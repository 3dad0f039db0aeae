# SPDX-License-Identifier: Apache-2.0
"""Arrow types as plain tuples, so that functions are registered and run without pyarrow.

A type is ``(format, name, nullable, metadata, children, dictionary)`` with the format letters of
the Arrow C data interface; ``_core.schema_make()`` and ``schema_describe()`` turn it into a capsule
and back.
"""

import types
import typing

from leman import _core

_NAMES = {
    "n": "null",
    "b": "bool",
    "c": "int8",
    "C": "uint8",
    "s": "int16",
    "S": "uint16",
    "i": "int32",
    "I": "uint32",
    "l": "int64",
    "L": "uint64",
    "e": "halffloat",
    "f": "float",
    "g": "double",
    "u": "string",
    "U": "large_string",
    "z": "binary",
    "Z": "large_binary",
    "tdD": "date32",
    "tdm": "date64",
    "tts": "time32[s]",
    "ttm": "time32[ms]",
    "ttu": "time64[us]",
    "ttn": "time64[ns]",
    "tDs": "duration[s]",
    "tDm": "duration[ms]",
    "tDu": "duration[us]",
    "tDn": "duration[ns]",
}
_FORMATS = {name: letters for letters, name in _NAMES.items()} | {
    "str": "u",
    "utf8": "u",
    "large_utf8": "U",
    "bytes": "z",
    "int": "l",
    "float16": "e",
    "float32": "f",
    "float64": "g",
}
_UNITS = {"s": "s", "m": "ms", "u": "us", "n": "ns"}

# What a format is, to compare annotations with.
_FAMILIES = [
    (set("cCsSiIlL"), "int"),
    (set("efg"), "float"),
    ({"u", "U", "vu"}, "str"),
    ({"z", "Z", "vz"}, "bytes"),
    ({"b"}, "bool"),
    ({"n"}, "null"),
]


def simple(letters, name=""):
    """A type without children."""
    return (letters, name, True, {}, (), None)


def list_of(item, name=""):
    return ("+l", name, True, {}, (named(item, "item"),), None)


def struct_of(fields, name=""):
    """fields: pairs of name and type."""
    children = tuple(named(kind, field) for field, kind in fields)
    return ("+s", name, True, {}, children, None)


def named(kind, name, metadata=None):
    """The type as a column: of that name, may be null, with metadata of texts."""
    packed = dict(kind[3])
    for key, value in (metadata or {}).items():
        packed[key.encode()] = value.encode()
    return (kind[0], name, True, packed, *kind[4:])


def capsule(kind):
    return _core.schema_make(kind)


class Schema:
    """Columns, for anything that takes ``__arrow_c_schema__``."""

    def __init__(self, fields):
        self._spec = ("+s", "", False, {}, tuple(fields), None)

    def __arrow_c_schema__(self):
        return capsule(self._spec)


def type_name(kind):
    """What people call the type."""
    letters = kind[0]
    if kind[5] is not None:
        return f"dictionary of {type_name(kind[5])}"
    if letters in _NAMES:
        return _NAMES[letters]
    if letters.startswith("ts"):
        unit, _, zone = letters[2:].partition(":")
        return f"timestamp[{_UNITS[unit]}{', tz=' + zone if zone else ''}]"
    if letters in ("+l", "+L"):
        return f"list<{type_name(kind[4][0])}>"
    if letters.startswith("+w:"):
        return f"fixed_size_list<{type_name(kind[4][0])}>[{letters[3:]}]"
    if letters == "+s":
        fields = ", ".join(f"{child[1]}: {type_name(child)}" for child in kind[4])
        return f"struct<{fields}>"
    if letters.startswith("w:"):
        return f"fixed_size_binary[{letters[2:]}]"
    if letters.startswith("d:"):
        return f"decimal({letters[2:]})"
    return {"+m": "map", "vu": "string_view", "vz": "binary_view"}.get(letters, letters)


def family(kind):
    """The Python type that a value of the type is, roughly."""
    letters = kind[0] if kind[5] is None else kind[5][0]
    for members, name in _FAMILIES:
        if letters in members:
            return name
    if letters[:2] in ("+l", "+L", "+w"):
        return "list"
    if letters[:2] == "w:":
        return "bytes"
    if letters[:2] == "d:":
        return "Decimal"
    if letters[:2] == "ts" or letters == "tdm":
        return "datetime"
    return {"tdD": "date", "+s": "dict", "+m": "list"}.get(
        letters, {"tt": "time", "tD": "timedelta"}.get(letters[:2], letters)
    )


def same(one, other):
    """Are the types equal, names of list items and metadata apart?"""
    if one[0] != other[0] or len(one[4]) != len(other[4]):
        return False
    if (one[5] is None) != (other[5] is None):
        return False
    if one[0] == "+s" and [c[1] for c in one[4]] != [c[1] for c in other[4]]:
        return False
    return all(same(a, b) for a, b in zip(one[4], other[4], strict=True))


def from_data_type(data_type):
    """A type given as ``data_type=``: one of pyarrow's, a name, or an annotation."""
    if isinstance(data_type, str):
        if data_type not in _FORMATS:
            known = ", ".join(sorted(_FORMATS))
            raise TypeError(f"there is no type {data_type!r}; simple ones are: {known}")
        return simple(_FORMATS[data_type])
    if hasattr(data_type, "__arrow_c_schema__"):
        kind = _core.schema_describe(data_type.__arrow_c_schema__())
        if kind[5] is not None:
            return kind[5]
        return kind
    kind, _ = from_annotation(data_type)
    if kind is None:
        raise TypeError(f"data_type is a type of Arrow, e.g. pa.int64(), not {data_type!r}")
    return kind


def strip_optional(annotation):
    """(the annotation without None, whether None was allowed)"""
    origin = typing.get_origin(annotation)
    if origin in (typing.Union, types.UnionType):
        rest = [item for item in typing.get_args(annotation) if item is not type(None)]
        if len(rest) == 1:
            return rest[0], True
    return annotation, False


def is_numpy_array(annotation):
    """``np.ndarray``, or ``np.typing.NDArray[...]``."""
    origin = typing.get_origin(annotation) or annotation
    return getattr(origin, "__module__", None) == "numpy" and origin.__name__ == "ndarray"


def _numpy_format(annotation):
    """The type that a numpy scalar, or the items of an array, stand for."""
    name = getattr(annotation, "__name__", "")
    if getattr(annotation, "__module__", None) != "numpy":
        return None
    name = {"bool_": "bool"}.get(name, name)
    return _FORMATS.get(name)


def _of_struct(annotation):
    """Named tuples, dataclasses and typed dicts, by their annotations."""
    is_typed = hasattr(annotation, "__total__") or hasattr(annotation, "__dataclass_fields__")
    if not isinstance(annotation, type) or not (is_typed or hasattr(annotation, "_fields")):
        return None
    fields = []
    for field, inner in typing.get_type_hints(annotation).items():
        kind, _ = from_annotation(inner)
        if kind is None:
            raise TypeError(f"{annotation.__name__}.{field} is {inner!r}, which is not a type here")
        fields.append((field, kind))
    return struct_of(fields)


def _of_list(annotation):
    arguments = typing.get_args(annotation)
    if is_numpy_array(annotation):
        item = typing.get_args(arguments[1])[0] if len(arguments) > 1 else None
        letters = _numpy_format(item)
        return list_of(simple(letters)) if letters else None
    if typing.get_origin(annotation) is not list or len(arguments) != 1:
        return None
    kind, _ = from_annotation(arguments[0])
    return list_of(kind) if kind is not None else None


def _of_module_type(annotation):
    """Types whose modules need not be imported to know them."""
    key = (getattr(annotation, "__module__", None), getattr(annotation, "__name__", None))
    letters = {
        ("datetime", "datetime"): "tsu:",
        ("datetime", "date"): "tdD",
        ("datetime", "time"): "ttu",
        ("datetime", "timedelta"): "tDu",
        ("decimal", "Decimal"): "d:38,9",
    }.get(key)
    return simple(letters) if letters else None


def from_annotation(annotation):
    """(the type that an annotation stands for, or None; whether it allows None)"""
    annotation, optional = strip_optional(annotation)
    letters = {int: "l", float: "g", str: "u", bytes: "z", bool: "b"}.get(
        annotation if isinstance(annotation, type) else None
    ) or _numpy_format(annotation)
    if letters:
        return simple(letters), optional
    kind = _of_module_type(annotation) or _of_list(annotation) or _of_struct(annotation)
    return kind, optional
