"""The least time that layers could take at the peaks which the same run measures.

A layer does its products at the peak of its element type, or reads its weights, whichever takes
longer. A recurrent one reads the weights that multiply its state once a step; what it does with its
inputs comes before. It goes through them there and back, so that each cache may still have as many
of them as it holds: so many come at its rate, the rest from further out. Weights that are read once
a call come from the first cache that holds those of the whole network. Nothing else is counted.
Peaks are measured, the rest is computed.

Of a recurrent layer that is the least where inputs are multiplied before the steps, and one that
multiplies them while a step's weights are read may be faster. Its own least is `together`: all
products of the layer, or all that it reads, whichever takes longer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

#: Caches by name of their measured rate, innermost first.
RATES = ("read_L1", "read_L2", "read_L3")
RECURRENT = ("gru", "lstm")


def floor_seconds(
    workloads: Iterable[Any],
    peak: Mapping[str, float],
    caches: Iterable[int],
    *,
    together: bool = False,
) -> float:
    """Seconds of dense and recurrent float32 layers together.

    Args:
        workloads: of the layers.
        peak: GFLOP/s and GB/s, as `cpu_peak.c` names them.
        caches: bytes of each, innermost first.
        together: whether a recurrent layer's products of inputs go along with its steps.
    """
    layers, sizes = list(workloads), list(caches)
    whole = sum(4 * math.prod(shape) for layer in layers for shape in _weights(layer))
    total = 0.0
    for layer in layers:
        steps = layer.sizes["OY"] if layer.kind in RECURRENT else 1
        parts = []
        for at, shape in enumerate(_weights(layer)):
            nbytes, again = 4 * math.prod(shape), layer.kind in RECURRENT and at == 1
            rows = layer.macs / sum(math.prod(each) for each in _weights(layer))
            products = 2 * math.prod(shape) * rows / (peak["fp32"] * 1e9)
            if again:
                reads = steps * _kept_seconds(nbytes, peak, sizes)
            else:
                reads = nbytes / (_rate(whole, peak, sizes) * 1e9)
            parts.append((products, reads))
        if together and layer.kind in RECURRENT:
            parts = [tuple(map(sum, zip(*parts, strict=True)))]
        total += sum(max(part) for part in parts)
    return total


def _kept_seconds(nbytes: int, peak: Mapping[str, float], sizes: list[int]) -> float:
    """Seconds to read what was read before, each cache giving what it holds of it."""
    seconds, held = 0.0, 0
    for name, size in zip(RATES, sizes, strict=False):
        more = max(0, min(nbytes, size) - held)
        seconds, held = seconds + more / (peak[name] * 1e9), held + more
    return seconds + (nbytes - held) / (peak["read_memory"] * 1e9)


def _weights(layer: Any) -> list[tuple[int, ...]]:
    names = ("weight", "recurrent")
    return [operand.shape for operand in layer.operands if operand.name in names]


def _rate(nbytes: int, peak: Mapping[str, float], sizes: list[int]) -> float:
    """GB/s from the first cache that holds so many bytes."""
    for name, size in zip(RATES, sizes, strict=False):
        if nbytes <= size:
            return peak[name]
    return peak["read_memory"]
