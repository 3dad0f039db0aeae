# SPDX-License-Identifier: Apache-2.0
"""Processes that run the transform of a feed.

Each is started as a program of its own, with the transform by value: it imports neither the user's
main module nor what the feed's process had, so that scripts need no guard and functions no module.

A message is the sizes of its parts, then the parts: a pickle and the buffers that lie outside of
it. The first one to a process is where modules are found, and the transform; then each is a batch,
and is answered by (True, what the transform made of it) or (False, what it raised).
"""

import concurrent.futures
import copyreg
import json
import os
import pickle
import queue
import signal
import socket
import struct
import subprocess
import sys
import threading
import traceback
import weakref

from leman import _core, function

_END_SECONDS = 10  # for a process that has closed its socket to end


class TransformEnded(Exception):
    """A process ended instead of answering; its text says how."""


class Processes:
    """Applies a transform to batches in processes of its own, some at once.

    Threads hand batches to the processes, one to each. A process that has ended is replaced when
    the next batch comes.
    """

    def __init__(self, count, packed, format):
        self._jobs = queue.SimpleQueue()
        self._workers = [_Worker(packed, format) for _ in range(count)]
        self._threads = [
            threading.Thread(target=_work, args=(self._jobs, worker), daemon=True)
            for worker in self._workers
        ]
        for thread in self._threads:
            thread.start()
        self._stop = weakref.finalize(self, _stop, self._jobs, self._workers, os.getpid())

    def submit(self, batch):
        future = concurrent.futures.Future()
        self._jobs.put((future, batch))
        return future

    def shutdown(self):
        self._stop()
        for thread in self._threads:
            thread.join()


def _stop(jobs, workers, pid):
    if os.getpid() != pid:
        return  # a fork, and the processes are its parent's
    for worker in workers:
        jobs.put(None)
        worker.stop()


def _work(jobs, worker):
    while (job := jobs.get()) is not None:
        future, batch = job
        if not future.set_running_or_notify_cancel():
            continue
        try:
            made = worker.apply(batch)
        except BaseException as error:
            future.set_exception(error)
        else:
            future.set_result(made)
        job = future = batch = made = None  # not to be kept while there is nothing to do
    worker.end()


class _Worker:
    """One process, started when it is needed first."""

    def __init__(self, packed, format):
        self._packed = packed
        self._format = format
        self._process = None
        self._stream = None
        self._stopped = False
        self._lock = threading.Lock()  # of starting and killing

    def apply(self, batch):
        buffers = []
        text = pickle.dumps(batch.to_arrow(), protocol=5, buffer_callback=buffers.append)
        self._start()
        try:
            _send(self._stream, [text, *(buffer.raw() for buffer in buffers)])
            parts = _receive(self._stream)
        except (BrokenPipeError, ConnectionResetError):
            parts = None
        if parts is None:
            raise TransformEnded(_how(self.end()))
        is_made, made = pickle.loads(parts[0], buffers=parts[1:])
        if not is_made:
            error, text = made
            raise error from _core.FunctionError(f"in a process of the transform:\n{text}")
        return made

    def _start(self):
        with self._lock:
            if self._process is not None:
                return
            if self._stopped:
                raise concurrent.futures.CancelledError("the feed was closed")
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = _launch(theirs.fileno())
            with ours:
                self._stream = ours.makefile("rwb")
        given = {"path": [os.path.abspath(folder) for folder in sys.path], "cwd": _cwd()}
        given |= {"format": self._format, "arguments": sys.argv}
        try:
            _send(self._stream, [json.dumps(given).encode(), self._packed])
        except (BrokenPipeError, ConnectionResetError):
            pass  # it has ended, as whoever reads is told

    def stop(self):
        """Nobody waits for answers any more."""
        with self._lock:
            self._stopped = True
            if self._process is not None:
                self._process.terminate()

    def end(self):
        """The exit code of the process; the next batch starts another one. None without one."""
        if self._process is None:
            return None
        try:
            self._stream.close()
        except OSError:
            pass  # what it had not sent has no reader
        try:
            code = self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            code = self._process.wait()
        with self._lock:
            self._process = self._stream = None
        return code


def _how(code):
    if code >= 0:
        return f"ended its process with exit code {code}"
    names = {number.value: number.name for number in signal.Signals}
    return f"had its process ended by {names.get(-code, f'signal {-code}')}"


def _cwd():
    try:
        return os.getcwd()
    except OSError:
        return None


def _launch(fd):
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = f"import sys; sys.path.append({root!r}); from leman.feed_processes import main; main()"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, str(fd)],
        stdin=subprocess.DEVNULL,
        pass_fds=[fd],
    )


# Messages


def _send(stream, parts):
    sizes = [memoryview(part).nbytes for part in parts]
    stream.write(struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes))
    for part in parts:
        stream.write(part)
    stream.flush()


def _receive(stream):
    """The parts of a message; None when there is none."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    (count,) = struct.unpack("<I", head)
    head = stream.read(8 * count)
    if len(head) < 8 * count:
        return None
    parts = [bytearray(size) for size in struct.unpack(f"<{count}Q", head)]
    for part in parts:
        if stream.readinto(part) < len(part):
            return None
    return parts


# The other process


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the feed's process decides
    fd = int(sys.argv[1])
    os.set_inheritable(fd, False)
    # A fork of the transform is nobody's to answer: it reads the end, and its answers go nowhere.
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.register_at_fork(after_in_child=lambda: os.dup2(nowhere, fd, inheritable=False))
    stream = socket.socket(fileno=fd).makefile("rwb")
    given, packed = _receive(stream)
    apply = _loader(json.loads(given), packed)
    while (parts := _receive(stream)) is not None:
        answer = _answer(apply, parts)
        try:
            _send(stream, answer)
        except (BrokenPipeError, ConnectionResetError):
            break
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # modules of the transform may take long to tear down


def _loader(given, packed):
    """A function that transforms a batch; the transform is loaded for the first one."""
    from leman.feed_format import converter

    sys.path[:] = given["path"] + [folder for folder in sys.path if folder not in given["path"]]
    sys.argv = given["arguments"]
    if given["cwd"] is not None:
        try:
            os.chdir(given["cwd"])
        except OSError:
            pass  # the folder is gone; only relative paths would miss it
    loaded = []

    def apply(parts):
        if not loaded:
            loaded.append((pickle.loads(packed), converter(given["format"])))
        transform, convert = loaded[0]
        return transform(convert(pickle.loads(parts[0], buffers=parts[1:])))

    return apply


def _answer(apply, parts):
    buffers = []
    try:
        made = apply(parts)
        if "torch" in sys.modules:
            copyreg.pickle(sys.modules["torch"].Tensor, _reduce_tensor)
        text = function.dumps((True, made), buffers.append)
    except Exception as error:
        buffers.clear()
        text = _pack_error(error)
    return [text, *(buffer.raw() for buffer in buffers)]


def _pack_error(error):
    told = "".join(traceback.format_exception(error))
    try:
        text = function.dumps((False, (error, told)))
        pickle.loads(text)
        return text
    except Exception:
        plain = _core.FunctionError(f"{type(error).__name__}: {error}")
        return function.dumps((False, (plain, told)))


def _reduce_tensor(tensor):
    """As its memory, where that is plain; Torch's own way makes an archive of each."""
    try:
        return _tensor, (tensor.numpy(),)
    except (TypeError, RuntimeError):
        return tensor.__reduce_ex__(5)


def _tensor(array):
    import torch

    return torch.from_numpy(array)
