"""Tensors that stay in the inner memory from layer to layer, and constants loaded a layer early.

Layers in a row on one controller find the inner memory as the layer before left it. What one
writes and the next ones read need not leave it, and a layer's constants may arrive while the layer
before works. Everything in the memory then lies where no two things that are alive at a time
meet, as in `match_aie.lowering.plan`.

As much stays as fits. Where too much is alive at a step, what saves the fewest transferred bytes
for the bytes and steps it takes goes first, and afterwards whatever the cost model has no gain
from. A layer with operands that stay works on one tile, or on the tiles that were chosen for it
alone, whichever is modelled cheaper. All of this is a heuristic: nothing is proven to be best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from match_aie.errors import Infeasible
from match_aie.hardware import Cost, MatchTarget, Objective, measure
from match_aie.lowering.groups import groups
from match_aie.lowering.handover_choice import Choice, Choices, Held
from match_aie.lowering.packing import Block, height, pack
from match_aie.lowering.plan import divided, plan, storages
from match_aie.lowering.program import NetworkProgram, Schedule, Step
from match_aie.lowering.tiles import ALIGNMENT, relocated


@dataclass(frozen=True)
class Item:
    """What may stay in the inner memory.

    Attributes:
        nbytes: aligned, of all its operands.
        first: step from which it is there.
        last: step after which it is not.
        uses: (step, operand, aligned bytes): all of one tensor, or the constants of a layer.
        ahead: whether it is constants, loaded at step `first` for step `last`.
    """

    nbytes: int
    first: int
    last: int
    uses: tuple[tuple[int, str, int], ...]
    ahead: bool

    @property
    def worth(self) -> float:
        """Bytes that need not move, or can move early, per byte and step that they take."""
        moved = self.nbytes if self.ahead else self.nbytes * len(self.uses)
        return moved / (self.nbytes * (self.last - self.first + 1))

    def alive(self, step: int) -> bool:
        """Whether it is there at `step`."""
        return self.first <= step <= self.last


@dataclass(frozen=True)
class Plan:
    """What stays, how every layer of a group then runs, and where everything lies."""

    items: tuple[Item, ...]
    choices: Mapping[int, Choice]
    offsets: tuple[int, ...]
    base: Mapping[int, int]
    total: int

    def value(self, objective: Objective) -> float:
        """Modelled, of all layers."""
        return sum(measure(cost, objective) for cost in self.costs().values())

    def costs(self) -> dict[int, Cost]:
        """Of every layer, with what it waits for constants that the layer before has not hidden."""
        found: dict[int, Cost] = {}
        for step, choice in sorted(self.choices.items()):
            idle = 0.0
            if step - 1 in found:
                idle = max(0.0, found[step - 1].cycles - self.choices[step - 1].moved)
            late = max(0.0, choice.early - idle)
            cost = choice.cost
            if late:
                parts = (*cost.parts, ("waiting for constants", late))
                cost = replace(cost, cycles=cost.cycles + late, parts=parts)
            found[step] = cost
        return found


def hand_over(
    program: NetworkProgram,
    target: MatchTarget,
    *,
    limit: int | None = None,
    objective: Objective = "latency",
) -> NetworkProgram | Infeasible:
    """`program` with what stays in the target's shared inner memory, where it has one.

    Args:
        program: every layer for itself.
        target: whose `shared_memory` says where things may stay.
        limit: bytes that the arena may take.
        objective: what has to fall for something to stay.
    """
    if not target.shared_memory:
        return program
    schedule = program.schedule
    choices = Choices(schedule, {module.name: module for module in target.modules()}, objective)
    steps = list(schedule.steps)
    for group in groups(schedule, program.streams, bool(target.runtime().entry)):
        if group.offloaded and len(group.steps) > 1:
            found = _solve(schedule, group.steps, choices, target.shared_memory)
            if found is not None:
                _apply(steps, found)
    linked = replace(schedule, steps=tuple(steps))
    placed = plan(
        linked,
        alignment=program.plan.alignment,
        memory=program.plan.memory,
        limit=limit,
        streams=program.streams,
    )
    if isinstance(placed, Infeasible):
        return placed
    return replace(program, schedule=linked, plan=placed)


def kept_after(schedule: Schedule) -> dict[int, tuple[tuple[int, int], ...]]:
    """(offset, bytes) of the inner memory that outlive a step, for every step that leaves some."""
    owners = storages(schedule)
    found: dict[int, list[tuple[int, int]]] = {}
    for index, step in enumerate(schedule.steps):
        tiles = step.layer.tiles if step.layer else None
        for operand in tiles.operands if tiles else ():
            if operand.moves == "ahead":
                found.setdefault(index - 1, []).append((operand.offset, operand.nbytes))
        for name in step.stays() if tiles else ():
            assert tiles is not None
            output = tiles.operands[-1]
            for at in range(index, max(_readers(schedule, owners, owners[name]))):
                found.setdefault(at, []).append((output.offset, output.nbytes))
    return {index: tuple(places) for index, places in found.items()}


def _readers(schedule: Schedule, owners: Mapping[str, str], owner: str) -> list[int]:
    return [
        index
        for index, step in enumerate(schedule.steps)
        if any(owners[name] == owner for name in step.reads())
    ]


def _aligned(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT


def _items(schedule: Schedule, steps: Sequence[int], choices: Choices) -> list[Item]:
    """Everything that may stay: tensors that only this group touches, and constants."""
    owners = storages(schedule)
    # What lies in its result's storage has no place of its own in the inner memory.
    outside = {owners[name] for name in schedule.outputs} | divided(schedule, owners)
    found = []
    for index in steps:
        written = owners[schedule.steps[index].writes()[0]]
        readers = _readers(schedule, owners, written)
        if written not in outside and readers and set(readers) <= set(steps):
            found.append(_tensor(schedule, index, readers, owners, written))
        if index != steps[0] and choices.constants(index):
            uses = tuple((index, name, _aligned(n)) for name, n in choices.constants(index))
            found.append(Item(sum(n for _, _, n in uses), index - 1, index, uses, True))
    return found


def _tensor(
    schedule: Schedule, writer: int, readers: Sequence[int], owners: Mapping[str, str], owner: str
) -> Item:
    nbytes = _aligned(schedule.tensor(owner).nbytes)
    uses = [(writer, _layer_operands(schedule.steps[writer])[-1], nbytes)]
    for reader in readers:
        step = schedule.steps[reader]
        inputs = [a for a in step.arguments if a.kind == "tensor" and a.access == "read"]
        assert step.layer is not None
        names = [operand.name for operand in step.layer.workload.inputs]
        pairs = zip(inputs, names, strict=True)
        uses += [(reader, name, nbytes) for a, name in pairs if owners[a.name] == owner]
    return Item(nbytes, writer, max(readers), tuple(uses), False)


def _layer_operands(step: Step) -> list[str]:
    assert step.layer is not None
    return [operand.name for operand in step.layer.workload.operands]


def _solve(schedule: Schedule, steps: Sequence[int], choices: Choices, memory: str) -> Plan | None:
    """What stays of a group's tensors and constants; None where nothing is gained."""
    room = choices.room(steps, memory)
    if room is None:
        return None
    objective = choices.objective
    before = sum(measure(choices.alone(step), objective) for step in steps)
    best = _fitting(tuple(_items(schedule, steps, choices)), steps, choices, room)
    for item in best.items if best else ():
        assert best is not None
        fewer = tuple(other for other in best.items if other != item)
        found = _fitting(fewer, steps, choices, room)
        if found is not None and found.value(objective) < best.value(objective):
            best = found
    if best is None or not best.items:
        return None
    return best if best.value(objective) < before else None


