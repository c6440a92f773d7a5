"""The canonical quantised form: integers move, floats compute only between dequantize and quantize.

Every rewrite here is exact, because quantisation is monotone and element-wise:
`quantize(relu(v)) == clip(quantize(v), zero_point, max)`, and moving elements commutes with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import MOVEMENT, per_tensor, quantize_array
from match_aie.frontend.canonical.pieces import bounds_of_part
from match_aie.frontend.rebuild import Emitter, Expr
from match_aie.hardware import AVG_POOL_HALF_AWAY

#: What gives elements of its first argument: all of them, some, or some more than once.
TAKEN = frozenset(
    "nn.max_pool1d nn.max_pool2d strided_slice take tile repeat flip broadcast_to "
    "image.resize2d".split()
)
#: Element types of activations.
_STORED = ("int8", "uint8", "int16", "uint16")
_WINDOW = ("pool_size", "strides", "padding", "dilation")


def canonical_quantized(emitter: Emitter, var: Any, value: Expr) -> Expr:
    """The visit function of this pass."""
    operator = tvm_api.operator_name(value)
    if operator == "quantize" and per_tensor(value):
        return _quantize(emitter, value)
    if operator in (*MOVEMENT, "strided_slice", "take") and _takes_only(operator, value):
        return _dequantize_behind(emitter, value)
    if isinstance(value, relax.TupleGetItem):
        return _part(emitter, value)
    if operator == "clip" and str(value.args[0].ty.dtype) in _STORED:
        return _clip(emitter, value.args[0], *clip_bounds(value))
    if operator == "astype" and tvm_api.is_tensor(var):
        return _integer_average_pool(emitter, value, tvm_api.dtype_of(var))
    return value


def same_parameters(left: Any, right: Any) -> bool:
    """Whether two per-tensor (de)quantize calls use equal scales and zero points."""
    return (
        per_tensor(left)
        and per_tensor(right)
        and all(
            tvm_api.constant_value(a).item() == tvm_api.constant_value(b).item()
            for a, b in zip(left.args[1:], right.args[1:], strict=True)
        )
    )


def clip_bounds(call: Any) -> tuple[float, float]:
    """The two scalar bounds of a `clip` call."""
    low, high = (arg.value if hasattr(arg, "value") else arg for arg in call.args[1:3])
    return float(low), float(high)


def _quantize(emitter: Emitter, call: Any) -> Expr:
    """Quantize of an activation, a movement or a dequantize: done on the integers instead.

    A movement goes behind the quantize, so that what computes its elements stands beside it.
    """
    dtype = str(call.attrs.out_dtype)
    inner = emitter.definition(call.args[0])
    operator = tvm_api.operator_name(inner)
    if operator == "dequantize" and same_parameters(inner, call):
        return inner.args[0] if tvm_api.dtype_of(inner.args[0]) == dtype else call
    if operator in MOVEMENT:
        return _moved(inner, _quantized_like(emitter, inner.args[0], call))
    if operator in TAKEN and _takes_only(operator, inner):
        source = emitter.definition(inner.args[0])
        if _undone(source, call):
            return _moved(inner, source.args[0])
    if operator == "concat" and isinstance(inner.args[0], relax.Tuple):
        fields = list(inner.args[0].fields)
        if any(_stored(emitter.definition(field)) for field in fields):
            joined = [_quantized_like(emitter, field, call) for field in fields]
            return relax.op.concat(joined, axis=int(inner.attrs.axis or 0))
    limits = _activation(inner, operator)
    if limits is None or dtype not in _STORED:
        return call
    data, low, high = limits
    bounds = quantize_array(
        np.array([low, high], np.float32),
        tvm_api.constant_value(call.args[1]),
        tvm_api.constant_value(call.args[2]),
        0,
        dtype,
    )
    # The activation's own input may be an activation again: relu(clip(x)).
    quantized = _quantized_like(emitter, data, call)
    return _clip(emitter, quantized, float(bounds[0]), float(bounds[1]))


def _takes_only(operator: str, call: Any) -> bool:
    """Whether each element of the result is one of the data, as it is.

    A resize may compute. A take may give NaN for places that do not exist, which no integer is.
    """
    if operator == "take":
        return str(call.attrs.mode) != "nan"
    if operator != "image.resize2d":
        return True
    plain = str(call.attrs.out_dtype) in ("", "void", "None")
    return plain and str(call.attrs.method) == "nearest_neighbor"


def _part(emitter: Emitter, item: Any) -> Expr:
    """A part of a split of dequantized activations is a slice, which works on the integers."""
    split = emitter.definition(item.tuple_value)
    if tvm_api.operator_name(split) != "split":
        return item
    source = emitter.definition(split.args[0])
    if tvm_api.operator_name(source) != "dequantize":
        return item
    axis, begin, end = bounds_of_part(split, item.index)
    return _dequantize_behind(
        emitter, relax.op.strided_slice(split.args[0], [axis], [begin], [end])
    )


def _moved(call: Any, data: Expr) -> Expr:
    """`call`, which takes its elements from its first argument, of `data` instead."""
    return relax.Call(call.op, [data, *call.args[1:]], call.attrs, call.ty_args)


def _dequantize_behind(emitter: Emitter, call: Any) -> Expr:
    """A movement or slice of dequantized activations: of the integers, which meet who reads them.

    Constants keep theirs, which are folded.
    """
    source = emitter.definition(call.args[0])
    if not _stored(source):
        return call
    moved = emitter.emit(_moved(call, source.args[0]))
    real = tvm_api.dtype_of(source)
    return relax.op.dequantize(moved, *source.args[1:], axis=0, out_dtype=real)


def _undone(source: Any, call: Any) -> bool:
    """Whether the quantize `call` gives back what the call `source` dequantizes."""
    return (
        tvm_api.operator_name(source) == "dequantize"
        and same_parameters(source, call)
        and tvm_api.dtype_of(source.args[0]) == str(call.attrs.out_dtype)
    )


def _stored(source: Any) -> bool:
    """Whether a call dequantizes an activation of few bits: to quantize it is a table at most."""
    return (
        tvm_api.operator_name(source) == "dequantize"
        and per_tensor(source)
        and not tvm_api.is_constant(source.args[0])
        and tvm_api.dtype_of(source.args[0]) in _STORED
    )


def _quantized_like(emitter: Emitter, data: Expr, call: Any) -> Expr:
    """`data` quantized as the quantize `call` does it."""
    dtype = str(call.attrs.out_dtype)
    plain = relax.op.quantize(data, call.args[1], call.args[2], axis=0, out_dtype=dtype)
    return emitter.emit(_quantize(emitter, emitter.typed(plain)))


def _activation(inner: Any, operator: str) -> tuple[Expr, float, float] | None:
    """(input, low, high) of a ReLU, a clip, or a maximum/minimum with a scalar; else None."""
    if operator == "nn.relu":
        return inner.args[0], 0.0, np.inf
    if operator == "nn.relu6":
        return inner.args[0], 0.0, 6.0
    if operator == "clip":
        return inner.args[0], *clip_bounds(inner)
    if operator in ("maximum", "minimum"):
        for data, bound in (inner.args, list(inner.args)[::-1]):
            if tvm_api.is_constant(bound) and tvm_api.constant_value(bound).size == 1:
                if len(tvm_api.shape_of(bound)) > len(tvm_api.shape_of(data)):
                    continue
                limit = float(tvm_api.constant_value(bound).item())
                return (data, limit, np.inf) if operator == "maximum" else (data, -np.inf, limit)
    return None


def _clip(emitter: Emitter, data: Expr, low: float, high: float) -> Expr:
    """Integer clip of `data`, merged with a clip below it, dropped where it does nothing."""
    info = np.iinfo(tvm_api.dtype_of(data))
    low, high = max(low, float(info.min)), min(high, float(info.max))
    inner = emitter.definition(data)
    if tvm_api.operator_name(inner) == "clip":
        below = clip_bounds(inner)
        if below[0] <= below[1]:
            # clip(clip(x, a, b), c, d) is clip(x, max(a, c), min(b, d)) unless the ranges miss.
            merged = min(max(below[0], low), high), max(min(below[1], high), low)
            return _clip(emitter, inner.args[0], *merged)
    if (low, high) == (info.min, info.max):
        return data
    return relax.op.clip(data, low, high)


def _integer_average_pool(emitter: Emitter, call: Any, dtype: str) -> Expr:
    """TFLite's pool, imported as astype(avg_pool2d(astype(x, int32)), int8), which truncates."""
    pool = emitter.definition(call.args[0])
    if tvm_api.operator_name(pool) != "nn.avg_pool2d":
        return call
    widen = emitter.definition(pool.args[0])
    if tvm_api.operator_name(widen) != "astype" or tvm_api.dtype_of(widen) != "int32":
        return call
    data = widen.args[0]
    if dtype not in ("int8", "uint8") or tvm_api.dtype_of(data) != dtype:
        return call
    if pool.attrs.layout != "NHWC":
        return call
    function = half_away_pool(tvm_api.attributes(pool.attrs), data)
    var = emitter.builder.add_func(function, f"avg_pool2d_half_away_{len(emitter.definitions)}")
    return relax.Call(var, [data])


