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
from match_aie.targets.aie_ml.array.layer import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.search import VARIANTS
from match_aie.targets.aie_ml.array.shapes import stays
from match_aie.targets.aie_ml.devices import Device

#: Dimensions of a split and of lanes, and of the loops of a call, in the order of a chain by rows.
SPLIT, CALL = "BKC", "CBKCBK"

#: Those of `over`.
OVER = ("BKCBKC", "KBCBKC")


def nest_of(mapping: ArrayMapping, passes: int | None = None) -> Mapping:
    """All of a mapping but its input channels; of one of a pass where passes are given."""
    m = mapping
    walks = (
        Loop("K", m.column_steps, m.column_parts * m.call_columns),
        Loop("B", m.row_steps, m.row_parts * m.call_rows),
    )
    return Mapping(
        over(m),
        (
            *(() if passes is None else (Loop("B", passes, m.layer.rows),)),
            *(walks if m.outer == "n" else walks[::-1]),
            Loop("C", m.reduction_steps, m.cas_length * m.call_reduction),
            *turn(m),
        ),
    )


def over(mapping: ArrayMapping) -> tuple[Loop, ...]:
    """Chains, tiles of one, and lanes."""
    m, t = mapping, mapping.tiling
    chains = Loop("B", m.row_parts), Loop("K", m.column_parts)
    lanes = Loop("B", t.m), Loop("K", t.n), Loop("C", t.k)
    return *(chains if m.order == "m" else chains[::-1]), Loop("C", m.cas_length), *lanes


def turn(mapping: ArrayMapping) -> tuple[Loop, ...]:
    """Blocks of a turn along rows and columns, steps of the reduction, and a block."""
    m, t = mapping, mapping.tiling
    rows, columns = m.block
    high, wide, deep = t.m * m.row_parts, t.n * m.column_parts, t.k * m.cas_length
    return (
        Loop("B", m.call_rows // t.m // rows, rows * high),
        Loop("K", m.call_columns // t.n // columns, columns * wide),
        Loop("C", m.call_reduction // t.k, deep),
        Loop("B", rows, high),
        Loop("K", columns, wide),
    )


def is_dense_nest(nest: Mapping, *, in_passes: bool) -> bool:
    """Whether it has the loops of `nest_of`, with passes or without."""
    space, time = ("".join(loop.dim for loop in each) for each in (nest.spatial, nest.temporal))
    walks = ("BKB", "BBK") if in_passes else ("KB", "BK")
    return space in OVER and time in [walk + CALL for walk in walks]


def mapping_of(layer: DenseLayer, device: Device, nest: Mapping) -> ArrayMapping | None:
    """The mapping that a nest says, with one input channel; None where it has no kernel.

    Args:
        layer: of a pass, where there are passes.
        device: the rectangle that it takes.
        nest: one of `is_dense_nest`.

    Raises:
        TargetError: cores have no such product, or a part would be empty.
    """
    made = replace(
        called(layer, device, nest),
        outer="n" if nest.temporal[-len(CALL) - 2].dim == "K" else "m",
        reduction_steps=nest.temporal[-len(CALL)].size,
    )
    if not stays(made, device):
        made = replace(made, home="chip")
    return with_kernel(made, device, VARIANTS, (made.block,))


def called(layer: DenseLayer, device: Device, nest: Mapping) -> ArrayMapping:
    """Of a nest that ends in `over` and `turn` what these say.

    Raises:
        TargetError: as `mapping_of`.
    """
    row_parts, column_parts, cas_length = parts_of(nest)
    high, wide, _, rows, columns = (loop.size for loop in nest.temporal[-len(CALL) + 1 :])
    lanes = tuple(loop.size for loop in nest.spatial[-len(SPLIT) :])
    tilings = device.architecture.core.tilings_of(layer.a, layer.w)
    tiling = next((t for t in tilings if (t.m, t.n, t.k) == lanes), None)
    if tiling is None:
        raise TargetError(f"{device.name}: no product of {layer.a} by {layer.w} in lanes {lanes}")
    return ArrayMapping(
        layer,
        tiling,
        (rows, columns),
        "overlapped" if tiling.waits else VARIANTS[0],
        cas_length,
        column_parts,
        row_parts,
        high * rows * tiling.m,
        wide * columns * tiling.n,
        order="m" if nest.spatial[-2 * len(SPLIT)].dim == "B" else "n",
    )


def parts_of(nest: Mapping) -> tuple[int, int, int]:
    """Parts of the rows and of the columns, and tiles of a chain."""
    sizes = {loop.dim: loop.size for loop in nest.spatial[-2 * len(SPLIT) : -len(SPLIT)]}
    return sizes["B"], sizes["K"], sizes["C"]
