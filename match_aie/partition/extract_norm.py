"""From a match of a quantised norm to the layer it means."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import prod

import numpy as np

from match_aie.partition.layer import Extracted
from match_aie.partition.view import Refusal, View, integers
from match_aie.workload import Kind, norm_numbers, quantised_norm

#: A norm's operator, and how many numbers it has for each element of a row.
OPERATORS: dict[Kind, tuple[str, tuple[str, ...]]] = {
    "layer_norm": ("nn.layer_norm", ("weight", "bias")),
    "rms_norm": ("nn.rms_norm", ("weight",)),
}


def _norm(view: View, kind: Kind) -> Extracted:
    """Factors and addends in float32, whether they were quantised or not.

    Raises:
        Refusal: it is not over the last axis, or its numbers are not one for each element of a row,
            or no numbers of float32 in steps of the result.
    """
    operator, names = OPERATORS[kind]
    node = view.node(operator)
    data, *numbers = node.inputs()[: 1 + len(names)]
    x, xq = view.activation(data)
    if integers(node, "axes") not in ((-1,), (len(x.shape) - 1,)):
        raise Refusal("the norm is not over the last axis")
    columns, epsilon = x.shape[-1], node.attributes["epsilon"]
    if not isinstance(epsilon, float) or x.dtype not in ("int8", "uint8"):
        raise Refusal(f"a norm of {x.dtype} with epsilon {epsilon!r}")
    yq, tail = view.result()
    values = [_real(view, name) for name in numbers]
    if any(value.shape != (columns,) for value in values):
        raise Refusal("weight and bias are not one value per element of a row")
    workload = quantised_norm(
        xq, yq, rows=prod(x.shape[:-1]), columns=columns, epsilon=epsilon, tail=tail, kind=kind
    )
    constants = dict(zip(names, values, strict=True))
    with np.errstate(over="ignore"):
        steps = norm_numbers(workload, constants)
    if any((np.isinf(steps[name]) & np.isfinite(constants[name])).any() for name in names):
        raise Refusal("weight or bias in steps of the result is not finite")
    return Extracted(workload, constants, (x.name,), view.root.output)


def _real(view: View, name: str) -> np.ndarray:
    """A float32 constant, perhaps quantised."""
    constant = view.value(name).constant
    if constant is not None:
        return constant.astype(np.float32)
    value, parameters = view.dequantized(name)
    if value.constant is None:
        raise Refusal("weight or bias is known only at run time")
    steps = value.constant.astype(np.int64) - parameters.zero.astype(np.int64)
    return np.asarray(steps.astype(np.float32) * parameters.scale)


#: How matches of these kinds are read.
NORM_KINDS: dict[Kind, Callable[[View], Extracted]] = {
    kind: partial(_norm, kind=kind) for kind in OPERATORS
}
