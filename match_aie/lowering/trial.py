"""What is put side by side at once, and what is tried next where that loses or does not fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from match_aie.hardware import ExecModule
from match_aie.lowering.beside_price import losers
from match_aie.lowering.division import Division, divide, divisions, whole_of
from match_aie.lowering.moving import Moved, move, moves
from match_aie.lowering.pairs import Pair, Pairs, arranged, dependencies
from match_aie.lowering.program import Schedule
from match_aie.lowering.trailing import Trailing, trail, trailings


@dataclass(frozen=True)
class Named:
    """Two functions that run at the same time; `gain` is modelled, by itself."""

    symbols: tuple[str, str]
    gain: float


@dataclass(frozen=True)
class Trial:
    """What is put side by side: halves of layers, and pairs of layers but for the refused ones.

    Layers that are `moved` have other modules; those of `trails` are two in tiles each, one behind
    the other.
    Where `wanted` is there, no other pairs are looked for.
    """

    divisions: tuple[Division, ...]
    moved: tuple[Moved, ...]
    refused: frozenset[frozenset[str]]
    wanted: frozenset[frozenset[str]] | None = None
    trails: tuple[Trailing, ...] = ()

    @property
    def names(self) -> tuple[tuple[str | tuple[str, str], ...], ...]:
        """What is divided, moved, and trails, by functions."""
        moved = tuple(one.pair for one in self.moved)
        behind = tuple(one.pair for one in self.trails)
        return tuple(one.symbol for one in self.divisions), moved, behind

    def linked(
        self, whole: Schedule, modules: Mapping[str, ExecModule]
    ) -> tuple[Schedule | None, tuple[Named, ...]]:
        """`whole` with it, and all pairs of it; None where there are none."""
        tiled = trail(move(whole, self.moved), self.trails)
        divided, firsts = divide(tiled, self.divisions)
        names = [step.symbol for step in divided.steps]
        gains = [d.gain for d in sorted(self.divisions, key=lambda one: one.step)]
        every = [(Pair(first, first + 1), gain) for first, gain in zip(firsts, gains, strict=True)]
        at = {name: index for index, name in enumerate(names)}
        every += [(Pair(at[m.pair[0]], at[m.pair[1]]), m.gain) for m in self.moved]
        every += [(Pair(at[t.pair[0]], at[t.pair[1]]), t.gain) for t in self.trails]
        for pair, gain in Pairs(divided, modules, [pair for pair, _ in every]).found():
            symbols = frozenset((names[pair.first], names[pair.other]))
            if symbols not in self.refused and (self.wanted is None or symbols in self.wanted):
                every.append((pair, gain))
        # Who waits for a step whose own pair was refused may come too early: then its pair goes.
        while every and arranged(divided, [pair for pair, _ in every]) is None:
            every.pop()
        named = tuple(Named((names[p.first], names[p.other]), gain) for p, gain in every)
        return arranged(divided, [pair for pair, _ in every]) if every else None, named

    def only(self, kept: Sequence[Named]) -> Trial:
        """These of its pairs, and no others."""
        names = {whole_of(symbol) for named in kept for symbol in named.symbols}
        return Trial(
            tuple(d for d in self.divisions if d.symbol in names),
            tuple(m for m in self.moved if m.symbol in names),
            self.refused,
            frozenset(frozenset(named.symbols) for named in kept),
            tuple(t for t in self.trails if names & {*t.pair}),
        )

    def without(
        self, lost: Set[frozenset[str]], pairs: Sequence[Named], *, faster: bool
    ) -> Trial | None:
        """The next one to try; None where it is to stay as it is.

        Args:
            lost: symbols that gain nothing: they go.
            pairs: all pairs of it.
            faster: whether the network is faster with it; if not, and nothing is lost, what gains
                least goes.
        """
        if not lost:
            return None if faster else self.without_the_least(pairs)
        gone = {whole_of(symbol) for pair in lost for symbol in pair}
        divided = tuple(d for d in self.divisions if d.symbol not in gone)
        moved = tuple(m for m in self.moved if m.symbol not in gone)
        refused = self.refused | {pair for pair in lost if len(pair) > 1}
        trails = tuple(t for t in self.trails if not gone & {*t.pair})
        return Trial(divided, moved, refused, trails=trails)

    def without_the_least(self, pairs: Sequence[Named]) -> Trial | None:
        """The same without the pair that gains least by itself; None where there is no other."""
        if len(pairs) < 2:
            return None
        least = min(pairs, key=lambda named: named.gain)
        return self.without(frozenset({frozenset(least.symbols)}), pairs, faster=False)

    def lost(
        self, schedule: Schedule, before: Mapping[str, float], now: Mapping[str, float]
    ) -> frozenset[frozenset[str]]:
        """Symbols of the pairs that gain nothing, and of moved layers without a partner.

        Args:
            schedule: planned.
            before: modelled cycles of each layer by itself, by symbol.
            now: modelled cycles of each layer as it is in `schedule`.
        """
        steps = [schedule.steps[p.step + lane].symbol for p in schedule.beside for lane in (0, 1)]
        alone = {frozenset({m.symbol}) for m in self.moved if m.symbol not in steps}
        found = losers(schedule, before, now)
        return found | alone


def first_trials(schedule: Schedule, modules: Mapping[str, ExecModule]) -> list[Trial]:
    """Everything that is modelled faster by itself; of two things for one layer what gains more.

    Two ways where they differ: layers that trail another one are chosen before those that change
    the unit, or after them.
    """
    divided = {division.step: division for division in divisions(schedule, modules)}
    every = sorted(trailings(schedule, modules), key=lambda one: -one.gain)
    waits, found = dependencies(schedule), []
    for known in ([], every) if every else (every,):
        trails = _apart(known, divided, set())
        gains = {step: division.gain for step, division in divided.items()}
        gains |= {step: one.gain for one in trails for step in one.steps}
        moved = moves(schedule, modules, waits, gains)
        changed = {at for partner, one in moved for at in (partner, one.step)}
        trails = _apart(every, divided, changed)
        changed |= {step for one in trails for step in one.steps}
        left = tuple(division for at, division in divided.items() if at not in changed)
        behind = tuple(sorted(trails, key=lambda one: one.step))
        found.append(Trial(left, tuple(one for _, one in moved), frozenset(), trails=behind))
    same = len(found) > 1 and found[0].names == found[1].names
    return found[:1] if same else found


def _apart(
    trails: Sequence[Trailing], divided: Mapping[int, Division], changed: Set[int]
) -> list[Trailing]:
    """Of `trails`, most gain first, those that share no layer, and gain more than halves do."""
    taken, found = set(changed), []
    for one in trails:
        instead = sum(divided[at].gain for at in one.steps & divided.keys())
        if one.gain > instead and not one.steps & taken:
            taken |= one.steps
            found.append(one)
    return found
