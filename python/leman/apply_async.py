# SPDX-License-Identifier: Apache-2.0
"""Functions that are coroutines: the rows of a batch, many in flight at once.

All coroutines of a process run on one event loop, in a thread of its own, so that clients and
sessions that a function keeps may be used by every call. The thread that serves the job waits for
the batch and meanwhile asks for the calls that limits have to allow.

Rows begin in their order. When the job stops, those that run are waited for and no others begin:
what is computed are rows from the front of the batch.
"""

import asyncio
import os
import queue
import threading
from concurrent.futures import ThreadPoolExecutor

from leman import prints
from leman.meter import Stopped, rest
from leman.rate import retry_after
from leman.spent import counting

THREADS = 128  # of asyncio.to_thread() at most, which has few by default

_syncs = ThreadPoolExecutor(1, "leman-keep")
_loop = None
_loop_pid = None
_loop_lock = threading.Lock()


def event_loop():
    """The loop of this process, which runs."""
    global _loop, _loop_pid
    with _loop_lock:
        if _loop is None or _loop_pid != os.getpid():
            _loop = asyncio.new_event_loop()
            _loop.set_default_executor(ThreadPoolExecutor(THREADS, "leman-async"))
            _loop_pid = os.getpid()
            threading.Thread(target=_loop.run_forever, name="leman-async", daemon=True).start()
        return _loop


def run(coroutine):
    """Run a coroutine to its end on the loop, and wait for it."""
    future = asyncio.run_coroutine_threadsafe(coroutine, event_loop())
    try:
        return future.result()
    except BaseException:
        future.cancel()
        raise


def blocking(function, timeout=None):
    """A coroutine function as one that returns when it is done."""

    async def call(arguments):
        return await _limited(function, arguments, timeout)

    def wrapped(*arguments):
        return run(call(arguments))

    return wrapped


async def _limited(function, arguments, timeout):
    """Call with a limit of time."""
    from leman.apply import CallTimeoutError

    try:
        async with asyncio.timeout(timeout) as scope:
            return await function(*arguments)
    except TimeoutError:
        if scope.expired():
            raise CallTimeoutError(f"the call took longer than {timeout:g} s") from None
        raise
    except asyncio.CancelledError as error:
        if asyncio.current_task().cancelling():
            raise
        raise RuntimeError("the function was cancelled from inside") from error


