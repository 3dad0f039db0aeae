# SPDX-License-Identifier: Apache-2.0
"""Tables that pylance and Leman write in turns: each reads what the other has left."""

import random

import lance
import leman
import pyarrow as pa
import pytest

SCHEMA = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("text", pa.string()),
        pa.field("vector", pa.list_(pa.float32(), 4)),
        pa.field("tags", pa.list_(pa.string())),
        pa.field("info", pa.struct([("width", pa.int32()), ("name", pa.string())])),
    ]
)


def rows(first, count):
    return pa.Table.from_pylist(
        [
            {
                "id": i,
                "text": None if i % 7 == 0 else f"row {i}",
                "vector": None if i % 5 == 0 else [float(i), 0.5, -1.0, i / 4],
                "tags": None if i % 3 == 0 else [f"t{k}" for k in range(i % 4)],
                "info": None if i % 11 == 0 else {"width": i, "name": f"n{i}"},
            }
            for i in range(first, first + count)
        ],
        SCHEMA,
    )


def by_id(table):
    return sorted(table.to_pylist(), key=lambda row: row["id"])


def check(path, version=None):
    """Both sides see the same rows, in the same order, with the same row ids."""
    ours = leman.open(path, version)
    theirs = lance.dataset(path, version=version)
    assert ours.version == theirs.version
    assert ours.schema.equals(theirs.schema)
    assert ours.count_rows() == theirs.count_rows()
    mine = ours.scan(with_row_id=True).to_arrow()
    other = theirs.to_table(with_row_id=True)
    assert mine.to_pylist() == other.to_pylist()
    some = [row["_rowid"] for row in mine.to_pylist()][::7]
    assert ours.take_ids(some).to_pylist() == theirs._take_rows(some).to_pylist()
    positions = list(range(0, ours.count_rows(), 5))
    assert ours.take(positions).to_pylist() == theirs.take(positions).to_pylist()
    theirs.validate()
    return mine


def ids_of(table):
    return {row["id"]: row["_rowid"] for row in table.to_pylist()}


@pytest.fixture(params=["leman", "pylance", "pylance, row ids are addresses"])
def path(request, tmp_path):
    """A table of 100 rows in three fragments, made by one side or the other."""
    path = str(tmp_path / "db" / "t.lance")
    if request.param == "leman":
        leman.create(path, rows(0, 100), max_rows_per_fragment=40)
    else:
        lance.write_dataset(
            rows(0, 100),
            path,
            max_rows_per_file=40,
            data_storage_version="2.1",
            enable_stable_row_ids=request.param == "pylance",
        )
    return path


def test_create(path):
    check(path)
    assert leman.open(path).info()["num_fragments"] == 3


def test_append_in_turns(path):
    for i in range(3):
        leman.open(path).append(rows(100 + 20 * i, 10))
        check(path)
        lance.write_dataset(rows(110 + 20 * i, 10), path, mode="append")
        check(path)
    assert [row["id"] for row in leman.open(path).to_arrow(["id"]).to_pylist()] == list(range(160))


def test_delete_in_turns(path):
    assert leman.open(path).delete("id % 10 = 3") == 10
    check(path)
    lance.dataset(path).delete("id % 10 = 4")
    check(path)
    assert leman.open(path).delete("id % 10 = 5 or id >= 80") == 24
    check(path)
    lance.dataset(path).delete("text is null")
    left = check(path)["id"].to_pylist()
    assert left == [i for i in range(80) if i % 10 not in (3, 4, 5) and i % 7 != 0]


def test_update_in_turns(path):
    stable = leman.open(path).info()["stable_row_ids"]
    before = ids_of(check(path))
    assert leman.open(path).update("id < 10", values={"text": "ours"}) == 10
    check(path)
    lance.dataset(path).update({"text": "'theirs'"}, where="id >= 90")
    check(path)
    leman.open(path).update("id in (5, 95)", updates={"id": "id + 1000"})
    after = check(path)
    texts = {row["id"]: row["text"] for row in after.to_pylist()}
    assert texts[9] == "ours" and texts[90] == "theirs" and texts[1095] == "theirs"
    if stable:
        now = ids_of(after)
        assert now[1005] == before[5] and now[50] == before[50] and now[91] == before[91]


