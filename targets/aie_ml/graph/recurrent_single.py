"""A GRU or LSTM in float32 on an array without memory tiles: one tile, two, or more.

x comes by a stream straight into the tiles that multiply inputs, states leave by streams from the
tiles that have them; whoever feeds the streams fills rows up. A tile that multiplies inputs lies
next to the one that reads its sums, which stay in its memory. Tiles with rows each send packets,
which are merged for all of them and for the tile that collects states.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import product

from match_aie.errors import Infeasible, TargetError
from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.array.recurrent import LEVERS
from match_aie.targets.aie_ml.array.recurrent_single import (
    single_banks,
    single_works,
)
from match_aie.targets.aie_ml.array.roles import program_bytes
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.blocks import Blocks
from match_aie.targets.aie_ml.graph.candidates import Cuts, Priced
from match_aie.targets.aie_ml.graph.layer import Arrays, zeros_of
from match_aie.targets.aie_ml.graph.plan import (
    Connection,
    End,
    LayerGraph,
    Outside,
)
from match_aie.targets.aie_ml.graph.proof import columns_of
from match_aie.targets.aie_ml.graph.recurrent_single_costs import (
    link_cost,
    sent_cost,
    single_cost,
)
from match_aie.targets.aie_ml.graph.recurrent_single_tiles import (
    HIGH,
    MOST_SENDERS,
    beside,
    in_groups,
    kernel_of,
    single_call,
    tiles_of,
    ways_of,
    wide,
)
from match_aie.targets.aie_ml.graph.recurrent_splits import along_cascade
from match_aie.targets.aie_ml.kernels.recurrent_single import (
    LANES,
    SingleCall,
    single_values,
)
from match_aie.targets.aie_ml.kernels.recurrent_single_cascade import (
    LinkCall,
    link_call,
    link_values,
)
from match_aie.targets.aie_ml.kernels.recurrent_single_hybrid import (
    SentCall,
    sent_calls,
    single_logic_call,
)
from match_aie.workload import Workload

#: Tiles of a chain at most.
LONGEST = 20

#: What helps where tiles of more columns have room for what those of fewer have not.
MORE = "more columns for a layer (columns_per_layer)"


@dataclass(frozen=True, eq=False)
class SingleCuts(Cuts[SingleCall]):
    """A recurrent layer in float32 as the search sees it: a cut is a function of its states.

    Attributes:
        workload: in float32, every operation of which is certain.
        device: for which.
    """

    workload: Workload
    device: Device

    @property
    def _lines(self) -> bool:
        """Whether functions are lines out of tables, as logic has them."""
        return self.workload.real is not None and self.workload.real.precision == "single_lines"

    def all(self, columns: int) -> Iterator[SingleCall]:
        """Every way, with the shortest calls; along a cascade, where one tile has the state.

        With functions out of tables gates are in logic.
        """
        del columns
        alone = single_call(self.workload, "layer")
        if self._lines:
            yield from sent_calls(alone, MOST_SENDERS)
            return
        yield from ways_of(alone)
        short = (link_call(alone, seen, 1) for seen in (1, 2))
        yield from (chain for chain in short if chain is not None)

    def read(self, nest: Mapping, workload: Workload) -> Priced[SingleCall] | Infeasible | None:
        """The cut of these loops, which may be along a longer cascade, too: that is no faster.

        Raises:
            TargetError: they say none.
        """
        if self._lines or along_cascade(nest.spatial) is None:
            return super().read(nest, workload)  # functions of logic are no core's
        many = (loop.size for loop in nest.spatial[:2])
        cut = link_call(single_call(self.workload, "layer"), *many)
        if cut is None or self.nest(cut, workload) != nest:
            raise TargetError(f"{nest} is no nest of a {workload.kind}")
        return self.refuses(cut) or self.price(cut)

    def shape(self, cut: SingleCall) -> tuple[int, int]:
        """Tiles, and columns side by side."""
        return len(tiles_of(cut)), wide(cut)

    def refuses(self, cut: SingleCall) -> Infeasible | None:
        """What a tile has too little of, and whether more columns give it enough."""
        reason = self._lacks(cut)
        if reason is None:
            return None
        alone = single_call(self.workload, "layer")
        *_, widest = sent_calls(alone, MOST_SENDERS) if self._lines else ways_of(alone)
        if wide(widest) <= wide(cut) or self._lacks(widest) is not None:
            return reason
        return replace(reason, levers=(MORE, *reason.levers))

    def _lacks(self, cut: SingleCall) -> Infeasible | None:
        most = self.device.architecture.core.program_memory_bytes
        for tile in dict.fromkeys(tiles_of(cut)):
            banked = single_banks(tile, self.device)
            if isinstance(banked, Infeasible):
                return banked
            try:
                much = program_bytes(
                    single_works(tile, self.device.architecture), tile, self.device
                )
            except TargetError as error:
                return Infeasible(error.what, 1, 0, "schedules", LEVERS)
            if much > most:
                return Infeasible("program memory of a tile", much, most, "bytes", LEVERS)
        return None

    def price(self, cut: SingleCall) -> Priced[SingleCall]:
        """With the longest calls that there is room for: streams from outside begin less often."""
        longest = next(in_groups(cut, self.device))
        if isinstance(longest, LinkCall):
            return longest, link_cost(longest, self.device)
        if isinstance(longest, SentCall):
            return longest, sent_cost(longest, self.device)
        return longest, single_cost(longest, self.device)

    def graph(
        self, cut: SingleCall, columns: int, name: str, workload: Workload, constants: Arrays
    ) -> LayerGraph | Infeasible:
        """See `single_graph`.

        Args:
            cut: a function of its states.
            columns: it takes as many as it needs.
            name: of the graph.
            workload: the layer.
            constants: its weights, and its bias.
        """
        del columns
        symbol = f"{name}_steps" + "_rows" * bool(cut.senders)
        named = replace(cut, symbol=symbol, header=f"{name}_kernels.h")
        return single_graph(named, name, workload, constants)

    def lay_out(self, cut: SingleCall, columns: int) -> int | Infeasible:
        """Of the graph without its numbers."""
        zeros = zeros_of(self.workload)
        return columns_of(self.graph(cut, columns, "layer", self.workload, zeros), self.device)

    def loops(self, cut: SingleCall, workload: Workload) -> tuple[Loop, ...]:
        """Units over tiles, and lanes of one; before them the reduction, where inputs are apart."""
        del workload
        lanes = Loop("K", LANES)
        if isinstance(cut, LinkCall):
            return (Loop("C", cut.inputs_of), Loop("C", cut.chain - cut.inputs_of), lanes)
        if isinstance(cut, SentCall):
            return (Loop("C", 1), Loop("K", cut.tiles), lanes)
        if cut.senders:
            return (Loop("K", 1), Loop("K", cut.tiles), lanes)
        return (lanes,) if "inputs" in cut.parts else (Loop("C", 2), Loop("K", 1), lanes)


def single_splits() -> Iterator[Mapping]:
    """Loops of every way that a layer might have."""
    lanes = Loop("K", LANES)
    yield Mapping((lanes,), ())
    yield Mapping((Loop("C", 2), Loop("K", 1), lanes), ())
    for senders in range(2, MOST_SENDERS + 1):
        yield Mapping((Loop("K", 1), Loop("K", senders), lanes), ())
    for senders in range(1, MOST_SENDERS + 1):
        yield Mapping((Loop("C", 1), Loop("K", senders), lanes), ())
    for seen, states in product(range(1, LONGEST), repeat=2):
        if seen + states <= LONGEST:
            yield Mapping((Loop("C", seen), Loop("C", states), lanes), ())


def single_graph(call: SingleCall, name: str, workload: Workload, constants: Arrays) -> LayerGraph:
    """Tiles beside each other, between a stream from outside and one back.

    Args:
        call: the function of the first tile with states.
        name: of the graph.
        workload: the layer.
        constants: its weights, and its bias.
    """
    tiles = tiles_of(call)
    kernels, shares = [], _shares(tiles)
    for number, (tile, share) in enumerate(zip(tiles, shares, strict=True)):
        if isinstance(tile, LinkCall):
            values, place = link_values(tile, constants), (number, 0)
        else:
            values = single_values(tile, share, constants)
            place = divmod(number, HIGH) if tile.parts else (0, HIGH)
        kernels.append(replace(kernel_of(tile), place=place, values=tuple(values.items())))
    steps, rows = call.steps, call.group * call.passes
    x = Blocks("x", (steps, call.inputs), rows, call.x_width)
    y = Blocks("y", (steps, call.hidden), rows, call.whole)
    kind = workload.kind.upper()
    logic = single_logic_call(call) if isinstance(call, SentCall) else None
    how = "without memory tiles" if logic is None else "gates in logic"
    return LayerGraph(
        name,
        f"{kind} of {call.hidden} units in float32, {steps} steps on {len(tiles)} tile"
        f"{'s' * (len(tiles) > 1)}, {how}",
        (Outside("x_way0", "float32", x.elements, blocks=x),),
        (Outside("y_way0", "float32", y.elements, blocks=y),),
        (),
        tuple(kernels),
        tuple(_connections(tiles)),
        wide(call),
        logic=logic,
    )


def _shares(tiles: tuple[SingleCall, ...]) -> list[int]:
    """Which of the tiles that share the units each belongs to."""
    if len(tiles) <= 2 or tiles[0].role == "link":
        return [0] * len(tiles)
    return [2 * (row // HIGH) + row % HIGH // 2 for row in range(len(tiles))]


def _connections(tiles: tuple[SingleCall, ...]) -> Iterator[Connection]:
    """From outside into the tiles for inputs, between tiles, and out of the last one."""
    inside, out, last = End("outside", 0), End("outside", 1), len(tiles) - 1
    for number, tile in enumerate(tiles):
        if "inputs" in tile.parts:
            yield Connection(inside, End("buffer", number))
    yield from _between(tiles)
    yield Connection(End("buffer", last), out)


def _between(tiles: tuple[SingleCall, ...]) -> Iterator[Connection]:
    """Words, states, sums and packets."""
    last = len(tiles) - 1
    if tiles[last].role == "link":
        for number in range(last):
            yield Connection(End("cascade", number), End("cascade", number + 1))
            if "steps" in tiles[number].parts:
                yield Connection(End("buffer", last, 1), End("buffer", number))
    elif tiles[last].role == "keep":
        yield from _over_and_back(tiles)
    elif tiles[last].role == "gather":
        yield from _packets(tiles)
    elif last == 1:
        yield Connection(End("buffer", 0), End("lent", 1))


def _packets(tiles: tuple[SingleCall, ...]) -> Iterator[Connection]:
    """Between tiles with rows, each beside the one that multiplies its inputs."""
    rows = yield from _lent(tiles)
    for sink in (*rows, len(tiles) - 1):
        for source in rows:
            yield Connection(End("buffer", source), End("packets", sink))


def _over_and_back(tiles: tuple[SingleCall, ...]) -> Iterator[Connection]:
    """All sums to logic, and states to all tiles."""
    rows = yield from _lent(tiles)
    for port, row in enumerate(rows):
        yield Connection(End("buffer", row), End("logic", 0, port))
    for row in rows:
        yield Connection(End("logic", 0), End("buffer", row, 1))
    yield Connection(End("logic", 0), End("buffer", len(tiles) - 1))


def _lent(tiles: tuple[SingleCall, ...]) -> Generator[Connection, None, list[int]]:
    """Sums of inputs to tiles with rows, whose numbers it returns."""
    rows = [number for number, tile in enumerate(tiles) if tile.role in ("rows", "sent")]
    for row in rows:
        yield Connection(End("buffer", beside(row)), End("lent", row))
    return rows
