"""Integer graphs reach the kernels of a module, and compute what the fallback computes."""

import shutil

import numpy as np
import pytest

import match_aie as match
from match_aie.hardware import MatchTarget, Rewrites
from match_aie.targets.cpu import CPU
from match_aie.targets.gap9.target import GAP9
from tests import integer_graphs as ig

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
RNG = np.random.default_rng(11)


class Core(MatchTarget):
    """No module at all: everything becomes C through TVM."""

    name = "core"

    def modules(self):
        return ()


def weights(*shape):
    return RNG.integers(-128, 128, shape).astype(np.int8)


class Unsigned(CPU, Rewrites):
    """The CPU as if it had no signed activations."""

    activations = "unsigned"


def check(module, folder, expected, target=CPU()):
    """Kinds of the layers are `expected`; outputs are the fallback's bit for bit."""
    net = match.compile(module, target, cache=False)
    layers = net.program.schedule.layers
    assert [layer.workload.kind for layer in layers] == expected
    plain = match.compile(module, Core(), cache=False).write(folder / "plain")
    project = net.write(folder / "net")
    for seed in range(4):
        rng = np.random.default_rng(seed)
        feeds = {}
        for port in net.inputs:
            info = np.iinfo(port.dtype)
            feeds[port.name] = rng.integers(
                info.min, info.max, port.shape, port.dtype, endpoint=True
            )
        ours, theirs = project.run(feeds, quick=True), plain.run(feeds, quick=True)
        assert ours.mismatches == ()
        for name, value in theirs.outputs.items():
            np.testing.assert_array_equal(ours.outputs[name], value)
    return [layer.workload for layer in layers]


def match_network(layout):
    """conv2d -> bias_add -> right_shift -> clip -> cast, depthwise, residual, dense."""

    def body(builder, given):
        first = ig.convolution(builder, given[0], weights(6, 3, 3, 3), layout, padding=[1, 1, 1, 1])
        bias = RNG.integers(-5000, 5000, 6)
        a = ig.requantised(builder, first, layout, bias=bias, shift=9, clip=(0, 127))
        deep = ig.convolution(
            builder, a, weights(6, 1, 3, 3), layout, padding=[1, 1, 1, 1], groups=6
        )
        b = ig.requantised(builder, deep, layout, bias=bias, shift=7)
        c = ig.residual(builder, a, b, layout, shift=1)
        flat = builder.emit(ig.op.reshape(c, (1, 6 * 20)))
        return ig.dense(builder, flat, weights(120, 10), bias=np.arange(10) * 100, shift=11)

    shape = (1, 3, 4, 5) if layout == "NCHW" else (1, 4, 5, 3)
    return ig.module(body, (shape, "int8"))


KINDS = ["conv2d", "conv2d", "add", "dense"]


def test_it_may_have_unsigned_activations(tmp_path):
    found = check(match_network("NCHW"), tmp_path, KINDS, Unsigned())
    inputs = [o for w in found for o in w.inputs]
    assert {o.dtype for o in inputs} == {"uint8"}
    # The second convolution reads what a ReLU cut: its padding stays 0.
    assert [o.zero_point for o in inputs] == [128, 0, 0, 128, 128]


@pytest.mark.slow
def test_gap9s_cluster_runs_it(tmp_path):
    module = match_network("NCHW")
    target = GAP9(modules=("cluster",))  # some layers are cheaper on NE16
    net = match.compile(module, target, cache=False)
    assert {layer.module for layer in net.program.schedule.layers} == {"cluster"}
    check(module, tmp_path, KINDS, target)


