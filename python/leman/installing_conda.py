# SPDX-License-Identifier: Apache-2.0
"""Environments of conda on a node: made once, by the node's own conda, in a folder of their list.

Workers of a function run in the environment's own Python. What the environment has not, as Leman
itself, they find where the node's Python finds it, after all that the environment has.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

from leman import _core

_SAID_LINES = 12  # of conda's last words
_DONE = "leman-done"  # a file that whole environments have

# As `conda activate` does, but in the process that becomes the worker.
_ENTER = """
export CONDA_PREFIX="$0" PATH="$0/bin:$PATH"
for file in "$0"/etc/conda/activate.d/*.sh; do
    if [ -r "$file" ]; then . "$file"; fi
done
exec "$0/bin/python" "$@"
"""


def listed(content):
    """What a description of an environment asks for, in a line."""
    names = []
    for item in content["dependencies"]:
        names += [item] if isinstance(item, str) else [f"{text} (pip)" for text in item["pip"]]
    return ", ".join(names)


def _program(content):
    """The conda of this machine: that of the PATH, or of the shell that was set up for it."""
    found = shutil.which("conda") or shutil.which(os.environ.get("CONDA_EXE", ""))
    if found is None:
        raise _core.InvalidError(
            f"there is no conda to install {listed(content)} with: take an image that has it, or "
            "list packages by leman.environment.pip()"
        )
    return found


def install(content, folder):
    """Make an environment below a folder, unless it is there; where it is.

    Files of an environment name its folder, so that it is made in its place; one that is not done
    is made anew. Several processes may ask for it at once: one makes it, the others wait for it.
    """
    text = json.dumps(content, sort_keys=True)
    base = Path(folder, "conda")
    place = base / hashlib.sha256(text.encode()).hexdigest()[:32]
    if (place / _DONE).exists():
        return str(place)
    program = _program(content)
    base.mkdir(parents=True, exist_ok=True)
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (place / _DONE).exists():
            shutil.rmtree(place, ignore_errors=True)
            _create(program, content, text, place, lock)
            (place / _DONE).touch()
    return str(place)


def _create(program, content, text, place, lock):
    """The lock is conda's, too: it goes on where the process is killed that has called it."""
    file = Path(f"{place}.yml")
    file.write_text(text)  # what is JSON is YAML
    command = [program, "env", "create", "--quiet", "--file", str(file), "--prefix", str(place)]
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        pass_fds=[lock.fileno()],
    )
    if done.returncode != 0:
        shutil.rmtree(place, ignore_errors=True)
        said = (done.stderr.strip() or done.stdout).splitlines()
        said = [line for line in said if line.strip()][-_SAID_LINES:]
        raise _core.InvalidError(
            f"conda does not install {listed(content)}:" + "".join(f"\n    {line}" for line in said)
        )
    _check_python(content, place)


def _check_python(content, place):
    """Functions are read by the minor of Python that has sent them."""
    ask = "import sys; print('%d.%d' % sys.version_info[:2])"
    python = place / "bin/python"
    if not python.exists():
        raise _core.InvalidError(f"conda installs no Python with {listed(content)}: list it, too")
    done = subprocess.run([python, "-I", "-c", ask], capture_output=True, text=True, check=True)
    here = "{}.{}".format(*sys.version_info)
    if done.stdout.strip() != here:
        raise _core.InvalidError(
            f"conda installs Python {done.stdout.strip()} with {listed(content)}, and functions "
            f"are sent by Python {here}: list python={here}"
        )


def packages_of(prefix):
    """Versions by name of what conda has installed there; none where it is not one of conda's."""
    names = [file.stem.rsplit("-", 2) for file in Path(prefix, "conda-meta").glob("*-*-*.json")]
    return {name: version for name, version, _ in names}


def enter(place, command):
    """The command of a worker of this Python as one of the environment's Python."""
    _, *arguments = command
    return ["bash", "-c", _ENTER, place, *arguments]


def own_path():
    """In a worker: the folders of the path that are the environment's."""
    return [folder for folder in sys.path if folder.startswith(sys.prefix + os.sep)]


def path_of_node():
    """Where this Python finds packages, for workers of another one; not its own modules."""
    own = os.path.dirname(os.__file__)
    return [
        os.path.abspath(folder)
        for folder in sys.path
        if os.path.isdir(folder)
        and os.path.abspath(folder) not in (own, os.path.join(own, "lib-dynload"))
    ]
