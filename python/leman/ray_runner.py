# SPDX-License-Identifier: Apache-2.0
"""Reads and loads of a table by tasks of a Ray cluster.

Tasks read and write the table's files themselves. They are plain tasks, not Ray Data, so that all
of it works through Ray Client (``ray://``) too.
"""

from collections.abc import Iterator

from leman import _core, ray_loads, shipping
from leman.ingest import Generators, Source
from leman.ray_admission import Need
from leman.ray_engine import connect, look_around
from leman.ray_loader import Load, causes, load_name, run
from leman.ray_loads import Notes, notes_name
from leman.ray_options import FileOptions, RayOptions, ReadOptions
from leman.ray_sight import Place, marked


class RayRunner:
    """What ``Table.ray()`` gives: the table's reads and loads, on a cluster."""

    def __init__(self, table, ray_options=None, file_options=None, path_map=None):
        self._table = table
        self._path_map = path_map
        self._ray_options = ray_options or RayOptions()
        self._file_options = file_options or FileOptions()
        for given, kind in (
            (self._ray_options, RayOptions),
            (self._file_options, FileOptions),
        ):
            if not isinstance(given, kind):
                raise TypeError(f"ray() takes leman.{kind.__name__}, not {given!r}")

    def __repr__(self):
        return f"<leman.RayRunner of {self._table!r}>"

    def read(self, where=None, columns=None, version=None, batch_size=None):
        """The rows in order, as an iterator of ``pyarrow.Table`` of `batch_size` rows each.

        Tasks read blocks of 16 to 128 MiB, `max_parallelism` of them at once.
        """
        options = ReadOptions(batch_size, columns, where, version)
        ray = _connect()
        source = _source(self._table, options, self._path_map)
        return _batches(self._blocks(ray, source), options.batch_size)

    def read_all(self, where=None, columns=None, version=None):
        """All rows, as one ``pyarrow.Table``."""
        import pyarrow as pa

        return pa.concat_tables(self.read(where, columns, version))

    def _blocks(self, ray, source):
        """Blocks in order; a few are read ahead."""
        most = self._ray_options.max_parallelism
        task = ray.remote(num_cpus=1)(_read_block)
        ranges, running = iter(source.ranges(1)), []
        while True:
            while len(running) < most:
                found = next(ranges, None)
                if found is None:
                    break
                running.append(task.remote(source.reader(*found)))
            if not running:
                return
            with causes(ray):
                blocks = ray.get(running.pop(0))
            yield from blocks

    def append(self, data, **options):
        """Append rows; parts of a source (``leman.webdataset()``, ...) by tasks, several at once.

        Returns a ``LoadResult`` for a source. What is in the table already is left out, so a load
        that was stopped goes on when it is made again.
        """
        self._file_options.note_groups(self._table)
        if isinstance(data, Source):
            return self._load(data, options)
        return self._table.append(data, **self._file_options.write_options(), **options)

    def append_from(self, sources, again=False, **options):
        """Append what generators give, several at once by tasks, as one version: all of it or
        nothing.

        A call that was stopped or has failed goes on when it is made again with the same sources:
        those that were read to their end are not read again. `again` begins anew.
        """
        self._file_options.note_groups(self._table)
        source = Generators(sources)
        for given in source.sources:
            if isinstance(given, Iterator):
                raise TypeError(
                    f"a task of the cluster cannot take over {given!r}; give the function that "
                    "makes it, as [lambda: numbers(3)]"
                )
        name = notes_name(self._table, source.sources)
        notes = Notes(self._table, name, len(source.sources))
        if again:
            notes.clear()
        made = {"notes": name, "group_seconds": ray_loads.GROUP_SECONDS}
        result = self._load(source, options, **made)
        notes.clear()  # until then the same call finds that all is there
        return result

    def _load(self, source, options, **made):
        ray = _connect()
        most = min(len(source.parts), self._ray_options.max_parallelism)
        packed = shipping.pack_source(ray, self._table, source, most, self._path_map)
        options = self._file_options.write_options() | options
        try:
            with marked(self._table, self._path_map) as place:
                name = load_name(place, source, options | made)
                load = Load(name, place, packed, len(source.parts), most, options, **made)
                return run(ray, load)
        finally:
            self._table.refresh()


