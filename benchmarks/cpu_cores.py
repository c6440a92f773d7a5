"""What more cores give: the CPU target and onnxruntime with 1, 2, 4, ... threads, interleaved.

    python benchmarks/cpu_cores.py [--json FILE] [--cores 1 2 ...] [--only NAME ...]

Every engine is given each model in turn, as in `cpu.py`; wall-clock time, the smallest and the
median of its calls. Threads that wait for a core that others use tell nothing: run it on a quiet
machine.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path
from typing import Any

import cpu_engines
import numpy as np
from cpu import FLOAT32, INT8, Case, measure
from generated import network
from machine import machine_row


def prepared(name: str, cores: list[int]) -> Case:
    """A model with both engines on every number of cores."""
    import match_aie as match

    path = network(f"{name}.onnx")
    rng = np.random.default_rng(1)
    net = match.compile(path, "CPU")
    feeds = {p.name: rng.standard_normal(p.shape).astype(np.float32) for p in net.inputs}
    case = Case(name, 0)
    for count in cores:
        case.engines[f"match_aie_{count}"] = cpu_engines.match_aie(path, feeds, count)
        case.engines[f"onnxruntime_{count}"] = cpu_engines.onnxruntime(path, feeds, count)
    case.seconds |= {engine: [] for engine in case.engines}
    return case


def rows_of(case: Case, cores: list[int]) -> list[dict[str, Any]]:
    """Milliseconds of each, and how often faster than on the first number of cores."""
    found = []

    def row(metric: str, value: float, unit: str, note: str) -> None:
        head = {"case": case.name, "metric": metric, "value": value, "unit": unit}
        found.append({**head, "provenance": "measured", "note": note})

    for engine in ("match_aie", "onnxruntime"):
        first = case.best(f"{engine}_{cores[0]}")
        for count in cores:
            best, median = (of(f"{engine}_{count}") for of in (case.best, case.median))
            note = f"{count} threads, median {median * 1e3:.4f} ms"
            row(f"milliseconds_{engine}_{count}", best * 1e3, "ms", note)
            row(f"speedup_{engine}_{count}", first / best, "x", f"over {cores[0]} threads")
    return found


def main() -> None:
    """Print a line for each model, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=[*INT8, *FLOAT32])
    parser.add_argument("--cores", nargs="*", type=int, default=[1, os.cpu_count() or 1])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=0.2, help="seconds per engine and round")
    options = parser.parse_args()
    rows = [machine_row()]
    for name in options.only:
        case = prepared(name, options.cores)
        measure(case, options.rounds, options.window, time.perf_counter)
        rows += rows_of(case, options.cores)
        shown = [f"{e} {case.best(e) * 1e3:.4f} ms" for e in case.engines]
        print(f"{name:20} {', '.join(shown)}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
