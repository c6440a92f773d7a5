"""Recurrent layers of so many steps that they are not written out: a module runs them, or nobody.

Their composite function has the right type and no steps in it. `match_aie.fallback` refuses it
where no module took the layer.
"""

from __future__ import annotations

from typing import Any

from onnx import ValueInfoProto, helper
from tvm import relax

from match_aie.frontend.onnx_composites import arguments, describe, is_joined, join
from match_aie.frontend.onnx_rewrite.functions import alone
from match_aie.frontend.onnx_rewrite.graph import Graph, Node
from match_aie.limits import STEPS, STEPS_ACCEPTED, Limits

#: Operators whose steps are written out.
RECURRENT = ("LSTM", "GRU", "RNN")


def is_too_long(node: Node, graph: Graph, limits: Limits) -> bool:
    """Whether `node` has more steps than are written out."""
    return node.op in RECURRENT and _steps(node, graph) > limits.recurrent_steps


def unwritten(node: Node, graph: Graph, limits: Limits) -> Any:
    """The composite function of a layer whose steps are not written out, and what it states."""
    model = alone(node, graph)
    if is_joined(node, graph):
        join(model)
    types = dict(zip(arguments(node, graph, all_of_them=True), model.graph.input, strict=True))
    passed = [_type(types[name]) for name in arguments(node, graph)]
    parameters = [relax.Var(f"in{i}", ty) for i, ty in enumerate(passed)]
    results = [_type(value) for value in model.graph.output]
    builder = relax.BlockBuilder()
    with builder.function("main", parameters):
        with builder.dataflow():
            out_ty = results[0] if len(results) == 1 else results
            call = relax.call_dps_packed("steps", relax.Tuple(parameters), out_ty=out_ty)
            result = builder.emit_output(call)
        builder.emit_func_output(result)
    function = builder.get()["main"].without_attr("global_symbol")
    facts = describe(node, graph)
    facts[STEPS], facts[STEPS_ACCEPTED] = str(_steps(node, graph)), str(limits.recurrent_steps)
    for name, value in facts.items():
        function = function.with_attr(name, value)
    return function


def _steps(node: Node, graph: Graph) -> int:
    return graph.shape(node.input(0))[1 if node.attr("layout", 0) else 0]


def _type(value: ValueInfoProto) -> Any:
    tensor = value.type.tensor_type
    shape = [dim.dim_value for dim in tensor.shape.dim]
    return relax.TensorType(shape, helper.tensor_dtype_to_np_dtype(tensor.elem_type).name)
