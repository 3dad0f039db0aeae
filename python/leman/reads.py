# SPDX-License-Identifier: Apache-2.0
"""What a table gives: rows in order, by number, as a feed, as files."""

import operator
from collections.abc import Mapping

from leman.arrow import Batch, Scan
from leman.elsewhere import check_options
from leman.file import RowBlobFile, blob_bytes, row_numbers


class Reads:
    """What a table reads; ``_core``, ``_place``, ``_branch`` and ``version`` are the table's."""

    def scan(
        self,
        columns=None,
        where=None,
        limit=None,
        offset=None,
        batch_size=None,
        with_row_id=False,
        version=None,
        *,
        with_row_address=False,
        blobs="descriptors",
        threads=None,
        **others,
    ):
        """Read rows in order.

        columns: names, and paths of nested fields: ``"info.width"`` gives the column ``info``, a
            struct with that field alone. None reads all.
        where: a filter, as in SQL: ``"width > 100 and label is not null"``.
        limit, offset: at most `limit` of the rows that match, after leaving out `offset`.
        batch_size: rows per batch at most; batches of large rows are smaller.
        with_row_id: add the column ``_rowid``, for `take_ids()`.
        with_row_address: add the column ``_rowaddr``, the number of the fragment and of the row in
            it, which changes when files are compacted.
        version: read another version than that of the table: a number, a tag or a time.
        blobs: "descriptors" says where blobs are, "bytes" reads them.
        threads: how many read ahead; None is one per processor, 1 reads when it is asked.
        """
        check_options(others)
        options = {
            "columns": _names(columns),
            "where": check_where(where),
            "offset": not_negative("offset", offset or 0),
            "batch_rows": not_negative("batch_size", batch_size or 0),
            "with_row_id": with_row_id,
            "with_row_address": with_row_address,
            "blob_bytes": blob_bytes(blobs),
            "threads": not_negative("threads", threads or 0),
        }
        if limit is not None:
            options["limit"] = not_negative("limit", limit)
        core = self._core
        if version is not None:
            core = self.at(version)
        number = core.version

        def open_stream():
            if core.version == number:
                return core.scan(**options)
            return self.at(number).scan(**options)

        return Scan(core, open_stream)

    def __arrow_c_stream__(self, requested_schema=None):
        return self._core.scan()

    def to_arrow(self, columns=None, where=None, **others):
        """All rows as a ``pyarrow.Table``; `columns` and `where` as for ``scan()``."""
        check_options(others)
        return self.scan(columns, where).to_arrow()

    def to_pandas(self, columns=None, where=None, **others):
        """All rows as a ``pandas.DataFrame``; `columns` and `where` as for ``scan()``."""
        check_options(others)
        return self.scan(columns, where).to_pandas()

    def head(self, n=5):
        """The first rows as a ``pyarrow.Table``."""
        return self.scan(limit=n).to_arrow()

    def count_rows(self, where=None, **others):
        """How many rows there are, or match the filter `where`."""
        check_options(others)
        return self._core.count(check_where(where))

    def take(self, positions, columns=None, *, with_row_id=False, blobs="descriptors", **others):
        """Read rows by their position in the table, in the order given, as a ``Batch``.

        positions: whole numbers in a list or an array; they count the rows that a scan gives, so
            deleted rows have none. A row may be asked for twice.
        columns, with_row_id, blobs: as for ``scan()``.
        """
        check_options(others)
        numbers = row_numbers(positions)
        pair = self._core.take(
            numbers, columns=_names(columns), with_row_id=with_row_id, blob_bytes=blob_bytes(blobs)
        )
        return Batch(*pair)

    def take_ids(self, row_ids, columns=None, *, with_row_id=False, blobs="descriptors", **others):
        """Read rows by row id, as ``scan(with_row_id=True)`` gives them, in the order given.

        An id that no row has, as it was deleted, is a ``NotFoundError``.
        columns, with_row_id, blobs: as for ``scan()``.
        """
        check_options(others)
        numbers = row_numbers(row_ids)
        pair = self._core.take_ids(
            numbers, columns=_names(columns), with_row_id=with_row_id, blob_bytes=blob_bytes(blobs)
        )
        return Batch(*pair)

    def take_blobs(self, column, positions=None, *, row_ids=None, **others):
        """The blobs of rows as binary files, None for nulls; only what is read is fetched.

        positions: of the rows, as ``take()`` has them; or row_ids, as ``take_ids()``.
        """
        check_options(others)
        if (positions is None) == (row_ids is None):
            raise TypeError("take_blobs() is given positions, or row_ids")
        found = []
        for row in row_numbers(positions if row_ids is None else row_ids):
            blob = self._core.blob(column, int(row), row_ids is None)
            found.append(None if blob is None else RowBlobFile(blob.size, lambda blob=blob: blob))
        return found

    def feed(self, columns=None, batch_size=64, where=None, shuffle=True, seed=0, **options):
        """The rows as an endless, shuffled, resumable stream of batches; returns a ``Feed``.

        columns: names, and paths of nested fields; None reads all.
        batch_size: rows of a batch of one rank.
        where: only rows that match; they are looked up once.
        shuffle: True: any order is as likely as any other; False: as in the table; "block": blocks
            of rows, mixed within a window, for stores on which long reads are quick.
        seed: the order of each epoch follows from it.
        epochs: how many; None is without end.
        rank, world_size: those of torch.distributed, of the environment (RANK, WORLD_SIZE), or 0
            of 1.
        drop_last, remainder: what becomes of rows that fill no whole step: "uneven" shares them
            out, "pad" fills up with the first rows of the epoch, "drop" leaves them out, which is
            drop_last=True. Otherwise "pad" with several ranks, so that all make the same number of
            steps, and "uneven" with one.
        format: "arrow", "numpy" or "torch"; see ``leman.feed_format``.
        transform: a function from batch to batch, which runs in num_workers threads, or with
            transform_in="processes" in processes.
        pin_memory: tensors in memory that a GPU copies from by itself; None: if there is a GPU.
        num_workers: threads that read; None is one per processor.
        prefetch: batches that are read ahead.
        on_error: "fail", or "replace" a row that cannot be read by another.
        cache_dir, cache_bytes: keep what is read in a directory, up to so many bytes.
        blobs: "bytes", or "descriptors" of where they are.
        block_size, window_size: rows of a block and of a window, for shuffle="block".
        pin: tag the version, so that cleanup() leaves it.
        """
        from leman.feed import Feed

        return Feed(
            self._place,
            self.version,
            self._branch,
            columns=columns,
            batch_size=batch_size,
            where=where,
            shuffle=shuffle,
            seed=seed,
            **options,
        )

    def to_parquet(self, path, columns=None, where=None, *, compression="snappy"):
        """Write rows as a Parquet file, blobs as bytes; returns their number."""
        from leman.export import export_parquet

        scan = self.scan(columns=columns, where=where, blobs="bytes")
        return export_parquet(scan, path, compression=compression)

    def to_array_record(self, path, column, where=None, *, options="group_size:1"):
        """Write a column as an ArrayRecord file; returns the number of records.

        options: as the array_record library takes them, such as "group_size:64,zstd:3".
        """
        from leman.export import export_array_record

        scan = self.scan(columns=[column], where=where, blobs="bytes")
        return export_array_record(scan, path, column=column, options=options)


def check_where(where):
    """A filter as it was given, if it is one."""
    if where is not None and not isinstance(where, str):
        raise TypeError(
            f'where is a filter as text, e.g. "id = 3 and kind is not null", not '
            f"{type(where).__name__}"
        )
    return where


_COLUMNS_OF_ROWS = {"_rowid": "with_row_id", "_rowaddr": "with_row_address"}


def _names(columns):
    """Columns as they were given, if they are names."""
    if columns is None or isinstance(columns, str):
        return columns
    if isinstance(columns, Mapping):
        raise TypeError(
            "columns are names; add_columns({name: expression}) computes others, and so do DuckDB "
            "and polars, which take a scan"
        )
    columns = list(columns)
    for name, option in _COLUMNS_OF_ROWS.items():
        if name in columns:
            raise ValueError(f'"{name}" is no column of the table; {option}=True reads it')
    return columns


def not_negative(name, value):
    """A count as it was given, if it is one."""
    value = operator.index(value)
    if value < 0:
        raise ValueError(f"{name} is not negative, and {value} is")
    if value >= 1 << 63:
        raise ValueError(f"{name} fits in 63 bits, and {value} does not")
    return value
