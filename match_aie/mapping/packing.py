"""What packed constants ask of tiles: whole blocks."""

from __future__ import annotations

from collections.abc import Mapping as MappingOf
from math import lcm

from match_aie.errors import TargetError
from match_aie.hardware import OPERANDS, ExecModule, Packing
from match_aie.hardware.module import meant
from match_aie.workload import Workload


def packings(workload: Workload, module: ExecModule) -> MappingOf[str, Packing]:
    """How the layer's constants lie, by operand name; those that lie as they are are not there.

    Raises:
        TargetError: what the module says of one cannot be.
    """
    layouts = module.layouts(workload)
    who = f"{type(module).__name__}.layouts() of a {workload.kind}"
    constants = tuple(operand.name for operand in workload.constants)
    tensors = tuple(o.name for o in workload.operands if o.name not in constants)
    for name in layouts:
        if name not in OPERANDS or name in tensors:
            raise TargetError(
                f"{who} names {name!r}, which is none of its constants{meant(name, constants)}",
                where=f"module {module.name}",
                hint="name constants only; activations lie as the network has them",
            )
    try:
        return {o.name: layouts[o.name].on(o) for o in workload.constants if o.name in layouts}
    except TargetError as error:
        raise TargetError(
            f"{who}: {error.what}",
            where=f"module {module.name}",
            hint=error.hint,
        ) from error


def whole_blocks(workload: Workload, module: ExecModule) -> dict[str, int]:
    """By dimension, of how many elements its tiles are multiples, the whole one aside.

    An axis that several loops index has blocks which tiles of one loop would cut: its dimensions
    are never divided.
    """
    found: dict[str, int] = {}
    operands = {operand.name: operand for operand in workload.constants}
    for name, packing in packings(workload, module).items():
        for at, block in packing.blocks:
            moving = [t for t in operands[name].axes[at].terms if workload.sizes[t[0]] > 1]
            for dim, coefficient in moving if block > 1 else ():
                alone = len(moving) == 1 and coefficient == 1
                step = block if alone else workload.sizes[dim]
                found[dim] = lcm(found.get(dim, 1), step)
    return found
