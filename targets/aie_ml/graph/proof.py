"""Whether a layer's graph can be laid out on the array: what a plan must keep before it is one."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import Infeasible, TargetError
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.program import ArrayProgram
from match_aie.targets.aie_ml.array.router import ORDERS
from match_aie.targets.aie_ml.array.semaphores import handshakes, numbers
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.documented import undocumented
from match_aie.targets.aie_ml.graph.fit import fits_descriptor
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.kernels.spec import BYTES


@dataclass(frozen=True)
class Unwritten(Infeasible):
    """What the text of a graph lacks that lies on the array.

    Attributes:
        columns: that it takes there.
    """

    columns: int = 0


def columns_that_lie(graph: LayerGraph, device: Device) -> int | Infeasible:
    """Columns of a graph on `device`; what it lacks there, or its text where it has none."""
    refused = cannot_lie(graph, device)
    if refused is not None:
        return refused
    lacks = cannot_be_written(graph, device)
    if lacks is None:
        return graph.columns
    said = lacks.resource, lacks.demand, lacks.bound, lacks.unit, lacks.levers
    return Unwritten(*said, columns=graph.columns)


def cannot_lie(
    graph: LayerGraph, device: Device, column: int = 0, *, orders: int = ORDERS
) -> Infeasible | None:
    """Why buffers, descriptors or streams of `graph` do not fit `device`; None where they do.

    A device for documented constructs alone takes no others.

    Args:
        graph: a layer's, or of several.
        device: the array.
        column: where it begins.
        orders: of the streams, that are tried.
    """
    strange = undocumented(graph) if device.documented_only else ()
    if strange:
        levers = ("documented_only=False",)
        return Infeasible(f"documented constructs ({strange[0]})", len(strange), 0, "", levers)
    try:
        found = lay_out(graph, device, column, orders=orders)
    except TargetError as error:  # no schedule of its kernels
        return Infeasible(error.what, 1, 0, "kernels", (error.hint,))
    return broken_rule(found, device)


def cannot_be_written(graph: LayerGraph, device: Device) -> Infeasible | None:
    """Why a graph that lies on `device` has no text that sets its semaphores; None where it has.

    The vendor's tool sets them itself where a processor does not dispatch whole programs. Asked are
    descriptors alone: one takes a semaphore and gives one, so there are more of them than a program
    has, which the rules of the array count.

    Args:
        graph: a layer's, or of several.
        device: the array.
    """
    if not device.named_calls:
        return None
    program = lay_out(graph, device)
    if isinstance(program, Infeasible):
        return program
    try:
        broken = next(numbers(program, handshakes(program), device), None)
    except TargetError as error:  # a copy that is moved by halves
        return Infeasible(error.what, 1, 0, "semaphores", (error.hint,))
    if broken is None:
        return None
    what = f"{broken.what} of {broken.where}"
    return Infeasible(what, broken.demand, broken.bound, "descriptors", (broken.remedy,))


def columns_of(graph: LayerGraph | Infeasible, device: Device) -> int | Infeasible:
    """Columns that a graph takes; or why there is none, or what it, or its text, lacks."""
    if isinstance(graph, Infeasible):
        return graph
    for shared in graph.shared:
        for access in (*shared.writes, *shared.reads):
            reason = fits_descriptor(access, BYTES[shared.dtype], device)
            if reason is not None:
                return reason
    return columns_that_lie(graph, device)


def broken_rule(program: ArrayProgram | Infeasible, device: Device) -> Infeasible | None:
    """Why there is no program, or the first rule that it breaks; None where it keeps all."""
    if isinstance(program, Infeasible):
        return program
    for rule, broken in violations(program, device):
        what = f"array rule {rule}, {broken.where}"
        return Infeasible(what, broken.demand, broken.bound, broken.what, (broken.remedy,))
    return None
