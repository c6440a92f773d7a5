"""The network as a graph: a box per call, coloured by who runs it, joined by its tensors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from match_aie.errors import shorten
from match_aie.report.figures.figure import DARK, Figure, colours, field, rows, tips
from match_aie.report.network import Attempt, NetworkReport, StepRow
from match_aie.report.table import count, extent
from match_aie.report.text import FALLBACK

#: Height of a row of boxes, in pixels.
ROW = 38

#: A box and the gaps around it, in units of the drawing: a row is one high, a lane one wide.
_TOP, _BOTTOM, _LEFT, _RIGHT = 0.12, 0.88, 0.04, 0.9

#: Others that could run a layer, named when its box is pointed at.
_NAMED = 4


def graph(report: NetworkReport) -> Figure:
    """Calls in rows by how far they are from the inputs."""
    depths, makers = _depths(report.steps)
    boxes = _boxes(report, depths, makers)
    lanes = max((box["lane"] for box in boxes), default=0) + 1
    depth = max((box["row"] for box in boxes), default=0) + 1
    scales = {"x": {"domain": [0, lanes]}, "y": {"domain": [0, depth], "reverse": True}}
    return Figure(
        name="graph",
        title=f"{shorten(report.name, 60)}: who runs what",
        description=(
            "Every call of the network as a box, inputs above, coloured by the module that "
            "runs it. Cycles are modelled."
        ),
        height=max(2, depth) * ROW,
        layers=(
            {
                "data": rows(list(_edges(makers, boxes))),
                "mark": {"type": "line", "color": "#9aa5b1", "strokeWidth": 1.5, "clip": True},
                "encoding": {
                    **_at("x", "y", scales),
                    "detail": field("edge", "nominal"),
                    "order": field("at", "quantitative"),
                },
            },
            _drawn_boxes(boxes, scales, _shades(report)),
            _drawn_labels(boxes, scales, lanes),
        ),
    )


def _at(x: str, y: str, scales: dict[str, Any]) -> dict[str, Any]:
    """Where a mark is: columns of its rows."""
    return {
        "x": field(x, "quantitative", scale=scales["x"], axis=None),
        "y": field(y, "quantitative", scale=scales["y"], axis=None),
    }


def _drawn_boxes(
    boxes: list[dict[str, Any]], scales: dict[str, Any], shades: dict[str, Any]
) -> dict[str, Any]:
    return {
        "data": rows(boxes),
        "mark": {"type": "rect", "cornerRadius": 4, "cursor": "pointer", "clip": True},
        "params": [_MOVE],
        "encoding": {
            **_at("x", "y", scales),
            "x2": {"field": "right"},
            "y2": {"field": "bottom"},
            "color": field("module", "nominal", "runs on", scale=shades),
            "tooltip": _SHOWN,
        },
    }


def _drawn_labels(
    boxes: list[dict[str, Any]], scales: dict[str, Any], lanes: int
) -> dict[str, Any]:
    widest = {"expr": f"max(20, {_RIGHT - _LEFT} * width / {lanes} - 8)"}
    return {
        "data": rows(boxes),
        "mark": {
            **{"type": "text", "baseline": "middle", "limit": widest},
            **{"fontSize": 11, "clip": True, "cursor": "pointer"},
        },
        "encoding": {
            **_at("middle", "centre", scales),
            "text": {"field": "label"},
            "color": {"field": "ink", "type": "nominal", "scale": None},
            "tooltip": _SHOWN,
        },
    }


#: What is said of a box that is pointed at.
_SHOWN = tips(
    *(("name", "layer"), ("what", "runs as"), ("output", "output"), ("work", "MACs")),
    *(("cycles", "cycles (modelled)"), ("others", "who else, and why not")),
)

#: Dragged to move; the wheel zooms with the control key, since alone it moves the page.
_MOVE = {
    "name": "window",
    "select": {"type": "interval", "zoom": "wheel![event.ctrlKey]"},
    "bind": "scales",
}


def _boxes(
    report: NetworkReport, depths: dict[int, int], makers: dict[int, tuple[int, ...]]
) -> list[dict[str, Any]]:
    """A row of data per call."""
    lanes = _lanes(report.steps, depths, makers)
    attempts: dict[str, list[Attempt]] = {}
    for attempt in report.attempts:
        attempts.setdefault(attempt.layer, []).append(attempt)
    scale = _shades(report)
    dark = {m for m, shade in zip(scale["domain"], scale["range"], strict=True) if shade in DARK}
    return [
        _box(step, depths[step.index], lanes[step.index], attempts.get(step.name, ()), dark)
        for step in report.steps
    ]


def _shades(report: NetworkReport) -> dict[str, Any]:
    """Colours of those that run something."""
    return colours(_modules(report), FALLBACK if report.fallback else None)


def _modules(report: NetworkReport) -> list[str]:
    """Names of those that run something, the fallback left out."""
    return sorted({step.layer.module for step in report.steps if step.layer is not None})


def _box(
    step: StepRow, row: int, lane: int, attempts: Sequence[Attempt], dark: set[str]
) -> dict[str, Any]:
    """A row of data.

    Args:
        step: the call.
        row: of the drawing.
        lane: of the drawing.
        attempts: everything considered for it.
        dark: modules whose colour wants white letters.
    """
    layer, (dtype, shape) = step.layer, step.output
    module = layer.module if layer else FALLBACK
    others = [f"{a.module} as {a.pattern}: {a.outcome}" for a in attempts if not a.chosen]
    more = f" and {len(others) - _NAMED} more" if len(others) > _NAMED else ""
    name = shorten(step.name, 60)
    return {
        **{"index": step.index, "row": row, "lane": lane, "name": name, "module": module},
        **{"x": lane + _LEFT, "right": lane + _RIGHT, "middle": lane + (_LEFT + _RIGHT) / 2},
        **{"y": row + _TOP, "bottom": row + _BOTTOM, "centre": row + (_TOP + _BOTTOM) / 2},
        "label": f"{step.index}  {name}  ({module})",
        "ink": "white" if module in dark else "black",
        "what": layer.pattern if layer else shorten(step.operators, 80),
        "output": f"{dtype} {extent(shape)}",
        "work": count(layer.workload.macs) if layer else "",
        "cycles": count(layer.cycles) if layer else "",
        "others": "; ".join(shorten(other, 120) for other in others[:_NAMED]) + more or "nobody",
    }


def _depths(steps: Sequence[StepRow]) -> tuple[dict[int, int], dict[int, tuple[int, ...]]]:
    """Row of each step, and the steps that made what it reads."""
    maker: dict[str, list[int]] = {}
    depths: dict[int, int] = {}
    makers: dict[int, tuple[int, ...]] = {}
    for step in steps:
        before = sorted({at for name in step.reads for at in maker.get(name, ())})
        makers[step.index] = tuple(before)
        depths[step.index] = 1 + max((depths[at] for at in before), default=-1)
        for name in step.writes:
            maker.setdefault(name, []).append(step.index)
    return depths, makers


def _lanes(
    steps: Sequence[StepRow], depths: dict[int, int], makers: dict[int, tuple[int, ...]]
) -> dict[int, int]:
    """Below its leftmost maker where that lane of the row is free, else the next free lane."""
    taken: set[tuple[int, int]] = set()
    lanes: dict[int, int] = {}
    for step in steps:
        row, before = depths[step.index], makers[step.index]
        lane = min((lanes[at] for at in before), default=0)
        while (row, lane) in taken:
            lane += 1
        taken.add((row, lane))
        lanes[step.index] = lane
    return lanes


def _edges(
    makers: dict[int, tuple[int, ...]], boxes: Sequence[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """Points of a line each; lines over several rows go beside the boxes."""
    for to, before in makers.items():
        for at in before:
            start, end = boxes[at], boxes[to]
            points = [(start["middle"], start["bottom"])]
            if end["row"] - start["row"] > 1:
                side = start["lane"] + _RIGHT + 0.05
                points += [(side, start["bottom"] + 0.12), (side, end["y"] - 0.12)]
            points.append((end["middle"], end["y"]))
            for order, (x, y) in enumerate(points):
                yield {"edge": f"{at}-{to}", "at": order, "x": x, "y": y}
