"""A whole integer network in Relay text, as MATCH writes it, for the CPU."""

import numpy as np
import pytest
from numpy_nets import conv, requantize
from relay_harness import needs_compiler, target

import match_aie as match
from tests.relay_networks import resnet8
from tests.shared import model_file

pytestmark = needs_compiler


def test_resnet8_of_integers(tmp_path):
    network = resnet8(model_file("resnet8_i8.onnx"))
    net = match.compile(network.text(), target, params=network.parameters, name="resnet8")
    layers = [o.candidate.pattern.kind for o in net.assignment.chosen]
    assert layers.count("conv2d") == 9
    assert layers.count("add") == 3
    project = net.write(tmp_path / "net")
    rng = np.random.default_rng(0)
    for _ in range(3):
        image = rng.integers(0, 128, (1, 3, 32, 32)).astype(np.int8)
        result = project.run({"input": image})
        assert result.matches_reference
        wanted = network.run({"input": image})
        assert np.array_equal(result.outputs["output"], wanted)
        assert np.unique(wanted).size > 3


QNN = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 3, 9, 8), int8], %w: Tensor[(4, 3, 3, 3), int8], %b: Tensor[(4), int32],
          %s: Tensor[(4), float32], %d: Tensor[(5, 288), int8]) {
  %0 = qnn.conv2d(%x, %w, -5, 0, 0.1f, 0.02f, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3],
                  out_dtype="int32");
  %1 = nn.bias_add(%0, %b);
  %2 = qnn.requantize(%1, 0.002f, 0, 0.11f, 7, axis=1, out_dtype="int8");
  %3 = clip(%2, a_min=7f, a_max=127f);
  %4 = qnn.conv2d(%x, %w, -5, 0, 0.1f, %s, padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3],
                  out_dtype="int32");
  %5 = qnn.requantize(nn.bias_add(%4, %b), %s, 0, 0.5f, -3, axis=1, out_dtype="int8");
  %6 = qnn.add(%3, %5, 0.11f, 7, 0.5f, -3, 0.4f, 2);
  %7 = qnn.dense(reshape(%6, newshape=[1, -1]), %d, 2, 0, 0.4f, 0.01f, units=5, out_dtype="int32");
  (%3, %5, %6, %7)
}
"""


def test_the_qnn_dialect_reaches_modules(tmp_path):
    """Whole layers, with one scale for the tensor and with one per channel."""
    rng = np.random.default_rng(2)
    x, w, d = (
        rng.integers(-128, 128, shape).astype(np.int8)
        for shape in ((1, 3, 9, 8), (4, 3, 3, 3), (5, 288))
    )
    b = rng.integers(-2000, 2000, 4).astype(np.int32)
    s = np.array([0.002, 0.03, 0.0005, 0.011], np.float32)
    net = match.compile(QNN, target, params={"w": w, "b": b, "s": s, "d": d})
    chosen = {o.candidate.label: o.candidate for o in net.assignment.chosen}
    assert chosen["%0"].layer.workload.fixed_point
    assert chosen["%0"].layer.workload.output.dtype == "int8"
    assert chosen["%4"].layer.workload.output.dtype == "int8"
    assert chosen["%4"].layer.workload.operand("multiplier").shape == (4,)
    assert chosen["%7"].layer.workload.kind == "dense"
    result = net.write(tmp_path / "net").run({"x": x}, quick=True)
    assert result.matches_reference
    total = conv(x.astype(np.int32) + 5, w.astype(np.int32), [1, 1], [1] * 4, [1, 1])
    total += b.reshape(4, 1, 1)
    first = np.clip(requantize(total, 0.002, 0, 0.11, 7), 7, 127)
    second = requantize(total, s, 0, 0.5, -3, axis=1)
    moved = [
        requantize(first, 0.11, 7, 0.4, 2, dtype="int32"),
        requantize(second, 0.5, -3, 0.4, 2, dtype="int32"),
    ]
    third = np.clip(moved[0] + moved[1] - 2, -128, 127).astype(np.int8)
    fourth = (third.reshape(1, -1).astype(np.int32) - 2) @ d.T.astype(np.int32)
    for got, wanted in zip(result.outputs.values(), (first, second, third, fourth), strict=True):
        assert np.array_equal(got, wanted)


PER_CHANNEL = """#[version = "0.0.5"]
def @main(%x: Tensor[(64, 12), int8], %w: Tensor[(40, 12), int8], %b: Tensor[(40), int32],
          %s: Tensor[(40), float32]) {
  %0 = qnn.dense(%x, %w, 3, 0, 0.1f, %s, units=40, out_dtype="int32");
  %1 = nn.bias_add(%0, %b);
  qnn.requantize(%1, %s, 0, 0.5f, -3, axis=1, out_dtype="int8")
}
"""


@pytest.mark.parametrize(("largest", "stored"), [(2.0**-8, "int8"), (32.0, "int32")])
def test_a_requantisation_per_channel_is_exact(tmp_path, largest, stored):
    """Sums of every size that int32 has; where one shift is not proven, sums are the layer's."""
    rng = np.random.default_rng(3)
    x, w = (rng.integers(-128, 128, shape).astype(np.int8) for shape in ((64, 12), (40, 12)))
    s = np.exp2(rng.uniform(-14, -8, 40)).astype(np.float32)
    s[3] = largest * 0.99
    total = (x.astype(np.int64) - 3) @ w.T.astype(np.int64)
    room = 2**31 - 1 - 131 * 128 * 12
    b = rng.integers(-room, room, 40)
    b[:6] = room, -room, -room, room, 0, 1
    b[6:26] = rng.integers(-(2**15), 2**15, 20)
    if largest > 1:
        b %= 2**15  # or products leave 64 bits
    parameters = {"w": w, "b": b.astype(np.int32), "s": s}
    net = match.compile(PER_CHANNEL, target, params=parameters)
    (layer,) = [o.candidate.layer for o in net.assignment.chosen]
    assert layer.workload.output.dtype == stored
    if stored == "int32":
        assert any("would give other integers" in (c.refusal or "") for c in refusals(net))
    result = net.write(tmp_path / "net").run({"x": x}, quick=True)
    assert result.matches_reference
    wanted = requantize((total + b).astype(np.int32), s, 0, 0.5, -3, axis=1)
    np.testing.assert_array_equal(next(iter(result.outputs.values())), wanted)
    assert np.unique(wanted).size > 100


def refusals(net):
    return [o.candidate for o in net.assignment.considered]
