# SPDX-License-Identifier: Apache-2.0
"""A channel of conda in a folder: packages that are made here, and this machine's own Python."""

import bz2
import hashlib
import io
import json
import os
import platform
import sys
import sysconfig
import tarfile
from pathlib import Path

_PYTHON = "{}.{}".format(*sys.version_info)
# Debian's Python looks for packages elsewhere than others do.
_SITE = """
import os, sys
folder = os.path.join(sys.prefix, "lib", "python%d.%d" % sys.version_info[:2], "site-packages")
if folder not in sys.path:
    sys.path.append(folder)
"""
_LEFT_OUT = {"site-packages", "dist-packages", "__pycache__", "test", "tests", "idlelib", "tkinter"}


class Package:
    """Files and links of a package: {path: bytes, or where a link leads}."""

    def __init__(self, name, version, files, *, subdir="linux-64", needs=(), info=None):
        self.name, self.version, self.files = name, version, files
        self.subdir, self.info = subdir, info or {}
        self.index = {
            "name": name,
            "version": version,
            "build": "0",
            "build_number": 0,
            "depends": list(needs),
            "subdir": subdir,
            "timestamp": 1700000000000,
        }
        if subdir == "noarch":
            self.index["noarch"] = "python"

    def _paths(self):
        for path, content in self.files.items():
            kind, data = ("softlink", b"") if isinstance(content, str) else ("hardlink", content)
            sums = {"sha256": hashlib.sha256(data).hexdigest(), "size_in_bytes": len(data)}
            yield {"_path": path, "path_type": kind} | sums

    def archive(self):
        """Its bytes."""
        texts = {
            "info/index.json": self.index,
            "info/paths.json": {"paths_version": 1, "paths": list(self._paths())},
            **self.info,
        }
        made = {name: json.dumps(text).encode() for name, text in texts.items()}
        made["info/files"] = "".join(f"{path}\n" for path in self.files).encode()
        out = io.BytesIO()
        with tarfile.open(fileobj=out, mode="w") as tar:
            for path, content in (made | self.files).items():
                told = tarfile.TarInfo(path)
                told.mode = 0o755
                if isinstance(content, str):
                    told.type, told.linkname = tarfile.SYMTYPE, content
                    tar.addfile(told)
                else:
                    told.size = len(content)
                    tar.addfile(told, io.BytesIO(content))
        return bz2.compress(out.getvalue(), 1)


def module(name, version, text):
    """A package of one module of Python."""
    link = {"package_metadata_version": 1, "noarch": {"type": "python"}}
    files = {f"site-packages/{name}.py": text.encode()}
    told = {"info/link.json": link}
    return Package(name, version, files, subdir="noarch", needs=["python"], info=told)


def executable(name, version, text):
    """A package of one program, and of what activating it sets."""
    files = {
        f"bin/{name}": text.encode(),
        f"etc/conda/activate.d/{name}.sh": f"export {name.upper()}=$CONDA_PREFIX\n".encode(),
    }
    return Package(name, version, files)


def python():
    """This machine's Python: its program, and links to the files of its modules."""
    stdlib = Path(sysconfig.get_path("stdlib"))
    program = Path(os.path.realpath(sys.executable)).read_bytes()
    files = {f"bin/python{_PYTHON}": program, "bin/python": f"python{_PYTHON}"}
    for folder, below, names in os.walk(stdlib):
        below[:] = [name for name in below if name not in _LEFT_OUT]
        for path in (Path(folder, name) for name in names):
            files[f"lib/python{_PYTHON}/{path.relative_to(stdlib)}"] = str(path)
    files[f"lib/python{_PYTHON}/sitecustomize.py"] = _SITE.encode()
    return Package("python", platform.python_version(), files)


def write(folder, packages):
    """The channel, as a URL."""
    for subdir in ("linux-64", "noarch"):
        place = Path(folder, subdir)
        place.mkdir(parents=True)
        listed = {}
        for package in packages:
            if package.subdir == subdir:
                name, data = f"{package.name}-{package.version}-0.tar.bz2", package.archive()
                (place / name).write_bytes(data)
                sums = {kind: hashlib.new(kind, data).hexdigest() for kind in ("md5", "sha256")}
                listed[name] = package.index | sums | {"size": len(data)}
        text = {"info": {"subdir": subdir}, "packages": listed, "packages.conda": {}}
        (place / "repodata.json").write_text(json.dumps(text | {"repodata_version": 1}))
    return f"file://{folder}"


def make(top):
    """A program conda, and a channel of packages, in a folder; it notes how it is called."""
    program = os.environ.get("LEMAN_TEST_CONDA")
    program = program or f"{sys.executable} {Path(__file__).with_name('conda_program.py')}"
    Path(top, "bin").mkdir(exist_ok=True)
    Path(top, "bin/conda").write_text(
        f'#!/bin/sh\necho "$@" >>{top}/conda.log\nexec {program} "$@"\n'
    )
    Path(top, "bin/conda").chmod(0o755)
    shouts = executable("shout", "1.0", "#!/bin/sh\necho $SHOUT\n")  # what activating has set
    packages = [python(), module("evenly", "2.0", "NUMBER = 200\n"), shouts]
    write(Path(top, "channel"), packages)


def variables(top):
    """What processes are told so that they use it."""
    return {
        "PATH": f"{top}/bin:{os.environ['PATH']}",
        "CONDA_PKGS_DIRS": f"{top}/packages",
        "CONDA_SOLVER": "classic",
        "CONDA_ADD_PIP_AS_PYTHON_DEPENDENCY": "false",
    }
