# SPDX-License-Identifier: Apache-2.0
"""Options of reads and loads on a Ray cluster, under the names that users of Space know."""

from dataclasses import dataclass, field

from leman import _core
from leman.arrow import pyarrow
from leman.ingest import check_group_size

_BLOB_KEYS = (b"lance-encoding:blob", b"ARROW:extension:name")


def _is_bytes(column):
    """Does a column hold bytes, in pages or as blobs?"""
    types = pyarrow().types
    kinds = (types.is_binary, types.is_large_binary, types.is_fixed_size_binary)
    metadata = column.metadata or {}
    is_blob = metadata.get(_BLOB_KEYS[0]) == b"true" or b"blob" in metadata.get(_BLOB_KEYS[1], b"")
    return is_blob or any(kind(column.type) for kind in kinds)


_RECORD_OPTIONS = (
    "group_size",
    "uncompressed",
    "zstd",
    "brotli",
    "snappy",
    "transpose",
    "pad_to_block_boundary",
    "max_parallelism",
    "window_log",
    "saturation_delay_ms",
)


@dataclass(frozen=True)
class RayOptions:
    """max_parallelism: tasks of Ray that run at once, at most."""

    max_parallelism: int = 8

    def __post_init__(self):
        whole = isinstance(self.max_parallelism, int) and not isinstance(self.max_parallelism, bool)
        if not whole or self.max_parallelism < 1:
            raise ValueError(
                f"max_parallelism is a whole number of at least 1, not {self.max_parallelism!r}"
            )


@dataclass(frozen=True)
class ArrayRecordOptions:
    """options: as ``Table.to_array_record()`` takes them, such as "group_size:64".

    Tables keep no ArrayRecord files. Of the options `group_size` counts: a load notes on the
    table's columns of bytes that a feed reads so many rows of them together, as
    ``leman.webdataset(group_size=)`` does.
    """

    options: str = "group_size:1"

    def __post_init__(self):
        for part in filter(None, self.options.split(",")):
            if part.strip().partition(":")[0] not in _RECORD_OPTIONS:
                raise ValueError(
                    f"ArrayRecord has no option {part.strip()!r}; it has "
                    + ", ".join(_RECORD_OPTIONS)
                )

    def group_size(self):
        for part in self.options.split(","):
            name, _, value = part.strip().partition(":")
            if name == "group_size":
                return check_group_size(int(value) if value.isdigit() else value)
        return 1


@dataclass(frozen=True)
class FileOptions:
    """max_rows_per_fragment, max_bytes_per_fragment: where data files of a load are cut."""

    array_record_options: ArrayRecordOptions = field(default_factory=ArrayRecordOptions)
    max_rows_per_fragment: int | None = None
    max_bytes_per_fragment: int | None = None

    def __post_init__(self):
        self.array_record_options.group_size()

    def note_groups(self, table):
        """Note on the table's columns of bytes how many rows of them are read together."""
        rows = self.array_record_options.group_size()
        if rows == 1:
            return  # as when nobody says it
        columns = []
        for column in table.schema:
            noted = (column.metadata or {}).get(b"leman:group_size")
            if not _is_bytes(column) or noted == str(rows).encode():
                continue
            if noted is not None:
                raise _core.InvalidError(
                    f"feeds read {noted.decode()} rows of {column.name!r} together, and "
                    f"FileOptions asks for {rows}: "
                    f'alter_columns({{"path": "{column.name}", "group_size": {rows}}}) changes it'
                )
            columns.append(column.name)
        if columns:
            table._core.set_read_group(columns, rows)

    def write_options(self):
        given = {
            "max_rows_per_fragment": self.max_rows_per_fragment,
            "max_bytes_per_fragment": self.max_bytes_per_fragment,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True)
class ReadOptions:
    """What a read gives: rows that match `where`, some columns, of a version; batch_size rows are
    read at a time."""

    batch_size: int | None = None
    columns: list | None = None
    where: str | None = None
    version: object = None

    def __post_init__(self):
        if self.batch_size is not None and (
            not isinstance(self.batch_size, int) or self.batch_size < 1
        ):
            raise ValueError(f"batch_size is a whole number of at least 1, not {self.batch_size!r}")
