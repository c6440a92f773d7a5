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
from functools import cached_property

from match_aie.errors import Infeasible
from match_aie.hardware import MatchTarget, Objective, SharedMemory, facet, measure
from match_aie.hardware.first_fit import Block, height
from match_aie.lowering.apart import Range, check_apart, ranges
from match_aie.lowering.groups import groups
from match_aie.lowering.handover_choice import Choice, Choices, Known
from match_aie.lowering.handover_plan import Item, Places, Plan, Residents
from match_aie.lowering.lanes import Beside, members
from match_aie.lowering.packing import fits, pack
from match_aie.lowering.plan import Place, plan, storages
from match_aie.lowering.plan import places as places_of
from match_aie.lowering.program import NetworkProgram, Schedule, Step
from match_aie.lowering.tiles import ALIGNMENT, relocated
from match_aie.lowering.turns import Span, needs_of, with_turns

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
    known: Known | None = None,
) -> NetworkProgram | Infeasible:
    """`program` with what stays in the target's shared inner memory, where it has one.

    Args:
        program: every layer for itself.
        target: whose `shared_memory` says where things may stay.
        limit: bytes that the arena may take.
        objective: what has to fall for something to stay.
        known: of other plans of the network.
    """
    memory = facet(target, SharedMemory).shared_memory
    if not memory:
        return program
    schedule = program.schedule
    modules = {module.name: module for module in target.modules()}
    choices = Choices(schedule, modules, objective, known)
    steps, stretched = list(schedule.steps), dict[int, float]()
    cases: dict[int, tuple[float, ...]] = {}
    spans: dict[int, Span] = {}
    for group in groups(schedule, program.streams, bool(target.runtime().entry)):
        if group.offloaded and len(group.steps) > 1:
            solved = _solve(schedule, group.steps, choices, memory)
            if solved is not None:
                found, places = solved
                _apply(steps, found, places, choices.links)
                stretched |= found.stretched()
                cases |= found.cases()
                spans |= found.spans()
    linked = with_turns(replace(schedule, steps=tuple(steps)), stretched, cases, spans)
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
    every, found = _touching(schedule, owners), []
    for owner in dict.fromkeys(owners[schedule.steps[index].writes()[0]] for index in steps):
        touching = every[owner]
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


def _touching(schedule: Schedule, owners: Mapping[str, str]) -> dict[str, set[int]]:
    """Steps that read or write a storage, by its owner."""
    found: dict[str, set[int]] = {}
    for index, step in enumerate(schedule.steps):
        for name in (*step.reads(), *step.writes()):
            found.setdefault(owners[name], set()).add(index)
    return found


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
    spans = [schedule.span(step) for step in steps]
    first, last = min(begin for begin, _ in spans), max(end for _, end in spans)
    return Item(_aligned(schedule.tensor(owner).nbytes), first, last, tuple(uses), False)


def _solve(
    schedule: Schedule, steps: Sequence[int], choices: Choices, memory: str
) -> tuple[Plan, Places] | None:
    """What stays of a group's tensors and constants, and where; None where nothing is gained.

    Layers side by side are planned together in any case: what they have in the memory is apart.
    """
    room = choices.room(steps, memory)
    if room is None:
        return None
    objective = choices.objective
    group = Group(schedule, tuple(steps), choices, room)
    before = sum(measure(choices.alone(step), objective) for step in steps)
    every = tuple(_items(schedule, steps, choices))
    best = group.fitting(every)
    if best and any(not among.is_pair for among in best.beside.values()):
        # What was in the way at one step may have been given up for nothing at another one.
        for item in every:
            more = group.fitting((*best.items, item)) if item not in best.items else None
            if more is not None and more.value(objective) < best.value(objective):
                best = more
    for item in best.items if best else ():
        assert best is not None
        fewer = tuple(other for other in best.items if other != item)
        found = group.fitting(fewer)
        # Constants of the second of two side by side change when both units meet at a memory.
        second = item.ahead and item.uses[0][0] in best.beside
        owed = OWED * before if second else 0.0
        if found is not None and found.value(objective) < best.value(objective) + owed:
            best = found
    if best is None or not (best.items or best.beside):
        return None
    if not best.beside and best.value(objective) >= before:
        return None
    return best, group.places(best)


