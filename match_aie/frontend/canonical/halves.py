"""Operators on 16-bit floats, computed in 32 bits.

ONNX Runtime and LiteRT have no such kernels on a processor: they widen what goes into an operator
and drop the roundings between two of them. So does this pass, and modules find the layers that they
know. A result that leaves the network is rounded once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import constant
from match_aie.frontend.rebuild import Emitter, Expr

HALF, SINGLE = "float16", "float32"

#: Operators that are computed in 32 bits: of elements, and of sums.
COMPUTED = frozenset(
    "clip add subtract multiply divide maximum minimum power where erf sqrt rsqrt exp log sigmoid "
    "tanh abs negative sin cos nn.relu nn.relu6 nn.leakyrelu nn.gelu nn.gelu_tanh nn.silu "
    "nn.softplus nn.softmax nn.log_softmax nn.layer_norm nn.rms_norm nn.group_norm "
    "nn.instance_norm nn.conv1d nn.conv2d nn.conv1d_transpose nn.conv2d_transpose nn.max_pool1d "
    "nn.max_pool2d nn.avg_pool1d nn.avg_pool2d matmul sum mean max min image.resize2d".split()
)

#: Operators that move what was computed; what was not keeps the roundings that it has.
MOVING = frozenset(
    "nn.pad reshape permute_dims squeeze expand_dims flatten broadcast_to tile repeat concat split "
    "strided_slice take flip stack".split()
)


@dataclass
class Widened:
    """The visit function of this pass.

    Attributes:
        narrowed: 16-bit result of a widened operator -> what it was before it was rounded.
        inputs: other 16-bit tensors -> the same in 32 bits.
    """

    narrowed: dict[Any, Expr] = field(default_factory=dict)
    inputs: dict[Any, Expr] = field(default_factory=dict)

    def __call__(self, emitter: Emitter, var: Any, value: Expr) -> Expr:
        """Rewrite one binding."""
        operator = tvm_api.operator_name(value)
        if operator == "astype" and tvm_api.is_tensor(var) and _casts_nothing(var, value):
            return value.args[0]
        if operator == "astype" and tvm_api.is_tensor(var) and tvm_api.dtype_of(var) == SINGLE:
            known = value.args[0] if isinstance(value.args[0], relax.Var) else None
            return self.narrowed.get(known, value)
        if not self._applies(operator, var, value):
            return value
        args = [self._wide(emitter, arg) for arg in value.args]
        wide = emitter.emit(relax.Call(value.op, args, value.attrs, value.ty_args))
        if tvm_api.is_tensor(var):
            return self._narrow(emitter, wide)
        pieces = [relax.TupleGetItem(wide, at) for at in range(len(var.ty.fields))]
        return relax.Tuple([self._narrow(emitter, emitter.emit(piece)) for piece in pieces])

    def _applies(self, operator: str, var: Any, call: Any) -> bool:
        """Whether all results are 16-bit floats, and no attribute says of what type they are."""
        if operator not in COMPUTED and not (operator in MOVING and self._moves_computed(call)):
            return False
        types = [var.ty] if tvm_api.is_tensor(var) else list(getattr(var.ty, "fields", ()))
        known = all(isinstance(ty, relax.TensorType) and str(ty.dtype) == HALF for ty in types)
        said = str(getattr(call.attrs, "out_dtype", "") or "void")
        return bool(types) and known and said == "void"

    def _moves_computed(self, call: Any) -> bool:
        first = call.args[0]
        moved = list(first.fields) if isinstance(first, relax.Tuple) else [first]
        return all(arg in self.narrowed for arg in moved if isinstance(arg, relax.Var)) and any(
            isinstance(arg, relax.Var) for arg in moved
        )

    def _wide(self, emitter: Emitter, arg: Expr) -> Expr:
        if isinstance(arg, relax.Tuple):
            return relax.Tuple([self._wide(emitter, part) for part in arg.fields])
        if not isinstance(arg.ty, relax.TensorType) or tvm_api.dtype_of(arg) != HALF:
            return arg
        if tvm_api.is_constant(arg):
            return constant(tvm_api.constant_value(arg).astype(np.float32))
        for known in (self.narrowed, self.inputs):
            if arg in known:
                return known[arg]
        source = emitter.definition(arg)
        if tvm_api.operator_name(source) == "astype" and tvm_api.dtype_of(source.args[0]) == SINGLE:
            return source.args[0]
        self.inputs[arg] = emitter.emit(relax.op.astype(arg, SINGLE))
        return self.inputs[arg]

    def _narrow(self, emitter: Emitter, wide: Expr) -> Expr:
        narrow = emitter.emit(relax.op.astype(wide, HALF))
        self.narrowed[narrow] = wide
        return narrow


def _casts_nothing(var: Any, call: Any) -> bool:
    return tvm_api.dtype_of(var) == tvm_api.dtype_of(call.args[0]) == HALF
