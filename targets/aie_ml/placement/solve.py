"""The best placement by CP-SAT, or the best that was found, with the bound that is proven."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import ceil
from typing import Any

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.placement.problem import Placement, Position, Problem
from match_aie.targets.aie_ml.placement.refusals import refused, too_wide, unsettled
from match_aie.targets.aie_ml.placement.start import floor, start

#: Work of the solver at most, in its own unit, some seconds each: a limit of the clock would let
#: the machine's load decide.
EFFORT = 2.0


def place(problem: Problem, effort: float = EFFORT) -> Placement | Infeasible:
    """The placement of least cost, the same in every process.

    Args:
        problem: what is to be placed.
        effort: of the solver at most, in its own unit, some seconds each.

    Returns:
        The placement, which says what is proven of it; or why there is none, with the blocks, what
        they take and what there is.
    """
    reason = refused(problem)
    if reason is not None:
        return reason
    if not problem.blocks:
        return Placement((), Fraction(0), Fraction(0))
    first, least = start(problem), floor(problem)
    if first is not None and problem.cost(first) == least:
        return Placement(first, least, least)
    return _Model(problem, first).solved(effort)


class _Model:
    """A problem in the solver's words. Costs are counted in units of `Problem.scale`."""

    def __init__(self, problem: Problem, first: tuple[Position, ...] | None) -> None:
        """Everything is declared.

        Args:
            problem: what is to be placed.
            first: a placement, where one is known.
        """
        from ortools.sat.python import cp_model

        self.problem, self.first = problem, first
        self.cp: Any = cp_model
        self.model: Any = cp_model.CpModel()
        blocks = problem.blocks
        self.x = [self.model.new_int_var(0, problem.columns - b.width, "") for b in blocks]
        self.y = [self.model.new_int_var(0, problem.rows - b.height, "") for b in blocks]
        for pin in problem.pins:
            self.model.add(self.x[pin.block] == pin.at[0])
            self.model.add(self.y[pin.block] == pin.at[1])
        self._apart()
        self._span()
        self._price()
        for number, (column, row) in enumerate(first or ()):
            self.model.add_hint(self.x[number], column)
            self.model.add_hint(self.y[number], row)

    def _apart(self) -> None:
        """No two blocks share a tile."""
        blocks, new = self.problem.blocks, self.model.new_fixed_size_interval_var
        across = [new(x, b.width, "") for x, b in zip(self.x, blocks, strict=True)]
        above = [new(y, b.height, "") for y, b in zip(self.y, blocks, strict=True)]
        self.model.add_no_overlap_2d(across, above)
        # Both follow from it, and are what shows early that too little room is left.
        self.model.add_cumulative(across, [b.height for b in blocks], self.problem.rows)
        self.model.add_cumulative(above, [b.width for b in blocks], self.problem.columns)
        #: (west of, east of, below, above) for each pair.
        self.sides = {pair: self._sides(*pair) for pair in combinations(range(len(blocks)), 2)}

    def _sides(self, one: int, other: int) -> tuple[Any, Any, Any, Any]:
        """Which of two blocks is west of the other, or below it."""
        west, east, below, above = (self.model.new_bool_var("") for _ in range(4))
        for first, second, across, up in (
            (one, other, west, below),
            (other, one, east, above),
        ):
            block = self.problem.blocks[first]
            self.model.add(self.x[first] + block.width <= self.x[second]).only_enforce_if(across)
            self.model.add(self.y[first] + block.height <= self.y[second]).only_enforce_if(up)
        self.model.add_bool_or([west, east, below, above])
        return west, east, below, above

    def _span(self) -> None:
        """All lies as far west as it can, in no fewer columns than its tiles need."""
        problem = self.problem
        if problem.pins:
            return
        tiles = sum(block.tiles for block in problem.blocks)
        least = max(ceil(tiles / problem.rows), *(b.width for b in problem.blocks), 1)
        end = self.model.new_int_var(least, problem.columns, "")
        ends = [x + b.width for x, b in zip(self.x, problem.blocks, strict=True)]
        self.model.add_max_equality(end, ends)
        self.model.add_min_equality(self.model.new_constant(0), self.x)

    def _price(self) -> None:
        """The cost, below that of the placement that is known."""
        problem, scale = self.problem, self.problem.scale
        lam, mu = int(problem.lam * scale), int(problem.mu * scale)
        terms = [mu * y for y in self.y]
        for edge in problem.edges:
            columns, rows = self._edge(*edge)
            terms += [scale * columns, lam * rows]
        self.objective = sum(terms)
        least = int(floor(problem) * scale)
        self.model.add(self.objective >= least)
        if self.first is not None:
            self.model.add(self.objective <= int(problem.cost(self.first) * scale))
        self.model.minimize(self.objective)

    def _edge(self, source: int, sink: int) -> tuple[Any, Any]:
        """Columns and rows between two blocks."""
        problem, model = self.problem, self.model
        a, b = problem.blocks[source], problem.blocks[sink]
        columns = model.new_int_var(0, problem.columns, "")
        rows = model.new_int_var(0, problem.rows, "")
        along = self.x[sink] - self.x[source] - (a.width - 1)
        model.add_abs_equality(columns, along)
        above = self.y[sink] - self.y[source] - (a.height - 1)
        below = self.y[source] - self.y[sink] - (b.height - 1)
        model.add_max_equality(rows, [0, above, below])
        model.add(columns + rows >= 1)
        flipped = source > sink
        west, east, *upon = self.sides[min(source, sink), max(source, sink)]
        before, behind = (east, west) if flipped else (west, east)
        model.add(columns >= 1).only_enforce_if(before)
        model.add(columns >= a.width + b.width - 1).only_enforce_if(behind)
        for side in upon:
            model.add(rows >= 1).only_enforce_if(side)
        return columns, rows

    def solved(self, effort: float) -> Placement | Infeasible:
        """The answer after so much work at most."""
        status, solver = self._run(effort)
        if status == self.cp.INFEASIBLE:
            return self._narrowest(effort)
        if status not in (self.cp.OPTIMAL, self.cp.FEASIBLE):
            if self.first is None:
                return unsettled(self.problem)
            return self._answer(self.first, floor(self.problem))
        found = tuple(
            (solver.value(x), solver.value(y)) for x, y in zip(self.x, self.y, strict=True)
        )
        if status == self.cp.OPTIMAL:
            return self._answer(found, self.problem.cost(found))
        proven = Fraction(ceil(solver.best_objective_bound), self.problem.scale)
        return self._answer(found, max(proven, floor(self.problem)))

    def _answer(self, found: tuple[Position, ...], bound: Fraction) -> Placement:
        return Placement(found, self.problem.cost(found), bound)

    def _run(self, effort: float) -> tuple[int, Any]:
        """The solver and how it ended."""
        solver = self.cp.CpSolver()
        # One worker and a limit that counts work: the same answer on every machine.
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = 0
        solver.parameters.max_deterministic_time = effort
        # As in the memory plan: an interrupt must reach Python.
        solver.parameters.catch_sigint_signal = False
        return solver.solve(self.model), solver

    def _narrowest(self, effort: float) -> Infeasible:
        """The refusal, with the columns that the blocks need at least."""
        problem = self.problem
        room = problem.columns + sum(block.width for block in problem.blocks)
        wider = _Model(replace(problem, columns=room, edges=()), None)
        end = wider.model.new_int_var(problem.columns + 1, room, "")
        for x, block in zip(wider.x, problem.blocks, strict=True):
            wider.model.add(x + block.width <= end)
        wider.model.minimize(end)
        _, solver = wider._run(effort)
        return too_wide(problem, max(problem.columns + 1, ceil(solver.best_objective_bound)))
