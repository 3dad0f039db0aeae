# SPDX-License-Identifier: Apache-2.0
"""Many writers in many processes, Leman's and pylance's, on one table.

Every writer appends rows with ids of its own and now and then deletes or updates some of them. It
writes down what was acknowledged; the table has exactly that in the end.
"""

import json
import subprocess
import sys

import lance
import leman
import pyarrow as pa
import pytest

WRITER = """
import json, sys
kind, path, number, commits = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
import pyarrow as pa
rows, failed = {}, 0

def batch(ids, text):
    return pa.table({"id": pa.array(ids, pa.int64()), "text": [text] * len(ids)})

if kind == "leman":
    import leman
    table = leman.open(path)
    append = table.append
    delete = table.delete
    update = lambda where, text: table.update(where, values={"text": text})
    Lost = leman.ConflictError
else:
    import lance
    append = lambda rows: lance.write_dataset(rows, path, mode="append")
    delete = lambda where: lance.dataset(path).delete(where)
    update = lambda where, text: lance.dataset(path).update({"text": f"'{text}'"}, where=where)
    Lost = OSError

print("ready", flush=True)
sys.stdin.readline()
for i in range(commits):
    first = number * 1_000_000 + i * 10
    try:
        if i % 10 == 8:
            delete(f"id >= {first - 30} and id < {first - 25}")
            rows = {k: v for k, v in rows.items() if not first - 30 <= k < first - 25}
        elif i % 10 == 9:
            update(f"id >= {first - 50} and id < {first - 47}", "new")
            rows.update({k: "new" for k in rows if first - 50 <= k < first - 47})
        else:
            append(batch(range(first, first + 3), "old"))
            rows.update({k: "old" for k in range(first, first + 3)})
    except Lost as error:  # refused: nothing of it may be seen
        if "onflict" not in str(error) and "retr" not in str(error).lower():
            raise
        failed += 1
print(json.dumps({"rows": rows, "failed": failed}))
"""


def run_writers(path, kinds, commits):
    command = [sys.executable, "-c", WRITER]
    writers = [
        subprocess.Popen(
            [*command, kind, path, str(number), str(commits)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for number, kind in enumerate(kinds)
    ]
    for writer in writers:
        assert writer.stdout.readline() == "ready\n"
    for writer in writers:
        writer.stdin.write("\n")
        writer.stdin.flush()
    results = []
    for kind, writer in zip(kinds, writers, strict=True):
        text, _ = writer.communicate()
        assert writer.returncode == 0
        results.append((kind, json.loads(text)))
    return results


def race(path, kinds, commits):
    schema = pa.schema([("id", pa.int64()), ("text", pa.string())])
    leman.create(path, schema.empty_table())
    results = run_writers(path, kinds, commits)
    expected = {}
    for kind, result in results:
        expected.update({int(k): v for k, v in result["rows"].items()})
        if kind == "leman":
            assert result["failed"] == 0
    table = leman.open(path)
    found = table.to_arrow().to_pylist()
    assert len(found) == len(expected), "a row is lost or there twice"
    assert {row["id"]: row["text"] for row in found} == expected
    dataset = lance.dataset(path)
    assert dataset.version == table.version
    assert dataset.to_table().to_pylist() == found
    ids = table.scan(["id"], with_row_id=True).to_arrow()["_rowid"].to_pylist()
    assert len(set(ids)) == len(ids)
    dataset.validate()


def test_every_acknowledged_write_is_there_once(tmp_path):
    race(str(tmp_path / "t.lance"), ["leman", "pylance"] * 4, 200)


def test_leman_alone(tmp_path):
    race(str(tmp_path / "t.lance"), ["leman"] * 4, 50)


ROW = pa.table({"id": [7], "y": pa.array([70], pa.int32())})


def append_while(path, meanwhile):
    """Append ROW; others have their turn when it is read and not yet committed."""
    table = leman.create(path, {"id": [1, 2]})
    table.add_columns({"y": "cast(id as int)"})

    def batches():
        yield from ROW.to_batches()
        meanwhile(path)

    table.append(batches())
    return leman.open(path)


def widen(path):
    leman.open(path).alter_columns({"path": "y", "data_type": pa.int64()})


def widen_by_pylance(path):
    lance.dataset(path).alter_columns({"path": "y", "data_type": pa.int64()})


def drop_and_add(path):
    table = leman.open(path)
    table.drop_columns(["y"])
    table.add_columns({"z": "cast(id as string)"})


def drop_and_add_by_pylance(path):
    lance.dataset(path).drop_columns(["y"])
    lance.dataset(path).add_columns({"z": "cast(id as int)"})


@pytest.mark.parametrize(
    "meanwhile", [widen, widen_by_pylance, drop_and_add, drop_and_add_by_pylance]
)
def test_an_append_does_not_lose_values_to_another_column(tmp_path, meanwhile):
    path = str(tmp_path / "t.lance")
    with pytest.raises(leman.ConflictError, match='column "y" is another one since version 2'):
        append_while(path, meanwhile)
    assert leman.open(path).to_arrow()["id"].to_pylist() == [1, 2]
    assert lance.dataset(path).to_table()["id"].to_pylist() == [1, 2]


def rename(path):
    leman.open(path).rename_column("y", "z")


def drop(path):
    leman.open(path).drop_columns(["y"])


def add(path):
    lance.dataset(path).add_columns({"z": "id + 1"})


@pytest.mark.parametrize(
    ("meanwhile", "row"),
    [
        (rename, {"id": 7, "z": 70}),
        (drop, {"id": 7}),
        (add, {"id": 7, "y": 70, "z": None}),
    ],
)
def test_an_append_fits_columns_that_others_change(tmp_path, meanwhile, row):
    table = append_while(str(tmp_path / "t.lance"), meanwhile)
    assert table.to_arrow().to_pylist()[-1] == row
    assert len(table) == 3


FAILING = """
import sys
import leman, pyarrow as pa

def rows():
    yield pa.record_batch({"id": [1]})
    raise RuntimeError("no more")

print("ready", flush=True)
failed = 0
while True:
    try:
        leman.create(sys.argv[1], rows())
    except RuntimeError:
        failed += 1
        if failed == 10:
            print("failed", flush=True)
    except (leman.ExistsError, leman.NotFoundError):  # it is there, or its folder was renamed
        pass
"""


def test_a_create_that_fails_does_not_disturb_another(tmp_path):
    """The one removes the folders of which the other has just made sure."""
    path = tmp_path / "t.lance"
    failing = subprocess.Popen(
        [sys.executable, "-c", FAILING, str(path)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert failing.stdout.readline() == "ready\n"
        for i in range(100):
            table = leman.create(path, {"id": [i]})
            assert table.to_arrow().to_pylist() == [{"id": i}]
            path.rename(tmp_path / f"{i}.lance")
        assert failing.stdout.readline() == "failed\n"
    finally:
        failing.kill()
        failing.communicate()
