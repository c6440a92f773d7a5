"""Which columns graphs take: blocks of whole columns, placed (`targets/aie_ml/placement`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.placement import Block, Pin, Problem, place

#: Work of the placement's solver at most: graphs hand data to each other through the chip's memory,
#: so that the best order of them is worth little.
EFFORT = 0.1


def first_columns(
    blocks: Sequence[tuple[str, int]],
    edges: Sequence[tuple[int, int]],
    pins: Mapping[int, int],
    device: Device,
) -> tuple[int, ...] | Infeasible:
    """The first column of each block; why there is no room for them.

    Args:
        blocks: a name, and how many columns it takes.
        edges: who writes what another one reads, by number.
        pins: first columns that are given, by number of the block.
        device: the array.
    """
    found = place(
        Problem(
            tuple(Block(name, width, device.core_rows) for name, width in blocks),
            tuple(dict.fromkeys(edges)),
            device.columns,
            device.core_rows,
            tuple(Pin(number, (column, 0)) for number, column in sorted(pins.items())),
        ),
        EFFORT,
    )
    return found if isinstance(found, Infeasible) else tuple(column for column, _ in found.at)
