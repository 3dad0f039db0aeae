#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Load WebDataset shards into tables, and ArrayRecord files, beside other programs.

Workloads: samples of a binary and a JSON text from tar shards into a table, beside webdataset or
tarfile with pylance, and beside copying the shards with the same syncs; the same by reference;
ArrayRecord files written and read, beside array_record. Sides take turns in one process.

    bench/ingest.py [--only NAME ...] [--scale 1.0] [--markdown]

--markdown prints the page docs/bench/ingest.md.
"""

import argparse
import io
import json
import os
import platform
import shutil
import sys
import tarfile
import tempfile
from importlib import metadata, util

from measure import best_of_each, table

SAMPLES, SAMPLE_BYTES, SHARDS = 20_000, 50_000, 20
RECORDS, RECORD_BYTES = 20_000, 20_000
REPEATS = 3
RECORD_REPEATS = 9  # these are short, and what memory costs differs from turn to turn
SLOW_SECONDS = 20
TITLE = "Loading, beside other programs"
PAGE = """\
# {title}

How long it takes to load shards and to read and write ArrayRecord files, with the command

    .venv/bin/python bench/ingest.py{scale} --markdown > docs/bench/ingest.md

which prints this page. Ratios are the other side's time over Leman's: above 1 Leman is faster.
Sides take turns in one process; times are the best of {repeats} turns, of {records} with
ArrayRecord, or the only one of a side that takes longer than {slow} s. Leman's tables are durable
when a load returns; pylance does not wait for the device, and neither does array_record: its files
are compared with `durable=False`, and the time until Leman's are on the device stands beside it.

