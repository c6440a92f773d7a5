"""Kernel functions of a cut image layer, and what each tile's parameters hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from match_aie.targets.aie_ml.graph.borders import Borders, biases, borders, tables
from match_aie.targets.aie_ml.graph.image import CutLayer
from match_aie.targets.aie_ml.kernels.bands import Bands, PoolCall
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.lanes import MaxPoolSpec
from match_aie.targets.aie_ml.kernels.window import offsets, origins, pack_filter

Values = tuple[tuple[str, np.ndarray], ...]


@dataclass(frozen=True)
class FunctionUse:
    """A kernel function, how often it fires in a run, and whether it fetches buffers itself."""

    call: Bands | PoolCall
    firings: int
    walks: bool


class Functions:
    """The functions of one layer: tiles at one place of a cascade with as many bands share one.

    Args:
        plan: the cut layer.
    """

    def __init__(self, plan: CutLayer) -> None:
        """Nothing is made before it is asked for."""
        self._plan = plan
        self._made: dict[tuple[str, int], FunctionUse] = {}

    @cached_property
    def _borders(self) -> Borders:
        return borders(self._plan.layer)

    @cached_property
    def _tables(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of every part of the rows; all with as many tables."""
        found = [tables(self._plan, self._borders, p) for p in range(self._plan.cut.bands)]
        most = max(len(different) for different, _ in found)
        return [
            (np.pad(different, ((0, most - len(different)), (0, 0))), band_of)
            for different, band_of in found
        ]

    def of(self, column: int, firings: int) -> FunctionUse:
        """The function of tiles in `column` of their chain that work on `firings` bands."""
        key = self._plan.position(column), firings
        if key not in self._made:
            self._made[key] = self._pool(firings) if self._maximum else self._bands(column, firings)
        return self._made[key]

    @property
    def _maximum(self) -> bool:
        return self._plan.layer.epilogue is None

    def _symbol(self, firings: int, column: int = 0) -> str:
        plan = self._plan
        rest = f"_{firings}" if firings != plan.cut.firings else ""
        return f"{plan.layer.name}_{plan.position(column)}{rest}"

    def _pool(self, firings: int) -> FunctionUse:
        plan, walk = self._plan, self._plan.walk
        t = plan.cut.tiling
        call = PoolCall(
            self._symbol(firings),
            f"{plan.layer.name}_kernels.h",
            MaxPoolSpec(plan.layer.dtype, t.m, t.n, plan.cut.rows),
            tuple(origins(walk).tolist()),
            tuple(offsets(walk).tolist()),
            walk.block_pitch,
            walk.n // t.n,
        )
        return FunctionUse(call, firings, walks=False)

    def _bands(self, column: int, firings: int) -> FunctionUse:
        plan, walk = self._plan, self._plan.walk
        spec, epilogue = plan.kernel(column), plan.layer.epilogue
        assert epilogue is not None
        call = LayerCall(
            self._symbol(firings, column),
            f"{plan.layer.name}_kernels.h",
            spec,
            shift=epilogue.shift,
            multiplier=_number(epilogue.multiplier),
            addend=_number(epilogue.addend),
            bias_size=self._borders.classes * spec.n if spec.border_bias else None,
            origins=tuple(origins(walk).tolist()),
            offsets=tuple(offsets(walk).tolist()),
            x_n_step=walk.block_pitch if plan.layer.apart else 0,
            image=True,
        )
        count = len(self._tables[0][0]) if spec.border_bias else 0
        return FunctionUse(Bands(call, firings, count), 1, walks=True)

    def values(self, band: int, part: int, column: int) -> Values:
        """What a tile's parameters hold: that of parts of rows and channels, and of its chain."""
        plan, epilogue = self._plan, self._plan.layer.epilogue
        if epilogue is None:
            return ()
        spec, found = plan.kernel(column), []
        if plan.layer.weight is not None:
            found.append(("w", _weights(plan, part, column)))
        if spec.bias:
            found.append(("bias", biases(plan, self._borders, part)))
        for name, value, form in (
            ("multiplier", epilogue.multiplier, spec.requantise.form),
            ("addend", epilogue.addend, spec.requantise.addend),
        ):
            if spec.stores and form == "channel":
                found.append((name, _channels(plan, part, value)))
        if spec.border_bias:
            different, band_of = self._tables[band]
            found += [("bias_of", different.reshape(-1)), ("band_of", band_of)]
        return tuple(found)


def _number(value: np.ndarray | int | None) -> int:
    """One for all channels; 0 where there is none, or one for each."""
    return value if isinstance(value, int) else 0


def _channels(plan: CutLayer, part: int, value: np.ndarray | int | None) -> np.ndarray:
    """Numbers of one part of the output channels, int32, padded."""
    size, outputs = plan.part_channels, plan.layer.geometry.outputs
    here = np.broadcast_to(np.asarray(value), (outputs,))[part * size : (part + 1) * size]
    return np.asarray(np.pad(here, (0, size - len(here))).astype(np.int32))


def _weights(plan: CutLayer, part: int, column: int) -> np.ndarray:
    """Weights of one tile as its kernel reads them."""
    weight, size = plan.layer.weight, plan.part_channels
    assert weight is not None
    here = weight[part * size : (part + 1) * size]
    if not plan.layer.apart:
        deep = plan.slice_channels
        here = here[..., column * deep : (column + 1) * deep]
        here = np.pad(here, ((0, 0), (0, 0), (0, 0), (0, deep - here.shape[3])))
    return pack_filter(here, plan.walk)
