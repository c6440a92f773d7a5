"""Signed activations made unsigned: every internal int8 tensor becomes uint8.

Accelerators that multiply unsigned activations by signed weights need it (NE16 does). The rewrite
is exact. A tensor's values move up by 128, or by nothing where an integer graph has cut them to 0
and above: `quantize` and `dequantize` move their zero point, the cast at the end of an integer
layer its clip, products read the difference from 128, operators that only move or compare
elements work on either type, and TensorFlow Lite's integer average pool rounds around 128 instead
of 0. Whatever else reads an int8 tensor gets it back through an element-wise conversion, and so do
inputs and outputs of the network, whose types stay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import has_constant_parameters
from match_aie.frontend.canonical.quantized import clip_bounds, half_away_pool
from match_aie.frontend.model import Model
from match_aie.frontend.rebuild import Emitter, Expr, rebuild
from match_aie.hardware import AVG_POOL_HALF_AWAY

#: From int8 to uint8.
SHIFT = 128
#: Operators whose first argument's elements they move or compare, whatever their type.
_TYPELESS = frozenset(
    "reshape permute_dims squeeze expand_dims flatten broadcast_to tile repeat flip strided_slice "
    "max min nn.max_pool1d nn.max_pool2d nn.max_pool3d".split()
)
_WIDE = ("int16", "int32", "int64")


def unsigned_activations(model: Model) -> Model:
    """`model` with uint8 tensors inside wherever there were int8 ones; ports keep their types."""
    main = model.module["main"]
    rewrite = _Unsigned(model.module, set(_variables(main.body.body)))
    module, labels = rebuild(model.module, model.labels, rewrite)
    return replace(model, module=module, labels=labels)


def _variables(expr: Any) -> list[Any]:
    if isinstance(expr, relax.Tuple):
        return [var for item in expr.fields for var in _variables(item)]
    return [expr] if isinstance(expr, relax.Var) else []


@dataclass
class _Form:
    """What an uint8 variable stands for: int8 values `shift` lower, and their variable if any."""

    shift: int
    signed: Any | None = None


@dataclass
class _Unsigned:
    """The visit function of this pass; remembers both forms of every tensor that has them.

    Attributes:
        module: the model's, for its composite functions.
        outputs: old variables that the network gives.
        unsigned: new int8 variable -> its uint8 form.
        forms: new uint8 variable of this pass -> what it stands for.
    """

    module: Any
    outputs: set[Any]
    unsigned: dict[Any, Any] = field(default_factory=dict)
    forms: dict[Any, _Form] = field(default_factory=dict)

    def __call__(self, emitter: Emitter, var: Any, value: Expr) -> Expr:
        """See `rebuild.Visit`."""
        found = self._rewritten(emitter, value)
        if found is None:
            return self._bracketed(emitter, value)
        made, shift = found
        shifted = emitter.emit(made)
        self.forms.setdefault(shifted, _Form(shift))
        return self.as_signed(emitter, shifted) if var in self.outputs else shifted

    def _rewritten(self, emitter: Emitter, value: Expr) -> tuple[Expr, int] | None:
        """(`value` as uint8, its shift) where it gives int8 and can; None for anything else."""
        if value in self.forms:
            return value, self.forms[value].shift
        rules: dict[str, Callable[[Emitter, Any], tuple[Expr, int] | None]] = {
            "quantize": self._quantize,
            "clip": self._clip,
            "concat": self._concat,
            "astype": self._stored,
            "nn.pad": self._pad,
            "take": self._take,
            AVG_POOL_HALF_AWAY: self._average,
        }
        operator = tvm_api.operator_name(value) or tvm_api.composite_name(self.module, value)
        if operator in rules:
            return rules[operator](emitter, value)
        return self._moved(emitter, value) if operator in _TYPELESS else None

    def _moved(self, emitter: Emitter, call: Any) -> tuple[Expr, int] | None:
        if not self._known(call.args[0]):
            return None
        data, shift = self.as_unsigned(emitter, call.args[0])
        return relax.Call(call.op, [data, *call.args[1:]], call.attrs, call.ty_args), shift

    def _take(self, emitter: Emitter, call: Any) -> tuple[Expr, int] | None:
        """Places of 32 and 64 bits are no tensors of this pass."""
        wide = tvm_api.dtype_of(call.args[1]) in _WIDE
        return self._moved(emitter, call) if wide else None

    def _known(self, expr: Expr) -> bool:
        """Whether `expr` has an uint8 form without a conversion."""
        return expr in self.forms or expr in self.unsigned

    def as_unsigned(self, emitter: Emitter, expr: Expr) -> tuple[Expr, int]:
        """The uint8 form of an int8 tensor and its shift; converted where there is none yet."""
        if expr in self.forms:
            return expr, self.forms[expr].shift
        if expr not in self.unsigned:
            made = emitter.emit(_converted(expr, SHIFT, "uint8"))
            self.unsigned[expr], self.forms[made] = made, _Form(SHIFT, expr)
        made = self.unsigned[expr]
        return made, self.forms[made].shift

    def as_signed(self, emitter: Emitter, shifted: Any) -> Expr:
        """The int8 form of an uint8 tensor of this pass, converted where there is none yet."""
        form = self.forms[shifted]
        if form.signed is None:
            form.signed = emitter.emit(_converted(shifted, -form.shift, "int8"))
            self.unsigned[form.signed] = shifted
        return form.signed

    def _bracketed(self, emitter: Emitter, value: Expr) -> Expr:
        """`value` reading int8 again; operators that can read either do."""
        readers: dict[str, Callable[[Emitter, Any], Expr | None]] = {
            "dequantize": self._dequantize,
            "astype": self._widened,
            "nn.conv2d": self._product,
            "matmul": self._product,
        }
        reader = readers.get(tvm_api.operator_name(value))
        made = reader(emitter, value) if reader else None
        if made is not None:
            return made
        if isinstance(value, tvm_api.CallNode):
            arguments = [self._plain(emitter, argument) for argument in value.args]
            return relax.Call(value.op, arguments, value.attrs, value.ty_args)
        return self._plain(emitter, value)

    def _plain(self, emitter: Emitter, expr: Expr) -> Expr:
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([self._plain(emitter, item) for item in expr.fields])
        return self.as_signed(emitter, expr) if expr in self.forms else expr

    # What gives int8.

    def _quantize(self, emitter: Emitter, call: Any) -> tuple[Expr, int] | None:
        data, scale, zero = call.args
        if str(call.attrs.out_dtype) != "int8" or not has_constant_parameters(call):
            return None
        if tvm_api.is_constant(data):
            return None
        axis, plain = int(call.attrs.axis), self._plain(emitter, data)
        raised = _raised(zero, SHIFT)
        return relax.op.quantize(plain, scale, raised, axis=axis, out_dtype="uint8"), SHIFT

    def _stored(self, emitter: Emitter, call: Any) -> tuple[Expr, int] | None:
        """The cast to int8 that ends an integer layer, and the clip before it."""
        cut = emitter.definition(call.args[0])
        if str(call.attrs.dtype) != "int8" or tvm_api.operator_name(cut) != "clip":
            return None
        if tvm_api.dtype_of(call.args[0]) not in _WIDE:
            return None
        low, high = clip_bounds(cut)
        if low < -SHIFT or high >= SHIFT:
            return None
        shift = 0 if low >= 0 else SHIFT
        data = cut.args[0]
        if shift:
            number = relax.const(shift, tvm_api.dtype_of(data))
            moved = emitter.emit(relax.op.add(data, number))
            data = emitter.emit(relax.op.clip(moved, low + shift, high + shift))
        else:
            data = call.args[0]
        return relax.op.astype(data, "uint8"), shift

    def _clip(self, emitter: Emitter, call: Any) -> tuple[Expr, int] | None:
        if not self._known(call.args[0]):
            return None
        low, high = clip_bounds(call)
        data, shift = self.as_unsigned(emitter, call.args[0])
        if high + shift < 0:
            return None
        return relax.op.clip(data, max(low + shift, 0), high + shift), shift

    def _concat(self, emitter: Emitter, call: Any) -> tuple[Expr, int] | None:
        items = list(call.args[0].fields) if isinstance(call.args[0], relax.Tuple) else []
        if not any(self._known(item) for item in items):
            return None
        fields = [self._raised_to(emitter, item) for item in items]
        return relax.op.concat(fields, axis=int(call.attrs.axis)), SHIFT

    def _raised_to(self, emitter: Emitter, expr: Expr) -> Expr:
        """`expr` as uint8, 128 higher."""
        if tvm_api.is_constant(expr):
            return _raised(expr, SHIFT)
        data, shift = self.as_unsigned(emitter, expr)
        return data if shift else emitter.emit(_converted(data, SHIFT, "uint8"))

    def _pad(self, emitter: Emitter, call: Any) -> tuple[Expr, int] | None:
        attrs = call.attrs
        if not self._known(call.args[0]):
            return None
        data, shift = self.as_unsigned(emitter, call.args[0])
        constant = str(attrs.pad_mode) == "constant"
        value = float(attrs.pad_value) + shift if constant else 0.0
        if value < 0:
            return None
        width = [int(size) for size in attrs.pad_width]
        return relax.op.nn.pad(data, width, pad_value=value, pad_mode=str(attrs.pad_mode)), shift

    def _average(self, emitter: Emitter, call: Any) -> tuple[Expr, int] | None:
        data = call.args[0]
        if tvm_api.dtype_of(data) != "int8" and data not in self.forms:
            return None
        attributes = tvm_api.attributes(self.module[call.op].attrs)
        shifted, shift = self.as_unsigned(emitter, data)
        function = half_away_pool(attributes, shifted, zero_point=shift)
        name = f"avg_pool2d_half_away_unsigned_{len(emitter.definitions)}"
        return relax.Call(emitter.builder.add_func(function, name), [shifted]), shift

    # What reads int8.

    def _dequantize(self, emitter: Emitter, call: Any) -> Expr | None:
        data, scale, zero = call.args
        if not self._readable(data) or not has_constant_parameters(call):
            return None
        axis, dtype = int(call.attrs.axis), str(call.attrs.out_dtype)
        shifted, shift = self.as_unsigned(emitter, data)
        return relax.op.dequantize(shifted, scale, _raised(zero, shift), axis=axis, out_dtype=dtype)

    def _readable(self, data: Expr) -> bool:
        """Whether `data` is an int8 activation, in either form."""
        return self._known(data) or (
            isinstance(data, relax.Var)
            and tvm_api.is_tensor(data)
            and tvm_api.dtype_of(data) == "int8"
        )

    def _widened(self, emitter: Emitter, call: Any) -> Expr | None:
        if not self._known(call.args[0]) or str(call.attrs.dtype) not in _WIDE:
            return None
        shifted, shift = self.as_unsigned(emitter, call.args[0])
        return _less(emitter, shifted, shift, str(call.attrs.dtype))

    def _product(self, emitter: Emitter, call: Any) -> Expr | None:
        """A convolution or matrix product of int8 by constant weights, summed in int32."""
        data, weight = call.args[:2]
        if not self._readable(data) or not tvm_api.is_constant(weight):
            return None
        if str(call.attrs.out_dtype) != "int32" or tvm_api.dtype_of(weight) != "int8":
            return None
        shifted, shift = self.as_unsigned(emitter, data)
        centred = emitter.emit(_less(emitter, shifted, shift, "int32"))
        wide = relax.const(tvm_api.constant_value(weight).astype(np.int32))
        return relax.Call(call.op, [centred, wide], call.attrs, call.ty_args)


def _less(emitter: Emitter, shifted: Expr, shift: int, dtype: str) -> Expr:
    """The int8 values behind `shifted` in a wider type."""
    wide = relax.op.astype(shifted, dtype)
    if not shift:
        return wide
    return relax.op.subtract(emitter.emit(wide), relax.const(shift, dtype))


def _converted(expr: Expr, shift: int, dtype: str) -> Expr:
    if not shift:
        return relax.op.astype(expr, dtype)
    wide = relax.op.astype(expr, "int16")
    return relax.op.astype(relax.op.add(wide, relax.const(shift, "int16")), dtype)


def _raised(constant: Any, shift: int) -> Expr:
    """An integer constant `shift` higher; as uint8 where it is int8."""
    value = tvm_api.constant_value(constant)
    dtype = np.uint8 if value.dtype == np.int8 else value.dtype
    raised = value.astype(np.int64) + shift
    if dtype == np.uint8 and raised.min(initial=0) < 0:
        return relax.const(raised.astype(np.int32))
    return relax.const(raised.astype(dtype))
