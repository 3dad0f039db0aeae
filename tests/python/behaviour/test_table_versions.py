# SPDX-License-Identifier: Apache-2.0
"""Databases, and the versions of a table: open, list, name, restore."""

import copy
import datetime
import os
import pickle

import leman
import pandas as pd
import pyarrow as pa
import pytest


@pytest.fixture
def db(tmp_path):
    return leman.connect(tmp_path / "db")


@pytest.fixture
def table(db):
    """Three versions: 1, 2 and 3 rows."""
    table = db.create_table("t", {"x": [1]})
    table.append({"x": [2]})
    table.append({"x": [3]}, message="the third")
    return table


def values(table):
    return table.to_arrow()["x"].to_pylist()


def test_database__lists_renames_and_drops(db):
    assert db.table_names() == []
    db.create_table("b", {"x": [1]})
    db.create_table("a", {"x": [1]})
    assert list(db) == db.list_tables() == ["a", "b"]
    assert len(db) == 2 and "a" in db and "c" not in db
    db.rename_table("a", "c")
    assert values(db["c"]) == [1]
    with pytest.raises(leman.ExistsError):
        db.rename_table("b", "c")
    db.drop_table("c")
    assert db.table_names() == ["b"]
    with pytest.raises(leman.NotFoundError):
        db.drop_table("c")
    db.drop_table("c", ignore_missing=True)


@pytest.mark.parametrize("name", ["", "a/b", "..", "."])
def test_database__names_that_are_no_file_names_are_refused(db, name):
    with pytest.raises(leman.InvalidError):
        db.create_table(name, {"x": [1]})


def test_database__one_without_a_name_is_not_the_root_of_the_system():
    for call in (lambda db: db.create_table("leman-test", {"x": [1]}), lambda db: db["leman-test"]):
        with pytest.raises(leman.InvalidError, match="has an empty name"):
            call(leman.connect(""))


def test_database__a_file_has_no_tables(tmp_path):
    (tmp_path / "db").write_text("")
    with pytest.raises(leman.InvalidError, match="db is no directory"):
        leman.connect(tmp_path / "db").list_tables()


def test_database__other_places_than_directories_are_refused_by_name(tmp_path):
    with pytest.raises(leman.UnsupportedError, match="s3"):
        leman.connect("s3://bucket/db")
    assert leman.connect(f"file://{tmp_path}").uri == str(tmp_path)


def test_create__a_table_that_is_there_is_kept(db):
    db.create_table("t", {"x": [1]})
    with pytest.raises(leman.ExistsError):
        db.create_table("t", {"x": [2]})
    table = db.create_table("t", {"x": [2]}, exist_ok=True)
    assert (values(table), table.version) == ([1], 1)


def test_create__exist_ok_refuses_another_schema(db):
    db.create_table("t", {"x": [1]})
    same = pa.schema([("x", pa.int64())])
    assert values(db.create_table("t", schema=same, exist_ok=True)) == [1]
    with pytest.raises(leman.InvalidError, match='has no column "y", but: x'):
        db.create_table("t", schema=pa.schema([("y", pa.int64())]), exist_ok=True)


