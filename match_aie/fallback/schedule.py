"""The default schedule of a PrimFunc: what stands between TVM's loops and usable C.

Unscheduled, every operator of a fused function fills a temporary of its own, and a sum is
initialised by a test in its innermost loop. Here elementwise producers are inlined, sums are
blocked for registers, and what is left of several stages (softmax) runs row by row.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from tvm import s_tir
from tvm.ir import prim

from match_aie.fallback.schedule_blocks import attempt, is_sum, volume
from match_aie.fallback.schedule_inline import inline
from match_aie.fallback.schedule_tile import beside, lies_apart, reduces, tile, together, turn

#: Stages of functions with more blocks than this stay apart.
MOST_NESTED = 12


def schedule(prim_func: Any, *, tiles: bool = True) -> Any:
    """`prim_func` with better loops and the same results.

    Where TVM refuses a transformation, that block stays as it was.

    Args:
        prim_func: as operators are lowered.
        tiles: whether sums and transpositions are cut, in parts that divide the result's extents.
    """
    named = prim_func.with_attr("global_symbol", "main")
    sch = s_tir.Schedule(named, error_render_level="none")
    try:
        root = sch.get_sblock("root")
    except s_tir.ScheduleError:  # loops written by hand, without blocks
        return prim_func
    for block in sch.get_child_blocks(root):
        inline(sch, block)
    blocks = sch.get_child_blocks(root)
    if tiles and len(blocks) == 1 and not is_sum(sch, blocks[0]):
        turn(sch, blocks[0])
    sums = [block for block in blocks if is_sum(sch, block)]
    nests = _nests(sch)
    apart = {sch.get(b).name_hint for b in sums if nests and tiles and lies_apart(sch, b)}
    for block in sums if tiles else ():
        tile(sch, block, apart=not nests)
    sch = _nested(sch, apart)
    for block in _sums(sch):
        _initialise_before(sch, block)
    return sch.mod["main"]


def _sums(sch: Any) -> list[Any]:
    return [b for b in sch.get_child_blocks(sch.get_sblock("root")) if is_sum(sch, b)]


def _initialise_before(sch: Any, block: Any) -> None:
    """Initialise a sum ahead of its reduction rather than by a test inside."""
    for loop in sch.get_loops(block):
        if reduces(sch, loop):
            attempt(partial(sch.decompose_reduction, block, loop))
            return


# Stages, row by row.


def _nests(sch: Any) -> bool:
    """Whether stages may move into the loops of the last one."""
    root = sch.get_sblock("root")
    names = [sch.get(block).name_hint for block in sch.get_child_blocks(root)]
    one = len(sch.get_output_blocks(root)) == 1
    return one and 1 < len(names) <= MOST_NESTED and len(set(names)) == len(names)


def _nested(sch: Any, apart: set[str]) -> Any:
    """Move producers into the loops of the last stage, as deep as repeats no work.

    Softmax then computes maximum, powers and sum of one row at a time, and a pooling pads one
    channel at a time: storage shrinks to what a row or a channel needs. Sums in `apart` stay where
    several of them go side by side.
    """
    root = sch.get_sblock("root")
    if not _nests(sch):
        return sch
    names = [sch.get(block).name_hint for block in sch.get_child_blocks(root)]
    name = sch.get(sch.get_output_blocks(root)[0]).name_hint
    for producer in reversed(names):
        if not _share_loops(sch, producer, name):
            sch = _moved(sch, producer, name, apart=producer in apart)
    return sch


def _share_loops(sch: Any, one: str, other: str) -> bool:
    """Whether two blocks stand in one loop already."""
    first, second = (sch.get_loops(sch.get_sblock(name))[:1] for name in (one, other))
    return not first or not second or sch.get(first[0]).same_as(sch.get(second[0]))


def _moved(sch: Any, producer: str, last: str, *, apart: bool) -> Any:
    """The schedule with `producer` in the deepest loop of `last` where it runs as often.

    Where `apart`, where results are left to go side by side; for that a loop may be split.
    """
    depth = len(sch.get_loops(sch.get_sblock(last)))
    deepest = None
    for level in reversed(range(depth - 1)):
        trial = _at(sch, producer, last, level, split=False)
        if trial and not apart:
            return trial
        deepest = deepest or trial
        trial = trial and _beside(trial.copy(), producer, level + 1)
        if trial:
            return trial
    for level in reversed(range(depth - 1)) if apart else ():
        trial = _at(sch, producer, last, level, split=True)
        trial = trial and _beside(trial, producer, level + 1)
        if trial:
            return trial
    alone = _beside(sch.copy(), producer, 0) if apart else None
    if is_sum(sch, sch.get_sblock(last)):  # of rows, which wait for each other in its loops
        return alone or deepest or sch
    return deepest or alone or sch


def _at(sch: Any, producer: str, last: str, level: int, *, split: bool) -> Any:
    """A copy of the schedule with `producer` in a loop of `last`; None where it runs more often.

    Where `split`, in the outer half of the loop.
    """
    trial = sch.copy()
    block = trial.get_sblock(producer)
    loop = trial.get_loops(trial.get_sblock(last))[level]
    if split:
        size = trial.get(loop).extent
        if not isinstance(size, prim.IntImm):
            return None
        loop, _ = trial.split(loop, [None, together(int(size))])
    if not attempt(partial(trial.compute_at, block, loop)):
        return None
    return trial if volume(trial, block) <= volume(sch, sch.get_sblock(producer)) else None


def _beside(trial: Any, producer: str, outside: int) -> Any:
    """`trial` with results of `producer` side by side; None where that does not go."""
    return trial if beside(trial, trial.get_sblock(producer), outside) else None
