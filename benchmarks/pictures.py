"""The reports of four networks, photographed, and the figures that the documents show.

    python benchmarks/pictures.py [--only NAME ...] [--out FOLDER] [--keep]

Projects, `NAME-WIDTH.png` and `NAME-WIDTH-dark.png` go to `build/pictures`; they need Chromium, and
are left out without. Figures of the documents are written to `docs/pictures`, which needs none;
`--keep` leaves those as they are.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from shutil import which

import generated
import onnx
from aie_network import CASES
from browser import COMMAND, Tab, tab
from rich.console import Console
from versal import dense_network

import match_aie as match
from match_aie.cli.guard import run
from match_aie.hardware import MatchTarget
from match_aie.targets.cpu import CPU
from match_aie.targets.gap9 import GAP9
from match_aie.targets.versal import VersalAIEML
from tests.networks.transformers import BERT_BASE, encoder

OUT = generated.ROOT / "build" / "pictures"
FIGURES = generated.ROOT / "docs" / "pictures"

#: Pixels across: a telephone, half a screen, a whole one.
WIDTHS = (400, 800, 1600)

#: Pixels down that a photograph shows at most.
TALLEST = 6000

#: Expression of the page: all figures are drawn.
DRAWN = (
    "document.querySelectorAll('[data-figure]').length > 0 && "
    "[...document.querySelectorAll('[data-figure]')].every(f => f.dataset.drawn === 'yes')"
)


@dataclass(frozen=True)
class Shown:
    """A network whose report is photographed.

    Attributes:
        model: makes it.
        target: that it is compiled for.
        figures: of it, in the documents.
    """

    model: Callable[[], onnx.ModelProto | Path]
    target: Callable[[], MatchTarget]
    figures: Sequence[str] = ()


def _dense() -> onnx.ModelProto:
    case = CASES["mlp7_512"]
    return dense_network(case.widths, case.rows, case.step)


NETWORKS = {
    "resnet8-gap9": Shown(
        lambda: generated.network("resnet8_u8.onnx"),
        GAP9,
        ("graph", "layers", "roofline", "memory-l1", "timeline"),
    ),
    "mlp7-versal": Shown(
        _dense,
        lambda: VersalAIEML(modules=("array",), memory="plio", optimize_for="throughput"),
    ),
    "mobilenet-versal": Shown(
        lambda: generated.network("mobilenetv1_025_u8.onnx"), VersalAIEML, ("floorplan", "layers")
    ),
    "bert-cpu": Shown(lambda: encoder("bert_layer", replace(BERT_BASE, layers=1)), CPU),
}


def photographs(page: Tab, report: Path, out: Path, name: str) -> Iterator[Path]:
    """A report in all widths, light and dark.

    Raises:
        RuntimeError: the page wrote errors to the console, or asked for anything but itself.
    """
    for width, dark in product(WIDTHS, (False, True)):
        page.resize(width)
        page.darken(dark)
        page.open("about:blank", "true")
        page.open(report.as_uri(), DRAWN)
        place = out / f"{name}-{width}{'-dark' if dark else ''}.png"
        page.picture(place, TALLEST)
        yield place
    asked = {url for url in page.requests if not url.startswith(("file:", "about:", "data:"))}
    if page.errors or asked:
        raise RuntimeError(f"{name}: {page.errors}, {asked}")


def main() -> None:
    """Compile, draw, photograph."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="+", choices=NETWORKS, default=list(NETWORKS))
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    console = Console()
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.only:
        shown, folder = NETWORKS[name], options.out / name
        console.print(f"{name}: compiling")
        match.compile(shown.model(), shown.target(), name=name).write(folder, overwrite=True)
        for figure in () if options.keep else shown.figures:
            place = FIGURES / f"{name}-{figure}.svg"
            place.parent.mkdir(exist_ok=True)
            if run(["report", str(folder), "--figure", figure, "-o", str(place)]):
                raise RuntimeError(f"{name}: no figure {figure}")
        if which(COMMAND) is None:
            console.print(f"no photographs: there is no {COMMAND}")
            continue
        with tab() as page:
            for place in photographs(page, folder / "report.html", options.out, name):
                console.print(f"written to {place}")


if __name__ == "__main__":
    main()
