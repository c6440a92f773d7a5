"""Code of a step whose gates are in programmable logic: products, and their sums rounded."""

from __future__ import annotations

from match_aie.targets.aie_ml.kernels.recurrent_hybrid import HybridCall, IntegerHybridCall
from match_aie.targets.aie_ml.schedule.line import FAR, NEAR
from match_aie.targets.aie_ml.schedule.machine import STORE, Machine
from match_aie.targets.aie_ml.schedule.recurrent_code import GateTimes, Step
from match_aie.targets.aie_ml.schedule.recurrent_int8_code import IntegerStep
from match_aie.targets.aie_ml.schedule.recurrent_quarters import ONLY, QuarteredStep


def _hand_on(step: Step, chunks: list[str]) -> None:
    """Sums of the inputs that logic adds behind the reset gate, in two halves."""
    for at in chunks:
        for half in range(2):
            step.load(f"seen{at}.{half}", FAR)
            step.store(f"seen{at}.{half}", side=NEAR)


class SentStep(Step):
    """A step of all units, gates of a turn together."""

    call: HybridCall

    def __init__(self, call: HybridCall, core: Machine, times: GateTimes) -> None:
        """All of it."""
        super().__init__(call, core, times, 1)

    def _gru(self, chunks: list[str]) -> None:
        self._products(0)
        for at in chunks:
            for gate in self.call.sent:
                self.one("srs", STORE, (f"{gate}{at}",), f"{gate}{at}.r")
                self.store(f"{gate}{at}.r", side=NEAR)
        _hand_on(self, chunks * self.call.beside)

    def _lstm(self, chunks: list[str]) -> None:
        self._gru(chunks)


class SentQuarters(QuarteredStep):
    """A step of a GRU of a single chunk, gate after gate."""

    def __init__(self, call: HybridCall, core: Machine, times: GateTimes, ahead: int) -> None:
        """All of it, with so many pairs of weights' registers filled ahead."""
        super().__init__(call, core, times, 1, ahead)

    def _gru(self, chunks: list[str]) -> None:
        del chunks
        for gate in ("r", "n", "z"):
            self.store(self._gate(gate), side=NEAR)
        _hand_on(self, [ONLY])


class IntegerSentStep(IntegerStep):
    """A chunk of a step with products of 8 bits: sums times their scales are rounded and sent."""

    call: IntegerHybridCall

    def __init__(
        self, call: IntegerHybridCall, core: Machine, times: GateTimes, later: int
    ) -> None:
        """All of it, with so many pairs of weights' registers filled ahead of later turns."""
        super().__init__(call, core, times, 1, later)

    def _gru(self, chunks: list[str]) -> None:
        for turn, gates in enumerate(self.call.spec.products):
            self._products(turn)
            for at in chunks:
                for gate in gates:
                    apart = gate == "n" and self.call.beside
                    name = self._scaled(gate, at, NEAR if apart else FAR)
                    self.one("srs", STORE, (name,), f"{name}.r")
                    self.store(f"{name}.r", side=NEAR)
        _hand_on(self, chunks * self.call.beside)

    def _lstm(self, chunks: list[str]) -> None:
        self._gru(chunks)
