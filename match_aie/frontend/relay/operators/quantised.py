"""The qnn dialect, with the integer arithmetic that TVM up to 0.19 lowered it to.

`quantize` and `dequantize` become Relax's own, which patterns know. Everything else is kept in
integers: `requantize` is a multiplication by a 31-bit fraction and a rounding shift, which no
float32 scale reproduces.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from tvm import relax

from match_aie.frontend.relay.fixed_point import multiplier_shift, multiply_shift
from match_aie.frontend.relay.operators.convolution import (
    convolve,
    layouts,
    product,
    transposed_last,
)
from match_aie.frontend.relay.operators.elementwise import cast, clip
from match_aie.frontend.relay.operators.shapes import concatenate
from match_aie.frontend.relay.site import Site, constant, dtype, rank, scalar
from match_aie.frontend.relay.values import Expr, Value

op = relax.op
Rule = Callable[[Site], Value]


def _quantize(site: Site) -> Value:
    x = site.tensor(0)
    scale, zero = site.array(1, "scale"), site.array(2, "zero point")
    return op.quantize(
        x,
        constant(scale.astype(np.float32)),
        constant(zero.astype(np.int32)),
        axis=site.axis(-1, rank(x)),
        out_dtype=site.word("out_dtype", "int8"),
    )


def _dequantize(site: Site) -> Value:
    x = site.tensor(0)
    scale, zero = site.array(1, "scale"), site.array(2, "zero point")
    return op.dequantize(
        x,
        constant(scale.astype(np.float32)),
        constant(zero.astype(np.int32)),
        axis=site.axis(-1, rank(x)),
        out_dtype=site.word("out_dtype", "float32"),
    )


def centred(site: Site, x: Expr, zero: np.ndarray, axis: int) -> Expr:
    """`x` less its zero point in int32; `x` itself where that is 0.

    Args:
        site: of the call.
        x: integers.
        zero: one point, or one for each element of `axis`.
        axis: of `x`.
    """
    if not zero.any():
        return x
    wide = site.emit(cast(x, "int32"))
    if zero.size == 1:
        return site.emit(op.subtract(wide, scalar(int(zero.reshape(-1)[0]), "int32")))
    values = zero.astype(np.int32).reshape([-1 if i == axis else 1 for i in range(rank(x))])
    return site.emit(op.subtract(wide, constant(values)))


def requantize(
    site: Site,
    x: Expr,
    source: tuple[np.ndarray, np.ndarray],
    target: tuple[np.ndarray, np.ndarray],
    axis: int,
    out_dtype: str,
    rounding: str = "UPWARD",
) -> Expr:
    """`x` of one scale and zero point in those of another, in 64-bit fixed point.

    Args:
        site: the call.
        x: integers.
        source: (scales, zero points) of x, [1] or one per element of `axis`.
        target: scale and zero point of the result.
        axis: of x, where there are several.
        out_dtype: of the result, which is saturated to it (int32 is not).
        rounding: see `multiply_shift`.
    """
    scales, zeros = source[0].reshape(-1).astype(np.float32), source[1].reshape(-1)
    scale, zero = np.float32(target[0].reshape(-1)[0]), int(target[1].reshape(-1)[0])
    value = site.emit(cast(centred(site, x, zeros, axis), "int32"))
    if scales.size > 1 or scales[0] != scale:
        pairs = [multiplier_shift(float(s) / float(scale)) for s in scales]
        shifts = np.array([shift for _, shift in pairs], np.int64)
        multipliers = np.array([multiplier for multiplier, _ in pairs], np.int64)
        left, right = np.maximum(shifts, 0), np.maximum(-shifts, 0)
        value = site.emit(multiply_shift(site, value, multipliers, left, right, axis, rounding))
    if zero:
        value = site.emit(op.add(value, scalar(zero, "int32")))
    return saturated(site, value, out_dtype)


def saturated(site: Site, x: Expr, wanted: str) -> Expr:
    """int32 `x` cut to the range of `wanted`, in that type."""
    if wanted == "int32":
        return x
    info = np.iinfo(wanted)
    return cast(site.emit(clip(site, x, info.min, info.max)), wanted)


def _requantize(site: Site) -> Value:
    x = site.tensor(0)
    names = ("input scale", "input zero point", "output scale", "output zero point")
    scale, zero, out_scale, out_zero = (site.array(i, n) for i, n in enumerate(names, 1))
    axis = site.axis(-1, rank(x))
    rounding = site.word("rounding", "None")
    compute = site.word("compute_dtype", "None")
    if rounding not in ("None", "UPWARD", "TONEAREST"):
        raise site.error(f"rounding {rounding!r} is not known")
    if rounding == "None":
        rounding = "UPWARD"
    wanted = site.word("out_dtype", "int8")
    if compute in ("None", "int64"):
        return requantize(site, x, (scale, zero), (out_scale, out_zero), axis, wanted, rounding)
    if compute not in ("float32", "float64"):
        raise site.error(f"compute_dtype {compute!r} is not known")
    return _real_requantize(site, x, (scale, zero, out_scale, out_zero), axis, wanted, rounding)


def _real_requantize(
    site: Site, x: Expr, numbers: tuple[np.ndarray, ...], axis: int, wanted: str, rounding: str
) -> Expr:
    """The same in floating point, as `compute_dtype` asks."""
    scale, zero, out_scale, out_zero = numbers
    kind = site.word("compute_dtype")
    real = site.emit(cast(site.emit(cast(centred(site, x, zero, axis), "int32")), kind))
    factor = scale.reshape(-1).astype(np.float64) / float(out_scale.reshape(-1)[0])
    if scale.size > 1 or factor[0] != 1.0:
        sizes = [-1 if i == axis else 1 for i in range(rank(x))] if factor.size > 1 else []
        real = site.emit(op.multiply(constant(factor.astype(kind).reshape(sizes)), real))
    if rounding == "UPWARD":
        steps = site.emit(op.floor(site.emit(op.add(real, scalar(0.5, kind)))))
    else:
        size = site.emit(op.floor(site.emit(op.add(site.emit(op.abs(real)), scalar(0.5, kind)))))
        steps = site.emit(op.multiply(size, site.emit(op.sign(real))))
    moved = site.emit(op.add(steps, scalar(int(out_zero.reshape(-1)[0]), kind)))
    info = np.iinfo(wanted)
    return cast(site.emit(op.clip(moved, float(info.min), float(info.max))), wanted)


def _factors(site: Site, kernel_axis: int) -> tuple[Expr, Expr]:
    """Data and kernel of a qnn product, less their zero points."""
    x, weight = site.tensor(0), site.tensor(1)
    x_zero = site.array(2, "input zero point")
    w_zero = site.array(3, "kernel zero point")
    if x_zero.size != 1:
        raise site.error("its input has several zero points")
    if dtype(x) == dtype(weight) == "int8" and not x_zero.any() and not w_zero.any():
        return x, weight
    return (
        site.emit(cast(centred(site, x, x_zero, 0), "int32")),
        site.emit(cast(centred(site, weight, w_zero, kernel_axis), "int32")),
    )


def _conv2d(site: Site) -> Value:
    """Sum of (x - zx) * (w - zw) in int32; what pads is zx, which adds nothing."""
    _, kernel, _ = layouts(site, 2)
    x, weight = _factors(site, kernel.index("O"))
    return convolve(site, 2, x, weight, "int32")


def _dense(site: Site) -> Value:
    x, weight = _factors(site, 0)
    return product(site, x, transposed_last(site, weight), "int32")


def _batch_matmul(site: Site) -> Value:
    left, right = _factors(site, 1)
    return product(site, left, transposed_last(site, right), "int32")


Side = tuple[Expr, np.ndarray, np.ndarray, int]


def _operands(site: Site) -> tuple[list[Side], np.ndarray, np.ndarray]:
    """(tensor, scales, zero points, axis) of both inputs; scale and zero point of the result."""
    sides = []
    for index, name in enumerate(("lhs", "rhs")):
        x = site.tensor(index)
        scale = site.array(2 + 2 * index, f"{name} scale")
        zero = site.array(3 + 2 * index, f"{name} zero point")
        sides.append((x, scale, zero, site.axis(-1, rank(x), f"{name}_axis")))
    return sides, site.array(6, "output scale"), site.array(7, "output zero point")


def _sum(sign: int) -> Rule:
    """Both inputs in the result's scale as int32, then their sum or difference."""

    def rule(site: Site) -> Value:
        sides, scale, zero = _operands(site)
        if any(np.size(side[1]) > 1 and rank(side[0]) == 0 for side in sides):
            raise site.error("a scalar has several scales")
        terms = []
        for x, own_scale, own_zero, axis in sides:
            same = own_scale.size == own_zero.size == 1
            if same and own_scale.item() == scale.item() and own_zero.item() == zero.item():
                terms.append(site.emit(cast(x, "int32")))
            else:
                source = (own_scale, own_zero)
                moved = requantize(site, x, source, (scale, zero), axis, "int32")
                terms.append(site.emit(moved))
        offset = int(zero.item())
        total = site.emit(op.add(*terms) if sign > 0 else op.subtract(*terms))
        if offset:
            shift = scalar(-offset if sign > 0 else offset, "int32")
            total = site.emit(op.add(total, shift))
        return saturated(site, total, dtype(sides[0][0]))

    return rule


