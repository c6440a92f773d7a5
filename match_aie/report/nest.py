"""How one layer's loops run, as text and as JSON: nest, memories, cost, the next best mappings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from match_aie.errors import shorten
from match_aie.hardware import Cost, ExecModule, Mapping, mapping_to_json
from match_aie.mapping.traffic import Traffic, traffic
from match_aie.report.table import count, extent, table
from match_aie.workload import Workload

#: Further mappings that are shown.
NEXT = 3


@dataclass(frozen=True, eq=False)
class LayerMapping:
    """A layer on a module.

    Attributes:
        layer: what users know it by.
        module: who runs it.
        pattern: as what.
        chosen: whether it runs there.
        workload: what it computes.
        mapping: how.
        cost: at what modelled cost.
        others: the next best mappings, best first.
    """

    layer: str
    module: ExecModule
    pattern: str
    chosen: bool
    workload: Workload
    mapping: Mapping
    cost: Cost
    others: tuple[tuple[Mapping, Cost], ...]


def mapping_text(view: LayerMapping) -> str:
    """All of it for people; every number of cycles is modelled."""
    workload = view.workload
    dims = " ".join(f"{name}={size}" for name, size in workload.dims)
    verdict = "" if view.chosen else " (not chosen)"
    rows = traffic(workload, view.module, view.mapping)
    lines = [
        f"{shorten(view.layer, 80)}: {workload.kind} {dims}",
        f"  on {view.module.name} as {view.pattern}{verdict}, {count(workload.steps)} steps",
        "",
        *(f"  {line}" for line in nest_lines(view.mapping, rows)),
        "",
        _memories(rows),
        "",
        f"  cost  {count(view.cost.cycles)} cycles (modelled)",
        *(f"        {count(cycles):>12} {name}" for name, cycles in view.cost.parts),
    ]
    if view.cost.picojoules is not None:
        lines.append(f"        {count(view.cost.picojoules):>12} pJ (modelled)")
    lines += ["", *_next(view)]
    return "\n".join(line.rstrip() for line in lines)


def nest_lines(mapping: Mapping, rows: Sequence[Traffic]) -> list[str]:
    """The loop nest, outermost first, with what moves before each loop."""
    tiles = {(row.operand, row.memory): row for row in rows}
    lines: list[str] = []
    for depth in range(len(mapping.temporal) + 1):
        indent = "  " * depth
        cuts = [cut for cut in mapping.cuts if cut.index == depth]
        for cut in sorted(cuts, key=lambda c: _position(rows, c.operand, c.memory)):
            row = tiles.get((cut.operand, cut.memory))
            if row is not None:
                size = f"{extent(row.tile)}, {count(row.nbytes)} bytes"
                lines.append(f"{indent}{cut.operand} in {cut.memory}: {size}")
        if depth == mapping.kernel:
            lines.append(f"{indent}kernel:")
        if depth < len(mapping.temporal):
            loop = mapping.temporal[depth]
            inside = "  " if depth >= mapping.kernel else ""
            step = f" step {loop.step}" if loop.step > 1 else ""
            lines.append(f"{indent}{inside}for {loop.dim} in {loop.size}{step}:")
    if mapping.spatial:
        unrolled = ", ".join(f"{loop.dim} {loop.size}" for loop in mapping.spatial)
        lines.append(f"{'  ' * (len(mapping.temporal) + 1)}at once: {unrolled}")
    return lines


def _position(rows: Sequence[Traffic], operand: str, memory: str) -> int:
    names = [(row.operand, row.memory) for row in rows]
    return names.index((operand, memory)) if (operand, memory) in names else len(names)


def _memories(rows: Sequence[Traffic]) -> str:
    header = ("memory", "operand", "tile", ">bytes", ">moves", ">bytes moved", ">steps per element")
    cells = [
        (
            row.memory,
            row.operand,
            extent(row.tile),
            count(row.nbytes),
            count(row.moves) if row.moves else "",
            count(row.moved_bytes) if row.moves else "whole",
            f"{row.reuse:,.1f}" if row.moves else "",
        )
        for row in rows
    ]
    return table(header, cells) if cells else "  the module states no memory"


def _next(view: LayerMapping) -> list[str]:
    if not view.others:
        return ["  the search names no other mapping"]
    rows = [
        (str(number), count(cost.cycles), _worse(cost, view.cost), _short(mapping))
        for number, (mapping, cost) in enumerate(view.others[:NEXT], 2)
    ]
    return [table(("#", ">cycles (modelled)", ">worse", "loops in time"), rows, "  ", 100)]


def _worse(cost: Cost, best: Cost) -> str:
    return f"{100 * (cost.cycles / best.cycles - 1):.2f} %" if best.cycles else "-"


def _short(mapping: Mapping) -> str:
    """Loops outside the kernel in one line, outermost first, with the tiles they step by."""
    loops = mapping.temporal[: mapping.kernel] or mapping.temporal
    return " ".join(f"{loop.dim}:{loop.size}x{loop.step}" for loop in loops) or "none"


def mapping_json(view: LayerMapping) -> dict[str, object]:
    """The same as plain objects; cycles are modelled."""
    return {
        "layer": view.layer,
        "module": view.module.name,
        "pattern": view.pattern,
        "chosen": view.chosen,
        "kind": view.workload.kind,
        "dims": dict(view.workload.dims),
        "macs": view.workload.macs,
        **_mapped(view.mapping, view.cost),
        "memories": [
            {**asdict(row), "tile": list(row.tile)}
            for row in traffic(view.workload, view.module, view.mapping)
        ],
        "next": [
            {**_mapped(mapping, cost), "worse_percent": _percent(cost, view.cost)}
            for mapping, cost in view.others[:NEXT]
        ],
        "provenance": "modelled",
    }


def _percent(cost: Cost, best: Cost) -> float | None:
    return 100 * (cost.cycles / best.cycles - 1) if best.cycles else None


def _mapped(mapping: Mapping, cost: Cost) -> dict[str, object]:
    return {
        "mapping": mapping_to_json(mapping),
        "cycles": cost.cycles,
        "parts": [{"name": name, "cycles": cycles} for name, cycles in cost.parts],
        "picojoules": cost.picojoules,
    }
