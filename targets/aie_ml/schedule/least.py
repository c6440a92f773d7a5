"""Cycles that no schedule of a call beats: what a search need not schedule to discard."""

from __future__ import annotations

from functools import lru_cache
from math import ceil

from match_aie.targets.aie_ml.schedule.call import ArchitectureKey, shapes
from match_aie.targets.aie_ml.schedule.kernel import Kernel
from match_aie.targets.aie_ml.schedule.machine import STORE, VECTOR
from match_aie.targets.aie_ml.schedule.operations import block_operations
from match_aie.targets.aie_ml.schedule.place import LOOP_SWITCH
from match_aie.targets.aie_ml.schedule.step import schedule_step


def least_body(kernel: Kernel, key: ArchitectureKey, size: tuple[int, int, int]) -> int:
    """At most the cycles of `CallSchedule.body`, where products take tiles that lie aligned.

    Every block takes its steps at their interval, the multiplications for which they leave no room
    and the set-up of its loop; the last one leaves after its last product and through the one slot
    that stores.

    Args:
        kernel: what runs.
        key: where.
        size: (rows, reduction, columns) of the call, multiples of the tiling.

    Raises:
        TargetError: the pair has no native product.
    """
    rows, reduction, columns = size
    t, core = kernel.tiling, key.core
    steps, switch = ceil(reduction / t.k), 0 if kernel.variant == "flat" else LOOP_SWITCH
    cycles = last = 0
    for times, r, c in shapes(ceil(rows / t.m), ceil(columns / t.n), kernel.rows, kernel.columns):
        interval, busy, multiplies, leaves, _ = _pace(kernel.block(r, c), key)
        wanting = max(0, multiplies - steps * (interval - busy))
        length = steps * interval + wanting + switch
        cycles += times * length
        last = length - (steps - 1) * interval - leaves
    return core.load + cycles - last + 1


def least_behind(kernel: Kernel, key: ArchitectureKey, reduction: int) -> int:
    """At most the cycles from the last word that a call reads from a cascade to its end.

    All steps of the last block come between them: its tile ends so long after the one before, whose
    last operation writes that word, and the word's way besides.

    Args:
        kernel: of a tile that reads a cascade.
        key: where.
        reduction: of the call.

    Raises:
        TargetError: the pair has no native product.
    """
    interval, *_, handed = _pace(kernel, key)
    return (ceil(reduction / kernel.tiling.k) - 1) * interval + handed


@lru_cache(maxsize=16384)
def _pace(kernel: Kernel, key: ArchitectureKey) -> tuple[int, int, int, int, int]:
    """Of a block: a step's cycles and its products; multiplications; cycles from the last step on.

    The last are those to the block's end, and of a block of one step those from a word that is read
    to its sum.
    """
    core = key.core
    block = block_operations(kernel, core)
    step = schedule_step(block, kernel, core)
    finish = [op for chain in block.finish for op in chain]
    stores = sum(op.slots == (STORE,) for op in finish)
    product = core.float_product if kernel.floating else core.product
    multiplies = sum(op.kind == "multiply" for op in finish)
    busy = sum(p.slot == VECTOR for p in step.placed)
    leaves, handed = product + max(0, stores - 1), product + core.cascade_read
    return step.interval, busy, multiplies, leaves, handed
