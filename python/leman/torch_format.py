# SPDX-License-Identifier: Apache-2.0
"""Batches as Torch wants them.

Batches of numbers and bytes, which most are, become tensors by what the core tells of their memory:
a step of training may take less time than to look at each column from Python.

Pinned batches are read to where they stay: the feed's memory comes from torch, and a tensor is a
view of the storage that torch made. So torch knows which copies to a GPU read it, and uses it again
when they are done, however early the batch was dropped.
"""

import itertools
import operator
import threading
import warnings

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


class PinnedBytes:
    """Pinned memory of torch's for a feed, until there is no more."""

    def __init__(self):
        self._is_spent = False

    def __call__(self, count):
        """(tensor of bytes, its address); None if there is none, which a warning tells once."""
        if self._is_spent:
            return None
        try:
            tensor = torch.empty(count, dtype=torch.uint8, pin_memory=True)
        except RuntimeError as error:
            self._is_spent = True
            reason = str(error).partition("\n")[0]
            warnings.warn(
                f"no pinned memory for {count} bytes of a batch, so batches come in ordinary "
                f"memory from now on: {reason}",
                RuntimeWarning,
                stacklevel=2,
            )
            return None
        return tensor, tensor.data_ptr()


class Pinned:
    """Tensors over a feed's memory, pinned as far as there is pinned memory."""

    def __init__(self):
        self._make = PinnedBytes()
        self.memory = _core.FeedMemory(self._make)
        self._lock = threading.Lock()
        self.counts = {"in_place": 0, "copied": 0, "refused": 0}

    def __call__(self, memory, kind):
        """The numbers in `memory` as a tensor, a view of torch's own storage.

        What lies elsewhere, as the first batches of a feed do, is copied.
        """
        found = self.memory.find(memory)
        if found is not None:
            owner, begin, end = found
            tensor, how = owner[begin:end], "in_place"
        else:
            tensor = torch.frombuffer(memory, dtype=torch.uint8)
            made = self._make(tensor.nbytes)
            how = "refused" if made is None else "copied"
            if made is not None:
                # NumPy copies in this thread: torch would wake all of its own for it, beside those
                # that read.
                numpy.copyto(made[0].numpy(), tensor.numpy())
                tensor = made[0]
        with self._lock:
            self.counts[how] += 1
        return tensor if kind is torch.uint8 else tensor.view(kind)


class ToTorch:
    """The same as ``to_numpy()``, with tensors for arrays and lists of str for texts.

    Numbers with nulls have no tensor: leave them out by a filter, or fill them in a transform. With
    ``pin_memory`` tensors lie in memory from which a GPU copies while it computes.
    """

    def __init__(self, pin_memory=False):
        self.pinned = Pinned() if pin_memory else None

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
        if self.pinned is None:
            tensor = torch.frombuffer(memory, dtype=_TYPES[letter])
        else:
            tensor = self.pinned(memory, _TYPES[letter])
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
            if self.pinned is None or value.nbytes == 0:
                return tensor
            return self.pinned(value, tensor.dtype).view(tensor.shape)
        if isinstance(value, Pieces):
            whole = value.items[value.ends[0] : value.ends[-1]]
            sizes = [b - a for a, b in itertools.pairwise(value.ends)]
            return split(self._tensor(whole, name), sizes)
        if isinstance(value, dict):
            return {key: self._tensor(item, f"{name}.{key}") for key, item in value.items()}
        return [None if item is None else self._tensor(item, name) for item in value]


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