def _connect():
    """Ray, connected to a cluster that has, or may add, a node for a task."""
    ray = connect()
    task, nodes = Need(), look_around(ray)
    if not any(task.count_in(node.total) for node in nodes):
        raise _core.UnavailableError(
            f"a task needs {task.text()}, and none of the cluster's {len(nodes)} nodes has it"
        )
    return ray


def _source(table, options, path_map):
    from leman.ray_data import TableDatasource

    return TableDatasource(
        table, options.columns, options.where, options.batch_size, options.version, path_map
    )


def _read_block(reader):
    return list(reader())


def _batches(tables, rows):
    """Tables cut and joined to `rows` rows each; as they come without a number."""
    import pyarrow as pa

    kept = None
    for table in tables:
        if rows is None:
            yield table
            continue
        kept = table if kept is None else pa.concat_tables([kept, table])
        whole = kept.num_rows - kept.num_rows % rows
        for at in range(0, whole, rows):
            yield kept.slice(at, rows)
        kept = kept.slice(whole)
    if kept is not None and kept.num_rows:
        yield kept


def ray_dataset(table, ray_options=None, read_options=None, path_map=None):
    """A ``ray.data.Dataset`` of a table; inside of the cluster where this process is a client."""
    ray = connect()
    ray_options, options = ray_options or RayOptions(), read_options or ReadOptions()
    source = {
        "columns": options.columns,
        "where": options.where,
        "batch_size": options.batch_size,
        "version": options.version,
        "concurrency": ray_options.max_parallelism,
    }
    if ray.util.client.ray.is_connected():
        place = Place.of(table, path_map), table.version, table.info()
        return _Plan(ray, place, source)
    from leman.ray_data import read_table

    return read_table(table, path_map=path_map, **source)


class _Plan:
    """A ``ray.data.Dataset`` that is not here: its calls are kept, and made inside of the cluster
    by the first that gives something else than a dataset."""

    _STEPS = frozenset(
        "map map_batches flat_map filter select_columns drop_columns rename_columns add_column "
        "with_column repartition random_shuffle randomize_block_order sort limit union zip".split()
    )

    def __init__(self, ray, place, source, calls=()):
        self._ray, self._place, self._source, self._calls = ray, place, source, calls

    def __repr__(self):
        steps = "".join(f".{name}()" for name, _, _ in self._calls)
        return f"<leman: a ray.data.Dataset inside of the cluster{steps}>"

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)

        def call(*args, **kwargs):
            calls = (*self._calls, (name, args, kwargs))
            if name in self._STEPS:
                return _Plan(self._ray, self._place, self._source, calls)
            task = self._ray.remote(num_cpus=0)(_run_plan)
            return self._ray.get(task.remote(self._place, self._source, calls))

        return call

    def iter_batches(self, *, batch_size=256, batch_format="numpy"):
        """The rows, a block at a time from the cluster, in batches."""
        import pyarrow as pa

        task = self._ray.remote(num_cpus=0)(_run_plan)
        calls = (*self._calls, ("to_arrow_refs", (), {}))
        refs = self._ray.get(task.remote(self._place, self._source, calls))
        for table in _batches((pa.table(self._ray.get(ref)) for ref in refs), batch_size):
            if batch_format in ("pyarrow", None):
                yield table
            elif batch_format == "pandas":
                yield table.to_pandas()
            else:
                yield {name: table[name].to_numpy() for name in table.column_names}

    def __iter__(self):
        return self.iter_rows()

    def iter_rows(self):
        for table in self.iter_batches(batch_format="pyarrow"):
            yield from table.to_pylist()


def _run_plan(place, source, calls):
    """A task: make the calls on the dataset of the table."""
    from leman.ray_data import read_table
    from leman.table import Table

    there, version, info = place
    there.open_core(version, info)
    made = read_table(Table._open(there.root, there.name, version, there.branch), **source)
    for step, args, kwargs in calls:
        made = getattr(made, step)(*args, **kwargs)
    return made
