"""What every workload means, exactly: the numpy reference that emitted code must equal.

Integers are exact. Tails with a `shift` are integers throughout, see `match_aie.workload.fixed`.
All real arithmetic is float32 with one rounding per operation, in the order
written here (IEEE 754, round to nearest even, no contraction), which is the order in which ONNX
Runtime's integer kernels work. `rint` rounds halves to even. In formulas below `z` is a zero
point and `s` a scale of the operand named by the letter after it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from match_aie.errors import ModelError, OptionError
from match_aie.workload.analog import converted_sums
from match_aie.workload.attention import attended, attention_layers
from match_aie.workload.byte_norm import norm_steps
from match_aie.workload.fixed import requantise_fixed, requantise_pair
from match_aie.workload.fixed_norm import NormNumbers, norm_rows
from match_aie.workload.fixed_softmax import softmax_rows
from match_aie.workload.real_reference import MEANING
from match_aie.workload.recurrent_int8 import rounded_meaning
from match_aie.workload.rounded_sums import rounded_integers, turns_of
from match_aie.workload.stored import saturate, sums_of
from match_aie.workload.workload import Operand, Tail, Workload

Arrays = Mapping[str, np.ndarray]

#: Integers up to here, and sums of them, are exact in float64.
_EXACT_FLOAT64 = 1 << 53
_INT32 = np.iinfo(np.int32)


def reference(
    workload: Workload, inputs: Sequence[np.ndarray], constants: Arrays | None = None
) -> np.ndarray:
    """The output of `workload`: bit for bit for integers and bfloat16, else see `real_reference`.

    Args:
        workload: the layer.
        inputs: one array per `workload.inputs`, of its shape and dtype.
        constants: an array per `workload.constants` by name, of its shape and dtype (not packed).

    Returns:
        An array of the shape and dtype of `workload.output`.

    Raises:
        OptionError: an array is missing or does not fit its operand.
        ModelError: a sum leaves the int32 range, or the workload asks for what has no meaning.
    """
    if len(inputs) != len(workload.inputs):
        raise OptionError(f"{len(inputs)} input arrays for {len(workload.inputs)} inputs")
    arrays = dict(constants or {})
    arrays.update(zip((o.name for o in workload.inputs), inputs, strict=True))
    for operand in workload.operands[:-1]:
        _check(operand, arrays)
    if workload.rounded:
        return rounded_meaning(workload, arrays)
    if workload.real is not None:
        return np.ascontiguousarray(MEANING[workload.kind](workload, arrays), np.float32)
    result = sums_of(_MEANING[workload.kind](workload, arrays), workload, arrays)
    return np.ascontiguousarray(result.astype(workload.output.dtype))


def softmax_table(scale: float) -> np.ndarray:
    """exp(-d * scale) for d = 0 .. 255 as float32[256]: the constant "table" of a softmax."""
    return np.array([math.exp(-d * scale) for d in range(256)], dtype=np.float32)


def accumulator_bound(workload: Workload, constants: Arrays) -> int:
    """Largest magnitude of any partial sum of a kind that multiplies, over all inputs."""
    x = workload.operand("x")
    low, high = _centred_range(x)
    if workload.kind == "matmul":
        most = max(abs(v) for v in _centred_range(workload.operand("x1")))
        return workload.sizes["C"] * max(-low, high) * most
    if workload.kind == "attention":
        return max(accumulator_bound(each, {}) for each in attention_layers(workload)[::2])
    weight = _centred(workload, constants, "weight")
    products = np.stack([weight * low, weight * high]).reshape(2, len(weight), -1)
    bias = _bias(constants)
    above = np.maximum(products.max(axis=0), 0).sum(axis=1) + np.maximum(bias, 0)
    below = np.minimum(products.min(axis=0), 0).sum(axis=1) + np.minimum(bias, 0)
    return int(max(above.max(), -below.min()))


def _centred_range(operand: Operand) -> tuple[int, int]:
    info = np.iinfo(operand.dtype)
    return int(info.min) - operand.zero_point, int(info.max) - operand.zero_point


def _check(operand: Operand, arrays: Arrays) -> None:
    array = arrays.get(operand.name)
    if array is None:
        raise OptionError(f"no array for operand {operand.name!r}")
    if array.shape != operand.shape or array.dtype.name != operand.dtype:
        raise OptionError(
            f"operand {operand.name!r} is {operand.dtype}{list(operand.shape)}, "
            f"the array given is {array.dtype.name}{list(array.shape)}"
        )


def _tail(workload: Workload) -> Tail:
    if workload.tail is None:
        raise ModelError(f"a {workload.kind} needs a tail: it stores integers")
    return workload.tail


def _scale(operand: Operand) -> np.float32:
    if operand.scale is None:
        raise ModelError(f"operand {operand.name!r} needs a per-tensor scale")
    return np.float32(operand.scale)


def _centred(workload: Workload, arrays: Arrays, name: str) -> np.ndarray:
    """Operand minus zero point, int64."""
    return arrays[name].astype(np.int64) - workload.operand(name).zero_point


def _requantise(acc: np.ndarray, workload: Workload, arrays: Arrays) -> np.ndarray:
    """int32 sums [..., channel] to the output: y = saturate(float32(acc) * scale[channel]).

    With a fixed-point tail as in `match_aie.workload.fixed` instead, of sums that pass a converter
    where the layer has one (`match_aie.workload.analog`).
    """
    if acc.size and (acc.min() < _INT32.min or acc.max() > _INT32.max):
        raise ModelError(
            f"a sum of products in a {workload.kind} leaves the int32 range",
            hint="quantise the weights or the bias to a smaller range",
        )
    if workload.tail is None:
        return acc
    if workload.fixed_point:
        return requantise_fixed(converted_sums(acc, workload), workload.tail, arrays)
    return saturate(acc.astype(np.float32) * arrays["scale"], workload.tail)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Matrix product of int64 arrays, exact; through float64 where that is exact (BLAS)."""
    most = int(np.abs(a).max(initial=0)) * int(np.abs(b).max(initial=0)) * a.shape[-1]
    if most < _EXACT_FLOAT64:
        exact = np.matmul(a.astype(np.float64), b.astype(np.float64))
        return np.asarray(exact.astype(np.int64))
    return np.asarray(np.matmul(a, b))


