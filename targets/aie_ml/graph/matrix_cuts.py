"""How layers whose matrices are all activations can be cut: products, attention.

Tiles have parts of the batch and of the matrices. Memory tiles take operands whole and give results
whole. A cut's own rectangle has as many columns as hold its tiles.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Protocol, TypeVar

from match_aie.cost_models.aie_array import Work, array_cost
from match_aie.cost_models.aie_image import BandCost, whole_cost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.graph.candidates import Cuts, Priced
from match_aie.targets.aie_ml.graph.layer import Arrays, zeros_of
from match_aie.targets.aie_ml.graph.matrices import MatrixGraph
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.proof import columns_that_lie
from match_aie.targets.aie_ml.graph.region import links_down, region
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Workload

#: Parts of a cut, the first three of its spatial loops.
Parts = tuple[int, int, int]

#: Blocks of accumulators (rows, columns) of a tile's products, one after the other.
Blocks = tuple[tuple[int, int], ...]


class MatrixCut(Protocol):
    """What a cut of such a layer says."""

    @property
    def tiling(self) -> Tiling:
        """Shape of an `mmul`."""

    @property
    def tiles(self) -> int:
        """At work."""

    @property
    def gathered(self) -> int:
        """Tiles whose results go to one buffer."""

    @property
    def firings(self) -> int:
        """Of a tile for one run."""

    @property
    def split(self) -> Parts:
        """Parts in the order of its loops."""

    @property
    def blocks(self) -> Blocks:
        """Of its kernels."""


Cut = TypeVar("Cut", bound=MatrixCut)


@dataclass(frozen=True)
class Moved:
    """Bytes and cycles of a cut.

    Attributes:
        call: cycles around a call.
        inputs: bytes of a call on the busiest of a tile's ways in.
        outputs: that it stores.
        entering: bytes on the busiest way into the array.
        leaving: on the busiest way out.
        handed: cycles in which memory tiles hand on until the last one has all results.
    """

    call: float
    inputs: int
    outputs: int
    entering: int
    leaving: int
    handed: float = 0.0


@dataclass(frozen=True, eq=False)
class MatrixCuts(Cuts[Cut]):
    """Such a layer as the search sees it.

    Attributes:
        workload: in the arithmetic of its kernels.
        device: the whole of it.
        assumed: times that no document states.
        dims: of a split's loops and of an `mmul`'s lanes.
        rows_by_columns: dimensions of what each product makes.
        made: its graph.
        levers: where no kernel fits.
    """

    workload: Workload
    device: Device
    assumed: Assumed = Assumed()

    dims: ClassVar[tuple[str, ...]]
    rows_by_columns: ClassVar[tuple[tuple[str, str], ...]]
    made: ClassVar[type[MatrixGraph]]
    levers: ClassVar[tuple[str, ...]]

    @property
    def rows(self) -> int:
        """As many as have a stream down each."""
        return links_down(self.device)

    @abstractmethod
    def splits(self, most: int) -> Iterator[Parts]:
        """Parts on up to `most` tiles."""

    @abstractmethod
    def cut(self, parts: Parts) -> Cut:
        """The layer in these parts.

        Raises:
            TargetError: cores have no product of its element types.
        """

    @abstractmethod
    def kernels(self, cut: Cut) -> Iterator[tuple[int, Cut]]:
        """Cycles of a call with each choice of kernels that registers and program memory hold."""

    @abstractmethod
    def products(self, cut: Cut) -> int:
        """Multiplications of a call."""

    @abstractmethod
    def moved(self, cut: Cut) -> Moved:
        """What goes where."""

    def all(self, columns: int) -> Iterator[Cut]:
        """Those that `splits` says."""
        return map(self.cut, self.splits(columns * self.rows))

    def region(self, cut: Cut) -> Device:
        """As few columns as hold a cut: where results are handed on, one stream down is theirs."""
        mem = self.device.architecture.mem
        down = self.rows - (1 if mem is not None and cut.gathered > mem.dma.s2mm else 0)
        return region(self.device.name, -(-cut.tiles // down), down)

    def shape(self, cut: Cut) -> tuple[int, int]:
        """Tiles, and columns of the rectangle that holds them."""
        return cut.tiles, -(-cut.tiles // self.region(cut).core_rows)

    def bound(self, cut: Cut) -> float:
        """With products at the cores' full rate."""
        return self.cost(cut, self.products(cut) / cut.tiling.macs).latency

    def price(self, cut: Cut) -> Priced[Cut] | Infeasible:
        """With the fastest kernels."""
        return self._fastest(self.kernels(cut))

    def _fastest(self, kernels: Iterator[tuple[int, Cut]]) -> Priced[Cut] | Infeasible:
        """With these kernels."""
        found = min(kernels, key=lambda each: each[0], default=None)
        if found is None:
            what = "kernels that fit registers and program memory"
            return Infeasible(what, 1, 0, "kernels", self.levers)
        body, best = found
        return best, self.cost(best, body)

    def cost(self, cut: Cut, body: float) -> BandCost:
        """Of a run with calls of `body` cycles."""
        moved, device, assumed = self.moved(cut), self.region(cut), self.assumed
        arch = device.architecture
        rate = arch.shim_dma.bytes_per_cycle
        inside = array_cost(
            Work(
                calls=cut.firings,
                body=body,
                around=moved.call,
                inputs=cut.firings,
                input_bytes=moved.inputs,
                outputs=cut.firings,
                output_bytes=moved.outputs,
                rate=arch.core.dma.bytes_per_cycle,
                descriptor=assumed.descriptor,
                external_in_rate=rate,
                external_out_rate=rate,
                hops=arch.hop_cycles * (device.mem_rows + device.core_rows),
            )
        )
        enter, leave = moved.entering / rate, moved.leaving / rate
        gathered = enter + inside.latency + moved.handed
        parts = *inside.parts[:4], ("way in", enter), ("way out", leave)
        starting = assumed.start + 3 * assumed.start_port
        return whole_cost(gathered, parts, (enter, leave), starting, REQUEST_CYCLES)

    def graph(
        self, cut: Cut, columns: int, name: str, workload: Workload, constants: Arrays
    ) -> LayerGraph:
        """In the cut's own rectangle."""
        del columns
        return self.made(name, cut, self.region(cut), workload, constants).graph

    def lay_out(self, cut: Cut, columns: int) -> int | Infeasible:
        """Of the graph without its numbers."""
        graph = self.graph(cut, columns, "layer", self.workload, zeros_of(self.workload))
        return columns_that_lie(graph, known(self.device.name))

    def loops(self, cut: Cut, workload: Workload) -> tuple[Loop, ...]:
        """Parts, then lanes of an `mmul`."""
        del workload
        t = cut.tiling
        sizes = (*cut.split, t.m, t.n, t.k)
        return tuple(Loop(dim, size) for dim, size in zip(self.dims, sizes, strict=True))

    def times(self, cut: Cut, workload: Workload) -> tuple[Loop, ...]:
        """Matrices of a tile, then a block of each of their products."""
        del workload
        m, n = cut.tiling.m, cut.tiling.n
        blocks = zip(self.rows_by_columns, cut.blocks, strict=True)
        return (
            Loop("B", cut.firings),
            *(
                loop
                for (rows, columns), (high, wide) in blocks
                for loop in (Loop(rows, high, m), Loop(columns, wide, n))
            ),
        )

    def read(self, nest: Mapping, workload: Workload) -> Priced[Cut] | Infeasible:
        """Parts and blocks; whether a reduction is unrolled follows from them."""
        parts, sizes = nest.spatial[:3], [loop.size for loop in nest.temporal[1:]]
        blocks = tuple(zip(sizes[::2], sizes[1::2], strict=False))
        if len(parts) == 3 and len(blocks) == len(self.rows_by_columns):
            first, second, third = (loop.size for loop in parts)
            cut = self.cut((first, second, third))
            able = (each for each in self.kernels(cut) if each[1].blocks == blocks)
            found = self.refuses(cut) or self._fastest(able)
            if isinstance(found, Infeasible) or self.nest(found[0], workload) == nest:
                return found
        raise TargetError(f"{nest} is no nest of a {workload.kind}")
