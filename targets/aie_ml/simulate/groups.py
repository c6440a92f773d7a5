"""Groups of an array's columns that run beside each other in one program, each at its own pace."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.program import ArrayProgram, Crossing, Route
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.simulate.array import ArraySimulation, leaving
from match_aie.targets.aie_ml.simulate.outside import Beyond


def ends_of_groups(
    program: ArrayProgram,
    device: Device,
    groups: Sequence[Collection[int]],
    runs: int,
    *,
    assumed: Assumed | None = None,
    beyond: Beyond | None = None,
) -> tuple[tuple[float, ...], ...]:
    """When each group has ended each of its runs, in cycles from the begin of all.

    A group's next run follows behind its own one before it, whatever the others do: they share the
    chip's memory alone.

    Args:
        program: of all groups.
        device: where.
        groups: columns of each, in which its results leave.
        runs: of each group.
        assumed: times that no document states.
        beyond: what is assumed of the world outside the array.

    Raises:
        TargetError: a result leaves in no group's columns.
        DeadlockError: the program cannot go on: a defect.
    """
    run = ArraySimulation(program, device, assumed or Assumed(), runs, beyond=beyond)
    left = run.run().left
    found: list[list[list[float]]] = [[] for _ in groups]
    for way, ends in zip(leaving(program, device), left, strict=True):
        found[_group(way, groups)].append(ends)
    return tuple(tuple(max(each) for each in zip(*ends, strict=True)) for ends in found)


def _group(way: Route | Crossing, groups: Sequence[Collection[int]]) -> int:
    """Of a stream that leaves the array."""
    column = (way.channel if isinstance(way, Crossing) else way.sinks[0]).tile[0]
    number = next((at for at, columns in enumerate(groups) if column in columns), None)
    if number is None:
        raise TargetError(f"results leave in column {column}, which is no group's")
    return number