def test_merge_in_turns(path):
    stable = leman.open(path).info()["stable_row_ids"]
    before = ids_of(check(path))
    changed = rows(90, 20).set_column(1, "text", pa.array(["new"] * 20))
    result = leman.open(path).upsert(changed, on="id")
    assert (result.inserted, result.updated) == (10, 10)
    after = check(path)
    if stable:
        assert ids_of(after)[95] == before[95]
    merge = lance.dataset(path).merge_insert("id").when_matched_update_all()
    merge.when_not_matched_insert_all().execute(rows(105, 10))
    check(path)
    leman.open(path).merge_insert("id").when_matched_delete().execute({"id": [0, 107, 114]})
    left = check(path)["id"].to_pylist()
    assert sorted(left) == [i for i in range(115) if i not in (0, 107, 114)]


def test_overwrite_in_turns(path):
    leman.open(path).overwrite({"other": [1, 2]})
    check(path)
    lance.write_dataset(rows(0, 5), path, mode="overwrite", data_storage_version="2.1")
    check(path)
    check(path, version=1)
    check(path, version=2)


def test_versions_tags_and_restore(path):
    table = leman.open(path)
    table.append(rows(100, 1))
    table.tags.create("ours", 1)
    dataset = lance.dataset(path)
    dataset.tags.create("theirs", 2)
    assert {name: tag["version"] for name, tag in table.tags.list().items()} == {
        "ours": 1,
        "theirs": 2,
    }
    assert lance.dataset(path, version="ours").version == 1
    assert leman.open(path, "theirs").version == 2
    table.restore("ours")
    assert len(check(path)) == 100
    lance.dataset(path, version=2).restore()
    assert len(check(path)) == 101
    table.refresh()
    ours = [(item["version"], item["timestamp"]) for item in table.versions()]
    theirs = lance.dataset(path).versions()
    assert [version for version, _ in ours] == [item["version"] for item in theirs] == [1, 2, 3, 4]


def test_schema_changes_of_pylance_are_read(path):
    dataset = lance.dataset(path)
    dataset.add_columns({"twice": "id * 2"})
    check(path)
    dataset = lance.dataset(path)
    dataset.alter_columns({"path": "text", "name": "caption"})
    check(path)
    lance.dataset(path).drop_columns(["tags"])
    check(path)
    leman.open(path).append({"id": [100], "twice": [7], "caption": ["x"]})
    leman.open(path).delete("twice = 8")
    left = check(path)
    assert left["twice"].to_pylist()[-1] == 7
    assert left.num_rows == 100


def test_compaction_of_pylance_is_read(path):
    leman.open(path).delete("id % 2 = 0")
    stable = leman.open(path).info()["stable_row_ids"]
    before = ids_of(check(path))
    lance.dataset(path).optimize.compact_files(target_rows_per_fragment=1000)
    after = check(path)
    assert leman.open(path).info()["num_fragments"] == 1
    if stable:
        assert ids_of(after) == before


def test_writers_at_once(path):
    """Handles of both sides that do not know of each other's commits."""
    ours, theirs = leman.open(path), lance.dataset(path)
    theirs.delete("id = 1")
    assert ours.delete("id = 2") == 1
    ours.append(rows(100, 1))
    lance.write_dataset(rows(101, 1), path, mode="append")
    ours.append(rows(102, 1))
    left = check(path)["id"].to_pylist()
    assert sorted(left) == [0, *range(3, 103)]


def test_primary_key_survives_writes_of_pylance(tmp_path):
    path = str(tmp_path / "t.lance")
    leman.create(path, {"a": [1], "b": [2]}, primary_key=["b"])
    lance.write_dataset(pa.table({"a": [3], "b": [4]}), path, mode="append")
    dataset = lance.dataset(path)
    dataset.add_columns({"c": "a + 1"})
    dataset.alter_columns({"path": "c", "name": "d"})
    dataset.drop_columns(["a"])
    dataset.restore()
    ours = leman.open(path)
    assert ours.primary_key == ["b"]
    ours.upsert({"b": [4, 5]})
    assert check(path)["b"].to_pylist() == [2, 4, 5]
    with pytest.raises(leman.InvalidError, match='"b" is declared to have no nulls, and has 1'):
        ours.append(pa.table({"b": pa.array([None], pa.int64())}))
    with pytest.raises(leman.InvalidError, match='"k" is declared to have no nulls, and has 1'):
        leman.create(tmp_path / "n.lance", {"k": [1, None]}, primary_key="k")


