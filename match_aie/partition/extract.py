"""From a match to the layer it means: a workload, its constants, and the tensors it reads.

Extraction computes the exact integer meaning of `quantize(op(dequantize(x), ...))`. Where there
is none (a scale known only at run time, a sum that could overflow), it says so in a sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from match_aie.hardware import AVG_POOL_HALF_AWAY
from match_aie.hardware.graph import Graph, Value
from match_aie.partition.account import lost
from match_aie.partition.extract_added import added_layer, adds
from match_aie.partition.extract_attention import quantised_attention_layer
from match_aie.partition.extract_moved import moved_axes
from match_aie.partition.extract_norm import NORM_KINDS
from match_aie.partition.extract_real import extract_real, is_real
from match_aie.partition.integer_extract import integer_layer, is_integer
from match_aie.partition.layer import Extracted
from match_aie.partition.match import Match
from match_aie.partition.tabulate import tabulated
from match_aie.partition.view import (
    INTEGERS,
    Parameters,
    Refusal,
    View,
    elements,
    integers,
    pool_window,
    rank4,
    sliding,
    stretched,
)
from match_aie.workload import (
    Kind,
    Quantized,
    Window,
    Workload,
    conv2d,
    conv2d_transpose,
    dense,
    elementwise,
    full_range,
    matmul,
    pool2d,
    rowwise,
)
from match_aie.workload.reference import accumulator_bound, softmax_table

INT32_MAX = 2**31 - 1
INTEGER_KINDS = ("conv2d", "dense", "add", "mul")


def _symmetric(value: Value, parameters: Parameters, axis: int) -> np.ndarray:
    """Weights with their zero point subtracted: int8, or int16 where the range needs it."""
    assert value.constant is not None
    if max(parameters.scale.size, parameters.zero.size) > 1 and parameters.axis != axis:
        raise Refusal("weights are quantised along an axis that is not the output channel")
    shape = [-1 if i == axis else 1 for i in range(value.constant.ndim)]
    zero = parameters.zero if parameters.zero.size == 1 else parameters.zero.reshape(shape)
    wide = value.constant.astype(np.int64) - zero.astype(np.int64)
    dtype = np.int8 if -128 <= wide.min(initial=0) and wide.max(initial=0) <= 127 else np.int16
    return wide.astype(dtype)


def _bias(view: View, summed: str, step: np.ndarray, channels: int) -> np.ndarray:
    """int32 bias per channel in units of the sum; zeros where the match adds none.

    Args:
        view: the match.
        summed: name of the value the bias is added to.
        step: float32 real value of one unit of the sum, [1] or [channels].
        channels: output channels.
    """
    adders = [
        view.graph.nodes[i]
        for i in view.match.nodes
        if view.graph.nodes[i].operator == "add" and summed in view.graph.nodes[i].inputs()
    ]
    if not adders:
        return np.zeros(channels, np.int32)
    other = next((a for a in view.take(adders[0]).inputs() if a != summed), summed)
    value, parameters = view.dequantized(other)
    if value.constant is None or value.dtype != "int32":
        raise Refusal("the bias is not an int32 constant")
    if value.constant.size != channels or value.shape[-1] != channels:
        raise Refusal(f"a bias of shape {value.shape} is not one value per output channel")
    if np.any(parameters.zero):
        raise Refusal("the bias has a zero point")
    scale = np.broadcast_to(parameters.scale.reshape(-1), (channels,)).astype(np.float64)
    # Exporters compute this product in float32 or float64; a larger difference means that the
    # bias does not count in units of the sum.
    if not np.allclose(scale, np.broadcast_to(step, (channels,)), rtol=1e-5, atol=0):
        raise Refusal("the bias scale is not input scale times weight scale")
    return value.constant.reshape(channels)


def _scales(x: Quantized, weight_scale: np.ndarray, y: Quantized) -> tuple[np.ndarray, np.ndarray]:
    """(step of the sum, requantisation scale), float32 with one rounding per operation.

    ONNX Runtime computes `(x_scale * w_scale) / y_scale` in float32; one rounding from float64
    costs MobileNet 5 LSB.
    """
    assert x.scale is not None
    assert y.scale is not None
    with np.errstate(all="ignore"):
        step = np.float32(x.scale) * weight_scale.reshape(-1).astype(np.float32)
        scale = (step / np.float32(y.scale)).astype(np.float32)
    if not (np.isfinite(step).all() and np.isfinite(scale).all()):
        raise Refusal("its scales multiply to something that is not finite")
    return step, scale


def _conv2d(view: View) -> Extracted:
    """A convolution, transposed or not."""
    node = view.node("nn.conv2d", "nn.conv2d_transpose")
    transposed = node.operator == "nn.conv2d_transpose"
    layout = "IOHW" if transposed else "HWIO"
    if (node.attributes["data_layout"], node.attributes["kernel_layout"]) != ("NHWC", layout):
        raise Refusal(f"the convolution is not NHWC with {layout} weights")
    data, filter_ = (str(a) for a in node.arguments[:2])
    x, xq = view.activation(data)
    w, wp = view.dequantized(filter_)
    if w.constant is None:
        raise Refusal("the weights are known only at run time")
    yq, tail = view.result()
    whole = _symmetric(w, wp, layout.index("O"))
    weight = np.ascontiguousarray(whole.transpose([layout.index(letter) for letter in "OHWI"]))
    step, scale = _scales(xq, wp.scale, yq)
    bias = _bias(view, node.output, step, len(weight))
    groups = node.attributes["groups"]
    assert isinstance(groups, int)
    form: dict[str, Any] = {
        "shape": rank4(x.shape),
        "weight_shape": rank4(weight.shape),
        "window": sliding(node),
        "weight_dtype": weight.dtype.name,
        "tail": tail,
        "scales": scale.size,
    }
    if transposed:
        form["out"] = stretched(node, form["window"], view.value(node.output).shape)
        workload = conv2d_transpose(xq, yq, **form)
    else:
        workload = conv2d(xq, yq, groups=groups, **form)
    constants = {"weight": weight, "bias": bias, "scale": scale}
    return Extracted(workload, constants, (x.name,), view.root.output)


def _dense(view: View) -> Extracted:
    node = view.node("matmul")
    data, matrix = (str(a) for a in node.arguments[:2])
    x, xq = view.activation(data)
    w, wp = view.dequantized(matrix)
    if w.constant is None or len(w.shape) != 2:
        raise Refusal("the second matrix is not a constant of rank 2")
    yq, tail = view.result()
    weight = np.ascontiguousarray(_symmetric(w, wp, 1).T)
    step, scale = _scales(xq, wp.scale, yq)
    bias = _bias(view, node.output, step, len(weight))
    outputs, inputs = weight.shape
    workload = dense(
        xq,
        yq,
        rows=prod(x.shape[:-1]),
        inputs=inputs,
        outputs=outputs,
        weight_dtype=weight.dtype.name,
        tail=tail,
        scales=scale.size,
    )
    constants = {"weight": weight, "bias": bias, "scale": scale}
    return Extracted(workload, constants, (x.name,), view.root.output)


def _matmul(view: View) -> Extracted:
    node = view.node("matmul")
    (a, aq), (b, bq) = (view.activation(str(name)) for name in node.arguments[:2])
    if len(a.shape) < 2 or len(a.shape) != len(b.shape) or a.shape[:-2] != b.shape[:-2]:
        raise Refusal(f"matrices of shapes {a.shape} and {b.shape} do not pair up")
    yq, tail = view.result()
    rows, inner = a.shape[-2:]
    columns = b.shape[-1]
    assert bq.scale is not None
    _, scale = _scales(aq, np.array([bq.scale], np.float32), yq)
    workload = matmul(
        aq, bq, yq, batch=prod(a.shape[:-2]), rows=rows, inner=inner, columns=columns, tail=tail
    )
    return _pair(view, workload, (a, b), {"scale": scale})


def _pair(
    view: View, workload: Workload, pair: tuple[Value, Value], constants: Mapping[str, np.ndarray]
) -> Extracted:
    """The layer of two tensors, of which one may be known at compile time."""
    known = {
        name: value.constant.reshape(workload.operand(name).shape)
        for name, value in zip(("x", "x1"), pair, strict=True)
        if value.constant is not None
    }
    operands = tuple(replace(o, constant=o.constant or o.name in known) for o in workload.operands)
    inputs = tuple(value.name for value in pair if value.constant is None)
    layer = replace(workload, operands=operands)
    return Extracted(layer, {**known, **constants}, inputs, view.root.output)


def _elementwise(kind: Kind, operator: str) -> Callable[[View], Extracted]:
    def extract(view: View) -> Extracted:
        node = view.node(operator)
        (a, aq), (b, bq) = (view.activation(str(name)) for name in node.arguments[:2])
        yq, tail = view.result()
        workload = elementwise(
            kind,
            aq,
            bq,
            yq,
            shape=rank4(a.shape),
            shape1=rank4(b.shape),
            out=rank4(view.value(node.output).shape),
            tail=tail,
        )
        return _pair(view, workload, (a, b), {})

    return extract


def _average(view: View) -> Extracted:
    node = view.node("nn.avg_pool2d", "mean")
    x, xq = view.activation(str(node.arguments[0]))
    yq, tail = view.result()
    shape = rank4(x.shape)
    if node.operator == "mean":
        axes = tuple(a % len(x.shape) for a in integers(node, "axis"))
        if len(x.shape) != 4 or sorted(axes) != [1, 2]:
            raise Refusal(f"a mean over axes {axes} is not a pool over rows and columns")
        filter_, window = (shape[1], shape[2]), Window()
    else:
        if node.attributes["layout"] != "NHWC":
            raise Refusal("the pool is not NHWC")
        fy, fx = integers(node, "pool_size")
        filter_ = (fy, fx)
        window = pool_window(node, shape, view.value(node.output).shape)
    workload = pool2d(
        "avg_pool2d", xq, yq, shape=shape, filter_shape=filter_, window=window, tail=tail
    )
    return Extracted(workload, {}, (x.name,), view.root.output)


def _average_half_away(view: View) -> Extracted:
    """TFLite's integer pool: the mean of the integers, rounded half away from int8's zero."""
    node = view.node(AVG_POOL_HALF_AWAY)
    x = view.value(str(node.arguments[0]))
    zero = node.attributes["zero_point"]
    assert isinstance(zero, int)
    quantized = Quantized(x.dtype, None, zero)
    shape = rank4(x.shape)
    fy, fx = integers(node, "pool_size")
    workload = pool2d(
        "avg_pool2d",
        quantized,
        quantized,
        shape=shape,
        filter_shape=(fy, fx),
        window=pool_window(node, shape, view.value(node.output).shape),
        tail=view.clipped(full_range(x.dtype, zero, "half_away")),
    )
    return Extracted(workload, {}, (x.name,), view.root.output)


def _maximum(view: View) -> Extracted:
    node = view.node("nn.max_pool2d")
    x = view.value(str(node.arguments[0]))
    if x.dtype not in INTEGERS or node.attributes["layout"] != "NHWC":
        raise Refusal(f"a max pool of {x.dtype}, {node.attributes['layout']}")
    shape = rank4(x.shape)
    fy, fx = integers(node, "pool_size")
    quantized = Quantized(x.dtype)
    workload = pool2d(
        "max_pool2d",
        quantized,
        quantized,
        shape=shape,
        filter_shape=(fy, fx),
        window=pool_window(node, shape, view.value(node.output).shape),
        tail=view.clipped(full_range(x.dtype, 0)),
    )
    return Extracted(workload, {}, (x.name,), view.root.output)


def _softmax(view: View) -> Extracted:
    node = view.node("nn.softmax")
    x, xq = view.activation(str(node.arguments[0]))
    if x.dtype not in ("int8", "uint8"):
        raise Refusal(f"a softmax table for {x.dtype}")
    axis = node.attributes["axis"]
    if not isinstance(axis, int) or axis % len(x.shape) != len(x.shape) - 1:
        raise Refusal("the softmax is not over the last axis")
    yq, tail = view.result()
    assert xq.scale is not None
    workload = rowwise("softmax", xq, yq, rows=prod(x.shape[:-1]), columns=x.shape[-1], tail=tail)
    return Extracted(workload, {"table": softmax_table(xq.scale)}, (x.name,), view.root.output)


def _quantize(view: View) -> Extracted:
    node = view.node("quantize")
    x = view.value(str(node.arguments[0]))
    if x.dtype != "float32" or x.constant is not None:
        raise Refusal(f"quantize of {'a constant' if x.constant is not None else x.dtype}")
    yq, tail = view.result()
    workload = rowwise("quantize", Quantized("float32"), yq, rows=1, columns=elements(x), tail=tail)
    return Extracted(workload, {}, (x.name,), view.root.output)


def _dequantize(view: View) -> Extracted:
    node = view.node("dequantize")
    x = view.value(str(node.arguments[0]))
    if x.dtype not in (*INTEGERS, "int32") or x.constant is not None:
        raise Refusal(f"dequantize of {'a constant' if x.constant is not None else x.dtype}")
    scale, zero = view.parameters(node).per_tensor("the tensor")
    if view.value(node.output).dtype != "float32":
        raise Refusal(f"dequantize to {view.value(node.output).dtype}")
    xq = Quantized(x.dtype, float(scale), zero)
    real = Quantized("float32")
    workload = rowwise("dequantize", xq, real, rows=1, columns=elements(x), tail=None)
    return Extracted(workload, {}, (x.name,), view.root.output)


_KINDS: Mapping[Kind, Callable[[View], Extracted]] = {
    "conv2d": _conv2d,
    "conv2d_transpose": _conv2d,
    "dense": _dense,
    "matmul": _matmul,
    "add": _elementwise("add", "add"),
    "mul": _elementwise("mul", "multiply"),
    "avg_pool2d": _average,
    "max_pool2d": _maximum,
    "softmax": _softmax,
    "quantize": _quantize,
    "dequantize": _dequantize,
    "permute": moved_axes,
    "table": tabulated,
    **NORM_KINDS,
    "attention": quantised_attention_layer,
}


def _layer(view: View, kind: Kind) -> Extracted:
    """What the match means, as far as the kind has words for it."""
    if is_real(view):
        return extract_real(view, kind)
    if adds(view):
        return added_layer(view, kind, _layer)
    operators = {view.graph.nodes[index].operator for index in view.match.nodes}
    if AVG_POOL_HALF_AWAY in operators and kind == "avg_pool2d":
        return _average_half_away(view)
    if kind in INTEGER_KINDS and is_integer(view):
        return integer_layer(view, kind)
    if kind not in _KINDS:
        dtype = view.value(view.root.output).dtype
        raise Refusal(f"there is no layer of kind {kind} on {dtype}")
    return _KINDS[kind](view)


def extract(graph: Graph, match: Match, kind: Kind) -> Extracted | str:
    """The layer that `match` means as a workload of `kind`, or why there is none."""
    view = View(graph, match)
    try:
        layer = _layer(view, kind)
    except Refusal as refusal:
        return str(refusal)
    # A layer that says less than its match would be computed without what it leaves out.
    missing = lost(view, layer, kind)
    if missing:
        return missing
    integer = layer.workload.macs and not is_real(view)
    if integer and accumulator_bound(layer.workload, layer.constants) > INT32_MAX:
        return "the sum can overflow 32 bits"
    return layer
