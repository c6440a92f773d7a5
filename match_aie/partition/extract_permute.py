"""A permute_dims on integers as a layer."""

from __future__ import annotations

from match_aie.partition.layer import Extracted
from match_aie.partition.view import INTEGERS, Refusal, View, rank4
from match_aie.workload import Quantized, permute


def permuted(view: View) -> Extracted:
    """The match's axes in another order."""
    node = view.node("permute_dims")
    x = view.value(str(node.arguments[0]))
    axes = node.attributes.get("axes")
    if x.dtype not in INTEGERS or x.constant is not None:
        what = "a constant" if x.constant is not None else x.dtype
        raise Refusal(f"axes of {what} change places")
    order = [int(a) for a in axes] if isinstance(axes, tuple | list) else []
    if not order or len(x.shape) > 4:
        raise Refusal(f"a tensor of {len(x.shape)} axes")
    lead = 4 - len(x.shape)
    workload = permute(
        Quantized(x.dtype),
        shape=rank4(x.shape),
        axes=[*range(lead), *(lead + axis for axis in order)],
    )
    return Extracted(workload, {}, (x.name,), view.root.output)
