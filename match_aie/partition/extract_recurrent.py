"""From a match of ONNX's GRU or LSTM to the layer it means."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import numpy as np

from match_aie.hardware.graph import Node, Value
from match_aie.partition.layer import Extracted
from match_aie.partition.view import Refusal, View
from match_aie.workload import Kind, Quantized, recurrent


def _attributes(node: Node) -> tuple[list[int], list[int], dict[str, object]]:
    """Which of the operator's inputs and results a composite has, and its ONNX attributes."""
    texts = [str(node.attributes[f"onnx_{name}"]) for name in ("inputs", "outputs", "attributes")]
    inputs, outputs, attributes = (json.loads(text) for text in texts)
    return inputs, outputs, attributes


#: Operators whose layers are of real numbers, whatever their inputs are stored as.
RECURRENT_OPERATORS = ("onnx.GRU", "onnx.LSTM")

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
        positions, outputs, attributes = _attributes(node)
        if outputs != [0]:
            raise Refusal("more than the sequence of states is used")
        for name, value in _RECURRENT_DEFAULTS.items():
            if attributes.get(name, value) != value:
                raise Refusal(f"{name} is {attributes[name]!r}")
        if "activations" in attributes or "clip" in attributes:
            raise Refusal("activations of its own")
        named = dict(zip(positions, (view.value(str(a)) for a in node.arguments), strict=True))
        if not {0, 1, 2} <= named.keys() <= {0, 1, 2, 3, 5}:
            raise Refusal(f"ONNX inputs {positions}; sequence lengths and cells are not taken")
        x, quantized = _stored(view, named[0])
        weight, product = named[1].constant, named[2].constant
        if x.constant is not None or weight is None or product is None:
            raise Refusal("the input is constant, or weights are not")
        steps, batch, inputs = x.shape
        rows, hidden = product.shape[1:]
        bias = np.zeros((2, rows), np.float32)
        if 3 in named:
            stored = named[3].constant
            if stored is None:
                raise Refusal("the bias is known only at run time")
            bias = stored.reshape(2, rows)
        initial = (named[5].name,) if 5 in named else ()
        if initial and named[5].constant is not None:
            raise Refusal("the first state is known at compile time")
        workload = recurrent(
            kind,
            steps=steps,
            batch=batch,
            inputs=inputs,
            hidden=hidden,
            initial=bool(initial),
            linear_before_reset=bool(attributes.get("linear_before_reset", 0)),
            quantized=quantized,
        )
        constants = {"weight": weight[0], "recurrent": product[0], "bias": bias}
        return Extracted(workload, constants, (x.name, *initial), node.output)

    return extract
