# SPDX-License-Identifier: Apache-2.0
"""A feed: the rows of a table as an endless, shuffled, resumable stream of batches."""

import collections
import concurrent.futures
import json
import os
import time

from leman import _core, function
from leman.arrow import Batch, SchemaCapsule, pyarrow
from leman.feed_format import converter, pins
from leman.feed_options import place_of_rank, transform_name, whole
from leman.feed_processes import Processes, TransformEnded

_SHUFFLE = {True: 0, False: 1, None: 1, "full": 0, "none": 1, "block": 2}
_REMAINDER = {"uneven": 0, "pad": 1, "drop": 2}
_NANOSECONDS = 1e9
_IDS_SHOWN = 8


class Feed:
    """Batches of one version of a table; made by ``Table.feed()``.

    A feed is an iterator. ``state()`` says how far it has come, for a checkpoint, and ``restore()``
    goes on from there: in another process, with another number of ranks or workers. A feed can be
    pickled, and used in a process that is forked: it goes on there behind the batch that it gave
    last.
    """

    def __init__(
        self,
        place,
        version,
        branch=None,
        *,
        columns=None,
        batch_size=64,
        where=None,
        shuffle=True,
        seed=0,
        epochs=None,
        rank=None,
        world_size=None,
        drop_last=False,
        remainder=None,
        format="arrow",
        transform=None,
        transform_in="threads",
        num_workers=None,
        prefetch=4,
        pin_memory=None,
        on_error="fail",
        with_row_id=False,
        blobs="bytes",
        block_size=None,
        window_size=None,
        cache_dir=None,
        cache_bytes=None,
        pin=True,
    ):
        rank, world_size = place_of_rank(rank, world_size)
        if remainder is None:
            remainder = "drop" if drop_last else "uneven" if world_size == 1 else "pad"
        elif drop_last and remainder != "drop":
            raise ValueError(f'drop_last=True is remainder="drop", not {remainder!r}')
        if shuffle not in _SHUFFLE:
            raise ValueError(f'shuffle is True, False or "block", not {shuffle!r}')
        if remainder not in _REMAINDER:
            raise ValueError(f'remainder is "pad", "drop" or "uneven", not {remainder!r}')
        if on_error not in ("fail", "replace"):
            raise ValueError(f'on_error is "fail" or "replace", not {on_error!r}')
        if transform_in not in ("threads", "processes"):
            raise ValueError(f'transform_in is "threads" or "processes", not {transform_in!r}')
        if transform is not None and not callable(transform):
            raise TypeError(f"transform is a function from batch to batch, not {transform!r}")
        self._place = place
        self._version = version
        self._branch = branch
        # In processes the function is used as it is here, and this one has no use for it.
        apart = transform is not None and transform_in == "processes"
        self._transform = function.pack_plain(transform) if apart else transform
        self._transform_in = transform_in
        self._format = format
        self._pin_memory = pin_memory
        self._set_converter()
        self._prefetch = whole("prefetch", prefetch)
        self._num_workers = whole("num_workers", num_workers, optional=True)
        self._options = {
            "columns": [columns] if isinstance(columns, str) else columns,
            "where": where,
            "blob_bytes": blobs == "bytes",
            "with_row_id": with_row_id,
            "shuffle": _SHUFFLE[shuffle],
            "seed": whole("seed", seed, least=0, bits=64),
            "block_rows": whole("block_size", block_size, optional=True, bits=64),
            "window_rows": whole("window_size", window_size, optional=True, bits=64),
            "batch_rows": whole("batch_size", batch_size),
            "rank": rank,
            "world_size": world_size,
            "epochs": whole("epochs", epochs, optional=True, bits=64),
            "remainder": _REMAINDER[remainder],
            "replace": on_error == "replace",
            "transform": transform_name(transform),
            "threads": self._num_workers,
            "prefetch": self._prefetch,
            "pin": pin,
            "cache_dir": None if cache_dir is None else os.fspath(cache_dir),
            "cache_bytes": whole("cache_bytes", cache_bytes, optional=True, bits=64),
        }
        self._open(None)

    def _set_converter(self):
        apart = self._transform is not None and self._transform_in == "processes"
        pinned = self._format == "torch" and not apart and pins(self._pin_memory)
        self._convert = converter(self._format, pinned)
        self._pinned = self._convert.pinned if pinned else None

    def _open(self, state):
        """Open the feed in this process, at a state."""
        table = _core.Table(*self._place, version=self._version, branch=self._branch)
        memory = None if self._pinned is None else self._pinned.memory
        self._core = _core.Feed(table, **self._options, memory=memory)
        self._process = os.getpid()
        self._executor = None
        self._pending = collections.deque()
        self._transform_ns = 0
        self._last_state = None
        if state is not None:
            self._core.restore(state)

    def __getstate__(self):
        fields = dict(self.__dict__, _state=self.state())
        for name in ("_core", "_convert", "_pinned", "_executor", "_pending", "_last_state"):
            del fields[name]
        return fields

    def __setstate__(self, fields):
        state = fields.pop("_state")
        self.__dict__.update(fields)
        self._set_converter()
        self._open(state)

    def _follow_fork(self):
        """In a forked process: leave what is the parent's alone, and open the feed again."""
        if self._process != os.getpid():
            self._set_converter()
            self._open(self.state())

    def clone(self, worker=0, workers=1):
        """A feed of the same batches at the same place; of several workers, one that shares them.

        Batch i of what this feed would give next is that of worker i % workers.
        """
        state = self.state()
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        worker, workers = whole("worker", worker, least=0), whole("workers", workers)
        other._options = dict(self._options, worker=worker, worker_count=workers)
        other._set_converter()
        other._open(state)
        return other

    def __repr__(self):
        info = self._core.info()
        return (
            f"<leman.Feed of {info['num_rows']} rows at version {info['version']}: "
            f"epoch {info['epoch']}, step {info['step']}>"
        )

    # Reading

    def __iter__(self):
        return self

    def __next__(self):
        self._follow_fork()
        if self._transform is not None:
            return self._next_transformed()
        pair = self._core.next()
        if pair is None:
            raise StopIteration
        return self._convert(Batch(*pair))

    def epoch_batches(self, epoch=None):
        """The batches that are left of an epoch; None is that of the next batch."""
        if epoch is None:
            epoch = self.next_epoch
        while self.next_epoch == epoch:
            try:
                batch = next(self)
            except StopIteration:
                return
            yield batch

    def _next_transformed(self):
        """Batches go through the transform in their order, some at once."""
        if self._executor is None:
            self._executor = self._make_executor()
        while len(self._pending) < self._prefetch:
            pair = self._core.next()
            if pair is None:
                break
            self._pending.append((self._submit(pair), self._core.state(), self._core.info()))
        if not self._pending:
            raise StopIteration
        future, state, info = self._pending.popleft()
        self._last_state = state, info
        start = time.perf_counter()
        try:
            return future.result()
        except TransformEnded as error:
            raise self._told(error, info["step"] - 1) from None
        finally:
            self._transform_ns += int((time.perf_counter() - start) * _NANOSECONDS)

    def _told(self, error, step):
        """What is said of a batch whose transform has ended its process."""
        rank = self._options["rank"]
        ids = self.row_ids(step, rank)
        some = ", ".join(map(str, ids[:_IDS_SHOWN])) + (", ..." if len(ids) > _IDS_SHOWN else "")
        name = self._options["transform"].rpartition(" ")[0]
        return _core.FunctionError(
            f"the transform {name}() {error} in the batch of step {step}, whose {len(ids)} rows "
            f"have the ids {some}: see row_ids({step}, {rank})"
        )

    def _make_executor(self):
        workers = self._num_workers or len(os.sched_getaffinity(0))
        if self._transform_in == "threads":
            return concurrent.futures.ThreadPoolExecutor(workers)
        return Processes(min(workers, self._prefetch), self._transform, self._format)

    def _submit(self, pair):
        if self._transform_in == "threads":
            return self._executor.submit(_run_transform, self._transform, self._convert, pair)
        return self._executor.submit(Batch(*pair))

    def _drop_pending(self):
        """Forget batches on their way; the feed itself is behind the last one given."""
        if self._pending:
            state = self.state()
            for future, _, _ in self._pending:
                future.cancel()
            self._pending.clear()
            self._core.restore(state)
        self._last_state = None

    def close(self):
        """Stop reading ahead. The feed may be used again."""
        self._follow_fork()
        self._drop_pending()
        if self._executor is not None:
            self._executor.shutdown()
            self._executor = None
        state = self._core.state()
        self._core = None
        self._open(state)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # Where it is

    def state(self):
        """What a checkpoint keeps, as a JSON text: all ranks get the same after the same step."""
        return self._core.state() if self._last_state is None else self._last_state[0]

    def restore(self, state):
        """Go on behind the step after which `state` was made.

        The feed moves to the version of the state. Rank, number of ranks and of workers, batch size
        and what is done with the remainder may be others; other data or another order are refused
        with a ``ConflictError`` that names the difference.
        """
        if not isinstance(state, str):
            raise TypeError(f"a state is the text that state() gave, not {type(state).__name__}")
        self._drop_pending()
        try:
            version = json.loads(state)["version"]
        except (ValueError, TypeError, KeyError):
            version = None
        self._follow_fork()
        if not isinstance(version, int) or version in (0, self.version):
            self._core.restore(state)
            return
        before = self._version, self.state()
        try:
            self._version = version
            self._open(state)
        except _core.LemanError as error:
            self._version = before[0]
            self._open(before[1])
            if isinstance(error, _core.NotFoundError):
                raise _core.ConflictError(
                    f"the state is of version {version} of the table, which is gone"
                ) from None
            raise

    def skip(self, batches):
        """Leave out batches without reading them."""
        self._follow_fork()
        self._drop_pending()
        self._core.skip(whole("batches", batches, least=0, bits=64))

    def seek(self, epoch):
        """Go to the start of an epoch."""
        self._follow_fork()
        self._drop_pending()
        self._core.seek(whole("epoch", epoch, least=0, bits=64))

    def begins(self, epoch):
        """Whether the next step of all ranks is the first of an epoch."""
        info = self._info()
        return info["epoch"] == epoch and info["position"] == 0

    def row_ids(self, step, rank=None):
        """The ids of the rows of a step, past or to come, as 64-bit numbers; no data are read.

        rank: those of one rank; None gives those of all ranks, one after the other.
        """
        self._follow_fork()
        step = whole("step", step, least=0, bits=64)
        ids = self._core.row_ids(step, -1 if rank is None else whole("rank", rank, least=0))
        return memoryview(ids).cast("Q").tolist()

    def _info(self):
        return self._core.info() if self._last_state is None else self._last_state[1]

    @property
    def version(self):
        """The version of the table that is read."""
        return self._core.info()["version"]

    @property
    def num_rows(self):
        """The rows of an epoch."""
        return self._core.info()["num_rows"]

    @property
    def steps_per_epoch(self):
        return self._core.info()["steps_per_epoch"]

    @property
    def epoch(self):
        """The epoch of the next step of all ranks."""
        return self._info()["epoch"]

    @property
    def next_epoch(self):
        """The epoch of the next batch of this feed."""
        return self._info()["next_epoch"]

    @property
    def step(self):
        """The number of the next step, counted over epochs and restarts."""
        return self._info()["step"]

    @property
    def schema(self):
        """The columns as a ``pyarrow.Schema``."""
        return pyarrow().schema(SchemaCapsule(self._core.schema()))

    def stats(self):
        """What the feed has done since it was opened, and what its consumer waited for.

        Times are in seconds. ``wait`` is how long the consumer waited for batches; ``waited_for``
        parts it by what the reading threads did: "store", "cache", "decode"; and "transform".
        ``placed`` and ``not_placed`` count buffers of batches that were read to pinned memory, and
        that it had no room for; ``pinned`` counts tensors: those that were read "in_place", those
        that were "copied" there, and those in ordinary memory, as pinned memory was "refused".
        """
        stats = self._core.stats()
        out = {name: value for name, value in stats.items() if not name.endswith("_ns")}
        seconds = {n[:-3]: v / _NANOSECONDS for n, v in stats.items() if n.endswith("_ns")}
        busy = seconds["busy"]
        share = {name: seconds[name] / busy if busy else 0 for name in ("store", "cache")}
        share["decode"] = max(1 - share["store"] - share["cache"], 0)
        out["elapsed"] = seconds["elapsed"]
        out["wait"] = seconds["wait"] + self._transform_ns / _NANOSECONDS
        out["waited_for"] = {name: seconds["wait"] * part for name, part in share.items()}
        out["waited_for"]["transform"] = self._transform_ns / _NANOSECONDS
        out["busy"] = {"store": seconds["store"], "cache": seconds["cache"], "all": busy}
        if self._pinned is not None:
            out["pinned"] = dict(self._pinned.counts)
        return out

    # Other libraries

    def torch(self):
        """The feed as a ``torch.utils.data.IterableDataset``; see ``leman.torch.FeedDataset``."""
        from leman.torch import FeedDataset

        return FeedDataset(self)


def _run_transform(transform, convert, pair):
    return transform(convert(Batch(*pair)))
