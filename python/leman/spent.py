# SPDX-License-Identifier: Apache-2.0
"""What calls use: tokens and money, noted by functions while they run."""

import contextvars
import math
import threading


class Spent:
    """What one call has used so far, or all calls of a batch."""

    __slots__ = ("cost", "tokens")

    def __init__(self):
        self.tokens = 0
        self.cost = 0.0


_spent = contextvars.ContextVar("leman_spent", default=None)
_live = []  # all that count; threads that a function starts itself have no context of a call
_lock = threading.Lock()


def _amount(name, value, whole):
    kinds = int if whole else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool):
        raise TypeError(f"usage(): {name} is a number, not {value!r}")
    if not 0 <= value < 2**63 or not math.isfinite(value):
        raise ValueError(f"usage(): {name} is not negative and finite, unlike {value!r}")
    return value


def usage(*, tokens=0, cost=0.0):
    """Note what the call that is running uses, inside of a function that fills a column.

    tokens: how many; they correct what a limit of tokens has counted for the call.
    cost: money, in whatever unit ``max_cost=`` has.

    May be called several times; what is noted adds up in the record of the job. Outside of a job it
    does nothing.
    """
    tokens = _amount("tokens", tokens, True)
    cost = _amount("cost", cost, False)
    with _lock:
        spent = _spent.get() or (_live[-1] if _live else None)
        if spent is not None:
            spent.tokens += tokens
            spent.cost += cost


class counting:
    """Until the end of the block, ``usage()`` counts in `spent`."""

    __slots__ = ("_token", "spent")

    def __init__(self, spent=None):
        self.spent = Spent() if spent is None else spent

    def __enter__(self):
        self._token = _spent.set(self.spent)
        with _lock:
            _live.append(self.spent)
        return self.spent

    def __exit__(self, *unused):
        _spent.reset(self._token)
        with _lock:
            _live.remove(self.spent)
