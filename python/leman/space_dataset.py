# SPDX-License-Identifier: Apache-2.0
"""Datasets of Space: their files are read, the package space-datasets is not needed.

A dataset is a folder. Its ``metadata/entrypoint.txtpb`` names the metadata file, both in the text
format of protobuf; that names the index manifests of each snapshot, Parquet files that list the
index files, Parquet too. A record field holds addresses there: a file of ArrayRecord, and a row.
"""

import os
import re

from leman import _core
from leman.arrow import pyarrow
from leman.records import ArrayRecordFile
from leman.sources import FileSource, failed, with_schema

_TOKEN = re.compile(
    r"""\s*(?:\#[^\n]*\s*)*(?:
        (?P<name>[A-Za-z_][\w.]*)|
        (?P<number>-?(?:0x[0-9a-fA-F]+|\d+\.?\d*(?:[eE][-+]?\d+)?))|
        (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|
        (?P<sign>[{}:<>\[\],;])
    )""",
    re.X | re.S,
)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|(.))", re.S)
_LETTERS = {
    b"n": b"\n",
    b"t": b"\t",
    b"r": b"\r",
    b"a": b"\a",
    b"b": b"\b",
    b"f": b"\f",
    b"v": b"\v",
}
ROWS = 1024


def _unescape(text):
    def letter(match):
        octal, hexadecimal, other = match.groups()
        if octal:
            return bytes([int(octal, 8) & 255])
        if hexadecimal:
            return bytes([int(hexadecimal, 16)])
        return _LETTERS.get(other, other)

    return _ESCAPE.sub(letter, text[1:-1].encode()).decode("utf-8", "surrogateescape")


def parse_text_proto(text, path="text"):
    """A message in text format as a dict of lists; messages inside of it are dicts again."""
    position = 0

    def token():
        nonlocal position
        match = _TOKEN.match(text, position)
        if match is None:
            if text[position:].strip():
                raise _core.CorruptError(f"{path}: no text format at character {position}")
            return None, None
        position = match.end()
        kind = match.lastgroup
        return kind, match[kind]

    def value(kind, text_):
        if kind == "string":
            return _unescape(text_)
        if kind == "number":
            whole = "x" in text_ or not re.search(r"[.eE]", text_)
            return int(text_, 0) if whole else float(text_)
        return text_

    def message(end, depth):
        fields = {}
        if depth > 64:
            raise _core.CorruptError(f"{path}: messages nest deeper than 64")
        while True:
            kind, name = token()
            if (kind, name) == ("sign", end) or (kind is None and end is None):
                return fields
            if kind == "sign" and name in ",;":
                continue
            if kind != "name":
                raise _core.CorruptError(f"{path}: no field's name at character {position}")
            kind, text_ = token()
            if (kind, text_) == ("sign", ":"):
                kind, text_ = token()
            if kind == "sign" and text_ in "{<":
                item = message("}" if text_ == "{" else ">", depth + 1)
            elif kind in ("string", "number", "name"):
                item = value(kind, text_)
            else:
                raise _core.CorruptError(f"{path}: no value at character {position}")
            fields.setdefault(name, []).append(item)

    return message(None, 0)


def _one(message, name, default=None):
    return message.get(name, [default])[-1]


def _read_proto(path):
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            return parse_text_proto(file.read(), path)
    except FileNotFoundError:
        raise _core.NotFoundError(f"{path}: there is no such file") from None
    except OSError as error:
        raise _core.StoreError(f"{path}: {error.strerror}") from error


