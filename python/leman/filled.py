# SPDX-License-Identifier: Apache-2.0
"""Columns that functions fill, as a table sees them. What runs them is imported when it is used."""

from leman.arrow import Scan


class FilledColumns:
    """What a table does with columns that functions fill; ``_core`` is the table's."""

    def backfill(self, columns, *, progress=None, detach=False, **options):
        """Fill columns by their functions; returns a ``BackfillResult``.

        Computes the rows that are pending, failed, or whose inputs have changed. What is computed
        is durable within seconds: after an interrupt or a crash the same call goes on from there.

        columns: a column, or several, filled in one pass.
        where: only rows that match; rows that are finished stay as they are.
        recompute: finished rows, too.
        retry_failed: rows that failed before are tried again.
        concurrency: worker processes; None takes what fits, at most 8, and 0 none: functions run in
            this thread, where a debugger sees them.
        intra_applier_concurrency: threads in each of them.
        batch_size, checkpoint_size, num_cpus, num_gpus, memory: instead of the function's own.
        commit_granularity: commit after so many fragments; about once a minute unless given.
        first_commit: True commits the first rows of the first fragment ahead of the others, False
            does not; unless given, it is done where a fragment becomes large.
        read_version: read the inputs of that version: a number, a tag or a time.
        max_rows: at most so many rows.
        max_calls: stop after so many calls of functions, and raise ``CancelledError``.
        max_cost: the same when what calls say by ``leman.usage(cost=)`` has added up to it.
        timeout: seconds, after which the job checkpoints, stops and raises ``CancelledError``.
        wait_timeout: seconds to wait for resources that other jobs hold.
        max_worker_restarts: how often workers may die in a row outside of any call.
        job_id: the name of the job; made up unless given.
        on_change: what becomes of values that an earlier version of the function has left:
            "recompute" computes all rows beside the column, which changes in one commit at the end;
            "keep" counts them as values of this version; "new_rows" leaves them, and computes only
            rows that never were. Without it a changed function is refused, with what is different.
        swap: False leaves what was computed again beside the column; see ``compare()``.
        stale_inputs: "refill" fills columns that these are computed from first, in the same job,
            where they are not up to date; "refuse", the default, raises.
        trust: "sha256:...", the hash of a function that others have stored in the table, to run it.
        keep_warm: True leaves the workers for the next job, False ends them with this one; unless
            given, those that have GPUs end.
        engine: "ray" runs it on a Ray cluster, "local" on this machine; unless given, what
            ``Database.context()`` or LEMAN_ENGINE says, or local.
        resources, node_labels: on a cluster, what the nodes of workers must have.
        path_map: ``{"/path/here": "/path/there"}``, where a cluster has other paths.
        progress: False shows none.
        stall_after: seconds without a finished batch, after which a worker and its row become an
            event; 300 unless given.
        on_finish: a command for the shell that is run when the job has ended; LEMAN_JOB,
            LEMAN_JOB_STATE and others are in its environment.
        metrics: a file that is rewritten every few seconds, as OpenMetrics text.
        detach: run in a process of its own that outlives this one, and return a ``JobRecord`` as
            soon as the job runs; what keeps it from running is raised.
        """
        if detach:
            from leman.detached import start

            return start(self, columns, options)
        from leman.backfill import Request

        return Request(self, columns, **options).run(progress)

    def backfill_async(self, columns, **options):
        """As ``backfill()``, in the background; returns a ``Job``."""
        from leman.backfill import Request

        job = Request(self, columns, **options).start()
        job._start_serving()
        return job

    def plan_backfill(self, columns, *, sample=0, **options):
        """What ``backfill()`` would do with these arguments, as a dict that prints well.

        sample: run the functions over so many rows, to say what time and bytes a row takes.
        """
        from leman.backfill import Request

        return Request(self, columns, **options).plan(sample)

    def manifest(self, column):
        """What the function of a column needs installed (``leman.environment``); None: nothing."""
        from leman import registry

        return registry.manifest_of(self, column)

    def ray(self, ray_options=None, file_options=None, *, path_map=None):
        """Reads and loads by tasks of a Ray cluster: ``table.ray(leman.RayOptions(4)).read()``.

        path_map: as for ``backfill()``.
        """
        from leman.ray_runner import RayRunner

        return RayRunner(self, ray_options, file_options, path_map)

    def ray_dataset(self, ray_options=None, read_options=None, *, path_map=None):
        """The rows as a ``ray.data.Dataset``; see ``leman.RayOptions``, ``leman.ReadOptions``."""
        from leman.ray_runner import ray_dataset

        return ray_dataset(self, ray_options, read_options, path_map)

    def column_info(self, column):
        """What fills a column, as a dict that prints well.

        Its function with version and source, the commit, Python and packages that it was registered
        with, and the job that has filled it last.
        """
        from leman.provenance import column_info

        return column_info(self, column)

    def cells(self, column):
        """The cells of a filled column by state: pending, ok, failed, stale."""
        return self._core.cells(column)

    def errors(self, column):
        """The failed cells of a column, as a ``Scan``: row, type, message, traceback, inputs."""
        return Scan(self._core, lambda: self._core.errors(column))

    def jobs(self):
        """The jobs of the table, newest first."""
        from leman.jobs import jobs_of

        return jobs_of([self])
