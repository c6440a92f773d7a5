"""Two layers side by side of which one reads what the other makes, tile by tile behind it."""

from __future__ import annotations

from collections.abc import Mapping

from match_aie.lowering.program import Schedule, Step


def links(schedule: Schedule) -> Mapping[int, tuple[str, ...]]:
    """Operands by which the steps of a pair are linked, by step; steps of other pairs have none.

    Of the first one the output, of the other one the inputs that are this output.
    """
    found: dict[int, tuple[str, ...]] = {}
    for pair in schedule.beside:
        read = read_of(*schedule.steps[pair.step : pair.step + 2])
        if read and pair.is_pair:
            found[pair.step], found[pair.step + 1] = ("y",), read
    return found


def read_of(first: Step, other: Step) -> tuple[str, ...]:
    """Inputs of layer `other` that layer `first` writes."""
    if first.layer is None or other.layer is None:
        return ()
    written = set(first.writes())
    inputs = zip(other.layer.workload.inputs, other.reads(), strict=True)
    return tuple(operand.name for operand, tensor in inputs if tensor in written)
