"""TVM alone, TVM with our layers, match_aie alone and onnxruntime: one run, one thread.

    python benchmarks/byoc.py [--json FILE] [--only NAME ...] [--clock wall|cpu]

Each network goes through TVM's ONNX front end; `TVM with layers` is the same module after
`Partition("CPU")` and `RunCodegen`, on TVM's virtual machine. Calls of all engines are interleaved,
as in `cpu.py`. All networks are generated, with random weights.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from cpu import CLOCKS, Case, measure
from cpu_engines import Feeds, Run, host_cpu, match_aie, onnxruntime, tvm
from generated import exported_cnn, network
from machine import machine_row

NETWORKS = ("resnet8_u8", "mobilenetv1_025_u8", "bert_enc_s128", "exported_cnn")


def tvm_with_layers(path: Path, feeds: Feeds) -> Run:
    """TVM's virtual machine with the layers that our CPU target runs."""
    import onnx
    import tvm as package
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    from match_aie.byoc import Partition

    passes = package.transform.Sequential([Partition("CPU"), relax.transform.RunCodegen()])
    module = passes(from_onnx(onnx.load(str(path))))
    target = package.target.Target({"kind": "llvm", "mcpu": host_cpu()})
    machine = relax.VirtualMachine(relax.build(module, target), package.cpu())
    given = [package.runtime.tensor(array) for array in feeds.values()]
    return lambda: machine["main"](*given)


ENGINES: dict[str, Callable[[Path, Feeds], Run]] = {
    "tvm": tvm,
    "tvm_match_aie": tvm_with_layers,
    "match_aie": match_aie,
    "onnxruntime": onnxruntime,
}


def prepare(path: Path, name: str) -> Case:
    """Build a network with every engine."""
    import match_aie as match

    net = match.compile(path, "CPU")
    rng = np.random.default_rng(1)
    feeds = {p.name: rng.standard_normal(p.shape).astype(np.float32) for p in net.inputs}
    case = Case(name, 0)
    for engine, build in ENGINES.items():
        case.engines[engine] = build(path, feeds)
        case.engines[engine]()
        case.seconds[engine] = []
    return case


def rows_of(case: Case, clock: str) -> list[dict[str, Any]]:
    """Rows of one network."""

    def row(metric: str, value: float, unit: str, note: str) -> dict[str, Any]:
        told = {"case": case.name, "metric": metric, "value": value, "unit": unit}
        return {**told, "provenance": "measured", "note": note}

    found = []
    for engine in ENGINES:
        note = f"min of {len(case.seconds[engine])} calls, median "
        note += f"{case.median(engine) * 1e3:.4f} ms, 1 thread, {clock} time"
        found.append(row(f"milliseconds_{engine}", case.best(engine) * 1e3, "ms", note))
    ours = case.best("tvm_match_aie")
    minima = "ratio of minima"
    found.append(row("speedup_vs_tvm", case.best("tvm") / ours, "x", f"{minima}, TVM alone"))
    alone = ours / case.best("match_aie")
    found.append(row("ratio_to_match_aie", alone, "x", f"{minima}, below 1 TVM is no slower"))
    return found


def main() -> None:
    """Print what each network takes, and write the rows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=list(NETWORKS), choices=NETWORKS)
    parser.add_argument("--clock", default="wall", choices=list(CLOCKS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=0.2, help="seconds per engine and round")
    options = parser.parse_args()
    rows = [machine_row()]
    with tempfile.TemporaryDirectory() as folder:
        for name in options.only:
            path = Path(folder, "exported_cnn.onnx")
            if name == "exported_cnn":
                path.write_bytes(exported_cnn(64, 32).SerializeToString())
            else:
                path = network(f"{name}.onnx")
            case = prepare(path, name)
            start = time.perf_counter()
            measure(case, options.rounds, options.window, CLOCKS[options.clock])
            rows += rows_of(case, options.clock)
            values = {r["metric"]: f"{r['value']:.4f}" for r in rows if r["case"] == name}
            print(f"{name}: {values} in {time.perf_counter() - start:.0f} s", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
