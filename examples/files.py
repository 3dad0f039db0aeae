# SPDX-License-Identifier: Apache-2.0
"""Write a Lance file of images, captions and embeddings, and read it back."""

import random
import struct
import zlib

import leman
import pyarrow as pa

ROWS, SIDE, DIMENSION = 500, 32, 64
CAPTIONS = ["a red square", "a green circle", "a blue line", None]


def png(shade):
    """A small picture, as the bytes of a PNG file."""

    def chunk(name, data):
        body = name + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    lines = b"".join(b"\0" + bytes((shade + x * y) % 256 for x in range(SIDE)) for y in range(SIDE))
    head = struct.pack(">IIBBBBB", SIDE, SIDE, 8, 0, 0, 0, 0)
    data = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + data


def make_rows():
    rng = random.Random(1)
    vectors = pa.array([rng.gauss(0, 1) for _ in range(ROWS * DIMENSION)], pa.float32())
    return pa.table(
        {
            "id": pa.array(range(ROWS)),
            "image": pa.array([png(i) for i in range(ROWS)], pa.binary()),
            "caption": pa.array([CAPTIONS[i % len(CAPTIONS)] for i in range(ROWS)]),
            "embedding": pa.FixedSizeListArray.from_arrays(vectors, DIMENSION),
        }
    )


def main():
    rows = make_rows()
    size = leman.write_file("pictures.lance", rows, replace=True)
    print(f"wrote {rows.num_rows} rows of images, captions and embeddings: {size:,} bytes")

    file = leman.LanceFile("pictures.lance")
    captions = file.scan(["id", "caption"]).to_arrow()
    print(f"read two columns back: {captions.slice(0, 2).to_pylist()} ...")

    picked = file.take([499, 3, 3], ["id", "image"]).to_arrow()
    assert picked["image"][0].as_py() == png(499)
    print(f"took rows {picked['id'].to_pylist()} by number; the first image is whole")

    assert file.to_arrow().equals(rows)
    print("all rows are as they were written")


if __name__ == "__main__":
    main()
