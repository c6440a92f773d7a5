"""The kernels of sixteen units a tile: an accumulator for each quarter of a gate's sums.

Products issue one a cycle, gate after gate, those that others wait for first. Sums are the same, in
the same order, as where a gate has one accumulator.
"""

from __future__ import annotations

from match_aie.targets.aie_ml.kernels.recurrent import LANES, Cell, RecurrentSpec

#: Octets of a state that registers hold for all gates at most; of more, each gate loads its own.
KEPT_OCTETS: dict[Cell, int] = {"gru": 6, "lstm": 4}

#: Gates whose products of the state are computed together, in turn, what is waited for first.
ALONE: dict[Cell, tuple[tuple[str, ...], ...]] = {
    "gru": (("r",), ("n",), ("z",)),
    "lstm": (("f",), ("g",), ("i",), ("o",)),
}


class QuarteredSpec(RecurrentSpec):
    """A step's code for a single chunk."""

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"{super().family}_quarters"

    @property
    def products(self) -> tuple[tuple[str, ...], ...]:
        """A gate at a time."""
        return ALONE[self.cell]

    #: Each quarter has one.
    quartered = True

    #: Whether a step gets the state as two vectors of sixteen units, and leaves one of them.
    paired = False

    @property
    def kept_octets(self) -> int:
        """Octets of a state that registers hold for all gates at most."""
        return KEPT_OCTETS[self.cell]


class HeldSpec(QuarteredSpec):
    """Likewise, where one tile has all units: a step begins with what registers hold.

    These are the state, rounded, what the first gate's sums begin with, and its first weights.
    """

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"{super().family}_held"

    #: A step leaves there what the next one begins with.
    held = True

    #: Tiles of weights that a step finds: products that issue before a load is there.
    held_tiles = 3


class PairedSpec(QuarteredSpec):
    """Likewise, where two tiles have all units: both halves of a state are in registers.

    A tile's own half is there from the step before, the other one as it comes.
    """

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"{super().family}_paired"

    #: A step gets the state so.
    paired = True


def spec_for(cell: Cell, units: int) -> RecurrentSpec:
    """The code of a tile with so many units."""
    return QuarteredSpec(cell) if units <= LANES and cell in ALONE else RecurrentSpec(cell)


def spec_alone(cell: Cell, units: int) -> RecurrentSpec:
    """The code of a tile that has all units, and walks many steps in a call."""
    return HeldSpec(cell) if units <= LANES and cell in ALONE else RecurrentSpec(cell)
