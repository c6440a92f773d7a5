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

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from match_aie.errors import Infeasible
from match_aie.hardware import MatchTarget, Objective, SharedMemory, facet, measure
from match_aie.hardware.first_fit import Block, height
from match_aie.lowering.apart import Range, check_apart, ranges
from match_aie.lowering.groups import groups
from match_aie.lowering.handover_choice import Choice, Choices, Held
from match_aie.lowering.handover_plan import Item, Plan
from match_aie.lowering.packing import pack
from match_aie.lowering.plan import Place, plan, storages
from match_aie.lowering.plan import places as places_of
from match_aie.lowering.program import NetworkProgram, Schedule, Step
from match_aie.lowering.tiles import ALIGNMENT, relocated
from match_aie.lowering.turns import needs_of, with_turns

#: Part of what all layers take that must be saved to load constants of the second of two layers
#: side by side early: the model may be off by more. An assumption: one such load that is modelled
#: to save less made a network longer on GVSoC, and how large the part is was chosen by us.
OWED = 0.0005


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
    memory = facet(target, SharedMemory).shared_memory
    if not memory:
        return program
    schedule = program.schedule
    choices = Choices(schedule, {module.name: module for module in target.modules()}, objective)
    steps, stretched = list(schedule.steps), dict[int, float]()
    cases: dict[int, tuple[float, ...]] = {}
    for group in groups(schedule, program.streams, bool(target.runtime().entry)):
        if group.offloaded and len(group.steps) > 1:
            found = _solve(schedule, group.steps, choices, memory)
            if found is not None:
                _apply(steps, found, choices.links)
                stretched |= found.stretched()
                cases |= found.cases()
    linked = with_turns(replace(schedule, steps=tuple(steps)), stretched, cases)
    if linked is None:
        return Infeasible(memory, 2, 1, "layers", ("run one after the other",))
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
    found: dict[int, dict[str, tuple[int, int]]] = {}
    for index, step in enumerate(schedule.steps):
        tiles = step.layer.tiles if step.layer else None
        for operand in tiles.operands if tiles else ():
            if operand.moves == "ahead":
                places = found.setdefault(schedule.span(index)[0] - 1, {})
                places[f"{step.symbol} {operand.name}"] = (
                    operand.offset,
                    operand.offset + operand.nbytes,
                )
        for name in step.stays() if tiles else ():
            assert tiles is not None
            output = tiles.operands[-1]
            for at in range(index, max(_readers(schedule, owners, owners[name]))):
                places = found.setdefault(at, {})
                begin, end = places.get(owners[name], (output.offset, 0))
                # Halves of a layer are one tensor for who reads it.
                begin, end = min(begin, output.offset), max(end, output.offset + output.nbytes)
                places[owners[name]] = begin, end
    return {
        index: tuple((begin, end - begin) for begin, end in places.values())
        for index, places in found.items()
    }


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
    where = places_of(schedule)
    owners = {name: place.owner for name, place in where.items()}
    # What lies in a concatenation's storage has no place of its own in the inner memory.
    outside = {owners[name] for name in schedule.outputs}
    outside |= {owners[part] for one in schedule.joins for part in one.parts}
    found = []
    for owner in dict.fromkeys(owners[schedule.steps[index].writes()[0]] for index in steps):
        touching = _touching(schedule, owners, owner)
        if owner not in outside and len(touching) > 1 and touching <= set(steps):
            item = _tensor(schedule, where, owner, sorted(touching))
            found += [item] if item is not None else []
    for index in steps:
        begin, end = schedule.span(index)
        if begin != steps[0] and choices.constants(index):
            uses, at = [], 0
            for name, nbytes in choices.constants(index):
                uses.append((index, name, _aligned(nbytes), at))
                at += _aligned(nbytes)
            first, _ = schedule.span(begin - 1)
            found.append(Item(at, first, end, tuple(uses), True))
    return found


def _touching(schedule: Schedule, owners: Mapping[str, str], owner: str) -> set[int]:
    """Steps that read or write a storage."""
    return {
        index
        for index, step in enumerate(schedule.steps)
        if any(owners[name] == owner for name in (*step.reads(), *step.writes()))
    }


def _tensor(
    schedule: Schedule, where: Mapping[str, Place], owner: str, steps: Sequence[int]
) -> Item | None:
    """A storage that stays; None where nobody reads it, or a part of it begins anywhere."""
    uses, read = [], False
    for index in steps:
        step = schedule.steps[index]
        assert step.layer is not None
        tensors = [a for a in step.arguments if a.kind == "tensor"]
        inputs = [operand.name for operand in step.layer.workload.inputs]
        for argument, name in zip(tensors, (*inputs, "y"), strict=True):
            place = where[argument.name]
            if place.owner == owner:
                nbytes = _aligned(schedule.tensor(argument.name).nbytes)
                uses.append((index, name, nbytes, place.offset))
                read |= argument.access == "read"
    if not read or any(offset % ALIGNMENT for *_, offset in uses):
        return None
    first, last = schedule.span(steps[0])[0], schedule.span(steps[-1])[1]
    return Item(_aligned(schedule.tensor(owner).nbytes), first, last, tuple(uses), False)


