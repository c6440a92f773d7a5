"""A GRU or LSTM: how it runs, and its graph on one tile.

Weights and state stay in the tile, whose function is started once for a run and walks groups of
steps: x comes through a memory tile, a group at a time, and so do the states leave.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.recurrent import LEVERS, recurrent_banks
from match_aie.targets.aie_ml.array.works import program_bytes, works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Request
from match_aie.targets.aie_ml.graph.candidates import Cuts, Priced
from match_aie.targets.aie_ml.graph.layer import Arrays, zeros_of
from match_aie.targets.aie_ml.graph.plan import GraphKernel, LayerGraph, Part
from match_aie.targets.aie_ml.graph.proof import columns_of
from match_aie.targets.aie_ml.graph.recurrent_joined import (
    joined_calls,
    joined_cost,
    joined_graph,
    kernel_of,
    tiles_of,
)
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.lookup import LOOKING_UP
from match_aie.targets.aie_ml.kernels.recurrent import (
    GROUP,
    GROUPS,
    LANES,
    TILE_K,
    Cell,
    RecurrentCall,
    RecurrentSpec,
    parameter_values,
)
from match_aie.targets.aie_ml.kernels.recurrent_int8 import (
    IntegerCall,
    IntegerSpec,
    integer_values,
)
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined
from match_aie.workload import Workload

#: Accumulators of 16 floats that a step's sums may take: the others hold what gates are made of.
ACCUMULATORS = 12


def recurrent_call(workload: Workload, name: str, device: Device) -> RecurrentCall:
    """The function of a recurrent layer; its calls are as long as there is room."""
    sizes = workload.sizes
    cell: Cell = "lstm"
    if workload.kind == "gru":
        cell = "gru" if workload.parameter("linear_before_reset") else "gru_before"
    names = f"{name}_steps", f"{name}_kernels.h"
    extents = sizes["OY"], sizes["C"], sizes["K"]
    shortest = RecurrentCall(*names, RecurrentSpec(cell), *extents)
    if workload.real is not None and workload.real.precision == "int8":
        shortest = IntegerCall(*names, IntegerSpec(cell, workload.inputs[0].dtype), *extents)
    whole = -(-sizes["OY"] // GROUP) * GROUP
    longer = (replace(shortest, group=min(group, whole)) for group in GROUPS)
    room = (call for call in longer if not isinstance(recurrent_banks(call, device), Infeasible))
    return next(room, shortest)


@dataclass(frozen=True, eq=False)
class RecurrentCuts(Cuts[RecurrentCall]):
    """A recurrent layer as the search sees it: a cut is its function, on one tile or several.

    Attributes:
        workload: in bfloat16, or with products of 8 bits.
        device: for which.

    Raises:
        TargetError: no public header says how its cores approximate functions.
    """

    workload: Workload
    device: Device

    def __post_init__(self) -> None:
        """Refuse cores without known lines of tables."""
        core = self.device.architecture.name
        if core not in LOOKING_UP:
            raise TargetError(f"no public header says how cores of {core} read lines of tables")

    def all(self, columns: int) -> Iterator[RecurrentCall]:
        """On one tile, then on those of a column.

        A reset gate before the product is for one tile only.
        """
        del columns
        call = recurrent_call(self.workload, "layer", self.device)
        able = call.spec.cell != "gru_before"
        yield call
        yield from joined_calls(call) if able else ()

    def shape(self, cut: RecurrentCall) -> tuple[int, int]:
        """Tiles of a column."""
        return tiles_of(cut), 1

    def refuses(self, cut: RecurrentCall) -> Infeasible | None:
        """What a core has too little of for the function's sums or code."""
        return _code(cut, self.device)

    def bound(self, cut: RecurrentCall) -> float:
        """Nothing: there are few."""
        del cut
        return 0.0

    def price(self, cut: RecurrentCall) -> Priced[RecurrentCall]:
        """See `recurrent_cost`, and `recurrent_joined`."""
        if isinstance(cut, AnyJoined):
            return cut, joined_cost(cut, self.device)
        return cut, recurrent_cost(cut, self.device)

    def graph(
        self, cut: RecurrentCall, columns: int, name: str, workload: Workload, constants: Arrays
    ) -> LayerGraph | Infeasible:
        """See `recurrent_graph`, and `recurrent_joined`."""
        del columns
        if isinstance(cut, AnyJoined):
            named = replace(cut, symbol=f"{name}_steps", header=f"{name}_kernels.h")
            return joined_graph(named, name, workload, constants, self.device)
        return recurrent_graph(name, workload, constants, self.device)

    def lay_out(self, cut: RecurrentCall, columns: int) -> int | Infeasible:
        """Of the graph without its numbers."""
        zeros = zeros_of(self.workload)
        return columns_of(self.graph(cut, columns, "layer", self.workload, zeros), self.device)

    def loops(self, cut: RecurrentCall, workload: Workload) -> tuple[Loop, ...]:
        """Units over tiles, and lanes of one."""
        del workload
        tiles = tiles_of(cut)
        return (Loop("K", LANES),) if tiles == 1 else (Loop("K", tiles), Loop("K", LANES))

    def ways(self, cut: RecurrentCall) -> tuple[int, int]:
        """One each way."""
        del cut
        return 1, 1


