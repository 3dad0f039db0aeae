# SPDX-License-Identifier: Apache-2.0
"""Python values as literals of expressions."""

import datetime
import decimal
import math


def quote_name(name):
    """The name of a column in an expression, whatever characters it has."""
    return '"' + name.replace('"', '""') + '"'


def _text(value):
    return "'" + value.replace("'", "''") + "'"


def _real(value):
    if math.isfinite(value):
        return repr(value)
    return f"cast('{value}' as double)"


def _time(value):
    if value.tzinfo is not None:
        value = value.astimezone(datetime.UTC)
    return f"timestamp '{value.isoformat(sep=' ')}'"


def literal(value):
    """The text of an expression whose result is `value`."""
    if hasattr(value, "tolist"):  # numpy
        value = value.tolist()
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"X'{bytes(value).hex()}'"
    if isinstance(value, datetime.datetime):
        return _time(value)
    if isinstance(value, datetime.date):
        return f"date '{value.isoformat()}'"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(literal(item) for item in value) + "]"
    raise TypeError(f"a value of type {type(value).__name__} has no form in an expression")
