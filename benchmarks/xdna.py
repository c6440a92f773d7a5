"""Published products of Ryzen AI arrays, simulated with the mapping that each row names.

    python benchmarks/xdna.py [--quick] [--json FILE]

Rows are those of `tests/data/xdna_gemm.csv` (arXiv:2512.13282, measured on Phoenix and Strix).
Kernels are modelled, programs simulated between the facts' clock and memory rate; no constant is
fitted on these rows. A product is one dispatch: the facts' time where calls follow each other, the
first block of results, then one more each interval. Products of 8 bits are also planned, their
programs laid out and simulated, and those of a smaller one executed. Rows of bfloat16 on npu2 were
measured with block floating point, for which there are no kernels here; they are refused by name.
"""

from __future__ import annotations

import argparse
import csv
import re
from dataclasses import replace
from math import ceil
from pathlib import Path

from generated import DATA
from machine import machine_row
from rows import figure, report
from xdna_gemm import TYPES, Gemm, call_cycles, kernel, program
from xdna_own import own, small

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.known import device as known_device
from match_aie.targets.aie_ml.schedule import schedule_call
from match_aie.targets.aie_ml.simulate import Beyond
from match_aie.targets.aie_ml.simulate.layer import simulate_program
from match_aie.targets.xdna.target import XDNA

FILE = DATA / "xdna_gemm.csv"
DEVICES = {"XDNA": "npu1", "XDNA2": "npu2"}


def published() -> list[tuple[Gemm, float, str]]:
    """Products and kernels with the throughput that was measured, and its unit."""
    found = []
    with FILE.open() as handle:
        lines = [line for line in handle if not line.startswith("#")]
    for entry in csv.DictReader(lines):
        types = re.match(r"(\w+)-(\w+)", entry["config"])
        sizes = [tuple(map(int, s.split("x"))) for s in re.findall(r"\d+x\d+x\d+", _text(entry))]
        if entry["metric"] != "throughput" or types is None or not sizes:
            continue
        a, out = (TYPES[name] for name in types.groups())
        gemm = Gemm(DEVICES[entry["platform"]], sizes[0], sizes[-1], a, out)
        found.append((gemm, float(entry["value"]), entry["unit"]))
    return found


def _text(entry: dict[str, str]) -> str:
    return f"{entry['workload']} {entry['config']}"


def simulated(gemm: Gemm, factor: float = 1.0) -> float:
    """TOPS of the whole product, with all assumed times multiplied."""
    device = known_device(gemm.device)
    made = program(gemm, device, call_cycles(gemm, device))
    beyond = replace(Beyond(), memory_cycles=round(factor * Beyond().memory_cycles))
    result = simulate_program(made, device, assumed=Assumed().scaled(factor), beyond=beyond)
    m, _, n = gemm.block
    blocks = ceil(gemm.size[0] / (m * device.core_rows)) * ceil(gemm.size[2] / (n * device.columns))
    around = device.need(device.dispatch_us, "dispatch") * 1e3 * device.clock_ghz
    cycles = around + result.latency + (blocks - 1) * result.interval
    macs = gemm.size[0] * gemm.size[1] * gemm.size[2]
    return 2 * macs * device.clock_ghz / cycles / 1000


def implied(gemm: Gemm, tops: float) -> float:
    """GB/s that the mapping's traffic takes at a published rate."""
    device = known_device(gemm.device)
    made = program(gemm, device, 1)
    run = sum(r.bytes * r.sends for r in made.routes if 0 in {r.source.tile[1], r.sinks[0].tile[1]})
    return run / (2 * made.macs / tops) * 1e3


def rows(quick: bool) -> list[dict[str, object]]:
    """All figures."""
    found: list[dict[str, object]] = []
    errors: dict[str, list[float]] = {"products": [], "kernels": []}
    for gemm, value, unit in published():
        try:
            kernel(gemm.a, gemm.out, known_device(gemm.device))
            XDNA(gemm.device, floats="bf16" if gemm.a == "bfloat16" else "float32")
        except TargetError as refused:
            found.append(figure(gemm.name, "refused", value, unit, "published", str(refused)))
            continue
        if unit == "MAC/cycle":
            found.append(_kernel(gemm, value, errors["kernels"]))
        elif not (quick and found and found[-1]["metric"] == "simulated_tops"):
            found += _product(gemm, value, errors["products"], quick)
    for what, seen in errors.items():
        note = f"{len(seen)} {what}, none of them fitted"
        how = "simulated" if what == "products" else "modelled"
        suffix = "" if what == "products" else "_kernels"
        mean = sum(seen) / len(seen)
        found.append(figure("calibration", f"mean_error_percent{suffix}", mean, "%", how, note))
        found.append(figure("calibration", f"max_error_percent{suffix}", max(seen), "%", how, note))
    return found


def _kernel(gemm: Gemm, value: float, errors: list[float]) -> dict[str, object]:
    device = known_device(gemm.device)
    call = schedule_call(kernel(gemm.a, gemm.out, device), device.architecture, *gemm.block)
    ours = call.macs / call.cycles
    error = 100 * (ours / value - 1)
    errors.append(abs(error))
    name = f"{gemm.device}_kernel_{'x'.join(map(str, gemm.block))}_{gemm.a}_{gemm.out}"
    note = f"{error:+.1f} %, published {value:g}"
    return figure(name, "macs_per_cycle", ours, "MAC/cycle", "modelled", note)


def _product(gemm: Gemm, value: float, errors: list[float], quick: bool) -> list[dict[str, object]]:
    ours = simulated(gemm)
    error = 100 * (ours / value - 1)
    errors.append(abs(error))
    note = f"{error:+.1f} %, published {value:g}; the publication's mapping, block {gemm.block}"
    found = [figure(gemm.name, "simulated_tops", ours, "TOPS", "simulated", note)]
    note = (
        "what the mapping moves in the published time; above the published rate no simulation fits"
    )
    rate = implied(gemm, value)
    found.append(figure(gemm.name, "implied_memory_rate", rate, "GB/s", "modelled", note))
    if gemm.a == gemm.out == "int8":
        ours, note = own(gemm)
        note = f"{note}; {small(gemm.device)}"
        found.append(figure(gemm.name, "own_simulated_tops", ours, "TOPS", "simulated", note))
    for factor in () if quick else (0.5, 2.0):
        other = simulated(gemm, factor)
        note = f"all assumed times times {factor:g}"
        found.append(
            figure(gemm.name, f"simulated_tops_x{factor:g}", other, "TOPS", "simulated", note)
        )
    return found


def main() -> None:
    """Print the rows, and write them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one product a kernel, no variations")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    report([machine_row(), *rows(options.quick)], options.json)


if __name__ == "__main__":
    main()
