"""Layers of independent branches at the same time, on units that may work side by side.

One controller walks the tiles of both layers. It starts the first one's kernel, and while that
unit works it walks the other layer (`match_aie.lowering.turns` says in which order). What is gained
is at most the time in which the first one's unit needs no controller.

Pairs are found one after the other, in the order of the schedule, each time the partner that saves
most. That is a heuristic; a pair stays only if the whole network, planned again, is modelled
faster. Where not all fit at once, what gains least goes first; where nothing is left so, they are
added one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from match_aie.errors import Infeasible
from match_aie.hardware import Concurrent, ExecModule, MatchTarget, Objective, SharedMemory, facet
from match_aie.hardware.move import unit
from match_aie.hardware.tables import is_listed
from match_aie.lowering.beside_price import cycles, losers, priced, symbols
from match_aie.lowering.company import beside_cycles
from match_aie.lowering.division import Division, divide, divisions, whole_of
from match_aie.lowering.following import Following, followings
from match_aie.lowering.handover_choice import Choices
from match_aie.lowering.moving import Moved, move, moves
from match_aie.lowering.plan import places
from match_aie.lowering.program import Beside, NetworkProgram, Schedule, Step

#: Plans a schedule's memories.
Planner = Callable[[Schedule], "NetworkProgram | Infeasible"]

#: Times that a network is planned at most while everything is tried at once, and one by one.
PLANS, SINGLE_PLANS = 6, 8

#: Storage, first byte, end.
Extent = tuple[str, int, int]


def side_by_side(
    program: NetworkProgram,
    schedule: Schedule,
    target: MatchTarget,
    objective: Objective,
    plan: Planner,
) -> NetworkProgram:
    """`program`, or one in which layers run at the same time, where that is modelled faster.

    Args:
        program: of `schedule`, every layer by itself.
        schedule: the network's calls, nothing placed.
        target: whose modules say which may run beside others.
        objective: layers are put side by side where it is latency alone, since nothing here says
            what another plan of the memories takes in joules.
        plan: what made `program` of `schedule`.
    """
    modules = {
        module.name: module for module in target.modules() if facet(module, Concurrent).beside
    }
    if (
        len(modules) < 2
        or not facet(target, SharedMemory).shared_memory
        or objective != "latency"
        or program.streams
    ):
        return program
    first = first_trial(schedule, modules)
    attempt = _Attempt(program, schedule, modules, plan)
    found, all_fit = attempt.at_once(first)
    return found if found is not program or all_fit else attempt.one_by_one(first)


@dataclass(frozen=True)
class _Attempt:
    """What is planned again while pairs are tried; fields are those of `side_by_side`."""

    program: NetworkProgram
    whole: Schedule
    modules: Mapping[str, ExecModule]
    plan: Planner

    def at_once(self, trial: Trial | None) -> tuple[NetworkProgram, bool]:
        """The best with all of `trial` but what loses or does not fit; and whether all did fit."""
        before = priced(self.program.schedule, self.modules)
        best, all_fit = self.program, True
        for _ in range(PLANS):
            linked, pairs = trial.linked(self.whole, self.modules) if trial else (None, ())
            if trial is None or linked is None:
                break
            found = self._planned(linked)
            if found is None:
                all_fit = False
                trial = trial.without_the_least(pairs)
                continue
            now = priced(found.schedule, self.modules)
            lost = trial.lost(found.schedule, before, now)
            # What saves too little to be sure of is nothing to keep, though it is modelled faster.
            sure = any(pair not in lost for pair in symbols(found.schedule))
            if sure and cycles(found, self.modules) < cycles(best, self.modules):
                best = found
            faster = cycles(found, self.modules) < cycles(self.program, self.modules)
            trial = trial.without(lost, pairs, faster=faster)
        return best, all_fit

    def one_by_one(self, every: Trial) -> NetworkProgram:
        """The best with more and more of `every`, each kept that makes the network faster."""
        kept: tuple[Named, ...] = ()
        best = self.program
        _, pairs = every.linked(self.whole, self.modules)
        for one in sorted(pairs, key=lambda pair: -pair.gain)[:SINGLE_PLANS]:
            linked, there = every.only((*kept, one)).linked(self.whole, self.modules)
            found = self._planned(linked) if linked and len(there) > len(kept) else None
            if found is not None and cycles(found, self.modules) < cycles(best, self.modules):
                best, kept = found, (*kept, one)
        return best

    def _planned(self, linked: Schedule) -> NetworkProgram | None:
        """None where it does not fit, or streams constants then."""
        found = self.plan(linked)
        return None if isinstance(found, Infeasible) or found.streams else found


def first_trial(schedule: Schedule, modules: Mapping[str, ExecModule]) -> Trial:
    """Everything that is modelled faster by itself; of two things for one layer what gains more."""
    divided = {division.step: division for division in divisions(schedule, modules)}
    follows = []
    for one in followings(schedule, modules):
        steps = {split.step for split in one.splits}
        if one.gain > sum(division.gain for at, division in divided.items() if at in steps):
            divided = {at: found for at, found in divided.items() if at not in steps}
            follows.append(one)
    gains = {step: division.gain for step, division in divided.items()}
    gains |= {split.step: one.gain for one in follows for split in one.splits}
    found = moves(schedule, modules, dependencies(schedule), gains)
    changed = {at for partner, moved in found for at in (partner, moved.step)}
    return Trial(
        tuple(division for at, division in divided.items() if at not in changed),
        tuple(moved for _, moved in found),
        frozenset(),
        follows=tuple(f for f in follows if not changed & {split.step for split in f.splits}),
    )


@dataclass(frozen=True)
class Named:
    """Two functions that run at the same time; `gain` is modelled, by itself."""

    symbols: tuple[str, str]
    gain: float


@dataclass(frozen=True)
class Trial:
    """What is put side by side: halves of layers, and pairs of layers but for the refused ones.

    Layers that are `moved` have other modules, sums of `follows` run beside the layer before them.
    Where `wanted` is there, no other pairs are looked for.
    """

    divisions: tuple[Division, ...]
    moved: tuple[Moved, ...]
    refused: frozenset[frozenset[str]]
    wanted: frozenset[frozenset[str]] | None = None
    follows: tuple[Following, ...] = ()

    def linked(
        self, whole: Schedule, modules: Mapping[str, ExecModule]
    ) -> tuple[Schedule | None, tuple[Named, ...]]:
        """`whole` with it, and all pairs of it; None where there are none."""
        splits = [split for one in self.follows for split in one.splits]
        divided, firsts = divide(move(whole, self.moved), [*self.divisions, *splits])
        names = [step.symbol for step in divided.steps]
        gains = [d.gain for d in sorted(self.divisions, key=lambda one: one.step)]
        every = [(Pair(first, first + 1), gain) for first, gain in zip(firsts, gains, strict=True)]
        at = {name: index for index, name in enumerate(names)}
        every += [(Pair(at[m.pair[0]], at[m.pair[1]]), m.gain) for m in self.moved]
        every += [(Pair(at[a], at[b]), f.gain) for f in self.follows for a, b in f.pairs]
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
            tuple(f for f in self.follows if f.wholes & names),
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
        follows = tuple(f for f in self.follows if not f.wholes & gone)
        return Trial(divided, moved, refused, follows=follows)

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
        found = losers(schedule, before, now, [one.wholes for one in self.follows])
        return found | alone


@dataclass(frozen=True)
class Pair:
    """Two steps by index: `first` is started first; `other` moves to `module` if that is said."""

    first: int
    other: int
    module: str = ""


class Pairs:
    """Which steps of a schedule may run at the same time."""

    def __init__(
        self, schedule: Schedule, modules: Mapping[str, ExecModule], given: Sequence[Pair] = ()
    ) -> None:
        """Works out who waits for whom; pairs that are `given` are not looked for."""
        self._given = {step for pair in given for step in (pair.first, pair.other)}
        self._schedule = schedule
        self._modules = modules
        self._choices = Choices(schedule, modules)
        self._before = dependencies(schedule)

    def found(self) -> Iterator[tuple[Pair, float]]:
        """Pairs of steps, none in two of them, each ready when its partner is; cycles saved."""
        done: set[int] = set()
        for step in range(len(self._schedule.steps)):
            if step in done or step in self._given:
                done.add(step)
                continue
            gains = {other: self._gain(step, other) for other in self._ready(step, done)}
            done.add(step)
            best = max(gains, key=lambda other: gains[other][0], default=None)
            if best is not None and gains[best][0] > 0:
                done.add(best)
                saved, pair = gains[best]
                yield pair, saved

    def _ready(self, step: int, done: set[int]) -> list[int]:
        """Steps that could run beside `step`, all before it being done."""
        return [
            other
            for other in range(step + 1, len(self._schedule.steps))
            if other not in done | self._given
            and self._before[other] <= done
            and self._apart(step, other)
        ]

    def _apart(self, one: int, other: int) -> bool:
        layers = [self._schedule.steps[at].layer for at in (one, other)]
        first, second = (self._modules.get(layer.module) if layer else None for layer in layers)
        if first is None or second is None:
            return False
        if unit(first) == unit(second) and not self._twin(second):
            return False
        return all(layer and layer.tiles and is_listed(layer.tiles) for layer in layers)

    def _twin(self, module: ExecModule) -> str:
        """Another unit of the same kind, which runs the module's layers as well; "" without."""
        facts = {key: value for key, value in vars(module).items() if key not in ("name", "unit")}
        for name, twin in self._modules.items():
            if unit(twin) == unit(module) or type(twin) is not type(module):
                continue
            if facts == {k: v for k, v in vars(twin).items() if k not in ("name", "unit")}:
                return name
        return ""

    def _module(self, step: int) -> ExecModule:
        layer = self._schedule.steps[step].layer
        assert layer is not None
        return self._modules[layer.module]

    def _gain(self, one: int, other: int) -> tuple[float, Pair]:
        """Cycles saved, and who goes first."""
        module, second = self._module(one), self._module(other)
        moved = self._twin(second) if unit(module) == unit(second) else ""
        pairs = (Pair(one, other, moved), Pair(other, one, moved))
        return max(((self._saved(p), p) for p in pairs), key=lambda found: found[0])

    def _saved(self, pair: Pair) -> float:
        first, other = (self._schedule.steps[at].layer for at in (pair.first, pair.other))
        assert first is not None
        assert other is not None
        lanes = [
            self._choices.lane(step, layer.mapping, layer.cost)
            for step, layer in ((pair.first, first), (pair.other, other))
        ]
        return lanes[0].alone + lanes[1].alone - beside_cycles(*lanes)


