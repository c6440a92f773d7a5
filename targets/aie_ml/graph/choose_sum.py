"""How a sum of two activations can be cut, and what a cut costs: for `candidates.Candidates`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.local import Demand
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.cycles import sum_cycles
from match_aie.targets.aie_ml.graph.fit import fits_local
from match_aie.targets.aie_ml.graph.proof import columns_of
from match_aie.targets.aie_ml.graph.sum import (
    TILES,
    CutSum,
    SumCut,
    SumLayer,
    sum_graph,
)
from match_aie.targets.aie_ml.graph.window import ways
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Workload

#: Firings of a tile that are tried: more of them overlap better, and start more often.
FIRINGS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


@dataclass(frozen=True, eq=False)
class SumCuts:
    """A sum as the search sees it.

    Attributes:
        layer: what is cut.
        device: for which.
        tiles: that take part; any number where None.
        assumed: times that no document states.
    """

    layer: SumLayer
    device: Device
    tiles: int | None = None
    assumed: Assumed = Assumed()

    @property
    def rows(self) -> int:
        """Tiles that share buffers."""
        return min(TILES, self.device.core_rows)

    def all(self, columns: int) -> Iterator[CutSum]:
        """Cuts, or those on so many tiles, without tiles that have nothing to do."""
        most = columns * self.rows
        for each in range(1, most + 1) if self.tiles is None else (self.tiles,):
            for firings in FIRINGS:
                with suppress(TargetError):
                    yield CutSum(self.layer, SumCut(each, firings))

    def shape(self, cut: CutSum) -> tuple[int, int]:
        """Tiles of a cut, each for itself."""
        return cut.cut.tiles, 1

    def refuses(self, cut: CutSum) -> Infeasible | None:
        """What a tile lacks for its buffers."""
        return fits_local(sum_demand(cut, self.device), self.device)

    def runs(self, cut: CutSum) -> bool:
        """All do, unless memory tiles must not hand results on to each other."""
        handed = cut.groups(self.device) > ways(self.device, operands=2)
        return not (self.device.documented_only and handed)

    def bound(self, cut: CutSum) -> float:
        """Its cost: a sum's schedule takes no search."""
        return self.price(cut).latency

    def price(self, cut: CutSum) -> BandCost:
        """See `price_sum`."""
        return price_sum(cut, self.device, self.assumed)

    def lay_out(self, cut: CutSum, columns: int) -> int | Infeasible:
        """Columns that a cut takes; or what it lacks there, switches and locks included."""
        return columns_of(sum_graph(cut, self.device, columns), known(self.device.name))

    def loops(self, cut: CutSum, workload: Workload) -> tuple[Loop, ...]:
        """Of the longest dimension, tiles and lanes."""
        longest = max(workload.dims, key=lambda dim: dim[1])[0]
        return Loop(longest, cut.cut.tiles), Loop(longest, self.layer.spec.lanes)

    def ways(self, cut: CutSum) -> tuple[int, int]:
        """Two in and one out for each group; once where there are too few."""
        count = cut.groups(self.device)
        return (2, 1) if count > ways(self.device, operands=2) else (2 * count, count)


def sum_demand(plan: CutSum, device: Device) -> Demand:
    """Bytes of a tile's buffers."""
    spec = plan.layer.spec
    stack = device.need(device.architecture.core.stack_default_bytes, "default stack")
    return Demand(2 * plan.chunk * BYTES[spec.a], 0, 0, plan.chunk * BYTES[spec.dtype], stack)


def price_sum(plan: CutSum, device: Device, assumed: Assumed) -> BandCost:
    """Modelled cost of one run."""
    arch, layer, spec = device.architecture, plan.layer, plan.layer.spec
    groups = plan.groups(device)
    single = groups > ways(device, operands=2)
    each = layer.elements if single else -(-layer.elements // groups)
    group = plan.share * min(TILES, device.core_rows)
    handed = sum(max(0, layer.elements - group * at) for at in range(1, groups)) if single else 0
    return band_cost(
        BandWork(
            bands=plan.cut.firings,
            body=sum_cycles(plan, device),
            around=assumed.call(3),
            start=0,
            input_bytes=plan.chunk * BYTES[spec.a],
            output_bytes=plan.chunk * BYTES[spec.dtype],
            entering=each * BYTES[spec.a],
            leaving=each * BYTES[spec.dtype],
            handed=handed * BYTES[spec.dtype],
            skew=0,
            rate=arch.core.dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + device.core_rows),
        )
    )
