"""Code of a step that begins with what the one before it has left in registers.

A tile that has all units need not load its state: it is rounded in the step before. So are the
first gate's sums and its first weights loaded there, while functions are looked up: no step waits
for a load before its first product. A core's compiler would have to keep them in registers.
"""

from __future__ import annotations

from match_aie.targets.aie_ml.kernels.recurrent import TILE_N, RecurrentCall
from match_aie.targets.aie_ml.kernels.recurrent_quarters import HeldSpec
from match_aie.targets.aie_ml.schedule.line import FAR, NEAR
from match_aie.targets.aie_ml.schedule.machine import MOVE, STORE, VECTOR, Machine
from match_aie.targets.aie_ml.schedule.operation import Operation
from match_aie.targets.aie_ml.schedule.recurrent_code import Code, GateTimes
from match_aie.targets.aie_ml.schedule.recurrent_quarters import ONLY, QuarteredStep

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
