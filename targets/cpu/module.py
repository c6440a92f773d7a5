"""Quantised layers on one core, in C that the compiler vectorises."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from match_aie.cost_models.cores import SharedLayer, SharedTiles
from match_aie.cost_models.cpu import CoreTiles, ProductTiles
from match_aie.cost_models.products import RegisterTile, best_tile
from match_aie.cost_models.roofline import Roofline
from match_aie.hardware import (
    CORE,
    Array,
    Concurrent,
    Constants,
    CoreCost,
    CostModel,
    ExecModule,
    Loop,
    Mapping,
    Memory,
    Packed,
    Pattern,
    Priced,
    Roof,
    Scratch,
    Tile,
    TileCostModel,
    Tiled,
)
from match_aie.targets.cpu.bytewise import BytewiseKernel, bytewise, pack_bytewise, plan_bytewise
from match_aie.targets.cpu.channelwise import ChannelwiseKernel, pack_channelwise, plan_channelwise
from match_aie.targets.cpu.cores import Split, Way, divide
from match_aie.targets.cpu.form import form, is_flat, is_narrow, shape, steps_of
from match_aie.targets.cpu.machine import Machine
from match_aie.targets.cpu.pack import pack_product
from match_aie.targets.cpu.patterns import (
    PATTERNS,
    REAL_PATTERNS,
    SUMMED,
)
from match_aie.targets.cpu.product import ProductKernel, plan
from match_aie.targets.cpu.roof import roof
from match_aie.targets.cpu.seen import seen
from match_aie.workload import ITEMSIZE, NORMS, PRODUCTS, Kind, Workload, whole_image

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
    "table": "cpu/table.c.mako",
}


def _counted(core: CoreCost) -> Roofline:
    """`core` as rates: memory is part of what its operations take."""
    macs, steps = (1.0 / cycles if cycles else math.inf for cycles in (core.per_mac, core.per_step))
    return Roofline(macs, steps, bytes_per_cycle=math.inf, overhead=core.overhead)


class CPUModule(ExecModule, Packed, Scratch, Concurrent):
    """One core: 8-bit layers in exact integer arithmetic, requantised in the model's float32."""

    name = "cpu"
    unit = CORE
    memories: tuple[Memory, ...] = (Memory("DRAM", None, COST.bytes_per_cycle),)

    #: What it takes; a desktop's core, as `COST` has it, where None.
    core: CoreCost | None = None

    def __init__(self, core: CoreCost | None = None) -> None:
        """Of a core that takes what `core` says; by default what a desktop's core takes."""
        self.core = core

    def patterns(self) -> Sequence[Pattern]:
        """Every quantised operator of the canonical graph, longest form first."""
        return PATTERNS

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """None: what SIMD unrolls is the compiler's business."""
        del workload
        return ()

    def cost_model(self, workload: Workload) -> CostModel | TileCostModel:
        """A roofline with the constants of `COST`, or of the core that was given."""
        del workload
        return COST if self.core is None else _counted(self.core)

    def template(self, workload: Workload) -> str:
        """By kind; depthwise convolutions and float averages have their own."""
        if channelwise(workload):
            return "cpu/depthwise.c.mako"
        half_even = workload.tail is not None and workload.tail.rounding == "half_even"
        half_even = half_even and not workload.fixed_point
        if workload.kind == "avg_pool2d" and half_even and not whole_image(workload):
            return "cpu/float_average.c.mako"
        return _TEMPLATES[workload.kind]

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """Depthwise weights [G, FY, FX, 1] as [FY, FX, G], so that channels are innermost."""
        if not channelwise(workload):
            return constants
        channels_last = np.ascontiguousarray(constants["weight"][..., 0].transpose(1, 2, 0))
        return {**constants, "weight": channels_last}

    def scratch_bytes(self, workload: Workload) -> int:
        """What a convolution's window sees of one group, in 16 bits."""
        if workload.kind != "conv2d" or channelwise(workload):
            return 0
        sizes = workload.sizes
        return ITEMSIZE["int16"] * sizes["FY"] * sizes["FX"] * sizes["C"]

    def in_place(self, workload: Workload) -> tuple[str, ...]:
        """Inputs whose elements are not read any more once the output's same element is made."""
        if workload.kind not in ("add", "mul", "softmax", *NORMS):
            return ()
        y = workload.output
        return tuple(
            x.name
            for x in workload.inputs
            if x.shape == y.shape and ITEMSIZE[x.dtype] == ITEMSIZE[y.dtype]
        )