class _Space(FileSource):
    def __init__(self, location, version, on_error):
        self._location = os.path.abspath(os.fspath(location))
        entrypoint = self._join("metadata/entrypoint.txtpb")
        entry = _read_proto(entrypoint)
        if "metadata_file" not in entry:
            raise _core.CorruptError(f"{entrypoint}: it names no metadata file")
        metadata = _read_proto(self._join(_one(entry, "metadata_file")))
        schema = _one(metadata, "schema", {})
        self._records = schema.get("record_fields", [])
        self.primary_key = schema.get("primary_keys", [])
        refs = {
            _one(entry, "key", ""): _one(entry, "value", {}) for entry in metadata.get("refs", [])
        }
        self.tags = {
            name: _one(ref, "snapshot_id", 0)
            for name, ref in refs.items()
            if _one(ref, "type") == "TAG"
        }
        self.snapshot_id = self._find(metadata, refs, version)
        files = [self._join(path) for path in self._index_files(metadata)]
        super().__init__(f"space {self._location}", files, on_error)

    def _join(self, path):
        return os.path.join(self._location, path)

    def _find(self, metadata, refs, version):
        if version is None or version == "main":
            return _one(metadata, "current_snapshot_id", 0)
        if isinstance(version, int):
            return version
        if version not in refs:
            raise _core.NotFoundError(
                f"{self._location}: no tag or branch {version!r}; there are {sorted(refs)}"
            )
        return _one(refs[version], "snapshot_id", 0)

    def _manifests(self, metadata):
        for entry in metadata.get("snapshots", []):
            if _one(entry, "key", 0) == self.snapshot_id:
                snapshot = _one(entry, "value", {})
                return _one(snapshot, "manifest_files", {}).get("index_manifest_files", [])
        raise _core.NotFoundError(f"{self._location}: there is no snapshot {self.snapshot_id}")

    def _index_files(self, metadata):
        import pyarrow.parquet as pq

        found = []
        for manifest in self._manifests(metadata):
            path = self._join(manifest)
            try:
                table = pq.read_table(path, columns=["_FILE"])
            except (OSError, pyarrow().ArrowException) as error:
                raise failed(path, error) from error
            found += table.column("_FILE").to_pylist()
        return found

    def tag(self, table):
        """Give the table's version the tags of this snapshot that the table does not have.

        A name that a tag cannot have here is raised when the others are there.
        """
        there = table.tags.list()
        failure = None
        for name, snapshot_id in self.tags.items():
            if snapshot_id != self.snapshot_id or name in there:
                continue
            try:
                table.tags.create(name)
            except _core.InvalidError as error:
                failure = failure or error
        if failure is not None:
            raise failure

    @property
    def parts(self):
        if not self._files:
            raise _core.InvalidError(f"{self._location}: snapshot {self.snapshot_id} has no rows")
        return super().parts

    def _schema_of(self, number):
        import pyarrow.parquet as pq

        pa = pyarrow()
        fields = []
        for field in pq.read_schema(self._files[number]):
            if field.name in self._records:
                blob = {"lance-encoding:blob": "true"}
                fields.append(pa.field(field.name, pa.large_binary(), metadata=blob))
            else:
                fields.append(field.remove_metadata())
        return pa.schema(fields)

    def open(self, number):
        schema = self.schema
        return self.reader(schema, self._readable(number, self._batches(number, schema)))

    def _batches(self, number, schema):
        import pyarrow.parquet as pq

        pa = pyarrow()
        readers = {}
        for batch in pq.ParquetFile(self._files[number]).iter_batches(ROWS, use_threads=False):
            bad = set()
            for name in self._records:
                place = batch.schema.get_field_index(name)
                if place < 0:
                    continue
                values = self._values(name, batch.column(place), readers, bad)
                batch = batch.set_column(place, name, values)
            if bad and self._on_error == "skip":
                batch = batch.filter(pa.array([row not in bad for row in range(len(batch))]))
            yield with_schema(batch, schema)

    def _values(self, name, addresses, readers, bad):
        """The records that a column of addresses names, in order; rows without one are bad."""
        pa = pyarrow()
        files = addresses.field("_FILE").to_pylist()
        rows = addresses.field("_ROW_ID").to_pylist()
        pieces, start = [], 0
        for end in range(1, len(files) + 1):
            if end < len(files) and files[end] == files[start]:
                continue
            if files[start] is None:
                pieces.append(pa.nulls(end - start, pa.large_binary()))
            else:
                path = self._join(files[start])
                pieces.append(self._take(path, rows[start:end], name, readers, start, bad))
            start = end
        return pa.concat_arrays(pieces) if pieces else pa.array([], pa.large_binary())

    def _take(self, path, rows, name, readers, start, bad):
        """Records of one file, which belong to the rows from `start` on."""
        try:
            if path not in readers:
                readers.clear()
                readers[path] = ArrayRecordFile(path)
            return readers[path].take(rows)
        except _core.LemanError as error:
            if self._on_error == "fail":
                raise failed(path, error) from error
            if len(rows) > 1 and path in readers:
                values = [
                    self._take(path, [row], name, readers, start + at, bad)
                    for at, row in enumerate(rows)
                ]
                return pyarrow().concat_arrays(values)
            key = str(rows[0]) if len(rows) == 1 else f"{rows[0]} to {rows[-1]}"
            self._note(path, 0, key, name, str(error))
            bad.update(range(start, start + len(rows)))
            return pyarrow().nulls(len(rows), pyarrow().large_binary())


def space(location, version=None, *, on_error="fail"):
    """The rows of a Space dataset; record fields become blob columns.

    location: the folder of the dataset.
    version: a snapshot's number, or the name of a tag or branch; None is the current one.
    on_error: what to do with a record that cannot be read: "fail", "skip" its row, "null" for the
        field. An index file that cannot be read is left out by both. They are in ``problems`` then.
    """
    return _Space(location, version, on_error)