def test_lancedb_opens_our_database(tmp_path):
    """A directory of tables is a LanceDB database, with vector search over what we wrote."""
    import lancedb

    ours = leman.connect(tmp_path / "db")
    ours.create_table("pets", rows(0, 50))
    ours.create_table("other", {"x": [1]})
    theirs = lancedb.connect(tmp_path / "db")
    assert sorted(theirs.list_tables().tables) == ours.table_names() == ["other", "pets"]
    pets = theirs.open_table("pets")
    nearest = pets.search([7.0, 0.5, -1.0, 1.75]).limit(1).to_list()
    assert nearest[0]["id"] == 7
    pets.add(rows(50, 1))
    assert len(ours.open_table("pets")) == 51
    ours.open_table("pets").delete("id = 7")
    pets.checkout_latest()
    assert pets.count_rows("id = 7") == 0


def test_tables_of_lancedb_are_opened(tmp_path):
    import lancedb

    theirs = lancedb.connect(tmp_path / "db")
    theirs.create_table("pets", rows(1, 4))
    pets = leman.connect(tmp_path / "db").open_table("pets")
    assert pets.to_arrow().to_pylist() == rows(1, 4).to_pylist()
    pets.append(rows(5, 2))
    assert theirs.open_table("pets").count_rows() == 6
    leman.connect(tmp_path / "db").rename_table("pets", "cats")
    assert theirs.list_tables().tables == ["cats"]
    theirs.drop_table("cats")
    assert leman.connect(tmp_path / "db").table_names() == []


OLD = pa.schema(
    [
        pa.field("id", pa.int64()),
        pa.field("s", pa.struct([("a", pa.int64()), ("b", pa.string())])),
        pa.field("places", pa.list_(pa.struct([("x", pa.int64())]))),
    ]
)


def old_rows(ids):
    return pa.Table.from_pylist(
        [{"id": i, "s": {"a": i, "b": str(i)}, "places": [{"x": i}] * (i % 3)} for i in ids], OLD
    )


def make_old(path):
    lance.write_dataset(old_rows(range(50)), path, data_storage_version="2.0", max_rows_per_file=20)
    return leman.open(path)


def old_files(path):
    files = [file for part in lance.dataset(path).get_fragments() for file in part.data_files()]
    return sum((file.file_major_version, file.file_minor_version) == (2, 0) for file in files)


def test_table_of_version_2_0(tmp_path):
    """Its files stay as they are; new ones are of 2.1."""
    path = str(tmp_path / "t.lance")
    ours = make_old(path)
    ours.append(old_rows([100]))
    check(path)
    ours.update("id < 3", {"id": "id + 1000", "s": "named_struct('a', id, 'b', null)"})
    ours.delete("id = 7")
    check(path)
    ours.add_columns({"y": "id * 2"})
    check(path)
    row = old_rows([7]).append_column("y", pa.array([1]))
    lance.write_dataset(row, path, mode="append")
    check(path)
    assert old_files(path) == 4 and lance.dataset(path).data_storage_version == "2.0"
    leman.open(path).compact(target_rows_per_fragment=1000)
    assert len(check(path)) == 51 and old_files(path) == 0


SIZE = pa.struct([("w", pa.int64())])
NULL_STRUCT = {"s": None, "places": []}
NULL_ITEM = {"s": {"a": 1, "b": None}, "places": [{"x": 1}, None]}


def with_nulls(ids, nulls):
    """Rows of which the last has a null struct; those before are as they may be."""
    rows = [{"id": i, "s": {"a": None, "b": None}, "places": None} for i in ids]
    return pa.Table.from_pylist([*rows[:-1], rows[-1] | nulls], OLD)


def add_by_key(table):
    table.add_columns({"id": [1], "size": pa.array([{"w": 1}], SIZE)}, on="id")


def add_function(table):
    table.add_columns({"twice": leman.udf(lambda id: 2 * id, data_type=pa.int64())})


