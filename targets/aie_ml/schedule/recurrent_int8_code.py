"""Code of recurrent kernels with products of 8 bits, operation by operation."""

from __future__ import annotations

from match_aie.targets.aie_ml.kernels.recurrent_exchange import IntegerExchangeCall
from match_aie.targets.aie_ml.kernels.recurrent_int8 import QUARTERS, IntegerCall
from match_aie.targets.aie_ml.schedule.line import FAR, NEAR
from match_aie.targets.aie_ml.schedule.machine import MOVE, STORE, VECTOR, Machine
from match_aie.targets.aie_ml.schedule.recurrent_code import ZEROS, Code, GateTimes, Step

#: Accumulators of sixteen lanes that an integer tile's sums take; and those that hold the numbers
#: with whose bits sums and states begin, for as long as the code runs.
WIDE_SUMS, KEPT = 2.0, 3.0


def _wholly(code: Code, sums: str, name: str) -> str:
    """Sixteen sums that began with a large number, rounded to bfloat16."""
    code.one("multiply", VECTOR, (sums,), f"{name}.f")  # less that number
    code.one("srs", STORE, (f"{name}.f",), f"{name}.b")
    return f"{name}.b"


def _kept(code: Code) -> None:
    """What stays in accumulators."""
    code.line.hold("kept", KEPT, 0, sums=True)
    code.line.hold("kept", KEPT, code.line.cycles, sums=True)


class IntegerInputs(Code):
    """The products of the inputs of a group and a chunk, one gate after the other, or of one gate.

    Args:
        call: the function.
        core: where it runs.
        times: that are assumed.
        ahead: pairs of weights' registers that are filled ahead of their products.
        serial: whether a gate begins when the one before it is stored.
    """

    def __init__(
        self, call: IntegerCall, core: Machine, times: GateTimes, ahead: int, *, serial: bool
    ) -> None:
        """All of it."""
        super().__init__(call, core, times)
        self.ahead = ahead
        self.latency, self.distance = core.product, core.product_distance
        free: dict[str, int] = {}
        wait = 0
        names = [f"c{at}" for at in range(QUARTERS)]
        for number in range(1 if call.looped else len(call.spec.gates)):
            for name in names:
                self._begun(f"{number}.{name}", name, max(wait, free.get(name, 0)))
            for octet in range(call.x_octets):
                rows = f"x{number}.{octet}"
                self.load(rows, NEAR, max(wait, self.before(self.ahead)))
                for name in names:
                    self.add_product(rows, name, wait)
            for name in names:
                free[name] = self._out(f"{number}.{name}", name)
            wait = self.line.cycles if serial else 0
        _kept(self)

    def _begun(self, tag: str, name: str, after: int) -> None:
        """An octet of first values, four times: a vector twice, and both halves of the sums."""
        self.load(f"b{tag}", NEAR, after)
        self.one("shuffle", MOVE, (f"b{tag}",), f"b{tag}.twice")
        self.forget(name)
        self.line.renew(name)
        self.line.widen(name, WIDE_SUMS)
        for _ in range(2):
            self.one("copy", MOVE, (f"b{tag}.twice",), name, after)

    def _out(self, tag: str, name: str) -> int:
        """Sums times scales and biases, a vector for two steps; when registers are free."""
        last = 0
        self.load(f"s{tag}", FAR, self.before(2))
        self.begin(f"d{tag}", NEAR)
        for half in range(2):
            sums = _wholly(self, name, f"{tag}.{half}")
            reads = f"s{tag}", sums, f"d{tag}"
            last = self.one("multiply", VECTOR, reads, f"{tag}.{half}.m")
            for _ in range(2):
                self.store(f"{tag}.{half}.m", "store_accumulator")
        return last


