"""The CPU target against other engines: one run, one thread, calls interleaved.

    python benchmarks/cpu.py [--json FILE] [--markdown FILE] [--chart FILE.png] [--only NAME ...]

Every engine is given each model in turn, round after round, for a slice of time; the smallest and
the median time of its calls are kept, so that what disturbs the machine disturbs all. On a machine
that others use too, `--clock cpu` counts the process's CPU time instead of wall-clock time.
Peaks are measured in the same run (`cpu_peak.c`), before and after: percentages are of the larger.
All models are generated, with random weights.
Engines that are not installed (`openvino`, `iree-base-compiler` and `iree-base-runtime`) are left
out; `--chart` needs the extra `bench` (matplotlib).
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from cpu_engines import ENGINES, Run
from cpu_floor import RECURRENT, floor_seconds
from generated import network
from machine import machine_row

INT8 = ("resnet8_u8", "mobilenetv1_025_u8", "dscnn_u8", "dae_u8")
FLOAT32 = (
    "bert_enc_s128",
    "bert_enc_s8",
    "bert_attn_s128",
    "bert_attn_s8",
    "mixer_s16_block",
    "gru400",
    "nsnet2",
    "nsnet2_step",
)
#: Engines that take seconds for a call get few of them.
SLOW_SECONDS = 0.1
CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


@dataclass
class Case:
    """A model with its engines and what they took."""

    name: str
    macs: int
    engines: dict[str, Run] = field(default_factory=dict)
    notes: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=dict)
    workloads: tuple[Any, ...] = ()

    def best(self, engine: str) -> float:
        """Seconds of the fastest call."""
        return min(self.seconds[engine])

    def median(self, engine: str) -> float:
        """Seconds of the median call."""
        return float(np.median(self.seconds[engine]))


def prepare(name: str, wanted: list[str]) -> Case:
    """Build `name` with every engine that takes it."""
    import match_aie as match

    path = network(f"{name}.onnx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        net = match.compile(path, "CPU")
    rng = np.random.default_rng(1)
    feeds = {p.name: rng.standard_normal(p.shape).astype(np.float32) for p in net.inputs}
    workloads = tuple(layer.workload for layer in net.program.schedule.layers)
    case = Case(name, sum(layer.macs for layer in workloads), workloads=workloads)
    for engine in wanted:
        try:
            run = ENGINES[engine](path, feeds)
            run()
        except Exception as error:  # noqa: BLE001 - other engines fail in ways of their own
            case.notes[engine] = f"{type(error).__name__}: {str(error).splitlines()[0][:80]}"
            print(f"{name}: {engine} left out: {case.notes[engine]}", flush=True)
            continue
        case.engines[engine] = run
        case.seconds[engine] = []
    return case


def measure(case: Case, rounds: int, window: float, clock: Callable[[], float]) -> None:
    """Calls of all engines in turn, `window` seconds each, `rounds` times."""
    for _ in range(rounds):
        for engine, run in case.engines.items():
            times = case.seconds[engine]
            if times and min(times) > SLOW_SECONDS and len(times) >= 3:
                continue
            run()  # what the engine before left in the caches is not this one's fault
            stop = time.perf_counter() + window
            while True:
                start = clock()
                run()
                times.append(clock() - start)
                if time.perf_counter() > stop:
                    break


def peaks() -> dict[str, float]:
    """What `cpu_peak.c` measures, GFLOP/s (or GOP/s) and GB/s; empty without a C compiler."""
    from match_aie.targets.cpu.machine import machine

    here = Path(__file__).resolve()
    include = here.parents[1] / "targets" / "cpu" / "runtime" / "include"
    compiler = next((c for c in ("gcc", "clang") if shutil.which(c)), None)
    if compiler is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "peak")
        flags = ["-O3", "-std=c11", "-ffp-contract=off", *machine().flags, f"-I{include}"]
        source = here.with_name("cpu_peak.c")
        subprocess.run([compiler, *flags, str(source), "-o", str(program)], check=True)
        said = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    return {line.split()[0]: float(line.split()[1]) for line in said.splitlines()}


def rows_of(case: Case, peak: dict[str, float], clock: str) -> list[dict[str, Any]]:
    """Rows for one model; metrics of this module carry no engine's name."""
    kind = "int8" if case.name.endswith("_u8") else "fp32"
    found = []

    def row(metric: str, value: float, unit: str, note: str = "") -> None:
        found.append(
            {
                "case": case.name,
                "metric": metric,
                "value": value,
                "unit": unit,
                "provenance": "measured",
                "note": note,
            }
        )

    for engine in case.engines:
        own = engine == "match_aie"
        suffix = "" if own else f"_{engine}"
        calls = f"min of {len(case.seconds[engine])} calls, median "
        calls += f"{case.median(engine) * 1e3:.4f} ms, 1 thread, {clock} time"
        row(f"milliseconds{suffix}", case.best(engine) * 1e3, "ms", calls)
        row(f"median_milliseconds{suffix}", case.median(engine) * 1e3, "ms")
        if kind in peak:
            rate = 2.0 * case.macs / case.best(engine) * 1e-9
            row(f"percent_of_peak{suffix}", 100.0 * rate / peak[kind], "%", f"{kind} peak")
        if not own and "match_aie" in case.engines:
            ratio = case.best(engine) / case.best("match_aie")
            row(f"speedup_vs_{engine}", ratio, "x", "ratio of minima, above 1 match_aie is faster")
    return found


