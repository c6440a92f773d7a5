"""Least cycles of all shapes at once are those of each shape's mapping."""

from __future__ import annotations

from dataclasses import replace

import pytest

from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import ArrayMapping, DenseLayer
from match_aie.targets.aie_ml.array.assumed import Assumed
from match_aie.targets.aie_ml.array.least import floors
from match_aie.targets.aie_ml.array.shapes import Split, TileKey, alone, native_tilings, smallest

LAYERS = (
    DenseLayer(512, 896, 576),
    DenseLayer(1, 7, 11, bias=False, requantise="channel"),
    DenseLayer(37, 1013, 331, requantise="channel"),
    DenseLayer(96, 4096, 4096, a="int16", resident=False),
    DenseLayer(130, 300, 200, a="bfloat16", w="bfloat16", out="bfloat16"),
)


def least_of(m: ArrayMapping) -> float:
    """Cycles of products, starts and streams, by the mapping's own sizes."""
    assumed, core = Assumed(), device("vek280").architecture.core
    rate, each = core.macs_of(m.layer.a, m.layer.w) or 1, core.dma.bytes_per_cycle
    streams = (
        (m.input_sends(), m.input_bytes),
        (m.weight_sends(), m.weight_bytes),
        (m.calls, m.output_bytes),
    )
    macs = m.call_rows * m.part_reduction * m.call_columns
    return max(
        m.calls * (macs / rate + assumed.call(1)),
        *(times * (assumed.descriptor + size / each) for times, size in streams),
    )


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("parts", [(1, 1, 1), (2, 2, 4), (4, 8, 1)])
@pytest.mark.parametrize("outer", ["n", "m"])
@pytest.mark.parametrize("turns", [False, True])
def test_least_cycles_of_all_shapes_are_those_of_each(layer, parts, outer, turns):
    vek280 = device("vek280")
    tiling = native_tilings(layer, vek280)[0]
    sizes = layer.reduction / tiling.k, layer.columns / tiling.n, layer.rows / tiling.m
    able = (max(1, min(part, int(size))) for part, size in zip(parts, sizes, strict=True))
    base = replace(alone(smallest(layer, tiling, Split(*able, 0.0))), outer=outer)
    found = floors(base, TileKey(vek280), turns, False, Assumed())
    for shape, least in found:
        assert least == least_of(shape.of(base))
    assert turns or found or layer.reduction == 4096  # whose rows fit no tile without turns
