"""Networks on GAP9: simulated time, how well it is predicted, ablations, microbenchmarks.

    python benchmarks/gap9.py [--json FILE] [--parts PART ...] [--networks NAME ...]

Parts: networks, mappings, ne16, gvsoc, modules, l1, micro, time. The networks are generated: MLPerf
Tiny's architectures with random weights.
Every row says where its value comes from: "simulated" (NE16 and DMA fitted to GVSoC's cycles,
the cluster counted, the controller's share partly assumed: docs/gap9.md), "modelled" (the
cost model that the search uses), or "measured" (on this machine: bits and seconds).
"""

from __future__ import annotations

import argparse
import importlib
import json
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import gap9_sweeps
import numpy as np
from gap9_bench import NETWORKS, Bench, Row, ends, inner_cycles, row
from gap9_gvsoc import gvsoc_rows
from gap9_mappings import SampledLayer, rank_correlation, sampled
from gap9_timing import ne16_rows
from generated import DATA
from machine import machine_row

import match_aie as match
from match_aie.compilation import Compilation
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.timing.network import Gap9Timing
from match_aie.targets.gap9.timing.timed import read_layers

PARTS = ("networks", "mappings", "ne16", "gvsoc", "modules", "l1", "micro", "time")

#: Random inputs that deviations are looked for with, random mappings of a network, and their seed.
INPUTS, MAPPINGS, SEED = 3, 200, 1


def network_rows(bench: Bench, network: str) -> list[Row]:
    """A network's layers, one by one, and in all; then those of its float ends."""
    net, whole = bench.compile(network), bench.compile(network, floats=True)
    run, found = net.simulate(record=False), layer_rows(network, net, ends_too=False)
    predicted, simulated = inner_cycles(net, run)
    milliseconds = 1e3 / run.frequency_hz
    about = f"uint8 input to last integer tensor, {run.frequency_hz / 1e6:g} MHz, {control()}"
    found.append(row(network, "simulated_ms", simulated * milliseconds, "ms", "simulated", about))
    found.append(row(network, "predicted_ms", predicted * milliseconds, "ms", "modelled", about))
    both = whole.simulate(record=False)
    steps = zip(both.steps, ends(whole), strict=True)
    apart = sum(step.cycles for step, end in steps if end) * milliseconds
    found += layer_rows(network, whole, ends_too=True)
    found.append(row(network, "ends_ms", apart, "ms", "simulated", "float ends"))
    total = both.cycles * milliseconds
    found.append(row(network, "total_ms", total, "ms", "simulated", "with the float ends"))
    apart_net = bench.compile(network, GAP9(handover=False))
    _, alone = inner_cycles(apart_net, apart_net.simulate(record=False))
    note = "every layer for itself: nothing stays in L1, nothing is loaded for the next one"
    found.append(row(network, "alone_ms", alone * milliseconds, "ms", "simulated", note))
    return [*found, plain_row(bench, network), *deviation_rows(bench, network, whole)]


def plain_row(bench: Bench, network: str) -> Row:
    """The network planned for a cluster without Xpulp, and simulated with one."""
    net = bench.compile(network, GAP9(instruction_set="rv32imc"))
    run = net.simulate(record=False)
    _, simulated = inner_cycles(net, run)
    note = "plain rv32imc: the cluster's kernels as GCC compiles them, counted"
    return row(network, "rv32imc_ms", simulated * 1e3 / run.frequency_hz, "ms", "simulated", note)


def layer_rows(network: str, net: Compilation, *, ends_too: bool) -> list[Row]:
    """Every layer, predicted and simulated: the float ends where `ends_too`, else the others."""
    found = []
    run = net.simulate(record=False)
    for index, (step, end) in enumerate(zip(run.steps, ends(net), strict=True)):
        if end != ends_too:
            continue
        case = f"{network}/{'end' if end else f'{index:02d}'} {step.label}"
        note = f"{step.module}{', a float end: not in the total' if end else ''}"
        provenance = "simulated" if step.simulated else "modelled"
        found.append(row(case, "predicted_cycles", step.predicted, "cycles", "modelled", note))
        found.append(row(case, "simulated_cycles", step.cycles, "cycles", provenance, note))
    return found


def control() -> str:
    """The controller's figures that are in force."""
    timing = Gap9Timing(260e6)
    code, access = timing.code, timing.access
    one = code.one_tile.cycles(access)
    few, each = (work.cycles(access) for work in code.few)
    many, loops = (work.cycles(access) for work in code.many)
    return (
        f"walk {one:g} for one tile, {few:g} + {each:g} a tile up to 32, "
        f"{many:g} + {loops:g} beyond"
    )


def deviation_rows(bench: Bench, network: str, net: Compilation) -> list[Row]:
    """Emulated runs: equal to the reference, and how far layers are from the model's arithmetic."""
    project = net.write(bench.folder / network)
    rng = np.random.default_rng(SEED)
    port = net.inputs[0]
    worst = 0
    for _ in range(INPUTS):
        result = project.run(rng.standard_normal(port.shape).astype(np.float32))
        if not result.matches_reference:
            raise SystemExit(f"{network}: emulation differs from the reference")
        worst = max(worst, *(found.max_lsb for found in result.deviations))
    note = f"worst layer, {INPUTS} random inputs; every layer equals its reference bit for bit"
    return [row(network, "max_lsb", worst, "LSB", "measured", note)]