def _mul(site: Site) -> Value:
    """The product of both less their zero points, requantised from the product of the scales."""
    sides, scale, zero = _operands(site)
    factors = [
        site.emit(cast(centred(site, x, own_zero, axis), "int32")) for x, _, own_zero, axis in sides
    ]
    raw = site.emit(op.multiply(*factors))
    left, right = (side[1].reshape(-1).astype(np.float32) for side in sides)
    axis = sides[0][3] if left.size > 1 else sides[1][3]
    source = (left * right, np.zeros(1, np.int32))
    return requantize(site, raw, source, (scale, zero), axis, dtype(sides[0][0]))


def _concatenate(site: Site) -> Value:
    """Every input in the result's scale, then joined."""
    items, scales, zeros = site.tensors(0), site.arguments[1:2], site.arguments[2:3]
    if not (scales and zeros and isinstance(scales[0], tuple) and isinstance(zeros[0], tuple)):
        raise site.error("its scales and zero points must be tuples")
    scale, zero = site.array(3, "output scale"), site.array(4, "output zero point")
    moved = []
    for x, own_scale, own_zero in zip(items, site.tensors(1), site.tensors(2), strict=True):
        pair = site.known(own_scale, "scale"), site.known(own_zero, "zero point")
        if (pair[0].item(), pair[1].item()) == (scale.item(), zero.item()):
            moved.append(x)
        else:
            value = requantize(site, x, pair, (scale, zero), 0, dtype(x))
            moved.append(site.emit(value))
    return concatenate(site, moved)


