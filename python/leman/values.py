# SPDX-License-Identifier: Apache-2.0
"""Values whose Python type is not one of the language's own: times, decimals, half floats.

The extension asks for a function per column and calls it per value.
"""

import datetime
import struct

from leman.datatypes import type_name  # noqa: F401  (the extension names types by it)

_PER_SECOND = {"s": 1, "m": 1_000, "u": 1_000_000, "n": 1_000_000_000}
_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_UTC = _EPOCH.replace(tzinfo=datetime.UTC)
_DAY_0 = datetime.date(1970, 1, 1).toordinal()
_MICROSECOND = datetime.timedelta(microseconds=1)
_MIDNIGHT = datetime.datetime(1970, 1, 1)


def _delta(number, unit):
    return datetime.timedelta(microseconds=number * 1_000_000 // _PER_SECOND[unit])


def _count(delta, unit):
    """A timedelta in units of a column."""
    count, rest = divmod((delta // _MICROSECOND) * _PER_SECOND[unit], 1_000_000)
    if rest:
        raise ValueError("it has fractions that the column's unit cannot hold")
    return count


def _zone(name):
    if name in ("UTC", "utc", "Etc/UTC", "+00:00"):
        return datetime.UTC
    if name[:1] in "+-" and len(name) == 6:
        minutes = int(name[1:3]) * 60 + int(name[4:6])
        return datetime.timezone(datetime.timedelta(minutes=minutes * (1 - 2 * (name[0] == "-"))))
    import zoneinfo

    return zoneinfo.ZoneInfo(name)


def _timestamp_reader(unit, zone):
    if not zone:
        return lambda number: _EPOCH + _delta(number, unit)
    place = _zone(zone)
    return lambda number: (_EPOCH_UTC + _delta(number, unit)).astimezone(place)


def _decimal_scale(letters):
    return int(letters[2:].split(",")[1])


def _decimal_reader(letters):
    import decimal

    scale = _decimal_scale(letters)

    def read(stored):
        number = int.from_bytes(stored, "little", signed=True)
        return decimal.Decimal(number).scaleb(-scale, decimal.Context(prec=80))

    return read


def reader(letters):
    """A function from what is stored to the value of Python."""
    if letters == "e":
        return lambda stored: struct.unpack("<e", stored)[0]
    if letters.startswith("d:"):
        return _decimal_reader(letters)
    if letters == "tdD":
        return lambda number: datetime.date.fromordinal(number + _DAY_0)
    if letters == "tdm":
        return lambda number: _EPOCH + _delta(number, "m")
    if letters.startswith("tt"):
        return lambda number: (_MIDNIGHT + _delta(number, letters[2])).time()
    if letters.startswith("tD"):
        return lambda number: _delta(number, letters[2])
    return _timestamp_reader(letters[2], letters[4:])


def _need(value, kind):
    if not isinstance(value, kind):
        raise TypeError(f"a {kind.__name__} is wanted")
    return value


def _number_of(value):
    """numpy's datetime64 and timedelta64 as Python's."""
    return value.item() if hasattr(value, "item") and hasattr(value, "dtype") else value


def _timestamp_writer(unit, zone):
    def write(value):
        value = _need(_number_of(value), datetime.datetime)
        if not zone:
            if value.tzinfo is not None:
                raise ValueError("it has a time zone, and the column has none")
            return _count(value - _EPOCH, unit)
        if value.tzinfo is None:
            raise ValueError("it has no time zone, and the column has one")
        return _count(value - _EPOCH_UTC, unit)

    return write


def _date_writer(value):
    value = _need(_number_of(value), datetime.date)
    if isinstance(value, datetime.datetime):
        raise TypeError("a date is wanted")
    return value.toordinal() - _DAY_0


def _decimal_writer(letters):
    import decimal

    scale = _decimal_scale(letters)
    digits = int(letters[2:].split(",")[0])
    width = int(letters.split(",")[2]) // 8 if letters.count(",") == 2 else 16

    def write(value):
        if isinstance(value, (bool, float)) or not isinstance(value, (int, decimal.Decimal)):
            raise TypeError("a Decimal is wanted")
        scaled = decimal.Decimal(value).scaleb(scale, decimal.Context(prec=80))
        if scaled != scaled.to_integral_value() or abs(scaled) >= 10**digits:
            raise ValueError(f"it does not fit {digits} digits, {scale} of them after the point")
        return int(scaled).to_bytes(width, "little", signed=True)

    return write


def _time_of_day(value, unit):
    at = datetime.datetime.combine(_MIDNIGHT.date(), _need(value, datetime.time))
    return _count(at - _MIDNIGHT, unit)


def writer(letters):
    """A function from a value of Python to what is stored."""
    if letters == "e":
        return lambda value: struct.pack("<e", float(value))
    if letters.startswith("d:"):
        return _decimal_writer(letters)
    if letters == "tdD":
        return _date_writer
    if letters == "tdm":
        return _timestamp_writer("m", "")
    if letters.startswith("tt"):
        return lambda value: _time_of_day(value, letters[2])
    if letters.startswith("tD"):
        kind = datetime.timedelta
        return lambda value: _count(_need(_number_of(value), kind), letters[2])
    return _timestamp_writer(letters[2], letters[4:])
