"""The Pareto front of the objective against the bytes of one memory, by engine `exact`.

The epsilon-constraint method (Y. Haimes, L. Lasdon, D. Wismer, IEEE Trans. Systems, Man and
Cybernetics 1(3), 1971): the best placement of all takes b bytes of the memory; then the best of
those that take at most b - 1; and so on until nothing fits. No point of the front is missed: take
the last round whose limit is not below its bytes b*. What this round finds is at least as good,
and, since the next limit is below b*, takes at most b* bytes. So it is that point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from match_aie.errors import OptionError
from match_aie.hardware import ExecModule
from match_aie.mapping.exact import Exact
from match_aie.mapping.layout import Layout
from match_aie.mapping.pool import Placement, Pool

#: Values closer than this, relatively, are the same: the engine does not tell them apart.
SAME = 1e-9


def refuse_memory(module: ExecModule, memory: str) -> None:
    """Refuse a memory whose bytes no mapping changes.

    Raises:
        OptionError: `memory` is not an inner memory of the module.
    """
    names = [m.name for m in module.memories[:-1]]
    if memory not in names:
        raise OptionError(
            f"pareto {memory!r} is not an inner memory of module {module.name!r}",
            hint=f"one of {names}" if names else "the module has a single memory",
        )


def descend(
    exact: Exact, memory: str, used: Callable[[Placement], int]
) -> Iterator[tuple[Placement, float]]:
    """Best placements, and their proven bounds, with ever fewer bytes of `memory`.

    Takes the capacity away from `exact`, which is of no use for anything else afterwards. What it
    has kept from earlier rounds are lower bounds, and hold all the more with less room.

    Args:
        exact: the engine, ready.
        memory: an inner memory.
        used: whole bytes that a placement takes of it.
    """
    tier, at = _place(exact.problem.layout, memory)
    while True:
        pool = Pool()
        exact.solve(pool)
        if not pool.found:
            return
        placement = pool.ranked()[0][2]
        yield placement, pool.bound
        exact.capacity[tier][at] = used(placement) - 1


def _place(layout: Layout, memory: str) -> tuple[int, int]:
    """Tier of a memory, and its index there."""
    found = [
        (tier, at)
        for tier, memories in enumerate(layout.tiers)
        for at, m in enumerate(memories)
        if m.name == memory
    ]
    return found[0]
