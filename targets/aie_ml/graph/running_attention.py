"""Attention with a running softmax as a graph whose keys and values go by once.

It is that of `graph.streamed_attention` but for the kernel, and for tiles of values, which have
four keys where cores multiply no more at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.graph.streamed_attention import StreamedGraph
from match_aie.targets.aie_ml.graph.streamed_cut import StreamedCut
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.lookup import duplicated, table_bytes
from match_aie.targets.aie_ml.kernels.product import ProductCall
from match_aie.targets.aie_ml.kernels.running_attention import (
    WEIGHT_KEYS,
    WEIGHTS,
    RunningAttention,
    RunningSpec,
)
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from match_aie.workload.attention_running import RunningNumbers


def adding(device: Device, scores: Tiling, values: str) -> Tiling:
    """The `mmul` shape of weights by values, of as many keys as cores multiply at once.

    Args:
        device: the array.
        scores: the shape of queries by keys.
        values: their element type.
    """
    found = device.architecture.core.tilings_of(WEIGHTS, values)
    able = {t.k: t for t in found if t.native and (t.m, t.n) == (scores.m, scores.n)}
    return next(able[keys] for keys in WEIGHT_KEYS if keys in able)


@dataclass(frozen=True)
class RunningCut(StreamedCut):
    """How attention with a running softmax is spread and cut over time."""

    #: Keys go by once.
    rounds = 1


class RunningGraph(StreamedGraph):
    """How one layer becomes a graph; `graph` gives it."""

    #: The arithmetic, which is not the model's.
    how = ", running softmax"

    @property
    def value_keys(self) -> int:
        """Keys of a tile of weights of 16 bits."""
        return self._adding.k

    @cached_property
    def call(self) -> RunningAttention:  # type: ignore[override]
        """The function of every tile.

        Raises:
            TargetError: blocks do not fit each other.
        """
        cut, header = self.cut, f"{self.name}_kernels.h"
        n = RunningNumbers.of(self.workload)
        x, x1, x2 = (self.dtype(name) for name in ("x", "x1", "x2"))
        shape = (cut.block, cut.w, cut.part), (cut.block, cut.part, cut.w)
        first, second = cut.forms
        scores = KernelSpec(
            x, x1, cut.tiling, *first.block, *shape[0], Requantise("shift", WEIGHTS),
            bias=False, flat=first.flat,
        )  # fmt: skip
        adds = KernelSpec(
            WEIGHTS, x2, self._adding, *second.block, *shape[1], Requantise("none", "int32"),
            bias=False, resumes=True, flat=second.flat,
        )  # fmt: skip
        return RunningAttention(
            f"{self.name}_attention",
            header,
            ProductCall("product", header, scores, n.shift),
            LayerCall("values", header, adds),
            RunningSpec.of(self.dtype("y"), cut.block, adds.tiling.k),
            **cut.parted,
            numbers=n,
            repeated=table_bytes(self.device),
        )

    @property
    def _adding(self) -> Tiling:
        """The `mmul` shape of weights by values."""
        return adding(self.device, self.cut.tiling, self.dtype("x2"))

    def _numbers(self, turn: int) -> tuple[tuple[str, np.ndarray], ...]:
        """Parameters of the tile whose turn this is."""
        both = duplicated(np.asarray(self.constants["table"]), table_bytes(self.device))
        return ("w", both), ("cd", both), ("turn", np.array([turn], np.int32))
