"""Products of two activations as attention has them, whoever wrote it down.

PyTorch's exporter scales queries and keys by the root of the factor each, before the product, and
swaps the keys' last two axes between two reshapes; others transpose the keys twice, heads to the
front and then both last axes. Here the product is scaled behind, and the keys are transposed once:
a few roundings of float32 elsewhere, as with GELU.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import constant, number_of, permutation
from match_aie.frontend.rebuild import Emitter, Expr


def whole_scores(emitter: Emitter, var: Any, value: Expr) -> Expr:
    """`value`, or what it is in simpler words."""
    operator = tvm_api.operator_name(value)
    if operator == "reshape":
        return _transposed(emitter, var, value)
    if operator == "matmul" and tvm_api.dtype_of(var) == "float32":
        return _scaled(emitter, value)
    return value


def _scaled(emitter: Emitter, product: Any) -> Expr:
    """A product of activations whose operands are multiplied by numbers, multiplied by these.

    Its operands are transposed once at most.
    """
    if any(_known(emitter.definition(side)) for side in product.args):
        return product
    pairs = [_factor(emitter, side) for side in product.args]
    sides = [_turned_once(emitter, plain) for _, plain in pairs]
    if _same(sides, product.args):
        return product
    made = relax.op.matmul(*sides)
    if _same([plain for _, plain in pairs], product.args):
        return made
    factor = pairs[0][0] * pairs[1][0]
    return relax.op.multiply(emitter.emit(made), constant(np.asarray(factor, np.float32)))


def _same(some: Sequence[Expr], others: Sequence[Expr]) -> bool:
    return all(one.same_as(other) for one, other in zip(some, others, strict=True))


def _turned_once(emitter: Emitter, side: Expr) -> Expr:
    """An operand that is transposed twice, as one transpose."""
    second = emitter.definition(side)
    if tvm_api.operator_name(second) != "permute_dims":
        return side
    first = emitter.definition(second.args[0])
    if tvm_api.operator_name(first) != "permute_dims":
        return side
    rank = len(tvm_api.shape_of(side))
    before = permutation(first, rank)
    order = [before[axis] for axis in permutation(second, rank)]
    source = first.args[0]
    return source if order == [*range(rank)] else emitter.emit(relax.op.permute_dims(source, order))


def _known(side: Any) -> bool:
    """Whether a side of a product is weights, stored as floats or as integers.

    What is multiplied by these keeps its numbers: the half of a GELU, by which modules know it.
    """
    if tvm_api.operator_name(side) == "dequantize":
        side = side.args[0]
    return bool(tvm_api.is_constant(side))


def _factor(emitter: Emitter, side: Expr) -> tuple[np.float32, Expr]:
    """(number, the other factor) of an operand; 1 where it is no product with a number."""
    call = emitter.definition(side)
    if tvm_api.operator_name(call) not in ("multiply", "divide"):
        return np.float32(1), side
    first, second = call.args
    number = number_of(second)
    if number is not None and tvm_api.operator_name(call) == "divide":
        return (np.float32(1 / number), first) if number else (np.float32(1), side)
    if number is None:
        number, first = number_of(first), second
    same = number is not None and tvm_api.shape_of(first) == tvm_api.shape_of(side)
    return (np.float32(number), first) if same else (np.float32(1), side)


def _transposed(emitter: Emitter, var: Any, value: Any) -> Expr:
    """A reshape of turned matrices, whose batches were one axis meanwhile, as one transpose."""
    turned = emitter.definition(value.args[0])
    if tvm_api.operator_name(turned) != "permute_dims":
        return value
    flat = emitter.definition(turned.args[0])
    if tvm_api.operator_name(flat) != "reshape":
        return value
    source = flat.args[0]
    if len(tvm_api.shape_of(source)) < 3:
        return value
    *batch, rows, columns = tvm_api.shape_of(source)
    inner, wanted = tvm_api.shape_of(turned.args[0]), tvm_api.shape_of(var)
    if inner[1:] != (rows, columns) or wanted != (*batch, columns, rows):
        return value
    if permutation(turned, len(inner)) != [0, 2, 1]:
        return value
    order = [*range(len(batch)), len(batch) + 1, len(batch)]
    before = emitter.definition(source)
    if tvm_api.operator_name(before) == "permute_dims":
        first = permutation(before, len(order))
        source, order = before.args[0], [first[axis] for axis in order]
    return relax.op.permute_dims(source, order)
