"""Files at the edge of ONNX: sparse tensors, constants and inputs as outputs, odd element types."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from match_aie.errors import LimitError, ModelError
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
