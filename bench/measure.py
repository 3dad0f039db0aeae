# SPDX-License-Identifier: Apache-2.0
"""What the workloads share: timing sides in turn, and tables of ratios."""

import gc
import math
import time


def best_of_each(sides, repeats, before=None, slow=math.inf):
    """Best seconds of each of several calls, which take turns so that all see the same machine.

    ``before`` is called before each of them and not timed. A side that has taken more than ``slow``
    seconds has no other turn.
    """
    best = [math.inf] * len(sides)
    for turn in range(repeats):
        order = range(len(sides))
        for side in order if turn % 2 else reversed(order):
            if slow < best[side] < math.inf:
                continue
            if before:
                before()
            gc.collect()
            start = time.perf_counter()
            sides[side]()
            best[side] = min(best[side], time.perf_counter() - start)
    return best


def best_of_both(ours, theirs, repeats, before=None):
    """The same of two calls."""
    return best_of_each((ours, theirs), repeats, before)


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def table(headings, rows):
    """A Markdown table."""
    lines = [" | ".join(headings), " | ".join("---" for _ in headings)]
    lines += [" | ".join(str(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)
