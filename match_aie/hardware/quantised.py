"""Patterns of quantised layers that most modules share: from the input dequantize to the quantize.

Each comes with an integer clip (a fused activation) after it and without, longest first; `refuses`
is the module's check.
"""

from __future__ import annotations

from match_aie.hardware.pattern import (
    POINTWISE,
    Any,
    Chain,
    Check,
    Const,
    Op,
    Pattern,
    Structure,
    Web,
)
from match_aie.workload import Kind


def real(operand: Structure) -> Op:
    """A quantised operand as operators see it."""
    return Op("dequantize", operand)


def clipped(name: str, kind: Kind, structure: Op, refuses: Check) -> tuple[Pattern, Pattern]:
    """`structure` with an integer clip after it, and without."""
    return (
        Pattern(f"{name}_clip", kind, Op("clip", structure), refuses),
        Pattern(name, kind, structure, refuses),
    )


def weighted(name: str, kind: Kind, operator: str, refuses: Check) -> tuple[Pattern, ...]:
    """`operator` of x and constant weights, with bias and without."""
    product = Op(operator, real(Any("x")), real(Const("weight")))
    biased = Op("quantize", Op("add", product, real(Const("bias"))))
    with_bias = clipped(f"{name}_bias", kind, biased, refuses)
    return (*with_bias, *clipped(name, kind, Op("quantize", product), refuses))


def summed(name: str, kind: Kind, operator: str, refuses: Check) -> tuple[Pattern, ...]:
    """`weighted`, its quantised result added to another tensor, and the sum quantised again.

    Also without a bias of its own, first added to a quantised constant, then to another tensor.

    Args:
        name: of the patterns.
        kind: of the layer.
        operator: the product.
        refuses: the check.
    """
    found: list[Pattern] = []

    def add(to: Structure, name: str, what: Structure) -> tuple[Pattern, Pattern]:
        total = Op("quantize", Op("add", real(to), real(what)))
        return clipped(name, kind, total, refuses)

    for single in weighted(name, kind, operator, refuses):
        found += add(single.structure, f"{single.name}_added", Any("residual"))
    alone = Op("quantize", Op(operator, real(Any("x")), real(Const("weight"))))
    _, biased = add(alone, name, Const("residual"))
    found += add(biased.structure, f"{name}_added_twice", Any("residual1"))
    return tuple(found)


def binary(name: str, kind: Kind, operator: str, refuses: Check) -> tuple[Pattern, Pattern]:
    """`operator` of two activations, x and x1."""
    both = Op(operator, real(Any("x")), real(Any("x1")))
    return clipped(name, kind, Op("quantize", both), refuses)


def tabulated(name: str, refuses: Check) -> tuple[Pattern, Pattern]:
    """Any function of one 8-bit tensor's elements: what lies between it and a quantize."""
    whole = Op("quantize", Web(POINTWISE, Any("x", ("int8", "uint8"))), dtypes=("int8", "uint8"))
    return clipped(name, "table", whole, refuses)


def _norm(operator: str, *numbers: str) -> Op:
    known = (Chain(frozenset({"dequantize"}), Const(name)) for name in numbers)
    return Op("quantize", Op(operator, real(Any("x")), *known))


#: Quantised norms, whose numbers may be quantised too.
LAYER_NORM = _norm("nn.layer_norm", "weight", "bias")
RMS_NORM = _norm("nn.rms_norm", "weight")


def unary(name: str, kind: Kind, operator: str, refuses: Check) -> tuple[Pattern, Pattern]:
    """`operator` of one activation, x."""
    return clipped(name, kind, Op("quantize", Op(operator, real(Any("x")))), refuses)
