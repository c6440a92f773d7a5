"""Which layers' lists of tiles lie in the inner memory, where the controller reads them fast."""

from __future__ import annotations

from dataclasses import replace

from match_aie.hardware.tables import FIXED, is_listed, table
from match_aie.lowering.program import NetworkProgram, Step


def near(program: NetworkProgram, nbytes: int) -> NetworkProgram:
    """`program` with the lists of its first layers in the inner memory, `nbytes` in all at most.

    They lie there for as long as the program is loaded, beside what tiles may take. Layers that
    are loops (`ma_run_tiles`) and lists that do not fit stay with the constants.
    """
    if not nbytes:
        return program
    left, steps = nbytes, []
    for step in program.schedule.steps:
        taken = list_bytes(step)
        fits = 0 < taken <= left
        left -= taken if fits else 0
        steps.append(_near(step) if fits else step)
    return replace(program, schedule=replace(program.schedule, steps=tuple(steps)))


def list_bytes(step: Step) -> int:
    """Of a layer's list on a machine of 32 bits; 0 without one."""
    tiles = step.layer.tiles if step.layer else None
    if tiles is None or not is_listed(tiles):
        return 0
    return table(tiles).nbytes + FIXED


def _near(step: Step) -> Step:
    layer = step.layer
    assert layer is not None
    assert layer.tiles is not None
    return replace(step, layer=replace(layer, tiles=replace(layer.tiles, near=True)))
