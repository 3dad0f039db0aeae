# SPDX-License-Identifier: Apache-2.0
"""A function in Python: leman backfill images.lance brightness --fn brightness.py:brightness"""

import time

import leman


@leman.udf
def brightness(image: bytes) -> float:
    """The mean of all pixels of a PPM image, 0 to 1."""
    _, _, _, pixels = image.split(b"\n", 3)
    time.sleep(0.002)  # a model would take its time
    return sum(pixels) / len(pixels) / 255
