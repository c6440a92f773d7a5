"""A layer of Whisper-base's encoder of real size, emitted for Ryzen AI, run in emulation."""

import re
import shutil

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.xdna import XDNA
from tests.networks.whisper import WHISPER_BASE, Sizes, whisper_encoder
from tests.shared import random_inputs

LAYER = Sizes(layers=1, convolutions=False)


def real_outputs(inputs):
    """What onnxruntime makes of the layer in float32."""
    runtime = pytest.importorskip("onnxruntime")
    model = whisper_encoder(LAYER, real=True)
    session = runtime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    return session.run(None, inputs)[0].reshape(-1)


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.slow
@pytest.mark.parametrize("softmax", ["model", "running"])
def test_a_layer_of_real_size_is_equal_to_its_reference(tmp_path, softmax) -> None:
    """1,500 frames, 8 heads: attention runs on the array, the rest beside it."""
    assert (LAYER.frames, LAYER.heads) == (WHISPER_BASE.frames, WHISPER_BASE.heads)
    net = match.compile(whisper_encoder(LAYER), target=XDNA(device="npu1", softmax=softmax))
    kinds = {(layer.module, layer.workload.kind) for layer in net.program.schedule.layers}
    assert ("array", "attention") in kinds
    project = net.write(tmp_path / "net")
    # The array is configured once: attention is a sequence beside those of the dense layers.
    (text,) = (tmp_path / "net" / "mlir").glob("*.mlir")
    array = [layer for layer in net.program.schedule.layers if layer.module == "array"]
    names = re.findall(r"runtime_sequence @(\w+)\(", text.read_text())
    assert sorted(names) == sorted(layer.symbol for layer in array)
    assert all(name != "configuring" for layer in array for name, _ in layer.cost.parts)
    inputs = random_inputs(net.inputs, np.random.default_rng(0))
    result = project.run(inputs)
    assert result.matches_reference
    assert result.layers_checked == len(net.program.schedule.layers)
    real = real_outputs(inputs)
    (output,) = result.outputs.values()
    assert np.corrcoef(output.reshape(-1).astype(float), real)[0, 1] > 0.999


@pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("device", "softmax"), [("npu1", "model"), ("npu1", "unshifted"), ("npu2", "unshifted")]
)
def test_a_layer_whose_attention_is_in_bfloat16_is_equal_to_its_reference(
    tmp_path, device, softmax
) -> None:
    """The same in floats: attention in bfloat16 on the array, the rest in float32 beside it."""
    target = XDNA(device=device, floats="bf16", softmax=softmax)
    net = match.compile(whisper_encoder(LAYER, real=True), target=target)
    kinds = {(layer.module, layer.workload.kind) for layer in net.program.schedule.layers}
    assert ("array", "attention") in kinds
    project = net.write(tmp_path / "net")
    inputs = random_inputs(net.inputs, np.random.default_rng(0))
    result = project.run(inputs)
    assert result.matches_reference
    (output,) = result.outputs.values()
    apart = np.abs(output.reshape(-1) - real_outputs(inputs))
    assert apart.mean() < 0.01 * output.std()
