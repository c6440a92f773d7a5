"""Which steps run on the controller one after the other, without the control core in between."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.lowering.program import Schedule, Stream


@dataclass(frozen=True)
class Group:
    """Steps that run one after the other on the controller; or one step of the control core."""

    steps: tuple[int, ...]
    offloaded: bool


def groups(schedule: Schedule, streams: Sequence[Stream], platform: bool) -> tuple[Group, ...]:
    """Layers with tiles run on the controller, as many in a row as no fetch comes between.

    Args:
        schedule: the network's calls.
        streams: constants that are fetched.
        platform: whether there is a controller: whether the runtime is that of ma_platform.h.
    """
    starts = {index for stream in streams for index in (stream.start, stream.step)}
    found: list[Group] = []
    for index, step in enumerate(schedule.steps):
        offloaded = platform and step.layer is not None and step.layer.tiles is not None
        if offloaded and found and found[-1].offloaded and index not in starts:
            found[-1] = Group((*found[-1].steps, index), True)
        else:
            found.append(Group((index,), offloaded))
    return tuple(found)
