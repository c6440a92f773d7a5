"""Float32 layers on one core with vectors: products, and what works along rows and sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from match_aie.cost_models.cores import SharedLayer, SharedTiles, meeting
from match_aie.hardware import (
    CORE,
    Concurrent,
    Constants,
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
    Sized,
    TileCostModel,
    Tiled,
)
from match_aie.targets.cpu.byte_recurrent import in_bytes
from match_aie.targets.cpu.cores import Split, Way, divide
from match_aie.targets.cpu.float_conv import channelwise
from match_aie.targets.cpu.float_cost import FLOAT, LEAST_STEPS, SHARE, ProductCost, RowCost
from match_aie.targets.cpu.float_elements import ELEMENTS
from match_aie.targets.cpu.float_kernel import (
    GemmKernel,
    axes,
    dense_kernel,
    divided,
    extents,
    matmul_kernel,
    swapped,
    tile_of,
)
from match_aie.targets.cpu.float_patterns import PRODUCTS, ROWS
from match_aie.targets.cpu.float_rows import (
    RowKernel,
    pack,
    row_kernel,
    row_ways,
    scratch_elements,
)
from match_aie.targets.cpu.float_sizes import refuses_loops, refuses_rows
from match_aie.targets.cpu.float_tile import Tile, pack_panels, pack_rows, padded
from match_aie.targets.cpu.machine import Machine
from match_aie.targets.cpu.roof import roof
from match_aie.workload import NORMS, Workload

#: Register tiles along either side of a block at least.
LEAST_TILES = 4


def memories(machine: Machine) -> tuple[Memory, ...]:
    """The second cache as it holds blocks, and what is beyond it as home.

    What the first cache holds of a block is part of the kernel's price: register tiles stream
    from the second nearly as fast, and with the caches as three levels the search took minutes.
    """
    at = min(1, len(machine.caches) - 1)
    cache, beyond = machine.caches[at], machine.caches[at + 1 :]
    rate = beyond[0].bytes_per_cycle if beyond else machine.memory_bytes_per_cycle
    inner = Memory("L2", int(cache.bytes * SHARE), cache.bytes_per_cycle)
    return (inner, Memory("DRAM", None, rate))


class FloatProducts(ExecModule, Packed, Scratch, Tiled, Concurrent, Sized, Priced):
    """Dense layers and matmuls in register tiles over packed panels."""

    name = "cpu_float"
    unit = CORE
    caches = True
    #: Of the blocks that it ranks highest some are slower by this share or more, measured.
    precision = 0.01
    version = "2"

    def __init__(self, machine: Machine) -> None:
        """For `machine`."""
        self.machine = machine
        self.memories = memories(machine)

    def patterns(self) -> Sequence[Pattern]:
        """Products with bias, residual and activation."""
        return PRODUCTS

    def _tile(self, workload: Workload) -> Tile:
        return tile_of(workload, self.machine)

    def roof(self, workload: Workload) -> Roof:
        """Of the machine."""
        return roof(self.machine, workload)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """Blocks in whole register tiles, long enough to be worth a call."""
        tile = self._tile(workload)
        rows, columns, inner = extents(workload)
        names = ("OY", "K") if workload.kind == "matmul" else ("B", "K")
        if swapped(workload):
            names = ("K", "B")
        return (
            Loop(names[0], min(LEAST_TILES * tile.mr, rows)),
            Loop(names[1], min(LEAST_TILES * tile.width, columns)),
            Loop("C", min(LEAST_STEPS, inner)),
        )

    def tiled_reductions(self, workload: Workload) -> tuple[str, ...]:
        """Products add to partial sums in the output."""
        return ("C",) if workload.kind in ("dense", "matmul") else ()

    def stores_partial_sums(self, workload: Workload) -> bool:
        """They are float32, as the output is."""
        return workload.kind in ("dense", "matmul")

    def cost_model(self, workload: Workload) -> TileCostModel:
        """Register tiles and cache bandwidths; of the slowest part where the layer is divided."""
        split, whole = self.split(workload), self._one_core(workload)
        return SharedTiles(whole, split.share, split.join) if split else whole

    def _one_core(self, workload: Workload) -> ProductCost:
        return ProductCost(self.machine, self._tile(workload))

    def split(self, workload: Workload) -> Split | None:
        """How the layer is divided over cores; None where it is not.

        Independent products first. A product is divided along the side that is packed at run time,
        so that each core packs what it needs.
        """
        if self.machine.cores == 1 or workload.run_time:
            return None
        whole, tile = self._one_core(workload), self._tile(workload)
        kernel = self._kernel(workload, Mapping((), ()))
        ways = [Way(dim, size) for dim, size in workload.dims if dim in ("B", "G")]
        ways = ways if workload.kind == "matmul" else []
        sides = {axis: dim for dim, axis in axes(workload).items()}
        if kernel.a.how != "pack_rows":
            ways.append(Way(sides["n"], kernel.columns, tile.width))
        if kernel.b.how == "constant":
            ways.append(Way(sides["m"], kernel.rows, tile.mr))

        def price(dim: str, size: int) -> float:
            return whole.part(workload, dim, size)

        least = price(sides["m"], kernel.rows)
        return divide(self.machine.cores, ways, least, price)

    def refuses_sizes(self, workload: Workload) -> str | None:
        """Rows of dense layers may be given by a run."""
        return refuses_rows(workload)

    def template(self, workload: Workload) -> str:
        """One for all products."""
        del workload
        return "cpu/float/gemm.c.mako"

    def kernel(self, workload: Workload, mapping: Mapping) -> GemmKernel:
        """Register tile, roles and block loops; what each core does."""
        return divided(self._kernel(workload, mapping), workload, self.split(workload))

    def _kernel(self, workload: Workload, mapping: Mapping) -> GemmKernel:
        make = matmul_kernel if workload.kind == "matmul" else dense_kernel
        return make(workload, mapping, self.machine)

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """Weights in the order in which the register tiles read them, bias padded to vectors."""
        if workload.kind == "matmul":
            return constants
        tile, weight = self._tile(workload), constants["weight"]
        if swapped(workload):
            return {**constants, "weight": pack_rows(weight, tile)}
        packed = {**constants, "weight": pack_panels(weight.T, tile)}
        if "bias" in constants:
            columns = len(weight)
            packed["bias"] = np.pad(constants["bias"], (0, padded(tile, columns) - columns))
        return packed

    def scratch_bytes(self, workload: Workload) -> int:
        """What is packed at run time."""
        return self.kernel(workload, Mapping((), ())).scratch_bytes


class FloatRows(ExecModule, Packed, Scratch, Concurrent, Sized, Priced):
    """Convolutions, pools, softmax, norms, functions, attention, GRU and LSTM: fixed orders."""

    name = "cpu_rows"
    unit = CORE

    def __init__(self, machine: Machine) -> None:
        """For `machine`."""
        self.machine = machine
        self.memories = memories(machine)[1:]

    def patterns(self) -> Sequence[Pattern]:
        """Attention before the softmax in it."""
        return ROWS

    def roof(self, workload: Workload) -> Roof:
        """Of the machine."""
        return roof(self.machine, workload)

    def spatial(self, workload: Workload) -> Sequence[Loop]:
        """None: the templates choose their tiles."""
        del workload
        return ()

    def cost_model(self, workload: Workload) -> CostModel:
        """Operations per vector; of the slowest part where the layer is divided."""
        split, whole = self.split(workload), RowCost(self.machine)
        return SharedLayer(whole, split.share, split.join) if split else whole

    def split(self, workload: Workload) -> Split | None:
        """How the layer is divided over cores; None where it is not."""
        if self.machine.cores == 1 or workload.run_time:
            return None
        whole = RowCost(self.machine)
        least = whole.cost(workload, Mapping((), ())).cycles

        def price(dim: str, size: int) -> float:
            waits = whole.meetings(workload) * meeting(self.machine.cores)
            return least * size / workload.sizes[dim] + waits

        return divide(self.machine.cores, row_ways(workload, self.machine), least, price)

    def refuses_sizes(self, workload: Workload) -> str | None:
        """Rows may be given by a run, those of softmax and attention also their length."""
        return refuses_loops(workload)

    def template(self, workload: Workload) -> str:
        """By kind."""
        if channelwise(workload):
            return "cpu/float/depthwise.c.mako"
        if in_bytes(workload, self.machine):
            return "cpu/float/recurrent_bytes.c.mako"
        return {
            "conv2d": "cpu/float/conv2d.c.mako",
            "avg_pool2d": "cpu/float/pool2d.c.mako",
            "max_pool2d": "cpu/float/pool2d.c.mako",
            **dict.fromkeys(ELEMENTS, "cpu/float/elements.c.mako"),
            "softmax": "cpu/float/softmax.c.mako",
            "layer_norm": "cpu/float/layer_norm.c.mako",
            "rms_norm": "cpu/float/rms_norm.c.mako",
            "attention": "cpu/float/attention.c.mako",
        }.get(workload.kind, "cpu/float/recurrent.c.mako")

    def kernel(self, workload: Workload, mapping: Mapping) -> RowKernel:
        """Numbers that the templates print."""
        del mapping
        return row_kernel(workload, self.machine, self.split(workload))

    def pack(self, workload: Workload, constants: Constants) -> Constants:
        """Weights in panels of register tiles."""
        return pack(workload, self.machine, constants)

    def scratch_bytes(self, workload: Workload) -> int:
        """What attention, recurrent layers, framed images and rows of bfloat16 need."""
        return FLOAT * scratch_elements(workload, self.machine, self.split(workload))

    def in_place(self, workload: Workload) -> tuple[str, ...]:
        """Rows are read before they are written, element by element."""
        return ("x",) if workload.kind in ("softmax", *ELEMENTS, *NORMS) else ()


def float_modules(machine: Machine) -> tuple[ExecModule, ...]:
    """The modules of float32 layers; none for a core without vectors."""
    if machine.lanes < 2:
        return ()
    return (FloatProducts(machine), FloatRows(machine))
