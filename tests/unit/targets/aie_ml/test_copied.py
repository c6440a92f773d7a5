"""Bytes that the processor copies between tensors and the array's buffers, in prices."""

import numpy as np

from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.graph.cut_plan import copied, plan_cut
from match_aie.targets.aie_ml.graph.layer import zeros_of
from match_aie.targets.aie_ml.kernels.arithmetic import in_fixed_point
from match_aie.targets.aie_ml.kernels.spec import BYTES
from match_aie.targets.versal.module import COPIED_PER_NS, Place, layer_cost
from match_aie.workload import Quantized, Window, conv2d, full_range
from tests.aie_attention import float_attention
from tests.aie_layers import constants_of

V = device("vek280")


def image(channels, outputs):
    """A convolution of 12 x 12 pixels in fixed point."""
    x, window = Quantized("uint8", 0.1, 3), Window(padding=(1, 1, 1, 1))
    sizes = {"shape": (1, 12, 12, channels), "weight_shape": (outputs, 3, 3, channels)}
    tail = full_range("uint8", 3)
    layer = conv2d(x, x, **sizes, window=window, scales=outputs, tail=tail)
    return in_fixed_point(layer, constants_of(layer, np.random.default_rng(0))).workload


def test_channels_are_filled_up_to_words() -> None:
    workload = image(3, 5)
    plan = plan_cut(workload, "vek280", 1)
    x, y = workload.operand("x"), workload.output
    assert copied(plan, workload, x) == 12 * 12 * 4
    assert copied(plan, workload, y) == 12 * 12 * 8


def test_keys_are_filled_up_to_whole_parts() -> None:
    workload, _ = float_attention(0, heads=2, sizes=(100, 150, 64))
    plan = plan_cut(workload, "vek280", 4)
    keys = plan.cut.part * plan.cut.parts
    assert keys > 150
    assert copied(plan, workload, workload.operand("x1")) == 2 * keys * 64 * 2
    assert copied(plan, workload, workload.output) == 2 * 100 * 64 * 2


def test_the_price_has_what_the_simulator_copies() -> None:
    for workload in (image(3, 5), float_attention(1, heads=1, sizes=(30, 70, 16))[0]):
        plan = plan_cut(workload, "vek280", 2)
        graph = plan.graph("layer", workload, zeros_of(workload))
        much = sum(o.elements * BYTES[o.dtype] for o in (*graph.inputs, *graph.outputs))
        cost = layer_cost(plan, workload, V, Place(first=False))
        wanted = much / COPIED_PER_NS * V.clock_ghz
        assert dict(cost.parts)["host"] == wanted
