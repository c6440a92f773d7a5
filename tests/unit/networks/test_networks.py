"""The networks of the tests: the same bytes each time, and tensors that say something."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from onnx import numpy_helper

import match_aie as match
from tests.networks import FLOAT, IMAGES, POWERS, TWINS, network, store
from tests.shared import random_input

QUANTISED = (*(f"{name}_u8" for name in IMAGES), *TWINS, *POWERS)
#: Multiply-accumulates of MLPerf Tiny's networks, which their architectures fix.
MACS = {"resnet8": 12_501_632, "mobilenetv1_025": 7_489_664, "dscnn": 2_656_768, "dae": 264_192}


@pytest.mark.parametrize("file", ["dscnn_u8.onnx", "dscnn_i8.tflite", "mlp_3l_i8.onnx"])
def test_the_same_bytes_each_time(file, tmp_path, monkeypatch):
    first = network(file).read_bytes()
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    assert network(file).read_bytes() == first
    assert [path.name for path in tmp_path.rglob("*.*")] == [file]


def test_an_unknown_name_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr(store, "FOLDER", tmp_path)
    with pytest.raises(KeyError):
        network("nothing.onnx")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", QUANTISED)
def test_no_tensor_saturates_or_dies(name):
    """Of inputs that nothing was calibrated on: many values each, few of them at the ends."""
    stored = _stored(onnx.load(network(f"{name}.onnx")))
    assert len(stored) >= 2
    for tensor, (values, least) in stored.items():
        info = np.iinfo(values.dtype)
        # A ReLU gives its least value, which is the zero point, to about half of its elements.
        ends = [] if least else [info.min]
        at_ends = max(int((values == end).sum()) for end in [*ends, info.max])
        assert at_ends <= max(1, 0.05 * values.size), tensor
        assert np.unique(values).size >= min(10, values.size // 2), tensor


def _stored(model):
    """Every activation's integers, over random inputs, and whether the least of them means 0."""
    (port,) = match.frontend.load(model).inputs
    made = [node for node in model.graph.node if node.op_type == "QuantizeLinear"]
    constants = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    kinds = {node.output[0]: constants[node.input[2]] for node in made}
    known = {port.name for port in model.graph.output}
    model.graph.output.extend(
        onnx.helper.make_tensor_value_info(
            name, onnx.helper.np_dtype_to_tensor_dtype(kind.dtype), None
        )
        for name, kind in kinds.items()
        if name not in known
    )
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(model.SerializeToString(), options)
    rng = np.random.default_rng(9)
    runs = [session.run(list(kinds), {port.name: random_input(port, rng)}) for _ in range(4)]
    return {
        name: (np.stack(values), bool(kind == np.iinfo(kind.dtype).min))
        for (name, kind), values in zip(kinds.items(), zip(*runs, strict=True), strict=True)
    }


@pytest.mark.parametrize("name", MACS)
def test_architectures_are_those_of_mlperf_tiny(name):
    model = onnx.shape_inference.infer_shapes(FLOAT[name]())
    weights = {tensor.name: tensor.dims for tensor in model.graph.initializer}
    shapes = {
        port.name: [d.dim_value for d in port.type.tensor_type.shape.dim]
        for port in (*model.graph.value_info, *model.graph.output)
    }
    macs = 0
    for node in model.graph.node:
        if node.op_type in ("Conv", "Gemm"):
            positions = int(np.prod(shapes[node.output[0]]))
            macs += positions * int(np.prod(weights[node.input[1]][1:]))
    assert macs == MACS[name]
