# SPDX-License-Identifier: Apache-2.0
"""The same function, again: its version in other processes, formats and versions of Python."""

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest
from leman.fingerprint import version_of

ROOT = Path(__file__).resolve().parents[3]

# A module with whatever differs between formats, and between versions of Python.
MODULE = '''
import dataclasses
import datetime
import decimal
import enum
import functools
import json
import operator
import pathlib
import re
from collections import deque
from typing import NamedTuple

PATTERN = re.compile(r"a+", re.I)
MATCH = re.compile("b").match
WHERE = pathlib.Path("models") / "small"
SINCE = datetime.datetime(2024, 1, 2, tzinfo=datetime.timezone.utc)
PRICE = decimal.Decimal("1.20")
WORDS = {"x", "y", "z"}
FROZEN = frozenset({1, 2, 3})
TABLE = {"a": [1, (2, 3.5)], "b": None, "c": b"bytes", "d": 2j, "e": ...}
BIG = 10 ** 5000
PART = functools.partial(operator.add, 3)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1


@dataclasses.dataclass
class Options:
    size: int = 3
    names: list = dataclasses.field(default_factory=list)


class Pair(NamedTuple):
    left: int
    right: str = "r"


OPTIONS = Options(4, ["n"])
PAIR = Pair(1)


@functools.lru_cache(maxsize=None)
def cached(x):
    return x + 1


class Base:
    __slots__ = ("slot",)

    def step(self):
        return self.slot


class Fill(Base):
    """A docstring."""

    scale = 3

    def __init__(self, slot):
        self.slot = slot

    @property
    def size(self):
        return self.scale

    @staticmethod
    def clean(text):
        return text.strip()

    def __call__(self, x: int) -> str:
        """Another
        docstring."""
        values = [y for y in range(x) if y not in WORDS]
        a, b = 1, 2
        del (a, b)
        match x:
            case 0 | 1:
                return f"{x!r:>{self.size}} {x=} {'a' 'b'}" "c"
            case [first, *rest]:
                return ''
        with open(WHERE) as f, open(WHERE) as g:
            pass
        try:
            return (lambda z, *, k=Color.RED: z + cached(z) + k.value)(x) if x else "\\u00e9"
        except (ValueError, TypeError) as error:
            raise RuntimeError(json.dumps(str(error))) from None
        finally:
            deque([PATTERN, MATCH, SINCE, PRICE, FROZEN, TABLE, BIG, PART, OPTIONS, PAIR])
            print(Color.BLUE, Level.LOW, self.step(), self.clean(" x "), values, end="")
        return not (x) or -1 ** 2


fill = Fill("slot")
'''

# Changing it makes every column that is filled one of a changed function: do it knowingly.
VERSION = "2fc656accce30a2c303f063e451eb64899a746594060f3e64585bef11fb31d67"


@pytest.fixture(autouse=True)
def no_bytecode(monkeypatch):
    """Files are read again when they change twice within a second."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)


def version_in(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return version_of(module.fill)


@pytest.fixture
def module(tmp_path):
    path = tmp_path / "same_module.py"
    path.write_text(MODULE)
    return path


def test_same__it_is_what_it_was(module):
    assert version_in(module) == VERSION


def run(python, folder, seed="0", code="import same_module"):
    """The version in another process."""
    path = [str(folder), str(ROOT / "python")]
    done = subprocess.run(
        [
            *python,
            "-c",
            f"import sys; sys.path[:0] = {path!r}\n{code}\n"
            "from leman.fingerprint import version_of\nprint(version_of(same_module.fill))",
        ],
        capture_output=True,
        text=True,
        timeout=60,
        env={"PYTHONHASHSEED": seed, "PATH": os.environ["PATH"]},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize("seed", ["1", "2"])
def test_same__in_other_processes(module, seed):
    assert run([sys.executable], module.parent, seed) == VERSION


def test_same__without_places_in_the_code(module):
    assert run([sys.executable, "-X", "no_debug_ranges"], module.parent) == VERSION
    assert run([sys.executable, "-O"], module.parent) == VERSION


def test_same__formatted(module):
    """By a formatter that lays out code as most do."""
    subprocess.run(
        [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length=60", module],
        check=True,
        capture_output=True,
    )
    text = module.read_text()
    assert text != MODULE
    assert version_in(module) == VERSION
    # Another one takes these parentheses away.
    module.write_text(text.replace("del (a, b)", "del a, b"))
    assert module.read_text() != text
    assert version_in(module) == VERSION


def other_pythons():
    """Interpreters of other minor versions on this machine, that this package supports."""
    places = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    places += Path(os.path.expanduser("~/.pyenv/versions")).glob("*/bin")
    found = {}
    for minor in range(11, 16):
        if minor == sys.version_info[1]:
            continue
        for place in places:
            name = str(place / f"python3.{minor}")
            if os.access(name, os.X_OK) and _works(name):
                found[minor] = name
    return list(found.values())


def _works(name):
    return subprocess.run([name, "-c", ""], capture_output=True).returncode == 0


def test_same__other_minors_of_python(module):
    """The extension is of the stable ABI, so they run this very package."""
    pythons = other_pythons()
    if not pythons:
        pytest.skip("this machine has no other minor version of Python")
    seen = {name: run([name], module.parent) for name in pythons}
    assert set(seen.values()) == {VERSION}, seen


PROGRAM = """
import sys
sys.path.insert(0, {path!r})
from leman.fingerprint import version_of

