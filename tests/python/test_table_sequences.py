# SPDX-License-Identifier: Apache-2.0
"""A table goes through random operations by Leman and by pylance in turns.

A model in plain Python says what the rows are after each of them; both programs have to agree with
it and with each other. A failure names its seed: LEMAN_SEED=17 runs that sequence alone.
"""

import datetime
import os
import random
import shutil
from collections import Counter

import lance
import leman
import pyarrow as pa
import pytest

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("x", pa.int32()),
        pa.field("text", pa.string()),
        pa.field("vec", pa.list_(pa.float32(), 4)),
        pa.field("list", pa.list_(pa.int16())),
    ]
)


class Sequence:
    schema = SCHEMA

    def __init__(self, seed, path):
        self.random = random.Random(seed)
        self.path = path
        self.rows = {}  # by id
        self.next_id = 0
        self.columns = [field.name for field in self.schema]
        self.log = []
        self.in_place = Counter()  # our operations that left the rows where they were

    def make_rows(self, ids):
        r = self.random
        return [
            {
                "id": i,
                "x": r.choice([None, r.randrange(-50, 50)]),
                "text": r.choice([None, "", "a" * r.randrange(300), f"t{r.randrange(5)}"]),
                "vec": r.choice([None, [r.random() for _ in range(4)]]),
                "list": r.choice([None, [r.randrange(9) for _ in range(r.randrange(4))]]),
            }
            for i in ids
        ]

    def table_of(self, rows):
        fields = [field for field in self.schema if field.name in self.columns]
        return pa.Table.from_pylist(rows, pa.schema(fields))

    def fresh_rows(self):
        count = self.random.choice([1, 3, 40])
        ids = range(self.next_id, self.next_id + count)
        self.next_id += count
        return self.table_of(self.make_rows(ids))

    def keep(self, table):
        """Columns that the rows lack stay as they are in rows that are there."""
        for row in table.to_pylist():
            before = self.rows.get(row["id"], dict.fromkeys(self.columns))
            self.rows[row["id"]] = before | row

    def some_ids(self):
        ids = sorted(self.rows)
        return self.random.sample(ids, min(len(ids), self.random.randrange(1, 6)))

    # Operations: each one by us or by them.

    def create(self, ours):
        table = self.fresh_rows()
        stable = self.random.random() < 0.7
        version = self.random.choice(["2.1", "2.2"] if ours else ["2.0", "2.1", "2.2"])
        size = self.random.choice([10, 1000])
        if ours:
            leman.create(self.path, table, data_storage_version=version, max_rows_per_fragment=size)
        else:
            lance.write_dataset(
                table,
                self.path,
                data_storage_version=version,
                enable_stable_row_ids=stable,
                max_rows_per_file=size,
            )
        self.keep(table)

    def append(self, ours):
        table = self.fresh_rows()
        if ours:
            leman.open(self.path).append(table)
        else:
            lance.write_dataset(table, self.path, mode="append")
        self.keep(table)

    def delete(self, ours):
        ids = self.some_ids()
        where = f"id in ({', '.join(map(str, ids))})" if ids else "id < 0"
        if ours:
            assert leman.open(self.path).delete(where) == len(ids)
        else:
            lance.dataset(self.path).delete(where)
        for i in ids:
            del self.rows[i]

    def note_in_place(self, operation, table):
        made = lance.dataset(self.path).read_transaction(table.version)
        self.in_place[operation] += made.operation.update_mode == "rewrite_columns"

    def update(self, ours):
        low = self.random.randrange(-50, 50)
        where = f"x > {low}"
        if ours:
            table = leman.open(self.path)
            if table.update(where, {"x": "x - 60"}, values={"text": "set"}):
                self.note_in_place("update", table)
        else:
            lance.dataset(self.path).update({"x": "x - 60", "text": "'set'"}, where=where)
        for row in self.rows.values():
            if row["x"] is not None and row["x"] > low:
                row["x"] -= 60
                row["text"] = "set"

    def upsert(self, ours):
        ids = self.some_ids() + [self.next_id]
        self.next_id += 1
        table = self.table_of(self.make_rows(ids))
        if ours:
            leman.open(self.path).upsert(table, on="id")
        else:
            merge = lance.dataset(self.path).merge_insert("id").when_matched_update_all()
            merge.when_not_matched_insert_all().execute(table)
        self.keep(table)

    def upsert_some_columns(self, ours):
        """Other columns stay: Leman does what is less, pylance writes the column again."""
        ids = self.random.choice([self.some_ids(), sorted(self.rows)])
        if self.random.random() < 0.5:
            ids.append(self.next_id)
            self.next_id += 1
        rows = self.table_of(self.make_rows(ids)).select(["id", "x"])
        if ours:
            table = leman.open(self.path)
            if table.upsert(rows, on="id").updated:
                self.note_in_place("upsert", table)
        elif rows.num_rows:
            merge = lance.dataset(self.path).merge_insert("id").when_matched_update_all()
            merge.when_not_matched_insert_all().execute(rows)
        self.keep(rows)

    def compact(self, ours):
        if ours:
            leman.open(self.path).compact()
        else:
            lance.dataset(self.path).optimize.compact_files()

    def add_column(self, ours):
        name = f"c{len(self.log)}"
        if ours:
            leman.open(self.path).add_columns({name: "x * 2"})
        else:
            lance.dataset(self.path).add_columns({name: "x * 2"})
        self.columns.append(name)
        for row in self.rows.values():
            row[name] = None if row["x"] is None else row["x"] * 2

    def drop_column(self, ours):
        spare = [name for name in self.columns if name not in ("id", "x", "text", "pad")]
        if not spare:
            return
        name = self.random.choice(spare)
        if ours:
            leman.open(self.path).drop_columns([name])
        else:
            lance.dataset(self.path).drop_columns([name])
        self.columns.remove(name)
        for row in self.rows.values():
            row.pop(name, None)

    def restore(self, ours):
        """Back to the version before, and forth again: what is read does not change."""
        version = lance.dataset(self.path).version
        if version < 2:
            return
        if ours:
            leman.open(self.path).restore(version - 1)
            leman.open(self.path).restore(version)
        else:
            lance.dataset(self.path, version=version - 1).restore()
            lance.dataset(self.path, version=version).restore()

    def check(self):
        ours = leman.open(self.path)
        theirs = lance.dataset(self.path)
        assert ours.version == theirs.version
        mine = ours.scan(with_row_id=True).to_arrow().to_pylist()
        assert mine == theirs.to_table(with_row_id=True).to_pylist()
        found = {}
        for row in mine:
            row.pop("_rowid")
            found[row["id"]] = row
        assert len(found) == len(mine)
        rounded = self.table_of(list(self.rows.values())) if not self.added() else None
        if rounded is not None:
            expected = {row["id"]: row for row in rounded.to_pylist()}
            assert found == expected
        else:
            assert found.keys() == self.rows.keys()
            for i, row in self.rows.items():
                assert {k: found[i][k] for k in ("x", "text")} == {k: row[k] for k in ("x", "text")}
                for name in self.added():
                    assert found[i][name] == row.get(name)

    def added(self):
        return [name for name in self.columns if name not in self.schema.names]

    def run(self):
        steps = ["append", "append", "delete", "update", "upsert", "upsert_some_columns", "restore"]
        steps += [name for name in ("compact", "add_column", "drop_column") if self.has(name)]
        self.step("create")
        for _ in range(6):
            self.step(self.random.choice(steps))
        lance.dataset(self.path).validate()

    @staticmethod
    def has(name):
        method = {"compact": "compact", "add_column": "add_columns", "drop_column": "drop_columns"}
        return hasattr(leman.Table, method[name])

    def step(self, name):
        ours = self.random.random() < 0.5
        self.log.append(f"{'leman' if ours else 'pylance'}.{name}")
        getattr(self, name)(ours)
        self.check()


