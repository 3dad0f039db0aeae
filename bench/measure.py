# SPDX-License-Identifier: Apache-2.0
"""What the workloads share: timing two sides in turn, and tables of ratios."""

import gc
import math
import time


def best_of_both(ours, theirs, repeats, before=None):
    """Best seconds of each of two calls, which take turns so that both see the same machine.

    ``before`` is called before each of them and not timed.
    """
    best = [math.inf, math.inf]
    for turn in range(repeats):
        for side in (0, 1) if turn % 2 else (1, 0):
            if before:
                before()
            gc.collect()
            start = time.perf_counter()
            (ours, theirs)[side]()
            best[side] = min(best[side], time.perf_counter() - start)
    return best


def geometric_mean(values):
    values = list(values)
    return math.exp(sum(map(math.log, values)) / len(values))


def table(headings, rows):
    """A Markdown table."""
    lines = [" | ".join(headings), " | ".join("---" for _ in headings)]
    lines += [" | ".join(str(cell) for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in lines)