def _fitting(
    items: tuple[Item, ...], steps: Sequence[int], choices: Choices, room: int
) -> Plan | None:
    """The items, without those that are in the way, and their places."""
    while True:
        full = _crowded(items, steps, choices, room)
        if full is None:
            placed, full = _place(items, steps, choices, room)
            if placed is not None:
                return placed
        there = [item for item in items if item.alive(full)]
        if not there:
            return None
        worst = min(there, key=lambda item: (item.worth, -item.nbytes, item.first))
        items = tuple(item for item in items if item is not worst)


def _crowded(
    items: Sequence[Item], steps: Sequence[int], choices: Choices, room: int
) -> int | None:
    """The first step at which too much is alive for any of the layer's tiles."""
    for step in steps:
        free = room - sum(item.nbytes for item in items if item.alive(step))
        if choices.cheapest(step, _held(items, step), free) is None:
            return step
    return None


def _held(items: Sequence[Item], step: int) -> Held:
    return tuple(
        sorted(
            (name, "ahead" if item.ahead else "never")
            for item in items
            for at, name, _ in item.uses
            if at == step
        )
    )


def _place(
    items: tuple[Item, ...], steps: Sequence[int], choices: Choices, room: int
) -> tuple[Plan | None, int]:
    """Everything at its offset above the scratch of all layers; or None, and a crowded step."""
    chosen: dict[int, Choice] = {}
    for step in steps:
        free = room - sum(item.nbytes for item in items if item.alive(step))
        choice = choices.cheapest(step, _held(items, step), free)
        assert choice is not None
        chosen[step] = choice
    scratch = max(choice.scratch for choice in chosen.values())
    blocks = [Block(i.first, i.last, i.nbytes // ALIGNMENT) for i in items]
    blocks += [Block(s, s, -(-chosen[s].tiled // ALIGNMENT)) for s in steps if chosen[s].tiled]
    packed = pack(blocks)
    offsets = [scratch + at * ALIGNMENT for at in packed]
    total = scratch + height(blocks, packed) * ALIGNMENT
    if total > room:
        alive = {s: sum(b.size for b in blocks if b.first <= s <= b.last) for s in steps}
        return None, max(alive, key=lambda step: alive[step])
    base = dict(zip((s for s in steps if chosen[s].tiled), offsets[len(items) :], strict=True))
    return Plan(items, chosen, tuple(offsets[: len(items)]), base, total), -1


def _apply(steps: list[Step], found: Plan) -> None:
    """Put the plan into the steps."""
    places: dict[int, dict[str, int]] = {step: {} for step in found.choices}
    for item, offset in zip(found.items, found.offsets, strict=True):
        at = offset
        for step, name, nbytes in item.uses:
            places[step][name] = at
            at += nbytes if item.ahead else 0
    costs = found.costs()
    for index, choice in found.choices.items():
        layer = steps[index].layer
        assert layer is not None
        base = found.base.get(index, choice.scratch)
        tiles = relocated(choice.tiles, base, places[index], found.total)
        layer = replace(layer, mapping=choice.mapping, cost=costs[index], tiles=tiles)
        steps[index] = replace(steps[index], layer=layer)
