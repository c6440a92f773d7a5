"""Small generated models of constructs that networks as shipped hold, on four targets.

    python benchmarks/constructs.py [--json FILE] [--only NAME ...] [--targets NAME ...]

Each is compiled for each target, run on the host (where a target's layers are emulated), and
compared with onnxruntime without optimisation, TensorFlow Lite files with LiteRT. A row says what
became of it: the largest difference by the output's largest magnitude and the share of products in
modules, or why it was refused. On the CPU it is also timed beside onnxruntime (with its
optimisations) or LiteRT with XNNPACK, one thread each, calls interleaved in one run; the ratio of
the fastest calls is kept, the calls from Python included.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from cpu import CLOCKS, Case, measure
from cpu_engines import Run, litert, onnxruntime
from generated import constructs
from machine import machine_row
from models import far, feeds_of, products, tflite_products
from rows import figure

TARGETS = ("CPU", "GAP9", "DIANA", "VersalAIEML")


@dataclass(frozen=True)
class Trial:
    """A construct as a file, sizes and values filled in for the other engine."""

    name: str
    construct: constructs.Construct
    folder: Path

    @property
    def lite(self) -> bool:
        """Whether it is a TensorFlow Lite file."""
        return self.path.suffix == ".tflite"

    @cached_property
    def path(self) -> Path:
        """The file as it is compiled."""
        made = self.construct.make()
        lite = isinstance(made, bytes)
        path = self.folder / ("model.tflite" if lite else "model.onnx")
        path.write_bytes(made if isinstance(made, bytes) else made.SerializeToString())
        return path

    @cached_property
    def fixed(self) -> Path:
        """The same file with its open sizes given, for counting products."""
        if not self.construct.shapes:
            return self.path
        model = onnx.load(self.path)
        for port in model.graph.input:
            dims = port.type.tensor_type.shape.dim
            for dim, size in zip(dims, self.construct.shapes[port.name], strict=True):
                dim.dim_value = size
        del model.graph.value_info[:]
        path = self.folder / "fixed.onnx"
        onnx.save(model, path)
        return path

    @cached_property
    def macs(self) -> int:
        """Products of the file."""
        return tflite_products(self.path) if self.lite else products(self.fixed)

    def given(self, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        """What the other engine is fed."""
        bound = {name: np.array(value) for name, value in self.construct.values.items()}
        return dict(feeds) | bound

    def other(self, feeds: Mapping[str, np.ndarray]) -> Run:
        """The other engine, as fast as it is."""
        return (litert if self.lite else onnxruntime)(self.path, self.given(feeds))

    def expected(self, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Its outputs, of onnxruntime those without optimisation."""
        if self.lite:
            return list(self.other(feeds)())
        return _plain(self.path, self.given(feeds))


def rows_of(trial: Trial, target: str, options: argparse.Namespace) -> list[dict[str, object]]:
    """What becomes of one model on one target."""
    import match_aie as match
    from match_aie.errors import MatchError

    name, how = trial.name, trial.construct
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = match.compile(
                trial.path, target, shapes=dict(how.shapes), values=dict(how.values)
            )
            kept = {state.input: state.initial for state in net.model.states}
            feeds = feeds_of(net.inputs) | kept
            project = net.write(trial.folder / target)
            own = dict(project.run(feeds, check=False, quick=True).outputs)
    except MatchError as error:
        why = f"{type(error).__name__}: {' '.join(error.what.split())}"
        return [figure(name, f"refused_{target}", 1.0, "", "measured", why)]
    for state in net.model.states:  # which the file keeps to itself
        del own[state.output]
    asked = {name: value for name, value in feeds.items() if name not in kept}
    inside = sum(layer.workload.macs for layer in net.program.schedule.layers)
    apart = float(f"{far(own, trial.expected(asked)):.1e}")
    difference = figure(name, f"difference_{target}", 0.0, "", "measured") | {"value": apart}
    rows = [difference]
    if trial.macs:
        share = min(100.0, 100 * inside / trial.macs)
        rows.append(figure(name, f"macs_percent_{target}", share, "%", "computed"))
    if target != "CPU":
        return rows
    runner = project.runner()
    for port, array in feeds.items():
        runner.inputs[port][...] = array
    return rows + _timed(trial, runner, asked, options)


def _timed(
    trial: Trial, runner: Run, asked: Mapping[str, np.ndarray], options: argparse.Namespace
) -> list[dict[str, object]]:
    """The CPU target beside the other engine, which is given what it asks for."""
    engine = "litert" if trial.lite else "onnxruntime"
    case = Case(trial.name, trial.macs)
    case.engines = {"match_aie": runner, engine: trial.other(asked)}
    case.seconds = {key: [] for key in case.engines}
    measure(case, options.rounds, options.window, CLOCKS[options.clock])
    calls = " and ".join(str(len(case.seconds[key])) for key in case.engines)
    note = f"{engine}, fastest of {calls} interleaved calls, 1 thread, {options.clock} time"
    ratio = case.best(engine) / case.best("match_aie")
    micro = 1e6 * case.best("match_aie")
    return [
        figure(trial.name, "speedup_vs_reference", ratio, "x", "measured", note),
        figure(trial.name, "microseconds", micro, "us", "measured"),
    ]


def _plain(path: Path, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = ort.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))


def main() -> None:
    """Print the rows, and write them."""
    known = list(constructs.CONSTRUCTS)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=known, choices=known)
    parser.add_argument("--targets", nargs="*", default=list(TARGETS), choices=TARGETS)
    parser.add_argument("--clock", default="wall", choices=list(CLOCKS))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--window", type=float, default=0.05, help="seconds per engine and round")
    options = parser.parse_args()
    rows: list[dict[str, Any]] = [machine_row()]
    for name in options.only:
        with tempfile.TemporaryDirectory() as folder:
            trial = Trial(name, constructs.CONSTRUCTS[name], Path(folder))
            if trial.lite and find_spec("ai_edge_litert") is None:
                print(f"{name}: left out, ai-edge-litert is not installed", flush=True)
                continue
            for target in options.targets:
                rows += rows_of(trial, target, options)
                print(json.dumps(rows[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