def _softmax(site: Site) -> Value:
    """TVM's integer softmax (0.13 to 0.19): powers of two from shifts, a 30-bit reciprocal.

    Algorithm 1 of arXiv 2207.01405, as src/relay/qnn/op/softmax.cc has it.
    """
    x = site.tensor(0)
    step = float(site.array(1, "scale").item())
    zero = site.array(2, "zero point")
    target = (site.array(3, "output scale"), site.array(4, "output zero point"))
    if dtype(x) != "int8" or not 0.0 < step <= 1.0:
        raise site.error(f"an input of {dtype(x)} with scale {step:g} (int8, at most 1, is taken)")
    axis = [site.axis(-1, rank(x))]

    def number(value: int) -> Expr:
        return scalar(value, "int32")

    one = int(np.floor(np.float32(1.0) / np.float32(step) + np.float32(0.5)))
    steps = site.emit(cast(centred(site, x, zero, 0), "int32"))
    below = site.emit(op.subtract(steps, site.emit(op.max(steps, axis=axis, keepdims=True))))
    half, part = (site.emit(op.right_shift(below, number(bits))) for bits in (1, 4))
    # log2(e) is about 1 + 1/2 - 1/16.
    scaled = site.emit(op.subtract(site.emit(op.add(below, half)), part))
    whole = site.emit(op.floor_divide(scaled, number(-one)))
    whole = site.emit(op.clip(whole, 0, 20))
    most = site.emit(op.max(whole, axis=axis, keepdims=True))
    rest = site.emit(op.subtract(scaled, site.emit(op.multiply(whole, number(-one)))))
    base = site.emit(op.add(site.emit(op.right_shift(rest, number(1))), number(one)))
    powers = site.emit(op.left_shift(base, site.emit(op.subtract(most, whole))))
    total = site.emit(op.sum(powers, axis=axis, keepdims=True))
    share = site.emit(op.floor_divide(number(1 << 30), total))
    output = site.emit(op.right_shift(site.emit(op.multiply(share, powers)), number(23)))
    source = (np.array([1 / 128], np.float32), np.zeros(1, np.int32))
    return requantize(site, output, source, target, 0, "int8")


def _unary(function: Callable[[Expr], Expr]) -> Rule:
    """A real function between dequantize and quantize."""

    def rule(site: Site) -> Value:
        x = site.tensor(0)
        names = ("scale", "zero point", "output scale", "output zero point")
        scale, zero, out_scale, out_zero = (site.array(i, n) for i, n in enumerate(names, 1))
        real = op.dequantize(
            x, constant(scale.astype(np.float32)), constant(zero.astype(np.int32)), axis=0
        )
        value = site.emit(function(site.emit(real)))
        return op.quantize(
            value,
            constant(out_scale.astype(np.float32)),
            constant(out_zero.astype(np.int32)),
            axis=0,
            out_dtype=dtype(x),
        )

    return rule


RULES: dict[str, Rule] = {
    "qnn.quantize": _quantize,
    "qnn.dequantize": _dequantize,
    "qnn.requantize": _requantize,
    "qnn.conv2d": _conv2d,
    "qnn.dense": _dense,
    "qnn.batch_matmul": _batch_matmul,
    "qnn.add": _sum(1),
    "qnn.subtract": _sum(-1),
    "qnn.mul": _mul,
    "qnn.concatenate": _concatenate,
    "qnn.softmax": _softmax,
    **{
        f"qnn.{name}": _unary(getattr(op, name))
        for name in ("sqrt", "rsqrt", "exp", "log", "abs", "tanh", "sigmoid", "erf")
    },
}
