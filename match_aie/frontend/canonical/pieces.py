"""Parts of images, and channels that change places, on images whose channels are last.

A slice of an image is one of its twin. Channels that are split into factors, moved and joined
again, into channels (a shuffle of groups) or into rows and columns (a pixel shuffle), are moved in
the twin: reshape (N, f1, .., fk, H, W), `permute_dims`, reshape (N, C', H', W') becomes
reshape (N, H, W, f1, .., fk), another `permute_dims`, reshape (N, H', W', C').
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from tvm import relax
from tvm.ir import prim

from match_aie import tvm_api
from match_aie.frontend.rebuild import Emitter, Expr

RANK = 4
#: Where an axis of an image lies once channels are last.
LAST = (0, 3, 1, 2)


def sliced(call: Any, twin: Expr) -> Expr | None:
    """The `strided_slice` of `twin` that `call` is of its image; None where bounds are not known.

    Args:
        call: of (N, C, H, W).
        twin: (N, H, W, C).
    """
    given = [numbers(arg) for arg in call.args[1:]]
    known = [found for found in given if found is not None]
    if len(known) < len(given):
        return None
    axes, *bounds = known
    inbound = bool(call.attrs.assume_inbound)
    places = [LAST[axis % RANK] for axis in axes]
    return relax.op.strided_slice(twin, places, *bounds, assume_inbound=inbound)


def part(emitter: Emitter, item: Any, twins: Mapping[Any, Expr]) -> Expr | None:
    """The slice, channels last, that `item` of a `split` is; None of another tuple.

    Args:
        emitter: knows the tuple.
        item: a `TupleGetItem`.
        twins: channels last, by channels first.
    """
    split = emitter.definition(item.tuple_value)
    if tvm_api.operator_name(split) != "split" or split.args[0] not in twins:
        return None
    axis, begin, end = bounds_of_part(split, item.index)
    return relax.op.strided_slice(twins[split.args[0]], [LAST[axis]], [begin], [end])


def bounds_of_part(split: Any, index: int) -> tuple[int, int, int]:
    """The axis of a `split`, and where its part number `index` begins and ends there."""
    shape = tvm_api.shape_of(split.args[0])
    axis, given = int(split.attrs.axis) % len(shape), split.attrs.indices_or_sections
    if isinstance(given, prim.IntImm):
        each = -(-shape[axis] // given.value)
        bounds = [*range(0, shape[axis], each), shape[axis]]
    else:
        bounds = [0, *map(int, given), shape[axis]]
    begin, end = bounds[index : index + 2]
    return axis, begin, end


def shuffled(
    emitter: Emitter, call: Any, shape: tuple[int, ...], twins: Mapping[Any, Expr]
) -> Expr | None:
    """What `call` gives, channels last; None where it does not end a move of channels.

    Args:
        emitter: takes what is computed before.
        call: a `reshape`.
        shape: of its result.
        twins: channels last, by channels first.
    """
    turned = emitter.definition(call.args[0])
    if tvm_api.operator_name(turned) != "permute_dims" or turned.attrs.axes is None:
        return None
    split = emitter.definition(turned.args[0])
    if tvm_api.operator_name(split) != "reshape" or split.args[0] not in twins:
        return None
    batch, *apart = tvm_api.shape_of(split)
    _, _, rows, columns = tvm_api.shape_of(split.args[0])
    axes = [int(axis) for axis in turned.attrs.axes]
    if len(shape) != RANK or len(apart) < RANK or axes[0] != 0 or shape[0] != batch:
        return None
    if tuple(apart[-2:]) != (rows, columns):
        return None
    groups = _grouped([(axis, apart[axis - 1]) for axis in axes[1:]], shape[1:])
    if groups is None:
        return None
    factors = apart[:-2]
    places = [0, *range(3, 3 + len(factors)), 1, 2]
    channels, high, wide = ([places[axis] for axis in group] for group in groups)
    data = relax.op.reshape(twins[split.args[0]], (batch, rows, columns, *factors))
    moved = relax.op.permute_dims(emitter.emit(data), [0, *high, *wide, *channels])
    return relax.op.reshape(emitter.emit(moved), (batch, *shape[2:], shape[1]))


def _grouped(axes: Sequence[tuple[int, int]], sizes: Sequence[int]) -> list[list[int]] | None:
    """The axes, each with its size, that each of `sizes` is made of; None where one is torn."""
    left, groups = list(axes), []
    for size in sizes:
        group: list[tuple[int, int]] = []
        while left and prod(count for _, count in group) < size:
            group.append(left.pop(0))
        if prod(count for _, count in group) != size:
            return None
        groups.append([axis for axis, _ in group])
    groups[-1] += [axis for axis, _ in left]
    return groups if all(count == 1 for _, count in left) else None


def numbers(arg: Any) -> list[int] | None:
    """Integers of a tuple of them; None where one is computed."""
    values = [getattr(field, "value", None) for field in getattr(arg, "fields", ())]
    found = [int(value) for value in values if value is not None]
    return found if found and len(found) == len(values) else None
