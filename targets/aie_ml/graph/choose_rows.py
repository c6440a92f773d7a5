"""How rows can be spread over tiles, and what a cut costs: for `candidates.Candidates`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from match_aie.cost_models.aie_image import BandCost, BandWork, Handed, band_cost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.candidates import Cuts, Priced
from match_aie.targets.aie_ml.graph.fit import fits_local
from match_aie.targets.aie_ml.graph.gather import handing_begins
from match_aie.targets.aie_ml.graph.kinds import ROW_KINDS
from match_aie.targets.aie_ml.graph.layer import Arrays
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.graph.proof import columns_of
from match_aie.targets.aie_ml.graph.rows import (
    CutRows,
    RowCut,
    RowLayer,
    row_cycles,
    row_demand,
    row_graph,
)
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.graph.window import ways
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.aie_ml.known import device as known
from match_aie.workload import Workload

#: Firings of a tile that are tried: more of them overlap better, and start more often.
FIRINGS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


@dataclass(frozen=True, eq=False)
class RowCuts(Cuts[CutRows]):
    """Rows as the search sees them.

    Attributes:
        layer: what is cut.
        device: for which.
        assumed: times that no document states.
    """

    layer: RowLayer
    device: Device
    assumed: Assumed = Assumed()

    @property
    def rows(self) -> int:
        """Tiles that share buffers."""
        return self.layer.column(self.device)

    def all(self, columns: int) -> Iterator[CutRows]:
        """Cuts without tiles that have nothing to do."""
        for each in range(1, columns * self.rows + 1):
            for firings in FIRINGS:
                with suppress(TargetError):
                    made = CutRows(self.layer, RowCut(each, firings))
                    if each <= self.rows or self.layer.held % made.grain == 0:
                        yield made

    def shape(self, cut: CutRows) -> tuple[int, int]:
        """Tiles of a cut, each for itself."""
        return cut.cut.tiles, 1

    def refuses(self, cut: CutRows) -> Infeasible | None:
        """What a tile lacks for its buffers."""
        return fits_local(row_demand(cut.call, cut.chunk, self.device), self.device)

    def runs(self, cut: CutRows) -> bool:
        """All do, unless memory tiles must not hand results on to each other."""
        handed = cut.groups(self.device) > ways(self.device, operands=len(cut.layer.call.reads))
        return not (self.device.documented_only and handed)

    def bound(self, cut: CutRows) -> float:
        """Its cost: its schedule takes no search."""
        return price_rows(cut, self.device, self.assumed).latency

    def price(self, cut: CutRows) -> Priced[CutRows]:
        """See `price_rows`."""
        return cut, price_rows(cut, self.device, self.assumed)

    def graph(
        self, cut: CutRows, columns: int, name: str, workload: Workload, constants: Arrays
    ) -> LayerGraph | Infeasible:
        """See `row_graph`."""
        layer = ROW_KINDS[workload.kind].layer(workload, constants, name)
        return row_graph(CutRows(layer, cut.cut), self.device, columns)

    def lay_out(self, cut: CutRows, columns: int) -> int | Infeasible:
        """Columns that a cut takes; or what it lacks there, switches and locks included."""
        return columns_of(row_graph(cut, self.device, columns), known(self.device.name))

    def loops(self, cut: CutRows, workload: Workload) -> tuple[Loop, ...]:
        """Of the rows' dimension, or the longest one, tiles; and lanes."""
        rows, longest = self._dims(workload)
        return Loop(rows, cut.cut.tiles), Loop(longest, self.layer.call.width)

    def times(self, cut: CutRows, workload: Workload) -> tuple[Loop, ...]:
        """Firings of a tile, and rows of one."""
        rows, _ = self._dims(workload)
        covered = 1 if self.layer.dim else self.layer.call.width
        return Loop(rows, cut.cut.firings, cut.rows * covered), Loop(rows, cut.rows, covered)

    def _dims(self, workload: Workload) -> tuple[str, str]:
        """What counts rows, and the longest dimension."""
        longest = max(workload.dims, key=lambda dim: dim[1])[0]
        return self.layer.dim or longest, longest

    def read(self, nest: Mapping, workload: Workload) -> Priced[CutRows] | Infeasible:
        """Tiles, and their firings."""
        cut = CutRows(self.layer, RowCut(nest.spatial[0].size, nest.temporal[0].size))
        if self.nest(cut, workload) != nest:
            raise TargetError(f"{nest} is no nest of a {workload.kind}")
        return self.refuses(cut) or self.price(cut)

    def ways(self, cut: CutRows) -> tuple[int, int]:
        """One in for each operand and one out, for each group; once where there are too few."""
        count, each = cut.groups(self.device), len(self.layer.call.reads)
        return (each, 1) if count > ways(self.device, each) else (each * count, count)


def price_rows(plan: CutRows, device: Device, assumed: Assumed) -> BandCost:
    """Modelled cost of one run."""
    arch, layer, spec = device.architecture, plan.layer, plan.layer.call.spec
    groups, operands = plan.groups(device), len(layer.call.reads)
    single = groups > ways(device, operands)
    each = layer.held if single else -(-layer.held // groups)
    behind = range(groups - 1, 0, -1) if single else ()
    return band_cost(
        BandWork(
            bands=plan.firings(0),
            body=row_cycles(plan.call, row_demand(plan.call, plan.chunk, device), device),
            around=assumed.call(operands + 1),
            input_bytes=plan.chunk * BYTES[spec.a],
            output_bytes=plan.chunk * BYTES[spec.dtype],
            entering=each * BYTES[spec.a],
            leaving=each * BYTES[spec.dtype],
            handed=tuple(_handed(plan, group, device) for group in behind),
            rate=arch.core.dma.bytes_per_cycle,
            way_rate=arch.shim_dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + min(plan.cut.tiles, plan.column(device))),
            request=REQUEST_CYCLES,
            restart=assumed.start + (operands + 1) * assumed.start_port,
            handing=handing_begins(1, device),
        )
    )


def _handed(plan: CutRows, group: int, device: Device) -> Handed:
    """What a group of tiles hands on, with what it gets from those behind it."""
    first, layer = group * plan.column(device), plan.layer
    left = layer.held - first * plan.share
    return Handed(plan.firings(first), left * BYTES[layer.call.spec.dtype])
