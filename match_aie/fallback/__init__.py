"""What no execution module claims becomes freestanding C, through Relax and TIR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from match_aie.fallback.common import common
from match_aie.fallback.remainder import Call, Remainder

__all__ = ["Call", "Remainder", "common", "lower"]


def lower(module: Any, *, prefix: str, labels: Mapping[str, str], alike: bool = False) -> Remainder:
    """Turn a Relax module into a flat list of calls, with C for what no module claims.

    Args:
        module: a `tvm.IRModule`. Its `main` holds Relax operators, calls of private functions
            (composites such as GRU; they are inlined), and
            `call_dps_packed("ma_3", (...), out_ty=...)` for layers that a module runs. Several
            outputs are a tuple.
        prefix: a C identifier that every symbol starts with.
        labels: name of a Relax variable -> what users know the value by.
        alike: in forms that are the same for all sizes of a tensor but for numbers in them: sums
            are not blocked, concatenations are functions.

    Returns:
        Calls in execution order, C functions without duplicates. C parameters come in the order
        tensors read, tensors written, workspaces.

    Raises:
        ModelError: an input has a symbolic shape.
        UnsupportedOperatorError: operators that have no C form; all of them, in model order.
    """
    from match_aie.fallback.stages import lower as implementation  # imports TVM

    return implementation(module, prefix=prefix, labels=labels, alike=alike)
