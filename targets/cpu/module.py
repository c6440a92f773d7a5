"""Quantised layers on one core, in C that the compiler vectorises."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match_aie.cost_models.products import RegisterTile, best_tile
from match_aie.cost_models.roofline import Roofline
from match_aie.hardware import CORE, CostModel, ExecModule, Loop, Mapping, Memory, Pattern
from match_aie.hardware.module import Constants
from match_aie.targets.cpu.channelwise import (
    ChannelwiseKernel,
    pack_channelwise,
    plan_channelwise,
)
from match_aie.targets.cpu.machine import Machine
from match_aie.targets.cpu.pack import pack_product
from match_aie.targets.cpu.patterns import PATTERNS
from match_aie.targets.cpu.product import ProductKernel, form, plan, shape
from match_aie.workload import ITEMSIZE, Kind, Workload
from match_aie.workload.reference import whole_image

#: Modelled, not measured; assumptions for baseline x86-64 (128-bit SSE2) at -O3, to rank layers
#: against each other. Eight int16 products and four int32 sums per PMADDWD, half of it lost to
#: widening 8-bit operands: 4 MACs per cycle. Elements go through float32 one division each
#: (DIVPS: 4 lanes in about 4 cycles): 1 per cycle. Main memory at 16 bytes per cycle, for operands
#: that the second-level cache mostly holds. 200 cycles to call and set up.
COST = Roofline(macs_per_cycle=4.0, steps_per_cycle=1.0, bytes_per_cycle=16.0, overhead=200.0)

_TEMPLATES: dict[Kind, str] = {
    "conv2d": "cpu/conv2d.c.mako",
    "dense": "cpu/dense.c.mako",
    "matmul": "cpu/matmul.c.mako",
    "add": "cpu/elementwise.c.mako",
    "mul": "cpu/elementwise.c.mako",
    "avg_pool2d": "cpu/pool2d.c.mako",
    "max_pool2d": "cpu/pool2d.c.mako",
    "softmax": "cpu/softmax.c.mako",
    "quantize": "cpu/convert.c.mako",
    "dequantize": "cpu/convert.c.mako",
}


class CPUModule(ExecModule):
    """One core: 8-bit layers in exact integer arithmetic, requantised in the model's float32."""

    name = "cpu"
    unit = CORE
    memories = (Memory("DRAM", None, COST.bytes_per_cycle),)

    def patterns(self) -> Sequence[Pattern]:
        """Every quantised operator of the canonical graph, longest form first."""
        return PATTERNS

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """None: what SIMD unrolls is the compiler's business."""
        del workload
        return ()

    def cost_model(self, workload: Workload) -> CostModel:
        """A roofline with the constants of `COST`."""
        del workload
        return COST

    def template(self, workload: Workload) -> str:
        """By kind; depthwise convolutions and float averages have their own."""
        if _channelwise(workload):
            return "cpu/depthwise.c.mako"
        half_even = workload.tail is not None and workload.tail.rounding == "half_even"
        half_even = half_even and not workload.fixed_point
        if workload.kind == "avg_pool2d" and half_even and not whole_image(workload):
            return "cpu/float_average.c.mako"
        return _TEMPLATES[workload.kind]

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """Depthwise weights [G, FY, FX, 1] as [FY, FX, G], so that channels are innermost."""
        if not _channelwise(workload):
            return constants
        channels_last = np.ascontiguousarray(constants["weight"][..., 0].transpose(1, 2, 0))
        return {**constants, "weight": channels_last}

    def scratch_bytes(self, workload: Workload) -> int:
        """What a convolution's window sees of one group, in 16 bits."""
        if workload.kind != "conv2d" or _channelwise(workload):
            return 0
        sizes = workload.sizes
        return ITEMSIZE["int16"] * sizes["FY"] * sizes["FX"] * sizes["C"]

    def in_place(self, workload: Workload) -> tuple[str, ...]:
        """Inputs that are read element by element, each before the output's same element."""
        if workload.kind not in ("add", "mul", "softmax"):
            return ()
        y = workload.output
        return tuple(
            x.name
            for x in workload.inputs
            if x.shape == y.shape and ITEMSIZE[x.dtype] == ITEMSIZE[y.dtype]
        )


class Int8Module(CPUModule):
    """One core with known vectors and caches."""

    def __init__(self, machine: Machine) -> None:
        """For `machine`."""
        self.machine = machine

    def template(self, workload: Workload) -> str:
        """Register tiles for products; by kind else."""
        if _product(workload):
            return "cpu/int8/product.c.mako"
        return "cpu/int8/depthwise.c.mako" if _channelwise(workload) else super().template(workload)

    def tile(self, workload: Workload) -> RegisterTile:
        """The register tile of a product."""
        made, product = form(self.machine, workload), shape(workload)
        steps = product.taps[0] * product.runs * product.padded_run(made.group) // made.group
        narrow = workload.kind != "matmul" and workload.operand("weight").dtype == "int8"
        flat = product.taps == (1, 1) and product.line
        pixels = product.pixels * (product.lines if flat else 1)
        return best_tile(self.machine, made.dot, narrow, pixels, product.outputs, steps)

    def kernel(self, workload: Workload, mapping: Mapping) -> object:
        """How a product runs."""
        return self._plan(workload, mapping)

    def _plan(
        self, workload: Workload, mapping: Mapping
    ) -> ProductKernel | ChannelwiseKernel | None:
        if _channelwise(workload):
            return plan_channelwise(self.machine, workload, mapping)
        if not _product(workload):
            return None
        return plan(self.machine, workload, mapping, self.tile(workload))

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """Weights in the order of the kernels."""
        if _channelwise(workload):
            return pack_channelwise(self.machine, workload, constants)
        if not _product(workload):
            return super().pack(workload, constants)
        return pack_product(self.machine, workload, self.tile(workload).vectors, constants)

    def scratch_bytes(self, workload: Workload) -> int:
        """Prepared data."""
        made = self._plan(workload, Mapping((), ()))
        return super().scratch_bytes(workload) if made is None else made.scratch_bytes


def _product(workload: Workload) -> bool:
    return workload.kind in ("conv2d", "dense", "matmul") and not _channelwise(workload)


def _channelwise(workload: Workload) -> bool:
    return workload.depthwise and workload.sizes["K"] == 1
