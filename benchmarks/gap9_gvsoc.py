"""What GAP9's simulator says of the code that GVSoC timed, row by row.

    python benchmarks/gap9_gvsoc.py [--json FILE]

The rows of `tests/data/gvsoc_gap9.csv` time what commit 2aa2a23 emitted, so the controller's work
is that of its C. Nothing is fitted to them; their marks divide them in two halves. Rows of cold
offloads and transfers are compared with warm code, and are in no mean. Rows `states` are a bound,
not the simulator, in no mean either: layers that were timed alone against nothing but NE16's states
and jobs programmed in GVSoC's cycles. Rows of other commits and `again` are of
`gvsoc_gap9_today.csv`: what was emitted later, and 2aa2a23's C again, with 2 KiB of first cache.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gap9_bench import Row, row
from gap9_controller import CALLED, IN_LINE, KNOWN, errors, simulated
from gap9_sweeps import prepared
from generated import DATA
from machine import machine_row
from search import SAME2, convolution

from match_aie.errors import Infeasible
from match_aie.hardware import Visit
from match_aie.lowering.tiles import tile_program
from match_aie.mapping import search as search_mappings
from match_aie.simulation import KernelTime
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.ne16.job import tile_registers
from match_aie.targets.gap9.ne16.layer import ne16_layer, ne16_tiles
from match_aie.targets.gap9.timing.controller import COMMIT_2AA2A23, Access, Code
from match_aie.targets.gap9.timing.dma import Transfer, transfer_cycles
from match_aie.targets.gap9.timing.ne16 import (
    REGISTERS,
    Phases,
    decode,
    phases,
    program_cycles,
)
from match_aie.targets.gap9.timing.network import Gap9Timing
from match_aie.workload import Workload

#: Layers that were timed alone: channels, output channels, and the output's width. Whose harness
#: that was is not known. A program of one call has the kernel in line and its sizes known: so we
#: timed it on GVSoC, within 2.2 % of both rows; with several calls it is a fifth longer.
LAYERS = {
    "3x3 stride 2 16 to 32 channels 16x16 one tile": (16, 32, 16),
    "3x3 stride 2 32 to 64 channels 8x8 one tile": (32, 64, 8),
}
#: Emitted networks that this project timed on GVSoC: their manifests are beside the rows.
NOW, VERSIONS = ("resnet8", "dscnn"), ("b0cbba24", "f07b5e2a")
#: Cycles to program a job, of the half that is fitted.
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
    found += _timed_by_us()
    note = "NE16's states and GVSoC's programming, not the simulator: in no mean"
    for what, error in _bounds():
        found.append(row(f"gvsoc/states {what}", "error_percent", error, "%", "modelled", note))
    return found


def _errors(use: str) -> Iterator[tuple[str, float]]:
    """(row, percent) of all rows for `use` but those of what no simulated thing does alone."""
    for step, error in errors(Access(), use).items():
        yield f"ne16 step {step}", 100 * error
    timing = Gap9Timing(260e6, code=KNOWN)
    for entry in _entries():
        what, counted = entry["what"], float(entry["gvsoc_cycles"])
        cold = what.endswith(" cold")
        simulated = None
        if what in LAYERS:
            workload, visit = _tile(*LAYERS[what])
            simulated = _queued(timing.kernel("ne16", workload, visit))
        elif what.startswith("offload"):
            simulated = timing.offload
        elif what.startswith("dma 4096"):
            simulated = transfer_cycles(Transfer("load", 4096), cold=cold)
        if simulated is not None and entry["use"] == use:
            yield what, 100 * (simulated / counted - 1)


def _timed_by_us() -> list[Row]:
    """Rows that this project timed on GVSoC: emitted networks of `NOW`, and 2aa2a23's C again."""
    rows = {(entry["case"], entry["what"]): entry for entry in _entries("gvsoc_gap9_today.csv")}
    ours = {
        f"{version}/{network}": simulated(Code(), Access(), f"{network}_{version}.json.gz")
        for version in VERSIONS
        for network in NOW
    }
    ours["again/resnet8"] = simulated(COMMIT_2AA2A23, Access())
    cached = Access(near=0.0, far=0.0)
    for network in NOW:
        manifest = f"{network}_{VERSIONS[-1]}.json.gz"
        ours[f"cached/{network}"] = simulated(Code(), cached, manifest)
    called = simulated(CALLED, Access())
    copied = {
        "copied in ma_ne16_start": called,
        "copied in ma_ne16_tile": called,
        "copied in line": simulated(IN_LINE, Access()),
    }
    found: list[Row] = []
    for case, cycles in ours.items():
        version, _, network = case.partition("/")
        again = version == "again"
        timed = f"{network}_{version}_2048_words"
        if version in ("again", "cached"):
            timed = f"{network}_2aa2a23_2048" if again else f"{network}_{VERSIONS[-1]}_all_words"
        pairs = {
            f"step {step}": (value, float(rows[timed, f"step {step} ne16"]["gvsoc_cycles"]))
            for step, value in cycles.items()
        }
        if again:
            for how, of in copied.items():
                what = f"step 5 ne16 with the layer structure {how}"
                pairs[what] = of[5], float(rows[timed, what]["gvsoc_cycles"])
        errors = {what: 100 * (value / counted - 1) for what, (value, counted) in pairs.items()}
        for what, error in errors.items():
            name = f"gvsoc/{case} {what}"
            found.append(row(name, "error_percent", error, "%", "simulated", "report"))
        sums = [sum(side) for side in zip(*pairs.values(), strict=True)]
        every = [abs(error) for error in errors.values()]
        for metric, value in (
            ("mean_error_percent", sum(every) / len(every)),
            ("max_error_percent", max(every)),
            ("error_percent", 100 * (sums[0] / sums[1] - 1)),
        ):
            note = f"NE16 steps, {sums[0]:.0f} cycles simulated, {sums[1]:.0f} on GVSoC"
            found.append(row(f"gvsoc/{case}", metric, value, "%", "simulated", note))
    return found


def _bounds() -> Iterator[tuple[str, float]]:
    """(row, percent) of the layers that were timed alone, against NE16's states."""
    cycles = {entry["what"]: float(entry["gvsoc_cycles"]) for entry in _entries()}
    for what, layer in LAYERS.items():
        workload, visit = _tile(*layer)
        (part,) = ne16_tiles(workload, visit.ranges)
        jobs = [phases(decode(job)) for job in tile_registers(ne16_layer(workload), part)]
        yield what, 100 * (_states(jobs, cycles[ALONE]) / cycles[what] - 1)


def _entries(file: str = "gvsoc_gap9.csv") -> list[dict[str, str]]:
    lines = (DATA / file).read_text().splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def _tile(channels: int, outputs: int, width: int) -> tuple[Workload, Visit]:
    """A convolution of stride 2 in one tile on NE16."""
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
    return layer.workload, visit


def _queued(kernel: KernelTime) -> float:
    """Cycles of all jobs of a call, two being held: set up, run, one after the other."""
    now, ends = 0.0, [0.0, 0.0]
    for jobs in kernel.jobs:
        for _ in range(jobs.count):
            now = max(now, ends[-2]) + jobs.program
            ends.append(max(now, ends[-1]) + jobs.run)
    return ends[-1]


def _states(jobs: list[Phases], program: float) -> float:
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
