"""Nodes for what rows are once they were stored in 8 bits as they came: `workload.codes`."""

from __future__ import annotations

from onnx import TensorProto

from match_aie.frontend.onnx_rewrite.graph import Builder


def coded(b: Builder, x: str, codes: str) -> str:
    """Rows [m, n] as float32; one of them where `codes` is "uint8".

    Args:
        b: takes the nodes.
        x: float32.
        codes: one of `CODES`; "" leaves them as they are.
    """
    made = {"uint8": _uint8, "symmetric": _symmetric, "asymmetric": _asymmetric}
    return made[codes](b, x) if codes else x


def _uint8(b: Builder, x: str) -> str:
    stored, scale, zero = b.many("DynamicQuantizeLinear", [x], 3)
    wide, point = (b.op("Cast", value, to=TensorProto.FLOAT) for value in (stored, zero))
    return b.op("Mul", b.op("Sub", wide, point), scale)


def _symmetric(b: Builder, x: str) -> str:
    most = _filled(b, b.op("ReduceMax", b.op("Abs", x), axes=[1], keepdims=1), 127.0)
    steps = b.op("Div", _number(b, 127.0), most)
    code = _clipped(b, _away(b, b.op("Mul", x, steps)), -127.0)
    return b.op("Mul", code, b.op("Div", most, _number(b, 127.0)))


def _asymmetric(b: Builder, x: str) -> str:
    """In float32 throughout: a zero point of which float64 finds another one is very rare."""
    low = b.op("Min", b.op("ReduceMin", x, axes=[1], keepdims=1), _number(b, 0.0))
    high = b.op("Max", b.op("ReduceMax", x, axes=[1], keepdims=1), _number(b, 0.0))
    span = _filled(b, b.op("Sub", high, low), 255.0)
    scale = b.op("Div", span, _number(b, 255.0))
    below = b.op("Sub", _number(b, -128.0), b.op("Div", low, scale))
    zero = _away(b, _clipped(b, below, -128.0))
    steps = b.op("Mul", x, b.op("Div", _number(b, 1.0), scale))
    code = _clipped(b, _away(b, b.op("Add", steps, zero)), -128.0)
    return b.op("Mul", b.op("Sub", code, zero), scale)


def _filled(b: Builder, value: str, instead: float) -> str:
    """`value`, `instead` where it is 0."""
    return b.op("Where", b.op("Equal", value, _number(b, 0.0)), _number(b, instead), value)


def _clipped(b: Builder, value: str, least: float) -> str:
    return b.op("Clip", value, _number(b, least), _number(b, 127.0))


def _away(b: Builder, value: str) -> str:
    """The nearest whole number, halves away from zero."""
    up = b.op("Floor", b.op("Add", b.op("Abs", value), _number(b, 0.5)))
    return b.op("Mul", b.op("Sign", value), up)


def _number(b: Builder, value: float) -> str:
    return b.const(value, "float32")
