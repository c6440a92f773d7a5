"""A plan of what stays in the inner memory from layer to layer, and what every layer then costs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from match_aie.hardware import Cost, Objective, measure
from match_aie.hardware.tiles import Moves
from match_aie.lowering import stretch
from match_aie.lowering.company import (
    Lane,
    all_beside_cycles,
    all_trailing_cycles,
    beside_idle,
    stretched,
    trailing_idle,
)
from match_aie.lowering.handover_choice import Choice, Held
from match_aie.lowering.lanes import Beside
from match_aie.lowering.turns import SAVED, Span


@dataclass(frozen=True)
class Item:
    """What may stay in the inner memory.

    Attributes:
        nbytes: aligned, of all its operands.
        first: step from which it is there.
        last: step after which it is not.
        uses: (step, operand, aligned bytes, offset): tensors of one storage, or the constants of a
            layer.
        ahead: whether it is constants, loaded at step `first` for step `last`.
    """

    nbytes: int
    first: int
    last: int
    uses: tuple[tuple[int, str, int, int], ...]
    ahead: bool

    @property
    def moves(self) -> Moves:
        """How the operands get there, for the layers that use them."""
        return "ahead" if self.ahead else "never"

    @property
    def worth(self) -> float:
        """Bytes that need not move, or can move early, per byte and step that they take."""
        moved = sum(nbytes for _, _, nbytes, _ in self.uses)
        return moved / (self.nbytes * (self.last - self.first + 1))

    def alive(self, step: int) -> bool:
        """Whether it is there at `step`."""
        return self.first <= step <= self.last


class Residents:
    """What of some items is there at each step, as they are taken away."""

    def __init__(self, items: Sequence[Item]) -> None:
        """All of them are there."""
        self.items = tuple(items)
        self._nbytes: Counter[int] = Counter()
        self._held: dict[int, list[tuple[str, Moves]]] = {}
        self._sorted: dict[int, Held] = {}
        for item in items:
            self._nbytes.update(dict.fromkeys(range(item.first, item.last + 1), item.nbytes))
            for step, name, *_ in item.uses:
                self._held.setdefault(step, []).append((name, item.moves))

    def nbytes(self, step: int) -> int:
        """Bytes of what is there."""
        return self._nbytes[step]

    def held(self, step: int) -> Held:
        """Operands of a step that are there."""
        if step not in self._sorted:
            self._sorted[step] = tuple(sorted(self._held.get(step, ())))
        return self._sorted[step]

    def at(self, step: int) -> list[Item]:
        """What is there, in the order of items."""
        return [item for item in self.items if item.alive(step)]

    def drop(self, gone: Item) -> None:
        """Take one of the items away."""
        self.items = tuple(item for item in self.items if item is not gone)
        self._nbytes.subtract(dict.fromkeys(range(gone.first, gone.last + 1), gone.nbytes))
        for step, name, *_ in gone.uses:
            self._held[step].remove((name, gone.moves))
            self._sorted.pop(step, None)


@dataclass(frozen=True)
class Places:
    """Where everything of a plan lies: items, and the tiles of steps from `base` on.

    `total` are all bytes.
    """

    offsets: tuple[int, ...]
    base: Mapping[int, int]
    total: int


@dataclass(frozen=True)
class Plan:
    """What stays, and how every layer of a group then runs.

    `beside` are the steps that run at the same time as the one before, and among which they do; the
    `trailing` ones read what it makes: so many tiles of it before each of their own.
    """

    items: tuple[Item, ...]
    choices: Mapping[int, Choice]
    lanes: Mapping[int, Lane]
    beside: Mapping[int, Beside]
    trailing: Mapping[int, tuple[int, ...]]

    def value(self, objective: Objective) -> float:
        """Modelled, of all layers."""
        return sum(measure(cost, objective) for cost in self.costs.values())

    @cached_property
    def costs(self) -> Mapping[int, Cost]:
        """Of every layer, with what loading constants a layer early takes where that is not hidden.

        A layer waits for the end of each load, and for what the layer before had no time for; and
        it starts those for the layer after it.
        """
        found: dict[int, Cost] = {}
        for step, choice in sorted(self.choices.items()):
            more = {
                "waiting for constants": self._waits(step),
                "loads for the next layer": self._for_next(step),
                SAVED: -self._saved(step)[0] if step in self.beside else 0.0,
            }
            parts = tuple((name, cycles) for name, cycles in more.items() if cycles)
            cycles = choice.cost.cycles + sum(more.values())
            found[step] = replace(choice.cost, cycles=cycles, parts=(*choice.cost.parts, *parts))
        return found

    def stretched(self) -> dict[int, float]:
        """Cycles by which each of two steps side by side takes longer than alone, by step."""
        return {
            step - 1 + lane: cycles
            for step, among in self.beside.items()
            if among.is_pair
            for lane, cycles in enumerate(stretched(self.lanes[step - 1], self.lanes[step]))
        }

    def spans(self) -> dict[int, Span]:
        """When each of several steps in two lanes runs, by step."""
        found: dict[int, Span] = {}
        for among in set(self.beside.values()):
            if not among.is_pair:
                spans = stretch.spans(self._entered(among))
                found |= zip(among.steps, spans, strict=True)
        return found

    def _entered(self, among: Beside, count: int | None = None) -> list[stretch.Entered]:
        """The first `count` of several layers, or all, with what they wait for constants."""
        found = []
        for step in among.steps[:count]:
            lane, at = self.lanes[step], step - among.step
            waits = self._waits(step) if at == 1 else 0.0
            early = self.choices[step].early if at > 1 else 0.0
            if at > 1:
                waits = self.choices[step].ahead * lane.ahead[1]
            lane = replace(lane, alone=lane.alone + waits)
            found.append(stretch.Entered(among.lanes[at], lane, early, self._led(step)))
        return found

    def _begin(self, step: int) -> int:
        """The first of the steps that run at the same time as `step`; itself where it is alone."""
        return self.beside[step].step if step in self.beside else step

    def _waits(self, step: int) -> float:
        """Cycles that a step waits for constants loaded early; the controller looks at each."""
        return self._late(step) + self.choices[step].ahead * self.lanes[step].ahead[1]

    def _late(self, step: int) -> float:
        """Cycles that a step waits for constants that the step before began to load.

        Of two side by side the second one's come behind the first one's.
        """
        early, begin = self.choices[step].early, self._begin(step)
        if step > begin + 1:
            among = self.beside[step]
            return stretch.times(self._entered(among, step + 1 - begin))[-1].waited
        if not early or begin - 1 not in self.choices:
            return 0.0
        ready = self._idle(begin - 1) + self._led(begin)
        if step == begin:
            return max(0.0, early - ready)
        before = self.choices[begin].early
        return max(0.0, before + early - max(before, ready) - self._led(step))

    def _for_next(self, step: int) -> float:
        """Cycles that a step takes more because it starts loads for the next one.

        The controller starts them while a unit works on the first call, or before the kernel that
        it waits for; the third tile's load is behind them, and is needed when two calls are over.
        """
        lane, pair = self.lanes[step], (step + 1, step + 2)
        both = self._begin(step + 2) == step + 1
        after = [self.choices[at] for at in pair[: 1 + both] if at in self.choices]
        ahead = sum(choice.ahead for choice in after)
        if not ahead or self._begin(step + 1) == step:
            return 0.0  # of two side by side the second one starts them
        hidden = lane.free / lane.calls if step in self.beside or not lane.waited else 0.0
        starts = max(0.0, ahead * lane.ahead[0] - hidden)
        moved = self.choices[step].moved / lane.calls
        if not moved or lane.calls < 3:
            return starts
        early = sum(choice.early for choice in after)
        return starts + max(0.0, early + moved - 2 * lane.alone / lane.calls)

    def _led(self, step: int) -> float:
        """Cycles of a step before the controller waits for what is loaded: it is set up."""
        lane = self.lanes[step]
        more = lane.more if {step, step + 1} & self.beside.keys() else 0.0
        return max(0.0, more + lane.alone - lane.works - self.choices[step].moved)

    def _idle(self, step: int) -> float:
        """Cycles of a step, or of two at the same time, after loads for the next one may start.

        The controller starts them when it has started the first call of the kernel.
        """
        lane = self.lanes[step]
        if step in self.beside and not self.beside[step].is_pair:
            *_, last = found = stretch.times(self._entered(self.beside[step]))
            return max(time.end for time in found) - last.started
        if step in self.beside:
            needs = self.trailing.get(step)
            if needs is not None:
                return trailing_idle(self.lanes[step - 1], lane, needs)
            return beside_idle(self.lanes[step - 1], lane)
        others = lane.alone * (1 - 1 / lane.calls)
        moved = self.choices[step].moved if lane.calls > 1 else 0.0
        return max(0.0, others + lane.free / lane.calls - moved)

    def cases(self) -> dict[int, tuple[float, ...]]:
        """Cycles by which steps side by side take longer than they are priced, by case.

        By the first one of them. What is loaded meanwhile for the layer after them is left out.
        """
        found = {}
        for among in set(self.beside.values()):
            if among.is_pair:
                first, *others = self._saved(among.step + 1)
                found[among.step] = tuple(first - cycles for cycles in others)
            else:
                first, *others = stretch.all_cycles(self._entered(among))
                found[among.step] = tuple(cycles - first for cycles in others)
        return found

    def _saved(self, step: int) -> list[float]:
        """Cycles that a step takes less beside others than by itself; may be negative.

        As they are priced; of two also in each case. All but a cycle of the step at most: nothing
        is free.
        """
        among, waits = self.beside[step], self._waits(step)
        if not among.is_pair:
            count = step - among.step
            both = stretch.cycles(self._entered(among, count + 1))
            # The first one is priced by itself: what it takes more beside others is here.
            before = self.lanes[among.step].alone
            if count > 1:
                before = stretch.cycles(self._entered(among, count))
            alone = self.lanes[step].alone + waits
            return [min(alone - (both - before), alone - 1)]
        # The second one waits for its constants while the first one works.
        other = self.lanes[step]
        lanes = self.lanes[step - 1], replace(other, alone=other.alone + waits)
        needs = self.trailing.get(step)
        taken = all_beside_cycles(*lanes) if needs is None else all_trailing_cycles(*lanes, needs)
        alone = lanes[0].alone + lanes[1].alone
        return [min(alone - cycles, lanes[1].alone - 1) for cycles in taken]
