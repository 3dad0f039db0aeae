# SPDX-License-Identifier: Apache-2.0
"""Environments: what of the Python path is shipped, that it arrives, and how machines differ."""

import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import leman
import pytest
from leman import environment, environment_path, needs
from leman.manifest import merged
from leman.shipping import Crate
from leman.startup import Startup


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    """A home and a state folder of its own."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return home


def write(root, **files):
    """Files by path, with "__" for a slash and "_py" for ".py"; as they were a minute ago."""
    for name, text in files.items():
        path = Path(root, name.replace("__", "/").replace("_py", ".py"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        old = time.time() - 60
        os.utime(path, (old, old))


def project(root):
    write(root, pkg__lib_py="VALUE = 7\n", main_py="", src__deep_py="from pkg.lib import VALUE\n")
    (root / "pyproject.toml").write_text("[project]\n")
    return root


def run_python(code, *folders):
    """What a new Python prints that has these folders and Leman's own, and nothing else of ours."""
    own = str(Path(leman.__file__).parents[1])
    environ = dict(os.environ, PYTHONPATH=os.pathsep.join([*folders, own]))
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environ, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_roots(tmp_path, state):
    work = project(tmp_path / "home/work")
    (work / "src/inner").mkdir()
    assert environment_path.find_workspace(str(work / "src/inner")) == str(work)
    lonely = tmp_path / "home/notes"
    lonely.mkdir()
    assert environment_path.find_workspace(str(lonely)) == str(lonely)
    (state / ".git").mkdir()  # a home under version control is still a home
    assert environment_path.find_workspace(str(lonely)) == str(lonely)
    assert environment_path.find_workspace(str(state)) == str(state)


def test_classify(tmp_path, state):
    work = project(tmp_path / "home/work")
    site = tmp_path / "env/lib/python3.11/site-packages"
    other = tmp_path / "vendored"
    for folder in (site, other):
        folder.mkdir(parents=True)
    path = [str(work / "src"), str(work), str(site), str(other), str(tmp_path / "missing")]
    path += [p for p in sys.path if p.endswith("lib-dynload")]
    roots, entries = environment_path.classify(path, str(work))
    assert [(root.path, root.kind) for root in roots] == [
        (str(work), "workspace"),
        (str(site), "site-packages"),
        (str(other), "other"),
    ]
    assert [(entry.root, entry.below) for entry in entries] == [
        (0, "src"),
        (0, ""),
        (1, ""),
        (2, ""),
    ]


def test_programs_of_a_virtual_environment(tmp_path, monkeypatch):
    """pytest and jupyter lie in one; the workspace is where they are used."""
    work = project(tmp_path / "work")
    bin_folder = work / ".venv/bin"
    write(bin_folder, pytest_py="")
    monkeypatch.setattr(sys, "prefix", str(work / ".venv"))
    monkeypatch.setattr(sys, "exec_prefix", str(work / ".venv"))
    monkeypatch.setattr(sys.modules["__main__"], "__file__", str(bin_folder / "pytest.py"))
    monkeypatch.chdir(tmp_path)
    assert environment_path.start_folder() == str(tmp_path)
    roots, entries = environment_path.classify([str(bin_folder), str(work)], str(work))
    assert [entry.below for entry in entries] == [""] and len(roots) == 1


def test_home_is_never_shipped_as_a_whole(state, monkeypatch):
    write(state, mine_py="x = 1\n", photos__cat_py="", notes_txt="")
    monkeypatch.chdir(state)
    plan = environment.plan(path=[""], workspace=environment_path.find_workspace(str(state)))
    assert plan.files == 1 and "only the modules directly in it" in str(plan)


