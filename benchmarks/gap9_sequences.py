"""Networks on sequences on GAP9: a small quantised transformer encoder, GRU and LSTM spotters.

    python benchmarks/gap9_sequences.py [--networks NAME ...] [--json FILE]

Simulated at 260 MHz, float ends included; on the control core alone modelled. Deviations are
measured: emulated runs on random inputs, every layer held to its reference bit for bit. Networks
are generated (`tests/networks`), with random weights.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np
import onnx
from gap9_bench import Row, by_network, row
from generated import keyword_gru, quantised_encoder

import match_aie as match
from match_aie.compilation import Compilation
from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.cluster.module import Floats

#: By name: (what it is, how it is made, what its floats become).
CASES: Mapping[str, tuple[str, Callable[[], onnx.ModelProto], Floats]] = {
    "encoder": (
        "32 positions, width 64, 2 heads, inner 128, one layer, uint8",
        quantised_encoder,
        "core",
    ),
    "gru": ("49 frames of 40, 64 units, 12 words", keyword_gru, "int8"),
    "lstm": ("49 frames of 40, 64 units, 12 words", lambda: keyword_gru(kind="LSTM"), "int8"),
}

#: Random inputs that deviations are looked for with.
INPUTS = 3


def sequence_rows(name: str, folder: Path) -> Iterator[Row]:
    """A network on all units and on the control core alone, and how far its layers are off."""
    about, made, floats = CASES[name]
    model = made()
    net = _compiled(model, GAP9(floats=floats))
    run, ms = net.simulate(record=False), 1e3 / 260e6
    schedule = net.program.schedule
    core = sum(step.layer is None for step in schedule.steps)
    note = f"{about}; {len(schedule.layers)} layers on NE16 and the cluster, {core} on the core"
    yield row(name, "simulated_ms", run.cycles * ms, "ms", "simulated", note)
    predicted = sum(step.predicted for step in run.steps)
    yield row(name, "predicted_ms", predicted * ms, "ms", "modelled", note)
    yield row(name, "on_core", core, "", "measured", "functions left to the control core")
    joules = sum(step.picojoules or 0.0 for step in run.steps)
    yield row(name, "simulated_uj", joules / 1e6, "uJ", "simulated", note)
    alone = _compiled(model, GAP9(modules=())).simulate(record=False).cycles
    yield row(name, "core_ms", alone * ms, "ms", "modelled", "the control core alone")
    yield from _deviations(name, net, folder)


def _compiled(model: onnx.ModelProto, target: GAP9) -> Compilation:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return match.compile(model, target)


def _deviations(name: str, net: Compilation, folder: Path) -> Iterator[Row]:
    """Worst LSB of integer layers, and worst share of the bound of float ones."""
    project, rng = net.write(folder / name), np.random.default_rng(1)
    shape, worst, used = net.inputs[0].shape, 0, 0.0
    for _ in range(INPUTS):
        result = project.run(rng.standard_normal(shape).astype(np.float32))
        if not result.matches_reference:
            raise SystemExit(f"{name}: emulation differs from the reference")
        worst = max(worst, *(found.max_lsb for found in result.deviations))
        used = max(used, *(found.bound_used for found in result.floats), 0.0)
    note = f"worst layer, {INPUTS} random inputs; every layer equals its reference bit for bit"
    yield row(name, "max_lsb", worst, "LSB", "measured", note)
    bound = "of the proven distance from the layer in float32, worst element"
    yield row(name, "bound_used_percent", 100 * used, "%", "measured", bound)


def main() -> None:
    """Print the rows, and write them."""
    by_network(__doc__, CASES, lambda folder: lambda name: sequence_rows(name, folder))


if __name__ == "__main__":
    main()
