"""Cycles that the mappings of a part take at least, for all shapes of its calls at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.layer import ArrayMapping
from match_aie.targets.aie_ml.array.shapes import Shape, TileKey, shapes
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.schedule.kernel import ELEMENT_BYTES


@lru_cache(maxsize=1024)
def floors(
    base: ArrayMapping, tile: TileKey, turns: bool, resident: bool, assumed: Assumed
) -> tuple[tuple[Shape, float], ...]:
    """Calls of a part (`shapes`), and what mappings with them take."""
    found = shapes(base, tile, turns, resident)
    if not found:
        return ()
    return tuple(zip(found, _least(base, found, tile.device, assumed), strict=True))


def _least(
    base: ArrayMapping, found: Sequence[Shape], device: Device, assumed: Assumed
) -> list[float]:
    """Cycles of products and starts, or of a tile's streams: what all mappings of a shape take.

    The sizes are those of `ArrayMapping`, of all shapes together: a search asks tens of thousands.
    """
    layer, core, tiling = base.layer, device.architecture.core, base.tiling
    a, w, out = (ELEMENT_BYTES[dtype] for dtype in (layer.a, layer.w, layer.out))
    rows, columns, turns = np.array([shape[:3] for shape in found], np.int64).T
    streamed = np.array([shape.home != "tile" for shape in found])
    walked = turns > 1
    reduction = -(-base.part_reduction // tiling.k // turns) * tiling.k
    row_steps, column_steps = -(-base.part_rows // rows), -(-base.part_columns // columns)
    calls = row_steps * column_steps
    rests = row_steps > 1 if base.outer == "n" else row_steps < 1
    inputs = np.where(walked, calls * turns, np.where(rests, calls, row_steps))
    again = column_steps > 1 if base.outer == "m" else column_steps < 1
    weights = streamed * np.where(walked, calls * turns, np.where(again, calls, column_steps))
    behind = 4 * columns * base.with_calls(*_TURNED, base.order).most_numbers
    weight_bytes = reduction * columns * w + np.where(streamed & walked, behind, 0)
    each, rate = core.dma.bytes_per_cycle, core.macs_of(layer.a, layer.w) or 1
    least = np.maximum.reduce(
        (
            calls * (rows * (reduction * turns) * columns / rate + assumed.call(1)),
            weights * (assumed.descriptor + weight_bytes / each),
            calls * (assumed.descriptor + rows * columns * out / each),
            inputs * (assumed.descriptor + rows * reduction * a / each),
        )
    )
    return list(least.tolist())


#: Rows, columns, turns and home of any call whose weights come turn by turn.
_TURNED = Shape(1, 1, 2, "chip")