class IndexedSequence(Sequence):
    """The same with indices of pylance: what they answer is what a scan without them finds."""

    KINDS = (
        ("id", "BTREE"),
        ("x", "BTREE"),
        ("x", "BITMAP"),
        ("text", "BTREE"),
        ("text", "INVERTED"),
    )
    KINDS += (("text", "NGRAM"), ("id", "ZONEMAP"), ("x", "BLOOMFILTER"), ("list", "LABEL_LIST"))
    FILTERS = (
        "id < 30",
        "id = 7",
        "x > 0",
        "x is null",
        "x in (3, -57, 20)",
        "not (x = 3)",
        "text = 'set'",
        "contains(text, 'aaa')",
        "text like 't%' or x < -10",
        "array_has(list, 4)",
    )

    def index(self, _):
        column, kind = self.random.choice(self.KINDS)
        if column in self.columns:
            self.log[-1] += f" {column} {kind}"
            dataset = lance.dataset(self.path)
            dataset.create_scalar_index(column, kind, name=f"{column}_{kind}", replace=True)

    def optimize(self, _):
        lance.dataset(self.path).optimize.optimize_indices()

    def cleanup(self, ours):
        now = datetime.timedelta(0)
        if ours:
            leman.open(self.path).cleanup(now, delete_unverified=True)
        else:
            lance.dataset(self.path).cleanup_old_versions(older_than=now, delete_unverified=True)

    def restore(self, ours):
        if len(lance.dataset(self.path).versions()) == lance.dataset(self.path).version:
            super().restore(ours)

    def check(self):
        super().check()
        dataset = lance.dataset(self.path)
        for where in self.FILTERS:
            if "list" in where and "list" not in self.columns:
                continue
            found = dataset.scanner(["id"], filter=where).to_table()["id"].to_pylist()
            scan = dataset.scanner(["id"], filter=where, use_scalar_index=False)
            assert sorted(found) == sorted(scan.to_table()["id"].to_pylist()), where
        if any(index.name == "text_INVERTED" for index in dataset.describe_indices()):
            found = dataset.to_table(["id", "_score"], full_text_query="set")["id"].to_pylist()
            assert sorted(found) == [
                i for i, row in sorted(self.rows.items()) if row["text"] == "set"
            ]

    def run(self):
        steps = ["append", "append", "delete", "update", "upsert", "restore", "compact", "compact"]
        steps += ["upsert_some_columns", "add_column", "drop_column", "index", "index"]
        steps += ["optimize", "cleanup"]
        self.step("create")
        self.step("index")
        for _ in range(9):
            self.step(self.random.choice(steps))
        lance.dataset(self.path).validate()


