"""Which mappings a module has for a workload, best first.

Today there is one: the untiled nest in the order of the workload's dimensions, as the layer
templates of a cached processor run it. Nothing is searched, and inner memories are not modelled;
a module with scratchpads needs the tiling search that takes this function's place.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import Infeasible
from match_aie.hardware import Cost, ExecModule, Loop, Mapping
from match_aie.workload import Workload


@dataclass(frozen=True)
class MappedCost:
    """A mapping and what the module's cost model says of it."""

    mapping: Mapping
    cost: Cost


def search(workload: Workload, module: ExecModule) -> list[MappedCost] | Infeasible:
    """Mappings of `workload` on `module`, cheapest first; never an empty list.

    Returns:
        The untiled mapping with its cost, or why it does not fit: all operands together must fit
        the outermost memory (`Memory.bytes`, no limit where None).
    """
    reason = _overflow(workload, module)
    if reason is not None:
        return reason
    mapping = _untiled(workload, module)
    return [MappedCost(mapping, module.cost_model(workload).cost(workload, mapping))]


def _untiled(workload: Workload, module: ExecModule) -> Mapping:
    """Spatial loops as the hardware unrolls them; what they leave of each dimension, in order."""
    spatial = tuple(module.spatial(workload))
    unrolled: dict[str, int] = {}
    for loop in spatial:
        unrolled[loop.dim] = unrolled.get(loop.dim, 1) * loop.size
    temporal = tuple(Loop(dim, -(-size // unrolled.get(dim, 1))) for dim, size in workload.dims)
    return Mapping(spatial, temporal)


def _overflow(workload: Workload, module: ExecModule) -> Infeasible | None:
    if not module.memories or module.memories[-1].bytes is None:
        return None
    outermost = module.memories[-1]
    demand = sum(operand.nbytes for operand in workload.operands)
    if demand <= module.memories[-1].bytes:
        return None
    largest = sorted(((o.name, float(o.nbytes)) for o in workload.operands), key=lambda n: -n[1])
    return Infeasible(
        resource=outermost.name,
        demand=demand,
        bound=module.memories[-1].bytes,
        unit="bytes",
        levers=("run the layer on another module", "split the layer in the model"),
        breakdown=tuple(largest),
    )
