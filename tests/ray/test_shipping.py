# SPDX-License-Identifier: Apache-2.0
"""Jobs whose nodes are elsewhere: what workers import is shipped, installed, or refused.

The node runs in a namespace of its own, in which the client's folders are empty: a machine that
does not have them, on this one.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import zipfile
from pathlib import Path

import conda_channel
import leman
import pyarrow as pa
import pytest
import python_image
from leman import RayOptions, environment
from leman.ingest import Generators

ROWS = 40
IMAGE = f"localhost/leman-test:{os.getpid()}"
NO_IMAGE = ["there is no podman", "kuberay(image="]
if shutil.which("podman"):
    NO_IMAGE = ["Leman does not run in"]
MODULES = ("my_functions", "my_helper", "oddly", "evenly", "newest")
FUNCTIONS = """
import leman
import my_helper


def rows():
    yield [{"x": my_helper.triple(40)}]


@leman.udf
def helped(x: int) -> int:
    import my_helper

    return my_helper.triple(x) + ("/environments/boot-" in my_helper.__file__)


@leman.udf
def odd(x: int) -> int:
    import oddly

    return oddly.NUMBER + x


@leman.udf
def even(x: int) -> int:
    import evenly

    return evenly.NUMBER + x
"""


def can_unshare():
    command = [
        "unshare",
        "--mount",
        "--pid",
        "--mount-proc",
        "--fork",
        "mount",
        "-t",
        "tmpfs",
        "none",
        "/mnt",
    ]
    return subprocess.run(command, capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(not can_unshare(), reason="needs a namespace for mounts")


def wheel(folder, name, version, text):
    """A package of one module, as pip takes it."""
    path = folder / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": text,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/top_level.txt": f"{name}\n",
    }
    record = "".join(f"{file},,\n" for file in [*files, f"{info}/RECORD"])
    with zipfile.ZipFile(path, "w") as archive:
        for file, content in [*files.items(), (f"{info}/RECORD", record)]:
            archive.writestr(file, content)
    return path


def put(wheel_path, site):
    """Install it there, as pip would."""
    with zipfile.ZipFile(wheel_path) as archive:
        archive.extractall(site)


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """Folders of the client that the node does not have, and one that it has in their place."""
    top = tmp_path_factory.mktemp("places")
    for name in ("work", "site-packages", "there", "wheels", "state", "bin", "mounted"):
        (top / name).mkdir()
    leman.connect(top / "apart").create_table("t", pa.table({"x": range(ROWS)}))
    shutil.copytree(top / "apart", top / "copy")
    (top / "work/pyproject.toml").write_text("")
    (top / "work/my_functions.py").write_text(FUNCTIONS)
    (top / "work/my_helper.py").write_text("def triple(x):\n    return 3 * x\n")
    put(
        wheel(top / "wheels", "oddly", "1.0", "NUMBER = 1\n\n\ndef number():\n    return NUMBER\n"),
        top / "site-packages",
    )
    put(wheel(top / "wheels", "evenly", "1.0", "NUMBER = 2\n"), top / "site-packages")
    put(top / "wheels/evenly-1.0-py3-none-any.whl", top / "there")
    wheel(top / "wheels", "newest", "3.1", "NUMBER = 31\n")
    conda_channel.make(top)
    with pytest.MonkeyPatch.context() as patch:
        python_image.settings(top / "containers.conf")
        patch.setenv("CONTAINERS_CONF", str(top / "containers.conf"))
        yield top


@pytest.fixture(scope="module")
def ray(places):
    """A head here without room for workers, and a node elsewhere."""
    import ray
    from ray.cluster_utils import Cluster

    made = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "resources": {"head": 1}, "include_dashboard": False},
    )
    script = textwrap.dedent(f"""
        set -e
        mount -t tmpfs none {places}/work
        mount --bind {places}/there {places}/site-packages
        mount --bind {places}/apart {places}/mounted
        mount --bind {places}/copy {places}/apart
        exec {sys.executable} -m ray.scripts.scripts start --address={made.address} --block \\
            --num-cpus=2 --num-gpus=1 --labels=place=there --disable-usage-stats
    """)
    node = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--mount-proc", "--kill-child", "sh", "-c", script],
        env=os.environ
        | {
            "PYTHONPATH": f"{places}/site-packages",
            "XDG_STATE_HOME": f"{places}/state",
            **conda_channel.variables(places),
        },
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    ray.init(address=made.address, logging_level="error", log_to_driver=False)
    end = time.monotonic() + 150
    while sum(found["Alive"] for found in ray.nodes()) < 2:
        assert time.monotonic() < end and node.poll() is None, "the node does not come"
        time.sleep(0.1)
    yield ray
    ray.shutdown()
    node.kill()  # all of its namespace ends
    node.wait()
    made.shutdown()


@pytest.fixture
def table(tmp_path, ray):
    return leman.connect(tmp_path).create_table("t", pa.table({"x": range(ROWS)}))


@pytest.fixture
def client(places, monkeypatch):
    """This process has the folders on its path, and nothing of the tests."""
    own = str(Path(__file__).parents[1])
    kept = [folder for folder in sys.path if folder and not folder.startswith(own)]
    kept = [folder for folder in kept if not os.path.exists(os.path.join(folder, "tests"))]
    monkeypatch.setattr(sys, "path", [str(places / "work"), *kept, str(places / "site-packages")])
    monkeypatch.chdir(places / "work")
    yield places
    for name in MODULES:
        sys.modules.pop(name, None)


def values(table, name="y"):
    return table.to_arrow([name])[name].to_pylist()


def run(table, function, **options):
    """Fill a column on the cluster; what its start was."""
    table.add_columns({"y": function})
    job = table.backfill_async("y", engine="ray", concurrency=1, **options)
    assert job.wait(120).state == "done"
    return job._core.status()["started"]


def refused(table, function, **options):
    """What a job says that is refused before anything is started."""
    table.add_columns({"y": function})
    with pytest.raises(leman.InvalidError) as error:
        table.backfill("y", engine="ray", **options)
    assert table.jobs() == []
    return str(error.value)


def test_shipping__workspace(table, client, capfd):
    """A module of the workspace is found on a node without it; a second job ships nothing.

    Packages that the node has in the same version stay here.
    """
    from my_functions import even, helped

    table.add_columns({"y": helped, "z": even})
    table.backfill("y", engine="ray", concurrency=1, progress=True)
    assert values(table) == [3 * x + 1 for x in range(ROWS)]
    said = capfd.readouterr().err
    assert re.search(r"started in .*scan .*archive .*upload .*provision .*first task ", said)
    assert "shipped 1 of 1 archives" in said
    table.backfill("z", engine="ray", concurrency=1, progress=True)
    said = capfd.readouterr().err
    assert "shipped 0 of 1 archives" in said and "with packages" not in said
    assert values(table, "z") == [2 + x for x in range(ROWS)]


def test_shipping__loads(table, client):
    """Generators of the workspace run in tasks on a node without it."""
    from my_functions import rows

    table.ray(RayOptions(max_parallelism=1)).append_from([rows])
    assert sorted(values(table, "x"))[-1] == 3 * ROWS


@pytest.fixture
def busy_head(ray):
    """Tasks have no place but on the node that is elsewhere."""

    @ray.remote(num_cpus=1, resources={"head": 1})
    class Holder:
        def ready(self):
            return True

    holder = Holder.remote()
    ray.get(holder.ready.remote())
    yield
    ray.kill(holder)


def test_shipping__another_table_at_its_path(places, busy_head):
    """A node whose folder is another one is told by name; nothing is loaded there, and lost."""

    def rows():
        yield [{"x": ROWS}]

    table = leman.connect(places / "apart").open_table("t")
    runner = table.ray(RayOptions(max_parallelism=1))
    told = rf"node .* does not see the table at {table.path}: .*path_map="
    for load in (lambda: runner.append_from([rows]), lambda: runner.append(Generators([rows]))):
        with pytest.raises(leman.UnavailableError, match=told):
            load()
    assert len(leman.open(places / "copy/t.lance")) == ROWS
    there = {"path_map": {str(places / "apart"): str(places / "mounted")}}
    assert table.ray(**there).append_from([rows]).rows_committed == 1
    with pytest.raises(leman.UnavailableError, match=told):
        runner.read_all()
    assert table.ray(**there).read_all().num_rows == ROWS + 1
    with pytest.raises(Exception, match=told):
        table.ray_dataset().take_all()
    assert len(table.ray_dataset(**there).take_all()) == ROWS + 1


def test_shipping__packages(table, client, tmp_path):
    """A class of an installed package is one of an installed package over there, too."""
    site = str(client / "site-packages")
    env = environment.capture(tmp_path, path=[site], workspace=str(client / "work"))
    import oddly

    number = oddly.number

    @leman.udf
    def numbered(x: int) -> int:
        return number() + x

    run(table, numbered, environment=env)
    assert values(table) == [1 + x for x in range(ROWS)]


def test_shipping__too_much(table, client):
    """Packages that a node lacks are shipped, if they are few enough."""
    from my_functions import odd

    said = refused(table, odd)
    assert "is more than 500.0 MB" in said and ".lemanignore" in said


def test_shipping__to_a_folder_that_nodes_do_not_see(table, client):
    from my_functions import even

    store = str(client / "work/store")
    said = refused(table, even, environment={"env_store": store})
    assert re.search(rf"node .* shipped to {store} is not seen: .*path_map=", said)


def test_shipping__packages_that_may_not_be_shipped(table, client):
    from my_functions import odd

    said = refused(table, odd, environment={"skip_site_packages": True})
    assert re.search(r"would not run on node .*\n    oddly: 1.0 here, missing there; install", said)
    assert "evenly" not in said
    assert "oddly: 1.0 here" in refused_again(table, environment=False)


def refused_again(table, **options):
    with pytest.raises(leman.InvalidError) as error:
        table.backfill("y", engine="ray", **options)
    return str(error.value)


def test_shipping__pip(table, client):
    """A wheel is installed on the nodes that get workers, once."""
    file = client / "wheels/newest-3.1-py3-none-any.whl"

    @leman.udf(manifest=environment.pip([f"newest @ file://{file}"]))
    def new(x: int) -> int:
        import newest

        return newest.NUMBER + x

    run(table, new, node_labels={"place": "there"})
    assert values(table) == [31 + x for x in range(ROWS)]
    (found,) = (client / "state/leman/packages").glob("boot-*/site-packages/*/newest.py")
    file.unlink()
    job = table.backfill_async(
        "y", engine="ray", concurrency=1, node_labels={"place": "there"}, recompute=True
    )
    assert job.wait(120).state == "done" and found.exists()


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        (environment.pip(["newest==99.0"]), ["node ", "pip does not install newest==99.0"]),
        (environment.pip(["cloudpickle==0.1"]), ["plain()", "cloudpickle==0.1 is wanted, and"]),
        (
            environment.conda({"dependencies": ["ffmpeg=6.1"]}),
            ["node ", "there is no conda", "ffmpeg=6.1", "leman.environment.pip()"],
        ),
        (environment.image("me/it:1"), ["node ", "the image me/it:1", *NO_IMAGE]),
    ],
)
def test_shipping__what_cannot_be_installed(table, client, manifest, words):
    @leman.udf(manifest=manifest)
    def plain(x: int) -> int:
        return x

    said = refused(table, plain, resources={"head": 0.1})  # that node has no other programs
    for word in words:
        assert word in said, said


def of_conda(places, *dependencies):
    return environment.conda(
        {"channels": [f"file://{places}/channel"], "dependencies": list(dependencies)}
    )


def test_shipping__conda(table, client):
    """Workers run in an environment of conda, which a node makes once; the table keeps its list."""

    @leman.udf(manifest=of_conda(client, "evenly=2.0", "shout==1.0"))
    def shouted(x: int) -> str:
        import subprocess

        import evenly
        import my_helper

        said = subprocess.run(["shout"], capture_output=True, text=True, check=True).stdout
        assert said.strip() == sys.prefix and evenly.__file__.startswith(sys.prefix)
        return f"{sys.prefix} {my_helper.triple(x) + evenly.NUMBER}"

    run(table, shouted, node_labels={"place": "there"})
    (made,) = (client / "state/leman/packages").glob("boot-*/conda/*/leman-done")
    assert values(table) == [f"{made.parent} {3 * x + 200}" for x in range(ROWS)]
    python = "python={}.{}".format(*sys.version_info)
    kept = table.manifest("y").content["dependencies"]
    assert kept == [python, "evenly=2.0", "shout==1.0"]
    table.backfill("y", engine="ray", node_labels={"place": "there"}, recompute=True)
    assert (client / "conda.log").read_text().count("env create") == 1


def test_shipping__conda_of_what_is_not_there(table, client):
    """conda's own words, before anything is started; what it had begun is gone."""

    @leman.udf(manifest=of_conda(client, "evenly=9.0"))
    def plain(x: int) -> int:
        return x

    said = refused(table, plain, node_labels={"place": "there"})
    assert re.search(r"node .*: conda does not install python=.*, evenly=9.0:\n", said), said
    assert "evenly" in said.partition("evenly=9.0:")[2]
    assert len(list((client / "state/leman/packages").glob("boot-*/conda/*/"))) <= 1


