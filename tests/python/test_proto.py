# SPDX-License-Identifier: Apache-2.0
"""The protobuf messages of files, judged by the protobuf package."""

import struct

import lance_pages
import leman
import pyarrow as pa
import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from hypothesis import given
from hypothesis import strategies as st
from tables import check_same

TYPES = descriptor_pb2.FieldDescriptorProto
NUMBERS = {
    "uint32": TYPES.TYPE_UINT32,
    "uint64": TYPES.TYPE_UINT64,
    "int32": TYPES.TYPE_INT32,
    "bool": TYPES.TYPE_BOOL,
    "bytes": TYPES.TYPE_BYTES,
    "string": TYPES.TYPE_STRING,
}
# Message: {number: (name, type)}; a type that ends in "*" is repeated.
MESSAGES = {
    "Entry": {1: ("key", "string"), 2: ("value", "bytes")},
    "Field": {
        1: ("type", "uint32"),
        2: ("name", "string"),
        3: ("id", "int32"),
        4: ("parent_id", "int32"),
        5: ("logical_type", "string"),
        6: ("nullable", "bool"),
        7: ("encoding", "uint32"),
        10: ("metadata", "Entry*"),
    },
    "Schema": {1: ("fields", "Field*"), 5: ("metadata", "Entry*")},
    "FileDescriptor": {1: ("schema", "Schema"), 2: ("length", "uint64")},
    "Any": {1: ("type_url", "string"), 2: ("value", "bytes")},
    "Direct": {1: ("encoding", "bytes")},
    "Encoding": {2: ("direct", "Direct")},
    "Page": {
        1: ("buffer_offsets", "uint64*"),
        2: ("buffer_sizes", "uint64*"),
        3: ("length", "uint64"),
        4: ("encoding", "Encoding"),
        5: ("priority", "uint64"),
    },
    "ColumnMetadata": {
        1: ("encoding", "Encoding"),
        2: ("pages", "Page*"),
        3: ("buffer_offsets", "uint64*"),
        4: ("buffer_sizes", "uint64*"),
    },
    "Stranger": {
        900: ("number", "uint64"),
        901: ("text", "string"),
        902: ("inner", "Entry*"),
        903: ("packed", "uint64*"),
    },
}


def add_field(message, number, name, kind):
    repeated, kind = kind.endswith("*"), kind.rstrip("*")
    label = TYPES.LABEL_REPEATED if repeated else TYPES.LABEL_OPTIONAL
    field = message.field.add(name=name, number=number, label=label)
    if kind in NUMBERS:
        field.type = NUMBERS[kind]
    else:
        field.type, field.type_name = TYPES.TYPE_MESSAGE, f".lance_test.{kind}"


def make_classes():
    file = descriptor_pb2.FileDescriptorProto(
        name="lance_test.proto", package="lance_test", syntax="proto3"
    )
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for number, (field, kind) in fields.items():
            add_field(message, number, field, kind)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return {
        name: message_factory.GetMessageClass(pool.FindMessageTypeByName(f"lance_test.{name}"))
        for name in MESSAGES
    }


CLASSES = make_classes()


def parse(name, data):
    message = CLASSES[name]()
    message.ParseFromString(data)
    return message


def global_extent(data):
    footer = lance_pages.Footer.of(data)
    return struct.unpack_from("<QQ", data, footer.global_table)


def descriptor(data):
    position, size = global_extent(data)
    return parse("FileDescriptor", data[position : position + size])


def columns(data):
    extents = lance_pages.column_extents(data)
    return [parse("ColumnMetadata", data[at : at + size]) for at, size in extents]


TABLE = pa.table(
    {
        "n": pa.array(range(2000), pa.int32()),
        "s": pa.array(["Zürich", None] * 1000),
        "l": pa.array([[{"x": 1, "y": "a"}], None] * 1000),
    }
).replace_schema_metadata({"made": "here", "empty": ""})


@pytest.fixture
def data(tmp_path):
    leman.write_file(tmp_path / "a.lance", TABLE, page_bytes=2048)
    return (tmp_path / "a.lance").read_bytes()


def test_schema__is_what_protobuf_reads(data):
    found = descriptor(data)
    fields = [
        (field.name, field.id, field.parent_id, field.logical_type, field.nullable)
        for field in found.schema.fields
    ]
    assert fields == [
        ("n", 0, -1, "int32", True),
        ("s", 1, -1, "string", True),
        ("l", 2, -1, "list.struct", True),
        ("item", 3, 2, "struct", True),
        ("x", 4, 3, "int64", True),
        ("y", 5, 3, "string", True),
    ]
    metadata = {entry.key: entry.value for entry in found.schema.metadata}
    assert metadata == {"made": b"here", "empty": b""}
    assert found.length == 2000


