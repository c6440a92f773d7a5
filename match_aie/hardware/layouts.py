"""What a module says of how a layer's operands lie, held against the operands."""

from __future__ import annotations

from collections.abc import Mapping

from match_aie.errors import TargetError
from match_aie.hardware.blocked import Packing
from match_aie.hardware.facet import facet
from match_aie.hardware.memory import OPERANDS, meant
from match_aie.hardware.module import ExecModule
from match_aie.hardware.module_facets import Packed
from match_aie.workload import Workload


def packings(workload: Workload, module: ExecModule) -> Mapping[str, Packing]:
    """How the layer's operands lie, by name; those that lie as they are are not there.

    Raises:
        TargetError: what the module says of one cannot be.
    """
    layouts = facet(module, Packed).layouts(workload)
    if not layouts:
        return {}
    who = f"{type(module).__name__}.layouts() of a {workload.kind}"
    where = f"module {module.name}"
    operands = {operand.name: operand for operand in workload.operands}
    for name, layout in layouts.items():
        if name not in OPERANDS:
            raise TargetError(
                f"{who} names {name!r}, which is none of its operands{meant(name, [*operands])}",
                where=where,
            )
        if name in operands and layout.cell is not None and not operands[name].constant:
            raise TargetError(
                f"{who}: {name} is no constant, and its blocks are left to pack()",
                where=where,
                hint="an order that names every axis, without '...'",
            )
    try:
        return {name: layouts[name].on(o) for name, o in operands.items() if name in layouts}
    except TargetError as error:
        raise TargetError(f"{who}: {error.what}", where=where, hint=error.hint) from error


def activations(workload: Workload, module: ExecModule) -> Mapping[str, Packing]:
    """The same of the layer's inputs and its output: tensors in an order of the module's own."""
    found = packings(workload, module)
    return {o.name: found[o.name] for o in workload.operands if o.name in found and not o.constant}
