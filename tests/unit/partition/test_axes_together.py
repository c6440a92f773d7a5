"""Moves of axes of tensors of many axes: axes that stay together count as one."""

import numpy as np
import pytest
from onnx import TensorProto, helper

from match_aie import partition
from match_aie.frontend import load, normalize
from match_aie.targets.gap9 import GAP9
from match_aie.workload import reference
from tests.unit.frontend.test_normalize import model_of


def moved(shape, order):
    """Candidates for the move of a uint8 tensor."""
    node = helper.make_node("Transpose", ["x"], ["y"], perm=order)
    port = ("x", TensorProto.UINT8, shape)
    model = model_of([node], [port], [("y", TensorProto.UINT8, len(shape))], {})
    graph = partition.to_graph(normalize(load(model)))
    return partition.candidates(graph, GAP9(), "module")


@pytest.mark.parametrize(
    ("shape", "order", "loops"),
    [
        ((1, 4, 4, 2, 3), (0, 1, 2, 4, 3), (1, 16, 3, 2)),  # a shuffle of two groups of channels
        ((2, 3, 2, 5, 4), (0, 3, 1, 2, 4), (2, 6, 5, 4)),
        ((2, 3, 1, 4, 5), (3, 4, 2, 0, 1), (1, 1, 20, 6)),
    ],
)
def test_what_stays_together_is_one_axis(shape, order, loops) -> None:
    x = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    (found,) = [c.layer for c in moved(shape, order) if c.layer is not None]
    workload = found.workload
    given = [x.reshape(workload.operand("x").shape)]
    made = reference(workload, given)
    np.testing.assert_array_equal(made.reshape(-1), x.transpose(order).reshape(-1))
    assert sorted(workload.operand("x").shape) == sorted(loops)


def test_a_move_of_five_axes_apart_is_refused() -> None:
    found = moved((2, 3, 2, 3, 2), (4, 3, 2, 1, 0))
    assert found
    assert all("5 axes" in c.refusal for c in found)
