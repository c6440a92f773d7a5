"""How attention in bfloat16 whose keys and values go by can be cut, and what a cut costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.attention import ProductForm
from match_aie.targets.aie_ml.graph.candidates import Cuts
from match_aie.targets.aie_ml.graph.float_attention import (
    BFLOAT16,
    BFP16,
    MATRIX,
    FloatCut,
    FloatStreamedGraph,
    refuses_float_streams,
    refuses_lanes,
)
from match_aie.targets.aie_ml.graph.matrix_cuts import Parts
from match_aie.targets.aie_ml.graph.running_cuts import attention_cuts
from match_aie.targets.aie_ml.graph.streamed_cut import StreamedCut
from match_aie.targets.aie_ml.graph.streamed_cuts import PIECES, StreamedCuts
from match_aie.targets.aie_ml.kernels.blocked_attention import LEAST_PART
from match_aie.targets.aie_ml.kernels.float_attention import PAIR, QUERIES, ROUND
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.workload import Workload
from match_aie.workload.attention_bfloat16 import in_blocks, unshifted

#: Cycles of four queries by eight keys beside their products, of four queries beside that, and of a
#: call beside them: what blocks and parts are compared by before their kernels are scheduled.
PAIR_CYCLES, GROUP, CALL = 20, 60, 160

#: The same of block floating point: of a step of two by two tiles, of these beside their steps
#: where scores are stored, of weights in their place, and of sums that are loaded and stored.
STEP, SCORED, WEIGHED, ADDED = 8, 26, 72, 39


class FloatStreamedCuts(StreamedCuts):
    """Such a layer as the search sees it."""

    keys = tuple(range(ROUND, 257, ROUND))
    pieces: ClassVar[tuple[int, ...]] = (*PIECES, 12, 16)
    graphs = FloatStreamedGraph
    wide = BYTES[BFLOAT16]

    @cached_property
    def _base(self) -> StreamedCut:
        """The layer in products of 4 x 8 x 4, or lane by lane.

        Raises:
            TargetError: cores have neither.
        """
        sizes = self.workload.sizes
        core = self.device.architecture.core
        found = core.tilings_of(BFLOAT16, BFP16 if in_blocks(self.workload) else BFLOAT16)
        shapes = [t for t in found if t.waits or (t.native and (t.m, t.k, t.n) == MATRIX)]
        if not shapes:
            raise TargetError(f"{self.device.name} has no product of bfloat16 in tiles of {MATRIX}")
        wide, tiling = (sizes["C"], sizes["K"]), shapes[0]
        block = tiling.n if tiling.lanes else self.blocks[0]
        least = self.keys[0]
        made = FloatCut(sizes["G"], sizes["OY"], sizes["OX"], wide, tiling, block, least)
        if unshifted(self.workload):
            made = replace(made, rounds=1)
        plain = ProductForm((1, 1), flat=False)
        return replace(made, forms=(plain, plain)) if tiling.waits else made

    def _sized(self, parts: Parts) -> Iterator[StreamedCut]:
        """The best that fits a tile; else the smallest, so that a refusal says what lacks."""
        found = list(super()._sized(parts))
        groups, wide, high = parts
        least = replace(self._base, groups=groups, columns=wide, high=high)
        if not found and least.parts > 1 and least.column_rows * (wide - 1) < least.rows:
            found.append(least)
        yield from found

    def _estimate(self, cut: StreamedCut) -> float:
        """Cycles of a head, roughly: of products and what is between, or of the stream to them."""
        groups, pairs = cut.block // QUERIES, cut.part // PAIR
        macs = (cut.rounds + 1) * cut.block * cut.part * cut.w / self._rate(cut)
        each = macs + groups * (pairs * PAIR_CYCLES + GROUP)
        bytes_of = 2 * cut.rounds * cut.w * cut.part * BYTES[BFLOAT16]
        stream = bytes_of / self.device.architecture.core.dma.bytes_per_cycle
        return cut.blocks * cut.parts * max(each + cut.rounds * CALL, stream)

    def held_bytes(self, cut: StreamedCut) -> int:
        """What a memory tile keeps: keys and values of a head, and results of its column."""
        assert isinstance(cut, FloatCut)
        queries = cut.column_rows * cut.columns * cut.w * BYTES[BFLOAT16]
        held = 2 * cut.w * cut.part * cut.parts * BYTES[BFLOAT16]
        if cut.columns == 1:
            return held + queries + cut.result_bytes
        return max(held, queries) + cut.result_bytes

    def _rate(self, cut: StreamedCut) -> int:
        """Of its arithmetic."""
        del cut
        wanted = BFP16 if in_blocks(self.workload) else BFLOAT16
        return self.device.architecture.core.macs_of(BFLOAT16, wanted) or 1


class LanedStreamedCuts(FloatStreamedCuts):
    """The same where products are made lane by lane: of as many rows as lie in lanes."""

    blocks = (64,)
    pieces = (1, 2, 4, 8)


class BlockedStreamedCuts(FloatStreamedCuts):
    """The same in block floating point: of rows that are divided sixteen at a time."""

    blocks = tuple(range(16, 129, 16))
    keys = tuple(range(LEAST_PART, 257, LEAST_PART))
    shapes = ((2, 2), (2, 1))

    def _estimate(self, cut: StreamedCut) -> float:
        """Cycles of a head, roughly: of products and what is between, or of the stream to them."""
        high, long, deep = (size // (2 * PAIR) for size in (cut.block, cut.part, cut.w))
        each = high * long * (2 * deep * STEP + SCORED + WEIGHED)
        each += high * deep * (2 * long * STEP + ADDED)
        both = 2 * cut.w * cut.part * BYTES[BFLOAT16]
        stream = both / self.device.architecture.core.dma.bytes_per_cycle
        return cut.blocks * cut.parts * max(each + CALL, stream)


def attention_kind(workload: Workload, device: Device) -> Cuts[Any]:
    """Attention of integers, or in bfloat16.

    Raises:
        TargetError: there is no kernel for attention of floats of such sizes.
    """
    if not workload.rounded:
        return attention_cuts(workload, device)
    reason = refuses_float_streams(workload) or refuses_lanes(workload, device)
    if reason is not None:
        raise TargetError(reason)
    if in_blocks(workload):
        return BlockedStreamedCuts(workload, device)
    tilings = device.architecture.core.tilings_of(BFLOAT16, BFLOAT16)
    laned = any(tiling.lanes for tiling in tilings)
    return (LanedStreamedCuts if laned else FloatStreamedCuts)(workload, device)
