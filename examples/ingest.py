# SPDX-License-Identifier: Apache-2.0
"""Load WebDataset shards: in parallel, with a read group, stopped in the middle and taken up again.

The shards are made here; with shards of your own, only `load()` is needed.
"""

import io
import json
import tarfile
from pathlib import Path

import leman

SHARDS, SAMPLES = 8, 50
COLUMNS = {"key": "__key__", "image": "jpg", "caption": "json.caption", "label": "cls"}


def make_shards(folder):
    folder.mkdir(exist_ok=True)
    for shard in range(SHARDS):
        with tarfile.open(folder / f"{shard:03d}.tar", "w") as archive:
            for number in range(shard * SAMPLES, (shard + 1) * SAMPLES):
                members = {
                    "jpg": bytes([number % 256]) * 2000,
                    "json": json.dumps({"caption": f"picture {number}"}).encode(),
                    "cls": str(number % 10).encode(),
                }
                for extension, data in members.items():
                    info = tarfile.TarInfo(f"{number:06d}.{extension}")
                    info.size = len(data)
                    archive.addfile(info, io.BytesIO(data))


def load(db, progress=None):
    """The whole of it; `max_parallelism` shards are read at once."""
    source = leman.webdataset("shards/{000..007}.tar", columns=COLUMNS, group_size=64)
    # Shards here are small: committing every 100 KB shows what happens when a load is stopped.
    return db.create_table("images", source, max_parallelism=4, commit_mb=0.1, progress=progress)


def main():
    make_shards(Path("shards"))
    db = leman.connect("gallery")
    db.drop_table("images", ignore_missing=True)
    try:
        load(db, progress=lambda progress: progress.commits < 2)
        print("the load was done before it could be stopped")
    except leman.CancelledError as error:
        print(f"stopped: {error}")
        print(f"committed so far: {db.open_table('images')}")
        print(f"loaded by the same call: {load(db)}")
    table = db.open_table("images")
    keys = table.to_arrow(["key"]).column("key").to_pylist()
    assert sorted(keys) == [f"{number:06d}" for number in range(SHARDS * SAMPLES)]
    result = table.append(leman.webdataset("shards", columns=COLUMNS))
    print(f"again: {result.rows} rows, {result.parts_before} shards were there")
    print(f"read group: {table.schema.field('image').metadata}")

    db.drop_table("linked", ignore_missing=True)
    linked = db.create_table("linked", leman.webdataset("shards", references=True))
    print(f"by reference: {linked}, {linked.info()['data_bytes']} bytes of data files")
    records = table.to_array_record("images.array_record", "image", options="group_size:64")
    groups = leman.ArrayRecordFile("images.array_record").group_count
    print(f"exported {records} records in {groups} groups")


if __name__ == "__main__":
    main()
