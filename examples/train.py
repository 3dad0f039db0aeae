# SPDX-License-Identifier: Apache-2.0
"""Train from a table, be killed in the middle of an epoch, and go on as if nothing had happened.

The model is a line through points, fitted by gradient descent. A first process trains without a
stop. A second one is killed, without warning, in the middle of a step; a third goes on from its
last checkpoint. Both runs see the same rows in the same order, so that the weights are the same to
the last bit.
"""

import json
import os
import signal
import subprocess
import sys

import leman
import numpy as np
import pyarrow as pa

ROWS, STEPS, KILLED_AT = 5000, 300, 137


def make_table():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, 3)).astype("f4")
    y = x @ np.array([1.5, -2.0, 0.5], "f4") + rng.normal(scale=0.1, size=ROWS).astype("f4")
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), 3)
    leman.create("points.lance", pa.table({"x": vectors, "y": y}), max_rows_per_fragment=1500)


def write_checkpoint(name, weights, state):
    """Whole or not at all: written aside, then renamed."""
    with open(f"{name}.tmp", "w") as file:
        json.dump({"weights": weights.tolist(), "feed": state}, file)
    os.replace(f"{name}.tmp", name)


def train(checkpoint, kill_at=None):
    """Train up to STEPS steps; return the weights."""
    weights = np.zeros(3)
    feed = leman.open("points.lance").feed(batch_size=32, seed=11, format="numpy")
    if os.path.exists(checkpoint):
        with open(checkpoint) as file:
            saved = json.load(file)
        weights = np.array(saved["weights"])
        feed.restore(saved["feed"])
        print(f"going on at step {feed.step}, in epoch {feed.epoch}")
    while feed.step < STEPS:
        batch = next(feed)
        error = batch["x"] @ weights - batch["y"]
        if feed.step == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        weights -= 0.05 * error @ batch["x"] / len(error)
        if feed.step % 10 == 0:
            write_checkpoint(checkpoint, weights, feed.state())
    return weights


def main():
    make_table()
    whole = train("whole.json")
    killed = subprocess.run([sys.executable, __file__, "killed.json", str(KILLED_AT)])
    assert killed.returncode == -signal.SIGKILL
    # Rows that others add meanwhile are no part of this run.
    leman.open("points.lance").append({"x": [[9.0, 9.0, 9.0]], "y": [0.0]})
    resumed = train("killed.json")
    assert (whole == resumed).all(), (whole, resumed)
    print("weights", [round(float(w), 3) for w in whole], "the same with and without the kill")
    feed = leman.open("points.lance", version=1).feed(batch_size=32, seed=11, format="numpy")
    print("step 137 trained on rows", feed.row_ids(KILLED_AT)[:5], "...")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        train(sys.argv[1], int(sys.argv[2]))
    else:
        main()
