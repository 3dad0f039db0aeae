# SPDX-License-Identifier: Apache-2.0
"""Compaction, diff and cleanup beside pylance: its rows stay, and its indices stay true."""

import datetime
import random

import lance
import leman
import numpy as np
import pyarrow as pa
import pytest

NOW = datetime.timedelta(0)


def rows(first, count):
    ids = range(first, first + count)
    vectors = np.random.default_rng(first).random(count * 8).astype("f4")
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "k": [i % 5 for i in ids],
            "tags": [["a", "b"][: i % 3] for i in ids],
            "text": [f"word{i % 7} more" for i in ids],
            "vector": pa.FixedSizeListArray.from_arrays(vectors, 8),
        }
    )


def make(path, stable=True, version="2.1", fragments=4):
    dataset = lance.write_dataset(
        rows(0, 300), path, enable_stable_row_ids=stable, data_storage_version=version
    )
    for i in range(1, fragments):
        dataset = lance.write_dataset(rows(300 * i, 300), path, mode="append")
    return dataset


def ids(table):
    return sorted(table["id"].to_pylist())


QUERIES = {
    "BTREE": ("id", lambda ds: ds.to_table(filter="id >= 100 and id < 1100", columns=["id"])),
    "BITMAP": ("k", lambda ds: ds.to_table(filter="k = 4", columns=["id"])),
    "LABEL_LIST": (
        "tags",
        lambda ds: ds.to_table(filter="array_has_any(tags, ['b'])", columns=["id"]),
    ),
    "INVERTED": ("text", lambda ds: ds.to_table(full_text_query="word6", columns=["id"])),
    "NGRAM": ("text", lambda ds: ds.to_table(filter="contains(text, 'word6')", columns=["id"])),
    "ZONEMAP": ("id", lambda ds: ds.to_table(filter="id > 500", columns=["id"])),
    "BLOOMFILTER": ("id", lambda ds: ds.to_table(filter="id = 500", columns=["id"])),
    "IVF_FLAT": (
        "vector",
        lambda ds: ds.to_table(
            nearest={"column": "vector", "q": [0.5] * 8, "k": 60}, columns=["id"]
        ),
    ),
}


@pytest.mark.parametrize("stable", [True, False], ids=["stable", "addresses"])
@pytest.mark.parametrize("kind", QUERIES)
def test_indices_answer_after_compaction(tmp_path, kind, stable):
    path = str(tmp_path / "t.lance")
    column, query = QUERIES[kind]
    dataset = make(path, stable)
    if column == "vector":
        dataset.create_index(column, kind, num_partitions=1)
    else:
        dataset.create_scalar_index(column, kind)
    for first in (1200, 1250):
        dataset = lance.write_dataset(rows(first, 50), path, mode="append")
    dataset.delete("id % 3 = 0")
    dataset.update({"k": "4", "text": "'word6 more'"}, where="id % 10 = 1")
    before = ids(query(lance.dataset(path)))
    assert before

    result = leman.open(path).compact(1000)
    assert result.fragments_removed == 7
    dataset = lance.dataset(path)
    dataset.validate()
    assert ids(query(dataset)) == before
    dataset.optimize.optimize_indices()
    assert ids(query(lance.dataset(path))) == before


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_compaction_keeps_rows_ids_and_versions(tmp_path, version):
    path = str(tmp_path / "t.lance")
    columns = ["id", "_row_created_at_version", "_row_last_updated_at_version"]
    dataset = make(path, version=version)
    dataset.delete("id % 10 = 3")
    dataset.update({"text": "'changed'"}, where="id % 50 = 7")
    dataset.add_columns({"twice": "id * 2"})
    before = dataset.to_table(with_row_id=True).sort_by("id")
    stamps = dataset.to_table(columns=columns).sort_by("id")

    leman.open(path).compact(700)
    dataset = lance.dataset(path)
    dataset.validate()
    assert dataset.to_table(with_row_id=True).sort_by("id") == before
    assert dataset.to_table(columns=columns).sort_by("id") == stamps
    assert all(f.metadata.num_deletions == 0 for f in dataset.get_fragments())

    # pylance goes on from there.
    dataset.update({"k": "1"}, where="id = 44")
    dataset.optimize.compact_files()
    assert lance.dataset(path).count_rows() == before.num_rows
    assert leman.open(path).compact().fragments_removed == 0


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_compaction_keeps_blobs(tmp_path, version):
    path = str(tmp_path / "t.lance")
    sizes = [0, 10, 70_000, 5_000_000]
    values = [None if i % 9 == 8 else bytes([i]) * sizes[i % 4] for i in range(20)]

    def part(first, last):
        ids = pa.array(range(first, last), pa.int64())
        if version == "2.2":
            return pa.table({"id": ids, "b": lance.blob_array(values[first:last])})
        field = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
        schema = pa.schema([("id", pa.int64()), field])
        return pa.table([ids, pa.array(values[first:last], pa.large_binary())], schema)

    lance.write_dataset(part(0, 10), path, data_storage_version=version, enable_stable_row_ids=True)
    lance.write_dataset(part(10, 20), path, mode="append")
    leman.open(path).delete("id = 3")
    table = leman.open(path)
    table.compact()
    table.cleanup(NOW, delete_unverified=True)

    dataset = lance.dataset(path)
    dataset.validate()
    assert len(dataset.get_fragments()) == 1
    for i, value in enumerate(values):
        if i != 3 and value:
            assert dataset.take_blobs("b", ids=[i])[0].readall() == value