class Wide:
    """Rows that are not worth moving for a number: our updates write the columns that they set."""

    schema = SCHEMA.append(pa.field("pad", pa.binary()))

    def make_rows(self, ids):
        rows = super().make_rows(ids)
        return [row | {"pad": self.random.randbytes(100_000)} for row in rows]


class WideSequence(Wide, Sequence):
    pass


class WideIndexedSequence(Wide, IndexedSequence):
    pass


def run_seeds(seeds, folder, kind=Sequence):
    """How many operations wrote columns in place, by their names."""
    in_place = Counter()
    if "LEMAN_SEED" in os.environ:
        seeds = [int(os.environ["LEMAN_SEED"])]
    for seed in seeds:
        sequence = kind(seed, str(folder / f"{seed}.lance"))
        try:
            sequence.run()
        except BaseException as error:
            error.add_note(f"seed {seed}: {', '.join(sequence.log)}")
            raise
        in_place += sequence.in_place
        shutil.rmtree(sequence.path)
    return in_place


@pytest.mark.parametrize("part", range(4))
def test_both_agree_after_each_operation(part, tmp_path):
    run_seeds(range(part * 50, part * 50 + 50), tmp_path)


@pytest.mark.parametrize("part", range(2))
def test_indices_agree_after_each_operation(part, tmp_path):
    run_seeds(range(part * 20, part * 20 + 20), tmp_path, IndexedSequence)


@pytest.mark.parametrize("kind", [WideSequence, WideIndexedSequence])
def test_columns_that_are_set_in_place(kind, tmp_path):
    in_place = run_seeds(range(380, 395), tmp_path, kind)
    assert in_place["update"] > 0
    assert in_place["upsert"] > 0


@pytest.mark.soak
def test_both_agree_for_long(tmp_path):
    count = int(3000 * float(os.environ.get("SOAK") or 1))
    run_seeds(range(1000, 1000 + count), tmp_path)
    run_seeds(range(9000, 9000 + count // 3), tmp_path, IndexedSequence)
    run_seeds(range(5000, 5000 + count // 20), tmp_path, WideSequence)
    run_seeds(range(7000, 7000 + count // 20), tmp_path, WideIndexedSequence)
