"""How attention whose keys and values go by can be cut, and what a cut costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import ClassVar

from match_aie.cost_models.aie_image import BandCost, whole_cost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.assumed import RUNTIME_BYTES, Assumed
from match_aie.targets.aie_ml.array.streaming import LEVERS, shared_bytes, streaming_banks
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.attention import ProductForm
from match_aie.targets.aie_ml.graph.attention_cuts import BLOCKS
from match_aie.targets.aie_ml.graph.candidates import Cuts, Priced
from match_aie.targets.aie_ml.graph.layer import Arrays, zeros_of
from match_aie.targets.aie_ml.graph.matrix_cuts import Parts
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.proof import columns_that_lie
from match_aie.targets.aie_ml.graph.region import links_down, rectangle
from match_aie.targets.aie_ml.graph.streamed_attention import StreamedGraph
from match_aie.targets.aie_ml.graph.streamed_cut import StreamedCut
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.kernels.attention import PAIR, TILE_COLUMNS, TILE_ROWS
from match_aie.targets.aie_ml.kernels.attention_parts import PartsCall
from match_aie.targets.aie_ml.kernels.fit import check_kernel
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.known import device as known
from match_aie.targets.aie_ml.schedule.attention_parts import part_schedules
from match_aie.targets.aie_ml.schedule.streamed_attention import PhaseSchedules
from match_aie.workload import Workload

#: Rows of a block, and keys of a part, that are tried.
ROWS = tuple(range(8, 129, 4))
KEYS = tuple(range(PAIR, 257, PAIR))

#: Cycles of a pair of tiles in all three rounds, and of a group of rows beside its pairs: what
#: blocks and parts are compared by before their kernels are scheduled.
PAIR_CYCLES, GROUP = 140, 180

#: Pieces in which a block of queries comes, fewest first.
PIECES = (1, 2, 3, 4, 6, 8)

#: Columns of a group that are tried.
COLUMNS = (1, 2, 3, 4)


@dataclass(frozen=True, eq=False)
class StreamedCuts(Cuts[StreamedCut]):
    """Such a layer as the search sees it.

    Attributes:
        workload: in the arithmetic of its kernels.
        device: the whole of it.
        assumed: times that no document states.
    """

    workload: Workload
    device: Device
    assumed: Assumed = Assumed()

    #: What is tried of parts of the keys, of pieces of a block, and of its rows.
    keys: ClassVar[tuple[int, ...]] = KEYS
    pieces: ClassVar[tuple[int, ...]] = PIECES
    blocks: ClassVar[tuple[int, ...]] = ROWS

    #: Blocks of accumulators of either product that are tried.
    shapes: ClassVar[tuple[tuple[int, int], ...]] = BLOCKS

    #: Bytes of an element of all tensors.
    wide: ClassVar[int] = 1

    #: What a cut becomes.
    graphs: ClassVar[type[StreamedGraph]] = StreamedGraph

    @cached_property
    def _base(self) -> StreamedCut:
        """The layer in products of 4 x 8 x 8."""
        sizes, operand = self.workload.sizes, self.workload.operand
        wanted = (TILE_ROWS, TILE_COLUMNS, TILE_COLUMNS)
        core = self.device.architecture.core
        found = core.tilings_of(operand("x").dtype, operand("x1").dtype)
        shapes = [t for t in found if t.native and (t.m, t.k, t.n) == wanted]
        if not shapes:
            raise TargetError(f"{self.device.name} has no product of bytes in tiles of {wanted}")
        wide = sizes["C"], sizes["K"]
        block, part = ROWS[0], KEYS[0]
        return StreamedCut(sizes["B"], sizes["OY"], sizes["OX"], wide, shapes[0], block, part)

    @property
    def rows(self) -> int:
        """As many as have a stream down each."""
        return links_down(self.device)

    def all(self, columns: int) -> Iterator[StreamedCut]:
        """Groups that divide the heads, for which there are ways."""
        ways = (self.device.gmio_in or 3) // 3, self.device.gmio_out or 1
        for groups, wide in product(range(1, self._base.heads + 1), COLUMNS):
            fits = groups <= ways[0] and groups * wide <= min(columns, ways[1])
            if fits and self._base.heads % groups == 0:
                # Part of a column only where it is alone: with fewer results, or fewer rows.
                for high in range(self.rows, 0 if wide == 1 else self.rows - 1, -1):
                    yield from self._sized((groups, wide, high))

    def _sized(self, parts: Parts) -> Iterator[StreamedCut]:
        """One cut of these parts, with the block and the part that look best and fit a tile."""
        groups, wide, high = parts
        base = replace(self._base, groups=groups, columns=wide, high=high)
        sizes = sorted(
            (self._estimate(made), -made.part, made.block, made)
            for made in (replace(base, block=m, part=n) for m, n in product(self.blocks, self.keys))
            if made.parts > 1 and made.column_rows * (wide - 1) < made.rows
        )
        for *_, made in sizes:
            for pieces in (p for p in self.pieces if made.block * made.w % (p * 2 * PAIR) == 0):
                fitting = replace(made, pieces=pieces)
                if self._placed(fitting) is None:
                    yield fitting
                    return

    def _estimate(self, cut: StreamedCut) -> float:
        """Cycles of a head, roughly: of products and a softmax, or of the stream to them."""
        groups, pairs = cut.block // TILE_ROWS, cut.part // PAIR
        each = groups * (pairs * PAIR_CYCLES * cut.w / 64 + GROUP)
        stream = 6 * cut.w * cut.part / self.device.architecture.core.dma.bytes_per_cycle
        return cut.blocks * cut.parts * max(each, stream)

    def _call(self, cut: StreamedCut) -> PartsCall:
        zeros = zeros_of(self.workload)
        return self.graphs("tile", cut, self.device, self.workload, zeros).call

    def _placed(self, cut: StreamedCut) -> Infeasible | None:
        """What a tile has too little of."""
        try:
            found = streaming_banks(self._call(cut), self.device)
        except TargetError as error:
            return Infeasible(error.what, 1, 0, "kernels", LEVERS)
        return found if isinstance(found, Infeasible) else None

    def shape(self, cut: StreamedCut) -> tuple[int, int]:
        """Tiles, and columns that hold them."""
        return cut.tiles, cut.groups * cut.columns

    def held_bytes(self, cut: StreamedCut) -> int:
        """What a memory tile keeps of heads."""
        wide = BYTES[self.workload.operand("x1").dtype]
        return cut.copies * 2 * cut.w * cut.part * cut.parts * wide

    def refuses(self, cut: StreamedCut) -> Infeasible | None:
        """What a memory tile has too little of, or a tile."""
        mem = self.device.architecture.mem
        most, much = mem.bytes if mem is not None else 0, self.held_bytes(cut)
        if much > most:
            what = "a memory tile for keys and values"
            return Infeasible(what, much, most, "bytes", ("fewer keys", *LEVERS))
        # Keys and values come into one column, queries into the last one, results into each.
        into = cut.high + (3 if cut.columns == 1 else 2)
        ways = mem.dma.s2mm * self.device.mem_rows if mem is not None else 0
        if into > ways:
            what = "DMA of a column's memory tiles"
            return Infeasible(
                what, into, ways, "channels", ("more columns for a layer (columns_per_layer)",)
            )
        return self._placed(cut)

    def bound(self, cut: StreamedCut) -> float:
        """With products at the cores' full rate."""
        macs = (
            (cut.rounds + 1) * cut.block * cut.part * cut.w * cut.parts * cut.blocks * cut.together
        )
        return self._cost(cut, macs / self._rate(cut)).latency

    def _rate(self, cut: StreamedCut) -> int:
        """Multiply-accumulates of a core a cycle."""
        return cut.tiling.macs

    def price(self, cut: StreamedCut) -> Priced[StreamedCut] | Infeasible:
        """With the fastest kernels that program memory holds."""
        room = self.device.architecture.core.program_memory_bytes - RUNTIME_BYTES
        best: tuple[float, StreamedCut] | None = None
        for one, other, flat in product(self.shapes, self.shapes, product((True, False), repeat=2)):
            forms = ProductForm(one, flat[0]), ProductForm(other, flat[1])
            made = replace(cut, forms=forms)
            try:
                call = self._call(made)
                for spec in (call.scores.spec, call.adds):
                    check_kernel(spec, self.device)
                found = part_schedules(call, self.device.architecture)
            except TargetError:
                continue
            cycles = self._cycles(call, found)
            # Names of calls take less than the entry of a product that is inlined, which is in it.
            if found.program_bytes <= room and (best is None or cycles < best[0]):
                best = cycles, made
        if best is None:
            what = "kernels that fit registers and program memory"
            return Infeasible(what, 1, 0, "kernels", LEVERS)
        return best[1], self._cost(*best[::-1])

    def _cycles(self, call: PartsCall, found: PhaseSchedules) -> float:
        """Of all calls of a run; queries of other tiles go by."""
        last, each = call.parts - 1, 0
        for phase, at in call.phases:
            if phase == "queries" and at >= call.pieces and found.passed is not None:
                each += found.passed.body
            else:
                each += found.of(phase, last=phase != "queries" and at == last).body
        around = self.assumed.acquire + self.assumed.release + self.device.call_cycles
        around += self.device.lost_cycles(shared_bytes(call))
        return call.blocks * (each + len(call.phases) * around)

    def _cost(self, cut: StreamedCut, cycles: float) -> BandCost:
        """Of a run whose calls take so many cycles."""
        arch = self.device.architecture
        rate, inner = arch.shim_dma.bytes_per_cycle, arch.core.dma.bytes_per_cycle
        head = self.wide * cut.w * cut.part * cut.parts
        stream = cut.together * cut.blocks * 2 * cut.rounds * head / inner
        enter, leave = head / rate, self.wide * cut.w * cut.column_rows / rate
        parts = (
            ("compute", cycles),
            ("input streams", stream),
            ("way in", cut.together * enter),
            ("way out", cut.together * leave),
        )
        interval = max(much for _, much in parts)
        starting = self.assumed.start + 3 * self.assumed.start_port
        waited = enter * (1 if cut.copies > 1 else cut.together)
        gathered = waited + interval + starting
        return whole_cost(gathered, parts, (enter, leave), starting, REQUEST_CYCLES)

    def graph(
        self, cut: StreamedCut, columns: int, name: str, workload: Workload, constants: Arrays
    ) -> LayerGraph:
        """On its own columns."""
        del columns
        return self.graphs(name, cut, self._region(cut), workload, constants).graph

    def _region(self, cut: StreamedCut) -> Device:
        return rectangle(self.device.name, cut.groups * cut.columns, cut.high)

    def lay_out(self, cut: StreamedCut, columns: int) -> int | Infeasible:
        """Of the graph without its numbers; or what it lacks on the array, or in its text."""
        graph = self.graph(cut, columns, "layer", self.workload, zeros_of(self.workload))
        return columns_that_lie(graph, known(self.device.name))

    def loops(self, cut: StreamedCut, workload: Workload) -> tuple[Loop, ...]:
        """Groups of heads, columns and tiles over rows, then lanes of an `mmul`."""
        del workload
        t = cut.tiling
        sizes = (cut.groups, cut.columns, cut.high, t.m, t.n, t.k)
        return tuple(map(Loop, ("B", "OY", "OY", "OY", "OX", "C"), sizes))

    def times(self, cut: StreamedCut, workload: Workload) -> tuple[Loop, ...]:
        """Blocks of queries, parts of the keys, pieces in which a block comes."""
        del workload
        blocks, parts = Loop("OY", cut.blocks, cut.block), Loop("OX", cut.parts, cut.part)
        return blocks, parts, Loop("C", cut.pieces)

    def read(self, nest: Mapping, workload: Workload) -> Priced[StreamedCut] | Infeasible | None:
        """See `Cuts.read`."""
        (groups, wide, high), times = nest.spatial[:3], nest.temporal
        cut = replace(
            self._base,
            groups=groups.size,
            columns=wide.size,
            high=high.size,
            block=times[0].step,
            part=times[1].step,
            pieces=times[2].size,
        )
        if self.nest(cut, workload) != nest:
            raise TargetError(f"{nest} is no nest of a {workload.kind}")
        return self.refuses(cut) or self.price(cut)

    def ways(self, cut: StreamedCut) -> tuple[int, int]:
        """Three operands of each group, and results of each column."""
        return 3 * cut.groups, cut.groups * cut.columns
