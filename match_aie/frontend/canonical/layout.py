"""NHWC inside: every image operator works channel-last, and transposes cancel where they meet.

Each channel-first value of the model keeps a channel-last twin. Operators that care about layout
(convolution, pooling) and element-wise operators whose input has a twin compute on twins;
the channel-first form of a result is a `permute_dims` of its twin, which dead-code elimination
drops unless something still reads it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import constant, has_constant_parameters
from match_aie.frontend.canonical.lines import Lines
from match_aie.frontend.canonical.pieces import part, shuffled, sliced
from match_aie.frontend.canonical.resize import channel_last
from match_aie.frontend.canonical.transposed import Convolved, Unmoved, convolution
from match_aie.frontend.rebuild import Emitter, Expr

TO_NHWC = [0, 2, 3, 1]
TO_NCHW = [0, 3, 1, 2]
RANK = 4

#: Element-wise operators that layout passes through.
ELEMENTWISE = frozenset(
    "quantize dequantize clip astype add subtract multiply divide maximum minimum power "
    "nn.relu nn.relu6 nn.leakyrelu nn.gelu nn.gelu_tanh nn.silu nn.softplus sigmoid tanh exp log "
    "sqrt rsqrt abs negative floor ceil round erf sign left_shift right_shift greater_equal "
    "where".split()
)
POOLS = {
    "nn.max_pool2d": relax.op.nn.max_pool2d,
    "nn.avg_pool2d": relax.op.nn.avg_pool2d,
}


@dataclass
class Layout:
    """The visit function of this pass, with the twins found so far, and the images of lines.

    Attributes:
        convolved: what transposed convolutions become.
        twins: channels last, by channels first.
        lines: rewrites lines as images.
    """

    convolved: Convolved
    twins: dict[Any, Expr] = field(default_factory=dict)
    lines: Lines = field(default_factory=lambda: Lines(ELEMENTWISE))

    @classmethod
    def of(cls, *, convolved: bool | frozenset[str]) -> Layout:
        """As a network needs it; `convolved`: quantised transposed convolutions do not stay.

        Or those of these labels.
        """
        return cls(Convolved(convolved, ELEMENTWISE))

    def __call__(self, emitter: Emitter, var: Any, value: Expr) -> Expr:
        """Rewrite one binding."""
        operator = tvm_api.operator_name(value)
        if operator == "nn.conv2d":
            return self._conv2d(emitter, value)
        if operator == "nn.conv2d_transpose":
            return self._conv2d_transpose(emitter, value)
        if operator in POOLS:
            return self._pool(emitter, operator, value)
        if operator == "image.resize2d" and value.args[0] in self.twins:
            return self._pair(emitter, channel_last(value, self.twins[value.args[0]]))
        line = self.lines.rewritten(emitter, value, self)
        if line is not None:
            return line
        if isinstance(value, relax.TupleGetItem):
            return self._paired(emitter, value, part(emitter, value, self.twins))
        if operator == "strided_slice" and value.args[0] in self.twins:
            return self._paired(emitter, value, sliced(value, self.twins[value.args[0]]))
        if operator == "permute_dims":
            return self._permute(emitter, value)
        if operator == "reshape":
            return self._reshape(emitter, value, tvm_api.shape_of(var))
        if operator == "mean":
            return self._mean(emitter, value)
        if operator == "concat":
            return self._concat(emitter, value)
        if operator == "matmul":
            return self._matmul(emitter, value)
        unmoved = self.convolved.following(emitter, value)
        if unmoved is not None:
            return self._moved(emitter, unmoved)
        if operator in ELEMENTWISE and self._wants_twin(value):
            return self._elementwise(emitter, value)
        return value

    def _pair(self, emitter: Emitter, last: Expr) -> Expr:
        """The channel-first form of channel-last `last`, remembered as its twin."""
        twin = emitter.emit(last)
        first = emitter.emit(_transpose(twin, TO_NCHW))
        self.twins[first] = twin
        return first

    def _paired(self, emitter: Emitter, value: Expr, last: Expr | None) -> Expr:
        """`value` as it is where there is no channel-last form of it."""
        return value if last is None else self._pair(emitter, last)

    def twin(self, emitter: Emitter, expr: Expr) -> Expr:
        """`expr` channel-last."""
        if tvm_api.is_constant(expr):
            return constant(np.transpose(tvm_api.constant_value(expr), TO_NHWC))
        known = self.twins.get(expr)
        if known is not None:
            return known
        inner = emitter.definition(expr)
        operator = tvm_api.operator_name(inner)
        if (operator == "dequantize" and has_constant_parameters(inner)) or _widens(inner):
            # Transpose the stored integers: a quarter of the bytes, and patterns start there.
            made = emitter.emit(self._rebuilt(emitter, inner))
        else:
            made = emitter.emit(_transpose(expr, TO_NHWC))
        self.twins[expr] = made
        return made

    def _rebuilt(self, emitter: Emitter, call: Any) -> Expr:
        """An element-wise call on the twins of its rank-4 arguments."""
        operator = tvm_api.operator_name(call)
        if operator in ("quantize", "dequantize"):
            function = relax.op.quantize if operator == "quantize" else relax.op.dequantize
            axis = int(call.attrs.axis)
            per_tensor = tvm_api.constant_value(call.args[1]).size == 1
            return function(
                self.twin(emitter, call.args[0]),
                call.args[1],
                call.args[2],
                axis=0 if per_tensor else TO_NHWC.index(axis),
                out_dtype=str(call.attrs.out_dtype),
            )
        args = [_as_image(a) for a in call.args]
        args = [self.twin(emitter, a) if _is_image(a) else a for a in args]
        return relax.Call(call.op, args, call.attrs, call.ty_args)

    def _wants_twin(self, call: Any) -> bool:
        """Whether computing channel-last saves a transpose, and broadcasting allows it."""
        tensors = [a for a in call.args if _is_tensor(a)]
        if tvm_api.operator_name(call) in ("quantize", "dequantize"):
            if not has_constant_parameters(call):
                return False
            tensors = tensors[:1]
        unknown = [t for t in tensors if not tvm_api.is_constant(t)]
        if any(0 < len(tvm_api.shape_of(t)) < RANK for t in unknown):
            return False
        if any(len(tvm_api.shape_of(t)) > RANK for t in tensors):
            return False  # of more axes than an image, and so is the result
        return any(_is_image(t) and t in self.twins for t in tensors if isinstance(t, relax.Var))

    def _elementwise(self, emitter: Emitter, call: Any) -> Expr:
        twin = self._rebuilt(emitter, call)
        if tvm_api.operator_name(call) != "dequantize":
            return self._pair(emitter, twin)
        # Integers are transposed rather than floats, and an output stays a plain dequantize.
        first = emitter.emit(call)
        self.twins[first] = emitter.emit(twin)
        return first

    def _conv2d(self, emitter: Emitter, call: Any) -> Expr:
        attrs = call.attrs
        image = attrs.data_layout
        if image not in ("NCHW", "NHWC"):
            return call
        data = self.twin(emitter, call.args[0]) if image == "NCHW" else call.args[0]
        weight = _filter(emitter, call.args[1], str(attrs.kernel_layout))
        result = relax.op.nn.conv2d(
            data,
            weight,
            strides=list(attrs.strides),
            padding=list(attrs.padding),
            dilation=list(attrs.dilation),
            groups=int(attrs.groups),
            data_layout="NHWC",
            kernel_layout="HWIO",
            out_layout="NHWC",
            out_dtype=attrs.out_dtype,
        )
        return self._pair(emitter, result) if image == "NCHW" else result

    def _moved(self, emitter: Emitter, unmoved: Unmoved) -> Expr:
        """Channels first, of what may go on before its channels move."""
        first = self._pair(emitter, unmoved.moved(emitter))
        self.convolved.unmoved[first] = unmoved
        return first

    def _conv2d_transpose(self, emitter: Emitter, call: Any) -> Expr:
        """As a convolution, or quantised; else the fallback knows channels first alone."""
        if self.convolved.takes(emitter, call):
            made = convolution(emitter, self.twin(emitter, call.args[0]), call)
            if tvm_api.is_constant(call.args[1]):
                return self._pair(emitter, made.moved(emitter))
            return self._moved(emitter, made)
        weight = emitter.definition(call.args[1])
        constant_weight = (
            tvm_api.operator_name(weight) == "dequantize"
            and tvm_api.is_constant(weight.args[0])
            and has_constant_parameters(weight)
        )
        attrs = call.attrs
        layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout)
        if not constant_weight or layouts != ("NCHW", "IOHW", "NCHW"):
            return call
        result = relax.op.nn.conv2d_transpose(
            self.twin(emitter, call.args[0]),
            call.args[1],
            strides=list(attrs.strides),
            padding=list(attrs.padding),
            output_padding=list(attrs.output_padding),
            dilation=list(attrs.dilation),
            groups=int(attrs.groups),
            data_layout="NHWC",
            kernel_layout="IOHW",
            out_layout="NHWC",
            out_dtype=attrs.out_dtype,
        )
        return self._pair(emitter, result)

    def _pool(self, emitter: Emitter, operator: str, call: Any) -> Expr:
        attrs = call.attrs
        if attrs.layout != "NCHW":
            return call
        result = POOLS[operator](
            self.twin(emitter, call.args[0]),
            pool_size=list(attrs.pool_size),
            strides=list(attrs.strides),
            padding=list(attrs.padding),
            dilation=list(attrs.dilation),
            ceil_mode=bool(attrs.ceil_mode),
            count_include_pad=bool(attrs.count_include_pad),
            layout="NHWC",
            out_layout="NHWC",
        )
        return self._pair(emitter, result)

    def _permute(self, emitter: Emitter, call: Any) -> Expr:
        source = call.args[0]
        rank = len(tvm_api.shape_of(source))
        axes = [int(a) for a in call.attrs.axes] if call.attrs.axes is not None else []
        if rank != RANK:
            return call
        if axes == TO_NHWC and source in self.twins:
            return self.twins[source]
        if axes == TO_NCHW:
            first = emitter.emit(_transpose(source, TO_NCHW))
            self.twins[first] = source
            return first
        return call

    def _reshape(self, emitter: Emitter, call: Any, shape: tuple[int, ...]) -> Expr:
        """A reshape of one-pixel or one-channel images needs no transpose at all."""
        moved = shuffled(emitter, call, shape, self.twins)
        if moved is not None:
            return self._pair(emitter, moved)
        source = call.args[0]
        if isinstance(source, relax.Var) and source in self.twins:
            _, channels, rows, columns = tvm_api.shape_of(source)
            if channels == 1 or rows * columns == 1:
                source = self.twins[source]
        inner = emitter.definition(source)
        if tvm_api.operator_name(inner) == "reshape":
            source = inner.args[0]
        if tvm_api.shape_of(source) == shape:
            return source
        return relax.op.reshape(source, shape)

    def _matmul(self, emitter: Emitter, call: Any) -> Expr:
        """A flattened image times constant weights: the weights' rows move, not the image."""
        flat = emitter.definition(call.args[0])
        dequantize = flat if tvm_api.operator_name(flat) == "dequantize" else None
        if dequantize is not None:
            flat = emitter.definition(dequantize.args[0])
        if tvm_api.operator_name(flat) != "reshape" or flat.args[0] not in self.twins:
            return call
        batch, *image = tvm_api.shape_of(flat.args[0])
        if tvm_api.shape_of(flat) != (batch, prod(image)):
            return call
        weight = _moved_rows(emitter, call.args[1], image)
        if weight is None or (dequantize is not None and not has_constant_parameters(dequantize)):
            return call
        data = emitter.emit(relax.op.reshape(self.twins[flat.args[0]], (batch, prod(image))))
        if dequantize is not None:
            arguments = (data, *dequantize.args[1:])
            data = emitter.emit(relax.Call(dequantize.op, arguments, dequantize.attrs))
        return relax.Call(call.op, [data, weight], call.attrs, call.ty_args)

    def _mean(self, emitter: Emitter, call: Any) -> Expr:
        source, axes = call.args[0], call.attrs.axis
        if not _is_image(source) or axes is None or source not in self.twins:
            return call
        if sorted(int(a) % RANK for a in axes) != [2, 3]:
            return call
        result = relax.op.mean(self.twins[source], axis=[1, 2], keepdims=bool(call.attrs.keepdims))
        return self._pair(emitter, result) if call.attrs.keepdims else result

    def _concat(self, emitter: Emitter, call: Any) -> Expr:
        items = list(call.args[0].fields) if isinstance(call.args[0], relax.Tuple) else []
        if not items or not all(_is_image(i) for i in items):
            return call
        if not any(isinstance(i, relax.Var) and i in self.twins for i in items):
            return call
        axis = TO_NHWC.index(int(call.attrs.axis) % RANK)
        return self._pair(
            emitter, relax.op.concat([self.twin(emitter, i) for i in items], axis=axis)
        )


