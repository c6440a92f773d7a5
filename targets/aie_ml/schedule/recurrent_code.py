"""Code of recurrent kernels, operation by operation: products of a group's inputs, and a step."""

from __future__ import annotations

from dataclasses import astuple, dataclass

from match_aie.targets.aie_ml.kernels.recurrent import (
    LANES,
    TILE_K,
    TILE_N,
    RecurrentCall,
)
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import NeighbourCall
from match_aie.targets.aie_ml.schedule.line import FAR, NEAR, Line
from match_aie.targets.aie_ml.schedule.machine import (
    LOAD_A,
    LOAD_B,
    MOVE,
    STORE,
    VECTOR,
    Machine,
)
from match_aie.targets.aie_ml.schedule.operation import WORD, Kind, Operation

#: Pairs of weights' registers that are filled ahead of their products at most: a product a cycle
#: wants as many as a load takes cycles.
MOST_AHEAD = 7

#: Registers of 256 bits: zeros beside a row's octet, and the bounds of a table's lines.
ZEROS, BOUNDS = 2, 4


@dataclass(frozen=True)
class GateTimes:
    """Cycles that no document states. ASSUMPTIONS.

    Attributes:
        floor: of the instruction that makes an integer of a bfloat16 by its floor, until its
            result may be read: taken as those of the conversion to bfloat16.
        turn: more of every step: its loop, and the pointers of both rounded states.
        packet: from the last word of a stream's packet until all of it may be loaded as a vector:
            what the header says is looked up, and words stored, as long as it takes to load one.
    """

    floor: int = 4
    turn: int = 10
    packet: int = 10

    def scaled(self, factor: float) -> GateTimes:
        """All of them multiplied, rounded to whole cycles."""
        return GateTimes(*(round(each * factor) for each in astuple(self)))


class Code:
    """What both pieces of code are made of."""

    def __init__(self, call: RecurrentCall, core: Machine, times: GateTimes) -> None:
        """Nothing yet."""
        self.call, self.core, self.times = call, core, times
        self.line = Line()
        self.ahead = MOST_AHEAD
        self.latency, self.distance = core.float_product, core.float_distance
        self._issued: list[int] = []
        self._last: dict[str, int] = {}

    def load(self, name: str, side: str, after: int = 0) -> int:
        """A vector of 256 bits."""
        op = Operation("load", name, (LOAD_A, LOAD_B), (), name, self.core.load, side, WORD)
        return self.line.put(op, after)

    def begin(self, name: str, side: str = FAR) -> None:
        """Sixteen floats of memory in an accumulator."""
        for part in range(2):
            self.load_sums(f"{name}.{part}", name, side=side)
        self.forget(name)

    def load_sums(self, what: str, name: str, after: int = 0, side: str = FAR) -> None:
        """Half of sixteen floats, in an accumulator.

        Args:
            what: is loaded.
            name: of the accumulator.
            after: cycle from which on.
            side: of the memory.
        """
        load = self.core.load
        op = Operation("load_accumulator", what, (LOAD_A,), (), name, load, side, WORD)
        self.line.put(op, after)

    def forget(self, name: str) -> None:
        """No product has been added to it."""
        self._last.pop(name, None)

    def add_product(self, rows: str, sums: str, after: int = 0) -> None:
        """A product of `rows` and the next tile of the weights, which is loaded for it."""
        number = len(self._issued)
        ahead = self._issued[number - self.ahead] if number >= self.ahead else 0
        name = f"w{number}"
        for side in (NEAR, FAR):
            self.load(name, side, after=max(ahead, after))
        reads = (rows, name) if sums in self._last else (rows, name, sums)
        op = Operation("product", name, (VECTOR,), reads, sums, self.latency)
        least = self._last.get(sums, -self.distance) + self.distance
        self._last[sums] = self.line.put(op, max(least, 0))
        self._issued.append(self._last[sums])

    def before(self, count: int) -> int:
        """When the product that is so many before the next one issues: registers are free then."""
        return self._issued[-count] if len(self._issued) >= count else 0

    def one(self, kind: Kind, slot: str, reads: tuple[str, ...], name: str, after: int = 0) -> int:
        """An operation of one slot that writes `name`, with the latency of its kind."""
        latency = {
            "srs": self.core.srs,
            "multiply": self.core.float_product,
            "load_accumulator": self.core.load,
        }.get(kind, self.core.move)
        wide = 2 * WORD if kind == "shuffle" else WORD if kind == "srs" else 0
        op = Operation(kind, name, (slot,), reads, name, latency, bytes=wide)
        return self.line.put(op, after)

    def out_of(self, sums: str, name: str) -> int:
        """An accumulator as a vector of floats."""
        op = Operation("copy", name, (MOVE,), (sums,), name, self.core.move, bytes=2 * WORD)
        return self.line.put(op)

    def take(self, name: str, after: int = 0) -> None:
        """The next word of a cascade, sixteen floats, in an accumulator."""
        self.forget(name)
        first = self.line.reads[-1] + 1 if self.line.reads else 0
        op = Operation("cascade_read", name, (LOAD_A,), (), name, self.core.cascade_read)
        self.line.put(op, max(first, after))

    def give(self, name: str) -> None:
        """Sixteen floats onto the cascade, behind those before."""
        first = self.line.writes[-1] + 1 if self.line.writes else 0
        self.line.put(Operation("cascade_write", name, (STORE,), (name,)), first)

    def store(self, name: str, kind: Kind = "store", side: str = FAR) -> int:
        """A vector, or a half of an accumulator."""
        return self.line.put(Operation(kind, name, (STORE,), (name,), "", 0, side, WORD))


