# SPDX-License-Identifier: Apache-2.0
"""What a function needs installed: packages of pip, of conda, or an image, all pinned."""

import json
import platform
import re
import sys
from pathlib import Path

from leman import _core, installing_conda

_PINNED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(\[[^\]]*\])?\s*===?\s*([^\s;,*]+)")
_NAMED = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(\[[^\]]*\])?")
_CONDA_PINNED = re.compile(
    r"(?:\S+::)?([A-Za-z0-9_][A-Za-z0-9._-]*)={1,2}([0-9][^\s*,|<>=]*)(=\S+)?"
)
_IMAGE = re.compile(r"[a-z0-9][a-z0-9._:/-]*?(?::([\w.-]+))?(?:@(sha256:[0-9a-f]{64}))?")

_PYTHON = "{}.{}".format(*sys.version_info)
_CARRIERS = {"cloudpickle", "leman"}  # functions are sent by them


def _name(text):
    """A package's name as it is compared: case and -_. do not matter."""
    return re.sub(r"[-_.]+", "-", text).lower()


def _installed():
    from leman.environment_check import installed

    return installed()


class Manifest:
    """Made by ``pip()``, ``conda()`` and ``image()``; stored with the columns of its functions."""

    def __init__(self, kind, content):
        self.kind = kind
        self.content = content

    def __repr__(self):
        return f"<leman.environment.{self.kind}: {self.content!r}>"

    def __eq__(self, other):
        return isinstance(other, Manifest) and self.describe() == other.describe()

    def __hash__(self):
        return hash((self.kind, repr(self.content)))

    @property
    def packages(self):
        """Of pip: the pinned list."""
        return list(self.content) if self.kind == "pip" else []

    def pins(self):
        """Versions by name, of pip; also of the packages of pip in an environment of conda."""
        matches = [_PINNED.fullmatch(text.partition(";")[0].strip()) for text in self._of_pip()]
        return {_name(match[1]): match[3] for match in matches if match is not None}

    def _of_pip(self):
        if self.kind != "conda":
            return self.packages
        lists = [item["pip"] for item in self.content["dependencies"] if isinstance(item, dict)]
        return [text for packages in lists for text in packages]

    def conda_pins(self):
        """Versions by name, of conda; "3.11" stands for all that begin so."""
        if self.kind != "conda":
            return {}
        texts = [item for item in self.content["dependencies"] if isinstance(item, str)]
        return {match[1]: match[2] for match in map(_CONDA_PINNED.fullmatch, texts)}

    def describe(self):
        return {"kind": self.kind, "content": self.content}

    @classmethod
    def from_description(cls, given):
        try:
            return {"pip": pip, "conda": conda, "image": image}[given["kind"]](given["content"])
        except (KeyError, TypeError) as error:
            raise _core.CorruptError(f"no description of a manifest: {given!r:.200}") from error

    def _unlike_here(self, pins):
        """Those that this Python has in another version, or not at all, a line for each."""
        here = _installed()
        wrong = [
            f"{name}=={version} is wanted, and "
            + (f"{here[name]} is installed" if name in here else "it is not installed")
            for name, version in pins.items()
            if here.get(name) != version
        ]
        return "".join(f"\n    {line}" for line in wrong)

    def _unlike_conda_here(self):
        """The same of packages of conda; this Python has some where it is one of conda's."""
        here = installing_conda.packages_of(sys.prefix) | {"python": platform.python_version()}
        wrong = [
            f"{name}={version} of conda is wanted, and "
            + (f"{here[name]} is installed" if name in here else "it is not installed")
            for name, version in self.conda_pins().items()
            if not f"{here.get(name)}.".startswith(f"{version}.")
        ]
        return "".join(f"\n    {line}" for line in wrong)

    def check_here(self, what):
        """Raise InvalidError when this Python has other versions than are pinned."""
        lines = self._unlike_here(self.pins()) + self._unlike_conda_here()
        if lines:
            raise _core.InvalidError(
                f"{what} does not find its packages on this machine:{lines}\nInstall them, or run "
                "on a cluster, which does"
            )

    def check_carriers(self, what):
        """Raise InvalidError when nodes would get other versions of what functions are sent by."""
        pins = {name: version for name, version in self.pins().items() if name in _CARRIERS}
        lines = self._unlike_here(pins)
        python = self.conda_pins().get("python", _PYTHON)
        if not f"{python}.".startswith(f"{_PYTHON}."):
            lines += f"\n    python={python} is wanted, and this is Python {_PYTHON}"
        if lines:
            raise _core.InvalidError(
                f"{what} would be read by another version than it is sent by:{lines}\n"
                "Leave it out of the list, or install that version here"
            )