def _is_tensor(expr: Expr) -> bool:
    return isinstance(expr, relax.Var) or tvm_api.is_constant(expr)


def _widens(call: Any) -> bool:
    """Whether integers are only widened, or a zero point subtracted from them."""
    operator = tvm_api.operator_name(call)
    if operator == "subtract":
        return tvm_api.is_constant(call.args[1]) and tvm_api.dtype_of(call) == "int32"
    wide = operator == "astype" and tvm_api.dtype_of(call) == "int32"
    return wide and tvm_api.dtype_of(call.args[0]) in ("int8", "uint8", "int16", "uint16")


def _as_image(expr: Expr) -> Expr:
    """A constant of lower rank as numpy would broadcast it against an image; others as they are."""
    if not tvm_api.is_constant(expr) or not 0 < len(tvm_api.shape_of(expr)) < RANK:
        return expr
    value = tvm_api.constant_value(expr)
    return constant(value.reshape((1,) * (RANK - value.ndim) + value.shape))


def _is_image(expr: Expr) -> bool:
    return _is_tensor(expr) and tvm_api.is_tensor(expr) and len(tvm_api.shape_of(expr)) == RANK


def _transpose(expr: Expr, axes: list[int]) -> Expr:
    """`permute_dims`, or a reshape where moving axes of size 1 leaves the order of elements."""
    shape = tvm_api.shape_of(expr)
    moved = [shape[a] for a in axes]
    order = [a for a in axes if shape[a] != 1]
    if order == sorted(order):
        return relax.op.reshape(expr, moved)
    return relax.op.permute_dims(expr, axes)


