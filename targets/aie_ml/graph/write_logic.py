"""Kernels of programmable logic as files of the emitted project."""

from __future__ import annotations

from collections.abc import Sequence

from match_aie.hardware import Unit
from match_aie.targets.aie_ml.graph.plan import LayerGraph
from match_aie.targets.aie_ml.kernels.recurrent_hybrid import LogicCall

#: Folder of what goes through high-level synthesis and into the linker's configuration.
LOGIC_FOLDER = "logic"


def logic_units(graph: LayerGraph) -> list[Unit]:
    """The kernel's C++ for synthesis, and how the linker connects it; none without a kernel."""
    call = graph.logic
    if call is None:
        return []
    head = f"{LOGIC_FOLDER}/{call.symbol}"
    values = {"call": call, "g": graph}
    return [
        Unit(f"{head}.cpp", call.template, {"call": call, "tables": call.tables}),
        Unit(f"{head}.cfg", "aie/recurrent_logic.cfg.mako", values, verbatim=True),
    ]


def logics_of(graphs: Sequence[LayerGraph]) -> tuple[tuple[str, str, LogicCall], ...]:
    """Path of the source, name of the graph, and kernel, of each graph that has one."""
    found = ((graph.name, graph.logic) for graph in graphs)
    return tuple(
        (f"{LOGIC_FOLDER}/{call.symbol}.cpp", name, call)
        for name, call in found
        if call is not None
    )
