"""Blocks of tiles on the AI Engine array: the exercises of `tests/data/placement.json`.

Each row says what the best placement costs (`J`), whether that is proven, and the seconds that it
took, measured.
"""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

from rows import duration, figure, processor

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.placement import Block, Problem, place

Row = dict[str, object]

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "placement.json"


def exercises() -> dict[str, tuple[Problem, Fraction]]:
    """The exercises by name, each with the cost that its author states as the least."""
    data = json.loads(DATA.read_text())
    weights = (Fraction(str(data["lam"])), Fraction(str(data["mu"])))
    found = {}
    for one in data["examples"]:
        blocks = tuple(Block(f"block{at}", *size) for at, size in enumerate(one["blocks"]))
        edges = tuple((a, b) for a, b in one["edges"])
        problem = Problem(blocks, edges, data["W"], data["H"], (), *weights)
        found[one["name"]] = problem, Fraction(str(one["optimal_J"]))
    return found


def placement_rows(name: str) -> list[Row]:
    """All figures of an exercise.

    Raises:
        AssertionError: its blocks do not fit.
    """
    problem, optimum = exercises()[name]
    begun = processor()
    found = place(problem)
    seconds = processor() - begun
    assert not isinstance(found, Infeasible), found
    note = f"least stated: {float(optimum):g}"
    gap = f"gap {float(found.gap):g}"
    return [
        figure(name, "J", float(found.cost), "", "modelled", note),
        figure(name, "proven_optimal", float(found.proven), "", "modelled", gap),
        duration(name, "seconds", seconds, "one worker"),
    ]
