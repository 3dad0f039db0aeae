# SPDX-License-Identifier: Apache-2.0
"""An image of this machine's own Python with Leman, made without a registry, and what runs it."""

import io
import os
import re
import resource
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import cloudpickle
import leman

_LEFT_OUT = {"site-packages", "dist-packages", "__pycache__", "test", "tests", "idlelib", "tkinter"}


def _libraries(files):
    """The shared libraries that programs and modules load."""
    done = subprocess.run(["ldd", *files], capture_output=True, text=True)
    return set(re.findall(r"(/\S+\.so\S*) \(0x", done.stdout))


def _files(folder, left_out):
    for place, below, names in os.walk(folder):
        below[:] = [name for name in below if name not in left_out]
        yield from (Path(place, name) for name in names)


def _add(tar, path, name):
    tar.add(os.path.realpath(path), arcname=str(name).lstrip("/"), recursive=False)


def write(path, modules):
    """A root as an archive: Python, Leman, and these modules, {name: text}."""
    stdlib, site = (
        Path(sysconfig.get_path("stdlib")),
        Path(sysconfig.get_path("stdlib")) / "site-packages",
    )
    program = os.path.realpath(sys.executable)
    own = [*_files(stdlib, _LEFT_OUT)]
    packages = [Path(leman.__file__).parent, Path(cloudpickle.__file__).parent]
    with tarfile.open(path, "w") as tar:
        for file in own:
            _add(tar, file, file)
        for package in packages:
            for file in _files(package, {"__pycache__"}):
                _add(tar, file, site / package.name / file.relative_to(package))
        binaries = [str(file) for file in own if file.suffix == ".so"]
        binaries += [program, str(packages[0] / "_core.abi3.so")]
        for file in [program, *sorted(_libraries(binaries))]:
            _add(tar, file, file)
        link = tarfile.TarInfo("usr/bin/python")
        link.type, link.linkname = tarfile.SYMTYPE, program
        tar.addfile(link)
        for name, text in modules.items():
            told = tarfile.TarInfo(str(site / f"{name}.py").lstrip("/"))
            told.size = len(text)
            tar.addfile(told, io.BytesIO(text.encode()))
        told = tarfile.TarInfo("tmp")
        told.type, told.mode = tarfile.DIRTYPE, 0o1777
        tar.addfile(told)


def settings(path):
    """A file for CONTAINERS_CONF by which podman runs inside of a container, as tests may do.

    podman asks for higher limits than a process may have that is in one, and crun for a tree of
    cgroups of its own.
    """
    kinds = {"nofile": resource.RLIMIT_NOFILE, "nproc": resource.RLIMIT_NPROC}
    limits = {name: resource.getrlimit(kind)[0] % 2**64 for name, kind in kinds.items()}
    asked = [f"{name}={min(limit, 4096)}" for name, limit in limits.items()]
    path.write_text(
        f"[containers]\ndefault_ulimits = {asked}\n"
        '[engine]\nruntime = "runc"\ncgroup_manager = "cgroupfs"\n'
    )
