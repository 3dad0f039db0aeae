# SPDX-License-Identifier: Apache-2.0
"""The version of a function: what changes it, and what does not."""

import importlib.util
import subprocess
import sys
import textwrap

import pytest
from leman.fingerprint import version_of

BASE = """
    SCALE = 3

    def helper(x):
        return x * SCALE

    def fill(x: int) -> int:
        y = helper(x)
        return y + 1
"""


@pytest.fixture
def version(tmp_path):
    """The version of `fill` in a module of that text."""
    count = 0

    def of(text, name="fill"):
        nonlocal count
        count += 1
        path = tmp_path / f"module_{count}.py"
        path.write_text(textwrap.dedent(text))
        spec = importlib.util.spec_from_file_location(f"module_{count}", path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        found = getattr(module, name)
        return version_of(found)

    return of


def test_version__layout_comments_and_docstrings_do_not_count(version):
    same = '''
    import leman

    # SCALE is the scale
    SCALE    =    3
    def helper(x):
        """Scale x."""
        return (x *
                SCALE)


    def fill(x: int) -> int:
        """Fill."""
        y = helper(x)  # scaled
        return (y + 1)
    '''
    assert version(BASE) == version(same)


@pytest.mark.parametrize(
    "old, new",
    [
        ("y + 1", "y + 2"),
        ("x * SCALE", "x + SCALE"),
        ("SCALE = 3", "SCALE = 4"),
        ("SCALE = 3", "SCALE = 3.0"),
        ("x: int)", "x: int, z=1)"),
        ("return y + 1", "return y + 1 if x else None"),
    ],
)
def test_version__code_helpers_and_constants_count(version, old, new):
    assert version(BASE) != version(BASE.replace(old, new))


def test_version__unused_globals_do_not_count(version):
    assert version(BASE) == version(BASE + "\n    OTHER = 1\n\n    def other():\n        pass\n")


def test_version__closures_count(version):
    text = """
        def make(n):
            def fill(x):
                return x + n
            return fill
        fill = make({})
    """
    assert version(text.format(1)) == version(text.format(1))
    assert version(text.format(1)) != version(text.format(2))


def test_version__lambdas_in_one_line_differ(version):
    text = "    pair = [lambda x: x + 1, lambda x: x + 2]\n    fill = pair[{}]\n"
    assert version(text.format(0)) == version(text.format(0))
    assert version(text.format(0)) != version(text.format(1))


def test_version__objects_by_class_and_attributes(version):
    text = """
        class Fill:
            def __init__(self, model):
                self.model = model

            def helper(self):
                return {}

            def __call__(self, x):
                return self.helper()
        fill = Fill("{}")
    """
    assert version(text.format(1, "a")) == version(text.format(1, "a"))
    assert version(text.format(1, "a")) != version(text.format(2, "a"))
    assert version(text.format(1, "a")) != version(text.format(1, "b"))


def test_version__base_classes_and_recursion(version):
    text = """
        class Base:
            def step(self, n):
                return n if n == 0 else self.step(n - {})

        class Fill(Base):
            def __call__(self, x):
                return self.step(x)
        fill = Fill()

        def even(n):
            return n == 0 or odd(n - 1)

        def odd(n):
            return n != 0 and even(n - {})
    """
    assert version(text.format(1, 1)) == version(text.format(1, 1))
    assert version(text.format(1, 1)) != version(text.format(2, 1))
    assert version(text.format(1, 1), "even") != version(text.format(1, 2), "even")


def test_version__installed_packages_count_by_name(version):
    text = """
        import json
        from decimal import Decimal

        def fill(x):
            return json.dumps(Decimal(x))
    """
    assert version(text) == version(text)
    assert version(text) != version(text.replace("Decimal(x)", "Decimal(x, 1)"))


def test_version__f_strings_do_not_depend_on_how_they_are_cut(version):
    one = "    def fill(x):\n        return f'a{x!r:>{10}}b' f'c'\n"
    other = "    def fill(x):\n        return f'a{x!r:>{10}}bc'\n"
    assert version(one) == version(other)


def test_version__decorators_and_their_options_do_not_count(version):
    text = """
        import leman

        @leman.udf(batch_size={})
        def fill(x: int) -> int:
            return x
    """
    assert version(text.format(1)) == version(text.format(2))


def test_version__in_another_process(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import leman\n\nK = {'a': 1, 'b': (1, 2)}\nS = {'x', 'y', 'z'}\n\n"
        "@leman.udf\ndef fill(x: int) -> int:\n    return K['a'] + x if x in S else 0\n\n"
        "print(fill.version)\n"
    )
    seen = {
        subprocess.run(
            [sys.executable, script],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    }
    assert len(seen) == 1


def test_version__given_by_the_user(version):
    def one(x):
        return 1

    def two(x):
        return 2

    two.__qualname__ = one.__qualname__
    assert version_of(one, "7") == version_of(two, "7")
    assert version_of(one, "7") != version_of(one, "8")
    assert version_of(one) != version_of(two)