class Inputs(Code):
    """The products of the inputs of a group; two sets of accumulators take turns.

    Args:
        call: the function.
        core: where it runs.
        times: that are assumed.
        ahead: pairs of weights' registers that are filled ahead of their products.
        serial: whether a turn begins when the one before it is stored.
        total: gates of chunks; None of all that a part of the units has.
    """

    def __init__(
        self,
        call: RecurrentCall,
        core: Machine,
        times: GateTimes,
        ahead: int,
        *,
        serial: bool,
        total: int | None = None,
    ) -> None:
        """All of it."""
        super().__init__(call, core, times)
        self.ahead = ahead
        if total is None:
            total = len(call.spec.gates) * call.chunks // call.input_parts
        free: dict[str, int] = {}
        self._wait = 0
        for turn, first in enumerate(range(0, total, call.abreast)):
            count = min(call.abreast, total - first)
            names = [f"c{turn % 2}.{at}" for at in range(TILE_N * count)]
            for at in range(count):
                self._biased(f"{turn}.{at}", names[TILE_N * at : TILE_N * (at + 1)], free)
            for octet in range(call.x_octets):
                if octet == 0:
                    self._fetch(f"x{turn}.0")
                for at, name in enumerate(names):
                    if at == len(names) // 2 and octet + 1 < call.x_octets:
                        self._fetch(f"x{turn}.{octet + 1}")
                    self.add_product(f"x{turn}.{octet}", name, self._wait)
            for at in range(count):
                free |= self._out(f"{turn}.{at}", names[TILE_N * at : TILE_N * (at + 1)])
            self._wait = self.line.cycles if serial else 0

    def _fetch(self, rows: str) -> None:
        """Rows of an octet."""
        for _ in range(2):
            self.load(rows, NEAR, max(self._wait, self.before(self.ahead)))

    def _biased(self, tag: str, names: list[str], free: dict[str, int]) -> None:
        """Quarters of sixteen biases, each repeated, in accumulators that are free again."""
        for _ in range(2):
            self.load(f"b{tag}", NEAR, max(self._wait, free.get(names[0], 0)))
        for half in range(2):
            self.one("shuffle", MOVE, (f"b{tag}",), f"b{tag}.{half}")
        for at, name in enumerate(names):
            self.one("shuffle", MOVE, (f"b{tag}.{at // 2}",), f"b{tag}.q{at}")
            self.forget(name)
            self.line.renew(name)
            self.one("copy", MOVE, (f"b{tag}.q{at}",), name, free.get(name, 0))

    def _out(self, tag: str, names: list[str]) -> dict[str, int]:
        """Four quarters of sums side by side, a vector for each step; when registers are free."""
        moved = {name: self.out_of(name, f"v{tag}.{name}") for name in names}
        a, b, c, d = (f"v{tag}.{name}" for name in names)
        for left, right, to in ((a, c, "e"), (b, d, "o")):
            for half in range(2):
                self.one("shuffle", MOVE, (left, right), f"v{tag}.{to}{half}")
        for half in range(2):
            for part in range(2):
                name = f"v{tag}.{half}{part}"
                self.one("shuffle", MOVE, (f"v{tag}.e{half}", f"v{tag}.o{half}"), name)
                for _ in range(2):
                    self.store(name)
        return moved


