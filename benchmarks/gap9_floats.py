"""Float32 networks on GAP9's cluster: in float32, with products of 16 bits, on the core.

    python benchmarks/gap9_floats.py [--networks NAME ...] [--json FILE]

Simulated at 260 MHz; on the control core alone modelled. Distances from onnxruntime's float32 are
measured: emulated runs on random inputs, every layer with products of 16 bits held to its
reference bit for bit, and all to their bounds. The networks have MLPerf Tiny's architectures and
random weights (`tests/networks`).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
from gap9_bench import Row, by_network, row
from generated import network

import match_aie as match
from match_aie.compilation import Compilation
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.cluster.module import Floats
from match_aie.workload import short_float

#: By name: the file.
CASES = {
    "mobilenet": "mobilenetv1_025",
    "resnet8": "resnet8",
    "dscnn": "dscnn",
    "dae": "dae",
}
WAYS: tuple[Floats, ...] = ("float32", "fp16", "bf16")

#: Random inputs of each network.
INPUTS = 3


def float_rows(name: str, folder: Path) -> Iterator[Row]:
    """A network in all ways, and on the control core alone."""
    path, ms = network(f"{CASES[name]}.onnx"), 1e3 / 260e6
    for way in WAYS:
        net = match.compile(path, GAP9(floats=way))
        run = net.simulate(record=False)
        layers = [layer.workload for layer in net.program.schedule.layers]
        short = sum(short_float(workload) is not None for workload in layers)
        note = f"{len(layers)} layers on the cluster, {short} with products of 16 bits"
        yield row(name, f"simulated_ms_{way}", run.cycles * ms, "ms", "simulated", note)
        predicted = sum(step.predicted for step in run.steps)
        yield row(name, f"predicted_ms_{way}", predicted * ms, "ms", "modelled", note)
        yield from _distances(name, way, net, path, folder)
    alone = match.compile(path, GAP9(modules=())).simulate(record=False).cycles
    yield row(name, "core_ms", alone * ms, "ms", "modelled", "the control core alone, in float32")


def _distances(name: str, way: str, net: Compilation, path: Path, folder: Path) -> Iterator[Row]:
    """How far the network's results are off, and its layers; a SystemExit where more than bound."""
    project, rng = net.write(folder / f"{name}_{way}"), np.random.default_rng(1)
    session = onnxruntime.InferenceSession(onnx.load(path).SerializeToString())
    worst, used = 0.0, 0.0
    for _ in range(INPUTS):
        given = {x.name: rng.standard_normal(x.shape).astype(np.float32) for x in net.inputs}
        result = project.run(given)
        if not result.matches_reference:
            raise SystemExit(f"{name}: emulation differs from the reference")
        (got,), (wanted,) = result.outputs.values(), session.run(None, given)
        far = np.abs(got.reshape(wanted.shape) - wanted).max() / np.abs(wanted).max()
        worst = max(worst, float(far))
        used = max(used, *(found.bound_used for found in result.floats))
    note = f"worst element, of the largest one's magnitude; {INPUTS} random inputs, onnxruntime"
    yield row(name, f"off_ppm_{way}", 1e6 * worst, "ppm", "measured", note)
    bound = "of the proven distance of a layer from float32, worst element"
    yield row(name, f"bound_used_percent_{way}", 100 * used, "%", "measured", bound)


def main() -> None:
    """Print the rows, and write them."""
    by_network(__doc__, CASES, lambda folder: lambda name: float_rows(name, folder))


if __name__ == "__main__":
    main()
