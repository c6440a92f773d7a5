"""Drawings of a compiled network, in one grammar for the page, SVG and PNG."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from match_aie.report.figures.figure import VEGA_LITE, Figure
from match_aie.report.figures.graph import graph
from match_aie.report.figures.layers import layers
from match_aie.report.figures.library import javascript
from match_aie.report.figures.memory import inner_memories, memory
from match_aie.report.figures.roofline import no_roofline, roofline
from match_aie.report.figures.timeline import Span, floorplan, spans, timeline
from match_aie.report.network import network_report

__all__ = [
    "VEGA_LITE",
    "Figure",
    "Span",
    "figures",
    "floorplan",
    "graph",
    "inner_memories",
    "javascript",
    "layers",
    "memory",
    "missing",
    "roofline",
    "spans",
    "timeline",
]


def figures(manifest: Mapping[str, Any], trace: str | None = None) -> tuple[Figure, ...]:
    """All that a compiled network has, in the order in which they are looked at.

    Args:
        manifest: a `match_aie.json`.
        trace: of a simulated run (`SimulatedRun.trace_json`); None where nothing was simulated.

    Raises:
        ProjectError: the manifest is damaged.
    """
    report = network_report(manifest)
    made = [graph(report), layers(report)]
    made += [one for one in (roofline(report), memory(manifest)) if one is not None]
    made += inner_memories(manifest)
    if trace is not None:
        found = spans(trace)
        plan = floorplan(report.name, found)
        made += [timeline(report.name, found), *([plan] if plan else [])]
    return tuple(made)


def missing(manifest: Mapping[str, Any], trace: str | None = None) -> dict[str, str]:
    """Figures that other networks have and this one has not, by name, and why.

    Args:
        manifest: a `match_aie.json`.
        trace: as `figures` takes it.

    Raises:
        ProjectError: the manifest is damaged.
    """
    reasons = {"roofline": no_roofline(network_report(manifest))}
    if memory(manifest) is None:
        reasons["memory"] = "no tensor lies in the arena"
    if trace is None:
        reasons["timeline"] = reasons["floorplan"] = "nothing was simulated"
    return {name: reason for name, reason in reasons.items() if reason}
