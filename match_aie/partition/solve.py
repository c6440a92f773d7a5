"""Solving the cheapest-cover problem: exactly, and the same way on every machine.

Networks are long and narrow: what is chosen at one end hardly touches the other. So the choices are
decided in graph order, keeping the best way to reach each *frontier*: the decided choices on which
conditions still to be judged depend. That is dynamic programming, exact, and takes milliseconds
where frontiers stay few. Where a graph is so wide that they do not, OR-tools' CP-SAT solves the
whole with one worker, a fixed seed and a limit in deterministic time.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from match_aie.partition.circuit import Literal
from match_aie.partition.cover import Problem

#: More frontiers than this at a time, and the problem goes to CP-SAT.
FEW = 500
#: CP-SAT's deterministic time: its own count of work, about a second each.
LIMIT = 10.0


@dataclass(frozen=True)
class Solution:
    """A cover and what is known of it.

    Attributes:
        chosen: choices, ascending.
        units: what it costs, in the problem's units.
        bound: what no cover can cost less than, in the same units.
    """

    chosen: tuple[int, ...]
    units: int
    bound: int

    @property
    def proven(self) -> bool:
        """Whether no cover is cheaper."""
        return self.bound >= self.units


def solve(problem: Problem, hint: Iterable[int], *, few: int = FEW) -> Solution:
    """The cheapest cover.

    Args:
        problem: what to choose from.
        hint: a cover to start from; the result is never worse, where it keeps the limits.
        few: frontiers up to which dynamic programming goes on.
    """
    chosen = sweep(problem, few)
    if chosen is None or not problem.fits(chosen):
        start = tuple(sorted(hint))
        return _search(problem, start if problem.fits(start) else ())
    units = cost_of(problem, chosen)
    return Solution(chosen, units, units)


def cost_of(problem: Problem, chosen: Sequence[int]) -> int:
    """What a cover costs, in units, its ranks aside."""
    gates = problem.circuit.gates_of(problem.charges)
    found = problem.circuit.evaluate(chosen, gates)
    charged = sum(units for x, units in problem.charges.items() if found.holds(x))
    return charged + sum(problem.costs[choice - 1] for choice in chosen)


@dataclass(frozen=True, eq=False)
class _Judgement:
    """What can be judged as soon as one more choice is decided.

    Attributes:
        gates: that decide it, inner ones first.
        charges: (literal, what it adds to the objective).
        required: (choice, literal that it needs).
        live: decided choices that later judgements depend on.
    """

    gates: tuple[int, ...]
    charges: tuple[tuple[Literal, int], ...]
    required: tuple[tuple[int, Literal], ...]
    live: frozenset[int]


#: A way to decide the choices so far, as a list linked from the last one taken.
_Taken = tuple[int, "_Taken"] | None


def sweep(problem: Problem, few: int) -> tuple[int, ...] | None:
    """The cheapest cover by dynamic programming; None where frontiers exceed `few`.

    Covers of equal cost and rank: the one that takes the earliest choices.
    """
    against = _against(problem)
    ways: dict[frozenset[int], tuple[int, _Taken]] = {frozenset(): (0, None)}
    for choice, judgement in enumerate(_judgements(problem), 1):
        reached: dict[frozenset[int], tuple[int, _Taken]] = {}
        for frontier, (value, taken) in ways.items():
            if not against[choice] & frontier:
                with_it = (value + problem.weight(choice), (choice, taken))
                _reach(problem, judgement, frontier | {choice}, with_it, reached)
            _reach(problem, judgement, frontier, (value, taken), reached)
        if len(reached) > few:
            return None
        ways = reached
    _, taken = min(ways.values(), key=lambda way: way[0])
    chosen = []
    while taken is not None:
        chosen.append(taken[0])
        taken = taken[1]
    return tuple(sorted(chosen))


def _reach(
    problem: Problem,
    judgement: _Judgement,
    frontier: frozenset[int],
    way: tuple[int, _Taken],
    reached: dict[frozenset[int], tuple[int, _Taken]],
) -> None:
    """Judge what `frontier` decides, and keep `way` where it is the best to what remains live."""
    found = problem.circuit.evaluate(frontier, judgement.gates)
    if any(c in frontier and not found.holds(x) for c, x in judgement.required):
        return
    value = way[0] + sum(units for x, units in judgement.charges if found.holds(x))
    rest = frontier & judgement.live
    if rest not in reached or value < reached[rest][0]:
        reached[rest] = (value, way[1])


def _against(problem: Problem) -> dict[int, frozenset[int]]:
    """Choices that exclude each other."""
    against: dict[int, set[int]] = {c: set() for c in range(1, problem.circuit.choices + 1)}
    for group in problem.exclusive:
        for choice in group:
            against[choice] |= group - {choice}
    return {choice: frozenset(others) for choice, others in against.items()}


def _judgements(problem: Problem) -> list[_Judgement]:
    """For each choice in order, what it completes."""
    circuit = problem.circuit
    last: dict[int, int] = {c: c for c in range(1, circuit.choices + 1)}
    charges: dict[int, list[tuple[Literal, int]]] = {c: [] for c in last}
    required: dict[int, list[tuple[int, Literal]]] = {c: [] for c in last}

    def keep(support: Iterable[int]) -> int:
        latest = max(support)
        last.update({c: max(last[c], latest) for c in support})
        return latest

    for group in problem.exclusive:
        keep(group)
    for choice, literal in problem.required:
        required[keep(circuit.support(literal) | {choice})].append((choice, literal))
    for literal, units in problem.charges.items():
        if support := circuit.support(literal):
            charges[keep(support)].append((literal, units * problem.scale))
    judgements = []
    ending: dict[int, list[int]] = {c: [] for c in last}
    for choice, until in last.items():
        ending[until].append(choice)
    live: frozenset[int] = frozenset()
    for choice in last:
        live = (live | {choice}).difference(ending[choice])
        judged = [x for x, _ in charges[choice]] + [x for _, x in required[choice]]
        gates = circuit.gates_of(judged)
        judgements.append(_Judgement(gates, tuple(charges[choice]), tuple(required[choice]), live))
    return judgements


def _search(problem: Problem, hint: tuple[int, ...]) -> Solution:
    """The cheapest cover by CP-SAT, or the best of `hint` and what it found in its time."""
    from ortools.sat.python import cp_model

    choices = range(1, problem.circuit.choices + 1)
    model = cp_model.CpModel()
    variables = _declare(model, problem)
    for choice in choices:
        model.add_hint(variables[choice], choice in hint)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    # As in the memory plan: an interrupt must reach Python.
    solver.parameters.catch_sigint_signal = False
    # All constraints in the linear relaxation: at the default level a chain of 60 layers with
    # moves is not proven in 25 s, at this one it is in 0.1 s.
    solver.parameters.linearization_level = 2
    solver.parameters.max_deterministic_time = LIMIT
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Solution(hint, cost_of(problem, hint), 0)
    found = tuple(choice for choice in choices if solver.value(variables[choice]))
    units = cost_of(problem, found)
    if status == cp_model.OPTIMAL:
        return Solution(found, units, units)
    bound = max(0, int(solver.best_objective_bound) // problem.scale)
    best = min(hint, found, key=lambda cover: cost_of(problem, cover))
    return Solution(best, cost_of(problem, best), bound)


def _declare(model: Any, problem: Problem) -> dict[int, Any]:
    """Variables of choices and gates, their meaning, and the objective."""
    circuit = problem.circuit
    variables: dict[int, Any] = {}

    def literal(x: Literal) -> Any:
        return variables[x] if x > 0 else variables[-x].negated()

    for choice in range(1, circuit.choices + 1):
        variables[choice] = model.new_bool_var(f"choice{choice}")
    for gate, inputs in circuit.gates.items():
        variables[gate] = model.new_bool_var(f"gate{gate}")
        model.add_bool_or([literal(x) for x in inputs]).only_enforce_if(variables[gate])
        for x in inputs:
            model.add_implication(literal(x), variables[gate])
    for group in problem.exclusive:
        model.add_at_most_one(variables[choice] for choice in sorted(group))
    for choice, x in problem.required:
        model.add_implication(variables[choice], literal(x))
    for of, most in problem.limits:
        model.add(sum(of[c - 1] * variables[c] for c in range(1, circuit.choices + 1)) <= most)
    for read, ways in problem.links:
        model.add(sum(literal(moved) for _, moved in ways) >= literal(read))
        for written, moved in ways:
            model.add(literal(moved) <= literal(written))
    weights = [problem.weight(c) * variables[c] for c in range(1, circuit.choices + 1)]
    charges = [units * problem.scale * literal(x) for x, units in problem.charges.items()]
    model.minimize(sum(weights) + sum(charges))
    return variables
