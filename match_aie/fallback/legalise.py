"""From one Relax operator to a call of a TIR function.

TVM's own lowering serves where it computes what the operator means. The rules here replace it
where it does not: quantisation, bounds of indices, sorting (TVM calls its run-time library).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import tvm
from tvm import relax, te, tirx, topi

from match_aie import tvm_api
from match_aie.fallback import legalise_index
from match_aie.fallback.expressions import INTEGER_POWER, POWER
from match_aie.fallback.legalise_grid import grid_sample
from match_aie.fallback.refusal import Refusal
from match_aie.fallback.scalars import integer_range

#: What TVM's Python and C++ raise for an operator or an attribute value that they do not cover.
LOWERING_ERRORS = (
    tvm.error.InternalError,
    RuntimeError,
    ValueError,
    TypeError,
    AssertionError,
    AttributeError,
    KeyError,
    IndexError,
    NotImplementedError,
)

#: Calls that are in their final form already.
FINAL = frozenset(("call_tir", "call_dps_packed"))

#: Operators whose lowering is known to be wrong, and why they are refused.
KNOWN_WRONG = {
    "multinomial_from_uniform": "its result is random",
    "unique": "the shape of its result depends on run-time values",
    "nonzero": "the shape of its result depends on run-time values",
    "index_put": "nothing keeps its indices within the tensor",
    "index_tensor": "nothing keeps its indices within the tensor",
}

#: Largest and smallest elements of a whole tensor are found by rows that are at least as long, and
#: at most as many. Shorter rows, and floats in more of them, take longer than all elements in one
#: row (up to six times; gcc 12, Zen 4, other programs running), and each row takes memory.
LONG_ROW = 24
MOST_ROWS = 4096

Rule = Callable[[Any, Any], Any]


def has_lowering(call: Any) -> bool:
    """Whether the operator of `call` has a lowering, for some attributes at least."""
    name = tvm_api.operator_name(call)
    known = name in FINAL or name in _RULES
    return name not in KNOWN_WRONG and (known or (name != "" and _default(call) is not None))


def _default(call: Any) -> Any:
    """TVM's own lowering, or None."""
    return call.op.get_attr("FLegalize")


def legalise(builder: Any, call: Any, *, alike: bool = False) -> Any:
    """An expression of TIR calls equal to `call`.

    Args:
        builder: the block builder to emit into.
        call: a normalised call of a Relax operator.
        alike: whether it has to be the same for all sizes but for numbers in it.

    Raises:
        Refusal: there is no lowering, or not one that is known to be right.
    """
    name = tvm_api.operator_name(call)
    if name in FINAL:
        return call
    if name in KNOWN_WRONG:
        raise Refusal(KNOWN_WRONG[name])
    own = _ALIKE.get(name) if alike else None
    rule = own or _RULES.get(name) or (_default(call) if name else None)
    if rule is None:
        raise Refusal("there is no lowering for it")
    result = rule(builder, call)
    if isinstance(result, tvm_api.CallNode):
        result = builder.normalize(result)
        if tvm_api.operator_name(result) != "call_tir":
            if tvm_api.operator_name(result) == name:
                raise Refusal("there is no lowering for these attributes")
            return legalise(builder, result, alike=alike)
        _require_same_type(call, result)
    return result


def _require_same_type(call: Any, lowered: Any) -> None:
    """Some lowerings compute another element type than the operator promises."""
    pairs = [(call.ty, lowered.ty)]
    if isinstance(call.ty, relax.TupleType) and isinstance(lowered.ty, relax.TupleType):
        pairs = list(zip(call.ty.fields, lowered.ty.fields, strict=True))
    for promised, made in pairs:
        same = isinstance(made, relax.TensorType) and str(promised.dtype) == str(made.dtype)
        if not same or [int(s) for s in promised.shape] != [int(s) for s in made.shape]:
            raise Refusal(f"TVM lowers it to {made}, not {promised}")


