"""ONNX models in a line, and two ways to run them."""

from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

DOMAINS = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]


def build(nodes, inputs, outputs, constants=None, opset=17):
    """A model; inputs and outputs as {name: (dtype, shape)}, shape None where unknown."""

    def values(ports):
        return [
            helper.make_tensor_value_info(
                name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape
            )
            for name, (dtype, shape) in ports.items()
        ]

    stored = [numpy_helper.from_array(np.asarray(v), k) for k, v in (constants or {}).items()]
    graph = helper.make_graph(nodes, "g", values(inputs), values(outputs), stored)
    opsets = [helper.make_opsetid("", opset), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=min(10, onnx.IR_VERSION))


def run_onnxruntime(model, feeds):
    """Outputs of onnxruntime without graph optimisation, on one thread."""
    ort = pytest.importorskip("onnxruntime")
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    session = ort.InferenceSession(model.SerializeToString(), options, ["CPUExecutionProvider"])
    return session.run(None, feeds)


def run_tvm(model, feeds):
    """Outputs of a loaded `Model` through TVM's own LLVM back end."""
    import tvm
    from tvm import relax

    machine = relax.VirtualMachine(tvm.compile(model.module, target="llvm"), tvm.cpu())
    values = [tvm.runtime.tensor(np.asarray(feeds[port.name], order="C")) for port in model.inputs]
    result = machine["main"](*values)
    several = not isinstance(result, tvm.runtime.Tensor)
    return [item.numpy() for item in (list(result) if several else [result])]


def prepass(model):
    """`model` after the ONNX pre-pass, with the names it had."""
    from match_aie.frontend.onnx_rewrite import rewrite
    from match_aie.frontend.onnx_shapes import infer_shapes

    return rewrite(infer_shapes(model), {})


@pytest.fixture(scope="session")
def onnx_tools():
    return SimpleNamespace(
        build=build, run_onnxruntime=run_onnxruntime, run_tvm=run_tvm, prepass=prepass
    )
