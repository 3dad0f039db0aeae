# SPDX-License-Identifier: Apache-2.0
"""A feed: the rows of a table as an endless, shuffled, resumable stream of batches."""

import ast
import collections
import concurrent.futures
import hashlib
import inspect
import json
import multiprocessing
import os
import sys
import textwrap
import time

from leman import _core
from leman.arrow import Batch, SchemaCapsule, pyarrow
from leman.feed_format import converter, pins

_SHUFFLE = {True: 0, False: 1, None: 1, "full": 0, "none": 1, "block": 2}
_REMAINDER = {"uneven": 0, "pad": 1, "drop": 2}
_NANOSECONDS = 1e9


def place_of_rank(rank=None, world_size=None):
    """Rank and number of ranks: as given, torch.distributed's, RANK and WORLD_SIZE, or 0 of 1."""
    if rank is None and world_size is None:
        torch = sys.modules.get("torch")
        if torch is not None and torch.distributed.is_available():
            if torch.distributed.is_initialized():
                return torch.distributed.get_rank(), torch.distributed.get_world_size()
        if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
            return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        return 0, 1
    if rank is None or world_size is None:
        raise ValueError("rank and world_size are given together")
    return rank, world_size


def transform_name(transform):
    """What a state calls a transform: its name and a hash of what it does, not of its layout."""
    if transform is None:
        return None
    name = getattr(transform, "__qualname__", type(transform).__qualname__)
    module = getattr(transform, "__module__", "")
    code = getattr(transform, "__code__", None)
    try:
        source = inspect.getsource(transform if code is not None else type(transform))
        text = ast.dump(ast.parse(textwrap.dedent(source)))
    except (OSError, TypeError, SyntaxError):
        text = repr((code.co_code, code.co_names)) if code is not None else ""
    return f"{module}.{name} {hashlib.sha256(text.encode()).hexdigest()[:16]}"


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
        for name, value in [("batch_size", batch_size), ("prefetch", prefetch), ("epochs", epochs)]:
            if value is not None and value < 1:
                raise ValueError(f"{name} is at least 1, not {value}")
        self._place = place
        self._version = version
        self._branch = branch
        self._transform = transform
        self._transform_in = transform_in
        self._format = format
        self._pin_memory = pin_memory
        self._set_converter()
        self._prefetch = prefetch
        self._num_workers = num_workers
        self._options = {
            "columns": [columns] if isinstance(columns, str) else columns,
            "where": where,
            "blob_bytes": blobs == "bytes",
            "with_row_id": with_row_id,
            "shuffle": _SHUFFLE[shuffle],
            "seed": seed,
            "block_rows": block_size or 0,
            "window_rows": window_size or 0,
            "batch_rows": batch_size,
            "rank": rank,
            "world_size": world_size,
            "epochs": epochs or 0,
            "remainder": _REMAINDER[remainder],
            "replace": on_error == "replace",
            "transform": transform_name(transform),
            "threads": num_workers or 0,
            "prefetch": prefetch,
            "pin": pin,
            "cache_dir": None if cache_dir is None else os.fspath(cache_dir),
            "cache_bytes": cache_bytes or 0,
        }
        self._open(None)

    def _set_converter(self):
        pinned = self._format == "torch" and pins(self._pin_memory)
        self._convert = converter(self._format, pinned)

    def _open(self, state):
        """Open the feed in this process, at a state."""
        table = _core.Table(*self._place, version=self._version, branch=self._branch)
        self._core = _core.Feed(table, **self._options)
        self._process = os.getpid()
        self._executor = None
        self._pending = collections.deque()
        self._transform_ns = 0
        self._last_state = None
        if state is not None:
            self._core.restore(state)

    def __getstate__(self):
        fields = dict(self.__dict__, _state=self.state())
        for name in ("_core", "_convert", "_executor", "_pending", "_last_state"):
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
        finally:
            self._transform_ns += int((time.perf_counter() - start) * _NANOSECONDS)

    def _make_executor(self):
        workers = self._num_workers or len(os.sched_getaffinity(0))
        if self._transform_in == "threads":
            return concurrent.futures.ThreadPoolExecutor(workers)
        # A forked worker would share the threads' locks; these start clean.
        context = multiprocessing.get_context("forkserver")
        return concurrent.futures.ProcessPoolExecutor(workers, mp_context=context)

    def _submit(self, pair):
        if self._transform_in == "threads":
            return self._executor.submit(_run_transform, self._transform, self._convert, pair)
        rows = Batch(*pair).to_arrow()
        return self._executor.submit(_run_apart, self._transform, self._format, rows)

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
        self._core.skip(batches)

    def seek(self, epoch):
        """Go to the start of an epoch."""
        self._follow_fork()
        self._drop_pending()
        self._core.seek(epoch)

    def begins(self, epoch):
        """Whether the next step of all ranks is the first of an epoch."""
        info = self._info()
        return info["epoch"] == epoch and info["position"] == 0

    def row_ids(self, step, rank=None):
        """The ids of the rows of a step, past or to come, as 64-bit numbers; no data are read.

        rank: those of one rank; None gives those of all ranks, one after the other.
        """
        self._follow_fork()
        ids = self._core.row_ids(step, -1 if rank is None else rank)
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
        return out

    # Other libraries

    def torch(self):
        """The feed as a ``torch.utils.data.IterableDataset``; see ``leman.torch.FeedDataset``."""
        from leman.torch import FeedDataset

        return FeedDataset(self)


def _run_transform(transform, convert, pair):
    return transform(convert(Batch(*pair)))


def _run_apart(transform, format, rows):
    return transform(converter(format)(rows))
