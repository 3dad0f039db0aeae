# SPDX-License-Identifier: Apache-2.0
"""Batches as training wants them: Arrow, NumPy or Torch, without copies where that can be."""

import itertools
import os

from leman.arrow import Batch, pyarrow


def converter(format, pin_memory=False):
    """A function that takes a batch and gives it in a format."""
    torch = to_pinned_torch if pin_memory else to_torch
    try:
        return {"arrow": _to_arrow, "numpy": to_numpy, "torch": torch}[format]
    except KeyError:
        raise ValueError(f'format is "arrow", "numpy" or "torch", not {format!r}') from None


def _to_arrow(batch):
    return batch.to_arrow() if isinstance(batch, Batch) else batch


def to_numpy(batch):
    """A dict of columns.

    Numbers are arrays, lists of fixed size arrays of more dimensions, structs dicts, texts object
    arrays; binary values and lists of any length are lists with one array per row. Numbers with
    nulls are masked arrays; elsewhere a row that is null is None.
    """
    rows = _to_arrow(batch)
    return {name: _column(rows.column(i)) for i, name in enumerate(rows.schema.names)}


def to_torch(batch, pin_memory=False):
    """The same as ``to_numpy()``, with tensors for arrays and lists of str for texts.

    Numbers with nulls have no tensor: leave them out by a filter, or fill them in a transform.
    """
    rows = _to_arrow(batch)
    return {
        name: _tensor(_column(rows.column(i), parted=False), name, pin_memory)
        for i, name in enumerate(rows.schema.names)
    }


def to_pinned_torch(batch):
    """The same as ``to_torch()``, in memory from which a GPU copies while it computes.

    A column is copied there as a whole: its rows are pieces of one pinned tensor.
    """
    return to_torch(batch, pin_memory=True)


_forked = []  # not empty in a process that was forked from one that had this module
os.register_at_fork(after_in_child=lambda: _forked.append(True))


def pins(asked):
    """Whether tensors are pinned: as asked (True, False), or with None where there is a GPU.

    Never in a worker of a DataLoader, from which nothing arrives pinned, and unless asked for not
    in a forked process, which cannot use the GPU of its parent.
    """
    import torch

    if asked is False or torch.utils.data.get_worker_info() is not None:
        return False
    return bool(asked) or (not _forked and torch.cuda.is_available())


def _tensor(value, name, pin_memory):
    import numpy
    import torch

    if isinstance(value, dict):
        return {key: _tensor(item, f"{name}.{key}", pin_memory) for key, item in value.items()}
    if isinstance(value, _Pieces):
        whole = _tensor(value.items[value.ends[0] : value.ends[-1]], name, pin_memory)
        # The quickest way to part a tensor; what it leaves out is of use to gradients only.
        return list(torch.unsafe_split_with_sizes(whole, value.sizes()))
    if isinstance(value, list):
        return [None if item is None else _tensor(item, name, pin_memory) for item in value]
    if isinstance(value, numpy.ma.MaskedArray):
        raise ValueError(
            f"column {name!r} has nulls, which a tensor cannot hold: "
            f'leave them out with where="{name} is not null", or take format="numpy"'
        )
    if value.dtype.kind in "OmM":
        return value.tolist()
    tensor = torch.from_numpy(value)
    return _pinned(torch, tensor) if pin_memory else tensor


def _pinned(torch, tensor):
    """A copy in pinned memory of torch's own, which it uses again when copies to a GPU are done.

    NumPy copies in this thread: torch would wake all of its own for it, beside those that read.
    """
    import numpy

    pinned = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    numpy.copyto(pinned.numpy(), tensor.numpy())
    return pinned


class _Pieces:
    """One array per row, all of them pieces of one, which Torch parts quicker than one by one."""

    def __init__(self, items, ends):
        self.items, self.ends = items, ends

    def sizes(self):
        return [b - a for a, b in itertools.pairwise(self.ends)]


