"""A block of ViT that onnxruntime quantised, on the array: what stays on the core, and results."""

import numpy as np
import onnx
import pytest

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests.networks.transformers import Sizes, vit_block

quantization = pytest.importorskip("onnxruntime.quantization")


class Batches(quantization.CalibrationDataReader):
    """A few random inputs."""

    def __init__(self, shape):
        rng = np.random.default_rng(0)
        self.left = [{"x": rng.standard_normal(shape).astype(np.float32)} for _ in range(4)]

    def get_next(self):
        return self.left.pop() if self.left else None


def quantised(sizes, folder):
    """QDQ of int8, weights by channel, as onnxruntime's tools make it of the float model."""
    from onnxruntime.quantization.shape_inference import quant_pre_process

    paths = [folder / f"{name}.onnx" for name in ("plain", "ready", "vit")]
    onnx.save(vit_block(sizes), paths[0])
    quant_pre_process(paths[0], paths[1])
    quantization.quantize_static(
        paths[1],
        paths[2],
        Batches((1, sizes.steps, sizes.width)),
        quant_format=quantization.QuantFormat.QDQ,
        per_channel=True,
        activation_type=quantization.QuantType.QInt8,
        weight_type=quantization.QuantType.QInt8,
    )
    return paths[2]


@pytest.mark.slow
@pytest.mark.parametrize(
    "sizes", [Sizes(24, 32, 2, 64, 1), Sizes(197, 192, 3, 768, 1)], ids=["small", "ViT-tiny"]
)
def test_a_block_is_on_the_array_and_equals_its_reference(sizes, tmp_path):
    """All products; the residual sums too where they are large. The input is quantised before."""
    net = match.compile(quantised(sizes, tmp_path), VersalAIEML(columns_per_layer=8))
    layers = net.program.schedule.layers
    kinds = {layer.workload.kind for layer in layers if layer.module == "array"}
    assert {"attention", "dense", "layer_norm", "table"} <= kinds
    assert all(layer.module == "array" for layer in layers if layer.workload.macs)
    rest = {layer.workload.kind for layer in layers if layer.module != "array"}
    assert rest <= ({"quantize"} if sizes.width > 100 else {"quantize", "add"})
    rng = np.random.default_rng(1)
    x = rng.standard_normal((1, sizes.steps, sizes.width)).astype(np.float32)
    assert net.write(tmp_path / "net").run({"x": x}, timeout=400).matches_reference is True
