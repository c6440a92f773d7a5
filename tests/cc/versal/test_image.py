"""Networks of convolutions, sums and pools on the array: emitted, built and run, bit for bit."""

import shutil

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.versal import VersalAIEML
from tests import integer_graphs as ig
from tests.shared import model_file, random_inputs

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="no C++ compiler")


def kinds(net):
    """Module and kind of every layer, in order."""
    return [(layer.module, layer.workload.kind) for layer in net.program.schedule.layers]


def run(net, folder, inputs):
    """Every input through the emitted project; layers must equal their references."""
    project = net.write(folder)
    results = [
        project.run(random_inputs(net.inputs, np.random.default_rng(n)), quick=True) for n in inputs
    ]
    assert all(result.matches_reference for result in results)
    assert all(result.layers_checked == len(kinds(net)) for result in results)
    return results


def small_network():
    """A convolution of 5 channels with padding, a strided one, and a sum: shifts round down."""
    rng = np.random.default_rng(3)

    def weights(*shape):
        return rng.integers(-128, 128, shape).astype(np.int8)

    def body(builder, inputs):
        wide = {"layout": "NHWC", "padding": (1, 1, 1, 1)}
        tail = {"shift": 9, "bias": rng.integers(-999, 999, 12)}
        total = ig.convolution(builder, inputs[0], weights(12, 5, 3, 3), **wide)
        a = ig.requantised(builder, total, "NHWC", **tail)
        total = ig.convolution(builder, a, weights(12, 12, 3, 3), **wide, strides=(2, 2))
        b = ig.requantised(builder, total, "NHWC", **tail, multiplier=rng.integers(1, 9, 12))
        total = ig.convolution(builder, a, weights(12, 12, 1, 1), "NHWC", strides=(2, 2))
        c = ig.requantised(builder, total, "NHWC", **tail)
        return ig.residual(builder, b, c, "NHWC", shift=1)

    return ig.module(body, ((1, 13, 11, 5), "int8"))


def test_integer_convolutions_and_a_sum(tmp_path) -> None:
    net = match.compile(small_network(), VersalAIEML(modules=("array",)))
    assert sorted(kinds(net)) == [("array", "add")] + [("array", "conv2d")] * 3
    results = run(net, tmp_path / "net", range(3))
    for result in results:
        assert all(d.max_lsb == 0 for d in result.deviations)
        (output,) = result.outputs.values()
        assert np.unique(output).size > 20


@pytest.mark.slow
@pytest.mark.parametrize(("name", "convolutions"), [("resnet8", 9), ("mobilenetv1_025", 27)])
def test_networks_with_zero_points(tmp_path, name, convolutions) -> None:
    """All convolutions are on the array, in a chain."""
    net = match.compile(model_file(f"{name}_u8.onnx"), VersalAIEML())
    assert kinds(net).count(("array", "conv2d")) >= convolutions
    results = run(net, tmp_path / "net", range(20))
    assert all(d.max_lsb <= 1 for result in results for d in result.deviations)
