"""From the canonical Relax function to the plain graph."""

from __future__ import annotations

from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.model import Model
from match_aie.hardware.graph import Argument, Graph, Node, Value


class _Importer:
    """Names values and constants while walking the bindings once."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.values: dict[str, Value] = {}
        self.names: dict[Any, str] = {}

    def value(self, var: Any) -> str:
        """Register variable `var`."""
        name = tvm_api.variable_name(var)
        self.names[var] = name
        self.values[name] = Value(name, tvm_api.dtype_of(var), tvm_api.shape_of(var))
        return name

    def argument(self, expr: Any) -> Argument:
        """An argument as plain data."""
        if isinstance(expr, relax.Var):
            return self.names.get(expr)
        if tvm_api.is_constant(expr):
            data = tvm_api.constant_value(expr)
            name = f"constant{len(self.values)}"
            self.values[name] = Value(name, tvm_api.dtype_of(expr), data.shape, data)
            return name
        if isinstance(expr, relax.Tuple):
            return tuple(self.argument(item) for item in expr.fields)
        if isinstance(expr, relax.ShapeExpr):
            return tuple(int(size) for size in expr.values)
        number = tvm_api.plain(expr)
        return float(number) if isinstance(number, (int, float)) else None

    def results(self, body: Any) -> tuple[str, ...]:
        """Names of the values that the function gives."""
        if isinstance(body, relax.Tuple):
            return tuple(name for item in body.fields for name in self.results(item))
        name = self.names.get(body)
        return (name,) if name is not None else ()


def to_graph(model: Model) -> Graph:
    """The graph of a normalised model; nodes that define no tensor (tuples) are left out."""
    main = model.module["main"]
    importer = _Importer(model)
    for param in main.params:
        importer.value(param)
    nodes: list[Node] = []
    tuples: dict[Any, Any] = {}
    for var, value in tvm_api.bindings(main):
        if isinstance(value, relax.Var) and value in importer.names:
            importer.names[var] = importer.names[value]
            continue
        if isinstance(value, relax.Tuple):
            tuples[var] = value
            continue
        if not isinstance(value, tvm_api.CallNode) or not isinstance(var.ty, relax.TensorType):
            # A projection, or a call that gives a tuple: its readers see values without producer.
            if isinstance(var.ty, relax.TensorType):
                importer.value(var)
            continue
        operator = tvm_api.operator_name(value)
        attributes = tvm_api.attributes(value.attrs)
        if not operator:
            operator = tvm_api.composite_name(model.module, value)
            attributes = tvm_api.attributes(model.module[value.op].attrs) if operator else {}
        arguments = tuple(importer.argument(arg) for arg in value.args)
        output = importer.value(var)
        label = model.labels.get(output, "")
        nodes.append(Node(len(nodes), operator, arguments, attributes, output, label))
    body = main.body.body
    return Graph(tuple(nodes), importer.values, importer.results(tuples.get(body, body)))
