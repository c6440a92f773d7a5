"""Weights of integer products that are asked for ahead of their use."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.cpu.machine import Machine

#: Bytes of a cache line.
LINE = 64
#: Weights of more than this share of the second cache are taken to come from beyond it: what other
#: layers read went through it since. An assumption; less is not worth the instructions.
FETCHED_SHARE = 1 / 8
#: Steps of the inner loop between two requests, where they need not come more often.
REQUEST_STEPS = 4


@dataclass(frozen=True)
class Fetch:
    """The next panel's weights, asked for ahead of their use by the tiles of this one.

    Attributes:
        every: steps of the inner loop from one request to the next; they divide a run.
        lines: cache lines of a request.
        share: bytes that a tile asks for.
        last: where the last share begins, so that no more than the panel is asked for.
    """

    every: int
    lines: int
    share: int
    last: int


def fetch(
    machine: Machine,
    *,
    weights: int,
    panel: int,
    tiles: int,
    runs: int,
    steps: int,
    least: float = 1.0,
) -> Fetch | None:
    """Requests of the tiles of a panel, so that they ask for the next one together.

    None where the second cache may keep the weights, or one tile reads a panel.

    Args:
        machine: the core.
        weights: bytes of all.
        panel: bytes of a panel.
        tiles: that read a panel, one after the other.
        runs: times that a tile enters the inner loop.
        steps: of the inner loop in a run.
        least: share of its runs that a tile takes at least; others ask for what comes behind, too.
    """
    caches = machine.caches
    if tiles == 1 or len(caches) < 2 or weights < FETCHED_SHARE * caches[1].bytes:
        return None
    fewest = max(1, round(runs * least))
    wanted = -(-panel // (LINE * tiles * fewest))
    parts = [n for n in range(min(REQUEST_STEPS, steps), steps + 1) if steps % n == 0]
    every = max((n for n in parts if steps // n >= wanted), default=parts[0])
    lines = -(-wanted // (steps // every))
    each = lines * (steps // every) * LINE
    return Fetch(every, lines, each * fewest, max(0, panel - each * runs))
