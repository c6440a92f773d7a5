"""Activations of recurrent layers, with their parameters.

A node names those of all its directions in a row. Lists of parameters hold the values of those
activations that have such a parameter, in the same order (ONNX's page of LSTM).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from match_aie.frontend.onnx_rewrite.graph import Builder, Node

#: Activations of one direction where a node names none.
DEFAULTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"RNN": ("Tanh",), "GRU": ("Sigmoid", "Tanh"), "LSTM": ("Sigmoid", "Tanh", "Tanh")}
)

#: Parameters by activation, and what they are where the node gives none. ONNX states none for
#: Affine and ScaledTanh, and for ThresholdedRelu engines differ: these have to be given.
_PARAMETERS: Mapping[str, Mapping[str, float | None]] = MappingProxyType(
    {
        **{name: {} for name in ("Sigmoid", "Tanh", "Relu", "Softsign", "Softplus")},
        "HardSigmoid": {"alpha": 0.2, "beta": 0.5},
        "LeakyRelu": {"alpha": 0.01},
        "Elu": {"alpha": 1.0},
        "ThresholdedRelu": {"alpha": None},
        "Affine": {"alpha": None, "beta": None},
        "ScaledTanh": {"alpha": None, "beta": None},
    }
)

#: Written in any case: ONNX's text allows it.
_SPELLED = MappingProxyType({name.lower(): name for name in _PARAMETERS})


@dataclass(frozen=True)
class Activation:
    """An element's function.

    Attributes:
        name: in ONNX's spelling.
        parameters: pairs of "alpha" or "beta" and a value.
    """

    name: str
    parameters: tuple[tuple[str, float], ...] = ()

    @property
    def reaches_ends(self) -> bool:
        """Whether it is exactly 0 and 1 far from zero: at sums of 1e4 (`recurrent_lengths`)."""
        return self.name == "Sigmoid" or (
            self.name == "HardSigmoid" and dict(self.parameters)["alpha"] >= 1e-2
        )

    def __call__(self, b: Builder, x: str, kind: str) -> str:
        """The function of `x`, whose type is that of the value `kind`."""
        given = dict(self.parameters)
        if self.name == "Affine":
            scaled = b.op("Mul", x, b.like(given["alpha"], kind))
            return b.op("Add", scaled, b.like(given["beta"], kind))
        if self.name == "ScaledTanh":
            inner = b.op("Tanh", b.op("Mul", x, b.like(given["beta"], kind)))
            return b.op("Mul", inner, b.like(given["alpha"], kind))
        return b.op(self.name, x, **given)


def activations(node: Node, kind: str, directions: int) -> list[list[Activation]] | str:
    """Those of each direction, or why they are not compiled.

    Args:
        node: the layer.
        kind: RNN, GRU or LSTM.
        directions: number of them.
    """
    usual = DEFAULTS[kind]
    names = [str(name) for name in node.attr("activations", ())] or list(usual) * directions
    other = [name for name in names if name.lower() not in _SPELLED]
    if other:
        return f"activation {other[0]} is not compiled"
    needed = len(usual) * directions
    # RNN's schema gives two activations by default; a single direction takes the first.
    fits = len(names) >= needed if kind == "RNN" else len(names) == needed
    if not directions or not fits:
        return "its direction and activations do not fit each other"
    lists = {key: iter(node.attr(f"activation_{key}", None) or ()) for key in ("alpha", "beta")}
    found = [_of(_SPELLED[name.lower()], lists) for name in names[:needed]]
    missing = [one for one in found if isinstance(one, str)]
    if missing:
        return f"activation {missing[0]} without its parameters is not compiled"
    if any(True for left in lists.values() for _ in left):
        return "it gives more parameters than its activations have"
    all_ = [one for one in found if isinstance(one, Activation)]
    return [all_[at : at + len(usual)] for at in range(0, needed, len(usual))]


def _of(name: str, lists: Mapping[str, Iterator[float]]) -> Activation | str:
    """The next activation; its name where a parameter is missing."""
    values = {key: next(lists[key], other) for key, other in _PARAMETERS[name].items()}
    if None in values.values():
        return name
    return Activation(name, tuple((key, float(v)) for key, v in values.items() if v is not None))


def spelled_out(own: Sequence[Activation]) -> dict[str, Any]:
    """Attributes of a node of these activations."""
    lists: dict[str, Any] = {"activations": [one.name for one in own]}
    for key in ("alpha", "beta"):
        values = [value for one in own for name, value in one.parameters if name == key]
        if values:
            lists[f"activation_{key}"] = values
    return lists
