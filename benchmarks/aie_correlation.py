"""Cost model against simulator: random legal mappings of ten layers, and the one that is chosen.

python benchmarks/aie_correlation.py [--layers N ...] [--each N] [--json FILE]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from machine import machine_row
from rows import figure, report

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import DenseLayer
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.given import find
from match_aie.targets.aie_ml.graph.sample import sampled
from match_aie.targets.aie_ml.simulate import simulate, simulate_program

#: Mappings of a layer.
MAPPINGS = 300

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
        value = spearman(modelled, simulated)
        found.append(value)
        gaps.append(gap)
        layer = LAYERS[number]
        name = f"{layer.rows}x{layer.reduction}x{layer.columns} {layer.a}x{layer.w}"
        ratio = max(abs(m / s - 1) for m, s in zip(modelled, simulated, strict=True))
        note = (
            f"{len(modelled)} mappings of {name}; model off by up to {100 * ratio:.1f} %; "
            f"chosen {gap:+.1f} % against the best of them"
        )
        metric = f"rank_correlation_{number}"
        rows.append(row("calibration", metric, value, "", "simulated", note))
    worst = f"worst of {len(found)} layers, each within itself"
    rows.append(row("calibration", "rank_correlation", min(found), "", "simulated", worst))
    mean, of = sum(found) / len(found), f"of {len(found)} layers"
    rows.append(row("calibration", "rank_correlation_mean", mean, "", "simulated", of))
    note = "simulated cycles of the chosen mapping above the best random one; worst layer"
    rows.append(row("calibration", "chosen_above_best_percent", max(gaps), "%", "simulated", note))
    return rows


def main() -> None:
    """Print the rows of some layers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--layers", nargs="*", type=int, default=list(range(len(LAYERS))))
    parser.add_argument("--each", type=int, default=MAPPINGS, help="mappings of a layer")
    parser.add_argument("--json", type=Path, help="also write the rows there")
    options = parser.parse_args()
    rows = correlation(device("vek280"), figure, options.each, options.layers)
    report([machine_row(), *rows], options.json)


if __name__ == "__main__":
    main()
