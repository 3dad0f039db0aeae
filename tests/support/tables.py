# SPDX-License-Identifier: Apache-2.0
"""Are two Arrow tables the same?

pyarrow's own comparison takes no NaN for another, looks at dictionaries instead of what they stand
for, and its kernels leave out some types. So arrays are compared here by their buffers, slot by
slot: which slots are null, then those that are not, down to the plain values, bit by bit.
"""

import numpy as np
import pyarrow as pa
from pyarrow import types

WIDE = (pa.large_string(), pa.large_binary())


def bits(buffer, slots):
    """The bits of a bitmap at these places."""
    data = np.frombuffer(buffer, np.uint8)
    return (data[slots >> 3] >> (slots & 7) & 1).astype(bool)


def is_valid(array, slots):
    """Which slots are not null; those of dictionaries are when their value is."""
    if types.is_null(array.type):
        return np.zeros(len(slots), bool)
    validity = array.buffers()[0]
    valid = np.ones(len(slots), bool) if validity is None else bits(validity, slots + array.offset)
    if types.is_dictionary(array.type):
        valid[valid] = is_valid(array.dictionary, indices(array, slots[valid]))
    return valid


def indices(array, slots):
    """The numbers of values in the dictionary of an array."""
    width = array.type.index_type.bit_width // 8
    numbers = np.frombuffer(array.buffers()[1], f"u{width}")
    return numbers[slots + array.offset].astype(np.int64)


def ranges(array, slots, wide):
    """Where strings and lists begin, and how long they are."""
    offsets = np.frombuffer(array.buffers()[1], np.int64 if wide else np.int32).astype(np.int64)
    starts = offsets[slots + array.offset]
    return starts, offsets[slots + array.offset + 1] - starts


def spread(starts, lengths):
    """All the numbers of all the ranges, one after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(lengths.sum())


def fixed_values(array, slots):
    if types.is_boolean(array.type):
        return bits(array.buffers()[1], slots + array.offset)
    width = array.type.bit_width // 8
    if width == 0:
        return np.zeros((len(slots), 0), np.uint8)
    data = np.frombuffer(array.buffers()[1] or b"", np.uint8)
    return data[: len(data) // width * width].reshape(-1, width)[slots + array.offset]


def rows_differ(actual, expected):
    """The first row at which two arrays of the same shape differ; -1: none."""
    equal = actual == expected
    equal = equal if equal.ndim == 1 else equal.all(axis=1)
    return -1 if equal.all() else int(np.argmin(equal))


def string_difference(actual, expected, at, to, place):
    wide = actual.type in WIDE
    (a_start, a_len), (e_start, e_len) = ranges(actual, at, wide), ranges(expected, to, wide)
    wrong = rows_differ(a_len, e_len)
    if wrong < 0 and e_len.sum() != 0:
        a_data = np.frombuffer(actual.buffers()[2], np.uint8)[spread(a_start, a_len)]
        e_data = np.frombuffer(expected.buffers()[2], np.uint8)[spread(e_start, e_len)]
        wrong = rows_differ(a_data, e_data)
        wrong = wrong if wrong < 0 else int(np.searchsorted(np.cumsum(e_len), wrong, "right"))
    if wrong < 0:
        return None
    return f"{place}[{to[wrong]}] is {actual[at[wrong]]!r}, expected {expected[to[wrong]]!r}"


def list_difference(actual, expected, at, to, place):
    if types.is_fixed_size_list(actual.type):
        size = actual.type.list_size
        at, to = (spread((s + a.offset) * size, np.full(len(s), size))
                  for a, s in ((actual, at), (expected, to)))  # fmt: skip
    else:
        wide = types.is_large_list(actual.type)
        (a_start, a_len), (e_start, e_len) = ranges(actual, at, wide), ranges(expected, to, wide)
        wrong = rows_differ(a_len, e_len)
        if wrong >= 0:
            return f"{place}[{to[wrong]}] has {a_len[wrong]} items, expected {e_len[wrong]}"
        at, to = spread(a_start, a_len), spread(e_start, e_len)
    if types.is_map(actual.type):
        keys = difference(actual.keys, expected.keys, at, to, f"{place}.keys")
        return keys or difference(actual.items, expected.items, at, to, f"{place}.items")
    return difference(actual.values, expected.values, at, to, f"{place}[]")


def difference(actual, expected, at, to, place):
    """Where slots `at` of one array differ from slots `to` of another; None: nowhere."""
    kind = actual.type
    if isinstance(actual, pa.ExtensionArray):
        return difference(actual.storage, expected.storage, at, to, place)
    valid = is_valid(expected, to)
    wrong = rows_differ(is_valid(actual, at), valid)
    if wrong >= 0:
        return f"{place}[{to[wrong]}] is {actual[at[wrong]]}, expected {expected[to[wrong]]}"
    at, to = at[valid], to[valid]
    if len(to) == 0:
        return None
    if types.is_dictionary(kind):
        at, to = indices(actual, at), indices(expected, to)
        return difference(actual.dictionary, expected.dictionary, at, to, f"{place}'s dictionary")
    if types.is_struct(kind):
        found = (
            difference(actual.field(i), expected.field(i), at, to, f"{place}.{kind.field(i).name}")
            for i in range(kind.num_fields)
        )
        return next(filter(None, found), None)
    if types.is_nested(kind):
        return list_difference(actual, expected, at, to, place)
    if kind in WIDE or kind in (pa.string(), pa.binary()):
        return string_difference(actual, expected, at, to, place)
    wrong = rows_differ(fixed_values(actual, at), fixed_values(expected, to))
    if wrong < 0:
        return None
    return f"{place}[{to[wrong]}] is {actual[at[wrong]]}, expected {expected[to[wrong]]}"


def check_same(actual, expected):
    """Fail unless two tables agree in names, types, nullability, metadata, values and nulls."""
    assert actual.schema.equals(expected.schema, check_metadata=True), (
        f"schema\n{actual.schema.to_string()}\nexpected\n{expected.schema.to_string()}"
    )
    assert actual.num_rows == expected.num_rows
    for name, column, other in zip(
        expected.column_names, actual.columns, expected.columns, strict=True
    ):
        column.validate(full=True)
        assert other.num_chunks <= 1, "the table that is expected is in one piece"
        done = 0
        for chunk in column.chunks:
            rows = np.arange(len(chunk))
            found = difference(chunk, other.chunk(0), rows, rows + done, name)
            assert found is None, found
            done += len(chunk)
