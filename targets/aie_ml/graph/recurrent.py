"""A GRU or LSTM: how it runs, and its graph on one tile.

Weights and state stay in the tile, whose function is started once for a run and walks groups of
steps: x comes through a memory tile, a group at a time, and so do the states leave.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from match_aie.cost_models.aie_image import BandCost, BandWork, band_cost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.recurrent import (
    LEVERS,
    TURNS,
    in_turns,
    met_cycles,
    recurrent_banks,
)
from match_aie.targets.aie_ml.array.roles import program_bytes
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.assembly import Assembly, Request
from match_aie.targets.aie_ml.graph.candidates import Cuts, Priced
from match_aie.targets.aie_ml.graph.layer import Arrays, zeros_of
from match_aie.targets.aie_ml.graph.plan import GraphKernel, LayerGraph, Part
from match_aie.targets.aie_ml.graph.proof import columns_of
from match_aie.targets.aie_ml.graph.recurrent_apart import apart_calls, apart_cost, apart_graph
from match_aie.targets.aie_ml.graph.recurrent_cascade import (
    cascade_cost,
    cascade_graph,
    tile_kernel,
)
from match_aie.targets.aie_ml.graph.recurrent_exchange import exchange_graph, exchanging
from match_aie.targets.aie_ml.graph.recurrent_gates import (
    gates_columns,
    gates_cost,
    gates_cuts,
    gates_graph,
    gates_kernel,
)
from match_aie.targets.aie_ml.graph.recurrent_hybrid import (
    hybrid_calls,
    hybrid_cost,
    hybrid_graph,
)
from match_aie.targets.aie_ml.graph.recurrent_joined import (
    joined_calls,
    joined_cost,
    joined_graph,
    kernel_of,
    shape_of,
    tiles_of,
)
from match_aie.targets.aie_ml.graph.recurrent_neighbours import (
    neighbour_costs,
    neighbour_graph,
    neighbouring,
)
from match_aie.targets.aie_ml.graph.recurrent_packets import (
    packet_calls,
    packet_cost,
    packet_graph,
)
from match_aie.targets.aie_ml.graph.recurrent_splits import along_cascade, with_logic
from match_aie.targets.aie_ml.graph.recurrent_values import values_of
from match_aie.targets.aie_ml.graph.timed_splits import REQUEST_CYCLES
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.lookup import LOOKING_UP
from match_aie.targets.aie_ml.kernels.recurrent import (
    GROUP,
    GROUPS,
    LANES,
    TILE_K,
    Cell,
    RecurrentCall,
)
from match_aie.targets.aie_ml.kernels.recurrent_apart import StatesCall, inputs_call
from match_aie.targets.aie_ml.kernels.recurrent_cascade import AnyCascade, chain
from match_aie.targets.aie_ml.kernels.recurrent_exchange import AnyExchange
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall, chain_of
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import AnyHybrid
from match_aie.targets.aie_ml.kernels.recurrent_int8 import IntegerCall, IntegerSpec
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import AnyNeighbour, ahead_call
from match_aie.targets.aie_ml.kernels.recurrent_packets import AnyPacket
from match_aie.targets.aie_ml.kernels.recurrent_quarters import spec_alone, spec_for
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
    # Programs that call a function once for each group keep nothing in registers.
    spec_of = spec_alone if device.dispatch_us is None else spec_for
    shortest = RecurrentCall(*names, spec_of(cell, sizes["K"]), *extents)
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
        """On one tile, with a tile of its own for the inputs, then on those of a column.

        A reset gate before the product is not spread over a column. Along a cascade, and with gates
        in programmable logic, only where just that is asked for: it is no faster.
        """
        del columns
        call = recurrent_call(self.workload, "layer", self.device)
        yield call
        if self.device.dispatch_us is None:  # else programs call a function once for each call
            yield from apart_calls(call, self.device)[:1]
            if call.spec.cell != "gru_before":
                yield from (*joined_calls(call), *exchanging(call), *packet_calls(call))
                yield from neighbouring(call, self.device)[:1]
                yield from gates_cuts(call)

    def read(self, nest: Mapping, workload: Workload) -> Priced[RecurrentCall] | Infeasible | None:
        """The cut of these loops, which may be along a cascade or with gates in logic, too.

        Raises:
            TargetError: they say none.
        """
        tiles = along_cascade(nest.spatial)
        cuts = self._along(tiles) if tiles else self.all(self.device.columns)
        for cut in self._hybrid() if with_logic(nest.spatial) else cuts:
            if self.nest(cut, workload) == nest:
                return self.refuses(cut) or self.price(cut)
        raise TargetError(f"{nest} is no nest of a {workload.kind}")

    def _along(self, tiles: int) -> Iterator[RecurrentCall]:
        """The function of the last of so many tiles of a cascade."""
        call = recurrent_call(self.workload, "layer", self.device)
        if call.spec.cell != "gru_before":
            yield from chain(call, tiles)[-1:]

    def _hybrid(self) -> Iterator[RecurrentCall]:
        """The functions of tiles without gates."""
        call = recurrent_call(self.workload, "layer", self.device)
        if call.spec.cell != "gru_before":
            yield from hybrid_calls(call)

    def shape(self, cut: RecurrentCall) -> tuple[int, int]:
        """Tiles, and columns of those that a memory tile of each joins."""
        if isinstance(cut, GatesCall):
            return cut.tiles, gates_columns(cut, self.device)
        wide = shape_of(cut)[0] if isinstance(cut, AnyJoined) else 1
        return tiles_of(cut), wide

    def refuses(self, cut: RecurrentCall) -> Infeasible | None:
        """What a core has too little of for the function's sums or code."""
        if isinstance(cut, AnyCascade | GatesCall):
            tiles = chain_of(cut) if isinstance(cut, GatesCall) else chain(cut, cut.tiles)
            lacks = (_code(each, self.device) for each in tiles)
            return next((each for each in lacks if each is not None), None)
        other = isinstance(cut, StatesCall) and _code(inputs_call(cut), self.device)
        other = other or (isinstance(cut, AnyNeighbour) and _code(ahead_call(cut), self.device))
        return other or _code(cut, self.device)

    def bound(self, cut: RecurrentCall) -> float:
        """Nothing: there are few."""
        del cut
        return 0.0

    def price(self, cut: RecurrentCall) -> Priced[RecurrentCall]:
        """See `recurrent_cost`, `recurrent_apart` and `recurrent_joined`."""
        if isinstance(cut, AnyNeighbour):
            plain = recurrent_call(self.workload, "layer", self.device)
            found = neighbour_costs(neighbouring(plain, self.device), self.device)
            return min(found, key=lambda pair: pair[1].latency)
        if isinstance(cut, AnyPacket):
            return cut, packet_cost(cut, self.device)
        if isinstance(cut, GatesCall):
            return cut, gates_cost(cut, self.device)
        if isinstance(cut, AnyHybrid):
            return cut, hybrid_cost(cut, self.device)
        if isinstance(cut, AnyJoined):
            return cut, joined_cost(cut, self.device)
        if isinstance(cut, AnyCascade):
            return cut, cascade_cost(cut, self.device)
        if isinstance(cut, StatesCall):
            calls = apart_calls(cut, self.device)
            costs = [apart_cost(each, self.device) for each in calls]
            return min(zip(calls, costs, strict=True), key=lambda pair: pair[1].latency)
        return cut, recurrent_cost(cut, self.device)

    def graph(
        self, cut: RecurrentCall, columns: int, name: str, workload: Workload, constants: Arrays
    ) -> LayerGraph | Infeasible:
        """See `recurrent_graph`, `recurrent_apart` and `recurrent_joined`."""
        del columns
        made = self._graph(cut, name, workload, constants)
        if isinstance(made, Infeasible):
            return made
        kernels = (self._pinned(kernel) for kernel in made.kernels)
        return replace(made, kernels=tuple(kernels))

    def _pinned(self, kernel: GraphKernel) -> GraphKernel:
        """With its buffers' banks, where copies have banks of their own."""
        assert isinstance(kernel.call, RecurrentCall)
        banked = recurrent_banks(kernel.call, self.device)
        apart = not isinstance(banked, Infeasible) and in_turns(banked)
        return replace(kernel, turns=TURNS if apart else None)

    def _graph(
        self, cut: RecurrentCall, name: str, workload: Workload, constants: Arrays
    ) -> LayerGraph | Infeasible:
        named = replace(cut, symbol=f"{name}_steps", header=f"{name}_kernels.h")
        if isinstance(named, AnyNeighbour):
            return neighbour_graph(named, name, workload, constants, self.device)
        if isinstance(named, AnyExchange):
            return exchange_graph(named, name, workload, constants, self.device)
        if isinstance(named, AnyPacket):
            return packet_graph(named, name, workload, constants, self.device)
        if isinstance(named, GatesCall):
            return gates_graph(named, name, workload, constants, self.device)
        if isinstance(named, AnyHybrid):
            return hybrid_graph(named, name, workload, constants, self.device)
        if isinstance(named, AnyJoined):
            return joined_graph(named, name, workload, constants, self.device)
        if isinstance(named, AnyCascade):
            return cascade_graph(named, name, workload, constants, self.device)
        if isinstance(named, StatesCall):
            return apart_graph(named, name, workload, constants, self.device)
        return recurrent_graph(name, workload, constants, self.device)

    def lay_out(self, cut: RecurrentCall, columns: int) -> int | Infeasible:
        """Of the graph without its numbers."""
        zeros = zeros_of(self.workload)
        return columns_of(self.graph(cut, columns, "layer", self.workload, zeros), self.device)

    def loops(self, cut: RecurrentCall, workload: Workload) -> tuple[Loop, ...]:
        """Units over tiles, and lanes of one; before them what is reduced, over tiles."""
        del workload
        if isinstance(cut, StatesCall):
            return (Loop("C", 2), Loop("K", 1), Loop("K", LANES))
        if isinstance(cut, GatesCall):
            return (Loop("C", cut.depth), Loop("K", cut.chains), Loop("K", LANES))
        tiles = tiles_of(cut)
        if isinstance(cut, AnyNeighbour):
            return (Loop("C", 2), Loop("K", 2), Loop("K", LANES))
        if isinstance(cut, AnyExchange | AnyPacket):
            return (Loop("K", 1), Loop("K", tiles), Loop("K", LANES))
        if isinstance(cut, AnyHybrid):
            return (Loop("C", 1), Loop("K", tiles), Loop("K", LANES))
        if isinstance(cut, AnyCascade):
            return (Loop("C", tiles), Loop("K", 1), Loop("K", LANES))
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
    values = values_of(call, workload, constants)
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


