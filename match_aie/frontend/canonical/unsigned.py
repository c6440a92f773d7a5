"""Signed activations made unsigned: every internal int8 tensor becomes uint8, 128 higher.

Accelerators that multiply unsigned activations by signed weights need it (NE16 does). The rewrite
is exact: `quantize` and `dequantize` move their zero point by 128, operators that only move or
compare elements work on either type, and TensorFlow Lite's integer average pool rounds around
128 instead of 0. Whatever else reads an int8 tensor gets it back through an element-wise
conversion, and so do inputs and outputs of the network, whose types stay.
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
    {
        "reshape",
        "permute_dims",
        "squeeze",
        "expand_dims",
        "flatten",
        "broadcast_to",
        "tile",
        "repeat",
        "flip",
        "strided_slice",
        "max",
        "min",
        "nn.max_pool1d",
        "nn.max_pool2d",
        "nn.max_pool3d",
    }
)


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
class _Unsigned:
    """The visit function of this pass; remembers both forms of every tensor that has them.

    Attributes:
        module: the model's, for its composite functions.
        outputs: old variables that the network gives.
        unsigned: new int8 variable -> its uint8 form.
        signed: new uint8 variable -> its int8 form, None where nothing needed that so far.
    """

    module: Any
    outputs: set[Any]
    unsigned: dict[Any, Any] = field(default_factory=dict)
    signed: dict[Any, Any | None] = field(default_factory=dict)

    def __call__(self, emitter: Emitter, var: Any, value: Expr) -> Expr:
        """See `rebuild.Visit`."""
        made = self._rewritten(emitter, value)
        if made is None:
            return self._bracketed(emitter, value)
        shifted = emitter.emit(made)
        self.signed.setdefault(shifted, None)
        return self.as_signed(emitter, shifted) if var in self.outputs else shifted

    def _rewritten(self, emitter: Emitter, value: Expr) -> Expr | None:
        """`value` with an uint8 result that stands for an int8 one; None for anything else."""
        if value in self.signed:
            return value
        rules: dict[str, Callable[[Emitter, Any], Expr | None]] = {
            "quantize": self._quantize,
            "clip": self._clip,
            "concat": self._concat,
            "nn.pad": self._pad,
            AVG_POOL_HALF_AWAY: self._average,
        }
        operator = tvm_api.operator_name(value) or tvm_api.composite_name(self.module, value)
        if operator in rules:
            return rules[operator](emitter, value)
        if operator in _TYPELESS and self._has_unsigned(value.args[0]):
            data = self.as_unsigned(emitter, value.args[0])
            return relax.Call(value.op, [data, *value.args[1:]], value.attrs, value.ty_args)
        return None

    def _has_unsigned(self, expr: Expr) -> bool:
        """Whether `expr` has an uint8 form without a conversion."""
        return expr in self.signed or expr in self.unsigned

    def as_unsigned(self, emitter: Emitter, expr: Expr) -> Expr:
        """The uint8 form of an int8 tensor, converted where there is none yet."""
        if expr in self.signed:
            return expr
        if tvm_api.is_constant(expr):
            raised = tvm_api.constant_value(expr).astype(np.int16) + SHIFT
            return relax.const(raised.astype(np.uint8))
        if expr not in self.unsigned:
            made = emitter.emit(_converted(expr, SHIFT, "uint8"))
            self.unsigned[expr], self.signed[made] = made, expr
        return self.unsigned[expr]

    def as_signed(self, emitter: Emitter, shifted: Any) -> Expr:
        """The int8 form of an uint8 tensor of this pass, converted where there is none yet."""
        known = self.signed[shifted]
        if known is None:
            known = emitter.emit(_converted(shifted, -SHIFT, "int8"))
            self.unsigned[known], self.signed[shifted] = shifted, known
        return known

    def _bracketed(self, emitter: Emitter, value: Expr) -> Expr:
        """`value` reading int8 again; dequantize reads either."""
        if tvm_api.operator_name(value) == "dequantize":
            return self._dequantize(emitter, value)
        if isinstance(value, relax.Tuple):
            return relax.Tuple([self._plain(emitter, item) for item in value.fields])
        if isinstance(value, tvm_api.CallNode):
            arguments = [self._plain(emitter, argument) for argument in value.args]
            return relax.Call(value.op, arguments, value.attrs, value.ty_args)
        return self._plain(emitter, value)

    def _plain(self, emitter: Emitter, expr: Expr) -> Expr:
        if isinstance(expr, relax.Tuple):
            return relax.Tuple([self._plain(emitter, item) for item in expr.fields])
        return self.as_signed(emitter, expr) if expr in self.signed else expr

    def _quantize(self, emitter: Emitter, call: Any) -> Expr | None:
        data, scale, zero = call.args
        if str(call.attrs.out_dtype) != "int8" or not has_constant_parameters(call):
            return None
        if tvm_api.is_constant(data):
            return None
        axis = int(call.attrs.axis)
        plain = self._plain(emitter, data)
        return relax.op.quantize(plain, scale, _raised(zero), axis=axis, out_dtype="uint8")

    def _dequantize(self, emitter: Emitter, call: Any) -> Expr:
        data, scale, zero = call.args
        internal = isinstance(data, relax.Var) and tvm_api.dtype_of(data) in ("int8", "uint8")
        known = internal and (self._has_unsigned(data) or tvm_api.dtype_of(data) == "int8")
        if not known or not has_constant_parameters(call):
            return relax.Call(call.op, [self._plain(emitter, data), scale, zero], call.attrs)
        axis, dtype = int(call.attrs.axis), str(call.attrs.out_dtype)
        shifted = self.as_unsigned(emitter, data)
        return relax.op.dequantize(shifted, scale, _raised(zero), axis=axis, out_dtype=dtype)

    def _clip(self, emitter: Emitter, call: Any) -> Expr | None:
        if not self._has_unsigned(call.args[0]):
            return None
        low, high = clip_bounds(call)
        return relax.op.clip(self.as_unsigned(emitter, call.args[0]), low + SHIFT, high + SHIFT)

    def _concat(self, emitter: Emitter, call: Any) -> Expr | None:
        items = list(call.args[0].fields) if isinstance(call.args[0], relax.Tuple) else []
        if not any(self._has_unsigned(item) for item in items):
            return None
        fields = [self.as_unsigned(emitter, item) for item in items]
        return relax.op.concat(fields, axis=int(call.attrs.axis))

    def _pad(self, emitter: Emitter, call: Any) -> Expr | None:
        attrs = call.attrs
        if not self._has_unsigned(call.args[0]):
            return None
        constant = str(attrs.pad_mode) == "constant"
        value = float(attrs.pad_value) + SHIFT if constant else 0.0
        width = [int(size) for size in attrs.pad_width]
        data = self.as_unsigned(emitter, call.args[0])
        return relax.op.nn.pad(data, width, pad_value=value, pad_mode=str(attrs.pad_mode))

    def _average(self, emitter: Emitter, call: Any) -> Expr | None:
        data = call.args[0]
        if tvm_api.dtype_of(data) != "int8" and data not in self.signed:
            return None
        attributes = tvm_api.attributes(self.module[call.op].attrs)
        shifted = self.as_unsigned(emitter, data)
        function = half_away_pool(attributes, shifted, zero_point=SHIFT)
        name = f"avg_pool2d_half_away_unsigned_{len(emitter.definitions)}"
        return relax.Call(emitter.builder.add_func(function, name), [shifted])


def _converted(expr: Expr, shift: int, dtype: str) -> Expr:
    wide = relax.op.astype(expr, "int16")
    return relax.op.astype(relax.op.add(wide, relax.const(shift, "int16")), dtype)


def _raised(zero: Any) -> Expr:
    """A zero point 128 higher; as uint8 where it is int8."""
    value = tvm_api.constant_value(zero)
    dtype = np.uint8 if value.dtype == np.int8 else value.dtype
    return relax.const((value.astype(np.int64) + SHIFT).astype(dtype))