def test_round_trip(tmp_path):
    work = project(tmp_path / "work")
    db = leman.connect(tmp_path / "db")
    made = environment.capture(db, workspace=work, path=[str(work / "src"), str(work)])
    assert len(made.shipped) == 1 and made.shipped_bytes < 10_000
    assert set(made.seconds) == {"scan", "archive", "upload"}
    again = environment.capture(db, workspace=work, path=[str(work / "src"), str(work)])
    assert again.hash == made.hash and again.shipped == []
    folders = environment.load(db, made.hash).unpack(tmp_path / "node")
    assert run_python("import deep; print(deep.VALUE)", *folders) == "7"
    assert all(str(tmp_path / "node") in folder for folder in folders)


def test_activate(tmp_path, monkeypatch):
    work = project(tmp_path / "work")
    made = environment.capture(tmp_path / "db", workspace=work, path=[str(work)])
    monkeypatch.setattr(sys, "path", list(sys.path))
    added = environment.load(tmp_path / "db", made.hash).activate()
    assert sys.path[: len(added)] == added and len(added) == 1
    assert made.activate() == []


def test_changed_notebook_ships_nothing(tmp_path):
    work = project(tmp_path / "work")
    (work / "try.ipynb").write_text("{}")
    first = environment.capture(tmp_path / "db", workspace=work, path=[str(work)])
    (work / "try.ipynb").write_text('{"cells": [1, 2, 3]}')
    assert environment.capture(tmp_path / "db", workspace=work, path=[str(work)]).hash == first.hash


def test_changed_file_ships_one_archive(tmp_path):
    work = tmp_path / "work"
    for index in range(300):
        write(work, **{f"pkg{index % 10}__mod{index}_py": os.urandom(5000).hex()})
    first = environment.capture(tmp_path / "db", workspace=work, path=[str(work)])
    assert len(first.archives) > 1
    write(work, pkg3__mod3_py="x = 2\n")
    plan = environment.plan(workspace=work, path=[str(work)])
    assert plan.files_hashed == 1
    assert len(plan.ship(tmp_path / "db").shipped) == 1


def test_interrupted_shipping_goes_on(tmp_path):
    work = tmp_path / "work"
    for index in range(300):
        write(work, **{f"mod{index}_py": os.urandom(5000).hex()})
    made = environment.capture(tmp_path / "db", workspace=work, path=[str(work)])
    gone = made.archives[0][0]
    (tmp_path / "db/_leman/env" / gone).unlink()
    with pytest.raises(leman.NotFoundError, match=gone):
        made.unpack(tmp_path / "node")
    again = environment.capture(tmp_path / "db", workspace=work, path=[str(work)])
    assert [item["hash"] for item in again.shipped] == [gone]
    assert again.unpack(tmp_path / "node")


