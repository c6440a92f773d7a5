"""Which operands move together, and through which memories."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.hardware import ExecModule, Memory, Packing, packings
from match_aie.workload import Operand, Workload


@dataclass(frozen=True)
class Route:
    """The way of one operand.

    Attributes:
        operand: whose.
        memories: that serve it, innermost first; the last is its home and holds it whole.
        packing: how it lies where that is not as it is.
    """

    operand: Operand
    memories: tuple[Memory, ...]
    packing: Packing | None = None

    @property
    def order(self) -> Packing | None:
        """How what is moved lies, where that is in blocks that are known element by element.

        None for blocks whose bytes only `pack` knows: their transfers are priced by elements.
        """
        return None if self.packing is None or self.packing.cell is not None else self.packing

    def outward(self, memory: Memory) -> Memory:
        """Where tiles in `memory` come from."""
        return self.memories[self.memories.index(memory) + 1]


@dataclass(frozen=True)
class Group:
    """Operands whose tiles are always cut at the same loop.

    Attributes:
        routes: of the operands; the first leads, the others are per-channel constants.
        output: whether it is the output.
    """

    routes: tuple[Route, ...]
    output: bool


@dataclass(frozen=True)
class Layout:
    """The memories of a module as a workload sees them.

    Attributes:
        groups: operands that move tile by tile.
        whole: operands that no loop indexes: brought in once, and kept.
        tiers: memories that hold tiles, innermost first; memories of one tier lie side by side.
        home: the outermost memory.
    """

    groups: tuple[Group, ...]
    whole: tuple[Route, ...]
    tiers: tuple[tuple[Memory, ...], ...]
    home: Memory

    def at(self, route: Route, tier: int) -> Memory | None:
        """The memory of a tier that serves an operand, if one does."""
        return next((m for m in self.tiers[tier] if m in route.memories), None)


def dims_of(operand: Operand) -> tuple[str, ...]:
    """Loop dimensions that index an operand."""
    return tuple(dict.fromkeys(dim for axis in operand.axes for dim, _ in axis.terms))


def lay_out(workload: Workload, module: ExecModule) -> Layout:
    """Groups, routes and tiers; per-channel constants move with the weights."""
    packed = packings(workload, module)
    routes = {
        o.name: Route(o, tuple(m for m in module.memories if m.serves(o.name)), packed.get(o.name))
        for o in workload.operands
    }
    tiers = _tiers(module.memories[:-1], workload)
    groups: dict[str, list[Route]] = {}
    whole: list[Route] = []
    for name, route in routes.items():
        if not dims_of(route.operand):
            whole.append(route)
            continue
        lead = "weight" if _rides(route.operand, workload) else name
        same = len(routes[lead].memories) == len(route.memories)
        groups.setdefault(lead if same else name, []).append(route)
    found = tuple(Group(tuple(rs), rs[0].operand is workload.output) for rs in groups.values())
    return Layout(found, tuple(whole), tiers, module.memories[-1])


def _rides(operand: Operand, workload: Workload) -> bool:
    """Whether an operand is a per-channel constant beside weights."""
    weights = [o for o in workload.constants if o.name == "weight"]
    return operand.constant and bool(weights) and set(dims_of(operand)) <= set(dims_of(weights[0]))


def _tiers(memories: tuple[Memory, ...], workload: Workload) -> tuple[tuple[Memory, ...], ...]:
    """Memories one after the other, those that share no operand side by side."""
    tiers: list[list[Memory]] = []
    served: set[str] = set()
    for memory in memories:
        names = {o.name for o in workload.operands if memory.serves(o.name)}
        if tiers and not names & served:
            tiers[-1].append(memory)
            served |= names
        else:
            tiers.append([memory])
            served = names
    return tuple(tuple(tier) for tier in tiers)