def scalar(expr: Any) -> Any:
    """A constant of one element as an immediate; anything else unchanged."""
    if not tvm_api.is_constant(expr) or tvm_api.constant_value(expr).size != 1:
        return expr
    value = tvm_api.constant_value(expr).reshape(()).item()
    dtype = tvm_api.dtype_of(expr)
    if dtype.startswith("float"):
        return tirx.FloatImm(dtype, value)
    return tirx.IntImm(dtype, value)


def _parameter_at(value: Any, indices: Any, axis: int) -> Any:
    """A quantisation parameter for the element at `indices`."""
    if not isinstance(value, te.Tensor):
        return value
    if len(value.shape) == 0:
        return value()
    single = len(value.shape) == 1 and int(value.shape[0]) == 1
    return value[0] if single else value[indices[axis]]


def _quantize(builder: Any, call: Any) -> Any:
    """clip(rint(x / scale) + zero_point), in float32: what ONNX Runtime computes."""
    axis, dtype = int(call.attrs.axis), tvm_api.dtype_of(call)
    low, high = integer_range(dtype) if "int" in dtype else (0, 0)
    if "int" not in dtype:
        raise Refusal(f"quantisation to {dtype}")

    def compute(data: Any, scale: Any, zero: Any) -> Any:
        def element(*indices: Any) -> Any:
            step = _parameter_at(scale, indices, axis).astype("float32")
            offset = _parameter_at(zero, indices, axis).astype("float32")
            value = te.round(data[indices].astype("float32") / step) + offset
            if high < 2**16:
                value = te.max(te.min(value, tirx.FloatImm("float32", high)), _float(low))
            return value.astype(dtype)

        return te.compute(data.shape, element, name="quantize")

    args = (call.args[0], scalar(call.args[1]), scalar(call.args[2]))
    return builder.call_te(compute, *args, primfunc_name_hint="quantize")


def _float(value: float) -> Any:
    return tirx.FloatImm("float32", value)


def _dequantize(builder: Any, call: Any) -> Any:
    """float32(x - zero_point) * scale."""
    axis, dtype = int(call.attrs.axis), tvm_api.dtype_of(call)
    if tvm_api.dtype_of(call.args[0]) not in ("int8", "uint8", "int16", "uint16", "int32"):
        raise Refusal(f"dequantisation of {tvm_api.dtype_of(call.args[0])}")

    def compute(data: Any, scale: Any, zero: Any) -> Any:
        def element(*indices: Any) -> Any:
            offset = _parameter_at(zero, indices, axis).astype("int32")
            step = _parameter_at(scale, indices, axis).astype("float32")
            whole = data[indices].astype("int32") - offset
            return (whole.astype("float32") * step).astype(dtype)

        return te.compute(data.shape, element, name="dequantize")

    args = (call.args[0], scalar(call.args[1]), scalar(call.args[2]))
    return builder.call_te(compute, *args, primfunc_name_hint="dequantize")


def _sign(builder: Any, call: Any) -> Any:
    """-1, 0 or 1; NaN of NaN."""
    dtype = tvm_api.dtype_of(call)
    least = 0 if dtype.startswith("uint") else -1
    zero, one, minus = (tirx.const(value, dtype) for value in (0, 1, least))

    def compute(x: Any) -> Any:
        def element(*at: Any) -> Any:
            v = x(*at)
            same = v if dtype.startswith("float") else zero  # what compares with nothing is NaN
            rest = tirx.Select(tirx.EQ(v, zero), zero, same)
            return tirx.Select(v > zero, one, tirx.Select(v < zero, minus, rest))

        return te.compute(x.shape, element, name="sign")

    return builder.call_te(compute, call.args[0], primfunc_name_hint="sign")


def _broadcast_at(tensor: Any, indices: Any) -> Any:
    """The element of `tensor` that numpy's broadcasting reads for the result at `indices`."""
    own = indices[len(indices) - len(tensor.shape) :]
    return tensor(*(0 if int(n) == 1 else i for n, i in zip(tensor.shape, own, strict=True)))


