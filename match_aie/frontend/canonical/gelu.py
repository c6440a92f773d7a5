"""GELU by tanh, spelled out in primitive operators, as the one operator that it is.

0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), whatever the order of its products and sums: the
product is a list of factors, what goes into the tanh a polynomial of x.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import number_of
from match_aie.frontend.rebuild import Emitter, Expr

#: Coefficients of x and x^3.
ROOT, CUBIC = math.sqrt(2 / math.pi), 0.044715
#: By which stored constants may differ: they are rounded to float32, some are cut before.
NEAR = 1e-5
#: Products of more operators are something else.
DEEPEST = 8


def whole_gelu(emitter: Emitter, var: Any, value: Expr) -> Expr:
    """`value`, or the GELU that it is the last product of."""
    if tvm_api.operator_name(value) != "multiply" or tvm_api.dtype_of(var) != "float32":
        return value
    scale, factors = _factors(emitter, value)
    if len(factors) != 2 or not math.isclose(scale, 0.5, rel_tol=NEAR):
        return value
    for x, total in (factors, factors[::-1]):
        if _is_one_and_tanh(emitter, x, total) and tvm_api.shape_of(x) == tvm_api.shape_of(var):
            return relax.op.nn.gelu_tanh(x)
    return value


def _factors(emitter: Emitter, value: Expr, depth: int = 0) -> tuple[float, list[Expr]]:
    """(product of the constants, the other factors) of a tree of multiplications."""
    number = number_of(value)
    if number is not None:
        return number, []
    call = emitter.definition(value)
    if tvm_api.operator_name(call) != "multiply" or depth > DEEPEST:
        return 1.0, [value]
    scale, found = 1.0, list[Expr]()
    for argument in call.args:
        part, factors = _factors(emitter, argument, depth + 1)
        scale, found = scale * part, [*found, *factors]
    return scale, found


def _is_one_and_tanh(emitter: Emitter, x: Expr, total: Expr) -> bool:
    """Whether `total` is 1 + tanh of the polynomial of `x`."""
    call = emitter.definition(total)
    if tvm_api.operator_name(call) != "add":
        return False
    for one, other in (call.args, list(call.args)[::-1]):
        if number_of(one) != 1.0:
            continue
        inner = emitter.definition(other)
        if tvm_api.operator_name(inner) == "tanh":
            found = _polynomial(emitter, inner.args[0], x)
            return found is not None and _is_wanted(found)
    return False


def _is_wanted(found: Mapping[int, float]) -> bool:
    terms = {power: value for power, value in found.items() if value}
    wanted = {1: ROOT, 3: ROOT * CUBIC}
    return terms.keys() == wanted.keys() and all(
        math.isclose(terms[power], value, rel_tol=NEAR) for power, value in wanted.items()
    )


def _polynomial(emitter: Emitter, value: Expr, x: Expr, depth: int = 0) -> dict[int, float] | None:
    """Coefficients by power of `x`; None where it is no polynomial of it."""
    if value.same_as(x):
        return {1: 1.0}
    number = number_of(value)
    if number is not None:
        return {0: number}
    call, name = emitter.definition(value), tvm_api.operator_name(emitter.definition(value))
    if depth > DEEPEST or name not in ("add", "multiply", "power"):
        return None
    parts = [_polynomial(emitter, argument, x, depth + 1) for argument in call.args]
    left, right = parts
    if left is None or right is None:
        return None
    if name == "power":
        exponent = number_of(call.args[1])
        return {3: 1.0} if exponent == 3.0 and left == {1: 1.0} else None
    if name == "add":
        return {power: left.get(power, 0.0) + right.get(power, 0.0) for power in left | right}
    result: dict[int, float] = {}
    for power, a in left.items():
        for other, b in right.items():
            result[power + other] = result.get(power + other, 0.0) + a * b
    return result
