"""The default schedule of a PrimFunc: what stands between TVM's loops and usable C.

Unscheduled, every operator of a fused function fills a temporary of its own, and a sum is
initialised by a test in its innermost loop. Here elementwise producers are inlined, sums are
blocked for registers, and what is left of several stages (softmax) runs row by row.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import tvm_ffi
from tvm import s_tir

from match_aie.fallback.schedule_blocks import REDUCTION, attempt, is_sum, mentions, volume
from match_aie.fallback.schedule_inline import inline
from match_aie.fallback.schedule_tile import tile

#: Stages of functions with more blocks than this stay apart.
MOST_NESTED = 12


def schedule(prim_func: Any, *, tiles: bool = True) -> Any:
    """`prim_func` with better loops and the same results.

    Where TVM refuses a transformation, that block stays as it was.

    Args:
        prim_func: as operators are lowered.
        tiles: whether sums are blocked, in tiles that divide the result's extents.
    """
    named = prim_func.with_attr("global_symbol", "main")
    sch = s_tir.Schedule(named, error_render_level="none")
    try:
        root = sch.get_sblock("root")
    except s_tir.ScheduleError:  # loops written by hand, without blocks
        return prim_func
    for block in sch.get_child_blocks(root):
        inline(sch, block)
    sums = [block for block in sch.get_child_blocks(root) if is_sum(sch, block)]
    for block in sums if tiles else ():
        tile(sch, block)
    sch = _nested(sch)
    for block in _sums(sch):
        _initialise_before(sch, block)
    return sch.mod["main"]


def _sums(sch: Any) -> list[Any]:
    return [b for b in sch.get_child_blocks(sch.get_sblock("root")) if is_sum(sch, b)]


def _initialise_before(sch: Any, block: Any) -> None:
    """Initialise a sum ahead of its reduction rather than by a test inside."""
    for loop in sch.get_loops(block):
        if _reduces(sch, loop):
            attempt(partial(sch.decompose_reduction, block, loop))
            return


def _reduces(sch: Any, loop: Any) -> bool:
    """Whether `loop` runs over a reduction axis of a block inside it."""
    stmt = sch.get(loop)
    found = []

    def note(realize: Any) -> None:
        for axis, value in zip(realize.block.iter_vars, realize.iter_values, strict=True):
            if int(axis.iter_type) == REDUCTION and mentions(value, stmt.loop_var):
                found.append(axis)

    tvm_ffi.structural_walk(stmt.body, [(s_tir.SBlockRealize, note)])
    return bool(found)


# Stages, row by row.


def _nested(sch: Any) -> Any:
    """Move producers into the loops of the last stage, as deep as repeats no work.

    Softmax then computes maximum, powers and sum of one row at a time, and a pooling pads one
    channel at a time: storage shrinks to what a row or a channel needs.
    """
    root = sch.get_sblock("root")
    names = [sch.get(block).name_hint for block in sch.get_child_blocks(root)]
    last = sch.get_output_blocks(root)
    if len(last) != 1 or not 1 < len(names) <= MOST_NESTED or len(set(names)) < len(names):
        return sch
    name = sch.get(last[0]).name_hint
    for producer in reversed(names):
        if not _share_loops(sch, producer, name):
            sch = _moved(sch, producer, name)
    return sch


def _share_loops(sch: Any, one: str, other: str) -> bool:
    """Whether two blocks stand in one loop already."""
    first, second = (sch.get_loops(sch.get_sblock(name))[:1] for name in (one, other))
    return not first or not second or sch.get(first[0]).same_as(sch.get(second[0]))


def _moved(sch: Any, producer: str, last: str) -> Any:
    """The schedule with `producer` in the deepest loop of `last` where it runs as often."""
    depth = len(sch.get_loops(sch.get_sblock(last)))
    before = volume(sch, sch.get_sblock(producer))
    for level in reversed(range(depth - 1)):
        trial = sch.copy()
        block = trial.get_sblock(producer)
        loop = trial.get_loops(trial.get_sblock(last))[level]
        if attempt(partial(trial.compute_at, block, loop)) and volume(trial, block) <= before:
            return trial
    return sch
