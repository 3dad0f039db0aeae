# SPDX-License-Identifier: Apache-2.0
"""Make a table of PPM images: images.py TABLE COUNT"""

import sys

import leman
import pyarrow as pa

WIDTH, HEIGHT, BATCH = 96, 72, 100


def image(number):
    """A PPM file: a disc on a gradient, another one for each number."""
    width, height = WIDTH + number % 7, HEIGHT
    level = number * 37 % 200
    rows = []
    for y in range(height):
        row = bytearray(bytes((level, y * 255 // height, level // 2)) * width)
        half = int(max(0, 400 - (y - height // 2) ** 2) ** 0.5)
        left = 10 + number % 40
        row[3 * left : 3 * (left + half)] = b"\xff\xf0\x00" * half
        rows.append(bytes(row))
    return b"P6\n%d %d\n255\n" % (width, height) + b"".join(rows)


def batches(count):
    schema = pa.schema([("id", pa.int64()), ("image", pa.binary())])
    for first in range(0, count, BATCH):
        ids = range(first, min(first + BATCH, count))
        yield pa.RecordBatch.from_arrays([list(ids), [image(i) for i in ids]], schema=schema)


def make(path, count):
    schema = pa.schema([("id", pa.int64()), ("image", pa.binary())])
    reader = pa.RecordBatchReader.from_batches(schema, batches(count))
    return leman.create(path, reader, max_rows_per_fragment=500)


if __name__ == "__main__":
    print(make(sys.argv[1], int(sys.argv[2])))
