"""Two-dimensional packing: blocks with a fixed interval of steps get an offset in memory.

This is dynamic storage allocation, NP-hard in general. A few first-fit orders usually reach the
lower bound (the most units alive at one step); where they do not, CP-SAT searches for less.
"""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.hardware.first_fit import Block, first_fits, greedy, height, lower_bound

#: CP-SAT's own machine-independent unit, so that the same input gives the same packing anywhere.
SOLVER_EFFORT = 0.1
#: Above this many blocks building the constraint model costs more than the packing gains.
SOLVER_BLOCKS = 1000


def pack(blocks: Sequence[Block]) -> tuple[int, ...]:
    """Offsets for `blocks`; never higher than `greedy`, and the same in every process."""
    start = greedy(blocks)
    bound, _ = lower_bound(blocks)
    if height(blocks, start) == bound or len(blocks) > SOLVER_BLOCKS:
        return start
    return _solve(blocks, start, bound)


def fits(blocks: Sequence[Block], room: int) -> bool:
    """Whether what `pack` finds takes `room` units at most; mostly without packing to the end."""
    if lower_bound(blocks)[0] > room:
        return False
    if any(height(blocks, offsets) <= room for offsets in first_fits(blocks)):
        return True
    return height(blocks, pack(blocks)) <= room


def _solve(blocks: Sequence[Block], start: Sequence[int], bound: int) -> tuple[int, ...]:
    from ortools.sat.python import cp_model

    top = height(blocks, start)
    model = cp_model.CpModel()
    peak = model.new_int_var(bound, top, "peak")
    offsets = [model.new_int_var(0, top - block.size, "") for block in blocks]
    lives = [
        model.new_fixed_size_interval_var(block.first, block.last - block.first + 1, "")
        for block in blocks
    ]
    spans = [
        model.new_fixed_size_interval_var(offset, block.size, "")
        for offset, block in zip(offsets, blocks, strict=True)
    ]
    model.add_no_overlap_2d(lives, spans)
    for offset, block, at in zip(offsets, blocks, start, strict=True):
        model.add(offset + block.size <= peak)
        model.add_hint(offset, at)
    model.minimize(peak)
    solver = cp_model.CpSolver()
    # Several workers or a wall-clock limit would make the answer depend on the machine's load.
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 1
    solver.parameters.max_deterministic_time = SOLVER_EFFORT
    # Its own handler would make an interrupt a worse plan, and leave the default action behind:
    # the next interrupt would end the process with no cleaning up.
    solver.parameters.catch_sigint_signal = False
    if solver.solve(model) not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return tuple(start)
    found = tuple(int(solver.value(offset)) for offset in offsets)
    return found if height(blocks, found) < top else tuple(start)
