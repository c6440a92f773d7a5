"""How often a call of a layer starts workers that stand by, and words to copy for each start."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from types import MappingProxyType

from match_aie.targets.gap9.cluster.kernels import template_of
from match_aie.targets.gap9.cluster.recurrent import parts
from match_aie.workload import RECURRENT, Operand, Workload

#: Of the structures of `ma_cluster.h` in memories of 32 bits, by name.
STRUCTURES: Mapping[str, int] = MappingProxyType(
    {
        "ma_window": 37,
        "ma_elements": 19,
        "ma_product": 22,
        "ma_norm": 14,
        "ma_real_rows": 9,
        "ma_recurrent": 14,
        "ma_permutation": 14,
    }
)
#: Which one a template fills.
FILLED: Mapping[str, str] = MappingProxyType(
    {
        "window": "ma_window",
        "conv16": "ma_window",
        "real_window": "ma_window",
        "elements": "ma_elements",
        "real_add": "ma_elements",
        "matmul": "ma_product",
        "layer_norm": "ma_norm",
        "real_rows": "ma_real_rows",
        "recurrent": "ma_recurrent",
        "permute": "ma_permutation",
    }
)


def _filled(workload: Workload) -> str:
    template = template_of(workload).removeprefix("gap9/").removesuffix(".c.mako")
    return FILLED[template]


def argument_words(workload: Workload) -> int:
    """Of the kernel that runs a layer, 4 bytes each."""
    return STRUCTURES[_filled(workload)]


def starts(workload: Workload, lengths: Mapping[str, int]) -> int:
    """How often a call starts a kernel: every step of a recurrent layer, or once.

    Element by element, a start has rows of columns (`ma_fork_elements`), and there are as many as
    the axes beyond that have elements: where what is repeated lies between what is not.

    Args:
        workload: of the cluster.
        lengths: of every loop dimension in the call; its tiles are dense.
    """
    if workload.kind in RECURRENT:
        return lengths["OY"] * parts(workload)
    if _filled(workload) != "ma_elements" or workload.kind == "softmax":
        return 1
    return prod(_merged(workload, lengths)[2:])


def _merged(workload: Workload, lengths: Mapping[str, int]) -> list[int]:
    """Sizes of axes, innermost first, neighbours merged as `ma_merge` does."""
    sizes = _extents(workload.output, lengths)
    dense = [_strides(operand, lengths) for operand in (*workload.data, workload.output)]
    merged: list[int] = []
    last: tuple[int, ...] = ()
    for size, strides in zip(reversed(sizes), zip(*dense, strict=True), strict=True):
        if merged and all(
            s == before * merged[-1] for s, before in zip(strides, last, strict=True)
        ):
            merged[-1] *= size
        elif not merged or size > 1:
            merged.append(size)
            last = strides
    return merged


def _extents(operand: Operand, lengths: Mapping[str, int]) -> list[int]:
    return [prod(lengths[dim] for dim, _ in axis.terms) for axis in operand.axes]


def _strides(operand: Operand, lengths: Mapping[str, int]) -> list[int]:
    """Elements from one to the next along each axis, innermost first; 0 where it is repeated."""
    found, below = [], 1
    for axis, size in zip(
        reversed(operand.axes), reversed(_extents(operand, lengths)), strict=True
    ):
        found.append(below if axis.terms else 0)
        below *= size
    return found
