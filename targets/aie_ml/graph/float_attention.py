"""Attention in bfloat16 as a graph whose keys and values go by.

It is that of `graph.streamed_attention`; keys and values go by twice for each block of queries, or
once where the softmax is unshifted.
Queries, keys, values and results are rows of all heads, as projections store and read them, and
keys lie as values do: a core multiplies them from the left.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.plan import Outside, Shared
from match_aie.targets.aie_ml.graph.streamed_attention import StreamedGraph
from match_aie.targets.aie_ml.graph.streamed_cut import StreamedCut
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.blocked_attention import LEAST_PART, BlockedAttention
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.float_attention import (
    KEYS,
    PAIR,
    QUERIES,
    ROUND,
    FloatAttention,
    FloatPartsSpec,
    Lying,
)
from match_aie.targets.aie_ml.kernels.spec import BYTES, KernelSpec, Requantise
from match_aie.workload import Workload
from match_aie.workload.attention_bfloat16 import factor_of, in_blocks, unshifted

#: Element type of all ways and buffers; and of what products make blocks of.
BFLOAT16, BFP16 = "bfloat16", "bfp16"

#: Queries, elements of a head and keys of a tile of its products, where cores have such.
MATRIX = QUERIES, PAIR, KEYS

#: What products store, and how cores round.
_SUMS = Requantise("none", "float32")


@dataclass(frozen=True)
class FloatCut(StreamedCut):
    """How attention in bfloat16 is spread and cut over time.

    Attributes:
        rounds: how often keys go by for a block of queries.
    """

    rounds: int = 2

    @property
    def weights(self) -> str:
        """Element type by which products take keys and values."""
        return BFP16 if self.tiling.blocks else BFLOAT16

    #: A memory tile holds one head's keys and values.
    copies = 1

    @property
    def result_bytes(self) -> int:
        """Of a head's results of a column."""
        return self.column_rows * self.w * BYTES[BFLOAT16]


def refuses_float_streams(workload: Workload) -> str | None:
    """Why attention in bfloat16 has no kernel whose keys and values go by; None where it has."""
    return refuses_float_heads(workload) or refuses_few_keys(workload)


def refuses_float_heads(workload: Workload) -> str | None:
    """Why attention of floats has no such kernel, however it is rounded; None where it may."""
    sizes = workload.sizes
    if sizes["B"] > 1:
        return f"its batch is {sizes['B']}: attention in bfloat16 takes one"
    if sizes["C"] != sizes["K"] or sizes["C"] % PAIR:
        return (
            f"queries of {sizes['C']} and values of {sizes['K']} elements: attention in bfloat16 "
            f"takes as many of both, a multiple of {PAIR}"
        )
    return None


def refuses_few_keys(workload: Workload) -> str | None:
    """Why attention in bfloat16 has no such kernel of its keys; None where it may have one."""
    sizes = workload.sizes
    least = LEAST_PART if in_blocks(workload) else ROUND
    if sizes["OX"] <= least:
        return f"its {sizes['OX']} keys are no two parts, which have {least} at least"
    return None


def refuses_lanes(workload: Workload, device: Device) -> str | None:
    """Why attention of floats has no kernel on an array, or none of such heads lane by lane.

    Args:
        workload: the attention.
        device: its array.

    Returns:
        The reason; None where there is a kernel.
    """
    sizes, core = workload.sizes, device.architecture.core
    if in_blocks(workload):
        return None if core.tilings_of(BFLOAT16, BFP16) else f"{device.name} has no {BFP16}"
    tilings = core.tilings_of(BFLOAT16, BFLOAT16)
    laned = next((tiling for tiling in tilings if tiling.lanes), None)
    if laned is None:
        if any(t.native and (t.m, t.k, t.n) == MATRIX for t in tilings):
            return None
        return f"{device.name} has no product of bfloat16 in tiles of {MATRIX}"
    if {sizes["C"], sizes["K"]} == {laned.n}:
        return None
    said = (
        f"heads of {sizes['C']} elements: attention in bfloat16 on {device.name} takes "
        f"{laned.n}, which lie in lanes"
    )
    wider = core.tilings_of(BFLOAT16, BFP16)
    return f'{said}; floats="bfp16" with softmax="unshifted" takes others' if wider else said


