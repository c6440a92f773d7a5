"""What a caller may ask of the mapping search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from match_aie.errors import OptionError
from match_aie.hardware import Objective
from match_aie.mapping.space import Tiles

Engine = Literal["loma", "exact", "zigzag"]


@dataclass(frozen=True)
class SearchOptions:
    """How to search.

    Attributes:
        engine: "loma" takes loop orders from ZigZag's LomaEngine and cuts them by our cost;
            "exact" proves its answer; "zigzag" also leaves the cuts to ZigZag (a baseline).
        tiles: "divisor" for tiles without remainders only, "ragged" for those with too.
        objective: what to minimise.
        lpf_limit: loop prime factors that LOMA permutes; beyond it the smallest are merged.
        max_orderings: loop orders that LOMA tries at most; None for all.
        runners_up: further mappings to return, each the best for another kernel tile.
        tolerance: engine "exact" does not look for mappings that are better by less than this,
            relatively.
        pareto: an inner memory of which bytes are traded for the objective; the answer is then
            every mapping than which none is better in both (engine "exact" only).
    """

    engine: Engine = "loma"
    tiles: Tiles = "ragged"
    objective: Objective = "latency"
    lpf_limit: int | None = 7
    max_orderings: int | None = None
    runners_up: int = 3
    tolerance: float = 0.0
    pareto: str | None = None

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        known = {
            "engine": ("loma", "exact", "zigzag"),
            "tiles": ("divisor", "ragged"),
            "objective": ("latency", "energy", "edp"),
        }
        for field, values in known.items():
            if getattr(self, field) not in values:
                raise OptionError(
                    f"{field} {getattr(self, field)!r} is unknown", hint=f"one of {values}"
                )
        if self.lpf_limit is not None and self.lpf_limit < 1:
            raise OptionError(f"lpf_limit starts at 1, not {self.lpf_limit}")
        if self.runners_up < 0 or not 0 <= self.tolerance < 1:
            raise OptionError("runners_up may not be negative, tolerance lies in [0, 1)")
        if self.pareto is not None and (self.engine != "exact" or self.tolerance):
            raise OptionError(
                f"pareto {self.pareto!r}: only engine 'exact' without tolerance finds a front",
                hint="SearchOptions('exact', pareto=...)",
            )
