# SPDX-License-Identifier: Apache-2.0
"""What the workloads share: timing sides in turn, plain reads, and tables of ratios."""

import gc
import math
import os
import subprocess
import time

# PROGRAM FILE THREADS BATCHES SEED PAST: as many rows as BATCHES of 64 have, of 20,000 bytes, from
# random places. PAST is 1 to read past the system's cache: whole blocks, as the device has them.
PREAD = r"""
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
enum { BLOCK = 4096, ROW = 20000 };
static int file, past;
static uint64_t places;
static atomic_long left;
static void *read_rows(void *seed)
{
    unsigned state = (unsigned)(uintptr_t)seed;
    char *row = aligned_alloc(BLOCK, 8 * BLOCK);
    while (atomic_fetch_sub(&left, 1) > 0) {
        uint64_t place = ((uint64_t)rand_r(&state) << 20 ^ (uint64_t)rand_r(&state)) % places;
        uint64_t from = place * ROW, to = from + ROW;
        if (past) {
            from -= from % BLOCK;
            to += BLOCK - 1 - (to + BLOCK - 1) % BLOCK;
        }
        if (pread(file, row, to - from, (off_t)from) < ROW)
            exit(1);
    }
    free(row);
    return NULL;
}
static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
int main(int count, char **word)
{
    int threads = atoi(word[2]);
    long batches = atol(word[3]);
    pthread_t thread[256];
    double start;
    (void)count;
    past = atoi(word[5]);
    file = open(word[1], past ? O_RDONLY | O_DIRECT : O_RDONLY);
    if (file < 0) { /* not every file system can */
        past = 0;
        file = open(word[1], O_RDONLY);
    }
    places = (uint64_t)lseek(file, 0, SEEK_END) / 20000;
    left = batches * 64;
    start = now();
    for (int i = 0; i < threads; i++)
        pthread_create(&thread[i], NULL, read_rows, (void *)(uintptr_t)(i * 7919 + atoi(word[4])));
    for (int i = 0; i < threads; i++)
        pthread_join(thread[i], NULL);
    printf("%f\n", (double)batches * 64 / (now() - start));
    return 0;
}
"""


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


class RawReads:
    """A C program whose threads read rows from random places, as fast as the system gives them."""

    def __init__(self, folder):
        source, self._program = os.path.join(folder, "pread.c"), os.path.join(folder, "pread")
        with open(source, "w") as file:
            file.write(PREAD)
        subprocess.run(["cc", "-O2", "-o", self._program, source, "-lpthread"], check=True)

    def rows_per_second(self, table, threads, seed, batches, past=False):
        """Of the only data file of a table, through the system's cache or past it."""
        (name,) = os.listdir(os.path.join(table, "data"))
        path = os.path.join(table, "data", name)
        words = [self._program, path, str(threads), str(batches), str(seed), str(int(past))]
        return float(subprocess.run(words, capture_output=True, check=True).stdout)