class FloatStreamedGraph(StreamedGraph):
    """How one layer becomes a graph; `graph` gives it."""

    @cached_property
    def call(self) -> FloatAttention:  # type: ignore[override]
        """The function of every tile.

        Raises:
            TargetError: `refuses_float_streams` says why there is none, or blocks do not fit.
        """
        reason = refuses_float_streams(self.workload)
        if reason is not None:
            raise TargetError(f"attention {self.name}: {reason}")
        cut, header = self.cut, f"{self.name}_kernels.h"
        assert isinstance(cut, FloatCut)
        blocks = cut.tiling.blocks
        first = (cut.block, cut.w, cut.part) if blocks else (cut.part, cut.w, cut.block)
        sizes = first, (cut.block, cut.part, cut.w)
        specs = [
            KernelSpec(
                BFLOAT16,
                cut.weights,
                cut.tiling,
                *form.block,
                *size,
                _SUMS,
                bias=False,
                resumes=at == 1,
                flat=form.flat,
                upright=at == 1 and cut.tiling.lanes > 0,
                turned=at == 1 and blocks,
            )
            for at, (form, size) in enumerate(zip(cut.forms, sizes, strict=True))
        ]
        lying: Lying = "blocked" if blocks else "laned" if cut.tiling.lanes else "tiles"
        return (BlockedAttention if blocks else FloatAttention)(
            f"{self.name}_attention",
            header,
            LayerCall("product", header, specs[0]),
            LayerCall("values", header, specs[1]),
            FloatPartsSpec(lying, not unshifted(self.workload)),
            **cut.parted,
            factor=FloatAttention.factors(factor_of(self.workload)),
        )

    def dtype(self, name: str) -> str:
        """Of all tensors on their way."""
        del name
        return BFLOAT16

    @property
    def query_copies(self) -> int:
        """Two heads' queries where a memory tile holds them beside results of its column."""
        cut, mem = self.cut, self.device.architecture.mem
        assert isinstance(cut, FloatCut)
        queries = cut.column_rows * cut.columns * cut.w * BYTES[BFLOAT16]
        beside = cut.result_bytes
        if cut.columns == 1:
            beside += 2 * cut.w * cut.part * cut.parts * BYTES[BFLOAT16]
        return 2 if mem is not None and 2 * queries + beside <= mem.bytes else 1

    #: One: a head's last block leaves while the next head's first one is computed.
    result_copies = 1

    def _numbers(self, turn: int) -> tuple[tuple[str, np.ndarray], ...]:
        """Parameters of the tile whose turn this is."""
        return (("turn", np.array([turn], np.int32)),)

    @cached_property
    def inputs(self) -> tuple[Outside, ...]:
        """Queries, keys and values of each group, its heads one after the other."""
        cut, found = self.cut, []
        deep, long = cut.column_rows * cut.columns, cut.part * cut.parts
        for group in range(cut.groups):
            for name, rows in (("x", deep), ("x1", long), ("x2", long)):
                blocks = self._heads(name, self.workload.operand(name).shape[1], rows, group)
                found.append(Outside(f"{name}_{group}", BFLOAT16, blocks.elements, blocks=blocks))
        return tuple(found)

    def _leaving(self, group: int, column: int) -> Blocks:
        """Rows of a column; of the last one those that the layer has."""
        blocks = self._heads("y", self.cut.rows, self._left(column), group)
        return replace(blocks, row=column * self.cut.column_rows)

    def _heads(self, name: str, high: int, rows: int, group: int) -> Blocks:
        """The heads of a group in rows of all heads.

        Args:
            name: of the tensor.
            high: its rows.
            rows: of them.
            group: which.
        """
        cut = self.cut
        return Blocks(
            name,
            (high, cut.heads * cut.w),
            rows,
            cut.w,
            column=group * cut.together * cut.w,
            column_step=cut.w,
            blocks=cut.together,
        )

    def _parts(self, group: int) -> Shared:
        """Keys of a head part by part as tiles of a product, then its values."""
        cut, t = self.cut, self.cut.tiling
        # Rows of four elements, two of them for keys.
        four, two, long = PAIR // 2, 2, cut.part * cut.parts
        each = cut.w * cut.part // four
        whole = four, 2 * each * cut.parts
        # Keys are the first product's rows; or, of blocks, its columns, of which a part has all.
        m = cut.part if t.blocks else t.m
        order = ((1, m * two, cut.w // t.k), (1, two, m), (1, m * cut.w // four, long // m))
        keys = Access(whole, (four, two), (0, 0), order)
        if t.lanes:  # a tile has whole rows of values
            rows: tuple[tuple[int, int, int], ...] = ((1, 1, each * cut.parts),)
        else:
            rows = ((1, t.k, cut.w // t.n), (1, 1, t.k), (1, t.k * cut.w // t.n, long // t.k))
        short = (four, 1)
        if t.blocks:
            k = t.k
            rows = ((1, k * two, cut.w // t.n), (1, two, k), (1, k * cut.w // four, long // k))
            short = (four, two)
        values = Access(whole, short, (0, each * cut.parts), rows)
        both = ((1, each * cut.parts, 2), (1, each, cut.parts))
        read = Access(whole, (four, each), (0, 0), both, repeats=cut.rounds * cut.blocks)
        sizes = whole, (keys, values), (read,)
        return Shared(f"kv{group}", BFLOAT16, *sizes, 1, group * cut.columns, cut.together)
