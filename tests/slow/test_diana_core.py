"""Pools and conversions of DIANA's control core, counted on an emulated RISC-V core."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import match_aie as match
from match_aie.cost_models.roofline import Roofline
from match_aie.hardware import MatchTarget
from match_aie.targets.diana.core import (
    AVERAGE,
    DEQUANTIZE,
    DIVIDED,
    INTEGERS,
    MAXIMUM,
    QUANTIZE,
    CoreModule,
)
from tests import riscv

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(riscv.missing() is not None, reason=str(riscv.missing())),
]

CHANNELS = 64


class Eager(CoreModule):
    """Takes every layer that it can, so that none is the fallback's."""

    def cost_model(self, workload):
        """Next to nothing."""
        return Roofline(1e9, 1e9, 1e9)


class CoreOnly(MatchTarget):
    """DIANA's core, and nothing beside it."""

    name = "core only"

    def modules(self):
        """The one module."""
        return (Eager(),)


def model(pool, side, window):
    """int8 [1, 1, side, side], 1x1 to 64 channels, which lie innermost then; and `pool`, if any."""
    rng = np.random.default_rng(3)
    held = {
        "s": np.float32(0.5),
        "t": np.float32(0.25),
        "z": np.int8(0),
        "w": rng.integers(-100, 100, (CHANNELS, 1, 1, 1)).astype(np.int8),
    }
    node = helper.make_node
    nodes = [
        node("DequantizeLinear", ["x", "s", "z"], ["real"]),
        node("DequantizeLinear", ["w", "t", "z"], ["weight"]),
        node("Conv", ["real", "weight"], ["sums"]),
        node("QuantizeLinear", ["sums", "s", "z"], ["y" if pool is None else "q"]),
    ]
    out = side
    if pool is not None:
        out = side // window
        sizes = {} if window == side else {"kernel_shape": [window] * 2, "strides": [window] * 2}
        name = "GlobalAveragePool" if window == side else pool
        step = "s" if pool == "MaxPool" else "t"
        nodes += [
            node("DequantizeLinear", ["q", "s", "z"], ["image"]),
            node(name, ["image"], ["pooled"], **sizes),
            node("QuantizeLinear", ["pooled", step, "z"], ["y"]),
        ]
    port = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "g",
        [port("x", TensorProto.INT8, [1, 1, side, side])],
        [port("y", TensorProto.INT8, [1, CHANNELS, out, out])],
        [numpy_helper.from_array(value, name) for name, value in held.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def executed(made, side, folder):
    """A run, the elements that it gives, and the pools that the module took."""
    x = np.random.default_rng(1).integers(-100, 100, (1, 1, side, side)).astype(np.int8)
    run, expected, net = counted(made, x, folder)
    pools = [o for o in net.assignment.chosen if "pool" in o.candidate.pattern.kind]
    return run, expected.size, len(pools)


def counted(made, x, folder):
    """A run on the emulated core, equal to the host's; what it gives, and the network."""
    net = match.compile(made, target=CoreOnly())
    project = net.write(folder)
    (expected,) = (np.asarray(v) for v in project.run(x).outputs.values())
    (main,) = (folder / "src").glob("*_main.c")
    core = riscv.Core(riscv.build(folder, main.name.removesuffix("_main.c"), "rv32imfc"))
    run = core.run([x], [np.zeros_like(expected)])
    np.testing.assert_array_equal(run.outputs[0], expected)
    return run, expected, net


@pytest.mark.parametrize(
    ("pool", "counts", "windows"),
    [
        ("AveragePool", INTEGERS, ((4, 4), (8, 8))),
        ("AveragePool", AVERAGE, ((8, 2), (12, 3))),
        ("MaxPool", MAXIMUM, ((8, 2), (12, 3))),
    ],
    ids=["whole image", "average", "maximum"],
)
def test_cost_is_the_count(pool, counts, windows, tmp_path):
    """The C of a pool takes what the table of `targets/diana/core.py` says, within 5 %."""
    for side, window in windows:
        with_pool, outputs, pools = executed(model(pool, side, window), side, tmp_path / f"{side}")
        assert pools == 1
        without, all_outputs, _ = executed(model(None, side, 0), side, tmp_path / f"{side}_none")
        # Both end by moving channels, 6 instructions an element (`targets/gap9/core.py`).
        ends = 6 * (all_outputs - outputs)
        took = with_pool.instructions - without.instructions + ends
        modelled = counts.read * outputs * window**2 + counts.written * outputs
        assert modelled == pytest.approx(took + 14 * with_pool.divisions, rel=0.05)


def conversion(operator, n, scale):
    """One conversion of n elements, and what it reads: bytes of every value, or floats."""
    values = {"s": np.float32(scale), "z": np.uint8(3)}
    node = helper.make_node(operator, ["x", "s", "z"], ["y"])
    floats = operator == "QuantizeLinear"
    types = (TensorProto.FLOAT, TensorProto.UINT8)
    given, made = types if floats else types[::-1]
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("x", given, [1, n])],
        [helper.make_tensor_value_info("y", made, [1, n])],
        [numpy_helper.from_array(value, name) for name, value in values.items()],
    )
    rng = np.random.default_rng(n)
    # Within the range: what saturates is done sooner.
    real = rng.uniform(-3 * scale, 252 * scale, (1, n)).astype(np.float32)
    # What is not a number becomes the least, what is too large the nearest, halves the even one.
    real[0, :8] = np.float32(scale) * np.array([np.nan, np.inf, -np.inf, 0.5, 1.5, 2.5, -0.5, 1e9])
    x = real if floats else rng.integers(0, 256, (1, n)).astype(np.uint8)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), x


@pytest.mark.parametrize(
    ("operator", "scale", "counts"),
    [
        ("QuantizeLinear", 2.0**-5, QUANTIZE),
        ("QuantizeLinear", 0.02, DIVIDED),
        ("DequantizeLinear", 0.02, DEQUANTIZE),
    ],
)
def test_a_conversion_costs_its_count(operator, scale, counts, tmp_path):
    """Within 5 % an element, from two sizes; the chosen model is the one that was counted."""
    took, cost = [], []
    for n in (256, 1024):
        made, x = conversion(operator, n, scale)
        run, _, net = counted(made, x, tmp_path / str(n))
        (one,) = net.assignment.chosen
        assert CoreModule().cost_model(one.candidate.layer.workload) is counts
        took.append(run.instructions + 14 * run.divisions)
        cost.append(counts.written * n)
    assert cost[1] - cost[0] == pytest.approx(took[1] - took[0], rel=0.05)
