"""Cost model against simulator: random legal mappings of ten layers, and the one that is chosen.

    python benchmarks/aie_correlation.py [--layers N ...] [--each N] [--join FILE ...] [--json FILE]

Hundreds of mappings of a layer take minutes: layers may be run one by one, and joined.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

from generated import ROOT  # noqa: F401  (makes the tests importable)
from machine import machine_row
from rows import figure, report

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import DenseLayer
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.given import find
from match_aie.targets.aie_ml.simulate import simulate, simulate_program
from tests.random_mappings import sampled

#: Mappings of a layer.
MAPPINGS = 300

#: Names of figures.
RANK, ABOVE = "rank_correlation", "chosen_above_best_percent"

LAYERS = (
    DenseLayer(512, 896, 576),
    DenseLayer(128, 512, 512),
    DenseLayer(1, 512, 512),
    DenseLayer(64, 1024, 1024),
    DenseLayer(1024, 256, 256),
    DenseLayer(256, 784, 128),
    DenseLayer(33, 1000, 100),
    DenseLayer(128, 512, 512, a="int16"),
    DenseLayer(256, 256, 256, a="int16", w="int16", out="int16"),
    DenseLayer(512, 2048, 2048),
)


def ranks(values: Sequence[float]) -> list[float]:
    """Ranks from 0, equal values (to a millionth) sharing their mean rank."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    found = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] <= values[order[at]] * (1 + 1e-6):
            end += 1
        for i in order[at : end + 1]:
            found[i] = (at + end) / 2
        at = end + 1
    return found


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's rank correlation."""
    x, y = ranks(a), ranks(b)
    mx, my = sum(x) / len(x), sum(y) / len(y)
    covariance = sum((p - mx) * (q - my) for p, q in zip(x, y, strict=True))
    spread = sum((p - mx) ** 2 for p in x) * sum((q - my) ** 2 for q in y)
    return covariance / spread**0.5 if spread else 1.0


def compared(vek280: Device, number: int, each: int) -> tuple[list[float], list[float], float]:
    """Intervals of random mappings, modelled and simulated, and of the chosen one, simulated."""
    layer = LAYERS[number]
    modelled, simulated = [], []
    for priced, program in sampled(layer, vek280, each, seed=number):
        modelled.append(priced.cost.interval)
        simulated.append(simulate_program(program, vek280).interval)
    chosen = find(layer, vek280)
    assert not isinstance(chosen, Infeasible)
    return modelled, simulated, simulate(chosen[0].mapping, vek280).interval


def correlation(
    vek280: Device,
    row: Callable[..., dict[str, object]],
    each: int = MAPPINGS,
    numbers: Sequence[int] = range(len(LAYERS)),
) -> list[dict[str, object]]:
    """Rows a layer and over all; intervals of the repeated layer."""
    rows, found, gaps = [], [], []
    for number in numbers:
        modelled, simulated, ours = compared(vek280, number, each)
        gap = 100 * (ours / min(simulated) - 1)
        found.append(spearman(modelled, simulated))
        gaps.append(gap)
        layer = LAYERS[number]
        name = f"{layer.rows}x{layer.reduction}x{layer.columns} {layer.a}x{layer.w}"
        ratio = max(abs(m / s - 1) for m, s in zip(modelled, simulated, strict=True))
        note = (
            f"{len(modelled)} mappings of {name}; model off by up to {100 * ratio:.1f} %; "
            f"chosen {gap:+.1f} % against the best of them"
        )
        rows.append(row("calibration", f"{RANK}_{number}", found[-1], "", "simulated", note))
    return [*rows, *summary(found, gaps, row)]


def summary(
    found: Sequence[float], gaps: Sequence[float], row: Callable[..., dict[str, object]]
) -> list[dict[str, object]]:
    """Rows over all layers: their correlations, and what chosen mappings are above the best."""
    worst = f"worst of {len(found)} layers, each within itself"
    mean, of = sum(found) / len(found), f"of {len(found)} layers"
    note = "simulated cycles of the chosen mapping above the best random one; worst layer"
    return [
        row("calibration", RANK, min(found), "", "simulated", worst),
        row("calibration", f"{RANK}_mean", mean, "", "simulated", of),
        row("calibration", ABOVE, max(gaps), "%", "simulated", note),
    ]


def joined(files: Sequence[Path], rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """All rows of layers, of these and of earlier runs, and what they say together."""
    every = [*rows, *(each for file in files for each in json.loads(file.read_text()))]
    layers = [each for each in every if re.fullmatch(rf"{RANK}_\d+", str(each["metric"]))]
    layers.sort(key=lambda each: str(each["metric"]))
    found = [float(str(each["value"])) for each in layers]
    gaps = [float(str(each["value"])) for each in every if each["metric"] == ABOVE]
    return [*layers, *summary(found, gaps, figure)]


def main() -> None:
    """Print the rows of some layers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", nargs="*", type=int, default=list(range(len(LAYERS))))
    parser.add_argument("--each", type=int, default=MAPPINGS, help="mappings of a layer")
    parser.add_argument("--json", type=Path, help="also write the rows there")
    parser.add_argument("--join", nargs="*", type=Path, default=[], help="rows of earlier runs")
    options = parser.parse_args()
    rows = []
    if options.layers:
        rows = correlation(device("vek280"), figure, options.each, options.layers)
    if options.join:
        rows = joined(options.join, rows)
    report([machine_row(), *rows], options.json)


if __name__ == "__main__":
    main()
