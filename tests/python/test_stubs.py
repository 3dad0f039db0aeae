# SPDX-License-Identifier: Apache-2.0
"""The stubs of the extension, and what the package says it has, against what is there."""

import ast
import pathlib

import leman
from leman import _core


def declared():
    """Names of the stubs; of a class, those of its members."""
    names = {}
    tree = ast.parse(pathlib.Path(leman.__file__).with_name("_core.pyi").read_text())
    for item in tree.body:
        if isinstance(item, ast.ClassDef):
            members = [getattr(m, "name", None) or getattr(m, "target", None) for m in item.body]
            names[item.name] = {getattr(member, "id", member) for member in members}
        elif isinstance(item, ast.FunctionDef):
            names[item.name] = set()
    return names


def public(thing):
    return {name for name in dir(thing) if not name.startswith("_")}


def test_stubs__have_every_name_of_the_extension():
    stubs = declared()
    assert public(_core) - stubs.keys() == set()
    for name, members in stubs.items():
        thing = getattr(_core, name)
        if isinstance(thing, type) and not issubclass(thing, Exception):
            assert public(thing) - members == set(), name


def test_package__every_name_is_there_once():
    assert len(leman.__all__) == len(set(leman.__all__))
    for name in leman.__all__:
        assert hasattr(leman, name)
