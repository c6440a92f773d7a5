"""Code of a step of a single chunk of units, whose quarters have an accumulator each.

Products of a gate issue one a cycle, since four of them are of different accumulators. Gates come
one after the other, and functions of the first are looked up while others are multiplied: a core's
compiler would have to find that. Four accumulators are rounded, and a quarter is taken of each.

A tile that has all units need not load its state: it is rounded in the step before. So are the
first gate's sums and its first weights loaded there, while functions are looked up: no step waits
for a load before its first product. A core's compiler would have to keep them in registers.

Of two tiles that have half of the units each, the state is in two vectors of sixteen units. A
tile's own half is in a register from the step before. The other one is rounded as it comes along
the cascade, and read from that register, or is loaded from where the other tile stores it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from match_aie.targets.aie_ml.kernels.recurrent import LANES, TILE_K, TILE_N, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import NeighbourCall
from match_aie.targets.aie_ml.kernels.recurrent_quarters import KEPT_OCTETS, HeldSpec
from match_aie.targets.aie_ml.schedule.line import FAR, NEAR
from match_aie.targets.aie_ml.schedule.machine import (
    LOAD_A,
    LOAD_B,
    MOVE,
    STORE,
    VECTOR,
    Machine,
)
from match_aie.targets.aie_ml.schedule.operation import WORD, Operation
from match_aie.targets.aie_ml.schedule.recurrent_code import Code, GateTimes, Step

#: The chunk.
ONLY = "0"


class QuarteredStep(Step):
    """A step.

    Args:
        call: the function.
        core: where it runs.
        times: that are assumed.
        flight: functions that are looked up at a time.
        ahead: pairs of weights' registers that are filled ahead of their products.
        together: whether sums that an LSTM's cell waits for are rounded behind all their products:
            roundings land where loads do.

    Attributes:
        looked_up: gates that an LSTM's cell waits for, in the order that is placed shortest.
    """

    looked_up: ClassVar[str] = "fig"

    def __init__(
        self,
        call: RecurrentCall,
        core: Machine,
        times: GateTimes,
        flight: int,
        ahead: int,
        *,
        together: bool = False,
    ) -> None:
        """All of it."""
        self._most, self._together = ahead, together
        self._octets: dict[tuple[str, int], str] = {}
        super().__init__(call, core, times, flight)

    def _gate(self, gate: str) -> str:
        """Products of a gate, and its sums rounded."""
        self._multiply(gate)
        return self._rounded(gate)

    def _multiply(self, gate: str) -> None:
        """Products of a gate."""
        name, self.ahead = f"{gate}{ONLY}", self._most
        for octet in range(self.call.h_octets):
            rows = self._octet(gate, octet)
            if octet == 0:
                self._begin_gate(gate)
            for quarter in range(TILE_N):
                self.add_product(rows, f"{name}.q{quarter}")

    def _rounded(self, gate: str) -> str:
        """A gate's sums rounded, its quarters put together."""
        name = f"{gate}{ONLY}"
        for quarter in range(TILE_N):
            self.one("srs", STORE, (f"{name}.q{quarter}",), f"{name}.x{quarter}")
        for left, right, to in (("x0", "x1", "a"), ("a", "x2", "b"), ("b", "x3", "r")):
            self.one("shuffle", MOVE, (f"{name}.{left}", f"{name}.{right}"), f"{name}.{to}")
        return f"{name}.r"

    def _begin_gate(self, gate: str) -> None:
        """What a gate's sums begin with, in each quarter's accumulator."""
        name = f"{gate}{ONLY}"
        self.start(f"{name}.q0", NEAR if gate == "n" else FAR)
        for quarter in range(1, TILE_N):
            self.one("copy", MOVE, (f"{name}.q0",), f"{name}.q{quarter}")
            self.forget(f"{name}.q{quarter}")

    def _octet(self, gate: str, octet: int) -> str:
        """An octet of the state for a gate's products, loaded with the next one.

        Few octets stay in registers for all gates.
        """
        of = "h" if self.call.h_octets <= KEPT_OCTETS[self.call.spec.cell] else f"h{gate}"
        if (of, octet) not in self._octets:
            self._fetch_pair(of, octet)
        return self._octets[of, octet]

    def _fetch_pair(self, of: str, first: int) -> None:
        """Two octets of a state by one load."""
        both = f"{of}.{first}.both"
        op = Operation("load", both, (LOAD_A, LOAD_B), (), both, self.core.load, FAR, WORD)
        self.line.put(op, max(self._there.get(first, 0), self.before(self.ahead + TILE_N)))
        self._spread(both, of, first)

    def _spread(self, both: str, of: str, first: int) -> None:
        """Sixteen units as two octets, each four times in a vector."""
        self.one("shuffle", MOVE, (both,), f"{both}.twice")
        for octet in range(first, min(first + 2, self.call.h_octets)):
            name = self._octets[of, octet] = f"{of}.{octet}.all"
            self.one("shuffle", MOVE, (f"{both}.twice",), name)

    def _function(self, rounded: str, name: str) -> str:
        """Of sums that are rounded; rounded as well."""
        self._of_rounded(rounded, name)
        self.one("srs", STORE, (name,), f"{name}.r")
        return f"{name}.r"

    def _gru(self, chunks: list[str]) -> None:
        del chunks
        r = self._function(self._gate("r"), "gate.r")
        inner = self._gate("n")
        self.begin("seen", FAR)
        self.one("multiply", VECTOR, ("seen", r, inner), "total")
        update = self._gate("z")
        self._looked_up("total", f"new{ONLY}")
        self._rest(ONLY)
        self._stepped(ONLY, self._function(update, "gate.z"))

    def _lstm(self, chunks: list[str]) -> None:
        """The last gate is looked up beside the cell's tanh."""
        del chunks
        sums: dict[str, str] = {}
        for gate in "fgi":
            self._multiply(gate)
            if not self._together:
                sums[gate] = self._rounded(gate)
        if self._together:
            sums = {gate: self._rounded(gate) for gate in "fgi"}
        order = "fgi" if self._together else self.looked_up
        gates = {gate: self._function(sums[gate], f"gate.{gate}") for gate in order}
        o = self._gate("o")
        self._kept(gates)
        self._bent()
        self._shown(self._function(o, "gate.o"))

    def _kept(self, gates: Mapping[str, str]) -> None:
        """An LSTM's cell after gates that are rounded."""
        self.begin("cell")
        self.one("srs", STORE, ("cell",), "cell.r")
        self.one("multiply", VECTOR, ("cell", gates["f"], "cell.r"), "kept")
        self.one("multiply", VECTOR, ("kept", gates["i"], gates["g"]), "after")

    def _bent(self) -> None:
        """Its tanh, rounded."""
        self._looked_up("after", "bent")
        self.one("srs", STORE, ("bent",), "bent.r")

    def _shown(self, o: str) -> None:
        """What the last gate lets through of that."""
        self.one("multiply", VECTOR, (o, "bent.r"), "out")
        self._end("after", "out")