class _Memory:
    """The bytes of an Arrow buffer, for NumPy to build on.

    A batch is its consumer's own, so what is made of it may be written to, as Torch wants.
    """

    def __init__(self, buffer):
        self._buffer = buffer
        self.__array_interface__ = {
            "version": 3,
            "typestr": "|u1",
            "shape": (buffer.size,),
            "data": (buffer.address, False),
        }


def _bytes_of(numpy, buffer):
    if buffer is None or buffer.size == 0:
        return numpy.empty(0, numpy.uint8)
    return numpy.asarray(_Memory(buffer))


def _column(array, parted=True):
    """A column; with `parted` false, pieces of one array may be left together."""
    import numpy

    pa = pyarrow()
    kind = array.type
    types = pa.types
    if isinstance(array, pa.ExtensionArray):
        return _column(array.storage)
    if types.is_dictionary(kind):
        return _column(array.dictionary_decode())
    if types.is_integer(kind) or types.is_floating(kind):
        return _masked(numpy, array, _numbers(numpy, array, kind))
    if types.is_boolean(kind):
        bits = numpy.unpackbits(_bytes_of(numpy, array.buffers()[1]), bitorder="little")
        return _masked(numpy, array, bits[array.offset :][: len(array)].astype(bool))
    if types.is_fixed_size_list(kind):
        return _fixed_lists(numpy, array, kind)
    if types.is_fixed_size_binary(kind) and not types.is_decimal(kind):
        data = _bytes_of(numpy, array.buffers()[1]).reshape(-1, kind.byte_width)
        return _nones(array, data[array.offset :][: len(array)])
    if types.is_binary(kind) or types.is_large_binary(kind):
        data = _bytes_of(numpy, array.buffers()[2])
        width = 8 if types.is_large_binary(kind) else 4
        return _slices(numpy, array, data, width, parted)
    if types.is_list(kind) or types.is_large_list(kind):
        width = 8 if types.is_large_list(kind) else 4
        return _slices(numpy, array, _column(array.values), width, parted)
    if types.is_struct(kind):
        return {kind.field(i).name: _column(array.field(i)) for i in range(kind.num_fields)}
    return array.to_numpy(zero_copy_only=False)


def _numbers(numpy, array, kind):
    data = _bytes_of(numpy, array.buffers()[1]).view(kind.to_pandas_dtype())
    return data[array.offset :][: len(array)]


def _masked(numpy, array, values):
    if array.null_count == 0:
        return values
    return numpy.ma.MaskedArray(values, mask=array.is_null().to_numpy(zero_copy_only=False))


def _nones(array, values):
    """Rows as they are, or as a list where some are null."""
    if array.null_count == 0:
        return values
    nulls = array.is_null().to_pylist()
    return [None if null else row for row, null in zip(values, nulls, strict=True)]


def _fixed_lists(numpy, array, kind):
    size = kind.list_size
    items = _column(array.values)
    first = array.offset * size
    if isinstance(items, numpy.ndarray) and items.dtype.kind != "O":
        rows = items[first:][: len(array) * size].reshape(len(array), size, *items.shape[1:])
    else:
        rows = [items[first + i * size :][:size] for i in range(len(array))]
    return _nones(array, rows)


def _is_plain(numpy, items):
    return type(items) is numpy.ndarray and items.dtype.kind not in "OmM"


def _slices(numpy, array, items, width, parted):
    """One piece of `items` per row, as the offsets say."""
    offsets = _bytes_of(numpy, array.buffers()[1]).view(f"i{width}")[array.offset :]
    ends = offsets[: len(array) + 1].tolist()
    if isinstance(items, dict):
        rows = [
            {name: value[a:b] for name, value in items.items()} for a, b in itertools.pairwise(ends)
        ]
    elif not parted and array.null_count == 0 and _is_plain(numpy, items):
        return _Pieces(items, ends)
    else:
        rows = [items[a:b] for a, b in itertools.pairwise(ends)]
    return _nones(array, rows)