def recurrent_graph(
    name: str, workload: Workload, constants: Arrays, device: Device
) -> LayerGraph | Infeasible:
    """One tile between two buffers in memory tiles, or what lacks."""
    call = recurrent_call(workload, name, device)
    rows = call.passes * call.group
    assembly = Assembly(name, device, 1)
    octets, groups = (0, TILE_K, call.x_octets), (1, call.group, call.passes)
    loops = tuple(loop for loop in (octets, groups) if loop[2] > 1)
    x, y = (call.x_width, rows), (call.y_width, rows)
    read = Access(x, (TILE_K, call.group), (0, 0), loops)
    write = Access(y, (call.y_width, call.group), (0, 0), (groups,) if call.passes > 1 else ())
    placed = assembly.place(
        1,
        1,
        (
            Request("x", call.x_type, x, (Access(x, x, (0, 0)),), (read,)),
            Request("y", "bfloat16", y, (write,), (Access(y, y, (0, 0)),)),
        ),
    )
    if isinstance(placed, Infeasible):
        return placed
    values = _values(call, workload, constants)
    place = placed.column, placed.row
    inputs, output = (call.group * call.x_width,), call.group * call.y_width
    kernel = GraphKernel(call, place, inputs, output, 1, tuple(values.items()), walks=True)
    assembly.kernels.append(kernel)
    steps = workload.sizes["OY"]
    way_in = Part("x", (steps, 1, call.inputs), 0, rows, 1, call.x_width)
    way_out = Part("y", (steps, 1, call.hidden), 0, rows, 1, call.y_width)
    before, after = placed.buffers
    assembly.connect(("in", assembly.outside(way_in, call.x_type), 0), ("shared", before, 0))
    assembly.connect(("shared", before, 0), ("buffer", 0, 0))
    assembly.connect(("buffer", 0, 0), ("shared", after, 0))
    assembly.connect(("shared", after, 0), ("out", assembly.outside(way_out, "bfloat16"), 0))
    kind = call.spec.cell.partition("_")[0].upper()
    return assembly.graph(f"{kind} of {call.hidden} units, {steps} steps on one tile")


def _values(call: RecurrentCall, workload: Workload, constants: Arrays) -> Arrays:
    """Of the function's parameters."""
    known = {each: constants[each].astype(np.float32) for each in ("weight", "recurrent", "bias")}
    if isinstance(call, IntegerCall):
        x = workload.inputs[0]
        return integer_values(call, known, x.scale or 1.0, x.zero_point)
    return parameter_values(call, *known.values())


def _code(call: RecurrentCall, device: Device) -> Infeasible | None:
    """Why a core does not hold the function's sums or code; None where it does."""
    sums = len(call.spec.gates) * (2 if isinstance(call, IntegerCall) else call.chunks)
    if sums > ACCUMULATORS:
        what = "accumulators of a tile for a step's gates"
        return Infeasible(what, sums, ACCUMULATORS, "of 16 floats", LEVERS)
    try:
        much = program_bytes(works(kernel_of(call), device.architecture))
    except TargetError as error:  # registers
        return Infeasible(error.what, sums, ACCUMULATORS, "accumulators", LEVERS)
    most = device.architecture.core.program_memory_bytes
    return (
        Infeasible("program memory of a tile", much, most, "bytes", LEVERS) if much > most else None
    )


def recurrent_cost(call: RecurrentCall, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: groups of steps one after the other."""
    arch = device.architecture
    bodies = [work.schedule.body for work in works(kernel_of(call), arch)]
    rows = call.passes * call.group
    return band_cost(
        BandWork(
            bands=call.passes,
            body=sum(bodies) / len(bodies),
            around=2 * (assumed.acquire + assumed.release),
            start=assumed.start + 2 * assumed.start_port,
            input_bytes=call.x_bytes * call.group * call.x_width,
            output_bytes=2 * call.group * call.y_width,
            entering=call.x_bytes * rows * call.x_width,
            leaving=2 * rows * call.y_width,
            handed=0,
            skew=0,
            rate=arch.core.dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + device.core_rows),
        )
    )
