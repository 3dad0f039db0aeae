# SPDX-License-Identifier: Apache-2.0
"""Damage Lance files and read them: damage.py FILE ...

Each file is cut short at many lengths, gets bits turned over and absurd numbers into its tail. A
read may give rows or raise a LemanError; anything else ends this program with a traceback. It runs
with little address space, so that a size from a damaged file that is believed shows as well. Prints
how many reads were refused and how many gave rows.
"""

import itertools
import resource
import sys
import tempfile
from pathlib import Path

import leman
import numpy as np

ADDRESS_BYTES_MAX = 4 << 30
BATCHES_MAX = 20
ABSURD = [0, 1, 0x7F, 0xFFFF, 0xFFFFFFFF, (1 << 63) - 1, (1 << 64) - 1]


def shortened(data):
    for length in range(0, len(data), len(data) // 30 + 1):
        yield data[:length]
    for lost in range(1, 45):
        yield data[:-lost]


def turned(data, rng):
    for at in rng.integers(0, len(data), 120):
        yield data[:at] + bytes([data[at] ^ 1 << rng.integers(0, 8)]) + data[at + 1 :]


def absurd(data):
    """The footer's numbers and those of the tables before it."""
    tail = len(data) - 40
    for value, at in itertools.product(ABSURD, range(tail - 64, len(data) - 8, 4)):
        yield data[:at] + value.to_bytes(8, "little") + data[at + 8 :]


def damaged(data):
    yield from shortened(data)
    yield from turned(data, np.random.default_rng(len(data)))
    yield from absurd(data)


def read(path):
    """Read what there is; the error when it is refused, or None."""
    try:
        file = leman.LanceFile(path)
        scan = file.scan(batch_size=500, blobs="bytes")
        for batch in itertools.islice(scan, BATCHES_MAX):
            batch.validate()
        if len(file):
            rows = np.array([len(file) // 2, 0, len(file) - 1], np.uint64)
            file.take(rows).to_arrow().validate()
    except leman.LemanError as error:
        return error
    return None


def main():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_BYTES_MAX, ADDRESS_BYTES_MAX))
    refused = given = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "damaged.lance")
        for name in sys.argv[1:]:
            for data in damaged(Path(name).read_bytes()):
                path.write_bytes(data)
                error = read(path)
                if error is None:
                    given += 1
                    continue
                assert isinstance(error, leman.MemoryLimitError) or str(path) in str(error), error
                refused += 1
    print(refused, given)


if __name__ == "__main__":
    main()