def arranged(schedule: Schedule, pairs: Sequence[Pair]) -> Schedule | None:
    """`schedule` with these steps side by side, the others in their order.

    None where a step would then run before one that it waits for: whose own pair was given up.
    """
    partner = {p.first: p for p in pairs} | {p.other: p for p in pairs}
    order: list[int] = []
    beside = []
    for step in range(len(schedule.steps)):
        if step in order:
            continue
        if step not in partner:
            order.append(step)
            continue
        pair = partner[step]
        beside.append(Beside(len(order)))
        order += [pair.first, pair.other]
    at = {step: position for position, step in enumerate(order)}
    before = dependencies(schedule)
    if any(at[other] > at[step] for step in at for other in before[step]):
        return None
    moved = {p.other: p.module for p in pairs if p.module}
    steps = tuple(_on(schedule.steps[at], moved.get(at, "")) for at in order)
    return replace(schedule, steps=steps, beside=tuple(beside))


def _on(step: Step, module: str) -> Step:
    """The step, its layer on another module if one is named."""
    if not module or step.layer is None:
        return step
    return replace(step, layer=replace(step.layer, module=module))


def dependencies(schedule: Schedule) -> list[set[int]]:
    """For every step those before it that it waits for: what they touch, and one of them writes."""
    found = places(schedule)
    sizes = {tensor.name: tensor.nbytes for tensor in schedule.tensors}

    def extents(names: Sequence[str]) -> list[Extent]:
        at = [(found[name], sizes[name]) for name in names]
        return [(place.owner, place.offset, place.offset + size) for place, size in at]

    reads = [extents(step.reads()) for step in schedule.steps]
    writes = [extents(step.writes()) for step in schedule.steps]
    return [
        {
            other
            for other in range(step)
            if _meet(writes[other], [*reads[step], *writes[step]])
            or _meet(reads[other], writes[step])
        }
        for step in range(len(schedule.steps))
    ]


def _meet(some: Sequence[Extent], others: Sequence[Extent]) -> bool:
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in some for b in others)
