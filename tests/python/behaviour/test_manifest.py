# SPDX-License-Identifier: Apache-2.0
"""What a function needs installed is kept with its column, and checked before a job."""

import leman
import pytest
from leman import environment


def adder(manifest):
    @leman.udf(manifest=manifest)
    def add(x: int) -> int:
        return x + 1

    return add


@pytest.fixture
def table(tmp_path):
    return leman.connect(tmp_path).create_table("t", {"x": [1, 2, 3]})


def test_kept_with_the_column(table, tmp_path):
    needs = environment.pip(["cloudpickle"])
    table.add_columns({"y": adder(needs)})
    again = leman.connect(tmp_path).open_table("t")
    assert again.manifest("y") == needs and again.manifest("y").pins()
    table.backfill("y")
    assert table.scan(["y"]).to_pylist() == [{"y": 2}, {"y": 3}, {"y": 4}]
    table.add_columns({"z": adder(None)})
    assert table.manifest("z") is None


def test_another_version_is_refused_before_anything_starts(table):
    table.add_columns({"y": adder(environment.pip(["cloudpickle==0.1"]))})
    with pytest.raises(leman.InvalidError, match=r"add\(\) .*\n.*cloudpickle==0.1 is wanted"):
        table.backfill("y")
    assert table.cells("y")["pending"] == 3


def test_the_manifest_is_no_part_of_the_version(table):
    plain, pinned = adder(None), adder(environment.pip(["cloudpickle"]))
    assert plain.version == pinned.version


def test_bad_manifest(table):
    with pytest.raises(
        TypeError, match=r"manifest is made by leman.environment.pip\(\).*\['numpy'\]"
    ):
        adder(["numpy"])
    with pytest.raises(TypeError, match="manifest=: give it to udf"):
        table.add_columns({"y": adder(None)})
        table.backfill("y", manifest=environment.image("x:1"))