def upsert_some(table, nulls):
    table.upsert(with_nulls([1, 3], nulls).drop(["places"]), on="id")


WHAT_2_0_CANNOT_HOLD = {
    "append": ('"s"', lambda t: t.append(with_nulls([100, 101], NULL_STRUCT))),
    "append slice": ('"s"', lambda t: t.append(with_nulls(range(99), NULL_STRUCT).slice(90))),
    "append items": ('"places.item"', lambda t: t.append(with_nulls([100, 101], NULL_ITEM))),
    "append rest": ('"s"', lambda t: t.append({"id": [100]})),
    "load": ('"s"', lambda t: t.append_from([with_nulls([100, 101], NULL_STRUCT)])),
    "load rest": ('"s"', lambda t: t.append_from([{"id": [100]}])),
    "upsert": ('"s"', lambda t: t.upsert(with_nulls([1, 3], NULL_STRUCT), on="id")),
    "upsert items": ('"places.item"', lambda t: t.upsert(with_nulls([1, 3], NULL_ITEM), on="id")),
    "upsert some": ('"s"', lambda t: upsert_some(t, NULL_STRUCT)),
    "upsert rest": ('"s"', lambda t: t.upsert({"id": [1, 100]}, on="id")),
    "update": ('"s"', lambda t: t.update("id = 3", {"s": "null"})),
    "null column": ('"size"', lambda t: t.add_columns(pa.schema([("size", SIZE)]))),
    "expression": ('"first"', lambda t: t.add_columns({"first": "places[1]"})),
    "by key": ('"size"', add_by_key),
    "function": ("ledgers", add_function),
}


@pytest.mark.parametrize("name", WHAT_2_0_CANNOT_HOLD)
def test_what_version_2_0_cannot_hold(name, tmp_path):
    """Refused, as pylance could not compact the table any more, and taken after an upgrade."""
    path = str(tmp_path / "t.lance")
    ours = make_old(path)
    ours.append(old_rows([50]))
    files = set((tmp_path / "t.lance" / "data").iterdir())
    what, change = WHAT_2_0_CANNOT_HOLD[name]
    with pytest.raises(leman.UnsupportedError, match="2.0.* `leman upgrade` rewrites") as error:
        change(ours)
    assert what in str(error.value)
    assert set((tmp_path / "t.lance" / "data").iterdir()) == files and ours.version == 2
    lance.dataset(path).optimize.compact_files()
    assert len(check(path)) == 51
    ours.upgrade()
    change(ours)
    lance.dataset(path).optimize.compact_files()
    leman.open(path).verify()
    mine = leman.open(path).to_arrow()
    assert mine.equals(lance.dataset(path).to_table(mine.column_names))


def test_null_structs_that_are_not_written(tmp_path):
    """Rows of a source that are skipped, or delete others, may have them."""
    path = str(tmp_path / "t.lance")
    ours = make_old(path)
    source = pa.Table.from_pylist(
        [{"id": 1} | NULL_STRUCT, {"id": 100, "s": {"a": 1}, "places": []}], OLD
    )
    skips = ours.merge_insert("id").when_not_matched_insert_all()
    assert skips.execute(source).inserted == 1
    updates = ours.merge_insert("id").when_matched_update_all("target.id > 50")
    assert updates.when_not_matched_insert_all().execute(source).updated == 1
    deletes = ours.merge_insert("id").when_matched_delete().when_not_matched_insert_all()
    assert deletes.execute(source).deleted == 2
    none = OLD.empty_table().select(["id"])
    ours.append(none)
    ours.append_from([none])
    ours.add_columns({"kept": "s"})
    lance.dataset(path).optimize.compact_files()
    assert len(check(path)) == 49


def test_null_structs_of_pylance_in_version_2_0(tmp_path):
    """It leaves out columns and adds some of nulls; what is there is widened and moved."""
    path = str(tmp_path / "t.lance")
    narrow = pa.struct([("a", pa.int32())])
    rows = pa.table({"id": [1, 2], "s": pa.array([{"a": 1}, {"a": 2}], narrow)})
    lance.write_dataset(rows, path, data_storage_version="2.0")
    lance.write_dataset(pa.table({"id": [3]}), path, mode="append")
    lance.dataset(path).add_columns(pa.schema([("size", narrow)]))
    ours = leman.open(path)
    for column in ("s.a", "size.a"):
        ours.alter_columns({"path": column, "data_type": pa.float64()})
    check(path)
    ours.update("id = 3", {"id": "id + 1"})
    ours.upsert({"id": [2], "s": [{"a": 5.0}]}, on="id")
    expected = [{"a": 1}, {"a": 5}, None]
    assert [row["s"] for row in by_id(check(path))] == expected
    ours.compact()
    ours.upgrade()
    assert [row["s"] for row in by_id(check(path))] == expected


