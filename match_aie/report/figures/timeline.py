"""What a simulated run did when: resources over time, and the tiles of an array by their work."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from match_aie.errors import shorten
from match_aie.report.figures.figure import Figure, field, rows, tips

#: Height of a resource, in pixels.
ROW = 20

#: Resources that are drawn; of more, those that are busy longest, each column of an array in turn.
SHOWN = 40

#: Spans closer than this part of the whole run are drawn as one: less than a pixel apart.
_CLOSE = 1 / 1500

_COLUMN = re.compile(r"^(\w+) \((\d+), \d+\)")
_TILE = re.compile(r"^tile \((\d+), (\d+)\)$")


@dataclass(frozen=True)
class Span:
    """What a resource did for a while; times in microseconds, simulated."""

    resource: str
    name: str
    kind: str
    start: float
    end: float


def spans(trace: str) -> tuple[Span, ...]:
    """Of a run's `trace_json`, in the order in which they began."""
    events = json.loads(trace)["traceEvents"]
    threads = {event["tid"]: event["args"]["name"] for event in events if event["ph"] == "M"}
    found = [
        Span(
            threads[event["tid"]],
            str(event["name"]),
            str(event["cat"]),
            float(event["ts"]),
            float(event["ts"]) + float(event["dur"]),
        )
        for event in events
        if event["ph"] == "X"
    ]
    return tuple(sorted(found, key=lambda span: (span.start, span.end)))


def timeline(network: str, found: Sequence[Span]) -> Figure:
    """Who was busy when."""
    whole = max((span.end for span in found), default=0.0)
    busy: dict[str, float] = {}
    for span in found:
        busy[span.resource] = busy.get(span.resource, 0.0) + span.end - span.start
    chosen = _chosen(busy)
    left = len(busy) - len(chosen)
    drawn = [span for name in chosen for span in _merged(found, name, whole * _CLOSE)]
    return Figure(
        name="timeline",
        title=f"{shorten(network, 60)}: {whole:,.1f} us, simulated",
        description=(
            "What every resource did when, simulated, in microseconds."
            + (f" Left out: {left} resources that are busy for shorter" if left else "")
            + (", or much like one of their column." if left else "")
        ),
        height=max(2, len(chosen)) * ROW,
        layers=(
            {
                "data": rows([_row(span) for span in drawn]),
                "mark": {"type": "bar", "height": {"band": 0.8}, "clip": True},
                "params": [
                    {
                        "name": "window",
                        "select": {
                            **{"type": "interval", "encodings": ["x"]},
                            "zoom": "wheel![event.ctrlKey]",
                        },
                        "bind": "scales",
                    }
                ],
                "encoding": {
                    "x": field("start", "quantitative", "microseconds (simulated)"),
                    "x2": {"field": "end"},
                    "y": field("resource", "nominal", sort=chosen),
                    "color": field("kind", "nominal", "doing"),
                    "tooltip": [
                        *tips(("resource", "who"), ("name", "what"), ("kind", "doing")),
                        {"field": "start", "title": "from (us)", "format": ",.3f"},
                        {"field": "end", "title": "to (us)", "format": ",.3f"},
                    ],
                },
            },
        ),
    )


def _chosen(busy: Mapping[str, float]) -> list[str]:
    """Those that are drawn, as they began.

    Tiles of a column do much the same: each column's busiest comes before any column's second.
    """
    seen: Counter[str] = Counter()
    turns: dict[str, int] = {}
    for name in sorted(busy, key=lambda name: -busy[name]):
        column = _COLUMN.match(name)
        group = column[0].rsplit(",", 1)[0] if column else name
        turns[name] = seen[group]
        seen[group] += 1
    best = sorted(busy, key=lambda name: (turns[name], -busy[name]))[:SHOWN]
    return sorted(best, key=list(busy).index)


def _row(span: Span) -> dict[str, Any]:
    return {
        **{"resource": span.resource, "name": shorten(span.name, 60), "kind": span.kind},
        **{"start": round(span.start, 4), "end": round(span.end, 4)},
    }


def _merged(found: Sequence[Span], resource: str, close: float) -> Iterator[Span]:
    """Spans of a resource; neighbours of one kind that nobody could tell apart are one."""
    waiting: Span | None = None
    for span in found:
        if span.resource != resource:
            continue
        if waiting and span.kind == waiting.kind and span.start - waiting.end <= close:
            same = span.name == waiting.name
            name = waiting.name if same else f"{span.name} and what came before"
            waiting = Span(resource, name, span.kind, waiting.start, max(waiting.end, span.end))
            continue
        if waiting:
            yield waiting
        waiting = span
    if waiting:
        yield waiting


def floorplan(network: str, found: Sequence[Span]) -> Figure | None:
    """The tiles of an array by the share of the run in which they compute; None without tiles.

    Columns to the right and rows upwards, as the vendor draws them.
    """
    whole = max((span.end for span in found), default=0.0)
    busy: dict[tuple[int, int], float] = {}
    for span in found:
        place = _TILE.match(span.resource)
        if place and span.kind == "kernel":
            at = (int(place[1]), int(place[2]))
            busy[at] = busy.get(at, 0.0) + span.end - span.start
    if not busy or not whole:
        return None
    cells = [
        {"column": column, "row": row, "share": 100 * much / whole, "us": much}
        for (column, row), much in sorted(busy.items())
    ]
    lines = max(row for _, row in busy) - min(row for _, row in busy) + 1
    return Figure(
        name="floorplan",
        title=f"{shorten(network, 60)}: {len(cells)} tiles in use, simulated",
        description=(
            "The tiles of the array that run kernels, columns to the right and rows upwards, "
            "coloured by the share of the run in which they compute, simulated."
        ),
        height=max(2, lines) * 26,
        layers=(
            {
                "data": rows(cells),
                "mark": {"type": "rect", "cornerRadius": 3},
                "encoding": {
                    "x": field(
                        *("column", "ordinal", "column"),
                        axis={"labelAngle": 0, "labelOverlap": True},
                        scale={"padding": 0.08},
                    ),
                    "y": field("row", "ordinal", "row", sort="descending", scale={"padding": 0.08}),
                    "color": field(
                        "share",
                        "quantitative",
                        "busy, % of the run",
                        scale={"scheme": "blues", "domainMin": 0},
                    ),
                    "tooltip": [
                        *tips(("column", "column"), ("row", "row")),
                        {"field": "share", "title": "busy (%)", "format": ".1f"},
                        {"field": "us", "title": "busy (us, simulated)", "format": ",.3f"},
                    ],
                },
            },
        ),
    )