K = 3

class Scaled:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, x):
        return [y * K for y in range(x)] + [self.factor]

print(version_of(Scaled(2)))
"""


def test_same__programs_without_a_module(tmp_path):
    """A script, an argument of -c, a file at the input: the text is found, in every minor."""
    script = tmp_path / "program.py"
    script.write_text(PROGRAM.format(path=str(ROOT / "python")))
    seen = {}
    for python in [sys.executable, *other_pythons()]:
        for words in ([script], ["-c", script.read_text()], ["-"]):
            with open(script) as program:
                done = subprocess.run(
                    [python, *words], stdin=program, capture_output=True, text=True, timeout=60
                )
            assert done.returncode == 0, done.stderr
            seen[python, str(words[0])] = done.stdout
    assert len(set(seen.values())) == 1, seen


CHANGES = [
    ('re.compile(r"a+", re.I)', 're.compile(r"a+")'),
    ('re.compile("b").match', 're.compile("c").match'),
    ('/ "small"', '/ "large"'),
    ("2024, 1, 2", "2024, 1, 3"),
    ('Decimal("1.20")', 'Decimal("1.21")'),
    ('{"x", "y", "z"}', '{"x", "y"}'),
    ("(2, 3.5)", "(2, 3.6)"),
    ("10 ** 5000", "10 ** 5001"),
    ("operator.add, 3", "operator.add, 4"),
    ("operator.add, 3", "operator.sub, 3"),
    ("RED = 1", "RED = 3"),
    ("LOW = 1", "LOW = 2"),
    ('Options(4, ["n"])', 'Options(4, ["m"])'),
    ("Pair(1)", "Pair(2)"),
    ("return x + 1", "return x + 2"),
    ("return self.slot", "return -self.slot"),
    ("scale = 3", "scale = 4"),
    ("text.strip()", "text.lstrip()"),
    ("@staticmethod", "@classmethod"),
    ("case 0 | 1:", "case 0:"),
    ("k=Color.RED", "k=Color.BLUE"),
    ('Fill("slot")', 'Fill("other")'),
    ("@functools.lru_cache(maxsize=None)\n", ""),
]


@pytest.mark.parametrize("old, new", CHANGES)
def test_same__what_changes_it(module, old, new):
    assert MODULE.count(old) == 1
    module.write_text(MODULE.replace(old, new))
    assert version_in(module) != VERSION


def test_same__a_file_that_was_edited_counts_as_it_is(module):
    """Workers import it anew; lines that moved confuse nobody."""
    assert version_in(module) == VERSION
    loaded = sys.modules["same_module"]
    module.write_text("# more\n" * 20 + MODULE.replace("scale = 3", "scale = 4"))
    assert version_of(loaded.fill) != VERSION
    module.write_text("# more\n" * 30 + MODULE)
    assert version_of(loaded.fill) == VERSION


def test_same__code_that_was_run_without_a_module():
    text = "class Fill:\n    def __call__(self, x):\n        return {0}\nfill = Fill()\n"
    text += "def other(x):\n    return {0}\n"
    seen = set()
    for number in (1, 1, 2):
        values = {}
        exec(text.format(number), values)
        seen.add((version_of(values["fill"]), version_of(values["other"])))
    assert len(seen) == 2
    assert len({first for first, _ in seen}) == len({second for _, second in seen}) == 2


def test_same__names_of_attributes_are_no_globals(tmp_path):
    text = "data = {}\n\ndef fill(x):\n    return x.data\n"
    versions = set()
    for number in (1, 2):
        path = tmp_path / f"attributes_{number}.py"
        path.write_text(text.format(number))
        versions.add(version_in(path))
    assert len(versions) == 1


def test_same__circles_and_objects_without_a_value(tmp_path):
    text = (
        "import threading, collections\nlock = threading.Lock()\nloop = [1]\nloop.append(loop)\n"
        "seen = collections.OrderedDict(a={})\n"
        "def fill(x):\n    return lock, loop, seen, other\n\ndef other():\n    return fill\n"
    )
    path = tmp_path / "circles.py"
    path.write_text(text.format(1))
    first = version_in(path)
    assert version_in(path) == first
    path.write_text(text.format(2))
    assert version_in(path) != first