def floor_rows(case: Case, peak: dict[str, float]) -> list[dict[str, Any]]:
    """Percent of the floors' speed that a network of dense and recurrent layers gets."""
    from match_aie.targets.cpu.machine import machine

    kinds = {layer.kind for layer in case.workloads}
    if not peak or not kinds & {*RECURRENT} or not kinds <= {*RECURRENT, "dense"}:
        return []
    caches = [cache.bytes for cache in machine().caches]
    found = []
    for metric, together in (("percent_of_floor", False), ("percent_of_floor_together", True)):
        floor = floor_seconds(case.workloads, peak, caches, together=together)
        found.append(
            {
                "case": case.name,
                "metric": metric,
                "value": 100.0 * floor / case.best("match_aie"),
                "unit": "%",
                "provenance": "computed",
                "note": f"{floor * 1e3:.4f} ms at the run's peaks (cpu_floor.py)",
            }
        )
    return found


def table(rows: list[dict[str, Any]]) -> str:
    """A line a model: milliseconds (ratio to onnxruntime; percent of peak) of each engine."""
    values = {(r["case"], r["metric"]): r["value"] for r in rows}
    cases = list(dict.fromkeys(r["case"] for r in rows if r["case"] != "machine"))
    lines = ["| model | " + " | ".join(ENGINES) + " | faster than onnxruntime |"]
    lines.append("|---" * (len(ENGINES) + 2) + "|")
    for case in cases:
        cells = []
        for engine in ENGINES:
            suffix = "" if engine == "match_aie" else f"_{engine}"
            best = values.get((case, f"milliseconds{suffix}"))
            median = values.get((case, f"median_milliseconds{suffix}"))
            share = values.get((case, f"percent_of_peak{suffix}"))
            percent = "" if share is None else f"; {share:.0f} %"
            cells.append("" if best is None else f"{best:.4f} / {median:.4f}{percent}")
        ratio = values.get((case, "speedup_vs_onnxruntime"))
        cells.append("" if ratio is None else f"{ratio:.2f} x")
        lines.append(f"| {case} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def markdown(rows: list[dict[str, Any]], clock: str) -> str:
    """The table with the machine and its peaks above it."""
    machine = [r for r in rows if r["case"] == "machine"]
    name = machine[0]
    measured = ", ".join(f"{r['metric']} {r['value']:.0f} {r['unit']}" for r in machine[1:])
    return (
        "# CPU target against other engines, one thread\n\n"
        f"`python benchmarks/cpu.py` on {name['value']} ({name['note']}). Measured peaks of one "
        f"core: {measured}. Cells: smallest / median milliseconds ({clock} time) of a call; "
        "percent of the peak of the element type, all products of the layers counted (minimal "
        "filtering needs fewer, and may exceed 100 %).\n\n" + table(rows) + "\n"
    )


def chart(rows: list[dict[str, Any]], path: Path) -> None:
    """Bars of speed relative to onnxruntime, an engine a colour."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    values = {(r["case"], r["metric"]): r["value"] for r in rows}
    cases = list(dict.fromkeys(r["case"] for r in rows if r["case"] != "machine"))
    figure, axes = pyplot.subplots(figsize=(1.2 * len(cases) + 3, 4.5))
    width = 0.8 / len(ENGINES)
    for at, engine in enumerate(ENGINES):
        suffix = "" if engine == "match_aie" else f"_{engine}"
        heights = [
            values.get((case, "milliseconds_onnxruntime"), 0.0)
            / values.get((case, f"milliseconds{suffix}"), float("inf"))
            for case in cases
        ]
        axes.bar([i + at * width for i in range(len(cases))], heights, width, label=engine)
    axes.axhline(1.0, color="black", linewidth=0.8)
    axes.set_xticks([i + 0.4 for i in range(len(cases))], cases, rotation=30, ha="right")
    axes.set_ylabel("speed relative to onnxruntime")
    axes.set_title(f"One thread on {rows[0]['value']}, measured")
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def peak_rows(peak: dict[str, float]) -> list[dict[str, Any]]:
    """Peaks as rows of the machine."""
    units = {"fp32": "GFLOP/s", "int8": "GOP/s"}
    return [
        {
            "case": "machine",
            "metric": f"peak_{name}",
            "value": value,
            "unit": units.get(name, "GB/s"),
            "provenance": "measured",
            "note": "one core, best of many windows, in the run of the table",
        }
        for name, value in peak.items()
    ]


def main() -> None:
    """Print the table, and write rows, text and chart."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--markdown", type=Path)
    parser.add_argument("--chart", type=Path)
    parser.add_argument("--only", nargs="*", default=[*INT8, *FLOAT32])
    parser.add_argument("--engines", nargs="*", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--clock", default="wall", choices=list(CLOCKS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=0.2, help="seconds per engine and round")
    options = parser.parse_args()
    before = peaks()
    measured: list[dict[str, Any]] = []
    cases: list[Case] = []
    for name in options.only:
        case = prepare(name, options.engines)
        measure(case, options.rounds, options.window, CLOCKS[options.clock])
        cases.append(case)
        measured += rows_of(case, before, options.clock)
        print(table(measured).splitlines()[-1], flush=True)
    peak = {name: max(value, before.get(name, 0.0)) for name, value in peaks().items()}
    for row in measured:
        kind = "int8" if str(row["case"]).endswith("_u8") else "fp32"
        if str(row["metric"]).startswith("percent_of_peak") and kind in before:
            row["value"] *= before[kind] / peak[kind]
    measured += [row for case in cases for row in floor_rows(case, peak)]
    rows = [machine_row(), *peak_rows(peak), *measured]
    print(markdown(rows, options.clock))
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")
    if options.markdown:
        options.markdown.write_text(markdown(rows, options.clock))
    if options.chart:
        chart(rows, options.chart)


if __name__ == "__main__":
    main()