def test_structs_without_nulls_in_version_2_0(tmp_path):
    path = str(tmp_path / "t.lance")
    schema = pa.schema([OLD.field("id"), OLD.field("s").with_nullable(False)])
    rows = old_rows(range(5)).select(["id", "s"]).cast(schema)
    lance.write_dataset(rows, path, data_storage_version="2.0")
    nulls = pa.Table.from_pylist([{"id": 1, "s": None}], OLD).select(["id", "s"])
    ours = leman.open(path)
    for change in (
        lambda: ours.append(nulls),
        lambda: ours.upsert(nulls, on="id"),
        lambda: ours.update(None, {"s": "null"}),
    ):
        with pytest.raises(leman.InvalidError, match='"s" is declared to have no nulls'):
            change()
    with pytest.raises(leman.UnsupportedError, match="need file version 2.2.*an earlier version"):
        ours.add_columns(pa.schema([("m", pa.map_(pa.string(), pa.string()))]))


def test_structs_set_in_place_in_version_2_0(tmp_path):
    """Rows that are large get other structs where they are; null ones are refused there, too."""
    path = str(tmp_path / "t.lance")
    rows = {"id": range(500), "s": [{"a": i} for i in range(500)]}
    rows["pad"] = [random.Random(i).randbytes(8000) for i in range(500)]
    lance.write_dataset(pa.table(rows), path, data_storage_version="2.0")
    ours = leman.open(path)
    nulls = pa.array([None], pa.struct([("a", pa.int64())]))
    for change in (
        lambda: ours.update("id > 200", {"s": "null"}),
        lambda: ours.upsert({"id": range(500), "s": [*rows["s"][1:], nulls[0]]}, on="id"),
    ):
        with pytest.raises(leman.UnsupportedError, match='column "s" would have a null struct'):
            change()
    assert len(list((tmp_path / "t.lance" / "data").iterdir())) == 1
    ours.update("id > 200", {"s": "named_struct('a', null)"})
    assert lance.dataset(path).read_transaction(2).operation.update_mode == "rewrite_columns"
    lance.dataset(path).optimize.compact_files()
    assert check(path)["s"].to_pylist() == [*rows["s"][:201], *[{"a": None}] * 299]


def test_struct_added_to_version_2_0_during_an_append(tmp_path):
    """The rows that come in lack it, and would have null ones."""
    path = str(tmp_path / "t.lance")
    lance.write_dataset(pa.table({"id": [0, 1]}), path, data_storage_version="2.0")

    def rows():
        yield pa.record_batch({"id": [2]})
        lance.dataset(path).add_columns({"s": "named_struct('a', id)"})

    ours = leman.open(path)
    with pytest.raises(leman.ConflictError, match='column "s" was added since version 1'):
        ours.append(rows())
    assert check(path)["s"].to_pylist() == [{"a": 0}, {"a": 1}]
    ours.refresh()
    ours.append([{"id": 2, "s": {"a": 2}}])
    lance.dataset(path).optimize.compact_files()
    assert len(check(path)) == 3


def test_lancedb_goes_on_with_a_table_of_version_2_0(tmp_path):
    import lancedb

    ours = make_old(str(tmp_path / "t.lance"))
    theirs = lancedb.connect(tmp_path).open_table("t")
    ours.append(old_rows([100, 101]))
    ours.delete("id < 5")
    theirs.checkout_latest()
    assert theirs.count_rows() == 47 and theirs.count_rows("id > 40") == 11
    theirs.add(old_rows([300]))
    theirs.optimize()
    assert len(check(str(tmp_path / "t.lance"))) == 48


