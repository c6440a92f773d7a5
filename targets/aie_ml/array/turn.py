"""The kernel of one turn of a call, by what it starts from and where its sums go."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from match_aie.targets.aie_ml.devices import Tiling
from match_aie.targets.aie_ml.schedule import Kernel, Position, Requantise, Variant
from match_aie.targets.aie_ml.schedule.kernel import BY_COLUMN

#: Element types, bias, activation and requantisation of a layer; whether waiting sums are rounded.
Types = tuple[str, str, str, bool, bool, Requantise, bool]


@lru_cache(maxsize=65536)
def turn_kernel(
    types: Types,
    tiling: Tiling,
    block: tuple[int, int],
    variant: Variant,
    position: Position,
    ends: tuple[bool, bool],
    beside: bool,
) -> Kernel:
    """What a tile of a chain runs in a turn; see `ArrayMapping.kernel`.

    Args:
        types: of the layer.
        tiling: of its products.
        block: of accumulators.
        variant: how epilogues meet the next block.
        position: of the tile.
        ends: whether the turn is a call's first one, and its last one.
        beside: whether numbers by column come with the weights.
    """
    a, w, out, bias, relu, requantise, rounds = types
    last = position in ("single", "last")
    kernel = Kernel(
        a=a,
        w=w,
        out=out,
        tiling=tiling,
        rows=block[0],
        columns=block[1],
        position=position,
        bias=bias and position in ("single", "first"),
        relu=relu and last,
        requantise=requantise,
        variant=variant,
    )
    begins, stores = ends
    if not stores:
        position = "last" if begins and kernel.cascade_in else "single"
        kernel = replace(kernel, position=position, relu=False)
        if not rounds:
            sums = "float32" if kernel.floating else "int32"
            kernel = replace(kernel, out=sums, requantise="none")
    if not begins:
        position = "single" if last or not stores else "first"
        kernel = replace(kernel, position=position, bias=False, resumes=True, rounded=rounds)
    scaled = stores and last and requantise in BY_COLUMN
    return replace(kernel, beside=beside and (kernel.bias or scaled))
