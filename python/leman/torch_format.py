# SPDX-License-Identifier: Apache-2.0
"""Batches as Torch wants them.

Batches of numbers and bytes, which most are, become tensors by what the core tells of their memory:
a step of training may take less time than to look at each column from Python.
"""

import itertools
import operator

import numpy
import torch

from leman import _core
from leman.arrow import Batch
from leman.feed_format import Pieces, column

_TYPES = {  # by the letters of Arrow
    letter: getattr(torch, name, None)
    for letter, name in zip(
        "cCsSiIlLefg",
        "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float16 float32 float64".split(),
        strict=True,
    )
}


class ToTorch:
    """The same as ``to_numpy()``, with tensors for arrays and lists of str for texts.

    Numbers with nulls have no tensor: leave them out by a filter, or fill them in a transform. With
    ``pin_memory`` a column is copied, as a whole, to memory from which a GPU copies while it
    computes.
    """

    def __init__(self, pin_memory=False):
        self._pin_memory = pin_memory

    def __call__(self, batch):
        if isinstance(batch, Batch):
            pair = batch.__arrow_c_array__()
            plain = _core.values_plain(*pair)
            if plain is not None:
                return {name: self._plain(*memory) for name, *memory in plain}
            batch = Batch(*pair).to_arrow()
        return {
            name: self._tensor(column(array, parted=False), name)
            for name, array in zip(batch.schema.names, batch.columns, strict=True)
        }

    def _plain(self, letter, memory, width, sizes):
        tensor = torch.frombuffer(memory, dtype=_TYPES[letter])
        if self._pin_memory:
            tensor = _pinned(tensor)
        if sizes is not None:
            return split(tensor, sizes)
        return tensor.view(-1, width) if width else tensor

    def _tensor(self, value, name):
        if isinstance(value, numpy.ma.MaskedArray):
            raise ValueError(
                f"column {name!r} has nulls, which a tensor cannot hold: "
                f'leave them out with where="{name} is not null", or take format="numpy"'
            )
        if isinstance(value, numpy.ndarray):
            if value.dtype.kind in "OmM":
                return value.tolist()
            tensor = torch.from_numpy(value)
            return _pinned(tensor) if self._pin_memory else tensor
        if isinstance(value, Pieces):
            whole = value.items[value.ends[0] : value.ends[-1]]
            sizes = [b - a for a, b in itertools.pairwise(value.ends)]
            return split(self._tensor(whole, name), sizes)
        if isinstance(value, dict):
            return {key: self._tensor(item, f"{name}.{key}") for key, item in value.items()}
        return [None if item is None else self._tensor(item, name) for item in value]


def _pinned(tensor):
    """A copy in pinned memory of torch's own, which it uses again when copies to a GPU are done.

    NumPy copies in this thread: torch would wake all of its own for it, beside those that read.
    """
    pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    numpy.copyto(pinned.numpy(), tensor.numpy())
    return pinned


def split(whole, sizes):
    """A tensor as a list of its pieces."""
    # The quickest way to part a tensor; what it leaves out is of use to gradients only.
    return Parts(torch.unsafe_split_with_sizes(whole, sizes), whole, sizes)


class Parts(list):
    """Pieces of one tensor, which go to another process as that one while they are what they were.

    One by one, each would cost a worker of a DataLoader as much as all of them.
    """

    def __init__(self, pieces, whole, sizes):
        super().__init__(pieces)
        self._origin = pieces, whole, sizes

    def __copy__(self):
        other = Parts(self, *self._origin[1:])
        other._origin = self._origin
        return other

    def __reduce__(self):
        pieces, whole, sizes = self._origin
        if len(self) == len(pieces) and all(map(operator.is_, self, pieces)):
            return split, (whole, sizes)
        return list, (list(self),)
