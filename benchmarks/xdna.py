"""Published products of Ryzen AI arrays, simulated with the mapping that each row names.

    python benchmarks/xdna.py [--quick] [--json FILE]

Rows are those of `tests/data/xdna_gemm.csv` (arXiv:2512.13282, measured on Phoenix and Strix).
Kernels are modelled, programs simulated between the facts' clock and memory rate; no constant is
fitted on these rows. A product is one dispatch: the facts' time where calls follow each other, the
first block of results, then one more each interval.

Every product is simulated a second time with the publication's cycles of its kernel, and a third
time as if reading and writing shared the memory's rate: what is left is the array's error, and what
that fact makes. Products of 8 bits are also planned, their programs laid out and simulated, and
those of a smaller one executed. Rows of bfloat16 on npu2 were measured with the vendor's kernel of
block floating point, which adds to results in memory and is none of those here; they are refused by
name, and simulated with the published kernel only.

Dense layers of Whisper-base's encoder are planned, executed and simulated (`xdna_encoder.py`), and
the whole of it in 8 bits and bfloat16 (`xdna_whisper.py`, `xdna_overlay.py`,
`xdna_halves.py`, `xdna_floats.py`, `xdna_strategies.py`); its distance from float32 is measured
(`xdna_distance.py`).
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
from xdna_distance import distance
from xdna_encoder import encoder
from xdna_gemm import TYPES, Gemm, call_cycles, kernel, program
from xdna_kernels import kernel_rows
from xdna_own import own, small
from xdna_strategies import whisper

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.known import device as known_device
from match_aie.targets.aie_ml.schedule import schedule_call
from match_aie.targets.aie_ml.simulate import Beyond
from match_aie.targets.aie_ml.simulate.layer import simulate_program
from match_aie.targets.xdna.target import XDNA

FILE = DATA / "xdna_gemm.csv"

#: Devices and element types of the encoder's dense layers.
ENCODERS = (("npu1", "int8"), ("npu1", "bf16"), ("npu2", "int8"))

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


def simulated(
    gemm: Gemm, factor: float = 1.0, *, kernels: float | None = None, duplex: bool = True
) -> float:
    """TOPS of the whole product.

    Args:
        gemm: what is computed.
        factor: by which all assumed times are multiplied.
        kernels: MACs a cycle of its kernel; modelled where None.
        duplex: whether reading and writing have the memory's rate each.
    """
    device = replace(known_device(gemm.device), dram_duplex=duplex)
    m, k, n = gemm.block
    cycles = call_cycles(gemm, device) if kernels is None else round(m * k * n / kernels)
    made = program(gemm, device, cycles)
    beyond = replace(Beyond(), memory_cycles=round(factor * Beyond().memory_cycles))
    result = simulate_program(made, device, assumed=Assumed().scaled(factor), beyond=beyond)
    blocks = ceil(gemm.size[0] / (m * device.core_rows)) * ceil(gemm.size[2] / (n * device.columns))
    around = device.need(device.dispatch_us, "dispatch") * 1e3 * device.clock_ghz
    cycles = around + result.latency + (blocks - 1) * result.interval
    macs = gemm.size[0] * gemm.size[1] * gemm.size[2]
    return 2 * macs * device.clock_ghz / cycles / 1000


def implied(gemm: Gemm, tops: float) -> tuple[float, float]:
    """GB/s that the mapping reads and writes at a published rate."""
    made = program(gemm, known_device(gemm.device), 1)
    read = sum(r.bytes * r.sends for r in made.routes if r.source.tile[1] == 0)
    written = sum(r.bytes * r.sends for r in made.routes if r.sinks[0].tile[1] == 0)
    took = 2 * made.macs / tops / 1e3
    return read / took, written / took


def rows(quick: bool) -> list[dict[str, object]]:
    """All figures."""
    found: list[dict[str, object]] = []
    errors: dict[str, list[float]] = {"products": [], "kernels": []}
    kernels = {
        (gemm.device, gemm.block, gemm.out): value
        for gemm, value, unit in published()
        if unit == "MAC/cycle"
    }
    for gemm, value, unit in published():
        if unit == "TOPS" and not quick:
            found.append(_with_kernel(gemm, value, kernels[gemm.device, gemm.block, gemm.out]))
        try:
            kernel(gemm.a, gemm.out, known_device(gemm.device))
            XDNA(gemm.device, floats="bf16" if gemm.a == "bfloat16" else "float32")
        except TargetError as refused:
            found.append(figure(gemm.name, "refused", value, unit, "published", str(refused)))
            continue
        if unit == "MAC/cycle":
            found += [_kernel(gemm, value, errors["kernels"]), *kernel_rows(gemm, value)]
        elif not (quick and found and found[-1]["metric"] == "simulated_tops"):
            found += _product(gemm, value, errors["products"], quick)
    for what, seen in errors.items():
        note = f"{len(seen)} {what}, none of them fitted"
        how = "simulated" if what == "products" else "modelled"
        suffix = "" if what == "products" else "_kernels"
        mean = sum(seen) / len(seen)
        found.append(figure("calibration", f"mean_error_percent{suffix}", mean, "%", how, note))
        found.append(figure("calibration", f"max_error_percent{suffix}", max(seen), "%", how, note))
    for name, types in ENCODERS[:1] if quick else ENCODERS:
        found += encoder(name, types, executes=not quick)
    for name in ("npu1",) if quick else ("npu1", "npu2"):
        found += whisper(name, executes=not quick, apart=name == "npu1")
        found += whisper(name, executes=not quick, types="bf16")
    if not quick:
        found += whisper("npu2", executes=True, types="bfp16")
        found += distance("whisper_base_npu1_bf16")
        found += distance("whisper_base_npu2_bfp16", blocks=True)
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


def _with_kernel(gemm: Gemm, value: float, kernels: float) -> dict[str, object]:
    ours = simulated(gemm, kernels=kernels)
    error = 100 * (ours / value - 1)
    note = f"{error:+.1f} %, published {value:g}; its kernel: {kernels:g} published"
    return figure(gemm.name, "simulated_tops_published_kernel", ours, "TOPS", "simulated", note)


def _implied(gemm: Gemm, value: float) -> dict[str, object]:
    read, written = implied(gemm, value)
    note = f"what the mapping reads in the published time; it writes {written:.1f}"
    return figure(gemm.name, "implied_memory_rate", read, "GB/s", "modelled", note)


def _product(gemm: Gemm, value: float, errors: list[float], quick: bool) -> list[dict[str, object]]:
    ours = simulated(gemm)
    error = 100 * (ours / value - 1)
    errors.append(abs(error))
    note = f"{error:+.1f} %, published {value:g}; the publication's mapping, block {gemm.block}"
    found = [figure(gemm.name, "simulated_tops", ours, "TOPS", "simulated", note)]
    found.append(_implied(gemm, value))
    if not quick:
        other = simulated(gemm, duplex=False)
        note = f"{100 * (other / value - 1):+.1f} %; reading and writing share the memory's rate"
        found.append(figure(gemm.name, "simulated_tops_shared", other, "TOPS", "simulated", note))
    if gemm.out == "int8" or not quick:
        found += _own(gemm, quick)
    for factor in () if quick else (0.5, 2.0):
        other = simulated(gemm, factor)
        note = f"all assumed times times {factor:g}"
        found.append(
            figure(gemm.name, f"simulated_tops_x{factor:g}", other, "TOPS", "simulated", note)
        )
    return found


def _own(gemm: Gemm, quick: bool) -> list[dict[str, object]]:
    """The planner's mapping: TOPS, also at half and double of what is assumed; DRAM traffic."""
    ours, name = own(gemm), gemm.name
    executed = "" if quick else f"; {small(gemm).note}"
    note = f"{ours.note}{executed}"
    found = [figure(name, "own_simulated_tops", ours.tops, "TOPS", "simulated", note)]
    for factor, tops in zip((0.5, 2.0), ours.varied, strict=True):
        note = f"all assumed times, and conflicts of banks, times {factor:g}"
        metric = f"own_simulated_tops_x{factor:g}"
        found.append(figure(name, metric, tops, "TOPS", "simulated", note))
    modelled = f"the plan says {ours.modelled / 1e6:.1f} MB"
    note = f"{ours.least / 1e6:.1f} MB is the least of the schedule; {modelled}"
    moved = figure(name, "own_dram_megabytes", ours.moved / 1e6, "MB", "simulated", note)
    note = "DRAM traffic by the least of its schedule: x and y once, weights in every pass"
    ratio = figure(name, "dram_ratio", ours.moved / ours.least, "", "simulated", note)
    note = "DRAM traffic by all operands once"
    once = figure(name, "dram_ratio_once", ours.moved / ours.once, "", "simulated", note)
    more = [] if quick else rounded(gemm)
    return [*found, moved, ratio, once, *more]


def rounded(gemm: Gemm) -> list[dict[str, object]]:
    """The same with partial sums in the results' type: TOPS, and what it costs in the results."""
    ours, made, name = own(gemm, "result"), small(gemm, "result"), gemm.name
    metric = "own_simulated_tops_published_arithmetic"
    note = f"partial sums in the results' type (inferred); {ours.note}; {made.note}"
    found = [figure(name, metric, ours.tops, "TOPS", "simulated", note)]
    for factor, tops in zip((0.5, 2.0), ours.varied, strict=True):
        note = f"all assumed times, and conflicts of banks, times {factor:g}"
        found.append(figure(name, f"{metric}_x{factor:g}", tops, "TOPS", "simulated", note))
    note = f"of results from those of exact sums, random operands; {made.note}"
    unit = "" if gemm.out == "bfloat16" else "steps"
    for what, off in (("mean", made.mean), ("largest", made.most)):
        found.append(figure(name, f"rounded_{what}_difference", off, unit, "measured", note))
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
