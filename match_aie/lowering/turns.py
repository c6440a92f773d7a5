"""In which order one controller goes from one of two layers to the other.

Decided by modelled cycles, when the layers' tiles are known; emitted C and simulator follow it as
it stands. While it waits for a kernel of one layer it can do nothing for the other, so a wrong
guess costs time; never results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from match_aie.hardware import TileProgram
from match_aie.hardware.tables import is_listed
from match_aie.lowering.program import Schedule

#: The part of a cost that two layers side by side save.
SAVED = "beside the layer before"


def turns(calls: Sequence[int], cycles: Sequence[float]) -> tuple[int, ...]:
    """Whom the controller turns to: each when it would be its turn if both ran alone.

    Args:
        calls: of both kernels; a layer is left in one turn more.
        cycles: of both layers.

    >>> turns([2, 1], [10.0, 8.0])
    (0, 1, 0, 1, 0)
    """
    times = [
        (at / count * taken, lane)
        for lane, (count, taken) in enumerate(zip(calls, cycles, strict=True))
        for at in range(count + 1)
    ]
    return tuple(lane for _, lane in sorted(times))


def with_turns(
    schedule: Schedule, stretched: Mapping[int, float] = MappingProxyType({})
) -> Schedule | None:
    """`schedule` with the order of all layers side by side; None where one cannot be so.

    Its tiles must be a list, and lie where no other layer's do. Steps take `stretched` cycles more
    beside their partner than alone.
    """
    found = []
    for pair in schedule.beside:
        layers = [step.layer for step in schedule.steps[pair.step : pair.step + 2]]
        tiles: list[TileProgram] = []
        cycles = []
        for step, layer in enumerate(layers, pair.step):
            if layer is None or layer.tiles is None or not layer.tiles.beside:
                return None
            tiles.append(layer.tiles)
            alone = layer.cost.cycles - dict(layer.cost.parts).get(SAVED, 0.0)
            cycles.append(alone + stretched.get(step, 0.0))
        if not all(is_listed(program) for program in tiles):
            return None
        order = turns([program.calls for program in tiles], cycles)
        found.append(replace(pair, order=order))
    return replace(schedule, beside=tuple(found))
