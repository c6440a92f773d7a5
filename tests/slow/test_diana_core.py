"""Pools of DIANA's control core, counted on an emulated RISC-V core."""

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

import match_aie as match
from match_aie.cost_models.roofline import Roofline
from match_aie.hardware import MatchTarget
from match_aie.targets.diana.core import AVERAGE, INTEGERS, MAXIMUM, CoreModule
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
    net = match.compile(made, target=CoreOnly())
    project = net.write(folder)
    x = np.random.default_rng(1).integers(-100, 100, (1, 1, side, side)).astype(np.int8)
    (expected,) = (np.asarray(v) for v in project.run(x).outputs.values())
    (main,) = (folder / "src").glob("*_main.c")
    core = riscv.Core(riscv.build(folder, main.name.removesuffix("_main.c"), "rv32imfc"))
    run = core.run([x], [np.zeros_like(expected)])
    np.testing.assert_array_equal(run.outputs[0], expected)
    pools = [o for o in net.assignment.chosen if "pool" in o.candidate.pattern.kind]
    return run, expected.size, len(pools)


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
