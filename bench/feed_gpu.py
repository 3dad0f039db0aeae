#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shuffled batches to a GPU: read to pinned memory, copied there first, and from ordinary memory.

Batches of 64 rows of bytes, each as large as an image of 224 x 224 pixels and of 20,000 bytes, are
fed and copied to the GPU, which adds them up; all sides must come to the same sum. The limits are
the feed without a GPU, and copies of one batch that is pinned already. Without a GPU nothing is
measured.

    bench/feed_gpu.py [--scale 1.0] [--turns 5] [--threads N]
"""

import argparse
import tempfile

import leman
import numpy
import pyarrow as pa
from measure import best_of_each, table

BATCH = 64
KINDS = {"image": (3 * 224 * 224, 4096), "row of 20,000 bytes": (20_000, 32768)}


def make_table(path, width, rows):
    rng = numpy.random.default_rng(1)

    def batches():
        for first in range(0, rows, 1024):
            count = min(1024, rows - first)
            values = pa.array(numpy.frombuffer(rng.bytes(count * width), numpy.uint8))
            yield pa.record_batch({"data": pa.FixedSizeListArray.from_arrays(values, width)})

    schema = pa.schema({"data": pa.list_(pa.uint8(), width)})
    return leman.create(path, pa.RecordBatchReader.from_batches(schema, batches()))


class Side:
    """A feed, and what is done with each of its batches; `sums` has one sum per turn."""

    def __init__(self, rows, batches, to_gpu, **options):
        self.feed = rows.feed(format="torch", batch_size=BATCH, drop_last=True, **options)
        self._batches, self._to_gpu, self.sums = batches, to_gpu, []

    def __call__(self):
        import torch

        total = torch.zeros((), dtype=torch.int64, device="cuda")
        for _ in range(self._batches):
            self._to_gpu(next(self.feed)["data"], total)
        torch.cuda.synchronize()
        self.sums.append(int(total))


def add(tensor, total):
    import torch

    total += tensor.to("cuda", non_blocking=True).sum(dtype=torch.int64)


def add_pinned_copy(tensor, total):
    import torch

    pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    numpy.copyto(pinned.numpy(), tensor.numpy())
    add(pinned, total)


def leave(tensor, total):
    """The feed alone."""


def time_kind(rows, batches, turns, threads):
    import torch

    options = {"num_workers": threads}
    sides = {
        "read to pinned memory": Side(rows, batches, add, **options),
        "copied to pinned memory": Side(
            rows, batches, add_pinned_copy, pin_memory=False, **options
        ),
        "ordinary memory": Side(rows, batches, add, pin_memory=False, **options),
        "the feed alone": Side(rows, batches, leave, pin_memory=False, **options),
    }
    one = next(rows.feed(format="torch", batch_size=BATCH))["data"].pin_memory()

    def copies():
        total = torch.zeros((), dtype=torch.int64, device="cuda")
        for _ in range(batches):
            add(one, total)
        torch.cuda.synchronize()

    seconds = best_of_each([*sides.values(), copies], turns)
    names = [*sides, "the copies alone"]
    first, *others = [side.sums for side in sides.values()][:3]
    assert all(sums == first for sums in others), "sides have other rows"
    counts = sides["read to pinned memory"].feed.stats()["pinned"]
    return dict(zip(names, seconds, strict=True)), counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the number of rows")
    parser.add_argument("--turns", type=int, default=5, help="of which the best counts")
    parser.add_argument("--threads", type=int, default=None, help="that read; one per processor")
    arguments = parser.parse_args()
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("feed_gpu: no GPU with torch here, nothing is measured")
        return
    lines = []
    for kind, (width, rows) in KINDS.items():
        rows = max(2 * BATCH, int(rows * arguments.scale))
        batches = rows // BATCH
        with tempfile.TemporaryDirectory() as folder:
            data = make_table(f"{folder}/t", width, rows)
            seconds, counts = time_kind(data, batches, arguments.turns, arguments.threads)
        for side, took in seconds.items():
            speed = batches * BATCH / took
            ratio = seconds["copied to pinned memory"] / took
            lines.append(
                [kind, side, f"{speed:,.0f}", f"{speed * width / 1e9:.1f}", f"{ratio:.2f}"]
            )
        print(f"{kind}: tensors {counts}")
    print(f"\n{torch.cuda.get_device_name()}, torch {torch.__version__}\n")
    print(table(["", "batches", "rows/s", "GB/s", "to those copied to pinned memory"], lines))


if __name__ == "__main__":
    main()