@pytest.mark.slow
def test_ne16_runs_integer_layers_of_unsigned_tensors(tmp_path):
    def body(builder, given):
        tail = {"clip": (0, 255), "dtype": "uint8", "bias": np.arange(32) * 300}
        first = ig.convolution(
            builder, given[0], weights(32, 16, 3, 3), "NHWC", padding=[1, 1, 1, 1]
        )
        a = ig.requantised(builder, first, "NHWC", shift=9, **tail)
        deep = ig.convolution(
            builder, a, weights(32, 1, 3, 3), "NHWC", padding=[1, 1, 1, 1], groups=32
        )
        factors = 1 + np.arange(32) * 5
        b = ig.requantised(
            builder, deep, "NHWC", multiplier=factors, offset=1 << 13, shift=14, **tail
        )
        point = ig.convolution(builder, b, weights(32, 32, 1, 1), "NHWC")
        return ig.requantised(builder, point, "NHWC", multiplier=33, shift=14, **tail)

    module = ig.module(body, ((1, 8, 8, 16), "uint8"))
    target = GAP9(modules=("ne16",))  # layers so small are cheaper on the cluster
    net = match.compile(module, target, cache=False)
    assert [layer.module for layer in net.program.schedule.layers] == ["ne16"] * 3
    check(module, tmp_path, ["conv2d"] * 3, target)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_a_network_as_match_reads_it(layout, tmp_path):
    found = check(match_network(layout), tmp_path, KINDS)
    assert [w.tail.shift for w in found] == [9, 7, 1, 11]
    assert found[0].tail.lo == 0
    assert all(w.tail.rounding == "floor" for w in found)


def test_multipliers_roundings_and_zero_points(tmp_path):
    def body(builder, given):
        first = ig.convolution(builder, given[0], weights(4, 3, 1, 1), "NHWC")
        a = ig.requantised(
            builder, first, "NHWC", bias=np.arange(4) * 50, multiplier=np.array([3, 90, 41, 7]),
            offset=1 << 11, shift=12, zero=5, clip=(0, 255), dtype="uint8",
        )  # fmt: skip
        b = ig.residual(
            builder, a, given[1], "NHWC", factors=(40, 77), offset=np.array([9, -5, 1, 0]),
            shift=8, zero=-3,
        )  # fmt: skip
        centred = builder.emit(ig.op.subtract(builder.emit(ig.op.astype(b, "int32")), ig.const(-3)))
        wide = builder.emit(
            ig.op.astype(ig.const(weights(3, 3, 1, 4).transpose(0, 1, 3, 2), "int8"), "int32")
        )
        total = builder.emit(
            ig.op.nn.conv2d(
                centred, wide, padding=[1, 1, 1, 1], data_layout="NHWC", kernel_layout="HWIO",
                out_dtype="int32",
            )
        )  # fmt: skip
        return ig.requantised(builder, total, "NHWC", multiplier=np.array([11]), shift=14)

    image = (1, 4, 5, 3), "int8"
    other = (1, 4, 5, 4), "int8"
    a, b, c = check(ig.module(body, image, other), tmp_path, ["conv2d", "add", "conv2d"])
    assert (a.tail.rounding, a.tail.shift, a.tail.zero_point) == ("half_up", 12, 5)
    assert [o.name for o in a.constants] == ["weight", "bias", "multiplier"]
    assert (b.tail.rounding, [o.name for o in b.constants]) == ("floor", ["multiplier", "offset"])
    assert c.operand("x").zero_point == -3


def test_sums_stay_32_bit_where_nothing_follows(tmp_path):
    def body(builder, given):
        total = ig.dense(builder, given[0], weights(16, 5))
        return builder.emit(ig.op.add(total, ig.const(np.arange(5) - 7)))

    (found,) = check(ig.module(body, ((2, 16), "uint8")), tmp_path, ["dense"])
    assert (found.tail, found.output.dtype) == (None, "int32")


def test_a_product_of_two_tensors(tmp_path):
    def body(builder, given):
        wide = [builder.emit(ig.op.astype(x, "int32")) for x in given]
        total = builder.emit(ig.op.multiply(*wide))
        return ig.requantised(builder, total, "NHWC", offset=1 << 5, shift=6)

    pair = ((1, 3, 3, 8), "int8"), ((1, 1, 1, 8), "uint8")
    (found,) = check(ig.module(body, *pair), tmp_path, ["mul"])
    assert found.tail.rounding == "half_up"


