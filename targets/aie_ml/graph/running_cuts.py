"""How attention with a running softmax can be cut, and what a cut costs; attention of integers."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.attention_cuts import BLOCKS, AttentionCuts
from match_aie.targets.aie_ml.graph.candidates import Cuts
from match_aie.targets.aie_ml.graph.running_attention import RunningCut, RunningGraph, adding
from match_aie.targets.aie_ml.graph.streamed_attention import StreamedGraph, refuses_streams
from match_aie.targets.aie_ml.graph.streamed_cut import StreamedCut
from match_aie.targets.aie_ml.graph.streamed_cuts import PIECES, StreamedCuts
from match_aie.targets.aie_ml.kernels.running_attention import DIVIDED
from match_aie.workload import Workload
from match_aie.workload.attention_running import RunningNumbers, runs

#: Cycles of a tile of scores beside both products, of four rows beside that, and of a call beside
#: its rows: what blocks are compared by before their kernels are scheduled.
TILE_CYCLES, GROUP, CALL = 16, 80, 100


class RunningCuts(StreamedCuts):
    """Such a layer as the search sees it."""

    pieces = (*PIECES, 12, 16)
    blocks = tuple(range(DIVIDED, 129, DIVIDED))
    shapes = (*BLOCKS, (3, 1))
    graphs: ClassVar[type[StreamedGraph]] = RunningGraph

    @cached_property
    def _base(self) -> StreamedCut:
        """The layer in products of 4 x 8 x 8, parts as its meaning has them."""
        base = super()._base
        part = RunningNumbers.of(self.workload).part
        sizes = base.heads, base.rows, base.keys, base.wide, base.tiling
        return RunningCut(*sizes, DIVIDED, part)

    @property
    def keys(self) -> tuple[int, ...]:  # type: ignore[override]
        """The one size of a part that the layer's meaning has."""
        return (self._base.part,)

    def _estimate(self, cut: StreamedCut) -> float:
        """Cycles of a head, roughly: of products and a softmax, or of the stream to them."""
        groups, tiles = cut.block // 4, cut.part // 8
        products = self._products(cut)
        each = products + groups * (tiles * TILE_CYCLES + GROUP) + CALL
        stream = 2 * cut.w * cut.part / self.device.architecture.core.dma.bytes_per_cycle
        return cut.blocks * cut.parts * max(each, stream)

    def _products(self, cut: StreamedCut) -> float:
        """Cycles of both products of a part, at the cores' full rate; 16 by 8 bits have another."""
        rate = adding(self.device, cut.tiling, self.workload.operand("x2").dtype).macs
        return cut.block * cut.part * cut.w * (1 / cut.tiling.macs + 1 / rate)

    def bound(self, cut: StreamedCut) -> float:
        """With products at the cores' full rate."""
        parts = cut.parts * cut.blocks * cut.together
        return self._cost(cut, parts * self._products(cut)).latency


def attention_cuts(workload: Workload, device: Device) -> Cuts[Any]:
    """Attention whose scores stay in a tile where they fit one, else with keys that go by."""
    if runs(workload):
        return RunningCuts(workload, device)
    whole = AttentionCuts(workload, device)
    if refuses_streams(workload) is not None:
        return whole
    fits = any(whole.refuses(cut) is None for cut in whole.all(device.columns))
    return whole if fits else StreamedCuts(workload, device)