@pytest.mark.parametrize("version", ["2.1", "2.2"])
def test_create__a_script_is_run_again(db, version):
    blob = pa.field("data", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema([("id", pa.int64()), ("v", pa.list_(pa.float32(), 2)), blob])
    for _ in range(2):
        table = db.create_table(
            "t", None, schema, exist_ok=True, primary_key="id", data_storage_version=version
        )
        if "more" not in table.schema.names:
            table.add_columns({"more": "id + 1"})
        table.upsert([{"id": 1, "v": [0.5, 1.0], "data": b"x"}])
    assert table.to_arrow(["id", "more"]).to_pylist() == [{"id": 1, "more": None}]
    for kind, message in ((pa.int32(), 'column "id" is int64, not int32'), (pa.string(), "string")):
        with pytest.raises(leman.InvalidError, match=message):
            db.create_table("t", schema={"id": kind}, exist_ok=True)


def test_create__overwrite_makes_a_version_of_the_same_table(db):
    assert values(db.create_table("t", {"x": [1]}, mode="overwrite")) == [1]
    table = db.create_table("t", {"x": [2]}, mode="overwrite")
    assert (values(table), table.version) == ([2], 2)
    with pytest.raises(ValueError, match="mode"):
        db.create_table("t", {"x": [2]}, mode="append")


def test_open__by_path_number_tag_and_time(table, db):
    table.tags.create("first", 1)
    second = table.versions()[1]["timestamp"]
    assert values(leman.open(table.path)) == [1, 2, 3]
    assert values(leman.open(table.path, 2)) == [1, 2]
    assert values(db.open_table("t", "first")) == [1]
    assert values(db.open_table("t", second)) == [1, 2]
    moved = second.astimezone(datetime.timezone(datetime.timedelta(hours=5)))
    assert values(db.open_table("t", moved)) == [1, 2]


@pytest.mark.parametrize(
    "version", [99, "nope", datetime.datetime(1999, 1, 1, tzinfo=datetime.UTC)]
)
def test_open__versions_that_are_not_there(table, version):
    with pytest.raises(leman.NotFoundError):
        leman.open(table.path, version)
    with pytest.raises(leman.NotFoundError):
        table.checkout(version)
    assert values(table) == [1, 2, 3]


@pytest.mark.parametrize("version, error", [(0, ValueError), (True, TypeError), (1.5, TypeError)])
def test_open__what_is_no_version(table, version, error):
    with pytest.raises(error):
        leman.open(table.path, version)


def test_open__no_table(db, tmp_path):
    with pytest.raises(leman.NotFoundError):
        db.open_table("t")
    with pytest.raises(leman.NotFoundError):
        leman.open(tmp_path)


def test_versions__say_when_what_was_done(table):
    versions = table.versions()
    assert [item["version"] for item in versions] == [1, 2, 3]
    assert [item["num_rows"] for item in versions] == [1, 2, 3]
    assert [item["num_fragments"] for item in versions] == [1, 2, 3]
    assert versions[1]["operation"] == "append"
    assert versions[2]["message"] == "the third"
    assert versions[0]["timestamp"] <= versions[1]["timestamp"] <= versions[2]["timestamp"]


def test_checkout__reads_the_past_and_comes_back(table):
    table.checkout(1)
    assert (values(table), table.version, len(table)) == ([1], 1, 1)
    table.checkout_latest()
    assert values(table) == [1, 2, 3]


def test_checkout__writes_are_made_on_the_newest_version(table):
    table.checkout(1)
    table.append({"x": [4]})
    assert (values(table), table.version) == ([1, 2, 3, 4], 4)


def test_refresh__shows_what_others_have_committed(table):
    other = leman.open(table.path)
    other.append({"x": [4]})
    assert values(table) == [1, 2, 3]
    table.refresh()
    assert values(table) == [1, 2, 3, 4]


def clean(table, *versions):
    """Take versions away, as a cleanup does."""
    for version in versions:
        os.remove(f"{table.path}/_versions/{2**64 - 1 - version:020}.manifest")


def test_read__of_a_version_that_was_cleaned_up_is_told(table):
    behind = leman.open(table.path)
    table.compact()
    table.cleanup(datetime.timedelta(0))
    with pytest.raises(leman.NotFoundError, match="version 3 was removed by a cleanup") as caught:
        behind.to_arrow()
    assert ".lance" in str(caught.value)
    behind.refresh()
    assert values(behind) == [1, 2, 3]


def test_read__of_a_table_that_was_dropped_is_told(db, table):
    db.drop_table("t")
    with pytest.raises(leman.NotFoundError, match="was dropped or renamed: cannot open .*lance"):
        table.to_arrow()


@pytest.mark.parametrize("cleaned", [[], [4], [3], [3, 4]])
def test_write__a_handle_that_is_behind_goes_on_from_the_newest(table, cleaned):
    other = leman.open(table.path)
    for x in (4, 5):
        other.append({"x": [x]})
    clean(table, *cleaned)
    table.append({"x": [6]})
    assert (table.version, values(table)) == (6, [1, 2, 3, 4, 5, 6])
    other.append({"x": [7]})
    clean(table, *{3, 6} - set(cleaned))
    assert table.delete("x < 3") == 2
    assert (table.version, values(table)) == (8, [3, 4, 5, 6, 7])


def test_write__durable_or_not_the_rows_are_there(db):
    table = db.create_table("quick", {"x": [1]}, durable=False)
    table.append({"x": [2]}, durable=False)
    assert values(db["quick"]) == [1, 2]


def test_restore__makes_an_earlier_version_the_newest(table):
    table.tags.create("two", 2)
    table.restore(1)
    assert (values(table), table.version) == ([1], 4)
    table.restore("two")
    assert (values(table), table.version) == ([1, 2], 5)
    with pytest.raises(leman.NotFoundError):
        table.restore(99)


def test_cleanup__tags_go_with_their_versions(table):
    table.tags.create("gone", 1)
    table.append(table.to_arrow())
    table.tags.create("here")
    table.cleanup(datetime.timedelta(0), keep_tagged=False)
    assert list(table.tags.list()) == ["here"]
    with pytest.raises(leman.NotFoundError, match="gone"):
        leman.open(table.path, "gone")


def test_cleanup__an_age_beyond_all_calendars_removes_nothing(table):
    before = len(table.versions())
    table.cleanup(datetime.timedelta.max)
    table.cleanup(datetime.timedelta(days=365 * 3000))
    assert len(table.versions()) == before


def test_append__whose_version_was_cleaned_up_is_told(table):
    rows = table.to_arrow()

    def pieces():
        yield rows
        other = leman.open(table.path)
        other.append(rows)
        other.cleanup(datetime.timedelta(0))
        yield rows

    began = table.version
    with pytest.raises(leman.ConflictError, match=f"version {began}, .* make it again") as caught:
        table.append(pieces())
    assert str(caught.value).count(table.path) == 1
    assert len(leman.open(table.path)) == 2 * len(rows)


def test_tags__are_made_moved_and_taken_away(table):
    table.tags.create("a")
    table.tags.create("b", 1)
    assert table.tags.list() == {
        "a": {"version": 3, "branch": None},
        "b": {"version": 1, "branch": None},
    }
    with pytest.raises(leman.ExistsError):
        table.tags.create("a", 2)
    table.tags.update("a", 2)
    assert table.tags.get_version("a") == 2
    table.tags.update("a", "b")
    assert table.tags.get_version("a") == 1
    table.tags.create("then", table.versions()[1]["timestamp"])
    assert table.tags.get_version("then") == 2
    table.tags.delete("then")
    with pytest.raises(leman.NotFoundError, match='no tag "nope"'):
        table.tags.create("c", "nope")
    with pytest.raises(leman.NotFoundError):
        table.tags.update("c", 2)
    with pytest.raises(leman.NotFoundError):
        table.tags.create("c", 99)
    table.tags.delete("a")
    with pytest.raises(leman.NotFoundError):
        table.tags.delete("a")
    assert list(table.tags.list()) == ["b"]


def test_compact__joins_fragments_and_keeps_row_ids(table):
    table.delete("x = 2")
    before = table.scan(with_row_id=True).to_pylist()
    result = table.compact()
    assert (result.fragments_removed, result.fragments_added, result.rows_rewritten) == (2, 1, 2)
    assert table.scan(with_row_id=True).to_pylist() == before
    assert (table.info()["num_fragments"], table.info()["num_deleted_rows"]) == (1, 0)
    assert values(leman.open(table.path, 3)) == [1, 2, 3]


def test_compact__nothing_to_do_makes_no_version(table):
    table.compact()
    version = table.version
    assert table.compact().fragments_removed == 0
    assert table.version == version
    with pytest.raises(ValueError):
        table.compact(0)


def test_diff__says_what_happened_to_each_row(table):
    table.delete("x = 1")
    table.update("x = 2", values={"x": 20})
    table.append({"x": [4]})
    changes = {(row["_change"], row["x"]) for row in table.diff(3).to_pylist()}
    assert changes == {("delete", 1), ("update", 20), ("insert", 4)}
    table.tags.create("third", 3)
    assert table.diff("third", 3).to_pylist() == []
    assert {row["_rowid"] for row in table.diff(1, 2).to_pylist()} == {1}
    with pytest.raises(leman.NotFoundError):
        table.diff(1, 99)
    with pytest.raises(leman.InvalidError):
        table.diff(3, 1)


def test_cleanup__removes_versions_and_keeps_what_is_named(table):
    table.tags.create("first", 1)
    table.overwrite({"x": [7]})
    assert table.cleanup() == leman.CleanupResult(0, 0, 0)
    now = datetime.timedelta(0)
    counted = table.cleanup(now, dry_run=True)
    assert counted.versions_removed == 2 and len(table.versions()) == 4
    assert table.cleanup(now) == counted
    assert [item["version"] for item in table.versions()] == [1, 4]
    assert values(leman.open(table.path, "first")) == [1]
    assert table.cleanup(now, keep_tagged=False).versions_removed == 1
    assert values(table) == [7]
    with pytest.raises(TypeError):
        table.cleanup(14)


def test_create__without_a_database_can_be_run_again(tmp_path):
    path = tmp_path / "t.lance"
    for rows in ({"x": [1]}, {"x": [2]}):
        table = leman.create(path, rows, exist_ok=True)
    assert values(table) == [1]
    assert values(leman.create(path, {"x": [3]}, mode="overwrite")) == [3]
    with pytest.raises(leman.ExistsError):
        leman.create(path, {"x": [4]})
    with pytest.raises(leman.InvalidError, match='no column "y"'):
        leman.create(path, schema={"y": pa.int64()}, exist_ok=True)


def test_create__exist_ok_keeps_a_table_that_another_makes_meanwhile(db):
    def rows():
        db.create_table("t", {"x": [1]})
        yield {"x": 2}

    table = db.create_table("t", rows(), exist_ok=True)
    assert values(table) == [1] and table.version == 1


def test_open__a_place_is_a_directory(tmp_path):
    url = f"file://{tmp_path}/t.lance"
    leman.create(url, {"x": [1]})
    assert os.listdir(tmp_path) == ["t.lance"]
    assert values(leman.open(url)) == values(leman.open(tmp_path / "t.lance")) == [1]
    for call in (leman.open, leman.create):
        with pytest.raises(leman.UnsupportedError, match="s3:// is not supported"):
            call("s3://bucket/t.lance")


def test_database__a_namespace_is_not_taken_for_ignore_missing(db):
    db.create_table("t", {"x": [1]})
    with pytest.raises(TypeError, match="ignore_missing is True or False"):
        db.drop_table("t", ["space"])
    assert db.list_tables() == ["t"]


def test_tags__name_what_is_given(table):
    table.tags.create("one", 1)
    table.tags.create("again", "one")
    table.tags.create("then", table.versions()[1]["timestamp"])
    table.tags.update("one", "then")
    assert {name: tag["version"] for name, tag in table.tags.list().items()} == {
        "again": 1,
        "one": 2,
        "then": 2,
    }
    with pytest.raises(ValueError, match="no version 0"):
        table.tags.create("zero", 0)
    with pytest.raises(leman.NotFoundError):
        table.tags.create("other", "missing")


def test_open__at_a_time_of_pandas(db, table):
    time = pd.Timestamp(table.versions()[1]["timestamp"])
    assert db.open_table("t", time).version == 2
    local = time.tz_convert(None).tz_localize("UTC").to_pydatetime().astimezone()
    assert db.open_table("t", pd.Timestamp(local.replace(tzinfo=None))).version == 2


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
def test_table__copies_stand_at_the_version_of_their_own(db, table, again):
    table.checkout(2)
    other = again(table)
    assert (other.name, values(other)) == ("t", [1, 2])
    table.checkout(1)
    assert other.version == 2
    other.append({"x": [4]})
    assert values(db["t"]) == [1, 2, 3, 4]


def test_paths_hold_when_the_process_goes_elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    db = leman.connect("zoo")
    pets = db.create_table("pets", {"x": [1]})
    alone = leman.create("alone.lance", {"x": [1]})
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for table in (pets, alone):
        table.append({"x": [2]})
        assert values(table) == [1, 2]
    db.create_table("more", {"x": [1]})
    assert db.list_tables() == ["more", "pets"]
    assert os.listdir() == []


def test_table__goes_to_other_processes_by_a_path_that_holds_there(
    db, table, monkeypatch, tmp_path
):
    monkeypatch.chdir(db.uri)
    text = pickle.dumps(leman.open("t.lance"))
    monkeypatch.chdir(tmp_path)
    assert values(pickle.loads(text)) == [1, 2, 3]
