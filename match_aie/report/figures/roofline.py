"""Layers under the roofs of their modules: whether products or the way to memory bound them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from match_aie.errors import shorten
from match_aie.hardware import Roof
from match_aie.report.clock import clock
from match_aie.report.figures.figure import Figure, colours, field, rows, tips
from match_aie.report.figures.layers import SIMULATED
from match_aie.report.network import NetworkReport, StepRow
from match_aie.report.table import count
from match_aie.report.text import FALLBACK

#: Height of the drawing, in pixels.
HEIGHT = 380

#: Peaks closer than this factor share a label: their lines all but touch.
_NEAR = 1.35

Row = dict[str, Any]


def roofline(report: NetworkReport) -> Figure | None:
    """A dot per layer: its speed over what it computes of a byte; None where no roof is stated.

    Both axes are logarithmic, in the cycles of the layer's module. Speeds are modelled and, where
    there is a simulator, simulated; the roofs are facts of the hardware with their sources.
    """
    found = [(step, roof) for step in report.layers if (roof := _roof(step)) is not None]
    dots = [dot for step, roof in found for dot in _dots(report, step, roof)]
    if not dots:
        return None
    # The slope is in the drawing, also where all layers are far to the right of it.
    least = min([dot["intensity"] / 2 for dot in dots] + [dot["ridge"] / 8 for dot in dots])
    most = 2 * max([dot["intensity"] for dot in dots] + [dot["ridge"] for dot in dots])
    lines = list(dict.fromkeys((_module(step), roof_line(roof)) for step, roof in found))
    shades = _shades(report, {module for module, _ in lines})
    top = 1.6 * max([dot["speed"] for dot in dots] + [dot["peak"] for dot in dots])
    bottom = min(dot["speed"] for dot in dots) / 2
    axes = {
        "x": {"type": "log", "domain": [least, most], "nice": False},
        "y": {"type": "log", "domain": [bottom, top], "nice": False},
    }
    drawn = [(*line, module) for module, line in lines]
    return Figure(
        name="roofline",
        title=f"{shorten(report.name, 60)}: layers under the roofs of their modules",
        description=_description(report, [roof for _, roof in found]),
        height=HEIGHT,
        layers=(
            _lines(drawn, (least, most), axes, shades),
            _labels(list(_peaks(drawn, most)), axes, "right", -7),
            _labels(list(_slopes(drawn, least, (bottom, top))), axes, "left", 14),
            _marks(dots, axes, shades),
        ),
    )


def _shades(report: NetworkReport, drawn: set[str]) -> dict[str, Any]:
    """Of modules that are drawn, the colours that they have in the other figures."""
    every = colours(sorted({_module(step) for step in report.layers}), None)
    pairs = zip(every["domain"], every["range"], strict=True)
    kept = [(module, shade) for module, shade in pairs if module in drawn]
    return {"domain": [module for module, _ in kept], "range": [shade for _, shade in kept]}


def no_roofline(report: NetworkReport) -> str:
    """Why `roofline` gives None; "" where it does not."""
    if any(_roof(step) is not None for step in report.layers):
        return ""
    modules = sorted({_module(step) for step in report.layers})
    if not modules:
        return "no module runs a layer"
    return f"no peak and bandwidth are stated for {', '.join(modules)}"


def roof_line(roof: Roof) -> tuple[float, float, str]:
    """What is drawn of a roof: peak, rate, memory."""
    return roof.macs_per_cycle, roof.bytes_per_cycle, roof.memory


def _roof(step: StepRow) -> Roof | None:
    return step.layer.roof if step.layer is not None and step.layer.workload.macs else None


def _module(step: StepRow) -> str:
    return step.layer.module if step.layer is not None else FALLBACK


def _description(report: NetworkReport, roofs: Sequence[Roof]) -> str:
    without = {_module(step) for step in report.layers if step.layer and step.layer.workload.macs}
    without -= {_module(step) for step in report.layers if _roof(step) is not None}
    left = f" Left out, as no peak is stated: {', '.join(sorted(without))}." if without else ""
    named = (source for roof in roofs for source in roof.source.replace("`", "").split("; "))
    sources = "; ".join(dict.fromkeys(named))
    beside = any(
        cycles < 0 for step in report.layers if step.layer for _, cycles in step.layer.parts
    )
    left += " Of a layer beside another one only the modelled speed is shown." if beside else ""
    return (
        "Multiply-accumulates a cycle over those of a byte that a layer must move. A layer under "
        "the slope is bound by the way to memory, under the flat part by products. "
        f"Speeds are modelled or simulated; roofs are from {sources}.{left}"
    )


def _dots(report: NetworkReport, step: StepRow, roof: Roof) -> Iterator[Row]:
    """Of a layer, in its module's cycles: as modelled, and as simulated."""
    assert step.layer is not None
    macs, ridge = step.layer.workload.macs, roof.macs_per_cycle / roof.bytes_per_cycle
    intensity = macs / roof.nbytes
    bound = min(roof.macs_per_cycle, roof.bytes_per_cycle * intensity)
    ratio = clock(report, step)
    # Time beside the layer before is a part below zero: the layer itself takes the others, and what
    # is simulated of its call is only the rest, which says nothing of its speed.
    whole = all(cycles >= 0 for _, cycles in step.layer.parts)
    simulated = step.simulated / ratio if step.simulated and whole else 0.0
    modelled = sum(cycles for _, cycles in step.layer.parts if cycles > 0) or step.layer.cycles
    for origin, cycles in (("modelled", modelled), (SIMULATED, simulated)):
        if cycles > 0:
            yield {
                "index": step.index,
                "name": f"{step.index}  {shorten(step.name, 60)}",
                "module": step.layer.module,
                "origin": origin,
                "intensity": intensity,
                "speed": macs / cycles,
                "share": 100 * macs / cycles / bound,
                "bound": "products" if intensity >= ridge else f"the way from {roof.memory}",
                "peak": roof.macs_per_cycle,
                "ridge": ridge,
                "work": f"{count(macs)} MACs, {count(roof.nbytes)} bytes",
            }


