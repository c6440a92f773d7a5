"""Inputs and outputs of a Relax function: plain parameter names, and quantisation at the ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.errors import ModelError
from match_aie.frontend.rebuild import Emitter, rebuild

Expr = Any
Quantisation = tuple[float, int]


def plain_parameters(module: Expr, labels: Mapping[str, str]) -> tuple[Expr, dict[str, str]]:
    """`module` with parameters called input0, input1, ...: users' names may hold anything.

    Returns:
        The module, and the labels of its variables.

    Raises:
        ModelError: two parameters share a name.
    """
    params = list(module["main"].params)
    names = [tvm_api.variable_name(param) for param in params]
    if len(set(names)) != len(names):
        raise ModelError("two inputs of the model share a name")
    fresh = {
        name: relax.Var(f"input{i}", p.ty)
        for i, (name, p) in enumerate(zip(names, params, strict=True))
    }
    module, found = rebuild(module, labels, _unchanged, fresh)
    complete: dict[str, str] = {}
    for var, _ in tvm_api.bindings(module["main"]):
        name = tvm_api.variable_name(var)
        complete[name] = found.get(name) or next(reversed(complete.values()), name)
    return module, complete


def _unchanged(emitter: Emitter, var: Expr, value: Expr) -> Expr:
    return value


def input_quantisation(main: Expr, param: Expr) -> Quantisation | None:
    """Scale and zero point where `param` is only quantised, or only dequantised."""
    users = [v for _, v in tvm_api.bindings(main) if _reads(v, param)]
    return _parameters(users[0]) if len(users) == 1 else None


def output_quantisation(main: Expr, result: Expr) -> Quantisation | None:
    """Scale and zero point where `result` comes from a quantize or dequantize."""
    definitions = {var: value for var, value in tvm_api.bindings(main)}
    while isinstance(result, relax.Var) and result in definitions:
        result = definitions[result]
    return _parameters(result)


def _reads(value: Expr, var: Expr) -> bool:
    items = getattr(value, "args", None) or getattr(value, "fields", None) or [value]
    return any(isinstance(item, relax.Var) and item.same_as(var) for item in items)


def _parameters(value: Expr) -> Quantisation | None:
    """Scale and zero point of a quantize or dequantize that has one of each."""
    if tvm_api.operator_name(value) not in ("quantize", "dequantize"):
        return None
    scale, zero = value.args[1], value.args[2]
    if not (tvm_api.is_constant(scale) and tvm_api.is_constant(zero)):
        return None
    numbers = tvm_api.constant_value(scale), tvm_api.constant_value(zero)
    if any(number.size != 1 for number in numbers):
        return None
    return float(numbers[0].reshape(())), int(numbers[1].reshape(()))