def _taps(workload: Workload, padded: np.ndarray) -> Iterator[tuple[int, int, np.ndarray]]:
    """(fy, fx, what every window sees there: a [B, OY, OX, channel] view of padded NHWC)."""
    window, sizes = workload.window, workload.sizes
    if window is None:
        raise ModelError(f"a {workload.kind} needs a window")
    (sy, sx), (dy, dx) = window.stride, window.dilation
    rows, columns = (sizes["OY"] - 1) * sy + 1, (sizes["OX"] - 1) * sx + 1
    for fy in range(sizes["FY"]):
        for fx in range(sizes["FX"]):
            top, left = fy * dy, fx * dx
            yield fy, fx, padded[:, top : top + rows : sy, left : left + columns : sx]


def _pad(workload: Workload, x: np.ndarray, value: int) -> np.ndarray:
    top, left, bottom, right = workload.window.padding if workload.window else (0, 0, 0, 0)
    return np.pad(x, ((0, 0), (top, bottom), (left, right), (0, 0)), constant_values=value)


def _conv2d(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With acc = sum((x - zx) * w) + bias; padding means zx and adds nothing."""
    d = workload.sizes
    x = _pad(workload, _centred(workload, arrays, "x"), 0)
    weight = _centred(workload, arrays, "weight")
    weight = weight.reshape(d["G"], d["K"], d["FY"], d["FX"], d["C"])
    pixels = d["B"] * d["OY"] * d["OX"]
    acc = np.zeros((d["G"], pixels, d["K"]), np.int64)
    for fy, fx, seen in _taps(workload, x):
        columns = seen.reshape(pixels, d["G"], d["C"]).transpose(1, 0, 2)
        acc += _product(columns, weight[:, :, fy, fx].transpose(0, 2, 1))
    channels_last = acc.transpose(1, 0, 2).reshape(workload.output.shape)
    return _requantise(channels_last + _bias(arrays), workload, arrays)


def _conv2d_transpose(workload: Workload, arrays: Arrays) -> np.ndarray:
    """Every input adds its product with the filter to the outputs that it reaches."""
    window, x = workload.window, _centred(workload, arrays, "x")
    if window is None:
        raise ModelError(f"a {workload.kind} needs a window")
    weight = arrays["weight"].astype(np.int64)
    (sy, sx), (top, left, *_) = window.stride, window.padding
    batch, rows, columns, channels = x.shape
    _, high, wide, _ = workload.output.shape
    filters, fy, fx, _ = weight.shape
    reach = max((rows - 1) * sy + fy, top + high), max((columns - 1) * sx + fx, left + wide)
    acc = np.zeros((batch, *reach, filters), np.int64)
    pixels = x.reshape(-1, channels)
    for row, column in np.ndindex(fy, fx):
        product = _product(pixels, weight[:, row, column].T)
        here = slice(row, row + rows * sy, sy), slice(column, column + columns * sx, sx)
        acc[:, here[0], here[1]] += product.reshape(batch, rows, columns, filters)
    kept = acc[:, top : top + high, left : left + wide]
    return _requantise(kept + _bias(arrays), workload, arrays)


def _bias(arrays: Arrays) -> np.ndarray:
    """The bias, int64; 0 where a fixed-point offset holds it."""
    return arrays["bias"].astype(np.int64) if "bias" in arrays else np.zeros(1, np.int64)


def _dense(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With acc = sum((x - zx) * w) + bias; or with sums that are rounded (`rounded_sums`)."""
    turns = turns_of(workload)
    if turns is not None:
        return rounded_integers(workload, turns, arrays)
    acc = _product(_centred(workload, arrays, "x"), _centred(workload, arrays, "weight").T)
    return _requantise(acc + _bias(arrays), workload, arrays)


def _matmul(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With acc = sum((x - zx) * (x1 - zx1))."""
    acc = _product(_centred(workload, arrays, "x"), _centred(workload, arrays, "x1"))
    return _requantise(acc, workload, arrays)


def _real(workload: Workload, arrays: Arrays, name: str) -> np.ndarray:
    """float32(x - zx) * sx."""
    steps = _centred(workload, arrays, name).astype(np.float32)
    return np.asarray(steps * _scale(workload.operand(name)))


def _add(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With y = saturate((real(x) + real(x1)) / sy).

    In fixed point t = (x - zx) * multiplier[0] + (x1 - zx1) * multiplier[1] + offset.
    """
    if workload.fixed_point:
        pair = _centred(workload, arrays, "x"), _centred(workload, arrays, "x1")
        return requantise_pair(*pair, _tail(workload), arrays)
    real = _real(workload, arrays, "x") + _real(workload, arrays, "x1")
    return saturate(real / _scale(workload.output), _tail(workload))


def _mul(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With y = saturate((real(x) * real(x1)) / sy); in fixed point acc = (x - zx) * (x1 - zx1)."""
    if workload.fixed_point:
        acc = _centred(workload, arrays, "x") * _centred(workload, arrays, "x1")
        return _requantise(acc, workload, arrays)
    real = _real(workload, arrays, "x") * _real(workload, arrays, "x1")
    return saturate(real / _scale(workload.output), _tail(workload))


def _counted(workload: Workload, x: np.ndarray) -> np.ndarray:
    """Positions that each average is over, [1, OY, OX, 1]; at least 1."""
    assert workload.window is not None
    if workload.window.count_include_pad:
        return np.array(workload.sizes["FY"] * workload.sizes["FX"])
    inside = _pad(workload, np.ones_like(x[:1, :, :, :1]), 0)
    return np.maximum(sum(seen for _, _, seen in _taps(workload, inside)), 1)


def average_multiplier(scale_x: np.float32, scale_y: np.float32, counted: np.ndarray) -> np.ndarray:
    """float32 factor from a sum of input steps to output steps: sx / (sy * counted)."""
    return np.asarray(scale_x / (scale_y * counted.astype(np.float32)))


def whole_image(workload: Workload) -> bool:
    """Whether a pool has one window, which is the image: then ONNX calls it global."""
    _, rows, columns, _ = workload.operand("x").shape
    window, d = workload.window, workload.sizes
    return (
        window is not None
        and (d["OY"], d["OX"], d["FY"], d["FX"]) == (1, 1, rows, columns)
        and (window.padding[:2], window.dilation) == ((0, 0), (1, 1))
    )


def _avg_pool2d(workload: Workload, arrays: Arrays) -> np.ndarray:
    """The average over a window, in one of four arithmetics.

    half_even, over the whole image: y = saturate(float32(sum(x - zx)) * (sx / (sy * counted))),
    bit for bit what ONNX Runtime's QLinearGlobalAveragePool does. half_even, over a sliding
    window: float32 sums of real values, see `_float_average`. half_away: sum(x - zx) / counted in
    integers, rounded half away from 0, both sides of one quantisation (TensorFlow Lite, whose
    zero point here is 0 for int8 and would be 128 for the same in uint8). A window that lies
    entirely in padding that does not count averages to real 0.

    In fixed point acc = sum(x - zx) over the positions inside the image, and the division is
    the multiplier's.
    """
    tail, x = _tail(workload), workload.operand("x")
    steps = _centred(workload, arrays, "x")
    if workload.fixed_point:
        inside = (seen for _, _, seen in _taps(workload, _pad(workload, steps, 0)))
        return _requantise(np.asarray(sum(inside)), workload, arrays)
    counted = _counted(workload, steps)
    if tail.rounding == "half_even":
        if not whole_image(workload):
            return _float_average(workload, _real(workload, arrays, "x"), counted)
        factor = average_multiplier(_scale(x), _scale(workload.output), counted)
        total = steps.sum(axis=(1, 2), keepdims=True)
        return saturate(total.astype(np.float32) * factor, tail)
    total = np.asarray(sum(seen for _, _, seen in _taps(workload, _pad(workload, steps, 0))))
    away = np.sign(total) * ((np.abs(total) + counted // 2) // counted)
    return np.asarray(np.clip(away + tail.zero_point, tail.lo, tail.hi))


def _float_average(workload: Workload, real: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """With y = saturate((sum / float32(counted)) / sy): down each column in order, then across.

    That is the order of ONNX Runtime's float pool, which runs between the DequantizeLinear and
    QuantizeLinear of an unoptimised model (MLAS reduces over the filter's height first). With one
    scale on both sides averages are often halves, which the order of the sum decides.
    """
    columns: dict[int, np.ndarray] = {}
    for _, fx, seen in _taps(workload, _pad(workload, real, 0)):
        columns[fx] = columns[fx] + seen if fx in columns else seen
    total = np.zeros(workload.output.shape, np.float32)
    for column in columns.values():
        total = total + column
    average = total / counted.astype(np.float32)
    return saturate(average / _scale(workload.output), _tail(workload))


def _max_pool2d(workload: Workload, arrays: Arrays) -> np.ndarray:
    """clip(max over positions inside the image, lo, hi); lo where a window sees none."""
    tail = _tail(workload)
    x = _pad(workload, arrays["x"].astype(np.int64), tail.lo)
    seen = np.stack([view for _, _, view in _taps(workload, x)])
    return np.asarray(np.clip(seen.max(axis=0), tail.lo, tail.hi))


def _softmax(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With e = table[max(x) - x]; y = saturate((e / sum(e)) / sy), the sum in index order.

    In fixed point as `match_aie.workload.fixed_softmax` says.
    """
    if workload.fixed_point:
        multiplier = int(arrays["multiplier"][0])
        return softmax_rows(arrays["x"], arrays["table"], multiplier, _tail(workload))
    x = arrays["x"].astype(np.int64)
    e = arrays["table"][x.max(axis=-1, keepdims=True) - x]
    total = np.add.accumulate(e, axis=-1, dtype=np.float32)[..., -1:]
    return saturate((e / total) / _scale(workload.output), _tail(workload))


def _norm(workload: Workload, arrays: Arrays) -> np.ndarray:
    """In float32 as `byte_norm` says; in fixed point as in `fixed_norm`."""
    if workload.fixed_point:
        numbers = arrays["multiplier"], arrays["offset"]
        return norm_rows(arrays["x"], *numbers, NormNumbers.of(workload), _tail(workload))
    with np.errstate(all="ignore"):
        steps = norm_steps(workload, arrays)
    return saturate(steps, _tail(workload))


def _quantize(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With y = saturate(x / sy)."""
    with np.errstate(over="ignore"):
        steps = arrays["x"] / _scale(workload.output)
    return saturate(steps, _tail(workload))


def _dequantize(workload: Workload, arrays: Arrays) -> np.ndarray:
    """With y = float32(x - zx) * sx."""
    return _real(workload, arrays, "x")


def _permute(workload: Workload, arrays: Arrays) -> np.ndarray:
    """The same elements, with axes in the output's order."""
    order = [axis.terms[0][0] for axis in workload.operand("x").axes]
    return arrays["x"].transpose([order.index(dim) for dim, _ in workload.dims])


def _table(workload: Workload, arrays: Arrays) -> np.ndarray:
    """Entry number x of the table, x as the unsigned integer that its bits are."""
    return np.asarray(arrays["table"][arrays["x"].view(np.uint8)])


_MEANING: dict[str, Callable[[Workload, Arrays], np.ndarray]] = {
    "conv2d": _conv2d,
    "conv2d_transpose": _conv2d_transpose,
    "dense": _dense,
    "matmul": _matmul,
    "add": _add,
    "mul": _mul,
    "avg_pool2d": _avg_pool2d,
    "max_pool2d": _max_pool2d,
    "softmax": _softmax,
    "layer_norm": _norm,
    "rms_norm": _norm,
    "quantize": _quantize,
    "dequantize": _dequantize,
    "permute": _permute,
    "table": _table,
    "attention": lambda workload, arrays: attended(workload, arrays, reference),
}