def half_away_pool(attributes: Mapping[str, Any], data: Any, zero_point: int = 0) -> Any:
    """The composite: mean over the positions inside the image, rounded half away from zero.

    Args:
        attributes: of the pool: pool_size, strides, padding, dilation, ceil_mode.
        data: the tensor, int8 or uint8, NHWC.
        zero_point: the integer from which halves are rounded away.

    TFLite's integer kernels divide the sum with that rounding. In float32 the quotient is exact
    enough: sums stay below 2**24, and no quotient that is not a tie lies within a rounding error
    of one (their distance is at least 1 / (2 * positions)).
    """
    dtype = tvm_api.dtype_of(data)
    x = relax.Var("x", relax.TensorType(tvm_api.shape_of(data), dtype))
    builder = relax.BlockBuilder()
    window = {name: [int(v) for v in attributes[name]] for name in _WINDOW}
    ceil_mode, zero = bool(attributes["ceil_mode"]), relax.const(zero_point, "float32")
    told = {**window, "ceil_mode": int(ceil_mode), "zero_point": zero_point}
    with builder.function(
        "pool", [x], attrs={"Composite": AVG_POOL_HALF_AWAY, **told}, private=True
    ):
        with builder.dataflow():
            real = builder.emit(relax.op.astype(x, "float32"))
            real = builder.emit(relax.op.subtract(real, zero)) if zero_point else real
            mean = builder.emit(
                relax.op.nn.avg_pool2d(
                    real,
                    **window,
                    ceil_mode=ceil_mode,
                    layout="NHWC",
                    count_include_pad=False,
                )
            )
            size = builder.emit(
                relax.op.floor(relax.op.add(relax.op.abs(mean), relax.const(0.5, "float32")))
            )
            signed = builder.emit(relax.op.multiply(size, relax.op.sign(mean)))
            signed = builder.emit(relax.op.add(signed, zero)) if zero_point else signed
            output = builder.emit_output(relax.op.astype(signed, dtype))
        builder.emit_func_output(output)
    return builder.get()["pool"]
