# SPDX-License-Identifier: Apache-2.0
"""Expressions over rows in memory."""

from leman import _core
from leman.arrow import pyarrow


class Array:
    """Values as an Arrow array, for anything that takes ``__arrow_c_array__``."""

    def __init__(self, schema, data):
        self._schema = schema
        self._data = data

    def __arrow_c_array__(self, requested_schema=None):
        if self._data is None:
            raise ValueError("an array can be handed over once")
        pair = self._schema, self._data
        self._schema = self._data = None
        return pair

    def to_arrow(self):
        """The values as a ``pyarrow.Array``."""
        return pyarrow().array(self)

    def to_pylist(self):
        """The values as a list."""
        return self.to_arrow().to_pylist()


def evaluate(text, data):
    """Evaluate an expression such as ``"width * height > 1e6"`` for each row of ``data``.

    data: a record batch or struct array, or anything else with ``__arrow_c_array__``.
    """
    if not hasattr(data, "__arrow_c_array__"):
        raise TypeError(
            f"rows come as one Arrow batch, not as {type(data).__name__}; a table has to_batches()"
        )
    return Array(*_core.evaluate(text, *data.__arrow_c_array__()))
