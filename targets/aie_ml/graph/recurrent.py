"""A GRU or LSTM: all ways to spread it over tiles, as the search sees them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from types import UnionType
from typing import Any

from match_aie.cost_models.aie_image import BandCost
from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.recurrent import (
    LEVERS,
    TURNS,
    in_turns,
    recurrent_banks,
)
from match_aie.targets.aie_ml.array.roles import program_bytes
from match_aie.targets.aie_ml.array.works import works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.candidates import Cuts, Priced
from match_aie.targets.aie_ml.graph.layer import Arrays, zeros_of
from match_aie.targets.aie_ml.graph.plan import GraphKernel, LayerGraph
from match_aie.targets.aie_ml.graph.proof import columns_of
from match_aie.targets.aie_ml.graph.recurrent_apart import (
    apart_calls,
    straight_cost,
    straight_graph,
)
from match_aie.targets.aie_ml.graph.recurrent_cascade import cascade_cost, cascade_graph
from match_aie.targets.aie_ml.graph.recurrent_gates import (
    gates_columns,
    gates_cost,
    gates_cuts,
    gates_graph,
)
from match_aie.targets.aie_ml.graph.recurrent_joined import (
    exchange_graph,
    exchanging,
    hybrid_calls,
    hybrid_cost,
    hybrid_graph,
    joined_calls,
    joined_cost,
    joined_graph,
    packet_calls,
    packet_cost,
    packet_graph,
    shape_of,
)
from match_aie.targets.aie_ml.graph.recurrent_neighbours import (
    in_groups,
    neighbour_cost,
    neighbour_graph,
    neighbouring,
)
from match_aie.targets.aie_ml.graph.recurrent_splits import along_cascade, cell_of, with_logic
from match_aie.targets.aie_ml.graph.recurrent_spread import (
    Spread,
    functions_of,
    has_room,
    kernel_of,
    lengths,
)
from match_aie.targets.aie_ml.kernels.lookup import LOOKING_UP
from match_aie.targets.aie_ml.kernels.recurrent import LANES, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_apart import StatesCall
from match_aie.targets.aie_ml.kernels.recurrent_cascade import AnyCascade, chain
from match_aie.targets.aie_ml.kernels.recurrent_exchange import AnyExchange
from match_aie.targets.aie_ml.kernels.recurrent_gates import GatesCall
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import AnyHybrid
from match_aie.targets.aie_ml.kernels.recurrent_int8 import IntegerCall, IntegerSpec
from match_aie.targets.aie_ml.kernels.recurrent_joined import AnyJoined
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import AnyNeighbour
from match_aie.targets.aie_ml.kernels.recurrent_packets import AnyPacket
from match_aie.targets.aie_ml.kernels.recurrent_quarters import spec_alone, spec_for
from match_aie.workload import Workload

#: Accumulators of 16 floats that a step's sums may take: the others hold what gates are made of.
ACCUMULATORS = 12


def recurrent_call(workload: Workload, name: str, device: Device) -> RecurrentCall:
    """The function of a recurrent layer; its calls are as long as there is room."""
    sizes, cell = workload.sizes, cell_of(workload)
    names = f"{name}_steps", f"{name}_kernels.h"
    extents = sizes["OY"], sizes["C"], sizes["K"]
    # Programs that call a function once for each group keep nothing in registers.
    spec_of = spec_alone if device.dispatch_us is None else spec_for
    shortest = RecurrentCall(*names, spec_of(cell, sizes["K"]), *extents)
    if workload.real is not None and workload.real.precision == "int8":
        shortest = IntegerCall(*names, IntegerSpec(cell, workload.inputs[0].dtype), *extents)
    longer = (replace(shortest, group=group) for group in lengths(sizes["OY"]))
    return next((call for call in longer if has_room(call, device)), shortest)


@dataclass(frozen=True)
class SpreadWay:
    """How a layer may be spread over tiles.

    Attributes:
        calls: functions that say so.
        loops: units over tiles of such a function, and before them what is reduced.
        cost: modelled, of one run.
        graph: or what lacks for it.
        lengths: the functions with calls of other lengths; none but itself where None.
    """

    calls: type | UnionType
    loops: Callable[[Any], tuple[tuple[str, int], ...]]
    cost: Callable[[Any, Device], BandCost]
    graph: Callable[[Any, Spread], LayerGraph | Infeasible]
    lengths: Callable[[Any, Device], Iterable[RecurrentCall]] | None = None


def _side_by_side(call: RecurrentCall) -> tuple[tuple[str, int], ...]:
    """Tiles with a stream of all states."""
    return ("K", 1), ("K", call.tiles)


#: All ways; of those whose functions a call is, the first one is meant.
WAYS = (
    SpreadWay(
        AnyNeighbour,
        lambda call: (("C", 2), ("K", 2)),
        neighbour_cost,
        neighbour_graph,
        in_groups,
    ),
    SpreadWay(AnyExchange, _side_by_side, joined_cost, exchange_graph),
    SpreadWay(AnyPacket, _side_by_side, packet_cost, packet_graph),
    SpreadWay(AnyHybrid, lambda call: (("C", 1), ("K", call.tiles)), hybrid_cost, hybrid_graph),
    SpreadWay(AnyJoined, lambda call: (("K", call.tiles),), joined_cost, joined_graph),
    SpreadWay(
        GatesCall, lambda call: (("C", call.depth), ("K", call.chains)), gates_cost, gates_graph
    ),
    SpreadWay(AnyCascade, lambda call: (("C", call.tiles), ("K", 1)), cascade_cost, cascade_graph),
    SpreadWay(
        StatesCall,
        lambda call: (("C", 2), ("K", 1)),
        straight_cost,
        straight_graph,
        apart_calls,
    ),
    SpreadWay(RecurrentCall, lambda call: (), straight_cost, straight_graph),
)


def way_of(call: RecurrentCall) -> SpreadWay:
    """How the layer is spread whose function this is."""
    return next(way for way in WAYS if isinstance(call, way.calls))


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
            yield from islice(apart_calls(call, self.device), 1)
            if call.spec.cell != "gru_before":
                yield from (*joined_calls(call), *exchanging(call), *packet_calls(call))
                yield from islice(neighbouring(call, self.device), 1)
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
        return cut.tiles, shape_of(cut)[0] if isinstance(cut, AnyJoined) else 1

    def refuses(self, cut: RecurrentCall) -> Infeasible | None:
        """What a core has too little of for the function's sums or code."""
        lacks = (_code(each, self.device) for each in functions_of(cut))
        return next((each for each in lacks if each is not None), None)

    def price(self, cut: RecurrentCall) -> Priced[RecurrentCall]:
        """With calls of the fastest length."""
        way = way_of(cut)
        calls = way.lengths(cut, self.device) if way.lengths is not None else (cut,)
        found = ((call, way.cost(call, self.device)) for call in calls)
        return min(found, key=lambda pair: pair[1].latency)

    def graph(
        self, cut: RecurrentCall, columns: int, name: str, workload: Workload, constants: Arrays
    ) -> LayerGraph | Infeasible:
        """See `WAYS`."""
        del columns
        named = replace(cut, symbol=f"{name}_steps", header=f"{name}_kernels.h")
        made = way_of(cut).graph(named, Spread(name, workload, constants, self.device))
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

    def lay_out(self, cut: RecurrentCall, columns: int) -> int | Infeasible:
        """Of the graph without its numbers."""
        zeros = zeros_of(self.workload)
        return columns_of(self.graph(cut, columns, "layer", self.workload, zeros), self.device)

    def loops(self, cut: RecurrentCall, workload: Workload) -> tuple[Loop, ...]:
        """Units over tiles, and lanes of one; before them what is reduced, over tiles."""
        del workload
        sizes = *way_of(cut).loops(cut), ("K", LANES)
        return tuple(Loop(*each) for each in sizes)


def _code(call: RecurrentCall, device: Device) -> Infeasible | None:
    """Why a core does not hold the function's sums or code; None where it does."""
    sums = len(call.spec.gates) * (2 if isinstance(call, IntegerCall) else call.chunks)
    if call.parts != ("inputs",) and not isinstance(call, AnyCascade) and sums > ACCUMULATORS:
        what = "accumulators of a tile for a step's gates"
        return Infeasible(what, sums, ACCUMULATORS, "of 16 floats", LEVERS)
    try:
        much = program_bytes(works(kernel_of(call), device.architecture), call, device)
    except TargetError as error:  # registers
        return Infeasible(error.what, sums, ACCUMULATORS, "accumulators", LEVERS)
    most = device.architecture.core.program_memory_bytes
    return (
        Infeasible("program memory of a tile", much, most, "bytes", LEVERS) if much > most else None
    )
