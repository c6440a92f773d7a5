"""A figure as data: a Vega-Lite specification, its name and its words, and its forms as a file."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

#: Of the grammar that all specifications are written in; the page and the files take the same one.
#: https://vega.github.io/vega-lite/docs/
VEGA_LITE = "6.4"

#: Of a file, in pixels, where the page takes what the window gives.
FILE_WIDTH = 960

Spec = Mapping[str, Any]


@dataclass(frozen=True)
class Figure:
    """One drawing of a compiled network.

    Attributes:
        name: by which users ask for it, such as "layers".
        title: a few words above it.
        description: what it shows and where its numbers are from; read out by screen readers.
        height: of the drawing, in pixels.
        layers: Vega-Lite layers; each holds its own rows.
    """

    name: str
    title: str
    description: str
    height: int
    layers: tuple[Spec, ...]

    @cached_property
    def spec(self) -> dict[str, Any]:
        """The specification, as wide as its container; plain JSON."""
        return {
            "description": self.description,
            "width": "container",
            "height": self.height,
            "autosize": {"type": "fit-x", "contains": "padding"},
            "layer": [dict(layer) for layer in self.layers],
            "config": CONFIG,
        }

    def svg(self) -> bytes:
        """As an SVG document of 960 pixels; needs no browser; the same bytes each time."""
        import vl_convert

        text = str(vl_convert.vegalite_to_svg(self._fixed(), vl_version=VEGA_LITE))
        # Vega numbers gradients by process, not by drawing.
        numbers: dict[str, int] = {}
        named = re.compile(r"\bgradient_(\d+)\b")
        return named.sub(
            lambda found: f"gradient_{numbers.setdefault(found[1], len(numbers))}", text
        ).encode()

    def png(self, *, scale: float = 2.0) -> bytes:
        """As a PNG image of 960 pixels times `scale`; needs no browser."""
        import vl_convert

        return bytes(vl_convert.vegalite_to_png(self._fixed(), vl_version=VEGA_LITE, scale=scale))

    def _repr_svg_(self) -> str:
        """What a notebook shows."""
        return self.svg().decode()

    def _fixed(self) -> dict[str, Any]:
        """With a width and words that stand in the picture."""
        fixed = {**self.spec, "width": FILE_WIDTH, "title": self.title, "background": "white"}
        return fixed


#: Of a legend: fewer where there is no room. By the page's width and not the plot's, which is known
#: when the legend's height has been taken. Outside of a page there is none, and room for all.
_COLUMNS = {"columns": {"expr": "containerSize()[0] < 480 ? 1 : containerSize()[0] < 640 ? 2 : 4"}}

#: What all figures share. Colours of text are set by the page, which knows light from dark.
CONFIG: dict[str, Any] = {
    "view": {"stroke": None},
    "font": "system-ui, sans-serif",
    "axis": {"grid": False, "labelLimit": 220, "titleFontWeight": "normal"},
    "legend": {"orient": "top", "titleFontWeight": "normal", "labelLimit": 260, **_COLUMNS},
}

#: Colours of modules, Okabe and Ito's: told apart by people who do not see red or green.
#: https://jfly.uni-koeln.de/color/
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#F0E442")

#: Of these, the ones on which black letters are hard to read.
DARK = frozenset({"#0072B2", "#009E73", "#D55E00"})

#: Of what no module runs.
GREY = "#9aa5b1"


def colours(modules: Sequence[str], rest: str | None) -> dict[str, Any]:
    """A colour scale: a colour each for `modules`, grey for `rest` where there is any."""
    shades = [PALETTE[at % len(PALETTE)] for at in range(len(modules))]
    if rest is None:
        return {"domain": [*modules], "range": shades}
    return {"domain": [*modules, rest], "range": [*shades, GREY]}


def rows(values: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Data of a layer."""
    return {"values": [dict(value) for value in values]}


def field(name: str, kind: str, title: str | None = None, **more: object) -> dict[str, Any]:
    """An encoding channel: a column of the rows and its kind ("quantitative", "nominal" ...).

    Args:
        name: of the column.
        kind: "quantitative", "nominal" ...
        title: of the axis; none where None.
        more: of Vega-Lite's own properties.
    """
    return {"field": name, "type": kind, "title": title, **more}


def tips(*columns: tuple[str, str]) -> list[dict[str, Any]]:
    """What is shown when a mark is pointed at: (column, title)."""
    return [{"field": name, "title": title} for name, title in columns]
