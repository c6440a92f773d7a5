"""Files at the edge of ONNX: sparse tensors, constants and inputs as outputs, odd element types."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match_aie.errors import LimitError, ModelError, UnsupportedOperatorError
from match_aie.frontend import load
from match_aie.limits import Limits

WEIGHTS = np.array([[0, 2, 0], [0.5, 0, 0]], np.float32)


def sparse(form):
    """WEIGHTS as a sparse tensor, its indices counted or in rows."""
    where = np.argwhere(WEIGHTS) if form == "rows" else np.flatnonzero(WEIGHTS)
    values = numpy_helper.from_array(WEIGHTS[WEIGHTS != 0], "w")
    return helper.make_sparse_tensor(
        values, numpy_helper.from_array(where.astype(np.int64), "places"), WEIGHTS.shape
    )


def product(onnx_tools, *nodes):
    nodes = [*nodes, helper.make_node("MatMul", ["x", "w"], ["y"])]
    return onnx_tools.build(nodes, {"x": (np.float32, (4, 2))}, {"y": (np.float32, (4, 3))})


@pytest.mark.parametrize("form", ["rows", "counted"])
@pytest.mark.parametrize("place", ["stored", "node"])
def test_sparse_weights(onnx_tools, form, place):
    if place == "stored":
        model = product(onnx_tools)
        model.graph.sparse_initializer.append(sparse(form))
    else:
        node = helper.make_node("Constant", [], ["w"], sparse_value=sparse(form))
        model = product(onnx_tools, node)
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    (got,) = onnx_tools.run_tvm(load(model), {"x": x})
    np.testing.assert_array_equal(got, x @ WEIGHTS)


def test_sparse_tensors_count_with_all_their_elements(onnx_tools):
    model = product(onnx_tools)
    model.graph.sparse_initializer.append(sparse("rows"))
    with pytest.raises(LimitError, match="unfold"):
        load(model, limits=Limits(constant_bytes=40))
    assert load(model, limits=Limits(constant_bytes=80)).inputs


@pytest.mark.parametrize("kind", ["STRING", "INT4", "UINT2"])
def test_constants_that_no_network_gives_are_refused_by_name(onnx_tools, kind):
    if kind == "STRING":
        tensor = helper.make_tensor("odd", TensorProto.STRING, [2], [b"a", b"b"])
    else:
        tensor = onnx.TensorProto(name="odd", data_type=getattr(TensorProto, kind), dims=[2])
        tensor.raw_data = bytes(1)
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    model = onnx_tools.build(nodes, {"x": (np.float32, (2,))}, {"y": (np.float32, (2,))}, opset=25)
    model.graph.initializer.append(tensor)
    assert [port.name for port in load(model).outputs] == ["y"]
    model.graph.output.append(helper.make_tensor_value_info("odd", tensor.data_type, [2]))
    with pytest.raises(ModelError, match=f"constant of {kind.lower()}") as caught:
        load(model)
    assert caught.value.where == "output odd"


def test_an_input_that_is_an_output_has_its_shape(onnx_tools):
    nodes = [helper.make_node("Neg", ["x"], ["y"])]
    ports = {"y": (np.float32, None), "x": (np.float32, None)}
    found = load(onnx_tools.build(nodes, {"x": (np.float32, (2, 3))}, ports))
    assert [(port.name, port.shape) for port in found.outputs] == [("y", (2, 3)), ("x", (2, 3))]


@pytest.mark.parametrize("said", [{"precision": 1}, {"output_dtype": 0, "block_size": 2}])
def test_attributes_of_quantisers_that_say_what_holds_anyway(onnx_tools, said):
    blocked = "block_size" in said
    scale = np.array([[0.25] * 3, [0.5] * 3] if blocked else 0.25, np.float32)
    nodes = [
        helper.make_node(
            "QuantizeLinear", ["x", "s"], ["y"], **said, **({"axis": 0} if blocked else {})
        )
    ]
    ports = {"x": (np.float32, (4, 3))}, {"y": (np.uint8, (4, 3))}
    model = onnx_tools.build(nodes, *ports, {"s": scale}, opset=23)
    x = np.linspace(0, 5, 12, dtype=np.float32).reshape(4, 3)
    (got,) = onnx_tools.run_tvm(load(model), {"x": x})
    full = np.repeat(scale, 2, axis=0) if blocked else scale
    np.testing.assert_array_equal(got, np.rint(x / full).astype(np.uint8))


@pytest.mark.parametrize("alpha", [0.0, 0.25])
def test_infinities_below_a_threshold_are_nothing(onnx_tools, alpha):
    """ThresholdedRelu, as where(x > alpha, x, 0): a product with a mask would make NaN."""
    x = np.array([np.nan, np.inf, -np.inf, 0.1, 0.5, -1.0], np.float32)
    node = helper.make_node("ThresholdedRelu", ["x"], ["y"], alpha=alpha)
    model = onnx_tools.build([node], {"x": ("float32", (6,))}, {"y": ("float32", (6,))})
    (got,) = onnx_tools.run_tvm(load(model), {"x": x})
    np.testing.assert_array_equal(got, onnx_tools.run_onnxruntime(model, {"x": x})[0])
    np.testing.assert_array_equal(got, np.where(x > alpha, x, 0))


@pytest.mark.parametrize("diagonal", [2**40, -(2**40), 2])
@pytest.mark.parametrize("upper", [0, 1])
def test_diagonals_far_beyond_a_matrix(onnx_tools, diagonal, upper):
    x = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    node = helper.make_node("Trilu", ["x", "k"], ["y"], upper=upper)
    port = ("float32", (3, 4))
    model = onnx_tools.build([node], {"x": port}, {"y": port}, {"k": np.array(diagonal)})
    (got,) = onnx_tools.run_tvm(load(model), {"x": x})
    np.testing.assert_array_equal(got, onnx_tools.run_onnxruntime(model, {"x": x})[0])


def test_what_runtimes_disagree_about_is_refused(onnx_tools):
    of = {"x": ("int32", (6,))}, {"y": ("int32", (6,))}
    shrink = helper.make_node("Shrink", ["x"], ["y"], lambd=0.6)
    with pytest.raises(UnsupportedOperatorError, match="of integers"):
        load(onnx_tools.build([shrink], *of))
    norm = helper.make_node("ReduceL1", ["x", "axes"], ["y"], noop_with_empty_axes=1)
    none = {"axes": np.zeros(0, np.int64)}
    with pytest.raises(UnsupportedOperatorError, match="noop_with_empty_axes"):
        load(onnx_tools.build([norm], *of, none, opset=18))
