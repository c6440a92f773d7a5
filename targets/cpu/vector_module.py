"""Quantised layers that are no products, on a core with vectors."""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.cost_models.cores import SharedLayer
from match_aie.cost_models.cpu import APART_OPERATIONS, SUM_OPERATIONS, CoreTiles
from match_aie.hardware import Constants, CostModel, Mapping, Pattern, TileCostModel
from match_aie.targets.cpu.cores import LINE, Split, Way, divide
from match_aie.targets.cpu.elementwise import (
    ElementwiseKernel,
    RowsKernel,
    TableKernel,
    in_rows,
    inverse,
    looks_up,
    softmax_pairs,
    sum_factors,
    together,
    vectorised,
)
from match_aie.targets.cpu.machine import Machine
from match_aie.targets.cpu.module import CPUModule
from match_aie.targets.cpu.norm import norm_kernel, norms, pack_norm
from match_aie.targets.cpu.patterns import BYTE_NORMS, INTEGER_PATTERNS, REAL_PATTERNS, TABLES
from match_aie.targets.cpu.sums import fuses
from match_aie.workload import PRODUCTS, Workload, whole_image


class VectorModule(CPUModule):
    """The layers of `CPUModule` that are no products, in vectors where they have some."""

    name = "cpu_vector"

    def __init__(self, machine: Machine) -> None:
        """For `machine`."""
        self.machine = machine

    def patterns(self) -> Sequence[Pattern]:
        """Elementwise layers, pools, softmax, conversions, tables; all layers in fixed point."""
        real = [pattern for pattern in REAL_PATTERNS if pattern.kind not in PRODUCTS]
        return [*real, *INTEGER_PATTERNS, *TABLES, *(BYTE_NORMS if self.machine.lanes > 1 else ())]

    def template(self, workload: Workload) -> str:
        """In vectors, or by kind."""
        if vectorised(self.machine, workload):
            return "cpu/int8/elementwise.c.mako"
        if looks_up(self.machine, workload):
            return "cpu/int8/table.c.mako"
        if norms(self.machine, workload):
            return "cpu/int8/norm.c.mako"
        if in_rows(self.machine, workload):
            which = "softmax" if workload.kind == "softmax" else "pool"
            return f"cpu/int8/{which}.c.mako"
        return super().template(workload)

    def cost_model(self, workload: Workload) -> CostModel | TileCostModel:
        """A rate per element; of the slowest part where the layer is divided."""
        split, whole = self.split(workload), self._one_core(workload)
        return SharedLayer(whole, split.share, split.join) if split else whole

    def _one_core(self, workload: Workload) -> CoreTiles:
        if not vectorised(self.machine, workload):
            return CoreTiles(self.machine)
        factors = sum_factors(workload, fuses(self.machine))
        if factors is None:
            return CoreTiles(self.machine)
        apart = 0.0 if factors.fused else APART_OPERATIONS
        return CoreTiles(self.machine, operations=SUM_OPERATIONS + apart)

    def split(self, workload: Workload) -> Split | None:
        """How elements (all of them as one row), lines or rows are divided over cores, if so."""
        if self.machine.cores == 1:
            return None
        if vectorised(self.machine, workload):
            grain = together(self.machine, workload) * self.machine.lanes
            ways = [Way("elements", workload.output.size, grain)]
        elif in_rows(self.machine, workload):
            ways = [Way(dim, workload.sizes[dim]) for dim in ("OY", "B")]
        elif looks_up(self.machine, workload):
            ways = [Way("elements", workload.output.size, LINE)]
        elif norms(self.machine, workload):
            ways = [Way("B", workload.sizes["B"])]
        else:
            return None
        whole = float(self._one_core(workload).cost(workload, Mapping((), ())).cycles)
        sizes = {way.dim: way.size for way in ways}
        return divide(self.machine.cores, ways, whole, lambda dim, most: whole * most / sizes[dim])

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """Numbers of norms in steps of the output, the rest as it is."""
        if norms(self.machine, workload):
            return pack_norm(self.machine, workload, constants)
        return super().pack(workload, constants)

    def kernel(self, workload: Workload, mapping: Mapping) -> object:
        """Lanes of a vector, and how many cores there are for it."""
        del mapping
        split, lanes = self.split(workload), self.machine.lanes
        if vectorised(self.machine, workload):
            parts, vectors = split.parts if split else 1, together(self.machine, workload)
            factors = sum_factors(workload, fuses(self.machine))
            return ElementwiseKernel(
                lanes, parts, "" if factors else inverse(workload), vectors, factors
            )
        if looks_up(self.machine, workload):
            return TableKernel(split)
        if norms(self.machine, workload):
            return norm_kernel(self.machine, workload, split)
        if not in_rows(self.machine, workload):
            return None
        whole = workload.kind == "avg_pool2d" and whole_image(workload)
        return RowsKernel(lanes, whole, split, softmax_pairs(self.machine, workload))
