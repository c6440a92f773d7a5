"""From a placement (a chain of tiles) to a mapping (a loop nest with cuts)."""

from __future__ import annotations

from itertools import pairwise

from match_aie.hardware import Cut, Loop, Mapping
from match_aie.mapping.pool import Placement
from match_aie.mapping.tables import Problem


def to_mapping(problem: Problem, placement: Placement) -> Mapping:
    """The nest that visits the placement's tiles: from the whole layer inward, one after another.

    Between two tiles, loops stand in the order of the workload's dimensions; loops of one
    iteration are left out.
    """
    space = problem.space
    nodes = {placement.kernel, space.whole, *(node for _, node in placement.nodes)}
    chain = sorted(nodes, key=lambda node: -_volume(space.extents(node)))
    loops: list[Loop] = []
    index = {chain[0]: 0}
    for outer, inner in pairwise(chain):
        loops += between(space.extents(outer), space.extents(inner))
        index[inner] = len(loops)
    kernel = index[placement.kernel]
    unroll = {dim: 1 for dim in space.sizes}
    for loop in space.spatial:
        unroll[loop.dim] *= loop.size
    loops += between(space.extents(placement.kernel), unroll)
    return Mapping(space.spatial, tuple(loops), kernel, _cuts(problem, placement, index))


def _volume(extents: dict[str, int]) -> int:
    total = 1
    for size in extents.values():
        total *= size
    return total


def between(outer: dict[str, int], inner: dict[str, int]) -> list[Loop]:
    """Loops from one tile to a smaller one."""
    return [
        Loop(dim, -(-size // inner[dim]), inner[dim])
        for dim, size in outer.items()
        if size > inner[dim]
    ]


def _cuts(problem: Problem, placement: Placement, index: dict[int, int]) -> tuple[Cut, ...]:
    layout = problem.layout
    found = {}
    for (tier, at), node in placement.nodes:
        for route in layout.groups[at].routes:
            memory = layout.at(route, tier)
            if memory is not None and memory is not route.memories[-1]:
                found[route.operand.name, memory.name] = index[node]
    for route in layout.whole:
        for memory in route.memories[:-1]:
            found[route.operand.name, memory.name] = 0
    names = [o.name for o in problem.workload.operands]
    order = sorted(found, key=lambda key: names.index(key[0]))
    return tuple(Cut(name, memory, found[name, memory]) for name, memory in order)
