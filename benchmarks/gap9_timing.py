"""Simulated cycles of NE16 and of GAP9's DMA against those of GVSoC.

    python benchmarks/gap9_timing.py [--json FILE]

GVSoC's are `ne16_cycles.csv` and `dma_cycles.csv` in `tests/data`. Constants of NE16 are fitted to
the even rows; errors are reported for the odd ones, with those constants. All these layers have
stride 1; `gap9_gvsoc.py` has two of stride 2.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from generated import DATA
from machine import machine_row

from match_aie.targets.gap9.timing.dma import transfer_cycles
from match_aie.targets.gap9.timing.ne16 import Latencies, job_cycles
from match_aie.targets.gap9.timing.timed import (
    TimedLayer,
    fit,
    halves,
    read_layers,
    read_transfers,
)


def row(case: str, metric: str, value: float, unit: str, note: str = "") -> dict[str, Any]:
    """A row of the table; everything here is simulated."""
    found = {"case": case, "metric": metric, "value": round(value, 3), "unit": unit}
    return {**found, "provenance": "simulated", "note": note}


def ne16_rows(layers: Sequence[TimedLayer]) -> list[dict[str, Any]]:
    """Every layer's error, and those of the rows that nothing was fitted to."""
    fitted, held_out = halves(layers)
    latencies = fit(fitted)
    if latencies != Latencies():
        raise SystemExit(f"the constants in the source are not the fit: {latencies}")
    found = []
    errors = {
        layer.name: 100 * (job_cycles(layer.job, latencies) / layer.cycles - 1) for layer in layers
    }
    for layer in layers:
        note = f"GVSoC {layer.cycles:g}, {'fitted' if layer in fitted else 'held out'}"
        found.append(row(layer.name, "error_percent", errors[layer.name], "%", note))
    judged = [abs(errors[layer.name]) for layer in held_out]
    note = f"rows not fitted to: {', '.join(layer.name for layer in held_out)}; stride 1 only"
    mean = sum(judged) / len(judged)
    found.append(row("ne16_golden", "mean_error_percent", mean, "%", note))
    found.append(row("ne16_golden", "max_error_percent", max(judged), "%", note))
    return found


def dma_rows(path: Path) -> list[dict[str, Any]]:
    """Every transfer's error; constants are calibrated on these rows themselves."""
    found = []
    for timed in read_transfers(path):
        transfer = timed.transfer
        cycles = transfer_cycles(transfer, cold=timed.cold)
        name = f"{transfer.direction} {transfer.lines} x {transfer.line_bytes} B"
        note = f"GVSoC {timed.cycles:g}{', first of the run' if timed.cold else ''}"
        found.append(row(name, "error_percent", 100 * (cycles / timed.cycles - 1), "%", note))
    worst = max(abs(entry["value"]) for entry in found)
    found.append(row("dma", "max_error_percent", worst, "%", "in sample"))
    return found


def main() -> None:
    """Print the table; write it where asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = [
        machine_row(),
        *ne16_rows(read_layers(DATA / "ne16_cycles.csv")),
        *dma_rows(DATA / "dma_cycles.csv"),
    ]
    for entry in rows[1:]:
        print(f"{entry['case']:24} {entry['metric']:20} {entry['value']:8} {entry['note']}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