def _reduced(kind: str, *, rows: bool = True) -> Rule:
    """Largest or smallest along axes; TVM starts from the largest finite float.

    Of a whole tensor by rows where they are long and few, unless `rows` is False.
    """

    def rule(builder: Any, call: Any) -> Any:
        axes = _axes(call)
        shape = call.ty.shape.values

        def compute(data: Any) -> Any:
            left = axes
            if rows and len(axes) == len(data.shape) and _long_rows(data.shape):
                # Rows first, which go side by side: of equals and of NaN the same one is found.
                data, left = _extreme(data, axes[-1:], kind), axes[:-1]
            best = _extreme(data, left, kind)
            return topi.reshape(best, shape) if call.attrs.keepdims else best

        return builder.call_te(compute, call.args[0], primfunc_name_hint=kind)

    return rule


def _long_rows(shape: Any) -> bool:
    """Whether a tensor has few long rows."""
    sizes = [int(size) for size in shape]
    return len(sizes) > 1 and sizes[-1] >= LONG_ROW and prod(sizes[:-1]) <= MOST_ROWS


def _axes(call: Any) -> list[int]:
    """Reduced axes of a call, counted from the start, in order."""
    rank = len(call.args[0].ty.shape)
    axes = call.attrs.axis
    if axes is None:
        return list(range(rank))
    given = [axes] if isinstance(axes, int | tirx.IntImm) else list(axes)
    return sorted({int(axis) % rank for axis in given})


def _extreme(data: Any, axes: list[int], kind: str) -> Any:
    """The largest ("max") or smallest ("min") element along `axes`."""
    start = {"max": "-inf", "min": "inf"}[kind]

    def identity(dtype: Any) -> Any:
        if str(dtype).startswith("float"):
            return tirx.FloatImm(str(dtype), float(start))
        return tirx.min_value(dtype) if kind == "max" else tirx.max_value(dtype)

    better = tirx.max if kind == "max" else tirx.min
    reducer = te.comm_reducer(lambda a, b: better(a, b), identity, name=kind)
    inner = [te.reduce_axis((0, data.shape[axis]), name=f"k{axis}") for axis in axes]
    kept = [size for axis, size in enumerate(data.shape) if axis not in axes]

    def element(*outer: Any) -> Any:
        indices = list(outer)
        for axis, var in zip(axes, inner, strict=True):
            indices.insert(axis, var)
        return reducer(data(*indices), axis=inner)

    return te.compute(kept, element, name=kind)


def _arg_extreme(kind: str) -> Rule:
    """Index of the first largest or smallest element."""

    def rule(builder: Any, call: Any) -> Any:
        axes = _axes(call)
        dtype, shape = tvm_api.dtype_of(call), call.ty.shape.values

        def compute(data: Any) -> Any:
            axis = axes[0]
            if len(axes) == len(data.shape):
                data, axis = topi.reshape(data, [prod(int(n) for n in data.shape)]), 0
            best = _extreme(data, [axis], kind)
            size = data.shape[axis]
            step = te.reduce_axis((0, size), name="j")

            def element(*outer: Any) -> Any:
                here = data(*outer[:axis], step, *outer[axis:])
                index = tirx.Select(tirx.EQ(here, best(*outer)), step.var, size - 1)
                return te.min(index.astype(dtype), axis=step)

            found = te.compute(best.shape, element, name=f"arg{kind}")
            return topi.reshape(found, shape) if call.attrs.keepdims else found

        return builder.call_te(compute, call.args[0], primfunc_name_hint=f"arg{kind}")

    return rule


