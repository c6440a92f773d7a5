"""Integer ends: drop the quantize at an input and the dequantize at an output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import per_tensor
from match_aie.frontend.model import Model, Port
from match_aie.frontend.rebuild import Emitter, Expr, rebuild


def integer_ports(model: Model) -> Model:
    """`model` with integer ports wherever a port is float only at the edge."""
    readers = _only_quantizers(model.module["main"])
    parameters: dict[str, Any] = {}
    inputs: list[Port] = []
    for port, param in zip(model.inputs, model.module["main"].params, strict=True):
        call = readers.get(param)
        if call is None:
            inputs.append(port)
            continue
        dtype = str(call.attrs.out_dtype)
        name = tvm_api.variable_name(param)
        parameters[name] = relax.Var(name, relax.TensorType(port.shape, dtype))
        inputs.append(_integer(port, call, dtype))
    changed = set(parameters)

    def drop(emitter: Emitter, var: Any, value: Expr) -> Expr:
        if tvm_api.operator_name(value) == "quantize" and isinstance(value.args[0], relax.Var):
            if tvm_api.variable_name(value.args[0]) in changed:
                return value.args[0]
        return value

    output, outputs = _integer_outputs(model.module["main"], model.outputs)
    module, labels = rebuild(model.module, model.labels, drop, parameters, output)
    return replace(
        model, module=module, labels=labels, inputs=tuple(inputs), outputs=tuple(outputs)
    )


def _integer(port: Port, call: Any, dtype: str) -> Port:
    scale, zero = (tvm_api.constant_value(a).item() for a in call.args[1:])
    return replace(port, dtype=dtype, scale=float(scale), zero_point=int(zero))


def _only_quantizers(main: Any) -> dict[Any, Any]:
    """Parameters whose every use is a quantize with the same parameters -> that quantize."""
    uses: dict[Any, list[Any]] = {p: [] for p in main.params}
    for _, value in tvm_api.bindings(main):
        for leaf in _leaves(value):
            if leaf in uses:
                uses[leaf].append(value)
    for leaf in _leaves(main.body.body):
        if leaf in uses:
            uses[leaf].append(None)
    found: dict[Any, Any] = {}
    for param, calls in uses.items():
        quantizes = [c for c in calls if tvm_api.operator_name(c) == "quantize" and per_tensor(c)]
        keys = {
            (str(c.attrs.out_dtype), *(tvm_api.constant_value(a).item() for a in c.args[1:]))
            for c in quantizes
        }
        if calls and len(quantizes) == len(calls) and len(keys) == 1:
            found[param] = quantizes[0]
    return found


def _leaves(expr: Any) -> list[Any]:
    """The variables that an expression reads, one call or tuple deep."""
    if isinstance(expr, relax.Var):
        return [expr]
    if isinstance(expr, relax.Tuple):
        return [leaf for item in expr.fields for leaf in _leaves(item)]
    if isinstance(expr, relax.TupleGetItem):
        return _leaves(expr.tuple_value)
    if isinstance(expr, tvm_api.CallNode):
        return [leaf for arg in expr.args for leaf in _leaves(arg)]
    return []


def _integer_outputs(main: Any, ports: Sequence[Port]) -> tuple[Any, list[Port]]:
    """What main gives when outputs that are a dequantize give its integer input instead."""
    definitions = dict(tvm_api.bindings(main))
    body = _resolve(main.body.body, definitions)
    results = list(body.fields) if isinstance(body, relax.Tuple) else [body]
    new_results, new_ports = [], []
    for port, result in zip(ports, results, strict=True):
        call = definitions.get(_resolve(result, definitions))
        dequantized = tvm_api.operator_name(call) == "dequantize"
        if call is not None and dequantized and per_tensor(call):
            new_results.append(call.args[0])
            new_ports.append(_integer(port, call, tvm_api.dtype_of(call.args[0])))
        else:
            new_results.append(result)
            new_ports.append(port)
    return (new_results[0] if len(new_results) == 1 else relax.Tuple(new_results)), new_ports


def _resolve(expr: Any, definitions: dict[Any, Any]) -> Any:
    """Follow variables bound to variables or tuples."""
    while isinstance(expr, relax.Var) and isinstance(
        definitions.get(expr), (relax.Var, relax.Tuple)
    ):
        expr = definitions[expr]
    return expr
