# SPDX-License-Identifier: Apache-2.0
"""Python values as Arrow arrays that hold the same values.

pyarrow makes integers of 1.5, seconds of microseconds, days of moments, and forgets fields that a
struct does not have. It refuses the rest by itself. So the types of Python's values are looked at
first, all at once; only values of types that may lose something are looked at one by one.
"""

import datetime
import numbers
from decimal import Decimal
from functools import partial
from itertools import chain

from leman.arrow import pyarrow

_STEPS = {"s": 1_000_000, "ms": 1_000, "us": 1, "ns": 1}  # microseconds


class InexactError(ValueError):
    """A value that the type has no place for."""


def exact_array(values, kind):
    """The values as an array of type `kind`, or of their own with None."""
    pa = pyarrow()
    if not hasattr(values, "__len__"):
        values = list(values)
    try:
        array = pa.array(values, kind)
    except pa.ArrowInvalid as error:
        if kind is not None and pa.types.is_null(kind):
            raise InexactError("it is of type null, which has no place for values") from error
        raise
    if _may_lose(array.type) and _are_objects(values):
        _check(values, array.type)
    if infinities(array):
        check_range(pa.array(values), array)
    return array


def check_range(given, made):
    """Raise if numbers have become infinite as `made` was made of `given`."""
    if infinities(given) == infinities(made):
        return
    import pyarrow.compute as pc

    finite = [pc.filter(leaf, pc.is_finite(leaf)) for leaf in _floats(given)]
    largest = max((pc.max(pc.abs(leaf)).as_py() or 0 for leaf in finite), default=0)
    raise InexactError(f"{largest!r} is too large for {made.type}")


def infinities(array):
    """How many numbers of an array, at any depth, are infinite."""
    import pyarrow.compute as pc

    return sum(pc.sum(pc.is_inf(leaf)).as_py() or 0 for leaf in _floats(array))


def _floats(array):
    """The floating point numbers of an array, at any depth."""
    pa = pyarrow()
    kind = array.type
    if isinstance(array, pa.ChunkedArray):
        parts = array.chunks
    elif isinstance(array, pa.ExtensionArray):
        parts = [array.storage]
    elif pa.types.is_floating(kind):
        yield array.cast(pa.float32()) if pa.types.is_float16(kind) else array
        return
    elif pa.types.is_dictionary(kind):
        parts = [array.dictionary]
    elif pa.types.is_map(kind):
        parts = [array.keys, array.items]
    elif pa.types.is_struct(kind):
        parts = array.flatten()
    else:
        parts = [array.flatten()] if kind.num_fields else []
    for part in parts:
        yield from _floats(part)


def _are_objects(values):
    """Numbers of numpy are cast by pyarrow, which looks at each."""
    return getattr(getattr(values, "dtype", None), "kind", "O") == "O"


def _may_lose(kind):
    """Does pyarrow make values of the type, or of one inside of it, that are not the ones given?"""
    types = pyarrow().types
    if types.is_struct(kind):
        return True
    if types.is_dictionary(kind):
        return _may_lose(kind.value_type)
    if kind.num_fields:
        return any(_may_lose(kind.field(i).type) for i in range(kind.num_fields))
    return _wrong_of(kind) is not None


def _check(values, kind):
    """Raise if an array of `kind` does not hold all of these Python values."""
    types = pyarrow().types
    if not _may_lose(kind):
        return
    if types.is_dictionary(kind):
        _check(values, kind.value_type)
    elif types.is_struct(kind):
        _check_structs(values, kind)
    elif types.is_map(kind):
        _check_maps(values, kind)
    elif kind.num_fields == 1:
        _check_lists(values, kind)
    else:
        _check_plain(values, kind)


def _check_plain(values, kind):
    if pyarrow().types.is_integer(kind) and _are_integers(values):
        return
    wrong, right, quick = _wrong_of(kind)
    for found in set(map(type, values)):
        if found in right or issubclass(found, numbers.Integral):
            continue
        of_type = [value for value in values if type(value) is found]
        if found in quick and all(map(quick[found], of_type)):
            continue
        bad = next((value for value in of_type if wrong(value)), None)
        if bad is not None:
            raise InexactError(f"{bad!r} does not fit {kind} without loss")


def _are_integers(values):
    """A sum is an integer of Python only if all of its parts are: much quicker than to ask each."""
    try:
        return type(sum(values)) is int
    except TypeError:  # there are nulls, or others that have no sum
        return False


def _check_lists(values, kind):
    """Arrays of numpy's integers are exact; other ones are taken apart."""
    if (
        pyarrow().types.is_integer(kind.value_type)
        and type(next(iter(values), None)) is list
        and _are_integers(chain.from_iterable(values))
    ):
        return
    items = (
        value.tolist() if hasattr(value, "tolist") else value
        for value in values
        if value is not None and getattr(getattr(value, "dtype", None), "kind", "O") not in "biu"
    )
    _check(list(chain.from_iterable(items)), kind.value_type)


def _check_structs(values, kind):
    there = [value for value in values if isinstance(value, dict)]
    names = {kind.field(i).name for i in range(kind.num_fields)}
    for name in set(chain.from_iterable(there)):
        if name not in names and name not in {text.encode() for text in names}:
            raise InexactError(f"{kind} has no field {name!r}")
    for i in range(kind.num_fields):
        field = kind.field(i)
        if _may_lose(field.type):
            _check([value.get(field.name) for value in there], field.type)


def _check_maps(values, kind):
    there = [value for value in values if value is not None]
    pairs = [value.items() if isinstance(value, dict) else value for value in there]
    for at, side in enumerate((kind.key_type, kind.item_type)):
        _check([pair[at] for pair in chain.from_iterable(pairs)], side)


def _wrong_of(kind):
    """How values that would lose something are found; None: pyarrow looks by itself.

    (is a value one of them?, types that never are, per type a quick way to know that one is not)
    """
    types = pyarrow().types
    whole = {float: float.is_integer}
    if types.is_integer(kind):
        return _has_fraction, {type(None)}, whole
    if types.is_date(kind):
        return _is_no_day, {type(None), datetime.date}, whole
    if types.is_timestamp(kind) or types.is_time(kind) or types.is_duration(kind):
        step = _STEPS[kind.unit]
        right = {datetime.datetime, datetime.time, datetime.timedelta} if step == 1 else set()
        wrong = partial(_is_finer, step=step, nanoseconds=kind.unit == "ns")
        seconds = dict.fromkeys((datetime.datetime, datetime.time), _is_second)
        return wrong, right | {type(None)}, whole | seconds
    return None


def _is_second(value):
    return not value.microsecond


def _has_fraction(value):
    if not isinstance(value, (numbers.Real, Decimal)):
        return False
    return value != value or int(value) != value


def _is_no_day(value):
    if isinstance(value, datetime.datetime):
        return value.time() != datetime.time() or _nanoseconds(value) != 0
    return _has_fraction(value)


def _is_finer(value, step, nanoseconds):
    if isinstance(value, (datetime.datetime, datetime.time)):
        count = value.microsecond
    elif isinstance(value, datetime.timedelta):
        count = value.microseconds
    else:
        return _has_fraction(value)
    return count % step != 0 or (not nanoseconds and _nanoseconds(value) != 0)


def _nanoseconds(value):
    """What pandas has beyond microseconds."""
    return getattr(value, "nanosecond", 0) or getattr(value, "nanoseconds", 0)
