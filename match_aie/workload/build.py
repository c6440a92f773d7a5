"""Constructors for the workloads of each kind, with operands and accesses filled in.

Every function gives a `Workload` whose operand order is the parameter order of emitted code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.workload.kinds import Kind
from match_aie.workload.workload import Axis, Operand, Rounding, Tail, Window, Workload


@dataclass(frozen=True)
class Quantized:
    """Element type and affine quantisation of an activation: real = (q - zero_point) * scale."""

    dtype: str
    scale: float | None = None
    zero_point: int = 0


def _plain(*dims: str) -> tuple[Axis, ...]:
    return tuple(Axis(((dim, 1),)) for dim in dims)


def _operand(name: str, q: Quantized, shape: tuple[int, ...], axes: tuple[Axis, ...]) -> Operand:
    return Operand(name, q.dtype, shape, axes, False, q.scale, q.zero_point)


def _weights(weight: Operand, channels: int, axis: Axis, scales: int) -> tuple[Operand, ...]:
    """Weight, bias (int32 per channel) and, where the tail requantises, scale (float32)."""
    constants = [weight, Operand("bias", "int32", (channels,), (axis,), True)]
    if scales:
        access = axis if scales == channels and channels > 1 else Axis(())
        constants.append(Operand("scale", "float32", (scales,), (access,), True))
    return tuple(constants)


def output_extent(
    size: int, filter_: int, stride: int, dilation: int, before: int, after: int
) -> int:
    """Output positions of a sliding window along one axis.

    >>> output_extent(32, 3, 2, 1, 0, 1)
    16
    """
    return (size + before + after - dilation * (filter_ - 1) - 1) // stride + 1


def conv2d(
    x: Quantized,
    y: Quantized,
    *,
    shape: tuple[int, int, int, int],
    weight_shape: tuple[int, int, int, int],
    groups: int = 1,
    window: Window = Window(),
    weight_dtype: str = "int8",
    tail: Tail | None = None,
    scales: int = 0,
) -> Workload:
    """2-D convolution, NHWC: x[B,IY,IX,G*C], weight[G*K,FY,FX,C], bias[G*K], scale[G*K or 1].

    Args:
        x: input quantisation.
        y: output quantisation; int32 where `tail` is None.
        shape: of x.
        weight_shape: of the weights.
        groups: G; G == channels and C == 1 is depthwise.
        window: stride, dilation, padding.
        weight_dtype: int8, or int16 where a zero point made the range wider.
        tail: requantisation, None to store the int32 sum.
        scales: number of requantisation scales (1 or G*K), 0 where `tail` is None.
    """
    batch, rows, columns, channels = shape
    out, fy, fx, c = weight_shape
    if c * groups != channels or out % groups:
        raise ValueError(f"weights {weight_shape} with {groups} groups do not fit input {shape}")
    (sy, sx), (dy, dx), (top, left, bottom, right) = window.stride, window.dilation, window.padding
    oy = output_extent(rows, fy, sy, dy, top, bottom)
    ox = output_extent(columns, fx, sx, dx, left, right)
    k = out // groups
    channel = Axis((("G", k), ("K", 1)))
    dims = {"B": batch, "G": groups, "K": k, "OY": oy, "OX": ox, "C": c, "FY": fy, "FX": fx}
    weight = Operand(
        "weight", weight_dtype, weight_shape, (channel, *_plain("FY", "FX", "C")), True
    )
    access = (
        Axis((("B", 1),)),
        Axis((("OY", sy), ("FY", dy)), -top),
        Axis((("OX", sx), ("FX", dx)), -left),
        Axis((("G", c), ("C", 1))),
    )
    return Workload(
        "conv2d",
        tuple(dims.items()),
        (
            _operand("x", x, shape, access),
            *_weights(weight, out, channel, scales),
            _operand("y", y, (batch, oy, ox, out), (*_plain("B", "OY", "OX"), channel)),
        ),
        window,
        tail,
    )


def phase_taps(filter_: int, stride: int, before: int) -> tuple[int, int]:
    """Along one axis of a transposed convolution: how its output is a convolution of its input.

    Output `stride * q + p` sees inputs `q - reach` to `q - reach + taps - 1`, of which tap number
    `t` has the filter's element `stride * (reach - t) + p + before`, where there is one.

    Args:
        filter_: elements of the filter.
        stride: outputs between those of neighbouring inputs.
        before: outputs that are cut off in front.

    Returns:
        `taps` and `reach`.

    >>> phase_taps(4, 2, 1)
    (3, 1)
    """
    reach = (filter_ - 1 - before) // stride
    return reach + (stride - 1 + before) // stride + 1, reach


def conv2d_transpose(
    x: Quantized,
    y: Quantized,
    *,
    shape: tuple[int, int, int, int],
    weight_shape: tuple[int, int, int, int],
    out: tuple[int, int],
    window: Window = Window(),
    weight_dtype: str = "int8",
    tail: Tail | None = None,
    scales: int = 0,
) -> Workload:
    """Transposed convolution, NHWC: x[B,IY,IX,C], weight[K,FY,FX,C], bias[K], scale[K or 1].

    Output rows are `stride` phases: those of one phase are a convolution of x with every so many
    rows of the filter. So are columns.

    Args:
        x: input quantisation.
        y: output quantisation; int32 where `tail` is None.
        shape: of x.
        weight_shape: of the weights.
        out: rows and columns of y, a whole number of strides.
        window: stride, and what padding cuts off of the result.
        weight_dtype: int8, or int16 where a zero point made the range wider.
        tail: requantisation, None to store the int32 sum.
        scales: number of requantisation scales (1 or K), 0 where `tail` is None.
    """
    batch, *_, channels = shape
    k, *filter_, c = weight_shape
    if c != channels or window.dilation != (1, 1):
        raise ValueError(f"weights {weight_shape} do not fit input {shape}")
    if any(size % step for size, step in zip(out, window.stride, strict=True)):
        raise ValueError(f"output {out} is no whole number of strides {window.stride}")
    image, kernel, taps = [], [], []
    for at, (phase, inner, tap) in enumerate((("PY", "OY", "FY"), ("PX", "OX", "FX"))):
        stride, before = window.stride[at], window.padding[at]
        count, reach = phase_taps(filter_[at], stride, before)
        taps.append(count)
        image.append(Axis(((inner, 1), (tap, 1)), -reach))
        kernel.append(Axis(((phase, 1), (tap, -stride)), stride * reach + before))
    (sy, sx), channel = window.stride, Axis((("K", 1),))
    dims = {"B": batch, "K": k, "PY": sy, "PX": sx, "OY": out[0] // sy, "OX": out[1] // sx}
    dims |= {"C": c, "FY": taps[0], "FX": taps[1]}
    weight = Operand("weight", weight_dtype, weight_shape, (channel, *kernel, *_plain("C")), True)
    stored = (Axis((("OY", sy), ("PY", 1))), Axis((("OX", sx), ("PX", 1))))
    return Workload(
        "conv2d_transpose",
        tuple(dims.items()),
        (
            _operand("x", x, shape, (*_plain("B"), *image, *_plain("C"))),
            *_weights(weight, k, channel, scales),
            _operand("y", y, (batch, *out, k), (*_plain("B"), *stored, channel)),
        ),
        window,
        tail,
    )


def dense(
    x: Quantized,
    y: Quantized,
    *,
    rows: int,
    inputs: int,
    outputs: int,
    weight_dtype: str = "int8",
    tail: Tail | None = None,
    scales: int = 0,
) -> Workload:
    """Matrix times constant: x[B,C], weight[K,C], bias[K], scale[K or 1] -> y[B,K]."""
    channel = Axis((("K", 1),))
    weight = Operand("weight", weight_dtype, (outputs, inputs), _plain("K", "C"), True)
    return Workload(
        "dense",
        (("B", rows), ("K", outputs), ("C", inputs)),
        (
            _operand("x", x, (rows, inputs), _plain("B", "C")),
            *_weights(weight, outputs, channel, scales),
            _operand("y", y, (rows, outputs), _plain("B", "K")),
        ),
        None,
        tail,
    )


def matmul(
    x: Quantized,
    x1: Quantized,
    y: Quantized,
    *,
    batch: int,
    rows: int,
    inner: int,
    columns: int,
    tail: Tail | None = None,
) -> Workload:
    """Product of two activations: x[B,OY,C], x1[B,C,K] -> y[B,OY,K]; scale[1] with a tail."""
    scale = (Operand("scale", "float32", (1,), (Axis(()),), True),) if tail else ()
    return Workload(
        "matmul",
        (("B", batch), ("OY", rows), ("K", columns), ("C", inner)),
        (
            _operand("x", x, (batch, rows, inner), _plain("B", "OY", "C")),
            _operand("x1", x1, (batch, inner, columns), _plain("B", "C", "K")),
            *scale,
            _operand("y", y, (batch, rows, columns), _plain("B", "OY", "K")),
        ),
        None,
        tail,
    )


#: Loop dimensions of elementwise workloads, by tensor rank: the last axis is always K.
ELEMENTWISE_DIMS = ("B", "OY", "OX", "K")


def elementwise(
    kind: Kind,
    x: Quantized,
    x1: Quantized,
    y: Quantized,
    *,
    shape: tuple[int, int, int, int],
    shape1: tuple[int, int, int, int],
    out: tuple[int, int, int, int],
    tail: Tail,
) -> Workload:
    """`add` or `mul` of two quantised tensors of rank 4 (leading 1s), with numpy broadcasting."""

    def access(operand: tuple[int, ...]) -> tuple[Axis, ...]:
        return tuple(
            Axis(((dim, 1),)) if size == full else Axis(())
            for dim, size, full in zip(ELEMENTWISE_DIMS, operand, out, strict=True)
        )

    for operand in (shape, shape1):
        if any(s not in (1, full) for s, full in zip(operand, out, strict=True)):
            raise ValueError(f"{operand} does not broadcast to {out}")
    return Workload(
        kind,
        tuple(zip(ELEMENTWISE_DIMS, out, strict=True)),
        (
            _operand("x", x, shape, access(shape)),
            _operand("x1", x1, shape1, access(shape1)),
            _operand("y", y, out, _plain(*ELEMENTWISE_DIMS)),
        ),
        None,
        tail,
    )


def pool2d(
    kind: Kind,
    x: Quantized,
    y: Quantized,
    *,
    shape: tuple[int, int, int, int],
    filter_shape: tuple[int, int],
    window: Window = Window(),
    tail: Tail | None,
) -> Workload:
    """`avg_pool2d` or `max_pool2d`, NHWC: x[B,IY,IX,G] -> y[B,OY,OX,G]; global: filter = image."""
    batch, rows, columns, channels = shape
    (fy, fx), (sy, sx), (dy, dx) = filter_shape, window.stride, window.dilation
    top, left, bottom, right = window.padding
    oy = output_extent(rows, fy, sy, dy, top, bottom)
    ox = output_extent(columns, fx, sx, dx, left, right)
    dims = {"B": batch, "G": channels, "OY": oy, "OX": ox, "FY": fy, "FX": fx}
    access = (
        Axis((("B", 1),)),
        Axis((("OY", sy), ("FY", dy)), -top),
        Axis((("OX", sx), ("FX", dx)), -left),
        Axis((("G", 1),)),
    )
    return Workload(
        kind,
        tuple(dims.items()),
        (
            _operand("x", x, shape, access),
            _operand("y", y, (batch, oy, ox, channels), _plain("B", "OY", "OX", "G")),
        ),
        window,
        tail,
    )


def permute(x: Quantized, *, shape: tuple[int, int, int, int], axes: Sequence[int]) -> Workload:
    """Axes in another order, rank 4 (leading 1s): y's axis i is x's axis `axes[i]`."""
    if sorted(axes) != [0, 1, 2, 3]:
        raise ValueError(f"{tuple(axes)} is no order of four axes")
    out = tuple(shape[axis] for axis in axes)
    access = tuple(Axis(((ELEMENTWISE_DIMS[list(axes).index(axis)], 1),)) for axis in range(4))
    y = (out[0], out[1], out[2], out[3])
    return Workload(
        "permute",
        tuple(zip(ELEMENTWISE_DIMS, out, strict=True)),
        (_operand("x", x, shape, access), _operand("y", x, y, _plain(*ELEMENTWISE_DIMS))),
    )


def rowwise(
    kind: Kind, x: Quantized, y: Quantized, *, rows: int, columns: int, tail: Tail | None
) -> Workload:
    """`softmax` over K of x[B,K]; or `quantize` / `dequantize` of x[B,K], element by element.

    A softmax carries the constant table exp(-d * scale), d = 0..255, as float32[256].
    """
    table = (Operand("table", "float32", (256,), (Axis(()),), True),) if kind == "softmax" else ()
    return Workload(
        kind,
        (("B", rows), ("K", columns)),
        (
            _operand("x", x, (rows, columns), _plain("B", "K")),
            *table,
            _operand("y", y, (rows, columns), _plain("B", "K")),
        ),
        None,
        tail,
    )


def table(x: Quantized, y: Quantized, *, elements: int) -> Workload:
    """A function of each 8-bit element of x[B,K]: y = table[bits of x], B 1 and 256 entries."""
    entries = Operand("table", y.dtype, (256,), (Axis(()),), True)
    dims = (("B", 1), ("K", elements))
    first, last = (
        _operand(name, q, (1, elements), _plain("B", "K")) for name, q in (("x", x), ("y", y))
    )
    return Workload("table", dims, (first, entries, last))


def quantised_norm(
    x: Quantized, y: Quantized, *, rows: int, columns: int, epsilon: float, tail: Tail, kind: Kind
) -> Workload:
    """A norm over K of x[B,K], with weight[K], a layer norm with bias[K], in float32.

    Args:
        x: of rows.
        y: of the result.
        rows: B.
        columns: K.
        epsilon: added to the mean square.
        tail: of the stored integers.
        kind: of it.
    """
    names = ("weight", "bias")[: 1 + (kind == "layer_norm")]
    numbers = (Operand(name, "float32", (columns,), _plain("K"), True) for name in names)
    first, last = (
        _operand(name, q, (rows, columns), _plain("B", "K")) for name, q in (("x", x), ("y", y))
    )
    dims = (("B", rows), ("K", columns))
    parameters = (("epsilon", epsilon),)
    return Workload(kind, dims, (first, *numbers, last), tail=tail, parameters=parameters)


def full_range(dtype: str, zero_point: int, rounding: Rounding = "half_even") -> Tail:
    """A tail that only saturates to `dtype` (int8, uint8, int16 or uint16).

    >>> full_range("uint8", 3).hi
    255
    """
    bits = {"int8": 8, "uint8": 8, "int16": 16, "uint16": 16}[dtype]
    lo, hi = (
        (0, (1 << bits) - 1) if dtype.startswith("u") else (-(1 << bits - 1), (1 << bits - 1) - 1)
    )
    return Tail(zero_point, lo, hi, rounding)
