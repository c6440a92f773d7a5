"""A float transposed convolution as a convolution whose channels are pixels of the result.

Pixel P of the full result, s times the size of the image, takes x[m - q] * w[s * q + r] over q,
where P = s * m + r: for each remainder r a convolution of ceil(K / s) taps over the same image. All
of them are one convolution with s * s times the channels, which are then moved between the pixels.
Nothing is multiplied that the transposed convolution would not multiply, where s divides K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import constant
from match_aie.frontend.rebuild import Emitter, Expr


@dataclass(frozen=True)
class _Axis:
    """One of the two axes.

    Attributes:
        stride: pixels of the result for a pixel of the image.
        taps: of the convolution.
        before: padding of the image in front.
        after: and behind.
        skip: pixels of the result to drop in front.
        size: of the result that stays.
    """

    stride: int
    taps: int
    before: int
    after: int
    skip: int
    size: int


def is_plain(call: Any) -> bool:
    """Whether `as_convolution` takes a `conv2d_transpose`."""
    attrs, weight = call.attrs, call.args[1]
    layouts = (str(attrs.data_layout), str(attrs.kernel_layout), str(attrs.out_layout))
    return (
        tvm_api.is_constant(weight)
        and tvm_api.dtype_of(weight) == "float32"
        and layouts == ("NCHW", "IOHW", "NCHW")
        and int(attrs.groups) == 1
        and all(int(d) == 1 for d in attrs.dilation)
    )


def as_convolution(emitter: Emitter, data: Expr, call: Any) -> Expr:
    """The result of `call` with channels last, of its image with channels last.

    Args:
        emitter: takes the convolution.
        data: (N, H, W, C).
        call: a `conv2d_transpose` that `is_plain`.
    """
    weight = tvm_api.constant_value(call.args[1])
    top, left, bottom, right = (int(p) for p in call.attrs.padding)
    strides = [int(s) for s in call.attrs.strides]
    more = [int(p) for p in call.attrs.output_padding]
    batch, rows, columns, _ = tvm_api.shape_of(data)
    high, wide = (
        _axis(size, taps, stride, (begin, end - extra))
        for size, taps, stride, begin, end, extra in zip(
            *((rows, columns), weight.shape[2:], strides, (top, left), (bottom, right), more),
            strict=True,
        )
    )
    image = emitter.emit(
        relax.op.nn.conv2d(
            data,
            constant(_filter(weight, high, wide)),
            padding=[high.before, wide.before, high.after, wide.after],
            data_layout="NHWC",
            kernel_layout="HWIO",
            out_layout="NHWC",
        )
    )
    outputs = weight.shape[1]
    _, lines, pixels, _ = tvm_api.shape_of(image)
    apart = (batch, lines, pixels, high.stride, wide.stride, outputs)
    if high.stride * wide.stride > 1:
        split = emitter.emit(relax.op.reshape(image, apart))
        turned = emitter.emit(relax.op.permute_dims(split, [0, 1, 3, 2, 4, 5]))
        whole = (batch, lines * high.stride, pixels * wide.stride, outputs)
        image = emitter.emit(relax.op.reshape(turned, whole))
    return _cropped(image, high, wide)


def _axis(size: int, taps: int, stride: int, pads: tuple[int, int]) -> _Axis:
    """How one axis is convolved; `pads` of the result, the second less what it is enlarged by."""
    each = -(-taps // stride)
    left = stride * (size - 1) + taps - sum(pads)
    first = min(pads[0] // stride, each - 1)
    last = max(-(-(pads[0] + left) // stride), size)
    return _Axis(stride, each, each - 1 - first, last - size, pads[0] - first * stride, left)


def _filter(weight: np.ndarray, high: _Axis, wide: _Axis) -> np.ndarray:
    """(taps, taps, C, s * s * O) from (C, O, K, K): taps turned, zeros where K ends early."""
    inputs, outputs, rows, columns = weight.shape
    full = (high.taps * high.stride, wide.taps * wide.stride)
    padded = np.zeros((inputs, outputs, *full), np.float32)
    padded[:, :, :rows, :columns] = weight
    parts = padded.reshape(inputs, outputs, high.taps, high.stride, wide.taps, wide.stride)
    turned = parts[:, :, ::-1, :, ::-1, :].transpose(2, 4, 0, 3, 5, 1)
    return np.ascontiguousarray(turned.reshape(high.taps, wide.taps, inputs, -1))


def _cropped(image: Expr, high: _Axis, wide: _Axis) -> Expr:
    begin, size = (high.skip, wide.skip), (high.size, wide.size)
    if tuple(tvm_api.shape_of(image)[1:3]) == size:
        return image
    end = [b + s for b, s in zip(begin, size, strict=True)]
    return relax.op.strided_slice(image, axes=[1, 2], begin=list(begin), end=end)
