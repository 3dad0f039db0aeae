# SPDX-License-Identifier: Apache-2.0
"""Workers of an image: each runs in a container of the node's podman.

The worker alone is in the container, so that an image needs Python, Leman and what its functions
import. It gets the sockets of its engine, the folders that a job names, and the environment of the
node but for what belongs to the node's own programs. It ends with the process that has started it,
also where that is killed: another process waits for that, and removes the container.
"""

import ctypes
import json
import os
import secrets
import select
import signal
import subprocess
import sys

from leman import _core

_SAID_LINES = 6  # of podman's last words
_PDEATHSIG = 1  # of prctl(2)
_NODES_OWN = {"PATH", "HOME", "HOSTNAME", "PWD", "OLDPWD", "SHELL", "SHLVL", "TMPDIR", "USER", "_"}
_NODES_OWN_PREFIX = ("PYTHON", "LD_", "VIRTUAL_ENV", "CONDA", "CONTAINERS_")
_LOOK = """
import json, leman.environment
print(json.dumps(leman.environment.describe()))
"""


def _podman(*options):
    """The beginning of a command that runs an image's Python; files belong to who runs it."""
    own = [] if os.getuid() == 0 else ["--userns=keep-id"]
    common = ["--rm", "--security-opt=label=disable", "--network=host", "--entrypoint=python"]
    return ["podman", "run", *common, *own, *options]


def look(image):
    """On a node: what an image has, of ``describe()``; it is pulled where it is not there."""
    try:
        done = subprocess.run(
            [*_podman(), image, "-c", _LOOK],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
        )
    except FileNotFoundError:
        raise _core.InvalidError(
            f"there is no podman to run the image {image} with: make the cluster of that image "
            "(leman.cluster.kuberay(image=...))"
        ) from None
    if done.returncode != 0:
        said = [line for line in done.stderr.splitlines() if line.strip()][-_SAID_LINES:]
        raise _core.InvalidError(
            f"Leman does not run in the image {image}:" + "".join(f"\n    {line}" for line in said)
        )
    return json.loads(done.stdout.splitlines()[-1])


def command(image, folders):
    """The command that starts a worker in a container, to which these folders are given."""
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    code = f"import sys; sys.path.append({root!r}); from leman.container import main; main()"
    return [sys.executable, "-P", "-c", code, image, *folders]


def _is_given(name):
    return name not in _NODES_OWN and not name.startswith(_NODES_OWN_PREFIX)


def _remove_afterwards(name):
    """Leave a process that removes a container when this one has ended, reaped or not."""
    ended = os.pidfd_open(os.getpid())
    if os.fork() != 0:
        os.close(ended)
        return
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(ended, 3)  # the sockets of the engine are not for it
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.closerange(4, os.sysconf("SC_OPEN_MAX"))
    select.select([3], [], [])
    os.execvp("podman", ["podman", "rm", "--force", "--time=0", "--ignore", name])


def main():
    """Become podman, for a worker."""
    image, *folders = sys.argv[1:]
    ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL)
    name = f"leman-worker-{secrets.token_hex(8)}"
    _remove_afterwards(name)
    sockets = os.environ["LEMAN_WORKER_FDS"].count(",") + 1  # from 3 on
    given = [f"--env={name}" for name in os.environ if _is_given(name)]  # not their values
    given += [f"--volume={folder}:{folder}" for folder in folders]
    options = [f"--name={name}", f"--preserve-fds={sockets}", *given]
    code = "from leman.worker import main; main()"
    os.execvp("podman", [*_podman(*options), image, "-P", "-c", code])
