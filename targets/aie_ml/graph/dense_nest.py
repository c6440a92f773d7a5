"""A dense layer's mapping as loops, and back: nothing of it is searched again.

In space there are chains, in the order in which they stand, tiles of a chain, and lanes; in time,
outermost first, passes over the rows where there are any, calls, turns of a call, blocks of
accumulators along rows and columns, steps of the reduction, and a block. A loop's step counts what
all tiles cover. Whether weights stay in their tiles follows from these: they do where they fit.
"""

from __future__ import annotations

from dataclasses import replace

from match_aie.errors import TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.kernel_choice import with_kernel
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer, Order, Outer
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.array.shapes import stays
from match_aie.targets.aie_ml.devices import Device, Tiling

#: Dimensions of a split and of lanes, and of the loops of a call, in the order of a chain by rows.
SPLIT, CALL = "BKC", "CBKCBK"


def nest_of(mapping: ArrayMapping, passes: int | None = None) -> Mapping:
    """All of a mapping but its input channels; of one of a pass where passes are given."""
    m, t = mapping, mapping.tiling
    rows, columns = m.block
    high, wide, deep = t.m * m.row_parts, t.n * m.column_parts, t.k * m.cas_length
    chains = Loop("B", m.row_parts), Loop("K", m.column_parts)
    walks = (
        Loop("K", m.column_steps, m.column_parts * m.call_columns),
        Loop("B", m.row_steps, m.row_parts * m.call_rows),
    )
    return Mapping(
        (
            *(chains if m.order == "m" else chains[::-1]),
            *(Loop("C", m.cas_length), Loop("B", t.m), Loop("K", t.n), Loop("C", t.k)),
        ),
        (
            *(() if passes is None else (Loop("B", passes, m.layer.rows),)),
            *(walks if m.outer == "n" else walks[::-1]),
            Loop("C", m.reduction_steps, m.cas_length * m.call_reduction),
            Loop("B", m.call_rows // t.m // rows, rows * high),
            Loop("K", m.call_columns // t.n // columns, columns * wide),
            Loop("C", m.call_reduction // t.k, deep),
            Loop("B", rows, high),
            Loop("K", columns, wide),
        ),
    )


def is_dense_nest(nest: Mapping, *, in_passes: bool) -> bool:
    """Whether it has the loops of `nest_of`, with passes or without."""
    over = "".join(loop.dim for loop in nest.spatial)
    time = "".join(loop.dim for loop in nest.temporal)
    walks = ("BKB", "BBK") if in_passes else ("KB", "BK")
    return over in ("BKCBKC", "KBCBKC") and time in [walk + CALL for walk in walks]


def mapping_of(layer: DenseLayer, device: Device, nest: Mapping) -> ArrayMapping | None:
    """The mapping that a nest says, with one input channel; None where it has no kernel.

    Args:
        layer: of a pass, where there are passes.
        device: the rectangle that it takes.
        nest: one of `is_dense_nest`.

    Raises:
        TargetError: cores have no such product, or a part would be empty.
    """
    row_parts, column_parts, cas_length = parts_of(nest)
    turns, high, wide, _, rows, columns = (loop.size for loop in nest.temporal[-len(CALL) :])
    tiling = _tiling(layer, device, nest)
    made = ArrayMapping(
        layer,
        tiling,
        (rows, columns),
        VARIANTS[0],
        cas_length,
        column_parts,
        row_parts,
        high * rows * tiling.m,
        wide * columns * tiling.n,
        order=_order(nest),
        outer=_outer(nest),
        reduction_steps=turns,
    )
    if not stays(made, device):
        made = replace(made, home="chip")
    return with_kernel(made, device, VARIANTS, (made.block,))


def parts_of(nest: Mapping) -> tuple[int, int, int]:
    """Parts of the rows and of the columns, and tiles of a chain."""
    sizes = {loop.dim: loop.size for loop in nest.spatial[: len(SPLIT)]}
    return sizes["B"], sizes["K"], sizes["C"]


def _tiling(layer: DenseLayer, device: Device, nest: Mapping) -> Tiling:
    shape = tuple(loop.size for loop in nest.spatial[len(SPLIT) :])
    for tiling in device.architecture.core.tilings_of(layer.a, layer.w):
        if (tiling.m, tiling.n, tiling.k) == shape:
            return tiling
    raise TargetError(f"{device.name} has no product of {layer.a} by {layer.w} in lanes {shape}")


def _order(nest: Mapping) -> Order:
    return "m" if nest.spatial[0].dim == "B" else "n"


def _outer(nest: Mapping) -> Outer:
    return "n" if nest.temporal[-len(CALL) - 2].dim == "K" else "m"