def test_indices_of_lancedb_go_on(tmp_path):
    """LanceDB builds indices on our table; they answer rightly after each of our changes."""
    import lancedb

    def point(i):
        return [float(i % 40), float(i // 40), 0.5, -1.0]

    def points(ids):
        return pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "vector": pa.array([point(i) for i in ids], pa.list_(pa.float32(), 4)),
            }
        )

    ours = leman.connect(tmp_path / "db").create_table(
        "p", points(range(1000)), max_rows_per_fragment=300
    )
    theirs = lancedb.connect(tmp_path / "db").open_table("p")
    theirs.create_index(metric="l2", index_type="IVF_FLAT", num_partitions=2)
    theirs.create_scalar_index("id", index_type="BTREE")

    def nearest(i):
        theirs.checkout_latest()
        found = theirs.search(point(i)).nprobes(2).limit(1).to_list()[0]
        return found["id"], theirs.count_rows(f"id = {found['id']}")

    def indices():
        theirs.checkout_latest()
        return len(theirs.list_indices())

    ours.refresh()
    ours.append(points(range(1000, 1100)))
    assert nearest(500) == (500, 1) and nearest(1050) == (1050, 1) and indices() == 2
    ours.delete("id = 500")
    assert nearest(500)[0] != 500 and theirs.count_rows("id = 500") == 0
    ours.update("id = 700", {"id": "id + 10000"})
    assert nearest(700) == (10700, 1) and theirs.count_rows("id = 700") == 0
    ours.upsert(points([3, 2000]), on="id")
    assert nearest(3) == (3, 1) and nearest(2000) == (2000, 1)
    ours.add_columns({"twice": "id * 2"})
    assert nearest(900) == (900, 1) and indices() == 2
    ours.compact(target_rows_per_fragment=10_000)
    assert nearest(900) == (900, 1) and nearest(700) == (10700, 1) and indices() == 2
    theirs.optimize()
    assert nearest(901) == (901, 1) and theirs.count_rows() == ours.count_rows() == 1100
    ours.refresh()
    ours.drop_columns(["vector"])
    assert indices() == 1
    theirs.checkout_latest()
    assert theirs.count_rows("id = 901") == 1


def test_branches_are_listed_and_read(path):
    theirs = lance.dataset(path)
    branch = theirs.create_branch("trial")
    lance.write_dataset(rows(500, 5), branch.uri, mode="append")
    ours = leman.open(path)
    assert ours.branches() == {"trial": lance.dataset(branch.uri).version}
    trial = leman.open(path, branch="trial")
    assert trial.scan(["id"]).to_arrow()["id"].to_pylist() == [*range(100), *range(500, 505)]
    assert len(ours) == 100
    with pytest.raises(leman.UnsupportedError, match='branch "trial"'):
        trial.append(rows(600, 1))
    with pytest.raises(leman.NotFoundError, match='has no branch "other"'):
        leman.open(path, branch="other")
    with pytest.raises(leman.InvalidError, match="is no name for a branch"):
        leman.open(path, branch=f"../../{path.rsplit('/', 1)[-1]}")


def test_branches__versions_and_tags_are_their_own(path):
    theirs = lance.dataset(path)
    branch = theirs.create_branch("feature/x")
    branch.insert(rows(500, 5))
    branch.insert(rows(600, 5))
    ours, other = leman.open(path), leman.open(path, branch="feature/x")
    ours.append(rows(700, 1))
    ours.append(rows(800, 1))
    assert ours.branches() == {"feature/x": branch.version}
    number = other.version - 1
    assert number in [item["version"] for item in ours.versions()]
    assert len(other.scan(version=number).to_arrow()) == 105
    scan = other.scan()
    other.checkout(number)
    assert len(scan.to_arrow()) == 110
    if ours.info()["stable_row_ids"]:
        changed = other.diff(number, number + 1).to_arrow()["id"].to_pylist()
        assert sorted(changed) == list(range(600, 605))
    for change in (lambda: other.tags.create("x"), lambda: other.tags.delete("x")):
        with pytest.raises(leman.UnsupportedError, match='branch "feature/x" is open for reading'):
            change()

    theirs.tags.create("there", ("feature/x", number))
    theirs.tags.create("here", 1)
    assert len(leman.open(path, "there")) == len(ours.scan(version="there").to_arrow()) == 105
    assert leman.open(path, "there", branch="feature/x").version == number
    before = ours.version
    for use in (
        lambda: ours.checkout("there"),
        lambda: ours.restore("there"),
        lambda: ours.diff("there"),
        lambda: leman.open(path, "there", branch="main"),
    ):
        with pytest.raises(leman.InvalidError, match='"there" is of branch "feature/x"'):
            use()
    with pytest.raises(leman.InvalidError, match='tag "here" is of branch "main"'):
        leman.open(path, "here", branch="feature/x")
    ours.refresh()
    assert ours.version == before and len(ours) == 102


