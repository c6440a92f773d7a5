"""How attention can be cut, and what a cut costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from itertools import product

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.assumed import RUNTIME_BYTES
from match_aie.targets.aie_ml.array.attending import LEVERS, attending_banks
from match_aie.targets.aie_ml.array.shapes import counts
from match_aie.targets.aie_ml.graph.attention import AttentionCut, AttentionGraph, ProductForm
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.graph.matrix_cuts import MatrixCuts, Moved, Parts
from match_aie.targets.aie_ml.kernels.attention import (
    DIVIDED,
    SUMMED,
    TILE_COLUMNS,
    TILE_ROWS,
    AttentionCall,
)
from match_aie.targets.aie_ml.kernels.fit import check_kernel
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.schedule.attention import attention_schedules

#: Groups of heads that are tried: each takes three ways in and one out.
GROUPS = (1, 2, 3, 4, 6)

#: Blocks of accumulators that are tried for either product.
BLOCKS = ((1, 1), (2, 1), (1, 2), (2, 2))


class AttentionCuts(MatrixCuts[AttentionCut]):
    """Attention as the search sees it."""

    dims = ("B", "B", "OY", "OY", "OX", "C")
    rows_by_columns = (("OY", "OX"), ("OY", "K"))
    made = AttentionGraph
    tries = 6
    levers = LEVERS

    @cached_property
    def base(self) -> AttentionCut:
        """The layer on one tile, in products of 4 x 8 x 8."""
        sizes, operand = self.workload.sizes, self.workload.operand
        core = self.device.architecture.core
        wanted = (TILE_ROWS, TILE_COLUMNS, TILE_COLUMNS)
        found = core.tilings_of(operand("x").dtype, operand("x1").dtype)
        shapes = [t for t in found if t.native and (t.m, t.k, t.n) == wanted]
        if not shapes:
            raise TargetError(f"{self.device.name} has no product of bytes in tiles of {wanted}")
        wide = sizes["C"], sizes["K"]
        return AttentionCut(sizes["B"], sizes["OY"], sizes["OX"], wide, shapes[0])

    def cut(self, parts: Parts) -> AttentionCut:
        """In groups of heads, parts of a group's heads and of a head's rows."""
        groups, batch, rows = parts
        return self.divided(replace(self.base, groups=groups, batch_parts=batch, row_parts=rows))

    def divided(self, made: AttentionCut) -> AttentionCut:
        """With the sums of as many rows divided at once as fit a tile."""
        # Sums of as many rows are divided at once as a tile has room for exponentials of.
        fitting = (replace(made, divided=count) for count in DIVIDED)
        return next((each for each in fitting if self.placed(each) is None), made)

    def placed(self, cut: AttentionCut) -> Infeasible | None:
        """What a tile has too little of."""
        placed = attending_banks(self._call(cut), self.device)
        return placed if isinstance(placed, Infeasible) else None

    def splits(self, most: int) -> Iterator[Parts]:
        """Groups as there are ways, parts of heads that divide them, then of rows."""
        base, whole = self.base, self.device
        mem = whole.architecture.mem
        gathered = mem.dma.s2mm if mem is not None else 1
        ways = min((whole.gmio_in or 3) // 3, whole.gmio_out or 1)
        for groups in (g for g in GROUPS if base.heads % g == 0 and g <= min(ways, most)):
            heads = base.heads // groups
            for batch in (b for b in range(1, heads + 1) if heads % b == 0 and b * groups <= most):
                alone = most // (batch * groups)
                if batch < heads:  # a memory tile takes all results
                    alone = min(alone, gathered // batch)
                for rows in counts(-(-base.rows // base.tiling.m), max(1, alone)):
                    yield groups, batch, rows

    def _call(self, cut: AttentionCut) -> AttentionCall:
        """The function of a tile."""
        zeros = zeros_of(self.workload)
        return AttentionGraph("tile", cut, self.device, self.workload, zeros).call

    def refuses(self, cut: AttentionCut) -> Infeasible | None:
        """What a tile or a memory tile has too little of; nothing where both hold their part."""
        mem = self.device.architecture.mem
        most = mem.bytes if mem is not None else 0
        keys, rows = 2 * cut.together * cut.n * cut.w, cut.together * cut.m * cut.row_parts * cut.w
        for what, much in (("keys and values", keys), ("queries", rows)):
            if much > most:
                return Infeasible(f"a memory tile for {what}", much, most, "bytes", LEVERS)
        return self.placed(cut)

    def kernels(self, cut: AttentionCut) -> Iterator[tuple[int, AttentionCut]]:
        """Pairs of products' kernels: cycles are those of a head."""
        tiles = [(cut.m // TILE_ROWS, each // TILE_COLUMNS) for each in (cut.n, cut.w)]
        first, second = (
            [
                ProductForm(block, flat)
                for block in BLOCKS
                if rows % block[0] == 0 and columns % block[1] == 0
                for flat in (True, False)
            ]
            for rows, columns in tiles
        )
        room = self.device.architecture.core.program_memory_bytes - RUNTIME_BYTES
        points = any(each.spec.row_bias for each in self._call(cut).products)
        for one, other, summed in product(first, second, SUMMED if points else (1,)):
            made = replace(cut, forms=(one, other), summed=summed)
            try:
                call = self._call(made)
                for each in call.products:
                    check_kernel(each.spec, self.device)
                found = attention_schedules(call, self.device.architecture)
            except TargetError:
                continue
            # The last one's frame is the first one's; names of calls take less than that of a
            # product that is inlined, which is in it.
            if sum(each.program_bytes for each in found[:-1]) <= room:
                yield sum(each.body for each in found), made

    def products(self, cut: AttentionCut) -> int:
        """Of queries with keys, and of weights with values."""
        return 2 * cut.m * cut.n * cut.w

    def moved(self, cut: AttentionCut) -> Moved:
        """Keys, then values, on one of a tile's ways in."""
        x1, y = self.workload.operand("x1"), self.workload.output
        rows, held = cut.m * cut.row_parts * cut.w, cut.n * cut.w * BYTES[x1.dtype]
        return Moved(
            2 * self.assumed.call(2),
            2 * held,
            cut.m * cut.w * BYTES[y.dtype],
            cut.together * max(rows, held),
            cut.together * rows * BYTES[y.dtype],
        )

    def ways(self, cut: AttentionCut) -> tuple[int, int]:
        """Three operands of each group, and its results."""
        return 3 * cut.groups, cut.groups
