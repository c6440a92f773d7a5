"""Which norms of bytes are one layer of the CPU target, and which are float32 in between."""

import numpy as np
import pytest

from match_aie.partition import candidates
from match_aie.targets.cpu import CPU
from tests.plain_graphs import Builder


def norm(
    kind="layer_norm", *, scale=0.05, step=0.02, epsilon=1e-5, weight=1.0, bias=0.5, axes=(-1,)
):
    """The candidate of a norm of int8[2, 24] in steps of `scale` to one in steps of `step`."""
    b = Builder()
    x = b.dequantize(b.input("x", (2, 24)), scale, 3)
    numbers = [b.constant(np.full(24, weight, np.float32))]
    if kind == "layer_norm":
        numbers.append(b.constant(np.full(24, bias, np.float32)))
    y = b.op(f"nn.{kind}", x, *numbers, shape=(2, 24), axes=axes, epsilon=epsilon)
    graph = b.graph(b.quantize(y, step, -3))
    made = (c for c in candidates(graph, CPU("x86-64-v3")) if c.module.name == "cpu_vector")
    (found,) = (c for c in made if c.pattern.name == kind)
    return found


@pytest.mark.parametrize("kind", ["layer_norm", "rms_norm"])
@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ({}, None),
        ({"axes": (1,)}, None),
        ({"scale": 1e-30}, None),
        ({"scale": 1e30}, None),
        ({"step": 1e30, "weight": -1e30}, None),
        ({"weight": np.inf}, None),
        ({"axes": (0,)}, "not over the last axis"),
        ({"axes": (0, 1)}, "not over the last axis"),
        ({"epsilon": 0.0}, "may be 0"),
        ({"epsilon": 1e-40}, "may be 0"),
        # A row of one value would be 0 times infinity.
        ({"scale": 1e38}, "no normal number"),
        ({"scale": 1e25, "epsilon": 1e-36}, "no normal number"),
        ({"scale": 1e-40}, "no normal number"),
        ({"step": 1e-38, "weight": 5.0}, "not finite"),
        ({"step": 1e-3, "weight": -1e37}, "not finite"),
    ],
)  # fmt: skip
def test_norms_of_bytes_are_taken_whole(kind, case, reason):
    found = norm(kind, **case)
    assert (found.layer is None) == (reason is not None)
    assert reason is None or reason in found.refusal


def test_a_bias_is_finite_in_steps_too():
    assert "not finite" in norm(step=1e-20, bias=1e20).refusal