def test_tags__that_are_moved_keep_what_others_noted(path):
    theirs = lance.dataset(path)
    theirs.insert(rows(500, 1))
    theirs.tags.create("name", 1)
    theirs.tags.replace_metadata("name", {"by": "pylance", "long": "x" * 2000})
    before = theirs.tags.list()["name"]
    leman.open(path).tags.update("name", 2)
    after = lance.dataset(path).tags.list()["name"]
    assert after["version"] == 2 and after["updated_at"] > before["updated_at"]
    assert after["metadata"] == before["metadata"] and after["created_at"] == before["created_at"]


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("key", ["packed", "lance-encoding:packed"])
@pytest.mark.parametrize("value", ["true", "True"])
def test_packed_structs__are_marked_by_either_key(tmp_path, version, key, value):
    kind = pa.struct([("a", pa.int32()), ("b", pa.float32())])
    schema = pa.schema([("id", pa.int64()), pa.field("s", kind, metadata={key: value})])
    rows = pa.Table.from_pylist(
        [{"id": i, "s": {"a": i, "b": i / 2}} for i in range(5)], schema=schema
    )
    theirs = lance.write_dataset(rows, tmp_path / "theirs", data_storage_version=version)
    ours = leman.create(tmp_path / "ours", rows, data_storage_version=version)
    for path in (theirs.uri, ours.path):
        assert leman.open(path).to_arrow().to_pylist() == rows.to_pylist()
        assert lance.dataset(path).to_table().to_pylist() == rows.to_pylist()


LEAVES = {
    "int": (pa.int32(), 5),
    "text": (pa.string(), "hot"),
    "long text": (pa.large_string(), "y" * 300),
    "bool": (pa.bool_(), True),
    "vector": (pa.list_(pa.float32(), 128), [1.0] * 128),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), "p"),
    "list": (pa.list_(pa.int32()), [1, 2]),
    "struct": (pa.struct([("x", pa.int64())]), {"x": 1}),
}


@pytest.mark.parametrize("version", ["2.1", "2.2"])
@pytest.mark.parametrize("leaf", LEAVES)
def test_fields_of_null_structs_are_null(tmp_path, leaf, version):
    """Also where pylance reads the field alone, as filters do."""
    kind, value = LEAVES[leaf]
    path = str(tmp_path / "t.lance")
    rows = [None if i % 3 == 1 else {"a": value} for i in range(3000)]
    for nullable in (True, False):
        column = pa.array(rows, pa.struct([pa.field("a", kind, nullable=nullable)]))
        lance.write_dataset(
            pa.table({"s": column}),
            path,
            mode="overwrite",
            data_storage_version=version,
            max_rows_per_file=1500,
        )
        assert leman.open(path).compact().rows_rewritten == 3000
        dataset = lance.dataset(path)
        assert dataset.count_rows("s.a is null") == 1000
        assert dataset.to_table(columns={"a": "s.a"})["a"].null_count == 1000
        assert check(path)["s"].to_pylist() == rows


def test_manifests_are_renamed_under_an_open_table(tmp_path):
    path = str(tmp_path / "t.lance")
    lance.write_dataset(
        pa.table({"id": [1]}), path, enable_v2_manifest_paths=False, enable_stable_row_ids=True
    )
    ours = leman.open(path)
    ours.append({"id": [2]})
    lance.dataset(path).migrate_manifest_paths_v2()
    assert [row["id"] for row in ours.diff(1, 2).to_pylist()] == [2]
    ours.append({"id": [3]})
    assert check(path)["id"].to_pylist() == [1, 2, 3]
    ours.restore(1)
    assert check(path)["id"].to_pylist() == [1]