def _solve(schedule: Schedule, steps: Sequence[int], choices: Choices, memory: str) -> Plan | None:
    """What stays of a group's tensors and constants; None where nothing is gained.

    Layers side by side are planned together in any case: what they have in the memory is apart.
    """
    room = choices.room(steps, memory)
    if room is None:
        return None
    objective = choices.objective
    group = Group(schedule, tuple(steps), choices, room)
    before = sum(measure(choices.alone(step), objective) for step in steps)
    best = group.fitting(tuple(_items(schedule, steps, choices)))
    for item in best.items if best else ():
        assert best is not None
        fewer = tuple(other for other in best.items if other != item)
        found = group.fitting(fewer)
        # Constants of the second of two side by side change when both units meet at a memory.
        second = item.ahead and item.uses[0][0] > schedule.span(item.uses[0][0])[0]
        owed = OWED * before if second else 0.0
        if found is not None and found.value(objective) < best.value(objective) + owed:
            best = found
    if best is None or not (best.items or best.beside):
        return None
    return best if best.beside or best.value(objective) < before else None


@dataclass(frozen=True)
class Group:
    """Steps that share the inner memory, of which `room` bytes are theirs."""

    schedule: Schedule
    steps: tuple[int, ...]
    choices: Choices
    room: int

    def fitting(self, items: tuple[Item, ...]) -> Plan | None:
        """The items, without those that are in the way, and their places."""
        while True:
            chosen, full = self._chosen(items)
            if full is None:
                placed, full = self._place(items, chosen)
                if placed is not None:
                    return placed
            there = [item for item in items if item.alive(full)]
            if not there:
                return None
            worst = min(there, key=lambda item: (item.worth, -item.nbytes, item.first))
            items = tuple(item for item in items if item is not worst)

    def _chosen(self, items: Sequence[Item]) -> tuple[dict[int, Choice], int | None]:
        """The cheapest way to run each step; and the first step for which there is no room.

        Of two side by side the first one takes what the other can spare.
        """
        found: dict[int, Choice] = {}
        for step in self.steps:
            begin, end = self.schedule.span(step)
            free = self.room - sum(item.nbytes for item in items if item.alive(step))
            if step > begin:
                free -= _taken(found[begin])
            elif end > step:
                other = self.choices.smallest(end, _held(items, end))
                free -= other
            choice = self.choices.cheapest(step, _held(items, step), free)
            if choice is None:
                return found, step
            found[step] = choice
        return found, None

    def _place(
        self, items: tuple[Item, ...], chosen: Mapping[int, Choice]
    ) -> tuple[Plan | None, int]:
        """Everything at its offset above the scratch of all layers; or None, and a crowded step."""
        spans = {step: self.schedule.span(step) for step in self.steps}
        scratch = max(choice.scratch for choice in chosen.values())
        # Of two side by side each has scratch of its own, in front of its tiles.
        sizes = {s: _taken(c) if spans[s] != (s, s) else c.tiled for s, c in chosen.items()}
        tiled = [step for step in self.steps if sizes[step]]
        blocks = [Block(i.first, i.last, i.nbytes // ALIGNMENT) for i in items]
        blocks += [Block(*spans[s], -(-sizes[s] // ALIGNMENT)) for s in tiled]
        packed = pack(blocks)
        offsets = [scratch + at * ALIGNMENT for at in packed]
        total = scratch + height(blocks, packed) * ALIGNMENT
        if total > self.room:
            alive = {s: sum(b.size for b in blocks if b.first <= s <= b.last) for s in self.steps}
            return None, max(alive, key=lambda step: alive[step])
        base = dict(zip(tiled, offsets[len(items) :], strict=True))
        lanes = {s: self.choices.lane(s, c.mapping, c.cost) for s, c in chosen.items()}
        beside = frozenset(end for begin, end in spans.values() if begin < end)
        places, links = tuple(offsets[: len(items)]), self.choices.links
        trailing = {
            step: needs_of(chosen[step - 1].tiles, chosen[step].tiles, links[step])
            for step in beside & links.keys()
        }
        return Plan(items, chosen, places, base, total, lanes, beside, trailing), -1


def _taken(choice: Choice) -> int:
    return choice.scratch + choice.tiled


def _held(items: Sequence[Item], step: int) -> Held:
    return tuple(
        sorted(
            (name, "ahead" if item.ahead else "never")
            for item in items
            for at, name, *_ in item.uses
            if at == step
        )
    )


def _apply(steps: list[Step], found: Plan, links: Mapping[int, tuple[str, ...]]) -> None:
    """Put the plan into the steps; `links` are operands of two that run tile by tile.

    Raises:
        InternalError: things that are in the memory at a time share bytes.
    """
    inside: dict[int, dict[str, int]] = {step: {} for step in found.choices}
    for item, offset in zip(found.items, found.offsets, strict=True):
        for step, name, _, at in item.uses:
            inside[step][name] = offset + at
    costs = found.costs()
    paired = {step - back for step in found.beside for back in (0, 1)}
    for index, choice in found.choices.items():
        layer = steps[index].layer
        assert layer is not None
        base = found.base.get(index, choice.scratch)
        own = base if index in paired else None
        base += choice.scratch if index in paired else 0
        tiles = relocated(choice.tiles, base, inside[index], found.total, own)
        if index in found.trailing:
            tiles = replace(tiles, follows=links[index])
        layer = replace(layer, mapping=choice.mapping, cost=costs[index], tiles=tiles)
        steps[index] = replace(steps[index], layer=layer)
    for index in found.choices:
        check_apart(_there(steps, found, index), found.total)


def _there(steps: Sequence[Step], found: Plan, index: int) -> Iterator[Range]:
    """Everything in the memory at a step; of one beside another, also what the other one has."""
    for item, offset in zip(found.items, found.offsets, strict=True):
        if item.alive(index):
            what = f"what stays from step {item.first} to {item.last}"
            yield Range(what, offset, offset + item.nbytes)
    begin = index - (index in found.beside)
    for step in (begin, begin + 1) if begin + 1 in found.beside else (index,):
        layer = steps[step].layer
        if layer is not None and layer.tiles is not None:
            yield from ranges(layer.tiles, steps[step].label)