def _moved_rows(emitter: Emitter, weight: Expr, image: list[int]) -> Expr | None:
    """Weights [C*H*W, K] for rows in the order [H*W*C]; None where they are not constants."""

    def move(value: np.ndarray) -> Expr:
        rows = value.reshape(*image, value.shape[1])
        return constant(rows.transpose(1, 2, 0, 3).reshape(value.shape))

    if tvm_api.is_constant(weight):
        value = tvm_api.constant_value(weight)
        return move(value) if value.ndim == 2 else None
    inner = emitter.definition(weight)
    if tvm_api.operator_name(inner) != "dequantize" or not tvm_api.is_constant(inner.args[0]):
        return None
    value = tvm_api.constant_value(inner.args[0])
    if value.ndim != 2 or not has_constant_parameters(inner):
        return None
    per_row = int(inner.attrs.axis) % 2 == 0
    if per_row and any(tvm_api.constant_value(a).size > 1 for a in inner.args[1:]):
        return None
    return emitter.emit(relax.Call(inner.op, [move(value), *inner.args[1:]], inner.attrs))


def _filter(emitter: Emitter, weight: Expr, layout: str) -> Expr:
    """Filter weights in HWIO; constants (also below their dequantize) are transposed here."""
    axes = [layout.index(letter) for letter in "HWIO"]
    if axes == [0, 1, 2, 3]:
        return weight
    if tvm_api.is_constant(weight):
        return constant(np.transpose(tvm_api.constant_value(weight), axes))
    inner = emitter.definition(weight)
    folded = tvm_api.operator_name(inner) == "dequantize" and tvm_api.is_constant(inner.args[0])
    if folded and has_constant_parameters(inner):
        data = constant(np.transpose(tvm_api.constant_value(inner.args[0]), axes))
        vector = tvm_api.constant_value(inner.args[1]).size > 1
        axis = axes.index(int(inner.attrs.axis)) if vector else 0
        return emitter.emit(
            relax.op.dequantize(
                data, inner.args[1], inner.args[2], axis=axis, out_dtype=tvm_api.dtype_of(inner)
            )
        )
    return emitter.emit(relax.op.permute_dims(weight, axes))
