"""The page of a network of 300 layers: its size, and how long a browser takes to show it.

    python benchmarks/report_page.py [--layers N] [--keep DIR] [--json FILE]

A chain of dense layers is compiled for GAP9, simulated, and its report.html opened in headless
Chromium, five times: from the address until the figures on the screen are drawn, and until all are,
which are drawn one after the other while nobody asks for anything. Without Chromium there is the
size only.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from browser import COMMAND, tab
from generated import autoencoder, unsigned
from machine import machine_row
from pictures import DRAWN

import match_aie as match
from match_aie.targets.gap9 import GAP9

#: Times that the page is opened; features of every layer.
ROUNDS, WIDTH = 5, 64


#: Expression of the page: what a reader sees first is there.
SEEN = (
    "document.readyState === 'complete' && [...document.querySelectorAll('[data-figure]')].every("
    "f => f.dataset.drawn === 'yes' || f.getBoundingClientRect().top > window.innerHeight)"
)


def opened(page: Path) -> Iterator[tuple[float, float]]:
    """Seconds until what is on the screen is drawn, and until all is, each time in an empty tab.

    Raises:
        RuntimeError: the page wrote an error.
    """
    with tab() as browser:
        browser.resize(1600)
        for _ in range(ROUNDS):
            browser.open("about:blank", "true")
            start = time.perf_counter()
            browser.open(page.as_uri(), SEEN)
            seen = time.perf_counter() - start
            while not browser.value(DRAWN):
                time.sleep(0.05)
            yield seen, time.perf_counter() - start
        if browser.errors:
            raise RuntimeError(f"{page}: {browser.errors}")


def page_of(layers: int, folder: Path) -> Path:
    """The page of a chain of so many layers, compiled into `folder` where it is not there yet."""
    page = folder / "report.html"
    if not page.exists():
        model = unsigned(autoencoder([WIDTH] * (layers + 1)))
        match.compile(model, GAP9(), integer_io=True).write(folder)
    return page


def page_rows(page: Path, case: str) -> Iterator[dict[str, Any]]:
    """Bytes, and seconds where there is a browser."""
    found = [("megabytes", page.stat().st_size / 1e6, "MB", "")]
    if shutil.which(COMMAND):
        note = f"median of {ROUNDS}, headless {COMMAND}"
        seen, drawn = map(statistics.median, zip(*opened(page), strict=True))
        found.append(("open_seconds", seen, "s", f"{note}; what is on the screen"))
        found.append(("all_seconds", drawn, "s", f"{note}; every figure"))
    for metric, value, unit, note in found:
        row = {"case": case, "metric": metric, "value": round(value, 3), "unit": unit}
        yield {**row, "provenance": "measured", "note": note}


def main() -> None:
    """Print the rows, and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", type=int, default=300)
    parser.add_argument("--keep", type=Path, help="the project's folder, used again if it is there")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # an assumed batch of 1
    rows = [machine_row()]
    with tempfile.TemporaryDirectory() as folder:
        page = page_of(arguments.layers, arguments.keep or Path(folder) / "net")
        for row in page_rows(page, f"{arguments.layers}_layers"):
            rows.append(row)
            print(row["case"], row["metric"], row["value"], row["unit"], flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