def test_damage_is_found(tmp_path):
    work = project(tmp_path / "work")
    made = environment.capture(tmp_path / "db", workspace=work, path=[str(work)])
    archive = tmp_path / "db/_leman/env" / made.archives[0][0]
    data = bytearray(archive.read_bytes())
    data[len(data) // 2] ^= 1
    archive.write_bytes(data)
    with pytest.raises(leman.CorruptError, match=archive.name):
        made.unpack(tmp_path / "node")
    assert list((tmp_path / "node").glob("boot-*/archives/*")) == []
    text = tmp_path / "db/_leman/env" / f"{made.hash}.json"
    text.write_text(text.read_text().replace("Linux", "Sinux"))
    with pytest.raises(leman.CorruptError, match="not what its name says"):
        environment.load(tmp_path / "db", made.hash)


def test_too_much(tmp_path):
    work = project(tmp_path / "work")
    (work / "weights.txt").write_bytes(b"x" * 20_000)
    plan = environment.plan(workspace=work, path=[str(work)], bytes_max="10kB".upper())
    assert plan.is_over and plan.largest[0] == (str(work / "weights.txt"), 20_000)
    with pytest.raises(leman.InvalidError) as error:
        plan.ship(tmp_path / "db")
    for word in ("20.0 kB", "10.0 kB", str(work / "weights.txt"), ".lemanignore"):
        assert word in str(error.value)
    (work / ".lemanignore").write_text("weights.txt\n")
    assert not environment.plan(workspace=work, path=[str(work)], bytes_max=10_000).is_over


def test_skip_site_packages(tmp_path):
    work = project(tmp_path / "work")
    site = tmp_path / "env/lib/python3.11/site-packages"
    write(site, numpy_py="")
    path = [str(work), str(site)]
    whole = environment.capture(tmp_path / "db", workspace=work, path=path)
    assert len(whole.unpack(tmp_path / "node")) == 2
    plan = environment.plan(workspace=work, path=path, skip_site_packages=True)
    assert plan.skipped == [(str(site), "skip_site_packages")] and len(plan.paths) == 1
    made = environment.capture(
        tmp_path / "db", workspace=work, path=path, manifest=environment.image("me/it:1")
    )
    assert made.manifest.content == "me/it:1" and not made.has_packages
    assert len(made.unpack(tmp_path / "node")) == 1


def test_site_packages_stay_within_their_platform(tmp_path):
    site = tmp_path / "env/lib/python3.11/site-packages"
    write(site, numpy_py="")
    made = environment.capture(tmp_path / "db", path=[str(site)], workspace=tmp_path)
    here = environment.describe()
    assert made.requirements(here) == [] and made.has_packages
    for change in ({"machine": "riscv"}, {"system": "Plan9"}, {"python": "3.99.0"}):
        there = here | change | {"packages": {"numpy": here["packages"]["numpy"]}}
        assert not made.fits(there)
        assert f"cloudpickle=={here['packages']['cloudpickle']}" in made.requirements(there)
        assert not any(text.startswith("numpy==") for text in made.requirements(there))
    made._text["machine"] = "riscv"
    assert made.unpack(tmp_path / "node") == []


def test_other_boots_are_not_trusted(tmp_path):
    work = project(tmp_path / "work")
    made = environment.capture(tmp_path / "db", workspace=work, path=[str(work)])
    (first,) = made.unpack(tmp_path / "node")
    boot = Path(first).relative_to(tmp_path / "node").parts[0]
    week = time.time() - 8 * 86400
    for name in ("boot-recent", "boot-old"):
        (tmp_path / "node" / boot).rename(tmp_path / "node" / name)
        os.utime(tmp_path / "node" / name, (week, week) if name == "boot-old" else None)
        assert made.unpack(tmp_path / "node") == [first] and Path(first).exists()
    assert sorted(os.listdir(tmp_path / "node")) == sorted([boot, "boot-recent"])


def test_gc(tmp_path):
    work = project(tmp_path / "work")
    db = tmp_path / "db"
    old = environment.capture(db, workspace=work, path=[str(work)])
    write(work, pkg__lib_py="VALUE = 8\n")
    new = environment.capture(db, workspace=work, path=[str(work)])
    days = time.time() - 40 * 86400
    for name in (f"{old.hash}.json", old.archives[0][0]):
        os.utime(db / "_leman/env" / name, (days, days))
    assert len(environment.list_environments(db)) == 2
    gone = environment.gc(db, dry_run=True)
    assert sorted(gone) == sorted([f"{old.hash}.json", old.archives[0][0]])
    assert environment.gc(db) == gone and environment.gc(db) == []
    assert [item["hash"] for item in environment.list_environments(db)] == [new.hash]
    assert new.unpack(tmp_path / "node")
    (tmp_path / "empty").mkdir()
    assert environment.gc(tmp_path / "empty") == []


def test_differences():
    here = environment.describe()
    assert environment.differences(here, here) == []
    there = here | {"python": "3.99.1", "ray": "2.0.0", "leman": "9.9"}
    found = {item.what: item for item in environment.differences(here, there)}
    assert all(found[what].stops for what in ("python", "ray", "leman"))
    with pytest.raises(leman.InvalidError) as error:
        environment.check(here, there, where="cluster 'x'")
    for word in ("cluster 'x'", "3.99.1 there", "ray: ", "2.0.0 there", "leman: ", "9.9 there"):
        assert word in str(error.value)


def test_differences_of_packages():
    here = environment.describe() | {"packages": {"numpy": "2.0", "torch": "2.5", "attrs": "1"}}
    there = here | {"packages": {"numpy": "1.26", "attrs": "1"}}
    assert environment.differences(here, there) == []  # ours are shipped
    found = environment.differences(here, there, ships_packages=False)
    assert [(item.what, item.here, item.there, item.stops) for item in found] == [
        ("numpy", "2.0", "1.26", False),
        ("torch", "2.5", None, False),
    ]
    found = environment.differences(here, there, ships_packages=False, needs=["Torch", "nope"])
    assert [(item.what, item.stops) for item in found] == [("torch", True), ("nope", True)]
    assert "torch: 2.5 here, missing there; install torch==2.5 there" in str(found[0])
    elsewhere = there | {"machine": "riscv"}
    found = environment.differences(here, elsewhere, needs=["numpy"])
    assert [(item.what, item.stops) for item in found] == [("machine", False), ("numpy", True)]


def test_manifests(tmp_path):
    here = environment.describe()["packages"]
    made = environment.pip(["cloudpickle", "numpy==1.26.4", "x @ file:///y.whl", "# no"])
    assert made.packages == [
        f"cloudpickle=={here['cloudpickle']}",
        "numpy==1.26.4",
        "x @ file:///y.whl",
    ]
    (tmp_path / "requirements.txt").write_text("numpy==1.26.4  # pinned\n\n# torch\n")
    assert environment.pip(tmp_path / "requirements.txt").packages == ["numpy==1.26.4  "[:-2]]
    conda = environment.conda({"dependencies": ["c::x=1.2", "y==3=b_0", {"pip": ["z==1.26.4"]}]})
    python = "{}.{}".format(*sys.version_info)
    assert conda.content["dependencies"][0] == f"python={python}"
    assert conda.conda_pins() == {"python": python, "x": "1.2", "y": "3"}
    assert conda.pins() == {"z": "1.26.4"} and not conda.packages
    digest = "repo/x@sha256:" + "0" * 64
    assert environment.image(digest).content == digest
    for manifest in (made, conda, environment.image("repo:5000/x:v1")):
        given = json.loads(json.dumps(manifest.describe()))
        assert environment.Manifest.from_description(given) == manifest


def with_manifest(name, manifest):
    @leman.udf(manifest=manifest)
    def function(x: int) -> int:
        return x

    function.name = name
    return function


def test_manifests_of_one_job():
    one = with_manifest("one", environment.pip(["a==1", "b==2"]))
    two = with_manifest("two", environment.pip(["b==2", "c==3"]))
    assert merged([one, two, with_manifest("none", None)]).packages == ["a==1", "b==2", "c==3"]
    assert merged([with_manifest("none", None)]) is None
    assert merged([], [None, environment.image("x:1")]) == environment.image("x:1")
    for other in (environment.pip(["B==3"]), environment.image("x:1")):
        with pytest.raises(leman.InvalidError, match=r"one\(\) needs .*b==2.*three\(\).*two calls"):
            merged([one, with_manifest("three", other)])


def test_functions_as_workers_get_them():
    """What was shipped takes the place of the client's path; functions in C import nothing."""
    python, c = (
        {"name": "f", "code": b'{"path": ["/here"]}\ncode'},
        {"name": "g", "code": b"\x7fELF"},
    )
    crate = Crate()
    crate.codes = {python["code"]}
    assert crate.functions([python, c]) == [python, c]
    crate.shipped, crate.packages = ("/there", "hash"), ["a==1"]
    dressed, same = crate.functions([python, c])
    assert same == c and dressed["name"] == "f"
    line, _, code = dressed["code"].partition(b"\n")
    assert json.loads(line) == {"path": [], "shipped": ["/there", "hash"], "packages": ["a==1"]}
    assert code == b"code"


def test_needs(tmp_path, monkeypatch):
    """What functions import, what their own modules import, and what that requires."""
    site = tmp_path / "env/lib/python3.11/site-packages"
    for name, requires in (
        ("first", "second>=1; extra == 'x'"),
        ("second", ""),
        ("third", "Second"),
    ):
        write(site, **{f"{name}_py": ""})
        text = f"Name: {name}\nVersion: 1\n" + (f"Requires-Dist: {requires}\n" if requires else "")
        write(site, **{f"{name}-1.dist-info__METADATA": text})
        write(site, **{f"{name}-1.dist-info__top_level.txt": f"{name}\n"})
    work = tmp_path / "work"
    write(work, needs_helper_py="import third\n\ndef f():\n    import first\n")
    monkeypatch.setattr(sys, "path", [str(work), *sys.path, str(site)])
    monkeypatch.setattr(needs, "_packages_of", needs._packages_of.__wrapped__)

    @leman.udf
    def one(x: int) -> int:
        import first

        return first.go(x)

    @leman.udf
    def two(x: int) -> int:
        import needs_helper

        return needs_helper.go(x)

    here = environment.describe()["packages"]
    always = needs.needs_of([with_manifest("f", None)], here)  # of the module that they are in
    assert needs.needs_of([one], here) - always == {"first"}
    assert needs.needs_of([two], here) - always == {"second", "third"}
    assert {"cloudpickle", "pytest", "pluggy"} <= always


@pytest.mark.parametrize("given", [7, "mine", {"skip_packages": True}])
def test_bad_environment_of_a_job(tmp_path, given):
    table = leman.connect(tmp_path).create_table("t", {"x": [1]})
    table.add_columns({"y": with_manifest("f", None)})
    with pytest.raises(
        TypeError, match=r"environment.*(7|'mine'|'skip_packages'.*skip_site_packages)"
    ):
        table.backfill("y", environment=given)


def test_files_are_read_while_a_cluster_is_connected(tmp_path, monkeypatch):
    work = project(tmp_path / "work")
    os.utime(work / "pyproject.toml", (time.time() - 60,) * 2)
    monkeypatch.setattr(sys, "path", [str(work)])
    monkeypatch.chdir(work)

    class Slow:
        """Is connected once the workspace has been hashed."""

        kind = "external"

        def init(self):
            end = time.monotonic() + 60
            while not list((tmp_path / "state").glob("leman/hashes/*.hashes")):
                assert time.monotonic() < end
                time.sleep(0.01)

    with leman.connect(tmp_path).context(Slow(), environment={"workspace": str(work)}):
        assert environment.plan(workspace=work).files_hashed == 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: environment.pip(["numpy>=1"]), ["'numpy>=1'", "name==version"]),
        (lambda: environment.pip(["no-such-package"]), ["'no-such-package'", "not installed"]),
        (lambda: environment.pip(["-r other.txt"]), ["'-r other.txt'", "option"]),
        (lambda: environment.pip("/nowhere/req.txt"), ["/nowhere/req.txt"]),
        (lambda: environment.conda({"dependencies": ["python"]}), ["'python'", "name=version"]),
        (lambda: environment.conda({"dependencies": ["x=1,<3"]}), ["'x=1,<3'", "name=version"]),
        (lambda: environment.conda(["python=3.11"]), ["dependencies"]),
        (lambda: environment.image("repo/x"), ["'repo/x'", "tag"]),
        (lambda: environment.image("repo/x:latest"), ["latest"]),
        (lambda: environment.image("Repo X"), ["'Repo X'"]),
        (lambda: environment.load("/nowhere", "xyz"), ["xyz"]),
        (lambda: environment.capture("s3://bucket/x", path=[]), ["s3://"]),
        (lambda: environment.plan(path=[], bytes_max="much"), ["bytes_max", "'much'"]),
        (lambda: environment.plan(path=[], workspace="/nowhere"), ["workspace", "'/nowhere'"]),
        (lambda: environment.list_environments("/nowhere/db"), ["/nowhere/db: there is no such"]),
        (lambda: environment.gc("/nowhere/db"), ["/nowhere/db: there is no such"]),
    ],
)
def test_bad_input_is_named(make, words):
    with pytest.raises((leman.LemanError, ValueError)) as error:
        make()
    for word in words:
        assert word in str(error.value)


