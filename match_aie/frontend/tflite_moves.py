"""Operators of TFLite files that move elements, and that TVM's importer lacks or has wrong.

Each function takes the converter and the operator, and gives an expression or a tuple of them.
Axes and sizes must be known; their meaning is LiteRT's (`tensorflow/lite/kernels`, 2.16). Numbers
of rows that do not exist, for which LiteRT gives an error, take the nearest: nothing else is read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend.tflite_fold import table_of
from match_aie.frontend.tflite_tensors import Tensors

Expr = Any


def _numbers(tensors: Tensors, op: Any, position: int) -> list[int]:
    """An operand that must be known, as integers in one dimension.

    Raises:
        UnsupportedOperatorError: it is computed at run time.
    """
    tensor = tensors.get_input_tensors(op)[position]
    if not tensors.is_known(tensor):
        kind, label = tensors.describe(op)
        why = "its axes, sizes and places must be known at compile time"
        raise UnsupportedOperatorError([(kind, label, why)])
    return [int(number) for number in np.asarray(tensors.get_tensor_value(tensor)).reshape(-1)]


def _data(tensors: Tensors, op: Any, position: int = 0) -> Expr:
    return tensors.value_of(tensors.get_input_tensors(op)[position])


def _pieces(tensors: Tensors, data: Expr, ends: Sequence[int], axis: int) -> Expr:
    """`data` cut along an axis in front of each of `ends`; a tuple where there are several."""
    if not ends:
        return data
    split = tensors.emit(relax.op.split(data, list(ends), axis=axis))
    return relax.Tuple([tensors.emit(split[at]) for at in range(len(ends) + 1)])


def expand_dims(tensors: Tensors, op: Any) -> Expr:
    """`EXPAND_DIMS`."""
    return relax.op.expand_dims(_data(tensors, op), _numbers(tensors, op, 1)[0])


def split(tensors: Tensors, op: Any) -> Expr:
    """`SPLIT` into equal parts."""
    data = _data(tensors, op, 1)
    shape, axis = tvm_api.shape_of(data), _numbers(tensors, op, 0)[0]
    count = table_of(op, "SplitOptions").NumSplits()
    part = shape[axis] // count
    return _pieces(tensors, data, range(part, shape[axis], part), axis)


def split_sizes(tensors: Tensors, op: Any) -> Expr:
    """`SPLIT_V` into parts of given sizes, one of which may be -1: what is left."""
    data, sizes = _data(tensors, op), _numbers(tensors, op, 1)
    axis = _numbers(tensors, op, 2)[0]
    whole = tvm_api.shape_of(data)[axis]
    rest = whole - sum(size for size in sizes if size >= 0)
    full = [rest if size < 0 else size for size in sizes]
    return _pieces(tensors, data, [int(end) for end in np.cumsum(full)[:-1]], axis)


def unpack(tensors: Tensors, op: Any) -> Expr:
    """`UNPACK`: slices along an axis, without it."""
    data, axis = _data(tensors, op), table_of(op, "UnpackOptions").Axis()
    count = tvm_api.shape_of(data)[axis]
    parts = _pieces(tensors, data, range(1, count), axis)
    if count == 1:
        return relax.op.squeeze(parts, [axis])
    return relax.Tuple([tensors.emit(relax.op.squeeze(part, [axis])) for part in parts.fields])


def embedding_lookup(tensors: Tensors, op: Any) -> Expr:
    """`EMBEDDING_LOOKUP`: rows of a table, by numbers."""
    return relax.op.take(_data(tensors, op, 1), _data(tensors, op), axis=0, mode="clip")


def gather(tensors: Tensors, op: Any) -> Expr:
    """`GATHER`; batches of indices along with batches of data where it says so."""
    data, index, given = _data(tensors, op), _data(tensors, op, 1), table_of(op, "GatherOptions")
    axis, batches = given.Axis() % len(tvm_api.shape_of(data)), given.BatchDims()
    if not batches:
        return relax.op.take(data, index, axis=axis, mode="clip")
    shape, places = tvm_api.shape_of(data), tvm_api.shape_of(index)
    batches %= len(places) + 1
    count = int(np.prod(shape[:batches]))
    # Every batch in one dimension, and its elements behind those of the batches before.
    flat = tensors.emit(relax.op.reshape(data, (count, *shape[batches:])))
    along = axis - batches + 1
    order = [0, along, *(at for at in range(1, len(shape) - batches + 1) if at != along)]
    moved = tensors.emit(relax.op.permute_dims(flat, order))
    rows = tensors.emit(relax.op.reshape(moved, (count * shape[axis], -1)))
    numbers = tensors.emit(
        relax.op.reshape(tensors.emit(relax.op.astype(index, "int64")), (count, -1))
    )
    steps = (np.arange(count, dtype=np.int64) * shape[axis]).reshape(-1, 1)
    numbers = tensors.emit(relax.op.add(numbers, relax.const(steps, "int64")))
    taken = tensors.emit(relax.op.take(rows, numbers, axis=0, mode="clip"))
    inner = places[batches:]
    before, behind = shape[batches:axis], shape[axis + 1 :]
    taken = tensors.emit(relax.op.reshape(taken, (count, *inner, *before, *behind)))
    first = 1 + len(inner)
    order = [0, *range(first, first + len(before)), *range(1, first)]
    order += range(first + len(before), first + len(before) + len(behind))
    turned = tensors.emit(relax.op.permute_dims(taken, order))
    return relax.op.reshape(turned, (*shape[:batches], *before, *inner, *behind))


def gather_nd(tensors: Tensors, op: Any) -> Expr:
    """`GATHER_ND`: places in the last dimension of the indices."""
    data, index = _data(tensors, op), _data(tensors, op, 1)
    shape, places = tvm_api.shape_of(data), tvm_api.shape_of(index)
    deep = places[-1]
    rows = tensors.emit(relax.op.reshape(data, (int(np.prod(shape[:deep])), *shape[deep:])))
    strides = np.cumprod([1, *shape[:deep][::-1]])[:-1][::-1].astype(np.int64)
    wide = tensors.emit(relax.op.astype(index, "int64"))
    weighted = tensors.emit(relax.op.multiply(wide, relax.const(strides, "int64")))
    return relax.op.take(rows, tensors.emit(relax.op.sum(weighted, axis=-1)), axis=0, mode="clip")


def mirror_pad(tensors: Tensors, op: Any) -> Expr:
    """`MIRROR_PAD`: what lies behind an edge, with the edge's element (symmetric) or without."""
    data, again = _data(tensors, op), int(table_of(op, "MirrorPadOptions").Mode())
    pads = np.array(_numbers(tensors, op, 1)).reshape(-1, 2)
    for axis, (before, behind) in enumerate(pads):
        size = tvm_api.shape_of(data)[axis]
        if not before and not behind:
            continue
        at = np.arange(-before, size + behind)
        at = np.where(at < 0, -at - again, at)
        index = np.where(at >= size, 2 * size - 2 + again - at, at).astype(np.int64)
        taken = relax.op.take(data, relax.const(index, "int64"), axis=axis, mode="fast")
        data = tensors.emit(taken)
    return data