def conv_then(follow):
    """A convolution and whatever `follow` emits after its sum."""

    def body(builder, given):
        total = ig.convolution(builder, given[0], weights(4, 3, 1, 1), "NHWC")
        return follow(builder, total)

    return ig.module(body, ((1, 4, 5, 3), "int8"))


def cast(builder, x, dtype="int8", clip=(-128, 127)):
    cut = x if clip is None else builder.emit(ig.op.clip(x, *clip))
    return builder.emit(ig.op.astype(cut, dtype))


def shifted_apart(builder, x):
    return builder.emit(ig.op.right_shift(x, ig.const([5, 8, 6, 7])))


@pytest.mark.parametrize("target", [CPU(), GAP9(modules=("cluster",))], ids=["cpu", "cluster"])
def test_shifts_per_channel_become_multipliers(target, tmp_path):
    def follow(builder, total):
        up = builder.emit(ig.op.multiply(total, ig.const([3, 1, 1, 2])))
        half = builder.emit(ig.op.add(up, ig.const([16, 128, 31, 64])))
        return cast(builder, shifted_apart(builder, half))

    module = conv_then(follow)
    net = match.compile(module, target, cache=False)
    (layer,) = [la for la in net.program.schedule.layers if la.workload.kind == "conv2d"]
    assert layer.workload.tail.shift == 8
    assert layer.workload.tail.bits == 32 or isinstance(target, CPU)
    assert dict(layer.constants)["multiplier"].tolist() == [24, 1, 4, 4]
    plain = match.compile(module, Core(), cache=False).write(tmp_path / "plain")
    feeds = {"x0": RNG.integers(-128, 128, (1, 4, 5, 3)).astype(np.int8)}
    ours, theirs = net.write(tmp_path / "net").run(feeds, quick=True), plain.run(feeds, quick=True)
    assert ours.matches_reference
    for name, value in theirs.outputs.items():
        np.testing.assert_array_equal(ours.outputs[name], value)


@pytest.mark.parametrize(
    ("follow", "message"),
    [
        (lambda b, t: cast(b, t, clip=None), "its astype may leave int8"),
        (
            lambda b, t: cast(b, shifted_apart(b, b.emit(ig.op.maximum(t, ig.const(-99))))),
            "the shift differs per channel behind a clip",
        ),
        (
            lambda b, t: cast(b, b.emit(ig.op.multiply(t, ig.const(1 << 20)))),
            "its multiply may leave int32",
        ),
        (
            lambda b, t: cast(b, b.emit(ig.op.multiply(t, ig.const([1, -2, 3, 4])))),
            "a negative multiplier",
        ),
        (
            lambda b, t: cast(b, b.emit(ig.op.subtract(ig.const(9), t))),
            "subtracts from a constant",
        ),
        (
            lambda b, t: cast(
                b,
                b.emit(ig.op.multiply(b.emit(ig.op.right_shift(t, ig.const(8))), ig.const(3))),
            ),
            "multiplies after the shift",
        ),
    ],
)
def test_what_has_no_place_in_a_tail_is_refused(follow, message):
    net = match.compile(conv_then(follow), CPU(), cache=False)
    refusals = {o.reason for o in net.assignment.considered if o.reason}
    assert any(message in reason for reason in refusals), refusals
    kinds = [layer.workload.tail for layer in net.program.schedule.layers]
    assert kinds in ([], [None])


def test_bounds_before_the_shift_are_bounds_after_it(tmp_path):
    def follow(builder, total):
        cut = builder.emit(ig.op.clip(total, -1000, 20000))
        up = builder.emit(ig.op.multiply(cut, ig.const(3)))
        low = builder.emit(ig.op.maximum(up, ig.const(-2000)))
        moved = builder.emit(
            ig.op.add(builder.emit(ig.op.right_shift(low, ig.const(9))), ig.const(10))
        )
        return cast(builder, moved, clip=(-128, 120))

    (found,) = check(conv_then(follow), tmp_path, ["conv2d"])
    assert (found.tail.lo, found.tail.hi) == ((-2000 >> 9) + 10, (60000 >> 9) + 10 - 7)