def test_check_here():
    here = environment.describe()["packages"]
    environment.pip(["cloudpickle"]).check_here("f()")
    with pytest.raises(leman.InvalidError) as error:
        environment.pip(["cloudpickle==0.1", "nope==1"]).check_here("f()")
    assert f"cloudpickle==0.1 is wanted, and {here['cloudpickle']} is installed" in str(error.value)
    assert "nope==1 is wanted, and it is not installed" in str(error.value)


def test_check_here_of_conda(tmp_path, monkeypatch):
    """Packages of conda are looked for where this Python is one of conda's."""
    made = environment.conda({"dependencies": ["x-y=1.2", "z=3"]})
    (tmp_path / "conda-meta").mkdir()
    for name in ("x-y-1.2.5-py_0", "z-30.1-0"):
        (tmp_path / f"conda-meta/{name}.json").touch()
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    with pytest.raises(leman.InvalidError) as error:
        made.check_here("f()")
    assert "z=3 of conda is wanted, and 30.1 is installed" in str(error.value)
    assert "x-y" not in str(error.value) and "python" not in str(error.value)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "none"))
    with pytest.raises(leman.InvalidError, match="x-y=1.2 of conda .*, and it is not installed"):
        made.check_here("f()")


def test_another_python_of_conda():
    """Functions are read by the minor of Python that has sent them."""
    made = environment.conda({"dependencies": ["python=3.9"]})
    with pytest.raises(leman.InvalidError, match="f.. would be read .*\n    python=3.9 is wanted"):
        made.check_carriers("f()")


