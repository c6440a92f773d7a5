"""Schedules of recurrent kernels: the inputs' products of a group of steps, and a step.

Both are straight lines of code, placed operation by operation at the first bundle in which what it
reads is there and slots, banks and ports have room. Steps follow each other without overlap: each
reads the state that the one before it stores last. The tile's memory has two sides
(`array.recurrent`): weights lie in both, and whatever is in one side counts as one bank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from match_aie.targets.aie_ml.devices import Architecture
from match_aie.targets.aie_ml.kernels.recurrent import GROUP, TILE_N, TOGETHER, RecurrentCall
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES
from match_aie.targets.aie_ml.schedule.machine import (
    LOAD_A,
    LOAD_B,
    MOVE,
    STORE,
    VECTOR,
    Machine,
    machine,
)
from match_aie.targets.aie_ml.schedule.operation import WORD, Kind, Operation
from match_aie.targets.aie_ml.schedule.table import Table

#: Sides of the tile's memory: x, biases, y and half of the weights; the other half and all else.
NEAR, FAR = "near", "far"

#: Pairs of weights' registers that are filled ahead of their products: those that are left beside
#: rows, gates and constants.
AHEAD = 7

#: Bundles that are looked at for an operation.
LIMIT = 1 << 14


@dataclass(frozen=True)
class GateTimes:
    """Cycles that no document states. ASSUMPTIONS.

    Attributes:
        floor: of the instruction that makes an integer of a bfloat16 by its floor, until its
            result may be read: taken as those of the conversion to bfloat16.
        turn: more of every step: its loop, and the pointers of both rounded states.
    """

    floor: int = 4
    turn: int = 10

    def scaled(self, factor: float) -> GateTimes:
        """All of them multiplied, rounded to whole cycles."""
        return GateTimes(round(self.floor * factor), round(self.turn * factor))


@dataclass(frozen=True)
class GroupSchedule:
    """A group's call; cycles are modelled.

    Attributes:
        inputs: cycles of the products of the inputs.
        step: of a step.
        turn: more of each.
        steps: of the group.
        bundles: of both pieces of code.
        kinds: operations of the inputs' part, and of a step, by kind.
    """

    inputs: int
    step: int
    turn: int
    steps: int
    bundles: int
    kinds: tuple[Counter[str], Counter[str]]
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()

    @property
    def body(self) -> int:
        """Cycles from the first load to the last store."""
        return self.inputs + self.steps * (self.step + self.turn)

    @property
    def program_bytes(self) -> int:
        """Estimate of the program memory taken."""
        return self.bundles * BUNDLE_BYTES

    @property
    def counts(self) -> Counter[str]:
        """Operations of a call by their kind."""
        inputs, step = self.kinds
        return Counter({kind: inputs[kind] + self.steps * step[kind] for kind in {*inputs, *step}})


def group_schedule(
    call: RecurrentCall, arch: Architecture, steps: int, times: GateTimes = GateTimes()
) -> GroupSchedule:
    """Modelled cycles of a group of so many steps.

    Raises:
        TargetError: facts are missing.
    """
    core = machine(arch)
    inputs, step = _Inputs(call, core, times).line, _Step(call, core, times).line
    bundles = inputs.cycles + step.cycles + FRAME_BUNDLES
    kinds = inputs.kinds, step.kinds
    return GroupSchedule(inputs.cycles, step.cycles, times.turn, steps, bundles, kinds)


def group_works(
    call: RecurrentCall, arch: Architecture, times: GateTimes = GateTimes()
) -> Iterator[GroupSchedule]:
    """The schedule of every group of a run."""
    whole = group_schedule(call, arch, GROUP, times)
    for group in range(call.passes):
        yield whole if group + 1 < call.passes else replace(whole, steps=call.last)


class _Line:
    """A straight line of code, placed as it is made."""

    def __init__(self) -> None:
        self.cycles = 0
        self.kinds: Counter[str] = Counter()
        self._table = Table(None)
        self._ready: dict[str, int] = {}

    def put(self, op: Operation, after: int = 0) -> int:
        """The cycle in which `op` issues: at `after` or later, once what it reads is there."""
        first = max((self._ready[name] for name in op.reads), default=0)
        placed = self._table.search(op, range(max(first, after), max(first, after) + LIMIT))
        assert placed is not None, "a line of code longer than any program memory"
        landed = placed.cycle + op.latency
        if op.writes:
            self._ready[op.writes] = max(landed, self._ready.get(op.writes, 0))
        self.cycles = max(self.cycles, landed + 1)
        self.kinds[op.kind] += 1
        return placed.cycle

    def gather(self, op: Operation) -> int:
        """The cycle of an operation of the far side that takes the near side, too."""
        cycle = max((self._ready[name] for name in op.reads), default=0)
        while (NEAR, cycle) in self._table.banks or self._table.slot_for(op, cycle) is None:
            cycle += 1
        self._table.banks.add((NEAR, cycle))
        return self.put(op, cycle)


class _Code:
    """What both pieces of code are made of."""

    def __init__(self, call: RecurrentCall, core: Machine, times: GateTimes) -> None:
        self.call, self.core, self.times = call, core, times
        self.line = _Line()
        self._issued: list[int] = []
        self._last: dict[str, int] = {}

    def load(self, name: str, side: str, after: int = 0) -> int:
        """A vector of 256 bits."""
        op = Operation("load", name, (LOAD_A, LOAD_B), (), name, self.core.load, side, WORD)
        return self.line.put(op, after)

    def begin(self, name: str, side: str = FAR) -> None:
        """Sixteen floats of memory in an accumulator."""
        for part in range(2):
            what, latency = f"{name}.{part}", self.core.load
            self.line.put(
                Operation("load_accumulator", what, (LOAD_A,), (), name, latency, side, WORD)
            )
        self._last.pop(name, None)

    def add_product(self, rows: str, sums: str, after: int = 0) -> None:
        """A product of `rows` and the next tile of the weights, which is loaded for it."""
        number = len(self._issued)
        ahead = self._issued[number - AHEAD] if number >= AHEAD else 0
        name = f"w{number}"
        for side in (NEAR, FAR):
            self.load(name, side, after=max(ahead, after))
        reads = (rows, name) if sums in self._last else (rows, name, sums)
        op = Operation("product", name, (VECTOR,), reads, sums, self.core.float_product)
        least = self._last.get(sums, -self.core.float_distance) + self.core.float_distance
        self._last[sums] = self.line.put(op, max(least, 0))
        self._issued.append(self._last[sums])

    def one(self, kind: Kind, slot: str, reads: tuple[str, ...], name: str, after: int = 0) -> int:
        """An operation of one slot that writes `name`, with the latency of its kind."""
        latency = {
            "srs": self.core.srs,
            "multiply": self.core.float_product,
            "load_accumulator": self.core.load,
        }.get(kind, self.core.move)
        return self.line.put(Operation(kind, name, (slot,), reads, name, latency), after)

    def store(self, name: str, kind: Kind = "store", side: str = FAR) -> int:
        """A vector, or a half of an accumulator."""
        return self.line.put(Operation(kind, name, (STORE,), (name,), "", 0, side, WORD))


class _Inputs(_Code):
    """The products of the inputs of a group; two sets of accumulators take turns."""

    def __init__(self, call: RecurrentCall, core: Machine, times: GateTimes) -> None:
        super().__init__(call, core, times)
        total = len(call.spec.gates) * call.chunks
        free: dict[str, int] = {}
        for turn, first in enumerate(range(0, total, TOGETHER)):
            count = min(TOGETHER, total - first)
            names = [f"c{turn % 2}.{at}" for at in range(TILE_N * count)]
            for at in range(count):
                self._biased(f"{turn}.{at}", names[TILE_N * at : TILE_N * (at + 1)], free)
            for octet in range(call.x_octets):
                rows = f"x{turn}.{octet}"
                ahead = self._issued[-len(names)] if len(self._issued) >= len(names) else 0
                for _ in range(2):
                    self.load(rows, NEAR, after=ahead)
                for name in names:
                    self.add_product(rows, name)
            for at in range(count):
                free |= self._out(f"{turn}.{at}", names[TILE_N * at : TILE_N * (at + 1)])

    def _biased(self, tag: str, names: list[str], free: dict[str, int]) -> None:
        """Quarters of sixteen biases, each repeated, in accumulators that are free again."""
        for _ in range(2):
            self.load(f"b{tag}", NEAR)
        for half in range(2):
            self.one("shuffle", MOVE, (f"b{tag}",), f"b{tag}.{half}")
        for at, name in enumerate(names):
            self.one("shuffle", MOVE, (f"b{tag}.{at // 2}",), f"b{tag}.q{at}")
            self._last.pop(name, None)
            self.one("copy", MOVE, (f"b{tag}.q{at}",), name, free.get(name, 0))

    def _out(self, tag: str, names: list[str]) -> dict[str, int]:
        """Four quarters of sums side by side, a vector for each step; when registers are free."""
        moved = {name: self.one("copy", MOVE, (name,), f"v{tag}.{name}") for name in names}
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


class _Step(_Code):
    """A step: products and gates, what is waited for first."""

    def __init__(self, call: RecurrentCall, core: Machine, times: GateTimes) -> None:
        super().__init__(call, core, times)
        self._read = 0
        chunks = [str(chunk) for chunk in range(call.chunks)]
        cell = {"gru": self._gru, "gru_before": self._gru_before, "lstm": self._lstm}
        cell[call.spec.cell](chunks)

    def _products(self, turn: int) -> None:
        """Of the gates of a turn; those of a state that gates make wait for what these read."""
        call = self.call
        gates, made = call.spec.products[turn], call.spec.cell == "gru_before" and turn == 1
        names = [f"{gate}{chunk}" for chunk in range(call.chunks) for gate in gates]
        begin = self._read if made else 0
        for octet in range(call.h_octets):
            of = f"h{turn}.{octet}"
            reads = (f"reset{octet // 2}",) if made else ()
            op = Operation("load", of, (LOAD_A, LOAD_B), reads, of, self.core.load, FAR, WORD // 2)
            self.line.put(op, begin)
            self.one("shuffle", MOVE, (of,), f"{of}.twice")
            self.one("shuffle", MOVE, (f"{of}.twice",), f"{of}.all")
            for name in names if octet == 0 else ():
                apart = call.spec.cell == "gru" and name.startswith("n")
                self.begin(name, NEAR if apart else FAR)
            for quarter in range(TILE_N):
                rows = f"{of}.{quarter}"
                self.one("shuffle", MOVE, (f"{of}.all",), rows)
                for name in names:
                    self.add_product(rows, name, begin)

    def _looked_up(self, sums: str, name: str) -> None:
        """A function of sums: rounded, made an index, a line gathered, slope times argument."""
        self.one("srs", STORE, (sums,), f"{name}.x")
        put = self.store(f"{name}.x")
        self.load(f"{name}.l", FAR, put + 1)
        floor = Operation("srs", name, (STORE,), (f"{name}.x",), f"{name}.i", self.times.floor)
        self.line.put(floor)
        for what, source in (("least", "i"), ("most", "least"), ("at", "most")):
            self.one("shuffle", MOVE, (f"{name}.{source}",), f"{name}.{what}")
        for _ in range(4):
            at = (f"{name}.at",)
            op = Operation("load", name, (LOAD_B,), at, f"{name}.g", self.core.load, FAR, WORD)
            self._read = self.line.gather(op) + 1
        self.one("shuffle", MOVE, (f"{name}.g",), f"{name}.slope")
        self.one("shuffle", MOVE, (f"{name}.g",), f"{name}.high")
        self.one("copy", MOVE, (f"{name}.high",), f"{name}.offset")
        line = f"{name}.slope", f"{name}.l", f"{name}.offset"
        self.one("multiply", VECTOR, line, name)

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
            self.begin(f"seen{at}")
            self.one("multiply", VECTOR, (f"seen{at}", r, f"n{at}.r"), f"total{at}")
        for at in chunks:
            self._looked_up(f"total{at}", f"new{at}")
        self._products(1)
        for at in chunks:
            self._moved(at, self._rounded_gate("z", at))

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
        self.begin(f"state{at}")
        self.one("multiply", VECTOR, (f"new{at}", f"state{at}"), f"rest{at}")
        self.one("srs", STORE, (f"rest{at}",), f"rest{at}.r")
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
            self._looked_up(f"after{at}", f"bent{at}")
            self.one("srs", STORE, (f"bent{at}",), f"bent{at}.r")
        self._products(1)
        for at in chunks:
            o = self._rounded_gate("o", at)
            self.one("multiply", VECTOR, (o, f"bent{at}.r"), f"out{at}")
            self._end(f"after{at}", f"out{at}")

    def _end(self, state: str, out: str) -> None:
        """A state of floats, and its rounded form for the result and for the next step."""
        self.one("srs", STORE, (out,), f"{out}.y")
        self.store(f"{out}.y", side=NEAR)
        self.store(f"{out}.y")
        for _ in range(2):
            self.store(state, "store_accumulator")
