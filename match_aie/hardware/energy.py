"""What things on a chip take in picojoules, each figure with its source and how sure it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from match_aie.errors import OptionError, TargetError

Objective = Literal["latency", "energy", "edp"]


@dataclass(frozen=True)
class Figure:
    """A number of picojoules.

    Attributes:
        value: what is reckoned with.
        low: the least that is plausible.
        high: the most.
        source: where it is from.
    """

    value: float
    low: float
    high: float
    source: str

    def __post_init__(self) -> None:
        """Refuse what is no range, and what nobody said."""
        if not 0 <= self.low <= self.value <= self.high < float("inf"):
            raise TargetError(
                f"{self.value} pJ do not lie between {self.low} and {self.high}",
                hint="0 <= low <= value <= high",
            )
        if not self.source:
            raise TargetError(
                f"{self.value} pJ without a source", hint="name one, or leave the figure out"
            )


@dataclass(frozen=True)
class Charges:
    """Picojoules that a cost model of tiles charges.

    Attributes:
        unit: of a cycle in which the module's unit works.
        core: of a cycle in which the core works that walks over tiles.
        byte: of a byte that moves between the module's outermost memory and the one inside.
    """

    unit: float
    core: float
    byte: float


@dataclass(frozen=True)
class Energy:
    """A chip's figures. What stands still is not in them: they are of work, not of time.

    Attributes:
        core: of a cycle in which the control core, or the one that walks over tiles, works.
        units: of a cycle in which a module's unit works, by the module's name.
        byte: of a byte that a transfer moves.
        fetched: of a byte that comes from the backing memory.
    """

    core: Figure
    units: Mapping[str, Figure]
    byte: Figure
    fetched: Figure

    def charges(self, module: str) -> Charges:
        """What a module's cost model charges."""
        return Charges(self.units[module].value, self.core.value, self.byte.value)


def refuse_objective(objective: Objective, target: str, energy: Energy | None) -> None:
    """Refuse to compare by energy on a chip of which no energy is known.

    Raises:
        OptionError: so it is.
    """
    if objective == "latency" or energy is not None:
        return
    raise OptionError(
        f"the objective {objective!r} needs energy, and target {target!r} states none",
        where=f"target {target}",
        hint="objective 'latency', or a target with figures (GAP9 has some)",
    )