class Rows:
    """Rows of a batch on their way through a function."""

    def __init__(self, applier, columns, start, failure, port, keep, store):
        """start: the row of the batch that the columns begin with.

        keep: makes results durable, or None. store: in the thread that serves the job, makes of a
        result what stands for it, or None; what is stored is kept there, too.
        """
        self.applier = applier
        self.columns = columns
        self.start = start
        self.failure = failure
        self.port = port
        self.keep = keep
        self.store = store
        self.results = [None] * len(columns[0])
        self.next = 0
        self.error = None  # that ends the job
        self.asks = queue.SimpleQueue()
        self.metered = port is not None and port.metered

    def run(self):
        """Call for all rows; the results, of fewer rows from the front when the job stops."""
        future = asyncio.run_coroutine_threadsafe(self._all(), event_loop())
        future.add_done_callback(lambda done: self.asks.put(None))
        try:
            self._grant()
            future.result()
        except BaseException:
            future.cancel()
            raise
        if self.error is not None:
            raise self.error
        return self.results[: self.next]

    # In the thread that serves the job

    def _grant(self):
        """Answer what calls ask for, and store results, until the batch is done."""
        while (ask := self.asks.get()) is not None:
            asks = [ask]
            while ask is not None and not self.asks.empty():
                ask = self.asks.get()
                asks.append(ask)
            self._put([one for one in asks if isinstance(one, _Result)])
            self._answer([one for one in asks if isinstance(one, tuple)])
            if ask is None:
                return

    def _put(self, results):
        """Store results; those that came together are made durable together."""
        for one in results:
            one.put(self.store)
        if self.keep is not None and results:
            self.keep.all((one.row, one.made) for one in results if one.error is None)
        for one in results:
            one.tell()

    def _answer(self, asks):
        meter = self.applier.meter
        try:
            while asks:
                tokens = asks[0][0]
                count = len(asks) if tokens == 0 else 1
                if tokens is None:  # not a call: the others are to be told of a pause
                    meter.ask(self.port, 0)
                    asks.pop(0)
                    continue
                granted, seconds, each = meter.ask(self.port, count, tokens)
                for _ in range(granted):
                    _tell(asks.pop(0)[1], each)
                if asks and not granted:
                    rest(self.port, seconds)
        except Stopped:
            for _, answer in asks:
                _tell(answer, None)

    # On the loop

    async def _all(self):
        lanes = min(self.applier.in_flight, len(self.results))
        await asyncio.gather(*(self._lane() for _ in range(lanes)))

    async def _lane(self):
        while self.next < len(self.results) and self.error is None:
            if self.port is not None and self.port.stops():
                return
            row = self.next
            self.next += 1
            prints.row.set(self.failure.row_ids[self.start + row])
            try:
                await self._row(row)
            except Stopped:
                self.next = min(self.next, row)
                return
            except Exception as error:
                self.error = self.error or error

    async def _permit(self, arguments):
        """Wait until a call may start; the tokens that are counted for it."""
        if not self.metered:
            return 0
        answer = asyncio.get_running_loop().create_future()
        self.asks.put((self.applier.meter.tokens_of(arguments), answer))
        each = await answer
        if each is None:
            raise Stopped
        return each

    async def _call(self, arguments):
        charged = await self._permit(arguments)
        with counting() as spent:
            try:
                return await _limited(self.applier.function, arguments, self.applier.timeout)
            finally:
                if self.metered:
                    self.applier.meter.settle(charged, spent)
                if self.port is not None:
                    self.port.used(1, spent.tokens, spent.cost)

    def _note(self, error):
        """How long the other side asks us to wait."""
        if not self.metered:
            return retry_after(error) or 0.0
        if self.applier.meter.note(error) is not None:
            self.asks.put((None, None))
        return 0.0  # the job's limits wait

    async def _row(self, row):
        arguments = [column[row] for column in self.columns]
        attempts = 0
        while True:
            try:
                value = await self._call(arguments)
                if self.store is not None:
                    value = await self._stored(row, value)
                break
            except Stopped:
                if attempts == 0:
                    raise
                action = "skip"  # it has failed, and is not tried again in this job
            except (Exception, SystemExit) as raised:
                error = raised
                pause = self._note(error)
                attempts += 1
                action, seconds = self.applier.policy.decide(error, attempts)
            if action != "retry":
                self.failure.add(self.start + row, error, attempts, arguments)
                if action == "fail":
                    raise self.failure.job_error(self.start + row) from error
                return
            await asyncio.sleep(max(seconds, pause))
        if self.keep is not None and self.store is None:
            await self.keep(self.start + row, value)
        self.results[row] = value

    async def _stored(self, row, value):
        """What stands for a result: at most as many are in memory as there are calls in flight."""
        result = _Result(self.start + row, value)
        self.asks.put(result)
        return await result.answer


class _Result:
    """A value of the loop on its way through the thread that serves the job."""

    def __init__(self, row, value):
        self.row = row
        self.value = value
        self.made = self.error = None
        self.answer = asyncio.get_running_loop().create_future()

    def put(self, store):
        try:
            self.made = store(self.value)
        except Exception as error:
            self.error = error
        self.value = None

    def tell(self):
        self.answer.get_loop().call_soon_threadsafe(_settle, self.answer, self.made, self.error)


def _tell(answer, value):
    """Give a future of the loop its value, from another thread."""
    if answer is not None:
        answer.get_loop().call_soon_threadsafe(_settle, answer, value)


def _settle(answer, value, error=None):
    if answer.done():
        return
    if error is not None:
        answer.set_exception(error)
    else:
        answer.set_result(value)


class Keeper:
    """Makes results durable as they come; those that come together share one write to disk."""

    def __init__(self, port, make):
        """make: a value as an array of one row."""
        self.port = port
        self.make = make
        self.lock = asyncio.Lock()
        self.written = self.synced = 0

    def all(self, results):
        """Keep (row, value) pairs, in the thread that serves the job."""
        for row, value in results:
            array = self.make(value)
            if array is not None:
                self.port.keep(row, array)
        self.port.keep_sync()

    async def __call__(self, row, value):
        array = self.make(value)
        if array is None:  # of another type than declared: the row fails
            return
        self.port.keep(row, array)
        self.written += 1
        own = self.written
        async with self.lock:
            if self.synced < own:
                upto = self.written
                await asyncio.get_running_loop().run_in_executor(_syncs, self.port.keep_sync)
                self.synced = upto
