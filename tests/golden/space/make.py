# SPDX-License-Identifier: Apache-2.0
"""Make dataset.tar.gz, a dataset that Space itself has written.

Run with Python 3.11 and these packages, which are the last that Space works with:

    pip install space-datasets==0.0.11 pyarrow==14.0.2 'numpy<2' substrait==0.14.0 ray==2.9.3 \
        tensorflow-datasets==4.9.4 tensorflow-metadata==1.14.0 'protobuf<4' 'etils<1.10' \
        'pandas<2.3' importlib_resources array-record==0.8.6

tests/python/test_space.py knows what is in it.
"""

import pathlib
import shutil
import tarfile
import tempfile

import pyarrow as pa
import pyarrow.compute as pc
from space import Dataset

HERE = pathlib.Path(__file__).parent

SCHEMA = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("nested", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        ("list", pa.list_(pa.float64())),
        ("raw", pa.binary()),
        ("image", pa.binary()),
        ("mask", pa.binary()),
    ]
)


def rows(ids, image=b"image"):
    return {
        "id": ids,
        "name": [f"né{i}" if i % 5 else None for i in ids],
        "nested": [{"a": i, "b": str(i)} if i % 7 else None for i in ids],
        "list": [[float(i)] * (i % 4) for i in ids],
        "raw": [b"raw %d" % i for i in ids],
        "image": [b"%s %d " % (image, i) * i for i in ids],
        "mask": [b"mask %d" % i if i % 3 else b"" for i in ids],
    }


def write(location):
    dataset = Dataset.create(location, SCHEMA, primary_keys=["id"], record_fields=["image", "mask"])
    runner = dataset.local()
    runner.append(rows(list(range(20))))
    dataset.add_tag("first")
    runner.append(rows(list(range(20, 30))))
    runner.delete((pc.field("id") >= 5) & (pc.field("id") < 8))
    dataset.add_tag("best")
    dataset.add_tag("after/delete")
    dataset.add_branch("dev")
    dataset.set_current_branch("dev")
    dataset.local().append(rows(list(range(30, 33))))
    dataset.set_current_branch("main")
    dataset.local().upsert(rows(list(range(10, 12)), b"other"))


def plain(member):
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


folder = tempfile.mkdtemp()
write(f"{folder}/dataset")
with tarfile.open(HERE / "dataset.tar.gz", "w:gz") as tar:
    tar.add(f"{folder}/dataset", "dataset", filter=plain)
shutil.rmtree(folder)
