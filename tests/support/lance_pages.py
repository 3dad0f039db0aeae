# SPDX-License-Identifier: Apache-2.0
"""What the pages of a Lance file are made of, told without the library under test.

`features(path)` names each layout and encoding that a file contains, one line of text each:

    2.1 mini-block values zstd(fsst(variable))
    2.1 mini-block def out_of_line_bitpacking
    2.2 constant value buffer
    2.0 array nullable(flat)

so that a test can say which of them it has met. A walker over protobuf's wire format is all it
takes: names of the few messages and fields that matter stand in the tables below.
"""

import struct
from pathlib import Path
from typing import NamedTuple

FOOTER_BYTES = 40

VERSIONS = {(0, 3): "2.0", (2, 0): "2.0", (2, 1): "2.1", (2, 2): "2.2"}

SCHEMES = {1: "lz4", 2: "zstd"}

# The members of CompressiveEncoding, in the order of their numbers from 1.
ENCODINGS = (
    "flat variable constant out_of_line_bitpacking inline_bitpacking fsst dictionary rle "
    "byte_stream_split general fixed_size_list packed_struct variable_packed_struct"
).split()

# The members of ArrayEncoding (2.0), from 1.
ARRAYS = (
    "flat nullable fixed_size_list list struct binary dictionary fsst packed_struct bitpacked "
    "constant bitpacked_for_non_neg fixed_size_binary"
).split()


class Page(NamedTuple):
    column: int
    rows: int
    buffers: tuple  # (position, size) of each
    features: tuple


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def message(data):
    """{field number: [values]}; integers for varints, bytes for everything else."""
    fields, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            size, at = varint(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            value, at = data[at : at + size], at + size
        fields.setdefault(key >> 3, []).append(value)
    return fields


def first(fields, number, default=b""):
    return fields.get(number, [default])[0]


def integers(fields, number):
    """A repeated integer, packed or not."""
    values = []
    for value in fields.get(number, []):
        at = 0
        if isinstance(value, int):
            values.append(value)
            continue
        while at < len(value):
            one, at = varint(value, at)
            values.append(one)
    return values


def encoding(data):
    """A CompressiveEncoding as text."""
    ((number, (inner,)),) = message(data).items()
    name, fields = ENCODINGS[number - 1], message(inner)
    if name == "flat":
        return "flat1" if first(fields, 1) == 1 else "flat"
    if name == "fsst":
        return f"fsst({encoding(first(fields, 2))})"
    if name == "rle":
        return f"rle({encoding(first(fields, 1))})"
    if name == "byte_stream_split":
        return f"byte_stream_split({encoding(first(fields, 1))})"
    if name == "general":
        scheme = SCHEMES[first(message(first(fields, 1)), 1)]
        return f"{scheme}({encoding(first(fields, 3))})"
    if name == "fixed_size_list":
        mark = "?" if first(fields, 3, 0) else ""
        return f"fixed_size_list{mark}({encoding(first(fields, 2))})"
    if name == "variable_packed_struct":
        parts = (encoding(first(message(part), 1)) for part in fields[1])
        return f"variable_packed_struct({', '.join(parts)})"
    return name


def mini_block(fields):
    for role, number in (("rep", 1), ("def", 2), ("values", 3), ("dictionary", 4)):
        if number in fields:
            yield f"mini-block {role} {encoding(fields[number][0])}"


def full_zip(fields):
    kind = "fixed" if 3 in fields else "variable"
    yield f"full-zip {kind} {encoding(first(fields, 7))}"
    if first(fields, 1, 0):
        yield "full-zip rep"
    if first(fields, 2, 0):
        yield "full-zip def"


def constant(fields, buffer_count):
    levels = " with levels" if buffer_count >= 2 else ""
    if 6 in fields:
        yield f"constant inline value{levels}"
    elif buffer_count % 2 == 1:
        yield f"constant value buffer{levels}"
    else:
        yield f"constant nulls{levels}"
    for role, number in (("rep", 7), ("def", 8)):
        if number in fields:
            yield f"constant {role} {encoding(fields[number][0])}"


def layout(data, buffer_count):
    """The features of a PageLayout."""
    ((number, (inner,)),) = message(data).items()
    fields = message(inner)
    if number == 1:
        yield from mini_block(fields)
    elif number == 2:
        yield from constant(fields, buffer_count)
    elif number == 3:
        yield from full_zip(fields)
    else:
        yield "blob"
        yield from ("blob " + text for text in layout(first(fields, 1), buffer_count))


def array(data):
    """An ArrayEncoding (2.0) as text."""
    ((number, (inner,)),) = message(data).items()
    name = ARRAYS[number - 1] if number <= len(ARRAYS) else f"array{number}"
    fields = message(inner)
    if name == "flat":
        scheme = first(message(first(fields, 3)), 1).decode()
        return "flat1" if first(fields, 1) == 1 else f"{scheme}(flat)" if scheme else "flat"
    if name == "nullable":
        if 3 in fields:
            return "all_null"
        some = 2 in fields
        values = array(message(first(fields, 2 if some else 1))[2 if some else 1][0])
        return f"nullable({values})" if some else values
    if name == "fixed_size_list":
        return f"fixed_size_list({array(first(fields, 2))})"
    if name in ("list", "fsst"):
        return f"{name}({array(first(fields, 1))})"
    if name in ("binary", "dictionary"):
        return f"{name}({array(first(fields, 1))}, {array(first(fields, 2))})"
    return name


class Footer(NamedTuple):
    metadata: int
    column_table: int
    global_table: int
    global_count: int
    column_count: int
    major: int
    minor: int

    @classmethod
    def of(cls, data):
        assert data[-4:] == b"LANC"
        return cls(*struct.unpack("<QQQIIHH", data[-FOOTER_BYTES:-4]))

    @property
    def version(self):
        return VERSIONS[self.major, self.minor]


def column_extents(data):
    """(position, size) of the metadata of each column."""
    footer = Footer.of(data)
    table = data[footer.column_table :][: 16 * footer.column_count]
    return list(struct.iter_unpack("<QQ", table))


def read_page(data, column):
    fields = message(data)
    extents = tuple(zip(integers(fields, 1), integers(fields, 2), strict=True))
    direct = first(message(first(fields, 4)), 2)
    any_fields = message(first(message(direct), 1))
    url, value = first(any_fields, 1).decode(), first(any_fields, 2)
    if url.endswith("ArrayEncoding"):
        found = (f"array {array(value)}",)
    else:
        found = tuple(layout(value, len(extents)))
    return Page(column, first(fields, 3, 0), extents, found)


def pages(path):
    """All pages of a file of version 2.0, 2.1 or 2.2, column by column."""
    return pages_of(Path(path).read_bytes())


def pages_of(data):
    found = []
    for column, (position, size) in enumerate(column_extents(data)):
        fields = message(data[position : position + size])
        found += [read_page(page, column) for page in fields.get(2, [])]
    return found


def features(path):
    """The set of features of a file, each with the file's version before it."""
    version = Footer.of(Path(path).read_bytes()).version
    return {f"{version} {text}" for page in pages(path) for text in page.features}
