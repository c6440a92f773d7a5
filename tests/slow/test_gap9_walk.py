"""What GAP9's timing says of the walk over tiles is what is counted of it."""

from pathlib import Path

import pytest

from match_aie.targets.gap9.timing.network import Gap9Timing
from tests import riscv
from tests.shared import shared

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(riscv.missing() is not None, reason=str(riscv.missing())),
]


def test_instructions_are_the_timings_figures(monkeypatch):
    models = [shared(f"{name}_u8.onnx") for name in ("resnet8", "mobilenetv1_025")]
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    import gap9_walk

    layers = [layer for model in models for layer in gap9_walk.walks(model)]
    timing = Gap9Timing(1.0)
    alone = max(layer.instructions for layer in layers if layer.visits == 1)
    enter, visit = gap9_walk.fit(layers)
    assert alone == pytest.approx(timing.one_tile, rel=0.05)
    assert visit == pytest.approx(timing.visit, rel=0.1)
    assert enter == pytest.approx(timing.enter, rel=0.1)
