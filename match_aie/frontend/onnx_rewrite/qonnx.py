"""QONNX: `Quant` and `BipolarQuant` as ONNX's own operators.

`Quant` is `(clip(round(x / scale + zero)) - zero) * scale` with a number of bits, as A. Pappalardo
and others define it (QONNX: Representing Arbitrary-Precision Quantized Neural Networks, 2022).
Brevitas and the front ends of hls4ml write it. Where the integers fit 8 bits, halves go to even and
the zero point is even, it is a quantize, a clip where the range is narrower, and a dequantize: the
canonical form. Known tensors are quantised here, to as many as 32 bits. Anything else is computed
in float, as it is defined: with an odd zero point halves go another way than in ONNX's quantize.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.graph import Builder, Node, Refusal

#: Domains in which these operators stand.
DOMAINS = ("qonnx.custom_op.general", "onnx.brevitas", "finn.custom_op.general")

#: Names of the first of them.
QUANT = ("Quant", "IntQuant")

#: How steps become integers: the same in numpy, and by ONNX's operators.
NEAREST = "HALF_EVEN"
KNOWN: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    NEAREST: np.rint,
    "FLOOR": np.floor,
    "CEIL": np.ceil,
    "DOWN": np.trunc,
    "UP": lambda x: np.sign(x) * np.ceil(np.abs(x)),
    "HALF_UP": lambda x: np.sign(x) * np.floor(np.abs(x) + np.float32(0.5)),
    "HALF_DOWN": lambda x: np.sign(x) * np.ceil(np.abs(x) - np.float32(0.5)),
}

#: Bits of known tensors at most, and of others as integers.
MOST_BITS, BYTE = 32, 8


@dataclass(frozen=True)
class _Grid:
    """Where values are rounded to.

    Attributes:
        scale: of a step, a scalar or a tensor that broadcasts to the values.
        zero: the integer that means 0.
        lo: the least integer.
        hi: the largest.
        rounding: one of `KNOWN`.
        bipolar: one signed bit: 1 and -1.
    """

    scale: np.ndarray
    zero: int
    lo: int
    hi: int
    rounding: str
    bipolar: bool = False

    @property
    def dtype(self) -> type[np.int8] | type[np.uint8] | None:
        """8 bits that hold the integers; None where none do.

        Unsigned ones where they do: a ReLU before then is what saturation does.
        """
        kinds: tuple[type[np.uint8] | type[np.int8], ...] = (np.uint8, np.int8)
        for dtype in kinds:
            info = np.iinfo(dtype)
            if info.min <= self.lo and self.hi <= info.max and info.min <= self.zero <= info.max:
                return dtype
        return None


def quant(node: Node, b: Builder) -> tuple[str, ...]:
    """Quant: x, scale, zero point, number of bits."""
    x, grid = node.input(0), _grid(node, b)
    if grid.bipolar:
        return bipolar_quant(node, b)
    known = b.graph.constant(x)
    if known is not None:
        return (_known(b, known, grid),)
    exact = grid.rounding == NEAREST and grid.zero % 2 == 0 and grid.scale.size == 1
    if grid.dtype is not None and exact:
        return (_integers(b, x, grid),)
    return (_floats(b, x, grid),)


def bipolar_quant(node: Node, b: Builder) -> tuple[str, ...]:
    """BipolarQuant: the scale where x is not negative, else minus it."""
    scale = node.input(1)
    known = b.graph.constant(node.input(0)), b.graph.constant(scale)
    if known[0] is not None and known[1] is not None:
        return (b.const(np.where(known[0] >= 0, known[1], -known[1]), np.float32),)
    positive = b.op("GreaterOrEqual", node.input(0), b.const(0.0, np.float32))
    return (b.op("Where", positive, scale, b.op("Neg", scale)),)


def _grid(node: Node, b: Builder) -> _Grid:
    values = [b.graph.constant(node.input(index)) for index in (1, 2, 3)]
    if any(value is None for value in values):
        raise Refusal("a scale, zero point or number of bits that is computed at run time")
    scale, zero, bits = (np.asarray(value) for value in values)
    if zero.size != 1 and np.ptp(zero) == 0:
        zero = zero.reshape(-1)[:1]
    if zero.size != 1 or bits.size != 1 or float(bits.item()) % 1 or float(zero.item()) % 1:
        raise Refusal("zero points or numbers of bits that differ, or are not whole")
    count = int(bits.item())
    signed, narrow = bool(node.attr("signed", 1)), bool(node.attr("narrow", 0))
    if not 1 <= count <= MOST_BITS:
        raise Refusal(f"{count} bits, {MOST_BITS} at most")
    lo = -(1 << count - 1) + narrow if signed else 0
    hi = (1 << count - 1) - 1 if signed else (1 << count) - 1 - narrow
    mode = node.attr("rounding_mode", "ROUND")
    mode = (mode.decode() if isinstance(mode, bytes) else str(mode)).upper()
    mode = NEAREST if mode == "ROUND" else mode
    if mode not in KNOWN:
        raise Refusal(f"rounding mode {mode}, not one of {', '.join(KNOWN)}")
    found = _Grid(scale.astype(np.float32), int(zero.item()), lo, hi, mode, count == 1 and signed)
    if found.bipolar and found.zero:
        raise Refusal("one signed bit with a zero point")
    return found


def _known(b: Builder, value: np.ndarray, grid: _Grid) -> str:
    """A known tensor as integers with a dequantize, or, where scales vary along axes, as floats."""
    with np.errstate(all="ignore"):
        steps = value.astype(np.float32) / grid.scale + np.float32(grid.zero)
    whole = KNOWN[grid.rounding](np.clip(steps.astype(np.float64), grid.lo, grid.hi))
    dtype = grid.dtype
    axes = [axis for axis, size in enumerate(_aligned(grid.scale, value.ndim)) if size > 1]
    fits = dtype is not None or (grid.zero == 0 and grid.hi <= np.iinfo(np.int32).max)
    if (
        not fits
        or len(axes) > 1
        or value.shape != np.broadcast_shapes(value.shape, grid.scale.shape)
    ):
        real = (whole - grid.zero).astype(np.float32) * grid.scale
        return b.const(real, np.float32)
    integers = b.const(whole, dtype or np.int32)
    flat = grid.scale.reshape(-1) if axes else grid.scale.reshape(())
    more = [b.const(np.full(flat.shape, grid.zero), dtype)] if dtype is not None else []
    axis = {"axis": axes[0]} if axes else {}
    return b.op("DequantizeLinear", integers, b.const(flat, np.float32), *more, **axis)


def _aligned(scale: np.ndarray, rank: int) -> tuple[int, ...]:
    """The scale's shape with as many axes as the values have."""
    return (1,) * max(0, rank - scale.ndim) + scale.shape