class Int8Module(ExecModule, Packed, Scratch, Tiled, Concurrent, Priced):
    """One core with known vectors and caches: loops over tiles that fit the first cache."""

    name = "cpu"
    unit = CORE
    caches = True

    def __init__(self, machine: Machine) -> None:
        """For `machine`."""
        self.machine = machine
        self.memories = memories(machine)

    def patterns(self) -> Sequence[Pattern]:
        """Convolutions, dense layers and matmuls, those of sums first."""
        return [*SUMMED, *(pattern for pattern in REAL_PATTERNS if pattern.kind in PRODUCTS)]

    def template(self, workload: Workload) -> str:
        """One for products, one for depthwise convolutions."""
        if not channelwise(workload):
            return "cpu/int8/product.c.mako"
        which = "depthwise_bytes" if bytewise(self.machine, workload) else "depthwise"
        return f"cpu/int8/{which}.c.mako"

    def roof(self, workload: Workload) -> Roof:
        """Of the machine."""
        return roof(self.machine, workload)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """Register tiles; rows of pixels are not divided where the cache holds them."""
        if workload.kind == "matmul":
            tile = self.tile(workload)
            wide = min(tile.vectors * self.machine.lanes, workload.sizes["K"])
            return (Loop("K", wide), Loop("OY", min(tile.rows, workload.sizes["OY"])))
        if channelwise(workload):
            ring = bytewise(self.machine, workload)  # rows go through it once: tiles gain nothing
            whole = ("B", "G", "OY", "OX") if ring else ("G", "OX")
            return tuple(Loop(dim, size) for dim, size in workload.dims if dim in whole)
        tile, product = self.tile(workload), shape(workload)
        wide = min(tile.vectors * self.machine.lanes, product.outputs)
        row = product.pixels if product.line else min(tile.rows, product.pixels)
        return (Loop("K", wide), Loop(product.pixel, row))

    def cost_model(self, workload: Workload) -> CostModel | TileCostModel:
        """Register tiles and caches; of the slowest part where the layer is divided."""
        split, whole = self.split(workload), self._one_core(workload)
        return SharedTiles(whole, split.share, split.join) if split else whole

    def split(self, workload: Workload) -> Split | None:
        """How the layer is divided over cores; None where it is not."""
        if self.machine.cores == 1:
            return None
        whole = self._one_core(workload)
        sizes = workload.sizes
        least = float(whole.cost(workload, Mapping((), ())).cycles)
        ways = [Way("OY", sizes["OY"]), Way("B", sizes["B"])]
        if not channelwise(workload):
            tile, product = self.tile(workload), shape(workload)
            ways = [Way(dim, sizes[dim]) for dim in (product.line, product.outer) if dim]
            ways += [Way(product.pixel, product.pixels, tile.rows)] * (not product.line)
            if workload.kind != "matmul":
                ways.append(Way("G", product.groups))
                ways.append(Way("K", product.outputs, tile.vectors * self.machine.lanes))

        def price(dim: str, size: int) -> float:
            return whole.part(workload, dim, size)

        return divide(self.machine.cores, ways, least, price)

    def _one_core(self, workload: Workload) -> CoreTiles:
        if channelwise(workload):
            width = 1 if bytewise(self.machine, workload) else 2
            return CoreTiles(self.machine, channelwise=width)
        made, product = form(self.machine, workload), shape(workload)
        direct = plan(self.machine, workload, Mapping((), ()), RegisterTile(1, 1)).image.direct
        tile = self.tile(workload)
        return ProductTiles(
            self.machine,
            dot=made.dot,
            narrow=is_narrow(self.machine, workload),
            registers=tile,
            steps=steps_of(made, product) * self._share(workload, tile.rows == product.pixels),
            loops=product.taps[0] * product.runs,
            pixel=product.pixel,
            flat=is_flat(product),
            prepared=0 if direct else ITEMSIZE[made.element],
            sums=len(workload.added),
        )

    def reserved_bytes(self, workload: Workload, memory: Memory, tile: Tile) -> Array:
        """Prepared data beside x itself."""
        none = np.zeros_like(next(iter(tile.values())))
        if memory.name != "L1" or workload.window is None or workload.kind != "conv2d":
            return none
        (sy, sx), (dy, dx) = workload.window.stride, workload.window.dilation
        sizes = workload.sizes
        rows = (tile["OY"] - 1) * sy + (sizes["FY"] - 1) * dy + 1
        columns = (tile["OX"] - 1) * sx + (sizes["FX"] - 1) * dx + 1
        channels = tile["C"] * tile["G"]
        width = ITEMSIZE[form(self.machine, workload).element]
        return np.asarray(tile["B"] * rows * columns * channels * width)

    def tile(self, workload: Workload) -> RegisterTile:
        """The register tile of a product."""
        made, product = form(self.machine, workload), shape(workload)
        pixels = product.pixels * (product.lines if is_flat(product) else 1)
        narrow, steps = is_narrow(self.machine, workload), steps_of(made, product)
        part, line = (steps * self._share(workload, whole) for whole in (False, True))
        return best_tile(self.machine, made.dot, narrow, pixels, product.outputs, part, line)

    def _share(self, workload: Workload, whole: bool) -> float:
        """Of a layer's products those that are computed, in tiles of `whole` lines or not."""
        product = shape(workload)
        found = seen(self.machine, workload, form(self.machine, workload), product)
        return found.share(product, whole) if found else 1.0

    def kernel(
        self, workload: Workload, mapping: Mapping
    ) -> ProductKernel | ChannelwiseKernel | BytewiseKernel:
        """Register tiles, loops over tiles, and where prepared data lie."""
        if channelwise(workload) and bytewise(self.machine, workload):
            return plan_bytewise(self.machine, workload, mapping, self.split(workload))
        if channelwise(workload):
            return plan_channelwise(self.machine, workload, mapping, self.split(workload))
        return plan(self.machine, workload, mapping, self.tile(workload), self.split(workload))

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """Weights in the order of the kernels."""
        if channelwise(workload) and bytewise(self.machine, workload):
            return pack_bytewise(self.machine, workload, constants)
        if channelwise(workload):
            return pack_channelwise(self.machine, workload, constants)
        return pack_product(self.machine, workload, self.tile(workload).vectors, constants)

    def scratch_bytes(self, workload: Workload) -> int:
        """Prepared data of the whole layer: no mapping needs more."""
        return self.workspace_bytes(workload, Mapping((), ()))

    def workspace_bytes(self, workload: Workload, mapping: Mapping) -> int:
        """Prepared data of one tile."""
        return self.kernel(workload, mapping).scratch_bytes


class UntiledModule(Int8Module):
    """The same kernels without tiles: for layers of which not even a row fits the first cache."""

    name = "cpu_untiled"

    def __init__(self, machine: Machine) -> None:
        """For `machine`."""
        super().__init__(machine)
        self.memories = self.memories[1:]

    def cost_model(self, workload: Workload) -> CostModel | TileCostModel:
        """Of the layer as a whole."""
        split, whole = self.split(workload), self._one_core(workload)
        return SharedLayer(whole, split.share, split.join) if split else whole


def memories(machine: Machine) -> tuple[Memory, ...]:
    """The first cache, and what fills it: the second cache, which holds all of a small network."""
    first = machine.caches[0]
    if len(machine.caches) > 1:
        rate = machine.caches[1].bytes_per_cycle
    else:
        rate = machine.memory_bytes_per_cycle
    # Weights are read panel by panel, once in a call of the kernel: their price is the kernel's.
    inner = Memory("L1", first.bytes, first.bytes_per_cycle, operands=("x", "y"))
    return (inner, Memory("DRAM", None, rate))


def channelwise(workload: Workload) -> bool:
    """Whether it is a depthwise convolution with one output per channel."""
    return workload.depthwise and workload.sizes["K"] == 1
