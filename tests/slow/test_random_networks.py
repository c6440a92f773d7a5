"""Random quantised networks, end to end: emitted code, reference, onnxruntime, integer ends."""

from collections.abc import Mapping

import numpy as np
import onnx
import pytest

import match_aie as match
from tests.random_networks import random_network
from tests.shared import random_inputs
from tests.thinned import thinned

pytestmark = pytest.mark.slow
#: (layers, networks): what goes wrong in one layer is easiest to see in one layer.
SIZES = ((1, 60), (3, 60), (5, 30))
#: onnxruntime runs float kernels between the boundaries here, whose sums round differently: now and
#: then a tie falls to the other side, and layers behind it see one step more.
STEPS = {1: 1, 3: 2, 5: 3}
CASES = [(1000 * depth + index, depth) for depth, count in SIZES for index in range(count)]


def onnxruntimes(model: onnx.ModelProto, feeds: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What onnxruntime computes without optimisation."""
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options)
    names = [output.name for output in session.get_outputs()]
    return dict(zip(names, session.run(names, dict(feeds)), strict=True))


def step_of(model: onnx.ModelProto, output: str) -> float:
    """Real value of one integer step of a network output."""
    [node] = [n for n in model.graph.node if output in n.output]
    if node.op_type != "DequantizeLinear":
        return 1.0
    [scale] = [c for c in model.graph.initializer if c.name == node.input[1]]
    return float(onnx.numpy_helper.to_array(scale))


def quantized(array: np.ndarray, port) -> np.ndarray:
    """`array` as an integer input takes it."""
    if array.dtype.name == port.dtype:
        return array
    info = np.iinfo(port.dtype)
    steps = np.rint(array / np.float32(port.scale)) + port.zero_point
    return np.clip(steps, info.min, info.max).astype(port.dtype)


def dequantized(array: np.ndarray, port) -> np.ndarray:
    return (array.astype(np.int64) - port.zero_point).astype(np.float32) * np.float32(port.scale)


@pytest.mark.parametrize(("seed", "depth"), thinned(CASES, 6, mark="long"))
def test_a_random_network(seed, depth, tmp_path):
    model = random_network(seed, depth)
    net = match.compile(model, "CPU")
    feeds = random_inputs(net.inputs, np.random.default_rng(seed))
    result = net.write(tmp_path / "net").run(feeds)
    assert result.mismatches == ()
    assert result.layers_checked == len(net.program.schedule.layers)
    expected = onnxruntimes(model, feeds)
    for name, ours in result.outputs.items():
        assert (ours.shape, ours.dtype) == (expected[name].shape, expected[name].dtype)
        gap = np.abs(ours.astype(np.float64) - expected[name]) / step_of(model, name)
        assert gap.max() < STEPS[depth] + 0.5
        assert (gap > 0.5).sum() <= depth + 0.05 * gap.size

    whole = match.compile(model, "CPU", integer_io=True)
    integers = {port.name: quantized(feeds[port.name], port) for port in whole.inputs}
    again = whole.write(tmp_path / "integers").run(integers)
    assert again.mismatches == ()
    for port in whole.outputs:
        assert port.dtype in ("int8", "uint8")
        ours = again.outputs[port.name]
        floats = result.outputs[port.name].dtype == np.float32
        assert np.array_equal(
            dequantized(ours, port) if floats else ours, result.outputs[port.name]
        )
