"""Code of a step whose state is in two vectors of sixteen units, half of it of another tile.

A tile's own half is in a register from the step before. The other one is rounded as it comes along
the cascade, and read from that register, or is loaded from where the other tile stores it.
"""

from __future__ import annotations

from match_aie.targets.aie_ml.kernels.recurrent import LANES, TILE_K
from match_aie.targets.aie_ml.kernels.recurrent_neighbours import NeighbourCall
from match_aie.targets.aie_ml.schedule.line import NEAR
from match_aie.targets.aie_ml.schedule.machine import LOAD_A, STORE
from match_aie.targets.aie_ml.schedule.operation import Operation
from match_aie.targets.aie_ml.schedule.recurrent_quarters import QuarteredStep

#: The own half of a state, rounded, and octets of a half.
OWN, HALF = "own.rounded", LANES // TILE_K


class PairedStep(QuarteredStep):
    """A step of either tile; see `QuarteredStep`."""

    call: NeighbourCall

    def _take_words(self, call: NeighbourCall) -> None:
        """The other tile's units, rounded."""
        latency = self.core.cascade_read
        self.line.put(Operation("cascade_read", "word", (LOAD_A,), (), "word", latency))
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
            self.line.put(Operation("cascade_write", out, (STORE,), (out,)))
        self.one("srs", STORE, (out,), f"{out}.y")
        for _ in range(1 if self.call.hands else 2):
            self.store(f"{out}.y", side=NEAR)
        for _ in range(2):
            self.store(state, "store_accumulator")
        self.line.keep(f"{out}.y")
