# SPDX-License-Identifier: Apache-2.0
"""A directory of tables, laid out as LanceDB does."""

from leman import _core
from leman.elsewhere import check_options, no_method
from leman.table import Table, local_path


def _checked(name):
    if not isinstance(name, str):
        raise TypeError(f"the name of a table is a string, not {name!r}")
    return name


class Database:
    """A directory of tables: table NAME is the directory NAME.lance in it."""

    def __init__(self, uri):
        self._root = local_path(uri)

    def __repr__(self):
        return f"<leman.Database {self._root!r}>"

    def __getattr__(self, name):
        raise no_method("Database", name)

    @property
    def uri(self):
        return self._root

    def create_table(
        self,
        name,
        data=None,
        schema=None,
        mode="create",
        exist_ok=False,
        *,
        primary_key=None,
        data_storage_version=None,
        max_rows_per_fragment=1_048_576,
        max_bytes_per_fragment=None,
        message=None,
        durable=True,
        **load,
    ):
        """Make a table of data, of a schema, or of data cast to a schema.

        data: see ``Table.append()``.
        mode: "create", or "overwrite" to replace the content of a table that is there by a new
            version.
        exist_ok: a table that is there is opened and stays as it is.
        primary_key: the column, or columns, that tell rows apart; ``insert()`` and ``upsert()``
            match by it. They have no nulls.
        data_storage_version: "2.1", or "2.2" (maps need it).
        max_rows_per_fragment, max_bytes_per_fragment: where data files are cut.
        message: kept with the version.
        durable: wait for the device; without it a crash of the machine may undo the commit.
        load: of a source, such as ``leman.webdataset()``: max_parallelism, progress and the other
            options of ``Table.append()``. A table whose load was stopped is finished when the same
            call is made again.
        """
        return Table._make(
            self._root,
            _checked(name),
            data,
            schema,
            mode,
            exist_ok,
            primary_key=primary_key,
            data_storage_version=data_storage_version,
            max_rows_per_fragment=max_rows_per_fragment,
            max_bytes_per_fragment=max_bytes_per_fragment,
            message=message,
            durable=durable,
            **load,
        )

    def open_table(self, name, version=None, branch=None, **others):
        """Open a table, at the newest version, a number, a tag or a time; or a branch of it."""
        check_options(others)
        return Table._open(self._root, _checked(name), version, branch)

    def drop_table(self, name, ignore_missing=False, **others):
        """Remove a table with all its versions.

        ignore_missing: it need not be there.
        """
        check_options(others)
        if not isinstance(ignore_missing, bool):  # the second argument of LanceDB is a namespace
            raise TypeError(f"ignore_missing is True or False, not {ignore_missing!r}")
        try:
            _core.database_drop(self._root, name)
        except _core.NotFoundError:
            if not ignore_missing:
                raise

    def rename_table(self, name, new_name, **others):
        """Give a table another name."""
        check_options(others)
        _core.database_rename(self._root, name, new_name)

    def table_names(self, page_token=None, limit=None, **others):
        """The names of the tables, sorted.

        page_token, limit: only those after this name; at most so many.
        """
        check_options(others)
        names = _core.database_list(self._root)
        if page_token is not None:
            names = [name for name in names if name > page_token]
        return names[:limit]

    list_tables = table_names

    def context(self, cluster, environment=None):
        """Run the jobs of a ``with`` block on a cluster, such as ``leman.cluster.local()``.

        cluster: also the name of one that the database defines, or an address.
        environment: what their workers import from. Nodes on other machines are shipped what they
            lack unless it says otherwise: an environment of ``leman.environment.capture()``, a dict
            of options of ``capture()`` or True to ship to any node, False to ship nothing.
        """
        from leman.cluster import resolve
        from leman.context import context

        return context(resolve(self, cluster) if isinstance(cluster, str) else cluster, environment)

    def jobs(self):
        """The jobs of all tables, newest first."""
        from leman.jobs import jobs_of

        return jobs_of([self.open_table(name) for name in self.table_names()])

    def job(self, job_id):
        """A job by its id."""
        from leman.jobs import job_of

        return job_of([self.open_table(name) for name in self.table_names()], job_id)

    def define_cluster(self, cluster):
        """Keep a cluster (``leman.cluster``) under its name, in place of one that is there."""
        from leman import cluster_store

        cluster_store.define(self._root, cluster)

    def open_cluster(self, name):
        """A cluster that was defined, by its name."""
        from leman import cluster_store

        return cluster_store.load(self._root, name)

    def list_clusters(self):
        """The clusters that were defined, by name."""
        from leman import cluster_store

        return [self.open_cluster(name) for name in cluster_store.names(self._root)]

    def delete_cluster(self, name):
        """Forget a cluster that was defined; what runs of it stays."""
        from leman import cluster_store

        cluster_store.delete(self._root, name)

    def __iter__(self):
        return iter(self.table_names())

    def __len__(self):
        return len(self.table_names())

    def __contains__(self, name):
        return name in self.table_names()

    def __getitem__(self, name):
        return self.open_table(name)


def connect(uri, **others):
    """Open a directory of tables; it is made when the first table is."""
    check_options(others)
    return Database(uri)