#: The state, rounded, and registers of 256 bits that a tile of weights takes.
STATE, TILE_REGISTERS = "state.rounded", 2


def prepared(code: Code, tiles: int, after: int) -> tuple[str, ...]:
    """Loads what a step finds beside its state, and says how that is called.

    Args:
        code: which does.
        tiles: of weights.
        after: cycle from which on.
    """
    sums = [f"next.q{quarter}" for quarter in range(TILE_N)]
    for part in range(2):
        code.load_sums(f"{sums[0]}.{part}", sums[0], after)
    for name in sums[1:]:
        code.one("copy", MOVE, (sums[0],), name)
    weights = [f"next.w{at}" for at in range(tiles)]
    for name in weights:
        for side in (NEAR, FAR):
            code.load(name, side, after)
    return (*sums, *weights)


class Preparing(Code):
    """What a call has before its first step."""

    def __init__(self, call: RecurrentCall, core: Machine, times: GateTimes) -> None:
        """All of it."""
        super().__init__(call, core, times)
        assert isinstance(call.spec, HeldSpec)
        prepared(self, call.spec.held_tiles, 0)


class HeldStep(QuarteredStep):
    """A step; see `QuarteredStep`."""

    looked_up = "ifg"

    def _gru(self, chunks: list[str]) -> None:
        self._found()
        super()._gru(chunks)

    def _lstm(self, chunks: list[str]) -> None:
        self._found()
        super()._lstm(chunks)

    def _found(self) -> None:
        """What is there, and octets of the state."""
        spec = self.call.spec
        assert isinstance(spec, HeldSpec)
        self._held, first = spec.held_tiles, spec.products[0][0]
        for quarter in range(TILE_N):
            self.line.given(f"{first}{ONLY}.q{quarter}", 1, sums=True)
        for at in range(self._held):
            self.line.given(f"held{at}", TILE_REGISTERS)
        self.line.given(STATE, 1)
        self.one("shuffle", MOVE, (STATE,), "twice")
        for octet in range(self.call.h_octets):
            self.one("shuffle", MOVE, ("twice",), f"{octet}.all")

    def _begin_gate(self, gate: str) -> None:
        """Sums of the first gate are there."""
        if gate != self.call.spec.products[0][0]:
            super()._begin_gate(gate)

    def _octet(self, gate: str, octet: int) -> str:
        """An octet of the state, which is there."""
        del gate
        return f"{octet}.all"

    def add_product(self, rows: str, sums: str, after: int = 0) -> None:
        """The first products' weights are there; see `Code`."""
        number = len(self._issued)
        if number >= self._held:
            super().add_product(rows, sums, after)
            return
        reads = rows, f"held{number}", sums
        op = Operation("product", f"w{number}", (VECTOR,), reads, sums, self.latency)
        self._last[sums] = self.line.put(op)
        self._issued.append(self._last[sums])

    def _end(self, state: str, out: str) -> None:
        """The state, which the next step finds in registers with all else that it begins with."""
        found = prepared(self, self._held, self._read)
        self.one("srs", STORE, (out,), f"{out}.y")
        self.store(f"{out}.y", side=NEAR)
        for _ in range(2):
            self.store(state, "store_accumulator")
        for name in (*found, f"{out}.y"):
            self.line.keep(name)


#: The own half of a state, rounded, and octets of a half.
OWN, HALF = "own.rounded", LANES // TILE_K


class PairedStep(QuarteredStep):
    """A step of either tile; see `QuarteredStep`."""

    call: NeighbourCall

    def _take_words(self, call: NeighbourCall) -> None:
        """The other tile's units, rounded."""
        self.take("word")
        self.one("srs", STORE, ("word",), "word.r")

    def _fetch_pair(self, of: str, first: int) -> None:
        """Two octets of a state, which are there but for those that are loaded."""
        own = first == HALF * self.call.tile
        if own:
            self.line.given(OWN, 1)
        if own or self.call.takes:
            self._spread(OWN if own else "word.r", of, first)
        else:
            super()._fetch_pair(of, first)

    def _end(self, state: str, out: str) -> None:
        """The state, rounded for the result, for the other tile, and in a register."""
        if self.call.hands:
            self.give(out)
        self.one("srs", STORE, (out,), f"{out}.y")
        for _ in range(1 if self.call.hands else 2):
            self.store(f"{out}.y", side=NEAR)
        for _ in range(2):
            self.store(state, "store_accumulator")
        self.line.keep(f"{out}.y")
