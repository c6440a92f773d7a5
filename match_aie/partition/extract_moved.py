"""From a match of a transpose to the layer it means."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from match_aie.hardware.graph import Value
from match_aie.partition.layer import Extracted
from match_aie.partition.view import INTEGERS, Refusal, View, rank4
from match_aie.workload import Quantized, permute


def moved_axes(view: View) -> Extracted:
    """One transpose, alone or of a matched reshape.

    Raises:
        Refusal: it is of something else than integers, or of too many axes.
    """
    node = view.node("permute_dims")
    x = view.value(str(node.arguments[0]))
    axes = node.attributes.get("axes")
    if x.dtype not in INTEGERS or x.constant is not None:
        what = "a constant" if x.constant is not None else x.dtype
        raise Refusal(f"axes of {what} change places")
    order = [int(a) for a in axes] if isinstance(axes, tuple | list) else []
    if not order:
        raise Refusal(f"a tensor of {len(x.shape)} axes")
    if len(view.match.nodes) > 1:
        return _first_behind(view, x, order)
    shape, order = (x.shape, order) if len(x.shape) <= 4 else _together(x.shape, order)
    if len(shape) > 4:
        raise Refusal(f"a tensor of {len(shape)} axes, with those in one that stay together")
    lead = 4 - len(shape)
    workload = permute(
        Quantized(x.dtype),
        shape=rank4(shape),
        axes=[*range(lead), *(lead + axis for axis in order)],
    )
    return Extracted(workload, {}, (x.name,), view.root.output)


def _together(shape: Sequence[int], order: Sequence[int]) -> tuple[tuple[int, ...], list[int]]:
    """The same move of fewer axes: none of one element, and those in one that stay together.

    So the shuffle of a channel's groups, of (N, H, W, groups, channels), has three axes.
    """
    runs: list[list[int]] = []
    last = None
    for axis in (axis for axis in order if shape[axis] != 1):
        before = next((a for a in range(axis - 1, -1, -1) if shape[a] != 1), None)
        if runs and before == last:
            runs[-1].append(axis)
        else:
            runs.append([axis])
        last = axis
    places = sorted(range(len(runs)), key=lambda run: runs[run])
    sizes = tuple(prod(shape[axis] for axis in runs[run]) for run in places)
    return sizes, [places.index(run) for run in range(len(runs))]


def _first_behind(view: View, x: Value, order: list[int]) -> Extracted:
    """A matched reshape whose first axis goes behind all others: a matrix that is transposed."""
    long = [axis for axis in order if x.shape[axis] > 1]
    if len(long) < 2 or long != [*sorted(long)[1:], min(long)]:
        raise Refusal(f"axes {order} of {x.shape}: not the first one behind all others")
    source = view.value(str(view.producer(x.name).arguments[0]))
    rows = x.shape[min(long)]
    shape = (1, 1, rows, prod(x.shape) // rows)
    workload = permute(Quantized(x.dtype), shape=shape, axes=[0, 1, 3, 2])
    return Extracted(workload, {}, (source.name,), view.root.output)
