"""What operands in blocks ask of tiles: whole blocks."""

from __future__ import annotations

from math import lcm

from match_aie.hardware import ExecModule, packings
from match_aie.workload import Workload


def whole_blocks(workload: Workload, module: ExecModule) -> dict[str, int]:
    """By dimension, of how many elements its tiles are multiples, the whole one aside.

    An axis that several loops index has blocks which tiles of one loop would cut: its dimensions
    are never divided.
    """
    found: dict[str, int] = {}
    operands = {operand.name: operand for operand in workload.operands}
    for name, packing in packings(workload, module).items():
        for at, block in packing.blocks:
            moving = [t for t in operands[name].axes[at].terms if workload.sizes[t[0]] > 1]
            for dim, coefficient in moving if block > 1 else ():
                alone = len(moving) == 1 and coefficient == 1
                step = block if alone else workload.sizes[dim]
                found[dim] = lcm(found.get(dim, 1), step)
    return found
