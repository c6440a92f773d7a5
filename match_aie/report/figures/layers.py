"""Cycles of every call: what the cost model adds up, beside what the simulator took."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from match_aie.errors import shorten
from match_aie.report.clock import clock
from match_aie.report.figures.figure import GREY, PALETTE, Figure, field, rows, tips
from match_aie.report.network import NetworkReport, StepRow

#: Height of a call, in pixels.
ROW = 26

#: What a bar of the simulator is called beside the parts of the model's.
SIMULATED = "simulated"
CORE = "on the core (modelled)"


def layers(report: NetworkReport) -> Figure:
    """A pair of bars per call, in cycles of the target's clock."""
    bars = [bar for step in report.steps for bar in _bars(report, step)]
    parts = list(dict.fromkeys(bar["part"] for bar in bars))
    order = [f"{step.index}  {shorten(step.name, 40)}" for step in report.steps]
    special = {SIMULATED: "#6e7781", CORE: GREY}
    free = iter(PALETTE * (1 + len(parts) // len(PALETTE)))
    shades = [special.get(part) or next(free) for part in parts]
    return Figure(
        name="layers",
        title=f"{shorten(report.name, 60)}: cycles per call",
        description=(
            "For every call the parts of its modelled cycles, stacked, above the cycles that "
            "the simulator took. A part below zero is time that the call before already took; what "
            "is simulated of such a call is the rest."
        ),
        height=max(2, len(order)) * ROW,
        layers=(
            {
                "data": rows(bars),
                "mark": {"type": "bar", "cursor": "pointer"},
                "encoding": {
                    "y": field("call", "nominal", sort=order, scale={"paddingInner": 0.3}),
                    "yOffset": field("row", "nominal", scale={"paddingInner": 0.1}),
                    "x": field("cycles", "quantitative", "cycles of the target's clock"),
                    "color": field(
                        "part", "nominal", "part", scale={"domain": parts, "range": shades}
                    ),
                    "order": field("at", "quantitative"),
                    "tooltip": [
                        *tips(("call", "call"), ("part", "part"), ("origin", "how known")),
                        {"field": "cycles", "title": "cycles", "format": ",.0f"},
                    ],
                },
            },
        ),
    )


def _bars(report: NetworkReport, step: StepRow) -> Iterator[dict[str, Any]]:
    call = {"call": f"{step.index}  {shorten(step.name, 40)}", "index": step.index}
    if step.layer is not None:
        scale = clock(report, step)
        for at, (part, cycles) in enumerate(step.layer.parts):
            yield {
                **{**call, "row": 0, "at": at, "part": part},
                **{"cycles": cycles * scale, "origin": "modelled"},
            }
    elif step.core:
        yield {
            **{**call, "row": 0, "at": 0, "part": CORE},
            **{"cycles": step.core, "origin": "modelled"},
        }
    if step.simulated is not None:
        yield {
            **{**call, "row": 1, "at": 0, "part": SIMULATED},
            **{"cycles": step.simulated, "origin": SIMULATED},
        }