class Step(Code):
    """A step: products and gates, what is waited for first."""

    def __init__(self, call: RecurrentCall, core: Machine, times: GateTimes, flight: int) -> None:
        """All of it, with so many functions looked up at a time."""
        super().__init__(call, core, times)
        self._flight = flight
        self._read = 0
        self._ends: list[int] = []
        self._there: dict[int, int] = {}
        if isinstance(call, NeighbourCall) and call.takes:
            self._take_words(call)
        chunks = self._chunks()
        cell = {"gru": self._gru, "gru_before": self._gru_before, "lstm": self._lstm}
        cell[call.spec.cell](chunks)

    def _chunks(self) -> list[str]:
        """Of units, each of sixteen lanes."""
        return [str(chunk) for chunk in range(self.call.chunks)]

    def start(self, name: str, side: str) -> None:
        """Sixteen sums to which products are added, or which are added to them."""
        self.begin(name, side)

    def _products(self, turn: int) -> None:
        """Of the gates of a turn; those of a state that gates make wait for what these read."""
        call = self.call
        gates, made = call.spec.products[turn], call.spec.cell == "gru_before" and turn == 1
        names = [f"{gate}{chunk}" for chunk in range(call.chunks) for gate in gates]
        begin = self._read if made else 0
        for octet in range(call.h_octets):
            of = f"h{turn}.{octet}"
            if octet == 0:
                self._fetch(of, ("reset0",) if made else (), begin)
                for name in names:
                    apart = call.spec.cell == "gru" and name.startswith("n")
                    self.start(name, NEAR if apart else FAR)
            for quarter in range(TILE_N):
                if quarter == TILE_N // 2 and octet + 1 < call.h_octets:
                    reads = (f"reset{(octet + 1) // 2}",) if made else ()
                    self._fetch(f"h{turn}.{octet + 1}", reads, begin)
                rows = f"{of}.{quarter}"
                free = self.before(2 * len(names))
                chosen = self.one("shuffle", MOVE, (f"{of}.all",), rows, free)
                self.line.hold(f"zeros{turn}", ZEROS, chosen)
                for name in names:
                    self.add_product(rows, name, begin)

    def _fetch(self, of: str, reads: tuple[str, ...], begin: int) -> None:
        """An octet of a state, four times in a vector; once half of the products before are on."""
        op = Operation("load", of, (LOAD_A, LOAD_B), reads, of, self.core.load, FAR, WORD // 2)
        there = self._there.get(int(of.rpartition(".")[2]), 0)
        self.line.put(op, max(begin, there, self.before(self.ahead)))
        self.one("shuffle", MOVE, (of,), f"{of}.twice")
        self.one("shuffle", MOVE, (f"{of}.twice",), f"{of}.all")

    def _take_words(self, call: NeighbourCall) -> None:
        """The other tile's units: rounded, and stored for the products; behind its own."""
        octets = LANES // TILE_K
        for chunk in range(call.chunks):
            name = f"word{chunk}"
            self.take(name)
            self.one("srs", STORE, (name,), f"{name}.r")
            put = self.store(f"{name}.r")
            first = call.h_octets // 2 + octets * chunk
            self._there |= dict.fromkeys(range(first, first + octets), put + 1)

    def _looked_up(self, sums: str, name: str) -> None:
        """A function of sums, which are rounded."""
        self.one("srs", STORE, (sums,), f"{name}.x", self._turn())
        self._of_rounded(f"{name}.x", name)

    def _turn(self) -> int:
        """When one of the functions that are looked up at a time is done."""
        return self._ends[-self._flight] if len(self._ends) >= self._flight else 0

    def _of_rounded(self, rounded: str, name: str) -> None:
        """A function of rounded sums: an index, a line that is gathered, slope times argument."""
        what, floor = f"{name}.i", self.times.floor
        index = Operation("srs", name, (STORE,), (rounded,), what, floor, bytes=2 * WORD)
        self.line.put(index, self._turn())
        kept = Operation("store", rounded, (STORE,), (rounded,), "", 0, FAR, WORD)
        put = self.line.put(kept, self._turn())
        self.load(f"{name}.l", FAR, put + 1)
        for what, source in (("least", "i"), ("most", "least"), ("at", "most")):
            bounded = self.one("shuffle", MOVE, (f"{name}.{source}",), f"{name}.{what}")
            if what != "at":
                self.line.hold(f"bounds{len(self._issued)}", BOUNDS, bounded)
        for _ in range(4):
            at = (f"{name}.at",)
            op = Operation("load", name, (LOAD_B,), at, f"{name}.g", self.core.load, FAR, WORD)
            self._read = self.line.gather(op) + 1
        self.one("shuffle", MOVE, (f"{name}.g",), f"{name}.high")
        self.one("shuffle", MOVE, (f"{name}.g",), f"{name}.slope")
        self.one("copy", MOVE, (f"{name}.high",), f"{name}.offset")
        line = f"{name}.slope", f"{name}.l", f"{name}.offset"
        self._ends.append(self.one("multiply", VECTOR, line, name))

    def _rounded_gate(self, gate: str, chunk: str) -> str:
        name = f"gate.{gate}{chunk}"
        self._looked_up(f"{gate}{chunk}", name)
        self.one("srs", STORE, (name,), f"{name}.r")
        return f"{name}.r"

    def _gru(self, chunks: list[str]) -> None:
        self._products(0)
        for at in chunks:
            r = self._rounded_gate("r", at)
            self.one("srs", STORE, (f"n{at}",), f"n{at}.r")
            self.start(f"seen{at}", FAR)
            self.one("multiply", VECTOR, (f"seen{at}", r, f"n{at}.r"), f"total{at}")
        update = {at: self._rounded_gate("z", at) for at in chunks}
        for at in chunks:
            self._looked_up(f"total{at}", f"new{at}")
        for at in chunks:
            self._moved(at, update[at])

    def _gru_before(self, chunks: list[str]) -> None:
        """1 - z is kept, and r * h is what products read."""
        self._products(0)
        for at in chunks:
            self.load(f"now{at}", FAR)
            r = self._rounded_gate("r", at)
            self.one("multiply", VECTOR, (r, f"now{at}"), f"rh{at}")
            self.one("srs", STORE, (f"rh{at}",), f"rh{at}.r")
            put = self.store(f"rh{at}.r")
            self.line.put(Operation("copy", "stored", (MOVE,), (), f"reset{at}", 1), put)
        for at in chunks:
            self.store(self._rounded_gate("z", at))
        self._products(1)
        for at in chunks:
            self._looked_up(f"n{at}", f"new{at}")
            self.load(f"update{at}", FAR)
            self._moved(at, f"update{at}")

    def _moved(self, at: str, update: str) -> None:
        """A GRU's state on its way to what it would be anew."""
        self._rest(at)
        self._stepped(at, update)

    def _rest(self, at: str) -> None:
        """What it has before it."""
        self.begin(f"state{at}")
        self.one("multiply", VECTOR, (f"new{at}", f"state{at}"), f"rest{at}")
        self.one("srs", STORE, (f"rest{at}",), f"rest{at}.r")

    def _stepped(self, at: str, update: str) -> None:
        """The part of it that a gate lets through."""
        self.one("multiply", VECTOR, (f"state{at}", update, f"rest{at}.r"), f"after{at}")
        self._end(f"after{at}", f"after{at}")

    def _lstm(self, chunks: list[str]) -> None:
        self._products(0)
        for at in chunks:
            i, v, g = (self._rounded_gate(gate, at) for gate in ("i", "f", "g"))
            self.begin(f"cell{at}")
            self.one("srs", STORE, (f"cell{at}",), f"cell{at}.r")
            self.one("multiply", VECTOR, (f"cell{at}", v, f"cell{at}.r"), f"kept{at}")
            self.one("multiply", VECTOR, (f"kept{at}", i, g), f"after{at}")
        for at in chunks:
            o = self._rounded_gate("o", at)
            self._looked_up(f"after{at}", f"bent{at}")
            self.one("srs", STORE, (f"bent{at}",), f"bent{at}.r")
            self.one("multiply", VECTOR, (o, f"bent{at}.r"), f"out{at}")
        for at in chunks:
            self._end(f"after{at}", f"out{at}")

    def _end(self, state: str, out: str) -> None:
        """A state of floats, and its rounded form for the result and for the next step."""
        neighbour = isinstance(self.call, NeighbourCall)
        hands = isinstance(self.call, NeighbourCall) and self.call.hands
        if hands:
            self.give(out)
        self.one("srs", STORE, (out,), f"{out}.y")
        for _ in range(2 if neighbour and not hands else 1):
            self.store(f"{out}.y", side=NEAR)
        self.store(f"{out}.y")
        for _ in range(2):
            self.store(state, "store_accumulator")
