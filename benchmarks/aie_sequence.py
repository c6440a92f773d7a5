"""Sequences on the AI Engine array: what a step of a recurrent layer takes.

    python benchmarks/aie_sequence.py [--cases NAME ...] [--json FILE]

Each layer is compiled by `match.compile` for a VEK280, or in float32 for a VCK190, out of an ONNX
model. Its program is executed for two runs with different data, and counts only where both results
equal the reference bit for bit; then it is simulated until runs follow each other at a steady pace,
everything included: starts, locks, transfers. Nothing here ran on hardware.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from machine import machine_row
from rows import report
from sequence import attention, blocks, networks, recurrent, single

#: Modules with their cases: `CASES` by name, and `rows_of(name)`.
PARTS = (attention, recurrent, single, networks, blocks)


def main() -> None:
    """Print the table, and write the rows."""
    parts = {name: part for part in PARTS for name in part.CASES}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--cases", nargs="+", choices=sorted(parts), default=list(parts), metavar="NAME"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows: list[dict[str, object]] = [machine_row()]
    for name in options.cases:
        rows += parts[name].rows_of(name)
    report(rows, options.json)


if __name__ == "__main__":
    main()
