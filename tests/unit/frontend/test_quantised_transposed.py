"""Quantised transposed convolutions as convolutions whose channels move behind the quantize."""

import pytest

from tests.unit.frontend.quantised_net import Net
from tests.unit.frontend.test_normalize import operators

pytest.importorskip("onnxruntime")

FORMS = [
    ((2, 2), {"strides": [2, 2]}),
    ((4, 4), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
    ((3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 1]}),
    ((3, 5), {"strides": [3, 2], "pads": [0, 2, 1, 1]}),
    ((3, 3), {"strides": [1, 1], "pads": [1, 1, 1, 1]}),
]


def order(found):
    """Operators but those that only move elements."""
    return [name for name in found if name not in ("reshape", "permute_dims", "strided_slice")]


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize(("kernel", "attributes"), FORMS)
def test_sums_are_stored_before_they_move(kernel, attributes, per_channel) -> None:
    """Taps that are not there are stored as the weights' zero point."""
    net = Net((2, 3, 5, 4))
    zero = 0 if per_channel else -9
    weight = net.weight(3, 4, *kernel, axis=1, per_channel=per_channel, zero=zero)
    inputs = [net.real("x"), weight, net.bias(weight, 4)]
    net.stored(net.node("Relu", [net.node("ConvTranspose", inputs, **attributes)]), 0.12)
    found = net.compared(rank=4, convolved=True)
    layer = [*["dequantize"] * 3, "nn.conv2d", "add", "quantize", "clip"]
    assert sorted(order(found)) == sorted(layer)
    between = found[found.index("nn.conv2d") : found.index("clip")]
    assert not {"reshape", "permute_dims", "strided_slice"} & set(between)
    assert "nn.conv2d_transpose" in operators(net.normal(rank=4)[1])


def test_what_differs_from_pixel_to_pixel_waits_for_the_move() -> None:
    """A constant for each channel is added before, one for each pixel multiplied behind."""
    net = Net((1, 4, 5, 4))
    weight = net.weight(4, 3, 2, 2, axis=1)
    first = net.node("ConvTranspose", [net.real("x"), weight], strides=[2, 2])
    total = net.node("Add", [first, net.weight(3, 1, 1, per_channel=False)])
    net.stored(net.node("Mul", [total, net.weight(10, 1, per_channel=False)]))
    found = net.compared(rank=4, convolved=True)
    rest = found[found.index("nn.conv2d") :]
    kinds = ("add", "permute_dims", "multiply", "quantize")
    assert [rest.index(kind) for kind in kinds] == sorted(rest.index(kind) for kind in kinds)


def test_a_scale_for_each_input_is_no_layer() -> None:
    net = Net((1, 4, 5, 4))
    net.stored(net.node("ConvTranspose", [net.real("x"), net.weight(4, 3, 2, 2)], strides=[2, 2]))
    assert "nn.conv2d_transpose" in operators(net.normal(rank=4, convolved=True)[1])


@pytest.mark.parametrize("attributes", [{"group": 2}, {"dilations": [2, 1]}])
def test_others_stay(attributes) -> None:
    net = Net((1, 4, 5, 4))
    outputs = 2 if "group" in attributes else 3
    weight = net.weight(4, outputs, 3, 3, axis=1, per_channel=False)
    net.stored(net.node("ConvTranspose", [net.real("x"), weight], strides=[2, 2], **attributes))
    assert "nn.conv2d_transpose" in operators(net.normal(rank=4, convolved=True)[1])


def test_those_of_some_labels_alone() -> None:
    """Others stay as they are: chips have layers of some."""
    net = Net((1, 4, 5, 4))
    x = net.node(
        "ConvTranspose", [net.real("x"), net.weight(4, 3, 2, 2, axis=1)], name="a", strides=[2, 2]
    )
    x = net.real(net.stored(x))
    x = net.node("ConvTranspose", [x, net.weight(3, 2, 2, 2, axis=1)], name="b", strides=[2, 2])
    net.stored(x, 0.12)
    found = operators(net.normal(rank=4, convolved=frozenset({"b"}))[1])
    kinds = [name for name in found if name.startswith("nn.conv2d")]
    assert kinds == ["nn.conv2d_transpose", "nn.conv2d"]
