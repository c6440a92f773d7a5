"""What a cost model answers for many tiles at a time, held to how many there are."""

from __future__ import annotations

import numpy as np

from match_aie.errors import TargetError
from match_aie.hardware import Array, TileCostModel


def for_each(answer: Array, shape: tuple[int, ...], model: TileCostModel, method: str) -> Array:
    """What a cost model answered, as one number for each tile.

    Args:
        answer: one number for all tiles, or one for each.
        shape: of the tiles.
        model: that was asked.
        method: which one of it.

    Raises:
        TargetError: there are more or fewer numbers.
    """
    try:
        return np.broadcast_to(answer, shape)
    except ValueError as error:
        asked = " x ".join(map(str, shape))
        raise TargetError(
            f"{type(model).__name__}.{method}() gives an array of shape {np.shape(answer)} for "
            f"{asked} tiles",
            hint="a tile has an array for each dimension; give one number for each tile, or one "
            "for all: combine these arrays element by element, with // and np.maximum",
        ) from error
