"""From a match of a transpose to the layer it means."""

from __future__ import annotations

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
    if not order or len(x.shape) > 4:
        raise Refusal(f"a tensor of {len(x.shape)} axes")
    if len(view.match.nodes) > 1:
        return _first_behind(view, x, order)
    lead = 4 - len(x.shape)
    workload = permute(
        Quantized(x.dtype),
        shape=rank4(x.shape),
        axes=[*range(lead), *(lead + axis for axis in order)],
    )
    return Extracted(workload, {}, (x.name,), view.root.output)


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