def cumsum(tensors: Tensors, op: Any) -> Expr:
    """`CUMSUM`, from behind where it says so."""
    data, given = _data(tensors, op), table_of(op, "CumsumOptions")
    axis = _numbers(tensors, op, 1)[0] % len(tvm_api.shape_of(data))
    if given.Reverse():
        data = tensors.emit(relax.op.flip(data, axis))
    summed = relax.op.cumsum(data, axis, exclusive=bool(given.Exclusive()))
    return relax.op.flip(tensors.emit(summed), axis) if given.Reverse() else summed


def space_to_batch(tensors: Tensors, op: Any) -> Expr:
    """`SPACE_TO_BATCH_ND`: blocks of pixels, after padding, become images of their own."""
    data, blocks = _data(tensors, op), _numbers(tensors, op, 1)
    pads = np.array(_numbers(tensors, op, 2)).reshape(-1, 2)
    count = len(blocks)
    rest = len(tvm_api.shape_of(data)) - 1 - count
    wide = [0, 0, *(int(pad) for pad in pads.reshape(-1)), *[0] * (2 * rest)]
    if any(wide):
        data = tensors.emit(relax.op.nn.pad(data, wide, pad_value=_zero(tensors, op)))
    batch, *sizes = tvm_api.shape_of(data)
    inner = sizes[count:]
    cut = [
        part for size, block in zip(sizes, blocks, strict=False) for part in (size // block, block)
    ]
    data = tensors.emit(relax.op.reshape(data, (batch, *cut, *inner)))
    order = [*range(2, 2 * count + 1, 2), 0, *range(1, 2 * count + 1, 2)]
    order += range(2 * count + 1, 2 * count + 1 + rest)
    data = tensors.emit(relax.op.permute_dims(data, order))
    return relax.op.reshape(data, (batch * int(np.prod(blocks)), *cut[::2], *inner))


def batch_to_space(tensors: Tensors, op: Any) -> Expr:
    """`BATCH_TO_SPACE_ND`: images become pixels of blocks, which are then cropped."""
    data, blocks = _data(tensors, op), _numbers(tensors, op, 1)
    crops = np.array(_numbers(tensors, op, 2)).reshape(-1, 2)
    count, (batch, *sizes) = len(blocks), tvm_api.shape_of(data)
    images, inner = batch // int(np.prod(blocks)), sizes[count:]
    data = tensors.emit(relax.op.reshape(data, (*blocks, images, *sizes)))
    order = [count]
    for at in range(count):
        order += [count + 1 + at, at]
    order += range(2 * count + 1, 2 * count + 1 + len(inner))
    data = tensors.emit(relax.op.permute_dims(data, order))
    grown = [size * block for size, block in zip(sizes, blocks, strict=False)]
    data = tensors.emit(relax.op.reshape(data, (images, *grown, *inner)))
    if not crops.any():
        return data
    begin = [int(crop[0]) for crop in crops]
    end = [size - int(crop[1]) for size, crop in zip(grown, crops, strict=True)]
    return relax.op.strided_slice(data, axes=list(range(1, count + 1)), begin=begin, end=end)


def select(tensors: Tensors, op: Any) -> Expr:
    """`SELECT`: a condition of one dimension chooses whole rows."""
    condition, one, other = (_data(tensors, op, at) for at in range(3))
    rank = len(tvm_api.shape_of(one))
    sizes = tvm_api.shape_of(condition)
    if len(sizes) == 1 and rank > 1:
        condition = tensors.emit(relax.op.reshape(condition, (sizes[0], *[1] * (rank - 1))))
    return relax.op.where(condition, one, other)


def _zero(tensors: Tensors, op: Any) -> float:
    """What stands for 0 in the operator's first operand."""
    known = tensors.get_input_tensors(op)[0].qnn_params
    return 0.0 if known is None else float(tvm_api.constant_value(known["zero_point"]))


#: Operator -> how it is converted.
CONVERTED: Mapping[str, Callable[[Tensors, Any], Expr]] = MappingProxyType(
    {
        "BATCH_TO_SPACE_ND": batch_to_space,
        "CUMSUM": cumsum,
        "EMBEDDING_LOOKUP": embedding_lookup,
        "EXPAND_DIMS": expand_dims,
        "GATHER": gather,
        "GATHER_ND": gather_nd,
        "MIRROR_PAD": mirror_pad,
        "SELECT": select,
        "SPACE_TO_BATCH_ND": space_to_batch,
        "SPLIT": split,
        "SPLIT_V": split_sizes,
        "UNPACK": unpack,
    }
)

#: Where the data is among the operands, if not in front.
DATA: Mapping[str, int] = MappingProxyType({"SPLIT": 1, "EMBEDDING_LOOKUP": 1})