CONDA = """#!/bin/sh
touch {top}/begun
until [ -e {top}/gate ]; do sleep 0.01; done
"""


def test_conda_that_outlives_who_called_it(tmp_path, monkeypatch):
    """Nobody else makes its environment meanwhile."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/conda").write_text(CONDA.format(top=tmp_path))
    (tmp_path / "bin/conda").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    code = (
        "from leman import environment as e;"
        "e.install_conda(e.conda({'dependencies': ['x=1']}).content)"
    )
    caller = subprocess.Popen([sys.executable, "-c", code])
    while not (tmp_path / "begun").exists():
        assert caller.poll() is None
        time.sleep(0.01)
    caller.kill()
    caller.wait()
    (path,) = tmp_path.glob("state/leman/packages/boot-*/conda/*.lock")
    with open(path) as lock:
        try:
            with pytest.raises(BlockingIOError):
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        finally:
            (tmp_path / "gate").touch()
        fcntl.flock(lock, fcntl.LOCK_EX)


def test_startup():
    now = [0.0]
    startup = Startup(clock=lambda: now[0])
    with startup.phase("scan"):
        now[0] += 0.5
    with startup.phase("provision"):
        now[0] += 2.0
        startup.add("upload", 1.5)  # meanwhile
    startup.end()
    now[0] += 100
    assert startup.to_dict() == {"scan": 0.5, "upload": 1.5, "provision": 2.0, "total": 2.5}
    assert str(startup) == "started in 2.50 s: scan 0.50 s, upload 1.50 s, provision 2.00 s"
    startup = Startup(clock=lambda: now[0])
    startup.add("provision", 1.0)
    startup.note = "nothing is shipped"
    startup.follow(0.5, 0, 0)
    startup.follow(2.0, 1, 0)
    assert not startup.has_ended
    startup.follow(2.5, 1, 7)
    startup.follow(9.0, 1, 9)
    assert startup.has_ended and startup.seconds == {"provision": 3.0, "first task": 0.5}
    assert str(startup).endswith("provision 3.00 s, first task 0.50 s; nothing is shipped")
    with pytest.raises(ValueError, match="no phase 'lunch'"):
        startup.add("lunch", 1)
