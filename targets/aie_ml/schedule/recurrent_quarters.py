"""Code of a GRU's step of a single chunk of units, whose quarters have an accumulator each.

Products of a gate issue one a cycle, since four of them are of different accumulators. Gates come
one after the other, and functions of the first are looked up while others are multiplied: a core's
compiler would have to find that. Four accumulators are rounded, and a quarter is taken of each.
"""

from __future__ import annotations

from match_aie.targets.aie_ml.kernels.recurrent import TILE_N, RecurrentCall
from match_aie.targets.aie_ml.schedule.line import FAR, NEAR
from match_aie.targets.aie_ml.schedule.machine import MOVE, STORE, VECTOR, Machine
from match_aie.targets.aie_ml.schedule.recurrent_code import GateTimes, Step

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
    """

    def __init__(
        self, call: RecurrentCall, core: Machine, times: GateTimes, flight: int, ahead: int
    ) -> None:
        """All of it."""
        self._most = ahead
        super().__init__(call, core, times, flight)

    def _gate(self, gate: str) -> str:
        """Products of a gate, and its sums rounded."""
        name, self.ahead = f"{gate}{ONLY}", self._most
        for octet in range(self.call.h_octets):
            self._fetch(f"h{gate}.{octet}", (), 0)
            if octet == 0:
                self.start(f"{name}.q0", NEAR if gate == "n" else FAR)
                for quarter in range(1, TILE_N):
                    self.one("copy", MOVE, (f"{name}.q0",), f"{name}.q{quarter}")
                    self.forget(f"{name}.q{quarter}")
            for quarter in range(TILE_N):
                self.add_product(f"h{gate}.{octet}.all", f"{name}.q{quarter}")
        for quarter in range(TILE_N):
            self.one("srs", STORE, (f"{name}.q{quarter}",), f"{name}.x{quarter}")
        for left, right, to in (("x0", "x1", "a"), ("x2", "x3", "b"), ("a", "b", "r")):
            self.one("shuffle", MOVE, (f"{name}.{left}", f"{name}.{right}"), f"{name}.{to}")
        return f"{name}.r"

    def _function(self, rounded: str, name: str) -> str:
        """Of sums that are rounded; rounded as well."""
        self._of_rounded(rounded, name)
        self.one("srs", STORE, (name,), f"{name}.r")
        return f"{name}.r"

    def _gru(self, chunks: list[str]) -> None:
        del chunks
        reset, inner = self._gate("r"), self._gate("n")
        r = self._function(reset, "gate.r")
        update = self._gate("z")
        self.begin("seen", FAR)
        self.one("multiply", VECTOR, ("seen", r, inner), "total")
        z = self._function(update, "gate.z")
        self._looked_up("total", f"new{ONLY}")
        self._moved(ONLY, z)