def _code(call: RecurrentCall, device: Device) -> Infeasible | None:
    """Why a core does not hold the function's sums or code; None where it does."""
    sums = len(call.spec.gates) * (2 if isinstance(call, IntegerCall) else call.chunks)
    if call.parts != ("inputs",) and not isinstance(call, AnyCascade) and sums > ACCUMULATORS:
        what = "accumulators of a tile for a step's gates"
        return Infeasible(what, sums, ACCUMULATORS, "of 16 floats", LEVERS)
    try:
        much = program_bytes(works(_kernel(call), device.architecture), call, device)
    except TargetError as error:  # registers
        return Infeasible(error.what, sums, ACCUMULATORS, "accumulators", LEVERS)
    most = device.architecture.core.program_memory_bytes
    return (
        Infeasible("program memory of a tile", much, most, "bytes", LEVERS) if much > most else None
    )


def _kernel(call: RecurrentCall) -> GraphKernel:
    """A kernel of the function, without its numbers."""
    if isinstance(call, AnyCascade):
        return tile_kernel(call)
    return gates_kernel(call) if isinstance(call, GatesCall) else kernel_of(call)


def recurrent_cost(call: RecurrentCall, device: Device, assumed: Assumed = Assumed()) -> BandCost:
    """Modelled cost of one run: groups of steps one after the other."""
    arch = device.architecture
    bodies = [work.schedule.body for work in works(kernel_of(call), arch)]
    rows = call.passes * call.group
    return band_cost(
        BandWork(
            bands=call.passes,
            body=sum(bodies) / len(bodies) + met_cycles(call, device),
            around=2 * (assumed.acquire + assumed.release) + device.call_cycles,
            start=assumed.start + 2 * assumed.start_port,
            input_bytes=call.in_bytes,
            output_bytes=call.out_bytes,
            entering=call.x_bytes * rows * call.x_width,
            leaving=2 * rows * call.y_width,
            handed=0,
            skew=0,
            rate=arch.core.dma.bytes_per_cycle,
            way_rate=arch.shim_dma.bytes_per_cycle,
            descriptor=assumed.descriptor,
            hops=arch.hop_cycles * (device.mem_rows + 1),
            request=REQUEST_CYCLES,
        )
    )
