"""From a match of ONNX's GRU or LSTM to the layer it means."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from match_aie.hardware.graph import Node, Value
from match_aie.partition.layer import Extracted
from match_aie.partition.view import Refusal, View
from match_aie.workload import Kind, Quantized, recurrent
from match_aie.workload.codes import integer_rows


@dataclass(frozen=True)
class _Stated:
    """What a composite says of the operator that it is.

    Attributes:
        positions: of its parameters among the operator's inputs, in order.
        repeated: position -> the one before it that has the same parameter.
        outputs: the operator's results that it has.
        joined: whether the last cell stands behind the states, in one result.
        attributes: of the operator, defaults included.
    """

    positions: list[int]
    repeated: Mapping[int, int]
    outputs: list[int]
    joined: bool
    attributes: Mapping[str, object]


def _stated(node: Node) -> _Stated:
    def read(name: str, absent: str = "") -> Any:
        return json.loads(str(node.attributes.get(f"onnx_{name}", absent)))

    return _Stated(
        positions=read("inputs"),
        repeated={int(at): first for at, first in read("repeated", "{}").items()},
        outputs=read("outputs"),
        joined=read("joined", "false"),
        attributes=read("attributes"),
    )


#: Operators whose layers are of real numbers, whatever their inputs are stored as.
RECURRENT_OPERATORS = ("onnx.GRU", "onnx.LSTM")

#: Largest magnitude of an LSTM's cells, 0 for none.
CELL_CLIP = "cell_clip"

#: How an LSTM's states are stored in 8 bits before a product reads them.
STATE_CODES = "state_codes"

#: Likewise of its input.
INPUT_CODES = "input_codes"

#: Attributes of ONNX's GRU and LSTM that must have these values where they are given.
_RECURRENT_DEFAULTS: Mapping[str, object] = {
    "direction": "forward",
    "layout": 0,
    "input_forget": 0,
}


def _stored(view: View, x: Value) -> tuple[Value, Quantized | None]:
    """The input: its integers and what they mean where the match makes it real, else itself."""
    producer = view.graph.producers.get(x.name)
    if producer is None or producer.index not in view.match.nodes:
        return x, None
    return view.activation(x.name)


def recurrent_of(kind: Kind) -> Callable[[View], Extracted]:
    """How a match of ONNX's GRU or LSTM becomes a layer."""

    def extract(view: View) -> Extracted:
        node = view.take(view.root)
        stated = _stated(node)
        _check(stated)
        values = (view.value(str(argument)) for argument in node.arguments)
        named = dict(zip(stated.positions, values, strict=True))
        named |= {at: named[first] for at, first in stated.repeated.items()}
        if not {0, 1, 2} <= named.keys() <= {0, 1, 2, 3, 5, 6}:
            raise Refusal(f"ONNX inputs {sorted(named)}; lengths and peepholes are not taken")
        x, quantized = _stored(view, named[0])
        if quantized is None and x.dtype != "float32":
            raise Refusal(f"its numbers are {x.dtype}, and these layers are of float32")
        constants = _weights(named)
        states = {name: named[at] for name, at in (("x1", 5), ("x2", 6)) if at in named}
        steps, batch, inputs = x.shape
        workload = recurrent(
            kind,
            steps=steps,
            batch=batch,
            inputs=inputs,
            hidden=constants["recurrent"].shape[1],
            initial="x1" in states,
            cell="x2" in states,
            known=[name for name, value in states.items() if value.constant is not None],
            last_cell=stated.joined,
            cell_clip=_cell_clip(stated),
            **_stored_in_8_bits(stated, constants),
            linear_before_reset=bool(stated.attributes.get("linear_before_reset", 0)),
            quantized=quantized,
        )
        given = [state.name for state in states.values() if state.constant is None]
        for name, state in states.items():
            if state.constant is not None:
                constants[name] = state.constant.reshape(batch, -1)
        return Extracted(workload, constants, (x.name, *given), node.output)

    return extract


def _check(stated: _Stated) -> None:
    """Refuse what the kinds have no words for."""
    if stated.outputs != ([0, 2] if stated.joined else [0]):
        raise Refusal("more than the sequence of states is used")
    for name, value in _RECURRENT_DEFAULTS.items():
        if stated.attributes.get(name, value) != value:
            raise Refusal(f"{name} is {stated.attributes[name]!r}")
    if "clip" in stated.attributes:
        raise Refusal("the sums that its activations read are clipped")
    if "activations" in stated.attributes:
        raise Refusal("activations of its own")


def _stored_in_8_bits(stated: _Stated, constants: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """What is stored so before products read it, and whether weights are, too, where all is."""
    codes = [str(stated.attributes.get(name, "")) for name in (STATE_CODES, INPUT_CODES)]
    found: dict[str, Any] = dict(zip((STATE_CODES, INPUT_CODES), codes, strict=True))
    weights = [constants[name] for name in ("weight", "recurrent")]
    found["integer_rows"] = all(codes) and all(integer_rows(w) is not None for w in weights)
    return found


def _cell_clip(stated: _Stated) -> float:
    """What cells are clipped to: an attribute that this project adds, ONNX has none."""
    clip = stated.attributes.get(CELL_CLIP, 0.0)
    return float(clip) if isinstance(clip, float) else 0.0


def _weights(named: Mapping[int, Value]) -> dict[str, np.ndarray]:
    """Weights of inputs and states and biases, of the operator's inputs by position."""
    weight, product = named[1].constant, named[2].constant
    if named[0].constant is not None or weight is None or product is None:
        raise Refusal("the input is constant, or weights are not")
    rows = product.shape[1]
    bias = np.zeros((2, rows), np.float32)
    if 3 in named:
        stored = named[3].constant
        if stored is None:
            raise Refusal("the bias is known only at run time")
        bias = stored.reshape(2, rows)
    return {"weight": weight[0], "recurrent": product[0], "bias": bias}
