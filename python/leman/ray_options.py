# SPDX-License-Identifier: Apache-2.0
"""Options of reads and loads on a Ray cluster, under the names that users of Space know."""

from dataclasses import dataclass, field


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

    Tables keep no ArrayRecord files: a load takes it as Space does, and it changes nothing. How
    many rows of binary columns a feed reads together is said when the table is made, by
    ``leman.webdataset(group_size=)``.
    """

    options: str = "group_size:1"

    def group_size(self):
        for part in self.options.split(","):
            name, _, value = part.strip().partition(":")
            if name == "group_size":
                if not value.isdigit() or int(value) < 1:
                    raise ValueError(f"group_size is a whole number of at least 1, not {value!r}")
                return int(value)
        return 1


@dataclass(frozen=True)
class FileOptions:
    """max_rows_per_fragment, max_bytes_per_fragment: where data files of a load are cut."""

    array_record_options: ArrayRecordOptions = field(default_factory=ArrayRecordOptions)
    max_rows_per_fragment: int | None = None
    max_bytes_per_fragment: int | None = None

    def __post_init__(self):
        self.array_record_options.group_size()

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