@dataclass(frozen=True)
class Group:
    """Steps that share the inner memory, of which `room` bytes are theirs."""

    schedule: Schedule
    steps: tuple[int, ...]
    choices: Choices
    room: int

    @cached_property
    def _among(self) -> dict[int, Beside]:
        """Steps that run at the same time as others, and as which."""
        return members(self.schedule.beside)

    @cached_property
    def _spans(self) -> dict[int, tuple[int, int]]:
        """Of every step, the first and last of those that run while it does."""
        return {step: self.schedule.span(step) for step in self.steps}

    def fitting(self, items: tuple[Item, ...]) -> Plan | None:
        """The items, without those that are in the way: for these `places` finds room."""
        kept = Residents(items)
        while True:
            chosen, full = self._chosen(kept)
            if full is None:
                full = self._crowded(kept.items, chosen)
                if full is None:
                    return self._plan(kept.items, chosen)
            there = kept.at(full)
            if not there:
                return None
            kept.drop(min(there, key=lambda item: (item.worth, -item.nbytes, item.first)))

    def _chosen(self, items: Residents) -> tuple[dict[int, Choice], int | None]:
        """The cheapest way to run each step; and a crowded one where there is no room for all.

        Of those side by side one takes what the later ones can spare.
        """
        found: dict[int, Choice] = {}
        for step in self.steps:
            taken, full = self._beside(step, items, found)
            choice = self.choices.cheapest(step, items.held(step), self.room - taken)
            if choice is None:
                return found, full
            found[step] = choice
        return found, None

    def _beside(self, step: int, items: Residents, found: Mapping[int, Choice]) -> tuple[int, int]:
        """Most bytes that are not a step's while it runs, and when that is.

        Of what stays, and of steps beside it: those that are not among the `found` ones take as few
        as they can.
        """
        among = self._among.get(step)
        begin, end = self._spans[step]
        others = [other for other in among.steps if other != step] if among else []
        sizes = {
            other: _taken(found[other])
            if other in found
            else self.choices.smallest(other, items.held(other))
            for other in others
        }
        spans = {other: self._spans[other] for other in others}
        taken = {}
        for at in range(begin, end + 1):
            there = [sizes[o] for o, (first, last) in spans.items() if first <= at <= last]
            taken[at] = items.nbytes(at) + sum(there)
        full = max(taken, key=lambda at: taken[at])
        return taken[full], full

    def _blocks(
        self, items: Sequence[Item], chosen: Mapping[int, Choice]
    ) -> tuple[int, list[int], list[Block]]:
        """The scratch of all layers; steps with tiles; what lies behind it, items first."""
        scratch = max(choice.scratch for choice in chosen.values())
        # Of those side by side each has scratch of its own, in front of its tiles.
        sizes = {s: _taken(c) if s in self._among else c.tiled for s, c in chosen.items()}
        tiled = [step for step in self.steps if sizes[step]]
        blocks = [Block(i.first, i.last, i.nbytes // ALIGNMENT) for i in items]
        blocks += [Block(*self._spans[s], -(-sizes[s] // ALIGNMENT)) for s in tiled]
        return scratch, tiled, blocks

    def _crowded(self, items: Sequence[Item], chosen: Mapping[int, Choice]) -> int | None:
        """A crowded step, where not everything has a place; else None."""
        scratch, _, blocks = self._blocks(items, chosen)
        if fits(blocks, (self.room - scratch) // ALIGNMENT):
            return None
        alive = {s: sum(b.size for b in blocks if b.first <= s <= b.last) for s in self.steps}
        return max(alive, key=lambda step: alive[step])

    def places(self, plan: Plan) -> Places:
        """Everything at its offset above the scratch of all layers."""
        scratch, tiled, blocks = self._blocks(plan.items, plan.choices)
        packed = pack(blocks)
        offsets = [scratch + at * ALIGNMENT for at in packed]
        base = dict(zip(tiled, offsets[len(plan.items) :], strict=True))
        total = scratch + height(blocks, packed) * ALIGNMENT
        return Places(tuple(offsets[: len(plan.items)]), base, total)

    def _plan(self, items: tuple[Item, ...], chosen: Mapping[int, Choice]) -> Plan:
        """With the lanes of all steps."""
        lanes = {step: self.choices.lane(step, choice) for step, choice in chosen.items()}
        among, links = self._among, self.choices.links
        beside = {step: one for step, one in among.items() if step in chosen and step > one.step}
        trailing = {
            step: needs_of(chosen[step - 1].tiles, chosen[step].tiles, links[step])
            for step in beside.keys() & links.keys()
        }
        return Plan(items, chosen, lanes, beside, trailing)


def _taken(choice: Choice) -> int:
    return choice.scratch + choice.tiled


def _apply(
    steps: list[Step], found: Plan, places: Places, links: Mapping[int, tuple[str, ...]]
) -> None:
    """Put the plan into the steps.

    Args:
        steps: of the schedule.
        found: what stays.
        places: where it does.
        links: operands of two that run tile by tile.

    Raises:
        InternalError: things that are in the memory at a time share bytes.
    """
    inside: dict[int, dict[str, int]] = {step: {} for step in found.choices}
    for item, offset in zip(found.items, places.offsets, strict=True):
        for step, name, _, at in item.uses:
            inside[step][name] = offset + at
    paired = {step for among in found.beside.values() for step in among.steps}
    for index, choice in found.choices.items():
        layer = steps[index].layer
        assert layer is not None
        base = places.base.get(index, choice.scratch)
        own = base if index in paired else None
        base += choice.scratch if index in paired else 0
        tiles = relocated(choice.tiles, base, inside[index], places.total, own)
        if index in found.trailing:
            tiles = replace(tiles, follows=links[index])
        layer = replace(layer, mapping=choice.mapping, cost=found.costs[index], tiles=tiles)
        steps[index] = replace(steps[index], layer=layer)
    for index in found.choices:
        check_apart(_there(steps, found, places, index), places.total)


def _there(steps: Sequence[Step], found: Plan, places: Places, index: int) -> Iterator[Range]:
    """Everything in the memory at a step; with what others have that run at that time."""
    for item, offset in zip(found.items, places.offsets, strict=True):
        if item.alive(index):
            what = f"what stays from step {item.first} to {item.last}"
            yield Range(what, offset, offset + item.nbytes)
    among = next((one for one in found.beside.values() if index in one.steps), None)
    for step in among.steps if among else (index,):
        layer = steps[step].layer
        begin, end = among.span(step) if among else (index, index)
        if begin <= index <= end and layer is not None and layer.tiles is not None:
            yield from ranges(layer.tiles, steps[step].label)
