"""Which activation the operators behind a float32 result are, single or spelled out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import erf

import numpy as np

from match_aie.hardware.graph import Node
from match_aie.partition.view import View
from match_aie.workload import Activation

#: Operators that are an activation by themselves.
_SINGLE: Mapping[str, Activation] = {
    "nn.relu": "relu",
    "clip": "clip",
    "nn.gelu": "gelu",
    "nn.gelu_tanh": "gelu_tanh",
    "nn.silu": "silu",
    "sigmoid": "sigmoid",
    "tanh": "tanh",
    "exp": "exp",
    "rsqrt": "rsqrt",
}

_ERF = np.vectorize(erf, otypes=[np.float64])

#: Operators of which exporters put activations together, on float64.
_STEPS: Mapping[str, Callable[..., np.ndarray]] = {
    "add": np.add,
    "multiply": np.multiply,
    "divide": np.divide,
    "erf": _ERF,
    "sqrt": np.sqrt,
    "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
}

#: Where they are compared with what they are taken for.
_POINTS = np.linspace(-6.0, 6.0, 49)


def _spelled() -> Mapping[Activation, np.ndarray]:
    with np.errstate(divide="ignore", invalid="ignore"):
        return {
            "gelu": 0.5 * _POINTS * (1 + _ERF(_POINTS / np.sqrt(2.0))),
            "silu": _POINTS / (1 + np.exp(-_POINTS)),
            "reciprocal": 1 / _POINTS,
            "rsqrt": 1 / np.sqrt(_POINTS),
        }


_SPELLED = _spelled()


def activation_of(view: View, nodes: Sequence[Node], value: str) -> Activation | None:
    """The activation that `nodes` compute of `value`; None where they are none.

    Operators that spell one out are told by what they compute, to float32 accuracy of their
    constants.
    """
    if len(nodes) == 1 and nodes[0].inputs() == (value,):
        return _SINGLE.get(nodes[0].operator)
    got = _computed(view, nodes, value)
    for name, wanted in _SPELLED.items():
        if got is not None and np.allclose(got, wanted, rtol=1e-5, atol=1e-6, equal_nan=True):
            return name
    return None


def _computed(view: View, nodes: Sequence[Node], value: str) -> np.ndarray | None:
    """What the last of `nodes` gives where `value` is `_POINTS`; None where that is unknown."""
    known = {value: _POINTS}
    for node in sorted(nodes, key=lambda node: node.index):
        operands = []
        for name in node.inputs():
            constant = view.value(name).constant
            if name not in known and (constant is None or constant.size != 1):
                return None
            operands.append(known[name] if constant is None else constant.reshape(1))
        if node.operator not in _STEPS:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):
            known[node.output] = _STEPS[node.operator](
                *(np.asarray(o, np.float64) for o in operands)
            )
    return known.get(view.root.output)