def test_diff_agrees_with_the_rows_of_both_versions(tmp_path):
    path = str(tmp_path / "t.lance")
    dataset = make(path, fragments=2)
    dataset.update({"k": "-1"}, where="id % 10 = 1")
    dataset.delete("id % 10 = 2")
    dataset.add_columns({"twice": "id * 2"})
    dataset.optimize.compact_files()
    dataset.update({"k": "-2"}, where="id % 20 = 3")
    dataset.add_columns(pa.field("empty", pa.int64()))
    leman.open(path).compact()
    dataset = lance.dataset(path)
    upserted = dataset.to_table(filter="id = 5").to_pylist() * 2
    upserted = [{**row, "id": i, "k": -3} for i, row in zip([5, 9000], upserted, strict=True)]
    merge = dataset.merge_insert("id").when_matched_update_all().when_not_matched_insert_all()
    merge.execute(pa.Table.from_pylist(upserted, dataset.schema))
    dataset.drop_columns(["twice"])

    states = {}
    for version in (item["version"] for item in dataset.versions()):
        table = lance.dataset(path, version=version).to_table(with_row_id=True)
        states[version] = {row["_rowid"]: row for row in table.to_pylist()}
    table = leman.open(path)
    for old, before in states.items():
        for new, after in states.items():
            if new < old:
                continue
            expected = changes_between(before, after)
            changes = table.diff(old, new).to_arrow().to_pylist()
            assert {row["_rowid"]: row["_change"] for row in changes} == expected, (old, new)
            for row in changes:
                source = before if row["_change"] == "delete" else after
                for name, value in source[row["_rowid"]].items():
                    assert row.get(name, value) == value


