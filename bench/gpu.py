#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A model on a GPU: a column of embeddings filled by a job, beside a plain loop over the same rows.

The model is torchvision's ResNet-50 without its last layer, with random weights: what it computes
is of no use, and what it costs is. The second part gives a worker so little of the GPU's memory
that its batches do not fit, and shows what sizes it has tried. Without a GPU nothing is measured.
"""

import argparse
import os
import tempfile
import time
from collections import Counter
from pathlib import Path

import leman
import pyarrow as pa
from measure import best_of_both, table

SIDE = 224
IMAGE_BYTES = 3 * SIDE * SIDE
WIDTH = 2048  # of an embedding


def load_model():
    import torch
    import torchvision

    torch.manual_seed(0)
    model = torchvision.models.resnet50(weights=None)
    model.fc = torch.nn.Identity()
    return model.eval().cuda()


def embed(model, images):
    """An array of images as an array of embeddings."""
    import numpy
    import torch

    memory = images.buffers()[2]
    pixels = numpy.frombuffer(memory, numpy.uint8)[images.offset * IMAGE_BYTES :]
    pixels = pixels[: len(images) * IMAGE_BYTES].reshape(len(images), 3, SIDE, SIDE)
    with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16):
        given = torch.from_numpy(pixels.copy()).cuda().float().div_(255)
        made = model(given).float().cpu().numpy()
    return pa.FixedSizeListArray.from_arrays(pa.array(made.reshape(-1)), WIDTH)


def embedding(batch_size, memory=None, calls=None):
    """The function of the column.

    memory: the part of the GPU that the process may use; calls: a file that notes them.
    """

    @leman.udf(data_type=pa.list_(pa.float32(), WIDTH), num_gpus=1, batch_size=batch_size)
    class Embedding:
        def setup(self):
            import torch

            if memory is not None:
                torch.cuda.set_per_process_memory_fraction(memory)
            self.model = load_model()

        def __call__(self, image: pa.Array) -> pa.Array:
            if calls is not None:
                with open(calls, "a") as file:
                    print(os.environ["CUDA_VISIBLE_DEVICES"], len(image), file=file)
            return embed(self.model, image)

    return Embedding()


def make_table(folder, rows):
    import numpy

    random = numpy.random.default_rng(0)
    pixels = random.integers(0, 256, (rows, IMAGE_BYTES), numpy.uint8)
    images = pa.array([row.tobytes() for row in pixels], pa.binary())
    return leman.connect(folder).create_table("images", pa.table({"image": images}))


def time_sides(images, batch_size, rows):
    """Seconds of the first backfill; the best of those with a warm worker; of a plain loop."""
    model = load_model()
    images.add_columns({"embedding": embedding(batch_size)})

    def ours():
        done = images.backfill(
            "embedding", concurrency=1, recompute=True, keep_warm=True, progress=False
        )
        assert done.rows_committed == rows and done.rows_failed == 0

    def theirs():
        for batch in images.scan(["image"], batch_size=batch_size):
            embed(model, pa.record_batch(batch)["image"])

    begun = time.perf_counter()
    ours()
    cold = time.perf_counter() - begun
    return cold, *best_of_both(ours, theirs, 3)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="multiplies the number of images")
    arguments = parser.parse_args()
    try:
        import torch
        import torchvision  # noqa: F401
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("gpu: no GPU with torch and torchvision here, nothing is measured")
        return
    rows = max(64, int(8192 * arguments.scale))
    with tempfile.TemporaryDirectory() as folder:
        images = make_table(folder, rows)
        cold, ours, theirs = time_sides(images, 256, rows)
        leman.shutdown()
        print(f"{torch.cuda.get_device_name()}, torch {torch.__version__}, {rows:,} images\n")
        shown = [f"{rows / seconds:,.0f}" for seconds in (cold, ours, theirs)]
        names = ["first backfill, images/s", "with a warm worker", "plain loop", "ratio"]
        print(table(names, [[*shown, f"{theirs / ours:.2f}"]]))
        calls = Path(folder, "calls")
        images.add_columns({"small": embedding(1024, memory=0.01, calls=str(calls))})
        done = images.backfill("small", concurrency=1, progress=False)
        sizes = Counter(line.split()[1] for line in calls.read_text().splitlines())
        tried = ", ".join(f"{count} of {size}" for size, count in sizes.items())
        print(f"\nwith 1% of the memory: calls {tried} rows; {done.rows_failed} rows failed")


if __name__ == "__main__":
    main()