def mapping_rows(bench: Bench, network: str) -> list[Row]:
    """Prediction against simulation over random legal mappings, every layer for itself.

    Every layer has a row. A rank correlation is stated of layers with three mappings or more beside
    the chosen one, however little these differ; the notes say how many there are and how far they
    are apart. A layer of fewer has `mappings` in its place.
    """
    net = bench.compile(network, GAP9(handover=False))
    layers = sampled(net, MAPPINGS, SEED)
    everything = [sample for layer in layers for sample in layer.others]
    found = [layer_row(network, layer) for layer in layers]
    within = [entry["value"] for entry in found if entry["metric"] == "rank_correlation"]
    errors = [abs(sample.predicted / sample.simulated - 1) for sample in everything]
    note = f"{len(everything)} random mappings of {len(layers)} layers, {control()}"
    inside = f"within each of {len(within)} layers; {len(layers) - len(within)} have fewer than 3"
    totals = [
        ("rank_correlation", rank_correlation(everything), "", note),
        ("rank_correlation_mean", float(np.mean(within)), "", inside),
        ("rank_correlation_min", min(within), "", inside),
        ("mapping_error_mean_percent", 100 * float(np.mean(errors)), "%", note),
        ("chosen_gap_max_percent", *_gap(layers)),
    ]
    return [*found, *(row(network, *facts[:3], "simulated", facts[3]) for facts in totals)]


def layer_row(network: str, layer: SampledLayer) -> Row:
    """How mappings of one layer rank, how many there are, and how far they are apart."""
    simulated = [sample.simulated for sample in layer.others] or [layer.chosen.simulated]
    errors = [abs(sample.predicted / sample.simulated - 1) for sample in layer.others]
    spread = 100 * (max(simulated) / min(simulated) - 1)
    off = f", {100 * float(np.mean(errors)):.2f} % off" if errors else ""
    note = (
        f"{layer.module}, {len(layer.others)} mappings, dearest {spread:.1f} % above cheapest{off}"
    )
    case, value = f"{network}/mappings {layer.symbol}", rank_correlation(layer.others)
    if len(layer.others) < 3 or np.isnan(value):
        return row(case, "mappings", len(layer.others), "", "simulated", note)
    return row(case, "rank_correlation", value, "", "simulated", note)


def _gap(layers: Sequence[SampledLayer]) -> tuple[float, str, str]:
    """By how much a chosen mapping is slower, simulated, than the best one known; at worst."""
    gaps = {}
    for layer in layers:
        best = min(sample.simulated for sample in (layer.chosen, *layer.others))
        gaps[layer.symbol] = 100 * (layer.chosen.simulated / best - 1)
    worst = max(gaps, key=lambda symbol: gaps[symbol])
    above = sum(gap > 3 for gap in gaps.values())
    return gaps[worst], "%", f"{worst}; {above} of {len(gaps)} layers above 3 %"


def time_rows(bench: Bench) -> list[Row]:
    """Seconds to compile and to simulate MobileNet, nothing in the cache."""
    importlib.import_module("match_aie.tvm_api")
    path = bench.path("mobilenet")
    start, working = time.perf_counter(), time.process_time()
    net = match.compile(path, GAP9(), cache=False)
    compiled, worked = time.perf_counter(), time.process_time()
    net.simulate(record=False)
    note = "wall clock, default search, cold cache, beyond `import tvm`"
    return [
        row("mobilenet", "compile_cpu_seconds", worked - working, "s", "measured", "CPU time"),
        row("mobilenet", "compile_seconds", compiled - start, "s", "measured", note),
        row("mobilenet", "simulate_seconds", time.perf_counter() - compiled, "s", "measured"),
    ]


def collect(parts: Sequence[str], names: Sequence[str], bench: Bench, file: Path | None) -> None:
    """Rows of the parts and networks asked for, printed and written to `file` as they come."""
    rows = [machine_row()]

    def add(found: Sequence[Row]) -> None:
        rows.extend(found)
        if file:
            file.write_text(json.dumps(rows, indent=1) + "\n")
        for entry in found:
            value = f"{entry['value']:12.4f} {entry['unit']:9} {entry['provenance']:9}"
            print(f"{entry['case']:40.40} {entry['metric']:26} {value} {entry['note']}", flush=True)

    work: dict[str, Callable[[], object]] = {
        "time": lambda: add(time_rows(bench)),
        "networks": lambda: [add(network_rows(bench, name)) for name in names],
        "mappings": lambda: [add(mapping_rows(bench, name)) for name in names],
        "ne16": lambda: add(ne16_rows(read_layers(DATA / "ne16_cycles.csv"))),
        "gvsoc": lambda: add(gvsoc_rows()),
        "modules": lambda: [add(gap9_sweeps.module_rows(bench, name)) for name in names],
        "l1": lambda: [add(gap9_sweeps.l1_rows(bench, name)) for name in names],
        "micro": lambda: add(gap9_sweeps.micro_rows()),
    }
    for part, act in work.items():
        if part in parts:
            act()


def main() -> None:
    """Print a line a row, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--parts", nargs="*", choices=PARTS, default=PARTS)
    parser.add_argument("--networks", nargs="*", choices=NETWORKS, default=NETWORKS)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="match_aie_gap9_") as folder:
        collect(options.parts, options.networks, Bench(Path(folder)), options.json)


if __name__ == "__main__":
    main()
