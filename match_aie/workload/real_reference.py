"""What every float32 workload means: in float64, rounded to float32 once at the end.

Emitted code adds in another order and with other roundings, so it need not equal the reference:
`match_aie.workload.real_bound` says how close it must come.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import erf, pi

import numpy as np

from match_aie.workload.codes import coded
from match_aie.workload.workload import Operand, RealTail, Workload

#: The largest float32.
FLOAT32_MAX = float(np.finfo(np.float32).max)

Arrays = Mapping[str, np.ndarray]

_erf = np.frompyfunc(erf, 1, 1)


def by_dim(array: np.ndarray, operand: Operand, dims: tuple[str, ...]) -> np.ndarray:
    """`array` in float64 with its axes in the order `dims`; size 1 along those it has not."""
    names = [axis.terms[0][0] for axis in operand.axes]
    order = [names.index(dim) for dim in dims if dim in names]
    shape = [operand.shape[names.index(dim)] if dim in names else 1 for dim in dims]
    return array.astype(np.float64).transpose(order).reshape(shape)


def stored(result: np.ndarray, workload: Workload, dims: tuple[str, ...]) -> np.ndarray:
    """`result`, whose axes are `dims`, as the output operand lies in memory."""
    names = [axis.terms[0][0] for axis in workload.output.axes]
    order = [dims.index(name) for name in names]
    rest = [at for at in range(len(dims)) if at not in order]
    return result.transpose([*rest, *order]).reshape(workload.output.shape)


def activate(value: np.ndarray, tail: RealTail) -> np.ndarray:
    """The tail's activation in float64."""
    with np.errstate(over="ignore"):
        logistic = 1.0 / (1.0 + np.exp(-value))
    result: np.ndarray
    match tail.activation:
        case "relu":
            result = np.maximum(value, 0.0)
        case "clip":
            result = np.clip(value, tail.lo, tail.hi)
        case "gelu":
            result = 0.5 * value * (1.0 + _erf(value / np.sqrt(2.0)).astype(np.float64))
        case "gelu_tanh":
            inner = np.sqrt(2.0 / pi) * (value + 0.044715 * value**3)
            result = 0.5 * value * (1.0 + np.tanh(inner))
        case "silu":
            result = value * logistic
        case "tanh":
            result = np.tanh(value)
        case "sigmoid":
            result = logistic
        case "exp":
            result = np.exp(value)
        case "reciprocal":
            result = 1.0 / value
        case "rsqrt":
            result = 1.0 / np.sqrt(value)
        case _:
            result = value
    return result


def _biased(workload: Workload, arrays: Arrays, total: np.ndarray) -> np.ndarray:
    """`total`, whose last axis is the output channel, times the factor, plus the bias."""
    tail = workload.real or RealTail()
    result = total * tail.factor
    if "bias" in arrays:
        result = result + arrays["bias"].astype(np.float64)
    return result


