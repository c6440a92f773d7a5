"""What the array runs, and why it refuses what it does not."""

from __future__ import annotations

from match_aie.hardware import Pattern, integer_patterns, weighted
from match_aie.workload import Workload

#: (activations, weights) that the generated kernels multiply.
PAIRS = (("int8", "int8"), ("uint8", "int8"), ("int16", "int8"), ("int16", "int16"))

#: What they store.
STORED = ("int8", "uint8", "int16", "int32")


def refuses_product(workload: Workload) -> str | None:
    """Why the array cannot run a product with constant weights; None where it can."""
    x, weight, y = workload.inputs[0], workload.operand("weight"), workload.output
    if (x.dtype, weight.dtype) not in PAIRS:
        return f"it multiplies {x.dtype} by {weight.dtype}, for which there is no kernel"
    if weight.zero_point:
        return f"its weights have the zero point {weight.zero_point}"
    if y.dtype not in STORED:
        return f"it stores {y.dtype}"
    return None


#: Dense layers, longest forms first.
DENSE: tuple[Pattern, ...] = (
    *weighted("dense", "dense", "matmul", refuses_product),
    *integer_patterns("dense", "dense", refuses_product),
)
