"""Cost model against simulator: random legal mappings of ten layers, and the one that is chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml.array import DenseLayer
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.given import find
from match_aie.targets.aie_ml.graph.sample import sample
from match_aie.targets.aie_ml.simulate import simulate

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


def correlation(
    vek280: Device, row: Callable[..., dict[str, object]], each: int = 30
) -> list[dict[str, object]]:
    """Rows a layer and over all; intervals of the repeated layer."""
    rows, found, gaps = [], [], []
    for number, layer in enumerate(LAYERS):
        mappings = sample(layer, vek280, each, seed=number)
        modelled = [priced.cost.interval for priced in mappings]
        simulated = [simulate(priced.mapping, vek280).interval for priced in mappings]
        chosen = find(layer, vek280)
        assert not isinstance(chosen, Infeasible)
        ours = simulate(chosen[0].mapping, vek280).interval
        gap = 100 * (ours / min(simulated) - 1)
        value = spearman(modelled, simulated)
        found.append(value)
        gaps.append(gap)
        name = f"{layer.rows}x{layer.reduction}x{layer.columns} {layer.a}x{layer.w}"
        ratio = max(abs(m / s - 1) for m, s in zip(modelled, simulated, strict=True))
        note = (
            f"{len(mappings)} mappings of {name}; model off by up to {100 * ratio:.1f} %; "
            f"chosen {gap:+.1f} % against the best of them"
        )
        metric = f"rank_correlation_{number}"
        rows.append(row("calibration", metric, value, "", "simulated", note))
    worst = "worst of ten layers, each within itself"
    rows.append(row("calibration", "rank_correlation", min(found), "", "simulated", worst))
    mean = sum(found) / len(found)
    rows.append(row("calibration", "rank_correlation_mean", mean, "", "simulated", "of ten layers"))
    note = "simulated cycles of the chosen mapping above the best random one; worst layer"
    rows.append(row("calibration", "chosen_above_best_percent", max(gaps), "%", "simulated", note))
    return rows
