"""Biases at an image's border: memory tiles pad with 0, which is not the input's zero point."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.graph.image import CutLayer, ImageLayer
from match_aie.targets.aie_ml.kernels.window import taps_inside


@dataclass(frozen=True, eq=False)
class Borders:
    """Which taps of the window lie on the image, by output row and column.

    Attributes:
        row_masks: different rows of taps, [classes, FY].
        column_masks: likewise columns, [classes, FX].
        row_of: class of every output row.
        column_of: of every output column.
    """

    row_masks: np.ndarray
    column_masks: np.ndarray
    row_of: np.ndarray
    column_of: np.ndarray

    @property
    def classes(self) -> int:
        """Places that differ."""
        return len(self.row_masks) * len(self.column_masks)


@lru_cache(maxsize=64)
def borders(layer: ImageLayer) -> Borders:
    """Of a layer; a single class where it has no border."""
    g = layer.geometry
    if not layer.bordered:
        none = np.zeros(0, np.int64)
        return Borders(np.ones((1, g.filter[0])), np.ones((1, g.filter[1])), none, none)
    rows, row_of = np.unique(taps_inside(g, 0), axis=0, return_inverse=True)
    columns, column_of = np.unique(taps_inside(g, 1), axis=0, return_inverse=True)
    return Borders(rows, columns, row_of.reshape(-1), column_of.reshape(-1))


def biases(plan: CutLayer, found: Borders, part: int) -> np.ndarray:
    """Biases of one part of the output channels, int32 [classes * part_channels].

    Raises:
        TargetError: one leaves int32.
    """
    layer, size = plan.layer, plan.part_channels
    assert layer.epilogue is not None
    assert layer.weight is not None
    here = slice(part * size, (part + 1) * size)
    whole = np.broadcast_to(layer.epilogue.bias.astype(np.int64), (layer.geometry.outputs,))[here]
    taps = layer.weight[here].astype(np.int64).sum(axis=3)
    table = [
        whole - layer.zero_point * (taps * np.outer(rows, columns)).sum(axis=(1, 2))
        for rows in found.row_masks
        for columns in found.column_masks
    ]
    padded = np.pad(np.array(table), ((0, 0), (0, size - len(whole))))
    if np.abs(padded).max(initial=0) > np.iinfo(np.int32).max:
        raise TargetError("a bias that carries the input's zero point leaves int32")
    return np.asarray(padded.astype(np.int32).reshape(-1))


def tables(plan: CutLayer, found: Borders, part: int) -> tuple[np.ndarray, np.ndarray]:
    """Where each row's bias begins in the bands of one part of the output rows.

    Returns:
        The different tables, int32 [tables, M of a band], and for each band where its own begins.
    """
    first, count = plan.rows_of(part)
    across = np.zeros(plan.walk.tiles_per_row * plan.cut.tiling.m, np.int64)
    across[: len(found.column_of)] = found.column_of
    seen: dict[bytes, int] = {}
    different: list[np.ndarray] = []
    band_of: list[int] = []
    for band in range(plan.firings_of(part)):
        row_of = np.zeros(plan.band_rows, np.int64)
        here = found.row_of[first + band * plan.band_rows : first + count][: plan.band_rows]
        row_of[: len(here)] = here
        if row_of.tobytes() not in seen:
            seen[row_of.tobytes()] = len(different)
            place = row_of[:, None] * len(found.column_masks) + across[None]
            table = np.zeros(plan.walk.m, np.int64)
            table[: place.size] = place.reshape(-1) * plan.part_channels
            different.append(table)
        band_of.append(seen[row_of.tobytes()] * plan.walk.m)
    return np.array(different, np.int32), np.array(band_of, np.int32)