def _lines(
    drawn: Sequence[tuple[float, float, str, str]],
    ends: tuple[float, float],
    axes: dict[str, Any],
    shades: dict[str, Any],
) -> dict[str, Any]:
    """The roofs.

    Args:
        drawn: (peak, rate, memory, module) each.
        ends: of the horizontal axis.
        axes: scales by channel.
        shades: colours of modules.
    """
    points = [
        {"roof": number, "module": module, "intensity": x, "speed": min(peak, rate * x)}
        for number, (peak, rate, _, module) in enumerate(drawn)
        for x in sorted({ends[0], min(max(peak / rate, ends[0]), ends[1]), ends[1]})
    ]
    return {
        "data": rows(points),
        "mark": {"type": "line", "strokeWidth": 1.5, "opacity": 0.7, "clip": True},
        "encoding": {
            **_place(axes),
            "detail": field("roof", "nominal"),
            "color": field("module", "nominal", "runs on", scale=shades),
        },
    }


def _peaks(drawn: Sequence[tuple[float, float, str, str]], most: float) -> Iterator[Row]:
    """Labels at the right; of peaks that nearly touch, the highest one's."""
    last = float("inf")
    for peak, module in sorted({(peak, module) for peak, _, _, module in drawn}, reverse=True):
        if last / peak > _NEAR:
            last = peak
            text = f"{module}: {_round(peak)} MACs a cycle"
            yield {"intensity": most, "speed": peak, "text": text}


def _slopes(
    drawn: Sequence[tuple[float, float, str, str]], least: float, ends: tuple[float, float]
) -> Iterator[Row]:
    """Labels beside slopes, each rate once and higher than the one before.

    Args:
        drawn: (peak, rate, memory, module) each.
        least: left end of the horizontal axis.
        ends: of the vertical axis.
    """
    bottom, top = ends
    rates = dict.fromkeys((rate, memory) for _, rate, memory, _ in drawn)
    for number, (rate, memory) in enumerate(rates):
        height = bottom * (top / bottom) ** (0.1 + 0.1 * (number % 5))
        x = max(least, height / rate)
        yield {
            "intensity": x,
            "speed": rate * x,
            "text": f"{memory}: {_round(rate)} bytes a cycle",
        }


def _round(value: float) -> str:
    """To be read: whole, where it is large."""
    return count(value) if value >= 1000 else f"{value:.4g}"


def _labels(labels: list[Row], axes: dict[str, Any], align: str, lift: int) -> dict[str, Any]:
    return {
        "data": rows(labels),
        "mark": {"type": "text", "align": align, "dy": lift, "dx": 8 if align == "left" else -4},
        "encoding": {**_place(axes), "text": {"field": "text"}},
    }


def _marks(dots: list[Row], axes: dict[str, Any], shades: dict[str, Any]) -> dict[str, Any]:
    known = list(dict.fromkeys(dot["origin"] for dot in dots))
    return {
        "data": rows(dots),
        "mark": {"type": "point", "size": 70, "cursor": "pointer", "strokeWidth": 2},
        "encoding": {
            **_place(axes),
            "color": field("module", "nominal", "runs on", scale=shades),
            "shape": field(
                "origin",
                "nominal",
                "how known",
                scale={"domain": known, "range": ["circle", "diamond"][: len(known)]},
            ),
            "tooltip": [
                *tips(("name", "layer"), ("module", "runs on"), ("work", "work")),
                {"field": "intensity", "title": "MACs a byte", "format": ",.1f"},
                {"field": "speed", "title": "MACs a cycle", "format": ",.2f"},
                {"field": "share", "title": "of what bounds it (%)", "format": ",.0f"},
                *tips(("bound", "bound by"), ("origin", "how known")),
            ],
        },
    }


def _place(axes: dict[str, Any]) -> dict[str, Any]:
    """Where a mark is."""
    return {
        "x": field("intensity", "quantitative", "MACs a byte", scale=axes["x"]),
        "y": field("speed", "quantitative", "MACs a cycle of the module's clock", scale=axes["y"]),
    }
