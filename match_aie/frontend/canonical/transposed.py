"""A transposed convolution as a convolution whose channels are pixels of the result.

Pixel P of the full result, s times the size of the image, takes x[m - q] * w[s * q + r] over q,
where P = s * m + r: for each remainder r a convolution of ceil(K / s) taps over the same image. All
of them are one convolution with s * s times the channels, which are then moved between the pixels.
Nothing is multiplied that the transposed convolution would not multiply, where s divides K.

Where weights are quantised, what is computed of the sums by element, up to the quantize and its
clip, is computed before the channels are moved: patterns find a layer, and bytes are moved. Each of
the s * s groups of channels has the scales and the bias of the first.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import constant, has_constant_parameters, per_tensor
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


@dataclass(frozen=True)
class Unmoved:
    """A convolution's result whose channels are yet to move between pixels.

    Attributes:
        image: (N, H, W, s * s * O).
        high: the axis of rows.
        wide: that of columns.
    """

    image: Expr
    high: _Axis
    wide: _Axis

    @property
    def groups(self) -> int:
        """Of channels: pixels of the result for a pixel of the image."""
        return self.high.stride * self.wide.stride

    def moved(self, emitter: Emitter) -> Expr:
        """(N, rows, columns, O): the result of the transposed convolution, and of what followed."""
        image, (high, wide) = self.image, (self.high, self.wide)
        batch, lines, pixels, channels = tvm_api.shape_of(image)
        outputs = channels // self.groups
        if self.groups > 1:
            apart = (batch, lines, pixels, high.stride, wide.stride, outputs)
            split = emitter.emit(relax.op.reshape(image, apart))
            turned = emitter.emit(relax.op.permute_dims(split, [0, 1, 3, 2, 4, 5]))
            whole = (batch, lines * high.stride, pixels * wide.stride, outputs)
            image = emitter.emit(relax.op.reshape(turned, whole))
        return emitter.emit(_cropped(image, high, wide))


@dataclass
class Convolved:
    """Transposed convolutions as convolutions, and what follows quantised ones.

    Attributes:
        quantised: whether those of quantised weights are taken, too; labels of those that are.
        elementwise: names of the operators that layout passes through.
        unmoved: what is yet to move, by the value as the model has it, channels first.
    """

    quantised: bool | frozenset[str]
    elementwise: frozenset[str]
    unmoved: dict[Any, Unmoved] = field(default_factory=dict)

    def takes(self, emitter: Emitter, call: Any) -> bool:
        """Whether a `conv2d_transpose` is one that `convolution` computes."""
        attrs = call.attrs
        layouts = (str(attrs.data_layout), str(attrs.kernel_layout), str(attrs.out_layout))
        if layouts != ("NCHW", "IOHW", "NCHW") or int(attrs.groups) != 1:
            return False
        if any(int(d) != 1 for d in attrs.dilation):
            return False
        weight = call.args[1]
        if tvm_api.is_constant(weight):
            return tvm_api.dtype_of(weight) == "float32"
        wanted = self.quantised
        wanted = wanted if isinstance(wanted, bool) else emitter.label in wanted
        return wanted and _is_stored(emitter.definition(weight))

    def following(self, emitter: Emitter, call: Any) -> Unmoved | None:
        """`call` on what is yet to move; None where it is another operator, or reads more."""
        operator = tvm_api.operator_name(call)
        if operator not in self.elementwise or operator == "dequantize":
            return None
        known = [self.unmoved[a] for a in call.args if a in self.unmoved]
        if len(known) != 1 or (operator == "quantize" and not per_tensor(call)):
            return None
        args = [self._argument(emitter, a, known[0]) for a in call.args]
        if any(a is None for a in args):
            return None
        made = relax.Call(call.op, args, call.attrs, call.ty_args)
        if operator == "quantize":
            made = relax.op.quantize(*args, axis=0, out_dtype=str(call.attrs.out_dtype))
        return Unmoved(emitter.emit(made), known[0].high, known[0].wide)

    def _argument(self, emitter: Emitter, value: Expr, before: Unmoved) -> Expr | None:
        """An operand beside what is yet to move; None where it differs from pixel to pixel."""
        if value in self.unmoved:
            return before.image
        if not (isinstance(value, relax.Var) or tvm_api.is_constant(value)):
            return value  # a bound of a clip
        inner = emitter.definition(value)
        if tvm_api.operator_name(inner) != "dequantize":
            return _repeated(value, before.groups) if tvm_api.is_constant(value) else None
        if not _is_stored(inner):
            return None
        data = _repeated(inner.args[0], before.groups)
        if data is None:
            return None
        vector = not per_tensor(inner)
        if vector and int(inner.attrs.axis) + _RANK - len(tvm_api.shape_of(inner.args[0])) != 1:
            return None
        numbers = _numbers(inner, before.groups) if vector else inner.args[1:]
        axis, real = (_RANK - 1 if vector else 0), tvm_api.dtype_of(inner)
        return emitter.emit(relax.op.dequantize(data, *numbers, axis=axis, out_dtype=real))


_RANK = 4
#: Of weights (C, O, K, K), the axis of the results' channels.
_OUTPUTS = 1


def convolution(emitter: Emitter, data: Expr, call: Any) -> Unmoved:
    """The convolution that computes what `call` does, of its image with channels last.

    Args:
        emitter: takes the convolution.
        data: (N, H, W, C).
        call: a `conv2d_transpose` that `Convolved` takes.
    """
    taps = tvm_api.shape_of(call.args[1])[2:]
    top, left, bottom, right = (int(p) for p in call.attrs.padding)
    strides = [int(s) for s in call.attrs.strides]
    more = [int(p) for p in call.attrs.output_padding]
    _, rows, columns, _ = tvm_api.shape_of(data)
    high, wide = (
        _axis(size, taps, stride, (begin, end - extra))
        for size, taps, stride, begin, end, extra in zip(
            *((rows, columns), taps, strides, (top, left), (bottom, right), more), strict=True
        )
    )
    weight = _weight(emitter, call.args[1], high, wide)
    image = emitter.emit(
        relax.op.nn.conv2d(
            data,
            weight,
            padding=[high.before, wide.before, high.after, wide.after],
            data_layout="NHWC",
            kernel_layout="HWIO",
            out_layout="NHWC",
        )
    )
    return Unmoved(image, high, wide)


def _is_stored(inner: Any) -> bool:
    """Whether a call dequantizes a constant, a scale for all of it or for each result's channel."""
    return (
        tvm_api.operator_name(inner) == "dequantize"
        and tvm_api.is_constant(inner.args[0])
        and has_constant_parameters(inner)
        and (per_tensor(inner) or int(inner.attrs.axis) == _OUTPUTS)
    )


