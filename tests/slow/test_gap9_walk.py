"""What GAP9's timing says of the walk over tiles is what is counted of it."""

from pathlib import Path

import pytest

from match_aie.targets.gap9.timing.controller import Code
from tests import riscv
from tests.shared import model_file

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(riscv.missing() is not None, reason=str(riscv.missing())),
]


def test_instructions_are_the_timings_figures(monkeypatch):
    models = [model_file(f"{name}_u8.onnx") for name in ("resnet8", "mobilenetv1_025")]
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    import gap9_walk

    found = gap9_walk.everything(models)
    layers = [layer for walked in found.values() for layer in walked]
    code = Code()
    for listed, (enter, visit) in ((True, code.few), (False, code.many)):
        several = [layer for layer in layers if layer.visits > 1 and layer.listed == listed]
        # Of a transfer's work 15 instructions are the walk's; it was counted at -O3, here is -O2.
        priced = sum(
            enter.instructions + visit.instructions * layer.visits + 15 * layer.transfers
            for layer in several
        )
        assert priced == pytest.approx(sum(layer.instructions for layer in several), rel=0.2)
