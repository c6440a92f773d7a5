"""Quantised layers of lines are ones of images of a row, in the same steps."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from match_aie.frontend import load, normalize
from tests.unit.frontend.test_normalize import dq, model_of, operators, parameters, q, run

runtime = pytest.importorskip("onnxruntime")

RNG = np.random.default_rng(41)
LINES = {"nn.conv1d", "nn.max_pool1d", "nn.avg_pool1d"}


class Net:
    """Nodes and constants of a network of int8 lines, its input `x`."""

    def __init__(self, shape):
        self.nodes, self.shape = [], shape
        self.known = parameters("x", 0.05, 3)

    def node(self, operator, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], **attributes))
        return name

    def real(self, stored):
        name = f"r{len(self.nodes)}"
        self.nodes.append(dq(stored, name))
        return name

    def stored(self, value, scale=0.06, zero=-4, name=""):
        name = name or f"q{len(self.nodes)}"
        self.nodes.append(q(value, name))
        self.known |= parameters(name, scale, zero)
        return name

    def weight(self, *shape, axis=0, per_channel=True, dtype=np.int8):
        """A constant behind a dequantize, a scale for each element of `axis` or one."""
        name = f"w{len(self.nodes)}"
        size = shape[axis] if per_channel else ()
        parts = {
            "": RNG.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, shape).astype(dtype),
            "_s": RNG.uniform(0.004, 0.01, size).astype(np.float32),
            "_z": np.zeros(size, dtype),
        }
        self.known |= {name + end: value for end, value in parts.items()}
        real = f"r{len(self.nodes)}"
        names = [name + end for end in parts]
        self.nodes.append(helper.make_node("DequantizeLinear", names, [real], axis=axis))
        return real

    def bias(self, weight, scale=0.05):
        """int32, of the scales of the input times those of the dequantized `weight`."""
        scales = self.known[f"w{weight[1:]}_s"]
        name, real = f"b{len(self.nodes)}", f"r{len(self.nodes)}"
        count = self.known[f"w{weight[1:]}"].shape[0]
        self.known[name] = RNG.integers(-2000, 2000, count).astype(np.int32)
        self.known[f"{name}_s"] = np.float32(scale) * scales
        self.known[f"{name}_z"] = np.zeros(scales.shape, np.int32)
        self.nodes.append(
            helper.make_node("DequantizeLinear", [name, f"{name}_s", f"{name}_z"], [real], axis=0)
        )
        return real

    def compared(self, rank=3):
        """Operators of the normalised network, which computes what onnxruntime does."""
        self.nodes[-1].output[0] = "y"
        ports = [("x", TensorProto.INT8, self.shape)], [("y", TensorProto.INT8, rank)]
        model = model_of(self.nodes, *ports, self.known)
        x = RNG.integers(-128, 128, self.shape).astype(np.int8)
        options = runtime.SessionOptions()
        options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
        session = runtime.InferenceSession(
            model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )
        (want,) = session.run(None, {"x": x})
        normal = normalize(load(model))
        (got,) = run(normal, x)
        assert got.shape == want.shape
        # Both add floats, each in its own order: a half may round to the other side.
        assert np.abs(got.astype(int) - want).max() <= 1
        assert np.count_nonzero(abs(want + 0.5) < 127) > want.size // 2
        return operators(normal)


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("per_channel", [False, True])
def test_a_residual_block_of_lines_stays_on_images(per_channel, groups) -> None:
    """Of a quantised convolution, ReLU, pool, addition and mean, nothing is moved but the input."""
    net = Net((1, 4, 22))
    weight = net.weight(8, 4 // groups, 3, per_channel=per_channel)
    inputs = [net.real("x"), weight, net.bias(weight)]
    first = net.node("Conv", inputs, pads=[2, 1], strides=[2], group=groups)
    stored = net.stored(net.node("Relu", [first]))
    pool = net.node("MaxPool", [net.real(stored)], kernel_shape=[3], strides=[1], pads=[1, 1])
    stored = net.stored(pool)
    weight = net.weight(8, 8, 2, per_channel=per_channel)
    second = net.node("Conv", [net.real(stored), weight], dilations=[2], pads=[1, 1])
    total = net.node("Add", [net.real(net.stored(second)), net.real(stored)])
    pooled = net.node("GlobalAveragePool", [net.real(net.stored(total, 0.1))])
    net.stored(pooled, 0.1)
    found = net.compared()
    assert not LINES & set(found)
    assert found.count("nn.conv2d") == 2
    assert found.count("permute_dims") == 1


def test_lines_are_joined_on_images() -> None:
    """Channels of two convolutions, one of which is quantised in its weights' last axis."""
    net = Net((2, 3, 9))
    left = net.node("Conv", [net.real("x"), net.weight(4, 3, 1)])
    right = net.node("Conv", [net.real("x"), net.weight(5, 3, 3, axis=2)], pads=[1, 1])
    parts = [net.real(net.stored(left)), net.real(net.stored(right))]
    joined = net.stored(net.node("Concat", parts, axis=1))
    net.stored(net.node("Conv", [net.real(joined), net.weight(6, 9, 3)]), 0.2)
    found = net.compared()
    assert not LINES & set(found)
    assert found.count("permute_dims") == 2


@pytest.mark.parametrize("shape", [(6, 1), (1, 6, 8), (1,)])
def test_a_quantised_constant_is_added_to_a_line(shape) -> None:
    net = Net((1, 3, 8))
    first = net.real(net.stored(net.node("Conv", [net.real("x"), net.weight(6, 3, 1)])))
    total = net.node("Add", [first, net.weight(*shape, per_channel=False)])
    net.stored(net.node("Conv", [net.real(net.stored(total)), net.weight(4, 6, 3)]), 0.2)
    found = net.compared()
    assert not LINES & set(found)
    assert found.count("permute_dims") == 2


def test_a_mean_drops_the_line() -> None:
    net = Net((1, 3, 8))
    first = net.real(net.stored(net.node("Conv", [net.real("x"), net.weight(16, 3, 1)])))
    net.stored(net.node("ReduceMean", [first], axes=[2], keepdims=0), 0.02)
    assert net.compared(rank=2).count("permute_dims") == 1


def test_weights_that_are_computed_stay_a_convolution_of_lines() -> None:
    """What is no constant cannot be laid out at compile time: the fallback computes it."""
    net = Net((1, 3, 8))
    stored = net.stored(net.node("Conv", [net.real("x"), net.weight(3, 3, 1)]), name="inner")
    moved = net.node("Transpose", [net.real(stored)], perm=[1, 0, 2])
    net.stored(net.node("Conv", [net.real("x"), moved], group=3, pads=[4, 4]), 3.0)
    assert "nn.conv1d" in net.compared()