def _power(builder: Any, call: Any) -> Any:
    """Powers; those of integers are exact and wrap (TVM has them for floats only, and warns)."""
    dtype, shape = tvm_api.dtype_of(call), call.ty.shape.values
    function = POWER if dtype.startswith("float") else INTEGER_POWER

    def compute(a: Any, b: Any) -> Any:
        def element(*indices: Any) -> Any:
            operands = [_broadcast_at(x, indices) for x in (a, b)]
            return tirx.call_pure_extern(dtype, function, *operands)

        return te.compute(shape, element, name="power")

    return builder.call_te(compute, *call.args, primfunc_name_hint="power")


def _with_divisors_sign(a: Any, b: Any) -> Any:
    """The remainder that has the sign of the divisor."""
    rest, zero = tirx.fmod(a, b), tirx.FloatImm(str(a.ty.dtype), 0.0)
    other = tirx.NE(tirx.LT(rest, zero), tirx.LT(b, zero))
    return tirx.Select(tirx.all(tirx.NE(rest, zero), other), rest + b, rest)


def _remainder(function: Callable[[Any, Any], Any]) -> Rule:
    """Remainders of floats by C's `fmod`, which is exact (TVM's x - floor(x / y) * y rounds)."""

    def rule(builder: Any, call: Any) -> Any:
        shape = call.ty.shape.values
        if tvm_api.dtype_of(call) not in ("float32", "float64"):
            return _default(call)(builder, call)

        def compute(a: Any, b: Any) -> Any:
            def element(*indices: Any) -> Any:
                return function(*(_broadcast_at(x, indices) for x in (a, b)))

            return te.compute(shape, element, name="remainder")

        return builder.call_te(compute, *call.args, primfunc_name_hint="remainder")

    return rule


def _compared(function: Callable[[Any, Any], Any]) -> Rule:
    """A comparison that TVM's analyzer does not decide without looking at the numbers.

    It decides `x == -2147483648`, whatever x is, and `x == x`, which no NaN is. Operands that are
    tensors of their own hide both from it.
    """

    def rule(builder: Any, call: Any) -> Any:
        a, b = call.args
        smallest = integer_range("int32")[0]
        least = any(getattr(scalar(part), "value", None) == smallest for part in (a, b))
        same = a.same_as(b) and "float" in tvm_api.dtype_of(a)
        if not least and not same:
            return _default(call)(builder, call)
        return builder.call_te(function, a, b, primfunc_name_hint=function.__name__)

    return rule


def _kept(function: Callable[[Any, Any], Any], places: Sequence[int]) -> Rule:
    """An operation on floats whose constant operand, if it is 0, is read as any other tensor.

    TVM makes 0 of `x * 0` and of `0 / x`, which are NaN where x is infinite, NaN or 0.

    Args:
        function: TVM's own.
        places: where a 0 would be dropped.
    """

    def rule(builder: Any, call: Any) -> Any:
        zero = any(getattr(scalar(call.args[place]), "value", None) == 0 for place in places)
        if not zero or "float" not in tvm_api.dtype_of(call):
            return _default(call)(builder, call)
        return builder.call_te(function, *call.args, primfunc_name_hint=function.__name__)

    return rule


_RULES: dict[str, Rule] = {
    "multiply": _kept(topi.multiply, (0, 1)),
    "divide": _kept(topi.divide, (0,)),
    "equal": _compared(topi.equal),
    "not_equal": _compared(topi.not_equal),
    "less_equal": _compared(topi.less_equal),
    "greater_equal": _compared(topi.greater_equal),
    "mod": _remainder(tirx.fmod),
    "floor_mod": _remainder(_with_divisors_sign),
    "quantize": _quantize,
    "dequantize": _dequantize,
    "sign": _sign,
    "power": _power,
    "max": _reduced("max"),
    "min": _reduced("min"),
    "argmax": _arg_extreme("max"),
    "argmin": _arg_extreme("min"),
    "image.grid_sample": grid_sample(lambda builder, call: _default(call)(builder, call)),
    **legalise_index.RULES,
}

#: Instead of them, where functions have to be the same for all sizes.
_ALIKE: dict[str, Rule] = {kind: _reduced(kind, rows=False) for kind in ("max", "min")}
