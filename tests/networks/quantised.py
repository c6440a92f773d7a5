"""Networks quantised by onnxruntime's quantiser, on ranges of random inputs that are rounded.

The last bits of float sums depend on the processor; ranges of four digits do not, so that the same
networks come out everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import onnx
from onnx import TensorProto, helper

#: Random inputs that ranges are taken from.
SAMPLES = 32
#: What is quantised: operators of the networks here.
OPERATORS = (
    *("Conv", "Gemm", "MatMul", "Add", "Relu", "Clip", "Softmax"),
    *("AveragePool", "GlobalAveragePool", "Flatten", "Reshape", "Transpose"),
)


def unsigned(
    model: onnx.ModelProto, *, per_channel: bool = True, more: Sequence[str] = ()
) -> onnx.ModelProto:
    """uint8 activations, int8 weights, float ends; inputs are standard normal.

    Args:
        model: float, shapes inferred.
        per_channel: whether weights of convolutions have a scale a channel.
        more: operators that are quantised beside `OPERATORS`.
    """
    rng = np.random.default_rng(1)
    ranges = _ranges(model, lambda shape: rng.standard_normal(shape).astype(np.float32))
    return _quantised(model, ranges, "QUInt8", per_channel, {}, more)


def signed(model: onnx.ModelProto) -> onnx.ModelProto:
    """int8 in TensorFlow Lite's conventions; inputs are uniform in -1..1, the ends are int8.

    The softmax counts 256ths from -128, the dense layer has one scale.
    """
    rng = np.random.default_rng(2)
    ranges = _ranges(model, lambda shape: rng.uniform(-1, 1, shape).astype(np.float32))
    (entry,) = (port.name for port in model.graph.input)
    ranges[entry] = (-1.0, 1.0)
    softmax = {"scale": np.array(1 / 256, np.float32), "zero_point": np.array(-128, np.int8)}
    overrides: dict[str, list[dict[str, object]]] = {
        model.graph.output[0].name: [softmax],
        "model/dense/MatMul": [{"symmetric": True}],
    }
    return _integer_ends(_quantised(model, ranges, "QInt8", True, overrides))


def _ranges(model: onnx.ModelProto, draw) -> dict[str, tuple[float, float]]:
    """Least and largest value of every tensor over random inputs, away from 0 by four digits."""
    import onnxruntime as ort

    exposed = onnx.ModelProto()
    exposed.CopyFrom(model)
    names = [name for node in model.graph.node for name in node.output]
    kept = {port.name for port in exposed.graph.output}
    exposed.graph.output.extend(
        helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        for name in names
        if name not in kept
    )
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(
        exposed.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (entry,) = session.get_inputs()
    found: dict[str, tuple[float, float]] = {}
    for _ in range(SAMPLES):
        x = draw(entry.shape)
        values = dict(zip(names, session.run(names, {entry.name: x}), strict=True))
        for name, value in {entry.name: x, **values}.items():
            low, high = found.get(name, (0.0, 0.0))
            found[name] = min(low, float(value.min())), max(high, float(value.max()))
    return {name: (_outwards(low), _outwards(high)) for name, (low, high) in found.items()}


def _outwards(value: float) -> float:
    """`value` with four digits, rounded away from 0."""
    if not value:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(abs(value))) - 3)
    return math.copysign(float(f"{math.ceil(abs(value) / unit) * unit:.4g}"), value)


def _quantised(
    model: onnx.ModelProto,
    ranges: Mapping[str, tuple[float, float]],
    activations: str,
    per_channel: bool,
    overrides: Mapping[str, object],
    more: Sequence[str] = (),
) -> onnx.ModelProto:
    """The model as onnxruntime's quantiser writes it.

    Args:
        model: float, shapes inferred.
        ranges: of every tensor.
        activations: their `QuantType`.
        per_channel: whether weights of convolutions have a scale a channel.
        overrides: the quantiser's `TensorQuantOverrides`.
        more: operators that are quantised beside `OPERATORS`.
    """
    from onnxruntime.quantization import CalibrationMethod, QuantType
    from onnxruntime.quantization.calibrate import TensorsData
    from onnxruntime.quantization.qdq_quantizer import QDQQuantizer

    data = {
        name: tuple(np.array(bound, np.float32) for bound in bounds)
        for name, bounds in ranges.items()
    }
    copied = onnx.ModelProto()
    copied.CopyFrom(model)
    quantizer = QDQQuantizer(
        copied,
        per_channel,
        False,
        QuantType.QInt8,
        QuantType[activations],
        TensorsData(CalibrationMethod.MinMax, data),
        [node.name for node in model.graph.node],
        [],
        [*OPERATORS, *more],
        {"TensorQuantOverrides": dict(overrides), "ForceQuantizeNoInputCheck": True},
    )
    quantizer.quantize_model()
    quantizer.model.topological_sort()
    made = quantizer.model.model
    onnx.checker.check_model(made)
    return made


def _integer_ends(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model without the quantisation of its input and the dequantisation of its output."""
    graph = model.graph
    (entry,), (leaving,) = graph.input, graph.output
    (first,) = (node for node in graph.node if node.input[0] == entry.name)
    (last,) = (node for node in graph.node if node.output[0] == leaving.name)
    assert (first.op_type, last.op_type) == ("QuantizeLinear", "DequantizeLinear")
    for node in (first, last):
        graph.node.remove(node)
    for old, new in ((first.output[0], entry.name), (last.input[0], leaving.name)):
        for names in _names(graph):
            for index, name in enumerate(names):
                if name == old:
                    names[index] = new
    entry.type.tensor_type.elem_type = leaving.type.tensor_type.elem_type = TensorProto.INT8
    del graph.value_info[:]
    onnx.checker.check_model(model)
    return model


def _names(graph: onnx.GraphProto) -> Iterator[list[str]]:
    for node in graph.node:
        yield node.input
        yield node.output