def _integers(b: Builder, x: str, grid: _Grid) -> str:
    """Quantize, clip where the type holds more, dequantize."""
    assert grid.dtype is not None
    scale = b.const(grid.scale.reshape(()), np.float32)
    zero = b.const(grid.zero, grid.dtype)
    stored = b.op("QuantizeLinear", x, scale, zero)
    info = np.iinfo(grid.dtype)
    if (grid.lo, grid.hi) != (info.min, info.max):
        stored = b.op("Clip", stored, b.const(grid.lo, grid.dtype), b.const(grid.hi, grid.dtype))
    return b.op("DequantizeLinear", stored, scale, zero)


def _floats(b: Builder, x: str, grid: _Grid) -> str:
    """As it is defined, in float32."""
    if b.graph.dtype(x) != TensorProto.FLOAT:
        raise Refusal("a Quant of other floats than float32")
    scale, zero = b.const(grid.scale, np.float32), b.const(float(grid.zero), np.float32)
    steps = b.op("Div", x, scale)
    steps = b.op("Add", steps, zero) if grid.zero else steps
    low, high = b.const(float(grid.lo), np.float32), b.const(float(grid.hi), np.float32)
    whole = _rounded(b, b.op("Clip", steps, low, high), grid.rounding)
    whole = b.op("Sub", whole, zero) if grid.zero else whole
    return b.op("Mul", whole, scale)


def _rounded(b: Builder, steps: str, mode: str) -> str:
    """As `KNOWN` does it."""
    plain = {NEAREST: "Round", "FLOOR": "Floor", "CEIL": "Ceil"}
    if mode in plain:
        return b.op(plain[mode], steps)
    size, half = b.op("Abs", steps), b.const(0.5, np.float32)
    if mode.startswith("HALF"):
        size = b.op("Add" if mode == "HALF_UP" else "Sub", size, half)
    whole = b.op("Floor" if mode in ("DOWN", "HALF_UP") else "Ceil", size)
    return b.op("Mul", b.op("Sign", steps), whole)
