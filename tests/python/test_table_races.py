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
