"""What GAP9's simulator says of the code that GVSoC timed, row by row.

    python benchmarks/gap9_gvsoc.py [--json FILE]

The rows of `tests/data/gvsoc_gap9.csv` time what commit 2aa2a23 emitted, so the controller's work
is that of its C. The simulator has no instruction caches: rows of cold code are compared with warm
code, and are in no mean.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gap9_bench import Row, row
from gap9_controller import errors
from gap9_sweeps import prepared
from generated import DATA
from machine import machine_row
from search import SAME2, convolution

from match_aie.errors import Infeasible
from match_aie.lowering.tiles import tile_program
from match_aie.mapping import search as search_mappings
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.ne16.job import tile_registers
from match_aie.targets.gap9.ne16.layer import ne16_layer, ne16_tiles
from match_aie.targets.gap9.timing.controller import Access
from match_aie.targets.gap9.timing.dma import Transfer, transfer_cycles
from match_aie.targets.gap9.timing.ne16 import (
    REGISTERS,
    Phases,
    decode,
    phases,
    program_cycles,
)
from match_aie.targets.gap9.timing.network import Gap9Timing

#: Layers that were timed alone: channels, output channels, and the output's width. Whose harness
#: that was is not known. It is taken to be the one whose programming of all registers is a row of
#: its own (`ALONE`, of the half that is fitted): NE16's states (`START`, `PASS`) leave 664 and 633
#: cycles of the two layers for all else, so no controller can have held the jobs up.
LAYERS = {
    "3x3 stride 2 16 to 32 channels 16x16 one tile": (16, 32, 16),
    "3x3 stride 2 32 to 64 channels 8x8 one tile": (32, 64, 8),
}
ALONE = "programming all registers of a job (structure in L1 or registers)"

#: Cycles of NE16's model beside its words (pulp/ne16/src/ne16_fsm.cpp, gvsoc/gvsoc-pulp@c309b6c): a
#: job starts one after the end of the job before; a pass of a 3x3 filter has six before it loads,
#: six before and six after its weights. A pixel that stride 2 drops is streamed out like others.
START, PASS = 1, 6 + 6 + 6


def gvsoc_rows() -> list[Row]:
    """Every row's error, then mean and worst of the two halves; held back is `gvsoc`."""
    found: list[Row] = []
    for use, case in (("fit", "gvsoc/fitted"), ("report", "gvsoc")):
        every = dict(_errors(use))
        warm = [abs(error) for what, error in every.items() if not what.endswith(" cold")]
        for what, error in every.items():
            note = "cold code; simulated warm: in no mean" if what.endswith(" cold") else use
            found.append(row(f"gvsoc/{what}", "error_percent", error, "%", "simulated", note))
        note = f"{len(warm)} rows of warm code that are marked {use}"
        mean = sum(warm) / len(warm)
        found.append(row(case, "mean_error_percent", mean, "%", "simulated", note))
        found.append(row(case, "max_error_percent", max(warm), "%", "simulated", note))
    return found


def _errors(use: str) -> Iterator[tuple[str, float]]:
    """(row, percent) of all rows for `use` but those of what no simulated thing does alone."""
    for step, error in errors(Access(), use).items():
        yield f"ne16 step {step}", 100 * error
    timing = Gap9Timing(260e6)
    lines = (DATA / "gvsoc_gap9.csv").read_text().splitlines()
    rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
    (program,) = [float(row["gvsoc_cycles"]) for row in rows if row["what"] == ALONE]
    for entry in rows:
        what, measured = entry["what"], float(entry["gvsoc_cycles"])
        cold = what.endswith(" cold")
        simulated = None
        if what in LAYERS:
            simulated = _alone(_jobs(*LAYERS[what]), program)
        elif what.startswith("offload"):
            simulated = timing.offload
        elif what.startswith("dma 4096"):
            simulated = transfer_cycles(Transfer("load", 4096), cold=cold)
        if simulated is not None and entry["use"] == use:
            yield what, 100 * (simulated / measured - 1)


def _jobs(channels: int, outputs: int, width: int) -> list[Phases]:
    """The jobs of a convolution of stride 2 in one tile on NE16."""
    (module,) = (module for module in GAP9().modules() if module.name == "ne16")
    image = (2 * width, 2 * width, channels)
    layer = prepared(module, convolution(image, outputs, (3, 3), 2, SAME2))
    assert layer is not None
    best = search_mappings(layer.workload, module)
    assert not isinstance(best, Infeasible)
    mapping = best[0].mapping
    cuts = tuple(replace(cut, index=0) for cut in mapping.cuts)
    tiles = tile_program(layer.workload, module, replace(mapping, kernel=0, cuts=cuts))
    assert tiles is not None
    (visit,) = tiles.visits()
    (part,) = ne16_tiles(layer.workload, visit.ranges)
    return [phases(decode(job)) for job in tile_registers(ne16_layer(layer.workload), part)]


def _alone(jobs: list[Phases], program: float) -> float:
    """Cycles of jobs of 3x3 filters, two being held; from the third on six registers are written.

    Args:
        jobs: in order.
        program: cycles to write all registers of a job.
    """
    now, ends = 0.0, [0.0, 0.0]
    for number, job in enumerate(jobs):
        share = program_cycles(REGISTERS if number < 2 else 6) / program_cycles()
        now = max(now, ends[-2]) + program * share
        ends.append(max(now, ends[-1]) + START + job.words + PASS * job.passes)
    return ends[-1]


def main() -> None:
    """Print the rows, and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = gvsoc_rows()
    for entry in rows:
        print(f"{entry['case']:70} {entry['metric']:20} {entry['value']:8.2f} {entry['note']}")
    if options.json:
        options.json.write_text(json.dumps([machine_row(), *rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