class History:
    """Random commits by Leman and pylance, without two that give a row the same value."""

    def __init__(self, seed, path):
        self.random = random.Random(seed)
        self.path = path
        self.count = 0
        self.log = []
        leman.create(path, self.rows(60), max_rows_per_fragment=20)

    def rows(self, count, ids=None):
        ids = range(self.count, self.count + count) if ids is None else ids
        self.count += count
        return pa.table({"id": list(ids), "x": [self.random.random() for _ in ids]})

    def step(self):
        kinds = ["append", "delete", "update", "upsert", "compact", "restore", "restore"]
        kinds += ["add", "add", "fill", "drop", "drop", "rename", "overwrite"]
        kind = self.random.choice(kinds)
        theirs = self.random.random() < 0.5
        self.log.append(f"{'pylance' if theirs else 'leman'}.{kind}")
        table = lance.dataset(self.path) if theirs else leman.open(self.path)
        getattr(self, kind)(table, theirs)

    def append(self, _, theirs):
        if theirs:
            lance.write_dataset(self.rows(9), self.path, mode="append")
        else:
            leman.open(self.path).append(self.rows(9))

    def delete(self, table, _):
        table.delete(f"id % 11 = {self.random.randrange(11)}")

    def update(self, table, theirs):
        where, value = f"id % 7 = {self.random.randrange(7)}", {"x": f"x + {self.random.random()}"}
        table.update(value, where=where) if theirs else table.update(where, value)

    def upsert(self, table, _):
        some = sorted(self.random.sample(range(self.count), 5))
        merge = table.merge_insert("id").when_matched_update_all()
        merge.when_not_matched_insert_all().execute(self.rows(0, some))

    def compact(self, table, theirs):
        table.optimize.compact_files() if theirs else table.compact()

    def restore(self, _, theirs):
        version = self.random.choice(leman.open(self.path).versions())["version"]
        if theirs:
            lance.dataset(self.path, version=version).restore()
        else:
            leman.open(self.path).restore(version)

    def add(self, table, _):
        # Ids of fields are used again, so types differ where that is so.
        value = self.random.choice(["x * 2", "'a text'", "cast(id as int)"])
        table.add_columns({f"c{len(self.log)}": value})

    def fill(self, table, _):
        table.add_columns(pa.schema([(f"c{len(self.log)}", pa.int16())]))

    def added(self):
        return [name for name in lance.dataset(self.path).schema.names if name[0] == "c"]

    def drop(self, table, _):
        for name in self.added()[-1:]:
            table.drop_columns([name])

    def rename(self, table, _):
        for name in self.added()[:1]:
            table.alter_columns({"path": name, "name": name + "_"})

    def overwrite(self, _, theirs):
        rows = self.rows(5)
        if theirs:
            lance.write_dataset(rows, self.path, mode="overwrite")
        else:
            leman.open(self.path).overwrite(rows)

    def state(self, version):
        """By row id, values by column; one that was renamed counts as the same."""
        rows = lance.dataset(self.path, version=version).to_table(with_row_id=True).to_pylist()
        return {row["_rowid"]: {k.rstrip("_"): v for k, v in row.items()} for row in rows}


def changes_between(before, after):
    expected = {i: "insert" for i in after.keys() - before.keys()}
    expected |= {i: "delete" for i in before.keys() - after.keys()}
    for i in after.keys() & before.keys():
        common = after[i].keys() & before[i].keys()
        if any(after[i][name] != before[i][name] for name in common):
            expected[i] = "update"
    return expected


@pytest.mark.parametrize("seed", range(12))
def test_diff_agrees_with_the_rows_after_random_commits(tmp_path, seed):
    history = History(seed, str(tmp_path / "t.lance"))
    for _ in range(12):
        history.step()
    table = leman.open(history.path)
    states = {item["version"]: history.state(item["version"]) for item in table.versions()}
    for old, before in states.items():
        for new in range(old, len(states) + 1):
            changes = table.diff(old, new).to_pylist()
            found = {row["_rowid"]: row["_change"] for row in changes}
            assert found == changes_between(before, states[new]), (old, new, history.log)
            for row in changes:
                source = before if row.pop("_change") == "delete" else states[new]
                source = source[row["_rowid"]]
                for name, value in row.items():
                    assert value == source.get(name.rstrip("_")), (old, new, name, history.log)


def test_cleanup_leaves_what_pylance_needs(tmp_path):
    path = str(tmp_path / "t.lance")
    dataset = make(path)
    dataset.create_scalar_index("id", "BTREE")
    dataset.tags.create("kept", 2)
    dataset.create_branch("work", 3)
    dataset.delete("id % 3 = 0")
    dataset.optimize.compact_files()
    rows_at = {v: lance.dataset(path, version=v).count_rows() for v in (2, 3)}
    newest = lance.dataset(path)
    before = newest.to_table(with_row_id=True)

    table = leman.open(path)
    planned = table.cleanup(NOW, delete_unverified=True, dry_run=True)
    result = table.cleanup(NOW, delete_unverified=True)
    assert result == planned
    assert result.versions_removed > 0
    assert [item["version"] for item in lance.dataset(path).versions()] == [2, 3, newest.version]

    for version, count in rows_at.items():
        assert lance.dataset(path, version=version).to_table().num_rows == count
    assert lance.dataset(path).checkout_version(("work", None)).to_table().num_rows == rows_at[3]
    dataset = lance.dataset(path)
    dataset.validate()
    assert dataset.to_table(with_row_id=True) == before
    assert dataset.to_table(filter="id = 500").num_rows == 1
    # Nothing is left for pylance to clean.
    stats = dataset.cleanup_old_versions(
        older_than=NOW, delete_unverified=True, error_if_tagged_old_versions=False
    )
    assert stats.old_versions == stats.data_files_removed == stats.index_files_removed == 0
    assert stats.deletion_files_removed == 0
