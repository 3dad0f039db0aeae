# SPDX-License-Identifier: Apache-2.0
"""Batches as training wants them: Arrow, NumPy or Torch, without copies where that can be."""

import itertools
import os

from leman.arrow import Batch, pyarrow


def converter(format, pin_memory=False):
    """A function that takes a batch and gives it in a format."""
    if format == "torch":
        from leman.torch_format import ToTorch

        return ToTorch(pin_memory)
    try:
        return {"arrow": _to_arrow, "numpy": to_numpy}[format]
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
    return {name: column(rows.column(i)) for i, name in enumerate(rows.schema.names)}


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


class Pieces:
    """One array per row, all of them pieces of one, which Torch parts quicker than one by one."""

    def __init__(self, items, ends):
        self.items, self.ends = items, ends


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


def column(array, parted=True):
    """A column; with `parted` false, pieces of one array may be left together."""
    import numpy

    pa = pyarrow()
    kind = array.type
    types = pa.types
    if isinstance(array, pa.ExtensionArray):
        return column(array.storage)
    if types.is_dictionary(kind):
        return column(array.dictionary_decode())
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
        return _slices(numpy, array, column(array.values), width, parted)
    if types.is_struct(kind):
        # The fields of a struct that is null hold anything; flattened, they are null.
        fields = array.flatten() if array.null_count else map(array.field, range(kind.num_fields))
        return {field.name: column(items) for field, items in zip(kind, fields, strict=True)}
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
    items = column(array.values)
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
        return Pieces(items, ends)
    else:
        rows = [items[a:b] for a, b in itertools.pairwise(ends)]
    return _nones(array, rows)
