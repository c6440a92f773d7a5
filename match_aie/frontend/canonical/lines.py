"""One-dimensional convolutions and pools as ones of images of one row.

A value (N, C, L) that such an operator gives has an image (N, C, 1, L), on which element-wise
operators, quantisers, means, concatenations and the next convolution go on; reshapes between the
two are dropped where nothing reads them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import constant, has_constant_parameters
from match_aie.frontend.rebuild import Emitter, Expr

#: Axes of a value that has an image.
RANK = 3
#: Where they are in the image.
IMAGE_AXES = (0, 1, 3)

POOLS = {
    "nn.max_pool1d": relax.op.nn.max_pool2d,
    "nn.avg_pool1d": relax.op.nn.avg_pool2d,
}
QUANTISERS = {"quantize": relax.op.quantize, "dequantize": relax.op.dequantize}

#: Rewrites one typed call on images.
Visit = Callable[[Emitter, Any, Expr], Expr]


@dataclass
class Lines:
    """Rewrites operators of lines as ones of their images, which it remembers.

    Attributes:
        elementwise: names of the operators that layout passes through.
        images: (N, C, 1, L) of the lines met so far.
    """

    elementwise: frozenset[str]
    images: dict[Any, Expr] = field(default_factory=dict)

    def rewritten(self, emitter: Emitter, call: Any, visit: Visit) -> Expr | None:
        """What stands for `call`, a line in most cases; None where it is none of lines.

        Args:
            emitter: takes what is computed on images.
            call: of any operator.
            visit: rewrites calls of images.
        """
        operator = tvm_api.operator_name(call)
        made = self._on_image(emitter, operator, call)
        if made is None:
            return None
        image = emitter.emit(visit(emitter, None, made))
        if operator == "mean" and not call.attrs.keepdims:
            return image
        # A dequantize of the line itself stays one: an output is made of integers.
        line = emitter.emit(call if operator == "dequantize" else line_of(image))
        self.images[line] = image
        return line

    def _on_image(self, emitter: Emitter, operator: str, call: Any) -> Expr | None:
        if operator == "nn.conv1d" or operator in POOLS:
            return _window(emitter, call, self._image(emitter, call.args[0]))
        if operator in QUANTISERS:
            return self._quantiser(emitter, call) if call.args[0] in self.images else None
        if operator in self.elementwise and self._fits(emitter, call):
            args = [self._image(emitter, a) if _is_tensor(a) else a for a in call.args]
            return emitter.typed(relax.Call(call.op, args, call.attrs, call.ty_args))
        if operator == "mean" and call.args[0] in self.images and call.attrs.axis is not None:
            if [int(a) % RANK for a in call.attrs.axis] != [RANK - 1]:
                return None
            image, keep = self.images[call.args[0]], bool(call.attrs.keepdims)
            return emitter.typed(relax.op.mean(image, axis=[2, 3], keepdims=keep))
        return self._concat(emitter, call) if operator == "concat" else None

    def _quantiser(self, emitter: Emitter, call: Any) -> Expr | None:
        """On the image; None where scale or zero point are not known here."""
        if not has_constant_parameters(call):
            return None
        axis = int(call.attrs.axis)
        if tvm_api.is_constant(call.args[0]):
            axis += RANK - len(tvm_api.shape_of(call.args[0]))
        whole = all(tvm_api.constant_value(arg).size == 1 for arg in call.args[1:3])
        made = QUANTISERS[tvm_api.operator_name(call)](
            self._image(emitter, call.args[0]),
            *call.args[1:],
            axis=0 if whole else IMAGE_AXES[axis],
            out_dtype=str(call.attrs.out_dtype),
        )
        return emitter.typed(made)

    def _concat(self, emitter: Emitter, call: Any) -> Expr | None:
        items = list(getattr(call.args[0], "fields", []))
        lines = all(_is_tensor(item) and _rank(item) == RANK for item in items)
        if not lines or not any(item in self.images for item in items) or call.attrs.axis is None:
            return None
        parts = relax.Tuple([self._image(emitter, item) for item in items])
        axis = IMAGE_AXES[int(call.attrs.axis) % RANK]
        return emitter.typed(relax.op.concat(parts, axis=axis))

    def _image(self, emitter: Emitter, line: Expr) -> Expr:
        """(N, C, 1, L) of a line, or what a constant is beside one."""
        if tvm_api.is_constant(line):
            return _constant_image(line)
        known = self.images.get(line)
        if known is not None:
            return known
        inner = emitter.definition(line)
        stored = tvm_api.operator_name(inner) == "dequantize"
        # Integers are reshaped rather than floats: patterns start behind them.
        made = self._quantiser(emitter, inner) if stored else None
        if made is None:
            batch, channels, length = tvm_api.shape_of(line)
            made = relax.op.reshape(line, (batch, channels, 1, length))
        self.images[line] = emitter.emit(made)
        return self.images[line]

    def _fits(self, emitter: Emitter, call: Any) -> bool:
        """Whether an operand is a line with an image, and the others are lines or constants.

        A constant of more axes makes more than a line of one.
        """
        tensors = [a for a in call.args if _is_tensor(a)]
        return any(a in self.images for a in tensors) and all(
            _rank(a) == RANK or (_rank(a) < RANK and _is_known(emitter, a)) for a in tensors
        )


def _is_known(emitter: Emitter, value: Expr) -> bool:
    """Whether it is a constant, or the dequantize of one."""
    inner = emitter.definition(value)
    if tvm_api.operator_name(inner) == "dequantize" and has_constant_parameters(inner):
        inner = inner.args[0]
    return tvm_api.is_constant(inner)


def _is_tensor(expr: Expr) -> bool:
    return (isinstance(expr, relax.Var) and tvm_api.is_tensor(expr)) or tvm_api.is_constant(expr)


def _rank(expr: Expr) -> int:
    return len(tvm_api.shape_of(expr))


def _constant_image(value: Expr) -> Expr:
    array = tvm_api.constant_value(value)
    if array.ndim == 0:
        return value
    whole = array.reshape((1,) * (RANK - array.ndim) + array.shape)
    return constant(whole[:, :, None, :])


def _window(emitter: Emitter, call: Any, data: Expr) -> Expr | None:
    """The call that computes the image of `call` from that of its operand; None if there is none.

    Args:
        emitter: takes the weights.
        call: a convolution or pool of a line.
        data: (N, C, 1, L).
    """
    operator, attrs = tvm_api.operator_name(call), call.attrs
    if operator in POOLS:
        if (attrs.layout, attrs.out_layout) != ("NCW", "NCW"):
            return None
        return POOLS[operator](
            data,
            pool_size=[1, *map(int, attrs.pool_size)],
            strides=[1, *map(int, attrs.strides)],
            padding=_pads(attrs.padding),
            dilation=[1, *map(int, attrs.dilation)],
            ceil_mode=bool(attrs.ceil_mode),
            count_include_pad=bool(attrs.count_include_pad),
        )
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout)
    weight = _weight(emitter, call.args[1]) if layouts == ("NCW", "OIW", "NCW") else None
    if weight is None:
        return None
    return relax.op.nn.conv2d(
        data,
        weight,
        strides=[1, *map(int, attrs.strides)],
        padding=_pads(attrs.padding),
        dilation=[1, *map(int, attrs.dilation)],
        groups=int(attrs.groups),
        out_dtype=attrs.out_dtype,
    )


def _weight(emitter: Emitter, weight: Expr) -> Expr | None:
    """(O, I, 1, W) of a constant (O, I, W), dequantized or not; None of what is no constant."""

    def rows(value: np.ndarray) -> Expr:
        return constant(value[:, :, None, :])

    if tvm_api.is_constant(weight):
        return rows(tvm_api.constant_value(weight))
    inner = emitter.definition(weight)
    known = tvm_api.operator_name(inner) == "dequantize" and tvm_api.is_constant(inner.args[0])
    if not known or not has_constant_parameters(inner):
        return None
    data = rows(tvm_api.constant_value(inner.args[0]))
    axis, real = IMAGE_AXES[int(inner.attrs.axis)], tvm_api.dtype_of(inner)
    return emitter.emit(relax.op.dequantize(data, *inner.args[1:], axis=axis, out_dtype=real))


def _pads(padding: Any) -> list[int]:
    before, after = (int(p) for p in padding)
    return [0, before, 0, after]


def line_of(image: Expr) -> Expr:
    """(N, C, L) of an image of one row."""
    batch, channels, _, length = tvm_api.shape_of(image)
    return relax.op.reshape(image, (batch, channels, length))
