"""Concatenations in emitted code: made in place, or copied, the bits are the same."""

import shutil

import numpy as np
import pytest
from tvm import relax

import match_aie as match
from match_aie import report
from match_aie.hardware import MatchTarget
from match_aie.targets.cpu import CPU
from match_aie.targets.gap9 import GAP9
from tests import integer_graphs as ig

pytestmark = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)
op = ig.op
RNG = np.random.default_rng(5)
TARGETS = {"native": CPU(), "portable": CPU("portable"), "gap9": GAP9()}


class Core(MatchTarget):
    """No module, and no tensor within another: concatenations of odd sizes are copied."""

    name = "core"

    def modules(self):
        return ()


def weights(*shape):
    return RNG.integers(-128, 128, shape).astype(np.int8)


def conv(builder, x, channels, **attributes):
    depth = int(x.ty.shape[3])
    total = ig.convolution(builder, x, weights(channels, depth, 3, 3), "NHWC", **attributes)
    bias = RNG.integers(-3000, 3000, channels)
    return ig.requantised(builder, total, "NHWC", bias=bias, shift=9)


def rows(builder, given):
    """Two images, one below the other; the upper one is read on its own too."""
    upper = conv(builder, given[0], 3, padding=[1, 1, 1, 1])
    lower = conv(builder, upper, 3, padding=[0, 1, 0, 1])
    both = builder.emit(op.concat([upper, lower], 1))
    return conv(builder, both, 5)


def vectors(builder, given):
    """Branches of odd lengths, one of them joined already; the result is an output."""
    flat = builder.emit(op.reshape(given[0], (1, 5 * 7 * 4)))
    a, b, c = (ig.dense(builder, flat, weights(140, n), shift=12) for n in (5, 3, 9))
    inner = builder.emit(op.concat([b, c], 1))
    more = ig.dense(builder, inner, weights(12, 2), shift=9)
    return builder.emit(op.concat([a, inner, more], 1))


def channels(builder, given):
    """Channels of a pixel lie side by side: rows of the operands alternate."""
    one = conv(builder, given[0], 3, padding=[1, 1, 1, 1])
    two = conv(builder, given[0], 4, padding=[1, 1, 1, 1])
    return conv(builder, builder.emit(op.concat([one, two], 3)), 5)


def mixed(builder, given):
    """The network's input below a layer's result, and that result twice."""
    made = conv(builder, given[0], 4, padding=[1, 1, 1, 1])
    return conv(builder, builder.emit(op.concat([made, given[0], made, made], 1)), 3)


#: Bytes of every concatenation, and how many of them are copied: rows, vectors, channels, mixed.
JOINS = [(168, 0), (12, 0), (19, 0), (245, 245), (560, 560)]


def everything(builder, given):
    return relax.Tuple([body(builder, given) for body in (rows, vectors, channels, mixed)])


@pytest.fixture(scope="module")
def module():
    return ig.module(everything, ((1, 5, 7, 4), "int8"))


def feeds(seed):
    return {"x0": np.random.default_rng(seed).integers(-128, 128, (1, 5, 7, 4), "int8")}


@pytest.fixture(scope="module")
def expected(module, tmp_path_factory):
    """Outputs where no module runs anything and everything is copied."""
    net = match.compile(module, Core(), cache=False)
    assert all(join.copied for join in net.program.schedule.joins)
    project = net.write(tmp_path_factory.mktemp("joins") / "net")
    return [project.run(feeds(seed), quick=True).outputs for seed in range(2)]


@pytest.mark.parametrize("target", TARGETS)
def test_the_bits_are_the_same(module, expected, target, tmp_path):
    net = match.compile(module, TARGETS[target], cache=False)
    joins = sorted((j.nbytes, j.copied) for j in net.program.schedule.joins)
    # GAP9's activations are unsigned: the input is a tensor of its own, made from int8.
    half = [(560, 280)] if target == "gap9" else JOINS[-1:]
    assert joins == sorted(JOINS[:-1] + half)
    project = net.write(tmp_path / "net")
    for seed, outputs in enumerate(expected):
        ours = project.run(feeds(seed), quick=True)
        assert ours.matches_reference
        assert ours.layers_checked == len(net.program.schedule.layers)
        for name, value in outputs.items():
            np.testing.assert_array_equal(ours.outputs[name], value)


@pytest.mark.parametrize(
    "target", ["native", "portable", pytest.param("gap9", marks=pytest.mark.slow)]
)
def test_sanitizers_find_nothing(module, expected, target, tmp_path):
    project = match.compile(module, TARGETS[target], cache=False).write(tmp_path / "net")
    sanitized = project.run_sanitized(feeds(0), quick=True)
    for name, value in expected[0].items():
        np.testing.assert_array_equal(sanitized[name], value)


def test_explain_says_what_is_copied_and_why(module):
    net = match.compile(module, CPU("portable"), cache=False)
    text = net.summary()
    assert "3 of 5 without code: operands of 199 bytes are made in place" in text
    assert "copies 245 of 245 bytes: 35 rows of 3 and 4 elements alternate in the result" in text
    assert "copies 560 of 560 bytes: most of it is inputs, constants" in text
    found = report.as_json(report.compiled_report(net))["joins"]
    assert sorted(row["copied"] for row in found) == [0, 0, 0, 245, 560]
    assert not any(f.operators == "copy" for f in net.program.schedule.functions)