Measured on {machine},
with {versions}.
Other programs run there at the same time, which slows down all sides: between two runs a ratio has
differed by up to a factor of two.
"""


def make_shards(folder, samples, shards):
    os.makedirs(folder)
    for shard in range(shards):
        with tarfile.open(f"{folder}/{shard:03d}.tar", "w", format=tarfile.USTAR_FORMAT) as archive:
            for number in range(shard, samples, shards):
                text = json.dumps({"caption": f"caption {number}", "width": number})
                for extension, data in (("jpg", os.urandom(SAMPLE_BYTES)), ("json", text.encode())):
                    info = tarfile.TarInfo(f"{number:08d}.{extension}")
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))


def paths(folder):
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


def read_webdataset(folder):
    import webdataset

    for sample in webdataset.WebDataset(paths(folder), shardshuffle=False):
        yield sample["__key__"], sample["jpg"], sample["json"]


def read_tarfile(folder):
    for path in paths(folder):
        with tarfile.open(path, "r|") as archive:
            key, image = None, None
            for member in archive:
                stem, _, extension = member.name.partition(".")
                data = archive.extractfile(member).read()
                if extension == "json":
                    yield key, image, data
                else:
                    key, image = stem, data


def batches(samples, schema):
    import pyarrow as pa

    keys, images, texts = [], [], []

    def batch():
        arrays = [pa.array(keys), pa.array(images), pa.array([json.loads(t) for t in texts])]
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    for key, image, text in samples:
        keys.append(key)
        images.append(image)
        texts.append(text)
        if len(keys) == 256:
            yield batch()
            keys, images, texts = [], [], []
    if keys:
        yield batch()


def with_pylance(read, folder, target):
    import lance
    import pyarrow as pa

    kind = pa.struct([("caption", pa.string()), ("width", pa.int64())])
    schema = pa.schema([("__key__", pa.string()), ("jpg", pa.binary()), ("json", kind)])
    reader = pa.RecordBatchReader.from_batches(schema, batches(read(folder), schema))
    lance.write_dataset(reader, target, mode="overwrite")


def copy_shards(folder, target):
    os.makedirs(target, exist_ok=True)
    for path in paths(folder):
        copy = os.path.join(target, os.path.basename(path))
        shutil.copyfile(path, copy)
        with open(copy, "rb") as file:
            os.fsync(file.fileno())


def load_shards(scratch, scale):
    import leman

    folder, samples = f"{scratch}/shards", max(int(SAMPLES * scale), SHARDS)
    make_shards(folder, samples, SHARDS)
    megabytes = sum(map(os.path.getsize, paths(folder))) / 1e6

    def ours(references):
        target = f"{scratch}/leman.lance"
        loaded = leman.create(target, leman.webdataset(folder, references=references)).loaded
        assert loaded.rows_committed == samples

    sides = {
        "Leman": lambda: ours(False),
        "Leman, by reference": lambda: ours(True),
        "tarfile, pylance": lambda: with_pylance(read_tarfile, folder, f"{scratch}/p.lance"),
        "copy of the shards, synced": lambda: copy_shards(folder, f"{scratch}/copy"),
    }
    if util.find_spec("webdataset"):
        sides["webdataset, pylance"] = lambda: with_pylance(
            read_webdataset, folder, f"{scratch}/w.lance"
        )

    def before():
        for name in ("leman.lance", "p.lance", "w.lance", "copy"):
            shutil.rmtree(f"{scratch}/{name}", ignore_errors=True)
        os.sync()

    best = best_of_each(list(sides.values()), REPEATS, before, SLOW_SECONDS)
    rows = [
        (name, f"{seconds:.2f} s", f"{megabytes / seconds:,.0f} MB/s", f"{seconds / best[0]:.1f}")
        for name, seconds in zip(sides, best, strict=True)
    ]
    title = f"{samples:,} samples of {SAMPLE_BYTES // 1000} KB and a JSON text in {SHARDS} shards"
    return title, table(["side", "time", "of the shards", "time over Leman's"], rows)


def array_records(scratch, scale):
    import leman
    import pyarrow as pa
    from array_record.python.array_record_module import ArrayRecordReader, ArrayRecordWriter

    count = max(int(RECORDS * scale), 64)
    half = RECORD_BYTES // 2
    records = [os.urandom(half) + b"ab" * (half // 2) for _ in range(count)]
    batch = pa.table({"record": records})
    cores = os.cpu_count()
    rows = []
    for options in ("group_size:1", "group_size:64", "group_size:64,uncompressed"):
        path = f"{scratch}/{options.replace(':', '-')}"

        def write_theirs(path=path, options=options):
            writer = ArrayRecordWriter(f"{path}.theirs", f"{options},max_parallelism:{cores}")
            for record in records:
                writer.write(record)
            writer.close()

        def write_ours(path=path, options=options, durable=False):
            leman.write_array_record(f"{path}.ours", batch, options=options, durable=durable)

        def read_theirs(path=path):
            reader = ArrayRecordReader(
                f"{path}.theirs", f"readahead_buffer_size:{16 << 20},max_parallelism:{cores}"
            )
            assert len(reader.read_all()) == count
            reader.close()

        def read_ours(path=path):
            assert leman.ArrayRecordFile(f"{path}.theirs").to_arrow().num_rows == count

        def before(path=path):
            for name in (f"{path}.ours", f"{path}.theirs"):
                if os.path.exists(name):
                    os.remove(name)

        def write_durably(write=write_ours):
            write(durable=True)

        ours, synced, theirs = best_of_each(
            (write_ours, write_durably, write_theirs), RECORD_REPEATS, before
        )
        rows.append(record_line("write", options, ours, synced, theirs))
        write_theirs()
        ours, theirs = best_of_each((read_ours, read_theirs), RECORD_REPEATS)
        rows.append(record_line("read", options, ours, None, theirs))
    title = f"ArrayRecord: {count:,} records of {RECORD_BYTES // 1000} KB, half of it random"
    return title, table(["", "options", "Leman", "durable", "array_record", "ratio"], rows)


def record_line(what, options, ours, synced, theirs):
    durable = "" if synced is None else f"{synced:.2f} s"
    return what, options, f"{ours:.2f} s", durable, f"{theirs:.2f} s", f"{theirs / ours:.1f}"


WORKLOADS = {"shards": load_shards, "array_record": array_records}


def machine():
    with open("/proc/cpuinfo") as file:
        names = [line.split(":")[1].strip() for line in file if line.startswith("model name")]
    return f"{os.cpu_count()} processors ({names[0] if names else platform.machine()})"


def versions():
    names = ["pylance", "pyarrow", "array_record", "webdataset"]
    found = [f"{name} {metadata.version(name)}" for name in names if util.find_spec(MODULES[name])]
    return ", ".join(found)


MODULES = {
    "pylance": "lance",
    "pyarrow": "pyarrow",
    "array_record": "array_record",
    "webdataset": "webdataset",
}


def main():
    parser = argparse.ArgumentParser(description=TITLE)
    parser.add_argument("--only", nargs="+", choices=WORKLOADS, default=list(WORKLOADS))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--markdown", action="store_true")
    arguments = parser.parse_args()
    if arguments.markdown:
        print(
            PAGE.format(
                title=TITLE,
                repeats=REPEATS,
                records=RECORD_REPEATS,
                slow=SLOW_SECONDS,
                machine=machine(),
                versions=versions(),
                scale=f" --scale {arguments.scale:g}" if arguments.scale != 1 else "",
            ),
            flush=True,
        )
    for name in arguments.only:
        with tempfile.TemporaryDirectory(prefix="leman-bench-") as scratch:
            title, text = WORKLOADS[name](scratch, arguments.scale)
        print(f"## {title}\n\n{text}\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