def test_columns__are_what_protobuf_reads(data):
    found = columns(data)
    pages = lance_pages.pages_of(data)
    assert len(found) == 4
    for number, column in enumerate(found):
        assert sum(page.length for page in column.pages) == 2000
        starts = [page.priority for page in column.pages]
        assert starts == sorted(starts) and starts[0] == 0
        own = [page for page in pages if page.column == number]
        assert len(own) == len(column.pages) > 1
        for page, expected in zip(column.pages, own, strict=True):
            extents = tuple(zip(page.buffer_offsets, page.buffer_sizes, strict=True))
            assert extents == expected.buffers
            place = parse("Any", page.encoding.direct.encoding)
            assert place.type_url == "/lance.encodings21.PageLayout"


def test_messages__are_written_as_protobuf_writes_them(data):
    position, size = global_extent(data)
    assert descriptor(data).SerializeToString() == data[position : position + size]
    for column, (at, length) in zip(columns(data), lance_pages.column_extents(data), strict=True):
        assert column.SerializeToString() == data[at : at + length]


def with_tail(data, schema, metadata):
    """The file with other messages in its tail."""
    footer = lance_pages.Footer.of(data)
    out = bytearray(data[: global_extent(data)[0]])
    start = len(out)
    out += schema
    extents = []
    for message in metadata:
        extents.append((len(out), len(message)))
        out += message
    table = len(out)
    for extent in extents:
        out += struct.pack("<QQ", *extent)
    globals_at = len(out)
    out += struct.pack("<QQ", start, len(schema))
    first = extents[0][0]
    out += struct.pack("<QQQIIHH", first, table, globals_at, 1, len(extents), *footer[-2:])
    return bytes(out + b"LANC")


def stranger(number, text):
    entry = CLASSES["Entry"](key=text, value=text.encode())
    message = CLASSES["Stranger"](
        number=number, text=text, inner=[entry, entry], packed=[number, 1, 0]
    )
    return message.SerializeToString()


def read(tmp_path, data):
    (tmp_path / "b.lance").write_bytes(data)
    return leman.LanceFile(tmp_path / "b.lance").to_arrow()


def test_file__with_messages_of_protobuf_is_read(tmp_path, data):
    schema = descriptor(data).SerializeToString()
    metadata = [column.SerializeToString() for column in columns(data)]
    check_same(read(tmp_path, with_tail(data, schema, metadata)), TABLE)


@given(number=st.integers(0, 2**64 - 1), text=st.text(max_size=300))
def test_file__fields_from_the_future_are_passed_over(tmp_path_factory, number, text):
    folder = tmp_path_factory.mktemp("future")
    rows = TABLE.slice(0, 20)
    leman.write_file(folder / "a.lance", rows, sync=False)
    data = (folder / "a.lance").read_bytes()
    extra = stranger(number, text)
    file = descriptor(data)
    for message in (*file.schema.fields, file.schema, file):
        message.MergeFromString(extra)
    found = columns(data)
    for column in found:
        for message in (*column.pages, column.encoding, column):
            message.MergeFromString(extra)
    metadata = [column.SerializeToString() for column in found]
    assert all(extra in message for message in metadata)
    check_same(read(folder, with_tail(data, file.SerializeToString(), metadata)), rows)


@given(
    fields=st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=20, unique=True),
    metadata=st.dictionaries(st.text(max_size=20), st.text(max_size=200), max_size=5),
)
def test_names__and_metadata_of_any_text_survive(tmp_path_factory, fields, metadata):
    fields = [name.replace("\0", "0") for name in fields]
    folder = tmp_path_factory.mktemp("names")
    names = [f"{i}{name}" for i, name in enumerate(fields)]
    kinds = [pa.field(name, pa.int8(), metadata=metadata or None) for name in names]
    schema = pa.schema(kinds, metadata or None)
    leman.write_file(folder / "a.lance", schema.empty_table(), sync=False)
    data = (folder / "a.lance").read_bytes()
    found = descriptor(data).schema
    assert [field.name for field in found.fields] == names
    for message in (found, *found.fields):
        assert {entry.key: entry.value.decode() for entry in message.metadata} == metadata
    check_same(leman.LanceFile(folder / "a.lance").to_arrow(), schema.empty_table())