class IntegerStep(Step):
    """A chunk of a step: products and gates, what is waited for first.

    Of a reset gate that is applied before the product a piece: what makes it, or what reads it.
    """

    call: IntegerCall

    def __init__(
        self,
        call: IntegerCall,
        core: Machine,
        times: GateTimes,
        flight: int,
        later: int,
        piece: int = 0,
    ) -> None:
        """All of it.

        Args:
            call: the function.
            core: where it runs.
            times: that are assumed.
            flight: functions that are looked up at a time.
            later: pairs of weights' registers filled ahead of the products of later turns.
            piece: of a reset gate before the product, which.
        """
        self._later, self._piece = later, piece
        super().__init__(call, core, times, flight)
        _kept(self)

    def _chunks(self) -> list[str]:
        """Halves of a chunk of 32 units."""
        return ["0", "1"]

    def _products(self, turn: int) -> None:
        call = self.call
        self.latency, self.distance = self.core.product, self.core.product_distance
        later = bool(self._issued)
        if later:
            self.ahead = self._later
        names = call.spec.products[turn]
        for name in names:
            self.line.widen(name, WIDE_SUMS)
            self.first(name, self.before(1) if later else 0)
        for vector in range(call.vectors):
            of = f"h{turn}.{vector}"
            self.load(of, FAR, self.before(self.ahead))
            for at in range(QUARTERS):
                rotated = of if not at else f"{of}.{at}"
                for quarter in range(QUARTERS):
                    free = self.before(2 * len(names))
                    if at and not quarter:
                        self.one("shuffle", MOVE, (of,), rotated, free)
                    rows = f"{of}.{at}.{quarter}"
                    chosen = self.one("shuffle", MOVE, (rotated,), rows, free)
                    self.line.hold(f"zeros{turn}", ZEROS, chosen)
                    for name in names:
                        self.add_product(rows, name)

    def first(self, name: str, after: int) -> None:
        """What sums begin with: bits that stay in registers."""
        self.one("copy", MOVE, (), name, after)

    def _scaled(self, gate: str, at: str, side: str = FAR) -> str:
        """Sums of sixteen units: what the inputs add, and products times their scale."""
        name = f"{gate}.{at}"
        whole = _wholly(self, gate, name)
        self.load(f"{name}.s", FAR, self.before(1))
        self.start(f"{name}.seen", side)
        self.one("multiply", VECTOR, (f"{name}.seen", f"{name}.s", whole), f"{gate}.{at}.sum")
        return f"{gate}.{at}.sum"

    def _rounded_gate(self, gate: str, chunk: str) -> str:
        name = f"gate.{gate}{chunk}"
        self._looked_up(self._scaled(gate, chunk), name)
        self.one("srs", STORE, (name,), f"{name}.r")
        return f"{name}.r"

    def _gru(self, chunks: list[str]) -> None:
        self._products(0)
        inner = {}
        for at in chunks:
            r = self._rounded_gate("r", at)
            inner[at] = self._scaled("n", at, NEAR)
            self.one("srs", STORE, (inner[at],), f"{inner[at]}.r")
            self.start(f"seen{at}", FAR)
            self.one("multiply", VECTOR, (f"seen{at}", r, f"{inner[at]}.r"), f"total{at}")
        self._products(1)
        for at in chunks:
            self._looked_up(f"total{at}", f"new{at}")
        update = {at: self._rounded_gate("z", at) for at in chunks}
        for at in chunks:
            self._moved(at, update[at])

    def _gru_before(self, chunks: list[str]) -> None:
        """1 - z is kept, and r * h is what products read."""
        self._products(self._piece)
        if not self._piece:
            for at in chunks:
                self.load(f"now{at}", FAR)
                r = self._rounded_gate("r", at)
                self.one("multiply", VECTOR, (r, f"now{at}"), f"rh{at}")
                self._in_steps(f"rh{at}")
            for at in chunks:
                self.store(self._rounded_gate("z", at))
            return
        for at in chunks:
            self._looked_up(self._scaled("n", at), f"new{at}")
            self.load(f"update{at}", FAR)
            self._moved(at, f"update{at}")

    def _in_steps(self, name: str) -> None:
        """A state in steps of 1/128, stored: its bits with a large number, less its bits."""
        self.one("multiply", VECTOR, (name,), f"{name}.moved")
        self.one("multiply", VECTOR, (f"{name}.moved",), f"{name}.less")
        self.one("srs", STORE, (f"{name}.less",), f"{name}.q")
        self.store(f"{name}.q")

    def _end(self, state: str, out: str) -> None:
        self._in_steps(out)
        if isinstance(self.call, IntegerExchangeCall):
            self.store(f"{out}.q", side=NEAR)
        self.one("srs", STORE, (out,), f"{out}.y")
        self.store(f"{out}.y", side=NEAR)
        if self.call.spec.cell == "gru_before":
            self.store(f"{out}.y")
        for _ in range(2):
            self.store(state, "store_accumulator")