def _weight(emitter: Emitter, weight: Expr, high: _Axis, wide: _Axis) -> Expr:
    """(taps, taps, C, s * s * O) from (C, O, K, K), dequantized or not."""
    if tvm_api.is_constant(weight):
        return constant(
            _filter(tvm_api.constant_value(weight), np.zeros((), np.float32), high, wide)
        )
    inner = emitter.definition(weight)
    value, zero = (tvm_api.constant_value(inner.args[i]) for i in (0, 2))
    nothing = zero.reshape(1, -1, 1, 1)  # what a tap that is not there is stored as
    data = constant(_filter(value, nothing.astype(value.dtype), high, wide))
    numbers, axis, real = inner.args[1:], 0, tvm_api.dtype_of(inner)
    if not per_tensor(inner):
        numbers, axis = _numbers(inner, high.stride * wide.stride), _RANK - 1
    return emitter.emit(relax.op.dequantize(data, *numbers, axis=axis, out_dtype=real))


def _numbers(inner: Any, groups: int) -> list[Expr]:
    """Scale and zero point of a dequantize, once more for each group of channels."""
    values = (tvm_api.constant_value(number) for number in inner.args[1:])
    return [constant(np.tile(v, groups) if v.size > 1 else v) for v in values]


def _repeated(value: Expr, groups: int) -> Expr | None:
    """(1, 1, 1, s * s * O) of one number or one for each channel (1, O, 1, 1); None of others."""
    array = tvm_api.constant_value(value)
    if array.size == 1:
        return constant(array.reshape(())) if array.ndim <= _RANK else None
    whole = array.reshape((1,) * (_RANK - array.ndim) + array.shape)
    if whole.ndim != _RANK or whole.shape[1] != whole.size:
        return None
    return constant(np.tile(whole.reshape(1, 1, 1, -1), groups))


def _axis(size: int, taps: int, stride: int, pads: tuple[int, int]) -> _Axis:
    """How one axis is convolved; `pads` of the result, the second less what it is enlarged by."""
    each = -(-taps // stride)
    left = stride * (size - 1) + taps - sum(pads)
    first = min(pads[0] // stride, each - 1)
    last = max(-(-(pads[0] + left) // stride), size)
    return _Axis(stride, each, each - 1 - first, last - size, pads[0] - first * stride, left)


def _filter(weight: np.ndarray, nothing: np.ndarray, high: _Axis, wide: _Axis) -> np.ndarray:
    """(taps, taps, C, s * s * O) from (C, O, K, K): taps turned, `nothing` where K ends early."""
    inputs, outputs, rows, columns = weight.shape
    full = (inputs, outputs, high.taps * high.stride, wide.taps * wide.stride)
    padded = np.array(np.broadcast_to(nothing, full))
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
