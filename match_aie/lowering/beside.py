"""Layers of independent branches at the same time, on units that may work side by side.

One controller walks the tiles of both layers. It starts the first one's kernel, and while that
unit works it walks the other layer (`match_aie.lowering.turns` says in which order). What is gained
is at most the time in which the first one's unit needs no controller.

Pairs are found one after the other, in the order of the schedule, each time the partner that saves
most. That is a heuristic; a pair stays only if the whole network, planned again, is modelled
faster. Where not all fit at once, what gains least goes first; where nothing is left so, they are
added one by one. Then what follows a pair is tried unit by unit (`match_aie.lowering.chains`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from match_aie.errors import Infeasible
from match_aie.hardware import Concurrent, ExecModule, MatchTarget, Objective, SharedMemory, facet
from match_aie.lowering.beside_price import priced, sure_cycles
from match_aie.lowering.chains import joined
from match_aie.lowering.program import NetworkProgram, Schedule
from match_aie.lowering.trial import Named, Trial, first_trials

#: Plans a schedule's memories.
Planner = Callable[[Schedule], "NetworkProgram | Infeasible"]

#: Times that a network is planned at most while everything is tried at once, and one by one.
PLANS, SINGLE_PLANS = 6, 8


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
    trials = first_trials(schedule, modules)
    attempt = _Attempt(program, schedule, modules, plan)
    tried = [attempt.at_once(trial) for trial in trials]
    best = min((found for found, _ in tried), key=lambda found: attempt.price(found.program))
    if best.program is program and not any(ended for _, ended in tried):
        best = attempt.one_by_one(trials[0])
    return attempt.chained(best).program


@dataclass(frozen=True)
class _Planned:
    """A program, and the schedule that it was planned of."""

    program: NetworkProgram
    linked: Schedule


@dataclass(frozen=True)
class _Attempt:
    """What is planned again while pairs are tried; fields are those of `side_by_side`."""

    program: NetworkProgram
    whole: Schedule
    modules: Mapping[str, ExecModule]
    plan: Planner

    def price(self, found: NetworkProgram) -> float:
        """What is to be least: modelled cycles in the worst case, with what its pairs owe."""
        before = priced(self.program.schedule, self.modules)
        return sure_cycles(found.schedule, before, self.modules)

    def at_once(self, trial: Trial | None) -> tuple[_Planned, bool]:
        """The best with all of `trial` but what loses or does not fit.

        And whether that was planned to its end: if not, pairs may gain one by one.
        """
        before = priced(self.program.schedule, self.modules)
        best, ended = _Planned(self.program, self.whole), True
        for _ in range(PLANS):
            linked, pairs = trial.linked(self.whole, self.modules) if trial else (None, ())
            if trial is None or linked is None:
                break
            found = self._planned(linked)
            if found is None:
                ended = False
                trial = trial.without_the_least(pairs)
                continue
            now = priced(found.schedule, self.modules)
            lost = trial.lost(found.schedule, before, now)
            if self.price(found) < self.price(best.program):
                best = _Planned(found, linked)
            faster = self.price(found) < self.price(self.program)
            trial = trial.without(lost, pairs, faster=faster)
        else:
            ended = False
        return best, ended

    def one_by_one(self, every: Trial) -> _Planned:
        """The best with more and more of `every`, each kept that makes the network faster."""
        kept: tuple[Named, ...] = ()
        best = _Planned(self.program, self.whole)
        _, pairs = every.linked(self.whole, self.modules)
        for one in sorted(pairs, key=lambda pair: -pair.gain)[:SINGLE_PLANS]:
            linked, there = every.only((*kept, one)).linked(self.whole, self.modules)
            if linked is None or len(there) <= len(kept):
                continue
            found = self._planned(linked)
            if found is not None and self.price(found) < self.price(best.program):
                best, kept = _Planned(found, linked), (*kept, one)
        return best

    def chained(self, best: _Planned) -> _Planned:
        """The same with layers entered unit by unit, wherever that is modelled faster."""
        first = -1
        while later := [one.step for one in best.linked.beside if one.step > first]:
            first = later[0]
            ways = (self._longer(best, first, lane) for lane in (0, 1))
            best = min(ways, key=lambda one: self.price(one.program))
        return best

    def _longer(self, best: _Planned, first: int, lane: int) -> _Planned:
        """`best` with more and more behind those that run from step `first` on, while that gains.

        Of what follows that of `lane` is entered first, where it can be.
        """
        while True:
            count = next(len(one.lanes) for one in best.linked.beside if one.step == first)
            ways = {
                next(one.lanes[count] for one in way.beside if one.step == first): way
                for way in joined(best.linked, self.modules, first)
            }
            way = ways.get(lane) or next(iter(ways.values()), None)
            program = None if way is None else self._planned(way)
            if way is None or program is None or self.price(program) >= self.price(best.program):
                return best
            best = _Planned(program, way)

    def _planned(self, linked: Schedule) -> NetworkProgram | None:
        """None where it does not fit, or streams constants then."""
        found = self.plan(linked)
        return None if isinstance(found, Infeasible) or found.streams else found