def _pin(text, here):
    """A requirement with its version; that of here where none is said."""
    bare, mark, condition = text.partition(";")
    bare = bare.strip()
    if _PINNED.fullmatch(bare) or " @ " in bare or bare.endswith((".whl", ".tar.gz")):
        return text.strip()
    named = _NAMED.fullmatch(bare)
    if named is None:
        raise _core.InvalidError(
            f"pip: {text.strip()!r} allows several versions; say one: name==version"
        )
    version = here.get(_name(named[1]))
    if version is None:
        raise _core.InvalidError(
            f"pip: {bare!r} has no version, and is not installed here to take it from; say "
            f"{bare}==VERSION"
        )
    return f"{bare}=={version}{mark}{condition}"


def pip(packages):
    """Packages of pip: a list, or the path of a requirements file.

    A name without a version is pinned to the one that is installed here.
    """
    if isinstance(packages, (str, Path)):
        try:
            lines = Path(packages).read_text().splitlines()
        except OSError as error:
            raise _core.NotFoundError(f"pip: no requirements file {packages}: {error}") from error
        packages = [line.partition(" #")[0] for line in lines]
    packages = [text for text in packages if text.strip() and not text.lstrip().startswith("#")]
    for text in packages:
        if text.lstrip().startswith("-"):
            raise _core.InvalidError(f"pip: {text.strip()!r} is an option; list packages only")
    here = _installed()
    return Manifest("pip", [_pin(text, here) for text in packages])


def conda(environment):
    """Packages of conda: its environment as a dict with "dependencies", each with a version.

    Where Python is not among them, it is that of here, in its minor version.
    """
    if not isinstance(environment, dict) or not isinstance(environment.get("dependencies"), list):
        raise _core.InvalidError(
            f'conda: a dict with a list of "dependencies" is wanted, not {environment!r:.100}'
        )
    made = dict(environment)
    made["dependencies"] = []
    for item in environment["dependencies"]:
        if isinstance(item, dict) and set(item) == {"pip"}:
            made["dependencies"].append({"pip": pip(item["pip"]).content})
        elif isinstance(item, str) and _CONDA_PINNED.fullmatch(item):
            made["dependencies"].append(item)
        else:
            raise _core.InvalidError(f"conda: {item!r} has no version; say name=version")
    made = Manifest("conda", made)
    if "python" not in made.conda_pins():
        made.content["dependencies"].insert(0, f"python={_PYTHON}")
    return made


def image(name):
    """An image that has all packages: a name with a tag that is not "latest", or a digest."""
    match = _IMAGE.fullmatch(name) if isinstance(name, str) else None
    if match is None:
        raise _core.InvalidError(f"no name of an image: {name!r}")
    if match[2] is None and match[1] in (None, "latest"):
        raise _core.InvalidError(
            f"image {name!r} is another one tomorrow; name a tag other than latest, or a digest"
        )
    return Manifest("image", name)


def of_function(options):
    """What udf(manifest=) was given, as it travels and is stored; taken out of `options`."""
    given = options.pop("manifest", None)
    if given is None:
        return None
    if not isinstance(given, Manifest):
        raise TypeError(
            f"manifest is made by leman.environment.pip(), conda() or image(), not {given!r:.100}"
        )
    return given.describe()


def merged(udfs, others=()):
    """What functions, and other manifests, want together; None where they want nothing."""
    found = [
        (f"{udf.name}()", Manifest.from_description(udf.options.manifest))
        for udf in udfs
        if udf.options.manifest is not None
    ]
    found += [("the environment", given) for given in others if given is not None]
    if not found:
        return None
    (first, made), *more = found
    packages = {text: first for text in made.packages}
    for name, given in more:
        if given.kind != made.kind or (given.kind != "pip" and given != made):
            raise _core.InvalidError(_unlike(first, made, name, given))
        for pin, version in given.pins().items():
            if made.pins().get(pin, version) != version:
                raise _core.InvalidError(_unlike(first, made, name, given))
        packages |= {text: name for text in given.packages if text not in packages}
        made = Manifest("pip", list(packages)) if made.kind == "pip" else made
    return made


def _unlike(first, made, second, given):
    return (
        f"{first} needs {made!r:.200}, and {second} needs {given!r:.200}: workers of one job have "
        "one of them; fill their columns by two calls"
    )


def encode(description):
    """The bytes that a table keeps."""
    return json.dumps(description, sort_keys=True, separators=(",", ":")).encode()


def decode(data):
    try:
        return Manifest.from_description(json.loads(data))
    except (ValueError, RecursionError) as error:
        raise _core.CorruptError(f"no description of a manifest: {error}") from error
