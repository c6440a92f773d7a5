"""RMS norm, spelled out in primitive operators, as the one operator that it is.

x / sqrt(mean(x^2) + epsilon) times a weight for each element of a row: squares as a power or a
product, the root as a division by it or a product with its reciprocal, factors in any order.
"""

from __future__ import annotations

from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import constant, number_of
from match_aie.frontend.rebuild import Emitter, Expr


def whole_rms_norm(emitter: Emitter, var: Any, value: Expr) -> Expr:
    """`value`, or the RMS norm that it is the last product of."""
    if tvm_api.operator_name(value) != "multiply" or tvm_api.dtype_of(var) != "float32":
        return value
    shape = tvm_api.shape_of(var)
    for weight, normal in (value.args, list(value.args)[::-1]):
        if not tvm_api.is_constant(weight) or not shape:
            continue
        numbers = tvm_api.constant_value(weight)
        if numbers.shape[-1:] != shape[-1:] or numbers.size != shape[-1]:
            continue
        found = _normal(emitter, normal)
        if found is not None and tvm_api.shape_of(found[0]) == shape:
            x, epsilon = found
            return relax.op.nn.rms_norm(x, constant(numbers.reshape(-1)), [-1], epsilon)
    return value


def _normal(emitter: Emitter, value: Expr) -> tuple[Expr, float] | None:
    """(x, epsilon) where `value` is x over the root of its mean square and epsilon."""
    call = emitter.definition(value)
    name = tvm_api.operator_name(call)
    if name not in ("multiply", "divide"):
        return None
    pairs = [tuple(call.args)]
    if name == "multiply":
        pairs.append(pairs[0][::-1])
    for x, scale in pairs:
        root = scale if name == "divide" else _inverted(emitter, scale)
        epsilon = None if root is None else _root_of_square(emitter, root, x, name == "divide")
        if epsilon is not None:
            return x, epsilon
    return None


def _inverted(emitter: Emitter, value: Expr) -> Expr | None:
    """What `value` is the reciprocal of; a reciprocal root as it stands."""
    call = emitter.definition(value)
    if tvm_api.operator_name(call) == "divide" and number_of(call.args[0]) == 1.0:
        return call.args[1]
    return value if tvm_api.operator_name(call) == "rsqrt" else None


def _root_of_square(emitter: Emitter, root: Expr, x: Expr, divided: bool) -> float | None:
    """Epsilon, where `root` is the root of the mean square of `x` and epsilon."""
    call = emitter.definition(root)
    if tvm_api.operator_name(call) not in (("sqrt",) if divided else ("sqrt", "rsqrt")):
        return None
    total = emitter.definition(call.args[0])
    if tvm_api.operator_name(total) != "add":
        return None
    for added, other in (total.args, list(total.args)[::-1]):
        epsilon, mean = number_of(added), emitter.definition(other)
        if epsilon is None or tvm_api.operator_name(mean) != "mean":
            continue
        axes = [int(axis) for axis in mean.attrs.axis or ()]
        rank = len(tvm_api.shape_of(x))
        if bool(mean.attrs.keepdims) and [axis % rank for axis in axes] == [rank - 1]:
            return epsilon if _is_square(emitter, mean.args[0], x) else None
    return None


def _is_square(emitter: Emitter, value: Expr, x: Expr) -> bool:
    call = emitter.definition(value)
    if tvm_api.operator_name(call) == "power":
        return bool(call.args[0].same_as(x)) and number_of(call.args[1]) == 2.0
    return tvm_api.operator_name(call) in ("multiply", "square") and all(
        side.same_as(x) for side in call.args
    )
