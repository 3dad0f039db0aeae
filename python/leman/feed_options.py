# SPDX-License-Identifier: Apache-2.0
"""What a feed is given: numbers, its place among ranks, the name of its transform."""

import functools
import hashlib
import inspect
import operator
import os
import sys
import types

from leman.fingerprint import text_of


def whole(name, value, *, least=1, bits=32, optional=False):
    """A whole number from `least` up; with `optional`, None is 0, which asks for the default."""
    if value is None and optional:
        return 0
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} is a whole number, not {value!r}") from None
    if not least <= number < 2**bits:
        bound = f"at least {least}" if number < least else f"less than 2**{bits}"
        raise ValueError(f"{name} is {bound}, not {number}")
    return number


def place_of_rank(rank=None, world_size=None):
    """Rank and number of ranks: as given, torch.distributed's, RANK and WORLD_SIZE, or 0 of 1."""
    if rank is None and world_size is None:
        torch = sys.modules.get("torch")
        if torch is not None and torch.distributed.is_available():
            if torch.distributed.is_initialized():
                return torch.distributed.get_rank(), torch.distributed.get_world_size()
        return _place_of_environment()
    if rank is None or world_size is None:
        raise ValueError("rank and world_size are given together")
    return whole("rank", rank, least=0), whole("world_size", world_size)


def _place_of_environment():
    names = ("RANK", "WORLD_SIZE")
    given = [name for name in names if os.environ.get(name)]
    if not given:
        return 0, 1
    if len(given) == 1:
        (name,) = given
        (other,) = set(names) - {name}
        raise ValueError(
            f"{name}={os.environ[name]} is in the environment and {other} is not: set both, or "
            "give rank= and world_size="
        )
    for name in names:
        if not (os.environ[name].isascii() and os.environ[name].isdigit()):
            raise ValueError(f"{name}={os.environ[name]} in the environment is not a whole number")
    return int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def transform_name(transform):
    """What a state calls a transform: its name and a hash of what it does, not of its layout.

    Values that are bound to it do not count: they may be those of a rank.
    """
    if transform is None:
        return None
    while isinstance(transform, functools.partial):
        transform = transform.func
    name = getattr(transform, "__qualname__", type(transform).__qualname__)
    module = getattr(transform, "__module__", "")
    thing = inspect.unwrap(getattr(transform, "__func__", transform))
    text = text_of(thing if isinstance(thing, types.FunctionType) else type(thing))
    return f"{module}.{name} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
