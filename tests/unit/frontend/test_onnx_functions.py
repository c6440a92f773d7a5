"""Functions of a model's own, branches that use the same names, loops of no step."""

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from match_aie.errors import UnsupportedOperatorError
from match_aie.frontend import load

OWN = helper.make_opsetid("own", 1)


def leaky(version=17, default=0.4):
    """own.Leaky: LeakyRelu with a slope that calls may leave out."""
    node = helper.make_node("LeakyRelu", ["x"], ["y"])
    slope = onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    node.attribute.append(slope)
    return helper.make_function(
        *("own", "Leaky", ["x"], ["y"], [node], [helper.make_opsetid("", version), OWN]),
        attribute_protos=[helper.make_attribute("slope", default)],
    )


def calling(onnx_tools, functions, nodes, version=17):
    """A model of x [2, 3] with functions of its own."""
    model = onnx_tools.build(nodes, {"x": (np.float32, (2, 3))}, {"y": (np.float32, (2, 3))})
    del model.opset_import[:]
    model.opset_import.extend([OWN] + ([helper.make_opsetid("", version)] if version else []))
    model.functions.extend(functions)
    return model


def equal(onnx_tools, model):
    feeds = {"x": np.linspace(-3, 2, 6, dtype=np.float32).reshape(2, 3)}
    (got,) = onnx_tools.run_tvm(load(model), feeds)
    (want,) = onnx_tools.run_onnxruntime(model, feeds)
    np.testing.assert_allclose(got, want, rtol=1e-6)


@pytest.mark.parametrize("given", [{}, {"slope": 0.25}])
def test_attributes_that_a_call_leaves_out_have_the_functions_defaults(onnx_tools, given):
    twice = helper.make_function(
        *("own", "Twice", ["x"], ["y"]),
        [
            helper.make_node("Leaky", ["x"], ["z"], domain="own", **given),
            helper.make_node("Leaky", ["z"], ["y"], domain="own"),
        ],
        [helper.make_opsetid("", 17), OWN],
    )
    nodes = [helper.make_node("Twice", ["x"], ["y"], domain="own")]
    equal(onnx_tools, calling(onnx_tools, [leaky(), twice], nodes))


@pytest.mark.parametrize("versions", [(17, 18), (18, 17), (21, 20), (18, None)])
def test_functions_that_import_another_version_of_the_same_operators(onnx_tools, versions):
    function, model = versions
    nodes = [helper.make_node("Leaky", ["x"], ["y"], domain="own")]
    equal(onnx_tools, calling(onnx_tools, [leaky(function)], nodes, model))


@pytest.mark.parametrize("version", [11, 12])
def test_old_operators_in_functions_mean_what_they_meant(onnx_tools, version):
    """Softmax went over all axes behind one of them."""
    body = [helper.make_node("Softmax", ["x"], ["y"], axis=0)]
    imports = [helper.make_opsetid("", version)]
    function = helper.make_function("own", "Old", ["x"], ["y"], body, imports)
    nodes = [helper.make_node("Old", ["x"], ["y"], domain="own")]
    model = calling(onnx_tools, [function], nodes, version)
    model.ir_version = 8
    equal(onnx_tools, model)


def branch(*operators):
    """y = operators one after the other, all branches with the same names."""
    names = ["x", *(f"t{at}" for at in range(len(operators)))]
    nodes = [helper.make_node(op, [names[i]], [names[i + 1]]) for i, op in enumerate(operators)]
    end = helper.make_tensor_value_info(names[-1], TensorProto.FLOAT, None)
    return helper.make_graph(nodes, "branch", [], [end])


def test_branches_beside_each_other_may_use_the_same_names(onnx_tools):
    conditions = {"always": np.array(True), "never": np.array(False)}
    nodes = [
        helper.make_node(
            *("If", [name], [out]),
            then_branch=branch("Neg", "Exp"),
            else_branch=branch("Abs", "Sqrt"),
        )
        for name, out in (("always", "a"), ("never", "b"))
    ]
    nodes.append(helper.make_node("Sub", ["a", "b"], ["y"]))
    ports = {"x": (np.float32, (2, 3))}, {"y": (np.float32, (2, 3))}
    equal(onnx_tools, onnx_tools.build(nodes, *ports, conditions))


def loop_of_no_step(onnx_tools, read):
    """A loop that runs no step, and the results of it that are read."""
    truth = helper.make_tensor_value_info("more", TensorProto.BOOL, [])
    state = helper.make_tensor_value_info("s", TensorProto.FLOAT, [2, 3])
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["more"], ["again"]),
            helper.make_node("Exp", ["s"], ["t"]),
            helper.make_node("Neg", ["t"], ["piece"]),
        ],
        "body",
        [helper.make_tensor_value_info("i", TensorProto.INT64, []), truth, state],
        [
            helper.make_tensor_value_info("again", TensorProto.BOOL, []),
            *(helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 3]) for n in ("t", "piece")),
        ],
    )
    nodes = [
        helper.make_node(
            "Loop", ["count", "", "x"], ["end", "pieces" if read > 1 else ""], body=body
        ),
        helper.make_node("Neg", ["end"], ["y"]),
    ]
    outputs = {"y": (np.float32, (2, 3))} | ({"pieces": (np.float32, None)} if read > 1 else {})
    return onnx_tools.build(nodes, {"x": (np.float32, (2, 3))}, outputs, {"count": np.array(0)})


def test_a_loop_of_no_step_gives_what_it_got(onnx_tools):
    x = np.ones((2, 3), np.float32)
    (got,) = onnx_tools.run_tvm(load(loop_of_no_step(onnx_tools, 1)), {"x": x})
    np.testing.assert_array_equal(got, -x)
    with pytest.raises(UnsupportedOperatorError, match="collects is empty"):
        load(loop_of_no_step(onnx_tools, 2))
