"""Quantised layers of lines are ones of images of a row, in the same steps."""

import pytest

from tests.unit.frontend.quantised_net import Net

pytest.importorskip("onnxruntime")

LINES = {"nn.conv1d", "nn.max_pool1d", "nn.avg_pool1d"}


@pytest.mark.parametrize("groups", [1, 4])
@pytest.mark.parametrize("per_channel", [False, True])
def test_a_residual_block_of_lines_stays_on_images(per_channel, groups) -> None:
    """Of a quantised convolution, ReLU, pool, addition and mean, nothing is moved but the input."""
    net = Net((1, 4, 22))
    weight = net.weight(8, 4 // groups, 3, per_channel=per_channel)
    inputs = [net.real("x"), weight, net.bias(weight, 8)]
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