@pytest.fixture(scope="module")
def image(places):
    """An image of this Python with a module of its own."""
    if shutil.which("podman") is None:
        pytest.skip("podman is not installed")
    modules = {"only_inside": "NUMBER = 7\n", "evenly": "NUMBER = 70\n"}
    python_image.write(places / "image.tar", modules)
    subprocess.run(["podman", "import", "--quiet", places / "image.tar", IMAGE], check=True)
    ran = subprocess.run(
        ["podman", "run", "--rm", "--network=host", IMAGE, "python", "-c", ""],
        capture_output=True,
        text=True,
    )
    if ran.returncode != 0:
        pytest.skip(f"podman does not run containers here: {ran.stderr.strip()}")
    yield IMAGE
    subprocess.run(["podman", "rmi", "--force", IMAGE], capture_output=True)


def containers():
    command = ["podman", "ps", "--all", "--quiet", "--filter=name=leman-worker"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_shipping__image(table, client, image, monkeypatch):
    """Workers run in containers of an image, with the workspace, and values of secrets."""
    monkeypatch.setenv("MY_KEY", "tell nobody")

    @leman.udf(manifest=environment.image(image), secrets=["MY_KEY"])
    def inside(x: int) -> int:
        import evenly
        import my_helper
        import only_inside

        own = 1000 * os.getpid() + 100 * len(os.environ["MY_KEY"])
        return own + my_helper.triple(x) + only_inside.NUMBER + evenly.NUMBER

    run(table, inside, node_labels={"place": "there"}, keep_warm=False)
    assert values(table) == [1000 + 1100 + 3 * x + 77 for x in range(ROWS)]
    assert table.manifest("y").content == image
    gone(containers)


def gone(left):
    """Wait until nothing is left."""
    end = time.monotonic() + 60
    while left():
        assert time.monotonic() < end, left()
        time.sleep(0.1)


def test_shipping__image_of_a_worker_that_hangs(table, client, image, tmp_path):
    """A job that is cancelled ends its containers, whatever they do."""
    begun = tmp_path / "begun"

    @leman.udf(manifest=environment.image(image))
    def hangs(x: int) -> int:
        begun.touch()
        while True:
            signal.pause()

    table.add_columns({"y": hangs})
    job = table.backfill_async(
        "y", engine="ray", concurrency=1, node_labels={"place": "there"}, keep_warm=False
    )
    gone(lambda: not begun.exists())
    assert containers()
    job.cancel(now=True)
    with pytest.raises(leman.CancelledError):
        job.wait(60)
    gone(containers)


def test_shipping__image_and_gpus(table, client):
    @leman.udf(manifest=environment.image("me/it:1"), num_gpus=1)
    def plain(x: int) -> int:
        return x

    said = refused(table, plain)
    assert "wants 1 GPUs, which containers of the image me/it:1 are not given" in said


def test_shipping__warmup_on_every_node(ray, client, tmp_path):
    @leman.udf
    class Loads:
        def setup(self):
            import my_helper

            (Path(tmp_path) / str(my_helper.triple(os.getpid()))).touch()

        def __call__(self, x: int) -> int:
            return x

    work = str(client / "work")
    env = environment.capture(tmp_path, path=[work], workspace=work)
    done = leman.cluster.external("127.0.0.1:1").warmup(Loads(), environment=env)
    assert len(done) == 2 == len([name for name in os.listdir(tmp_path) if name.isdigit()])