def _dense(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With y = activation(x weight^T * factor + bias + residual)."""
    x = by_dim(arrays["x"], workload.operand("x"), ("B", "C"))
    total = _biased(workload, arrays, x @ arrays["weight"].astype(np.float64).T)
    return _complete(workload, arrays, stored(total, workload, ("B", "K")))


def _complete(workload: Workload, arrays: Arrays, total: np.ndarray) -> np.ndarray:
    """Add the residual, and activate."""
    if "residual" in arrays:
        total = total + arrays["residual"].astype(np.float64)
    return activate(total, workload.real or RealTail())


def _matmul(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With y = activation(x x1 * factor)."""
    x = by_dim(arrays["x"], workload.operand("x"), ("B", "G", "OY", "C"))
    x1 = by_dim(arrays["x1"], workload.operand("x1"), ("B", "G", "C", "K"))
    total = _biased(workload, arrays, x @ x1)
    return _complete(workload, arrays, stored(total, workload, ("B", "G", "OY", "K")))


def _conv2d(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With y = activation(sum(x * weight) * factor + bias + residual); padding is 0."""
    d, window = workload.sizes, workload.window
    assert window is not None
    top, left, bottom, right = window.padding
    (sy, sx), (dy, dx) = window.stride, window.dilation
    x = np.pad(arrays["x"].astype(np.float64), ((0, 0), (top, bottom), (left, right), (0, 0)))
    weight = arrays["weight"].astype(np.float64)
    weight = weight.reshape(d["G"], d["K"], d["FY"], d["FX"], d["C"])
    pixels = d["B"] * d["OY"] * d["OX"]
    total = np.zeros((d["G"], pixels, d["K"]))
    for fy in range(d["FY"]):
        for fx in range(d["FX"]):
            rows = slice(fy * dy, fy * dy + (d["OY"] - 1) * sy + 1, sy)
            columns = slice(fx * dx, fx * dx + (d["OX"] - 1) * sx + 1, sx)
            seen = x[:, rows, columns].reshape(pixels, d["G"], d["C"]).transpose(1, 0, 2)
            total += seen @ weight[:, :, fy, fx].transpose(0, 2, 1)
    image = total.transpose(1, 0, 2).reshape(workload.output.shape)
    return _complete(workload, arrays, _biased(workload, arrays, image))


def _pool2d(workload: Workload, arrays: Arrays) -> np.ndarray:
    """The maximum, or the sum over the number of positions: those inside, or all of the window."""
    d, window = workload.sizes, workload.window
    assert window is not None
    top, left, bottom, right = window.padding
    (sy, sx), (dy, dx) = window.stride, window.dilation
    maximum = workload.kind == "max_pool2d"
    around = ((0, 0), (top, bottom), (left, right), (0, 0))
    outside = -np.inf if maximum else 0.0
    x = np.pad(arrays["x"].astype(np.float64), around, constant_values=outside)
    inside = np.pad(np.ones(arrays["x"].shape), around, constant_values=window.count_include_pad)

    def seen(image: np.ndarray) -> np.ndarray:
        rows = [slice(f * dy, f * dy + (d["OY"] - 1) * sy + 1, sy) for f in range(d["FY"])]
        columns = [slice(f * dx, f * dx + (d["OX"] - 1) * sx + 1, sx) for f in range(d["FX"])]
        return np.stack([image[:, row, column] for row in rows for column in columns])

    if maximum:
        return np.asarray(seen(x).max(axis=0))
    return np.asarray(seen(x).sum(axis=0) / seen(inside).sum(axis=0))


def _softmax_rows(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return np.asarray(e / e.sum(axis=-1, keepdims=True))


def _softmax(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With y = exp(x - max) / sum of these, along each row."""
    del workload
    return _softmax_rows(arrays["x"].astype(np.float64))


def mean_square(x: np.ndarray) -> np.ndarray:
    """Of float64 rows, infinite where the sum of squares is beyond float32, so that they become 0.

    ONNX computes norms of `stash_type` 1, the default, in float32: operators LayerNormalization and
    RMSNormalization, onnx 1.23. onnxruntime and onnx's own reference give 0 then, too.
    """
    total = np.square(x).sum(axis=-1, keepdims=True)
    return np.where(total > FLOAT32_MAX, np.inf, total / x.shape[-1])


def _layer_norm(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With y = (x - mean) / sqrt(mean square of that + epsilon) * weight + bias."""
    x = arrays["x"].astype(np.float64)
    centred = x - x.mean(axis=-1, keepdims=True)
    scaled = centred / np.sqrt(mean_square(centred) + workload.parameter("epsilon"))
    return np.asarray(scaled * arrays["weight"] + arrays["bias"])


def _rms_norm(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With y = x / sqrt(mean square of x + epsilon) * weight."""
    x = arrays["x"].astype(np.float64)
    root = np.sqrt(mean_square(x) + workload.parameter("epsilon"))
    return np.asarray(x / root * arrays["weight"])


def _add(workload: Workload, arrays: Arrays) -> np.ndarray:
    total = arrays["x"].astype(np.float64) + arrays["x1"]
    return activate(np.asarray(total), workload.real or RealTail())


def _mul(workload: Workload, arrays: Arrays) -> np.ndarray:
    product = arrays["x"].astype(np.float64) * arrays["x1"]
    return activate(np.asarray(product), workload.real or RealTail())


def _function(workload: Workload, arrays: Arrays) -> np.ndarray:
    with np.errstate(all="ignore"):
        return activate(arrays["x"].astype(np.float64), workload.real or RealTail())


def _attention(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With y = softmax(x x1^T * factor + mask) x2 for every batch and head."""
    dims = {name: ("B", "G", row, column) for name, row, column in _PARTS}
    q, k, v = (by_dim(arrays[n], workload.operand(n), dims[n]) for n in ("x", "x1", "x2"))
    assert workload.real is not None
    scores = q @ k.transpose(0, 1, 3, 2) * workload.real.factor
    weights = _softmax_rows(scores + attention_mask(workload, arrays))
    return stored(weights @ v, workload, ("B", "G", "OY", "K"))


def attention_mask(workload: Workload, arrays: Arrays) -> np.ndarray:
    """What is added to scores [B, G, OY, OX], with axes of 1 where it is the same along them."""
    if "mask" not in arrays:
        return np.zeros((1, 1, 1, 1))
    return by_dim(arrays["mask"], workload.operand("mask"), ("B", "G", "OY", "OX"))


_PARTS = (("x", "OY", "C"), ("x1", "OX", "C"), ("x2", "OX", "K"))


def sigmoid(x: np.ndarray) -> np.ndarray:
    """1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        return np.asarray(1.0 / (1.0 + np.exp(-x)))


def real_input(workload: Workload, arrays: Arrays) -> np.ndarray:
    """The first input in float64: what its integers mean, where it is quantised."""
    x = workload.inputs[0]
    wide = arrays[x.name].astype(np.float64)
    return wide if x.scale is None else (wide - x.zero_point) * x.scale


def read_input(workload: Workload, arrays: Arrays) -> np.ndarray:
    """A recurrent layer's x as its product reads it, float64."""
    x = real_input(workload, arrays)
    if not workload.input_codes:
        return x
    row = coded(x.astype(np.float32).reshape(1, -1), workload.input_codes)
    return row.reshape(x.shape).astype(np.float64)


def _states(workload: Workload, arrays: Arrays) -> tuple[np.ndarray, ...]:
    """(x W^T + b for every step, R^T, b of the state's product, first state), float64."""
    wide = {name: array.astype(np.float64) for name, array in arrays.items()}
    d = workload.sizes
    first = wide.get("x1", np.zeros((d["B"], d["K"])))
    x = read_input(workload, arrays)
    gates = x @ wide["weight"].T + wide["bias"][0]
    return gates, wide["recurrent"].T, wide["bias"][1], first


def _gru(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With z, r the logistic gates, n = tanh(Wx + r * (Rh)) or tanh(Wx + R(r * h)).

    h = (1 - z) * n + z * h, as ONNX's GRU defines it with its default activations.
    """
    gates, product, bias, h = _states(workload, arrays)
    k = workload.sizes["K"]
    found = []
    for now in gates:
        seen = h @ product[:, : 2 * k] + bias[: 2 * k]
        z, r = (sigmoid(now[:, at : at + k] + seen[:, at : at + k]) for at in (0, k))
        if workload.parameter("linear_before_reset"):
            inner = r * (h @ product[:, 2 * k :] + bias[2 * k :])
        else:
            inner = (r * h) @ product[:, 2 * k :] + bias[2 * k :]
        h = (1.0 - z) * np.tanh(now[:, 2 * k :] + inner) + z * h
        found.append(h)
    return np.stack(found)


def _lstm(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With i, o, f the logistic gates, c = f * c + i * tanh(g), h = o * tanh(c).

    The last c may stand behind all h.
    """
    gates, product, bias, h = _states(workload, arrays)
    k = workload.sizes["K"]
    c = arrays.get("x2", np.zeros_like(h)).astype(np.float64)
    found = []
    for now in gates:
        seen = coded(h.astype(np.float32), workload.state_codes) if workload.state_codes else h
        total = now + seen @ product + bias
        i, o, f = (sigmoid(total[:, at * k : (at + 1) * k]) for at in range(3))
        c = f * c + i * np.tanh(total[:, 3 * k :])
        if workload.cell_clip:
            c = np.clip(c, -workload.cell_clip, workload.cell_clip)
        h = o * np.tanh(c)
        found.append(h)
    return np.stack([*found, c] if workload.gives_cell else found)


MEANING: Mapping[str, Callable[[Workload, Arrays], np.ndarray]] = {
    "dense": _dense,
    "matmul": _matmul,
    "conv2d": _conv2d,
    "avg_pool2d": _pool2d,
    "max_pool2d": _pool2d,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "add": _add,
    "mul": _mul,
    "function": _function,
    "attention": _attention,
    "gru": _gru,
    "lstm": _lstm,
}
