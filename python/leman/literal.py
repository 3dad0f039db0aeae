# SPDX-License-Identifier: Apache-2.0
"""Python values as literals of expressions."""

import datetime
import decimal
import math
import sys


def quote_name(name):
    """The name of a column in an expression, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def _text(value):
    return "'" + value.replace("'", "''") + "'"


def _real(value):
    if math.isfinite(value):
        return repr(value)
    return f"cast('{value}' as double)"


def _whole(value):
    if abs(value) > sys.float_info.max:
        raise ValueError(f"a number of {len(str(abs(value)))} digits fits no column")
    return repr(int(value))


def _decimal(value):
    if not value.is_finite():
        raise ValueError(f"{value} is no value of a decimal")
    _, digits, exponent = value.as_tuple()
    if len(digits) <= sys.float_info.dig:
        return str(value)
    # A number with a fraction is a double, which has fewer digits.
    scale = max(-exponent, 0)
    precision = max(len(digits) + max(exponent, 0), scale)
    if precision > 76:
        raise ValueError(f"{value} has {precision} digits, and decimals have at most 76")
    return f"cast('{value:f}' as decimal({precision}, {scale}))"


def _moment(value):
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    return f"timestamp '{value.isoformat(sep=' ')}'"


def _duration(value, unit="Microsecond"):
    count = value // datetime.timedelta(microseconds=1) if unit == "Microsecond" else value
    return f"arrow_cast({count}, 'Duration({unit})')"


def _numpy_time(value):
    """Moments and durations of numpy, whose nanoseconds Python has no type for."""
    is_moment = value.dtype.kind == "M"
    if str(value) == "NaT":
        return "null"
    if value.dtype.name.endswith("[ns]"):
        return f"timestamp '{value}'" if is_moment else _duration(value.astype(int), "Nanosecond")
    plain = value.tolist()
    if isinstance(plain, int):  # beyond what Python has a type for
        raise ValueError(f"{value!r} has no form in an expression")
    return literal(plain)


def _struct(value):
    parts = [text for name, item in value.items() for text in (_text(str(name)), literal(item))]
    return f"named_struct({', '.join(parts)})"


def literal(value):
    """The text of an expression whose result is `value`."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"X'{bytes(value).hex()}'"
    if hasattr(value, "as_py"):  # a scalar of pyarrow
        value = value.as_py()
    kind = getattr(getattr(value, "dtype", None), "kind", None)
    if kind is not None and kind in "mM":
        return _numpy_time(value) if value.ndim == 0 else literal(list(value))
    if hasattr(value, "tolist"):  # numpy
        value = value.tolist()
    if value is None or type(value).__name__ in ("NaTType", "NAType"):  # pandas
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, int):
        return _whole(value)
    if isinstance(value, decimal.Decimal):
        return _decimal(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, datetime.datetime):
        return _moment(value)
    if isinstance(value, datetime.date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, datetime.time) and value.tzinfo is None:
        return f"time '{value.isoformat()}'"
    if isinstance(value, datetime.timedelta):
        return _duration(value)
    if isinstance(value, dict) and value:
        return _struct(value)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    raise TypeError(f"a value of type {type(value).__name__} has no form in an expression")
